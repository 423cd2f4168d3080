"""Model files of SVMlight: read, written, refused; numbers worked out by hand.

``LEARNED`` was written by svm_learn V6.02 (-c 10 -t 1 -d 2 -s 1 -r 1) for the rows of XOR.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import linsep
from linsep.cli.main import main
from linsep.errors import ModelError, SettingError

LEARNED = """SVM-light Version V6.02
{kind} # kernel type
{d} # kernel parameter -d
{g} # kernel parameter -g
{s} # kernel parameter -s
{r} # kernel parameter -r
empty# kernel parameter -u
2 # highest feature index
4 # number of training documents
5 # number of support vectors plus 1
{b} # threshold b, each following line is a SV (starting with alpha*y)
-0.125 1:1 2:1 #
0.125 1:-1 2:1 # a comment with \xe9 and 1:7
-0.125 1:-1 2:-1 #
0.125 1:1 2:-1 #
"""
XOR = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]), np.array([-1, 1, -1, 1])


def written(tmp_path, **changes):
    values = {"kind": 1, "d": 2, "g": 1, "s": 1, "r": 1, "b": "0"} | changes
    path = tmp_path / "machine.dat"
    path.write_bytes(LEARNED.format(**values).encode("latin-1"))
    return path


def test_the_machine_of_xor(tmp_path):
    X, y = XOR
    model = linsep.load(written(tmp_path))
    assert model.decision_function([[0.5, -2.0]]).tolist() == [1.0]  # -x1 x2
    assert (model.predict(X) == y).all() and model.n_features_in_ == 2
    report = linsep.certify(tmp_path / "machine.dat", X, y, C=10.0)
    assert report.objective == pytest.approx(0.25) and report.relative_gap < 1e-9
    assert "LIBSVM" not in report.words


@pytest.mark.parametrize(
    ("changes", "score"),
    [
        ({"kind": 0, "b": "0.5"}, lambda z: 0.0 - 0.5),
        ({"d": 3, "s": 0.5, "r": 2}, lambda z: sum(c * (0.5 * z @ v + 2) ** 3 for c, v in SUM)),
        ({"kind": 2, "g": 0.3, "b": "-1"},
         lambda z: sum(c * np.exp(-0.3 * ((z - v) ** 2).sum()) for c, v in SUM) + 1),
        ({"kind": 3, "s": 0.2, "r": -1},
         lambda z: sum(c * np.tanh(0.2 * z @ v - 1) for c, v in SUM)),
    ],
)  # fmt: skip
def test_every_kernel_and_the_way_back(tmp_path, changes, score):
    rows = np.random.default_rng(4).normal(size=(5, 2))
    model = linsep.load(written(tmp_path, **changes))
    wanted = [score(row) for row in rows]
    np.testing.assert_allclose(model.decision_function(rows), wanted, atol=1e-12)
    linsep.save(model, tmp_path / "again.dat", format="svmlight")
    again = linsep.load(tmp_path / "again.dat")
    assert np.array_equal(again.decision_function(rows), model.decision_function(rows))
    linsep.save(model, tmp_path / "theirs.model")  # and as a file of LIBSVM
    other = linsep.load(tmp_path / "theirs.model")
    np.testing.assert_allclose(other.decision_function(rows), wanted, atol=1e-12)


SUM = [(c, np.array(v)) for c, v in zip([-0.125, 0.125, -0.125, 0.125], XOR[0])]


def test_a_score_of_zero_is_the_class_minus_one(tmp_path):
    model = linsep.load(written(tmp_path, kind=0))
    assert model.predict([[3.0, 4.0]]).tolist() == [-1]


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
def test_models_of_linsep(tmp_path):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, 1, -1)
    path = tmp_path / "ours"
    for ours in (linsep.LinearSVM(), linsep.KernelSVM(gamma=0.5), linsep.Perceptron(max_iter=9)):
        linsep.save(ours.fit(X, y), path, format="svmlight")
        assert path.read_text().startswith("SVM-light Version V6.02\n")
        found = linsep.load(path)
        np.testing.assert_allclose(
            found.decision_function(X), ours.decision_function(X), rtol=1e-12, atol=1e-12
        )
    with pytest.raises(ModelError, match=r"labels -1 and [+]1 only; the classes are"):
        linsep.save(linsep.LinearSVM().fit(X, (y > 0).astype(int)), path, format="svmlight")
    model = linsep.KernelSVM(kernel="intersection").fit(abs(X), y)
    with pytest.raises(ModelError, match="SVMlight has no kernel Intersection"):
        linsep.save(model, path, format="svmlight")
    with pytest.raises(ModelError, match="neither weights of features nor support"):
        linsep.save(linsep.GaussianClassifier().fit(X, y), path, format="svmlight")
    with pytest.raises(ModelError, match="not fitted"):
        linsep.save(linsep.LinearSVM(), path, format="svmlight")
    with pytest.raises(ModelError, match="no support vectors"):
        linsep.save(linsep.LinearSVM().fit(X, y), path, format="libsvm")
    with pytest.raises(SettingError, match="allowed: 'json'"):
        linsep.save(linsep.LinearSVM().fit(X, y), path, format="pmml")


def test_rows_of_single_precision_are_found_again(tmp_path):
    X, y = np.array([[1 / 3, 0.1], [2.0, 5.0]]), np.array([-1, 1])
    gap = X[1] - X[0]
    alpha = float(2 / (gap @ gap))
    text = written(tmp_path, kind=1, d=1, r=0, b=repr(float(alpha * gap @ (X[0] + X[1]) / 2)))
    head = text.read_text("latin-1").splitlines()[:11]
    head[9] = "3 # number of support vectors plus 1 "
    digits = [" ".join(f"{j + 1}:{np.float32(v):.8g}" for j, v in enumerate(row)) for row in X]
    text.write_text("\n".join([*head, f"{-alpha!r} {digits[0]} #", f"{alpha!r} {digits[1]} #", ""]))
    report = linsep.certify(text, X, y, C=10.0)
    assert report.relative_gap < 1e-6 and report.errors == 0


GOOD = LEARNED.format(kind=1, d=2, g=1, s=1, r=1, b="0")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("1 # kernel type", "4 # kernel type", ":2: kernel type 4"),
        ("1 # kernel type", "one # kernel type", ":2: 'one' is no whole number"),
        ("2 # kernel parameter -d", "0 # kernel parameter -d", ":3: the degree 0"),
        ("1 # kernel parameter -s", "nan # kernel parameter -s", ":5: 'nan' is no finite"),
        ("5 # number of support", "6 # number of support", "4 support vectors, but line 10"),
        ("0 # threshold", "# threshold", ":11: '' is no finite number"),
        ("2 # highest", "1 # highest", ":12: feature 2, but line 8"),
        ("-0.125 1:1 2:1", "-0.125 2:1 1:1", ":12: index 1 after 2"),
        ("-0.125 1:1 2:1", "-0.125 0:1 2:1", ":12: index 0 after 0; features are counted from 1"),
        ("-0.125 1:1 2:1", "x 1:1 2:1", ":12: 'x' is no finite number"),
        ("-0.125 1:1 2:1", "-0.125 11 2:1", ":12: '11' is not index:value"),
        (GOOD[60:], "", "lines; a file of SVMlight begins with 11"),
    ],
)
def test_damaged_files_are_refused_with_the_place(tmp_path, old, new, words):
    assert old in GOOD
    path = tmp_path / "bad.dat"
    path.write_bytes(GOOD.replace(old, new).encode("latin-1"))
    with pytest.raises(ModelError, match=words) as caught:
        linsep.load(path)
    assert str(path) in str(caught.value)


def test_the_command_line_converts(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(written(tmp_path))
    assert main(["convert", path, "xor.model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"model": "LibsvmModel", "output": "xor.model"}
    assert main(["convert", "xor.model", "xor.dat", "--format", "svmlight"]) == 0
    assert main(["predict", "xor.dat", "xor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"] == pytest.approx([1, 1, -1, -1])
    assert main(["verify", "xor.dat", "xor", "--C", "10"]) == 0
    assert "objective 0.25" in capsys.readouterr().out
    assert main(["fit", "mse-1", "-a", "linear-svm", "-q", "-o", "m.json"]) == 0
    assert main(["convert", "m.json", "m.model"]) == 0
    assert (tmp_path / "m.model").read_text().startswith("solver_type")
    capsys.readouterr()
    assert main(["convert", "xor.model", "xor.json"]) == 1
    assert "cannot be saved as JSON" in capsys.readouterr().err
    assert main(["convert", "xor.model", "xor.txt"]) == 1
    assert "is no model format" in capsys.readouterr().err
    assert main(["convert", "nothing.model", "xor.json"]) == 1
    assert not (tmp_path / "xor.json").exists()


def test_a_file_that_claims_a_billion_features_makes_no_array_of_them(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), 2 * (np.arange(20) % 2) - 1
    path = tmp_path / "m.model"
    linsep.save(linsep.KernelSVM(kernel="poly").fit(X, y), path, format="svmlight")
    lines = path.read_text().split("\n")
    lines[7] = lines[7].replace("3", "999999999999", 1)
    path.write_text("\n".join(lines))
    with pytest.raises(linsep.errors.DataError, match="rows of 999999999999 features"):
        linsep.load(path).predict(X)
