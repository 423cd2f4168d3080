"""AdditiveSVM against a Gram matrix plus SVC(kernel="precomputed"), at the same duality gap.

Both sides of a row run in one process, one after the other, so that a busy machine spoils ratios
little; ours counts the whole of fit, validation and proof included, compilation not. The peers'
Gram matrix is scipy's cdist (intersection) or scikit-learn's additive_chi2_kernel; its machines
are solved one for each class, with the loosest tolerance of 1e-3, 1e-4, 1e-5 whose duality gap,
computed from the Gram matrix, is at most 1e-3; only that run counts. Of more than 5000 rows the
Gram matrix is timed on 2000 and counted by the square of the number of rows, and one class is
solved for all; such figures are marked "est.", and the line says what was run. Beyond --largest
rows the machines are solved on --largest rows and counted by the square, too: less than they take.
Give names of rows to run only these.

    python benchmarks/additive_svm.py [--data FOLDER] [--largest ROWS] [row ...]
"""

from __future__ import annotations

import argparse
import gzip
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_svmlight_file
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.svm import SVC

import linsep

_WHOLE = 5000  # rows up to which the peers do everything
_PART = 2000  # rows whose Gram matrix is timed where there are more

warnings.simplefilter("ignore", linsep.errors.LinsepWarning)


# -- data --------------------------------------------------------------------------------------


def surf(folder):
    parts = [
        load_svmlight_file(
            str(folder / "office_caltech_surf" / f"{name}.derived.svm.bz2"), n_features=800
        )
        for name in ("amazon", "Caltech10")
    ]
    X = scipy.sparse.vstack([part[0] for part in parts]).tocsr()
    return X.toarray(), np.concatenate([part[1] for part in parts]).astype(int)


def mnist(folder, n):
    with gzip.open(folder / "mnist" / "train-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)[:n]
    with gzip.open(folder / "mnist" / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)[:n]
    return X.astype(np.float32) / 255, y


def one(load, label):
    def loaded(folder):
        X, y = load(folder)
        return X, np.where(y == label, 1, -1)

    return loaded


def images(n):
    return lambda folder: mnist(folder, n)


def real(n, d):
    """Thousands of distinct values in every feature."""

    def made(folder):
        rng = np.random.default_rng(0)
        X = rng.gamma(1.0, 1.0, (n, d))
        return X, np.where(np.sqrt(X[:, :10]).sum(1) > np.sqrt(X[:, 10:20]).sum(1), 1, -1)

    return made


def words(folder):
    """Like tf-idf: sparse rows of length 1, about 60 words, real values; 5 % wrong labels."""
    rng = np.random.default_rng(0)
    n, d, length = 20_000, 5000, 60
    y = rng.integers(0, 2, n)
    common = np.minimum(rng.zipf(1.3, (n, length)), d) - 1
    topic = (rng.integers(0, 400, (n, length)) * 2 + y[:, None]) % d
    column = np.where(rng.random((n, length)) < 0.15, topic, common)
    weight = rng.uniform(0.5, 1.5, d)[column]
    X = scipy.sparse.csr_matrix(
        (weight.ravel(), column.ravel(), np.arange(0, n * length + 1, length)), shape=(n, d)
    )
    X.sum_duplicates()
    X = X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))).tocsr()
    y = np.where(rng.random(n) < 0.05, 1 - y, y)
    return X, y


ROWS = {
    "surf, one class": (one(surf, 1), "intersection", 1.0),
    "surf, one class, chi2": (one(surf, 1), "chi2", 1.0),
    "surf, C=0.01": (one(surf, 1), "intersection", 0.01),
    "surf, 10 classes": (surf, "intersection", 0.01),
    "surf, 10 classes, chi2": (surf, "chi2", 0.01),
    "real values": (real(5000, 50), "intersection", 1.0),
    "real values, chi2": (real(5000, 50), "chi2", 1.0),
    "real 20000 x 100": (real(20_000, 100), "intersection", 1.0),
    "real 20000 x 100, chi2": (real(20_000, 100), "chi2", 1.0),
    "words 20000 x 5000": (words, "intersection", 1.0),
    "words 20000 x 5000, chi2": (words, "chi2", 1.0),
    "mnist 5000, 3 v rest": (one(images(5000), 3), "intersection", 1.0),
    "mnist 5000, 3 v rest, chi2": (one(images(5000), 3), "chi2", 1.0),
    "mnist 10000, 3 v rest": (one(images(10000), 3), "intersection", 1.0),
    "mnist 10000, 10 classes": (images(10000), "intersection", 1.0),
    "mnist 60000, 3 v rest": (one(images(60000), 3), "intersection", 1.0),
    "mnist 60000, 10 classes": (images(60000), "intersection", 1.0),
}


# -- measuring ---------------------------------------------------------------------------------


def gram(kernel, X):
    X = np.asarray(X, dtype=np.float64)
    sums = X.sum(axis=1)
    if kernel == "intersection":
        return 0.5 * (sums[:, None] + sums - cdist(X, X, "cityblock"))
    return 0.5 * (sums[:, None] + sums + additive_chi2_kernel(X))


def gap_of(K, sign, C, machine):
    """Relative duality gap of a fitted SVC."""
    beta = np.zeros(len(sign))
    beta[machine.support_] = machine.dual_coef_[0]
    score = K[:, machine.support_] @ beta[machine.support_]
    squared = float(beta @ score)
    loss = np.maximum(0.0, 1.0 - sign * (score + machine.intercept_[0])).sum()
    primal = 0.5 * squared + C * float(loss)
    return (primal - (np.abs(beta).sum() - 0.5 * squared)) / primal


def peer(kernel, C, X, y, largest):
    """Seconds of the Gram matrix and of all machines, and what was run if they are estimates."""
    n = len(y)
    X = X.toarray() if scipy.sparse.issparse(X) and n <= _WHOLE else X
    part = X if n <= _WHOLE else X[:_PART]
    part = part.toarray() if scipy.sparse.issparse(part) else part
    begin = time.perf_counter()
    K = gram(kernel, part)
    built = (time.perf_counter() - begin) * (n / len(part)) ** 2
    rows = min(n, largest)
    if len(part) < n:
        K, y = ours_gram(kernel, X[:rows]), y[:rows]
    classes = [y.max()] if len(np.unique(y)) == 2 else np.unique(y)
    some = classes if n <= _WHOLE else classes[len(classes) // 3 :][:1]
    solved = 0.0
    for label in some:
        sign = np.where(y == label, 1, -1)
        for tol in (1e-3, 1e-4, 1e-5):
            begin = time.perf_counter()
            machine = SVC(C=C, kernel="precomputed", cache_size=2000, tol=tol).fit(K, sign)
            took = time.perf_counter() - begin
            if gap_of(K, sign, C, machine) <= 1e-3:
                break
        solved += took
    solved *= len(classes) / len(some) * (n / rows) ** 2
    run = ""
    if len(part) < n:
        run = f"est. from a Gram matrix of {len(part)} rows"
        run += f" and SVC of {len(some)} of {len(classes)} classes on {rows} rows"
    return built, solved, run


def ours_gram(kernel, X):
    """Kernel values for the peers' machines alone, where theirs would take too long."""
    from linsep.kernels.additive import Levels
    from linsep.solvers.kernel.additive_rows import kernel_block

    rows = np.arange(X.shape[0])
    levels = Levels(
        X if scipy.sparse.issparse(X) else np.asarray(X),
        -np.inf if kernel == "intersection" else -1.0,
    )
    return kernel_block(levels, rows, rows, short=True).astype(np.float64)


def clock(function, runs):
    best = np.inf
    for _ in range(runs):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


def compare(name, folder, largest):
    load, kernel, C = ROWS[name]
    X, y = load(folder)
    model = linsep.AdditiveSVM(kernel, C=C, tol=1e-3)
    model.fit(X[:1500], y[:1500])  # compiles
    ours = clock(lambda: model.fit(X, y), 1 if len(y) >= 20_000 else 3)
    gap = model.certificate_.relative_gap
    predict = clock(lambda: model.predict(X), 1)
    line = f"{name:28} fit {ours:7.3f} s  gap {gap:.1e}  predict {predict:6.3f} s"
    if largest <= 0:
        print(line, f"  (a Gram matrix takes {8e-9 * len(y) ** 2:.1f} GB)", flush=True)
        return
    built, solved, run = peer(kernel, C, X, y, largest)
    ratio = (built + solved) / ours
    print(line, f"  Gram {built:.2f} + SVC {solved:.2f} s  ratio {ratio:.1f} {run}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument(
        "--largest",
        type=int,
        default=10_000,
        help="rows of the peers' machines, at most; 0: no peers",
    )
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    if not options.data.exists():
        print(f"no data in {options.data}: nothing to measure")
        return
    for name in ROWS:
        if not options.rows or any(word in name for word in options.rows):
            compare(name, options.data, options.largest)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"peak memory of this process {peak} MB, the peers' Gram matrices included")


if __name__ == "__main__":
    main()
