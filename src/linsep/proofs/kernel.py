"""The duality gap of a kernel machine, recomputed from (alpha, b) and the kernel alone.

The model is f(x) = sum alpha_i y_i K(x_i, x) + b; with |w|^2 = sum alpha_i alpha_j y_i y_j K_ij

    P = |w|^2 / 2 + sum c_i max(0, 1 - y_i f(x_i)),   D = sum alpha_i - |w|^2 / 2,

and D is a lower bound of the best P there is, for every alpha in its box with sum alpha_i y_i = 0,
if the kernel is positive semidefinite (``definite.py``). Where that is proved of K + s I only, the
bounds are those of K + s I: f(x_i) grows by s alpha_i y_i, which makes no loss larger, and |w|^2 by
s |alpha|^2. alpha is put into the box and balanced for it; kernel values are computed again in
float64, and all rounding errors are bounded by |K_ij|^2 <= K_ii K_jj.
Where these bounds are too rough, as with huge C, small machines are measured in balls, and those
with the linear kernel as the planes that they are.
For other kernels nothing bounds P from below, and none is claimed. Where no plane in the feature
space separates the classes, that is proved in fractions: ``Overlap``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import FLOAT32_VALUES
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.core.schema import Check, anything, listed, ratio, ratio_text, record, truth, whole
from linsep.errors import CapabilityError, ProofError
from linsep.kernels.base import Kernel, exact_gram
from linsep.kernels.blocks import (
    SHORT,
    STRIP,
    Duel,
    Duels,
    KernelValues,
    signed_sums,
    weighted_sums,
)
from linsep.kernels.rows import Rows
from linsep.kernels.spec import from_dict
from linsep.losses.hinge import best_stretch
from linsep.numerics.rounding import ROUNDED, SUM, U32, U
from linsep.proofs.gap import Gap, balanced
from linsep.proofs.referee import Defined, agreed, agreed_diagonal, defined, wider
from linsep.proofs.sharp import sharp_sums_of, sharp_weights

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_WORTH = 1e-6  # share of the objective from which rounding errors are worth interval arithmetic,
_WORTH_LINEAR = 1e-12  # and the sums of a plane
_TOO_LONG = 1e-6  # rounding leaves no hard margin with its nearest row so far beyond 1


@dataclass(frozen=True)
class Definite:
    """What is known of the eigenvalues of a Gram matrix; as it stands: none is negative."""

    convex: bool = True
    """Whether it may be taken as positive semidefinite."""
    proved: bool = True
    """Whether that is certain, of the matrix with ``shift`` on its diagonal."""
    shift: float = 0.0
    uneven: float = 0.0
    """How far values are from those of the symmetric part, which is meant: a share of
    sqrt(K_ii K_jj)."""
    how: str = ""
    """What to say of it in the reason for a solver."""


POSITIVE, INDEFINITE = Definite(), Definite(convex=False)


@dataclass(frozen=True)
class KernelGap(Gap):
    """What is proved about a kernel machine; margin and width are those of the feature space."""

    violation: float = 0.0
    """Largest violation of the conditions of optimality by two rows."""
    convex: bool = True
    """Whether the kernel is positive semidefinite; if not, there is no lower bound."""
    proved: bool = True
    """Whether that is proved; if not, the lower bound is one if it is true."""
    shift: float = 0.0
    """What was added to the diagonal of the Gram matrix before it was proved, and paid for."""

    @classmethod
    def together(cls, parts: Sequence[Self], errors: int, scheme: str) -> Self:
        """All machines of a scheme as one; errors are those of the scheme."""
        return replace(
            super().together(parts, errors, scheme),
            violation=max(part.violation for part in parts),
            convex=all(part.convex for part in parts),
            proved=all(part.proved for part in parts),
        )

    def settle(self, status: Status, tol: float = np.inf) -> Status:
        """The status that the facts support."""
        if not self.convex:
            return Status.CONVERGED if self.violation <= tol else _unproved(status)
        settled = super().settle(status, tol)
        return Status.ASSUMED if settled is Status.CERTIFIED and not self.proved else settled

    def bound_words(self, digits: int = 6) -> str:
        """The lower bound as half a sentence, with its condition."""
        condition = "" if self.proved else "if the kernel is positive semidefinite "
        return f"{condition}{super().bound_words(digits)}"

    def __str__(self) -> str:
        if self.convex or not np.isfinite(self.objective):
            return super().__str__()
        return (
            f"objective {self.objective:.6g} at a stationary point: no two variables violate the "
            f"conditions of optimality by more than {self.violation:.2g}. The kernel is not "
            f"positive semidefinite, so nothing bounds the objective from below; {self.errors} "
            f"errors ({self.words})"
        )


def _unproved(status: Status) -> Status:
    return Status.STALLED if status.ok else status


def kernel_gap(
    values: KernelValues, ids: Index, y: Array, cost: Array, alpha: Array, b: float,
    *, free: bool = True, known: Definite = POSITIVE, words: str = "", rough: Any = None,
    sums: tuple[Array, Array] | None = None, made: Defined | None = None, nu: float | None = None,
) -> KernelGap:  # fmt: skip
    """Bounds of one binary machine on the rows ``ids``; any alpha will do.

    The objective is that of the machine with exactly these alpha, the lower bound that of the
    nearest alpha which is allowed. rough: sums of these rows in float32 and their errors. sums:
    those of these alpha in float64 that were made, and agreed on, for all machines at once, as
    ``agreed`` gives them. made: those of this machine by definition. nu: the bounds are
    those of nu-SVC, see ``_excess``.
    """
    alpha = np.asarray(alpha, float)
    if not np.isfinite(alpha).all():  # no machine, so nothing is known of it
        gap = KernelGap.of(np.full(len(ids), -np.inf), 0.0, np.inf, -np.inf, words)
        return replace(gap, violation=np.inf, convex=known.convex, proved=known.proved)
    if sums is None:
        s, more = sums_of(values, ids, y, alpha * y, b, rough)
        used = np.flatnonzero(alpha)
        s, apart = agreed(values, ids, ids[used], (alpha * y)[used], s, more, made)
    else:
        (s, apart), more = sums, np.zeros(len(ids))
    convex, shift = known.convex, known.shift
    root = roots(values, ids, ids[np.flatnonzero(alpha)], shift, convex=convex)
    mass, share = float(np.abs(alpha) @ root), _share(values, alpha) + known.uneven
    share = wider(share, mass * root, apart, 4 * U * (np.abs(s) + abs(b) + 1) + more)
    plain, score = float((alpha * y) @ s), y * (s + b)
    if convex and not known.proved and plain + (share + SUM) * mass * mass < 0:
        return kernel_gap(  # alpha itself shows a negative eigenvalue
            values, ids, y, cost, alpha, b, free=free, known=INDEFINITE, words=words,
            rough=rough, sums=sums, made=made, nu=nu,
        )  # fmt: skip
    quad = plain + _added(shift, alpha)
    high_quad = quad + (share + SUM) * mass * mass
    high_quad = max(high_quad, 0.0) if convex else high_quad  # |w|^2, where there is a w
    off = share * mass * root + 4 * U * (np.abs(s) + abs(b) + 1) + more
    off += shift * np.maximum(-alpha, 0.0) * (1 + 4 * U)
    hard = bool(np.isinf(cost).any())
    if hard:
        least = float((score - off).min(initial=np.inf))
        least = 1.0 if least > 1 + _TOO_LONG else least  # no shorter than it is
        high = 0.5 * (high_quad / least) / least * (1 + 16 * U) if least > 0 else np.inf
    else:
        loss = float((cost * np.maximum(0.0, 1.0 - score + off)).sum())
        high = 0.5 * high_quad + loss * (1 + SUM)
        high += 8 * U * (0.5 * abs(high_quad) + loss)
    low = -np.inf
    if convex:
        low = _lower(values, ids, y, cost, alpha, quad, s, root, share, shift, free=free, hard=hard)
    if nu is not None:
        low -= _excess(y, cost, alpha, nu, free=free) if low > 0 else np.inf
    elif convex and not hard and _rounding_matters(high, low, quad, cost, score, alpha, values):
        plane = None if shift > 0 else plane_bounds(values, ids, y, cost, alpha, b, free=free)
        if plane is None:
            high, low = ball_bounds(values, ids, y, cost, alpha, b, high, low, shift, free=free)
        else:
            s, score = plane.sums, y * (plane.sums + b)
            high, low, plain = min(high, plane.high), max(low, plane.low), plane.squared
    violation = _violation(y, cost, np.clip(alpha, 0.0, cost), s - y, free=free)
    gap = KernelGap.of(score, float(np.sqrt(max(plain, 0.0))), high, low, words)
    return replace(gap, violation=violation, convex=convex, proved=known.proved, shift=shift)


def as_labelled(problem: Problem, pairs: Duels, pair: Duel) -> Duel:
    """A pair with the signs and weights that labels and weights of the problem give its rows."""
    rows, (first, second) = pairs.order[pair.ids], pair.classes
    wanted = np.flatnonzero((problem.label == first) | (problem.label == second))
    same = np.array_equal(pairs.order, pairs.values.order)  # kernel values are of these rows
    if not (same and np.array_equal(np.sort(rows), wanted)):
        raise ProofError(
            f"{len(rows)} rows are taken for those of two classes that have {len(wanted)}, or "
            "others than these; this is a bug of linsep, please report it."
        )
    y = np.where(problem.label[rows] == second, 1.0, -1.0)
    return replace(pair, y=y, weight=problem.weight[rows])


_LONGER = 1.001  # times as long a machine may become to have rounding out of its losses


def stretch(
    values: KernelValues, ids: Index, y: Array, cost: Array, alpha: Array, b: float
) -> float:
    """The best factor a little above 1 for a machine, with the errors of its scores counted.

    With a large C even a violation of the size of a rounding error costs more than the length.
    """
    some = np.flatnonzero(alpha)
    s = values.combine(ids[some], (alpha * y)[some], ids)  # of a new machine, no claim yet
    root = np.sqrt(np.maximum(values.diagonal(ids), 0.0))
    off = _share(values, alpha) * float(np.abs(alpha) @ root) * root
    low = y * (s + b) - 2 * off - 16 * U * (np.abs(s) + abs(b) + 1)
    t = best_stretch(float((alpha * y) @ s), cost, low, _LONGER)
    return t * (1 + 8 * U) if t > 1.0 else 1.0


def _sums(values: KernelValues, ids: Index, signed: Array) -> tuple[Array, Array]:
    """Sums of all rows, and how far two ways to them are apart."""
    some = np.flatnonzero(signed)
    return agreed(
        values, ids, ids[some], signed[some], values.combine(ids[some], signed[some], ids)
    )


def _share(values: KernelValues, alpha: Array) -> float:
    """Rounding of each product alpha K_ij and of their sum, as a share of sqrt(K_ii K_jj)."""
    return entry_error(values) + (len(alpha) + 8) * U


def _added(shift: float, alpha: Array) -> float:
    """What the shift adds to |w|^2, rounded up."""
    return shift * float(alpha @ alpha) * (1 + (len(alpha) + 4) * U) if shift > 0 else 0.0


def _rounding_matters(
    high: float, low: float, quad: float, cost: Array, score: Array, alpha: Array,
    values: KernelValues,
) -> bool:  # fmt: skip
    """Whether a good part of the gap is what rounding errors may amount to at worst."""
    linear = values.kernel is not None and values.kernel.linear
    plain = 0.5 * quad + float((cost * np.maximum(0.0, 1.0 - score)).sum())
    least = float(np.clip(alpha, 0.0, cost).sum()) - 0.5 * quad
    worth = _WORTH_LINEAR if linear else _WORTH
    return bool(high > low and (high - plain) + max(least - low, 0.0) > worth * high)


def criterion(
    values: KernelValues, y: Array, weight: Array, alpha: Array, b: float
) -> tuple[KernelGap, Array]:
    """The perceptron criterion of a machine, and its scores; an error is whatever may be one."""
    ids, some = np.arange(len(y)), np.flatnonzero(alpha)
    s, apart = _sums(values, ids, alpha * y)
    root = roots(values, ids, some, convex=getattr(values.kernel, "positive", None) is True)
    mass, rest = float(np.abs(alpha) @ root), 4 * U * (np.abs(s) + abs(b))
    share = wider(_share(values, alpha), mass * root, apart, rest)
    off = share * mass * root + rest
    score, length = y * (s + b), float(np.sqrt(max(float((alpha * y) @ s), 0.0)))
    wrong = ~(score > off)  # what is no number is wrong
    high = float((weight * np.maximum(off - score, 0.0)).sum() * (1 + SUM)) if wrong.any() else 0.0
    words = "perceptron criterion: sum of -y f(x) over the rows on the wrong side"
    gap = replace(KernelGap.of(score, length, high, 0.0, words), errors=int(wrong.sum()))
    return gap, s + b


def _lower(
    values: KernelValues, ids: Index, y: Array, cost: Array, alpha: Array, quad: float, s: Array,
    root: Array, share: float, shift: float, *, free: bool, hard: bool,
) -> float:  # fmt: skip
    """Lower bound of D at the feasible point next to alpha; at least 0, that of alpha = 0.

    quad and root are those of the matrix with the shift, s the sums of alpha that were agreed on.
    """
    inside = np.clip(alpha, 0.0, cost)
    point, slack = balanced(inside, y > 0) if free else (inside, 0.0)
    total, mass = float(point.sum()) * (1 - slack - SUM), float(np.abs(alpha) @ root)
    moved = float(np.abs(point - alpha) @ root)
    more = 2 * moved * mass + moved * moved  # |w|^2 cannot grow by more on the way to the point
    if more > 1e-7 * total:  # far away: then it is computed for the point itself
        some = np.flatnonzero(point)
        signed = (point * y)[some]
        at, told = ids[some], values.combine(ids[some], signed, ids[some])
        known = defined(values, at, at, signed, (s[some], root[some]))
        sums, apart = agreed(values, at, at, signed, told, 0.0, known)
        quad = float(signed @ sums) + _added(shift, signed)
        mass, more = float(point @ root), 0.0
        share = wider(share, mass * root[some], apart, 4 * U * np.abs(sums))
    quad += more + (share + 3 * slack + 2 * SUM) * mass * mass
    quad = max(quad, 0.0) * (1 + 8 * U)
    if hard:  # a multiple of the point is as feasible: the best one
        bound = 0.5 * total * (total / quad) if quad > 0 and total > 0 else 0.0
    else:
        bound = total - 0.5 * quad
    return max(bound - 16 * U * abs(bound), 0.0) if np.isfinite(bound) else 0.0


NU_ROUNDED = ROUNDED
"""Share of nu that proofs of nu-SVC leave to rounding: what is proved is that of nu (1 - it)."""


def _excess(y: Array, cost: Array, alpha: Array, nu: float, *, free: bool) -> float:
    """How far the alpha of the bound are beyond what nu asks for; inf if they are below it.

    nu-SVC is min |v|^2 / 2 - nu r + mean of max(0, r - y g(x)) over g and r >= 0, and its dual
    max -|v|^2 / 2 over 0 <= a_i <= 1/n, sum a_i y_i = 0, sum a_i >= nu. With v = w / (n C) and
    r = 1 / (n C), times (n C)^2 and plus nu n C, the first is |w|^2 / 2 + C sum of hinge losses;
    with a = alpha / (n C) the second is sum alpha - |w|^2 / 2 less sum alpha - nu n C. So the
    bounds of nu-SVC in these units are those of the soft margin, the lower less that difference.
    Weighted rows: n is the sum of weights, n C that of the costs.
    """
    inside = np.clip(alpha, 0.0, cost)
    point, slack = balanced(inside, y > 0) if free else (inside, 0.0)
    total, wanted = float(point.sum()), nu * (1 - NU_ROUNDED) * float(cost.sum())
    if total * (1 - slack - SUM) < wanted * (1 + 2 * SUM):
        return np.inf
    return total * (1 + slack + SUM) - wanted * (1 - 2 * SUM)


def street_above(
    values: KernelValues, ids: Index, y: Array, alpha: Array, *, free: bool, known: Definite
) -> float:
    """No plane of the feature space has a larger margin, whatever alpha >= 0 is; rounded up.

    alpha gives a point of the hull of each class: their distance is twice that bound. Without an
    offset it is the length of a point of the hull of the rows y phi(x).
    """
    if not known.convex:
        return np.inf
    alpha = np.maximum(np.nan_to_num(alpha, posinf=0.0), 0.0)
    root = roots(values, ids, ids, known.shift, convex=True)
    sums, apart = _sums(values, ids, alpha * y)
    size, rest = float(alpha @ root) * root, 4 * U * np.abs(sums)
    share = wider(_share(values, alpha) + known.uneven, size, apart, rest)
    quad = float((alpha * y) @ sums) + _added(known.shift, alpha)
    hard = np.full(len(ids), np.inf)
    low = _lower(
        values, ids, y, hard, alpha, quad, sums, root, share, known.shift, free=free, hard=True
    )
    return float(1.0 / np.sqrt(2.0 * low)) * (1 + 8 * U) if low > 0 else np.inf


def _violation(y: Array, cost: Array, alpha: Array, f: Array, *, free: bool) -> float:
    grows, falls, positive = alpha < cost, alpha > 0, y > 0
    up, low = f[np.where(positive, grows, falls)], f[np.where(positive, falls, grows)]
    if not free:
        return max(-float(up.min(initial=0.0)), float(low.max(initial=0.0)))
    if not len(up) or not len(low):
        return 0.0
    return max(float(low.max() - up.min()), 0.0)


# -- The sums s_i = sum_j c_j K(x_j, x_i) that a proof needs: float64 where it matters ------------
#
# Rows that are not support vectors and lie safely behind the edge of the street have no loss, and
# that is all a proof needs to know of them. float32 with a bound of all its errors decides it for
# most rows at a third of the cost; the others, and |w|^2, are computed in float64, where of the
# symmetric matrix of the support vectors one half is enough.
#
# Errors of kernel values in float32 are relative (``Kernel.single_error``), so they are a share of
# sum |c_j| K(x_j, x_i), which is summed too.


_TINY = 1e-37  # exponentials below the range of float32


@dataclass(frozen=True)
class Rough:
    """Sums in float32, and how far each can be from the truth: infinitely where none was made.

    Of one machine alone only those of rows that are not support vectors; else of all rows, of
    each for the machines it takes part in.
    """

    sums: Array
    error: Array


def rough_sums(
    values: KernelValues, coef: Array, groups: list[tuple[Index, Index]] | None = None
) -> Rough | None:
    """Sums for each column of coef (rows x machines), or None where float32 brings nothing.

    groups are rows with the columns that are wanted of them; without it all are.
    """
    used = np.flatnonzero(coef.any(axis=1))
    if values.kernel is None or not values.kernel.single or values.n * len(used) < FLOAT32_VALUES:
        return None
    if groups is None:
        # of one machine the support vectors need float64 in any case
        rest = np.flatnonzero(coef[:, 0] == 0) if coef.shape[1] == 1 else np.arange(values.n)
        groups = [(rest, np.arange(coef.shape[1]))]
    sums, error = np.zeros(coef.shape), np.full(coef.shape, np.inf)
    for rows, columns in groups:
        own = coef[:, columns]
        used = np.flatnonzero(own.any(axis=1))
        left, right = values.picked(rows, np.float32), values.picked(used, np.float32)
        found = single_sums(values.kernel, left, right, own[used])
        if found is None:
            return None
        place = rows[:, None], columns
        sums[place], error[place] = found
    return Rough(sums, error)


def single_sums(kernel: Any, A: Rows, B: Rows, coef: Array) -> tuple[Array, Array] | None:
    """weighted_sums of rows in float32, and bounds of their errors; None if there are none."""
    if not A.n:
        return None
    m = coef.shape[1]
    if not B.n:
        return np.zeros((A.n, m)), np.zeros((A.n, m))
    share = _share_of_sums(kernel, A, B, SHORT if m == 1 else STRIP + 74)
    if share is None:
        return None
    if m == 1:
        plus, minus = (v[:, None] for v in signed_sums(kernel, A, B, coef[:, 0]))
        return plus - minus, _error(plus + minus, share, coef)
    both = weighted_sums(kernel, A, B, np.hstack([coef, np.abs(coef)]))
    return both[:, :m], _error(both[:, m:], share, coef)


def _share_of_sums(kernel: Any, A: Rows, B: Rows, terms: int) -> float | None:
    """Error of a sum of values that float32 adds up ``terms`` at a time, over that of sizes."""
    error = kernel.single_error(A, B)
    if error is None:
        return None
    share = float(error + B.n * 2.0**-52 + (terms + 2) * U32)
    return share if share < 0.5 else None


def _error(size: Array, share: float, coef: Array) -> Array:
    return np.asarray(size * (share / (1 - share)) + _TINY * np.abs(coef).sum(axis=0))


def sums_of(
    values: KernelValues, ids: Index, y: Array, signed: Array, b: float, rough: Any = None
) -> tuple[Array, Array]:
    """Sums for the rows ``ids`` and what float32 adds to their errors: 0 where float64 was used.

    rough is a pair (sums, error) of these rows. Those of the support vectors are made again, so
    they tell whether it can be believed: values that somebody has kept may have been written to.
    """
    some = np.flatnonzero(signed)
    if rough is None:
        return values.combine(ids[some], signed[some], ids), np.zeros(len(ids))
    s, error = rough[0].copy(), rough[1].copy()
    again = values.combine_symmetric(ids[some], signed[some])
    if not (np.abs(s[some] - again) <= error[some]).all():
        return values.combine(ids[some], signed[some], ids), np.zeros(len(ids))
    clear = (y * (s + b) - error > 1.0 + 1e-6 * (1.0 + abs(b))) & (signed == 0)
    rest = np.flatnonzero(~clear & (signed == 0))
    s[some] = again
    s[rest] = values.combine(ids[some], signed[some], ids[rest])
    return s, np.where(clear, error, 0.0)


# -- How far a kernel value in float64 may be from the truth --------------------------------------
#
# Errors are given as a share of root_i root_j, with |K_ij| <= root_i root_j: the square roots of
# K_ii and K_jj where the kernel is positive semidefinite, else nothing less than the largest
# value.


_STEP = 256  # rows whose values are looked at together


def roots(
    values: KernelValues, ids: Index, used: Index, shift: float = 0.0, *, convex: bool
) -> Array:
    """One number for each of the rows ids, for values with the rows used."""
    root = np.sqrt(np.maximum(agreed_diagonal(values, ids) + shift, 0.0))
    if convex or not len(ids):
        return np.asarray(root)
    if values.kernel is not None and values.kernel.largest is not None:
        return np.full(len(ids), np.sqrt(values.kernel.largest))
    parts = (ids[at : at + _STEP] for at in range(0, len(ids), _STEP))
    largest = max(float(np.abs(values.block(part, used)).max(initial=0.0)) for part in parts)
    return np.maximum(root, np.sqrt(largest))


def entry_error(values: KernelValues) -> float:
    """Rounding of one kernel value in float64, as a share of root_i root_j."""
    if values.kernel is None:
        return 0.0  # the numbers given are the kernel
    share = float(values.kernel.error_bound(values.prepared(np.float64)))
    if not share >= 0:
        raise ProofError(
            f"{values.kernel}.error_bound gives {share}: with it no error is bounded; it is to be "
            "a number, 0 or more."
        )
    return share


# -- Bounds of a machine with the linear kernel, which is a plane ---------------------------------
#
# Products of rows with columns of 1e5 have 1e10 in them, and their sums cancel. The weights are
# sums over rows whose terms are as large, but they are d numbers: each is rounded once, and the
# values of the rows follow from them with errors of their own size.


class PlaneBounds(NamedTuple):
    """What is proved of a plane, with w.x of the rows and |w|^2."""

    high: float
    low: float
    sums: Array
    squared: float


def plane_bounds(
    values: KernelValues, ids: Index, y: Array, cost: Array, alpha: Array, b: float, *, free: bool
) -> PlaneBounds | None:
    """The objective from above and the dual value from below; None where it is not tried."""
    if values.kernel is None or not values.kernel.linear or not np.isfinite(b):
        return None
    X = values.matrix if len(ids) == values.n else values.matrix[ids]
    found = sharp_weights(X, alpha * y)
    inside = np.clip(alpha, 0.0, cost)
    point = balanced(inside, y > 0)[0] if free else inside
    dual = sharp_sums_of(X, y, point, free=free)
    if found is None or dual is None:
        return None
    w, error = found
    d, size = len(w), np.abs(w)
    sums, reach = np.asarray(X @ w, dtype=np.float64), np.asarray(abs(X) @ (size + error))
    off = (d + 6) * U * (reach + abs(b) + 2.0) + 1.001 * np.asarray(abs(X) @ error)
    with np.errstate(over="ignore", invalid="ignore"):
        losses = float((cost * np.maximum(0.0, 1.0 - y * (sums + b) + off)).sum())
        squared = float((size + error) @ (size + error)) * (1 + (d + 8) * U)
        high = (0.5 * squared + losses * (1 + SUM)) * (1 + 16 * U)
        low = dual.total * (1 - 8 * U) - 0.5 * dual.squared - 8 * U * float(point.sum())
    low = max(low - 8 * U * abs(low), 0.0) if np.isfinite(low) else 0.0
    return PlaneBounds(high if high == high else np.inf, low, sums, float(w @ w))


# -- Bounds of a small kernel machine in interval arithmetic, where float64 says too little -------
#
# With huge C the terms of f(x) = sum alpha_i y_i K(x_i, x) + b are large and cancel, and what
# float64 can promise of them is worth nothing. The same sums in balls of 160 bits (Arb, through
# python-flint) are right to the last digits of the machine as it stands.


BALL_BITS = 160
"""Precision of balls."""
BALL_PRODUCTS = 1_000_000
"""Products of entries in balls that are worth a second or so."""


def ball_bounds(
    values: KernelValues, ids: Index, y: Array, cost: Array, alpha: Array, b: float, high: float,
    low: float, shift: float = 0.0, *, free: bool,
) -> tuple[float, float]:  # fmt: skip
    """The objective from above and the dual value from below, no worse than ``high`` and ``low``.

    They stay as they are where the machine is too large, or its kernel has no balls.
    """
    used = np.flatnonzero(alpha)
    d = 1 if values.kernel is None else values.matrix.shape[1]
    if not len(used) or len(ids) * len(used) * (d + 8) > BALL_PRODUCTS or not np.isfinite(b):
        return high, low
    from flint import ctx

    before, ctx.prec = ctx.prec, BALL_BITS
    try:
        K = _entries(values, ids, used)
        for at, j in enumerate(used):
            K[j][at] += shift
        return (
            min(high, _primal(K, used, y, cost, alpha, b)),
            max(low, _dual(K, used, y, cost, alpha, free=free)),
        )
    except CapabilityError:
        return high, low
    finally:
        ctx.prec = before


def _entries(values: KernelValues, ids: Index, used: Index) -> list[list[Any]]:
    """K of every row with every row in use, as balls."""
    from flint import arb

    if values.kernel is None:
        G, turned = values.block(ids, ids[used]), values.block(ids[used], ids).T
        return [[(arb(float(k)) + float(m)) / 2 for k, m in zip(*two)] for two in zip(G, turned)]
    matrix = values.matrix[ids]
    matrix = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    X = [[float(x) for x in row] for row in matrix]
    ball = values.kernel.ball
    return [[ball(x, X[j]) for j in used] for x in X]


def _combined(K: list[list[Any]], signed: list[Any]) -> list[Any]:
    from flint import arb

    return [sum((k * c for k, c in zip(row, signed)), arb(0)) for row in K]


def _primal(
    K: list[list[Any]], used: Index, y: Array, cost: Array, alpha: Array, b: float
) -> float:
    from flint import arb

    signed = [arb(float(alpha[j])) * int(y[j]) for j in used]
    s = _combined(K, signed)
    total = sum((c * s[j] for c, j in zip(signed, used)), arb(0)) / 2
    for i, value in enumerate(s):
        short = 1 - (value + b) * int(y[i])
        if not short < 0:
            total += arb(float(cost[i])) * short.max(arb(0))
    return float(np.nextafter(float(total.upper()), np.inf)) if total.is_finite() else np.inf


def _dual(
    K: list[list[Any]], used: Index, y: Array, cost: Array, alpha: Array, *, free: bool
) -> float:
    """D of alpha put into its box, the heavier class scaled down until sum alpha y vanishes."""
    from flint import arb

    inside = [arb(float(min(max(alpha[j], 0.0), cost[j]))) for j in used]
    plus = sum((a for a, j in zip(inside, used) if y[j] > 0), arb(0))
    minus = sum((a for a, j in zip(inside, used) if y[j] < 0), arb(0))
    if free:
        if not (plus > 0 and minus > 0):
            return 0.0
        shrink = {1: (minus / plus).min(arb(1)), -1: (plus / minus).min(arb(1))}
        inside = [a * shrink[int(y[j])] for a, j in zip(inside, used)]
    signed = [a * int(y[j]) for a, j in zip(inside, used)]
    s = _combined([K[j] for j in used], signed)
    quad = sum((c * v for c, v in zip(signed, s)), arb(0))
    # no more than the sum: the machine of zeros has no larger one, whatever the kernel is
    bound = sum(inside, arb(0)) - quad.max(arb(0)) / 2
    return float(np.nextafter(float(bound.lower()), -np.inf)) if bound.is_finite() else 0.0


# -- The proof that no plane in the feature space separates two classes ---------------------------
#
# Positive fractions a_i on some rows of both classes with
#
#     sum a_i y_i = 0   and   |sum a_i y_i phi(x_i)|^2 = sum a_i a_j y_i y_j K(x_i, x_j) = 0.
#
# Then sum a_i y_i f(x_i) = 0 for every f(x) = w.phi(x) + b, so f is not on the right side of all
# of them: the convex hulls of the images of the two classes meet. Everything is computed in
# fractions from the formula of the kernel. Equal rows have equal images for every kernel, whatever
# its values.


_APART = "the weighted images of the two classes are different points."


@dataclass(frozen=True)
class Overlap:
    """Rows of two classes whose weighted images are one point; ``check`` recomputes it.

    Attributes
    ----------
    rows : tuple of int
        Numbers of the rows.
    multipliers : tuple of Fraction
        Positive, one for each row.
    kernel : Kernel
    fit_intercept : bool
    """

    rows: tuple[int, ...]
    multipliers: tuple[Fraction, ...]
    kernel: Kernel
    fit_intercept: bool = True

    def check(self, X: Any, y: Any) -> bool:
        """True; raises ProofError if these rows of X and y prove nothing.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        bool
        """
        problem = X if isinstance(X, Problem) else Problem(X, np.asarray(y))
        rows, signs = self._signs(problem)
        signed = [s * a for s, a in zip(signs, self.multipliers)]
        require_zero(problem, self.kernel, rows, signed, free=self.fit_intercept)
        return True

    def _signs(self, problem: Problem) -> tuple[list[int], list[int]]:
        """The rows of the problem, and the sides that they are on."""
        rows = problem.index_of(self.rows) if self.rows else None
        if rows is None or len(self.rows) != len(self.multipliers):
            raise ProofError("the proof names rows that are not there.")
        if len(set(self.rows)) < len(self.rows) or not min(self.multipliers) > 0:
            raise ProofError("rows are named once, with multipliers above zero.")
        labels = problem.label[rows]
        known = len(set(labels.tolist()))
        if known > 2 or (self.fit_intercept and known != 2):
            raise ProofError("the rows are not of two classes.")
        return rows.tolist(), [1 if label == labels.max() else -1 for label in labels]

    def __str__(self) -> str:
        if len(self.rows) == 2:
            i, j = self.rows
            return f"rows {i} and {j} have the same image and different labels"
        names = ", ".join(map(str, self.rows[:12])) + (", ..." if len(self.rows) > 12 else "")
        return (
            f"weighted means of the images of {len(self.rows)} rows of both classes ({names}) are "
            "the same point, in exact arithmetic"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a model file."""
        return {
            "rows": list(self.rows),
            "multipliers": [ratio_text(a) for a in self.multipliers],
            "kernel": self.kernel.to_dict(),
            "fit_intercept": self.fit_intercept,
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Overlap:
        """The proof of a model file."""
        known = _OVERLAP(fields, "overlap")
        return cls(**{**known, "kernel": from_dict(known["kernel"])})


def _tuple_of(item: Check) -> Check:
    return lambda value, where: tuple(listed(item)(value, where))


_OVERLAP = record(
    rows=_tuple_of(whole()), multipliers=_tuple_of(ratio), kernel=anything, fit_intercept=truth
)


def require_zero(
    problem: Problem, kernel: Kernel, rows: list[int], signed: list[Fraction], *, free: bool
) -> None:
    """Raise ProofError unless sum a_i phi(x_i) = 0, for a_i = signed; if free, sum a_i = 0 too."""
    if free and sum(signed) != 0:
        raise ProofError("the multipliers of the two classes have different sums.")
    if kernel.given:
        _require_cancelled(problem, rows, signed)
        return
    some = problem.matrix[rows]
    some = some if isinstance(some, np.ndarray) else some.toarray()
    samples, weights = _merged([tuple(float(x) for x in row) for row in some], signed)
    if _square(exact_gram(kernel, samples), weights) != 0:
        raise ProofError(_APART)


def _require_cancelled(problem: Problem, rows: list[int], signed: list[Fraction]) -> None:
    """Whether the weighted values vanish for every row: so they do for every machine.

    Of a matrix without negative eigenvalue this follows from |sum a_i y_i phi(x_i)|^2 = 0;
    like this it holds for any matrix.
    """
    picked = problem.matrix[:, rows]
    picked = picked if isinstance(picked, np.ndarray) else picked.toarray()
    for row in np.unique(picked, axis=0).tolist():
        if sum((Fraction(k) * a for k, a in zip(row, signed)), Fraction(0)) != 0:
            raise ProofError(_APART)


def _merged(
    rows: list[tuple[float, ...]], signed: list[Fraction]
) -> tuple[list[tuple[float, ...]], list[Fraction]]:
    """Equal rows as one; those whose multipliers cancel are left out."""
    total: dict[tuple[float, ...], Fraction] = {}
    for row, weight in zip(rows, signed):
        key = tuple(x + 0.0 for x in row)  # -0.0 is 0.0
        total[key] = total.get(key, Fraction(0)) + weight
    left = {row: weight for row, weight in total.items() if weight != 0}
    return list(left), list(left.values())


def _square(K: list[list[Any]], weights: list[Fraction]) -> Any:
    from flint import fmpq

    w = [fmpq(a.numerator, a.denominator) for a in weights]
    total = fmpq(0)
    for i, a in enumerate(w):
        total += a * sum((K[i][j] * b for j, b in enumerate(w)), fmpq(0))
    return total
