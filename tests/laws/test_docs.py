"""Every code block in README and docs runs, in order, and prints what the page shows below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from tests.served import served

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)
NUMBER = re.compile(r"\d+\.?\d*(?:e[-+]?\d+)?")
SECONDS = re.compile(rf"{NUMBER.pattern} (?:ms|s|min)\b")


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """The environment with linsep and the commands of this Python on the path."""
    with served(tmp_path_factory.mktemp("bin")) as folder:
        here = Path(sys.executable).parent
        path = os.pathsep.join([str(folder), str(here), os.environ.get("PATH", "")])
        yield os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}


def _words_and_numbers(text):
    """The words with times left out, and the numbers, those that are rounding errors as zero."""
    text = SECONDS.sub("TIME", text)
    found = [float(number) for number in NUMBER.findall(text)]
    return NUMBER.sub("#", text).split(), [x if x > 1e-6 else 0.0 for x in found]


def _assert_shown(shown, printed):
    """Both say the same: word for word, numbers to three digits."""
    words, numbers = _words_and_numbers(shown)
    now, values = _words_and_numbers(printed)
    assert words == now, f"the page shows\n{shown}\nand its block prints\n{printed}"
    assert numbers == pytest.approx(values, rel=2e-3, abs=1e-6), f"{shown}\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_a_page_print_what_it_shows(page, tmp_path, monkeypatch, capsys, shell):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    text, end, printed = page.read_text(encoding="utf-8"), 0, ""
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        if language == "python":
            exec(compile(code, str(page), "exec"), scope)
            printed = capsys.readouterr().out
        elif language == "sh":
            done = subprocess.run(
                code,
                shell=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,  # as a terminal shows both
                text=True,
                check=False,
                env=shell,
            )
            assert done.returncode in (0, 3), done.stdout
            printed = done.stdout
        else:
            assert language == "text", f"{page.name} has a block of {language!r} that nobody runs"
            if not text[end : block.start()].strip():
                _assert_shown(code, printed)
        end = block.end()


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
