"""Every field of every solver's state forged in turn: refused, or the run goes on and ends.

A child goes on from each forged state that is taken. A crash, a hang and an index beyond an array,
which machine code would not notice, are found out with the name of the field. Numbers that nothing
can be computed with (a division by zero) may end the run.
"""

from __future__ import annotations

import copy
import os
import signal
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from tests.laws.test_resume import ONE, run, stored
from tests.tables import CASES

from linsep.core.checkpoint import restore
from linsep.core.schema import Refused
from linsep.errors import LinsepError

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked"),
    pytest.mark.timeout(300),
]
SECONDS = 20.0  # of the processor, for one forged state
NUMBERS = [0, -1, 1, 7, 10**9, 2**31, 2**62, 0.0, -1.5, 1e300, float("nan"), float("inf")]
WORDS = ["READY", "RUNNING", "CONVERGED", "", "x"]


def forged_arrays(array: np.ndarray) -> Iterator[np.ndarray]:
    """Other lengths, and the values that counters and sums never have."""
    yield array[:0]
    yield np.concatenate([array, array])
    yield array[..., :-1]
    yield np.zeros_like(array)
    if array.dtype.kind not in "iuf" or not array.size:
        return
    for value in NUMBERS:
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            if isinstance(value, float) or not limits.min <= value <= limits.max:
                continue
        yield np.full_like(array, value)
        for at in {0, array.size // 2, array.size - 1}:
            spoiled = array.copy()
            spoiled.flat[at] = value
            yield spoiled


def forgeries(name: str) -> Iterator[tuple[str, dict, dict]]:
    """All of one solver: what was changed, and the numbers and arrays of such a file."""
    _, _, state = run(CASES[name], 2)
    numbers, arrays, first = stored(state)
    for key in first:
        if key in numbers:
            for value in [*NUMBERS, *WORDS, None, [], [1], [1, 0]]:
                yield f"{key} = {value!r}", numbers | {key: value}, arrays
        else:
            for k, value in enumerate(forged_arrays(arrays[key])):
                yield f"{key}, way {k}", numbers, arrays | {key: value}


def walk(name: str, begin: int, tell: int) -> None:
    """In the child: try all from a number on, and say which one is tried, and what went wrong."""
    problem, solver, _ = run(CASES[name], 0)
    fresh = solver.init(problem.lent)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for number, (what, numbers, arrays) in enumerate(forgeries(name)):
        if number < begin:
            continue
        os.write(tell, f"try {number} {what}\n".encode())
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            state = copy.deepcopy(fresh)
            restore(problem.lent, solver, state, numbers, arrays)
            if not solver.status(state).done:
                solver.advance(problem.lent, state, 3)
            solver.witness(problem.lent, state)
        except (Refused, LinsepError, ArithmeticError, ValueError):
            pass
        except Exception as error:
            if str(error) == "list index out of range":  # of Python, which sees it always
                continue
            os.write(tell, f"found {what}: {type(error).__name__}: {error}\n".encode())
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    os.write(tell, b"end\n")


def tried(name: str, begin: int = 0) -> tuple[list[str], int | None]:
    """What a child has found, and the number at which it died."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        try:
            walk(name, begin, write)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, errors="replace") as file:
        lines = file.read().splitlines()
    _, status = os.waitpid(pid, 0)
    found = [line for line in lines if line.startswith("found ")]
    if lines and lines[-1] == "end":
        return found, None
    last = [line for line in lines if line.startswith("try ")][-1:] or ["try -1 nothing"]
    died = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "an early end"
    return [*found, f"{last[0]}: {died}"], int(last[0].split()[1])


@pytest.mark.parametrize("name", ONE.values(), ids=ONE)
def test_a_forged_field_neither_crashes_nor_hangs(name):
    found, died = tried(name)
    while died is not None and died >= 0:
        more, died = tried(name, died + 1)
        found += more
    assert found == []


@pytest.mark.parametrize("width", [0.0, -1.0, float("nan"), float("inf"), 1e-3])
def test_a_width_is_above_zero_where_it_is_divided_by(width):
    name = next(n for n, case in CASES.items() if type(case.solver).__name__ == "NewtonParts")
    problem, solver, state = run(CASES[name], 2)
    numbers, arrays, _ = stored(state)
    assert solver.form.kinked
    fresh = solver.init(problem.lent)
    if width == 1e-3:
        restore(problem.lent, solver, fresh, numbers | {"h": width}, arrays)
        assert fresh.h == width
        return
    with pytest.raises(Refused, match="a number above 0"):
        restore(problem.lent, solver, fresh, numbers | {"h": width}, arrays)
