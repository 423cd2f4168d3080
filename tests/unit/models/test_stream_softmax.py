"""Softmax regression of streams: the model of the table, and a proof from flows between classes."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Peer

import linsep
from linsep.core.checkpoint import Checkpointer
from linsep.errors import CapabilityError, ProofError
from linsep.losses.softmax import circulation
from linsep.proofs.softmax import stream_softmax
from linsep.rows.parts import looked_at

CLASSES = np.array(["a", "b", "c", "d"])


def chunk(seed, n=2500):
    """Four classes, the last of them rare, and columns of different sizes."""
    random = np.random.default_rng(seed)
    X = random.normal([3.0, 0.0, -1.0], [1.0, 2.0, 0.5], size=(n, 3))
    W = np.array([[1.0, 0.5, 0.0], [-1.0, 0.5, 1.0], [0.0, -0.5, 1.0], [0.5, 0.0, -0.5]])
    scores = X @ W.T + [0.0, 4.0, 1.0, -4.5] + random.gumbel(size=(n, 4))
    return X, CLASSES[scores.argmax(axis=1)]


def stream(parts=24, **how):
    data = linsep.data.stream(lambda: (chunk(seed) for seed in range(parts)), **how)
    data.memory = 1
    return data


def table(parts=24):
    every = [chunk(seed) for seed in range(parts)]
    return np.concatenate([X for X, _ in every]), np.concatenate([y for _, y in every])


@pytest.mark.parametrize(
    "how",
    [
        {"tol": 1e-3}, {}, {"C": 100.0, "fit_intercept": False},
        {"C": 1e-3, "class_weight": "balanced"},
    ],
    ids=str,
)  # fmt: skip
def test_a_stream_has_the_model_of_the_table(how, tmp_path):
    data, (X, y) = stream(), table()
    model = linsep.LogisticRegression(**how).fit(data)
    whole = linsep.LogisticRegression(**how).fit(X, y)
    gap, other = model.certificate_, whole.certificate_
    assert model.status_.name == "CERTIFIED" and data.passes <= 7
    assert gap.relative_gap <= model.tol
    assert gap.lower_bound <= other.objective and other.lower_bound <= gap.objective
    reach = np.sqrt(2 * gap.gap) + np.sqrt(2 * other.gap)
    assert np.linalg.norm(model.coef_ - whole.coef_) <= reach + 1e-9
    assert gap.errors == np.count_nonzero(model.predict(X) != y)
    assert gap.check(data)
    linsep.save(model, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json")
    assert again.certificate_ == gap and again.certificate_.check(data)
    assert linsep.certify(again, data).relative_gap <= model.tol


def test_another_library_has_the_same_probabilities():
    X, y = table()
    model = linsep.LogisticRegression(C=0.1).fit(stream())
    other = Peer(C=0.1, tol=1e-9, max_iter=1000).fit(X, y)
    assert model.predict_proba(X[:999]) == pytest.approx(other.predict_proba(X[:999]), abs=1e-5)


def test_threads_and_a_stop_do_not_change_a_bit(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    X, y = table()
    names = {f"x{j}": X[:, j] for j in range(3)}
    pq.write_table(pa.table({**names, "y": y}), tmp_path / "a.parquet", row_group_size=4000)

    def opened(workers=2):
        data = linsep.data.stream(tmp_path / "a.parquet", workers=workers)
        data.memory = 1
        return data

    found = [linsep.LogisticRegression().fit(opened(workers)) for workers in (1, 2, 3)]
    assert len({json.dumps(model.certificate_.to_dict()) for model in found}) == 1
    keep = Checkpointer(tmp_path / "run.npz", every=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linsep.LogisticRegression(max_iter=1, callbacks=[keep]).fit(opened())
    resumed = linsep.LogisticRegression().resume(opened(), None, tmp_path / "run.npz")
    assert resumed.certificate_ == found[0].certificate_


@pytest.mark.parametrize("free", [True, False])
def test_no_generator_proves_too_much(free):
    data, (X, y) = stream(4), table(4)
    best = linsep.LogisticRegression(C=2.0, fit_intercept=free, tol=1e-9).fit(X, y)
    most, a = best.certificate_.objective, np.column_stack([best.coef_, best.intercept_])
    problem = looked_at(data, fit_intercept=free)
    random = np.random.default_rng(0)
    bounds = []
    for size in (0.0, 1e-9, 1e-3, 0.1, 1.0, 30.0):
        made = (a + size * random.normal(size=a.shape) * [1, 1, 1, free]).ravel()
        found = stream_softmax(problem, made, made, 2.0)
        assert 0 <= found.lower_bound <= most * (1 + 1e-12) and found.objective >= most * (1 - 1e-9)
        bounds.append(found.lower_bound)
    assert bounds[0] >= most * (1 - 1e-7) and bounds[2] >= 0.8 * most
    forged = replace(stream_softmax(problem, a.ravel(), a.ravel(), 2.0), lower_bound=1.1 * most)
    with pytest.raises(ProofError, match="lower bound"):
        forged.check(data)


def test_flows_balance_exactly_where_they_can():
    random = np.random.default_rng(3)
    for K in (2, 3, 7):
        F = random.random((K, K)) + 1.0
        F += F.T + 0.05 * random.random((K, K))
        np.fill_diagonal(F, 0.0)
        found = circulation(F)
        assert found is not None and (found.factor <= 1).all() and (found.factor > 0.5).all()
        left = found.factor * F
        assert left.sum(axis=0) == pytest.approx(left.sum(axis=1), rel=1e-13)
        assert found.tree.sum() == 2 * K - 2
    assert circulation(np.array([[0.0, 1.0], [0.0, 0.0]])) is None  # nothing flows back


def test_a_reference_class_is_refused():
    with pytest.raises(CapabilityError, match="reference"):
        linsep.LogisticRegression(reference="a").fit(stream())
