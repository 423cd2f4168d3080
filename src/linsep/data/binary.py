"""Tables in binary form: npz, Parquet, Arrow."""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import Any

import numpy as np

from linsep.core.words import count
from linsep.data.assemble import Parts
from linsep.data.columns import Column, Source, from_codes
from linsep.data.layout import Choice, Layout, check_integers, find_roles
from linsep.errors import DataError, FormatError


def read_npz(path: str, data: bytes) -> Parts:
    """Read arrays X and y, or a sparse matrix as SciPy saves it with y beside it."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except Exception as error:  # zip, zlib and numpy errors share no base
        raise FormatError(f"{path}: the npz file cannot be read ({error}).") from error
    X: Any
    if "X" in arrays:
        X = arrays["X"]
    elif {"data", "indices", "indptr", "shape"} <= set(arrays):
        from scipy.sparse import csr_array

        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        try:
            X = csr_array(parts, shape=tuple(arrays["shape"].tolist()))
            X.check_format(full_check=True)
        except ValueError as error:
            raise FormatError(f"{path}: the sparse matrix is damaged ({error}).") from error
    else:
        held = ", ".join(sorted(arrays)) or "nothing"
        raise FormatError(f"{path}: no array 'X' but {held}; save with np.savez(path, X=X, y=y).")
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataError(f"{path}: X has shape {X.shape} and type {X.dtype}; give rows of numbers.")
    y = arrays.get("y", np.empty(0))
    if "y" in arrays and y.shape != (X.shape[0],):
        raise DataError(f"{path}: y has shape {y.shape} but X has {count(X.shape[0], 'row')}.")
    names = arrays.get("feature_names")
    titles = None if names is None else tuple(map(str, names.tolist()))
    notes = [] if "y" in arrays else ["there are no labels"]
    return Parts(X, y, titles, None, "y", notes)


def read_arrow(
    path: str, data: bytes, *, target: Choice, names: Choice, features: Collection[str] = ()
) -> tuple[list[Column], Layout, Source]:
    """Read Parquet, Feather or an Arrow file or stream into columns."""
    table = _arrow_table(path, data)
    if table.num_rows == 0:
        raise DataError(f"{path}: the table has no rows.")
    columns = [_column(path, title, table.column(j)) for j, title in enumerate(table.column_names)]
    layout = Layout(path, ",", list(table.column_names), True, None, None, [])
    layout.numeric = [column.numbers is not None for column in columns]
    head = table.slice(0, 1000)
    sample = [tuple(map(_as_text, head.column(j).to_pylist())) for j in range(len(columns))]
    find_roles(layout, sample, layout.names, target=target, names=names, features=features)
    for j, column in enumerate(columns):
        if column.numbers is not None and j not in (layout.target, layout.row_names):
            check_integers(path, column, table.column(j))
    return columns, layout, Source(path)


def _arrow_table(path: str, data: bytes) -> Any:
    import pyarrow as pa

    try:
        if data.startswith(b"PAR1"):
            import pyarrow.parquet

            return pyarrow.parquet.read_table(pa.BufferReader(data))
        if data.startswith(b"ARROW1"):
            return pa.ipc.open_file(pa.BufferReader(data)).read_all()
        if data.startswith(b"FEA1"):
            import pyarrow.feather

            return pyarrow.feather.read_table(pa.BufferReader(data))
        return pa.ipc.open_stream(pa.BufferReader(data)).read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError(f"{path}: the file cannot be read ({error}).") from error


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)


def _column(path: str, name: str, chunked: Any) -> Column:
    import pyarrow as pa

    kind = chunked.type
    if pa.types.is_dictionary(kind):
        chunked = chunked.cast(kind.value_type)
        kind = chunked.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if number and chunked.null_count == 0:
        numbers = chunked.to_numpy().astype(np.float64, copy=False)
        if np.isfinite(numbers).all():
            return Column(name, numbers=numbers)
    if not (number or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(
            f"{path}: column {name!r} holds {kind}, which is neither number nor text; "
            "convert or remove it."
        )
    if number:
        texts = [_as_text(value) for value in chunked.to_pylist()]
        values, codes = np.unique(np.array(texts, dtype=np.str_), return_inverse=True)
        return from_codes(name, codes, values.tolist(), keep_text=False)
    coded = chunked.fill_null("").dictionary_encode().unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in coded.chunks])
    return from_codes(name, codes, coded.chunk(0).dictionary.to_pylist(), keep_text=True)
