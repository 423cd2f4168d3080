"""A fit of several runs goes on from any of its checkpoints to the bits of one never stopped.

The laws of solvers resume one run. Many fits are more than that: a run for each class or pair, a
search for a cost, another solver where rounding has stopped the first. Each file that such a fit
writes is kept, and the fit goes on from some of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.tables import CASES

import linsep
from linsep.core.checkpoint import Checkpointer
from linsep.errors import CheckpointError
from linsep.kernels.blocks import duels_of
from linsep.models.kernel_svm import _ends_of

INF = np.inf
RNG = np.random.default_rng(8)


def _classes(n, d, K, apart=0.5):
    y = np.arange(n) % K
    return RNG.normal(size=(n, d)) + apart * y[:, None] * (np.arange(d) < 2), y


def _around():
    """Three classes, each of which a line cuts off."""
    angle = np.arange(60) % 3 * 2.1
    return np.stack([9 * np.cos(angle), 9 * np.sin(angle)], 1) + RNG.normal(size=(60, 2)), (
        np.arange(60) % 3
    )


def _scales():
    """Columns so different in scale that interior points stall."""
    X, y = _classes(300, 8, 2)
    return X * np.logspace(-6, 6, 8), y


def _stream(X, y):
    n = len(X) // 2
    made = linsep.data.stream(lambda: iter([(X[:n], y[:n]), (X[n:], y[n:])]))
    made.memory = 1000  # so that it is no table
    return made


def _positive(X, y):
    return np.abs(X), y


NOISE, TWO = _classes(90, 3, 3), _classes(80, 3, 2)
FITS = {
    "a hard margin for each class": (linsep.LinearSVM, {"C": INF, "tol": 1e-9}, _around()),
    "classes without a hard margin": (linsep.LinearSVM, {"C": INF}, NOISE),
    "another solver after the first": (linsep.LinearSVM, {"C": 1e12, "tol": 1e-10}, _scales()),
    "a soft margin after the hard one": (linsep.KernelSVM, {"C": INF, "kernel": "linear"}, TWO),
    "a cost for each pair": (linsep.KernelSVM, {"nu": 0.3}, NOISE),
    "the cost of a nu": (linsep.KernelSVM, {"nu": 0.4, "tol": 1e-9}, TWO),
    "a linear machine on roots": (linsep.AdditiveSVM, {"kernel": "hellinger"}, _positive(*TWO)),
    "a run for each class of a stream": (linsep.LinearSVM, {"tol": 1e-3}, _stream),
}


class Kept(Checkpointer):
    """Keeps every file that is written."""

    def __init__(self, folder: Path):
        super().__init__(folder / "run.npz", every=0.0)
        self.files: list[Path] = []

    def _write(self, now):
        super()._write(now)
        self.files.append(self.path.with_name(f"{len(self.files)}.npz"))
        shutil.copy(self.path, self.files[-1])


def _bits(model):
    linear = hasattr(model, "coef_")
    found = [model.coef_ if linear else model.dual_coef_, model.intercept_]
    return [array.tobytes() for array in found], model.certificate_, model.status_, model.n_iter_


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@pytest.mark.parametrize("name", FITS)
def test_a_fit_goes_on_from_each_of_its_checkpoints(name, tmp_path):
    kind, settings, data = FITS[name]
    of_a_stream = callable(data)
    rows = NOISE if of_a_stream else data

    def given():
        return (_stream(*rows), None) if of_a_stream else rows

    watch = Kept(tmp_path)
    whole = _bits(kind(**settings, callbacks=[watch]).fit(*given()))
    assert _bits(kind(**settings).fit(*given())) == whole
    assert len(watch.files) > 2
    some = {0, 1, len(watch.files) // 2, 2 * len(watch.files) // 3, len(watch.files) - 1}
    for at in sorted(some):
        assert _bits(kind(**settings).resume(*given(), watch.files[at])) == whole, at


def test_a_checkpoint_of_other_rows_is_refused(tmp_path):
    watch = Kept(tmp_path)
    linsep.LinearSVM(C=INF, callbacks=[watch]).fit(*_around())
    with pytest.raises(CheckpointError, match="other rows than those of a class against the rest"):
        linsep.LinearSVM(C=INF).resume(*_around(), watch.files[0])


def test_costs_that_no_machine_has_are_refused(tmp_path):
    """A search that goes on from them would try no cost at all, or for ever."""
    case = CASES["cost search on near"]
    problem = case.data()
    state = case.solver.init(problem.lent)
    duels = duels_of(problem, case.solver.kernel)
    n = problem.n
    good = np.append(np.full(n, 0.5), [0.1, 2.0])
    state.above = good
    assert list(_ends_of(state, duels, "run.npz")) == [True]
    for spoiled in (-good, np.full(n + 2, np.nan), np.append(good[:-1], 0.0)):
        state.above = spoiled
        with pytest.raises(CheckpointError, match=r"run\.npz: its search for a cost"):
            _ends_of(state, duels, "run.npz")
    state.above, state.cost = good, 0.0
    with pytest.raises(CheckpointError, match=r"run\.npz"):
        _ends_of(state, duels, "run.npz")
