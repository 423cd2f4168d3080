"""Ctrl-C at any moment of a fit: the model is kept and said to be unfinished; a search ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linsep
from linsep.core import Observer
from linsep.core.limits import Interrupts, keeping_results
from linsep.core.protocol import Status
from linsep.errors import GapWarning, LinsepWarning
from linsep.proofs import squares
from linsep.rows import normal

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise"),
    pytest.mark.timeout(120),
]
X, y = make_classification(160, 5, flip_y=0.2, random_state=7)
POSITIVE = np.abs(X) + 0.1

WATCHED = {
    "Perceptron": linsep.Perceptron(max_iter=10**7),
    "KernelPerceptron": linsep.KernelPerceptron("linear", max_iter=10**7),
    "Kozinec": linsep.Kozinec(max_iter=10**7),
    "LeastSquares": linsep.LeastSquares(solver="gradient", tol=1e-14, max_iter=10**7),
    "HoKashyap": linsep.HoKashyap(max_iter=10**7),
    "LogisticRegression": linsep.LogisticRegression(tol=1e-15),
    "LinearSVM": linsep.LinearSVM(solver="dual-cd", C=1e4, tol=1e-12),
    "KernelSVM": linsep.KernelSVM(C=1e4, tol=1e-10),
    "AdditiveSVM": linsep.AdditiveSVM(C=1e4, tol=1e-10),
}


class PressAt(Observer):
    """Ctrl-C in the loop."""

    def __init__(self, moment: int, signal_number: int = signal.SIGINT, times: int = 1) -> None:
        self.at, self.number, self.times, self.seen = moment, signal_number, times, 0

    def moment(self, now):
        self.seen += 1
        if self.seen == self.at:
            for _ in range(self.times):
                signal.raise_signal(self.number)


def rows_for(name):
    return POSITIVE if name == "AdditiveSVM" else X


def fresh(name, **settings):
    model = WATCHED[name]
    return type(model)(**{**model.get_params(deep=False), **settings})


def test_every_estimator_with_a_run_is_tried():
    runs = {
        name
        for name in linsep.PUBLIC.kinds["Estimators"]
        if {"time_limit", "callbacks"} <= set(getattr(linsep, name)().get_params())
    }
    assert runs == set(WATCHED)


@pytest.mark.parametrize("name", WATCHED)
@pytest.mark.parametrize("moment", [1, 3])
def test_ctrl_c_in_the_loop_keeps_the_model_and_warns(name, moment):
    model = fresh(name, callbacks=[PressAt(moment)])
    with pytest.warns(LinsepWarning, match="interrupted|a signal to stop"):
        model.fit(rows_for(name), y)
    assert model.outcome_.interrupted
    ended = model.status_.ok or model.status_ is Status.STALLED  # of itself, just then
    assert model.status_ is Status.STOPPED or (ended and moment > 1)
    assert len(model.predict(rows_for(name))) == len(y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("name", WATCHED)
def test_a_second_ctrl_c_raises(name):
    with pytest.raises(KeyboardInterrupt):
        fresh(name, callbacks=[PressAt(2, times=2)]).fit(rows_for(name), y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


STEPS = ("_problem", "_guard", "_choose", "_prove", "_keep")


@pytest.mark.parametrize("name", ["LinearSVM", "LogisticRegression", "KernelSVM", "HoKashyap"])
@pytest.mark.parametrize("step", STEPS)
def test_ctrl_c_outside_of_the_loop_is_never_silent(name, step, monkeypatch):
    kind = type(WATCHED[name])
    before = getattr(kind, step)

    def pressed(self, *args, **options):
        found = before(self, *args, **options)
        if not pressed.done:
            pressed.done = True
            signal.raise_signal(signal.SIGINT)
        return found

    pressed.done = False
    monkeypatch.setattr(kind, step, pressed)
    with pytest.warns(LinsepWarning):
        model = kind().fit(X, y)
    assert model.outcome_.interrupted or step == "_keep"
    assert model.predict(X).shape == y.shape


def test_the_warning_names_the_gap_and_the_way_on():
    model = fresh("LinearSVM", callbacks=[PressAt(3)])
    with pytest.warns(GapWarning) as caught:
        model.fit(X, y)
    words = str(caught[0].message)
    assert "within" in words and "%" in words and "warm_start=True" in words
    model.set_params(warm_start=True, callbacks=None, tol=0.1, solver="auto")
    assert model.fit(X, y).status_.ok


def test_ctrl_c_in_calibration_keeps_the_plane():
    class Pressing(linsep.LinearSVM):
        fits = 0

        def _guard(self, problem):
            Pressing.fits += 1
            if Pressing.fits == 3:
                signal.raise_signal(signal.SIGINT)

    with pytest.warns(LinsepWarning, match="while it was calibrated"):
        model = Pressing(calibrate="sigmoid").fit(X, y)
    assert Pressing.fits == 3
    assert model.status_.ok


# -- in a search: one Ctrl-C ends it ----------------------------------------------------------


class Pressed(linsep.LinearSVM):
    """Ctrl-C while the second machine is trained."""

    fits = 0

    def _guard(self, problem):
        Pressed.fits += 1
        if Pressed.fits == 2:
            signal.raise_signal(signal.SIGINT)


SEARCHES = {
    "cross_validate": lambda model: cross_validate(model, X, y, cv=4, error_score=0.0),
    "GridSearchCV": lambda model: GridSearchCV(model, {"C": [1.0, 2.0]}, cv=2).fit(X, y),
    "OneVsRestClassifier": lambda model: OneVsRestClassifier(model).fit(X, np.arange(160) % 3),
    "pipeline": lambda model: cross_validate(make_pipeline(StandardScaler(), model), X, y),
    "scheme": lambda model: cross_validate(linsep.OneVsRest(model), X, np.arange(160) % 3, cv=2),
    "calibrated": lambda model: cross_validate(model.set_params(calibrate="sigmoid"), X, y, cv=2),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_one_ctrl_c_ends_a_search(name):
    Pressed.fits = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(KeyboardInterrupt):
            SEARCHES[name](Pressed())
    assert Pressed.fits == 2
    ours = [one for one in caught if issubclass(one.category, LinsepWarning)]
    assert ours and all(one.filename == __file__ for one in ours)  # the caller's line
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_pipeline_is_no_search():
    Pressed.fits = 1
    with pytest.warns(LinsepWarning, match="interrupted"):
        model = make_pipeline(StandardScaler(), Pressed()).fit(X, y)
    assert model[-1].outcome_.interrupted


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne, linsep.Kesler])
@pytest.mark.parametrize("before", [-1, 0, 1])
def test_one_ctrl_c_ends_a_scheme_with_a_word(scheme, before):
    Pressed.fits = 1 if scheme is linsep.Kesler else before
    with pytest.warns(GapWarning, match=r"of [13] machines were not trained") as caught:
        model = scheme(Pressed()).fit(X, np.arange(160) % 3)
    assert len(caught) == 1
    assert Pressed.fits == 2
    assert model.status_ is Status.STOPPED


def test_machines_in_threads_leave_the_filters_of_warnings_alone():
    """They belong to all threads: two that change them by turns would leave them changed."""
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(1000, 10)), np.arange(1000) % 8
    linsep.OneVsRest(linsep.LinearSVM()).fit(rows, labels)  # numba changes them while it compiles
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        before = list(warnings.filters)
        seen = []

        class Looking(linsep.LinearSVM):
            def _guard(self, problem):
                seen.append(list(warnings.filters) == before)

        linsep.OneVsRest(Looking(), n_jobs=2).fit(rows, labels)
        assert seen and all(seen)
        assert list(warnings.filters) == before


def test_one_ctrl_c_ends_a_choice_with_a_word():
    Pressed.fits = -4  # five folds and the whole: the second value is stopped
    with pytest.warns(LinsepWarning, match="1 of 3 values of C"):
        choice = linsep.choose(Pressed(), X, y, "C", [0.1, 1.0, 10.0], cv=3)
    assert choice.interrupted and choice.values == [0.1]


# -- signals of other kinds, and real ones from outside ------------------------------------------

SCRIPT = """
import os, signal, sys, warnings
import numpy as np, linsep
from linsep.core import Observer
from linsep.core.checkpoint import Checkpointer
class Sent(Observer):
    seen = 0
    def moment(self, now):
        self.seen += 1
        if self.seen == 3:
            os.kill(os.getpid(), signal.{name})
warnings.simplefilter("always")
rng = np.random.default_rng(3)
X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
try:
    for number in range({fits}):
        passes = 10**9 if number == 0 else 9
        model = linsep.Perceptron(order="shuffle", max_iter=passes, callbacks=[Sent(){more}])
        model.fit(X, y)
        print(model.status_.name, flush=True)
finally:
    print("last words", flush=True)
"""


def run(name, fits, more=""):
    command = [sys.executable, "-c", SCRIPT.format(name=name, fits=fits, more=more)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_end_keeps_the_checkpoint_and_ends_the_program(name, tmp_path):
    """Under ``timeout`` no script goes on with a model that was cut short."""
    file = tmp_path / "run.npz"
    done = run(name, 2, f", Checkpointer({str(file)!r}, every=1e9)")
    assert (done.returncode, done.stdout) == (128 + getattr(signal, name), "last words\n")
    assert "GapWarning" in done.stderr or "NotSeparatedWarning" in done.stderr
    assert "it ends now" in done.stderr and "resume" in done.stderr
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    with pytest.warns(LinsepWarning):
        model = linsep.Perceptron(order="shuffle", max_iter=10**9, time_limit=0.5).resume(
            X, y, file
        )
    assert model.outcome_.steps > 0


def test_a_bare_run_writes_its_checkpoint_before_the_program_ends(tmp_path):
    file = tmp_path / "run.npz"
    done = subprocess.run(
        [sys.executable, "-c", BARE.format(file=str(file))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, ""), done.stderr
    assert file.exists()


def test_a_program_that_keeps_results_goes_on_to_its_end():
    with keeping_results(), Interrupts() as interrupts:
        signal.raise_signal(signal.SIGTERM)
        assert interrupts.requested and not interrupts.ends_the_program
    Interrupts._used_up.discard(signal.SIGTERM)


BARE = """
import os, signal
from linsep.core import Observer, Problem, drive
from linsep.core.checkpoint import Checkpointer
from linsep.solvers.perceptron.single import SingleSample
class Sent(Observer):
    def moment(self, now):
        if now.state.steps == 0:
            os.kill(os.getpid(), signal.SIGTERM)
problem = Problem([[0.0], [1.0], [0.0], [1.0]], [0, 1, 1, 0])
drive(problem, SingleSample(), observers=[Sent(), Checkpointer({file!r}, every=1e9)])
print("the program goes on")
"""


IGNORED = """
import signal, linsep, numpy as np
signal.signal(signal.SIGTERM, lambda *_: print("mine"))
class Sent(linsep.core.Observer):
    def moment(self, now):
        if now.state.steps == 0:
            signal.raise_signal(signal.SIGTERM)
linsep.Perceptron(callbacks=Sent()).fit([[0.0], [1.0]], [0, 1])
"""


def test_a_handler_of_the_caller_stays():
    done = subprocess.run(
        [sys.executable, "-c", IGNORED], capture_output=True, text=True, check=True
    )
    assert done.stdout == "mine\n"


# -- steps without an end in sight: Ctrl-C in the middle of one ----------------------------------


def pressing_once(function, at=1):
    def pressed(*args, **options):
        pressed.calls += 1
        if pressed.calls == at:
            signal.raise_signal(signal.SIGINT)
        return function(*args, **options)

    pressed.calls = 0
    return pressed


def wide_rows(n=6000):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(n, 300))
    return rows, rows[:, 0] + rng.normal(size=n) > 0


def test_ctrl_c_among_the_products_of_least_squares_gives_them_up(monkeypatch):
    rows, labels = wide_rows(40_000)  # so many that a signal of another thread is heard among them
    pressed = pressing_once(normal._add_products)
    monkeypatch.setattr(normal, "_add_products", pressed)
    model = linsep.LeastSquares()
    with pytest.warns(GapWarning, match="It was interrupted, .* begins anew"):
        model.fit(rows, labels)
    assert model.status_ is Status.STOPPED
    assert model.score(rows, labels) > 0.5
    monkeypatch.undo()
    whole = pressing_once(normal._add_products, at=0)
    monkeypatch.setattr(normal, "_add_products", whole)
    linsep.LeastSquares().fit(rows, labels)
    assert pressed.calls < whole.calls / 2


def test_ctrl_c_in_the_proof_of_least_squares_leaves_a_weaker_one(monkeypatch):
    rows, labels = wide_rows()
    monkeypatch.setattr(squares, "products", pressing_once(squares.products))
    with pytest.warns(LinsepWarning, match="the proof was under way: the model is complete"):
        model = linsep.LeastSquares().fit(rows, labels)
    assert model.status_ is Status.CERTIFIED
    assert np.isfinite(model.certificate_.reach)  # the bound without the products
    np.testing.assert_array_equal(
        model.coef_, linsep.LeastSquares().fit(rows, labels).coef_, strict=True
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_ctrl_c_is_heard_while_a_routine_is_compiled(wrapped, monkeypatch):
    """A compilation takes seconds; numba makes errors of its own of what is raised in it."""
    from linsep.core import compile, limits

    tries = []

    def slow(dispatcher, args):
        tries.append(args)
        try:
            signal.raise_signal(signal.SIGINT)
        except limits.TimeUpError as error:
            if wrapped:
                raise RuntimeError("failed in a pass of numba") from error
            raise
        return False

    monkeypatch.setattr(compile, "_compile", lambda *_, **__: lambda x: x)
    monkeypatch.setattr(compile, "_specialise", slow)
    loop = compile.routine(lambda x: x)
    with limits.Interrupts() as interrupts, limits.given_up_after(np.inf):
        with pytest.raises(limits.TimeUpError):
            loop._specialised((1.0,), "key")
        assert interrupts.requested
        assert len(tries) == 1
        assert not loop._compiled  # it is made anew, not half made
    tries.clear()
    with limits.Interrupts() as interrupts:  # what cannot wait is not given up
        loop._specialised((1.0,), "key")
        assert interrupts.requested
    assert len(tries) == 1
