"""Kernel machines as files of LIBSVM, which its own programs read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse

from linsep.errors import ModelError
from linsep.formats.libsvm import KERNELS, LibsvmModel
from linsep.formats.text_model import whole_labels, write_lines

__all__ = ["has_vectors", "write_libsvm"]


def has_vectors(model: Any) -> bool:
    """Whether a fitted model is a machine of support vectors and a kernel."""
    return isinstance(model, LibsvmModel) or (
        hasattr(model, "support_vectors_") and hasattr(model, "kernel_")
    )


def write_libsvm(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted kernel machine as a file of LIBSVM.

    Labels stand in sorted order, and every number with the digits that give its bits again. Of
    classes with equally many votes LIBSVM takes the first one; probabilities are not written.
    """
    labels = whole_labels(model.classes_, "LIBSVM")
    K = len(labels)
    coef, rho = np.asarray(model.dual_coef_, dtype=np.float64), -np.asarray(model.intercept_)
    if K == 2:  # LIBSVM's machine of two classes is for the first one
        coef, rho = -coef, -rho
    elif len(coef) != K - 1:
        raise ModelError(f"{type(model).__name__} of {K} classes has one machine for each class "
                         "and LIBSVM one for each pair; save it as .json.")  # fmt: skip
    vectors = scipy.sparse.csr_array(model.support_vectors_)
    head = [
        f"svm_type {getattr(model, 'svm_type', 'c_svc')}", *_kernel_lines(model),
        f"nr_class {K}", f"total_sv {vectors.shape[0]}",
        f"rho {_joined(np.atleast_1d(rho))}", f"label {' '.join(map(str, labels))}",
        f"nr_sv {' '.join(map(str, model.n_support_))}", "SV",
    ]  # fmt: skip
    body = []
    for row in range(vectors.shape[0]):
        span = slice(vectors.indptr[row], vectors.indptr[row + 1])
        places = np.argsort(vectors.indices[span], kind="stable")
        pairs = zip(vectors.indices[span][places], vectors.data[span][places])
        entries = [f"{place + 1}:{value:.17g}" for place, value in pairs if value != 0]
        body.append(" ".join([_joined(coef[:, row]), *entries]))
    write_lines([*head, *body], path)


def _joined(values: Any) -> str:
    return " ".join(f"{value + 0.0:.17g}" for value in values)


def _kernel_lines(model: Any) -> list[str]:
    """The lines of the kernel, in LIBSVM's words and with its names of parameters."""
    if isinstance(model, LibsvmModel):
        name, settings = model.kernel, vars(model)
    else:
        kernel = model.kernel_
        name = type(kernel).__name__.lower()
        settings = kernel.get_params()
        if name == "rbf":
            settings = {"gamma": kernel.rate}
        elif name == "sigmoid":
            settings = {"gamma": kernel.k, "coef0": kernel.c}
    known = {ours: theirs for theirs, ours in KERNELS.items()} | {"polynomial": "polynomial"}
    if name not in known:
        raise ModelError(f"LIBSVM has no kernel {model.kernel_!r}, only {', '.join(KERNELS)}; "
                         "save the model as .json.")  # fmt: skip
    used = {"linear": (), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
    names = used.get(known[name], ("degree", "gamma", "coef0"))
    return [f"kernel_type {known[name]}", *(f"{key} {_joined([settings[key]])}" for key in names)]
