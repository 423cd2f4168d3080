"""``calibrate=``: predict_proba for classifiers that give scores only."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, LinsepWarning, ModelError
from linsep.estimators.calibration import METHODS, Calibration, fit_calibration
from linsep.estimators.params import Check, either, none, one_of

__all__ = ["Calibrated"]

_FOLDS = 5
_QUIET: dict[str, Any] = {"calibrate": None, "callbacks": None, "verbose": 0, "warm_start": False}


def _is_asked_for(model: Any) -> bool:
    return getattr(model, "calibrate", None) is not None


class Calibrated:
    """Adds ``predict_proba`` to a classifier whose parameter ``calibrate`` is not None.

    The scores come from fits to four fifths of the rows, for the other fifth. The plane itself
    is that of all rows, and ``predict`` is not changed.
    """

    classes_: NDArray[Any]

    @available_if(_is_asked_for)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes; the largest is that of the class predicted.

        Exists with ``calibrate`` only.
        """
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise ModelError(
                f"calibrate was set to {getattr(self, 'calibrate', None)!r} after the fit; fit "
                "again, for the probabilities need rows that were held out."
            )
        return self.calibration_.probabilities(self._scores(X))

    @available_if(_is_asked_for)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores whose largest is the class predicted; one of >= 0 is the last of two."""
        return self.decision_function(X)  # type: ignore[attr-defined, no-any-return]

    def _calibration_check(self) -> dict[str, Check]:
        """The check of the parameter, where the estimator has it."""
        return {"calibrate": either(none, one_of(*METHODS))} if hasattr(self, "calibrate") else {}

    def _calibrate(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit the probabilities, if they are asked for; at the end of ``fit``."""
        self.__dict__.pop("calibration_", None)
        method = getattr(self, "calibrate", None)
        if method is None:
            return self
        y = np.asarray(y).ravel()
        n = len(y)
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        weight = np.broadcast_to(weight, (n,))
        total = np.broadcast_to(self._weights(y, weight), (n,))  # type: ignore[attr-defined]
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        elif not hasattr(X, "iloc") and not isinstance(X, list):
            X = np.asarray(X)
        used = np.flatnonzero(total > 0)
        given = None if sample_weight is None else weight
        held, scores = self._out_of_fold(X, y, used, given)
        labels = np.searchsorted(self.classes_, y[held])
        self.calibration_ = fit_calibration(method, scores, labels, total[held])
        return self

    def _out_of_fold(
        self, X: Any, y: NDArray[Any], used: NDArray[np.intp], weight: Any
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Numbers of the rows held out, and their scores by models that have not seen them.

        The only row of a class is never held out: no model would know the class.
        """
        _, group, count = np.unique(y[used], return_inverse=True, return_counts=True)
        usable = used[count[group] > 1]
        if not len(usable):
            raise DataError(
                f"calibrate={self.calibrate!r} needs a class with two rows at least, "  # type: ignore[attr-defined]
                "one to train on and one to look at; leave calibrate out."
            )
        folds = StratifiedKFold(
            min(_FOLDS, int(count.max())), shuffle=True, random_state=self._calibration_seed()
        )
        held, scores = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinsepWarning)  # the fit to all rows has said it
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            for _, test in folds.split(np.zeros(len(usable)), y[usable]):
                out = usable[test]
                train = np.setdiff1d(np.arange(len(y)), out)
                model = self._copy_for(train)
                given = () if weight is None else (weight[train],)
                model.fit(_safe_indexing(X, train), y[train], *given)
                held.append(out)
                scores.append(model._scores(_safe_indexing(X, out)))
        return np.concatenate(held), np.concatenate(scores)

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
        if hasattr(self, "calibration_"):
            fields["calibration"] = self.calibration_.to_dict()
        return fields

    def _calibration_in(self, fields: dict[str, Any]) -> Self:
        """The calibration of a model file."""
        stored = fields.get("calibration")
        if stored is not None:
            self.calibration_ = Calibration.from_dict(stored, len(self.classes_))
        return self
