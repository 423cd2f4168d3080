"""Sums of kernel values by definition: each value is made once, and every row is looked at."""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.core.problem import Problem
from linsep.kernels import RBF
from linsep.kernels.blocks import KernelValues
from linsep.proofs.referee import agreed

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 4))
USED = np.sort(RNG.choice(300, 120, replace=False))
COEF = RNG.normal(size=(120, 3)) * (RNG.random((120, 3)) < 0.7)
IDS = np.arange(300)


@pytest.fixture
def made(monkeypatch):
    """How many kernel values the definition was asked for."""
    sizes = []
    right = RBF.definition

    def counted(self, A, B):
        if A is not B:
            sizes.append(A.shape[0] * B.shape[0])
        return right(self, A, B)

    monkeypatch.setattr(RBF, "definition", counted)
    return sizes


@pytest.fixture
def values():
    return KernelValues(Problem(X, np.sign(X[:, 0])), RBF(gamma=0.2))


def truth(values, used, coef, ids):
    return values.kernel.gram(X[ids], X[used]) @ coef


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [400, 2500])
def test_a_fit_asks_for_each_value_once(n, K, made):
    rows = RNG.normal(size=(n, 6))
    y = (rows @ RNG.normal(size=(6, K)) + RNG.normal(size=(n, K))).argmax(axis=1)
    model = linsep.KernelSVM(kernel=RBF(gamma=0.2)).fit(rows, y)
    assert n * len(model.support_) <= sum(made) <= 1.05 * n * len(model.support_)


@pytest.mark.parametrize("by", [1.0, 1.0003, -2.0])
def test_multiples_and_single_machines_need_no_value_and_no_row_is_believed(values, made, by):
    told = values.combine_many(USED, COEF, IDS)
    assert agreed(values, IDS, USED, COEF, told)[0] is told
    count = len(made)
    some = IDS[40:250]
    for k in range(3):
        own = USED[COEF[:, k] != 0]
        coef = by * COEF[COEF[:, k] != 0, k]
        sums = truth(values, own, coef, some)
        assert agreed(values, some, own, coef, sums)[0] is sums
        for row in (0, 77, 209):  # one row alone, by 1e-7 of its terms
            wrong = sums.copy()
            wrong[row] += 1e-7 * np.abs(coef).sum()
            found = agreed(values, some, own, coef, wrong)[0]
            np.testing.assert_allclose(found, sums, rtol=0, atol=1e-12 * np.abs(coef).sum())
    assert len(made) == count


def test_other_machines_and_other_rows_are_made(values, made):
    first = IDS[:200]
    agreed(values, first, USED, COEF, truth(values, USED, COEF, first))
    count = len(made)
    for ids, used, coef in [
        (IDS, USED, COEF),  # more rows
        (first, USED, COEF + 1e-12),
        (first, USED[1:], COEF[1:]),  # a machine without one of the vectors
        (first, np.setdiff1d(IDS, USED)[:120], COEF),  # and with others
    ]:
        sums = truth(values, used, coef, ids)
        wrong = sums.copy()
        wrong[-1] *= 1.01
        found = agreed(values, ids, used, coef, wrong)[0]
        np.testing.assert_allclose(found, sums, atol=1e-11)
        assert len(made) > count
        count = len(made)


def test_a_machine_of_many_has_its_share_in_the_sample_for_all(values, made, monkeypatch):
    monkeypatch.setattr(linsep.proofs.referee, "_ALL", 0)  # samples of the least size
    agreed(values, IDS, USED, COEF, truth(values, USED, COEF, IDS))
    count = len(made)
    own = USED[COEF[:, 0] != 0]
    coef = COEF[COEF[:, 0] != 0, 0]
    told = truth(values, own, coef, IDS)
    assert agreed(values, IDS, own, coef, told)[0] is told
    assert len(made) == count
    wrong = 1.01 * told
    np.testing.assert_allclose(agreed(values, IDS, own, coef, wrong)[0], told, atol=1e-11)
