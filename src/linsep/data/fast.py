"""The compiled readers: two threads, each on its half of the lines."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import has_numba, inner, routine
from linsep.core.costs import AT_ONCE
from linsep.core.lanes import run_all

Job = tuple[NDArray[np.uint8], int, int, list[NDArray[Any]]]
Pairs = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], int]


def pays(size: int, cold: int = 1 << 22) -> bool:
    """Whether compiled code saves more time than it takes to load, if numba is not there yet."""
    return size > (1 << 20 if "numba" in sys.modules else cold) and has_numba()


def parse_pairs(data: bytes) -> tuple[Pairs | None, int]:
    """Read svmlight text: labels, entries of each row, columns, values and largest index.

    None and the start of a line when a plain reader should look at that line.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    middle = _middle(data, 0)
    parts = (text[:middle], text[middle:])
    rows, more = run_all([partial(_lines, part) for part in parts], 2)
    pairs, more_pairs = run_all([partial(_count, part, 58) for part in parts], 2)
    starts = [rows, rows, pairs, pairs]
    n, nnz = rows + more, pairs + more_pairs
    for kind in (np.int32, np.int64):
        arrays = [np.empty(n), np.empty(n, np.int64), np.empty(nnz, kind), np.empty(nnz)]
        limit = int(np.iinfo(kind).max)
        first, second = _both(text, 0, middle, arrays, starts, (0, limit, 0))
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
    rows, more = run_all([partial(_lines, part) for part in (text[start:middle], text[middle:])], 2)
    # no more rows than lines, no more cells in a row than width: nothing is written outside
    X = np.empty((rows + more, d))
    labels = np.empty(rows + more)
    arrays = [labels, none, none, X.reshape(-1)]
    starts = [rows, 0, 0, rows * d]
    first, second = _both(text, start, middle, arrays, starts, shape)
    if first[3] >= 0 or second[3] >= 0 or first[0] + second[0] == 0:
        return None
    X, labels = (_join(a, first[0], rows, second[0]) for a in (X, labels))
    return X, labels


def _both(
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
    return run_all([partial(_part, job, shape) for job in jobs], 2)


def _part(job: Job, shape: tuple[int, int, int]) -> list[int]:

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
    pieces = (text[at : at + AT_ONCE] for at in range(0, text.size, AT_ONCE))
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
    for at in range(0, len(hard), AT_ONCE):
        begin, end, entry = hard[at : at + AT_ONCE].T
        first = int(begin[0])
        raw = text[first : int(end[-1])].tobytes()
        cuts = zip((begin - first).tolist(), (end - first).tolist())
        values[entry] = [float(raw[a:b]) for a, b in cuts]
    bad = np.flatnonzero(~np.isfinite(values[hard[:, 2]]))
    return int(hard[bad[0], 0]) if bad.size else -1


# -- Lines of numbers, from bytes to arrays: tables with a delimiter, and ``label index:value``
#
# Decimals are rounded correctly. A mantissa below 2^53 and a power of ten up to 22 are doubles,
# so one multiplication or division does it (Clinger 1990). Up to 18 digits, the result is
# computed to 100 bits and taken if both ends of its error round alike (Ziv 1991). Any other
# number is reported as hard, and the caller converts it in another way.


POWERS = np.array([float(10**k) for k in range(23)])


@inner
def times_power(mantissa, scale, power):
    """mantissa * 10^scale as a double, and whether it is certainly rounded correctly.

    ``power`` is 10^|scale| with |scale| <= 22, so it is a double without an error. Numbers only
    come in: an array would be counted as in use, see below.
    """
    number = float(mantissa)
    high = number * power if scale > 0 else number / power
    if mantissa <= 9007199254740992:
        return high, True
    # mantissa = number + low; the result is high + rest to 100 bits, by the exact product of two
    # halves each (Dekker 1971)
    low = float(mantissa - np.int64(number))
    factor = number if scale > 0 else high
    product = factor * power
    t = 134217729.0 * factor
    f1 = t - (t - factor)
    f2 = factor - f1
    t = 134217729.0 * power
    p1 = t - (t - power)
    p2 = power - p1
    error = ((f1 * p1 - product) + f1 * p2 + f2 * p1) + f2 * p2
    if scale > 0:
        rest = error + low * power
    else:
        rest = ((number - product) - error + low) / power
    slack = high * 2.0**-98
    number = high + (rest - slack)
    return number, number == high + (rest + slack)  # both round to the same double


@routine
def parse(
    text, at, stop, delimiter, width, target, labels, lengths, indices, values, hard, powers, out
):
    """Read lines from ``at`` to ``stop`` into the arrays given.

    A delimiter of 0 means svmlight text: the first number is the label, indices are stored
    minus 1 if they are not above ``width``, lengths are the entries of each row. Otherwise
    every line has ``width`` cells, and the one in column ``target`` is the label.

    out = number of rows, of entries, of hard numbers, place of trouble, largest index. ``hard``
    takes (place, end, entry) of numbers to be converted by the caller. Trouble is -1, or the
    start of a line that a plain reader should look at.

    Longer than a routine should be: a function of the text, called for each number, would make
    the threads fight over its reference count, which takes three times as long.
    """
    table = delimiter != 0
    row = 0
    entry = 0
    n_hard = 0
    while at < stop:
        line = at
        first = entry
        before = np.int64(-1)  # last index
        column = 0
        out[3] = line  # trouble, until the line has been read
        while at < stop:
            c = text[at]
            if (c == 32 or c == 9 or c == 13) and c != delimiter:
                at += 1
                continue
            if c == 10:
                break
            if c == 35 and not table:  # a comment up to the end of the line
                while at < stop and text[at] != 10:
                    at += 1
                break
            index = np.int64(0)
            if table:
                if column == width:
                    return
            elif column > 0:
                place = at
                while at < stop and 48 <= text[at] <= 57:
                    index = index * 10 + (np.int64(text[at]) - 48)
                    at += 1
                if at == place and before < 0 and stop - at > 4 and text[at] == 113:
                    # qid:7, the query a row belongs to; it says nothing about its class
                    place = at + 4
                    if text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == 58:
                        at = place
                        while at < stop and 48 <= text[at] <= 57:
                            at += 1
                    if at > place and at < stop and (text[at] == 32 or text[at] == 10):
                        before = np.int64(0)
                        continue
                digits = at - place
                if digits <= 0 or digits > 18 or at == stop or text[at] != 58 or index <= before:
                    return
                before = index
                at += 1

            # a decimal number: sign, digits, point, digits, exponent
            begin = at
            negative = at < stop and text[at] == 45
            if at < stop and (text[at] == 45 or text[at] == 43):
                at += 1
            mantissa = np.int64(0)
            scale = np.int64(0)
            start = at
            while at < stop and text[at] == 48:
                at += 1
            place = at
            limit = min(stop, at + 18)  # as many digits fit in 64 bits
            while at < limit and 48 <= text[at] <= 57:
                mantissa = mantissa * 10 + (np.int64(text[at]) - 48)
                at += 1
            room = 18 - (at - place)
            digits = at - start
            easy = True
            c = text[at] if at < stop else np.uint8(10)
            if c == 46 or (48 <= c <= 57) or c == 101 or c == 69:  # more than a few digits
                point = c == 46
                if point:
                    at += 1
                    start = at
                    while room == 18 and at < stop and text[at] == 48:
                        at += 1
                    limit = min(stop, at + room)
                    while at < limit and 48 <= text[at] <= 57:
                        mantissa = mantissa * 10 + (np.int64(text[at]) - 48)
                        at += 1
                    scale -= at - start
                    digits += at - start
                while at < stop and (48 <= text[at] <= 57 or (text[at] == 46 and not point)):
                    point = point or text[at] == 46
                    easy = False
                    at += 1
                if digits > 0 and at < stop and (text[at] == 101 or text[at] == 69):
                    at += 1
                    down = at < stop and text[at] == 45
                    if at < stop and (text[at] == 45 or text[at] == 43):
                        at += 1
                    power = np.int64(0)
                    place = at
                    while at < stop and 48 <= text[at] <= 57:
                        if power < 100000:
                            power = power * 10 + (np.int64(text[at]) - 48)
                        at += 1
                    digits = min(digits, at - place)
                    scale += -power if down else power
                if mantissa > 0 and (scale < -22 or scale > 22):
                    easy = False
            number = float(mantissa)
            if easy and scale != 0 and mantissa != 0:
                number, easy = times_power(mantissa, scale, powers[abs(scale)])
            if negative:
                number = -number

            # what follows the number
            end = at
            while table and at < stop and text[at] == 32:
                at += 1
            c = text[at] if at < stop else np.uint8(10)
            if table and c == delimiter:
                at += 1
                if column == width - 1:
                    return
            elif c == 13 and table:
                if at + 1 < stop and text[at + 1] != 10:
                    return
            elif c != 10 and (table or (c != 32 and c != 9 and c != 13)):
                return
            if digits == 0:
                return
            if column == target:
                if not easy or mantissa > 9007199254740992:  # labels are never rounded
                    return
                labels[row] = number
            else:
                if not easy:
                    hard[n_hard, 0] = begin
                    hard[n_hard, 1] = end
                    hard[n_hard, 2] = entry
                    n_hard += 1
                if not table and index <= width:
                    indices[entry] = index - 1
                values[entry] = number
                entry += 1
            column += 1
        at += 1
        if column > 0:
            if table:
                if column != width:
                    return
            else:
                lengths[row] = entry - first
                if before > out[4]:
                    out[4] = before
            row += 1
    out[0] = row
    out[1] = entry
    out[2] = n_hard
    out[3] = -1
