"""The lab: how long from the command to an answer, from a key to the picture, from a drag to it.

Needs Chromium and playwright. Targets: a step is painted within 16 ms at 200 points; 2000 points
are dragged at 30 pictures a second; the page is ready within 0.5 s and smaller than 150 kB; memory
stays flat over 10,000 steps; the command answers within 1.5 s.

    python benchmarks/lab.py
"""

from __future__ import annotations

import gzip
import http.client
import json
import shutil
import subprocess
import sys
import time

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
    lab._draw();
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


def told(what: str, value: float, target: float, unit: str) -> None:
    """One line of the result."""
    mark = "ok" if value <= target else "MISSED"
    print(f"{what:<52}{value:>10.3g} {unit:<4} target {target:g} {unit:<4} {mark}")


def command() -> None:
    """Seconds from the start of the process to the first answer of its page."""
    begin = time.perf_counter()
    line = [sys.executable, "-m", "linsep", "lab", "--no-browser", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        port = json.loads(run.stdout.readline())["port"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/static/lab.js")
        connection.getresponse().read()
        told("command to first answer", time.perf_counter() - begin, 1.5, "s")
        run.terminate()


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
                steps = page.evaluate(
                    _FRAMES, [60, "lab.state.step = 1 + k % (lab.run.update.length - 1)"]
                )
                told("step to picture, 200 points, median", steps[30], target, "ms")
                page.evaluate("lab.toEnd()")
                page.wait_for_timeout(3000)
                heap = "performance.memory.usedJSHeapSize / 1e6"
                before = page.evaluate(heap)
                page.evaluate(_FRAMES, [500, "lab.state.step = k * 20 % lab.run.update.length"])
                grown = page.evaluate(heap) - before
                told("memory after 10,000 steps walked, growth", max(grown, 0.0), 20, "MB")
            act = "lab.plane.points[0] = [k / 50, 0]; lab.state.table.X[0] = [k / 50, 0]"
            moves = page.evaluate(_FRAMES, [40, act])
            told(f"whole picture while a point is dragged, {n} points", moves[20], 33, "ms")
            light = page.evaluate(_FRAMES.replace("lab._draw();", ""), [
                40, "lab.plane._place(lab.plane.marks[0], k / 50, 0)"])  # fmt: skip
            told(f"the dragged mark alone, {n} points", light[20], 16, "ms")
            page.close()
            served.close()
        chromium.close()


if __name__ == "__main__":
    main()
