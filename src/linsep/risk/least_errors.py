"""The fewest rows that a linear rule must get wrong, with proof. For small data.

The 0/1 loss has no useful gradient: it is 0 wherever it exists, so gradient descent does not
move. Minimising it exactly is hard when the number of columns grows (it is polynomial for a fixed
number), so this is for data of some dozens of rows, or few errors, and to grade other methods.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import reflected, vanishes
from linsep.certify.hitting import hits_cost_at_least
from linsep.certify.line import least_line_cost
from linsep.certify.recheck import kesler_rows
from linsep.core.problem import Problem
from linsep.errors import ProofError, SettingError
from linsep.risk.error_search import Conflict, Search
from linsep.risk.machines import wrong_rows
from linsep.risk.tables import show

__all__ = ["LeastErrors", "minimum_errors"]


@dataclass(frozen=True, eq=False)
class LeastErrors:
    """The fewest errors of any linear rule, and the proof.

    Attributes
    ----------
    errors : int or float
        Rows that the best rule found gets wrong (their total weight, with sample_weight). A
        row on the plane counts as wrong.
    bounds : (low, high)
        No rule has fewer than low; high is ``errors``. They are equal unless time ran out.
    exact : bool
        Whether the bounds are equal.
    wrong : array of int
        The rows that the rule gets wrong.
    coef, intercept
        The rule: shapes (d,) and a number for two classes, (K, d) and (K,) for more.
    conflicts : tuple of Conflict
        Rows with multipliers > 0 whose reflected rows sum to zero: no rule has all of them
        right. The least number of rows that meets all conflicts is ``bounds[0]``. Two classes
        and one column need none: every threshold is looked at.
    proved : bool
        Whether the lower bound was confirmed in exact numbers. False only when that search was
        too long; then the bound is what HiGHS says in floats, and ``check`` searches to the end.
    seconds : float
    """

    errors: Any
    bounds: tuple[Any, Any]
    wrong: NDArray[np.int64]
    coef: NDArray[Any]
    intercept: Any
    conflicts: tuple[Conflict, ...]
    fit_intercept: bool
    n_samples: int
    proved: bool
    weighted: bool = field(repr=False)
    seconds: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the least number is known."""
        return bool(self.bounds[0] == self.bounds[1])

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove both bounds again from the stored numbers; True, or ProofError.

        The upper one by counting the errors of the rule, the lower one by adding up the rows
        of every conflict and by a search that no choice of fewer rows meets all conflicts (one
        column: by looking at every threshold). All in rational arithmetic.
        """
        problem = Problem(X, y, sample_weight=sample_weight, fit_intercept=self.fit_intercept)
        costs = _costs(problem, self.weighted)
        wrong = wrong_rows(problem, (self.coef, self.intercept))
        if sum(costs[i] for i in wrong.tolist()) != self.bounds[1]:
            raise ProofError(
                f"the proof does not hold: the rule gets {len(wrong)} rows wrong, "
                f"{self.bounds[1]} are claimed."
            )
        place = {problem.sample_of_index(i): i for i in range(problem.n)}
        sets = []
        for conflict in self.conflicts:
            inner = np.array([place.get(i, -1) for i in conflict.rows.tolist()])
            if (inner < 0).any() or not all(m > 0 for m in conflict.multipliers):
                raise ProofError("the proof does not hold: a conflict names no row of the data.")
            rows = kesler_rows(problem, inner, conflict.rivals)
            if not vanishes(reflected(problem, rows), conflict.multipliers):
                raise ProofError(
                    f"the proof does not hold: the rows {conflict.rows.tolist()} do not sum to "
                    "zero with their multipliers."
                )
            sets.append(inner.tolist())
        if problem.binary and problem.d == 1:
            least = _on_a_line(problem, costs)[0]
            if least < self.bounds[0]:
                raise ProofError(
                    f"the proof does not hold: a threshold costs {least}, at least "
                    f"{self.bounds[0]} is claimed."
                )
        elif not hits_cost_at_least(sets, costs, self.bounds[0]):
            raise ProofError(
                f"the proof does not hold: rows of less than {self.bounds[0]} meet all conflicts."
            )
        return True

    def __str__(self) -> str:
        low, high = (show(Fraction(b)) for b in self.bounds)
        what = "weight of errors" if self.weighted else "errors"
        if self.exact:
            rows = ", ".join(str(i) for i in self.wrong[:10].tolist())
            more = ", ..." if len(self.wrong) > 10 else ""
            some = f" (row{'s' if len(self.wrong) > 1 else ''} {rows}{more})" if rows else ""
            count = len(self.conflicts)
            proof = f"{count} conflict{'s' if count != 1 else ''} prove" + "s" * (count == 1)
            end = f"; {proof} that no rule has fewer" if count else ""
            if self.coef.shape == (1,) and self.bounds[0]:
                end = "; every threshold was looked at"
            return f"fewest {what} of a linear rule: {high}{some}{end}"
        return f"fewest {what} of a linear rule: between {low} and {high}; the time ran out"


def minimum_errors(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    time_limit: float | None = None,
) -> LeastErrors:
    """The fewest rows that any linear rule gets wrong, exactly.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Two classes or more; more than two are decided by a linear machine.
    fit_intercept : bool, default=True
    sample_weight : array of shape (n,), optional
        What each error costs; the least total cost is found.
    time_limit : float, optional
        Seconds after which to give back the bounds that are known. The search is exponential
        at worst: some ten errors among a hundred rows of the plane take seconds.

    Returns
    -------
    LeastErrors

    Examples
    --------
    >>> import linsep
    >>> from linsep.risk import minimum_errors
    >>> X, y = linsep.data.load("five-points")
    >>> best = minimum_errors(X, y)
    >>> best.errors, best.exact, best.check(X, y)
    (1, True, True)
    >>> print(minimum_errors([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]))
    fewest errors of a linear rule: 1 (row ...); 1 conflict proves that no rule has fewer
    """
    begin = time.perf_counter()
    if time_limit is not None and not time_limit >= 0:
        raise SettingError(f"time_limit is {time_limit!r}; give seconds >= 0, or None.")
    problem = Problem(X, y, sample_weight=sample_weight, fit_intercept=fit_intercept)
    weighted = sample_weight is not None
    deadline = None if time_limit is None else begin + time_limit
    search = Search(problem, _costs(problem, weighted), deadline)
    if problem.binary and problem.d == 1:
        cost, w, b = _on_a_line(problem, search.costs)
        weights = np.array([w]) if isinstance(b, float) else np.array([Fraction(w)], dtype=object)
        search.offer((weights, b))
        search.low = cost
    else:
        search.run()
    assert search.wrong is not None and search.plane is not None
    high = search.high
    outer = [problem.sample_of_index(int(i)) for i in search.wrong]
    return LeastErrors(
        errors=float(high) if weighted else high,
        bounds=(min(search.low, high), high),
        wrong=np.array(outer, dtype=np.int64),
        coef=search.plane[0],
        intercept=search.plane[1],
        conflicts=tuple(_outside(problem, conflict) for conflict in search.conflicts),
        fit_intercept=fit_intercept,
        n_samples=problem.n,
        proved=search.proved,
        weighted=weighted,
        seconds=time.perf_counter() - begin,
    )


def _on_a_line(problem: Problem, costs: Sequence[Any]) -> tuple[Any, float, Any]:
    """One column: all thresholds can be looked at, whatever the number of rows."""
    x = problem.matrix[:, [0]]
    x = np.ravel(x if isinstance(x, np.ndarray) else x.toarray()).astype(np.float64)
    return least_line_cost(x, problem.label == 1, costs, problem.fit_intercept)


def _costs(problem: Problem, weighted: bool) -> list[Any]:
    return [Fraction(w) for w in problem.weight.tolist()] if weighted else [1] * problem.n


def _outside(problem: Problem, conflict: Conflict) -> Conflict:
    """A conflict with the caller's row numbers."""
    rows = np.array([problem.sample_of_index(i) for i in conflict.rows.tolist()], dtype=np.int64)
    return Conflict(rows, conflict.multipliers, conflict.rivals)
