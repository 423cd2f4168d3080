"""Sums of kernel values that are made twice: fast, and by the definition of the kernel.

f(x_i) = sum_j c_j K(x_j, x_i) takes as many kernel values as there are rows times support vectors,
so proofs have them from ``kernels/``, as solvers do. Whatever is wrong there would be believed by
both. Therefore the sums are made again here, from the rows as they stand in the problem, by the
formula of the kernel (``Kernel.definition``) and numpy alone. They must agree to within rounding.
Where they do, the fast ones stay, with the rigorous bounds of their errors; where one does not,
those of the definition count for all rows, and the place is told to the logger ``linsep``.
Terms that are huge and cancel leave much room for rounding. Whatever two sums are apart is
therefore given back too, and a bound of their errors that is smaller is no bound (``wider``).

Up to ``_ALL`` multiplications all rows are looked at, beyond it a sample of them that depends on
the shape alone. A kernel that has no definition is asked for plain blocks of its values: then only
what stores, cuts and adds up these is done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import one_blas_thread
from linsep.core.notes import note
from linsep.kernels.base import own_values
from linsep.kernels.blocks import KernelValues
from linsep.numerics.rounding import U

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_ALL = 400_000_000  # multiplications, about a tenth of a second
_BESIDE = 16  # rows whose values are made to have one of each row with itself
_STEP = 1 << 17  # kernel values that are worked on together, and stay in the cache
_LEAST = 256  # rows of a sample, at least
_SHARE = 64  # of them that a machine of one of many pairs has, at least
_ROUNDING = 1e-9  # relative: nothing that is wrong is smaller, and no rounding of usual rows larger


def agreed(
    values: KernelValues, ids: Index, used: Index, coef: Array, told: Array, more: Any = 0.0
) -> tuple[Array, Array]:
    """told, the sums over the rows used for the rows ids, or those of the definition, and how far
    the two are apart: 0 where nobody has looked.

    coef and told have one column for each sum, or are one alone. Sums whose definition is not
    finite, or with an error of ``more`` that is not, are taken as they are: they prove nothing.
    """
    if not len(used) or not len(ids):
        return told, np.zeros(told.shape)
    some = _met_before(values, ids, used, coef)
    if some is None:
        some = _sample(values, len(ids), len(used))
    own, slack = _sums(values, ids[some], used, coef)
    off = np.abs(told[some] - own)
    room = slack + np.broadcast_to(np.asarray(more), told.shape)[some]
    wrong = np.argwhere(~(off <= room) & np.isfinite(own) & np.isfinite(room))
    if not len(wrong):
        apart = np.zeros(told.shape)
        apart[some] = np.where(np.isfinite(off), off, 0.0)
        return told, apart
    at = tuple(wrong[0])
    row = int(values.columns[ids[some[at[0]]]])
    note(
        f"the kernel sum of row {row} is {told[some][at]:.9g}, by the definition of the kernel "
        f"{own[at]:.9g}; the proof goes by the definition. This is a bug of linsep, or memory "
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
    """K(x_i, x_i) of the rows ids, or those of the definition where one of them differs."""
    told = values.diagonal(ids)
    if values.kernel is None or not len(ids):
        return told
    some = _sample(values, len(ids), _BESIDE)
    own = _own(values, ids[some])
    if not (~(np.abs(told[some] - own) <= _ROUNDING * np.abs(own)) & np.isfinite(own)).any():
        return told
    note(
        "values of the kernel of rows with themselves are not those of its definition, by which "
        "the proof goes. This is a bug of linsep, or memory that fails: please report it."
    )
    return _own(values, ids)


# of rows that are met again: a machine for each pair of K classes meets each of them K - 1 times
_owned: WeakKeyDictionary[KernelValues, Array] = WeakKeyDictionary()


def _own(values: KernelValues, ids: Index) -> Array:
    """K(x_i, x_i) of the rows ids by the definition of the kernel."""
    known = _owned.setdefault(values, np.full(values.n, np.nan))
    missing = ids[np.isnan(known[ids])]
    if len(missing):
        known[missing] = own_values(values.kernel, _rows(values, missing))
    return np.asarray(known[ids])


def _sample(values: KernelValues, n: int, used: int) -> Index:
    """Places that are looked at: all of them, or as many as the work allows."""
    price = 1 if values.kernel is None else values.kernel.price + _columns(values.problem)
    most = max(_LEAST, int(_ALL // (used * price)))
    if most >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng([n, used]).choice(n, most, replace=False))


def _met_before(values: KernelValues, ids: Index, used: Index, coef: Array) -> Index | None:
    """Places of rows whose sums were made last, for this machine and others, if there are many:
    machines of pairs of classes have one sample, and each has its share in it."""
    last, c = _made.get(values), coef.reshape(len(used), -1)
    if last is None or not c.shape[1] == 1 < last.coef.shape[1]:
        return None
    known = np.flatnonzero(last.row[ids] >= 0)
    enough = len(known) >= min(_SHARE, len(ids))
    return known if enough and _made_before(values, ids[known], used, c) else None


def _columns(problem: Any) -> float:
    """Entries of a row, on average."""
    return float(problem.matrix.nnz / problem.n if problem.sparse else problem.d)


def _sums(values: KernelValues, ids: Index, used: Index, coef: Array) -> tuple[Array, Array]:
    """The sums by definition, and how far rounding can make others differ from them."""
    c = coef.reshape(len(used), -1)
    size = np.abs(c)
    with np.errstate(all="ignore"), one_blas_thread():
        out, sizes = _made_before(values, ids, used, c) or _made_now(values, ids, used, c)
        slack = (_ROUNDING + 16 * len(used) * U) * sizes + _ROUNDING * 1e-6 * size.max(initial=0.0)
        if values.kernel is not None:  # what cancels in a value is rounded against its size
            share = 16 * float(values.kernel.error_bound(values.prepared(np.float64)))
            root = np.sqrt(np.abs(values.diagonal()))
            if not np.isfinite(root).all():
                root = np.sqrt(np.abs(agreed_diagonal(values, np.arange(values.n))))
            slack += share * np.outer(root[ids], root[used] @ size)
    shape = (len(ids), *coef.shape[1:])
    return out.reshape(shape), slack.reshape(shape)


class _Made(NamedTuple):
    """Sums of some machines by definition, and those of the sizes of their terms."""

    row: Index
    """Where the sums of a row of the table stand, or -1."""
    place: Index
    """Where its coefficients stand, or -1."""
    coef: Array
    sums: Array
    sizes: Array


# the last ones of each table: a machine that is stretched has the same sums times its factor, and
# machines of pairs of classes are asked for all together and then one by one
_made: WeakKeyDictionary[KernelValues, _Made] = WeakKeyDictionary()
_SAME = 8 * U  # relative, of coefficients that are a multiple of others


def _made_now(values: KernelValues, ids: Index, used: Index, c: Array) -> tuple[Array, Array]:
    """The sums, from every kernel value by its definition."""
    size, shape = np.abs(c), (len(ids), c.shape[1])
    out, sizes = np.zeros(shape), np.zeros(shape)
    block = _given(values, used) if values.kernel is None else _defined(values, used)
    step = max(16, _STEP // len(used))
    for lo in range(0, len(ids), step):
        K = block(ids[lo : lo + step])
        out[lo : lo + step] = K @ c
        sizes[lo : lo + step] = np.abs(K, out=K) @ size
    row, place = np.full(values.n, -1), np.full(values.n, -1)
    row[ids], place[used] = np.arange(len(ids)), np.arange(len(used))
    _made[values] = _Made(row, place, c, out, sizes)
    return out, sizes


def _made_before(
    values: KernelValues, ids: Index, used: Index, c: Array
) -> tuple[Array, Array] | None:
    """The same without any kernel value, if each machine is a multiple of one made last."""
    last = _made.get(values)
    if last is None or (last.row[ids] < 0).any() or (last.place[used] < 0).any():
        return None
    found = [_multiple(last.coef, last.place[used], c, k) for k in range(c.shape[1])]
    if any(of < 0 for of, _ in found):
        return None
    of, by = (np.array(part) for part in zip(*found))
    at = last.row[ids][:, None], of
    return by * last.sums[at], np.abs(by) * last.sizes[at]


def _multiple(coef: Array, place: Index, c: Array, k: int) -> tuple[int, float]:
    """The column of coef that column k of c, with its rows in these places, is a multiple of, and
    the factor; -1 if there is none."""
    wanted = c[:, k]
    top = int(np.abs(wanted).argmax())
    first = [k] if c.shape == coef.shape else []
    for of in (*first, *np.flatnonzero(coef[place[top]]).tolist()):
        by, own = float(wanted[top] / coef[place[top], of]), coef[:, of]
        same = bool((np.abs(by * own[place] - wanted) <= _SAME * np.abs(wanted)).all())
        if same and np.count_nonzero(own) == np.count_nonzero(wanted):
            return of, by
    return -1, 0.0


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
