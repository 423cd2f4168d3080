"""What all proofs share: facts from values, machines together, balanced dual variables."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from linsep.core.protocol import Status
from linsep.proofs.gap import Gap, balanced, intercept_words
from linsep.proofs.kernel import KernelGap


def test_values_tell_errors_margin_and_street():
    gap = Gap.of(np.array([2.0, 1.0, 0.5, 0.0, -1.0]), 2.0, 3.0, 4.0, "words")
    assert (gap.errors, gap.inside, gap.margin, gap.width) == (2, 3, -0.5, 1.0)
    assert (gap.objective, gap.lower_bound, gap.words) == (3.0, 3.0, "words")


def test_a_value_that_is_no_number_is_an_error():
    gap = Gap.of(np.array([2.0, np.nan]), 1.0, np.inf, 0.0, "")
    assert gap.errors == gap.inside == 1


def test_no_weights_have_no_margin():
    gap = Gap.of(np.ones(2), 0.0, 1.0, 0.0, "")
    assert gap.margin == -np.inf and gap.width == np.inf


def test_counts_of_many_values_are_those_of_a_loop():
    values = np.random.default_rng(0).standard_normal(300_000)
    gap = Gap.of(values, 1.0, 1.0, 0.0, "")
    assert gap.errors == sum(v <= 0 for v in values.tolist())
    assert gap.inside == sum(v < 1 - 1e-9 for v in values.tolist())


def test_machines_together():
    parts = [Gap(2.0, 1.0, 5, 0.5, 3.0, 7, "each"), Gap(4.0, 3.0, 6, -0.5, 2.0, 8, "each")]
    both = Gap.together(parts, 9, "of a kind")
    assert (both.objective, both.lower_bound, both.errors) == (6.0, 4.0, 9)
    assert (both.margin, both.width, both.inside) == (-0.5, 2.0, 15)
    assert both.words == "2 machines, of a kind, each each"
    assert both.relative_gap == 0.5 and both.gap / both.objective == pytest.approx(1 / 3)
    assert Gap.together(parts[:1], 9, "of a kind") is parts[0]
    assert Gap.from_dict(both.to_dict()) == both


def test_kernel_machines_together_are_as_convex_as_the_worst():
    first = KernelGap(2.0, 1.0, 0, 1.0, 1.0, 0, "", violation=0.1)
    second = KernelGap(2.0, 1.0, 0, 1.0, 1.0, 0, "", violation=0.3, convex=False)
    both = KernelGap.together([first, second], 0, "pairs")
    assert isinstance(both, KernelGap) and both.violation == 0.3 and not both.convex


@pytest.mark.parametrize("low", [0.0, np.nan, np.inf, -np.inf])
def test_only_a_proved_gap_is_certified(low):
    gap = Gap(1.0, low, 0, 1.0, 1.0, 0, "")
    for claim in (Status.CERTIFIED, Status.CONVERGED, Status.ENOUGH):
        assert gap.settle(claim, 0.5) is Status.STALLED
    assert gap.settle(Status.STEP_LIMIT, 0.5) is Status.STEP_LIMIT


def test_a_gap_within_tol_is_certified_whatever_ended_the_search():
    gap = Gap(1.0, 0.9, 0, 1.0, 1.0, 0, "")
    assert gap.settle(Status.STEP_LIMIT, 0.2) is Status.CERTIFIED
    assert gap.settle(Status.DIVERGED, 0.2) is Status.DIVERGED


@pytest.mark.parametrize("add", [np.sum, math.fsum])
@pytest.mark.parametrize("seed", range(10))
def test_balanced_in_fractions(seed, add):
    """The exact multiple of the heavier class balances; what is stored is that near to it."""
    r = np.random.default_rng(seed)
    alpha = r.uniform(0, 1, 50) * 10.0 ** r.uniform(-8, 8, 50)
    positive = r.random(50) < 0.3
    found, error = balanced(alpha, positive, add)
    assert (found <= alpha).all() and (found >= 0).all()
    side = {True: Fraction(0), False: Fraction(0)}
    for value, plus in zip(alpha.tolist(), positive.tolist()):
        side[plus] += Fraction(value)
    heavy = side[True] > side[False]
    factor = side[not heavy] / side[heavy]
    for value, new, plus in zip(alpha.tolist(), found.tolist(), positive.tolist()):
        true = Fraction(value) * (factor if plus == heavy else 1)
        assert abs(Fraction(new) - true) <= Fraction(error) * true
    assert error < 1e-13


def test_one_class_alone_cannot_be_balanced():
    found, error = balanced(np.ones(3), np.array([True, True, True]))
    assert not found.any() and error == 0.0


def test_words_of_an_intercept():
    assert intercept_words("none") == "no intercept"
    assert intercept_words("penalised", 2.5).endswith("a constant feature 2.5")
    with pytest.raises(KeyError):
        intercept_words("other")


def test_of_numbers_that_overflow_nothing_is_known():
    values = np.array([1e200, -3e200])
    gap = Gap.of(values, np.inf, np.nan, 1.0, "")
    assert (gap.objective, gap.margin, gap.errors) == (np.inf, -np.inf, 1)
    assert gap.settle(Status.CERTIFIED, 0.5) is Status.STALLED
