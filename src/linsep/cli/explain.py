"""``linsep explain``: one prediction of a model as a sum of terms."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from linsep.cli.common import emit, framed
from linsep.cli.models import model_and_data
from linsep.core.words import count
from linsep.errors import DataError, SettingError


def run(args: Namespace) -> int:
    """Print the terms, the largest first."""
    from linsep.formats import load

    whole = load(args.model)
    if hasattr(whole, "columns_"):
        from linsep.cli.columns import frame_for

        frame = frame_for(args, whole)
        at = _place(args.row, len(frame.columns), frame.row_names)
        found = whole.explain(frame.columns.iloc[[at]])
    else:
        model, data = model_and_data(args, whole)
        if not hasattr(model, "explain"):
            raise SettingError(f"{type(model).__name__} has no explanations of single rows.")
        at = _place(args.row, data.X.shape[0], data.row_names)
        X = framed(data)
        found = model.explain(X.iloc[[at]] if hasattr(X, "iloc") else X[[at]])
    emit(_told(found, at) if args.json else f"row {at + 1}: {found}", as_json=args.json)
    return 0


def _place(asked: str, n: int, names: tuple[str, ...] | None) -> int:
    """A row by its name, else by its number from 1."""
    if names is not None and asked in names:
        return names.index(asked)
    if not asked.isdigit():
        raise DataError(f"--row {asked}: no row has this name; rows are also counted from 1.")
    if not 1 <= int(asked) <= n:
        raise DataError(f"--row {asked}: there are {count(n, 'row')}, counted from 1.")
    return int(asked) - 1


def _told(found: Any, at: int) -> dict[str, Any]:
    return {
        "row": at + 1,
        "predicted": found.predicted,
        "score": found.score,
        "intercept": found.intercept,
        "terms": [
            {"name": t.name, "weight": t.weight, "sign": t.sign, "value": t.value,
             "product": t.product}
            for t in found.terms
        ],
    }  # fmt: skip
