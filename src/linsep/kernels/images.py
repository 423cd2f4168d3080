"""The images of rows in the feature space of a kernel, as coordinates.

n images span a space of at most n dimensions, and in it they have coordinates L with K = L L':
whatever works on rows works on them, and sees nothing but inner products. Row i of L is the image
of row i, and a vector w of that space is sum_j c_j phi(x_j) with c on the rows of the pivots.

Cholesky's method with pivots (LAPACK's pstrf) takes the row that is farthest from the span of those
taken; it ends where what is left is rounding. Proofs do not read it: they ask the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import KERNEL, PRODUCT
from linsep.core.lanes import one_blas_thread
from linsep.core.limits import tick
from linsep.core.problem import Problem
from linsep.errors import DataError
from linsep.kernels.blocks import KernelValues

Array = NDArray[np.float64]

_LEFT = 4.0  # roundings of the largest value, times n, that are taken for nothing


@dataclass(frozen=True)
class Images:
    """Coordinates of the images of all rows, and the rows that span them."""

    problem: Problem
    """The same samples with their images as rows."""
    pivots: NDArray[np.int64] | None
    """One row for each coordinate; the coordinates of these are a triangle. None: the coordinates
    are the values of the kernel with all rows, and weights are coefficients."""

    def coefficients(self, w: Array) -> Array:
        """c with w = sum_j c_j phi(x_j), of each row of w: shape (n,) or (k, n)."""
        if self.pivots is None:
            return w
        many = np.atleast_2d(w)
        out = np.zeros((len(many), self.problem.n))
        if len(self.pivots):
            corner = self.problem.matrix[self.pivots, : len(self.pivots)]
            found = scipy.linalg.solve_triangular(corner, many.T, lower=True, trans=1)
            out[:, self.pivots] = found.T
        return out[0] if np.ndim(w) == 1 else out


def images_of(problem: Problem, kernel: Any) -> Images:
    """The images of the rows of a problem, made once; kernel None: its matrix is K itself."""
    return problem.once(_images, kernel)


def _images(problem: Problem, kernel: Any) -> Images:
    values, n = KernelValues(problem, kernel), problem.n
    tick(n * n * (KERNEL + PRODUCT * n))  # nothing of it is of use before its end
    K = np.empty((n, n))
    values.fill(K, np.arange(n))
    if kernel is None:
        K = (K + K.T) / 2
    if not np.isfinite(K).all():
        raise DataError("a Gram matrix holds a number that is not finite; scale X.")
    largest = float(K.diagonal().max(initial=0.0))
    with one_blas_thread():
        factor, order, rank, _ = scipy.linalg.lapack.dpstrf(
            K.T, tol=_LEFT * n * 2.0**-53 * largest, lower=1, overwrite_a=1
        )
    rank = int(rank) if largest > 0 else 0
    rows = np.zeros((n, max(rank, 1)))  # where all images are zero, one coordinate is
    rows[order - 1, :rank] = np.tril(factor)[:, :rank]
    return Images(problem.changed(matrix=rows, feature_names=None), order[:rank] - 1)
