"""The laws of the solver protocol, for every solver of every family (``tests/tables.py``)."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pkgutil
from fractions import Fraction

import numpy as np
import pytest
from tests.tables import CASES, LAYOUTS, LOGISTIC, MORE, PLANES, PROBLEMS, Case, parts_of

import linsep.solvers
from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.core.protocol import Status, new_log
from linsep.proofs.certificate import judge
from linsep.solvers.hulls.cloud import by_products

every = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))


def of(*families: str) -> pytest.MarkDecorator:
    """The cases of some families."""
    chosen = {name: case for name, case in CASES.items() if case.family in families}
    return pytest.mark.parametrize("case", chosen.values(), ids=list(chosen))


def same(first, second):
    """Two states agree bit for bit."""
    assert type(first) is type(second)
    for field in dataclasses.fields(first):
        alike(getattr(first, field.name), getattr(second, field.name), field.name)


def alike(a, b, name):
    """Two values of a state agree bit for bit."""
    if isinstance(a, np.ndarray):
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), f"{name}: {a} and {b}"
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), name
        for i, (one, other) in enumerate(zip(a, b)):
            alike(one, other, f"{name}[{i}]")
    elif dataclasses.is_dataclass(a):
        same(a, b)
    else:
        assert a == b or (a != a and b != b), f"{name}: {a} and {b}"


def run(solver, data, steps, state=None, chunks=None):
    """Advance by the given chunks (at once without them) to a total of ``steps`` at most."""
    with np.errstate(all="ignore"):
        state = solver.init(data) if state is None else state
        for chunk in chunks or [steps]:
            solver.advance(data, state, chunk)
    return state


# -- completeness ---------------------------------------------------------------------------


def solver_classes():
    """Classes of linsep.solvers with the four methods of the protocol, that can be made."""
    for found in pkgutil.walk_packages(linsep.solvers.__path__, "linsep.solvers."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                methods = ("init", "advance", "status", "witness")
                if all(hasattr(kind, name) for name in methods) and not inspect.isabstract(kind):
                    yield kind


def test_every_solver_stands_in_the_table():
    tried = {type(case.solver) for case in CASES.values()}
    missing = [kind.__qualname__ for kind in solver_classes() if kind not in tried]
    assert not missing, f"add to tests/tables.py: {missing}"


# -- laws of all ----------------------------------------------------------------------------


@every
def test_any_way_of_splitting_a_run_gives_the_same_bits(case: Case):
    whole = run(case.solver, case.data(), case.steps)
    same(whole, run(case.solver, case.data(), 0, chunks=[1] * case.steps))
    third = case.steps // 3
    same(whole, run(case.solver, case.data(), 0, chunks=[2, third, 1, case.steps - third - 3]))


@every
def test_resuming_from_a_file_gives_the_same_bits(case: Case, tmp_path):
    data, third = case.data(), case.steps // 3
    whole = run(case.solver, data, case.steps)
    half = run(case.solver, data, third)
    save_checkpoint(tmp_path / "run.npz", data, case.solver, half)
    fresh = case.data()
    again = load_checkpoint(tmp_path / "run.npz", fresh, case.solver)
    same(half, again)
    same(whole, run(case.solver, fresh, case.steps - third, again))


@every
def test_a_copy_is_independent(case: Case):
    data = case.data()
    state = run(case.solver, data, case.steps // 5)
    kept = copy.deepcopy(state)
    run(case.solver, data, case.steps // 3, state=state.copy())
    same(state, kept)


@every
def test_a_log_changes_nothing(case: Case):
    data = case.data()
    with np.errstate(all="ignore"):
        state, log, taken = case.solver.init(data), new_log(1), 0
        while taken < case.steps:
            step = case.solver.advance(data, state, case.steps - taken, log)
            taken += step
            log.used[:] = 0
            if step == 0:
                break
    same(state, run(case.solver, case.data(), case.steps))


@every
def test_a_finished_state_takes_no_step(case: Case):
    data = case.data()
    state = run(case.solver, data, 20_000 if case.family == "planes" else 2_000)
    if case.solver.status(state).done:
        kept = state.copy()
        assert case.solver.advance(data, state, 10) == 0
        same(state, kept)
    else:  # only these have no end on some problems, or a slow one
        mistakes = any(name in repr(case.solver) for name in ("Mistakes", "SingleInParts"))
        assert case.family in ("planes", "squares") or mistakes, case.solver.status(state)


@every
def test_status_and_witness_change_nothing(case: Case):
    data = case.data()
    state = run(case.solver, data, case.steps // 4)
    kept = copy.deepcopy(state)
    with np.errstate(all="ignore"):
        case.solver.status(state)
        first, second = case.solver.witness(data, state), case.solver.witness(data, state)
    same(state, kept)
    np.testing.assert_array_equal(first.a, second.a)
    np.testing.assert_array_equal(first.rows, second.rows)
    np.testing.assert_array_equal(first.multipliers, second.multipliers)


@every
def test_two_runs_and_the_driver_give_the_same_bits(case: Case):
    first = drive(case.data(), case.solver, limits=Limits(steps=case.steps))
    second = drive(case.data(), case.solver, limits=Limits(steps=case.steps))
    same(first.state, second.state)
    same(first.state, run(case.solver, case.data(), case.steps))


@every
def test_the_data_are_not_changed(case: Case):
    X, y = (PROBLEMS | MORE)[case.problem]()
    kept = X.copy(), y.copy()
    made = parts_of if case.family == "parts" else Problem
    run(case.solver, made(X, y, fit_intercept=case.fit_intercept), case.steps)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@every
def test_states_hold_arrays_and_numbers_only(case: Case):
    """So that a checkpoint is a file of arrays, and a copy is a copy."""
    plain(case.solver.init(case.data()))


def plain(state):
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        for part in value if isinstance(value, list) else [value]:
            if dataclasses.is_dataclass(part):
                plain(part)
            else:
                kinds = np.ndarray | np.generic | Fraction | int | float | str | Status | None
                assert isinstance(part, kinds), f"{field.name}: {part!r}"


# -- ends: the same in every layout and precision, true where they claim something -----------


@of("hinge", "machines", "logistic")
def test_a_run_ends_with_an_answer(case: Case):
    outcome = drive(case.data(), case.solver, limits=Limits(seconds=60))
    assert outcome.status in (Status.CERTIFIED, Status.CONVERGED)


@pytest.mark.parametrize("layout", [key for key in LAYOUTS if key != "C float64"])
@of("planes")
def test_every_layout_ends_alike(case: Case, layout):
    X, y = PROBLEMS[case.problem]()
    ends = []
    for key in ("C float64", layout):
        data = Problem(LAYOUTS[key](X), y)
        ends.append(drive(data, case.solver, limits=Limits(steps=case.steps)))
    assert ends[0].status is ends[1].status
    if layout != "F float64":
        return
    if case.solver.unit == "major cycle" and by_products(data):
        # few wide rows are multiplied as they lie in memory, so sums have another order
        np.testing.assert_allclose(ends[0].witness.a, ends[1].witness.a, rtol=1e-10, atol=1e-14)
    else:
        np.testing.assert_array_equal(ends[0].witness.a, ends[1].witness.a)


@pytest.mark.parametrize("layout", ["F float64", "CSR"])
@of("squares")
def test_every_layout_of_squares_ends_alike(case: Case, layout):
    X, y = PROBLEMS[case.problem]()
    ends = [
        drive(Problem(LAYOUTS[key](X), y), case.solver, limits=Limits(steps=60))
        for key in ("C float64", layout)
    ]
    if ends[0].status is not Status.DIVERGED:
        np.testing.assert_allclose(ends[0].witness.a, ends[1].witness.a, rtol=1e-7, atol=1e-9)


@of("hinge", "logistic")
def test_every_layout_reaches_the_same_objective(case: Case):
    X, y = MORE[case.problem]()
    forms = [*(LAYOUTS[key](X) for key in LAYOUTS), X.astype(np.float32)]
    ends = [drive(Problem(f, y, fit_intercept=case.fit_intercept), case.solver) for f in forms]
    assert len({end.status for end in ends}) == 1
    if case.family == "logistic":
        for end in ends:
            np.testing.assert_allclose(end.witness.a, ends[0].witness.a, rtol=1e-4, atol=1e-5)
        return
    values = [end.state.best_primal for end in ends]
    assert max(values) <= min(values) * (1 + 2 * case.solver.tol + 1e-6)


@of("planes")
def test_float32_ends_like_float64_of_the_same_values(case: Case):
    X, y = PROBLEMS[case.problem]()
    short = np.asarray(X, dtype=np.float32)
    ends = [
        drive(Problem(form, y), case.solver, limits=Limits(steps=case.steps))
        for form in (short, short.astype(np.float64))
    ]
    assert ends[0].status is ends[1].status
    np.testing.assert_array_equal(ends[0].witness.a, ends[1].witness.a)


@of("planes")
def test_what_ends_as_separated_is_separated(case: Case):
    outcome = drive(case.data(), case.solver, limits=Limits(steps=5_000), certifier=judge)
    status = outcome.certificate.settle(outcome.status)
    if status is Status.SEPARATED:
        assert outcome.certificate.separable is True
        assert outcome.certificate.errors == 0
    if status is Status.INSEPARABLE:
        assert case.problem in ("five points", "xor", "overlapping", "four classes, overlapping")
        assert sum(outcome.certificate.multipliers) == 1


# -- starting from the answer ----------------------------------------------------------------


@of("planes")
def test_starting_from_a_plane_takes_no_update(case: Case):
    data = case.data()
    state = run(case.solver, data, 20_000)
    if case.solver.status(state) not in (Status.SEPARATED, Status.CERTIFIED):
        return
    start = state.weights() if hasattr(state, "weights") else data.split(state.a)
    again = case.solver.init(data, start=start)
    case.solver.advance(data, again, 10)
    assert again.n_updates == 0
    assert case.solver.status(again) is case.solver.status(state)


@pytest.mark.parametrize("name", ["dual-cd", "proximal", "dual-cd, squared"])
def test_starting_from_dual_variables_takes_no_step(name):
    case = CASES[f"{name} on noisy"]
    data = case.data()
    witness = drive(data, case.solver).witness
    alpha = np.zeros(data.n)
    alpha[witness.rows] = witness.multipliers
    loose = dataclasses.replace(case.solver, tol=0.05)
    assert drive(data, loose, loose.init(data, start=alpha)).steps == 0


@pytest.mark.parametrize("name", [name for name in LOGISTIC if "no penalty" not in name])
def test_starting_from_logistic_weights_takes_no_step(name):
    case = CASES[f"{name} on very noisy"]
    data = case.data()
    a = drive(data, case.solver).witness.a
    assert drive(data, case.solver, case.solver.init(data, start=(a[:-1], a[-1]))).steps == 0


@pytest.mark.parametrize("name", ["softmax", "softmax, tight", "softmax, reference"])
def test_starting_from_softmax_weights_takes_two_steps_at_most(name):
    case = CASES[f"{name} on noisy, three classes"]
    data = case.data()
    W = drive(data, case.solver).witness.a.reshape(data.K, -1)
    loose = dataclasses.replace(case.solver, tol=max(case.solver.tol, 1e-6))
    again = loose.init(data, start=(W[:, :-1], W[:, -1]))
    loose.advance(data, again, 10)
    assert loose.status(again) is Status.CERTIFIED
    assert again.n_updates <= 2


@pytest.mark.parametrize("name", ["newton", "dual-cd", "proximal-newton", "interior-point"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_fitted_again_takes_no_step(name, loss, classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 40))
    y = np.digitize(X[:, 0] + rng.normal(size=3000), [0.0, 1.0][: classes - 1])
    model = linsep.LinearSVM(solver=name, loss=loss, warm_start=True).fit(X, y)
    proved = model.certificate_.relative_gap
    model.fit(X, y)
    assert model.outcome_.steps == 0 and model.status_ is Status.CERTIFIED
    assert model.certificate_.relative_gap <= max(1e-3, proved)


def test_planes_are_tried_on_every_problem():
    assert sum(case.family == "planes" for case in CASES.values()) == len(PLANES) * len(PROBLEMS)
