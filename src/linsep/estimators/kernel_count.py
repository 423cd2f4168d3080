"""The fit of a kernel perceptron: its solver, the run, counts of mistakes as attributes."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_gap import KernelGap, criterion, measure_pairs
from linsep.core import Limits, Outcome, Problem, Solver, Status, drive
from linsep.core.parts import each_against_rest
from linsep.core.words import count
from linsep.errors import DataError, NotSeparatedWarning
from linsep.estimators.callbacks import CallbackBridge, observers_of
from linsep.estimators.kernel_base import KernelClassifier
from linsep.solvers.kernel_perceptron import KernelMistakes, kernel_rows
from linsep.solvers.one_vs_rest import OneVsRest

__all__ = ["KernelCounting"]

_KEPT = (
    "support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "classes_",
    "kernel_", "_kernel", "n_features_in_",
)  # fmt: skip


class KernelCounting(KernelClassifier):
    """The private half of KernelPerceptron."""

    order: str
    keep: str
    misclassified: str
    memory: float
    max_iter: int
    time_limit: float | None
    warm_start: bool

    def _run(self, problem: Problem, X: Any, y: Any, state: Any = None) -> Self:
        observers = observers_of(self)
        bridge = CallbackBridge(self, X, y, self._so_far, _KEPT)
        solver, reason = self._solver(problem)
        with np.errstate(all="ignore"):
            if state is None:
                state = solver.init(problem, start=self._begin(problem))
            outcome = drive(
                problem, solver, state,
                limits=self._limits(problem, solver), observers=[*observers, bridge],
            )  # fmt: skip
            self._keep(problem, outcome, reason)
        bridge.close()
        if self.status_ is Status.DIVERGED:
            raise DataError(f"the numbers overflowed with kernel {self._kernel!r}; scale X.")
        if not (self.status_.ok or self.certificate_.errors == 0 or outcome.interrupted):
            warnings.warn(
                f"{self.status_.value} ({self.status_.name}, {count(self.n_iter_, 'pass')}). "
                f"{self.certificate_.errors} of {problem.n} rows are on the wrong side; raise "
                "max_iter, choose another kernel, or use KernelSVM.",
                NotSeparatedWarning,
                stacklevel=3,
            )
        return self

    def _solver(self, problem: Problem) -> tuple[Solver[Any], str]:
        kernel = None if self._precomputed else self._kernel
        kernel_rows(problem, kernel, float(self.memory))  # before the parts, which share it
        solver: Any = KernelMistakes(
            kernel=kernel,
            order=self.order,
            keep=self.keep,
            strict=self.misclassified == "<",
            memory=float(self.memory),
            seed=self._seed(),
        )
        words = f"perceptron by counts of mistakes, {self.order} order (as asked)"
        if problem.binary:
            return solver, words
        return OneVsRest(solver, threads=1), f"{words}; {problem.K} classes, each against the rest"

    def _start(self, problem: Problem) -> Any:
        return None

    def _begin(self, problem: Problem) -> Any:
        if not self.warm_start or not hasattr(self, "_counts"):
            return None
        if len(self._counts) != (1 if problem.binary else problem.K):
            return None
        if any(len(alpha) != problem.n for alpha, _ in self._counts):
            return None
        return self._counts[0] if problem.binary else self._counts

    def _limits(self, problem: Problem, solver: Any) -> Limits:
        return Limits(steps=self.max_iter * problem.n, seconds=self.time_limit)

    def _judge(self, problem: Problem, witness: Any) -> KernelGap:
        """What is true of the counts, recomputed from the kernel."""
        return self._measured(problem, _counts_of(problem, witness), witness.a)

    def _measured(self, problem: Problem, counts: Any, offsets: Any) -> KernelGap:
        parts = [problem] if problem.binary else each_against_rest(problem)
        values = kernel_rows(problem, None if self._precomputed else self._kernel, 0.0).values
        gaps, scores = [], np.zeros((problem.n, len(parts)))
        for k, part in enumerate(parts):
            b = float(offsets[k])
            gap, scores[:, k] = criterion(values, part.sign, problem.weight, counts[k], b)
            gaps.append(gap)
        if problem.binary:
            return gaps[0]
        errors = int((scores.argmax(axis=1) != problem.label).sum())
        return measure_pairs(gaps, errors, "one class against the rest")

    def _keep(self, problem: Problem, outcome: Outcome[Any], reason: str) -> None:
        self._keep_counts(problem, outcome.witness)
        self.certificate_ = self._judge(problem, outcome.witness)
        status = outcome.status
        if status is Status.SEPARATED and self.certificate_.errors:
            status = Status.STALLED
        self.status_ = Status.SEPARATED if not self.certificate_.errors else status
        self.n_iter_ = max(1, math.ceil(outcome.passes))
        self.n_updates_ = outcome.state.n_updates
        self.solver_used_, self.outcome_ = reason, outcome
        problem.__dict__.pop("_kernel_rows", None)

    def _keep_counts(self, problem: Problem, witness: Any) -> None:
        """The counts of all machines, with their signs, class by class."""
        coef = _counts_of(problem, witness)
        self._counts = [(counts.copy(), float(b)) for counts, b in zip(coef, witness.a)]
        parts = [problem] if problem.binary else each_against_rest(problem)
        coef *= np.array([part.sign for part in parts])
        used = np.flatnonzero(coef.any(axis=0))
        used = used[np.argsort(problem.label[used], kind="stable")]
        self.classes_, self.kernel_ = problem.classes, self._kernel
        self.dual_coef_ = np.ascontiguousarray(coef[:, used])
        self.intercept_ = np.array(witness.a)
        self.n_support_ = np.bincount(problem.label[used], minlength=problem.K).astype(np.int32)
        self.support_ = used if problem.row_index is None else problem.row_index[used]
        self.support_vectors_: Any = np.empty((0, 0)) if self._precomputed else problem.matrix[used]

    def _so_far(self, now: Any) -> dict[str, Any]:
        """What a copy of the estimator needs to predict with the present counts."""
        self._keep_counts(now.problem, now.solver.witness(now.problem, now.state))
        return {name: getattr(self, name) for name in _KEPT}


def _counts_of(problem: Problem, witness: Any) -> NDArray[np.float64]:
    """The counts of mistakes, one row for each machine."""
    counts = np.zeros((1 if problem.binary else problem.K, problem.n))
    machine, row = np.divmod(witness.rows, problem.n)
    counts[machine, row] = witness.multipliers
    return counts
