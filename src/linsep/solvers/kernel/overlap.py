"""Where the hulls of two classes meet in the feature space of a kernel, in fractions.

Problem   find a >= 0, not 0, with sum a_i y_i phi(x_i) = 0 and sum a_i y_i = 0; of more classes
          a row held against a rival has the sign 1 for its own class and -1 for the rival, and
          both sums vanish for each class
Update    a linear program on coordinates of the images from the eigenvectors of the Gram matrix;
          a vertex of it has few rows. On these the null space of the exact Gram matrix gives a
Stop      an a of fractions with the signs asked for, or nothing
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.kernels.base import exact_gram, fraction, has_fractions
from linsep.kernels.blocks import KernelValues

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_PROGRAM_ROWS = 600  # rows that the linear program looks at
_VERTEX = 120  # rows of a vertex up to which exact elimination is worth while
_ZERO_EIGENVALUE = 1e-11  # eigenvalues below this share of the largest are rounding


def find_overlap(
    values: KernelValues, ids: Index, y: Array, alpha: Array, *, with_offset: bool
) -> tuple[Index, list[Fraction]] | None:
    """Places of rows and their multipliers, or None if none were found.

    alpha is where a solver of the hard margin stands: rows with large ones come first. y has a
    column of signs for each class where there are more than two, and ids may repeat rows.
    """
    y = y[:, None] if y.ndim == 1 else y
    some = np.arange(len(y))
    if len(y) > _PROGRAM_ROWS:
        some = np.sort(np.argsort(-alpha, kind="stable")[:_PROGRAM_ROWS])
    if values.kernel is not None and not has_fractions(values.kernel, _plain(values, ids[:1])[0]):
        return None
    weights = _vertex(values.block(ids[some], ids[some]), y[some], with_offset=with_offset)
    if weights is None:
        return None
    inside = np.flatnonzero(weights > 1e-9 * weights.max())
    if not 0 < len(inside) <= _VERTEX:
        return None
    rows = some[inside]
    exact = _null_vector(
        _exact(values, ids[rows]), y[rows], weights[inside], with_offset=with_offset
    )
    if exact is None:
        return None
    kept = [k for k, a in enumerate(exact) if a > 0]
    return rows[kept], [exact[k] for k in kept]


def _vertex(K: Array, y: Array, *, with_offset: bool) -> Array | None:
    """Weights of few rows that combine the images to nearly nothing."""
    from scipy.optimize import linprog

    scale = float(np.abs(np.diagonal(K)).max(initial=0.0)) or 1.0
    roots, vectors = np.linalg.eigh((K / 2 + K.T / 2) / scale)
    keep = roots > _ZERO_EIGENVALUE * max(float(roots[-1]), 0.0)
    images = vectors[:, keep] * np.sqrt(np.where(keep, roots, 1.0))[keep]
    images = images / np.maximum(np.abs(images).max(axis=0), 1e-300)
    columns = [*(images * signs[:, None] for signs in y.T), np.ones((len(y), 1))]
    if with_offset:
        columns.insert(-1, y)
    equations = np.hstack(columns).T
    right = np.zeros(len(equations))
    right[-1] = 1.0
    found = linprog(np.zeros(len(y)), A_eq=equations, b_eq=right, method="highs-ds")
    return np.asarray(found.x) if found.status == 0 else None


def _null_vector(
    K: list[list[Any]], y: Array, near: Array, *, with_offset: bool
) -> list[Fraction] | None:
    """Fractions a >= 0 close to ``near`` with sum_j K_ij y_j a_j = 0 for all i."""
    from flint import fmpq, fmpq_mat

    m, table = len(y), []
    for signs in y.astype(int).T.tolist():
        table += [[K[i][j] * signs[j] for j in range(m)] for i in range(m)]
        table += [[fmpq(s) for s in signs]] if with_offset else []
    reduced, rank = fmpq_mat(table).rref()
    pivots, at = [], 0
    for i in range(rank):
        while reduced[i, at] == 0:
            at += 1
        pivots.append(at)
        at += 1
    others = [j for j in range(m) if j not in pivots]
    a = [fmpq(0)] * m
    for j in others:  # the free ones as the linear program says, the pivots follow
        a[j] = fraction(round(float(near[j] / near.max()), 6))
    for i, j in enumerate(pivots):
        a[j] = -sum((reduced[i, k] * a[k] for k in others), fmpq(0))
    if not others or min(a) < 0 or max(a) == 0:
        return None
    return [Fraction(int(x.p), int(x.q)) for x in a]


def _exact(values: KernelValues, ids: Index) -> list[list[Any]]:
    if values.kernel is None:
        return [[fraction(k) for k in row] for row in values.block(ids, ids)]
    return exact_gram(values.kernel, _plain(values, ids))


def _plain(values: KernelValues, ids: Index) -> list[tuple[float, ...]]:
    some = values.matrix[ids]
    some = some if isinstance(some, np.ndarray) else some.toarray()
    return [tuple(float(x) for x in row) for row in some]
