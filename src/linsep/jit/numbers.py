"""Lines of numbers, from bytes to arrays: tables with a delimiter, and ``label index:value``.

A mantissa below 2^53 and a power of ten up to 22 are doubles, so one multiplication or division
rounds once and correctly (Clinger 1990). Any other number is reported as hard, and the caller
converts it in another way.
"""

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine

__all__ = ["POWERS", "parse"]

POWERS = np.array([float(10**k) for k in range(23)])


@routine
def parse(
    text, at, stop, delimiter, width, target, labels, lengths, indices, values, hard, powers, out
):
    """Read lines from ``at`` to ``stop`` into the arrays given.

    A delimiter of 0 means svmlight text: the first number is the label, indices are stored
    minus 1, lengths are the entries of each row. Otherwise every line has ``width`` cells, and
    the one in column ``target`` is the label.

    out = number of rows, of entries, of hard numbers, place of trouble, largest index. ``hard``
    takes (place, end, entry) of numbers to be converted by the caller. Trouble is -1, or the
    start of a line that a plain reader should look at.

    Longer than a routine should be: a function called for each number would make the threads
    fight over the reference count of the text, which takes three times as long.
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
            place = at
            limit = min(stop, at + 18)  # as many digits fit in 64 bits
            while at < limit and 48 <= text[at] <= 57:
                mantissa = mantissa * 10 + (np.int64(text[at]) - 48)
                at += 1
            digits = at - place
            point = at < stop and text[at] == 46
            if point:
                at += 1
                place = at
                limit = min(stop, at + 18 - digits)
                while at < limit and 48 <= text[at] <= 57:
                    mantissa = mantissa * 10 + (np.int64(text[at]) - 48)
                    at += 1
                scale -= at - place
                digits += at - place
            found = digits > 0
            easy = mantissa <= 9007199254740992
            while at < stop and (48 <= text[at] <= 57 or (text[at] == 46 and not point)):
                point = point or text[at] == 46
                easy = False
                at += 1
            if found and at < stop and (text[at] == 101 or text[at] == 69):
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
                found = at > place
                scale += -power if down else power
            number = float(mantissa)
            if scale < -22 or scale > 22:
                easy = easy and mantissa == 0
            elif scale < 0:
                number = number / powers[-scale]
            else:
                number = number * powers[scale]
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
            if not found:
                return
            if column == target:
                if not easy:
                    return
                labels[row] = number
            else:
                if not easy:
                    hard[n_hard, 0] = begin
                    hard[n_hard, 1] = end
                    hard[n_hard, 2] = entry
                    n_hard += 1
                if not table:
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
