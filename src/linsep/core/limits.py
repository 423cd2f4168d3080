"""Limits of a run: the driver alone looks at them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self

__all__ = ["Interrupts", "Limits"]


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
