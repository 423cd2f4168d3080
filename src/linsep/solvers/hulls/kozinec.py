"""Kozinec's rule: the point of a convex hull nearest the origin.

Problem   minimise |a| over a in conv{z_i}; with space="difference" over a = p - q, p and q in
          the hulls of the two classes: then a is normal to the plane of maximum margin
Update    a <- (1 - kappa) a + kappa z_i,   kappa = a.(a - z_i) / |a - z_i|^2, at most 1,
          for the row of smallest z_i.a; in the difference space p or q moves, whichever hull
          the row belongs to
Stop      plain: no row on the wrong side.
          eps: |a| - z_i.a / |a| <= eps for all rows: the margin is known to within eps
Paper     Kozinec 1964; Schlesinger and Hlavac, Ten Lectures, 2002, ch. 5.
          pairwise steps: Mitchell, Demyanov, Malozemov 1974; linear convergence: Pena,
          Rodriguez, Soheili 2015 (arXiv 1507.04073)

Every point of a hull bounds the best margin m from above and every vector bounds it from
below:  min_i z_i.a / |a| <= m <= |a|.  In the difference space both sides are halved.
From the first row the plain rule makes at most max|z|^2 / m^2 - 1 updates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.costs import AT_ONCE, LONG
from linsep.core.layouts import BinaryRows, Rows
from linsep.core.problem import Problem
from linsep.core.protocol import ENDLESS, FIXED, NO_LOG, Event, Held, Log, State, Status, Witness
from linsep.errors import SettingError
from linsep.rows.loops import add, dot


@dataclass(kw_only=True)
class KozinecState(State):
    """The nearest points so far, as vectors and as convex weights of the rows."""

    held: ClassVar[Mapping[str, Held]] = {
        "bounds": ENDLESS,
        "counters": Held(entries={2: 6}),  # STOP
        "group": FIXED,
        "radius2": FIXED,
        "n_rows": FIXED,
    }

    points: NDArray[np.float64]
    """One point of each hull: shape (1, dim) or (2, dim)."""
    a: NDArray[np.float64]
    """Their sum."""
    lam: NDArray[np.float64]
    """Convex weights; those of group g are to be multiplied by scale[g]."""
    scale: NDArray[np.float64]
    best: NDArray[np.float64]
    """Plane of fewest errors so far, and of the best lower bound among those."""
    bounds: NDArray[np.float64]
    """Best lower, best upper, last lower, last upper bound of the margin; errors and lower
    bound of the best plane; offset of the plane that was looked at last."""
    counters: NDArray[np.int64]
    group: NDArray[np.uint8]
    """Number of the hull that each row belongs to."""
    radius2: float
    n_rows: int

    def weights(self) -> NDArray[np.float64]:
        """Convex weights of the rows."""
        return self.lam * self.scale[self.group]

    @property
    def passes(self) -> float:
        """Visits divided by the number of rows."""
        return self.n_visits / self.n_rows

    @property
    def n_visits(self) -> int:
        """Rows looked at so far."""
        return int(self.counters[VISITS])


@dataclass(frozen=True)
class Kozinec:
    """Nearest point of the hull of all reflected rows, or of the two classes.

    Parameters
    ----------
    eps : float or None
        Allowed distance of the two bounds of the margin; None for the plain rule.
    space : {"difference", "augmented"}
        The plane of maximum margin, or the lecture's augmented space, where the offset counts
        as a coordinate. Three classes and more exist in the augmented space only.
    steps : {"away", "plain"}
        Kozinec's step takes weight from all rows in use; the away form takes it from the best
        of them, and converges linearly.
    """

    eps: float | None = 1e-3
    space: str = "difference"
    steps: str = "away"

    unit: ClassVar[str] = "scan"

    def init(self, problem: Problem, *, start: Any = None) -> KozinecState:
        """Start at one row of each hull, or at given convex weights of the rows.

        The plain rule starts at the first row, as in the lecture. With away steps it is the row
        that lies farthest towards the other side, whatever the order of the rows.
        """
        rows, group = self.rows(problem), self.groups(problem)
        n_groups = 2 if self._two_hulls(problem) else 1
        lam = np.zeros(problem.n_rows) if start is None else np.array(start, dtype=np.float64)
        plane = _between_boxes(problem) if self.steps == "away" else np.zeros(problem.dim)
        guess = problem.values(plane)
        if lam.shape != (problem.n_rows,) or not (lam >= 0).all():
            raise SettingError(
                f"start has shape {lam.shape}; Kozinec's rule starts from {problem.n_rows} "
                "non-negative weights, one for each row."
            )
        points = np.zeros((n_groups, problem.dim))
        for g in range(n_groups):
            own = group == g
            if not lam[own].any():
                lam[np.flatnonzero(own)[guess[own].argmin()]] = 1.0
            lam[own] /= lam[own].sum()
            for v in np.flatnonzero(own & (lam > 0)).tolist():
                add(rows, v, lam[v], points[g])
        radius2 = float(problem.squared_lengths.max()) + rows.bias
        a = points.sum(axis=0)
        return KozinecState(
            points=points,
            a=a,
            lam=lam,
            scale=np.ones(n_groups),
            best=np.zeros(problem.dim),
            bounds=np.array([-np.inf, np.inf, -np.inf, np.inf, np.inf, -np.inf, 0.0]),
            counters=np.zeros(N_COUNTERS, dtype=np.int64),
            group=group,
            radius2=radius2 * (1 if problem.binary else 2),
            n_rows=problem.n_rows,
        )

    def advance(self, problem: Problem, state: KozinecState, steps: int, log: Log = NO_LOG) -> int:
        """Scan and step up to ``steps`` times."""
        if state.status.done:
            return 0
        eps = -1.0 if self.eps is None else float(self.eps)
        rows, group = self.rows(problem), state.group
        size = problem.n * problem.d
        taken = sweep(
            rows, group, eps, self.steps == "away", state.radius2, state.points, state.a,
            state.lam, state.scale, state.best, state.bounds, state.counters, steps, log,
            size=LONG * size, work=steps * size,
        )  # fmt: skip
        state.steps += int(taken)
        state.n_updates = int(state.counters[UPDATES])
        state.status = self._judge(state)
        return int(taken)

    def status(self, state: KozinecState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: KozinecState) -> Witness:
        """Weights with the best offset, and the convex weights that bound the margin.

        A run that came to its end hands over where it ended, any other the best plane so far.
        """
        lam = state.weights()
        rows = np.flatnonzero(lam)
        ended = int(state.counters[STOP]) == REACHED
        a = self.current(problem, state) if ended else self.best(problem, state)
        claim = "two hulls" if self._two_hulls(problem) else "hull"
        if int(state.counters[STOP]) == COLLAPSED:
            claim = "origin"
        return Witness(a=a, rows=rows, multipliers=lam[rows], claim=claim)

    def best(self, problem: Problem, state: KozinecState) -> NDArray[np.float64]:
        """The plane of fewest errors so far; where the hulls meet its length says nothing, and is
        brought near 1 by a power of two, which rounds nothing."""
        a = state.best.copy() if state.best.any() else self.current(problem, state)
        length = float(np.abs(a[: problem.d] if problem.binary else a).max(initial=0.0))
        if 0.0 < length < _SHORT * np.sqrt(state.radius2):
            a = np.ldexp(a, -np.frexp(length)[1])
        return a

    def current(self, problem: Problem, state: KozinecState) -> NDArray[np.float64]:
        """The present weights; in the difference space with the best offset."""
        return self._with_offset(problem, state, state.a)

    def extra(self, problem: Problem, state: KozinecState, event: Event | None) -> dict[str, float]:
        """What a trace tells beside the weights: the bounds of the margin after the step."""
        size = float(np.linalg.norm(state.a))
        values = problem.values(state.a)
        if self._two_hulls(problem):
            low = sum(values[state.group == g].min() for g in (0, 1)) / 2
        else:
            low = values.min()
        out = {"lower": low / size if size else -np.inf, "upper": size / len(state.points)}
        return out | ({"kappa": event.step} if event else {})

    def rule_words(self, event: Event) -> str:
        """The update in the lecture's letters."""
        if self.steps == "plain":
            return f"a <- (1 - kappa) a + kappa z with kappa = {event.step:.6g}"
        return f"{event.step:.6g} of the weight moves to it"

    # -- inside ---------------------------------------------------------------------------

    def _with_offset(
        self, problem: Problem, state: KozinecState, a: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """In the difference space, the offset halfway between the nearest rows."""
        out = a.copy()
        if self._two_hulls(problem) and int(state.counters[STOP]) == REACHED:
            out[-1] = state.bounds[6]  # of the scan that ended it
        elif self._two_hulls(problem):
            scores = problem.product(a[: problem.d])
            out[-1] = -(scores[state.group == 1].min() + scores[state.group == 0].max()) / 2
        return out

    def _two_hulls(self, problem: Problem) -> bool:
        return self.space == "difference" and problem.binary and problem.fit_intercept

    def rows(self, problem: Problem) -> Rows:
        """The rows of the chosen space; the offset is no coordinate of the difference space."""
        rows = problem.rows
        if self._two_hulls(problem) and isinstance(rows, BinaryRows):
            return rows._replace(bias=0.0)
        return rows

    def groups(self, problem: Problem) -> NDArray[np.uint8]:
        """Number of the hull that each row belongs to."""
        if self._two_hulls(problem):
            return (problem.sign > 0).astype(np.uint8)
        return np.zeros(problem.n_rows, dtype=np.uint8)

    def _judge(self, state: KozinecState) -> Status:
        stop = int(state.counters[STOP])
        if stop == REACHED:
            return Status.SEPARATED if self.eps is None else Status.CERTIFIED
        if stop == OVERFLOW:
            return Status.DIVERGED
        if stop in (COLLAPSED, STUCK):
            return Status.STALLED
        state.counters[STOP] = GO  # a full log only ends a call, not the run
        return Status.RUNNING


def _between_boxes(problem: Problem) -> NDArray[np.float64]:
    """The plane, or machine, that decides for the nearest middle of the classes' boxes."""
    low = np.full((problem.K, problem.d), np.inf)
    high = -low
    if problem.sparse:
        own = np.repeat(problem.label, np.diff(problem.matrix.indptr))
        at = own * problem.d + problem.matrix.indices
        np.minimum.at(low.ravel(), at, problem.matrix.data)
        np.maximum.at(high.ravel(), at, problem.matrix.data)
        there = np.bincount(at, minlength=low.size).reshape(low.shape)
        zeros = there < np.bincount(problem.label, minlength=problem.K)[:, None]
        np.minimum(low, 0.0, out=low, where=zeros)
        np.maximum(high, 0.0, out=high, where=zeros)
    else:
        step = max(1, AT_ONCE // problem.d)
        for at in range(0, problem.n, step):
            label = problem.label[at : at + step]
            order = np.argsort(label, kind="stable")
            block = problem.matrix[at : at + step][order]
            there, first = np.unique(label[order], return_index=True)
            low[there] = np.minimum(low[there], np.minimum.reduceat(block, first))
            high[there] = np.maximum(high[there], np.maximum.reduceat(block, first))
    middles = low / 2 + high / 2
    machine = np.column_stack([middles, -0.5 * (middles**2).sum(axis=1)])
    if not problem.fit_intercept:
        machine[:, -1] = 0.0
    centred: NDArray[np.float64] = machine - machine.mean(axis=0)
    return machine[1] - machine[0] if problem.binary else centred.ravel()


# -- Inner loops of Kozinec's rule and of its form with pairwise steps ----------------------------


# Places in the array of counters.
VISITS, UPDATES, STOP = range(3)
N_COUNTERS = 3

# Values of counters[STOP].
GO, REACHED, COLLAPSED, OVERFLOW, STUCK, LOG_FULL = range(6)

_SHORT = 1e-3  # of the longest row: shorter weights are made longer
_HULLS_MEET = 1e-24  # |a|^2 relative to max |z|^2 below which the hulls are taken to meet


@inner
def product(a, b):
    """a . b."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j]
    return s


@inner
def add_points(points, a):
    """a = sum of the points of all groups."""
    for j in range(a.shape[0]):
        s = 0.0
        for g in range(points.shape[0]):
            s += points[g, j]
        a[j] = s


@inner
def note(log, counters, v, value, step):
    """Write an event; stop the loop when the log is full."""
    if log.whole.shape[0] > 0:
        k = log.used[0]
        log.whole[k, 0] = counters[UPDATES]
        log.whole[k, 1] = counters[VISITS]
        log.whole[k, 2] = v
        log.real[k, 0] = value
        log.real[k, 1] = step
        log.used[0] = k + 1
        if k + 1 == log.whole.shape[0] and counters[STOP] == GO:
            counters[STOP] = LOG_FULL


@inner
def pull(rows, v, g, kappa, points, lam, scale, group):
    """Move the point of group g towards row v, and its convex weights with it."""
    p = points[g]
    for j in range(p.shape[0]):
        p[j] *= 1.0 - kappa
    add(rows, v, kappa, p)
    scale[g] *= 1.0 - kappa
    if scale[g] < 1e-150:
        for i in range(lam.shape[0]):
            if group[i] == g:
                lam[i] *= scale[g]
        scale[g] = 1.0
    lam[v] += kappa / scale[g]


@inner
def shift(v, u, step, gap, point, lam):
    """Take weight from row u and give it to row v; gap = z_u - z_v."""
    for j in range(gap.shape[0]):
        point[j] -= step * gap[j]
    lam[v] += step
    lam[u] = lam[u] - step if step < lam[u] else 0.0


@routine
def sweep(rows, group, eps, pairwise, radius2, points, a, lam, scale, best, bounds, counters,
          steps, log):  # fmt: skip
    """Up to ``steps`` scans, each followed by one step towards the worst row.

    With pairwise the weight is taken from the best row in use; otherwise from all of them, as
    in Kozinec's rule. eps < 0 asks for the plain rule, which ends as soon as a separates.
    bounds = (best lower, best upper, lower, upper, fewest errors, lower of those, offset), where
    the bounds are one-sided margins. ``best`` holds the plane of fewest errors and, among those, of
    the best lower bound, with its offset as last coordinate where there are two hulls.
    """
    n = group.shape[0]
    n_groups = points.shape[0]
    low = np.empty(n_groups)
    high = np.empty(n_groups)
    to = np.empty(n_groups, np.int64)
    off = np.empty(n_groups, np.int64)
    gap = np.empty(a.shape[0])
    middle = np.zeros(n_groups)
    taken = 0
    counters[STOP] = GO
    while taken < steps and counters[STOP] == GO:
        if n_groups == 2:
            middle[1] = 0.5 * (product(points[1], a) - product(points[0], a))
            middle[0] = -middle[1]
        errors = 0
        low[:] = np.inf
        high[:] = -np.inf
        to[:] = -1
        off[:] = -1
        for v in range(n):
            g = group[v]
            value = dot(rows, v, a)
            if value <= middle[g]:
                errors += 1
            if value < low[g]:
                low[g] = value
                to[g] = v
            if lam[v] > 0.0 and value > high[g]:
                high[g] = value
                off[g] = v
        counters[VISITS] += n
        taken += 1
        size2 = product(a, a)
        total = 0.0
        pick = 0
        for g in range(n_groups):
            total += low[g]
            if not pairwise:
                high[g] = product(points[g], a)
            if high[g] - low[g] > high[pick] - low[pick]:
                pick = g
        if total - total != 0.0 or size2 - size2 != 0.0:
            counters[STOP] = OVERFLOW
            break
        if size2 <= _HULLS_MEET * radius2:
            counters[STOP] = COLLAPSED
            break
        size = np.sqrt(size2)
        bounds[2] = total / (n_groups * size)
        bounds[3] = size / n_groups
        bounds[1] = min(bounds[1], bounds[3])
        bounds[0] = max(bounds[0], bounds[2])
        if n_groups == 2:
            bounds[6] = -0.5 * (low[1] - low[0])
        if total > 0.0:
            errors = 0
        if errors < bounds[4] or (errors == bounds[4] and bounds[2] > bounds[5]):
            bounds[4] = errors
            bounds[5] = bounds[2]
            for j in range(a.shape[0]):  # a[:] = b compiles for seconds: its error has words
                best[j] = a[j]
            if n_groups == 2:
                best[-1] = bounds[6] if total > 0.0 else -middle[1]
        if (eps < 0.0 and total > 0.0) or (eps >= 0.0 and bounds[3] - bounds[2] <= eps):
            counters[STOP] = REACHED
            break
        v = to[pick]
        gap[:] = 0.0
        if pairwise:
            add(rows, off[pick], 1.0, gap)
        else:
            for j in range(gap.shape[0]):
                gap[j] = points[pick, j]
        add(rows, v, -1.0, gap)
        length2 = product(gap, gap)
        step = (high[pick] - low[pick]) / length2 if length2 > 0.0 else 0.0
        if not step > 0.0:
            counters[STOP] = STUCK
            break
        if pairwise:
            step = min(step, lam[off[pick]])
            shift(v, off[pick], step, gap, points[pick], lam)
        else:
            step = min(step, 1.0)
            pull(rows, v, pick, step, points, lam, scale, group)
        add_points(points, a)
        counters[UPDATES] += 1
        note(log, counters, v, low[pick], step)
        if product(a, a) >= size2:
            counters[STOP] = STUCK
    return taken
