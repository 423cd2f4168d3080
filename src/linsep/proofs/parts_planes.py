"""What is proved about planes of rows that are read part by part: their sides, and least squares.

A block is judged as a table is, by the same code; the facts of blocks are added up. A plane of
least squares needs besides the sums of its residuals, its gradient and the products of the columns:
O(d^2) numbers, whose smallest eigenvalue bounds how far J may be from the least one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.cluster import as_stream
from linsep.core.parts import Stream
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.errors import ProofError
from linsep.numerics.rounding import U
from linsep.proofs import plain
from linsep.proofs.certificate import Certificate, judge
from linsep.proofs.parts import Source, hold, in_rows, judged, parts_of, require_sources
from linsep.proofs.squares import Squares, bounds_of_sums, products, totals
from linsep.rows.normal import Gram
from linsep.rows.parts import PartsProblem

Array = NDArray[np.float64]

_NAMED = 1000  # rows on the wrong side that a certificate names
_AGREES = 1e-9  # relative: how far numbers of another pass may be off by its own rounding


@dataclass(frozen=True)
class SideSums:
    """The facts about a plane, of the rows so far."""

    facts: Certificate

    def plus(self, other: Self) -> Self:
        """Both."""
        return replace(self, facts=_both(self.facts, other.facts))


def _both(one: Certificate, other: Certificate) -> Certificate:
    """The facts of two tables about one plane, taken together."""
    separable = True if one.separable and other.separable else None
    margin, aug = min(one.margin, other.margin), min(one.margin_aug, other.margin_aug)
    return replace(
        one,
        separable=separable,
        errors=one.errors + other.errors,
        wrong_rows=(one.wrong_rows + other.wrong_rows)[:_NAMED],
        margin=margin,
        margin_low=max(margin, 0.0),
        margin_aug=aug,
        margin_aug_low=max(aug, 0.0),
        finite=one.finite and other.finite,
        functional_margin=min(one.functional_margin, other.functional_margin),
        objective=one.objective + other.objective,
    )


def _sides(problem: Problem, *, a: Array) -> SideSums:
    return SideSums(judge(problem, Witness(a)))


@dataclass(frozen=True)
class StreamCertificate(Certificate):
    """What is proved about a plane of a stream, with all that a proof of it needs.

    ``check(stream)`` proves it again, in one pass and without any solver.
    """

    weights: tuple[float, ...] = ()
    """w and b of the model, one after the other for each plane."""
    fit_intercept: bool = True
    classes: tuple[Any, ...] = ()
    factors: tuple[float, ...] = ()
    """Of the weights of the rows of each class."""
    sources: tuple[Source, ...] = ()
    """The parts that were read."""

    @property
    def stated(self) -> Array:
        """The weights that it is about, a plane a row."""
        planes = 1 if len(self.classes) == 2 else max(1, len(self.classes))
        return in_rows("weights", self.weights, planes)

    def rows_of(self, stream: Stream) -> PartsProblem:
        """The rows of a stream that it is about."""
        planes = self.stated
        return parts_of(
            stream, classes=self.classes, factors=self.factors, columns=planes.shape[1] - 1,
            sources=self.sources, weights=planes, fit_intercept=self.fit_intercept,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        return {**super().to_dict(), "sources": [asdict(one) for one in self.sources]}

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Prove it again from the rows of a stream; True, or ProofError says what is not so."""
        stream = as_stream(X, y, sample_weight)
        found = stream_sides(self.rows_of(stream), self.stated.ravel())
        require_sources(self.sources, stream)
        hold(self, found)
        return True


def stream_sides(problem: PartsProblem, a: Array) -> StreamCertificate:
    """The facts about the weights a, from one pass."""
    a = np.asarray(a, dtype=np.float64)
    with np.errstate(all="ignore"):
        found = judged(problem, partial(_sides, a=a)).facts
    return StreamCertificate(**_stated(problem, a, found))


def in_places(problem: PartsProblem, found: Certificate) -> Certificate:
    """Facts whose rows are counted through all parts."""
    wrong = problem.places(np.array(found.wrong_rows, dtype=np.int64))
    return replace(found, wrong_rows=tuple(wrong.tolist()))


def _stated(problem: PartsProblem, a: Array, found: Certificate) -> dict[str, Any]:
    placed = in_places(problem, found)
    told = {field.name: getattr(placed, field.name) for field in fields(Certificate)}
    return {
        **told, "weights": tuple(a.tolist()),
        "fit_intercept": problem.fit_intercept, "classes": tuple(problem.classes.tolist()),
        "factors": tuple(problem.factors.tolist()),
        "sources": tuple(Source(*one) for one in problem.stream.marks),
    }  # fmt: skip


# -- least squares --------------------------------------------------------------------------------


@dataclass(frozen=True)
class SquaresSums:
    """Sums over some rows at given weights."""

    squares: Array
    """Of the residuals, one a column of targets."""
    aimed: Array
    """Of the targets."""
    gradient: Array
    terms: int
    """Roundings in a row of an entry of the gradient, within a block."""
    gram: Array
    gram_terms: int
    blocks: int
    rows: int
    facts: Certificate

    def plus(self, other: Self) -> Self:
        """Both."""
        return replace(
            self,
            squares=self.squares + other.squares,
            aimed=self.aimed + other.aimed,
            gradient=self.gradient + other.gradient,
            terms=max(self.terms, other.terms),
            gram=self.gram + other.gram,
            gram_terms=max(self.gram_terms, other.gram_terms),
            blocks=self.blocks + other.blocks,
            rows=self.rows + other.rows,
            facts=_both(self.facts, other.facts),
        )


def _squares(problem: Problem, *, a: Array) -> SquaresSums:
    A, T = plain.columns(problem, a), plain.aims(problem)
    now, found = totals(problem, A, T), products(problem)
    values = plain.signs(problem) * (now.residual + T)[:, 0] if problem.binary else None
    squares, aimed = (plain.weighted_squares(problem, M) for M in (now.residual, T))
    return SquaresSums(
        squares, aimed, now.gradient, now.terms, found.matrix, found.terms, 1, problem.n,
        judge(problem, Witness(a), values=values),
    )  # fmt: skip


@dataclass(frozen=True)
class StreamSquares(Squares):
    """What is proved about least squares of a stream; ``check(stream)`` proves it again."""

    sides: StreamCertificate | None = None
    """The plane again, with its weights and the parts that were read."""

    @property
    def stated(self) -> Array:
        """The weights that it is about, a plane a row."""
        assert self.sides is not None
        return self.sides.stated

    @property
    def classes(self) -> tuple[Any, ...]:
        """Of the rows."""
        assert self.sides is not None
        return self.sides.classes

    @property
    def sources(self) -> tuple[Source, ...]:
        """The parts that were read."""
        assert self.sides is not None
        return self.sides.sources

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        assert self.sides is not None
        return {**super().to_dict(), "sides": self.sides.to_dict()}

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Prove it again from the rows of a stream; True, or ProofError says what is not so."""
        stream = as_stream(X, y, sample_weight)
        told = self.sides
        if told is None:
            raise ProofError("the certificate does not say which weights it is about.")
        found = stream_squares(told.rows_of(stream), told.stated.ravel())
        require_sources(told.sources, stream)
        room = _AGREES * found.total
        hold(self, found, lambda name: 0.0 if name == "reach" else room)
        return True


def stream_squares(problem: PartsProblem, a: Array) -> StreamSquares:
    """Bounds of J at the weights a, and the sides of the rows, from one pass."""
    a = np.asarray(a, dtype=np.float64)
    A = plain.columns(problem, a)  # type: ignore[arg-type]  # asks for its shape alone
    with np.errstate(all="ignore"):
        found = judged(problem, partial(_squares, a=a))
        more = found.blocks * U
        known = Gram(found.gram, found.gram_terms + found.blocks + 4, found.rows)
        high, low, reach = bounds_of_sums(
            problem.d, A, found.squares, found.aimed, found.gradient,
            found.terms + found.blocks + 4, known, more,
        )  # fmt: skip
    high = high if high == high else np.inf
    low = low if np.isfinite(low) else 0.0
    sides = StreamCertificate(**_stated(problem, a, found.facts))
    plane = Certificate(**{field.name: getattr(sides, field.name) for field in fields(Certificate)})
    return StreamSquares(
        high, max(min(low, high), 0.0), float(found.aimed.sum()), plane, reach, sides=sides
    )
