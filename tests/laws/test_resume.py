"""A state from a file is held against its solver: nothing else reaches compiled code."""

from __future__ import annotations

import copy
import dataclasses
import json
import re

import numpy as np
import pytest
from tests.tables import CASES, Case

from linsep.core.checkpoint import _pack, _places, load_checkpoint, restore, save_checkpoint
from linsep.core.schema import Refused
from linsep.errors import CheckpointError
from linsep.solvers.logistic.conjugate import LogisticCG

# one case of each solver
ONE = {
    repr(case.solver).partition(", ")[0]: name
    for name, case in CASES.items()
    if case.family != "descent" and case.problem != "wide"
}
ONE = {name.split(" on ")[0]: name for name in ONE.values()}


def states_within(state):
    """A state and those inside of it."""
    yield state
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        for part in value if isinstance(value, list) else [value]:
            if dataclasses.is_dataclass(part):
                yield from states_within(part)


def run(case: Case, steps: int):
    problem = case.data()
    with np.errstate(all="ignore"):
        state = case.solver.init(problem.lent)
        if steps and not case.solver.status(state).done:
            case.solver.advance(problem.lent, state, steps)
    return problem, case.solver, state


def stored(state):
    """What a file holds of a state."""
    numbers, arrays = {}, {}
    for holder, name, key in _places(state):
        value = getattr(holder, name)
        if isinstance(value, np.ndarray):
            arrays[key] = value
        else:
            numbers[key] = json.loads(json.dumps(_pack(value)))
    first = [key for key in (*numbers, *arrays) if not re.search(r"parts\.[1-9]|second", key)]
    return numbers, arrays, first  # one part is as good as another; no interior points yet


@pytest.mark.parametrize("name", ONE.values(), ids=ONE)
def test_every_state_of_a_run_is_taken_back(name, tmp_path):
    path, case = tmp_path / "run.npz", CASES[name]
    for steps in (0, 2, case.steps):
        problem, solver, state = run(case, steps)
        save_checkpoint(path, problem, solver, state)
        back = load_checkpoint(path, problem, solver)
        for (old, name, _), (new, _, _) in zip(_places(state), _places(back), strict=True):
            np.testing.assert_array_equal(getattr(new, name), getattr(old, name), name)


def test_a_start_that_is_nearly_the_answer_can_be_written(tmp_path):
    """There a comparison of numpy decides what comes first: JSON knows no truth but its own."""
    path, solver = tmp_path / "run.npz", LogisticCG(C=1e-3, tol=1e-10)
    problem = CASES["logistic cg on very noisy"].data()
    state = solver.init(problem.lent)
    save_checkpoint(path, problem, solver, state)
    assert type(load_checkpoint(path, problem, solver).sweeps) is bool


@pytest.mark.parametrize("name", ONE.values(), ids=ONE)
def test_arrays_of_another_shape_type_or_range_are_refused(name):
    problem, solver, state = run(CASES[name], 2)
    numbers, arrays, first = stored(state)
    fresh = solver.init(problem.lent)
    restore(problem.lent, solver, copy.deepcopy(fresh), numbers, arrays)
    for key in set(arrays) & set(first):
        array, short = arrays[key], key.rpartition(".")[2]
        with np.errstate(all="ignore"):
            hostile = [array.astype(np.float16), array[None]]
        if array.size and short not in _MAY_BE_EMPTY | _LISTS | _FREE:
            hostile.append(array[:0])
        if short not in _LISTS | _FREE or array.size > problem.n_rows // 2:
            hostile.append(np.concatenate([array, array]))
        if array.dtype.kind in "iu" and array.size:
            top = np.iinfo(array.dtype).max
            hostile += [np.full_like(array, top), np.where(np.arange(array.size) == 0, top, array)]
        if array.dtype == np.int64 and array.size:
            hostile += [array - (1 << 40)]
        for forged in hostile:
            if forged.shape == array.shape and np.array_equal(forged, array):
                continue  # two times nothing
            with pytest.raises(Refused, match=rf"\b{short}\b"):
                restore(problem.lent, solver, copy.deepcopy(fresh), numbers, arrays | {key: forged})


# rows that a search happens to hold; what it has not computed yet
_LISTS = {
    "order", "rows", "active", "working", "far", "near", "proof_rows", "group", "steps_s", "trail",
}  # fmt: skip
_MAY_BE_EMPTY = {
    "block", "u", "v", "v_plus", "sums", "m", "center", "scores", "dual_z", "base", "S",
    "residual", "best",
}  # fmt: skip
_FREE = {"factors", "scales", "class_factors", "class_scales"}  # of no use before the next step


@pytest.mark.parametrize("name", ONE.values(), ids=ONE)
def test_numbers_of_another_type_or_range_are_refused(name):
    problem, solver, state = run(CASES[name], 2)
    numbers, arrays, first = stored(state)
    fresh = solver.init(problem.lent)
    for key in set(numbers) & set(first):
        value, short = numbers[key], key.rpartition(".")[2]
        hostile = [None, {"a": 1}, [[]], "1e999999999"]
        if type(value) is int:
            hostile += [1.5, -(2**40), True]
        if type(value) is int and short != "whole":  # numerators of exact searches have any size
            hostile.append(2**60)
        for forged in hostile:
            with pytest.raises(Refused, match=rf"\b{short}\b"):
                restore(problem.lent, solver, copy.deepcopy(fresh), numbers | {key: forged}, arrays)


def test_whole_numbers_that_index_rows_declare_their_bounds():
    for name in ONE.values():
        for state in states_within(run(CASES[name], 2)[2]):
            for field in dataclasses.fields(state):
                value = getattr(state, field.name)
                if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
                    assert field.name in state.held, f"{type(state).__name__}.{field.name}"


def test_a_changed_entry_that_looks_right_is_noticed(tmp_path):
    problem, solver, state = run(CASES["dual-cd on noisy"], 3)
    path = tmp_path / "run.npz"
    save_checkpoint(path, problem, solver, state)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["alpha"] = arrays["alpha"] * 0.5
    np.savez(path, **arrays)
    with pytest.raises(CheckpointError, match="were changed since it was written"):
        load_checkpoint(path, problem, solver)


def test_counters_of_a_forged_run_make_no_long_one():
    """Visits that nobody took would be taken again when a repetition is explained."""
    problem, solver, state = run(CASES["cyclic on xor"], 7)
    numbers, arrays, _ = stored(state)
    fresh = solver.init(problem.lent)
    for at in range(1, arrays["counters"].size):
        forged = arrays["counters"].copy()
        forged[at] = 1 << 50
        given = arrays | {"counters": forged}
        with pytest.raises(Refused, match="counters"):
            restore(problem.lent, solver, copy.deepcopy(fresh), numbers, given)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["newton on noisy", "newton machine on noisy, three classes"])
@pytest.mark.parametrize("forged", [-1e300, 1e300, np.nan])
def test_sums_that_no_rows_have_end_a_step_all_the_same(name, forged):
    problem, solver, state = run(CASES[name], 3)
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size:
            spoiled = copy.deepcopy(state)
            getattr(spoiled, field.name)[...] = forged
            with np.errstate(all="ignore"):
                solver.advance(problem.lent, spoiled, 20)
