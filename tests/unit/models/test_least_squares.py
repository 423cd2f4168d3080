"""Least squares: bounds that hold, rows that stand out, steps that diverge, hostile numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction as F

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import linsep
from linsep.core import drive
from linsep.core.problem import Problem
from linsep.core.protocol import Status, Witness
from linsep.errors import (
    CapabilityError,
    DataError,
    GapWarning,
    LinsepError,
    ModelError,
    SettingError,
)
from linsep.proofs.squares import Squares, measure_squares, rational_squares
from linsep.rows.normal import aims, columns_of, gram, totals
from linsep.rows.reader import survey
from linsep.solvers.squares.conjugate import ConjugateSquares
from linsep.solvers.squares.normal import ExactSquares
from linsep.solvers.squares.pseudo_inverse import pseudo_inverse

quiet = pytest.mark.filterwarnings(
    "ignore::linsep.errors.NotSeparatedWarning", "ignore::linsep.errors.GapWarning"
)


def blobs(n=60, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) + 1.5 * np.eye(classes, d)[y], y


# -- arithmetic ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_sums_agree_with_plain_numpy(kind, offset, classes):
    X, y = blobs(700, 5, classes)
    s = np.random.default_rng(1).uniform(0.5, 2, len(X))
    b = np.random.default_rng(2).uniform(0.5, 2, len(X))
    problem = Problem(kind(X), y, sample_weight=s, fit_intercept=offset, targets=b)
    W = np.column_stack([X, np.ones(len(X))]) if offset else X
    T = np.where(y[:, None] == np.arange(classes), b[:, None], -b[:, None])
    T = T[:, 1:] if classes == 2 else T
    np.testing.assert_array_equal(aims(problem), T)
    A = np.random.default_rng(3).normal(size=(W.shape[1], T.shape[1]))
    now = totals(problem, A, T)
    np.testing.assert_allclose(now.residual, W @ A - T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(now.gradient, W.T @ (s[:, None] * (W @ A - T)), rtol=1e-10)
    np.testing.assert_allclose(gram(problem).matrix, (W.T * s) @ W, rtol=1e-12)


def test_large_dense_sums_do_not_depend_on_blocks():
    X, y = blobs(30_000, 4)
    problem = Problem(X, y)
    W = np.column_stack([X, np.ones(len(X))])
    A = np.ones((5, 1))
    now = totals(problem, A, aims(problem))
    np.testing.assert_allclose(now.gradient, W.T @ (W @ A - aims(problem)), rtol=1e-10)
    np.testing.assert_allclose(gram(problem).matrix, W.T @ W, rtol=1e-12)


# -- the certificate ------------------------------------------------------------------------------

numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-10, 10, allow_subnormal=False),
    st.sampled_from([1e-8, -1e-8, 1e8, -1e8, 0.1, 1e-3]),
)


@st.composite
def tables(draw, most=8):
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float64, (n, d), elements=numbers))
    if draw(st.booleans()):
        X[:, draw(st.integers(0, d - 1))] = draw(numbers)  # a constant column
    if draw(st.booleans()):
        X[draw(st.integers(0, n - 1))] = X[0]  # a repeated row, perhaps of the other class
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    y[0], y[-1] = 0, 1
    return X, y


@given(tables(), st.booleans())
@settings(max_examples=60)
def test_the_lower_bound_never_exceeds_the_exact_minimum(data, offset):
    X, y = data
    problem = Problem(X, y, fit_intercept=offset)
    outcome = drive(problem, ExactSquares())
    factors = pseudo_inverse(problem)
    basis = None if factors.by_rows else factors.half / factors.scale[:, None]
    found = measure_squares(problem, outcome.witness, basis=basis)
    minimum = rational_squares(problem).minimum
    assert F(found.lower_bound) <= minimum or np.isfinite(found.reach)
    assert minimum <= F(found.objective)
    exact = measure_squares(problem, outcome.witness, known=rational_squares(problem))
    assert F(exact.lower_bound) <= minimum
    assert exact.lower_bound == pytest.approx(float(minimum), rel=1e-12, abs=1e-300)


@given(tables(), st.integers(0, 2**31))
@settings(max_examples=40)
def test_bounds_hold_for_any_weights(data, seed):
    X, y = data
    problem = Problem(X, y)
    a = np.random.default_rng(seed).normal(size=problem.dim)
    found = measure_squares(problem, Witness(a=a))
    T = aims(problem)
    A, rows = columns_of(problem, a), [[*map(F, map(float, x)), F(1)] for x in X.tolist()]
    true = sum(
        (sum(v * F(w) for v, w in zip(row, column)) - F(t)) ** 2
        for k, column in enumerate(A.T.tolist())
        for row, t in zip(rows, T[:, k].tolist())
    )
    assert true <= F(found.objective)
    assert F(found.lower_bound) <= rational_squares(problem).minimum or np.isfinite(found.reach)


@given(tables(most=12))
@settings(max_examples=25)
@quiet
def test_exact_weights_solve_the_normal_equations_and_are_the_shortest(data):
    X, y = data
    model = linsep.LeastSquares().fit(X, y)
    coef, offset = model.exact_coefficients()
    columns = [[*coef, offset]] if len(model.classes_) == 2 else [
        [*c, o] for c, o in zip(coef, offset)
    ]  # fmt: skip
    W = [[*map(F, map(float, row)), F(1)] for row in X.tolist()]
    T = aims(Problem(X, y)).tolist()
    for k, a in enumerate(columns):
        e = [sum(w * v for w, v in zip(row, a)) - F(t[k]) for row, t in zip(W, T)]
        assert all(sum(row[j] * v for row, v in zip(W, e)) == 0 for j in range(len(a)))
    # the shortest minimiser is a combination of rows: nothing of it is left across them
    import flint

    span = flint.fmpq_mat([[flint.fmpq(v.numerator, v.denominator) for v in row] for row in W])
    rank = span.rref()[1]
    more = [[flint.fmpq(v.numerator, v.denominator) for v in a] for a in columns]
    both = flint.fmpq_mat([*span.tolist(), *more])
    assert both.rref()[1] == rank
    assert model.status_.ok or model.certificate_.relative_gap > 0


def test_a_bound_for_nearly_dependent_columns_is_proved():
    X, y = blobs(500, 6)
    X = np.column_stack([X, X[:, 0] + 1e-9 * np.random.default_rng(5).normal(size=500)])
    model = linsep.LeastSquares(tol=1e-4).fit(X, y)
    assert model.condition_ > 1e8
    assert np.isinf(model.certificate_.reach)
    assert model.status_ is Status.CERTIFIED


def test_exact_dependencies_are_proved_in_integers():
    X, y = blobs(500, 4)
    hot = np.eye(5)[np.arange(500) % 5]
    model = linsep.LeastSquares().fit(np.column_stack([X, hot, X[:, 0]]), y)
    assert model.rank_ == 9
    assert np.isinf(model.certificate_.reach)
    assert model.certificate_.relative_gap < 1e-12


def test_zero_weights_are_not_called_the_minimum_where_bounds_are_weak():
    X, y = blobs(5, 40)
    found = measure_squares(Problem(X, y), Witness(a=np.zeros(41)))
    assert found.relative_gap > 0.5


def test_certificates_survive_a_round_trip():
    table = linsep.data.load("mse-1")
    found = linsep.LeastSquares().fit(table.X, table.y).certificate_
    assert Squares.from_dict(found.to_dict()) == found


@quiet
def test_models_survive_a_file(tmp_path):
    X, y = blobs(20, 3)
    for model in (linsep.LeastSquares(targets=np.arange(1.0, 21)), linsep.HoKashyap()):
        model.fit(X, y)
        linsep.save(model, tmp_path / "m.json")
        again = linsep.load(tmp_path / "m.json")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.certificate_ == model.certificate_
        assert again.summary().splitlines()[0] == model.summary().splitlines()[0]


def test_certify_recomputes_the_proof():
    X, y = blobs(300, 4)
    model = linsep.LeastSquares().fit(X, y)
    found = linsep.certify(model, X, y)
    assert found.relative_gap < 1e-12
    model.coef_ = model.coef_ + 0.1
    worse = linsep.certify(model, X, y)
    assert worse.relative_gap > 1e-4
    assert worse.lower_bound <= found.objective


# -- the exact solver ------------------------------------------------------------------------------


def test_conjugate_gradients_agree_with_the_factorisation():
    for n, d in ((200, 10), (20, 60)):
        X, y = blobs(n, d)
        first = drive(Problem(X, y), ExactSquares())
        second = drive(Problem(scipy.sparse.csr_array(X), y), ConjugateSquares(tol=1e-14))
        assert second.status.done
        np.testing.assert_allclose(first.witness.a, second.witness.a, rtol=1e-6, atol=1e-8)


def test_too_large_for_a_factorisation_goes_by_conjugate_gradients():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((2600, 3000), density=0.004, random_state=rng, format="csr")
    y = np.arange(2600) % 2
    model = linsep.LeastSquares().fit(X, y)
    assert model.status_ in (Status.CERTIFIED, Status.SEPARATED)
    assert "conjugate gradients" in model.solver_used_
    assert model.certificate_.objective < 600
    with pytest.raises(CapabilityError, match="2600 x 3001"):
        linsep.HoKashyap().fit(X, y)


def test_float32_and_sparse_data_give_the_answer_of_float64():
    X, y = blobs(4000, 6)
    short = X.astype(np.float32)
    want = linsep.LeastSquares().fit(short.astype(np.float64), y)
    for given_ in (short, scipy.sparse.csr_array(short), np.asfortranarray(short)):
        got = linsep.LeastSquares().fit(given_, y)
        np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-10)


def test_weights_count_rows():
    X, y = blobs(60, 3)
    s = np.arange(60) % 4
    want = linsep.LeastSquares().fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    got = linsep.LeastSquares().fit(X, y, sample_weight=s)
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-12)
    assert got.report().row.tolist() == np.flatnonzero(s).tolist()


@quiet
def test_targets_of_rows_without_weight_are_left_out():
    X, y = blobs(12, 2)
    b, s = np.arange(1.0, 13), (np.arange(12) != 5).astype(float)
    want = linsep.LeastSquares(targets=b[s > 0]).fit(X[s > 0], y[s > 0])
    got = linsep.LeastSquares(targets=b).fit(X, y, sample_weight=s)
    np.testing.assert_array_equal(got.coef_, want.coef_)


# -- steps -----------------------------------------------------------------------------------------


@quiet
def test_gradient_descends_and_reaches_the_minimum():
    X, y = blobs(80, 3)
    run = linsep.trace(linsep.LeastSquares(solver="gradient"), X, y)
    costs = [step.cost for step in run]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(costs))
    best = linsep.LeastSquares().fit(X, y).certificate_
    assert costs[-1] - best.lower_bound <= 1e-6 * best.total
    assert run.outcome.status is Status.CERTIFIED


@pytest.mark.parametrize("factor", [0.5, 1.9])
def test_rates_below_two_over_lambda_converge(factor):
    X, y = blobs(80, 3)
    W = np.column_stack([X, np.ones(80)])
    top = np.linalg.eigvalsh(W.T @ W)[-1]
    model = linsep.LeastSquares(solver="gradient", eta=factor / top).fit(X, y)
    assert model.status_ is Status.CERTIFIED


def test_rates_above_two_over_lambda_diverge_and_the_message_names_the_limit():
    X, y = blobs(80, 3)
    W = np.column_stack([X, np.ones(80)])
    top = np.linalg.eigvalsh(W.T @ W)[-1]
    with pytest.warns(GapWarning, match=f"2 / lambda_max = {2 / top:.6g}"):
        model = linsep.LeastSquares(solver="gradient", eta=2.1 / top).fit(X, y)
    assert model.status_ is Status.DIVERGED
    assert np.isfinite(model.coef_).all()


def test_gradient_from_the_gram_matrix_takes_the_same_steps():
    X, y = blobs(20_000, 4)
    model = linsep.LeastSquares(solver="gradient", max_iter=7, tol=1e-300)
    with pytest.warns(GapWarning):
        model.fit(X, y)
    W, t = np.column_stack([X, np.ones(len(X))]), 2.0 * y - 1
    a, eta = np.zeros(5), 1 / np.linalg.eigvalsh(W.T @ W)[-1]
    for _ in range(7):
        a -= eta * W.T @ (W @ a - t)
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], a, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_widrow_hoff_against_plain_code(classes, kind):
    X, y = blobs(12, 3, classes)
    model = linsep.LeastSquares(solver="widrow-hoff", eta=0.05, decay="inverse", max_iter=3)
    with pytest.warns(GapWarning):
        model.fit(kind(X), y)
    W = np.column_stack([X, np.ones(12)])
    T = aims(Problem(X, y))
    A = np.zeros((4, T.shape[1]))
    k = 0
    for _ in range(3):
        for x, t in zip(W, T):
            k += 1
            A -= 0.05 / k * np.outer(x, x @ A - t)
    np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]).T, A, rtol=1e-10)


def test_widrow_hoff_with_the_default_decay_converges():
    X, y = blobs(40, 2)
    model = linsep.LeastSquares(solver="widrow-hoff", tol=1e-4).fit(X, y)
    assert model.status_ is Status.CERTIFIED
    best = linsep.LeastSquares().fit(X, y).certificate_
    assert model.certificate_.objective - best.lower_bound <= 1e-4 * best.total


def test_widrow_hoff_with_a_constant_rate_ends_in_a_limit_cycle():
    X, y = blobs(20, 2)
    with pytest.warns(GapWarning, match="limit cycle"):
        model = linsep.LeastSquares(solver="widrow-hoff", decay="constant").fit(X, y)
    assert model.status_ is Status.LIMIT_CYCLE
    assert not model.status_.ok


def test_a_useless_rate_is_called_that():
    table = linsep.data.load("mse-1")
    with pytest.warns(GapWarning, match=r"k\^-0.00022"):
        linsep.LeastSquares(solver="widrow-hoff", decay="inverse", max_iter=20).fit(
            table.X, table.y
        )


# -- Ho and Kashyap --------------------------------------------------------------------------------


@given(tables(most=10))
@settings(max_examples=50)
@quiet
def test_ho_kashyap_agrees_with_the_verdict(data):
    X, y = data
    y = y % 2
    y[0], y[-1] = 0, 1
    proof = linsep.separability(X, y)
    model = linsep.HoKashyap(max_iter=300).fit(X, y)
    if model.status_ is Status.SEPARATED:
        assert proof.separable is True
        assert model.certificate_.errors == 0
    elif model.status_ is Status.INSEPARABLE:
        assert proof.separable is False
        assert min(model.certificate_.multipliers) > 0


def test_ho_kashyap_targets_only_grow_and_weights_are_their_least_squares():
    table = linsep.data.load("mse-2")
    model = linsep.HoKashyap().fit(table.X, table.y)
    assert (model.targets_ >= 1).all() and model.targets_.max() > 1
    want = linsep.LeastSquares(targets=model.targets_).fit(table.X, table.y)
    np.testing.assert_allclose(model.coef_, want.coef_, rtol=1e-9)


def test_ho_kashyap_takes_three_classes_one_against_the_rest():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 90)
    X = rng.normal(size=(90, 2)) + 9 * np.array([[1, 0], [0, 1], [-1, -1]])[y]
    model = linsep.HoKashyap().fit(X, y)
    assert model.status_ is Status.SEPARATED
    assert [c.separable for c in model.certificates_] == [True] * 3


def test_ho_kashyap_of_three_classes_ends_in_a_proof_that_no_machine_separates():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    y = [0, 1, 2, 0, 1, 2]
    model = linsep.HoKashyap().fit(X, y)
    found = model.certificate_
    assert model.status_ is Status.INSEPARABLE
    total = {}  # sum of m (e_own - e_rival) times [x, 1], exactly
    for m, row, rival in zip(found.multipliers, found.rows, found.rivals):
        assert m > 0
        for label, sign in ((y[row], 1), (rival, -1)):
            for j, value in enumerate((int(X[row, 0]), 1)):
                total[label, j] = total.get((label, j), 0) + sign * m * value
    assert total and set(total.values()) == {0}


def test_ho_kashyap_of_three_classes_keeps_its_machine_and_offers_one_that_separates():
    # no line separates the middle class from the rest, but a linear machine exists
    X = np.array([[0.0], [1.0], [1.5], [1.6], [7.0], [90.0]])
    y = [0, 0, 1, 1, 2, 2]
    model = linsep.HoKashyap().fit(X, y)
    assert [c.separable for c in model.certificates_] == [True, False, True]
    assert model.status_ is Status.CONVERGED and model.certificate_.errors == 2
    assert "a plane of margin 0.25 separates these rows" in model.summary()


# -- settings and hostile numbers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("b", "words"),
    [
        ([1, 1], r"shape \(2,\); X has 4 rows"),
        ([1, 0, 1, 1], r"targets\[1\] is 0"),
        ([1, 1, -2, 1], r"targets\[2\] is -2"),
        ([1, 1, 1, np.nan], r"targets\[3\] is nan"),
        (["a"] * 4, "not numbers"),
    ],
)
def test_bad_targets_are_refused_by_row(b, words):
    table = linsep.data.load("mse-1")
    for estimator in (linsep.LeastSquares, linsep.HoKashyap):
        with pytest.raises(DataError, match=words):
            estimator(targets=b).fit(table.X, table.y)


@pytest.mark.parametrize(
    "wrong",
    [
        {"solver": "qr"},
        {"eta": 0.1},
        {"decay": "inverse"},
        {"order": "shuffle"},
        {"solver": "gradient", "eta": -1},
        {"solver": "gradient", "decay": "fast"},
        {"tol": 0},
        {"start": "random"},
    ],
)
def test_bad_and_idle_settings_are_refused(wrong):
    table = linsep.data.load("mse-1")
    with pytest.raises(SettingError, match=next(reversed(wrong))):
        linsep.LeastSquares(**wrong).fit(table.X, table.y)


@pytest.mark.parametrize("eta", [0, 1.5, "fast"])
def test_ho_kashyap_refuses_rates_outside_its_range(eta):
    with pytest.raises(SettingError, match="> 0 and <= 1"):
        linsep.HoKashyap(eta=eta).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("solver", ["exact", "gradient", "widrow-hoff"])
def test_numbers_too_large_to_be_squared_are_refused_by_name(solver):
    with pytest.raises(DataError, match=r"overflowed: column 1 \('x2'\) reaches 1e\+300"):
        linsep.LeastSquares(solver=solver).fit([[1.0, 2.0], [3.0, 1e300]], [0, 1])
    with pytest.raises(DataError, match="NaN at row 1, column 0"):
        linsep.LeastSquares(solver=solver).fit([[1.0, 2.0], [np.nan, 1.0]], [0, 1])


hostile = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e300, -1e300, 1e-160, 1e160, 1e8, 1e-8, 0.1])


@given(hnp.arrays(np.float64, (5, 3), elements=hostile), st.booleans())
@settings(max_examples=80)
@quiet
def test_hostile_numbers_end_in_an_answer_or_a_clear_error(X, sparse):
    y = [0, 1, 0, 1, 1]
    data = scipy.sparse.csr_array(X) if sparse else X
    for model in (
        linsep.LeastSquares(),
        linsep.LeastSquares(solver="gradient", max_iter=20),
        linsep.LeastSquares(solver="widrow-hoff", max_iter=20),
        linsep.HoKashyap(max_iter=50),
    ):
        try:
            model.fit(data, y)
        except LinsepError as error:
            if "overflowed" not in str(error):
                raise
            continue
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        model.summary()


def test_large_models_have_no_fractions_and_say_so():
    X, y = blobs(3000, 4)
    with pytest.raises(ModelError, match="at most 1000 entries"):
        linsep.LeastSquares().fit(X, y).exact_coefficients()


def test_no_report_is_made_unasked_where_it_would_be_felt():
    X, y = blobs(120_000, 3)
    model = linsep.LeastSquares().fit(X, y)
    assert model.outliers_ is None
    with pytest.raises(SettingError, match="a large table"):
        model.report()
    assert len(model.report(X[:50], y[:50])) == 50


def test_the_report_is_a_table():
    X, y = blobs(60, 3)
    X[7] += 60
    model = linsep.LeastSquares().fit(X, y)
    frame = model.report().frame()
    assert frame.loc[7, "outlier"]
    assert model.outliers_[0] == 7
    assert frame.leverage.sum() == pytest.approx(4)
    assert len(str(model.report()).splitlines()) == 52
    again = model.report(X, y).frame()
    np.testing.assert_allclose(again.leverage, frame.leverage)
    with pytest.raises(ModelError, match="classes"):
        model.report(X, y + 1)


@quiet
def test_interrupted_by_time_keeps_a_model():
    X, y = blobs(60, 3)
    model = linsep.LeastSquares(solver="gradient", time_limit=0.0).fit(X, y)
    assert model.status_ in (Status.TIME_LIMIT, Status.CERTIFIED)  # the first model may do
    with pytest.warns(GapWarning):
        linsep.LeastSquares(solver="gradient", max_iter=1).fit(X, y)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_targets_with_squares_beyond_floats_are_refused(size):
    with pytest.raises(linsep.errors.DataError, match="only their ratios matter"):
        linsep.LeastSquares(targets=[size] * 4).fit(np.eye(4), [0, 1, 0, 1])


def test_a_column_twice_up_to_rounding_does_not_ruin_the_answer():
    rng = np.random.default_rng(0)
    x = rng.normal(size=12) * 1e-6
    X, y = np.column_stack([x, x * (1 + 1e-15)]), np.arange(12) % 2
    with pytest.warns(linsep.errors.GapWarning):
        model = linsep.LeastSquares().fit(X, y)
    once = linsep.LeastSquares().fit(X[:, :1], y)  # the rounded fractions are worse than zero
    assert model.certificate_.objective <= once.certificate_.objective * (1 + 1e-9)


def wide_counts(n=60, d=200, seed=0):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.csr_array(rng.poisson(0.1, size=(n, d)) * rng.integers(1, 300, size=(n, 1)))
    return X.astype(float), np.where(rng.random(n) > 0.5, 1, -1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_rough_inverse_of_the_rows_leads_to_the_shortest_solution(weighted, fit_intercept):
    X, y = wide_counts()
    s = np.random.default_rng(1).random(60) + 0.1 if weighted else None
    problem = Problem(X, y, sample_weight=s, fit_intercept=fit_intercept)
    out = drive(problem, ConjugateSquares(tol=1e-18, patience=0))
    A = np.column_stack([X.toarray(), np.ones(60)]) if fit_intercept else X.toarray()
    wanted = np.linalg.lstsq(A, y.astype(float), rcond=None)[0]
    found = out.witness.a if fit_intercept else out.witness.a[:-1]
    assert out.status.name == "CERTIFIED"
    assert out.steps < 20
    np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())


def test_rows_that_contradict_each_other_are_solved_the_first_way():
    X, y = wide_counts()
    X = scipy.sparse.vstack([X, X[:1]], format="csr")
    y = np.append(y, -y[0])  # one row with both signs
    problem = Problem(scipy.sparse.csr_array(X), y)
    plain = drive(problem, ConjugateSquares(tol=1e-9, patience=10**9))
    out = drive(problem, ConjugateSquares(tol=1e-9, patience=30))
    for one in (plain, out):
        cost = ((problem.values(one.witness.a) - 1) ** 2).sum()
        assert cost == pytest.approx(2.0, rel=1e-6)  # both miss by 1
        assert one.status.done
    assert out.state.vain
    np.testing.assert_allclose(out.witness.a, plain.witness.a, atol=1e-4)


def test_a_factor_is_made_in_stripes(monkeypatch):
    from linsep.solvers.squares import conjugate as module

    monkeypatch.setattr(module, "_STRIPE", 16)
    X, y = wide_counts()
    factor = module.RowFactor(Problem(X, y))
    while not factor.ready:
        factor.step()
    K = np.column_stack([X.toarray(), np.ones(60)])
    K = K @ K.T
    R = np.random.default_rng(2).normal(size=(60, 1))
    np.testing.assert_allclose(factor.solve(K @ R), R, atol=1e-2 * np.abs(R).max())


@pytest.mark.parametrize("solver", ["gradient", "widrow-hoff"])
def test_columns_whose_squares_vanish_are_named(solver):
    """1 / lambda_max is infinite there."""
    X = np.random.default_rng(0).standard_normal((7, 2)) * 1e-167
    model = linsep.LeastSquares(solver=solver, fit_intercept=False, max_iter=5)
    with pytest.warns(GapWarning, match="too small to be squared; scale them"):
        model.fit(X, np.arange(7) % 2)
    assert not model.status_.ok


def test_survey_of_rows_in_float32():
    """Squares of 1e-25 are 0 in float32, and yet such rows have a length."""
    X = np.ones((40, 3), np.float32)
    X[7] = 1e-25
    assert survey(Problem(X, np.arange(40) % 2)).row_lengths()[7] >= np.sqrt(3) * 1e-25


@pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")
def test_dependent_columns_are_named_with_what_they_are_made_of():
    pandas = pytest.importorskip("pandas")
    a, b = np.random.default_rng(6).integers(-9, 10, (2, 50)).astype(float)  # sums are exact
    frame = pandas.DataFrame({"a": a, "b": b, "total": a + b, "level": np.full(50, 3.0)})
    model = linsep.LeastSquares().fit(frame, a > b)
    assert model.dependent_ == {"total": "a + b", "level": "3"}
    assert "total = a + b, level = 3" in model.summary()
    assert linsep.LeastSquares().fit(frame[["a", "b"]], a > 0).dependent_ == {}
    other = linsep.LeastSquares(fit_intercept=False).fit(frame, a > b)
    assert other.dependent_ == {"total": "a + b"}


@pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")
def test_nearly_dependent_columns_are_named():
    a, b, c = np.random.default_rng(7).normal(size=(3, 60))
    model = linsep.LeastSquares().fit(np.column_stack([a, c, a + 1e-8 * b]), c > 0)
    assert model.dependent_ == {"x3": "nearly a combination of x1"}
    assert "x3 is nearly a combination of x1" in model.summary()


def test_dependent_columns_of_digits_are_the_empty_ones():
    data = load_digits()
    found = linsep.LeastSquares().fit(data.data, data.target).dependent_
    empty = np.flatnonzero(~data.data.any(axis=0)) + 1
    assert found == {f"x{j}": "0" for j in empty}


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
def test_numbers_of_a_thousand_bits_are_not_asked_for_a_verdict(monkeypatch):
    """A column of the least numbers there are: a search in fractions of these took 16 seconds."""
    import importlib

    home = importlib.import_module("linsep.models.least_squares")
    asked = []
    decide = home.decide
    monkeypatch.setattr(home, "decide", lambda problem: asked.append(problem) or decide(problem))
    X = np.random.default_rng(0).normal(size=(16, 2))
    y = np.arange(16) % 2
    assert linsep.LeastSquares().fit(X, y).proof_ is not None
    X[:, 1] *= 1e-309
    assert linsep.LeastSquares().fit(X, y).proof_ is None
    assert len(asked) == 1
