"""The kernel support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from linsep.certify.kernel_gap import KernelGap
from linsep.certify.kernel_overlap import Overlap
from linsep.core.checkpoint import load_checkpoint
from linsep.estimators.kernel_decide import KernelDeciding
from linsep.estimators.kernel_file import kernel_from_model, kernel_to_model
from linsep.estimators.kernel_fit import KernelFitting
from linsep.estimators.kernel_summary import kernel_summary
from linsep.estimators.params import Check, boolean, number, one_of

__all__ = ["KernelSVM"]


class KernelSVM(KernelFitting, KernelDeciding):
    """Support vector machine with a kernel and a proved duality gap.

    Minimises |w|^2 / 2 + C sum_i s_i max(0, 1 - y_i f(x_i)) over all f(x) = w.phi(x) + b, where
    phi is the feature map of the kernel K(x, z) = phi(x).phi(z) and b is not penalised. The answer
    is f(x) = sum_i alpha_i y_i K(x_i, x) + b. It ends when the objective is proved to be within
    ``tol`` of the best possible one; the proof is recomputed in float64 from alpha, b and the
    kernel.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation. inf is the hard margin: no row inside the street at all.
    kernel : str, kernel object or function, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "intersection", "chi2", "hellinger", "precomputed"
        (X is the Gram matrix), an object of linsep.kernels, or a function of two rows.
    gamma, sigma, degree, coef0 : optional
        Parameters of a kernel given by name; see linsep.kernels. None: those of the name.
    fit_intercept : bool, default=True
        Whether to have an offset; it is never penalised.
    tol : float, default=1e-3
        Relative duality gap to reach. For a kernel that is not positive semidefinite: the largest
        violation of the conditions of optimality.
    max_iter : int, default=100000
        Limit of working sets.
    time_limit : float or None, default=None
        Limit in seconds; the best model so far is kept, with its proof.
    memory : float, default=1000.0
        Megabytes for Gram matrices. What does not fit is computed for the rows that matter.
    class_weight : dict, "balanced" or None, default=None
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For three classes and more: votes of all pairs with sums of their values, (n, K), or the
        values of the pairs themselves, (n, K (K - 1) / 2), positive for the first class.
    random_state : int, RandomState or None, default=None
        Seed of samples; None is 0.
    warm_start : bool, default=False
        Start from the dual variables of the last fit, if the rows are as many.
    verbose : int, default=0
        Say on stderr what it will cost, and show progress.
    callbacks : list or None, default=None
        Observers of linsep or callbacks of scikit-learn, told about every working set.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold; ``predict`` stays the same and always
        has the largest probability.
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Rows with a dual variable that is not zero, class by class.
    support_vectors_ : array or sparse matrix of shape (n_support, n_features)
    n_support_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_classes - 1, n_support)
        y alpha, in the layout of scikit-learn's SVC.
    intercept_ : array of shape (n_classes (n_classes - 1) / 2,)
    classes_ : array of shape (n_classes,)
    kernel_ : kernel object
        With numbers for all parameters.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : KernelGap
        objective, lower_bound, gap, relative_gap, errors; margin and width in the feature space.
        With three classes and more ``parts`` has one for each pair.
    overlap_ : Overlap or None
        With C=inf: the proof that no hard margin exists, rows of two classes with multipliers
        whose weighted images are one point; ``overlap_.check(X, y)`` recomputes it in fractions.
    conflict_ : tuple of two rows or None
        The same where two equal rows of different classes prove it.
    coef_ : array of shape (1, n_features)
        With the linear kernel and two classes only: the weights of the plane.
    pair_coef_ : array of shape (n_classes (n_classes - 1) / 2, n_features)
        With the linear kernel only: those of each pair of classes, the ``coef_`` of SVC.
    solver_used_ : str
    outcome_ : Outcome
    n_iter_ : int
        Working sets.

    See Also
    --------
    LinearSVM : Far faster where the kernel is linear.
    AdditiveSVM : Kernels of histograms at linear cost.

    Notes
    -----
    Two classes: scores >= 0 are the last class. More: one machine for each pair of classes, which
    vote; equal votes are decided by the sums of their values.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("xor")
    >>> model = linsep.KernelSVM(kernel=linsep.kernels.Polynomial(degree=2)).fit(table.X, table.y)
    >>> abs(model.dual_coef_).tolist(), model.intercept_.tolist()
    ([[0.125, 0.125, 0.125, 0.125]], [0.0])
    >>> model.decision_function([[0.5, -2.0]]).tolist()
    [1.0]
    """

    _checks: ClassVar[dict[str, Check]] = {
        "C": number(0, above=True),
        "tol": number(0, above=True),
        "memory": number(0, above=True),
        "decision_function_shape": one_of("ovr", "ovo"),
        "warm_start": boolean,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        sigma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100_000,
        time_limit: float | None = None,
        memory: float = 1000.0,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv

    # -- fit --------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on X and y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            float32 and float64 are used as they are; with kernel="precomputed" the Gram matrix.
        y : array of shape (n_samples,)
            Any labels, two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight s counts as s rows.

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
        """Go on with a fit that was stopped, from the file its checkpoints were written to."""
        problem = self._problem(X, y, sample_weight)
        self._look_for_equal_rows(problem)
        state = load_checkpoint(checkpoint, problem, self._solver(problem)[0])
        return self._run(problem, X, y, state)._calibrate(X, y, sample_weight)

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        check_is_fitted(self, "classes_")
        return kernel_summary(self)

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
        """The proof again, from the data and the numbers of the model; see linsep.certify."""
        from linsep.estimators.kernel_recheck import recheck

        return recheck(self, X, y, sample_weight)

    # -- model files ------------------------------------------------------------------------

    def _n_machines(self) -> int:
        K = len(self.classes_)
        return K * (K - 1) // 2

    def _n_rows_of_dual(self) -> int:
        return len(self.classes_) - 1

    @staticmethod
    def _certificate_class() -> type[KernelGap]:
        return KernelGap

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        overlap = getattr(self, "overlap_", None)
        fields = kernel_to_model(self) | {"overlap": overlap and overlap.to_dict()}
        return self._calibration_out(fields)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model: Self = kernel_from_model(cls, fields)
        told = fields.get("overlap")
        model.overlap_ = None if told is None else Overlap.from_dict(told)
        equal = getattr(model, "conflict_", None) is not None and model.overlap_ is not None
        model.conflict_ = model.overlap_.rows if equal and model.overlap_ is not None else None
        return model._calibration_in(fields)
