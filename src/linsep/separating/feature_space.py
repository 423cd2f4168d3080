"""Are the classes separable in the feature space of a kernel? The answer comes with its proof.

Question   is there a sum f(x) = sum_j c_j K(x_j, x) + b with every row strictly on its own side
           (for K > 2 classes one for each, the own one largest)
Search     equal rows of two classes; the nearest points of the hulls of the images, whose
           coordinates are a factor of the Gram matrix; a linear programme on these coordinates
Proof      separable: c and b, whose values are checked row by row with bounded errors, and the
           nearest points, which bound the margin from above. A kernel that is strictly positive
           definite separates distinct rows, whatever their labels: where float64 finds no c, that
           is the proof
           not separable: multipliers whose combination of images has the length 0, in fractions
Stop       otherwise it is not decided, and the nearest points say how large a margin can be

A kernel that is not positive semidefinite has no feature space; the question is then about sums of
its values, and there are no margins.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import Outcome
from linsep.core.limits import TimeUpError
from linsep.core.problem import Problem
from linsep.errors import CapabilityError, ProofError
from linsep.kernels.base import Kernel
from linsep.kernels.images import Images, images_of
from linsep.proofs.feature_space import FeatureSpace, Sums
from linsep.proofs.separable import Proof, require_one_point
from linsep.rows.exact import equal_rows
from linsep.separating.clock import Clock
from linsep.separating.planes import scored_plane
from linsep.solvers.hulls.nearest import NearestHulls
from linsep.solvers.kernel.overlap import find_overlap

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_TOL = 1e-9  # relative gap of the bounds of the margin that is aimed at
SLACK = 1e-12  # by which bounds are loosened, so that a check elsewhere confirms them
_NO_SHARE = 1e-14  # shares below this of the largest are left out


@dataclass(frozen=True)
class KernelJudge:
    """One question about images, and the time there is to answer it."""

    problem: Problem
    kernel: Kernel
    clock: Clock

    def decide(self) -> Proof:
        """Equal rows, the nearest points, points in common; else what is known of the margin."""
        pair = equal_rows(self.problem)
        if pair is not None:
            proof = self.one_point(np.array(pair), [Fraction(1, 2)] * 2)
            if proof is not None:
                return proof
        try:
            return self.search()
        except TimeUpError:
            return self.unknown(np.inf)

    def search(self) -> Proof:
        """The nearest points, in coordinates that suit the search ever better."""
        space = FeatureSpace(self.problem, self.kernel)
        images = self.images(space)
        high, rows, weights = self.bound(space, images)
        found: list[tuple[float, Sums]] = []
        for solver in (NearestHulls(tol=_TOL), NearestHulls("white")):
            outcome = self.clock.search(images.problem, solver, steps=200 + 4 * self.problem.n_rows)
            for sums in self.sums(images, outcome):
                low = space.separated(sums)
                if low is not None:
                    found.append((low * (1 - SLACK), sums))
            if found:
                break
        if found:
            low, sums = max(found, key=lambda one: one[0])
            return self.separated(sums, (low, max(low, high)), rows, weights)
        proof = self.overlap(outcome)
        if proof is not None:
            return proof
        fields = {"margin": (0.0, high), "hull_rows": rows, "hull_weights": weights}
        if self.kernel.strict and equal_rows(self.problem) is None:
            return self.proof(separable=True, **fields)
        return self.proof(separable=None, quasi=None, exact=False, **fields)

    def images(self, space: FeatureSpace) -> Images:
        """Coordinates of the rows; the values themselves where there is no feature space."""
        lent = self.problem.lent
        if space.known.convex:
            return images_of(lent, space.values.kernel)
        every = np.arange(self.problem.n)
        K = space.values.block(every, every)
        return Images(lent.changed(matrix=K, feature_names=None), None)

    # -- separable -------------------------------------------------------------------------

    def sums(self, images: Images, outcome: Outcome[Any]) -> list[Sums]:
        """What the nearest points say: their shares as coefficients, and the plane between."""
        problem, witness, many = images.problem, outcome.witness, []
        if problem.binary and len(witness.rows) and images.pivots is not None:
            c = np.zeros(problem.n)
            c[witness.rows] = witness.multipliers * problem.sign[witness.rows]
            c[np.abs(c) < _NO_SHARE * np.abs(c).max()] = 0.0
            many.append(self.scaled(images, c))
        plane = scored_plane(problem, witness.a)[0]
        if plane is not None:
            coef = images.coefficients(np.asarray(plane[0], dtype=np.float64))
            many.append(_used(np.atleast_2d(coef), np.atleast_1d(plane[1])))
        return [sums for sums in many if sums is not None]

    def scaled(self, images: Images, c: Array) -> Sums | None:
        """The sum with coefficients c, offset halfway, the nearest rows at the value 1."""
        problem = images.problem
        a = np.append(c @ problem.matrix, 0.0)
        plane = scored_plane(problem, a)[0]
        if plane is None:
            return None
        at = int(np.abs(a[:-1]).argmax())
        return _used((c * (plane[0][at] / a[at]))[None], np.array([plane[1]]))

    def bound(self, space: FeatureSpace, images: Images) -> tuple[float, Index, Array]:
        """The least upper bound of the margin that two classes give, and the points behind it."""
        best = np.inf, np.zeros(0, np.int64), np.zeros(0)
        if not space.known.convex:
            return best
        for pair in combinations(range(self.problem.K), 2):
            members = np.flatnonzero(np.isin(self.problem.label, pair))
            part = images.problem
            if not part.binary:
                part = Problem(
                    part.matrix[members], part.label[members], fit_intercept=part.fit_intercept
                )
            witness = self.clock.search(
                part, NearestHulls(tol=_TOL), steps=200 + 4 * part.n
            ).witness
            rows = members[witness.rows]
            high = space.bound(rows, witness.multipliers) * (1 + SLACK)
            if high < best[0]:
                best = high, rows, witness.multipliers
        return best

    def separated(
        self, sums: Sums, margin: tuple[float, float], rows: Index, weights: Array
    ) -> Proof:
        """The verdict with the sum, or the sums of all classes."""
        two = self.problem.binary
        return self.proof(
            separable=True,
            support=sums.support,
            dual_coef=sums.coef[0] if two else sums.coef,
            intercept=float(sums.intercept[0]) if two else sums.intercept,
            margin=margin,
            hull_rows=rows,
            hull_weights=weights,
        )

    # -- not separable ---------------------------------------------------------------------

    def overlap(self, outcome: Outcome[Any]) -> Proof | None:
        """Points that the hulls have in common, in fractions."""
        problem = self.problem
        rows = np.arange(problem.n_rows)
        samples = rows if problem.binary else rows // (problem.K - 1)
        alpha = np.zeros(problem.n_rows)
        alpha[outcome.witness.rows] = outcome.witness.multipliers
        if problem.binary:
            y = problem.sign
        else:
            y = np.zeros((problem.n_rows, problem.K))
            y[rows, problem.label[samples]] = 1.0
            y[rows, self.rivals(rows)] = -1.0
        self.clock.tick()
        values = FeatureSpace(problem, self.kernel).values
        found = find_overlap(values, samples, y, alpha, with_offset=bool(problem.fit_intercept))
        if found is None:
            return None
        return self.one_point(samples[found[0]], found[1], found[0])

    def one_point(
        self, samples: Index, multipliers: list[Fraction], rows: Index | None = None
    ) -> Proof | None:
        """The proof that images of these rows are one point, if that is true."""
        problem, whole = self.problem, sum(multipliers)
        shares = [m / whole for m in multipliers]
        rivals: Index | None = None
        if not problem.binary and rows is None:  # two rows, of two classes
            rivals = problem.label[samples[::-1]]
        elif not problem.binary and rows is not None:
            rivals = self.rivals(rows)
        try:
            require_one_point(problem, self.kernel, samples, rivals, shares)
        except (ProofError, CapabilityError):
            return None
        return self.proof(
            separable=False,
            quasi=None,
            rows=samples,
            multipliers=tuple(shares),
            rivals=rivals,
        )

    def rivals(self, rows: Index) -> Index:
        """The classes that reflected rows are held against."""
        return np.array([self.problem.rival_of(v) for v in rows.tolist()], dtype=np.int64)

    # -- words -----------------------------------------------------------------------------

    def unknown(self, high: float) -> Proof:
        """Nothing but a bound of the margin."""
        return self.proof(separable=None, quasi=None, exact=False, margin=(0.0, high))

    def proof(self, **fields: Any) -> Proof:
        """The verdict written down, with the time that it took."""
        return Proof.about(self.problem, kernel=self.kernel, seconds=self.clock.spent(), **fields)


def _used(coef: Array, intercept: Array) -> Sums | None:
    """Sums over the rows that have a coefficient; None where some number is not finite."""
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all() and coef.any()):
        return None
    support = np.flatnonzero(coef.any(axis=0))
    return Sums(support, np.ascontiguousarray(coef[:, support]), np.asarray(intercept, float))
