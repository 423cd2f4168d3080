"""What the rules that learn from mistakes share: the start, what is kept, what is told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import Event
from linsep.core.order import generator
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.errors import SettingError


def start_weights(problem: Problem, start: Any, seed: int) -> NDArray[np.float64]:
    """Zeros for None, small random numbers for "random", or the given (coef, intercept)."""
    if start is None:
        return np.zeros(problem.dim)
    if isinstance(start, str):
        if start != "random":
            raise SettingError(f"start is {start!r}; use None, 'random' or (coef, intercept).")
        a = generator(seed, 2**63).standard_normal(problem.dim)
        if not problem.fit_intercept:
            a.reshape(-1, problem.d + 1)[:, -1] = 0.0
        return a
    coef, intercept = start if isinstance(start, tuple) else (start, 0.0)
    size, need = np.size(coef), problem.dim // (problem.d + 1) * problem.d
    if size != need:
        raise SettingError(
            f"start has {size} coefficients; this problem needs {need} "
            f"({problem.d} features, {problem.K} classes)."
        )
    return problem.join(coef, intercept)


class MistakeDriven:
    """Methods over a state with a, best, average, proof_rows and proof_counts."""

    keep: str | None
    strict: bool

    def status(self, state: Any) -> Status:
        """Why the run stands where it stands."""
        status: Status = state.status
        return status

    def witness(self, problem: Problem, state: Any) -> Witness:
        """The weights that are kept, and the rows that prove non-separability if there are."""
        return Witness(
            a=self.kept(problem, state),
            rows=state.proof_rows,
            multipliers=state.proof_counts,
            claim="origin" if state.proof_rows.size else "",
        )

    def kept(self, problem: Problem, state: Any) -> NDArray[np.float64]:
        """The weights asked for by ``keep``; a separator is kept in any case."""
        if state.status is Status.SEPARATED or self.keep == "last":
            return np.array(state.a)
        if self.keep == "average":
            return np.array(state.average)
        values = problem.values(state.a)  # of the last ones, which no pocket may have looked at
        wrong = ~(values >= 0) if self.strict else ~(values > 0)
        last = float(problem.row_weights[wrong].sum())
        return np.array(state.a if last < float(np.min(state.best_cost)) else state.best)

    def current(self, problem: Problem, state: Any) -> NDArray[np.float64]:
        """The weights as they are now, whatever is kept."""
        return np.asarray(state.a)

    def extra(self, problem: Problem, state: Any, event: Event | None) -> dict[str, float]:
        """What a trace tells beside the weights."""
        return {"norm2": float(state.a @ state.a), **({"eta": event.step} if event else {})}

    def repeats(self, problem: Problem, event: Event) -> int | None:
        """Updates with this row in a row that would set it right: each adds step |z|^2."""
        row = event.row if problem.binary else event.row // (problem.K - 1)
        size = float(problem.squared_lengths[row]) + problem.fit_intercept
        gain = event.step * float(problem.row_weights[event.row]) * size
        gain *= 1 if problem.binary else 2
        if not gain > 0:
            return None
        exact = -event.value / gain
        return math.ceil(exact) if self.strict else math.floor(exact) + 1

    def rule_words(self, event: Event) -> str:
        """The update in the lecture's letters."""
        return f"a <- a + {event.step:.6g} z"
