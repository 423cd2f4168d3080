"""Which solver for which data, and why: the one whose estimated seconds are fewer."""

from __future__ import annotations

from typing import Any

from linsep.core.costs import (
    AGREED,
    BAND,
    CORNER_STEPS,
    HINGE_PASS,
    HINGE_STEPS,
    INTERIOR_COPIED,
    INTERIOR_ENTRY,
    INTERIOR_ROW,
    INTERIOR_SIDE,
    INTERIOR_STEPS,
    LAST_STEPS,
    MORE_STEPS,
    NEWTON_COLUMNS,
    NEWTON_STEP,
    PRODUCT,
    SCORES_KEPT,
    SMALL_ENTRIES,
    SMALL_ROWS,
    SWEEP_ENTRY,
    SWEEP_ROW,
    SWEEPS_BEGIN,
    SWEEPS_SHARE,
    SWEEPS_TRIED,
)
from linsep.core.problem import Problem
from linsep.core.protocol import Solver
from linsep.core.words import percent
from linsep.errors import SettingError
from linsep.losses.hinge import QuadraticLoss
from linsep.rows.levels import sample_sizes
from linsep.rows.packed import least_share, mostly_zero
from linsep.solvers.hinge.crammer_singer import CrammerSinger
from linsep.solvers.hinge.dual_cd import DualCD
from linsep.solvers.hinge.interior import InteriorHinge
from linsep.solvers.hinge.newton import NewtonHinge
from linsep.solvers.hinge.newton_machine import NewtonMachine
from linsep.solvers.hinge.proximal import ProximalNewton
from linsep.solvers.hinge.wide import WideHinge
from linsep.solvers.one_vs_rest import OneVsRest

SOLVERS = ("newton", "dual-cd", "proximal-newton", "interior-point")

_MOST_COLUMNS = 12_000  # columns up to which a Newton system fits into memory, a gigabyte
_LAST_DIGITS = 1e-8  # gap that wide tables are solved to, unless a larger one is asked for


def is_small(problem: Problem) -> bool:
    """Small enough to be solved to the last digits at no cost worth speaking of."""
    return problem.n <= SMALL_ROWS and problem.n * problem.d <= SMALL_ENTRIES


def choose_solver(
    problem: Problem,
    name: str,
    *,
    C: float,
    loss: QuadraticLoss,
    tol: float,
    seed: int,
    threads: int | None,
    multi_class: str,
    reason: str = "as asked",
) -> tuple[Solver[Any], str]:
    """The solver and the reason in words."""
    one_loss = multi_class == "crammer-singer" and not problem.binary
    if name == "auto":
        name, reason = _by_cost(problem, loss, swept=not one_loss)
    if one_loss:
        return _machine(problem, name, reason, C, tol, seed)
    columns = min(problem.n, problem.d) if name == "interior-point" else problem.d
    if name in ("newton", "interior-point") and columns > _MOST_COLUMNS:
        raise SettingError(
            f"solver={name!r} factors a matrix with a row and a column for each of the "
            f"{columns} {'columns' if columns == problem.d else 'rows'} of X, "
            f"{8e-9 * columns**2:.0f} GB. Leave solver at 'auto', or "
            "use 'proximal-newton' or 'dual-cd'."
        )
    common: dict[str, Any] = {"C": C, "loss": loss, "tol": tol, "seed": seed}
    solver: Any
    if name == "interior-point":
        solver, words = InteriorHinge(C, loss, tol), "interior point method"
    elif name == "newton":
        inner = threads if problem.binary else 1
        solver, words = NewtonHinge(**common, threads=inner), "Newton on a rounded hinge"
    elif name == "dual-cd":
        solver, words = DualCD(**common), "dual coordinate descent"
    elif name == "wide":  # of the choices here, none to ask for
        # the last two steps of interior points are nearly free, and weights get a digit of each
        tol = min(tol, _LAST_DIGITS) if tol <= AGREED and problem.n < 2 * problem.d else tol
        solver = WideHinge(**common | {"tol": tol}, threads=threads if problem.binary else 1)
        words = "dual coordinate descent, then interior points if that is slow"
    else:
        solver = ProximalNewton(**common, threads=threads if problem.binary else 1)
        words = "dual coordinate descent, then proximal Newton steps if that is slow"
    if problem.binary:
        return solver, f"{words} ({reason})"
    return OneVsRest(solver, threads), f"{words} ({reason}), one class against the rest"


def _machine(
    problem: Problem, name: str, reason: str, C: float, tol: float, seed: int
) -> tuple[Solver[Any], str]:
    """One loss for all classes."""
    weights = problem.K * (problem.d + 1)
    few = weights <= NEWTON_COLUMNS and problem.n * problem.K <= SCORES_KEPT
    if name == "interior-point" and reason == "as asked":
        raise SettingError(
            "solver='interior-point' does not exist for multi_class='crammer-singer'; leave "
            "solver at 'auto', or use 'newton'."
        )
    if name in ("newton", "interior-point") and (few or reason == "as asked"):
        return NewtonMachine(C, tol), f"Newton for one loss of all classes ({reason})"
    return CrammerSinger(C, tol, seed), "dual coordinate descent for one loss of all classes"


def _by_cost(problem: Problem, loss: QuadraticLoss, *, swept: bool) -> tuple[str, str]:
    """The way in a word, and the shape; swept allows sweeps before a method that factors."""
    n, d = problem.n, problem.d
    size = problem.matrix.nnz if problem.sparse else n * d
    share = size / (n * d)
    few = d <= NEWTON_COLUMNS
    if is_small(problem):
        return "interior-point", f"a small table, {n} x {d}"
    if few and n >= 2 * d and mostly_zero(problem):
        return "proximal-newton", f"tall, {n} x {d}, and mostly zeros"
    if few and n >= 2 * d and share >= least_share(problem):
        kind = "tall" if not problem.sparse else f"tall and {100 * share:.0f} % full"
        seconds, inside = _newton(problem, loss), False
        if n * d <= INTERIOR_COPIED:
            inside = _interior(n, d) < seconds
            seconds = min(seconds, _interior(n, d))
        swept = swept and (
            inside or not sample_sizes(problem)
        )  # else a sample tells how hard it is
        if swept and _sweeps(n, size) <= SWEEPS_SHARE * seconds:
            return "wide" if inside else "proximal-newton", f"{kind}, {n} x {d}"
        return "interior-point" if inside else "newton", f"{kind}, {n} x {d}"
    if problem.sparse:
        return "proximal-newton", f"sparse, {n} x {d} with {percent(share)} of the entries"
    inside = min(n, d) <= INTERIOR_SIDE and size <= INTERIOR_COPIED
    return "wide" if inside else "proximal-newton", f"wide, {n} x {d}"


def _sweeps(n: int, size: int) -> float:
    """Seconds of the sweeps after which it is seen whether more of them are enough."""
    return SWEEPS_BEGIN + SWEEPS_TRIED * (n * SWEEP_ROW + size * SWEEP_ENTRY)


def _interior(n: int, d: int) -> float:
    """Seconds of interior points: every step makes a matrix of all rows."""
    return INTERIOR_STEPS * (n * (INTERIOR_ROW + INTERIOR_ENTRY * d + 0.5 * PRODUCT * d * d))


def _newton(problem: Problem, loss: QuadraticLoss) -> float:
    """Seconds of Newton's method: steps on a sample if there is one, the last on all rows."""
    n, d = problem.n, problem.d

    def step(rows: int) -> float:
        return NEWTON_STEP + rows * d * (HINGE_PASS + BAND * PRODUCT * d)

    steps = (HINGE_STEPS if loss.q > 0 else CORNER_STEPS) * (1.0 + MORE_STEPS * d / n)
    sizes = sample_sizes(problem)
    return steps * step(n) if not sizes else steps * step(sizes[0]) + LAST_STEPS * step(n)
