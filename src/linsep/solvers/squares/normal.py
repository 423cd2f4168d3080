"""Least squares by its normal equations, exactly up to rounding; with a penalty or without.

Problem   minimise J(a) = sum_i s_i (z_i . a - b_i)^2; of all minimisers the shortest
Update    a <- a - (Y'SY)^+ Y'S (Y a - b), first from a = 0, then as refinement
Stop      corrections have reached the level of rounding; on large well-conditioned data at once
Paper     Golub and Van Loan, Matrix Computations, chapter 5; Björck, Numerical Methods for Least
          Squares Problems, section 2.9 (corrected seminormal equations)

One step is one correction. The factorisation behind it is a function of the problem and is kept
with it (``pseudo_inverse``), so the state is the weights alone.

With a penalty (``RidgeSquares``):

Problem   minimise sum_i s_i |x_i W + b - t_i|^2 + |W|^2 / C; b is not penalised
Update    A <- A - H^-1 g, H = X~'SX~ + I / C with 0 for the offset, g half the gradient
Paper     Hoerl and Kennard 1970, Ridge regression, Technometrics 12

In the feature space of a kernel (``solvers.kernel.lifted``) it is the least squares support vector
machine (Suykens and Vandewalle 1999), also called kernel ridge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import SPARED_PASS
from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Log, State, Status, Witness
from linsep.errors import ClusterError
from linsep.numerics.cholesky import Factor, growing, inverse_roots
from linsep.rows.normal import (
    Totals,
    aims,
    columns_of,
    flat,
    gram,
    normal_sums,
    right_side,
    slope_of,
    totals,
)
from linsep.rows.parts import PartsProblem
from linsep.solvers.squares.pseudo_inverse import PseudoInverse, of_products, pseudo_inverse

Array = NDArray[np.float64]

_MOST_CORRECTIONS = 12
_DONE = 1e-11  # a correction so small, relative to the weights, that the next one is rounding
_DONE_WITH_PENALTY = 1e-14  # the same where the weights have a penalty
_TAME = 100.0  # condition up to which ten digits are right without a correction
_SHRINK = 0.3  # of a correction, below which another one is worth its pass


@dataclass(kw_only=True)
class ExactState(State):
    """Weights, and how large the gradient was before the last correction."""

    a: NDArray[np.float64]
    size: float = np.inf
    n_passes: int = 0

    @property
    def passes(self) -> float:
        """Products with all rows, there and back."""
        return float(self.n_passes)


def in_vain(state: ExactState, size: float) -> bool:
    """Whether a correction is not much smaller than the last one: then both are rounding."""
    return size == 0.0 or size > _SHRINK * state.size or state.steps > _MOST_CORRECTIONS


class Corrections(ABC):
    """Base of the solvers whose step is one correction of the weights, by a factorisation that is a
    function of the problem."""

    unit: ClassVar[str] = "correction"
    long_steps: ClassVar[bool] = True

    def init(self, problem: Problem, *, start: Any = None) -> ExactState:
        """Weights zero: a start would not change the answer."""
        return ExactState(a=np.zeros(problem.dim))

    def advance(self, problem: Problem, state: ExactState, steps: int, log: Log = NO_LOG) -> int:
        """Up to ``steps`` corrections."""
        taken = 0
        while taken < steps and not state.status.done:
            taken += 1
            state.steps += 1
            self._correct(problem, state)
        return taken

    def status(self, state: ExactState) -> Status:
        """CERTIFIED once corrections bring nothing more; the certificate has the last word."""
        return state.status

    def witness(self, problem: Problem, state: ExactState) -> Witness:
        """The weights."""
        return Witness(a=state.a.copy())

    @abstractmethod
    def _correct(self, problem: Problem, state: ExactState) -> None:
        """One correction, and whether it was the last."""


@dataclass(frozen=True)
class ExactSquares(Corrections):
    """Least squares by a factorisation of the rows; there is nothing to set."""

    def _correct(self, problem: Problem, state: ExactState) -> None:
        inverse = pseudo_inverse(problem)
        A = columns_of(problem, state.a)
        if state.n_updates or inverse.by_rows:
            now = totals(problem, A, aims(problem))
        else:  # at zero weights they are known already
            now = Totals(-aims(problem), -right_side(problem), 0)
        _take(problem, state, A, inverse, inverse.correction(problem, now))


def _take(
    problem: Problem, state: ExactState, A: Array, inverse: PseudoInverse, step: Array
) -> None:
    """A correction, unless it is no better than rounding."""
    state.n_passes += 1
    if not np.isfinite(step).all():
        state.status = Status.DIVERGED
        return
    size = float(np.abs(step * inverse.scale[:, None]).max())
    state.status = Status.RUNNING
    if in_vain(state, size):
        state.status = Status.CERTIFIED
        return
    A = inverse.shortest(A - step)
    state.a = flat(problem, A)
    state.n_updates += 1
    state.size = size
    enough = problem.n * problem.d >= SPARED_PASS and inverse.condition <= _TAME
    if enough or size <= _DONE * float(np.abs(A * inverse.scale[:, None]).max()):
        state.status = Status.CERTIFIED


# -- the same of rows that are read part by part --------------------------------------------------


@dataclass(kw_only=True)
class SquaresPartsState(ExactState):
    """The same with X~'S X~, of which the factors are made."""

    gram: Array

    @property
    def passes(self) -> float:
        """Passes over all parts, that of the first look among them."""
        return 1.0 + self.n_passes


@dataclass(frozen=True)
class SquaresParts(Corrections):
    """Least squares from sums of products: one pass, and one more for each correction."""

    def init(self, problem: Any, *, start: Any = None) -> SquaresPartsState:
        """Weights zero, and no pass yet."""
        return SquaresPartsState(
            a=np.zeros(problem.dim), gram=np.zeros((problem.width, problem.width))
        )

    def _correct(self, problem: Any, state: Any) -> None:
        parts: PartsProblem = problem
        A = columns_of(problem, state.a)
        try:
            if not state.n_updates:
                found = parts.total(normal_sums, "sums of products")
                state.gram, gradient = found.gram, -found.right
            else:
                slope = partial(slope_of, A=A)
                gradient = parts.total(slope, "a correction").gradient
        except ClusterError:
            if not state.n_updates:
                raise
            state.status = Status.CLUSTER_LOST
            return
        inverse = of_products(state.gram)
        _take(problem, state, A, inverse, inverse.step(gradient))


# -- with a penalty ---------------------------------------------------------------------------


@dataclass(frozen=True)
class RidgeSquares(Corrections):
    """Least squares with |W|^2 / C.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squares against the penalty.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.squares.normal import RidgeSquares
    >>> problem = Problem([[-1.0], [0.0], [1.0]], [-1, 1, 1])
    >>> drive(problem, RidgeSquares(C=0.5)).witness.a.round(6).tolist()
    [0.5, 0.333333]
    """

    C: float = 1.0

    def _correct(self, problem: Problem, state: ExactState) -> None:
        A = columns_of(problem, state.a)
        gradient = totals(problem, A, aims(problem)).gradient
        gradient[: problem.d] += A[: problem.d] / self.C
        state.n_passes += 1
        factor = problem.once(_factor, self.C)
        if factor is None:
            state.status = Status.DIVERGED
            return
        step = np.column_stack([factor.solve(column) for column in gradient.T])
        size, large = float(np.abs(step).max(initial=0.0)), float(np.abs(A).max(initial=0.0))
        if not np.isfinite(size):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if in_vain(state, size):
            state.status = Status.CERTIFIED
            return
        state.a = flat(problem, A - step)
        state.n_updates += 1
        state.size = size
        if size <= _DONE_WITH_PENALTY * large:
            state.status = Status.CERTIFIED


def _factor(problem: Problem, C: float) -> Factor | None:
    H = np.array(gram(problem).matrix)
    H[np.arange(problem.d), np.arange(problem.d)] += 1.0 / C
    few = 1e-16 * len(H)
    return Factor.of(H, inverse_roots(H.diagonal()), growing(few, few))
