"""What classifiers with a kernel share: the kernel, the data, decisions by blocks."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.core import Problem
from linsep.errors import DataError, SettingError
from linsep.estimators.calibrated import Calibrated
from linsep.estimators.checked import checked_problem
from linsep.estimators.kernel_scores import kernel_sums
from linsep.estimators.params import Check, boolean, check_params, either, none, number, seed_of
from linsep.kernels import Precomputed, as_kernel

__all__ = ["KernelClassifier"]

_SHORT = ("gamma", "sigma", "degree", "coef0")


class KernelClassifier(Calibrated, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of KernelSVM and KernelPerceptron."""

    _checks: ClassVar[dict[str, Check]] = {}
    _common_checks: ClassVar[dict[str, Check]] = {
        "fit_intercept": boolean,
        "max_iter": number(1, whole=True),
        "time_limit": either(none, number(0)),
        "warm_start": boolean,
    }

    # -- before the fit ---------------------------------------------------------------------

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """Check parameters and data; fix the kernel."""
        check_params(self, self._common_checks | self._checks | self._calibration_check())
        problem = checked_problem(self, X, y, sample_weight)
        problem.fit_intercept = bool(self.fit_intercept)
        n = len(np.asarray(y)) if problem.row_index is not None else problem.n
        if self._precomputed and problem.d != n:
            raise DataError(
                "Precomputed matrix must be a square matrix: kernel='precomputed' needs the "
                f"values of all pairs of training rows. Input is a {n}x{problem.d} matrix."
            )
        self._kernel = self._resolved(problem, sample_weight)
        return problem

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )

    def _resolved(self, problem: Problem, sample_weight: Any = None) -> Any:
        """The kernel with numbers for all its parameters."""
        kernel = self._named()
        if not kernel.resolved and sample_weight is not None:
            kernel = _by_weight(kernel, problem, sample_weight)
        return as_kernel(kernel, problem.matrix)

    def _named(self) -> Any:
        """The kernel asked for; its parameters may still wait for the data."""
        given = {name: getattr(self, name) for name in _SHORT if getattr(self, name) is not None}
        if not given:
            return as_kernel(self.kernel, warn=False)
        if not isinstance(self.kernel, str):
            name = next(iter(given))
            raise SettingError(
                f"{name}={given[name]!r} goes with a kernel given by name; kernel is "
                f"{self.kernel!r}, so set it there."
            )
        kernel = as_kernel(self.kernel, warn=False)
        if "k" in kernel.get_params():  # tanh(k x.z + c), by the names of scikit-learn
            given = {{"gamma": "k", "coef0": "c"}.get(k, k): v for k, v in given.items()}
        return kernel.set_params(**given)

    def _seed(self) -> int:
        """One seed a fit; None is 0, so that a fit gives the same bits every time."""
        return seed_of(self.random_state)

    # -- after it ---------------------------------------------------------------------------

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def _scores_of(self, X: Any, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel values with the support vectors times coef, by blocks of rows."""
        if coef.shape[0] == 0:
            return np.zeros((X.shape[0], coef.shape[1]))
        if self._precomputed:
            picked = (
                X[:, self.support_] if isinstance(X, np.ndarray) else X.tocsc()[:, self.support_]
            )
            return np.asarray(picked @ coef, dtype=np.float64)
        return kernel_sums(self._kernel, X, self.support_vectors_, coef)

    def _quick_scores(self, X: Any) -> NDArray[np.float64]:
        """Scores that are good enough to predict: the classes are those of ``_scores``."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of the rows; a score of exactly 0 is the positive (last) class."""
        scores = self._quick_scores(X)
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores >= 0).astype(int)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _keep_vectors(self, X: Any) -> None:
        """Copies of the support vectors; none where the Gram matrix was given."""
        if self._precomputed:
            self.support_vectors_: Any = np.empty((0, 0))
        else:
            self.support_vectors_ = X[self.support_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._precomputed
        kernel = self.kernel
        tags.input_tags.positive_only = bool(getattr(kernel, "nonnegative", False)) or (
            isinstance(kernel, str) and kernel in ("intersection", "chi2", "hellinger")
        )
        return tags


def _by_weight(kernel: Any, problem: Problem, sample_weight: Any) -> Any:
    """ "scale" as a number: the variance of the rows, each counted as often as its weight says."""
    waiting = [k for k, v in kernel.get_params().items() if isinstance(v, str) and v == "scale"]
    weight = np.asarray(sample_weight, dtype=np.float64)
    weight = weight if problem.row_index is None else weight[problem.row_index]
    if not waiting or weight.ndim != 1 or (weight == weight[0]).all():
        return kernel
    weight = weight / weight.sum()
    matrix = problem.matrix.astype(np.float64)
    mean = float(weight @ np.asarray(matrix.sum(axis=1)).ravel()) / problem.d
    if problem.sparse:
        matrix.data = matrix.data**2
        square = float(weight @ np.asarray(matrix.sum(axis=1)).ravel()) / problem.d
        variance = square - mean * mean
    else:
        variance = float(weight @ ((matrix - mean) ** 2).sum(axis=1)) / problem.d
    if not (np.isfinite(variance) and variance > 0):
        return kernel
    return kernel.clone().set_params(**dict.fromkeys(waiting, 1.0 / (problem.d * variance)))
