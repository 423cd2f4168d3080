"""The kernel support vector machine as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.certify.kernel_gap import KernelGap
from linsep.core import Limits, Outcome, Problem, Status, drive
from linsep.core.checkpoint import load_checkpoint
from linsep.core.lanes import one_blas_thread
from linsep.errors import DataError, GapWarning, NotSeparatedWarning, SettingError
from linsep.estimators.kernel_base import KernelClassifier
from linsep.estimators.kernel_facts import (
    certify_pairs,
    convexity,
    cost_words,
    hard_conflict,
    pair_columns,
    votes_and_sums,
    words_of,
)
from linsep.estimators.kernel_file import kernel_from_model, kernel_to_model
from linsep.estimators.kernel_summary import kernel_summary
from linsep.estimators.params import Check, boolean, number, one_of
from linsep.solvers.smo import SMO
from linsep.solvers.smo_parts import pairs_of

__all__ = ["KernelSVM"]

_SMALL = 1000  # rows up to which more digits than asked for cost nothing worth mentioning
_DOUBLE = 3000  # rows up to which the Gram matrix is float64


class KernelSVM(KernelClassifier):
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
        Observers of linsep.
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
    conflict_ : tuple of two rows or None
        With C=inf: equal rows of different classes, which prove that no hard margin exists.
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
        self._run(self._problem(X, y, sample_weight))
        return self._calibrate(X, y, sample_weight)

    def resume(
        self, X: Any, y: ArrayLike, checkpoint: str | Path, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on with a fit that was stopped, from the file its checkpoints were written to."""
        problem = self._problem(X, y, sample_weight)
        state = load_checkpoint(checkpoint, problem, self._solver(problem)[0])
        return self._run(problem, state)._calibrate(X, y, sample_weight)

    def _run(self, problem: Problem, state: Any = None) -> Self:
        observers = self._observers()
        cost_words(problem, self._kernel, self.memory, self.verbose)
        with one_blas_thread(), np.errstate(all="ignore"):
            self.conflict_ = hard_conflict(problem) if np.isinf(self.C) else None
            solver, reason = self._solver(problem)
            if state is None:
                state = solver.init(problem, start=self._dual_start(problem))
            limits = Limits(steps=self.max_iter, seconds=self.time_limit)
            outcome = drive(problem, solver, state, limits=limits, observers=observers)
            self._keep(problem, solver, outcome, reason)
        self._warn()
        return self

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
        conflict = getattr(self, "conflict_", None) is not None
        solver = SMO(
            kernel=kernel,
            C=1.0 if conflict else float(self.C),
            tol=(0.9 if single else 0.999) * float(self.tol),
            fine=min(float(self.tol), 1e-10) if small else 0.9 * float(self.tol),
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
        self._alphas = [part.alpha for part in outcome.state.parts]
        offsets = outcome.witness.a
        self.classes_, self.kernel_ = problem.classes, self._kernel
        self._keep_dual(problem, pairs, offsets)
        words = words_of(solver.C, self._kernel, problem.fit_intercept)
        gap = certify_pairs(problem, pairs, self._alphas, offsets, solver, words)
        self.certificate_: KernelGap = gap
        if self.conflict_ is not None:
            self.status_ = Status.INSEPARABLE
        else:
            self.status_ = gap.settle(outcome.status, self.tol)
        self.n_iter_ = max(1, outcome.steps)
        self.n_updates_ = outcome.state.n_updates
        self.solver_used_, self.outcome_ = reason, outcome
        problem.__dict__.pop("_kernel_pairs", None)  # the Gram matrix is not needed any more

    def _keep_dual(self, problem: Problem, pairs: Any, offsets: NDArray[np.float64]) -> None:
        """Support vectors class by class, in the layout of LIBSVM and scikit-learn."""
        n, K = problem.n, problem.K
        coef = np.zeros((K - 1, n))
        for pair, alpha in zip(pairs.pairs, self._alphas):
            i, j = pair.classes
            signed = pair.y * alpha if K == 2 else -pair.y * alpha
            first = pair.y < 0
            coef[j - 1, pair.ids[first]] = signed[first]
            coef[i, pair.ids[~first]] = signed[~first]
        used = np.flatnonzero(coef.any(axis=0))
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

    def _warn(self) -> None:
        status, gap = self.status_, self.certificate_
        if status is Status.DIVERGED:
            raise DataError(
                f"the numbers overflowed with kernel {self._kernel!r}; scale the columns, for "
                "instance with sklearn.preprocessing.StandardScaler, or lower C."
            )
        if self.conflict_ is not None:
            i, j = self.conflict_
            warnings.warn(
                f"rows {i} and {j} are equal and have different labels, so no kernel separates "
                "the classes and a hard margin does not exist. The model is that of C=1; choose "
                "a finite C.",
                NotSeparatedWarning,
                stacklevel=4,
            )
        elif not status.ok and not self.outcome_.interrupted:
            warnings.warn(self._gap_words(gap, status), GapWarning, stacklevel=4)

    def _gap_words(self, gap: KernelGap, status: Status) -> str:
        begin = f"{status.value} ({status.name}, {self.n_iter_} working sets). "
        if not np.isfinite(gap.objective):
            width = gap.width
            return begin + (
                f"With C=inf some row is still on the wrong side ({gap.errors} rows); no street "
                f"wider than {width:.3g} in the feature space was found. If the classes overlap "
                "there is none: choose a finite C."
            )
        if not gap.convex:
            return begin + (
                f"The conditions of optimality are violated by {gap.violation:.3g}; tol asks for "
                f"{self.tol:.3g}. Raise max_iter or time_limit."
            )
        return begin + (
            f"The objective {gap.objective:.6g} is proved to be within "
            f"{100 * gap.relative_gap:.3g} % of the best possible one; tol asks for "
            f"{100 * self.tol:.3g} %. Raise max_iter or time_limit, or scale the columns."
        )

    def _pair_values(self, X: Any) -> NDArray[np.float64]:
        """Values of the pairs, >= 0 for the second class of each."""
        rows, K = self._rows(X), len(self.classes_)
        if K == 2:
            return self._scores_of(rows, self.dual_coef_.T) + self.intercept_
        coef = pair_columns(self.dual_coef_, self.n_support_)
        return -(self._scores_of(rows, coef) + self.intercept_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores whose largest is the class predicted; one of >= 0 is the last of two."""
        raw = self._pair_values(X)
        return raw[:, 0] if len(self.classes_) == 2 else votes_and_sums(raw, len(self.classes_))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: (n,) for two classes; (n, K) or (n, K (K - 1) / 2) for more."""
        if len(getattr(self, "classes_", ())) > 2 and self.decision_function_shape == "ovo":
            return -self._pair_values(X)
        return self._scores(X)

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        from sklearn.utils.validation import check_is_fitted

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
        return self._calibration_out(kernel_to_model(self))

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model: Self = kernel_from_model(cls, fields)
        return model._calibration_in(fields)
