"""Machine code of other versions is removed when nobody has used it for months, and only that."""

from __future__ import annotations

import os
import time

import pytest

from linsep.core import compile

OLD = time.time() - 200 * 86400


@pytest.fixture
def place(tmp_path):
    for name in ("0123456789abcdef", "fedcba9876543210", "aaaaaaaaaaaaaaaa", "ours", "0123"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "inner" / "code.nbi").write_bytes(b"x")
    (tmp_path / "0123456789abcde0").write_bytes(b"a file")
    return tmp_path


def test_only_old_folders_with_names_like_ours_go(place):
    for path in place.iterdir():
        os.utime(path, (OLD, OLD))
    os.utime(place / "fedcba9876543210")
    compile._sweep(place, "aaaaaaaaaaaaaaaa")
    left = sorted(path.name for path in place.iterdir())
    assert left == ["0123", "0123456789abcde0", "aaaaaaaaaaaaaaaa", "fedcba9876543210", "ours"]
    assert time.time() - (place / "aaaaaaaaaaaaaaaa").stat().st_mtime < 3600  # used today


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_neither_followed_nor_removed(place, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "precious").write_bytes(b"x")
    (place / "bbbbbbbbbbbbbbbb").symlink_to(other)
    (place / "0123456789abcdef" / "out").symlink_to(other)
    os.utime(place / "bbbbbbbbbbbbbbbb", (OLD, OLD), follow_symlinks=False)
    os.utime(place / "0123456789abcdef", (OLD, OLD))
    os.utime(other, (OLD, OLD))
    compile._sweep(place, "aaaaaaaaaaaaaaaa")
    assert (other / "precious").exists()
    assert (place / "bbbbbbbbbbbbbbbb").is_symlink()
    assert not (place / "0123456789abcdef").exists()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="gives files away")
def test_what_is_another_users_stays(place):
    os.chown(place / "0123456789abcdef", 12345, 12345)
    os.utime(place / "0123456789abcdef", (OLD, OLD))
    compile._sweep(place, "aaaaaaaaaaaaaaaa")
    assert (place / "0123456789abcdef").exists()


def test_a_clock_that_jumps_back_removes_nothing(place, monkeypatch):
    monkeypatch.setattr(compile.time, "time", lambda: 0.0)
    compile._sweep(place, "aaaaaaaaaaaaaaaa")
    assert (place / "0123456789abcdef").exists()
