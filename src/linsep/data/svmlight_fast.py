"""The compiled reader of svmlight text: two threads, each on its half of the lines."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["parse_bytes"]

_CHUNK = 1 << 20
_MANY = 1000  # numbers from which pyarrow converts them faster than Python

Found = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], int]


def parse_bytes(data: bytes) -> tuple[Found | None, int]:
    """Labels, entries of each row, columns, values and width; or the start of a troubled line."""
    text = np.frombuffer(data, dtype=np.uint8)
    middle = data.find(b"\n", len(data) // 2) + 1 or len(data)
    with ThreadPoolExecutor(2) as pool:
        sizes = list(pool.map(_count, (text[:middle], text[middle:])))
        found, width, trouble = _parse(pool.map, text, middle, sizes, np.int32)
        if width > np.iinfo(np.int32).max:
            found, width, trouble = _parse(pool.map, text, middle, sizes, np.int64)
    if trouble >= 0:
        return None, trouble
    labels, lengths, indices, values = found
    return (labels, lengths, indices, values, width), -1


def _count(text: NDArray[np.uint8]) -> tuple[int, int]:
    """Lines and colons: no fewer than rows and entries."""
    lines = colons = 0
    for at in range(0, text.size, _CHUNK):
        piece = text[at : at + _CHUNK]
        lines += int(np.count_nonzero(piece == 10))
        colons += int(np.count_nonzero(piece == 58))
    return lines + 1, colons


def _parse(
    spread: Callable[..., Any],
    text: NDArray[np.uint8],
    middle: int,
    sizes: list[tuple[int, int]],
    kind: type,
) -> tuple[list[NDArray[Any]], int, int]:
    (rows, entries), (more_rows, more_entries) = sizes
    n, nnz = rows + more_rows, entries + more_entries
    arrays = [np.empty(n), np.empty(n, np.int64), np.empty(nnz, kind), np.empty(nnz)]
    starts = [rows, rows, entries, entries]
    jobs = [
        (text, 0, middle, [a[:k] for a, k in zip(arrays, starts)]),
        (text, middle, text.size, [a[k:] for a, k in zip(arrays, starts)]),
    ]
    first, second = spread(_part, jobs)
    trouble = first[3] if first[3] >= 0 else second[3]
    used = [first[0], first[0], first[1], first[1]]
    more = [second[0], second[0], second[1], second[1]]
    joined = [_join(*part) for part in zip(arrays, used, starts, more)]
    return joined, max(first[4], second[4]), trouble


def _join(a: NDArray[Any], used: int, start: int, more: int) -> NDArray[Any]:
    """Close the gap that comments and blank lines leave between the two parts."""
    if used == start:
        return a[: start + more]
    return np.concatenate([a[:used], a[start : start + more]])


def _part(job: tuple[NDArray[np.uint8], int, int, list[NDArray[Any]]]) -> list[int]:
    from linsep.jit.svmlight import POWERS, parse

    text, start, stop, (labels, lengths, indices, values) = job
    hard = np.empty((values.size, 3), dtype=np.int64)  # takes memory only where it is written
    out = np.zeros(5, dtype=np.int64)
    work = stop - start
    parse(
        text, start, stop, labels, lengths, indices, values, hard, POWERS, out,
        size=1 << 62, work=work,
    )  # fmt: skip
    result: list[int] = out.tolist()
    if result[3] < 0 and result[2]:
        _convert(text, hard[: result[2]], values)
        bad = np.flatnonzero(~np.isfinite(values[hard[: result[2], 2]]))
        if bad.size:
            result[3] = _line_start(text, int(hard[bad[0], 0]))
    return result


def _line_start(text: NDArray[np.uint8], at: int) -> int:
    while at > 0 and text[at - 1] != 10:
        at -= 1
    return at


def _convert(text: NDArray[np.uint8], hard: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    """Convert the numbers that need more than one exact operation; all are rounded correctly."""
    if len(hard) < _MANY:
        for begin, end, entry in hard.tolist():
            values[entry] = float(text[begin:end].tobytes())
        return
    import pyarrow as pa

    for at in range(0, len(hard), _CHUNK // 8):
        begin, end, entry = hard[at : at + _CHUNK // 8].T
        ends = np.cumsum(end - begin)
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        places = np.repeat(begin - offsets[:-1], end - begin) + np.arange(ends[-1])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text[places])]
        strings = pa.Array.from_buffers(pa.string(), len(entry), buffers)
        values[entry] = strings.cast(pa.float64()).to_numpy()
