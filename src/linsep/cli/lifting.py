"""Lifts on the command line: ``--lift "x1, x2, (x1 - x2)**2"``, and models that hold one."""

from __future__ import annotations

from argparse import Namespace
from copy import copy
from dataclasses import replace
from typing import Any

from linsep.cli.common import framed, narrate
from linsep.core.protocol import Predictor, is_pipeline, last_step
from linsep.core.words import count
from linsep.data.table import Table
from linsep.errors import DataError

_DENSE_LIMIT = 50_000_000
_MOST_TERMS = 40


def lifted(args: Namespace, data: Table) -> tuple[Any, Table]:
    """The lift asked for (None without one), and the data behind it."""
    text = getattr(args, "lift", None)
    if text is None:
        return None, data
    from linsep.lift.transformer import Lift

    data = plain(data)
    lift = Lift(text)
    rows = lift.fit_transform(framed(data))
    names = tuple(map(str, lift.get_feature_names_out()))
    narrate(f"lifted from {data.X.shape[1]} to {count(len(names), 'feature')}")
    return lift, replace(data, X=rows, feature_names=names)


def plain(data: Table) -> Table:
    """The data with a dense matrix, which lifts need."""
    if not hasattr(data.X, "toarray"):
        return data
    n, d = data.X.shape
    if n * d > _DENSE_LIMIT:
        raise DataError(f"{data.source}: {n} x {d} sparse numbers are too many for a lift.")
    return replace(data, X=data.X.toarray())


def with_lift(lift: Any, model: Predictor) -> Any:
    """What to save: the model, behind its lift if it has one."""
    if lift is None:
        return model
    from sklearn.pipeline import Pipeline

    # The lift hands over plain arrays; a model that expects names would complain of them.
    nameless = copy(model)
    if hasattr(nameless, "feature_names_in_"):
        del nameless.feature_names_in_
    return Pipeline([("lift", lift), ("model", nameless)])


def behind(model: object, data: Table) -> tuple[Any, Table]:
    """The classifier of a model, and the data as it sees them."""
    if not is_pipeline(model):
        return model, data
    rows = framed(data) if hasattr(model, "feature_names_in_") else data.X
    return last_step(model), replace(data, X=model[:-1].transform(rows), feature_names=None)


def rule(lift: Any, model: object) -> str | None:
    """The fitted rule in words of the inputs, if it is short."""
    if lift is None or not hasattr(model, "coef_"):
        return None
    found = lift.pullback(model)
    if found.coef.size > _MOST_TERMS:
        return None
    return str(found.text()).replace("\n", "\n              ")
