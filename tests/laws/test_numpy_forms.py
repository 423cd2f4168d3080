"""A routine that has a form in operations on arrays: every bit of it is that of the loop."""

from __future__ import annotations

import copy
import importlib
import pkgutil
import warnings

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.compile import Routine
from linsep.kernels import additive, blocks, gaussian
from linsep.rows import loops, softmax
from linsep.rows.levels import draw as chosen
from linsep.solvers.kernel import additive_rows, working_set

MOST = 1_000_000  # entries that the loop of a call may touch here
CALLS = 4  # of each routine and each kind of arguments


def routines():
    found = {}
    for module in pkgutil.walk_packages(linsep.__path__, "linsep."):
        if module.name.startswith(("linsep.kernels", "linsep.solvers", "linsep.rows")):
            for one in vars(importlib.import_module(module.name)).values():
                if isinstance(one, Routine) and one.plain is not one.python:
                    found[f"{one.python.__module__}.{one.__name__}"] = one
    return found


FORMS = routines()


def arrays(values):
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from arrays(value)


def bits(values):
    """-0 and 0 are one number: which of them is the least of several is left open."""
    return [(a.shape, a.dtype, (a + 0 if a.dtype.kind == "f" else a).tobytes()) for a in values]


@pytest.fixture
def both(monkeypatch):
    """Every call is made in both forms."""
    counts, met = {}, set()

    def call(self, *args, size, work, alike=False):
        name = f"{self.python.__module__}.{self.__name__}"
        if name not in FORMS:
            return self.python(*args) if work < 3e4 else before(self, *args, size=size, work=work)
        kind = name, tuple(a.dtype.char + str(a.ndim) for a in arrays(args))
        if counts.get(kind, 0) >= CALLS or work > MOST:
            return self.plain(*args)
        counts[kind] = counts.get(kind, 0) + 1
        met.add(name)
        twin = copy.deepcopy(args)
        found, wanted = self.plain(*args), self.python(*twin)
        assert np.array_equal(found, wanted), name
        scratch = {
            "intersection_columns": {6}, "solve_block": {7}, "block_bytes": {5}, "add_tile": {2},
            "add_gaussians": {0, 2}, "solve_in_sets": set(range(7, 15)), "moments": {9},
            "spread": {9}, "add_nodes": {8},
        }  # fmt: skip
        left_out = scratch.get(self.__name__, set())
        mine, theirs = (
            [a for k, a in enumerate(some) if k not in left_out] for some in (args, twin)
        )
        assert bits(arrays(mine)) == bits(arrays(theirs)), name
        return found

    before = Routine.__call__
    monkeypatch.setattr(Routine, "__call__", call)
    return met


def rows(n, d, seed=0):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d))
    return X, (X[:, 0] * X[:, 1] + 0.3 * draw.normal(size=n) > 0).astype(int)


def words(n, d, seed=0):
    draw = np.random.default_rng(seed)
    X = scipy.sparse.random(n, d, 0.05, "csr", random_state=seed)
    X.data = np.ceil(5 * X.data)
    return X, np.asarray(X.sum(axis=1)).ravel() + draw.normal(size=n) > 0.15 * d


X, y = rows(180, 5)
POSITIVE = np.abs(X) + 0.01
FITS = {
    "rbf": lambda: linsep.KernelSVM(C=10.0).fit(X, y),
    "rbf float32": lambda: linsep.KernelSVM(C=10.0).fit(X.astype(np.float32), y),
    "rbf wide": lambda: linsep.KernelSVM().fit(*rows(180, 200)),
    "poly": lambda: linsep.KernelSVM(kernel="poly", C=1e3).fit(X, y),
    "hard margin": lambda: linsep.KernelSVM(kernel="rbf", C=np.inf).fit(X[:60], y[:60]),
    "intersection": lambda: linsep.AdditiveSVM(C=10.0).fit(POSITIVE, y),
    "one row more": lambda: linsep.AdditiveSVM().fit(np.abs(rows(1025, 3)[0]), rows(1025, 3)[1]),
    "counts": lambda: linsep.AdditiveSVM().fit(np.floor(4 * POSITIVE), y),
    "harmonic": lambda: linsep.AdditiveSVM(kernel="chi2").fit(POSITIVE, y),
    "three classes": lambda: linsep.AdditiveSVM().fit(POSITIVE, y + (X[:, 2] > 1)),
    "sparse": lambda: linsep.AdditiveSVM().fit(*words(200, 60)),
}


def in_sets(K, draw, m=64):
    """Arguments for a set that is worked on in sets of m rows; some rows are padding."""
    q = len(K)
    sign = np.where(draw.random(q) < 0.5, -1.0, 1.0) * (np.arange(q) < q - 7)
    rows = [np.zeros(m, dtype=np.int64) for _ in range(2)]
    room = np.zeros((m, m), K.dtype), np.zeros(q, bool), np.zeros((2, q)), np.zeros((4, m))
    cost = np.where(draw.random(q) < 0.5, 0.1, 1.0)
    return (K, sign, cost, np.zeros(q), -sign, 1e-2, 400, rows[0], *room, np.zeros((6, m)), rows[1],
            np.zeros(m))  # fmt: skip


def calls():
    """Those that fits of this size do not come to."""
    draw = np.random.default_rng(5)
    G = draw.normal(size=(70, 70))
    G += G.T
    at = draw.permutation(70)[:37]
    yield gaussian.mirror, G[:20, :33].copy(), np.zeros((80, 80)), 3, 40
    yield gaussian.gaussians, (150 * draw.normal(size=(40, 33))).astype(np.float32)
    yield working_set.square_of, G, at, at, np.empty((37, 37))
    for kind in (np.float32, np.float64):
        X, R = draw.normal(size=(29, 6)).astype(kind), draw.normal(size=(3, 29)).astype(kind)
        yield softmax.combine_dense, X, R, 2, 29, np.zeros((3, 6), kind)
    wide = draw.normal(size=(5, 203))
    yield loops.dense_squares, wide, 0, 5, 4, np.zeros(5), np.zeros(203)
    levels = additive.Levels(np.floor(3 * draw.random((50, 9))), -np.inf)
    H, some = draw.normal(size=len(levels.values)), draw.permutation(50)[:21]
    yield additive.sum_entries, levels.indptr, levels.slot, H, some, np.empty(21)
    entry = draw.integers(0, 256, levels.nnz).astype(np.uint8)
    Z = draw.integers(0, 256, (9, 50)).astype(np.uint8)
    total = np.empty(50, dtype=np.uint16)
    lines = np.empty((21, 50), dtype=np.float32)
    yield additive_rows.block_bytes, levels.indptr, levels.column, entry, some, Z, total, lines
    for kind, cut in ((np.float32, 21), (np.float64, 0), (np.float32, 60), (np.float64, 16)):
        T, coef = -3 * draw.random((48, 33)).astype(kind), draw.normal(size=48).astype(kind)
        for add in (gaussian.add_tile, gaussian.add_gaussians)[: 1 if kind is np.float64 else 2]:
            yield add, T.copy(), coef, np.empty(33, kind), np.zeros(33), np.zeros(33), cut
        some = draw.permutation(70)[: 8 + cut]
        yield blocks.add_rows, np.zeros(30), G.astype(kind), some, draw.normal(size=8 + cut), 5, 35
        large = np.exp(-((draw.normal(size=(640, 1)) - draw.normal(size=640)) ** 2))
        yield (working_set.solve_in_sets, *in_sets((large + large.T).astype(kind), draw))
    for n, d, kind in ((70, 9, np.float64), (33, 1, np.float32), (5, 17, np.float64), (64, 8, int)):
        table, sizes = (9 * draw.normal(size=(n, d))).astype(kind), np.zeros(n)
        yield loops.dense_squares, table, 1, n, 32, sizes, draw.random(d)
    lengths, weight = draw.random(500), draw.random(500) * (np.arange(500) % 7 > 0)
    for lo, hi, limit in ((0, 500, 90.0), (3, 4, 1e9), (17, 480, 0.0)):
        room = np.zeros(500, np.int64), np.zeros(500), np.zeros(500)
        yield chosen, lengths, weight, lo, hi, 1e-3, 2e-3, np.uint64(2**64 - 9), limit, *room
    q = 32
    for bad in (np.nan, np.inf, 1e308):  # the loop passes over rows that have overflown
        half = draw.normal(size=(q, q))
        K = half @ half.T
        K[3, :] = K[:, 3] = bad
        sign, cost, f = np.where(np.arange(q) % 2, 1.0, -1.0), np.full(q, 2.0), draw.normal(size=q)
        yield working_set.solve_block, K, sign, cost, np.zeros(q), f, 1e-9, 200, np.empty((6, q))


def test_every_form_has_the_bits_of_its_loop(both):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for fit in FITS.values():
            fit()
        for one, *args in calls():
            one(*args, size=1, work=1)
    assert both == set(FORMS)


def test_one_form_that_differs_is_noticed(both, monkeypatch):
    monkeypatch.setattr(gaussian.mirror, "plain", lambda T, G, lo, at: None)
    with pytest.raises(AssertionError, match="mirror"):
        gaussian.mirror(np.ones((2, 2)), np.zeros((4, 4)), 0, 2, size=1, work=1)
