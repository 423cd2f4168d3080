"""Time: work that does not ask for it, and the moment from which a command counts."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time

import pytest

from linsep.core.limits import TimeUpError, begin_of_process, clock, deaf_work

alarms = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms on this system")
pytestmark = pytest.mark.timeout(60, method="thread")  # which needs no alarm itself


@alarms
def test_work_of_others_ends_when_its_time_is_up():
    begin = clock()

    def work():
        while clock() - begin < 60:
            pass

    with pytest.raises(TimeUpError), deaf_work(0.05):
        work()
    assert clock() - begin < 30
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@alarms
def test_work_of_others_is_told_again_where_the_first_alarm_was_swallowed():
    heard = []

    def deaf():
        try:
            while True:
                pass
        except TimeUpError:
            heard.append(True)

    def work():
        while len(heard) < 3:
            deaf()
        raise TimeUpError

    with pytest.raises(TimeUpError), deaf_work(0.01):
        work()
    assert len(heard) == 3


@alarms
def test_alarms_of_others_stay():
    calls = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
    try:
        with deaf_work(0.001):
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert calls == [signal.SIGALRM]


def test_threads_and_work_without_an_end_have_no_alarm():
    done = []

    def work():
        with deaf_work(1e-3):
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with deaf_work(math.inf):
        pass
    assert done == [True]


def test_a_process_counts_from_its_start():
    code = (
        "import time; end = time.perf_counter() + 0.3\n"
        "while time.perf_counter() < end: pass\n"
        "from linsep.core.limits import begin_of_process, clock\n"
        "print(clock() - begin_of_process())"
    )
    begin = time.perf_counter()
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.25 < float(told.stdout) < time.perf_counter() - begin + 0.05


def test_the_start_lies_before_now():
    assert begin_of_process() <= clock()
