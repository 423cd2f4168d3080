"""Rows ``label index:value ...`` from bytes to numbers.

Decimal to double is exact for a mantissa below 2^53 and a power of ten up to 22, because
both are doubles and one operation rounds once (Clinger 1990). Any other number is left to the
caller, by its place.
"""

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine

__all__ = ["POWERS", "parse"]

POWERS = np.array([float(10**k) for k in range(23)])


@routine
def parse(text, at, stop, labels, lengths, indices, values, hard, powers, out):
    """Read lines from ``at`` to ``stop`` into the arrays given; indices are stored minus 1.

    out = number of rows, of entries, of hard numbers, place of trouble, largest index.
    ``hard`` takes (place, end, entry) of numbers to be converted by the caller. Trouble is -1,
    or the start of a line that a plain reader should look at. One long function, because
    numba calls no plain function.
    """
    row = 0
    entry = 0
    n_hard = 0
    out[3] = -1
    while at < stop:
        line = at
        first = entry
        before = np.int64(-1)  # last index
        labelled = False
        while at < stop:
            c = text[at]
            if c == 32 or c == 9 or c == 13:
                at += 1
                continue
            if c == 10:
                break
            if c == 35:  # a comment up to the end of the line
                while at < stop and text[at] != 10:
                    at += 1
                break
            index = np.int64(0)
            if labelled:
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
                if digits == 0 or digits > 18 or at == stop or text[at] != 58:
                    out[3] = line
                    return
                if index <= before:
                    out[3] = line
                    return
                before = index
                at += 1
            # a decimal number: sign, digits, point, digits, exponent
            begin = at
            negative = at < stop and text[at] == 45
            if at < stop and (text[at] == 45 or text[at] == 43):
                at += 1
            mantissa = np.int64(0)
            used = 0  # digits after leading zeros
            scale = np.int64(0)
            found = False
            point = False
            while at < stop:
                c = text[at]
                if 48 <= c <= 57:
                    if used < 18:
                        mantissa = mantissa * 10 + (np.int64(c) - 48)
                    if mantissa > 0:
                        used += 1
                    if point:
                        scale -= 1
                    found = True
                elif c == 46 and not point:
                    point = True
                else:
                    break
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
            c = text[at] if at < stop else np.uint8(10)
            if not found or (c != 32 and c != 10 and c != 9 and c != 13):
                out[3] = line
                return
            number = float(mantissa)
            if mantissa > 0 and (
                used > 18 or mantissa > 9007199254740992 or scale < -22 or scale > 22
            ):
                if not labelled:
                    out[3] = line
                    return
                hard[n_hard, 0] = begin
                hard[n_hard, 1] = at
                hard[n_hard, 2] = entry
                n_hard += 1
            elif mantissa > 0 and scale < 0:
                number = number / powers[-scale]
            elif mantissa > 0:
                number = number * powers[scale]
            if negative:
                number = -number
            if labelled:
                indices[entry] = index - 1
                values[entry] = number
                entry += 1
            else:
                labels[row] = number
                labelled = True
        at += 1
        if labelled:
            if before > out[4]:
                out[4] = before
            lengths[row] = entry - first
            row += 1
    out[0] = row
    out[1] = entry
    out[2] = n_hard
