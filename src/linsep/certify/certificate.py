"""What can be said about a fitted plane, recomputed from the data and the witness alone."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.certify._tmp_exact import exact_multipliers, row_signs
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status

__all__ = ["Certificate", "judge"]

_ULP = 2.0**-53


@dataclass(frozen=True)
class Certificate:
    """Facts about a plane and about the data, none of them taken from the solver.

    The margin of a plane is the smallest y (w.x + b) / |w| over the rows: one-sided, in the
    units of X, negative when a row is on the wrong side. In the augmented space the offset
    counts as a coordinate: y (w.x + b) / |[w, b]|. The two never mix.
    """

    separable: bool | None
    """True: this plane separates. False: no plane does. None: not decided here."""
    errors: int
    """Rows not strictly on their own side; a score of zero is an error."""
    wrong_rows: tuple[int, ...]
    """Their numbers, at most the first thousand."""
    margin: float
    """Margin of this plane."""
    margin_low: float
    margin_high: float
    """The best margin of any plane lies between these two; inf where no bound is known."""
    margin_aug: float
    margin_aug_low: float
    margin_aug_high: float
    """The same in the augmented space."""
    rows: tuple[int, ...] = ()
    """Not separable: rows whose combination with the multipliers is exactly zero."""
    multipliers: tuple[Fraction, ...] = ()
    rivals: tuple[Any, ...] = ()
    """With three classes and more: the class that each of the rows is compared with."""

    @property
    def gap(self) -> float:
        """Distance of the two bounds of the margin."""
        return self.margin_high - self.margin_low

    def settle(self, status: Status) -> Status:
        """The status that the facts support."""
        if self.separable is False:
            return Status.INSEPARABLE
        if status is Status.SEPARATED and self.separable is None:
            return Status.BOUNDARY
        return status

    def __str__(self) -> str:
        lines = []
        if self.separable:
            lines.append(f"every row is on its own side; margin {self.margin:.6g}")
        else:
            lines.append(f"{self.errors} rows are not on their own side of this plane")
        if self.separable is False:
            listed = ", ".join(f"{m} x row {r}" for r, m in zip(self.rows, self.multipliers))
            lines.append(f"no plane separates the classes: {listed} add up to zero")
        elif np.isfinite(self.margin_high):
            lines.append(
                f"the best margin lies between {self.margin_low:.6g} and {self.margin_high:.6g}"
            )
        if np.isfinite(self.margin_aug_high):
            lines.append(
                f"in the augmented space between {self.margin_aug_low:.6g} "
                f"and {self.margin_aug_high:.6g}"
            )
        return "; ".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        out["wrong_rows"], out["rows"] = list(self.wrong_rows), list(self.rows)
        out["multipliers"] = [str(m) for m in self.multipliers]
        out["rivals"] = [getattr(r, "item", lambda r=r: r)() for r in self.rivals]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The certificate behind ``to_dict``."""
        known = {field.name: data[field.name] for field in fields(cls)}
        known["multipliers"] = tuple(Fraction(m) for m in known["multipliers"])
        for name in ("wrong_rows", "rows", "rivals"):
            known[name] = tuple(known[name])
        return cls(**known)


def judge(problem: Problem, witness: Witness) -> Certificate:
    """Recompute everything that the witness is good for."""
    a = witness.a
    values = problem.values(a)
    wrong, separable = _wrong_samples(problem, a, values)
    margin, margin_aug = _margins(problem, a, values)
    high, high_aug = np.inf, np.inf
    rows: tuple[int, ...] = ()
    multipliers: tuple[Fraction, ...] = ()
    if witness.claim == "origin":
        found = exact_multipliers(problem, witness.rows, witness.multipliers)
        if found is not None:
            separable, high, high_aug = False, 0.0, 0.0
            rows, multipliers = tuple(int(r) for r in found[0]), tuple(found[1])
    elif witness.claim == "hull":
        high_aug = hull_bound(problem, witness)
    elif witness.claim == "two hulls":
        high = two_hulls_bound(problem, witness)
    if not problem.fit_intercept:  # the two spaces are one
        high = high_aug = min(high, high_aug)
    return Certificate(
        separable=separable,
        errors=len(wrong),
        wrong_rows=tuple(problem.sample_of_index(int(i)) for i in wrong[:1000]),
        margin=margin,
        margin_low=max(margin, 0.0),
        margin_high=high,
        margin_aug=margin_aug,
        margin_aug_low=max(margin_aug, 0.0),
        margin_aug_high=high_aug,
        rows=tuple(problem.sample_of(r) for r in rows),
        multipliers=multipliers,
        rivals=() if problem.binary else tuple(problem.classes[problem.rival_of(r)] for r in rows),
    )


def _wrong_samples(
    problem: Problem, a: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], bool | None]:
    """Samples not strictly on their own side, and whether there are none; exact signs."""
    signs = row_signs(problem, a, values)
    right = (signs > 0).reshape(problem.n, -1).all(axis=1)
    wrong = np.flatnonzero(~right)
    return wrong, True if wrong.size == 0 else None


def _margins(
    problem: Problem, a: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[float, float]:
    """Margin of the plane in the space of X and in the augmented space, rounded down."""
    coef, intercept = problem.split(a)
    size = float(np.linalg.norm(a))
    slack = 4 * (problem.d + 4) * _ULP
    if size == 0 or not np.isfinite(size):
        return -np.inf if size == 0 else np.nan, -np.inf if size == 0 else np.nan
    if problem.binary:
        length = np.array([np.linalg.norm(coef[0])])
        lowest = float(values.min())
        in_x = lowest / length[0] if length[0] > 0 else float(np.sign(lowest)) * np.inf
    else:
        gaps = np.linalg.norm(coef[:, None] - coef[None], axis=2)
        own = np.repeat(problem.label, problem.K - 1)
        rival = np.tile(np.arange(problem.K - 1), problem.n)
        rival += rival >= own
        with np.errstate(divide="ignore", invalid="ignore"):
            in_x = float(np.min(values / gaps[own, rival]))
    radius = _radius(problem)
    return in_x - slack * (abs(in_x) + radius), float(values.min()) / size - slack * radius


def _radius(problem: Problem) -> float:
    """A bound of the length of all reflected rows."""
    return float(np.sqrt(2 * (problem.squared_lengths.max() + 1)))


def hull_bound(problem: Problem, witness: Witness) -> float:
    """Length of the point of the hull, rounded up: no augmented margin is larger."""
    point, slack = _combine(problem, witness.rows, witness.multipliers, problem.fit_intercept)
    return float(np.linalg.norm(point)) * (1 + 1e-14) + slack


def two_hulls_bound(problem: Problem, witness: Witness) -> float:
    """Half the distance of the two points, rounded up: no margin is larger."""
    positive = problem.sign[witness.rows] > 0
    if not positive.any() or positive.all():
        return np.inf
    point, slack = np.zeros(problem.dim), 0.0
    for side in (positive, ~positive):
        part, error = _combine(problem, witness.rows[side], witness.multipliers[side], False)
        point, slack = point + part, slack + error
    return (float(np.linalg.norm(point)) * (1 + 1e-14) + slack) / 2


def _combine(
    problem: Problem,
    rows: NDArray[np.int64],
    multipliers: NDArray[np.float64],
    with_offset: bool,
) -> tuple[NDArray[np.float64], float]:
    """The convex combination of reflected rows, and a bound of its rounding error."""
    if rows.size == 0 or (multipliers < 0).any() or not multipliers.sum() > 0:
        return np.full(problem.dim, np.inf), 0.0
    lam = multipliers / multipliers.sum()
    samples = rows if problem.binary else rows // (problem.K - 1)
    block = problem.matrix[samples]
    block = np.asarray(block.todense() if problem.sparse else block, dtype=np.float64)
    if with_offset:
        block = np.column_stack([block, np.ones(len(block))])
    else:
        block = np.column_stack([block, np.zeros(len(block))])
    slack = (rows.size + 4) * 2 * _ULP * 2 * float(np.linalg.norm(block, axis=1).max())
    if problem.binary:
        return (lam * problem.sign[samples]) @ block, slack
    point = np.zeros((problem.K, problem.d + 1))
    for row, weight, x in zip(rows.tolist(), lam, block):
        point[problem.label[row // (problem.K - 1)]] += weight * x
        point[problem.rival_of(row)] -= weight * x
    return point.ravel(), slack
