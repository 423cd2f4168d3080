"""What cannot be read is refused in words, at once, and before it fills the memory."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

import linsep
from linsep.core import validate
from linsep.core.boundary import boundary
from linsep.core.sources import fetch
from linsep.errors import DataError, FormatError, LabelError, LinsepError, ModelError, SettingError

posix = pytest.mark.skipif(os.name != "posix", reason="links and pipes of Unix")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_bomb_is_refused_before_it_is_unpacked(pack, tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(pack(bytes(30_000_000)))
    assert linsep.core.sources.budget(1000) == 1 << 28
    monkeypatch.setenv("LINSEP_UNPACK_MB", "4")
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"unpack to more than 4,000,000.*LINSEP_UNPACK_MB"):
            fetch(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    monkeypatch.setenv("LINSEP_UNPACK_MB", "40")
    assert len(fetch(path)) == 30_000_000
    monkeypatch.setenv("LINSEP_UNPACK_MB", "lots")
    with pytest.raises(SettingError, match="LINSEP_UNPACK_MB is 'lots'"):
        fetch(path)


def test_a_member_that_says_more_than_it_holds_is_refused(tmp_path, monkeypatch):
    head = io.BytesIO()
    table = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(head, table)
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(64))
    with pytest.raises(FormatError, match=r"t\.npz.*an array of shape \(1099511627776,\)"):
        linsep.data.read(path)
    monkeypatch.setenv("LINSEP_UNPACK_MB", "1")
    np.savez_compressed(path, X=np.zeros((1000, 1000)), y=np.arange(1000) % 2)
    with pytest.raises(FormatError, match="unpack to more than 1,000,000"):
        linsep.data.read(path)


@posix
@pytest.mark.parametrize("ending", [".csv", ".json", ".model", ".npz"])
def test_pipes_loops_folders_and_devices_are_refused(ending, tmp_path):
    pipe, loop, folder = (tmp_path / f"{name}{ending}" for name in ("pipe", "loop", "folder"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    folder.mkdir()
    read = linsep.load if ending in (".json", ".model") else linsep.data.read
    for path in (pipe, loop, folder, "/dev/zero", tmp_path / ("x" * 300), "a\0b"):
        if str(path) == "/dev/zero" and read is linsep.load:
            continue  # its ending says enough
        with pytest.raises(LinsepError) as caught:
            read(path)
        assert len(str(caught.value)) < 1000


@posix
def test_a_pipe_with_a_writer_is_read(tmp_path):
    command = f"{sys.executable} -c \"import linsep; print(linsep.data.read('/dev/stdin').shape)\""
    rows = b"1,2,0\n3,4,1\n" * 20_000
    done = subprocess.run(command, shell=True, input=rows, capture_output=True, check=True)
    assert done.stdout.strip() == b"(40000, 2)"


def test_any_error_inside_becomes_one_with_the_file():
    for cause in (MemoryError(), RecursionError(), KeyError("a"), zipfile.BadZipFile("no")):
        net = boundary("m.json", ModelError, "no model", "save it again")
        with pytest.raises(ModelError, match=r"^m\.json: .*; save it again\.$"), net:
            raise cause
    with pytest.raises(KeyboardInterrupt), boundary("m", ModelError, "", ""):
        raise KeyboardInterrupt


@pytest.mark.parametrize("index", [2**40, 2**63, 2**64, 10**400])
def test_features_beyond_any_number_are_refused(index, tmp_path):
    path = tmp_path / "t.svm"
    path.write_text(f"1 1:1 {index}:2\n-1 7:1\n")
    with pytest.raises(FormatError, match=r"t\.svm:1:7: the index .* is too large"):
        linsep.data.read(path)


def test_a_table_too_wide_for_weights_is_refused(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text(f"1 1:1 {2**39}:2\n-1 7:1\n")
    table = linsep.data.read(path)
    with pytest.raises(DataError, match="549755813888 columns, whose weights alone take 4096 GB"):
        linsep.LinearSVM().fit(table.X, table.y)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_labels_that_are_measurements_are_refused(monkeypatch):
    monkeypatch.setattr(validate, "total_memory", lambda: 4 * 10**8)
    n = 4000
    X, y = np.zeros((n, 1), np.float32), np.arange(n)
    for model in (linsep.Perceptron(), linsep.LogisticRegression(), linsep.OneVsRest()):
        with pytest.raises(LabelError, match="y has 4000 classes in 4000 rows, and their scores"):
            model.fit(X, y)
    y = np.arange(n) % 400  # of which there are 79 800 pairs
    for model in (linsep.KernelSVM(), linsep.OneVsOne()):
        with pytest.raises(LabelError, match=r"79800 pairs .* OneVsRest has fewer machines"):
            model.fit(X, y)


def test_a_wide_table_costs_no_more_for_a_cell_than_a_tall_one(tmp_path):
    path = tmp_path / "wide.csv"
    width = 6000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, width)).round(4)
    path.write_text(
        "\n".join(",".join([*map(repr, row.tolist()), str(k % 2)]) for k, row in enumerate(X))
    )
    table = linsep.data.read(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == [0, 1, 0]
    # no object for each of the columns: that is what made wide files slow
    tracemalloc.start()
    linsep.data.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * width


def test_arrow_types_and_offsets_are_checked_before_anything_is_computed(tmp_path):
    pa = pytest.importorskip("pyarrow")
    good = pa.table({"a": [1.0, 2.0], "t": ["x", "yy"], "y": [0, 1]})
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, good.schema) as writer:
        writer.write_table(good)
    data = bytearray(sink.getvalue())
    at = data.index(np.array([0, 1, 3], np.int32).tobytes())  # offsets of the texts
    data[at + 4 : at + 8] = np.array([1 << 30], np.int32).tobytes()
    path = tmp_path / "t.arrow"
    path.write_bytes(bytes(data))
    with pytest.raises(FormatError, match=r"t\.arrow: the file cannot be read"):
        linsep.data.read(path)


@pytest.mark.parametrize("letter", [r"\\ud800", r"\\udfff\\ud800"])
def test_halves_of_characters_are_refused_in_every_json(letter):
    from linsep.core.schema import from_json

    text = f'{{"name": "{letter}"}}'.replace("\\\\", "\\")
    for data in (text, text.encode()):
        with pytest.raises(ValueError, match="surrogates"):
            from_json(data)
    assert from_json('"\\ud83d\\ude00"') == "\U0001f600"


def test_a_name_too_long_for_the_system_is_refused_in_words():
    from linsep.core.checkpoint import _read
    from linsep.errors import CheckpointError

    with pytest.raises(CheckpointError, match="File name too long"):
        _read("a" * 5000 + ".npz")


def test_a_table_of_columns_has_no_million_of_them(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("1," * 100_000 + "yes\n" + "2," * 100_000 + "no\n")
    with pytest.raises(DataError, match=r"wide.csv has 100001 columns.*linsep.data.read reads it"):
        linsep.tables.read(path)


def test_a_label_of_a_million_letters_is_refused(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("a 1:1\n" + "b" * 1_000_000 + " 1:2\n")
    table = linsep.data.read(path)
    for rows in ((table.X, table.y), (linsep.data.stream(str(path)), None)):
        with pytest.raises(LabelError, match="a label of 1000000 letters at row 1; the names of"):
            linsep.LogisticRegression().fit(*rows)


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".svm", "1,{} 1:2"),
        (".svm", "1:{} 2:2"),
        (".csv", "a,{},y\n1,q,0\n3,4,1"),
        (".csv", "a,b,y\n1,{},0\n3,4,1"),
        (".json", '{{"format": "{}"}}'),
    ],
)
def test_a_message_quotes_some_of_a_long_cell(ending, text, tmp_path):
    path = tmp_path / f"long{ending}"
    path.write_text(text.format("x" * 10**6) + "\n")
    read = linsep.load if ending == ".json" else linsep.data.read
    with pytest.raises(linsep.errors.LinsepError) as caught:
        read(path)
    assert 20 < len(str(caught.value)) < 600
