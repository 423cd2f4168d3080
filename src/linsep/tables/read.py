"""Read a file into a frame: columns as they stand, labels and names of rows apart."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.boundary import boundary
from linsep.core.sources import fetch
from linsep.data.assemble import whole_rows
from linsep.data.columns import Column, as_labels, is_missing
from linsep.data.files import ending_of, utf8
from linsep.data.layout import Choice, laid_out
from linsep.data.read import FORMATS, WAY_OUT, recode
from linsep.errors import DataError, FormatError, LabelError, require

_MOST_COLUMNS = 100_000  # of a table in which every column has a role


@dataclass(frozen=True, eq=False)
class Frame:
    """A table of a file.

    Attributes
    ----------
    columns : DataFrame of pandas
        The features.
    y : array
        The labels of the rows, of shape (0,) when there are none.
    row_names : tuple of str, optional
    target : str
        Name of the label column.
    notes : list of str
        What was found and chosen.
    source : str
        Path of the file.
    """

    columns: Any
    y: NDArray[Any]
    row_names: tuple[str, ...] | None = None
    target: str = "y"
    notes: list[str] = field(default_factory=list)
    source: str = ""


def holds_columns(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a table of columns: CSV, Parquet or Arrow, and not a matrix."""
    ending = ending_of(path)
    named = [form.name for form in FORMATS if ending in form.endings]
    if not named:  # the bytes tell
        data = fetch(path)
        named = [next(form for form in FORMATS if form.holds(data, ending)).name]
    return named[0] in ("CSV", "Parquet")


def read(
    path: str | os.PathLike[str],
    *,
    target: Choice = None,
    names: Choice = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    positive: Any = None,
    features: Any = (),
    missing: str = "keep",
) -> Frame:
    """Read a CSV, Parquet or Arrow file as it stands, numbers, texts and gaps alike.

    Parameters
    ----------
    path : str or path
        The file, plain or packed with gzip, bzip2 or xz.
    target, names : str, int or False, optional
        Columns of the labels and of the names of rows, as for ``linsep.data.read``.
    header : bool, optional
        Whether the first line holds titles; by default it is told by the content.
    delimiter : str, optional
        Between cells; by default it is told by the content.
    encoding : str, optional
        Of the text; by default UTF-8, UTF-16 with its mark, else Windows-1252.
    positive : label, optional
        The class that becomes +1; every other class becomes -1.
    features : collection of str, default=()
        Columns that are no labels, because a model was trained on them.
    missing : {"keep", "drop"}, default="keep"
        Whether rows with a gap are left out; a row without a label is an error else.

    Returns
    -------
    Frame

    Examples
    --------
    >>> import tempfile, pathlib, linsep
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "flats.csv"
    >>> _ = file.write_text("rent;city;let\\n950,50;Graz;yes\\n1.200,00;Wien;no\\n?;Wien;no\\n")
    >>> table = linsep.tables.read(file)
    >>> table.columns
           rent  city
    0    950,50  Graz
    1  1.200,00  Wien
    2       NaN  Wien
    >>> table.y.tolist()
    ['yes', 'no', 'no']
    """
    pandas = require("pandas", extra="study", what="a table with columns of other than numbers")
    data = fetch(path)
    source = os.fspath(path)
    ending = ending_of(path)
    form = next(form for form in FORMATS if form.holds(data, ending)).name
    with boundary(source, FormatError, f"it cannot be read as {form}", WAY_OUT):
        if form == "Parquet":
            from linsep.data.binary import read_arrow

            columns, layout, place = read_arrow(
                source, data, target=target, names=names, features=features, dates=True
            )
        elif form == "CSV":
            from linsep.data.delimited import read_columns

            text, told = utf8(source, data, encoding)
            text, layout = laid_out(
                source, text, ending, told, header=header, target=target, names=names,
                features=features, delimiter=delimiter,
            )  # fmt: skip
            _refuse_wide(source, len(layout.names))
            columns, place = read_columns(text, layout, codes=True)
        else:
            raise DataError(f"{source} is {form}, a matrix; linsep.data.read reads it.")
    y, notes = np.empty(0), list(layout.notes)
    if missing == "drop":
        columns = whole_rows(columns, range(len(columns)), place, notes)
    if layout.target is not None:
        y, _ = recode(
            source, as_labels(columns[layout.target], layout.target, place), positive, notes
        )
    rows = None
    if layout.row_names is not None:
        rows = tuple(map(str, _cells(columns[layout.row_names])))
    left = [j for j in range(len(columns)) if j not in (layout.target, layout.row_names)]
    if not left:
        raise DataError(f"{source}: there is no column of features beside the labels.")
    frame = pandas.DataFrame({layout.names[j]: _cells(columns[j]) for j in left})
    title = "y" if layout.target is None else layout.names[layout.target]
    return Frame(frame, y, rows, title, notes, source)


def require_labels(y: NDArray[Any], source: str) -> None:
    """Refuse a file whose rows have no labels, for what learns from them."""
    if not len(y):
        raise LabelError(
            f"{source}: there are no labels; name their column with target=, or add an array y "
            "where it is a matrix.",
            options={"target=": "--target"},
        )


def _refuse_wide(source: str, width: int) -> None:
    """Every column has a role here, a name and objects of its own; a matrix has numbers."""
    if width > _MOST_COLUMNS:
        raise DataError(
            f"{source} has {width} columns; as a table of columns at most {_MOST_COLUMNS} are "
            "read. linsep.data.read reads it as a matrix of numbers."
        )


def _cells(column: Column) -> Any:
    """Numbers, or texts with None where there is no value."""
    if column.numbers is not None:
        return column.numbers
    assert column.codes is not None
    values = np.array([None if is_missing(v) else v for v in column.values], dtype=object)
    return values[column.codes]
