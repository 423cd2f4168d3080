"""What the lectures print wrong, entry by entry: the printed claim fails, the corrected one holds.

Numbers are fractions where the lectures' are. The entries are those of ``docs/errata.md``.
"""

from __future__ import annotations

import re
from fractions import Fraction as F
from itertools import combinations, product
from math import comb
from pathlib import Path

import numpy as np
import pytest

import linsep
from linsep import criteria, kernels, risk
from linsep.errors import DataError, GapWarning, NotSeparatedWarning, SettingError

INF = float("inf")
PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
PHI = ([[0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]], [-1, 1, -1, 1])


def table(name):
    found = linsep.data.load(name)
    return found.X, found.y


def augmented(step):
    return [step.intercept, *step.coef]


def test_the_page_has_every_entry_once():
    found = re.findall(r"^\| (E-\d\d) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found == [f"E-{k:02}" for k in range(1, 71)]


class Test000:
    def test_01_the_objective_with_two_plus_signs_grows_with_b(self):
        X, y = table("mse-1")
        w = np.array([2, -1])

        def printed(b):
            return min((X[y == 1] @ w + b).min(), (X[y == -1] @ w + b).min()) / 5**0.5

        assert printed(1000) > printed(10) > printed(-2)
        model = linsep.LinearSVM(C=INF).fit(X, y)
        assert model.certificate_.margin == pytest.approx(1 / 5**0.5)

    def test_02_n_plus_1_points_are_shattered_and_n_plus_2_are_not(self):
        simplex = np.vstack([np.zeros(2), np.eye(2)])
        for labels in product([-1, 1], repeat=3):
            if len(set(labels)) == 2:
                assert linsep.separability(simplex, labels).separable
        four = np.vstack([simplex, [[1, 1]]])
        verdicts = [
            linsep.separability(four, labels).separable
            for labels in product([-1, 1], repeat=4)
            if len(set(labels)) == 2
        ]
        assert verdicts.count(False) == 2  # both labellings of XOR
        model = linsep.LinearSVM().fit(*table("mse-1"))
        through = linsep.LinearSVM(fit_intercept=False).fit(*table("mse-1"))
        assert (int(risk.vc_dimension(model)), int(risk.vc_dimension(through))) == (3, 2)

    def test_03_the_bound_needs_a_probability(self):
        low, high = (risk.structural_bound(0.1, 3, 1000, eta) for eta in (0.5, 0.001))
        assert float(low) < float(high)
        assert risk.structural_bound(0.0, 11, 20).vacuous

    def test_04_the_capacity_of_a_margin_is_no_more_than_that_of_planes(self):
        X = np.array([[0.0, 0.0], [0.1, 10.0], [1.0, 0.0], [1.1, 10.0]])
        model = linsep.LinearSVM(C=INF).fit(X, [-1, -1, 1, 1])
        found = risk.compare_margins([model], X, [-1, -1, 1, 1])
        ratio = risk.enclosing_ball(X).radius ** 2 / model.certificate_.margin**2
        assert ratio > 77 and int(found.dimensions[0]) == 3

    def test_05_a_region_of_the_argmax_may_be_empty(self):
        model = linsep.LogisticRegression().fit([[0.0], [1.0], [2.0]], [1, 2, 3])
        model.coef_, model.intercept_ = np.array([[-1.0], [0.0], [1.0]]), np.array([0.0, -9, 0])
        assert set(model.predict(np.linspace(-50, 50, 1001)[:, None])) == {1, 3}

    def test_06_zero_is_an_error_in_training_and_a_class_in_predict(self):
        plane = linsep.Linear([1.0], 0.0)
        assert criteria.Count().value(plane, [[0.0]], [1]) == 1
        assert plane.predict([[0.0]]).tolist() == [1]

    def test_07_the_label_times_the_reflected_vector_undoes_it(self):
        X, y = table("students")
        Z = linsep.reflect(linsep.augment(X), y)
        assert (y[:, None] * Z == linsep.augment(X)).all()

    def test_08_the_time_of_the_last_improvement_is_kept(self):
        model = linsep.Perceptron(start=([1, 1], 1)).fit(*table("five-points"))
        assert model.t_lup_ == 4 and model.certificate_.errors == 1

    def test_09_the_batch_rule_need_not_find_the_optimum(self):
        run = linsep.trace(linsep.Perceptron(update="batch"), *table("xor-01"), 20)
        assert len(run) == 1 and run.outcome.status.name == "INSEPARABLE"
        X, y = [[-1], [1], [3]], [-1, 1, -1]
        run = linsep.trace(linsep.Perceptron(update="batch", keep="last"), X, y, 60)
        states = [tuple(augmented(step)) for step in run[-20:]]
        assert len(set(states)) == 2 and {len(step.errors) for step in run[-20:]} == {2}
        assert risk.minimum_errors(X, y).errors == 1

    def test_10_the_criterion_is_zero_at_zero(self):
        X, y = table("five-points")
        assert criteria.Perceptron().value(([0, 0], 0), X, y) == 0
        assert criteria.Perceptron().value(([1, 3], -3), X, y) > 0

    def test_11_nearest_to_the_origin_is_optimal_in_the_augmented_space_only(self):
        X, y = table("mse-1")
        lecture = linsep.Kozinec(eps=1e-9, space="augmented").fit(X, y).certificate_
        assert lecture.margin == pytest.approx(0.428054, abs=5e-7)
        assert linsep.Kozinec(eps=1e-9).fit(X, y).certificate_.margin > lecture.margin + 0.019

    def test_12_kappa_can_be_one(self):
        X, y = np.array([[3.0, 1.0], [-1.0, -0.1]]), [1, -1]
        rule = linsep.Kozinec(space="augmented", steps="plain", eps=1e-6, fit_intercept=False)
        assert linsep.trace(rule, X, y)[1].kappa == 1

    def test_13_the_run_ends_where_the_bounds_are_eps_apart_or_less(self):
        run = linsep.trace(linsep.Kozinec(space="augmented", steps="plain", eps=0.1), *PHI)
        assert all(step.upper - step.lower > 0.1 for step in run[:-1])
        assert run[-1].upper - run[-1].lower <= 0.1

    def test_14_an_eps_solution_need_not_separate(self):
        with pytest.warns(NotSeparatedWarning, match="eps is too large"):
            model = linsep.Kozinec(space="augmented", steps="plain", eps=3.0).fit(
                *table("students")
            )
        assert [*model.coef_[0], *model.intercept_] == [1, 1, -1, -1, 1]
        assert (model.status_.name, model.certificate_.errors > 0) == ("EPS_TOO_LARGE", True)

    def test_15_which_lift_is_faster_depends_on_the_data(self):
        faster = set()
        for seed in range(12):
            x = np.random.default_rng(seed).uniform(-1.2, 1.2, size=(20, 1))
            y = np.where(np.abs(x[:, 0]) > 0.6, 1, -1)
            counts = [
                linsep.Perceptron(max_iter=10**5).fit(np.hstack([x, x**2 - c]), y).n_updates_
                for c in (0, 1)
            ]
            faster.add(np.sign(counts[1] - counts[0]))
        assert {-1, 1} <= faster

    def test_16_the_excess_risk_is_bounded_by_the_error_of_the_estimate(self):
        p = [[F(3, 8), F(1, 16)], [F(1, 8), F(1, 8)], [F(1, 16), F(1, 4)]]
        for shift in (F(1, 16), F(1, 8)):
            hat = [[p[0][0] - shift, p[0][1] + shift], p[1], [p[2][0] + shift, p[2][1] - shift]]
            assert risk.excess_bound(p, hat) == 4 * shift
            assert 0 <= risk.excess_risk(p, hat) <= 4 * shift

    def test_18_in_a_fixed_dimension_labellings_are_polynomially_many(self):
        assert risk.cover_count(20, 3) == 2 * sum(comb(19, k) for k in range(3)) < 2**20
        assert risk.minimum_errors([[-3], [-2], [-1], [0]], [-1, 1, 1, -1]).errors == 1


class Test001:
    def test_20_and_21_the_literal_rule_does_nothing_at_a_positive_first_sample(self):
        X, y = np.array([[1, 2], [2, 1]]), np.array([1, -1])
        theta, path = np.zeros(2), []
        for x, label in zip(X, y):  # update if y differs from h(x), with h(0) = +1
            if label != (1 if theta @ x >= 0 else -1):
                theta = theta + label * x
                path.append(theta.tolist())
        assert path == [[-2, -1]]  # and never the printed theta(1) = x(1)
        run = linsep.trace(linsep.Perceptron(fit_intercept=False), X, y)
        assert [step.coef.tolist() for step in run[1:]] == [[1, 2], [-1, 1]]

    def test_22_not_separable_through_the_origin_and_no_mistake_of_the_literal_rule(self):
        X, y = [[1.0], [-1.0]], [1, 1]
        assert linsep.separability(X, y, fit_intercept=False).separable is False
        assert criteria.Count().value(([0.0], 0.0), X, y) == 2

    def test_23_a_zero_row_is_never_set_right(self):
        model = linsep.Perceptron(fit_intercept=False).fit([[0, 0], [1, 1]], [1, -1])
        assert model.status_.name == "INSEPARABLE" and model.certificate_.rows == (0,)


class Test002:
    def test_24_labels_0_and_1_are_signs_inside(self):
        runs = [linsep.trace(linsep.Perceptron(), PHI[0], y) for y in (PHI[1], [0, 1, 0, 1])]
        assert [augmented(a) for a in runs[0]] == [augmented(b) for b in runs[1]]

    def test_25_a_normal_vector_is_not_zero_and_a_line_has_many_points(self):
        with pytest.raises(DataError, match="zero"):
            linsep.Linear.through([1, 2], normal=[0, 0])
        line = linsep.Linear.through([1, 2], direction=[1, 3])
        assert line.same_line(linsep.Linear.through([2, 5], direction=[-2, -6]))

    def test_26_and_30_no_cost_and_no_separation(self):
        X, y = table("two-separators")
        for w, b in (([0, 0], 0), ([0, 1], 1)):
            assert criteria.Perceptron().value((w, b), X, y) == 0
        verdict = linsep.Linear([0, 1], 1).separates(X, y)
        assert (verdict.strict, verdict.weak) == (False, True)

    def test_28_and_29_the_loss_of_a_sample_is_its_value_turned_round(self):
        X, y = table("five-points")
        a = ([1, 1], 1)
        losses = criteria.Perceptron().losses(a, X, y)
        values = y * (X @ a[0] + a[1])
        assert losses[values < 0].tolist() == (-values[values < 0]).tolist()
        assert (losses[values < 0] > 0).all()
        assert losses.sum() == criteria.Perceptron().value(a, X, y)

    def test_31_two_notions_of_separable(self):
        X, y = table("offset-pair")
        both = [linsep.separability(X, y, fit_intercept=b).separable for b in (True, False)]
        assert both == [True, False]

    def test_32_the_bound_is_attained(self):
        X, y = table("two-separators")
        model = linsep.Perceptron(fit_intercept=False, order="restart").fit(X, y)
        bound = risk.novikoff_bound(X, y, fit_intercept=False)
        assert model.n_updates_ == 1 == pytest.approx(float(bound))

    def test_33_and_34_lengths_of_the_students(self):
        run = linsep.trace(linsep.Perceptron(order="restart"), *table("students"))
        squares = [sum(F(v) ** 2 for v in augmented(step)) for step in run[1:]]
        assert squares == [5, 8, 13, 12]
        assert all(q <= 5 * k for k, q in enumerate(squares, 1))  # <=, not >=
        r2 = F(1, 2)
        assert all(k * r2 <= q / k <= 5 for k, q in enumerate(squares, 1))
        assert squares[-1] > 5  # as it is printed

    def test_36_the_preimage_is_one_over_root_two(self):
        lift = linsep.Lift("x1, x2, (x1 - x2)**2").fit([[0, 0], [1, 1]])
        back = lift.pullback(linsep.Linear([0, 0, 1], -0.5))
        for shift, side in ((0.5**0.5, 0.0), (0.5, -0.25)):
            found = (
                back([[shift, 0.0]]) if callable(back) else back.decision_function([[shift, 0.0]])
            )
            assert np.ravel(found)[0] == pytest.approx(side, abs=1e-15)

    def test_37_without_an_offset_the_mapped_rows_are_not_learned(self):
        model = linsep.Perceptron(fit_intercept=False, order="restart").fit(*PHI)
        assert (model.n_updates_, model.certificate_.rows) == (0, (0,))
        assert linsep.Perceptron().fit(*PHI).score(*PHI) == 1


class Test003:
    def test_38_a_positive_weight_means_class_1(self):
        model = linsep.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        p = model.predict_proba([[0.0], [5.0]])[:, 1]
        assert model.coef_[0, 0] > 0 and p[1] > p[0]

    def test_39_variances_of_the_classes_bend_the_boundary(self):
        rng = np.random.default_rng(0)
        X = np.vstack([rng.normal(0, 1, (50, 2)), rng.normal(1, 3, (50, 2))])
        y = np.repeat([0, 1], 50)
        assert hasattr(linsep.GaussianClassifier(covariance="shared-diagonal").fit(X, y), "coef_")
        bent = linsep.GaussianClassifier(covariance="diagonal").fit(X, y)
        assert not hasattr(bent, "coef_") and np.abs(np.diff(bent.quadratic_.A, axis=0)).max() > 0.1

    def test_40_the_likelihood_of_separable_rows_has_no_maximum(self):
        with pytest.warns(linsep.errors.NoMaximumWarning):
            model = linsep.LogisticRegression(C=INF).fit(*table("mse-1"))
        assert model.status_.name == "NO_MAXIMUM"

    def test_41_and_42_a_rate_that_falls_is_no_sign_of_a_minimum(self):
        run = linsep.descend(
            lambda x: x[0] ** 2, [1.0], eta=0.4, decay=lambda k: 1e-3 / k**2, max_iter=300
        )
        assert run.status.name == "STEP_LIMIT" and run.slope > 0.1
        hill = linsep.descend(lambda x: x[0] ** 2, [1.0], eta=1.5)
        assert hill.status.name == "DIVERGED"

    def test_43_strict_misclassification_stops_at_zero(self):
        run = linsep.trace(linsep.Perceptron(misclassified="<"), *table("students"))
        assert len(run) == 1 and run.outcome.status.name == "BOUNDARY"

    def test_44_a_misclassified_row_on_the_plane_costs_nothing(self):
        plane = linsep.Linear([0, 1], 1)
        X, y = table("two-separators")
        assert criteria.Count().value(plane, X, y) == 1
        assert criteria.Perceptron().value(plane, X, y) == 0

    def test_46_the_last_value_of_jane(self):
        found = linsep.data.load("students")
        run = linsep.trace(
            linsep.Perceptron(start=([0.25] * 4, 0.25)), found.X, found.y, visits=True
        )
        assert run[-4].row == 0 and run[-4].value == 1.25

    def test_48_rates_that_fall_go_towards_zero(self):
        model = linsep.Perceptron(start=([1, 1], 1), decay="inverse", keep="last")
        run = linsep.trace(model, *table("five-points"), 4000)
        lengths = [np.linalg.norm(augmented(step)) for step in (run[100], run[1000], run[-1])]
        assert lengths[0] > lengths[1] > lengths[2]
        assert len({len(step.errors) for step in run[-500:]}) > 1

    def test_49_inverse_rates_can_need_exponentially_many_updates(self):
        X, y = [[1, 0], [2, 1], [-1, 0], [-1, -1]], [1, 1, -1, -1]
        counts = []
        for far in (4, 6, 8):
            start = ([-far, 0], 0)
            slow = linsep.Perceptron(start=start, decay="inverse", max_iter=10_000).fit(X, y)
            assert linsep.Perceptron(start=start).fit(X, y).n_updates_ == far
            counts.append(slow.n_updates_)
        assert counts == [19, 90, 469]

    def test_50_consistent_and_wide_systems_are_solved_exactly(self):
        X, y = [[1], [2], [-3]], [1, 1, -1]
        tall = linsep.LeastSquares(targets=[1, 2, 3], fit_intercept=False).fit(X, y)
        assert tall.exact_coefficients()[0] == [1] and tall.certificate_.minimum == 0
        wide = linsep.LeastSquares().fit([[1, 2, 3], [0, 1, 5]], [1, -1])
        assert wide.certificate_.errors == 0
        Y = linsep.reflect(linsep.augment([[1, 2, 3], [0, 1, 5]], "last"), [1, -1])
        shortest = np.linalg.pinv(Y) @ [1, 1]
        np.testing.assert_allclose([*wide.coef_[0], *wide.intercept_], shortest)

    def test_51_columns_not_rows_make_it_singular(self):
        X = np.array([[1, 2, 3], [4, 5, 9], [7, 8, 15], [1, 0, 1], [2, 5, 7.0]])
        model = linsep.LeastSquares().fit(X, [1, 1, -1, -1, 1])
        assert model.rank_ == 3 and model.dependent_
        again = linsep.LeastSquares().fit(np.vstack([X[:, :2], X[:2, :2]]), [1, 1, -1, -1, 1, 1, 1])
        assert again.rank_ == 3 and not again.dependent_  # equal rows do no harm

    def test_52_a_negative_factor_of_the_targets_is_refused(self):
        with pytest.raises((SettingError, DataError)):
            linsep.LeastSquares(targets=[-1, -1, -1, -1]).fit(*table("mse-1"))

    def test_53_the_rate_and_its_limit(self):
        X, y = table("mse-1")
        Y = linsep.reflect(linsep.augment(X), y)
        limit = 2 / np.linalg.eigvalsh(Y.T @ Y)[-1]
        assert limit == pytest.approx(0.00642103, rel=1e-5)
        with pytest.warns(GapWarning):
            model = linsep.LeastSquares(solver="gradient", eta=1.01 * limit).fit(X, y)
        assert not model.status_.ok

    def test_54_rounded_weights_do_not_give_the_printed_values(self):
        X, y = table("mse-2")
        Y = linsep.reflect(linsep.augment(X), y)
        rounded = Y @ [3.2, 0.2, -0.4]
        np.testing.assert_allclose(rounded, [0.8, 1.4, -0.6, 0.8])
        with pytest.warns(NotSeparatedWarning):
            model = linsep.LeastSquares().fit(X, y)
        coef, offset = model.exact_coefficients()
        values = [
            int(s) * (offset + sum(w * F(v) for w, v in zip(coef, x)))
            for x, s in zip(X.tolist(), y.tolist())
        ]
        assert values == [F(27, 137), F(126, 137), F(-6, 137), F(159, 137)]

    def test_56_and_66_xor(self):
        model = linsep.KernelSVM(C=INF, kernel=kernels.Polynomial(2)).fit(*table("xor"))
        np.testing.assert_allclose(np.abs(model.dual_coef_), 1 / 8)
        np.testing.assert_allclose(model.decision_function([[0.5, -2], [3, 1]]), [1, -3])
        assert model.certificate_.width == pytest.approx(2 * 2**0.5)
        K = kernels.Polynomial(2).gram(table("xor")[0])
        y = table("xor")[1]

        def dual(t):
            return 4 * F(t) - F(int(y @ K @ y), 2) * F(t) ** 2

        assert dual(F(1, 8)) == F(1, 4) and dual(F(1, 4)) == 0 == dual(0)

    def test_57_a_kernel_machine_needs_its_offset(self):
        X, y = np.array([[3.0], [4.0]]), [-1, 1]
        model = linsep.KernelSVM(C=INF, kernel="linear").fit(X, y)
        assert model.intercept_[0] == pytest.approx(-7)
        assert ((model.decision_function(X) - model.intercept_) > 0).all()  # without it: one class

    def test_58_the_slack_of_a_row_far_on_its_side_is_zero(self):
        model = linsep.LinearSVM(C=INF).fit(*table("mse-1"))
        X, y = table("mse-1")
        assert 1 - y[3] * model.decision_function(X)[3] == pytest.approx(-5)
        assert model.slacks(X, y)[3] == 0

    def test_59_violators_are_support_vectors_and_the_offset_may_be_free(self):
        X, y = table("five-points")
        model = linsep.LinearSVM(C=1.0).fit(X, y)
        violators = np.flatnonzero(model.slacks(X, y) > 1)
        assert len(violators) and set(violators) <= set(model.support_.tolist())
        free = linsep.LinearSVM(C=0.1).fit([[-1.0], [1.0]], [-1, 1])
        assert free.intercept_range_ == pytest.approx((-0.8, 0.8))

    def test_60_to_63_kernels(self):
        with pytest.raises(SettingError):
            -1 * kernels.Linear()
        X = np.random.default_rng(0).normal(size=(30, 2))
        found = kernels.Sigmoid(1.0, -1.0).check(X)
        assert found.psd is False and found.value < 0
        H = np.array([[3, 0, 2], [1, 4, 2], [0, 0, 5]], dtype=float)
        unary = kernels.Intersection().features(H)
        unary = unary.toarray() if hasattr(unary, "toarray") else unary
        np.testing.assert_allclose(unary @ unary.T, kernels.Intersection().gram(H))
        assert kernels.ChiSquared().gram([[0.0]], [[0.0]]) == 0
        with pytest.raises(DataError, match="row 0, column 0"):
            kernels.ChiSquared().gram([[-1.0, 2.0]])

    def test_64_equal_samples_with_different_labels_are_not_separable(self):
        proof = linsep.separability([[1, 0, 0], [1, 0, 0], [0, 1, 0]], [1, -1, 1])
        assert proof.separable is False and sorted(proof.rows) == [0, 1]

    def test_65_one_dimension_is_easy(self):
        x = np.random.default_rng(1).normal(size=(300, 1))
        y = np.where(x[:, 0] + np.random.default_rng(2).normal(size=300) > 0, 1, -1)
        best = risk.minimum_errors(x, y)
        cuts = [-INF, *np.sort(x[:, 0])]
        assert best.proved
        assert best.errors == min(
            int((s * np.where(x[:, 0] > c, 1, -1) != y).sum()) for c in cuts for s in (1, -1)
        )


class Test004:
    def test_67_a_constant_rate_is_enough_and_separability_is_needed(self):
        X, y = table("example-3.2")
        for eta in (0.01, 0.7, 30.0):
            assert linsep.Perceptron(eta=eta).fit(X, y).certificate_.errors == 0
        run = linsep.trace(linsep.Perceptron(decay="inverse"), *table("xor"), 500)
        assert min(len(step.errors) for step in run) > 0

    def test_68_the_activation_is_a_step(self):
        plane = linsep.Linear([1.0], 0.0)
        assert plane.predict([[-2.0], [-0.1], [0.1], [2.0]]).tolist() == [-1, -1, 1, 1]

    def test_69_the_pocket_in_turn_misses_the_optimum(self):
        X, y = [[-3], [-2], [-1], [0]], [-1, 1, 1, -1]
        cyclic = linsep.trace(linsep.Perceptron(), X, y, 500)
        assert min(len(step.errors) for step in cyclic) == 2
        pocket = linsep.Perceptron(keep="pocket", max_iter=200, random_state=0)
        with pytest.warns(NotSeparatedWarning):
            pocket.fit(X, y)
        assert pocket.certificate_.errors == 1 == risk.minimum_errors(X, y).errors
        assert pocket.get_params()["order"] is None  # random where a pocket is kept

    def test_70_the_computations_of_example_3_2(self):
        run = linsep.trace(linsep.Perceptron(), *table("example-3.2"))
        assert [augmented(step)[1:] + augmented(step)[:1] for step in run[1:]] == [
            [-1, 0, 1],
            [-1, 1, 0],
        ]
        assert run.outcome.visits == 7


def test_the_multipliers_of_the_lectures_are_proofs():
    """1 y1 + 1 y2 + 10 y3 + 6 y4 + 6 y5 = 0, and rank 3: only a = 0 has Ya >= 0."""
    X, y = table("five-points")
    Z = linsep.reflect(linsep.augment(X), y).astype(int)
    assert (np.array([1, 1, 10, 6, 6]) @ Z).tolist() == [0, 0, 0]
    assert np.linalg.matrix_rank(Z) == 3
    assert all(np.linalg.matrix_rank(Z[list(rows)]) == 3 for rows in combinations(range(5), 3))
