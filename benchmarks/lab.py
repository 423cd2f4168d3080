"""The lab: how long from the command to an answer, from a key to the picture, from a drag to it.

Needs Chromium and playwright. Targets: a step is painted within 16 ms at 200 points; 2000 points
are dragged at 30 pictures a second; the page is ready within 0.5 s and smaller than 150 kB; memory
stays flat over 10,000 steps; the command answers within 1.5 s, its first run among the answers.
Where other programs compute the clock says little: a picture is told in processor time of the
page's main thread as well, and an answer in that of the server.

    python benchmarks/lab.py
"""

from __future__ import annotations

import compileall
import gzip
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import linsep
from linsep.data.table import Table
from linsep.lab.page import files

_FRAMES = """async ([count, act]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done)), times = [];
  const go = new Function("k", act);
  for (let k = 0; k < count; k++) {
    const begin = performance.now();
    go(k);
    lab.draw();
    times.push(performance.now() - begin);
    await frame();
  }
  return times.sort((a, b) => a - b);
}"""


def clouds(n: int) -> Table:
    """Two clouds of n points that meet."""
    rng = np.random.default_rng(1)
    y = np.arange(n) % 2
    X = (rng.normal(size=(n, 2)) + 1.2 * (2 * y[:, None] - 1)).round(3)
    return Table(X=X, y=y, name=f"{n} points")


_WATCH = """() => {
  const seen = window.seen = { frames: [], on: true };
  const look = (now) => { seen.frames.push(now); if (seen.on) requestAnimationFrame(look); };
  requestAnimationFrame(look);
}"""


def dragged(page: Any) -> float:
    """Pictures a second while the mouse drags a point about, runs asked for on the way."""
    place = """() => { const r = lab.plane.marks[0].getBoundingClientRect();
      return [r.x + r.width / 2, r.y + r.height / 2]; }"""
    x, y = page.evaluate(place)
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(_WATCH)
    begin = time.perf_counter()
    k = 0
    while time.perf_counter() - begin < 3:
        k += 1
        page.mouse.move(x + 40 * np.sin(k / 9), y + 40 * np.cos(k / 9))
    frames = page.evaluate("() => { seen.on = false; return seen.frames; }")
    page.mouse.up()
    return 1000 * (len(frames) - 1) / (frames[-1] - frames[0])


def told(what: str, value: float, target: float, unit: str) -> None:
    """One line of the result."""
    mark = "ok" if value <= target else "MISSED"
    print(f"{what:<52}{value:>10.3g} {unit:<4} target {target:g} {unit:<4} {mark}")


def busy(tools: Any) -> float:
    """Milliseconds of processor time that the main thread of the page has taken."""
    found = {m["name"]: m["value"] for m in tools.send("Performance.getMetrics")["metrics"]}
    return 1000 * float(found["TaskDuration"])


def spent(process: int) -> float:
    """Seconds of processor time that a process has taken; not a number where nothing tells it."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return float("nan")
    ticks = sum(map(int, text.rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def command() -> None:
    """Seconds from the start of the process to its answers, with an empty cache.

    Modules are compiled to bytecode, as they are once they are installed.
    """
    line = [sys.executable, "-m", "linsep", "lab", "--no-browser", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        own = os.environ | {"NUMBA_CACHE_DIR": folder, "LINSEP_CACHE_DIR": folder}
        own.pop("PYTHONDONTWRITEBYTECODE", None)
        compileall.compile_dir(Path(linsep.__file__).parent, quiet=2)
        begin = time.perf_counter()
        with subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=own
        ) as run:
            assert run.stdout is not None
            url = json.loads(run.stdout.readline())["url"]
            host = url.split("/")[2]
            connection = http.client.HTTPConnection(host, timeout=60)

            def ask(way: str, path: str, body: str | None = None, **more: str) -> Any:
                connection.request(way, path, body, {"Origin": f"http://{host}", **more})
                answer = connection.getresponse()
                return answer.getheader("Set-Cookie"), answer.read()

            cookie = ask("GET", url.partition(host)[2])[0].split(";")[0]
            start = json.loads(ask("POST", "/ask/start", "{}", Cookie=cookie)[1])
            told("command to all that the page begins with", time.perf_counter() - begin, 1.5, "s")
            told("  processor time until then", spent(run.pid), 1.5, "s")
            table = {k: v for k, v in start["sets"][0].items() if k not in ("shown", "notes")}
            question = json.dumps({"task": {"table": table, "method": "perceptron"}})
            assert b"weights" in ask("POST", "/ask/run", question, Cookie=cookie)[1]
            told("command to its first run", time.perf_counter() - begin, 1.5, "s")
            told("  processor time until then", spent(run.pid), 1.5, "s")
            run.terminate()


def walked(page: Any, served: Any) -> None:
    """Memory of the page after 10,000 steps, each of them drawn, against that after 500."""
    page.goto(f"{served.url}#set=mse-1&m=widrow-hoff&most=20000&t=0")
    page.wait_for_function("() => window.lab?.run && lab.verdict", timeout=60_000)
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")
    act = """([from, to]) => {
      for (let t = from; t < to; t++) { lab.state.step = t % lab.run.update.length; lab.draw(); }
    }"""
    seen = []
    for first, last in ((0, 500), (500, 10_500)):
        page.evaluate(act, [first, last])
        page.wait_for_timeout(500)
        tools.send("HeapProfiler.collectGarbage")
        found = {m["name"]: m["value"] for m in tools.send("Performance.getMetrics")["metrics"]}
        seen.append((found["JSHeapUsedSize"] / 1e6, found["Nodes"]))
    told("memory after 10,000 more steps, growth", max(seen[1][0] - seen[0][0], 0.0), 2, "MB")
    told("nodes of the page after them, growth", max(seen[1][1] - seen[0][1], 0), 200, "")


def main() -> None:
    """All figures, one a line."""
    size = sum(len(gzip.compress(text.encode())) for _, text in files().values()) / 1000
    told("all files of the page, as sent", size, 150, "kB")
    command()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no Chromium here: the page is not measured")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for n, target in ((200, 16.0), (2000, 33.0)):
            served = linsep.lab(clouds(n), browser=False, widget=False)
            page = chromium.new_page()
            page.goto(served.url)
            page.wait_for_function("() => window.lab?.run && lab.verdict", timeout=60_000)
            if n == 200:
                ready = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
                told("page ready (warm)", page.evaluate(ready) / 1000, 0.5, "s")
                tools = page.context.new_cdp_session(page)
                tools.send("Performance.enable", {"timeDomain": "threadTicks"})
                begin = busy(tools)
                steps = page.evaluate(
                    _FRAMES, [60, "lab.state.step = 1 + k % (lab.run.update.length - 1)"]
                )
                told("step to picture, 200 points, median", steps[30], target, "ms")
                cost = (busy(tools) - begin) / 60
                told("  processor time of a step, with layout and paint", cost, target, "ms")
                walked(page, served)
                page.goto(served.url)
                page.wait_for_function("() => window.lab?.run && lab.verdict", timeout=60_000)
            act = "lab.plane.points[0] = [k / 50, 0]; lab.state.table.X[0] = [k / 50, 0]"
            moves = page.evaluate(_FRAMES, [40, act])
            told(f"whole picture while a point is dragged, {n} points", moves[20], 33, "ms")
            light = page.evaluate(_FRAMES.replace("lab.draw();", ""), [
                40, "lab.plane.place(0, [k / 50, 0])"])  # fmt: skip
            told(f"the dragged mark alone, {n} points", light[20], 16, "ms")
            rate = dragged(page)
            told(f"a picture of a real drag, {n} points", 1000 / rate, 33, "ms")
            page.close()
            served.close()
        chromium.close()


if __name__ == "__main__":
    main()
