"""Names from files that a terminal would obey are shown, in every text that linsep prints."""

from __future__ import annotations

import warnings

import pytest

import linsep
from linsep.cli.main import main
from linsep.errors import DataError, GapWarning, printable

RED = "\x1b[31mred\x07"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "colours.csv"
    rows = [f"{k % 5},{(k * 7) % 3},{RED if k % 2 else 'b'}" for k in range(20)]
    path.write_text(f"{RED}x,b,class\n" + "\n".join(rows))
    return path


@pytest.mark.parametrize("command", ["check", "fit", "trace"])
def test_the_command_line_prints_no_escape(command, table, tmp_path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main([command, str(table), *(["-a", "linear-svm"] if command == "fit" else [])])
        main([command, str(table), "--target", RED])
        main([command, str(tmp_path / f"no{RED}.csv")])
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    assert "\x07" not in told.out + told.err
    assert "\\x1b[31mred" in told.out + told.err


def test_predictions_and_verdicts_print_no_escape(table, tmp_path, capsys):
    model = tmp_path / "m.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(["fit", str(table), "-a", "linear-svm", "-o", str(model)])
    main(["predict", str(model), str(table)])
    main(["verify", str(model), str(table)])
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    assert "\x1b" not in linsep.load(model).summary()
    assert RED in linsep.load(model).classes_.tolist()  # the label itself stays


def test_errors_and_warnings_show_what_they_name():
    assert str(DataError(f"no column {RED}")) == "no column \\x1b[31mred\\x07"
    assert "\x1b" not in str(GapWarning(RED))
    assert printable("plain\ttext\nof lines, é and 中") == "plain\ttext\nof lines, é and 中"
    assert printable("\u202eabc\ud800") == "\\u202eabc\\ud800"


def test_a_way_out_for_the_shell_holds_no_raw_escape(tmp_path, capsys):
    """The option to type names the column as it is; what is printed shows it."""
    import pyarrow as pa
    import pyarrow.parquet

    from linsep.cli.main import main

    days = pa.array([1, 2, 3, 4], pa.date32())
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "\x1b[2J": days, "y": [0, 1, 0, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "d.parquet")
    assert main(["check", str(tmp_path / "d.parquet"), "--memory", "8MB"]) == 1
    told = capsys.readouterr().err
    assert "--drop" in told
    assert "\x1b" not in told
