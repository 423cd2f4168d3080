"""Randomness: one seed a fit, and a counter instead of hidden state.

The numbers of pass t are a function of (seed, t) alone, so a state needs to remember only
where it stands, and any chunking, thread or resume sees the same order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["generator", "permutation", "with_replacement"]


def generator(seed: int, counter: int) -> np.random.Generator:
    """An independent stream for each (seed, counter)."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, counter]))


def permutation(seed: int, epoch: int, n: int) -> NDArray[np.int64]:
    """A random order of n rows for one pass."""
    return generator(seed, epoch).permutation(n)


def with_replacement(seed: int, epoch: int, n: int) -> NDArray[np.int64]:
    """n rows drawn independently, for one pass."""
    return generator(seed, epoch).integers(n, size=n)
