"""Numbers as people write them: one style a column, never a guess between two."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linsep.errors import DataError
from linsep.tables.styles import find_style, looks_like_number

READ = [
    (["1", "2.5", "-3e4"], [1, 2.5, -3e4]),
    (["1,5", "2", "0,25"], [1.5, 2, 0.25]),
    (["1,200.50", "3", "12,000,000.25"], [1200.5, 3, 12000000.25]),
    (["1.200,50", "3,1"], [1200.5, 3.1]),
    (["1 200", "31 000,5"], [1200, 31000.5]),
    (["1'200.5", "7"], [1200.5, 7]),
    (["$3,000", "$12"], [3000, 12]),
    (["3.000 €", "12 €"], [3000, 12]),
    (["-$3.50", "$-4", "(5.25)"], [-3.5, -4, -5.25]),
    (["12 %", "3.5%"], [12, 3.5]),
    (["+1", "−2"], [1, -2]),
    (["1\u00a0200,5 €", "31\u202f000"], [1200.5, 31000]),
    (["1\u2019200.5", "7"], [1200.5, 7]),
    (["12,34,567.50", "₹3,00,000"], [1234567.5, 300000]),
    (["3.5 km", "12 km"], [3.5, 12]),
    (["20°C", "-3.5 °C"], [20, -3.5]),
    (["USD 3,000.50", "USD 12"], [3000.5, 12]),
    (["45.2k", "7k"], [45.2, 7]),
    (["1,200", "1,20"], [1.2, 1.2]),
    (["1,200", "1,200,000"], [1200, 1200000]),
]


@pytest.mark.parametrize(("cells", "values"), READ, ids=lambda x: str(x[0]))
def test_columns_are_read_as_a_person_reads_them(cells, values):
    style = find_style(cells, "x")
    assert [style.read(cell) for cell in cells] == values


@pytest.mark.parametrize(
    "cells",
    [
        ["a", "1"],
        ["1.2.3"],
        ["1,2,3"],
        ["12-3"],
        ["2020-01-01"],
        ["1,5", "1.5"],
        ["--1"],
        ["3 km", "300 m"],
        ["5 km", "5"],
        ["14:05", "14:5"],
        ["14:05", "1:02:03"],
        ["p12", "p13"],
    ],
)
def test_anything_else_is_no_column_of_numbers(cells):
    assert find_style(cells, "x") is None


def test_what_may_mean_two_numbers_is_refused_and_can_be_told():
    with pytest.raises(DataError, match=r"'1,200' may mean 1200 or 1\.2") as caught:
        find_style(["1,200", "3,400"], "rent")
    assert "--decimal" in caught.value.for_shell()
    assert find_style(["1,200"], "rent", ".").read("1,200") == 1200
    assert find_style(["1,200"], "rent", ",").read("1,200") == 1.2


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1), st.sampled_from([",.", ".,", " .", " ,"])
)
def test_grouped_numbers_come_back(values, marks):
    group, decimal = marks
    texts = [
        f"{v:,}.75".replace(",", "G").replace(".", decimal).replace("G", group) for v in values
    ]
    style = find_style(texts, "x", decimal)
    expected = [v + math.copysign(0.75, v) if v else 0.75 for v in values]
    assert [style.read(text) for text in texts] == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_prints_is_read_back(value):
    style = find_style([repr(value)], "x")
    assert style.read(repr(value)) == value or np.isclose(
        style.read(repr(value)), value, rtol=1e-15
    )


@given(st.text(max_size=12))
def test_no_text_breaks_it(text):
    looks_like_number(text)
    try:
        style = find_style([text], "x")
    except DataError:
        return
    assert style is None or not math.isnan(style.read(text))
