"""Support vector machine with an additive kernel, at cost linear in the data.

Problem: max sum alpha_i - 1/2 sum alpha_i alpha_j y_i y_j K_ij, 0 <= alpha_i <= C s_i,
         sum alpha_i y_i = 0, with K(x, z) = sum_k M_p(x_k, z_k).
Step:    choose the rows that violate the optimality conditions most, solve their problem by
         pairs (SMO, second order), and bring the scores of all rows up to date through the
         functions h_k (kernels/additive_levels.py), which takes no kernel matrix.
Stop:    duality gap, with the best offset for the present scores.
Papers:  Joachims 1999 (working sets), Maji, Berg, Malik 2008 (intersection kernel by running
         sums), Wu 2012 (power mean kernels).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.kernels.additive_levels import Levels, levels_of
from linsep.solvers.additive_blocks import kernel_block, roomy, share_blocks
from linsep.solvers.additive_choice import feasible
from linsep.solvers.additive_inner import solve_set
from linsep.solvers.additive_measure import creeps, measure, refresh
from linsep.solvers.additive_newton import newton_rounds
from linsep.solvers.additive_sets import first_set, next_set
from linsep.solvers.additive_state import AdditiveState
from linsep.solvers.additive_subspace import subspace_step
from linsep.solvers.smo_rescue import interior_point

__all__ = ["AdditiveSMO", "AdditiveState"]

Array = NDArray[np.float64]

_FRESH = 64  # steps after which the scores are computed anew, against rounding
_STEPS = 20  # pairs for each row of a working set, before Newton's method takes over
_ROUNDS = 20
_CLOSE = 0.3  # largest violation from which Newton's method finishes what pairs began
_SHARE = 0.1  # of the largest violation that pairs leave in a working set
_NEAR = 1e-3  # largest violation from which a small problem is solved to rounding
_CROWDED = 0.75  # share of a working set that free variables may fill before all of them move
_ITERATIONS = 30
_TURNS = 3
_COARSE = 1e-4  # gap for which kernel values in float32 will do inside a working set


@dataclass(frozen=True)
class AdditiveSMO:
    """Settings of the working set method.

    Parameters
    ----------
    power : float
        p <= 0; -inf is the intersection kernel, -1 chi-square.
    C : float
    tol : float
        Relative duality gap.
    size : int
        Rows of the first working set, and of the whole problem if it has no more.
    most : int
        Rows up to which the working set grows with the free variables.
    seed : int
        Chooses the first working set.
    """

    power: float
    C: float = 1.0
    tol: float = 1e-3
    size: int = 512
    most: int = 3072
    seed: int = 0

    unit: ClassVar[str] = "working set"

    def init(self, problem: Problem, *, start: Any = None) -> AdditiveState:
        """alpha = 0, or dual variables given, made feasible."""
        levels = levels_of(problem, self.power)
        state = AdditiveState(
            alpha=np.zeros(problem.n),
            score=np.zeros(problem.n),
            block=np.zeros((0, 0), dtype=np.float32 if self.short(levels) else np.float64),
        )
        if start is not None:
            state.alpha = feasible(problem, np.asarray(start, dtype=np.float64), self.C)
        refresh(self, problem, state)
        measure(self, problem, state)
        return state

    def advance(self, problem: Problem, state: AdditiveState, steps: int, log: Log = NO_LOG) -> int:
        """Up to ``steps`` working sets."""
        levels = levels_of(problem, self.power)
        taken = 0
        while taken < steps and not state.status.done:
            self._step(problem, levels, state)
            taken += 1
        return taken

    def prepare(self, problem: Problem) -> None:
        """What all classes of a problem share; made once."""
        levels = levels_of(problem, self.power)
        share_blocks(levels, self.short(levels), partial(first_set, self, levels))

    def short(self, levels: Levels) -> bool:
        """Whether kernel values in float32 will do inside a working set."""
        return self.tol >= _COARSE and roomy(levels)

    def status(self, state: AdditiveState) -> Status:
        """Pure."""
        return state.status

    def witness(self, problem: Problem, state: AdditiveState) -> Witness:
        """The offset and the dual variables; they say all about the function."""
        rows = np.flatnonzero(state.alpha)
        return Witness(
            a=np.array([state.offset]), rows=rows, multipliers=state.alpha[rows], claim="dual"
        )

    # -- one step ---------------------------------------------------------------------------

    def _step(self, problem: Problem, levels: Levels, state: AdditiveState) -> None:
        state.steps += 1
        if creeps(problem, state):
            self._rescue(problem, levels, state)
            return
        y, top = problem.sign, self.C * problem.weight
        f = state.score - y
        width = next_set(self, problem, levels, state, f, top)
        if width <= 0.0:
            self._stand_still(problem, state)
            return
        rows = state.rows
        q = len(rows)
        K = state.block
        values = np.zeros((4, len(K)))
        values[0, :q], values[1, :q] = y[rows], top[rows]
        values[2, :q], values[3, :q] = state.alpha[rows], f[rows]
        eps, limit = max(_SHARE * width, 1e-13), _STEPS * q
        part = values[0], values[1], values[2], values[3]
        taken = solve_set(K, *part, eps, limit)
        if taken >= limit or width < (_NEAR if q == problem.n else _CLOSE):
            taken += self._polish(K, part, 0.01 * eps)
        change = values[2, :q] - state.alpha[rows]
        moved = np.flatnonzero(change)
        if taken == 0 or not moved.size:
            self._stand_still(problem, state)
            return
        state.n_updates += int(taken)
        state.alpha[rows] = values[2, :q]
        state.age += 1
        if state.age >= _FRESH:
            refresh(self, problem, state)
        else:
            self._add(problem, levels, state, rows[moved], (change * y[rows])[moved])
            if int(((state.alpha > 0) & (state.alpha < top)).sum()) > _CROWDED * self.most:
                self._subspace(problem, levels, state, top)
        measure(self, problem, state)

    def _polish(self, K: Any, part: tuple[Array, Array, Array, Array], eps: float) -> int:
        """Newton's method on the free variables, and pairs for those that come in between."""
        taken, q = 0, len(K)
        for _ in range(_ROUNDS):
            steps = newton_rounds(K, *part, eps, 1)
            pairs = solve_set(K, *part, eps, 4 * q) if steps else 0
            taken += steps + pairs
            if pairs < 4 * q:
                break
        return taken

    def _subspace(self, problem: Problem, levels: Levels, state: AdditiveState, top: Array) -> None:
        """All free variables at once: they are more than a working set holds."""
        y = problem.sign
        for _ in range(_TURNS):
            rows, change, products = subspace_step(
                levels, y, top, state.alpha, state.score, _ITERATIONS
            )
            state.work += 2 * products * len(rows) / problem.n
            new = np.clip(state.alpha[rows] + y[rows] * change, 0.0, top[rows])
            change = (new - state.alpha[rows]) * y[rows]
            state.alpha[rows] = new
            moved = np.flatnonzero(change)
            if not moved.size:
                return
            state.n_updates += 1
            self._add(problem, levels, state, rows[moved], change[moved])
            if ((new > 0) & (new < top[rows])).all():
                return

    def _add(
        self,
        problem: Problem,
        levels: Levels,
        state: AdditiveState,
        rows: NDArray[np.int64],
        change: Array,
    ) -> None:
        levels.add_product(rows, change, state.score)
        state.work += 1 + len(rows) / problem.n

    def _stand_still(self, problem: Problem, state: AdditiveState) -> None:
        """No pair of the working set moves: rounding, or an optimum."""
        if state.age == 0:
            state.idle += 4
        refresh(self, problem, state)
        state.rows, state.block = state.rows[:0], state.block[:0, :0]
        measure(self, problem, state)

    # -- small problems that creep -------------------------------------------------------------

    def _rescue(self, problem: Problem, levels: Levels, state: AdditiveState) -> None:
        """The answers of the interior point method, if their gap is smaller."""
        state.rescued = 1
        state.idle = 0
        y, rows = problem.sign, np.arange(problem.n)
        state.rows, state.block = state.rows[:0], state.block[:0, :0]
        best, gap = state.alpha, state.primal - state.dual
        K = kernel_block(levels, rows, rows)
        for alpha in interior_point(K, y, self.C * problem.weight, True):
            self._judge(problem, state, feasible(problem, alpha, self.C))
            if state.primal - state.dual < gap:
                best, gap = state.alpha, state.primal - state.dual
            if state.status is Status.CERTIFIED:
                return
        self._judge(problem, state, best)

    def _judge(self, problem: Problem, state: AdditiveState, alpha: Array) -> None:
        state.alpha = alpha
        refresh(self, problem, state)
        measure(self, problem, state)
