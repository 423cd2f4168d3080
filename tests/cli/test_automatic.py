"""``linsep fit DATA`` without an algorithm, and models of columns in the other commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linsep.cli.main import main

N = 120


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A table with an identifier, gaps, a category and decimal commas."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    spent, city = rng.gamma(3, 20, N), rng.choice(["Graz", "Wien", "Linz"], N)
    frame = pd.DataFrame({
        "id": np.arange(1, N + 1),
        "spent": [f"{v:.2f}".replace(".", ",") for v in spent],
        "city": np.where(rng.random(N) < 0.05, "", city),
        "w": rng.integers(1, 4, N),
        "back": np.where(spent + 30 * (city == "Wien") + rng.normal(0, 12, N) > 70, "yes", "no"),
    })  # fmt: skip
    frame.to_csv("shop.csv", sep=";", index=False)
    frame[:40].drop(columns="back").to_csv("new.csv", sep=";", index=False)
    return frame


def run(capsys, *words):
    code = main(list(words))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_it_says_how_good_the_model_is(shop, capsys):
    code, out, err = run(capsys, "fit", "shop.csv", "-o", "m.json")
    assert code == 0
    error = float(out.split("  error ")[1].split("%")[0])
    assert 0 < error < 20
    base = float(out.split("  baseline ")[1].split("%")[0])
    counts = shop["back"].value_counts()
    assert base == pytest.approx(100 * counts.min() / N, abs=0.06)
    assert "cross-validation, 5 folds" in out
    assert "id     identifier, left out" in out
    assert "with decimal comma" in out
    rows = [line.split()[2:] for line in out.split("\n") if line.startswith("  true")]
    assert np.array(rows, dtype=int).sum() == N
    assert "model written to m.json" in err


def test_numbers_in_json_are_those_of_the_sentence(shop, capsys):
    code, out, _ = run(capsys, "fit", "shop.csv", "--json", "--cv", "4", "--drop", "w")
    report = json.loads(out)
    assert code == 0
    table = np.array(report["error"]["confusion"])
    assert report["error"]["share"] == pytest.approx(1 - np.trace(table) / table.sum())
    assert report["columns"]["w"]["role"] == "ignored"
    assert report["C"] in report["path"]["C"]
    assert min(report["path"]["error"]) == pytest.approx(report["error"]["share"])


def test_predict_and_verify_take_the_columns_along(shop, capsys):
    run(capsys, "fit", "shop.csv", "-o", "m.json")
    code, out, _ = run(capsys, "predict", "m.json", "new.csv")
    assert code == 0
    assert len(out.split()) == 40  # one line a row, gaps or not
    code, out, err = run(capsys, "predict", "m.json", "shop.csv")
    assert f"of {N} agree" in err
    assert run(capsys, "verify", "m.json", "shop.csv")[0] == 0
    shop.assign(back=shop["back"][::-1].to_numpy()).to_csv("other.csv", sep=";", index=False)
    assert run(capsys, "verify", "m.json", "other.csv")[0] == 1
    new = pd.read_csv("new.csv", sep=";").assign(city="Paris")
    new.to_csv("paris.csv", sep=";", index=False)
    code, out, err = run(capsys, "predict", "m.json", "paris.csv")
    assert (code, len(out.split())) == (0, 40)
    assert "40 rows have values of 'city' that training had not ('Paris')" in err


def test_a_threshold_moves_the_decision(shop, capsys):
    run(capsys, "fit", "shop.csv", "-o", "m.json")
    shares = [
        run(capsys, "predict", "m.json", "new.csv", "--threshold", p)[1].split().count("yes")
        for p in ("0.05", "0.5", "0.95")
    ]
    assert shares[0] > shares[1] > shares[2]


def test_held_out_rows_and_test_files(shop, capsys):
    code, out, _ = run(capsys, "fit", "shop.csv", "--holdout", "0.25")
    assert code == 0
    assert "30 rows held out" in out
    shop[:50].to_csv("test.csv", sep=";", index=False)
    code, out, _ = run(capsys, "fit", "shop.csv", "--test", "test.csv")
    assert "50 rows in test.csv" in out
    assert run(capsys, "fit", "shop.csv", "--test", "test.csv", "--holdout", "0.5")[0] == 2


def test_an_algorithm_takes_tables_too(shop, capsys):
    code, out, _ = run(capsys, "fit", "shop.csv", "-a", "linear-svm", "-q", "-o", "m.json")
    assert code == 0
    assert "LinearSVM" in out
    assert "city" in out
    assert run(capsys, "verify", "m.json", "shop.csv")[0] == 0
    plain = [
        "fit",
        "shop.csv",
        "-a",
        "linear-svm",
        "--weights",
        "w",
        "--scale",
        "-q",
        "-o",
        "w.json",
    ]
    assert run(capsys, *plain)[0] == 0
    assert run(capsys, "verify", "w.json", "shop.csv", "--weights", "w")[0] == 0
    assert run(capsys, "verify", "w.json", "shop.csv")[0] == 1


def test_few_rows_get_the_default_cost(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,p\n2,1,q\n3,4,p\n5,1,q\n")
    code, out, _ = run(capsys, "fit", "t.csv")
    assert code == 0
    assert "C = 1, the default: 4 rows are too few to choose" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--role", "city"], "--role city has no '='"),
        (["--role", "city=towns"], "'towns'; known: number"),
        (["--drop", "ctiy"], "no column 'ctiy'"),
        (["--weights", "city"], "weights that are no numbers"),
        (["--delimiter", "::"], "one character"),
        (["--encoding", "klingon"], "no encoding 'klingon'"),
    ],
)
def test_wrong_options_are_named(shop, capsys, words, told):
    code, _, err = run(capsys, "fit", "shop.csv", *words)
    assert code in (1, 2)
    assert told in err


def test_matrices_choose_their_cost_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=90) > 0, 1, -1)
    lines = [f"{k} " + " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(r)) for k, r in zip(y, X)]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    code, out, _ = run(capsys, "fit", "t.svm", "-o", "m.json")
    assert code == 0
    assert "  error " in out
    assert run(capsys, "predict", "m.json", "t.svm")[0] == 0
    assert run(capsys, "verify", "m.json", "t.svm")[0] == 0
    assert run(capsys, "fit", "t.svm", "-a", "linear-svm", "--drop", "x")[0] == 2


def test_costs_of_rows_are_used_and_verified(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(3)
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    rows = [f"{k} cost:{1 + 9 * (k > 0)} 1:{a} 2:{b}" for k, (a, b) in zip(y, X)]
    (tmp_path / "t.svm").write_text("\n".join(rows) + "\n")
    assert run(capsys, "fit", "t.svm", "-o", "m.json")[0] == 0
    assert run(capsys, "verify", "m.json", "t.svm")[0] == 0
    told = run(capsys, "predict", "m.json", "t.svm")[1].split()
    assert told.count("1") > (y == 1).sum()  # they cost ten times as much


def test_rows_in_another_order_are_other_data(shop, capsys):
    run(capsys, "fit", "shop.csv", "-o", "m.json")
    shop[::-1].to_csv("other.csv", sep=";", index=False)
    code, out, _ = run(capsys, "verify", "m.json", "other.csv")
    assert code == 1
    assert "they are not those of the fit" in out


def test_titles_such_as_x1_are_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 2)).round(3), columns=["x1", "x2"])
    frame["y"] = np.where(frame["x1"] > 0, "p", "q")
    frame.to_csv("t.csv", index=False)
    frame[["x2", "y", "x1"]].to_csv("swapped.csv", index=False)
    frame.to_csv("bare.csv", index=False, header=False)
    run(capsys, "fit", "t.csv", "-o", "m.json")
    told = [run(capsys, "predict", "m.json", name)[1] for name in ("t.csv", "swapped.csv")]
    assert told[0] == told[1]
    run(capsys, "fit", "bare.csv", "-o", "bare.json")
    assert run(capsys, "predict", "bare.json", "bare.csv")[1] == told[0]


def test_numbers_need_no_pandas(tmp_path):
    (tmp_path / "t.csv").write_text(
        "a,b,y\n" + "".join(f"{k % 7},{k},{k % 2}\n" for k in range(40))
    )
    (tmp_path / "u.csv").write_text(
        "a,b,y\n" + "".join(f"r{k % 3},{k},{k % 2}\n" for k in range(40))
    )
    code = """
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        gone = name.split(".")[0] in ("pandas", "skrub")
        return None if gone else super().find_spec(name, path, target)
sys.meta_path[:] = [f for f in sys.meta_path if f is not PathFinder] + [Without]
from linsep.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
    done = [
        subprocess.run(
            [sys.executable, "-c", code, "fit", name], cwd=tmp_path, capture_output=True, text=True
        )
        for name in ("t.csv", "u.csv")
    ]
    assert done[0].returncode == 0, done[0].stderr
    assert "  error " in done[0].stdout
    assert "linsep[study]" in done[0].stderr
    assert done[1].returncode == 1
    assert "linsep[study]" in done[1].stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_one_interrupt_ends_the_search(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 60))
    y = np.where(X @ rng.normal(size=60) + 5 * rng.normal(size=40_000) > 0, "p", "q")
    pd.DataFrame(X.round(4)).add_prefix("c").assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    command = [sys.executable, "-m", "linsep", "fit", "t.csv", "--cv", "50", "-o", "m.json"]
    child = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    child.stderr.readline()  # the labels are found
    time.sleep(1.5)
    os.kill(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode in (130, -signal.SIGINT), err  # in a fit, or between two
    assert not out
    assert not (tmp_path / "m.json").exists()


def test_a_class_of_one_row_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 7}.5,{k},{'odd' if k % 2 else 'even'}\n" for k in range(40))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows + "1.5,2,alone\n")
    code, out, _ = run(capsys, "fit", "t.csv")
    assert code == 0
    assert "C = 1, the default: 'alone' has one row, which cannot be left out" in out


def test_rows_without_a_label_can_be_left_out(shop, capsys):
    shop.loc[[3, 9], "back"] = ""
    shop.to_csv("gaps.csv", sep=";", index=False)
    code, _, err = run(capsys, "fit", "gaps.csv")
    assert code == 1
    assert "gaps.csv:5:5: no label" in err
    assert "--drop-missing" in err
    code, out, err = run(capsys, "fit", "gaps.csv", "--drop-missing")
    left = int((shop["city"] == "").sum()) + 2
    assert code == 0
    assert "LogisticRegression" in out
    assert f"{left} of {N} rows left out" in err


def test_labels_that_are_written_otherwise_are_matched(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [(i % 9, "good" if i % 9 > 4 else "bad") for i in range(40)]
    Path("a.csv").write_text("a,b,label\n" + "".join(f"{v},{v * v},{k}\n" for v, k in rows))
    other = "".join(f"{v},{v * v},{k.title()}.\n" for v, k in rows)
    Path("b.csv").write_text(f"|1x3 Cross validator\na,b,label\n{other}3,9,odd\n")
    run(capsys, "fit", "a.csv", "-q", "-o", "m.json", "--test", "b.csv")
    told = run(capsys, "predict", "m.json", "b.csv")[2]
    assert "'Bad.' is taken for 'bad', 'Good.' for 'good'" in told
    assert "has no label 'odd', it has 'bad', 'good'" in told
    assert "40 of 41 agree" in told


def test_many_classes_get_a_word_and_a_budget(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("linsep.cli.check._MANY_CLASSES", 12)
    lines = [f"{i * 7 % 11},{i * i % 5},k{i % 12}\n" for i in range(36)]
    Path("many.csv").write_text("a,b,label\n" + "".join(lines))
    code, _, told = run(capsys, "check", "many.csv")
    assert code == 3 and "12 classes: 30 s are spent on it" in told
    assert "12 different labels in 36 rows" in told
