"""What the error on the training data promises about new data, for a class of VC dimension h.

With probability at least 1 - eta over the n independent training rows, for all rules of the
class together:
    vapnik     R <= R_emp + sqrt((h (ln(2 n / h) + 1) - ln(eta / 4)) / n)
    relative   R <= R_emp + e / 2 (1 + sqrt(1 + 4 R_emp / e)),  e = 4 (the same fraction)
    counted    R <= R_emp + 1 / n + sqrt((n + 1) ln(2 S / eta)) / n,  S = sum_{k<=h} binom(2 n, k)

Vapnik, The Nature of Statistical Learning Theory (1995), chapter 3; the first is (3) of Burges,
Data Mining and Knowledge Discovery 2 (1998), the second (7.46) of Hastie, Tibshirani, Friedman.
The third is proved in docs/risk.md. h must be known before the data are seen.
"""

from __future__ import annotations

from math import inf, isfinite, log, sqrt
from numbers import Real
from typing import Any, Self

import numpy as np

from linsep.core.words import count
from linsep.errors import SettingError
from linsep.risk.intervals import check_level

__all__ = ["FORMS", "StructuralBound", "structural_bound"]

_TERMS = 10_000  # of a sum that are added one by one
FORMS = ("vapnik", "relative", "counted")


class StructuralBound(float):
    """A bound of the risk, as a float with its parts.

    Attributes
    ----------
    bound : float
        The number itself: empirical risk plus capacity. It may exceed 1.
    capacity : float
        What is added to the empirical risk.
    vacuous : bool
        True if the bound is at least 1, so that it says nothing.
    confidence : float
        1 - eta: the probability, over training samples, that the bound holds.
    rows_needed : int
        With the same h and empirical risk, so many rows make the bound less than 1.
    words : str
        All that in a sentence.
    """

    risk_emp: float
    capacity: float
    vacuous: bool
    confidence: float
    h: float
    n: int
    rows_needed: int
    words: str

    @property
    def bound(self) -> float:
        """The number itself."""
        return float(self)

    @classmethod
    def make(cls, risk_emp: float, h: float, n: int, eta: float, form: str) -> Self:
        """The number with its parts."""
        capacity = _capacity(risk_emp, h, n, eta, form)
        out = cls(risk_emp + capacity)
        out.risk_emp, out.capacity, out.h, out.n = risk_emp, capacity, h, n
        out.vacuous, out.confidence = risk_emp + capacity >= 1, 1 - eta
        out.rows_needed = _rows_needed(risk_emp, h, eta, form)
        out.words = out._sentence()
        return out

    def _sentence(self) -> str:
        parts = f"{self.risk_emp:.4g} on {count(self.n, 'row')} + "
        parts += f"{self.capacity:.4g} for h = {self.h:g}"
        if self.vacuous:
            more = (
                f"; {self.rows_needed} rows would make it less than 1" if self.rows_needed else ""
            )
            return f"vacuous: the bound {float(self):.4g} ({parts}) is not below 1{more}"
        return (
            f"with probability {self.confidence:.6g} at least, the risk is at most "
            f"{float(self):.4g} ({parts})"
        )

    def __str__(self) -> str:
        return self.words


def structural_bound(
    risk_emp: float, h: float, n: int, eta: float = 0.05, *, form: str = "vapnik"
) -> StructuralBound:
    """Bound the risk by the error on n training rows and the VC dimension h.

    Parameters
    ----------
    risk_emp : float
        Share of training rows that are wrong, between 0 and 1.
    h : int
        VC dimension of the class, known before the data: see vc_dimension. A bound from the
        margin of the same data does not count as known before.
    n : int
        Number of independent training rows.
    eta : float, default=0.05
        Probability that the sample is so unlucky that the bound is wrong.
    form : {"vapnik", "relative", "counted"}, default="vapnik"
        "vapnik": the usual form. "relative": better where risk_emp is near zero.
        "counted": proved on the page about risk with all constants; often the smallest.

    Examples
    --------
    >>> from linsep.risk import structural_bound
    >>> bound = structural_bound(0.1, 3, 1000)
    >>> round(bound, 4), round(bound.capacity, 4), bound.vacuous
    (0.264, 0.164, False)
    >>> print(structural_bound(0.0, 11, 20))
    vacuous: the bound 1.216 (0 on 20 rows + 1.216 for h = 11) is not below 1; 37 rows would make
    it less than 1
    """
    numbers: list[tuple[Any, str]] = [(risk_emp, "risk_emp"), (h, "h"), (n, "n")]
    for given, name in numbers:
        if isinstance(given, bool) or not isinstance(given, Real):
            raise SettingError(f"{name} must be a number. Got {given!r} instead.")
    value = float(risk_emp)
    if not 0 <= value <= 1:
        raise SettingError(f"risk_emp must lie between 0 and 1. Got {risk_emp!r} instead.")
    if not (h == inf or (h >= 0 and h == int(h))):
        raise SettingError(f"h must be an integer >= 0 (or infinity). Got {h!r} instead.")
    if not isfinite(n) or n < 1 or n != int(n):
        raise SettingError(f"n must be an integer >= 1, the number of rows. Got {n!r} instead.")
    if form not in FORMS:
        raise SettingError(f"form must be one of {', '.join(FORMS)}. Got {form!r} instead.")
    size = float(h) if h == inf else int(h)
    return StructuralBound.make(value, size, int(n), check_level(eta, "eta"), form)


def _capacity(risk_emp: float, h: float, n: int, eta: float, form: str) -> float:
    if form == "counted":
        return 1 / n + sqrt((n + 1) * (_log_growth(h, 2 * n) + log(2 / eta))) / n
    # beyond h = 2 n all labellings are possible, and the term stays what it is there
    dim = min(h, 2 * n)
    part = ((dim * (log(2 * n / dim) + 1) if dim else 0.0) - log(eta / 4)) / n
    if form == "vapnik":
        return sqrt(part)
    e = 4 * part
    return e / 2 * (1 + sqrt(1 + 4 * risk_emp / e))


def _log_growth(h: float, n: int) -> float:
    """ln sum_{k <= h} binom(n, k), rounded up a little."""
    if h >= n:
        return n * log(2)
    if h > _TERMS:  # the usual bound of the sum
        return min(n * log(2), h * (log(n / h) + 1))
    from scipy.special import gammaln, logsumexp

    k = np.arange(int(h) + 1)
    terms = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return min(n * log(2), float(logsumexp(terms)) * (1 + 1e-9) + 1e-9)


def _rows_needed(risk_emp: float, h: float, eta: float, form: str) -> int:
    """The least n with a bound below 1; 0 when there is none."""
    if risk_emp >= 1 or h == inf:
        return 0
    low, high = 0, 1
    while risk_emp + _capacity(risk_emp, h, high, eta, form) >= 1:
        low, high = high, 2 * high
        if high > 10**15:
            return 0
    while high - low > 1:
        middle = (low + high) // 2
        if risk_emp + _capacity(risk_emp, h, middle, eta, form) >= 1:
            low = middle
        else:
            high = middle
    return high
