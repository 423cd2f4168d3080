"""The rows a solver sees, as plain tuples of arrays that compiled code can take.

A binary problem has one reflected row for each sample, z_i = y_i [x_i, 1]. A problem with
K > 2 classes has K - 1 of them (Kesler): for sample i of class k and each rival r the row
that holds [x_i, 1] in block k and -[x_i, 1] in block r. Neither is ever written out: the
functions of ``rows.py`` work on these tuples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class CSR(NamedTuple):
    """A sparse matrix by rows: row i is data[indptr[i]:indptr[i + 1]] at those indices."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]


class Marks(NamedTuple):
    """A sparse matrix by rows whose entries are all 1, so that their places say everything."""

    indices: NDArray[Any]
    indptr: NDArray[Any]


Matrix = NDArray[Any] | CSR | Marks


class BinaryRows(NamedTuple):
    """Reflected rows z_v = sign_v [x_v, bias] of a problem with two classes."""

    X: Matrix
    sign: NDArray[np.float64]
    weight: NDArray[np.float64]
    bias: float
    d: int


class KeslerRows(NamedTuple):
    """Kesler rows of a problem with K > 2 classes; row v belongs to sample v // (K - 1)."""

    X: Matrix
    label: NDArray[np.int64]
    weight: NDArray[np.float64]
    bias: float
    d: int
    K: int


Rows = BinaryRows | KeslerRows
