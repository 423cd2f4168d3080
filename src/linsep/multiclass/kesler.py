"""Kesler's construction: any homogeneous binary learner trains one linear machine."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linsep.core.problem import Problem
from linsep.core.protocol import Learner, Witness
from linsep.core.schema import shown
from linsep.core.validate import as_labels, as_matrix, require_finite
from linsep.errors import CapabilityError, ModelError
from linsep.models.fit import Check, boolean, read_labels
from linsep.models.kozinec import Kozinec
from linsep.models.model_file import Field, Fields, Table, array, n_planes, stored
from linsep.models.perceptron import Perceptron
from linsep.multiclass.base import ManyClasses, scheme_table
from linsep.multiclass.certificates import renumbered
from linsep.multiclass.machines import fit_machine, not_through_origin, refuse_learner, with_kernel
from linsep.proofs.certificate import Certificate, judge
from linsep.proofs.plain import require_same

_NATIVE = (Perceptron, Kozinec)  # they reach Kesler's vectors without writing them out


class Kesler(ManyClasses):
    """One linear machine for all classes, trained by a binary learner on Kesler's vectors.

    The machine gives a row to the class of the largest score w_k . x + b_k. Its weights
    w = [w_1, b_1; ...; w_K, b_K] are those of a plane through the origin that has all vectors
    with [x, 1] in block i and -[x, 1] in block j, j other than the class i of x, on its positive
    side.

    Parameters
    ----------
    estimator : classifier or None, default=None
        A linear binary classifier of linsep or scikit-learn; None is Perceptron(). Its
        ``fit_intercept`` is set here, for the plane must go through the origin.
    fit_intercept : bool, default=True
        Whether the machine has offsets b_k; they are weights like the others.
    explicit : bool, default=False
        Write the vectors out, as a sparse matrix, also for Perceptron and Kozinec, which need
        only the K (d + 1) weights otherwise. The result is the same.
    class_weight : dict, "balanced" or None, default=None
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold; ``predict`` stays the same and always
        has the largest probability.
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.
    time_limit : float or None, default=None
        Seconds, for learners that look at the clock; the machine is then the best so far.
    n_jobs : int or None, default=None
        Taken so that all schemes have it.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    estimators_ : list of one machine
        The binary learner, fitted.
    certificates_ : list of one certificate
        That of the learner, about Kesler's vectors.
    certificate_ : Certificate
        What is proved about the linear machine: whether it separates all classes, its margin.
    status_ : Status or None

    See Also
    --------
    linsep.separability : Decides whether any linear machine separates the classes, with a proof.

    Notes
    -----
    Which machine this is depends on the learner: with LinearSVM it is that of Weston and Watkins
    (the hinge loss against every other class, offsets penalised), with LeastSquares all K - 1
    differences of scores aim at 1, with LogisticRegression they are pairwise likelihoods.
    A tie counts as an error in training; ``predict`` gives the first of equal scores.

    Examples
    --------
    >>> import linsep
    >>> X = [[0, 2], [1, 3], [3, 0], [4, 1], [-3, -1], [-2, -3]]
    >>> model = linsep.Kesler(linsep.Perceptron()).fit(X, [1, 1, 2, 2, 3, 3])
    >>> model.coef_.astype(int).tolist(), model.intercept_.astype(int).tolist()
    ([[0, 3], [3, -2], [-3, -1]], [-1, 0, 1])
    """

    certificate_: Certificate

    _judgement: Certificate | None = None
    _needs_numbers: ClassVar[bool] = True
    _checks: ClassVar[dict[str, Check]] = {"fit_intercept": boolean, "explicit": boolean}

    def __init__(
        self,
        estimator: Learner | None = None,
        *,
        fit_intercept: bool = True,
        explicit: bool = False,
        class_weight: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.fit_intercept = fit_intercept
        self.explicit = explicit
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _default(self) -> Any:
        return Perceptron()

    def _fit_machines(self, X: Any, label: NDArray[np.int64], weight: Any) -> list[Any]:
        inner, K = clone(self._inner()), len(self.classes_)
        if getattr(inner, "kernel", None) is not None:
            raise CapabilityError(with_kernel(inner))
        if isinstance(inner, _NATIVE) and not self.explicit:
            inner.set_params(fit_intercept=self.fit_intercept)
            fitted = fit_machine(inner, X, label, weight, self.time_limit)
            self.coef_, self.intercept_ = fitted[0].coef_, fitted[0].intercept_
            self._judgement = fitted[1]
        else:
            fitted = self._fit_blocks(inner, X, label, weight, K)
            self._judgement = self._judged(X, label, weight, fitted[1])
        return [fitted]

    def _fit_blocks(
        self, inner: Any, X: Any, label: NDArray[np.int64], weight: Any, K: int
    ) -> tuple[Any, Any]:
        """Every second vector is turned round and called negative; nothing else changes."""
        refuse_learner(inner)
        if "fit_intercept" in inner.get_params(deep=False):
            inner.set_params(fit_intercept=False)
        vectors, sign = self.vectors(X, label)
        repeated = None if weight is None else np.repeat(weight, K - 1)
        machine, certificate = fit_machine(inner, vectors, sign, repeated, self.time_limit)
        if not hasattr(machine, "coef_") or np.any(getattr(machine, "intercept_", 0.0)):
            raise CapabilityError(not_through_origin(inner))
        coef = machine.coef_.toarray() if hasattr(machine.coef_, "toarray") else machine.coef_
        blocks = np.asarray(coef, dtype=np.float64).reshape(K, -1)
        if K == 2:
            blocks = blocks[1:] - blocks[:1]
        d = X.shape[1]
        self.coef_ = blocks[:, :d].copy()
        self.intercept_ = blocks[:, d].copy() if self.fit_intercept else np.zeros(len(blocks))
        return machine, certificate

    def vectors(self, X: Any, label: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        """Kesler's vectors as the learner gets them, every second one turned round, and signs."""
        vectors = blocks_of(X, label, len(self.classes_), fit_intercept=self.fit_intercept)
        sign = np.where(np.arange(vectors.shape[0]) % 2 == 0, 1, -1)
        vectors.data *= np.repeat(sign, np.diff(vectors.indptr)).astype(vectors.dtype)
        return vectors, sign

    def _judged(self, X: Any, label: NDArray[np.int64], weight: Any, own: Any) -> Certificate:
        """What is true of the machine, whoever trained it, with the learner's proof, if it has
        one, that no machine separates the classes."""
        y = self.classes_[label]  # rivals are told by their names
        problem = Problem(X, y, sample_weight=weight, fit_intercept=self.fit_intercept)
        require_same(problem, X, y, weight)
        rows: Any = getattr(own, "rows", ())
        a = problem.join(self.coef_, self.intercept_)
        witness = Witness(a=a)
        refuted = getattr(own, "separable", None) is False
        if refuted and len(rows) and problem.row_index is None:
            shares = np.array([float(m) for m in own.multipliers])
            witness = Witness(a=a, rows=np.array(rows), multipliers=shares, claim="origin")
        with np.errstate(all="ignore"):
            return judge(problem, witness)

    def _keep(self, fitted: list[Any]) -> None:
        super()._keep(fitted)
        self.certificate_ = renumbered(self._judgement, self._index)

    def _scheme(self) -> str:
        return f"one linear machine of {len(self.classes_)} classes by Kesler's construction"

    def _problem_names(self) -> list[str]:
        return ["Kesler's vectors"]

    def stepper(self) -> Any:
        """The learner that takes the steps without vectors written out, for ``linsep.trace``."""
        inner = clone(self._inner())
        if not isinstance(inner, _NATIVE):
            raise CapabilityError(
                f"Kesler of {type(inner).__name__} cannot be traced; of Perceptron and Kozinec it "
                "can."
            )
        return inner.set_params(fit_intercept=self.fit_intercept)

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        """What is true of the machine on these rows; ``linsep.certify`` calls it."""
        check_is_fitted(self)
        rows, y = self._rows(X), read_labels(y)
        if not np.array_equal(np.unique(y), self.classes_):
            raise ModelError(
                f"the labels are {shown(np.unique(y).tolist())}, the model's "
                f"{shown(self.classes_.tolist())}; a proof needs rows of all of its classes."
            )
        weight = self._weights(y, sample_weight)
        return self._judged(rows, np.searchsorted(self.classes_, y), weight, None)

    def _refuted(self, X: Any, y: Any, sample_weight: Any) -> list[str]:
        """What does not hold of the certificate for these rows."""
        from linsep.multiclass.verified import refuted_kesler

        return refuted_kesler(self, X, y, sample_weight)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores w_k . x + b_k: (n, K); for two classes (n,), their difference."""
        check_is_fitted(self)
        X = self._rows(X)
        scores = np.asarray(X @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    # -- model files ------------------------------------------------------------------------

    @classmethod
    def _file(cls) -> Table[Any]:
        return scheme_table(
            lambda model: len(model.estimators_),
            "classes",
            Field("learner_fit_intercept", _learner_intercept, _read_learner),
            array("coef", lambda model: (n_planes(model), model.n_features_in_)),
            array("intercept", lambda model: (n_planes(model),)),
            stored("certificate", Certificate.from_dict),
        )


def _learner_intercept(model: Kesler) -> Any:
    learner = model.estimator
    return None if learner is None else learner.get_params(deep=False).get("fit_intercept")


def _read_learner(model: Kesler, fields: Fields) -> None:
    asked = fields.get("learner_fit_intercept")
    if model.estimator is not None and asked is not None:
        model.estimator.set_params(fit_intercept=asked)  # the learner itself went without


# -- Kesler's vectors: a problem of K classes as one homogeneous problem of two -------------------
#
# A row x of class i and another class j give the vector with x in block i and -x in block j, of
# K blocks. A linear machine w = [w_1; ...; w_K] is right about x if w has a positive product with
# all of its K - 1 vectors.


def kesler_vectors(X: Any, y: ArrayLike, *, fit_intercept: bool = True) -> Any:
    """Kesler's vectors of a table, as a sparse matrix.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Labels of K >= 2 classes.
    fit_intercept : bool, default=True
        Whether rows get a 1 as their last coordinate.

    Returns
    -------
    CSR array of shape (n (K - 1), K (d + 1))
        Row by row, the other classes in their order; K d columns without intercept.

    Examples
    --------
    >>> from linsep.multiclass import kesler_vectors
    >>> X, y = [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]], [2, 1, 3]
    >>> kesler_vectors(X, y)[:2].toarray().astype(int)
    array([[-1, -2, -1,  1,  2,  1,  0,  0,  0],
           [ 0,  0,  0,  1,  2,  1, -1, -2, -1]])
    """
    matrix = as_matrix(X)
    require_finite(matrix, None)
    classes, label = as_labels(y, matrix.shape[0])
    return blocks_of(matrix, label, len(classes), fit_intercept=fit_intercept)


def blocks_of(matrix: Any, label: NDArray[np.int64], K: int, *, fit_intercept: bool) -> Any:
    """The vectors of checked rows; two copies of a row are stored for each of them, no zeros."""
    rows = scipy.sparse.csr_array(matrix)
    n = rows.shape[0]
    if fit_intercept:
        ones = scipy.sparse.csr_array(np.ones((n, 1), dtype=rows.dtype))
        rows = scipy.sparse.hstack([rows, ones], format="csr")
    rival = np.tile(np.arange(K - 1), n)
    own = np.repeat(label, K - 1)
    rival += rival >= own
    copies = rows[np.repeat(np.arange(n), K - 1)]
    return (_placed(copies, own, K) - _placed(copies, rival, K)).tocsr()


def _placed(rows: Any, block: NDArray[np.int64], K: int) -> Any:
    """Each row in its block."""
    width = rows.shape[1]
    short = max(2 * rows.nnz, K * width) < np.iinfo(np.int32).max  # others take no long numbers
    kind = np.int32 if short else np.int64
    shift = np.repeat((block * width).astype(kind), np.diff(rows.indptr))
    columns = rows.indices.astype(kind) + shift
    shape = (rows.shape[0], K * width)
    return scipy.sparse.csr_array((rows.data, columns, rows.indptr.astype(kind)), shape=shape)
