"""Where Kozinec's rule begins: the plane between the middles of the boxes of two classes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from linsep.core.problem import Problem
from linsep.solvers.hulls import kozinec


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_boxes_are_those_of_their_rows(K, sparse, monkeypatch):
    draw = np.random.default_rng(K)
    X = draw.normal(size=(60, 7)) * (draw.random((60, 7)) < 0.6)
    X[:, 3] = 2.0 + np.abs(X[:, 3])  # no zero in it
    y = draw.permutation(np.arange(60) % K)
    middles = np.array([(X[y == k].min(axis=0) + X[y == k].max(axis=0)) / 2 for k in range(K)])
    machine = np.column_stack([middles, -0.5 * (middles**2).sum(axis=1)])
    wanted = machine[1] - machine[0] if K == 2 else (machine - machine.mean(axis=0)).ravel()
    monkeypatch.setattr(kozinec, "AT_ONCE", 70)  # ten rows at a time
    found = kozinec._between_boxes(Problem(scipy.sparse.csr_matrix(X) if sparse else X, y))
    assert np.allclose(found, wanted, rtol=1e-13)
