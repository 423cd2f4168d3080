"""Memory that runs out is an error of linsep with what was wanted, and nothing is lost."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import linsep
from linsep.core import lanes
from linsep.core.checkpoint import Checkpointer
from linsep.core.drive import Observer
from linsep.errors import LinsepError, OutOfMemoryError

linux = pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory as Linux has it")

# Fits whose arrays are larger than all that the limit leaves, after those that load everything.
CHILD = """
import gc, json, resource, sys, threading, warnings
import numpy as np
import linsep

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
square = np.ones((300, 300))
both = [threading.Thread(target=lambda: square @ square) for _ in range(4)]
[one.start() for one in both] + [one.join() for one in both]  # BLAS has its buffers
X = np.abs(rng.normal(size=(200_000, 10)))
for name, K in json.loads(sys.argv[1]):
    y = rng.integers(0, K, len(X))
    make = getattr(linsep, name)
    short = {"max_iter": 3} if name in ("Perceptron", "HoKashyap", "Kozinec") else {}
    short |= {"estimator": linsep.Perceptron(max_iter=3)} if name == "Kesler" else {}
    make(**short).fit(X[:300], y[:300])
    gc.collect()
    held = 4096 * int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (held + 2_500_000, resource.RLIM_INFINITY))
    try:
        make(**short).fit(X, y)
        told = "nothing"
    except linsep.errors.LinsepError as error:
        told = str(error)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(json.dumps([name, K, told]), flush=True)
"""
NAMES = [("LinearSVM", 2), ("HoKashyap", 2)]


@linux
@pytest.mark.timeout(300)
def test_a_fit_without_memory_says_what_it_wanted():
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(NAMES)],
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = {(name, K): told for name, K, told in map(json.loads, done.stdout.splitlines())}
    assert set(found) == set(NAMES)
    told = [words for words in found.values() if words != "nothing"]  # what was freed may do
    assert len(told) >= 1
    assert [words for words in told if " wanted " not in words] == []
    wanted = r"the fit of HoKashyap ran out of memory: 1\d\.\d MB were wanted for .* float64"
    assert re.match(wanted, found["HoKashyap", 2])


class Full(Observer):
    """Wants a petabyte in the middle of a fit."""

    def __init__(self, at):
        self.left = at

    def moment(self, now):
        self.left -= 1
        if self.left == 0:
            np.ones((1 << 40, 128))


def test_the_checkpoint_before_it_leads_to_the_same_bits(tmp_path):
    rng = np.random.default_rng(3)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 4)) + 0.4 * y[:, None]
    path = tmp_path / "run.npz"
    with pytest.raises(OutOfMemoryError, match=r"1,125,899.9 GB were wanted for 1099511627776 x"):
        linsep.LinearSVM(tol=1e-9, callbacks=[Checkpointer(path, every=0.0), Full(4)]).fit(X, y)
    whole = linsep.LinearSVM(tol=1e-9).fit(X, y)
    again = linsep.LinearSVM(tol=1e-9).resume(X, y, path)
    assert again.coef_.tobytes() == whole.coef_.tobytes()


def test_it_is_a_memory_error_too_and_keeps_no_arrays(tmp_path):
    with pytest.raises(MemoryError) as caught:
        linsep.Perceptron(max_iter=3, callbacks=[Full(1)]).fit([[0.0], [1.0]], [0, 1])
    assert isinstance(caught.value, LinsepError)
    trace = caught.value.__cause__.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    assert not trace.tb_frame.f_locals


def test_where_no_thread_can_be_started_the_bits_are_those_of_one(monkeypatch):
    """As in a container that allows so many processes and no more."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30_000, 12))
    y = X[:, 0] + rng.normal(size=len(X)) > 0
    whole = linsep.LogisticRegression().fit(X, y)
    monkeypatch.setattr(lanes, "_pools", {})
    monkeypatch.setattr(lanes, "cores", lambda: 4)
    asked = []

    def refused(self):
        asked.append(self.name)
        if len(asked) % 3 != 1:  # now and then one comes through
            raise RuntimeError("can't start new thread")
        start(self)

    start = lanes.threading.Thread.start
    monkeypatch.setattr(lanes.threading.Thread, "start", refused)
    again = linsep.LogisticRegression().fit(X, y)
    assert asked
    assert again.coef_.tobytes() == whole.coef_.tobytes()


def test_an_error_of_a_helper_is_raised_where_the_next_one_could_not_be_started(monkeypatch):
    monkeypatch.setattr(lanes, "_pools", {})
    start, asked = lanes.threading.Thread.start, []

    def refused(self):
        asked.append(self)
        if len(asked) > 1:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(lanes.threading.Thread, "start", refused)

    def job():
        raise KeyError("of a job")

    with pytest.raises(KeyError, match="of a job"):
        lanes.run_all([job] * 50, 3)
    assert lanes.run_all([lambda: 1] * 50, 3) == [1] * 50
