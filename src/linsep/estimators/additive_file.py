"""What an additive machine puts into a model file, and how it comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linsep.certify.gap import Gap
from linsep.core.status import Status
from linsep.errors import ModelError, SettingError
from linsep.estimators.additive_kernel import plain_kernel, power_of
from linsep.estimators.params import Check, check_params, either, none, number, one_of
from linsep.formats.linear import _classes_in, _classes_out
from linsep.kernels.additive_function import AdditiveFunction

__all__ = ["additive_from_model", "additive_to_model"]

_MORE = {
    "class_weight": either(
        none, one_of("balanced"), Check(lambda v: isinstance(v, dict), "weights by class")
    )
}
_OF_A_RUN = ("callbacks", "verbose")
_EXTRA = ("n_iter_", "n_updates_", "solver_used_", "preprocessing_", "_n_fitted", "_C_fitted")


def additive_to_model(model: Any) -> dict[str, Any]:
    """Fields of a fitted machine."""
    if not hasattr(model, "function_"):
        raise ModelError("AdditiveSVM is not fitted; call fit before saving it.")
    params = {k: v for k, v in model.get_params(deep=False).items() if k not in _OF_A_RUN}
    params["kernel"] = plain_kernel(model.kernel)
    names = getattr(model, "feature_names_in_", None)
    function = model.function_
    return {
        "params": params,
        "classes": _classes_out(np.asarray(model.classes_)),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "start": function.start,
        "values": function.values,
        "coef": function.coef,
        "intercept": model.intercept_,
        "support": model.support_,
        "dual_coef": model.dual_coef_,
        "status": {"name": model.status_.name, "sentence": model.status_.value},
        "certificate": model.certificate_.to_dict(),
        "extra": {key: getattr(model, key) for key in _EXTRA if hasattr(model, key)},
    }


def additive_from_model(cls: Any, fields: Mapping[str, Any]) -> Any:
    """Give a fitted machine of class ``cls``."""
    model = cls(**fields["params"])
    _check_settings(model)
    model.classes_ = _classes_in(fields["classes"])
    d, K = fields["n_features"], len(model.classes_)
    if type(d) is not int or d < 1 or K < 2:
        raise ModelError(f"n_features is {d!r} and there are {K} classes")
    m = 1 if K == 2 else K
    model.n_features_in_ = d
    model.function_ = _function(fields, power_of(model.kernel), d, m)
    model.intercept_ = _numbers(fields, "intercept", (m,))
    support = np.asarray(fields["support"])
    if support.ndim != 1 or support.dtype.kind not in "iu" or (support < 0).any():
        raise ModelError("support is not a list of row numbers")
    model.support_ = support.astype(np.int64)
    model.dual_coef_ = _numbers(fields, "dual_coef", (m, len(support)))
    names = fields.get("feature_names")
    if names is not None:
        if len(names) != d:
            raise ModelError(f"feature_names has {len(names)} names for {d} features")
        model.feature_names_in_ = np.array(names, dtype=object)
    for key, value in (fields.get("extra") or {}).items():
        if key not in _EXTRA:
            raise ModelError(f"extra has the unknown entry {key!r}")
        setattr(model, key, value)
    _check_extra(model)
    try:
        model.status_ = Status[fields["status"]["name"]]
    except KeyError as error:
        raise ModelError(f"status {error} is not known") from error
    model.certificate_ = Gap.from_dict(fields["certificate"])
    return model


def _check_settings(model: Any) -> None:
    """Parameters that fit would refuse are refused here."""
    try:
        check_params(model, model._checks | model._calibration_check() | _MORE)
    except SettingError as error:
        raise ModelError(f"params: {error}") from error


def _check_extra(model: Any) -> None:
    for name in ("n_iter_", "n_updates_", "_n_fitted"):
        value = getattr(model, name, 0)
        if type(value) is not int or value < 0:
            raise ModelError(f"{name} is {value!r}, not a whole number >= 0")
    last = int(model.support_.max(initial=-1))
    if last >= getattr(model, "_n_fitted", np.inf):
        raise ModelError(f"support names row {last} of {model._n_fitted}")
    if not number(0, above=True).test(getattr(model, "_C_fitted", 1.0)):
        raise ModelError(f"_C_fitted is {model._C_fitted!r}, not a number > 0")


def _function(fields: Mapping[str, Any], power: float, d: int, m: int) -> AdditiveFunction:
    values = np.asarray(fields["values"], dtype=np.float64)
    start = np.asarray(fields["start"])
    wrong = start.shape != (d + 1,) or start.dtype.kind not in "iu" or (np.diff(start) < 0).any()
    if wrong or start[0] != 0 or values.shape != (int(start[-1]),):
        raise ModelError(f"start does not cut {values.size} values into {d} features")
    rising = np.diff(values) > 0
    edges = start[1:-1]
    rising[edges[(edges > 0) & (edges < len(values))] - 1] = True
    if not (np.isfinite(values).all() and (values > 0).all() and rising.all()):
        raise ModelError("values are not positive numbers in rising order")
    coef = _numbers(fields, "coef", (len(values), m))
    return AdditiveFunction(power, start.astype(np.int64), values, coef)


def _numbers(fields: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Any:
    array = np.ascontiguousarray(fields[name], dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ModelError(f"{name} is not an array of finite numbers of shape {shape}")
    return array
