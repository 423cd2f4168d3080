"""LogisticRegression: answers, proofs, and what happens where there is no answer."""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

import linsep
from linsep.core import drive, lanes
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.errors import DataError, GapWarning, LinsepWarning, NoMaximumWarning, SettingError
from linsep.losses.logistic import best_shift, entropy, loss
from linsep.proofs.logistic import likelihood_bounds, logistic_gap
from linsep.risk import inverse_logit, logit
from linsep.rows.exact import dependent_columns
from linsep.solvers.logistic.conjugate import LogisticCG
from linsep.solvers.logistic.gradient import GradientAscent, curvature_bound
from linsep.solvers.logistic.newton import NewtonLogistic

INF = float("inf")


def blobs(n=80, d=3, seed=0, noise=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + noise * rng.normal(size=n) + 0.3 > 0).astype(int)


def quietly(model, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinsepWarning)
        return model.fit(X, y, **more)


# -- numbers known otherwise -------------------------------------------------------------------


def test_two_points_each_have_the_odds_of_their_counts():
    X = [[0.0]] * 4 + [[1.0]] * 5
    y = [0, 0, 0, 1, 1, 1, 0, 1, 1]
    model = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.intercept_[0] == pytest.approx(math.log(1 / 3), abs=1e-12)
    assert model.coef_[0, 0] == pytest.approx(math.log(4) - math.log(1 / 3), abs=1e-12)
    assert model.odds([[0.0], [1.0]]) == pytest.approx([1 / 3, 4.0])
    assert model.status_ is Status.CERTIFIED
    likelihood = 3 * math.log(0.75) + math.log(0.25) + 4 * math.log(0.8) + math.log(0.2)
    assert model.log_likelihood_ == pytest.approx(likelihood, rel=1e-12)
    assert model.null_log_likelihood_ == pytest.approx(5 * math.log(5 / 9) + 4 * math.log(4 / 9))


def test_a_positive_weight_speaks_for_the_positive_class():
    X, y = blobs()
    model = linsep.LogisticRegression().fit(X, y)
    assert model.coef_[0, 0] > 0
    p = model.predict_proba(X)[:, 1]
    f = model.decision_function(X)
    assert p == pytest.approx(np.exp(f) / (1 + np.exp(f)))
    assert model.log_odds(X) == pytest.approx(f)
    assert np.log(model.odds(X)) == pytest.approx(f)
    assert np.exp(model.predict_log_proba(X)) == pytest.approx(model.predict_proba(X))


def test_logit_and_its_inverse_at_the_limits():
    assert logit([0.0, 0.5, 1.0]).tolist() == [-INF, 0.0, INF]
    assert inverse_logit([-INF, 0.0, INF]).tolist() == [0.0, 0.5, 1.0]
    assert inverse_logit(-800.0) == 0.0 or inverse_logit(-800.0) < 1e-300
    p = np.array([1e-300, 1e-17, 0.3, 1 - 1e-16])
    assert inverse_logit(logit(p)) == pytest.approx(p, rel=1e-12)
    assert loss(np.array([-1e308, 1e308])).tolist() == [1e308, 0.0]
    assert entropy(np.array([0.0, 0.5, 1.0])).tolist() == pytest.approx([0, math.log(2), 0])


def test_weights_count_as_repeated_rows():
    X, y = blobs()
    s = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = linsep.LogisticRegression(C=2.0).fit(X, y, sample_weight=s)
    repeated = linsep.LogisticRegression(C=2.0).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    assert weighted.coef_ == pytest.approx(repeated.coef_, rel=1e-9)
    balanced = linsep.LogisticRegression(class_weight="balanced").fit(X, y)
    by_hand = linsep.LogisticRegression(
        class_weight={k: len(y) / 2 / (y == k).sum() for k in (0, 1)}
    )
    assert balanced.coef_ == pytest.approx(by_hand.fit(X, y).coef_, rel=1e-9)


def test_columns_of_all_sizes_give_the_same_likelihood():
    X, y = blobs(d=3)
    scale = np.array([1e8, 1.0, 1e-8])
    plain = linsep.LogisticRegression(C=INF).fit(X, y)
    scaled = linsep.LogisticRegression(C=INF).fit(X * scale, y)
    assert scaled.coef_[0] * scale == pytest.approx(plain.coef_[0], rel=1e-8)
    assert scaled.status_ is Status.CERTIFIED


# -- no maximum --------------------------------------------------------------------------------


def test_complete_separation_is_named_and_proved():
    X, y = np.arange(1.0, 7.0)[:, None], [0, 0, 0, 1, 1, 1]
    with pytest.warns(NoMaximumWarning, match="separable, by 'x1' alone"):
        model = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.status_ is Status.NO_MAXIMUM and model.status_.ok
    assert model.proof_.separable and model.proof_.check(X, y)
    assert np.isfinite(model.coef_).all() and model.certificate_.errors == 0
    assert model.certificate_.objective <= model.tol
    assert (model.predict(X) == y).all()


def test_quasi_separation_by_a_tie_gives_the_supremum():
    X, y = np.array([[1.0], [2], [3], [3], [4], [5]]), [0, 0, 0, 1, 1, 1]
    with pytest.warns(NoMaximumWarning, match="quasi-separable by the column 'x1'"):
        model = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.proof_.quasi and model.proof_.check(X, y)
    gap = model.certificate_
    assert gap.lower_bound <= 2 * math.log(2) <= gap.objective  # the two rows at 3
    assert gap.relative_gap <= model.tol
    assert "no maximum" in model.summary()


def test_a_column_that_is_zero_in_one_class_is_named():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    X[:, 2] = np.where((y == 1) & (rng.random(60) < 0.3), 1.0, 0.0)
    table = pandas.DataFrame(X, columns=["age", "dose", "rare"])
    with pytest.warns(NoMaximumWarning, match="by the column 'rare'"):
        model = linsep.LogisticRegression(C=INF).fit(table, y)
    face = X[:, 2] == 0
    inner = linsep.LogisticRegression(C=INF).fit(X[face, :2], y[face])
    # the limit of the other weights is the fit of the rows without the dummy
    assert model.coef_[0, :2] == pytest.approx(inner.coef_[0], rel=1e-6)
    low, high = model.certificate_.lower_bound, model.certificate_.objective
    assert low <= -inner.log_likelihood_ * (1 + 1e-12) and -inner.log_likelihood_ <= high
    assert high - low <= model.tol * high


def test_three_classes_without_a_maximum_keep_finite_weights():
    X = np.repeat(np.eye(3), 4, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(12, 3))
    y = np.repeat(["a", "b", "c"], 4)
    with pytest.warns(NoMaximumWarning):
        model = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.status_ is Status.NO_MAXIMUM and (model.predict(X) == y).all()
    assert np.abs(model.coef_).max() < 1e3
    assert -model.log_likelihood_ < 0.01


def test_dummies_that_sum_to_one_are_no_obstacle():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 200)
    X = np.column_stack([np.eye(3)[group], rng.normal(size=200)])
    y = (X[:, 3] + 0.5 * group + 2 * rng.normal(size=200) > 0).astype(int)
    full = linsep.LogisticRegression(C=INF).fit(X, y)
    less = linsep.LogisticRegression(C=INF).fit(X[:, 1:], y)
    assert full.status_ is Status.CERTIFIED
    assert full.log_likelihood_ == pytest.approx(less.log_likelihood_, rel=1e-12)
    assert len(dependent_columns(Problem(X, y))) == 1
    assert len(dependent_columns(Problem(X[:, 1:], y))) == 0
    assert len(dependent_columns(Problem(X[:, 1:], y, fit_intercept=False))) == 1  # no column d


def test_columns_dependent_up_to_rounding_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    X = np.column_stack([X, X[:, 0] / 3 + X[:, 1] / 7])
    y = rng.integers(0, 2, 100)
    with pytest.warns(GapWarning, match="depend on each other up to rounding"):
        model = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.status_ is Status.CONVERGED


@pytest.mark.parametrize(("C", "shift"), [(INF, 1e6), (1e8, 1e6), (1e8, 1e-6), (1e10, 0.0)])
def test_columns_far_from_zero_and_huge_C_are_proved(C, shift):
    X, y = blobs(seed=8)
    model = linsep.LogisticRegression(C=C).fit(X + shift, y)
    assert model.status_ is Status.CERTIFIED and model.certificate_.relative_gap < 1e-6
    plain = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.coef_ == pytest.approx(plain.coef_, rel=1e-3)


def test_a_cost_beyond_doubles_is_refused():
    with pytest.raises(SettingError, match="C=inf leaves the penalty out"):
        linsep.LogisticRegression(C=1e300).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("offset", [True, False])
def test_one_sided_rows_through_the_origin(offset):
    X, y = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0]
    with pytest.warns(NoMaximumWarning):
        model = linsep.LogisticRegression(C=INF, fit_intercept=offset).fit(X, y)
    assert model.status_ is Status.NO_MAXIMUM


def test_a_face_of_one_class_only():
    # through the origin: x1 separates weakly, the rows on its plane are all of one class
    X = np.array([[1.0, 0], [2, 1], [0, 1], [0, -1]])
    y = [1, 1, 0, 0]
    X[2:] *= -1
    with pytest.warns(NoMaximumWarning):
        model = linsep.LogisticRegression(C=INF, fit_intercept=False).fit(X, y)
    gap = model.certificate_
    assert gap.lower_bound <= 2 * math.log(2) <= gap.objective <= 2.01 * math.log(2)


# -- probabilities ------------------------------------------------------------------------------


def test_probabilities_never_disagree_with_predict():
    X = np.array([[0.0], [1e-300], [-1e-300], [1e-18], [-1e-18], [1e300], [-1e300], [1.0]])
    model = linsep.LogisticRegression(fit_intercept=False).fit([[-1.0], [1.0]], [0, 1])
    p = model.predict_proba(X)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()
    assert (p.sum(axis=1) == 1.0).all()
    assert np.isfinite(p).all() and not np.isnan(model.predict_log_proba(X)).any()


def test_softmax_probabilities_sum_to_one_and_follow_the_scores():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    model = linsep.LogisticRegression(reference=1).fit(X, y)
    assert (model.coef_[1] == 0).all() and model.intercept_[1] == 0
    p = model.predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(1.0)
    e = np.exp(X @ model.coef_.T + model.intercept_)
    assert p == pytest.approx(e / (1 + e[:, [0, 2]].sum(axis=1))[:, None])
    assert model.odds(X) == pytest.approx(p / (1 - p))
    assert (p.argmax(axis=1) == model.predict(X)).all()


def test_a_reference_that_is_no_class_is_refused():
    with pytest.raises(SettingError, match="reference='d' is not a class of y"):
        linsep.LogisticRegression(reference="d").fit([[0.0], [1], [2]], ["a", "b", "c"])


# -- the bound is a bound -----------------------------------------------------------------------

hostile = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0, 1e-300, 1e-8, 1e8, -7.0])


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(np.float64, (7, 2), elements=hostile),
    bits=st.integers(1, 126),
    C=st.sampled_from([1e-6, 1.0, 1e4, INF]),
    offset=st.booleans(),
    other=arrays(np.float64, 3, elements=st.floats(-3, 3)),
)
def test_no_weights_are_below_the_lower_bound(X, bits, C, offset, other):
    y = np.array([(bits >> k) & 1 for k in range(7)])
    model = linsep.LogisticRegression(C=C, fit_intercept=offset)
    try:
        quietly(model, X, y)
    except DataError:
        assert X.max() >= 1e8
        return
    problem = Problem(X, y, fit_intercept=offset)
    if not offset:
        other[-1] = 0.0
    own = np.append(model.coef_[0], model.intercept_[0])
    for a in (other, np.zeros(3), own, own + 1e-3 * other, 3 * own):
        with np.errstate(over="ignore"):
            value = float(loss(problem.values(a)).sum())
            if np.isfinite(C):
                value = C * value + 0.5 * float(a[:-1] @ a[:-1])
        assert model.certificate_.lower_bound <= value * (1 + 1e-12)
    assert model.certificate_.lower_bound <= model.certificate_.objective


@settings(max_examples=40, deadline=None)
@given(
    X=arrays(np.float64, (8, 2), elements=st.integers(-2, 2).map(float)),
    bits=st.integers(1, 254),
    offset=st.booleans(),
)
def test_a_maximum_is_claimed_exactly_where_rows_overlap(X, bits, offset):
    y = np.array([(bits >> k) & 1 for k in range(8)])
    model = quietly(linsep.LogisticRegression(C=INF, fit_intercept=offset), X, y)
    verdict = linsep.separability(X, y, fit_intercept=offset)
    apart = bool(verdict.separable or verdict.quasi)
    assert (model.status_ is Status.NO_MAXIMUM) == apart
    if not apart:
        assert model.status_ is Status.CERTIFIED
        a = np.append(model.coef_[0], model.intercept_[0])
        assert likelihood_bounds(Problem(X, y, fit_intercept=offset), a)[1]
    elif not verdict.separable:
        assert model.certificate_.relative_gap <= model.tol


def test_tiny_losses_get_true_bounds():
    """Shares near 1e-9: log(1 - q) must not be taken of the rounded 1 - q."""
    flint = pytest.importorskip("flint")
    X = np.array([[0, 0], [0, 1e8], *([[1e8, 1e8]] * 5)])
    y, C = np.array([1, 0, 0, 0, 0, 0, 0]), 1e-6
    model = linsep.LogisticRegression(C=C).fit(X, y)
    w, b = model.coef_[0], float(model.intercept_[0])
    total = flint.arb(0)
    with flint.ctx.workprec(200):
        for x, sign in zip(X, 2 * y - 1):
            f = sum(
                (flint.arb(u) * flint.arb(v) for u, v in zip(x.tolist(), w.tolist())), flint.arb(b)
            )
            total += (1 + (-int(sign) * f).exp()).log()
        total = flint.arb(C) * total + sum(flint.arb(v) ** 2 for v in w.tolist()) / 2
        assert flint.arb(model.certificate_.lower_bound) <= total
        assert total <= flint.arb(model.certificate_.objective)


def test_poor_weights_get_true_bounds():
    X, y = blobs()
    problem = Problem(X, y)
    best = linsep.LogisticRegression().fit(X, y).certificate_
    for factor in (-3.0, 0.0, 0.5, 10.0):
        a = factor * np.array([1.0, 2.0, -1.0, 5.0])
        for C, free in ((1.0, "free"), (1.0, "none"), (1.0, "penalised")):
            gap = logistic_gap(problem, a, C, free)
            assert gap.lower_bound <= gap.objective
            if free == "free":
                assert gap.lower_bound <= best.objective
    alpha = np.random.default_rng(0).normal(size=len(y))  # not even in its box
    assert (
        logistic_gap(problem, np.zeros(4), 1.0, "free", alpha=alpha).lower_bound <= best.objective
    )


def test_the_best_shift_balances_the_classes():
    rng = np.random.default_rng(0)
    m, sign = rng.normal(size=50) * 30, np.where(rng.random(50) < 0.1, 1.0, -1.0)
    t = best_shift(m, sign, np.ones(50))
    p = inverse_logit(-(m + t * sign))
    assert abs(p @ sign) <= 1e-12 * p.sum()


# -- solvers ------------------------------------------------------------------------------------


def test_warm_start_from_the_answer_takes_no_step():
    X, y = blobs()
    model = linsep.LogisticRegression(warm_start=True).fit(X, y)
    first = model.coef_.copy()
    model.fit(X, y)
    assert model.outcome_.steps == 0 and np.array_equal(first, model.coef_)


def test_gradient_ascent_takes_the_steps_of_the_book():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    run = linsep.trace(
        linsep.LogisticRegression(C=INF, solver="gradient", eta=0.1), X, y, max_steps=3
    )
    w, b = 0.0, 0.0
    for step in list(run)[1:]:
        p = 1 / (1 + np.exp(-(w * X[:, 0] + b)))
        w, b = w + 0.1 * float((X[:, 0] * (y - p)).sum()), b + 0.1 * float((y - p).sum())
        assert step.coef == pytest.approx([w]) and step.intercept == pytest.approx(b)
    assert "grad" in run.narrate()


def test_gradient_ascent_goes_up_at_its_own_rate():
    X, y = blobs(seed=3)
    problem, solver = Problem(X, y), GradientAscent(C=3.0, tol=1e-8)
    state, last = solver.init(problem), np.inf
    while solver.advance(problem, state, 1):
        assert state.primal <= last
        last = state.primal
    end = drive(problem, solver, state)
    assert end.status is Status.CERTIFIED
    exact = linsep.LogisticRegression(C=3.0).fit(X, y)
    assert end.witness.a[:-1] == pytest.approx(exact.coef_[0], abs=1e-4)


def test_a_decaying_rate_does_not_stop_on_a_steep_slope():
    """The test eta |gradient| < eps would fire where the gradient is still large."""
    X, y = blobs(seed=4)
    model = linsep.LogisticRegression(C=INF, solver="gradient", decay="inverse", eta=1e-4,
                                      max_iter=500)  # fmt: skip
    with pytest.warns(GapWarning):
        model.fit(X, y)
    assert model.status_ is Status.STEP_LIMIT


def test_a_rate_that_is_too_large_is_told():
    X, y = blobs(seed=5)
    with pytest.warns(GapWarning, match=r"eta=50.0 is too large .*1 / L"):
        model = linsep.LogisticRegression(C=INF, solver="gradient", eta=50.0).fit(X, y)
    assert not model.status_.ok


def test_softmax_by_gradient_agrees_with_newton():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    for reference in (None, 2):
        slow = linsep.LogisticRegression(solver="gradient", tol=1e-8, reference=reference)
        fast = linsep.LogisticRegression(reference=reference)
        assert slow.fit(X, y).coef_ == pytest.approx(fast.fit(X, y).coef_, abs=1e-3)


def test_the_rate_is_that_of_the_largest_curvature():
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    bound = curvature_bound(Problem(X, [0, 1, 1]), 3.0, 1.0)
    Z = np.column_stack([X, np.ones(3)])
    assert bound == pytest.approx(1 + 0.75 * np.linalg.eigvalsh(Z.T @ Z).max())


def test_settings_without_effect_are_refused():
    for setting in ({"eta": 0.1}, {"decay": "inverse"}):
        with pytest.raises(SettingError, match="has no effect"):
            linsep.LogisticRegression(**setting).fit([[0.0], [1.0]], [0, 1])


def test_a_limit_keeps_the_best_model_with_its_proof():
    X, y = blobs(n=400, d=8)
    with pytest.warns(GapWarning, match="STEP_LIMIT"):
        model = linsep.LogisticRegression(C=100.0, max_iter=2, tol=1e-9).fit(X, y)
    assert model.status_ is Status.STEP_LIMIT and model.certificate_.lower_bound > 0


@pytest.mark.parametrize("kind", ["csr", "float32", "int", "bool"])
def test_kinds_of_numbers(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 4))
    y = (X[:, 0] ^ (rng.random(60) < 0.3)).astype(int)
    forms = {
        "csr": scipy.sparse.csr_array(X.astype(float)),
        "float32": X.astype(np.float32),
        "int": X,
        "bool": X.astype(bool),
    }
    model = linsep.LogisticRegression().fit(forms[kind], y)
    exact = linsep.LogisticRegression().fit(X.astype(float), y)
    assert model.coef_ == pytest.approx(exact.coef_, rel=1e-9)


def test_newton_with_and_without_factors_end_alike():
    X, y = blobs(n=300, d=6, seed=7)
    for C in (0.1, 100.0, INF):
        ends = [
            drive(Problem(X, y), solver(C=C, tol=1e-12)) for solver in (NewtonLogistic, LogisticCG)
        ]
        assert ends[0].witness.a == pytest.approx(ends[1].witness.a, abs=1e-5)


def test_a_saved_model_answers_alike(tmp_path):
    X, y = blobs()
    model = linsep.LogisticRegression().fit(X, y)
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.certificate_ == model.certificate_ and again.summary()
    assert again.log_likelihood_ == model.log_likelihood_


def test_the_commands_fit_predict_and_verify(tmp_path, capsys):
    from linsep.cli.main import main

    data, model = tmp_path / "exam.csv", tmp_path / "exam.json"
    data.write_text("hours,passed\n1,no\n2,no\n3,yes\n4,no\n5,yes\n6,yes\n")
    fit = ["fit", str(data), "--algorithm", "logistic-regression", "--set", "C=inf", "--quiet"]
    assert main([*fit, "-o", str(model)]) == 0
    capsys.readouterr()
    assert main(["predict", str(model), str(data), "--proba"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.strip().splitlines()]
    assert all(float(p) + float(q) == pytest.approx(1) for _, p, q in lines)
    assert [("no", "yes")[float(q) >= float(p)] for _, p, q in lines] == [c for c, _, _ in lines]
    assert main(["verify", str(model), str(data)]) == 0


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_class_without_weight_has_no_share_in_the_likelihood(C):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = linsep.LogisticRegression(C=C)
    context = (
        pytest.warns(GapWarning, match="no row of positive weight") if C > 1 else nullcontext()
    )
    with context:
        model.fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))
    assert model.null_log_likelihood_ == pytest.approx(-20 * np.log(2))
    assert model.predict_proba(X)[:, 2].max() < 1e-6


def test_the_reference_class_has_no_weights_where_there_is_no_maximum_either():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), [0, 0, 1, 1, 2, 2]
    with pytest.warns(NoMaximumWarning):
        model = linsep.LogisticRegression(C=np.inf, reference=1).fit(X, y)
    assert model.status_ is Status.NO_MAXIMUM and (model.predict(X) == y).all()
    assert model.coef_[1].tolist() == [0.0] and model.intercept_[1] == 0.0


def test_gradient_steps_of_several_classes_go_on_until_the_gap_is_proved():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    X[np.arange(60), y] += 2.0
    model = linsep.LogisticRegression(solver="gradient").fit(X, y)
    assert model.status_ is Status.CERTIFIED and model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize(
    ("labels", "words"),
    [([1, "a", 1, "a"], "types int, str"), ([None, "a", None, "a"], "no label at row 0")],
)
def test_labels_without_an_order_are_named(labels, words):
    with pytest.raises(linsep.errors.LabelError, match=words):
        linsep.LogisticRegression().fit(np.eye(4), np.array(labels, dtype=object))


@pytest.mark.parametrize("model", [linsep.LogisticRegression(), linsep.LinearSVM()])
def test_a_fit_keeps_to_the_threads_of_whoever_calls_it(model, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    y = X[:, 0] + rng.normal(size=len(X)) > 0
    model = clone(model).set_params(tol=1e-2)

    def refuse(*_):
        raise AssertionError("a second thread")

    monkeypatch.setattr(lanes, "_share_out", refuse)
    with lanes.at_most(1):
        model.fit(X, y)
    with pytest.raises(AssertionError, match="a second thread"), lanes.at_most(1):
        model.set_params(n_jobs=2).fit(X, y)
