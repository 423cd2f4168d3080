"""Damaged and forged files: no crash, no hang, no error but linsep's; see tests/fuzz.py."""

from __future__ import annotations

import sys

import pytest
from tests.fuzz import FORMATS, SLOW, fuzz


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of memory and time")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_read_or_refused(kind):
    if kind in ("arrow", "binary-stream", "text-stream", "upload"):
        pytest.importorskip("pyarrow")
    assert fuzz(kind, seed=20, count=120 // SLOW.get(kind, 1)) == []
