"""Choosing a model by cross-validation, with the structural bound beside it.

cross-validation     argmin_c CV(c),  CV = (1/L) sum_i W(q^(-fold(i))(x_i), k_i)
one standard error   the simplest c with CV(c) <= CV(best) + SE(best)
structural           argmin_c R_emp(c) + R_str(h_c, L, eta)
"""

from __future__ import annotations

import difflib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from linsep.core.limits import Interrupts, TimeUpError, deaf_work
from linsep.core.notes import say
from linsep.core.protocol import Learner, is_pipeline, last_step
from linsep.core.validate import as_weights
from linsep.core.words import count
from linsep.errors import (
    CapabilityError,
    DataError,
    LabelError,
    LinsepError,
    LinsepWarning,
    SettingError,
    require,
)
from linsep.lift.transformer import Lift
from linsep.risk.capacity import vc_dimension
from linsep.risk.empirical import empirical_risk
from linsep.risk.structural import structural_bound

Array = NDArray[np.float64]


def choose(
    estimator: Learner,
    X: Any,
    y: Any,
    parameter: str | Sequence[str] | None = None,
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
    parameter : str or sequence of str
        Several, such as ["C", "gamma"], are tried in all combinations. "lift degree" puts all
        monomials up to that degree before the estimator. Else a parameter of the estimator, such
        as "C" or "gamma"; in a pipeline also without the name of its step, if that is clear.
    values : sequence
        From the simplest model to the richest; for several parameters one sequence each.
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
    name = parameter if isinstance(parameter, str) else ", ".join(parameter or ["model"])
    done = _Run(
        name=name, X=X, y=y, weight=weight, splits=splits, measure=measure, n_jobs=n_jobs,
        verbose=verbose,
    )  # fmt: skip
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
    if interrupted:
        warnings.warn(
            f"interrupted: {len(done.values)} of {len(models)} values of {name} were finished, and "
            "the choice is among those; the program goes on with it.",
            LinsepWarning,
            stacklevel=2,
        )
    return done.choice(simplest, eta, interrupted=interrupted)


def _same_length(X: Any, y: Any, groups: Any) -> tuple[Any, Any, Any]:
    if y is None:
        raise LabelError("y is None; choosing a model needs the labels.")
    try:
        X, y, groups = indexable(X, y, groups)
    except (TypeError, ValueError) as error:
        raise DataError(f"X, y and groups do not fit together: {error}") from error
    return X, y, groups


@dataclass(kw_only=True)
class _Run:
    """The values that are finished, and what was found for them."""

    name: str
    X: Any
    y: Any
    weight: Array | None
    splits: Sequence[Any]
    measure: Measure
    n_jobs: int | None
    verbose: int
    values: list[Any] = field(default_factory=list)
    folds: list[list[Fold]] = field(default_factory=list)
    fitted: list[Any] = field(default_factory=list)
    empirical: list[float] = field(default_factory=list)

    def add(self, value: Any, model: Learner) -> bool:
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
        else:  # a signal gives up the wait for the children, which end with it
            with Interrupts(), suppress(TimeUpError), deaf_work():
                folds = Parallel(n_jobs=self.n_jobs)(delayed(measure_fold)(*task) for task in tasks)
            if not folds:
                return False
        whole = measure_whole(model, self.X, self.y, self.weight, self.measure)
        if any(fold.interrupted for fold in folds) or was_interrupted(whole[0]):
            return False
        self.values.append(value)
        self.folds.append(folds)
        self.fitted.append(whole[0])
        self.empirical.append(whole[1])
        if self.verbose:
            risk = _mean([fold.test for fold in folds])
            say(f"{words}: cross-validated {risk:.4g}, training {whole[1]:.4g}")
        return True

    def choice(self, simplest: str, eta: float, *, interrupted: bool) -> Choice:
        """The curves and what to choose."""
        risk = np.array([_mean([fold.test for fold in folds]) for folds in self.folds])
        error = np.array([_standard_error(folds) for folds in self.folds])
        order = list(range(len(risk))) if simplest == "first" else list(range(len(risk)))[::-1]
        best = min(order, key=lambda k: (risk[k], order.index(k)))
        allowed = risk[best] + np.nan_to_num(error[best])
        chosen = next(k for k in order if risk[k] <= allowed)
        bounds = structural_bounds(
            self.fitted,
            self.empirical,
            len(self.y),
            eta,
            self.weight,
            zero_one=self.measure.zero_one,
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
    model: Learner, X: Any, y: Any, weight: Array | None, measure: Measure
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


# -- The models to choose among: one estimator for each value of a parameter ----------------------


LIFT_DEGREE = ("lift degree", "degree")


def candidates(
    estimator: Any, parameter: str | Sequence[str] | None, values: Any
) -> list[tuple[Any, Any]]:
    """Pairs of value and unfitted estimator, in the order given."""
    if parameter is not None and not isinstance(parameter, str):
        return _grid(estimator, list(parameter), values)
    if isinstance(estimator, list | tuple) or parameter is None:
        return _models(estimator, parameter, values)
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise SettingError(f"give an estimator, such as SVC(). Got {estimator!r:.60} instead.")
    chosen = list(values) if isinstance(values, Sequence | np.ndarray | range) else []
    if not chosen or isinstance(values, str):
        raise SettingError(f"values must be a sequence of at least one value. Got {values!r}.")
    chosen = [v.item() if isinstance(v, np.generic) else v for v in chosen]
    return [(value, _with(estimator, parameter, value)) for value in chosen]


def _grid(estimator: Any, parameters: list[str], values: Any) -> list[tuple[Any, Any]]:
    """All combinations of the values of several parameters, the last changing fastest."""
    lists = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else []
    if not parameters or len(lists) != len(parameters):
        raise SettingError(
            f"there are {len(lists)} lists of values for {len(parameters)} parameters; give one "
            "for each."
        )
    made: list[tuple[tuple[Any, ...], Any]] = [((), estimator)]
    for name, some in zip(parameters, lists):
        made = [
            ((*before, value), richer)
            for before, model in made
            for value, richer in candidates(model, name, some)
        ]
    return made


def name_of_parameter(estimator: Any, parameter: str) -> str:
    """The full name of a parameter: C of a pipeline's last step is linearsvm__C."""
    known = estimator.get_params(deep=True)
    if parameter in known:
        return parameter
    ends = [name for name in known if name.endswith(f"__{parameter}")]
    if len(ends) == 1:
        return str(ends[0])
    if ends:
        raise SettingError(
            f"{parameter!r} may mean {' or '.join(sorted(ends))}; give the full name."
        )
    close = difflib.get_close_matches(parameter, known, 3, 0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise SettingError(
        f"{type(estimator).__name__} has no parameter {parameter!r}; {hint}known: "
        f"{', '.join(sorted(known))}, and 'lift degree'."
    )


def _models(estimator: Any, parameter: str | None, values: Any) -> list[tuple[Any, Any]]:
    if not isinstance(estimator, list | tuple):
        raise SettingError(
            "give a parameter and its values, or a list of estimators from the simplest on."
        )
    if parameter is not None or not estimator:
        raise SettingError("a list of estimators needs no parameter, and at least one of them.")
    names = [type(e).__name__ for e in estimator] if values is None else list(values)
    if len(names) != len(estimator):
        raise SettingError(f"there are {len(names)} values for {len(estimator)} estimators.")
    if values is None and len(set(names)) < len(names):
        names = [f"{k + 1} {name}" for k, name in enumerate(names)]
    return [(name, clone(e)) for name, e in zip(names, estimator)]


def _with(estimator: Any, parameter: str, value: Any) -> Any:
    lifts = parameter == LIFT_DEGREE[0]
    if parameter in LIFT_DEGREE and not lifts:
        known = estimator.get_params(deep=True)
        lifts = not any(name == parameter or name.endswith(f"__{parameter}") for name in known)
    if lifts:
        return _lifted(estimator, Lift.polynomial(value))
    return clone(estimator).set_params(**{name_of_parameter(estimator, parameter): value})


def _lifted(estimator: Any, lift: Lift) -> Pipeline:
    """The estimator behind the lift; a lift that is there already is replaced."""
    if not isinstance(estimator, Pipeline):
        return Pipeline([("lift", lift), ("model", clone(estimator))])
    steps = list(clone(estimator).steps)
    places = [k for k, (_, step) in enumerate(steps) if isinstance(step, Lift)]
    if len(places) > 1:
        raise SettingError("the pipeline has two lifts; name the one meant, such as lift__phi.")
    if places:
        steps[places[0]] = (steps[places[0]][0], lift)
        return Pipeline(steps)
    return Pipeline([("lift", lift), *steps])


# -- Cross-validation of one model: what it costs on rows that it has not seen --------------------
#
# CV = (1/L) sum_i W(q^(-fold(i))(x_i), k_i)


@dataclass(frozen=True)
class Fold:
    """Sums of losses and of weights: of the rows trained on, and of those left out."""

    train: tuple[float, float]
    test: tuple[float, float]
    seconds: float
    warnings: tuple[str, ...]
    interrupted: bool

    @property
    def risk(self) -> float:
        """Mean loss of the rows left out; NaN if they weigh nothing."""
        return self.test[0] / self.test[1] if self.test[1] > 0 else float("nan")


def measure_fold(
    estimator: Any,
    data: tuple[Any, Any, Array | None],
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    measure: Measure,
    words: str,
) -> Fold:
    """Fit on one part, measure on both."""
    model, begin = clone(estimator), time.perf_counter()
    train, test = split
    X_train, y_train, w_train = rows_of(*data, train)
    X_test, y_test, w_test = rows_of(*data, test)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit_weighted(model, X_train, y_train, w_train)
            on_train = measure(model, X_train, y_train, w_train)
            on_test = measure(model, X_test, y_test, w_test)
        except LinsepError as error:
            rows = count(len(train), "row")
            error.add_note(f"in {words}: {rows} trained on, {len(test)} left out")
            raise
    return Fold(
        on_train,
        on_test,
        time.perf_counter() - begin,
        tuple(warning.category.__name__ for warning in caught),
        was_interrupted(model),
    )


def was_interrupted(model: object) -> bool:
    """Whether a fit of linsep was stopped by Ctrl-C, which it survives with what it has."""
    last = last_step(model)
    return bool(getattr(getattr(last, "outcome_", None), "interrupted", False))


def rows_of(X: Any, y: Any, weight: Array | None, index: NDArray[np.intp]) -> tuple[Any, Any, Any]:
    """Some rows, their labels and weights."""
    chosen = None if weight is None else weight[index]
    return _safe_indexing(X, index), _safe_indexing(y, index), chosen


def fit_weighted(model: Learner, X: Any, y: Any, weight: Array | None) -> Any:
    """Fit, with weights handed to the last step of a pipeline."""
    if weight is None:
        return model.fit(X, y)
    last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
    if not has_fit_parameter(last[1], "sample_weight"):
        raise CapabilityError(f"{type(last[1]).__name__} takes no sample_weight.")
    name = f"{last[0]}__sample_weight" if last[0] else "sample_weight"
    return model.fit(X, y, **{name: weight})


# -- What decisions cost: losses of rows, or a score of scikit-learn turned around ----------------


Total = Callable[[Any, Any, Array | None], float]


class Measure:
    """Sums of losses over rows, or the loss of a fold as a whole.

    Parameters
    ----------
    name : str
        For tables and pictures.
    total : function or None
        (y, predictions, weights) -> sum of the losses.
    scorer : function or None
        Of scikit-learn; its negative is the loss of a fold.
    zero_one : bool
        Whether it is the share of errors.
    """

    def __init__(
        self, name: str, total: Total | None, scorer: Any = None, *, zero_one: bool = False
    ) -> None:
        self.name, self.total, self.scorer, self.zero_one = name, total, scorer, zero_one

    def __call__(self, model: Learner, X: Any, y: Any, weight: Array | None) -> tuple[float, float]:
        """The sum of the losses of these rows, and the weight of the rows."""
        size = float(len(y) if weight is None else weight.sum())
        if not size > 0:
            return 0.0, 0.0
        if self.total is None:
            options = {} if weight is None else {"sample_weight": weight}
            value = -float(self.scorer(model, X, y, **options))
            if not np.isfinite(value):
                raise DataError(f"the score {self.name[1:]} of a fold is {-value}.")
            return value, 1.0
        return self.total(np.asarray(y), model.predict(X), weight), size


def make_measure(estimator: Any, loss: Any, scoring: Any, y: Any) -> Measure:
    """The loss asked for; without any the share of errors, or squares for regressors."""
    if loss is not None and scoring is not None:
        raise SettingError("give loss or scoring, not both.")
    if scoring is not None:
        try:
            scorer = get_scorer(scoring)
        except (TypeError, ValueError) as error:
            raise SettingError(f"scoring is {scoring!r:.60}; {error}") from error
        words = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
        return Measure(f"-{words}", None, scorer)
    if callable(loss):
        return Measure(getattr(loss, "__name__", "loss").strip("<>"), _sums(loss))
    if loss is None and is_regressor(estimator):
        return Measure("squared error", _sums(lambda y, p: (y - p) ** 2))
    name = "share of errors" if loss is None else "mean loss W"
    return Measure(name, _risks(loss, y), zero_one=loss is None)


def _sums(loss: Callable[[Any, Any], Any]) -> Total:
    """Sums of a function of the labels and the predictions."""

    def total(y: Any, predicted: Any, weight: Array | None) -> float:
        losses = np.asarray(loss(y, predicted), dtype=np.float64)
        if losses.shape != (len(y),):
            raise SettingError(
                f"loss gave shape {losses.shape} for {len(y)} rows; it takes (y, predictions) and "
                "gives one number for each row."
            )
        if not np.isfinite(losses).all():
            raise DataError("loss gave a value that is not finite.")
        return float(losses.sum() if weight is None else losses @ weight)

    return total


def _risks(loss: Any, y: Any) -> Total:
    """Sums of a table of losses, or of errors, over the classes of all rows."""
    classes = np.unique(np.asarray(y)).tolist()

    def total(y: Any, predicted: Any, weight: Array | None) -> float:
        risk = empirical_risk(predicted, y, loss=loss, labels=classes, sample_weight=weight)
        return float(risk) * (len(y) if weight is None else float(weight.sum()))

    return total


# -- Structural bounds of fitted linear models: empirical risk plus a term for the capacity -------


@dataclass(frozen=True)
class Bounds:
    """Bounds and VC dimensions, NaN where there are none, and what to know about them."""

    bound: Array
    dimension: Array
    note: str


def structural_bounds(
    models: Sequence[Any],
    empirical: Sequence[float],
    n: int,
    eta: float,
    weight: Array | None,
    *,
    zero_one: bool,
) -> Bounds:
    """The bound of each model that is linear in features fixed before the data were seen."""
    bound, dimension = np.full(len(models), np.nan), np.full(len(models), np.nan)
    reasons = []
    for k, (model, risk) in enumerate(zip(models, empirical)):
        reason, h = _dimension(model)
        if not zero_one:
            reason = "it bounds the share of errors only"
        elif weight is not None and np.ptp(weight) > 0:
            reason = "rows of different weights are not a sample of one distribution"
        if reason:
            reasons.append(reason)
            continue
        dimension[k] = h
        # The choice is made after a look at all of them: all bounds are to hold together.
        bound[k] = structural_bound(risk, h, n, eta / len(models))
    if reasons and not np.isfinite(bound).any():
        return Bounds(bound, dimension, f"no structural bound: {reasons[0]}.")
    note = (
        f"with probability {1 - eta:g} over the choice of {n} rows the true risk of every model is "
        "below its bound; a bound of 1 or more promises nothing."
    )
    return Bounds(bound, dimension, note)


def _dimension(model: object) -> tuple[str, int]:
    """Why there is no VC dimension (or ""), and the VC dimension."""
    steps = [step for _, step in model.steps] if is_pipeline(model) else [model]
    last = steps[-1]
    if not hasattr(last, "coef_") or not hasattr(last, "classes_"):
        return f"{type(last).__name__} has no coef_, so its capacity is not that of planes", 0
    if len(last.classes_) != 2:
        return "it is known for two classes only", 0
    for step in steps[:-1]:
        if hasattr(step, "components_") or hasattr(step, "scores_"):
            return f"{type(step).__name__} makes features of the same data", 0
    return "", int(vc_dimension(last))


# -- what it found ----------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Choice:
    """Risks of models from the simplest to the richest, and two choices; made by ``choose``.

    Attributes
    ----------
    parameter : str
    values : list
        As given; one for each entry of the arrays.
    measure : str
        What the risks are, such as "share of errors".
    train_risk : array
        Mean loss on the rows trained on, over all folds.
    cv_risk : array
        Mean loss on the rows left out, over all rows: (1/L) sum W.
    standard_error : array
        Of cv_risk, from the differences between the folds.
    fold_risk : array of shape (values, folds)
        Mean loss on the rows left out, fold by fold.
    empirical_risk : array
        Mean training loss of the models fitted on all rows.
    bound : array
        Structural bound of the true risk: empirical risk plus capacity term; NaN where there
        is none.
    vc_dimension : array
        Of the class of rules; NaN where there is no bound.
    bound_note : str
        What the bound promises, or why there is none.
    best_index, chosen_index : int
        Of the smallest cv_risk, and of the simplest model within one standard error of it.
    structural_index : int or None
        Of the smallest bound.
    estimators_ : list
        Fitted on all rows.
    interrupted : bool
        Whether Ctrl-C ended it; then the values that were finished are here.
    notes : list of str
        Warnings of the fits, counted.
    """

    parameter: str
    values: list[Any]
    measure: str
    train_risk: Array
    cv_risk: Array
    standard_error: Array
    fold_risk: Array
    empirical_risk: Array
    bound: Array
    vc_dimension: Array
    bound_note: str
    best_index: int
    chosen_index: int
    structural_index: int | None
    estimators_: list[Any]
    seconds: Array
    simplest: str = "first"
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def best(self) -> Any:
        """The value with the smallest cross-validated risk."""
        return self.values[self.best_index]

    @property
    def chosen(self) -> Any:
        """The simplest value within one standard error of the best."""
        return self.values[self.chosen_index]

    @property
    def best_estimator_(self) -> Any:
        """The model of ``best``, fitted on all rows."""
        return self.estimators_[self.best_index]

    @property
    def chosen_estimator_(self) -> Any:
        """The model of ``chosen``, fitted on all rows."""
        return self.estimators_[self.chosen_index]

    def frame(self) -> Any:
        """One row for each value, as a pandas DataFrame."""
        pandas = require("pandas", extra="all")
        columns = {
            self.parameter: self.values,
            "train_risk": self.train_risk,
            "cv_risk": self.cv_risk,
            "standard_error": self.standard_error,
            "empirical_risk": self.empirical_risk,
            "vc_dimension": self.vc_dimension,
            "bound": self.bound,
            "seconds": self.seconds,
        }
        return pandas.DataFrame(columns)

    def table(self) -> str:
        """The risks and the choices as text."""
        shown = [label(value) for value in self.values]
        width = max(len(self.parameter), *(len(text) for text in shown))
        bounds = bool(np.isfinite(self.bound).any())
        head = f"{self.parameter:<{width}}  training  cross-validated  standard error"
        lines = [head + ("  VC dimension  structural bound" if bounds else "")]
        for k, text in enumerate(shown):
            line = f"{text:<{width}}  {self.train_risk[k]:>8.4f}  {self.cv_risk[k]:>15.4f}"
            line += f"  {self.standard_error[k]:>14.4f}"
            if bounds:
                line += _bound_words(self.vc_dimension[k], self.bound[k])
            marks = ["best"] * (k == self.best_index) + ["chosen"] * (k == self.chosen_index)
            lines.append(line + ("  <- " + ", ".join(marks) if marks else ""))
        lines.append(self.sentence())
        return "\n".join([*lines, *self.notes])

    def sentence(self) -> str:
        """The choice in words."""
        name, folds = self.parameter, self.fold_risk.shape[1]
        words = f"{self.measure} over {folds} folds: smallest at {name} {label(self.best)}"
        if self.chosen_index == self.best_index:
            words += ", and no simpler model is within one standard error of it."
        else:
            words += f"; {name} {label(self.chosen)} is the simplest within one standard error."
        if self.structural_index is not None:
            at = self.structural_index
            words += f" The structural bound is smallest at {label(self.values[at])}"
            words += "." if self.bound[at] < 1 else ", where it promises nothing."
        return words + (" Interrupted: later values are missing." if self.interrupted else "")

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the curves; see ``ChoiceDisplay``."""
        from linsep.display.choice import ChoiceDisplay

        return ChoiceDisplay.from_choice(self, ax=ax, **options)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return (
            f"Choice({self.parameter}: best {label(self.best)}, chosen {label(self.chosen)}, "
            f"of {len(self.values)})"
        )


def label(value: Any) -> str:
    """A value in a table or at an axis."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _bound_words(dimension: float, bound: float) -> str:
    if not np.isfinite(bound):
        return f"  {'-':>12}  {'-':>16}"
    return f"  {dimension:>12.0f}  {bound:>16.4f}"
