"""Numbers that stand for rows do not depend on layout, float type or machine code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from linsep.core import digest
from linsep.core.digest import row_hashes
from linsep.core.problem import Problem

CASES = [(1, 1), (3, 7), (60, 5), (5, 60), (300, 40)]


def table(n: int, d: int) -> np.ndarray:
    X = np.random.default_rng(n * d).choice([-1.5, -0.0, 0.0, 3.0, 1e300, 5e-324], size=(n, d))
    return X


def slowly(X: np.ndarray) -> list[int]:
    """The definition in Python's integers."""
    mask, out = (1 << 64) - 1, []
    for row in (X + 0.0).tolist():
        total = 0
        for j, value in enumerate(row):
            key = (j + 1) * 0x9E3779B97F4A7C15 & mask
            key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 & mask
            key = (key ^ (key >> 27)) | 1
            bits = int(np.float64(value).view(np.uint64))
            bits = (bits ^ (bits >> 32)) * 0x94D049BB133111EB & mask
            total += (bits ^ (bits >> 29)) * key
        out.append(total & mask)
    return out


@pytest.mark.parametrize("shape", CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_rows_have_the_number_of_the_definition(shape, compiled, monkeypatch):
    X = table(*shape)
    if compiled:
        monkeypatch.setattr(digest, "HASHED_BY_NUMPY", 1e-9)
    else:
        monkeypatch.setattr(digest, "_compiled", lambda *_: False)
    want = slowly(X)
    assert row_hashes(X, shape[1]).tolist() == want
    assert row_hashes(np.asfortranarray(X), shape[1]).tolist() == want
    assert row_hashes(csr_matrix(X), shape[1]).tolist() == want
    assert row_hashes(X[::-1], shape[1]).tolist() == want[::-1]


def test_float32_counts_as_the_same_values():
    X = table(20, 6).clip(-1e30, 1e30).astype(np.float32)
    assert np.array_equal(row_hashes(X, 6), row_hashes(X.astype(float), 6))


def test_pieces_of_a_large_matrix_are_put_together(monkeypatch):
    X = table(300, 40)
    want = row_hashes(X, 40)
    monkeypatch.setattr(digest, "HASHED_BY_NUMPY", 1e-9)
    monkeypatch.setattr(digest, "AT_ONCE", 1000)
    assert np.array_equal(row_hashes(X, 40), want)


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, csr_matrix])
@pytest.mark.parametrize("shape", [(3, 5), (200, 600)])
def test_products_of_all_rows_and_lengths_agree(form, shape):
    X = np.random.default_rng(0).standard_normal(shape)
    problem = Problem(form(X), np.arange(shape[0]) % 2)
    plain = problem.squared_lengths
    assert np.allclose(problem.gram, X @ X.T, rtol=1e-12, atol=1e-12)
    problem = problem.afresh()
    assert problem.gram.shape == (shape[0], shape[0])  # lengths are its diagonal from now on
    assert np.allclose(problem.squared_lengths, plain, rtol=1e-13)
