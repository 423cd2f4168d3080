"""The procedure of Ho and Kashyap: least squares with targets that adapt.

Problem   find a and b > 0 with Y a = b, so that a separates; or show that there are none
Update    e = Y a - b,  b <- b + eta (e + |e|),  a <- Y^+ b
Stop      Y a > 0: a separates. Or no e_i is positive any more: then -e >= 0 and Y'S e = 0, so
          s_i |e_i| are multipliers that combine the rows to zero, and nothing separates
Paper     Ho and Kashyap 1965; Duda, Hart and Stork 2001, section 5.9

Targets only grow, so each b is a reachable margin. When the classes are not separable, positive
errors fade but need not vanish in finitely many steps. So now and then a few rows are picked from
the large multipliers (a basic solution, by non-negative least squares) and tried in integers:
if they combine to zero exactly, that is the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Event, Held, Log, State, Status, Witness
from linsep.rows.exact import dependency, reflected
from linsep.rows.normal import aims, columns_of, flat, totals
from linsep.solvers.squares.pseudo_inverse import pseudo_inverse

Array = NDArray[np.float64]

_FIRST_TRY = 8  # step at which a proof is first looked for; then at every doubling
_TRY = 3_000_000  # entries of the rows that it is looked for among
_DIM = 150
_WORTH_TRYING = 1e-6  # share of the largest multiplier from which a row is worth trying
_BIG = 1e200


@dataclass(kw_only=True)
class HoKashyapState(State):
    """Weights, targets, and the rows that prove non-separability."""

    held: ClassVar[Mapping[str, Held]] = {
        "proof_rows": Held(shape=("?",), below="n_rows"),
        "proof_counts": Held(shape=("proof_rows",)),
    }

    a: Array
    b: Array
    cost: float = np.inf
    """|Y a - b|^2."""
    worst: float = -np.inf
    """Smallest value of Y a."""
    growing: float = np.inf
    """Largest positive error, relative to the largest negative one."""
    n_passes: int = 0
    proof_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    proof_counts: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def passes(self) -> float:
        """Products with all rows, there and back."""
        return float(self.n_passes)


@dataclass(frozen=True)
class HoKashyap:
    """Ho and Kashyap's procedure for two classes.

    Parameters
    ----------
    eta : float
        Rate in (0, 1].
    tol : float
        Positive errors smaller than tol times the negative ones are evidence enough.
    """

    unit: ClassVar[str] = "step"

    eta: float = 0.9
    tol: float = 1e-6

    def init(self, problem: Problem, *, start: Any = None) -> HoKashyapState:
        """b as given with the problem, or ones; a = Y^+ b."""
        b = np.abs(aims(problem)[:, 0]).copy()
        state = HoKashyapState(a=np.zeros(problem.dim), b=b)
        self._project(problem, state)
        return state

    def advance(
        self, problem: Problem, state: HoKashyapState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Up to ``steps`` changes of the targets."""
        taken = 0
        while taken < steps and not state.status.done:
            taken += 1
            state.steps += 1
            self._step(problem, state, log)
            if log.full:
                break
        return taken

    def status(self, state: HoKashyapState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: HoKashyapState) -> Witness:
        """The weights, and the rows that prove non-separability if there are."""
        return Witness(
            a=state.a.copy(),
            rows=state.proof_rows,
            multipliers=state.proof_counts,
            claim="origin" if state.proof_rows.size else "",
        )

    # -- for traces -----------------------------------------------------------------------

    def current(self, problem: Problem, state: HoKashyapState) -> Array:
        """The weights as they are now."""
        return state.a

    def extra(
        self, problem: Problem, state: HoKashyapState, event: Event | None
    ) -> dict[str, float]:
        """|Ya - b|^2 and the largest target."""
        return {"cost": state.cost, "largest_target": float(state.b.max()), "eta": self.eta}

    def batch_words(self, event: Event, wrong: int) -> str:
        """The update in the letters of the paper."""
        rows = "row" if wrong == 1 else "rows"
        return (
            f"{wrong} {rows} wrong, |e|^2 = {event.value:.6g}, so b <- b + {event.step:.4g} "
            "(e + |e|), a <- Y^+ b"
        )

    # -- inside ---------------------------------------------------------------------------

    def _step(self, problem: Problem, state: HoKashyapState, log: Log) -> None:
        before = state.cost
        e = self._errors(problem, state)
        state.b = state.b + self.eta * (e + np.abs(e))
        self._project(problem, state)
        state.n_updates += 1
        if not state.status.done and float(state.b.max()) > _BIG:
            state.status = Status.DIVERGED
        tries = state.steps >= _FIRST_TRY and state.steps & (state.steps - 1) == 0
        if not state.status.done and (tries or state.growing <= self.tol):
            self._try_to_prove(problem, state)
            if not state.status.done and state.growing <= self.tol:
                state.status = Status.CONVERGED
        log.write(state.n_updates, state.n_updates * problem.n_rows, -1, before, self.eta)

    def _errors(self, problem: Problem, state: HoKashyapState) -> Array:
        return problem.values(state.a) - state.b

    def _project(self, problem: Problem, state: HoKashyapState) -> None:
        """a = Y^+ b, as a correction of the present weights, and what is seen from there."""
        inverse = pseudo_inverse(problem)
        T = (problem.sign * state.b)[:, None]
        for _ in range(1 if state.n_updates else 2):
            A = columns_of(problem, state.a)
            step = inverse.correction(problem, totals(problem, A, T))
            state.a = flat(problem, inverse.shortest(A - step))
            state.n_passes += 1
        values = problem.values(state.a)
        e = values - state.b
        state.n_passes += 1
        state.cost = float(problem.weight @ (e * e))
        state.worst = float(values.min())
        below = float(np.maximum(-e, 0.0).max())
        above = float(np.maximum(e, 0.0).max())
        state.growing = above / below if below > 0 else (np.inf if above > 0 else 0.0)
        state.status = Status.RUNNING if state.n_updates else Status.READY
        if not np.isfinite(state.cost):
            state.status = Status.DIVERGED
        elif state.worst > 0:
            state.status = Status.SEPARATED

    def _try_to_prove(self, problem: Problem, state: HoKashyapState) -> None:
        """Pick at most d + 2 rows and show that they combine to zero, in integers."""
        m = problem.weight * np.maximum(-self._errors(problem, state), 0.0)
        rows = np.flatnonzero(m > _WORTH_TRYING * m.max(initial=0.0))
        if not rows.size or problem.width > _DIM or rows.size * problem.width > _TRY:
            return
        block = reflected(problem, rows)
        size = np.abs(block).max(axis=0)
        table = np.vstack([(block / np.where(size > 0, size, 1.0)).T, np.ones(len(rows))])
        goal = np.zeros(len(table))
        goal[-1] = 1.0
        try:
            found, left = scipy.optimize.nnls(table, goal)
        except RuntimeError:  # too many of its iterations
            return
        if left > 1e-6:
            return
        few = found > 1e-12 * found.max()
        multipliers = dependency(block[few])
        if multipliers is None:
            return
        state.proof_rows = rows[few]
        state.proof_counts = found[few]
        state.status = Status.INSEPARABLE
