"""Recording a run: the same solver and the same driver as a fit, one update at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import Limits, Moment, Observer, drive
from linsep.core.log import Event
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.core.words import count
from linsep.errors import CapabilityError
from linsep.proofs.certificate import judge
from linsep.tracing.trace import Step, Summary, Trace


def trace(
    estimator: Any,
    X: Any,
    y: Any,
    max_steps: int | None = None,
    *,
    row_names: Any = None,
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
        without it the trace ends where the fit would.
    row_names : sequence of str, optional
        Names used in the sentences instead of row numbers.

    Returns
    -------
    Trace

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("students")
    >>> run = linsep.trace(linsep.Perceptron(start=([.25] * 4, .25)), table.X, table.y,
    ...                    row_names=table.row_names)
    >>> print(run.narrate())
    Perceptron: 4 rows, 4 features
        0  start: w = (0.25, 0.25, 0.25, 0.25), b = 0.25; 1 row wrong
        1  visit 2: Steve has value -1.25, so a <- a + 1 z; 3 rows wrong
        2  visit 3: Mary has value -0.75, so a <- a + 1 z; 1 row wrong
        3  visit 4: Peter has value -3.75, so a <- a + 1 z; 0 rows wrong
           every row is on its own side of the plane: 3 updates, 8 visits
    """
    from sklearn.base import clone

    estimator, X = _behind_steps(estimator, X, y)
    estimator = estimator.stepper() if hasattr(estimator, "stepper") else estimator
    if not hasattr(estimator, "_choose"):
        raise CapabilityError(
            f"{type(estimator).__name__} cannot be traced: it takes no steps that could be shown. "
            "Perceptron, Kozinec, LeastSquares(solver='gradient') and others of linsep can be."
        )
    model = clone(estimator)
    problem = model._problem(X, y)
    problem.check_finite()
    solver, _ = model._choose(problem.lent)
    if not hasattr(solver, "current"):
        raise CapabilityError(
            f"{type(estimator).__name__} cannot be traced: {type(solver).__name__} moves many "
            "weights at once. Perceptron, Kozinec and solver='gradient' can be."
        )
    if max_steps is not None and hasattr(solver, "cycles"):
        solver = replace(solver, cycles=False)
    state = solver.init(problem.lent, start=model._start())
    names = None if row_names is None else [str(name) for name in row_names]
    recorder = _Recorder(problem, solver, names, max_steps)
    recorder.start(state)
    limits = model._limits(problem, solver)
    if max_steps is not None:
        limits = Limits(seconds=limits.seconds)
    judged = getattr(model, "_judge", judge)  # machines with a kernel have no plane to judge
    outcome = drive(problem, solver, state, limits=limits, observers=[recorder], certifier=judged)
    settle = getattr(model, "_settle", outcome.certificate.settle)
    status = settle(outcome.status)
    if status is Status.STOPPED and recorder.full:
        status = Status.STEP_LIMIT
    visits = int(getattr(outcome.state, "n_visits", outcome.steps))
    updates = count(outcome.state.n_updates, "update")
    message = f"{status.value}: {updates}, {count(visits, 'visit')}"
    return Trace(
        recorder.steps,
        Summary(status, outcome.state.n_updates, visits, outcome.seconds, message),
        algorithm=type(estimator).__name__,
        X=_dense(problem),
        y=problem.classes[problem.label],
        feature_names=[problem.feature_name(j) for j in range(problem.d)],
        row_names=names,
    )


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
            rows = pandas.DataFrame(rows, columns=before.get_feature_names_out())
    except (ImportError, AttributeError):  # names are a comfort
        pass
    return estimator.steps[-1][1], rows


class _Recorder(Observer):
    """Turns each event into a step; asks to stop after max_steps updates."""

    capacity = 1

    def __init__(
        self, problem: Problem, solver: Any, names: list[str] | None, max_steps: int | None
    ) -> None:
        self.problem, self.solver, self.names = problem, solver, names
        self.max_steps = max_steps
        self.steps: list[Step] = []
        self._values: NDArray[np.float64] = np.zeros(0)

    @property
    def full(self) -> bool:
        """Whether as many updates were recorded as asked for."""
        return self.max_steps is not None and len(self.steps) > self.max_steps

    def start(self, state: Any) -> None:
        """Record the state before the first step."""
        coef, intercept, errors = self._measure(state)
        words = f"start: w = {_vector(coef)}, b = {_vector(intercept)}; {_wrong(errors)}"
        extra = self._extra(state, None)
        self.steps.append(Step(0, 0, None, None, coef, intercept, errors, words, extra=extra))

    def moment(self, now: Moment[Any]) -> bool:
        """Record what happened since the last call: nothing, or one update."""
        for event in now.log.events():
            self._record(event, now.state)
        return self.full

    def _record(self, event: Event, state: Any) -> None:
        before = self._values
        coef, intercept, errors = self._measure(state)
        problem = self.problem
        extra = self._extra(state, event)
        if event.row < 0:
            wrong = int((before <= 0).sum())
            words = f"scan {event.visit // problem.n_rows}: "
            if hasattr(self.solver, "batch_words"):
                words += self.solver.batch_words(event, wrong)
            else:
                words += f"{count(wrong, 'row')} wrong, cost {event.value:.6g}, so a <- a + "
                words += f"{event.step:.4g} times their sum"
            row, value, rival = None, None, None
        else:
            row, rival = problem.sample_of(event.row), problem.rival_of(event.row)
            if not getattr(self.solver, "compares", True):
                rival = None
            rival = None if rival is None else problem.classes[rival : rival + 1].tolist()[0]
            value = event.value + 0.0  # no minus sign before a zero
            after = float(self._values[event.row])
            broken = int(((before > 0) & (self._values <= 0)).sum())
            extra |= {"undershoot": float(after <= 0), "broken": float(broken)}
            name = self.names[row] if self.names else f"row {row}"
            against = "" if rival is None else f" against {rival!r}"
            scans = self.solver.unit == "scan"
            when = f"scan {event.visit // problem.n_rows}" if scans else f"visit {event.visit}"
            words = f"{when}: {name}{against} has value {value:.6g}, so "
            words += self.solver.rule_words(event)
        words += f"; {_wrong(errors)}"
        self.steps.append(
            Step(
                event.update, event.visit, row, value, coef, intercept, errors, words, rival, extra
            )
        )

    def _measure(self, state: Any) -> tuple[NDArray[np.float64], Any, tuple[int, ...]]:
        """Weights and misclassified rows of the present state."""
        problem = self.problem
        if hasattr(self.solver, "seen"):  # in the feature space of a kernel
            self._values, coef, intercept = self.solver.seen(problem, state)
            rows = np.flatnonzero(self._values <= 0).tolist()
            return coef, intercept, tuple(map(problem.sample_of_index, rows))
        a = self.solver.current(problem, state)
        self._values = problem.values(a)
        wrong = (self._values <= 0).reshape(problem.n, -1).any(axis=1)
        errors = tuple(problem.sample_of_index(int(i)) for i in np.flatnonzero(wrong))
        coef, intercept = problem.split(a)
        if problem.binary:
            return coef[0], float(intercept[0]), errors
        return coef, intercept, errors

    def _extra(self, state: Any, event: Event | None) -> dict[str, float]:
        return {k: float(v) for k, v in self.solver.extra(self.problem, state, event).items()}


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
