"""Tables with columns of any kind on the command line: reading them, and models that hold them."""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.cli.common import narrate, number_or_name, table
from linsep.core.words import count
from linsep.data.columns import TextColumnError
from linsep.data.lectures import available
from linsep.data.table import Table
from linsep.errors import DataError, FormatError, ModelError, SettingError
from linsep.tables.columns import Columns, telling, telling_numbers, told_by
from linsep.tables.read import Frame, holds_columns, read, require_labels
from linsep.tables.roles import numbers_the_rows
from linsep.tables.tabular import Tabular

_TOLD, _NAMED, _LEAKS = 20, 3, 5  # lines about columns, names in one line, columns that tell labels
_ROWS_OF_CLASSES, _ROWS_OF_A_CLASS = 30, 5  # rows in all and of a class, fewer of which are told
_ASKED = ("drop", "role", "decimal", "weights", "scale")


@dataclass(frozen=True, eq=False)
class Given:
    """The data of a command: a matrix, or columns that are to become one."""

    X: Any
    """A frame or a matrix."""
    y: NDArray[Any]
    columns: Columns | None
    """Unfitted; None for a matrix."""
    weight: NDArray[np.float64] | None
    source: str


def is_table(args: Namespace) -> bool:
    """Whether DATA is a file of columns that can be looked at, not a matrix or a bundled set."""
    bundled = not Path(args.data).exists() and args.data in available()
    if bundled or not holds_columns(args.data):
        return False
    if find_spec("pandas") is None and not wants_columns(args):
        narrate("columns are taken for numbers; with pip install 'linsep[study]' for what they are")
        return False
    return True


def wants_columns(args: Namespace) -> bool:
    """Whether an option was given that speaks of columns."""
    return any(getattr(args, name, None) for name in _ASKED)


def frame_of(args: Namespace, path: str | None = None, **options: Any) -> Frame:
    """The file as a frame, told on the way."""
    frame = read(
        args.data if path is None else path,
        target=options.pop("target", number_or_name(args.target)),
        names=number_or_name(args.names),
        header=False if args.no_header else None,
        delimiter=args.delimiter,
        encoding=args.encoding,
        **options,
    )
    if frame.notes and path is None:
        narrate("; ".join(frame.notes))
    return frame


def given(args: Namespace, *, scale: bool) -> Given:
    """The data of ``fit`` as columns."""
    if not is_table(args):
        data = table(args, positive=args.positive)
        require_labels(data.y, data.source or data.name)
        return Given(data.X, data.y, None, data.sample_weight, data.source or data.name)
    missing = "drop" if args.drop_missing else "keep"
    frame = frame_of(args, positive=args.positive, missing=missing)
    require_labels(frame.y, frame.source)
    X, weight = frame.columns, None
    if getattr(args, "weights", None) is not None:
        X, weight = _without_weights(frame, args.weights)
    return Given(X, frame.y, asked_columns(args, X, scale=scale), weight, frame.source)


def asked_columns(args: Namespace, frame: Any, *, scale: bool) -> Columns:
    """The columns as the options want them."""
    roles = asked_roles(args)
    drop = [name for item in args.drop or () for name in _names(frame, item)]
    return Columns(roles=roles or None, drop=drop, scale=scale, decimal=args.decimal)


def asked_roles(args: Namespace) -> dict[str, str]:
    """The roles that --role gives to columns."""
    roles = {}
    for item in args.role or ():
        name, sep, kind = item.rpartition("=")
        if not sep:
            raise SettingError(f"--role {item} has no '='; write --role COLUMN=category.")
        roles[name] = kind
    return roles


def _names(frame: Any, item: str) -> list[str]:
    """One name, or several with commas between them."""
    return [item] if item in frame.columns else item.split(",")


def _without_weights(frame: Frame, name: str) -> tuple[Any, NDArray[np.float64]]:
    if name not in frame.columns.columns:
        known = ", ".join(repr(c) for c in frame.columns.columns[:12])
        raise DataError(f"{frame.source} has no column {name!r} of weights; it has {known}.")
    weight = frame.columns[name]
    if weight.dtype.kind != "f" or weight.isna().any() or (weight < 0).any():
        raise DataError(f"{frame.source}: column {name!r} has weights that are no numbers >= 0.")
    return frame.columns.drop(columns=name), weight.to_numpy(dtype=np.float64)


def prepared(args: Namespace, *, mend: bool) -> tuple[Columns | None, Table]:
    """Numbers to train on, and the columns that they come from, None if they are numbers."""
    if not wants_columns(args):
        try:
            data = table(args, positive=args.positive)
        except FormatError as error:  # of text, of gaps; or of what columns have to say themselves
            kept = not mend and not isinstance(error, TextColumnError)
            if kept or args.drop_missing or not is_table(args):
                raise
        else:
            _tell_of_identifiers(data)
            tell_of_classes(data.y)
            _tell_of_leaks(telling_numbers(data.X, data.y, data.feature_names))
            return None, data
    found = given(args, scale=bool(getattr(args, "scale", False)))
    if found.columns is None:
        raise SettingError(
            f"{args.data} is a matrix; --drop, --role, --decimal, --scale and --weights are for "
            "columns."
        )
    tell_of_classes(found.y)
    columns = found.columns.fit(found.X)
    _tell_of_columns(columns)
    _tell_of_leaks(telling(found.X, columns, found.y))
    return columns, _as_table(columns, Frame(found.X, found.y, source=found.source), found.weight)


def _as_table(columns: Columns, frame: Frame, weight: Any = None) -> Table:
    """The numbers that columns become."""
    return Table(
        X=columns.transform(frame.columns),
        y=frame.y,
        feature_names=tuple(map(str, columns.get_feature_names_out())),
        row_names=frame.row_names,
        classes=tuple(np.unique(frame.y).tolist()),
        source=frame.source,
        sample_weight=weight,
    )


def _tell_of_columns(columns: Columns) -> None:
    """What becomes of columns that are no plain numbers; those of one fate in one line."""
    made = {str(encoder.name): encoder.words() for encoder in columns.encoders_}
    fates: dict[str, list[str]] = {}
    for name, role in columns.roles_.items():
        words = made.get(str(name), f"{role.kind}, left out: {role.why}")
        if words != "a number":
            fates.setdefault(words, []).append(str(name))
    for words, names in list(fates.items())[:_TOLD]:
        narrate(f"{named(names)}: {words}")
    for words in doubt_words(columns):
        narrate(words)
    rest = [name for names in list(fates.values())[_TOLD:] for name in names]
    if rest:
        narrate(f"and {count(len(rest), 'more column')}, told by the model")


def named(names: Sequence[str]) -> str:
    """One column by its name, several by the first of them.

    >>> named(["a"]), named(["a", "b", "c", "d", "e"])
    ("column 'a'", "columns 'a', 'b', 'c' and 2 more")
    """
    if len(names) == 1:
        return f"column {names[0]!r}"
    shown = ", ".join(map(repr, names[:_NAMED]))
    more = len(names) - _NAMED
    return f"columns {shown}" + (f" and {more} more" if more > 0 else "")


def doubt_words(columns: Columns) -> list[str]:
    """What is said of numbers that may stand for no value."""
    return [
        f"column {str(name)!r}: {role.doubt} is far from all other values; if it marks gaps, say "
        f"--role {shlex.quote(f'{name}=number:{role.doubt}')}"
        for name, role in columns.roles_.items()
        if role.doubt
    ][:_LEAKS]


def _tell_of_leaks(found: Mapping[str, float]) -> None:
    """A column that tells nearly every label may be one that is known too late."""
    for words in leak_words(found):
        narrate(words)


def leak_words(found: Mapping[str, float]) -> list[str]:
    """What is said of columns that tell nearly every label."""
    late = "; if it is known only afterwards, --drop it"
    lines = [told_by(name, share) + late for name, share in list(found.items())[:_LEAKS]]
    more = list(found)[_LEAKS:]
    return lines + ([f"{named(more)} alone also tell at least 99 % of them"] if more else [])


def tell_of_classes(y: NDArray[Any]) -> None:
    """So many labels may be names of the rows, or amounts."""
    K = len(np.unique(y))
    if len(y) >= _ROWS_OF_CLASSES and len(y) < _ROWS_OF_A_CLASS * K:
        narrate(
            f"warning: there are {K} different labels in {len(y)} rows; if they are names or "
            "amounts and no classes, --target names another column"
        )


def _tell_of_identifiers(data: Table) -> None:
    """A column that numbers the rows is no measurement."""
    if data.feature_names is None or not isinstance(data.X, np.ndarray):
        return
    for j, name in enumerate(data.feature_names):
        if numbers_the_rows(name, data.X[:, j]):
            narrate(f"column {name!r} numbers the rows; --drop {name} leaves it out")


def behind_columns(args: Namespace, model: Tabular) -> tuple[Any, Table]:
    """The classifier of a model of columns, and the data as it sees them."""
    frame = frame_for(args, model)
    weight = None
    if getattr(args, "weights", None):
        weight = _without_weights(frame, args.weights)[1]
    return model.estimator_, _as_table(model.columns_, frame, weight)


def frame_for(args: Namespace, model: Tabular) -> Frame:
    """The table of a model: with labels if it has a column more, else without."""
    known = [str(name) for name in model.feature_names_in_]
    options: dict[str, Any] = {"features": known}
    if getattr(args, "positive", None) is not None:
        options["positive"] = args.positive
    frame = None
    if args.target is None:
        frame = frame_of(args, args.data, target=False)
        if len(set(frame.columns.columns) - set(known)):
            frame = None
    frame = frame_of(args, **options) if frame is None else frame
    needed = [str(encoder.name) for encoder in model.columns_.encoders_]
    absent = [name for name in needed if name not in frame.columns.columns]
    if absent and all(re.fullmatch(r"x[0-9]+", name) for name in known):  # it had no titles
        return _by_position(frame, known)
    if absent:
        has = ", ".join(repr(name) for name in frame.columns.columns[:8])
        raise ModelError(
            f"{frame.source} has no column {absent[0]!r}, which the model was trained on; it has "
            f"{has}."
        )
    return frame


def _by_position(frame: Frame, known: list[str]) -> Frame:
    """Columns without titles are the first, the second and so on."""
    width = len(frame.columns.columns)
    if width != len(known):
        raise ModelError(
            f"{frame.source} has {count(width, 'feature')}; the model was trained on {len(known)}. "
            "Give data with the same columns."
        )
    return replace(frame, columns=frame.columns.set_axis(known, axis=1))
