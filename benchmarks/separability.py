"""Verdicts on separability against a linear program, margins against a support vector machine.

    python benchmarks/separability.py [names ...] [--repeat 7]

All times of a line come from one run, taken in turn, the least of several, compilation left
out. What is timed:

    LP        scipy.optimize.linprog (HiGHS): is y (w . x + b) >= 1 feasible? Columns scaled.
    verdict   Problem and the first nearest-point search, up to its answer; no proof
    float     linsep.separability(exact=False): margin bounds to 1e-6, fingerprint, sentence
    proof     linsep.separability: all of it in rational arithmetic, weak separators too
    SVC       sklearn.svm.SVC(kernel="linear", C=1e8), which bounds nothing
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC
from threadpoolctl import ThreadpoolController

import linsep
from linsep.core import drive
from linsep.core.problem import Problem
from linsep.solvers.hulls.cloud import one_unit
from linsep.solvers.hulls.nearest import NearestHulls

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BLAS = ThreadpoolController().select(user_api="blas")  # the search runs on one thread
TARGETS = {"golub": 20.0, "alon": 20.0}  # times faster than the LP; 2.5 elsewhere


def table(path: str, label: int = -1, **options: Any) -> tuple[Any, Any]:
    frame = pd.read_csv(DATA / path, header=None, **options)
    y = frame.iloc[:, label].to_numpy()
    return frame.drop(columns=frame.columns[label]).to_numpy(float), y


def svmlight(path: str) -> tuple[Any, Any]:
    X, y = load_svmlight_file(str(DATA / path))
    return X.toarray(), y


def covtype() -> tuple[Any, Any]:
    frame = pd.read_csv(DATA / "covtype/covtype.csv.gz", nrows=50_000).to_numpy(float)
    return np.ascontiguousarray(frame[:, :-1]), np.where(frame[:, -1] == 2, 1, -1)


def iris() -> tuple[Any, Any]:
    X, y = table("uci_small/iris.csv")
    keep = y != np.unique(y)[0]
    return X[keep], y[keep]


def endometrial() -> tuple[Any, Any]:
    frame = pd.read_csv(DATA / "separation/endometrial.derived.csv")
    return frame.iloc[:, :3], frame["HG"].to_numpy()


SETS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "golub": lambda: table("microarray/golub.derived.csv.gz", 0),
    "alon": lambda: table("microarray/alon.derived.csv.gz", 0),
    "mushrooms": lambda: svmlight("mushrooms/mushrooms"),
    "a1a": lambda: svmlight("a9a/a1a"),
    "spambase": lambda: table("uci_small/spambase.data"),
    "sonar": lambda: table("uci_small/sonar.csv"),
    "covtype-50k": covtype,
    "iris-12": iris,
    "banknote": lambda: table("uci_small/banknote_authentication.csv"),
    "pima": lambda: table("uci_small/pima-indians-diabetes.csv"),
    "endometrial": endometrial,
}


def lp(X: Any, y: Any) -> int:
    X = np.asarray(X, dtype=float)
    size = np.abs(X).max(axis=0)
    size[size == 0] = 1.0
    sign = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    A = -np.column_stack([X / size, np.ones(len(X))]) * sign[:, None]
    result = linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(len(A)), bounds=(None, None))
    return int(result.status)


def verdict(X: Any, y: Any) -> str:
    with BLAS.limit(limits=1), np.errstate(all="ignore"):
        problem = Problem(X, y)
        solver = NearestHulls("plain" if one_unit(problem) else "scaled")
        return drive(problem, solver).status.name


def least(works: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """Milliseconds of each, taken in turn."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(repeat):
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - begin))
    return best


def line(name: str, repeat: int) -> None:
    X, y = SETS[name]()
    proof = linsep.separability(X, y)
    works: dict[str, Callable[[], Any]] = {
        "LP": lambda: lp(X, y),
        "verdict": lambda: verdict(X, y),
        "float": lambda: linsep.separability(X, y, exact=False),
        "proof": lambda: linsep.separability(X, y),
    }
    if proof.separable:
        works["SVC"] = lambda: SVC(kernel="linear", C=1e8).fit(X, y)
    ms = least(works, repeat)
    what = "separable" if proof.separable else "quasi" if proof.quasi else "overlap"
    svc = f"{ms['SVC']:8.1f} {ms['SVC'] / ms['proof']:7.1f}" if proof.separable else f"{'':16}"
    print(
        f"{name:12} {what:10} {ms['LP']:8.1f} {ms['verdict']:8.2f} {ms['float']:8.2f} "
        f"{ms['proof']:8.2f} {svc} | {ms['LP'] / ms['verdict']:7.1f} "
        f"{TARGETS.get(name, 2.5):7.1f} {ms['LP'] / ms['proof']:9.2f} {0.5:7.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SETS)}")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    if not DATA.is_dir():
        print(
            f"skipped: the data are expected in {DATA.parent.name}/{DATA.name} beside the checkout"
        )
        return
    warnings.simplefilter("ignore")
    for _ in range(12):  # compile, or load what was compiled before
        linsep.separability(np.random.default_rng(0).standard_normal((400, 40)), np.arange(400) % 2)
    print(
        f"{'set':12} {'answer':10} {'LP ms':>8} {'verdict':>8} {'float':>8} {'proof':>8} "
        f"{'SVC':>8} {'/proof':>7} | {'LP/verd':>7} {'wanted':>7} {'LP/proof':>9} {'wanted':>7}"
    )
    for name in options.names or SETS:
        line(name, options.repeat)


if __name__ == "__main__":
    main()
