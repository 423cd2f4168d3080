"""What it costs to meet all sets, against all choices."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from linsep.proofs.risk import hits_cost_at_least, packing_bound

families = st.lists(st.sets(st.integers(0, 4), min_size=1, max_size=4), max_size=8)
prices = st.lists(st.fractions(F(1, 4), 3, max_denominator=4), min_size=5, max_size=5)


@given(families, prices)
def test_least_cost_is_that_of_all_choices(sets, costs):
    choices = [c for k in range(6) for c in combinations(range(5), k)]
    least = min(sum(costs[i] for i in c) for c in choices if all(set(c) & s for s in sets))
    assert hits_cost_at_least(sets, costs, least)
    assert not hits_cost_at_least(sets, costs, least + F(1, 1000))
    assert packing_bound(sets, costs) <= least


def test_a_long_search_is_given_up():
    sets = [set(pair) for pair in combinations(range(12), 2)]
    assert hits_cost_at_least(sets, [1] * 12, 11)
    assert hits_cost_at_least(sets, [1] * 12, 11, nodes=3) is None
