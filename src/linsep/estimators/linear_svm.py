"""The linear support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from linsep.certify.proof import Proof
from linsep.core.checkpoint import load_checkpoint
from linsep.core.lanes import at_most, one_blas_thread
from linsep.errors import SettingError
from linsep.estimators.params import Check, jobs, number, one_of
from linsep.estimators.svm_choice import SOLVERS
from linsep.estimators.svm_facts import SVMFacts
from linsep.estimators.svm_fit import SVMFit
from linsep.estimators.svm_hard import hull_search
from linsep.estimators.svm_summary import svm_summary

__all__ = ["LinearSVM"]


class LinearSVM(SVMFacts, SVMFit):
    """Linear support vector machine with a proved duality gap.

    Minimises |w|^2 / 2 + C sum_i s_i L(1 - y_i (w.x_i + b)) over w and b; b is not penalised.
    It ends when the objective is proved to be within ``tol`` of the best possible one, and
    ``certificate_`` holds the proof: objective and lower bound, recomputed from the weights
    and the dual variables with all rounding errors accounted for.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation. inf is the hard margin: no row inside the street at all.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    multi_class : {"one-vs-rest", "crammer-singer"}, default="one-vs-rest"
        What to do with three classes and more.
    fit_intercept : bool, default=True
        Whether to have an offset; it is never penalised.
    tol : float, default=1e-3
        Relative duality gap to reach.
    solver : {"auto", "newton", "dual-cd", "proximal-newton", "interior-point"}, default="auto"
        "interior-point" for small tables, "newton" for tall data of few columns, "dual-cd" for
        sparse and wide data, "proximal-newton" for sparse data where that takes too long. "auto"
        chooses by shape, and goes on with interior points on dense wide tables of few rows.
    max_iter : int, default=100000
        Limit of Newton steps or sweeps.
    time_limit : float or None, default=None
        Limit in seconds; the best model so far is kept, with its proof.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None
        Seed of the order of visits and of samples; None is 0.
    warm_start : bool, default=False
        Start from the last fit.
    verbose : int, default=0
        Show progress on stderr.
    callbacks : list or None, default=None
        Observers of linsep or callbacks of scikit-learn.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold; ``predict`` stays the same and always
        has the largest probability.
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.
    n_jobs : int or None, default=None
        Threads; None or -1 means all cores. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    support_ : array of shape (n_support,)
        Rows with a dual variable that is not zero.
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y alpha of these rows.
    margin_width_ : float or array
        Width of the street, 2 / |w|.
    leave_one_out_bound_ : float
        Share of support vectors: no more rows than these can be wrong in leave-one-out.
    n_iter_ : int
        Passes over the data.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : Gap
        objective, lower_bound, gap, relative_gap, errors, margin.
    proof_ : Proof
        With C=inf only: the proof that no plane separates the classes, or None. With more than
        two classes that of the first class that no plane cuts off from the rest.
    solver_used_ : str
        The algorithm and why it was chosen.
    outcome_ : Outcome
        The run: final state, steps, seconds.

    See Also
    --------
    linsep.svm_path : Many values of C, each started from the last.
    linsep.certify : The same proof for models of other libraries.

    Notes
    -----
    The objective has one minimum and w is unique; b and alpha may not be. Where a whole
    interval of offsets is optimal, its middle is taken on small tables.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("five-points")
    >>> model = linsep.LinearSVM(C=1.0).fit(table.X, table.y)
    >>> model.status_.name, model.certificate_.relative_gap < 1e-3
    ('CERTIFIED', True)
    """

    _checks: ClassVar[dict[str, Check]] = {
        "C": number(0, above=True),
        "loss": one_of("hinge", "squared_hinge"),
        "multi_class": one_of("one-vs-rest", "crammer-singer"),
        "tol": number(0, above=True),
        "solver": one_of("auto", *SOLVERS),
        "n_jobs": jobs,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        multi_class: str = "one-vs-rest",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        solver: str = "auto",
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
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.solver = solver
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
            float32 and float64 are used as they are.
        y : array of shape (n_samples,)
            Any labels, two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight s counts as s rows.

        Returns
        -------
        self
        """
        with one_blas_thread(), at_most(self._threads):
            return self._fit(X, y, sample_weight)._calibrate(X, y, sample_weight)

    @with_callbacks
    def resume(
        self, X: Any, y: ArrayLike, checkpoint: str | Path, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on with a fit that was stopped, from the file its checkpoints were written to.

        The end is the same, bit for bit, as that of a fit which was never stopped. Data and
        settings must be those of the fit.
        """
        with one_blas_thread(), at_most(self._threads):
            problem = self._problem(X, y, sample_weight)
            if not np.isinf(self.C):
                solver = self._solver(problem)[0]
            elif problem.binary:
                solver = hull_search(self.tol)
                problem.weight = np.ones(problem.n)  # a hard margin knows no weights
            else:
                raise SettingError(
                    "a hard margin (C=inf) of more than two classes has no checkpoints; fit again."
                )
            state = load_checkpoint(checkpoint, problem, solver)
            return self._fit(X, y, sample_weight, state)._calibrate(X, y, sample_weight)

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        check_is_fitted(self)
        return svm_summary(self)

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        proof = getattr(self, "proof_", None)
        return super().to_model() | ({} if proof is None else {"proof": proof.to_dict()})

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model = super().from_model(fields)
        if fields.get("proof") is not None:
            model.proof_ = Proof.from_dict(fields["proof"])
        return model
