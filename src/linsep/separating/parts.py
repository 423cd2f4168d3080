"""Whether a plane separates the rows of a stream: a few of them often tell, else the worst ones do.

Rows that no plane separates prove the same of all, so the first rows are asked first. A plane that
separates some rows is held against all others in one pass; those that it gets wrong, or that are
nearest to it, join the rows that are asked next. The margin of some rows is never less than that
of all, and the least distance of all rows from a plane is never more: both bounds meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.cluster import as_stream
from linsep.core.limits import clock
from linsep.core.parts import Block, Place, Stream, labels_of, no_labels, refuse_no_label
from linsep.core.problem import Problem
from linsep.core.schema import (
    Refused,
    anything,
    either,
    labels,
    listed,
    maybe,
    numbers,
    real,
    record,
    text,
    truth,
    whole,
    word,
)
from linsep.core.words import count
from linsep.errors import CapabilityError, DataError, ProofError, printable
from linsep.losses.hinge import HINGE
from linsep.numerics.rounding import U
from linsep.proofs.gap import Gap, intercept_words
from linsep.proofs.parts import StreamGap, hold, stream_gap
from linsep.proofs.plain import counted, require_given, require_read
from linsep.proofs.separable import WAY, Proof
from linsep.rows.parts import PartsProblem, looked_at

Array = NDArray[np.float64]

_FIRST = (2_000, 20_000)  # rows that are asked before anything else is read
_WORST = 2_000  # rows that a pass brings back
_ROUNDS = 12  # passes, at most
CLOSE = 1e-3
"""Relative width of the bounds of the margin."""

_OTHERS = (
    "the rows that were asked about are not those of the stream: {}; this is a bug of linsep, "
    "please report it."
)

FORMAT, VERSION = "linsep-stream-proof", 1
_HEAD = ("format", "version", "verdict")


def _end(value: float) -> Any:
    """A bound in JSON, which has no infinity."""
    return value if np.isfinite(value) else repr(value)


def _bounds(value: Any, where: str) -> tuple[float, float]:
    low, high = listed(either(real(0.0), word("inf")), 2)(value, where)
    return float(low), float(high)


def _rows(value: Any, where: str) -> NDArray[np.int64]:
    return np.array(listed(whole(0))(value, where), dtype=np.int64)


_STORED = record(
    separable=maybe(truth), quasi=maybe(truth), exact=truth, margin=_bounds,
    coef=maybe(numbers(None)), intercept=maybe(real()), rows=_rows,
    places=lambda value, where: tuple(listed(text)(value, where)),
    kind=word("float32", "float64"), X=numbers(None, None), y=labels, classes=labels,
    fit_intercept=truth, n_read=whole(0), seconds=real(0.0), proof=anything,
)  # fmt: skip


@dataclass(frozen=True)
class StreamProof:
    """Whether the classes of a stream are separable by a plane, and why.

    ``proof`` is about ``table``, the few rows that matter, in rational arithmetic; what it says of
    all rows follows from one pass. ``check(stream)`` proves both again.
    """

    separable: bool | None
    margin: tuple[float, float]
    """The best margin of all rows lies between the two."""
    coef: NDArray[Any] | None
    intercept: float | None
    rows: NDArray[np.int64]
    """Numbers of the rows of ``table``, counted through all parts."""
    places: tuple[str, ...]
    """The same rows by part and number."""
    table: Block
    proof: Proof
    classes: NDArray[Any]
    fit_intercept: bool
    n_read: int
    """Rows that were read for it."""
    quasi: bool | None = None
    exact: bool = True
    seconds: float = 0.0

    @property
    def multipliers(self) -> tuple[Fraction, ...]:
        """Of the rows that prove that nothing separates."""
        return self.proof.multipliers

    def __str__(self) -> str:
        if self.separable is None:
            return f"undecided after {count(self.n_read, 'row')}"
        if self.separable:
            low, high = self.margin
            return f"separable, margin between {low:.6g} and {high:.6g}"
        named = ", ".join(self.places[:4])
        more = "" if len(self.places) <= 4 else f" and {len(self.places) - 4} more"
        return printable(f"not separable: these rows prove it: {named}{more}")

    def explain(self) -> str:
        """The proof for a reader who wants to follow it."""
        lines = [str(self)]
        if self.separable is False:
            lines = ["not separable: multiples of these rows, y [x, 1] each, cancel exactly"]
            total = sum(self.multipliers)
            named = zip(self.proof.rows.tolist(), self.multipliers)
            lines += [
                f"  {float(m / total):.6f} of class {self.table.y[k]!s}, {self.places[k]}"
                for k, m in named
            ]
        elif self.separable and self.coef is not None:
            shown = ", ".join(f"{value:.6g}" for value in self.coef[:12])
            more = "" if len(self.coef) <= 12 else ", ..."
            lines.append(f"  a plane that does it: w = [{shown}{more}], b = {self.intercept:.6g}")
            lines.append(
                f"  the upper bound is that of {count(len(self.rows), 'row')}, the lower one that "
                f"of all {self.n_read}"
            )
        return printable("\n".join(lines))

    def to_dict(self) -> dict[str, Any]:
        """All that a proof needs, as numbers, strings and lists."""
        return {
            "format": FORMAT, "version": VERSION, "verdict": str(self),
            "separable": self.separable, "quasi": self.quasi, "exact": self.exact,
            "margin": [_end(value) for value in self.margin],
            "coef": None if self.coef is None else self.coef.tolist(),
            "intercept": self.intercept,
            "rows": self.rows.tolist(), "places": list(self.places),
            "kind": str(self.table.X.dtype), "X": self.table.X.tolist(),
            "y": self.table.y.tolist(), "classes": self.classes.tolist(),
            "fit_intercept": self.fit_intercept, "n_read": self.n_read, "seconds": self.seconds,
            "proof": self.proof.to_dict(),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The proof that ``to_dict`` wrote."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ProofError("this is not a stored proof about a stream: its 'format' is missing.")
        if data.get("version") != VERSION:
            raise ProofError(
                f"this proof has version {data.get('version')!r:.40}; version {VERSION} can be "
                f"read: {WAY}."
            )
        try:
            told = _STORED({k: v for k, v in data.items() if k not in _HEAD}, "")
        except Refused as error:
            raise ProofError(f"the stored proof cannot be read: {error}; {WAY}.") from error
        n = len(told["y"])
        if len(told["X"]) != n or len(told["rows"]) != n or len(told["places"]) != n:
            raise ProofError(
                f"the stored proof cannot be read: its rows are not as many as its y; {WAY}."
            )
        X, y = told.pop("X").astype(told.pop("kind")), told.pop("y")
        return cls(**{**told, "table": Block(X, y), "proof": Proof.from_dict(told["proof"])})

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Prove it again from the rows of the stream; True, or ProofError."""
        stream = as_stream(X, y, sample_weight)
        self._claims()
        self.proof.check(self.table.X, self.table.y)
        wanted = dict(zip(self.rows.tolist(), range(len(self.rows))))
        seen = 0
        for first, place, block in _numbered(stream):
            for at in [n for n in wanted if first <= n < first + block.X.shape[0]]:
                k = wanted.pop(at)
                same = np.array_equal(_dense(block.X[[at - first]]), self.table.X[[k]])
                if not same or block.y[at - first] != self.table.y[k]:
                    raise ProofError(f"row {at} of the stream is not the row that is in the proof.")
                if not self.places[k].startswith(f"row {place.first + at - first} of "):
                    raise ProofError(f"row {at} of the stream is not {self.places[k]!r:.60}.")
            seen = first + block.X.shape[0]
            if not wanted:
                break
        if wanted:
            raise ProofError(f"the stream has {count(seen, 'row')}, and the proof names others.")
        if self.separable:
            a = _stored_plane(self)
            worst = _pass(stream, a, self.classes)
            if not _below(worst, a) >= self.margin[0] * (1 - 1e-12) > 0:
                raise ProofError("some row is nearer to the plane than the proof says.")
            if stream.rows is not None and stream.rows != self.n_read:
                raise ProofError(f"the stream has {count(stream.rows, 'row')}, not {self.n_read}.")
        return True

    def _claims(self) -> None:
        """Refuse a verdict on all rows that does not follow from the one on the rows given."""
        inner, low, high = self.proof, *self.margin
        if inner.kernel is not None or inner.fit_intercept != self.fit_intercept:
            raise ProofError("the proof of the rows given is about other planes than the verdict.")
        if not np.array_equal(np.unique(self.table.y), self.classes):
            raise ProofError("the classes are not those of the rows given.")
        if (self.coef is None) is not (self.intercept is None):
            raise ProofError("the proof has a half of a plane.")
        if len(np.unique(self.rows)) != len(self.rows):
            raise ProofError("a row is named twice.")
        if self.exact and not inner.exact:
            raise ProofError("the proof of the rows given is not exact, as the verdict says it is.")
        if self.separable:
            proved = inner.margin[1] if inner.separable else np.inf
            if not high >= proved * (1 - 1e-12):
                raise ProofError("the upper bound of the margin is not that of the rows given.")
            plane = _stored_plane(self)
            if len(plane) != self.table.X.shape[1] + 1 or not (self.fit_intercept or not plane[-1]):
                raise ProofError("the plane is none of the features, or not through the origin.")
            follows = self.quasi is None
        elif self.separable is None:
            follows = (low, high, self.quasi) == (0.0, np.inf, None) and self.coef is None
        else:
            follows = inner.separable is False and low == high == 0.0 and self.coef is None
            follows &= self.quasi is None or (self.quasi is False and inner.quasi is False)
        if not follows:
            raise ProofError("the verdict does not follow from the proof of the rows given.")


def _stored_plane(proof: StreamProof) -> Array:
    """w and b as they are in the proof."""
    if proof.coef is None or proof.intercept is None:
        raise ProofError("the proof says that a plane separates the classes, and has none.")
    return np.append(np.asarray(proof.coef, dtype=np.float64), proof.intercept)


@dataclass(frozen=True)
class StreamMargin(Gap):
    """What is proved about a machine of hard margin of a stream: that of its bounds of the margin.

    The plane whose least y f(x) is 1 has |w| = 1 / margin. ``check(stream)`` proves it again.
    """

    proof: StreamProof | None = None
    weights: tuple[float, ...] = ()
    """w and b of the machine."""
    sources: tuple[str, ...] = ()
    """Of the rows of the proof."""

    @classmethod
    def of_proof(cls, proof: StreamProof, other: Gap | None = None, a: Array | None = None) -> Self:
        """The machine of a verdict; where nothing separates, the facts of another plane a."""
        offset = intercept_words("free" if proof.fit_intercept else "none")
        words = f"|w|^2 / 2 with y f(x) >= 1 for all rows; {offset}"
        low, high = proof.margin
        if not proof.separable:
            facts: dict[str, Any] = {
                "errors": 0, "margin": -np.inf, "width": 0.0, "inside": 0,
                "functional_margin": -np.inf, "margin_aug": None,
            }  # fmt: skip
            if other is not None:
                facts = {name: getattr(other, name) for name in facts}
            plane = () if a is None else tuple(a.tolist())
            told: dict[str, Any] = {**facts, "words": words, "weights": plane}
            return cls(np.inf, 0.0, **told, proof=proof, sources=proof.places)
        return cls(
            objective=0.5 / low / low * (1 + 8 * U),
            lower_bound=0.5 / high / high * (1 - 8 * U) if np.isfinite(high) else 0.0,
            errors=0,
            margin=low,
            width=2.0 * low,
            inside=0,
            words=words,
            functional_margin=1.0,
            proof=proof,
            weights=tuple(_plane_of(proof).tolist()),
            sources=proof.places,
        )

    @property
    def stated(self) -> Array:
        """The weights that it is about, as one row."""
        return np.array([self.weights])

    @property
    def classes(self) -> tuple[Any, ...]:
        """Of the rows."""
        return () if self.proof is None else tuple(self.proof.classes.tolist())

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        return {**super().to_dict(), "proof": None if self.proof is None else self.proof.to_dict()}

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Prove it again from the rows of a stream; True, or ProofError says what is not so."""
        stream = as_stream(X, y, sample_weight)
        if self.proof is None:
            raise ProofError("the certificate holds no proof.")
        self.proof.check(stream)
        if self.sources != self.proof.places:
            raise ProofError("sources: they are not the rows of the proof.")
        other: Gap | None = None
        a = self.stated[0] if self.weights else None
        if a is not None and not self.proof.separable:
            if len(a) != self.proof.table.X.shape[1] + 1 or not np.isfinite(a).all():
                raise ProofError("weights: they are not those of a plane of these columns.")
            problem = PartsProblem(
                stream, self.proof.classes, np.ones(2), len(a) - 1,
                fit_intercept=self.proof.fit_intercept,
            )  # fmt: skip
            other = StreamMargin.plane_facts(problem, a)
        found = StreamMargin.of_proof(self.proof, other, a)
        hold(self, found, lambda name: 1e-12 * abs(getattr(found, name)))
        return True

    @staticmethod
    def plane_facts(problem: PartsProblem, a: Array) -> StreamGap:
        """Errors and margins of a plane that is no answer: one pass."""
        return stream_gap(problem, a, np.zeros(len(a) + 1), HINGE, 1.0)


def _plane_of(proof: StreamProof) -> Array:
    """w and b of a plane that separates, so long that the least y f(x) is 1."""
    a = _stored_plane(proof)
    return np.asarray(a / (float(np.linalg.norm(a[:-1])) * proof.margin[0]))


def decide_stream(
    stream: Stream,
    decide: Callable[..., Proof],
    *,
    fit_intercept: bool,
    time_limit: float | None,
    close: float = CLOSE,
    looked: PartsProblem | None = None,
) -> StreamProof:
    """The verdict on a stream of two classes; ``decide`` is that on a table.

    close is the relative width of the bounds of the margin, looked what a first look has found,
    where somebody has looked.
    """
    begin = clock()

    def left() -> float | None:
        return None if time_limit is None else max(time_limit - (clock() - begin), 0.0)

    def verdict(block: Block) -> Proof:
        problem = Problem(
            block.X, block.y, fit_intercept=fit_intercept,
            feature_names=stream.feature_names,
        )  # fmt: skip
        return decide(problem, time_limit=left())

    head, numbers, read = _head(stream, _FIRST[-1])
    for size in _FIRST:
        some = Block(head.X[:size], head.y[:size])
        if len(np.unique(some.y)) != 2 or not _finite(some):
            continue
        found = verdict(some)
        if found.separable is False:
            proof = _refuted(
                stream, some, numbers, found, verdict, read, fit_intercept=fit_intercept
            )
            return replace(proof, seconds=clock() - begin)
    problem = looked_at(stream, fit_intercept=fit_intercept) if looked is None else looked
    if not problem.binary:
        raise CapabilityError(
            f"the stream has {problem.K} classes; ask about two of them, or take a sample."
        )
    work = _sampled(problem)
    known: StreamProof | None = None
    for _ in range(_ROUNDS):
        found = verdict(work.block)
        places = problem.places(work.ids)
        if found.separable is False:
            _require_rows(stream, work.some(_of_both(work.block, np.unique(found.rows))))
            out = _refuted(
                stream, work.block, places, found, verdict, _read(stream),
                fit_intercept=fit_intercept,
            )  # fmt: skip
            return replace(out, seconds=clock() - begin)
        if found.separable is None or found.coef is None:
            break
        a = np.append(np.asarray(found.coef, dtype=np.float64), float(found.intercept))
        hull = _of_both(work.block, np.unique(found.hull_rows))
        asked = work.some(hull)
        worst = _pass(stream, a, problem.classes, asked)
        low = _below(worst, a)
        if low > 0:
            few = asked.block
            upper = verdict(few)
            high = float(upper.margin[1]) if upper.separable else np.inf
            new = StreamProof(
                separable=True, margin=(low, high), coef=a[:-1], intercept=float(a[-1]),
                rows=places[hull], places=_names(stream, places[hull]), table=few, proof=upper,
                classes=problem.classes, fit_intercept=fit_intercept, n_read=_read(stream),
                exact=upper.exact,
            )  # fmt: skip
            known = new if known is None else _better(known, new)
            if known.margin[0] >= (1 - close) * known.margin[1]:
                return replace(known, seconds=clock() - begin)
        if left() == 0.0:
            break
        work = work.with_rows(worst)
    if known is None:
        known = _undecided(problem, work, verdict)
    return replace(known, seconds=clock() - begin)


def _undecided(
    problem: PartsProblem, work: _Work, verdict: Callable[[Block], Proof]
) -> StreamProof:
    """No verdict; a row of each class stands for the table."""
    stream, two = problem.stream, work.some(_of_both(work.block, np.zeros(1, dtype=np.int64)))
    places, nothing = problem.places(two.ids), verdict(two.block)
    return StreamProof(
        None, (0.0, np.inf), None, None, places, _names(stream, places), two.block, nothing,
        problem.classes, problem.fit_intercept, _read(stream), exact=nothing.exact,
    )  # fmt: skip


def _better(one: StreamProof, two: StreamProof) -> StreamProof:
    """The plane of the larger lower bound, and the rows of the smaller upper one."""
    above = min(one, two, key=lambda proof: proof.margin[1])
    below = max(one, two, key=lambda proof: proof.margin[0])
    margin = (below.margin[0], above.margin[1])
    return replace(above, margin=margin, coef=below.coef, intercept=below.intercept)


def _refuted(
    stream: Stream, block: Block, numbers: NDArray[np.int64], found: Proof, verdict: Any, read: int,
    *, fit_intercept: bool,
) -> StreamProof:  # fmt: skip
    """The rows that prove it, alone."""
    rows = _of_both(block, np.unique(found.rows))
    few = Block(_dense(block.X[rows]), block.y[rows])
    proof = verdict(few)
    kept = numbers[rows]
    return StreamProof(
        separable=False, margin=(0.0, 0.0), coef=None, intercept=None, rows=kept,
        places=_names(stream, kept), table=few, proof=proof, classes=found.classes,
        fit_intercept=fit_intercept, n_read=read,
        quasi=False if proof.quasi is False else None, exact=proof.exact,
    )  # fmt: skip


def _of_both(block: Block, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows with one of the other class, where all are of one: so it may be without an intercept."""
    if len(np.unique(block.y[rows])) > 1:
        return rows
    return np.sort(np.append(rows, np.flatnonzero(block.y != block.y[rows[0]])[0]))


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray())


def _as_wide(rows: NDArray[Any], d: int) -> NDArray[Any]:
    """Sparse rows may end before the last column."""
    return rows if rows.shape[1] == d else np.pad(rows, ((0, 0), (0, d - rows.shape[1])))


def _finite(block: Block) -> bool:
    return bool(np.isfinite(block.X if isinstance(block.X, np.ndarray) else block.X.data).all())


def _numbered(stream: Stream) -> Iterator[tuple[int, Place, Block]]:
    """Blocks with the numbers of their first rows, and where they are."""
    first = 0
    for place, block in stream.blocks():
        if block.y is not None:
            refuse_no_label(block, place)
            require_given(block)
        yield first, place, block
        first += block.X.shape[0]


def _head(stream: Stream, most: int) -> tuple[Block, NDArray[np.int64], int]:
    """The first rows, as far as one look into the first part reaches."""
    for first, _, block in _numbered(stream):
        if block.y is None:
            raise no_labels(stream.name)
        if first == 0:
            n = min(most, block.X.shape[0])
            return Block(block.X[:n], block.y[:n]), np.arange(n), block.X.shape[0]
    raise DataError(f"{stream.name} has no rows.")


# -- rows that are worked with, by part and number ------------------------------------------------


@dataclass(frozen=True)
class _Work:
    """Rows that are asked, and where they stand: (part << 40) + row."""

    block: Block
    ids: NDArray[np.int64]

    def some(self, rows: NDArray[np.int64]) -> _Work:
        """Few of them."""
        return _Work(Block(_dense(self.block.X[rows]), self.block.y[rows]), self.ids[rows])

    def met(self, block: Block, place: Place) -> int:
        """How many of them a block of the stream has; ProofError where one is another there."""
        first = (np.int64(place.number) << 40) + place.first
        own = np.flatnonzero((self.ids >= first) & (self.ids < first + block.X.shape[0]))
        at = self.ids[own] - first
        X = _as_wide(_dense(block.X[at]), self.block.X.shape[1])
        wrong = (self.block.X[own] != X).any(axis=1) | (self.block.y[own] != block.y[at])
        if wrong.any():
            raise ProofError(_OTHERS.format(f"row {place.first + at[wrong][0]} of {place.part}"))
        return len(own)

    def with_rows(self, worst: Worst) -> _Work:
        """And the worst ones of a pass."""
        new = ~np.isin(worst.ids, self.ids)
        X, rows = self.block.X, worst.X[new]
        if not isinstance(X, np.ndarray):
            X = _dense(X)
        return _Work(
            Block(np.concatenate([X, rows]), np.concatenate([self.block.y, worst.y[new]])),
            np.concatenate([self.ids, worst.ids[new]]),
        )


def _sampled(problem: PartsProblem) -> _Work:
    look = problem.look
    rows = look.rows
    if not isinstance(rows, np.ndarray):
        rows = problem.sample().matrix
    keep = np.arange(min(len(look.ids), _FIRST[-1]))
    if len(np.unique(look.labels[keep])) < 2:
        keep = np.arange(len(look.ids))
    return _Work(Block(_dense(rows[keep]), look.labels[keep]), look.ids[keep])


def _names(stream: Stream, numbers: NDArray[np.int64]) -> tuple[str, ...]:
    """Rows by part and number; by number alone as long as not all parts were read."""
    sizes = [rows for _, rows, _ in stream.marks]
    if len(stream.parts) == 1 or not sizes:
        return tuple(f"row {n} of {stream.parts[0].name}" for n in numbers.tolist())
    begins = np.concatenate([[0], np.cumsum(sizes)])
    out = []
    for n in numbers.tolist():
        k = int(np.searchsorted(begins, n, side="right")) - 1
        out.append(f"row {n - int(begins[k])} of {stream.parts[k].name}")
    return tuple(out)


@dataclass(frozen=True)
class Worst:
    """The rows of least value y (w.x + b), and the least that any value can be."""

    least: float
    values: Array
    X: NDArray[Any]
    y: NDArray[Any]
    ids: NDArray[np.int64]
    met: int
    """How many of the rows asked about were met."""

    def plus(self, other: Self) -> Self:
        """Both."""
        values = np.concatenate([self.values, other.values])
        kept = np.sort(np.argsort(values, kind="stable")[:_WORST])
        return replace(
            self,
            least=min(self.least, other.least),
            met=self.met + other.met,
            values=values[kept],
            X=np.concatenate([self.X, other.X])[kept],
            y=np.concatenate([self.y, other.y])[kept],
            ids=np.concatenate([self.ids, other.ids])[kept],
        )


def _pass(stream: Stream, a: Array, classes: NDArray[Any], asked: _Work | None = None) -> Worst:
    """All rows held against a plane, and those asked about against the rows that they are."""
    work = partial(_worst, a=a, classes=classes, asked=asked)
    found = counted(stream, work, "all rows held against a plane")
    if asked is not None and found.met != len(asked.ids):
        raise ProofError(_OTHERS.format(f"{len(asked.ids) - found.met} of them"))
    return found


@dataclass(frozen=True)
class _Met:
    """Rows that were asked about and are there."""

    rows: int

    def plus(self, other: Self) -> Self:
        """Both."""
        return replace(self, rows=self.rows + other.rows)


def _there(block: Block, place: Place, *, asked: _Work) -> _Met:
    require_given(block)
    return _Met(asked.met(block, place))


def _require_rows(stream: Stream, asked: _Work) -> None:
    """ProofError unless all these rows are in the stream, where they are said to be."""
    found = counted(stream, partial(_there, asked=asked), "the rows of the proof, read again")
    if found.rows != len(asked.ids):
        raise ProofError(_OTHERS.format(f"{len(asked.ids) - found.rows} of them"))


def _read(stream: Stream) -> int:
    """How many rows a pass over all of them has read."""
    return sum(rows for _, rows, _ in stream.marks)


def _worst(
    block: Block, place: Place, *, a: Array, classes: NDArray[Any], asked: _Work | None
) -> Worst:
    label = labels_of(block, classes, place)
    require_read(block.X, classes, label, block.given.X, block.given.y)
    sign = 2.0 * label - 1.0
    X = block.X.astype(np.float64, copy=False)
    w, b = a[:-1], float(a[-1])
    if X.shape[1] < len(w):
        w = w[: X.shape[1]]
    values = sign * (np.asarray(X @ w) + b)
    off = (len(a) + 4) * U * (np.asarray(abs(X) @ np.abs(w)) + abs(b))
    least = float((values - off).min())
    kept = np.sort(np.argpartition(values, min(_WORST, len(values)) - 1)[:_WORST])
    rows = _as_wide(_dense(block.X[kept]), len(a) - 1)
    ids = (np.int64(place.number) << 40) + place.first + kept
    met = 0 if asked is None else asked.met(block, place)
    return Worst(least, values[kept], rows, block.y[kept], ids.astype(np.int64), met)


def _below(worst: Worst, a: Array) -> float:
    """At most the least distance of all rows from the plane a."""
    length = float(np.linalg.norm(a[:-1])) * (1 + (len(a) + 8) * U)
    return worst.least / length * (1 - 4 * U) if length > 0 else -np.inf
