"""kill -9 in the middle of a write, for every solver: resumed, the end has the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.laws.test_resume import ONE
from tests.tables import CASES

import linsep
from linsep.core import files
from linsep.core.checkpoint import Checkpointer, _places, load_checkpoint
from linsep.core.drive import drive
from linsep.core.limits import Limits

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked"),
    pytest.mark.timeout(300),
]
ROOT = Path(__file__).parents[2]


def die_at(count: int) -> None:
    """Be killed at the k-th call of the system that belongs to the writing of a file."""
    left = [count]

    def watched(function):
        def call(*args, **options):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), 9)
            return function(*args, **options)

        return call

    for name in ("fsync", "chmod", "replace"):
        setattr(os, name, watched(getattr(os, name)))
    files.tempfile.mkstemp = watched(files.tempfile.mkstemp)
    plain = os.fdopen

    def opened(handle, *args, **options):
        """A file whose first half is on the disk when the kill comes."""
        file = plain(handle, *args, **options)

        class Half:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                file.close()

            def write(self, data):
                file.write(data[: len(data) // 2])
                file.flush()
                watched(lambda: None)()
                return file.write(data[len(data) // 2 :])

            def flush(self):
                file.flush()

            def fileno(self):
                return file.fileno()

        return Half()

    os.fdopen = opened


def in_a_child(work, count: int) -> bool:
    """Whether the work was killed before its end."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            die_at(count)
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, 9), status
    return status == 9


def numbers(state) -> list[tuple[str, object]]:
    out = []
    for holder, name, key in _places(state):
        value = getattr(holder, name)
        out.append((key, value.tobytes() if isinstance(value, np.ndarray) else repr(value)))
    return out


def kill_solvers(folder: str, seed: int) -> None:
    """Every solver is killed at two calls; a line for each: its name, kills, whether bits agree."""
    rng = np.random.default_rng(seed)
    for name in ONE.values():
        case, path = CASES[name], Path(folder, "run.npz")
        path.unlink(missing_ok=True)
        problem, limits = case.data(), Limits(steps=case.steps)
        whole = numbers(drive(problem, case.solver, limits=limits).state)
        kills = 0
        for count in (int(rng.integers(7, 12)), int(rng.integers(2, 7))):
            state = load_checkpoint(path, problem, case.solver) if path.exists() else None

            def work(problem=problem, case=case, limits=limits, state=state, path=path):
                watch = Checkpointer(path, every=0.0)
                drive(problem, case.solver, state, limits=limits, observers=[watch])

            kills += in_a_child(work, count)
        state = load_checkpoint(path, problem, case.solver) if path.exists() else None
        end = numbers(drive(problem, case.solver, state, limits=limits).state)
        print(json.dumps([name, kills, path.exists(), end == whole]), flush=True)


def test_every_solver_is_killed_in_the_middle_of_writes_and_resumed(tmp_path):
    command = f"from tests.laws.test_kills import kill_solvers; kill_solvers({str(tmp_path)!r}, 5)"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", command],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, *_ in found] == list(ONE.values())
    assert [name for name, _, _, same in found if not same] == []
    assert [name for name, kills, kept, _ in found if not kills or not kept] == []
    # what killed writers have begun is swept by the next one
    files.check_writable(tmp_path / "run.npz")
    assert [path.name for path in tmp_path.glob(".*")] == []


KILLED = """
import sys
from pathlib import Path
import linsep
from tests.laws.test_kills import in_a_child
old, new, path = map(Path, sys.argv[1:])
model = linsep.load(new)
for count in range(1, 8):
    path.write_bytes(old.read_bytes())
    killed = in_a_child(lambda: linsep.save(model, path), count)
    known = {old.read_bytes(): "old", new.read_bytes(): "new"}
    print(count, killed, known.get(path.read_bytes(), "neither"), flush=True)
"""


@pytest.mark.parametrize("ending", [".json", ".model"])
def test_a_model_file_is_the_old_or_the_new_one(tmp_path, ending):
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + y[:, None]
    paths = [tmp_path / f"{name}{ending}" for name in ("old", "new", "at")]
    linsep.save(linsep.LinearSVM(C=0.1).fit(X, y), paths[0])
    linsep.save(linsep.LinearSVM(C=10.0).fit(X, y), paths[1])
    linsep.save(linsep.load(paths[1]), paths[1])  # as one who has loaded it writes it
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, paths)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = [line.split() for line in done.stdout.splitlines()]
    assert [line[1] for line in found] == ["True"] * 6 + ["False"]
    # made, half written, written, its rights, its name; then the folder is written through
    assert [line[2] for line in found] == ["old"] * 5 + ["new"] * 2


STREAMED = """
import sys, warnings, hashlib, linsep
from linsep.core.checkpoint import Checkpointer
warnings.simplefilter("ignore")
file, count = sys.argv[1], int(sys.argv[2])
data = linsep.data.stream("rows.npy")
data.memory = 1000  # so that it is never gathered into a table
if count:
    from tests.laws.test_kills import die_at
    die_at(count)
model = linsep.LinearSVM(tol=1e-7, callbacks=[Checkpointer(file, every=0.0)])
model = model.resume(data, None, file) if sys.argv[3:] else model.fit(data)
proof = repr(sorted(model.certificate_.to_dict().items()))
told = f"{proof} {model.n_iter_} {model.n_updates_}"
print(hashlib.sha256(model.coef_.tobytes() + told.encode()).hexdigest())
"""


def test_a_stream_fit_that_is_killed_goes_on_to_the_same_bits(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 5))
    X[:, -1] = X[:, 0] + rng.logistic(size=6000) > 0
    np.save(tmp_path / "rows.npy", X)

    def child(*args):
        own = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
        return subprocess.run(
            [sys.executable, "-c", STREAMED, *args], cwd=tmp_path, env=own, capture_output=True,
            text=True, check=False,
        )  # fmt: skip

    whole = child("whole.npz", "0")
    assert whole.returncode == 0, whole.stderr
    for count in (8, 11):
        dead = child("run.npz", str(count))
        assert dead.returncode == -9, dead.stderr
        again = child("run.npz", "0", "resume")
        assert again.stdout == whole.stdout, again.stderr
        assert not list(tmp_path.glob(".*.part"))
        (tmp_path / "run.npz").unlink()
