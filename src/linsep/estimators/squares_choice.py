"""Which solver for which least-squares problem, and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core import Problem, Solver
from linsep.core.words import count, percent
from linsep.solvers.conjugate_squares import ConjugateSquares
from linsep.solvers.gradient_squares import GradientSquares, spectrum
from linsep.solvers.least_squares import ExactSquares
from linsep.solvers.pseudo_inverse import fits
from linsep.solvers.schedule import Schedule
from linsep.solvers.widrow_hoff import WidrowHoff, longest_row

__all__ = ["choose_squares", "slow_words", "too_fast_words", "unsquarable_words"]

_USELESS = 0.5  # exponent of k below which eta(1) / k is called useless


def choose_squares(
    problem: Problem, name: str, *, eta: Any, decay: Any, order: str, tol: float, seed: int
) -> tuple[Solver[Any], str]:
    """The solver and the reason in words."""
    columns = "" if problem.binary else f"; {problem.K} classes, one column each"
    solver: Any
    if name == "exact":
        if fits(problem):
            return ExactSquares(), f"normal equations (as asked){columns}"
        size = f"{problem.n} x {problem.width}"
        solver = ConjugateSquares(tol=0.5 * tol)
        return solver, f"conjugate gradients ({size} is too large for a factorisation){columns}"
    schedule = Schedule(1.0 if eta is None else float(eta), "constant" if decay is None else decay)
    auto = eta is None
    if name == "gradient":
        solver = GradientSquares(schedule, auto, tol, seed)
        rate = "eta = 1 / lambda_max" if auto else f"eta = {schedule.eta:.4g}"
        return solver, f"gradient descent, {rate} (as asked){columns}"
    slow = decay is None and auto
    solver = WidrowHoff(schedule, auto, slow, order, tol, seed)
    rate = "eta = 1 / max s|z|^2" if auto else f"eta = {schedule.eta:.4g}"
    return solver, f"Widrow-Hoff, {order} order, {rate} (as asked){columns}"


def unsquarable_words(problem: Problem, name: str) -> str | None:
    """What to do about columns whose squares leave the range of float64; None if they do not."""
    top = _curvature(problem, name)
    if 0.0 < top < np.inf:
        return None
    return f"The columns are too {'large' if top > 0.0 else 'small'} to be squared; scale them"


def _curvature(problem: Problem, name: str) -> float:
    """1 over the rate that is always small enough."""
    return float(spectrum(problem).largest if name == "gradient" else longest_row(problem))


def too_fast_words(problem: Problem, name: str, eta: Any) -> str:
    """Why it diverged and what to do."""
    top = _curvature(problem, name)
    if name == "gradient":
        return (
            f"eta = {eta:.6g} is too large: gradient steps converge for eta < 2 / lambda_max = "
            f"{2 / top:.6g}. Give a smaller eta, or None for 1 / lambda_max = {1 / top:.6g}"
        )
    return (
        f"eta = {eta:.6g} is too large: steps of one row are safe for eta < 2 / max s|z|^2 = "
        f"{2 / top:.6g}. Give a smaller eta, or None for a safe one"
    )


def slow_words(problem: Problem, rate: float, decay: Any, passes: float) -> str | None:
    """What eta(1) / k can reach; None where it can reach enough."""
    least = spectrum(problem).smallest
    exponent = rate * least / problem.n
    if decay != "inverse" or not np.isfinite(exponent) or exponent >= _USELESS:
        return None
    left = (passes * problem.n) ** -exponent
    return (
        f"eta(k) = {rate:.3g} / k shrinks the slowest error like k^-{exponent:.2g}: after "
        f"{count(passes, 'pass', spec='.4g')} {percent(left, 3)} of it are left. Take decay=None, "
        "solver='gradient' or 'exact'"
    )
