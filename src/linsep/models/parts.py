"""Models of streams: rows that are read part by part, in a few passes, with the same proof.

The way of a fit is that of a table: look, choose, drive, prove, keep, warn. A stream that fits into
the memory it may take is read whole and is a table. Else a model of a sample is where Newton's
method begins, every step of which is a pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from linsep.core.boundary import own_bugs
from linsep.core.checkpoint import load_checkpoint
from linsep.core.drive import Observer, Outcome, drive
from linsep.core.limits import Limits, clock, time_left
from linsep.core.notes import warn
from linsep.core.parts import Block, Place, Stream, Threads
from linsep.core.problem import Problem
from linsep.core.progress import watching
from linsep.core.protocol import PlaneModel, Predictor, Solver, Status, Witness
from linsep.core.words import count, percent
from linsep.errors import (
    CapabilityError,
    CheckpointError,
    ClusterError,
    DataError,
    GapWarning,
    NotSeparatedWarning,
    SettingError,
)
from linsep.losses.base import Loss
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.models.fit import (
    Answer,
    Watched,
    begun_part,
    class_weights,
    own_observers,
    own_threads,
    seed_of,
    stoppable,
    way_on,
)
from linsep.proofs.parts import (
    ONE_AGAINST_REST,
    StreamGap,
    errors_of_planes,
    require_machines,
    stream_gap,
)
from linsep.proofs.plain import require_given
from linsep.proofs.softmax import stream_softmax
from linsep.rows.parts import PartsProblem, looked_at
from linsep.separating.parts import CLOSE, StreamMargin, decide_stream
from linsep.separating.verdict import decide
from linsep.solvers.first import FirstState
from linsep.solvers.parts import (
    HingeForm,
    LogisticForm,
    NewtonParts,
    PartsState,
    SoftmaxForm,
    WideParts,
    first_width,
)

Array = NDArray[np.float64]
P = TypeVar("P")

_ROUGH = 2e-4  # relative gap to which a sample is worth being solved
_WIDEST = 2048  # columns: a pass sums up as many numbers as these squared
_AGAIN = 3  # times that a fit goes on when its proof falls short
_WIDE_H = 0.5  # width of a corner that is rounded off at first, where there are many columns
_AHEAD = 0.9  # of tol, that the solver aims at: the proof takes its own rounding off


class Named(Protocol):
    """What knows its columns."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]


class InParts(Named, Watched, Protocol):
    """What an estimator has that can be fitted to a stream."""

    fit_intercept: bool
    class_weight: Any
    random_state: Any
    n_iter_: int
    _forgotten: ClassVar[tuple[str, ...]]

    def _check_settings(self) -> None: ...

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, *, checkpoint: str | Path | None
    ) -> object: ...


class Answering(InParts, Protocol):
    """The same for one that answers as it does of a table."""

    def _answer_parts(self, run: Any) -> Answer: ...

    def _keep(self, problem: Any, answer: Any) -> None: ...

    def _warn(self, problem: Any, answer: Any) -> None: ...


class Streamed(InParts, PlaneModel, Protocol):
    """The same for one with a loss, of which this module makes the machines."""

    tol: float
    max_iter: int
    classes_: NDArray[Any]
    coef_: Array
    intercept_: Array
    status_: Status
    certificate_: Any
    outcome_: Outcome[Any]
    solver_used_: str
    n_updates_: int

    def _streamed(self) -> tuple[Loss, float]:
        """The loss and its cost."""

    def _keep_stream(self, mass: Array) -> None:
        """Attributes of its own, from the weight of each class."""

    def _choose(self, problem: Problem) -> tuple[Solver[Any], str]: ...


class Slackless(Streamed, Protocol):
    """The same for one that also knows a hard margin."""

    proof_: Any

    def _chosen(self, problem: Problem, C: float) -> tuple[Solver[Any], str]: ...


M = TypeVar("M", bound=InParts, covariant=True)
N = TypeVar("N", bound=InParts)


@dataclass(frozen=True)
class PartsRun(Generic[M]):
    """A fit of a stream under way: the problem, who watches, where to go on."""

    model: M
    problem: PartsProblem
    checkpoint: str | Path | None
    observers: list[Observer]

    def drive(self, solver: Any, start: Any, limits: Limits) -> Outcome[Any]:
        """Run a solver from the start, or from where a checkpoint has left it."""
        parts: Any = self.problem  # what solvers and the driver ask of a problem it has
        if self.checkpoint is None:
            state = solver.init(parts, start=start)
        else:
            state = load_checkpoint(self.checkpoint, parts, solver)
            if state.status is Status.CLUSTER_LOST:  # there are other workers now
                state.status = Status.RUNNING
            if isinstance(state, PartsState):  # what was read before counts, too
                self.problem.stream.passes += state.rows_read + state.again
            way = "The file is damaged or forged: start without it."
            with own_bugs(f"the fit resumed from {self.checkpoint}", CheckpointError, way):
                return self.go_on(solver, state, limits)
        return self.go_on(solver, state, limits)

    def go_on(self, solver: Any, state: Any, limits: Limits) -> Outcome[Any]:
        """Run a solver from a state."""
        seconds = time_left() if time_left() < np.inf else None
        limits = replace(limits, seconds=seconds)
        parts: Any = self.problem
        return drive(parts, solver, state, limits=limits, observers=self.observers)

    def proved(self, outcome: Outcome[Any], proof: Callable[[], P]) -> P:
        """A proof of what a run has come to; by this machine where all workers are gone."""
        if outcome.status is not Status.CLUSTER_LOST:
            with suppress(ClusterError):  # nobody is left for the proof, but this machine
                return proof()
        with _without_workers(self.problem.stream):
            return proof()

    @property
    def words(self) -> str:
        """How many rows there are, and who reads them."""
        parts = self.problem.stream
        rows = f"{count(self.problem.n, 'row')} in {count(len(parts.parts), 'part')}"
        return f"{rows}, read by {parts.runner.words}"


def fit_in_parts(
    model: N,
    stream: Stream,
    checkpoint: str | Path | None,
    work: Callable[[PartsRun[N]], Callable[[], None]],
    *,
    widest: float = np.inf,
) -> None:
    """The way of every fit of a stream: look; a table where it is small enough, else ``work``.

    ``work`` gives back what says how far the model is from what was asked for.
    """
    with (
        stoppable(model) as interrupts,
        own_threads(model),
        watching(stream, quiet=not model.verbose) as shown,
    ):
        model._check_settings()
        if stream.rows is not None and stream.feature_names is not None:
            width = len(stream.feature_names)
            if stream.rows * width * 4 > stream.memory // 2:
                _refuse_wide(stream, width, widest)  # before anything is read
        problem = looked_at(
            stream,
            fit_intercept=model.fit_intercept,
            class_weight=partial(class_factors, model.class_weight),
            seed=seed_of(model.random_state),
        )
        if problem.look.size <= stream.memory // 2:
            X, y, weight = gathered(stream)
            model._fit(X, y, weight, checkpoint=checkpoint)
            keep_names(model, problem)
            return
        _refuse_wide(stream, problem.d, widest)
        for name in model._forgotten:
            model.__dict__.pop(name, None)
        observers = [*own_observers(model), *([] if shown is None else [shown])]
        with np.errstate(all="ignore"):
            say = work(PartsRun(model, problem, checkpoint, observers))
        keep_names(model, problem)
        model.n_iter_ = max(1, stream.passes)
    if interrupts.outermost or not interrupts.requested:
        say()


def answered(run: PartsRun[Answering]) -> Callable[[], None]:
    """The fit of a model that gives an ``Answer``, as it does of a table."""
    answer = run.model._answer_parts(run)
    run.model._keep(run.problem, answer)
    return partial(run.model._warn, run.problem, answer)


def fit_stream(model: Streamed, stream: Stream, checkpoint: str | Path | None = None) -> None:
    """Train a machine, or one against the rest for each class, on a stream."""
    loss, C = model._streamed()
    if np.isinf(C) and isinstance(loss, QuadraticLoss):
        fit_in_parts(cast(Slackless, model), stream, checkpoint, _hard_margin)
    else:
        fit_in_parts(model, stream, checkpoint, _machines)


def _hard_margin(run: PartsRun[Slackless]) -> Callable[[], None]:
    """C = inf: the plane of maximum margin of all rows, or the proof that there is none."""
    model, problem = run.model, run.problem
    if not problem.binary:
        raise CapabilityError(
            f"a hard margin (C=inf) on a stream is that of two classes, here are {problem.K}; "
            "choose a finite C."
        )
    begin = clock()
    left = time_left() if time_left() < np.inf else None
    proof = decide_stream(
        problem.stream, decide, fit_intercept=model.fit_intercept, time_limit=left,
        close=min(CLOSE, 0.25 * float(model.tol)), looked=problem,
    )  # fmt: skip
    status, other, a = Status.TIME_LIMIT, None, np.zeros(problem.d + 1)
    if proof.separable is False:  # a usable plane all the same: the soft margin of C = 1
        choose = partial(model._chosen, C=1.0)
        soft = _machine(replace(run, checkpoint=None), HINGE, 1.0, choose)
        status, other, a = Status.INSEPARABLE, soft.gap, soft.outcome.witness.a
    elif not proof.separable:
        other = StreamMargin.plane_facts(problem, a)
    gap = StreamMargin.of_proof(proof, other, a)
    if proof.separable:
        close = gap.relative_gap <= model.tol
        ran_out = left is not None and time_left() <= 0
        status = Status.TIME_LIMIT if ran_out else Status.STALLED
        status, a = Status.CERTIFIED if close else status, gap.stated[0]
    state = FirstState(steps=problem.stream.passes)
    outcome = Outcome(state, status, Witness(a), gap, state.steps, "pass", clock() - begin)
    reason = f"the plane of maximum margin of the rows that are nearest ({run.words})"
    answers = [StreamAnswer(outcome, gap, status, reason)]
    _keep(model, problem, answers)
    model.proof_ = proof if status is Status.INSEPARABLE else None
    if status is Status.INSEPARABLE:
        return partial(
            warn,
            f"{status.value}. A hard margin does not exist; choose a finite C. The proof is in "
            f"proof_: {proof}",
            NotSeparatedWarning,
        )
    return partial(_warn, model, answers)


def _machines(run: PartsRun[Streamed]) -> Callable[[], None]:
    model, problem = run.model, run.problem
    loss, C = model._streamed()
    if np.isinf(C):
        raise SettingError(
            "without a penalty (C=inf) the likelihood needs all rows at once; on a stream choose a "
            "finite C, or ask linsep.separability(stream)."
        )
    one = problem.binary or not isinstance(loss, QuadraticLoss)  # softmax is one machine
    machines = [problem] if one else [problem.against(k) for k in range(problem.K)]
    if one and not problem.binary and problem.dim > _WIDEST:
        raise CapabilityError(
            f"softmax of {problem.K} classes and {problem.d} columns has {problem.dim} weights; on "
            f"a stream up to {_WIDEST} are found at a time. LinearSVM takes one class against the "
            "rest, of any number of columns."
        )
    begun = None
    if run.checkpoint is not None and len(machines) > 1:
        begun = begun_part(run.checkpoint, machines, "a class against the rest")
    each = {}
    for k in sorted(range(len(machines)), key=lambda k: k != begun):
        file = run.checkpoint if begun in (None, k) else None
        each[k] = _machine(replace(run, problem=machines[k], checkpoint=file), loss, C)
    answers = [each[k] for k in range(len(machines))]
    _keep(model, problem, answers)
    return partial(_warn, model, answers)


def _refuse_wide(stream: Stream, d: int, widest: float) -> None:
    if d > widest:
        raise CapabilityError(
            f"{stream.name} has {count(d, 'column')}; rows that do not fit into memory are fitted "
            f"by sums of columns times columns, up to {widest:.0f}. Hash them into fewer, for "
            "instance with sklearn.feature_extraction.FeatureHasher, take a sample, or raise "
            "memory= until all rows fit into half of it.",
            options={"memory=": "--memory"},
        )


def gathered(stream: Stream, most: float = np.inf) -> tuple[Any, Any, Any]:
    """All rows of a stream, as X, y and weights, of at most so many bytes."""
    import scipy.sparse

    blocks, size = [], 0.0 if stream.size is None else float(stream.size)
    for _, block in stream.blocks():
        require_given(block)
        blocks.append(block)
        size += block.X.nbytes if stream.size is None and hasattr(block.X, "nbytes") else 0
        if size > most:
            raise DataError(
                "the certificate is that of a table, and these rows do not fit into memory=; "
                "raise it, or see linsep.certify for how good the model is on them.",
                options={"memory=": "--memory", "linsep.certify": "linsep certify"},
            )
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


def class_factors(class_weight: Any, classes: NDArray[Any], mass: Array) -> Array:
    """Factors of the classes; "balanced" counts a row of weight s as s rows."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        return np.asarray(mass.sum() / (len(classes) * np.maximum(mass, 1e-300)))
    return class_weights(class_weight, classes, classes)


@dataclass(frozen=True)
class StreamAnswer:
    """What a machine of a stream has come to."""

    outcome: Outcome[Any]
    gap: StreamGap | StreamMargin
    status: Status
    reason: str


def _machine(
    run: PartsRun[Streamed], loss: Loss, C: float, choose: Callable[[Problem], Any] | None = None
) -> StreamAnswer:
    """Two classes, or softmax of more: a model of the sample, passes from there, and the proof."""
    model, problem = run.model, run.problem
    sample = problem.sampled
    start, h = None, 0.25
    limits = Limits(steps=model.max_iter)
    if len(np.unique(sample.label)) == problem.K:
        chosen: Any = (choose or model._choose)(sample)[0]
        if hasattr(chosen, "tol"):
            chosen = replace(chosen, tol=max(chosen.tol, _ROUGH))
        seconds = time_left() if time_left() < np.inf else None
        a = drive(sample, chosen, limits=Limits(steps=1000, seconds=seconds)).witness.a
        start = problem.split(a)
        if isinstance(loss, QuadraticLoss) and loss.kinked:
            h = first_width(loss, sample, a, C, model.tol)
    newton = _newton(problem, loss, C, _AHEAD * float(model.tol), h)

    def proved(outcome: Outcome[Any]) -> StreamGap:
        a, made = outcome.witness.a, outcome.witness.multipliers
        proof: Callable[[], StreamGap] = partial(stream_gap, problem, a, made, loss, C)
        if not problem.binary:
            proof = partial(stream_softmax, problem, a, made[:-1], C)
        return run.proved(outcome, proof)

    outcome = run.drive(newton, start, limits)
    gap = proved(outcome)
    hoped = (Status.CONVERGED, Status.CERTIFIED)
    state = outcome.state
    while outcome.status in hoped and gap.relative_gap > model.tol and state.again < _AGAIN:
        state.trusting, state.status = False, Status.RUNNING  # it was too much to expect
        state.again += 1
        outcome = run.go_on(newton, state, limits)
        gap, state = proved(outcome), outcome.state
    reason = (
        f"Newton's method, a pass a step, from a sample of {count(sample.n, 'row')} ({run.words})"
    )
    return StreamAnswer(outcome, gap, gap.settle(outcome.status, float(model.tol)), reason)


def _newton(problem: PartsProblem, loss: Loss, C: float, tol: float, h: float) -> Any:
    """Newton's method for an objective, as passes over parts see it."""
    wide = problem.d > _WIDEST
    form: Any = SoftmaxForm(C)
    if isinstance(loss, QuadraticLoss):
        form = HingeForm(loss, C, wide)
    elif problem.binary:
        form = LogisticForm(C, wide)
    if not wide:
        return NewtonParts(form, tol=tol, h=h)
    known = len(problem.look.keys) >= problem.look.n  # the sample is all rows
    return WideParts(form, tol=tol, h=h if known else max(h, _WIDE_H))


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
    class_weight: Any,
    generator: Array | None,
    *,
    fit_intercept: bool,
    tol: float,
    seconds: float | None,
) -> StreamGap:
    """Bounds for a given plane; where its own dual variables prove too little, better ones are
    looked for within the time."""
    problem = looked_at(
        stream, fit_intercept=fit_intercept, class_weight=partial(class_factors, class_weight)
    )
    if problem.d != len(a) - 1:
        raise DataError(f"{stream.name} has {count(problem.d, 'column')}, the model {len(a) - 1}.")
    h = 0.0
    if isinstance(loss, QuadraticLoss) and loss.kinked:
        h = first_width(loss, problem.sample(), a, C, tol)
    if generator is None or len(generator) != len(a) + 1:
        generator = np.append(a, h)
    found = stream_gap(problem, a, generator, loss, C)
    if found.relative_gap <= tol:
        return found
    newton = _newton(problem, loss, C, 0.5 * tol, h)
    parts: Any = problem
    state = newton.init(problem, start=problem.split(a))
    witness = drive(parts, newton, state, limits=Limits(seconds=seconds)).witness
    better = stream_gap(problem, a, witness.multipliers, loss, C)
    return better if better.lower_bound > found.lower_bound else found


def keep_names(model: Named, problem: PartsProblem) -> None:
    model.n_features_in_ = problem.d
    model.__dict__.pop("feature_names_in_", None)
    if problem.feature_names is not None:
        model.feature_names_in_ = np.array(problem.feature_names, dtype=object)


def _keep(model: Streamed, problem: PartsProblem, answers: list[StreamAnswer]) -> None:
    """The attributes of a fitted model, but for what belongs to single rows."""
    keep_names(model, problem)
    for name in (*model._forgotten, "support_", "dual_coef_", "leave_one_out_bound_"):
        model.__dict__.pop(name, None)
    model.classes_ = problem.classes
    weights = np.concatenate([answer.outcome.witness.a for answer in answers])
    worst = max(answers, key=lambda answer: answer.gap.relative_gap)
    errors = answers[0].gap.errors
    gaps: list[Any] = [answer.gap for answer in answers]
    if len(answers) > 1:
        require_machines(gaps)
        errors = errors_of_planes(problem, weights.reshape(len(answers), -1))
    model.certificate_ = StreamGap.together(gaps, errors, ONE_AGAINST_REST)
    model.coef_, model.intercept_ = proved_planes(model.certificate_)
    model.status_ = worst.status
    model.outcome_, model.solver_used_ = worst.outcome, answers[0].reason
    model.n_iter_ = max(1, problem.stream.passes)
    model.n_updates_ = sum(answer.outcome.state.n_updates for answer in answers)
    with np.errstate(divide="ignore"):
        model._keep_stream(problem.mass)


def proved_planes(certificate: Any) -> tuple[Array, Array]:
    """w and b of each plane as the certificate of a stream has them: no others are proved."""
    planes = certificate.stated
    return planes[:, :-1].copy(), planes[:, -1].copy()


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

    @property
    def score(self) -> float:
        """Share of the weight that is right."""
        return 1.0 - self.wrong_weight / self.weight

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


def counted(predict: Callable[[Any], NDArray[Any]], stream: Stream) -> Count:
    """How many rows of a stream a rule gets wrong: one pass."""
    found = stream.total(partial(_counted, predict=predict), "errors counted")
    if found is None:
        raise DataError(f"{stream.name} has no rows.")
    return found


class OwnRule:
    """What a model predicts for rows without names."""

    def __init__(self, model: Predictor) -> None:
        self.model = copy(model)
        for name in ("feature_names_in_", "outcome_", "certificate_"):
            self.model.__dict__.pop(name, None)

    def __call__(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.model.predict(X))


class PlaneRule:
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
        f"{name} needs all rows at once. LinearSVM, LogisticRegression, LeastSquares, "
        "GaussianClassifier and Perceptron take streams and Dask collections; for a curved "
        "boundary map the rows first, for instance with sklearn.kernel_approximation.Nystroem, or "
        "take a sample."
    )
