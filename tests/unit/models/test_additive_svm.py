"""AdditiveSVM: exact functions, proofs, hostile data, files, growth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import linsep
from linsep.core.checkpoint import Checkpointer
from linsep.core.problem import Problem
from linsep.errors import (
    DataError,
    GapWarning,
    LinsepError,
    ModelError,
    ProofError,
    SettingError,
)
from linsep.kernels import additive
from linsep.kernels.additive import (
    AdditiveFunction,
    Levels,
    Nodes,
    kappa,
    mean_table,
    nodes_of,
    table_error,
)
from linsep.proofs.additive import additive_gap, scores_and_errors
from linsep.solvers.kernel.additive_rows import kernel_block
from linsep.solvers.kernel.working_set import best_offset

POWERS = [-np.inf, -1.0, -0.25, -3.0, -300.0, 0.0]


def mean(p, x, z):
    """Power mean of two numbers by its definition, in long double."""
    if x == 0 or z == 0:
        return np.longdouble(0)
    if np.isneginf(p):
        return np.longdouble(min(x, z))
    x, z = np.longdouble(x), np.longdouble(z)
    if p == 0:
        return np.sqrt(x) * np.sqrt(z)
    low, high = min(x, z), max(x, z)
    return low * ((1 + (high / low) ** np.longdouble(p)) / 2) ** (1 / np.longdouble(p))


def gram(p, A, B):
    return np.array([[sum(mean(p, x, z) for x, z in zip(a, b)) for b in B] for a in A], float)


def histograms(n=30, d=4, seed=0, real=True):
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.7, 5.0, (n, d)) if real else rng.poisson(2.0, (n, d)).astype(float)
    X[rng.random((n, d)) < 0.2] = 0.0
    y = np.where(X[:, 0] + rng.normal(0, 2, n) > X[:, 1], "b", "a")
    y[:2] = "a", "b"
    return X, y


# -- kernel, levels, functions --------------------------------------------------------------------


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("real", [True, False])
def test_products_with_the_kernel_matrix_without_it(p, real):
    X, _ = histograms(real=real)
    c = np.random.default_rng(1).normal(size=len(X))
    levels, f = Levels(X, p), np.zeros(len(X))
    levels.add_product(np.arange(len(X)), c, f)
    K = gram(p, X, X)
    np.testing.assert_allclose(f, K @ c, atol=1e-11 * np.abs(K).max() * len(X))
    some = np.array([3, 7, 11])
    other = np.array([0, 7])
    np.testing.assert_allclose(levels.combine(some, c[:3], other), K[np.ix_(other, some)] @ c[:3])
    np.testing.assert_allclose(levels.diagonal(), X.sum(axis=1))


@pytest.mark.parametrize("p", POWERS)
def test_functions_are_exact_beyond_the_training_range(p):
    X, _ = histograms()
    c = np.random.default_rng(1).normal(size=(len(X), 2))
    function = Levels(X, p).function(np.arange(len(X)), c)
    Z = np.array([[0.0, 1e-9, 1e6, 3.3], [1e-300, 1e12, 0.5, 0.0], X[4]])
    scale = np.sqrt(Z).sum(axis=1).max() * np.sqrt(X).sum() * np.abs(c).max()
    np.testing.assert_allclose(function.scores(Z), gram(p, Z, X) @ c, atol=1e-12 * scale)
    np.testing.assert_array_equal(function.scores(Z), function.scores(scipy.sparse.csr_array(Z)))


@pytest.mark.parametrize("p", [-0.02, -0.5, -1.0, -7.0, -10.0])
def test_the_error_of_cells_is_within_its_bound(p):
    rng = np.random.default_rng(0)
    values = np.exp(rng.uniform(-9, 9, 700))
    function = AdditiveFunction(p, np.array([0, len(values)]), np.sort(values), np.eye(700)[:, :3])
    nodes = nodes_of(values, p)
    assert nodes.cells is not None and not nodes.too_many
    x = np.exp(rng.uniform(-12, 12, 600))
    exact = np.array([[mean(p, a, b) for b in np.sort(values)[:3]] for a in x], float)
    bound = table_error(x, values) * np.sqrt(np.outer(x, np.sort(values)[:3]))
    assert (np.abs(function.scores(x[:, None]) - exact) <= bound).all()


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("share", [0.9, 0.05])
@pytest.mark.parametrize("real", [True, False])
def test_blocks_of_the_kernel_matrix(p, share, real):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 2.0, (60, 12)) if real else rng.integers(1, 9, (60, 12)).astype(float)
    X[rng.random(X.shape) > share] = 0.0
    new, rows = np.array([3, 1, 50]), np.arange(40)
    K = gram(p, X[new], X[rows])
    for short in (False, True):
        got = kernel_block(Levels(X, p), new, rows, short=short)
        np.testing.assert_allclose(got, K, rtol=1e-5, atol=1e-5)


def test_the_table_of_means_against_the_definition():
    s = np.log([1e-8, 0.5, 1.0, 3.0, 1e8])
    for p in (-1.0, -2.0, -0.1, -50.0):
        want = [[mean(p, a, b) / np.sqrt(a * b) for b in np.exp(s)] for a in np.exp(s)]
        np.testing.assert_allclose(mean_table(p, s, s), np.array(want, float), rtol=1e-13)
    assert kappa(-1.0, 1.0, 3.0) == pytest.approx(1.5)
    assert kappa(-np.inf, 1.0, 3.0) == 1.0
    assert isinstance(nodes_of(np.array([1.0, 2.0]), -1.0), Nodes)


def test_best_offset_minimises_the_sum_of_losses():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = rng.integers(2, 9)
        y, cost = rng.choice([-1.0, 1.0], n), rng.choice([0.5, 1.0, 2.0], n)
        y[:2] = 1, -1
        score = rng.integers(-3, 4, n).astype(float)
        b = best_offset(y, cost, score - y)

        def loss(b, y=y, cost=cost, score=score):
            return float(cost @ np.maximum(0, 1 - y * (score + b)))

        assert loss(b) <= min(loss(t) for t in y - score) + 1e-12


# -- the machine ----------------------------------------------------------------------------------


def test_the_bound_in_rational_arithmetic():
    """Whole numbers, intersection: objective and bound again with fractions."""
    X, y = histograms(real=False)
    model = linsep.AdditiveSVM(tol=1e-6).fit(X, y)
    s = np.where(y == "b", 1, -1)
    beta = {int(i): Fraction(float(v)) for i, v in zip(model.support_, model.dual_coef_[0])}
    rows = [[Fraction(v) for v in row] for row in X.tolist()]

    def value(x):
        return sum(b * sum(min(u, v) for u, v in zip(x, rows[i])) for i, b in beta.items())

    squared = sum(b * value(rows[i]) for i, b in beta.items())
    offset = Fraction(float(model.intercept_[0]))
    losses = sum(max(0, 1 - int(t) * (value(x) + offset)) for t, x in zip(s, rows))
    gap = model.certificate_
    assert float(squared / 2 + losses) <= gap.objective * (1 + 1e-12)
    assert gap.relative_gap <= 1e-6 and gap.lower_bound <= gap.objective
    plus = sum(b for b in beta.values() if b > 0)
    minus = -sum(b for b in beta.values() if b < 0)
    assert abs(float(plus - minus)) < 1e-12
    assert Fraction(gap.lower_bound) <= sum(abs(b) for b in beta.values()) - squared / 2


@pytest.mark.parametrize("kernel", ["intersection", "chi2", -2.0, "hellinger"])
def test_a_poor_alpha_proves_less_and_never_too_much(kernel):
    X, y = histograms()
    model = linsep.AdditiveSVM(kernel, tol=1e-6).fit(X, y)
    best = model.certificate_.objective
    problem = Problem(X, y)
    rng = np.random.default_rng(0)
    for _ in range(20):
        alpha = rng.uniform(-1, 3, (1, len(y)))
        got = additive_gap(problem, model.function_, model.intercept_, alpha, 1.0, "")
        assert got.lower_bound <= best and got.objective == pytest.approx(best)
    wrong = AdditiveFunction(
        model.function_.power, model.function_.start, model.function_.values,
        2 * model.function_.coef,
    )  # fmt: skip
    got = additive_gap(problem, wrong, model.intercept_, np.abs(alpha), 1.0, "")
    assert got.objective > best


def test_slots_that_do_not_fit_are_no_function_that_could_be_judged():
    """Machine code would read beyond them."""
    X, y = histograms()
    model = linsep.AdditiveSVM().fit(X, y)
    f, alpha = model.function_, np.zeros((1, len(y)))
    far = f.start.copy()
    far[1:] += 10**6
    for start, values, coef in [
        (far, f.values, f.coef),
        (f.start[::-1].copy(), f.values, f.coef),
        (f.start[:-1], f.values, f.coef),
        (f.start, f.values[:-1], f.coef),
        (f.start, f.values, f.coef[:-1]),
        (f.start, f.values, np.hstack([f.coef, f.coef])),
    ]:
        wrong = AdditiveFunction(f.power, start, values, coef)
        with pytest.raises(ProofError):
            additive_gap(Problem(X, y), wrong, model.intercept_, alpha, 1.0, "")
    levels = Levels(Problem(X, y).matrix, -1.0)
    for rows, count in [([len(y)], 1), ([-1], 1), ([0, 1], 1)]:
        with pytest.raises(IndexError):
            levels.collect(np.array(rows), np.ones(count))
    with pytest.raises(IndexError):
        levels.add_product(np.array([0]), np.ones(1), np.zeros(len(y) - 1))
    with pytest.raises(IndexError):
        levels.functions(np.ones(len(levels.values) + 1))


def test_xor_of_histograms_is_not_linear_but_additive_functions_bend():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = [0, 1, 1, 0]  # an interval: no threshold, but one bent function
    model = linsep.AdditiveSVM(C=1e3, tol=1e-6).fit(X, y)
    assert model.score(X, y) == 1.0
    x, h = model.feature_function(0)
    assert x[0] == 0 and h[0] == 0
    between, at = 0.5 * (x[1:] + x[:-1]), model.feature_function(0, 0.5 * (x[1:] + x[:-1]))[1]
    np.testing.assert_allclose(at, 0.5 * (h[1:] + h[:-1]), atol=1e-12 * np.abs(h).max())
    assert model.feature_function(0, [99.0])[1][0] == pytest.approx(h[-1]) and len(between)


@pytest.mark.parametrize("kernel", ["intersection", "chi2", "hellinger", -5.0])
def test_scores_are_sums_of_feature_functions(kernel):
    X, y = load_digits(return_X_y=True)
    X, y = X[:150], y[:150]
    model = linsep.AdditiveSVM(kernel).fit(X, y)
    total = np.zeros((len(X), 10))
    for k in range(X.shape[1]):
        total += model.feature_function(k, X[:, k])[1]
    np.testing.assert_allclose(model.decision_function(X), total + model.intercept_, atol=1e-9)
    assert model.feature_ranges().shape == (10, 64)
    assert model.certificate_.relative_gap <= model.tol and model.status_.name == "CERTIFIED"


@pytest.mark.parametrize("kernel", ["intersection", "chi2", "hellinger", -2.0])
def test_layouts_and_types_agree(kernel):
    X, y = histograms(40, 5, real=False)
    plain = linsep.AdditiveSVM(kernel, tol=1e-8).fit(X, y)
    for other in (scipy.sparse.csr_array(X), scipy.sparse.csc_array(X), X.astype(np.float32),
                  X.astype(int), np.asfortranarray(X)):  # fmt: skip
        model = linsep.AdditiveSVM(kernel, tol=1e-8).fit(other, y)
        np.testing.assert_allclose(
            model.decision_function(other), plain.decision_function(X), atol=1e-4
        )
    zeros = scipy.sparse.csr_array(X)
    zeros.data[:5] = 0.0  # stored zeros are zeros
    kept = zeros.copy()
    linsep.AdditiveSVM(kernel).fit(zeros, y)
    np.testing.assert_array_equal(zeros.data, kept.data)


def test_weights_count_as_rows_and_zero_takes_none_part():
    X, y = histograms()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighed = linsep.AdditiveSVM("chi2", tol=1e-9).fit(X, y, sample_weight=weight)
    repeated = linsep.AdditiveSVM("chi2", tol=1e-9).fit(X.repeat(weight, 0), y.repeat(weight))
    np.testing.assert_allclose(
        weighed.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    assert (weight[weighed.support_] > 0).all()
    again = weighed.certificate_for(X, y, weight)
    assert again.lower_bound == pytest.approx(weighed.certificate_.lower_bound)


def test_a_warm_start_has_little_left_to_do():
    X, y = load_digits(return_X_y=True)
    model = linsep.AdditiveSVM(warm_start=True, tol=1e-4).fit(X[:600], y[:600] % 2)
    steps = model.outcome_.steps
    model.fit(X[:600], y[:600] % 2)
    assert model.outcome_.steps <= 1 < steps and model.status_.ok
    model.set_params(C=2.0).fit(X[:600], y[:600] % 2)
    assert model.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize(("tol", "classes"), [(1e-3, 2), (1e-5, 2), (1e-3, 3)])
def test_a_run_that_was_stopped_ends_in_the_same_bits(tol, classes, tmp_path):
    X, y = load_digits(return_X_y=True)
    X, y, path = X[:700], y[:700] % classes, tmp_path / "run.npz"
    cut = linsep.AdditiveSVM(tol=tol, max_iter=2, callbacks=[Checkpointer(path, every=0)])
    with pytest.warns(GapWarning):
        cut.fit(X, y)
    end = linsep.AdditiveSVM(tol=tol).resume(X, y, path)
    fresh = linsep.AdditiveSVM(tol=tol).fit(X, y)
    np.testing.assert_array_equal(end.dual_coef_, fresh.dual_coef_)


def test_threads_change_nothing():
    X, y = load_digits(return_X_y=True)
    one = linsep.AdditiveSVM(n_jobs=1).fit(X[:300], y[:300])
    two = linsep.AdditiveSVM(n_jobs=2).fit(X[:300], y[:300])
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_more_rows_and_more_free_variables_than_a_working_set():
    from linsep.core import drive
    from linsep.kernels import Intersection
    from linsep.solvers.kernel.smo import SMO

    X, y = load_digits(return_X_y=True)
    problem = Problem(X, y % 2)
    best = drive(problem, SMO(Intersection(), 10.0, 1e-7, 1e-7, q=512, by_features=True))
    bound = best.state.parts[0].facts[1]
    for single, q, tol in ((False, 32, 1e-5), (True, 64, 1e-3)):
        solver = SMO(Intersection(), 10.0, tol, tol, q=q, single=single, by_features=True)
        outcome = drive(problem, solver)
        assert outcome.status.name == "CERTIFIED"
        assert outcome.state.parts[0].objective <= bound * (1 + 1.01 * solver.tol)


@pytest.mark.parametrize("p", [-np.inf, -1.0])
def test_work_grows_in_proportion_with_the_rows(p):
    """Counted, not timed: additions and look-ups of one product with the kernel matrix."""
    rng = np.random.default_rng(0)
    counts = []
    for n in (500, 1000, 2000):
        X = rng.integers(0, 50, (n, 6)).astype(float)
        levels = Levels(X, p)
        fixed = 0 if np.isneginf(p) else 6 * len(levels.table) ** 2
        levels.operations = 0
        levels.add_product(np.arange(n), np.ones(n), np.zeros(n))
        counts.append(levels.operations - fixed)
    assert counts[2] - counts[1] <= 2.1 * (counts[1] - counts[0])
    assert counts[2] < 5 * 2000 * 6


def test_memory_of_the_answer_does_not_depend_on_the_support_vectors():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (1500, 4)).astype(float)
    model = linsep.AdditiveSVM(C=0.1).fit(X, rng.integers(0, 2, 1500))
    assert len(model.support_) > 1000 and len(model.function_.values) <= 4 * 7


# -- hostile data ---------------------------------------------------------------------------------

NUMBERS = st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.1, 1e-300, 5e-324, 1e6, 1e-5, 12345.678])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda d: st.lists(st.tuples(st.lists(NUMBERS, min_size=d, max_size=d),
                                     st.integers(0, 2)), min_size=2, max_size=9)
    ),
    st.sampled_from([-np.inf, -1.0, -0.5, -8.0, -1e4, 0.0]),
    st.sampled_from([1e-3, 1.0, 1e3]),
)  # fmt: skip
def test_hostile_tables(table, power, C):
    X, y = np.array([row for row, _ in table]), np.array([label for _, label in table])
    if len(np.unique(y)) < 2:
        y[0] = 7
    model = linsep.AdditiveSVM(power, C=C, tol=1e-4, max_iter=300)
    try:
        model.fit(X, y)
    except GapWarning:
        return  # rounding at 1e6 against 5e-324; the words are tested elsewhere
    gap = model.certificate_
    assert gap.relative_gap <= 1e-4
    assert np.isfinite(model.decision_function(X)).all()
    again = linsep.certify(model, X, y)
    assert again.lower_bound == pytest.approx(gap.lower_bound)


@pytest.mark.parametrize("kernel", ["intersection", "chi2", "hellinger", -2.0])
def test_nothing_to_learn_from(kernel):
    for X in (np.zeros((6, 2)), np.ones((6, 2))):
        model = linsep.AdditiveSVM(kernel).fit(X, [0, 0, 1, 1, 1, 1])
        assert model.status_.ok and (model.predict(X) == 1).all()
        assert linsep.certify(model, X, [0, 0, 1, 1, 1, 1]).objective == pytest.approx(4.0)


def test_one_row_of_each_class():
    model = linsep.AdditiveSVM(C=10).fit([[1.0, 0.0], [0.0, 3.0]], ["x", "y"])
    assert model.predict([[1.0, 0.0], [0.0, 3.0]]).tolist() == ["x", "y"]
    assert model.certificate_.objective == pytest.approx(0.5)  # |w|^2 = 4 / |phi - phi'|^2 = 1


def test_errors_name_value_place_and_way_out():
    X, y = histograms()
    bad = X.copy()
    bad[3, 2] = -1.5
    for data in (bad, scipy.sparse.csr_array(bad)):
        with pytest.raises(DataError, match=r"-1\.5 at row 3, column 2.*KernelSVM"):
            linsep.AdditiveSVM().fit(data, y)
    with pytest.raises(DataError, match="row 3, column 2"):
        linsep.AdditiveSVM().fit(X, y).predict(bad)
    with pytest.raises(DataError, match="1e\\+200"):
        linsep.AdditiveSVM().fit(X + 1e200, y)
    for kernel in ("rbf", 0.5, True, None, linsep.kernels.RBF(1.0), float("nan")):
        with pytest.raises(SettingError, match=r"p <= 0"):
            linsep.AdditiveSVM(kernel).fit(X, y)
    for setting in ({"C": np.inf}, {"C": 0}, {"tol": 0}, {"max_iter": 0}):
        with pytest.raises(SettingError):
            linsep.AdditiveSVM(**setting).fit(X, y)
    model = linsep.AdditiveSVM().fit(X, y)
    for k in (4, -5, "x", 1.0, True):
        with pytest.raises(SettingError, match="no feature"):
            model.feature_function(k)
    with pytest.raises(SettingError, match=">= 0"):
        model.feature_function(0, [-1.0])
    with pytest.raises(ModelError, match="labels"):
        model.certificate_for(X, np.where(y == "a", 0, 1))
    with pytest.raises(TypeError):
        linsep.AdditiveSVM(callbacks=[print]).fit(X, y)


def test_kernel_objects_names_and_numbers_are_one():
    X, y = histograms()
    k = linsep.kernels
    for same in (("intersection", -np.inf, k.Intersection()), ("chi2", -1, k.ChiSquared(),
                 k.PowerMean(-1.0)), ("hellinger", 0, k.Hellinger())):  # fmt: skip
        scores = [linsep.AdditiveSVM(s).fit(X, y).decision_function(X) for s in same]
        for other in scores[1:]:
            np.testing.assert_array_equal(scores[0], other)


# -- files, words, command line -------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["intersection", "chi2", "hellinger", -2.0])
def test_a_model_file_holds_everything(kernel, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = histograms()
    frame = pandas.DataFrame(X, columns=list("pqrs"))
    model = linsep.AdditiveSVM(kernel, class_weight="balanced").fit(frame, y)
    linsep.save(model, tmp_path / "m.json")
    back = linsep.load(tmp_path / "m.json")
    np.testing.assert_array_equal(back.decision_function(frame), model.decision_function(frame))
    assert back.certificate_ == model.certificate_ and back.status_ is model.status_
    report = linsep.certify(back, frame, y)
    assert report.lower_bound == pytest.approx(model.certificate_.lower_bound)
    np.testing.assert_array_equal(back.feature_function("q")[1], model.feature_function(1)[1])
    assert "AdditiveSVM" in back.summary() and kernel_word(kernel) in model.summary()


def kernel_word(kernel):
    return kernel if isinstance(kernel, str) else "power mean (p = -2)"


@pytest.mark.parametrize(
    ("field", "value"),
    [("values", -1.0), ("start", 99), ("coef", np.nan), ("intercept", np.inf), ("support", -3)],
)
def test_a_damaged_file_is_refused(field, value, tmp_path):
    X, y = histograms()
    fields = linsep.AdditiveSVM().fit(X, y).to_model()
    broken = np.array(fields[field])
    broken.ravel()[1 if broken.size > 1 else 0] = value
    with pytest.raises(LinsepError):
        linsep.AdditiveSVM.from_model(fields | {field: broken})


def test_the_command_line_fits_and_verifies(tmp_path, capsys):
    from linsep.cli.main import main

    X, y = histograms()
    lines = ["p,q,r,s,label"] + [",".join(map(repr, r)) + f",{t}" for r, t in zip(X.tolist(), y)]
    (tmp_path / "d.csv").write_text("\n".join(lines))
    data, out = str(tmp_path / "d.csv"), str(tmp_path / "m.json")
    assert main(["fit", data, "-a", "additive-svm", "--set", "kernel=chi2", "-o", out]) == 0
    assert "chi2 kernel" in capsys.readouterr().out
    assert main(["verify", out, data]) == 0
    assert "they agree" in capsys.readouterr().out


def test_without_time_the_rows_are_sorted_once(monkeypatch):
    """Of a fit that is cut short the scores of one machine are computed, and no more."""
    rng = np.random.default_rng(0)
    rows = rng.random((8000, 20))
    labels = rows[:, 0] + 0.3 * rng.normal(size=8000) > rows[:, 1]
    sorted_rows = []

    def counted(X):
        sorted_rows.append(X.shape[0])
        return by_columns(X)

    by_columns = additive.by_columns
    monkeypatch.setattr(additive, "by_columns", counted)
    with pytest.warns(GapWarning, match="Raise max_iter or time_limit"):
        model = linsep.AdditiveSVM(time_limit=1e-9).fit(rows, labels)
    assert sorted_rows.count(8000) == 1
    assert model.score(rows, labels) > 0.7
    gap = model.certificate_for(rows, labels)
    assert gap.objective == pytest.approx(model.certificate_.objective, rel=1e-12)


def test_offsets_alone_have_the_scores_of_their_definition():
    problem = Problem(np.ones((3, 2)), [0, 1, 1])
    none = AdditiveFunction(-np.inf, np.zeros(3, int), np.zeros(0), np.zeros((0, 1)))
    scores, off = scores_and_errors(problem, none, np.array([0.25]))
    assert scores.tolist() == [[0.25]] * 3 and (off > 0).all()
