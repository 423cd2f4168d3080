"""Where a rule of steps begins, and how long its steps are.

Learning rates are a constant, eta / k, or any function of the update number k = 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.order import generator
from linsep.core.problem import Problem
from linsep.errors import SettingError

RATES_AHEAD = 256  # rates computed together
DIVERGENCE = 1e8  # growth of what is to be small that shows a rate to be too large


@dataclass(frozen=True)
class Schedule:
    """eta(k) for the k-th update.

    Examples
    --------
    >>> Schedule(1.0, "inverse").rates(0)[:4]
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    """

    eta: float = 1.0
    decay: str | Callable[[int], float] = "constant"

    @property
    def constant(self) -> bool:
        """Whether all rates are equal."""
        return self.decay == "constant"

    def rates(self, done: int) -> NDArray[np.float64]:
        """The next rates after ``done`` updates: one number if constant, else a list of them."""
        if self.constant:
            return np.array([self.eta])
        k = np.arange(done + 1, done + 1 + RATES_AHEAD)
        if self.decay == "inverse":
            return self.eta / k
        if not callable(self.decay):
            raise SettingError(
                f"decay is {self.decay!r}; use 'constant', 'inverse' or a function of k."
            )
        rates = np.array([self.eta * float(self.decay(int(i))) for i in k])
        if not (np.isfinite(rates).all() and (rates > 0).all()):
            at = int(np.flatnonzero(~(np.isfinite(rates) & (rates > 0)))[0])
            raise SettingError(
                f"decay gives {rates[at]} for update {int(k[at])}; rates are finite and positive."
            )
        return rates


CONSTANT = Schedule()
"""eta = 1 for every update."""


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
    if hasattr(start, "coef_"):  # a plane, or another model
        coef, intercept = start.coef_, start.intercept_
    size, need = np.size(coef), problem.dim // (problem.d + 1) * problem.d
    if size != need:
        raise SettingError(
            f"start has {size} coefficients; this problem needs {need} "
            f"({problem.d} features, {problem.K} classes)."
        )
    a = problem.join(coef, intercept)
    if not np.isfinite(a).all():
        raise SettingError(f"start is {start!r:.60}; weights to start from are finite numbers.")
    return a
