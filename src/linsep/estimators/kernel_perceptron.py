"""The kernel perceptron as a scikit-learn classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from linsep.certify.kernel_gap import KernelGap
from linsep.core.checkpoint import load_checkpoint
from linsep.core.parts import each_against_rest
from linsep.core.words import count, misplaced
from linsep.estimators.kernel_count import KernelCounting
from linsep.estimators.kernel_file import kernel_from_model, kernel_to_model
from linsep.estimators.kernel_recheck import places_of, problem_for
from linsep.estimators.params import Check, number, one_of

__all__ = ["KernelPerceptron"]


class KernelPerceptron(KernelCounting):
    """Perceptron in the feature space of a kernel: count the mistakes on every row.

    f(x) = sum_i alpha_i y_i K(x_i, x) + b, where alpha_i is how often row i was a mistake. If the
    classes are separable in the feature space with margin gamma (augmented by a constant 1), it
    ends after at most max (K_ii + 1) / gamma^2 mistakes.

    Parameters
    ----------
    kernel : str, kernel object or function, default="rbf"
        As in KernelSVM.
    gamma, sigma, degree, coef0 : optional
        Parameters of a kernel given by name.
    order : {"cyclic", "shuffle", "random"}, default="cyclic"
        How rows are visited: in order; in a new random order in each pass; drawn with replacement.
    keep : {"last", "pocket", "average"}, default="last"
        What to keep when the data are not separated: the last counts, those with fewest errors,
        or their mean over all visits.
    misclassified : {"<=", "<"}, default="<="
        Whether a value of zero counts as a mistake.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Limit of passes over the data.
    time_limit : float or None, default=None
    memory : float, default=1000.0
        Megabytes for the Gram matrix; where it does not fit, rows are computed when needed.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; a mistake counts as much as the weight of its row.
    random_state : int, RandomState or None, default=None
    warm_start : bool, default=False
        Start from the counts of the last fit, if the rows are as many.
    verbose : int, default=0
    callbacks : list or None, default=None
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Rows that were mistakes.
    support_vectors_ : array or sparse matrix
    n_support_ : array of shape (n_classes,)
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y alpha.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_, kernel_, status_, certificate_, solver_used_, outcome_, n_iter_, n_updates_

    See Also
    --------
    KernelSVM : The plane of maximum margin in the feature space.
    linsep.trace : Every update of a fit.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("xor")
    >>> model = linsep.KernelPerceptron(kernel="poly", degree=2, gamma=1.0).fit(table.X, table.y)
    >>> model.status_.name, model.n_updates_, model.predict(table.X).tolist() == table.y.tolist()
    ('SEPARATED', 4, True)
    """

    _checks: ClassVar[dict[str, Check]] = {
        "order": one_of("cyclic", "shuffle", "random"),
        "keep": one_of("last", "pocket", "average"),
        "misclassified": one_of("<=", "<"),
        "memory": number(0, above=True),
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        sigma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        order: str = "cyclic",
        keep: str = "last",
        misclassified: str = "<=",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        time_limit: float | None = None,
        memory: float = 1000.0,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.order = order
        self.keep = keep
        self.misclassified = misclassified
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on X and y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            With kernel="precomputed" the Gram matrix.
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
        """Go on with a fit that was stopped, from the file its checkpoints were written to."""
        problem = self._problem(X, y, sample_weight)
        state = load_checkpoint(checkpoint, problem, self._solver(problem)[0])
        return self._run(problem, X, y, state)._calibrate(X, y, sample_weight)

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
        """The facts again, from the data and the numbers of the model; see linsep.certify."""
        check_is_fitted(self, "classes_")
        problem = problem_for(self, X, y, sample_weight)
        coef = np.zeros((len(self.dual_coef_), problem.n))
        coef[:, places_of(self, problem)] = self.dual_coef_
        parts = [problem] if problem.binary else each_against_rest(problem)
        counts = coef * np.array([part.sign for part in parts])
        return self._measured(problem, counts, self.intercept_)

    # -- the answer -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: shape (n,) for two classes, (n, K) for more."""
        rows = self._rows(X)
        scores = self._scores_of(rows, self.dual_coef_.T) + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    def summary(self) -> str:
        """What was fitted and why it stopped, in words."""
        check_is_fitted(self, "classes_")
        gap = self.certificate_
        passes = count(self.n_iter_, "pass", "passes")
        lines = [
            f"{type(self).__name__}: {self.status_.value}",
            f"  algorithm   {self.solver_used_}",
            f"  work        {count(self.n_updates_, 'update')}, {passes}",
            f"  kernel      {self.kernel_!r}",
            f"  errors      {misplaced(gap.errors)}",
            f"  vectors     {count(len(self.support_), 'row')} with mistakes",
        ]
        if gap.errors == 0 and not gap.parts:
            lines.append(f"  margin      {gap.margin:.6g} in the feature space (one side)")
        return "\n".join(lines)

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        return self._calibration_out(kernel_to_model(self))

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model: Self = kernel_from_model(cls, fields)
        return model._calibration_in(fields)

    def _n_machines(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _n_rows_of_dual(self) -> int:
        return self._n_machines()

    @staticmethod
    def _certificate_class() -> type[KernelGap]:
        return KernelGap
