"""The player without a page: its runs are those of linsep.trace, its models those of fit."""

from __future__ import annotations

import base64
import json
import math
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import linsep
from linsep.cli.lab import _start
from linsep.cli.main import parser
from linsep.data.table import Table
from linsep.errors import DataError, LinsepError
from linsep.lab.lectures import LECTURES
from linsep.lab.methods import BY_KEY, METHODS
from linsep.lab.player import EXPORTS, VERBS, Player, Players, Task, answer
from linsep.lab.tables import DRAWN, sets, table_of_bytes

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
SETS = {table["name"]: table for table in sets()["sets"]}


def three():
    return next(t for t in (made() for made in DRAWN) if t.name == "three classes")


def task(name="mse-1", method="perceptron", **more):
    table = {key: SETS[name][key] for key in ("X", "y", "classes", "features", "rows", "name")}
    return {"table": table, "method": method, "settings": {}, **more}


# -- the run is the trace, the model is the fit ------------------------------------------------


@pytest.mark.parametrize("key", [m.key for m in METHODS if m.steps])
@pytest.mark.parametrize("name", ["mse-1", "five-points"])
def test_a_run_is_the_trace_of_the_same_line_of_python(key, name):
    player = Player.of(name, key, most=60)
    table, some = linsep.data.load(name), None if player.run and not player.watch.open else 60
    try:
        run = linsep.trace(player.estimator, table.X, table.y, max_steps=some)
    except linsep.errors.CapabilityError:
        assert len(player) == 1  # the answer alone
        return
    shown = player.run.steps
    assert len(shown) >= min(len(run), 50)
    for mine, theirs in zip(shown, run):
        if mine.closing or theirs.closing:
            break
        assert np.array_equal(mine.coef, theirs.coef) and mine.why == theirs.why
    if not player.watch.open:
        assert len(shown) == len(run)
        assert player.run.outcome.message == run.outcome.message


@pytest.mark.parametrize("key", list(BY_KEY))
def test_the_message_holds_every_bit_of_the_run_and_the_fit(key):
    player = Player.of(three() if BY_KEY[key].estimator.startswith("One") else "mse-1", key)
    told = json.loads(json.dumps(player.message(), allow_nan=False))
    last = player.run[-1]
    if told["planes"]:
        flat = np.column_stack([np.atleast_2d(last.coef), np.ravel(last.intercept)]).ravel()
        assert np.array_equal(np.array(told["weights"][-1], dtype=float), flat)
    if told["planes"] and not told["open"]:
        model = player.fitted
        assert np.array_equal(np.atleast_2d(last.coef), model.coef_)
        assert np.array_equal(np.ravel(last.intercept), model.intercept_)
    verdict = json.loads(json.dumps(player.verdict(), allow_nan=False))
    assert verdict["sentence"] == str(player.proof) and verdict["certificate"]
    assert player.verify()["good"]


def test_golden_students():
    """Lecture 003: a(1) = .25, three updates, eight visits."""
    player = Player.of("students", start=[0.25] * 5, visits=True, convention="003")
    assert [step.row for step in player.run[1:]] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert player.seek(4).coef.tolist() == [1.25, -0.75, -0.75, -0.75]
    told = player.message()
    assert told["symbol"] == ["a(", ")", 1]
    parts = told["patterns"][told["why"][2][0]]
    assert "misclassified? yes" in parts[0] or "misclassified? yes" in "".join(parts)


def test_walking_is_exact_and_stays_within_the_run():
    player = Player.of("five-points", start=[1, 1, 1], most=40)
    there = [player.step().coef.tolist() for _ in range(10)]
    back = [player.back().coef.tolist() for _ in range(9)]
    assert back == there[-2::-1]
    assert player.seek(10**9) is player.run[-1] and player.back(10**9) is player.run[0]
    assert player.whole_pass().visit >= 5
    assert player.watch.open and len(player) == 41


def test_a_longer_run_begins_with_the_shorter_one():
    short, long = (Player.of("five-points", most=n).message() for n in (30, 120))
    assert short["open"] and long["weights"][:31] == short["weights"]
    assert long["why"][5] == short["why"][5] or len(long["patterns"]) != len(short["patterns"])


def test_the_end_of_an_endless_run_is_that_of_the_fit():
    player = Player.of("five-points", start=[1, 1, 1], most=20000)
    model = linsep.Perceptron(start=([1, 1], 1)).fit(*linsep.data.load("five-points"))
    assert not player.watch.open or player.run
    assert player.run.outcome.status is model.status_
    assert np.array_equal(player.run[-1].coef, model.coef_[0])
    assert player.message()["kept"] == model.t_lup_


# -- what pictures need --------------------------------------------------------------------------


def test_points_of_kozinec_lie_in_the_hulls_and_bound_the_margin():
    player = Player.of("mse-1", "kozinec", steps="away", eps=1e-6)
    told = player.message()
    ends = np.array(told["points"][-1])
    assert np.linalg.norm(ends[1] - ends[0]) / 2 == pytest.approx(np.sqrt(0.2), abs=1e-5)
    for k, sign in enumerate((-1, 1)):
        own = player.task.table.X[player.task.table.y == sign]
        low, high = own.min(axis=0) - 1e-9, own.max(axis=0) + 1e-9
        assert ((ends[k] >= low) & (ends[k] <= high)).all()
    upper = told["extra"]["upper bound of the margin"]
    assert all(b <= a + 1e-12 for a, b in pairwise(upper))


def test_fields_of_kernels_are_the_scores_of_the_model():
    player = Player.of("xor", "kernel-svm", kernel="poly", gamma=1.0, C="inf")
    told = player.message()
    assert told["alpha"][-1] == pytest.approx([0.125] * 4)  # the slide prints .25
    grid = np.array([[-2.0, -2.0], [2.0, -2.0], [-2.0, 2.0], [2.0, 2.0]])
    scores = player._scores(grid, [len(player) - 1])[0, 0]
    np.testing.assert_allclose(scores, -grid[:, 0] * grid[:, 1], atol=1e-9)
    np.testing.assert_allclose(scores, player.fitted.decision_function(grid), atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_fields_of_each_step_have_the_values_of_the_trace(kernel):
    player = Player.of("mse-1", "kernel-perceptron", kernel=kernel)
    X, y = player.task.table.X, player.task.table.y
    for t, step in enumerate(player.run):
        wrong = np.flatnonzero(y * player._scores(X, [t])[0, 0] <= 0)
        assert tuple(wrong) == step.errors


MADE = {table.name: table for table in (made() for made in DRAWN)}


@pytest.mark.parametrize(
    ("name", "method", "more"),
    [
        ("three classes", "kernel-svm", {}),
        ("ring", "kernel-perceptron", {}),
        ("ring", "perceptron", {"lift": "x1, x2, x1**2 + x2**2"}),
        ("three classes", "kesler", {"lift": "x1, x2, x1*x2"}),
        ("three classes", "one-vs-one", {"lift": "poly(2)"}),
        ("two clouds that meet", "gaussian", {}),
        ("five classes", "gaussian", {"covariance": "diagonal"}),
    ],
)
def test_regions_of_every_step_have_its_errors(name, method, more):
    """The rows that a picture shows in the region of another class are those that are told."""
    player = Player.of(MADE[name], method, **more)
    X, labels = player.task.table.X, np.searchsorted(player.run.classes, player.task.table.y)
    told = player._scores(X, range(len(player)))
    for step, scores in zip(player.run, told):
        ahead = scores[0] * (2 * labels - 1) if len(scores) == 1 else scores[labels, range(len(X))]
        assert set(np.flatnonzero(ahead < 0)) <= set(step.errors), step.update
        assert set(step.errors) <= set(np.flatnonzero(ahead <= 0)), step.update


def test_a_replay_has_regions_where_weights_give_none():
    def ground(table, method, **more):
        page = Player.of(table, method, **more).export("replay")[2].decode()
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
        return json.loads(data)["ground"]

    assert ground("mse-1", "perceptron") is None
    for name, method in (("ring", "kernel-svm"), ("three classes", "kernel-svm")):
        player = Player.of(MADE[name], method)
        assert len(ground(MADE[name], method)["steps"]) == len(player) > 3
    for name, method in (("five classes", "one-vs-one"), ("three classes", "one-vs-rest")):
        pieces = ground(MADE[name], method)["pieces"]
        assert {who for who, _ in pieces} >= {0, 1, 2, -2}
    lifted = ground(MADE["ring"], "perceptron", lift="x1, x2, x1**2 + x2**2")
    assert len(lifted["steps"]) == 9
    assert len(ground("students", "perceptron")["steps"]) == 5  # a cut through four features


def test_costs_are_those_of_the_criteria():
    player = Player.of("mse-1", "linear-svm", C=2.0)
    found = player.costs([0, 1], [0.5, -0.25, 0.75], [0.0, 1.0, -1.0, 1.0], 3)
    values = np.frombuffer(__import__("base64").b64decode(found["values"]), "<f4").reshape(3, 3)
    hinge = linsep.criteria.Hinge(C=2.0)
    for r, v in enumerate((-1.0, 0.0, 1.0)):
        for c, u in enumerate((0.0, 0.5, 1.0)):
            at = hinge.value(([u, v], 0.75), player.task.table.X, player.task.table.y)
            assert values[r, c] == pytest.approx(at, rel=1e-5)


def test_costs_of_targets_of_ones_own():
    player = Player.of("mse-2", "least-squares-exact", targets=[1, 1, 1, 10])
    last, box = player.run[-1], [0.0, 2.0, -2.0, 0.0]
    found = player.costs([0, 1], [*last.coef, last.intercept], box, 3)
    values = np.frombuffer(base64.b64decode(found["values"]), "<f4")
    X, y = linsep.data.load("mse-2")
    middle = y * (X @ [1.0, -1.0] + last.intercept) - [1, 1, 1, 10]
    np.testing.assert_allclose(values[4], (middle**2).sum(), rtol=1e-6)
    with pytest.raises(LinsepError, match="targets"):
        Player.of("mse-2", "least-squares-exact", targets=[1, 1]).message()


def test_zones_of_a_scheme_and_its_lines():
    player = Player.of(three(), "one-vs-rest")
    zones = player.zones([-3.0, 3.0, -3.0, 3.0], "unanimous")
    assert {who for who, _ in zones["pieces"]} >= {0, 1, 2, -1}
    assert len(zones["lines"]) == 3 and zones["undecided"] > 0
    assert player.zones([-3.0, 3.0, -3.0, 3.0], "argmax")["undecided"] == 0
    assert len(Player.of(three(), "one-vs-one").zones([-3.0, 3.0, -3.0, 3.0], "")["lines"]) == 3


def test_a_lift_is_played_in_its_own_space():
    player = Player.of("xor-01", lift="x1, x2, (x1 - x2)**2")
    told = player.message()
    assert told["features"] == ["x1", "x2", "(x1 - x2)**2"] and told["weights"][-1] == [0, 0, 2, -1]
    assert told["lifted"] == [[0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]]
    assert player.proof.separable and Player.of("xor-01").proof.separable is False
    assert player.surface([0.0, 1.0, 0.0, 1.0], 2)["rows"][1] == [1, 0, 1]


def test_the_snippet_gives_the_run_on_the_screen(capsys):
    for player in (
        Player.of("five-points", start=[1, 1, 1], order="restart"),
        Player.of("xor-01", lift="x1, x2, (x1 - x2)**2"),
        Player.of(three(), "kesler", eta=0.5),
        Player(Task.of(task("two clouds", "linear-svm", settings={"C": "inf"}))),
    ):
        scope = {}
        exec(compile(player.snippet(), "snippet", "exec"), scope)
        capsys.readouterr()
        again, mine = scope["run"], player.run
        assert [s.why for s in again] == [s.why for s in mine]
        assert np.array_equal(again[-1].coef, mine[-1].coef)


# -- files out and in ------------------------------------------------------------------------------


def test_exports_are_files_that_linsep_reads(tmp_path):
    player = Player.of("mse-1", "linear-svm")
    written = {}
    for kind in EXPORTS:
        name, _, data = player.export(kind)
        assert name.startswith("mse-1")
        written[kind] = tmp_path / name
        written[kind].write_bytes(data)
    table = linsep.data.read(written["csv"])
    assert np.array_equal(table.X, player.task.table.X)
    assert np.array_equal(table.y, player.task.table.y)
    sparse = linsep.data.read(written["svmlight"])
    assert np.array_equal(sparse.X.toarray(), table.X)
    assert np.array_equal(linsep.load(written["model"]).coef_, player.fitted.coef_)
    assert linsep.Trace.load(written["trace"]).narrate() == player.run.narrate()
    proof = linsep.Proof.from_json(written["proof"].read_text())
    assert proof.check(table.X, table.y)
    assert written["replay"].read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x1,x2,y\n1,2,a\n3,4,b\n0,1,a\n", "table.csv"),
        ("+1 1:0.5 2:1\n-1 1:2\n", "rows.svm"),
        ("a;b;c;kind\n1,5;2;3;yes\n4;5;6;no\n", "pasted.csv"),
    ],
)
def test_files_of_a_page_become_tables(text, name):
    found = table_of_bytes(text.encode(), name)
    assert len(found["X"]) == text.count("\n") - ("y" in text.splitlines()[0] or ";" in text)
    assert len(found["classes"]) == 2
    Task.of({"table": found, "method": "perceptron"})


def test_the_command_reads_what_the_page_reads(tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "table.csv"
    for text in ("a;b;kind\n1,5;2;yes\n4;5,25;no\n3;;no\n", "c,b,kind\nred,1,yes\nblue,2,no\n"):
        path.write_text(text)
        began = _start(parser().parse_args(["lab", str(path)]))["task"]["table"]
        dropped = table_of_bytes(text.encode(), "table.csv")
        for key in ("X", "y", "classes", "features", "name"):
            assert began[key] == dropped[key], key
    damaged = "a,b,y\n1,2,0\n3,4,1\n3,1.2x,1\n4,5,0\n5,6,1\n6,7,0\n"
    with pytest.raises(LinsepError, match=r"table\.csv:4:2: '1\.2x'"):
        table_of_bytes(damaged.encode(), "table.csv")


def test_files_that_cannot_be_read_are_a_sentence_without_a_path():
    for data, name in ((b"\x00\xff\x00", "x.csv"), (b"", "../../etc/passwd"), (b"1,2\n3", "a.csv")):
        with pytest.raises(LinsepError) as error:
            table_of_bytes(data, name)
        assert "/tmp" not in str(error.value)
    many = "x,y\n" + "\n".join(f"{k},c{k}" for k in range(11)) + "\n"
    with pytest.raises(LinsepError, match=r"^many has 11 classes"):
        table_of_bytes(many.encode(), "many.csv")


# -- messages are checked --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "magic"}, "task.method"),
        ({"settings": {"eta": -1}}, "rate"),
        ({"settings": {"eta": "1; import os"}}, "rate"),
        ({"settings": {"no_such": 1}}, "no_such"),
        ({"settings": {"order": "__class__"}}, "order"),
        ({"most": 10**9}, "task.most"),
        ({"lift": "__import__('os').system('x')"}, ""),
        ({"table": {"X": [[1, 2]], "y": [0, 1], "classes": [1, 2]}}, "table.y"),
        ({"table": {"X": [[1, 2], [3, 4]], "y": [0, 9], "classes": [1, 2]}}, "table.classes"),
        ({"table": {"X": [[1, 2], [3, 4]], "y": [0, 0], "classes": [1]}}, "one class"),
        ({"table": {"X": [[1e400, 2], [3, 4]], "y": [0, 1], "classes": [1, 2]}}, "table.X"),
        ({"table": {"X": [], "y": [], "classes": [1, 2]}}, ""),
        ({"table": None}, "table"),
    ],
)
def test_what_a_page_should_not_say_is_an_error_of_linsep(change, words):
    with pytest.raises(LinsepError) as error:
        answer(Players(), "run", {"task": task() | change})
    assert words in str(error.value)


def test_verbs_need_what_they_need():
    for verb in VERBS:
        with pytest.raises(LinsepError):
            answer(Players(), verb, {"task": task("students", "kernel-svm"), "box": [1, 0, 0, 1]} if
                   verb in ("field", "zones", "costs", "surface") else {"task": 5})  # fmt: skip
    with pytest.raises(LinsepError, match="verb"):
        answer(Players(), "no-such", {})


@pytest.mark.parametrize("key", list(BY_KEY))
def test_any_verb_may_be_asked_of_any_method(key):
    """A page asks for the picture before it while the method changes: refused in words at most."""
    players, asked = Players(), task("xor", key)
    for verb in VERBS:
        beside = {"at": [0.0] * 3 if verb == "costs" else 9999, "axes": [0, 1], "box": [0, 1, 0, 1]}
        beside |= {"size": 5, "rows": [[0.0, 1.0]], "labels": [0]}
        words = BY_KEY[key].title
        try:
            found = answer(players, verb, {"task": asked, **beside})
        except LinsepError as error:
            found = words = str(error)
        assert json.dumps(found, allow_nan=False)
        assert BY_KEY[key].title in words or "lift" in words


def test_players_are_kept_for_a_while_and_no_longer():
    players = Players(most=2)
    first = players.of(task())
    assert players.of(task()) is first
    players.of(task(method="kozinec"))
    players.of(task(method="ho-kashyap"))
    assert players.of(task()) is not first


def test_labels_of_any_kind_keep_their_place():
    for classes in ([-1, 1], ["b", "a"], [1, "one"], [2.0, 1.0], [3, 1, 2], [3.5, 7.25]):
        K = len(classes)
        rows = [[10.0 * k + i, float(i)] for k in range(K) for i in range(3)]
        y = [k for k in range(K) for _ in range(3)]
        table = {"X": rows, "y": y, "classes": classes, "features": None, "rows": None, "name": ""}
        told = Player(Task.of({"table": table, "method": "perceptron"})).message()
        assert sorted(told["present"]) == list(range(K))
        order = sorted(range(K), key=lambda k: str(classes[k]) if K == 2 and classes[0] == 1 else
                       classes[k])  # fmt: skip
        assert told["present"] == order


# -- lectures --------------------------------------------------------------------------------------

SLIDES = [(one["key"], slide) for one in LECTURES for slide in one["slides"]]


@pytest.mark.parametrize(
    ("key", "slide"), SLIDES, ids=[f"{k}-{s['title'][:30]}" for k, s in SLIDES]
)
def test_every_slide_can_be_shown(key, slide):
    asked = task(
        slide["set"], slide["method"], settings=slide.get("settings") or {},
        lift=slide.get("lift", ""), visits=slide.get("visits", False),
        convention=slide.get("convention"), most=60,
    )  # fmt: skip
    player = Player(Task.of(asked))
    told = player.message()
    assert told["update"] and (len(told["update"]) > 1 or not player.task.method.steps or
                               slide["method"] == "ho-kashyap")  # fmt: skip
    assert slide.get("step", 0) in (0, 99) or slide["step"] < len(told["update"]) or told["lifted"]


def test_numbers_of_slides():
    slide = next(s for k, s in SLIDES if s["title"].startswith("Example 3.1"))
    run = Player(Task.of(task(slide["set"], settings=slide["settings"]))).run
    np.testing.assert_allclose([*run[1].coef, run[1].intercept], [1.42, 0.51, -0.5])
    mse = Player.of("mse-1", "least-squares-exact").run[0]
    np.testing.assert_allclose([mse.intercept, *mse.coef], np.array([237, 93, -84]) / 89)
    answers = {"Minimum squared error: other": [-144 / 137, 228 / 137, -123 / 137],
               "Another start": [-1, 1.5, -0.5, -1, -1], "Figure 1": [0, -1, 1]}  # fmt: skip
    for title, due in answers.items():
        slide = next(s for _, s in SLIDES if s["title"].startswith(title))
        asked = task(slide["set"], slide["method"], settings=slide["settings"])
        last = Player(Task.of(asked)).run[-1]
        np.testing.assert_allclose([last.intercept, *np.ravel(last.coef)], due, rtol=1e-12)
    assert math.isclose(Player.of("xor", "kernel-svm", kernel="poly", gamma=1.0, C="inf")
                        .message()["alpha"][-1][0], 0.125, rel_tol=1e-6)  # fmt: skip


def test_a_zone_of_rounding_is_none():
    """Three lines through one point: what clipping leaves between them is 2e-33 of the box."""
    table = three()
    player = Player(Task(table, BY_KEY["kesler"], {}))
    told = player.zones([-1.0, 1.2, -0.7, 1.0], "unanimous")
    assert "(0 % no class" in told["sentence"]


def test_a_script_prints_what_can_be_read():
    long = Player.of("mse-1", "widrow-hoff").snippet()
    assert "run[:20]" in long and "narrate" not in long  # of 40 000 steps
    short = Player(Task.of(task("students", convention="003"))).snippet()
    assert 'print(run.narrate("003"))' in short  # in the words of the page
    for code in long, short:
        compile(code, "script", "exec")


def test_settings_are_parameters_of_their_classes():
    for method in METHODS:
        made = method.make(method.read({}), 2)
        assert type(made).__name__ == method.estimator
        assert len({s.name for s in method.settings}) == len(method.settings)


def test_tables_that_do_not_fit_say_so():
    rng = np.random.default_rng(0)
    many = Table(X=rng.normal(size=(40, 2)), y=np.arange(40) % 12, name="many")
    with pytest.raises(DataError, match="12 classes"):
        Task(many, BY_KEY["perceptron"], {}).told()
    with pytest.raises(DataError, match="1001 features"):
        Task(Table(X=np.zeros((2, 1001)), y=np.arange(2)), BY_KEY["perceptron"], {}).told()


def test_of_many_rows_there_is_a_sample_that_says_so():
    X, y = np.arange(12_000.0).reshape(6000, 2), np.arange(6000) % 3
    told = Task(Table(X=X, y=y, name="long"), BY_KEY["perceptron"], {}).told()["table"]
    assert told["notes"] == "a sample of 5000 of 6000 rows: verdict and model are about these"
    rows = [int(name.removeprefix("row ")) for name in told["rows"]]
    assert rows == sorted(set(rows)) and len(rows) == 5000
    assert told["X"] == X[rows].tolist() and told["y"] == y[rows].tolist()
    text = "x1,x2,y\n" + "\n".join(f"{k},{k % 7},{k % 2}" for k in range(5001)) + "\n"
    page = table_of_bytes(text.encode(), "long.csv")
    assert page["notes"].startswith("5000 rows, 2 features. a sample of 5000 of 5001")


def test_slides_about_steps_have_some():
    """A lecture that shows how a method moves needs a set on which it moves."""
    told = {table["name"]: table for table in sets()["sets"]}
    moving = ("The perceptron algorithm", "The ε-solution", "The perceptron with", "Two multip")
    for slide in (slide for _, slide in SLIDES if slide["title"].startswith(moving)):
        table = {key: told[slide["set"]][key] for key in ("X", "y", "classes", "features")}
        settings = slide.get("settings", {})
        player = Player(Task.of({"table": table, "method": slide["method"], "settings": settings}))
        assert len(player) > 5, slide["title"]


def test_the_player_and_what_a_page_begins_with_need_numpy_alone():
    code = (
        "import sys, linsep.lab.player; from linsep.lab.tables import sets; assert sets()['sets'];"
        "heavy = {'sklearn', 'scipy', 'numba', 'pandas', 'starlette', 'matplotlib'};"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
