"""The gap of machines of one class against the rest."""

from __future__ import annotations

import numpy as np

from linsep.core.problem import Problem, against_rest
from linsep.core.protocol import Witness
from linsep.losses.hinge import HINGE
from linsep.proofs.hinge import Objective, hinge_gap, svm_gap


def test_multipliers_of_all_machines_may_come_in_any_order():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 4
    problem, objective = Problem(X, y), Objective(HINGE, 2.0, "free")
    rows = rng.permutation(4 * 40)[:90]
    shares = rng.random(90)
    a = rng.normal(size=16)
    whole = svm_gap(problem, Witness(a=a, rows=rows, multipliers=shares), objective, "one-vs-rest")
    alone = []
    for k in range(4):
        own = rows // 40 == k
        part = Witness(a=a[4 * k : 4 * k + 4], rows=rows[own] % 40, multipliers=shares[own])
        alone.append(hinge_gap(against_rest(problem, k), part, objective))
    np.testing.assert_allclose(whole.lower_bound, sum(gap.lower_bound for gap in alone), rtol=1e-12)
    np.testing.assert_allclose(whole.objective, sum(gap.objective for gap in alone), rtol=1e-12)
    assert whole.lower_bound > 0
