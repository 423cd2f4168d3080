"""What a model of LIBLINEAR or LIBSVM has minimised, and where its support vectors stand.

Neither library writes C into its files, so it comes from outside. Of LIBSVM it can often be read
off: alpha of the rows inside the street is C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.certify.gap import Objective
from linsep.errors import ModelError
from linsep.estimators.model_objective import TWO_OF_A_KIND, Claim
from linsep.formats.liblinear import LiblinearModel
from linsep.formats.libsvm import LibsvmModel

__all__ = ["claim_of_liblinear", "claim_of_libsvm", "located"]

_DIGITS = "%.8g"  # of support vectors in a file of LIBSVM


def claim_of_liblinear(model: LiblinearModel, C: float | None, class_weight: Any) -> Claim:
    """The objective behind the solver that the file names."""
    _refuse_lost_weights(model, class_weight)
    cost, note = C, ""
    if cost is None and model.C is not None:
        cost = model.C
    if cost is None:
        cost, note = 1.0, "C = 1 was assumed, a file of LIBLINEAR does not hold it"
    how = "penalised" if model.bias > 0 else "none"
    if model.free_bias:
        how = "free"
    constant = model.bias if model.bias > 0 else 1.0
    loss, kind, scale, weights = model.loss, "svm", 1.0, None
    if loss == "crammer-singer":
        loss, kind = "hinge", "machine"
        if len(model.classes_) == 2:
            kind, cost, scale = "svm", 2.0 * cost, 0.5
            weights = (np.diff(model.coef_, axis=0), np.diff(model.intercept_))
            note = "; ".join(filter(None, [TWO_OF_A_KIND, note]))
    elif model.penalty == "l1":
        kind = f"l1 {loss}"
    elif loss == "logistic":
        kind = loss
    objective = Objective("hinge" if loss == "logistic" else loss, cost, how, constant, scale)
    return Claim(
        kind, objective, class_weight or model.class_weight, positive_only=True, weights=weights,
        note=note,
    )  # fmt: skip


def claim_of_libsvm(
    model: LibsvmModel, X: Any, y: Any, C: float | None, class_weight: Any
) -> Claim:
    """The soft margin behind a model with a linear kernel."""
    cost, note = cost_of(model, C, class_weight)
    binary = len(model.classes_) == 2
    support: Any
    alpha: Any
    try:
        support, alpha = located(model, X, y), np.abs(model.dual_coef_)
    except ModelError:  # rows in other digits: the bound is found without their alpha
        support = alpha = None
    return Claim(
        "svm", Objective("hinge", cost, "free"), class_weight or model.class_weight,
        support, alpha if binary else None, pairs=not binary, note=note,
    )  # fmt: skip


def cost_of(model: LibsvmModel, C: float | None, class_weight: Any) -> tuple[float, str]:
    """C, and the words of where it comes from."""
    _refuse_lost_weights(model, class_weight)
    if model.svm_type == "nu_svc":
        if len(model.classes_) > 2:
            raise ModelError("nu_svc has a C of its own for each pair of classes; give two.")
        return model.largest()[0], "C is what nu comes to"
    if C is not None:
        return C, ""
    if model.C is not None:
        return model.C, ""
    top, shared = model.largest()
    if shared:
        return top, "C was read off the support vectors at their bound"
    return max(1.0, top), (
        "C was assumed, since a file of LIBSVM does not hold it and no alpha is at its bound"
    )


def _refuse_lost_weights(model: Any, class_weight: Any) -> None:
    if model.weighted and class_weight is None:
        raise ModelError(
            "the model was trained with weights of classes (-w), which it does not keep; give "
            "them as class_weight={label: weight}."
        )


def located(model: LibsvmModel, X: Any, y: Any) -> NDArray[np.int64]:
    """Rows of X that the support vectors are; a file has eight digits of each number."""
    if model.support_ is not None:
        return model.support_
    vectors = model.support_vectors_
    rows = scipy.sparse.csr_array(X, dtype=np.float64, copy=True)
    if vectors.shape[1] > rows.shape[1]:
        raise ModelError(
            f"the model has weights for {vectors.shape[1]} features but X has {rows.shape[1]} "
            "columns."
        )
    wanted = _keys(vectors, np.repeat(model.classes_, model.n_support_))
    found = _match(_keys(rows, y), wanted)
    if found is None:
        rows.data = np.char.mod(_DIGITS, rows.data).astype(np.float64)
        found = _match(_keys(rows, y), wanted)
    if found is None:
        raise ModelError("the support vectors are not rows of X; give the rows of the fit.")
    return found


def _keys(matrix: Any, labels: Any) -> list[bytes]:
    """One key a row, equal for equal rows of one class."""
    matrix = scipy.sparse.csr_array(matrix)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    edges, places, values = matrix.indptr, matrix.indices.astype(np.int64), matrix.data
    names = np.asarray(labels, dtype=np.float64)
    return [
        name.tobytes() + places[lo:hi].tobytes() + values[lo:hi].tobytes()
        for name, lo, hi in zip(names, edges, edges[1:])
    ]


def _match(rows: list[bytes], wanted: list[bytes]) -> NDArray[np.int64] | None:
    """A row for each key, equal rows in the order they come; None if one is missing."""
    places: dict[bytes, list[int]] = {}
    for at, key in enumerate(rows):
        places.setdefault(key, []).append(at)
    for queue in places.values():
        queue.reverse()
    out = []
    for key in wanted:
        queue = places.get(key, [])
        if not queue:
            return None
        out.append(queue.pop())
    return np.array(out, dtype=np.int64)
