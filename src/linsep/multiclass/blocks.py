"""Kesler's vectors: a problem of K classes as one homogeneous problem of two.

A row x of class i and another class j give the vector with x in block i and -x in block j, of
K blocks. A linear machine w = [w_1; ...; w_K] is right about x if w has a positive product with
all of its K - 1 vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from linsep.core.labels import as_labels
from linsep.core.validate import as_matrix, require_finite

__all__ = ["blocks_of", "kesler_vectors"]


def kesler_vectors(X: Any, y: ArrayLike, *, fit_intercept: bool = True) -> Any:
    """Kesler's vectors of a table, as a sparse matrix.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Labels of K >= 2 classes.
    fit_intercept : bool, default=True
        Whether rows get a 1 as their last coordinate.

    Returns
    -------
    CSR array of shape (n (K - 1), K (d + 1))
        Row by row, the other classes in their order; K d columns without intercept.

    Examples
    --------
    >>> from linsep.multiclass import kesler_vectors
    >>> X, y = [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]], [2, 1, 3]
    >>> kesler_vectors(X, y)[:2].toarray().astype(int)
    array([[-1, -2, -1,  1,  2,  1,  0,  0,  0],
           [ 0,  0,  0,  1,  2,  1, -1, -2, -1]])
    """
    matrix = as_matrix(X)
    require_finite(matrix, None)
    classes, label = as_labels(y, matrix.shape[0])
    return blocks_of(matrix, label, len(classes), fit_intercept)


def blocks_of(matrix: Any, label: NDArray[np.int64], K: int, fit_intercept: bool) -> Any:
    """The vectors of checked rows; two copies of a row are stored for each of them, no zeros."""
    rows = scipy.sparse.csr_array(matrix)
    n = rows.shape[0]
    if fit_intercept:
        ones = scipy.sparse.csr_array(np.ones((n, 1), dtype=rows.dtype))
        rows = scipy.sparse.hstack([rows, ones], format="csr")
    rival = np.tile(np.arange(K - 1), n)
    own = np.repeat(label, K - 1)
    rival += rival >= own
    copies = rows[np.repeat(np.arange(n), K - 1)]
    return (_placed(copies, own, K) - _placed(copies, rival, K)).tocsr()


def _placed(rows: Any, block: NDArray[np.int64], K: int) -> Any:
    """Each row in its block."""
    width = rows.shape[1]
    short = max(2 * rows.nnz, K * width) < np.iinfo(np.int32).max  # others take no long numbers
    kind = np.int32 if short else np.int64
    shift = np.repeat((block * width).astype(kind), np.diff(rows.indptr))
    columns = rows.indices.astype(kind) + shift
    shape = (rows.shape[0], K * width)
    return scipy.sparse.csr_array((rows.data, columns, rows.indptr.astype(kind)), shape=shape)
