"""What is proved about a model, in the form that all proofs share.

A proof of a model is an upper bound of its objective and a lower bound of the best objective
there is: ``Gap``. The files of this folder find the two numbers, each for one family of models;
here is what they have in common: what the values y f(x) of the rows tell beside the bounds,
several machines taken together, dual variables that are balanced for a free intercept, and the
words in which it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import Status
from linsep.core.schema import facts
from linsep.core.words import count, misplaced, percent
from linsep.numerics.rounding import SUM, U
from linsep.proofs.again import Checkable

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gap(Checkable):
    """What is proved about a model: its objective and how far it can be from the best one."""

    objective: float
    """Value of the model, rounded up."""
    lower_bound: float
    """No model has a smaller value; rounded down."""
    errors: int
    """Rows not strictly on their own side; a score of zero is an error."""
    margin: float
    """Smallest y (w.x + b) / |w| over the rows; negative if a row is on the wrong side."""
    width: float
    """Width of the street between the planes f(x) = -1 and f(x) = 1: 2 / |w|."""
    inside: int
    """Rows inside the street or wrong: y f(x) < 1 beyond rounding."""
    words: str
    """The objective in words."""
    parts: tuple[Gap, ...] = ()
    """One for each binary problem, where there are several."""
    functional_margin: float = -np.inf
    """Smallest y f(x) over the rows."""
    margin_aug: float | None = None
    """Smallest y (w.x + b) / |[w, b]|, of a linear rule: the margin in the augmented space."""

    @classmethod
    def of(
        cls,
        values: Array,
        length: float,
        high: float,
        low: float,
        words: str,
        offset: float | None = None,
    ) -> Self:
        """The bounds high and low, and what the values y f(x) of the rows tell.

        length is |w|, offset |b| for a linear rule. A value that is no number is an error; with
        bounds or a length that are none, or too long, nothing is known.
        """
        high, known = high if high == high else np.inf, 0 < length < np.inf
        clear, outside = np.count_nonzero(values > 0), np.count_nonzero(values >= 1.0 - 1e-9)
        least = float(values.min(initial=np.inf))
        size = None if offset is None else float(np.hypot(length, offset))
        return cls(
            objective=high,
            lower_bound=min(low, high),
            errors=len(values) - int(clear),
            margin=least / length if known else -np.inf,
            width=2.0 / length if length > 0 else np.inf,
            inside=len(values) - int(outside),
            words=words,
            functional_margin=least,
            margin_aug=None if size is None else least / size if size > 0 else -np.inf,
        )

    @classmethod
    def together(cls, parts: Sequence[Self], errors: int, scheme: str) -> Self:
        """Several machines as one; errors are those of the scheme. One alone is itself."""
        if len(parts) == 1:
            return parts[0]
        return replace(
            parts[0],
            objective=sum(part.objective for part in parts),
            lower_bound=sum(part.lower_bound for part in parts),
            errors=errors,
            margin=min(part.margin for part in parts),
            functional_margin=min(part.functional_margin for part in parts),
            margin_aug=least_of([part.margin_aug for part in parts]),
            width=min(part.width for part in parts),
            inside=sum(part.inside for part in parts),
            words=f"{len(parts)} machines, {scheme}, each {parts[0].words}",
            parts=tuple(parts),
        )

    @property
    def gap(self) -> float:
        """objective - lower_bound."""
        if not (np.isfinite(self.objective) and np.isfinite(self.lower_bound)):
            return np.inf
        return max(self.objective - self.lower_bound, 0.0)

    @property
    def relative_gap(self) -> float:
        """gap / objective; with several binary problems the largest of theirs."""
        if self.parts:
            return max(part.relative_gap for part in self.parts)
        return self._share()

    def _share(self) -> float:
        gap = self.gap
        if np.isinf(gap):
            return np.inf
        return gap / self.objective if gap > 0 else 0.0

    def settle(self, status: Status, tol: float = np.inf) -> Status:
        """The status that the facts support."""
        if status in OTHER_CLAIMS and (tol < np.inf or status is not Status.SEPARATED):
            status = Status.CERTIFIED  # a gap shows nothing else, whatever a solver says
        if status is Status.CERTIFIED and not self.relative_gap <= tol:
            return Status.STALLED
        if not status.ok and status is not Status.DIVERGED and self.relative_gap <= tol < np.inf:
            return Status.CERTIFIED
        return status

    def __str__(self) -> str:
        if np.isinf(self.objective):
            return f"{misplaced(self.errors, sentence=True)}, so this is no answer ({self.words})"
        within = f"within {percent(self._share())} of the best possible"
        if self.parts:
            within += f", each part within {percent(self.relative_gap)}"
        return (
            f"objective {self.objective:.6g}, {self.bound_words()}: "
            f"{within}; {count(self.errors, 'error')}; margin {self.margin:.4g} ({self.words})"
        )

    def bound_words(self, digits: int = 6) -> str:
        """The lower bound as half a sentence."""
        return f"no model has less than {self.lower_bound:.{digits}g}"

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers and strings."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        out["parts"] = [part.to_dict() for part in self.parts]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The facts behind ``to_dict``."""
        return cls(**facts(cls)(data))


OTHER_CLAIMS = (
    Status.CONVERGED, Status.SEPARATED, Status.INSEPARABLE, Status.NO_MAXIMUM,
    Status.BOUND_EXCEEDED, Status.ENOUGH, Status.ASSUMED,
)  # fmt: skip
"""Answers that bounds of an objective do not prove; who has a proof of one says so after it."""


def least_of(numbers: Sequence[float | None]) -> float | None:
    """The least, or None where one is unknown."""
    known = [number for number in numbers if number is not None]
    return min(known) if len(known) == len(numbers) else None


def balanced(
    alpha: Array, positive: NDArray[np.bool_], add: Callable[[Array], float] = np.sum
) -> tuple[Array, float]:
    """alpha >= 0 with the heavier class scaled down until sum alpha_i y_i vanishes.

    The exact factor makes the sum vanish exactly. The one computed differs from it, each entry
    from its exact multiple, by no more than the relative error given back. No entry grows. ``add``
    is numpy's sum, or ``rounded_once``.
    """
    plus, minus = float(add(alpha[positive])), float(add(alpha[~positive]))
    if min(plus, minus) == 0.0:
        return np.zeros_like(alpha), 0.0
    factor = min(plus, minus) / max(plus, minus)
    error = 2 * SUM + 4 * U if add is np.sum else 6 * U
    return np.where(positive == (plus > minus), alpha * factor, alpha), error


def intercept_words(intercept: str, constant: float = 1.0) -> str:
    """How b enters the objective: "free", "none" or "penalised"."""
    return {
        "free": "the intercept is not penalised",
        "none": "no intercept",
        "penalised": f"the intercept is penalised as the weight of a constant feature {constant:g}",
    }[intercept]
