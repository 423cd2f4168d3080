"""KernelSVM against SVC of scikit-learn, SVC of scikit-learn-intelex and LIBSVM itself, RBF kernel.

All sides of a row run in one process, in turn, with the same kernel and C; the least time of a few
runs counts. Ours counts the whole of fit, validation and proof included, compilation not;
``solve`` is the part of it until the solver's own gap, from float32 kernel values, is small enough:
``outcome_.seconds`` and ``outcome_.state.gap`` of the fitted model.
A peer runs with the loosest tol of a ladder whose proved gap is at most 1e-3, as ours is (the
proof of the peers is ``linsep.certify``), where ROWS has it; ``--ladder`` looks for it. Peers that
are not installed are left out. A row of the table is one call, since some peers take a minute.
``--given`` times machines on a Gram matrix that is there already, ``--memory`` the largest amount
that a fit takes beyond the data, in a process of its own.

    python benchmarks/kernel_svm.py [--data FOLDER] [--runs N] [--peers NAME ...] [row ...]
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC

import linsep

warnings.simplefilter("ignore", linsep.errors.LinsepWarning)

GAP = 1e-3
LADDER = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4)


# -- data --------------------------------------------------------------------------------------


def synthetic(folder, n=12_000):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n + 3000, 50)), rng.normal(size=50)
    noise = 0.3 * rng.normal(size=n + 3000)
    y = np.where(np.sin(0.3 * X @ w) + noise > 0, 1, -1)
    return X[:n], y[:n], X[n:]


def svmlight(folder, name, test, width, sparse=False):
    X, y = load_svmlight_file(str(folder / name), n_features=width)
    new, _ = load_svmlight_file(str(folder / test), n_features=width)
    new.indices, new.indptr = new.indices.astype(np.int32), new.indptr.astype(np.int32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    if not sparse:
        X, new = np.ascontiguousarray(X.toarray()), np.ascontiguousarray(new.toarray())
    return X, np.where(y > 0, 1, -1), new


def images(folder, kind, n):
    with gzip.open(folder / "mnist" / f"{kind}-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)[:n]
    with gzip.open(folder / "mnist" / f"{kind}-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)[:n]
    return X / 255.0, y.astype(int)


def mnist(folder, n=15_000):
    X, y = images(folder, "train", n)
    return X, y, images(folder, "t10k", n)[0]


def a9a(folder):
    return svmlight(folder, "a9a/a9a", "a9a/a9a.t", 123, sparse=True)


def ijcnn1(folder):
    X, y, new = svmlight(folder, "ijcnn1/ijcnn1.trn.bz2", "ijcnn1/ijcnn1.tst.bz2", 22)
    return X, y, new[:20_000]


# Settings, and the loosest tol of the ladder with a gap of at most 1e-3, of the peers for which it
# was looked for. All others run with tol=1e-3; the gap in the line of each peer says what it gives.
ROWS = {
    "3000 x 50": (lambda f: synthetic(f, 3000), {"C": 1.0, "gamma": 1 / 50}, {}),
    "12000 x 50": (
        synthetic,
        {"C": 1.0, "gamma": 1 / 50},
        {"SVC": 0.02, "sklearnex": 0.02, "libsvm": 0.02},
    ),
    "12000 x 50, C=10": (synthetic, {"C": 10.0, "gamma": 1 / 50}, {}),
    "a9a": (a9a, {"C": 1.0, "gamma": 1 / 123}, {"SVC": 0.1, "sklearnex": 0.1, "libsvm": 0.1}),
    "ijcnn1": (ijcnn1, {"C": 32.0, "gamma": 2.0}, {"sklearnex": 0.005}),
    "mnist": (mnist, {"C": 10.0, "gamma": 0.02}, {"sklearnex": 1e-4}),
}


# -- peers -------------------------------------------------------------------------------------


class Official:
    """LIBSVM's own bindings in the shape of SVC, for rows whose classes first appear in order."""

    def __init__(self, C, gamma, tol):
        self.C, self.gamma, self.tol = C, gamma, tol

    def fit(self, nodes, y):
        from libsvm import svmutil

        words = f"-t 2 -q -m 2000 -c {self.C!r} -g {self.gamma!r} -e {self.tol!r}"
        self.model = svmutil.svm_train(nodes, words)
        return self

    def as_svc(self, X, y):
        """The same machine as an SVC that linsep.certify understands."""
        K, rows = self.model.get_nr_class(), np.array(self.model.get_sv_indices()) - 1
        svc = SVC(C=self.C, gamma=self.gamma)
        svc.classes_, svc._gamma = np.unique(y), self.gamma
        labels = self.model.get_labels()
        if K > 2 and labels != svc.classes_.tolist():
            raise ValueError("the classes do not appear in order")
        # of two classes SVC gives the second one positive values, LIBSVM its first one
        side = -1.0 if K == 2 and labels[0] == svc.classes_[0] else 1.0
        svc.support_, svc.support_vectors_ = rows, X[rows]
        svc._dual_coef_ = svc.dual_coef_ = side * np.array(self.model.get_sv_coef()).T
        rho = np.array([self.model.rho[k] for k in range(K * (K - 1) // 2)])
        svc._intercept_ = svc.intercept_ = -side * rho
        svc._n_support = np.bincount(np.searchsorted(svc.classes_, y[rows]), minlength=K)
        return svc


def peers_of(X, y, wanted):
    """By name: how to make it, and the rows in the format it takes."""
    found = {"SVC": (lambda **s: SVC(**s, cache_size=2000), X)}
    if importlib.util.find_spec("sklearnex"):
        from sklearnex.svm import SVC as Intel

        # dense rows are much faster with it
        found["sklearnex"] = (lambda **s: Intel(**s, cache_size=2000), dense(X))
    if importlib.util.find_spec("libsvm"):
        from libsvm import svm

        nodes = svm.svm_problem(y.astype(float), scipy.sparse.csr_matrix(X))
        found["libsvm"] = (Official, nodes)
    missing = [name for name in wanted if name not in found]
    if missing:
        print(f"not installed: {', '.join(missing)}")
    return {name: found[name] for name in wanted if name in found}


def dense(X):
    return X.toarray() if scipy.sparse.issparse(X) else X


def gap_of(model, X, y):
    model = model.as_svc(X, y) if isinstance(model, Official) else model
    return linsep.certify(model, X, y).relative_gap


# -- rows --------------------------------------------------------------------------------------


def prepared(name, folder):
    """The row's data, with a first row of each class in front: LIBSVM numbers them like that."""
    make, settings, tols = ROWS[name]
    X, y, new = make(folder)
    first = [int(np.flatnonzero(y == c)[0]) for c in np.unique(y)]
    order = np.concatenate([first, np.setdiff1d(np.arange(len(y)), first)])
    return X[order], y[order], new, settings, tols


def clock(function, *args):
    begin = time.perf_counter()
    out = function(*args)
    return time.perf_counter() - begin, out


def ladder(name, folder, wanted):
    """For each peer the loosest tol with a gap of at most 1e-3."""
    X, y, _, settings, _ = prepared(name, folder)
    for peer, (make, rows) in peers_of(X, y, wanted).items():
        for tol in LADDER:
            seconds, model = clock(make(**settings, tol=tol).fit, rows, y)
            gap = gap_of(model, X, y)
            print(f"{name:18} {peer:10} tol {tol:<6g} {seconds:7.2f} s, gap {gap:.1e}", flush=True)
            if gap <= GAP:
                break


def compare(name, folder, runs, wanted):
    X, y, new, settings, tols = prepared(name, folder)
    small = np.unique(np.concatenate([np.arange(len(np.unique(y))), np.arange(0, len(y), 4)]))
    linsep.KernelSVM(**settings, memory=5.0).fit(X[small], y[small])  # compiles
    linsep.KernelSVM(**settings).fit(X[small], y[small]).predict(new[:100])
    peers = peers_of(X, y, wanted)
    fits = dict.fromkeys(("ours", *peers), np.inf)
    calls, models, solve = dict(fits), {}, np.inf
    for _ in range(runs):
        seconds, model = clock(linsep.KernelSVM(**settings, tol=GAP).fit, X, y)
        fits["ours"] = min(fits["ours"], seconds)
        calls["ours"] = min(calls["ours"], clock(model.predict, new)[0])
        models["ours"], solve = model, min(solve, model.outcome_.seconds)
        for peer, (make, rows) in peers.items():
            if fits[peer] < np.inf and fits[peer] > 10:
                continue  # one run of a slow peer is enough
            other = make(**settings, tol=tols.get(peer, GAP))
            seconds, models[peer] = clock(other.fit, rows, y)
            fits[peer] = min(fits[peer], seconds)
            if hasattr(other, "predict"):
                given = new if rows is X else dense(new)
                calls[peer] = min(calls[peer], clock(other.predict, given)[0])
    model = models["ours"]
    print(f"{name}: {X.shape[0]} x {X.shape[1]}, {len(np.unique(y))} classes, "
          f"{len(model.support_)} support vectors; predict {new.shape[0]} rows")  # fmt: skip
    print(f"  {'ours':10} fit {fits['ours']:7.2f} s (solve {solve:.2f} s), "
          f"gap {model.certificate_.relative_gap:.1e}; predict {calls['ours']:.3f} s")  # fmt: skip
    for peer in peers:
        gap = gap_of(models[peer], X, y)
        line = (
            f"  {peer:10} fit {fits[peer]:7.2f} s, gap {gap:.1e}: {fits[peer] / fits['ours']:.1f} x"
        )
        line += f" (solve {fits[peer] / solve:.1f} x)"
        if np.isfinite(calls[peer]):
            line += f"; predict {calls[peer]:.3f} s: {calls[peer] / calls['ours']:.1f} x"
        print(line, flush=True)


# -- a Gram matrix that is given ---------------------------------------------------------------


def given(folder, runs):
    """One class against the rest on Gram matrices of the intersection kernel."""
    import additive_svm

    sets = {
        "surf, C=0.01": (additive_svm.surf, 0.01, 1),
        "surf, C=1": (additive_svm.surf, 1.0, 1),
        "mnist 5000": (lambda f: additive_svm.mnist(f, 5000), 1.0, 3),
        "mnist 10000": (lambda f: additive_svm.mnist(f, 10_000), 1.0, 3),
    }
    for name, (load, C, label) in sets.items():
        X, y = load(folder)
        K, sign = additive_svm.ours_gram("intersection", X), np.where(y == label, 1, -1)
        linsep.KernelSVM(C, kernel="precomputed").fit(K, sign)  # compiles
        ours = theirs = solve = np.inf
        for _ in range(runs):
            seconds, model = clock(linsep.KernelSVM(C, kernel="precomputed").fit, K, sign)
            ours, solve = min(ours, seconds), min(solve, model.outcome_.seconds)
            for tol in (1e-3, 1e-4, 1e-5):
                svc = SVC(C=C, kernel="precomputed", cache_size=2000, tol=tol)
                seconds, _ = clock(svc.fit, K, sign)
                if additive_svm.gap_of(K, sign, C, svc) <= GAP:
                    break
            theirs = min(theirs, seconds)
        print(f"Gram given, {name:14} ours {ours:.3f} s (solve {solve:.3f} s, "
              f"gap {model.certificate_.relative_gap:.1e}), SVC {theirs:.3f} s: "
              f"{theirs / ours:.1f} x (solve {theirs / solve:.1f} x)", flush=True)  # fmt: skip


# -- memory ------------------------------------------------------------------------------------

_PEAK = """
import sys, resource, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
from pathlib import Path
import kernel_svm, linsep
X, y, _, settings, _ = kernel_svm.prepared(sys.argv[2], Path(sys.argv[3]))
linsep.KernelSVM(**settings, memory=5.0).fit(X[::8], y[::8])
open("/proc/self/clear_refs", "w").write("5")
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
model = linsep.KernelSVM(**settings, memory=float(sys.argv[4])).fit(X, y)
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1]
size = X.nbytes if hasattr(X, "nbytes") else X.data.nbytes + X.indices.nbytes
print((int(peak) * 1024 - before) / 1e6, size / 1e6)
"""


def peak_memory(name, folder):
    """Megabytes of a fit beyond the data, for two limits of Gram matrices."""
    for limit in (100.0, 1000.0):
        done = subprocess.run(
            [sys.executable, "-c", _PEAK, Path(__file__).parent, name, folder, str(limit)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            print(f"{name}: {done.stderr.strip()[-200:]}")
            continue
        more, data = (float(word) for word in done.stdout.split())
        print(f"{name:12} memory={limit:.0f} MB: a fit takes {more:.0f} MB beyond the data "
              f"({data:.0f} MB)", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--peers", nargs="*", default=["SVC", "sklearnex", "libsvm"])
    parser.add_argument("--ladder", action="store_true", help="look for the peers' tol")
    parser.add_argument("--given", action="store_true", help="machines on a Gram matrix")
    parser.add_argument("--memory", action="store_true", help="the largest amount a fit takes")
    args = parser.parse_args()
    if args.given:
        given(args.data, args.runs)
        return
    for name in args.rows or ROWS:
        if args.memory:
            peak_memory(name, args.data)
        elif args.ladder:
            ladder(name, args.data, args.peers)
        else:
            compare(name, args.data, args.runs, args.peers)


if __name__ == "__main__":
    main()
