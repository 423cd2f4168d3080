"""Progress: rows of text at powers of two, or a bar on a terminal. Always on stderr.

Where a solver proves a gap, the gap is shown, and the time left if it goes on falling as it
did of late. An estimate is given only where there is ground for one: the gap has fallen at one
pace for some time, and the time left is not many times what has been seen. As long as next to
nothing is proved, the objective is shown instead, which moves.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from linsep.core.drive import Moment, Observer, Outcome
from linsep.core.notes import heedless
from linsep.core.parts import Reading
from linsep.core.words import count, percent


def progress_observer(verbose: int | bool, stream: TextIO | None = None) -> list[Observer]:  # noqa: FBT001
    """No observer, rows of text, or a bar if the stream is a terminal."""
    if not verbose:
        return []
    stream = sys.stderr if stream is None else stream
    if stream is None:  # whoever started us has closed it
        return []
    return [ProgressBar(stream) if stream.isatty() else ProgressRows(stream)]


_ONE_PACE = 2.0  # paces that differ by no more are one pace
_HORIZON = 5.0  # as far as this times the past one can look into the future
_ALL = 0.995  # a gap above this says nothing yet


class Pace:
    """The gap over time, and when it will reach the tolerance."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, float]] = []

    def note(self, now: Moment[Any]) -> None:
        """Take down the gap of a moment, if the solver has one and it has fallen."""
        gap = getattr(now.state, "gap", None)
        if gap is None or not 0.0 < gap < math.inf:
            return
        if not self._seen or gap < self._seen[-1][1]:
            self._seen.append((now.seconds, float(gap)))

    def left(self, tol: float, seconds: float) -> float | None:
        """Seconds until the gap is ``tol``, if its logarithm falls at a steady pace."""
        if not self._seen or not tol > 0.0:
            return None
        if self._seen[-1][1] <= tol:
            return 0.0
        far, near = self._at(0.25 * seconds), self._at(0.6 * seconds)
        if far is None or near is None or far == near:
            return None
        early = math.log(far[1] / near[1]) / (near[0] - far[0])
        late = math.log(near[1] / self._seen[-1][1]) / max(seconds - near[0], 1e-9)
        if not (0.0 < early <= _ONE_PACE * late and late <= _ONE_PACE * early):
            return None
        left = math.log(self._seen[-1][1] / tol) / late
        return left if left <= _HORIZON * seconds else None

    def _at(self, seconds: float) -> tuple[float, float] | None:
        """When the gap of this moment was reached, and the gap."""
        before = [seen for seen in self._seen if seen[0] <= seconds]
        return before[-1] if before else None

    def share(self, tol: float) -> float:
        """How much of the way to ``tol`` is done, on a logarithmic scale."""
        if not self._seen or not tol > 0.0:
            return 0.0
        first, last = self._seen[0][1], self._seen[-1][1]
        whole = math.log(max(first / tol, 1.0))
        return min(1.0, math.log(first / last) / whole) if whole > 0 else 1.0

    def words(self, now: Moment[Any]) -> str:
        """The gap, the goal and the time left, or nothing."""
        tol = getattr(now.solver, "tol", None)
        if not self._seen or not isinstance(tol, float):
            return ""
        if self._seen[-1][1] > _ALL:
            return _objective(now.state)
        words = f"gap {percent(self._seen[-1][1])}, goal {percent(tol)}"
        left = self.left(tol, now.seconds)
        if left is None or now.status.done:
            return words
        return f"{words}, about {_span(left)} left"


def _objective(state: object) -> str:
    """The objective that a state has come to, if it knows."""
    for name in ("best_primal", "primal"):
        value = getattr(state, name, None)
        if isinstance(value, float) and math.isfinite(value):
            return f"objective {value:.6g}, nothing proved yet"
    return "nothing proved yet"


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 4e5 else "days"


class ProgressRows(Observer):
    """A line whenever the number of passes reaches a power of two, and one at the end.

    Nothing is written for a run that ends within ``after`` seconds.
    """

    def __init__(self, stream: TextIO | None = None, *, after: float = 0.5) -> None:
        self.stream = heedless(sys.stderr if stream is None else stream)
        self.after = after
        self._next = 0.0
        self._held: list[str] = []
        self._pace = Pace()

    def moment(self, now: Moment[Any]) -> None:
        """Write a line when it is time."""
        passes = now.state.passes
        self._pace.note(now)
        if self._next == 0.0:
            self._line("passes", "updates", "seconds", "")
        if passes >= self._next:
            updates, seconds = str(now.state.n_updates), f"{now.seconds:.2f}"
            self._line(f"{passes:.4g}", updates, seconds, self._pace.words(now))
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
    """A bar on a terminal: the way to the tolerance, or the limit that comes first."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = heedless(sys.stderr if stream is None else stream)
        self._bar: Any = None
        self._task: Any = None
        self._last = 0.0
        self._pace = Pace()

    def moment(self, now: Moment[Any]) -> None:
        """Move the bar, at most ten times a second."""
        self._pace.note(now)
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
        tol = getattr(now.solver, "tol", None)
        if isinstance(tol, float):
            shares.append(self._pace.share(tol))
        words = self._pace.words(now) or count(now.state.n_updates, "update")
        words = f"{count(now.state.passes, 'pass', spec='.4g')}, {words}"
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


# -- Passes over rows that are read part by part --------------------------------------------------


def sized(size: float) -> str:
    """Bytes as people say them.

    >>> sized(4.2e9), sized(999), sized(12_345_678)
    ('4.2 GB', '999 bytes', '12 MB')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.2g} {name}" if size < 10 * unit else f"{size / unit:.0f} {name}"
    return f"{size:.0f} bytes"


class PassProgress(Observer):
    """Passes of a stream: a line for each, or on a terminal one that moves with the bytes.

    How many passes a fit takes is not known before its end, so the time that is told is that to
    the end of the pass. Nothing is written for work that ends within ``after`` seconds.
    """

    def __init__(self, stream: TextIO | None = None, *, after: float = 0.5) -> None:
        self.stream = heedless(sys.stderr if stream is None else stream)
        self.after = after
        self._pace = Pace()
        self._begin = time.perf_counter()
        self._last = 0.0
        self._gap = ""
        self._ended: str | None = None
        self._held: list[str] = []
        self._told = False
        self._bar: Any = None
        self._task: Any = None

    def reading(self, now: Reading) -> None:
        """Tell how far a pass has come."""
        clock = time.perf_counter()
        if self.stream.isatty():
            if now.done or (clock - self._last >= 0.1 and clock - self._begin >= self.after):
                self._last = clock
                self._move(now)
            return
        self._line("")
        if now.done:
            size = "" if now.size is None else sized(now.size)
            seconds = f"{clock - self._begin:.1f}"
            self._ended = f"{now.number:>6} {now.rows:>15,} {size:>9} {seconds:>9}  {now.words}"

    def moment(self, now: Moment[Any]) -> None:
        """Take down what a pass has proved."""
        self._pace.note(now)
        self._gap = self._pace.words(now)
        self._line(self._gap)

    def close(self) -> None:
        """The end."""
        self._line("")
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _line(self, words: str) -> None:
        """Write the line of a pass that has ended, once it is known what it has come to."""
        if self._ended is not None:
            self._held.append(f"{self._ended}{words}".rstrip())
            self._ended = None
        if self._held and time.perf_counter() - self._begin >= self.after:
            head = [] if self._told else [f"{'pass':>6} {'rows':>15} {'read':>9} {'seconds':>9}"]
            print("\n".join(head + self._held), file=self.stream, flush=True)
            self._held, self._told = [], True

    def _move(self, now: Reading) -> None:
        if self._bar is None:
            if now.done and time.perf_counter() - self._begin < self.after:
                return
            self._open()
        words = f"pass {now.number}, {_how_far(now)}"
        if self._gap.startswith("gap"):  # there is no room for more in a line
            words += f", {self._gap}"
        self._bar.update(self._task, completed=now.share or 0.0, words=words)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bar = Progress(
            BarColumn(bar_width=8),
            TextColumn("{task.fields[words]}"),
            console=Console(file=self.stream),
            transient=True,
        )
        self._task = self._bar.add_task("pass", total=1.0, words="")
        self._bar.start()


def _how_far(now: Reading) -> str:
    """Bytes or rows that are read, their pace, and the time to the end of the pass."""
    share, pace = now.share, now.rows / max(now.seconds, 1e-9)
    if share is None or now.size is None:
        words = f"{now.rows:,} rows" if share is None else f"{100 * share:.0f} % of the rows"
        words += f", {pace:,.0f} rows/s"
    else:
        each = now.size / (now.of_rows or 1)
        words = f"{sized(share * now.size)} of {sized(now.size)}, {sized(pace * each)}/s"
    if share is None or now.rows == 0 or now.done:
        return words
    return f"{words}, {_span(now.seconds * (1 / share - 1))} more"


@contextmanager
def watching(data: Any, *, quiet: bool = False) -> Iterator[PassProgress | None]:
    """Tell of all passes over a stream within, on stderr."""
    if quiet:
        yield None
        return
    shown = PassProgress()
    before, data.watch = data.watch, shown.reading
    try:
        yield shown
    finally:
        data.watch = before
        shown.close()
