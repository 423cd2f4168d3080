"""A machine without pyarrow: text and npz read as with it, other formats name what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linsep import tables
from linsep.cli.main import main
from linsep.data import Table, delimited, fast, read
from linsep.errors import LinsepError, MissingExtraError


def _lines(n: int, seed: int) -> list[str]:
    """Numbers of all lengths, texts in quotes and without, a label."""
    rng = np.random.default_rng(seed)
    scale = rng.integers(-40, 40, n)
    size = [f"{float(v)!r}" for v in rng.standard_normal(n) * 10.0**scale]
    colour = ['"a, b"', "red", '"say ""so"""', "grün"]
    return [
        f"{a},{k},{colour[k % 4]},{rng.integers(-9, 9)}.50,{'yes' if k % 3 else 'no'}"
        for k, a in enumerate(size)
    ]


def _told(table: Table) -> tuple[Any, ...]:
    return (table.X.tobytes(), table.y.tolist(), table.feature_names, table.classes, table.notes)


def _block(patch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        patch.setitem(sys.modules, name, None)
    patch.setitem(sys.modules, "pyarrow", None)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_text_table_beyond_the_small_ones_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delimiter: str
) -> None:
    pytest.importorskip("pyarrow")
    lines = ["a,b,c,d,y", *_lines(3000, 11)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines).replace(",", delimiter) + "\n", encoding="utf-8")
    assert path.stat().st_size > delimited.SMALL
    with_it = tables.read(path)
    _block(monkeypatch)
    without = tables.read(path)
    assert without.columns.equals(with_it.columns) and without.notes == with_it.notes
    assert without.y.tolist() == with_it.y.tolist()


def test_trouble_is_told_at_the_same_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    lines = ["a,b,c,d,y", *_lines(3000, 12)]
    lines[2222] = lines[2222].replace(",", ",oops", 1)
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = []
    for blocked in (False, True):
        if blocked:
            _block(monkeypatch)
        with pytest.raises(LinsepError) as caught:
            read(path)
        told.append(str(caught.value))
    assert told[0] == told[1]


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.numba)])
def test_svmlight_and_npz_need_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    _block(monkeypatch)
    monkeypatch.setattr(fast, "pays", lambda size, cold=0: compiled)
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 4)) * 10.0 ** rng.integers(-300, 300, (1500, 4))
    y = rng.integers(0, 2, 1500)
    cells = [" ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row)) for row in X]
    (tmp_path / "t.svm").write_text("".join(f"{t} {c}\n" for t, c in zip(y, cells)))
    np.savez(tmp_path / "t.npz", X=X, y=y)
    assert read(tmp_path / "t.svm").X.toarray().tobytes() == X.tobytes()
    assert read(tmp_path / "t.npz").X.tobytes() == X.tobytes()


@pytest.mark.parametrize(
    ("name", "magic"),
    [
        ("t.parquet", b"PAR1"),
        ("t.arrow", b"ARROW1\0\0"),
        ("t.feather", b"FEA1"),
        ("stream.arrow", b"\xff" * 4),
    ],
)
def test_parquet_and_arrow_name_the_file_and_the_line_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, name: str, magic: bytes
) -> None:
    _block(monkeypatch)
    path = tmp_path / name
    path.write_bytes(magic + bytes(64))
    with pytest.raises(MissingExtraError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path} is a Parquet or Arrow file")
    assert "pip install 'linsep[arrow]'" in str(caught.value)
    assert main(["check", str(path)]) == 1
    assert "linsep[arrow]" in capsys.readouterr().err


def test_the_extra_is_where_the_message_says() -> None:
    import tomllib

    text = Path(__file__).parents[3].joinpath("pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    assert not any(line.startswith("pyarrow") for line in project["dependencies"])
    extras = project["optional-dependencies"]
    assert extras["arrow"][0].startswith("pyarrow")
    assert any("arrow" in line for line in extras["all"])


def test_a_small_table_of_numbers_loads_neither_pyarrow_nor_numba(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n" + "1,2,0\n3,4,1\n" * 20)
    code = (
        "import sys, linsep\n"
        "linsep.data.read('a.csv')\n"
        "print([name for name in ('pyarrow', 'numba') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
