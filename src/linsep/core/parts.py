"""A table in parts that need not fit into memory: it is read anew for each pass.

A pass gives every block of rows to a task and adds what comes back: within a part in the order
of its blocks, then part by part. So a sum has the same bits for any number of threads or
workers, and after a worker has died and its part was read by another one.
"""

from __future__ import annotations

import copy
import hashlib
import threading
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import cores, enter_worker, one_blas_thread
from linsep.core.limits import clock, tick
from linsep.core.validate import as_matrix, as_weights, plain_labels, require_finite
from linsep.core.words import count
from linsep.errors import DataError, LabelError

MEMORY = 256_000_000
"""Bytes that the rows of a stream may take at a time where nothing else is said."""

_ASK = 0.1  # seconds between two looks at limits and signals while a part is read


class Block(NamedTuple):
    """Some rows as they are read; y is None where there are no labels, weight for ones."""

    X: Any
    y: Any = None
    weight: Any = None
    given: Any = None
    """The block as its part has given it, for those who hold what was made of it against it."""


class Part(ABC):
    """A piece of a table that can be read again: a row group, a range of bytes, a chunk."""

    name: str
    """As messages call it."""
    number: int = 0
    """Its place among the parts of a stream."""
    size: int | None = None
    """Its bytes where it is stored; None where that is not known."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Its rows from the first to the last, some at a time."""

    def stamp(self) -> object:
        """What tells without reading it that it is another one than before."""
        return None


class Place(NamedTuple):
    """Where a block stands: the name and number of its part, and of its first row there."""

    part: str
    number: int
    first: int


class Summed(Protocol):
    """What a pass adds up."""

    def plus(self, other: Self, /) -> Self: ...


T = TypeVar("T", bound=Summed)
C = TypeVar("C", bound="Carried")
Task = Callable[[Block, Place], T | None]
"""What a block comes to; None of one whose rows take no part."""


class Carried(Protocol):
    """What a pass in turn carries from block to block."""

    @property
    def done(self) -> bool:
        """Whether the rest need not be read."""


class _Turn(Generic[C]):
    """A task that goes on, in every block of a part, from what the one before came to."""

    def __init__(self, step: Callable[[Block, Place, C], C], carry: C) -> None:
        self.step, self.begin, self.carry = step, carry, carry

    def __call__(self, block: Block, place: Place) -> _Latest[C]:
        if place.first == 0:  # also of a part that is read again, after its worker has died
            self.carry = copy.deepcopy(self.begin)
        if not self.carry.done:
            self.carry = self.step(block, place, self.carry)
        return _Latest(self.carry)


class _Latest(NamedTuple, Generic[C]):
    """A sum of which the last one counts."""

    carry: C

    def plus(self, other: Self, /) -> Self:
        return other


class Found(NamedTuple, Generic[T]):
    """What a part has come to; no total where it has no rows."""

    total: T | None
    rows: int
    mark: int
    """Of the bytes that were read: they must be the same in every pass."""


class Reading(NamedTuple):
    """How far a pass has come."""

    number: int
    """Of the pass, from 1."""
    rows: int
    of_rows: int | None
    size: int | None
    """Bytes of all parts; None where that is not known."""
    seconds: float
    """Since the pass began."""
    done: bool
    words: str
    """What the pass is for."""

    @property
    def share(self) -> float | None:
        """Of the rows that are read, where their number is known."""
        return None if not self.of_rows else min(1.0, self.rows / self.of_rows)


class Runner(Protocol):
    """Who reads the parts."""

    words: str

    def each(
        self, parts: Sequence[Part], task: Task[T], read: Callable[[int], None]
    ) -> Iterator[Found[T] | None]:
        """What each part comes to, in their order; None now and then while there is nothing.

        ``read`` is told of rows as they are read.
        """


def run_part(
    part: Part, task: Task[T], go_on: Callable[[int], bool] = lambda rows: True
) -> Found[T]:
    """One part, from its first block to its last, or to where the pass is given up.

    ``go_on`` is told the rows of each block, and says whether the pass is still wanted.
    """
    total: T | None = None
    rows, mark = 0, _Mark()
    for raw in part.blocks():
        block = checked(raw, Place(part.name, part.number, rows))._replace(given=raw)
        n = block.X.shape[0]
        if not n:
            continue
        mark.add(block)
        with np.errstate(all="ignore"):
            found = task(block, Place(part.name, part.number, rows))
        if found is not None:
            total = found if total is None else total.plus(found)
        rows += n
        if not go_on(n):
            break
    return Found(total, rows, mark.total())


def checked(block: Block, place: Place) -> Block:
    """Rows of numbers, labels and weights of their length; what is wrong is told by its place."""
    X = block.X
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0:
        return Block(np.zeros((0, shape[1])))
    try:
        X = as_matrix(X)
        n = X.shape[0]
        y = None if block.y is None else np.asarray(plain_labels(block.y))
        if y is not None and y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y is not None and y.shape != (n,):
            raise LabelError(f"y has shape {y.shape} but X has {count(n, 'row')}")
        weight = None if block.weight is None else as_weights(block.weight, n)
    except (DataError, LabelError) as error:
        where = f"{place.part}, from row {place.first}"
        raise type(error)(f"{where}: {str(error).rstrip('.')}.") from None
    return Block(X, y, weight)


def refuse_no_label(block: Block, place: Place) -> None:
    """The first row whose label is missing: no class can be told from NaN."""
    y = block.y
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        at = int(np.flatnonzero(~np.isfinite(y))[0])
        raise LabelError(f"{place.part}, row {place.first + at}: there is no label ({y[at]}).")
    if y.dtype == object:
        for at, label in enumerate(y.tolist()):
            if label is None or label != label:
                raise LabelError(f"{place.part}, row {place.first + at}: there is no label.")


def refuse_not_finite(block: Block, place: Place, names: Sequence[str] | None) -> None:
    """The first NaN or infinity of a block, by part, row and column."""
    try:
        require_finite(block.X, None if names is None else list(names))
    except DataError as error:
        told = str(error)
        raise DataError(f"{place.part}, rows counted from {place.first}: {told}") from None


class _Mark:
    """Of all bytes of a part; it does not depend on how they were cut into blocks."""

    def __init__(self) -> None:
        self._sums: dict[str, int] = {}

    def add(self, block: Block) -> None:
        """The bytes of a block."""
        X, y = block.X, block.y
        if isinstance(X, np.ndarray):
            self._add("X", X)
        else:
            self._add("X", X.data)
            self._add("columns", X.indices)
            self._add("rows", np.diff(X.indptr))
        if block.weight is not None:
            self._add("weight", block.weight)
        if y is not None:
            letters = y.dtype.kind not in "biuf"  # words, dates: not all have bytes to look at
            text = f"{y.tolist()!r}"[1:-1] + ", " if letters else ""
            self._add("y", np.frombuffer(text.encode(), np.uint8) if letters else y)

    def _add(self, name: str, values: NDArray[Any]) -> None:
        data = np.ascontiguousarray(values).data.cast("B")
        self._sums[name] = zlib.adler32(data, self._sums.get(name, 1))

    def total(self) -> int:
        """One number for all of them; 0 of no rows."""
        return zlib.adler32(repr(self._sums).encode()) if self._sums else 0


class Threads:
    """Parts read by threads of this process, a few ahead of the sum."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = cores() if workers is None else max(1, workers)
        self.words = f"this machine, {count(self.workers, 'thread')}"

    def each(
        self, parts: Sequence[Part], task: Task[T], read: Callable[[int], None]
    ) -> Iterator[Found[T] | None]:
        """In the order of the parts; those ahead are given up with the pass."""
        waiting: deque[Future[Found[T]]] = deque()
        rest, end = iter(parts), threading.Event()

        def go_on(rows: int) -> bool:
            read(rows)
            return not end.is_set()

        pool = ThreadPoolExecutor(self.workers, "linsep-part", enter_worker)
        try:
            with one_blas_thread():  # a part is the work of one thread
                while True:
                    while len(waiting) <= self.workers and (part := next(rest, None)) is not None:
                        waiting.append(pool.submit(run_part, part, task, go_on))
                    if not waiting:
                        return
                    while not wait([waiting[0]], _ASK).done:
                        yield None
                    yield waiting.popleft().result()
        finally:
            end.set()
            pool.shutdown(wait=True, cancel_futures=True)


class _Counted:
    """Rows that were read so far, by any thread."""

    def __init__(self) -> None:
        self.rows, self._lock = 0, threading.Lock()

    def add(self, rows: int) -> None:
        """More of them."""
        with self._lock:
            self.rows += rows


class Stream:
    """A table in parts, which every pass reads from the first to the last.

    Made by ``linsep.data.stream``. What takes a table and can do without having it whole takes a
    stream in its place: ``fit``, ``predict``, ``score``, ``linsep.certify``,
    ``linsep.separability``.
    """

    in_parts: ClassVar[bool] = True
    """See ``core.validate.in_parts``."""
    feature_names: tuple[str, ...] | None

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        name: str,
        feature_names: Sequence[str] | None = None,
        rows: int | None = None,
        runner: Runner | None = None,
        memory: int = MEMORY,
        labelled: bool = True,
    ) -> None:
        self.parts, self.name, self.memory = tuple(parts), name, memory
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        self.rows, self.labelled = rows, labelled
        self.told = rows
        """Rows that the files say they have; None where they do not."""
        self.runner: Runner = Threads() if runner is None else runner
        self.passes = 0
        self.watch: Callable[[Reading], None] | None = None
        """Told how far a pass has come: at its beginning, now and then, and at its end."""
        self._seen: list[tuple[int, int]] | None = None
        self._stamps = [part.stamp() for part in self.parts]
        for number, part in enumerate(self.parts):
            part.number = number

    def total(self, task: Task[T], words: str = "") -> T | None:
        """A pass: the sum of what the task makes of every block; None of no rows at all.

        words say what it is for.
        """
        total: T | None = None
        for found in self._found([(self.parts, task)], words):
            if found.total is not None:
                total = found.total if total is None else total.plus(found.total)
        return total

    def in_turn(self, step: Callable[[Block, Place, C], C], carry: C, words: str = "") -> C:
        """A pass in which each block is given what the one before it has come to.

        Parts are read one after the other, by whoever reads them, until the carry is done.
        """

        def turns() -> Iterator[tuple[Sequence[Part], Task[_Latest[C]]]]:
            for part in self.parts:
                if not carry.done:
                    yield [part], _Turn(step, carry)

        for found in self._found(turns(), words):
            if found.total is not None:
                carry = found.total.carry
        return carry

    def _found(
        self, work: Iterable[tuple[Sequence[Part], Task[T]]], words: str
    ) -> Iterator[Found[T]]:
        """What each part has come to, in their order; one that has changed is an error."""
        seen: list[tuple[int, int]] = []
        counted, begin = _Counted(), clock()
        self._tell(0, begin, words)
        for parts, task in work:
            for found in self.runner.each(parts, task, counted.add):
                tick()
                if found is not None:
                    self._same(len(seen), found)
                    seen.append((found.rows, found.mark))
                    yield found
                self._tell(counted.rows, begin, words)
        if len(seen) == len(self.parts):
            self._seen = seen
            self.rows = sum(rows for rows, _ in seen)
        self._tell(counted.rows, begin, words, done=True)
        self.passes += 1

    @property
    def size(self) -> int | None:
        """Bytes of all parts where they are stored; None where that is not known."""
        sizes = [part.size for part in self.parts]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def _tell(self, rows: int, begin: float, words: str, *, done: bool = False) -> None:
        if self.watch is not None:
            took = clock() - begin
            self.watch(Reading(self.passes + 1, rows, self.rows, self.size, took, done, words))

    def _same(self, k: int, found: Found[Any]) -> None:
        """Refuse a part that is another one than in the pass before."""
        part = self.parts[k]
        changed = part.stamp() != self._stamps[k]
        if self._seen is not None:
            changed |= self._seen[k] != (found.rows, found.mark)
        if changed:
            raise DataError(
                f"{part.name} has changed since it was first read; fit again, and let nobody "
                "write to the data meanwhile."
            )

    @property
    def fingerprint(self) -> str:
        """A digest of all that was read: the same for the same parts, wherever they are read."""
        if self._seen is None:
            raise DataError(f"{self.name} was not read yet.")
        head = f"linsep stream 1 {self.feature_names}"
        return hashlib.sha256(f"{head} {self._seen}".encode()).hexdigest()

    @property
    def marks(self) -> tuple[tuple[str, int, int], ...]:
        """Name, rows and mark of the bytes of each part, once it was read."""
        seen = self._seen or []
        return tuple((part.name, rows, mark) for part, (rows, mark) in zip(self.parts, seen))

    def blocks(self) -> Iterator[tuple[Place, Block]]:
        """All rows in order, block by block, by this thread."""
        for part in self.parts:
            first = 0
            for raw in part.blocks():
                block = checked(raw, Place(part.name, part.number, first))
                if block.X.shape[0]:
                    yield Place(part.name, part.number, first), block._replace(given=raw)
                first += block.X.shape[0]

    def __repr__(self) -> str:
        size = "" if self.rows is None else f", {count(self.rows, 'row')}"
        return f"Stream({self.name!r}, {count(len(self.parts), 'part')}{size})"


def no_labels(name: str) -> LabelError:
    """Of a part or a stream that has none."""
    return LabelError(
        f"{name} has no labels; name their column with target=.", options={"target=": "--target"}
    )


def labels_of(block: Block, classes: NDArray[Any], place: Place) -> NDArray[np.int64]:
    """The number of each row's class among the sorted classes."""
    if block.y is None:
        raise no_labels(place.part)
    at = np.searchsorted(classes, block.y)
    at = np.minimum(at, len(classes) - 1)
    strange = np.flatnonzero(classes[at] != block.y)
    if strange.size:
        row = int(strange[0])
        known = ", ".join(map(repr, classes.tolist()[:6]))
        raise LabelError(
            f"{place.part}, row {place.first + row}: the label {block.y[row]!r} is none of {known}."
        )
    return np.asarray(at, dtype=np.int64)
