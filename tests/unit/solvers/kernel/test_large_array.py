"""Memory of large matrices serves the next fit, never two at once."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from linsep.solvers.kernel import gram

pytestmark = pytest.mark.skipif(not hasattr(mmap, "MADV_FREE"), reason="no such system call")

SIZE = gram._WORTH_KEEPING // 4


def test_memory_comes_back_only_after_the_last_view_of_it():
    gram._waiting.clear()
    first = gram.large_array(SIZE, np.float32)
    assert first.shape == (SIZE,) and first.dtype == np.float32
    first[:] = 1.0
    view = first[:100].reshape(10, 10)
    del first
    assert not gram._waiting  # the view reads it
    other = gram.large_array(SIZE, np.float32)
    other[:] = 2.0
    assert (view == 1.0).all()
    del view
    assert len(gram._waiting) == 1
    again = gram.large_array(SIZE // 2, np.float64)  # the same bytes
    again[:] = 3.0
    assert (other == 2.0).all()


def test_one_piece_waits_and_small_ones_are_ordinary():
    gram._waiting.clear()
    a, b = gram.large_array(SIZE, np.float32), gram.large_array(2 * SIZE, np.float32)
    del a, b
    assert [len(pages) for pages in gram._waiting] == [8 * SIZE]
    small = gram.large_array(10, np.float64)
    assert small.base is None
    large = gram.large_array(4 * SIZE, np.float32)  # what waits is too small, and is let go
    large[:] = 0
    assert not gram._waiting
