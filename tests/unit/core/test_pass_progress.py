"""Passes over a stream as they are told: a line a pass, or one that moves on a terminal."""

from __future__ import annotations

import io
import re

import numpy as np

import linsep
from linsep.core.parts import Reading
from linsep.core.progress import PassProgress, sized


class Terminal(io.StringIO):
    def isatty(self):
        return True


def reading(number, share, *, done=False, size=4_200_000_000, rows=50_000_000, words=""):
    return Reading(number, int(share * rows), rows, size, 20.0 * share, done, words)


def test_a_line_for_each_pass():
    out = io.StringIO()
    shown = PassProgress(out, after=0.0)
    for number, words in enumerate(("a first look", "", "the proof"), start=1):
        shown.reading(reading(number, 0.0))
        shown.reading(reading(number, 0.5))
        shown.reading(reading(number, 1.0, done=True, words=words))
    shown.close()
    lines = out.getvalue().splitlines()
    assert lines[0].split() == ["pass", "rows", "read", "seconds"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3"]
    assert "50,000,000    4.2 GB" in lines[1] and lines[1].endswith("a first look")
    assert lines[3].endswith("the proof")


def test_nothing_is_told_of_short_work():
    out = io.StringIO()
    shown = PassProgress(out, after=60.0)
    shown.reading(reading(1, 1.0, done=True))
    shown.close()
    assert out.getvalue() == ""


def test_a_line_that_moves_fits_into_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    shown = PassProgress(out, after=0.0)
    shown._gap = "gap 0.0612 %, goal 0.09 %"
    shown.reading(reading(12, 0.25))
    shown._bar.refresh()
    told = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
    shown.close()
    assert "pass 12, 1.1 GB of 4.2 GB, 210 MB/s, 15 s more, gap 0.0612 %, goal 0.09 %" in told
    assert max(map(len, re.split(r"[\r\n]+", told))) <= 80


def test_rows_of_unknown_number_have_no_end():
    out = Terminal()
    shown = PassProgress(out, after=0.0)
    shown.reading(Reading(1, 3_000_000, None, None, 2.0, False, ""))
    shown._bar.refresh()
    told = out.getvalue()
    shown.close()
    assert "3,000,000 rows, 1,500,000 rows/s" in told and "more" not in told


def test_sizes():
    assert [sized(n) for n in (12, 1500, 15e6, 1.26e9, 3e12)] == [
        "12 bytes",
        "1.5 kB",
        "15 MB",
        "1.3 GB",
        "3 TB",
    ]


def test_a_verbose_fit_tells_of_its_passes(capsys, monkeypatch):
    monkeypatch.setattr(PassProgress.__init__, "__kwdefaults__", {"after": 0.0})

    def rows():
        for seed in range(4):
            X = np.random.default_rng(seed).normal(size=(3000, 2))
            yield X, X[:, 0] + 0.5 * np.random.default_rng(9 + seed).normal(size=3000) > 0

    data = linsep.data.stream(rows, memory="8MB")
    data.memory = 1  # not a table
    linsep.LinearSVM(tol=1e-3, verbose=1).fit(data)
    told = capsys.readouterr().err
    assert "a first look" in told and "the proof" in told and "goal 0.09 %" in told
    assert data.watch is None
