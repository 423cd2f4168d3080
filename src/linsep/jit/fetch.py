"""Asking for memory before it is needed.

Rows visited in random order lie anywhere in memory, and waiting for them takes half of a
sweep. Machine code asks for a row a few visits ahead; Python does nothing. No number depends
on it.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

__all__ = ["fetch", "register"]


def fetch(values, i):
    """values[i] will be read soon."""


def register() -> None:
    """Tell numba what fetch means in machine code."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, overload

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

    @overload(fetch, inline="always")
    def choose(values, i):
        return lambda values, i: prefetch(values, i)
