"""Text in svmlight (LIBSVM) form: ``label index:value index:value ... # comment``.

Between label and features SVMlight has ``qid:7``, the query that a row belongs to, and ``cost:2``,
the factor of its loss; both are kept.

A small file is read as it stands, line by line. A large one is read as bytes by compiled code
on two threads; any line that it does not take goes to the plain reader, which either takes it
or says what is wrong with it. So there is one place that knows what is allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import inf, isinf
from operator import lt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.words import count
from linsep.data import fast
from linsep.data.columns import is_missing, label_values, whole
from linsep.data.layout import check_pairs
from linsep.errors import DataError, FormatError, LabelError

_VALUE = rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_GAP = rb"[ \t\r]"
_LINE = re.compile(
    _GAP + rb"*([^\s:#,]+)((?:" + _GAP + rb"+(?:qid:[0-9]+|cost:" + _VALUE + rb")){0,2})"
    rb"((?:" + _GAP + rb"+[0-9]+:" + _VALUE + rb")*)" + _GAP + rb"*"
)  # fmt: skip
_QUERY = re.compile(rb"(?m)^[ \t\r]*[^\s:#,]+(?:[ \t\r]+qid:([0-9]+))?")
_TOKEN = re.compile(rb"[0-9]+:" + _VALUE)
_ENTRY = re.compile(rb"[^\s:]+:\S+")
_LARGEST_FEATURE = 2**40 - 1  # number of a feature; beyond it some byte is damaged
_FEATURE_DIGITS = len(str(_LARGEST_FEATURE))


@dataclass
class Entries:
    """Rows as arrays; columns are counted from 0 where the file counts from 1."""

    labels: NDArray[Any]
    lengths: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[np.float64]
    zero_based: bool
    width: int
    costs: NDArray[np.float64] | None = None
    queries: NDArray[np.int64] | None = None


def looks_like_svmlight(data: bytes) -> bool:
    """True when the first lines are a label and index:value pairs, at least one of them."""
    pairs = 0
    for number, line in _lines(data[: 1 << 16], 1):
        tokens = line.partition(b"#")[0].split()
        if len(tokens) > 1 and not all(_ENTRY.fullmatch(token) for token in tokens[1:3]):
            return False
        pairs += len(tokens) > 1
        if number > 20 and pairs:
            break
    return pairs > 0


def read_svmlight(path: str, data: bytes, n_features: int | None) -> tuple[Any, Entries, list[str]]:
    """Give a CSR array, the labels with costs and queries, and notes on what was found."""
    from scipy.sparse import csr_array

    found = _compiled(path, data) if fast.pays(len(data)) else None
    if found is None:
        found = _plain(path, data)
    if not found.labels.size:
        raise FormatError(f"{path}:1:1: there is no row, only comments.")
    check_pairs(path, found.values, data)
    width = found.width
    if n_features is not None:
        if width > n_features:
            raise DataError(
                f"{path}: the largest feature is number {width} but n_features is {n_features}; "
                "raise it."
            )
        width = n_features
    many = max(width, found.values.size) > np.iinfo(np.int32).max
    kind = np.int64 if many else np.int32
    indptr = np.zeros(found.lengths.size + 1, dtype=kind)
    np.cumsum(found.lengths, out=indptr[1:])
    X: Any = csr_array(
        (found.values, found.indices.astype(kind, copy=False), indptr),
        shape=(found.labels.size, width),
    )
    X.has_sorted_indices = X.has_canonical_format = True  # every row has been checked
    notes = ["indices count from 0: index 0 is used"] if found.zero_based else []
    if found.costs is not None:
        notes.append("cost: of the rows is kept as sample_weight, and linsep fit uses it")
    if found.queries is not None:
        queries = count(len(np.unique(found.queries)), "query", "queries")
        notes.append(f"qid: {queries}, kept as groups; no fit looks at them")
    return X, found, notes


def _compiled(path: str, data: bytes) -> Entries | None:
    """Read by compiled code; None when the plain reader has to do it."""
    found, trouble = fast.parse_pairs(data)
    if found is None:
        end = data.find(b"\n", trouble)
        line = data[trouble : len(data) if end < 0 else end]
        _plain(path, line, data.count(b"\n", 0, trouble) + 1)  # raises if the line is wrong
        return None
    labels, lengths, indices, values, width = found
    if width > _LARGEST_FEATURE:
        return None
    zero_based = bool(indices.size and indices.min() < 0)
    if zero_based:
        indices += 1
        width += 1
    rows = Entries(whole(labels), lengths, indices, values, zero_based, width)
    if b"qid:" in data:
        named = _QUERY.findall(data)
        if len(named) != len(rows.labels) or max(map(len, named)) > _FEATURE_DIGITS:
            return None
        rows.queries = _queries(
            [int(query) if query else 0 for query in named], any_of_them=any(named)
        )
    return rows


def _queries(numbers: list[int], *, any_of_them: bool) -> NDArray[np.int64] | None:
    """The queries, 0 for rows that name none; None where no row does."""
    return np.array(numbers, dtype=np.int64) if any_of_them else None


# -- plain reader: knows what is allowed --------------------------------------------------------


def _lines(data: bytes, first: int) -> Iterator[tuple[int, bytes]]:
    return enumerate(data.split(b"\n"), first)


def _plain(path: str, data: bytes, first_line: int = 1) -> Entries:
    labels: list[str] = []
    lengths: list[int] = []
    indices: list[list[int]] = []
    values: list[list[float]] = []
    costs, queries, said = list[float](), list[int](), set[bytes]()
    for number, line in _lines(data, first_line):
        content = line.partition(b"#")[0]
        match = _LINE.fullmatch(content)
        if match is None:
            if content.strip():
                raise _diagnose(path, number, content)
            continue
        pairs = match[3].replace(b":", b" ").split()
        label = match[1].decode("utf-8", "replace")
        if max(map(len, pairs[::2]), default=0) > _FEATURE_DIGITS and _is_beyond(pairs[::2]):
            raise _diagnose(path, number, content)
        index = list(map(int, pairs[::2]))
        value = list(map(float, pairs[1::2]))
        if not all(map(lt, index, index[1:])) or any(map(isinf, value)) or is_missing(label):
            raise _diagnose(path, number, content)
        if index and index[-1] > _LARGEST_FEATURE:
            raise _diagnose(path, number, content)
        words = match[2].replace(b":", b" ").split()
        of_row = dict(zip(words[::2], words[1::2]))
        cost, query = float(of_row.get(b"cost", b"1")), of_row.get(b"qid", b"0")
        if 2 * len(of_row) != len(words) or not 0 <= cost < inf or _is_beyond([query]):
            raise _diagnose(path, number, content)
        said.update(of_row)
        costs.append(cost)
        queries.append(int(query))
        labels.append(label)
        lengths.append(len(index))
        indices.append(index)
        values.append(value)
    flat = np.fromiter(chain.from_iterable(indices), dtype=np.int64)
    zero_based = bool(flat.size and flat.min() == 0)
    width = int(flat.max()) + zero_based if flat.size else 0
    return Entries(
        label_values(labels),
        np.array(lengths, dtype=np.int64),
        flat if zero_based else flat - 1,
        np.fromiter(chain.from_iterable(values), dtype=np.float64),
        zero_based,
        width,
        np.array(costs) if b"cost" in said else None,
        _queries(queries, any_of_them=b"qid" in said),
    )


def _is_beyond(indices: list[bytes]) -> bool:
    """Whether one has more digits than the largest, zeros ahead of it left out."""
    return any(len(index.lstrip(b"0")) > _FEATURE_DIGITS for index in indices)


def _diagnose(path: str, number: int, line: bytes) -> FormatError:
    """Say what is wrong with the first bad token of a line."""
    before, said = -1, set[bytes]()
    for k, found in enumerate(re.finditer(rb"\S+", line)):
        token = found[0]
        text = token.decode("utf-8", "replace")
        place = f"{path}:{number}:{found.start() + 1}"
        if k == 0:
            if b":" in token:
                return FormatError(f"{place}: {text!r} where the label is due; begin with a label.")
            if b"," in token:
                return FormatError(f"{place}: several labels {text!r}; linsep takes one a row.")
            if is_missing(text):
                return FormatError(f"{place}: no label ({text!r}); give one, or delete the row.")
            continue
        index, colon, value = token.partition(b":")
        if index in (b"qid", b"cost", b"sid"):
            wrong = _wrong_word(index, value, before, said)
            if wrong:
                return FormatError(f"{place}: {text!r:.60} {wrong}.")
            said.add(index)
            continue
        if not colon or not index.isdigit():
            return FormatError(f"{place}: {text!r:.60} is not index:value, for example 3:0.5.")
        shown = value.decode("utf-8", "replace")
        if not _TOKEN.fullmatch(token):
            return FormatError(f"{place}: the value {shown!r:.60} is not a finite number.")
        if isinf(float(value)):
            return FormatError(f"{place}: the value {shown!r:.60} does not fit in a double.")
        if _is_beyond([index]) or int(index) > _LARGEST_FEATURE:
            return FormatError(
                f"{place}: the index {index.decode():.60} is too large; number the features "
                f"from 1 on, {_LARGEST_FEATURE} is the last one possible."
            )
        if int(index) <= before:
            return FormatError(
                f"{place}: index {int(index)} after index {before}; rows need increasing indices."
            )
        before = int(index)
    return FormatError(f"{path}:{number}:1: the line cannot be read.")


def _wrong_word(name: bytes, value: bytes, before: int, said: set[bytes]) -> str:
    """What is wrong with qid:, cost: or sid: of a row; empty for nothing."""
    if name == b"sid":
        return "names a slack that rows share, which linsep does not have; remove it"
    if before >= 0:
        return "stands behind a feature; it goes between the label and the first one"
    if name in said:
        return "is given twice"
    if name == b"qid":
        good = value.isdigit() and not _is_beyond([value])
        return "" if good else f"is no whole number >= 0 of at most {_FEATURE_DIGITS} digits"
    good = re.fullmatch(_VALUE, value) is not None and 0 <= float(value) < inf
    return "" if good else "is no finite number >= 0"


# -- Write samples as svmlight text ---------------------------------------------------------------


def write_svmlight(
    path: str | os.PathLike[str],
    X: Any,
    y: ArrayLike,
    *,
    zero_based: bool = False,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> None:
    """Write rows as ``label index:value ...``, with numbers that read back to the same bits.

    Parameters
    ----------
    path : str or path
        The file; it appears only when it is complete.
    X : array or scipy sparse matrix of shape (n, d)
        The features. Zeros are left out.
    y : array of shape (n,)
        Labels: numbers, or text without blanks.
    zero_based : bool, default=False
        Whether the first feature is number 0 rather than 1.
    sample_weight : array of shape (n,), optional
        Written as ``cost:``, which LIBSVM and LIBLINEAR do not read.
    groups : array of int of shape (n,), optional
        Written as ``qid:``, the query that a row belongs to.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linsep.data import read, write_svmlight
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "two.svm"
    >>> write_svmlight(file, [[0.5, 0.0], [0.0, -3.0]], [1, -1])
    >>> print(file.read_text(), end="")
    1 1:0.5
    -1 2:-3.0
    """
    from linsep.core.files import atomic_write_bytes

    text = svmlight_text(X, y, zero_based=zero_based, sample_weight=sample_weight, groups=groups)
    atomic_write_bytes(path, text.encode())


def svmlight_text(
    X: Any,
    y: ArrayLike,
    *,
    zero_based: bool = False,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> str:
    """The rows as ``write_svmlight`` writes them."""
    from scipy.sparse import csr_array

    matrix: Any = csr_array(X)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    values = matrix.data.astype(np.float64)
    if not np.isfinite(values).all():
        raise DataError("X contains NaN or infinity; svmlight text has no word for it.")
    labels = [str(label) for label in np.asarray(y).tolist()]
    if len(labels) != matrix.shape[0]:
        rows = count(matrix.shape[0], "row")
        raise LabelError(f"y has {count(len(labels), 'label')} but X has {rows}.")
    for label in labels:
        if not label or any(c in ":#," or c.isspace() for c in label):
            raise LabelError(f"the label {label!r} cannot be written; use text without blanks.")
    heads = _heads(labels, sample_weight, groups)
    columns = (matrix.indices + (0 if zero_based else 1)).tolist()
    entries = [f"{j}:{v!r}" for j, v in zip(columns, values.tolist())]
    ends = matrix.indptr.tolist()
    lines = [
        " ".join([head, *entries[start:end]])
        for head, start, end in zip(heads, ends[:-1], ends[1:])
    ]
    return "\n".join(lines) + "\n"


def _heads(
    labels: list[str], sample_weight: ArrayLike | None, groups: ArrayLike | None
) -> list[str]:
    """What stands before the features of each row."""
    from linsep.core.validate import as_weights

    heads = labels
    if groups is not None:
        queries = np.asarray(groups)
        if queries.dtype.kind not in "iu" or queries.shape != (len(labels),) or queries.min() < 0:
            raise DataError("groups must be whole numbers >= 0, one for each row.")
        heads = [f"{head} qid:{query}" for head, query in zip(heads, queries.tolist())]
    if sample_weight is not None:
        costs = as_weights(sample_weight, len(labels))
        heads = [f"{head} cost:{cost!r}" for head, cost in zip(heads, costs.tolist())]
    return heads
