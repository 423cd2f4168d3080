"""What a count among independent trials says about a probability, and a mean about a mean."""

from __future__ import annotations

from math import log, sqrt

from linsep.errors import SettingError


def check_level(value: float, name: str) -> float:
    """A number strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise SettingError(f"{name} must lie strictly between 0 and 1. Got {value!r} instead.")
    return float(value)


def binomial_interval(count: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of Clopper and Pearson: it holds the probability with at least confidence.

    >>> low, high = binomial_interval(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1 - tail))
    return low, high


def exceedance_bound(above: int, n: int, confidence: float) -> float:
    """The probability to exceed the score with ``above`` of n scores over it is at most this."""
    from scipy.special import betaincinv

    return float(betaincinv(above + 1, n - above, confidence))


def hoeffding_width(spread: float, shares: float, confidence: float) -> float:
    """Half the width of Hoeffding's interval for a mean of numbers in a range of length spread.

    ``shares`` is the sum of the squared weights, 1/n for n equal ones.
    """
    return spread * sqrt(shares * log(2 / (1 - confidence)) / 2)
