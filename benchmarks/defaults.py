"""Everybody at their defaults: time, error of the weights, and predictions that differ.

A row is a table and a family of models. The optimum of each objective is found first, by linsep at
a tiny tol (which is no part of the times), and every model is held against the optimum of the
objective that it minimises: LinearSVC and liblinear penalise the intercept, as a weight of a
constant column. Printed are the least seconds of --runs fits, the length of the error of the
weights relative to the optimum's, and on how many of the rows the predictions differ. A fit that
takes more than --limit seconds is not repeated.

    python benchmarks/defaults.py [--data FOLDER] [--runs N] [--rows N] [row ...]
"""

from __future__ import annotations

import argparse
import gzip
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

import linsep

TIGHT = 1e-10
warnings.simplefilter("ignore")


# -- data --------------------------------------------------------------------------------------


def standardised(X):
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)


def adult(folder):
    import pandas as pd

    path = folder / "adult/adult.data.gz"
    table = pd.read_csv(path, header=None, skipinitialspace=True)
    y = np.where(table.pop(14) == ">50K", 1, -1)
    numbers = standardised(table.select_dtypes("number").to_numpy(float))
    words = pd.get_dummies(table.select_dtypes(exclude="number")).to_numpy(float)
    return np.hstack([numbers, words]), y


def covtype(folder):
    import pandas as pd

    table = pd.read_csv(folder / "covtype/covtype.csv.gz").to_numpy(float)
    return standardised(table[:, :-1]), np.where(table[:, -1] == 2, 1, -1)


def news20(folder):
    X, y = load_svmlight_file(str(folder / "news20/news20.bz2"))
    return _narrow(TfidfTransformer().fit_transform(X)), np.where(y % 2 == 1, 1, -1)


def a9a(folder):
    X, y = load_svmlight_file(str(folder / "a9a/a9a"))
    return _narrow(X), y


def _narrow(X):
    """With 32-bit indices, which is all that some peers take."""
    X = scipy.sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def rare(folder):
    """Many rows, few of one class, small effects."""
    rng = np.random.RandomState(0)
    X = rng.randn(300_000, 6)
    return X, X @ [0.3, -0.2, 0.1, 0.05, 0.02, 0.01] - 3 + rng.logistic(size=300_000) > 0


def mnist(folder):
    with gzip.open(folder / "mnist/train-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / "mnist/train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)
    return X.astype(np.float32) / 255, y


# -- who is held against what ------------------------------------------------------------------


def with_constant(X):
    """The table with a column of ones: its weight is a penalised intercept."""
    ones = np.ones((X.shape[0], 1))
    if scipy.sparse.issparse(X):
        return _narrow(scipy.sparse.hstack([X, ones]))
    return np.hstack([X, ones.astype(X.dtype)])


class Constant:
    """A model of ours whose intercept is penalised."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.model.fit(with_constant(X), y)
        self.coef_ = self.model.coef_[:, :-1]
        return self

    def predict(self, X):
        return self.model.predict(with_constant(X))


def logistic(C=1.0):
    free = linsep.LogisticRegression(C=C, tol=TIGHT)
    through = linsep.LogisticRegression(C=C, tol=TIGHT, fit_intercept=False)
    yield "linsep", linsep.LogisticRegression(C=C), free
    yield "lbfgs", LogisticRegression(C=C), free
    yield "newton-cholesky", LogisticRegression(C=C, solver="newton-cholesky"), free
    if np.isfinite(C):
        yield "liblinear", LogisticRegression(C=C, solver="liblinear"), Constant(through)


def softmax():
    tight = linsep.LogisticRegression(tol=1e-8)
    yield "linsep", linsep.LogisticRegression(), tight
    yield "lbfgs", LogisticRegression(), tight


def machine(loss="hinge"):
    tight = linsep.LinearSVM(loss=loss, tol=TIGHT)
    through = linsep.LinearSVM(loss=loss, tol=TIGHT, fit_intercept=False)
    yield "linsep", linsep.LinearSVM(loss=loss), tight
    if loss == "hinge":
        yield "SVC", SVC(kernel="linear"), tight
    yield "LinearSVC", LinearSVC(loss=loss), Constant(through)


def kernel():
    tight = linsep.KernelSVM(tol=1e-9)
    yield "linsep", linsep.KernelSVM(), tight
    yield "SVC", SVC(), tight


ROWS = {
    "logistic rare": (rare, lambda: logistic(np.inf), None),
    "logistic adult": (adult, logistic, None),
    "logistic covtype": (covtype, logistic, None),
    "logistic news20": (news20, logistic, None),
    "softmax mnist": (mnist, softmax, 10_000),
    "hinge adult": (adult, machine, None),
    "hinge a9a": (a9a, machine, None),
    "hinge news20": (news20, machine, None),
    "squared news20": (news20, lambda: machine("squared_hinge"), None),
    "rbf a9a": (a9a, kernel, 10_000),
    "rbf adult": (adult, kernel, 10_000),
}


# -- one row -----------------------------------------------------------------------------------


def weights(model):
    """What is compared: weights of planes less what is common to all classes, or nothing."""
    try:
        coef = model.coef_
    except AttributeError:
        return None
    coef = np.asarray(coef.toarray() if scipy.sparse.issparse(coef) else coef, dtype=float)
    return coef - coef.mean(axis=0) if len(coef) > 2 else coef


def run(name, folder, runs, limit, rows):
    make, people, most = ROWS[name]
    X, y = make(folder)
    most = rows or most
    if most is not None and X.shape[0] > most:
        some = np.random.default_rng(0).permutation(X.shape[0])[:most]
        X, y = X[some], y[some]
    optima = {}
    print(f"{name}, {X.shape[0]} x {X.shape[1]}", flush=True)
    for who, model, best in people():
        if id(best) not in optima:
            optima[id(best)] = best.fit(X, y)
        best = optima[id(best)]
        if who == "linsep":
            model.fit(X, y)  # compiled
        try:
            seconds = least_seconds(model, X, y, runs, limit)
        except MemoryError as error:  # a matrix of all pairs of columns
            print(f"    {who:16} {error}", flush=True)
            continue
        own, other = weights(model), weights(best)
        off = "" if own is None else f"{np.linalg.norm(own - other) / np.linalg.norm(other):9.1e}"
        differ = int((model.predict(X) != best.predict(X)).sum())
        print(
            f"    {who:16} {seconds:9.3f} s   weights {off:>9}   predictions {differ:6d}",
            flush=True,
        )


def least_seconds(model, X, y, runs, limit):
    """Of so many fits, or of one that takes longer than the limit."""
    seconds = np.inf
    for _ in range(runs):
        begin = time.perf_counter()
        model.fit(X, y)
        seconds = min(seconds, time.perf_counter() - begin)
        if seconds > limit:
            break
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds after which one run will do"
    )
    parser.add_argument("--rows", type=int, default=None, help="rows of each table, at most")
    parser.add_argument("row", nargs="*", choices=[*ROWS, []], help="of these tables only")
    args = parser.parse_args()
    for name in args.row or ROWS:
        try:
            run(name, args.data, args.runs, args.limit, args.rows)
        except FileNotFoundError as error:
            print(f"{name}: skipped, {error.filename} is not there")


if __name__ == "__main__":
    main()
