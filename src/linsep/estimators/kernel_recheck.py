"""The proof of a kernel machine again, from the data and the numbers of the model alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from linsep.certify.kernel_gap import KernelGap
from linsep.core import Problem
from linsep.errors import ModelError
from linsep.estimators.class_weight import row_weights
from linsep.estimators.kernel_facts import certify_pairs, convexity, pair_columns, words_of
from linsep.kernels import RBF, Function, Polynomial, Sigmoid, as_kernel
from linsep.solvers.smo import SMO
from linsep.solvers.smo_parts import pairs_of

__all__ = ["certify_svc", "places_of", "problem_for", "recheck"]

Array = NDArray[np.float64]


def recheck(model: Any, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
    """Bounds of a fitted KernelSVM on the rows it was trained on."""
    kernel = None if model._precomputed else model.kernel_
    C, overlap = float(model.C), getattr(model, "overlap_", None)
    if overlap is not None:
        if overlap.kernel != model.kernel_ or overlap.fit_intercept != bool(model.fit_intercept):
            raise ModelError("the proof that no street exists is about another machine.")
        overlap.check(X, y)
        C = 1.0 if np.isinf(C) else C
    return _measured(model, kernel, C, model.fit_intercept, X, y, sample_weight)


def certify_svc(model: Any, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
    """Bounds of a fitted sklearn.svm.SVC with a kernel, on the rows it was trained on."""
    name = model.kernel
    rate = float(getattr(model, "_gamma", 1.0))
    kernels: dict[str, Any] = {
        "rbf": lambda: RBF(gamma=rate),
        "poly": lambda: Polynomial(degree=model.degree, coef0=model.coef0, gamma=rate),
        "sigmoid": lambda: Sigmoid(k=rate, c=model.coef0),
        "precomputed": lambda: None,
    }
    if callable(name):
        kernel = as_kernel(Function(name, of="matrices"), warn=False)
    elif name in kernels:
        kernel = kernels[name]()
    else:
        raise ModelError(f"SVC(kernel={name!r}) cannot be certified.")
    return _measured(model, kernel, float(model.C), True, X, y, sample_weight)


def _measured(
    model: Any, kernel: Any, C: float, free: bool, X: Any, y: Any, sample_weight: Any
) -> KernelGap:
    problem = problem_for(model, X, y, sample_weight, free)
    convex, _ = convexity(problem, kernel)
    solver = SMO(kernel=kernel, C=C, convex=convex)
    pairs = pairs_of(problem, kernel)
    columns, offsets = _columns(model)
    place = places_of(model, problem)
    alphas = []
    for k, pair in enumerate(pairs.pairs):
        signed = np.zeros(problem.n)
        signed[place] = columns[:, k]
        alphas.append(signed[pairs.order[pair.ids]] * pair.y)
    named = kernel if kernel is not None else as_kernel("precomputed")
    words = words_of(C, named, bool(free), convex)
    return certify_pairs(problem, pairs, alphas, offsets, solver, words)


def problem_for(
    model: Any, X: Any, y: Any, sample_weight: Any = None, free: bool | None = None
) -> Problem:
    """The rows a model was trained on, with its weights of classes."""
    labels = np.asarray(y)
    own = not isinstance(model, SVC)
    weight = row_weights(model.class_weight, labels, sample_weight, by_weight=own)
    free = bool(model.fit_intercept) if free is None else bool(free)
    problem = Problem(X, labels, sample_weight=weight, fit_intercept=free)
    if not np.array_equal(np.asarray(model.classes_), problem.classes):
        raise ModelError(
            f"the model knows the classes {list(model.classes_)} but y has {list(problem.classes)}."
        )
    return problem


def _columns(model: Any) -> tuple[Array, Array]:
    """Coefficients of the support vectors for each pair, positive for the second class."""
    dual = model.dual_coef_
    dual = dual.toarray() if hasattr(dual, "toarray") else np.asarray(dual, dtype=np.float64)
    offsets = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    if len(model.classes_) == 2:
        return dual.T, offsets
    return -pair_columns(dual, np.asarray(model.n_support_)), -offsets


def places_of(model: Any, problem: Problem) -> NDArray[np.int64]:
    """Rows of the problem that the support vectors are."""
    support = np.asarray(model.support_, dtype=np.int64)
    index = problem.row_index
    known = problem.n if index is None else int(index[-1]) + 1
    if len(support) and (support.max() >= known or support.min() < 0):
        raise ModelError(
            f"the model has support vector {int(support.max())} but X has {known} rows; give the "
            "rows it was trained on."
        )
    place = support if index is None else np.searchsorted(index, support)
    counts = np.bincount(problem.label[place], minlength=problem.K)
    if len(np.unique(place)) < len(place) or not np.array_equal(counts, model.n_support_):
        raise ModelError(
            f"n_support is {np.asarray(model.n_support_).tolist()}, but the support vectors are "
            f"{counts.tolist()} rows of the classes."
        )
    vectors = model.support_vectors_
    if vectors.shape[0] == len(place) and vectors.shape[1] == problem.d:
        differs = abs(problem.matrix[place] - vectors)
        if differs.max() > 0:
            raise ModelError("the support vectors are not rows of X; give the rows of the fit.")
    return place
