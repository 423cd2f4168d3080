"""Sums of kernel values that are made twice: fast, and by the definition of the kernel.

f(x_i) = sum_j c_j K(x_j, x_i) takes as many kernel values as there are rows times support vectors,
so proofs have them from ``kernels/``, as solvers do. Whatever is wrong there would be believed by
both. Therefore the sums are made again here, from the rows as they stand in the problem, by the
formula of the kernel (``Kernel.definition``) and numpy alone. They must agree to within rounding.
Where they do, the fast ones stay, with the rigorous bounds of their errors; where one does not,
those of the definition count for all rows, and the place is told to the logger ``linsep``.
Terms that are huge and cancel leave much room for rounding. Whatever two sums are apart is
therefore given back too, and a bound of their errors that is smaller is no bound (``wider``).

Of small tables all rows are looked at. Of larger ones so many that it costs a tenth of the fit: a
fit spends about the same on each value of a row with a support vector, and ``Kernel.price`` says
what its definition costs; at least ``_LEAST`` rows, whatever they cost. The rows of a sample are
spread over the table, one from each of as many pieces (``plain.spread``): what is wrong over two
pieces is always met, a single wrong row mostly not. A kernel that has no definition is asked for
plain blocks of its values: then only what stores, cuts and adds up these is done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import REFEREE_VALUES
from linsep.core.lanes import one_blas_thread
from linsep.core.notes import note
from linsep.kernels.base import own_values
from linsep.kernels.blocks import KernelValues
from linsep.numerics.rounding import U
from linsep.proofs.plain import spread

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# multiplications, of which ten take about a nanosecond: of a table that is looked at whole, of each
# value of a larger one on average, and of all together
_WHOLE = 20_000_000
_EACH = 10
_ALL = 400_000_000
_OF_DIAGONAL = 1000  # rows: bounds of errors go by K(x, x), and no sum
_LEAST = 256  # rows of a sample, at least
_ROUNDING = 1e-9  # relative: nothing that is wrong is smaller, and no rounding of usual rows larger


@dataclass(frozen=True)
class Defined:
    """Sums of some machines by the definition of the kernel, for some rows of a table."""

    place: Index
    """Where the sums of each row of the table stand, or -1."""
    sums: Array
    room: Array
    """How far rounding can make others differ from them."""

    def machine(self, k: int) -> Self:
        """One of them alone."""
        return type(self)(self.place, self.sums[:, k], self.room[:, k])

    def times(self, by: Array) -> Self:
        """The same of machines that are so many times as long."""
        return type(self)(self.place, self.sums * by, self.room * np.abs(by))


def defined(values: KernelValues, ids: Index, used: Index, coef: Array) -> Defined:
    """Sums over the rows used for the rows ids, or for a sample of them where they are many.

    coef has one column for each sum, or is one alone.
    """
    machines = coef.shape[1] if coef.ndim == 2 else 1
    some = ids[_sample(values, len(ids), len(used), machines)] if len(used) else ids[:0]
    sums, room = _sums(values, some, used, coef)
    place = np.full(values.n, -1)
    place[some] = np.arange(len(some))
    return Defined(place, sums, room)


def agreed(
    values: KernelValues, ids: Index, used: Index, coef: Array, told: Array, more: Any = 0.0,
    known: Defined | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """told, the sums over the rows used for the rows ids, or those of the definition, and how far
    the two are apart: 0 where nobody has looked.

    coef and told have one column for each sum, or are one alone. Sums whose definition is not
    finite, or with an error of ``more`` that is not, are taken as they are: they prove nothing.
    known are sums of the same machines that were made already.
    """
    if not len(used) or not len(ids):
        return told, np.zeros(told.shape)
    if known is None or not (known.place[ids] >= 0).any():
        known = defined(values, ids, used, coef)
    some = np.flatnonzero(known.place[ids] >= 0)
    at = known.place[ids[some]]
    own, off = known.sums[at], np.abs(told[some] - known.sums[at])
    room = known.room[at] + np.broadcast_to(np.asarray(more), told.shape)[some]
    wrong = np.argwhere(~(off <= room) & np.isfinite(own) & np.isfinite(room))
    if not len(wrong):
        apart = np.zeros(told.shape)
        apart[some] = np.where(np.isfinite(off), off, 0.0)
        return told, apart
    first = tuple(wrong[0])
    row = int(values.columns[ids[some[first[0]]]])
    note(
        f"the kernel sum of row {row} is {told[some][first]:.9g}, by the definition of the kernel "
        f"{own[first]:.9g}; the proof goes by the definition. This is a bug of linsep, or memory "
        "that fails: please report it."
    )
    own = own if len(some) == len(ids) else _sums(values, ids, used, coef)[0]
    return own, np.zeros(told.shape)


_HUGE = 1e300  # a share of errors from which nothing is proved


def wider(share: float, size: Array, apart: Array, rest: Any = 0.0) -> float:
    """The share of size that bounds errors, beside the rest: no less than sums are apart."""
    over = apart > share * size + rest
    if not over.any():
        return share
    with np.errstate(all="ignore"):
        return float(np.nan_to_num((apart / size)[over].max(), nan=_HUGE, posinf=_HUGE))


def agreed_diagonal(values: KernelValues, ids: Index) -> Array:
    """K(x_i, x_i) of the rows ids, or those of the definition where some of the table differ."""
    if values.kernel is None or not len(ids):
        return values.diagonal(ids)
    return values.once(_agreed_diagonal)[ids]


def _agreed_diagonal(values: KernelValues) -> Array:
    """The same of all rows of the table; the definition is asked about a sample first."""
    told, some = values.diagonal(), spread(values.n, min(values.n, _OF_DIAGONAL))
    own = own_values(values.kernel, _rows(values, some))
    if not (~(np.abs(told[some] - own) <= _ROUNDING * np.abs(own)) & np.isfinite(own)).any():
        return told
    note(
        "values of the kernel of rows with themselves are not those of its definition, by which "
        "the proof goes. This is a bug of linsep, or memory that fails: please report it."
    )
    return own_values(values.kernel, _rows(values, np.arange(values.n)))


def _sample(values: KernelValues, n: int, used: int, machines: int) -> Index:
    """Places that are looked at: all of them, or as many as the work allows."""
    price = 1.0 if values.kernel is None else _price(values)
    price += 2 * machines
    if n * used * price <= _WHOLE:
        return np.arange(n)
    most = max(_LEAST, int(min(n * _EACH / price, _ALL / (used * price))))
    return spread(n, min(n, most))


def _price(values: KernelValues) -> float:
    """Multiplications that a value costs by definition."""
    problem, kernel = values.problem, values.kernel
    entries = problem.matrix.nnz / problem.n if problem.sparse else problem.d  # of a row
    return float(kernel.price + kernel.price_of_column * entries)


def _sums(values: KernelValues, ids: Index, used: Index, coef: Array) -> tuple[Array, Array]:
    """The sums by definition, and how far rounding can make others differ from them."""
    c = np.ascontiguousarray(coef if coef.ndim == 2 else coef[:, None])
    size = np.abs(c)
    largest = size.max(axis=1, initial=0.0)  # sizes are summed up for all machines as for this one
    out, sizes = np.zeros((len(ids), c.shape[1])), np.zeros((len(ids), 1))
    block = _given(values, used) if values.kernel is None else _defined(values, used)
    step = max(16, REFEREE_VALUES // max(1, len(used)))
    with np.errstate(all="ignore"), one_blas_thread():
        for lo in range(0, len(ids), step):
            K = block(ids[lo : lo + step])
            out[lo : lo + step] = K @ c
            sizes[lo : lo + step, 0] = np.abs(K, out=K) @ largest
        room = (_ROUNDING + 16 * len(used) * U) * sizes
        room = room + _ROUNDING * 1e-6 * size.max(axis=0, initial=0.0)
        if values.kernel is not None:  # what cancels in a value is rounded against its size
            share = 16 * float(values.kernel.error_bound(values.prepared(np.float64)))
            root = np.sqrt(np.abs(values.diagonal()))
            if not np.isfinite(root).all():
                root = np.sqrt(np.abs(agreed_diagonal(values, np.arange(values.n))))
            room = room + share * np.outer(root[ids], root[used] @ size)
    form = (len(ids), *coef.shape[1:])
    return out.reshape(form), room.reshape(form)


def _given(values: KernelValues, used: Index) -> Callable[[Index], Array]:
    """Entries of a Gram matrix that the caller has given."""
    problem, order = values.problem, values.order
    columns = order[used] if problem.row_index is None else problem.row_index[order[used]]

    def block(ids: Index) -> Array:
        some = problem.matrix[order[ids]][:, columns]
        return np.array(some if isinstance(some, np.ndarray) else some.toarray(), float)

    return block


def _defined(values: KernelValues, used: Index) -> Callable[[Index], Array]:
    """K(x, z) by its definition for rows x against the rows used."""
    Z = _rows(values, used)
    return lambda ids: values.kernel.definition(_rows(values, ids), Z)


def _rows(values: KernelValues, ids: Index) -> Any:
    """Rows as they stand in the problem, in float64."""
    some = values.problem.matrix[values.order[ids]]
    return some.astype(np.float64, copy=False)
