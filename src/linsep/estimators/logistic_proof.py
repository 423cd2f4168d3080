"""What is proved about a logistic fit, and what is done where the proof falls short."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Gap
from linsep.certify.likelihood_gap import likelihood_bounds
from linsep.certify.logistic_gap import logistic_gap
from linsep.certify.proof import Proof
from linsep.core import Limits, Outcome, Problem, Status, Witness, drive
from linsep.estimators.logistic_choice import with_tol
from linsep.estimators.logistic_limit import (
    limit_weights,
    plain_problem,
    separating_words,
    separator_proof,
)
from linsep.verdict import decide

__all__ = ["LogisticProof"]

Array = NDArray[np.float64]

_LIMITS = (Status.STEP_LIMIT, Status.TIME_LIMIT, Status.STOPPED)
_FAR = 20.0  # margin from which a row may be running away
_VERDICT = 10.0  # seconds for the verdict where a maximum is likely


class LogisticProof:
    """The part of the estimator that turns a run into an answer with its proof."""

    C: float
    tol: float
    solver: str
    fit_intercept: bool
    _cost: Any
    _reference: Any
    _answer: Array
    proof_: Any
    separation_: str | None
    _undecided: bool

    def _proved(
        self, problem: Problem, solver: Any, outcome: Outcome[Any], limits: Limits, begin: float
    ) -> tuple[Outcome[Any], Gap, Status]:
        """The certificate; where it falls short the solver goes on, if it can."""
        a, tol = outcome.witness.a, solver.tol
        while True:
            gap, exists = self._measure(problem, a, outcome.witness)
            self._answer = a
            short = not exists or not gap.relative_gap <= self.tol
            ended = outcome.status in _LIMITS or outcome.status in (
                Status.STALLED, Status.DIVERGED, Status.SEPARATED,
            )  # fmt: skip
            endless = self.solver == "gradient" and not exists  # single steps never prove it
            if not short or ended or tol < 1e-13 or endless:
                break
            near = gap.relative_gap <= 10 * self.tol
            tol *= (0.3 if near else 0.1) if exists else 1e-4
            state = outcome.state
            state.status = Status.RUNNING
            outcome = drive(problem, with_tol(solver, tol), state, limits=_left(limits, begin))
            a = outcome.witness.a
        if self._useless(problem, gap):
            return outcome, self._of_shares(problem), Status.STALLED
        if not np.isinf(self._cost) or (exists and not short):
            return outcome, gap, gap.settle(outcome.status, self.tol)
        if outcome.status in _LIMITS:
            return outcome, gap, outcome.status
        return self._without_maximum(problem, solver, outcome, gap, _left(limits, begin))

    def _measure(
        self, problem: Problem, a: Array, witness: Witness | None = None
    ) -> tuple[Gap, bool]:
        """The certificate, and whether the best model is known to exist.

        The solver's dual variables spare a pass, and are better than those of the margins.
        """
        C = self._cost
        if not problem.binary:
            from linsep.certify.softmax_gap import softmax_gap

            reference, part = self._reference(problem), witness is None
            gap = softmax_gap(problem, a, C, reference=reference, part=part)
            return gap, bool(np.isfinite(C)) or gap.lower_bound > 0
        if np.isinf(C):
            return likelihood_bounds(problem, a, part=witness is None)
        known = witness is not None and len(witness.rows) == problem.n
        alpha = witness.multipliers if witness is not None and known else None
        free = "free" if self.fit_intercept else "none"
        return logistic_gap(problem, a, C, free, alpha=alpha, goal=0.95 * self.tol), True

    def _useless(self, problem: Problem, gap: Gap) -> bool:
        """Whether zero weights are better: rounding of huge weights has eaten the scores."""
        cost = 1.0 if np.isinf(self._cost) else self._cost
        return not gap.objective <= 1.001 * cost * problem.total_weight * np.log(problem.K)

    def _of_shares(self, problem: Problem) -> Gap:
        """The answer that knows the shares of the classes alone."""
        totals = np.bincount(problem.label, problem.weight, problem.K)
        logs = np.log(np.maximum(totals, 1e-300)) * problem.fit_intercept
        offsets = logs[1:] - logs[0] if problem.binary else logs - logs.mean()
        self._answer = problem.join(np.zeros((len(offsets), problem.d)), offsets)
        gap, self._answer = self._relative(problem, self._answer)
        return gap

    def _without_maximum(
        self, problem: Problem, solver: Any, outcome: Outcome[Any], gap: Gap, limits: Limits
    ) -> tuple[Outcome[Any], Gap, Status]:
        """No penalty and no proof of a maximum: decide whether there is one."""
        settled = outcome.status is Status.CERTIFIED  # the steps shrank as near a maximum
        if settled and float(problem.values(self._answer).max()) < _FAR:  # no row runs away
            return outcome, gap, gap.settle(Status.CONVERGED, self.tol)
        patience = _VERDICT if limits.seconds is None else min(limits.seconds, _VERDICT)
        if len(np.unique(problem.label)) < problem.K:  # a class with no rows: words say so
            return outcome, gap, gap.settle(Status.CONVERGED, self.tol)
        plain = plain_problem(problem)
        proof = separator_proof(plain, self._answer) if outcome.status is Status.SEPARATED else None
        if proof is None:
            proof = decide(plain, time_limit=patience if settled else limits.seconds)
        if proof.separable or proof.quasi:
            self.proof_ = proof
            self.separation_ = separating_words(problem, proof)
            return outcome, self._near_supremum(problem, proof, limits), Status.NO_MAXIMUM
        if settled:
            self._undecided = proof.separable is None or proof.quasi is None
            return outcome, gap, gap.settle(Status.CONVERGED, self.tol)
        if proof.separable is False and hasattr(solver, "patient"):
            state = outcome.state
            state.status = Status.RUNNING
            outcome = drive(problem, replace(solver, patient=True), state, limits=limits)
            self._answer = outcome.witness.a
            gap, _ = self._measure(problem, self._answer)
            if outcome.status not in _LIMITS:
                return outcome, gap, gap.settle(Status.CONVERGED, self.tol)
        return outcome, gap, gap.settle(outcome.status, self.tol)

    def _near_supremum(self, problem: Problem, proof: Proof, limits: Limits) -> Gap:
        """Weights close to the supremum, or those at hand if they are closer."""
        before, near = self._answer, limit_weights(problem, proof, self.tol, limits)
        gap, self._answer = self._relative(problem, near)
        if min(gap.relative_gap, gap.objective) <= self.tol:
            return gap
        other, a = self._relative(problem, before)
        low = max(gap.lower_bound, other.lower_bound)
        if other.objective < gap.objective:
            gap, self._answer = other, a
        return replace(gap, lower_bound=min(low, gap.objective))

    def _relative(self, problem: Problem, a: Array) -> tuple[Gap, Array]:
        """Bounds for weights, and these relative to the reference class, if there is one."""
        reference = self._reference(problem)
        if reference is not None:  # only differences of the classes count
            blocks = a.reshape(problem.K, -1)
            a = (blocks - blocks[reference]).ravel()
        return self._measure(problem, a)[0], a


def _left(limits: Limits, begin: float) -> Limits:
    """The same limits less the time that is gone."""
    if limits.seconds is None:
        return limits
    left = max(limits.seconds - (time.perf_counter() - begin), 0.0)
    return Limits(steps=limits.steps, seconds=left)
