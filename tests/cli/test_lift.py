"""``--lift``: features from a text, in every command that reads data."""

from __future__ import annotations

import json

import pytest

import linsep
from linsep.cli.main import main

XOR = "x1, x2, (x1-x2)**2"


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "xor.csv"
    path.write_text("petal width,b,species\n0,0,no\n1,0,yes\n1,1,no\n0,1,yes\n")
    return path


def run(capsys, *words):
    code = main([str(word) for word in words])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_check_and_its_proof_are_about_the_lifted_rows(capsys, tmp_path):
    assert run(capsys, "check", "xor-01")[0] == 3
    proof = tmp_path / "p.json"
    code, out, err = run(capsys, "check", "xor-01", "--lift", XOR, "--save", proof)
    assert code == 0
    assert "margin 0.5" in out
    assert "lifted from 2 to 3 features" in err
    assert f"--lift '{XOR}'" in err
    assert run(capsys, "verify", proof, "xor-01", "--lift", XOR)[0] == 0
    assert run(capsys, "verify", proof, "xor-01")[0] == 1


@pytest.mark.parametrize("algorithm", ["perceptron", "kozinec", "linear-svm"])
def test_fit_predict_verify_with_names(capsys, csv, tmp_path, algorithm):
    model = tmp_path / "m.json"
    text = "`petal width`, b, (`petal width` - b)**2"
    more = ("-s", "C=inf") if algorithm == "linear-svm" else ()
    code, out, _ = run(
        capsys, "fit", csv, "--lift", text, "-a", algorithm, "-o", model, "-q", *more
    )
    assert code == 0
    assert "inputs      predict yes where " in out
    assert "`petal width`**2" in out
    code, out, err = run(capsys, "predict", model, csv)
    assert (code, out.split()) == (0, ["no", "yes", "no", "yes"])
    assert "4 of 4 agree" in err
    assert run(capsys, "verify", model, csv)[0] == 0
    swapped = csv.with_name("swapped.csv")
    swapped.write_text("b,petal width,species\n0,1,yes\n1,1,no\n0,0,no\n1,0,yes\n")
    assert run(capsys, "predict", model, swapped)[1].split() == ["yes", "no", "no", "yes"]
    loaded = linsep.load(model)
    assert loaded[0].phi == text
    wrong = csv.with_name("wrong.csv")
    wrong.write_text(csv.read_text().replace("0,0,no", "0,0,yes"))
    assert run(capsys, "verify", model, wrong)[0] == 1


def test_json_and_trace(capsys):
    code, out, _ = run(capsys, "fit", "xor-01", "--lift", XOR, "--json", "-q")
    found = json.loads(out)
    assert code == 0
    assert found["lift"] == XOR
    assert found["rule"].startswith("predict 1 where 2*x1**2 - 4*x1*x2")
    assert len(found["coef"][0]) == 3
    code, out, _ = run(capsys, "trace", "xor-01", "--lift", XOR)
    assert code == 0
    assert "5 updates, 9 visits" in out


def test_sparse_files_are_lifted(capsys, tmp_path):
    path = tmp_path / "q.svm"
    path.write_text("1 1:1 2:1\n-1 1:2\n1 1:3 2:3\n-1 2:2\n")
    model = tmp_path / "m.json"
    assert run(capsys, "fit", path, "--lift", "x1, x2, x1*x2", "-o", model, "-q")[0] == 0
    code, out, _ = run(capsys, "predict", model, path)
    assert (code, out.split()) == (0, ["1", "-1", "1", "-1"])
    assert run(capsys, "verify", model, path)[0] == 0


def test_a_wrong_lift_is_wrong_usage(capsys):
    code, out, err = run(capsys, "check", "xor-01", "--lift", "x1, (x1-y)**2")
    assert code == 2
    assert out == ""
    lines = err.splitlines()
    assert lines[2].index("^") == lines[1].index("y")
    code, _, err = run(capsys, "check", "xor-01", "--lift", "log(x1)")
    assert code == 1
    assert "'log(x1)' is -inf at row 0" in err


def test_resume_goes_on_behind_the_lift(capsys, tmp_path):
    save = tmp_path / "c.npz"
    words = ("fit", "xor-01", "--lift", XOR, "-q")
    assert run(capsys, *words, "--checkpoint", save, "-s", "max_iter=1")[0] == 0
    code, out, _ = run(capsys, *words, "--resume", save)
    assert code == 0
    assert "5 updates, 9 visits" in out
