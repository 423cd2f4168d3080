"""Sums of kernel values that are made twice: fast, and by the definition of the kernel.

f(x_i) = sum_j c_j K(x_j, x_i) takes as many kernel values as there are rows times support vectors,
so proofs have them from ``kernels/``, as solvers do. Whatever is wrong there would be believed by
both. Therefore the sums are made again here, from the rows as they stand in the problem, by the
formula of the kernel and numpy alone. They must agree to within rounding. Where they do, the fast
ones stay, with the rigorous bounds of their errors; where one does not, those of the definition
count for all rows, and the place is told to the logger ``linsep``.

Up to ``_ALL`` multiplications all rows are looked at, beyond it a sample of them that depends on
the shape alone. Kernels that are not among the formulas (histograms, those of users) are asked for
plain blocks of their values: then only what stores, cuts and adds up these is done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import one_blas_thread
from linsep.core.notes import note
from linsep.kernels.blocks import KernelValues
from linsep.numerics.rounding import U

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_ALL = 400_000_000  # multiplications, about a tenth of a second
_VALUE = 20  # as many multiplications as the function of a kernel value takes
_STEP = 1 << 17  # kernel values that are worked on together, and stay in the cache
_LEAST = 256  # rows of a sample, at least
_ROUNDING = 1e-9  # relative: nothing that is wrong is smaller, and no rounding of usual rows larger


def agreed(
    values: KernelValues, ids: Index, used: Index, coef: Array, told: Array, more: Any = 0.0
) -> Array:
    """told, the sums over the rows used for the rows ids, or those of the definition.

    coef and told have one column for each sum, or are one alone. Sums that are not finite, and
    those with an error of ``more`` that is not, are taken as they are: they prove nothing.
    """
    if not len(used) or not len(ids):
        return told
    some = _sample(values, len(ids), len(used))
    own, slack = _sums(values, ids[some], used, coef)
    off = np.abs(told[some] - own)
    room = slack + np.broadcast_to(np.asarray(more), told.shape)[some]
    wrong = np.argwhere(off > room)  # NaN is not
    if not len(wrong):
        return told
    at = tuple(wrong[0])
    row = int(values.columns[ids[some[at[0]]]])
    note(
        f"the kernel sum of row {row} is {told[some][at]:.9g}, by the definition of the kernel "
        f"{own[at]:.9g}; the proof goes by the definition. This is a bug of linsep, or memory "
        "that fails: please report it."
    )
    every = np.arange(len(ids))
    return own if len(some) == len(every) else _sums(values, ids, used, coef)[0]


def _sample(values: KernelValues, n: int, used: int) -> Index:
    """Places that are looked at: all of them, or as many as the work allows."""
    d = 1 if values.kernel is None else values.problem.d
    most = max(_LEAST, _ALL // (used * (d + _VALUE)))
    if most >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng([n, used]).choice(n, most, replace=False))


def _sums(values: KernelValues, ids: Index, used: Index, coef: Array) -> tuple[Array, Array]:
    """The sums by definition, and how far rounding can make others differ from them."""
    problem, order = values.problem, values.order
    c = coef.reshape(len(used), -1)
    both = np.hstack([c, np.abs(c)])
    out, size = np.empty((len(ids), c.shape[1])), np.empty((len(ids), c.shape[1]))
    with np.errstate(all="ignore"), one_blas_thread():
        if values.kernel is None:
            block, far = _given(problem, order[used]), 1.0
        else:
            block, far = _formula(values.kernel, problem, order[used])
        step = max(16, _STEP // len(used))
        for lo in range(0, len(ids), step):
            K = block(order[ids[lo : lo + step]])
            sums = K @ both[:, : c.shape[1]]
            out[lo : lo + step] = sums
            size[lo : lo + step] = np.abs(K, out=K) @ both[:, c.shape[1] :]
    share = _ROUNDING + (len(used) + 64 * far) * 16 * U
    slack = share * size + _ROUNDING * 1e-6 * float(np.abs(c).max(initial=0.0))
    return out.reshape(len(ids), *coef.shape[1:]), slack.reshape(len(ids), *coef.shape[1:])


def _given(problem: Any, used: Index) -> Callable[[Index], Array]:
    """Entries of a Gram matrix that the caller has given."""
    columns = used if problem.row_index is None else problem.row_index[used]

    def block(rows: Index) -> Array:
        some = problem.matrix[rows][:, columns]
        return np.array(some if isinstance(some, np.ndarray) else some.toarray(), float)

    return block


def _formula(kernel: Any, problem: Any, used: Index) -> tuple[Callable[[Index], Array], float]:
    """K(x, z) for rows x against the rows used, and how large what is rounded in it may be."""
    named = kernel.in_sklearn() or {}
    name, gamma = named.get("kernel"), named.get("gamma", 1.0)
    if name not in ("linear", "poly", "rbf", "sigmoid") or isinstance(gamma, str):
        return _asked(kernel, problem, used), 1e4
    origin = np.zeros(problem.d)
    if name == "rbf" and not problem.sparse:
        origin = problem.matrix[used].mean(axis=0, dtype=np.float64)
    Z = _dense(problem, used) - origin
    lengths = np.einsum("ij,ij->i", Z, Z)
    right = np.ascontiguousarray(Z.T)

    def block(rows: Index) -> Array:
        X = _dense(problem, rows) - origin
        K = X @ right
        if name == "rbf":
            K *= 2.0
            K -= lengths
            K -= np.einsum("ij,ij->i", X, X)[:, None]
            np.minimum(K, 0.0, out=K)
            K *= gamma
            return np.asarray(np.exp(K, out=K))
        if name == "linear":
            return np.asarray(K)
        K *= gamma
        K += named.get("coef0", 0.0)
        return np.asarray(np.tanh(K) if name == "sigmoid" else K ** named["degree"])

    largest = float(lengths.max(initial=0.0))
    rate = abs(float(gamma))
    far = 1.0 + problem.d * rate * largest if name == "rbf" else _cancels(named, largest, rate)
    return block, far


def _cancels(named: dict[str, Any], largest: float, rate: float) -> float:
    """Products that cancel are rounded against their sizes, which no sum of values tells."""
    return 1e4 * (1.0 + rate * largest + abs(float(named.get("coef0", 0.0))))


def _asked(kernel: Any, problem: Any, used: Index) -> Callable[[Index], Array]:
    """The kernel's own values, block by block."""
    matrix = problem.matrix
    whole = kernel.rows(matrix, np.float64)
    right = whole.take(used)
    return lambda rows: np.array(kernel.block(whole.take(rows), right), dtype=float)


def _dense(problem: Any, rows: Index) -> Array:
    some = problem.matrix[rows]
    return np.asarray(some if isinstance(some, np.ndarray) else some.toarray(), dtype=np.float64)
