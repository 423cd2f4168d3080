"""One class against the rest, with both rules of decision."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from linsep.core.lanes import run_all
from linsep.core.protocol import Learner
from linsep.core.validate import plain_labels
from linsep.errors import SettingError
from linsep.models.fit import Check, one_of
from linsep.models.model_file import Table, n_planes
from linsep.multiclass.base import ManyClasses, scheme_table
from linsep.multiclass.certificates import Certificates
from linsep.multiclass.machines import values
from linsep.multiclass.work import Job, entries, table_of


class OneVsRest(ManyClasses):
    """One machine for each class against all others.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any binary classifier of linsep or scikit-learn with ``decision_function`` or
        ``predict_proba``; None is LinearSVM().
    decide : {"argmax", "unanimous"}, default="argmax"
        "argmax" (Vapnik 1998): the class of the largest value; the first of equal ones.
        "unanimous" (Vapnik 1995): a class only if its machine accepts (value > 0) and all
        others reject; other rows get ``reject_label``.
    reject_label : label or None, default=None
        What "unanimous" gives to rows of no class or of several. None: ``"reject"`` for text,
        -1 for whole numbers (one less than the smallest class, where that is negative), nan for
        other numbers, None for anything else. It must not be one of the classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in all binary problems. Those of the inner estimator concern the
        two sides of each of them.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold; with decide="argmax" only.
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.
    time_limit : float or None, default=None
        Seconds for all machines together; each may take an equal share of what is left. Those
        that there is no time for give the side with more rows, and ``status_`` says so. The
        same happens on Ctrl-C.
    n_jobs : int or None, default=None
        Threads. None: all cores for large tables and estimators of linsep, else one. The result
        does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    estimators_ : list
        The machines in the order of the classes; one for two classes.
    certificates_ : list
        One for each machine; None where a machine of another library has none.
    certificate_ : Certificates
        All of them in a few numbers.
    status_ : Status or None
        The status of the machine that says least.
    coef_, intercept_ : arrays
        Weights of all machines, where they are linear.
    reject_label_ : label
        What stands for a rejected row.

    See Also
    --------
    OneVsOne : A machine for each pair of classes.
    Kesler : One linear machine for all classes at once.
    linsep.regions : Where no class or several are accepted.

    Notes
    -----
    LinearSVM, LeastSquares and HoKashyap do this by themselves, faster; the wrapper is there for
    the rule with rejection, for other classifiers and for a certificate for each machine. With
    two classes there is one machine f, and that of the first class is -f.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], list("aabbcc")
    >>> model = linsep.OneVsRest(linsep.LinearSVM(C=10), decide="unanimous").fit(X, y)
    >>> model.predict([[0.5], [5.5], [12.0]]).tolist()
    ['a', 'reject', 'c']
    >>> model.accepts([[0.5], [5.5]]).astype(int).tolist()
    [[1, 0, 0], [0, 0, 0]]
    """

    certificate_: Certificates

    _checks: ClassVar[dict[str, Check]] = {"decide": one_of("argmax", "unanimous")}

    def __init__(
        self,
        estimator: Learner | None = None,
        *,
        decide: str = "argmax",
        reject_label: Any = None,
        class_weight: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.decide = decide
        self.reject_label = reject_label
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        if self.calibrate is not None and self.decide == "unanimous":
            raise SettingError(
                f"calibrate={self.calibrate!r} goes with decide='argmax' only: a rejected row has "
                "no largest probability."
            )
        return super().fit(X, y, sample_weight)

    fit.__doc__ = ManyClasses.fit.__doc__

    def _fit_machines(self, X: Any, label: NDArray[np.int64], weight: Any) -> list[Any]:
        inner = self._inner()
        K = len(self.classes_)
        own = [1] if K == 2 else range(K)
        self._rejecting()  # an error before the work
        table = table_of(inner, X, label, weight) if K > 2 else None
        jobs = [Job(inner, X, label, weight, k, table=table) for k in own]
        return self._run(jobs, entries(X))

    def _scheme(self) -> str:
        return f"{len(self.estimators_)} machines, one class against the rest"

    def _problem_names(self) -> list[str]:
        classes = self.classes_.tolist()
        if len(classes) == 2:
            return [f"{classes[1]!r} against {classes[0]!r}"]
        return [f"{c!r} against the rest" for c in classes]

    def binary_problems(self, y: Any) -> list[tuple[Any, NDArray[np.intp], NDArray[np.int64]]]:
        """Machine, rows and labels 0 and 1 of each binary problem of a table."""
        own = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        rows = np.arange(len(y))
        return [(m, rows, (y == c).astype(np.int64)) for m, c in zip(self.estimators_, own)]

    # -- the answer -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Values of the machines: shape (n,) for two classes, (n, K) for more."""
        check_is_fitted(self)
        X = self._rows(X)
        found = run_all([partial(values, m, X) for m in self.estimators_], 1)
        return found[0] if len(found) == 1 else np.column_stack(found)

    def accepts(self, X: Any) -> NDArray[np.bool_]:
        """Which machines accept which rows, shape (n, K); a value of 0 is no acceptance."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        return scores > 0

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of the rows by the rule ``decide``."""
        if self.decide == "argmax":
            return super().predict(X)
        accepts = self.accepts(X)
        number = np.where(accepts.sum(axis=1) == 1, accepts.argmax(axis=1), len(self.classes_))
        return np.asarray(self._rejecting()[number])

    def _rejecting(self) -> NDArray[Any]:
        """The classes and, at the end, the label of rejected rows."""
        classes, label = self.classes_, self.reject_label
        kind = classes.dtype.kind
        if label is None:
            label = _DEFAULTS.get(kind)
            if kind == "O" and all(isinstance(c, str) for c in classes):
                label = _DEFAULTS["U"]
            elif kind in "iu" and classes.min() < 0:
                label = int(classes.min()) - 1
        if any(_same(label, c) for c in classes.tolist()):
            raise SettingError(
                f"reject_label is {label!r}, which is one of the classes; give another label."
            )
        together = _in_one_array(classes, label)
        if together is not None:
            return together
        out = np.empty(len(classes) + 1, dtype=object)
        out[:-1] = classes.tolist()
        out[-1] = label
        return out

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows that are right; a rejected row is wrong, whatever its label."""
        if self.decide == "argmax":
            return float(super().score(X, y, sample_weight))
        accepts, y = self.accepts(X), np.asarray(plain_labels(y))
        known = self.classes_[accepts.argmax(axis=1)] == y.ravel()
        return float(np.average(known & (accepts.sum(axis=1) == 1), weights=sample_weight))

    @property
    def reject_label_(self) -> Any:
        """What stands for a row of no class or of several."""
        check_is_fitted(self)
        return self._rejecting()[-1]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the machines, one row each."""
        return np.vstack([np.ravel(_dense(m.coef_)) for m in self.estimators_])

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Offsets of the machines."""
        return np.array([float(np.ravel(m.intercept_)[0]) for m in self.estimators_])

    # -- model files ------------------------------------------------------------------------

    @classmethod
    def _file(cls) -> Table[Any]:
        return scheme_table(n_planes)


_DEFAULTS = {"U": "reject", "i": -1, "u": -1, "f": float("nan")}


def _in_one_array(classes: NDArray[Any], label: Any) -> NDArray[Any] | None:
    """Classes and label in an array of the type of the classes, or of the next larger one."""
    kind, given = classes.dtype.kind, np.asarray(label)
    whole = kind in "iu" and given.dtype.kind in "iu"
    if given.ndim or not (whole or (kind == given.dtype.kind and kind in "Uf")):
        return None
    if kind != "U":
        own = given.astype(classes.dtype)
        if own == given or own != own:  # equal, or nan
            return np.append(classes, own)
    together = np.append(classes, given)
    if kind == "u" and classes.max() < 2**63:  # uint64, which numpy would make a float
        return np.append(classes.astype(np.int64), given)
    return together if kind == "U" or together.dtype.kind in "iu" else None


def _same(a: Any, b: Any) -> bool:
    """Equal, and no truth of one that is taken for the number 1 of the other."""
    return isinstance(a, bool | np.bool_) == isinstance(b, bool | np.bool_) and bool(a == b)


def _dense(coef: Any) -> Any:
    return coef.toarray() if hasattr(coef, "toarray") else coef
