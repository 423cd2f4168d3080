"""Decimals read from text are rounded correctly, as Python's own float does it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linsep.data.fast import POWERS, times_power

function = getattr(times_power, "py_func", times_power)


@given(st.integers(1, 10**18 - 1), st.integers(-22, 22).filter(bool))
def test_a_number_called_certain_is_the_nearest_double(mantissa, scale):
    number, certain = function(mantissa, scale, float(POWERS[abs(scale)]))
    if certain:
        assert number == float(f"{mantissa}e{scale}")


@given(st.integers(1, 2**53), st.integers(-22, 22).filter(bool))
def test_short_numbers_are_always_certain(mantissa, scale):
    number, certain = function(mantissa, scale, float(POWERS[abs(scale)]))
    assert certain and number == float(f"{mantissa}e{scale}")
