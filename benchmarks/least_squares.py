"""LeastSquares against its peers, in one run: python benchmarks/least_squares.py

Ratios, not seconds, are what to look at; above 1 linsep is faster. Ours includes validation,
refinement, the proof and the verdict on every row. The data are read from ../shared/data when they
are there; otherwise made-up data of the same shape are used, and the row says so.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from perceptron import covtype, news
from sklearn.linear_model import LinearRegression, Ridge

import linsep


def best(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Shortest of several runs, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        begin = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - begin)
    return min(times), result


def cost(X: Any, t: Any, coef: Any, offset: float) -> float:
    """The sum of squared errors."""
    return float((((X @ np.ravel(coef)) + offset - t) ** 2).sum())


def dense(name: str, X: Any, y: Any, slow: bool) -> None:
    """Against normal equations (Ridge) and, where time allows, against orthogonal factors."""
    t = 2.0 * y - 1.0
    ours, model = best(lambda: linsep.LeastSquares().fit(X, y), 7)
    found = model.certificate_
    print(f"{name}: {X.dtype}, {model.solver_used_}")
    print(f"  linsep                {1e3 * ours:9.1f} ms   cost {found.objective:.9g}, "
          f"relative gap {found.relative_gap:.1e}")  # fmt: skip
    peers: list[tuple[str, Callable[[], Any], int]] = [
        ("Ridge, cholesky", lambda: Ridge(alpha=1e-8, solver="cholesky").fit(X, t), 7)
    ]
    if slow:
        peers.append(("LinearRegression", lambda: LinearRegression().fit(X, t), 1))
    for label, run, repeats in peers:
        seconds, peer = best(run, repeats)
        value = cost(X, t, peer.coef_, peer.intercept_)
        print(
            f"  {label:20s}  {1e3 * seconds:9.1f} ms   {seconds / ours:6.2f} x   cost {value:.9g}"
        )
    if slow:
        A = np.column_stack([X, np.ones(len(X))])
        seconds, answer = best(lambda: np.linalg.lstsq(A, t, rcond=None), 1)
        value = cost(X, t, answer[0][:-1], answer[0][-1])
        print(f"  {'numpy lstsq':20s}  {1e3 * seconds:9.1f} ms   {seconds / ours:6.2f} x   "
              f"cost {value:.9g}")  # fmt: skip


def sparse(name: str, X: Any, y: Any) -> None:
    """Wide and sparse: against LSQR to about the same cost, and the memory taken."""
    t = 2.0 * y - 1.0
    model = linsep.LeastSquares(time_limit=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        tracemalloc.start()
        ours, _ = best(lambda: model.fit(X, y), 1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(f"{name}: {model.solver_used_}")
    print(f"  linsep                {1e3 * ours:9.1f} ms   {model.certificate_}")
    print(f"  memory beside X       {peak / size:9.2f} x the size of X")
    peer = Ridge(alpha=1e-8, solver="lsqr", tol=1e-6, max_iter=model.outcome_.steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, _ = best(lambda: peer.fit(X, t), 1)
    print(f"  Ridge, lsqr           {1e3 * seconds:9.1f} ms   {seconds / ours:6.2f} x   "
          f"cost {cost(X, t, peer.coef_, peer.intercept_):.6g}")  # fmt: skip


def main() -> None:
    """All rows."""
    name, X, y = covtype()
    dense(name, X, y, slow=True)
    dense(name, X.astype(np.float32), y, slow=False)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 300))
    dense("made-up 100000 x 300", X, (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int), False)
    name, X, y = news()
    sparse(name, X, y)


if __name__ == "__main__":
    main()
