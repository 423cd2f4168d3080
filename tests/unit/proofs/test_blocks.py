"""What is proved block by block is what all rows together tell."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.proofs import plain
from linsep.proofs.certificate import judge
from linsep.proofs.margins import margin_below
from linsep.proofs.rivals import rivals_gap


def table(n=211, d=4, K=5, *, sparse=False):
    draw = np.random.default_rng(7)
    X, y = draw.normal(size=(n, d)), np.arange(n) % K
    X[np.arange(n), y % d] += 1.0
    return Problem(scipy.sparse.csr_matrix(X) if sparse else X, y), draw.normal(size=K * (d + 1))


@pytest.mark.parametrize("sparse", [False, True])
def test_certificates_of_blocks_are_those_of_all_rows(sparse, monkeypatch):
    problem, a = table(sparse=sparse)
    whole, gap = judge(problem, Witness(a=a)), rivals_gap(problem, a, None, 2.0)
    monkeypatch.setattr(plain, "AT_ONCE", 100)
    seen = plain.by_values(problem, a, lambda lo, hi, values: (lo, hi, values))
    assert len(seen) > 9
    assert [lo for lo, _, _ in seen] == [0, *(hi for _, hi, _ in seen[:-1])]
    found = np.concatenate([values for _, _, values in seen])
    W = a.reshape(problem.K, -1)
    X = problem.matrix.toarray() if sparse else problem.matrix
    scores = X @ W[:, :-1].T + W[:, -1]
    leads = [s[k] - np.delete(s, k) for s, k in zip(scores, problem.label)]
    assert np.allclose(found, np.concatenate(leads), rtol=1e-12)
    parts, other = judge(problem, Witness(a=a)), rivals_gap(problem, a, None, 2.0)
    assert parts.wrong_rows == whole.wrong_rows
    assert parts.errors == whole.errors == sum(lead.min() <= 0 for lead in leads)
    for name in ("margin", "margin_aug", "functional_margin", "objective"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)
    assert other.objective == pytest.approx(gap.objective, rel=1e-12)


def test_sums_of_squares_and_losses_of_blocks(monkeypatch):
    problem, _ = table()
    draw = np.random.default_rng(3)
    M, S = draw.normal(size=(problem.n, 5)), 9 * draw.normal(size=(5, problem.n))
    squares, losses = plain.weighted_squares(problem, M), plain.softmax_losses(S, problem.label)
    monkeypatch.setattr(plain, "AT_ONCE", 100)
    assert np.allclose(plain.weighted_squares(problem, M), squares, rtol=1e-13)
    for found, wanted in zip(plain.softmax_losses(S, problem.label), losses):
        assert np.array_equal(found, wanted)


def test_a_row_on_the_wrong_side_ends_the_search_for_a_margin(monkeypatch):
    import linsep.proofs.margins as margins

    problem = Problem(np.random.default_rng(0).normal(size=(40, 30)), np.arange(40) % 2)
    a = np.random.default_rng(1).normal(size=30)
    monkeypatch.setattr(margins, "_exact_below", lambda *args: pytest.fail("fractions"))
    assert margin_below(problem, a, 0.1) == 0.0
