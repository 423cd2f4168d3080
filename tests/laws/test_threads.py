"""Threads that touch linsep for the first time, all at once: every import is still to be made."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import faulthandler, sys, threading, warnings
faulthandler.dump_traceback_later(150, exit=True)  # threads that wait for each other
import numpy as np
import linsep

rng = np.random.default_rng(8)
X = rng.normal(size=(70, 3))
y = X @ [1.0, -2.0, 0.5] + 0.2 * rng.normal(size=70) > 0
many = rng.normal(size=(12_000, 10))  # compiled for at once
warnings.simplefilter("ignore")

def kernel():
    from linsep.kernels import RBF, Polynomial
    (RBF(gamma=0.5) + Polynomial(2)).gram(X)

def stored():
    import linsep.data
    linsep.data.load("students")
    linsep.multiclass.kesler_vectors(X[:5], [0, 1, 2, 0, 1])

jobs = [
    lambda: linsep.Perceptron(max_iter=3).fit(many, many[:, 0] > 0),
    lambda: linsep.LinearSVM().fit(X, y),
    kernel,
    lambda: linsep.separability(X, y),
    lambda: linsep.LogisticRegression().fit(X, y),
    stored,
    lambda: linsep.KernelSVM().fit(X, y),
    lambda: linsep.certify(linsep.Linear([1.0, 2.0, 3.0], 0.5), X, y),
    lambda: linsep.risk.enclosing_ball(X),
    lambda: linsep.OneVsRest(linsep.LeastSquares()).fit(X, np.arange(70) % 3),
    lambda: linsep.core.drive and linsep.losses.LOSSES["hinge"] and linsep.Status.CERTIFIED,
    lambda: linsep.trace(linsep.Perceptron(max_iter=3), X, y),
]
turn = int(sys.argv[1])
jobs = (jobs[turn:] + jobs[:turn])[:8]
start, failed = threading.Barrier(len(jobs)), []

def run(job):
    start.wait()
    try:
        job()
    except BaseException as error:
        failed.append(repr(error))

sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit("; ".join(failed) or None)
"""


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 3, 7, 10])
def test_eight_threads_begin_at_once(turn):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(turn)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
