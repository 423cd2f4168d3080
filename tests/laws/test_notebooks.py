"""Every notebook runs without a warning and prints what is stored in it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
_spec = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts" / "notebooks.py")
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)


def test_there_is_one_for_each_lecture():
    assert [path.name[:3] for path in NOTEBOOKS] == ["000", "001", "002", "003", "004"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = notebooks.code_cells(notebook)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell, found in zip(cells, notebooks.run(notebook)):
        assert notebooks.printed(found) == notebooks.printed(cell["outputs"])
    drawn = [one for cell in cells for one in cell["outputs"] if "data" in one]
    assert drawn and all(one["data"]["image/png"] for one in drawn)
    assert not list(tmp_path.iterdir())


def test_a_warning_in_a_cell_is_an_error():
    cell = {"cell_type": "code", "source": ["import warnings\n", "warnings.warn('look')"]}
    with pytest.raises(UserWarning, match="look"):
        notebooks.run({"cells": [cell]})
