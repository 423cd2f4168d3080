"""Ranges of columns, and the files of svm-scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler

from linsep.cli.main import main
from linsep.data import Ranges, read
from linsep.errors import DataError, FormatError, LinsepError, SettingError


@given(hnp.arrays(float, (7, 3), elements=st.integers(-40, 40).map(float)))
def test_columns_are_moved_as_scikit_learn_moves_them(X):
    made = Ranges(-2, 3).fit_transform(X)
    expected = MinMaxScaler((-2, 3)).fit_transform(X)
    constant = np.ptp(X, axis=0) == 0
    np.testing.assert_allclose(made[:, ~constant], expected[:, ~constant], atol=1e-9)
    assert (made[:, constant] == 0).all()
    assert (made <= 3).all() and (made >= -2).all()
    np.testing.assert_array_equal(Ranges(-2, 3).fit_transform(sparse.csr_array(X)), made)


@given(hnp.arrays(float, (5, 4), elements=st.floats(-1e300, 1e300)))
def test_a_file_gives_the_same_ranges_back(tmp_path_factory, X):
    path = tmp_path_factory.mktemp("r") / "t.range"
    ranges = Ranges().fit(X)
    ranges.write(path)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(Ranges.read(path, 4).transform(X), ranges.transform(X))


def test_a_file_of_svm_scale(tmp_path):
    """As svm-scale -l 0 -s wrote it; column 2 had one value."""
    path = tmp_path / "t.range"
    path.write_text("x\n0 1\n1 -1 3\n3 2.5 10.5\n")
    ranges = Ranges.read(path, n_features=4)
    made = ranges.transform([[1.0, 7.0, 10.5, 5.0], [5.0, 0.0, 2.5, 0.0]])
    assert made.tolist() == [[0.5, 0.0, 1.0, 0.0], [1.5, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "file is empty"), ("x\n", "begins with x"), ("x\n1\n", "begins with x"),
        ("y\n0 1\n2 3\nx\n0 1\n", "targets of a regression"), ("x\n0 a\n", ":2:1: 'a' is not"),
        ("x\n0 1\n0 1 2\n", ":3:1: a line is"), ("x\n0 1\n1 2\n", ":3:1: a line is"),
        ("x\n0 1\n1 5 2\n", "backwards"), ("x\n0 1\n1 2 3\n1 2 3\n", "twice"),
        ("x\n0 1\n99999999999 2 3\n", ":3:1: a line is"), ("x\n0 1\n1 nan 3\n", "'nan' is not"),
        ("x\n1 0\n", "is empty"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(tmp_path, text, told):
    path = tmp_path / "t.range"
    path.write_text(text)
    with pytest.raises(LinsepError, match=told):
        Ranges.read(path)


def test_other_widths_are_refused(tmp_path):
    ranges = Ranges().fit([[1.0, 2.0], [2.0, 5.0]])
    with pytest.raises(DataError, match="X has 3 columns; the ranges are of 2"):
        ranges.transform(np.ones((1, 3)))
    ranges.write(tmp_path / "t.range")
    with pytest.raises(DataError, match="column 2; the data have 1"):
        Ranges.read(tmp_path / "t.range", 1)
    with pytest.raises(SettingError, match="is empty"):
        Ranges(1, 1).fit([[1.0]])
    with pytest.raises(FormatError):
        Ranges.read(_bytes(tmp_path))


def _bytes(folder):
    path = folder / "b.range"
    path.write_bytes(b"\xff\xfe\x00x")
    return path


def test_the_command_scales_training_and_test_rows_alike(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.svm").write_text("1 1:2 2:5\n-1 1:4 2:1\n1 1:3\n")
    (tmp_path / "test.svm").write_text("1 1:3 2:5\n")
    assert main(["scale", "train.svm", "-o", "train.scale.svm", "-s", "t.range"]) == 0
    assert main(["scale", "test.svm", "-o", "test.scale.svm", "-r", "t.range"]) == 0
    assert "1 row, 2 columns from -1 to 1" in capsys.readouterr().err
    assert main(["scale", "test.svm", "-r", "t.range"]) == 0
    assert capsys.readouterr().out == "1 2:1.0\n"
    assert read("train.scale.svm").X.toarray().tolist() == [[-1, 1], [1, -0.6], [0, -1]]
    assert read("test.scale.svm", n_features=2).X.toarray().tolist() == [[0, 1]]
    assert main(["scale", "test.svm", "-r", "t.range", "-l", "0"]) == 2
