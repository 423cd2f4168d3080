"""Probabilities for classifiers that have none, from scores of rows they were not trained on.

Let s_1, ..., s_K be the scores of a row, t the class that ``predict`` gives (the largest score),
m >= 0 the distance of the two largest scores, and e_k = exp((s_k - second) / T) for the other
classes, T a temperature. Every method has the form

    p_k = (1 - p_t) e_k / sum_j e_j    for k other than t,

and the methods differ in the probability p_t of the class predicted:

temperature  p_t / p_second = exp(m / T): the softmax of s / T
sigmoid      p_t / p_second = exp(a_t m), a_t >= 0: a slope for each class that is predicted
isotonic     p_t is a function of m that never falls, one for each class that is predicted,
             not below the p at which p_t = p_second

With two classes m = |f| and the first two are sigmoids through 1/2 at f = 0. In all of them
p_t >= p_k for all k, by construction and not by luck, and p_k never falls when s_k grows. So the
largest probability belongs to the class predicted, always; ties of scores are decided as
``predict`` decides them, by the smallest difference of two numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.errors import ModelError

__all__ = ["METHODS", "Calibration", "fit_calibration"]

Array = NDArray[np.float64]

METHODS = ("sigmoid", "isotonic", "temperature")
_LARGE = 1e150  # scores and slopes beyond it are as good as infinite; their product is finite


@dataclass(frozen=True)
class Calibration:
    """From scores to probabilities."""

    method: str
    inverse_temperature: float
    """1 / T."""
    slopes: tuple[float, ...] = ()
    """sigmoid: a_k for each class."""
    steps: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = ()
    """isotonic: for each class distances m and the probabilities there, linear in between."""
    rows: int = 0
    """Rows out of fold that it was fitted to."""

    def probabilities(self, scores: Array) -> Array:
        """Probabilities of the classes, shape (n, K), from scores of shape (n,) or (n, K)."""
        full, top = _full(scores)
        m, shares, second = _parts(full, top, self.inverse_temperature)
        if self.method == "isotonic":
            p_top = np.empty(len(m))
            for k, (at, height) in enumerate(self.steps):
                own = top == k
                p_top[own] = np.interp(m[own], at, height)
            p_top = np.maximum(p_top, second / (1.0 + second))
            ratio = (1.0 - p_top)[:, None]
        else:
            slopes = self.slopes or (self.inverse_temperature,) * full.shape[1]
            fall = np.exp(-np.asarray(slopes)[top] * m)
            p_top = 1.0 / (1.0 + fall / second)
            ratio = (p_top * fall / second)[:, None]
        out: Array = ratio * shares
        rows = np.arange(len(m))
        out[rows, top] = p_top
        tied = out.argmax(axis=1) != top
        if tied.any():  # equal, or different by rounding only
            above = np.nextafter(out[tied].max(axis=1), 2.0)
            out[rows[tied], top[tied]] = above
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        return {
            "method": self.method,
            "inverse_temperature": self.inverse_temperature,
            "slopes": list(self.slopes),
            "steps": [[list(at), list(height)] for at, height in self.steps],
            "rows": self.rows,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], n_classes: int) -> Self:
        """The calibration behind ``to_dict``; ModelError where that is damaged."""
        try:
            method, rows = data["method"], int(data["rows"])
            inverse = float(data["inverse_temperature"])
            slopes = tuple(float(a) for a in data["slopes"])
            steps = tuple(
                (tuple(map(float, at)), tuple(map(float, height))) for at, height in data["steps"]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"calibration cannot be read ({error})") from error
        numbers = [inverse, *slopes, *(v for at, height in steps for v in (*at, *height))]
        known = method in METHODS and bool(np.isfinite(numbers).all()) and min(numbers) >= 0
        wanted = {"sigmoid": (n_classes, 0), "isotonic": (0, n_classes), "temperature": (0, 0)}
        if not known or (len(slopes), len(steps)) != wanted[method]:
            raise ModelError(f"calibration by {method!r:.40} has numbers that do not fit")
        for at, height in steps:
            rising = (np.diff(at) >= 0).all() and (np.diff(height) >= 0).all()
            if len(at) != len(height) or not at or not rising or max(height) > 1:
                raise ModelError("calibration has steps that are no rising function")
        return cls(method, inverse, slopes, steps, rows)

    def __str__(self) -> str:
        where = f"from {count(self.rows, 'row')} out of fold"
        if self.method == "temperature":
            return f"temperature, 1 / T = {self.inverse_temperature:.4g}, {where}"
        return f"{self.method}, one for each predicted class, {where}"


def fit_calibration(
    method: str, scores: Array, labels: NDArray[np.intp], weight: Array
) -> Calibration:
    """Fit to scores of rows that the classifier was not trained on.

    Parameters
    ----------
    method : one of METHODS
    scores : array of shape (n,) or (n, K)
    labels : array of int
        Class numbers.
    weight : array of shape (n,)
        A row of weight s counts as s rows.
    """
    full, top = _full(scores)
    inverse = _temperature(full, labels, weight)
    if method == "temperature":
        return Calibration(method, inverse, rows=len(full))
    m, _, second = _parts(full, top, inverse)
    right = top == labels
    K = full.shape[1]
    if method == "sigmoid":
        slopes = [
            _slope(m[own], np.log(second[own]), right[own], weight[own]) if own.any() else inverse
            for own in (top == k for k in range(K))
        ]
        return Calibration(method, inverse, slopes=tuple(slopes), rows=len(full))
    every = np.ones(len(top), dtype=bool)
    steps = []
    for k in range(K):
        own = top == k
        own = own if own.any() else every
        steps.append(_isotonic(m[own], right[own], weight[own]))
    return Calibration(method, inverse, steps=tuple(steps), rows=len(full))


# -- parts of the formula ---------------------------------------------------------------------


def _full(scores: Array) -> tuple[Array, NDArray[np.intp]]:
    """One score for each class, and the class predicted."""
    scores = np.clip(np.asarray(scores, dtype=np.float64), -_LARGE, _LARGE)
    if scores.ndim == 1:
        return np.column_stack([np.zeros(len(scores)), scores]), (scores >= 0).astype(np.intp)
    return scores, scores.argmax(axis=1)


def _parts(full: Array, top: NDArray[np.intp], inverse: float) -> tuple[Array, Array, Array]:
    """m; the shares of the other classes among themselves; the share of the second of them."""
    rows = np.arange(len(full))
    away = full - full[rows, top][:, None]
    away[rows, top] = -np.inf
    nearest = away.max(axis=1)
    with np.errstate(invalid="ignore"):
        powers = np.exp(np.where(np.isinf(away), -np.inf, (away - nearest[:, None]) * inverse))
    powers[rows, top] = 0.0
    total = powers.sum(axis=1)
    return -nearest, powers / total[:, None], 1.0 / total


# -- fits, each of one parameter and with one solution ------------------------------------------


def _temperature(full: Array, labels: NDArray[np.intp], weight: Array) -> float:
    """1 / T of largest likelihood, for targets that keep away from 0 and 1 (Platt)."""
    n, K = full.shape
    count = np.bincount(labels, weight, minlength=K)
    own = (count[labels] + 1.0) / (count[labels] + 2.0)
    target = np.repeat((1.0 - own)[:, None] / (K - 1), K, axis=1)
    target[np.arange(n), labels] = own
    centred = full - full.max(axis=1, keepdims=True)

    def slope(inverse: float) -> float:
        p = np.exp(inverse * centred)
        p /= p.sum(axis=1, keepdims=True)
        return float(weight @ ((p - target) * centred).sum(axis=1))

    return _root(slope, float(np.abs(centred).max()))


def _slope(m: Array, odds: Array, right: NDArray[np.bool_], weight: Array) -> float:
    """a >= 0 of largest likelihood for log odds of ``odds`` + a m."""
    from scipy.special import expit

    yes, no = float(weight[right].sum()), float(weight[~right].sum())
    target = np.where(right, (yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0))

    def slope(a: float) -> float:
        return float(weight @ ((expit(odds + a * m) - target) * m))

    return _root(slope, float(m.max()))


def _root(slope: Callable[[float], float], unit: float) -> float:
    """Where a rising function of a >= 0 crosses zero; 0 where it begins above."""
    from scipy.optimize import brentq

    if not unit > 0 or slope(0.0) >= 0:
        return 0.0
    high = 1.0 / max(unit, 1.0 / _LARGE)
    while high < _LARGE:
        if slope(high) > 0:
            return float(brentq(slope, 0.0, high, xtol=1e-13 * high, rtol=1e-13))
        high *= 2.0
    return _LARGE


def _isotonic(
    m: Array, right: NDArray[np.bool_], weight: Array
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Least squares among the functions that never fall; n rows never prove a 0 or a 1."""
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(out_of_bounds="clip").fit(m, right.astype(float), weight)
    total = float(weight.sum())
    height = np.clip(model.y_thresholds_, 1.0 / (total + 2.0), (total + 1.0) / (total + 2.0))
    return tuple(model.X_thresholds_.tolist()), tuple(height.tolist())
