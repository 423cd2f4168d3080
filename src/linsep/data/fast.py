"""The compiled readers: two threads, each on its half of the lines."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["parse_pairs", "parse_table", "pays"]

_CHUNK = 1 << 20
_MANY = 1000  # numbers from which pyarrow converts them faster than Python

Job = tuple[NDArray[np.uint8], int, int, list[NDArray[Any]]]
Pairs = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], int]


def pays(size: int, cold: int = 1 << 22) -> bool:
    """Whether compiled code saves more time than it takes to load, if numba is not there yet."""
    return size > (1 << 20 if "numba" in sys.modules else cold)


def parse_pairs(data: bytes) -> tuple[Pairs | None, int]:
    """Read svmlight text: labels, entries of each row, columns, values and largest index.

    None and the start of a line when a plain reader should look at that line.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    middle = _middle(data, 0)
    with ThreadPoolExecutor(2) as pool:
        parts = (text[:middle], text[middle:])
        rows, more = pool.map(_lines, parts)
        pairs, more_pairs = pool.map(lambda part: _count(part, 58), parts)
        starts = [rows, rows, pairs, pairs]
        n, nnz = rows + more, pairs + more_pairs
        for kind in (np.int32, np.int64):
            arrays = [np.empty(n), np.empty(n, np.int64), np.empty(nnz, kind), np.empty(nnz)]
            limit = int(np.iinfo(kind).max)
            first, second = _both(pool, text, 0, middle, arrays, starts, (0, limit, 0))
            width = max(first[4], second[4])
            if width <= limit:
                break
    trouble = first[3] if first[3] >= 0 else second[3]
    if trouble >= 0:
        return None, trouble
    used = [first[0], first[0], first[1], first[1]]
    added = [second[0], second[0], second[1], second[1]]
    labels, lengths, indices, values = (_join(*p) for p in zip(arrays, used, starts, added))
    return (labels, lengths, indices, values, width), -1


def parse_table(
    data: bytes, start: int, delimiter: str, width: int, target: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Read cells into features and labels; None when there is anything but plain numbers."""
    text = np.frombuffer(data, dtype=np.uint8)
    middle = _middle(data, start)
    d = width - (target is not None)
    shape = (ord(delimiter), width, -1 if target is None else target)
    none = np.empty(0, np.int64)
    with ThreadPoolExecutor(2) as pool:
        parts = (text[start:middle], text[middle:])
        rows, more = pool.map(_lines, parts)
        # no more rows than lines, no more cells in a row than width: nothing is written outside
        X = np.empty((rows + more, d))
        labels = np.empty(rows + more)
        arrays = [labels, none, none, X.reshape(-1)]
        starts = [rows, 0, 0, rows * d]
        first, second = _both(pool, text, start, middle, arrays, starts, shape)
    if first[3] >= 0 or second[3] >= 0 or first[0] + second[0] == 0:
        return None
    X, labels = (_join(a, first[0], rows, second[0]) for a in (X, labels))
    return X, labels


def _both(
    pool: ThreadPoolExecutor,
    text: NDArray[np.uint8],
    start: int,
    middle: int,
    arrays: list[NDArray[Any]],
    starts: list[int],
    shape: tuple[int, int, int],
) -> list[list[int]]:
    """Parse both halves, each into its end of the arrays."""
    jobs: list[Job] = [
        (text, start, middle, [a[:k] for a, k in zip(arrays, starts)]),
        (text, middle, text.size, [a[k:] for a, k in zip(arrays, starts)]),
    ]
    _part((text, 0, 0, arrays), shape)  # compiles before both threads need it
    return list(pool.map(lambda job: _part(job, shape), jobs))


def _part(job: Job, shape: tuple[int, int, int]) -> list[int]:
    from linsep.jit.numbers import POWERS, parse

    text, start, stop, (labels, lengths, indices, values) = job
    hard = np.empty((values.size, 3), dtype=np.int64)  # takes memory only where it is written
    out = np.array([0, 0, 0, -1, 0])
    parse(
        text, start, stop, *shape, labels, lengths, indices, values, hard, POWERS, out,
        size=1 << 62, work=stop - start,
    )  # fmt: skip
    result: list[int] = out.tolist()
    if result[3] < 0 and result[2]:
        bad = _convert(text, hard[: result[2]], values)
        if bad >= 0:
            result[3] = _line_start(text, bad)
    return result


def _middle(data: bytes, start: int) -> int:
    """Start of a line in the middle."""
    return data.find(b"\n", (start + len(data)) // 2) + 1 or len(data)


def _count(text: NDArray[np.uint8], code: int) -> int:
    """How often a byte occurs, without a large temporary array."""
    pieces = (text[at : at + _CHUNK] for at in range(0, text.size, _CHUNK))
    return sum(int(np.count_nonzero(piece == code)) for piece in pieces)


def _lines(text: NDArray[np.uint8]) -> int:
    return _count(text, 10) + bool(text.size and text[-1] != 10)


def _join(a: NDArray[Any], used: int, start: int, more: int) -> NDArray[Any]:
    """Close the gap that comments and blank lines leave between the two parts."""
    if used == start:
        return a[: start + more]
    return np.concatenate([a[:used], a[start : start + more]])


def _line_start(text: NDArray[np.uint8], at: int) -> int:
    while at > 0 and text[at - 1] != 10:
        at -= 1
    return at


def _convert(text: NDArray[np.uint8], hard: NDArray[np.int64], values: NDArray[np.float64]) -> int:
    """Convert the numbers that need more than one exact operation, all rounded correctly.

    Gives the place of the first one that does not fit in a double, or -1.
    """
    if len(hard) < _MANY:
        for begin, end, entry in hard.tolist():
            values[entry] = float(text[begin:end].tobytes())
    else:
        for at in range(0, len(hard), _CHUNK // 8):
            _by_arrow(text, hard[at : at + _CHUNK // 8], values)
    bad = np.flatnonzero(~np.isfinite(values[hard[:, 2]]))
    return int(hard[bad[0], 0]) if bad.size else -1


def _by_arrow(
    text: NDArray[np.uint8], hard: NDArray[np.int64], values: NDArray[np.float64]
) -> None:
    import pyarrow as pa

    begin, end, entry = hard.T
    ends = np.cumsum(end - begin)
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    places = np.repeat(begin - offsets[:-1], end - begin) + np.arange(ends[-1])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text[places])]
    strings = pa.Array.from_buffers(pa.string(), len(entry), buffers)
    values[entry] = strings.cast(pa.float64()).to_numpy()
