"""Small Arrow and Parquet files that become large ones are refused before they do."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest

import linsep
from linsep.data.arrow_sizes import buffer_sizes, page_sizes, row_groups
from linsep.errors import FormatError

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")
N = 1_000_000
POOLS = []  # kept: what was allocated in a pool may live longer than the test


def zeros():
    return pa.table({"x": np.zeros(N), "y": np.zeros(N, dtype=np.int8)})


def repeated():
    """A long text that stands once, for every row."""
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), ["w" * 100_000])
    return pa.table({"t": words, "x": np.arange(1000.0)})


def packed(table, kind):
    sink = io.BytesIO()
    form, _, how = kind.partition(" ")
    if form == "feather":
        feather.write_feather(table, sink, compression=how, chunksize=N)
    elif form == "stream":
        options = pa.ipc.IpcWriteOptions(compression=how)
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
    else:
        runs = how == "runs"
        parquet.write_table(table, sink, compression="zstd" if runs else how, use_dictionary=runs)
    return sink.getvalue()


KINDS = ["feather zstd", "feather lz4", "stream zstd", "parquet zstd", "parquet snappy"]


@pytest.mark.parametrize("kind", [*KINDS, "parquet runs"])
def test_what_would_unpack_to_more_than_the_budget_is_not_unpacked(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("LINSEP_UNPACK_MB", "4")
    before = pa.total_allocated_bytes()
    peak = []
    for table in (zeros(), repeated()):
        path = tmp_path / "small.bin"
        ending = ".parquet" if "parquet" in kind else ".arrow"
        path = path.with_suffix(ending)
        path.write_bytes(packed(table, kind))
        del table
        pool = pa.proxy_memory_pool(pa.default_memory_pool())  # counts what is asked for from now
        POOLS.append(pool)
        old = pa.default_memory_pool()
        pa.set_memory_pool(pool)
        try:
            with pytest.raises(FormatError, match=r"unpack to more than 4,000,000"):
                linsep.data.read(path)
        finally:
            pa.set_memory_pool(old)
        peak.append(pool.max_memory())
    assert peak[0] < 2_000_000
    assert pa.total_allocated_bytes() <= before + 2_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_the_sizes_are_those_of_the_columns(kind):
    rng = np.random.default_rng(0)
    table = pa.table(
        {"x": rng.integers(0, 9, 30_000).astype(float), "y": rng.integers(0, 2, 30_000)}
    )
    data = packed(table, kind)
    if "parquet" in kind:
        head = parquet.read_metadata(pa.BufferReader(data))
        for j in range(2):
            chunk = head.row_group(0).column(j)
            own = row_groups(data)[0].chunks[j]
            assert own.values == chunk.num_values and own.size == chunk.total_compressed_size
            pages = sum(page_sizes(data, own))
            assert 0.9 * 240_000 < pages <= chunk.total_uncompressed_size
    else:
        found = [size for size in buffer_sizes(data[8:] if "feather" in kind else data) if size]
        assert found == [240_000, 240_000]


def test_tables_within_the_budget_are_read_as_ever(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    words = ["no", "yes"] * 25
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": words})
    for kind in [*KINDS, "parquet runs"]:
        path = tmp_path / ("t.parquet" if "parquet" in kind else "t.arrow")
        path.write_bytes(packed(table, kind))
        found = linsep.data.read(path)
        np.testing.assert_array_equal(found.X, X)
        assert found.y.tolist() == words


def test_statistics_that_do_not_fit_their_column_do_not_end_the_process(tmp_path):
    """pyarrow lets an exception of C++ out where a histogram of levels has another length."""
    import subprocess
    import sys

    table = pa.table({"x": np.arange(40.0), "y": np.arange(40) % 2})
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    data = bytearray(sink.getvalue())
    (size,) = struct.unpack_from("<I", data, len(data) - 8)
    begin = len(data) - 8 - size
    path = tmp_path / "a.parquet"
    code = (
        "import sys, linsep\n"
        "for k, line in enumerate(sys.stdin.buffer.read().split(b'--cut--')):\n"
        "    open(sys.argv[1], 'wb').write(line)\n"
        "    try:\n        linsep.data.read(sys.argv[1])\n"
        "    except linsep.errors.LinsepError:\n        pass\n"
        "print('alive')\n"
    )
    spoiled = []
    for at in range(begin, len(data) - 8):
        if data[at] in (0x16, 0x26, 0x36, 0x46):  # heads of lists of one to four long numbers
            for kind in (0x06, 0x16, 0x26, 0x36):
                copy = bytearray(data)
                copy[at] = kind
                spoiled.append(bytes(copy))
    assert spoiled
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(path)],
        input=b"--cut--".join(spoiled), capture_output=True, timeout=100, check=False,
    )  # fmt: skip
    assert found.stdout.strip() == b"alive", found.stderr[-300:]
