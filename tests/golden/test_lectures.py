"""The worked examples of the lectures, number by number, through the public interface."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import linsep
from linsep.core.protocol import Status

PHI = ([[0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]], [-1, 1, -1, 1])  # xor-01 after the lift


def table(name):
    if name == "phi":
        return PHI
    data = linsep.data.load(name)
    return data.X, data.y


def weights(step, first=True):
    """Offset and weights of a step as the lecture writes them, with the 1 first or last."""
    return [step.intercept, *step.coef] if first else [*step.coef, step.intercept]


def path(run, first=True):
    return [list(map(float, weights(step, first))) for step in run[1:]]


class TestStudents:
    """Lecture 003, and the same data under the other convention."""

    data = linsep.data.load("students")

    def run(self, start, misclassified="<="):
        model = linsep.Perceptron(start=start, misclassified=misclassified)
        return linsep.trace(model, self.data.X, self.data.y, row_names=self.data.row_names)

    @pytest.mark.parametrize("misclassified", ["<=", "<"])
    def test_first_start(self, misclassified):
        run = self.run(([0.25] * 4, 0.25), misclassified)
        assert path(run) == [
            [-0.75] * 5,
            [-1.75, 0.25, 0.25, 0.25, -1.75],
            [-0.75, 1.25, -0.75, -0.75, -0.75],
        ]
        names = [self.data.row_names[step.row] for step in run[1:]]
        assert names == ["Steve", "Mary", "Peter"]
        assert [step.value for step in run[1:]] == [-1.25, -0.75, -3.75]
        assert [step.visit for step in run[1:]] == [2, 3, 4]
        assert (run.outcome.updates, run.outcome.visits) == (3, 8)
        assert run.outcome.status is Status.SEPARATED
        a = np.array(weights(run[-1]))
        values = self.data.y * (self.data.X @ a[1:] + a[0])
        assert values.tolist() == [1.25, 1.75, 1.25, 1.25]

    def test_second_start_with_zero_as_a_mistake(self):
        run = self.run(([0.5, 0.5, 0, 0], 0))
        assert path(run) == [
            [-1, -0.5, -0.5, -1, -1],
            [-2, 0.5, 0.5, 0, -2],
            [-1, 1.5, -0.5, -1, -1],
        ]
        assert [step.value for step in run[1:]] == [-1, 0, -4]
        assert run.outcome.visits == 8

    def test_second_start_with_zero_as_right(self):
        run = self.run(([0.5, 0.5, 0, 0], 0), "<")
        assert path(run) == [
            [-1, -0.5, -0.5, -1, -1],
            [0, 0.5, -1.5, -2, 0],
            [-1, 1.5, -0.5, -1, -1],
        ]
        assert [self.data.row_names[s.row] for s in run[1:]] == ["Steve", "Peter", "Mary"]
        assert run.outcome.visits == 11

    def test_start_at_zero(self):
        run = self.run(None)
        assert path(run) == [
            [1, 1, 1, -1, -1],
            [0, 0, 0, -2, -2],
            [-1, 1, 1, -1, -3],
            [0, 2, 0, -2, -2],
        ]
        assert run.outcome.visits == 8

    def test_start_at_zero_with_zero_as_right_is_no_solution(self):
        run = self.run(None, "<")
        assert len(run) == 1
        assert run.outcome.status is Status.BOUNDARY

    def test_rule_in_words(self):
        frame = linsep.data.load("students").frame()
        X, y = frame[list(self.data.feature_names)], self.data.y
        model = linsep.Perceptron(start=([0.25] * 4, 0.25)).fit(X, y)
        assert "1.25 attendance -0.75 tall -0.75 sleeps -0.75 gum >= 0.75" in model.summary()


class TestFivePoints:
    """Lecture 003: not separable, and the run repeats itself for ever."""

    data = linsep.data.load("five-points")

    def run(self, max_steps, misclassified="<="):
        model = linsep.Perceptron(start=([1, 1], 1), misclassified=misclassified)
        return linsep.trace(model, self.data.X, self.data.y, max_steps=max_steps)

    def test_first_iterates_with_zero_as_a_mistake(self):
        run = self.run(11)
        assert path(run) == [
            [0, 0, -2], [1, 2, -1], [0, 1, -4], [1, 3, -3], [2, 6, 2], [1, 5, -1],
            [0, 0, -7], [1, 2, -6], [2, 6, -3], [1, 1, -9], [2, 3, -8],
        ]  # fmt: skip
        assert [step.row for step in run[1:]] == [3, 0, 3, 0, 2, 3, 4, 0, 1, 4, 0]
        values = [step.value for step in run[1:]]
        assert values == [-5, -2, 0, -2, -5, -14, -20, -7, -9, -14, -6]
        assert [len(s.errors) for s in run] == [2, 3, 2, 3, 1, 2, 2, 3, 3, 1, 3, 3]

    def test_first_iterates_with_zero_as_right(self):
        run = self.run(11, "<")
        assert path(run) == [
            [0, 0, -2], [1, 2, -1], [0, -3, -7], [1, -1, -6], [2, 3, -3], [3, 6, 2],
            [2, 5, -1], [1, 0, -7], [2, 2, -6], [3, 6, -3], [2, 1, -9],
        ]  # fmt: skip
        values = [step.value for step in run[1:]]
        assert values == [-5, -2, -5, -13, -21, -4, -15, -21, -6, -8, -15]

    def test_iterates_900_to_915(self):
        run = self.run(914)
        assert [weights(step) for step in run[899:915]] == [
            [26, 17, -18], [25, 12, -24], [26, 15, -19], [27, 18, -14],
            [26, 17, -17], [25, 12, -23], [26, 15, -18], [27, 18, -13],
            [26, 17, -16], [25, 12, -22], [26, 15, -17], [27, 18, -12],
            [26, 17, -15], [25, 12, -21], [26, 15, -16], [25, 10, -22],
        ]  # fmt: skip
        errors = [len(step.errors) for step in run[899:915]]
        assert errors == [2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 1, 1, 2, 2]

    @pytest.mark.parametrize(("misclassified", "first"), [("<=", 604), ("<", 549)])
    def test_the_run_repeats_and_that_is_a_proof(self, misclassified, first):
        model = linsep.Perceptron(start=([1, 1], 1), misclassified=misclassified)
        model.fit(self.data.X, self.data.y)
        state = model.outcome_.state
        assert (state.period, state.cycle_start) == (45, first)
        assert model.status_ is Status.INSEPARABLE
        z = [[Fraction(v) * int(s) for v in [1, *x]] for x, s in zip(self.data.X, self.data.y)]
        proof = model.certificate_
        for j in range(3):
            assert sum(m * z[row][j] for row, m in zip(proof.rows, proof.multipliers)) == 0
        assert sum(proof.multipliers) == 1

    def test_certificate_with_all_rows(self):
        from linsep.core.problem import Problem
        from linsep.rows.exact import reflected, vanishes

        problem = Problem(self.data.X, self.data.y)
        counts = [Fraction(m) for m in (1, 1, 10, 6, 6)]
        assert vanishes(reflected(problem, range(5)), counts)

    def test_separability_is_refuted_by_at_most_four_rows(self):
        proof = linsep.separability(self.data.X, self.data.y)
        assert proof.separable is False
        assert len(proof.rows) <= 4
        assert proof.quasi is False
        assert proof.check(self.data.X, self.data.y)

    def test_pocket_finds_one_error(self):
        model = linsep.Perceptron(start=([1, 1], 1)).fit(self.data.X, self.data.y)
        assert (model.certificate_.errors, model.t_lup_) == (1, 4)  # a(5)
        assert str(model.certificate_).endswith("add up to zero")  # no margin is told
        assert [*model.intercept_, *model.coef_[0]] == [1, 3, -3]


class TestXorLift:
    """Lecture 002."""

    def test_cyclic(self):
        run = linsep.trace(linsep.Perceptron(), *PHI)
        assert path(run) == [
            [-1, 0, 0, 0], [0, 1, 0, 1], [-1, 0, -1, 1], [0, 0, 0, 2], [-1, 0, 0, 2],
        ]  # fmt: skip
        assert [step.row for step in run[1:]] == [0, 1, 2, 3, 0]
        assert run.outcome.visits == 9

    def test_lowest_index(self):
        run = linsep.trace(linsep.Perceptron(order="restart"), *PHI)
        assert path(run) == [
            [-1, 0, 0, 0], [0, 1, 0, 1], [-1, 1, 0, 1], [-2, 0, -1, 1], [-1, 1, -1, 2],
            [0, 1, 0, 3], [-1, 1, 0, 3], [-2, 0, -1, 3], [-1, 0, 0, 4],
        ]  # fmt: skip
        assert [step.row for step in run[1:]] == [0, 1, 0, 2, 1, 3, 0, 2, 3]

    def test_without_the_constant_the_zero_row_is_a_proof(self):
        model = linsep.Perceptron(fit_intercept=False, order="restart").fit(*PHI)
        assert model.status_ is Status.INSEPARABLE
        assert model.certificate_.rows == (0,)
        assert model.n_updates_ == 0

    def test_data_themselves_are_not_separable(self):
        X, y = table("xor-01")
        proof = linsep.separability(X, y)
        assert proof.separable is False
        assert sorted(proof.rows) == [0, 1, 2, 3]
        assert set(proof.multipliers) == {Fraction(1, 4)}

    def test_batch_stands_still_and_says_so(self):
        X, y = table("xor-01")
        model = linsep.Perceptron(update="batch").fit(X, y)
        assert model.status_ is Status.INSEPARABLE
        assert model.certificate_.multipliers == (Fraction(1, 4),) * 4


def test_example_31_batch_step():
    X, y = table("example-3.1")
    model = linsep.Perceptron(update="batch", eta=0.7, start=([1, 1], -0.5))
    run = linsep.trace(model, X, y)
    np.testing.assert_allclose(weights(run[1], first=False), [1.42, 0.51, -0.5], rtol=1e-14)
    assert len(run) == 2
    a = np.array(weights(run[1], first=False))
    np.testing.assert_allclose(y * (X @ a[:2] + a[2]), [0.0935, 0.4015], rtol=1e-12)


def test_example_32_reward_and_punishment():
    X, y = table("example-3.2")
    run = linsep.trace(linsep.Perceptron(), X, y)
    assert path(run, first=False) == [[-1, 0, 1], [-1, 1, 0]]
    assert [step.row for step in run[1:]] == [0, 2]
    assert run.outcome.visits == 7


class TestTwoPoints:
    """Lectures 000 and 001."""

    def test_figure_1(self):
        run = linsep.trace(linsep.Perceptron(fit_intercept=False), [[1, 2], [2, 1]], [1, -1])
        assert [step.coef.tolist() for step in run[1:]] == [[1, 2], [-1, 1]]

    def test_undershoot(self):
        X, y = table("undershoot")
        run = linsep.trace(linsep.Perceptron(fit_intercept=False), X, y)
        assert run[2].value == -10
        assert y[1] * (X[1] @ run[2].coef) == -8.75
        assert sum(step.undershoot for step in run[1:]) == 8
        assert len(run) - 1 == 10
        assert run[-1].coef.tolist() == [1, -4.5]

    def test_separable_with_offset_only(self):
        X, y = table("offset-pair")
        assert linsep.separability(X, y).separable is True
        assert linsep.separability(X, y, fit_intercept=False).separable is False

    def test_a_reflected_pair_ends_after_two_updates(self):
        X = np.array([[1.0, 0.5], [0.5, -2.0]])
        run = linsep.trace(linsep.Perceptron(fit_intercept=False), X * [[1], [-1]], [1, -1])
        assert len(run) - 1 == 2
        assert run[-1].coef.tolist() == X.sum(axis=0).tolist()


BOUNDS = {
    # name: D^2, gamma^2, bound, cyclic, lowest index, batch steps, batch sample updates, w
    "students": (5, 1 / 2, 10, 4, 4, 1, 4, [0, 2, 0, -2, -2]),
    "example-3.2": (2, 1 / 2, 4, 2, 2, 1, 4, [0, -2, 2]),
    "mse-1": (118, 0.182628, 646.12, 15, 39, 20, 35, [-3, 23, -13]),
    "mse-2": (118, 0.182628, 646.12, 33, 39, 8, 16, [0, 19, -11]),
    "phi": (3, 1 / 5, 15, 5, 9, 4, 10, [-2, -1, -1, 4]),
    "two-separators": (2, 1, 2, 2, 2, 1, 2, [0, 0, 2]),
}


class TestNovikoff:
    """Lectures 000 and 002."""

    @pytest.mark.parametrize("name", BOUNDS)
    def test_bound_and_counts(self, name):
        X, y = table(name)
        radius2, margin2, most, cyclic, lowest, steps, samples, w = BOUNDS[name]
        bound = linsep.risk.novikoff_bound(X, y)
        assert bound.radius**2 == pytest.approx(radius2, rel=1e-12)
        assert bound.margin[0] ** 2 == pytest.approx(margin2, rel=1e-5)
        assert bound == pytest.approx(most, rel=1e-5)
        run = linsep.trace(linsep.Perceptron(), X, y)
        assert len(run) - 1 == cyclic <= bound * (1 + 1e-9)
        assert len(linsep.trace(linsep.Perceptron(order="restart"), X, y)) - 1 == lowest
        batch = linsep.Perceptron(update="batch").fit(X, y)
        state = batch.outcome_.state
        assert (state.n_updates, state.sample_updates) == (steps, samples)
        assert samples <= bound.batch * (1 + 1e-9)
        assert [*batch.intercept_, *batch.coef_[0]] == w
        assert all(holds for *_, holds in bound.inequalities(run))

    def test_homogeneous_separator_set_attains_the_bound(self):
        X, y = table("two-separators")
        bound = linsep.risk.novikoff_bound(X, y, fit_intercept=False)
        assert bound == pytest.approx(1)
        assert linsep.Perceptron(fit_intercept=False).fit(X, y).n_updates_ == 1

    @pytest.mark.parametrize(
        ("start", "most"), [(([0.25] * 4, 0.25), 10), (([0.5, 0.5, 0, 0], 0), 9)]
    )
    def test_nonzero_start_of_the_students(self, start, most):
        X, y = table("students")
        assert int(linsep.risk.novikoff_bound(X, y, start=start)) == most
        assert linsep.Perceptron(start=start).fit(X, y).n_updates_ == 3

    def test_perceptron_path_of_mse(self):
        for name, w in (("mse-1", [-1, 7, -4]), ("mse-2", [-1, 16, -10])):
            run = linsep.trace(linsep.Perceptron(), *table(name))
            assert weights(run[-1]) == w


class TestKozinec:
    """Lecture 000."""

    @pytest.mark.parametrize(
        ("name", "plain", "within"),
        [
            ("students", 3, 2768),
            ("example-3.2", 1, 1),
            ("mse-1", 1, 1),
            ("mse-2", 1, 1),
            ("phi", 4, 26),
        ],
    )
    def test_updates(self, name, plain, within):
        X, y = table(name)
        settings = {"space": "augmented", "steps": "plain"}
        model = linsep.Kozinec(eps=None, **settings).fit(X, y)
        assert model.n_updates_ == plain
        bound = linsep.risk.novikoff_bound(X, y)
        assert plain <= bound - 1 + 1e-9  # D^2 / m^2 - 1
        model = linsep.Kozinec(eps=1e-3, **settings).fit(X, y)
        assert model.n_updates_ == within
        certificate = model.certificate_
        assert certificate.margin_aug_low <= bound.margin[1] + 1e-12
        assert bound.margin[0] <= certificate.margin_aug_high + 1e-12
        assert certificate.margin_aug_high - certificate.margin_aug_low <= 1e-3 + 1e-12

    def test_length_falls_and_bounds_hold_in_every_step(self):
        X, y = table("phi")
        run = linsep.trace(linsep.Kozinec(space="augmented", steps="plain"), X, y)
        upper = [step.upper for step in run]
        assert all(b <= a for a, b in itertools.pairwise(upper))
        best = linsep.risk.novikoff_bound(X, y).margin[0]
        assert all(step.lower <= best * (1 + 1e-9) <= step.upper * (1 + 1e-8) for step in run)

    def test_nearest_point_of_the_students(self):
        X, y = table("students")
        model = linsep.Kozinec(eps=1e-12, space="augmented").fit(X, y)
        a = model.outcome_.state.a
        np.testing.assert_allclose(a, [0.5, -0.25, -0.25, -0.25, -0.25], atol=1e-6)

    def test_two_spaces_have_two_planes(self):
        X, y = table("mse-1")
        augmented = linsep.Kozinec(eps=1e-9, space="augmented").fit(X, y)
        difference = linsep.Kozinec(eps=1e-9).fit(X, y)
        assert augmented.certificate_.margin == pytest.approx(0.428054, abs=5e-7)
        assert difference.certificate_.margin == pytest.approx(1 / np.sqrt(5), abs=1e-8)
        w = difference.coef_[0] / np.linalg.norm(difference.coef_[0])
        np.testing.assert_allclose(w, np.array([2, -1]) / np.sqrt(5), atol=1e-8)
        assert difference.intercept_[0] / np.linalg.norm(difference.coef_[0]) == pytest.approx(
            -2 / np.sqrt(5), abs=1e-8
        )

    def test_five_points_never_end_and_say_so(self):
        X, y = table("five-points")
        with pytest.warns(linsep.errors.NotSeparatedWarning, match="STEP_LIMIT"):
            model = linsep.Kozinec(space="augmented", steps="plain", max_iter=500).fit(X, y)
        assert model.status_ is Status.STEP_LIMIT
        assert model.certificate_.margin_aug_high < 0.2

    def test_away_steps_prove_the_five_points_inseparable(self):
        X, y = table("five-points")
        model = linsep.Kozinec().fit(X, y)
        assert model.status_ is Status.INSEPARABLE
        assert sum(model.certificate_.multipliers) == 1


class TestKesler:
    """Lecture 004."""

    X = np.array([[0, 2], [1, 3], [3, 0], [4, 1], [-3, -1], [-2, -3]])
    y = (1, 1, 2, 2, 3, 3)

    def test_implicit_rule(self):
        model = linsep.Perceptron().fit(self.X, self.y)
        machine = np.column_stack([model.coef_, model.intercept_])
        assert machine.tolist() == [[0, 3, -1], [3, -2, 0], [-3, -1, 1]]
        assert (model.n_updates_, model.outcome_.state.n_visits) == (3, 21)

    def test_equals_the_explicit_block_vectors(self):
        rows = []
        for x, own in zip(self.X, self.y):
            for rival in (1, 2, 3):
                if rival != own:
                    row = np.zeros((3, 3))
                    row[own - 1], row[rival - 1] = [*x, 1], [-v for v in [*x, 1]]
                    rows.append(row.ravel())
        assert rows[4][:6].tolist() == [-3, 0, -1, 3, 0, 1]
        signs = np.resize([1, -1], len(rows))
        explicit = linsep.trace(
            linsep.Perceptron(fit_intercept=False), np.array(rows) * signs[:, None], signs
        )
        implicit = linsep.trace(linsep.Perceptron(), self.X, self.y)
        assert len(explicit) == len(implicit)
        for one, two in zip(explicit, implicit):
            assert one.coef.tolist() == np.column_stack([two.coef, two.intercept]).ravel().tolist()


def test_kozinec_never_calls_a_plane_certified_that_does_not_separate():
    X, y = [[1, 1], [1, -2], [-3, 3], [1, -2], [-1, 2]], [-1, 1, 1, -1, -1]
    model = linsep.Kozinec().fit(X, y)
    assert model.status_ is Status.INSEPARABLE
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X @ [1.0, 2.0, -1.0] > 0.1, 1, 0)
    with pytest.warns(linsep.errors.NotSeparatedWarning, match="eps is too large"):
        small = linsep.Kozinec(eps=1e-3).fit(1e-4 * X, y)  # the margin is far below eps
    assert small.status_ is Status.EPS_TOO_LARGE
    assert small.certificate_.errors > 0
    assert "a plane of margin" in small.summary()
    assert linsep.Kozinec(eps=1e-9).fit(1e-4 * X, y).score(1e-4 * X, y) == 1.0


def test_kozinec_starts_from_any_observation():
    """Lecture 000: w(0) is any row; from each of the students' the rule ends within its bound."""
    X, y = linsep.data.load("students")
    Z = linsep.reflect(linsep.augment(X, position="last"), y)
    bound = linsep.risk.kozinec_bound(X, y)
    for row in range(4):
        rule = linsep.Kozinec(start=row, space="augmented", steps="plain", eps=None)
        run = linsep.trace(rule, X, y)
        assert [*run[0].coef, run[0].intercept] == Z[row].tolist()
        assert run.outcome.status.name == "SEPARATED" and len(run) - 1 <= bound
        fitted = rule.fit(X, y)
        assert np.array_equal(fitted.coef_[0], run[-1].coef)
    mean = linsep.trace(linsep.Kozinec(start=[0, 3], space="augmented", steps="plain"), X, y)
    assert [*mean[0].coef, mean[0].intercept] == ((Z[0] + Z[3]) / 2).tolist()
    drawn = linsep.Kozinec(start="random", random_state=2, eps=1e-6).fit(X, y)
    assert drawn.certificate_.margin_low == pytest.approx(np.sqrt(0.6), abs=1e-5)
    for wrong, words in ((7, "row 7"), (([1.0, 0, 0, 0], 1.0), "no point of the hull")):
        with pytest.raises(linsep.errors.SettingError, match=words):
            linsep.Kozinec(start=wrong).fit(X, y)
