"""One machine for each pair of classes, which vote."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from linsep.core.protocol import Learner
from linsep.models.model_file import Table
from linsep.multiclass.base import ManyClasses, scheme_table
from linsep.multiclass.certificates import Certificates
from linsep.multiclass.machines import is_pairwise, values
from linsep.multiclass.work import Job, entries


class OneVsOne(ManyClasses):
    """A machine for each pair of classes; the class with most votes wins.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any binary classifier of linsep or scikit-learn with ``decision_function`` or
        ``predict_proba``; None is LinearSVM().
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in all binary problems.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold; ``predict`` stays the same and always
        has the largest probability.
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
    pairs_ : list of (int, int)
        Numbers of the two classes of each machine, (0, 1), (0, 2), ..., (1, 2), ...
    estimators_ : list
        The K (K - 1) / 2 machines in this order.
    certificates_ : list
        One for each machine, with row numbers of X; None where a machine of another library has
        none.
    certificate_ : Certificates
        All of them in a few numbers.
    status_ : Status or None
        The status of the machine that says least.
    pair_coef_, pair_intercept_ : arrays
        Weights of all machines, where they are linear.

    See Also
    --------
    OneVsRest : A machine for each class.
    linsep.regions : Where several classes have most votes.

    Notes
    -----
    A machine of the classes i < j votes for j if its value is >= 0, else for i. Equal votes are
    decided by the sum of the values for a class, its own duels only, and if these are equal too
    by the order of the classes. ``decision_function`` is the number of votes plus that sum
    squeezed into (-1/3, 1/3), as in scikit-learn.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], list("aabbcc")
    >>> model = linsep.OneVsOne(linsep.Perceptron()).fit(X, y)
    >>> model.predict([[0.5], [5.5], [12.0]]).tolist()
    ['a', 'b', 'c']
    >>> model.votes([[5.5]]).tolist()
    [[0, 2, 1]]
    """

    certificate_: Certificates

    _in_pairs: ClassVar[bool] = True
    _columns: list[Any] | None = None

    def __init__(
        self,
        estimator: Learner | None = None,
        *,
        class_weight: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _fit_machines(self, X: Any, label: NDArray[np.int64], weight: Any) -> list[Any]:
        inner = self._inner()
        self.pairs_ = list(combinations(range(len(self.classes_)), 2))
        jobs = [Job(inner, X, label, weight, j, i) for i, j in self.pairs_]
        self._columns = [job.rows() for job in jobs] if is_pairwise(inner) else None
        share = 2 / len(self.classes_)  # of the rows, in a duel
        return self._run(jobs, share * entries(X))

    def _scheme(self) -> str:
        return f"{len(self.estimators_)} machines, one for each pair of classes"

    def _problem_names(self) -> list[str]:
        classes = self.classes_.tolist()
        return [f"{classes[j]!r} against {classes[i]!r}" for i, j in self.pairs_]

    def binary_problems(self, y: Any) -> list[tuple[Any, NDArray[np.intp], NDArray[np.int64]]]:
        """Machine, rows and labels 0 and 1 of each binary problem of a table."""
        out = []
        for machine, (i, j) in zip(self.estimators_, self.pairs_):
            rows = np.flatnonzero((y == self.classes_[i]) | (y == self.classes_[j]))
            out.append((machine, rows, (y[rows] == self.classes_[j]).astype(np.int64)))
        return out

    # -- the answer -------------------------------------------------------------------------

    def pairwise_decision_function(self, X: Any) -> NDArray[np.float64]:
        """Raw values of the machines, shape (n, K (K - 1) / 2); >= 0 for the second class."""
        check_is_fitted(self)
        X = self._rows(X)
        if self._columns is not None:  # a Gram matrix: each machine knows its own rows only
            own = zip(self.estimators_, self._columns)
            return np.column_stack([values(machine, X[:, rows]) for machine, rows in own])
        return np.column_stack([values(machine, X) for machine in self.estimators_])

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Votes for the classes, shape (n, K); each row has K (K - 1) / 2 of them."""
        return count_votes(self.pairwise_decision_function(X), self.pairs_)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Votes and, for equal votes, sums of values: (n, K); for two classes (n,) values."""
        raw = self.pairwise_decision_function(X)
        if len(self.classes_) == 2:
            return np.ascontiguousarray(raw[:, 0])
        sums = np.zeros((len(raw), len(self.classes_)))
        for column, (i, j) in enumerate(self.pairs_):
            sums[:, i] -= raw[:, column]
            sums[:, j] += raw[:, column]
        return count_votes(raw, self.pairs_) + sums / (3.0 * (np.abs(sums) + 1.0))

    @property
    def pair_coef_(self) -> NDArray[np.float64]:
        """Weights of the machines, one row each."""
        return np.vstack([np.ravel(m.coef_) for m in self.estimators_])

    @property
    def pair_intercept_(self) -> NDArray[np.float64]:
        """Offsets of the machines."""
        return np.array([float(np.ravel(m.intercept_)[0]) for m in self.estimators_])

    # -- model files ------------------------------------------------------------------------

    @classmethod
    def _file(cls) -> Table[Any]:
        return scheme_table(_n_pairs, "pairs")


def _n_pairs(model: OneVsOne) -> int:
    model.pairs_ = list(combinations(range(len(model.classes_)), 2))
    return len(model.pairs_)


def count_votes(raw: NDArray[np.float64], pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Votes for the classes from the values of the pairs."""
    votes = np.zeros((len(raw), pairs[-1][1] + 1), dtype=np.int64)
    for column, (i, j) in enumerate(pairs):
        second = raw[:, column] >= 0
        votes[:, j] += second
        votes[:, i] += ~second
    return votes
