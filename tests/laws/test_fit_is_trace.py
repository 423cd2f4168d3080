"""A trace is the fit, watched: both end in the same weights with the same status."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linsep
from linsep.core.protocol import Status

KOZINEC = [
    linsep.Kozinec(eps=eps, space=space, steps=steps, max_iter=200)
    for eps in (None, 1e-3, 0.4, 3.0)
    for space in ("difference", "augmented")
    for steps in ("away", "plain")
]
PERCEPTRONS = [
    linsep.Perceptron(max_iter=40, **settings)
    for settings in (
        {}, {"update": "batch"}, {"order": "worst"}, {"order": "shuffle"}, {"order": "restart"},
        {"keep": "pocket"}, {"keep": "average"}, {"keep": "last"}, {"decay": "inverse"},
        {"misclassified": "<"}, {"start": "random"}, {"fit_intercept": False},
        {"update": "batch", "keep": "pocket"}, {"update": "batch", "keep": "average"},
    )
]  # fmt: skip
OTHERS = [
    linsep.HoKashyap(max_iter=100),
    linsep.LeastSquares(solver="gradient", max_iter=60),
    linsep.LeastSquares(solver="widrow-hoff", eta=0.01, max_iter=60),
    linsep.LogisticRegression(solver="gradient", max_iter=40),
    linsep.Kesler(linsep.Perceptron(max_iter=30)),
]
KERNELS = [
    linsep.Kozinec(kernel="rbf", max_iter=40),
    linsep.Kozinec(kernel="linear", eps=0.3, max_iter=40),
    linsep.KernelPerceptron(max_iter=5),
    linsep.KernelPerceptron(keep="average", max_iter=5),
    linsep.KernelPerceptron(keep="average", kernel="linear", order="shuffle", max_iter=3),
    linsep.KernelPerceptron(keep="pocket", kernel="linear", max_iter=5),
]


def tables():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(24, 3))
    yield "apart", X + 3 * (X[:, :1] > 0), (X[:, 0] > 0).astype(int)
    yield "mixed", X, rng.integers(0, 2, 24)
    yield "three classes", X + 2 * rng.permutation(np.arange(24) % 3)[:, None], np.arange(24) % 3
    for name in ("students", "five-points", "xor"):
        table = linsep.data.load(name)
        yield name, table.X, table.y


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "X", "y"), list(tables()), ids=lambda v: v if type(v) is str else ""
)
@pytest.mark.parametrize("family", [KOZINEC, PERCEPTRONS, OTHERS, KERNELS])
def test_fit_and_trace_end_in_the_same_weights(family, name, X, y):
    for model in family:
        apart = isinstance(model, linsep.HoKashyap | linsep.KernelPerceptron)
        if name == "three classes" and apart:
            with pytest.raises(linsep.errors.CapabilityError, match="a run for each class"):
                linsep.trace(model, X, y)
            continue
        run = linsep.trace(model, X, y)
        model.fit(X, y)
        last = run[-1]
        if last.coef.size:  # with a kernel that bends the space there are none
            seen = getattr(model, "coef_", last.coef)
            assert np.array_equal(np.ravel(last.coef), seen.ravel()), model
        assert np.array_equal(np.ravel(last.intercept), model.intercept_), model
        assert run.outcome.status is model.status_, model
        assert run.outcome.updates == getattr(model, "n_updates_", run.outcome.updates), model
        visits = [step.visit for step in run]
        assert visits == sorted(visits) and visits[-1] <= run.outcome.visits, model
        assert linsep.Trace.from_dict(run.to_dict()).narrate() == run.narrate()


INF = float("inf")
MACHINES = [
    linsep.LinearSVM(),
    linsep.LinearSVM(C=10.0, solver="dual-cd", max_iter=30),
    linsep.LinearSVM(solver="newton", loss="squared_hinge"),
    linsep.LinearSVM(solver="proximal-newton", fit_intercept=False),
    linsep.LinearSVM(multi_class="crammer-singer"),
    linsep.LinearSVM(C=INF),
    linsep.KernelSVM(),
    linsep.KernelSVM(kernel="linear", C=0.3),
    linsep.KernelSVM(kernel=linsep.kernels.Polynomial(2), C=INF),
    linsep.LogisticRegression(solver="newton"),
    linsep.LogisticRegression(C=INF),
    linsep.LogisticRegression(C=3.0, fit_intercept=False, tol=1e-2),
    linsep.LogisticRegression(kernel="rbf"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "X", "y"), list(tables()), ids=lambda v: v if type(v) is str else ""
)
def test_machines_are_traced_step_by_step_with_their_gaps(name, X, y):
    for model in MACHINES:
        if name == "three classes" and isinstance(model, linsep.LinearSVM) and model.C == INF:
            with pytest.raises(linsep.errors.CapabilityError, match="one search for each class"):
                linsep.trace(model, X, y)
            continue
        run = linsep.trace(model, X, y)
        model.fit(X, y)
        last, found = run[-1], model.certificate_
        assert run.outcome.status is model.status_, model
        if hasattr(model, "coef_"):
            assert np.array_equal(np.ravel(last.coef), model.coef_.ravel()), model
            assert np.array_equal(np.ravel(last.intercept), model.intercept_), model
        told = (last.objective, last.lower_bound, last.gap)
        assert told == (found.objective, found.lower_bound, found.relative_gap), model
        assert len(last.errors) == found.errors, model
        if model.status_ is not Status.INSEPARABLE:  # else the run goes on with C = 1
            best = min(step.objective for step in run)
            assert all(step.lower_bound <= best * (1 + 1e-12) for step in run), model
        updates = [step.update for step in run if not step.closing]
        assert updates == list(range(len(updates))) and run.outcome.updates == updates[-1]


def test_a_trace_of_a_machine_is_a_picture_a_page_and_a_file(tmp_path):
    table = linsep.data.load("mse-1")
    run = linsep.trace(linsep.LinearSVM(), table.X, table.y)
    words = run.narrate()
    assert "interior step 1: objective" in words and "within" in words
    display = run.plot()
    assert [panel[0].name for panel in display.curves] == [
        "rows wrong",
        "objective",
        "relative gap",
    ]
    assert display.axes_[-1].get_yscale() == "log" and len(display.lines_) >= 2
    run.save(tmp_path / "run.json")
    assert linsep.Trace.load(tmp_path / "run.json").narrate() == words
    assert "relative gap" in run.to_html() and run.frame()["gap"].iloc[-1] == run[-1].gap
    curved = linsep.trace(linsep.KernelSVM(), table.X, table.y)
    assert curved.plot().points is None and "b = " in curved.narrate()
    two = linsep.trace(linsep.LinearSVM(), table.X, table.y, max_steps=2)
    assert [step.update for step in two] == [0, 1, 2]
    assert two.outcome.status is Status.STEP_LIMIT
    assert (
        linsep.KernelPerceptron()
        and linsep.trace(linsep.KernelPerceptron(), table.X, table.y).plot().points is None
    )  # a kernel has no line to draw


def test_kozinec_gives_back_the_run_that_was_asked_for():
    table = linsep.data.load("students")
    model = linsep.Kozinec(space="augmented", steps="plain", eps=3.0)
    with pytest.warns(linsep.errors.NotSeparatedWarning, match="eps is too large"):
        model.fit(table.X, table.y)
    assert model.status_ is Status.EPS_TOO_LARGE
    assert [*model.coef_[0], *model.intercept_] == [1, 1, -1, -1, 1]
    assert "a plane of margin 0.77" in model.summary()


@pytest.mark.parametrize("seed", range(4))
def test_where_nothing_separates_the_best_weights_so_far_are_kept(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = linsep.Perceptron(max_iter=30).fit(X, y)
        run = linsep.trace(linsep.Perceptron(max_iter=30, keep="last"), X, y)
        kozinec = linsep.Kozinec(max_iter=500).fit(X, y)
    fewest = min(len(step.errors) for step in run)
    assert model.certificate_.errors == fewest
    assert len(run[model.t_lup_].errors) == fewest
    assert f"update {model.t_lup_} (t_lup)" in model.summary()
    assert np.abs(kozinec.coef_).max() > 1e-3


def test_the_pocket_presents_in_random_order_unless_told_otherwise():
    X, y = [[-3], [-2], [-1], [0]], [-1, 1, 1, -1]  # in a fixed order never below 2 errors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = linsep.Perceptron(keep="pocket").fit(X, y)
        fixed = linsep.Perceptron(keep="pocket", order="cyclic").fit(X, y)
    assert (drawn.certificate_.errors, fixed.certificate_.errors) == (1, 2)


def test_the_summary_tells_the_bound_of_novikoff():
    table = linsep.data.load("example-3.2")
    words = linsep.Perceptron().fit(table.X, table.y).summary()
    assert "Novikoff    at most 4 updates" in words
    assert "Novikoff" not in linsep.Perceptron(start="random").fit(table.X, table.y).summary()


def test_a_run_that_ends_where_it_stands_needs_no_closing_step():
    """The last scan of Kozinec adds up the offset in another order than the steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6))
    y = X[:, 0] > 0
    X[:, 0] += 0.3 * np.sign(X[:, 0])
    for kernel in (None, "rbf"):
        run = linsep.trace(linsep.Kozinec(kernel=kernel), X, y)
        assert not run[-1].closing and run.outcome.t_lup == run.outcome.updates


STEEP = linsep.LeastSquares(solver="gradient")


@pytest.mark.parametrize("model", [STEEP, linsep.HoKashyap(), linsep.Perceptron(update="batch")])
def test_looks_of_steps_over_all_rows_are_counted_from_one(model):
    table = linsep.data.load("five-points")
    run = linsep.trace(model, table.X, table.y, max_steps=2, visits=True)
    looks = [step.visit for step in run if step.row is not None]
    assert looks[:10] == list(range(1, 11))[: len(looks)] and len(looks) >= 5
    assert run.outcome.visits == max(looks)
