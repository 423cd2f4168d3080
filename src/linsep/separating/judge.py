"""One question, asked of ever better searches until one of them has a proof."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import (
    dependency,
    reflected,
    scaled_integers,
    solve_seconds,
    to_integers,
)
from linsep.certify.margins import loosen, margin_above
from linsep.certify.proof import Proof
from linsep.certify.recheck import carrying_columns, kesler_rows
from linsep.core.drive import Outcome
from linsep.core.lanes import run_all
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.separating.clock import Clock, TimeUpError
from linsep.separating.contradiction import contradiction
from linsep.separating.faces import find_face
from linsep.separating.margin import MarginFinder
from linsep.separating.planes import (
    Plane,
    Scores,
    exact_plane,
    rational_planes,
    scored_plane,
)
from linsep.separating.statement import named, proof_of
from linsep.solvers.cloud import cloud_of
from linsep.solvers.exact_hulls import ExactHulls
from linsep.solvers.exact_state import ExactState
from linsep.solvers.nearest_hulls import NearestHulls
from linsep.solvers.perceptron import SingleSample
from linsep.solvers.samples import by_products, one_unit

__all__ = ["Judge"]

Rows = NDArray[np.int64]

_WIDE = 3000  # rows and columns beyond which the perceptron has the first try
_PASSES = 1000  # over the data that it gets
_TWO_THREADS = 400_000  # entries from which two threads are worth their start
_FACE = 3000  # rows and columns beyond which no weak separator is looked for
_MACHINE_TOL = (
    0.1  # of the bounds for a machine of K > 2 classes, whose margin is bounded otherwise
)


@dataclass(frozen=True)
class Judge:
    """One question and the time there is to answer it."""

    problem: Problem
    exact: bool
    clock: Clock

    def proof(self, **fields: Any) -> Proof:
        """The verdict written down, with the time that it took."""
        return proof_of(self.problem, seconds=self.clock.spent(), **fields)

    # -- verdict -----------------------------------------------------------------------------

    def decide(self) -> Proof:
        """Search in coordinates that suit the search ever better, then in rational numbers."""
        problem = self.problem
        finder = MarginFinder(problem, self.clock.search, self.clock.tick)
        plain = NearestHulls(tol=finder.tol if problem.binary else _MACHINE_TOL)
        searches = [NearestHulls("scaled"), NearestHulls("white")]
        if one_unit(problem):
            searches.insert(0, plain)
        if problem.n * problem.d >= _TWO_THREADS and not by_products(problem):
            _prepare(problem, searches[0].metric)
        pair = contradiction(problem) if self.exact else None
        if pair is not None:
            return self.inseparable(*pair)
        latest: Outcome[Any] | None = None
        try:
            if min(problem.n, problem.d) > _WIDE:
                proof = self.perceptron()
                if proof is not None:
                    return proof
            for solver in searches:
                steps = None if solver.metric == "white" else 100 + 2 * problem.width
                latest = self.clock.search(problem, solver, steps=steps)
                proof = self.judge(latest)
                if proof is not None:
                    return proof
                if latest.status is Status.TIME_LIMIT:
                    raise TimeUpError
            assert latest is not None
            if self.clock.time_limit is not None:  # a system of products, of twice the bits
                table = to_integers(reflected(problem, latest.witness.rows)).table
                self.clock.tick(2 * solve_seconds(table))
            start = (latest.witness.rows, latest.witness.multipliers)
            return self.exactly(self.clock.run(problem, ExactHulls(tol=None), start=start).state)
        except TimeUpError:
            return self.undecided(latest)

    def perceptron(self) -> Proof | None:
        """Many rows of many columns are mostly separable with room: a plane is soon found."""
        problem = self.problem
        solver = SingleSample(order="shuffle", cycles=False)
        outcome = self.clock.search(problem, solver, steps=_PASSES * problem.n)
        if outcome.status is not Status.SEPARATED:
            return None
        coef, intercept = problem.split(outcome.witness.a)
        return self.separable(
            (coef[0], float(intercept[0])) if problem.binary else (coef, intercept)
        )

    def judge(self, outcome: Outcome[Any]) -> Proof | None:
        """A proof from a search in floats, if it can be had."""
        witness = outcome.witness
        if witness.claim == "origin":
            if not self.exact:
                return self.rounded(witness)
            pair = None if self.problem.binary else self.overlapping_pair()
            if pair is not None:
                return self.inseparable(*pair)
            multipliers = dependency(reflected(self.problem, witness.rows), tick=self.clock.tick)
            if multipliers is None:
                return None
            return self.inseparable(witness.rows, multipliers)
        if outcome.state.low <= 0:
            return None
        return self.separable(*scored_plane(self.problem, witness.a), outcome=outcome)

    def overlapping_pair(self) -> tuple[Rows, list[Fraction]] | None:
        """Two of the classes that no plane separates, if there are such: a shorter proof."""
        problem = self.problem
        for pair in combinations(range(problem.K), 2):
            members = np.flatnonzero(np.isin(problem.label, pair))
            part = Problem(
                problem.matrix[members], problem.label[members], fit_intercept=problem.fit_intercept
            )
            witness = self.clock.search(
                part, NearestHulls("scaled"), steps=100 + 2 * part.width
            ).witness
            if witness.claim == "origin":
                multipliers = dependency(reflected(part, witness.rows), tick=self.clock.tick)
                if multipliers is not None:
                    samples = members[witness.rows]
                    rivals = np.array(pair)[1 - part.label[witness.rows]]
                    return kesler_rows(problem, samples, rivals), multipliers
        return None

    def exactly(self, state: ExactState) -> Proof:
        """A proof from a search in rational numbers."""
        if state.status is Status.INSEPARABLE:
            return self.inseparable(np.array(state.rows), state.multipliers)
        plane = next(rational_planes(self.problem, state.normal, self.clock.tick))
        proof = self.separable(plane, start=state)
        assert proof is not None
        return proof

    # -- separable ---------------------------------------------------------------------------

    def separable(
        self,
        plane: Plane | None,
        scores: Scores = None,
        outcome: Outcome[Any] | None = None,
        start: ExactState | None = None,
    ) -> Proof | None:
        """Bound the margin, starting from a plane; None if it does not separate."""
        finder = MarginFinder(self.problem, self.clock.search, self.clock.tick)
        if not finder.offer(plane, scores):
            return None
        with suppress(TimeUpError):  # what was found so far is true all the same
            if start is None:
                finder.narrow(outcome)
            else:
                shares = np.array([float(m) for m in start.multipliers])
                finder.narrow_exactly(np.array(start.rows), shares)
        coef, intercept = finder.plane
        return self.proof(
            separable=True,
            coef=coef,
            intercept=intercept,
            margin=(finder.low, max(finder.low, finder.high)),
            hull_rows=finder.rows,
            hull_weights=finder.weights,
        )

    # -- not separable -------------------------------------------------------------------------

    def inseparable(self, rows: Rows, multipliers: Sequence[Fraction]) -> Proof:
        """State that rows sum to zero, and look for a weak separator."""
        numbers, scale = scaled_integers(multipliers)
        whole = sum(numbers)
        if whole * scale != 1:
            multipliers = [Fraction(n, whole) for n in numbers]
        fields = named(self.problem, rows, tuple(multipliers))
        if min(self.problem.n_rows, reflected(self.problem, rows[:1]).shape[1]) > _FACE:
            return self.proof(separable=False, quasi=None, **fields)
        try:
            face = find_face(self.problem, self.clock.run, self.clock.tick)
        except TimeUpError:
            return self.proof(separable=False, quasi=None, **fields)
        span = named(self.problem, face.rows, face.multipliers)
        fields |= {f"span_{name}": value for name, value in span.items()}
        if face.weights is None:
            return self.proof(separable=False, quasi=False, **fields)
        coef, intercept = exact_plane(self.problem, face.weights)
        return self.proof(
            separable=False,
            quasi=True,
            coef=coef,
            intercept=intercept,
            columns=carrying_columns(coef),
            **fields,
        )

    def rounded(self, witness: Witness) -> Proof | None:
        """What floating point says about rows that seem to sum to zero."""
        block = reflected(self.problem, witness.rows)
        shares = witness.multipliers / witness.multipliers.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.all(np.abs(shares @ block) <= 1e-7 * np.abs(block).max(axis=0)):
                return None
        numbers = [Fraction(v) for v in shares.tolist()]
        whole = sum(numbers)
        fields = named(self.problem, witness.rows, tuple(n / whole for n in numbers))
        return self.proof(separable=False, quasi=None, exact=False, **fields)

    def undecided(self, outcome: Outcome[Any] | None) -> Proof:
        """What is known when the time is up: an upper bound of the margin at most."""
        high, fields = np.inf, dict[str, Any]()
        if outcome is not None and self.problem.binary:
            rows, weights = outcome.witness.rows, outcome.witness.multipliers
            # any true bound will do: there is no time for fractions of hundreds of rows
            high = margin_above(self.problem, rows, weights, sharp=np.inf)
            high = loosen(self.problem, high, 1e-12)
            fields = {"hull_rows": rows, "hull_weights": weights}
        return self.proof(separable=None, quasi=None, margin=(0.0, high), exact=False, **fields)


def _prepare(problem: Problem, metric: str) -> None:
    """The digest of the rows and the coordinates of the first search, at the same time."""

    def digest() -> None:
        with np.errstate(all="ignore"):
            assert problem.row_hashes is not None

    def cloud() -> None:
        with np.errstate(all="ignore"):
            cloud_of(problem, metric)

    run_all([digest, cloud])
