"""Model files: exact round trips, atomic writes, and no trust in what is read."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import linsep
from linsep.core.files import atomic_write_bytes
from linsep.errors import ModelError
from linsep.formats import json_model, load, save
from linsep.models.model_file import LINEAR

QUICK = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Fake:
    """The smallest estimator with the two hooks."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def to_model(self) -> dict[str, Any]:
        return self.fields

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Fake:
        return cls(**fields)


class Plane:
    """A linear estimator without anything else."""

    def __init__(self, eta: Any = 1.0) -> None:
        self.eta = eta

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"eta": self.eta, "callbacks": print, "verbose": 1}

    def to_model(self) -> dict[str, Any]:
        return LINEAR.write(self)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Any:
        return LINEAR.read(cls, fields)


@pytest.fixture(autouse=True)
def _classes(monkeypatch: Any) -> None:
    module = types.ModuleType("linsep_fakes")
    for cls in (Fake, Plane):
        setattr(module, cls.__name__, cls)
        monkeypatch.setitem(json_model.CLASSES, cls.__name__, "linsep_fakes")
    monkeypatch.setitem(sys.modules, "linsep_fakes", module)


def plane(classes: Any = (-1, 1)) -> Plane:
    model = Plane()
    model.classes_ = np.array(classes)  # type: ignore[attr-defined]
    model.coef_ = np.array([[0.1, 1 / 3]])  # type: ignore[attr-defined]
    model.intercept_ = np.array([5e-324])  # type: ignore[attr-defined]
    model.n_features_in_ = 2  # type: ignore[attr-defined]
    return model


# -- round trips ----------------------------------------------------------------------------------

PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.fractions()
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=4), inner, max_size=3),
        st.dictionaries(st.integers(), inner, max_size=3),
        st.dictionaries(st.sampled_from(["$array", "$float", "x"]), inner, max_size=2),
    ),
    max_leaves=8,
)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


@QUICK
@given(VALUES)
def test_any_plain_value_comes_back_exactly(tmp_path: Path, value: Any) -> None:
    save(Fake(value=value), tmp_path / "m.json")
    assert same(load(tmp_path / "m.json").fields["value"], value)


@QUICK
@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.bool_, "U5"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_any_array_comes_back_with_its_type_and_bits(tmp_path: Path, array: Any) -> None:
    save(Fake(array=array), tmp_path / "m.json")
    back = load(tmp_path / "m.json").fields["array"]
    assert back.shape == array.shape
    assert back.dtype.kind == array.dtype.kind
    if array.dtype.kind == "U":
        assert (back == array).all()
    else:
        assert back.dtype == array.dtype
        assert np.array_equal(back, array, equal_nan=array.dtype.kind == "f")


def test_large_arrays_are_base64_and_small_ones_readable(tmp_path: Path) -> None:
    large = np.random.default_rng(0).normal(size=(50, 100))
    save(Fake(large=large, small=large[0, :2]), tmp_path / "m.json")
    stored = json.loads((tmp_path / "m.json").read_text())
    assert "base64" in stored["large"]["$array"]
    assert stored["small"]["$array"]["values"] == large[0, :2].tolist()
    assert load(tmp_path / "m.json").fields["large"].tobytes() == large.tobytes()


def test_models_inside_models(tmp_path: Path) -> None:
    save(Fake(parts=[Fake(n=1), Fake(n=Fraction(1, 3))]), tmp_path / "m.json")
    parts = load(tmp_path / "m.json").fields["parts"]
    assert [part.fields["n"] for part in parts] == [1, Fraction(1, 3)]


@pytest.mark.parametrize(
    "classes", [[-1, 1], [0.5, 1.5], ["F", "A"], [False, True], np.array(["a", "b"], dtype=object)]
)
def test_classes_keep_their_type(tmp_path: Path, classes: Any) -> None:
    save(plane(classes), tmp_path / "m.json")
    back = load(tmp_path / "m.json")
    assert back.classes_.tolist() == list(classes)
    assert type(back.classes_.tolist()[0]) is type(classes[0])
    assert back.coef_.tolist() == [[0.1, 1 / 3]]
    assert back.intercept_.tolist() == [5e-324]


def test_fitted_perceptron_comes_back_with_its_certificate(tmp_path: Path) -> None:
    X, y = linsep.data.load("students")
    fitted = linsep.Perceptron().fit(X, y)
    save(fitted, tmp_path / "m.json")
    stored = json.loads((tmp_path / "m.json").read_text())
    assert stored["format"] == "linsep-model"
    assert stored["version"] == 1
    assert stored["estimator"] == "Perceptron"
    assert stored["status"]["name"] == fitted.status_.name
    back = load(tmp_path / "m.json")
    assert back.coef_.tolist() == fitted.coef_.tolist()
    assert back.status_ is fitted.status_
    assert back.certificate_ == fitted.certificate_
    assert back.predict(X).tolist() == fitted.predict(X).tolist()
    shown = {k: v for k, v in back.get_params().items() if k not in ("callbacks", "verbose")}
    assert shown == {k: v for k, v in fitted.get_params().items() if k in shown}


# -- what cannot be saved -------------------------------------------------------------------------


def test_what_a_file_cannot_hold_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    with pytest.raises(ModelError, match=r"params\.decay is a function"):
        save(Fake(params={"decay": lambda k: k}), path)
    with pytest.raises(ModelError, match=r"a\[1\] is of type object"):
        save(Fake(a=[1, object()]), path)
    with pytest.raises(ModelError, match="int cannot be saved as JSON"):
        save(3, path)
    with pytest.raises(ModelError, match="Plane is not fitted; call fit"):
        save(Plane(), path)
    with pytest.raises(ModelError, match=r"the ending '\.pkl' is no model format"):
        save(plane(), tmp_path / "m.pkl")
    with pytest.raises(ModelError, match=r"cannot be written: No such file"):
        save(plane(), tmp_path / "nowhere" / "m.json")
    assert list(tmp_path.iterdir()) == []


# -- hostile files --------------------------------------------------------------------------------


def change(path: Path, field: str, value: Any) -> None:
    save(plane(), path)
    stored = json.loads(path.read_text())
    stored.pop(field, None)
    if value is not KeyError:
        stored[field] = value
    path.write_text(json.dumps(stored))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", "pickle", "this is not a linsep model; field 'format'"),
        ("version", 2, "field 'version' is 2, but linsep .* reads up to 1"),
        ("version", "1", "field 'version' is '1'"),
        ("version", True, "field 'version' is True"),
        ("estimator", "os.system", "field 'estimator' is 'os.system', which linsep does not have"),
        ("estimator", ["x"], "field 'estimator' is"),
        ("estimator", "HoKashyapp", "field 'estimator' is 'HoKashyapp'"),
        ("coef", KeyError, "field 'coef' is missing"),
        ("classes", KeyError, "field 'classes' is missing"),
        ("classes", {"type": "int", "values": ["a", "b"]}, "classes are not a list of int"),
        ("classes", {"type": "eval", "values": []}, "classes has no known type"),
        ("n_features", 3, r"coef is not an array of finite numbers of shape \(1, 3\)"),
        ("coef", {"$array": {"dtype": "<f8", "shape": [1, 3], "values": [1]}}, "coef: the array"),
        (
            "coef",
            {"$array": {"dtype": "<f8", "shape": [-1], "values": [1]}},
            "coef: the array cannot be read \\(its shape",
        ),
        (
            "coef",
            {"$array": {"dtype": "O", "shape": [1], "values": [1]}},
            "coef: the array type 'O'",
        ),
        ("coef", {"$array": {"dtype": "<f8", "shape": [1], "base64": "??"}}, "coef: the array"),
        ("coef", {"$array": {"dtype": "<f8", "shape": [1], "values": ["x"]}}, "'x' among values"),
        ("coef", {"$array": {"dtype": "<i8", "shape": [1], "values": [10**30]}}, "coef: the array"),
        ("coef", {"$array": {}, "x": 1}, "stands beside other keys"),
        ("coef", {"$eval": "1"}, r"'\$eval' with '1' is not known"),
        ("coef", {"$fraction": "1/0"}, "coef is '1/0'; a fraction p/q with q > 0 is due"),
        ("coef", {"$fraction": "1e999999999"}, "a fraction p/q of at most"),
        ("coef", [[1, {"$float": "inf"}]], "coef is not an array of finite numbers"),
        ("params", {"nonsense": 1}, "a Plane cannot be made of this"),
        ("params", {"kernel": {"$kernel": {"type": "Product", "parts": []}}}, "the kernel Product"),
        (
            "params",
            {"eta": {"$model": {"estimator": "subprocess"}}},
            "params.eta: field 'estimator'",
        ),
        ("status", {"name": "GREAT"}, "status 'GREAT' is not known"),
        ("feature_names", ["a"], "feature_names is a list of 1; a list of 2 is due"),
        ("extra", {"__class__": 1}, "extra has the unknown entry '__class__'"),
    ],
)
def test_damaged_field_is_named(tmp_path: Path, field: str, value: Any, message: str) -> None:
    path = tmp_path / "m.json"
    change(path, field, value)
    with pytest.raises(ModelError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"{", "this is not JSON"),
        (b"[1, 2]", "this is not a linsep model"),
        (b'{"format": NaN}', "NaN is not a JSON number"),
        (b'{"format": 1, "format": 2}', "a field is given twice"),
        (b"\x80\x04\x95", "this is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"format": "linsep-model", "version": ' + b"9" * 5000 + b"}", "this is not JSON"),
    ],
)
def test_hostile_file_gives_a_model_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message):
        load(path)


def test_missing_file_suggests_the_near_one(tmp_path: Path) -> None:
    save(plane(), tmp_path / "model.json")
    with pytest.raises(ModelError, match=r"did you mean .*model\.json"):
        load(tmp_path / "modle.json")


@QUICK
@given(st.data())
def test_any_cut_or_changed_byte_gives_a_model_or_a_model_error(tmp_path: Path, data: Any) -> None:
    path = tmp_path / "m.json"
    save(plane(), path)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[at:]
    else:
        content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    with contextlib.suppress(ModelError):
        assert isinstance(load(path), Plane | Fake)


# -- atomic writes --------------------------------------------------------------------------------


def test_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "f"
    atomic_write_bytes(path, b"old")

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        atomic_write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


@pytest.mark.skipif(os.name != "posix", reason="rights and links of POSIX")
def test_write_keeps_rights_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "f", tmp_path / "link"
    atomic_write_bytes(path, b"1")
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    path.chmod(0o640)
    link.symlink_to(path)
    atomic_write_bytes(link, b"2")
    assert link.is_symlink()
    assert path.read_bytes() == b"2"
    assert path.stat().st_mode & 0o777 == 0o640


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("name", ["Perceptron", "Kozinec", "LinearSVM"])
def test_a_model_read_back_predicts_and_speaks(name, tmp_path):
    import linsep

    table = linsep.data.load("students")
    model = getattr(linsep, name)().fit(table.X, table.y)
    linsep.save(model, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.predict(table.X), model.predict(table.X))
    assert again.certificate_ == model.certificate_
    assert again.status_ is model.status_
    first, second = again.summary().splitlines(), model.summary().splitlines()
    assert first[0] == second[0]
    assert first[-1] == second[-1]
