"""What a proof says, in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, isinf, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.numerics.integers import scaled_integers

if TYPE_CHECKING:
    from linsep.proofs.proof import Proof


_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_SHOWN = 12  # rows or features listed in a sentence
_DIGITS = 15  # characters of a fraction up to which it is printed in full


def sentence(proof: Proof) -> str:
    """One sentence: the verdict and what supports it."""
    text = _verdict(proof)
    if proof.separable is False and not proof.exact:
        text += " (up to rounding: exact=False)"
    return text


def _verdict(proof: Proof) -> str:
    if proof.separable is None:
        return f"undecided when the time was up: {_undecided_margin(proof)}"
    if proof.separable:
        return f"separable, {_margin(proof.margin)}"
    rows = _count(len(proof.rows), "row")
    verb = "proves" if len(proof.rows) == 1 else "prove"
    these = "this" if len(proof.rows) == 1 else "these"
    text = f"not separable: {these} {rows} {verb} it ({_listed(proof.rows.tolist())})"
    if proof.quasi:
        names = [_feature(proof, j) for j in proof.columns]
        on = "a plane" if len(proof.classes) == 2 else "a linear machine"
        return (
            f"{text}; but {on} with no row strictly on the wrong side exists, "
            f"carried by {_listed(names)}"
        )
    return text


def _margin(margin: tuple[float, float]) -> str:
    low, high = margin
    if low == high:
        return f"margin {low:.10g}"
    digits = 4 if high < 1.01 * low else 3
    return f"margin between {round_down(low, digits)} and {round_up(high, digits)}"


def _undecided_margin(proof: Proof) -> str:
    high = proof.margin[1]
    if isinf(high):
        return "nothing is known about the margin yet"
    return f"if the classes are separable, the margin is at most {round_up(high, 3)}"


def round_down(value: float, digits: int) -> str:
    """The largest number of that many digits not above the value.

    >>> round_down(0.89447, 4)
    '0.8944'
    """
    return _rounded(value, digits, floor)


def round_up(value: float, digits: int) -> str:
    """The smallest number of that many digits not below the value.

    >>> round_up(0.89441, 4)
    '0.8945'
    >>> round_up(4.9961e-13, 4)
    '4.997e-13'
    """
    return _rounded(value, digits, ceil)


def _rounded(value: float, digits: int, towards: Any) -> str:
    if value == 0 or isinf(value):
        return f"{value:g}"
    exact = Fraction(value)
    place = floor(log10(abs(value))) - digits + 1
    unit = Fraction(10) ** place
    number = towards(exact / unit)
    if -6 < place + digits < 16:
        text = f"{float(number * unit):.{max(0, -place)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    text = str(abs(number))
    text = f"{text[0]}.{text[1:]}".rstrip("0").rstrip(".")
    return f"{'-' if number < 0 else ''}{text}e{place + len(str(abs(number))) - 1:+03d}"


def _count(number: int, noun: str) -> str:
    word = _WORDS[number] if number < len(_WORDS) else str(number)
    return f"{word} {noun}" if number == 1 else f"{word} {noun}s"


def _listed(items: Sequence[Any]) -> str:
    shown = [str(item) for item in items[:_SHOWN]]
    if len(items) > _SHOWN:
        return ", ".join(shown) + f" and {len(items) - _SHOWN} more"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def combination(rows: Sequence[int], multipliers: Sequence[Fraction]) -> str:
    """Multiples of rows in one line; fractions too long to be read are rounded.

    >>> combination([0, 3], [Fraction(1, 2), Fraction(10**20 + 1, 2 * 10**20)])
    '1/2 x row 0 and ~0.5 x row 3'
    """
    return _listed([f"{_multiple(m)} x row {row}" for row, m in zip(rows, multipliers)])


def _multiple(number: Fraction) -> str:
    text = str(number)
    return text if len(text) <= _DIGITS else f"~{float(number):.6g}"


def _feature(proof: Proof, column: int) -> str:
    return proof.feature_names[column] if proof.feature_names else f"x{column + 1}"


# -- in full --------------------------------------------------------------------------------------


def explanation(proof: Proof) -> str:
    """Several lines: the verdict, the numbers behind it and why they prove it."""
    lines = [f"{proof}."]
    if proof.separable:
        lines += [_plane_text(proof, "The plane"), "Every row lies strictly on its own side."]
        lines += _bounds_text(proof)
    elif proof.separable is False:
        lines += _combination_text(proof)
        if proof.quasi:
            lines += [
                _plane_text(proof, "The weak separator"),
                "No row lies strictly on its wrong side, and no plane has more rows strictly "
                "on their right side.",
            ]
        elif proof.quasi is False:
            lines.append(
                f"No plane is even weakly separating: {_count(len(proof.span_rows), 'row')} with "
                "positive multipliers sum to zero and span all rows."
            )
    how = "rational arithmetic" if proof.exact else "floating point, rounding not excluded"
    lines.append(f"Decided by {how}, in {proof.seconds:.3g} s.")
    return "\n".join(lines)


def _bounds_text(proof: Proof) -> list[str]:
    low, high = proof.margin
    return [
        f"Its margin is at least {low!r}.",
        f"No plane has a margin above {high!r}: the hulls of the classes come that near, at the "
        f"point made of {_count(len(proof.hull_rows), 'row')}.",
    ]


def _plane_text(proof: Proof, name: str) -> str:
    if proof.coef is None:
        return ""
    coef = np.asarray(proof.coef)
    if coef.ndim > 1:
        return f"{name}: one weight vector for each of {len(coef)} classes (coef, intercept)."
    terms = [f"{_short(v)} {_feature(proof, j)}" for j, v in enumerate(coef.tolist()) if v != 0]
    if len(terms) > _SHOWN:
        terms = [*terms[:_SHOWN], f"... ({len(terms)} features)"]
    if proof.intercept:
        terms.append(_short(proof.intercept))
    return f"{name}: " + " + ".join(terms).replace("+ -", "- ") + " = 0."


def _short(value: Any) -> str:
    number = float(value)
    return f"{number:.6g}"


def _combination_text(proof: Proof) -> list[str]:
    if not proof.exact:
        numbers: list[Any] = [float(m) for m in proof.multipliers]
    else:
        numbers = scaled_integers(proof.multipliers)[0]
    lines = ["These multiples of the rows y [x, 1] sum to zero:"]
    if not proof.fit_intercept:
        lines = ["These multiples of the rows y x sum to zero:"]
    for at, (row, number) in enumerate(zip(proof.rows.tolist(), numbers)):
        if at == 2 * _SHOWN:
            lines.append(f"  ... and {len(numbers) - at} more")
            break
        rival = "" if proof.rivals is None else f" against {proof.classes[proof.rivals[at]]}"
        size = number if number < 10**12 else f"about 2^{number.bit_length() - 1}"
        lines.append(f"  {size} x row {row}{rival}")
    lines.append("A plane with every row on its own side would make that sum positive.")
    return lines
