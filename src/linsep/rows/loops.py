"""Products with one reflected row, for every layout of the data.

Inside a routine these are called with the tuples of ``core/layouts.py``; machine code has the form
of the tuple. The functions below are the only ones that know how rows are stored.

    dot(rows, v, a)         z_v . a
    add(rows, v, c, a)      a += c z_v
    norm2(rows, v)          |z_v|^2
    weight(rows, v)         weight of the sample behind row v
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core.compile import in_machine_code, inner, instructions_for, routine
from linsep.core.costs import IN_CACHE
from linsep.core.layouts import CSR, BinaryRows, KeslerRows, Marks, Matrix
from linsep.core.limits import tick
from linsep.core.problem import Problem

# -- one row of X against the block of a that starts at ``at`` -------------------------------
#
# Four running sums, added up in a fixed order: fast enough for memory to be the limit, and
# the same bits as Python and as machine code.


def _dense_dot(X, i, a, at, d):
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    x = X[i]
    w = a[at : at + d]
    whole = d - d % 4
    for j in range(0, whole, 4):
        s0 += x[j] * w[j]
        s1 += x[j + 1] * w[j + 1]
        s2 += x[j + 2] * w[j + 2]
        s3 += x[j + 3] * w[j + 3]
    s = (s0 + s2) + (s1 + s3)
    for j in range(whole, d):
        s += x[j] * w[j]
    return s


def _dense_add(X, i, c, a, at, d):
    x = X[i]
    w = a[at : at + d]
    for j in range(d):
        w[j] += c * x[j]


def _dense_norm2(X, i, d):
    s = 0.0
    x = X[i]
    for j in range(d):
        v = np.float64(x[j])
        s += v * v
    return s


def _csr_dot(X, i, a, at, d):
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    w = a[at : at + d]
    start = X.indptr[i]
    stop = X.indptr[i + 1]
    x = X.data[start:stop]
    place = X.indices[start:stop]
    n = stop - start
    whole = n - n % 4
    for p in range(0, whole, 4):  # unsigned, so that no index can mean "from the end"
        s0 += x[p] * w[np.uint64(place[p])]
        s1 += x[p + 1] * w[np.uint64(place[p + 1])]
        s2 += x[p + 2] * w[np.uint64(place[p + 2])]
        s3 += x[p + 3] * w[np.uint64(place[p + 3])]
    s = (s0 + s2) + (s1 + s3)
    for p in range(whole, n):
        s += x[p] * w[np.uint64(place[p])]
    return s


def _csr_add(X, i, c, a, at, d):
    w = a[at : at + d]
    x = X.data[X.indptr[i] : X.indptr[i + 1]]
    place = X.indices[X.indptr[i] : X.indptr[i + 1]]
    for p in range(x.shape[0]):
        w[np.uint64(place[p])] += c * x[p]


def _marks_dot(X, i, a, at, d):
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    w = a[at : at + d]
    start = X.indptr[i]
    stop = X.indptr[i + 1]
    place = X.indices[start:stop]
    n = stop - start
    whole = n - n % 4
    for p in range(0, whole, 4):
        s0 += w[np.uint64(place[p])]
        s1 += w[np.uint64(place[p + 1])]
        s2 += w[np.uint64(place[p + 2])]
        s3 += w[np.uint64(place[p + 3])]
    s = (s0 + s2) + (s1 + s3)
    for p in range(whole, n):
        s += w[np.uint64(place[p])]
    return s


def _marks_add(X, i, c, a, at, d):
    w = a[at : at + d]
    place = X.indices[X.indptr[i] : X.indptr[i + 1]]
    for p in range(place.shape[0]):
        w[np.uint64(place[p])] += c


def _csr_norm2(X, i, d):
    s = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        v = np.float64(X.data[p])
        s += v * v
    return s


def _dense_scores(X, i, W, out):
    x = X[i]
    for j in range(x.shape[0]):
        v = np.float64(x[j])
        for k in range(out.shape[0]):
            out[k] += v * W[j, k]


def _csr_scores(X, i, W, out):
    for p in range(X.indptr[i], X.indptr[i + 1]):
        v = np.float64(X.data[p])
        j = X.indices[p]
        for k in range(out.shape[0]):
            out[k] += v * W[j, k]


def _dense_spread(X, i, c, W):
    x = X[i]
    for j in range(x.shape[0]):
        v = np.float64(x[j])
        for k in range(c.shape[0]):
            W[j, k] += v * c[k]


def _csr_spread(X, i, c, W):
    for p in range(X.indptr[i], X.indptr[i + 1]):
        v = np.float64(X.data[p])
        j = X.indices[p]
        for k in range(c.shape[0]):
            W[j, k] += v * c[k]


def _dense_add_squares(X, i, c, out):
    x = X[i]
    for j in range(x.shape[0]):
        v = np.float64(x[j])
        out[j] += c * v * v


def _csr_add_squares(X, i, c, out):
    for p in range(X.indptr[i], X.indptr[i + 1]):
        v = np.float64(X.data[p])
        out[X.indices[p]] += c * v * v


def _marks_add_squares(X, i, c, out):
    for p in range(X.indptr[i], X.indptr[i + 1]):
        out[X.indices[p]] += c


def sample_add_squares(X, i, c, out):
    """out += c x_i^2, entry by entry."""
    form = _dense_add_squares
    if isinstance(X, CSR | Marks):
        form = _csr_add_squares if isinstance(X, CSR) else _marks_add_squares
    form(X, i, c, out)


def _dense_add_products(X, i, c, H):
    x = X[i]
    for j in range(x.shape[0]):
        v = c * np.float64(x[j])
        h = H[j]
        for m in range(j + 1):
            h[m] += v * x[m]


def _csr_add_products(X, i, c, H):
    x = X.data[X.indptr[i] : X.indptr[i + 1]]
    place = X.indices[X.indptr[i] : X.indptr[i + 1]]
    for p in range(x.shape[0]):
        v = c * np.float64(x[p])
        h = H[np.uint64(place[p])]
        for q in range(p + 1):
            h[np.uint64(place[q])] += v * x[q]


def _marks_add_products(X, i, c, H):
    place = X.indices[X.indptr[i] : X.indptr[i + 1]]
    for p in range(place.shape[0]):
        h = H[np.uint64(place[p])]
        for q in range(p + 1):
            h[np.uint64(place[q])] += c


def sample_add_products(X, i, c, H):
    """H += c x_i x_i' on and below the diagonal; columns of a sparse row are in order."""
    form = _dense_add_products
    if isinstance(X, CSR | Marks):
        form = _csr_add_products if isinstance(X, CSR) else _marks_add_products
    form(X, i, c, H)


def _dense_block(X, lo, hi, scratch):
    return X[lo:hi]


def _csr_block(X, lo, hi, scratch):
    block = scratch[: hi - lo]
    block[:] = 0.0
    for i in range(lo, hi):
        for p in range(X.indptr[i], X.indptr[i + 1]):
            block[i - lo, X.indices[p]] = X.data[p]
    return block


def _csr_block_at_once(X, lo, hi, scratch):
    block, starts = scratch[: hi - lo], X.indptr[lo : hi + 1]
    some = slice(starts[0], starts[-1])
    block[:] = 0.0
    block[np.repeat(np.arange(hi - lo), np.diff(starts)), X.indices[some]] = X.data[some]
    return block


def sample_block(X, lo, hi, scratch):
    """Rows lo..hi as a dense array: a view, or written out into the scratch array."""
    return (_csr_block_at_once if isinstance(X, CSR) else _dense_block)(X, lo, hi, scratch)


def sample_scores(X, i, W, out):
    """out += x_i W, for weights of many classes side by side."""
    (_csr_scores if isinstance(X, CSR) else _dense_scores)(X, i, W, out)


def sample_spread(X, i, c, W):
    """W += x_i c', for weights of many classes side by side."""
    (_csr_spread if isinstance(X, CSR) else _dense_spread)(X, i, c, W)


def sample_dot(X, i, a, at, d):
    """x_i . a[at : at + d]."""
    form = _csr_dot if isinstance(X, CSR) else _marks_dot if isinstance(X, Marks) else _dense_dot
    return form(X, i, a, at, d)


def sample_add(X, i, c, a, at, d):
    """a[at : at + d] += c x_i."""
    form = _csr_add if isinstance(X, CSR) else _marks_add if isinstance(X, Marks) else _dense_add
    form(X, i, c, a, at, d)


def _dense_fetch(X, i):
    x = X[i]
    for j in range(0, x.shape[0], 8):
        fetch(x, j)


def _csr_fetch(X, i):
    start = X.indptr[i]
    stop = min(X.indptr[i + 1], start + 256)  # further on the processor sees the pattern itself
    for p in range(start, stop, 8):
        fetch(X.data, p)
    for p in range(start, stop, 16):
        fetch(X.indices, p)


def _marks_fetch(X, i):
    start = X.indptr[i]
    for p in range(start, min(X.indptr[i + 1], start + 256), 32):
        fetch(X.indices, p)


def sample_fetch(X, i):
    """Ask for row i, which will be read soon."""


def _dense_locate(X, i):
    pass


def _csr_locate(X, i):
    fetch(X.indptr, i)


def sample_locate(X, i):
    """Ask for the place of row i, for which sample_fetch will ask soon."""


def sample_norm2(X, i, d):
    """|x_i|^2."""
    return (_csr_norm2 if isinstance(X, CSR) else _dense_norm2)(X, i, d)


# -- reflected rows of two classes --------------------------------------------------------------


def _binary_dot(rows, v, a):
    return rows.sign[v] * (sample_dot(rows.X, v, a, 0, rows.d) + rows.bias * a[rows.d])


def _binary_add(rows, v, c, a):
    t = c * rows.sign[v]
    sample_add(rows.X, v, t, a, 0, rows.d)
    a[rows.d] += t * rows.bias


def _binary_norm2(rows, v):
    return sample_norm2(rows.X, v, rows.d) + rows.bias


def _binary_weight(rows, v):
    return rows.weight[v]


@inner
def rival_of(v, own, K):
    """Class that Kesler row v competes against; its own class is left out."""
    place = v % (K - 1)
    return place + 1 if place >= own else place


# -- Kesler rows of K classes -------------------------------------------------------------------


def _kesler_dot(rows, v, a):
    i = v // (rows.K - 1)
    own = rows.label[i]
    rival = rival_of(v, own, rows.K)
    p = own * (rows.d + 1)
    q = rival * (rows.d + 1)
    s = sample_dot(rows.X, i, a, p, rows.d) + rows.bias * a[p + rows.d]
    return s - (sample_dot(rows.X, i, a, q, rows.d) + rows.bias * a[q + rows.d])


def _kesler_add(rows, v, c, a):
    i = v // (rows.K - 1)
    own = rows.label[i]
    rival = rival_of(v, own, rows.K)
    p = own * (rows.d + 1)
    q = rival * (rows.d + 1)
    sample_add(rows.X, i, c, a, p, rows.d)
    a[p + rows.d] += c * rows.bias
    sample_add(rows.X, i, -c, a, q, rows.d)
    a[q + rows.d] -= c * rows.bias


def _kesler_norm2(rows, v):
    return 2.0 * (sample_norm2(rows.X, v // (rows.K - 1), rows.d) + rows.bias)


def _kesler_weight(rows, v):
    return rows.weight[v // (rows.K - 1)]


# -- the public four: plain dispatch here, forms for machine code below ------------------------


def dot(rows, v, a):
    """z_v . a; in Python, where a pass takes seconds, it ends when the time is up."""
    tick()
    return (_binary_dot if isinstance(rows, BinaryRows) else _kesler_dot)(rows, v, a)


def add(rows, v, c, a):
    """a += c z_v."""
    (_binary_add if isinstance(rows, BinaryRows) else _kesler_add)(rows, v, c, a)


def norm2(rows, v):
    """|z_v|^2."""
    return (_binary_norm2 if isinstance(rows, BinaryRows) else _kesler_norm2)(rows, v)


def weight(rows, v):
    """Weight of the sample behind row v."""
    return (_binary_weight if isinstance(rows, BinaryRows) else _kesler_weight)(rows, v)


def _by_matrix(public: Any, dense: Any, csr: Any, marks: Any = None) -> None:
    in_machine_code(
        public, lambda layouts: marks if Marks in layouts else csr if CSR in layouts else dense
    )


def _by_rows(public: Any, binary: Any, kesler: Any) -> None:
    in_machine_code(public, lambda layouts: kesler if KeslerRows in layouts else binary)


_by_matrix(sample_dot, _dense_dot, _csr_dot, _marks_dot)
_by_matrix(sample_add, _dense_add, _csr_add, _marks_add)
_by_matrix(sample_norm2, _dense_norm2, _csr_norm2)
_by_matrix(sample_fetch, _dense_fetch, _csr_fetch, _marks_fetch)
_by_matrix(sample_locate, _dense_locate, _csr_locate, _csr_locate)
_by_matrix(sample_block, _dense_block, _csr_block)
_by_matrix(sample_add_squares, _dense_add_squares, _csr_add_squares, _marks_add_squares)
_by_matrix(sample_add_products, _dense_add_products, _csr_add_products, _marks_add_products)
_by_matrix(sample_scores, _dense_scores, _csr_scores)
_by_matrix(sample_spread, _dense_spread, _csr_spread)
_by_rows(dot, _binary_dot, _kesler_dot)
_by_rows(add, _binary_add, _kesler_add)
_by_rows(norm2, _binary_norm2, _kesler_norm2)
_by_rows(weight, _binary_weight, _kesler_weight)


# -- Products of a matrix, dense or sparse, with a vector, over a run of rows ---------------------


@routine
def scores(X, w, lo, hi, out):
    """out[i] = x_i . w for lo <= i < hi."""
    d = w.shape[0]
    for i in range(lo, hi):
        out[i] = sample_dot(X, i, w, 0, d)


@routine
def squares(X, lo, hi, rows, columns):
    """rows[i] = |x_i|^2 for lo <= i < hi, and columns += their squared entries by columns."""
    d = columns.shape[0]
    for i in range(lo, hi):
        rows[i] = sample_norm2(X, i, d)
        sample_add_squares(X, i, 1.0, columns)


@routine
def weighted_squares(X, s, out):
    """out += s_i times the squared entries of row i, column by column."""
    for i in range(s.shape[0]):
        sample_add_squares(X, i, s[i], out)


@routine
def combine(X, c, lo, hi, out):
    """out += sum of c_i x_i for lo <= i < hi."""
    d = out.shape[0]
    for i in range(lo, hi):
        if c[i] != 0.0:
            sample_add(X, i, c[i], out, 0, d)


@inner
def add_squares(X, lo, hi, rows, columns):
    """rows[i] = |x_i|^2 for lo <= i < hi, and columns += squared entries; a dense matrix."""
    four = hi - (hi - lo) % 4
    for i in range(lo, four, 4):  # columns are read and written once for four rows
        x, y, z, t = X[i], X[i + 1], X[i + 2], X[i + 3]
        for j in range(columns.shape[0]):
            p, q = np.float64(x[j]), np.float64(y[j])
            r, s = np.float64(z[j]), np.float64(t[j])
            columns[j] += (p * p + q * q) + (r * r + s * s)
    for i in range(four, hi):
        x = X[i]
        for j in range(columns.shape[0]):
            columns[j] += np.float64(x[j]) * np.float64(x[j])
    for i in range(lo, hi):
        rows[i] = length2(X[i])


@routine
def dense_squares(X, lo, hi, step, rows, columns):
    """The same in blocks of ``step`` rows, which stay near while they are read twice."""
    for start in range(lo, hi, step):
        add_squares(X, start, min(hi, start + step), rows, columns)


@dense_squares.in_numpy
def _dense_squares(X: Any, lo: int, hi: int, step: int, rows: Any, columns: Any) -> None:
    """Blocks of other lengths than ``step`` add alike, as long as all are made of fours."""
    assert step % 4 == 0
    block = max(4, IN_CACHE // len(columns) // 4 * 4)
    for start in range(lo, hi, block):
        squares = X[start : min(hi, start + block)].astype(np.float64)
        squares *= squares
        n, d = squares.shape
        four = n - n % 4
        fours = squares[:four].reshape(-1, 4, d)
        sums = (fours[:, 0] + fours[:, 1]) + (fours[:, 2] + fours[:, 3])
        parts = np.concatenate([columns[None], sums, squares[four:]])
        columns[:] = np.add.accumulate(parts, axis=0)[-1]
        a, whole = np.zeros((n, 8)), 0
        if n < d // 8:  # eights of wide rows one after the other, but all at once
            whole = d - d % 8
            a += np.add.accumulate(squares[:, :whole].reshape(n, -1, 8), axis=1)[:, -1]
        for j in range(whole, d, 8):
            a[:, : min(8, d - j)] += squares[:, j : j + 8]
        two = a[:, :4] + a[:, 4:]
        rows[start : start + n] = (two[:, 0] + two[:, 2]) + (two[:, 1] + two[:, 3])


# -- Squared lengths of dense rows: eight sums side by side ---------------------------------------
#
# One sum alone would wait for each of its additions. No compiler may see that on its own, since
# sums must not be reordered; machine code therefore holds the eight in one register, and adds
# and multiplies in the order that is written here for Python.


def length2(x):
    """|x|^2 in float64."""
    a = np.zeros(8)
    for j in range(0, x.shape[0], 8):
        some = x[j : j + 8].astype(np.float64)
        a[: len(some)] += some * some
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


@instructions_for(length2)
def _machine_length2() -> Any:
    """length2 in machine code."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    wide, number = ir.VectorType(ir.DoubleType(), 8), ir.IntType(64)
    counting = ir.Constant(ir.VectorType(number, 8), list(range(8)))

    def first(builder: Any, place: Any, kind: Any, left: Any) -> Any:
        """The first numbers at a place, zeros behind those that are left."""
        name = "f32" if kind.element == ir.FloatType() else "f64"
        mask = ir.VectorType(ir.IntType(1), 8)
        pointer = kind.as_pointer()
        takes = ir.FunctionType(kind, [pointer, ir.IntType(32), mask, kind])
        load = cgutils.get_or_insert_function(
            builder.module, takes, f"llvm.masked.load.v8{name}.p0"
        )
        many = ir.Constant(ir.VectorType(number, 8), ir.Undefined)
        for k in range(8):
            many = builder.insert_element(many, left, ir.IntType(32)(k))
        inside = builder.icmp_signed("<", counting, many)
        zeros = ir.Constant(kind, [0.0] * 8)
        return builder.call(
            load, [builder.bitcast(place, pointer), ir.IntType(32)(4), inside, zeros]
        )

    @intrinsic
    def machine(typing: Any, x: Any) -> Any:
        if x.layout != "C":
            return None

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            kind = ir.VectorType(context.get_data_type(signature.args[0].dtype), 8)
            n = cgutils.unpack_tuple(builder, array.shape)[0]
            whole = builder.and_(n, number(-8))
            sums = cgutils.alloca_once_value(builder, ir.Constant(wide, [0.0] * 8))

            def add(value: Any) -> None:
                value = value if kind == wide else builder.fpext(value, wide)
                builder.store(builder.fadd(builder.load(sums), builder.fmul(value, value)), sums)

            with cgutils.for_range_slice(builder, number(0), whole, number(8), number) as (j, _):
                place = builder.bitcast(builder.gep(array.data, [j]), kind.as_pointer())
                add(builder.load(place, align=4))
            add(first(builder, builder.gep(array.data, [whole]), kind, builder.sub(n, whole)))
            total = builder.load(sums)
            a = [builder.extract_element(total, ir.IntType(32)(k)) for k in range(8)]
            left = builder.fadd(builder.fadd(a[0], a[4]), builder.fadd(a[2], a[6]))
            right = builder.fadd(builder.fadd(a[1], a[5]), builder.fadd(a[3], a[7]))
            return builder.fadd(left, right)

        return types.float64(x), code

    return machine


# -- Asking for memory before it is needed --------------------------------------------------------
#
# Rows visited in random order lie anywhere in memory, and waiting for them takes half of a
# sweep. Machine code asks for a row a few visits ahead; Python does nothing. No number depends
# on it.


def fetch(values, i):
    """values[i] will be read soon."""


@instructions_for(fetch)
def _machine_fetch() -> Any:
    """fetch in machine code."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()

    @intrinsic
    def prefetch(typing: Any, values: Any, i: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            place = builder.bitcast(builder.gep(array.data, [args[1]]), pointer)
            kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
            call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            to_read, keep_near, data = (ir.Constant(number, n) for n in (0, 3, 1))
            builder.call(call, [place, to_read, keep_near, data])
            return context.get_dummy_value()

        return types.void(values, types.int64), code

    return prefetch


# -- Rows of a sparse matrix written out densely, a block at a time -------------------------------


@routine
def _scatter(data, indices, indptr, lo, hi, out):
    out[:] = 0.0
    for i in range(lo, hi):
        for p in range(indptr[i], indptr[i + 1]):
            out[i - lo, indices[p]] = data[p]


def scatter(matrix, lo, hi, out):
    """out[i - lo] = row i of a CSR matrix, for lo <= i < hi."""
    work = int(matrix.indptr[hi] - matrix.indptr[lo])
    _scatter(matrix.data, matrix.indices, matrix.indptr, lo, hi, out, size=matrix.nnz, work=work)


def matrix_of(problem: Problem) -> Matrix:
    """The rows for compiled code; unsigned indices spare it a test for negative ones."""
    X = problem.rows.X
    if isinstance(X, CSR):
        return X._replace(indices=X.indices.view(np.dtype(f"u{X.indices.dtype.itemsize}")))
    return X
