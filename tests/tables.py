"""The tables behind the laws: every solver on every problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

import linsep
from linsep.core.problem import Problem
from linsep.solvers.hulls.cone import NearestCone
from linsep.solvers.hulls.exact import ExactHulls
from linsep.solvers.hulls.kozinec import Kozinec
from linsep.solvers.hulls.nearest import NearestHulls
from linsep.solvers.perceptron.batch import Batch
from linsep.solvers.perceptron.single import SingleSample
from linsep.solvers.schedule import Schedule

SOLVERS: dict[str, Any] = {
    "cyclic": SingleSample(),
    "cyclic, strict": SingleSample(strict=True),
    "clean pass": SingleSample(stop="clean-pass"),
    "shuffle, pocket": SingleSample(order="shuffle", keep="pocket", patience=20, seed=3),
    "random, average": SingleSample(order="random", keep="average", seed=4),
    "restart": SingleSample(order="restart"),
    "inverse rate": SingleSample(schedule=Schedule(1.0, "inverse")),
    "bound": SingleSample(min_margin=0.05),
    "pocket, few errors": SingleSample(keep="pocket", target_errors=1.0),
    "batch": Batch(),
    "batch, few errors": Batch(keep="pocket", target_errors=1.0),
    "batch, pocket": Batch(keep="pocket", patience=50),
    "worst": Batch(worst=True, keep="average"),
    "kozinec": Kozinec(eps=1e-3),
    "kozinec, augmented": Kozinec(eps=1e-3, space="augmented"),
    "kozinec, plain": Kozinec(eps=None, steps="plain"),
    "kozinec, plain, eps": Kozinec(eps=0.05, space="augmented", steps="plain"),
    "nearest hulls": NearestHulls(),
    "nearest hulls, tol": NearestHulls(tol=1e-6),
    "nearest cone": NearestCone(batch=2),
    "exact hulls": ExactHulls(),
    "exact hulls, first": ExactHulls(tol=None),
    "exact cone": ExactHulls("cone"),
}


def _lecture(name: str) -> tuple[Any, Any]:
    table = linsep.data.load(name)
    return table.X, table.y


def _blobs(n: int, d: int, distance: float, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    middles = rng.normal(size=(classes, d))
    middles *= distance / np.linalg.norm(middles, axis=1, keepdims=True)
    return middles[y] + rng.normal(size=(n, d)), y


def _wide() -> tuple[Any, Any]:
    return _blobs(12, 40, 1.0, seed=5)


def _with_duplicates() -> tuple[Any, Any]:
    X, y = _blobs(10, 2, 4.0, seed=6)
    X, y = np.vstack([X, X, np.zeros((1, 2))]), np.concatenate([y, y, [0]])
    return np.column_stack([X, np.ones(len(X))]), y


PROBLEMS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "students": lambda: _lecture("students"),
    "five points": lambda: _lecture("five-points"),
    "xor": lambda: _lecture("xor-01"),
    "separable": lambda: _blobs(40, 3, 5.0),
    "overlapping": lambda: _blobs(30, 3, 0.5),
    "wide": _wide,
    "duplicates": _with_duplicates,
    "three classes": lambda: _blobs(24, 3, 6.0, classes=3, seed=2),
    "four classes, overlapping": lambda: _blobs(20, 2, 0.5, classes=4, seed=2),
}

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C float64": lambda X: np.ascontiguousarray(X, dtype=np.float64),
    "F float64": lambda X: np.asfortranarray(X, dtype=np.float64),
    "CSR": scipy.sparse.csr_array,
    "CSR, 64-bit indices": lambda X: _long_indices(scipy.sparse.csr_array(X)),
    "CSC": scipy.sparse.csc_array,
}


def _long_indices(X: Any) -> Any:
    return scipy.sparse.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )


def problem(name: str, **options: Any) -> Problem:
    """A fresh problem of the table."""
    X, y = PROBLEMS[name]()
    return Problem(X, y, **options)
