"""What estimators put into a model file, and how they come back: tables of fields.

A field has a name, a way out of the model and a way back, which checks what it is given: a file
may be damaged or forged. Each kind of estimator has one table beside its class, in the order of
the file; ``Table.write`` and ``Table.read`` are all there is to do. What JSON makes of the values
is the matter of formats/json_model.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linsep.core.protocol import Learner, Predictor, Status
from linsep.core.schema import Check as SchemaCheck
from linsep.core.schema import (
    Refused,
    anything,
    either,
    listed,
    maybe,
    real,
    text,
    whole,
)
from linsep.errors import ModelError, SettingError
from linsep.formats.labels import classes_in, classes_out
from linsep.models.calibration import Calibration
from linsep.proofs.certificate import Certificate
from linsep.proofs.gap import Gap
from linsep.proofs.kernel import KernelGap
from linsep.proofs.parts import StreamGap
from linsep.proofs.parts_planes import StreamCertificate, StreamSquares
from linsep.proofs.softmax import StreamSoftmax
from linsep.proofs.squares import Squares
from linsep.separating.parts import StreamMargin

M = TypeVar("M")
Fields = Mapping[str, Any]

OF_A_RUN = ("callbacks", "verbose")  # say how to watch a fit, nothing about its result


@dataclass(frozen=True)
class Field(Generic[M]):
    """One entry of a file."""

    name: str
    out: Callable[[M], Any]
    """What is written."""
    back: Callable[[M, Fields], None] | None = None
    """Checks the entry and sets what it stands for; those above it in the table are set."""
    optional: bool = False
    """Whether None is nothing to take back."""
    sparing: bool = False
    """Whether None is not written at all."""


@dataclass(frozen=True)
class Table(Generic[M]):
    """The entries of a file in their order."""

    fitted: str
    """An attribute that only fitted models have."""
    fields: tuple[Field[M], ...]
    settings: Callable[[Fields], dict[str, Any]] = lambda fields: dict(fields["params"])
    """What the constructor is given."""

    def write(self, model: M) -> dict[str, Any]:
        """The fields of a fitted model."""
        if not hasattr(model, self.fitted):
            raise ModelError(f"{type(model).__name__} is not fitted; call fit before saving it.")
        told = {field.name: field.out(model) for field in self.fields}
        spared = {field.name for field in self.fields if field.sparing and told[field.name] is None}
        return {name: value for name, value in told.items() if name not in spared}

    def read(self, make: Callable[..., M], fields: Fields) -> M:
        """A fitted model; KeyError names a field that is missing."""
        model = make(**self.settings(fields))
        check = getattr(model, "_check_settings", None)
        if check is not None:
            try:
                check()
            except SettingError as error:
                raise ModelError(f"params: {str(error).rstrip('.')}") from error
        for field in self.fields:
            empty = field.optional and fields.get(field.name) is None
            if field.back is not None and not empty:
                field.back(model, fields)
        return model

    def and_also(self, *more: Field[M]) -> Table[M]:
        """The same with further fields."""
        return replace(self, fields=(*self.fields, *more))


class Restored(Predictor, Protocol):
    """What most models get back from a file."""

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    status_: Status
    calibration_: Calibration


# -- kinds of fields ------------------------------------------------------------------------------


def settings(*without: str) -> Field[Any]:
    """The parameters of the constructor, but for those named."""

    def out(model: Learner) -> dict[str, Any]:
        params = model.get_params(deep=False)
        cv = params.get("calibrate_cv")
        splits = cv is not None and not isinstance(cv, Integral)  # no number, and of no use later
        left_out = {*without, "calibrate_cv"} if splits else without
        return {key: value for key, value in params.items() if key not in left_out}

    return Field("params", out)


def constant(name: str, value: Any) -> Field[Any]:
    """Always the same, for people who read the file."""
    return Field(name, lambda model: value)


def array(
    name: str, shape: Callable[[Any], tuple[int, ...]], dtype: DTypeLike = np.float64
) -> Field[Any]:
    """Finite numbers of the shape that the model asks for; the attribute has an underscore."""

    def back(model: object, fields: Fields) -> None:
        setattr(model, f"{name}_", finite(fields, name, shape(model)))

    return Field(name, lambda model: np.asarray(getattr(model, f"{name}_"), dtype=dtype), back)


def places(name: str, dtype: DTypeLike = np.int64) -> Field[Any]:
    """Numbers of rows or columns."""

    def back(model: object, fields: Fields) -> None:
        found = np.asarray(fields[name])
        if found.ndim != 1 or found.dtype.kind not in "iu" or (found < 0).any():
            raise ModelError(f"{name} is not a list of numbers from 0 on")
        setattr(model, f"{name}_", found.astype(dtype))

    return Field(name, lambda model: np.asarray(getattr(model, f"{name}_"), np.int64), back)


def stored(name: str, read: Callable[[Any], Any], *, sparing: bool = False) -> Field[Any]:
    """An object with ``to_dict``, or None; the attribute has an underscore."""

    def out(model: object) -> Any:
        value: Any = getattr(model, f"{name}_", None)
        return value.to_dict() if hasattr(value, "to_dict") else value

    def back(model: object, fields: Fields) -> None:
        setattr(model, f"{name}_", read(fields[name]))

    return Field(name, out, back, optional=sparing, sparing=sparing)


def extra(*names: str) -> Field[Any]:
    """Attributes that a model may have, all in one entry."""

    def out(model: object) -> dict[str, Any]:
        return {key: getattr(model, key) for key in names if hasattr(model, key)}

    def back(model: Predictor, fields: Fields) -> None:
        for key, value in fields["extra"].items():
            if key not in names:
                raise ModelError(f"extra has the unknown entry {key!r:.40}")
            setattr(model, key, _EXTRA[key](value, f"extra.{key}"))
        if "dual_coef_" in fields["extra"]:
            support = getattr(model, "support_", np.zeros(0))
            finite(fields["extra"], "dual_coef_", (n_planes(model), len(support)))

    return Field("extra", out, back, optional=True)


def _floats(value: Any, where: str) -> NDArray[Any]:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        raise Refused(where, value, "an array of numbers")
    return value


def _places(value: Any, where: str) -> NDArray[Any]:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or (value < 0).any():
        raise Refused(where, value, "an array of row numbers")
    if value.ndim != 1 or len(np.unique(value)) != len(value):
        raise Refused(where, value, "a list of row numbers, none of them twice")
    return value


_EXTRA: dict[str, SchemaCheck] = {
    "n_iter_": whole(), "n_updates_": whole(), "errors_": whole(), "_n_fitted": whole(),
    "solver_used_": text, "fingerprint_": text, "objective_": real(endless=True),
    "support_": _places, "dual_coef_": _floats,
    "margin_width_": either(real(endless=True), _floats),
    "leave_one_out_bound_": real(0.0, 1.0), "log_likelihood_": real(endless=True),
    "null_log_likelihood_": real(endless=True), "_C_fitted": real(0.0, endless=True),
    "separation_": maybe(text), "conflict_": maybe(anything),
}  # fmt: skip


def finite(fields: Fields, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The numbers of a field, of this shape."""
    found = np.ascontiguousarray(fields[name], dtype=np.float64)
    if found.shape != shape or not np.isfinite(found).all():
        raise ModelError(f"{name} is not an array of finite numbers of shape {shape}")
    return found


def _read_classes(model: Restored, fields: Fields) -> None:
    model.classes_ = classes_in(fields["classes"])
    if len(model.classes_) < 2:
        raise ModelError(f"there are {len(model.classes_)} classes; two are the least")


def _read_features(model: Restored, fields: Fields) -> None:
    model.n_features_in_ = fields["n_features"]
    whole(0, 1 << 40)(model.n_features_in_, "n_features")


def _names(model: object) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _read_names(model: Restored, fields: Fields) -> None:
    names = listed(text, model.n_features_in_)(fields["feature_names"], "feature_names")
    model.feature_names_in_ = np.array(names, dtype=object)


def _status(model: object) -> dict[str, str] | None:
    status = getattr(model, "status_", None)
    return None if status is None else {"name": status.name, "sentence": status.value}


def _read_status(model: Restored, fields: Fields) -> None:
    try:
        model.status_ = Status[fields["status"]["name"]]
    except KeyError as error:
        raise ModelError(f"status {error} is not known") from error


def _calibration(model: Restored) -> dict[str, Any] | None:
    return model.calibration_.to_dict() if hasattr(model, "calibration_") else None


def _read_calibration(model: Restored, fields: Fields) -> None:
    model.calibration_ = Calibration.from_dict(fields["calibration"], len(model.classes_))


CLASSES: Field[Any] = Field(
    "classes", lambda model: classes_out(np.asarray(model.classes_)), _read_classes
)
FEATURES: Field[Any] = Field("n_features", lambda model: int(model.n_features_in_), _read_features)
NAMES: Field[Any] = Field("feature_names", _names, _read_names, optional=True)
STATUS: Field[Any] = Field("status", _status, _read_status)
CALIBRATION: Field[Any] = Field(
    "calibration", _calibration, _read_calibration, optional=True, sparing=True
)


# -- the table of all that have a plane for each class --------------------------------------------


def n_planes(model: Predictor) -> int:
    """One for two classes, one for each of more."""
    K = len(model.classes_)
    return 1 if K == 2 else K


def certificate_of(told: dict[str, Any]) -> Certificate | Gap | KernelGap | Squares:
    """The certificate of a model file, by the fields that it has."""
    if "reach" in told:
        return StreamSquares.from_dict(told) if "sides" in told else Squares.from_dict(told)
    if "generator" in told:
        return (StreamSoftmax if told.get("loss") == "softmax" else StreamGap).from_dict(told)
    if "proof" in told:
        return StreamMargin.from_dict(told)
    if "sources" in told:
        return StreamCertificate.from_dict(told)
    if "violation" in told:
        return KernelGap.from_dict(told)
    return Gap.from_dict(told) if "lower_bound" in told else Certificate.from_dict(told)


LINEAR: Table[Any] = Table(
    "coef_",
    (
        settings(*OF_A_RUN),
        CLASSES,
        FEATURES,
        NAMES,
        array("coef", lambda model: (n_planes(model), model.n_features_in_)),
        array("intercept", lambda model: (n_planes(model),)),
        constant("zero_rule", "a score of exactly 0 is the last class"),
        replace(STATUS, optional=True),
        replace(stored("certificate", certificate_of), optional=True),
        extra(
            "n_iter_", "n_updates_", "solver_used_", "fingerprint_",
            "objective_", "support_", "dual_coef_", "margin_width_", "leave_one_out_bound_",
            "log_likelihood_", "null_log_likelihood_", "separation_",
        ),
        CALIBRATION,
    ),
)  # fmt: skip
