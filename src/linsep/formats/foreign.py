"""scikit-learn's linear classifiers and scalers in model files: settings and numbers, no pickle.

Only the classes of the table below are ever made, whatever a file asks for. Their names carry
the library, ``"sklearn.LogisticRegression"``, for some of linsep's classes have the same name.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from linsep.errors import ModelError
from linsep.formats.linear import _classes_in, _classes_out

__all__ = ["foreign_from_model", "foreign_is_known", "foreign_name", "foreign_to_model"]

PREFIX = "sklearn."
_PLANE = ("coef_", "intercept_")

# Name -> module, fitted arrays that it answers with.
_KNOWN: dict[str, tuple[str, tuple[str, ...]]] = {
    "LinearSVC": ("svm", _PLANE),
    "LinearDiscriminantAnalysis": ("discriminant_analysis", _PLANE),
    "LogisticRegression": ("linear_model", _PLANE),
    "PassiveAggressiveClassifier": ("linear_model", _PLANE),
    "Perceptron": ("linear_model", _PLANE),
    "RidgeClassifier": ("linear_model", _PLANE),
    "SGDClassifier": ("linear_model", _PLANE),
    "MaxAbsScaler": ("preprocessing", ("scale_", "max_abs_")),
    "MinMaxScaler": (
        "preprocessing", ("scale_", "min_", "data_min_", "data_max_", "data_range_")
    ),
    "Normalizer": ("preprocessing", ()),
    "RobustScaler": ("preprocessing", ("center_", "scale_")),
    "StandardScaler": ("preprocessing", ("mean_", "var_", "scale_")),
}  # fmt: skip


def foreign_name(model: Any) -> str | None:
    """What a model file calls it; None if it cannot hold it."""
    kind = type(model)
    known = kind.__name__ in _KNOWN and kind.__module__.startswith(PREFIX)
    return PREFIX + kind.__name__ if known else None


def foreign_is_known(name: str) -> bool:
    """Whether it names a class of the table."""
    return name.startswith(PREFIX) and name.removeprefix(PREFIX) in _KNOWN


def foreign_to_model(model: Any) -> dict[str, Any]:
    """Fields of a fitted estimator of the table."""
    name = type(model).__name__
    arrays = {key: getattr(model, key, None) for key in _KNOWN[name][1]}
    if name != "Normalizer" and all(value is None for value in arrays.values()):
        raise ModelError(f"{name} is not fitted; call fit before saving it.")
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    return {
        "params": dict(model.get_params(deep=False)),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(n) for n in names],
        "classes": None if classes is None else _classes_out(np.asarray(classes)),
        "arrays": {key: _dense(value) for key, value in arrays.items()},
    }


def foreign_from_model(name: str, fields: Mapping[str, Any]) -> Any:
    """The estimator of a model file."""
    short = name.removeprefix(PREFIX)
    module, allowed = _KNOWN[short]
    arrays, d = fields["arrays"], fields["n_features"]
    if not isinstance(arrays, dict) or set(arrays) != set(allowed) or type(d) is not int:
        raise ModelError(f"the arrays of {name} must be {', '.join(allowed)}")
    model = getattr(importlib.import_module(PREFIX + module), short)(**fields["params"])
    model.n_features_in_ = d
    for key, value in arrays.items():
        array = None if value is None else np.asarray(value, dtype=np.float64)
        if array is not None and (not np.isfinite(array).all() or not _fits(key, array.shape, d)):
            raise ModelError(f"{key} of {name} is no array of finite numbers for {d} features")
        setattr(model, key, array)
    if fields["classes"] is not None:
        _give_classes(model, _classes_in(fields["classes"]))
    if fields.get("feature_names") is not None:
        model.feature_names_in_ = np.array(fields["feature_names"], dtype=object)
    return model


def _fits(key: str, shape: tuple[int, ...], d: int) -> bool:
    if key == "coef_":
        return shape == (d,) or (len(shape) == 2 and shape[1] == d)
    return len(shape) == 1 if key == "intercept_" else shape == (d,)


def _give_classes(model: Any, classes: Any) -> None:
    rows = 1 if len(classes) == 2 else len(classes)
    model.intercept_ = np.broadcast_to(model.intercept_, rows).copy()
    given = len(np.atleast_2d(model.coef_))
    if len(classes) < 2 or given != rows:
        raise ModelError(f"coef_ has {given} rows for {len(classes)} classes")
    if type(model).__name__ != "RidgeClassifier":
        model.classes_ = classes
        return
    from sklearn.preprocessing import LabelBinarizer

    model._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(classes)


def _dense(value: Any) -> Any:
    if value is None:
        return None
    dense = value.toarray() if hasattr(value, "toarray") else value
    return np.atleast_1d(np.asarray(dense, dtype=np.float64))
