"""Bayes risk and the strategy that makes it smallest.

R(q)     = sum_x sum_k p(x, k) W(q(x), k)
q*(x)    = the decision d with the least sum_k p(x, k) W(d, k)

Each x is decided on its own, so the best strategy needs no randomness and the proof is the list
of the conditional risks itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError, SettingError
from linsep.risk.continuous import bayes_of_densities, is_densities
from linsep.risk.tables import (
    Number,
    Table,
    as_joint,
    as_loss,
    as_table,
    name_of,
    nonnegative,
    require_one,
    show,
)


def bayes_risk(
    p: Any, strategy: Any, loss: Any = None, *, priors: Any = None, evidence: Any = None
) -> Number:
    """Expected loss of a strategy on a finite set of observations.

    Parameters
    ----------
    p : table of shape (n_x, K)
        Joint probabilities p(x, k): a row for each observation, a column for each class. A
        list of lists, an array, a data frame, or a dictionary {x: {k: p}} or {(x, k): p}.
        Fractions, integers and Decimals give an exact answer.
    strategy : array, dict, callable or table
        A decision for each x: its name, or its number where decisions have no names. A table
        of shape (n_x, n_decisions) holds the probabilities of a randomised strategy.
    loss : table W[d, k], optional
        A row for each decision, a column for each class; rows beyond the classes are further
        decisions, such as reject. None counts errors.
    priors : p(k), optional
        With them p holds p(x|k); every column sums to 1.
    evidence : p(x), optional
        With it p holds p(k|x); every row sums to 1.

    Returns
    -------
    Fraction or float
        A Fraction when all numbers are exact.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from linsep.risk import bayes_risk
    >>> p = [[F(1, 2), F(1, 8)], [F(1, 8), F(1, 4)]]
    >>> bayes_risk(p, [0, 1])
    Fraction(1, 4)
    >>> bayes_risk({"dry": {"sun": 0.6, "rain": 0.1}, "wet": {"rain": 0.3}},
    ...            {"dry": "sun", "wet": "rain"})
    0.1
    """
    table = as_joint(p, priors, evidence)
    W = as_loss(loss, table)
    q = as_strategy(strategy, table, W)
    cost = _costs(table, W)
    if cost.dtype != q.dtype:
        cost, q = cost.astype(np.float64), q.astype(np.float64)
    return _plain((cost * q).sum())


def _costs(table: Table, W: Table) -> NDArray[Any]:
    """sum_k p(x, k) W(d, k) for every x and d."""
    if not (table.exact and W.exact):
        table, W = table.floats(), W.floats()
    return np.asarray(table.values @ W.values.T)


def _plain(value: Any) -> Number:
    return value if isinstance(value, Fraction) else float(value)


@dataclass(frozen=True, eq=False)
class BayesStrategy:
    """The strategy of least expected loss.

    Attributes
    ----------
    decisions : tuple
        The decision for each x, by name where decisions have names. Of equally good decisions
        the first in the order of the loss (of the classes, for the 0/1 loss) is taken.
    risk : Fraction or float
        The Bayes risk: no strategy has less.
    conditional : tuple
        Expected loss given each x; None for an x of probability zero.
    ties : dict
        For each x with several best decisions, all of them. An x of probability zero is there
        with all decisions.
    costs : array of shape (n_x, n_decisions)
        sum_k p(x, k) W(d, k). The smallest entry of each row is the proof.
    """

    decisions: tuple[Any, ...]
    risk: Number
    conditional: tuple[Number | None, ...]
    ties: dict[Any, tuple[Any, ...]]
    costs: NDArray[Any]
    table: Table = field(repr=False)
    loss: Table = field(repr=False)

    @property
    def strategy(self) -> dict[Any, Any]:
        """Decisions by observation."""
        return {self.table.row(i): d for i, d in enumerate(self.decisions)}

    def __call__(self, x: Any) -> Any:
        """The decision for one observation."""
        try:
            return self.strategy[x]
        except (KeyError, TypeError):
            raise DataError(f"the table has no observation {x!r}.") from None

    def __str__(self) -> str:
        parts = ", ".join(f"{x} -> {d}" for x, d in self.strategy.items())
        tied = f"; ties at {', '.join(str(x) for x in self.ties)}" if self.ties else ""
        return f"Bayes risk {show(self.risk)}: {parts}{tied}"


def bayes_strategy(p: Any, loss: Any = None, *, priors: Any = None, evidence: Any = None) -> Any:
    """The strategy of least expected loss, with every conditional risk.

    Parameters
    ----------
    p, loss, priors, evidence
        As for bayes_risk. In place of a table p may be a list of frozen distributions of
        scipy.stats, one a class, in one dimension or more; without priors all classes are
        equally probable then.

    Returns
    -------
    BayesStrategy, or DensityStrategy for distributions

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from linsep.risk import bayes_strategy
    >>> rule = bayes_strategy([norm(0, 1), norm(2, 1)], priors=[0.5, 0.5])
    >>> rule.thresholds.round(6).tolist(), round(rule.risk, 6), rule.linear
    ([1.0], 0.158655, True)

    A loss of 1 for a wrong answer and of 1/4 for none (reject):

    >>> from fractions import Fraction as F
    >>> from linsep.risk import bayes_strategy
    >>> p = {"low": {"a": F(3, 8), "b": F(1, 16)},
    ...      "middle": {"a": F(1, 8), "b": F(1, 8)},
    ...      "high": {"a": F(1, 16), "b": F(1, 4)}}
    >>> loss = {"a": {"a": 0, "b": 1}, "b": {"a": 1, "b": 0},
    ...         "reject": {"a": F(1, 4), "b": F(1, 4)}}
    >>> print(bayes_strategy(p, loss))
    Bayes risk 3/16: low -> a, middle -> reject, high -> b
    >>> print(bayes_strategy(p))
    Bayes risk 1/4: low -> a, middle -> a, high -> b; ties at middle
    """
    if is_densities(p):
        if evidence is not None:
            raise SettingError("evidence is for tables of p(k|x); densities are p(x|k).")
        return bayes_of_densities(p, loss, priors)
    table = as_joint(p, priors, evidence)
    W = as_loss(loss, table)
    costs = _costs(table, W)
    weights = table.values.sum(axis=1)
    best, conditional, ties = [], [], {}
    for i, row in enumerate(costs):
        least = row.min()
        same = np.flatnonzero(row == least).tolist()
        best.append(same[0])
        conditional.append(_plain(least / weights[i]) if weights[i] else None)
        if len(same) > 1:
            ties[table.row(i)] = tuple(W.row(d) for d in same)
    risk = costs[np.arange(len(costs)), best].sum()
    names = tuple(W.row(d) for d in best)
    return BayesStrategy(names, _plain(risk), tuple(conditional), ties, costs, table, W)


# -- Strategies as people write them: decisions, probabilities, dictionaries, functions -----------


def as_strategy(strategy: Any, table: Table, loss: Table) -> NDArray[Any]:
    """Probabilities q(x, d) of the decisions, as Fractions where they are exact."""
    n, D = len(table.values), len(loss.values)
    if hasattr(strategy, "strategy") and not callable(getattr(strategy, "fit", None)):
        strategy = strategy.strategy  # an answer of bayes_strategy, minimax or neyman_pearson
    if callable(strategy):
        strategy = _ask(strategy, table)
    if isinstance(strategy, Mapping):
        keys = [table.row(i) for i in range(n)]
        missing = [key for key in keys if key not in strategy]
        if missing:
            raise DataError(f"the strategy has no decision for x = {missing[0]!r}.")
        strategy = [strategy[key] for key in keys]
    elif hasattr(strategy, "to_numpy"):
        strategy = _by_name(strategy, table, loss)
    if not isinstance(strategy, Iterable) or isinstance(strategy, str | bytes):
        raise DataError(
            f"the strategy is {strategy!r}; give a decision for each x, a dictionary, a function, "
            "or a table of probabilities."
        )
    entries = strategy.tolist() if isinstance(strategy, np.ndarray) else list(strategy)
    if len(entries) != n:
        raise DataError(f"the strategy has {len(entries)} entries; the table has {n} rows.")
    if all(isinstance(e, Sequence) and not isinstance(e, str | bytes) for e in entries) and (
        loss.rows is None or not all(_known(e, loss.rows) for e in entries)
    ):
        return _randomised(entries, table, D)
    out = np.full((n, D), Fraction(0), dtype=object)
    for i, entry in enumerate(entries):
        out[i, _decision(entry, loss, table.row(i))] = Fraction(1)
    return out


def _by_name(strategy: Any, table: Table, loss: Table) -> Any:
    """A series or a data frame in the order of the table and of the decisions, if it has one."""
    index = list(strategy.index)
    if table.rows is not None and set(index) == set(table.rows) and len(index) == len(table.rows):
        strategy = strategy.iloc[[index.index(x) for x in table.rows]]
    columns = list(getattr(strategy, "columns", ()))
    if loss.rows is not None and columns and set(columns) == set(loss.rows):
        strategy = strategy.iloc[:, [columns.index(d) for d in loss.rows]]
    return strategy.to_numpy()


def _ask(strategy: Callable[[Any], Any], table: Table) -> list[Any]:
    return [strategy(table.row(i)) for i in range(len(table.values))]


def _known(entry: Any, names: Sequence[Any]) -> bool:
    return any(type(entry) is type(name) and entry == name for name in names)


def _randomised(entries: list[Any], table: Table, D: int) -> NDArray[Any]:
    q = nonnegative(as_table(entries, "the strategy", "q(x, d)"), "the strategy")
    if q.values.shape[1] != D:
        raise DataError(
            f"the strategy has {q.values.shape[1]} columns; there are {D} decisions (rows of loss)."
        )
    for i, total in enumerate(q.values.sum(axis=1)):
        require_one(
            total,
            f"row {name_of(table.rows, i)} of the strategy",
            "give probabilities of decisions",
        )
    return q.values


def _decision(entry: Any, loss: Table, x: Any) -> int:
    """The number of a decision given by its name, or by its number when there are no names."""
    D = len(loss.values)
    if loss.rows is not None:
        for d, name in enumerate(loss.rows):
            if entry == name:
                return d
        names = ", ".join(repr(name) for name in loss.rows)
        raise DataError(f"the strategy decides {entry!r} for x = {x!r}; the decisions are {names}.")
    if isinstance(entry, bool) or entry not in range(D):
        raise DataError(
            f"the strategy decides {entry!r} for x = {x!r}; the decisions are the numbers 0 to "
            f"{D - 1} (rows of loss)."
        )
    return int(entry)
