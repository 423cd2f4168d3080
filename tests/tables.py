"""The tables behind the laws: every solver on problems that it can take.

A new solver is one more line here; a law fails when a solver class of the source is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

import linsep
from linsep.core.parts import Stream
from linsep.core.problem import Problem
from linsep.kernels import RBF, Intersection, Linear, PowerMean
from linsep.losses.hinge import HINGE as HINGE_LOSS
from linsep.losses.hinge import SQUARED_HINGE
from linsep.rows.parts import PartsProblem, looked_at
from linsep.solvers.descent import GradientDescent
from linsep.solvers.hinge.crammer_singer import CrammerSinger
from linsep.solvers.hinge.dual_cd import DualCD
from linsep.solvers.hinge.interior import InteriorHinge
from linsep.solvers.hinge.newton import NewtonHinge
from linsep.solvers.hinge.newton_machine import NewtonMachine
from linsep.solvers.hinge.proximal import ProximalNewton
from linsep.solvers.hinge.wide import WideHinge
from linsep.solvers.hulls.exact import ExactHulls
from linsep.solvers.hulls.kozinec import Kozinec
from linsep.solvers.hulls.nearest import NearestCone, NearestHulls
from linsep.solvers.kernel.cost_search import CostSearch
from linsep.solvers.kernel.lifted import InFeatureSpace
from linsep.solvers.kernel.smo import SMO
from linsep.solvers.logistic.conjugate import LogisticCG
from linsep.solvers.logistic.gradient import GradientAscent
from linsep.solvers.logistic.newton import NewtonLogistic
from linsep.solvers.logistic.softmax import NewtonSoftmax
from linsep.solvers.one_vs_rest import OneVsRest
from linsep.solvers.parts import HingeForm, LogisticForm, NewtonParts, WideParts
from linsep.solvers.perceptron.batch import Batch
from linsep.solvers.perceptron.kernel import KernelMistakes
from linsep.solvers.perceptron.single import SingleInParts, SingleSample
from linsep.solvers.schedule import Schedule
from linsep.solvers.squares.conjugate import ConjugateSquares
from linsep.solvers.squares.gradient import GradientSquares
from linsep.solvers.squares.ho_kashyap import HoKashyap
from linsep.solvers.squares.normal import ExactSquares, RidgeSquares, SquaresParts
from linsep.solvers.squares.widrow_hoff import WidrowHoff

INF = float("inf")


def bowl(x: Any) -> float:
    """A function to descend."""
    return float((x - 3.0) ** 2 + 0.1 * x**4)


# -- solvers --------------------------------------------------------------------------------

PLANES: dict[str, Any] = {
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

SQUARES: dict[str, Any] = {
    "exact squares": ExactSquares(),
    "ridge squares": RidgeSquares(C=2.0),
    "conjugate squares": ConjugateSquares(),
    "gradient squares": GradientSquares(),
    "gradient squares, inverse": GradientSquares(Schedule(1.0, "inverse")),
    "gradient squares, too fast": GradientSquares(Schedule(10.0), auto=False),
    "widrow-hoff": WidrowHoff(),
    "widrow-hoff, shuffle": WidrowHoff(order="shuffle", seed=3),
    "widrow-hoff, constant": WidrowHoff(slow=False),
    "widrow-hoff, inverse": WidrowHoff(Schedule(1.0, "inverse"), slow=False),
}
ADAPTING: dict[str, Any] = {"ho-kashyap": HoKashyap()}
HINGE: dict[str, Any] = {
    "newton": NewtonHinge(C=1.0),
    "newton, tight": NewtonHinge(C=10.0, tol=1e-8),
    "newton, squared": NewtonHinge(C=1.0, loss=SQUARED_HINGE),
    "dual-cd": DualCD(C=1.0, seed=3),
    "dual-cd, squared": DualCD(C=1.0, loss=SQUARED_HINGE),
    "interior": InteriorHinge(C=1.0),
    "interior, tight": InteriorHinge(C=100.0, tol=1e-8),
    "interior, squared": InteriorHinge(C=1.0, loss=SQUARED_HINGE, tol=1e-6),
    "proximal": ProximalNewton(C=10.0, sweeps=3),
    "proximal, squared": ProximalNewton(C=1.0, sweeps=2, loss=SQUARED_HINGE),
    "wide": WideHinge(C=10.0, sweeps=3),
    "wide, squared": WideHinge(C=1.0, tol=1e-6, loss=SQUARED_HINGE),
}
MACHINES: dict[str, Any] = {
    "crammer-singer": CrammerSinger(C=1.0),
    "newton machine": NewtonMachine(C=1.0),
    "newton machine, tight": NewtonMachine(C=100.0, tol=1e-6),
    "one-vs-rest": OneVsRest(DualCD(C=1.0, seed=2)),
    "one-vs-rest, newton": OneVsRest(NewtonHinge(C=1.0)),
    "one-vs-rest, interior": OneVsRest(InteriorHinge(C=1.0)),
    "one-vs-rest, wide": OneVsRest(WideHinge(C=1.0, sweeps=2)),
    "softmax": NewtonSoftmax(),
    "softmax, tight": NewtonSoftmax(C=10.0, tol=1e-9),
    "softmax, reference": NewtonSoftmax(reference=1),
    "softmax, likelihood": NewtonSoftmax(C=INF, tol=1e-6),
}
LOGISTIC: dict[str, Any] = {
    "logistic newton": NewtonLogistic(C=1.0),
    "logistic newton, tight": NewtonLogistic(C=10.0, tol=1e-12),
    "logistic newton, no penalty": NewtonLogistic(C=INF, tol=1e-10),
    "logistic cg": LogisticCG(C=1.0, tol=1e-10),
    "logistic cg, no penalty": LogisticCG(C=INF, tol=1e-10),
    "logistic gradient": GradientAscent(C=1.0),
    "logistic gradient, inverse": GradientAscent(C=1.0, eta=0.05, decay="inverse", tol=0.05),
    "logistic gradient, no penalty": GradientAscent(C=INF),
}
K = RBF(gamma=0.3)
KERNEL: dict[str, Any] = {
    "smo": SMO(K, q=16, tol=1e-7, fine=1e-7),
    "smo, little memory": SMO(K, q=16, memory=0.01, tol=1e-6, fine=1e-6),
    "smo, float32": SMO(K, q=16, single=True),
    "smo, linear, hard": SMO(Linear(), C=INF),
    "cost search": CostSearch(SMO(K, C=4.0, q=16)),
    "mistakes": KernelMistakes(K),
    "mistakes, shuffled": KernelMistakes(K, order="shuffle", keep="average", seed=3),
    "mistakes, pocket": KernelMistakes(K, order="random", keep="pocket"),
    "images, kozinec": InFeatureSpace(Kozinec(eps=1e-2), K),
    "images, kozinec, plain": InFeatureSpace(Kozinec(eps=None, steps="plain"), Linear()),
    "images, logistic": InFeatureSpace(NewtonLogistic(C=1.0, tol=1e-9), K),
    "images, squares": InFeatureSpace(RidgeSquares(C=3.0), K),
}
KERNEL_MACHINES: dict[str, Any] = {
    "smo, pairs": SMO(K, C=10.0, q=16),
    "mistakes, classes": OneVsRest(KernelMistakes(K), threads=1),
}
ADDITIVE: dict[str, Any] = {
    "smo, additive": SMO(Intersection(), tol=1e-6, fine=1e-6, q=16, by_features=True),
    "smo, chi2": SMO(PowerMean(-1.0), C=10.0, q=16, single=True, by_features=True, seed=2),
}
PARTS: dict[str, Any] = {
    "parts, hinge": NewtonParts(HingeForm(HINGE_LOSS, 1.0), tol=1e-4),
    "parts, squared": NewtonParts(HingeForm(SQUARED_HINGE, 1.0), tol=1e-6),
    "parts, logistic": NewtonParts(LogisticForm(1.0), tol=1e-6),
    "parts, many columns": WideParts(LogisticForm(1.0, wide=True), tol=1e-6),
    "parts, squares": SquaresParts(),
    "parts, perceptron": SingleInParts(SingleSample()),
}
DESCENT: dict[str, Any] = {
    "descent": GradientDescent(bowl, schedule=Schedule(0.1)),
    "descent, too fast": GradientDescent(bowl, schedule=Schedule(5.0)),
}


# -- problems -------------------------------------------------------------------------------


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


def _noisy(classes: int, noise: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(60) % classes
    return 2.0 * rng.normal(size=(classes, 4))[y] + noise * rng.normal(size=(60, 4)), y


def _shifted(classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(90) % classes
    return rng.normal(size=(90, 3)) + 1.5 * y[:, None], y


def _histograms() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    return rng.gamma(1.0 + y[:, None], size=(80, 5)).round(2), y


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

# Beside those above, on which planes and squares are tried: for solvers of one family.
MORE: dict[str, Callable[[], tuple[Any, Any]]] = {
    "noisy": lambda: _noisy(2, 1.5),
    "very noisy": lambda: _noisy(2, 6.0),
    "noisy, three classes": lambda: _noisy(3, 2.5),
    "near": lambda: _shifted(2),
    "near, three classes": lambda: _shifted(3),
    "histograms": _histograms,
}
TWO = [name for name in PROBLEMS if "classes" not in name]


@dataclass(frozen=True)
class Case:
    """A solver on a problem, and how many steps tell its ways apart."""

    family: str
    solver: Any
    problem: str
    steps: int
    fit_intercept: bool = True

    def data(self) -> Problem | PartsProblem:
        """A fresh problem, which nobody has looked at."""
        if self.family == "parts":
            return in_parts(self.problem, fit_intercept=self.fit_intercept)
        return problem(self.problem, fit_intercept=self.fit_intercept)


def _cases() -> dict[str, Case]:
    table: list[tuple[str, dict[str, Any], list[str], int, tuple[bool, ...]]] = [
        ("planes", PLANES, list(PROBLEMS), 300, (True,)),
        ("squares", SQUARES, list(PROBLEMS), 150, (True,)),
        ("squares", ADAPTING, TWO, 150, (True,)),
        ("hinge", HINGE, ["noisy"], 17, (True, False)),
        ("logistic", LOGISTIC, ["very noisy"], 17, (True, False)),
        ("machines", MACHINES, ["noisy, three classes"], 17, (True,)),
        ("kernel", KERNEL, ["near"], 17, (True, False)),
        ("kernel", KERNEL_MACHINES, ["near, three classes"], 17, (True, False)),
        ("additive", ADDITIVE, ["histograms"], 9, (True,)),
        ("descent", DESCENT, ["five points"], 30, (True,)),
        ("parts", PARTS, ["very noisy"], 17, (True, False)),
    ]
    found = {}
    for family, solvers, problems, steps, offsets in table:
        for name, solver in solvers.items():
            for where in problems:
                for offset in offsets:
                    bare = "" if offset else ", no intercept"
                    case = Case(family, solver, where, steps, offset)
                    found[f"{name} on {where}{bare}"] = case
    return found


CASES = _cases()

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


def in_parts(name: str, *, fit_intercept: bool) -> PartsProblem:
    """The same as a stream of three blocks."""
    return parts_of(*(PROBLEMS | MORE)[name](), fit_intercept=fit_intercept)


def parts_of(X: Any, y: Any, *, fit_intercept: bool) -> PartsProblem:
    """Rows as a stream of three blocks."""
    edges = [0, 7, len(y) // 2, len(y)]
    stream: Stream = linsep.data.stream(
        lambda: ((X[lo:hi], y[lo:hi]) for lo, hi in pairwise(edges)), workers=1
    )
    return looked_at(stream, fit_intercept=fit_intercept)


def problem(name: str, **options: Any) -> Problem:
    """A fresh problem of the table."""
    X, y = (PROBLEMS | MORE)[name]()
    return Problem(X, y, **options)
