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

from linsep.core.drive import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.errors import ProofError, SettingError
from linsep.proofs.risk import hits_cost_at_least, least_line_cost, packing_bound
from linsep.proofs.separable import kesler_rows
from linsep.risk.tables import show
from linsep.rows.exact import dependency, reflected, vanishes
from linsep.rows.signs import row_signs
from linsep.separating.planes import plane_of
from linsep.separating.verdict import contradiction, decide
from linsep.solvers.hulls.nearest import NearestHulls


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
        costs = _costs(problem, weighted=self.weighted)
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
    problem = Problem(
        X, y, sample_weight=sample_weight, fit_intercept=fit_intercept, half_space=True
    )
    weighted = sample_weight is not None
    deadline = None if time_limit is None else begin + time_limit
    search = Search(problem, _costs(problem, weighted=weighted), deadline)
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
    return least_line_cost(x, problem.label == 1, costs, offset=problem.fit_intercept)


def _costs(problem: Problem, *, weighted: bool) -> list[Any]:
    return [Fraction(w) for w in problem.weight.tolist()] if weighted else [1] * problem.n


def _outside(problem: Problem, conflict: Conflict) -> Conflict:
    """A conflict with the caller's row numbers."""
    rows = np.array([problem.sample_of_index(i) for i in conflict.rows.tolist()], dtype=np.int64)
    return Conflict(rows, conflict.multipliers, conflict.rivals)


# -- The search behind minimum_errors: sets of rows that cannot all be right, and what meets them
#
# Rows that sum to zero with positive multipliers (Gordan) cannot all be on their own side, so
# every plane is wrong on one of them at least. The cheapest choice of rows that meets every such
# set found so far bounds all planes from below. Without the chosen rows either the rest is
# separable - then the choice is the answer - or it holds a new set.
#
# Implicit hitting sets: Moreno-Centeno, Karp, Operations Research 61 (2013); for planes:
# Chinneck, Feasibility and Infeasibility in Optimization (2008).


_NODES = 50_000  # of the search that confirms the lower bound


@dataclass(frozen=True, eq=False)
class Conflict:
    """Rows of a problem that no plane has all right, with the multipliers that prove it."""

    rows: Rows
    multipliers: tuple[Fraction, ...]
    rivals: Rows | None = None

    @property
    def members(self) -> frozenset[int]:
        """The samples, each once."""
        return frozenset(self.rows.tolist())


class TimeUpError(Exception):
    """The time limit was reached."""


@dataclass
class Search:
    """One problem, what each row costs, and what was found about it."""

    problem: Problem
    costs: Sequence[Any]
    deadline: float | None
    conflicts: list[Conflict] = field(default_factory=list)
    low: Any = 0
    proved: bool = True
    wrong: Rows | None = None
    plane: Plane | None = None

    def run(self) -> None:
        """Search until the bounds meet, or the time is up."""
        everything = np.ones(self.problem.n, dtype=bool)
        self.offer(no_rule(self.problem))
        try:
            self.extend(everything, apart=True)
            while self.low < self.high:
                self.tick()
                chosen = self.cheapest_hits()
                self.low = max(
                    self.low, sum(self.costs[i] for i in np.flatnonzero(chosen).tolist())
                )
                if self.low >= self.high:
                    break
                self.extend(~chosen, apart=True)
                self.extend(~chosen, apart=False)
        except TimeUpError:
            pass
        self.prove_low()

    def prove_low(self) -> None:
        """Have the lower bound confirmed by a search in exact numbers, if that is not long.

        HiGHS computes in floats, so that costs of very different sizes can deceive it.
        """
        sets = [conflict.members for conflict in self.conflicts]
        answer = hits_cost_at_least(sets, self.costs, self.low, nodes=_NODES)
        self.proved = answer is True
        if answer is False:
            self.low, self.proved = packing_bound(sets, self.costs), True

    @property
    def high(self) -> Any:
        """The cost of the best plane so far."""
        assert self.wrong is not None
        return sum(self.costs[i] for i in self.wrong.tolist())

    def tick(self) -> None:
        """Stop when the time is up."""
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            raise TimeUpError

    def offer(self, plane: Plane) -> None:
        """Keep a plane if it costs less than the best one."""
        wrong = wrong_rows(self.problem, plane)
        if self.wrong is None or sum(self.costs[i] for i in wrong.tolist()) < self.high:
            self.wrong, self.plane = wrong, plane

    def extend(self, keep: NDArray[np.bool_], *, apart: bool) -> None:
        """Collect conflicts among some rows until the rest is separable.

        apart leaves out all rows of a conflict, so that the next one shares none with it; else
        only the row that most conflicts share goes, which ends at a better plane.
        """
        keep = keep.copy()
        while True:
            self.tick()
            plane, conflict = self.split(keep)
            if conflict is None:
                assert plane is not None
                self.offer(plane)
                return
            self.conflicts.append(conflict)
            members = sorted(conflict.members)
            if not apart:
                members = [max(members, key=lambda i: (self.shared(i) / self.costs[i], -i))]
            keep[members] = False

    def shared(self, i: int) -> int:
        """How many conflicts a row is in."""
        return sum(i in conflict.members for conflict in self.conflicts)

    def cheapest_hits(self) -> NDArray[np.bool_]:
        """The rows of least cost that meet every conflict, by HiGHS; certify checks the cost."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        sets = [sorted(conflict.members) for conflict in self.conflicts]
        ends = np.cumsum([0, *map(len, sets)])
        columns = np.concatenate([np.array(s) for s in sets])
        shape = (len(sets), self.problem.n)
        matrix = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
        options = {"mip_rel_gap": 0.0}
        if self.deadline is not None:
            options["time_limit"] = max(self.deadline - time.perf_counter(), 1e-3)
        answer = milp(
            np.array([float(c) for c in self.costs]),
            constraints=LinearConstraint(matrix, lb=1.0),
            integrality=np.ones(shape[1]),
            bounds=Bounds(0, 1),
            options=options,
        )
        if answer.status != 0 or answer.x is None:
            raise TimeUpError
        return np.asarray(answer.x > 0.5)

    # -- one question ----------------------------------------------------------------------------

    def split(self, keep: NDArray[np.bool_]) -> tuple[Plane | None, Conflict | None]:
        """A plane with all these rows right, or some of them that cannot all be right."""
        index = np.flatnonzero(keep)
        problem = self.problem
        present = np.unique(problem.label[index])
        if not len(index):
            return no_rule(problem), None
        if len(present) == 1 and problem.fit_intercept:
            return constant_rule(problem, int(present[0])), None
        if len(present) == 1:
            return self.half_space(index, int(present[0]))
        part = Problem(
            problem.matrix[index], problem.label[index], fit_intercept=problem.fit_intercept
        )
        plane, found = self.ask(part)
        if found is None:
            assert plane is not None
            return for_all_classes(problem, plane, present), None
        rows, rivals, multipliers = found
        if rivals is not None:
            rivals = present[rivals]
        elif not problem.binary:  # two classes of several are left: each is the other's rival
            own = problem.label[index[rows]]
            rivals = np.where(own == present[0], present[1], present[0])
        return None, Conflict(index[rows], multipliers, rivals)

    def half_space(self, index: Rows, k: int) -> tuple[Plane | None, Conflict | None]:
        """Rows of one class and no offset: one row is reflected and given to another class."""
        problem = self.problem
        block = problem.matrix[index]
        block = np.array(block if isinstance(block, np.ndarray) else block.toarray(), np.float64)
        rivals = None if problem.binary else np.full(len(index), 1 if k == 0 else 0)
        zero = np.flatnonzero(~block.any(axis=1))
        if len(zero):
            one = zero[:1]
            return None, Conflict(
                index[one], (Fraction(1),), None if rivals is None else rivals[one]
            )
        w = block[0]
        if len(index) > 1:
            block[0] *= -1
            part = Problem(block, [0] + [1] * (len(index) - 1), fit_intercept=False)
            plane, found = self.ask(part)
            if found is not None:
                rows, _, multipliers = found
                return None, Conflict(
                    index[rows], multipliers, None if rivals is None else rivals[rows]
                )
            assert plane is not None
            w = np.asarray(plane[0])
        if problem.binary:
            return (w if k == 1 else -w, 0.0), None
        coef = np.zeros((problem.K, problem.d), dtype=w.dtype)
        coef[k] = w
        return (coef, np.zeros(problem.K)), None

    def ask(self, part: Problem) -> tuple[Plane | None, Any]:
        """A plane, or (rows, rivals, multipliers) that prove that there is none."""
        if part.binary:
            pair = contradiction(part)
            if pair is not None:
                return None, (pair[0], None, tuple(pair[1]))
            quick = self.quickly(part)
            if quick is not None:
                return quick
        left = None if self.deadline is None else max(self.deadline - time.perf_counter(), 0.0)
        proof = decide(part, time_limit=left)
        if proof.separable is None:
            raise TimeUpError
        if proof.separable:
            assert proof.coef is not None
            return (proof.coef, proof.intercept), None
        return None, (proof.rows, proof.rivals, proof.multipliers)

    def quickly(self, part: Problem) -> tuple[Plane | None, Any] | None:
        """What a short search in floats finds, if rational arithmetic confirms it."""
        solver = NearestHulls("scaled")
        with np.errstate(all="ignore"):
            limits = Limits(steps=100 + 2 * part.width)
            outcome = drive(part, solver, solver.init(part.lent), limits=limits)
            if outcome.interrupted:
                raise KeyboardInterrupt
            witness = outcome.witness
            if witness.claim == "origin":
                multipliers = dependency(reflected(part, witness.rows))
                if multipliers is None:
                    return None
                return None, (np.asarray(witness.rows), None, tuple(multipliers))
            plane = plane_of(part, witness.a)
            if plane is None or not (row_signs(part, *plane) > 0).all():
                return None
        return plane, None


# -- Planes and linear machines that decide all classes of a problem, and the rows they get wrong


Rows = NDArray[np.int64]
Plane = tuple[NDArray[Any], Any]
"""coef and intercept: (d,) and a number for two classes, (K, d) and (K,) for more."""


def wrong_rows(problem: Problem, plane: Plane) -> Rows:
    """Samples that are not strictly on their own side, without doubt."""
    with np.errstate(all="ignore"):
        signs = row_signs(problem, *plane)
    bad = signs.reshape(problem.n, -1) <= 0
    return np.flatnonzero(bad.any(axis=1))


def no_rule(problem: Problem) -> Plane:
    """With an offset the most frequent class for all rows, else the plane that decides nothing."""
    if problem.fit_intercept:
        total = np.bincount(problem.label, weights=problem.weight, minlength=problem.K)
        return constant_rule(problem, int(total.argmax()))
    if problem.binary:
        return np.zeros(problem.d), 0.0
    return np.zeros((problem.K, problem.d)), np.zeros(problem.K)


def constant_rule(problem: Problem, k: int) -> Plane:
    """The same class for every row."""
    if problem.binary:
        return np.zeros(problem.d), 1.0 if k == 1 else -1.0
    intercept = np.zeros(problem.K)
    intercept[k] = 1.0
    return np.zeros((problem.K, problem.d)), intercept


def for_all_classes(problem: Problem, plane: Plane, present: Rows) -> Plane:
    """A plane for some of the classes as one for all: the others never win on these rows."""
    if problem.binary:
        return plane
    coef, intercept = np.asarray(plane[0]), np.asarray(plane[1])
    if coef.ndim == 1:
        coef, intercept = np.array([-coef, coef]), np.array([-intercept, intercept])
    exact = coef.dtype == object or intercept.dtype == object
    filled = np.zeros((problem.K, problem.d), dtype=object if exact else np.float64)
    offset = np.zeros(problem.K, dtype=filled.dtype)
    filled[present], offset[present] = coef, intercept
    for k in set(range(problem.K)) - set(present.tolist()):
        if problem.fit_intercept:  # one below the first class on every row
            filled[k], offset[k] = coef[0], intercept[0] - 1
        else:  # between the first two: below the larger of them, as the own score is
            filled[k] = (coef[0] + coef[1]) / 2
    return filled, offset
