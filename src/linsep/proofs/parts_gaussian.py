"""What is proved about Gaussian classes of rows that are read part by part.

The likelihood of any parameters, and the best one of their structure, are functions of the moments
of the classes about the means (proofs/gaussian.py); the moments of parts add up. So one pass proves
it, whoever estimated the parameters, and they are all that a proof needs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.parts import Stream
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.errors import ProofError
from linsep.proofs.certificate import Certificate, judge
from linsep.proofs.gaussian import (
    GaussianCertificate,
    Whitener,
    column_ends,
    judge_moments,
    moments_of,
    whitener,
)
from linsep.proofs.parts import Source, hold, in_rows, judged, parts_of, require_sources
from linsep.proofs.parts_planes import SideSums, in_places
from linsep.rows.moments import Moments
from linsep.rows.parts import PartsProblem

Array = NDArray[np.float64]

_NAMED = 1000  # rows of a wrong decision that a certificate names
_AGREES = 1e-9  # nats for a row: how far bounds of another pass may be off by its own rounding
_SLOPE = 1e-6  # how far a slope for a row may be off


@dataclass(frozen=True, eq=False)
class Parameters:
    """Densities, priors, the losses of decisions, and the plane where the rule has one."""

    means: Array
    covariance: Array
    shared: bool
    ridge: Array
    used: NDArray[np.bool_]
    priors: Array
    loss: Array
    """(decisions, classes)."""
    plane: Array
    """Weights of a linear rule; none of a curved one."""

    @property
    def diagonal(self) -> bool:
        """Whether features are independent."""
        return self.covariance.ndim == (1 if self.shared else 2)

    def whiteners(self) -> list[Whitener]:
        """One for each class."""
        cut: Any = self.used if self.diagonal else np.ix_(self.used, self.used)
        parts = [self.covariance] if self.shared else list(self.covariance)
        made = [whitener(C[cut]) for C in parts]
        return made * len(self.means) if self.shared else made


@dataclass(frozen=True)
class DensitySums:
    """Sums over some rows: moments about the means, and decisions."""

    weight: Array
    first: Array
    second: Array
    squares: Array
    """At least the sums of the squares of x - mu."""
    terms: int
    blocks: int
    errors: int
    rejected: int
    wrong: tuple[int, ...]
    sides: SideSums | None
    ends: Array
    """Least and largest value of each column that takes no part."""

    def plus(self, other: Self) -> Self:
        """Both."""
        more: dict[str, Any] = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.name not in ("terms", "sides", "ends")
        }
        more["ends"] = np.stack(
            [np.minimum(self.ends[0], other.ends[0]), np.maximum(self.ends[1], other.ends[1])]
        )
        sides = None
        if self.sides is not None and other.sides is not None:
            sides = self.sides.plus(other.sides)
        more["wrong"] = more["wrong"][:_NAMED]
        return replace(self, **more, terms=max(self.terms, other.terms), sides=sides)


def _sums(problem: Problem, *, at: Parameters) -> DensitySums:
    K, d = at.means.shape
    products = not at.diagonal
    weight, first = np.zeros(K), np.zeros((K, d))
    second, squares = np.zeros((K, d, d) if products else (K, d)), np.zeros((K, d))
    terms = 0
    for k in np.unique(problem.label).tolist():
        found = moments_of(problem, k, at.means[k], products=products)
        weight[k], terms = found.weight, max(terms, found.terms)
        first[k], second[k] = found.weight * found.first, found.weight * found.second
        squares[k] = found.weight * found.size**2
    chosen, tied = _decided(problem, at)
    wrong = np.flatnonzero(((chosen != problem.label) | tied) & (chosen < K))
    named = wrong[:_NAMED] if problem.row_index is None else problem.row_index[wrong[:_NAMED]]
    sides = SideSums(judge(problem, Witness(at.plane))) if at.plane.size else None
    return DensitySums(
        weight, first, second, squares, terms, 1, len(wrong), int((chosen >= K).sum()),
        tuple(named.tolist()), sides, column_ends(problem, ~at.used),
    )  # fmt: skip


def _decided(problem: Problem, at: Parameters) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The decision of least expected loss for each row, and whether it is one of several."""
    n, K = problem.n, len(at.means)
    scores = np.empty((n, K))
    rows, factors = problem.matrix, at.whiteners()
    step = max(1, (1 << 16) // max(1, problem.d))
    for lo in range(0, n, step):
        block = rows[lo : lo + step]
        block = block.toarray() if problem.sparse else block
        block = np.asarray(block, dtype=np.float64)[:, at.used]
        for k, factor in enumerate(factors):
            z = factor.apply(block - at.means[k, at.used])
            scores[lo : lo + step, k] = -0.5 * ((z * z).sum(axis=1) + factor.log_det)
    scores += np.log(at.priors)
    if np.array_equal(at.loss, 1.0 - np.eye(K)):
        cost = -scores
    else:
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        cost = shares @ at.loss.T
    least = cost.min(axis=1, keepdims=True)
    return cost.argmin(axis=1), (cost == least).sum(axis=1) > 1


@dataclass(frozen=True)
class StreamGaussian(GaussianCertificate):
    """What is proved about Gaussian classes of a stream, with all that a proof of it needs.

    ``check(stream)`` proves it again, in one pass and without what estimated the parameters.
    """

    means: tuple[float, ...] = ()
    covariance: tuple[float, ...] = ()
    shared: bool = False
    diagonal: bool = False
    ridge: tuple[float, ...] = ()
    ignored: tuple[int, ...] = ()
    """Columns that take no part."""
    priors: tuple[float, ...] = ()
    loss: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    """w and b of a linear rule, one after the other for each plane."""
    classes: tuple[Any, ...] = ()
    factors: tuple[float, ...] = ()
    """Of the weights of the rows of each class."""
    sources: tuple[Source, ...] = ()
    """The parts that were read."""

    @property
    def parameters(self) -> Parameters:
        """The numbers as arrays."""
        K, d = len(self.classes), len(self.ridge)
        K = max(1, K)
        parts, entries = 1 if self.shared else K, d if self.diagonal else d * d
        covariance = in_rows("covariance", self.covariance, parts, entries)
        shape = (() if self.shared else (K,)) + ((d,) if self.diagonal else (d, d))
        if any(not 0 <= column < d for column in self.ignored):
            raise ProofError(f"ignored: {self.ignored!r:.60} are not numbers of columns.")
        used = np.ones(d, dtype=bool)
        used[list(self.ignored)] = False
        planes = in_rows("weights", self.weights, 1) if self.weights else np.zeros((1, 0))
        if planes.size not in (0, (d + 1) * (1 if K == 2 else K)):
            raise ProofError(f"weights: {planes.size} are not those of planes of {d} columns.")
        ridge, priors = in_rows("ridge", self.ridge, 1)[0], in_rows("priors", self.priors, 1, K)[0]
        if not (ridge >= 0).all() or not (priors > 0).all():
            raise ProofError("ridge, priors: they are not numbers >= 0, and above 0.")
        return Parameters(
            in_rows("means", self.means, K, d), covariance.reshape(shape), self.shared, ridge,
            used, priors, in_rows("loss", self.loss, max(1, len(self.loss) // K), K), planes[0],
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        return {**super().to_dict(), "sources": [asdict(one) for one in self.sources]}

    def check(self, stream: Stream) -> bool:
        """Prove it again from the rows of a stream; True, or ProofError says what is not so."""
        at = self.parameters
        problem = parts_of(
            stream, classes=self.classes, factors=self.factors, columns=len(self.ridge),
            sources=self.sources, weights=at.plane[None, :],
        )  # fmt: skip
        found = stream_gaussian(problem, at)
        require_sources(self.sources, stream)
        room = _AGREES * found.total_weight * max(1, len(self.ridge))
        room += _AGREES * abs(found.objective)
        hold(self, found, lambda name: _SLOPE if name == "stationarity" else room)
        return True


def stream_gaussian(problem: PartsProblem, at: Parameters) -> StreamGaussian:
    """The likelihood of the parameters, the best of their structure, and decisions: one pass."""
    with np.errstate(all="ignore"):
        found = judged(problem, partial(_sums, at=at))
        terms = found.terms + found.blocks + 16
        every = [
            Moments(
                float(weight), first / weight, second / weight, terms,
                np.sqrt(squares / weight) * (1 + 1e-9),
            )
            for weight, first, second, squares in zip(
                found.weight, found.first, found.second, found.squares
            )
        ]  # fmt: skip
        facts = judge_moments(every, at.covariance, shared=at.shared, ridge=at.ridge, used=at.used)
    told = {field.name: getattr(facts, field.name) for field in fields(GaussianCertificate)}
    if not np.array_equal(*found.ends):  # a column that is left out takes part in the likelihood
        told["objective"] = np.inf
    plane: Certificate | None = None
    if found.sides is not None:
        plane = in_places(problem, found.sides.facts)
    wrong = problem.places(np.array(found.wrong, dtype=np.int64))
    told |= {
        "errors": found.errors, "rejected": found.rejected, "plane": plane,
        "wrong_rows": tuple(wrong.tolist()),
    }  # fmt: skip
    return StreamGaussian(
        **told,
        means=tuple(at.means.ravel().tolist()),
        covariance=tuple(at.covariance.ravel().tolist()),
        shared=at.shared,
        diagonal=at.diagonal,
        ridge=tuple(at.ridge.tolist()),
        ignored=tuple(np.flatnonzero(~at.used).tolist()),
        priors=tuple(at.priors.tolist()),
        loss=tuple(at.loss.ravel().tolist()),
        weights=tuple(at.plane.tolist()),
        classes=tuple(problem.classes.tolist()),
        factors=tuple(problem.factors.tolist()),
        sources=tuple(Source(*one) for one in problem.stream.marks),
    )
