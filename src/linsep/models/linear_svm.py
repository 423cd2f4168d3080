"""The linear support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import (
    AGREED,
    CORNERS_SORTED,
    MACHINE_PAIRS,
    MACHINE_WEIGHTS,
    PROOF_MACHINE,
)
from linsep.core.drive import Outcome
from linsep.core.limits import Limits, TimeUpError, time_left
from linsep.core.notes import warn
from linsep.core.parts import Stream
from linsep.core.problem import Problem, each_against_rest
from linsep.core.protocol import Solver, Status, Witness
from linsep.core.words import count, percent
from linsep.criteria import Criterion
from linsep.criteria import Hinge as HingeCriterion
from linsep.criteria import SquaredHinge as SquaredHingeCriterion
from linsep.errors import (
    CapabilityError,
    DataError,
    GapWarning,
    LabelError,
    NotSeparatedWarning,
    SettingError,
)
from linsep.losses.base import Loss
from linsep.losses.hinge import QuadraticLoss, offset_range
from linsep.losses.table import machine_loss
from linsep.models.base import LinearClassifier
from linsep.models.fit import (
    CUT_SHORT,
    Answer,
    Check,
    Effort,
    Run,
    View,
    a_loss,
    cost_of_slack,
    effort,
    either,
    jobs,
    none,
    number,
    one_of,
    overflow_words,
    refuse_tiny,
    refuse_unusable,
    row_weights,
    threads_of,
    way_on,
)
from linsep.models.hard_margin import (
    at_one,
    hard_machine,
    hard_machines,
    hull_search,
    scaled_witness,
)
from linsep.models.model_file import LINEAR, Table, stored
from linsep.models.parts import fit_stream, no_stream
from linsep.models.summary import Line, bounds, known_rule, radius, street, work
from linsep.models.svm_choice import SOLVERS, choose_solver, is_small
from linsep.proofs.gap import Gap
from linsep.proofs.hinge import Objective, feasible, svm_gap
from linsep.proofs.separable import Proof
from linsep.rows.packed import lend_without_zeros
from linsep.rows.reader import survey
from linsep.separating.parts import FORMAT, StreamProof
from linsep.solvers.first import first_model
from linsep.solvers.hinge.crammer_singer import CrammerSinger
from linsep.solvers.hinge.interior import InteriorHinge
from linsep.solvers.hinge.interior_machine import interior_machine
from linsep.solvers.hinge.newton_machine import NewtonMachine
from linsep.solvers.hinge.polish import polish, polish_parts
from linsep.solvers.hulls.nearest import NearestHulls

Array = NDArray[np.float64]

# runs that end here get no last digits: whoever limits them wants an answer now
_UNFINISHED = (*CUT_SHORT, Status.STEP_LIMIT, Status.DIVERGED)
_FAILED = (Status.DIVERGED, Status.STALLED)
_METHODS = ("init", "advance", "status", "witness")  # of a solver
_SOLVED = 1e-7  # gap to which a small table is solved before it is polished
_FEW_PASSES = 1000  # of coordinate descent, after which another solver is better
_NO_SLACK = 1e-9  # a slack below this is rounding
_ALL_PRODUCTS = 2000  # rows of which all products are looked at


@dataclass(frozen=True)
class HardAnswer(Answer):
    """The plane of maximum margin, or the proof that there is none."""

    proof: Proof | None = None
    of: Any = None
    """With more than two classes: the class that the proof is about."""

    @property
    def impossible(self) -> bool:
        """Whether there is none."""
        return self.proof is not None and self.proof.separable is False


_PROTOCOL = Check(
    lambda v: all(callable(getattr(v, name, None)) for name in _METHODS),
    "an object with " + ", ".join(_METHODS),
)


def _proof_of(told: dict[str, Any]) -> Proof | StreamProof:
    """The proof of a model file, about a table or a stream."""
    return (StreamProof if told.get("format") == FORMAT else Proof).from_dict(told)


class LinearSVM(LinearClassifier):
    """Linear support vector machine with a proved duality gap.

    Minimises |w|^2 / 2 + C sum_i s_i L(1 - y_i (w.x_i + b)) over w and b; b is not penalised.
    It ends when the objective is proved to be within ``tol`` of the best possible one, and
    ``certificate_`` holds the proof: objective and lower bound, recomputed from the weights
    and the dual variables with all rounding errors accounted for.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation. inf is the hard margin: no row inside the street at all.
    beta : float or None, default=None
        C in the symbol of the lectures; give one of the two.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    multi_class : {"one-vs-rest", "crammer-singer"}, default="one-vs-rest"
        What to do with three classes and more.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
    fit_intercept : bool, default=True
        Whether to have an offset; it is never penalised.
    tol : float, default=1e-6
        Relative duality gap to reach. With the default nearly all predictions are those of the
        optimum; 1e-3 is several times faster, and good for a first look and for searching.
    solver : {"auto", "newton", "dual-cd", "proximal-newton", "interior-point"}, default="auto"
        "interior-point" for small tables, "newton" for tall data of few columns, "dual-cd" for
        sparse and wide data, "proximal-newton" for sparse data where that takes too long. "auto"
        chooses by shape, and goes on with interior points on dense wide tables of few rows. Or
        an object with the methods of ``linsep.core.Solver``: what it hands over is judged.
    max_iter : int, default=100000
        Limit of Newton steps or sweeps.
    time_limit : float or None, default=None
        Limit in seconds; the best model so far is kept, with its proof.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None
        Seed of the order of visits and of samples; None is 0.
    warm_start : bool, default=False
        Start from the last fit.
    verbose : int, default=0
        Show progress on stderr.
    callbacks : list or None, default=None
        Observers of linsep or callbacks of scikit-learn.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold; ``predict`` stays the same and always
        has the largest probability.
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.
    n_jobs : int or None, default=None
        Threads; None or -1 means all cores. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    support_ : array of shape (n_support,)
        Rows with a dual variable that is not zero.
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y alpha of these rows.
    margin_width_ : float or array
        Width of the street, 2 / |w|.
    leave_one_out_bound_ : float
        Share of support vectors: no more rows than these can be wrong in leave-one-out.
    intercept_range_ : tuple of two floats, or None
        Of two classes with the hinge loss: the offsets that are as good as ``intercept_``, where
        there is more than one. The weights are unique in any case.
    n_iter_ : int
        Passes over the data.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : Gap
        objective, lower_bound, gap, relative_gap, errors, margin.
    proof_ : Proof
        With C=inf only: the proof that no plane separates the classes, or None. With more than
        two classes that of the first class that no plane cuts off from the rest.
    solver_used_ : str
        The algorithm and why it was chosen.
    outcome_ : Outcome
        The run: final state, steps, seconds.

    See Also
    --------
    linsep.svm_path : Many values of C, each started from the last.
    linsep.certify : The same proof for models of other libraries.

    Notes
    -----
    The objective has one minimum and w is unique; b and alpha may not be. Where a whole
    interval of offsets is optimal, its middle is taken on small tables.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("five-points")
    >>> model = linsep.LinearSVM(C=1.0).fit(table.X, table.y)
    >>> model.status_.name, model.certificate_.relative_gap < 1e-3
    ('CERTIFIED', True)
    """

    _scores_held: ClassVar[int] = 11
    _checks: ClassVar[dict[str, Check]] = {
        "C": number(0, above=True),
        "beta": either(none, number(0, above=True)),
        "loss": a_loss(QuadraticLoss),
        "multi_class": one_of("one-vs-rest", "crammer-singer"),
        "tol": number(0, above=True),
        "solver": either(one_of("auto", *SOLVERS), _PROTOCOL),
        "n_jobs": jobs,
    }

    _cost = property(cost_of_slack)

    def __init__(
        self,
        C: float = 1.0,
        *,
        beta: float | None = None,
        loss: str = "hinge",
        multi_class: str = "one-vs-rest",
        fit_intercept: bool = True,
        zero: str = "positive",
        tol: float = 1e-6,
        solver: str = "auto",
        max_iter: int = 100_000,
        time_limit: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.beta = beta
        self.loss = loss
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.zero = zero
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv
        self.n_jobs = n_jobs

    certificate_: Gap

    _own_threads: ClassVar[bool] = True
    _checked_at_the_end: ClassVar[bool] = True  # by the survey, before the first step
    _forgotten: ClassVar[tuple[str, ...]] = (*LinearClassifier._forgotten, "proof_")

    # -- fit --------------------------------------------------------------------------------

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        problem = self._weighed(super()._problem(X, y, sample_weight))
        if self.solver != "newton":
            lend_without_zeros(problem)
        return problem

    def _fit_given(self, problem: Problem, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_settings()  # C is looked at before the fit
        return super()._fit_given(self._weighed(problem), X, y, sample_weight)

    def _streamed(self) -> tuple[Loss, float]:
        return machine_loss(self.loss), self._cost

    def _fit_stream(self, stream: Stream, checkpoint: str | Path | None) -> None:
        if self.multi_class == "crammer-singer":
            raise no_stream(self)
        fit_stream(self, stream, checkpoint)

    def _keep_stream(self, mass: Array) -> None:
        width = 2.0 / np.linalg.norm(self.coef_, axis=1)
        self.margin_width_ = float(width[0]) if len(width) == 1 else width

    def _criterion(self) -> Criterion:
        kind = HingeCriterion if self.loss == "hinge" else SquaredHingeCriterion
        return kind(C=self._cost)

    def _weighed(self, problem: Problem) -> Problem:
        """A hard margin knows no weights: rows that must be right are right at any weight."""
        return problem.changed(weight=np.ones(problem.n)) if np.isinf(self._cost) else problem

    def _guard(self, problem: Problem) -> None:
        refuse_unusable(problem)

    def _answer(self, run: Run) -> Answer:
        """The hard margin, or the way of every fit with its rescues from rounding."""
        if np.isinf(self._cost):
            if self._given:
                raise SettingError("a solver of your own minimises for a finite C; C is inf.")
            return self._hard_margin(run)
        solver = self._choose(run.lent)[0]
        rescues = [] if self._given else [one for one in RESCUES if one.applies(self, run, solver)]
        answer = super()._answer(run)
        for rescue in rescues:
            short = answer.status in _FAILED or self._falls_short(run.problem, answer)
            short |= answer.status is Status.STEP_LIMIT and self._gives_up(run.problem, solver)
            if short and time_left() > 0:
                with suppress(TimeUpError):  # what is there counts
                    answer = rescue.better(self, run, answer)
        return answer

    def _falls_short(self, problem: Problem, answer: Answer) -> bool:
        """Whether a small table was not solved to the digits that the solver was asked for."""
        done = answer.status not in _UNFINISHED and not self._is_machine(problem)
        return done and self._to_last_digits(problem) and _gap(answer) > _SOLVED

    def _choose(self, problem: Problem, instead: str = "") -> tuple[Solver[Any], str]:
        return self._chosen(problem, self._cost, instead)

    def _chosen(
        self, problem: Problem, C: float, instead: str = "", tol: float | None = None
    ) -> tuple[Solver[Any], str]:
        """The solver for this cost, and the reason in words; ``instead`` names another one, and
        tol another gap."""
        if self._given:
            return self._solver_of_the_caller(problem)
        machine = self._is_machine(problem)
        if machine and not machine_loss(self.loss).rivals:
            raise SettingError(
                f"loss={self.loss!r} does not exist for multi_class='crammer-singer'; "
                "use loss='hinge'."
            )
        tol = float(self.tol) if tol is None else tol
        if self._to_last_digits(problem) and not (machine and self.solver == "dual-cd"):
            tol = min(tol, 1e-6 if machine else _SOLVED)
        brief = effort() is Effort.FEW_PASSES and self.solver == "auto" and is_small(problem)
        return choose_solver(
            problem,
            instead or ("dual-cd" if brief and problem.binary else self.solver),
            C=C,
            loss=machine_loss(self.loss),
            tol=0.999 * tol,
            seed=0 if self.random_state is None else self._seed(),
            threads=threads_of(self.n_jobs),
            multi_class=self.multi_class,
            reason="where interior points are lost to rounding" if instead else "as asked",
        )

    @property
    def _given(self) -> bool:
        """Whether the solver is an object of the caller's: then its answer is judged as it is."""
        return not isinstance(self.solver, str)

    def _solver_of_the_caller(self, problem: Problem) -> tuple[Solver[Any], str]:
        solver: Any = self.solver
        kind = type(solver).__name__
        if not problem.binary:
            raise SettingError(
                f"a solver of your own ({kind}) gets two classes, and there are {problem.K}; "
                "wrap the machine in OneVsRest or OneVsOne."
            )
        return solver, f"{kind} (an object that was given)"

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        """Where to go on: the dual variables or the weights of the last fit."""
        if not self.warm_start or not hasattr(self, "support_"):
            return None
        known = self.dual_coef_.shape[0] == (1 if problem.binary else problem.K)
        same = getattr(self, "_n_fitted", None) == problem.n  # a model of a file does not tell
        if not known or not same or self.coef_.shape[1] != problem.d:
            return None
        support = problem.index_of(self.support_)
        if support is None:
            return None
        ratio = self._cost / self._C_fitted  # variables at their bound move with it
        if not np.isfinite(ratio):
            return None
        alpha = np.zeros((len(self.dual_coef_), problem.n))
        alpha[:, support] = ratio * self.dual_coef_
        if isinstance(solver, CrammerSinger):
            return alpha.T
        if isinstance(solver, NewtonMachine):
            return self.coef_, self.intercept_, alpha.T
        alpha = np.abs(alpha)
        if problem.binary:
            return self.coef_, self.intercept_, alpha[0]
        return list(zip(self.coef_, self.intercept_, alpha))

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        limits = super()._limits(problem, solver)
        if effort() is not Effort.FEW_PASSES and not self._gives_up(problem, solver):
            return limits
        passes = _FEW_PASSES * (problem.n_rows if solver.unit == "visit" else 1)
        return replace(limits, steps=min(passes, limits.steps or passes))

    def _gives_up(self, problem: Problem, solver: Solver[Any]) -> bool:
        """Whether sweeps that are slow are left for interior points."""
        swept = self.solver == "auto" and isinstance(solver, CrammerSinger)
        return swept and self.max_iter > _FEW_PASSES and bool(_ways_inside(problem))

    def _least_proof(self, problem: Problem) -> float:
        machines = 0 if problem.binary or self._is_machine(problem) else problem.K
        return super()._least_proof(problem) + machines * PROOF_MACHINE

    def _proof_seconds(self, problem: Problem) -> float:
        least = self._least_proof(problem)
        if np.isfinite(self._cost):
            return least
        return (2.0 if problem.binary else 3.0) * least  # of each class, of all, and at the hulls

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        problem, witness, objective = run.problem, outcome.witness, self._objective()
        if self._given:
            return self._measured(problem, witness, outcome, reason)
        fine = self._to_last_digits(problem) and not self._is_machine(problem)
        if fine and outcome.status not in _UNFINISHED:
            finish = polish if problem.binary else polish_parts
            witness = finish(run.lent, witness, objective.C, objective.loss)
        answer = self._measured(problem, witness, outcome, reason)
        if answer.status in _UNFINISHED or _gap(answer) <= self.tol or time_left() <= 0:
            return answer
        hair = narrower(problem, witness, objective, self.multi_class)
        other = self._measured(problem, hair, outcome, reason)
        # it costs a hair: where it proves little more, the model stays that of a larger tol
        return other if _gap(other) <= max(self.tol, 0.5 * _gap(answer)) else answer

    def _measured(
        self, problem: Problem, witness: Witness, outcome: Outcome[Any], reason: str
    ) -> Answer:
        if np.isinf(self._cost):
            witness = at_one(problem, witness)
        gap = svm_gap(problem, witness, self._objective(), self.multi_class)
        return Answer(witness, gap, gap.settle(outcome.status, self.tol), outcome, reason)

    def _view(self, problem: Problem, solver: Solver[Any], witness: Witness) -> View:
        """The machine of a witness, and its gap; of a search for a hard margin the one halfway."""
        if _is(solver, NearestHulls):
            if not problem.binary:
                raise CapabilityError(
                    "a hard margin (C=inf) of more than two classes is one search for each class "
                    "and cannot be traced as one run; trace a class against the rest."
                )
            witness = scaled_witness(problem, witness.rows, witness.multipliers)
        gap = svm_gap(problem, witness, self._objective(), self.multi_class)
        return View.of_planes(problem, witness.a, gap)

    def _view_of(self, problem: Problem, answer: Answer) -> View:
        return View.of_planes(problem, answer.witness.a, answer.certificate)

    def _falls_back(self) -> bool:
        return True

    def _is_poor(self, answer: Answer) -> bool:
        if isinstance(answer, HardAnswer):  # one that separates has all that was asked for
            return not np.isfinite(answer.certificate.objective)
        return super()._is_poor(answer)

    def _first_weights(self, problem: Problem, seconds: float) -> Array:
        hinge, machine = machine_loss(self.loss), self._is_machine(problem)

        def cost(sample: Problem, a: Array) -> float:
            coef, scores = sample.split(a)[0], sample.scores(a)
            own = sample.label[:, None] == np.arange(sample.K)
            if sample.binary:
                values = sample.sign * scores
            elif machine:
                values = scores[own] - np.where(own, -np.inf, scores).max(axis=1)
            else:
                values = np.where(own, scores, -scores)
            losses = hinge.value(hinge.corner - values).reshape(sample.n, -1).sum(axis=1)
            C = self._cost if np.isfinite(self._cost) else 1.0
            return 0.5 * float((coef**2).sum()) + C * float(sample.weight @ losses)

        return first_model(problem, cost, seconds)

    def _prove_first(self, problem: Problem, outcome: Outcome[Any], reason: str) -> Answer:
        answer = self._measured(problem, outcome.witness, outcome, reason)
        if np.isfinite(self._cost):
            return answer
        return HardAnswer(
            answer.witness, answer.certificate, answer.status, outcome, reason, None, None
        )

    def _hard_margin(self, run: Run) -> Answer:
        """C = inf: the plane of maximum margin, or the proof that there is none."""
        problem = run.problem
        if self._is_machine(problem):
            raise SettingError(
                "C=inf does not exist for multi_class='crammer-singer'; choose a finite C, or "
                "multi_class='one-vs-rest'."
            )
        refuse_tiny(problem)
        limits, watch = Limits(steps=self.max_iter).at_most(run.seconds_left()), run.observers
        if problem.binary:
            state = None if run.checkpoint is None else run.state(hull_search(self.tol))
            hard = hard_machine(problem, self.tol, limits, watch, state)
        else:
            parts = each_against_rest(problem)
            begun = run.begun(parts, "a class against the rest")
            part = None if begun is None else run.on(parts[begun], run.checkpoint)
            state = None if part is None else part.state(hull_search(self.tol))
            hard = hard_machines(problem, self.tol, limits, watch, begun, state)
        run.ended = hard.outcome.status
        reason = "nearest points of the two hulls (C = inf, the hard margin)"
        of = None if hard.of is None else problem.classes[hard.of]
        if hard.proof is not None and hard.proof.separable is False:
            status = Status.INSEPARABLE
            return HardAnswer(hard.witness, hard.gap, status, hard.outcome, reason, hard.proof, of)
        found = self._measured(problem, hard.witness, hard.outcome, reason)
        status = found.status
        if status.ok:  # the gap alone tells, not how the search has ended
            close = found.certificate.relative_gap <= self.tol
            status = Status.CERTIFIED if close else Status.STALLED
        return HardAnswer(
            found.witness, found.certificate, status, hard.outcome, reason, hard.proof, of
        )

    def _anew(self, run: Run, solver: Solver[Any], reason: str) -> Answer:
        """Another run from the start, by this solver."""
        limits = self._limits(run.problem, solver)
        outcome = run.drive(solver, solver.init(run.lent), limits, kept=False)
        return self._prove(run, solver, outcome, reason)

    def _by_newton(self, run: Run, answer: Answer) -> Answer:
        """Newton's method; the better of the two is kept. It has no more digits at the end."""
        if _gap(answer) <= _LAST_DIGITS:
            return answer
        other = self._anew(run, *self._choose(run.lent, instead="newton"))
        return other if _gap(other) <= _gap(answer) else answer

    def _by_points(self, run: Run, answer: Answer) -> Answer:
        """A machine of Crammer and Singer by interior points; the better is kept."""
        problem, objective = run.problem, self._objective()
        reason = "interior points for one loss of all classes (where Newton's method stalls)"
        for by_pairs in _ways_inside(problem):
            if _gap(answer) <= self.tol or time_left() <= 0:
                break
            witness = interior_machine(run.lent, self._cost, by_pairs=by_pairs)
            witness = narrower(problem, witness, objective, self.multi_class)
            gap = svm_gap(problem, witness, objective, self.multi_class)
            status = gap.settle(Status.STALLED, self.tol)
            other = Answer(witness, gap, status, answer.outcome, reason)
            answer = other if _gap(other) <= _gap(answer) else answer
        return answer

    def _by_less(self, run: Run, answer: Answer) -> Answer:
        """Runs that are asked for less, up to what is proved, and up to the default in any case:
        whoever asks for more than that shall not get less."""
        tol = 10.0 * float(self.tol)
        while _gap(answer) > _LAST_DIGITS and time_left() > 0:
            if tol > max(min(_gap(answer), 1.0), AGREED) * (1 + 1e-9):
                break
            other = self._anew(run, *self._chosen(run.lent, self._cost, tol=tol))
            answer = other if _gap(other) < _gap(answer) else answer
            tol *= 10.0
        return answer

    def _by_hard_margin(self, run: Run, answer: Answer) -> Answer:
        """The plane of maximum margin, if there is one; the better of the two is kept."""
        problem = run.problem
        search = hard_machine if problem.binary else hard_machines
        hard = search(problem, self.tol, self._limits(problem, hull_search(self.tol)))
        if hard.proof is not None:
            return answer
        reason = "nearest points of the two hulls (at this cost no row is inside the street)"
        witness = narrower(problem, hard.witness, self._objective())
        found = self._measured(problem, witness, hard.outcome, reason)
        return found if _gap(found) < _gap(answer) else answer

    def _is_machine(self, problem: Problem) -> bool:
        return self.multi_class == "crammer-singer" and not problem.binary

    def _to_last_digits(self, problem: Problem) -> bool:
        """A small table is solved to the end, unless a larger gap is asked for than the default."""
        small = is_small(problem) and effort() is Effort.LAST_DIGITS
        return small and float(self.tol) <= AGREED

    def _objective(self) -> Objective:
        intercept = "free" if self.fit_intercept else "none"
        return Objective(machine_loss(self.loss), self._cost, intercept)

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        if isinstance(answer, HardAnswer):
            self.proof_ = answer.proof
            self.n_iter_ = max(1, answer.outcome.steps)
        objective = self._objective()
        self._n_fitted, self._C_fitted = problem.n, objective.C
        support, self.dual_coef_ = _dual(problem, answer.witness, objective, self.multi_class)
        index = problem.row_index
        self.support_ = support if index is None else index[support]
        width = 2.0 / np.linalg.norm(self.coef_, axis=1)
        self.margin_width_ = float(width[0]) if problem.binary else width
        # of a machine that does not exist nothing is known about the rows that matter
        known = len(support) > 0 and answer.status is not Status.INSEPARABLE
        self.leave_one_out_bound_ = len(support) / problem.n if known else 1.0
        self.intercept_range_ = self._offsets(problem) if known else None

    def _offsets(self, problem: Problem) -> tuple[float, float] | None:
        """All offsets that are as good for these weights, where there are several."""
        loss, C = machine_loss(self.loss), self._objective().C
        asked = problem.binary and problem.fit_intercept and loss.kinked and np.isfinite(C)
        if not asked or problem.n > CORNERS_SORTED:
            return None
        a = problem.join(self.coef_, np.zeros(1))
        return offset_range(problem.scores(a), problem.sign, C * problem.weight)

    def _warn(self, problem: Problem, answer: Answer) -> None:
        status, gap = answer.status, answer.certificate
        if isinstance(answer, HardAnswer) and answer.impossible:
            which = "" if answer.of is None else f"Class {answer.of} against the rest: "
            warn(
                f"{which}{status.value}. A hard margin does not exist; choose a finite C. "
                f"The proof is in proof_: {answer.proof}",
                NotSeparatedWarning,
            )
            return
        if status is Status.DIVERGED:
            raise DataError(overflow_words(problem))
        if status.ok:
            return
        proved = (
            f"The objective {gap.objective:.6g} is proved to be within "
            f"{percent(gap.relative_gap, 3)} of the best possible one; tol asks for "
            f"{percent(self.tol, 3)}."
            if np.isfinite(gap.objective)
            else "Nothing is proved about the objective."
        )
        hint = "Raise max_iter or time_limit, lower C, or scale the columns."
        warn(
            f"{status.value} ({status.name}, {count(self.n_iter_, 'pass')}). {proved} "
            f"{way_on(answer.outcome, hint)}",
            GapWarning,
        )

    # -- what the machine says about its rows, in the words of the lecture --------------------

    def slacks(self, X: Any, y: Any) -> Array:
        """xi = max(0, 1 - y f(x)): 0 ideal, below 1 inside the street, from 1 on wrong.

        With K classes one column for each class against the rest; by Crammer and Singer one
        number a row, xi = max(0, 1 - (own score - best rival)).
        """
        return np.maximum(0.0, 1.0 - self._values(X, y))

    def positions(self, X: Any, y: Any) -> NDArray[Any]:
        """ "ideal" (xi = 0), "inside" (0 < xi < 1) or "wrong" (xi >= 1), as ``slacks``."""
        return _positions(self.slacks(X, y))

    def kkt(self, X: Any, y: Any, sample_weight: Any = None, *, of: Any = None) -> KKT:
        """The optimality conditions of the rows that were trained on.

        Parameters
        ----------
        X, y, sample_weight
            Those of the fit.
        of : label, optional
            With more than two classes: the class against the rest that is meant.
        """
        values, alpha = self._machine(X, y, of)
        weight = row_weights(self.class_weight, np.asarray(y), sample_weight)
        top = np.full(len(values), self._cost)
        if weight is not None and np.isfinite(self._cost):
            top = top * weight
        slack = np.maximum(0.0, 1.0 - values)
        loss = machine_loss(self.loss)
        if not loss.kinked and np.isfinite(self._cost):
            with np.errstate(invalid="ignore", divide="ignore"):
                # the slack that alpha stands for
                due = np.where(top > 0, alpha * (2.0 * loss.q) / top, 0.0)
            top = loss.cap(top)
            violation = np.abs(np.where(alpha < top, slack, np.minimum(slack, due)) - due)
        else:
            above, below = np.maximum(values - 1.0, 0.0), slack
            violation = np.maximum(np.where(alpha > 0, above, 0), np.where(alpha < top, below, 0))
        return KKT(alpha, top, values, slack, violation, _positions(slack))

    def xi_alpha(self, X: Any, y: Any, *, of: Any = None) -> float:
        """Joachims' estimate of the error: share of rows with 2 alpha R^2 + xi >= 1.

        R^2 is the range of the products x . x'. With the hinge and at the optimum, no more rows
        than these are wrong when each is left out of the training in turn.
        """
        values, alpha = self._machine(X, y, of)
        slack = np.maximum(0.0, 1.0 - values)
        reach = _range(X, centred=bool(self.fit_intercept))
        return float(((2.0 * alpha * reach + slack >= 1.0) & (alpha > 0)).mean())

    def _machine(self, X: Any, y: Any, of: Any) -> tuple[Array, Array]:
        """y f(x) and alpha of one plane, on the rows of the fit."""
        values = self._values(X, y)
        k = 0
        if len(self.classes_) > 2:
            if self.multi_class == "crammer-singer":
                raise SettingError(
                    "a machine by Crammer and Singer has no planes of its own; certificate_ holds "
                    "what is proved, slacks(X, y) the losses of the rows."
                )
            places = np.flatnonzero(np.asarray(self.classes_) == of)
            if of is None or len(places) != 1:
                known = ", ".join(map(repr, np.asarray(self.classes_).tolist()))
                raise SettingError(f"say which class against the rest: of= one of {known}.")
            k = int(places[0])
            values = values[:, k]
        if len(self.support_) and int(self.support_.max()) >= len(values):
            raise DataError(
                f"the model has support vector {int(self.support_.max())} but X has {len(values)} "
                "rows; give the rows it was trained on."
            )
        alpha = np.zeros(len(values))
        alpha[self.support_] = np.abs(self.dual_coef_[k])
        return values, alpha

    def _values(self, X: Any, y: Any) -> Array:
        """y f(x): of one plane, of K of them, or own score minus best rival."""
        scores, labels = self.decision_function(X), np.asarray(y)
        if labels.shape != (len(scores),):
            raise LabelError(
                f"y has shape {labels.shape}, X has {len(scores)} rows; give one each."
            )
        strange = labels[~np.isin(labels, self.classes_)].tolist()
        if strange:
            raise LabelError(
                f"y has the label {strange[0]!r}; the model knows "
                f"{', '.join(map(repr, np.asarray(self.classes_).tolist()))}."
            )
        if scores.ndim == 1:
            return np.asarray(np.where(labels == self.classes_[1], scores, -scores))
        own = labels[:, None] == np.asarray(self.classes_)[None, :]
        if self.multi_class != "crammer-singer":
            return np.asarray(np.where(own, scores, -scores))
        return np.asarray(scores[own] - np.where(own, -np.inf, scores).max(axis=1))

    # -- files and words ----------------------------------------------------------------------

    def _told(self) -> list[Line]:
        gap, outcome = self.certificate_, getattr(self, "outcome_", None)
        lines = [
            ("algorithm", self.solver_used_),
            *work(outcome),
            ("minimised", gap.words),
            *self._bounds(),
            street(gap),
            ("street", self._width()),
        ]
        if outcome is not None and len(getattr(self, "support_", ())):
            vectors, bound = count(len(self.support_), "vector"), self.leave_one_out_bound_
            lines.append(("support", f"{vectors}; leave-one-out error at most {bound:.3g}"))
        offsets = getattr(self, "intercept_range_", None)  # a file does not hold it
        if offsets is not None:
            low, high = offsets
            words = f"w is unique, b is not: from {low:.6g} to {high:.6g} all are as good"
            lines.append(("offset", words))
        within = radius(gap) if self.status_ is not Status.INSEPARABLE else 0.0
        return [*lines, *known_rule(self, within)]

    def _bounds(self) -> list[Line]:
        """How good it is, or that there is nothing to find."""
        proof = getattr(self, "proof_", None)
        if proof is not None and proof.separable is False:
            return [
                ("proof", str(proof)),
                ("plane", "that of C = 1, since a hard margin does not exist"),
            ]
        if not np.isfinite(self.certificate_.objective):
            return [("proved", "nothing yet: some row is inside the street")]
        return bounds(self.certificate_)

    def _width(self) -> str:
        lengths = np.linalg.norm(self.coef_, axis=1)
        if not lengths.any():
            return "none: w = 0, so every row gets the same class"
        with np.errstate(divide="ignore"):
            width = 2 / lengths
        return f"{', '.join(f'{w:.6g}' for w in width[:6])} wide (2 / |w|)"

    @classmethod
    def _file(cls) -> Table[Any]:
        return LINEAR.and_also(stored("proof", _proof_of, sparing=True))


# -- Rescues from rounding ------------------------------------------------------------------------


@dataclass(frozen=True)
class Rescue:
    """What is done after a run that rounding has stopped, and why there."""

    reason: str
    applies: Callable[[LinearSVM, Run, Solver[Any]], bool]
    better: Callable[[LinearSVM, Run, Answer], Answer]
    """Another answer, or the one that was there where that is the better."""


def _hardly_any_row_inside(model: LinearSVM, run: Run, solver: Solver[Any]) -> bool:
    """Whether rows inside the street cost so much that, very likely, there are none."""
    if model.solver != "auto" or model._is_machine(run.problem):
        return False
    return _largest_cost(run.problem, model._objective()) > _DROWNED


def _by_interior_points(model: LinearSVM, run: Run, solver: Solver[Any]) -> bool:
    return model.solver == "auto" and _is(solver, InteriorHinge)


def _is_small_machine(model: LinearSVM, run: Run, solver: Solver[Any]) -> bool:
    return model._is_machine(run.problem) and bool(_ways_inside(run.problem))


def _ways_inside(problem: Problem) -> list[bool]:
    """Interior points by weights, and by pairs of a row and a rival, where either is small."""
    K = problem.K
    weights = is_small(problem) and K * (problem.d + 1) <= MACHINE_WEIGHTS
    known = bool((np.bincount(problem.label, minlength=K) > 0).all())  # every class has rows
    pairs = known and problem.n * (K - 1) <= MACHINE_PAIRS
    return [False] * weights + [True] * pairs


def _may_ask_for_less(model: LinearSVM, run: Run, solver: Solver[Any]) -> bool:
    return not model._to_last_digits(run.problem)


RESCUES = (
    Rescue(
        "interior points are lost to rounding sooner than Newton's method is",
        _by_interior_points, LinearSVM._by_newton,
    ),
    Rescue(
        "losses times such costs drown in rounding; without losses nothing drowns",
        _hardly_any_row_inside, LinearSVM._by_hard_margin,
    ),
    Rescue(
        "one loss of all classes has corners where Newton's method stays",
        _is_small_machine, LinearSVM._by_points,
    ),
    Rescue(
        "a run that rounding stops may end worse than one that was asked for less",
        _may_ask_for_less, LinearSVM._by_less,
    ),
)  # fmt: skip


def _is(solver: Solver[Any], kind: type) -> bool:
    """Whether it is of this kind, alone or for each class."""
    return isinstance(getattr(solver, "solver", solver), kind)


def _gap(answer: Answer) -> float:
    return float(getattr(answer.certificate, "relative_gap", np.inf))


def _dual(
    problem: Problem, witness: Witness, objective: Objective, kind: str
) -> tuple[NDArray[np.int64], Array]:
    """Support vectors, and y alpha of theirs: in the box, and summing to 0 with an intercept."""
    rows, multipliers = witness.rows, witness.multipliers
    if problem.binary:
        signed = _feasible(problem, rows, problem.sign[rows], multipliers, objective)
        kept = np.flatnonzero(signed)
        return rows[kept], signed[kept][None, :]
    part, row = np.divmod(rows, problem.n)
    used = np.zeros(problem.n, dtype=bool)
    used[row] = True
    support = np.flatnonzero(used)
    full = np.zeros((problem.K, len(support)))
    for k in range(problem.K):
        own = part == k
        sign = np.where(problem.label[row[own]] == k, 1.0, -1.0)
        if kind == "one-vs-rest":
            values = _feasible(problem, row[own], sign, multipliers[own], objective)
        else:
            values = sign * multipliers[own]
        full[k, np.searchsorted(support, row[own])] = values
    kept = np.flatnonzero(full.any(axis=0))
    return support[kept], full[:, kept]


def _feasible(
    problem: Problem, rows: Any, sign: Array, multipliers: Array, objective: Objective
) -> Array:
    """y alpha of some rows, the others being 0."""
    with np.errstate(over="ignore"):
        cost = objective.C * problem.weight[rows]
    return sign * feasible(sign > 0, objective, cost, np.array(multipliers, float))[0]


# -- The conditions of optimality of the rows -----------------------------------------------------


@dataclass(frozen=True)
class KKT:
    """The conditions of Karush, Kuhn and Tucker, row by row.

    At the optimum of the hinge: alpha = 0 where y f > 1, alpha = C s where y f < 1, and
    anything between where y f = 1.
    """

    alpha: Array
    top: Array
    """Upper bound C s of alpha; inf for the squared hinge."""
    value: Array
    """y f(x)."""
    slack: Array
    """xi = max(0, 1 - y f(x))."""
    violation: Array
    """How far the row is from its condition, in units of y f."""
    position: NDArray[Any]
    """"ideal", "inside" or "wrong"."""

    @property
    def largest(self) -> float:
        """The largest violation."""
        return float(self.violation.max())

    def __str__(self) -> str:
        lines = [f"{'row':>6} {'alpha':>12} {'C s':>12} {'y f(x)':>12} {'xi':>12}  position"]
        for i in range(min(len(self.alpha), 50)):
            slack = self.slack[i] if self.slack[i] > _NO_SLACK else 0.0
            lines.append(
                f"{i:>6} {self.alpha[i]:>12.6g} {self.top[i]:>12.6g} {self.value[i]:>12.6g} "
                f"{slack:>12.6g}  {self.position[i]}"
            )
        if len(self.alpha) > 50:
            lines.append(f"... {len(self.alpha) - 50} more rows")
        return "\n".join(lines)


def _range(X: Any, *, centred: bool) -> float:
    """At least the range of x . x' over the rows; a free intercept allows any origin."""
    sparse = hasattr(X, "tocsr")
    rows: Any = X.tocsr() if sparse else np.asarray(X, dtype=np.float64)
    squares = rows.multiply(rows).sum(axis=1) if sparse else np.einsum("ij,ij->i", rows, rows)
    lengths = np.asarray(squares, dtype=np.float64).ravel()
    least = float(rows.min())
    found = [float(lengths.max()) * (1.0 if least >= 0 else 2.0)]
    if centred and not sparse:
        moved = rows - rows.mean(axis=0)
        if len(moved) <= _ALL_PRODUCTS:
            gram = moved @ moved.T
            found.append(float(gram.max() - gram.min()))
        found.append(2.0 * float(np.einsum("ij,ij->i", moved, moved).max()))
    elif len(lengths) <= _ALL_PRODUCTS:
        products = (rows @ rows.T).toarray() if sparse else rows @ rows.T
        found.append(float(products.max() - products.min()))
    return min(found)


def _positions(slack: Array) -> NDArray[Any]:
    return np.where(slack >= 1.0, "wrong", np.where(slack > _NO_SLACK, "inside", "ideal"))


# -- Rows on the edge of the street ---------------------------------------------------------------


_DROWNED = 1e6  # cost times squared length beyond which losses times costs drown in rounding
_LAST_DIGITS = 1e-9  # gap of a small machine that is known to its last digits
_NARROWER = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)


def _largest_cost(problem: Problem, objective: Objective) -> float:
    """Of a row, in units of the longest row's squared length."""
    return objective.C * float(problem.weight.max()) * float(survey(problem).rows.max())


def narrower(
    problem: Problem, found: Witness, objective: Objective, kind: str = "one-vs-rest"
) -> Witness:
    """The machine with its street a hair narrower, by as much as proves most.

    Rows on the edge of the street have losses of pure rounding, which large costs multiply.
    """
    best, least = found, np.inf
    for more in _NARROWER:
        if time_left() <= 0:
            break
        tried = replace(found, a=found.a * (1.0 + more), claim="dual")
        gap = svm_gap(problem, tried, objective, kind).relative_gap
        if gap < least:
            best, least = tried, gap
    return best
