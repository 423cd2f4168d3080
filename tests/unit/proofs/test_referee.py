"""Sums of kernel values by definition: each value is made once, and no part is believed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.problem import Problem
from linsep.kernels import (
    RBF,
    ChiSquared,
    Hellinger,
    Intersection,
    Linear,
    Polynomial,
    PowerMean,
)
from linsep.kernels.blocks import KernelValues
from linsep.proofs import referee
from linsep.proofs.referee import agreed, defined

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 4))
USED = np.sort(RNG.choice(300, 120, replace=False))
COEF = RNG.normal(size=(120, 3)) * (RNG.random((120, 3)) < 0.7)
IDS = np.arange(300)


@pytest.fixture
def made(monkeypatch):
    """How many kernel values the definition was asked for in sums, by their format."""
    sizes = []
    right = RBF.sums_by_definition

    def counted(self, A, B, *args):
        sizes.append((A.dtype, A.shape[0] * B.shape[0]))
        return right(self, A, B, *args)

    monkeypatch.setattr(RBF, "sums_by_definition", counted)
    return sizes


@pytest.fixture
def values():
    return KernelValues(Problem(X, np.sign(X[:, 0])), RBF(gamma=0.2))


def truth(values, used, coef, ids):
    return values.kernel.gram(X[ids], X[used]) @ coef


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [400, 2500])
def test_a_fit_asks_for_few_values_twice(n, K, made):
    rows = RNG.normal(size=(n, 6))
    y = (rows @ RNG.normal(size=(6, K)) + RNG.normal(size=(n, K))).argmax(axis=1)
    model = linsep.KernelSVM(kernel=RBF(gamma=0.2)).fit(rows, y)
    each = n * len(model.support_)
    found = {kind: sum(m for k, m in made if k == kind) for kind in (np.float32, np.float64)}
    if n == 400:
        assert found[np.float32] == 0 and each <= found[np.float64] <= 1.05 * each
    else:
        assert 0.3 * each < found[np.float32] <= each and 0 < found[np.float64] < 0.1 * each


@pytest.mark.parametrize("by", [1.0, 1.0003, -2.0])
def test_multiples_and_single_machines_need_no_value_and_no_row_is_believed(values, made, by):
    told = values.combine_many(USED, COEF, IDS)
    known = defined(values, IDS, USED, COEF)
    assert agreed(values, IDS, USED, COEF, told, 0.0, known)[0] is told
    count = len(made)
    some = IDS[40:250]
    for k in range(3):
        own = USED[COEF[:, k] != 0]
        coef, longer = by * COEF[COEF[:, k] != 0, k], known.times(np.full(3, by)).machine(k)
        sums = truth(values, own, coef, some)
        assert agreed(values, some, own, coef, sums, 0.0, longer)[0] is sums
        for row in (0, 77, 209):  # one row alone, by 1e-7 of its terms
            wrong = sums.copy()
            wrong[row] += 1e-7 * np.abs(coef).sum()
            found = agreed(values, some, own, coef, wrong, 0.0, longer)[0]
            np.testing.assert_allclose(found, sums, rtol=0, atol=1e-12 * np.abs(coef).sum())
    assert len(made) == count


def test_rows_that_nobody_has_made_are_made(values, made):
    known = defined(values, IDS[:200], USED, COEF)
    count, rest = len(made), IDS[200:]
    sums = truth(values, USED, COEF, rest)
    found = agreed(values, rest, USED, COEF, 1.01 * sums, 0.0, known)[0]
    np.testing.assert_allclose(found, sums, atol=1e-11)
    assert len(made) > count


WRONG = {
    "a block of 40 rows": lambda K, Z, b: K.__setitem__(slice(b, b + 40), K[b : b + 40] * 1.05),
    "another parameter": lambda K, Z, b: np.power(K, 1.001, out=K),
    "a column in another place": lambda K, Z, b: K.__setitem__((slice(None), [3, 4]), K[:, [4, 3]]),
    "stale rows": lambda K, Z, b: K.__setitem__(slice(b, b + 40), K[:40]),
    "lengths of some rows": lambda K, Z, b: K.__setitem__(slice(None, None, 50), K[::50] * 1.01),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_a_sample_finds_what_is_wrong_in_a_hundredth_of_the_rows(wrong, monkeypatch):
    monkeypatch.setattr(referee, "_EACH", 0)  # the smallest sample that there is
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4000, 6))
    used = np.sort(rng.choice(4000, 300, replace=False))
    values = KernelValues(Problem(rows, np.sign(rows[:, 0])), RBF(gamma=0.1))
    coef, every = rng.normal(size=300), np.arange(4000)
    K = values.kernel.definition(rows, rows[used])
    known = defined(values, every, used, coef)
    assert (known.place >= 0).sum() == 32 and (known.rough.place >= 0).sum() == 256
    true = K @ coef
    assert agreed(values, every, used, coef, true, 0.0, known)[0] is true
    for begin in (500, 2111, 3960):
        told = K.copy()
        WRONG[wrong](told, rows, begin)
        found = agreed(values, every, used, coef, told @ coef, 0.0, known)[0]
        np.testing.assert_allclose(found, true, atol=1e-10)


FORMULAS = [
    RBF(gamma=0.1),
    Polynomial(3, gamma=0.1),
    Linear(),
    Intersection(),
    Hellinger(),
    RBF(gamma=0.2).normalised(),
]


@pytest.mark.parametrize("kernel", FORMULAS, ids=repr)
def test_a_single_wrong_row_of_a_large_table_is_found(kernel):
    rng = np.random.default_rng(3)
    n, m = (1500, 240) if kernel.price(6) > 1 else (4000, 1500)
    rows = np.abs(rng.normal(size=(n, 6)))
    used = np.sort(rng.choice(n, m, replace=False))
    values = KernelValues(Problem(rows, np.sign(rows[:, 0] - 1)), kernel)
    coef, every = rng.normal(size=(m, 2)), np.arange(n)
    known = defined(values, every, used, coef)
    assert ((known.rough or known).place >= 0).all()
    true = values.combine_many(used, coef, every)
    assert agreed(values, every, used, coef, true, 0.0, known)[0] is true
    size = np.abs(kernel.definition(rows, rows[used])) @ np.abs(coef)
    for row in rng.choice(n, 20, replace=False).tolist():
        told = true.copy()
        told[row, 1] += 1e-5 * size[row, 1]
        found = agreed(values, every, used, coef, told, 0.0, known)[0]
        np.testing.assert_allclose(found, true, rtol=0, atol=1e-12 * size.max())


@pytest.mark.parametrize("kernel", [ChiSquared(), Intersection(), PowerMean(-2), Hellinger()])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_means_need_no_values_and_are_those_of_the_values(kernel, dtype):
    rng = np.random.default_rng(4)
    rows = np.where(rng.random((50, 5)) < 0.3, 0.0, rng.random((50, 5)).round(1)).astype(dtype)
    coef, size = rng.normal(size=(30, 2)), rng.random(30)
    for X, Z in [(rows, rows[:30]), [scipy.sparse.csr_array(part) for part in (rows, rows[:30])]]:
        K = kernel.definition(rows, rows[:30])
        out, sizes = kernel.sums_by_definition(X, Z, coef, size)
        np.testing.assert_allclose(out, K @ coef, atol=1e-12 if dtype == np.float64 else 1e-4)
        assert (sizes >= (1 - 1e-5) * (K @ size)).all()


def test_sums_of_a_machine_next_to_it_accuse_as_well(values):
    told = values.combine_many(USED, COEF, IDS)[:, 0]
    near = 1.0001 * told, np.ones(300)
    known = defined(values, IDS, USED, COEF[:, 0], near)
    assert (known.place >= 0).sum() == 32
    assert agreed(values, IDS, USED, COEF[:, 0], told, 0.0, known)[0] is told
    wrong = told.copy()
    wrong[123] += 1.0
    found = agreed(values, IDS, USED, COEF[:, 0], wrong, 0.0, known)[0]
    np.testing.assert_allclose(found, told, atol=1e-10)


def test_values_of_rows_with_themselves_are_looked_at_once(values, made):
    first = referee.agreed_diagonal(values, IDS[:9])
    count = len(made)
    np.testing.assert_allclose(first, 1.0)
    assert len(referee.agreed_diagonal(values, IDS)) == 300 and len(made) == count
