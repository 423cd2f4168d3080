"""What work costs on this machine, beside the numbers that linsep decides by (core/costs.py).

    python benchmarks/costs.py

Each line is the least of several runs in one thread. The ratio need not be 1: a decision that is
taken a factor of two too early or too late costs some per cent of a small fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linsep.core import costs
from linsep.core.lanes import at_most, one_blas_thread, run_all
from linsep.core.problem import Problem
from linsep.kernels import RBF
from linsep.kernels.additive import Levels
from linsep.kernels.blocks import KernelValues
from linsep.proofs.plain import combination
from linsep.rows.hinge import RowSet
from linsep.rows.logistic import all_rows
from linsep.rows.reader import survey

N, D = 40_000, 20


def least(work: Callable[[], Any], runs: int = 15) -> float:
    """Seconds of the fastest run, after one that compiles."""
    work()
    found = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found)


def second_thread() -> float:
    """What two threads take for two jobs beyond half the time of one thread."""
    row = np.random.default_rng(0).normal(size=50_000)
    jobs = [lambda: np.sin(row)] * 2
    return least(lambda: run_all(jobs, 2), 100) - least(lambda: run_all(jobs, 1), 100) / 2


def measured() -> dict[str, float]:
    """Seconds by the names in core/costs.py."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    problem = Problem(X, X[:, 0] + rng.normal(size=N) > 0)
    a, center, size = rng.normal(size=D + 1), np.zeros(N), float(N * D)
    rows = RowSet(X, problem.sign, problem.weight, double=True)
    logistic = all_rows(problem, double=True)
    square, counts = rng.normal(size=(600, 600)), np.floor(4 * np.abs(X))
    levels = Levels(counts, -np.inf)
    values, some = KernelValues(problem, RBF(gamma=0.05)), np.arange(2000)
    return {
        "PLANE": least(lambda: combination(problem, problem.weight)) / size / 2,
        "SQUARES": least(lambda: survey(problem.afresh())) / size,
        "HINGE_PASS": least(lambda: hinge(rows, a, center)) / size,
        "LOGISTIC_PASS": least(lambda: logistic.read(a, offset=True, curved=False, threads=1))
        / size,
        "LEVEL": least(lambda: levels.collect(np.arange(N), problem.sign)) / levels.nnz,
        "PRODUCT": least(lambda: square @ square) / 600.0**3,
        "KERNEL": least(lambda: values.block(some, some, np.float32)) / len(some) ** 2,
    }


def hinge(rows: RowSet, a: Any, center: Any) -> Any:
    """A pass whose band is a third of the rows."""
    return rows.read(a, 0.5, center, offset=True, threads=1)


def main() -> None:
    """Print the table."""
    found = {"SECOND_THREAD": second_thread()}
    with one_blas_thread(), at_most(1):
        found |= measured()
    print(f"{'cost':16} {'decided by':>12} {'measured':>12} {'ratio':>8}")
    for name, seconds in found.items():
        stated = getattr(costs, name)
        print(f"{name:16} {stated:12.2e} {seconds:12.2e} {seconds / stated:8.2f}")


if __name__ == "__main__":
    main()
