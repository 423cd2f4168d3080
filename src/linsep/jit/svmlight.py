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
def parse(text, at, stop, labels, lengths, indices, values, hard, powers, out):  # type: ignore[no-untyped-def]
    """Read lines from ``at`` to ``stop``; out = rows, entries, hard numbers, place of trouble.

    ``hard`` takes triples (place, end, entry) of numbers to be converted by the caller; entry
    -1 - k is the label of row k. Trouble is -1, or the start of the line that a plain reader
    should look at.
    """
    row = 0
    entry = 0
    n_hard = 0
    out[3] = -1
    while at < stop:
        line = at
        first = entry
        before = -1
        field = 0  # 0: the label comes; 1: index:value comes
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
            if field == 1:
                index = 0
                digits = at
                while at < stop and 48 <= text[at] <= 57:
                    index = index * 10 + (text[at] - 48)
                    at += 1
                if at == digits or at - digits > 18 or at == stop or text[at] != 58:
                    out[3] = line
                    return
                if index <= before:
                    out[3] = line
                    return
                before = index
                at += 1
            # a decimal number: sign, digits, point, exponent
            begin = at
            negative = at < stop and text[at] == 45
            if at < stop and (text[at] == 45 or text[at] == 43):
                at += 1
            mantissa = 0
            used = 0
            scale = 0
            any_digit = False
            while at < stop and 48 <= text[at] <= 57:
                if used < 18:
                    mantissa = mantissa * 10 + (text[at] - 48)
                if mantissa > 0:
                    used += 1
                any_digit = True
                at += 1
            if at < stop and text[at] == 46:
                at += 1
                while at < stop and 48 <= text[at] <= 57:
                    if used < 18:
                        mantissa = mantissa * 10 + (text[at] - 48)
                        scale -= 1
                    if mantissa > 0:
                        used += 1
                    any_digit = True
                    at += 1
            if any_digit and at < stop and (text[at] == 101 or text[at] == 69):
                at += 1
                down = at < stop and text[at] == 45
                if at < stop and (text[at] == 45 or text[at] == 43):
                    at += 1
                power = 0
                digits = at
                while at < stop and 48 <= text[at] <= 57:
                    if power < 100000:
                        power = power * 10 + (text[at] - 48)
                    at += 1
                if at == digits:
                    any_digit = False
                scale += -power if down else power
            if not any_digit or (
                at < stop
                and text[at] != 32
                and text[at] != 10
                and text[at] != 9
                and text[at] != 13
            ):
                out[3] = line
                return
            number = float(mantissa)
            if used > 18 or mantissa > 9007199254740992 or scale < -22 or scale > 22:
                if mantissa > 0:
                    hard[n_hard, 0] = begin
                    hard[n_hard, 1] = at
                    hard[n_hard, 2] = entry if field == 1 else -1 - row
                    n_hard += 1
            elif scale < 0:
                number = number / powers[-scale]
            else:
                number = number * powers[scale]
            if negative:
                number = -number
            if field == 0:
                labels[row] = number
                field = 1
            else:
                indices[entry] = index
                values[entry] = number
                entry += 1
        at += 1
        if field == 1:
            lengths[row] = entry - first
            row += 1
    out[0] = row
    out[1] = entry
    out[2] = n_hard
