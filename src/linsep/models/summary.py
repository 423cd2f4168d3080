"""A fitted model in words: a title and lines, each a label and what is to be said under it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import Outcome
from linsep.core.words import count, misplaced, percent
from linsep.errors import printable
from linsep.proofs.certificate import Certificate
from linsep.proofs.gap import Gap
from linsep.proofs.separable import combination

Array = NDArray[np.float64]
Line = tuple[str, str]

SHOWN_WEIGHTS = 12  # weights printed before the rest is left out
_SHOWN_AS_ZERO = 1e-3  # of what a weight may be off: below this it is shown as 0
_PRINTED = 5e-6  # of the largest weight: errors below this do not show in six digits


class Ruled(Protocol):
    """A model with a plane for each class."""

    n_features_in_: int
    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]


def written(title: str, lines: Iterable[Line]) -> str:
    """The text: what has several rows repeats its label."""
    rows = [f"  {label:<11} {row}" for label, text in lines for row in text.split("\n")]
    return printable("\n".join([title, *rows]))


def work(outcome: Outcome[Any] | None) -> list[Line]:
    """What the fit took; a model read from a file does not know."""
    if outcome is None:
        return []
    steps, passes = count(outcome.steps, outcome.unit), count(outcome.passes, "pass", spec=".4g")
    return [("work", f"{steps}, {passes}, {outcome.seconds:.3g} s")]


def bounds(gap: Gap) -> list[Line]:
    """The objective, and how far it may be from the best."""
    return [
        ("objective", f"{gap.objective:.8g}, and {gap.bound_words(8)}"),
        (
            "proved" if getattr(gap, "proved", True) else "assumed",
            f"within {percent(gap.relative_gap)} of the best possible",
        ),
    ]


def street(gap: Gap) -> Line:
    """Rows on the wrong side, and inside the street."""
    return "errors", f"{misplaced(gap.errors)}, {gap.inside} inside the street or wrong"


def sides(certificate: Certificate) -> list[Line]:
    """What is proved of a plane that is to separate."""
    lines = [("errors", misplaced(certificate.errors))]
    if certificate.separable:
        lines.append(("margin", f"{certificate.margin:.6g} (one side, in the units of X)"))
    if certificate.separable is False:
        listed = combination(certificate.rows, certificate.multipliers)
        return [*lines, ("proof", f"{listed} add up to zero, so nothing separates")]
    if np.isfinite(certificate.margin_high):
        low, high = certificate.margin_low, certificate.margin_high
        lines.append(("best margin", f"between {low:.6g} and {high:.6g}"))
    if np.isfinite(certificate.margin_aug_high):
        low, high = certificate.margin_aug_low, certificate.margin_aug_high
        lines.append(("augmented", f"best margin between {low:.6g} and {high:.6g}"))
    return lines


def radius(gap: Gap) -> float:
    """How far any weight may be from that of the best model.

    The penalty |w|^2 / 2 bends the objective by 1 in every direction, so |w - w*|^2 <= 2 gap.
    """
    return max(math.sqrt(2.0 * part.gap) for part in gap.parts or (gap,))


def known_rule(
    model: Ruled, within: float | Array, how: str = "proved", *, offset: bool = False
) -> list[Line]:
    """The rule in digits that are known, and how far, where these are less than are printed.

    offset says that the bound holds for the offset too; none follows from a penalty without it.
    """
    most, told = float(np.max(within, initial=0.0)), rule(model, within)
    unknown = "~" in told[1]
    if not (unknown or most > _PRINTED * float(np.abs(model.coef_).max(initial=0.0))):
        return [told]
    if np.isinf(most):
        return [("weights", "nothing is proved of them"), told]
    words = f"each within {most:.2g} of the best model's, {how}"
    more = [("offset", "no bound of its error is known")]
    more = more if not offset and np.any(model.intercept_) else []
    return [("weights", f"{words}; ~: no digit known" if unknown else words), *more, told]


def known(value: float, within: float) -> str:
    """A weight with its sign and the digits that are known; ~ and one digit if none is.

    >>> known(0.123456789, 0.0), known(0.123456789, 4e-3), known(-0.123456789, 2.0)
    ('+0.123457', '+0.12', '-~0.1')
    """
    if value == 0.0 or not 0.0 < within < np.inf:
        return f"{value:+.6g}"
    shown = round(value, math.floor(-math.log10(within)))
    if shown:
        return f"{shown:+.6g}"
    text = f"{value:+.1g}" if abs(value) > _SHOWN_AS_ZERO * within else "+0"
    return f"{text[0]}~{text[1:]}"


def rule(model: Ruled, within: float | Array = 0.0) -> Line:
    """The decision rule in the names of the features; weights are known to be within these."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j + 1}" for j in range(model.n_features_in_)]
    classes = [c.item() if hasattr(c, "item") else c for c in model.classes_]
    near = np.broadcast_to(np.asarray(within, dtype=np.float64), (model.n_features_in_,))
    most = float(near.max(initial=0.0))
    if len(classes) == 2:
        terms = _terms(model.coef_[0], names, near)
        bound = known(-float(model.intercept_[0]) + 0.0, most).removeprefix("+")
        return "rule", f"{terms} >= {bound}  =>  {classes[1]!r}, otherwise {classes[0]!r}"
    lines = [
        f"score of {label!r} = {_terms(coef, names, near)} {known(float(offset), most)}"
        for label, coef, offset in zip(classes, model.coef_, model.intercept_)
    ]
    return "rule", "\n".join([*lines, "the class of the largest score"])


def _terms(coef: Array, names: Sequence[str], near: Array) -> str:
    parts = [
        f"{known(float(value), float(within))} {name}"
        for value, name, within in zip(coef, names, near)
        if value != 0
    ]
    if not parts:
        return "0"
    if len(parts) > SHOWN_WEIGHTS:
        parts = [*parts[:SHOWN_WEIGHTS], f"... ({len(parts) - SHOWN_WEIGHTS} more)"]
    return " ".join(parts).removeprefix("+")
