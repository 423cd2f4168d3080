"""What work may take: signals from outside, the time of a fit, the limits of a run, memory.

Whoever starts long work opens ``Interrupts`` and ``time_limit``; all that runs within, however
deep, asks ``time_left``. After the first Ctrl-C no time is left, so work that keeps to its time
also ends soon on request, with what it has. Memory that is not there is told in one sentence,
with what was wanted and the way out.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self

from linsep._leave import SIGNALS, leave
from linsep.core.words import count
from linsep.errors import OutOfMemoryError

_in_extra_time: ContextVar[bool] = ContextVar("in_extra_time", default=False)

# -- Signals --------------------------------------------------------------------------------------

_DEFAULT = (signal.default_int_handler, signal.SIG_DFL, leave)


class Interrupts:
    """Turns the first Ctrl-C into a request to stop; the second one raises as usual.

    SIGTERM and SIGHUP do the same, and then end the program: whoever sends them wants it gone, and
    what comes after a fit would take a model that was cut short for a finished one. When the work
    has been wrapped up, with its last checkpoint, SystemExit is raised; a second signal ends the
    process whatever it does then. A program that ends by itself after its work and keeps the
    result, as the command line does, says so with ``keeping_results``.

    Only the main thread can catch signals, and only where nobody else does: a handler of the
    caller stays in place, and so does a signal ignored by whoever started the process, as for a
    job in the background, which a Ctrl-C meant for another one must not stop.

    A run inside of another one, in whatever thread, sees the request that the outer one got,
    so that all of them stop.
    """

    _outermost: ClassVar[Interrupts | None] = None
    _used_up: ClassVar[set[int]] = set()
    _results_are_kept: ClassVar[bool] = False
    _deaf: ClassVar[bool] = False

    def __init__(self) -> None:
        self._number = 0
        self._outer: Interrupts | None = None
        self._previous: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether a signal came, here or in the run around this one."""
        if _in_extra_time.get():  # for what is needed all the same
            return False
        return self._number != 0 or (self._outer is not None and self._outer.requested)

    @property
    def outermost(self) -> bool:
        """Whether no run is around this one."""
        return self._outer is None

    @property
    def ends_the_program(self) -> bool:
        """Whether a signal came that is no Ctrl-C, and nobody else sees to its end."""
        return self._number not in (0, signal.SIGINT) and not Interrupts._results_are_kept

    def end(self) -> None:
        """Do what the signal would have done without us."""
        _end(self._number)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._number:
            _end(number)
        self._number = number
        if Interrupts._deaf:
            raise TimeUpError

    def __enter__(self) -> Self:
        self._outer = Interrupts._outermost
        if self._outer is None and threading.current_thread() is threading.main_thread():
            Interrupts._outermost = self
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before in _DEFAULT and number not in Interrupts._used_up:
                    self._previous[number] = before
                    signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, before in self._previous.items():
            signal.signal(number, before)
        if Interrupts._outermost is self:
            Interrupts._outermost = None
        if self._number not in (0, signal.SIGINT):
            Interrupts._used_up.add(self._number)
        if kind is None and self.ends_the_program:
            self.end()


@contextmanager
def keeping_results() -> Iterator[None]:
    """A program that keeps what a run has found and then ends, whatever signal has stopped it."""
    before, Interrupts._results_are_kept = Interrupts._results_are_kept, True
    try:
        yield
    finally:
        Interrupts._results_are_kept = before


@contextmanager
def deaf_work(seconds: float = math.inf) -> Iterator[None]:
    """Work of another library, which never asks for the time: a signal raises TimeUpError in it.

    So does the end of so many seconds, where there are alarms: in the main thread of a Unix, if
    nobody else has set one.
    """
    before, Interrupts._deaf = Interrupts._deaf, True
    try:
        with _alarm(seconds):
            yield
    finally:
        Interrupts._deaf = before


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """TimeUpError in what runs within when its time is up, again and again if it is not heard."""
    alarms = hasattr(signal, "setitimer") and math.isfinite(seconds)
    if not alarms or threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGALRM) != signal.SIG_DFL:
        yield
        return
    at_work = True

    def ring(number: int, frame: FrameType | None) -> None:
        if at_work:
            raise TimeUpError

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, _SOON), _AGAIN)
    try:
        yield
    finally:
        at_work = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def the_program_ends() -> bool:
    """Whether a signal came after which the program ends with the run that is under way."""
    outer = Interrupts._outermost
    return outer is not None and outer.ends_the_program


def _end(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


_LOOPS = frozenset({"sklearn", "joblib", "imblearn", "optuna", "skopt", "hyperopt", "mlxtend"})
_PASSING = (
    "sklearn.base", "sklearn.callback", "sklearn.pipeline", "sklearn.utils", "joblib.memory",
    "imblearn.pipeline",
)  # fmt: skip


def in_a_search() -> bool:
    """Whether a loop of another library called, such as a cross-validation.

    It would take a model that was stopped for one that is finished, use its score and go on. A
    pipeline and the like hand one fit through, and so are no loops.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] in _LOOPS and not name.startswith(_PASSING):
            return True
        frame = frame.f_back
    return False


# -- Time -----------------------------------------------------------------------------------------

_SOON, _AGAIN = 1e-3, 0.2  # seconds after which an alarm rings at the earliest, and once more
_source = time.perf_counter  # never goes back; a test may put another clock here
_end_of_time: ContextVar[float] = ContextVar("end_of_time", default=math.inf)


def clock() -> float:
    """Seconds since some moment."""
    return _source()


def begin_of_process() -> float:
    """When the process was started, on the clock.

    Where the system does not tell, its processor time stands for the time that it has run.
    """
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])  # the 22nd field
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        age = time.process_time()
    return clock() - max(age, 0.0)


@contextmanager
def time_limit(seconds: float | None, *, begin: float | None = None) -> Iterator[None]:
    """What runs within has so many seconds, and no more than what it runs in.

    begin is a time of the clock, by default now.
    """
    if seconds is None or seconds == math.inf:
        yield
        return
    end = (clock() if begin is None else begin) + seconds
    before = _end_of_time.set(min(end, _end_of_time.get()))
    try:
        yield
    finally:
        _end_of_time.reset(before)


def asked_to_stop() -> bool:
    """Whether a signal came while a run is under way."""
    outer = Interrupts._outermost
    return outer is not None and outer.requested


def time_left() -> float:
    """Seconds until the work must be done: infinity without a limit, 0 after Ctrl-C."""
    if asked_to_stop():
        return 0.0
    end = _end_of_time.get()
    return math.inf if end == math.inf else max(end - clock(), 0.0)


@contextmanager
def extra_time() -> Iterator[None]:
    """Whatever limit or signal has ended the work: what runs within is needed all the same.

    It must be little, and nothing is compiled for it.
    """
    before, within = _end_of_time.set(math.inf), _in_extra_time.set(True)
    try:
        yield
    finally:
        _in_extra_time.reset(within)
        _end_of_time.reset(before)


_SPARE = 0.05  # seconds that nobody misses


def spare_time() -> float:
    """Seconds for what makes an answer better and may be left out: next to none in extra time."""
    return _SPARE + (0.0 if _in_extra_time.get() else time_left())


def in_extra_time() -> bool:
    """Whether the work is of that kind."""
    return _in_extra_time.get()


# -- Work that is given up in the middle ----------------------------------------------------------


class TimeUpError(Exception):
    """The time is up, and what is under way is given up."""


_given_up: ContextVar[float | None] = ContextVar("given_up", default=None)


@contextmanager
def given_up_after(seconds: float) -> Iterator[None]:
    """What runs within is given up then, or at Ctrl-C, the next time that it calls ``tick``.

    So a step that takes seconds does not hold up the end; whoever opens it has kept what was
    there before. Proofs and answers are made outside of it.
    """
    outer = _given_up.get()
    before = _given_up.set(min(clock() + seconds, math.inf if outer is None else outer))
    try:
        yield
    finally:
        _given_up.reset(before)


def tick(ahead: float = 0.0) -> None:
    """Give up if the time is up, or will be before the end of what takes so many seconds."""
    end = _given_up.get()
    if end is not None and (clock() + ahead > end or asked_to_stop()):
        raise TimeUpError


def may_be_given_up() -> bool:
    """Whether what runs here is given up when the time is up; an answer and its proof are not."""
    return _given_up.get() is not None


def until_given_up() -> float:
    """Seconds after which what runs here is given up."""
    end = _given_up.get()
    return math.inf if end is None else end - clock()


# -- A run: drive alone looks at these ------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """When to stop without an answer.

    steps is counted in the solver's own unit and over the whole life of the state, so a
    resumed run ends where an uninterrupted one would have. seconds is counted from the call.
    """

    steps: int | None = None
    seconds: float | None = None
    stop: Callable[[], bool] | None = None

    def seconds_left(self, begin: float) -> float:
        """Seconds that are left of those since begin, a time of ``clock``."""
        return math.inf if self.seconds is None else self.seconds - (clock() - begin)

    def at_most(self, seconds: float) -> Limits:
        """The same with no more seconds than these."""
        least = min(seconds, math.inf if self.seconds is None else self.seconds)
        return replace(self, seconds=None if least == math.inf else max(least, 0.0))


# -- Memory ---------------------------------------------------------------------------------------


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Memory that runs out within is an error of linsep that names what was at work.

    Arrays of the work are let go: they would hang on the traceback of the first error as long as
    anybody keeps the second.
    """
    try:
        yield
    except OutOfMemoryError:
        raise
    except (MemoryError, OSError) as cause:
        if isinstance(cause, OSError) and cause.errno != errno.ENOMEM:
            raise
        words = f"{what} ran out of memory: {_wanted(cause)}, and {_there_is()}."
        traceback.clear_frames(cause.__traceback__)
        raise OutOfMemoryError(
            f"{words} Fewer rows or columns, float32 instead of float64, or a larger machine help. "
            "A checkpoint that was written before is whole."
        ) from cause


def _wanted(cause: BaseException) -> str:
    """What could not be had, as far as the error knows: that of numpy does."""
    shape, dtype = getattr(cause, "shape", None), getattr(cause, "dtype", None)
    if not isinstance(shape, tuple) or dtype is None:
        return str(cause).rstrip(".") or "more was wanted than could be had"
    size = dtype.itemsize
    for length in shape:
        size *= int(length)
    sides = " x ".join(map(str, shape)) or "1"
    return f"{in_words(size)} were wanted for {sides} numbers of type {dtype}"


def _there_is() -> str:
    held, total = held_memory(), in_words(total_memory())
    if held is None:
        return f"there are {total} in all"
    return f"this process holds {in_words(held)} of the {total} that there are for it"


def in_words(size: int) -> str:
    """Bytes in a unit that people read.

    >>> in_words(1_234_567), in_words(1)
    ('1.2 MB', '1 byte')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return count(size, "byte")


def require_memory(size: int, what: str) -> None:
    """Raise MemoryError now if there is no room, where a library would end the process."""
    try:
        mmap.mmap(-1, size).close()
    except OSError as error:
        raise MemoryError(f"{in_words(size)} were wanted for {what}") from error


def total_memory() -> int:
    """Bytes of memory of this computer, or those that this process may have; else a terabyte."""
    try:
        import resource

        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (AttributeError, ImportError, OSError, ValueError):
        return 1 << 40
    return most if limit == resource.RLIM_INFINITY else min(most, limit)


def held_memory() -> int | None:
    """Bytes that this process has, where the system tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = file.read().split()
        return os.sysconf("SC_PAGE_SIZE") * int(pages[1])
    except (AttributeError, OSError, ValueError, IndexError):
        return None
