"""What was made last is kept for its key, in each thread, and nothing else is."""

from __future__ import annotations

import threading

import numpy as np

from linsep.rows.levels import Latest, ladder


def test_arrays_are_told_apart_by_identity_and_numbers_by_value():
    latest, a = Latest(), np.zeros(3)
    first = latest.made((a, 1, 0.5, None), object)
    assert latest.made((a, 1.0, 0.5, None), object) is first
    assert latest.made((a.copy(), 1, 0.5, None), object) is not first
    assert latest.made((a, 1, 0.5, None), object) is not first  # only the last one is kept


def test_the_old_one_is_gone_before_the_new_one_is_made():
    latest, seen = Latest(), []
    latest.made((1,), object)
    latest.made((2,), lambda: seen.append(latest.held))
    assert seen == [None]
    latest.forget()
    assert latest.held is None


def test_threads_keep_their_own():
    latest, found = Latest(), []
    mine = latest.made((1,), object)
    other = threading.Thread(target=lambda: found.append(latest.made((1,), object)))
    other.start()
    other.join()
    assert found[0] is not mine
    assert latest.made((1,), object) is mine


def test_a_ladder_ends_where_rows_run_out():
    assert ladder(24, (6, 48), 4) == [6]
    assert ladder(23, (6, 48), 4) == []
    assert ladder(1000, (6, 48), 4) == [6, 48]
