"""Memory of large matrices serves the next fit, never two at once."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from linsep.solvers.kernel import gram as arena

pytestmark = pytest.mark.skipif(not hasattr(mmap, "MADV_FREE"), reason="no such system call")

SIZE = arena._LEAST // 4


def test_memory_comes_back_only_after_the_last_view_of_it():
    arena._waiting.clear()
    first = arena.large_array(SIZE, np.float32)
    assert first.shape == (SIZE,) and first.dtype == np.float32
    first[:] = 1.0
    view = first[:100].reshape(10, 10)
    del first
    assert not arena._waiting  # the view reads it
    other = arena.large_array(SIZE, np.float32)
    other[:] = 2.0
    assert (view == 1.0).all()
    del view
    assert len(arena._waiting) == 1
    again = arena.large_array(SIZE // 2, np.float64)  # the same bytes
    again[:] = 3.0
    assert (other == 2.0).all()


def test_one_piece_waits_and_small_ones_are_ordinary():
    arena._waiting.clear()
    a, b = arena.large_array(SIZE, np.float32), arena.large_array(2 * SIZE, np.float32)
    del a, b
    assert [len(pages) for pages in arena._waiting] == [8 * SIZE]
    small = arena.large_array(10, np.float64)
    assert small.base is None
    large = arena.large_array(4 * SIZE, np.float32)  # what waits is too small, and is let go
    large[:] = 0
    assert not arena._waiting
