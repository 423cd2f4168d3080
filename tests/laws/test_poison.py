"""The judge trusts nobody: what a solver owns or has made does not touch a certificate by a bit.

Just before the first proof of a fit every array is spoiled that the solver's state holds, that is
kept with the problem that was lent to it, or that its modules keep.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pkgutil
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.problem import Problem
from linsep.solvers.hinge.interior import table_of

DRIVE = importlib.import_module("linsep.core.drive")
PLAIN = (str, bytes, int, float, complex, bool, type(None), type, type(sys))


def arrays(root: object, seen: set[int], depth: int = 12) -> Iterator[np.ndarray]:
    """Every array that can be reached from an object, but not through a problem's own data."""
    if id(root) in seen or depth < 0 or isinstance(root, PLAIN) or inspect.isroutine(root):
        return
    seen.add(id(root))
    if isinstance(root, np.ndarray):
        if root.dtype != object:
            yield root
        return
    if isinstance(root, Problem):
        parts: list[object] = [root._memory, root.matrix]
    elif isinstance(root, dict):
        parts = [*root.values()]
    elif isinstance(root, (list, tuple, set, frozenset)):
        parts = list(root)
    else:
        parts = [*getattr(root, "__dict__", {}).values()]
        parts += [getattr(root, name, None) for name in getattr(type(root), "__slots__", ())]
    for part in parts:
        yield from arrays(part, seen, depth - 1)


def data_of(problem: Problem) -> list[np.ndarray]:
    """What the caller gave: nobody's to spoil."""
    M = problem.matrix
    held = [M] if isinstance(M, np.ndarray) else [M.data, M.indices, M.indptr]
    held += [problem.label, problem.weight, problem.classes]
    return [*held, *([] if problem.targets is None else [problem.targets])]


class Poison:
    """Follows the runs of a fit and spoils what they leave, when a proof begins."""

    def __init__(self) -> None:
        self.live: list[tuple[Problem, Any]] = []
        self.spoiled = 0
        self.inside = 0

    def drive(self, original: Any) -> Any:
        def run(problem, solver, state, limits, observers, certifier):
            outcome = original(problem, solver, state, limits, observers, None)
            outcome = dataclasses.replace(outcome, witness=copy.deepcopy(outcome.witness))
            self.live.append((problem, outcome.state))
            if certifier is None:
                return outcome
            self.spoil()
            found = certifier(problem, outcome.witness)
            return dataclasses.replace(outcome, certificate=found)

        return run

    def proof(self, original: Any) -> Any:
        def judged(*args: Any, **options: Any) -> Any:
            if not self.inside:
                self.spoil()
            self.inside += 1
            try:
                return original(*args, **options)
            finally:
                self.inside -= 1

        return judged

    def spoil(self) -> None:
        live, self.live = self.live, []
        for problem, state in live:
            if not isinstance(problem, Problem):
                continue
            given, seen = data_of(problem), set()
            lent = problem.lent
            kept = [m for name, m in sys.modules.items() if name.startswith("linsep.solvers.")]
            stores = [v for m in kept for v in vars(m).values() if _is_store(v)]
            for array in arrays([lent, state, *stores], seen):
                if not any(np.shares_memory(array, other) for other in given):
                    self._ruin(array)
            if lent is not problem:
                problem.__dict__["_lent"] = None  # whoever goes on from here begins anew

    def _ruin(self, array: np.ndarray) -> None:
        try:
            array.flags.writeable = True
            array[...] = ~array if array.dtype.kind in "bu" else array * -3 + 1
        except ValueError:  # a view of what cannot be written
            return
        self.spoiled += array.size


def _is_store(value: object) -> bool:
    return isinstance(value, (dict, list, np.ndarray, threading.local)) or (
        type(value).__module__.startswith("linsep.solvers") and not callable(value)
    )


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> Poison:
    for found in pkgutil.walk_packages(linsep.__path__, "linsep."):
        importlib.import_module(found.name)
    made = Poison()
    monkeypatch.setattr(DRIVE, "_drive", made.drive(DRIVE._drive))
    for name, module in list(sys.modules.items()):
        if not name.startswith("linsep.") or name.startswith("linsep.solvers"):
            continue
        for key, value in list(vars(module).items()):
            if inspect.isfunction(value) and value.__module__.startswith("linsep.proofs"):
                monkeypatch.setattr(module, key, made.proof(value))
    return made


def leaves(value: object) -> list[str]:
    """All numbers of a certificate, to the last bit."""
    if isinstance(value, (float, np.floating)):
        return [float(value).hex()]
    if isinstance(value, np.ndarray):
        return [value.tobytes().hex()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = sorted(f.name for f in dataclasses.fields(value))
        return [leaf for name in fields for leaf in [name, *leaves(getattr(value, name))]]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [repr(value)]


def table(kind: str, n: int = 120, d: int = 5, K: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(len(kind) + n + K)
    X = rng.normal(size=(n, d))
    if kind == "separable":
        centres = 12.0 * rng.normal(size=(K, d))
        y = np.arange(n) % K
        return X + centres[y], y
    y = (X @ rng.normal(size=(d, K)) + rng.normal(size=(n, K))).argmax(axis=1)
    y[:K] = np.arange(K)
    if kind == "counts":
        return np.floor(4 * np.abs(X)), y
    if kind == "sparse":
        return scipy.sparse.csr_array(np.where(rng.random((n, d)) < 0.3, X, 0.0)), y
    if kind == "zeros":
        return np.where(rng.random((n, d)) < 0.03, X, 0.0), y
    return X, y


FITS = {
    "perceptron": (linsep.Perceptron(), ("separable",)),
    "perceptron, batch": (linsep.Perceptron(update="batch"), ("separable",)),
    "perceptron, 3 classes": (linsep.Perceptron(), ("separable", 90, 4, 3)),
    "kernel perceptron": (linsep.KernelPerceptron(max_iter=50), ("separable",)),
    "kernel perceptron, 3 classes": (linsep.KernelPerceptron(max_iter=50), ("separable", 90, 4, 3)),
    "kozinec": (linsep.Kozinec(), ("separable",)),
    "kozinec, kernel": (linsep.Kozinec(kernel="rbf", eps=0.01), ("separable",)),
    "kozinec, augmented": (linsep.Kozinec(space="augmented"), ("separable",)),
    "least squares": (linsep.LeastSquares(), ("overlapping", 4000, 6)),
    "least squares, wide": (linsep.LeastSquares(), ("overlapping", 30, 60)),
    "least squares, gradient": (linsep.LeastSquares(solver="gradient"), ("overlapping", 400, 3)),
    "least squares, 3 classes": (linsep.LeastSquares(), ("overlapping", 300, 4, 3)),
    "ho-kashyap": (linsep.HoKashyap(), ("separable",)),
    "logistic": (linsep.LogisticRegression(), ("overlapping",)),
    "logistic, large": (linsep.LogisticRegression(), ("overlapping", 30000, 8)),
    "logistic, likelihood": (linsep.LogisticRegression(C=np.inf), ("overlapping", 300, 3)),
    "logistic, sparse": (linsep.LogisticRegression(), ("sparse", 500, 40)),
    "logistic, gradient": (linsep.LogisticRegression(solver="gradient"), ("overlapping",)),
    "softmax": (linsep.LogisticRegression(), ("overlapping", 300, 4, 3)),
    "softmax, large": (linsep.LogisticRegression(), ("overlapping", 9000, 6, 4)),
    "logistic, kernel": (linsep.LogisticRegression(kernel="rbf"), ("overlapping", 150, 3)),
    "softmax, kernel": (linsep.LogisticRegression(kernel="rbf"), ("overlapping", 120, 4, 3)),
    "least squares, kernel": (linsep.LeastSquares(kernel="rbf"), ("overlapping", 150, 3)),
    "gaussian": (linsep.GaussianClassifier(), ("overlapping", 300, 3)),
    "svm": (linsep.LinearSVM(), ("overlapping",)),
    "svm, large": (linsep.LinearSVM(), ("overlapping", 30000, 8)),
    "svm, squared": (linsep.LinearSVM(loss="squared_hinge"), ("overlapping", 2000, 6)),
    "svm, sparse": (linsep.LinearSVM(), ("sparse", 500, 40)),
    "svm, wide": (linsep.LinearSVM(), ("overlapping", 60, 300)),
    "svm, zeros": (linsep.LinearSVM(), ("zeros", 5000, 250)),
    "svm, hard": (linsep.LinearSVM(C=np.inf), ("separable",)),
    "svm, 3 classes": (linsep.LinearSVM(), ("overlapping", 300, 4, 3)),
    "svm, crammer-singer": (
        linsep.LinearSVM(multi_class="crammer-singer"),
        ("overlapping", 200, 4, 3),
    ),
    "kernel svm": (linsep.KernelSVM(), ("overlapping",)),
    "kernel svm, large": (linsep.KernelSVM(), ("overlapping", 2600, 6)),
    "kernel svm, 3 classes": (linsep.KernelSVM(), ("overlapping", 300, 4, 3)),
    "kernel svm, polynomial": (linsep.KernelSVM(kernel="poly"), ("overlapping", 200, 3)),
    "additive svm": (linsep.AdditiveSVM(), ("counts", 300, 5)),
    "additive svm, chi2": (linsep.AdditiveSVM(kernel="chi2"), ("counts", 300, 5)),
    "additive svm, 3 classes": (linsep.AdditiveSVM(), ("counts", 300, 5, 3)),
    "one vs rest": (linsep.OneVsRest(linsep.LinearSVM()), ("overlapping", 200, 4, 3)),
}
# no solver runs: closed forms
ALONE = {"gaussian"}


def fitted(name: str) -> Any:
    model, shape = FITS[name]
    model = copy.deepcopy(model)
    X, y = table(*shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model


@pytest.mark.parametrize("name", list(FITS))
def test_no_bit_of_a_certificate_comes_from_a_solver(name, poison):
    with pytest.MonkeyPatch.context() as clean:
        clean.setattr(poison, "spoil", lambda: poison.live.clear())
        true = fitted(name)
    found = fitted(name)
    assert leaves(found.certificate_) == leaves(true.certificate_)
    for attribute in ("coef_", "intercept_", "dual_coef_", "support_"):
        if hasattr(true, attribute):
            assert np.array_equal(getattr(found, attribute), getattr(true, attribute)), attribute
    assert poison.spoiled > 0 or name in ALONE


def test_every_estimator_is_in_the_table():
    kinds = {type(model) for model, _ in FITS.values()}
    public = {getattr(linsep, name) for name in linsep.__all__ if name[0].isupper()}
    estimators = {k for k in public if inspect.isclass(k) and hasattr(k, "fit")}
    schemes = {linsep.OneVsOne, linsep.Kesler, linsep.Lift, linsep.Linear}
    assert estimators - schemes <= kinds


class Trusting(linsep.LinearSVM):
    """A judge that reads what the solver has left: the law must notice it."""

    def _measured(self, problem, *rest):
        lent = self.__dict__.setdefault("_left", problem.lent)  # a second look finds it spoiled
        answer = super()._measured(problem, *rest)
        wrong = float(np.abs(table_of(lent).rows).sum())
        gap = dataclasses.replace(answer.certificate, objective=wrong)
        return dataclasses.replace(answer, certificate=gap)


def test_a_judge_that_trusts_the_solver_is_noticed(poison, monkeypatch):
    monkeypatch.setitem(FITS, "trusting", (Trusting(), ("overlapping",)))
    with pytest.raises(AssertionError):
        test_no_bit_of_a_certificate_comes_from_a_solver("trusting", poison)


@pytest.mark.parametrize("name", [*FITS, "separability", "separability, 3 classes"])
def test_nothing_of_a_solver_is_kept_with_the_problem_of_the_judge(name, monkeypatch):
    once, wrong = Problem.once, []

    def watched(self: Problem, maker: Any, /, *args: Any, **how: Any) -> Any:
        if not self._solving and maker.__module__.startswith("linsep.solvers"):
            wrong.append(f"{maker.__module__}.{maker.__qualname__}")
        return once(self, maker, *args, **how)

    monkeypatch.setattr(Problem, "once", watched)
    if name.startswith("separability"):
        linsep.separability(*table("overlapping", 90, 4, 3 if "classes" in name else 2))
        linsep.separability(*table("separable", 90, 4, 3 if "classes" in name else 2))
    else:
        fitted(name)
    assert not wrong, sorted(set(wrong))
