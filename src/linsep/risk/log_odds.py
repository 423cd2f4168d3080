"""Probabilities, odds and log odds, safe at both ends.

    odds(p) = p / (1 - p)          logit(p) = ln odds(p)          p = e^l / (1 + e^l)
    p = 0, 1/2, 1   ->   logit -inf, 0, +inf

A float64 probability near 1 has no digits left for 1 - p: the largest one below 1 has the log
odds 36.7. Whoever needs more keeps q = 1 - p, for which logit(p) = -logit(q).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit as _logit

from linsep.errors import DataError
from linsep.losses.logistic import probability as of_the_own_class

__all__ = ["inverse_logit", "logistic", "logit", "odds", "probability"]


def logit(p: ArrayLike) -> float | NDArray[np.float64]:
    """Log odds ln(p / (1 - p)) of probabilities.

    Parameters
    ----------
    p : float or array
        Between 0 and 1; the ends give -inf and +inf.

    Returns
    -------
    float or array of the same shape

    Examples
    --------
    >>> from linsep.risk import logit
    >>> logit([0.0, 0.5, 1.0]).tolist()
    [-inf, 0.0, inf]
    """
    return _plain(_logit(_probabilities(p)))


def inverse_logit(log_odds: ArrayLike) -> float | NDArray[np.float64]:
    """Probability e^l / (1 + e^l) of log odds l; no l overflows.

    The probability of the other event, 1 - p, keeps all its digits as inverse_logit(-l).

    Examples
    --------
    >>> from linsep.risk import inverse_logit
    >>> inverse_logit([-float("inf"), 0.0, 800.0]).tolist()
    [0.0, 0.5, 1.0]
    """
    values = np.asarray(log_odds, dtype=np.float64)
    _refuse(np.isnan(values), values, "log odds", "a number, -inf or inf")
    return _plain(logistic(values))


def logistic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + e^-l), also where the result is too small for a normal float."""
    return of_the_own_class(-values)


def odds(p: ArrayLike) -> float | NDArray[np.float64]:
    """Odds p / (1 - p); inf for p = 1.

    Examples
    --------
    >>> from linsep.risk import odds
    >>> odds(0.75)
    3.0
    """
    values = _probabilities(p)
    with np.errstate(divide="ignore"):
        return _plain(values / (1.0 - values))


def probability(odds: ArrayLike) -> float | NDArray[np.float64]:
    """Probability o / (1 + o) of odds o; 1 for infinite odds.

    Examples
    --------
    >>> from linsep.risk import probability
    >>> probability(3.0)
    0.75
    """
    values = np.asarray(odds, dtype=np.float64)
    _refuse(~(values >= 0), values, "odds", "a number >= 0")
    small = np.minimum(values, 1.0)  # of o and 1/o the one that cannot overflow
    with np.errstate(divide="ignore"):
        large = 1.0 / np.maximum(values, 1.0)
    return _plain(np.where(values <= 1.0, small / (1.0 + small), 1.0 / (1.0 + large)))


def _probabilities(p: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(p, dtype=np.float64)
    _refuse(~((values >= 0) & (values <= 1)), values, "p", "a probability, from 0 to 1")
    return values


def _refuse(bad: NDArray[np.bool_], values: NDArray[np.float64], name: str, words: str) -> None:
    if bad.any():
        at = np.argwhere(bad)[0]
        place = f"[{', '.join(map(str, at))}]" if values.ndim else ""
        raise DataError(f"{name}{place} is {values[tuple(at)]}; give {words}.")


def _plain(values: NDArray[np.float64]) -> float | NDArray[np.float64]:
    """A float for one value, else the array."""
    return values if np.ndim(values) else float(values)
