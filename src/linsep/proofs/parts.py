"""What is proved about a model of rows that are read part by part: one pass, O(d) numbers.

The dual variables of a machine of n rows are n numbers, but those that a proof needs are a
function of a point (w', b', h): alpha_i = C s_i L'(u_i) at it, the corner of a hinge rounded off
over |u| < h. That point is the generator. Whoever has the rows makes alpha again, any way he
likes: it need not agree with anybody's to the last bit, since whatever alpha is made is made
feasible and gives a true bound, with all errors of its own sums taken off.

    P(w, b) = |w|^2 / 2 + sum c_i L(u_i)  >=  P*  >=  D(alpha),    c = C s

Each block adds the sums of its two classes apart, so that the heavier one can be scaled down at
the end, once both are known: D is linear in that factor but for |v|^2, and H(t q) >= t H(q) for
the entropies of the logistic loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.cluster import as_stream
from linsep.core.parts import Stream, Summed
from linsep.core.problem import Problem
from linsep.core.schema import facts
from linsep.core.words import count
from linsep.errors import ProofError
from linsep.losses.base import Loss
from linsep.losses.hinge import QuadraticLoss
from linsep.losses.table import LOSSES
from linsep.numerics.rounding import SUM, U
from linsep.proofs.gap import Gap, intercept_words
from linsep.proofs.hinge import losses_above
from linsep.proofs.logistic import entropy_below, loss_above
from linsep.proofs.plain import (
    cap,
    counted,
    dual_cost,
    not_ahead,
    one_pass,
    product,
    require_block,
    sigma,
    signs,
    values,
)
from linsep.rows.parts import PartsProblem

Array = NDArray[np.float64]
T = TypeVar("T", bound=Summed)

_AGREES = 1e-9  # relative: how far the bounds of another pass may be off by its own rounding


@dataclass(frozen=True)
class RowSums:
    """Sums over some rows that every proof of a stream needs."""

    losses: float
    """At least the losses of the model."""
    gain: Array
    """At most what each class adds to the lower bound: alpha, or entropies."""
    v: Array
    """Sums of the dual variables times x."""
    error: Array
    """How far an entry of v may be off."""
    reach: Array
    """At least the sums of dual variables times |x|."""
    blocks: int
    rows: int
    right: int
    outside: int
    least: float

    def plus(self, other: Self) -> Self:
        """Both."""
        more: dict[str, Any] = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
        }
        more["error"] += U * (np.abs(self.v) + np.abs(other.v))
        return replace(self, **{**more, "least": min(self.least, other.least)})


@dataclass(frozen=True)
class Sides(RowSums):
    """The same of the two classes apart, (minus, plus); v is that of alpha y x, a row a class."""

    mass: Array
    """Sums of alpha."""
    curved: Array
    """At least the conjugates of quadratic losses."""


def judged(problem: PartsProblem, work: Callable[[Problem], T], words: str = "the proof") -> T:
    """A pass of a proof: each block is held against what its part gives, each row counts once."""
    return counted(problem.stream, problem.task(work, require_block), words)


def _sides(problem: Problem, *, a: Array, generator: Array, loss: Loss, C: float) -> Sides:
    """The sums of a block."""
    cost, sign = C * problem.weight, signs(problem)
    at = generator[:-1]
    u = loss.corner - values(problem, at)
    alpha = cost * _slopes(loss, u, float(generator[-1]))
    top = cap(loss, cost) if isinstance(loss, QuadraticLoss) else cost * (1 - 4 * U)
    alpha = np.clip(np.nan_to_num(alpha, nan=0.0, posinf=0.0, neginf=0.0), 0.0, top)
    zero = np.zeros_like(a)
    totals = [
        one_pass(problem, where, np.where(own, alpha, 0.0))
        for where, own in ((zero, sign < 0), (a, sign > 0))
    ]
    lengths = [float(np.linalg.norm(alpha[own])) * 1.001 for own in (sign < 0, sign > 0)]
    reach = np.outer(lengths, totals[0].columns)
    found = totals[1].values
    gain, curved = np.zeros(2), np.zeros(2)
    for k, own in enumerate((sign < 0, sign > 0)):
        if isinstance(loss, QuadraticLoss):
            gain[k] = float(alpha[own].sum()) * (1 - SUM)
            curved[k] = dual_cost(loss, alpha[own], cost[own]) * (1 + SUM + 8 * U)
        else:
            gain[k] = entropy_below(alpha[own], cost[own], 0.0)
    if isinstance(loss, QuadraticLoss):
        losses = losses_above(loss, cost, a, totals[1])
    else:
        losses = loss_above(found, cost, a, totals[1].columns)
    return Sides(
        losses,
        gain,
        np.stack([totals[0].v, totals[1].v]),
        np.stack([total.terms * U * row for total, row in zip(totals, reach)]),
        reach,
        1,
        problem.n,
        int(np.count_nonzero(found > 0)),
        int(np.count_nonzero(found >= 1.0 - 1e-9)),
        float(found.min()),
        np.array([alpha[sign < 0].sum(), alpha[sign > 0].sum()]),
        curved,
    )


def _slopes(loss: Loss, u: Array, h: float) -> Array:
    """L' at u; a hinge rounded off over |u| < h."""
    if isinstance(loss, QuadraticLoss):
        return loss.rounded_slope(u, h)
    return sigma(-u)


@dataclass(frozen=True)
class Source:
    """A part that a proof is about: its name, its rows, and a mark of its bytes."""

    name: str
    rows: int
    mark: int

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What ``dataclasses.asdict`` has written."""
        return cls(**facts(cls)(data))


def parts_of(
    stream: Stream,
    *,
    classes: tuple[Any, ...],
    factors: tuple[float, ...],
    columns: int,
    sources: tuple[Source, ...],
    weights: Array,
    fit_intercept: bool = True,
    positive: int | None = None,
) -> PartsProblem:
    """The rows that a stored certificate is about; ProofError where it cannot be about any.

    weights are a plane a row, the offset last. That the bytes are those of the sources is known
    after a pass.
    """
    if len(sources) != len(stream.parts):
        raise ProofError(
            f"the proof is about {count(len(sources), 'part')}, and these are {len(stream.parts)}."
        )
    labels = np.array(classes)
    if labels.dtype == object or len(labels) < 2 or not np.array_equal(labels, np.unique(labels)):
        raise ProofError(f"classes: {classes!r:.60} are not two labels or more in their order.")
    if len(factors) != len(classes) or not all(0 <= one < np.inf for one in factors):
        raise ProofError(f"factors: {factors!r:.60} are not one number >= 0 for each class.")
    if positive is not None and not (0 <= positive < len(classes) > 2):
        raise ProofError(f"positive: no class {positive} is set against several others.")
    if not np.isfinite(weights).all():
        raise ProofError("weights: they are not all finite, so nothing is proved about them.")
    if not fit_intercept and weights[:, -1].any():
        raise ProofError("weights: there is an offset, and fit_intercept is False.")
    return PartsProblem(
        stream, labels, np.array(factors, dtype=np.float64), columns,
        fit_intercept=fit_intercept, positive=positive,
    )  # fmt: skip


def require_sources(sources: tuple[Source, ...], stream: Stream) -> None:
    """ProofError where a proof is about other rows than those that were just read."""
    mine = [(one.rows, one.mark) for one in sources]
    if mine != [(rows, mark) for _, rows, mark in stream.marks]:
        raise ProofError(
            "these are not the rows that the proof is about: their parts, numbers of rows or "
            "bytes differ."
        )


def in_rows(name: str, numbers: tuple[float, ...], rows: int, length: int | None = None) -> Array:
    """Stored numbers as an array of rows of one length; ProofError where they are none.

    Weights that are no numbers are what some fits end with; ``parts_of`` refuses them.
    """
    found = np.array(numbers, dtype=np.float64)
    fits = found.size % rows == 0 if length is None else found.size == rows * length
    if not fits or not found.size or not (np.isfinite(found).all() or name == "weights"):
        raise ProofError(f"{name}: these {len(numbers)} are not the finite numbers that are due.")
    return found.reshape(rows, -1)


def hold(stated: Any, found: Any, room: Callable[[str], float] | None = None) -> None:
    """ProofError for the first fact that another pass does not confirm.

    Every field is held against what was found: an upper bound may be larger and a lower one
    smaller, by ``room(name)`` also the other way round; numbers that were rounded may be off by as
    much, or by a millionth of themselves; all else must be the same. Sources, which are known by
    their bytes and not by their names, and proofs are checked by themselves.
    """
    for field in fields(found):
        name = field.name
        if name in ("sources", "proof"):
            continue
        mine, seen = getattr(stated, name), getattr(found, name)
        if is_dataclass(seen) and type(mine) is type(seen):
            hold(mine, seen)
            continue
        good = mine == seen
        if not good and isinstance(mine, float) and isinstance(seen, float):
            free = 0.0 if room is None else room(name)
            free = free if free < np.inf else 0.0
            if room is not None and name in _ONE_SIDED:
                good = _ONE_SIDED[name] * (mine - seen) >= -free
                good &= name != "lower_bound" or mine < np.inf
            else:
                good = abs(mine - seen) <= max(free, 1e-6 * abs(seen)) < np.inf
        if not good:
            only = "only this is a lower bound, " if name == "lower_bound" else ""
            raise ProofError(f"{name}: found {seen!r:.60}, {only}and {mine!r:.60} is stated.")


_ONE_SIDED = {"objective": 1.0, "lower_bound": -1.0, "reach": -1.0}


@dataclass(frozen=True)
class StreamGap(Gap):
    """What is proved about a model of a stream, with all that a proof of it needs.

    ``check(stream)`` proves it again, in one pass and without any solver.
    """

    weights: tuple[float, ...] = ()
    """w and b of the model."""
    generator: tuple[float, ...] = ()
    """w', b' and h: the point that the dual variables are made at."""
    loss: str = "hinge"
    C: float = 1.0
    fit_intercept: bool = True
    classes: tuple[Any, ...] = ()
    factors: tuple[float, ...] = ()
    """Of the weights of the rows of each class."""
    positive: int | None = None
    """The class that is set against all others, where there are more than two."""
    sources: tuple[Source, ...] = ()
    """The parts that were read."""

    @property
    def stated(self) -> Array:
        """The weights that it is about, a plane a row."""
        machines = [part for part in self.parts if isinstance(part, StreamGap)] or [self]
        every = tuple(value for one in machines for value in one.weights)
        return in_rows("weights", every, len(machines))

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers and strings."""
        return {**super().to_dict(), "sources": [asdict(one) for one in self.sources]}

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Prove it again from the rows of a stream; True, or ProofError says what is not so."""
        stream = as_stream(X, y, sample_weight)
        for part in self.parts:
            assert isinstance(part, StreamGap)
            part.check(stream)
        if self.parts:
            return self._check_sums(stream)
        if self.loss not in (*LOSSES, "softmax") or not 0 < self.C < np.inf:
            raise ProofError(f"no cost is {self.C!r:.24} times the {self.loss!r:.24} loss.")
        planes = self.stated
        problem = parts_of(
            stream, classes=self.classes, factors=self.factors, columns=planes.shape[1] - 1,
            sources=self.sources, weights=planes, fit_intercept=self.fit_intercept,
            positive=self.positive,
        )  # fmt: skip
        found = self._again(problem)
        require_sources(self.sources, stream)
        hold(self, found, lambda name: _AGREES * abs(getattr(found, name)))
        return True

    def _again(self, problem: PartsProblem) -> StreamGap:
        """The same from another pass."""
        if self.loss not in LOSSES:
            raise ProofError(f"the {self.loss} loss is none of two classes.")
        a = self.stated[0]
        generator = in_rows("generator", self.generator, 1, len(a) + 1)[0]
        return stream_gap(problem, a, generator, LOSSES[self.loss], self.C)

    def _check_sums(self, stream: Stream) -> bool:
        """Several machines are proved: that what is said of all of them follows."""
        machines = [part for part in self.parts if isinstance(part, StreamGap)]
        require_machines(machines)
        planes = self.stated
        problem = parts_of(
            stream, classes=self.classes, factors=self.factors, columns=planes.shape[1] - 1,
            sources=self.sources, weights=planes, fit_intercept=self.fit_intercept,
        )  # fmt: skip
        errors = errors_of_planes(problem, planes)
        require_sources(self.sources, stream)
        together = StreamGap.together(machines, errors, ONE_AGAINST_REST)
        hold(self, together, lambda name: _AGREES * abs(getattr(together, name)))
        return True


ONE_AGAINST_REST = "one against the rest"


def require_machines(machines: Sequence[StreamGap]) -> None:
    """ProofError where they are not those of each class against all others, on the same rows."""
    alike = ("loss", "C", "fit_intercept", "classes", "factors", "sources")
    for k, one in enumerate(machines):
        same = all(getattr(one, name) == getattr(machines[0], name) for name in alike)
        if not same or one.positive != k or len(machines) != len(one.classes) or one.parts:
            raise ProofError(f"machine {k} is not that of class {k} against all others.")


@dataclass(frozen=True)
class Errors:
    """Rows whose own plane is not the highest, or level with another."""

    wrong: int

    def plus(self, other: Self) -> Self:
        """Both."""
        return replace(self, wrong=self.wrong + other.wrong)


def _errors(problem: Problem, *, planes: Array) -> Errors:
    scores = product(problem, np.ascontiguousarray(planes[:, :-1].T)) + planes[:, -1]
    return Errors(not_ahead(scores, problem.label))


def errors_of_planes(problem: PartsProblem, planes: Array) -> int:
    """Rows that planes of all classes, one a row, give another class: one pass."""
    work: Callable[[Problem], Errors] = partial(_errors, planes=planes)
    return judged(problem, work, "errors counted").wrong


def stream_gap(
    problem: PartsProblem, a: Array, generator: Array, loss: Loss, C: float
) -> StreamGap:
    """Bounds for the weights a, from one pass; any generator will do, a poor one proves little."""
    if problem.K != 2:
        raise ProofError(f"the {loss.name} loss is one of two classes, here {problem.K}.")
    a = np.asarray(a, dtype=np.float64)
    work: Callable[[Problem], Sides] = partial(_sides, a=a, generator=generator, loss=loss, C=C)
    with np.errstate(all="ignore"):  # what overflows proves nothing
        found = judged(problem, work)
        d = problem.d
        many = SUM + found.blocks * U
        half = 0.5 * float(a[:-1] @ a[:-1]) * (1 + (d + 8) * U)
        high = (half + found.losses * (1 + found.blocks * U)) * (1 + 8 * U)
        low = _below(found, many, free=problem.fit_intercept)
    high = high if high == high else np.inf
    low = low if np.isfinite(low) else 0.0
    length, offset = float(np.linalg.norm(a[:-1])), float(a[-1])
    size = float(np.hypot(length, offset))
    intercept = intercept_words("free" if problem.fit_intercept else "none")
    return StreamGap(
        objective=high,
        lower_bound=min(max(low, 0.0), high),
        errors=found.rows - found.right,
        margin=found.least / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=found.rows - found.outside,
        words=f"|w|^2 / 2 + {C:.6g} x sum of {loss.words} losses; {intercept}",
        functional_margin=found.least,
        margin_aug=found.least / size if size > 0 else -np.inf,
        weights=tuple(a.tolist()),
        generator=tuple(np.asarray(generator, dtype=np.float64).tolist()),
        loss=loss.name,
        C=C,
        fit_intercept=problem.fit_intercept,
        classes=tuple(problem.classes.tolist()),
        factors=tuple(problem.factors.tolist()),
        positive=problem.positive,
        sources=tuple(Source(*one) for one in problem.stream.marks),
    )


def _below(found: Sides, many: float, *, free: bool) -> float:
    """The lower bound, the heavier class scaled down where the offset is free."""
    factor, slack = np.ones(2), 0.0
    if free:
        if not found.mass.min() > 0:
            return 0.0
        factor = np.minimum(1.0, found.mass.min() / found.mass)
        slack = 2 * many + 4 * U  # of the factor, beside the one that balances exactly
    v = factor @ found.v
    error = factor @ (found.error + slack * found.reach) + 4 * U * (factor @ np.abs(found.v))
    size = np.abs(v) + error
    pull = float(size @ size) * (1 + (len(v) + 8) * U)
    gain = float(factor @ found.gain) * (1 - slack - many - 8 * U)
    curved = float(factor**2 @ found.curved) * (1 + 2 * slack + many + 8 * U)
    # t alpha is feasible for every t in [0, 1] as well: the best of them
    bent = pull + 2 * curved
    t = min(1.0, gain / bent) if bent > 0 else 1.0
    low = t * gain - 0.5 * t * t * bent * (1 + 8 * U)
    return low - 8 * U * (abs(low) + abs(t * gain))
