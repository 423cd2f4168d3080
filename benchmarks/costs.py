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
from linsep.rows.hinge import RowSet
from linsep.rows.logistic import all_rows
from linsep.rows.planes import combination
from linsep.rows.survey import survey

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
    """Two jobs of nothing, by two threads."""
    return least(lambda: run_all([int, int], 2), 200)


def measured() -> dict[str, float]:
    """Seconds by the names in core/costs.py."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    problem = Problem(X, X[:, 0] + rng.normal(size=N) > 0)
    a, center, size = rng.normal(size=D + 1), np.zeros(N), float(N * D)
    rows = RowSet(X, problem.sign, problem.weight, wide=True)
    logistic = all_rows(problem, wide=True)
    few, square = X[:1500], rng.normal(size=(600, 600))
    counts = np.floor(4 * np.abs(X[:4000]))
    return {
        "SECOND_THREAD": second_thread(),
        "PLANE": least(lambda: combination(problem, problem.weight)) / size / 2,
        "SQUARES": least(lambda: survey(problem.afresh())) / size,
        "HINGE_PASS": least(lambda: hinge(rows, a, center)) / size,
        "LOGISTIC_PASS": least(lambda: logistic.read(a, offset=True, bent=False, threads=1)) / size,
        "LEVEL": least(lambda: Levels(counts, -np.inf), 5) / counts.size,
        "PRODUCT": least(lambda: square @ square) / 600.0**3,
        "KERNEL": least(lambda: RBF(gamma=0.05).gram(few)) / len(few) ** 2,
    }


def hinge(rows: RowSet, a: Any, center: Any) -> Any:
    """A pass whose band is a third of the rows."""
    return rows.read(a, 0.5, center, offset=True, threads=1)


def main() -> None:
    """Print the table."""
    with one_blas_thread(), at_most(1):
        found = measured()
    print(f"{'cost':16} {'decided by':>12} {'measured':>12} {'ratio':>8}")
    for name, seconds in found.items():
        stated = getattr(costs, name)
        print(f"{name:16} {stated:12.2e} {seconds:12.2e} {seconds / stated:8.2f}")


if __name__ == "__main__":
    main()
