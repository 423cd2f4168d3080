"""The fit of a kernel machine: its solver, the run, the answer in scikit-learn's attributes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_gap import KernelGap
from linsep.certify.kernel_overlap import Overlap
from linsep.core import Limits, Outcome, Problem, Status, drive
from linsep.core.lanes import one_blas_thread
from linsep.errors import SettingError
from linsep.estimators.callbacks import CallbackBridge, observers_of
from linsep.estimators.kernel_facts import (
    certify_pairs,
    convexity,
    cost_words,
    widen_pairs,
    words_of,
)
from linsep.estimators.kernel_hard import equal_rows, overlap_of
from linsep.estimators.kernel_words import warn_of
from linsep.solvers.smo import SMO
from linsep.solvers.smo_parts import pairs_of

__all__ = ["KernelFitting"]

_SMALL = 1000  # rows up to which more digits than asked for cost nothing worth mentioning
_DOUBLE = 3000  # rows up to which the Gram matrix is float64
_KEPT = (
    "support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "classes_",
    "kernel_", "_kernel", "n_features_in_",
)  # fmt: skip


class KernelFitting:
    """The private half of KernelSVM."""

    C: float
    tol: float
    max_iter: int
    time_limit: float | None
    memory: float
    verbose: int
    warm_start: bool
    _kernel: Any
    _precomputed: bool
    _observers: Any
    _seed: Any
    overlap_: Overlap | None
    conflict_: tuple[int, ...] | None

    def _run(self, problem: Problem, X: Any, y: Any, state: Any = None) -> Self:
        observers = observers_of(self)
        bridge = CallbackBridge(self, X, y, self._so_far, _KEPT)
        cost_words(problem, self._kernel, self.memory, self.verbose)
        with one_blas_thread(), np.errstate(all="ignore"):
            self._look_for_equal_rows(problem)
            solver, reason, outcome = self._driven(problem, state, [*observers, bridge])
            if np.isinf(solver.C) and not outcome.interrupted and not _time_is_up(outcome):
                self.overlap_ = overlap_of(problem, solver, outcome.state, self._kernel)
                if self.overlap_ is not None:
                    solver, reason, outcome = self._driven(problem, None, [*observers, bridge])
            self._keep(problem, solver, outcome, reason)
        bridge.close()
        warn_of(self)
        return self

    def _driven(
        self, problem: Problem, state: Any, observers: list[Any]
    ) -> tuple[SMO, str, Outcome[Any]]:
        solver, reason = self._solver(problem)
        if state is None:
            state = solver.init(problem, start=self._dual_start(problem))
        limits = Limits(steps=self.max_iter, seconds=self.time_limit)
        return solver, reason, drive(problem, solver, state, limits=limits, observers=observers)

    def _look_for_equal_rows(self, problem: Problem) -> None:
        """With C=inf: equal rows of different classes, which end the search before it begins."""
        self.overlap_ = equal_rows(problem, self._kernel) if np.isinf(self.C) else None
        self.conflict_ = None if self.overlap_ is None else self.overlap_.rows

    def _solver(self, problem: Problem) -> tuple[SMO, str]:
        """The solver for this problem, and the reason for its settings in words."""
        kernel = None if self._precomputed else self._kernel
        convex, how = convexity(problem, kernel)
        if not convex and np.isinf(self.C):
            raise SettingError(
                f"C=inf needs a positive semidefinite kernel, and {self._kernel!r} is not on these "
                "rows; choose a finite C."
            )
        single = problem.n > _DOUBLE and self.tol >= 1e-4
        small = problem.n <= _SMALL
        tol = (0.9 if single else 0.999) * float(self.tol)
        solver = SMO(
            kernel=kernel,
            C=float(self.C) if getattr(self, "overlap_", None) is None else 1.0,
            tol=tol,
            fine=min(tol, 1e-10) if small else tol,
            convex=convex,
            memory=float(self.memory),
            single=single,
            seed=self._seed(),
        )
        places = "float32, f and alpha in float64" if single else "float64"
        which = "all rows" if problem.n <= solver._limit() else "the rows that matter"
        pairs = "" if problem.binary else f"; {len(pairs_of(problem, kernel).pairs)} pairs"
        return solver, f"second-order working sets, Gram matrix of {which} in {places}{pairs}{how}"

    def _dual_start(self, problem: Problem) -> Any:
        """The dual variables of the last fit, if they belong to as many rows of each class."""
        if not self.warm_start or not hasattr(self, "_alphas"):
            return None
        pairs = pairs_of(problem, None if self._precomputed else self._kernel).pairs
        if [len(a) for a in self._alphas] != [len(p.y) for p in pairs]:
            return None
        return self._alphas

    # -- the answer -------------------------------------------------------------------------

    def _keep(self, problem: Problem, solver: SMO, outcome: Outcome[Any], reason: str) -> None:
        pairs = pairs_of(problem, solver.kernel)
        alphas, offsets = [part.alpha for part in outcome.state.parts], outcome.witness.a
        words = words_of(solver.C, self._kernel, problem.fit_intercept, solver.convex)
        gap = certify_pairs(problem, pairs, alphas, offsets, solver, words)
        if gap.convex and np.isfinite(solver.C) and gap.relative_gap > self.tol:
            wide = widen_pairs(pairs, alphas, offsets)
            better = certify_pairs(problem, pairs, *wide, solver, words)
            if better.objective < gap.objective:
                (alphas, offsets), gap = wide, better
        self._alphas = alphas
        self._keep_dual(problem, pairs, alphas, offsets)
        self.certificate_: KernelGap = gap
        if self.overlap_ is not None:
            self.status_ = Status.INSEPARABLE
        else:
            self.status_ = gap.settle(outcome.status, self.tol)
        self.n_iter_ = max(1, outcome.steps)
        self.n_updates_ = outcome.state.n_updates
        self.solver_used_, self.outcome_ = reason, outcome
        problem.__dict__.pop("_kernel_pairs", None)  # the Gram matrix is not needed any more

    def _keep_dual(
        self,
        problem: Problem,
        pairs: Any,
        alphas: list[NDArray[np.float64]],
        offsets: NDArray[np.float64],
    ) -> None:
        """Support vectors class by class, in the layout of LIBSVM and scikit-learn."""
        n, K = problem.n, problem.K
        self.classes_, self.kernel_ = problem.classes, self._kernel
        coef = np.zeros((K - 1, n))
        for pair, alpha in zip(pairs.pairs, alphas):
            i, j = pair.classes
            signed = pair.y * alpha if K == 2 else -pair.y * alpha
            first = pair.y < 0
            coef[j - 1, pair.ids[first]] = signed[first]
            coef[i, pair.ids[~first]] = signed[~first]
        used = np.flatnonzero(coef.any(axis=0))
        used = used[np.argsort(problem.label[pairs.order[used]], kind="stable")]
        rows = pairs.order[used]
        self.dual_coef_ = np.ascontiguousarray(coef[:, used])
        self.intercept_ = np.array(offsets) if K == 2 else 0.0 - np.asarray(offsets)
        self.n_support_ = np.bincount(problem.label[rows], minlength=K).astype(np.int32)
        index = problem.row_index
        self.support_ = rows if index is None else index[rows]
        if self._precomputed:
            self.support_vectors_: Any = np.empty((0, 0))
        else:
            self.support_vectors_ = problem.matrix[rows]

    def _so_far(self, now: Any) -> dict[str, Any]:
        """What a copy of the estimator needs to predict with the present variables."""
        pairs = pairs_of(now.problem, now.solver.kernel)
        alphas = [part.alpha for part in now.state.parts]
        self._keep_dual(now.problem, pairs, alphas, now.solver.witness(now.problem, now.state).a)
        return {name: getattr(self, name) for name in _KEPT}


def _time_is_up(outcome: Outcome[Any]) -> bool:
    return outcome.status in (Status.TIME_LIMIT, Status.STOPPED)
