"""LinearSVM against its peers: time until the objective is within 1e-3 of the best.

Both sides of a row run in one process, one after the other, and the least time of a few runs
counts, so that a busy machine spoils ratios little. A peer gets credit as soon as its objective
is within 1e-3 of a lower bound proved by a tighter run; ours counts the whole of fit, validation
and proof included, compilation not. Give the names of rows to run only these; "extras" is a row
too. Where no peer gets there, LinearSVC is run once for about --limit seconds. --cliffs runs
variants of each set (or of those named) against its tuned case instead: other values of C, forms
and types of the table, the square of the loss.

    python benchmarks/linear_svm.py [--data FOLDER] [--limit SECONDS] [--cliffs] [row ...]
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse
from memory import memory
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

import linsep

GOAL = 1e-3
CACHE = Path(tempfile.gettempdir()) / "linsep-benchmarks"
warnings.simplefilter("ignore", ConvergenceWarning)
warnings.simplefilter("ignore", linsep.errors.LinsepWarning)


# -- data --------------------------------------------------------------------------------------


def svmlight(folder, name):
    CACHE.mkdir(exist_ok=True)
    kept = CACHE / (name.replace("/", "-") + ".npz")
    if not kept.exists():
        X, y = load_svmlight_file(str(folder / name))
        np.savez(kept, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    z = np.load(kept)
    X = scipy.sparse.csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"]))
    return X, z["y"]


def covtype(folder, scaled=True):
    CACHE.mkdir(exist_ok=True)
    kept = CACHE / "covtype.npy"
    if not kept.exists():
        import pandas as pd

        np.save(kept, np.ascontiguousarray(pd.read_csv(folder / "covtype/covtype.csv.gz"), float))
    table = np.load(kept)
    X, y = np.ascontiguousarray(table[:, :-1]), np.where(table[:, -1] == 2, 1, -1)
    if scaled:
        X -= X.mean(axis=0)
        X /= np.maximum(X.std(axis=0), 1e-12)
    return X, y


def news20(folder):
    X, y = svmlight(folder, "news20/news20.bz2")
    return X, np.where(y % 2 == 1, 1, -1)


def tfidf(folder):
    X, y = svmlight(folder, "20news/20news.train.counts.derived.svm.bz2")
    return TfidfTransformer().fit_transform(X).tocsr(), y.astype(int)


def one_class(folder):
    X, y = tfidf(folder)
    return X, np.where(y == y.min(), 1, -1)


def signs(folder, name):
    X, y = svmlight(folder, name)
    return X, np.where(y > 0, 1, -1)


ROWS = {
    "covtype C=1": (covtype, {"C": 1.0, "fit_intercept": False}),
    "covtype C=1, intercept": (covtype, {"C": 1.0}),
    "covtype C=100": (covtype, {"C": 100.0, "fit_intercept": False}),
    "covtype C=100, intercept": (covtype, {"C": 100.0}),
    "news20 raw counts": (news20, {"fit_intercept": False}),
    "20news tf-idf, one class": (one_class, {"fit_intercept": False}),
    "20news tf-idf, 20 classes": (tfidf, {"fit_intercept": False}),
    "a9a": (lambda f: signs(f, "a9a/a9a"), {"fit_intercept": False}),
    "w8a": (lambda f: signs(f, "w8a/w8a"), {"fit_intercept": False}),
    "ijcnn1": (lambda f: signs(f, "ijcnn1/ijcnn1.trn.bz2"), {"fit_intercept": False}),
}


# -- measuring ---------------------------------------------------------------------------------


def clock(function, runs=3, limit=20.0):
    best, spent, out = np.inf, 0.0, None
    for _ in range(runs):
        begin = time.perf_counter()
        out = function()
        took = time.perf_counter() - begin
        best, spent = min(best, took), spent + took
        if spent > limit:
            break
    return best, out


def objective(X, y, coef, C):
    """Sum over the classes of the hinge objective through the origin."""
    classes = np.unique(y)
    total = 0.0
    for k, w in enumerate(coef):
        own = classes[-1] if len(coef) == 1 else classes[k]
        u = np.maximum(0.0, 1.0 - np.where(y == own, 1, -1) * (X @ w))
        total += 0.5 * w @ w + C * u.sum()
    return total


def peers(X, y, C):
    """Runs of the peers, each kind from loose to tight: once one of a kind reaches the goal, the
    tighter ones of that kind cannot be faster and are left out."""

    def svc(**settings):
        settings = {"max_iter": 20_000, "tol": 1e-9} | settings
        return LinearSVC(C=C, loss="hinge", fit_intercept=False, **settings).fit(X, y).coef_

    for k in (10, 20, 30, 50, 70, 100, 200, 300, 1000, 3000, 10_000):
        yield "LinearSVC by iterations", f"{k} iterations", lambda k=k: svc(max_iter=k)
    for tol in (1.0, 0.3, 0.1, 0.03, 0.01):
        yield "LinearSVC by tol", f"tol {tol}", lambda t=tol: svc(tol=t)
    yield from liblinear(X, y, C)
    yield from snap(X, y, C)
    lam = 1.0 / (C * X.shape[0])
    for passes in (5, 20, 50):
        settings = {"alpha": lam, "fit_intercept": False, "max_iter": passes, "tol": None}
        model = SGDClassifier(**settings, random_state=0, average=True)
        yield "SGDClassifier", f"{passes} passes", lambda m=model: m.fit(X, y).coef_


def liblinear(X, y, C):
    """LIBLINEAR by its own package, if that is installed."""
    try:
        from liblinear.liblinearutil import parameter, problem, train
    except ImportError:
        print("(liblinear-official is not installed)")
        return

    def run(e):
        model = train(problem(y, X), parameter(f"-s 3 -c {C} -e {e} -q"))
        labels, count = model.get_labels(), model.get_nr_class()
        if count == 2:  # weights of the label that came first
            return np.array([model.get_decfun()[0]]) * (1 if labels[0] == max(labels) else -1)
        return np.array([model.get_decfun(labels.index(k))[0] for k in sorted(labels)])

    for e in (1.0, 0.3, 0.1, 0.03, 0.01):
        yield "liblinear-official", f"-e {e}", lambda e=e: run(e)


def snap(X, y, C):
    """Snap ML, if that is installed; two classes only, so that objectives can be compared."""
    try:
        from snapml import SupportVectorMachine
    except ImportError:
        print("(snapml is not installed)")
        return
    if len(np.unique(y)) > 2:
        return
    for threads in (1, 2):
        for k in (20, 100, 1000):
            model = SupportVectorMachine(
                regularizer=1.0 / C, max_iter=k, n_jobs=threads, tol=1e-9, fit_intercept=False
            )
            yield (
                f"snapml, {threads} threads",
                f"{k} iterations",
                lambda m=model: m.fit(X, y.astype(float)).coef_.reshape(1, -1),
            )


def compare(name, folder, limit):
    load, settings = ROWS[name]
    X, y = load(folder)
    model = linsep.LinearSVM(**settings, tol=GOAL)
    model.fit(X, y)  # compiles
    ours, _ = clock(lambda: model.fit(X, y))
    proof = model.certificate_
    line = f"{name:28} ours {ours:8.4f} s  gap {proof.relative_gap:.1e}  {model.n_iter_} passes"
    if settings.get("fit_intercept", True):  # LIBLINEAR penalises it: another objective
        print(line, "  (no peer has an unpenalised intercept)", flush=True)
        return ours
    C = settings.get("C", 1.0)
    tight = linsep.LinearSVM(**settings, tol=1e-5, time_limit=limit / 4).fit(X, y)
    least = max(proof.lower_bound, tight.certificate_.lower_bound)  # nobody can be below it
    best, who, spent, nearest, done = np.inf, "none", 0.0, (np.inf, "", 0.0), {}
    for kind, word, run in peers(X, y, C):
        if kind in done and (done[kind][0] <= GOAL or spent + 3.3 * done[kind][1] > limit):
            continue
        if kind in done and done[kind][0] > 10 * GOAL and done[kind][1] > limit / 30:
            continue  # far off and slow: the last run below says how far
        took, coef = clock(run, runs=3, limit=min(3.0, limit / 8))
        spent += took
        off = min(objective(X, y, v * coef, C) for v in (1, -1)) / least - 1
        done[kind] = (off, took)
        nearest = min(nearest, (off, f"{kind}, {word}", took))
        if off <= GOAL and took < best:
            best, who = took, f"{kind}, {word}"
            ours = min(ours, clock(lambda: model.fit(X, y))[0])  # both in the same weather
    for kind, (off, took) in done.items():
        print(f"{'':28} {kind:26} {took:8.4f} s  {off:.1e} off", flush=True)
    line = f"{name:28} ours {ours:8.4f} s  gap {proof.relative_gap:.1e}  {model.n_iter_} passes"
    if np.isfinite(best):
        print(line, f"  best peer {best:8.4f} s ({who})  ratio {best / ours:.2f}", flush=True)
    else:
        off, word, took = min(nearest, patience(X, y, C, limit, least))
        print(line, f"  no peer: {word} is {off:.1e} off after {took:.1f} s,"
              f" ratio > {took / ours:.0f}", flush=True)  # fmt: skip
    return ours


def patience(X, y, C, limit, least):
    """How far LinearSVC is off after about ``limit`` seconds: one run, its length foreseen."""
    settings = {"C": C, "loss": "hinge", "fit_intercept": False, "tol": 1e-9}
    few = 5
    each = clock(lambda: LinearSVC(**settings, max_iter=few).fit(X, y), runs=1)[0] / few
    many = max(few, int(limit / each))
    took, model = clock(lambda: LinearSVC(**settings, max_iter=many).fit(X, y), runs=1)
    off = objective(X, y, model.coef_, C) / least - 1
    print(f"{'':28} {'LinearSVC, one long run':26} {took:8.1f} s  {off:.1e} off, {many} iterations")
    return off, f"LinearSVC, {many} iterations", took


SETS = {
    "covtype": covtype,
    "ijcnn1": lambda f: signs(f, "ijcnn1/ijcnn1.trn.bz2"),
    "a9a": lambda f: signs(f, "a9a/a9a"),
    "w8a": lambda f: signs(f, "w8a/w8a"),
    "20news one class": one_class,
    "news20 raw counts": news20,
}


def cliffs(folder, words, limit):
    """Variants of each set against its tuned case, C = 1: how many times its time, and the gap."""
    for name, load in SETS.items():
        if words and not any(word in name for word in words):
            continue
        X, y = load(folder)
        tuned = None
        for word, A, t, settings in variants(folder, X, y):
            model = linsep.LinearSVM(fit_intercept=False, tol=GOAL, time_limit=limit)
            model.set_params(**settings)
            model.fit(A, t)  # compiles
            took, _ = clock(lambda m=model, A=A, t=t: m.fit(A, t), runs=3, limit=1.0)
            tuned = took if tuned is None else tuned
            ratio, gap = took / tuned, model.certificate_.relative_gap
            mark = "  NO GAP" if not gap <= GOAL else "  > 5" if ratio > 5 else ""
            print(f"{name:18} {word:18} {took:8.3f} s  {ratio:6.1f} times  gap {gap:.1e}{mark}",
                  flush=True)  # fmt: skip


def variants(folder, X, y):
    """Words, rows, labels and settings of the cases of one set, the tuned one first."""
    yield "tuned", X, y, {}
    yield "offset", X, y, {"fit_intercept": True}
    yield "squared hinge", X, y, {"loss": "squared_hinge"}
    yield "float32", X.astype(np.float32), y, {}
    for C in (1e-4, 1e-2, 1e2, 1e4):
        yield f"C={C:g}", X, y, {"C": C}
    if scipy.sparse.issparse(X) and X.shape[0] * X.shape[1] < 50_000_000:
        yield "as a dense table", X.toarray(), y, {}
    if not scipy.sparse.issparse(X):
        yield "as a sparse table", scipy.sparse.csr_array(X[::4]), y[::4], {}
        yield "unscaled columns", covtype(folder, scaled=False)[0], y, {}
    twice = np.repeat(np.arange(len(y)), 2)
    yield "every row twice", X[twice], y[twice], {}


def extras(folder):
    """Growth, threads, float32, memory, cold start."""
    X, y = covtype(folder)
    model = linsep.LinearSVM(fit_intercept=False, tol=GOAL)
    model.fit(X, y)
    times = {}
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    for n in (len(y) // 4, len(y) // 2, len(y)):
        A, t = np.ascontiguousarray(X[order[:n]]), y[order[:n]]
        times[n], _ = clock(lambda A=A, t=t: model.fit(A, t))
    sizes = sorted(times)
    print("growth covtype:", ", ".join(
        f"{b} rows / {a} rows {times[b] / times[a]:.2f}" for a, b in itertools.pairwise(sizes)
    ))  # fmt: skip
    both = {k: clock(lambda k=k: model.set_params(n_jobs=k).fit(X, y))[0] for k in (1, 2)}
    one = model.set_params(n_jobs=1).fit(X, y).coef_
    same = np.array_equal(one, model.set_params(n_jobs=2).fit(X, y).coef_)
    print(f"threads: 2 are {both[1] / both[2]:.2f} x faster than 1; same bits: {same}")
    narrow = X.astype(np.float32)
    model.fit(narrow, y)
    took, _ = clock(lambda: model.fit(narrow, y))
    print(f"float32 {took:.4f} s against float64 {both[2]:.4f} s")
    model.set_params(loss="squared_hinge").fit(X, y)
    print(f"squared hinge {clock(lambda: model.fit(X, y))[0]:.4f} s")
    raw, _ = covtype(folder, scaled=False)
    plain = linsep.LinearSVM(fit_intercept=False, tol=GOAL)
    print(f"unscaled columns {clock(lambda: plain.fit(raw, y))[0]:.4f} s")


def cold(folder):
    """A first fit in a fresh process, with and without machine code on disk."""
    code = (
        "import sys, time, numpy as np; t = time.perf_counter(); import linsep;"
        "rng = np.random.default_rng(0); X = rng.normal(size=(100000, 20));"
        "y = X[:, 0] + rng.normal(size=100000) > 0; linsep.LinearSVM(tol=1e-3).fit(X, y);"
        "print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as empty:
        for word in ("nothing compiled yet", "machine code on disk"):
            done = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True, text=True, check=True,
                env={**os.environ, "LINSEP_CACHE_DIR": empty},
            )  # fmt: skip
            print(f"cold start, {word}: {float(done.stdout):.2f} s with imports")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for the peers of a row")
    parser.add_argument("--cliffs", action="store_true", help="variants against the tuned case")
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    if not options.data.exists():
        print(f"no data in {options.data}: nothing to measure")
        return
    if options.cliffs:
        cliffs(options.data, options.rows, options.limit)
        return
    for name in ROWS:
        if not options.rows or any(word in name for word in options.rows):
            compare(name, options.data, options.limit)
    if not options.rows or "extras" in options.rows:
        extras(options.data)
        memory("linear_svm", "covtype", options.data, "LinearSVM")
        cold(options.data)
    print(
        f"peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB"
    )


if __name__ == "__main__":
    main()
