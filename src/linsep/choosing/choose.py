"""Choosing a model by cross-validation, with the structural bound beside it.

cross-validation     argmin_c CV(c),  CV = (1/L) sum_i W(q^(-fold(i))(x_i), k_i)
one standard error   the simplest c with CV(c) <= CV(best) + SE(best)
structural           argmin_c R_emp(c) + R_str(h_c, L, eta)
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed

from linsep.choosing.bounds import structural_bounds
from linsep.choosing.candidates import candidates
from linsep.choosing.choice import Choice, label
from linsep.choosing.folds import Fold, fit_weighted, measure_fold, rows_of, was_interrupted
from linsep.choosing.losses import Measure, make_measure
from linsep.core.validate import as_weights
from linsep.errors import DataError, LabelError, SettingError

__all__ = ["choose"]

Array = NDArray[np.float64]


def choose(
    estimator: Any,
    X: Any,
    y: Any,
    parameter: str | None = None,
    values: Any = None,
    *,
    cv: Any = 5,
    loss: Any = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    simplest: str = "first",
    eta: float = 0.05,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Choice:
    """Choose the value of a parameter by cross-validation.

    Parameters
    ----------
    estimator : estimator or list of estimators
        Of linsep or scikit-learn, also a pipeline. A list is a sequence of models from the
        simplest to the richest; then there is no parameter.
    X, y
        Data, as for fit.
    parameter : str
        "lift degree" puts all monomials up to that degree before the estimator. Else a
        parameter of the estimator, such as "C" or "gamma"; in a pipeline also without the
        name of its step, if that is clear.
    values : sequence
        From the simplest model to the richest.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; all values see the same folds.
    loss : matrix or function, optional
        W[d, k], the loss of deciding class d where k is true, classes sorted; or a function of
        (y, predictions) that gives one number a row. Without it errors are counted, for
        regressors squares.
    scoring : str or function, optional
        A score of scikit-learn instead; its negative is the risk.
    groups : array, optional
        For splitters that keep groups together.
    sample_weight : array, optional
        Used in fits and in means.
    simplest : {"first", "last"}, default="first"
        Which end of the values is the simplest model; "last" for alpha or sigma ascending.
    eta : float, default=0.05
        Probability that some structural bound is wrong.
    n_jobs : int, optional
        Folds at the same time, as in scikit-learn.
    verbose : int, default=0
        1 tells of each value on stderr.

    Returns
    -------
    Choice
        After Ctrl-C that of the values that were finished.

    Examples
    --------
    >>> import linsep, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(120, 2))
    >>> y = np.where(X[:, 1] > 2 * X[:, 0] ** 2 - 0.5, 1, -1)
    >>> choice = linsep.choose(linsep.LinearSVM(C=100), X, y, "lift degree", [1, 2, 3])
    >>> choice.chosen
    2
    """
    if simplest not in ("first", "last"):
        raise SettingError(f"simplest must be 'first' or 'last'. Got {simplest!r} instead.")
    if n_jobs is not None and (isinstance(n_jobs, bool) or n_jobs == 0 or n_jobs < -1):
        raise SettingError(
            f"n_jobs must be None, -1 for all cores, or a whole number >= 1. Got {n_jobs!r}."
        )
    models = candidates(estimator, parameter, values)
    X, y, groups = _same_length(X, y, groups)
    weight = None if sample_weight is None else as_weights(sample_weight, len(y))
    measure = make_measure(models[0][1], loss, scoring, y)
    try:
        splitter = check_cv(cv, y, classifier=is_classifier(models[0][1]))
        splits = list(splitter.split(X, y, groups))
    except ValueError as error:
        raise DataError(f"cv={cv!r:.40} cannot split these rows: {error}") from error
    name = parameter or "model"
    done = _Run(name, X, y, weight, splits, measure, n_jobs, verbose)
    interrupted = False
    for value, model in models:
        try:
            interrupted = not done.add(value, model)
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            break
    if not done.values:
        raise KeyboardInterrupt("interrupted before the first value was finished")
    return done.choice(simplest, eta, interrupted)


def _same_length(X: Any, y: Any, groups: Any) -> tuple[Any, Any, Any]:
    if y is None:
        raise LabelError("y is None; choosing a model needs the labels.")
    try:
        X, y, groups = indexable(X, y, groups)
    except (TypeError, ValueError) as error:
        raise DataError(f"X, y and groups do not fit together: {error}") from error
    return X, y, groups


class _Run:
    """The values that are finished, and what was found for them."""

    def __init__(
        self,
        name: str,
        X: Any,
        y: Any,
        weight: Array | None,
        splits: Sequence[Any],
        measure: Measure,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self.name, self.X, self.y, self.weight = name, X, y, weight
        self.splits, self.measure, self.n_jobs, self.verbose = splits, measure, n_jobs, verbose
        self.values: list[Any] = []
        self.folds: list[list[Fold]] = []
        self.fitted: list[Any] = []
        self.empirical: list[float] = []

    def add(self, value: Any, model: Any) -> bool:
        """Measure one value; False if Ctrl-C stopped a fit on the way."""
        words = f"{self.name} {label(value)}"
        data = (self.X, self.y, self.weight)
        tasks = [
            (model, data, split, self.measure, f"{words}, fold {k + 1}")
            for k, split in enumerate(self.splits)
        ]
        folds: list[Fold] = []
        if self.n_jobs in (None, 1):
            for task in tasks:
                folds.append(measure_fold(*task))
                if folds[-1].interrupted:
                    return False
        else:
            folds = Parallel(n_jobs=self.n_jobs)(delayed(measure_fold)(*task) for task in tasks)
        whole = measure_whole(model, self.X, self.y, self.weight, self.measure)
        if any(fold.interrupted for fold in folds) or was_interrupted(whole[0]):
            return False
        self.values.append(value)
        self.folds.append(folds)
        self.fitted.append(whole[0])
        self.empirical.append(whole[1])
        if self.verbose:
            risk = _mean([fold.test for fold in folds])
            print(f"{words}: cross-validated {risk:.4g}, training {whole[1]:.4g}", file=sys.stderr)
        return True

    def choice(self, simplest: str, eta: float, interrupted: bool) -> Choice:
        """The curves and what to choose."""
        risk = np.array([_mean([fold.test for fold in folds]) for folds in self.folds])
        error = np.array([_standard_error(folds) for folds in self.folds])
        order = list(range(len(risk))) if simplest == "first" else list(range(len(risk)))[::-1]
        best = min(order, key=lambda k: (risk[k], order.index(k)))
        allowed = risk[best] + np.nan_to_num(error[best])
        chosen = next(k for k in order if risk[k] <= allowed)
        bounds = structural_bounds(
            self.fitted, self.empirical, len(self.y), self.measure.zero_one, eta, self.weight
        )
        finite = np.isfinite(bounds.bound)
        structural = int(np.nanargmin(bounds.bound)) if finite.any() else None
        return Choice(
            parameter=self.name,
            values=self.values,
            measure=self.measure.name,
            train_risk=np.array([_mean([fold.train for fold in folds]) for folds in self.folds]),
            cv_risk=risk,
            standard_error=error,
            fold_risk=np.array([[fold.risk for fold in folds] for folds in self.folds]),
            empirical_risk=np.array(self.empirical),
            bound=bounds.bound,
            vc_dimension=bounds.dimension,
            bound_note=bounds.note,
            best_index=best,
            chosen_index=chosen,
            structural_index=structural,
            estimators_=self.fitted,
            seconds=np.array([sum(fold.seconds for fold in folds) for folds in self.folds]),
            simplest=simplest,
            interrupted=interrupted,
            notes=_notes(self.folds),
        )


def measure_whole(
    model: Any, X: Any, y: Any, weight: Array | None, measure: Measure
) -> tuple[Any, float]:
    """The model fitted on all rows, and its training loss."""
    fitted = clone(model)
    everything = np.arange(len(y))
    X, y, weight = rows_of(X, y, weight, everything)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds have told
        fit_weighted(fitted, X, y, weight)
        total, size = measure(fitted, X, y, weight)
    return fitted, total / size


def _mean(sums: Sequence[tuple[float, float]]) -> float:
    size = sum(size for _, size in sums)
    if not size > 0:
        raise DataError("all rows left out have weight zero; there is nothing to measure.")
    return sum(total for total, _ in sums) / size


def _standard_error(folds: Sequence[Fold]) -> float:
    """Of the mean over the folds, from how much they differ; NaN for a single fold."""
    risks = np.array([fold.risk for fold in folds if fold.test[1] > 0])
    return float("nan") if len(risks) < 2 else float(risks.std(ddof=1) / np.sqrt(len(risks)))


def _notes(folds: Sequence[Sequence[Fold]]) -> list[str]:
    counts = Counter(name for many in folds for fold in many for name in set(fold.warnings))
    total = sum(len(many) for many in folds)
    return [f"{name} in {count} of {total} fits." for name, count in sorted(counts.items())]
