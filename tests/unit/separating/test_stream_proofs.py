"""Verdicts on streams: what is stored is proved again, and a forged verdict is not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import linsep
from linsep.errors import LabelError, ProofError
from linsep.separating.parts import StreamMargin, StreamProof

N = 400
Y = np.arange(N) % 2
NOISE = np.random.default_rng(0).normal(size=(N, 3))
APART = NOISE + 6.0 * Y[:, None]


def stream(X):
    made = linsep.data.stream(lambda: iter([(X[:150], Y[:150]), (X[150:], Y[150:])]))
    made.memory = 1000  # so that it is no table
    return made


def stored(X):
    proof = linsep.separability(stream(X))
    assert isinstance(proof, StreamProof)
    return json.loads(json.dumps(proof.to_dict()))


@pytest.mark.parametrize("X", [NOISE, APART], ids=["noise", "apart"])
def test_a_stored_verdict_holds(X):
    assert StreamProof.from_dict(stored(X)).check(stream(X))


def test_rows_without_weight_are_rows_that_were_read():
    weight = np.where(np.arange(N) % 7 == 0, 0.0, 1.0)

    def weighted():
        made = linsep.data.stream(lambda: iter([(APART, Y, weight)]))
        made.memory = 1000
        return made

    proof = linsep.separability(weighted())
    assert proof.n_read == N and proof.check(weighted())


@pytest.mark.parametrize(
    "forged",
    [
        {"separable": False, "margin": [0.0, 0.0], "coef": None, "intercept": None},
        {"separable": None},
        {"separable": None, "margin": [0.0, "inf"]},
        {"margin": [1.0, 1.5]},  # the best margin is 2.68
        {"margin": [2.8, 2.9]},
        {"coef": None},
        {"intercept": None},
        {"coef": [1.0]},
        {"coef": [1.0] * 9},
        {"fit_intercept": False},
        {"quasi": True},
        {"n_read": 1},
        {"rows": [56, 56, 56, 56]},
    ],
    ids=str,
)
def test_a_forged_verdict_on_classes_that_are_apart(forged):
    with pytest.raises(ProofError):
        StreamProof.from_dict(stored(APART) | forged).check(stream(APART))


@pytest.mark.parametrize(
    "forged",
    [
        {"separable": True, "margin": [1.0, 2.0], "coef": [1.0, 0.0, 0.0], "intercept": 0.0},
        {"separable": None},
        {"quasi": True},
        {"fit_intercept": False},
        {"margin": [1.0, 2.0]},
    ],
    ids=str,
)
def test_a_forged_verdict_on_noise(forged):
    with pytest.raises(ProofError):
        StreamProof.from_dict(stored(NOISE) | forged).check(stream(NOISE))


def test_a_row_that_the_stream_does_not_have():
    """Two rows of one number, of which only one is in the stream."""
    told = stored(NOISE)
    told["rows"][0] = told["rows"][1]
    with pytest.raises(ProofError):
        StreamProof.from_dict(told).check(stream(NOISE))


def test_an_objective_without_a_plane():
    proof = StreamProof.from_dict(stored(NOISE))
    assert StreamMargin.of_proof(proof).check(stream(NOISE))
    stated = replace(StreamMargin.of_proof(proof), objective=1.0)
    with pytest.raises(ProofError, match=r"objective: found inf, and 1.+ is stated"):
        stated.check(stream(NOISE))


def test_bounds_of_several_passes_are_those_that_are_stored():
    """The upper bound is that of the rows in the proof, whichever pass has brought the plane."""
    rng = np.random.default_rng(3)
    y = np.arange(6000) % 2
    X = rng.normal(size=(6000, 8)) + 9.0 * y[:, None]
    made = linsep.data.stream(
        lambda: ((X[k : k + 500], y[k : k + 500]) for k in range(0, 6000, 500))
    )
    made.memory = 1000
    proof = linsep.separability(made)
    assert proof.separable
    assert proof.check(made)
    assert proof.margin[1] == proof.proof.margin[1]
    best = linsep.separability(X, y).margin
    assert proof.margin[0] <= best[1]
    assert best[0] <= proof.margin[1]


def test_a_label_that_is_missing_is_told_by_its_row(tmp_path):
    """NaN is no label, nor equal to itself: it must not look as if the rows had changed."""
    table = np.column_stack([np.arange(60.0), np.arange(60) % 2])
    table[41, 1] = np.nan
    np.save(tmp_path / "t.npy", table)
    with pytest.raises(LabelError, match=r"t\.npy.*row 41: there is no label \(nan\)"):
        linsep.separability(linsep.data.stream(tmp_path / "t.npy"))
