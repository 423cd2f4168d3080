"""Recording a run: the way of a fit with one more who watches, one update at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import Moment, Observer, Outcome
from linsep.core.limits import Limits, time_limit
from linsep.core.problem import Problem
from linsep.core.protocol import Event, Learner, Status
from linsep.core.words import count, percent
from linsep.errors import CapabilityError, DataError, SettingError
from linsep.models.base import Classifier
from linsep.models.fit import Answer, Run, View, Viewed, check_value, is_viewed, number
from linsep.tracing.conventions import convention_named
from linsep.tracing.trace import Step, Summary, Trace

_FEW_ROWS = 4  # rows of a step that are named
_TRACED = (
    "Perceptron, Kozinec, HoKashyap, KernelPerceptron, LinearSVM, KernelSVM, LogisticRegression "
    "and LeastSquares(solver='gradient')"
)
_ROUNDING = 1e-12  # values of the rows that differ by less, relative to the largest, are the same


def trace(
    estimator: Learner,
    X: Any,
    y: Any,
    max_steps: int | None = None,
    *,
    row_names: Any = None,
    visits: bool = False,
    convention: str | None = None,
) -> Trace:
    """Record every update that fitting the estimator would make.

    Parameters
    ----------
    estimator : linsep estimator, or Pipeline that ends in one
        Its settings are used; it is not fitted. The trace of a pipeline is that of its last
        step on the rows that it sees.
    X, y
        Data, as for fit.
    max_steps : int, optional
        Number of updates to record. With it a run that repeats itself goes on to that number;
        without it the trace ends where the fit does, with the weights that the fit keeps.
    row_names : sequence of str, optional
        Names used in the sentences instead of row numbers; without it those of a data frame
        whose index is text.
    visits : bool, default=False
        Record every look at a row as a step of its own, those that change nothing too.
    convention : {"000", "001", "002", "003", "004"}, optional
        The lecture whose letters and order of weights the trace is printed in.

    Returns
    -------
    Trace

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("students")
    >>> run = linsep.trace(linsep.Perceptron(start=([.25] * 4, .25)), table.X, table.y,
    ...                    row_names=table.row_names, visits=True, convention="003")
    >>> print(run.narrate())
    Perceptron: 4 rows, 4 features, as in lecture 003; class 1 is 1, class 2 is -1
           a(1) = [0.25 0.25 0.25 0.25 0.25]
        1  Jane   a.y = 0.25   misclassified? no
        2  Steve  a.y = -1.25  misclassified? yes  a(2) = [-0.75 -0.75 -0.75 -0.75 -0.75]
        3  Mary   a.y = -0.75  misclassified? yes  a(3) = [-1.75 0.25 0.25 0.25 -1.75]
        4  Peter  a.y = -3.75  misclassified? yes  a(4) = [-0.75 1.25 -0.75 -0.75 -0.75]
        5  Jane   a.y = 1.25   misclassified? no
        6  Steve  a.y = 1.75   misclassified? no
        7  Mary   a.y = 1.25   misclassified? no
        8  Peter  a.y = 1.25   misclassified? no
           every row is on its own side of the plane: 3 updates, 8 visits; t_lup = 3
    """
    from sklearn.base import clone

    way = convention_named(convention)
    if max_steps is not None:
        check_value("trace", "max_steps", max_steps, number(0, whole=True))
    estimator, X = _behind_steps(estimator, X, y)
    learner = estimator.stepper() if hasattr(estimator, "stepper") else estimator
    if not isinstance(learner, Classifier):
        raise CapabilityError(
            f"{type(estimator).__name__} cannot be traced: it takes no steps that could be shown. "
            f"{_TRACED} can be."
        )
    model = clone(learner)
    names = _index_of(X) if row_names is None else [str(name) for name in row_names]
    with time_limit(model.time_limit), np.errstate(all="ignore"):
        problem = model._problem(X, y)
        problem.check_finite()
        if names is not None and len(names) != len(y):
            raise SettingError(
                f"row_names has {count(len(names), 'name')} for {count(len(y), 'row')}; give one "
                "a row."
            )
        model._guard(problem)
        recorder = _Recorder(problem, names, max_steps, model, visits=visits)
        run = _Recording(model, problem, X, y, recorder)
        status, outcome = _answered(model, run)
    steps = run.recorder.steps
    n_visits = _visits(problem, outcome.state)
    updates = outcome.state.n_updates
    kept = _kept(steps, outcome.state.n_updates) if max_steps is None else updates
    message = f"{status.value}: {count(updates, 'update')}, {count(n_visits, 'visit')}"
    if run.recorder.machine is not None:
        updates, n_visits, kept = steps[-1].update, steps[-1].visit, None
        message = f"{status.value}: {count(updates, outcome.unit)}"
    message += "" if kept is None else f"; t_lup = {kept}"
    return Trace(
        steps,
        Summary(status, updates, n_visits, outcome.seconds, message, kept),
        algorithm=type(estimator).__name__,
        X=_dense(problem),
        y=problem.classes[problem.label],
        feature_names=[problem.feature_name(j) for j in range(problem.d)],
        row_names=names,
        convention=None if way is None else way.lecture,
        fit_intercept=problem.fit_intercept,
    )


def _answered(model: Classifier, run: _Recording) -> tuple[Status, Outcome[Any]]:
    """Choose, drive and prove as a fit does; a trace may show how the numbers overflow."""
    recorder = run.recorder
    try:
        answer = model._answer(run)
    except DataError:
        if run.outcome is None or run.outcome.status is not Status.DIVERGED:
            raise
        return Status.DIVERGED, run.outcome
    if recorder.full:
        status = answer.status if answer.status is Status.INSEPARABLE else Status.STEP_LIMIT
        ended = run.outcome is not None and run.outcome.status is not Status.STOPPED
        return (answer.status if ended else status), answer.outcome
    if recorder.machine is not None:
        recorder.close_machine(answer, recorder.machine)
    else:
        recorder.close(answer)
    return answer.status, answer.outcome


def _kept(steps: list[Step], updates: int) -> int | None:
    """The update that made the weights which are kept: t_lup of lecture 000."""
    last = steps[-1]
    if last.update <= updates and not last.closing:
        return updates
    for step in steps[:-1] if last.coef.size else []:  # with a kernel the weights are not there
        if np.array_equal(step.coef, last.coef) and np.array_equal(step.intercept, last.intercept):
            return step.update
    return None


def _visits(problem: Problem, state: Any) -> int:
    """Rows looked at so far; a step of those who do not count them looks at all."""
    return int(getattr(state, "n_visits", state.steps * problem.n_rows))


def _index_of(X: Any) -> list[str] | None:
    """Names of the rows of a data frame, if it has any."""
    index = list(getattr(X, "index", ())) if hasattr(X, "columns") else []
    named = len(index) > 0 and all(isinstance(name, str) for name in index)
    return index if named else None


def _behind_steps(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """The last step of a pipeline and the rows that it sees, with their names if possible."""
    from sklearn.base import clone

    if not isinstance(getattr(estimator, "steps", None), list):
        return estimator, X
    before = clone(estimator[:-1])
    rows = before.fit_transform(X, y)
    try:
        import pandas

        if isinstance(rows, np.ndarray):
            index = getattr(X, "index", None) if hasattr(X, "columns") else None
            names = before.get_feature_names_out()
            rows = pandas.DataFrame(rows, columns=names, index=index)
    except (ImportError, AttributeError):  # names are a comfort
        pass
    return estimator.steps[-1][1], rows


class _Recording(Run):
    """A fit whose drives are watched; with a number of updates to record no other limit counts."""

    def __init__(
        self, model: Classifier, problem: Problem, X: Any, y: Any, recorder: _Recorder
    ) -> None:
        super().__init__(model, problem, X, y, None)
        self.name = type(model).__name__
        self.recorder = recorder
        self.outcome: Outcome[Any] | None = None
        self.observers = [*self.observers, recorder]

    def drive(
        self, solver: Any, state: Any, limits: Limits, certifier: Any = None, *, kept: bool = True
    ) -> Outcome[Any]:
        if not (self.recorder.machine is not None or hasattr(solver, "current")):
            raise CapabilityError(self._why_not(solver))
        if self.recorder.max_steps is not None:
            solver = replace(solver, cycles=False) if hasattr(solver, "cycles") else solver
            limits = Limits(seconds=limits.seconds)
        self.outcome = super().drive(solver, state, limits, certifier, kept=kept)
        return self.outcome

    def _why_not(self, solver: Any) -> str:
        """Why steps of this solver cannot be shown, and what can be done."""
        classes = self.problem.classes.tolist()
        if hasattr(solver, "solver") and hasattr(solver, "threads"):
            return (
                f"{self.name} with {len(classes)} classes cannot be traced: it makes a run for "
                f"each class. Trace one of them: y == {classes[0]!r}."
            )
        return (
            f"{self.name} cannot be traced with these settings: "
            f"{type(solver).__name__} moves all weights at once. {_TRACED} can be."
        )


class _Recorder(Observer):
    """Turns each event into a step; asks to stop after max_steps updates."""

    capacity = 1

    def __init__(
        self,
        problem: Problem,
        names: list[str] | None,
        max_steps: int | None,
        model: Classifier,
        *,
        visits: bool,
    ) -> None:
        self.problem, self.names, self.max_steps = problem, names, max_steps
        self.machine = model if is_viewed(model) else None
        self.visits = visits and self.machine is None
        self.stride = 1 if visits or self.machine is not None else 0
        self.steps: list[Step] = []
        self.full = False
        self._values: NDArray[np.float64] = np.zeros(0)
        self._ahead: int | None = None
        self._whose: Any = None
        self._solver: Any = None
        self._looked = 0

    def moment(self, now: Moment[Any]) -> bool:
        """Record what happened since the last call: nothing, a look, or one update."""
        solver, state = now.solver, now.state
        self._solver = solver
        if self.machine is not None:
            return self._advanced(now, self.machine)
        if not self.steps:
            self._start(solver, state)
        events = list(now.log.events())
        if self.visits and state.steps > self._looked:
            self._look(solver, state, events)
        for event in events:
            self._record(solver, event, state)
        self._looked = state.steps
        if self.visits and not now.status.done and hasattr(solver, "ahead"):
            self._ahead = solver.ahead(self.problem, state)
        updates = self.steps[-1].update
        self.full = self.max_steps is not None and updates >= self.max_steps
        return self.full

    def close_machine(self, answer: Answer, machine: Viewed) -> None:
        """The machine that is kept, where it is not that of the last step."""
        view = machine._view_of(self.problem, answer)
        if not (self.steps and self._shows(view)):
            last = self.steps[-1] if self.steps else None
            update, visit = (0, 0) if last is None else (last.update, last.visit)
            self._add(view, update, visit, "kept", closing=True)

    def _shows(self, view: View) -> bool:
        """Whether the last step tells of this machine."""
        last = self.steps[-1]
        return (
            np.array_equal(view.coef, last.coef)
            and np.array_equal(view.intercept, last.intercept)
            and view.gap.relative_gap == last.extra["gap"]
        )

    def close(self, answer: Answer) -> None:
        """The weights that are kept, where these are not the last ones."""
        last, before = self.steps[-1], self._values
        if hasattr(self._solver, "seen"):  # in the feature space of a kernel
            state = answer.outcome.state
            self._values, coef, intercept = self._solver.seen(self.problem, state, kept=True)
        else:
            coef, intercept = self._split(answer.witness.a)
            self._values = self.problem.values(answer.witness.a)
        errors, far = self._errors(), np.abs(self._values - before).max(initial=0.0)
        if np.array_equal(coef, last.coef) and far <= _ROUNDING * np.abs(before).max(initial=0.0):
            self.steps[-1] = replace(last, intercept=intercept, errors=errors)
            return  # the last scan may have added up the offset in another order
        words = f"kept: {_plane(coef, intercept)}; {_wrong(errors)}"
        self.steps.append(
            Step(
                last.update, last.visit, None, None, coef, intercept, errors, words,
                extra=dict(last.extra), closing=True,
            )
        )  # fmt: skip

    # -- inside ---------------------------------------------------------------------------

    def _advanced(self, now: Moment[Any], machine: Viewed) -> bool:
        """A machine after a step of its solver, which is a Newton step, a sweep, a working set."""
        state, witness = now.state, now.solver.witness
        taken = state.steps - (self._looked if self._whose is state else state.steps)
        if not self.steps or taken > 0:
            at_work = getattr(now.solver, "at_work", None)  # of a search for a cost
            solver = now.solver if at_work is None else at_work(state)
            view = machine._view(self.problem, solver, witness(now.problem, state))
            if len(self.steps) == 1 and self._shows(view) and not now.status.done:
                taken = 0  # a first look at the rows, from which the first step follows
            update = self.steps[-1].update + taken if self.steps else 0
            words = f"{now.solver.unit} {update}" if update else "start"
            words += self._moved(now) if update else ""
            visit = round(state.passes * self.problem.n)
            if not self.steps or taken > 0:
                self._add(view, update, visit, words)
        self._looked, self._whose = state.steps, state
        self.full = self.max_steps is not None and self.steps[-1].update >= self.max_steps
        return self.full

    def _moved(self, now: Moment[Any]) -> str:
        """The rows that the step was about, of a solver that takes a few at a time."""
        moved = getattr(now.solver, "moved", None)
        rows = [] if moved is None else moved(now.problem, now.state)
        if not 0 < len(rows) <= _FEW_ROWS:
            return ""
        return f", {' and '.join(str(self._of(now.solver, row)[2]) for row in rows)}"

    def _add(
        self, view: View, update: int, visit: int, head: str, *, closing: bool = False
    ) -> None:
        self._values, gap = view.values, view.gap
        errors = self._errors()
        words = f"{head}: objective {gap.objective:.6g}, {gap.bound_words()}"
        if np.isfinite(gap.relative_gap):
            words += f", within {percent(gap.relative_gap)} of the best"
        elif np.isinf(gap.objective):
            words = f"{head}: some row is inside the street, and {gap.bound_words()}"
        if "log_likelihood" in view.extra:
            words += f", log likelihood {view.extra['log_likelihood']:.6g}"
        words += f": {_plane(view.coef, view.intercept)}; {_wrong(errors)}"
        extra = {
            "objective": float(gap.objective),
            "lower_bound": float(gap.lower_bound),
            "gap": float(gap.relative_gap),
            **view.extra,
        }
        self.steps.append(
            Step(
                update, visit, None, None, view.coef, view.intercept, errors, words, extra=extra,
                closing=closing,
            )
        )  # fmt: skip

    def _start(self, solver: Any, state: Any) -> None:
        coef, intercept, errors = self._measure(solver, state)
        words = f"start: {_plane(coef, intercept)}; {_wrong(errors)}"
        extra = self._extra(solver, state, None)
        self.steps.append(Step(0, 0, None, None, coef, intercept, errors, words, extra=extra))

    def _look(self, solver: Any, state: Any, events: list[Event]) -> None:
        """The rows that were looked at and left the weights as they were."""
        last = self.steps[-1]
        single = solver.unit == "visit"
        if single and events:
            return  # the update tells of the look
        rows = [self._ahead] if single else range(self.problem.n_rows)
        visit = _visits(self.problem, state) - len(rows)
        for k, row in enumerate(row for row in rows if row is not None):
            value = float(self._values[row]) + 0.0
            wrong = value < 0 or (value == 0 and not getattr(solver, "strict", False))
            sample, rival, name = self._of(solver, row)
            words = f"visit {visit + k + 1}: {name} has value {value:.6g}: "
            words += "wrong" if wrong else "right"
            self.steps.append(
                Step(
                    last.update, visit + k + 1, sample, value, last.coef, last.intercept,
                    last.errors, words, rival, dict(last.extra), wrong, value,
                    None if wrong else 0,
                )
            )  # fmt: skip

    def _record(self, solver: Any, event: Event, state: Any) -> None:
        before = self._values
        coef, intercept, errors = self._measure(solver, state)
        problem = self.problem
        extra = self._extra(solver, state, event)
        row = value = rival = after = repeats = None
        scan = f"scan {event.visit // problem.n_rows}"
        if event.row < 0:
            wrong = int((before <= 0).sum())
            words = f"{scan}: "
            if hasattr(solver, "batch_words"):
                words += solver.batch_words(event, wrong)
            else:
                words += f"{count(wrong, 'row')} wrong, cost {event.value:.6g}, so a <- a + "
                words += f"{event.step:.4g} times their sum"
        else:
            row, rival, name = self._of(solver, event.row)
            value = event.value + 0.0  # no minus sign before a zero
            after = float(self._values[event.row]) + 0.0
            broken = int(((before > 0) & (self._values <= 0)).sum())
            extra |= {"undershoot": float(after <= 0), "broken": float(broken)}
            repeats = solver.repeats(problem, event) if hasattr(solver, "repeats") else None
            when = scan if solver.unit == "scan" else f"visit {event.visit}"
            words = f"{when}: {name} has value {value:.6g}, so {solver.rule_words(event)}"
        if coef.size:
            words += f": {_plane(coef, intercept)}"
        words += f"; {_wrong(errors)}"
        learns = hasattr(solver, "repeats")  # others move whether a row is wrong or not
        wrongly = None if value is None else True if learns else value <= 0
        self.steps.append(
            Step(
                event.update, event.visit, row, value, coef, intercept, errors, words, rival,
                extra, wrongly, after, repeats,
            )
        )  # fmt: skip

    def _of(self, solver: Any, row: int) -> tuple[int, Any, str]:
        """The sample behind a reflected row, its rival if it has one, and how it is called."""
        problem = self.problem
        sample, rival = problem.sample_of(row), problem.rival_of(row)
        if not getattr(solver, "compares", True):
            rival = None
        told = None if rival is None else problem.classes[rival : rival + 1].tolist()[0]
        name = self.names[sample] if self.names else f"row {sample}"
        return sample, told, name if told is None else f"{name} against {told!r}"

    def _measure(self, solver: Any, state: Any) -> tuple[NDArray[np.float64], Any, tuple[int, ...]]:
        """Weights and misclassified rows of the present state."""
        problem = self.problem
        if hasattr(solver, "seen"):  # in the feature space of a kernel
            self._values, coef, intercept = solver.seen(problem, state)
            return coef, intercept, self._errors()
        a = solver.current(problem, state)
        self._values = problem.values(a)
        return *self._split(a), self._errors()

    def _split(self, a: NDArray[np.float64]) -> tuple[NDArray[np.float64], Any]:
        coef, intercept = self.problem.split(a)
        return (coef[0], float(intercept[0])) if self.problem.binary else (coef, intercept)

    def _errors(self) -> tuple[int, ...]:
        wrong = (self._values <= 0).reshape(self.problem.n, -1).any(axis=1)
        return tuple(self.problem.sample_of_index(int(i)) for i in np.flatnonzero(wrong))

    def _extra(self, solver: Any, state: Any, event: Event | None) -> dict[str, float]:
        return {k: float(v) for k, v in solver.extra(self.problem, state, event).items()}


def _plane(coef: Any, intercept: Any) -> str:
    if not np.size(coef):  # of a sum over kernel values
        return f"b = {_vector(intercept)}"
    return f"w = {_vector(coef)}, b = {_vector(intercept)}"


def _vector(values: Any) -> str:
    flat = np.ravel(values)
    if flat.size == 1 and np.ndim(values) == 0:
        return f"{float(flat[0]):.6g}"
    shown = ", ".join(f"{v:.6g}" for v in flat[:8])
    return f"({shown}{', ...' if flat.size > 8 else ''})"


def _wrong(errors: tuple[int, ...]) -> str:
    return f"{len(errors)} row{'' if len(errors) == 1 else 's'} wrong"


def _dense(problem: Problem) -> NDArray[np.float64]:
    matrix = problem.matrix.toarray() if problem.sparse else problem.matrix
    return np.asarray(matrix, dtype=np.float64)
