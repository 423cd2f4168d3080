"""The perceptron in the feature space of a kernel, by counts of mistakes.

Problem   find alpha with y_i (sum_j alpha_j y_j K_ij + b) > 0 for all rows
Update    alpha_i <- alpha_i + s_i and b <- b + s_i y_i for a visited row with a value <= 0; s_i is
          the weight of the row. All scores follow by one row of the Gram matrix
Stop      n right visits in a row, and no row wrong
Paper     Aizerman, Braverman and Rozonoer 1964; Freund and Schapire 1999

With the linear kernel the visits, updates and values are those of the perceptron itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.order import in_turn, permutation, with_replacement
from linsep.core.problem import Problem, reads
from linsep.core.protocol import NO_LOG, Event, Log, State, Status, Witness
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import KernelValues

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class KernelMistakesState(State):
    """Counts of mistakes, the scores they give, and what is kept."""

    alpha: Array
    b: float = 0.0
    scores: Array
    visits: int = 0
    clean: int = 0
    """Right visits in a row."""
    best: Array
    best_b: float = 0.0
    best_cost: float = np.inf
    late: Array
    """Every update times the visits before it, for the average."""
    late_b: float = 0.0

    @property
    def passes(self) -> float:
        """Visits over rows."""
        return self.visits / max(1, len(self.alpha))

    @property
    def n_visits(self) -> int:
        """Rows looked at so far."""
        return self.visits


class _Rows:
    """Rows of the Gram matrix: all of them if they fit, else one at a time."""

    def __init__(self, problem: Problem, kernel: Kernel | None, memory: float) -> None:
        self.values = KernelValues(problem, kernel)
        n = problem.n
        self.G: Array | None = None
        if 8e-6 * n * n <= memory:
            self.G = np.empty((n, n))
            self.values.fill(self.G, np.arange(n))

    def row(self, i: int) -> Array:
        if self.G is not None:
            return np.asarray(self.G[i])
        return np.asarray(self.values.block(slice(i, i + 1), slice(0, self.values.n))[0])


def kernel_rows(problem: Problem, kernel: Kernel | None, memory: float) -> _Rows:
    """Kernel values kept with the problem, and so shared by its parts."""
    return problem.once(_rows, kernel, memory=memory)


@reads("matrix")
def _rows(problem: Problem, kernel: Kernel | None, memory: float) -> _Rows:
    return _Rows(problem, kernel, memory)


@dataclass(frozen=True)
class KernelMistakes:
    """Settings.

    Parameters
    ----------
    kernel : kernel object or None
        None where the matrix of the problem is the Gram matrix.
    order : {"cyclic", "shuffle", "random"}
    keep : {"last", "pocket", "average"}
    strict : bool
        Whether a value of zero is right.
    memory : float
        Megabytes for the Gram matrix; where it does not fit, rows are computed when needed.
    seed : int
    """

    kernel: Kernel | None
    order: str = "cyclic"
    keep: str = "last"
    strict: bool = False
    memory: float = 1000.0
    seed: int = 0

    unit: ClassVar[str] = "visit"

    def prepare(self, problem: Problem) -> None:
        """Kernel values, before the parts of the problem that share them are made."""
        kernel_rows(problem, self.kernel, self.memory)

    def init(self, problem: Problem, *, start: Any = None) -> KernelMistakesState:
        """No mistakes yet, or those of (alpha, b)."""
        n = problem.n
        zero = np.zeros(n)
        state = KernelMistakesState(
            alpha=zero.copy(), scores=zero.copy(), best=zero.copy(), late=zero.copy()
        )
        if start is not None:
            state.alpha, state.b = np.array(start[0], dtype=np.float64), float(start[1])
            rows = kernel_rows(problem, self.kernel, self.memory)
            some = np.flatnonzero(state.alpha)
            signed = (state.alpha * problem.sign)[some]
            state.scores = rows.values.combine(some, signed, np.arange(n)) + state.b
        return state

    def advance(
        self, problem: Problem, state: KernelMistakesState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Up to ``steps`` visits; fewer when the log is full."""
        rows = kernel_rows(problem, self.kernel, self.memory)
        y, n, taken = problem.sign, problem.n, 0
        while taken < steps and not state.status.done:
            state.status = Status.RUNNING
            at = state.visits % n
            ahead = self._order(state.visits // n, n)[at : at + steps - taken]
            ahead = ahead[: n - state.clean]
            value = y[ahead] * state.scores[ahead]
            wrong = np.flatnonzero(value < 0 if self.strict else value <= 0)
            looked = int(wrong[0]) + 1 if len(wrong) else len(ahead)
            state.visits += looked
            state.steps += looked
            taken += looked
            if not len(wrong):
                state.clean += looked
                self._end(problem, state)
                continue
            self._update(problem, state, rows, int(ahead[wrong[0]]), float(value[wrong[0]]), log)
            if log.full:
                break
        return taken

    def _order(self, epoch: int, n: int) -> NDArray[np.int64]:
        if self.order == "cyclic":
            return in_turn(n)
        make = permutation if self.order == "shuffle" else with_replacement
        return make(self.seed, epoch, n)

    def _update(
        self, problem: Problem, state: KernelMistakesState, rows: _Rows, i: int, value: float,
        log: Log,
    ) -> None:  # fmt: skip
        if self.keep == "pocket":
            self._pocket(problem, state)
        weight, sign = float(problem.weight[i]), float(problem.sign[i])
        bias = 1.0 if problem.fit_intercept else 0.0
        state.clean = 0
        state.n_updates += 1
        state.alpha[i] += weight
        state.b += bias * weight * sign
        state.scores += weight * sign * (rows.row(i) + bias)
        state.late[i] += weight * (state.visits - 1)
        state.late_b += bias * weight * sign * (state.visits - 1)
        log.write(state.n_updates, state.visits, i, value, weight)
        if not np.isfinite(state.scores).all():
            state.status = Status.DIVERGED

    def _end(self, problem: Problem, state: KernelMistakesState) -> None:
        if state.clean < problem.n:
            return
        value = problem.sign * state.scores
        if ((value > 0) | ((value == 0) & self.strict)).all():
            done = bool((value > 0).all())
            state.status = Status.SEPARATED if done else Status.BOUNDARY
        state.clean = 0

    def _pocket(self, problem: Problem, state: KernelMistakesState) -> None:
        """Keep the counts if fewer rows are wrong with them than ever before."""
        cost = float(problem.weight[problem.sign * state.scores <= 0].sum())
        if cost < state.best_cost:
            state.best_cost = cost
            state.best, state.best_b = state.alpha.copy(), state.b

    def status(self, state: KernelMistakesState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: KernelMistakesState) -> Witness:
        """The counts that are kept, and the offset."""
        alpha, b = self._kept(problem, state)
        rows = np.flatnonzero(alpha)
        return Witness(a=np.array([b + 0.0]), rows=rows, multipliers=alpha[rows])

    def _kept(self, problem: Problem, state: KernelMistakesState) -> tuple[Array, float]:
        if self.keep == "average" and state.visits and state.status is not Status.SEPARATED:
            t = state.visits
            return state.alpha - state.late / t, state.b - state.late_b / t
        if self.keep == "pocket":
            cost = float(problem.weight[problem.sign * state.scores <= 0].sum())
            if cost > state.best_cost:
                return state.best, state.best_b
        return state.alpha, state.b

    # -- for traces ---------------------------------------------------------------------------

    def current(self, problem: Problem, state: KernelMistakesState) -> Array:
        """The counts as they are now, times y."""
        return np.asarray(state.alpha * problem.sign)

    def ahead(self, problem: Problem, state: KernelMistakesState) -> int:
        """The row that is visited next."""
        return int(self._order(state.visits // problem.n, problem.n)[state.visits % problem.n])

    def seen(
        self, problem: Problem, state: KernelMistakesState, *, kept: bool = False
    ) -> tuple[Array, Array, float]:
        """Values of the rows, the weights where the kernel is linear, and the offset: of the
        counts as they are now, or of those that are kept."""
        linear = self.kernel is not None and self.kernel.linear
        alpha, b = self._kept(problem, state) if kept else (state.alpha, state.b)
        signed, scores = alpha * problem.sign, state.scores
        if alpha is not state.alpha:
            rows, some = kernel_rows(problem, self.kernel, self.memory), np.flatnonzero(alpha)
            scores = rows.values.combine(some, signed[some], np.arange(problem.n)) + b
        coef = np.asarray(problem.matrix.T @ signed) if linear else np.zeros(0)
        return problem.sign * scores, coef, b

    def extra(
        self, problem: Problem, state: KernelMistakesState, event: Event | None
    ) -> dict[str, float]:
        """What a trace tells beside the values."""
        mistakes = float(state.alpha.sum())
        count = float(np.count_nonzero(state.alpha))
        return {"mistakes": mistakes, "vectors": count, **({"eta": event.step} if event else {})}

    def rule_words(self, event: Event) -> str:
        """The update in words."""
        return f"its count grows by {event.step:.6g}"
