"""Are the classes linearly separable? The answer comes with its proof.

Question   is there a plane (for K > 2 classes a linear machine) with every row strictly on its
           own side; if not, one with no row strictly on its wrong side
Search     some rows of a large table; equal rows of two classes; the nearest points of the hulls
           in floats, in coordinates that suit the search ever better; the same search in rational
           numbers
Proof      separable: a plane that is checked row by row, and the nearest points of the hulls,
           which bound the margin of any plane from above
           not separable: rows with multipliers > 0 that sum to zero, in fractions; then the face
           on which every weak separator vanishes (``faces.py``)
Stop       whatever a search claims is proved by ``proofs`` before it is said; when the time is up
           the answer is what is known

``Judge.decide`` is the strategy; what follows it are its steps, each on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from linsep.core.boundary import own_bugs
from linsep.core.cluster import as_stream
from linsep.core.costs import EQUAL_ROWS, PLANE, VERDICT_SAMPLED, second_thread
from linsep.core.drive import Outcome
from linsep.core.lanes import one_blas_thread, run_all
from linsep.core.limits import TimeUpError, clock, enough_memory
from linsep.core.limits import time_limit as ending_after
from linsep.core.parts import Stream
from linsep.core.problem import Problem, rows_of
from linsep.core.protocol import Status, Witness
from linsep.core.validate import in_parts, refuse_measurements, refuse_too_many_classes
from linsep.errors import DataError, ProofError, SettingError
from linsep.kernels.spec import as_kernel, by_name, is_given
from linsep.numerics.integers import (
    independent_columns,
    scaled_integers,
    solve_seconds,
    to_integers,
)
from linsep.proofs.margins import loosen, margin_above, margin_below
from linsep.proofs.plain import require_kernel, require_same, require_sealed, seal
from linsep.proofs.separable import Proof, carrying_columns, kesler_rows
from linsep.proofs.witness import hold_verdict
from linsep.rows.exact import Tick, dependency, equal_rows, reflected, sample
from linsep.rows.signs import row_signs
from linsep.separating.clock import Clock
from linsep.separating.faces import find_face
from linsep.separating.feature_space import SLACK, KernelJudge
from linsep.separating.parts import StreamProof, decide_stream
from linsep.separating.planes import Plane, Scores, exact_plane, rational_planes, scored_plane
from linsep.solvers.hulls.cloud import by_products, cloud_of, one_unit
from linsep.solvers.hulls.exact import ExactHulls, ExactState
from linsep.solvers.hulls.nearest import NearestHulls
from linsep.solvers.perceptron.single import SingleSample

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@overload
def separability(
    X: Stream,
    y: None = None,
    *,
    fit_intercept: bool = True,
    kernel: Any = None,
    exact: bool = True,
    time_limit: float | None = None,
) -> StreamProof: ...


@overload
def separability(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    kernel: Any = None,
    exact: bool = True,
    time_limit: float | None = None,
) -> Proof: ...


@enough_memory("the verdict")
def separability(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    kernel: Any = None,
    exact: bool = True,
    time_limit: float | None = None,
) -> Proof | StreamProof:
    """Decide whether a hyperplane separates the classes, and prove it.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        The samples. Or a stream, see ``linsep.data.stream``, which has the labels in it.
    y : array of shape (n,)
        Labels of any kind, two classes or more. More than two are separated by a linear
        machine: one weight vector a class, and the own class has the largest score.
    fit_intercept : bool, default=True
        Whether planes may keep away from the origin.
    kernel : str, kernel object or function, optional
        Ask it of the images of the rows in the feature space of a kernel, as KernelSVM takes it;
        "precomputed": X is the Gram matrix. A separator is then a sum over kernel values.
    exact : bool, default=True
        Prove the answer in rational arithmetic. False stops at what floating point says when
        the classes look inseparable; then ``quasi`` is not decided.
    time_limit : float, optional
        Seconds after which to give back what is known.

    Returns
    -------
    proof : Proof
        The verdict with its numbers. ``print(proof)`` says it in a sentence. That of a stream is
        a ``StreamProof``: the same, and ``proof.check(stream)`` proves it again.

    Examples
    --------
    >>> import linsep
    >>> print(linsep.separability([[0.0], [1.0], [4.0]], ["low", "low", "high"]))
    separable, margin 1.5
    >>> print(linsep.separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]))
    not separable: these four rows prove it (0, 1, 2 and 3)
    >>> print(linsep.separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1],
    ...                           kernel=linsep.kernels.Polynomial(2)))
    separable in the feature space of Polynomial(degree=2), margin between 0.3061 and 0.3062
    """
    begin = clock()
    if time_limit is not None and not time_limit >= 0:
        raise SettingError(f"time_limit is {time_limit!r}; give seconds >= 0, or None.")
    if in_parts(X):
        stream = as_stream(X, y)
        if kernel is not None:
            raise SettingError("a stream is asked about planes of X; with a kernel take a sample.")
        return decide_stream(stream, decide, fit_intercept=fit_intercept, time_limit=time_limit)
    problem = Problem(
        X,
        y,
        fit_intercept=fit_intercept,
        feature_names=_names(X),
        check_finite=False,
        half_space=kernel is None,
    )
    require_same(problem, X, y)
    if not problem.binary:
        refuse_measurements(problem.classes)
        refuse_too_many_classes(problem.label)
    sealed = seal(problem)
    proof = _decided(problem, kernel, time_limit, begin, exact=exact)
    require_sealed(problem, sealed)
    return proof


def _decided(
    problem: Problem, kernel: Any, time_limit: float | None, begin: float, *, exact: bool
) -> Proof:
    if kernel is not None:
        return decide_with(problem, kernel, exact=exact, time_limit=time_limit, begin=begin)
    with one_blas_thread():
        with np.errstate(over="ignore", invalid="ignore"):
            if by_products(problem):  # they are needed anyhow, and hold the lengths
                problem.prepare_gram()
            finite = np.isfinite(problem.squared_lengths).all()
        if not finite:  # or too large to be squared
            problem.check_finite()
        return decide(problem, exact=exact, time_limit=time_limit, begin=begin)


def decide(
    problem: Problem,
    *,
    exact: bool = True,
    time_limit: float | None = None,
    begin: float | None = None,
) -> Proof:
    """The verdict on a problem that is validated already; begin is when the clock started."""
    begin = clock() if begin is None else begin
    if time_limit is not None:
        begin += _load_libraries()
    own = Clock(begin, time_limit)
    judge = Judge(problem, exact, own)
    # one BLAS thread: the products are small, and two libraries with two threads each (numpy's
    # and scipy's) make them several times slower on two cores
    # numbers may overflow on the way: every answer is checked in integers where that happens
    ending = ending_after(own.left())  # compilations keep to it as well
    with own_bugs("the verdict"), ending, one_blas_thread(), np.errstate(all="ignore"):
        return hold_verdict(problem, judge.decide())


def decide_with(
    problem: Problem,
    kernel: Any,
    parameters: dict[str, Any] | None = None,
    *,
    exact: bool = True,
    time_limit: float | None = None,
    begin: float | None = None,
) -> Proof:
    """The verdict on the images of rows, which are checked here; parameters are of a name."""
    begin = clock() if begin is None else begin
    if not exact:
        raise SettingError("exact=False is for planes of X; with a kernel leave it out.")
    problem.check_finite()
    if is_given(kernel) and problem.d != problem.n:
        raise DataError(
            f"kernel='precomputed' needs the values of all pairs of rows; X is a {problem.n} x "
            f"{problem.d} matrix."
        )
    named = by_name(kernel, parameters) if parameters else kernel
    made = as_kernel(named, problem.matrix, warn=False)
    asked = require_kernel(made, kernel, parameters or {})
    own = Clock(begin, time_limit)
    with (
        own_bugs("the verdict"),
        ending_after(own.left()),
        one_blas_thread(),
        np.errstate(all="ignore"),
    ):
        proof = KernelJudge(problem, asked, own).decide()
        return hold_verdict(problem, proof)


def _names(X: Any) -> list[str] | None:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return list(columns)


def _load_libraries() -> float:
    """Seconds that it took; the first time these are more than most small problems need."""
    begin = clock()
    import flint  # noqa: F401

    with one_blas_thread():
        return clock() - begin


# -- One question, asked of ever better searches until one of them has a proof --------------------


_PERCEPTRON_FIRST = 3000  # rows and columns beyond which the perceptron has the first try
_PASSES = 1000  # over the data that it gets
_TWO_THREADS = second_thread(PLANE)  # entries from which two threads are worth their start
_FIRST_ROWS = 8  # for each column: noise shows in so many, as a rule
_SMALL_SHARE = 16  # part of the rows that a sample has at most, so that it costs little
_FACE = 3000  # rows and columns beyond which no weak separator is looked for,
_FACE_SECONDS = 60.0  # and how long the system of equations that proves one may take
_FACE_SIDE = 300  # rows and columns up to which that is soon done
_PAIRS = 1000  # pairs of classes that are looked at for a shorter proof
_MACHINE_TOL = 0.1  # of the bounds for K > 2 classes, whose margin is bounded otherwise


@dataclass(frozen=True)
class Judge:
    """One question and the time there is to answer it."""

    problem: Problem
    exact: bool
    clock: Clock

    def finder(self) -> MarginFinder:
        """What narrows the bounds of the margin."""
        return MarginFinder(self.problem, self.clock.search, self.clock.tick)

    def proof(self, **fields: Any) -> Proof:
        """The verdict written down, with the time that it took."""
        return Proof.about(self.problem, seconds=self.clock.spent(), **fields)

    # -- verdict -----------------------------------------------------------------------------

    def decide(self) -> Proof:
        """Some rows alone, rows that contradict each other, a search in floats, an exact one."""
        proof = self.sampled()
        if proof is not None:
            return proof
        searches = self.searches()
        self.prepare(searches[0].metric)
        pair = contradiction(self.problem) if self.exact else None
        if pair is not None:
            return self.inseparable(*pair)
        latest: Outcome[Any] | None = None
        try:
            proof = self.perceptron()
            if proof is not None:
                return proof
            for solver in searches:
                latest = self.search(solver)
                proof = self.judge(latest)
                if proof is not None:
                    return proof
                if latest.status is Status.TIME_LIMIT:
                    raise TimeUpError
            assert latest is not None
            return self.exactly(latest.witness)
        except TimeUpError:
            return self.undecided(latest)

    def sampled(self) -> Proof | None:
        """What some rows of a large table prove of all of them: that nothing separates.

        Their multipliers sum to zero in the whole table as well. If they span the space, no plane
        has them all on its sides even weakly; if not, the rest of the rows must be asked.
        """
        problem, random = self.problem, np.random.default_rng(0)
        size = _FIRST_ROWS * problem.width
        if not (self.exact and problem.binary) or problem.n * problem.d < VERDICT_SAMPLED:
            return None
        while _SMALL_SHARE * size <= problem.n:
            index = np.sort(random.choice(problem.n, size, replace=False))
            part = Judge(rows_of(problem, index), exact=True, clock=self.clock)
            proof = part.overlap()
            if proof is not None:
                # two rows tell more than twenty, where it costs little to look for them
                pair = contradiction(problem) if problem.n * problem.d <= EQUAL_ROWS else None
                rows, multipliers = pair or (index[proof.rows], proof.multipliers)
                span = index[proof.span_rows]
                if proof.quasi is not False or not _spans(problem, span):
                    return self.inseparable(rows, multipliers)
                return self.proof(
                    separable=False,
                    quasi=False,
                    **named(problem, rows, tuple(multipliers)),
                    span_rows=span,
                    span_multipliers=proof.span_multipliers,
                )
            size *= 4
        return None

    def overlap(self) -> Proof | None:
        """A proof that nothing separates, if a short search finds one."""
        if len(np.unique(self.problem.label)) < 2:
            return None
        pair = contradiction(self.problem)
        if pair is not None:
            return self.inseparable(*pair)
        try:
            outcome = self.search(NearestHulls("scaled"))
            return self.judge(outcome) if outcome.witness.claim == "origin" else None
        except TimeUpError:
            return None

    def searches(self) -> list[NearestHulls]:
        """The same search in coordinates that suit it ever better."""
        found = [NearestHulls("scaled"), NearestHulls("white")]
        if one_unit(self.problem):  # the caller's own, in which the margin is bounded as well
            tol = self.finder().tol if self.problem.binary else _MACHINE_TOL
            found.insert(0, NearestHulls(tol=tol))
        return found

    def prepare(self, metric: str) -> None:
        """The digest of the rows and the coordinates of the first search, at the same time."""
        problem = self.problem
        if problem.n * problem.d < _TWO_THREADS or by_products(problem):
            return

        def digest() -> None:
            with np.errstate(all="ignore"):
                assert problem.row_hashes is not None

        lent = problem.lent  # the search looks for them there

        def cloud() -> None:
            with np.errstate(all="ignore"):
                cloud_of(lent, metric)

        run_all([digest, cloud])

    def search(self, solver: NearestHulls) -> Outcome[Any]:
        """In the last coordinates as long as it takes, in others for so many steps."""
        steps = None if solver.metric == "white" else 100 + 2 * self.problem.width
        return self.clock.search(self.problem, solver, steps=steps)

    def perceptron(self) -> Proof | None:
        """Many rows of many columns are mostly separable with room: a plane is soon found."""
        problem = self.problem
        if min(problem.n, problem.d) <= _PERCEPTRON_FIRST:
            return None
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
        for pair in islice(pairs_of_classes(problem), _PAIRS):
            members, part = classes_alone(problem, pair)
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

    def exactly(self, found: Witness) -> Proof:
        """A proof from a search in rational numbers, which starts where floats have ended."""
        if self.clock.left() is not None:  # a system of products, of twice the bits
            table = to_integers(reflected(self.problem, found.rows)).table
            self.clock.tick(2 * solve_seconds(table))
        start = (found.rows, found.multipliers)
        state = self.clock.run(self.problem, ExactHulls(tol=None), start=start).state
        if state.status is Status.INSEPARABLE:
            return self.inseparable(np.array(state.rows), state.multipliers)
        proof = None
        if any(state.normal):
            plane = next(rational_planes(self.problem, state.normal, self.clock.tick))
            proof = self.separable(plane, start=state)
        if proof is None:
            raise ProofError(
                "the exact search for a plane gives one that separates nothing; this is a bug of "
                "linsep, please report it."
            )
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
        finder = self.finder()
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
        known = reflected(self.problem, rows)
        side = min(self.problem.n_rows, known.shape[1])
        ahead = solve_seconds(to_integers(known).table, side) if side > _FACE_SIDE else 0.0
        if side > _FACE or ahead > _FACE_SECONDS:
            return self.proof(separable=False, quasi=None, **fields)
        try:
            self.clock.tick(ahead)
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


# -- Bounds of the best margin of classes that are known to be separable --------------------------


_TOL = 1e-6  # relative gap of the bounds that is aimed at
_EXACT_GAP = 1e-3  # relative gap that is worth a search in rational numbers
_FOLLOWED = 256  # entries of a problem that people may want to follow: its plane is the exact one
_EXACT_ROWS = 400  # corral up to which such a search is tried


class MarginFinder:
    """Collects planes, which bound the best margin from below, and points, which do from above.

    search drives a solver within the time that is left.
    """

    def __init__(self, problem: Problem, search: Callable[..., Outcome[Any]], tick: Tick) -> None:
        self.problem = problem
        self.search = search
        self.tick = tick
        large = min(problem.n, problem.d) > _PERCEPTRON_FIRST
        self.tol = _EXACT_GAP if large else _TOL
        self.plane: Plane = (np.zeros(0), 0.0)
        self.low = -1.0
        self.high = np.inf
        self.rows: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.weights: NDArray[Any] = np.zeros(0)

    def offer(self, plane: Plane | None, scores: Scores = None) -> bool:
        """Whether a plane separates; keep it if its margin is larger than that of the one known."""
        if plane is None:
            return False
        low = margin_below(self.problem, *plane, scores=scores, tick=self.tick)
        low = loosen(self.problem, low, -SLACK)
        # a margin may be too small for a float and the plane right all the same
        if not low > 0 and not (row_signs(self.problem, *plane, tick=self.tick) > 0).all():
            return False
        if low > self.low:
            self.plane, self.low = plane, low
        return True

    def bound(self, rows: Rows, weights: NDArray[Any]) -> None:
        """Keep the points if they bound the margin better than those known."""
        used = weights > 0
        high = loosen(self.problem, margin_above(self.problem, rows[used], weights[used]), SLACK)
        if high < self.high:
            self.high, self.rows, self.weights = high, rows[used], weights[used]

    @property
    def gap(self) -> float:
        """Relative gap of the bounds."""
        return 1.0 - self.low / self.high if 0 < self.high < np.inf else 1.0

    def narrow(self, outcome: Outcome[Any] | None) -> None:
        """Search on, from the outcome of a search in x-space if there is one."""
        if not self.problem.binary:
            self._machine()
            return
        if outcome is not None and not outcome.state.plain:
            outcome = None
        if outcome is None or outcome.status is not Status.CERTIFIED:
            if outcome is not None:
                self.bound(outcome.witness.rows, outcome.witness.multipliers)
            outcome = self.search(self.problem, NearestHulls(tol=self.tol))
            self.offer(*scored_plane(self.problem, outcome.witness.a))
        witness = outcome.witness
        self.bound(witness.rows, witness.multipliers)
        tiny = self.problem.n * self.problem.d <= _FOLLOWED
        if tiny or (self.gap > _EXACT_GAP and len(witness.rows) <= _EXACT_ROWS):
            self.narrow_exactly(witness.rows, witness.multipliers)

    def narrow_exactly(self, rows: Rows, weights: NDArray[np.float64]) -> None:
        """Search on in rational numbers from a corral in x-space."""
        if not self.problem.binary:
            self._machine()
            return
        tiny = self.problem.n * self.problem.d <= _FOLLOWED
        solver = ExactHulls(tol=0.0 if tiny else _TOL)
        outcome = self.search(self.problem, solver, start=(rows, weights))
        state = outcome.state
        if state.status is Status.INSEPARABLE or not state.normal:
            return
        self.bound(np.array(state.rows), np.array([float(m) for m in state.multipliers]))
        for plane in rational_planes(self.problem, state.normal, self.tick):
            self.offer(plane)
            if self.gap > _EXACT_GAP and self.weights.dtype != object:
                self.bound(np.array(state.rows), np.array(state.multipliers, dtype=object))
            if self.gap <= _EXACT_GAP:
                return

    def _machine(self) -> None:
        """K > 2 classes: each pair bounds the margin of all machines from above."""
        problem = self.problem
        for pair in pairs_of_classes(problem):
            self.tick()
            members, part = classes_alone(problem, pair)
            witness = self.search(part, NearestHulls(tol=_EXACT_GAP)).witness
            self.bound(members[witness.rows], witness.multipliers)


def pairs_of_classes(problem: Problem) -> Iterator[tuple[int, int]]:
    """Of the classes that have rows: weights of zero may have left one without."""
    return combinations(np.unique(problem.label).tolist(), 2)


def classes_alone(problem: Problem, pair: tuple[int, int]) -> tuple[Rows, Problem]:
    """The samples of two classes: their numbers, and a problem of their own."""
    members = np.flatnonzero(np.isin(problem.label, pair))
    part = Problem(
        problem.matrix[members], problem.label[members], fit_intercept=problem.fit_intercept
    )
    return members, part


# -- Rows that contradict each other by themselves: a proof of one or two rows --------------------


def contradiction(problem: Problem) -> tuple[Rows, list[Fraction]] | None:
    """Two equal samples of different classes, or without an intercept a sample that is zero."""
    if not problem.fit_intercept:
        for i in np.flatnonzero(problem.row_hashes == 0).tolist():
            if not sample(problem, i).any():
                return np.array([i * (1 if problem.binary else problem.K - 1)]), [Fraction(1)]
    found = equal_rows(problem)
    if found is None:
        return None
    pair = np.array(found)
    return kesler_rows(problem, pair, problem.label[pair[::-1]]), [Fraction(1, 2)] * 2


def _spans(problem: Problem, rows: Rows) -> bool:
    """Whether rows span the whole space, also modulo a prime, which is the stricter question."""
    if len(rows) < problem.width:
        return False
    return len(independent_columns(to_integers(reflected(problem, rows)).table)) == problem.width


# -- Writing a verdict down: rows of the search become samples of the caller ----------------------


def named(problem: Problem, rows: Rows, multipliers: tuple[Fraction, ...]) -> dict[str, Any]:
    """Reflected rows, in order, as samples and rivals."""
    order = np.argsort(rows)
    rows = np.asarray(rows)[order]
    multipliers = tuple(multipliers[i] for i in order)
    samples = np.array([problem.sample_of(int(r)) for r in rows], dtype=np.int64)
    rivals = None
    if not problem.binary:
        rivals = np.array([problem.rival_of(int(r)) for r in rows], dtype=np.int64)
    return {"rows": samples, "rivals": rivals, "multipliers": multipliers}
