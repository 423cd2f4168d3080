"""``linsep verify`` on tables: numbers without end, and bounds and rows that nothing proves."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import linsep
from linsep.cli.main import main

ENDLESS = {"$float": "inf"}


@pytest.mark.parametrize(
    "model", [linsep.LeastSquares(), linsep.GaussianClassifier("shared")], ids=lambda m: str(m)
)
def test_forged_facts_of_a_plane(model, tmp_path, capsys):
    rng = np.random.default_rng(2)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 2)) + y[:, None]
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "t.csv", table, "%.17g", ",", header="a,b,y", comments="")
    data = linsep.data.read(tmp_path / "t.csv", target="y")
    frame = pd.DataFrame(data.X, columns=["a", "b"])
    linsep.save(model.fit(frame, data.y), tmp_path / "m.json")
    stored = json.loads((tmp_path / "m.json").read_text())
    facts = stored["certificate"]
    lies = [{name: ENDLESS} for name in ("margin_low", "margin_aug_low", "functional_margin")]
    lies += [{"margin_high": 0.0}, {"margin_aug_high": 0.0}, {"rows": [0]}, {"multipliers": ["1"]}]
    every = [facts | {"plane": facts["plane"] | lie} for lie in lies]
    every += [facts | {"total_weight": ENDLESS}] if "total_weight" in facts else []
    for number, told in enumerate([facts, *every]):
        (tmp_path / "f.json").write_text(json.dumps(stored | {"certificate": told}))
        ask = ["verify", str(tmp_path / "f.json"), str(tmp_path / "t.csv"), "--target", "y"]
        assert main(ask) == min(number, 1), (number, capsys.readouterr())
        capsys.readouterr()
