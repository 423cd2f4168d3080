"""Minimax and Neyman-Pearson, on tables and on scores."""

from __future__ import annotations

import os
from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep.errors import DataError, ProofError, SettingError
from linsep.risk import bayes_strategy, minimax, neyman_pearson


@st.composite
def likelihoods(draw, most_x=4, classes=(1, 2, 3)):
    n, k = draw(st.integers(1, most_x)), draw(st.sampled_from(classes))
    columns = []
    for _ in range(k):
        column = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
        if not sum(column):
            column[draw(st.integers(0, n - 1))] = 1
        columns.append([F(v, sum(column)) for v in column])
    return [list(row) for row in zip(*columns)]


@st.composite
def games(draw):
    p = draw(likelihoods())
    d = draw(st.integers(1, 4))
    loss = [[F(draw(st.integers(-2, 5)), 3) for _ in p[0]] for _ in range(d)]
    return p, draw(st.sampled_from([None, loss]))


def risks_of(p, q, loss):
    K = len(p[0])
    loss = loss or [[F(int(d != k)) for k in range(K)] for d in range(K)]
    return [
        sum(p[x][k] * q[x][d] * loss[d][k] for x in range(len(p)) for d in range(len(loss)))
        for k in range(K)
    ]


@given(games())
def test_minimax_is_proved_by_its_prior(game):
    p, loss = game
    answer = minimax(p, loss)
    assert answer.check()
    assert answer.risk == answer.lower_bound
    assert list(answer.risks) == risks_of(p, answer.strategy, loss)
    assert answer.risk == max(answer.risks)
    assert sum(answer.prior) == 1 and min(answer.prior) >= 0
    # the other side by other code: the Bayes risk of the prior
    assert bayes_strategy(p, loss, priors=answer.prior).risk == answer.risk
    assert len(answer.mixture) <= len(p[0])


@given(games())
def test_minimax_without_randomness_is_the_best_of_all(game):
    p, loss = game
    answer = minimax(p, loss, deterministic=True)
    D = len(loss) if loss else len(p[0])
    unit = [[F(int(i == d)) for i in range(D)] for d in range(D)]
    everything = product(range(D), repeat=len(p))
    assert answer.risk == min(max(risks_of(p, [unit[d] for d in q], loss)) for q in everything)
    assert answer.check() and not answer.randomised
    assert answer.lower_bound <= answer.risk


def test_minimax_with_floats_names_and_reject():
    p = pd.DataFrame([[0.7, 0.1], [0.2, 0.2], [0.1, 0.7]], columns=["a", "b"])
    answer = minimax(p, {"a": [0, 1], "b": [1, 0], "reject": [0.3, 0.3]})
    assert answer.check()
    assert answer.risk == pytest.approx(answer.lower_bound)
    assert answer.decisions[0] == "a" and answer.decisions[2] == "b"
    assert answer.risk == pytest.approx(0.1 + 0.2 * 0.3)


def test_a_forged_answer_does_not_pass():
    answer = minimax([[F(3, 4), F(1, 3)], [F(1, 4), F(2, 3)]])
    object.__setattr__(answer, "risk", F(3, 13))
    with pytest.raises(ProofError, match="4/13"):
        answer.check()


def test_all_classes_alike_leave_nothing_but_chance():
    answer = minimax([[F(1, 2)] * 3, [F(1, 2)] * 3])
    assert answer.risk == F(2, 3)


@given(likelihoods(most_x=5, classes=(2,)), st.integers(0, 12))
def test_neyman_pearson_is_proved_and_best(p, twelfths):
    eps = F(twelfths, 12)
    test = neyman_pearson(p, eps)
    assert test.check()
    assert test.false_alarm <= eps
    assert test.miss == test.lower_bound
    assert test.miss == sum(row[1] * (1 - a) for row, a in zip(p, test.alarm))
    for q in product((0, 1), repeat=len(p)):  # no test without randomness is better
        if sum(row[0] * a for row, a in zip(p, q)) <= eps:
            assert sum(row[1] * (1 - a) for row, a in zip(p, q)) >= test.miss
    rigid = neyman_pearson(p, eps, randomised=False)
    assert set(rigid.alarm.tolist()) <= {0, 1} and rigid.check()
    assert rigid.false_alarm <= eps and rigid.miss >= test.miss


@given(likelihoods(most_x=5, classes=(2,)), st.floats(0, 1))
def test_neyman_pearson_in_floats(p, eps):
    test = neyman_pearson(np.array(p, dtype=float), eps)
    assert test.check()
    assert test.false_alarm <= eps + 1e-9


@pytest.mark.parametrize("eps", [-0.1, 1.5, np.nan, "much", None])
def test_a_share_outside_zero_and_one_is_refused(eps):
    with pytest.raises(SettingError, match="eps must lie between"):
        neyman_pearson([[1, 0], [0, 1]], eps)


def test_wrong_uses_say_the_way_out():
    with pytest.raises(SettingError, match=r"neyman_pearson\(scores, eps, y=y\)"):
        neyman_pearson([1, 2], [0, 1], y=[0, 1])
    with pytest.raises(DataError, match="3 columns"):
        neyman_pearson([[1, 1, 1]], 0.1)
    with pytest.raises(SettingError, match="confidence is for scores"):
        neyman_pearson([[1, 0], [0, 1]], 0.1, confidence=0.9)
    with pytest.raises(DataError, match=r"column 1 of p.* sums to 2"):
        minimax([[1, 2]])
    with pytest.raises(DataError, match="one number for each row"):
        minimax([[1.0, 2.0]], y=[0, 1])
    with pytest.raises(DataError, match="3 classes"):
        minimax([1.0, 2.0, 3.0], y=[0, 1, 2])
    with pytest.raises(DataError, match="NaN at row 1"):
        neyman_pearson([1.0, np.nan], y=[0, 1])


few = settings(max_examples=int(os.environ.get("LINSEP_FUZZ", "40")))

# -- scores -----------------------------------------------------------------------------------

scored = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=14).filter(
    lambda rows: len({label for _, label in rows}) == 2
)


def rates(scores, y, t, g):
    """False alarms and misses, counted one by one."""
    out = []
    for label in (False, True):
        own = [s for s, k in zip(scores, y) if k == label]
        out.append(F(sum((s > t) + g * (s == t) for s in own)) / len(own))
    return out[0], 1 - out[1]


@given(scored)
@few
def test_minimax_threshold_beats_a_grid_of_rules(rows):
    scores, y = [r[0] for r in rows], [r[1] for r in rows]
    rule = minimax(scores, y=y)
    assert (rule.false_alarm, rule.miss) == rates(scores, y, rule.threshold, rule.at_threshold)
    assert rule.risk == max(rule.false_alarm, rule.miss)
    for t in range(7):
        for twelfth in range(13):
            assert max(rates(scores, y, t, F(twelfth, 12))) >= rule.risk


@given(scored, st.integers(-2, 4), st.integers(1, 4))
@few
def test_minimax_threshold_with_a_loss(rows, cheap, dear):
    scores, y = [r[0] for r in rows], [r[1] for r in rows]
    loss = [[cheap, dear], [1, 0]]
    rule = minimax(scores, loss, y=y)
    best = min(
        max(cheap * (1 - a) + a, dear * m)
        for t in range(-1, 8)
        for g in range(13)
        for a, m in [rates(scores, y, t, F(g, 12))]
    )
    assert rule.risk <= best


@given(scored, st.integers(0, 20))
@few
def test_neyman_pearson_threshold_keeps_the_rate_and_misses_least(rows, twentieths):
    scores, y = [r[0] for r in rows], [r[1] for r in rows]
    eps = F(twentieths, 20)
    rule = neyman_pearson(scores, eps, y=y)
    assert (rule.false_alarm, rule.miss) == rates(scores, y, rule.threshold, rule.at_threshold)
    assert rule.false_alarm <= eps
    for t in range(-1, 8):
        for twelfth in range(13):
            alarm, miss = rates(scores, y, t, F(twelfth, 12))
            assert alarm > eps or miss >= rule.miss
    low, high = rule.false_alarm_interval
    assert low <= rule.false_alarm <= high
    assert rule.miss_interval[0] <= rule.miss <= rule.miss_interval[1]


def test_a_promise_for_new_data_is_kept():
    # the true rate is known: negatives are uniform on (0, 1)
    rng = np.random.default_rng(0)
    eps, broken = 0.1, 0
    for _ in range(400):
        scores = rng.random(120)
        rule = neyman_pearson(scores, eps, y=np.arange(120) < 20, confidence=0.9)
        broken += 1 - rule.threshold > eps
    assert broken <= 40 + 3 * 6  # a tenth of 400, and three standard deviations


def test_too_few_negatives_cannot_promise_anything():
    with pytest.raises(SettingError, match=r"5 negatives cannot promise .* 59 are enough"):
        neyman_pearson(np.arange(10.0), 0.05, y=np.arange(10) > 4, confidence=0.95)
    neyman_pearson(np.arange(60.0), 0.05, y=np.arange(60) > 58, confidence=0.95)


def test_rule_predicts_labels_and_is_steady():
    rule = neyman_pearson([1, 2, 3, 3], F(1, 4), y=["no", "no", "no", "yes"])
    assert rule.threshold == 3 and rule.at_threshold == F(3, 4)
    first = rule.predict([0, 3, 3, 3, 4])
    assert first[0] == "no" and first[-1] == "yes"
    assert (first == rule.predict([0, 3, 3, 3, 4])).all()
    assert rule.probabilities([2, 3, 4]).tolist() == [0, 0.75, 1]
    assert "positive above 3" in str(rule)
