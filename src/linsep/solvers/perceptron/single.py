"""The single-sample perceptron.

Problem   find a with z_i . a > 0 for all reflected rows z_i = y_i [x_i, 1]
Update    a <- a + eta(k) z_i  for a visited row with z_i . a <= 0  (or < 0)
Stop      n right visits in a row, or a whole right pass; or a proof that no a exists
Paper     Rosenblatt 1958; Novikoff 1962: from a = 0 at most max|z|^2 / gamma^2 updates;
          Gallant 1990 (pocket, ratchet); Freund and Schapire 1999 (average)

A deterministic run that returns to an earlier state repeats for ever. The rows updated on
during one period then add up to zero, so their counts are Gordan multipliers: a proof that
the classes cannot be separated. The same holds for a row that is zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.costs import LONG
from linsep.core.order import in_turn, permutation, with_replacement
from linsep.core.problem import Problem
from linsep.core.protocol import (
    ENDLESS,
    FIXED,
    NO_LOG,
    Event,
    Held,
    Log,
    State,
    Status,
    Witness,
    new_log,
)
from linsep.core.words import count
from linsep.errors import ClusterError
from linsep.rows.loops import add, dot, norm2, weight
from linsep.solvers.schedule import CONSTANT, Schedule, start_weights

_NEVER = 2**62
_TRIED_ROWS = 100  # the same where no pocket was asked for
_POCKET_ROWS = 1000  # up to here every iterate is tried for the pocket, beyond only long runs


@dataclass(kw_only=True)
class PerceptronState(State):
    """Weights, where the visit stands, and what is remembered on the way."""

    held: ClassVar[Mapping[str, Held]] = {
        "counters": Held(low=-1, most="steps", entries={0: "n_rows", 6: 12}),  # POSITION, STOP
        "best_cost": ENDLESS,
        "n_rows": FIXED,
        "squared_radius": FIXED,
        "cycle_start": Held(low=-1),
        "proof_rows": Held(shape=("?",), below="n_rows"),
        "proof_counts": Held(shape=("proof_rows",)),
    }

    a: NDArray[np.float64]
    start: NDArray[np.float64]
    counters: NDArray[np.int64]
    best: NDArray[np.float64]
    """Weights in the pocket."""
    best_cost: NDArray[np.float64]
    """Total weight of the rows they misclassify: one number."""
    total: NDArray[np.float64]
    """Updates weighted by their time, for the average."""
    anchor: NDArray[np.float64]
    """Earlier weights that the present ones are compared with."""
    n_rows: int
    squared_radius: float = 0.0
    """max |z|^2, computed when the Novikoff bound is asked for."""
    period: int = 0
    """Visits after which the run repeats itself; 0 while no repetition is known."""
    cycle_start: int = -1
    """First visit after which the state belongs to the repetition; -1 if not computed."""
    proof_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    proof_counts: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def passes(self) -> float:
        """Visits divided by the number of rows."""
        return self.n_visits / self.n_rows

    @property
    def n_visits(self) -> int:
        """Rows looked at so far."""
        return int(self.counters[VISITS])

    @property
    def best_update(self) -> int:
        """Number of the update that made the weights in the pocket."""
        return int(self.counters[BEST_UPDATE])

    @property
    def average(self) -> NDArray[np.float64]:
        """Mean of the weights over all visits."""
        return self.a - self.total / max(1, self.n_visits)


class MistakeDriven:
    """What the rules that learn from mistakes share: what is kept and what is told.

    States have a, best, average, proof_rows and proof_counts.
    """

    keep: str | None
    strict: bool

    def status(self, state: Any) -> Status:
        """Why the run stands where it stands."""
        status: Status = state.status
        return status

    def witness(self, problem: Problem, state: Any) -> Witness:
        """The weights that are kept, and the rows that prove non-separability if there are."""
        return Witness(
            a=self.kept(problem, state),
            rows=state.proof_rows,
            multipliers=state.proof_counts,
            claim="origin" if state.proof_rows.size else "",
        )

    def kept(self, problem: Problem, state: Any) -> NDArray[np.float64]:
        """The weights asked for by ``keep``; a separator is kept in any case."""
        if state.status is Status.SEPARATED or self.keep == "last":
            return np.array(state.a)
        if self.keep == "average":
            return np.array(state.average)
        if np.array_equal(state.a, state.best):
            return np.array(state.a)
        values = problem.values(state.a)  # of the last ones, which no pocket may have looked at
        wrong = ~(values >= 0) if self.strict else ~(values > 0)
        last = float(problem.row_weights[wrong].sum())
        return np.array(state.a if last < float(np.min(state.best_cost)) else state.best)

    def current(self, problem: Problem, state: Any) -> NDArray[np.float64]:
        """The weights as they are now, whatever is kept."""
        return np.asarray(state.a)

    def extra(self, problem: Problem, state: Any, event: Event | None) -> dict[str, float]:
        """What a trace tells beside the weights."""
        return {"norm2": float(state.a @ state.a), **({"eta": event.step} if event else {})}

    def repeats(self, problem: Problem, event: Event) -> int | None:
        """Updates with this row in a row that would set it right: each adds step |z|^2."""
        row = event.row if problem.binary else event.row // (problem.K - 1)
        size = float(problem.squared_lengths[row]) + problem.fit_intercept
        gain = event.step * float(problem.row_weights[event.row]) * size
        gain *= 1 if problem.binary else 2
        if not gain > 0:
            return None
        exact = -event.value / gain
        return math.ceil(exact) if self.strict else math.floor(exact) + 1

    def rule_words(self, event: Event) -> str:
        """The update in the lecture's letters."""
        return f"a <- a + {event.step:.6g} z"


@dataclass(frozen=True)
class SingleSample(MistakeDriven):
    """Rosenblatt's rule, one row at a time.

    Parameters
    ----------
    order : {"cyclic", "shuffle", "random", "restart"}
        The same order in every pass; a new permutation in every pass; rows drawn with
        replacement; or back to the first row after every update.
    strict : bool
        Count a value of zero as right.
    schedule : Schedule
        Learning rates.
    keep : {"last", "pocket", "average"} or None
        Weights that are handed over; None: those of fewest errors that were noticed on the way.
    stop : {"clean-run", "clean-pass"}
        Ends after n right visits in a row, or after a pass without an update.
    patience : int, optional
        Ends when the pocket has not improved for this many passes.
    target_errors : float, optional
        Ends when the pocket misclassifies rows of no more weight than this.
    min_margin : float, optional
        Ends when more updates were made than a separator of this margin would allow.
    cycles : bool
        End when the run is found to repeat itself.
    seed : int
        Seed of the order and of a random start.
    """

    unit: ClassVar[str] = "visit"

    order: str = "cyclic"
    strict: bool = False
    schedule: Schedule = CONSTANT
    keep: str | None = "last"
    stop: str = "clean-run"
    patience: int | None = None
    target_errors: float | None = None
    min_margin: float | None = None
    cycles: bool = True
    seed: int = 0

    def init(self, problem: Problem, *, start: Any = None) -> PerceptronState:
        """Weights at the start; the pocket holds them already."""
        a = start_weights(problem, start, self.seed)
        counters = np.zeros(N_COUNTERS, dtype=np.int64)
        counters[CHECKED] = -1
        state = PerceptronState(
            a=a,
            start=a.copy(),
            counters=counters,
            best=a.copy(),
            best_cost=np.array([np.inf]),
            total=np.zeros_like(a),
            anchor=np.zeros_like(a),
            n_rows=problem.n_rows,
        )
        values = problem.values(a) if a.any() else None  # else zero, all of them
        if values is not None and (values > 0).all():
            state.status = Status.SEPARATED
        if self.keep in ("pocket", None):
            if values is not None:
                wrong = values < 0 if self.strict else values <= 0
                state.best_cost[0] = float(problem.row_weights[wrong].sum())
            else:
                machines = 0 if self.strict else problem.n_rows // problem.n
                state.best_cost[0] = machines * problem.total_weight
            if not state.status.done and state.best_cost[0] <= self._few:
                state.status = Status.ENOUGH
        if self.min_margin is not None:
            state.squared_radius = float(problem.squared_lengths.max()) + problem.fit_intercept
            state.squared_radius *= 1 if problem.binary else 2
            if (problem.weight != 1).any():  # the bound is for steps of equal size
                state.squared_radius = np.inf
        return state

    def advance(
        self, problem: Problem, state: PerceptronState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Visit up to ``steps`` rows."""
        taken = 0
        while taken < steps and not state.status.done:
            taken += self._visit(problem, state, steps - taken, log)
            state.n_updates = int(state.counters[UPDATES])
            state.status = self._judge(problem, state)
            if log.full:
                break
        state.steps += taken
        return taken

    def ahead(self, problem: Problem, state: PerceptronState) -> int:
        """The row that is visited next."""
        return int(self._order(problem, state)[state.counters[POSITION]])

    # -- inside ---------------------------------------------------------------------------

    @property
    def _repeats(self) -> bool:
        """Whether equal states mean an endless repetition."""
        return self.cycles and self.order in ("cyclic", "restart") and self.schedule.constant

    def _visit(
        self, problem: Problem, state: PerceptronState, steps: int, log: Log = NO_LOG,
        first: int | None = None,
    ) -> int:  # fmt: skip
        """Visits of all rows; with ``first`` of those that are here, the first of which has that
        number, in their order."""
        if first is not None:
            keep = {"last": LAST, "average": AVERAGE}.get(str(self.keep), ASK)
        elif self.keep is None:
            keep = POCKET if problem.n_rows <= _TRIED_ROWS else SELDOM
        else:
            ratchet = POCKET if problem.n_rows <= _POCKET_ROWS else RATCHET
            keep = {"last": LAST, "average": AVERAGE}.get(self.keep, ratchet)
        done = int(state.counters[UPDATES])
        rule = (
            self.strict,
            self.order == "restart",
            self.stop == "clean-pass",
            self._repeats,
            keep,
            done,
            self._most_updates(state),
            _NEVER if self.patience is None else self.patience * problem.n_rows,
            self._few,
            first or 0,
            state.n_rows,
        )
        return int(
            visit(
                problem.rows,
                self._order(problem, state) if first is None else in_turn(problem.n_rows),
                rule,
                self.schedule.rates(done),
                state.a,
                state.counters,
                state.best,
                state.best_cost,
                state.total,
                state.anchor,
                steps,
                log,
                size=LONG * problem.n * problem.d,
                work=steps * problem.d * (problem.n_rows if keep == POCKET else 1),
            )
        )

    @property
    def _few(self) -> float:
        return -1.0 if self.target_errors is None else float(self.target_errors)

    def _most_updates(self, state: PerceptronState) -> int:
        """Novikoff's bound for the margin asked for, where it holds."""
        if self.min_margin is None or state.start.any() or not self.schedule.constant:
            return _NEVER
        return int(min(state.squared_radius / self.min_margin**2, 2.0**62))

    def _order(self, problem: Problem, state: PerceptronState) -> NDArray[np.int64]:
        if self.order in ("cyclic", "restart"):
            return in_turn(problem.n_rows)
        draw = permutation if self.order == "shuffle" else with_replacement
        return draw(self.seed, int(state.counters[EPOCH]), problem.n_rows)

    def _judge(self, problem: Problem, state: PerceptronState) -> Status:
        stop = int(state.counters[STOP])
        if stop in (CLEAN_RUN, CLEAN_PASS):
            return self._judge_clean(problem, state)
        if stop == ZERO_ROW:
            last = (int(state.counters[POSITION]) - 1) % problem.n_rows
            state.proof_rows = self._order(problem, state)[last : last + 1].copy()
            state.proof_counts = np.ones(1)
            return Status.INSEPARABLE if _is_zero(problem, state.proof_rows[0]) else Status.STALLED
        if stop == OVERFLOW:
            return Status.DIVERGED
        if stop == REPEATED:
            self._explain_repeat(problem, state)
            return Status.CYCLE
        if stop == TOO_MANY:
            return Status.BOUND_EXCEEDED
        if stop == NO_BETTER:
            return Status.PATIENCE
        if stop == ENOUGH:
            return Status.ENOUGH
        state.counters[STOP] = GO  # the rest only ends a call, not the run
        return Status.RUNNING

    def _judge_clean(self, problem: Problem, state: PerceptronState) -> Status:
        """A clean run ends the search only if it covers every row."""
        values = problem.values(state.a)
        if (values > 0).all():
            return Status.SEPARATED
        if self.strict and (values >= 0).all():
            return Status.BOUNDARY
        state.counters[[CLEAN, STOP]] = 0, GO
        return Status.RUNNING

    def _explain_repeat(self, problem: Problem, state: PerceptronState) -> None:
        """Run one period again to count its updates, and find where the repetition began."""
        state.period = state.n_visits - int(state.counters[ANCHOR_VISITS])
        updates = state.n_updates - int(state.counters[ANCHOR_UPDATES])
        again, log = state.copy(), new_log(updates + 1)
        again.status = Status.RUNNING
        taken = 0
        while taken < state.period:
            taken += self._visit(problem, again, state.period - taken, log)
        rows = log.whole[: int(log.used[0]), 2]
        state.proof_rows, counts = np.unique(rows, return_counts=True)
        state.proof_counts = counts * problem.row_weights[state.proof_rows]
        if 20 * state.n_visits * problem.d < 20_000_000:
            state.cycle_start = self._first_of_cycle(problem, state)

    def _first_of_cycle(self, problem: Problem, state: PerceptronState) -> int:
        """Smallest m with equal states after m and after m + period visits, by bisection."""

        def after(visits: int) -> tuple[NDArray[np.float64], int]:
            other = self.init(problem)
            other.a[:] = state.start
            taken = 0
            while taken < visits:
                taken += self._visit(problem, other, visits - taken)
            return other.a, int(other.counters[POSITION])

        low, high = -1, int(state.counters[ANCHOR_VISITS])
        while high - low > 1:
            middle = (low + high) // 2
            first, second = after(middle), after(middle + state.period)
            if first[1] == second[1] and np.array_equal(first[0], second[0]):
                high = middle
            else:
                low = middle
        return high


def _is_zero(problem: Problem, row: int) -> bool:
    """Whether a reflected row is zero, and not only too small to be squared."""
    sample = int(row) if problem.binary else int(row) // (problem.K - 1)
    values = problem.matrix[[sample]]
    return not problem.fit_intercept and not np.any(values.data if problem.sparse else values)


# -- the same of rows that are read part by part --------------------------------------------------


@dataclass(kw_only=True)
class PerceptronPartsState(PerceptronState):
    """The same, with what the last weights cost."""

    held: ClassVar[Mapping[str, Held]] = {
        **PerceptronState.held,
        "counters": Held(low=-1, entries={0: "n_rows", 6: 12}),  # a step is a pass
        "last_cost": ENDLESS,
    }

    last_cost: float = np.inf


@dataclass
class Turn:
    """What goes from block to block: the state, and weights that all rows are to be held against.

    Such weights cannot be tried where they are met. It makes no difference to the visits that
    follow when they are, so all of a pass are tried together, in a pass of its own.
    """

    state: PerceptronPartsState
    first: int = 0
    """Number of the first reflected row of the block that comes next."""
    done: bool = False
    asked: list[tuple[NDArray[np.float64], int, int]] = field(default_factory=list)
    """Weights, their update, and the visit."""


@dataclass(frozen=True)
class Costs:
    """What rows on the wrong side of some planes weigh, and whether the last has none."""

    cost: NDArray[np.float64]
    clean: bool
    level: bool
    """Whether no row is strictly on the wrong side of the last."""

    def plus(self, other: Costs) -> Costs:
        """Both."""
        return Costs(self.cost + other.cost, self.clean and other.clean, self.level and other.level)


def _costs(problem: Problem, *, planes: list[NDArray[np.float64]], strict: bool) -> Costs:
    cost = np.zeros(len(planes))
    for k, a in enumerate(planes):
        values = problem.values(a)
        cost[k] = float(problem.row_weights[values < 0 if strict else values <= 0].sum())
    return Costs(cost, bool((values > 0).all()), bool((values >= 0).all()))


@dataclass(frozen=True)
class SingleInParts:
    """Rosenblatt's rule on rows that are read part by part, in their order.

    The weights are those that the same rows in memory lead to, bit for bit.
    """

    unit: ClassVar[str] = "pass"
    long_steps: ClassVar[bool] = True

    rule: SingleSample

    def init(self, problem: Any, *, start: Any = None) -> PerceptronPartsState:
        """Weights at the start; from other ones than zeros one pass tells what they cost."""
        a = start_weights(problem, start, self.rule.seed)
        counters = np.zeros(N_COUNTERS, dtype=np.int64)
        counters[CHECKED] = -1
        weight = problem.total_weight * (problem.K - 1)
        state = PerceptronPartsState(
            a=a, start=a.copy(), counters=counters, best=a.copy(),
            best_cost=np.array([0.0 if self.rule.strict else weight]), total=np.zeros_like(a),
            anchor=np.zeros_like(a), n_rows=problem.n_rows,
        )  # fmt: skip
        if a.any():
            found = self._held(problem, [a])
            state.best_cost[0] = float(found.cost[0])
            state.status = Status.SEPARATED if found.clean else state.status
        return state

    def advance(self, problem: Any, state: Any, steps: int, log: Log = NO_LOG) -> int:
        """Passes."""
        taken = 0
        while taken < steps and not state.status.done:
            try:
                self._pass(problem, state)
            except ClusterError:
                if not state.steps:
                    raise
                state.status = Status.CLUSTER_LOST
                return taken
            state.steps += 1
            taken += 1
        return taken

    def status(self, state: PerceptronPartsState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Any, state: PerceptronPartsState) -> Witness:
        """The weights that are kept."""
        if state.status is Status.SEPARATED or self.rule.keep == "last":
            return Witness(a=np.array(state.a))
        if self.rule.keep == "average":
            return Witness(a=np.array(state.average))
        last = state.last_cost < float(state.best_cost[0])
        return Witness(a=np.array(state.a if last else state.best))

    def _held(self, problem: Any, planes: list[NDArray[np.float64]]) -> Costs:
        """All rows held against some planes."""
        work = partial(_costs, planes=planes, strict=self.rule.strict)
        found: Costs = problem.total(work, f"all rows held against {count(len(planes), 'plane')}")
        return found

    def _pass(self, problem: Any, state: PerceptronPartsState) -> None:
        turn: Turn = problem.in_turn(
            partial(visit_block, rule=self.rule), Turn(state.copy()), "visits in their order"
        )
        now, asked = turn.state, turn.asked
        stop = int(now.counters[STOP])
        tries = self.rule.keep not in ("last", "average")
        if tries or stop in (CLEAN_RUN, CLEAN_PASS):
            found = self._held(problem, [*(a for a, _, _ in asked), now.a])
            now.last_cost = float(found.cost[-1])
            for (a, update, visit), cost in zip(asked, found.cost.tolist()):
                if cost < now.best_cost[0]:
                    now.best[:], now.best_cost[0] = a, cost
                    now.counters[BEST_UPDATE], now.counters[BEST_VISIT] = update, visit
        now.n_updates = int(now.counters[UPDATES])
        if stop in (CLEAN_RUN, CLEAN_PASS):
            now.counters[[CLEAN, STOP]] = 0, GO
            level = Status.BOUNDARY if self.rule.strict and found.level else Status.RUNNING
            now.status = Status.SEPARATED if found.clean else level
        else:
            now.status = _ENDS.get(stop, Status.RUNNING)
        state.__dict__.update(now.__dict__)  # as a whole: a pass that is given up leaves nothing


def visit_block(problem: Problem, turn: Turn, *, rule: SingleSample) -> Turn:
    """Visit the rows of a block that are still to be visited in this pass."""
    state, first = turn.state, turn.first
    turn.first = last = first + problem.n_rows
    counters = state.counters
    while first <= counters[POSITION] < last:
        epoch = int(counters[EPOCH])
        rule._visit(problem, state, last - int(counters[POSITION]), first=first)
        stop = int(counters[STOP])
        if stop == ASKED:
            turn.asked.append((state.a.copy(), int(counters[UPDATES]), int(counters[VISITS])))
        if stop not in (GO, ASKED, END_OF_PASS, RATES_USED):
            turn.done = True
            break
        counters[STOP] = GO
        if counters[EPOCH] > epoch:
            break
    return turn


# -- Inner loops of the perceptron rules ----------------------------------------------------------


# Places in the array of counters.
POSITION, EPOCH, VISITS, UPDATES, CLEAN, PASS_UPDATES, STOP = range(7)
BEST_VISIT, BEST_RUN, BEST_UPDATE, CHECKED = range(7, 11)
ANCHOR_VISITS, ANCHOR_UPDATES, POWER, SINCE_ANCHOR = range(11, 15)
N_COUNTERS = 15

# Values of counters[STOP]: why the loop cannot or need not go on.
GO, CLEAN_RUN, CLEAN_PASS, ZERO_ROW, OVERFLOW, REPEATED, TOO_MANY, NO_BETTER, ENOUGH = range(9)
END_OF_PASS, LOG_FULL, RATES_USED, ASKED = range(9, 13)

# What to remember.
LAST, POCKET, RATCHET, AVERAGE, SELDOM, ASK = range(6)

_ENDS = {OVERFLOW: Status.DIVERGED, REPEATED: Status.CYCLE, TOO_MANY: Status.BOUND_EXCEEDED,
         ZERO_ROW: Status.STALLED}  # fmt: skip


@inner
def weigh_errors(rows, n, a, strict, most):
    """Total weight of the misclassified rows, or at least ``most`` as soon as it is reached."""
    cost = 0.0
    for v in range(n):
        value = dot(rows, v, a)
        if value < 0.0 or (value == 0.0 and not strict):
            cost += weight(rows, v)
            if cost >= most:
                break
    return cost


@inner
def same(a, b):
    """Whether two vectors are equal."""
    j = 0
    while j < a.shape[0] and a[j] == b[j]:
        j += 1
    return j == a.shape[0]


@inner
def keep_if_better(rows, n, a, strict, counters, best, best_cost):
    """Pocket: keep the weights if they make strictly fewer errors than the kept ones."""
    cost = weigh_errors(rows, n, a, strict, best_cost[0])
    if cost < best_cost[0]:
        best_cost[0] = cost
        counters[BEST_RUN] = counters[CLEAN]
        counters[BEST_UPDATE] = counters[UPDATES]
        counters[BEST_VISIT] = counters[VISITS]
        for j in range(a.shape[0]):
            best[j] = a[j]


@inner
def watch_for_repeat(a, counters, anchor):
    """Brent's cycle search: compare with a state that is moved on at powers of two."""
    if counters[POWER] > 0 and same(a, anchor):
        counters[STOP] = REPEATED
        return
    counters[SINCE_ANCHOR] += 1
    if counters[SINCE_ANCHOR] >= counters[POWER]:
        counters[POWER] = max(1, 2 * counters[POWER])
        counters[SINCE_ANCHOR] = 0
        counters[ANCHOR_VISITS] = counters[VISITS]
        counters[ANCHOR_UPDATES] = counters[UPDATES]
        for j in range(a.shape[0]):
            anchor[j] = a[j]


@routine
def visit(rows, order, rule, rates, a, counters, best, best_cost, total, anchor, steps, log):
    """Visit up to ``steps`` rows in the given order and correct the weights on mistakes.

    rule = (strict, restart, whole_pass, repeats, keep, rates_from, most_updates, patience, few,
    first, n): whether a value of zero counts as right, whether to begin again at the first row
    after an update, whether only a clean pass ends the run, whether to look for repeated states,
    what to remember, the number of the update that rates[0] belongs to, when to give up: after so
    many updates, so many visits without a better pocket, or once the pocket makes so few errors;
    the number of the first row that is here, and of all rows. With keep = ASK the loop ends where
    SELDOM would look at all rows.
    ``rates`` of length one is a constant rate.
    """
    strict, restart, whole_pass, repeats, keep, rates_from, most_updates, patience, few = rule[:9]
    first, n = rule[9], rule[10]
    taken = 0
    counters[STOP] = GO
    while taken < steps and counters[STOP] == GO:
        v = order[counters[POSITION] - first]
        value = dot(rows, v, a)
        counters[POSITION] += 1
        counters[VISITS] += 1
        taken += 1
        if value > 0.0 or (value == 0.0 and strict):
            counters[CLEAN] += 1
            tried = keep in (RATCHET, SELDOM, ASK)
            longer = tried and counters[CLEAN] > counters[BEST_RUN]
            if longer and counters[CHECKED] != counters[UPDATES] and keep == ASK:
                counters[CHECKED] = counters[UPDATES]
                counters[BEST_RUN] = counters[CLEAN]
                counters[STOP] = ASKED
            elif longer and counters[CHECKED] != counters[UPDATES]:
                counters[CHECKED] = counters[UPDATES]
                keep_if_better(rows, n, a, strict, counters, best, best_cost)
                if keep == SELDOM:  # the next one must stay right for longer than any tried
                    counters[BEST_RUN] = counters[CLEAN]
            if value - value != 0.0:
                counters[STOP] = OVERFLOW
            elif counters[CLEAN] >= n and not whole_pass:
                counters[STOP] = CLEAN_RUN
        else:
            if value - value != 0.0:
                counters[STOP] = OVERFLOW
                break
            if value == 0.0 and norm2(rows, v) == 0.0:
                counters[STOP] = ZERO_ROW
                break
            at = counters[UPDATES] - rates_from
            rate = rates[0] if rates.shape[0] == 1 else rates[at]
            step = rate * weight(rows, v)
            add(rows, v, step, a)
            if keep == AVERAGE:
                add(rows, v, step * (counters[VISITS] - 1), total)
            counters[UPDATES] += 1
            counters[PASS_UPDATES] += 1
            counters[CLEAN] = 0
            if keep == POCKET:
                keep_if_better(rows, n, a, strict, counters, best, best_cost)
            if log.whole.shape[0] > 0:
                k = log.used[0]
                log.whole[k, 0] = counters[UPDATES]
                log.whole[k, 1] = counters[VISITS]
                log.whole[k, 2] = v
                log.real[k, 0] = value
                log.real[k, 1] = rate
                log.used[0] = k + 1
                if k + 1 == log.whole.shape[0]:
                    counters[STOP] = LOG_FULL
            if restart:
                counters[POSITION] = 0
                if repeats:
                    watch_for_repeat(a, counters, anchor)
            if rates.shape[0] > 1 and at + 1 == rates.shape[0] and counters[STOP] == GO:
                counters[STOP] = RATES_USED
            if counters[UPDATES] > most_updates:
                counters[STOP] = TOO_MANY
        if counters[VISITS] - counters[BEST_VISIT] > patience and (
            counters[STOP] == GO or counters[STOP] >= END_OF_PASS
        ):
            counters[STOP] = NO_BETTER
        if best_cost[0] <= few and (counters[STOP] == GO or counters[STOP] >= END_OF_PASS):
            counters[STOP] = ENOUGH
        if counters[POSITION] == n:
            if whole_pass and counters[PASS_UPDATES] == 0 and counters[STOP] == GO:
                counters[STOP] = CLEAN_PASS
            counters[POSITION] = 0
            counters[EPOCH] += 1
            counters[PASS_UPDATES] = 0
            if counters[STOP] == GO or counters[STOP] == LOG_FULL or counters[STOP] == ASKED:
                if repeats and not restart:
                    watch_for_repeat(a, counters, anchor)
                elif not repeats and counters[STOP] == GO:
                    counters[STOP] = END_OF_PASS
    return taken


@routine
def scan(rows, n, strict, worst_only, a, gradient, wrong):
    """Look at all rows: fill the sum of the misclassified ones and mark them in ``wrong``.

    With worst_only the sum holds the row of smallest value alone.

    Gives back (errors, cost, criterion, worst row, worst value): the number of misclassified
    rows, their weight, the weighted sum of their -z . a, and the row of smallest value.
    """
    for j in range(gradient.shape[0]):
        gradient[j] = 0.0
    errors = 0
    cost = 0.0
    criterion = 0.0
    worst = -1
    worst_value = 0.0
    for v in range(n):
        value = dot(rows, v, a)
        is_wrong = not (value > 0.0 or (value == 0.0 and strict))
        wrong[v] = is_wrong
        if is_wrong:
            w = weight(rows, v)
            errors += 1
            cost += w
            criterion -= w * value
            if not worst_only:
                add(rows, v, w, gradient)
        if v == 0 or value < worst_value:
            worst = v
            worst_value = value
    if worst_only and errors > 0:
        add(rows, worst, weight(rows, worst), gradient)
    return errors, cost, criterion, worst, worst_value
