"""How a fit of AdditiveSVM runs: the checks before it, the run, and what is kept of it."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import CallbackSupportMixin, with_callbacks

from linsep.certify.additive_gap import measure_additive
from linsep.certify.gap import Gap
from linsep.core import Limits, Outcome, Problem, Status, drive
from linsep.core.checkpoint import load_checkpoint
from linsep.core.lanes import one_blas_thread
from linsep.core.words import count, percent
from linsep.errors import DataError, GapWarning, ModelError
from linsep.estimators.additive_fit import Fitted, fit_hellinger, fit_smo, present, smo_solver
from linsep.estimators.additive_kernel import kernel_name, kernel_of, power_of, require_nonnegative
from linsep.estimators.additive_stretch import rounding_of, stretched
from linsep.estimators.calibrated import Calibrated
from linsep.estimators.callbacks import CallbackBridge, observers_of
from linsep.estimators.checked import checked_problem
from linsep.estimators.params import (
    Check,
    boolean,
    check_params,
    either,
    jobs,
    none,
    number,
    seed_of,
)
from linsep.estimators.unusable import overflow_words

__all__ = ["AdditiveRun"]

_LARGEST = 1e100
_PREDICTING = ("function_", "intercept_", "classes_", "n_features_in_")


class AdditiveRun(Calibrated, CallbackSupportMixin):
    """Methods of AdditiveSVM that train."""

    kernel: Any
    C: float
    tol: float
    max_iter: int
    time_limit: float | None
    class_weight: Any
    random_state: Any
    verbose: int
    callbacks: Any
    status_: Status
    certificate_: Gap
    outcome_: Outcome[Any]
    n_iter_: int
    _rounding: float

    _checks: ClassVar[dict[str, Check]] = {
        "kernel": kernel_of,
        "C": Check(lambda v: number(0, above=True).test(v) and v < np.inf, "a finite number > 0"),
        "tol": number(0, above=True),
        "max_iter": number(1, whole=True),
        "time_limit": either(none, number(0)),
        "warm_start": boolean,
        "n_jobs": jobs,
    }

    @with_callbacks
    def resume(
        self, X: Any, y: ArrayLike, checkpoint: Any, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on with a fit that was stopped, from the file its checkpoints were written to."""
        with one_blas_thread():
            problem = self._problem(X, y, sample_weight)
            if power_of(self.kernel) == 0.0:
                raise ModelError("kernel='hellinger' writes no checkpoints; start the fit afresh.")
            state = load_checkpoint(checkpoint, problem, smo_solver(self, problem))
            self._run(problem, X, y, state)
            return self._calibrate(X, y, sample_weight)

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        check_params(self, self._checks | self._calibration_check())
        problem = checked_problem(self, X, y, sample_weight)
        require_nonnegative(problem.matrix, self.kernel, problem.feature_names, type(self).__name__)
        data = problem.matrix.data if problem.sparse else problem.matrix
        if data.size and float(data.max()) > _LARGEST:
            raise DataError(
                f"X reaches {float(data.max()):.3g}, too large for sums; scale the columns, for "
                "instance with sklearn.preprocessing.MaxAbsScaler."
            )
        return problem

    def _run(self, problem: Problem, X: Any, y: Any, state: Any = None) -> None:
        power = power_of(self.kernel)
        observers = observers_of(self)  # sets the callbacks that the bridge looks for
        bridge = CallbackBridge(self, X, y, partial(present, power), _PREDICTING)
        observers.append(bridge)
        if power == 0.0:
            fitted = fit_hellinger(self, problem, observers)
        else:
            limits = Limits(steps=self.max_iter, seconds=self.time_limit)
            fitted = fit_smo(self, problem, power, state, limits, observers, drive)
        self._keep(problem, fitted)
        bridge.close()
        self._warn(problem)

    def _proof(self, problem: Problem, fitted: Fitted) -> Gap:
        return measure_additive(
            problem, fitted.function, fitted.offsets, np.abs(fitted.dual), float(self.C),
            kernel_name(self.kernel),
        )  # fmt: skip

    def _keep(self, problem: Problem, fitted: Fitted) -> None:
        outcome = fitted.outcome
        certificate = self._proof(problem, fitted)
        if certificate.relative_gap > self.tol and outcome.status is not Status.DIVERGED:
            longer = stretched(problem, fitted, float(self.C))
            other = self._proof(problem, longer)
            if other.relative_gap < certificate.relative_gap:
                fitted, certificate = longer, other
        support = np.flatnonzero(fitted.dual.any(axis=0))
        index = problem.row_index
        self.classes_ = problem.classes
        self.function_ = fitted.function
        self.intercept_ = fitted.offsets
        self.support_ = support if index is None else index[support]
        self.dual_coef_ = fitted.dual[:, support]
        self._n_fitted, self._C_fitted = problem.n, float(self.C)
        self.n_iter_ = max(1, int(np.ceil(outcome.passes)))
        self.n_updates_ = int(outcome.state.n_updates)
        self.status_ = certificate.settle(outcome.status, self.tol)
        self.certificate_ = certificate
        self.solver_used_ = fitted.words
        self.outcome_ = outcome
        missed = not self.status_.ok
        self._rounding = rounding_of(problem, fitted, float(self.C)) if missed else 0.0

    def _warn(self, problem: Problem) -> None:
        status, gap = self.status_, self.certificate_
        if status is Status.DIVERGED:
            raise DataError(overflow_words(problem))
        if status.ok or self.outcome_.interrupted:
            return
        warnings.warn(
            f"{status.value} ({status.name}, {count(self.n_iter_, 'pass')}). The objective "
            f"{gap.objective:.6g} is proved to be within {percent(gap.relative_gap, 3)} of the "
            f"best possible one; tol asks for {percent(self.tol, 3)}. {self._advice()}",
            GapWarning,
            stacklevel=5,
        )

    def _advice(self) -> str:
        """What would help."""
        gap, rounding = self.certificate_, self._rounding
        if 2 * rounding > gap.objective - gap.lower_bound:
            return (
                f"C = {self.C:g} multiplies the rounding errors of the scores: {rounding:.3g} of "
                "the objective is more than double precision can prove. A smaller C, or a "
                f"tol of {max(2.0 * gap.relative_gap, self.tol):.2g}, has a proof."
            )
        if self.status_ is Status.STALLED:
            return "A smaller C, or columns on a smaller scale, make the problem easier."
        return "Raise max_iter or time_limit, or lower C."

    def _seed(self) -> int:
        return seed_of(self.random_state)
