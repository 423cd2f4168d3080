"""Kernel values that are made row by row come back in the same bits where a run goes on."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.problem import Problem
from linsep.kernels import RBF
from linsep.solvers.kernel import gram
from linsep.solvers.kernel.gram import Story, pieces_of
from linsep.solvers.kernel.smo import SMO

N = 700


def rows_of(K):
    rng = np.random.default_rng(K)
    y = rng.integers(0, K, N)
    X = rng.normal(size=(N, 9))
    X[:, 0] += 0.4 * y
    return Problem(X, y)


CASES = {
    "all rows": (2, {}),
    "float32 first": (2, {"single": True}),
    "three classes": (3, {"single": True}),
    "what the memory holds": (2, {"memory": 0.7}),
    "what the memory holds, three classes": (3, {"memory": 0.5, "single": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_that_goes_on_makes_the_same_values(name, tmp_path, monkeypatch):
    monkeypatch.setattr(gram, "_LAZY", 100)
    K, settings = CASES[name]
    solver = SMO(RBF(gamma=0.3), C=50.0, tol=1e-8, fine=1e-8, q=32, **settings)

    def parts(state):
        return [(p.alpha.tobytes(), p.f.tobytes(), p.inner, p.steps) for p in state.parts]

    problem = rows_of(K)
    whole, kept = solver.init(problem.lent), []
    while not whole.status.done and whole.steps < 160:
        solver.advance(problem.lent, whole, 1)
        if whole.steps % 40 == 5:
            kept.append(copy.deepcopy(whole))
    assert len(whole.made) and len(kept) > 2
    for state in kept:
        save_checkpoint(tmp_path / "run.npz", problem, solver, state)
        fresh = rows_of(K)
        again = load_checkpoint(tmp_path / "run.npz", fresh, solver)
        solver.advance(fresh.lent, again, whole.steps - again.steps)
        assert parts(again) == parts(whole)
    solver.advance(problem.lent, kept[0], whole.steps - kept[0].steps)  # values of a later time
    assert parts(kept[0]) == parts(whole)


def test_a_story_is_told_as_it_was_and_never_changed():
    story, seen = Story(), []
    for k in range(60):
        story.add(k % 3, tuple(range(k % 2)), np.arange(k))
        seen.append((story.told, story.told.copy()))
    assert all((view == copied).all() for view, copied in seen)
    told = [(kind, blocks, len(rows)) for kind, blocks, rows in pieces_of(story.told)]
    assert told == [(k % 3, tuple(range(k % 2)), k) for k in range(60)]
