"""What a linear estimator puts into a model file, and how it comes back.

Estimators give two hooks, which may be one line each::

    def to_model(self) -> dict: return linear_to_model(self)
    @classmethod
    def from_model(cls, fields): return linear_from_model(cls, fields)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import ModelError

_OF_A_RUN = ("callbacks", "verbose")  # say how to watch a fit, nothing about its result
_EXTRA = (
    "n_iter_", "n_updates_", "solver_used_", "fingerprint_", "preprocessing_", "objective_",
    "support_", "dual_coef_", "margin_width_", "leave_one_out_bound_",
    "log_likelihood_", "null_log_likelihood_", "separation_",
)  # fmt: skip


def linear_to_model(estimator: Any) -> dict[str, Any]:
    """Fields of a fitted estimator with coef_, intercept_ and classes_."""
    if not hasattr(estimator, "coef_"):
        raise ModelError(f"{type(estimator).__name__} is not fitted; call fit before saving it.")
    params = estimator.get_params(deep=False)
    names = getattr(estimator, "feature_names_in_", None)
    status = getattr(estimator, "status_", None)
    certificate: Any = getattr(estimator, "certificate_", None)
    return {
        "params": {key: value for key, value in params.items() if key not in _OF_A_RUN},
        "classes": _classes_out(np.asarray(estimator.classes_)),
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "coef": np.asarray(estimator.coef_, dtype=np.float64),
        "intercept": np.asarray(estimator.intercept_, dtype=np.float64),
        "zero_rule": "a score of exactly 0 is the last class",
        "status": None if status is None else {"name": status.name, "sentence": status.value},
        "certificate": certificate.to_dict() if hasattr(certificate, "to_dict") else certificate,
        "extra": {key: getattr(estimator, key) for key in _EXTRA if hasattr(estimator, key)},
    }


def linear_from_model(cls: Any, fields: Mapping[str, Any]) -> Any:
    """Give an estimator of class ``cls`` with its fitted attributes set."""
    coef = _array(fields, "coef", 2)
    intercept = _array(fields, "intercept", 1)
    classes = _classes_in(fields["classes"])
    n_features = fields["n_features"]
    if type(n_features) is not int or coef.shape[1] != n_features:
        raise ModelError(f"coef has {coef.shape[1]} columns but n_features is {n_features!r}")
    if len(classes) < 2 or coef.shape[0] != (1 if len(classes) == 2 else len(classes)):
        raise ModelError(f"coef has {coef.shape[0]} rows for {len(classes)} classes")
    if intercept.shape[0] != coef.shape[0]:
        raise ModelError(f"intercept has {intercept.shape[0]} entries for {coef.shape[0]} rows")
    estimator = cls(**fields["params"])
    estimator.coef_, estimator.intercept_, estimator.classes_ = coef, intercept, classes
    estimator.n_features_in_ = n_features
    if fields.get("feature_names") is not None:
        names = fields["feature_names"]
        if len(names) != n_features:
            raise ModelError(f"feature_names has {len(names)} names for {n_features} features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    _restore_words(estimator, fields)
    return estimator


def _restore_words(estimator: Any, fields: Mapping[str, Any]) -> None:
    for key, value in (fields.get("extra") or {}).items():
        if key not in _EXTRA:
            raise ModelError(f"extra has the unknown entry {key!r}")
        setattr(estimator, key, value)
    if fields.get("status") is not None:
        from linsep.core.status import Status

        try:
            estimator.status_ = Status[fields["status"]["name"]]
        except KeyError as error:
            raise ModelError(f"status {error} is not known") from error
    if fields.get("certificate") is not None:
        estimator.certificate_ = certificate_of(fields["certificate"])


def certificate_of(stored: Mapping[str, Any]) -> Any:
    """The certificate of a model file, by the fields that it has."""
    from linsep.proofs.certificate import Certificate
    from linsep.proofs.gap import Gap
    from linsep.proofs.squares import Squares

    kind: Any = Squares if "reach" in stored else Gap if "lower_bound" in stored else Certificate
    return kind.from_dict(stored)


def _array(fields: Mapping[str, Any], name: str, axes: int) -> NDArray[np.float64]:
    array = np.asarray(fields[name], dtype=np.float64)
    if array.ndim != axes or not np.isfinite(array).all():
        raise ModelError(f"{name} is not an array of finite numbers with {axes} axes")
    return array


_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
_ARRAYS = {"bool": "?", "int": "i8", "float": "f8", "str": "U"}  # where nothing else is said
_OTHERS = {
    "int": ("i1", "i2", "i4", "u1", "u2", "u4", "u8"), "float": ("f2", "f4"), "str": ("O",),
}  # fmt: skip


def _classes_out(classes: NDArray[Any]) -> dict[str, Any]:
    objects = classes.dtype == object and all(isinstance(c, str) for c in classes)
    kind = "str" if objects else _KINDS.get(classes.dtype.kind)
    if kind is None:
        raise ModelError(f"classes of type {classes.dtype} cannot be stored; use text or numbers.")
    if kind == "float" and classes.dtype.itemsize > 8:
        if not np.array_equal(classes.astype(float), classes):
            raise ModelError(f"classes of type {classes.dtype} are no float64; use text.")
        classes = classes.astype(float)
    stored: dict[str, Any] = {"type": kind, "values": classes.tolist()}
    if objects:
        stored["values"] = [str(c) for c in classes]  # numpy's own text among them
    exact = "O" if objects else classes.dtype.str[1:]
    if exact in _OTHERS.get(kind, ()):
        stored["dtype"] = exact
    return stored


def _classes_in(stored: Any) -> NDArray[Any]:
    kinds = {"bool": bool, "int": int, "float": float, "str": str}
    try:
        name = stored["type"]
        kind, values, exact = kinds[name], stored["values"], stored.get("dtype", _ARRAYS[name])
    except (AttributeError, KeyError, TypeError) as error:
        raise ModelError("classes has no known type and values") from error
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise ModelError(f"classes are not a list of {name}")
    if exact not in (_ARRAYS[name], *_OTHERS.get(name, ())):
        raise ModelError(f"classes of type {name} cannot have the dtype {exact!r:.20}")
    try:
        return np.array(values, dtype=exact)
    except OverflowError as error:
        raise ModelError(f"classes do not fit in the dtype {exact!r}") from error
