"""The only loop in the package: limits, progress, checkpoints, interrupts, callbacks."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import FrameType, TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from linsep.core.log import NO_LOG, Log, new_log
from linsep.core.problem import Problem
from linsep.core.protocol import Solver, State, Witness
from linsep.core.status import Status

S = TypeVar("S", bound=State)

_LARGEST_CHUNK = 1 << 40
_TARGET_SECONDS = 0.05  # of one call of advance: Ctrl-C and progress bars need an answer soon


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

    capacity is the size of the event log the observer wants; 0 means none.
    """

    capacity: int = 0

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
        Where to go on; a fresh start without it. It is changed in place.
    limits : Limits, optional
        Steps over the whole life of the state, seconds of this call, a stop request.
    observers : sequence of Observer
        Progress, recorders, checkpoints.
    certifier : callable, optional
        Turns the final witness into the certificate kept in the outcome.
    """
    # overflow is noticed by the solvers and told as a status, the same for Python and machine code
    with np.errstate(all="ignore"):
        return _drive(problem, solver, state, limits or Limits(), observers, certifier)


def _drive(
    problem: Problem,
    solver: Solver[S],
    state: S | None,
    limits: Limits,
    observers: Sequence[Observer],
    certifier: Callable[[Problem, Witness], Any] | None,
) -> Outcome[S]:
    judged = problem  # a proof reads nothing that a solver has made
    problem = problem.lent if isinstance(problem, Problem) else problem  # functions have no rows
    state = solver.init(problem) if state is None else state
    capacity = min((o.capacity for o in observers if o.capacity), default=0)
    log = new_log(capacity) if capacity else NO_LOG
    begin = time.perf_counter()
    chunk = 1
    with Interrupts() as interrupts:
        while True:
            status = solver.status(state)
            seconds = time.perf_counter() - begin
            now = Moment(problem, solver, state, status, seconds, limits, log)
            asked = [observer.moment(now) for observer in observers]
            log.used[:] = 0
            if status.done:
                break
            limit = _limit_reached(limits, state.steps, seconds, any(asked) or interrupts.requested)
            if limit is not None:
                status = limit
                break
            if limits.steps is not None:
                chunk = min(chunk, limits.steps - state.steps)
            took = time.perf_counter()
            solver.advance(problem, state, chunk, log)
            took = time.perf_counter() - took
            chunk = _next_chunk(chunk, took, limits, seconds, alone=not observers)
    witness = solver.witness(problem, state)
    outcome = Outcome(
        state=state,
        status=status,
        witness=witness,
        certificate=None if certifier is None else certifier(judged, witness),
        steps=state.steps,
        unit=solver.unit,
        seconds=time.perf_counter() - begin,
        interrupted=interrupts.requested,
    )
    for observer in observers:
        observer.finish(outcome)
    return replace(outcome, seconds=time.perf_counter() - begin)


def _limit_reached(limits: Limits, steps: int, seconds: float, asked: bool) -> Status | None:
    if asked or (limits.stop is not None and limits.stop()):
        return Status.STOPPED
    if limits.steps is not None and steps >= limits.steps:
        return Status.STEP_LIMIT
    if limits.seconds is not None and seconds >= limits.seconds:
        return Status.TIME_LIMIT
    return None


def _next_chunk(chunk: int, took: float, limits: Limits, seconds: float, *, alone: bool) -> int:
    target = _TARGET_SECONDS
    if limits.seconds is not None:
        target = min(target, max(limits.seconds - seconds, 0.0) / 2 + 1e-3)
    if took < target / 2:
        faster = 16 if alone and took < target / 256 else 2  # those who watch want to see more
        return min(chunk * faster, _LARGEST_CHUNK)
    if took > target * 2:
        return max(1, chunk // 2)
    return chunk


# -- Limits of a run: the driver alone looks at them ----------------------------------------------


@dataclass(frozen=True)
class Limits:
    """When to stop without an answer.

    steps is counted in the solver's own unit and over the whole life of the state, so a
    resumed run ends where an uninterrupted one would have. seconds is counted from the call.
    """

    steps: int | None = None
    seconds: float | None = None
    stop: Callable[[], bool] | None = None

    def left_since(self, begin: float) -> Limits:
        """What is left of the seconds for another run; begin is a time of ``perf_counter``."""
        if self.seconds is None:
            return self
        return replace(self, seconds=max(self.seconds - (time.perf_counter() - begin), 0.0))


class Interrupts:
    """Turns the first Ctrl-C into a request to stop; the second one raises as usual.

    Only the main thread can do so, and only where Ctrl-C would raise: a handler of the caller
    stays in place, and so does SIGINT ignored by whoever started the process, as for a job in
    the background, which a Ctrl-C meant for another one must not stop.

    A run inside of another one, in whatever thread, sees the request that the outer one got,
    so that all of them stop.
    """

    _outermost: ClassVar[Interrupts | None] = None

    def __init__(self) -> None:
        self._asked = False
        self._outer: Interrupts | None = None
        self._previous: Any = None

    @property
    def requested(self) -> bool:
        """Whether Ctrl-C was pressed, here or in the run around this one."""
        return self._asked or (self._outer is not None and self._outer.requested)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True

    def __enter__(self) -> Self:
        self._outer = Interrupts._outermost
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if self._previous is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._handle)
                Interrupts._outermost = self
            else:
                self._previous = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            Interrupts._outermost = None
