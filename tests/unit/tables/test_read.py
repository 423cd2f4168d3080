"""Files of any delimiter, decimal mark and encoding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import linsep
from linsep.errors import DataError, FormatError, SettingError
from linsep.tables import Columns, read

TEXT = "rent;city;let\n950,50;Größe;yes\n1.200,00;Wien;no\n?;Wien;no\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_told_by_the_text(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    frame = read(path)
    assert frame.columns["city"].tolist() == ["Größe", "Wien", "Wien"]
    assert frame.y.tolist() == ["yes", "no", "no"]
    assert any("Windows-1252" in note for note in frame.notes) is (encoding == "cp1252")


def test_an_encoding_can_be_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\nżółw,1\nkot,2\n".encode("iso8859-2"))
    assert read(path, encoding="iso8859-2", target="b").columns["a"].tolist() == ["żółw", "kot"]
    with pytest.raises(SettingError, match="no encoding 'latin-99'"):
        read(path, encoding="latin-99")
    with pytest.raises(FormatError, match=r"t.csv:2:1: byte 0x\w\w is not ascii"):
        read(path, encoding="ascii")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path, delimiter):
    rows = [["a", "b", "y"], ["1.5", "x", "p"], ["2.5", "z", "q"], ["3", "x", "p"]]
    path = tmp_path / "t.txt"
    path.write_text("\n".join(delimiter.join(row) for row in rows) + "\n")
    frame = read(path)
    assert frame.columns["a"].tolist() == [1.5, 2.5, 3]
    assert frame.columns["b"].tolist() == ["x", "z", "x"]
    other = tmp_path / "hash.txt"
    other.write_text("\n".join("#".join(row) for row in rows) + "\n")
    assert read(other, delimiter="#").columns.equals(frame.columns)
    with pytest.raises(SettingError, match="one character"):
        read(other, delimiter="##")


def test_decimal_commas_are_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    columns = Columns(scale=False).fit(read(path).columns)
    np.testing.assert_allclose(columns.transform(read(path).columns)[:2, 0], [950.5, 1200])


def test_parquet_and_csv_are_the_same_table(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None, 2], "b": ["x", "y", None], "y": ["p", "q", "p"]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    one, two = (read(tmp_path / name) for name in ("t.parquet", "t.csv"))
    np.testing.assert_array_equal(
        Columns().fit_transform(one.columns), Columns().fit_transform(two.columns)
    )
    assert one.y.tolist() == two.y.tolist()


def test_rows_keep_their_names_and_positive_recodes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,hours,grade\nJane,9,A\nSteve,1,F\nBob,,F\n")
    frame = read(path, positive="A")
    assert frame.row_names == ("Jane", "Steve", "Bob")
    assert frame.y.tolist() == [1, -1, -1]
    assert frame.target == "grade"


def test_matrices_are_left_to_their_reader(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:0.5 2:1\n-1 1:2\n")
    with pytest.raises(DataError, match=r"linsep.data.read"):
        linsep.tables.read(path)


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_dates_of_parquet_are_dates(tmp_path, ending, zone):
    when = pd.Series(pd.date_range("2024-01-01 05:30", periods=30, freq="37h", tz=zone))
    when[4] = pd.NaT
    day = pd.Series([d.date() if d == d else None for d in when])
    frame = pd.DataFrame({"when": when, "day": day, "y": ["p", "q"] * 15})
    path = tmp_path / f"t.{ending}"
    getattr(frame, f"to_{ending}")(path)
    found = read(path)
    columns = Columns().fit(found.columns)
    assert {name: role.kind for name, role in columns.roles_.items()} == {
        "when": "date", "day": "date",
    }  # fmt: skip
    made, expected = (Columns().fit_transform(f[["when"]]) for f in (found.columns, frame))
    np.testing.assert_allclose(made, expected, atol=1e-9)
    with pytest.raises(DataError, match="neither number nor text"):
        linsep.data.read(path)


def test_commands_with_an_algorithm_take_dates_of_parquet(tmp_path, capsys):
    from linsep.cli.main import main

    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "t": pd.date_range("2024-01-01", periods=4)})
    frame.assign(y=["p", "p", "q", "q"]).to_parquet(tmp_path / "t.parquet")
    assert main(["check", str(tmp_path / "t.parquet")]) == 0
    assert "column 't': a date" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_types_of_arrow_that_are_no_plain_numbers(tmp_path, ending):
    import decimal

    import pyarrow as pa
    import pyarrow.parquet

    n = 30
    seconds = [(61 * k) % 3600 for k in range(n)]
    table = pa.table({
        "price": pa.array([decimal.Decimal(k * k) / 4 if k % 7 else None for k in range(n)]),
        "took": pa.array(seconds, type=pa.duration("ms")),
        "at": pa.array(seconds, type=pa.time32("s")),
        "nothing": pa.nulls(n),
        "raw": pa.array([b"\x00\x01"] * n),
        "y": pa.array(["p", "q"] * (n // 2)),
    })  # fmt: skip
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    found = read(path)
    assert "column 'raw' counts as empty: it holds binary" in found.notes
    columns = Columns(scale=False).fit(found.columns)
    assert {name: role.kind for name, role in columns.roles_.items()} == {
        "price": "number", "took": "number", "at": "number", "nothing": "ignored",
        "raw": "ignored",
    }  # fmt: skip
    assert columns.transform(found.columns)[[1, 29]].tolist() == [
        [0.25, 0.0, 0.061, 61.0],
        [841 / 4, 0.0, seconds[29] / 1000, seconds[29]],
    ]
    lists = table.append_column("list", pa.array([[1, 2]] * n))
    with pa.ipc.new_file(tmp_path / "lists.arrow", lists.schema) as file:
        file.write_table(lists)
    pyarrow.parquet.write_table(lists, tmp_path / "lists.parquet")
    with pytest.raises(DataError, match=r"'list' holds list.*make columns of it"):
        read(tmp_path / f"lists.{ending}")


def test_labels_that_differ_in_case_alone_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,yes\n2,Yes\n3,no\n4,no\n")
    assert "labels 'Yes' and 'yes' differ in case alone and are two" in read(path).notes
    path.write_text("x,y\n1,yes\n2,yes\n3,no\n4,no\n")
    assert not any("case" in note for note in read(path).notes)
