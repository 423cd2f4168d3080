"""Randomness: one seed a fit, and a counter instead of hidden state.

The numbers of pass t are a function of (seed, t) alone, so a state needs to remember only
where it stands, and any chunking, thread or resume sees the same order.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


def generator(seed: int, counter: int) -> np.random.Generator:
    """An independent stream for each (seed, counter)."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, counter]))


# A pass may be cut into many chunks, so the last orders are kept; they are functions of their
# arguments alone, and read-only.


@lru_cache(maxsize=2)
def in_turn(n: int) -> NDArray[np.int64]:
    """The rows as they come."""
    return _frozen(np.arange(n))


@lru_cache(maxsize=2)
def permutation(seed: int, epoch: int, n: int) -> NDArray[np.int64]:
    """A random order of n rows for one pass."""
    return _frozen(generator(seed, epoch).permutation(n))


@lru_cache(maxsize=2)
def with_replacement(seed: int, epoch: int, n: int) -> NDArray[np.int64]:
    """n rows drawn independently, for one pass."""
    return _frozen(generator(seed, epoch).integers(n, size=n))


def _frozen(order: NDArray[np.int64]) -> NDArray[np.int64]:
    order.flags.writeable = False
    return order
