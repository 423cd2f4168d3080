"""Commands that ask a model file: certify, explain, plot; and what fit -a can be judged by."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from linsep.cli.main import main
from linsep.core import sources


@pytest.fixture(scope="module")
def exam(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 60
    hours, city = rng.uniform(0, 10, n).round(1), rng.choice(["Graz", "Linz", "Wien"], n)
    grade = np.where(hours + 2 * (city == "Wien") + rng.normal(size=n) > 5, "A", "F")
    frame = pd.DataFrame({"id": range(1, n + 1), "hours": hours, "city": city, "grade": grade})
    folder = tmp_path_factory.mktemp("exam")
    frame.to_csv(folder / "exam.csv", index=False)
    assert main(["fit", str(folder / "exam.csv"), "-a", "linear-svm", "-q",
                 "-o", str(folder / "svm.json")]) == 0  # fmt: skip
    return folder, frame


def told(capsys, *words):
    capsys.readouterr()
    assert main([*map(str, words)]) == 0
    return capsys.readouterr()


def test_certify_proves_the_gap_anew(exam, capsys):
    folder, _ = exam
    found = told(capsys, "certify", folder / "svm.json", folder / "exam.csv", "--json")
    report = json.loads(found.out)
    assert 0 <= report["objective"] - report["lower_bound"] <= 1e-5 * report["objective"]


def test_explain_adds_up_to_the_score_of_predict(exam, capsys):
    folder, _ = exam
    scores = told(capsys, "predict", folder / "svm.json", folder / "exam.csv", "--json").out
    score = json.loads(scores)["scores"][2]
    found = told(capsys, "explain", folder / "svm.json", folder / "exam.csv", "--row", 3, "--json")
    report = json.loads(found.out)
    assert report["score"] == pytest.approx(score)
    total = sum(term["product"] for term in report["terms"]) + report["intercept"]
    assert total == pytest.approx(score)
    for row, words in (("0", "60 rows"), ("61", "60 rows"), ("Anna", "no row has this name")):
        model, data = str(folder / "svm.json"), str(folder / "exam.csv")
        assert main(["explain", model, data, "--row", row]) == 1
        assert words in capsys.readouterr().err


def test_plot_draws_the_strongest_columns(exam, capsys, tmp_path):
    folder, _ = exam
    out = tmp_path / "picture.png"
    found = told(capsys, "plot", folder / "svm.json", folder / "exam.csv", "-o", out, "--json")
    assert len(json.loads(found.out)["features"]) == 2
    assert out.read_bytes().startswith(b"\x89PNG")
    model, data = str(folder / "svm.json"), str(folder / "exam.csv")
    assert main(["plot", model, data, "-o", str(out), "--features", "hours,age"]) == 2
    assert "hours" in capsys.readouterr().err


def test_a_named_algorithm_is_judged_and_searched(exam, capsys):
    folder, frame = exam
    data = folder / "exam.csv"
    found = told(
        capsys, "fit", data, "-a", "linear-svm", "--search", "C=0.01..10", "--cv", 3, "--json"
    )
    report = json.loads(found.out)
    assert [one["C"] for one in report["path"]["settings"]] == [0.01, 0.1, 1.0, 10.0]
    risks = report["path"]["error"]
    assert report["error"]["share"] == min(risks) and report["algorithm"] == "LinearSVM"
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    import linsep

    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    model = linsep.tables.Tabular(linsep.LinearSVM(C=report["C"]), scale=False)
    scores = cross_val_score(model, frame.drop(columns="grade"), frame["grade"], cv=cv)
    assert 1 - scores.mean() == pytest.approx(report["error"]["share"])
    told(capsys, "fit", data, "-a", "gaussian", "--holdout", 0.3, "-q")
    told(capsys, "fit", data, "-a", "linear-svm", "--test", data, "-q")
    for grid, words in (("c=1", "'c' is no setting"), ("C", "no '='"), ("C=3..1", "0 < a <= b")):
        assert main(["fit", str(data), "-a", "linear-svm", "--search", grid]) == 2
        assert words in capsys.readouterr().err


def test_check_and_trace_take_columns_of_any_kind(exam, capsys, tmp_path):
    folder, _ = exam
    data, proof = str(folder / "exam.csv"), str(tmp_path / "proof.json")
    assert main(["check", data, "--save", proof]) == 3
    err = capsys.readouterr().err
    assert "column 'id': identifier, left out" in err and "3 categories" in err
    assert main(["verify", proof, data]) == 0
    assert main(["trace", data, "--max-steps", "3"]) == 0
    assert "60 rows, 4 features" in capsys.readouterr().out


def test_a_column_that_tells_all_is_named_with_an_algorithm_too(exam, capsys, tmp_path):
    _, frame = exam
    late = frame.assign(mark=np.where(frame.grade == "A", 1.0, 5.0) + frame.hours / 100)
    late[["hours", "mark", "grade"]].to_csv(tmp_path / "late.csv", index=False)
    found = told(capsys, "fit", tmp_path / "late.csv", "-a", "linear-svm", "-q")
    assert "column 'mark' alone tells every label" in found.err


def test_a_dash_is_standard_input(exam, capsys, monkeypatch):
    folder, _ = exam
    sources._standard_input.cache_clear()
    text = io.TextIOWrapper(io.BytesIO((folder / "exam.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", text)
    try:
        found = told(capsys, "predict", folder / "svm.json", "-")
    finally:
        sources._standard_input.cache_clear()
    assert len(found.out.strip().split("\n")) == 60
    assert "agree with the labels" in found.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_scripts_of_the_shell(shell, capsys):
    found = told(capsys, "completions", shell).out
    for word in ("study", "certify", "linear-svm", "time-limit", "bash zsh fish", "svmlight onnx"):
        assert word in found
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=found, text=True, check=False).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_algorithms(capsys):
    script = told(capsys, "completions", "bash").out
    for words, wanted in (("linsep st", "study"), ("linsep fit x --ho", "--holdout"),
                          ("linsep fit x -a lin", "linear-svm"), ("linsep completions z", "zsh"),
                          ("linsep convert m o --format o", "onnx")):  # fmt: skip
        line = words.split(" ")
        place = f"COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}"
        ask = f'{script}\n{place}; _linsep; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
        assert wanted in done.stdout.split()


def test_labels_of_a_test_file_that_training_has_not_are_refused(tmp_path, capsys):
    for name, labels in (("a.csv", "uv"), ("b.csv", "st"), ("c.csv", "UV")):
        rows = "".join(f"{k},{k % 7},{labels[k % 2]}\n" for k in range(40))
        (tmp_path / name).write_text("a,b,y\n" + rows)
    assert main(["fit", str(tmp_path / "a.csv"), "--test", str(tmp_path / "b.csv")]) == 1
    assert "none is in both" in capsys.readouterr().err
    assert main(["fit", str(tmp_path / "a.csv"), "--test", str(tmp_path / "c.csv")]) == 0
    assert "'U' is taken for 'u'" in capsys.readouterr().err  # the same, written otherwise


def test_an_output_that_cannot_be_is_no_fault_of_the_data(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a,y\n" + "".join(f"{k},{'uv'[k % 2]}\n" for k in range(40)))
    model = tmp_path / "nowhere" / "m.json"
    assert main(["fit", str(tmp_path / "a.csv"), "-o", str(model)]) == 1
    assert capsys.readouterr().err.startswith(f"linsep: {model} cannot be written")
