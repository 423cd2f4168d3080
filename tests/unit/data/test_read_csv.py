"""Text tables: what is recognised, what is refused and how, and two readers that agree."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import lzma
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linsep
from linsep.data import Table, delimited, fast, load, read
from linsep.data.columns import TextColumnError
from linsep.errors import DataError, FormatError, LabelError, LinsepError

QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


READERS = ("standard", "pyarrow", "compiled", "rows")
ALL = pytest.mark.parametrize("reader", READERS)


def use(patch: Any, reader: str) -> None:
    """Have one of the readers tried first, whatever the size of the file."""
    patch.setattr(delimited, "SMALL", 1 << 30 if reader == "standard" else -1)
    patch.setattr(delimited, "WIDE", 0 if reader == "rows" else 4096)
    patch.setattr(fast, "pays", lambda size, cold=0: reader == "compiled")


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(content: str | bytes, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def error_of(path: Path, **options: Any) -> str:
    with pytest.raises(LinsepError) as caught:
        read(path, **options)
    return str(caught.value).replace(str(path), path.name)


# -- recognition ----------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_header_delimiter_and_line_ends_are_found(
    put: Any, monkeypatch: Any, reader: str, delimiter: str, end: str
) -> None:
    use(monkeypatch, reader)
    rows = ["a,b,grade", "1,2.5,A", "3,-4e1,F", "", "5,.5,A"]
    table = read(put(end.join(rows).replace(",", delimiter)))
    assert table.X.tolist() == [[1, 2.5], [3, -40], [5, 0.5]]
    assert table.y.tolist() == ["A", "F", "A"]
    assert table.feature_names == ("a", "b")
    assert table.notes == "labels: the last column 'grade'"
    assert table.target == "grade"


def test_csv_without_header_has_no_feature_names(put: Any) -> None:
    table = read(put("1,2,0\n3,4,1\n5,6,1\n"))
    assert table.feature_names is None
    assert table.shape == (3, 2)
    assert table.y.dtype == np.int64


def test_csv_blanks_between_cells(put: Any) -> None:
    table = read(put("  1   2.5 0\n\n3  4 1\n", "t.data"))
    assert table.X.tolist() == [[1, 2.5], [3, 4]]


def test_csv_byte_order_mark_and_unicode_names(put: Any) -> None:
    table = read(put("\ufeffhöhe,幅,klasse\n1,2,ja\n3,4,nein\n"))
    assert table.feature_names == ("höhe", "幅")
    assert table.classes == ("ja", "nein")


def test_csv_header_of_column_numbers_is_a_header(put: Any) -> None:
    table = read(put("0,1,2\n0,4.5,2.5\n1,3.5,4.5\n0,9.5,7.5\n1,1.5,1.5\n"))
    assert table.shape == (4, 2)
    assert "taken for a header" in table.notes
    assert read(put("0,1,2\n0,4,2\n1,3,2\n")).shape == (3, 2)


def test_csv_header_option_overrules(put: Any) -> None:
    path = put("1990,1991,y\n1,2,0\n3,4,1\n")
    assert read(path, header=True).feature_names == ("1990", "1991")
    assert "header=True" in error_of(put("x,2,3,0\n1,2,4,1\n2,3,5,0\n"))


def test_csv_target_by_name_by_number_by_title_and_by_first_column(put: Any) -> None:
    path = put("a,b,c\n1,2,0\n3,4,1\n")
    assert read(path, target="a").feature_names == ("b", "c")
    assert read(path, target=0).target == "a"
    assert read(path, target="1").target == "b"
    assert read(path, target=-1).target == "c"
    assert read(put("Label,b,c\n1,2,0\n3,4,1\n", "l.csv")).target == "Label"
    first = read(put("0,.5,1.5\n1,.25,2.5\n0,.75,3.5\n1,.1,9.5\n", "f.csv"))
    assert first.y.tolist() == [0, 1, 0, 1]
    assert "first column" in first.notes
    assert read(path, target=False).shape == (2, 3)
    assert read(path, target=False).y.size == 0


def test_csv_no_label_column_is_said(put: Any) -> None:
    assert error_of(put("a,b\n.5,1.5\n.25,2.5\n.75,3.5\n")).startswith(
        "t.csv: no column looks like labels"
    )
    assert "did you mean 'grade'?" in error_of(put("a,grade\n1,2\n"), target="grdae")
    assert "there are 2 columns" in error_of(put("a,grade\n1,2\n"), target=7)


def test_csv_row_names_of_pandas_r_and_people(put: Any) -> None:
    pandas = read(put(",a,y\n0,1.5,A\n1,2.5,F\n"))
    assert pandas.row_names == ("0", "1")
    assert pandas.feature_names == ("a",)
    r = read(put('"a" "y"\n"Jane" 1.5 "A"\n"Bob" 2.5 "F"\n'.replace(" ", ",")))
    assert r.row_names == ("Jane", "Bob")
    people = read(put("name,a,y\nJane,1,A\nBob,2,F\n"))
    assert people.row_names == ("Jane", "Bob")
    assert people.frame().loc["Bob", "a"] == 2
    assert read(put("a,who,y\n1,Jane,A\n2,Bob,F\n"), names="who").row_names == ("Jane", "Bob")


def test_csv_repeated_titles_are_told_apart(put: Any) -> None:
    assert read(put("a,a,y\n1,2,0\n3,4,1\n")).feature_names == ("a", "a.2")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["+1", "-1.0"], [1, -1]),
        (["0.5", "1"], [0.5, 1.0]),
        (["yes", "1"], ["yes", "1"]),
        (["99999999999999999990", "99999999999999999991"], None),
        (["9007199254740993", "9007199254740992"], [2**53 + 1, 2**53]),
    ],
)
def test_csv_labels_keep_their_kind(put: Any, labels: list[str], expected: Any) -> None:
    table = read(put("".join(f"1.5,{label}\n" for label in labels)), target=1)
    assert table.y.tolist() == (labels if expected is None else expected)
    assert len(table.classes) == 2


def test_positive_class_is_recoded(put: Any) -> None:
    path = put("a,y\n1,A\n2,F\n3,B\n")
    table = read(path, positive="A")
    assert table.y.tolist() == [1, -1, -1]
    assert table.classes == ("rest", "A")
    assert "+1 is 'A', -1 is 'rest'" in table.notes
    numbers = put("1.5,1\n2.5,2\n", "numbers.csv")
    assert read(numbers, positive="1").y.tolist() == [1, -1]
    with pytest.raises(LabelError, match="no row has the label 'C'; the labels are 'A', 'B', 'F'"):
        read(path, positive="C")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files_are_unpacked_whatever_their_name(put: Any, pack: Any) -> None:
    assert read(put(pack(b"1.5,0\n2.5,1\n"), "odd")).shape == (2, 1)


# -- text and missing values ----------------------------------------------------------------------


@ALL
def test_csv_text_columns_are_refused_by_name(put: Any, monkeypatch: Any, reader: str) -> None:
    use(monkeypatch, reader)
    message = error_of(put("a,color,size,y\n1,red,big,0\n2,blue,small,1\n"))
    assert message.startswith("t.csv:2:2: 2 columns ('color', 'size') hold text, here 'red'")
    assert "linsep.tables.Tabular trains on them" in message


@ALL
@pytest.mark.parametrize("blank", ["", "?", "NA", "nan", " "])
def test_csv_missing_value_names_line_and_column(
    put: Any, monkeypatch: Any, reader: str, blank: str
) -> None:
    use(monkeypatch, reader)
    path = put(f"a,b,y\n1,2,0\n\n3,{blank},1\n{blank},5,1\n")
    message = error_of(path)
    assert message == (
        f"t.csv:4:2: no value ({blank.strip()!r}) in column 'b', 2 values are missing in all; "
        "fill them in, or leave such rows out with missing='drop'."
    )
    table = read(path, missing="drop")
    assert table.X.tolist() == [[1, 2]]
    assert "2 of 3 rows left out" in table.notes


@ALL
def test_csv_missing_label_is_an_error(put: Any, monkeypatch: Any, reader: str) -> None:
    use(monkeypatch, reader)
    path = put("a,y\n1,A\n2,\n3,F\n")
    assert error_of(path).startswith("t.csv:3:2: no label ('') in column 'y', 1 in all")
    assert read(path, missing="drop").y.tolist() == ["A", "F"]


@ALL
@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("1O", "is not a number"),
        ("1_0", "is not a number"),
        ("0x1f", "is not a number"),
        ("inf", "is not a finite number"),
        ("-Infinity", "is not a finite number"),
        ("1e400", "does not fit in a double"),
        ('"3,5"', "has a decimal comma"),
    ],
)
def test_csv_bad_cell_names_line_column_value_and_way_out(
    put: Any, monkeypatch: Any, reader: str, cell: str, why: str
) -> None:
    use(monkeypatch, reader)
    message = error_of(put(f"a,b,y\n1,2,0\n3,4,1\n3,{cell},1\n4,5,0\n"))
    assert message.startswith(f"t.csv:4:2: {cell.strip(chr(34))!r} in column 'b' {why}")
    assert "correct the cell" in message


# -- hostile files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "start"),
    [
        (b"", "t.csv:1:1: the file is empty"),
        (b"\n \r\n\n", "t.csv:1:1: the file has only blank lines"),
        (b"a,b,y\n", "t.csv:1:1: there is a header but no row below it"),
        (b"a,b,y\n1,2,0\n1,2\n3,4,1\n", "t.csv:3:3: 2 cells where the other rows have 3"),
        (b"a,b,y\n1,2,0\n1,2,3,4\n3,4,1\n", "t.csv:3:4: 4 cells where the other rows have 3"),
        (b"a,y\n1,caf\x81\n", "t.csv:2:1: byte 0x81 is not cp1252"),
        (b"\x7fELF\x00\x00\x00", "t.csv:1:1: this is not text"),
        (b"5\n6\n7\n", "t.csv: there is one column, 'x1'"),
        (
            gzip.compress(b"1,2\n" * 500, mtime=0)[:-20],
            "t.csv: the gzip data are damaged or cut off",
        ),
        (bz2.compress(b"1,2\n" * 500)[:-20], "t.csv: the bz2 data are damaged or cut off"),
        (b"PAR1nonsense", "t.csv: the file cannot be read"),
        (b"PK\x03\x04nonsense", "t.csv: the npz file cannot be read"),
    ],
)
def test_hostile_file_gives_a_plain_error(put: Any, content: bytes, start: str) -> None:
    assert error_of(put(content)).startswith(start)


@pytest.mark.parametrize(
    ("text", "encoding", "note"),
    [
        ("a,y\n1,café\n2,thé\n", "latin-1", "Windows-1252"),
        ("a,y\n1,café\n2,thé\n", "utf-16", ""),
        ("# of 2024\n#, with marks\n\na,y\n1,café\n2,thé\n", "utf-8", "2 lines before the table"),
        ("sep=;\na;y\n1;café\n2;thé\n", "utf-8", "1 line before the table"),
        ("#a,y\n1,café\n2,thé\n", "utf-8", ""),
    ],
)
def test_encodings_and_lines_before_the_table(
    put: Any, text: str, encoding: str, note: str
) -> None:
    found = read(put(text.encode(encoding)))
    assert found.y.tolist() == ["café", "thé"] and found.X.tolist() == [[1], [2]]
    assert note in found.notes


def test_ragged_row_far_down_is_found_by_both_readers(put: Any) -> None:
    path = put("a,b,y\n" + "1,2,0\n" * 20_000 + "1,2\n" + "1,2,1\n" * 10)
    assert error_of(path).startswith("t.csv:20002:3: 2 cells where the other rows have 3")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["," * 300_000], "t.csv:1:1: '' in column 'x1' is no number"),
        (["1," * 300_000 + "a", "1," * 300_000 + "b", "1,z" + ",1" * 299_999], "t.csv:3:2: 'z'"),
        (["1," * (1 << 24)], "t.csv:1:1: the first line has more than 16777216 cells"),
        (["a," * 300_000, "," * 300_000], "t.csv:2:1: '' in column 'a' is no number"),
        (["a,b,c", "1,2", "3,4", "5,6"], "t.csv:1:3: 3 cells where the other rows have 2"),
    ],
)  # fmt: skip
def test_wide_tables_are_refused_at_once(put: Any, lines: list[str], told: str) -> None:
    path = put("\n".join(lines))
    header = True if lines[0][0] == "a" else None
    start = time.process_time()
    assert error_of(path, header=header, names=False).startswith(told)
    assert time.process_time() - start < 10  # far more than it takes; hours were


def test_wide_tables_are_read_in_little_memory(put: Any) -> None:
    """Names of rows, 20 000 columns of numbers, and labels that are texts."""
    cells = [[f"{i}.{j % 10}" for j in range(20_000)] for i in range(3)]
    titles = ",".join(["", *(f"g{j}" for j in range(20_000)), "kind"])
    rows = [",".join([f"r{i}", *cells[i], "ab"[i % 2]]) for i in range(3)]
    tracemalloc.start()
    table = read(put("\n".join([titles, *rows])))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(table.X, np.array(cells, dtype=float))
    assert table.row_names == ("r0", "r1", "r2") and table.y.tolist() == ["a", "b", "a"]
    assert table.feature_names is not None and table.feature_names[19_999] == "g19999"
    assert peak < 400 * 20_000  # bytes a column; an object for each took 4000


def test_folder_and_missing_path_say_what_to_do(put: Any, tmp_path: Path) -> None:
    put("1,2\n", "grades.csv")
    with pytest.raises(DataError, match=r"is a folder; name a file in it: grades\.csv"):
        read(tmp_path)
    with pytest.raises(DataError, match=r"no such file; did you mean .*grades\.csv\?"):
        read(tmp_path / "grade.csv")
    with pytest.raises(DataError, match=r"there is no folder .* either"):
        read(tmp_path / "nowhere" / "grade.csv")


@QUICK
@given(st.binary(max_size=200))
def test_any_bytes_give_a_table_or_an_error_of_ours(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    with contextlib.suppress(LinsepError):
        assert isinstance(read(path), Table)


# -- two readers, one answer ----------------------------------------------------------------------

NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(repr)
ODD = st.sampled_from(
    [
        "",
        "?",
        "NA",
        "1e400",
        "inf",
        "nan",
        "x",
        "+1",
        ".5",
        "5.",
        " 7 ",
        "1E5",
        "a b",
        'a"b',
        "a,b",
        "0x1",
        "1_0",
        "yes",
        "no",
        "1e-400",
        "ß",
        "1\n2",
        "\t1",
        "12345678901234567890123",
    ]
)
CELLS = st.one_of(NUMBERS, NUMBERS, NUMBERS, ODD)


def outcome(path: Path, reader: str, monkeypatch: Any, **options: Any) -> Any:
    use(monkeypatch, reader)
    try:
        table = read(path, **options)
    except LinsepError as error:
        return type(error), str(error)
    return (
        table.X.tobytes(),
        table.X.shape,
        table.y.dtype.kind,
        table.y.tolist(),
        table.feature_names,
        table.row_names,
        table.notes,
    )


@QUICK
@given(
    rows=st.integers(1, 4).flatmap(
        lambda d: st.lists(st.lists(CELLS, min_size=d + 1, max_size=d + 1), min_size=1, max_size=8)
    ),
    delimiter=st.sampled_from(",;\t"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    header=st.booleans(),
    missing=st.sampled_from(["error", "drop"]),
)
def test_standard_and_arrow_readers_agree_on_results_and_errors(
    tmp_path: Path,
    rows: list[list[str]],
    delimiter: str,
    quoting: Any,
    header: bool,
    missing: str,
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting)
    if header:
        writer.writerow([f"c{j}" for j in range(len(rows[0]))])
    writer.writerows(rows)
    path = tmp_path / "t.csv"
    path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        options = {"missing": missing}
        standard = outcome(path, "standard", patch, **options)
        assert outcome(path, "pyarrow", patch, **options) == standard
        assert outcome(path, "compiled", patch, **options) == standard


@QUICK
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_read_back_to_the_same_bits(tmp_path: Path, numbers: list[float]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(f"{v!r},1\n" for v in numbers))
    with pytest.MonkeyPatch.context() as patch:
        for reader in READERS:
            use(patch, reader)
            X = read(path, target=-1, header=False).X
            assert X[:, 0].tobytes() == np.array(numbers).tobytes()


# -- binary tables --------------------------------------------------------------------------------


def test_parquet_arrow_and_feather_read_as_csv_does(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    columns = {"a": [1, 2], "b": [0.5, -1.5], "y": ["A", "F"]}
    table = pa.table(columns)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    with (
        pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    for name in ("t.parquet", "t.feather", "t.arrow"):
        got = read(tmp_path / name, positive="A")
        assert got.X.tolist() == [[1, 0.5], [2, -1.5]]
        assert got.y.tolist() == [1, -1]
        assert got.feature_names == ("a", "b")
    holes = pa.table({"a": [1, None], "y": ["A", "F"]})
    pyarrow.parquet.write_table(holes, tmp_path / "h.parquet")
    assert error_of(tmp_path / "h.parquet").startswith("h.parquet: row 2, column 1: no value")


def test_npz_dense_and_sparse(tmp_path: Path) -> None:
    from scipy.sparse import csr_array

    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    np.savez(tmp_path / "d.npz", X=X, y=["A", "F"])
    assert read(tmp_path / "d.npz", positive="F").y.tolist() == [-1, 1]
    S = csr_array(X)
    np.savez(
        tmp_path / "s.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=[0, 1]
    )
    assert (read(tmp_path / "s.npz").X.toarray() == X).all()
    np.savez(tmp_path / "o.npz", X=np.array([object()]), y=[0])
    assert "cannot be read" in error_of(tmp_path / "o.npz")
    np.savez(tmp_path / "z.npz", Z=X)
    assert "no array 'X' but Z" in error_of(tmp_path / "z.npz")


# -- integers beyond 2^53 -------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("text", ["9007199254740993", "-9007199254740993", "123456789012345678901"])
def test_an_integer_that_no_double_holds_is_refused_with_its_place(
    put: Any, monkeypatch: Any, reader: str, text: str
) -> None:
    use(monkeypatch, reader)
    path = put(f"a,b,y\n1,2,0\n\n3,{text},1\n")
    message = error_of(path)
    assert message.startswith(f"t.csv:4:2: the integer {text} of column 'b' is no double")
    assert f"write {text}.0" in message


@ALL
@pytest.mark.parametrize(
    "text", ["9007199254740992", "9007199254740993.0", "1e300", "2" + "0" * 20]
)
def test_large_numbers_that_are_meant_are_read(
    put: Any, monkeypatch: Any, reader: str, text: str
) -> None:
    use(monkeypatch, reader)
    assert read(put(f"a,b,y\n1,2,0\n3,{text},1\n")).X[1, 1] == float(text)


def test_labels_and_names_of_rows_may_be_long(put: Any) -> None:
    table = read(put("id,a,y\n9007199254740993,1,a\n9007199254740995,2,b\n"), names="id")
    assert table.row_names == ("9007199254740993", "9007199254740995")
    assert read(put("a,y\n1,9007199254740993\n2,9007199254740992\n1,9007199254740993\n")).classes


def test_svmlight_integers_are_refused_alike(put: Any, monkeypatch: Any) -> None:
    path = put("1 1:2 3:9007199254740993\n-1 1:1\n", "t.svm")
    for compiled in (False, True):
        monkeypatch.setattr(fast, "pays", lambda size, cold=0, on=compiled: on)
        assert error_of(path).startswith("t.svm:1:9: the integer 9007199254740993 is no double")
    assert read(put("1 1:2 3:9007199254740992\n-1 1:1\n", "t.svm")).X.max() == 2.0**53


def test_integers_of_an_arrow_table_are_refused_alike(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1, 2**53 + 1], "y": [0, 1]}), path)
    assert error_of(path).startswith("t.parquet: row 2: the integer 9007199254740993 of column 'a'")


@pytest.mark.parametrize("reader", ["standard", "pyarrow"])
def test_a_decimal_comma_is_named(put: Any, monkeypatch: Any, reader: str) -> None:
    use(monkeypatch, reader)
    message = error_of(put("height;weight;sex\n1,80;80;m\n1,60;55;f\n"))
    assert message == (
        "t.csv:2:1: '1,80' in column 'height' has a decimal comma; write decimal points, here 1.80."
    )


@pytest.mark.parametrize("titles", ["0,1,2,3", "0,1,2,y", "0,1,2,3,label"])
def test_columns_that_pandas_has_numbered_are_titles(tmp_path, titles):
    """Also where one of them has got a name."""
    names = titles.split(",")
    cells = [[*["0.5", "1.5", "7", "2.5"][: len(names) - 1], label] for label in "pqpq"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([titles, *(",".join(row) for row in cells)]) + "\n")
    table = read(path)
    assert table.feature_names == tuple(names[:-1])
    assert table.y.tolist() == list("pqpq")


def test_answers_are_signs_as_the_lecture_codes_them(tmp_path):
    path = tmp_path / "students.csv"
    path.write_text(
        "name,attendance,tall,sleeps,gum,grade\nJane,yes,yes,no,no,A\nSteve,yes,yes,yes,yes,F\n"
        "Mary,no,no,no,yes,F\nPeter,Yes,no,no,yes,A\n",
        encoding="utf-8",
    )
    found = read(path, target="grade", names="name", positive="A")
    students = load("students")
    assert found.X.tolist() == students.X.tolist() and found.y.tolist() == [1, -1, -1, 1]
    assert found.row_names == ("Jane", "Steve", "Mary", "Peter")
    assert "column 'tall': yes is 1, no is -1" in found.notes


# -- which column holds the labels, and which lines are no rows -----------------------------------


def people(tmp_path, head, line, rows=60, foot=""):
    path = tmp_path / "people.csv"
    lines = [line.format(v=i * 7 % 60 / 10, age=18 + i * 11 % 47, bit=i % 2) for i in range(rows)]
    path.write_text("\n".join([*head, *lines]) + "\n" + foot)
    return path


def test_ages_in_the_last_column_are_asked_about_where_another_looks_like_labels(tmp_path):
    path = people(tmp_path, ["v,bought,age"], "{v},{bit},{age}")
    with pytest.raises(DataError, match="'age', has 47 different numbers") as caught:
        read(path)
    assert caught.value.for_shell().endswith("say it with --target bought.")
    assert read(path, target="bought").target == "bought"
    assert read(people(tmp_path, ["survived,v,age"], "{bit},{v},{age}")).target == "survived"


def test_many_codes_of_classes_are_labels(tmp_path):
    path = tmp_path / "letters.csv"
    path.write_text("".join(f"{i / 7},{i % 26 + 1}\n" for i in range(90)))
    assert len(read(path).classes) == 26


@pytest.mark.parametrize("text", ["a,b,y\n\nTotal,3,99\n", "\ty\n\nTotal\t99", "a,y\n,\nSum,1"])
def test_nothing_but_a_total_below_the_titles_is_no_row(tmp_path, text):
    path = tmp_path / "total.txt"
    path.write_text(text)
    for reading in (read, linsep.tables.read):
        with pytest.raises(LinsepError, match=r"total\.txt:1:1: there is a header but no row"):
            reading(path)


def test_a_line_of_units_and_totals_at_the_foot_are_no_rows(tmp_path):
    path = people(
        tmp_path, ["v,age,label", "[km],years,"], "{v},{age},{bit}", foot="Total,9,\n,,\n"
    )
    table = read(path)
    assert table.X.shape == (60, 2) and table.classes == (0, 1)
    assert "[km], years" in table.notes and "'Total'" in table.notes


def test_delimiters_at_the_end_of_each_row_are_no_column(tmp_path):
    path = people(tmp_path, ["v,age,label"], "{v},{age},{bit},")
    assert linsep.tables.read(path).target == "label"
    with pytest.raises(TextColumnError, match="'x4' is empty"):
        read(path)


def test_a_first_column_of_ages_is_no_column_of_labels(tmp_path):
    rows = [f"{18 + 7 * k % 61},{k / 7:.3f},{k / 11:.4f}" for k in range(240)]
    path = tmp_path / "prices.csv"
    path.write_text("age,income,price\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match="no column looks like labels"):
        read(path)


@pytest.mark.parametrize("mark", ["-", ".", "Unknown", "\u2205"])
def test_marks_among_numbers_are_gaps_as_in_a_table_of_columns(tmp_path, mark):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,y\n1,2,p\n{mark},3,q\n4,5,p\n6,7,q\n")
    with pytest.raises(FormatError, match=r":3:1: no value .* in column 'a', the only one"):
        read(path)
    assert read(path, missing="drop").X.tolist() == [[1, 2], [4, 5], [6, 7]]


def test_long_names_that_stand_twice_are_told_shortly(tmp_path):
    path, name = tmp_path / "long.csv", "c" * 3000
    path.write_text(f"{name},{name},y\n1,2,0\n3,4,1\n")
    table = read(path)
    assert table.feature_names == (name, f"{name}.2")
    assert "a second column 'ccc" in table.notes and len(table.notes) < 300
