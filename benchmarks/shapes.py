"""Shapes nobody tuned for: a sweep over tables, held against the fastest peer in the same run.

A row is a family of models and a table. A sweep changes one thing: rows, columns, classes, the
share of entries, C, how hard the optimum is, scales of columns, indicators, types and layouts.
Ours stops at a proved relative gap of 1e-3, given as ``tol``; a peer gets credit for the loosest
of its settings whose objective is within 1e-3 of a proved lower bound, although it proves nothing
and nobody knows that setting beforehand. Both then run in turn, and the least of each counts.
Machines with hinge loss have no intercept here, since LIBLINEAR penalises its own.

Printed are the ratios (above 1 linsep is faster), the worst of them, what a layout costs beside
C order, and jumps: neighbours of a sweep between which the time grows by more than twice what
the entries (times the classes) grow by.

    python benchmarks/shapes.py --quick            # some minutes; twenty on a busy machine
    python benchmarks/shapes.py                    # everything, most of an hour
    python benchmarks/shapes.py logistic rows      # names that hold all of these words
    python benchmarks/shapes.py --clock processor  # on a busy machine

The clock of the wall needs a quiet machine and gives both sides all cores. That of the processor
gives both sides one thread. Real tables are looked for in --data; what is not there is named.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special
from linear_svm import covtype, signs, tfidf
from separability import lp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import linsep
from linsep.core.lanes import at_most

GOAL = 1e-3
JUMP = 2.0
WARM, WARM_SECONDS = 12, 8.0  # runs before the first that counts
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
ITERATIONS = (3, 5, 8, 12, 18, 27, 40, 60, 90, 150, 250, 500, 1000, 3000, 10_000)
STEPS = (1, 2, 3, 4, 6, 8, 12, 20, 50)

# -- tables ------------------------------------------------------------------------------------


def normal(n, d, K=2, *, noise=1.0, kind="", dtype=np.float64, seed=0):
    """Normal rows; labels by planes and noise. kind: "correlated" or "unscaled" columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, K)) / math.sqrt(d)
    y = (2 * scores + noise * rng.gumbel(size=(n, K))).argmax(axis=1)
    if kind == "correlated":
        X = X @ rng.normal(size=(d, d)) + 3.0 * rng.normal(size=(n, 1))
    if kind == "unscaled":
        X = X * 10.0 ** rng.uniform(-3, 3, size=d) + 10.0 ** rng.uniform(-2, 2, size=d)
    return X.astype(dtype), y


def blobs(n, d, K):
    """Classes that are far apart: an easy optimum."""
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=n)
    return 3.0 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d)), y


def indicators(n, d, *, sparse=False):
    """Factors of 2 to 12 levels, some rare, as columns of 0 and 1."""
    rng = np.random.default_rng(0)
    columns, score = [], np.zeros(n)
    while sum(c.shape[1] for c in columns) < d:
        levels = min(int(rng.integers(2, 13)), d - sum(c.shape[1] for c in columns))
        share = rng.dirichlet(np.full(levels, 0.7))
        drawn = rng.choice(levels, size=n, p=share)
        score += rng.normal(size=levels)[drawn]
        columns.append((drawn[:, None] == np.arange(levels)).astype(float))
    X = np.hstack(columns)
    y = score - score.mean() + 2 * rng.logistic(size=n) > 0
    return (scipy.sparse.csr_matrix(X) if sparse else X), y.astype(int)


def words(n, d, per_row, *, noise=1.0):
    """Sparse rows of about so many entries, their columns as frequent as words of a text."""
    rng = np.random.default_rng(0)
    places = (d * rng.random(n * per_row) ** 3).astype(np.int32)
    X = scipy.sparse.csr_matrix(
        (rng.exponential(size=n * per_row), (np.repeat(np.arange(n), per_row), places)), (n, d)
    )
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    score = X @ rng.normal(size=d)
    return X, (score + noise * score.std() * rng.logistic(size=n) > 0).astype(int)


def small(load, classes=None, scaled=False):
    X, y = load(return_X_y=True)
    if classes is not None:
        some = np.isin(y, classes)
        X, y = X[some], y[some]
    return ((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12) if scaled else X), y


def layouts(X):
    """The same numbers as the memory may hold them."""
    import pandas as pd

    twice = np.repeat(X, 2, axis=0)
    wide = np.repeat(X, 2, axis=1)
    yield "C order", X
    yield "F order", np.asfortranarray(X)
    yield "frame", pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    yield "every second row", twice[::2]
    yield "every second column", wide[:, ::2]


# -- families: ours, the peers from loose to tight, and how far from the best a peer is ----------


@dataclass(frozen=True)
class Sides:
    """Both sides of a row."""

    ours: Callable[[], Any]
    peers: dict[str, list[tuple[str, Callable[[], Any]]]]
    """By name: settings from loose to tight."""
    excess: Callable[[Any], float] = lambda fitted: 0.0
    """Relative distance of what a peer gave from a proved lower bound."""


def hinge(X, y, C=1.0):
    model = linsep.LinearSVM(C=C, tol=GOAL, fit_intercept=False)
    tight = linsep.LinearSVM(C=C, tol=1e-5, fit_intercept=False, time_limit=20).fit(X, y)
    low = tight.certificate_.lower_bound

    def excess(peer):
        coef = np.asarray(peer.coef_, dtype=float)
        own = peer.classes_[-1:] if len(coef) == 1 else peer.classes_
        total = 0.0
        for w, k in zip(coef, own):
            u = np.maximum(0.0, 1.0 - np.where(y == k, 1, -1) * (X @ w))
            total += 0.5 * w @ w + C * u.sum()
        return total / low - 1

    size = X.nnz if scipy.sparse.issparse(X) else X.size
    most = int(np.clip(2e9 / size, 50, 10_000))  # iterations of some seconds

    def peer(**setting):
        setting = {"max_iter": most, "tol": 1e-9} | setting
        return LinearSVC(C=C, loss="hinge", fit_intercept=False, **setting).fit(X, y)

    return Sides(
        lambda: model.fit(X, y),
        {
            "LinearSVC": [(f"tol {t:g}", partial(peer, tol=t)) for t in ladder(3, 1e-4)],
            "LinearSVC, stopped": [
                (f"{k} it", partial(peer, max_iter=k)) for k in ITERATIONS if k <= most
            ],
        },
        excess,
    )


def logistic(X, y, C=1.0):
    model = linsep.LogisticRegression(C=C, tol=GOAL)
    tight = linsep.LogisticRegression(C=C, tol=1e-5, time_limit=20).fit(X, y)
    low, label = tight.certificate_.lower_bound, np.searchsorted(tight.classes_, y)

    def excess(peer):
        scores = np.asarray(X @ peer.coef_.T, dtype=float) + peer.intercept_
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        losses = scipy.special.logsumexp(scores, axis=1) - scores[np.arange(len(y)), label]
        squared = float((np.asarray(peer.coef_, dtype=float) ** 2).sum())
        return (0.5 * squared + C * float(losses.sum())) / low - 1

    def peer(solver, k):
        return LogisticRegression(C=C, solver=solver, max_iter=k, tol=1e-12).fit(X, y)

    runs = {"lbfgs": ITERATIONS}
    if X.shape[1] * len(tight.classes_) <= 1000:
        runs["newton-cholesky"] = STEPS
    if scipy.sparse.issparse(X):
        runs["newton-cg"] = STEPS
    peers = {
        solver: [(f"{k} it", partial(peer, solver, k)) for k in ks] for solver, ks in runs.items()
    }
    return Sides(lambda: model.fit(X, y), peers, excess)


def rbf(X, y, C=1.0):
    model = linsep.KernelSVM(C=C, tol=GOAL)
    settings = {"C": C, "gamma": "scale", "cache_size": 1000}
    runs = [(f"tol {t:g}", lambda t=t: SVC(tol=t, **settings).fit(X, y)) for t in ladder(1, 1e-5)]
    return Sides(
        lambda: model.fit(X, y), {"SVC": runs}, lambda peer: linsep.certify(peer, X, y).relative_gap
    )


def squares(X, y, C=None):
    model, t = linsep.LeastSquares(), 2.0 * y - 1.0
    ridge = Ridge(alpha=1e-10, solver="cholesky")
    return Sides(lambda: model.fit(X, y), {"Ridge": [("cholesky", lambda: ridge.fit(X, t))]})


def gaussian(X, y, covariance):
    model = linsep.GaussianClassifier(covariance)
    shared = LinearDiscriminantAnalysis(solver="lsqr"), LinearDiscriminantAnalysis()
    rivals = shared if covariance == "shared" else (QuadraticDiscriminantAnalysis(),)
    runs = {f"{type(r).__name__} {getattr(r, 'solver', '')}": [("", lambda r=r: r.fit(X, y))]
            for r in rivals}  # fmt: skip
    return Sides(lambda: model.fit(X, y), runs)


def verdict(X, y, C=None):
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    return Sides(lambda: linsep.separability(X, y), {"HiGHS": [("no proof", lambda: lp(dense, y))]})


def probabilities(X, y, C=None):
    some = slice(0, 2000)
    ours = linsep.LogisticRegression(tol=GOAL).fit(X[some], y[some])
    peer = LogisticRegression(max_iter=20).fit(X[some], y[some])
    runs = {"scikit-learn": [("", lambda: peer.predict_proba(X))]}
    return Sides(lambda: ours.predict_proba(X), runs)


def classes(X, y, C=None):
    some = slice(0, 2000)
    ours = linsep.LogisticRegression(tol=GOAL).fit(X[some], y[some])
    peer = LogisticRegression(max_iter=20).fit(X[some], y[some])
    return Sides(lambda: ours.predict(X), {"scikit-learn": [("", lambda: peer.predict(X))]})


def folds(X, y, kind):
    """Ten folds by ten values of C, as a search does them."""
    from sklearn.model_selection import GridSearchCV

    ours, peer = {
        "hinge": (linsep.LinearSVM(tol=GOAL), SVC(kernel="linear")),
        "logistic": (linsep.LogisticRegression(tol=GOAL), LogisticRegression(max_iter=1000)),
        "rbf": (linsep.KernelSVM(tol=GOAL), SVC()),
    }[kind]

    def search(model):
        return GridSearchCV(model, {"C": np.logspace(-3, 3, 10)}, cv=10).fit(X, y)

    return Sides(
        partial(search, ours), {"scikit-learn": [(type(peer).__name__, partial(search, peer))]}
    )


def ladder(first, last):
    """Tolerances from first down to last, three a decade."""
    steps = round(3 * math.log10(first / last))
    return [first * 10.0 ** (-k / 3) for k in range(steps + 1)]


# -- sweeps ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A family, a sweep, a place on it, and how to make the table."""

    family: Callable[..., Sides]
    sweep: str
    at: str
    make: Callable[[], Any]
    settings: dict[str, Any] = field(default_factory=dict)
    quick: bool = False

    @property
    def name(self) -> str:
        """As it is printed and asked for."""
        return f"{self.family.__name__}, {self.sweep}: {self.at}"


def sweeps(folder: Path) -> Iterator[Row]:
    """All rows, neighbours next to each other."""
    for family in (hinge, logistic):
        for n in (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000):
            at = f"{n} x 20"
            quick = n in (100, 1000, 3000, 10_000, 100_000)
            yield Row(family, "rows", at, partial(normal, n, 20), quick=quick)
        for d in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000):
            quick = d in (1, 10, 100, 500)
            yield Row(family, "columns", f"6000 x {d}", partial(normal, 6000, d), quick=quick)
        for d in (100, 1000, 10_000, 100_000):
            make = partial(normal, 200, d)
            yield Row(family, "wide", f"200 x {d}", make, quick=d <= 1000)
        for C in (1e-4, 1e-2, 1.0, 1e2, 1e4):
            at, setting = f"20000 x 30, C={C:g}", {"C": C}
            yield Row(family, "cost", at, partial(normal, 20_000, 30), setting, C != 1e-2)
        for kind in ("correlated", "unscaled"):
            make = partial(normal, 20_000, 100, kind=kind)
            yield Row(family, "optimum", f"{kind} 20000 x 100", make, quick=True)
        yield Row(family, "optimum", "easy 20000 x 100", partial(blobs, 20_000, 100, 2), quick=True)
        noisy = partial(normal, 20_000, 100, noise=20.0)
        yield Row(family, "optimum", "noisy 20000 x 100", noisy)
        for d in (20, 68, 200, 600):
            for form in ("dense", "sparse"):
                make = partial(indicators, 11_000, d, sparse=form == "sparse")
                at = f"{form} 11000 x {d}"
                yield Row(family, f"indicators, {form}", at, make, quick=d == 68)
        for k in (5, 20, 100, 400):
            make = partial(words, 10_000, 4000, k)
            yield Row(family, "entries", f"10000 x 4000, {k} a row", make, quick=k == 20)
        for d in (100, 1000, 10_000, 100_000):
            make = partial(words, 20_000, d, 20)
            at = f"20000 x {d}, 20 a row"
            yield Row(family, "sparse columns", at, make, quick=d == 10_000)
        for C in (1e-4, 1e-2, 1.0, 1e2, 1e4):
            make = partial(words, 10_000, 3000, 20)
            yield Row(family, "sparse cost", f"10000 x 3000, C={C:g}", make, {"C": C})
        for dtype in (np.float32, np.float64):
            make = partial(normal, 100_000, 100, dtype=dtype)
            yield Row(family, "type", f"{dtype.__name__} 100000 x 100", make)
        for C in (1.0, 100.0, 1e4):
            a9a = partial(signs, folder, "a9a/a9a")
            yield Row(family, "a9a", f"C={C:g}", a9a, {"C": C}, quick=C == 1.0)
        text = partial(tfidf, folder)
        yield Row(family, "text", "20 classes" if family is hinge else "softmax 20", text)
        yield Row(family, "covtype", "581012 x 54", partial(covtype, folder))
        for name, make in SMALL.items():
            yield Row(family, "small", name, make, quick=True)
    for K in (2, 3, 4, 8, 16, 32, 64):
        for kind, make in (("noisy", normal), ("easy", blobs)):
            at, table = f"20000 x 50, {K}", partial(make, 20_000, 50, K)
            yield Row(logistic, f"classes, {kind}", at, table, quick=K in (4, 16))
    for n in (100, 300, 1000, 3000, 6000, 12_000):
        for C in (1.0, 10.0):
            make, at = partial(normal, n, 50), f"{n} x 50, C={C:g}"
            yield Row(rbf, f"rows, C={C:g}", at, make, {"C": C}, quick=n in (100, 1000))
    for name, make in SMALL.items():
        yield Row(rbf, "small", name, make, quick=True)
    for n, d in ((1000, 10), (10_000, 10), (100_000, 10), (100_000, 100), (100_000, 300)):
        make, quick = partial(normal, n, d), n * d <= 1_000_000
        yield Row(squares, "rows", f"{n} x {d}", make, quick=quick)
        for kind in ("shared", "full"):
            yield Row(gaussian, f"{kind} rows", f"{n} x {d}", make, {"covariance": kind}, quick)
    yield Row(squares, "covtype", "581012 x 54", partial(covtype, folder))
    yield Row(gaussian, "covtype", "shared", partial(covtype, folder), {"covariance": "shared"})
    for n in (300, 3000, 30_000, 100_000):
        yield Row(verdict, "noisy", f"{n} x 20", partial(normal, n, 20), quick=n <= 3000)
        yield Row(
            verdict, "separable", f"{n} x 20", partial(normal, n, 20, noise=0), quick=n <= 3000
        )
    yield Row(verdict, "indicators", "11000 x 68", partial(indicators, 11_000, 68), quick=True)
    for family in (probabilities, classes):
        for n in (10_000, 100_000, 1_000_000):
            for K in (2, 10):
                make, quick = partial(normal, n, 20, K), n == 100_000
                yield Row(family, f"{K} classes", f"{n} x 20", make, quick=quick)
    for kind in ("hinge", "logistic", "rbf"):
        for scaled in (False, True):
            at = f"breast cancer{', scaled' if scaled else ''}"
            make = partial(small, load_breast_cancer, scaled=scaled)
            yield Row(folds, kind, at, make, {"kind": kind})


SMALL = {
    "iris": partial(small, load_iris),
    "iris, two classes": partial(small, load_iris, (1, 2)),
    "breast cancer": partial(small, load_breast_cancer),
    "breast cancer, scaled": partial(small, load_breast_cancer, scaled=True),
    "digits": partial(small, load_digits),
}


# -- measuring ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """What a row came to."""

    row: Row
    seconds: float
    peer: float
    who: str
    entries: float
    solver: str

    @property
    def ratio(self) -> float:
        """Above 1 ours is faster."""
        return self.peer / self.seconds


def took(work: Callable[[], Any], clock: Callable[[], float]) -> tuple[float, Any]:
    begin = clock()
    result = work()
    return clock() - begin, result


def loosest(runs: list[Any], excess: Any, clock: Any, limit: float) -> tuple[float, str, Any]:
    """Seconds, words and run of the loosest setting within the goal; none after the limit."""
    spent = 0.0
    for word, run in runs:
        seconds, model = took(run, clock)
        if excess(model) <= GOAL:
            return seconds, word, run
        spent += seconds
        if spent + 1.5 * seconds > limit:
            break
    return np.inf, "", None


def measure(row: Row, clock: Callable[[], float], runs: int, limit: float) -> Found:
    """Both sides in turn, after the settings of the peers are found."""
    X, y = row.make()
    sides = row.family(X, y, **row.settings)
    warmed = 0.0
    for _ in range(WARM):  # what is compiled is compiled now, at once or when it has come often
        warmed += took(sides.ours, clock)[0]
        if warmed > max(limit, WARM_SECONDS):
            break
    candidates = []
    for name, settings in sides.peers.items():
        seconds, word, run = loosest(settings, sides.excess, clock, limit)
        candidates.append((seconds, f"{name} {word}".strip(), run))
    peer, who, run = min(candidates, key=lambda found: found[0])
    best, fitted, spent = np.inf, None, 0.0
    for _ in range(runs):
        mine, fitted = took(sides.ours, clock)
        other = took(run, clock)[0] if run is not None else np.inf
        best, peer = min(best, mine), min(peer, other)
        spent += mine + (other if np.isfinite(other) else 0.0)
        if spent > limit:
            break
    entries = float(X.nnz if scipy.sparse.issparse(X) else np.prod(X.shape))
    K = len(np.unique(y))
    entries *= K if K > 2 else 1
    return Found(row, best, peer, who, entries, _solver(fitted))


def _solver(fitted: Any) -> str:
    words = getattr(fitted, "solver_used_", "")
    return words.split(" (")[0]


def gap_words(found: Found) -> str:
    peer = f"{1e3 * found.peer:10.2f}" if np.isfinite(found.peer) else "   not met"
    return (
        f"{found.row.name:52} {1e3 * found.seconds:10.2f} {peer} {found.ratio:8.2f}  "
        f"{found.who} | {found.solver}"
    )


def jumps(found: list[Found]) -> Iterator[str]:
    """Neighbours of a sweep between which time grows much faster than the entries."""
    lines = defaultdict(list)
    for one in found:
        lines[one.row.family.__name__, one.row.sweep].append(one)
    for (family, sweep), line in lines.items():
        if sweep in ("small", "text", "covtype", "type", "optimum"):
            continue
        for a, b in pairwise(line):
            growth, grown = b.seconds / a.seconds, max(b.entries / a.entries, 1.0)
            if growth > JUMP * grown:
                changed = "" if a.solver == b.solver else f"  ({a.solver} -> {b.solver})"
                yield (
                    f"{family}, {sweep}: {a.row.at} -> {b.row.at}: time x {growth:.1f}, "
                    f"entries x {grown:.1f}{changed}"
                )


def in_layouts(clock: Any, runs: int, n: int, d: int) -> None:
    """Times relative to those of C order, fit and predict, of all kinds of models."""
    X, y = normal(n, d)
    models = [linsep.LinearSVM(tol=GOAL), linsep.LogisticRegression(tol=GOAL),
              linsep.LeastSquares(), linsep.GaussianClassifier("shared"),
              linsep.Perceptron(max_iter=5)]  # fmt: skip
    print(f"\nlayouts of {n} x {d}, times those of C order: fit; predict")
    for model in models:
        best: dict[str, list[float]] = {}
        forms = dict(layouts(X))
        for _ in range(runs):
            for name, form in forms.items():
                known = best.setdefault(name, [np.inf, np.inf])
                known[0] = min(known[0], took(lambda f=form, m=model: m.fit(f, y), clock)[0])
                known[1] = min(known[1], took(lambda f=form, m=model: m.predict(f), clock)[0])
        plain = best.pop("C order")
        cells = [f"{n} {a / plain[0]:.2f}; {b / plain[1]:.2f}" for n, (a, b) in best.items()]
        print(f"    {type(model).__name__:20} " + "   ".join(cells), flush=True)


def main() -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--quick", action="store_true", help="some of the rows")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--runs", type=int, default=3, help="of each side")
    parser.add_argument("--limit", type=float, default=4.0, help="seconds for each peer of a row")
    parser.add_argument("--worst", type=int, default=20, help="rows to print again at the end")
    parser.add_argument("words", nargs="*", help="rows whose names hold all of these")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    clock, found = CLOCKS[args.clock], []
    print(f"{'milliseconds, ' + args.clock:52} {'ours':>10} {'peer':>10} {'ratio':>8}")
    with ExitStack() as stack:
        if args.clock == "processor":
            stack.enter_context(threadpool_limits(1))
            stack.enter_context(at_most(1))
        for row in sweeps(args.data):
            if (args.quick and not row.quick) or any(word not in row.name for word in args.words):
                continue
            try:
                one = measure(row, clock, args.runs, args.limit)
            except (FileNotFoundError, MemoryError) as error:
                print(f"{row.name}: left out, {error}", flush=True)
                continue
            found.append(one)
            print(gap_words(one), flush=True)
        if not args.words or "layouts" in args.words:
            size = (20_000, 50) if args.quick else (200_000, 50)
            in_layouts(clock, args.runs, *size)
    below = sorted((one for one in found if one.ratio < 1), key=lambda one: one.ratio)
    print(f"\n{len(below)} of {len(found)} rows below 1; the worst:")
    for one in below[: args.worst]:
        print(gap_words(one))
    print("\njumps:")
    for line in jumps(found):
        print(line)


if __name__ == "__main__":
    main()
