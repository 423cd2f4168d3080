"""Labels of every kind: what comes out of fit, predict, score and a file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import linsep
from linsep.errors import LabelError, ModelError
from linsep.formats.labels import classes_in, classes_out

X, NUMBER = load_iris(return_X_y=True)
X, NUMBER = X[::3], NUMBER[::3]

CLASSIFIERS = [
    linsep.LinearSVM(), linsep.LinearSVM(calibrate="temperature"), linsep.LogisticRegression(),
    linsep.LeastSquares(), linsep.Perceptron(max_iter=20), linsep.OneVsRest(), linsep.OneVsOne(),
    linsep.Kesler(linsep.LinearSVM()), linsep.KernelSVM(), linsep.AdditiveSVM(),
    linsep.GaussianClassifier(), linsep.KernelPerceptron(max_iter=20),
]  # fmt: skip
every = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: f"{m}"[:40])
quiet = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")

# (the labels, the classes of a fit)
OBJECTS = {
    "whole": (np.array([1, 5, 9], dtype=object)[NUMBER], np.array([1, 5, 9])),
    "numpy": (np.array([np.int8(1), 5, 9], dtype=object)[NUMBER], np.array([1, 5, 9])),
    "mixed": (np.array([1, 5.0, 9], dtype=object)[NUMBER], np.array([1.0, 5.0, 9.0])),
    "truths": (np.array([True, False, True], dtype=object)[NUMBER], np.array([False, True])),
    "column": (pd.Series(np.array([1, 5, 9])[NUMBER], dtype=object), np.array([1, 5, 9])),
    "gaps": (pd.Series(NUMBER, dtype="Int64"), np.array([0, 1, 2])),
    "boolean": (pd.Series(NUMBER > 0, dtype="boolean"), np.array([False, True])),
    "text": (np.array(["b", "ab", "c"], dtype=np.dtypes.StringDType())[NUMBER],
             np.array(["ab", "b", "c"], dtype=object)),
}  # fmt: skip


PAIRS = [(m, "whole") for m in CLASSIFIERS]
PAIRS += [(m, kind) for m in (linsep.LinearSVM(), linsep.OneVsRest()) for kind in OBJECTS]


@quiet
@pytest.mark.parametrize(("model", "kind"), PAIRS, ids=str)
def test_objects_that_are_numbers_are_numbers(model, kind):
    y, classes = OBJECTS[kind]
    model.fit(X, y)
    assert model.classes_.dtype == classes.dtype and (model.classes_ == classes).all()
    plain = np.asarray(y.tolist())
    assert model.score(X, y) == (model.predict(X) == plain).mean() > 0.5


def test_labels_that_are_none_say_where_and_what_to_do():
    for y, words in [
        (np.array([b"a", b"b", b"c"])[NUMBER], "bytes at row 0 .*np.char.decode"),
        (np.array(["a", b"b", "c"], dtype=object)[NUMBER], "bytes at row 17"),
        (np.array(["a", None, "c"], dtype=object)[NUMBER], "no label at row 17"),
        (np.array(["a", np.nan, "c"], dtype=object)[NUMBER], "no label at row 17"),
        (np.array([1, "b", 3], dtype=object)[NUMBER], "types int, str"),
        (np.array([True, 2, 3], dtype=object)[NUMBER], "types bool, int"),
        (pd.Series(NUMBER, dtype="Int64").where(NUMBER > 0), "NaN"),
        (NUMBER + 0.5, "continuous"),
        (np.eye(3, dtype=int)[NUMBER], "several labels for each row"),
    ]:
        for model in (linsep.LinearSVM(), linsep.OneVsOne(), linsep.KernelSVM()):
            with pytest.raises(LabelError, match=words):
                model.fit(X, y)
    y = np.char.decode(np.array([b"a", b"b", b"c"]))[NUMBER]  # the way out works
    assert linsep.LinearSVM().fit(X, y).classes_.tolist() == ["a", "b", "c"]


KINDS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "U3", "O", "?"]


@quiet
@every
def test_the_type_of_the_classes_survives_a_file(model, tmp_path):
    y = NUMBER.astype(np.uint8)
    model.fit(X, y)
    linsep.save(model, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json")
    assert again.classes_.dtype == again.predict(X).dtype == np.uint8
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_classes_of_every_type_come_back(kind):
    values = ["a", "bb"] if kind in ("U3", "O") else [0, 1]
    classes = np.array(values, dtype=kind)
    back = classes_in(classes_out(classes))
    assert back.tolist() == classes.tolist()
    assert back.dtype == (np.dtype("U2") if kind == "U3" else classes.dtype)


def test_large_and_long_numbers_come_back():
    large = np.array([5, 2**63, 2**64 - 1], dtype=np.uint64)
    assert classes_in(classes_out(large)).tolist() == large.tolist()
    assert classes_in(classes_out(np.array([0, 1], dtype=np.longdouble))).tolist() == [0.0, 1.0]
    with pytest.raises(ModelError, match="datetime64"):
        classes_out(np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"))


@pytest.mark.parametrize(
    "stored",
    [
        {"type": "int", "values": [0, 300], "dtype": "u1"},
        {"type": "int", "values": [0, 1], "dtype": "f4"},
        {"type": "int", "values": [0, 1], "dtype": "O"},
        {"type": "str", "values": ["a", "b"], "dtype": ["O"]},
        {"type": "int", "values": [0, 2**70]},
        ["int"],
    ],
    ids=str,
)
def test_damaged_classes_are_refused(stored):
    with pytest.raises(ModelError):
        classes_in(stored)


@pytest.mark.parametrize(
    ("classes", "label", "kind"),
    [
        (np.array([0, 1, 2], dtype=np.int8), None, "i1"),
        (np.array([0, 1, 2], dtype=np.uint8), None, "i8"),
        (np.array([0, 1, 2], dtype=np.uint8), 255, "u1"),
        (np.array([0, 1, 2], dtype=np.float32), None, "f4"),
        (np.array([0, 1, 2], dtype=np.uint64), None, "i8"),
        (np.array([0, 1, 2**64 - 1], dtype=np.uint64), None, "O"),
        (np.array([-128, 1, 2], dtype=np.int8), None, "i8"),
    ],
)
def test_rejected_rows_keep_the_type_of_the_classes(classes, label, kind):
    y = classes[NUMBER]
    model = linsep.OneVsRest(decide="unanimous", reject_label=label).fit(X, y)
    found = model.predict(X)
    accepts = model.accepts(X)
    sure = accepts.sum(axis=1) == 1
    assert found.dtype == np.dtype(kind) and not sure.all()
    assert found[sure].tolist() == classes[accepts[sure].argmax(axis=1)].tolist()
    assert not np.isin(found[~sure], classes).any()


def test_labels_that_only_become_an_array():
    """What has ``__array__`` and nothing else, as scikit-learn's checks give it."""
    from sklearn.utils.estimator_checks import _NotAnArray

    model = linsep.OneVsRest().fit(_NotAnArray(X), _NotAnArray(NUMBER))
    assert model.classes_.tolist() == [0, 1, 2]
