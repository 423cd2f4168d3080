"""The server: who may ask, what it takes, how it ends; and the files of the page."""

from __future__ import annotations

import gzip
import http.client
import json
import logging
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linsep
from linsep.lab import player
from linsep.lab.page import MODULES, bundle, files, part, style
from linsep.lab.server import MOST_BYTES, Lab

STATIC = Path(linsep.__file__).parent / "lab" / "static"


@pytest.fixture(scope="module")
def page():
    with_task = linsep.lab("mse-1", browser=False, widget=False)
    yield with_task
    with_task.close()


def own(page):
    """The cookie of the browser that these tests are."""
    page.cookie = getattr(page, "cookie", None) or page.door.enter(page.door.token)
    return page.cookie


def ask(page, path="/", method="GET", body=None, *, host=None, origin=True, cookie=True, more=None):
    """One request as a browser, or as a stranger, would send it."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=60)
    headers = {"Host": host or f"127.0.0.1:{page.port}", **(more or {})}
    if origin:
        headers["Origin"] = f"http://127.0.0.1:{page.port}" if origin is True else origin
    if cookie:
        headers["Cookie"] = f"linsep-lab-{page.port}={own(page) if cookie is True else cookie}"
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def question(page, verb, data, **how):
    status, _, body = ask(page, f"/ask/{verb}", "POST", json.dumps(data), **how)
    return status, json.loads(body) if status == 200 else body


def test_a_token_lets_one_browser_in_once_and_leaves_the_address(page):
    address = page.url.partition(str(page.port))[2] + "&hide=data,lift"
    status, headers, _ = ask(page, address, cookie=False)
    low = {name.lower(): value for name, value in headers.items()}
    assert (status, low["location"]) == (303, "/?hide=data%2Clift")
    assert "HttpOnly" in low["set-cookie"] and "samesite=lax" in low["set-cookie"].lower()
    assert "max-age" in low["set-cookie"].lower()  # a browser that was killed comes back
    cookie = low["set-cookie"].split(";")[0].split("=")[1]
    assert cookie not in address
    for again in ("/", address):  # a reload; a second tab with the same address
        assert ask(page, again, cookie=cookie)[0] in (200, 303)
    assert ask(page, cookie=cookie)[2].count(b'<div id="linsep-lab"') == 1
    told = []
    page.door.refused = lambda: told.append(page.url)
    assert ask(page, address, cookie=False)[0] == 403  # another browser
    assert (
        len(told) == 1 and ask(page, told[0].partition(str(page.port))[2], cookie=False)[0] == 303
    )


@pytest.mark.parametrize("path", ["/", "/?token=wrong", "/?token="])
def test_without_the_token_there_is_nothing(page, path):
    status, _, body = ask(page, path, cookie=False)
    assert status == 403 and page.door.token.encode() not in body
    assert ask(page, cookie="guess")[0] == 403
    assert question(page, "start", {}, cookie=False)[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"])
def test_other_names_of_this_host_are_refused(page, host):
    assert ask(page, host=host)[0] == 403
    assert question(page, "start", {}, host=host)[0] == 403


@pytest.mark.parametrize("origin", [False, "null", "http://evil.example", "http://127.0.0.1:1"])
def test_other_pages_may_not_ask(page, origin):
    assert question(page, "start", {}, origin=origin)[0] == 403
    status, headers, _ = ask(page, "/ask/run", "OPTIONS", origin=origin)
    assert status == 405
    assert not [name for name in headers if name.lower().startswith("access-control")]


def test_every_answer_has_a_policy_without_inline_script(page):
    for path in ("/", "/static/page.js", "/nowhere"):
        headers = {k.lower(): v for k, v in ask(page, path)[1].items()}
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_no_path_of_a_request_is_a_path_of_the_disk(page):
    for path in ("/static/../page.py", "/static/%2e%2e/page.py", "/static//etc/passwd", "/etc"):
        assert ask(page, path)[0] == 404
    status, _, body = ask(page, "/static/lab.css")
    assert status == 200 and body.decode() == part("lab.css")
    packed = ask(page, "/static/lab.css", more={"Accept-Encoding": "gzip"})
    assert packed[1]["content-encoding"] == "gzip" and gzip.decompress(packed[2]) == body


def test_questions_are_answered_and_bad_ones_are_sentences(page):
    _, start = question(page, "start", {})
    assert start["task"]["table"]["name"] == "mse-1" and len(start["lectures"]) == 5
    status, found = question(page, "run", {"task": start["task"]})
    assert status == 200 and found["weights"][0] == [0, 0, 0]
    run = linsep.trace(linsep.Perceptron(), *linsep.data.load("mse-1"))
    assert found["weights"][-1] == [*run[-1].coef.tolist(), run[-1].intercept]
    for body in (b"", b"[", b"[]", b'{"task": 1}', b"[" * 5000, b'{"task":{}, "task":{}}'):
        status, _, answer = ask(page, "/ask/run", "POST", body)
        assert status == 200 and json.loads(answer)["error"]
    assert "error" in question(page, "magic", {})[1]
    assert "error" in question(page, "export", {"task": start["task"], "kind": "../x"})[1]
    status, _, answer = ask(page, "/ask/read", "POST", b"a,b,y\n1,2,x\n3,4,z\n")
    assert json.loads(answer)["classes"] == ["x", "z"]


def test_a_bug_is_told_as_one(page, monkeypatch):
    _, start = question(page, "start", {})
    monkeypatch.setattr(player, "answer", lambda *_: [][0])
    status, found = question(page, "run", {"task": start["task"]})
    assert status == 200 and "run broke down (IndexError" in found["error"]
    assert "a bug of linsep" in found["error"]


def test_a_question_has_a_size(page):
    status, _, body = ask(page, "/ask/run", "POST", b" " * (MOST_BYTES + 1))
    assert status == 413 and b"8 MB" in body


def test_a_question_that_stops_half_way_is_given_up_in_silence(page, monkeypatch, caplog):
    """A browser that is killed, one that is asleep: nothing is printed, nothing is kept."""
    said = logging.getLogger("uvicorn.error")
    said.addHandler(caplog.handler)  # it hands nothing on
    server = sys.modules["linsep.lab.server"]
    monkeypatch.setattr(server, "MOST_SECONDS", 0.2)
    head = (
        f"POST /ask/run HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n"
        f"Origin: http://127.0.0.1:{page.port}\r\n"
        f"Cookie: linsep-lab-{page.port}={own(page)}\r\nContent-Length: 9000\r\n\r\n{{"
    )
    with socket.create_connection(("127.0.0.1", page.port), timeout=60) as slow:
        slow.sendall(head.encode())
        assert b"within 0.2 seconds" in slow.makefile("rb").read()
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", page.port), timeout=60) as killed:
            killed.sendall(head.encode())
    for _ in range(3):
        assert ask(page)[0] == 200
    said.removeHandler(caplog.handler)
    assert caplog.messages == []


def test_the_table_is_what_the_page_asked_about(page):
    task = question(page, "start", {})[1]["task"]
    task["table"]["X"][0] = [6.5, 9.25]
    question(page, "run", {"task": task})
    assert page.table.X[0].tolist() == [6.5, 9.25]
    assert page.table.y.tolist() == [1, 1, -1, -1]
    run = linsep.trace(linsep.Perceptron(), page.table.X, page.table.y)
    assert page.model.coef_.tolist() == [run[-1].coef.tolist()] and len(page.run) == len(run)
    empty = Lab({})
    with pytest.raises(linsep.errors.DataError, match="no page has asked"):
        _ = empty.model
    empty._socket.close()


def test_rows_of_python_come_to_the_page():
    X = np.array([[0.1, 1 / 3], [2.0, 1.0], [1.0, 0.0]])
    made = Lab(
        linsep.lab.__globals__["start_of"](X, ["no", "yes", "no"], "linear-svm", {"C": 10.0})
    )
    assert np.array_equal(made.table.X, X) and made.table.y.tolist() == ["no", "yes", "no"]
    assert made.task["settings"]["C"] == 10.0
    made._socket.close()
    with pytest.raises(linsep.errors.DataError, match="labels"):
        linsep.lab(X)
    with pytest.raises(linsep.errors.DataError, match="no method"):
        linsep.lab(X, ["a", "b", "a"], method="magic")


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_ctrl_c_ends_the_command(busy):
    command = [sys.executable, "-m", "linsep", "lab", "--no-browser", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        told = json.loads(run.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", told["port"], timeout=60)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.read() and answer.status == 403
        if busy:  # a kernel machine of 5000 rows takes seconds, and cannot be asked to stop
            host = f"127.0.0.1:{told['port']}"
            connection.request("GET", told["url"].partition(host)[2])
            entered = connection.getresponse()
            headers = {"Origin": f"http://{host}", "Cookie": entered.getheader("Set-Cookie")}
            assert entered.read() == b""
            X = np.random.default_rng(0).normal(size=(5000, 2)).round(3).tolist()
            table = {"X": X, "y": [k % 2 for k in range(5000)], "classes": [0, 1]}
            task = {"table": table, "method": "kernel-svm"}
            connection.request("POST", "/ask/run", json.dumps({"task": task}), headers)
            other = http.client.HTTPConnection("127.0.0.1", told["port"], timeout=60)
            other.request("GET", "/", headers=headers)
            assert other.getresponse().status == 200  # others are answered meanwhile
            other.close()
        else:
            connection.close()
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) in (0, 130)
        words = run.stderr.read()
        assert "Traceback" not in words and "ERROR" not in words
        connection.close()


# -- the files of the page ---------------------------------------------------------------------


def test_the_page_is_small_and_asks_nobody_else():
    told = files()
    assert sum(len(gzip.compress(text.encode())) for _, text in told.values()) < 75_000
    for name, (_, text) in told.items():
        assert not re.search(r"https?://|//[a-z]+\.[a-z]|@import|eval\(|new Function", text), name
    assert "<script>" not in told["index.html"][1] and "style=" not in told["index.html"][1]


def test_every_module_is_listed_and_needs_those_before_it():
    own = {path.name for path in STATIC.glob("*.js")} | {"plot.js", "field.js"}
    assert own == {*MODULES, "main.js", "widget.js"}
    for place, name in enumerate(MODULES):
        needs = set(re.findall(r'from "\./([\w.]+)"', part(name)))
        assert needs <= set(MODULES[:place]), name


def test_no_part_of_the_page_reaches_into_what_another_keeps():
    for name in (*MODULES, "main.js", "widget.js"):
        reached = re.findall(r"\b(?!this\b|super\b)\w+\??\._\w+", part(name))
        assert reached == [], name


def test_modules_have_distinct_names_so_that_they_can_be_one():
    seen = {}
    for name in (*MODULES, "main.js"):
        for word in re.findall(r"^(?:export )?(?:async )?(?:const|let|function|class) (\w+)",
                               part(name), re.MULTILINE):  # fmt: skip
            assert word not in seen, f"{word} is in {seen.get(word)} and {name}"
            seen[word] = name
    assert not re.search(r"^(export|import)\b", bundle(), re.MULTILINE)
    assert ":root" not in style()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_pure_modules_pass_their_own_tests():
    done = subprocess.run(
        ["node", "--test", str(Path(__file__).parent)], capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_widget_has_its_traits_and_answers(monkeypatch):
    pytest.importorskip("anywidget")
    widget = linsep.lab("mse-1", widget=True)
    sent = []
    monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append(content))
    widget._asked(widget, {"id": "1", "verb": "start", "data": {}}, [])
    widget._asked(widget, {"id": "2", "verb": "run", "data": {"task": widget.task}}, [])
    assert [one["id"] for one in sent] == ["1", "2"]
    assert sent[1]["answer"]["weights"][0] == [0, 0, 0]
    widget.task = {**widget.task, "method": "linear-svm", "settings": {"C": 3.0}}
    assert np.array_equal(
        widget.model.coef_, linsep.LinearSVM(C=3.0).fit(*linsep.data.load("mse-1")).coef_
    )
    assert widget.run.algorithm == "LinearSVM"
    assert widget.table.X.shape == (4, 2) and widget._esm.rstrip().endswith(
        "export default { render };"
    )
