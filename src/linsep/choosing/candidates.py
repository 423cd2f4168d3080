"""The models to choose among: one estimator for each value of a parameter."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from linsep.errors import SettingError
from linsep.lift.transformer import Lift

__all__ = ["LIFT_DEGREE", "candidates", "name_of_parameter"]

LIFT_DEGREE = ("lift degree", "degree")


def candidates(estimator: Any, parameter: str | None, values: Any) -> list[tuple[Any, Any]]:
    """Pairs of value and unfitted estimator, in the order given."""
    if isinstance(estimator, list | tuple) or parameter is None:
        return _models(estimator, parameter, values)
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise SettingError(f"give an estimator, such as SVC(). Got {estimator!r:.60} instead.")
    chosen = list(values) if isinstance(values, Sequence | np.ndarray | range) else []
    if not chosen or isinstance(values, str):
        raise SettingError(f"values must be a sequence of at least one value. Got {values!r}.")
    chosen = [v.item() if isinstance(v, np.generic) else v for v in chosen]
    return [(value, _with(estimator, parameter, value)) for value in chosen]


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
