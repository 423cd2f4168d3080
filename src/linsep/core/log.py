"""A preallocated list of events that compiled code can write into.

A solver fills the log while it runs and returns early when the log is full, so a log of
capacity one turns ``advance`` into "run to the next update". The numbers computed are the
same with and without a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Event(NamedTuple):
    """One update of the weights."""

    update: int
    """Number of the update, from 1."""
    visit: int
    """Rows looked at so far, this one included."""
    row: int
    """Reflected row that caused it; -1 for a whole batch."""
    value: float
    """z . a before the update; for a batch the criterion."""
    step: float
    """Learning rate, kappa or length of the step."""


class Log(NamedTuple):
    """Columns of events, and how many there are (an array of one number)."""

    whole: NDArray[np.int64]
    real: NDArray[np.float64]
    used: NDArray[np.int64]

    @property
    def full(self) -> bool:
        """Whether the last event that it has room for is there; never of a log without room."""
        return len(self.whole) > 0 and int(self.used[0]) == len(self.whole)

    def write(self, update: int, visit: int, row: int, value: float, step: float) -> None:
        """Add an event; a log without room takes none."""
        if len(self.whole):
            k = int(self.used[0])
            self.whole[k] = update, visit, row
            self.real[k] = value, step
            self.used[0] = k + 1

    def events(self) -> Iterator[Event]:
        """The events written so far."""
        for k in range(int(self.used[0])):
            update, visit, row = self.whole[k].tolist()
            yield Event(update, visit, row, *self.real[k].tolist())


def new_log(capacity: int) -> Log:
    """An empty log for that many events."""
    return Log(np.zeros((capacity, 3), np.int64), np.zeros((capacity, 2)), np.zeros(1, np.int64))


NO_LOG = new_log(0)
