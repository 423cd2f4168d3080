"""The search behind minimum_errors: sets of rows that cannot all be right, and what meets them.

Rows that sum to zero with positive multipliers (Gordan) cannot all be on their own side, so
every plane is wrong on one of them at least. The cheapest choice of rows that meets every such
set found so far bounds all planes from below. Without the chosen rows either the rest is
separable - then the choice is the answer - or it holds a new set.

Implicit hitting sets: Moreno-Centeno, Karp, Operations Research 61 (2013); for planes:
Chinneck, Feasibility and Infeasibility in Optimization (2008).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import dependency, reflected
from linsep.certify.hitting import hits_cost_at_least, packing_bound
from linsep.certify.signs import row_signs
from linsep.core.drive import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.risk.machines import Plane, Rows, constant_rule, for_all_classes, no_rule, wrong_rows
from linsep.separating.contradiction import contradiction
from linsep.separating.planes import plane_of
from linsep.solvers.nearest_hulls import NearestHulls
from linsep.verdict import decide

__all__ = ["Conflict", "Search"]

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
            outcome = drive(part, solver, solver.init(part), limits=limits)
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
