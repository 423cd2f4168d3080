"""Stored proofs: what can be read back, and what any change does to them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import linsep
from linsep.core import Problem
from linsep.errors import ProofError
from linsep.proofs import witness

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])
APART = np.array([[6.0, 9.0], [5.0, 7.0], [5.0, 9.0], [0.0, 4.0]]), np.array([1, 1, 0, 0])
TOUCH = np.array([[0.0, 3.0], [1.0, 1.0], [1.0, 5.0], [1.0, 1.0], [2.0, 0.0]]), [0, 0, 1, 1, 1]
WIDE = np.array([[0.0, 3.0], [1.0, 1.0], [1.0, 5.0], [1.0, 1.0], [1.0, 6.0], [2.0, 0.0]])
THREE = np.array([[0.0], [1.0], [2.0], [3.0], [2.0]]), np.array([0, 0, 1, 1, 2])


def changed(data, path, value):
    data = json.loads(json.dumps(data))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


def refused(data, X, y):
    with pytest.raises(ProofError) as error:
        linsep.Proof.from_dict(data).check(X, y)
    assert len(str(error.value)) > 20


def leaves(value, path=()):
    """Every number and string in a stored proof, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    else:
        yield path, value


def other(path, value):
    """A changed value that no longer says the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        # bounds may be widened without becoming wrong, so they are tightened
        return value * 1.5 if path[:2] == ("margin", 0) else value * 0.5 - 0.25
    if isinstance(value, str) and "/" in value:
        number = Fraction(value) * Fraction(7, 8)
        return f"{number.numerator}/{number.denominator}"
    return None


FREE = {
    "verdict",
    "seconds",
    "feature_names",
    "format",
    "version",
    "exact",
    "span_rivals",
    "rivals",
}


@pytest.mark.parametrize(
    "table", [XOR, APART, TOUCH, THREE], ids=["xor", "apart", "touch", "three"]
)
def test_any_changed_number_is_refused(table):
    X, y = table
    data = linsep.separability(X, y).to_dict()
    assert linsep.Proof.from_dict(data).check(X, y)
    tried = 0
    for path, value in leaves(data):
        if path[0] in FREE or (value == 0 and path[0] in ("coef", "intercept", "margin")):
            continue
        new = other(path, value)
        if new is None or path[0] in ("coef", "hull_weights"):
            continue
        refused(changed(data, path, new), X, y)
        tried += 1
    assert tried > 8


def test_changed_plane_is_refused():
    X, y = APART
    proof = linsep.separability(X, y)
    for coef, intercept in (
        (-proof.coef, proof.intercept),
        (proof.coef * 0.5, proof.intercept),
        (proof.coef * [1.0, 1.01], proof.intercept),
        (np.array([np.nan, 1.0]), proof.intercept),
        (proof.coef[:1], proof.intercept),
        (proof.coef, None),
    ):
        with pytest.raises(ProofError):
            replace(proof, coef=coef, intercept=intercept).check(X, y)


def test_wrong_upper_bound_is_refused():
    X, y = APART
    proof = linsep.separability(X, y)
    low, high = proof.margin
    assert replace(proof, margin=(low, high * 2)).check(X, y)
    for margin in ((low, high * 0.9999), (low * 1.0001, high), (-1.0, high), (high * 2, high)):
        with pytest.raises(ProofError):
            replace(proof, margin=margin).check(X, y)
    with pytest.raises(ProofError):
        replace(proof, hull_weights=-proof.hull_weights).check(X, y)
    with pytest.raises(ProofError):
        replace(proof, hull_rows=proof.hull_rows[:1], hull_weights=np.ones(1)).check(X, y)


def test_verdict_turned_round_is_refused():
    for X, y in (XOR, APART, TOUCH):
        proof = linsep.separability(X, y)
        with pytest.raises(ProofError):
            replace(proof, separable=not proof.separable).check(X, y)
    proof = linsep.separability(*TOUCH)
    assert proof.quasi
    with pytest.raises(ProofError):
        replace(proof, quasi=False).check(*TOUCH)
    with pytest.raises(ProofError):
        replace(proof, quasi=False, coef=None, intercept=None, columns=()).check(*TOUCH)
    with pytest.raises(ProofError):
        replace(linsep.separability(*XOR), quasi=True).check(*XOR)


def test_weak_separator_that_is_not_the_best_is_refused():
    y = np.array([0, 0, 1, 1, 1, 1])
    proof = linsep.separability(WIDE, y)
    assert proof.quasi and proof.check(WIDE, y)
    worse = replace(proof, coef=np.array([1.0, 0.0]), intercept=-1.0, columns=(0,))
    best = np.count_nonzero((2 * y - 1) * (WIDE @ proof.coef + proof.intercept) > 0)
    if best > 2:
        with pytest.raises(ProofError):
            worse.check(WIDE, y)


def test_repeated_and_missing_rows_are_refused():
    X, y = XOR
    proof = linsep.separability(X, y)
    bad = [
        {"rows": np.array([0, 1, 2, 2])},
        {"rows": np.array([0, 1, 2, 9])},
        {"rows": np.array([-1, 1, 2, 3])},
        {"rows": np.array([0, 1, 2])},
        {"multipliers": (Fraction(1, 2),) * 4},
        {"multipliers": (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(0))},
        {"multipliers": (Fraction(1), Fraction(1), Fraction(1), Fraction(-2))},
        {"rivals": np.array([1, 1, 0, 0])},
        {"span_rows": np.zeros(0, dtype=np.int64), "span_multipliers": ()},
        {"margin": (0.0, 1.0)},
    ]
    for change in bad:
        with pytest.raises(ProofError):
            replace(proof, **change).check(X, y)


def test_other_data_are_refused_with_a_reason():
    proof = linsep.separability(*XOR)
    X, y = XOR
    moved = X.copy()
    moved[0, 0] = 1e-300
    with pytest.raises(ProofError, match="other data"):
        proof.check(moved, y)
    with pytest.raises(ProofError, match="other data"):
        proof.check(X[[1, 0, 2, 3]], y[[2, 0, 1, 3]])
    with pytest.raises(ProofError, match="other data"):
        proof.check(X[:, :1], y)


def test_a_forged_fingerprint_does_not_help():
    X, y = XOR
    apart = linsep.separability(*APART)
    moved = X + np.array([[0, 0], [0, 0], [0, 5], [0, 5]])
    forged = replace(linsep.separability(X, y), fingerprint=linsep.Problem(moved, y).fingerprint)
    with pytest.raises(ProofError, match="does not hold"):
        forged.check(moved, y)
    with pytest.raises(ProofError):
        replace(apart, fingerprint=linsep.Problem(X, y).fingerprint).check(X, y)


def test_json_is_strict_and_keeps_every_number():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    proof = linsep.separability(X, y)
    text = proof.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
    again = linsep.Proof.from_json(text)
    assert again.multipliers == proof.multipliers
    assert again.span_multipliers == proof.span_multipliers
    assert again.rows.tolist() == proof.rows.tolist()
    assert again.to_dict() == proof.to_dict()
    assert again.check(X, y)


def test_broken_files_are_refused_with_a_reason():
    good = linsep.separability(*XOR).to_dict()
    for bad in (
        {},
        {**good, "format": "?"},
        {**good, "version": 99},
        {k: v for k, v in good.items() if k != "rows"},
        {**good, "rows": ["a"]},
        {**good, "multipliers": ["1/0"]},
        {**good, "multipliers": [0.25]},
        {**good, "margin": None},
    ):
        with pytest.raises(ProofError):
            linsep.Proof.from_dict(bad)
    with pytest.raises(ProofError):
        linsep.Proof.from_json("{")


def test_numbers_too_long_for_python_are_stored():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4, 1)) * 10.0 ** rng.integers(-300, 300, (4, 1))
    proof = linsep.separability(np.vstack([X, X[:1]]), [0, 1, 0, 1, 1])
    big = replace(proof, span_multipliers=tuple(Fraction(1, 7**9000) for _ in proof.span_rows))
    again = linsep.Proof.from_json(big.to_json())
    assert again.span_multipliers == big.span_multipliers


def test_every_row_of_a_large_table_is_held_against_the_span():
    rng = np.random.default_rng(2)
    basis = np.vstack([np.eye(60, 62), np.zeros((1, 62))])  # the last two columns are empty
    rows = basis[rng.integers(61, size=20_000)] * rng.integers(-3, 4, (20_000, 1)) / 8
    y = np.arange(20_000) % 2
    few, every = np.arange(61), np.arange(61, 20_061)
    problem = Problem(np.vstack([basis, rows]), np.concatenate([np.ones(61), y]))
    assert all(witness._spanned(problem, few, every, prime) for prime in witness._PRIMES)
    for row in (62, 12_345):  # one of them, wherever it is
        wrong = problem.changed(matrix=problem.matrix.copy())
        wrong.matrix[row, 61] = 2.0**-40
        assert not any(witness._spanned(wrong, few, every, prime) for prime in witness._PRIMES)


def test_explanations_read_well():
    X, y = XOR
    text = linsep.separability(X, y).explain()
    assert "1 x row 0" in text and "sum to zero" in text
    text = linsep.separability(*APART).explain()
    assert "2 x1 - 1 x2 - 2 = 0" in text
    text = linsep.separability(*TOUCH).explain()
    assert "weak separator" in text
    text = linsep.separability(*THREE).explain()
    assert "against" in text
    assert "Proof" in repr(linsep.separability(X, y))
