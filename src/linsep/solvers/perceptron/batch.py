"""Perceptrons that look at all rows before each update.

Problem   find a with z_i . a > 0 for all reflected rows z_i = y_i [x_i, 1]
Update    batch: a <- a + eta(k) sum of the misclassified z_i   (a subgradient step on
          J_p(a) = sum of -z_i . a over the misclassified rows)
          worst: a <- a + eta(k) z_i  for the row of smallest z_i . a
Stop      no misclassified row; or a proof that no a exists
Paper     Duda and Hart 1973, section 5.5; Theodoridis, Pattern Recognition, section 3.3

A batch whose misclassified rows add up to zero would stand still for ever; those rows, with
equal multipliers, prove that the classes cannot be separated. So do the rows of a period.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import ENDLESS, FIXED, NO_LOG, Event, Held, Log, State, Status
from linsep.solvers.perceptron import single as loops
from linsep.solvers.perceptron.single import MistakeDriven
from linsep.solvers.schedule import CONSTANT, Schedule, start_weights


@dataclass(kw_only=True)
class BatchState(State):
    """Weights, the best ones so far, and an earlier state to recognise a repetition by."""

    held: ClassVar[Mapping[str, Held]] = {
        "anchor": ENDLESS,
        "n_rows": FIXED,
        "errors": Held(low=-1),
        "proof_rows": Held(shape=("?",), below="n_rows"),
        "proof_counts": Held(shape=("proof_rows",)),
    }

    a: NDArray[np.float64]
    start: NDArray[np.float64]
    best: NDArray[np.float64]
    total: NDArray[np.float64]
    anchor: NDArray[np.float64]
    n_rows: int
    n_scans: int = 0
    errors: int = -1
    """Misclassified rows at the last scan."""
    criterion: float = np.inf
    """Perceptron criterion J_p at the last scan."""
    best_cost: float = np.inf
    """Total weight of the rows misclassified by the best weights."""
    best_update: int = 0
    sample_updates: int = 0
    power: int = 0
    since_anchor: int = 0
    counts: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """How often each row took part since the anchor."""
    period: int = 0
    """Updates after which the run repeats itself; 0 while no repetition is known."""
    proof_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    proof_counts: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def passes(self) -> float:
        """Each step is one pass."""
        return float(self.n_scans)

    @property
    def n_visits(self) -> int:
        """Rows looked at so far."""
        return self.n_scans * self.n_rows

    @property
    def average(self) -> NDArray[np.float64]:
        """Mean of the weights at all scans."""
        return self.total / max(1, self.n_scans)


@dataclass(frozen=True)
class Batch(MistakeDriven):
    """Perceptron by full scans; with keep="pocket" it remembers the weights of fewest errors.

    Parameters
    ----------
    worst : bool
        Update on the row of smallest value alone instead of on all misclassified rows.
    strict, schedule, keep, patience, target_errors, min_margin, cycles, seed
        As for the single-sample rule; patience is in scans.
    """

    unit: ClassVar[str] = "scan"

    worst: bool = False
    strict: bool = False
    schedule: Schedule = CONSTANT
    keep: str | None = "last"
    patience: int | None = None
    target_errors: float | None = None
    min_margin: float | None = None
    cycles: bool = True
    seed: int = 0

    def init(self, problem: Problem, *, start: Any = None) -> BatchState:
        """Weights at the start."""
        a = start_weights(problem, start, self.seed)
        state = BatchState(
            a=a,
            start=a.copy(),
            best=a.copy(),
            total=np.zeros_like(a),
            anchor=np.full_like(a, np.nan),
            n_rows=problem.n_rows,
        )
        if self.schedule.constant:
            state.counts = np.zeros(problem.n_rows)
        if a.any() and (problem.values(a) > 0).all():
            state.status = Status.SEPARATED
        return state

    def advance(self, problem: Problem, state: BatchState, steps: int, log: Log = NO_LOG) -> int:
        """Scan and update up to ``steps`` times."""
        gradient, wrong = np.empty(problem.dim), np.empty(problem.n_rows, dtype=bool)
        taken = 0
        while taken < steps and not state.status.done:
            taken += 1
            state.steps += 1
            self._step(problem, state, gradient, wrong, log)
            if log.full:
                break
        return taken

    def extra(self, problem: Problem, state: BatchState, event: Event | None) -> dict[str, float]:
        """As usual, and the criterion J_p of the weights as they are now."""
        values = problem.values(state.a)
        cost = -float(problem.row_weights @ np.minimum(values, 0.0)) + 0.0
        return super().extra(problem, state, event) | {"cost": cost}

    # -- inside ---------------------------------------------------------------------------

    def _step(
        self,
        problem: Problem,
        state: BatchState,
        gradient: NDArray[np.float64],
        wrong: NDArray[np.bool_],
        log: Log,
    ) -> None:
        errors, cost, criterion, worst, worst_value = loops.scan(
            problem.rows,
            problem.n_rows,
            self.strict,
            self.worst,
            state.a,
            gradient,
            wrong,
            size=problem.n * problem.d,
            work=problem.n_rows * problem.d,
        )
        cost, criterion = float(cost), float(criterion)  # in Python they are numbers of numpy
        state.n_scans += 1
        state.total += state.a
        state.errors, state.criterion = errors, criterion
        if cost < state.best_cost:
            state.best_cost, state.best_update = cost, state.n_updates
            state.best[:] = state.a
        if not (np.isfinite(criterion) and np.isfinite(gradient).all()):
            state.status = Status.DIVERGED
            return
        if errors == 0:
            separated = worst_value > 0
            state.status = Status.SEPARATED if separated else Status.BOUNDARY
            return
        if self.target_errors is not None and state.best_cost <= self.target_errors:
            state.status = Status.ENOUGH
            return
        if self._repeated(problem, state, gradient, wrong):
            return
        if self.patience is not None and state.n_updates - state.best_update > self.patience:
            state.status = Status.PATIENCE
            return
        self._update(problem, state, gradient, wrong, worst, log, worst_value)

    def _update(
        self,
        problem: Problem,
        state: BatchState,
        gradient: NDArray[np.float64],
        wrong: NDArray[np.bool_],
        worst: int,
        log: Log,
        worst_value: float,
    ) -> None:
        if self.worst:
            wrong[:] = False
            wrong[worst] = True
        rate = float(self.schedule.rates(state.n_updates)[0])
        state.a += rate * gradient
        state.n_updates += 1
        state.sample_updates += int(wrong.sum())
        if state.counts.size:
            state.counts += wrong
        row, value = (worst, worst_value) if self.worst else (-1, state.criterion)
        log.write(state.n_updates, state.n_visits, row, value, rate)

    def _repeated(
        self,
        problem: Problem,
        state: BatchState,
        gradient: NDArray[np.float64],
        wrong: NDArray[np.bool_],
    ) -> bool:
        """Whether the run stands still or has come back; then keep the rows that prove it."""
        if not self.worst and not gradient.any():
            self._prove(problem, state, wrong.astype(np.float64))
            return True
        if not (self.cycles and self.schedule.constant):
            return False
        if np.array_equal(state.a, state.anchor):
            state.period = state.since_anchor
            self._prove(problem, state, state.counts)
            return True
        if state.since_anchor >= state.power:
            state.power = max(1, 2 * state.power)
            state.since_anchor = 0
            state.anchor[:] = state.a
            state.counts[:] = 0
        state.since_anchor += 1
        return False

    def _prove(self, problem: Problem, state: BatchState, counts: NDArray[np.float64]) -> None:
        rows = np.flatnonzero(counts)
        state.proof_rows = rows
        state.proof_counts = counts[rows] * problem.row_weights[rows]
        state.status = Status.CYCLE
