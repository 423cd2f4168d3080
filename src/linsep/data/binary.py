"""Tables in binary form: npz, Parquet, Arrow."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from linsep.core.boundary import boundary
from linsep.core.schema import from_npz
from linsep.core.sources import budget, too_large
from linsep.core.words import count
from linsep.data.arrow_sizes import buffer_sizes, page_sizes, row_groups
from linsep.data.assemble import Parts
from linsep.data.columns import Column, Source, TextColumnError, from_codes
from linsep.data.layout import Choice, Layout, check_integers, find_roles
from linsep.errors import DataError, FormatError, require

_WAY = "save it again with np.savez(path, X=X, y=y)"
_A_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_SPARSE = {"data": "fiub", "indices": "iu", "indptr": "iu", "shape": "iu"}


def read_npz(path: str, data: bytes) -> Parts:
    """Read arrays X and y, or a sparse matrix as SciPy saves it with y beside it."""
    with boundary(path, FormatError, "the npz file cannot be read", _WAY):
        arrays = from_npz(data, path)
    X: Any
    if "X" in arrays:
        X = arrays["X"]
    elif set(_SPARSE) <= set(arrays):
        X = _sparse(path, arrays)
    else:
        held = ", ".join(sorted(arrays)[:20]) or "nothing"
        raise FormatError(f"{path}: no array 'X' but {held:.200}; {_WAY}.")
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataError(f"{path}: X has shape {X.shape} and type {X.dtype}; give rows of numbers.")
    y = arrays.get("y", np.empty(0))
    if "y" in arrays and y.shape != (X.shape[0],):
        raise DataError(f"{path}: y has shape {y.shape} but X has {count(X.shape[0], 'row')}.")
    if y.dtype.kind not in "biufU" or (y.dtype.kind == "f" and not np.isfinite(y).all()):
        raise DataError(f"{path}: y has type {y.dtype} or holds NaN; give numbers or texts.")
    names = arrays.get("feature_names")
    if names is not None and (names.shape != X.shape[1:] or names.dtype.kind != "U"):
        raise DataError(
            f"{path}: feature_names has shape {names.shape} and type {names.dtype}; give "
            f"{count(X.shape[1], 'text')}."
        )
    titles = None if names is None else tuple(map(str, names.tolist()))
    notes = [] if "y" in arrays else ["there are no labels"]
    return Parts(X, y, titles, None, "y", notes)


def _sparse(path: str, arrays: dict[str, Any]) -> Any:
    """The matrix of a file of SciPy, its parts checked before they are put together."""
    from scipy.sparse import csr_array

    for name, kind in _SPARSE.items():
        if arrays[name].ndim != 1 or arrays[name].dtype.kind not in kind:
            told = f"{arrays[name].dtype} and shape {arrays[name].shape}"
            raise FormatError(f"{path}: the array {name!r} has type {told}; {_WAY}.")
    form = str(arrays.get("format", np.array("csr")).astype(np.str_))
    if form != "csr":
        raise FormatError(f"{path}: the matrix is saved as {form!r:.20}; save X.tocsr().")
    shape = arrays["shape"].tolist()
    fits = len(shape) == 2 and min(shape) >= 0 and max(shape) < 2**31
    if not fits or len(arrays["indptr"]) != shape[0] + 1:
        raise FormatError(f"{path}: the shape {shape!s:.60} is not that of the rows; {_WAY}.")
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    with boundary(path, FormatError, "the sparse matrix is damaged", _WAY):
        X: Any = csr_array(parts, shape=tuple(shape))
        X.check_format(full_check=True)
    return X


def read_arrow(
    path: str,
    data: bytes,
    *,
    target: Choice,
    names: Choice,
    features: Collection[str] = (),
    dates: bool = False,
) -> tuple[list[Column], Layout, Source]:
    """Read Parquet, Feather or an Arrow file or stream into columns; dates as text, if at all."""
    table, notes = _without_bytes(_arrow_table(path, data, dates=dates))
    if table.num_rows == 0:
        raise DataError(f"{path}: the table has no rows.")
    columns = [_column(path, title, table.column(j)) for j, title in enumerate(table.column_names)]
    layout = Layout(
        path, ",", list(table.column_names), header=True, target=None, row_names=None, numeric=[],
        notes=notes,
    )  # fmt: skip
    layout.numeric = [column.numbers is not None for column in columns]
    head = table.slice(0, 1000)
    sample = {j: tuple(map(_as_text, head.column(j).to_pylist())) for j in range(len(columns))}
    find_roles(layout, sample, layout.names, target=target, names=names, features=features)
    for j, column in enumerate(columns):
        if column.numbers is not None and j not in (layout.target, layout.row_names):
            check_integers(path, column, table.column(j))
    return columns, layout, Source(path)


def _arrow_table(path: str, data: bytes, *, dates: bool) -> Any:
    """The table of a file, of types that are known and with every offset and index in range.

    A damaged file may point anywhere: nothing is computed with it before it is validated.
    """
    pa = require("pyarrow", extra="arrow", what=f"{path} is a Parquet or Arrow file, which")
    with boundary(path, FormatError, "the file cannot be read", "write the file again"):
        if data.startswith(b"PAR1"):
            table = _parquet(path, data, dates=dates)
        elif data.startswith(b"ARROW1"):
            table = _ipc(
                path, data[8:], dates=dates
            )  # a file is a stream with a beginning and an end
        elif data.startswith(b"FEA1"):
            import pyarrow.feather

            table = pyarrow.feather.read_table(pa.BufferReader(data))
            _check_types(path, table.schema, dates=dates)
        else:
            table = _ipc(path, data, dates=dates)
        table.validate(full=True)
        _check_repeated(path, table, len(data))
    return table


def _parquet(path: str, data: bytes, *, dates: bool) -> Any:
    """The table, if what its pages and its rows become is within the budget."""
    import pyarrow as pa
    import pyarrow.parquet

    head = pyarrow.parquet.read_metadata(pa.BufferReader(data))
    schema = head.schema.to_arrow_schema()
    _check_types(path, schema, dates=dates)
    groups = row_groups(data)
    chunks = [chunk for group in groups for chunk in group.chunks]
    if len(groups) != head.num_row_groups:
        raise FormatError(f"{path}: its description is damaged; write the file again.")
    pages = sum(size for chunk in chunks for size in page_sizes(data, chunk))
    values = 8 * sum(chunk.values for chunk in chunks)  # a run of equal ones takes no room
    rows = [group.rows for group in groups]
    least = min([*rows, *(chunk.values for chunk in chunks)], default=0)
    if max(pages, values, 8 * sum(rows), 8 * head.num_rows) > budget(len(data)) or least < 0:
        raise FormatError(too_large(path, len(data), budget(len(data))))
    texts = [field.name for field in schema if _is_text(field.type)]
    file = pyarrow.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
    return file.read()


def _ipc(path: str, data: bytes, *, dates: bool) -> Any:
    """All batches of a stream, if what its buffers become is within the budget."""
    import pyarrow as pa

    most = budget(len(data))
    if sum(buffer_sizes(data)) > most:
        raise FormatError(too_large(path, len(data), most))
    reader = pa.ipc.open_stream(pa.BufferReader(data))
    _check_types(path, reader.schema, dates=dates)
    batches, total = [], 0
    for batch in reader:
        batch.validate(full=True)
        total += batch.nbytes
        if total > most:
            raise FormatError(too_large(path, len(data), most))
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _check_repeated(path: str, table: Any, size: int) -> None:
    """Refuse a long text that stands once in a file and in every row of the table."""
    import pyarrow as pa
    import pyarrow.compute

    for column in table.columns:
        kind = column.type
        if pa.types.is_dictionary(kind) and not _is_number(kind.value_type):
            words = [chunk.dictionary for chunk in column.chunks if len(chunk.dictionary)]
            longest = max(
                (pa.compute.max(pa.compute.binary_length(w)).as_py() or 0 for w in words), default=0
            )
            if longest * len(column) > budget(size):
                raise FormatError(too_large(path, size, budget(size)))


def _check_types(path: str, schema: Any, *, dates: bool) -> None:
    """Refuse a column of lists, and for a matrix any that is neither number nor text, unread."""
    from pyarrow import types

    for field in schema:
        if types.is_nested(field.type):
            raise DataError(
                f"{path}: column {field.name!r} holds {field.type}; make columns of it, or write "
                "the file without it."
            )
        if not (dates or _is_number(_inner(field.type)) or _is_text(field.type)):
            raise TextColumnError(
                f"{path}: column {field.name!r} holds {field.type}, which is neither number nor "
                "text; convert or remove it."
            )


def _without_bytes(table: Any) -> tuple[Any, list[str]]:
    """The table with columns of bytes and the like empty, and what is said of them."""
    import pyarrow as pa

    notes = []
    for j, field in enumerate(table.schema):
        kind = _inner(field.type)
        usual = _is_number(kind) or _is_text(kind) or _is_date(kind) or _is_span(kind)
        if not usual:
            if not pa.types.is_null(kind):
                notes.append(f"column {field.name!r} counts as empty: it holds {kind}")
            empty = pa.array([""], type=pa.string()).take(
                pa.array(np.zeros(table.num_rows, dtype=np.int64))
            )
            table = table.set_column(j, field.name, empty)
    return table, notes


def _inner(kind: Any) -> Any:
    """The type of the values of a dictionary; any other type as it is."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    inner = _inner(kind)
    return bool(types.is_string(inner) or types.is_large_string(inner))


def _is_span(kind: Any) -> bool:
    """Whether it is a time of day, or how long something takes."""
    from pyarrow import types

    return bool(types.is_duration(kind) or types.is_time(kind))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    whole = types.is_integer(kind) or types.is_boolean(kind)
    return bool(whole or types.is_floating(kind) or types.is_decimal(kind))


def _is_date(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_date(kind) or types.is_timestamp(kind))


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)


def _iso(chunked: Any) -> Any:
    """Dates as texts of one form, in UTC."""
    import pyarrow as pa

    stamps = chunked.to_pandas() if pa.types.is_timestamp(chunked.type) else None
    if stamps is None:
        return pa.array([None if d is None else d.isoformat() for d in chunked.to_pylist()])
    if stamps.dt.tz is not None:
        stamps = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
    return pa.array(stamps.dt.strftime("%Y-%m-%d %H:%M:%S"), type=pa.string(), from_pandas=True)


def _column(path: str, name: str, chunked: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute

    kind = chunked.type
    if pa.types.is_dictionary(kind):
        chunked = chunked.cast(kind.value_type)
        kind = chunked.type
    if _is_date(kind):
        chunked = pa.chunked_array([_iso(chunked)])
        kind = chunked.type
    if pa.types.is_decimal(kind):
        chunked = chunked.cast(pa.float64())
    if _is_span(kind):  # in seconds
        counts = chunked.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        chunked = pa.compute.divide(counts.cast(pa.float64()), _A_SECOND[kind.unit])
    number = _is_number(chunked.type)
    if number and chunked.null_count == 0:
        numbers = chunked.to_numpy().astype(np.float64, copy=False)
        if np.isfinite(numbers).all():
            return Column(name, numbers=numbers)
    if number:
        texts = [_as_text(value) for value in chunked.to_pylist()]
        values, codes = np.unique(np.array(texts, dtype=np.str_), return_inverse=True)
        return from_codes(name, codes, values.tolist(), keep_text=False)
    coded = chunked.fill_null("").dictionary_encode().unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in coded.chunks])
    return from_codes(name, codes, coded.chunk(0).dictionary.to_pylist(), keep_text=True)
