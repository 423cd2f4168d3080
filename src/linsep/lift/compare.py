"""Several lifts of the same data: how hard each makes it for a linear classifier.

    a perceptron from zero makes at most D^2 / gamma^2 updates

D is the length of the longest lifted row [phi(x), 1], gamma the best margin of a plane through the
origin of that space. Lifts that span the same functions, such as (x, x^2) and (x, x^2 - 1), draw
the same boundaries and still have other D and gamma. Which is faster depends on the data.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.base import clone

from linsep.core.protocol import Learner
from linsep.errors import LinsepWarning, SettingError, require
from linsep.lift.transformer import Lift
from linsep.models.perceptron import Perceptron
from linsep.risk.novikoff import novikoff_bound
from linsep.separating.verdict import separability


@dataclass(frozen=True)
class Row:
    """What was found for one lift."""

    name: str
    features: int
    """How many outputs the lift has."""
    separable: bool | None
    D: float
    """Length of the longest lifted row, with the constant 1 if there is an intercept."""
    gamma_low: float
    """Proved bounds of the best margin in that space; 0 if not separable."""
    gamma_high: float
    bound: float
    """D^2 / gamma_low^2; infinite if not separable."""
    updates: int | None
    passes: float
    errors: int
    """Training errors of the estimator."""
    status: str


@dataclass(frozen=True)
class Comparison:
    """One row for each lift; ``table()`` is the text, ``frame()`` a pandas DataFrame."""

    rows: tuple[Row, ...]
    estimator: str

    def __getitem__(self, name: str | int) -> Row:
        if isinstance(name, int):
            return self.rows[name]
        return {row.name: row for row in self.rows}[name]

    def __len__(self) -> int:
        return len(self.rows)

    def frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        pandas = require("pandas", extra="all")
        names = [field.name for field in fields(Row)]
        return pandas.DataFrame(
            [[getattr(row, n) for n in names] for row in self.rows], None, names
        )

    def table(self) -> str:
        """The rows as text."""
        width = max(4, *(min(len(row.name), 40) for row in self.rows))
        head = f"{'lift':<{width}}  features  separable         D      gamma      bound  updates"
        out = [head + "  errors"]
        for row in self.rows:
            verdict = {True: "yes", False: "no", None: "undecided"}[row.separable]
            name = row.name if len(row.name) <= 40 else row.name[:37] + "..."
            gamma = f"{row.gamma_low:.4g}" if row.gamma_low > 0 else "-"
            bound = f"{row.bound:.1f}" if math.isfinite(row.bound) else "-"
            updates = "-" if row.updates is None else str(row.updates)
            out.append(
                f"{name:<{width}}  {row.features:>8}  {verdict:>9}  {row.D:>8.4g}  {gamma:>9}  "
                f"{bound:>9}  {updates:>7}  {row.errors:>6}"
            )
        return "\n".join(out)

    def __str__(self) -> str:
        return self.table()


def compare(
    lifts: Sequence[Any] | Mapping[str, Any], X: Any, y: Any, estimator: Any = None
) -> Comparison:
    """Fit the same estimator behind several lifts, and bound the updates of a perceptron.

    Parameters
    ----------
    lifts : sequence or mapping
        Lifts, or the texts or functions to make them of; a mapping gives them names.
    X, y
        Data, as for fit.
    estimator : classifier, optional
        Fitted on each set of lifted rows; Perceptron() without it.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import linsep
    >>> X = [[-2.0], [-1.5], [-0.5], [0.0], [0.5], [1.5], [2.0]]
    >>> y = [1, 1, -1, -1, -1, 1, 1]
    >>> print(linsep.lift.compare(["x, x**2", "x, x**2 - 1"], X, y))
    lift         features  separable         D      gamma      bound  updates  errors
    x, x**2             2        yes     4.583     0.6247       53.8        4       0
    x, x**2 - 1         2        yes     3.742     0.9701       14.9        1       0
    """
    named = dict(lifts) if isinstance(lifts, Mapping) else {_name(lift): lift for lift in lifts}
    if len(named) != len(lifts) or not named:
        raise SettingError("give at least one lift, and each once; a dict gives them names.")
    model = Perceptron() if estimator is None else estimator
    rows = [_row(name, lift, X, y, model) for name, lift in named.items()]
    return Comparison(tuple(rows), type(model).__name__)


def _name(lift: Any) -> str:
    phi = lift.phi if isinstance(lift, Lift) else lift
    return phi if isinstance(phi, str) else getattr(phi, "__name__", repr(phi))


def _row(name: str, lift: Any, X: Any, y: Any, model: Learner) -> Row:
    lift = clone(lift) if isinstance(lift, Lift) else Lift(lift)
    rows = lift.fit_transform(X)
    intercept = bool(getattr(model, "fit_intercept", True))
    bound = novikoff_bound(rows, y, fit_intercept=intercept)
    separable: bool | None = True
    if not bound.margin[0] > 0:
        separable = separability(rows, y, fit_intercept=intercept).separable
    fitted = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinsepWarning)  # the table says what they would say
        fitted.fit(rows, y)
    outcome, status = getattr(fitted, "outcome_", None), getattr(fitted, "status_", None)
    return Row(
        name,
        rows.shape[1],
        separable,
        bound.radius,
        *((0.0, 0.0) if separable is False else bound.margin),
        float(bound),
        getattr(fitted, "n_updates_", None),
        float("nan") if outcome is None else float(outcome.passes),
        int((fitted.predict(rows) != np.asarray(y)).sum()),
        "" if status is None else status.name,
    )
