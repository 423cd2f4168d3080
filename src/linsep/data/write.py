"""Write samples as svmlight text."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linsep.core.words import count
from linsep.errors import DataError, LabelError

__all__ = ["write_svmlight"]


def write_svmlight(
    path: str | os.PathLike[str], X: Any, y: ArrayLike, *, zero_based: bool = False
) -> None:
    """Write rows as ``label index:value ...``, with numbers that read back to the same bits.

    Parameters
    ----------
    path : str or path
        The file; it appears only when it is complete.
    X : array or scipy sparse matrix of shape (n, d)
        The features. Zeros are left out.
    y : array of shape (n,)
        Labels: numbers, or text without blanks.
    zero_based : bool, default=False
        Whether the first feature is number 0 rather than 1.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linsep.data import read, write_svmlight
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "two.svm"
    >>> write_svmlight(file, [[0.5, 0.0], [0.0, -3.0]], [1, -1])
    >>> print(file.read_text(), end="")
    1 1:0.5
    -1 2:-3.0
    """
    from scipy.sparse import csr_array

    from linsep.core.files import atomic_write_bytes

    matrix: Any = csr_array(X)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    values = matrix.data.astype(np.float64)
    if not np.isfinite(values).all():
        raise DataError("X contains NaN or infinity; svmlight text has no word for it.")
    labels = [str(label) for label in np.asarray(y).tolist()]
    if len(labels) != matrix.shape[0]:
        rows = count(matrix.shape[0], "row")
        raise LabelError(f"y has {count(len(labels), 'label')} but X has {rows}.")
    for label in labels:
        if not label or any(c in ":#," or c.isspace() for c in label):
            raise LabelError(f"the label {label!r} cannot be written; use text without blanks.")
    columns = (matrix.indices + (0 if zero_based else 1)).tolist()
    entries = [f"{j}:{v!r}" for j, v in zip(columns, values.tolist())]
    ends = matrix.indptr.tolist()
    lines = [
        " ".join([label, *entries[start:end]])
        for label, start, end in zip(labels, ends[:-1], ends[1:])
    ]
    atomic_write_bytes(path, ("\n".join(lines) + "\n").encode())
