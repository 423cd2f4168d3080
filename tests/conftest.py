"""What all tests share.

Hypothesis draws the same examples in every run; LINSEP_FUZZ=N draws N new ones instead.
Where N is large, ``--timeout=0 -o faulthandler_timeout=0`` lifts the limits on time.
LINSEP_NO_NUMBA=1 runs them as on a machine without numba; what waits for it is skipped.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading

import pytest
from hypothesis import settings

import tests.no_numba

# Threads of OpenMP and of OpenBLAS that wait for work go to sleep at once: where another process
# has their core, two that spin for each other take seconds for milliseconds. Children inherit it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# Signals as in a terminal, also in the background (SIGINT ignored) and under nohup (SIGHUP
# ignored): every child would inherit that. A handler is not inherited, so a child of a process that
# has one starts with the default.
if threading.current_thread() is threading.main_thread():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)

settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.register_profile(
    "fuzz", max_examples=int(os.environ.get("LINSEP_FUZZ", "100")), deadline=None
)
settings.load_profile("fuzz" if "LINSEP_FUZZ" in os.environ else "steady")


def pytest_collection_modifyitems(config, items):
    """Without numba the first long loop warns, which is an error elsewhere."""
    if tests.no_numba.ASKED:
        config.addinivalue_line("filterwarnings", "ignore:numba is not installed")
        for item in items:
            if item.get_closest_marker("numba"):
                item.add_marker(pytest.mark.skip(reason="is about numba"))


@pytest.fixture
def ignored_ctrl_c():
    """SIGINT ignored, here and in children: a shell starts jobs in the background so."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_unconfigure():
    """A thread that a hung test left behind must not keep the process from its end."""
    faulthandler.dump_traceback_later(60, exit=True, file=sys.__stderr__)
