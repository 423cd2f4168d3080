"""A preallocated list of events that compiled code can write into.

A solver fills the log while it runs and returns early when the log is full, so a log of
capacity one turns ``advance`` into "run to the next update". The numbers computed are the
same with and without a log.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["EVENT", "NO_LOG", "Log", "new_log"]

EVENT = np.dtype(
    [
        ("update", np.int64),  # number of the update, from 1
        ("visit", np.int64),  # rows looked at so far, this one included
        ("row", np.int64),  # reflected row that caused it; -1 for a whole batch
        ("value", np.float64),  # z . a before the update (batch: the criterion)
        ("step", np.float64),  # learning rate, kappa or step length
    ]
)


class Log(NamedTuple):
    """Events in a structured array, and how many there are (an array of one number)."""

    events: NDArray[Any]
    count: NDArray[np.int64]


def new_log(capacity: int) -> Log:
    """An empty log for that many events."""
    return Log(np.zeros(capacity, dtype=EVENT), np.zeros(1, dtype=np.int64))


NO_LOG = new_log(0)
