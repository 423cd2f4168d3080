"""A problem never changes; its one memory gives no stale answer; what is lent does no harm."""

from __future__ import annotations

import copy
import gc
import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import linsep
from linsep.core.problem import Once, Problem, against_rest, columns_of, moved, reads, rows_of
from linsep.kernels.additive import levels_of
from linsep.rows.levels import sample
from linsep.rows.normal import aims, gram, right_side
from linsep.rows.packed import packed
from linsep.rows.reader import survey


def problem(kind: str = "dense", K: int = 3, n: int = 40) -> Problem:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 5, (n, 6)).astype(float)
    X = scipy.sparse.csr_array(X) if kind == "sparse" else X
    weight, targets = rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)
    return Problem(X, np.arange(n) % K, sample_weight=weight, targets=targets)


COPIES = {
    "against rest": lambda p: against_rest(p, 1),
    "rows": lambda p: rows_of(p, np.arange(0, p.n, 3)),
    "columns": lambda p: columns_of(p, np.array([4, 1, 2])),
    "moved": lambda p: moved(p, np.arange(p.d, dtype=float)),
    "weight": lambda p: p.changed(weight=p.weight[::-1].copy()),
    "label": lambda p: p.changed(label=p.label[::-1].copy()),
    "targets": lambda p: p.changed(targets=p.targets[::-1].copy()),
    "intercept": lambda p: p.changed(fit_intercept=False),
    "afresh": lambda p: p.afresh(),
    "lent": lambda p: p.lent,
    "copy": copy.copy,
}
FACTS = {
    "sign": lambda p: p.sign,
    "rows": lambda p: p.rows,
    "gram": lambda p: p.gram,
    "total weight": lambda p: p.total_weight,
    "row hashes": lambda p: p.row_hashes,
    "fingerprint": lambda p: p.fingerprint,
    "survey": survey,
    "aims": aims,
    "normal equations": gram,
    "right side": right_side,
    "packed": packed,
    "narrow": lambda p: packed(p, narrow=True),
    "sample": lambda p: sample(p, 10),
    "squared lengths": lambda p: p.squared_lengths,
    "levels": lambda p: levels_of(p, -1.0).values if np.min(p.gram) >= 0 else None,
}


def leaves(value: object) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    fields = vars(value) if hasattr(value, "__dict__") else {}
    if fields:
        return [leaf for name in sorted(fields) for leaf in leaves(fields[name])]
    return [np.asarray(value)]


def as_made_alone(p: Problem) -> Problem:
    """The same data in a problem that has no past."""
    return copy.deepcopy(p).afresh()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", list(COPIES))
def test_a_copy_has_no_stale_answer(name, kind):
    if kind == "sparse" and name == "moved":
        pytest.skip("only dense rows are moved")
    p = problem(kind)
    for fact in FACTS.values():
        fact(p)
    twin = COPIES[name](p)
    alone = as_made_alone(twin)
    for fact, ask in FACTS.items():
        for found, true in zip(leaves(ask(twin)), leaves(ask(alone)), strict=True):
            if fact == "right side":  # falls off another sum where that is asked for first
                np.testing.assert_allclose(found, true, rtol=1e-12)
            else:
                np.testing.assert_array_equal(found, true, err_msg=f"{fact} of {name}")


@pytest.mark.parametrize("name", ["matrix", "weight", "label", "n", "anything"])
def test_nothing_can_be_set(name):
    with pytest.raises(AttributeError, match="never changes"):
        setattr(problem(), name, 3)


def test_a_thing_is_made_once_and_threads_are_no_part_of_it():
    calls = []

    @reads("matrix")
    def made(p: Problem, power: int, threads: int | None) -> int:
        calls.append(power)
        return power * p.n

    p = problem()
    assert p.once(made, 2, threads=1) == p.once(made, 2, threads=8) == 80
    assert p.once(made, 3, threads=None) == 120
    assert calls == [2, 3]
    assert p.knows(made, 2)
    p.forget(made)
    assert not p.knows(made, 2)


def test_what_a_maker_reads_decides_which_copies_keep_it():
    @reads("matrix")
    def of_matrix(p: Problem) -> object:
        return object()

    def of_all(p: Problem) -> object:
        return object()

    p = problem()
    kept, dropped = p.once(of_matrix), p.once(of_all)
    assert against_rest(p, 0).once(of_matrix) is kept
    assert against_rest(p, 0).once(of_all) is not dropped
    assert rows_of(p, np.arange(3)).once(of_matrix) is not kept


def test_solvers_cannot_spoil_what_is_known():
    p = problem()
    true = survey(p).rows.copy()
    lent = p.lent
    survey(lent).rows[:] = -1.0
    lent.sign[:] = 7.0
    np.testing.assert_array_equal(survey(p).rows, true)
    assert set(np.unique(p.sign)) == {-1.0, 1.0}
    assert lent is p.lent is lent.lent
    assert against_rest(lent, 0).lent is not against_rest(lent, 0).lent.afresh()


def test_nothing_that_is_made_with_what_is_lent_is_seen():
    p = problem()
    gram(p.lent)
    assert not p._memory
    part = against_rest(p.lent, 0)
    assert part.lent is part


def test_memory_belongs_to_one_thing():
    class Thing(Once):
        def __init__(self) -> None:
            self._memory = {}

    def made(thing: Thing) -> list[int]:
        return []

    one, other = Thing(), Thing()
    assert one.once(made) is one.once(made)
    assert one.once(made) is not other.once(made)


def test_a_problem_is_freed_at_once():
    """Memory that waits for the collector is memory that the next fit does not find."""
    p = problem()
    survey(p)
    survey(p.lent)
    against_rest(p, 0).lent.once(lambda part: part.sign)
    gone = weakref.ref(p), weakref.ref(p.lent)
    gc.disable()
    try:
        del p
        assert gone[0]() is None
        assert gone[1]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "estimator",
    [
        linsep.LinearSVM(tol=1e-3),
        linsep.LogisticRegression(),
        linsep.LeastSquares(),
        linsep.GaussianClassifier(),
        linsep.Perceptron(max_iter=5),
        linsep.KernelSVM(tol=1e-3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_how_rows_lie_in_memory_changes_no_bit(estimator):
    """Frames and arrays by columns, views with strides, rows from the last to the first."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 7))
    y = X[:, 0] + rng.normal(size=1500) > 0
    wide = np.zeros((1500, 14))
    wide[:, ::2] = X
    forms = [np.asfortranarray(X), wide[:, ::2], X[::-1].copy()[::-1], pandas.DataFrame(X)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linsep.errors.NotSeparatedWarning)
        expected = clone(estimator).fit(X, y)
        for form in forms:
            model = clone(estimator).fit(form, y)
            assert (model.decision_function(X) == expected.decision_function(X)).all()
            assert str(model.certificate_) == str(expected.certificate_)
