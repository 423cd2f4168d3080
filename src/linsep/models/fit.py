"""A fit from the outside in: settings, rows and labels checked, who watches, the run, its answer.

Every classifier that is trained by steps goes the same way, ``Classifier._fit`` in base.py:
problem, guard, choose, drive, prove, keep, warn. What the way needs and no classifier has an
opinion about lies here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field, replace
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from linsep._sklearn import FitCallback
from linsep.core.checkpoint import Checkpointer, fingerprint_of, load_checkpoint
from linsep.core.drive import Moment, Observer, Outcome, drive
from linsep.core.lanes import at_most, one_blas_thread
from linsep.core.limits import (
    Interrupts,
    Limits,
    TimeUpError,
    asked_to_stop,
    clock,
    enough_memory,
    given_up_after,
    in_a_search,
    the_program_ends,
    time_left,
    time_limit,
)
from linsep.core.notes import warn
from linsep.core.problem import Problem
from linsep.core.progress import progress_observer
from linsep.core.protocol import Solver, Status, Witness
from linsep.core.schema import shown
from linsep.core.validate import (
    SCORES_HELD,
    all_finite,
    as_weights,
    plain_labels,
    refuse_too_many_classes,
)
from linsep.errors import CheckpointError, DataError, LabelError, LinsepWarning, SettingError
from linsep.losses.base import Loss
from linsep.losses.table import LOSSES
from linsep.proofs.gap import Gap
from linsep.proofs.plain import require_same
from linsep.rows.reader import survey

# -- Settings: one table for each estimator, one sentence for errors ------------------------------


@dataclass(frozen=True)
class Check:
    """A test and the words for what passes it."""

    test: Callable[[Any], bool]
    words: str


def one_of(*values: str) -> Check:
    """One of the given words."""
    return Check(
        lambda v: isinstance(v, str) and v in values, "one of " + ", ".join(map(repr, values))
    )


def a_loss(kind: type[Loss]) -> Check:
    """The name of a loss of a kind, looked up when it is checked."""
    known = [repr(name) for name, loss in LOSSES.items() if isinstance(loss, kind)]
    return Check(
        lambda v: isinstance(v, str) and isinstance(LOSSES.get(v), kind),
        "one of " + ", ".join(known),
    )


def number(low: float | None = None, *, above: bool = False, whole: bool = False) -> Check:
    """A number, at least ``low`` (or above it), perhaps a whole one."""

    def test(v: Any) -> bool:
        if isinstance(v, bool) or not isinstance(v, Integral if whole else Real):
            return False
        value = float(v)
        if value != value:
            return False
        return low is None or (value > low if above else value >= low)

    kind = "a whole number" if whole else "a number"
    bound = "" if low is None else f" {'>' if above else '>='} {low:g}"
    return Check(test, kind + bound)


none = Check(lambda v: v is None, "None")
boolean = Check(lambda v: isinstance(v, bool) or type(v).__name__ == "bool_", "True or False")
function = Check(callable, "a function")
jobs = Check(
    lambda v: v is None or (number(-1, whole=True).test(v) and v != 0),
    "None, -1 for all cores, or a whole number of threads >= 1",
)


def either(*checks: Check) -> Check:
    """Whatever passes one of the tests."""
    return Check(
        lambda v: any(check.test(v) for check in checks), " or ".join(c.words for c in checks)
    )


def check_params(estimator: Any, table: dict[str, Check]) -> None:
    """Raise SettingError for the first parameter that fails its test."""
    for name, check in table.items():
        check_value(type(estimator).__name__, name, getattr(estimator, name), check)


def check_value(owner: str, name: str, value: Any, check: Check) -> None:
    """Raise SettingError when the value fails its test."""
    if not check.test(value):
        raise SettingError(
            f"The {name!r} parameter of {owner} must be {check.words}. Got {value!r:.200} instead."
        )


def seed_of(random_state: Any) -> int:
    """One seed a fit: an integer is the seed itself, and None is 0, so that a fit gives the same
    bits every time and can be resumed."""
    state = 0 if random_state is None else random_state
    if isinstance(state, Integral):
        return int(state)
    return int(check_random_state(state).randint(2**31 - 1))


# -- Rows and labels of a caller as a problem -----------------------------------------------------


def read_problem(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    fit_intercept: bool = True,
    check_finite: bool = True,
    targets: Any = None,
) -> Problem:
    """Check rows and labels as scikit-learn does, and keep the names of the columns."""
    if y is None:
        raise LabelError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    rows = read_rows(estimator, X)
    labels = read_labels(y)
    refuse_too_many_classes(
        labels,
        held=getattr(estimator, "_scores_held", SCORES_HELD),
        pairs=getattr(estimator, "_in_pairs", False),
        of_pairs=getattr(estimator, "_numbers_of_pairs", 0),
    )
    by_class = getattr(estimator, "class_weight", None)
    problem = Problem(
        rows,
        labels,
        sample_weight=row_weights(by_class, labels, sample_weight),
        fit_intercept=fit_intercept,
        feature_names=getattr(estimator, "feature_names_in_", None),
        check_finite=check_finite,
        targets=targets,
        half_space=getattr(estimator, "_half_spaces", False),
    )
    return require_same(problem, X, y, sample_weight, by_class)


def read_rows(estimator: Any, X: Any) -> Any:
    """Rows to train on as scikit-learn takes them; NaN and infinity are for others to find."""
    if _as_they_are(X) and not hasattr(estimator, "feature_names_in_"):
        estimator.n_features_in_ = X.shape[1]
        return X
    try:
        return validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        named = no_numbers(X)
        if named:
            raise DataError(_way_out(named, type(estimator).__name__)) from error
        if isinstance(error, TypeError):
            raise
        raise DataError(str(error)) from error


def rows_to_judge(estimator: Any, X: Any, *, finite: bool = True) -> Any:
    """Rows to predict as scikit-learn takes them, finite and with the columns of the fit.

    Without finite nobody has looked for that: the caller sees it in what is made of them.
    """
    fits = _as_they_are(X) and X.shape[1] == estimator.n_features_in_
    if fits and not hasattr(estimator, "feature_names_in_") and (not finite or all_finite(X)):
        return X
    try:
        return validate_data(
            estimator, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
        )  # fmt: skip
    except ValueError as error:
        raise DataError(str(error)) from error


def _as_they_are(X: Any) -> bool:
    """Whether scikit-learn gives rows back unchanged; to find that out takes it a while."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0:
        return False
    return X.dtype.char in "df" and X.dtype.isnative


_DATES = ("date", "time", "period", "duration", "interval")


def no_numbers(X: Any) -> dict[str, str]:
    """Columns of a frame of pandas or polars that hold text or dates, and which of them."""
    columns, dtypes = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if columns is None or dtypes is None or not hasattr(X, "__getitem__"):
        return {}
    found = {}
    for name, dtype in zip(list(columns), list(dtypes)):
        kind = str(dtype).lower()
        if kind.startswith(_DATES):
            found[str(name)] = "dates"
            continue
        if kind.startswith(("int", "uint", "float", "bool", "double")):
            continue
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            found[str(name)] = "text"
    return found


def _way_out(named: dict[str, str], estimator: str) -> str:
    shown = [f"{name!r} ({kind})" for name, kind in list(named.items())[:5]]
    more = f" and {len(named) - 5} more" if len(named) > 5 else ""
    return (
        f"columns that are no numbers: {', '.join(shown)}{more}. "
        f"linsep.tables.Tabular(linsep.{estimator}()).fit(X, y) makes numbers of them, and keeps "
        "how in the model."
    )


def read_labels(y: Any) -> NDArray[Any]:
    """Labels as scikit-learn takes them, and some kinds more (see ``plain_labels``).

    Anything else that is no list of classes is a LabelError with its place.

    >>> read_labels(np.array([3, 1, 3], dtype=object)).dtype.kind
    'i'
    """
    plain = plain_labels(y)
    if type(plain) is np.ndarray and plain.ndim == 1 and plain.dtype.kind in "biu":
        return plain  # these can only be classes
    shape = np.asarray(plain).shape
    _refuse_long(np.asarray(plain))
    if len(shape) == 2 and shape[1] > 1:
        raise LabelError(
            f"y has shape {shape}: several labels for each row. Give one label for each row, or "
            "fit one classifier for each column with sklearn.multioutput.MultiOutputClassifier. "
            "y should be a 1d array."
        )
    try:
        labels = np.asarray(column_or_1d(plain, warn=True))
        if labels.dtype.kind not in "biu":
            assert_all_finite(labels, input_name="y")
            check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise LabelError(_words(plain, error)) from error
    return labels


_LONGEST_LABEL = 10_000  # letters: an array of texts gives each of them as much as the longest


def _refuse_long(labels: NDArray[Any]) -> None:
    """Names of classes are compared all along; one of a million letters would take minutes."""
    if labels.dtype.kind == "U" and labels.dtype.itemsize > 4 * _LONGEST_LABEL:
        sizes = np.strings.str_len(labels.ravel())
        row = int(sizes.argmax())
        if sizes[row] > _LONGEST_LABEL:
            raise LabelError(
                f"y has a label of {sizes[row]} letters at row {row}; the names of classes have at "
                f"most {_LONGEST_LABEL}. If y is text to be classified, it belongs into X."
            )


def _words(y: Any, error: Exception) -> str:
    """What is wrong with labels; the words of scikit-learn where there is nothing to add."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind not in "OS" or labels.ndim != 1:
        return str(error)
    kinds = [type(label) for label in labels.tolist()]
    for at, label in enumerate(labels.tolist()):
        if label is None or (isinstance(label, float | np.floating) and label != label):
            return f"y has no label at row {at} ({label}); drop that row or give it a label."
        if isinstance(label, bytes):
            return (
                f"y has bytes at row {at} ({label!r}), which are neither text nor numbers. Convert "
                "the labels to a string or integer format: np.char.decode(np.array(y, dtype='S'))."
            )
    if len(set(kinds)) == 1:
        return str(error)
    names = sorted({kind.__name__ for kind in kinds})
    return (
        f"y mixes labels of the types {', '.join(names)}, which have no order; make them all "
        "text or all numbers."
    )


# -- Weights of classes and weights of rows, multiplied -------------------------------------------


def row_weights(
    class_weight: Any, y: NDArray[Any], sample_weight: Any, *, by_weight: bool = True
) -> Any:
    """Sample weights times class weights.

    "balanced" counts a row of weight s as s rows; other libraries count it as one
    (``by_weight=False``).

    >>> row_weights("balanced", np.array([0, 0, 1]), [1.0, 2.0, 3.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    if class_weight is None:
        return sample_weight
    classes = np.unique(y)
    counted = None if sample_weight is None else as_weights(sample_weight, len(y))
    by_class = class_weights(class_weight, classes, y, counted if by_weight else None)
    by_class = np.where(np.isinf(by_class), 1.0, by_class)
    weight = by_class[np.searchsorted(classes, y)]
    return weight if counted is None else weight * counted


def class_weights(
    class_weight: Any, classes: NDArray[Any], y: NDArray[Any], sample_weight: Any = None
) -> NDArray[np.float64]:
    """A weight for each class, as scikit-learn counts them; a setting or a file may hold others."""
    try:
        with np.errstate(divide="ignore"):  # of a class whose rows all have weight zero
            return np.asarray(
                compute_class_weight(
                    class_weight, classes=classes, y=y, sample_weight=sample_weight
                ),
                dtype=np.float64,
            )
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"class_weight is {shown(class_weight)}, which fits no labels "
            f"{shown(classes.tolist())} ({error}). Give None, 'balanced' or a dict of labels."
        ) from error


# -- Rows that cannot be worked with, by value and place ------------------------------------------


_TINY = 1e-70  # largest entry below which the square of a hard margin's weights may overflow


def refuse_unusable(problem: Problem) -> None:
    """NaN, infinity, and numbers too large for sums of squares, by name and place."""
    if survey(problem).usable:
        return
    problem.check_finite()
    data = problem.matrix.data if problem.sparse else problem.matrix
    if float(max(data.max(), -data.min())) > 1e100:
        raise DataError(overflow_words(problem))


def refuse_tiny(problem: Problem) -> None:
    """Numbers so small that the weights of a hard margin are not among the floating ones."""
    data = problem.matrix.data if problem.sparse else problem.matrix
    largest = max(float(data.max(initial=0.0)), -float(data.min(initial=0.0)))
    if 0.0 < largest < _TINY:
        raise DataError(
            f"the largest entry of X is {largest:.3g}, so the weights of a hard margin (C=inf) "
            "overflow. Scale the columns, for instance with sklearn.preprocessing.MaxAbsScaler."
        )


def overflow_words(problem: Problem) -> str:
    """What to say when sums of squares overflow."""
    return (
        f"the numbers overflowed: {_largest(problem)}. Scale the columns, for instance "
        "with sklearn.preprocessing.MaxAbsScaler."
    )


def _largest(problem: Problem) -> str:
    """Where the largest entry of X stands."""
    values = abs(problem.matrix)
    if problem.sparse:
        at = int(values.data.argmax())
        column, size = int(values.indices[at]), float(values.data[at])
    else:
        at = int(values.argmax())
        column, size = at % problem.d, float(values.flat[at])
    return f"column {column} ({problem.feature_name(column)!r}) reaches {size:.3g}"


# -- Who watches: observers of linsep, and a bridge to scikit-learn's callbacks -------------------


class Watched(Protocol):
    """What those who watch have to know of an estimator."""

    callbacks: Any
    verbose: int
    time_limit: float | None

    @property
    def _predicting(self) -> tuple[str, ...]: ...

    def set_callbacks(self, *callbacks: Any) -> Any: ...

    def _so_far(self, now: Moment[Any]) -> dict[str, Any]: ...


def observers_of(estimator: Watched) -> list[Observer]:
    """Progress as ``verbose`` asks for, and the observers among ``callbacks``."""
    own = own_observers(estimator)
    return [*progress_observer(estimator.verbose), *own] if estimator.verbose else own


def own_observers(estimator: Watched) -> list[Observer]:
    """The observers among ``callbacks``.

    The callbacks of scikit-learn among them are set on the estimator, where the bridge finds
    them.
    """
    many = estimator.callbacks
    many = [] if many is None else many if isinstance(many, list | tuple) else [many]
    foreign = [one for one in many if not isinstance(one, Observer)]
    for one in foreign:
        if not isinstance(one, FitCallback):
            raise TypeError(
                f"callbacks holds {one!r}; give linsep observers or scikit-learn callbacks "
                "(setup, teardown, on_fit_task_begin, on_fit_task_end)."
            )
    if foreign:
        estimator.set_callbacks(*foreign)
    return [one for one in many if isinstance(one, Observer)]


class CallbackBridge(Observer):
    """Tells scikit-learn callbacks about the run, one task for each chunk of steps.

    It stops the run when one of them asks.
    """

    def __init__(self, estimator: Watched, X: Any, y: Any) -> None:
        self.estimator, self.X, self.y = estimator, X, y
        self.context: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            made: Any = estimator
            self.context = made._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def moment(self, now: Moment[Any]) -> bool | None:
        """One subtask for each chunk."""
        if self.context is None:
            return None
        task = self.context.subcontext(task_name=now.solver.unit)
        told: dict[str, Any] = {
            "estimator": self.estimator, "X": self.X, "y": self.y,
            "reconstruction_attributes": self.estimator._so_far(now),
        }  # fmt: skip
        task.call_on_fit_task_begin(**told)
        return bool(task.call_on_fit_task_end(**told))

    def close(self) -> None:
        """The end of the whole fit."""
        if self.context is not None:
            known = {name: getattr(self.estimator, name) for name in self.estimator._predicting}
            self.context.call_on_fit_task_end(
                estimator=self.estimator, X=self.X, y=self.y, reconstruction_attributes=known
            )


# -- The run and its answer -----------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a fit has come to, before it becomes attributes."""

    witness: Witness
    certificate: Any
    """What is proved about the witness, recomputed from data and witness."""
    status: Status
    """Why it stopped, as far as the certificate agrees."""
    outcome: Outcome[Any]
    reason: str
    """The algorithm and why it was chosen."""


@dataclass(frozen=True)
class View:
    """What a trace shows of a machine after a step."""

    values: NDArray[np.float64]
    """y f(x) of the rows, or the lead of their own class."""
    coef: NDArray[np.float64]
    """Weights; none in the feature space of a kernel."""
    intercept: Any
    gap: Gap
    """What is proved of it, from the data and its numbers."""
    extra: dict[str, float] = field(default_factory=dict)
    """What the method tells beside it, by name."""

    @classmethod
    def of_planes(cls, problem: Problem, a: NDArray[np.float64], gap: Gap, **extra: float) -> Self:
        """The planes with these weights."""
        coef, intercept = problem.split(a)
        values = problem.values(a)
        if problem.binary:
            return cls(values, coef[0], float(intercept[0]), gap, extra)
        return cls(values, coef, intercept, gap, extra)


class Viewed(Protocol):
    """A machine that can be traced step by step."""

    def _view(self, problem: Problem, solver: Any, witness: Witness) -> View:
        """After a step."""

    def _view_of(self, problem: Problem, answer: Answer) -> View:
        """At the end."""


def is_viewed(model: object) -> TypeGuard[Viewed]:
    """Whether a classifier is such a machine."""
    return hasattr(model, "_view")


CUT_SHORT = (Status.TIME_LIMIT, Status.STOPPED)


def left_out(outcome: Outcome[Any]) -> Outcome[Any]:
    """A run whose proof there was no time for: it is that which has ended it."""
    ended = Status.STOPPED if asked_to_stop() else Status.TIME_LIMIT
    return outcome if outcome.status in CUT_SHORT else replace(outcome, status=ended)


_MEASURABLE = 0.005  # seconds of work from which it is seen whether others slow it down
_SLOWEST = 6.0
_AT_MOST = 0.75  # of the time that is left is kept for proofs
_AT_LEAST = 0.25  # of it is for another model: most proofs take less than they may


class Slackened(Protocol):
    """A machine that pays for violations."""

    C: Any
    beta: Any


def cost_of_slack(machine: Slackened) -> float:
    """Cost of a violation, by either of its names."""
    C, beta = machine.C, machine.beta
    if beta is None:
        return float(C)
    if C not in (1.0, beta):
        raise SettingError(
            f"C={C!r} and beta={beta!r} are given, and mean the same: the cost of a violation. "
            "Give one of them."
        )
    return float(beta)


class Run:
    """A fit under way: the problem, who watches, where to go on."""

    def __init__(
        self, estimator: Watched, problem: Problem, X: Any, y: Any, checkpoint: str | Path | None
    ) -> None:
        self.problem, self.checkpoint = problem, checkpoint
        self.reserve, self.least, self.falls_back = 0.0, 0.0, False
        self.ended: Status | None = None
        """How the last solver ended: those who watch may have asked it to stop."""
        self._begin = clock(), time.thread_time()
        self.observers = observers_of(estimator)  # sets the callbacks that the bridge looks for
        self.bridge = CallbackBridge(estimator, X, y)

    def on(self, problem: Problem, checkpoint: str | Path | None) -> Run:
        """The same run for a part of its rows."""
        twin = copy(self)
        twin.problem, twin.checkpoint = problem, checkpoint
        return twin

    def begun(self, parts: Sequence[Problem], of: str) -> int | None:
        """Of which part of its rows or classes, each a run of its own, the checkpoint is."""
        return None if self.checkpoint is None else begun_part(self.checkpoint, parts, of)

    @property
    def lent(self) -> Problem:
        """The problem for solvers: a proof reads nothing that they have made."""
        return self.problem.lent

    def seconds_left(self) -> float:
        """Seconds for solvers: a proof of what they find, and no less, comes after them, and
        perhaps one of a model that is better."""
        left = time_left()
        proofs = self._slower() * (self.reserve + (self.least if self.falls_back else 0.0))
        return left - min(proofs, _AT_MOST * left) if left < math.inf else left

    @property
    def spare(self) -> float:
        """Seconds that a model may take that costs next to nothing, where time is limited at all:
        what is left beside its proof."""
        left = time_left()
        beside = max(left - self._slower() * self.least, _AT_LEAST * left)
        return max(beside, 0.0) if left < math.inf else 0.0

    @property
    def has_time(self) -> bool:
        """Whether solvers have any: else all of it is for the model that costs next to nothing,
        which is proved as well."""
        return not self.falls_back or 2.0 * self.least * self._slower() < time_left()

    def _slower(self) -> float:
        """What a proof takes is known for a machine of one's own; where others work on it, as much
        longer as all has taken so far."""
        wall, own = clock() - self._begin[0], time.thread_time() - self._begin[1]
        return min(max(wall / own, 1.0), _SLOWEST) if own > _MEASURABLE else 1.0

    def hurry(self) -> AbstractContextManager[None]:
        """What runs within is given up when the time for solvers is, if there is another model."""
        return given_up_after(self.seconds_left()) if self.falls_back else nullcontext()

    def state(self, solver: Solver[Any], start: Any = None) -> Any:
        """Where the solver begins: at the checkpoint, if there is one, or at the start."""
        if self.checkpoint is not None:
            return load_checkpoint(self.checkpoint, self.problem, solver)
        with self.hurry():
            return solver.init(self.lent, start=start)

    def drive(
        self,
        solver: Solver[Any],
        state: Any,
        limits: Limits,
        certifier: Callable[[Problem, Witness], Any] | None = None,
        *,
        kept: bool = True,
    ) -> Outcome[Any]:
        """Run a solver in the time that is left, with everybody watching.

        A run after the first one is not kept: a fit that goes on from a file begins with its first
        solver, from whose end all that follows is found again. TimeUpError if it has not come to
        anything, and there is something better.
        """
        watching = [o for o in self.observers if kept or not isinstance(o, Checkpointer)]
        outcome = drive(
            self.problem,
            solver,
            state,
            limits=limits.at_most(self.seconds_left()),
            observers=[*watching, self.bridge],
            certifier=certifier,
        )
        self.ended, witness = outcome.status, outcome.witness
        empty = not (witness.a.any() or witness.multipliers.any())
        if empty and self.falls_back and outcome.status in CUT_SHORT:
            raise TimeUpError
        return outcome


def begun_part(file: str | Path, parts: Sequence[Any], of: str) -> int:
    """The number of the part that a checkpoint was made for, or CheckpointError."""
    mark = fingerprint_of(file)
    for k, part in enumerate(parts):
        if part.fingerprint == mark:
            return k
    raise CheckpointError(
        f"{file} was made for other rows than those of {of}. Resume with the data it was made for, "
        "or start afresh without --resume."
    )


class Effort(Enum):
    """How far a small problem is solved."""

    LAST_DIGITS = "to the last digits, at no cost worth speaking of"
    TOL = "to tol and no further, as one of many"
    FEW_PASSES = "the same by what is fast, and given up soon where that is slow"


_effort = ContextVar("effort", default=Effort.LAST_DIGITS)


def effort() -> Effort:
    """What fits in this thread are asked for."""
    return _effort.get()


@contextmanager
def with_effort(asked: Effort) -> Iterator[None]:
    """Fits within are asked for this; for schemes that make machines of many small problems."""
    before = _effort.set(asked)
    try:
        yield
    finally:
        _effort.reset(before)


_spoken_for = ContextVar("spoken_for", default=False)


def spoken_for() -> bool:
    """Whether a scheme of many machines tells how many of them time or Ctrl-C have cut short."""
    return _spoken_for.get()


@contextmanager
def speaking_for_all() -> Iterator[None]:
    """Fits within are those of a scheme that does."""
    before = _spoken_for.set(True)
    try:
        yield
    finally:
        _spoken_for.reset(before)


@contextmanager
def own_threads(estimator: Any) -> Iterator[None]:
    """Our lanes are the threads, BLAS has one: then the bits do not depend on their number."""
    threads = threads_of(getattr(estimator, "n_jobs", None))
    # where nothing is asked for, a limit of whoever calls holds
    with one_blas_thread(), nullcontext() if threads is None else at_most(threads):
        yield


@contextmanager
def stoppable(estimator: Any) -> Iterator[Interrupts]:
    """A fit from its first line to its last: within ``time_limit``, and ended by one Ctrl-C.

    The model is kept then, as good as it is. Where a search of another library waits for it, the
    signal goes on instead, so that it ends the search. SIGTERM and SIGHUP end the program.
    """
    seconds = estimator.time_limit if number(0).test(estimator.time_limit) else None
    within = enough_memory(f"the fit of {type(estimator).__name__}")
    with within, time_limit(seconds), Interrupts() as interrupts:
        yield interrupts
    if not (interrupts.requested and interrupts.outermost):
        return
    if in_a_search():
        interrupts.end()
    done = estimator.status_ is None or estimator.status_.ok
    if done and not estimator._stopped_calibrating:
        warn(
            "a signal to stop came when the last step or the proof was under way: the model is "
            "complete, and the program goes on. A second signal would have ended it.",
            LinsepWarning,
        )


GOES_ON = "set_params(warm_start=True).fit(X, y) goes on from there."


def way_on(outcome: Outcome[Any], otherwise: str, again: str = GOES_ON) -> str:
    """How to come to an answer after a run without one; ``again`` is the way after Ctrl-C."""
    if not outcome.interrupted:
        return otherwise
    if the_program_ends():
        return (
            "A signal to end the program came, and it ends now. callbacks=[Checkpointer(FILE)] "
            "keeps what a fit has found; resume(X, y, FILE) goes on from there."
        )
    return f"It was interrupted, and the program goes on with the model as it is; {again}"


def threads_of(n_jobs: int | None) -> int | None:
    """Threads that ``n_jobs`` asks for; None: one for each core."""
    return None if n_jobs in (None, -1) else n_jobs
