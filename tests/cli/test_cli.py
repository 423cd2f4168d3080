"""The command line as a person uses it."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from linsep.cli.common import fold
from linsep.cli.main import _COMMANDS, main

GRADES = "name,hours,sleep,grade\nJane,9,7,A\nSteve,1,9,F\nMary,3,8,F\nPeter,8,6,A\n"


@pytest.fixture
def grades(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grades.csv").write_text(GRADES)
    return "grades.csv"


def run(capsys, *argv):
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def test_check_separable(grades, capsys):
    code, out, err = run(capsys, "check", grades)
    assert code == 0
    assert out.startswith("separable, margin between 2.692 and 2.693")
    assert "4 rows, 2 features" in err


def test_check_not_separable_and_its_proof_can_be_verified(grades, capsys):
    code, out, _ = run(capsys, "check", "five-points", "--save", "proof.json")
    assert code == 3
    assert "these four rows prove it" in out
    code, out, _ = run(capsys, "verify", "proof.json", "five-points")
    assert code == 0
    assert out.startswith("the proof holds: not separable")
    code, _, err = run(capsys, "verify", "proof.json", "xor")
    assert code == 1
    assert err.startswith("linsep: ")


def test_a_tampered_proof_is_refused(grades, capsys, tmp_path):
    run(capsys, "check", "five-points", "--save", "proof.json")
    stored = json.loads((tmp_path / "proof.json").read_text())
    stored["multipliers"][0], stored["multipliers"][1] = stored["multipliers"][1::-1]
    (tmp_path / "proof.json").write_text(json.dumps(stored))
    assert run(capsys, "verify", "proof.json", "five-points")[0] == 1


def test_a_damaged_proof_is_told_with_its_name_and_a_way_out(grades, capsys, tmp_path):
    run(capsys, "check", "five-points", "--save", "proof.json")
    stored = json.loads((tmp_path / "proof.json").read_text())
    (tmp_path / "proof.json").write_text(json.dumps({**stored, "n_samples": "five"}))
    code, _, err = run(capsys, "verify", "proof.json", "five-points")
    assert code == 1
    assert err.startswith(
        "linsep: proof.json: the stored proof cannot be read: n_samples is 'five'"
    )
    assert "make the proof again" in err


def test_check_undecided(grades, capsys):
    code, out, _ = run(capsys, "check", grades, "--time-limit", "0", "--json")
    assert code == 4
    assert json.loads(out)["separable"] is None


def test_check_names_columns_of_a_weak_separation(grades, capsys, tmp_path):
    (tmp_path / "weak.csv").write_text("flag,x,y\n1,0,1\n0,1,0\n0,2,1\n0,3,0\n0,0,1\n1,5,1\n")
    code, out, _ = run(capsys, "check", "weak.csv")
    assert code == 3
    assert "flag" in out


def test_fit_predict_verify(grades, capsys, tmp_path):
    code, out, err = run(capsys, "fit", grades, "-a", "kozinec", "-o", "model.json", "-q")
    assert code == 0
    assert "best margin between" in out
    assert "hours" in out
    assert "model written to model.json" in err
    code, out, err = run(capsys, "predict", "model.json", grades)
    assert out.split() == ["A", "F", "F", "A"]
    assert "4 of 4 agree" in err
    code, out, _ = run(capsys, "predict", "model.json", grades, "--scores", "-o", "out.tsv")
    assert out == ""
    assert len((tmp_path / "out.tsv").read_text().splitlines()) == 4
    code, out, _ = run(capsys, "verify", "model.json", grades)
    assert code == 0
    assert "they agree" in out


def test_predict_without_labels(grades, capsys, tmp_path):
    run(capsys, "fit", grades, "-o", "model.json", "-q")
    (tmp_path / "new.csv").write_text("hours,sleep\n10,6\n0,9\n")
    code, out, _ = run(capsys, "predict", "model.json", "new.csv")
    assert code == 0
    assert out.split() == ["A", "F"]


def test_columns_are_found_by_name(grades, capsys, tmp_path):
    run(capsys, "fit", grades, "-a", "perceptron", "-o", "model.json", "-q")
    (tmp_path / "swapped.csv").write_text("sleep,hours,grade\n7,9,A\n9,1,F\n8,3,F\n6,8,A\n")
    code, out, err = run(capsys, "predict", "model.json", "swapped.csv")
    assert out.split() == ["A", "F", "F", "A"]
    assert "order of the model" in err
    assert run(capsys, "verify", "model.json", "swapped.csv")[0] == 0
    (tmp_path / "renamed.csv").write_text("hrs,sleep,grade\n9,7,A\n1,9,F\n")
    code, _, err = run(capsys, "predict", "model.json", "renamed.csv")
    assert code == 1
    assert "has no column 'hours'" in err


@pytest.mark.parametrize("algorithm", ["perceptron", "kozinec", "linear-svm"])
def test_verify_notices_every_forged_number(algorithm, grades, capsys, tmp_path):
    run(capsys, "fit", grades, "-a", algorithm, "-o", "model.json", "-q")
    assert run(capsys, "verify", "model.json", grades)[0] == 0
    model = json.loads((tmp_path / "model.json").read_text())
    for name, value in model["certificate"].items():
        if type(value) is float and math.isfinite(value):
            wrong = model["certificate"] | {name: value * 0.5 - 0.01}
            if name in ("margin_high", "margin_aug_high", "lower_bound"):
                wrong[name] = value * (0.5 if name != "lower_bound" else 2.0) + 0.0
            (tmp_path / "forged.json").write_text(json.dumps(model | {"certificate": wrong}))
            assert run(capsys, "verify", "forged.json", grades)[0] == 1, name


def test_verify_notices_other_data(grades, capsys, tmp_path):
    run(capsys, "fit", grades, "-o", "model.json", "-q")
    (tmp_path / "other.csv").write_text(GRADES.replace("Mary,3,8,F", "Mary,9,3,F"))
    code, out, _ = run(capsys, "verify", "model.json", "other.csv")
    assert code == 1
    assert "DIFFER" in out


def test_model_of_other_width_is_refused(grades, capsys, tmp_path):
    run(capsys, "fit", grades, "-o", "model.json", "-q")
    (tmp_path / "wide.csv").write_text("a,b,c,d,y\n1,2,3,4,A\n5,6,7,8,F\n")
    code, out, err = run(capsys, "predict", "model.json", "wide.csv")
    assert (code, out) == (1, "")
    assert "wide.csv has no column 'hours', which the model was trained on; it has 'a'" in err
    (tmp_path / "plain.csv").write_text("9,7,A\n1,9,F\n3,8,F\n8,6,A\n")
    run(capsys, "fit", "plain.csv", "-o", "plain.json", "-q")
    code, out, err = run(capsys, "predict", "plain.json", "wide.csv")
    assert (code, out) == (1, "")
    assert "4 features; the model was trained on 2. Give data with the same columns." in err


def test_trace(grades, capsys, tmp_path):
    code, out, _ = run(
        capsys, "trace", "students", "-s", "start=((.25,.25,.25,.25),.25)", "--save", "run.json",
        "--html", "run.html",
    )  # fmt: skip
    assert code == 0
    assert "Steve has value -1.25" in out
    assert json.loads((tmp_path / "run.json").read_text())["format"] == "linsep-trace"
    assert (tmp_path / "run.html").read_text().lower().startswith("<!doctype html>")


@pytest.mark.parametrize(
    "argv",
    [
        ("check", "students"),
        ("fit", "students", "-q"),
        ("fit", "five-points", "-q", "-s", "max_iter=3", "-s", "order=shuffle"),
        ("trace", "students"),
        ("algorithms",),
        ("algorithms", "perceptron"),
    ],
)
def test_json_everywhere(argv, capsys):
    _, out, _ = run(capsys, *argv, "--json")
    json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("check", "nothing.csv"), "nothing.csv"),
        (("fit", "students", "-a", "percptron"), "did you mean perceptron?"),
        (("fit", "students", "-s", "etta=1"), "'etta' is no setting of perceptron"),
        (("fit", "students", "-s", "eta"), "has no '='"),
        (("fit", "students", "-s", "eta=-1"), "must be a number > 0. Got -1 instead"),
        (("fit", "students", "-o", "model.pickle"), ".json"),
        (("fit", "students", "--resume", "no.npz"), "no.npz does not exist"),
        (("predict", "no.json", "students"), "no.json"),
        (("verify", "grades.csv", "students"), "neither a model nor a proof"),
        (("check", "students", "--save", "nowhere/proof.json"), "nowhere/proof.json cannot be"),
        (("fit", "students", "-o", "nowhere/model.json"), "there is no such folder"),
        (("algorithms", "magic"), "there is no algorithm 'magic'"),
        (("verify", "nowhere.json", "xor"), "linsep: nowhere.json: there is no such file"),
        (("algorithms", "svm"), "did you mean linear-svm or kernel-svm or additive-svm?"),
    ],
)
def test_errors_are_one_line_with_the_way_out(grades, argv, words, capsys):
    code, out, err = run(capsys, *argv)
    assert code == (2 if "-s" in argv or "-a" in argv or argv[0] == "algorithms" else 1)
    assert out == ""
    assert words in err
    assert err.startswith("linsep: ")
    assert "Traceback" not in err


def test_bad_cell_is_named_by_line_and_column(grades, capsys, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b,y\n1,2,A\n3,oops7,F\n5,6,A\n" * 1)
    code, _, err = run(capsys, "check", "bad.csv")
    assert code == 1
    assert "bad.csv:3" in err
    assert "oops7" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a,b,y\n" + "".join(f"{k},{k},{'uv'[k % 2]}\n" for k in range(9)) + "9,4x,u\n",
            "row 10: ",
        ),
        ("a,y\n" + "".join(f"row{k},{'uv'[k % 2]}\n" for k in range(60)), "no column is left"),
    ],
)
def test_what_is_wrong_with_a_column_is_told_with_its_file(grades, capsys, tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    code, _, err = run(capsys, "fit", "bad.csv")
    told = err.splitlines()[-1]
    assert code == 1 and told.startswith(f"linsep: bad.csv: {words}")
    assert "--role" in told and "roles=" not in told


@pytest.mark.parametrize("command", ["fit", "study"])
def test_rows_without_labels_are_refused_where_something_is_learnt(tmp_path, capsys, command):
    np.savez(tmp_path / "rows.npz", X=np.ones((9, 2)))
    code, _, err = run(capsys, command, str(tmp_path / "rows.npz"))
    assert code == 1 and "rows.npz: there are no labels; name their column with --target" in err


def test_wrong_usage_is_exit_2():
    with pytest.raises(SystemExit) as stop:
        main(["fit"])
    assert stop.value.code == 2


def test_an_argument_too_many_shows_the_usage_of_its_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["fit", "LinearSVM", "students"])
    err = capsys.readouterr().err
    assert stop.value.code == 2
    assert "usage: linsep fit" in err and "-a NAME" in err


def test_an_algorithm_may_be_named_by_its_class(capsys):
    code, out, _ = run(capsys, "fit", "students", "-a", "LinearSVM", "-q")
    assert code == 0 and out.startswith("LinearSVM")


def script(*argv, **options):
    return [sys.executable, "-m", "linsep.cli.main", *argv]


@pytest.mark.timeout(120)
def test_help_is_light():
    code = (
        "import sys; from linsep.cli.main import _COMMANDS, main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'numpy', 'pandas'} & set(sys.modules)\n"
        "sys.exit(bool(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("command", ["", *_COMMANDS])
def test_help_fits_into_80_columns(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    assert not [line for line in capsys.readouterr().out.splitlines() if len(line) > 80]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.timeout(120)
def test_ctrl_c_writes_the_checkpoint_and_resume_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    rows = "\n".join(",".join(f"{v:.3f}" for v in x) + f",{i % 2}" for i, x in enumerate(
        rng.normal(size=(200, 4))))  # fmt: skip
    (tmp_path / "noise.csv").write_text(rows + "\n")
    settings = ["-s", "order=shuffle", "-s", "random_state=1", "--checkpoint", "run.npz"]
    command = script("fit", "noise.csv", *settings, "-s", "max_iter=1000000000")
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            for line in child.stderr:  # progress has begun, so the run is inside the loop
                if line.split()[:1] == ["passes"]:
                    break
            time.sleep(0.2)
            os.kill(child.pid, signal.SIGINT)
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()  # nothing where it has ended
    assert child.returncode == 130
    assert "--resume run.npz" in err
    assert "stopped on request" in out
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 1 and "--resume run.npz" in again.stderr  # nothing is written over
    with np.load(tmp_path / "run.npz") as file:
        done = json.loads(file["header"].tobytes())["numbers"]["steps"] // 200
    more = ["-s", f"max_iter={done + 5}", "-s", "order=shuffle", "-s", "random_state=1"]
    resumed = subprocess.run(
        script("fit", "noise.csv", *more, "--resume", "run.npz", "--json"),
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    fresh = subprocess.run(
        script("fit", "noise.csv", *more, "--json"),
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    first, second = json.loads(resumed.stdout), json.loads(fresh.stdout)
    assert first["coef"] == second["coef"]
    assert first["updates"] == second["updates"]


def test_predict_with_an_encoded_model_takes_no_feature_for_the_label(tmp_path, capsys):
    train, bare = tmp_path / "train.csv", tmp_path / "bare.csv"
    train.write_text("color,size,y\nred,1,a\nblue,2,b\nred,3,a\nblue,5,b\ngreen,2,a\ngreen,7,b\n")
    bare.write_text("color,size\nred,1\nblue,2\nred,3\n")
    model = str(tmp_path / "m.json")
    assert main(["fit", str(train), "-a", "linear-svm", "-o", model]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(bare)]) == 0
    said = capsys.readouterr()
    assert said.out.split() == ["a", "b", "a"]
    assert "labels" not in said.err
    assert main(["predict", model, str(train)]) == 0
    assert "6 of 6 agree with the labels" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("a,b,y\n1,,0\n2,3,1\n", "leave such rows out with --drop-missing."),
        ("a,b,y\n1,2,\n2,3,1\n", "leave such rows out with --drop-missing."),
        ("a,b\n1.25,2.5\n2.75,3.5\n1.5,9.25\n", "Give --target NAME or its number."),
        ("a\n1\n2\n", "only linsep predict takes a file if there are no labels."),
    ],
)
def test_errors_name_the_option_to_type(grades, capsys, tmp_path, text, way):
    (tmp_path / "bad.csv").write_text(text)
    code, _, err = run(capsys, "check", "bad.csv")
    assert code == 1
    assert way in err


def test_text_beside_numbers_is_taken_for_what_it_is_but_no_damaged_cell(grades, capsys, tmp_path):
    (tmp_path / "text.csv").write_text("a,b,y\n1,x,0\n2,z,1\n3,x,0\n")
    code, _, err = run(capsys, "check", "text.csv", "--save", "proof.json")
    assert code == 0 and "column 'b': 2 categories" in err
    assert run(capsys, "verify", "proof.json", "text.csv")[0] == 0
    code, _, err = run(capsys, "scale", "text.csv")
    assert (
        code == 1
        and "text.csv:2:2" in err
        and "linsep fit, check, trace and study take such columns" in err
    )
    (tmp_path / "both.csv").write_text("a,b,y\n1,x,0\noops7,z,1\n3,x,0\n")
    for command in ("check", "trace"):
        code, out, err = run(capsys, command, "both.csv")
        assert (code, out) == (1, "") and "both.csv:3:1: 'oops7' in column 'a' is not a" in err
    (tmp_path / "comma.csv").write_text("a;y\n1,5;0\n2,5;1\n3,5;1\n")
    code, _, err = run(capsys, "check", "comma.csv")
    assert code == 0 and "decimal comma" in err


def test_an_integer_beyond_doubles_is_an_error_with_its_place(grades, capsys, tmp_path):
    (tmp_path / "ids.csv").write_text("id,x,y\n1,0,0\n9007199254740993,1,1\n")
    code, _, err = run(capsys, "check", "ids.csv", "--target", "y")
    assert code == 1
    assert err.splitlines()[-1].startswith("linsep: ids.csv:3:1: the integer 9007199254740993")


def test_a_terminal_gets_lines_that_fit_and_a_pipe_whole_sentences(grades, capsys, monkeypatch):
    _, whole, _ = run(capsys, "check", "five-points")
    assert max(map(len, whole.splitlines())) > 80
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    _, lines, _ = run(capsys, "check", "five-points")
    assert max(map(len, lines.splitlines())) <= 80
    seconds = whole.rindex("in ")  # which differ
    assert fold("do: linsep fit " + 80 * "x ", 40).count("\n") == 0
    assert lines.split()[:30] == whole[:seconds].split()[:30]


def test_python_dash_m(tmp_path):
    for args in (["-m", "linsep"], ["-m", "linsep", "--version"]):
        done = subprocess.run([sys.executable, *args], capture_output=True, text=True, check=True)
        assert "linsep" in done.stdout and not done.stderr
    missing = [sys.executable, "-m", "linsep", "check", str(tmp_path / "none.csv")]
    assert subprocess.run(missing, capture_output=True, check=False).returncode == 1


def test_check_in_a_feature_space_and_its_proof_can_be_verified(grades, capsys):
    assert run(capsys, "check", "xor")[0] == 3
    words = ("check", "xor", "--kernel", "poly", "--set", "degree=2", "--set", "gamma=1")
    code, out, err = run(capsys, *words, "--save", "proof.json")
    assert code == 0 and "feature space of Polynomial(degree=2" in out
    assert "linsep verify proof.json xor" in err
    code, out, _ = run(capsys, "verify", "proof.json", "xor")
    assert code == 0 and "the proof holds" in out
    assert run(capsys, "verify", "proof.json", "five-points")[0] == 1
    assert run(capsys, "check", "xor", "--kernel", "linear")[0] == 3
    assert run(capsys, "check", "xor", "--set", "gamma=1")[0] == 2
    assert run(capsys, "check", "xor", "--kernel", "rbf", "--set", "width=1")[0] == 2
