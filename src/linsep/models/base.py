"""What all estimators share: validation, the run, the answer and its words.

An estimator is thin. It checks its parameters, builds a problem and a solver, lets ``drive``
run it, has the result certified, and keeps the answer in scikit-learn's attributes.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint
from linsep.core.drive import Limits, Outcome
from linsep.core.problem import Problem
from linsep.core.protocol import Solver
from linsep.core.status import Status
from linsep.core.words import count
from linsep.errors import DataError, LabelError, NotSeparatedWarning
from linsep.formats.linear import linear_from_model, linear_to_model
from linsep.models.calibration import Calibrated
from linsep.models.callbacks import CallbackBridge, observers_of, with_callbacks
from linsep.models.checked import overflow_words, read_labels
from linsep.models.params import Check, boolean, check_params, either, none, number, seed_of
from linsep.proofs.certificate import Certificate, judge


class LinearClassifier(Calibrated, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the linear classifiers; see the classes derived from it."""

    certificate_: Any
    """Each estimator says of which kind."""

    _checks: ClassVar[dict[str, Check]] = {}
    _common_checks: ClassVar[dict[str, Check]] = {
        "fit_intercept": boolean,
        "max_iter": number(1, whole=True),
        "time_limit": either(none, number(0)),
        "warm_start": boolean,
    }

    _checked_at_the_end: ClassVar[bool] = False
    """Whether NaN and infinity in X are noticed by the certificate, which reads all rows, so
    that no pass over the data is needed before the first step."""

    _given: Problem | None = None
    """The problem of the rows that ``fit`` gets, where a scheme of many has checked it before."""

    # -- to be given by each estimator ------------------------------------------------------

    def _solver(self, problem: Problem) -> tuple[Solver[Any], str]:
        """The solver for this problem, and the reason for the choice in words."""
        raise NotImplementedError

    def _start(self, problem: Problem) -> Any:
        """Where to start: None, "random" or (coef, intercept)."""
        return None

    # -- fit --------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on X and y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            float32 and float64 are used as they are.
        y : array of shape (n_samples,)
            Any labels, two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight zero takes no part.

        Returns
        -------
        self
        """
        self._run(self._problem(X, y, sample_weight), X, y)
        return self._calibrate(X, y, sample_weight)

    @with_callbacks
    def resume(
        self, X: Any, y: ArrayLike, checkpoint: str | Path, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on with a fit that was stopped, from the file its checkpoints were written to.

        The end is the same, bit for bit, as that of a fit which was never stopped. Data and
        settings must be those of the fit.
        """
        problem = self._problem(X, y, sample_weight)
        state = load_checkpoint(checkpoint, problem, self._solver(problem)[0])
        return self._run(problem, X, y, state)._calibrate(X, y, sample_weight)

    def _run(self, problem: Problem, X: Any, y: Any, state: Any = None) -> Self:
        observers = observers_of(self)
        solver, reason = self._solver(problem)
        if state is None:
            with np.errstate(all="ignore"):
                state = solver.init(problem, start=self._warm_start(problem))
        bridge = CallbackBridge(self, X, y)
        outcome = drive(
            problem,
            solver,
            state,
            limits=self._limits(problem, solver),
            observers=[*observers, bridge],
            certifier=judge,
        )
        if not getattr(outcome.certificate, "finite", True) or outcome.status is Status.DIVERGED:
            problem.check_finite()
            raise DataError(overflow_words(problem))
        with np.errstate(all="ignore"):
            self._keep(problem, solver, outcome, reason)
        bridge.close()
        self._warn(problem)
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """Check parameters and data."""
        check_params(self, self._common_checks | self._checks | self._calibration_check())
        if y is None:
            raise LabelError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if self._given is not None:
            self.n_features_in_ = self._given.d
            return self._given
        try:
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
            )
        except TypeError:
            raise
        except ValueError as error:
            raise DataError(str(error)) from error
        y = read_labels(y)
        names = getattr(self, "feature_names_in_", None)
        return Problem(
            X,
            y,
            sample_weight=self._weights(y, sample_weight),
            fit_intercept=self.fit_intercept,
            feature_names=names,
            check_finite=not self._checked_at_the_end,
            targets=getattr(self, "targets", None),
        )

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _warm_start(self, problem: Problem) -> Any:
        if self.warm_start and hasattr(self, "coef_"):
            size = problem.dim // (problem.d + 1) * problem.d
            if np.size(self.coef_) == size:
                return (self.coef_, self.intercept_)
        return self._start(problem)

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        rows = problem.n_rows if solver.unit == "visit" else 1
        return Limits(steps=self.max_iter * rows, seconds=self.time_limit)

    # -- the answer -------------------------------------------------------------------------

    def _keep(
        self, problem: Problem, solver: Solver[Any], outcome: Outcome[Any], reason: str
    ) -> None:
        certificate: Certificate = outcome.certificate
        self.classes_ = problem.classes
        self.coef_, self.intercept_ = problem.split(outcome.witness.a)
        self.n_iter_ = max(1, math.ceil(outcome.passes))
        self.n_updates_ = outcome.state.n_updates
        self.status_ = certificate.settle(outcome.status)
        self.certificate_ = certificate
        self.solver_used_ = reason
        self.outcome_ = outcome

    def _warn(self, problem: Problem) -> None:
        status, certificate = self.status_, self.certificate_
        if status.ok or certificate.errors == 0 or self.outcome_.interrupted:
            return
        warnings.warn(
            f"{status.value} ({status.name}, {count(self.n_iter_, 'pass')}). "
            f"{certificate.errors} of "
            f"{problem.n} rows are on the wrong side. linsep.separability(X, y) decides whether "
            "any plane separates them; raise max_iter if one does.",
            NotSeparatedWarning,
            stacklevel=5,
        )

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores w . x + b: shape (n,) for two classes, (n, K) for more."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        if len(self.classes_) == 2:
            return np.asarray(X @ self.coef_[0] + self.intercept_[0], dtype=np.float64)
        return np.asarray(X @ self.coef_.T + self.intercept_, dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of the rows; a score of exactly 0 is the positive (last) class."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores >= 0).astype(int)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        from linsep.models.summary import summary

        check_is_fitted(self)
        return summary(self)

    # -- model files ------------------------------------------------------------------------

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        return self._calibration_out(linear_to_model(self))

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model: Self = linear_from_model(cls, fields)
        return model._calibration_in(fields)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
