"""Perceptron passes against scikit-learn's, in one run: python benchmarks/perceptron.py

Ratios, not seconds, are what to look at; above 1 linsep is faster. Compilation is excluded.
The data are read from ../shared/data when they are there; otherwise made-up data of the same
shape are used, and the row says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.linear_model import Perceptron as Peer

import linsep
from linsep.core import drive
from linsep.core.drive import Observer
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.solvers.perceptron.single import SingleSample

DATA = Path(__file__).parents[2] / "shared" / "data"


def best(function: Callable[[], Any], repeats: int = 7) -> float:
    """Shortest of several runs."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def covtype() -> tuple[str, Any, Any]:
    """Class 2 against the rest, standardised."""
    path = DATA / "covtype" / "covtype.csv.gz"
    if not path.exists():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(581_012, 54))
        y = (X @ rng.normal(size=54) + 5 * rng.normal(size=len(X)) > 0).astype(int)
        return "made-up 581012 x 54 (covtype not found)", X, y
    table = linsep.data.read(path)
    X = np.ascontiguousarray(table.X)
    X -= X.mean(axis=0)
    X /= np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    return "covtype 581012 x 54", X, (table.y.astype(int) == 2).astype(int)


def news() -> tuple[str, Any, Any]:
    """Class 0 against the rest, raw counts."""
    path = DATA / "20news" / "20news.train.counts.derived.svm.bz2"
    if not path.exists():
        X = scipy.sparse.random_array(
            (11_314, 56_436), density=0.0027, random_state=0, format="csr"
        )
        y = (np.asarray(X.sum(axis=1)).ravel() > 76).astype(int)
        return "made-up sparse 11314 x 56436 (20news not found)", X, y
    table = linsep.data.read(path)
    return "20news 11314 x 56436 sparse", table.X, (table.y == table.y.min()).astype(int)


def passes(name: str, X: Any, y: Any) -> None:
    """One pass, alone and as a whole fit with validation and certificate."""
    problem, solver = Problem(X, y), SingleSample()
    ours = linsep.Perceptron(max_iter=1)
    peer = Peer(max_iter=1, tol=None, shuffle=False)
    more = Peer(max_iter=6, tol=None, shuffle=False)

    def one_pass() -> None:
        solver.advance(problem, solver.init(problem), problem.n_rows)

    one_pass()
    ours.fit(X, y)
    a, b = best(one_pass), best(lambda: ours.fit(X, y))
    c, d = best(lambda: peer.fit(X, y)), best(lambda: more.fit(X, y), 3)
    print(f"{name}")
    print(f"  one pass                        {1e3 * a:8.1f} ms")
    print(f"  fit of one pass, with proof     {1e3 * b:8.1f} ms")
    print(f"  scikit-learn, max_iter=1        {1e3 * c:8.1f} ms   {c / a:5.2f} x the pass, "
          f"{c / b:5.2f} x the fit")  # fmt: skip
    print(f"  scikit-learn, one more pass     {1e3 * (d - c) / 5:8.1f} ms   "
          f"{(d - c) / 5 / a:5.2f} x the pass")  # fmt: skip


class _Events(Observer):
    capacity = 4096

    def __init__(self) -> None:
        self.count = 0

    def moment(self, now: Any) -> None:
        self.count += int(now.log.used[0])


def overheads(X: Any, y: Any) -> None:
    """What chunks of an epoch and an event log cost."""
    problem, solver = Problem(X, y), SingleSample()
    n = problem.n_rows

    def whole() -> None:
        solver.advance(problem, solver.init(problem), 4 * n)

    def chunks() -> None:
        state = solver.init(problem)
        for _ in range(4):
            solver.advance(problem, state, n)

    def driven(*observers: Observer) -> None:
        drive(problem, solver, limits=Limits(steps=4 * n), observers=observers)

    driven(_Events())
    base = best(whole, 5)
    print("overheads, four passes")
    print(f"  in chunks of an epoch           {100 * (best(chunks, 5) / base - 1):+8.1f} %")
    plain = best(driven, 5)
    print(f"  with an event log               {100 * (best(lambda: driven(_Events()), 5) / plain - 1):+8.1f} %")  # fmt: skip  # noqa: E501


MEMORY = """
import sys, resource, numpy as np, warnings
warnings.simplefilter("ignore")
import linsep
dtype = sys.argv[1]
rng = np.random.default_rng(0)
small = rng.normal(size=(2000, 60)).astype(dtype)
getattr(linsep, sys.argv[2])(max_iter=2).fit(small, small[:, 0] > 0)
X = np.empty((1_000_000, 60), dtype=dtype)
for at in range(0, len(X), 10_000):
    X[at : at + 10_000] = rng.normal(size=(10_000, 60))
y = X[:, 0] > 0
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
getattr(linsep, sys.argv[2])(max_iter=2).fit(X, y)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(1 + (after - before) / X.nbytes)
"""


def memory() -> None:
    """Peak memory of a fit, in units of the matrix."""
    print("peak memory, in units of the matrix")
    for name in ("Perceptron", "Kozinec"):
        for dtype in ("float64", "float32"):
            done = subprocess.run(
                [sys.executable, "-c", MEMORY, dtype, name],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            print(f"  {name}, {dtype:<22}{float(done.stdout):9.2f}")


def cold_start() -> None:
    """New processes on a tiny file, with an empty cache of machine code."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "four.csv"
        file.write_text("a,b,y\n0,0,0\n1,1,0\n0,1,1\n1,0,1\n")
        run = [sys.executable, "-m", "linsep.cli.main"]
        env = os.environ | {"LINSEP_CACHE_DIR": folder}

        def command(*argv: str) -> float:
            return best(lambda: subprocess.run([*run, *argv], capture_output=True, env=env), 5)

        print("new processes")
        print(f"  linsep --help                   {1e3 * command('--help'):8.0f} ms")
        print(f"  linsep check four.csv           {1e3 * command('check', str(file)):8.0f} ms")


def main() -> None:
    """All rows of the table."""
    warnings.simplefilter("ignore")
    name, X, y = covtype()
    passes(name, X, y)
    passes(name + ", float32", X.astype(np.float32), y)
    overheads(X, y)
    del X
    passes(*news())
    memory()
    cold_start()


if __name__ == "__main__":
    main()
