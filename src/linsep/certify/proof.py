"""A verdict on separability that anybody can check again from its own numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.errors import ProofError

__all__ = ["Proof"]

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
    seconds: float = 0.0

    # -- reading -----------------------------------------------------------------------------

    def __str__(self) -> str:
        from linsep.certify.sentences import sentence

        return sentence(self)

    def __repr__(self) -> str:
        return f"<Proof: {self}>"

    def explain(self) -> str:
        """The proof in full, for a reader who wants to follow it."""
        from linsep.certify.sentences import explanation

        return explanation(self)

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
        from linsep.certify.recheck import recheck

        problem = Problem(X, y, fit_intercept=self.fit_intercept, feature_names=self.feature_names)
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
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The proof that ``to_dict`` wrote."""
        if not isinstance(data, dict) or data.get("format") != "linsep-proof":
            raise ProofError("this is not a stored linsep proof: its 'format' is missing.")
        if data.get("version") != VERSION:
            raise ProofError(
                f"this proof has version {data.get('version')!r}; version {VERSION} can be read. "
                "Make the proof again with linsep.separability."
            )
        try:
            values = {name: _unpack(name, data[name]) for name in cls.__dataclass_fields__}
        except KeyError as error:
            raise ProofError(f"the stored proof lacks {error.args[0]!r}.") from None
        except (TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            raise ProofError(f"the stored proof cannot be read: {error}.") from error
        return cls(**values)

    def to_json(self) -> str:
        """The dictionary as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The proof in JSON text."""
        try:
            return cls.from_dict(json.loads(text))
        except json.JSONDecodeError as error:
            raise ProofError(f"the stored proof is not JSON: {error}.") from error


# -- numbers as text ------------------------------------------------------------------------------

_INDEXES = ("rows", "rivals", "hull_rows", "span_rows", "span_rivals")
_FRACTIONS = ("multipliers", "span_multipliers")


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_pack(v) for v in (value if value.ndim > 1 else value.tolist())]
    if isinstance(value, tuple | list):
        return [_pack(v) for v in value]
    if isinstance(value, Fraction):
        return f"{_digits(value.numerator)}/{_digits(value.denominator)}"
    if isinstance(value, np.generic):
        return _pack(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _unpack(name: str, value: Any) -> Any:
    if name in _INDEXES:
        return None if value is None else _indexes(value)
    if name in _FRACTIONS:
        return tuple(_number(v) for v in value)
    if name in ("coef", "intercept"):
        return None if value is None else _weights(value)
    if name == "hull_weights":
        return _weights(value) if value else np.zeros(0)
    if name == "margin":
        low, high = (float(v) for v in value)
        return low, high
    if name == "classes":
        return np.array(value)
    if name in ("columns", "feature_names"):
        return None if value is None else tuple(value)
    return value


def _indexes(value: list[Any]) -> NDArray[np.int64]:
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        raise ValueError("a row number is not an integer")
    return np.array(value, dtype=np.int64)


def _weights(value: Any) -> Any:
    if isinstance(value, list):
        rows = value if value and isinstance(value[0], list) else [value]
        if any(isinstance(v, str) for row in rows for v in row):
            out = np.array([[_number(str(v)) for v in row] for row in rows], dtype=object)
            return out if rows is value else out[0]
        return np.array(value, dtype=np.float64)
    return _number(value) if isinstance(value, str) else float(value)


def _number(text: str) -> Fraction:
    """The Fraction in a string "p/q"."""
    above, _, below = text.partition("/")
    return Fraction(_integer(above), _integer(below or "1"))


def _digits(number: int) -> str:
    """Decimal digits of any length; Python alone refuses beyond some 4300."""
    if number.bit_length() < 10_000:
        return str(number)
    import flint

    return str(flint.fmpz(number))


def _integer(text: str) -> int:
    if len(text) < 3000:
        return int(text)
    import flint

    return int(flint.fmpz(text))
