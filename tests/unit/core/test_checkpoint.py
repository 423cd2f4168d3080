"""Checkpoints: written whole, refused for anything else, and the same bits after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import linsep
from linsep.core import drive
from linsep.core.checkpoint import Checkpointer, load_checkpoint, require_free, save_checkpoint
from linsep.core.drive import Observer
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.errors import CheckpointError, LinsepWarning
from linsep.solvers.hulls.exact import ExactHulls
from linsep.solvers.hulls.nearest import NearestCone
from linsep.solvers.perceptron.single import SingleSample
from linsep.solvers.schedule import Schedule

SOLVER = SingleSample(order="shuffle", keep="pocket", seed=7)


def data(seed=0, n=50, d=3):
    rng = np.random.default_rng(seed)
    return Problem(rng.normal(size=(n, d)), rng.integers(0, 2, n))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.npz"
    outcome = drive(data(), SOLVER, limits=Limits(steps=333))
    save_checkpoint(path, data(), SOLVER, outcome.state)
    return path


def test_other_data_are_refused(saved):
    with pytest.raises(CheckpointError, match=r"made for 50 x 3 data .* this problem is 40 x 3"):
        load_checkpoint(saved, data(n=40), SOLVER)
    with pytest.raises(CheckpointError, match="Resume with the data"):
        load_checkpoint(saved, data(seed=1), SOLVER)


def test_other_settings_are_refused(saved):
    with pytest.raises(CheckpointError, match="same settings"):
        load_checkpoint(saved, data(), SingleSample(order="shuffle", keep="pocket", seed=8))
    with pytest.raises(CheckpointError, match="same settings"):
        load_checkpoint(saved, data(), SingleSample(schedule=Schedule(1.0, abs)))


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "missing", "header", "array"])
def test_a_damaged_file_is_refused(saved, damage, tmp_path):
    content = saved.read_bytes()
    if damage == "empty":
        saved.write_bytes(b"")
    elif damage == "cut":
        saved.write_bytes(content[: len(content) // 2])
    elif damage == "text":
        saved.write_text("not a checkpoint")
    elif damage == "missing":
        saved.unlink()
    else:
        with np.load(saved) as file:
            arrays = dict(file)
        if damage == "header":
            header = json.loads(arrays["header"].tobytes())
            header["version"] = 99
            arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        else:
            del arrays["a"]
        np.savez(saved, **arrays)
    with pytest.raises(CheckpointError, match=r"run\.npz"):
        load_checkpoint(saved, data(), SOLVER)


def test_no_pickle_is_read(saved):
    np.savez(saved, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(CheckpointError, match="not a linsep checkpoint"):
        load_checkpoint(saved, data(), SOLVER)


def test_nothing_is_left_behind_when_writing_fails(tmp_path, monkeypatch):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(tmp_path / "run.npz", data(), SOLVER, SOLVER.init(data()))
    assert list(tmp_path.iterdir()) == []


def test_the_observer_writes_at_the_end(tmp_path):
    path = tmp_path / "run.npz"
    outcome = drive(
        data(), SOLVER, limits=Limits(steps=100), observers=[Checkpointer(path, every=1e9)]
    )
    state = load_checkpoint(path, data(), SOLVER)
    np.testing.assert_array_equal(state.a, outcome.state.a)


def test_a_run_that_has_not_ended_is_not_written_over(tmp_path):
    path = tmp_path / "run.npz"
    drive(data(), SOLVER, limits=Limits(steps=100), observers=[Checkpointer(path)])
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"not ended \(100 steps\).*--resume"):
        require_free(path)
    watch = Checkpointer(path)
    with pytest.warns(LinsepWarning, match="has come further; this one writes"):
        drive(data(), SOLVER, limits=Limits(steps=40), observers=[watch])
    assert path.read_bytes() == before
    assert load_checkpoint(watch.path, data(), SOLVER).steps == 40
    # the run itself goes on in its file
    state = load_checkpoint(path, data(), SOLVER)
    drive(data(), SOLVER, state, limits=Limits(steps=150), observers=[Checkpointer(path)])
    assert load_checkpoint(path, data(), SOLVER).steps == 150


def test_a_run_that_has_ended_may_be_written_over(tmp_path):
    path = tmp_path / "run.npz"
    easy = Problem([[0.0], [2.0], [3.0]], [0, 1, 1])
    for _ in range(2):
        require_free(path)
        assert drive(easy, SOLVER, observers=[Checkpointer(path)]).status.ok


CHILD = """
import os, sys, warnings, numpy as np, linsep
from linsep.core.checkpoint import Checkpointer
path, how = sys.argv[1:]

class Watch(Checkpointer):
    def moment(self, now):
        if how == "killed" and now.state.steps >= 2000 and self.path.exists():
            os.kill(os.getpid(), 9)
        super().moment(now)

rng = np.random.default_rng(3)
X, y = rng.normal(size=(100, 5)), rng.integers(0, 2, 100)
model = linsep.Perceptron(order="shuffle", keep="pocket", max_iter=200, random_state=1,
                          callbacks=[Watch(path, every=0.0)])
warnings.simplefilter("ignore")
model.resume(X, y, path) if how == "resumed" else model.fit(X, y)
print(model.coef_.tobytes().hex(), model.intercept_.tobytes().hex(), model.n_updates_)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_killed_in_the_middle_and_resumed_to_the_same_bits(tmp_path):
    path = tmp_path / "run.npz"
    base = [sys.executable, "-c", CHILD]
    other = [*base, str(tmp_path / "other.npz"), "whole"]
    whole = subprocess.run(other, capture_output=True, check=True)
    killed = subprocess.run([*base, str(path), "killed"], check=False)
    assert killed.returncode == -signal.SIGKILL
    with np.load(path) as file:
        assert 0 < json.loads(file["header"].tobytes())["numbers"]["steps"] < 200 * 100
    resumed = subprocess.run([*base, str(path), "resumed"], capture_output=True, check=True)
    assert resumed.stdout == whole.stdout


def test_long_integers_and_fractions_survive_a_file(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 12))
    data, solver = Problem(X, np.arange(30) % 2), ExactHulls()
    state = solver.init(data)
    solver.advance(data, state, 12)
    assert state.whole.bit_length() > 1000  # beyond any number that JSON readers expect
    save_checkpoint(tmp_path / "run.npz", data, solver, state)
    again = load_checkpoint(tmp_path / "run.npz", data, solver)
    assert again == state


def test_settings_that_differ_in_one_row_are_told_apart(tmp_path):
    X = np.random.default_rng(0).standard_normal((3000, 2))
    data = Problem(X, np.arange(3000) % 2)
    rows = np.arange(3000)
    save_checkpoint(tmp_path / "run.npz", data, NearestCone(rows), NearestCone(rows).init(data))
    load_checkpoint(tmp_path / "run.npz", data, NearestCone(rows.copy()))
    rows[1500] = 7
    with pytest.raises(CheckpointError, match="resume with the same settings"):
        load_checkpoint(tmp_path / "run.npz", data, NearestCone(rows))


@pytest.mark.parametrize("entry", ["zz", ["0x1", "0x0"], None, 3])
def test_a_damaged_number_is_named(tmp_path, entry):
    data, solver = Problem([[0.0], [1.0]], [0, 1]), ExactHulls()
    path = tmp_path / "run.npz"
    save_checkpoint(path, data, solver, solver.init(data))
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes())
    header["numbers"]["unit"] = entry
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    with pytest.raises(CheckpointError, match="unit"):
        load_checkpoint(path, data, solver)


def test_numbers_that_no_run_comes_to_are_an_error_of_the_file(tmp_path, monkeypatch):
    """A schema bounds fields one by one; that a step divides by one of them it does not know."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    path = tmp_path / "run.npz"
    model = linsep.Perceptron(max_iter=50, callbacks=[Checkpointer(path, every=0)])
    with pytest.warns(linsep.errors.NotSeparatedWarning):
        model.fit(X, y)

    def divide(*args, **more):
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(SingleSample, "advance", divide)
    with pytest.raises(CheckpointError, match=r"run.npz: no run can go on from this .* forged"):
        model.set_params(max_iter=500).resume(X, y, path)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, y)


def _resumable(path, model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    with pytest.warns(linsep.errors.LinsepWarning):
        model.set_params(callbacks=[Checkpointer(path, every=0)], max_iter=3).fit(X, y)
    return X, y


class Raises(Observer):
    """Its own error, in the middle or at the end."""

    def __init__(self, where):
        self.where = where

    def moment(self, now):
        if self.where == "moment":
            raise KeyError("mine")

    def finish(self, outcome):
        if self.where == "finish":
            raise KeyError("mine")


@pytest.mark.parametrize("where", ["moment", "finish"])
def test_what_a_callback_raises_in_a_resumed_fit_is_its_own(tmp_path, where):
    path, model = tmp_path / "run.npz", linsep.Perceptron(order="shuffle")
    X, y = _resumable(path, model)
    with pytest.raises(KeyError, match="mine"):
        model.set_params(callbacks=[Raises(where)]).resume(X, y, path)


def test_what_a_kernel_raises_in_a_resumed_fit_is_its_own(tmp_path):
    path, broken = tmp_path / "run.npz", []

    def product(A, B):
        if broken:
            raise KeyError("mine")
        return A @ B.T

    kernel = linsep.kernels.Function(product, of="matrices")
    model = linsep.KernelPerceptron(kernel=kernel)
    X, y = _resumable(path, model)
    broken.append(True)
    with pytest.raises(KeyError, match="mine"):
        model.set_params(callbacks=None).resume(X, y, path)


def test_memory_that_runs_out_in_a_resumed_fit_is_no_fault_of_the_file(tmp_path, monkeypatch):
    path, model = tmp_path / "run.npz", linsep.Perceptron(order="shuffle")
    X, y = _resumable(path, model)

    def lack(*args, **more):
        raise MemoryError

    monkeypatch.setattr(SingleSample, "advance", lack)
    with pytest.raises(linsep.errors.OutOfMemoryError, match="ran out of memory"):
        model.set_params(callbacks=None, max_iter=9).resume(X, y, path)


def test_two_runs_on_one_checkpoint_lose_nothing(tmp_path):
    """The second takes the file over; the first notices, and goes on beside it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    path = tmp_path / "run.npz"

    class Other(Observer):
        left = 1

        def moment(self, now):
            self.left -= 1
            if self.left == 0:
                with pytest.warns(linsep.errors.NotSeparatedWarning):
                    second.fit(X, y)

    def perceptron(seed, *more):
        watch = Checkpointer(path, every=0)
        return linsep.Perceptron(
            order="shuffle", random_state=seed, max_iter=50, callbacks=[watch, *more]
        )

    second = perceptron(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first = perceptron(1, Other()).fit(X, y)
    (told,) = [str(one.message) for one in caught if "another run" in str(one.message)]
    own = first.callbacks[0].path
    assert own != path
    assert f"{path}, too" in told and str(own) in told
    for model, file in ((first, own), (second, path)):
        whole = model.coef_.tobytes()
        with pytest.warns(linsep.errors.NotSeparatedWarning):
            again = model.set_params(callbacks=None).resume(X, y, file)
        assert again.coef_.tobytes() == whole
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, own.name])
