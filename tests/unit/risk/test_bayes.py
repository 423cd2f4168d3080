"""Bayes risk and strategy on finite tables."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linsep.errors import DataError, SettingError
from linsep.risk import bayes_risk, bayes_strategy

# p(x, k) of three observations and two classes
TABLE = [[F(3, 8), F(1, 16)], [F(1, 8), F(1, 8)], [F(1, 16), F(1, 4)]]


@st.composite
def tables(draw, most_x=4, most_k=3):
    n, k = draw(st.integers(1, most_x)), draw(st.integers(1, most_k))
    numbers = draw(st.lists(st.integers(0, 5), min_size=n * k, max_size=n * k))
    total = sum(numbers)
    if total == 0:
        numbers[0] = total = 1
    return [[F(v, total) for v in numbers[i * k : i * k + k]] for i in range(n)]


@st.composite
def problems(draw):
    p = draw(tables())
    k, d = len(p[0]), draw(st.integers(1, 4))
    loss = [[F(draw(st.integers(-3, 6)), 2) for _ in range(k)] for _ in range(d)]
    return p, loss


def slow_risk(p, decisions, loss):
    return sum(p[x][k] * loss[d][k] for x, d in enumerate(decisions) for k in range(len(p[0])))


@given(problems())
def test_strategy_is_the_best_of_all_strategies(problem):
    p, loss = problem
    best = bayes_strategy(p, loss)
    everything = product(range(len(loss)), repeat=len(p))
    assert best.risk == min(slow_risk(p, q, loss) for q in everything)
    assert best.risk == bayes_risk(p, best.decisions, loss) == bayes_risk(p, best, loss)
    assert isinstance(best.risk, F)
    given_x = sum(r * sum(p[x]) for x, r in enumerate(best.conditional) if r is not None)
    assert given_x == best.risk


@given(problems())
def test_floats_agree_with_fractions(problem):
    p, loss = problem
    rounded = bayes_strategy(np.array(p, dtype=float), np.array(loss, dtype=float))
    assert rounded.risk == pytest.approx(float(bayes_strategy(p, loss).risk), abs=1e-12)
    assert isinstance(rounded.risk, float)


@given(problems())
def test_ties_name_every_best_decision_and_the_first_is_taken(problem):
    p, loss = problem
    best = bayes_strategy(p, loss)
    for x in range(len(p)):
        cost = [sum(a * b for a, b in zip(p[x], row)) for row in loss]
        tied = tuple(d for d in range(len(loss)) if cost[d] == min(cost))
        assert best.decisions[x] == tied[0]
        assert best.ties.get(x, tied[:1]) == tied


def test_zero_one_loss_takes_the_largest_probability():
    best = bayes_strategy(TABLE)
    assert best.decisions == (0, 0, 1)
    assert best.risk == F(1, 16) + F(1, 8) + F(1, 16)
    assert best.ties == {1: (0, 1)}
    assert best.conditional == (F(1, 7), F(1, 2), F(1, 5))


def test_all_ways_to_give_a_table_and_a_strategy():
    names = {"x": {"a": F(1, 2), "b": F(1, 4)}, "y": {"a": F(0), "b": F(1, 4)}}
    pairs = {("x", "a"): F(1, 2), ("x", "b"): F(1, 4), ("y", "b"): F(1, 4)}
    frame = pd.DataFrame([[0.5, 0.25], [0.0, 0.25]], index=["x", "y"], columns=["a", "b"])
    decimals = {"x": [Decimal("0.5"), Decimal("0.25")], "y": [0, Decimal("0.25")]}
    strategies = [["a", "b"], {"x": "a", "y": "b"}, {"x": "a", "y": "b"}.get, np.array(["a", "b"])]
    for table in (names, pairs, frame):
        for strategy in strategies:
            assert bayes_risk(table, strategy) == F(1, 4)
        assert bayes_risk(table, [[1, 0], [0, 1]]) == F(1, 4)
    assert bayes_risk(decimals, [0, 1]) == F(1, 4)
    assert bayes_strategy(frame)("y") == "b"
    assert isinstance(bayes_risk(decimals, [0, 1]), F)


def test_series_and_frames_are_read_by_name():
    p = pd.DataFrame([[0.5, 0.25], [0.05, 0.2]], index=["x", "y"], columns=["a", "b"])
    assert bayes_risk(p, pd.Series({"y": "b", "x": "a"})) == pytest.approx(0.3)
    chances = pd.DataFrame({"b": {"y": 1.0, "x": 0.0}, "a": {"y": 0.0, "x": 1.0}})
    assert bayes_risk(p, chances) == pytest.approx(0.3)
    assert bayes_risk(p, pd.Series(["a", "b"])) == pytest.approx(0.3)  # other names: by place


def test_randomised_strategy_mixes_the_risks():
    half = [[F(1, 2), F(1, 2)]] * 3
    assert bayes_risk(TABLE, half) == F(1, 2)
    assert bayes_risk(TABLE, np.full((3, 2), 0.5)) == pytest.approx(0.5)


def test_priors_and_evidence_give_the_joint_table():
    likelihood = [[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]]
    prior = {0: F(1, 3), 1: F(2, 3)}
    joint = [[F(1, 4), F(1, 6)], [F(1, 12), F(1, 2)]]
    assert bayes_strategy(likelihood, priors=prior).risk == bayes_strategy(joint).risk == F(1, 4)
    evidence = [sum(row) for row in joint]
    posterior = [[v / e for v in row] for row, e in zip(joint, evidence)]
    assert bayes_strategy(posterior, evidence=evidence).risk == F(1, 4)


def test_reject_is_chosen_when_it_is_cheaper():
    loss = pd.DataFrame(
        [[0, 1], [1, 0], [0.25, 0.25]], index=["a", "b", "reject"], columns=["a", "b"]
    )
    p = pd.DataFrame([[0.4, 0.05], [0.1, 0.1], [0.05, 0.3]], columns=["a", "b"])
    best = bayes_strategy(p, loss)
    assert best.decisions == ("a", "reject", "b")
    assert best.risk == pytest.approx(0.05 + 0.05 + 0.05)
    # the columns of the loss are matched by name, not by place
    assert bayes_strategy(p, loss[["b", "a"]]).risk == best.risk


@pytest.mark.parametrize(
    ("p", "words"),
    [
        ([[0.5, 0.6]], r"sums to 1\.1 .*divide the table by its sum"),
        ([[F(1, 2), F(1, 3)]], "sums to 5/6"),
        ([[3, 1], [2, 4]], "sums to 10"),
        ([[0.5, -0.5], [0.5, 0.5]], r"row 0, column 1 is -0\.5"),
        ([[0.5, np.nan]], "row 0, column 1 is nan"),
        ([[0.5, "half"]], "'half'; give a finite number"),
        ([[0.5], [0.2, 0.3]], "2 entries in row 1"),
        ([0.5, 0.5], "one axis"),
        ([], "rows and columns"),
        ([[], []], "no columns"),
        (None, "p is None"),
        ({}, "empty dictionary"),
        ({"a": 0.5, "b": 0.5}, "pairs"),
        ([[0.7, 0.2], [0.3, 0.8]], "priors"),
        ([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]], "evidence"),
    ],
)
def test_wrong_tables_are_refused_by_name_and_place(p, words):
    with pytest.raises(DataError, match=words):
        bayes_strategy(p)


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ([0], "1 entries"),
        ([0, 1, 2], "decides 2 for x = 2"),
        ([0, 1, "b"], "decides 'b' for x = 2"),
        ([0, 1, np.inf], "decides inf for x = 2"),
        (None, "the strategy is None"),
        ("abc", "the strategy is 'abc'"),
        ([[0.5, 0.6]] * 3, r"row 0 of the strategy sums to 1\.1"),
        ([[1, 0, 0]] * 3, "3 columns"),
        ({0: 0, 1: 1}, "no decision for x = 2"),
    ],
)
def test_wrong_strategies_are_refused(strategy, words):
    with pytest.raises(DataError, match=words):
        bayes_risk(TABLE, strategy)


def test_wrong_losses_are_refused():
    with pytest.raises(DataError, match="3 columns"):
        bayes_strategy(TABLE, [[0, 1, 2]])
    with pytest.raises(SettingError, match="both priors and evidence"):
        bayes_strategy(TABLE, priors=[1, 0], evidence=[1, 0])
    with pytest.raises(DataError, match="priors sums to 2"):
        bayes_strategy([[1, 1]], priors=[1, 1])


def test_float32_tables_sum_to_one_as_well_as_they_can():
    p = np.array([[0.1, 0.2], [0.3, 0.4]], dtype=np.float32)
    assert bayes_strategy(p).risk == pytest.approx(0.4)


def test_an_unknown_observation_is_refused():
    with pytest.raises(DataError, match="no observation 7"):
        bayes_strategy(TABLE)(7)
