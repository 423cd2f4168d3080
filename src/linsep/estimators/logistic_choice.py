"""Which solver of logistic regression for which data, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linsep.certify.logistic_bounds import read_densely
from linsep.core import Problem, Solver
from linsep.solvers.gradient_ascent import GradientAscent
from linsep.solvers.logistic_cg import LogisticCG
from linsep.solvers.newton_logistic import NewtonLogistic

__all__ = ["SOLVERS", "choose_logistic", "is_small", "with_tol"]

SOLVERS = ("newton", "gradient")

_FEW_COLUMNS = 1500  # a Newton system of this width is factored in a blink


def is_small(problem: Problem) -> bool:
    """Small enough to be solved to the last digits at no cost worth speaking of."""
    return problem.n <= 5000 and problem.n * problem.d <= 100_000 and problem.d <= 300


def choose_logistic(
    problem: Problem,
    name: str,
    *,
    C: float,
    tol: float,
    seed: int,
    threads: int | None,
    reference: int | None,
    eta: float | None,
    decay: Any,
) -> tuple[Solver[Any], str]:
    """The solver and the reason in words."""
    how = "as asked" if name != "auto" else _shape(problem)
    several = "" if problem.binary else f", softmax of {problem.K} classes"
    if name == "gradient":
        return GradientAscent(C, tol, eta, decay, reference), f"gradient ascent ({how}){several}"
    solver: Any
    if not problem.binary:
        from linsep.solvers.newton_softmax import NewtonSoftmax

        solver = NewtonSoftmax(C=C, tol=tol, seed=seed, threads=threads, reference=reference)
        return solver, f"Newton's method ({how}){several}"
    if _factored(problem):
        return NewtonLogistic(C, tol, seed, threads), f"Newton's method ({how})"
    solver = LogisticCG(C, tol, threads)
    return solver, f"Newton's method with conjugate gradients ({how})"


def with_tol(solver: Any, tol: float) -> Any:
    """The same solver for another tolerance."""
    return replace(solver, tol=tol)


def _factored(problem: Problem) -> bool:
    """Whether the matrix of second derivatives is worth having."""
    n, d = problem.n, problem.d
    if is_small(problem):
        return True
    return d <= _FEW_COLUMNS and n >= 2 * d and read_densely(problem)


def _shape(problem: Problem) -> str:
    n, d = problem.n, problem.d
    if is_small(problem):
        return f"a small table, {n} x {d}"
    if problem.sparse:
        share = 100 * problem.matrix.nnz / max(1, n * d)
        return f"sparse, {n} x {d} with {share:.2g} % of the entries"
    return f"{'tall' if n >= 2 * d else 'wide'}, {n} x {d}"
