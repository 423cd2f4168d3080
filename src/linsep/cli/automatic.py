"""``linsep fit DATA``: a certified model, chosen or at least judged by cross-validation.

Without an algorithm it is a logistic regression whose cost is chosen. With ``-a NAME`` it is that
algorithm, among the settings of ``--search`` if there are any.

Beside the proof stands what a user asks first: how often it is wrong on rows that it has not seen,
how often the commonest class alone is, and which classes are taken for which.
"""

from __future__ import annotations

import math
import warnings
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.cli.columns import (
    Given,
    doubt_words,
    frame_of,
    given,
    leak_words,
    tell_of_classes,
)
from linsep.cli.common import as_known, emit, estimator, kept_model, literal, narrate, some
from linsep.cli.common import table as read_table
from linsep.core.limits import time_left, time_limit
from linsep.core.problem import Problem
from linsep.core.protocol import Learner, Predictor
from linsep.core.words import count
from linsep.errors import DataError, LinsepWarning, SettingError
from linsep.models.logistic_regression import LogisticRegression
from linsep.tables.path import COSTS, Path, Setting, confusion, cost_path, folds_for
from linsep.tables.tabular import Tabular

if TYPE_CHECKING:
    from linsep.models.base import Classifier

_FOLDED_ROWS = 30  # rows below which errors of folds tell nothing, unless folds are asked for
_SHOWN_CLASSES = 8  # classes whose confusion is printed
_CHOOSING = 0.6  # of a time limit, for choosing


@dataclass(frozen=True, eq=False)
class Judged:
    """Errors on rows that the model has not seen."""

    share: float
    deviation: float
    """Standard error of the share."""
    how: str
    y: NDArray[Any]
    told: NDArray[Any]


def fit(args: Namespace) -> int:
    """Choose, fit, judge, print, write."""
    named = args.algorithm is not None
    scale = bool(args.scale) if named else args.scale is not False
    data, held = _held_out(args, given(args, scale=scale))
    tell_of_classes(data.y)
    wanted = bool(args.cv or args.search)
    alone = named and not wanted  # a test file or rows held out judge it
    folds = 0 if alone else folds_for(data.y, args.cv or 5)
    folds = folds if wanted or len(data.y) >= _FOLDED_ROWS else 0
    model: Classifier = LogisticRegression(fit_intercept=not args.no_intercept)
    settings: list[Setting] = list(COSTS)
    if named:
        model, settings = estimator(args), [None]
        if wanted and folds < 2:
            raise DataError("--cv and --search: a class has one row, which cannot be left out.")
    if args.search:
        settings = list(searched(args.search, model))
    path = None
    with (
        warnings.catch_warnings(record=True) as caught,
        time_limit(args.time_limit, begin=args.begin),
    ):
        warnings.simplefilter("always", LinsepWarning)
        if folds >= 2:
            path = cost_path(
                model, data.columns, data.X, data.y, costs=settings, folds=folds,
                weight=data.weight, time_limit=_CHOOSING * time_left(),
            )  # fmt: skip
            _set(model, path.cost)
        fitted = _fitted(model, data)
    for warning in caught:
        narrate(f"warning: {warning.message}")
    if isinstance(fitted, Tabular):
        for words in doubt_words(fitted.columns_) + leak_words(fitted.telling_):
            narrate(words)
    judged = _judged(args, fitted, data, held, path)
    good = True
    if args.output:
        good = kept_model(args.output, fitted)
    lines = _lines(fitted, data, path, judged, settings)
    if args.json:
        emit(_report(fitted, data, path, judged), as_json=True)
    else:
        head, *rest = fitted.summary().split("\n")
        emit("\n".join([head, *lines, *rest]), as_json=False)
    inside = fitted.estimator_ if isinstance(fitted, Tabular) else fitted
    if inside.outcome_.interrupted:
        return 130
    return 0 if good else 1


def _fitted(model: Classifier, data: Given) -> Classifier | Tabular:
    weights = {} if data.weight is None else {"sample_weight": data.weight}
    if data.columns is None:
        model.fit(data.X, data.y, **weights)
        model.fingerprint_ = Problem(data.X, data.y).fingerprint  # ``linsep verify`` asks for it
        return model
    fitted = Tabular(model, **data.columns.get_params()).fit(data.X, data.y, **weights)
    matrix = fitted.columns_.transform(data.X)
    fitted.estimator_.fingerprint_ = Problem(matrix, data.y).fingerprint
    return fitted


def _held_out(args: Namespace, data: Given) -> tuple[Given, Given | None]:
    """Rows to train on, and those of --test or --holdout."""
    if args.test and args.holdout:
        raise SettingError("--test and --holdout: give one of them.")
    if args.test:
        held = _test_file(args, data)
        classes = np.unique(data.y)
        labels, words = as_known(held.y, classes)
        for line in words:
            narrate(f"--test {args.test}: {line}")
        known, told = ([str(label) for label in np.unique(one)] for one in (classes, labels))
        if not set(known) & set(told):
            raise DataError(
                f"--test {args.test}: its labels are {some(told)}, those of {args.data} "
                f"{some(known)}; none is in both."
            )
        return data, replace(held, y=labels)
    if args.holdout is None:
        return data, None
    from sklearn.model_selection import train_test_split
    from sklearn.utils import _safe_indexing

    if folds_for(data.y, 2) < 2:
        raise DataError("--holdout: a class has one row only; it cannot be on both sides.")
    rows = np.arange(len(data.y))
    train, test = train_test_split(rows, test_size=args.holdout, stratify=data.y, random_state=0)
    parts = [
        Given(
            _safe_indexing(data.X, part), data.y[part], data.columns,
            None if data.weight is None else data.weight[part], data.source,
        )
        for part in (train, test)
    ]  # fmt: skip
    return parts[0], parts[1]


def _test_file(args: Namespace, data: Given) -> Given:
    if data.columns is None:
        other = Namespace(**{**vars(args), "data": args.test})
        test = read_table(other, positive=args.positive, n_features=data.X.shape[1])
        return Given(test.X, test.y, None, None, args.test)
    known = list(data.X.columns)
    frame = frame_of(args, args.test, positive=args.positive, features=known)
    if not len(frame.y):
        raise DataError(f"--test {args.test}: there are no labels in it.")
    return Given(frame.columns, frame.y, None, None, args.test)


def _judged(
    args: Namespace, model: Predictor, data: Given, held: Given | None, path: Path | None
) -> Judged | None:
    if held is not None:
        told = model.predict(held.X)
        wrong = told.astype(str) != held.y.astype(str)
        share = float(wrong.mean())
        deviation = math.sqrt(share * (1 - share) / len(wrong))
        where = f"in {args.test}" if args.test else "held out"
        return Judged(share, deviation, f"{count(len(wrong), 'row')} {where}", held.y, told)
    if path is None:
        return None
    share = float(path.risk[path.best])
    how = f"cross-validation, {len(path.sizes)} folds"
    return Judged(share, path.standard_error, how, data.y, path.predicted)


def _set(model: Learner, setting: Setting) -> None:
    if setting is not None:
        model.set_params(**(setting if isinstance(setting, Mapping) else {"C": setting}))


def searched(text: str, model: Learner) -> list[dict[str, Any]]:
    """All combinations of a grid such as C=1e-3..1e3,gamma=0.1/1.

    a..b are powers of ten from a on; slashes stand between values.

    >>> from linsep.models.linear_svm import LinearSVM
    >>> searched("C=1..100,loss=hinge/squared_hinge", LinearSVM())[1:4:2]
    [{'C': 1.0, 'loss': 'squared_hinge'}, {'C': 10.0, 'loss': 'squared_hinge'}]
    """
    known = model.get_params()
    grid: dict[str, list[Any]] = {}
    for item in text.split(","):
        name, sep, values = item.partition("=")
        if not sep or not values or name not in known:
            what = f"{name!r} is no setting of {type(model).__name__}" if sep else "there is no '='"
            raise SettingError(
                f"--search {item}: {what}; write such as C=1e-3..1e3,gamma=0.1/1. "
                f"Known: {', '.join(sorted(known))}."
            )
        grid[name] = _values(item, values)
    return [dict(zip(grid, chosen)) for chosen in product(*grid.values())]


def _values(item: str, text: str) -> list[Any]:
    low, dots, high = text.partition("..")
    if not dots:
        return [literal(value) for value in text.split("/")]
    try:
        first, last = float(low), float(high)
    except ValueError:
        first = last = math.nan
    if not 0 < first <= last < math.inf:
        raise SettingError(f"--search {item}: write a..b with 0 < a <= b, such as 1e-3..1e3.")
    steps = math.floor(math.log10(last / first) + 1e-9)
    return [float(f"{first * 10.0**k:.12g}") for k in range(steps + 1)]


def _told(setting: Setting) -> str:
    given = setting if isinstance(setting, Mapping) else {"C": setting}
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in given.items()
    )


def _lines(
    model: Predictor,
    data: Given,
    path: Path | None,
    judged: Judged | None,
    settings: list[Setting],
) -> list[str]:
    lines = []
    classes, counts = np.unique(data.y, return_counts=True)
    if settings == [None]:
        pass  # nothing was chosen
    elif path is None:
        why = f"{count(len(data.y), 'row')} are too few to choose"
        if len(data.y) >= _FOLDED_ROWS:
            why = f"{str(classes[np.argmin(counts)])!r} has one row, which cannot be left out"
        lines.append(f"  chosen      C = 1, the default: {why}")
    else:
        if isinstance(path.cost, Mapping):
            tried = count(len(path.costs), "setting")
        else:
            tried = f"{path.costs[0]:g} ... {path.costs[-1]:g}" if len(path.costs) > 1 else "one"
        few = "" if len(path.costs) == len(settings) else "; there was no time for more"
        by = f"by the errors of {len(path.sizes)} folds{few}"
        lines.append(f"  chosen      {_told(path.cost)} of {tried}, {by}")
    if judged is not None:
        known = f"{100 * judged.share:.3g} % +- {100 * judged.deviation:.2g}"
        lines.append(f"  error       {known}, {judged.how}")
    y = data.y if judged is None else judged.y
    common = classes[np.argmax(counts)]
    base = float(np.mean(y.astype(str) != str(common)))
    lines.append(f"  baseline    {100 * base:.3g} % when {str(common)!r} is always answered")
    if judged is not None and len(classes) <= _SHOWN_CLASSES:
        lines += _table(judged, model.classes_.tolist())
    return lines


def _table(judged: Judged, classes: list[Any]) -> list[str]:
    """The confusion: true classes down, answers across."""
    counts = confusion(judged.y.astype(str), judged.told.astype(str), [str(c) for c in classes])
    names = [str(c) if len(str(c)) <= 12 else str(c)[:11] + "~" for c in classes]
    width = max(7, *(len(name) for name in names), len(str(counts.max())))
    head = "  ".join(f"{name:>{width}}" for name in names)
    lines = [f"  answers     {'':>{width}}  {head}"]
    for name, row in zip(names, counts):
        cells = "  ".join(f"{n:>{width}}" for n in row)
        lines.append(f"  true        {name:>{width}}  {cells}")
    return lines


def _cost(setting: Setting, model: object) -> Any:
    if isinstance(setting, Mapping):
        return setting.get("C")
    return getattr(model, "C", None) if setting is None else setting


def _report(
    model: Classifier | Tabular, data: Given, path: Path | None, judged: Judged | None
) -> dict[str, Any]:
    inside = model.estimator_ if isinstance(model, Tabular) else model
    classes, counts = np.unique(data.y, return_counts=True)
    report: dict[str, Any] = {
        "algorithm": type(inside).__name__,
        "solver_used": inside.solver_used_,
        "status": inside.status_.name,
        "sentence": inside.status_.value,
        "C": getattr(inside, "C", None),
        "classes": model.classes_.tolist(),
        "certificate": inside.certificate_.to_dict(),
        "baseline": {
            "class": classes[np.argmax(counts)].item(),
            "error": 1 - counts.max() / counts.sum(),
        },
    }
    if isinstance(model, Tabular):
        report["columns"] = {
            name: {"role": role.kind, "why": role.why}
            for name, role in model.columns_.roles_.items()
        }
        report["telling"] = model.telling_
    if path is not None:
        report["path"] = {
            "C": [_cost(one, inside) for one in path.costs],
            "settings": [dict(one) if isinstance(one, Mapping) else None for one in path.costs],
            "error": path.risk.tolist(),
            "seconds": path.seconds,
        }
    if judged is not None:
        names = [str(c) for c in model.classes_.tolist()]
        table = confusion(judged.y.astype(str), judged.told.astype(str), names)
        report["error"] = {
            "share": judged.share, "standard_error": judged.deviation, "how": judged.how,
            "confusion": table.tolist(),
        }  # fmt: skip
    return report
