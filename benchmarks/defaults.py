"""Everybody at their defaults: time, error of the weights, and predictions that differ.

A row is a table and a family of models. The optimum of each objective is found first (which is no
part of the times): by linsep at a tiny tol, whose certificate is printed, or by a formula in long
double. Every model is held against the optimum of the objective that it minimises: LinearSVC and
liblinear penalise the intercept, as a weight of a constant column. Printed are the least seconds
and processor seconds of --runs fits, the length of the error of the weights relative to the
optimum's (of the scores where there are no weights), and on how many of the rows the predictions
differ. A fit that takes more than --limit seconds is not repeated.

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
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
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


def posts(folder):
    X, y = load_svmlight_file(str(folder / "20news/20news.train.counts.derived.svm.bz2"))
    return _narrow(TfidfTransformer().fit_transform(X)), y.astype(int)


def sms(folder):
    lines = (folder / "sms_spam/SMSSpamCollection").read_text(encoding="utf-8").splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines))
    return _narrow(TfidfVectorizer().fit_transform(texts)), np.array(labels)


def spambase(folder):
    table = np.loadtxt(folder / "uci_small/spambase.data", delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)


def spambase_scaled(folder):
    X, y = spambase(folder)
    return standardised(X), y


def breast(folder):
    return load_breast_cancer(return_X_y=True)


def breast_scaled(folder):
    X, y = breast(folder)
    return standardised(X), y


def digits(folder):
    return load_digits(return_X_y=True)


def golub(folder):
    return _frame(folder / "microarray/golub.derived.csv.gz", None)


def alon(folder):
    return _frame(folder / "microarray/alon.derived.csv.gz", None)


def satellite(folder):
    return _frame(folder / "mlbench/Satellite.derived.csv.gz")


def visual_words(folder):
    X, y = load_svmlight_file(str(folder / "office_caltech_surf/amazon.derived.svm.bz2"))
    return X.toarray(), y.astype(int)


def _frame(path, header="infer"):
    """Numbers, and labels in the column of words."""
    import pandas as pd

    table = pd.read_csv(path, header=header)
    words = next(c for c in table.columns if table[c].dtype.kind not in "iufb")
    y = table.pop(words).to_numpy().astype(str)
    return table.to_numpy(float), y


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


def rest(loss="squared_hinge"):
    """One machine for each class against the rest."""
    tight = linsep.LinearSVM(loss=loss, tol=1e-9)
    through = linsep.LinearSVM(loss=loss, tol=1e-9, fit_intercept=False)
    yield "linsep", linsep.LinearSVM(loss=loss), tight
    yield "LinearSVC", LinearSVC(loss=loss), Constant(through)


def rivals():
    """Crammer and Singer."""
    kind = "crammer-singer"
    tight = linsep.LinearSVM(multi_class=kind, tol=1e-8)
    through = linsep.LinearSVM(multi_class=kind, tol=1e-8, fit_intercept=False)
    yield "linsep", linsep.LinearSVM(multi_class=kind), tight
    yield "LinearSVC", LinearSVC(multi_class="crammer_singer"), Constant(through)


def kernel(C=1.0, **options):
    tight = linsep.KernelSVM(C, tol=1e-9, gamma="scale", **options)
    yield "linsep", linsep.KernelSVM(C, gamma="scale", **options), tight
    yield "SVC", SVC(C=C, **options), tight


def histograms():
    """Intersections of histograms, each class against the rest; SVC has duels and a matrix."""
    tight = linsep.AdditiveSVM(tol=1e-9)
    yield "linsep", linsep.AdditiveSVM(), tight
    yield "SVC", Rest(SVC(kernel=intersections)), tight


def intersections(A, B):
    return np.stack([np.minimum(a, B).sum(axis=1) for a in A])


class Rest:
    """A classifier of scikit-learn, one class against the rest."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        from sklearn.base import clone

        self.classes_ = np.unique(y)
        own = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.models = [clone(self.model).fit(X, y == c) for c in own]
        return self

    def decision_function(self, X):
        return np.column_stack([m.decision_function(X) for m in self.models])

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]


# -- formulas in long double -------------------------------------------------------------------


class Formula:
    """A model whose scores are known in closed form."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.solve(np.asarray(X, dtype=np.longdouble), y)
        return self

    def predict(self, X):
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores >= 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]


class Squares(Formula):
    """Least squares, or ridge: triangles by reflections, the columns centred."""

    def __init__(self, alpha=0.0):
        self.alpha = alpha

    def solve(self, X, y):
        T = np.where(y[:, None] == self.classes_, 1.0, -1.0)[
            :, 1 if len(self.classes_) == 2 else 0 :
        ]
        mean, aim = X.mean(axis=0), T.astype(np.longdouble).mean(axis=0)
        rows, T = X - mean, T - aim
        if self.alpha:
            rows = np.vstack([rows, np.sqrt(self.alpha) * np.eye(X.shape[1])])
            T = np.vstack([T, np.zeros((X.shape[1], T.shape[1]))])
        w = triangle(rows, T)
        self.coef_, self.intercept_ = w.T, aim - mean @ w

    def decision_function(self, X):
        scores = np.asarray(X, dtype=np.longdouble) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores


def triangle(A, B):
    """The least squares solution by Householder's reflections, in the arithmetic of A."""
    A, B = A.copy(), B.copy()
    d = A.shape[1]
    for j in range(d):
        v = A[j:, j].copy()
        v[0] += np.copysign(np.sqrt(v @ v), v[0])
        size = v @ v
        if size > 0:
            A[j:, j:] -= np.outer(v, 2 * (v @ A[j:, j:]) / size)
            B[j:] -= np.outer(v, 2 * (v @ B[j:]) / size)
    w = np.zeros((d, B.shape[1]), dtype=A.dtype)
    for j in range(d - 1, -1, -1):
        w[j] = (B[j] - A[j, j + 1 : d] @ w[j + 1 :]) / A[j, j]
    return w


class Gauss(Formula):
    """The most likely densities of the classes, with one covariance or one each."""

    def __init__(self, shared):
        self.shared = shared

    def solve(self, X, y):
        parts = [X[y == c] for c in self.classes_]
        self.means = [part.mean(axis=0) for part in parts]
        moments = [(part - m).T @ (part - m) for part, m in zip(parts, self.means)]
        if self.shared:
            self.covariances = [sum(moments) / len(X)] * len(parts)
        else:
            self.covariances = [m / len(part) for m, part in zip(moments, parts)]
        self.priors = [len(part) / len(X) for part in parts]

    def decision_function(self, X):
        logs = []
        for m, C, share in zip(self.means, self.covariances, self.priors):
            half = cholesky(C)
            z = forward(half, (np.asarray(X, dtype=np.longdouble) - m).T)
            logs.append(np.log(share) - np.log(np.diag(half)).sum() - (z * z).sum(axis=0) / 2)
        return logs[1] - logs[0] if len(logs) == 2 else np.column_stack(logs)


def cholesky(C):
    half = np.zeros_like(C)
    for j in range(len(C)):
        rest = C[j:, j] - half[j:, :j] @ half[j, :j]
        half[j:, j] = rest / np.sqrt(rest[0])
    return half


def forward(half, B):
    z = np.zeros_like(B)
    for j in range(len(half)):
        z[j] = (B[j] - half[j, :j] @ z[:j]) / half[j, j]
    return z


class Signs(LinearRegression):
    """LinearRegression of -1 and 1."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        own = np.where(y[:, None] == self.classes_, 1.0, -1.0)
        return super().fit(X, own[:, 1] if len(self.classes_) == 2 else own)

    def predict(self, X):
        scores = super().predict(X)
        if scores.ndim == 1:
            return self.classes_[(scores >= 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]


def squares():
    plain = Squares()
    yield "linsep", linsep.LeastSquares(), plain
    yield "LinearRegression", Signs(), plain
    yield "RidgeClassifier", RidgeClassifier(), Squares(1.0)


def gauss():
    shared, full = Gauss(True), Gauss(False)
    yield "linsep shared", linsep.GaussianClassifier(covariance="shared"), shared
    yield "LDA", LinearDiscriminantAnalysis(), shared
    yield "linsep full", linsep.GaussianClassifier(covariance="full"), full
    yield "QDA", QuadraticDiscriminantAnalysis(), full


ROWS = {
    "logistic rare": (rare, lambda: logistic(np.inf), None),
    "logistic adult": (adult, logistic, None),
    "logistic covtype": (covtype, logistic, None),
    "logistic news20": (news20, logistic, None),
    "logistic sms": (sms, logistic, None),
    "logistic spambase": (spambase, logistic, None),
    "logistic breast": (breast, logistic, None),
    "logistic golub": (golub, logistic, None),
    "softmax mnist": (mnist, softmax, 10_000),
    "softmax digits": (digits, softmax, None),
    "softmax satellite": (satellite, softmax, None),
    "softmax 20news": (posts, softmax, 4_000),
    "hinge adult": (adult, machine, None),
    "hinge a9a": (a9a, machine, None),
    "hinge news20": (news20, machine, None),
    "hinge sms": (sms, machine, None),
    "hinge spambase": (spambase_scaled, machine, None),
    "hinge breast": (breast_scaled, machine, None),
    "hinge golub": (golub, machine, None),
    "squared news20": (news20, lambda: machine("squared_hinge"), None),
    "squared covtype": (covtype, lambda: machine("squared_hinge"), 100_000),
    "squared spambase": (spambase_scaled, lambda: machine("squared_hinge"), None),
    "rest digits": (digits, rest, None),
    "rest 20news": (posts, rest, None),
    "rivals digits": (digits, rivals, None),
    "rivals satellite": (satellite, rivals, 2_000),
    "rbf a9a": (a9a, kernel, 10_000),
    "rbf adult": (adult, kernel, 10_000),
    "rbf spambase": (spambase_scaled, lambda: kernel(10.0), None),
    "rbf digits": (digits, kernel, None),
    "poly breast": (breast_scaled, lambda: kernel(kernel="poly"), None),
    "histograms surf": (visual_words, histograms, None),
    "histograms digits": (digits, histograms, None),
    "squares spambase": (spambase, squares, None),
    "squares breast": (breast, squares, None),
    "squares satellite": (satellite, squares, None),
    "gauss spambase": (spambase, gauss, None),
    "gauss breast": (breast, gauss, None),
    "gauss satellite": (satellite, gauss, None),
}


# -- one row -----------------------------------------------------------------------------------


def weights(model):
    """Weights of planes, less what is common to all classes, or None."""
    try:
        coef = model.coef_
    except AttributeError:
        return None
    coef = np.atleast_2d(coef.toarray() if scipy.sparse.issparse(coef) else coef)
    return coef - coef.mean(axis=0) if len(coef) > 2 else coef


def scores(model, X):
    """Scores, less what is common to all classes."""
    values = np.asarray(model.decision_function(X))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return values if values.ndim == 1 else values - values.mean(axis=1, keepdims=True)


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
            print(f"    optimum: {known(best)}", flush=True)
        best = optima[id(best)]
        if who.startswith("linsep"):
            model.fit(X, y)  # compiled
        try:
            wall, own = least_seconds(model, X, y, runs, limit)
        except (MemoryError, np.linalg.LinAlgError) as error:  # too large, or no inverse
            print(f"    {who:16} {error}", flush=True)
            continue
        what, found, other = "weights", weights(model), weights(best)
        if found is None or other is None:
            what, found, other = "scores", scores(model, X), scores(best, X)
        off = float(np.sqrt(((found - other) ** 2).sum() / (other**2).sum()))
        differ = int((model.predict(X) != best.predict(X)).sum())
        print(
            f"    {who:16} {wall:9.3f} s {own:9.3f} s processor   {what:7} {off:8.1e}"
            f"   predictions {differ:6d}",
            flush=True,
        )


def known(best):
    """How good the optimum is."""
    model = getattr(best, "model", best)
    if not hasattr(model, "certificate_"):
        return "by a formula in long double"
    return f"{model.status_.name}, within {model.certificate_.relative_gap:.1e}"


def least_seconds(model, X, y, runs, limit):
    """Seconds and processor seconds, of so many fits or of one beyond the limit."""
    wall = own = np.inf
    for _ in range(runs):
        begin, before = time.perf_counter(), time.process_time()
        model.fit(X, y)
        wall = min(wall, time.perf_counter() - begin)
        own = min(own, time.process_time() - before)
        if wall > limit:
            break
    return wall, own


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
