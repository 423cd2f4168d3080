"""KernelSVM against scikit-learn's SVC (LIBSVM): time of fit and predict, and the proved gaps.

Both sides of a row run in one process, one after the other, with the same kernel and C; the least
time of a few runs counts. Ours counts the whole of fit, validation and proof included, compilation
not. The gap of the peer is proved by ``linsep.certify``. Give the names of rows to run only these.

    python benchmarks/kernel_svm.py [--data FOLDER] [--runs N] [row ...]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC

import linsep

warnings.simplefilter("ignore", linsep.errors.LinsepWarning)


def synthetic(folder, n=12_000):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, 50)), rng.normal(size=50)
    noise = 0.3 * rng.normal(size=n)
    return X, np.where(np.sin(0.3 * X @ w) + noise > 0, 1, -1)


def svmlight(folder, name):
    X, y = load_svmlight_file(str(folder / name))
    return np.ascontiguousarray(X.toarray()), np.where(y > 0, 1, -1)


ROWS = {
    "3000 x 50": (lambda f: synthetic(f, 3000), {"C": 1.0, "gamma": 1 / 50}),
    "12000 x 50": (synthetic, {"C": 1.0, "gamma": 1 / 50}),
    "12000 x 50, C=10": (synthetic, {"C": 10.0, "gamma": 1 / 50}),
    "a9a": (lambda f: svmlight(f, "a9a/a9a"), {"C": 1.0, "gamma": 1 / 123}),
    "ijcnn1": (lambda f: svmlight(f, "ijcnn1/ijcnn1.trn.bz2"), {"C": 32.0, "gamma": 2.0}),
}


def clock(function, runs):
    best, out = np.inf, None
    for _ in range(runs):
        begin = time.perf_counter()
        out = function()
        best = min(best, time.perf_counter() - begin)
    return best, out


def compare(name, folder, runs):
    make, settings = ROWS[name]
    X, y = make(folder)
    small = slice(0, 3500)
    linsep.KernelSVM(**settings, memory=5.0).fit(X[small], y[small])  # compiles
    linsep.KernelSVM(**settings).fit(X[small], y[small])
    ours, model = clock(lambda: linsep.KernelSVM(**settings).fit(X, y), runs)
    peer, other = clock(lambda: SVC(**settings, cache_size=2000).fit(X, y), 1)
    gap = linsep.certify(other, X, y).relative_gap
    new = X[:5000]
    ours_predict, _ = clock(lambda: model.predict(new), runs)
    peer_predict, _ = clock(lambda: other.predict(new), 1)
    print(
        f"{name:18} {X.shape[0]:6d} x {X.shape[1]:<4d} fit {ours:7.2f} s (gap "
        f"{model.certificate_.relative_gap:.1e}) SVC {peer:7.2f} s (gap {gap:.1e})  "
        f"{peer / ours:5.1f} x; predict {ours_predict:.2f} s, SVC {peer_predict:.2f} s, "
        f"{peer_predict / ours_predict:.1f} x"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--runs", type=int, default=2)
    args = parser.parse_args()
    for name in args.rows or ROWS:
        compare(name, args.data, args.runs)


if __name__ == "__main__":
    main()
