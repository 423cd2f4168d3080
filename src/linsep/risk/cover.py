"""How many labellings a hyperplane can give (Cover, IEEE Trans. Electronic Computers 14, 1965).

C(N, d) = 2 sum_{k < d} binom(N - 1, k)     planes through the origin, N rows in general position
P(N, d) = C(N, d) / 2^N                     that a random labelling is one of them

A plane with an offset in R^n is one through the origin of R^(n+1): d = n + 1.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from linsep.errors import SettingError

__all__ = ["cover_count", "cover_probability"]


def cover_count(N: int, d: int, *, fit_intercept: bool = False) -> int:
    """Number of labellings of N rows that a hyperplane separates.

    Parameters
    ----------
    N : int
        Rows in general position.
    d : int
        Columns.
    fit_intercept : bool, default=False
        Whether the plane may keep away from the origin, which counts as one more column.

    Examples
    --------
    Of the 16 labellings of four points of the plane two are XOR:

    >>> from linsep.risk import cover_count
    >>> cover_count(4, 2, fit_intercept=True)
    14
    """
    for value, name, least in ((N, "N", 1), (d, "d", 0)):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
            raise SettingError(f"{name} must be an integer >= {least}. Got {value!r} instead.")
    width = int(d) + bool(fit_intercept)
    return 2 * sum(comb(int(N) - 1, k) for k in range(min(width, int(N))))


def cover_probability(N: int, d: int, *, fit_intercept: bool = False) -> Fraction:
    """Probability that random labels of N rows in general position are separable.

    It is 1 while N <= d, and 1/2 at N = 2 d, the capacity of the class.

    Examples
    --------
    >>> from linsep.risk import cover_probability
    >>> cover_probability(20, 10), cover_probability(4, 2, fit_intercept=True)
    (Fraction(1, 2), Fraction(7, 8))
    """
    return Fraction(cover_count(N, d, fit_intercept=fit_intercept), 2 ** int(N))
