"""The least-squares family on the command line."""

from __future__ import annotations

import json

import pytest

from linsep.cli.main import main


def run(capsys, *words):
    code = main(list(words))
    return code, capsys.readouterr().out


def test_fit_verify_and_forgery(tmp_path, capsys):
    path = tmp_path / "m.json"
    words = ("-a", "least-squares", "-s", "targets=[1,1,1,10]", "-q", "-o", str(path))
    code, out = run(capsys, "fit", "mse-2", *words)
    assert code == 0
    assert "8/137 is the least possible" in out
    code, out = run(capsys, "verify", str(path), "mse-2")
    assert code == 0
    assert "they agree" in out
    code, out = run(capsys, "verify", str(path), "mse-1")
    assert code == 1
    text = path.read_text()
    path.write_text(text.replace('"8/137"', '"7/137"'))
    code, out = run(capsys, "verify", str(path), "mse-2")
    assert code == 1
    assert "fractions" in out


@pytest.mark.parametrize(("name", "status"), [("xor", "INSEPARABLE"), ("mse-2", "SEPARATED")])
def test_ho_kashyap_fit_and_trace(capsys, tmp_path, name, status):
    path = tmp_path / "m.json"
    code, out = run(capsys, "fit", name, "-a", "ho-kashyap", "--json", "-q", "-o", str(path))
    assert (code, json.loads(out)["status"]) == (0, status)
    assert run(capsys, "verify", str(path), name)[0] == 0
    code, out = run(capsys, "trace", name, "-a", "ho-kashyap")
    assert code == 0
    assert "a <- Y^+ b" in out


def test_a_trace_of_gradient_steps(capsys):
    settings = ("-s", "solver=gradient", "-s", "max_iter=5")
    code, out = run(capsys, "trace", "mse-1", "-a", "least-squares", *settings)
    assert code == 0
    assert "so a <- a - 0.003211 Y'(Ya - b)" in out
