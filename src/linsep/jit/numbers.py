"""Lines of numbers, from bytes to arrays: tables with a delimiter, and ``label index:value``.

Decimals are rounded correctly. A mantissa below 2^53 and a power of ten up to 22 are doubles, so
one multiplication or division does it (Clinger 1990). Up to 18 digits, the result is computed
to 100 bits and taken if both ends of its error round alike (Ziv 1991). Any other number is
reported as hard, and the caller converts it in another way.
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
    minus 1 if they are not above ``width``, lengths are the entries of each row. Otherwise
    every line has ``width`` cells, and the one in column ``target`` is the label.

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
                p = powers[abs(scale)]
                if mantissa <= 9007199254740992:
                    number = number * p if scale > 0 else number / p
                else:
                    # mantissa = number + low; the result is high + rest to 100 bits, by the
                    # exact product of two halves each (Dekker 1971)
                    low = float(mantissa - np.int64(number))
                    high = number * p if scale > 0 else number / p
                    factor = number if scale > 0 else high
                    product = factor * p
                    t = 134217729.0 * factor
                    f1 = t - (t - factor)
                    f2 = factor - f1
                    t = 134217729.0 * p
                    p1 = t - (t - p)
                    p2 = p - p1
                    error = ((f1 * p1 - product) + f1 * p2 + f2 * p1) + f2 * p2
                    if scale > 0:
                        rest = error + low * p
                    else:
                        rest = ((number - product) - error + low) / p
                    slack = high * 2.0**-98
                    number = high + (rest - slack)
                    easy = number == high + (rest + slack)  # both round to the same double
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
