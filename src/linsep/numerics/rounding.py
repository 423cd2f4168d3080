"""How far float64 may be off: the units that every bound of a proof is made of."""

from __future__ import annotations

U = 2.0**-53
"""The largest relative error of one operation."""
U32 = 2.0**-24
"""The same in float32."""
SUM = 64 * U
"""Of a sum by numpy, which adds by halves: fewer than 64 roundings in a row."""
ROUNDED = 1e-12
"""A share of a sum over a table that may be rounding alone."""
LEAST = 2.0**-1074
"""The smallest positive number: twice the largest error of a product that underflows."""
AT_ONE = 1e-9
"""How far the nearest row of a hard margin may be from y f(x) = 1."""
