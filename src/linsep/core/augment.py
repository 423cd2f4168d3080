"""The two preparations of the lectures: an extra coordinate 1, and one class turned round."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from linsep.core.validate import as_labels, as_matrix
from linsep.errors import LabelError, SettingError


def augment(X: Any, position: str = "first") -> Any:
    """Give every row an extra coordinate 1, so that the offset becomes a weight.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    position : {"first", "last"}, default="first"
        Where the 1 stands: first in lectures 000 and 003, last in lecture 004.

    Returns
    -------
    array or sparse matrix of shape (n, d + 1)

    Examples
    --------
    >>> import linsep
    >>> linsep.augment([[2.0, 3.0]]).tolist(), linsep.augment([[2.0, 3.0]], "last").tolist()
    ([[1.0, 2.0, 3.0]], [[2.0, 3.0, 1.0]])
    """
    if position not in ("first", "last"):
        raise SettingError(f"position is {position!r}; use 'first' or 'last'.")
    rows = as_matrix(X)
    one = np.ones((rows.shape[0], 1), dtype=rows.dtype)
    parts = [one, rows] if position == "first" else [rows, one]
    return scipy.sparse.hstack(parts, format="csr") if scipy.sparse.issparse(rows) else (
        np.hstack(parts)
    )  # fmt: skip


def reflect(X: Any, y: ArrayLike) -> Any:
    """Turn the rows of the negative class round: a separator then has only positive values.

    Lecture 003 calls it "normalization"; nothing is scaled.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows, augmented or not.
    y : array of shape (n,)
        Two classes; the first one in sorted order is turned round. Or one, which is 1 or -1.

    Returns
    -------
    array or sparse matrix of shape (n, d)

    Examples
    --------
    >>> import linsep
    >>> linsep.reflect(linsep.augment([[2.0], [3.0]]), [1, -1]).tolist()
    [[1.0, 2.0], [-1.0, -3.0]]
    """
    rows = as_matrix(X)
    classes, label = as_labels(y, rows.shape[0], half_space=True)
    if len(classes) != 2:
        raise LabelError(
            f"y has {len(classes)} classes; reflection turns one of two round. For more there is "
            "linsep.Kesler."
        )
    sign: NDArray[np.float64] = (2.0 * label - 1.0).astype(rows.dtype)
    if scipy.sparse.issparse(rows):
        return rows.multiply(sign[:, None]).tocsr()
    return rows * sign[:, None] + 0.0  # no minus sign before a zero
