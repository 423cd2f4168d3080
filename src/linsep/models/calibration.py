"""``calibrate=``: predict_proba for classifiers that give scores only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from linsep._sklearn import BaseEstimator, ClassifierMixin, available_if, clone
from linsep.core.limits import Interrupts, time_left, time_limit
from linsep.core.notes import warn
from linsep.core.validate import plain_labels
from linsep.core.words import count
from linsep.errors import DataError, GapWarning, LinsepWarning, ModelError, SettingError
from linsep.models.fit import Check, either, none, one_of, row_weights

_FOLDS = 5
_QUIET: dict[str, Any] = {
    "calibrate": None, "calibrate_cv": None, "callbacks": None, "verbose": 0, "warm_start": False,
}  # fmt: skip


def _is_splits(value: Any) -> bool:
    if isinstance(value, Integral):
        return int(value) >= 2  # so True is no number of folds
    return value is None or isinstance(value, list | tuple) or hasattr(value, "split")


_splits = Check(
    lambda v: not isinstance(v, str) and _is_splits(v),
    "None, a number of folds >= 2, a splitter such as GroupKFold() or a list of pairs "
    "(train, test) of row numbers",
)


def _is_asked_for(model: object) -> bool:
    return getattr(model, "calibrate", None) is not None


class Calibrated(ClassifierMixin, BaseEstimator):
    """Adds ``predict_proba`` to a classifier whose parameter ``calibrate`` is not None.

    The scores come from fits to four fifths of the rows, for the other fifth. The plane itself
    is that of all rows, and ``predict`` is not changed.
    """

    calibrate: str | None
    classes_: NDArray[Any]
    calibration_: Calibration
    _stopped_calibrating: bool = False

    @available_if(_is_asked_for)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes; the largest is that of the class predicted.

        Exists with ``calibrate`` only.
        """
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            stopped = getattr(getattr(self, "outcome_", None), "interrupted", False)
            stopped = stopped or self._stopped_calibrating
            asked = f"set to {getattr(self, 'calibrate', None)!r} after the fit"
            raise ModelError(
                f"calibrate was {'not reached before the fit was stopped' if stopped else asked}; "
                "fit again, for the probabilities need rows that were held out."
            )
        return self.calibration_.probabilities(self._scores(X))

    @available_if(_is_asked_for)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows that are right."""
        return float(super().score(X, plain_labels(y), sample_weight))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X and y."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the rows."""
        raise NotImplementedError

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores whose largest is the class predicted; one of >= 0 is the last of two."""
        return self.decision_function(X)

    def _weights(self, y: NDArray[Any], sample_weight: Any) -> Any:
        """Sample weights times class weights."""
        return row_weights(getattr(self, "class_weight", None), y, sample_weight)

    def _calibration_check(self) -> dict[str, Check]:
        """The checks of the parameters, where the estimator has them."""
        checks = {"calibrate": either(none, one_of(*METHODS)), "calibrate_cv": _splits}
        return {name: check for name, check in checks.items() if hasattr(self, name)}

    def _calibrate(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit the probabilities, if they are asked for; at the end of ``fit``."""
        self.__dict__.pop("calibration_", None)
        self.__dict__.pop("_stopped_calibrating", None)
        method = getattr(self, "calibrate", None)
        if method is None or getattr(getattr(self, "outcome_", None), "interrupted", False):
            return self
        y = np.asarray(plain_labels(y)).ravel()
        n = len(y)
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        weight = np.broadcast_to(weight, (n,))
        total = np.broadcast_to(self._weights(y, weight), (n,))
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        elif not hasattr(X, "iloc") and not isinstance(X, list):
            X = np.asarray(X)
        used = np.flatnonzero(total > 0)
        given = None if sample_weight is None else weight
        held, scores = self._out_of_fold(X, y, used, given)
        if self._stopped_calibrating:
            there = f"come from {len(held)} of {n} rows" if len(held) else "are missing"
            warn(
                f"the fit was stopped while it was calibrated: its probabilities {there}. "
                "The model itself is that of all rows; raise time_limit or fit again.",
                GapWarning,
            )
        if not len(held) and not self._stopped_calibrating:
            raise DataError(
                "calibrate_cv holds out no row whose class is left to train on; take a splitter "
                "that mixes the classes, such as StratifiedKFold."
            )
        if len(held):
            labels = np.searchsorted(self.classes_, y[held])
            self.calibration_ = fit_calibration(method, scores, labels, total[held])
        return self

    def _out_of_fold(
        self, X: Any, y: NDArray[Any], used: NDArray[np.intp], weight: Any
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Numbers of the rows held out, and their scores by models that have not seen them.

        Ctrl-C or the end of the time ends it with the folds that are complete.
        """
        held, scores = [np.zeros(0, dtype=np.intp)], []
        folds: Any = self._folds(X, y, used)
        left = 0
        if time_left() < np.inf:
            folds = list(folds)
            left = len(folds)
        with warnings.catch_warnings(), Interrupts() as interrupts:
            warnings.simplefilter("ignore", LinsepWarning)  # the fit to all rows has said it
            for train, out in folds:
                share, left = time_left() / max(left, 1), left - 1
                if not len(out):
                    continue
                if share > 0:
                    model = self._copy_for(train)
                    given = () if weight is None else (weight[train],)
                    with time_limit(share):
                        model.fit(_part(X, train, train, model), y[train], *given)
                if interrupts.requested or not share > 0:
                    self._stopped_calibrating = True
                    break
                held.append(out)
                scores.append(model._scores(_part(X, out, train, model)))
        return np.concatenate(held), np.concatenate(scores) if scores else np.zeros(0)

    def _folds(
        self, X: Any, y: NDArray[Any], used: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows to train on and rows to hold out.

        The only row of a class is never held out, nor are all rows of a class: no model would
        know it.
        """
        _, group, count = np.unique(y[used], return_inverse=True, return_counts=True)
        usable = used[count[group] > 1]
        if not len(usable):
            raise DataError(
                f"calibrate={self.calibrate!r} needs a class with two rows at least, "
                "one to train on and one to look at; leave calibrate out."
            )
        cv = getattr(self, "calibrate_cv", None)
        if cv is None or isinstance(cv, Integral):
            many = min(_FOLDS if cv is None else int(cv), int(count.max()))
            folds = StratifiedKFold(many, shuffle=True, random_state=self._calibration_seed())
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The least populated class", UserWarning)
                parts = [test for _, test in folds.split(np.zeros(len(usable)), y[usable])]
            everything = np.arange(len(y))
            for test in parts:
                yield np.setdiff1d(everything, usable[test]), usable[test]
            return
        pairs = cv.split(X, y) if hasattr(cv, "split") else cv
        for number, (train, out) in enumerate(pairs):
            yield _whole_classes(_numbers(train, len(y)), _numbers(out, len(y)), y, used, number)

    def _copy_for(self, train: NDArray[np.intp]) -> Self:
        """A fresh estimator with the same settings, for some of the rows."""
        model = clone(self)
        known = model.get_params(deep=False)
        quiet = {name: value for name, value in _QUIET.items() if name in known}
        if known.get("targets") is not None:
            quiet["targets"] = np.asarray(known["targets"])[train]
        return model.set_params(**quiet)

    def _share(self) -> float:
        """Share of the time that is for the fit to all rows, the others being calibrations."""
        if getattr(self, "calibrate", None) is None:
            return 1.0
        cv = getattr(self, "calibrate_cv", None)
        return 1.0 / (1 + (int(cv) if isinstance(cv, Integral) else _FOLDS))

    def _calibration_seed(self) -> int:
        return 0


def _part(X: Any, rows: NDArray[np.intp], train: NDArray[np.intp], model: object) -> Any:
    """Some rows; of a Gram matrix with the columns of those trained on."""
    part = _safe_indexing(X, rows)
    return part[:, train] if get_tags(model).input_tags.pairwise else part


def _numbers(rows: Any, n: int) -> NDArray[np.intp]:
    """Row numbers of a split, from numbers or from a mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool and len(rows) == n:
        return np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows.size and not -n <= rows.min()):
        raise SettingError("calibrate_cv must give row numbers, one-dimensional and whole.")
    if rows.size and rows.max() >= n:
        raise SettingError(f"calibrate_cv names the row {rows.max()}; X has {n} rows.")
    return np.asarray(rows.astype(np.intp) % n)


def _whole_classes(
    train: NDArray[np.intp],
    out: NDArray[np.intp],
    y: NDArray[Any],
    used: NDArray[np.intp],
    number: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A split in which every class can be learned: a class held out as a whole is not held out."""
    if np.intersect1d(train, out).size:
        raise SettingError(
            f"split {number} of calibrate_cv trains on rows that it holds out; the probabilities "
            "would be too good."
        )
    out = np.intersect1d(out, used)
    known = np.isin(y, np.unique(y[np.intersect1d(train, used)]))
    lost = used[~known[used]]
    return np.union1d(train, lost), out[known[out]]


# -- Probabilities for classifiers that have none, from scores of rows they were not trained on
#
# Let s_1, ..., s_K be the scores of a row, t the class that ``predict`` gives (the largest
# score), m >= 0 the distance of the two largest scores, and e_k = exp((s_k - second) / T) for the
# other classes, T a temperature. Every method has the form
#
#     p_k = (1 - p_t) e_k / sum_j e_j    for k other than t,
#
# and the methods differ in the probability p_t of the class predicted:
#
# temperature  p_t / p_second = exp(m / T): the softmax of s / T
# sigmoid      p_t / p_second = exp(a_t m), a_t >= 0: a slope for each class that is predicted
# isotonic     p_t is a function of m that never falls, one for each class that is predicted,
#              not below the p at which p_t = p_second
#
# With two classes m = |f| and the first two are sigmoids through 1/2 at f = 0. In all of them p_t
# >= p_k for all k, by construction and not by luck, and p_k never falls when s_k grows. So the
# largest probability belongs to the class predicted, always; ties of scores are decided as
# ``predict`` decides them, by the smallest difference of two numbers.


Array = NDArray[np.float64]

METHODS = ("sigmoid", "isotonic", "temperature")
_INFINITE = 1e150  # scores and slopes beyond it are as good as infinite; their product is finite


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
    scores = np.clip(np.asarray(scores, dtype=np.float64), -_INFINITE, _INFINITE)
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
    high = 1.0 / max(unit, 1.0 / _INFINITE)
    while high < _INFINITE:
        if slope(high) > 0:
            return float(brentq(slope, 0.0, high, xtol=1e-13 * high, rtol=1e-13))
        high *= 2.0
    return _INFINITE


def _isotonic(
    m: Array, right: NDArray[np.bool_], weight: Array
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Least squares among the functions that never fall; n rows never prove a 0 or a 1."""
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(out_of_bounds="clip").fit(m, right.astype(float), weight)
    total = float(weight.sum())
    height = np.clip(model.y_thresholds_, 1.0 / (total + 2.0), (total + 1.0) / (total + 2.0))
    return tuple(model.X_thresholds_.tolist()), tuple(height.tolist())
