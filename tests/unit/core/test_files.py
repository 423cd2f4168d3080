"""Files are the old one or the whole new one; what is no file is never replaced by one."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import threading

import pytest

from linsep.core.files import atomic_write_bytes, check_writable

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")


@posix
def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path):
    path, found = tmp_path / "pipe", []
    os.mkfifo(path)
    check_writable(path)
    with pytest.raises(OSError, match="nobody reads this pipe"):
        atomic_write_bytes(path, b"words")
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    while not found and reader.is_alive():  # until the reader has opened it
        with contextlib.suppress(OSError):
            atomic_write_bytes(path, b"words" * 100_000)
            break
    reader.join()
    assert found == [b"words" * 100_000]
    assert stat.S_ISFIFO(path.stat().st_mode)


@posix
def test_a_device_is_written_into_and_stays_a_device(tmp_path):
    path = tmp_path / "null"
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.stat("/dev/null").st_rdev)
        path.write_bytes(b"")
    except OSError:
        pytest.skip("no device may be made")
    check_writable(path)
    atomic_write_bytes(path, b"words")
    assert stat.S_ISCHR(path.stat().st_mode)
    assert [p.name for p in tmp_path.iterdir()] == ["null"]


@posix
def test_links_in_a_circle_stay_and_are_an_error(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two)
    two.symlink_to(one)
    for work in (check_writable, lambda path: atomic_write_bytes(path, b"words")):
        with pytest.raises(OSError, match="symbolic links") as caught:
            work(one)
        assert caught.value.errno == errno.ELOOP
    assert one.is_symlink() and two.is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="255 bytes of a name are those of Linux")
def test_a_name_as_long_as_can_be_is_written(tmp_path):
    path = tmp_path / ("é" * 127)
    stale = tmp_path / "stale.part"
    stale.write_bytes(b"")
    check_writable(path)
    atomic_write_bytes(path, b"words")
    atomic_write_bytes(path, b"others")
    assert path.read_bytes() == b"others"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, stale.name])
