"""Margins and capacities of several models on the same data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linsep.errors import DataError
from linsep.risk.capacity import VCDimension, last_step, vc_dimension

__all__ = ["MarginTable", "compare_margins", "name_models"]


@dataclass(frozen=True, eq=False)
class MarginTable:
    """R, m and the bound of h for several models on the same data."""

    names: tuple[str, ...]
    dimensions: tuple[VCDimension, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary a model."""
        return [
            {"name": name, "R": v.radius, "m": v.margin, "R2/m2": v.ratio, "h": int(v)}
            for name, v in zip(self.names, self.dimensions)
        ]

    def frame(self) -> Any:
        """The table as a data frame."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        lines = [f"{'':{width}}        R        m     R^2/m^2  h at most"]
        for name, v in zip(self.names, self.dimensions):
            ratio = "not separated" if v.ratio is None else f"{v.ratio:.6g}"
            lines.append(f"{name:{width}} {v.radius:8.4g} {v.margin:8.4g} {ratio:>11} {int(v):10}")
        return "\n".join(lines)


def compare_margins(models: Any, X: Any, y: Any) -> MarginTable:
    """R, m and the bound of the VC dimension for each of several models.

    Parameters
    ----------
    models : list of classifiers, list of (name, classifier) or dict
        Those that are not fitted are fitted to X and y, as copies.
    X, y : data of two classes

    Examples
    --------
    >>> import linsep
    >>> from linsep.risk import compare_margins
    >>> X, y = linsep.data.load("students")
    >>> print(compare_margins([linsep.Perceptron(), linsep.LinearSVM(C=float("inf"))], X, y))
                      R        m     R^2/m^2  h at most
    Perceptron ...
    LinearSVM ...
    """
    if isinstance(models, Mapping):
        models = list(models.items())
    named = name_models(list(models))
    if not named:
        raise DataError("there are no models to compare; give at least one.")
    dimensions = []
    for _, model in named:
        if hasattr(model, "fit") and not _fitted(model):
            from sklearn.base import clone

            model = clone(model).fit(X, y)
        dimensions.append(vc_dimension(model, X, y))
    return MarginTable(tuple(name for name, _ in named), tuple(dimensions))


def _fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def name_models(models: list[Any]) -> list[tuple[str, Any]]:
    """(name, model) pairs; a model without a name is called by its class, numbered if needed."""
    out: list[tuple[str, Any]] = []
    for item in models:
        if isinstance(item, tuple | list) and len(item) == 2:
            out.append((str(item[0]), item[1]))
        else:
            out.append((type(last_step(item)[1]).__name__, item))
    seen: dict[str, int] = {}
    names = [name for name, _ in out]
    for i, (name, model) in enumerate(out):
        if names.count(name) > 1:
            seen[name] = seen.get(name, 0) + 1
            out[i] = (f"{name} {seen[name]}", model)
    return out
