"""Facts around a kernel machine: cost, the proof, votes."""

from __future__ import annotations

import sys
from itertools import combinations
from math import isqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, NuSVC

from linsep.core.notes import warn
from linsep.core.problem import Problem
from linsep.errors import CostWarning, ModelError
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import Duels, duels_of
from linsep.kernels.spec import NAMED, as_kernel, from_sklearn, is_given
from linsep.kernels.user import Function
from linsep.models.fit import row_weights
from linsep.proofs.definite import definite
from linsep.proofs.kernel import (
    Definite,
    KernelGap,
    Rough,
    kernel_gap,
    rough_sums,
    stretch,
)

Array = NDArray[np.float64]

_LONG = 60_000  # rows from which a fit may take minutes


def cost_words(problem: Problem, kernel: Any, memory: float, verbose: int) -> None:
    """Before a long fit: what it will cost, and the cheaper routes."""
    n = problem.n
    if n < 5000 or not (verbose or n >= _LONG):
        return
    need = 4e-6 * n * n
    how = "all of it fits" if need <= memory else f"{memory:.0f} MB are allowed (memory=)"
    words = (
        f"a kernel machine of {n} rows: up to {n:,} x {n:,} kernel values of {problem.d} features "
        f"({need:,.0f} MB; {how}), and the time grows with the square of the rows. Cheaper: "
        f"{kernel.cheaper}, or fewer rows."
    )
    if verbose:
        print(words, file=sys.stderr)
    else:
        warn(words, CostWarning)


def words_of(C: float, kernel: Any, free: bool, known: Definite, nu: float | None = None) -> str:
    """The objective as a sentence, with what is taken for granted."""
    b = "the intercept is not penalised" if free else "no intercept"
    taken = ", assumed to be positive semidefinite" if known.convex and not known.proved else ""
    if known.shift > 0:
        taken = f" + {known.shift:.3g} on the diagonal, which is positive semidefinite"
    if known.uneven > 0:
        taken = f", of its symmetric part (K + K') / 2{taken}"
    what = f"in the feature space of {kernel!r}{taken}; {b}"
    what += "" if nu is None else f"; C is what nu={nu:g} comes to"
    if np.isinf(C):
        return f"|w|^2 / 2 with y f(x) >= 1 for all rows {what}"
    return f"|w|^2 / 2 + {C:.6g} x sum of hinge losses {what}"


def certify_pairs(
    problem: Problem, pairs: Duels, alphas: list[Array], offsets: Array, C: float,
    known: Definite, words: str, nu: float | None = None,
) -> KernelGap:  # fmt: skip
    """The proof of all machines, recomputed from their numbers and the kernel."""
    coef = np.zeros((problem.n, len(alphas)))
    for k, (pair, alpha) in enumerate(zip(pairs.pairs, alphas)):
        coef[pair.ids, k] = np.nan_to_num(alpha * pair.y, posinf=0.0, neginf=0.0)
    rough = rough_sums(pairs.values, coef, _groups(problem, pairs))
    raw = _all_sums(pairs, coef) if rough is None and len(alphas) > 1 else None
    parts = []
    for k, (pair, alpha, b) in enumerate(zip(pairs.pairs, alphas, offsets)):
        quick = None if rough is None else (rough.sums[pair.ids, k], rough.error[pair.ids, k])
        parts.append(
            kernel_gap(
                pairs.values, pair.ids, pair.y, C * pair.weight, alpha, float(b),
                free=problem.fit_intercept, known=known, words=words, rough=quick,
                sums=None if raw is None else raw[pair.ids, k], nu=nu,
            )
        )  # fmt: skip
    if len(parts) == 1:
        return parts[0]
    errors = _vote_errors(problem, pairs, coef, offsets, rough, raw)
    return KernelGap.together(parts, errors, "one for each pair of classes")


def _all_sums(pairs: Duels, coef: Array, some: NDArray[Any] | None = None) -> Array:
    """Of all machines in float64, for some rows or all: the votes need each of them."""
    rows, vectors = np.arange(len(coef)) if some is None else some, np.flatnonzero(coef.any(axis=1))
    return np.asarray(pairs.values.combine_many(vectors, coef[vectors], rows))


def _groups(problem: Problem, pairs: Any) -> list[tuple[NDArray[Any], NDArray[Any]]] | None:
    """The rows of each class with the machines of that class."""
    if len(pairs.pairs) == 1:
        return None
    label = problem.label[pairs.order]
    return [
        (
            np.flatnonzero(label == c),
            np.array([k for k, p in enumerate(pairs.pairs) if c in p.classes]),
        )
        for c in range(problem.K)
    ]


_AT_ONE = 1e-9  # as near the nearest row of a hard margin may be to 1


def stretched(
    pairs: Duels, alphas: list[Array], offsets: Array, C: float
) -> tuple[list[Array], Array]:
    """All machines times a factor next to 1 that takes rounding errors out of the losses."""
    by = [
        stretch(pairs.values, pair.ids, pair.y, C * pair.weight, alpha, float(b))
        for pair, alpha, b in zip(pairs.pairs, alphas, offsets)
    ]
    return [t * alpha for t, alpha in zip(by, alphas)], np.asarray(offsets) * np.array(by)


def canonical(pairs: Duels, alphas: list[Array], offsets: Array) -> tuple[list[Array], Array]:
    """Hard margins at the scale at which the nearest row has y f(x) = 1."""
    by = [
        _to_one(pairs, pair, alpha, float(b))
        for pair, alpha, b in zip(pairs.pairs, alphas, offsets)
    ]
    return [t * alpha for t, alpha in zip(by, alphas)], np.asarray(offsets) * np.array(by)


def _to_one(pairs: Duels, pair: Any, alpha: Array, b: float) -> float:
    some = np.flatnonzero(alpha)
    sums = pairs.values.combine(pair.ids[some], (alpha * pair.y)[some], pair.ids)
    least = float((pair.y * (sums + b)).min(initial=np.inf))
    away = 0 < least < np.inf and abs(least - 1) > _AT_ONE
    return 1 / least if away else 1.0


def _vote_errors(
    problem: Problem, pairs: Duels, coef: Array, offsets: Array, rough: Rough | None,
    raw: Array | None,
) -> int:  # fmt: skip
    """Rows that the votes of all machines give to another class."""
    label, some = problem.label[pairs.order], np.arange(problem.n)
    wrong = 0
    if rough is not None:
        winner = sure_winners(rough.sums + offsets, rough.error)
        wrong = int((winner[winner >= 0] != label[winner >= 0]).sum())
        some = some[winner < 0]
    raw = _all_sums(pairs, coef, some) if raw is None else raw
    return wrong + int(
        (votes_and_sums(raw + offsets, problem.K).argmax(axis=1) != label[some]).sum()
    )


def votes_and_sums(raw: Array, K: int) -> Array:
    """Votes for the classes plus, for equal votes, sums of values squeezed into (-1/3, 1/3)."""
    votes, sums = np.zeros((len(raw), K)), np.zeros((len(raw), K))
    for column, (i, j) in enumerate(combinations(range(K), 2)):
        value = raw[:, column]
        votes[:, j] += value >= 0
        votes[:, i] += value < 0
        sums[:, i] -= value
        sums[:, j] += value
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))


def sure_winners(raw: Array, error: Array) -> NDArray[np.int64]:
    """The class that wins against all others, whatever the errors of the values are, else -1.

    Columns are pairs of classes. No other class can have as many votes as the winner, so the
    signs of the pairs without it do not matter.
    """
    K = (1 + isqrt(1 + 8 * raw.shape[1])) // 2
    won = np.zeros((len(raw), K), dtype=np.int64)
    for column, (i, j) in enumerate(combinations(range(K), 2)):
        won[:, j] += raw[:, column] > error[:, column]
        won[:, i] += raw[:, column] < -error[:, column]
    return np.where(won.max(axis=1) == K - 1, won.argmax(axis=1), -1)


def pair_columns(dual: Array, n_support: NDArray[Any]) -> Array:
    """Coefficients of the support vectors, one column for each pair of classes."""
    K = len(n_support)
    edges = np.concatenate([[0], np.cumsum(n_support)])
    out = np.zeros((dual.shape[1], K * (K - 1) // 2))
    for column, (i, j) in enumerate(combinations(range(K), 2)):
        first, second = slice(edges[i], edges[i + 1]), slice(edges[j], edges[j + 1])
        out[first, column] = dual[j - 1, first]
        out[second, column] = dual[i, second]
    return out


# -- The proof of a kernel machine again, from the data and the numbers of the model alone --------


class WithSupport(Protocol):
    """A fitted machine with support vectors, of linsep or of scikit-learn."""

    C: float
    class_weight: Any
    fit_intercept: bool
    classes_: NDArray[Any]
    dual_coef_: Any
    intercept_: Array
    support_: NDArray[np.integer[Any]]
    support_vectors_: Any
    n_support_: NDArray[np.integer[Any]]


class KernelMachine(WithSupport, Protocol):
    """The same with a kernel of linsep."""

    kernel_: Kernel
    _precomputed: bool
    _cost: float


def recheck(model: KernelMachine, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
    """Bounds of a fitted KernelSVM on the rows it was trained on."""
    kernel = None if model._precomputed else model.kernel_
    C, overlap = model._cost, getattr(model, "overlap_", None)
    if overlap is not None:
        if overlap.kernel != model.kernel_ or overlap.fit_intercept != bool(model.fit_intercept):
            raise ModelError("the proof that no street exists is about another machine.")
        overlap.check(X, y)
        C = 1.0 if np.isinf(C) else C
    nu = getattr(model, "nu", None)
    return _measured(model, kernel, C, model.fit_intercept, X, y, sample_weight, nu)


def certify_svc(model: SVC, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
    """Bounds of a fitted sklearn.svm.SVC with a kernel, on the rows it was trained on."""
    name, rate = model.kernel, float(getattr(model, "_gamma", 1.0))
    kernel: Kernel | None
    if callable(name):
        kernel = as_kernel(Function(name, of="matrices"), warn=False)
    elif is_given(name):
        kernel = None
    elif name in NAMED:
        kernel = from_sklearn(name, gamma=rate, degree=model.degree, coef0=model.coef0)
    else:
        raise ModelError(
            f"SVC(kernel={name!r}) cannot be certified; one of {', '.join(NAMED)}, 'precomputed' "
            "or a function of two arrays can."
        )
    return _measured(model, kernel, float(model.C), True, X, y, sample_weight)


def _measured(
    model: WithSupport, kernel: Any, C: float, free: bool, X: Any, y: Any, sample_weight: Any,
    nu: float | None = None,
) -> KernelGap:  # fmt: skip
    problem = problem_for(model, X, y, sample_weight, free)
    known = definite(problem, kernel)
    pairs = duels_of(problem, kernel)
    columns, offsets = _columns(model)
    place = places_of(model, problem)
    alphas = []
    for k, pair in enumerate(pairs.pairs):
        signed = np.zeros(problem.n)
        signed[place] = columns[:, k]
        alphas.append(signed[pairs.order[pair.ids]] * pair.y)
    named = kernel if kernel is not None else as_kernel("precomputed")
    words = words_of(C, named, bool(free), known, nu)
    return certify_pairs(problem, pairs, alphas, offsets, C, known, words, nu)


def problem_for(
    model: WithSupport, X: Any, y: Any, sample_weight: Any = None, free: bool | None = None
) -> Problem:
    """The rows a model was trained on, with its weights of classes."""
    labels = np.asarray(y)
    own = not isinstance(model, SVC | NuSVC)
    given = getattr(model, "class_weight", None)
    weight = row_weights(given, labels, sample_weight, by_weight=own)
    free = bool(model.fit_intercept) if free is None else bool(free)
    problem = Problem(X, labels, sample_weight=weight, fit_intercept=free)
    if not np.array_equal(np.asarray(model.classes_), problem.classes):
        raise ModelError(
            f"the model knows the classes {list(model.classes_)} but y has {list(problem.classes)}."
        )
    return problem


def _columns(model: WithSupport) -> tuple[Array, Array]:
    """Coefficients of the support vectors for each pair, positive for the second class."""
    dual = model.dual_coef_
    dual = dual.toarray() if hasattr(dual, "toarray") else np.asarray(dual, dtype=np.float64)
    offsets = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    if len(model.classes_) == 2:
        return dual.T, offsets
    return -pair_columns(dual, np.asarray(model.n_support_)), -offsets


def places_of(model: WithSupport, problem: Problem) -> NDArray[np.int64]:
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
    if len(place) and vectors.shape == (len(place), problem.d):
        differs = abs(problem.matrix[place] - vectors)
        if len(place) and differs.max() > 0:
            raise ModelError("the support vectors are not rows of X; give the rows of the fit.")
    return place
