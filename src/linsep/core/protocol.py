"""What a solver is: settings that never change, over a state that does.

A solver holds settings only. A state holds the numbers that change. The data stay in the
problem. So a state can be copied, saved, resumed and stepped from outside, and the same
code serves a fit, a trace, a progress bar and a browser. What happens on the way is written into a
log, where one is asked for.

And what a model is to those who only read it: fitted classifiers of any library, by what they have.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem

# -- Why a run stands where it stands -------------------------------------------------------------


class Status(Enum):
    """State of a run; ``status.ok`` is true when the run ended with an answer."""

    READY = "ready to start"
    RUNNING = "still running"
    SEPARATED = "every row is on its own side of the plane"
    CERTIFIED = "the answer is proved to be within the tolerance of the best possible one"
    ASSUMED = (
        "the answer is within the tolerance of the best possible one if the kernel is positive "
        "semidefinite, which is assumed and not proved"
    )
    CONVERGED = "the method has converged"
    INSEPARABLE = (
        "no hyperplane separates the classes; the rows and multipliers that prove it are given"
    )
    NO_MAXIMUM = (
        "the likelihood has no maximum: along a direction that is given it grows for ever; "
        "the weights given are finite and their likelihood is close to the supremum"
    )
    BOUND_EXCEEDED = (
        "more updates were made than the Novikoff bound allows: "
        "no hyperplane separates the classes with the margin asked for"
    )
    CYCLE = (
        "the weights returned to an earlier state, so the run would repeat for ever; "
        "rounding keeps this from being a proof that the classes are not separable"
    )
    LIMIT_CYCLE = (
        "the weights go round and round a limit cycle: with a rate that stays constant, steps "
        "of one row never come to rest at the minimum"
    )
    EPS_TOO_LARGE = (
        "the margin is known to within eps, but eps is too large: the plane does not separate"
    )
    BOUNDARY = "no row is on the wrong side, but some lie exactly on the plane"
    ENOUGH = "the weights kept make no more errors than were asked for"
    PATIENCE = "no better weights were found for as long as patience allows"
    STALLED = "rounding allows no further progress"
    DIVERGED = "the numbers grew without bound"
    STEP_LIMIT = "the limit on steps was reached before an answer"
    TIME_LIMIT = "the time limit was reached before an answer"
    STOPPED = "stopped on request before an answer"
    CLUSTER_LOST = "the workers of the cluster were gone before an answer"

    @property
    def ok(self) -> bool:
        """True when the run ended with an answer rather than with a limit."""
        return self in _ANSWERS

    @property
    def done(self) -> bool:
        """True when no further step will be taken."""
        return self not in (Status.READY, Status.RUNNING)


_ANSWERS = frozenset(
    {
        Status.SEPARATED,
        Status.CERTIFIED,
        Status.ASSUMED,
        Status.CONVERGED,
        Status.ENOUGH,
        Status.INSEPARABLE,
        Status.NO_MAXIMUM,
        Status.BOUND_EXCEEDED,
    }
)


# -- Settings, states, witnesses ------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """What a field of a state may hold, where a fresh state does not show it: states from files
    are held against it before compiled code sees them (core/checkpoint.py).

    A length or a bound is a number, or a name: one that the solver's ``extents`` gives, an
    attribute of the problem, or a number of the state, or an array of it, whose length is meant.
    """

    shape: tuple[int | str | None, ...] | None = None
    """None, also for one axis: as in the fresh state. "?" is any length, as is ANY where a solver
    tells it."""
    empty: bool = False
    """Whether it may also have no entries."""
    low: int = 0
    below: int | str | None = None
    """Whole numbers: from low on, and less than this."""
    most: int | str | None = None
    """Whole numbers: no more than this; in an array, all but those of ``entries``."""
    entries: Mapping[int, int | str] = field(default_factory=dict)
    """Entries of an array with a bound of their own, which they are below."""
    endless: bool = False
    """Whether floats may be infinite or NaN in a run that goes on, and integers of any size."""
    any_width: bool = False
    """Whether floats may be float32 as well as float64."""
    fixed: bool = False
    """Whether it never changes: it is as in the fresh state, up to rounding on other machines."""
    width: bool = False
    """Whether it is a float by which may be divided: above 0 where the fresh one is, else 0."""
    words: tuple[str, ...] = ()


ANY = -1
FIXED = Held(fixed=True)
ENDLESS = Held(endless=True)


@dataclass(kw_only=True)
class State:
    """Base of all states: arrays, numbers and strings, nothing else."""

    held: ClassVar[Mapping[str, Held]] = {}
    """Fields by name; those left out have the shape of a fresh state, and whole numbers are
    counters from 0 on."""

    status: Status = Status.READY
    steps: int = 0
    """Steps taken over the whole life of the state, in the solver's unit."""
    n_updates: int = 0
    """How often the weights changed."""

    @property
    def passes(self) -> float:
        """Work done so far, in passes over the data."""
        raise NotImplementedError

    def copy(self) -> Self:
        """An independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update((name, _copied(value)) for name, value in self.__dict__.items())
        return twin


_FOR_ALL = frozenset({int, float, bool, str, type(None), Status})


def _copied(value: Any) -> Any:
    """A value of a state by itself: arrays and states in lists, as nearly all are, without the
    questions that a copy of anything whatever has to ask."""
    kind = type(value)
    if kind in _FOR_ALL:
        return value
    if kind is np.ndarray and value.dtype != object:
        return value.copy(order="K")
    if kind is list:
        return [_copied(one) for one in value]
    return value.copy() if isinstance(value, State) else copy.deepcopy(value)


@dataclass(frozen=True)
class Witness:
    """What a solver hands over for judgement; ``certify`` recomputes everything from it.

    a is a vector of weights. rows and multipliers name a combination of reflected rows with
    non-negative multipliers, and claim says what it is good for:

    ""            nothing; there are no multipliers
    "origin"      it is zero (or the rows can be combined to zero): nothing separates
    "hull"        divided by the sum of the multipliers it is a point of the hull of all
                  reflected rows: its length bounds the margin in the augmented space
    "two hulls"   the same for each of two classes, in the space of X: the distance of the two
                  points is twice an upper bound of the margin
    "dual"        dual variables of a support vector machine: proofs/gap.py makes them feasible
                  and bounds the objective with them; with K classes row i of class k is k n + i
    """

    a: NDArray[np.float64]
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    multipliers: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    claim: str = ""


# -- The log: a preallocated list of events that compiled code can write into ----------------------
#
# A solver fills the log while it runs and returns early when the log is full, so a log of capacity
# one turns ``advance`` into "run to the next update". The numbers computed are the same with and
# without a log.


class Event(NamedTuple):
    """One update of the weights."""

    update: int
    """Number of the update, from 1."""
    visit: int
    """Rows looked at so far, this one included."""
    row: int
    """Reflected row that caused it; -1 for a whole batch."""
    value: float
    """z . a before the update; for a batch the criterion."""
    step: float
    """Learning rate, kappa or length of the step."""


class Log(NamedTuple):
    """Columns of events, and how many there are (an array of one number)."""

    whole: NDArray[np.int64]
    real: NDArray[np.float64]
    used: NDArray[np.int64]

    @property
    def full(self) -> bool:
        """Whether the last event that it has room for is there; never of a log without room."""
        return len(self.whole) > 0 and int(self.used[0]) == len(self.whole)

    def write(self, update: int, visit: int, row: int, value: float, step: float) -> None:
        """Add an event; a log without room takes none."""
        if len(self.whole):
            k = int(self.used[0])
            self.whole[k] = update, visit, row
            self.real[k] = value, step
            self.used[0] = k + 1

    def events(self) -> Iterator[Event]:
        """The events written so far."""
        for k in range(int(self.used[0])):
            update, visit, row = self.whole[k].tolist()
            yield Event(update, visit, row, *self.real[k].tolist())


def new_log(capacity: int) -> Log:
    """An empty log for that many events."""
    return Log(np.zeros((capacity, 3), np.int64), np.zeros((capacity, 2)), np.zeros(1, np.int64))


NO_LOG = new_log(0)


# -- Models, for those who train or read them -----------------------------------------------------


class Learner(Protocol):
    """A classifier of linsep or of another library, as those see it who train it."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Train on X, y and what else the library takes."""

    def predict(self, X: Any, /) -> NDArray[Any]:
        """The class of each row."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """The settings by name."""

    def set_params(self, **params: Any) -> Any:
        """Change some of them."""


class Predictor(Protocol):
    """A fitted classifier, of linsep or of another library."""

    @property
    def classes_(self) -> NDArray[Any]: ...

    @property
    def n_features_in_(self) -> int: ...

    def predict(self, X: Any, /) -> NDArray[Any]:
        """The class of each row."""


class PlaneModel(Predictor, Protocol):
    """The same with planes: one for two classes, else one for each."""

    @property
    def coef_(self) -> NDArray[Any]: ...

    @property
    def intercept_(self) -> NDArray[Any]: ...


class Scored(Predictor, Protocol):
    """The same with scores: one for two classes, else one for each class or pair."""

    def decision_function(self, X: Any, /) -> NDArray[Any]: ...


class Steps(Protocol):
    """A pipeline of scikit-learn."""

    steps: list[tuple[str, Any]]

    def __getitem__(self, which: Any, /) -> Any: ...


def has_planes(model: object) -> TypeGuard[PlaneModel]:
    """Whether a model is a fitted linear classifier."""
    return all(hasattr(model, name) for name in ("coef_", "intercept_", "classes_"))


def has_scores(model: object) -> TypeGuard[Scored]:
    """Whether a model is a fitted classifier with scores."""
    return hasattr(model, "decision_function") and hasattr(model, "classes_")


def is_pipeline(model: object) -> TypeGuard[Steps]:
    """Whether a model has steps, scikit-learn's way."""
    return isinstance(getattr(model, "steps", None), list)


def last_step(model: object) -> Any:
    """The classifier at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if is_pipeline(model) else model


S = TypeVar("S", bound=State)


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P, 0 where the two meet or cross, and inf where P is not finite.

    >>> relative_gap(2.0, 1.5), relative_gap(0.0, 0.0), relative_gap(np.inf, 0.0)
    (0.25, 0.0, inf)
    """
    if not np.isfinite(primal):
        return np.inf
    return (primal - dual) / primal if primal > dual else 0.0


def repeated(state: State, steps: int, step: Callable[[], None]) -> int:
    """Take steps, up to so many, as long as the status lets them; how many were taken.

    A step is counted when it has ended.
    """
    taken = 0
    while taken < steps and not state.status.done:
        step()
        state.steps += 1
        taken += 1
    return taken


class Solver(Protocol[S]):
    """The four methods of every solver.

    init     a state at the start; at most one pass over the data
    advance  up to ``steps`` further steps in place, counted in ``state.steps``; gives back
             how many were taken
    status   pure and O(1)
    witness  pure, at most one pass

    Two more are for states from files (core/checkpoint.py), where there is something to say:

    extents  (problem, state) -> lengths of arrays that follow from the numbers of the state
    within   (problem, state) -> the states inside of this one: the beginning of their names in
             the file, their problems, their solvers, the states
    """

    unit: ClassVar[str]

    def init(self, problem: Problem, *, start: Any = None) -> S: ...

    def advance(self, problem: Problem, state: S, steps: int, log: Log = NO_LOG) -> int: ...

    def status(self, state: S) -> Status: ...

    def witness(self, problem: Problem, state: S) -> Witness: ...
