"""Progress: rows of text at powers of two, or a bar on a terminal. Always on stderr."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from linsep.core.drive import Moment, Observer, Outcome

__all__ = ["ProgressBar", "ProgressRows", "progress_observer"]


def progress_observer(verbose: int | bool, stream: TextIO | None = None) -> list[Observer]:
    """No observer, rows of text, or a bar if the stream is a terminal."""
    if not verbose:
        return []
    stream = sys.stderr if stream is None else stream
    return [ProgressBar(stream) if stream.isatty() else ProgressRows(stream)]


class ProgressRows(Observer):
    """A line whenever the number of passes reaches a power of two, and one at the end.

    Nothing is written for a run that ends within ``after`` seconds.
    """

    def __init__(self, stream: TextIO | None = None, *, after: float = 0.5) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.after = after
        self._next = 0.0
        self._held: list[str] = []

    def moment(self, now: Moment[Any]) -> None:
        """Write a line when it is time."""
        passes = now.state.passes
        if self._next == 0.0:
            self._line("passes", "updates", "seconds", "")
        if passes >= self._next:
            self._line(f"{passes:.4g}", str(now.state.n_updates), f"{now.seconds:.2f}", "")
            while self._next <= passes:
                self._next = max(1.0, 2 * self._next)
        if now.seconds >= self.after:
            self._write()

    def finish(self, outcome: Outcome[Any]) -> None:
        """Write how it ended, if anything was written before."""
        passes, updates = f"{outcome.passes:.4g}", str(outcome.state.n_updates)
        self._line(passes, updates, f"{outcome.seconds:.2f}", outcome.status.name)
        if outcome.seconds >= self.after:
            self._write()

    def _line(self, passes: str, updates: str, seconds: str, word: str) -> None:
        self._held.append(f"{passes:>10} {updates:>12} {seconds:>9}  {word}".rstrip())

    def _write(self) -> None:
        for line in self._held:
            print(line, file=self.stream, flush=True)
        self._held.clear()


class ProgressBar(Observer):
    """A bar on a terminal; it shows the share of the limit that comes first."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self._bar: Any = None
        self._task: Any = None
        self._last = 0.0

    def moment(self, now: Moment[Any]) -> None:
        """Move the bar, at most ten times a second."""
        clock = time.perf_counter()
        if clock - self._last < 0.1 and not now.status.done:
            return
        self._last = clock
        if self._bar is None:
            if now.seconds < 0.3:  # short runs draw nothing
                return
            self._open()
        shares = [0.0]
        if now.limits.steps:
            shares.append(now.state.steps / now.limits.steps)
        if now.limits.seconds:
            shares.append(now.seconds / now.limits.seconds)
        words = f"{now.state.n_updates} updates, {now.state.passes:.4g} passes"
        self._bar.update(self._task, completed=max(shares), words=words)

    def finish(self, outcome: Outcome[Any]) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            BarColumn(),
            TextColumn("{task.fields[words]}"),
            TimeElapsedColumn(),
            console=Console(file=self.stream),
            transient=True,
        )
        self._task = self._bar.add_task("fit", total=1.0, words="")
        self._bar.start()
