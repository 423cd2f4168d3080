"""Kernel support vector machines by decomposition: active rows, working sets, pairs.

Problem   max sum alpha_i - 1/2 sum alpha_i alpha_j y_i y_j K_ij,  0 <= alpha_i <= C s_i,
          sum alpha_i y_i = 0 (without an intercept: no such condition); one problem for each
          pair of classes
Update    a working set of up to q rows, half of it new: those that violate the conditions most.
          Inside it pairs of variables by second-order selection; then one pass over the rows
          of the Gram matrix that changed
Stop      relative duality gap, from f = K (alpha y) - y, which is kept up to date. For a kernel
          that is not positive semidefinite: no pair of variables violates by more than tol
Paper     Platt 1998; Joachims 1999 (working sets, shrinking); Fan, Chen and Lin 2005

Where the Gram matrix of a pair does not fit into the memory allowed, only that of the active
rows is made: first a sample, then the rows that are not safely at a bound. f of all the others
follows by one product after each round, and whoever turns out to matter becomes active.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.solvers.smo_active import first_active
from linsep.solvers.smo_facts import best_offset, offset_of
from linsep.solvers.smo_parts import Pair, Pairs, pairs_of
from linsep.solvers.smo_round import Rounds
from linsep.solvers.smo_state import PairState, SMOState

__all__ = ["SMO", "PairState", "SMOState"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SMO(Rounds):
    """Settings of the decomposition.

    Parameters
    ----------
    kernel : kernel object or None
        With its parameters fixed; None where the matrix of the problem is the Gram matrix.
    C : float
        Cost of a violation; inf is the hard margin.
    tol : float
        Relative duality gap to reach.
    fine : float
        Gap that is aimed at as long as that costs little.
    convex : bool
        False for kernels that are not positive semidefinite: there is no gap then, and tol is
        the largest violation allowed.
    q : int
        Size of a working set.
    memory : float
        Megabytes for Gram matrices.
    single : bool
        Hold them in float32; f and alpha are float64 in any case.
    seed : int
        Of the first sample where not all rows are active.
    """

    kernel: Any
    C: float = 1.0
    tol: float = 1e-3
    fine: float = 1e-3
    convex: bool = True
    q: int = 256
    memory: float = 1000.0
    single: bool = False
    seed: int = 0

    unit: ClassVar[str] = "round"

    # -- the protocol -----------------------------------------------------------------------

    def init(self, problem: Problem, *, start: Any = None) -> SMOState:
        """alpha = 0, or a list of alphas, one array for each pair in the order of its rows."""
        pairs = pairs_of(problem, self.kernel)
        parts = []
        for k, pair in enumerate(pairs.pairs):
            part = PairState(
                alpha=np.zeros(len(pair.y)),
                f=-pair.y,
                seen=np.zeros(len(pair.y)),
                active=first_active(pairs, k, self._limit(), self.seed, self.single),
                working=np.zeros(0, dtype=np.int64),
                facts=np.zeros(4),
            )
            if start is not None:
                self._set(problem, pairs, pair, part, start[k])
            self._judge(problem, pair, part)
            parts.append(part)
        state = SMOState(parts=parts)
        self._move_on(state)
        return state

    def advance(self, problem: Problem, state: SMOState, steps: int, log: Log = NO_LOG) -> int:
        """Up to ``steps`` working sets."""
        pairs, taken = pairs_of(problem, self.kernel), 0
        while taken < steps and not state.status.done:
            state.status = Status.RUNNING
            pair, part = pairs.pairs[state.at], state.parts[state.at]
            before = part.inner
            self._round(problem, pairs, pair, part)
            taken += 1
            state.steps += 1
            state.n_updates += part.inner - before
            self._move_on(state)
        return taken

    def status(self, state: SMOState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: SMOState) -> Witness:
        """Offsets of all pairs; row i of the problem in pair k has number k n + i."""
        pairs = pairs_of(problem, self.kernel)
        rows, multipliers, offsets = [], [], []
        for k, (pair, part) in enumerate(zip(pairs.pairs, state.parts)):
            some = np.flatnonzero(part.alpha)
            rows.append(k * problem.n + pairs.order[pair.ids[some]])
            multipliers.append(part.alpha[some])
            offsets.append(self._offset(problem, pair, part))
        return Witness(
            a=np.array(offsets) + 0.0,  # no minus sign before a zero
            rows=np.concatenate(rows),
            multipliers=np.concatenate(multipliers),
            claim="dual",
        )

    def _offset(self, problem: Problem, pair: Pair, part: PairState) -> float:
        if not problem.fit_intercept or not len(pair.y) or len(set(pair.y)) < 2:
            return float(part.facts[2])
        cost = self.C * pair.weight
        return (
            offset_of(pair.y, cost, part.alpha, part.f)
            if np.isinf(self.C)
            else best_offset(pair.y, cost, part.f)
        )

    def _set(
        self, problem: Problem, pairs: Pairs, pair: Pair, part: PairState, alpha: Array
    ) -> None:
        """Start from given variables, put into their box and balanced."""
        alpha = np.clip(np.nan_to_num(np.asarray(alpha, dtype=np.float64)), 0, self.C * pair.weight)
        if problem.fit_intercept:
            plus, minus = alpha[pair.y > 0].sum(), alpha[pair.y < 0].sum()
            if min(plus, minus) <= 0:
                return
            alpha = alpha * np.where(pair.y > 0, min(1, minus / plus), min(1, plus / minus))
        some = np.flatnonzero(alpha)
        part.alpha, part.seen = alpha, alpha.copy()
        part.f = pairs.values.combine(pair.ids[some], (alpha * pair.y)[some], pair.ids) - pair.y
        part.read += len(some)

    def _move_on(self, state: SMOState) -> None:
        while state.at < len(state.parts) and state.parts[state.at].status.done:
            state.at += 1
        if state.at == len(state.parts):
            state.at -= 1
            words = [part.status for part in state.parts]
            order = (Status.DIVERGED, Status.STALLED, Status.CONVERGED, Status.CERTIFIED)
            state.status = next(word for word in order if word in words)
