"""Runs as the lectures print them: every look at a row, letters, order, numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linsep
from linsep.cli.main import main
from linsep.errors import LabelError, SettingError


def students(start=([0.25] * 4, 0.25), **options):
    table = linsep.data.load("students")
    model = linsep.Perceptron(start=start)
    return linsep.trace(model, table.X, table.y, row_names=table.row_names, **options)


def test_the_table_of_lecture_003():
    run = students(visits=True)
    looks = [(run.row_names[s.row], s.value, s.wrong) for s in run[1:]]
    assert looks == [
        ("Jane", 0.25, False), ("Steve", -1.25, True), ("Mary", -0.75, True),
        ("Peter", -3.75, True), ("Jane", 1.25, False), ("Steve", 1.75, False),
        ("Mary", 1.25, False), ("Peter", 1.25, False),
    ]  # fmt: skip
    told = run.narrate(convention="003")
    for k, row in enumerate(
        ["[0.25 0.25 0.25 0.25 0.25]", "[-0.75 -0.75 -0.75 -0.75 -0.75]",
         "[-1.75 0.25 0.25 0.25 -1.75]", "[-0.75 1.25 -0.75 -0.75 -0.75]"], 1
    ):  # fmt: skip
        assert f"a({k}) = {row}" in told
    assert "Jane   a.y = 0.25   misclassified? no\n" in told
    assert run.outcome.t_lup == 3


def test_five_points_of_lecture_003_begin_as_printed():
    table = linsep.data.load("five-points")
    run = linsep.trace(linsep.Perceptron(start=([1, 1], 1)), table.X, table.y, convention="003")
    told = run.narrate()
    for line in ("a(1) = [1 1 1]", "a(2) = [0 0 -2]", "a(3) = [1 2 -1]", "a(4) = [0 1 -4]"):
        assert line in told
    assert "kept: a(5) = [1 3 -3]" in told
    assert run.outcome.t_lup == 4
    frame = run.frame()
    assert list(frame["update"][:3]) == [1, 2, 3]
    assert list(frame.columns).index("w0") < list(frame.columns).index("x1")


def test_reward_and_punishment_of_lecture_004():
    table = linsep.data.load("example-3.2")
    run = linsep.trace(linsep.Perceptron(), table.X, table.y, visits=True, convention="004")
    lines = run.narrate().splitlines()
    assert lines[1].strip() == "w(0) = [0 0 0]"
    assert [line.split("w.x = ")[1].split()[0] for line in lines[2:-1]] == [
        "0", "1", "1", "-1", "1", "1", "-1",
    ]  # fmt: skip
    assert lines[2].endswith("w(1) = [-1 0 1]")
    assert lines[4].endswith("w(2) = [-1 1 0]")


def test_figure_1_of_lecture_001():
    X, y = np.array([[1.0, 2.0], [2.0, 1.0]]), [1, -1]
    run = linsep.trace(linsep.Perceptron(fit_intercept=False), X, y)
    told = run.narrate(convention="001")
    assert "theta(0) = [0 0]" in told
    assert "theta(1) = [1 2]" in told
    assert "theta(2) = [-1 1]" in told


def test_lecture_002_tells_a_point_of_the_line():
    X, y = [[1.0], [2.0]], [-1, 1]
    run = linsep.trace(linsep.Perceptron(), X, y)
    last = run.narrate(convention="002").splitlines()[-2]
    w, b = run[-1].coef[0], run[-1].intercept
    assert f"b = {b:g}, u = [{-b / w:g}]" in last


def test_an_update_raises_its_own_value_by_the_squared_norm():
    table = linsep.data.load("undershoot")
    run = linsep.trace(linsep.Perceptron(fit_intercept=False), table.X, table.y)
    for step in run[1:]:
        gain = float(table.X[step.row] @ table.X[step.row])
        assert step.value_after == pytest.approx(step.value + gain)
        assert step.repeats == np.floor(-step.value / gain) + 1
    assert run[2].repeats == 9


@pytest.mark.parametrize("order", ["cyclic", "shuffle", "random", "restart"])
def test_visits_are_those_of_the_run(order):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(12, 2)), rng.integers(0, 2, 12)
    model = linsep.Perceptron(order=order, max_iter=6, keep="last", random_state=3)
    looks = linsep.trace(model, X, y, visits=True)
    run = linsep.trace(model, X, y)
    assert [s.visit for s in looks] == list(range(looks.outcome.visits + 1))
    wrong = [s for s in looks if s.wrong]
    assert [(s.visit, s.row, s.value) for s in wrong] == [
        (s.visit, s.row, s.value) for s in run[1:]
    ]
    for before, step in itertools.pairwise(looks):
        sign = 1 if y[step.row] else -1
        value = sign * (X[step.row] @ before.coef + before.intercept)
        assert step.value == pytest.approx(value, abs=1e-12)
        assert step.wrong == (value <= 0)


def test_a_scan_looks_at_every_row():
    table = linsep.data.load("example-3.2")
    run = linsep.trace(linsep.Perceptron(update="batch"), table.X, table.y, visits=True)
    assert [s.row for s in run] == [None, 0, 1, 2, 3, None, 0, 1, 2, 3]
    assert [s.wrong for s in run] == [None, *[True] * 4, None, *[False] * 4]


def test_visits_and_convention_live_in_file_and_page(tmp_path):
    run = students(visits=True, convention="003")
    run.save(tmp_path / "run.json")
    again = linsep.Trace.load(tmp_path / "run.json")
    assert again.narrate() == run.narrate()
    assert [s.repeats for s in again] == [s.repeats for s in run]
    assert "misclassified?" in run.to_html()
    assert "theta(" in students().to_html(convention="001")


def test_on_the_command_line(capsys):
    start = "start=([.5,.5,0,0],0)"
    assert main(["trace", "students", "-s", start, "--visits", "--convention", "003"]) == 0
    out = capsys.readouterr().out
    assert "a(2) = [-1 -0.5 -0.5 -1 -1]" in out
    assert "a(3) = [-2 0.5 0.5 0 -2]" in out
    assert "a(4) = [-1 1.5 -0.5 -1 -1]" in out
    assert out.count("misclassified?") == 8
    assert "as in lecture 003; class 1 is 'A', class 2 is 'F'" in out


def test_augment_and_reflect():
    table = linsep.data.load("students")
    rows = linsep.reflect(linsep.augment(table.X), table.y)
    assert rows.tolist() == [
        [1, 1, 1, -1, -1], [-1, -1, -1, -1, -1], [-1, 1, 1, 1, -1], [1, 1, -1, -1, 1],
    ]  # fmt: skip
    import scipy.sparse

    sparse = linsep.reflect(linsep.augment(scipy.sparse.csr_array(table.X), "last"), table.y)
    last = linsep.reflect(linsep.augment(table.X, position="last"), table.y)
    np.testing.assert_array_equal(sparse.toarray(), last)
    with pytest.raises(SettingError, match="position is 'middle'"):
        linsep.augment(table.X, "middle")
    with pytest.raises(LabelError, match="3 classes"):
        linsep.reflect([[1.0], [2.0], [3.0]], [0, 1, 2])


def test_an_unknown_lecture_and_many_planes_are_refused():
    with pytest.raises(SettingError, match="the lectures are '000'"):
        students(convention="005")
    run = linsep.trace(linsep.Perceptron(), [[0.0], [1.0], [2.0]], [0, 1, 2], max_steps=3)
    with pytest.raises(SettingError, match=r"one plane of two classes.* lecture 004"):
        run.narrate(convention="003")


def test_kesler_of_lecture_004(capsys, tmp_path):
    """w = [w_1 | w_2 | w_3] with the 1 last, and every look at an x_ij."""
    X = np.array([[0, 2], [1, 3], [3, 0], [4, 1], [-3, -1], [-2, -3]])
    y = np.array([1, 1, 2, 2, 3, 3])
    run = linsep.trace(linsep.Perceptron(), X, y, visits=True, convention="004")
    lines = run.narrate().splitlines()
    assert lines[0].endswith("lecture 004; omega_1 is 1, omega_2 is 2, omega_3 is 3")
    assert lines[1].strip() == "w(0) = [0 0 0 | 0 0 0 | 0 0 0]"
    told = [line.split("  w(")[0].split() for line in lines[2:-1]]
    assert len(told) == 21 == run.outcome.visits
    vectors, w = linsep.multiclass.kesler_vectors(X, y).toarray(), np.zeros(9)
    pairs = [(own, rival) for own in y for rival in (1, 2, 3) if rival != own]
    for look, words in enumerate(told):
        (i, j), z = pairs[look % 12], vectors[look % 12]
        assert words[3:6] == [f"w.x_{i}{j}", "=", f"{w @ z:g}"]
        w = w + z if w @ z <= 0 else w
    assert "w(3) = [0 3 -1 | 3 -2 0 | -3 -1 1]" in lines[-14]
    frame = run.frame()
    assert frame.iloc[-1]["w_1: x2"] == 3 and frame.iloc[-1]["w_3: w0"] == 1
    path = tmp_path / "k.csv"
    path.write_text("a,b,kind\n" + "".join(f"{p},{q},{c}\n" for (p, q), c in zip(X, "ooppqq")))
    assert main(["trace", str(path), "--visits", "--convention", "004"]) == 0
    out = capsys.readouterr().out
    assert "omega_2 is 'p'" in out and "w(3) = [0 3 -1 | 3 -2 0 | -3 -1 1]" in out
    assert '"symbol":["w(",")",0]' in run.to_html()


G12 = [  # set, lecture, settings, updates, the last weights as the lecture writes them
    ("students", "003", {}, 4, "a(5) = [0 2 0 -2 -2]"),
    ("students", "002", {"order": "restart"}, 4, "w(4) = [2 0 -2 -2], b = 0"),
    ("students", "000", {"update": "batch"}, 1, "w'(1) = [0 2 0 -2 -2]"),
    ("example-3.2", "004", {}, 2, "w(2) = [-1 1 0]"),
    ("example-3.2", "004", {"update": "batch"}, 1, "w(1) = [-2 2 0]"),
    ("mse-1", "003", {}, 15, "a(16) = [-1 7 -4]"),
    ("mse-1", "003", {"update": "batch"}, 20, "a(21) = [-3 23 -13]"),
    ("mse-1", "002", {"order": "restart"}, 39, "w(39) = [14 -9], b = -1"),
    ("mse-2", "003", {}, 33, "a(34) = [-1 16 -10]"),
    ("mse-2", "003", {"update": "batch"}, 8, "a(9) = [0 19 -11]"),
    ("phi", "002", {}, 5, "w(5) = [0 0 2], b = -1"),
    ("phi", "002", {"order": "restart"}, 9, "w(9) = [0 0 4], b = -1"),
    ("phi", "000", {"update": "batch"}, 4, "w'(4) = [-2 -1 -1 4]"),
    ("two-separators", "002", {"order": "restart"}, 2, "w(2) = [0 2], b = 0"),
    ("two-separators", "001", {"fit_intercept": False}, 1, "theta(1) = [0 1]"),
    ("two-separators", "004", {"update": "batch"}, 1, "w(1) = [0 2 0]"),
]


@pytest.mark.parametrize(("name", "lecture", "settings", "updates", "end"), G12)
def test_bounds_of_novikoff_in_the_letters_of_each_lecture(name, lecture, settings, updates, end):
    """Runs from zero of every set that the bounds are checked on."""
    if name == "phi":
        X, y = [[0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]], [-1, 1, -1, 1]
    else:
        X, y = linsep.data.load(name)
    run = linsep.trace(linsep.Perceptron(**settings), X, y)
    told = run.narrate(convention=lecture).splitlines()
    assert run.outcome.updates == updates and end in told[-2]
    assert told[-1].strip().startswith("every row is on its own side")
    if "update" not in settings:
        bound = linsep.risk.novikoff_bound(X, y, fit_intercept="fit_intercept" not in settings)
        assert updates <= bound * (1 + 1e-9)
