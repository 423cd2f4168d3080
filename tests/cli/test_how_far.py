"""linsep check says how far rows are from separable."""

from __future__ import annotations

import json

import pytest

from linsep.cli.main import main


@pytest.mark.parametrize(("name", "slack"), [("xor", 4.0), ("five-points", None)])
def test_fewest_errors_and_least_slack_of_the_lectures(name, slack, capsys):
    assert main(["check", name, "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["fewest_errors"] == [1, 1] and told["least_slack"] >= 1  # an error costs 1 at least
    assert slack is None or told["least_slack"] == pytest.approx(slack)
    assert main(["check", name]) == 3
    assert "the best plane has 1 error; the least total slack" in capsys.readouterr().out


def test_separable_rows_are_not_far(capsys):
    assert main(["check", "mse-1"]) == 0
    assert "how far" not in capsys.readouterr().out
