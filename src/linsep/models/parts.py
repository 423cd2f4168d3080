"""Models of streams: rows that are read part by part, in a few passes, with the same proof.

The way of a fit is that of a table: look, choose, drive, prove, keep, warn. A stream that fits into
the memory it may take is read whole and is a table. Else a model of a sample is where Newton's
method begins, every step of which is a pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from linsep.core.checkpoint import load_checkpoint
from linsep.core.drive import Observer, Outcome, drive
from linsep.core.limits import Limits, time_left
from linsep.core.notes import warn
from linsep.core.parts import Block, Place, Stream, Threads
from linsep.core.problem import Problem
from linsep.core.progress import watching
from linsep.core.protocol import PlaneModel, Solver, Status
from linsep.core.words import count, percent
from linsep.errors import CapabilityError, ClusterError, DataError, GapWarning, SettingError
from linsep.losses.base import Loss
from linsep.losses.hinge import QuadraticLoss
from linsep.models.fit import Watched, own_observers, own_threads, seed_of, stoppable, way_on
from linsep.proofs.parts import StreamGap, stream_gap
from linsep.rows.parts import PartsProblem, looked_at
from linsep.solvers.parts import HingeForm, LogisticForm, NewtonParts, first_width

Array = NDArray[np.float64]

_ROUGH = 2e-4  # relative gap to which a sample is worth being solved
_WIDEST = 2048  # columns: a pass sums up as many numbers as these squared
_AHEAD = 0.9  # of tol, that the solver aims at: the proof takes its own rounding off


class Streamed(PlaneModel, Watched, Protocol):
    """What an estimator has and gives that can be fitted to a stream."""

    fit_intercept: bool
    class_weight: Any
    random_state: Any
    tol: float
    max_iter: int
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    coef_: Array
    intercept_: Array
    status_: Status
    certificate_: Any
    outcome_: Outcome[Any]
    solver_used_: str
    n_iter_: int
    n_updates_: int
    _forgotten: ClassVar[tuple[str, ...]]

    def _streamed(self) -> tuple[Loss, float]:
        """The loss and its cost."""

    def _keep_stream(self, mass: Array) -> None:
        """Attributes of its own, from the weight of each class."""

    def _check_settings(self) -> None: ...

    def _choose(self, problem: Problem) -> tuple[Solver[Any], str]: ...

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, *, checkpoint: str | Path | None
    ) -> object: ...


def fit_stream(model: Streamed, stream: Stream, checkpoint: str | Path | None = None) -> None:
    """Train a model of planes on a stream."""
    loss, C = model._streamed()
    with (
        stoppable(model) as interrupts,
        own_threads(model),
        watching(stream, quiet=not model.verbose) as shown,
    ):
        model._check_settings()
        if stream.rows is not None and stream.feature_names is not None:
            width = len(stream.feature_names)
            if stream.rows * width * 4 > stream.memory // 2:
                _refuse_wide(stream, width)  # before anything is read
        problem = looked_at(
            stream,
            fit_intercept=model.fit_intercept,
            class_weight=partial(_factors, model.class_weight),
            seed=seed_of(model.random_state),
        )
        if problem.look.size <= stream.memory // 2:
            X, y, weight = gathered(stream)
            model._fit(X, y, weight, checkpoint=checkpoint)
            _names(model, problem)
            return
        _refuse_wide(stream, problem.d)
        if np.isinf(C):
            raise SettingError(
                "C=inf needs all rows at once; on a stream choose a finite C, or ask "
                "linsep.separability(stream)."
            )
        if not problem.binary and not isinstance(loss, QuadraticLoss):
            raise CapabilityError(
                f"{type(model).__name__} of {problem.K} classes is fitted to tables; streams of "
                "more than two classes are fitted by LinearSVM, one class against the rest."
            )
        machines = [problem] if problem.binary else [problem.against(k) for k in range(problem.K)]
        if checkpoint is not None and len(machines) > 1:
            raise SettingError("checkpoints of streams are those of two classes.")
        observers = [*own_observers(model), *([] if shown is None else [shown])]
        answers = [_machine(model, one, loss, C, checkpoint, observers) for one in machines]
        _keep(model, problem, answers)
    if interrupts.outermost or not interrupts.requested:
        _warn(model, answers)


def _refuse_wide(stream: Stream, d: int) -> None:
    if d > _WIDEST:
        raise CapabilityError(
            f"{stream.name} has {count(d, 'column')}; rows that do not fit into memory are fitted "
            f"by sums of columns times columns, up to {_WIDEST}. Hash them into fewer, for "
            "instance with sklearn.feature_extraction.FeatureHasher, take a sample, or raise "
            "memory= until all rows fit into half of it.",
            options={"memory=": "--memory"},
        )


def gathered(stream: Stream) -> tuple[Any, Any, Any]:
    """All rows of a stream, as X, y and weights."""
    import scipy.sparse

    blocks = [block for _, block in stream.blocks()]
    y = np.concatenate([block.y for block in blocks])
    weights = [
        np.ones(block.X.shape[0]) if block.weight is None else block.weight for block in blocks
    ]
    weight = None if all(block.weight is None for block in blocks) else np.concatenate(weights)
    if all(isinstance(block.X, np.ndarray) for block in blocks):
        return np.concatenate([block.X for block in blocks]), y, weight
    d = max(block.X.shape[1] for block in blocks)
    wide = []
    for block in blocks:
        rows = scipy.sparse.csr_array(block.X)
        parts = (rows.data, rows.indices, rows.indptr)
        wide.append(scipy.sparse.csr_array(parts, shape=(rows.shape[0], d)))
    return scipy.sparse.vstack(wide, format="csr"), y, weight


def _factors(class_weight: Any, classes: NDArray[Any], mass: Array) -> Array:
    """Factors of the classes; "balanced" counts a row of weight s as s rows."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        return np.asarray(mass.sum() / (len(classes) * np.maximum(mass, 1e-300)))
    return np.asarray(compute_class_weight(class_weight, classes=classes, y=classes))


@dataclass(frozen=True)
class StreamAnswer:
    """What a machine of a stream has come to."""

    outcome: Outcome[Any]
    gap: StreamGap
    status: Status
    reason: str


def _machine(
    model: Streamed,
    problem: PartsProblem,
    loss: Loss,
    C: float,
    checkpoint: str | Path | None,
    observers: list[Observer],
) -> StreamAnswer:
    """Two classes: a model of the sample, passes from there, and the proof."""
    parts: Any = problem  # what solvers and the driver ask of a problem it has
    sample = problem.sample()
    start, h = None, 0.25
    limits = Limits(steps=model.max_iter, seconds=time_left() if time_left() < np.inf else None)
    if len(np.unique(sample.label)) == 2:
        chosen: Any = model._choose(sample)[0]
        if hasattr(chosen, "tol"):
            chosen = replace(chosen, tol=max(chosen.tol, _ROUGH))
        a = drive(sample, chosen, limits=replace(limits, steps=1000)).witness.a
        start = problem.split(a)
        if isinstance(loss, QuadraticLoss) and loss.kinked:
            h = first_width(loss, sample, a, C, model.tol)
    form: Any = HingeForm(loss, C) if isinstance(loss, QuadraticLoss) else LogisticForm(C)
    newton: Any = NewtonParts(form, tol=_AHEAD * float(model.tol), h=h)
    state = newton.init(problem, start=start)
    if checkpoint is not None:
        state = load_checkpoint(checkpoint, parts, newton)
        if state.status is Status.CLUSTER_LOST:  # there are other workers now
            state.status = Status.RUNNING
    outcome, gap = _driven(problem, newton, state, limits, observers, loss, C)
    if outcome.status is Status.CONVERGED and not gap.relative_gap <= model.tol:
        state = outcome.state  # it was too much to expect
        state.trusting, state.status = False, Status.RUNNING
        outcome, gap = _driven(problem, newton, state, limits, observers, loss, C)
    reason = (
        f"Newton's method, a pass a step, from a sample of {count(sample.n, 'row')} "
        f"({count(problem.n, 'row')} in {count(len(problem.stream.parts), 'part')}, read by "
        f"{problem.stream.runner.words})"
    )
    status = outcome.status
    status = Status.CERTIFIED if status is Status.CONVERGED else status
    return StreamAnswer(outcome, gap, gap.settle(status, float(model.tol)), reason)


def _driven(
    problem: PartsProblem,
    newton: Any,
    state: Any,
    limits: Limits,
    observers: list[Observer],
    loss: Loss,
    C: float,
) -> tuple[Outcome[Any], StreamGap]:
    """Passes, and the proof of what they have come to."""
    parts: Any = problem
    outcome: Outcome[Any] = drive(parts, newton, state, limits=limits, observers=observers)
    witness = outcome.witness
    proved = partial(stream_gap, problem, witness.a, witness.multipliers, loss, C)
    if outcome.status is not Status.CLUSTER_LOST:
        with suppress(ClusterError):  # nobody is left for the proof, but this machine
            return outcome, proved()
    with _without_workers(problem.stream):
        return outcome, proved()


@contextmanager
def _without_workers(stream: Stream) -> Iterator[None]:
    """Where all workers are gone, the proof of what they came to is read by this machine."""
    before, stream.runner = stream.runner, Threads()
    try:
        yield
    except DataError as error:
        raise ClusterError(
            "the workers of the cluster are gone, and this machine cannot read the rows to prove "
            f"what they came to ({error}); start workers and go on from the checkpoint."
        ) from error
    finally:
        stream.runner = before


def certify_plane_in_parts(
    stream: Stream,
    a: Array,
    loss: Loss,
    C: float,
    fit_intercept: bool,
    class_weight: Any,
    generator: Array | None,
    *,
    tol: float,
    seconds: float | None,
) -> StreamGap:
    """Bounds for a given plane; where its own dual variables prove too little, better ones are
    looked for within the time."""
    problem = looked_at(
        stream, fit_intercept=fit_intercept, class_weight=partial(_factors, class_weight)
    )
    if problem.d != len(a) - 1:
        raise DataError(f"{stream.name} has {count(problem.d, 'column')}, the model {len(a) - 1}.")
    h = 0.0
    if isinstance(loss, QuadraticLoss) and loss.kinked:
        h = first_width(loss, problem.sample(), a, C, tol)
    if generator is None or len(generator) != len(a) + 1:
        generator = np.append(a, h)
    found = stream_gap(problem, a, generator, loss, C)
    if found.relative_gap <= tol or problem.d > _WIDEST:
        return found
    form: Any = HingeForm(loss, C) if isinstance(loss, QuadraticLoss) else LogisticForm(C)
    newton: Any = NewtonParts(form, tol=0.5 * tol, h=h)
    parts: Any = problem
    state = newton.init(problem, start=problem.split(a))
    witness = drive(parts, newton, state, limits=Limits(seconds=seconds)).witness
    better = stream_gap(problem, a, witness.multipliers, loss, C)
    return better if better.lower_bound > found.lower_bound else found


def _names(model: Streamed, problem: PartsProblem) -> None:
    model.n_features_in_ = problem.d
    model.__dict__.pop("feature_names_in_", None)
    if problem.feature_names is not None:
        model.feature_names_in_ = np.array(problem.feature_names, dtype=object)


def _keep(model: Streamed, problem: PartsProblem, answers: list[StreamAnswer]) -> None:
    """The attributes of a fitted model, but for what belongs to single rows."""
    for name in (*model._forgotten, "support_", "dual_coef_", "leave_one_out_bound_"):
        model.__dict__.pop(name, None)
    _names(model, problem)
    model.classes_ = problem.classes
    weights = np.stack([answer.outcome.witness.a for answer in answers])
    model.coef_, model.intercept_ = weights[:, :-1].copy(), weights[:, -1].copy()
    worst = max(answers, key=lambda answer: answer.gap.relative_gap)
    errors = answers[0].gap.errors
    if len(answers) > 1:
        errors = errors_of(model, problem.stream)
    gaps = [answer.gap for answer in answers]
    model.certificate_ = StreamGap.together(gaps, errors, "one against the rest")
    model.status_ = worst.status
    model.outcome_, model.solver_used_ = worst.outcome, answers[0].reason
    model.n_iter_ = max(1, problem.stream.passes)
    model.n_updates_ = sum(answer.outcome.state.n_updates for answer in answers)
    with np.errstate(divide="ignore"):
        model._keep_stream(problem.mass)


def _warn(model: Streamed, answers: list[StreamAnswer]) -> None:
    status, gap = model.status_, model.certificate_
    if status.ok:
        return
    worst = max(answers, key=lambda answer: answer.gap.relative_gap)
    warn(
        f"{status.value} ({status.name}, {count(model.n_iter_, 'pass')}). The objective "
        f"{gap.objective:.6g} is proved to be within {percent(gap.relative_gap, 3)} of the best "
        f"possible one; tol asks for {percent(model.tol, 3)}. "
        f"{_way_on(worst)}",
        GapWarning,
    )


def _way_on(worst: StreamAnswer) -> str:
    if worst.outcome.status is Status.CLUSTER_LOST:
        return (
            "Start workers and go on with resume(stream, None, checkpoint), if a Checkpointer was "
            "among the callbacks; else fit again."
        )
    return way_on(worst.outcome, "Raise max_iter or time_limit, lower C, or scale the columns.")


# -- what a model says of a stream ----------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """Rows, and those of them that are wrong, with their weights."""

    rows: int
    wrong: int
    weight: float
    wrong_weight: float

    def plus(self, other: Self) -> Self:
        """Both."""
        return replace(
            self,
            rows=self.rows + other.rows,
            wrong=self.wrong + other.wrong,
            weight=self.weight + other.weight,
            wrong_weight=self.wrong_weight + other.wrong_weight,
        )


def _counted(block: Block, place: Place, *, predict: Callable[[Any], NDArray[Any]]) -> Count:
    if block.y is None:
        raise DataError(f"{place.part} has no labels to compare with.")
    wrong = predict(block.X) != block.y
    weight = np.ones(len(wrong)) if block.weight is None else block.weight
    return Count(len(wrong), int(wrong.sum()), float(weight.sum()), float(weight[wrong].sum()))


def counted(model: PlaneModel, stream: Stream) -> Count:
    """How many rows of a stream a model gets wrong: one pass."""
    found = stream.total(partial(_counted, predict=_Plain(model)), "errors counted")
    if found is None:
        raise DataError(f"{stream.name} has no rows.")
    return found


def errors_of(model: PlaneModel, stream: Stream) -> int:
    """Rows of a stream whose class the model does not predict."""
    return counted(model, stream).wrong


class _Plain:
    """Classes by the planes of a model; small enough to be sent to workers."""

    def __init__(self, model: PlaneModel) -> None:
        self.W, self.b = model.coef_.T.copy(), model.intercept_.copy()
        self.classes = model.classes_

    def __call__(self, X: Any) -> NDArray[Any]:
        rows = X
        if not isinstance(X, np.ndarray) and X.shape[1] < len(self.W):
            import scipy.sparse

            parts = (X.data, X.indices, X.indptr)
            rows = scipy.sparse.csr_array(parts, shape=(X.shape[0], len(self.W)))
        scores = np.asarray(rows @ self.W + self.b)
        if len(self.classes) == 2:
            return np.asarray(self.classes[(scores[:, 0] >= 0).astype(int)])
        return np.asarray(self.classes[scores.argmax(axis=1)])


class Predicted:
    """The answers of a model for a stream, made block by block while they are read.

    Iterate over it, or take ``np.concatenate(list(predicted))`` where that fits into memory.
    """

    def __init__(self, function: Callable[[Any], NDArray[Any]], stream: Stream) -> None:
        self.function, self.stream = function, stream

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for _, block in self.stream.blocks():
            with warnings.catch_warnings():  # its names were held against the model's before
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                found = self.function(block.X)
            yield found

    def __repr__(self) -> str:
        return f"Predicted({self.stream!r})"


def mapped(function: Callable[[Any], NDArray[Any]], X: Any, none: NDArray[Any]) -> Any:
    """A function of rows for a stream or a Dask collection: lazily, part by part.

    none is what it gives for no rows.
    """
    if isinstance(X, Stream):
        same_columns(function.__self__, X)  # type: ignore[attr-defined]
        return Predicted(function, X)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(function, meta=none)
    return X.rechunk({1: -1}).map_blocks(function, drop_axis=1, dtype=none.dtype, meta=none)


def same_columns(model: Streamed, stream: Stream) -> None:
    """Refuse a stream whose columns have other names, or another order, than the model's."""
    wanted = getattr(model, "feature_names_in_", None)
    named = stream.feature_names
    if wanted is None or named is None or list(named) == [str(name) for name in wanted]:
        return
    absent = [str(name) for name in wanted if str(name) not in named]
    what = f"has no column {absent[0]!r}" if absent else "has its columns in another order"
    raise DataError(
        f"{stream.name} {what}, and the model was trained with "
        f"{', '.join(map(str, list(wanted)[:8]))}; choose them with "
        "linsep.data.stream(..., columns=model.feature_names_in_)."
    )


def no_stream(model: object) -> CapabilityError:
    """Why a model takes no stream, and what does."""
    name = type(model).__name__
    if getattr(model, "kernel", None) is not None and "Kernel" not in name:
        name += " with a kernel"
    return CapabilityError(
        f"{name} needs all rows at once. LinearSVM and "
        "LogisticRegression take streams and Dask collections; for a curved boundary map the rows "
        "first, for instance with sklearn.kernel_approximation.Nystroem, or take a sample."
    )
