"""Sums of kernel values that are made twice: fast, and by the definition of the kernel.

f(x_i) = sum_j c_j K(x_j, x_i) takes as many kernel values as there are rows times support vectors,
so proofs have them from ``kernels/``, as solvers do. Whatever is wrong there would be believed by
both. Therefore the sums are made again here, from the rows as they stand in the problem, by the
formula of the kernel (``Kernel.definition``) and numpy alone. They must agree to within rounding.
Where they do, the fast ones stay, with the rigorous bounds of their errors; where one does not,
those of the definition count for all rows, and the place is told to the logger ``linsep``.
Terms that are huge and cancel leave much room for rounding. Whatever two sums are apart is
therefore given back too, and a bound of their errors that is smaller is no bound (``wider``).

Of small tables all rows are looked at in float64. Of larger ones first in float32, all of them
where that takes half a millisecond, else so many that it costs a tenth of the fit: a fit spends
about the same on each value of a row with a support vector, and ``Kernel.price`` says what its
definition costs. Sums in float32 accuse: the rows whose sums are furthest from theirs are made
again in float64, and so are ``_SURE`` others, and only float64 is believed. So a single wrong row
among those is found if it is wrong by more than float32 rounds. Rows of a sample are spread over
the table, one from each of as many pieces (``plain.spread``): what is wrong over two pieces is
always met, a single row that nobody has looked at is not. A kernel that has no definition is asked
for plain blocks of its values: then only what stores, cuts and adds up these is done twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import REFEREE_VALUES
from linsep.core.lanes import one_blas_thread
from linsep.core.notes import note
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import KernelValues
from linsep.numerics.rounding import U
from linsep.proofs.plain import spread

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# nanoseconds: of a table that is looked at whole in float64, of each value of a larger one on
# average, and of all together
_WHOLE = 500_000
_EACH = 0.5
_ALL = 40_000_000
_MACHINE = 0.05  # of a value for each machine
_DEAR = 100.0  # values from which float32 is no help
_OF_DIAGONAL = 256  # rows where K(x, x) has no formula of its own: no sum goes by it
_LEAST = 256  # rows of a sample, at least
_SURE = 32  # rows that are looked at in float64, whatever float32 says,
_ACCUSED = 16  # and those that it accuses
_ROUNDING = 1e-9  # relative: nothing that is wrong is smaller, and no rounding of usual rows larger


@dataclass(frozen=True)
class Defined:
    """Sums of some machines by the definition of the kernel, for some rows of a table."""

    place: Index
    """Where the sums of each row of the table stand, or -1."""
    sums: Array
    room: Array
    """How far rounding can make others differ from them; in float32 a measure of it."""
    rough: Self | None = None
    """The same in float32, of more rows."""

    def machine(self, k: int) -> Self:
        """One of them alone."""
        rough = None if self.rough is None else self.rough.machine(k)
        return type(self)(self.place, self.sums[:, k], self.room[:, k], rough)

    def times(self, by: Array) -> Self:
        """The same of machines that are so many times as long."""
        rough = None if self.rough is None else self.rough.times(by)
        return type(self)(self.place, self.sums * by, self.room * np.abs(by), rough)

    def accused(self, ids: Index, told: Array) -> Index:
        """Places of the ids whose sums are furthest from those in float32."""
        at = np.flatnonzero(self.place[ids] >= 0)
        own = self.place[ids[at]]
        with np.errstate(all="ignore"):
            off = np.nan_to_num(np.abs(told[at] - self.sums[own]) / self.room[own], posinf=0.0)
        off = off if off.ndim == 1 else off.max(axis=1)
        worst = np.argpartition(-off, _ACCUSED)[:_ACCUSED] if len(off) > _ACCUSED else off > 0
        return np.sort(at[worst])


def defined(
    values: KernelValues, ids: Index, used: Index, coef: Array,
    near: tuple[Array, Array] | None = None,
) -> Defined:  # fmt: skip
    """Sums over the rows used for the rows ids, or for a sample of them where they are many.

    coef has one column for each sum, or is one alone. near: sums of much the same machine that
    were agreed on, and their sizes, which accuse as well as those in float32.
    """
    if near is not None:
        sure, rough = spread(len(ids), _SURE), _placed(values, ids, near)
    else:
        machines = coef.shape[1] if coef.ndim == 2 else 1
        sure, seen = _samples(values, len(ids), len(used), machines)
        rough = None
        if seen is not None:
            rough = _placed(values, ids[seen], _sums(values, ids[seen], used, coef, np.float32))
    return replace(_placed(values, ids[sure], _sums(values, ids[sure], used, coef)), rough=rough)


def _placed(values: KernelValues, ids: Index, found: tuple[Array, Array]) -> Defined:
    place = np.full(values.n, -1)
    place[ids] = np.arange(len(ids))
    return Defined(place, *found)


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
    own, room = known.sums[at], known.room[at]
    if known.rough is not None:
        others = known.rough.accused(ids, told)
        again = _sums(values, ids[others], used, coef)
        some, own, room = (
            np.concatenate(two) for two in zip((some, own, room), (others, *again), strict=True)
        )
    off = np.abs(told[some] - own)
    room = room + np.broadcast_to(np.asarray(more), told.shape)[some]
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
    whole = np.array_equal(some, np.arange(len(ids)))  # none of them twice
    return own if whole else _sums(values, ids, used, coef)[0], np.zeros(told.shape)


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
    told = values.diagonal()
    some = spread(values.n, _OF_DIAGONAL if _by_blocks(values.kernel) else values.n)
    own = values.kernel.own_values(_rows(values, some))
    if not (~(np.abs(told[some] - own) <= _ROUNDING * np.abs(own)) & np.isfinite(own)).any():
        return told
    note(
        "values of the kernel of rows with themselves are not those of its definition, by which "
        "the proof goes. This is a bug of linsep, or memory that fails: please report it."
    )
    return np.asarray(values.kernel.own_values(_rows(values, np.arange(values.n))))


def _by_blocks(kernel: Kernel) -> bool:
    """Whether K(x, x) has no formula of its own, but costs many values for each row."""
    return type(kernel).own_values is Kernel.own_values


def _samples(values: KernelValues, n: int, used: int, machines: int) -> tuple[Index, Index | None]:
    """Places that are looked at in float64 and in float32: all, or as many as the work allows;
    None where float64 is enough, or float32 no help."""

    def most(dtype: Any) -> int:
        each = _price(values, dtype) + _MACHINE * machines
        some = n if n * used * each <= _WHOLE else min(n * _EACH / each, _ALL / (used * each))
        return max(_LEAST, int(some))

    if not n or not used:
        return np.arange(0), None
    sure = most(np.float64)
    if sure >= n or values.kernel is None or _price(values, np.float32) > _DEAR:
        return spread(n, sure), None
    return spread(n, _SURE), spread(n, most(np.float32))


def _price(values: KernelValues, dtype: Any) -> float:
    """Nanoseconds that a value costs by definition."""
    if values.kernel is None:
        return 0.1
    problem = values.problem
    entries = problem.matrix.nnz / problem.n if problem.sparse else problem.d  # of a row
    return float(values.kernel.price(entries, dtype))


def _sums(
    values: KernelValues, ids: Index, used: Index, coef: Array, dtype: Any = np.float64
) -> tuple[Array, Array]:
    """The sums by definition, and how far rounding can make others differ from them."""
    c = np.ascontiguousarray(coef if coef.ndim == 2 else coef[:, None])
    size = np.abs(c)
    largest = size.max(axis=1, initial=0.0)  # sizes are summed up for all machines as for this one
    with np.errstate(all="ignore"), one_blas_thread():
        if not len(ids) or not len(used):
            out, sizes = np.zeros((len(ids), c.shape[1])), np.zeros(len(ids))
        elif values.kernel is None:
            out, sizes = _given(values, ids, used, c, largest)
        else:
            X, Z = _rows(values, ids).astype(dtype), _rows(values, used).astype(dtype)
            out, sizes = values.kernel.sums_by_definition(X, Z, c, largest)
        room = (_ROUNDING + 16 * len(used) * U) * sizes[:, None]
        room = room + _ROUNDING * 1e-6 * size.max(axis=0, initial=0.0)
        if values.kernel is not None:  # what cancels in a value is rounded against its size
            share = 16 * float(values.kernel.error_bound(values.prepared(np.float64)))
            root = np.sqrt(np.abs(values.diagonal()))
            if not np.isfinite(root).all():
                root = np.sqrt(np.abs(agreed_diagonal(values, np.arange(values.n))))
            room = room + share * np.outer(root[ids], root[used] @ size)
    form = (len(ids), *coef.shape[1:])
    return out.reshape(form), room.reshape(form)


def _given(
    values: KernelValues, ids: Index, used: Index, coef: Array, size: Array
) -> tuple[Array, Array]:
    """The sums over entries of a Gram matrix that the caller has given."""
    problem, order = values.problem, values.order
    columns = order[used] if problem.row_index is None else problem.row_index[order[used]]
    out, sizes = np.zeros((len(ids), coef.shape[1])), np.zeros(len(ids))
    step = max(16, REFEREE_VALUES // max(1, len(used)))
    for lo in range(0, len(ids), step):
        some = problem.matrix[order[ids[lo : lo + step]]][:, columns]
        K = np.array(some if isinstance(some, np.ndarray) else some.toarray(), float)
        out[lo : lo + step] = K @ coef
        sizes[lo : lo + step] = np.abs(K, out=K) @ size
    return out, sizes


def _rows(values: KernelValues, ids: Index) -> Any:
    """Rows as they stand in the problem, in float64."""
    some = values.problem.matrix[values.order[ids]]
    return some.astype(np.float64, copy=False)
