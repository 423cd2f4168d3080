"""The only loop in the package: limits, progress, checkpoints, interrupts, callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from linsep.core.boundary import mark_as_the_callers
from linsep.core.limits import Interrupts, Limits, TimeUpError, clock, given_up_after, time_left
from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Log, Solver, State, Status, Witness, new_log
from linsep.errors import ProofError

S = TypeVar("S", bound=State)

_LARGEST_CHUNK = 1 << 40
_TARGET_SECONDS = 0.05  # of one call of advance: Ctrl-C and progress bars need an answer soon


_IDLE = 1000  # calls without a step, after which a solver that calls itself running is not
_LONG_STEP = 0.2  # seconds of a step that is given up at Ctrl-C: a copy is kept before it


@dataclass(frozen=True)
class Moment(Generic[S]):
    """What an observer sees between two calls of ``advance``."""

    problem: Problem
    solver: Solver[S]
    state: S
    status: Status
    seconds: float
    limits: Limits
    log: Log


class Observer:
    """Base of those who watch a run. ``moment`` may give back True to ask for a stop.

    capacity is the size of the event log the observer wants; 0 means none. stride is how many
    steps it lets pass unseen at most; 0 means any number.
    """

    capacity: int = 0
    stride: int = 0

    def moment(self, now: Moment[Any]) -> bool | None:
        """Called before the first step and after every call of ``advance``."""

    def finish(self, outcome: Outcome[Any]) -> None:
        """Called once, with the result."""


@dataclass(frozen=True)
class Outcome(Generic[S]):
    """How a run ended: the state, why, and what it took."""

    state: S
    status: Status
    witness: Witness
    certificate: Any
    steps: int
    unit: str
    seconds: float
    interrupted: bool = False

    @property
    def passes(self) -> float:
        """Work done, in passes over the data."""
        return self.state.passes


def drive(
    problem: Problem,
    solver: Solver[S],
    state: S | None = None,
    *,
    limits: Limits | None = None,
    observers: Sequence[Observer] = (),
    certifier: Callable[[Problem, Witness], Any] | None = None,
) -> Outcome[S]:
    """Run a solver until it has an answer or a limit is reached.

    Measure first, then test, then step: a state that is already an answer takes no step.
    The size of the chunks adapts to the clock, and never to anything that could change the
    numbers: any way of cutting a run into chunks ends in the same state, bit for bit.

    Parameters
    ----------
    problem, solver
        What to solve and how.
    state : optional
        Where to go on; a fresh start without it. It is changed in place. Where the time ends in
        the middle of a step, the outcome holds the state before it, and this one is of no use.
    limits : Limits, optional
        Steps over the whole life of the state, seconds of this call, a stop request.
    observers : sequence of Observer
        Progress, recorders, checkpoints.
    certifier : callable, optional
        Turns the final witness into the certificate kept in the outcome.
    """
    # overflow is noticed by the solvers and told as a status, the same for Python and machine code
    with np.errstate(all="ignore"), Interrupts():  # checkpoints are written before a signal ends us
        return _drive(problem, solver, state, limits or Limits(), observers, certifier)


def _drive(
    problem: Problem,
    solver: Solver[S],
    state: S | None,
    limits: Limits,
    observers: Sequence[Observer],
    certifier: Callable[[Problem, Witness], Any] | None,
) -> Outcome[S]:
    begin, limits = clock(), limits.at_most(time_left())
    judged = problem  # a proof reads nothing that a solver has made
    problem = problem.lent if isinstance(problem, Problem) else problem  # functions have no rows
    capacity = min((o.capacity for o in observers if o.capacity), default=0)
    log = new_log(capacity) if capacity else NO_LOG
    stride = min((o.stride for o in observers if o.stride), default=_LARGEST_CHUNK)
    chunk, step, idle = 1, 0.0, 0
    with Interrupts() as interrupts:
        state = solver.init(problem) if state is None else state
        first = state.steps
        while True:
            status = solver.status(state)
            seconds = clock() - begin
            now = Moment(problem, solver, state, status, seconds, limits, log)
            try:
                asked = [observer.moment(now) for observer in observers]
            except Exception as error:
                mark_as_the_callers(error)
                raise
            log.used[:] = 0
            if status.done:
                break
            left = limits.seconds_left(begin)
            stop = any(asked) or interrupts.requested
            limit = _limit_reached(limits, state.steps, left - 0.5 * step, asked=stop)
            if limit is not None:
                status = limit
                break
            chunk = min(chunk, stride)
            if limits.steps is not None:
                chunk = min(chunk, limits.steps - state.steps)
            took, steps = clock(), state.steps
            # the first call is long where routines are compiled for it
            long = step >= _LONG_STEP or state.steps == first
            long = long or getattr(solver, "long_steps", False)
            if limits.seconds is None and not long:
                solver.advance(problem, state, chunk, log)
            else:
                kept = state.copy()
                try:
                    with given_up_after(left):
                        solver.advance(problem, state, chunk, log)
                except TimeUpError:  # in the middle of a step: what was there before it counts
                    state = kept
                    status = Status.STOPPED if interrupts.requested else Status.TIME_LIMIT
                    break
            idle = 0 if state.steps > steps else idle + 1
            if idle == _IDLE:
                status = Status.STALLED
                break
            took = clock() - took
            step = took if chunk == 1 and took > _TARGET_SECONDS else 0.0
            chunk = _next_chunk(chunk, took, left - took, alone=not observers)
    witness = _readable(judged, solver, solver.witness(problem, state))
    outcome = Outcome(
        state=state,
        status=status,
        witness=witness,
        certificate=None if certifier is None else certifier(judged, witness),
        steps=state.steps,
        unit=solver.unit,
        seconds=clock() - begin,
        interrupted=interrupts.requested,
    )
    try:
        for observer in observers:
            observer.finish(outcome)
    except Exception as error:
        mark_as_the_callers(error)
        raise
    return replace(outcome, seconds=clock() - begin)


def _readable(problem: Any, solver: Any, witness: Witness) -> Witness:
    """The witness, if its rows are there and have a multiplier each: what these are worth is for
    proofs to say. ProofError otherwise."""
    if not isinstance(problem, Problem):
        return witness
    who = f"{type(solver).__name__} hands over a witness"
    a, rows = np.asarray(witness.a), np.asarray(witness.rows)
    shares: Any = np.asarray(witness.multipliers)
    if a.ndim != 1 or a.dtype.kind not in "fiu":
        raise ProofError(
            f"{who} whose weights a are of shape {a.shape} and type {a.dtype}; give a vector of "
            "floats."
        )
    if rows.ndim != 1 or rows.shape != shares.shape or (len(rows) and rows.dtype.kind not in "iu"):
        raise ProofError(
            f"{who} with rows of shape {rows.shape} and type {rows.dtype} and multipliers of shape "
            f"{shares.shape}; give numbers of rows and one multiplier for each."
        )
    n, K = problem.n, problem.K
    machines = (1,) if K == 2 else (K, K * (K - 1) // 2)
    if a.size not in (problem.dim, K * (problem.d + 1), *machines):  # softmax has a plane a class
        raise ProofError(
            f"{who} with {a.size} weights; for {K} classes and {problem.d} columns there are "
            f"{problem.dim}, each plane with its offset at the end (0 without intercept)."
        )
    most = n * max(machines)
    if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < most:
        wrong = next(int(row) for row in rows if not 0 <= row < most)
        raise ProofError(
            f"{who} that names row {wrong}; the rows that it can name are 0 to {most - 1}."
        )
    if a.dtype == np.float64 and a is witness.a:
        return witness
    return replace(witness, a=a.astype(np.float64), rows=rows.astype(np.int64), multipliers=shares)


def _limit_reached(limits: Limits, steps: int, left: float, *, asked: bool) -> Status | None:
    if asked or (limits.stop is not None and limits.stop()):
        return Status.STOPPED
    if limits.steps is not None and steps >= limits.steps:
        return Status.STEP_LIMIT
    if left <= 0:
        return Status.TIME_LIMIT
    return None


def _next_chunk(chunk: int, took: float, left: float, *, alone: bool) -> int:
    """Steps of the next call, which shall end soon, and before the time does."""
    target = min(_TARGET_SECONDS, max(left, 0.0) / 2 + 1e-3)
    if took < target / 2:
        faster = 16 if alone and took < target / 256 else 2  # those who watch want to see more
        return min(chunk * faster, _LARGEST_CHUNK)
    if took > target * 2:
        return max(1, chunk // 2)
    return chunk
