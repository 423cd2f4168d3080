"""A limit of time holds from the first line of a fit to its last, and what is left is of use.

No test looks at a real clock: time goes on when the test says so, or is up from the start.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

import linsep
import linsep.separating.verdict
from linsep.core import Problem, drive, limits
from linsep.core.lanes import run_all
from linsep.core.limits import Limits
from linsep.core.protocol import State, Status, Witness
from linsep.errors import LinsepWarning
from linsep.rows.loops import dot
from linsep.solvers.first import first_model


def tall(n=4000, d=6, classes=2, seed=3):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d)) * [1, 2, 3, 0.1, 50, 1][:d] + 5
    scores = (X - 5) / [1, 2, 3, 0.1, 50, 1][:d] @ draw.normal(size=(d, classes))
    return X, (scores + 0.5 * draw.normal(size=(n, classes))).argmax(axis=1)


class Clock:
    """Stands still until somebody works."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(limits, "_source", made)
    return made


@dataclass(kw_only=True)
class Counted(State):
    half: int = 0

    @property
    def passes(self):
        return float(self.steps)


@dataclass(frozen=True)
class Slow:
    """Steps of so many jobs, each of which takes its time; a state is odd in the middle of one."""

    clock: Clock
    jobs: int = 4
    seconds: float = 0.1
    unit: ClassVar[str] = "step"

    def init(self, problem, *, start=None):
        return Counted()

    def advance(self, problem, state, steps, log=None):
        for _ in range(steps):
            state.half += 1
            run_all([partial(self._work, k) for k in range(self.jobs)], 1)
            state.half += 1
            state.steps += 1
        return steps

    def _work(self, k):
        self.clock.now += self.seconds

    def status(self, state):
        return Status.RUNNING

    def witness(self, problem, state):
        return Witness(a=np.zeros(problem.dim))


PROBLEM = Problem([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("jobs", [1, 4, 100])
@pytest.mark.parametrize("limit", [0.05, 0.35, 1.0, 3.0])
def test_a_step_is_given_up_when_the_time_is(clock, jobs, limit):
    outcome = drive(PROBLEM, Slow(clock, jobs), limits=Limits(seconds=limit))
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.state.half == 2 * outcome.steps  # never the middle of a step
    assert clock.now - 100.0 <= limit + 0.1 + 1e-9


def test_a_pass_in_python_looks_at_the_clock(clock):
    """A pass over all rows is one call of a routine; where it is not compiled it takes seconds."""
    a = np.zeros(PROBLEM.dim)
    with limits.given_up_after(0.5):
        assert dot(PROBLEM.rows, 0, a) == 0.0
        clock.now += 1.0
        with pytest.raises(limits.TimeUpError):
            dot(PROBLEM.rows, 0, a)
    assert dot(PROBLEM.rows, 0, a) == 0.0


def test_a_limit_around_holds_within(clock):
    with limits.time_limit(0.5):
        outcome = drive(PROBLEM, Slow(clock, 2), limits=Limits(seconds=99.0))
        assert limits.time_left() < 0.21
    assert limits.time_left() == np.inf
    assert outcome.status is Status.TIME_LIMIT
    assert clock.now <= 100.7


def test_a_limit_within_cannot_be_longer(clock):
    with limits.time_limit(1.0), limits.time_limit(5.0):
        assert limits.time_left() == 1.0


def test_a_clock_that_jumps_ends_a_run_and_breaks_nothing(clock):
    class Jumps(linsep.core.Observer):
        def moment(self, now):
            clock.now += 1e9 if now.state.steps > 3 else 0.0

    outcome = drive(PROBLEM, Slow(clock, 1), limits=Limits(seconds=2.0), observers=[Jumps()])
    assert outcome.status is Status.TIME_LIMIT
    assert 4 <= outcome.steps <= 8


# -- every estimator, without any time ------------------------------------------------------------

X, y = tall()
MANY = tall(n=3000, classes=3, seed=4)


def scaled(name, X):
    """A kernel of distances needs columns of one scale."""
    return (X - 5) / X.std(axis=0) if name.startswith(("kernel", "pairs")) else X


ZERO = dict.fromkeys(["time_limit"], 0.0)
LINEAR = {
    "hinge": linsep.LinearSVM(**ZERO),
    "squared hinge": linsep.LinearSVM(C=1e-4, loss="squared_hinge", **ZERO),
    "large C": linsep.LinearSVM(C=1e5, **ZERO),
    "logistic": linsep.LogisticRegression(**ZERO),
    "likelihood": linsep.LogisticRegression(C=np.inf, **ZERO),
    "perceptron": linsep.Perceptron(**ZERO),
    "kozinec": linsep.Kozinec(**ZERO),
    "kernel machine": linsep.KernelSVM(**ZERO),
    "kernel perceptron": linsep.KernelPerceptron(keep="average", **ZERO),
    "kernel without slack": linsep.KernelSVM(C=np.inf, **ZERO),
}
SEVERAL = {
    "one-vs-rest": linsep.LinearSVM(**ZERO),
    "crammer-singer": linsep.LinearSVM(multi_class="crammer-singer", **ZERO),
    "softmax": linsep.LogisticRegression(**ZERO),
    "pairs": linsep.KernelSVM(**ZERO),
}


@pytest.mark.parametrize("name", LINEAR)
def test_without_time_a_model_of_tall_data_is_of_use(name):
    with pytest.warns(LinsepWarning, match="time limit"):
        model = LINEAR[name].fit(scaled(name, X), y)
    assert model.status_ is Status.TIME_LIMIT
    assert model.score(scaled(name, X), y) > max(np.mean(y), 1 - np.mean(y)) + 0.15


@pytest.mark.parametrize("name", SEVERAL)
def test_without_time_a_model_of_several_classes_is_of_use(name):
    with pytest.warns(LinsepWarning, match="time limit"):
        model = SEVERAL[name].fit(scaled(name, MANY[0]), MANY[1])
    most = np.bincount(MANY[1]).max() / len(MANY[1])
    assert model.score(scaled(name, MANY[0]), MANY[1]) > most + 0.15


@pytest.mark.parametrize("kind", ["crammer-singer", "one-vs-rest"])
def test_weights_next_to_zero_still_tell_classes_apart(kind):
    """Of many classes that overlap no short plane is better than none, and none tells nothing."""
    draw = np.random.default_rng(12)
    rows = draw.normal(size=(3000, 4))
    labels = 3 * draw.integers(0, 6, 3000) + (rows[:, 0] > 0) + (rows[:, 1] > 1)
    with pytest.warns(LinsepWarning, match="time limit"):
        model = linsep.LinearSVM(multi_class=kind, **ZERO).fit(rows, labels)
    machines = 1 if kind == "crammer-singer" else len(model.classes_)
    assert model.certificate_.objective <= 3000 * machines * (1 + 1e-9)
    assert model.score(rows, labels) > np.bincount(labels).max() / 3000


@pytest.mark.parametrize("name", ["perceptron", "kozinec"])
@pytest.mark.parametrize("seed", range(3))
def test_steps_that_do_not_separate_are_not_worse_than_none(name, seed):
    """Between two updates a perceptron may have any number of errors."""

    class Asked(linsep.core.Observer):
        def moment(self, now):
            return now.state.n_updates > 0

    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(900, 3)) + 4
    labels = rows.sum(axis=1) + draw.normal(size=900) > 12
    settings = {**LINEAR[name].get_params(deep=False), "time_limit": None, "callbacks": Asked()}
    with pytest.warns(LinsepWarning):
        model = type(LINEAR[name])(**settings).fit(rows, labels)
    assert model.status_ is Status.STOPPED
    assert model.score(rows, labels) > 0.8


@pytest.mark.parametrize("name", ["hinge", "squared hinge", "large C", "logistic"])
@pytest.mark.parametrize("seed", range(4))
def test_no_model_is_worse_than_none(name, seed):
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(300, 3)) ** 5  # heavy tails, labels by chance
    labels = draw.integers(0, 2, 300)
    model = LINEAR[name]
    with pytest.warns(LinsepWarning, match="time limit"):
        gap = model.fit(rows, labels).certificate_
    per_row = np.log(2) if name == "logistic" else 1.0
    assert gap.objective <= model.C * 300 * per_row * (1 + 1e-12)
    assert gap.lower_bound <= gap.objective


def test_no_rescue_begins_without_time(monkeypatch):
    """Costs beyond all rounding once took seconds of sweeps, whatever the limit was."""
    tried = linsep.models.linear_svm.Rescue("", lambda *_: True, lambda *_: 1 / 0)
    monkeypatch.setattr(linsep.models.linear_svm, "RESCUES", (tried,))
    draw = np.random.default_rng(2)
    rows, labels = draw.normal(size=(300, 3)) ** 5, draw.integers(0, 2, 300)
    with pytest.warns(LinsepWarning, match="time limit"):
        linsep.LinearSVM(C=1e300, **ZERO).fit(rows, labels)
    with pytest.raises(ZeroDivisionError):  # with time it is tried
        linsep.LinearSVM(C=1e300).fit(rows, labels)


@pytest.mark.parametrize("solver", ["exact", "gradient", "widrow-hoff"])
def test_least_squares_without_time(solver):
    draw = np.random.default_rng(6)
    rows = draw.normal(size=(2000, 40)) @ draw.normal(size=(40, 40))  # more than a few steps
    labels = rows @ draw.normal(size=40) > 0
    with pytest.warns(LinsepWarning, match="time limit"):
        model = linsep.LeastSquares(solver=solver, **ZERO).fit(rows, labels)
    assert model.score(rows, labels) > 0.8
    assert model.certificate_.lower_bound <= model.certificate_.objective < 2000


GRAM = {
    "machine": linsep.KernelSVM(kernel="precomputed", **ZERO),
    "without slack": linsep.KernelSVM(kernel="precomputed", C=np.inf, **ZERO),
    "perceptron": linsep.KernelPerceptron("precomputed", **ZERO),
}


@pytest.mark.parametrize("name", GRAM)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_gram_matrix_without_time(name, weighted):
    model = GRAM[name]
    rows, labels = scaled("kernel", X)[:700], y[:700]
    K = linsep.kernels.RBF(gamma=0.2).gram(rows)
    weight = np.arange(700) % 7 > 0 if weighted else None  # some rows take no part
    with pytest.warns(LinsepWarning, match="time limit"):
        model.fit(K, labels, weight)
    assert model.score(K, labels) > 0.75


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_additive_machines_without_time_are_no_worse_than_none(classes, C):
    draw = np.random.default_rng(classes)
    rows = draw.exponential(size=(900, 3))
    labels = np.minimum(draw.integers(0, classes + 2, 900), classes - 1)  # by chance
    with pytest.warns(LinsepWarning, match="time limit"):
        model = linsep.AdditiveSVM(C=C, **ZERO).fit(rows, labels)
    machines = 1 if classes == 2 else classes
    assert model.certificate_.objective <= machines * C * 900 * (1 + 1e-8)
    assert model.score(rows, labels) >= np.bincount(labels).max() / 900 - 0.1


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise")
@pytest.mark.parametrize("name", ["hinge", "logistic", "kernel machine"])
def test_ctrl_c_before_the_first_step_leaves_a_model_of_use(name, monkeypatch):
    model = LINEAR[name]
    kind = type(model)
    before = kind._guard

    def pressed(self, problem):
        before(self, problem)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(kind, "_guard", pressed)
    fresh = kind(**{**model.get_params(deep=False), "time_limit": None})
    with pytest.warns(LinsepWarning, match="interrupted"):
        fresh.fit(scaled(name, X), y)
    assert fresh.status_ is Status.STOPPED and fresh.outcome_.interrupted
    assert fresh.score(scaled(name, X), y) > 0.75


COLD = """
import sys, warnings, numpy as np, linsep
rng = np.random.default_rng(0)
X = rng.normal(size=(60_000, 12))
y = X @ rng.normal(size=12) + 0.3 * rng.normal(size=60_000) > 0
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = linsep.{name}(time_limit=0.0).fit(X, y)
assert len(caught) == 1, [str(c.message) for c in caught]
print("numba" in sys.modules, model.score(X, y) > 0.9)
"""


@pytest.mark.parametrize("name", ["LinearSVM", "LogisticRegression", "Perceptron"])
def test_no_compilation_begins_that_the_time_cannot_hold(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", COLD.format(name=name)], capture_output=True, text=True, check=False,
        env={**os.environ, "LINSEP_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout == "False True\n", done.stderr


def test_a_compilation_begins_only_where_it_surely_ends_in_time(clock, monkeypatch):
    from linsep.core import compile as compiling

    routine = compiling.Routine(lambda x: x + 1)
    monkeypatch.setattr(compiling, "_kept", frozenset)
    with limits.time_limit(1.5 * routine._price("kind")), limits.given_up_after(1e9):
        assert not routine._in_time("kind", 1)
    with limits.time_limit(2.5 * routine._price("kind")), limits.given_up_after(1e9):
        assert routine._in_time("kind", 1)
    monkeypatch.setattr(compiling, "_kept", lambda: frozenset([routine._key("kind")]))
    with limits.time_limit(1.5 * routine._price("kind")), limits.given_up_after(1e9):
        assert routine._in_time("kind", 1)  # what lies on the disk has a known price


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne, linsep.Kesler])
def test_schemes_hand_the_limit_down(scheme):
    with pytest.warns(LinsepWarning, match="time limit"):
        model = scheme(time_limit=0.0).fit(*MANY)
    assert model.status_ is Status.TIME_LIMIT


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
@pytest.mark.parametrize("inner", [linsep.LinearSVM(), linsep.LogisticRegression()])
def test_machines_that_time_has_left_out_are_of_use(scheme, inner, clock):
    """The time is up after the second of several machines; one warning speaks for all."""
    X, y = tall(n=3000, d=6, classes=5, seed=8)

    class Slow(type(inner)):
        fits = 0

        def _guard(self, problem):
            Slow.fits += 1
            if Slow.fits == 3:
                clock.now += 1e7

    made = scheme(Slow(), time_limit=1e6, n_jobs=1)
    with pytest.warns(LinsepWarning, match=r"machines were not trained: the time") as caught:
        model = made.fit(X, y)
    assert len(caught) == 1
    words = str(caught[0].message)
    assert "planes of least squares" in words and "1 of" in words and "cut short" in words
    assert sum(getattr(m, "untrained", False) for m in model.estimators_) >= 2
    whole = scheme(inner, n_jobs=1).fit(X, y).score(X, y)
    assert model.score(X, y) > 0.8 * whole
    assert model.score(X, y) > np.bincount(y).max() / len(y) + 0.1


def test_one_word_for_all_machines_that_are_cut_short():
    X, y = tall(n=3000, d=6, classes=4, seed=9)
    with pytest.warns(LinsepWarning) as caught:
        linsep.OneVsRest(linsep.LinearSVM(time_limit=0.0)).fit(X, y)
    assert len(caught) == 1 and "4 of 4 were cut short" in str(caught[0].message)


def test_calibration_keeps_to_the_limit_of_its_fit():
    with pytest.warns(LinsepWarning) as caught:
        model = linsep.LinearSVM(calibrate="sigmoid", time_limit=0.0).fit(X, y)
    assert any("while it was calibrated" in str(c.message) for c in caught)
    assert model.score(X, y) > 0.75


def test_a_limit_that_is_not_reached_changes_no_bit():
    for kind in (linsep.LinearSVM, linsep.LogisticRegression, linsep.KernelSVM):
        free = kind().fit(X[:400], y[:400])
        held = kind(time_limit=1e6).fit(X[:400], y[:400])
        one, other = free.decision_function(X), held.decision_function(X)
        assert one.tobytes() == other.tobytes()


def test_no_bound_is_looked_for_that_the_time_cannot_hold(monkeypatch):
    """Softmax of 1000 classes took 13 s for the bound of a model that was cut short at 0.5 s."""
    from linsep.proofs import softmax, squares

    X, y = tall(n=3000, classes=3, seed=4)
    monkeypatch.setattr(softmax, "SOFTMAX_PASS", 1.0)
    monkeypatch.setattr(softmax, "dual_bound", lambda *_, **__: 1 / 0)
    with pytest.warns(LinsepWarning, match="time limit"):
        model = linsep.LogisticRegression(time_limit=1.0).fit(X, y)
    assert model.certificate_.lower_bound == 0.0 and model.score(X, y) > 0.6
    monkeypatch.setattr(squares, "PRODUCT", 1.0)
    monkeypatch.setattr(squares, "products", lambda *_: 1 / 0)
    model = linsep.LeastSquares(time_limit=1.0).fit(X, y)  # another bound takes no products
    assert model.certificate_.lower_bound <= model.certificate_.objective
    assert model.score(X, y) > 0.6


def test_no_factorisation_begins_that_the_time_cannot_hold(monkeypatch):
    """LAPACK does not look at the clock: 0.5 s asked took 6."""
    from linsep.solvers.squares import pseudo_inverse

    monkeypatch.setattr(pseudo_inverse, "PRODUCT", 1.0)
    monkeypatch.setattr(pseudo_inverse, "_by_columns", lambda *_: 1 / 0)
    draw = np.random.default_rng(6)
    rows = draw.normal(size=(2000, 40)) @ draw.normal(size=(40, 40))  # more than a few steps
    labels = rows @ draw.normal(size=40) > 0
    with pytest.warns(LinsepWarning, match="time limit"):
        model = linsep.LeastSquares(time_limit=5.0).fit(rows, labels)
    assert model.status_ is Status.TIME_LIMIT and model.score(rows, labels) > 0.75


def test_a_machine_of_a_scheme_that_time_has_ended_is_not_tried_again(monkeypatch):
    fits = []

    class Counted(linsep.LinearSVM):
        def _guard(self, problem):
            fits.append(problem.n)

    rows, labels = tall(n=40_000, d=6, classes=4, seed=9)
    with pytest.warns(LinsepWarning, match="cut short"):
        linsep.OneVsRest(Counted(time_limit=0.0), n_jobs=1).fit(rows, labels)
    assert len(fits) == 4


@pytest.mark.parametrize("model", [linsep.LogisticRegression, linsep.LeastSquares])
def test_images_that_take_longer_than_there_is_time_are_not_begun(model, clock, monkeypatch):
    made = []
    from linsep.kernels import images

    real = images.scipy.linalg.lapack.dpstrf
    monkeypatch.setattr(
        images.scipy.linalg.lapack, "dpstrf", lambda K, **how: made.append(len(K)) or real(K, **how)
    )
    X, y = tall(3000)
    settings = {"C": 1.0, "kernel": "rbf", "time_limit": 0.5}
    with pytest.warns(LinsepWarning):
        found = model(**settings).fit((X - 5) / X.std(axis=0), y)
    assert found.status_ is Status.TIME_LIMIT
    assert 0 < max(made) < 1000  # those of a sample
    assert found.score((X - 5) / X.std(axis=0), y) > 0.75


@pytest.mark.parametrize(
    "model",
    [
        linsep.LogisticRegression(kernel="rbf", **ZERO),
        linsep.LeastSquares(kernel="rbf", C=1.0, **ZERO),
    ],
    ids=["logistic", "squares"],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_no_bound_by_all_pairs_of_rows_without_time(model, classes, monkeypatch):
    """0.5 s asked took half a minute: the bound of smooth losses reads a kernel value a pair."""
    from linsep.proofs.feature_space import FeatureSpace

    monkeypatch.setattr(FeatureSpace, "reach", lambda *_: 1 / 0)
    rows, labels = tall(classes=classes, seed=5)
    with pytest.warns(LinsepWarning, match="time limit"):
        model.fit(scaled("kernel", rows), labels)
    assert model.status_ is Status.TIME_LIMIT
    assert model.certificate_.lower_bound == 0.0
    assert model.score(scaled("kernel", rows), labels) > np.bincount(labels).max() / 4000 + 0.1
    with pytest.raises(ZeroDivisionError):  # with time it is looked for
        type(model)(kernel="rbf", C=1.0).fit(rows[:60], labels[:60])


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_pairs_that_had_no_turn_do_not_outvote_the_others(steps):
    """Of ten classes of digits what was left after a second was worse than naming one class."""
    from sklearn.datasets import load_digits

    class Asked(linsep.core.Observer):
        def moment(self, now):
            return now.state.steps >= steps

    rows, labels = load_digits(return_X_y=True)
    with pytest.warns(LinsepWarning):
        model = linsep.KernelSVM(callbacks=Asked()).fit(rows, labels)
    assert model.status_ is Status.STOPPED
    assert model.score(rows, labels) > 0.8
    assert all(part.objective <= 366 for part in model.certificate_.parts)  # of zero weights
    assert steps < 1 or "of 45 pairs by a sample" in model.solver_used_


def test_no_solver_starts_where_two_proofs_take_all_the_time(monkeypatch):
    X, y = tall(classes=3)
    begun = []
    proof = "linsep.models.base.Classifier._least_proof"
    choose = linsep.LinearSVM._choose
    monkeypatch.setattr(
        linsep.LinearSVM, "_choose", lambda *args: begun.append(args) or choose(*args)
    )
    monkeypatch.setattr(proof, lambda model, problem: 1e6)
    with pytest.warns(LinsepWarning, match="limit"):
        model = linsep.LinearSVM(time_limit=1e5).fit(X, y)
    assert not begun
    assert model.status_ is Status.TIME_LIMIT
    assert model.score(X, y) > 0.5
    monkeypatch.setattr(proof, lambda model, problem: 1e-6)
    assert linsep.LinearSVM(time_limit=1e5).fit(X, y).status_ is Status.CERTIFIED
    assert begun


def test_a_verdict_tells_its_time_to_all_that_asks_for_it(monkeypatch):
    seen = []
    decide = linsep.separating.verdict.Judge.decide
    monkeypatch.setattr(
        linsep.separating.verdict.Judge,
        "decide",
        lambda judge: seen.append(limits.time_left()) or decide(judge),
    )
    linsep.separability(*tall(n=50), time_limit=1000.0)
    linsep.separability(*tall(n=50))
    assert 0 < seen[0] <= 1000.0 < seen[1]


def test_classes_share_the_time_of_a_hard_margin_and_none_begins_without(monkeypatch):
    """Each search was begun, after the limit as well, and took all that was left of it."""
    hard_margin = linsep.models.hard_margin
    given, whole = [], hard_margin.hard_machine

    def seen(part, tol, within, *rest):
        given.append(within.seconds)
        return whole(part, tol, within, *rest)

    monkeypatch.setattr(hard_margin, "hard_machine", seen)
    draw = np.random.default_rng(1)
    labels = np.arange(80) % 4
    problem = Problem(draw.normal(size=(80, 2)) + 9 * labels[:, None], labels)
    none = hard_margin.hard_machines(problem, 1e-3, Limits(seconds=0.0))
    assert given == [0.0]
    assert not none.witness.a.reshape(4, 3)[1:].any()
    assert none.outcome.status is Status.TIME_LIMIT

    def sure(part, tol, within, *rest):
        return whole(part, tol, Limits(), *rest)

    monkeypatch.setattr(hard_margin, "hard_machine", sure)  # the first class is done in any case
    first = hard_margin.hard_machines(problem, 1e-3, Limits(seconds=0.0))
    assert first.witness.a.reshape(4, 3)[0].any()
    assert first.outcome.status is Status.TIME_LIMIT
    monkeypatch.setattr(hard_margin, "hard_machine", seen)
    del given[:]
    hard_margin.hard_machines(problem, 1e-3, Limits(seconds=1e6))
    assert given == pytest.approx([1e6 / 4, 1e6 / 3, 1e6 / 2, 1e6], rel=1e-3)


def test_a_hard_margin_that_is_cut_short_is_of_use():
    """Planes that do not separate yet may have any number of errors, and once had nearly all."""

    class Asked(linsep.core.Observer):
        def moment(self, now):
            return now.state.n_updates > 0

    draw = np.random.default_rng(4)
    labels = draw.integers(0, 10, 6000)
    rows = np.exp(draw.normal(size=(6000, 30)) + 1.2 * draw.normal(size=(10, 30))[labels])
    with pytest.warns(LinsepWarning):
        model = linsep.LinearSVM(C=np.inf, callbacks=Asked()).fit(rows, labels)
    assert model.status_ is Status.STOPPED
    assert model.score(rows, labels) > 0.8


def test_more_time_is_a_larger_sample():
    draw = np.random.default_rng(5)
    labels = draw.integers(0, 6, 20_000)
    rows = draw.normal(size=(20_000, 400)) + 0.1 * draw.normal(size=(6, 400))[labels]
    problem = Problem(rows, labels)
    right = []
    for seconds in (0.0, 0.1):
        coef, offset = problem.split(first_model(problem, seconds=seconds))
        right.append(float(((rows @ coef.T + offset).argmax(axis=1) == labels).mean()))
    assert right[1] > right[0] + 0.05


def test_a_sample_that_is_learnt_by_heart_is_not_believed():
    """Weights are as long as is good for rows that did not shape them."""
    draw = np.random.default_rng(6)
    labels = draw.integers(0, 10, 5000)
    rows = draw.normal(size=(5000, 400)) + 0.1 * draw.normal(size=(10, 400))[labels]
    problem = Problem(rows, labels)

    def cost(some, a):
        scores = some.scores(a)
        own = scores[np.arange(some.n), some.label]
        return float(some.weight @ (np.logaddexp.reduce(scores, axis=1) - own))

    a = first_model(problem, cost)
    assert cost(problem, a) < cost(problem, 0.0 * a)


def test_a_likelihood_that_nobody_had_time_to_decide_about_is_cut_short(monkeypatch):
    monkeypatch.setattr(
        linsep.LogisticRegression, "_verdict",
        lambda self, problem, answer, settled: replace(
            linsep.separability(problem.matrix, problem.label), separable=None, quasi=None
        ),
    )  # fmt: skip
    rows, labels = tall(300, 3)
    labels = rows[:, 0] > 5
    with pytest.warns(LinsepWarning, match="time limit"):
        model = linsep.LogisticRegression(C=np.inf, time_limit=1000).fit(rows, labels)
    assert model.status_ is Status.TIME_LIMIT
    assert model.score(rows, labels) == 1.0
