"""Strategies as people write them: decisions, probabilities, dictionaries, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError
from linsep.risk.tables import Table, as_table, name_of, nonnegative, require_one

__all__ = ["as_strategy"]


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
