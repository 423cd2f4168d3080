"""``calibrate=``: predict_proba for classifiers that give scores only."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from linsep.core.labels import plain_labels
from linsep.core.limits import Interrupts
from linsep.errors import DataError, LinsepWarning, ModelError, SettingError
from linsep.estimators.calibration import METHODS, Calibration, fit_calibration
from linsep.estimators.class_weight import row_weights
from linsep.estimators.params import Check, either, none, one_of

__all__ = ["Calibrated"]

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


def _is_asked_for(model: Any) -> bool:
    return getattr(model, "calibrate", None) is not None


class Calibrated:
    """Adds ``predict_proba`` to a classifier whose parameter ``calibrate`` is not None.

    The scores come from fits to four fifths of the rows, for the other fifth. The plane itself
    is that of all rows, and ``predict`` is not changed.
    """

    classes_: NDArray[Any]
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
        found = super().score(X, plain_labels(y), sample_weight)  # type: ignore[misc]
        return float(found)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores whose largest is the class predicted; one of >= 0 is the last of two."""
        return self.decision_function(X)  # type: ignore[attr-defined, no-any-return]

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

        Ctrl-C ends it with the folds that are complete.
        """
        held, scores = [np.zeros(0, dtype=np.intp)], []
        with warnings.catch_warnings(), Interrupts() as interrupts:
            warnings.simplefilter("ignore", LinsepWarning)  # the fit to all rows has said it
            for train, out in self._folds(X, y, used):
                if not len(out):
                    continue
                model = self._copy_for(train)
                given = () if weight is None else (weight[train],)
                model.fit(_part(X, train, train, model), y[train], *given)
                if interrupts.requested:
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
                f"calibrate={self.calibrate!r} needs a class with two rows at least, "  # type: ignore[attr-defined]
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

    def _copy_for(self, train: NDArray[np.intp]) -> Any:
        """A fresh estimator with the same settings, for some of the rows."""
        model = clone(self)
        known = model.get_params(deep=False)
        quiet = {name: value for name, value in _QUIET.items() if name in known}
        if known.get("targets") is not None:
            quiet["targets"] = np.asarray(known["targets"])[train]
        return model.set_params(**quiet)

    def _calibration_seed(self) -> int:
        return self._seed() if hasattr(self, "random_state") else 0  # type: ignore[attr-defined]

    def _calibration_out(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Fields of a model file with the calibration."""
        cv = fields["params"].get("calibrate_cv")
        if cv is not None and not isinstance(cv, Integral):  # how rows were held out is no number
            fields["params"] = {k: v for k, v in fields["params"].items() if k != "calibrate_cv"}
        if hasattr(self, "calibration_"):
            fields["calibration"] = self.calibration_.to_dict()
        return fields

    def _calibration_in(self, fields: dict[str, Any]) -> Self:
        """The calibration of a model file."""
        stored = fields.get("calibration")
        if stored is not None:
            self.calibration_ = Calibration.from_dict(stored, len(self.classes_))
        return self


def _part(X: Any, rows: NDArray[np.intp], train: NDArray[np.intp], model: Any) -> Any:
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
