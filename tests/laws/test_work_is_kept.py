"""Work is never lost: full disks, signals, kills in the middle of a write, closed streams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import linsep
from linsep.core.checkpoint import Checkpointer
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


def test_the_first_checkpoint_comes_within_a_second(tmp_path, monkeypatch):
    from linsep.core import stopping

    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 0.05
            return self.now

    monkeypatch.setattr(stopping, "_source", Clock())
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


def begin(noise, *more, env=None):
    command = [
        *LINSEP, "fit", "noise.csv", "-s", "order=shuffle", "-s", "max_iter=1000000000", "-q",
        "--checkpoint", "run.npz", "--checkpoint-every", "0", *more,
    ]  # fmt: skip
    child = subprocess.Popen(
        command, cwd=noise, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (noise / "run.npz").exists() and child.poll() is None:
        time.sleep(0.01)  # until it has come so far, however long that takes
    return child


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_leaves_model_and_checkpoint(noise, name):
    with begin(noise, "-o", "m.json") as child:
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
        with begin(noise) as child:
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


def test_a_reader_that_goes_away_is_no_traceback(noise):
    command = f"{sys.executable} -m linsep algorithms perceptron | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


PRESSED = """
import os, signal, sys
class Presses:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Presses())
from linsep.cli.main import main
sys.argv = ["linsep", "fit", "noise.csv"]
sys.exit(main())
"""


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("module", ["numpy", "linsep.cli.fit", "linsep.data", "sklearn.base"])
def test_ctrl_c_during_imports_is_no_traceback(noise, module):
    done = subprocess.run(
        [sys.executable, "-c", PRESSED.format(module=module)],
        cwd=noise, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.endswith("linsep: interrupted\n")
    assert "Traceback" not in done.stderr
