"""A problem whose rows are read part by part: what a first look finds, and passes over all rows.

A task is a function of one block of rows as an ordinary ``Problem``: the readers of this folder
serve streams as they serve tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.core.order import generator
from linsep.core.parts import (
    Block,
    C,
    Place,
    Stream,
    Summed,
    Task,
    labels_of,
    no_labels,
    refuse_no_label,
    refuse_not_finite,
)
from linsep.core.problem import Problem
from linsep.core.words import count
from linsep.errors import DataError, LabelError
from linsep.rows.reader import survey

Array = NDArray[np.float64]
T = TypeVar("T", bound=Summed)

Held = Callable[[Problem | None, Block, NDArray[Any], Array, int | None], None]
"""Refuses a problem that is not that of a block as given, of classes with such factors."""

_SAMPLE = 49_152  # rows
_MOST_CLASSES = 10_000
_DRAWN = 1.25  # rows that are drawn for one of the sample, where their number is known


@dataclass(frozen=True)
class Look:
    """What one pass finds before anything is known: shape, labels, lengths, a sample."""

    n: int
    d: int
    counts: dict[Any, tuple[int, float]]
    """Rows of positive weight, and weight, of each label."""
    squares: Array
    """Squared lengths of the columns, off by a factor of 1 + slack at most."""
    slack: float
    sparse: bool
    size: int
    """Bytes of the rows."""
    rows: Any
    """Rows of the sample, their labels, weights and keys: those of the least keys."""
    labels: NDArray[Any]
    weight: Array
    keys: Array
    ids: NDArray[np.int64]
    """Where they stand: (part << 40) + row."""
    most: int

    def plus(self, other: Self) -> Self:
        """Both, with the sample of both."""
        if self.sparse == other.sparse and not self.sparse and self.d != other.d:
            raise DataError(
                f"one part has {count(self.d, 'column')}, another one {other.d}; all parts need "
                "the same columns."
            )
        d = max(self.d, other.d)
        counts = dict(self.counts)
        for label, (rows, weight) in other.counts.items():
            before = counts.get(label, (0, 0.0))
            counts[label] = before[0] + rows, before[1] + weight
        if len(counts) > _MOST_CLASSES:
            raise LabelError(
                f"y has more than {_MOST_CLASSES} different labels; labels name a few classes. If "
                "y is measured, this is regression."
            )
        keys = np.concatenate([self.keys, other.keys])
        kept = np.sort(np.argsort(keys, kind="stable")[: self.most])
        return replace(
            self,
            n=self.n + other.n,
            d=d,
            counts=counts,
            squares=widened(self.squares, d) + widened(other.squares, d),
            slack=max(self.slack, other.slack),
            size=self.size + other.size,
            rows=_stacked(self.rows, other.rows, d)[kept],
            labels=np.concatenate([self.labels, other.labels])[kept],
            weight=np.concatenate([self.weight, other.weight])[kept],
            keys=keys[kept],
            ids=np.concatenate([self.ids, other.ids])[kept],
        )


def widened(values: Array, d: int) -> Array:
    """Zeros for columns that a sparse part does not reach."""
    return values if len(values) == d else np.append(values, np.zeros(d - len(values)))


def _stacked(one: Any, other: Any, d: int) -> Any:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.concatenate([one, other])
    return scipy.sparse.vstack([_reaching(one, d), _reaching(other, d)], format="csr")


def _reaching(rows: Any, d: int) -> Any:
    """Sparse rows with d columns."""
    rows = scipy.sparse.csr_array(rows)
    if rows.shape[1] == d:
        return rows
    return scipy.sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], d))


def _look(
    block: Block,
    place: Place,
    *,
    names: tuple[str, ...] | None,
    seed: int,
    chance: float,
    most: int,
) -> Look:
    if block.y is None:
        raise no_labels(place.part)
    n, d = block.X.shape
    refuse_no_label(block, place)
    weight = np.ones(n) if block.weight is None else block.weight
    none = np.zeros(n, np.int64)
    problem = Problem.part(block.X, none, weight, np.arange(2), fit_intercept=True)
    found = survey(problem, 1)
    if not found.usable:
        refuse_not_finite(block, place, names)
        raise DataError(
            f"{place.part}: numbers so large that sums of squares overflow; scale the columns."
        )
    labels, of = np.unique(block.y, return_inverse=True)
    rows_of, mass = np.bincount(of, weight > 0), np.bincount(of, weight)
    counts = {label: (int(k), float(s)) for label, k, s in zip(labels.tolist(), rows_of, mass)}
    with np.errstate(divide="ignore"):
        u = generator(seed, (place.number << 40) + place.first).random(n) / weight
    drawn = np.flatnonzero(u < chance)
    if len(drawn) > most:
        drawn = np.sort(drawn[np.argsort(u[drawn], kind="stable")[:most]])
    size = block.X.nbytes if isinstance(block.X, np.ndarray) else 12 * block.X.nnz + 8 * n
    return Look(
        n, d, counts, found.columns, found.slack, problem.sparse, size,
        block.X[drawn], block.y[drawn], weight[drawn], u[drawn],
        (place.number << 40) + place.first + drawn.astype(np.int64), most,
    )  # fmt: skip


class PartsProblem:
    """Rows in parts, with the classes that their labels are of.

    The names that it shares with ``Problem`` mean the same.

    Parameters
    ----------
    stream : Stream
    classes : array
        Sorted.
    factors : array
        What the weights of the rows of each class are multiplied with.
    d : int
        Number of columns.
    fit_intercept : bool
    look : Look, optional
        What a first pass has found; see ``looked_at``.
    positive : int, optional
        The class that is set against all others; then there are two.
    """

    def __init__(
        self,
        stream: Stream,
        classes: NDArray[Any],
        factors: Array,
        d: int,
        *,
        fit_intercept: bool,
        look: Look | None = None,
        positive: int | None = None,
    ) -> None:
        self.positive = positive
        self.stream, self.classes, self.factors, self.d = stream, classes, factors, d
        self.fit_intercept = fit_intercept
        names = stream.feature_names
        self.feature_names = None if names is None else list(names)
        self._look = look

    # -- shape --------------------------------------------------------------------------------

    @property
    def look(self) -> Look:
        """What the first pass has found."""
        assert self._look is not None, "nobody has looked at this stream"
        return self._look

    @property
    def lent(self) -> PartsProblem:
        """Itself: nothing is kept from pass to pass that a solver could spoil."""
        return self

    @property
    def n(self) -> int:
        """Number of rows of positive weight."""
        return sum(self.look.counts[label][0] for label in self.classes.tolist())

    @property
    def n_rows(self) -> int:
        """Number of reflected rows: one for each rival of a row's class."""
        return self.n * (self.K - 1)

    @property
    def dim(self) -> int:
        """Number of weights."""
        return (1 if self.binary else self.K) * (self.d + 1)

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all rows."""
        return float(self.mass.sum())

    @property
    def mass(self) -> Array:
        """The sums of the weights of the classes."""
        mass = [self.look.counts[label][1] for label in self.classes.tolist()]
        return np.array(mass) * self.factors

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(self.classes) if self.positive is None else 2

    def against(self, k: int) -> PartsProblem:
        """Class k as the positive class against all others."""
        return PartsProblem(
            self.stream, self.classes, self.factors, self.d,
            fit_intercept=self.fit_intercept, look=self._look, positive=k,
        )  # fmt: skip

    @property
    def binary(self) -> bool:
        """True for two classes."""
        return self.K == 2

    @property
    def sparse(self) -> bool:
        """True when rows are held in compressed form."""
        return self.look.sparse

    @property
    def width(self) -> int:
        """Number of coordinates of an augmented row."""
        return self.d + 1 if self.fit_intercept else self.d

    @property
    def fingerprint(self) -> str:
        """A digest of all parts, and of the class that is set against the others."""
        mark = self.stream.fingerprint
        return mark if self.positive is None else f"{mark}-{self.positive}"

    def split(self, a: Array) -> tuple[Array, Array]:
        """Take weights apart into coef of shape (1 or K, d) and intercept of shape (1 or K,)."""
        blocks = np.asarray(a, dtype=np.float64).reshape(-1, self.d + 1)
        return blocks[:, :-1].copy(), blocks[:, -1].copy()

    def join(self, coef: Any, intercept: Any = 0.0) -> Array:
        """Put coef and intercept together into one vector of weights."""
        blocks = np.zeros((1 if self.binary else self.K, self.d + 1))
        blocks[:, :-1] = np.asarray(coef, dtype=np.float64).reshape(-1, self.d)
        blocks[:, -1] = np.ravel(np.asarray(intercept, dtype=np.float64))
        return blocks.ravel()

    # -- rows ---------------------------------------------------------------------------------

    def total(self, work: Callable[[Problem], T], words: str = "") -> T:
        """A pass: the sum over all blocks of what ``work`` makes of them as problems."""
        found: T | None = self.stream.total(self.task(work), words)
        assert found is not None
        return found

    def task(self, work: Callable[[Problem], T], held: Held | None = None) -> Task[T]:
        """What ``work`` makes of a block as a problem, which ``held`` holds against the block that
        its part has given."""
        return partial(_work, work=work, held=held, **self._reading())

    def in_turn(self, step: Callable[[Problem, C], C], carry: C, words: str = "") -> C:
        """A pass in which each block, as a problem, goes on from what the one before came to."""
        return self.stream.in_turn(partial(_step, step=step, **self._reading()), carry, words)

    def _reading(self) -> dict[str, Any]:
        """What makes a problem of a block."""
        return {
            "classes": self.classes, "factors": self.factors, "d": self.d,
            "fit_intercept": self.fit_intercept, "positive": self.positive,
        }  # fmt: skip

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of rows, counted through all parts, that blocks know as (part << 40) + row."""
        sizes = [rows for _, rows, _ in self.stream.marks]
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return np.asarray(begins[ids >> 40] + (ids & ((1 << 40) - 1)))

    @cached_property
    def sampled(self) -> Problem:
        """``sample()``, made once."""
        return self.sample()

    def sample(self) -> Problem:
        """Some rows whose weights stand for all rows, as a problem of its own."""
        look = self.look
        label = labels_of(Block(look.rows, look.labels), self.classes, Place("the sample", 0, 0))
        if look.n <= len(look.keys):
            cost = look.weight
        else:  # a row is in if its key is below the largest: its chance is that times its weight
            cost = look.weight / np.minimum(1.0, look.weight * float(look.keys.max()))
        rows = look.rows if not look.sparse else _reaching(look.rows, self.d)
        weight = cost * self.factors[label]
        kept, classes = np.flatnonzero(weight > 0), self.classes
        if self.positive is not None:
            label, classes = (label == self.positive).astype(np.int64), np.arange(2)
        return Problem.part(
            rows[kept], label[kept], weight[kept], classes,
            fit_intercept=self.fit_intercept, feature_names=self.feature_names,
        )  # fmt: skip

    def feature_name(self, j: int) -> str:
        """As messages call a column."""
        return f"x{j + 1}" if self.feature_names is None else str(self.feature_names[j])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of positive weight of each class."""
        return np.array([self.look.counts[label][0] for label in self.classes.tolist()])

    def __repr__(self) -> str:
        kind = "sparse" if self.sparse else "dense"
        return f"PartsProblem({self.n} x {self.d} {kind} in parts, {self.K} classes)"


def looked_at(
    stream: Stream,
    *,
    fit_intercept: bool,
    class_weight: Callable[[NDArray[Any], Array], Array] | None = None,
    seed: int = 0,
) -> PartsProblem:
    """The problem of a stream, after a first pass.

    class_weight gives the factors of the classes from the classes and the weights of their rows;
    seed is that of the sample.
    """
    chance = np.inf if stream.rows is None else _DRAWN * _SAMPLE / max(1, stream.rows)
    names = stream.feature_names
    look = partial(_look, names=names, seed=seed, chance=chance, most=_SAMPLE)
    found = stream.total(look, "a first look, and a sample")
    if found is None:
        raise DataError(f"{stream.name} has no rows.")
    classes = _classes(found)
    mass = np.array([found.counts[label][1] for label in classes.tolist()])
    if not (mass > 0).sum() >= 2:
        raise LabelError("rows of positive sample weight belong to fewer than two classes.")
    factors = np.ones(len(classes)) if class_weight is None else class_weight(classes, mass)
    return PartsProblem(stream, classes, factors, found.d, fit_intercept=fit_intercept, look=found)


def _classes(found: Look) -> NDArray[Any]:
    """All labels, sorted."""
    labels, kind = list(found.counts), found.labels.dtype
    if len(labels) < 2:
        raise LabelError(
            f"y has one class ({labels[0]!r}) in all parts; a separating hyperplane needs two."
        )
    try:
        ordered = sorted(labels)
    except TypeError:
        raise LabelError(
            "y mixes labels that cannot be sorted; make them all text or all numbers."
        ) from None
    return np.array(ordered) if kind.kind == "U" else np.array(ordered, dtype=kind)


def _work(
    block: Block,
    place: Place,
    *,
    work: Callable[[Problem], T],
    held: Held | None = None,
    **reading: Any,
) -> T | None:
    problem = _problem_of(block, place, **reading)
    if held is not None:
        held(problem, block.given, reading["classes"], reading["factors"], reading["positive"])
    return None if problem is None else work(problem)


def _step(
    block: Block, place: Place, carry: C, *, step: Callable[[Problem, C], C], **reading: Any
) -> C:
    problem = _problem_of(block, place, **reading)
    return carry if problem is None else step(problem, carry)


def _problem_of(
    block: Block,
    place: Place,
    *,
    classes: NDArray[Any],
    factors: Array,
    d: int,
    fit_intercept: bool,
    positive: int | None,
) -> Problem | None:
    """The rows of positive weight as a problem; None if there are none."""
    label = labels_of(block, classes, place)
    weight = np.ones(len(label)) if block.weight is None else block.weight
    rows = block.X if isinstance(block.X, np.ndarray) else _reaching(block.X, d)
    if rows.shape[1] != d:
        raise DataError(f"{place.part} has {count(rows.shape[1], 'column')}; {d} are needed.")
    weight = weight * factors[label]
    index = (np.int64(place.number) << 40) + place.first + np.arange(len(label))
    if not (weight > 0).all():
        kept = np.flatnonzero(weight > 0)
        if not kept.size:
            return None
        rows, label, weight, index = rows[kept], label[kept], weight[kept], index[kept]
    if positive is not None:
        label, classes = (label == positive).astype(np.int64), np.arange(2)
    return Problem.part(rows, label, weight, classes, fit_intercept=fit_intercept, row_index=index)
