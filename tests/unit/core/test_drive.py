"""The loop: limits, interrupts, observers, progress."""

from __future__ import annotations

import io
import itertools
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import sklearn

import linsep
from linsep.core import drive
from linsep.core.drive import Observer
from linsep.core.limits import Interrupts, Limits
from linsep.core.problem import Problem
from linsep.core.progress import Pace, ProgressBar, ProgressRows, progress_observer
from linsep.core.protocol import Status
from linsep.solvers.hinge.dual_cd import DualCD
from linsep.solvers.perceptron.single import SingleSample


def endless(n=60, d=4, seed=0):
    """Overlapping classes in random order: the perceptron never ends."""
    rng = np.random.default_rng(seed)
    return Problem(rng.normal(size=(n, d)), rng.integers(0, 2, n))


SOLVER = SingleSample(order="shuffle", seed=1)


def test_step_limit_is_exact():
    outcome = drive(endless(), SOLVER, limits=Limits(steps=12_345))
    assert outcome.status is Status.STEP_LIMIT
    assert outcome.steps == outcome.state.steps == outcome.state.n_visits == 12_345


def test_step_limit_counts_the_whole_life_of_a_state():
    problem = endless()
    first = drive(problem, SOLVER, limits=Limits(steps=700))
    second = drive(problem, SOLVER, first.state, limits=Limits(steps=1000))
    assert second.steps == 1000


def test_time_limit_holds():
    begin = time.perf_counter()
    outcome = drive(endless(), SOLVER, limits=Limits(seconds=0.3))
    assert outcome.status is Status.TIME_LIMIT
    assert 0.3 <= time.perf_counter() - begin < 3


def test_time_limit_zero_takes_no_step():
    outcome = drive(endless(), SOLVER, limits=Limits(seconds=0.0))
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.steps == 0


def test_stop_request_from_outside():
    flag = threading.Event()
    threading.Timer(0.1, flag.set).start()
    outcome = drive(endless(), SOLVER, limits=Limits(stop=flag.is_set))
    assert outcome.status is Status.STOPPED
    assert not outcome.interrupted


def test_an_observer_may_stop_and_sees_the_start_and_the_end():
    seen = []

    class Watch(Observer):
        def moment(self, now):
            seen.append(now.state.steps)
            return now.state.steps >= 500

        def finish(self, outcome):
            seen.append(outcome.status)

    outcome = drive(endless(), SOLVER, observers=[Watch()])
    assert seen[0] == 0
    assert seen[-1] is outcome.status is Status.STOPPED


def test_a_finished_state_takes_no_step():
    table = linsep.data.load("students")
    problem = Problem(table.X, table.y)
    first = drive(problem, SingleSample())
    steps = first.steps
    again = drive(problem, SingleSample(), first.state)
    assert again.status is Status.SEPARATED
    assert again.steps == steps


INTERRUPTED = """
import os, signal, numpy as np, linsep
handler = signal.getsignal(signal.SIGINT)
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
model = linsep.Perceptron(order="shuffle", keep="pocket", max_iter=10**9, random_state=0)
class Interrupt(linsep.core.Observer):
    def moment(self, now):
        if now.state.steps > 1000:
            os.kill(os.getpid(), signal.SIGINT)
model.set_params(callbacks=[Interrupt()]).fit(X, y)
assert model.outcome_.interrupted
assert model.certificate_.errors < 30
assert signal.getsignal(signal.SIGINT) is handler
print(model.status_.name)
"""


@pytest.mark.timeout(120)
def test_ctrl_c_gives_back_the_best_so_far():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True
    )
    assert done.stdout == "STOPPED\n"
    assert "rows are on the wrong side. It was interrupted" in done.stderr


IGNORED = """
import signal, warnings, numpy as np, linsep
warnings.simplefilter("ignore")
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
class Presses(linsep.core.Observer):
    count = 0
    def moment(self, now):
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.raise_signal(signal.SIGINT)
        self.count += 1
presses = Presses()
model = linsep.Perceptron(order="shuffle", max_iter=50, random_state=0, callbacks=[presses])
model.fit(X, y)
assert presses.count > 1 and not model.outcome_.interrupted
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
print(model.status_.name)
"""


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("ignored_ctrl_c")
def test_a_ctrl_c_that_the_parent_ignores_stays_ignored():
    done = subprocess.run(
        [sys.executable, "-c", IGNORED], capture_output=True, text=True, check=True
    )
    assert done.stdout == "STEP_LIMIT\n"
    assert done.stderr == ""


def test_a_second_ctrl_c_raises():
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_can_fit():
    results = []
    table = linsep.data.load("students")
    thread = threading.Thread(
        target=lambda: results.append(linsep.Perceptron().fit(table.X, table.y).status_)
    )
    thread.start()
    thread.join()
    assert results == [Status.SEPARATED]


def test_events_are_told_to_observers_that_want_them():
    class Events(Observer):
        capacity = 16

        def __init__(self):
            self.rows = []

        def moment(self, now):
            self.rows += [event.row for event in now.log.events()]

    watch = Events()
    table = linsep.data.load("five-points")
    problem = Problem(table.X, table.y)
    solver = SingleSample()
    outcome = drive(problem, solver, solver.init(problem, start=([1, 1], 1)), observers=[watch])
    assert len(watch.rows) == outcome.state.n_updates == 377
    assert watch.rows[:5] == [3, 0, 3, 0, 2]


def test_progress_rows_stand_at_powers_of_two():
    stream = io.StringIO()
    drive(
        endless(), SOLVER, limits=Limits(steps=60 * 40), observers=[ProgressRows(stream, after=0)]
    )
    rows = [line.split() for line in stream.getvalue().splitlines()]
    assert rows[0] == ["passes", "updates", "seconds"]
    passes = [float(row[0]) for row in rows[1:]]
    assert passes == sorted(passes)
    assert all(b >= 1.99 * a for a, b in itertools.pairwise(passes[1:-1]))
    assert rows[-1][-1] == "STEP_LIMIT"


def test_progress_is_a_bar_on_a_terminal_only():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    assert isinstance(progress_observer(1, Terminal())[0], ProgressBar)
    assert isinstance(progress_observer(1, io.StringIO())[0], ProgressRows)
    assert progress_observer(0) == []
    stream = Terminal()
    drive(endless(), SOLVER, limits=Limits(seconds=0.6), observers=[ProgressBar(stream)])
    assert "updates" in stream.getvalue()


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9), reason="callbacks came with 1.9"
)
def test_scikit_learn_callbacks_are_called_and_may_stop():
    class Monitor:
        def __init__(self):
            self.calls = []

        def setup(self, estimator, context):
            self.calls.append("setup")

        def teardown(self, estimator, context):
            self.calls.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.calls.append(context.task_name)
            assert fitted_estimator.predict(np.zeros((1, 4))).shape == (1,)
            return len(self.calls) > 5

    problem = endless()
    monitor = Monitor()
    model = linsep.Perceptron(order="shuffle", max_iter=10**9, callbacks=[monitor])
    with pytest.warns(linsep.errors.NotSeparatedWarning, match="STOPPED"):
        model.fit(problem.matrix, problem.label)
    assert monitor.calls[0] == "setup"
    assert monitor.calls[-1] == "teardown"
    assert "visit" in monitor.calls
    assert model.status_ is Status.STOPPED


def test_a_strange_callback_is_refused():
    table = linsep.data.load("students")
    with pytest.raises(TypeError, match="callbacks holds 3"):
        linsep.Perceptron(callbacks=[3]).fit(table.X, table.y)


def moment_at(seconds, gap, tol=1e-3):
    class Fake:
        def __init__(self, **fields):
            self.__dict__.update(fields)

    return Fake(
        seconds=seconds,
        state=Fake(gap=gap, passes=seconds, n_updates=0, steps=0),
        solver=Fake(tol=tol),
        status=Status.RUNNING,
        limits=Limits(),
    )


def test_the_time_left_follows_the_fall_of_the_gap():
    pace = Pace()
    for second in range(5):  # a tenth a second: 1e-4 after four seconds, 1e-6 after six
        pace.note(moment_at(float(second), 10.0**-second))
    assert pace.left(1e-6, 4.0) == pytest.approx(2.0)
    assert pace.share(1e-6) == pytest.approx(4 / 6)
    assert pace.words(moment_at(4.0, 1e-4, 1e-6)) == "gap 0.01 %, goal 0.0001 %, about 2 s left"
    assert pace.left(1e-3, 4.0) == 0.0


def test_a_gap_that_does_not_fall_makes_no_promise():
    pace = Pace()
    pace.note(moment_at(0.0, np.inf))
    pace.note(moment_at(1.0, 0.5))
    pace.note(moment_at(2.0, 0.5))
    assert pace.left(1e-3, 2.0) is None
    assert pace.words(moment_at(2.0, 0.5)) == "gap 50 %, goal 0.1 %"


def test_no_estimate_without_ground():
    slow_then_fast = Pace()  # as Newton's method: 6 minutes by its first steps, then done
    for second, gap in [(0.1, 0.99), (0.2, 0.988), (0.4, 0.985), (0.5, 0.98)]:
        slow_then_fast.note(moment_at(second, gap))
        assert slow_then_fast.left(1e-6, second) is None
    jump = Pace()
    for second, gap in [(1.0, 0.9), (2.0, 0.89), (3.0, 0.88), (4.0, 0.1)]:
        jump.note(moment_at(second, gap))
    assert jump.left(1e-6, 4.0) is None


def test_what_is_not_proved_yet_moves_all_the_same():
    pace, now = Pace(), moment_at(1.0, 1.0)
    now.state.best_primal = 1234.5678
    pace.note(now)
    assert pace.words(now) == "objective 1234.57, nothing proved yet"
    now = moment_at(2.0, 1.0)
    assert pace.words(now) == "nothing proved yet"


def test_progress_rows_tell_the_gap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    stream = io.StringIO()
    watch = ProgressRows(stream, after=0)
    drive(Problem(X, rng.integers(0, 2, 300)), DualCD(tol=1e-6), observers=[watch])
    assert "goal 0.0001 %" in stream.getvalue()
