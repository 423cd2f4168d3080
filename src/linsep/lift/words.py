"""A pulled back rule in words."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["interval_words", "rule"]


def rule(pullback: Any, digits: int) -> str:
    """The rule, and the intervals of a polynomial of one input."""
    scores = [score_text(pullback, k, digits) for k in range(len(pullback.coef))]
    labels = [str(label) for label in pullback.classes.tolist()]
    if len(scores) == 1:
        lines = [f"predict {labels[1]} where {scores[0]} >= 0, else {labels[0]}"]
    else:
        lines = ["predict the class with the largest score:"]
        lines += [f"  {label}: {score}" for label, score in zip(labels, scores)]
    if pullback.n_inputs == 1 and pullback.exact:
        found = pullback.intervals()
        if len(scores) == 1:
            words = interval_words(found, pullback.classes.tolist()[1], pullback.names[0], digits)
            lines.append(f"that is {words}")
        else:
            lines.append("that is")
            for label in pullback.classes.tolist():
                words = interval_words(found, label, pullback.names[0], digits)
                lines.append(f"  {label}: {words}")
    return "\n".join(lines)


def score_text(pullback: Any, k: int, digits: int) -> str:
    """A score as a polynomial of the inputs, or as a sum of multiples of the lift's outputs."""
    if pullback.polynomials is not None:
        return str(pullback.polynomials[k].text(pullback.names, digits))
    out = ""
    for weight, name in zip(pullback.coef[k].tolist(), pullback.chain.names_out()):
        if weight:
            sign = ("-" if weight < 0 else "") if not out else (" - " if weight < 0 else " + ")
            whole = name if name.replace("_", "").isalnum() else f"({name})"
            out += f"{sign}{abs(weight):.{digits}g}*{whole}"
    offset = float(pullback.intercept[k])
    if offset or not out:
        sign = ("-" if offset < 0 else "") if not out else (" - " if offset < 0 else " + ")
        out += f"{sign}{abs(offset):.{digits}g}"
    return out


def interval_words(
    intervals: list[tuple[float, float, Any]], label: Any, name: str, digits: int
) -> str:
    """Where one class is predicted: "x <= 1 or 2 <= x <= 3"."""
    parts = []
    for low, high, found in intervals:
        if found != label:
            continue
        if math.isinf(low) and math.isinf(high):
            return f"every {name}"
        if math.isinf(low):
            parts.append(f"{name} <= {high:.{digits}g}")
        elif math.isinf(high):
            parts.append(f"{name} >= {low:.{digits}g}")
        else:
            parts.append(f"{low:.{digits}g} <= {name} <= {high:.{digits}g}")
    return " or ".join(parts) or f"no {name}"
