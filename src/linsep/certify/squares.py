"""What is proved about a plane of least squares: its cost, the least possible one, its sides."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.certify.certificate import Certificate, judge
from linsep.certify.normal import aims, columns_of, flat, totals
from linsep.certify.proof import Proof
from linsep.certify.rational import RationalSquares
from linsep.certify.squares_bounds import cost_bounds, weighted_squares
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status

__all__ = ["Squares", "measure_squares", "rounded"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Squares:
    """What is proved about the sum of squared errors, and about the plane."""

    objective: float
    """J(a) = sum of s (y f(x) - b)^2, rounded up."""
    lower_bound: float
    """No weights have a smaller J; rounded down."""
    total: float
    """J of a = 0: the weighted sum of the squared targets."""
    plane: Certificate
    """Errors, margin, and whether the plane separates."""
    reach: float = np.inf
    """The lower bound holds for weights up to so many times as large; inf means all."""
    minimum: Fraction | None = None
    """The least possible J as a fraction, on small tables."""
    weights: tuple[tuple[Fraction, ...], ...] = ()
    """The exact minimiser on small tables: coefficients, then the offset; one tuple a column."""

    @property
    def exact(self) -> bool:
        """Whether the minimum is known as a fraction."""
        return self.minimum is not None

    @property
    def gap(self) -> float:
        """objective - lower_bound."""
        gap = self.objective - self.lower_bound
        return max(gap, 0.0) if np.isfinite(gap) else np.inf

    @property
    def relative_gap(self) -> float:
        """gap / total: the share of the squared targets that could still be explained."""
        return self.gap / self.total if self.gap > 0 else 0.0

    @property
    def separable(self) -> bool | None:
        """True: this plane separates. False: no plane does. None: not decided."""
        return self.plane.separable

    @property
    def errors(self) -> int:
        """Rows not strictly on their own side; a score of zero is an error."""
        return self.plane.errors

    @property
    def wrong_rows(self) -> tuple[int, ...]:
        """Their numbers, at most the first thousand."""
        return self.plane.wrong_rows

    @property
    def margin(self) -> float:
        """Smallest y (w.x + b) / |w| over the rows; negative if a row is on the wrong side."""
        return self.plane.margin

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows that prove that no plane separates, where that is known."""
        return self.plane.rows

    @property
    def multipliers(self) -> tuple[Fraction, ...]:
        """Their multipliers."""
        return self.plane.multipliers

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        return bool(self.plane.finite and np.isfinite(self.objective))

    def settle(self, status: Status, tol: float) -> Status:
        """The status that the facts support."""
        if status in (Status.CERTIFIED, Status.SEPARATED) and not self.relative_gap <= tol:
            return Status.STALLED
        if status is Status.DIVERGED or not self.relative_gap <= tol:
            return status
        return Status.SEPARATED if self.separable else Status.CERTIFIED

    def refuted_by(self, proof: Proof) -> Self:
        """The same facts with a proof that nothing separates the classes."""
        return replace(self, plane=self.plane.refuted_by(proof))

    def __str__(self) -> str:
        least = f"no weights have less than {self.lower_bound:.6g}"
        if np.isfinite(self.reach):
            least = f"no weights up to {self.reach:g} times as large have less than " + (
                f"{self.lower_bound:.6g}"
            )
        if self.minimum is not None:
            least = f"the least possible is {_short(self.minimum)}"
        sides = (
            f"every row is on its own side, margin {self.margin:.4g}"
            if self.separable
            else f"{self.errors} of the rows not on their own side"
        )
        return f"squared error {self.objective:.6g}, {least}; {sides}"

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        out["plane"] = self.plane.to_dict()
        out["minimum"] = None if self.minimum is None else str(self.minimum)
        out["weights"] = [[str(v) for v in column] for column in self.weights]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The facts behind ``to_dict``."""
        known = {field.name: data[field.name] for field in fields(cls)}
        known["plane"] = Certificate.from_dict(known["plane"])
        minimum = known["minimum"]
        known["minimum"] = None if minimum is None else Fraction(minimum)
        known["weights"] = tuple(tuple(map(Fraction, column)) for column in known["weights"])
        return cls(**known)


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{float(value):.10g} (a fraction)"


def measure_squares(
    problem: Problem,
    witness: Witness,
    *,
    known: RationalSquares | None = None,
    basis: Array | None = None,
) -> Squares:
    """Recompute everything from the data and the weights.

    known is the exact answer of ``rational_squares``, where there is one. basis is a matrix P
    that may make W P nearly orthogonal; a bad one makes a bad bound, never a wrong one.
    """
    A = columns_of(problem, np.asarray(witness.a, dtype=np.float64))
    T = aims(problem)
    with np.errstate(all="ignore"):
        now = totals(problem, A, T)
        values = problem.sign * (now.residual + T)[:, 0] if problem.binary else None
        plane = judge(problem, Witness(a=witness.a), values=values)
        high, low, reach = cost_bounds(problem, A, T, now, basis)
        total = float(weighted_squares(problem, T).sum())
    if known is not None:
        low, reach = _below(known.minimum), np.inf
        high = max(high, low)
    minimum, weights = (None, ()) if known is None else (known.minimum, known.weights)
    return Squares(high, max(min(low, high), 0.0), total, plane, reach, minimum, weights)


def rounded(problem: Problem, known: RationalSquares | Squares) -> Array:
    """The exact weights as the nearest floats; inf where they are too large for one."""
    A = np.array([[_float(v) for v in column] for column in known.weights]).T
    return flat(problem, A)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _below(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else float(np.nextafter(near, -np.inf))
