"""Tables of fields: what goes out comes back, and nothing else gets in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linsep.core.schema import Refused
from linsep.errors import ModelError
from linsep.models.model_file import (
    CLASSES,
    FEATURES,
    NAMES,
    Field,
    Table,
    array,
    constant,
    extra,
    places,
    settings,
)


class Toy:
    """Two settings and a few numbers."""

    def __init__(self, a: int = 1, verbose: int = 0, calibrate_cv: Any = None) -> None:
        self.a, self.verbose, self.calibrate_cv = a, verbose, calibrate_cv

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"a": self.a, "verbose": self.verbose, "calibrate_cv": self.calibrate_cv}


def note(model: Any) -> Any:
    return getattr(model, "note_", None)


def read_note(model: Any, fields: Any) -> None:
    model.note_ = fields["note"]


TABLE: Table[Toy] = Table(
    "coef_",
    (
        settings("verbose"),
        CLASSES,
        FEATURES,
        NAMES,
        array("coef", lambda model: (1, model.n_features_in_)),
        places("support"),
        constant("rule", "for people"),
        extra("n_iter_"),
        Field("note", note, read_note, optional=True, sparing=True),
    ),
)


def toy() -> Toy:
    model = Toy(a=3, verbose=2)
    model.classes_, model.n_features_in_ = np.array(["no", "yes"]), 2  # type: ignore[attr-defined]
    model.coef_, model.support_ = np.array([[1.0, 2.0]]), np.array([0, 4])  # type: ignore[attr-defined]
    model.n_iter_ = 7  # type: ignore[attr-defined]
    return model


def test_what_goes_out_comes_back():
    model = toy()
    fields = TABLE.write(model)
    assert list(fields) == [
        "params", "classes", "n_features", "feature_names", "coef", "support", "rule", "extra",
    ]  # fmt: skip
    assert fields["params"] == {"a": 3, "calibrate_cv": None} and fields["feature_names"] is None
    back: Any = TABLE.read(Toy, fields)
    assert (back.a, back.verbose, back.n_iter_, back.n_features_in_) == (3, 0, 7, 2)
    assert back.classes_.tolist() == ["no", "yes"] and back.support_.tolist() == [0, 4]
    assert back.coef_.tolist() == [[1.0, 2.0]] and not hasattr(back, "note_")
    assert not hasattr(back, "feature_names_in_")


def test_what_is_optional_is_written_where_it_is_there():
    model: Any = toy()
    model.note_, model.feature_names_in_ = "hello", np.array(["p", "q"], dtype=object)
    back: Any = TABLE.read(Toy, TABLE.write(model))
    assert back.note_ == "hello" and back.feature_names_in_.tolist() == ["p", "q"]
    longer = TABLE.and_also(constant("more", 1)).write(model)
    assert list(longer)[-1] == "more"


def test_splits_of_calibration_are_not_written():
    model = toy()
    model.calibrate_cv = [([0], [1])]
    assert TABLE.write(model)["params"] == {"a": 3}
    model.calibrate_cv = 4
    assert TABLE.write(model)["params"] == {"a": 3, "calibrate_cv": 4}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("coef", [[1.0, 2.0, 3.0]], r"coef is not an array of finite numbers of shape \(1, 2\)"),
        ("coef", [[1.0, np.inf]], "coef is not an array of finite numbers"),
        ("support", [0, -1], "support is not a list of numbers from 0 on"),
        ("support", [0.5], "support is not a list of numbers"),
        ("n_features", True, "n_features is True"),
        ("n_features", -1, "n_features is -1"),
        ("feature_names", ["p"], "feature_names is a list of 1; a list of 2 is due"),
        ("classes", {"type": "int", "values": [1]}, "there are 1 classes"),
        ("extra", {"__class__": 1}, "extra has the unknown entry '__class__'"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: Any, words: str) -> None:
    with pytest.raises((ModelError, Refused), match=words):
        TABLE.read(Toy, TABLE.write(toy()) | {name: value})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("dual_coef_", np.ones((1, 3)), r"dual_coef_ is not an array of finite numbers of shape"),
        ("dual_coef_", np.full((1, 2), np.nan), "dual_coef_ is not an array of finite numbers"),
        ("support_", np.array([0, 4, 5]), r"dual_coef_ is not .* of shape \(1, 3\)"),
        ("support_", np.array([4, 4]), "extra.support_ is .*; a list of row numbers, none"),
    ],
)
def test_dual_variables_are_those_of_the_support_vectors(name: str, value: Any, words: str) -> None:
    fields_of = (settings(), CLASSES, FEATURES, extra("support_", "dual_coef_"))
    table: Table[Toy] = Table("coef_", fields_of)
    model: Any = toy()
    model.coef_, model.dual_coef_ = np.ones((1, 2)), np.array([[0.5, -0.5]])
    fields = table.write(model)
    assert table.read(Toy, fields).dual_coef_.tolist() == [[0.5, -0.5]]  # type: ignore[attr-defined]
    with pytest.raises((ModelError, Refused), match=words):
        table.read(Toy, {**fields, "extra": fields["extra"] | {name: value}})


def test_missing_fields_are_named_and_models_must_be_fitted():
    fields = TABLE.write(toy())
    del fields["coef"]
    with pytest.raises(KeyError, match="coef"):
        TABLE.read(Toy, fields)
    with pytest.raises(ModelError, match="Toy is not fitted; call fit before saving it"):
        TABLE.write(Toy())
