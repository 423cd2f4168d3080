"""How the command line ends at a signal while there is nothing to keep; it imports next to nothing.

It is in place before all other modules are imported, and until the process has ended.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

SIGNALS = [
    number
    for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    if number is not None
]


def leave(number: int = 0, frame: FrameType | None = None) -> None:
    """End the process at once: a handler of Ctrl-C for the command line.

    Modules are imported all along, and in the middle of an import no exception can be caught:
    Cython turns a KeyboardInterrupt into errors of its own. A run puts its own handler in place.
    """
    try:
        os.write(2, b"linsep: interrupted\n")
    finally:  # also where the terminal is gone, or the stream closed
        os._exit(130)


def leave_at_signals() -> dict[int, Any]:
    """Have signals that nobody else handles end the process; the handlers before, by signal."""
    usual = (signal.default_int_handler, signal.SIG_DFL)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    ours = {number: handler for number, handler in before.items() if handler in usual}
    for number in ours:
        signal.signal(number, leave)
    return ours
