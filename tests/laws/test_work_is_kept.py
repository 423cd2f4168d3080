"""Work is never lost: full disks, signals, kills in the middle of a write, closed streams."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

import linsep
from linsep.core.checkpoint import Checkpointer
from linsep.core.drive import Observer
from linsep.core.files import atomic_write_bytes
from linsep.errors import LinsepWarning

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="signals and limits of POSIX"),
    pytest.mark.timeout(180),
]
LINSEP = [sys.executable, "-m", "linsep"]


@pytest.fixture
def noise(tmp_path):
    """Rows that no plane separates: the perceptron goes on for ever."""
    rng = np.random.default_rng(2)
    lines = [",".join(f"{v:.3f}" for v in row) for row in rng.normal(size=(120, 4))]
    text = "\n".join(f"{line},{k % 2}" for k, line in enumerate(lines))
    (tmp_path / "noise.csv").write_text(f"{text}\n")
    return tmp_path


def fit(*more, passes=50, **options):
    settings = ["-a", "perceptron", "-s", "order=shuffle", "-s", f"max_iter={passes}"]
    return subprocess.run(
        [*LINSEP, "fit", "noise.csv", *settings, "-q", *more],
        capture_output=True, text=True, check=False, **options,
    )  # fmt: skip


def no_large_files():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # of bytes, as a full disk would be


def test_a_full_disk_ends_no_fit_and_hides_no_result(noise):
    done = fit(
        "--checkpoint", "run.npz", "-o", "m.json", "--json", cwd=noise, preexec_fn=no_large_files
    )
    assert json.loads(done.stdout)["status"] == "STEP_LIMIT"
    assert done.returncode == 1
    assert "the checkpoint run.npz could not be written (File too large)" in done.stderr
    assert "m.json cannot be written: File too large" in done.stderr
    assert "no other place" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in noise.iterdir()] == ["noise.csv"]


def test_a_model_goes_to_another_place_if_it_must(noise, monkeypatch, capsys):
    from linsep import formats
    from linsep.cli.main import main

    monkeypatch.chdir(noise)
    monkeypatch.setenv("TMPDIR", str(noise))
    monkeypatch.setattr("tempfile.tempdir", str(noise))
    save = formats.save

    def full(model, path):
        if str(path) == "m.json":
            raise OSError(28, "No space left on device", str(path))
        save(model, path)

    monkeypatch.setattr(formats, "save", full)
    assert main(["fit", "noise.csv", "-s", "max_iter=3", "-o", "m.json", "-q"]) == 1
    shown = capsys.readouterr()
    place = next(noise.glob("linsep-*-m.json"))
    assert f"model written to {place} instead" in shown.err
    assert "No space left" in shown.err
    assert "Perceptron" in shown.out
    assert linsep.load(place).predict([[0.0, 0.0, 0.0, 0.0]]).shape == (1,)


@pytest.mark.parametrize("option", ["-o", "--checkpoint"])
def test_outputs_are_tried_before_the_work(noise, option):
    (noise / "taken.json").mkdir()
    for path in ("taken.json", "noise.csv/under.json", "nowhere/m.json"):
        done = fit(option, path, cwd=noise)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{path} cannot be written" in done.stderr
    assert sorted(path.name for path in noise.iterdir()) == ["noise.csv", "taken.json"]


def test_a_checkpoint_that_cannot_be_written_is_a_warning(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    path = tmp_path / "gone" / "run.npz"
    model = linsep.LinearSVM(callbacks=[Checkpointer(path, every=0.0)])
    with pytest.warns(LinsepWarning, match="run.npz could not be written") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert model.status_.ok


def test_a_checkpoint_without_memory_is_a_warning(tmp_path, monkeypatch):
    """The file is made in memory first, beside the state."""
    from linsep.core import checkpoint

    def none_left(*_):
        raise MemoryError

    monkeypatch.setattr(checkpoint, "save_checkpoint", none_left)
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    model = linsep.LinearSVM(callbacks=[Checkpointer(tmp_path / "run.npz", every=0.0)])
    with pytest.warns(LinsepWarning, match=r"could not be written \(not enough memory\)"):
        model.fit(X, y)
    assert model.status_.ok


def test_the_first_checkpoint_comes_within_a_second(tmp_path, monkeypatch):
    from linsep.core import limits
    from linsep.rows import loops

    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 0.05
            return self.now

    monkeypatch.setattr(limits, "_source", Clock())
    monkeypatch.setattr(loops, "tick", lambda: None)  # a visit that reads all rows asks fifty times
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    times = []

    class Watch(Checkpointer):
        def _write(self, now):
            times.append(now.seconds)
            super()._write(now)

    watch = Watch(tmp_path / "run.npz", every=5.0)
    with pytest.warns(LinsepWarning, match="limit on steps"):
        linsep.Perceptron(order="shuffle", max_iter=3, callbacks=[watch]).fit(X, y)
    assert times[0] <= 1.2
    assert 4.5 <= times[1] - times[0] <= 6.0


@contextmanager
def started(command, **options):
    """A child that does not outlive its test, whatever becomes of that."""
    with subprocess.Popen(command, **options) as child:
        try:
            yield child
        finally:
            child.kill()  # nothing, where it has ended


@contextmanager
def begun(noise, *more):
    command = [
        *LINSEP, "fit", "noise.csv", "-s", "order=shuffle", "-s", "max_iter=1000000000", "-q",
        "--checkpoint", "run.npz", "--checkpoint-every", "0", *more,
    ]  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(command, cwd=noise, text=True, **pipes) as child:
        while not (noise / "run.npz").exists() and child.poll() is None:
            time.sleep(0.01)  # until it has come so far, however long that takes
        yield child


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_leaves_model_and_checkpoint(noise, name):
    with begun(noise, "-o", "m.json") as child:
        child.send_signal(getattr(signal, name))
        out, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    assert "stopped on request" in out
    assert "--resume run.npz" in err
    assert linsep.load(noise / "m.json").status_.name == "STOPPED"
    assert [p.name for p in noise.glob(".*")] == []


def test_a_kill_in_the_middle_of_a_write_leaves_the_last_whole_file(noise):
    for _ in range(3):
        (noise / "run.npz").unlink(missing_ok=True)
        with begun(noise) as child:
            time.sleep(0.03)
            child.kill()
        with np.load(noise / "run.npz") as file:
            assert json.loads(file["header"].tobytes())["format"] == "linsep-checkpoint"
    steps = json.loads(np.load(noise / "run.npz")["header"].tobytes())["numbers"]["steps"]
    stale = noise / f".run.npz.{_node()}-{child.pid}-abc.part"
    stale.write_bytes(b"half")
    foreign = noise / ".run.npz.elsewhere-1-abc.part"
    foreign.write_bytes(b"of another machine")
    done = fit("--resume", "run.npz", passes=steps // 120 + 2, cwd=noise)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in noise.glob(".*")] == [foreign.name]


def _node():
    from linsep.core import files

    return files._node()


WRITER = """
import sys
from linsep.core.files import atomic_write_bytes
for _ in range(150):
    atomic_write_bytes(sys.argv[1], sys.argv[2].encode() * 50_000)
"""


def test_two_writers_never_mix(tmp_path):
    path = tmp_path / "both.bin"
    atomic_write_bytes(path, b"a" * 50_000)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), letter]) for letter in "ab"
    ]
    while any(writer.poll() is None for writer in writers):
        data = path.read_bytes()
        assert data in (b"a" * 50_000, b"b" * 50_000)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [p.name for p in tmp_path.iterdir()] == ["both.bin"]


# -- the command line: streams that are closed, Ctrl-C before the work -----------------------------


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_traceback(noise, closed):
    command = f"{sys.executable} -m linsep fit noise.csv -s max_iter=2 -o m.json {closed}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=noise, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert done.returncode == 0
    assert (noise / "m.json").exists()


def test_letters_that_a_terminal_does_not_have_are_no_traceback(tmp_path):
    (tmp_path / "d.csv").write_text("größe,y\n1,jä\n2,nö\n3,nö\n0,jä\n", encoding="utf-8")
    done = subprocess.run(
        [*LINSEP, "fit", "d.csv", "-a", "perceptron", "-q"], cwd=tmp_path, capture_output=True,
        text=True, check=False, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert r"n\xf6" in done.stdout


def test_a_reader_that_goes_away_is_no_traceback(noise):
    command = f"{sys.executable} -m linsep algorithms perceptron | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


PRESSED = """
import os, signal, sys
class Presses:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{name})
sys.meta_path.insert(0, Presses())
sys.argv = ["linsep", "fit", "noise.csv"]
from linsep.__main__ import run
sys.exit(run())
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("linsep.cli.main", "SIGINT"), ("argparse", "SIGTERM"), ("linsep.core.limits", "SIGHUP"),
        ("numpy", "SIGINT"), ("linsep.cli.fit", "SIGINT"), ("linsep.data", "SIGTERM"),
        ("sklearn.base", "SIGINT"), ("pandas", "SIGHUP"),
    ],
)  # fmt: skip
def test_a_signal_during_imports_is_no_traceback(noise, module, name):
    done = subprocess.run(
        [sys.executable, "-c", PRESSED.format(module=module, name=name)],
        cwd=noise, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.endswith("linsep: interrupted\n")
    assert "Traceback" not in done.stderr


def test_a_signal_at_the_very_end_is_no_traceback():
    """Results are written by then; what is left is the end of the process."""
    code = (
        "import atexit, os, signal, sys; from linsep.__main__ import run\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.argv = ['linsep', 'algorithms', 'perceptron']; sys.exit(run())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "linsep: interrupted\n")
    assert "max_iter" in done.stdout


def test_ctrl_c_outside_of_runs_ends_at_once_and_runs_have_their_own(monkeypatch):
    """An exception in the middle of an import would come out as some other error."""
    from linsep._leave import leave
    from linsep.cli import algorithms, main
    from linsep.core.limits import Interrupts

    seen = []

    def run(args):
        seen.append(signal.getsignal(signal.SIGINT))
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
            seen.append(interrupts.requested)
        seen.append(signal.getsignal(signal.SIGINT))
        return 0

    monkeypatch.setattr(algorithms, "run", run)
    monkeypatch.setattr(sys, "argv", ["linsep", "algorithms"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main.main() == 0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [leave, True, leave]


# -- small file systems, where one may be mounted ---------------------------------------


@pytest.fixture
def mounted(tmp_path):
    """A folder with 64 KB in all, and how to make it read-only."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"there is no mount: {error}")
    if done.returncode:
        pytest.skip(f"nothing may be mounted: {done.stderr.strip()}")

    def read_only():
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)

    yield folder, read_only
    subprocess.run(["umount", str(folder)], check=True)


class Then(Observer):
    """Does something once, after so many moments."""

    def __init__(self, at, what):
        self.left, self.what = at, what

    def moment(self, now):
        self.left -= 1
        if self.left == 0:
            self.what()


@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_disk_that_fails_in_the_middle_leaves_the_checkpoint_before(mounted, fault):
    folder, read_only = mounted
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 2
    path = folder / "run.npz"
    whole = linsep.LinearSVM(tol=1e-9).fit(X, y)

    def fill():
        (folder / "other").write_bytes(bytes((os.statvfs(folder).f_bavail - 1) * 4096))

    watch = [Checkpointer(path, every=0.0), Then(4, fill if fault == "full" else read_only)]
    words = "No space left" if fault == "full" else "Read-only file system"
    with pytest.warns(LinsepWarning, match=f"run.npz could not be written .{words}"):
        model = linsep.LinearSVM(tol=1e-9, callbacks=watch).fit(X, y)
    assert model.coef_.tobytes() == whole.coef_.tobytes()
    again = linsep.LinearSVM(tol=1e-9).resume(X, y, path)
    assert again.coef_.tobytes() == whole.coef_.tobytes()


def test_a_read_only_folder_is_refused_before_the_work(noise, mounted):
    folder, read_only = mounted
    read_only()
    for option in ("-o", "--checkpoint"):
        done = fit(option, str(folder / "m.json"), cwd=noise)
        assert (done.returncode, done.stdout) == (1, "")
        assert "m.json cannot be written: Read-only file system" in done.stderr


def test_a_clock_that_jumps_neither_ends_nor_holds_up_a_fit(tmp_path, monkeypatch):
    """The clock of the day goes back a year and forth a year at every look."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    whole = linsep.LinearSVM().fit(X, y)
    year, now, turn = 365 * 86400.0, time.time(), [0]

    def jumping():
        turn[0] += 1
        return now + (year if turn[0] % 2 else -year)

    monkeypatch.setattr(time, "time", jumping)
    path = tmp_path / "run.npz"
    watch = Checkpointer(path, every=0.0)
    model = linsep.LinearSVM(time_limit=600.0, callbacks=[watch]).fit(X, y)
    assert model.coef_.tobytes() == whole.coef_.tobytes()
    assert linsep.LinearSVM().resume(X, y, path).coef_.tobytes() == whole.coef_.tobytes()


# -- results of all commands, not of fit alone ----------------------------------------------------

RESULTS = {
    "check": ["check", "noise.csv", "--save", "out.json"],
    "trace": ["trace", "students", "--html", "out.html", "--save", "out.json"],
    "predict": ["predict", "m.json", "noise.csv", "-o", "out.txt"],
    "scale": ["scale", "noise.csv", "-o", "out.svm", "-s", "out.range"],
    "fit": ["fit", "noise.csv", "-o", "out.json"],
    "plot": ["plot", "m.json", "noise.csv", "--json", "-o", "out.png"],
}


@pytest.fixture
def modelled(noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    linsep.save(linsep.LinearSVM().fit(X, np.arange(40) % 2), noise / "m.json")
    return noise


@pytest.mark.parametrize("command", RESULTS)
def test_a_result_that_cannot_be_written_is_printed(modelled, command, monkeypatch, capsys):
    """Nowhere, not even among temporary files, of which there is no folder then."""
    import tempfile

    from linsep.cli.main import main
    from linsep.core import files

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    def none():
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.chdir(modelled)
    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.setattr(files.os, "fsync", full)
    before = sorted(modelled.iterdir())
    assert main(RESULTS[command]) == 1
    shown = capsys.readouterr()
    assert "cannot be written: No space left on device." in shown.err
    assert "no other place was found" in shown.err
    assert len(shown.out.splitlines()) >= (1 if command == "plot" else 4)
    assert sorted(modelled.iterdir()) == before


@pytest.mark.parametrize("command", RESULTS)
def test_outputs_of_all_commands_are_tried_before_the_work(modelled, command, monkeypatch, capsys):
    from linsep.cli.main import main

    monkeypatch.chdir(modelled)
    (modelled / "out").mkdir()
    *words, option, _ = RESULTS[command]
    for place in ("out", "nowhere/x.json", "noise.csv/x.json"):
        assert main([*words, option, place]) == 1
        shown = capsys.readouterr()
        assert shown.out == ""
        assert f"{place} cannot be written" in shown.err


def test_an_output_is_no_input(modelled, monkeypatch, capsys):
    """A slip of the keyboard must not put a result in place of the data."""
    from linsep.cli.main import main

    monkeypatch.chdir(modelled)
    (modelled / "same.csv").symlink_to("noise.csv")
    before = {path.name: path.read_bytes() for path in modelled.iterdir()}
    for words in (
        "check noise.csv --save noise.csv",
        "check noise.csv --save same.csv",
        "scale same.csv -o noise.csv",
        "predict m.json noise.csv -o m.json",
        "convert m.json ./m.json",
        "fit noise.csv -s max_iter=2 --checkpoint noise.csv",
        "fit students -s max_iter=2 --checkpoint noise.csv",
    ):
        assert main(words.split()) == 1, words
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "is read by this command" in shown.err or "is no checkpoint" in shown.err
    assert {path.name: path.read_bytes() for path in modelled.iterdir()} == before


def test_a_study_that_a_signal_ends_says_what_it_has(noise):
    command = [*LINSEP, "study", "noise.csv", "--html", "r.html", "--code", "c.py", "-o", "m.json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(command, cwd=noise, text=True, **pipes) as child:
        told = iter(child.stderr.readline, "")
        assert any(line.startswith("logistic regression:") for line in told)
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    last = err.splitlines()[-1]
    assert last.startswith("warning: interrupted after")
    assert "not begun: " in last
    assert "RBF kernel SVM" in last
    assert "logistic regression" in out
    assert last.removeprefix("warning: ") in (noise / "r.html").read_text()
    compile((noise / "c.py").read_text(), "c.py", "exec")
    linsep.load(noise / "m.json")


def test_a_study_without_a_result_says_that_nothing_was_written(noise, monkeypatch, capsys):
    from linsep.cli import main

    def stopped(*args, **options):
        raise KeyboardInterrupt("interrupted before the first family was finished")

    monkeypatch.chdir(noise)
    monkeypatch.setattr(importlib.import_module("linsep.study.run"), "study", stopped)
    assert main.main(["study", "noise.csv", "--html", "r.html"]) == 130
    assert "interrupted before the first family was finished; nothing was" in (
        capsys.readouterr().err
    )
    assert not (noise / "r.html").exists()


def test_work_of_another_library_is_given_up_at_a_signal():
    from linsep.core.limits import Interrupts, TimeUpError, asked_to_stop, deaf_work

    def grown():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    with Interrupts():
        with pytest.raises(TimeUpError), deaf_work():
            grown()
        assert asked_to_stop()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("command", [["algorithms"], ["check", "noise.csv", "--json"]])
def test_a_full_standard_output_is_named(noise, command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*LINSEP, *command], cwd=noise, stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("linsep: standard output cannot be written")
    assert last.endswith("No space left on device")


# -- what is said on the way: a terminal, a log or a reader that is gone ---------------------------


@contextmanager
def in_a_terminal(folder, *words):
    """A command in a terminal of its own, and the end of it that a person would see."""
    import fcntl
    import pty
    import termios

    seen, own = pty.openpty()
    with started(
        [*LINSEP, *words], cwd=folder, stdin=own, stdout=own, stderr=own, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as child:  # fmt: skip
        os.close(own)
        yield child, seen


def test_a_terminal_that_is_closed_takes_nothing_along(noise):
    """SIGHUP as it really comes: after it, whatever is written to the terminal is an error."""
    with in_a_terminal(
        noise, "fit", "noise.csv", "-s", "order=shuffle", "-s", "max_iter=1000000000",
        "--checkpoint", "run.npz", "-o", "m.json",
    ) as (child, seen):  # fmt: skip
        shown = b""
        while b"updates" not in shown:  # the bar is there
            shown += os.read(seen, 4096)
        os.close(seen)
        assert child.wait(120) in (1, 130)
    assert linsep.load(noise / "m.json").status_.name == "STOPPED"
    assert [p.name for p in noise.glob(".*")] == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("words", ["fit noise.csv -s max_iter=2 -o m.json", "check noise.csv"])
def test_a_log_on_a_full_disk_ends_no_work(noise, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*LINSEP, *words.split()], cwd=noise, stdout=subprocess.PIPE, stderr=full, text=True,
            check=False,
        )  # fmt: skip
    assert done.returncode == (3 if "check" in words else 0)
    assert len(done.stdout.splitlines()) >= 4


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_that_cannot_be_shown_ends_no_fit(monkeypatch, terminal):
    import errno
    import io

    tried = []

    class Gone(io.StringIO):
        def isatty(self):
            return terminal

        def write(self, text):
            tried.append(text)
            raise OSError(errno.EIO, "Input/output error")

    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    monkeypatch.setattr(sys, "stderr", Gone())
    model = linsep.Perceptron(verbose=1, order="shuffle", time_limit=1.0, max_iter=10**9)
    with pytest.warns(LinsepWarning):
        model.fit(X, y)
    assert tried
    assert model.status_.name == "TIME_LIMIT"


def test_progress_without_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    assert linsep.Perceptron(verbose=1).fit(X, y).score(X, y) == 1.0


# -- outputs that cannot hold the result --------------------------------------------------------


@pytest.mark.parametrize("words", ["-a linear-svm -o m.model", "-o m.onnx", "--cv 2 -o m.model"])
def test_a_model_that_its_format_cannot_hold_goes_beside_it(noise, words, monkeypatch, capsys):
    from linsep.cli.main import main

    text = (noise / "noise.csv").read_text().replace(",0\n", ",no\n").replace(",1\n", ",yes\n")
    (noise / "named.csv").write_text("a,b,c,d,class\n" + text)
    monkeypatch.chdir(noise)
    (noise / "m.onnx.json").write_text("another one's")
    command = ["fit", "named.csv", "-q", *words.split()]
    assert main(command) == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) >= 4
    place = shown.err.splitlines()[-1].removeprefix("model written to ")
    assert place.startswith(command[-1])
    assert place.endswith(".json")
    assert list(linsep.load(place).classes_) == ["no", "yes"]
    assert (noise / "m.onnx.json").read_text() == "another one's"


def test_a_lift_that_no_file_could_hold_is_refused_before_the_work(tmp_path, monkeypatch, capsys):
    from linsep.cli.main import main

    rows = [f"{k},{k % 3},{'ab'[k % 2]},{k % 2}" for k in range(12)]
    (tmp_path / "d.csv").write_text("\n".join(["x1,x2,city,class", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(linsep.Perceptron, "fit", lambda *args: pytest.fail("it was fitted"))
    assert main(["fit", "d.csv", "--lift", "x1, x1*x2", "-o", "m.json"]) == 2
    assert "--lift is for tables of numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["fit noise.csv -o", "fit noise.csv --checkpoint", "check noise.csv --save"]
)
def test_an_output_without_a_name_is_refused(noise, command, monkeypatch, capsys):
    """As of a variable of the shell that is not set."""
    from linsep.cli.main import main

    monkeypatch.chdir(noise)
    assert main([*command.split(), ""]) == 1
    shown = capsys.readouterr()
    assert (shown.out, "the name of an output is empty" in shown.err) == ("", True)


def test_a_checkpoint_that_can_only_be_read_is_resumed_elsewhere(noise, mounted):
    folder, read_only = mounted
    kept = str(folder / "run.npz")
    fit("--checkpoint", kept, passes=3, cwd=noise)
    read_only()
    done = fit("--resume", kept, "--checkpoint", "new.npz", passes=6, cwd=noise)
    assert (done.returncode, done.stderr) == (0, fit(passes=6, cwd=noise).stderr)
    assert done.stdout.count("\n") > 3
    assert (noise / "new.npz").exists()


def test_a_study_of_a_file_whose_name_is_no_text(noise):
    odd = os.fsencode(noise) + b"/b\xff\xfe.csv"
    os.rename(noise / "noise.csv", odd)
    more = ["--time-limit", "2", "--cv", "2", "--html", "r.html", "--code", "c.py", "-q"]
    done = subprocess.run(
        [*LINSEP, "study", odd, *more], cwd=noise, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert r"b\udcff\udcfe.csv" in (noise / "r.html").read_text(encoding="utf-8")
    compile((noise / "c.py").read_text(), "c.py", "exec")


@pytest.mark.parametrize("at", [1, 60])
def test_ctrl_c_ends_a_path_with_the_machines_that_were_finished(at):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    Cs, press = np.logspace(-3, 3, 50), [Then(at, lambda: signal.raise_signal(signal.SIGINT))]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if at == 1:
            with pytest.raises(KeyboardInterrupt, match="before the first machine"):
                linsep.svm_path(X, y, Cs, callbacks=press)
            return
        with pytest.warns(LinsepWarning, match="interrupted"):
            path = linsep.svm_path(X, y, Cs, callbacks=press)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 0 < len(path) < 50
    assert len(path.Cs) == len(path.coefs) == len(path.seconds)
