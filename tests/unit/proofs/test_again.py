"""A certificate proves itself again, of the model that it was made for."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import linsep
from linsep.errors import DataError, LabelError, ProofError

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")

rng = np.random.default_rng(5)
X = rng.gamma(1.0, size=(60, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0.8, "up", "down")

MODELS = {
    "hinge": linsep.LinearSVM(),
    "logistic": linsep.LogisticRegression(),
    "squares": linsep.LeastSquares(),
    "Gaussian": linsep.GaussianClassifier(),
    "perceptron": linsep.Perceptron(max_iter=30, keep="average"),
    "rbf": linsep.KernelSVM(),
    "intersection": linsep.AdditiveSVM(),
    "scheme": linsep.OneVsRest(linsep.LinearSVM()),
}


def stream(blocks, *, small=True, **how):
    """Of rows that fit into the memory that they may take, or do not."""
    data = linsep.data.stream(blocks, **how)
    data.memory = data.memory if small else 400
    return data


@pytest.mark.parametrize("name", MODELS)
def test_it_holds_for_its_rows_and_for_no_others(name):
    model = copy.deepcopy(MODELS[name]).fit(X, Y)
    facts = model.certificate_
    assert facts.check(X, Y)
    for rows, labels in ((1.01 * X, Y), (X, np.roll(Y, 1))):
        with pytest.raises(ProofError, match="does not hold for these rows"):
            facts.check(rows, labels)


@pytest.mark.parametrize("name", ["hinge", "logistic", "squares", "perceptron", "rbf"])
def test_facts_that_are_changed_are_refused(name):
    model = copy.deepcopy(MODELS[name]).fit(X, Y)
    facts = model.certificate_
    for field in ("objective", "lower_bound", "errors", "margin"):
        if field in {own.name for own in fields(facts)}:
            told = getattr(facts, field)
            model.certificate_ = replace(facts, **{field: told + 1})
            with pytest.raises(ProofError, match=rf"{field}: |status: "):
                model.certificate_.check(X, Y)


def test_a_later_fit_changes_nothing():
    model = linsep.LinearSVM().fit(X, Y)
    facts = model.certificate_
    model.fit(X[:30], Y[:30])
    assert facts.check(X, Y)
    assert model.certificate_.check(X[:30], Y[:30])
    assert facts != model.certificate_


def test_copies_of_a_model_prove_theirs_and_facts_alone_say_who_can():
    model = linsep.LogisticRegression().fit(X, Y)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.certificate_ == model.certificate_
        assert other.certificate_.check(X, Y)
    alone = pickle.loads(pickle.dumps(model.certificate_))
    assert alone == model.certificate_
    with pytest.raises(ProofError, match=r"model\.certificate_\.check\(X, y\)"):
        alone.check(X, Y)
    with pytest.raises(ProofError, match=r"linsep\.certify"):
        linsep.certify(model, X, Y).check(X, Y)


def test_an_attribute_that_is_not_there_is_not_there():
    model = linsep.LinearSVM()
    assert not hasattr(model, "certificate_")
    model.fit(X, Y)
    del model.certificate_
    with pytest.raises(AttributeError, match="certificate_"):
        model.certificate_  # noqa: B018


@pytest.mark.parametrize("name", ["hinge", "logistic", "squares", "Gaussian", "perceptron"])
def test_a_stream_that_is_small_proves_it_as_a_large_one_does(name):
    """The fit of a small stream is that of a table; nobody has to know."""

    def blocks():
        yield X[:25], Y[:25]
        yield X[25:], Y[25:]

    for small in (True, False):
        data, changed = stream(blocks, small=small), stream(lambda: [(1.01 * X, Y)], small=small)
        model = copy.deepcopy(MODELS[name]).fit(data)
        assert hasattr(model.certificate_, "sources") is not small
        assert model.certificate_.check(data)
        with pytest.raises(ProofError):
            model.certificate_.check(changed)


def test_rows_that_do_not_fit_are_not_read_whole(tmp_path):
    model = linsep.LinearSVM().fit(X, Y)
    np.save(tmp_path / "x.npy", np.column_stack([Y == "up", X]))
    data = stream(tmp_path / "x.npy", target=0, small=False)
    with pytest.raises(DataError, match="do not fit into memory"):
        model.certificate_.check(data)


def test_frames_and_tables_of_any_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    for model in (linsep.LeastSquares(), linsep.GaussianClassifier(), linsep.LinearSVM()):
        assert model.fit(frame, Y).certificate_.check(frame, Y)
    frame["place"] = np.where(X[:, 1] > 1, "here", "there")
    whole = frame.assign(grade=Y)
    model = linsep.tables.Tabular().fit(whole, "grade")
    assert model.certificate_.check(whole, "grade")
    assert model.certificate_.check(frame, Y)
    with pytest.raises(ProofError, match="does not hold"):
        model.certificate_.check(frame, np.roll(Y, 1))


@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_may_be_written_as_for_a_fit():
    pandas = pytest.importorskip("pandas")
    columns = Y[:, None], Y.tolist(), pandas.Series(Y), pandas.DataFrame({"y": Y})
    for labels in columns:
        model = linsep.LinearSVM().fit(X, labels)
        assert model.certificate_.check(X, labels)
    whole = pandas.array(np.where(Y == "up", 1, 0), dtype="Int64")
    assert linsep.LinearSVM().fit(X, whole).certificate_.check(X, whole)


def test_a_support_vector_without_weight_is_none():
    """With a Gram matrix nothing else tells one row from the next."""
    weight = np.ones(60)
    weight[7] = 0.0
    gram = X @ X.T + np.eye(60)
    model = linsep.KernelSVM(kernel="precomputed").fit(gram, Y, sample_weight=weight)
    assert model.certificate_.check(gram, Y, weight)
    near = np.searchsorted(model.support_, 8)
    assert model.support_[near] == 8
    model.support_ = np.where(np.arange(len(model.support_)) == near, 7, model.support_)
    with pytest.raises(ProofError, match="none of the 59 rows of X that weigh more than 0"):
        model.certificate_.check(gram, Y, weight)


def test_rows_without_what_is_needed_are_refused_in_words():
    facts = linsep.LinearSVM().fit(X, Y).certificate_
    with pytest.raises(DataError, match="y is missing"):
        facts.check(X)
    with pytest.raises(DataError, match="3 columns"):
        facts.check(X[:, :2], Y)
    with pytest.raises(LabelError, match="'left'"):
        facts.check(X, np.where(Y == "up", "left", Y))


def test_of_a_stream_it_asks_for_a_stream():
    data = stream(lambda: [(X, Y)], small=False)
    facts = linsep.LinearSVM().fit(data).certificate_
    with pytest.raises(DataError, match=r"a stream .* is needed, not ndarray"):
        facts.check(X, Y)
