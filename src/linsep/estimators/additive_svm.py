"""The support vector machine with an additive kernel as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.core.lanes import one_blas_thread
from linsep.estimators.additive_facts import AdditiveFacts
from linsep.estimators.additive_file import additive_from_model, additive_to_model
from linsep.estimators.additive_kernel import require_nonnegative
from linsep.estimators.additive_run import AdditiveRun

__all__ = ["AdditiveSVM"]


class AdditiveSVM(AdditiveFacts, AdditiveRun, ClassifierMixin, BaseEstimator):
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
        Observers of linsep or callbacks of scikit-learn.
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

    @with_callbacks
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
            self._run(problem, X, y)
            return self._calibrate(X, y, sample_weight)

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
