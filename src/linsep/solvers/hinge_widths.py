"""How far the corner of the hinge is rounded off, and when that changes.

When the gradient vanishes, the gap is what the rounding leaves, C sum s (max(u, 0) - z u). It
is read off the stored u for any width h, so the next h is known without another pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import sum_of_pieces
from linsep.losses.hinge import rounded_excess
from linsep.solvers.hinge_state import NewtonState

__all__ = ["FIRST", "IDLE", "SECOND", "Widths", "slopes"]

Array = NDArray[np.float64]

FIRST = (2.0, 1.0, 0.5, 0.25)  # widths on the first set of rows
SECOND = (0.25, 0.12)  # and on the next, before the width that the tolerance asks for
IDLE = 3  # steps without gain after which more of them are of no use
_UNSEEN = 1e-15  # share of the objective below which a decrease is lost in rounding
_SMALLEST = 1e-13  # width below which rounding rules
_ROUGH, _FINE = 1e-3, 1e-4  # shares of the objective that a step on a sample must promise
_RUNG = 12  # steps at one width on a sample, at most


def slopes(state: NewtonState) -> Array:
    """z of all rows at the present point."""
    middle: Any = state.center if state.center.size else 0.5
    return np.asarray(np.clip(state.u * (0.5 / state.h) + middle, 0.0, 1.0))


@dataclass(frozen=True)
class Widths:
    """The choice of widths for an objective and a relative gap."""

    C: float
    loss: str
    tol: float

    def settled(self, state: NewtonState, predicted: float, full: bool) -> bool:
        """Whether further steps at this width would not pay."""
        if full:
            gap = max(state.primal - state.dual, 0.0)
            rest, before = gap - state.leftover, state.rest
            state.rest = rest
            if rest <= 0.1 * max(self.tol * state.primal, 0.2 * gap) or state.idle > IDLE:
                return True
            # beside columns of 1e8 the dual point gains by steps that the objective does not feel
            return predicted <= _UNSEEN * state.primal and not rest < 0.5 * before
        if state.rung >= _RUNG:
            return True
        return predicted <= (_ROUGH if state.h > FIRST[-1] else _FINE) * state.primal

    def next_on_sample(self, state: NewtonState, cost: Array) -> tuple[float, Array] | None:
        """The next width on a sample; None when it has told all it can."""
        if self.loss == "squared_hinge":
            return None
        schedule = FIRST if state.target == 0.0 else (*SECOND, state.target)
        later = [h for h in schedule if h < state.h]
        if later:
            return later[0], state.center
        if state.target == 0.0:
            share = 0.5 * max(self.tol, 3e-4)
            state.target = min(self._fitting(state, cost, share, 0.5), 0.12)
        return None

    def refine(self, state: NewtonState, cost: Array) -> tuple[float, Array] | None:
        """On all rows: a smaller width if that is enough, else move the centre to the slopes.

        Moving the centre is the step of the multiplier method: the gap shrinks at a width that
        keeps the Newton systems well behaved, and faster the larger C is.
        """
        if self.loss == "squared_hinge":  # the dual may still gain where the primal cannot
            state.idle = 0 if state.gap < 0.9 * state.settled_gap else state.idle + 1
            state.settled_gap = min(state.gap, state.settled_gap)
            return (state.h, state.center) if state.idle <= 6 else None
        h, allowed = state.h, 0.5 * self.tol * state.primal
        if not state.center.size:
            wider = [w for w in FIRST if w < h] if state.target == 0.0 else []
            if wider and self._leftover(state, cost, wider[0]) > allowed:
                return wider[0], state.center
            fit = max(self._fitting(state, cost, 0.5 * self.tol, 0.8 * h), 0.2 * h)
            near = state.primal - state.dual <= 30.0 * self.tol * state.primal
            if near and self._leftover(state, cost, fit) <= allowed:
                return fit, state.center
        gap = state.primal - state.dual
        state.idle = state.idle + 1 if not gap < state.settled_gap else 0
        if gap > 0.3 * state.settled_gap:
            h *= 0.5
        state.settled_gap = min(gap, state.settled_gap)
        if h < _SMALLEST or state.idle > 8:
            return None
        return h, slopes(state)

    def _fitting(self, state: NewtonState, cost: Array, share: float, h: float) -> float:
        """About the largest width, at most h, that leaves a gap of at most ``share`` of P.

        The gap grows with the number of rows in the band and with its width: about as h^2.
        """
        while h > 1e-4 * state.h:
            left = self._leftover(state, cost, h)
            if not left > share * state.primal:
                break
            h *= min(max(0.97 * np.sqrt(share * state.primal / left), 0.2), 0.9)
        return h

    def _leftover(self, state: NewtonState, cost: Array, h: float) -> float:
        return self.C * float(sum_of_pieces(partial(rounded_excess, h), state.u, cost)[0])
