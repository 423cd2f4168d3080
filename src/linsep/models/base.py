"""What classifiers share: the way of a fit, and for those with planes the answer and its words.

An estimator is thin. It checks its parameters, builds a problem and a solver, lets ``drive``
run it, has the result certified, and keeps the answer in scikit-learn's attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from linsep._sklearn import CallbackSupportMixin, with_callbacks
from linsep.core.boundary import boundary, own_bugs
from linsep.core.cluster import as_stream
from linsep.core.costs import PLANE, PROOF, PROOF_SCORE
from linsep.core.drive import Moment, Outcome, drive
from linsep.core.limits import (
    Limits,
    TimeUpError,
    asked_to_stop,
    extra_time,
    time_left,
    time_limit,
)
from linsep.core.notes import warn
from linsep.core.parts import Stream
from linsep.core.problem import Problem, product, rows_of
from linsep.core.protocol import Solver, Status, Witness, has_planes
from linsep.core.validate import SCORES_HELD, all_finite, in_parts
from linsep.core.words import count
from linsep.criteria import Criterion
from linsep.errors import CheckpointError, DataError, NotSeparatedWarning, SettingError
from linsep.models.calibration import Calibrated
from linsep.models.explain import Explanation, Ranking, explain_linear, ranking_of
from linsep.models.fit import (
    CUT_SHORT,
    Answer,
    Check,
    Run,
    boolean,
    check_params,
    either,
    none,
    number,
    one_of,
    overflow_words,
    own_threads,
    read_problem,
    rows_to_judge,
    seed_of,
    spoken_for,
    stoppable,
    way_on,
)
from linsep.models.linear import ZERO, decided
from linsep.models.model_file import LINEAR, Table
from linsep.models.parts import PlaneRule, counted, mapped, no_stream, proved_planes
from linsep.models.summary import Line, rule, sides, written
from linsep.proofs.again import handed_out
from linsep.proofs.certificate import Certificate, judge
from linsep.proofs.plain import require_sealed, seal
from linsep.separating.verdict import decide
from linsep.solvers.first import MOST_ENTRIES, FirstState, first_model, row_entries, sample_of

_SAMPLE_PASSES = 10  # over it
_SAMPLE_ROWS = 160  # of the sample that a solver of two classes is given
_TIE = 1e-9  # between the offsets of classes without weights
_EQUAL = 1e-12  # relative: objectives that differ by less, as those of next to zero weights do
_POOR_GAP = 0.2  # gap above which a first model is looked at beside what a solver has found


@dataclass(frozen=True)
class _Sampled:
    """A model of some of the rows, with their numbers among all."""

    solver: Solver[Any]
    outcome: Outcome[Any]
    words: str


class Classifier(CallbackSupportMixin, Calibrated):
    """Base of the classifiers that are trained by steps.

    The way of a fit is ``_fit``. An estimator gives ``_choose`` (the solver), ``_prove`` (what is
    true of its result) and ``_keep`` (the attributes), and what it needs of the other methods.
    """

    zero: str
    max_iter: int
    time_limit: float | None
    random_state: Any
    warm_start: bool
    verbose: int
    callbacks: Any
    status_: Status
    outcome_: Outcome[Any]
    solver_used_: str
    certificate_: Any = handed_out()
    """Each estimator says of which kind."""
    fingerprint_: str
    n_iter_: int
    n_updates_: int

    _scores_held: ClassVar[int] = SCORES_HELD
    """Arrays of a score for each row and class that a fit has at once."""
    _checks: ClassVar[dict[str, Check]] = {}
    _common_checks: ClassVar[dict[str, Check]] = {
        "fit_intercept": boolean,
        "zero": one_of(*ZERO),
        "max_iter": number(1, whole=True),
        "time_limit": either(none, number(0)),
        "warm_start": boolean,
    }
    _own_threads: ClassVar[bool] = False
    """Whether the fit has threads of its own and BLAS only one."""
    _predicting: tuple[str, ...] = ("coef_", "intercept_", "classes_", "n_features_in_")
    """Attributes that a copy of the estimator needs to predict."""
    _forgotten: ClassVar[tuple[str, ...]] = ("calibration_", "_stopped_calibrating")
    """Attributes that not every fit sets: those of the fit before must not stay."""

    # -- fit --------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on X and y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            float32 and float64 are used as they are. Or a stream, see ``linsep.data.stream``.
        y : array of shape (n_samples,)
            Any labels, two classes or more; a stream has them in it.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight zero takes no part.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    @with_callbacks
    def resume(
        self,
        X: Any,
        y: ArrayLike | None,
        checkpoint: str | Path,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on with a fit that was stopped, from the file its checkpoints were written to.

        The end is the same, bit for bit, as that of a fit which was never stopped. Data and
        settings must be those of the fit.
        """
        return self._fit(X, y, sample_weight, checkpoint=checkpoint)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        checkpoint: str | Path | None = None,
        given: Problem | None = None,
    ) -> Self:
        """The way of every fit: problem, guard, choose, drive, prove, keep, warn."""
        if given is None and in_parts(X):
            self._fit_stream(as_stream(X, y, sample_weight), checkpoint)
            return self
        threads = own_threads(self) if self._own_threads else nullcontext()
        with stoppable(self) as interrupts, threads:
            problem = self._problem(X, y, sample_weight) if given is None else given
            for name in self._forgotten:
                self.__dict__.pop(name, None)
            self._guard(problem)
            sealed = seal(problem)
            run = Run(self, problem, X, y, checkpoint)
            # the certificate sees what has overflowed
            calibrated = getattr(self, "calibrate", None) is not None
            mine = time_left() * self._share() if calibrated else None
            with np.errstate(all="ignore"), time_limit(mine):
                bugs = own_bugs(f"the fit of {type(self).__name__}")
                with bugs if checkpoint is None else _net(checkpoint):
                    answer = self._in_time(run)
                require_sealed(problem, sealed)
                if interrupts.requested:
                    answer = replace(answer, outcome=replace(answer.outcome, interrupted=True))
                self._keep(problem, answer)
            run.bridge.close()
            # a scheme speaks for its parts
            alone = interrupts.outermost or not interrupts.requested
            if alone and not (spoken_for() and answer.status in CUT_SHORT):
                self._warn(problem, answer)
            if calibrated:
                self._calibrate(X, y, sample_weight)
        return self

    def _fit_stream(self, stream: Stream, checkpoint: str | Path | None) -> None:
        """The same for rows that are read part by part."""
        raise no_stream(self)

    def _in_time(self, run: Run) -> Answer:
        """The answer; where time or Ctrl-C have cut it short, of some use all the same."""
        run.falls_back = self._falls_back()
        run.reserve, run.least = self._proof_seconds(run.problem), self._least_proof(run.problem)
        answer: Answer | None = None
        if run.has_time:
            with suppress(TimeUpError):  # before the first step
                answer = self._answer(run)
        if answer is not None:
            poor = answer.status in CUT_SHORT and self._is_poor(answer)
            if not (poor and run.falls_back):
                return answer
        stopped = asked_to_stop() or run.ended is Status.STOPPED
        spare = 0.0 if stopped else run.spare
        with extra_time():
            first = self._first(run, Status.STOPPED if stopped else Status.TIME_LIMIT, spare)
        return first if answer is None or self._is_better(first, answer) else answer

    def _falls_back(self) -> bool:
        """Whether there is a model that costs next to nothing, for a fit without time."""
        return False

    def _proof_seconds(self, problem: Problem) -> float:
        """About what comes after the solver takes."""
        return self._least_proof(problem)

    def _least_proof(self, problem: Problem) -> float:
        """The same without what may be left out."""
        entries = problem.matrix.nnz if problem.sparse else problem.n * problem.d
        if problem.binary:
            return float(entries) * PROOF
        scores = float(problem.n * problem.K)
        return entries * (PROOF + 2.0 * problem.K * PLANE) + scores * PROOF_SCORE

    def _is_poor(self, answer: Answer) -> bool:
        """Whether a model of a sample may well be better: nothing is proved, or nothing done."""
        gap = getattr(answer.certificate, "relative_gap", None)
        return answer.outcome.state.n_updates == 0 if not gap else bool(gap > _POOR_GAP)

    def _first(self, run: Run, status: Status, seconds: float) -> Answer:
        """A model that costs next to nothing: that of some of the rows, by the same solver.

        Where it is worse than none at all on the whole, it is none: the best offset alone. Of more
        machines than the sample has rows hardly one would be more.
        """
        found = self._of_sample(run.lent)
        *models, none = (
            self._prove(
                run, one.solver, replace(one.outcome, status=status), f"that of {one.words}"
            )
            for one in found
        )
        return next((model for model in models if not self._is_better(none, model)), none)

    def _of_sample(self, problem: Problem) -> list[_Sampled]:
        """What the solver makes of some of the rows, if there are no more machines than these, and
        what there is before its first step."""
        chosen = sample_of(problem, self._sample_rows(problem))
        part = self._part(problem, chosen)
        judged, machines = self._choose(part)[0], self._machines(part)
        solver = self._first_solver(judged)
        steps = _SAMPLE_PASSES * (part.n_rows if solver.unit == "visit" else machines)
        some = [min(steps, self.max_iter * part.n_rows)] if machines <= part.n else []
        found = []
        for most in (*some, 0):
            outcome = drive(part, solver, limits=Limits(steps=most))
            machine, row = np.divmod(outcome.witness.rows, part.n)
            a = outcome.witness.a
            if not most and len(a) == problem.K > 2:  # of equal offsets that of the most rows wins
                a = a + _TIE * np.bincount(problem.label, problem.weight) / problem.weight.sum()
            witness = replace(outcome.witness, a=a, rows=machine * problem.n + chosen[row])
            words = f"a sample of {part.n} rows" if most else "the best offset alone"
            found.append(_Sampled(judged, replace(outcome, witness=witness), words))
        return found

    def _sample_rows(self, problem: Problem) -> int:
        """How many rows a solver is given where there is no time for all."""
        most = _SAMPLE_ROWS if problem.binary else _SAMPLE_ROWS // 4 * min(problem.K, 12)
        return min(most, 1 + MOST_ENTRIES // row_entries(problem))

    def _machines(self, problem: Problem) -> int:
        """How many machines there are that take their steps one after the other."""
        return 1

    def _part(self, problem: Problem, rows: NDArray[np.int64]) -> Problem:
        """The problem of some rows alone."""
        return rows_of(problem, rows)

    def _first_solver(self, solver: Solver[Any]) -> Solver[Any]:
        """What the sample is given to, where the solver for all rows is not the best for it."""
        return solver

    def _is_better(self, first: Answer, answer: Answer) -> bool:
        gap, other = first.certificate, answer.certificate
        known = hasattr(gap, "relative_gap") and np.isfinite(gap.objective) and gap.objective > 0
        if known and abs(gap.objective - other.objective) > _EQUAL * gap.objective:
            return bool(gap.objective < other.objective)
        return bool(gap.errors < other.errors)

    def _answer(self, run: Run) -> Answer:
        """Choose, drive, prove."""
        with run.hurry():
            solver, reason = self._choose(run.lent)
        state = run.state(solver, self._begin(run.problem, solver))
        outcome = run.drive(solver, state, self._limits(run.problem, solver))
        return self._prove(run, solver, outcome, reason)

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """Check parameters and data."""
        raise NotImplementedError

    def _guard(self, problem: Problem) -> None:
        """Refuse rows and settings that cannot be worked with."""

    def _choose(self, problem: Problem) -> tuple[Solver[Any], str]:
        """The solver for this problem, and the reason for the choice in words."""
        raise NotImplementedError

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        """Where to start, in the words of the solver: from the last fit, if that is asked for."""
        return self._start()

    def _start(self) -> Any:
        """Where a fit starts that does not go on: None, "random" or (coef, intercept)."""
        return getattr(self, "start", None)

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        return Limits(steps=self.max_iter)

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        """What is true of the result, recomputed from the data."""
        raise NotImplementedError

    def _keep(self, problem: Problem, answer: Answer) -> None:
        """Set the attributes of the fitted model."""
        self.classes_ = problem.classes
        self.n_iter_ = max(1, math.ceil(answer.outcome.passes))
        self.n_updates_ = answer.outcome.state.n_updates
        self.status_, self.certificate_ = answer.status, answer.certificate
        self.solver_used_, self.outcome_ = answer.reason, answer.outcome

    def _warn(self, problem: Problem, answer: Answer) -> None:
        """Say how far the model is from what was asked for."""

    def _refuted(self, X: Any, y: Any, sample_weight: Any) -> list[str]:
        """What does not hold of the certificate for these rows."""
        from linsep.models.verified import refuted

        return refuted(self, X, y, sample_weight)

    def _so_far(self, now: Moment[Any]) -> dict[str, Any]:
        """What a copy of the estimator needs to predict with what is known during a fit."""
        raise NotImplementedError

    # -- small things -----------------------------------------------------------------------

    def _check_settings(self) -> None:
        checks = self._common_checks | self._checks
        if any(getattr(self, name, None) is not None for name in ("calibrate", "calibrate_cv")):
            checks |= self._calibration_check()
        check_params(self, checks)

    def _seed(self) -> int:
        """One seed a fit; None is 0, so that a fit gives the same bits every time."""
        return seed_of(self.random_state)

    def _calibration_seed(self) -> int:
        return self._seed() if hasattr(self, "random_state") else 0

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of the rows; ``zero`` says what a score of exactly 0 is."""
        if in_parts(X):
            answers: NDArray[Any] = mapped(self.predict, X, self.classes_[:0])
            return answers
        zero = getattr(self, "zero", "positive")  # a subclass of the caller's may not have it
        scores = self._quick_scores(X) if zero == "positive" else self._scores(X)
        if scores.ndim == 1:
            return decided(scores, self.classes_, zero)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the rows whose class is predicted; of a stream, which has its labels in it."""
        if not in_parts(X):
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        if not has_planes(self):
            raise no_stream(self)
        return counted(PlaneRule(self), as_stream(X, y, sample_weight)).score

    def _quick_scores(self, X: Any) -> NDArray[np.float64]:
        """Scores that are good enough to predict: the classes are those of ``_scores``."""
        return self._scores(X)

    @property
    def criterion_(self) -> Criterion:
        """What training minimises, for any weights: value, gradient, losses of the rows.

        With more than two classes it is that of one class against another. Of a machine with a
        kernel the weights are those of a feature space: value and losses are there at fitted
        machines, and no gradient.
        """
        check_is_fitted(self, "classes_")
        return self._criterion()

    def _criterion(self) -> Criterion:
        raise NotImplementedError

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        check_is_fitted(self, "classes_")
        return written(f"{type(self).__name__}: {self.status_.value}", self._told())

    def _told(self) -> list[Line]:
        """The lines of the summary."""
        raise NotImplementedError

    @classmethod
    def _file(cls) -> Table[Any]:
        """The fields of its model file."""
        return LINEAR

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        return self._file().write(self)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model: Self = cls._file().read(cls, fields)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(Classifier):
    """Base of the linear classifiers; see the classes derived from it.

    As it stands it is the way of those that look for a plane that separates: proved is on which
    side of it the rows are.
    """

    fit_intercept: bool
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    _checked_at_the_end: ClassVar[bool] = False
    """Whether NaN and infinity in X are noticed by the certificate, which reads all rows, so
    that no pass over the data is needed before the first step."""

    @with_callbacks
    def _fit_given(self, problem: Problem, X: Any, y: Any, sample_weight: Any) -> Self:
        """``fit`` with the problem of its rows, which a scheme of many has made and checked."""
        self._check_settings()
        self.n_features_in_ = problem.d
        return self._fit(X, y, sample_weight, given=problem)

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        self._check_settings()
        return read_problem(
            self,
            X,
            y,
            sample_weight,
            fit_intercept=self.fit_intercept,
            check_finite=not self._checked_at_the_end,
            targets=getattr(self, "targets", None),
        )

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        if self.warm_start and hasattr(self, "coef_"):
            size = problem.dim // (problem.d + 1) * problem.d
            if np.size(self.coef_) == size:
                return (self.coef_, self.intercept_)
        start = self._start()
        return first_row(problem) if isinstance(start, str) and start == "sample" else start

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        rows = problem.n_rows if solver.unit == "visit" else 1
        return Limits(steps=self.max_iter * rows)

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        certificate = judge(run.problem, outcome.witness)
        if not certificate.finite or outcome.status is Status.DIVERGED:
            refuse_overflow(run.problem)
        return separating(outcome, certificate, reason)

    def _is_poor(self, answer: Answer) -> bool:
        """Weights that are still to separate may have any number of errors between two steps."""
        if not isinstance(answer.certificate, Certificate):
            return super()._is_poor(answer)
        return answer.certificate.errors > 0

    def _first(self, run: Run, status: Status, seconds: float) -> Answer:
        witness = Witness(a=self._first_weights(run.lent, seconds))
        outcome = Outcome(FirstState(), status, witness, None, 0, "step", 0.0)
        return self._prove_first(run.problem, outcome, "least squares on a sample of the rows")

    def _first_weights(self, problem: Problem, seconds: float) -> NDArray[np.float64]:
        return first_model(problem, seconds=seconds)

    def _prove_first(self, problem: Problem, outcome: Outcome[Any], reason: str) -> Answer:
        return separating(outcome, judge(problem, outcome.witness), reason)

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        in_parts = hasattr(answer.certificate, "stated")
        planes = proved_planes(answer.certificate) if in_parts else problem.split(answer.witness.a)
        self.coef_, self.intercept_ = planes

    def _warn(self, problem: Problem, answer: Answer) -> None:
        status, certificate = answer.status, answer.certificate
        if status.ok or certificate.errors == 0:
            return
        hint = way_on(
            answer.outcome,
            "linsep.separability(X, y) decides whether any plane separates them; raise max_iter "
            "if one does.",
        )
        warn(
            f"{status.value} ({status.name}, {count(self.n_iter_, 'pass')}). "
            f"{certificate.errors} of {problem.n} rows are on the wrong side. {hint}",
            NotSeparatedWarning,
        )

    def _so_far(self, now: Moment[Any]) -> dict[str, Any]:
        problem = now.problem
        coef, intercept = problem.split(now.solver.witness(problem, now.state).a)
        return dict(zip(self._predicting, (coef, intercept, problem.classes, problem.d)))

    # -- the answer -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores w . x + b: shape (n,) for two classes, (n, K) for more."""
        check_is_fitted(self)
        W, b = self.coef_.T, self.intercept_
        if len(self.classes_) == 2:
            W, b = self.coef_[0], self.intercept_[0]
        # NaN and infinity times a weight reach the score: rows are read once, not twice
        shows = bool((W != 0).all())
        rows = rows_to_judge(self, X, finite=not shows)
        with np.errstate(invalid="ignore"):
            # widened at once, rows in float32 would take twice their own memory
            scores = product(rows, W) if rows.dtype == np.float32 else rows @ W
            scores = np.asarray(scores + b, dtype=np.float64)
        if shows and not all_finite(scores):
            rows_to_judge(self, X)
        return scores

    def explain(self, row: Any) -> Explanation:
        """The score of one row as a sum of weight x value, in the units of the data.

        With more than two classes it is the lead of the best class over the second.
        """
        check_is_fitted(self)
        return explain_linear(self, row)

    def ranking(self, X: Any = None) -> Ranking:
        """Features by the size of their weights, with a warning of what that does not say.

        Rows X make the weights comparable: sizes are multiplied by the spread of the columns.
        """
        check_is_fitted(self)
        return ranking_of(self, X)

    def _told(self) -> list[Line]:
        return [
            ("algorithm", self.solver_used_),
            ("work", self._work()),
            *sides(self.certificate_),
            rule(self),
        ]

    def _work(self) -> str:
        """What the fit took; a model read from a file knows less."""
        outcome = getattr(self, "outcome_", None)
        updates = count(self.n_updates_, "update")
        if outcome is None:
            return f"{updates}, {count(self.n_iter_, 'pass', 'passes')}"
        visits = getattr(outcome.state, "n_visits", None)  # of those that look at one row at a time
        looks = "" if visits is None else f"{count(visits, 'visit')}, "
        passes = count(outcome.passes, "pass", spec=".4g")
        return f"{updates}, {looks}{passes}, {outcome.seconds:.3g} s"


def first_planes(problem: Problem) -> NDArray[np.float64]:
    """[w, b] of each class against the others, of a sample of the rows and at next to no cost."""
    with np.errstate(all="ignore"):
        found = np.column_stack(problem.split(first_model(problem)))
    return np.vstack([-found, found]) if problem.binary else found


def first_row(problem: Problem) -> tuple[NDArray[np.float64], float]:
    """The first row, reflected, as weights: where Kozinec's rule begins."""
    if not problem.binary:
        raise SettingError(
            f"start='sample' is a row of two classes, here are {problem.K}; give None or weights."
        )
    x, sign = problem.matrix[[0]], float(problem.sign[0])
    dense = np.asarray(x.toarray() if problem.sparse else x, dtype=np.float64)[0]
    return sign * dense, sign if problem.fit_intercept else 0.0


def refuse_overflow(problem: Problem) -> None:
    """Rows that are not finite, by value and place, or too large for sums of squares."""
    problem.check_finite()
    raise DataError(overflow_words(problem))


def separating(outcome: Outcome[Any], certificate: Certificate, reason: str) -> Answer:
    """The answer of a run that looks for a plane that separates."""
    outcome = replace(outcome, certificate=certificate)
    status = certificate.settle(outcome.status)
    return Answer(outcome.witness, certificate, status, outcome, reason)


def settled(run: Run, answer: Answer, best: NDArray[np.float64] | None = None) -> Answer:
    """A plane that does not separate, settled by a verdict: none does, or one is offered.

    The run that was asked for stays the answer; the words tell where a better plane is. Where
    none is, the weights are the best ones of the run, if it knows them.
    """
    problem, outcome, certificate = run.problem, answer.outcome, answer.certificate
    if certificate.separable is not None:
        return separating(outcome, certificate, answer.reason)
    proof = decide(problem)
    if proof.separable is False:
        if best is not None:
            outcome = replace(outcome, witness=replace(outcome.witness, a=best))
            certificate = judge(problem, outcome.witness)
        return separating(outcome, certificate.refuted_by(proof), answer.reason)
    reason = answer.reason
    if proof.separable:
        reason += f"; a plane of margin {proof.margin[0]:.6g} separates these rows"
        reason += ", which linsep.separability(X, y) gives"
    return separating(outcome, certificate, reason)


@contextmanager
def _net(checkpoint: str | Path) -> Iterator[None]:
    """Numbers of a state that a schema lets pass may still be none that a run comes to."""
    way = "it is damaged or forged: start without it"
    lack: MemoryError | None = None
    with boundary(checkpoint, CheckpointError, "no run can go on from this", way):
        try:
            yield
        except MemoryError as error:  # a run takes memory, whatever it began with
            lack = error
    if lack is not None:
        raise lack
