"""``linsep plot``: a picture of a model among the rows of a file."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from linsep.cli.common import emit, kept, narrate, require_writable
from linsep.cli.models import model_and_data
from linsep.core.files import atomic_write_bytes
from linsep.errors import DataError, SettingError, require

_DRAWN_ROWS = 5000  # that are drawn


def run(args: Namespace) -> int:
    """Write the picture; two columns of many are drawn, the others at their means."""
    matplotlib = require("matplotlib", extra="plot", what="a picture")
    matplotlib.use("Agg")
    from linsep.display.decision import DecisionDisplay

    require_writable(args.output, read=[args.model, args.data])
    model, data = model_and_data(args)
    if not len(data.y):
        raise DataError(f"{args.data}: there are no labels; --target names their column.")
    dense = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    known = list(data.feature_names or (f"x{j + 1}" for j in range(dense.shape[1])))
    shown = _features(args.features, known, model)
    some = np.linspace(0, len(dense) - 1, min(len(dense), _DRAWN_ROWS)).astype(int)
    display = DecisionDisplay.from_estimator(
        model, dense[some], data.y[some], features=shown, feature_names=known
    )
    try:
        good = kept(args.output, lambda path: _draw(display.figure_, path), "picture")
    except ValueError as error:  # of an ending that it does not know
        raise SettingError(f"-o {args.output}: {error}") from error
    if args.json:
        names = known if shown is None else [known[j] for j in shown]
        emit({"output": args.output, "features": names[:2]}, as_json=True)
    return 0 if good else 1


def _draw(figure: Any, path: str) -> None:
    """The whole picture or none: a full disk must not leave half of one in the old one's place."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150, format=Path(path).suffix[1:].lower() or "png")
    atomic_write_bytes(path, drawn.getvalue())


def _features(asked: str | None, known: list[str], model: object) -> list[int] | None:
    """The two columns to draw: those asked for, else those of the largest weights."""
    if asked is not None:
        names = asked.split(",")
        absent = [name for name in names if name not in known]
        if absent or len(names) != 2:
            has = ", ".join(known[:12])
            raise SettingError(f"--features {asked}: give two of {has}, with a comma between.")
        return [known.index(name) for name in names]
    if len(known) <= 2:
        return None
    coef = getattr(model, "coef_", None)
    size = np.zeros(len(known)) if coef is None else np.abs(np.atleast_2d(coef)).max(axis=0)
    chosen = sorted(np.argsort(-size, kind="stable")[:2].tolist())
    narrate(f"drawn: {known[chosen[0]]} and {known[chosen[1]]}, which have the largest weights")
    return chosen
