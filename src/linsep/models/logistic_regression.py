"""Logistic regression as a scikit-learn classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

from linsep._sklearn import available_if
from linsep.core.costs import (
    AGREED,
    LOGISTIC_PASS,
    NEWTON_COLUMNS,
    PRODUCT,
    SETTLED,
    SPARSE_DIGITS,
    SUMMED,
)
from linsep.core.drive import Outcome, drive
from linsep.core.lanes import one_blas_thread, sum_of_pieces
from linsep.core.limits import Limits, asked_to_stop, spare_time, time_left
from linsep.core.notes import warn
from linsep.core.parts import Stream
from linsep.core.problem import Problem
from linsep.core.protocol import Solver, Status, Witness
from linsep.core.words import count, misplaced, percent
from linsep.criteria import Criterion
from linsep.criteria import Logistic as LogisticCriterion
from linsep.errors import (
    CapabilityError,
    DataError,
    GapWarning,
    LinsepWarning,
    NoMaximumWarning,
    SettingError,
)
from linsep.losses.base import Loss
from linsep.losses.logistic import LOGISTIC, loss, posteriors
from linsep.losses.softmax import shares
from linsep.models.base import refuse_overflow
from linsep.models.fit import (
    Answer,
    Check,
    Run,
    View,
    either,
    function,
    jobs,
    left_out,
    none,
    number,
    one_of,
    refuse_unusable,
    threads_of,
    way_on,
)
from linsep.models.kernel_base import space_words
from linsep.models.kernel_option import KernelOption, sums_of_witness
from linsep.models.logistic_limit import (
    limit_weights,
    plain_problem,
    separating_words,
    separator_proof,
)
from linsep.models.parts import fit_stream, no_stream
from linsep.models.summary import Line, bounds, known_rule, radius, work
from linsep.proofs.definite import definite
from linsep.proofs.feature_space import FeatureSpace, Sums
from linsep.proofs.gap import Gap
from linsep.proofs.kernel_losses import logistic_sums
from linsep.proofs.logistic import likelihood_bounds, logistic_gap, steady
from linsep.proofs.separable import Proof
from linsep.rows.levels import read_densely, sample_sizes
from linsep.rows.reader import survey
from linsep.separating.verdict import decide
from linsep.solvers.first import first_model
from linsep.solvers.logistic.conjugate import LogisticCG
from linsep.solvers.logistic.gradient import GradientAscent
from linsep.solvers.logistic.newton import NewtonLogistic

Array = NDArray[np.float64]

SOLVERS = ("newton", "gradient")

_LIMITS = (Status.STEP_LIMIT, Status.TIME_LIMIT, Status.STOPPED)
_ENDED = (*_LIMITS, Status.STALLED, Status.DIVERGED, Status.SEPARATED)
_RUNAWAY_MARGIN = 20.0  # margin from which a row may be running away
_VERDICT = 10.0  # seconds for the verdict where a maximum is likely
_LAST_DIGITS = 1e-22  # relative gap that small tables are solved to: half the digits of weights
_ASKED = 0.7  # of tol, that a solver is asked for: a proof takes its share
_LARGEST_COST = 1e100  # costs from which sums of losses may overflow
_FEW_ERRORS = 300  # weights whose standard errors a summary takes the time for
_NEWTON_STEPS, _PAIR_STEPS = 6, 5  # of Newton's method, and passes by pairs that do the same
_ROUNDED = 1e-9  # relative gap that may be rounding alone


@dataclass(frozen=True)
class LogisticAnswer(Answer):
    """Weights, and whether the likelihood has a maximum at all."""

    proof: Proof | None = None
    """That it has none."""
    separation: str | None = None
    """The same in words."""
    undecided: bool = False
    """Whether that was not decided in time."""


def _by_newton(model: LogisticRegression) -> bool:
    return model.solver != "gradient"


class LogisticRegression(KernelOption):
    """Logistic regression with a proved duality gap.

    Minimises |w|^2 / 2 + C sum_i s_i log(1 + exp(-y_i (w.x_i + b))) over w and b; b is not
    penalised. With ``C=inf`` or ``penalty=None`` it maximises the conditional likelihood alone.
    Where that has no maximum, on separable and quasi-separable data, it says so, names what
    separates, proves it, and gives finite weights close to the supremum. More than two classes
    are fitted together by softmax. With ``kernel`` it is kernel logistic regression: the same for
    the images of the rows in the feature space.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the losses against the penalty. inf is maximum conditional likelihood.
    penalty : {"l2", None}, default="l2"
        None is the same as C=inf.
    solver : {"auto", "newton", "gradient"}, default="auto"
        "newton" for work; "gradient" is the gradient ascent of textbooks, step by step.
    kernel : str, kernel object, function or None, default=None
        Separate the images in the feature space of a kernel, as KernelSVM takes it; the penalty is
        |w|^2 / 2 of that space, and C must be finite. None: the rows themselves.
    gamma, sigma, degree, coef0 : optional
        Parameters of a kernel given by name.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
    fit_intercept : bool, default=True
        Whether to have an offset; it is never penalised.
    tol : float, default=1e-6
        Relative duality gap that is proved. With the default, or less, the fit goes on where that
        is nearly free: until no weight is off by more than about 0.01 of its standard error, and
        on small tables to the last digits. A larger tol ends as soon as it is met: 1e-3 is faster,
        and good for a first look and for searching.
    max_iter : int, default=100000
        Limit of steps.
    time_limit : float or None, default=None
        Limit in seconds; the best model so far is kept, with its proof.
    random_state : int, RandomState or None, default=None
        Seed of samples; None is 0.
    class_weight : dict, "balanced" or None, default=None
    warm_start : bool, default=False
        Start from the last fit.
    verbose : int, default=0
        Show progress on stderr.
    callbacks : list or None, default=None
        Observers of linsep or callbacks of scikit-learn.
    n_jobs : int or None, default=None
        Threads; None or -1 means all cores. The result does not depend on it.
    reference : label or None, default=None
        With K > 2 classes: the class whose weights are zero, so that K - 1 weight vectors are
        left. None treats all classes alike. Two classes have one weight vector in any case.
    eta : float or None, default=None
        Rate of gradient ascent; None is 1 / L, L a bound of the curvature.
    decay : {"constant", "inverse"} or function, default="constant"
        How the rate of gradient ascent changes with the step number.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    log_likelihood_ : float
        sum s_i log P(y_i | x_i).
    null_log_likelihood_ : float
        The same for the model of an intercept alone (without one: of weights zero).
    n_iter_ : int
        Passes over the data.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : Gap
        objective, lower_bound, gap, relative_gap, errors, margin.
    proof_ : Proof or None
        Where the likelihood has no maximum: the proof, with the direction in which it grows.
    separation_ : str or None
        The same in words, with the names of the columns.
    solver_used_ : str
        The algorithm and why it was chosen.
    outcome_ : Outcome
        The run: final state, steps, seconds.
    support_, support_vectors_, n_support_, dual_coef_, kernel_
        With a kernel, in place of coef_: f(x) = sum_i dual_coef_i K(x_i, x) + intercept_, over
        rows that span the images of all. Unlike those of a support vector machine they are most
        rows, or as many as the feature space has dimensions.

    See Also
    --------
    KernelSVM : The same with hinge losses, whose sums are over some rows, for many more rows.
    linsep.certify : The same proof for models of other libraries.
    linsep.separability : Whether a maximum exists without a penalty.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    >>> model = linsep.LogisticRegression(C=float("inf")).fit(X, y)
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    ([[0.9082]], [-1.3623])
    >>> model.status_.name, model.predict_proba([[1.5]]).round(3).tolist()
    ('CERTIFIED', [[0.5, 0.5]])

    XOR by kernel logistic regression:

    >>> table = linsep.data.load("xor")
    >>> model = linsep.LogisticRegression(10.0, kernel="rbf", sigma=1.0).fit(table.X, table.y)
    >>> model.status_.name, model.score(table.X, table.y)
    ('CERTIFIED', 1.0)
    """

    _checked_at_the_end: ClassVar[bool] = True  # by the survey that comes before the first step

    _checks: ClassVar[dict[str, Check]] = {
        "C": number(0, above=True),
        "penalty": either(none, one_of("l2")),
        "solver": one_of("auto", *SOLVERS),
        "tol": number(0, above=True),
        "n_jobs": jobs,
        "eta": either(none, number(0, above=True)),
        "decay": either(one_of("constant", "inverse"), function),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        penalty: str | None = "l2",
        solver: str = "auto",
        kernel: str | Callable[..., Any] | None = None,
        gamma: Any = None,
        sigma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        zero: str = "positive",
        tol: float = 1e-6,
        max_iter: int = 100_000,
        time_limit: float | None = None,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        n_jobs: int | None = None,
        reference: Any = None,
        eta: float | None = None,
        decay: Any = "constant",
    ) -> None:
        self.C = C
        self.penalty = penalty
        self.solver = solver
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.zero = zero
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.reference = reference
        self.eta = eta
        self.decay = decay

    certificate_: Gap

    _own_threads: ClassVar[bool] = True

    # -- fit ----------------------------------------------------------------------------------

    def _criterion(self) -> Criterion:
        return LogisticCriterion(self._cost if np.isfinite(self._cost) else None)

    def _streamed(self) -> tuple[Loss, float]:
        return LOGISTIC, self._cost

    def _fit_stream(self, stream: Stream, checkpoint: str | Path | None) -> None:
        self._check_settings()
        if self.kernel is not None:
            raise no_stream(self)
        if self.reference is not None:
            raise CapabilityError(
                f"reference={self.reference!r} is for tables; on a stream all classes have weights."
            )
        fit_stream(self, stream, checkpoint)

    def _keep_stream(self, mass: Array) -> None:
        """What is known of the likelihood after a fit of a stream; mass of the two classes."""
        half = 0.5 * float((self.coef_**2).sum())
        self.log_likelihood_ = (half - self.certificate_.objective) / self._cost
        share = mass / mass.sum() if self.fit_intercept else np.full(len(mass), 1 / len(mass))
        self.null_log_likelihood_ = float(xlogy(mass, share).sum())
        self.proof_: Proof | None = None
        self.separation_: str | None = None

    @property
    def _cost(self) -> float:
        """C, inf where there is no penalty."""
        return float(self.C) if self.penalty is not None else np.inf

    def _guard(self, problem: Problem) -> None:
        if self.solver != "gradient" and (self.eta is not None or self.decay != "constant"):
            name = "eta" if self.eta is not None else "decay"
            raise SettingError(
                f"{name}={getattr(self, name)!r} has no effect here: only solver='gradient' has "
                "a rate."
            )
        if 1e100 < self._cost < np.inf:
            raise SettingError(
                f"C={self.C:g} is too large to compute with; C=inf leaves the penalty out."
            )
        if self.kernel is not None and np.isinf(self._cost):
            raise SettingError(
                f"C={self.C:g}, penalty={self.penalty!r}: with a kernel the likelihood alone has a "
                "maximum only where the images of the classes overlap, which they hardly ever do; "
                "set a finite C, for instance C=1."
            )
        refuse_unusable(problem)
        refuse_weights(problem, self._cost)
        if self.kernel is not None:
            self._refuse_indefinite(problem)

    def _plane_solver(self, problem: Problem) -> tuple[Solver[Any], str]:
        newton = self.solver != "gradient"
        return choose_logistic(
            problem,
            self.solver,
            C=self._cost,
            tol=_goal(problem, self.tol) if newton else _ASKED * float(self.tol),
            seed=self._seed(),
            threads=threads_of(self.n_jobs),
            reference=self._reference(problem),
            eta=self.eta,
            decay=self.decay,
        )

    def _reference(self, problem: Problem) -> int | None:
        """Number of the reference class."""
        if self.reference is None:
            return None
        found = np.flatnonzero(problem.classes == self.reference)
        if len(found) != 1:
            known = ", ".join(repr(c) for c in problem.classes.tolist())
            raise SettingError(
                f"reference={self.reference!r} is not a class of y; the classes are {known}."
            )
        return None if problem.binary else int(found[0])

    def _prove_plane(
        self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str
    ) -> Answer:
        """The certificate; without a penalty it may be that no maximum exists."""
        problem = run.problem
        if outcome.status is Status.DIVERGED and self.solver != "gradient":
            refuse_overflow(problem)
        outcome, gap, exists = self._tightened(run, solver, outcome)
        status = gap.settle(outcome.status, self.tol)
        answer = LogisticAnswer(outcome.witness, gap, status, outcome, reason)
        if self._useless(problem, gap):
            gap, a = self._of_shares(problem)
            return replace(answer, witness=Witness(a), certificate=gap, status=Status.STALLED)
        if not np.isinf(self._cost) or (exists and gap.relative_gap <= self.tol):
            return answer
        if outcome.status in _LIMITS:
            return replace(answer, status=outcome.status)
        return self._without_maximum(run, solver, answer)

    def _judge(self, problem: Problem, sums: Sums) -> Gap:
        """Bounds for sums over kernel values."""
        known = definite(problem, None if self._precomputed else self._kernel)
        losses = "logistic losses" if problem.binary else f"log-losses of {problem.K} classes"
        reference = self._reference(problem)
        if reference is not None:
            losses += f", the sum of class {problem.classes[reference]} being 0,"
        where = space_words(self._kernel, known, free=bool(self.fit_intercept))
        words = f"|w|^2 / 2 + {self._cost:.6g} x sum of {losses} {where}"
        return logistic_sums(
            problem,
            self._kernel,
            sums,
            self._cost,
            words,
            reference,
            bounded=self._is_bounded(problem),
        )

    def _settle_sums(self, run: Run, solver: Any, answer: Answer) -> Answer:
        """In a feature space: the solver goes on where the proof falls short."""
        outcome, gap, tol = answer.outcome, answer.certificate, solver.solver.tol
        if not gap.relative_gap <= self.tol and not self._is_bounded(run.problem):
            outcome = left_out(outcome)
        limits = self._limits(run.problem, solver)
        while outcome.status not in _ENDED and tol >= 1e-13 and not gap.relative_gap <= self.tol:
            tol = _row(tol, 1)
            again = replace(solver, solver=replace(solver.solver, tol=tol))
            outcome = _gone_on(run, again, outcome, limits)
            gap = self._judge(run.problem, sums_of_witness(run.problem, outcome.witness))
        status = gap.settle(outcome.status, self.tol)
        return LogisticAnswer(outcome.witness, gap, status, outcome, answer.reason)

    def _falls_back(self) -> bool:
        return True

    def _proof_seconds(self, problem: Problem) -> float:
        return super()._proof_seconds(problem) + self._bound_seconds(problem)

    def _bound_seconds(self, problem: Problem) -> float:
        """About what a bound of all models takes, where that may be more than the fit."""
        if self.kernel is not None:
            return self._pairs_seconds(problem)
        if problem.binary or np.isinf(self._cost):
            return 0.0
        from linsep.proofs.softmax import bound_seconds

        return bound_seconds(problem)

    def _is_bounded(self, problem: Problem) -> bool:
        """Whether there is time for it; without it nothing is proved but that losses are >= 0."""
        return self._bound_seconds(problem) <= spare_time()

    def _first_weights(self, problem: Problem, seconds: float) -> Array:
        C, penalty = (1.0, 0.0) if np.isinf(self._cost) else (self._cost, 0.5)

        def cost(sample: Problem, a: Array) -> float:
            coef, scores = sample.split(a)[0], sample.scores(a)
            if sample.binary:
                losses = loss(sample.sign * scores)
            else:
                losses = shares(scores.T, sample.label).losses
            return penalty * float((coef**2).sum()) + C * float(sample.weight @ losses)

        return first_model(problem, cost, seconds)

    def _prove_first(self, problem: Problem, outcome: Outcome[Any], reason: str) -> Answer:
        gap, a = self._relative(problem, outcome.witness.a)
        status = gap.settle(outcome.status, self.tol)
        return LogisticAnswer(Witness(a), gap, status, outcome, reason)

    def _tightened(
        self, run: Run, solver: Any, outcome: Outcome[Any]
    ) -> tuple[Outcome[Any], Gap, bool]:
        """The certificate, and whether the best model exists; where the proof falls short the
        solver goes on, if it can."""
        problem, tol = run.problem, solver.tol
        limits = self._limits(problem, solver)
        while True:
            gap, exists = self._measure(problem, outcome.witness.a, outcome.witness)
            short = not exists or not gap.relative_gap <= self.tol
            if short and not self._is_bounded(problem):
                return left_out(outcome), gap, exists
            endless = self.solver == "gradient" and not exists  # single steps never prove it
            if not short or outcome.status in _ENDED or tol < 1e-13 or endless:
                return outcome, gap, exists
            steps = outcome.steps
            while outcome.steps == steps and outcome.status not in _ENDED and tol >= 1e-13:
                tol = _row(tol, 1)  # by half a digit: no run of a smaller tol ends before this one
                outcome = _gone_on(run, replace(solver, tol=tol), outcome, limits)

    def _measure(
        self, problem: Problem, a: Array, witness: Witness | None = None
    ) -> tuple[Gap, bool]:
        """The certificate, and whether the best model is known to exist.

        The solver's dual variables spare a pass, and are better than those of the margins.
        """
        C = self._cost
        if not problem.binary:
            from linsep.proofs.softmax import softmax_gap

            reference, part = self._reference(problem), witness is None
            goal = 0.95 * self.tol
            gap = softmax_gap(
                problem,
                a,
                C,
                reference=reference,
                part=part,
                goal=goal,
                bounded=self._is_bounded(problem),
            )
            return gap, bool(np.isfinite(C)) or gap.lower_bound > 0
        if np.isinf(C):
            return likelihood_bounds(problem, a, part=witness is None)
        known = witness is not None and len(witness.rows) == problem.n
        alpha = witness.multipliers if witness is not None and known else None
        free = "free" if self.fit_intercept else "none"
        return logistic_gap(problem, a, C, free, alpha=alpha, goal=0.95 * self.tol), True

    def _useless(self, problem: Problem, gap: Gap) -> bool:
        """Whether zero weights are better: rounding of huge weights has eaten the scores."""
        cost = 1.0 if np.isinf(self._cost) else self._cost
        return not gap.objective <= 1.001 * cost * problem.total_weight * np.log(problem.K)

    def _of_shares(self, problem: Problem) -> tuple[Gap, Array]:
        """The answer that knows the shares of the classes alone."""
        totals = np.bincount(problem.label, problem.weight, problem.K)
        logs = np.log(np.maximum(totals, 1e-300)) * problem.fit_intercept
        offsets = logs[1:] - logs[0] if problem.binary else logs - logs.mean()
        return self._relative(problem, problem.join(np.zeros((len(offsets), problem.d)), offsets))

    def _without_maximum(self, run: Run, solver: Any, answer: LogisticAnswer) -> Answer:
        """No penalty and no proof of a maximum: decide whether there is one."""
        problem, outcome, gap = run.problem, answer.outcome, answer.certificate
        limits = self._limits(problem, solver)
        if len(np.unique(problem.label)) < problem.K:  # a class with no rows: words say so
            return replace(answer, status=self._short_of_proof(gap, rests=True))
        converged = replace(answer, status=self._at_rest(problem, answer))
        settled = outcome.status is Status.CERTIFIED  # the steps shrank as near a maximum
        farthest = float(problem.values(answer.witness.a).max()) if settled else np.inf
        if farthest < _RUNAWAY_MARGIN:  # no row runs away
            return converged
        proof = self._verdict(problem, answer, settled=settled)
        if proof.separable or proof.quasi:
            gap, a = self._near_supremum(problem, proof, answer.witness.a, limits)
            words = separating_words(problem, proof)
            return replace(
                answer, witness=Witness(a), certificate=gap, status=Status.NO_MAXIMUM,
                proof=proof, separation=words,
            )  # fmt: skip
        undecided = proof.separable is None or proof.quasi is None
        if settled:
            return replace(converged, undecided=undecided)
        if undecided and (time_left() < np.inf or asked_to_stop()):  # it is that which has ended it
            ended = left_out(outcome)
            return replace(answer, outcome=ended, status=ended.status, undecided=True)
        if proof.separable is False and hasattr(solver, "patient"):
            patient = replace(solver, patient=True)
            outcome = _gone_on(run, patient, outcome, self._limits(problem, solver))
            gap, _ = self._measure(problem, outcome.witness.a)
            answer = replace(answer, witness=outcome.witness, certificate=gap, outcome=outcome)
            if outcome.status not in _LIMITS:
                return replace(answer, status=self._at_rest(problem, answer))
        return replace(answer, status=gap.settle(outcome.status, self.tol))

    def _at_rest(self, problem: Problem, answer: LogisticAnswer) -> Status:
        """CERTIFIED, or where no bound proves it CONVERGED, if the slopes at least cancel."""
        return self._short_of_proof(answer.certificate, rests=steady(problem, answer.witness.a))

    def _short_of_proof(self, gap: Gap, *, rests: bool) -> Status:
        status = gap.settle(Status.STALLED, self.tol)
        return Status.CONVERGED if rests and status is Status.STALLED else status

    def _verdict(self, problem: Problem, answer: Answer, *, settled: bool) -> Proof:
        """Whether a plane leaves no row strictly on its wrong side."""
        plain = plain_problem(problem)
        if answer.outcome.status is Status.SEPARATED:
            proof = separator_proof(plain, answer.witness.a)
            if proof is not None:
                return proof
        return decide(plain, time_limit=_VERDICT if settled else None)

    def _near_supremum(
        self, problem: Problem, proof: Proof, before: Array, limits: Limits
    ) -> tuple[Gap, Array]:
        """Weights close to the supremum, or those at hand if they are closer."""
        gap, a = self._relative(problem, limit_weights(problem, proof, self.tol, limits))
        if min(gap.relative_gap, gap.objective) <= self.tol:
            return gap, a
        other, known = self._relative(problem, before)
        low = max(gap.lower_bound, other.lower_bound)
        if other.objective < gap.objective:
            gap, a = other, known
        return replace(gap, lower_bound=min(low, gap.objective)), a

    def _relative(self, problem: Problem, a: Array) -> tuple[Gap, Array]:
        """Bounds for weights, and these relative to the reference class, if there is one."""
        reference = self._reference(problem)
        if reference is not None:  # only differences of the classes count
            blocks = a.reshape(problem.K, -1)
            a = (blocks - blocks[reference]).ravel()
        return self._measure(problem, a)[0], a

    @available_if(_by_newton)
    def _view(self, problem: Problem, solver: Solver[Any], witness: Witness) -> View:
        """The model after a Newton step; gradient ascent tells its steps itself."""
        if self.kernel is None:
            return self._seen(problem, witness, self._measure(problem, witness.a, witness)[0])
        return self._seen(problem, witness, self._judge(problem, sums_of_witness(problem, witness)))

    def _view_of(self, problem: Problem, answer: Answer) -> View:
        return self._seen(problem, answer.witness, answer.certificate)

    def _seen(self, problem: Problem, witness: Witness, gap: Gap) -> View:
        likely = log_likelihood(gap.objective, self._squared(problem, witness, gap), self._cost)
        told = {"cost": float(gap.objective), "log_likelihood": likely}
        if self.kernel is None:
            return View.of_planes(problem, witness.a, gap, **told)
        space = FeatureSpace(problem, self._kernel)
        scores = space.scores(sums_of_witness(problem, witness))[0]
        if problem.binary:
            return View(problem.sign * scores[:, 0], np.zeros(0), float(witness.a[0]), gap, told)
        own = np.eye(problem.K, dtype=bool)[problem.label]
        lead = scores[own] - np.where(own, -np.inf, scores).max(axis=1)
        return View(lead, np.zeros(0), witness.a, gap, told)

    def _squared(self, problem: Problem, witness: Witness, gap: Gap) -> float:
        """|w|^2, of images where there is a kernel."""
        if self.kernel is not None:
            return float((2.0 / gap.width) ** 2)
        return float((problem.split(witness.a)[0] ** 2).sum())

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        assert isinstance(answer, LogisticAnswer)
        self.proof_, self.separation_ = answer.proof, answer.separation
        gap = answer.certificate
        squared = self._squared(problem, answer.witness, gap)
        self.log_likelihood_ = log_likelihood(gap.objective, squared, self._cost)
        self.null_log_likelihood_ = null_log_likelihood(problem)

    def _warn(self, problem: Problem, answer: Answer) -> None:
        assert isinstance(answer, LogisticAnswer)
        told = warning_of(self, problem, answer)
        if told is not None:
            warn(*told)

    # -- probabilities and odds ---------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, in the order of ``classes_``; each row sums to 1.

        The class that ``predict`` gives always has the largest probability: where two are equal
        up to rounding, the other is lowered by the last bit.
        """
        return posteriors(self.decision_function(X), lead=True)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities, exact where the probabilities underflow."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([-loss(-scores), -loss(scores)])
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def log_odds(self, X: Any) -> Array:
        """log(p / (1 - p)): w.x + b of the positive class, shape (n,); (n, K) for K > 2."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return scores
        out = np.empty_like(scores)
        for k in range(scores.shape[1]):
            out[:, k] = scores[:, k] - logsumexp(np.delete(scores, k, axis=1), axis=1)
        return out

    def odds(self, X: Any) -> Array:
        """p / (1 - p) of the positive class, shape (n,); of every class, (n, K), for K > 2."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_odds(X))

    def _known(self) -> tuple[float | Array, str]:
        """How far weights may be from the best ones, and whether that is proved or estimated."""
        gap, C = self.certificate_, self._cost
        if self.status_ is Status.NO_MAXIMUM:
            return 0.0, ""
        proved = radius(gap) if np.isfinite(C) else np.inf
        state = getattr(getattr(self, "outcome_", None), "state", None)
        if proved > 1e-6 * float(np.abs(self.coef_).max()) and len(self.classes_) == 2:
            errors = standard_errors(state, C, self.n_features_in_)
            if errors is not None and np.isfinite(errors).all():
                left = gap.gap / (1.0 if np.isinf(C) else C)
                return np.minimum(math.sqrt(2.0 * left) * errors, proved), "estimated"
        return (proved, "proved") if np.isfinite(proved) else (0.0, "")

    def _facts(self) -> list[Line]:
        gap, full, null = self.certificate_, self.log_likelihood_, self.null_log_likelihood_
        return [
            ("minimised", gap.words),
            *bounds(gap),
            ("likelihood", f"logarithm {full:.8g}; {null:.8g} for the classes' shares alone"),
            ("errors", misplaced(gap.errors)),
        ]

    def _told(self) -> list[Line]:
        if self.kernel is not None:
            return super()._told()
        gap = self.certificate_
        lines = [
            ("algorithm", self.solver_used_),
            *work(getattr(self, "outcome_", None)),
            ("minimised", gap.words),
            *bounds(gap),
        ]
        if self.status_ is Status.NO_MAXIMUM:
            supremum = (
                f"minus the log likelihood comes as near to a number between "
                f"{gap.lower_bound:.6g} and {gap.objective:.6g} as one likes; C=1 gives small "
                "weights"
            )
            lines[-1:] = [("no maximum", str(self.separation_)), ("supremum", supremum)]
        full, null = self.log_likelihood_, self.null_log_likelihood_
        lines += [
            ("likelihood", f"logarithm {full:.8g}; {null:.8g} for the classes' shares alone"),
            ("errors", misplaced(gap.errors)),
            *known_rule(self, *self._known()),
        ]
        if len(self.classes_) == 2:
            name = self.classes_.tolist()[-1]
            lines.append(("odds", f"of {name!r} are exp of the left side minus the right side"))
        return lines


def standard_errors(state: Any, C: float, columns: int) -> Array | None:
    """Of the weights, from the second derivatives that Newton's method has; None without them."""
    curvature = getattr(state, "curvature", None)
    if not isinstance(curvature, np.ndarray) or columns > _FEW_ERRORS:  # a number, elsewhere
        return None
    if not np.isfinite(curvature).all():
        return None
    H = np.array(curvature[:-1, :-1])
    offset = curvature[:-1, -1]
    if curvature[-1, -1] > 0:
        H -= np.outer(offset, offset) / curvature[-1, -1]
    H.flat[:: columns + 1] += 0.0 if np.isinf(C) else 1.0 / C
    try:
        return np.asarray(np.sqrt(np.diag(np.linalg.inv(H))))
    except np.linalg.LinAlgError:
        return None


def _row(most: float, further: int = 0) -> float:
    """The gap to ask a solver for: no more than this one, or further on by half a digit each.

    It is one of a row of numbers that is the same for every tol. So all runs stop on their way in
    the same places, and that of a smaller tol goes no less far.
    """
    k = math.ceil(2.0 * math.log10(_ASKED / most) - 1e-6)
    below = _ASKED * 10.0 ** (-0.5 * k)
    return float(below * 10.0 ** (-0.5 * further) if below > 0.999 * most else below)


def _gone_on(run: Run, solver: Any, outcome: Outcome[Any], limits: Limits) -> Outcome[Any]:
    """The run from where it ended, with other settings."""
    state = outcome.state
    state.status = Status.RUNNING
    return drive(run.problem, solver, state, limits=limits)


def log_likelihood(objective: float, squared: float, cost: float) -> float:
    """Log likelihood of weights, from their objective and their squared length."""
    plain = np.isinf(cost)
    penalty = 0.0 if plain else 0.5 * squared
    return -(objective - penalty) / (1.0 if plain else cost)


def null_log_likelihood(problem: Problem) -> float:
    """Log likelihood of an intercept alone; without one, of weights zero."""
    totals, K = _class_weights(problem), problem.K
    share = totals / totals.sum() if problem.fit_intercept else np.full(K, 1 / K)
    return float(xlogy(totals, share).sum())


def _class_weights(problem: Problem) -> Array:
    """Weight of the rows of each class."""
    if not problem.binary:
        return np.asarray(np.bincount(problem.label, problem.weight, problem.K), dtype=np.float64)
    with one_blas_thread():
        total, balance = sum_of_pieces(_mass, problem.weight, problem.sign).tolist()
    return np.array([total - balance, total + balance]) / 2


def _mass(weight: Array, sign: Array) -> Array:
    return np.array([weight.sum(), weight @ sign])


# -- Which solver of logistic regression for which data, and why ----------------------------------


def is_small(problem: Problem) -> bool:
    """Small enough to be solved to the last digits at no cost worth speaking of."""
    return problem.n <= 5000 and problem.n * problem.d <= 100_000 and problem.d <= 300


def choose_logistic(
    problem: Problem,
    name: str,
    *,
    C: float,
    tol: float,
    seed: int,
    threads: int | None,
    reference: int | None,
    eta: float | None,
    decay: Any,
) -> tuple[Solver[Any], str]:
    """The solver and the reason in words."""
    how = "as asked" if name != "auto" else _shape(problem)
    several = "" if problem.binary else f", softmax of {problem.K} classes"
    if name == "gradient":
        return GradientAscent(C, tol, eta, decay, reference), f"gradient ascent ({how}){several}"
    solver: Any
    if not problem.binary:
        from linsep.solvers.logistic.softmax import NewtonSoftmax

        solver = NewtonSoftmax(C=C, tol=tol, seed=seed, threads=threads, reference=reference)
        return solver, f"Newton's method ({how}){several}"
    if _factored(problem, C):
        return NewtonLogistic(C, tol, seed, threads), f"Newton's method ({how})"
    solver = LogisticCG(C, tol, threads, seed=seed)
    return solver, f"Newton's method with conjugate gradients ({how})"


def _goal(problem: Problem, tol: float) -> float:
    """The gap to ask a solver for: what tol says, or until the weights are settled if it is no
    more than the default."""
    worth = _row(_ASKED * float(tol))
    if tol > AGREED:
        return worth
    if is_small(problem):
        return min(worth, _LAST_DIGITS)
    if problem.binary:
        least = settled(worth, problem.total_weight)
        return least if read_densely(problem) else min(least, SPARSE_DIGITS)
    from linsep.solvers.logistic.softmax import BEYOND, kind_of, n_columns
    from linsep.solvers.logistic.softmax import is_small as has_all

    # with less than all second derivatives tol is as good as any default of others, and cheaper
    whole = kind_of(problem.n, n_columns(problem), problem.K) == "blocks"
    worth = min(worth, BEYOND) if has_all(problem) else worth
    return settled(worth, problem.total_weight, problem.K) if whole else worth


def _factored(problem: Problem, C: float) -> bool:
    """Whether the matrix of second derivatives is worth having from the first step on.

    Newton's method has it at each of some steps, on a sample if there are many rows; steps by
    pairs cost some passes over all rows, as a rule.
    """
    n, d = problem.n, problem.d
    if is_small(problem):
        return True
    if d > NEWTON_COLUMNS or n < 2 * d or not read_densely(problem):
        return False
    if np.isinf(C):
        return True
    rows = next(iter(sample_sizes(problem)), n)
    return _NEWTON_STEPS * PRODUCT * rows * d < _PAIR_STEPS * LOGISTIC_PASS * n


def _shape(problem: Problem) -> str:
    n, d = problem.n, problem.d
    if is_small(problem):
        return f"a small table, {n} x {d}"
    if problem.sparse:
        share = 100 * problem.matrix.nnz / max(1, n * d)
        return f"sparse, {n} x {d} with {share:.2g} % of the entries"
    return f"{'tall' if n >= 2 * d else 'wide'}, {n} x {d}"


# -- What a logistic fit warns of, and data that it refuses, in words -----------------------------


def refuse_weights(problem: Problem, C: float) -> None:
    """Raise DataError if C times a weight is too large to compute with."""
    largest = float(problem.weight.max())
    cost = largest * (C if np.isfinite(C) else 1.0)
    if cost <= _LARGEST_COST:
        return
    at = problem.sample_of_index(int(problem.weight.argmax()))
    way = "make C that much larger" if np.isfinite(C) else "without a penalty only ratios matter"
    raise DataError(
        f"sample_weight[{at}] is {largest:g}, with class weights, which is too large to compute "
        f"with; divide all weights by it ({way})."
    )


def warning_of(
    model: LogisticRegression, problem: Problem, answer: LogisticAnswer
) -> tuple[str, type[LinsepWarning]] | None:
    """What to warn of after a fit, if anything."""
    status, gap = answer.status, answer.certificate
    if status is Status.NO_MAXIMUM:
        near = "their likelihood is close to the supremum"
        if min(gap.relative_gap, gap.objective) > max(10 * model.tol, 1e-6):
            near = (
                "how close their likelihood is to the supremum is not known: minus its logarithm "
                f"is {gap.objective:.6g}, and proved to be no less than {gap.lower_bound:.6g}"
            )
        return (
            f"the likelihood has no maximum, because {answer.separation}. The weights given "
            f"are finite and {near}; the proof is in proof_. For finite estimates set C, for "
            "instance C=1."
        ), NoMaximumWarning
    if status in (Status.DIVERGED, Status.PATIENCE):
        safe = (
            f"1 / L = {_safe_rate(problem, model._cost):.4g}" if model.kernel is None else "1 / L"
        )
        return (
            f"{status.value}: the rate eta={model.eta} is too large for these data. Leave eta "
            f"out ({safe} is always small enough), or scale the columns."
        ), GapWarning
    if gap.relative_gap <= model.tol:
        return None
    hint = "Raise max_iter or time_limit, or scale the columns."
    if status is Status.CONVERGED or (status is Status.STALLED and np.isinf(model._cost)):
        hint = _why_no_proof(problem, answer)
    return (
        f"{status.value} ({status.name}, {count(model.n_iter_, 'pass')}). The objective "
        f"{gap.objective:.6g} is proved to be within {percent(gap.relative_gap, 3)} of the "
        f"best possible one; tol asks for {percent(model.tol, 3)}. "
        f"{way_on(answer.outcome, hint)}"
    ), GapWarning


def _why_no_proof(problem: Problem, answer: LogisticAnswer) -> str:
    """Why a fit that has converged without a penalty is not proved to be the best."""
    if answer.undecided:
        return (
            "Whether a maximum exists was not decided in time: some margins are large. "
            "linsep.separability(X, y) decides; a finite C has a maximum always."
        )
    idle = np.flatnonzero(np.bincount(problem.label, minlength=problem.K) == 0)
    if len(idle):
        return (
            f"Class {problem.classes.tolist()[idle[0]]!r} has no row of positive weight, so the "
            "likelihood has no maximum: leave its rows out, or set a finite C."
        )
    tiny = _tiny_column(problem)
    if tiny is not None:
        return (
            f"The entries of column {problem.feature_name(tiny)!r} are so small that their squares "
            "are rounded to 0: scale the columns, for instance with "
            "sklearn.preprocessing.MaxAbsScaler."
        )
    gap = answer.certificate.relative_gap
    if gap <= _ROUNDED:
        return (
            f"That is what sums over {count(problem.n, 'row')} can prove in numbers of 16 digits; "
            f"tol={_one_digit_up(gap):g} is proved."
        )
    why = (
        f"{problem.d} columns are too many for a proof"
        if problem.d > 3000
        else "The columns depend on each other up to rounding"
    )
    return f"{why}, so that more cannot be proved: drop some, or set a finite C."


def _one_digit_up(value: float) -> float:
    """The next number of one digit, as people would write it."""
    unit = 10.0 ** np.floor(np.log10(value))
    return float(f"{np.ceil(value / unit) * unit:.0e}")


def _tiny_column(problem: Problem) -> int | None:
    """A column with entries other than 0 whose squares underflow."""
    for j in np.flatnonzero(survey(problem).columns < 1e-290).tolist():
        column = problem.matrix[:, [j]]
        if (column.toarray() if problem.sparse else column).any():
            return int(j)
    return None


def _safe_rate(problem: Problem, C: float) -> float:
    from linsep.solvers.logistic.gradient import curvature_bound

    cost, ridge = (1.0, 0.0) if np.isinf(C) else (C, 1.0)
    return 1.0 / curvature_bound(problem, cost, ridge)


# -- How far a fit goes beyond tol: until its weights are settled, where that is nearly free ------
#
# ``tol`` is what is promised and proved: a share of the objective. The objective is a sum over the
# rows, so of many rows a small share says little about the weights: with 300,000 of them 1e-3 may
# hide an error of several standard errors. Divided by its cost the objective of logistic regression
# is minus the logarithm of a likelihood. If that is off by e, no weight, nor any combination of
# weights, is off by more than sqrt(2 e) of its standard errors: e is half the squared Newton
# decrement. Newton's method doubles its digits with every step at the end, so the step or two to an
# error that nobody can see cost little beside those that came before.
#
# On sparse rows the last step is by conjugate gradients and takes many passes. It is taken all the
# same: weights of short messages were 6e-4 of their length off without it, and are 1e-5 with it.
#
# Of several classes without the matrix of all second derivatives digits cost more. There, and for
# losses with a corner, which have no standard errors, what a user reads are predictions. A
# relative gap of 1e-6 gives those of the optimum: none or two of tens of thousands differed on
# the tables tried. Support vector machines reach it by more steps of the same kind, which are not
# free. So it is the default of ``tol``, and a larger tol ends as soon as it is met, with any
# solver.


def settled(tol: float, total: float, classes: int = 2) -> float:
    """The relative gap that Newton's method is asked for where tol is promised.

    total is the sum of the weights of the rows: the objective is at most log(classes) times it.

    >>> settled(1e-3, 1000.0) < 1e-7, settled(1e-9, 10.0), settled(1e-3, 1e12)
    (True, 1e-09, 1e-09)
    """
    most = total * math.log(classes)
    worth = 0.5 * SETTLED**2 / most if most > 0 else tol
    return min(tol, max(worth, SUMMED))
