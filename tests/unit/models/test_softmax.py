"""Softmax regression: solver, loss and certificate."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import linsep
from linsep.core import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.losses.softmax import best_intercepts, class_balance, shares
from linsep.proofs.softmax import softmax_gap
from linsep.solvers.logistic.softmax import NewtonSoftmax


def table(n=60, d=3, K=3, seed=0, noise=1.5):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(K, d))[y] * 2 + noise * rng.normal(size=(n, d)), y


def exact_objective(problem, a, C, reference=None):
    """P in sixty digits, from the stored weights."""
    with localcontext(prec=60, Emin=-(10**6), Emax=10**6):
        X = problem.matrix.toarray() if problem.sparse else problem.matrix
        W = [[Decimal(float(v)) for v in row] for row in np.reshape(a, (problem.K, -1))]
        if reference is not None:
            W = [[v - r for v, r in zip(row, W[reference])] for row in W]
        total = Decimal(0)
        if np.isfinite(C):
            total = sum(v * v for row in W for v in row[:-1]) / 2
        for i in range(problem.n):
            x = [Decimal(float(v)) for v in X[i]]
            f = [sum(p * q for p, q in zip(row, x)) + row[-1] for row in W]
            own = f[problem.label[i]]
            scale = Decimal(1 if np.isinf(C) else C) * Decimal(float(problem.weight[i]))
            total += scale * sum((v - own).exp() for v in f).ln()
        return total


def solve(problem, C=1.0, tol=1e-9, reference=None, **options):
    return drive(problem, NewtonSoftmax(C=C, tol=tol, reference=reference, **options))


# -- the loss ---------------------------------------------------------------------------------


def test_shares_and_losses_keep_their_relative_accuracy():
    S = np.array([[0.0, 0.0, 700.0], [-50.0, -400.0, 0.0], [-745.0, -1.0, 0.0]])
    label = np.array([0, 2, 1])
    now = shares(S, label)
    with localcontext(prec=400, Emin=-(10**6)):
        for i in range(3):
            own = S[label[i], i]
            loss = sum(Decimal(v - own).exp() for v in S[:, i]).ln()
            assert abs(Decimal(float(now.losses[i])) / loss - 1) < 1e-14
    np.testing.assert_allclose(now.rivals.sum(axis=0) + now.own, 1.0, rtol=1e-15)


def test_best_intercepts_balance_the_classes():
    rng = np.random.default_rng(1)
    S, label = rng.normal(size=(4, 200)) * 3, rng.integers(0, 4, 200)
    cost = rng.uniform(0.1, 2.0, 200)
    shift, now = best_intercepts(S, label, cost)
    assert np.abs(class_balance(now.rivals, label, cost)).max() < 1e-12
    assert abs(shift.sum()) < 1e-9
    fixed, now = best_intercepts(S, label, cost, reference=2)
    assert fixed[2] == 0.0
    np.testing.assert_allclose(fixed - fixed.mean(), shift - shift.mean(), atol=1e-10)


# -- the certificate --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_in_real_arithmetic(seed):
    rng = np.random.default_rng(seed)
    K, d, n = int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.integers(6, 14))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    y = np.arange(n) % K
    C = float(10.0 ** rng.integers(-3, 5))
    reference = None if seed % 3 else int(rng.integers(0, K))
    problem = Problem(
        X, y, sample_weight=rng.uniform(0.1, 3.0, n), fit_intercept=bool(rng.integers(0, 4))
    )
    best = solve(problem, C, reference=reference).witness.a
    least = exact_objective(problem, best, C, reference)
    for spread in (0.0, 1e-9, 1e-4, 0.1, 10.0):
        blocks = best.reshape(K, d + 1) * (1 + spread * rng.normal(size=(K, d + 1)))
        if not problem.fit_intercept:
            blocks[:, -1] = 0.0
        if reference is not None:
            blocks[reference] = 0.0
        proof = softmax_gap(problem, blocks.ravel(), C, reference)
        assert proof.objective >= exact_objective(problem, blocks, C, reference)
        assert 0.0 <= proof.lower_bound <= least
        if spread == 0.0:
            assert proof.relative_gap < 1e-7


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_the_likelihood_hold_in_real_arithmetic(seed):
    rng = np.random.default_rng(seed)
    K, d, n = int(rng.integers(2, 4)), int(rng.integers(1, 3)), 16
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    problem = Problem(X, rng.permutation(np.arange(n) % K), fit_intercept=bool(seed % 4))
    out = drive(problem, NewtonSoftmax(C=np.inf, tol=1e-9), limits=Limits(steps=60))
    least = exact_objective(problem, out.witness.a, np.inf)
    proved = 0
    for spread in (0.0, 1e-6, 1e-3, 1.0):
        a = out.witness.a * (1 + spread * rng.normal(size=out.witness.a.size))
        if not problem.fit_intercept:
            a.reshape(K, -1)[:, -1] = 0.0
        proof = softmax_gap(problem, a, np.inf)
        assert proof.objective >= exact_objective(problem, a, np.inf)
        assert 0.0 <= proof.lower_bound <= least
        proved += proof.lower_bound > 0
    if out.status is Status.CERTIFIED:
        assert proved >= 2
        assert softmax_gap(problem, out.witness.a, np.inf).relative_gap < 1e-9


def test_any_dual_point_gives_a_true_bound():
    problem = Problem(*table())
    best = solve(problem)
    least = exact_objective(problem, best.witness.a, 1.0)
    rng = np.random.default_rng(5)
    for size in (0.0, 0.1, 1.0, 100.0):
        alpha = size * rng.normal(size=(problem.n, problem.K))
        proof = softmax_gap(problem, best.witness.a, 1.0, alpha=alpha)
        assert 0.0 <= proof.lower_bound <= least
    S = best.state.S
    alpha = -shares(S, problem.label).rivals.T
    assert softmax_gap(problem, best.witness.a, 1.0, alpha=alpha).relative_gap < 1e-9


def test_a_model_that_is_no_answer_has_a_gap():
    problem = Problem(*table())
    zero = softmax_gap(problem, np.zeros(12), 1.0)
    assert zero.objective == pytest.approx(60 * np.log(3))
    assert 0 < zero.lower_bound < zero.objective
    assert zero.errors == 60  # a tie is an error
    assert softmax_gap(problem, np.full(12, 1e300), 1.0).relative_gap == np.inf


def test_words_name_the_objective():
    problem = Problem(*table())
    text = str(softmax_gap(problem, solve(problem).witness.a, 1.0))
    assert "sum of log-losses of 3 classes" in text
    assert "not penalised" in text
    fixed = softmax_gap(problem, solve(problem, reference=1).witness.a, 1.0, reference=1)
    assert "the weights of class 1 being 0" in fixed.words


def test_data_that_no_maximum_exists_for_get_no_proof():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    problem = Problem(X, [0, 0, 1, 1, 2, 2])
    out = drive(problem, NewtonSoftmax(C=np.inf), limits=Limits(steps=100))
    assert out.status in (Status.SEPARATED, Status.STALLED)
    proof = softmax_gap(problem, out.witness.a, np.inf)
    assert proof.lower_bound == 0.0


def test_columns_that_depend_on_others_do_not_spoil_the_proof_of_the_likelihood():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 2)).astype(float)
    dummies = np.column_stack([X, X.sum(axis=1), np.ones(60), np.zeros(60)])
    y = rng.integers(0, 3, 60)
    one, other = Problem(X, y), Problem(dummies, y)
    plain, wide = (drive(p, NewtonSoftmax(C=np.inf, tol=1e-10)) for p in (one, other))
    first = softmax_gap(one, plain.witness.a, np.inf)
    second = softmax_gap(other, wide.witness.a, np.inf)
    assert first.relative_gap < 1e-9
    assert second.relative_gap < 1e-9
    assert first.objective == pytest.approx(second.objective, rel=1e-10)


# -- the solver -------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("reference", [None, 0, 2])
def test_small_tables_are_solved_to_the_tolerance_asked_for(C, reference):
    problem = Problem(*table())
    for tol in (1e-3, 1e-6, 1e-9):
        out = solve(problem, C, tol=tol, reference=reference)
        assert out.status is Status.CERTIFIED
        assert softmax_gap(problem, out.witness.a, C, reference).relative_gap < tol


def test_a_reference_class_stays_zero_and_posteriors_sum_to_one():
    problem = Problem(*table(K=4))
    blocks = solve(problem, reference=3).witness.a.reshape(4, -1)
    assert not blocks[3].any()
    powers = np.exp(problem.matrix @ blocks[:3, :-1].T + blocks[:3, -1])
    posterior = np.column_stack([powers, np.ones(problem.n)]) / (1 + powers.sum(axis=1))[:, None]
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


def test_two_classes_with_a_reference_are_the_binary_model():
    from linsep.proofs.logistic import logistic_gap

    problem = Problem(*table(K=2))
    a = solve(problem, reference=0).witness.a.reshape(2, -1)
    one = softmax_gap(problem, a.ravel(), 1.0, reference=0)
    two = logistic_gap(problem, a[1], 1.0, "free")
    assert one.objective == pytest.approx(two.objective, rel=1e-12)
    assert one.lower_bound == pytest.approx(two.lower_bound, rel=1e-8)


def test_two_classes_without_a_reference_share_the_weights():
    problem = Problem(*table(K=2))
    a = solve(problem, C=2.0).witness.a.reshape(2, -1)
    np.testing.assert_allclose(a[0], -a[1], atol=1e-6)
    # |w/2|^2 twice is |w|^2 / 2: the binary model of half the penalty, so of twice C
    w = solve(problem, C=4.0, reference=0).witness.a.reshape(2, -1)[1]
    np.testing.assert_allclose(a[1] - a[0], w, atol=1e-6)


def test_without_a_penalty_all_references_give_the_same_probabilities():
    rng = np.random.default_rng(3)
    problem = Problem(rng.normal(size=(80, 2)), rng.integers(0, 3, 80))
    ends = [solve(problem, np.inf, 1e-10, reference).witness.a for reference in (None, 0, 1, 2)]
    blocks = [a.reshape(3, -1) for a in ends]
    np.testing.assert_allclose(blocks[0].sum(axis=0), 0.0, atol=1e-12)
    for block in blocks[1:]:
        np.testing.assert_allclose(block - block.mean(axis=0), blocks[0], atol=1e-5)


def test_weights_are_repetitions():
    X, y = table(n=30)
    times = np.random.default_rng(0).integers(1, 4, 30)
    one = solve(Problem(X, y, sample_weight=times.astype(float)))
    two = solve(Problem(np.repeat(X, times, axis=0), np.repeat(y, times)))
    np.testing.assert_allclose(one.witness.a, two.witness.a, atol=1e-6)


def test_hostile_scales_are_solved():
    X, y = table(n=90, d=4)
    problem = Problem(X * np.array([1e-8, 1.0, 1e4, 1e8]), y)
    out = solve(problem, tol=1e-3)
    assert out.status is Status.CERTIFIED
    assert softmax_gap(problem, out.witness.a, 1.0).relative_gap < 1e-5


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_different_orders_of_magnitude_are_reached_from_small_costs(sparse):
    X = np.array(
        [[-1, 1e4, 0.5], [0, -1, 1e4], [-1, 1e-300, -1], [-1, 1e-4, 3], [-1e4, 0.5, 1e-300]]
    )
    problem = Problem(scipy.sparse.csr_array(X) if sparse else X, [0, 1, 2, 0, 1])
    out = drive(problem, NewtonSoftmax(C=1000.0), limits=Limits(steps=120))
    assert out.status is Status.CERTIFIED
    assert softmax_gap(problem, out.witness.a, 1000.0).relative_gap < 1e-3


@pytest.mark.parametrize("form", ["float32", "csr", "F", "int"])
def test_layouts_end_alike(form):
    X, y = table(n=80, d=5)
    X = np.round(X)
    make = {
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: scipy.sparse.csr_array(X),
        "F": lambda: np.asfortranarray(X),
        "int": lambda: X.astype(int),
    }[form]
    one, two = solve(Problem(X, y)), solve(Problem(make(), y))
    np.testing.assert_allclose(one.witness.a, two.witness.a, atol=1e-7)


def test_wide_tables_are_solved():
    X, y = table(n=30, d=900)
    problem = Problem(X, y)
    out = solve(problem, tol=1e-6)
    assert out.status is Status.CERTIFIED
    assert softmax_gap(problem, out.witness.a, 1.0).relative_gap < 1e-6


@pytest.mark.parametrize("sparse", [False, True])
def test_wide_tables_of_any_scale_are_solved_to_the_last_digits(sparse):
    rng = np.random.default_rng(1)
    X = np.exp(3 * rng.normal(size=(40, 2000)))
    X[:, 7] = X[:, 8]
    problem = Problem(scipy.sparse.csr_array(X) if sparse else X, np.arange(40) % 3)
    solver = NewtonSoftmax(C=1e-3, tol=1e-9)
    out = drive(problem, solver)
    assert out.status is Status.CERTIFIED
    assert softmax_gap(problem, out.witness.a, 1e-3).relative_gap < 1e-6
    W = out.witness.a.reshape(3, -1)
    np.testing.assert_allclose(W[:, 7], W[:, 8], rtol=1e-6, atol=1e-12)
    again = solver.init(problem, start=(W[:, :-1], W[:, -1]))
    assert again.gap < 1e-6


def test_many_sparse_columns_are_solved():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(300, 4000, density=0.01, format="csr", random_state=0)
    y = rng.integers(0, 4, 300)
    problem = Problem(X, y)
    out = solve(problem, C=10.0, tol=1e-6)
    assert out.status is Status.CERTIFIED
    assert softmax_gap(problem, out.witness.a, 10.0).relative_gap < 1e-6


def test_tall_tables_start_on_a_sample():
    X, y = table(n=30_000, d=6, K=4, noise=3.0)
    problem = Problem(X, y)
    out = solve(problem, tol=1e-4)
    assert out.status is Status.CERTIFIED
    assert softmax_gap(problem, out.witness.a, 1.0).relative_gap <= 1e-4
    assert out.passes < 15


def test_the_matrices_of_classes_come_into_play(monkeypatch):
    from linsep.solvers.logistic import softmax as softmax_system

    monkeypatch.setattr(softmax_system, "WHOLE_HESSIAN", 10)
    monkeypatch.setattr(NewtonSoftmax, "_worth_pairs", lambda self, problem: False)
    problem = Problem(*table(n=400, d=8, K=3, noise=4.0))
    out = drive(problem, NewtonSoftmax(C=100.0, tol=1e-12))
    assert out.state.kind == "classes"
    assert softmax_gap(problem, out.witness.a, 100.0).relative_gap < 1e-8


def rows_of(*numbers):
    values = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0, *numbers])
    return st.integers(1, 3).flatmap(
        lambda d: st.lists(st.lists(values, min_size=d, max_size=d), min_size=3, max_size=9)
    )


@settings(max_examples=40, deadline=None)
@given(rows_of(1e-300, 1e3, -1e3, 1e-5), st.sampled_from([1e-3, 1.0, 1e3]), st.booleans())
def test_contradicting_rows_constant_columns_and_duplicates_are_solved(rows, C, offset):
    problem = Problem(rows, np.arange(len(rows)) % 3, fit_intercept=offset)
    out = drive(problem, NewtonSoftmax(C=C), limits=Limits(steps=200))
    assert out.status is Status.CERTIFIED
    assert softmax_gap(problem, out.witness.a, C).relative_gap <= 1e-3


@settings(max_examples=25, deadline=None)
@given(
    rows_of(1e300, -1e150, 1e-300, 1e8, -1e8), st.sampled_from([1e-3, 1.0, np.inf]), st.booleans()
)
def test_the_most_hostile_tables_end_with_a_true_statement(rows, C, offset):
    problem = Problem(rows, np.arange(len(rows)) % 3, fit_intercept=offset)
    out = drive(problem, NewtonSoftmax(C=C), limits=Limits(steps=30))
    proof = softmax_gap(problem, out.witness.a, C)
    assert 0.0 <= proof.lower_bound <= proof.objective


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("far", [2e3, 1e5, 1e8])
def test_columns_far_from_zero_are_solved_and_proved_like_others(C, far):
    X, y = table(n=90, noise=3.0)
    X = np.round(X * 64) / 64  # exact behind any of these offsets
    near = drive(Problem(X, y), NewtonSoftmax(C=C, tol=1e-12), limits=Limits(steps=50))
    problem = Problem(X + np.array([far, 0.0, -far]), y)
    out = drive(problem, NewtonSoftmax(C=C, tol=1e-12), limits=Limits(steps=50))
    assert out.status in (Status.CERTIFIED, Status.STALLED) and out.steps < 30
    W, V = (o.witness.a.reshape(3, 4)[:, :-1] for o in (near, out))
    np.testing.assert_allclose(V, W, rtol=1e-6, atol=1e-8)
    gap = softmax_gap(problem, out.witness.a, C)
    least = exact_objective(Problem(X, y), near.witness.a, C)
    assert gap.relative_gap < 1e-4 and gap.lower_bound <= float(least) * (1 + 1e-12)


def test_a_constant_column_gets_no_weight_beside_the_intercept():
    X, y = table(n=90, noise=3.0)
    out = drive(Problem(np.column_stack([X, np.full(90, 7.0)]), y), NewtonSoftmax(C=np.inf))
    assert np.abs(out.witness.a.reshape(3, 5)[:, 3]).max() < 1e-9


def test_a_start_is_the_same_point_on_centred_columns():
    X, y = table(n=90, noise=3.0)
    problem = Problem(X + np.array([50.0, 0.0, 2000.0]), y)
    a = drive(problem, NewtonSoftmax(tol=1e-10)).witness.a.reshape(3, 4)
    again = NewtonSoftmax(tol=1e-10).init(problem, start=(a[:, :-1], a[:, -1]))
    assert again.status is Status.CERTIFIED
    np.testing.assert_allclose(NewtonSoftmax().witness(problem, again).a, a.ravel(), atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_columns_of_a_single_row_do_not_run_away_without_a_penalty(kind):
    """Rows that a sample leaves out, or that are surely wrong, gave columns no curvature: weights
    reached 1e239, and pixels between 0 and 1 were said to overflow."""
    rng = np.random.default_rng(0)
    n, d, K = 9000, 240, 8
    y = rng.integers(0, K, n)
    X = np.maximum(rng.random((K, d))[y] + 0.9 * rng.normal(size=(n, d)) - 1.0, 0.0)
    X[:, -60:] = 0.0
    X[rng.integers(0, n, 60), np.arange(d - 60, d)] = rng.random(60)
    model = linsep.LogisticRegression(C=np.inf, max_iter=15)
    with pytest.warns(linsep.errors.GapWarning):
        model.fit(X.astype(kind), y)
    assert model.score(X, y) > 0.95
    assert np.abs(model.coef_).max() < 1e6
