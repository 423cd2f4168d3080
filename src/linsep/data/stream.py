"""Tables larger than memory: files of any number and size as a stream of parts."""

from __future__ import annotations

import glob
import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.parts import MEMORY, Block, Part, Runner, Stream, Threads
from linsep.core.sources import boundary, first_bytes
from linsep.core.words import count
from linsep.data.svmlight import looks_like_svmlight, read_svmlight
from linsep.errors import DataError, FormatError, SettingError, require

_TARGETS = ("y", "label", "class", "target")
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma"}
_ARROW, _PARQUET = (b"ARROW1", b"\xff\xff\xff\xff"), b"PAR1"
_TEXT = 1 << 23  # bytes of text that become a block, at most
_PIECE = 1 << 14  # entries that are turned from columns into rows while they are in the cache
_BLOCK = 1 << 22  # bytes of the rows of a block, at most: more are no faster
_PART = 1 << 24  # bytes of a part of a file that has no parts of its own
_BUFFER = 1 << 18  # bytes that are read of a column at a time, not its whole row group
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
        named = [t for t in rest if t.lower() in _TARGETS]
        target = named[0] if named else rest[-1]
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

    with pyarrow.parquet.ParquetFile(path) as file:
        schema, head = file.schema_arrow, file.metadata
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
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _labels(name: str, batch: Any, title: str) -> NDArray[Any]:
    column = batch.column(batch.schema.get_field_index(title))
    if column.null_count:
        at = int(np.flatnonzero(~np.asarray(column.is_valid()))[0])
        raise DataError(f"{name}: the label {title!r} is missing at row {at} of its block.")
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    return values.astype(np.str_) if values.dtype == object else values


def _arrow(path: Path, asked: _Asked) -> _Opened:
    require("pyarrow", extra="arrow", what=f"{path} is an Arrow file, which")
    with _reader(path) as reader:
        target, features = _roles(path, reader.schema.names, asked)
        kind = _kind(path, reader.schema, features)
    return _Opened([_ArrowFile(path, asked, target, features, kind)], tuple(features), None)


def _reader(path: Path) -> Any:
    """The batches of an Arrow file or of a stream of batches, one after the other."""
    import pyarrow as pa

    source = pa.memory_map(str(path))
    if first_bytes(path, 6) == b"ARROW1":
        source.seek(8)  # a file is a stream with a beginning and an end
    return pa.ipc.open_stream(source)


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


def _npy(path: Path, asked: _Asked) -> _Opened:
    table = np.load(path, mmap_mode="r", allow_pickle=False)
    if table.ndim != 2 or table.dtype.kind not in "fiub" or table.shape[1] < 2:
        raise DataError(
            f"{path} holds {table.dtype} of shape {table.shape}; give rows of numbers, the label "
            "among them."
        )
    if asked.columns is not None or asked.weight is not None or isinstance(asked.target, str):
        raise DataError(f"{path} has no names of columns; give the label by its number.")
    size = table.shape[1] * table.itemsize
    rows = max(1024, asked.block // size)
    step = max(1024, _PART // size)
    edges = range(0, len(table), step)
    given = asked.target
    at = None if given is False else -1 if given is None else int(given)
    parts: list[Part] = [
        _Rows(path, asked, lo, min(len(table), lo + step), rows, at, size) for lo in edges
    ]
    return _Opened(parts, None, len(table))


class _Rows(_FilePart):
    """Some rows of an npy file."""

    def __init__(
        self, path: Path, asked: _Asked, lo: int, hi: int, rows: int, target: int | None, size: int
    ) -> None:
        super().__init__(path, asked, (hi - lo) * size)
        self.lo, self.hi, self.rows, self.target = lo, hi, rows, target
        self.name = f"{path}, rows {lo} to {hi - 1}"

    def _blocks(self) -> Iterator[Block]:
        table = np.load(self.path, mmap_mode="r", allow_pickle=False)
        for lo in range(self.lo, self.hi, self.rows):
            piece = np.asarray(table[lo : min(self.hi, lo + self.rows)])
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
    opened: Any = importlib.import_module(packed)
    return opened.open(path, "rb")


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
                    text += file.readline()
                left = left if left < 0 else max(0, left - len(text))
                if text.strip():
                    X, rows, _ = read_svmlight(self.name, text, self.asked.n_features)
                    yield Block(X, rows.labels, rows.costs)


def _csv(path: Path, asked: _Asked, packed: str) -> _Opened:
    require("pyarrow", extra="arrow", what=f"{path} is CSV text; a stream of it")
    with _unpacked(path, packed) as file, _csv_reader(file, asked) as reader:
        target, features = _roles(path, reader.schema.names, asked)
        _kind(path, reader.schema, features)
    return _Opened([_Table(path, asked, packed, target, features)], tuple(features), None)


def _csv_reader(file: Any, asked: _Asked) -> Any:
    import pyarrow as pa
    import pyarrow.csv

    line = file.readline(1 << 20)
    file.seek(0)
    mark = max((b",", b";", b"\t", b"|"), key=line.count).decode()
    return pyarrow.csv.open_csv(
        pa.PythonFile(file, mode="r"),
        read_options=pyarrow.csv.ReadOptions(block_size=min(_TEXT, asked.block), use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(delimiter=mark),
    )


class _Table(_FilePart):
    """CSV text with titles, some lines at a time."""

    def __init__(
        self, path: Path, asked: _Asked, packed: str, target: str | None, features: list[str]
    ) -> None:
        super().__init__(path, asked)
        self.packed, self.target, self.features = packed, target, features

    def _blocks(self) -> Iterator[Block]:
        opened = _unpacked(self.path, self.packed)
        with opened as file, _csv_reader(file, self.asked) as reader:
            for batch in reader:
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
