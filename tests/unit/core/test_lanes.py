"""The split of rows into lanes and blocks."""

from __future__ import annotations

import numpy as np
import pytest

from linsep.core.lanes import Lanes


@pytest.mark.parametrize("d", [1, 30, 448, 900, 5000])
def test_no_block_has_a_single_row(d):
    """Its products would have other bits in numpy than in machine code."""
    for n in [2, 64, 65, 129, 193, 257, 513, 1025, 2049, 4097, 8193, 16385]:
        lanes = Lanes(np.broadcast_to(0.0, (n, d)))
        sizes = [
            min(stop, lo + lanes.rows) - lo
            for start, stop in lanes.spans
            for lo in range(start, stop, lanes.rows)
        ]
        assert sum(sizes) == n and min(sizes) > 1 and max(sizes) <= lanes.rows


def test_rows_that_would_leave_one_over():
    assert Lanes(np.broadcast_to(0.0, (257, 448))).rows != 128
