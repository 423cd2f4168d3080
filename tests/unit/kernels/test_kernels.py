"""Kernel objects: values computed by hand, parameters, algebra, feature maps, files."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from math import exp, inf, sqrt, tanh

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import linsep
from linsep.errors import CapabilityError, DataError, ModelError, NotPositiveWarning, SettingError
from linsep.formats.json_model import pack, unpack
from linsep.kernels import (
    RBF,
    ChiSquared,
    Constant,
    Function,
    Hellinger,
    Intersection,
    Kernel,
    Linear,
    Polynomial,
    PowerMean,
    Precomputed,
    Sigmoid,
    as_kernel,
    from_dict,
)

x, z = [1.0, 4.0], [4.0, 0.0]
ALL = [
    Linear(), Polynomial(2), Polynomial(3, 0.5, 2.0), RBF(sigma=2.0), RBF(gamma=0.1), RBF(),
    Sigmoid(0.1, -1.0), Intersection(), ChiSquared(), Hellinger(), PowerMean(-2.0), PowerMean(-inf),
    Constant(2.0), RBF(gamma=0.5) + 2 * Linear(), Linear() * (Linear() + 1),
    0.5 * (RBF() * Linear()), 2 * (3 * Linear()), Linear() + (Linear() + Hellinger()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "xx", "xz", "zz"),
    [
        (Linear(), 17, 4, 16),
        (Polynomial(2), 18**2, 5**2, 17**2),
        (Polynomial(3, 0), 17**3, 4**3, 16**3),
        (Polynomial(2, 3, gamma=0.5), 11.5**2, 5**2, 11**2),
        (RBF(sigma=5), 1, exp(-25 / 50), 1),
        (RBF(gamma=0.1), 1, exp(-2.5), 1),
        (Sigmoid(0.1, -1), tanh(0.7), tanh(-0.6), tanh(0.6)),
        (Intersection(), 5, 1, 4),
        (ChiSquared(), 5, 2 * 1 * 4 / (1 + 4), 4),  # the second column is 4 and 0
        (Hellinger(), 5, 2, 4),
        (PowerMean(-2), 5, ((1 + 1 / 16) / 2) ** -0.5, 4),
        (PowerMean(-0.5), 5, ((1 + 0.5) / 2) ** -2.0, 4),
        (Constant(7), 7, 7, 7),
        (Linear() + 2 * Hellinger(), 27, 8, 24),
        (Linear() * Intersection() + 1, 86, 5, 65),
    ],
    ids=repr,
)
@pytest.mark.parametrize("form", [np.array, sp.csr_matrix, np.float32, pd.DataFrame])
def test_values_by_hand(kernel, xx, xz, zz, form):
    X = form([x, z])
    G = kernel.gram(X)
    np.testing.assert_allclose(G, [[xx, xz], [xz, zz]], rtol=2e-15)
    np.testing.assert_allclose(kernel.diagonal(X), [xx, zz], rtol=2e-15)
    assert G.dtype == np.float64
    assert kernel.gram(X, dtype=np.float32).dtype == np.float32
    np.testing.assert_allclose(kernel.gram(X, dtype=np.float32), G, rtol=1e-6)
    np.testing.assert_allclose(kernel(form([z]), X), [[xz, zz]], rtol=2e-15)


def test_zero_over_zero_is_zero():
    assert ChiSquared().gram([[0.0, 0.0]])[0, 0] == 0
    assert PowerMean(-0.3).gram([[0.0, 2.0]], [[0.0, 0.0]])[0, 0] == 0


def test_power_means_contain_the_named_kernels():
    X = np.random.default_rng(0).random((9, 5)) * (np.arange(5) > 0)
    for p, kernel in ((-inf, Intersection()), (-1, ChiSquared()), (0, Hellinger())):
        assert np.array_equal(PowerMean(p).gram(X), kernel.gram(X))
    for p, limit in ((-1e-7, 0), (-1e7, -inf), (-1 - 1e-8, -1)):
        np.testing.assert_allclose(PowerMean(p).gram(X), PowerMean(limit).gram(X), rtol=1e-6)


def test_xor_of_the_lecture():
    table = linsep.data.load("xor")
    kernel = Polynomial(degree=2, coef0=1)
    G = kernel.gram(table.X)
    assert np.array_equal(G, 8 * np.eye(4) + 1)
    # alpha = 1/8 solves the dual: H alpha = 1 and L_D = 1/4.
    H = np.outer(table.y, table.y) * G
    alpha = np.full(4, 1 / 8)
    assert np.array_equal(H @ alpha, np.ones(4))
    assert alpha.sum() - alpha @ H @ alpha / 2 == 0.25
    w = (alpha * table.y) @ kernel.features(table.X)
    sign = -1 if table.y[np.prod(table.X, axis=1) < 0][0] > 0 else 1
    np.testing.assert_allclose(w, [0, 0, 0, sign / sqrt(2), 0, 0], atol=1e-16)


# -- the matrix ------------------------------------------------------------------------------


def test_large_gram_is_symmetric_with_exact_diagonal():
    X = np.random.default_rng(1).standard_normal((1100, 7)) + 5
    for form in (np.asarray, sp.csr_matrix):
        for kernel in (RBF(gamma=0.3), Polynomial(3), RBF(gamma=1.0) * Linear()):
            G = kernel.gram(form(X))
            assert np.array_equal(G, G.T)
            np.testing.assert_allclose(np.diag(G), kernel.diagonal(form(X)), rtol=1e-13)
        G = RBF(gamma=0.3).gram(form(X))
        assert (np.diag(G) == 1).all() and (G <= 1).all()


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_far_from_the_origin_is_as_accurate(shift, form):
    X = np.random.default_rng(2).integers(-8, 9, (40, 3)) / 4 + shift  # exact in floats
    far = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(RBF(gamma=0.7).gram(form(X)), np.exp(-0.7 * far), rtol=1e-9)


def test_two_far_clusters():
    X = np.array([[0.0], [1.0], [1e8], [1e8 + 1]])
    e = exp(-1)
    want = [[1, e, 0, 0], [e, 1, 0, 0], [0, 0, 1, e], [0, 0, e, 1]]
    np.testing.assert_allclose(RBF(gamma=1.0).gram(X), want, rtol=1e-12)
    np.testing.assert_allclose(RBF(gamma=1.0).gram(X, X), want, rtol=1e-12)


def test_float32_keeps_its_promise():
    X = np.random.default_rng(3).standard_normal((600, 30)).astype(np.float32)
    exact = RBF(gamma=0.05).gram(X)
    assert exact.dtype == np.float64
    rough = RBF(gamma=0.05).gram(X, dtype=np.float32)
    assert rough.dtype == np.float32 and np.abs(rough - exact).max() < 1e-5
    for gamma in (1.0, 30.0, 1e3, 1e6):
        assert np.abs(RBF(gamma=gamma).gram(X, dtype="f4") - RBF(gamma=gamma).gram(X)).max() < 1e-3


def test_mixed_dense_and_sparse_with_empty_rows():
    rng = np.random.default_rng(4)
    X, Z = rng.random((30, 400)), rng.random((20, 400))
    X[rng.random(X.shape) < 0.98] = 0
    Z[rng.random(Z.shape) < 0.98] = 0
    X[3], Z[5] = 0, 0
    for kernel in ALL:
        kernel = kernel.resolve(X)
        want = kernel.gram(X, Z)
        for A, B in (
            (sp.csr_matrix(X), sp.csr_array(Z)),
            (X, sp.csr_matrix(Z)),
            (sp.csc_array(X), Z),
        ):
            np.testing.assert_allclose(kernel.gram(A, B), want, rtol=1e-12, atol=1e-14)


def test_too_large_a_matrix_is_refused_before_it_is_made():
    X = sp.csr_matrix((2_000_000, 2))
    with pytest.raises(CapabilityError, match="GiB"):
        RBF(gamma=1.0).gram(X)


# -- data that is refused ---------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Intersection(), ChiSquared(), Hellinger(), PowerMean(-3)])
def test_negative_entries_are_named(kernel):
    X = np.array([[1.0, 2.0], [3.0, -0.5], [-1.0, 1.0]])
    for form in (X, sp.csr_matrix(X)):
        with pytest.raises(DataError, match=r"-0.5 at row 1, column 1, 2 negative values"):
            kernel.gram(form)
        with pytest.raises(DataError, match="row 1, column 1"):
            (RBF() + 2 * kernel).gram(form)
    with pytest.raises(DataError, match=r"column 1 \('b'\)"):
        kernel.gram(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.raises(DataError, match="row 1, column 1"):
        kernel.gram(np.abs(X), X)


def test_other_bad_data():
    with pytest.raises(DataError, match="NaN at row 0, column 1"):
        RBF(gamma=1.0).gram([[1.0, np.nan]])
    with pytest.raises(DataError, match="in Z, the second matrix: X contains NaN at row 0"):
        RBF(gamma=1.0).gram([[1.0]], [[np.nan]])
    with pytest.raises(DataError, match="reshape"):
        RBF(gamma=1.0).gram([1.0, 2.0])
    with pytest.raises(DataError, match=r"in Z.*3 columns but X has 2"):
        Linear().gram(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(DataError, match="too large for float64; scale X"):
        Polynomial(3).gram([[1.0], [1e200]])
    with pytest.raises(DataError, match="row 1 with itself"):
        Linear().diagonal([[1.0], [1e200]])
    with pytest.raises(SettingError, match="float64 or float32"):
        Linear().gram([[1.0]], dtype=int)


# -- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_values_of_a_value_object(kernel):
    names = {k: getattr(linsep.kernels, k) for k in linsep.kernels.__all__}
    assert eval(repr(kernel), names) == kernel
    for copy in (clone(kernel), kernel.clone(), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel and copy is not kernel and hash(copy) == hash(kernel)
    assert from_dict(json.loads(json.dumps(kernel.to_dict(), allow_nan=False))) == kernel
    assert unpack(pack(kernel, "kernel", dict), "kernel", dict) == kernel
    assert kernel.resolve(np.eye(3)).resolved
    with pytest.raises(AttributeError):
        kernel.something = 1


def test_repr_is_short():
    assert repr(RBF()) == "RBF()"
    assert repr(RBF(sigma=2)) == "RBF(sigma=2)"
    assert repr(Polynomial(3, 1.0)) == "Polynomial()"
    assert repr(np.float64(0.5) * RBF(gamma=np.float64(0.25))) == "0.5 * RBF(gamma=0.25)"
    assert repr((Linear() + 1) * Linear()) == "(Linear() + Constant(value=1)) * Linear()"


def test_parameters_reach_into_sums_and_products():
    kernel = RBF(sigma=1.0) + 2.0 * Polynomial(2)
    assert kernel.get_params()["right__kernel__degree"] == 2
    kernel.set_params(left__gamma=0.5, right__factor=3.0, right__kernel__coef0=0)
    assert repr(kernel) == "RBF(gamma=0.5) + 3.0 * Polynomial(degree=2, coef0=0)"
    kernel.set_params(left=RBF(), left__sigma=4)
    assert kernel.left == RBF(sigma=4)


def test_bad_parameters_are_refused_and_leave_no_trace():
    kernel = RBF(sigma=1.0)
    with pytest.raises(SettingError, match="Invalid parameter 'degree'"):
        kernel.set_params(degree=2)
    with pytest.raises(SettingError, match="'gamma' parameter of RBF must be"):
        kernel.set_params(gamma=-1.0)
    assert kernel == RBF(sigma=1.0)
    for bad in (0, -1, inf, np.nan, "1", True, None):
        with pytest.raises(SettingError):
            RBF(gamma=bad)
    for bad in (0, 1.5, "2", True):
        with pytest.raises(SettingError, match="degree"):
            Polynomial(bad)
    with pytest.raises(SettingError, match="both sigma=1 and gamma=2"):
        RBF(sigma=1, gamma=2)
    with pytest.raises(SettingError, match="p > 0"):
        PowerMean(1)
    with pytest.raises(SettingError, match="'scale' or 'auto'"):
        Sigmoid(k="wide")


def test_parameters_from_the_data():
    X = np.random.default_rng(5).standard_normal((50, 4)) * 3 + 1
    for form in (X, sp.csr_matrix(X)):
        assert RBF().resolve(form).gamma == pytest.approx(1 / (4 * X.var()), rel=1e-12)
        assert RBF(gamma="auto").resolve(form) == RBF(gamma=0.25)
        assert (RBF() + Sigmoid("auto")).resolve(form).right == Sigmoid(0.25)
    assert RBF().resolve(np.ones((3, 2))) == RBF(gamma=1.0)
    np.testing.assert_array_equal(RBF().gram(X), RBF().resolve(X).gram(X))
    with pytest.raises(SettingError, match=r"resolve\(X_train\)"):
        RBF().gram(X, X)
    assert RBF(sigma=2).rate == 1 / 8 and RBF(gamma=1 / 8).width == 2


# -- algebra ----------------------------------------------------------------------------------


def test_only_positive_combinations():
    for make in (lambda: -1 * Linear(), lambda: Linear() * -0.5, lambda: -Linear()):
        with pytest.raises(SettingError, match="negative factor"):
            make()
    with pytest.raises(SettingError, match="difference can have negative"):
        Linear() - RBF()
    with pytest.raises(SettingError, match="constants are >= 0"):
        Linear() + -1
    for make in (lambda: Linear() + "rbf", lambda: Linear() * None):
        with pytest.raises(SettingError, match="neither a kernel nor a number"):
            make()
    with pytest.raises(SettingError, match="combine the Gram matrices"):
        Linear() + Precomputed()


def test_what_is_known_to_be_positive():
    assert all(k.positive for k in ALL if "Sigmoid" not in repr(k))
    assert Sigmoid().positive is False and Polynomial(2, -1).positive is False
    assert (Linear() + Sigmoid()).positive is None
    assert (0 * Sigmoid()).positive and Function(max).positive is None


# -- feature maps -----------------------------------------------------------------------------


def test_feature_maps_of_the_lecture():
    x1, x2 = 3.0, 5.0
    np.testing.assert_allclose(
        Polynomial(2, 0).features([[x1, x2]])[0], [x1**2, sqrt(2) * x1 * x2, x2**2]
    )
    r = sqrt(2)
    np.testing.assert_allclose(
        Polynomial(2, 1).features([[x1, x2]])[0], [1, r * x1, r * x2, r * x1 * x2, x1**2, x2**2]
    )


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(), Polynomial(1), Polynomial(2, 0), Polynomial(4, 0.5, 2.0), Hellinger(),
        Constant(3), Intersection(), PowerMean(-inf), PowerMean(0), Linear() + 2 * Intersection(),
        Hellinger() * (Polynomial(2) + 1), 0.25 * (Linear() * Linear()),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_kernel_is_product_of_features(kernel, form):
    X = form(np.random.default_rng(6).integers(0, 5, (12, 3)).astype(float))
    phi = kernel.features(X)
    np.testing.assert_allclose((phi @ phi.T).toarray() if sp.issparse(phi) else phi @ phi.T,
                               kernel.gram(X), rtol=1e-12)  # fmt: skip


def test_unary_code_of_new_and_of_broken_numbers():
    train, new = np.array([[2.0], [5.0]]), np.array([[3.0], [9.0]])
    code = Intersection().features
    np.testing.assert_array_equal(
        code(new, like=train) @ code(train).T, Intersection().gram(new, train)
    )
    X = np.random.default_rng(7).random((10, 2))
    np.testing.assert_allclose(code(X) @ code(X).T, Intersection().gram(X), rtol=1e-12)
    with pytest.raises(CapabilityError, match="between the values"):
        code(np.array([[0.5, 0.5]]), like=X)


def test_no_feature_map():
    X = np.ones((2, 40))
    for kernel, words in (
        (RBF(gamma=1.0), "infinitely many"),
        (ChiSquared(), "AdditiveSVM"),
        (Sigmoid(), "no explicit"),
        (Polynomial(2, -1), "below zero"),
        (Polynomial(9), "coordinates"),
        (RBF() + 1, "infinitely"),
    ):
        with pytest.raises(CapabilityError, match=words):
            kernel.features(X)


# -- names, functions, matrices ---------------------------------------------------------------


def test_kernels_by_name():
    X = np.random.default_rng(8).random((6, 3))
    assert as_kernel("rbf", X) == RBF().resolve(X)
    assert as_kernel("chi2") == ChiSquared() and as_kernel("hellinger") == Hellinger()
    assert as_kernel("poly", X).resolved and as_kernel("linear") == Linear()
    assert as_kernel(RBF(gamma=2.0)) == RBF(gamma=2.0)
    with pytest.warns(NotPositiveWarning, match="stationary point"):
        as_kernel("sigmoid", X)
    for bad, words in (("rfb", "'rbf'"), (RBF, r"RBF\(\)"), (3, "a name, a kernel")):
        with pytest.raises(SettingError, match=words):
            as_kernel(bad)


@pytest.mark.numba
def test_functions_of_rows_of_matrices_and_compiled():
    import numba

    compiled = numba.njit(lambda a, b: (a * b).sum() + 1.0)
    for d in (1, 2, 3, 4, 5, 6):
        X = np.random.default_rng(d).random((7, d))
        want = X @ X.T + 1
        for function, of in (
            (lambda a, b: a @ b + 1, "rows"),
            (lambda a, b: float(np.dot(a, b) + 1), "rows"),
            (lambda a, b: 1 + sum(p * q for p, q in zip(a, b, strict=True)), "rows"),
            (lambda a, b: a @ b.T + 1, "matrices"),
            (lambda a, b: Polynomial(1)(a, b), "matrices"),
            (compiled, "rows"),
        ):
            kernel = as_kernel(function, X)
            assert kernel.of == of
            np.testing.assert_allclose(kernel.gram(X), want, rtol=1e-12)
            np.testing.assert_allclose(kernel.gram(sp.csr_matrix(X[:2]), X), want[:2], rtol=1e-12)
            np.testing.assert_allclose(kernel.diagonal(X), np.diag(want), rtol=1e-12)


def test_functions_that_give_nonsense():
    X = np.ones((3, 2))
    with pytest.raises(DataError, match="must give one number"):
        as_kernel(lambda a, b: a).gram(X)
    with pytest.raises(DataError, match=r"shape \(1,\) for 3 and 3 rows"):
        Function(lambda a, b: np.ones(1), of="matrices").gram(X)
    with pytest.raises(DataError, match="too large"):
        as_kernel(lambda a, b: np.inf).gram(X)
    with pytest.raises(ModelError, match="no code"):
        Function(max).to_dict()


def test_precomputed():
    G = np.arange(9.0).reshape(3, 3)
    kernel = as_kernel("precomputed")
    assert np.array_equal(kernel.gram(G), G)
    assert np.array_equal(kernel.gram(G[:2], G), G[:2])
    assert np.array_equal(kernel.diagonal(G), [0, 4, 8])
    rows = kernel.rows(G)
    assert np.array_equal(kernel.block(rows.take([2, 0]), rows.take([1])), G[[2, 0]][:, [1]])
    with pytest.raises(DataError, match="one column for each training row"):
        kernel.gram(G[:2])


def test_rows_in_blocks_are_the_rows_of_the_gram_matrix():
    X = np.random.default_rng(9).random((40, 3)) + 50
    for kernel in ALL:
        kernel = kernel.resolve(X)
        rows = kernel.rows(X)
        kernel.prepare(rows)
        which = [7, 3, 39]
        np.testing.assert_allclose(
            kernel.block(rows.take(which), rows), kernel.gram(X)[which], rtol=1e-9
        )


def test_damaged_files():
    for bad in (
        None,
        {},
        {"type": "os.system"},
        {"type": "RBF", "gamma": -1},
        {"type": "Sum"},
        {"type": "Scaled", "factor": 1, "kernel": 3},
        {"type": "Linear", "x": 1},
    ):
        with pytest.raises(ModelError):
            from_dict(bad)


def test_intervals_hold_the_true_values():
    rng = np.random.default_rng(10)
    X = rng.random((3, 4)) * 3
    for kernel in ALL:
        kernel = kernel.resolve(X)
        G = kernel.gram(X)
        for i in range(3):
            ball = kernel.ball(list(X[i]), list(X[0]))
            assert float(ball.mid()) == pytest.approx(G[i, 0], rel=1e-12)
    exact = sum(min(Fraction(a), Fraction(b)) for a, b in zip(X[0], X[1], strict=True))
    assert Fraction(float(Intersection().ball(list(X[0]), list(X[1])).mid())) == pytest.approx(
        exact
    )


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(), Polynomial(3, 0.5, 0.25), Intersection(), ChiSquared(), PowerMean(-inf),
        PowerMean(-1.0), Constant(0.3), 0.1 * Linear() + Polynomial(2) * ChiSquared(),
    ],
)  # fmt: skip
def test_fractions_are_the_true_values(kernel):
    from flint import arb, fmpq

    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (6, 3)) / 8
    rows = [[fmpq(*float(v).as_integer_ratio()) for v in row] for row in X]
    for i in range(6):
        for j in range(6):
            value = kernel.exact(rows[i], rows[j])
            assert kernel.ball(X[i].tolist(), X[j].tolist()).overlaps(arb(value))
            assert float(value.p) / float(value.q) == pytest.approx(
                float(kernel.gram(X)[i, j]), rel=1e-12
            )


@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), Hellinger(), Sigmoid(), PowerMean(-2.0)])
def test_kernels_without_fractions_say_so(kernel):
    with pytest.raises(CapabilityError, match="no fraction"):
        kernel.exact([1], [2])


def test_quotients_powers_and_sums_of_lists():
    X = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(((Linear() + 1) ** 2).gram(X), Polynomial(2).gram(X))
    np.testing.assert_allclose((Linear() / 4).gram(X), X @ X.T / 4)
    assert Linear() ** 1 == Linear()
    assert sum([Linear(), RBF(gamma=1.0)]) == Linear() + RBF(gamma=1.0)
    assert Linear() + 0 == Linear()
    for bad in (
        lambda: Linear() ** 0,
        lambda: Linear() ** 0.5,
        lambda: Linear() ** True,
        lambda: Linear() / 0,
        lambda: Linear() / -2,
        lambda: Linear() / Linear(),
    ):
        with pytest.raises(SettingError, match="not a kernel"):
            bad()


def test_a_part_that_is_used_twice_is_set_once():
    part = RBF(gamma=1.0)
    kernel = part + part
    kernel.set_params(left__gamma=2.0)
    assert kernel == RBF(gamma=2.0) + RBF(gamma=1.0)
    assert part == RBF(gamma=1.0)


def test_every_kernel_is_public():
    kinds = {k for k in vars(linsep.kernels).values() if isinstance(k, type)}
    assert {k.__name__ for k in kinds if issubclass(k, Kernel)} <= set(linsep.kernels.__all__)
