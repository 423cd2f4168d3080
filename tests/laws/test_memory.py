"""Memory of a fit beyond its data, no leak, and the same bits in processes and threads."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import linsep

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")

# What a fit of 100 000 rows of 20 columns takes at most beside X, in sizes of X: docs/guide.md.
PEAKS = {
    ("LinearSVM", 2): 1.5, ("LogisticRegression", 2): 1.5, ("LeastSquares", 2): 2.0,
    ("GaussianClassifier", 2): 1.0, ("Perceptron", 2): 1.0, ("Kozinec", 2): 1.0,
    ("HoKashyap", 2): 3.0, ("LinearSVM", 4): 5.0, ("LogisticRegression", 4): 3.0,
}  # fmt: skip

CHILD = """
import json, sys, threading, time, warnings
import numpy as np
import linsep

warnings.simplefilter("ignore")
rss = lambda: 4096 * int(open("/proc/self/statm").read().split()[1])
for name, K in json.loads(sys.argv[1]):
    rng = np.random.default_rng(K)
    make = getattr(linsep, name)
    short = {"max_iter": 3} if name in ("Perceptron", "HoKashyap", "Kozinec") else {}
    for n in (300, 20_000, 100_000):  # what is loaded and compiled once counts once
        y = rng.integers(0, K, n)
        X = rng.normal(size=(n, 20)) + 0.7 * y[:, None]
        base, peak, done = rss(), [0], threading.Event()
        def watch():
            while not done.wait(0.002):
                peak[0] = max(peak[0], rss())
        thread = threading.Thread(target=watch)
        thread.start()
        make(**short).fit(X, y)
        done.set()
        thread.join()
    print(json.dumps([name, K, (peak[0] - base) / X.nbytes]), flush=True)
"""


@linux
@pytest.mark.timeout(300)
def test_a_fit_takes_no_more_memory_than_the_guide_says():
    command = [sys.executable, "-c", CHILD, json.dumps(list(PEAKS))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {(name, K): peak for name, K, peak in map(json.loads, done.stdout.splitlines())}
    assert set(found) == set(PEAKS)
    too_much = {key: peak for key, peak in found.items() if peak > PEAKS[key]}
    assert not too_much


LEAK = """
import gc, warnings
import numpy as np
import linsep

warnings.simplefilter("ignore")
rss = lambda: 4096 * int(open("/proc/self/statm").read().split()[1])
rng = np.random.default_rng(0)
y = np.arange(40) % 2
X = rng.normal(size=(40, 3)) + y[:, None]
makes = (linsep.LinearSVM, linsep.LogisticRegression, linsep.LeastSquares, linsep.Perceptron)
def fits(count):
    for k in range(count):
        makes[k % 4]().fit(X, y)
    gc.collect()
    return rss()
first = fits(300)
print(fits(1000) - first)
"""


@linux
@pytest.mark.timeout(300)
def test_a_thousand_fits_leave_nothing_behind():
    done = subprocess.run([sys.executable, "-c", LEAK], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8_000_000  # 8 KB a fit would be one copy of its objects


def bits(seed: int) -> str:
    """The weights of a few fits, as bytes."""
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 3
    X = rng.normal(size=(80, 4)) + y[:, None]
    models = (linsep.LinearSVM(), linsep.LogisticRegression(), linsep.KernelSVM())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = [model.fit(X, y) for model in models]
    parts = [fitted[0].coef_, fitted[1].coef_, fitted[2].dual_coef_]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts).hex()


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("how", ["fork", "spawn", "threads", "joblib"])
def test_processes_and_threads_give_the_serial_bits(how):
    if how == "fork" and sys.platform != "linux":
        pytest.skip("processes are not forked here")
    seeds = [1, 2, 3, 4]
    serial = [bits(seed) for seed in seeds]
    if how == "threads":
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(bits, seeds))
    elif how == "joblib":
        joblib = pytest.importorskip("joblib")
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(bits)(seed) for seed in seeds)
    else:
        context = multiprocessing.get_context(how)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            found = list(pool.map(bits, seeds))
    assert found == serial
