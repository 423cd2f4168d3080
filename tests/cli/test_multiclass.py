"""Schemes for many classes on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import linsep
from linsep.cli.main import main
from linsep.proofs import softmax


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


@pytest.fixture
def uneven(tmp_path):
    """Classes of different size that overlap."""
    rng = np.random.default_rng(1)
    lines = ["x1,x2,y"]
    for name, centre, n in zip("abc", ((0, 0), (2, 0), (1, 2)), (20, 12, 7)):
        lines += [f"{x:.3f},{z:.3f},{name}" for x, z in rng.normal(centre, 1, (n, 2))]
    path = tmp_path / "uneven.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("weights", ["balanced", "{'a': 1, 'b': 5, 'c': 0.5}"])
@pytest.mark.parametrize("scheme", ["one-vs-rest", "one-vs-one", "kesler"])
@pytest.mark.parametrize("inner", ["linear-svm", "least-squares", "logistic-regression"])
def test_class_weights_are_verified(scheme, inner, weights, uneven, tmp_path, capsys):
    path = tmp_path / "m.json"
    settings = ["--set", f"estimator={inner}", "--set", f"class_weight={weights}", "--quiet"]
    assert main(["fit", uneven, "--algorithm", scheme, *settings, "-o", str(path)]) == 0
    assert main(["verify", str(path), uneven]) == 0
    assert "they agree" in capsys.readouterr().out
    content = json.loads(path.read_text())
    content["params"]["class_weight"] = None
    path.write_text(json.dumps(content))
    assert main(["verify", str(path), uneven]) == 1
    assert "objective" in capsys.readouterr().out


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne, linsep.Kesler])
@pytest.mark.parametrize("inner", [LinearSVC(), make_pipeline(StandardScaler(), LinearSVC())])
def test_machines_of_scikit_learn_are_verified(scheme, inner, uneven, tmp_path, capsys):
    if scheme is linsep.Kesler and hasattr(inner, "steps"):
        inner = linsep.LinearSVM()
    table = linsep.data.read(uneven)
    path = tmp_path / "m.json"
    linsep.save(scheme(inner, class_weight="balanced").fit(table.X, table.y), path)
    assert main(["verify", str(path), uneven]) == 0
    content = json.loads(path.read_text())
    if content["certificates"][0] is not None:
        content["certificates"][0]["lower_bound"] *= 1.5
        path.write_text(json.dumps(content))
        assert main(["verify", str(path), uneven]) == 1
        assert "lower_bound: no more than" in capsys.readouterr().out


def test_a_forged_learner_of_kesler_is_found(uneven, tmp_path, capsys):
    path = tmp_path / "m.json"
    settings = ["--algorithm", "kesler", "--set", "estimator=linear-svm", "--quiet"]
    assert main(["fit", uneven, *settings, "-o", str(path)]) == 0
    content = json.loads(path.read_text())
    for forge, words in ((0, "learner: objective"), (1, "its weights are not those")):
        new = json.loads(json.dumps(content))
        if forge:
            new["coef"]["$array"]["values"][0] += 0.5
        else:
            new["certificates"][0]["objective"] *= 0.5
        path.write_text(json.dumps(new))
        capsys.readouterr()
        assert main(["verify", str(path), uneven]) == 1
        assert words in capsys.readouterr().out


def test_a_bound_of_very_many_classes_is_announced_or_not_asked_for(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + y[:, None]
    np.savetxt(tmp_path / "t.csv", np.column_stack([X, y]), delimiter=",", fmt="%.17g")
    run = ["fit", str(tmp_path / "t.csv"), "-q", "-a", "logistic-regression"]
    assert main([*run, "-o", str(tmp_path / "m.json")]) == 0
    monkeypatch.setattr(softmax, "bound_seconds", lambda problem: 1000.0)
    model = linsep.load(tmp_path / "m.json")
    assert linsep.certify(model, X, y).lower_bound == 0.0  # ten seconds do not hold it
    assert linsep.certify(model, X, y, time_limit=None).lower_bound > 0
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "m.json"), str(tmp_path / "t.csv")]) == 0
    assert "the bound of 3 classes again: about 1000 seconds" in capsys.readouterr().err
    assert main([*run, "--time-limit", "30", "-o", str(tmp_path / "m.json")]) == 0  # has no bound
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "m.json"), str(tmp_path / "t.csv")]) == 0
    assert "again" not in capsys.readouterr().err
