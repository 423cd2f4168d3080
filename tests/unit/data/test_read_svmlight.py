"""svmlight text: the plain and the compiled reader agree with each other and with float()."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linsep.data import fast, read, write_svmlight
from linsep.errors import DataError, LabelError, LinsepError

BOTH = pytest.mark.parametrize("small", [1 << 20, -1], ids=["plain", "compiled"])
QUICK = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(content: str | bytes, name: str = "t.svm") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def error_of(path: Path, **options: Any) -> str:
    with pytest.raises(LinsepError) as caught:
        read(path, **options)
    return str(caught.value).replace(str(path), path.name)


TEXT = "# made by hand\n+1 1:.5 3:-2e-1 # first\n-1\n\n-1 qid:7 2:1 \r\n+1\t1:1\t3:0\n"


@BOTH
def test_svmlight_comments_blank_lines_empty_rows_and_queries(
    put: Any, monkeypatch: Any, small: int
) -> None:
    monkeypatch.setattr(fast, "pays", lambda size, cold=0: size > small)
    table = read(put(TEXT))
    assert table.X.toarray().tolist() == [[0.5, 0, -0.2], [0, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert table.y.tolist() == [1, -1, -1, 1]
    assert table.y.dtype == np.int64
    assert table.X.nnz == 5  # a zero that is written is kept
    assert table.X.indices.dtype == np.int32
    assert table.feature_names is None


@BOTH
def test_svmlight_index_zero_means_counting_from_zero(
    put: Any, monkeypatch: Any, small: int
) -> None:
    monkeypatch.setattr(fast, "pays", lambda size, cold=0: size > small)
    table = read(put("1 0:5 2:6\n2 1:7\n"))
    assert table.X.toarray().tolist() == [[5, 0, 6], [0, 7, 0]]
    assert table.notes == "indices count from 0: index 0 is used"


@BOTH
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["-1.0", "+1"], [-1, 1]),
        (["0.5", "1"], [0.5, 1.0]),
        (["spam", "ham"], ["spam", "ham"]),
        (["9007199254740993", "1"], [2**53 + 1, 1]),
    ],
)
def test_svmlight_labels_keep_their_kind(
    put: Any, monkeypatch: Any, small: int, labels: list[str], expected: list[Any]
) -> None:
    monkeypatch.setattr(fast, "pays", lambda size, cold=0: size > small)
    table = read(put("".join(f"{label} 1:1\n" for label in labels)))
    assert table.y.tolist() == expected


@BOTH
def test_svmlight_wide_indices_become_int64(put: Any, monkeypatch: Any, small: int) -> None:
    monkeypatch.setattr(fast, "pays", lambda size, cold=0: size > small)
    table = read(put("1 5:1 5000000000:2\n-1 7:1\n"))
    assert table.X.indices.dtype == np.int64
    assert table.X.indices.tolist() == [4, 4_999_999_999, 6]


def test_svmlight_n_features_widens_and_never_cuts(put: Any) -> None:
    path = put("1 1:1\n-1 3:1\n")
    assert read(path).shape == (2, 3)
    assert read(path, n_features=5).shape == (2, 5)
    with pytest.raises(DataError, match="largest feature is number 3 but n_features is 2"):
        read(path, n_features=2)


@pytest.mark.parametrize("name", ["a1a", "a9a.t", "t.txt", "t.libsvm", "t.data"])
def test_svmlight_is_recognised_by_content(put: Any, name: str) -> None:
    assert read(put("-1 \n-1 3:1 11:1 \n+1 2:1\n", name)).shape == (3, 11)


def test_table_with_colons_is_no_svmlight(put: Any) -> None:
    with pytest.raises(DataError, match="column 'time' holds text, here '12:30'"):
        read(put("time,y\n12:30,0\n12:31,1\n12:32,0\n", "t.txt"))


@BOTH
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 7:1 9:1 7:2", "2:11: index 7 after index 9; rows need increasing indices."),
        ("1 7:1 7:2", "2:7: index 7 after index 7; rows need increasing indices."),
        ("1 7:1 x", "2:7: 'x' is not index:value, for example 3:0.5."),
        ("1 -7:1", "2:3: '-7:1' is not index:value, for example 3:0.5."),
        ("1 7:", "2:3: the value '' is not a finite number."),
        ("1 7:nan", "2:3: the value 'nan' is not a finite number."),
        ("1 7:inf", "2:3: the value 'inf' is not a finite number."),
        ("1 7:1e400", "2:3: the value '1e400' does not fit in a double."),
        ("1 7:1_0", "2:3: the value '1_0' is not a finite number."),
        ("1 7:1e", "2:3: the value '1e' is not a finite number."),
        ("1 7:0x1", "2:3: the value '0x1' is not a finite number."),
        ("1 7:1.2.3", "2:3: the value '1.2.3' is not a finite number."),
        ("1 3:1:2", "2:3: the value '1:2' is not a finite number."),
        ("7:1", "2:1: '7:1' where the label is due; begin with a label."),
        ("1,2 7:1", "2:1: several labels '1,2'; linsep takes one a row."),
        ("nan 7:1", "2:1: no label ('nan'); give one, or delete the row."),
    ],
)
def test_svmlight_bad_line_names_line_and_column(
    put: Any, monkeypatch: Any, small: int, line: str, expected: str
) -> None:
    monkeypatch.setattr(fast, "pays", lambda size, cold=0: size > small)
    assert error_of(put(f"1 1:1\n{line}\n-1 2:1\n")) == f"t.svm:{expected}"


@pytest.mark.parametrize(
    ("content", "start"),
    [
        (b"", "t.svm:1:1: the file is empty"),
        (b"# nothing\n", "t.svm:1:1: there is no row, only comments"),
        (b"1 1:caf\xe9\n", "t.svm:1:8: byte 0xe9 is not UTF-8"),
        (b"1 1:1\x002:1\n", "t.svm:1:1: this is not text"),
    ],
)
def test_svmlight_hostile_file_gives_a_plain_error(put: Any, content: bytes, start: str) -> None:
    assert error_of(put(content)).startswith(start)


# -- two readers, one answer ----------------------------------------------------------------------

DECIMAL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map(lambda v: f"{v:.6f}"),
    # integers that are no doubles are refused, which has tests of its own
    st.integers(-(10**25), 10**25).map(lambda v: f"{v}." if int(float(v)) != v else str(v)),
    st.from_regex(r"[+-]?[0-9]{0,25}\.[0-9]{1,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(
        ["-0", "0e5", "00012", "1e22", "1e23", "9007199254740993.", "5e-324", "1e-400"]
    ),
)


@QUICK
@given(st.lists(DECIMAL, min_size=1, max_size=30))
def test_svmlight_decimals_are_rounded_as_float_does(tmp_path: Path, numbers: list[str]) -> None:
    path = tmp_path / "t.svm"
    path.write_text("".join(f"1 1:{number}\n" for number in numbers))
    expected = np.array([float(number) for number in numbers])
    with pytest.MonkeyPatch.context() as patch:
        for small, chunk in ((1 << 20, 3), (-1, 3), (-1, 1 << 20)):
            patch.setattr(fast, "pays", lambda size, cold=0, small=small: size > small)
            patch.setattr(fast, "AT_ONCE", chunk)
            if np.isfinite(expected).all():
                assert read(path).X.data.tobytes() == expected.tobytes()
            else:
                first = int(np.flatnonzero(np.isinf(expected))[0]) + 1
                assert error_of(path).startswith(f"t.svm:{first}:3: the value")


PIECES = st.sampled_from(
    [
        "1",
        "-1",
        " ",
        " ",
        " ",
        "\n",
        "\n",
        "1:2",
        "2:.5",
        "3:1e3",
        "0:1",
        "qid:3",
        "#",
        "\r",
        "\t",
        ":",
        "x",
        ",",
        "9:1e400",
        "7:12345678901234567890",
        "+",
        "4:",
        "é",
        "5:-0",
    ]
)


@QUICK
@given(st.lists(PIECES, max_size=40).map("".join))
def test_svmlight_readers_agree_on_results_and_errors(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.svm"
    path.write_bytes(text.encode())

    def outcome() -> Any:
        try:
            table = read(path)
        except LinsepError as error:
            return type(error), str(error)
        X = table.X
        parts = (X.data.tobytes(), X.indices.tolist(), X.indptr.tolist(), X.shape, table.notes)
        return parts, table.y.tolist(), table.y.dtype

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "pays", lambda size, cold=0: False)
        plain = outcome()
        patch.setattr(fast, "pays", lambda size, cold=0: True)
        assert outcome() == plain


@QUICK
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([-1, 1]),
            st.dictionaries(
                st.integers(0, 40), st.floats(allow_nan=False, allow_infinity=False), max_size=6
            ),
        ),
        min_size=1,
        max_size=12,
    ),
    zero_based=st.booleans(),
)
def test_svmlight_round_trip(tmp_path: Path, rows: Any, zero_based: bool) -> None:
    X = np.zeros((len(rows), 41))
    for i, (_, entries) in enumerate(rows):
        for j, value in entries.items():
            X[i, j] = value
    X[0, 0] = 1.0  # otherwise a file that counts from 0 cannot be told from one that does not
    path = tmp_path / "t.svm"
    write_svmlight(path, X, [label for label, _ in rows], zero_based=zero_based)
    with pytest.MonkeyPatch.context() as patch:
        for small in (1 << 20, -1):
            patch.setattr(fast, "pays", lambda size, cold=0, small=small: size > small)
            table = read(path, n_features=41)
            assert (table.X.toarray() == X).all()
            assert table.y.tolist() == [label for label, _ in rows]


@pytest.mark.numba  # the parser of bytes, letter by letter in Python, takes minutes
def test_svmlight_agrees_with_scikit_learn_on_a_larger_file(tmp_path: Path) -> None:
    import numba  # noqa: F401  # from when on the compiled parser pays for a file of this size
    from sklearn.datasets import load_svmlight_file

    pytest.importorskip("numba")  # once it is there, files of this size are read by its code
    rng = np.random.default_rng(0)
    X = np.where(rng.random((3000, 60)) < 0.3, rng.normal(size=(3000, 60)), 0.0)
    path = tmp_path / "t.svm"
    write_svmlight(path, X, rng.integers(1, 4, 3000))
    assert fast.pays(path.stat().st_size)
    theirs, labels = load_svmlight_file(str(path))
    ours = read(path)
    assert (theirs != ours.X).nnz == 0
    assert (ours.X.toarray() == X).all()
    assert (ours.y == labels).all()


def test_write_svmlight_refuses_what_cannot_be_read_back(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="NaN or infinity"):
        write_svmlight(tmp_path / "t.svm", [[np.nan]], [1])
    with pytest.raises(LabelError, match="'a b' cannot be written"):
        write_svmlight(tmp_path / "t.svm", [[1.0]], ["a b"])
    with pytest.raises(LabelError, match="2 labels but X has 1 row"):
        write_svmlight(tmp_path / "t.svm", [[1.0]], [1, 2])
    assert list(tmp_path.iterdir()) == []


@BOTH
def test_queries_and_costs_are_kept_and_told(put: Any, monkeypatch: Any, small: int) -> None:
    monkeypatch.setattr(fast, "pays", lambda size, cold=0: size > small)
    table = read(put("# qid:9\n+1 qid:7 1:.5\n-1 2:1 # qid:8\n\n+1\tqid:03\t1:1\n-1 qid:12\n"))
    assert table.groups is not None and table.groups.tolist() == [7, 0, 3, 12]
    assert table.sample_weight is None
    assert table.notes == "qid: 4 queries, kept as groups; no fit looks at them"
    table = read(put("1 cost:2.5 qid:1 1:1\n-1 qid:1 cost:.5 2:1\n-1 3:1\n"))
    assert table.sample_weight is not None and table.sample_weight.tolist() == [2.5, 0.5, 1.0]
    assert table.groups is not None and table.groups.tolist() == [1, 1, 0]
    assert table.X.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert "sample_weight" in table.notes and "1 query" not in table.notes
    bare = read(put("1 1:1\n-1 2:1 # cost:3\n"))
    assert bare.sample_weight is None and bare.groups is None and bare.notes == ""


@BOTH
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 sid:3 1:1", "2:3: 'sid:3' names a slack that rows share"),
        ("1 1:1 qid:3", "2:7: 'qid:3' stands behind a feature"),
        ("1 1:1 cost:3", "2:7: 'cost:3' stands behind a feature"),
        ("1 qid:3 qid:4 1:1", "2:9: 'qid:4' is given twice"),
        ("1 cost:3 cost:4 1:1", "2:10: 'cost:4' is given twice"),
        ("1 qid:-3 1:1", "2:3: 'qid:-3' is no whole number >= 0"),
        ("1 qid:99999999999999999999 1:1", "is no whole number >= 0 of at most 13 digits"),
        ("1 cost:-1 1:1", "2:3: 'cost:-1' is no finite number >= 0"),
        ("1 cost:nan 1:1", "2:3: 'cost:nan' is no finite number >= 0"),
        ("1 cost:1e999 1:1", "2:3: 'cost:1e999' is no finite number >= 0"),
        ("1 cost: 1:1", "2:3: 'cost:' is no finite number >= 0"),
    ],
)
def test_queries_and_costs_that_are_wrong(
    put: Any, monkeypatch: Any, small: int, line: str, expected: str
) -> None:
    monkeypatch.setattr(fast, "pays", lambda size, cold=0: size > small)
    assert expected in error_of(put(f"-1 1:1\n{line}\n"))


def test_queries_and_costs_are_written(tmp_path: Path) -> None:
    path, X, y = tmp_path / "t.svm", np.eye(3), np.array([1, -1, 1])
    write_svmlight(path, X, y, sample_weight=[0.1, 2.0, 0.0], groups=[4, 4, 5])
    assert path.read_text().splitlines()[0] == "1 qid:4 cost:0.1 1:1.0"
    table = read(path)
    assert table.sample_weight is not None and table.sample_weight.tolist() == [0.1, 2.0, 0.0]
    assert table.groups is not None and table.groups.tolist() == [4, 4, 5]
    with pytest.raises(DataError, match="groups must be whole numbers"):
        write_svmlight(path, X, y, groups=[0.5, 1, 2])
    with pytest.raises(LinsepError):
        write_svmlight(path, X, y, sample_weight=[1.0, 2.0])


def test_costs_are_weights_of_linsep_fit_and_verify(put: Any, tmp_path: Path, capsys: Any) -> None:
    import json

    import linsep
    from linsep.cli.main import main

    rows, y, cost = [[0.0], [1.0], [2.0], [1.5]], [-1, -1, 1, -1], [1.0, 1.0, 0.25, 3.0]
    text = "".join(f"{k} cost:{c} 1:{x[0]}\n" for k, c, x in zip(y, cost, rows))
    path, model = str(put(text, "w.svm")), str(tmp_path / "m.json")
    assert main(["fit", path, "-a", "linear-svm", "-q", "-o", model, "--json"]) == 0
    out = capsys.readouterr()
    wanted = linsep.LinearSVM().fit(np.array(rows), y, cost)
    assert json.loads(out.out)["coef"] == pytest.approx(wanted.coef_, abs=1e-6)
    assert "sample_weight" in out.err
    assert main(["verify", model, path]) == 0
    light = str(tmp_path / "m.dat")
    assert main(["convert", model, light, "--format", "svmlight"]) == 0
    assert main(["verify", light, path, "--C", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["objective"] == pytest.approx(wanted.certificate_.objective, rel=1e-6)
