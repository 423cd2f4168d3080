"""The replay page: one file, nothing from outside, safe whatever the names say."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import linsep
from linsep.display import replay
from linsep.display.replay import replay_page

NASTY = "</script><script>alert(1)</script><!-- & \u2028 'x' \"y\" ${z} $title"


class Reader(HTMLParser):
    """Collects tags, their attributes and the text of the data element."""

    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.data, self.links, self._inside = [], [], "", [], False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.ids.append(attrs.get("id"))
        self.links += [attrs[name] for name in ("src", "href") if name in attrs]
        self._inside = attrs.get("id") == "data"

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, text):
        if self._inside:
            self.data += text


def read(page):
    reader = Reader()
    reader.feed(page)
    return reader, json.loads(reader.data)


def run(name="five-points", model=None, **options):
    table = linsep.data.load(name)
    return linsep.trace(model or linsep.Perceptron(), table.X, table.y, **options)


def in_browser(page, tmp_path, fragment):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs chromium")
    path = tmp_path / "run.html"
    path.write_text(page, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += ["--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [browser, *flags, f"{path.as_uri()}#{fragment}"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    return done.stdout


def sentences(data):
    out = []
    for pattern, *numbers in data["why"]:
        parts = data["patterns"][pattern]
        out.append("".join(p + n for p, n in zip(parts, [*numbers, ""])))
    return out


def test_page_holds_every_step():
    trace = run(max_steps=40)
    reader, data = read(trace.to_html())
    assert len(data["count"]) == len(trace) == 41
    assert data["count"] == [len(step.errors) for step in trace]
    assert data["errors"] == [list(step.errors) for step in trace]
    assert data["row"] == [-1 if step.row is None else step.row for step in trace]
    np.testing.assert_allclose(data["weights"], [[*s.coef, s.intercept] for s in trace])
    np.testing.assert_array_equal(data["X"], trace.X)
    assert sentences(data) == [step.why for step in trace]
    assert reader.tags.count("script") == 2


def test_page_needs_nothing_from_outside():
    page = run(max_steps=3).to_html()
    reader, _ = read(page)
    assert reader.links == []
    assert "http" not in page
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", page)


def test_names_cannot_break_out_of_the_page():
    table = linsep.data.load("five-points")
    trace = linsep.trace(
        linsep.Perceptron(), table.X, np.where(table.y > 0, NASTY, "b"),
        max_steps=5, row_names=[NASTY] * 5,
    )  # fmt: skip
    trace.algorithm = trace.outcome.message + NASTY
    trace.feature_names = [NASTY, "x2"]
    page = trace.to_html()
    reader, data = read(page)
    assert reader.tags.count("script") == 2
    assert "alert(1)</script>" not in page
    assert data["rows"] == [NASTY] * 5
    assert NASTY in data["classes"]
    assert data["features"][0] == NASTY
    assert sentences(data) == [step.why for step in trace]
    assert html.escape(trace.algorithm) in page


def test_page_is_usable_without_a_mouse():
    page = run(max_steps=3).to_html()
    reader, _ = read(page)
    for name in ("play", "back", "next", "first", "last", "slider"):
        assert name in reader.ids
    buttons = re.findall(r"<button[^>]*>", page)
    assert len(buttons) == 5
    assert all("aria-label=" in button for button in buttons)
    for word in ("aria-live", "ArrowRight", "ArrowLeft", "prefers-color-scheme", 'lang="en"'):
        assert word in page


def test_rows_of_many_features_become_bars_of_weights():
    _, data = read(run("students").to_html())
    assert data["X"] is None
    assert data["names"] == ["x1", "x2", "x3", "x4", "intercept"]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 200)), np.arange(30) % 2
    _, wide = read(linsep.trace(linsep.Perceptron(), X, y).to_html())
    assert len(wide["names"]) == len(wide["weights"][0]) == 24
    assert wide["note"] == "The 24 largest of 201 weights."


def test_three_classes_have_weights_for_each():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 10)
    X = rng.normal(size=(30, 2)) + 9 * np.array([(0, 0), (1, 0), (0, 1)]).repeat(10, axis=0)
    trace = linsep.trace(linsep.Perceptron(), X, y)
    _, data = read(trace.to_html())
    assert data["names"][:4] == ["a: x1", "a: x2", "a: intercept", "b: x1"]
    last = np.column_stack([trace[-1].coef, trace[-1].intercept]).ravel()
    np.testing.assert_allclose(data["weights"][-1], last, rtol=1e-9)


def test_one_feature_lies_on_a_line():
    _, data = read(run("offset-pair").to_html())
    assert data["flat"] is True
    assert data["X"] == [[1, 0], [2, 0]]


def test_numbers_that_json_lacks_become_null():
    trace = run(max_steps=3)
    trace[1].extra["lower"] = -np.inf
    trace[2].extra["lower"] = 0.5
    _, data = read(trace.to_html())
    assert data["extra"]["lower bound of the margin"] == [None, None, 0.5, None]


def test_long_traces_stay_small():
    trace = run(max_steps=5000)
    page = trace.to_html()
    assert len(page) < 120 * len(trace)
    assert sentences(read(page)[1])[4321] == trace[4321].why


def test_very_long_traces_are_thinned(monkeypatch):
    monkeypatch.setattr(replay, "_MOST_STEPS", 11)
    monkeypatch.setattr(replay, "_MOST_ROWS", 3)
    monkeypatch.setattr(replay, "_MOST_ERRORS", 5)
    _, data = read(replay_page(run(max_steps=100)))
    assert data["update"] == list(range(0, 101, 10))
    assert data["note"] == "11 of 101 steps are shown."
    assert data["errors"] is None
    assert data["ids"] is None or set(data["row"]) - {-1} <= set(data["ids"])


@pytest.mark.slow
@pytest.mark.parametrize("keep_errors", [True, False])
def test_browser_shows_the_step(tmp_path, monkeypatch, keep_errors):
    if not keep_errors:
        monkeypatch.setattr(replay, "_MOST_ERRORS", 0)
    trace = run(model=linsep.Perceptron(start=([1, 1], 1)), max_steps=12)
    shown = in_browser(trace.to_html(), tmp_path, 5)
    words = re.search(r'<p id="why"[^>]*>(.*?)</p>', shown)
    assert html.unescape(words[1]) == trace[5].why
    wrong = re.search(r'<p id="wrong"[^>]*>(.*?)</p>', shown)
    assert wrong[1] == ", ".join(f"row {i}" for i in trace[5].errors)
    assert shown.count('class="wrong"') == len(trace[5].errors) + 1  # and the legend


def test_rows_and_columns_with_names_keep_them():
    students = linsep.data.load("students")
    named = students.frame().drop(columns=students.target)
    trace = linsep.trace(linsep.Perceptron(start=([0.25] * 4, 0.25)), named, students.y)
    _, data = read(trace.to_html())
    assert data["rows"] == ["Jane", "Steve", "Mary", "Peter"]
    assert data["features"] == ["attendance", "tall", "sleeps", "gum"]
    assert data["table"] == students.X.tolist()
    assert "Steve has value -1.25" in sentences(data)[1]


def test_numbers_of_a_frame_are_no_names():
    pandas = pytest.importorskip("pandas")
    table = linsep.data.load("mse-1")
    assert linsep.trace(linsep.Perceptron(), pandas.DataFrame(table.X), table.y).row_names is None


def test_weights_stand_as_the_lecture_writes_them():
    trace = run("students", linsep.Perceptron(start=([0.25] * 4, 0.25)))
    _, data = read(trace.to_html(convention="003"))
    assert [data["names"][j] for j in data["order"]] == ["w0", "x1", "x2", "x3", "x4"]
    assert [data["weights"][-1][j] for j in data["order"]] == [-0.75, 1.25, -0.75, -0.75, -0.75]
    assert data["symbol"] == ["a(", ")", 1]
    _, last = read(trace.to_html(convention="004"))
    assert [last["names"][j] for j in last["order"]][-1] == "w0"


def test_looks_are_no_updates():
    trace = run("students", linsep.Perceptron(start=([0.25] * 4, 0.25)), visits=True)
    _, data = read(trace.to_html())
    assert data["looks"] is True
    assert data["update"] == [0, 0, 1, 2, 3, 3, 3, 3, 3]
    assert data["extra"]["step η"] == [None, None, 1, 1, 1, None, None, None, None]


def test_what_is_kept_has_no_facts_of_the_last_update():
    trace = run(model=linsep.Perceptron(start=([1, 1], 1)))
    _, data = read(trace.to_html())
    assert (data["closing"], data["kept"]) == (True, 4)
    assert all(values[-1] is None for values in data["extra"].values())


@pytest.mark.slow
def test_browser_lists_rows_of_many_features_with_their_values(tmp_path):
    students = linsep.data.load("students")
    named = students.frame().drop(columns=students.target)
    model = linsep.Perceptron(start=([0.25] * 4, 0.25))
    trace = linsep.trace(model, named, students.y, visits=True, convention="003")
    shown = in_browser(trace.to_html(), tmp_path, 5)
    assert "Visit 5: no update (3 of 3 made)" in shown
    assert re.search(r"<caption>a\(4\)</caption>", shown)
    rows = re.findall(r'<th scope="row">(Jane|Steve|Mary|Peter)</th>(.*?)</tr>', shown)
    values = [re.findall(r"<td[^>]*>(.*?)</td>", cells)[5] for _, cells in rows]
    assert values == ["1.25", "1.75", "1.25", "1.25"]


@pytest.mark.slow
def test_browser_shows_rows_of_a_kernel_machine_without_a_plane(tmp_path):
    trace = run("xor", linsep.KernelPerceptron())
    shown = in_browser(trace.to_html(), tmp_path, 1)
    assert 'class="region"' not in shown
    assert 'class="mark"' in shown


def test_a_ground_has_a_field_for_each_step():
    trace = run("xor", linsep.KernelPerceptron())

    def scores(points, steps):
        x, y = np.asarray(points).T
        return np.stack([[-x * y * 10.0**t] for t in steps])

    ground = replay.Ground(points=trace.X, names=("u", "v"), scores=scores)
    _, data = read(replay_page(trace, ground=ground))
    size, box = data["ground"]["size"], data["ground"]["box"]
    assert len(data["ground"]["steps"]) == len(trace) and data["axes"] == ["u", "v"]
    u, v = np.meshgrid(np.linspace(*box[:2], size), np.linspace(*box[2:], size))
    for told in data["ground"]["steps"]:
        field = np.frombuffer(base64.b64decode(told), "<i2").astype(float)
        given = np.sinh(field / 32766 * np.arcsinh(1e12)) * 1e-12
        true = (-u * v / np.abs(u * v).max()).ravel()
        np.testing.assert_allclose(given, true, rtol=2e-3)
        assert np.array_equal(np.sign(given), np.sign(true))
    assert data["table"] == trace.X.tolist()


@pytest.mark.slow
def test_browser_draws_the_regions_of_a_kernel_machine_and_of_pieces(tmp_path):
    trace = run("xor", linsep.KernelPerceptron())

    def scores(points, steps):
        x, y = np.asarray(points).T
        return np.stack([[-x * y + 0.1 * t] for t in steps])

    ground = replay.Ground(points=trace.X, names=("u", "v"), scores=scores)
    shown = in_browser(replay_page(trace, ground=ground), tmp_path, 1)
    assert shown.count("<image ") == 1 and "data:image/png" in shown
    assert shown.count("<polyline") == 3  # two arms of the border, and the curve of errors
    square = [[-1, -1], [1, -1], [1, 1]]
    pieces = replay.Ground(
        points=trace.X,
        names=("u", "v"),
        scores=scores,
        pieces=lambda box: [[0, square], [-2, square]],
    )
    shown = in_browser(replay_page(trace, ground=pieces), tmp_path, 1)
    assert 'class="region"' in shown and 'fill="url(#many)"' in shown
    assert "several classes" in shown
