"""Bugs of solvers, and of what they read through, can make a fit stall, never lie.

Each bug is put into something that a solver reads from or keeps its numbers in. The certificate of
the fit must then be the one that a judge without the bug gives for the same weights.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.parts import Stream
from linsep.core.problem import Problem
from linsep.kernels import RBF, Linear, Polynomial

Bug = Callable[[pytest.MonkeyPatch], None]


def replaced(patch: pytest.MonkeyPatch, module: str, name: str, wrong: Any) -> None:
    """Every solver module that knows a function by its name now calls the wrong one."""
    right = getattr(importlib.import_module(module), name)
    assert callable(right)
    changed = 0
    for other, home in list(sys.modules.items()):
        if other.startswith("linsep.solvers") and vars(home).get(name) is right:
            patch.setattr(home, name, wrong(right))
            changed += 1
    assert changed, f"no solver uses {name}"


def scaled(by: float) -> Any:
    """A function whose arrays are all too large."""

    def spoil(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value * value.dtype.type(by)
        if isinstance(value, tuple):
            parts = [spoil(part) if k == 0 else part for k, part in enumerate(value)]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value

    return lambda right: lambda *args, **options: spoil(right(*args, **options))


def wrong_kernel_rows(patch: pytest.MonkeyPatch) -> None:
    from linsep.solvers.kernel.gram import LazyRows, StoredRows

    make, square, whole = LazyRows.make, StoredRows.square, StoredRows.whole

    def made(self: Any, at: Any, blocks: Any) -> None:
        make(self, at, blocks)
        self.G[self.slot[at[::7]]] *= 0.5

    def all_of_it(self: Any, out: Any) -> None:
        whole(self, out)
        out *= 1.2

    patch.setattr(LazyRows, "make", made)
    patch.setattr(StoredRows, "square", lambda self, *args: 1.2 * square(self, *args))
    patch.setattr(StoredRows, "whole", all_of_it)


def wrong_compressed_copy(patch: pytest.MonkeyPatch) -> None:
    lend = Problem.lend

    def lent(self: Problem, matrix: Any = None) -> Problem:
        if matrix is not None:
            matrix = matrix.copy()
            matrix.data[::3] *= 1.5
        return lend(self, matrix)

    patch.setattr(Problem, "lend", lent)


def wrong_lengths(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, "linsep.solvers.hinge.dual_point", "row_lengths", scaled(3.0))


def wrong_pass(patch: pytest.MonkeyPatch) -> None:
    from linsep.rows.hinge import RowSet

    read = RowSet.read

    def wrong(self: Any, *args: Any, **options: Any) -> Any:
        found = copy.copy(read(self, *args, **options))
        for name, value in vars(found).items():
            if isinstance(value, np.ndarray) and value.dtype == float and value.ndim == 1:
                object.__setattr__(found, name, 0.9 * value)
        return found

    patch.setattr(RowSet, "read", wrong)


def wrong_normal_equations(patch: pytest.MonkeyPatch) -> None:
    def wrong(right: Any) -> Any:
        def gram(problem: Problem) -> Any:
            found = copy.copy(right(problem))
            object.__setattr__(
                found, "matrix", found.matrix + 0.3 * np.diag(found.matrix.diagonal())
            )
            return found

        return gram

    replaced(patch, "linsep.rows.normal", "gram", wrong)


def wrong_additive_blocks(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, "linsep.solvers.kernel.additive_rows", "kernel_block", scaled(1.3))


def wrong_levels(patch: pytest.MonkeyPatch) -> None:
    def wrong(right: Any) -> Any:
        def levels_of(problem: Problem, power: float) -> Any:
            found = copy.copy(right(problem, power))
            found.values = found.values[::-1].copy()
            return found

        return levels_of

    replaced(patch, "linsep.kernels.additive", "levels_of", wrong)


def wrong_survey(patch: pytest.MonkeyPatch) -> None:
    def wrong(right: Any) -> Any:
        def survey(problem: Problem, *args: Any) -> Any:
            found = copy.copy(right(problem, *args))
            object.__setattr__(found, "rows", 0.2 * found.rows)
            object.__setattr__(found, "columns", 0.2 * found.columns)
            return found

        return survey

    replaced(patch, "linsep.rows.reader", "survey", wrong)


def rolled(value: Any) -> Any:
    """An array, or the first one of a tuple, in which every row is where its neighbour belongs."""
    if isinstance(value, tuple):
        return (*value[:-1], rolled(value[-1]))
    return np.roll(value, 1, axis=0)


def wrong_logistic_pass(patch: pytest.MonkeyPatch) -> None:
    """Sums of the lanes, losses included, that are all a little too large."""
    from linsep.rows.logistic import LogisticRows

    read = LogisticRows.read

    def wrong(self: Any, *args: Any, **options: Any) -> Any:
        found = read(self, *args, **options)
        return dataclasses.replace(
            found, v=1.05 * found.v, loss=1.05 * found.loss, dual_sum=1.05 * found.dual_sum
        )

    patch.setattr(LogisticRows, "read", wrong)


def wrong_logistic_rows(patch: pytest.MonkeyPatch) -> None:
    """The rows as machine code sees them: off by one."""
    from linsep.rows.reader import Reader

    right = Reader._for_machine_code
    patch.setattr(
        Reader, "_for_machine_code", lambda self, *args, **kept: rolled(right(self, *args, **kept))
    )


def wrong_sample(patch: pytest.MonkeyPatch) -> None:
    """Samples whose matrix holds other rows than it says, for solvers and for the proof."""
    from linsep.rows import levels

    right = levels.sample_matrix
    wrong = lambda *args: rolled(right(*args))  # noqa: E731
    for name, home in list(sys.modules.items()):
        if name.startswith("linsep.") and vars(home).get("sample_matrix") is right:
            patch.setattr(home, "sample_matrix", wrong)


def wrong_softmax_rows(patch: pytest.MonkeyPatch) -> None:
    from linsep.rows.softmax import SoftmaxRows

    backward = SoftmaxRows.backward
    patch.setattr(SoftmaxRows, "backward", lambda self, R: 0.9 * backward(self, R))


def wrong_newton_system(patch: pytest.MonkeyPatch) -> None:
    """A gradient of conjugate gradients in which the last column never counts."""
    from linsep.solvers.logistic import conjugate

    right = conjugate.LogisticCG._evaluate

    def wrong(self: Any, problem: Problem, state: Any) -> None:
        right(self, problem, state)
        state.gradient[:100] = 0.0

    patch.setattr(conjugate.LogisticCG, "_evaluate", wrong)


def stale_scores(patch: pytest.MonkeyPatch) -> None:
    """Products of dual coordinate descent that are those of the first call."""
    replaced(patch, "linsep.solvers.hinge.dual_point", "row_scores", stale)


def stale(right: Any) -> Any:
    """A function that goes on to give what it gave at first."""
    kept: list[Any] = []

    def first(*args: Any, **options: Any) -> Any:
        kept[:] = kept or [right(*args, **options)]
        return kept[0].copy()

    return first


def wrong_weights(patch: pytest.MonkeyPatch) -> None:
    """The weights of the rows, as the solver sees them, in another order."""
    lent = Problem.lent.fget
    assert lent is not None

    def seen(self: Problem) -> Problem:
        found: Problem = lent(self)
        if found is not self and not found.__dict__.get("spoiled"):
            found.__dict__["weight"] = np.roll(found.weight, 1)
            found.__dict__["spoiled"] = True
        return found

    patch.setattr(Problem, "lent", property(seen))


def wrong_labels(patch: pytest.MonkeyPatch) -> None:
    """The labels of every ninth row, as the solver sees them."""
    lent = Problem.lent.fget
    assert lent is not None

    def seen(self: Problem) -> Problem:
        found: Problem = lent(self)
        if found is not self and not found.__dict__.get("spoiled"):
            found.sign[::9] *= -1.0
            found.__dict__["spoiled"] = True
        return found

    patch.setattr(Problem, "lent", property(seen))


def overlapping(n: int, d: int, K: int = 2, *, counts: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, K)) + 0.7 * rng.normal(size=(n, K))).argmax(axis=1)
    return (np.floor(4 * np.abs(X)) if counts else X), y


def zeros() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = np.where(rng.random((5000, 250)) < 0.03, rng.normal(size=(5000, 250)), 0.0)
    return X, (X @ rng.normal(size=250) + 0.1 * rng.normal(size=5000) > 0).astype(int)


def text() -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    X = scipy.sparse.random_array((800, 2000), density=0.01, format="csr", random_state=rng)
    return X, (X @ rng.normal(size=2000) + 0.05 * rng.normal(size=800) > 0).astype(int)


WEIGHTS = np.random.default_rng(5).uniform(0.1, 3.0, 400)

CASES: dict[str, tuple[Any, Callable[[], Any], Bug]] = {
    "kernel rows": (linsep.KernelSVM(), lambda: overlapping(300, 4), wrong_kernel_rows),
    "kernel rows, many": (linsep.KernelSVM(), lambda: overlapping(2600, 5), wrong_kernel_rows),
    "kernel rows, classes": (linsep.KernelSVM(), lambda: overlapping(300, 4, 3), wrong_kernel_rows),
    "compressed copy": (linsep.LinearSVM(), zeros, wrong_compressed_copy),
    "lengths": (linsep.LinearSVM(solver="dual-cd"), text, wrong_lengths),
    "pass": (linsep.LinearSVM(solver="newton"), lambda: overlapping(3000, 6), wrong_pass),
    "survey, svm": (linsep.LinearSVM(solver="newton"), lambda: overlapping(3000, 6), wrong_survey),
    "normal equations": (
        linsep.LeastSquares(),
        lambda: overlapping(3000, 6),
        wrong_normal_equations,
    ),
    "additive blocks": (
        linsep.AdditiveSVM(),
        lambda: overlapping(300, 5, counts=True),
        wrong_additive_blocks,
    ),
    "levels": (linsep.AdditiveSVM(), lambda: overlapping(300, 5, counts=True), wrong_levels),
    "pass, logistic": (
        linsep.LogisticRegression(),
        lambda: overlapping(30000, 6),
        wrong_logistic_pass,
    ),
    "rows, logistic": (
        linsep.LogisticRegression(),
        lambda: overlapping(30000, 40),
        wrong_logistic_rows,
    ),
    "sample, logistic": (linsep.LogisticRegression(), lambda: overlapping(30000, 6), wrong_sample),
    "softmax rows": (
        linsep.LogisticRegression(),
        lambda: overlapping(400, 5, 3),
        wrong_softmax_rows,
    ),
    "gradient, text": (linsep.LogisticRegression(), text, wrong_newton_system),
    "stale scores": (linsep.LinearSVM(solver="dual-cd"), text, stale_scores),
    "weights": (linsep.LinearSVM(), lambda: (*overlapping(400, 5), WEIGHTS), wrong_weights),
    "labels, svm": (linsep.LinearSVM(), lambda: overlapping(400, 5), wrong_labels),
    "labels, logistic": (linsep.LogisticRegression(), lambda: overlapping(400, 5), wrong_labels),
    "labels, large": (linsep.LogisticRegression(), lambda: overlapping(30000, 6), wrong_labels),
}


@pytest.mark.parametrize("name", list(CASES))
def test_a_bug_of_a_solver_is_no_lie_of_the_judge(name):
    model, data, bug = CASES[name]
    model = copy.deepcopy(model).set_params(time_limit=3.0)
    X, y, *weight = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.MonkeyPatch.context() as patch:
            bug(patch)
            model.fit(X, y, *weight)
        told = {"sample_weight": weight[0]} if weight else {}
        true = linsep.certify(model, X, y, **told)
        clean = copy.deepcopy(model).fit(X, y, *weight)
    claimed, best = model.certificate_, clean.certificate_
    assert claimed.objective != best.objective, "the bug has made no difference"
    assert claimed.objective == pytest.approx(true.objective, rel=1e-6)
    assert claimed.lower_bound <= best.objective * (1 + 1e-9)
    assert claimed.lower_bound <= true.objective * (1 + 1e-9)
    if model.status_.ok:
        assert claimed.objective <= best.objective * (1 + 2e-3)
    assert claimed.errors == true.errors


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("call", range(6))
def test_what_is_kept_of_a_kernel_machine_is_what_was_proved(K, call, monkeypatch):
    """The order of its rows is wrong in one answer, whoever asks."""
    from linsep.kernels import blocks

    right, calls = blocks.duels_of, iter(range(100))

    def wrong(problem: Problem, kernel: Any) -> Any:
        found = right(problem, kernel)
        if next(calls) != call:
            return found
        return dataclasses.replace(found, order=np.roll(found.order, 1))

    for name, home in list(sys.modules.items()):
        if name.startswith("linsep.") and vars(home).get("duels_of") is right:
            monkeypatch.setattr(home, "duels_of", wrong)
    X, y = overlapping(120, 3, K)
    model = linsep.KernelSVM()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except linsep.errors.LinsepError:
            return
    monkeypatch.undo()
    found = linsep.certify(model, X, y)
    assert model.certificate_.objective == pytest.approx(found.objective, rel=1e-9)
    assert model.certificate_.errors == found.errors


ONE_CLASS = {
    "svm": linsep.LinearSVM(C=np.inf),
    "kozinec": linsep.Kozinec(),
    "kozinec, kernel": linsep.Kozinec(kernel="rbf", eps=0.1),
    "ho-kashyap": linsep.HoKashyap(max_iter=50),
    "one vs rest": linsep.OneVsRest(linsep.LinearSVM(C=np.inf)),
}


@pytest.mark.parametrize("name", [*ONE_CLASS, "separability"])
def test_a_bug_that_breaks_down_is_an_error_of_linsep(name, monkeypatch):
    lent = Problem.lent.fget
    assert lent is not None

    def seen(self: Problem) -> Problem:
        found: Problem = lent(self)
        if found is not self:
            found.__dict__["label"] = np.zeros_like(self.label)
        return found

    monkeypatch.setattr(Problem, "lent", property(seen))
    ask = linsep.separability if name == "separability" else copy.deepcopy(ONE_CLASS[name]).fit
    with pytest.raises(linsep.errors.LinsepError, match="a bug of linsep, please report it"):
        ask(*overlapping(60, 3))


def test_what_code_of_the_caller_raises_stays_as_it_is():
    def mine(x: Any, z: Any) -> float:
        return float([][0])

    with pytest.raises(IndexError):
        linsep.KernelSVM(kernel=mine).fit(*overlapping(30, 3))


# -- Bugs below both ------------------------------------------------------------------------------
#
# What solvers and proofs once had in common: reading, summing, storing. A proof reads by itself
# (proofs/plain.py), or makes sums of kernel values a second time (proofs/referee.py), so here, too,
# a certificate is that of a judge without the bug.


def everywhere(patch: pytest.MonkeyPatch, where: str, spoil: Callable[[Any], Any]) -> list[int]:
    """Spoil what a function or a method gives, whoever calls it; how often it did."""
    module, _, path = where.partition(":")
    home: Any = importlib.import_module(module)
    hits: list[int] = []

    def wrapped(right: Any) -> Any:
        def wrong(*args: Any, **options: Any) -> Any:
            found = right(*args, **options)
            hits.append(1)
            return spoil(found)

        return wrong

    if "." in path:
        kind, name = path.split(".")
        owner = getattr(home, kind)
        right = vars(owner)[name]
        if isinstance(right, property):
            patch.setattr(owner, name, property(wrapped(right.fget)))
        else:
            patch.setattr(owner, name, wrapped(right))
        return hits
    right = getattr(home, path)
    for name, other in list(sys.modules.items()):
        if name.startswith("linsep.") and vars(other).get(path) is right:
            patch.setattr(other, path, wrapped(right))
    return hits


def each(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], Any]:
    """The change for every float array in a result: alone, in a tuple, in a dataclass."""

    def spoil(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 3:
            return change(value.copy())
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(spoil(part) for part in value)
        if isinstance(value, tuple):
            return type(value)(*(spoil(part) for part in value))
        if dataclasses.is_dataclass(value):
            twin = copy.copy(value)
            for field in dataclasses.fields(value):
                object.__setattr__(twin, field.name, spoil(getattr(value, field.name)))
            return twin
        return value

    return spoil


def larger(x: np.ndarray) -> np.ndarray:
    """Every third entry, row or number, 8 % too large."""
    x[::3] *= x.dtype.type(1.08)
    return x


def swapped(x: np.ndarray) -> np.ndarray:
    """Two neighbours change places, all along."""
    even = len(x) // 2 * 2
    x[:even:2], x[1:even:2] = x[1:even:2].copy(), x[:even:2].copy()
    return x


def turned(x: np.ndarray) -> np.ndarray:
    """The sign of some rows."""
    x[::7] *= -1
    return x


def lost(x: np.ndarray) -> np.ndarray:
    """What belongs to the last tenth was never added."""
    x[-(len(x) // 10) :] = 0
    return x


def shorter(blocks: Any) -> Any:
    """A lane whose last block is not read."""
    return iter(list(blocks)[:-1])


def twice(blocks: Any) -> Any:
    """A lane whose first block is read again in place of the second."""
    every = [(lo, hi, block.copy()) for lo, hi, block in blocks]
    if len(every) > 1:
        every[1] = (*every[1][:2], np.resize(every[0][2], every[1][2].shape))
    return iter(every)


TALL = (30000, 20)
BELOW: dict[str, tuple[Any, tuple[Any, ...], list[tuple[str, Any]]]] = {
    "hinge": (
        linsep.LinearSVM(),
        (400, 5),
        [
            ("linsep.core.problem:Problem.sign", each(turned)),
            ("linsep.core.problem:product", each(larger)),
            ("linsep.losses.hinge:QuadraticLoss.value", each(larger)),
            ("linsep.rows.reader:survey", each(larger)),
        ],
    ),
    "hinge, tall": (
        linsep.LinearSVM(),
        TALL,
        [
            ("linsep.core.lanes:Lanes.blocks", shorter),
            ("linsep.core.lanes:Lanes.blocks", twice),
            ("linsep.rows.hinge:RowSet.read", each(larger)),
            ("linsep.rows.reader:added", each(lost)),
            ("linsep.core.problem:Problem.sign", each(turned)),
        ],
    ),
    "crammer-singer": (
        linsep.LinearSVM(multi_class="crammer-singer"),
        (400, 5, 3),
        [
            ("linsep.core.problem:Problem.product", each(swapped)),
            ("linsep.losses.rivals:balanced_shares", lambda x: 1.08 * x),
        ],
    ),
    "one against the rest": (
        linsep.LinearSVM(loss="squared_hinge"),
        (400, 5, 3),
        [
            ("linsep.losses.hinge:QuadraticLoss.dual_cost", lambda x: 0.5 * x),
        ],
    ),
    "logistic": (
        linsep.LogisticRegression(),
        (400, 5),
        [
            ("linsep.losses.logistic:loss", each(larger)),
            ("linsep.losses.logistic:probability", each(larger)),
        ],
    ),
    "logistic, tall": (
        linsep.LogisticRegression(),
        TALL,
        [
            ("linsep.core.lanes:Lanes.blocks", shorter),
            ("linsep.rows.reader:added", each(larger)),
            ("linsep.rows.levels:sample_matrix", each(swapped)),
            ("linsep.core.lanes:sum_of_pieces", lambda x: 0.9 * x),
        ],
    ),
    "softmax": (
        linsep.LogisticRegression(),
        (400, 5, 3),
        [
            ("linsep.losses.softmax:shares", each(larger)),
        ],
    ),
    "squares": (
        linsep.LeastSquares(),
        (30000, 6),
        [
            ("linsep.rows.normal:gram", each(larger)),
            ("linsep.rows.normal:totals", each(lost)),
            ("linsep.core.lanes:Lanes.blocks", shorter),
        ],
    ),
    "kernel": (
        linsep.KernelSVM(),
        (300, 4),
        [
            ("linsep.kernels.blocks:weighted_sums", each(swapped)),
            ("linsep.kernels.blocks:KernelValues.combine", each(turned)),
            ("linsep.kernels.blocks:tile_of", each(larger)),
        ],
    ),
    "kernel, three classes": (
        linsep.KernelSVM(),
        (300, 4, 3),
        [("linsep.kernels.blocks:KernelValues.combine_many", each(larger))],
    ),
    "polynomials": (
        linsep.KernelSVM(kernel="poly"),
        (300, 4),
        [("linsep.kernels.products:Polynomial.block", each(larger))],
    ),
    "additive": (
        linsep.AdditiveSVM(),
        (300, 5, 2, True),
        [
            ("linsep.kernels.additive:AdditiveFunction.scores_and_reach", each(larger)),
            ("linsep.kernels.additive:AdditiveFunction.at_slots", each(larger)),
            ("linsep.kernels.additive:Levels.collect", each(swapped)),
            ("linsep.kernels.additive:Levels.functions", each(lost)),
        ],
    ),
    "additive, chi2": (
        linsep.AdditiveSVM(kernel="chi2"),
        (300, 5, 3, True),
        [
            ("linsep.kernels.additive:AdditiveFunction._evaluate", each(larger)),
            ("linsep.kernels.additive:mean_table", each(turned)),
            ("linsep.kernels.additive:similarity", each(larger)),
            ("linsep.kernels.additive:AdditiveFunction._roots", each(lost)),
        ],
    ),
    "additive, hellinger": (
        linsep.AdditiveSVM(kernel="hellinger"),
        (300, 5, 2, True),
        [("linsep.kernels.additive:AdditiveFunction._roots", each(larger))],
    ),
    "histograms": (
        linsep.KernelSVM(kernel="chi2"),
        (300, 4, 2, True),
        [
            ("linsep.kernels.histograms:Additive.block", each(larger)),
            ("linsep.kernels.histograms:power_means", each(swapped)),
        ],
    ),
    "kernels of kernels": (
        linsep.KernelSVM(kernel=Linear() + 2 * RBF(gamma=0.1) * Polynomial(2)),
        (300, 4),
        [
            ("linsep.kernels.algebra:Sum.block", each(larger)),
            ("linsep.kernels.algebra:Product.block", each(turned)),
            ("linsep.kernels.algebra:Scaled.block", each(lost)),
            ("linsep.kernels.gaussian:RBF.block", each(swapped)),
        ],
    ),
    "lengths of images": (
        linsep.KernelSVM(kernel=Polynomial(3).normalised()),
        (300, 4),
        [
            ("linsep.kernels.algebra:Normalised._over", each(larger)),
            ("linsep.kernels.products:Polynomial._diagonal", each(lost)),
        ],
    ),
}
INJECTED = [
    pytest.param(case, where, spoil, id=f"{case}-{where.split(':')[1]}-{k}")
    for case, (_, _, bugs) in BELOW.items()
    for k, (where, spoil) in enumerate(bugs)
]


@pytest.mark.parametrize(("case", "where", "spoil"), INJECTED)
def test_a_bug_below_both_is_no_lie_of_the_judge(case, where, spoil):
    model, shape, _ = BELOW[case]
    model = copy.deepcopy(model).set_params(time_limit=1.0)
    X, y = overlapping(*shape[:3], counts=len(shape) > 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.MonkeyPatch.context() as patch:
            hits = everywhere(patch, where, spoil)
            model.fit(X, y)
        true = linsep.certify(model, X, y, tol=1.0, time_limit=1.0)
        best = copy.deepcopy(BELOW[case][0]).fit(X, y).certificate_
    assert hits, "nobody has met the bug"
    claimed = model.certificate_
    assert claimed.objective == pytest.approx(true.objective, rel=1e-6)
    assert claimed.lower_bound <= best.objective * (1 + 1e-9)
    assert claimed.errors == true.errors
    assert claimed.margin == pytest.approx(true.margin, rel=1e-6)
    if model.status_.ok:
        assert claimed.objective <= best.objective * (1 + 2e-3)


# -- From the caller's arrays to the problem ------------------------------------------------------


MISREAD = {
    "labels": ("linsep.core.validate:as_labels", lambda x: (x[0], swapped(x[1].copy()))),
    "classes": ("linsep.core.validate:as_labels", lambda x: (x[0], x[0].size - 1 - x[1])),
    "rows": ("linsep.core.validate:as_matrix", lambda x: swapped(np.array(x))),
    "entries": ("linsep.core.validate:as_matrix", lambda x: larger(np.array(x))),
    "weights": ("linsep.core.validate:as_weights", lambda x: np.roll(x, 1)),
    "weights of classes": ("linsep.models.fit:row_weights", lambda x: larger(np.array(x, float))),
}
READERS = {
    "LinearSVM": lambda: linsep.LinearSVM(class_weight="balanced"),
    "KernelSVM": lambda: linsep.KernelSVM(class_weight={0: 2.0}),
    "AdditiveSVM": lambda: linsep.AdditiveSVM(class_weight="balanced"),
    "LeastSquares": lambda: linsep.LeastSquares(class_weight="balanced"),
    "Perceptron": lambda: linsep.Perceptron(max_iter=5),
}


@pytest.mark.parametrize("bug", list(MISREAD))
@pytest.mark.parametrize("reader", list(READERS))
@pytest.mark.parametrize("when", ["fit", "certify"])
def test_a_table_that_was_misread_is_no_lie_of_the_judge(reader, bug, when):
    X, y = overlapping(60, 3, counts=True)
    s = np.random.default_rng(6).integers(0, 4, 60)  # some rows take no part
    model = READERS[reader]()
    if (when, reader, bug) == ("certify", "Perceptron", "weights of classes"):
        pytest.skip("it weighs no classes")
    where, spoil = MISREAD[bug]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if when == "certify":
            model.fit(X, y, s)
        with pytest.MonkeyPatch.context() as patch:
            everywhere(patch, where, spoil)
            asked = model.fit if when == "fit" else partial(linsep.certify, model)
            with pytest.raises(linsep.errors.LinsepError, match=r"were read|weight"):
                asked(X, y, sample_weight=s)


@pytest.mark.parametrize("bug", ["labels", "classes", "rows", "entries"])
def test_a_verdict_is_about_the_rows_given(bug):
    X, y = overlapping(60, 3)
    proof = linsep.separability(X, y)
    with pytest.MonkeyPatch.context() as patch:
        everywhere(patch, *MISREAD[bug])
        with pytest.raises(linsep.errors.ProofError, match="were read"):
            linsep.separability(X, y)
        with pytest.raises(linsep.errors.ProofError, match="were read"):
            proof.check(X, y)


@pytest.mark.parametrize(
    ("where", "spoil", "separable"),
    [
        ("linsep.rows.signs:float_bounds", lost, True),
        ("linsep.core.problem:_sign", swapped, True),
        ("linsep.core.problem:_sign", turned, False),
    ],
)
def test_a_verdict_ends_with_a_plain_look_at_its_witness(where, spoil, separable):
    X, y = overlapping(60, 3)
    if separable:
        X = np.random.default_rng(0).normal(size=(60, 3))
        y = (X @ [1, 2, -1.0] + 0.3 > 0).astype(int)
    assert linsep.separability(X, y).separable is separable
    with pytest.MonkeyPatch.context() as patch:
        everywhere(patch, where, each(spoil))
        with pytest.raises(linsep.errors.ProofError, match="does not hold"):
            linsep.separability(X, y)


def test_a_pair_of_classes_that_stands_for_all_is_refused(monkeypatch):
    from linsep.kernels import blocks

    right = blocks._duel
    monkeypatch.setattr(blocks, "_duel", lambda i, j, *rest: right(0, 1, *rest))
    with pytest.raises(linsep.errors.ProofError, match="not all pairs"):
        linsep.KernelSVM().fit(*overlapping(60, 3, 3))


@pytest.mark.parametrize("ask", ["fit", "verdict", "by name"])
def test_a_kernel_that_nobody_asked_for_is_refused(ask, monkeypatch):
    from linsep.kernels import spec

    right, X, y = spec.as_kernel, *overlapping(40, 3)

    def wrong(*args: Any, **options: Any) -> Any:
        found = right(*args, **options)
        known = isinstance(found.gamma, float)
        return found.clone().set_params(gamma=1.08 * found.gamma) if known else found

    for name, home in list(sys.modules.items()):
        if name.startswith("linsep.") and vars(home).get("as_kernel") is right:
            monkeypatch.setattr(home, "as_kernel", wrong)
    asked = partial(linsep.separability, kernel=RBF(gamma=0.3))
    if ask != "verdict":
        how = {"gamma": 0.3} if ask == "by name" else {"kernel": RBF(gamma=0.3)}
        asked = linsep.KernelSVM(**how).fit
    with pytest.raises(linsep.errors.ProofError, match=r"gamma=0\.3 was asked for"):
        asked(X, y)


def test_a_kernel_whose_parameters_have_other_names_is_held_too(monkeypatch):
    from linsep.models import kernel_base

    right, (X, y) = kernel_base.by_name, overlapping(40, 3)
    wrong = lambda name, told: right(name, {k: 1.08 * v for k, v in told.items()})  # noqa: E731
    monkeypatch.setattr(kernel_base, "by_name", wrong)
    warnings.simplefilter("ignore")
    with pytest.raises(linsep.errors.ProofError, match=r"gamma=0\.3 was asked for"):
        linsep.KernelSVM(kernel="sigmoid", gamma=0.3).fit(X, y)


# -- Rows that are read part by part --------------------------------------------------------------


def in_parts(X: np.ndarray, y: np.ndarray, weight: np.ndarray, *, whole: bool = False) -> Any:
    def rows() -> Iterator[tuple[np.ndarray, ...]]:
        for lo in range(0, len(y), 50):
            yield X[lo : lo + 50], y[lo : lo + 50], weight[lo : lo + 50]

    stream = linsep.data.stream(rows)
    stream.memory = stream.memory if whole else 1  # else it is no table
    return stream


MISREAD_PARTS = {
    "labels": ("linsep.core.parts:labels_of", lambda x: swapped(x.copy())),
    "labels as read": ("linsep.core.validate:plain_labels", lambda x: swapped(np.array(x))),
    "rows": ("linsep.core.validate:as_matrix", lambda x: swapped(np.array(x))),
    "entries": ("linsep.core.validate:as_matrix", lambda x: larger(np.array(x))),
    "weights": ("linsep.core.validate:as_weights", lambda x: np.roll(x, 1)),
}
PARTS = {
    "svm": linsep.LinearSVM(class_weight="balanced"),
    "logistic": linsep.LogisticRegression(),
    "least squares": linsep.LeastSquares(),
    "gaussian": linsep.GaussianClassifier(),
    "perceptron": linsep.Perceptron(max_iter=5),
}


@pytest.mark.parametrize("bug", list(MISREAD_PARTS))
@pytest.mark.parametrize("name", list(PARTS))
def test_a_stream_that_was_misread_is_no_lie_of_the_judge(name, bug):
    X, y = overlapping(200, 3)
    s = np.random.default_rng(6).integers(0, 4, 200).astype(float)
    model = copy.deepcopy(PARTS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proof = model.fit(in_parts(X, y, s)).certificate_
        assert proof.check(in_parts(X, y, s))
        with pytest.MonkeyPatch.context() as patch:
            hits = everywhere(patch, *MISREAD_PARTS[bug])
            for whole in (False, True):  # read in passes, or gathered into a table
                if whole and bug == "labels":
                    continue  # a table does not ask for them like this
                with pytest.raises(linsep.errors.LinsepError, match=r"were read"):
                    copy.deepcopy(model).fit(in_parts(X, y, s, whole=whole))
            with pytest.raises(linsep.errors.LinsepError, match=r"were read|not the rows"):
                proof.check(in_parts(X, y, s))
        assert hits


def twice(right: Any) -> Any:
    """A pass whose sum is that of all rows, two times."""

    def wrong(self: Any, task: Any, words: str = "") -> Any:
        found = right(self, task, words)
        return found.plus(found)

    return wrong


def without_a_block(right: Any) -> Any:
    """A pass that adds up all blocks but one."""

    def wrong(self: Any, task: Any, words: str = "") -> Any:
        def some(block: Any, place: Any) -> Any:
            return None if place.first == 50 else task(block, place)

        return right(self, some, words)

    return wrong


@pytest.mark.parametrize("bug", [twice, without_a_block])
@pytest.mark.parametrize("name", list(PARTS))
def test_the_judge_of_a_stream_counts_its_rows(name, bug, monkeypatch):
    X, y = overlapping(200, 3)
    model = copy.deepcopy(PARTS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proof = copy.deepcopy(model).fit(in_parts(X, y, np.ones(200))).certificate_
        monkeypatch.setattr(Stream, "total", bug(Stream.total))
        for ask in (lambda data: model.fit(data), proof.check):
            with pytest.raises(linsep.errors.ProofError, match=r"was to read \d+ rows, each once"):
                ask(in_parts(X, y, np.ones(200)))


@pytest.mark.parametrize("bug", [b for b in MISREAD_PARTS if b != "weights"])
def test_a_verdict_of_a_stream_is_about_the_rows_given(bug):
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X @ [1, 2, -1.0] + 0.3 > 0).astype(int)
    ones = np.ones(200)
    assert linsep.separability(in_parts(X, y, ones)).separable
    with pytest.MonkeyPatch.context() as patch:
        everywhere(patch, *MISREAD_PARTS[bug])
        with pytest.raises(linsep.errors.ProofError, match="were read"):
            linsep.separability(in_parts(X, y, ones))


# -- What a solver hands over, and what it says of it ---------------------------------------------


def handed_over(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Every witness is another one than that of the solver."""
    home = importlib.import_module("linsep.core.drive")
    right = home._readable
    patch.setattr(home, "_readable", lambda p, solver, w: right(p, solver, change(w)))


def claimed(patch: pytest.MonkeyPatch, status: linsep.Status) -> None:
    """Every run is stopped after a step and has this status."""
    home = importlib.import_module("linsep.core.drive")
    right = home._drive

    def run(problem: Any, solver: Any, state: Any, limits: Any, *rest: Any) -> Any:
        found = right(problem, solver, state, dataclasses.replace(limits, steps=1), *rest)
        return dataclasses.replace(found, status=status)

    patch.setattr(home, "_drive", run)


APART = overlapping(60, 3)[0] + 9.0 * (np.arange(60) % 2)[:, None], np.arange(60) % 2
SAYS = {
    "Kozinec": (lambda: linsep.Kozinec(), APART),
    "Kozinec, augmented": (lambda: linsep.Kozinec(space="augmented"), APART),
    "Kozinec, kernel": (lambda: linsep.Kozinec(kernel=RBF(gamma=0.1)), APART),
    "LinearSVM": (lambda: linsep.LinearSVM(solver="newton"), overlapping(60, 3)),
    "LogisticRegression": (lambda: linsep.LogisticRegression(), overlapping(60, 3)),
    "KernelSVM": (lambda: linsep.KernelSVM(), overlapping(60, 3)),
    "Perceptron": (lambda: linsep.Perceptron(), overlapping(60, 3)),
    "KernelPerceptron": (lambda: linsep.KernelPerceptron(), overlapping(60, 3)),
    "LeastSquares": (lambda: linsep.LeastSquares(solver="gradient"), overlapping(60, 3)),
}
CLAIMS = ["SEPARATED", "CERTIFIED", "ASSUMED", "INSEPARABLE", "BOUND_EXCEEDED", "ENOUGH"]


@pytest.mark.parametrize("says", [linsep.Status[name] for name in CLAIMS])
@pytest.mark.parametrize("name", list(SAYS))
def test_no_status_is_believed(name, says):
    make, (X, y) = SAYS[name]
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        claimed(patch, says)
        model = make().fit(X, y)
    status, found = model.status_, model.certificate_
    if status is linsep.Status.SEPARATED:
        assert found.errors == 0
    elif status is linsep.Status.CERTIFIED and isinstance(model, linsep.Kozinec):
        far = found.margin_high - found.margin_low
        if model.space == "augmented":
            far = found.margin_aug_high - found.margin_aug_low
        assert far <= model.eps * (1 + 1e-9)
    elif status is linsep.Status.CERTIFIED:
        assert found.relative_gap <= model.tol
    else:
        assert not status.ok


SPOILT: dict[str, Callable[[Any], Any]] = {
    "no number": lambda w: dataclasses.replace(w, a=w.a * np.nan),
    "no multipliers": lambda w: dataclasses.replace(w, rows=w.rows[:0], multipliers=w.rows[:0]),
    "multipliers that are none": lambda w: dataclasses.replace(w, multipliers=w.rows * np.inf),
    "rows that are not there": lambda w: dataclasses.replace(w, rows=w.rows + 10**6),
    "rows below zero": lambda w: dataclasses.replace(w, rows=w.rows - 1000),
    "rows without multipliers": lambda w: dataclasses.replace(w, multipliers=w.multipliers[1:]),
    "a weight too many": lambda w: dataclasses.replace(w, a=np.append(w.a, 1.0)),
    "half numbers": lambda w: dataclasses.replace(w, a=w.a.astype(np.float16)),
    "another claim": lambda w: dataclasses.replace(w, claim="origin" if w.claim else "hull"),
}


@pytest.mark.parametrize("spoil", list(SPOILT))
@pytest.mark.parametrize("name", list(SAYS))
def test_a_spoilt_witness_is_refused_or_judged(name, spoil):
    make, (X, y) = SAYS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = make().fit(X, y).certificate_
        with pytest.MonkeyPatch.context() as patch:
            handed_over(patch, SPOILT[spoil])
            try:
                model = make().fit(X, y)
            except linsep.errors.LinsepError:
                return
    found = model.certificate_
    predicted = model.decision_function(X)
    right = np.where(y == 1, predicted, -predicted) > 0
    assert abs(found.errors - np.count_nonzero(~right)) <= np.count_nonzero(predicted == 0)
    if hasattr(found, "margin_high"):
        assert found.margin_low <= best.margin_high * (1 + 1e-9)
        assert found.margin_high >= best.margin_low * (1 - 1e-9)
    elif np.isfinite(found.objective):
        assert found.lower_bound <= best.objective * (1 + 1e-9)


class Liar:
    """A solver of a user that does nothing well."""

    unit = "step"

    def __init__(self, status: linsep.Status, **witness: Any) -> None:
        self.says, self.told = status, witness

    def init(self, problem: Any, *, start: Any = None) -> Any:
        from linsep.core.protocol import State

        class Done(State):
            passes = 1.0

        return Done(status=self.says)

    def advance(self, problem: Any, state: Any, steps: int, log: Any = None) -> int:
        return 0

    def status(self, state: Any) -> linsep.Status:
        return self.says

    def witness(self, problem: Any, state: Any) -> Any:
        from linsep.core.protocol import Witness

        return Witness(**{"a": np.ones(problem.dim), **self.told})


@pytest.mark.parametrize("says", [s for s in linsep.Status if s.ok])
def test_a_solver_of_the_caller_is_not_believed(says):
    X, y = overlapping(60, 3)
    liar = Liar(says, rows=np.arange(60), multipliers=np.full(60, 9.0))
    with pytest.warns(linsep.errors.GapWarning):
        model = linsep.LinearSVM(solver=liar).fit(X, y)
    values = np.where(y == 1, 1, -1) * (X.sum(axis=1) + 1)
    assert model.status_ is linsep.Status.STALLED
    assert model.certificate_.errors == (values <= 0).sum()
    assert model.certificate_.objective == pytest.approx(1.5 + np.maximum(1 - values, 0).sum())
    assert model.certificate_.lower_bound <= linsep.LinearSVM().fit(X, y).certificate_.objective


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"a": np.ones(7)}, "7 weights"),
        ({"a": np.ones((2, 2))}, "of shape"),
        ({"rows": np.array([60]), "multipliers": np.ones(1)}, "row 60"),
        ({"rows": np.array([0.5]), "multipliers": np.ones(1)}, "numbers of rows"),
        ({"rows": np.arange(3), "multipliers": np.ones(2)}, "one multiplier for each"),
    ],
)
def test_what_no_proof_can_read_is_named(told, words):
    X, y = overlapping(60, 3)
    with pytest.raises(linsep.errors.ProofError, match=f"Liar hands over.*{words}"):
        linsep.LinearSVM(solver=Liar(linsep.Status.CERTIFIED, **told)).fit(X, y)


# -- Arrays that solvers are lent, and write to ---------------------------------------------------


WRITES: dict[str, Callable[[Problem], None]] = {
    "X": lambda p: np.multiply(_data(p)[::5], 2, out=_data(p)[::5]),
    "weight": lambda p: np.multiply(p.weight, 1.05, out=p.weight),
    "label": lambda p: np.subtract(1, p.label[:9], out=p.label[:9]),
    "classes": lambda p: p.classes.__setitem__(slice(None), p.classes[::-1].copy()),
    "row_index": lambda p: p.row_index.__setitem__(slice(None), p.row_index[::-1].copy()),
}


def _data(problem: Problem) -> Any:
    return problem.matrix if isinstance(problem.matrix, np.ndarray) else problem.matrix.data


@pytest.mark.parametrize("form", [np.array, np.float32, scipy.sparse.csr_array])
@pytest.mark.parametrize("name", list(WRITES))
@pytest.mark.parametrize("estimator", ["LinearSVM", "LogisticRegression", "KernelSVM", "verdict"])
def test_who_writes_to_the_data_is_found_out(estimator, name, form):
    X, y = overlapping(60, 3)
    weight = np.random.default_rng(6).integers(0, 4, 60).astype(float)
    if estimator == "verdict" and name in ("weight", "row_index"):
        pytest.skip("a verdict knows no weights")
    home = importlib.import_module("linsep.core.drive")
    right, done = home._drive, []

    def writing(problem: Any, *rest: Any) -> Any:
        if not done:
            WRITES[name](problem.lent)
            done.append(True)
        return right(problem, *rest)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(home, "_drive", writing)
        asked: Any = linsep.separability
        if estimator != "verdict":
            asked = partial(getattr(linsep, estimator)().fit, sample_weight=weight)
        with pytest.raises(linsep.errors.ProofError, match=rf"{name} was written to|not hold"):
            asked(form(X), y)


@pytest.mark.parametrize("name", [name for name in WRITES if name != "row_index"])
def test_who_writes_to_the_data_of_gaussian_classes_is_found_out(name, monkeypatch):
    from linsep.models import gaussian

    right = gaussian.estimate

    def writing(problem: Any, *rest: Any) -> Any:
        found = right(problem, *rest)
        WRITES[name](problem)
        return found

    monkeypatch.setattr(gaussian, "estimate", writing)
    with pytest.raises(linsep.errors.ProofError, match=f"{name} was written to"):
        linsep.GaussianClassifier().fit(*overlapping(60, 3))


def test_a_search_that_finds_no_weak_separator_ends():
    from linsep.solvers.hulls.exact import ExactHulls

    X, y = overlapping(60, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linsep.separating.faces._guess_face", lambda *args: None)
        patch.setattr(ExactHulls, "status", lambda self, state: linsep.Status.BOUNDARY)
        with pytest.raises(linsep.errors.ProofError, match="weak separator"):
            linsep.separability(X, y)


def test_machines_with_few_enough_errors_have_a_status_together():
    X, y = overlapping(60, 3, 3)
    learner = linsep.Perceptron(keep="pocket", target_errors=60, max_iter=5)
    assert linsep.OneVsRest(learner).fit(X, y).status_ is linsep.Status.ENOUGH
