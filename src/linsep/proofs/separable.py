"""A verdict on separability that anybody can check again from its own numbers.

Separable       a plane with every row strictly on its own side; points of the two hulls, which
                bound the margin of any plane from above
Not separable   rows with multipliers m > 0 and sum m_i y_i [x_i, 1] = 0: a plane with all rows
                strictly on their own side would make that sum positive
Weakly          a plane with no row strictly on its wrong side and some strictly on its right
                one; rows with multipliers > 0 that sum to zero and span all rows on the plane,
                so that no plane does better (Stiemke). If they span all rows there is none
With a kernel   the same of the images of the rows: a sum over kernel values that has every row on
                its own side; multipliers whose combination of images has the length 0, in fractions

``check`` proves every claim again, in integers or in floats within their error bounds. Nothing
of the search that found the numbers is used. Below stand the proof, how it is stored, how it is
checked, and how it is said in words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, isinf, log10
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.boundary import boundary
from linsep.core.problem import Problem
from linsep.core.schema import (
    Check,
    Refused,
    anything,
    either,
    from_json,
    labels,
    listed,
    maybe,
    numbers,
    ratio,
    ratio_text,
    real,
    record,
    scalar,
    text,
    truth,
    whole,
    word,
)
from linsep.core.words import count
from linsep.errors import ModelError, ProofError, printable
from linsep.kernels.base import Kernel
from linsep.kernels.spec import from_dict
from linsep.numerics.integers import scaled_integers
from linsep.proofs.feature_space import FeatureSpace, Sums
from linsep.proofs.kernel import require_zero
from linsep.proofs.margins import margin_above, margin_below
from linsep.proofs.plain import require_same
from linsep.rows.exact import equal_rows, reflected, spans, vanishes
from linsep.rows.signs import row_signs

VERSION = 1


def _empty() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Proof:
    """Whether classes are linearly separable, and why.

    Attributes
    ----------
    separable : bool or None
        True, False, or None when the time limit came first.
    quasi : bool or None
        True when the classes are not separable, but a plane exists that has no row strictly
        on its wrong side and some row strictly on its right side. None when this was not
        decided (``exact=False``, the time limit, or thousands of rows and of columns).
    coef, intercept : array and float, or None
        Separable: a separator. Quasi: the weak separator with as many rows strictly on their
        right side as any. The numbers are exact as they stand. They are floats where floats
        can hold them, else Fractions in an array of objects; ``np.asarray(coef, float)``
        rounds them. Two classes: shape (d,) and a number; K classes: (K, d) and (K,).
    margin : (float, float)
        The best geometric margin (distance from the plane to the nearest row, in x-space) lies
        between the two. (0, 0) if not separable: no plane keeps any distance.
    rows, multipliers : array of int, tuple of Fraction
        Not separable: rows of X and multipliers > 0 of sum 1 with
        sum m_i y_i [x_i, 1] = 0, so no plane has all rows strictly on their own side.
    rivals : array of int or None
        K > 2 classes: the place in ``classes`` of the class that each row is held against.
    columns : tuple of int
        Quasi: the features that carry the separation.
    exact : bool
        True when every claim above was proved in rational arithmetic (or by floating point
        within a rigorous error bound).
    hull_rows, hull_weights : arrays
        Shares of samples that make up the two nearest points; they prove the upper bound.
        Floats, or Fractions where floats are too coarse.
    span_rows, span_rivals, span_multipliers
        Rows with multipliers > 0 that sum to zero and span all rows that lie on the weak
        separator (quasi), or all rows (not quasi). They prove that no plane does better.
    kernel : Kernel or None
        The kernel in whose feature space the question was asked; None: in the space of X. With one,
        margins are those of the feature space and ``quasi`` is not decided.
    support, dual_coef : arrays
        Separable in a feature space: f(x) = sum_j dual_coef_j K(x_support_j, x) + intercept is a
        separator; K > 2 classes have a row of dual_coef each. Both are empty where the kernel is
        strictly positive definite, which alone proves it: distinct rows have independent images.
    """

    separable: bool | None
    quasi: bool | None = False
    coef: NDArray[Any] | None = None
    intercept: Any = None
    margin: tuple[float, float] = (0.0, 0.0)
    rows: NDArray[np.int64] = field(default_factory=_empty)
    multipliers: tuple[Fraction, ...] = ()
    rivals: NDArray[np.int64] | None = None
    columns: tuple[int, ...] = ()
    exact: bool = True
    classes: NDArray[Any]
    fit_intercept: bool = True
    n_samples: int
    n_features: int
    feature_names: tuple[str, ...] | None = None
    fingerprint: str
    hull_rows: NDArray[np.int64] = field(default_factory=_empty)
    hull_weights: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    span_rows: NDArray[np.int64] = field(default_factory=_empty)
    span_rivals: NDArray[np.int64] | None = None
    span_multipliers: tuple[Fraction, ...] = ()
    kernel: Kernel | None = None
    support: NDArray[np.int64] = field(default_factory=_empty)
    dual_coef: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0

    @classmethod
    def about(cls, problem: Problem, **fields: Any) -> Self:
        """A proof about a problem."""
        names = problem.feature_names
        return cls(
            classes=problem.classes,
            fit_intercept=problem.fit_intercept,
            n_samples=problem.n,
            n_features=problem.d,
            feature_names=None if names is None else tuple(names),
            fingerprint=problem.fingerprint,
            **fields,
        )

    # -- reading -----------------------------------------------------------------------------

    def __str__(self) -> str:
        return printable(sentence(self))

    def __repr__(self) -> str:
        return f"<Proof: {self}>"

    def explain(self) -> str:
        """The proof in full, for a reader who wants to follow it."""
        return printable(explanation(self))

    # -- checking ----------------------------------------------------------------------------

    def check(self, X: Any, y: Any) -> bool:
        """Prove it again for these data from the stored numbers alone.

        Gives back True, or raises ProofError with the first claim that does not hold.

        Examples
        --------
        >>> import linsep
        >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
        >>> linsep.separability(X, y).check(X, y)
        True
        """

        problem = Problem(
            X, y, fit_intercept=self.fit_intercept, feature_names=self.feature_names,
            half_space=self.kernel is None,
        )  # fmt: skip
        require_same(problem, X, y)
        if problem.fingerprint != self.fingerprint:
            raise ProofError(
                f"this proof is about other data: it was made for {self.n_samples} x "
                f"{self.n_features} data with fingerprint {self.fingerprint[:12]}..., these are "
                f"{problem.n} x {problem.d} with {problem.fingerprint[:12]}..."
            )
        names = getattr(X, "columns", None)
        if names is not None and self.feature_names is not None:
            given = [str(name) for name in names]
            if given != list(self.feature_names):
                raise ProofError(
                    f"this proof names the columns {list(self.feature_names)}; the data name them "
                    f"{given}."
                )
        with np.errstate(all="ignore"):
            recheck(self, problem)
        return True

    # -- storing -----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists; fractions become strings "p/q"."""
        out: dict[str, Any] = {"format": "linsep-proof", "version": VERSION, "verdict": str(self)}
        for name in self.__dataclass_fields__:
            out[name] = _pack(getattr(self, name))
        return out | {"kernel": None if self.kernel is None else self.kernel.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The proof that ``to_dict`` wrote."""
        if not isinstance(data, dict) or data.get("format") != "linsep-proof":
            raise ProofError("this is not a stored linsep proof: its 'format' is missing.")
        if data.get("version") != VERSION:
            raise ProofError(
                f"this proof has version {data.get('version')!r:.40}; version {VERSION} can be "
                f"read: {WAY}."
            )
        try:
            sizes = _SIZES(data, "")
            told = _stored(len(sizes["classes"]), **sizes)(data, "")
            kernel = None if told["kernel"] is None else from_dict(told["kernel"])
            return cls(**{**told, "kernel": kernel})
        except (Refused, ModelError) as error:
            raise ProofError(f"the stored proof cannot be read: {error}; {WAY}.") from error

    def to_json(self) -> str:
        """The dictionary as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The proof in JSON text."""
        with boundary("the stored proof", ProofError, "it is not JSON", WAY):
            return cls.from_dict(from_json(text))


# -- numbers as text ------------------------------------------------------------------------------


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_pack(v) for v in (value if value.ndim > 1 else value.tolist())]
    if isinstance(value, tuple | list):
        return [_pack(v) for v in value]
    if isinstance(value, Fraction):
        return ratio_text(value)
    if isinstance(value, np.generic):
        return _pack(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


WAY = "make the proof again with linsep.separability"
_SIZES = record(n_samples=whole(1), n_features=whole(1), classes=listed(scalar))


def _stored(K: int, *, n_samples: int, n_features: int, classes: Any) -> Check:
    """What a proof about so many rows, features and classes holds."""
    row, rival = whole(0, n_samples - 1), whole(0, K - 1)
    two = K == 2
    return record(
        separable=maybe(truth), quasi=maybe(truth), exact=truth, fit_intercept=truth,
        coef=maybe(_weights(n_features) if two else _weights(K, n_features)),
        intercept=maybe(_weight if two else _weights(K)),
        margin=_pair,
        rows=_indexes(row), rivals=maybe(_indexes(rival)), multipliers=_ratios,
        hull_rows=_indexes(row), hull_weights=_weights(None),
        span_rows=_indexes(row), span_rivals=maybe(_indexes(rival)), span_multipliers=_ratios,
        columns=_tuple(whole(0, n_features - 1)), feature_names=maybe(_tuple(text, n_features)),
        classes=labels, n_samples=whole(), n_features=whole(), fingerprint=text,
        kernel=maybe(anything), support=_indexes(row),
        dual_coef=either(numbers(None), numbers(K, None)),
        seconds=real(0.0),
    )  # fmt: skip


def _tuple(item: Check, count: int | None = None) -> Check:
    return lambda value, where: tuple(listed(item, count)(value, where))


_ratios = _tuple(ratio)


def _indexes(item: Check) -> Check:
    return lambda value, where: np.array(listed(item)(value, where), dtype=np.int64)


def _pair(value: Any, where: str) -> tuple[float, float]:
    """Two bounds; infinity is a word in JSON."""
    low, high = listed(either(real(0.0), word("inf")), 2)(value, where)
    return float(low), float(high)


def _weight(value: Any, where: str) -> Any:
    """A float, or a Fraction where floats are too coarse."""
    return ratio(value, where) if isinstance(value, str) else real()(value, where)


def _weights(*shape: int | None) -> Check:
    """Floats, or Fractions in an array of objects."""

    def check(value: Any, where: str) -> NDArray[Any]:
        if len(shape) > 1:
            rows = [
                _weights(*shape[1:])(row, where) for row in listed(anything, shape[0])(value, where)
            ]
            return np.array(rows, dtype=object if any(r.dtype == object for r in rows) else None)
        found = listed(_weight, shape[0])(value, where)
        if any(isinstance(one, Fraction) for one in found):
            return np.array([Fraction(one) for one in found], dtype=object)
        return np.array(found, dtype=np.float64)

    return check


# -- Prove a stored verdict again, from its numbers and the data alone ----------------------------


def recheck(proof: Proof, problem: Problem) -> None:
    """Raise ProofError unless every claim of the proof holds for the problem."""
    _check_header(proof, problem)
    if proof.kernel is not None:
        _check_in_feature_space(proof, problem, proof.kernel)
    elif proof.separable is None:
        _check_undecided(proof, problem)
    elif proof.separable:
        _check_separable(proof, problem)
    else:
        _check_inseparable(proof, problem)


def kesler_rows(
    problem: Problem, samples: NDArray[np.int64], rivals: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Numbers of the reflected rows of samples held against rivals."""
    if problem.binary or rivals is None:
        return samples
    own = problem.label[samples]
    return samples * (problem.K - 1) + rivals - (rivals > own)


def _fail(what: str) -> ProofError:
    return ProofError(f"the proof does not hold: {what}.")


def _check_header(proof: Proof, problem: Problem) -> None:
    shape = (proof.n_samples, proof.n_features)
    if shape != (problem.n, problem.d):
        raise _fail(
            f"it speaks of {shape[0]} x {shape[1]} data, these are {problem.n} x {problem.d}"
        )
    if [str(c) for c in proof.classes] != [str(c) for c in problem.classes]:
        raise _fail(f"it names the classes {list(proof.classes)}")
    low, high = proof.margin
    if not 0 <= low <= high:
        raise _fail(f"the margin bounds {low} and {high} are not in order")
    if proof.separable not in (True, False, None) or proof.quasi not in (True, False, None):
        raise _fail("the verdict is neither true nor false")


def _check_undecided(proof: Proof, problem: Problem) -> None:
    if proof.margin[0] != 0.0:
        raise _fail("a margin above zero is claimed although no separator is known")
    _check_above(proof, problem)


# -- separable ------------------------------------------------------------------------------------


def _check_separable(proof: Proof, problem: Problem) -> None:
    if proof.quasi or len(proof.rows) or proof.multipliers:
        raise _fail("it calls the classes separable and gives a proof of the contrary")
    coef, intercept = _plane(proof, problem)
    signs = row_signs(problem, coef, intercept)
    wrong = np.flatnonzero(signs <= 0)
    if len(wrong):
        at = int(wrong[0])
        side = "on the plane" if signs[at] == 0 else "on the wrong side"
        raise _fail(f"row {problem.sample_of(at)} is {side}, {count(len(wrong), 'row')} in all")
    low = margin_below(problem, coef, intercept)
    if proof.margin[0] > low:  # another order of summation may have given a little more
        low = margin_below(problem, coef, intercept, exact=True)
    if proof.margin[0] > low:
        raise _fail(f"the plane keeps a margin of {low}, not of {proof.margin[0]}")
    _check_above(proof, problem)


def _check_above(proof: Proof, problem: Problem) -> None:
    if proof.margin[1] == np.inf:
        return
    rows, weights = _check_hulls(proof, problem)
    high = margin_above(problem, rows, weights)
    if proof.margin[1] < high:
        high = margin_above(problem, rows, weights, exact=True)
    if proof.margin[1] < high:
        raise _fail(f"the nearest points bound the margin by {high}, not by {proof.margin[1]}")


def _check_hulls(proof: Proof, problem: Problem) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The shares that bound the margin from above, if they are shares of rows of two classes."""
    rows, weights = proof.hull_rows, np.asarray(proof.hull_weights)
    _check_indexes(rows, problem.n, "hull_rows")
    if len(np.unique(rows)) != len(rows):
        raise _fail("a row is named twice among the nearest points")
    rounded = weights.astype(np.float64)
    if weights.shape != rows.shape or not np.all((weights >= 0) & np.isfinite(rounded)):
        raise _fail("the shares of the nearest points are not one number >= 0 for each row")
    present, inverse = np.unique(problem.label[rows], return_inverse=True)
    sums = np.bincount(inverse, weights=rounded) if len(rows) else np.zeros(0)
    if len(present) > 2 or not len(present) or sums.sum() <= 0:
        raise _fail("the nearest points do not belong to two classes")
    if problem.fit_intercept and (len(present) != 2 or sums.min() <= 0):
        raise _fail("the nearest points do not belong to two classes")
    return rows, weights


def _plane(proof: Proof, problem: Problem) -> tuple[NDArray[Any], NDArray[Any]]:
    if proof.coef is None or proof.intercept is None:
        raise _fail("it gives no plane")
    coef, intercept = np.asarray(proof.coef), np.asarray(proof.intercept)
    shape = (problem.d,) if problem.binary else (problem.K, problem.d)
    if coef.shape != shape or intercept.shape != shape[:-1]:
        raise _fail(f"its plane has the shape {coef.shape}, the data need {shape}")
    for part in (coef, intercept):
        if part.dtype != object and not np.isfinite(part.astype(np.float64)).all():
            raise _fail("its plane has weights that are not finite")
    if not problem.fit_intercept and any(v != 0 for v in np.ravel(intercept).tolist()):
        raise _fail("it uses an intercept where none is allowed")
    return coef, intercept


# -- not separable --------------------------------------------------------------------------------


def _check_inseparable(proof: Proof, problem: Problem) -> None:
    if not proof.exact:
        raise ProofError(
            "this proof was made with exact=False, its multipliers are rounded; "
            "make it again with exact=True to have one that can be checked."
        )
    if proof.margin != (0.0, 0.0):
        raise _fail(f"the margin is {proof.margin} although the classes are not separable")
    rows = _check_zero_sum(problem, proof.rows, proof.rivals, proof.multipliers, "rows")
    numbers, scale = scaled_integers(proof.multipliers)
    if sum(numbers) * scale != 1:
        raise _fail("the multipliers do not sum to 1")
    most = reflected(problem, rows).shape[1] + 1
    if len(rows) > most:
        raise _fail(f"it names {count(len(rows), 'row')} where {most} are always enough")
    if proof.quasi is None:
        return
    span = _check_zero_sum(
        problem, proof.span_rows, proof.span_rivals, proof.span_multipliers, "span_rows"
    )
    on_plane = np.arange(problem.n_rows)
    if proof.quasi:
        on_plane = _check_weak(proof, problem)
    elif proof.coef is not None or proof.columns:
        raise _fail("it gives a weak separator and denies that there is one")
    if not spans(problem, span, on_plane):
        raise _fail("the rows in span_rows do not span all the rows they have to")


def _check_zero_sum(
    problem: Problem,
    samples: NDArray[np.int64],
    rivals: NDArray[np.int64] | None,
    multipliers: Sequence[Fraction],
    name: str,
) -> NDArray[np.int64]:
    rows = _check_combination(problem, samples, rivals, multipliers, name)
    if not vanishes(reflected(problem, rows), multipliers):
        raise _fail(f"the multipliers do not combine {name} to zero")
    return rows


def _check_combination(
    problem: Problem,
    samples: NDArray[np.int64],
    rivals: NDArray[np.int64] | None,
    multipliers: Sequence[Fraction],
    name: str,
) -> NDArray[np.int64]:
    """Numbers of the reflected rows, each named once, with multipliers above zero."""
    _check_indexes(samples, problem.n, name)
    if len(samples) != len(multipliers) or not len(samples):
        raise _fail(f"{name} has {count(len(samples), 'row')} but {len(multipliers)} multipliers")
    if problem.binary != (rivals is None):
        raise _fail(f"{name} needs rivals exactly when there are more than two classes")
    if rivals is not None:
        if rivals.shape != samples.shape:
            raise _fail(f"{name} has {count(len(samples), 'row')} but {len(rivals)} rivals")
        _check_indexes(rivals, problem.K, f"the rivals of {name}")
        if np.any(rivals == problem.label[samples]):
            raise _fail(f"a row of {name} is its own rival")
    rows = kesler_rows(problem, samples, rivals)
    if len(np.unique(rows)) != len(rows):
        raise _fail(f"{name} names a row twice")
    if not all(isinstance(m, Fraction | int) and m > 0 for m in multipliers):
        raise _fail(f"a multiplier of {name} is not a positive fraction")
    return rows


def _check_indexes(values: NDArray[np.int64], limit: int, name: str) -> None:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _fail(f"{name} is not a list of numbers")
    if len(array) and (array.min() < 0 or array.max() >= limit):
        raise _fail(f"{name} names number {int(array.max())}, there are {limit}")


def _check_weak(proof: Proof, problem: Problem) -> NDArray[np.int64]:
    """Check the weak separator; gives back the rows that lie on it."""
    coef, intercept = _plane(proof, problem)
    signs = row_signs(problem, coef, intercept)
    wrong = np.flatnonzero(signs < 0)
    if len(wrong):
        raise _fail(f"row {problem.sample_of(int(wrong[0]))} is on the wrong side of the plane")
    if not (signs > 0).any():
        raise _fail("every row lies on the weak separator, so it separates nothing")
    if tuple(proof.columns) != carrying_columns(coef):
        raise _fail(f"columns names {proof.columns}, the plane uses {carrying_columns(coef)}")
    return np.flatnonzero(signs == 0)


def carrying_columns(coef: NDArray[Any]) -> tuple[int, ...]:
    """Features whose weights are not zero (K > 2 classes: not equal for all classes)."""
    blocks = np.asarray(coef)
    if blocks.ndim == 1:
        return tuple(j for j, v in enumerate(blocks.tolist()) if v != 0)
    first = blocks[0].tolist()
    rest = blocks[1:].tolist()
    return tuple(j for j, v in enumerate(first) if any(row[j] != v for row in rest))


# -- in the feature space of a kernel -------------------------------------------------------------


def _check_in_feature_space(proof: Proof, problem: Problem, kernel: Kernel) -> None:
    if proof.coef is not None or proof.columns or len(proof.span_rows):
        raise _fail("it gives a plane of X and speaks of a feature space")
    if proof.separable is False:
        _check_equal_images(proof, problem, kernel)
        return
    if len(proof.rows) or proof.multipliers:
        raise _fail("it gives a proof that nothing separates and says otherwise")
    space = FeatureSpace(problem, kernel)
    low = 0.0
    if proof.separable and len(proof.support):
        found = space.separated(_sums(proof, problem))
        if found is None:
            raise _fail("the sum does not have every row on its own side, beyond rounding")
        low = found
    elif proof.separable and (not kernel.strict or equal_rows(problem) is not None):
        raise _fail("it gives no sum over kernel values, and its kernel alone proves nothing here")
    if proof.margin[0] > low:
        raise _fail(f"the margin of the sum is {low}, not {proof.margin[0]}")
    if proof.margin[1] < np.inf:
        high = space.bound(*_check_hulls(proof, problem))
        if proof.margin[1] < high:
            raise _fail(f"the nearest points bound the margin by {high}, not by {proof.margin[1]}")


def _sums(proof: Proof, problem: Problem) -> Sums:
    """The sum of the proof, or those of all classes, if they have the right shapes."""
    _check_indexes(proof.support, problem.n, "support")
    many = 1 if problem.binary else problem.K
    coef = np.asarray(proof.dual_coef, dtype=np.float64)
    offsets = np.asarray(proof.intercept, dtype=np.float64).reshape(-1)
    due = (len(proof.support),) if many == 1 else (many, len(proof.support))
    if len(np.unique(proof.support)) != len(proof.support) or coef.shape != due:
        raise _fail(f"its coefficients have the shape {coef.shape}, its rows need {due}")
    if offsets.shape != (many,) or not (np.isfinite(coef).all() and np.isfinite(offsets).all()):
        raise _fail("its offsets are not one finite number for each sum")
    if not problem.fit_intercept and offsets.any():
        raise _fail("it uses an intercept where none is allowed")
    return Sums(proof.support, coef.reshape(many, -1), offsets)


def _check_equal_images(proof: Proof, problem: Problem, kernel: Kernel) -> None:
    """The multipliers combine the images, class by class, to vectors of length zero."""
    if not proof.exact or proof.margin != (0.0, 0.0):
        raise _fail("it claims a margin, or rounded numbers, where nothing separates")
    _check_combination(problem, proof.rows, proof.rivals, proof.multipliers, "rows")
    if sum(proof.multipliers) != 1:
        raise _fail("the multipliers do not sum to 1")
    require_one_point(problem, kernel, proof.rows, proof.rivals, proof.multipliers)


def require_one_point(
    problem: Problem,
    kernel: Kernel,
    samples: NDArray[np.int64],
    rivals: NDArray[np.int64] | None,
    multipliers: Sequence[Fraction],
) -> None:
    """Raise ProofError unless the weighted images of each class and of its rivals' rows are one."""
    rows, own = samples.tolist(), problem.label[samples].tolist()
    others = [1 - k for k in own] if rivals is None else rivals.tolist()
    for k in range(1 if problem.binary else problem.K):
        signed = [m * ((a == k) - (b == k)) for m, a, b in zip(multipliers, own, others)]
        require_zero(problem, kernel, rows, signed, free=problem.fit_intercept)


# -- What a proof says, in words ------------------------------------------------------------------


_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_SHOWN = 12  # rows or features listed in a sentence
_DIGITS = 15  # characters of a fraction up to which it is printed in full


def sentence(proof: Proof) -> str:
    """One sentence: the verdict and what supports it."""
    text = _verdict(proof)
    if proof.separable is False and not proof.exact:
        text += " (up to rounding: exact=False)"
    return text


def _verdict(proof: Proof) -> str:
    where = "" if proof.kernel is None else f" in the feature space of {proof.kernel!r}"
    if proof.separable is None:
        why = "in float64" if proof.kernel is not None else "when the time was up"
        return f"undecided{where} {why}: {_undecided_margin(proof)}"
    if proof.separable:
        return f"separable{where}, {_known_margin(proof)}"
    rows = _count(len(proof.rows), "row")
    verb = "proves" if len(proof.rows) == 1 else "prove"
    these = "this" if len(proof.rows) == 1 else "these"
    text = f"not separable{where}: {these} {rows} {verb} it ({_listed(proof.rows.tolist())})"
    if proof.quasi:
        names = [_feature(proof, j) for j in proof.columns]
        on = "a plane" if len(proof.classes) == 2 else "a linear machine"
        return (
            f"{text}; but {on} with no row strictly on the wrong side exists, "
            f"carried by {_listed(names)}"
        )
    return text


def _known_margin(proof: Proof) -> str:
    """The margin; that of a feature space may be too small for float64, or not exist."""
    if proof.kernel is None or (proof.margin[0] > 0 and proof.margin[1] < np.inf):
        return _margin(proof.margin)
    if not len(proof.support):
        most = (
            ""
            if isinf(proof.margin[1])
            else f"; the margin is at most {round_up(proof.margin[1], 3)}"
        )
        return f"as any labels of distinct rows are{most}"
    if isinf(proof.margin[1]):
        return (
            "by a sum over kernel values; a kernel that is not positive semidefinite has no margin"
        )
    return f"with a margin of at most {round_up(proof.margin[1], 3)}"


def _margin(margin: tuple[float, float]) -> str:
    low, high = margin
    if low == high:
        return f"margin {low:.10g}"
    digits = 4 if high < 1.01 * low else 3
    return f"margin between {round_down(low, digits)} and {round_up(high, digits)}"


def _undecided_margin(proof: Proof) -> str:
    high = proof.margin[1]
    if isinf(high):
        return "nothing is known about the margin yet"
    return f"if the classes are separable, the margin is at most {round_up(high, 3)}"


def round_down(value: float, digits: int) -> str:
    """The largest number of that many digits not above the value.

    >>> round_down(0.89447, 4)
    '0.8944'
    """
    return _rounded(value, digits, floor)


def round_up(value: float, digits: int) -> str:
    """The smallest number of that many digits not below the value.

    >>> round_up(0.89441, 4)
    '0.8945'
    >>> round_up(4.9961e-13, 4)
    '4.997e-13'
    """
    return _rounded(value, digits, ceil)


def _rounded(value: float, digits: int, towards: Any) -> str:
    if value == 0 or isinf(value):
        return f"{value:g}"
    exact = Fraction(value)
    place = floor(log10(abs(value))) - digits + 1
    unit = Fraction(10) ** place
    number = towards(exact / unit)
    if -6 < place + digits < 16:
        text = f"{float(number * unit):.{max(0, -place)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    text = str(abs(number))
    text = f"{text[0]}.{text[1:]}".rstrip("0").rstrip(".")
    return f"{'-' if number < 0 else ''}{text}e{place + len(str(abs(number))) - 1:+03d}"


def _count(number: int, noun: str) -> str:
    word = _WORDS[number] if number < len(_WORDS) else str(number)
    return f"{word} {noun}" if number == 1 else f"{word} {noun}s"


def _listed(items: Sequence[Any]) -> str:
    shown = [str(item) for item in items[:_SHOWN]] or ["none"]
    if len(items) > _SHOWN:
        return ", ".join(shown) + f" and {len(items) - _SHOWN} more"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def combination(rows: Sequence[int], multipliers: Sequence[Fraction]) -> str:
    """Multiples of rows in one line; fractions too long to be read are rounded.

    >>> combination([0, 3], [Fraction(1, 2), Fraction(10**20 + 1, 2 * 10**20)])
    '1/2 x row 0 and ~0.5 x row 3'
    """
    return _listed([f"{_multiple(m)} x row {row}" for row, m in zip(rows, multipliers)])


def _multiple(number: Fraction) -> str:
    if max(abs(number.numerator), number.denominator).bit_length() > 4 * _DIGITS:
        return f"~{_short(number)}"
    text = str(number)
    return text if len(text) <= _DIGITS else f"~{_short(number)}"


def _feature(proof: Proof, column: int) -> str:
    return proof.feature_names[column] if proof.feature_names else f"x{column + 1}"


# -- in full --------------------------------------------------------------------------------------


def explanation(proof: Proof) -> str:
    """Several lines: the verdict, the numbers behind it and why they prove it."""
    lines = [f"{proof}."]
    if proof.kernel is not None:
        lines += _in_feature_space(proof)
    elif proof.separable:
        lines += [_plane_text(proof, "The plane"), "Every row lies strictly on its own side."]
        lines += _bounds_text(proof)
    elif proof.separable is False:
        lines += _combination_text(proof)
        if proof.quasi:
            lines += [
                _plane_text(proof, "The weak separator"),
                "No row lies strictly on its wrong side, and no plane has more rows strictly "
                "on their right side.",
            ]
        elif proof.quasi is False:
            lines.append(
                f"No plane is even weakly separating: {_count(len(proof.span_rows), 'row')} with "
                "positive multipliers sum to zero and span all rows."
            )
        else:
            lines.append(
                "Whether a plane is weakly separating is left open: that takes long to find out."
            )
    how = "rational arithmetic" if proof.exact else "floating point, rounding not excluded"
    if proof.kernel is not None and proof.separable:
        how = "floating point within its error bounds"
    decided = "Not decided" if proof.separable is None else f"Decided by {how},"
    lines.append(f"{decided} in {proof.seconds:.3g} s.")
    return "\n".join(lines)


def _in_feature_space(proof: Proof) -> list[str]:
    if proof.separable is False:
        return [
            "With these shares the images of the rows of one class and those of the other are one "
            f"point: {combination(proof.rows.tolist(), proof.multipliers)}.",
            "A plane with every row on its own side would have that point on both.",
        ]
    if proof.separable is None:
        return []
    if not len(proof.support):
        return [
            f"{proof.kernel!r} is strictly positive definite: the images of distinct rows are "
            "independent, so some plane gives each of them any value at all. No two equal rows "
            "have different labels."
        ]
    terms = _count(len(proof.support), "row")
    lines = [f"f(x) = sum of dual_coef K(x_i, x) over {terms} + intercept separates them."]
    return lines + (_bounds_text(proof) if proof.margin[0] > 0 and proof.margin[1] < np.inf else [])


def _bounds_text(proof: Proof) -> list[str]:
    low, high = proof.margin
    return [
        f"Its margin is at least {low!r}.",
        f"No plane has a margin above {high!r}: the hulls of the classes come that near, at the "
        f"point made of {_count(len(proof.hull_rows), 'row')}.",
    ]


def _plane_text(proof: Proof, name: str) -> str:
    if proof.coef is None:
        return ""
    coef = np.asarray(proof.coef)
    if coef.ndim > 1:
        return f"{name}: one weight vector for each of {len(coef)} classes (coef, intercept)."
    terms = [f"{_short(v)} {_feature(proof, j)}" for j, v in enumerate(coef.tolist()) if v != 0]
    if len(terms) > _SHOWN:
        terms = [*terms[:_SHOWN], f"... ({len(terms)} features)"]
    if proof.intercept:
        terms.append(_short(proof.intercept))
    return f"{name}: " + " + ".join(terms).replace("+ -", "- ") + " = 0."


def _short(value: Any) -> str:
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return "a number beyond 1e308"


def _combination_text(proof: Proof) -> list[str]:
    if not proof.exact:
        numbers: list[Any] = [float(m) for m in proof.multipliers]
    else:
        numbers = scaled_integers(proof.multipliers)[0]
    lines = ["These multiples of the rows y [x, 1] sum to zero:"]
    if not proof.fit_intercept:
        lines = ["These multiples of the rows y x sum to zero:"]
    for at, (row, number) in enumerate(zip(proof.rows.tolist(), numbers)):
        if at == 2 * _SHOWN:
            lines.append(f"  ... and {len(numbers) - at} more")
            break
        rival = "" if proof.rivals is None else f" against {proof.classes[proof.rivals[at]]}"
        size = number if number < 10**12 else f"about 2^{number.bit_length() - 1}"
        lines.append(f"  {size} x row {row}{rival}")
    lines.append("A plane with every row on its own side would make that sum positive.")
    return lines
