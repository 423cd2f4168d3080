"""The duality gap of a kernel machine, recomputed from (alpha, b) and the kernel alone.

The model is f(x) = sum alpha_i y_i K(x_i, x) + b; with |w|^2 = sum alpha_i alpha_j y_i y_j K_ij

    P = |w|^2 / 2 + sum c_i max(0, 1 - y_i f(x_i)),   D = sum alpha_i - |w|^2 / 2,

and D is a lower bound of the best P there is, for every alpha in its box with sum alpha_i y_i = 0,
if the kernel is positive semidefinite. alpha is put into the box and balanced for it; kernel
values are computed again in float64, and all rounding errors are bounded by |K_ij|^2 <= K_ii K_jj.
Where these bounds are too rough, as with huge C, small machines are measured in balls.
For other kernels nothing bounds P from below, and none is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Gap
from linsep.certify.kernel_balls import ball_bounds
from linsep.certify.kernel_errors import entry_error, roots
from linsep.certify.kernel_sums import sums_of
from linsep.certify.kernel_values import KernelValues
from linsep.core.status import Status

__all__ = ["KernelGap", "criterion", "measure_pair", "measure_pairs", "widening"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_U = 2.0**-53
_SUM = 64 * _U  # of a sum by numpy, which adds by halves: fewer than 64 roundings in a row
_WORTH = 1e-6  # share of the objective from which rounding errors are worth interval arithmetic


@dataclass(frozen=True)
class KernelGap(Gap):
    """What is proved about a kernel machine; margin and width are those of the feature space."""

    violation: float = 0.0
    """Largest violation of the conditions of optimality by two rows."""
    convex: bool = True
    """Whether the kernel is positive semidefinite; if not, there is no lower bound."""

    def settle(self, status: Status, tol: float = np.inf) -> Status:
        """The status that the facts support."""
        if not self.convex:
            return Status.CONVERGED if self.violation <= tol else _unproved(status)
        return super().settle(status, tol)

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
    return Status.STALLED if status in (Status.CONVERGED, Status.CERTIFIED) else status


def measure_pair(
    values: KernelValues, ids: Index, y: Array, cost: Array, alpha: Array, b: float,
    *, free: bool = True, convex: bool = True, words: str = "", rough: Any = None,
    sums: Array | None = None,
) -> KernelGap:  # fmt: skip
    """Bounds of one binary machine on the rows ``ids``; any alpha will do.

    The objective is that of the machine with exactly these alpha, the lower bound that of the
    nearest alpha which is allowed. rough: sums of these rows in float32 and their errors. sums:
    those that ``values`` has just made of these alpha in float64, for all machines at once.
    """
    alpha = np.nan_to_num(np.asarray(alpha, float), posinf=0.0, neginf=0.0)
    if sums is None:
        s, more = sums_of(values, ids, y, alpha * y, b, rough)
    else:
        s, more = sums, np.zeros(len(ids))
    root = roots(values, ids, ids[np.flatnonzero(alpha)], convex)
    mass, share = float(np.abs(alpha) @ root), _share(values, alpha)
    quad, score = float((alpha * y) @ s), y * (s + b)
    high_quad = max(quad + (share + _SUM) * mass * mass, 0.0)
    off = share * mass * root + 4 * _U * (np.abs(s) + abs(b) + 1) + more
    hard = bool(np.isinf(cost).any())
    if hard:
        least = float((score - off).min(initial=np.inf))
        high = 0.5 * (high_quad / least) / least * (1 + 16 * _U) if least > 0 else np.inf
    else:
        loss = float((cost * np.maximum(0.0, 1.0 - score + off)).sum())
        high = (0.5 * high_quad + loss * (1 + _SUM)) * (1 + 8 * _U)
    low = -np.inf
    if convex:
        low = _lower(values, ids, y, cost, alpha, quad, root, share, free, hard)
    if convex and not hard and _rounding_matters(high, low, quad, cost, score, alpha):
        high, low = ball_bounds(values, ids, y, cost, alpha, b, high, low, free)
    length = np.sqrt(max(quad, 0.0))
    worst = float(score.min(initial=np.inf))
    return KernelGap(
        objective=high,
        lower_bound=min(low, high),
        errors=int((score <= 0).sum()),
        margin=worst / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=int((score < 1.0 - 1e-9).sum()),
        words=words,
        violation=_violation(y, cost, np.clip(alpha, 0.0, cost), s - y, free),
        convex=convex,
    )  # fmt: skip


def widening(
    values: KernelValues, ids: Index, y: Array, alpha: Array, b: float, near: float = 1e-3
) -> float:
    """A factor a little above 1 that puts the rows next to the edge of the street behind it.

    With a large C even a violation of the size of a rounding error counts; the machine times this
    factor has none that is not larger than ``near``.
    """
    s, root = _sums(values, ids, alpha * y), np.sqrt(np.maximum(values.diagonal(ids), 0.0))
    off = _share(values, alpha) * float(np.abs(alpha) @ root) * root
    low = y * (s + b) - 2 * off - 16 * _U * (np.abs(s) + abs(b) + 1)
    edge = low[(low < 1.0) & (low > 1.0 - near)]
    return float(1.0 / edge.min()) * (1 + 8 * _U) if len(edge) else 1.0


def _sums(values: KernelValues, ids: Index, signed: Array) -> Array:
    some = np.flatnonzero(signed)
    return values.combine(ids[some], signed[some], ids)


def _share(values: KernelValues, alpha: Array) -> float:
    """Rounding of each product alpha K_ij and of their sum, as a share of sqrt(K_ii K_jj)."""
    return entry_error(values) + (len(alpha) + 8) * _U


def _rounding_matters(
    high: float, low: float, quad: float, cost: Array, score: Array, alpha: Array
) -> bool:
    """Whether a good part of the gap is what rounding errors may amount to at worst."""
    plain = 0.5 * quad + float((cost * np.maximum(0.0, 1.0 - score)).sum())
    least = float(np.clip(alpha, 0.0, cost).sum()) - 0.5 * quad
    return bool(high > low and (high - plain) + max(least - low, 0.0) > _WORTH * high)


def criterion(
    values: KernelValues, y: Array, weight: Array, alpha: Array, b: float
) -> tuple[KernelGap, Array]:
    """The perceptron criterion of a machine, and its scores; an error is whatever may be one."""
    ids, some = np.arange(len(y)), np.flatnonzero(alpha)
    s = values.combine(some, (alpha * y)[some], ids)
    root = roots(values, ids, some, getattr(values.kernel, "positive", None) is True)
    share = entry_error(values) + (len(alpha) + 8) * _U
    off = share * float(np.abs(alpha) @ root) * root + 4 * _U * (np.abs(s) + abs(b))
    score, length = y * (s + b), np.sqrt(max(float((alpha * y) @ s), 0.0))
    gap = KernelGap(
        objective=float((weight * np.maximum(off - score, 0.0)).sum() * (1 + _SUM))
        if (score <= off).any()
        else 0.0,
        lower_bound=0.0,
        errors=int((score <= off).sum()),
        margin=float(score.min(initial=np.inf)) / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=int((score < 1.0 - 1e-9).sum()),
        words="perceptron criterion: sum of -y f(x) over the rows on the wrong side",
    )
    return gap, s + b


def measure_pairs(
    parts: list[KernelGap], errors: int, scheme: str = "one for each pair of classes"
) -> KernelGap:
    """All machines of a scheme together; errors are those of the whole scheme."""
    if len(parts) == 1:
        return parts[0]
    convex = all(part.convex for part in parts)
    return KernelGap(
        objective=sum(part.objective for part in parts),
        lower_bound=sum(part.lower_bound for part in parts),
        errors=errors,
        margin=min(part.margin for part in parts),
        width=min(part.width for part in parts),
        inside=sum(part.inside for part in parts),
        words=f"{len(parts)} machines, {scheme}, each {parts[0].words}",
        parts=tuple(parts),
        violation=max(part.violation for part in parts),
        convex=convex,
    )


def _balanced(alpha: Array, y: Array) -> tuple[Array, float]:
    """The heavier class scaled down until sum alpha y vanishes; the relative error of that."""
    plus, minus = float(alpha[y > 0].sum()), float(alpha[y < 0].sum())
    if min(plus, minus) == 0.0:
        return np.zeros_like(alpha), 0.0
    factor = np.where(y > 0, min(1.0, minus / plus), min(1.0, plus / minus))
    return alpha * factor, 2 * _SUM + 4 * _U


def _lower(
    values: KernelValues, ids: Index, y: Array, cost: Array, alpha: Array, quad: float,
    root: Array, share: float, free: bool, hard: bool,
) -> float:  # fmt: skip
    """Lower bound of D at the feasible point next to alpha; at least 0, that of alpha = 0."""
    inside = np.clip(alpha, 0.0, cost)
    point, slack = _balanced(inside, y) if free else (inside, 0.0)
    total, mass = float(point.sum()) * (1 - slack - _SUM), float(np.abs(alpha) @ root)
    moved = float(np.abs(point - alpha) @ root)
    more = 2 * moved * mass + moved * moved  # |w|^2 cannot grow by more on the way to the point
    if more > 1e-7 * total:  # far away: then it is computed for the point itself
        some = np.flatnonzero(point)
        signed = (point * y)[some]
        quad = float(signed @ values.combine(ids[some], signed, ids[some]))
        mass, more = float(point @ root), 0.0
    quad += more + (share + 3 * slack + 2 * _SUM) * mass * mass
    quad = max(quad, 0.0) * (1 + 8 * _U)
    if hard:  # a multiple of the point is as feasible: the best one
        bound = 0.5 * total * (total / quad) if quad > 0 and total > 0 else 0.0
    else:
        bound = total - 0.5 * quad
    return max(bound - 16 * _U * abs(bound), 0.0) if np.isfinite(bound) else 0.0


def _violation(y: Array, cost: Array, alpha: Array, f: Array, free: bool) -> float:
    grows, falls, positive = alpha < cost, alpha > 0, y > 0
    up, low = f[np.where(positive, grows, falls)], f[np.where(positive, falls, grows)]
    if not free:
        return max(-float(up.min(initial=0.0)), float(low.max(initial=0.0)))
    if not len(up) or not len(low):
        return 0.0
    return max(float(low.max() - up.min()), 0.0)
