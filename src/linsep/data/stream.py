"""Tables larger than memory: files of any number and size as a stream of parts."""

from __future__ import annotations

import glob
import importlib
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linsep.core.boundary import boundary
from linsep.core.parts import MEMORY, Block, Part, Runner, Stream, Threads
from linsep.core.sources import budget, first_bytes, too_large
from linsep.core.words import count
from linsep.data.arrow_sizes import FileBytes, buffer_sizes, page_sizes, row_groups
from linsep.data.layout import target_by_name
from linsep.data.svmlight import looks_like_svmlight, read_svmlight
from linsep.errors import DataError, FormatError, SettingError, require

_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma"}
_ARROW, _PARQUET = (b"ARROW1", b"\xff\xff\xff\xff"), b"PAR1"
_TEXT = 1 << 23  # bytes of text that become a block, at most
_PIECE = 1 << 14  # entries that are turned from columns into rows while they are in the cache
_BLOCK = 1 << 21  # bytes of the rows of a block, at most: more are no faster
_PART = 1 << 24  # bytes of a part of a file that has no parts of its own
_LONGEST_LINE = 1 << 26  # bytes of one row of text
_MOST_COLUMNS = 50_000  # of text: pyarrow takes kilobytes each, and ends the process at millions
_BUFFER = 1 << 18  # bytes that are read of a column at a time, not its whole row group
_SMALL = 1 << 22  # bytes of a packed file that is unpacked once before it is read: a bomb is small
_WAY = "the file is damaged, or of another format than its ending says"


def stream(
    source: Any,
    *,
    target: str | int | bool | None = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    memory: int | str | None = None,
    workers: int | None = None,
    client: Any = None,
    patience: float | None = None,
    n_features: int | None = None,
) -> Stream:
    """A table in parts that is read anew for each pass, so that it need not fit into memory.

    Parameters
    ----------
    source : str, path, list of them, or callable
        Files: a name, a pattern such as "data/*.parquet", a folder, or several. Parquet, Arrow,
        npy, CSV and svmlight; text may be packed. Or a function that gives a fresh iterator of
        (X, y) or (X, y, sample_weight) each time it is called.
    target : str, int or False, optional
        The column of the labels. By default one called y, label, class or target, else the last.
        False: there are none, as for predictions.
    columns : list of str, optional
        The columns to use; by default all but those of labels and weights.
    weight : str, optional
        The column of the weights of the rows.
    memory : int or str, optional
        Bytes that the rows being read may take, such as "1GB"; by default 256 MB.
    workers : int, optional
        Threads that read; by default one for each core. The result does not depend on it.
    client : dask.distributed.Client, optional
        Workers of a cluster read the parts. By default the active client, if there is one.
    patience : float, optional
        Seconds without any worker after which a cluster counts as lost; by default 60.
    n_features : int, optional
        Columns of svmlight text, where the last ones may be absent from all files.

    Returns
    -------
    Stream
        Takes the place of X and y in ``fit``, ``score``, ``linsep.certify`` and
        ``linsep.separability``.

    Examples
    --------
    >>> import numpy as np, linsep
    >>> def rows():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).normal(size=(1000, 2))
    ...         yield X, X[:, 0] > 0.1
    >>> data = linsep.data.stream(rows)
    >>> data
    Stream('rows', 1 part)
    >>> model = linsep.LinearSVM(tol=1e-3).fit(data)
    >>> model.certificate_.relative_gap < 1e-3, data
    (True, Stream('rows', 1 part, 3000 rows))
    """
    limit = memory_of(memory)
    asked = _Asked(target, columns, weight, max(1 << 20, min(_BLOCK, limit // 32)), n_features)
    names: tuple[str, ...] | None = None
    rows: int | None = None
    if callable(source):
        name = getattr(source, "__name__", "rows")
        parts: list[Part] = [_Made(source, name)]
    else:
        paths = _paths(source)
        name = str(source) if isinstance(source, str | Path) else f"{count(len(paths), 'file')}"
        found = [_opened(path, asked) for path in paths]
        parts = [part for one in found for part in one.parts]
        names, rows = _agreed(paths, found)
    return Stream(
        parts,
        name=name,
        feature_names=names,
        rows=rows,
        runner=_runner(workers, client, patience),
        memory=limit,
        labelled=target is not False,
    )


def memory_of(asked: int | str | None) -> int:
    """Bytes; "1GB", "500 MB" and the like are understood.

    >>> memory_of("1.5GB"), memory_of(None)
    (1500000000, 256000000)
    """
    if asked is None:
        return MEMORY
    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    text = str(asked).strip().upper()
    digits = text.rstrip("KMGTB ")
    try:
        size = int(float(digits) * units[text[len(digits) :].strip()])
    except (KeyError, ValueError, OverflowError):
        raise SettingError(
            f"memory={asked!r} is no size; give bytes, or text as '1GB'.",
            options={f"memory={asked!r}": f"--memory {asked}", "text as '1GB'": "a size as 1GB"},
        ) from None
    if size < 8_000_000:
        raise SettingError(
            f"memory={asked!r} is less than 8 MB, too little to read rows with.",
            options={f"memory={asked!r}": f"--memory {asked}"},
        )
    return size


def _runner(workers: int | None, client: Any, patience: float | None) -> Runner:
    if client is None and workers is None:
        from linsep.core.cluster import active_client

        client = active_client()
    if client is not None:
        from linsep.core.cluster import PATIENCE, Cluster

        return Cluster(client, patience=PATIENCE if patience is None else patience)
    return Threads(workers)


# -- files ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """What a caller wants of files."""

    target: str | int | bool | None
    columns: Sequence[str] | None
    weight: str | None
    block: int
    """Bytes of the rows of a block, about."""
    n_features: int | None


@dataclass(frozen=True)
class _Opened:
    """A file as parts, with what its head tells."""

    parts: list[Part]
    names: tuple[str, ...] | None
    rows: int | None


def _paths(source: Any) -> list[Path]:
    """All files that a caller names, in the order of their names."""
    many = [source] if isinstance(source, str | os.PathLike) else list(source)
    found: list[Path] = []
    for one in many:
        if not isinstance(one, str | os.PathLike):
            raise SettingError(f"{one!r} is neither the name of a file nor a function.")
        path = Path(one).expanduser()
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.is_file() and p.name[0] not in "._")
            if not inside:
                raise DataError(f"{path} is a folder without files.")
            found += inside
        elif glob.has_magic(str(path)) and not path.exists():
            matched = sorted(glob.glob(str(path), recursive=True))
            if not matched:
                raise DataError(f"no file is called {str(one)!r}.")
            found += map(Path, matched)
        elif not path.exists():
            raise DataError(f"{path}: there is no such file.")
        else:
            found.append(path)
    return found


def _opened(path: Path, asked: _Asked) -> _Opened:
    """What a file is, by its first bytes; text is told by its content and its ending."""
    if not path.is_file():  # a pipe has one pass, and perhaps nobody who writes into it
        raise DataError(
            f"{path} is no file, and a stream is read again for each pass; write the rows into a "
            "file first."
        )
    head = first_bytes(path, 1 << 16)
    with boundary(path, FormatError, "it cannot be read", _WAY):
        if head.startswith(_PARQUET):
            return _parquet(path, asked)
        if head.startswith(_ARROW):
            return _arrow(path, asked)
        if head.startswith(b"\x93NUMPY"):
            return _npy(path, asked)
        if head.startswith(b"PK\x03\x04"):
            return _Opened([_WholeFile(path, asked)], None, None)
        ending = {s for s in path.suffixes if s not in (".gz", ".bz2", ".xz")}
        packed = _packing(head)
        with _unpacked(path, packed) as file:
            text = file.read(1 << 16)
            if packed and path.stat().st_size < _SMALL:
                while file.read(_BUFFER):  # beyond its budget it is refused here
                    pass
        svmlight = ending & {".svm", ".libsvm", ".svmlight"}
        if svmlight or (not ending & {".csv", ".tsv"} and looks_like_svmlight(text)):
            return _svmlight(path, asked, packed)
        return _csv(path, asked, packed)


def _agreed(paths: list[Path], found: list[_Opened]) -> tuple[tuple[str, ...] | None, int | None]:
    """Names of the columns, which must be the same in all files, and the number of rows."""
    names = found[0].names
    for path, one in zip(paths, found):
        if one.names != names:
            ours, theirs = set(names or ()), set(one.names or ())
            more = ", ".join(sorted(ours ^ theirs)[:5]) or "their order"
            raise DataError(
                f"{path} has other columns than {paths[0]} ({more} differ); name those that all "
                "files have with columns=.",
                options={
                    "name those that all files have with columns=": "give files with the same ones"
                },
            )
    rows = [one.rows for one in found]
    return names, None if None in rows else sum(n for n in rows if n is not None)


def _roles(path: Path, titles: list[str], asked: _Asked) -> tuple[str | None, list[str]]:
    """The title of the labels, None if there are none, and those of the features."""
    target = None if isinstance(asked.target, bool) else asked.target
    if isinstance(target, int):
        if not -len(titles) <= target < len(titles):
            raise DataError(f"{path} has {count(len(titles), 'column')}, and none {target}.")
        target = titles[target]
    if target is None and asked.target is not False:
        rest = [t for t in titles if t != asked.weight]
        target = target_by_name(rest) or rest[-1]
    wanted = asked.columns
    for name in (target, asked.weight, *(wanted or ())):
        if name is not None and name not in titles:
            shown = ", ".join(titles[:12])
            raise DataError(f"{path} has no column {name!r}; there are {shown}.")
    features = [
        title
        for title in (titles if wanted is None else wanted)
        if title not in (target, asked.weight)
    ]
    if not features:
        raise DataError(f"{path} has no columns beside that of the labels, {target!r}.")
    return target, features


class _FilePart(Part):
    """A part of a file."""

    def __init__(self, path: Path, asked: _Asked, size: int | None = None) -> None:
        self.path, self.asked, self.name = path, asked, str(path)
        self.size = path.stat().st_size if size is None else size

    def stamp(self) -> object:
        """Size and time of change of the file; 0 where it is not there any more."""
        try:
            found = self.path.stat()
        except OSError:
            return 0
        return found.st_size, found.st_mtime_ns

    def blocks(self) -> Iterator[Block]:
        """With every error told as one of this part."""
        try:
            with boundary(self.name, FormatError, "it cannot be read", _WAY):
                yield from self._blocks()
        except FileNotFoundError:
            raise DataError(f"{self.path} is not there any more.") from None

    def _blocks(self) -> Iterator[Block]:
        raise NotImplementedError


# -- Parquet and Arrow ----------------------------------------------------------------------------


def _parquet(path: Path, asked: _Asked) -> _Opened:
    require("pyarrow", extra="arrow", what=f"{path} is a Parquet file, which")
    import pyarrow.parquet

    described = _groups(path)
    with pyarrow.parquet.ParquetFile(path) as file:
        schema, head = file.schema_arrow, file.metadata
        if [head.row_group(k).num_rows for k in range(head.num_row_groups)] != described:
            raise ValueError("its description is damaged")
        target, features = _roles(path, schema.names, asked)
        kind = _kind(path, schema, features)
        size = path.stat().st_size / max(1, head.num_rows)
        parts: list[Part] = [
            _RowGroup(
                path, asked, group, target, features, kind,
                int(size * head.row_group(group).num_rows),
            )
            for group in range(head.num_row_groups)
        ]  # fmt: skip
        return _Opened(parts, tuple(features), head.num_rows)


def _groups(path: Path) -> list[int]:
    """Rows of each row group, if what they become is within the budget of the file."""
    with path.open("rb") as file:
        data = FileBytes(file)
        groups, most = row_groups(data), budget(len(data))
        chunks = [chunk for group in groups for chunk in group.chunks]
        pages = sum(size for chunk in chunks for size in page_sizes(data, chunk))
    rows = [group.rows for group in groups]
    values = 8 * sum(chunk.values for chunk in chunks)  # a run of equal ones takes no room
    if min([*rows, *(chunk.values for chunk in chunks)], default=0) < 0:
        raise ValueError("a part of less than no rows")
    if max(pages, values, 8 * sum(rows)) > most:
        raise FormatError(too_large(path, len(data), most))
    return rows


class _RowGroup(_FilePart):
    """A row group of a Parquet file, some rows at a time."""

    def __init__(
        self, path: Path, asked: _Asked, group: int, target: str | None, features: list[str],
        kind: str, size: int,
    ) -> None:  # fmt: skip
        super().__init__(path, asked, size)
        self.group, self.target, self.features, self.kind = group, target, features, kind
        self.name = f"{path}, row group {group}"

    def _blocks(self) -> Iterator[Block]:
        import pyarrow as pa
        import pyarrow.parquet

        others = (self.target, self.asked.weight)
        wanted = [*self.features, *(name for name in others if name is not None)]
        size = len(self.features) * np.dtype(self.kind).itemsize
        rows = max(1024, self.asked.block // size)
        with pyarrow.parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=_BUFFER) as file:
            batches = file.iter_batches(
                rows, row_groups=[self.group], columns=wanted, use_threads=False
            )
            for batch in batches:
                yield _block(self.name, batch, self.features, self.target, self.asked, self.kind)
        pa.default_memory_pool().release_unused()  # else it keeps what its largest part took


def _kind(path: Path, schema: Any, features: list[str]) -> str:
    """float32 if that holds all columns exactly, else float64; text and dates are refused."""
    from pyarrow import types

    wide = False
    for name in features:
        kind = schema.field(name).type
        number = types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)
        if not number:
            raise DataError(
                f"{path}: column {name!r} holds {kind}, and a stream takes numbers; leave it out "
                "with columns=, or make numbers of it first.",
                options={"with columns=": f"with --drop {name}"},
            )
        wide |= not types.is_boolean(kind) and kind.bit_width > (
            32 if types.is_floating(kind) else 16
        )
    return "float64" if wide else "float32"


def _block(
    name: str, batch: Any, features: list[str], target: str | None, asked: _Asked, kind: str
) -> Block:
    """Columns of Arrow as rows."""
    X = np.empty((batch.num_rows, len(features)), kind)
    columns = [_numbers(name, batch, title) for title in features]
    step = max(64, _PIECE // max(1, len(columns)))
    for lo in range(0, len(X), step):
        for j, column in enumerate(columns):
            X[lo : lo + step, j] = column[lo : lo + step]
    y = None if target is None else _labels(name, batch, target)
    weight = _numbers(name, batch, asked.weight) if asked.weight else None
    return Block(X, y, weight)


def _numbers(name: str, batch: Any, title: str) -> NDArray[Any]:
    column = batch.column(batch.schema.get_field_index(title))
    if column.null_count:
        at = int(np.flatnonzero(~np.asarray(column.is_valid()))[0])
        raise DataError(
            f"{name}: column {title!r} has no value at row {at} of its block; impute or drop these "
            "rows first."
        )
    return _plain(column)


def _plain(column: Any) -> NDArray[Any]:
    """A column without missing values as an array; of numbers a view.

    What pyarrow itself makes of one loads pandas first, which takes 40 MB of every worker.
    """
    from pyarrow import types

    kind = column.type
    if not len(column) or not (types.is_integer(kind) or types.is_floating(kind)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    dtype = np.dtype(kind.to_pandas_dtype())
    start = column.offset * dtype.itemsize
    return np.frombuffer(column.buffers()[1], dtype, len(column), start)


def _labels(name: str, batch: Any, title: str) -> NDArray[Any]:
    column = batch.column(batch.schema.get_field_index(title))
    if column.null_count:
        at = int(np.flatnonzero(~np.asarray(column.is_valid()))[0])
        raise DataError(f"{name}: the label {title!r} is missing at row {at} of its block.")
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    values = _plain(column)
    return values.astype(np.str_) if values.dtype == object else values


def _arrow(path: Path, asked: _Asked) -> _Opened:
    require("pyarrow", extra="arrow", what=f"{path} is an Arrow file, which")
    with path.open("rb") as file:
        data = FileBytes(file, _arrow_begin(path))
        if sum(buffer_sizes(data)) > budget(len(data)):
            raise FormatError(too_large(path, len(data), budget(len(data))))
    with _reader(path) as reader:
        target, features = _roles(path, reader.schema.names, asked)
        kind = _kind(path, reader.schema, features)
    return _Opened([_ArrowFile(path, asked, target, features, kind)], tuple(features), None)


def _reader(path: Path) -> Any:
    """The batches of an Arrow file or of a stream of batches, one after the other.

    They are read and not mapped: a file that is cut short while it is mapped ends the process.
    """
    import pyarrow as pa

    source = pa.OSFile(str(path))
    source.seek(_arrow_begin(path))
    return pa.ipc.open_stream(source)


def _arrow_begin(path: Path) -> int:
    """Where the messages begin: a file is a stream with a beginning and an end."""
    return 8 if first_bytes(path, 6) == b"ARROW1" else 0


class _ArrowFile(_FilePart):
    """An Arrow file, batch by batch."""

    def __init__(
        self, path: Path, asked: _Asked, target: str | None, features: list[str], kind: str
    ) -> None:
        super().__init__(path, asked)
        self.target, self.features, self.kind = target, features, kind

    def _blocks(self) -> Iterator[Block]:
        size = len(self.features) * np.dtype(self.kind).itemsize
        rows = max(1024, self.asked.block // size)
        with _reader(self.path) as reader:
            for batch in reader:
                batch.validate(full=True)
                for lo in range(0, batch.num_rows, rows):
                    piece = batch.slice(lo, rows)
                    yield _block(
                        self.name, piece, self.features, self.target, self.asked, self.kind
                    )


# -- arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Array:
    """Where the numbers of an npy file lie; they are read, for a mapped file that is cut short
    ends the process."""

    shape: tuple[int, ...]
    columnwise: bool
    dtype: np.dtype[Any]
    begin: int

    @classmethod
    def of(cls, path: Path) -> _Array:
        """What the head of the file says."""
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0
            head = read(file) if version == (1, 0) else np.lib.format.read_array_header_2_0(file)
            found = cls(*head, file.tell())
            if found.dtype.hasobject or min(found.shape, default=0) < 0:
                raise ValueError(f"{found.dtype} of shape {found.shape}")
            found.check(file)
        return found

    def check(self, file: BinaryIO) -> None:
        """Refuse a file that is shorter than its numbers."""
        wanted = self.begin + math.prod(self.shape) * self.dtype.itemsize
        there = os.fstat(file.fileno()).st_size
        if there < wanted:
            raise ValueError(f"{there} bytes, and {wanted} by its head: it is cut short")

    def rows(self, file: BinaryIO, lo: int, hi: int) -> NDArray[Any]:
        """Rows lo to hi."""
        n, d = self.shape
        if not self.columnwise:
            return self._some(file, lo * d, (hi - lo) * d).reshape(-1, d)
        return np.column_stack([self._some(file, j * n + lo, hi - lo) for j in range(d)])

    def _some(self, file: BinaryIO, at: int, size: int) -> NDArray[Any]:
        file.seek(self.begin + at * self.dtype.itemsize)
        out = np.empty(size, self.dtype)
        read = file.readinto(out.data.cast("B"))  # type: ignore[attr-defined]
        if read != out.nbytes:
            raise ValueError("it was cut short while it was read")
        return out


def _npy(path: Path, asked: _Asked) -> _Opened:
    table = _Array.of(path)
    if len(table.shape) != 2 or table.dtype.kind not in "fiub" or table.shape[1] < 2:
        raise DataError(
            f"{path} holds {table.dtype} of shape {table.shape}; give rows of numbers, the label "
            "among them."
        )
    if asked.columns is not None or asked.weight is not None or isinstance(asked.target, str):
        raise DataError(f"{path} has no names of columns; give the label by its number.")
    n, d = table.shape
    size = d * table.dtype.itemsize
    rows = max(1024, asked.block // size)
    step = max(1024, _PART // size)
    given = asked.target
    at = None if given is False else -1 if given is None else int(given)
    if at is not None and not -d <= at < d:
        raise DataError(f"{path} has {count(d, 'column')}, and none {at}.")
    parts: list[Part] = [
        _Rows(path, asked, lo, min(n, lo + step), rows, at, size) for lo in range(0, n, step)
    ]
    return _Opened(parts, None, n)


class _Rows(_FilePart):
    """Some rows of an npy file."""

    def __init__(
        self, path: Path, asked: _Asked, lo: int, hi: int, rows: int, target: int | None, size: int
    ) -> None:
        super().__init__(path, asked, (hi - lo) * size)
        self.lo, self.hi, self.rows, self.target = lo, hi, rows, target
        self.name = f"{path}, rows {lo} to {hi - 1}"

    def _blocks(self) -> Iterator[Block]:
        table = _Array.of(self.path)
        with self.path.open("rb", buffering=0) as file:
            for lo in range(self.lo, self.hi, self.rows):
                piece = table.rows(file, lo, min(self.hi, lo + self.rows))
                if self.target is None:
                    yield Block(piece)
                else:
                    yield Block(np.delete(piece, self.target, axis=1), piece[:, self.target])


class _WholeFile(_FilePart):
    """A file of a format that is read whole: npz."""

    def _blocks(self) -> Iterator[Block]:
        from linsep.data.binary import read_npz

        found = read_npz(str(self.path), self.path.read_bytes())
        yield Block(found.X, found.y if found.y.size else None)


# -- text -----------------------------------------------------------------------------------------


def _packing(head: bytes) -> str:
    return next((module for magic, module in _PACKED.items() if head.startswith(magic)), "")


def _unpacked(path: Path, packed: str) -> Any:
    if not packed:
        return path.open("rb")
    return io.BufferedReader(_Unpacking(path, packed), _BUFFER)


class _Unpacking(io.RawIOBase):
    """What a packed file becomes, up to its budget: a small one must not be read for hours."""

    def __init__(self, path: Path, packed: str) -> None:
        opened: Any = importlib.import_module(packed)
        self._path, self._file, self._read = path, opened.open(path, "rb"), 0
        self._size = path.stat().st_size
        self._most = budget(self._size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        if (place, whence) == (0, os.SEEK_SET):
            self._read = 0
        return int(self._file.seek(place, whence))

    def readinto(self, room: Any) -> int:
        text: bytes = self._file.read(len(room))
        self._read += len(text)
        if self._read > self._most:
            raise FormatError(too_large(self._path, self._size, self._most))
        room[: len(text)] = text
        return len(text)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _svmlight(path: Path, asked: _Asked, packed: str) -> _Opened:
    """Ranges of bytes of a plain file, one part of a packed one."""
    size = path.stat().st_size
    step = size if packed else min(size, _PART)
    edges = range(0, max(size, 1), max(step, 1))
    parts: list[Part] = [_Lines(path, asked, lo, lo + step, packed) for lo in edges]
    return _Opened(parts, None, None)


class _Lines(_FilePart):
    """The lines of svmlight text that begin in a range of bytes."""

    def __init__(self, path: Path, asked: _Asked, lo: int, hi: int, packed: str) -> None:
        whole = path.stat().st_size
        super().__init__(path, asked, whole if packed else min(hi, whole) - lo)
        self.lo, self.hi, self.packed = lo, hi, packed
        self.name = str(path) if packed else f"{path}, bytes from {lo}"

    def _blocks(self) -> Iterator[Block]:
        size = min(_TEXT, self.asked.block)
        with _unpacked(self.path, self.packed) as file:
            left = -1
            if not self.packed:
                left = self.hi - self.lo
                if self.lo:
                    file.seek(self.lo - 1)
                    left -= len(file.readline()) - 1  # a line belongs to where it begins
            while left:
                text = file.read(size if left < 0 else min(size, left))
                if not text:
                    return
                if not text.endswith(b"\n"):
                    text += _end_of_line(file)
                left = left if left < 0 else max(0, left - len(text))
                if text.strip():
                    X, rows, _ = read_svmlight(self.name, text, self.asked.n_features)
                    yield Block(X, rows.labels, rows.costs)


def _end_of_line(file: BinaryIO) -> bytes:
    text = file.readline(_LONGEST_LINE + 1)
    if len(text) > _LONGEST_LINE:
        raise ValueError(f"a line of more than {_LONGEST_LINE} bytes")
    return text


def _csv(path: Path, asked: _Asked, packed: str) -> _Opened:
    """Ranges of bytes of a plain file, one part of a packed one."""
    require("pyarrow", extra="arrow", what=f"{path} is CSV text; a stream of it")
    with _unpacked(path, packed) as file:
        first = next(_csv_batches(path, file, asked), None)
        if first is None:
            raise FormatError(f"{path}:1:1: the file is empty; a row a line is needed.")
        head, schema = first[0], first[1].schema
        target, features = _roles(path, schema.names, asked)
        _kind(path, schema, features)
        file.seek(0)
        line = file.readline(_LONGEST_LINE)
    edges = range(len(line), path.stat().st_size, _PART)
    if packed or len(edges) < 2 or not (line.endswith(b"\n") and line.strip()):
        whole: list[Part] = [_Table(path, asked, packed, target, features)]
        return _Opened(whole, tuple(features), None)
    cut = [_Lot(head, len(line), lo, lo + _PART) for lo in edges]
    parts: list[Part] = [_Table(path, asked, packed, target, features, lot) for lot in cut]
    return _Opened(parts, tuple(features), None)


@dataclass(frozen=True)
class _Head:
    """What the first lines of CSV text tell of all others."""

    mark: str
    titles: list[str]
    types: dict[str, Any]


@dataclass(frozen=True)
class _Lot:
    """The lines that begin in a range of bytes, below the titles, which end at ``below``."""

    head: _Head
    below: int
    lo: int
    hi: int

    def file(self, file: BinaryIO) -> _Within:
        """As a file of their own: a line belongs to where it begins."""
        left = self.hi - self.lo
        file.seek(self.lo)
        if self.lo > self.below:
            file.seek(self.lo - 1)
            left -= len(_end_of_line(file)) - 1
        return _Within(file, left)


class _Within:
    """So many bytes of a file, and the rest of the last line."""

    def __init__(self, file: BinaryIO, left: int) -> None:
        self.inner, self.left = file, left

    def read(self, size: int) -> bytes:
        """Up to so many bytes; more where they end in a line."""
        if self.left <= 0:
            return b""
        text = self.inner.read(min(size, self.left))
        self.left -= len(text) if text else self.left
        if not self.left and text and not text.endswith(b"\n"):
            text += _end_of_line(self.inner)
        return text


def _csv_batches(
    path: Path, file: BinaryIO | _Within, asked: _Asked, head: _Head | None = None
) -> Iterator[tuple[_Head, Any]]:
    """Columns of some lines at a time, of the types that the first of them have.

    Each piece is handed to pyarrow whole. Its own reader of streams reads ahead in a thread that
    calls Python, and ends the process if Python has ended before it.
    """
    import pyarrow as pa
    import pyarrow.csv

    for piece in _lines(file, min(_TEXT, asked.block)):
        mark = "," if head is None else head.mark
        if head is None:
            line = piece[: piece.find(b"\n") + 1] or piece
            mark = max((b",", b";", b"\t", b"|"), key=line.count).decode()
            if line.count(mark.encode()) >= _MOST_COLUMNS:
                raise FormatError(
                    f"{path}:1: more than {_MOST_COLUMNS} columns; as a stream of text no more are "
                    "read. linsep.data.read reads them as a matrix of numbers, and streams of npy "
                    "or svmlight may have more."
                )
        table = pyarrow.csv.read_csv(
            pa.BufferReader(piece),
            read_options=pyarrow.csv.ReadOptions(
                block_size=len(piece) + 1, use_threads=False,
                column_names=None if head is None else head.titles,
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=mark),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=None if head is None else head.types
            ),
        )  # fmt: skip
        if head is None:
            titles = table.schema.names
            target, _ = _roles(path, titles, asked)
            types = {
                field.name: field.type if field.name == target else _widened(field.type)
                for field in table.schema
            }
            head = _Head(mark, titles, types)
        for batch in table.combine_chunks().to_batches() or [
            pa.RecordBatch.from_pylist([], schema=table.schema)
        ]:
            yield head, batch


def _widened(kind: Any) -> Any:
    """The type of a column in later lines: numbers may have digits behind the point there."""
    import pyarrow as pa

    return pa.float64() if pa.types.is_integer(kind) or pa.types.is_null(kind) else kind


def _lines(file: BinaryIO | _Within, size: int) -> Iterator[bytes]:
    """The bytes of a text in pieces of whole lines."""
    rest = b""
    while text := file.read(size):
        rest += text
        cut = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
        elif len(rest) > _LONGEST_LINE:
            raise ValueError(f"a line of more than {_LONGEST_LINE} bytes")
    if rest.strip():
        yield rest


class _Table(_FilePart):
    """CSV text with titles, some lines at a time; all of it, or a lot of lines."""

    def __init__(
        self, path: Path, asked: _Asked, packed: str, target: str | None, features: list[str],
        lot: _Lot | None = None,
    ) -> None:  # fmt: skip
        size = path.stat().st_size
        super().__init__(path, asked, size if lot is None else min(lot.hi, size) - lot.lo)
        self.packed, self.target, self.features, self.lot = packed, target, features, lot
        self.name = str(path) if lot is None else f"{path}, bytes from {lot.lo}"

    def _blocks(self) -> Iterator[Block]:
        lot = self.lot
        with _unpacked(self.path, self.packed) as file:
            source = file if lot is None else lot.file(file)
            head = None if lot is None else lot.head
            for _, batch in _csv_batches(self.path, source, self.asked, head):
                yield _block(self.name, batch, self.features, self.target, self.asked, "float64")


# -- functions ------------------------------------------------------------------------------------


class _Made(Part):
    """What a function of the caller's gives, anew for each pass."""

    def __init__(self, make: Callable[[], Iterable[Any]], name: str) -> None:
        self.make, self.name = make, name

    def blocks(self) -> Iterator[Block]:
        """Each item of the iterator."""
        for at, item in enumerate(self.make()):
            if not isinstance(item, tuple | list) or not 2 <= len(item) <= 3:
                raise DataError(
                    f"{self.name}() gave {type(item).__name__} as item {at}; give (X, y) or "
                    "(X, y, sample_weight)."
                )
            yield Block(*item)
