"""Verdicts about kernels: Mercer's condition with its proof, and the diagnosis in words."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import linsep
from linsep.errors import DataError, ProofError, SettingError
from linsep.kernels import (
    RBF,
    ChiSquared,
    Function,
    Intersection,
    Linear,
    Polynomial,
    PowerMean,
    Precomputed,
    Sigmoid,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3))
counts = rng.integers(0, 6, (40, 5)).astype(float)


@pytest.mark.parametrize(
    "kernel",
    [
        Sigmoid(1, 0), Sigmoid(1, 1), Sigmoid(1, -1), Sigmoid("scale", 0), Sigmoid(-1, 0),
        Polynomial(2, -1), Polynomial(3, -0.5), RBF(gamma=1.0) + Sigmoid(), 2 * Sigmoid(),
        Function(lambda x, z: -(x @ z)), Function(lambda x, z: float(np.abs(x - z).sum())),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_negative_eigenvalue_comes_with_its_proof(kernel, form):
    verdict = kernel.check(form(X))
    assert verdict.psd is False and not verdict and verdict.proved and verdict.symmetric
    G = kernel.gram(X)
    assert verdict.smallest == pytest.approx(np.linalg.eigvalsh(G)[0], rel=1e-8)
    v = verdict.witness
    assert v.shape == (30,) and np.array_equal(np.flatnonzero(v), verdict.rows)
    assert v @ G @ v == pytest.approx(verdict.value, rel=1e-6) and verdict.value < 0
    psd, smallest, witness = verdict
    assert psd is False and smallest == verdict.smallest_eigenvalue and witness is v
    assert verdict.check(form(X))
    assert "not positive semidefinite" in str(verdict) and "interval arithmetic" in str(verdict)


def test_a_forged_witness_is_refused():
    verdict = Sigmoid(1, 0).check(X)
    with pytest.raises(ProofError, match="not below zero"):
        replace(verdict, witness=np.ones(30), rows=np.array([0])).check(X)
    with pytest.raises(DataError, match="about 30"):
        verdict.check(X[:5])
    with pytest.raises(ProofError, match="no witness"):
        Linear().check(X).check(X)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), RBF(), RBF(sigma=0.1) * Linear()])
def test_positive_kernels(kernel):
    for rows in (X, np.vstack([X, X]), X[:1], np.zeros((4, 2))):
        verdict = kernel.check(rows)
        assert verdict.psd is True and verdict and verdict.proved and verdict.witness is None
        assert "positive semidefinite on any rows" in str(verdict)


@pytest.mark.parametrize("p", [-np.inf, -5, -1, -0.2, 0])
def test_power_means_are_positive(p):
    G = PowerMean(p).gram(counts)
    assert np.linalg.eigvalsh(G)[0] > -1e-12 * np.abs(G).max()
    assert Function(PowerMean(p), of="matrices").check(counts).psd is True


def test_a_power_mean_above_zero_is_refuted():
    kernel = Function(lambda a, b: float(np.sqrt((a**2 + b**2) / 2).sum()))
    verdict = kernel.check(counts)
    assert verdict.psd is False and verdict.proved and len(verdict.rows) <= 3


def test_an_unsymmetric_function_is_no_kernel():
    verdict = Function(lambda x, z: x[0]).check(X)
    assert verdict.psd is False and not verdict.symmetric
    assert "not symmetric" in str(verdict)


def test_precomputed_matrices():
    verdict = Precomputed().check(np.eye(5) - 0.6)
    assert verdict.psd is False and verdict.smallest == pytest.approx(-2)
    assert verdict.check(np.eye(5) - 0.6)
    assert Precomputed().check(np.eye(5)).psd and not Precomputed().check(np.eye(5)).proved
    with pytest.raises(DataError, match="square"):
        Precomputed().check(np.ones((2, 3)))
    G = Sigmoid(1, 0).gram(rng.standard_normal((60, 2)))
    some = Precomputed().check(G, sample=40)
    assert some.psd is False and some.check(G) and some.witness @ G @ some.witness < 0


def test_a_sample_says_so():
    many = rng.standard_normal((300, 2))
    verdict = Sigmoid(1, 0).check(many, sample=50)
    assert (verdict.n, verdict.looked_at) == (300, 50)
    assert "a sample of 50 of 300 rows" in str(verdict)
    assert verdict.check(many)
    again = Sigmoid(1, 0).check(many, sample=50)
    assert np.array_equal(again.witness, verdict.witness)
    calm = Function(lambda x, z: np.exp(-np.abs(x - z).sum())).check(many, sample=50)
    assert calm.psd and not calm.proved and "Other rows may show" in str(calm)
    with pytest.raises(SettingError, match="sample is 1"):
        Linear().check(many, sample=1)


# -- diagnosis --------------------------------------------------------------------------------


def test_too_narrow_and_too_wide():
    narrow = RBF(sigma=0.01).diagnose(X)
    assert narrow.verdict == "nearly diagonal" and not narrow.ok and narrow.mass < 1e-3
    low, half, high = narrow.distances
    far = np.sqrt(((X[:, None] - X[None]) ** 2).sum(2))[np.triu_indices(30, 1)]
    np.testing.assert_allclose([low, half, high], np.quantile(far, [0.1, 0.5, 0.9]), rtol=1e-9)
    assert "times below the median distance" in str(narrow) and "cross-validation" in str(narrow)
    wide = RBF(sigma=1e3).diagnose(X)
    assert wide.verdict == "nearly constant" and "times the median distance" in wide.advice[0]
    # The advice helps.
    for sigma in (half / 4, half, half * 2):
        assert RBF(sigma=sigma).diagnose(X).ok


def test_default_width_is_fine_on_iris():
    rows = load_iris().data
    found = RBF().diagnose(rows)
    assert found.verdict == "fine" and found.ok and "fine" in str(found)
    assert ChiSquared().diagnose(rows).distances is None


def test_other_troubles():
    far = Linear().diagnose(X + 1000)
    assert far.verdict == "nearly constant" and "centre and scale" in far.advice[0]
    one = RBF().diagnose(X * [1, 1, 1e3])
    assert any("column 2 holds 100 %" in words for words in one.advice)
    steep = Polynomial(9).diagnose(rng.standard_normal((200, 5)) * 3)
    assert any("Normalizer" in words for words in steep.advice)
    eye = Precomputed().diagnose(np.eye(20))
    assert eye.verdict == "nearly diagonal" and eye.mass == 0


@pytest.mark.parametrize("rows", [X[:1], np.zeros((5, 2)), X[[0, 0, 0]], sp.csr_matrix((4, 3))])
def test_degenerate_rows_get_an_answer(rows):
    for kernel in (RBF(), Linear(), Polynomial(2), Sigmoid()):
        assert str(kernel.diagnose(rows))
        assert str(kernel.check(rows))


# -- picture ----------------------------------------------------------------------------------


@pytest.fixture
def no_windows():
    mpl.use("Agg")
    yield
    mpl.pyplot.close("all")


@pytest.mark.usefixtures("no_windows")
def test_gram_matrix_is_drawn_class_by_class():
    y = np.array(["b", "a"] * 15)
    display = linsep.GramDisplay.from_kernel("rbf", X, y)
    assert np.array_equal(display.order_, np.r_[1:30:2, 0:30:2])
    shown = display.image_.get_array()
    np.testing.assert_array_equal(shown, RBF().gram(X)[np.ix_(display.order_, display.order_)])
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["a (15)", "b (15)"]
    assert "RBF(gamma=" in display.ax_.get_title()
    assert display.eigenvalues_ is None
    display.figure_.canvas.draw()


@pytest.mark.usefixtures("no_windows")
def test_eigenvalues_beside_it_and_samples():
    display = linsep.GramDisplay.from_kernel(Sigmoid(1, 0), X, eigenvalues=True)
    np.testing.assert_allclose(
        display.eigenvalues_[::-1], np.linalg.eigvalsh(Sigmoid(1, 0).gram(X)), atol=1e-12
    )
    below = int((display.eigenvalues_ < -1e-12).sum())
    assert display.spectrum_[1].get_label() == f"below zero ({below})"
    assert display.image_.get_clim()[0] == -display.image_.get_clim()[1]
    few = linsep.GramDisplay.from_kernel(Linear(), X, sample=10, normalise=True)
    assert "10 of 30 rows" in few.title and few.image_.get_array().max() == pytest.approx(1)
    display.figure_.canvas.draw()
    with pytest.raises(SettingError, match="pair of axes"):
        few.plot(few.ax_, eigenvalues=True)
    with pytest.raises(DataError, match="y has shape"):
        linsep.GramDisplay.from_kernel("rbf", X, [1, 2])


@pytest.mark.usefixtures("no_windows")
def test_small_matrices_carry_their_numbers():
    table = linsep.data.load("xor")
    display = linsep.GramDisplay.from_kernel(Polynomial(2), table.X, table.y)
    assert sorted(t.get_text() for t in display.ax_.texts) == ["1"] * 12 + ["9"] * 4
    one = linsep.GramDisplay.from_kernel(Intersection(), [[0.0, 0.0]], eigenvalues=True)
    one.figure_.canvas.draw()
