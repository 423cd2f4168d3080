"""The same over rows of many columns: no matrix of their products, and still a pass a step.

Update    a <- a + p, p = -H^-1 gradient. H is the curvature of a sample of the rows, which is in
          memory, its diagonal that of all rows, corrected by the changes of the gradient over the
          last steps (L-BFGS). A step is a pass, and conjugate gradients on the sample.
Stop      as in solvers/parts.py
Paper     Nocedal 1980; Byrd, Chin, Neveitt and Nocedal 2011, on the use of stochastic Hessian
          information in optimization methods for machine learning
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import Held
from linsep.losses.base import Loss
from linsep.losses.hinge import QuadraticLoss
from linsep.losses.logistic import LOGISTIC
from linsep.numerics.conjugate import Correction, conjugate_gradients
from linsep.numerics.lbfgs import solved_with_pairs
from linsep.rows.parts import PartsProblem
from linsep.solvers.parts import NARROWER, NewtonParts, PartsState, Point

Array = NDArray[np.float64]

_PAIRS = 12  # steps that are remembered
_ACCURATE = 0.02  # of a system of the sample
_DAMPED = 0.1  # share of the diagonal that is added at first: a sample knows too little
_FARTHER = 2.0  # than the cubic says, for a step in another direction
_CURVED = 1e-10  # s.y over |s||y| below which a pair tells nothing


@dataclass(kw_only=True)
class WideState(PartsState):
    """The same with the last steps, and what they changed the gradient by."""

    held: ClassVar[Mapping[str, Held]] = {**PartsState.held, "n_pairs": Held(most=_PAIRS)}

    moves: Array
    turns: Array
    n_pairs: int = 0


@dataclass(frozen=True)
class WideParts(NewtonParts):
    """Newton's method with the curvature of a sample, corrected from step to step."""

    easier: ClassVar[float] = 0.5
    harder: ClassVar[float] = 4.0
    patient: ClassVar[bool] = True

    def init(self, problem: PartsProblem, *, start: Any = None) -> WideState:
        """Zero weights, or (coef, intercept) of a sample; no pass yet."""
        width = problem.d + 1
        a = np.zeros(width) if start is None else problem.join(*start)
        h = self.h if self.form.kinked else 0.0
        return WideState(
            a=a, h=h, step=np.zeros(width), gradient=np.zeros(width),
            curvature=np.zeros((2, width)), excess=np.zeros(len(NARROWER)), best=a.copy(),
            dual_a=a.copy(), dual_h=h, trusting=False, kappa=_DAMPED,
            moves=np.zeros((_PAIRS, width)), turns=np.zeros((_PAIRS, width)),
        )  # fmt: skip

    def _take(self, problem: PartsProblem, state: Any, a: Array, point: Point) -> None:
        if not np.isfinite(state.rounded):
            state.n_pairs = 0  # they are those of another width
        elif state.known:
            self._remember(state, a - state.a, point.gradient - state.gradient)
        super()._take(problem, state, a, point)

    def _shorten(self, problem: PartsProblem, state: Any, point: Point) -> None:
        """A step that was too long tells how the gradient turns: another one, knowing that, and not
        much longer than what the cubic through both ends says."""
        self._remember(state, state.step, point.gradient - state.gradient)
        kappa = min(self.harder * state.kappa, 10.0)
        super()._shorten(problem, state, point)
        state.kappa, most = kappa, _FARTHER * self._length(state)
        state.step = self._direction(problem, state)
        length = self._length(state)
        if length > most:
            state.step *= most / length

    def _length(self, state: Any) -> float:
        """Of a step, where columns count by their curvature."""
        return float(np.sqrt((state.curvature[0] + 1.0) @ np.square(state.step)))

    def _remember(self, state: Any, move: Array, turn: Array) -> None:
        size = float(np.linalg.norm(move) * np.linalg.norm(turn))
        if not float(move @ turn) > _CURVED * size:
            return
        if state.n_pairs == _PAIRS:
            state.moves[:-1], state.turns[:-1] = state.moves[1:], state.turns[1:].copy()
            state.n_pairs -= 1
        state.moves[state.n_pairs], state.turns[state.n_pairs] = move, turn
        state.n_pairs += 1

    def _direction(self, problem: PartsProblem, state: Any) -> Array:
        g = state.gradient.copy()
        if not problem.fit_intercept:
            g[-1] = 0.0
        system = self._system(problem, state)
        pairs = [(state.moves[k], state.turns[k]) for k in range(state.n_pairs)]

        def solve(q: Array) -> Array:
            return conjugate_gradients(system, q, _ACCURATE)[0]

        p = -solved_with_pairs(g, pairs, solve)
        if not (np.isfinite(p).all() and float(p @ g) < 0):
            state.n_pairs = 0
            p = -solve(g)
        return np.asarray(p)

    def _system(self, problem: PartsProblem, state: Any) -> SampleSystem:
        """The curvature at the point: that of the sample, with the diagonal of all rows."""
        sample, form = problem.sampled, self.form
        loss: Loss = getattr(form, "loss", LOGISTIC)
        u = loss.corner - sample.values(state.a)
        bend = loss.curvature(u)
        if isinstance(loss, QuadraticLoss) and state.h > 0:
            bend = np.where(np.abs(u) < state.h, 0.5 / state.h, 0.0)
        ridge = np.full(len(state.a), 0.0 if np.isinf(form.C) else 1.0)
        ridge[-1] = 0.0
        found = state.curvature[0] * (1.0 + state.kappa) + ridge
        return SampleSystem(sample, form.C * sample.weight * bend, found, problem.fit_intercept)


class SampleSystem:
    """sum of c [x, 1] [x, 1]' over a sample, and a diagonal that makes its own that of all rows."""

    share = 0.0

    def __init__(self, sample: Problem, cost: Array, diagonal: Array, offset: bool) -> None:
        kept = np.flatnonzero(cost)
        self.X, self.cost, self.offset = sample.matrix[kept], cost[kept], offset
        squares = self.X.multiply(self.X) if sample.sparse else np.square(self.X, dtype=np.float64)
        own = np.append(squares.T @ self.cost, float(self.cost.sum()))
        self.rest = np.maximum(diagonal - own, 0.0)
        self.diagonal = self.rest + own

    def product(self, p: Array, out: Array) -> float:
        """out = system times p; gives back p . out."""
        t = self.X @ p[:-1]
        if self.offset:
            t = t + p[-1]
        t = self.cost * t
        np.multiply(self.rest, p, out=out)
        out[:-1] += self.X.T @ t
        if self.offset:
            out[-1] += t.sum()
        return float(p @ out)

    def scaling(self) -> tuple[Array, Correction | None]:
        """The inverse of the diagonal."""
        with np.errstate(divide="ignore"):
            inverse = np.where(self.diagonal > 0, 1.0 / self.diagonal, 0.0)
        if not self.offset:
            inverse[-1] = 0.0
        return inverse, None
