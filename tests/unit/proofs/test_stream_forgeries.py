"""Certificates of streams: what is stored is proved again, and a changed claim is not."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import linsep
from linsep.core.schema import Refused
from linsep.errors import LinsepError
from linsep.rows.parts import PartsProblem

N = 300
RNG = np.random.default_rng(5)
NOISE = RNG.normal(size=(N, 3))
TWO, THREE = np.arange(N) % 2, np.arange(N) % 3
MIXED = NOISE + np.column_stack([TWO, TWO, np.zeros(N)])
APART = NOISE + 9.0 * TWO[:, None]
CORNERS = NOISE + np.eye(3)[THREE]
FLAT = np.column_stack([MIXED[:, :2], np.full(N, 4.0)])
MODELS = {
    "hinge": (linsep.LinearSVM(C=0.5), MIXED, TWO),
    "squared": (linsep.LinearSVM(C=0.5, loss="squared_hinge"), MIXED, TWO),
    "rest": (linsep.LinearSVM(C=0.5), CORNERS, THREE),
    "logistic": (linsep.LogisticRegression(C=0.5), MIXED, TWO),
    "softmax": (linsep.LogisticRegression(C=0.5), CORNERS, THREE),
    "squares": (linsep.LeastSquares(), MIXED, TWO),
    "perceptron": (linsep.Perceptron(), APART, TWO),
    "hard": (linsep.LinearSVM(C=np.inf), APART, TWO),
    "overlap": (linsep.LinearSVM(C=np.inf), MIXED, TWO),
    "full": (linsep.GaussianClassifier("full"), MIXED, TWO),
    "shared": (linsep.GaussianClassifier("shared"), MIXED, TWO),
    "diagonal": (linsep.GaussianClassifier("diagonal"), MIXED, TWO),
    "flat": (linsep.GaussianClassifier("shared-diagonal"), FLAT, TWO),
}
GIVEN = {"proof", "parts", "sources", "sides", "plane"}  # looked at one by one below


def stream(X, y):
    made = linsep.data.stream(lambda: iter([(X[:120], y[:120]), (X[120:], y[120:])]))
    made.memory = 1000  # so that it is no table
    return made


@pytest.fixture(scope="module", params=MODELS)
def stored(request):
    model, X, y = MODELS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(stream(X, y))
    return model, X, y, json.loads(json.dumps(model.certificate_.to_dict()))


def accepted(stored, told):
    model, X, y, _ = stored
    try:
        return type(model.certificate_).from_dict(told).check(stream(X, y))
    except (LinsepError, Refused):
        return False


def test_what_is_true_holds(stored):
    assert accepted(stored, stored[3])


def lies(name, value):
    """Values that say more than a true one, or something else."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value - 1, value + 1]
    if isinstance(value, str):
        return ["", value + "x"]
    if isinstance(value, float):
        off = 1e-4 * (abs(value) if 1e-3 < abs(value) < np.inf else 1.0)
        both = [np.nan, value - off, value + off]
        up, down = [np.nan, value + off, np.inf], [np.nan, value - off, -np.inf]
        some = {"objective": down, "lower_bound": up}.get(name, both)
        return [one for one in some if one != value]
    if isinstance(value, list):
        longer = [*value, value[-1] if value else 1]
        return [longer, *([value[:-1], [np.nan, *value[1:]]] if value else [])]
    return ["0", 1, True] if value is None else []


def test_every_claim_is_held_against_the_rows(stored):
    told = stored[3]
    forged = [(name, lie) for name in told.keys() - GIVEN for lie in lies(name, told[name])]
    forged += [("sources", told["sources"][:-1])] if "sources" in told else []
    believed = [(name, lie) for name, lie in forged if accepted(stored, told | {name: lie})]
    assert believed == []
    assert len(forged) > 10


@pytest.mark.parametrize("inner", ["plane", "sides"])
def test_every_claim_about_a_plane(stored, inner):
    told = stored[3]
    facts = told.get(inner)
    if facts is None:
        pytest.skip("it has none")
    for name in facts.keys() - {"sources", "factors"}:
        for lie in lies("", facts[name]):
            assert not accepted(stored, told | {inner: facts | {name: lie}}), (name, lie)
    assert not accepted(stored, told | {inner: None})


def test_the_weights_are_those_that_the_numbers_are_of(stored):
    told = stored[3]
    facts = told.get("sides", told)
    weights = facts["weights"]
    for lie in [[2 * one for one in weights], weights[::-1]] if weights else []:
        forged = facts | {"weights": lie}
        assert not accepted(stored, told | {"sides": forged} if "sides" in told else forged)


def test_machines_of_classes(stored):
    told = stored[3]
    if not told.get("parts"):
        pytest.skip("one machine")
    first, *others = told["parts"]
    assert not accepted(stored, told | {"parts": [first, first, *others[1:]]})
    assert not accepted(stored, told | {"parts": [first, *others[:-1]]})
    assert not accepted(stored, told | {"parts": [*others, first]})
    for name in ("objective", "lower_bound", "errors", "C", "positive", "inside", "width"):
        for lie in lies(name, first[name]):
            forged = told | {"parts": [first | {name: lie}, *others]}
            assert not accepted(stored, forged), (name, lie)


def test_a_column_that_varies_is_not_left_out():
    model, X, y = MODELS["diagonal"]
    narrow = linsep.GaussianClassifier("diagonal", regularization=1e-9)
    flat = np.column_stack([X[:, :2], np.full(N, 4.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        narrow.fit(stream(flat, y))
    told = narrow.certificate_.to_dict()
    model.fit(stream(X, y))
    other = model.certificate_.to_dict()
    forged = type(narrow.certificate_).from_dict(
        json.loads(json.dumps(told | {"sources": other["sources"]}))
    )
    with pytest.raises(LinsepError):
        forged.check(stream(X, y))


def test_a_verdict_that_is_open_can_be_stored():
    from linsep.separating.parts import StreamProof

    proof = linsep.separability(stream(APART, TWO), time_limit=0.0)
    again = StreamProof.from_dict(json.loads(json.dumps(proof.to_dict())))
    assert again.separable is proof.separable
    assert again.check(stream(APART, TWO))


@pytest.mark.parametrize("name", ["hinge", "rest", "logistic", "softmax", "squares", "perceptron"])
def test_a_model_of_a_stream_has_the_weights_that_are_proved(name, monkeypatch):
    """Whatever takes weights apart for the solver."""
    model, X, y = MODELS[name]
    honest = PartsProblem.split
    monkeypatch.setattr(
        PartsProblem, "split", lambda self, a: tuple(1.01 * one for one in honest(self, a))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(stream(X, y))
    planes = np.column_stack([model.coef_, model.intercept_])
    assert np.array_equal(planes, model.certificate_.stated)
    monkeypatch.undo()
    assert model.certificate_.check(stream(X, y))
