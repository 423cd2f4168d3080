"""Squared lengths of dense rows: eight sums side by side.

One sum alone would wait for each of its additions. No compiler may see that on its own, since
sums must not be reordered; machine code therefore holds the eight in one register, and adds
and multiplies in the order that is written here for Python.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["length2", "register"]


def length2(x):
    """|x|^2 in float64."""
    whole = x.shape[0] - x.shape[0] % 8
    a = np.zeros(8)
    for j in range(0, whole, 8):
        eight = x[j : j + 8].astype(np.float64)
        a += eight * eight
    total = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
    for j in range(whole, x.shape[0]):
        total += np.float64(x[j]) * np.float64(x[j])
    return total


def register() -> None:
    """Tell numba what length2 means in machine code."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, overload

    wide = ir.VectorType(ir.DoubleType(), 8)

    def squared(builder: Any, place: Any, kind: Any, double: Any) -> Any:
        value = builder.load(builder.bitcast(place, kind.as_pointer()), align=4)
        value = value if kind == double else builder.fpext(value, double)
        return builder.fmul(value, value)

    @intrinsic
    def machine(typing: Any, x: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            single = context.get_data_type(signature.args[0].dtype)
            n = cgutils.unpack_tuple(builder, array.shape)[0]
            one = ir.Constant(n.type, 1)
            whole = builder.and_(n, ir.Constant(n.type, -8))
            sums = cgutils.alloca_once_value(builder, ir.Constant(wide, [0.0] * 8))
            eight = ir.Constant(n.type, 8)
            with cgutils.for_range_slice(builder, n.type(0), whole, eight, n.type) as (j, _):
                place = builder.gep(array.data, [j])
                part = squared(builder, place, ir.VectorType(single, 8), wide)
                builder.store(builder.fadd(builder.load(sums), part), sums)
            a = [builder.extract_element(builder.load(sums), ir.IntType(32)(k)) for k in range(8)]
            add = builder.fadd
            left = add(add(a[0], a[4]), add(a[2], a[6]))
            right = add(add(a[1], a[5]), add(a[3], a[7]))
            total = cgutils.alloca_once_value(builder, add(left, right))
            with cgutils.for_range_slice(builder, whole, n, one, n.type) as (j, _):
                part = squared(builder, builder.gep(array.data, [j]), single, ir.DoubleType())
                builder.store(add(builder.load(total), part), total)
            return builder.load(total)

        return types.float64(x), code

    @overload(length2, inline="always")
    def choose(x):
        if isinstance(x, types.Array) and x.ndim == 1 and x.layout == "C":
            return lambda x: machine(x)
        return None
