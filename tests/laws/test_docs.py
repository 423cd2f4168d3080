"""Every code block in README and docs runs, in order, page by page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)


def _with_linsep():
    """The environment with the commands of this Python on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {"PATH": path}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(code, str(page), "exec"), scope)
        elif language == "sh":
            done = subprocess.run(
                code, shell=True, capture_output=True, text=True, check=False, env=_with_linsep()
            )
            assert done.returncode in (0, 3), done.stderr
        else:
            assert language == "text", f"{page.name} has a block of {language!r} that nobody runs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_paths_of_the_source_are_there(page):
    """A path such as models/base.py, of the repository, the source or the tests."""
    for path in re.findall(r"`((?:\w+/)+\w+\.pyi?)\b", page.read_text(encoding="utf-8")):
        if path.endswith("/name.py"):  # to be written
            continue
        homes = (ROOT, ROOT / "src", ROOT / "src" / "linsep")
        assert any((home / path).exists() for home in homes), path


def test_readme_names_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text


def test_demo_runs(tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "demo"}
    exec(compile((ROOT / "examples" / "demo.py").read_text(), "demo.py", "exec"), scope)
    scope["main"]()
    assert "not separable: these four rows prove it" in capsys.readouterr().out
    names = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert names == ["decision.png", "model.json", "proof.json", "replay.html"]
