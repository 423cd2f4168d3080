"""One cost C for a table: a path of warm-started fits on every fold, the least error chosen.

CV(C) = (1/n) sum_i [q_C^(-fold(i))(x_i) != k_i],  +- its standard error over the folds
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from linsep.choosing.choose import was_interrupted
from linsep.errors import DataError, LinsepWarning
from linsep.tables.columns import Columns

Array = NDArray[np.float64]

Setting = float | Mapping[str, Any] | None
"""A cost C, parameters by name, or nothing to be changed."""

COSTS = tuple(10.0**k for k in range(-3, 4))
"""Tried from the simplest model on."""


@dataclass(frozen=True, eq=False)
class Path:
    """Errors on rows left out, for every cost and fold.

    Attributes
    ----------
    costs : tuple of float
        Those that were finished.
    errors : array of shape (costs, folds)
        Share of wrong rows.
    predicted : array of shape (n,)
        For every row the class told by the fit that had not seen it, at the best cost.
    sizes : array of shape (folds,)
        Rows left out.
    seconds : float
    """

    costs: tuple[Setting, ...]
    errors: Array
    predicted: NDArray[Any]
    sizes: NDArray[np.int64]
    seconds: float

    @property
    def best(self) -> int:
        """The one with the fewest errors; of several the one nearest to C = 1."""
        return fewest(self.risk, self.costs)

    @property
    def cost(self) -> Setting:
        """The cost chosen."""
        return self.costs[self.best]

    @property
    def risk(self) -> Array:
        """Share of wrong rows over all folds, for every cost."""
        return np.asarray(self.errors @ self.sizes / self.sizes.sum())

    @property
    def standard_error(self) -> float:
        """Of the risk at the best cost."""
        folds = self.errors[self.best]
        return float(folds.std(ddof=1) / np.sqrt(len(folds)))


def fewest(risk: Array, costs: Sequence[Setting]) -> int:
    """Where the risk is least, and of several places the one nearest to C = 1."""
    known = [cost.get("C") if isinstance(cost, Mapping) else cost for cost in costs]
    far = [abs(math.log(c)) if isinstance(c, float) and 0 < c < math.inf else 0.0 for c in known]
    return min(range(len(risk)), key=lambda k: (risk[k], far[k]))


def folds_for(y: NDArray[Any], asked: int) -> int:
    """As many as asked, or as the smallest class has rows; 0 if that is one."""
    least = int(np.unique(y, return_counts=True)[1].min())
    return 0 if least < 2 else min(asked, least)


def cost_path(
    estimator: Any,
    columns: Columns | None,
    X: Any,
    y: NDArray[Any],
    *,
    costs: Sequence[Setting] = COSTS,
    folds: int = 5,
    weight: Array | None = None,
    time_limit: float | None = None,
    random_state: int = 0,
) -> Path:
    """Errors of an estimator on rows that it has not seen, for each cost.

    Parameters
    ----------
    estimator : classifier
        With a parameter C; with ``costs=[None]`` any, which is measured as it is.
    columns : Columns, optional
        Unfitted; learned anew on every fold, so that rows left out tell nothing.
    X, y : table or matrix, and labels
    costs : sequence of float or of mappings
        From the simplest model on; a mapping holds parameters of any name.
    folds : int
    weight : array, optional
        Of rows, used in fits.
    time_limit : float, optional
        In seconds; costs for which there is no time in every fold are left out.
    random_state : int
        Of the folds.

    Returns
    -------
    Path
    """
    begin = time.monotonic()
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=random_state).split(y, y))
    wrong = np.full((len(costs), folds), np.nan)
    told = np.empty((len(costs), len(y)), dtype=y.dtype)
    done = len(costs)
    for k, (train, test) in enumerate(splits):
        rows, others = (_safe_indexing(X, part) for part in (train, test))
        if columns is not None:
            prepare = clone(columns)
            rows = _learned(prepare, rows, X).transform(rows)
            others = _quiet(prepare.transform, others)
        model = clone(estimator)
        if "warm_start" in model.get_params():
            model.set_params(warm_start=True)
        given = {} if weight is None else {"sample_weight": weight[train]}
        for c, cost in enumerate(costs[:done]):
            if cost is not None:
                model.set_params(**(cost if isinstance(cost, Mapping) else {"C": cost}))
            _quiet(model.fit, rows, y[train], **given)
            if was_interrupted(model):  # one Ctrl-C ends all of it: half a fold chooses nothing
                raise KeyboardInterrupt("interrupted before a cost was chosen")
            told[c, test] = model.predict(others)
            wrong[c, k] = np.mean(told[c, test] != y[test])
            spent = time.monotonic() - begin
            # One fold has shown what the costs take: those that will not be finished are left out.
            if time_limit is not None and spent * folds / (k + 1) > time_limit and c + 1 < done:
                done = c + 1
                break
    finished = np.array([not np.isnan(row).any() for row in wrong])
    kept = [c for c, good in zip(costs, finished) if good]
    errors = wrong[finished]
    sizes = np.array([len(test) for _, test in splits])
    best = fewest(errors @ sizes / sizes.sum(), kept)
    seconds = time.monotonic() - begin
    return Path(tuple(kept), errors, told[finished][best], sizes, seconds)


def _learned(columns: Columns, rows: Any, X: Any) -> Columns:
    """Columns of these rows; what is wrong with a cell is told by its place in the whole table."""
    try:
        return columns.fit(rows)
    except DataError:
        clone(columns).fit(X)
        raise


def _quiet(call: Any, *args: Any, **options: Any) -> Any:
    """The last fit, on all rows, tells what there is to be told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinsepWarning)
        return call(*args, **options)


def confusion(y: NDArray[Any], told: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """How many rows of each class (down) were told to be of each (across)."""
    from sklearn.metrics import confusion_matrix

    return np.asarray(confusion_matrix(y, told, labels=list(classes)))
