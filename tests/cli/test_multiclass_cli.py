"""Schemes for many classes on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linsep.cli.main import main


@pytest.fixture
def three(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["x1,x2,y"]
    for name, centre in zip("abc", ((0, 0), (5, 0), (2, 6))):
        lines += [f"{x:.3f},{z:.3f},{name}" for x, z in rng.normal(centre, 1, (12, 2))]
    path = tmp_path / "three.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("scheme", ["one-vs-rest", "one-vs-one", "kesler"])
@pytest.mark.parametrize("inner", ["linear-svm", "perceptron", "least-squares"])
def test_fit_predict_verify(scheme, inner, three, tmp_path, capsys):
    model = str(tmp_path / "m.json")
    settings = ["--set", f"estimator={inner}", "--set", "calibrate=temperature", "--quiet"]
    assert main(["fit", three, "--algorithm", scheme, *settings, "-o", model, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["classes"] == ["a", "b", "c"] and report["status"]
    assert main(["predict", model, three, "--proba"]) == 0
    first = capsys.readouterr().out.splitlines()[0].split("\t")
    assert first[0] == "a" and float(first[1]) == max(map(float, first[1:]))
    assert main(["verify", model, three]) == 0
    assert "they agree" in capsys.readouterr().out


def test_a_forged_machine_is_found(three, tmp_path, capsys):
    path = tmp_path / "m.json"
    assert main(["fit", three, "--algorithm", "one-vs-one", "--quiet", "-o", str(path)]) == 0
    content = json.loads(path.read_text())
    content["machines"][1]["$model"]["certificate"]["objective"] *= 0.5
    path.write_text(json.dumps(content))
    capsys.readouterr()
    assert main(["verify", str(path), three]) == 1
    assert "machine 1: objective" in capsys.readouterr().out


def test_settings_of_the_inner_algorithm(three, capsys):
    base = ["fit", three, "--algorithm", "one-vs-rest", "--quiet"]
    assert main([*base, "--set", "estimator__C=10", "--time-limit", "9"]) == 0
    assert "10 x sum of hinge losses" in capsys.readouterr().out
    assert main([*base, "--set", "estimator=forest"]) == 2
    assert "known are perceptron" in capsys.readouterr().err
    assert main([*base, "--set", "estimator__Q=1"]) == 2
    assert "Invalid parameter 'Q'" in capsys.readouterr().err
