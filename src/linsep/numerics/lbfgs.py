"""A matrix corrected by pairs of steps and changes of the gradient, never written down.

H s = y should hold for a step s and the change y of the gradient that went with it. Two loops
over the pairs turn a solution of the old system into one of the corrected system. Nocedal 1980,
Updating quasi-Newton matrices with limited storage; Nocedal and Wright, algorithm 7.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def solved_with_pairs(
    q: Array,
    pairs: Sequence[tuple[Array, Array]],
    solve: Callable[[Array], Array],
    *,
    rescale: bool = False,
) -> Array:
    """H^-1 q, H the matrix behind ``solve`` corrected by the pairs (s, y), the oldest first.

    Every s.y is positive. With rescale H is first multiplied by a number, so that it fits the
    last pair.
    """
    q, kept = q.copy(), []
    for s, y in reversed(pairs):
        t = float(np.vdot(s, q)) / float(np.vdot(s, y))
        kept.append(t)
        q -= t * y
    q = solve(q)
    if rescale and pairs:
        s, y = pairs[-1]
        q *= float(np.vdot(s, y)) / float(np.vdot(y, solve(y)))
    for (s, y), t in zip(pairs, reversed(kept)):
        q += s * (t - float(np.vdot(y, q)) / float(np.vdot(s, y)))
    return q
