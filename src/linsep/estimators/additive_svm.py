"""The support vector machine with an additive kernel as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.certify.additive_gap import measure_additive
from linsep.core import Limits, Observer, Problem, Status, drive
from linsep.core.checkpoint import load_checkpoint
from linsep.core.lanes import one_blas_thread
from linsep.core.progress import progress_observer
from linsep.errors import DataError, GapWarning, ModelError
from linsep.estimators.additive_facts import AdditiveFacts
from linsep.estimators.additive_file import additive_from_model, additive_to_model
from linsep.estimators.additive_fit import Fitted, fit_hellinger, fit_smo, smo_solver
from linsep.estimators.additive_kernel import kernel_name, kernel_of, power_of, require_nonnegative
from linsep.estimators.calibrated import Calibrated
from linsep.estimators.checked import _weights, checked_problem
from linsep.estimators.params import Check, boolean, check_params, either, none, number

__all__ = ["AdditiveSVM"]

_LARGEST = 1e100


class AdditiveSVM(AdditiveFacts, Calibrated, ClassifierMixin, BaseEstimator):
    """Support vector machine for histograms, at cost linear in rows and features.

    The kernel is a sum over features of a mean of two numbers >= 0,
    K(x, z) = sum_k M_p(x_k, z_k) with the power mean of exponent p <= 0. The decision is
    f(x) = sum_k h_k(x_k) + b, one function for each feature. Training and prediction work with
    these functions: no kernel matrix is built, and prediction does not depend on the number of
    support vectors. The answer is that of the exact kernel machine, with a proved duality gap.

    Parameters
    ----------
    kernel : {"intersection", "chi2", "hellinger"}, number <= 0 or kernel, default="intersection"
        "intersection" is min(x, z) (p = -inf), "chi2" is 2 x z / (x + z) with 0/0 = 0 (p = -1),
        "hellinger" is sqrt(x z) (p = 0); a number is the exponent p of the power mean. Kernels
        of ``linsep.kernels`` (Intersection, ChiSquared, Hellinger, PowerMean) will do too.
    C : float, default=1.0
        Cost of a violation.
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=100000
        Limit of working sets (of passes for "hellinger").
    time_limit : float or None, default=None
        Limit in seconds; the best model so far is kept, with its proof.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None
        Chooses the rows to begin with; None is 0.
    warm_start : bool, default=False
        Start from the dual variables of the last fit, if it had the same rows.
    verbose : int, default=0
        Show progress on stderr.
    callbacks : list or None, default=None
        Observers of linsep.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold.
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.
    n_jobs : int or None, default=None
        Threads for three classes and more; None or -1 means all cores. The result does not
        depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    intercept_ : array of shape (1,) or (n_classes,)
        Offsets b; they are not penalised.
    support_ : array of shape (n_support,)
        Rows with a dual variable that is not zero.
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y alpha of these rows.
    function_ : AdditiveFunction
        The functions h_k: values and coefficients of every feature.
    n_iter_ : int
        Passes over the data.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : Gap
        objective, lower_bound, gap, relative_gap, errors, margin; recomputed from the data.
    solver_used_ : str
    outcome_ : Outcome

    See Also
    --------
    linsep.KernelSVM : Any kernel, with blocks of the kernel matrix.
    linsep.kernels.PowerMean : The kernel by itself.

    Notes
    -----
    Three classes and more: one machine for each class against the rest. Entries of X must be
    >= 0; features are not scaled, and min, chi2 and Hellinger all grow in proportion with x.

    Examples
    --------
    >>> import linsep
    >>> X = [[3, 0, 1], [4, 1, 0], [0, 3, 1], [1, 5, 0]]
    >>> model = linsep.AdditiveSVM(kernel="chi2").fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[5, 1, 1], [0, 2, 2]]).tolist(), model.status_.name
    (['a', 'b'], 'CERTIFIED')
    """

    fit_intercept: ClassVar[bool] = True
    loss: ClassVar[str] = "hinge"

    _checks: ClassVar[dict[str, Check]] = {
        "kernel": kernel_of,
        "C": Check(lambda v: number(0, above=True).test(v) and v < np.inf, "a finite number > 0"),
        "tol": number(0, above=True),
        "max_iter": number(1, whole=True),
        "time_limit": either(none, number(0)),
        "warm_start": boolean,
        "n_jobs": either(none, number(-1, whole=True)),
    }

    def __init__(
        self,
        kernel: Any = "intersection",
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 100_000,
        time_limit: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on X and y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Entries >= 0: counts, frequencies, intensities.
        y : array of shape (n_samples,)
            Any labels, two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight s counts as s rows.

        Returns
        -------
        self
        """
        with one_blas_thread():
            problem = self._problem(X, y, sample_weight)
            return self._run(problem)._calibrate(X, y, sample_weight)

    def resume(
        self, X: Any, y: ArrayLike, checkpoint: Any, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on with a fit that was stopped, from the file its checkpoints were written to."""
        with one_blas_thread():
            problem = self._problem(X, y, sample_weight)
            if power_of(self.kernel) == 0.0:
                raise ModelError("kernel='hellinger' writes no checkpoints; start the fit afresh.")
            state = load_checkpoint(checkpoint, problem, smo_solver(self, problem))
            return self._run(problem, state)._calibrate(X, y, sample_weight)

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

    def _run(self, problem: Problem, state: Any = None) -> Self:
        power = power_of(self.kernel)
        observers = [*progress_observer(self.verbose), *self._callbacks()]
        if power == 0.0:
            fitted = fit_hellinger(self, problem, observers)
        else:
            limits = Limits(steps=self.max_iter, seconds=self.time_limit)
            fitted = fit_smo(self, problem, power, state, limits, observers, drive)
        self._keep(problem, fitted)
        self._warn()
        return self

    def _keep(self, problem: Problem, fitted: Fitted) -> None:
        outcome = fitted.outcome
        certificate = measure_additive(
            problem, fitted.function, fitted.offsets, np.abs(fitted.dual), float(self.C),
            kernel_name(self.kernel),
        )  # fmt: skip
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

    def _warn(self) -> None:
        status, gap = self.status_, self.certificate_
        if status is Status.DIVERGED:
            raise DataError("the numbers overflowed; scale the columns to at most 1.")
        if status.ok or self.outcome_.interrupted:
            return
        warnings.warn(
            f"{status.value} ({status.name}, {self.n_iter_} passes). The objective "
            f"{gap.objective:.6g} is proved to be within {100 * gap.relative_gap:.3g} % of the "
            f"best possible one; tol asks for {100 * self.tol:.3g} %. Raise max_iter or "
            "time_limit, or scale the columns.",
            GapWarning,
            stacklevel=4,
        )

    def _callbacks(self) -> Sequence[Observer]:
        many = self.callbacks
        many = [] if many is None else many if isinstance(many, list | tuple) else [many]
        for one in many:
            if not isinstance(one, Observer):
                raise TypeError(f"callbacks holds {one!r}; give observers of linsep.")
        return many

    def _seed(self) -> int:
        state = 0 if self.random_state is None else self.random_state
        if isinstance(state, int | np.integer) and not isinstance(state, bool):
            return int(state)
        return int(check_random_state(state).randint(2**31 - 1))

    def _weights(self, y: NDArray[Any], sample_weight: Any) -> Any:
        return _weights(self.class_weight, y, sample_weight)

    # -- the answer -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores sum_k h_k(x_k) + b: shape (n,) for two classes, (n, K) for more."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        names = getattr(self, "feature_names_in_", None)
        require_nonnegative(X, self.kernel, names, type(self).__name__)
        scores = self.function_.scores(X) + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of the rows; a score of exactly 0 is the positive (last) class."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores >= 0).astype(int)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    # -- model files ------------------------------------------------------------------------

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        return self._calibration_out(additive_to_model(self))

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model: Self = additive_from_model(cls, fields)
        return model._calibration_in(fields)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
