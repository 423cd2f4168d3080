"""What a classifier with a kernel puts into a model file, and how it comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from linsep.core.status import Status
from linsep.errors import ModelError
from linsep.formats.linear import _classes_in, _classes_out
from linsep.kernels import Kernel, from_dict

__all__ = ["kernel_from_model", "kernel_to_model"]

_OF_A_RUN = ("callbacks", "verbose", "kernel")
_EXTRA = ("n_iter_", "n_updates_", "solver_used_", "preprocessing_", "conflict_", "errors_")


def kernel_to_model(model: Any) -> dict[str, Any]:
    """Fields of a fitted classifier: support vectors, coefficients, the kernel by its numbers."""
    if not hasattr(model, "dual_coef_"):
        raise ModelError(f"{type(model).__name__} is not fitted; call fit before saving it.")
    names = getattr(model, "feature_names_in_", None)
    vectors = model.support_vectors_
    if scipy.sparse.issparse(vectors):
        stored: Any = {
            "data": vectors.data,
            "indices": vectors.indices.astype(np.int64),
            "indptr": vectors.indptr.astype(np.int64),
            "shape": [int(k) for k in vectors.shape],
        }
    else:
        stored = np.asarray(vectors)
    params = model.get_params(deep=False)
    kernel = params["kernel"]
    certificate: Any = model.certificate_
    return {
        "params": {key: value for key, value in params.items() if key not in _OF_A_RUN},
        "kernel_given": kernel.to_dict() if isinstance(kernel, Kernel) else _name(kernel),
        "kernel": model.kernel_.to_dict(),
        "classes": _classes_out(np.asarray(model.classes_)),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "support": np.asarray(model.support_, dtype=np.int64),
        "n_support": np.asarray(model.n_support_, dtype=np.int64),
        "support_vectors": stored,
        "dual_coef": model.dual_coef_,
        "intercept": model.intercept_,
        "status": {"name": model.status_.name, "sentence": model.status_.value},
        "certificate": certificate.to_dict() if certificate is not None else None,
        "extra": {key: getattr(model, key) for key in _EXTRA if hasattr(model, key)},
    }


def _name(kernel: Any) -> str:
    if not isinstance(kernel, str):
        raise ModelError(
            f"kernel is {kernel!r:.60}, a function, which a model file cannot hold; use a kernel "
            "of linsep.kernels."
        )
    return kernel


def kernel_from_model(cls: Any, fields: Mapping[str, Any]) -> Any:
    """Give a fitted classifier of class ``cls``."""
    given = fields["kernel_given"]
    kernel = from_dict(given) if isinstance(given, dict) else given
    model = cls(**fields["params"], kernel=kernel)
    model._kernel = model.kernel_ = from_dict(fields["kernel"])
    model.classes_ = _classes_in(fields["classes"])
    model.n_features_in_ = fields["n_features"]
    if type(model.n_features_in_) is not int or len(model.classes_) < 2:
        raise ModelError(f"n_features is {model.n_features_in_!r}")
    _numbers(model, fields)
    if fields.get("feature_names") is not None:
        if len(fields["feature_names"]) != model.n_features_in_:
            raise ModelError("feature_names has another length than n_features")
        model.feature_names_in_ = np.array(fields["feature_names"], dtype=object)
    for key, value in (fields.get("extra") or {}).items():
        if key not in _EXTRA:
            raise ModelError(f"extra has the unknown entry {key!r}")
        setattr(model, key, value)
    try:
        model.status_ = Status[fields["status"]["name"]]
    except KeyError as error:
        raise ModelError(f"status {error} is not known") from error
    model.certificate_ = cls._certificate_class().from_dict(fields["certificate"])
    return model


def _numbers(model: Any, fields: Mapping[str, Any]) -> None:
    """Arrays of fitting shapes, all of them finite."""
    support = np.asarray(fields["support"], dtype=np.int64)
    dual = np.asarray(fields["dual_coef"], dtype=np.float64)
    counts = np.asarray(fields["n_support"], dtype=np.int32)
    intercept = np.asarray(fields["intercept"], dtype=np.float64)
    stored = fields["support_vectors"]
    if isinstance(stored, dict):
        parts = (stored["data"], stored["indices"], stored["indptr"])
        vectors: Any = scipy.sparse.csr_array(parts, shape=tuple(stored["shape"]))
        finite = np.isfinite(vectors.data).all()
    else:
        vectors = np.asarray(stored)
        finite = np.isfinite(vectors).all()
    wide = (len(support), model.n_features_in_)
    if not model._precomputed and vectors.shape != wide:
        raise ModelError(f"support_vectors has shape {vectors.shape} where {wide} is needed")
    if dual.ndim != 2 or dual.shape[1] != len(support) or counts.sum() != len(support):
        raise ModelError(f"dual_coef has shape {dual.shape} for {len(support)} support vectors")
    if len(counts) != len(model.classes_) or dual.shape[0] != model._n_rows_of_dual():
        raise ModelError(f"dual_coef has {dual.shape[0]} rows for {len(model.classes_)} classes")
    if intercept.shape != (model._n_machines(),):
        raise ModelError(f"intercept has shape {intercept.shape}")
    if not (finite and np.isfinite(dual).all() and np.isfinite(intercept).all()):
        raise ModelError("an array holds a number that is not finite")
    model.support_, model.dual_coef_, model.n_support_ = support, dual, counts
    model.support_vectors_, model.intercept_ = vectors, intercept
