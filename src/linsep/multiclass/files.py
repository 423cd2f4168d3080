"""Schemes for many classes in model files: the settings and every fitted machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from linsep.certify.certificate import Certificate
from linsep.certify.gap import Gap
from linsep.certify.squares import Squares
from linsep.errors import ModelError
from linsep.formats.linear import _classes_in, _classes_out, certificate_of
from linsep.multiclass.machines import last_step

__all__ = ["machines_from_model", "machines_to_model"]


def machines_to_model(model: Any) -> dict[str, Any]:
    """Fields of a fitted scheme; the machines are models inside the model."""
    name = type(model).__name__
    if not hasattr(model, "estimators_"):
        raise ModelError(f"{name} is not fitted; call fit before saving it.")
    params = model.get_params(deep=False)
    names = getattr(model, "feature_names_in_", None)
    return {
        "params": {key: value for key, value in params.items() if key != "estimator"},
        "default_estimator": model.estimator is None,
        "certificates": [_certificate_out(c) for c in model.certificates_],
        "classes": _classes_out(np.asarray(model.classes_)),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(n) for n in names],
        "machines": list(model.estimators_),
        "solver_used": str(model.solver_used_),
        **model._more_to_model(),
    }


def _certificate_out(certificate: Any) -> dict[str, Any] | None:
    """Numbers of the kinds that are read again; other machines keep their own."""
    known = isinstance(certificate, Certificate | Gap | Squares)
    return certificate.to_dict() if known else None


def machines_from_model(cls: Any, fields: Mapping[str, Any]) -> Any:
    """The scheme of a model file."""
    machines, classes = fields["machines"], _classes_in(fields["classes"])
    if not isinstance(machines, list) or not all(hasattr(m, "predict") for m in machines):
        raise ModelError("machines is not a list of models")
    if not machines or len(classes) < 2:
        raise ModelError(f"there are {len(machines)} machines for {len(classes)} classes")
    trained = [machine for machine in machines if not getattr(machine, "untrained", False)]
    inner = None if fields["default_estimator"] or not trained else clone(trained[0])
    model = cls(inner, **fields["params"])
    model._ended = next((m.status_ for m in machines if m not in trained), None)
    model.classes_ = classes
    model.n_features_in_ = fields["n_features"]
    if type(model.n_features_in_) is not int:
        raise ModelError(f"n_features is {model.n_features_in_!r:.40}")
    names = fields.get("feature_names")
    if names is not None:
        if len(names) != model.n_features_in_:
            raise ModelError(f"feature_names has {len(names)} names")
        model.feature_names_in_ = np.array(names, dtype=object)
    own = [getattr(last_step(machine), "certificate_", None) for machine in machines]
    told = fields.get("certificates", [None] * len(machines))
    if not isinstance(told, list) or len(told) != len(machines):
        raise ModelError("certificates is not a list with one entry for each machine")
    found = [mine if c is None else certificate_of(c) for c, mine in zip(told, own)]
    model._keep(list(zip(machines, found)))
    model.solver_used_ = str(fields["solver_used"])
    model._more_from_model(fields)
    return model
