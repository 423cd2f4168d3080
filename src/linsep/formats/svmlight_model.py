"""Model files of SVMlight, in and out.

Eleven lines ``value # what it is``: the version, the kernel and its parameters, counts and the
threshold b; then a line ``alpha*y index:value ... # comment`` for each support vector. The score
is sum alpha y K(sv, x) - b, and one > 0 is the class +1. Neither C nor labels are in the file.
SVMlight holds values in single precision and writes eight digits of them.

    0 linear        x.z                    2 rbf       exp(-g |x - z|^2)
    1 polynomial    (s x.z + r)^d          3 sigmoid   tanh(s x.z + r)
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse

from linsep.core.protocol import has_planes
from linsep.errors import ModelError
from linsep.formats.libsvm import LibsvmModel, has_vectors, kernel_settings, vector_lines
from linsep.formats.text_model import number, pairs, whole, whole_labels, write_lines

FIRST = "SVM-light Version"
_KERNELS = ("linear", "poly", "rbf", "sigmoid")
_HEAD = 11  # lines


def read_svmlight_model(lines: list[str], path: str) -> LibsvmModel:
    """The model of a file, with the classes -1 and +1."""
    if len(lines) < _HEAD:
        raise ModelError(f"{path}: {len(lines)} lines; a file of SVMlight begins with {_HEAD}.")
    words = [line.partition("#")[0].strip() for line in lines[:_HEAD]]
    kind = whole(words[1], path, 1)
    if not 0 <= kind < len(_KERNELS):
        raise ModelError(f"{path}:2: kernel type {kind}; linsep reads 0 to 3, and not 4, which is "
                         "a function in the program that trained it.")  # fmt: skip
    degree, width, count = (whole(words[at], path, at) for at in (2, 7, 9))
    gamma, scale, shift, threshold = (number(words[at], path, at) for at in (3, 4, 5, 10))
    body = [(at, line) for at, line in enumerate(lines[_HEAD:], _HEAD) if line.strip()]
    if len(body) != count - 1:
        raise ModelError(f"{path}: {len(body)} support vectors, but line 10 says {count} plus 1 "
                         "too many; the file is damaged.")  # fmt: skip
    alpha, data, indices, starts = [], list[float](), list[int](), [0]
    for at, line in body:
        first, *rest = line.partition("#")[0].split() or [""]
        alpha.append(number(first, path, at))
        rest = rest[1:] if rest and rest[0].startswith("qid:") else rest
        places, values = pairs(rest, path, at)
        if places and places[-1] >= width:
            raise ModelError(f"{path}:{at + 1}: feature {places[-1] + 1}, but line 8 says that "
                             f"{width} is the highest.")  # fmt: skip
        indices += places
        data += values
        starts.append(len(data))
    vectors = scipy.sparse.csr_array((data, indices, starts), shape=(len(alpha), max(width, 1)))
    signed = np.array(alpha, dtype=np.float64)
    order = np.argsort(signed >= 0, kind="stable")  # the class -1 first
    counts = np.array([(signed < 0).sum(), (signed >= 0).sum()], dtype=np.int64)
    model = LibsvmModel(
        "c_svc", _KERNELS[kind], np.array([-1, 1]), vectors[order], signed[order][None, :],
        np.array([-threshold]), counts, labels=np.array([1, -1]), program="SVMlight",
    )  # fmt: skip
    if kind == 1 and degree < 1:
        raise ModelError(f"{path}:3: the degree {degree} of the polynomial is below 1.")
    if kind == 2:
        model.gamma = gamma
    elif kind != 0:
        model.gamma, model.coef0, model.degree = scale, shift, max(degree, 1)
    return model


def write_svmlight_model(model: object, path: str | os.PathLike[str]) -> None:
    """Write a machine of two classes -1 and +1; a linear one without its vectors as one vector."""
    if not hasattr(model, "classes_"):
        raise ModelError(f"{type(model).__name__} is not fitted; call fit before saving it.")
    labels = whole_labels(model.classes_, "SVMlight")
    if labels.tolist() != [-1, 1]:
        raise ModelError(f"SVMlight knows the labels -1 and +1 only; the classes are "
                         f"{labels.tolist()}. Recode them, or save as .json.")  # fmt: skip
    settings: dict[str, Any] = {"kernel": "linear"}
    if has_vectors(model):
        settings = kernel_settings(model, "SVMlight")
        vectors = scipy.sparse.csr_array(model.support_vectors_)
        signed = np.asarray(model.dual_coef_, dtype=np.float64)
    elif has_planes(model):
        vectors, signed = scipy.sparse.csr_array(np.atleast_2d(model.coef_)), np.ones((1, 1))
    else:
        raise ModelError(f"{type(model).__name__} has neither weights of features nor support "
                         "vectors of its own; save it as .json.")  # fmt: skip
    kind = _KERNELS.index(settings["kernel"])
    gamma = settings.get("gamma", 1.0)
    rest = (gamma, settings.get("coef0", 0.0)) if kind in (1, 3) else (1.0, 1.0)
    threshold = -float(np.atleast_1d(model.intercept_)[0]) + 0.0
    head = [
        f"{FIRST} V6.02", f"{kind} # kernel type",
        f"{settings.get('degree', 3) if kind == 1 else 3} # kernel parameter -d ",
        f"{gamma if kind == 2 else 1.0:.17g} # kernel parameter -g ",
        f"{rest[0]:.17g} # kernel parameter -s ", f"{rest[1]:.17g} # kernel parameter -r ",
        "empty# kernel parameter -u ", f"{vectors.shape[1]} # highest feature index ",
        f"{vectors.shape[0]} # number of training documents ",
        f"{vectors.shape[0] + 1} # number of support vectors plus 1 ",
        f"{threshold:.17g} # threshold b, each following line is a SV (starting with alpha*y)",
    ]  # fmt: skip
    write_lines([*head, *(f"{line} #" for line in vector_lines(signed, vectors))], path)
