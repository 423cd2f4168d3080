"""The Gaussian classifier on the command line."""

from __future__ import annotations

import json

import pytest

from linsep.cli.main import main

ROWS = "h,w,c\n0,1,a\n2,1.5,a\n1,0,a\n0.5,3,a\n5,1,b\n7,2,b\n6,5,b\n6,2,b\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


@pytest.mark.parametrize("structure", ["full", "shared", "diagonal", "shared-diagonal"])
def test_fit_verify_predict(structure, table, tmp_path, capsys):
    model = str(tmp_path / "m.json")
    command = ["fit", str(table), "-a", "gaussian", "-s", f"covariance={structure}", "-o", model]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["certificate"]["errors"] == 0
    assert (report["coef"] is None) == (not structure.startswith("shared"))
    assert main(["verify", model, str(table)]) == 0
    assert "they agree" in capsys.readouterr().out
    assert main(["predict", model, str(table)]) == 0
    assert capsys.readouterr().out.split() == list("aaaabbbb")
    table.write_text(ROWS.replace("7,2,b", "7,2.5,b"))
    assert main(["verify", model, str(table)]) == 1
    assert "DIFFERS log_likelihood" in capsys.readouterr().out


def test_a_reject_option_on_the_command_line(table, tmp_path, capsys):
    model = str(tmp_path / "m.json")
    loss = "loss=[[0, 1], [1, 0], [0.001, 0.001]]"
    command = ["fit", str(table), "-a", "gaussian", "-s", "covariance=diagonal"]
    assert main([*command, "-s", loss, "-o", model]) == 0
    table.write_text("h,w\n0.5,1\n3.2,1.4\n")
    capsys.readouterr()
    assert main(["predict", model, str(table)]) == 0
    assert capsys.readouterr().out.split() == ["a", "reject"]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--time-limit", "1"], "no --time-limit"),
        (["--no-intercept"], "no --no-intercept"),
        (["--checkpoint", "run.npz"], "no --checkpoint and --resume"),
    ],
)
def test_options_of_a_run_are_refused(option, words, table, capsys):
    assert main(["fit", str(table), "-a", "gaussian", *option]) == 2
    assert f"gaussian has {words}: its answer has a closed form" in capsys.readouterr().err
