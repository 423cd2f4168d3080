"""Kernels divided by the lengths of the rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics.pairwise import cosine_similarity

import linsep
from linsep.kernels import RBF, Constant, Linear, Polynomial, Sigmoid, from_dict


def test_the_linear_kernel_becomes_the_cosine():
    X = np.random.default_rng(3).normal(size=(12, 4))
    K = Linear().normalised()
    assert K.gram(X, X[:5]) == pytest.approx(cosine_similarity(X, X[:5]))
    assert K.gram(scipy.sparse.csr_array(X)) == pytest.approx(cosine_similarity(X))
    assert K.gram([[0.0, 0.0], [3.0, 4.0]]).tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    "kernel", [Polynomial(3), RBF(gamma=0.3), 2 * Linear() + Constant(1)], ids=repr
)
def test_every_row_has_length_one(kernel):
    X = np.random.default_rng(4).normal(size=(10, 3)) * 20
    K, whole = kernel.normalised(), kernel.gram(X)
    roots = np.sqrt(np.diag(whole))
    assert K.gram(X) == pytest.approx(whole / np.outer(roots, roots), abs=1e-12)
    assert np.diag(K.gram(X)) == pytest.approx(np.ones(10)) and K.largest == 1.0
    assert from_dict(K.to_dict()) == K and eval(repr(K)) == K
    true = float(K.ball(X[0].tolist(), X[1].tolist()).mid())
    assert K.gram(X)[0, 1] == pytest.approx(true, abs=1e-13)


def test_a_machine_with_a_normalised_kernel_is_certified_and_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) * 100
    y = X[:, 0] * X[:, 1] > 0
    model = linsep.KernelSVM(C=10.0, kernel=Polynomial(2).normalised()).fit(X, y)
    assert model.certificate_.relative_gap < 1e-4 and model.score(X, y) > 0.9
    linsep.save(model, tmp_path / "m.json")
    assert (linsep.load(tmp_path / "m.json").predict(X) == model.predict(X)).all()


def test_a_kernel_without_lengths_is_refused():
    with pytest.raises(linsep.errors.SettingError, match="no lengths"):
        Sigmoid(1.0, -5.0).normalised().gram([[1.0], [2.0]])
