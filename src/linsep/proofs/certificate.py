"""What can be said about a fitted plane, recomputed from the data and the witness alone.

Errors     rows whose value y (w.x + b) is not positive; a claim to have none is decided without
           rounding (``rows/signs.py``)
Margin     of the plane, rounded down where it separates: a lower bound of the best margin
Bounds     from the witness: points of the hulls bound the best margin from above, rows with
           multipliers that sum to zero prove that no plane separates
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import Status, Witness
from linsep.core.schema import facts, ratio_text
from linsep.core.words import misplaced
from linsep.kernels.base import Kernel
from linsep.numerics.rounding import U
from linsep.proofs import plain
from linsep.proofs.again import Checkable
from linsep.proofs.feature_space import FeatureSpace, Sums
from linsep.proofs.gap import OTHER_CLAIMS
from linsep.proofs.margins import margin_above, margin_below
from linsep.proofs.separable import Proof, combination
from linsep.proofs.witness import hold_hulls, hold_plane, hold_reflected, hold_signs
from linsep.rows.exact import dependency, reflected, vanishes
from linsep.rows.signs import row_signs

_NAMED = 1000  # rows on the wrong side that a certificate names


@dataclass(frozen=True)
class Certificate(Checkable):
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
    finite: bool = True
    """Whether all scores are numbers; otherwise X holds NaN or infinity, or it overflowed."""
    rows: tuple[int, ...] = ()
    """Not separable: rows whose combination with the multipliers is exactly zero."""
    multipliers: tuple[Fraction, ...] = ()
    rivals: tuple[Any, ...] = ()
    """With three classes and more: the class that each of the rows is compared with."""
    functional_margin: float = -np.inf
    """Smallest y (w.x + b) over the rows, in the units of the weights."""
    objective: float = np.inf
    """Perceptron criterion: the sum of -y (w.x + b) over the rows on the wrong side, each once."""

    @property
    def width(self) -> float:
        """Width of the free street around the plane: twice the margin, 0 if a row is not right."""
        return 2.0 * max(self.margin, 0.0)

    @property
    def gap(self) -> float:
        """Distance of the two bounds of the margin."""
        return self.margin_high - self.margin_low

    def settle(self, status: Status, unknown: float = 0.0, eps: float = np.inf) -> Status:
        """The status that the facts support, where the margin is unknown by so much and may be
        by eps."""
        if self.separable is False:
            return Status.INSEPARABLE
        looked_at = status in (Status.SEPARATED, Status.CONVERGED)  # below, and by a verdict
        if status in OTHER_CLAIMS and not looked_at:  # nothing here shows it
            return Status.SEPARATED if self.separable else Status.STALLED
        if status is Status.CERTIFIED and not unknown <= eps:
            return Status.STALLED
        if status is Status.SEPARATED and self.separable is None:
            return Status.BOUNDARY if self.functional_margin >= 0 else Status.STALLED
        if status is Status.CERTIFIED and self.separable is None:
            return Status.EPS_TOO_LARGE
        return status

    def refuted_by(self, proof: Proof) -> Self:
        """The same facts with the rows of a proof that nothing separates the data."""
        rivals = () if proof.rivals is None else tuple(proof.classes[r] for r in proof.rivals)
        return replace(
            self,
            separable=False,
            margin_high=0.0,
            margin_aug_high=0.0,
            rows=tuple(int(row) for row in proof.rows),
            multipliers=tuple(proof.multipliers),
            rivals=rivals,
        )

    def __str__(self) -> str:
        lines = []
        if self.separable:
            lines.append(f"every row is on its own side; margin {self.margin:.6g}")
        else:
            lines.append(f"{misplaced(self.errors, sentence=True)} of this plane")
        if self.separable is False:
            listed = combination(self.rows, self.multipliers)
            lines.append(f"no plane separates the classes: {listed} add up to zero")
        elif np.isfinite(self.margin_high):
            lines.append(
                f"the best margin lies between {self.margin_low:.6g} and {self.margin_high:.6g}"
            )
        if self.separable is not False and np.isfinite(self.margin_aug_high):
            lines.append(
                f"in the augmented space between {self.margin_aug_low:.6g} "
                f"and {self.margin_aug_high:.6g}"
            )
        return "; ".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        out["wrong_rows"], out["rows"] = list(self.wrong_rows), list(self.rows)
        out["multipliers"] = [ratio_text(m) for m in self.multipliers]
        out["rivals"] = [getattr(r, "item", lambda r=r: r)() for r in self.rivals]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The certificate behind ``to_dict``."""
        return cls(**facts(cls)(data))


def judge(
    problem: Problem, witness: Witness, *, values: NDArray[np.float64] | None = None
) -> Certificate:
    """Recompute everything that the witness is good for; values z . a that a certificate has
    computed already are not computed again."""
    a = np.asarray(witness.a, dtype=np.float64)
    sides = _sides(problem, a, values)
    wrong = sides.wrong
    separable: bool | None = None
    claim = witness.claim if _usable(problem, witness) else ""
    if not wrong.size and np.isfinite(a).all():  # a claim to separate is decided without rounding
        right = row_signs(problem, *_plane(problem, a)) > 0
        wrong = _wrong(right, problem.n)
        separable = True if not wrong.size else None
        if separable is None:
            hold_signs(problem, *_plane(problem, a), right)
    margin, margin_aug = _margins(problem, a, sides, separates=bool(separable))
    if separable:
        hold_plane(problem, *_plane(problem, a), margin=margin)
    high, high_aug = np.inf, np.inf
    rows: list[int] = []
    multipliers: list[Fraction] = []
    if claim == "origin":
        rows, multipliers = _zero_combination(problem, witness)
        if rows:
            hold_reflected(problem, rows, multipliers)
            separable, high, high_aug = False, 0.0, 0.0
    elif claim == "hull":
        high_aug = hull_bound(problem, witness)
    elif claim == "two hulls":
        high = margin_above(problem, witness.rows, witness.multipliers)
        hold_hulls(problem, witness.rows, witness.multipliers, high)
    if not problem.fit_intercept:  # the two spaces are one
        high = high_aug = min(high, high_aug)
    return Certificate(
        separable=separable,
        errors=len(wrong),
        wrong_rows=_named(problem, wrong),
        margin=margin,
        margin_low=max(margin, 0.0),
        margin_high=high,
        margin_aug=margin_aug,
        margin_aug_low=max(margin_aug, 0.0),
        margin_aug_high=high_aug,
        finite=sides.finite,
        rows=tuple(problem.sample_of(r) for r in rows),
        multipliers=tuple(multipliers),
        rivals=tuple(problem.classes[problem.rival_of(r)] for r in rows if not problem.binary),
        functional_margin=sides.least,
        objective=sides.criterion,
    )


@dataclass(frozen=True)
class _Sides:
    """On which sides of a plane, or of the planes of two classes each, the rows are."""

    wrong: NDArray[np.int64]
    """Samples with a value that is not above 0."""
    least: float
    """The smallest value,"""
    nearest: float
    """and that of a value over the distance of the weights of its two classes."""
    criterion: float
    finite: bool


def _sides(problem: Problem, a: NDArray[np.float64], values: NDArray[np.float64] | None) -> _Sides:
    """Of all rows; values of two classes may be known."""
    apart = None if problem.binary else _apart(problem.split(a)[0])

    def look(lo: int, hi: int, found: NDArray[np.float64]) -> _Sides:
        finite = bool(np.isfinite(found.sum()) or np.isfinite(found).all())
        least, nearest = float(found.min()), np.inf
        if apart is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                nearest = float(np.fmin.reduce(found / apart[problem.label[lo:hi]].ravel()))
        wrong = lo + _wrong(found, hi - lo)
        return _Sides(wrong, least, nearest, _criterion(found), finite)

    if values is not None:
        return look(0, problem.n, values)
    parts = plain.by_values(problem, a, look)
    return _Sides(
        wrong=np.concatenate([one.wrong for one in parts]),
        least=float(np.min([one.least for one in parts])),
        nearest=float(np.fmin.reduce([one.nearest for one in parts])),
        criterion=float(sum(one.criterion for one in parts)),
        finite=all(one.finite for one in parts),
    )


def _apart(coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far the weights of the classes are from those of each of their rivals, in order."""
    found = np.stack([np.linalg.norm(coef - w, axis=1) for w in coef])
    return found[~np.eye(len(coef), dtype=bool)].reshape(len(coef), -1)


def judge_sums(problem: Problem, kernel: Kernel, sums: Sums) -> Certificate:
    """The same facts of sums over kernel values, in the feature space of the kernel.

    An error is whatever may be one. Coefficients that are shares of the rows bound the best margins
    from above.
    """
    space = FeatureSpace(problem, kernel)
    sides = space.sides(sums)
    right = np.ones(problem.n, dtype=bool)
    criterion = 0.0
    for side in sides:
        right[side.rows] &= side.sure
        criterion += _criterion(side.values)
    wrong = np.flatnonzero(~right)
    length = float(np.sqrt(space.lengths(sums) + float(sums.intercept @ sums.intercept)))
    lowest = min(side.lowest for side in sides)
    functional = min(float(side.values.min(initial=np.inf)) for side in sides)
    aug = functional / length if 0 < length < np.inf else -np.inf
    margin = min(side.margin for side in sides)
    if not wrong.size:
        margin = min(side.least for side in sides)
        aug = max(lowest / length * (1 - 8 * U), 0.0) if 0 < length < np.inf else 0.0
    high, high_aug = _sums_above(problem, space, sums)
    return Certificate(
        separable=None if wrong.size else True,
        errors=len(wrong),
        wrong_rows=_named(problem, wrong),
        margin=margin,
        margin_low=max(margin, 0.0) if not wrong.size else 0.0,
        margin_high=high,
        margin_aug=aug,
        margin_aug_low=max(aug, 0.0) if not wrong.size else 0.0,
        margin_aug_high=high_aug,
        finite=bool(all(np.isfinite(side.values).all() for side in sides)),
        functional_margin=functional,
        objective=criterion,
    )


def _sums_above(problem: Problem, space: FeatureSpace, sums: Sums) -> tuple[float, float]:
    """Upper bounds of the best margins, here and in the augmented space, from shares of rows.

    A sum of two classes has y c >= 0. Of more, the coefficient of a row is >= 0 for its own class
    and <= 0 for all others, and they sum to zero.
    """
    label = problem.label[sums.support]
    if problem.binary:
        shares = sums.coef[0] * plain.signs(problem)[sums.support]
        proper = bool((shares >= 0).all())
    else:
        others = label[:, None] != np.arange(problem.K)
        shares = sums.coef[label, np.arange(len(label))]
        whole = np.abs(sums.coef.sum(axis=0)) <= 8 * problem.K * U * np.abs(shares)
        proper = bool((shares >= 0).all() and (sums.coef.T[others] <= 0).all() and whole.all())
    total = float(shares.sum())
    if not proper or not total > 0:
        return np.inf, np.inf
    high = space.bound(sums.support, shares) if problem.binary else np.inf
    tilt = sums.coef.sum(axis=1) if problem.fit_intercept else np.zeros(len(sums.coef))
    slack = float(np.abs(sums.coef).sum()) * (len(label) + 8 * problem.K) * U
    slack *= 1.0 + float(np.sqrt(space.values.diagonal(sums.support).max(initial=0.0)))
    point = float(np.sqrt(space.lengths(sums) + float(tilt @ tilt)))
    return high, (point + slack) / total * (1 + (len(label) + 16) * U)


def _usable(problem: Problem, witness: Witness) -> bool:
    """Whether there are multipliers, all numbers, and all of rows: others prove nothing."""
    rows, shares = witness.rows, witness.multipliers
    finite = shares.dtype == object or bool(np.isfinite(shares).all())
    most = problem.n if witness.claim == "two hulls" else problem.n_rows
    return bool(len(shares) and finite and 0 <= rows.min() <= rows.max() < most)


def _wrong(values: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Which of n samples have a value that is not above 0."""
    right: NDArray[Any] = (values > 0).reshape(n, -1)
    return np.flatnonzero(~right.all(axis=1))


def _named(problem: Problem, wrong: NDArray[np.int64]) -> tuple[int, ...]:
    """The first of these samples by their places in the caller's X."""
    first, index = wrong[:_NAMED], problem.row_index
    return tuple((first if index is None else index[first]).tolist())


def _criterion(values: NDArray[np.float64]) -> float:
    """The sum of what the rows on the wrong side are short of 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.maximum(-values, 0.0).sum())
    return total if total == total else np.inf


def _plane(problem: Problem, a: NDArray[np.float64]) -> tuple[Any, Any]:
    coef, intercept = problem.split(a)
    return (coef[0], float(intercept[0])) if problem.binary else (coef, intercept)


def _zero_combination(problem: Problem, witness: Witness) -> tuple[list[int], list[Fraction]]:
    """Rows and multipliers that give exactly zero: the witness's, or others of its rows."""
    rows = witness.rows.tolist()
    block = reflected(problem, rows)
    counts = [Fraction(m) for m in witness.multipliers.tolist()]
    if min(counts) < 0 or not vanishes(block, counts):
        found = dependency(block) if len(rows) <= 2 * problem.dim + 2 else None
        if found is None or min(found) < 0:
            return [], []
        counts = found
    total = sum(counts)
    kept = [(row, m / total) for row, m in zip(rows, counts) if m]
    return [row for row, _ in kept], [m for _, m in kept]


def _margins(
    problem: Problem, a: NDArray[np.float64], sides: _Sides, *, separates: bool
) -> tuple[float, float]:
    """Margin of the plane in the space of X, and in the augmented space, where it separates
    rounded down."""
    top = float(np.abs(a).max())  # squares of huge and of tiny weights are no numbers
    size = top * float(np.linalg.norm(a / top)) if 0 < top < np.inf else 0.0
    if not 0 < size < np.inf:
        return -np.inf, -np.inf
    aug = sides.least / size
    if separates:
        aug -= 4 * (problem.d + 4) * U * _radius(problem)
        return margin_below(problem, *_plane(problem, a)), aug
    if problem.binary:
        length = float(np.linalg.norm(problem.split(a)[0][0]))
        return (sides.least / length if length else -np.inf), aug
    return sides.nearest, aug


def _radius(problem: Problem) -> float:
    """A bound of the length of all reflected rows."""
    return float(np.sqrt(2 * (problem.squared_lengths.max() + 1)))


def hull_bound(problem: Problem, witness: Witness) -> float:
    """Length of the point of the hull, rounded up: no augmented margin is larger."""
    point, slack = _combine(
        problem, witness.rows, witness.multipliers, with_offset=problem.fit_intercept
    )
    return float(np.linalg.norm(point)) * (1 + 1e-14) + slack


def _combine(
    problem: Problem,
    rows: NDArray[np.int64],
    multipliers: NDArray[np.float64],
    *,
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
    slack = (rows.size + 4) * 2 * U * 2 * float(np.linalg.norm(block, axis=1).max())
    if problem.binary:
        return (lam * plain.signs(problem)[samples]) @ block, slack
    point = np.zeros((problem.K, problem.d + 1))
    for row, weight, x in zip(rows.tolist(), lam, block):
        point[problem.label[row // (problem.K - 1)]] += weight * x
        point[problem.rival_of(row)] -= weight * x
    return point.ravel(), slack
