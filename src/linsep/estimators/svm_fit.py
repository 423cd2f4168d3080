"""The run of a linear support vector machine: soft, hard, or with costs beyond all rounding."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from linsep.certify.gap import Objective
from linsep.certify.gaps import measure_any
from linsep.core import Limits, Outcome, Problem, Solver, Status, drive
from linsep.core.compress import without_zeros
from linsep.errors import SettingError
from linsep.estimators.base import LinearClassifier
from linsep.estimators.callbacks import CallbackBridge, observers_of
from linsep.estimators.svm_capped import capped_machine, gap_wanted
from linsep.estimators.svm_choice import choose_solver, is_small
from linsep.estimators.svm_hard import hard_machine, hard_machines
from linsep.estimators.svm_keep import keep_machine, warn_inseparable, warn_unfinished
from linsep.estimators.svm_start import warm_state
from linsep.estimators.unusable import refuse_tiny, refuse_unusable
from linsep.solvers.interior_hinge import InteriorHinge
from linsep.solvers.polish import polish, polish_parts
from linsep.solvers.wide_hinge import WideHinge

__all__ = ["SVMFit"]

# runs that end here get no last digits: whoever limits them wants an answer now
_CUT_SHORT = (Status.DIVERGED, Status.TIME_LIMIT, Status.STEP_LIMIT, Status.STOPPED)
_FAILED = (Status.DIVERGED, Status.STALLED)
_HURRY = 1000  # passes of coordinate descent after which another solver is better


class SVMFit(LinearClassifier):
    """From checked parameters to the attributes of a fitted model."""

    C: float
    loss: str
    multi_class: str
    tol: float
    solver: str
    n_jobs: int | None

    _checked_at_the_end: ClassVar[bool] = True  # by the survey, before the first step

    _hurry: str = ""
    """One of many small problems of a scheme, solved to ``tol`` and no further: "descent" tries
    a few passes of coordinate descent, "newton" what is chosen by the shape."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, state: Any = None) -> Self:
        problem = self._problem(X, y, sample_weight)
        self.__dict__.pop("proof_", None)  # of an earlier fit
        if self._given is None and self.solver != "newton":
            without_zeros(problem)
        refuse_unusable(problem)
        observers = observers_of(self)
        if np.isinf(self.C):
            return self._fit_hard(problem, observers, state)
        begin = time.perf_counter()
        solver, reason = self._solver(problem)
        wanted = self._capped_gap(problem) if state is None else 0.0
        # Newton's method sees by itself when rounding stops it, the others would go on
        patient = not _is_wide(solver) and solver.unit != "Newton step"
        later = wanted > 0 and not self._is_small(problem) and not patient
        if wanted > 0 and not later and self._fit_capped(problem, wanted, begin):
            return self
        if state is None:
            state = solver.init(problem, start=self._dual_start(problem, solver))
        bridge = CallbackBridge(self, X, y)
        with np.errstate(over="ignore", invalid="ignore"):  # the certificate sees what overflowed
            outcome = self._driven(problem, solver, state, begin, [*observers, bridge])
            self._keep(problem, solver, outcome, reason)
            if self.status_ in _FAILED and self.solver == "auto" and _is_interior(solver):
                self._try_newton(problem, (solver, outcome, reason), begin, [*observers, bridge])
        bridge.close()
        if later and self.status_ in _FAILED:
            self._fit_capped(problem, wanted, begin)
        self._warn(problem)
        return self

    def _driven(
        self, problem: Problem, solver: Solver[Any], state: Any, begin: float, observers: Any
    ) -> Outcome[Any]:
        limits = self._limits(problem, solver).left_since(begin)
        return drive(problem, solver, state, limits=limits, observers=observers)

    def _try_newton(self, problem: Problem, known: Any, begin: float, observers: Any) -> None:
        """Where interior points are lost to rounding; the better of the two is kept."""
        gap = self._gap()
        solver, reason = self._solver(problem, instead="newton")
        outcome = self._driven(problem, solver, solver.init(problem), begin, observers)
        self._keep(problem, solver, outcome, reason)
        if not self._gap() <= gap:
            self._keep(problem, *known)

    def _gap(self) -> float:
        return float(getattr(self.certificate_, "relative_gap", np.inf))

    def _capped_gap(self, problem: Problem) -> float:
        """The gap for which costs beyond all rounding are capped; 0: they are not."""
        if self._is_machine(problem) or self.solver != "auto":
            return 0.0
        return gap_wanted(problem, self._objective(), self.tol, self._is_small(problem))

    def _fit_capped(self, problem: Problem, wanted: float, begin: float) -> bool:
        """Costs beyond all rounding; False where that does not lead to a proof."""
        objective = self._objective()
        first, found = self._solver(problem)[0], None
        for instead in ("", "newton") if _is_interior(first) else ("",):
            choose = partial(self._solver, instead=instead)
            limits = self._limits(problem, first).left_since(begin)
            with np.errstate(over="ignore", invalid="ignore"):
                found = found or capped_machine(problem, objective, wanted, limits, choose)
        if found is None:
            return False
        witness, outcome, words = found
        certificate = measure_any(problem, witness, objective, self.multi_class)
        self.n_iter_ = max(1, int(np.ceil(outcome.passes)))
        status = certificate.settle(outcome.status, self.tol)
        keep_machine(self, problem, witness, objective, outcome, certificate, status)
        self.solver_used_ = words
        return True

    def _fit_hard(self, problem: Problem, observers: Any, state: Any = None) -> Self:
        """C = inf: the plane of maximum margin, or the proof that there is none."""
        if self._is_machine(problem):
            raise SettingError(
                "C=inf does not exist for multi_class='crammer-singer'; choose a finite C, or "
                "multi_class='one-vs-rest'."
            )
        refuse_tiny(problem)
        problem.weight = np.ones(problem.n)  # rows that must be right are right at any weight
        limits = Limits(steps=self.max_iter, seconds=self.time_limit)
        if problem.binary:
            hard = hard_machine(problem, self.tol, limits, observers, state)
        else:
            hard = hard_machines(problem, self.tol, limits, observers)
        witness, gap, outcome, proof = hard.witness, hard.gap, hard.outcome, hard.proof
        impossible = proof is not None and proof.separable is False
        if not impossible:
            gap = measure_any(problem, witness, self._objective(), self.multi_class)
        status = Status.INSEPARABLE if impossible else gap.settle(outcome.status, self.tol)
        if status.ok and not impossible and not gap.relative_gap <= self.tol:
            status = Status.STALLED
        self.proof_ = proof
        self.n_iter_ = max(1, outcome.steps)
        keep_machine(self, problem, witness, self._objective(), outcome, gap, status)
        self.solver_used_ = "nearest points of the two hulls (C = inf, the hard margin)"
        if impossible:
            warn_inseparable(self, None if hard.of is None else problem.classes[hard.of])
        else:
            self._warn(problem)
        return self

    @property
    def _threads(self) -> int | None:
        """None: one for each core."""
        return None if self.n_jobs in (None, -1) else self.n_jobs

    def _is_machine(self, problem: Problem) -> bool:
        return self.multi_class == "crammer-singer" and not problem.binary

    def _solver(
        self, problem: Problem, C: float | None = None, instead: str = ""
    ) -> tuple[Solver[Any], str]:
        machine = self._is_machine(problem)
        if machine and self.loss != "hinge":
            raise SettingError(
                f"loss={self.loss!r} does not exist for multi_class='crammer-singer'; "
                "use loss='hinge'."
            )
        tol = self.tol
        if self._is_small(problem) and not (machine and self.solver == "dual-cd"):
            tol = min(tol, 1e-6 if machine else 1e-7)
        hurry = self._hurry == "descent" and self.solver == "auto" and is_small(problem)
        return choose_solver(
            problem,
            instead or ("dual-cd" if hurry and problem.binary else self.solver),
            C=float(self.C if C is None else C),
            loss=self.loss,
            tol=0.999 * float(tol),
            seed=0 if self.random_state is None else self._seed(),
            threads=self._threads,
            multi_class=self.multi_class,
            reason="where interior points are lost to rounding" if instead else "as asked",
        )

    def _is_small(self, problem: Problem) -> bool:
        return is_small(problem) and not self._hurry

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        limits = super()._limits(problem, solver)
        if self._hurry != "descent":
            return limits
        passes = _HURRY * (problem.n_rows if solver.unit == "visit" else 1)
        return replace(limits, steps=min(passes, limits.steps or passes))

    def _objective(self) -> Objective:
        return Objective(self.loss, float(self.C), "free" if self.fit_intercept else "none")

    def _dual_start(self, problem: Problem, solver: Any) -> Any:
        """Where to go on: the dual variables or the weights of the last fit."""
        if not self.warm_start or not hasattr(self, "support_"):
            return None
        return warm_state(self, problem, solver)

    def _keep(
        self, problem: Problem, solver: Solver[Any], outcome: Outcome[Any], reason: str
    ) -> None:
        witness, objective = outcome.witness, self._objective()
        machine = self._is_machine(problem)
        if self._is_small(problem) and not machine and outcome.status not in _CUT_SHORT:
            finish = polish if problem.binary else polish_parts
            witness = finish(problem, witness, objective.C, objective.loss)
        certificate = measure_any(problem, witness, objective, self.multi_class)
        self.n_iter_ = max(1, int(np.ceil(outcome.passes)))
        status = certificate.settle(outcome.status, self.tol)
        keep_machine(self, problem, witness, objective, outcome, certificate, status)
        self.solver_used_ = reason

    def _warn(self, problem: Problem) -> None:
        warn_unfinished(self, problem)


def _is_interior(solver: Any) -> bool:
    """Whether it is the method for small tables, alone or for each class."""
    return isinstance(getattr(solver, "solver", solver), InteriorHinge)


def _is_wide(solver: Any) -> bool:
    """Whether interior points follow where sweeps are slow."""
    return isinstance(getattr(solver, "solver", solver), WideHinge)
