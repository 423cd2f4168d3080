"""Read a data file of any known format into a Table."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.boundary import boundary
from linsep.core.sources import fetch
from linsep.core.words import count
from linsep.data.assemble import Parts, assemble
from linsep.data.files import check_text, ending_of, unpacked, utf8
from linsep.data.layout import Choice
from linsep.data.table import Table
from linsep.errors import DataError, FormatError, LabelError

WAY_OUT = "the file is damaged, or of another format: give it the ending of its format"


def read(
    path: str | os.PathLike[str],
    *,
    positive: Any = None,
    target: Choice = None,
    n_features: int | None = None,
    names: Choice = None,
    header: bool | None = None,
    missing: str = "error",
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a data file; what was found and chosen stands in the notes of the table.

    The format is told by the content: CSV with comma, semicolon, tab or blanks between cells,
    svmlight (LIBSVM) text, Parquet, Arrow, npz; plain or packed with gzip, bzip2 or xz.

    Parameters
    ----------
    path : str or path
        The file.
    positive : label, optional
        The class that becomes +1; every other class becomes -1.
    target : str, int or False, optional
        Label column, by name or by number from 0; False when there are no labels. By default
        a column called y, label, class or target, else the last column, else the first one
        when the last holds measurements.
    n_features : int, optional
        Number of features of svmlight text whose last features may be absent.
    names : str, int or False, optional
        Column that names the rows. By default a first column without a title, or of distinct
        texts under a title such as "name".
    header : bool, optional
        Whether the first line holds titles; by default it is told by the content.
    missing : {"error", "drop"}, default="error"
        What to do with a missing number or label.
    delimiter : str, optional
        Between the cells of a text table; by default it is told by the content.
    encoding : str, optional
        Of a text table, such as "latin-1"; by default it is UTF-8.

    Returns
    -------
    Table
        Dense float64 features, or a CSR array for svmlight text.

    Raises
    ------
    FormatError
        The text is wrong; the message starts with path:line:column.
    DataError
        The file is not there, or a choice does not fit it.

    Examples
    --------
    >>> import tempfile, pathlib, linsep
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "grades.csv"
    >>> _ = file.write_text("name,hours,sleep,grade\\nJane,9,7,A\\nSteve,1,9,F\\n")
    >>> table = linsep.data.read(file, positive="A")
    >>> table
    Table('grades', 2 x 2 dense, classes F 1, A 1)
    >>> table.feature_names, table.row_names, table.y
    (('hours', 'sleep'), ('Jane', 'Steve'), array([ 1, -1]))
    """
    data = fetch(path)
    source = os.fspath(path)
    ending = ending_of(path)
    asked = Asked(target, names, header, missing, n_features, delimiter, encoding)
    form = next(form for form in FORMATS if form.holds(data, ending))
    with boundary(source, FormatError, f"it cannot be read as {form.name}", WAY_OUT):
        parts = form.read(source, data, ending, asked)
    if n_features is not None and parts.X.shape[1] != n_features:
        features = count(parts.X.shape[1], "feature")
        raise DataError(f"{source} has {features} but n_features={n_features}.")
    y, classes = recode(source, parts.y, positive, parts.notes)
    return Table(
        X=parts.X,
        y=y,
        feature_names=parts.feature_names,
        row_names=parts.row_names,
        classes=classes,
        name=_title(path),
        notes="; ".join(parts.notes),
        source=source,
        target=parts.target,
        sample_weight=parts.sample_weight,
        groups=parts.groups,
    )


# -- formats --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """The choices of a caller, as ``read`` takes them."""

    target: Choice
    names: Choice
    header: bool | None
    missing: str
    n_features: int | None
    delimiter: str | None
    encoding: str | None


def _npz(source: str, data: bytes, ending: str, asked: Asked) -> Parts:
    from linsep.data.binary import read_npz

    return read_npz(source, data)


def _arrow(source: str, data: bytes, ending: str, asked: Asked) -> Parts:
    from linsep.data.binary import read_arrow

    columns, layout, place = read_arrow(source, data, target=asked.target, names=asked.names)
    return assemble(columns, layout, place, missing=asked.missing)


def _is_svmlight(data: bytes, ending: str) -> bool:
    from linsep.data.svmlight import looks_like_svmlight

    if ending in _SEPARATED:
        return False
    return ending in _SVMLIGHT or looks_like_svmlight(data.removeprefix(b"\xef\xbb\xbf"))


def _svmlight(source: str, data: bytes, ending: str, asked: Asked) -> Parts:
    from linsep.data.svmlight import read_svmlight

    X, rows, notes = read_svmlight(source, check_text(source, data), asked.n_features)
    return Parts(
        X, rows.labels, None, None, "y", notes, sample_weight=rows.costs, groups=rows.queries
    )


def _delimited(source: str, data: bytes, ending: str, asked: Asked) -> Parts:
    from linsep.data.delimited import read_columns, read_numbers
    from linsep.data.layout import check_columns, check_features, laid_out

    data, told = utf8(source, data, asked.encoding)
    data, layout = laid_out(
        source, data, ending, told, header=asked.header, target=asked.target, names=asked.names,
        delimiter=asked.delimiter,
    )  # fmt: skip
    found = read_numbers(data, layout, missing=asked.missing)
    if found is not None:
        check_features(found.X, data, layout)
        return found
    columns, place = read_columns(data, layout)
    check_columns(columns, data, layout)
    return assemble(columns, layout, place, missing=asked.missing)


@dataclass(frozen=True)
class Format:
    """A kind of data file."""

    name: str
    endings: tuple[str, ...]
    """As files of it are called; ``linsep fit --help`` names them."""
    holds: Callable[[bytes, str], bool]
    """Whether a file is of this kind, by its bytes and its ending."""
    read: Callable[[str, bytes, str, Asked], Parts]


_SVMLIGHT, _SEPARATED = (".svm", ".libsvm", ".svmlight"), (".csv", ".tsv")
_ARROW = (b"PAR1", b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")
_OF_ANY_FORMAT = (".txt", ".data", ".feather")  # endings that do not tell it
# The first that holds a file reads it.
FORMATS = (
    Format("npz", (".npz",), lambda data, _: data.startswith(b"PK\x03\x04"), _npz),
    Format("Parquet", (".parquet", ".arrow"), lambda data, _: data.startswith(_ARROW), _arrow),
    Format("svmlight", _SVMLIGHT, _is_svmlight, _svmlight),
    Format("CSV", _SEPARATED, lambda data, ending: True, _delimited),
)


def _title(path: str | os.PathLike[str]) -> str:
    """Name of a file without the ending of a format."""
    place = unpacked(path)
    known = (*_OF_ANY_FORMAT, *(ending for form in FORMATS for ending in form.endings))
    return place.stem if place.suffix.lower() in known else place.name


def _twins(classes: list[Any]) -> tuple[Any, Any] | None:
    """Two labels that differ in nothing but upper and lower case."""
    seen: dict[str, Any] = {}
    for label in classes if classes and isinstance(classes[0], str) else []:
        if label.casefold() in seen:
            return seen[label.casefold()], label
        seen[label.casefold()] = label
    return None


def recode(
    source: str, labels: NDArray[Any], positive: Any, notes: list[str]
) -> tuple[NDArray[Any], tuple[Any, ...]]:
    """Turn labels into -1 and +1 when a positive class is given."""
    if labels.size == 0:
        return labels, ()
    classes = np.unique(labels).tolist()
    twins = _twins(classes)
    if twins:
        notes.append(f"labels {twins[0]!r} and {twins[1]!r} differ in case alone and are two")
    if positive is None:
        return labels, tuple(classes)
    match = [c for c in classes if c == positive] or [c for c in classes if str(c) == str(positive)]
    if not match:
        shown = ", ".join(repr(c) for c in classes[:10]) + (" ..." if len(classes) > 10 else "")
        raise LabelError(f"{source}: no row has the label {positive!r}; the labels are {shown}.")
    rest = [c for c in classes if c != match[0]]
    negative = rest[0] if len(rest) == 1 else "rest"
    notes.append(f"+1 is {match[0]!r}, -1 is {negative!r}" if rest else f"+1 is {match[0]!r}")
    return np.where(labels == match[0], 1, -1).astype(np.int64), (negative, match[0])
