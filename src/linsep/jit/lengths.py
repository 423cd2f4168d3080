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
    a = np.zeros(8)
    for j in range(0, x.shape[0], 8):
        some = x[j : j + 8].astype(np.float64)
        a[: len(some)] += some * some
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


def register() -> None:
    """Tell numba what length2 means in machine code."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, overload

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

    @overload(length2, inline="always")
    def choose(x):
        if isinstance(x, types.Array) and x.ndim == 1 and x.layout == "C":
            return lambda x: machine(x)
        return None
