"""One pass over the rows of a logistic model, compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest

from linsep.core.problem import Problem
from linsep.rows import logistic as logistic_pass


def data(n=60, d=4, seed=0, noise=3.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(2, d))[y] + noise * rng.normal(size=(n, d)), y


def test_compiled_and_plain_passes_agree():
    X, y = data(n=3000, d=40)  # just large enough to be compiled
    for form in (X, X.astype(np.float32)):
        problem = Problem(form, y, sample_weight=np.random.default_rng(0).random(3000) + 0.5)
        fast = logistic_pass.all_rows(problem, double=False)
        plain = logistic_pass.all_rows(problem, double=False)
        assert fast.X is not None
        plain.X = None
        a = np.random.default_rng(1).normal(size=41) * np.r_[np.full(40, 5.0), 1.0]
        one, two = (rows.read(a, offset=True, curved=True, threads=1) for rows in (fast, plain))
        rough = 1e-12 if form is X else 1e-4
        assert one.loss == pytest.approx(two.loss, rel=rough)
        assert one.v == pytest.approx(two.v, rel=rough, abs=rough * 1e4)
        assert one.curvature == pytest.approx(two.curvature, rel=10 * rough, abs=rough * 1e4)
        assert one.dual_sum == pytest.approx(two.dual_sum, rel=rough)
        assert one.dual_product == pytest.approx(two.dual_product, rel=rough)
        assert one.dual_length == pytest.approx(two.dual_length, rel=rough)
        one, two = (rows.gram(problem.weight, 2, offset=True) for rows in (fast, plain))
        assert one == pytest.approx(two, rel=10 * rough, abs=rough * 1e4)
