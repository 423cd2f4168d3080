"""The perceptron family as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from linsep.core.drive import Outcome
from linsep.core.limits import Limits
from linsep.core.parts import Stream
from linsep.core.problem import Problem
from linsep.core.protocol import Solver, Status
from linsep.criteria import Criterion
from linsep.criteria import Perceptron as PerceptronCriterion
from linsep.errors import CapabilityError, SettingError
from linsep.models.base import LinearClassifier, separating
from linsep.models.fit import Answer, Check, Run, either, function, none, number, one_of
from linsep.models.parts import PartsRun, answered, fit_in_parts
from linsep.models.summary import Line
from linsep.numerics.rounding import ROUNDED
from linsep.proofs import plain
from linsep.proofs.certificate import Certificate
from linsep.proofs.parts_planes import StreamCertificate, stream_sides
from linsep.solvers.perceptron.batch import Batch
from linsep.solvers.perceptron.single import SingleInParts, SingleSample
from linsep.solvers.schedule import Schedule


class Perceptron(LinearClassifier):
    """Perceptron: correct the weights on every mistake until there is none.

    Finds a with y_i (w.x_i + b) > 0 for all rows, if there is one. The update is
    a <- a + eta(k) y_i [x_i, 1] for a misclassified row. On separable data it ends after at
    most max|z|^2 / margin^2 updates (Novikoff). On data that are not separable it ends with a
    proof where the run repeats itself, and with a limit otherwise; ``status_`` says which.

    Parameters
    ----------
    update : {"single", "batch"}, default="single"
        Correct on one row at a time, or on the sum of all misclassified rows.
    order : {"cyclic", "shuffle", "random", "restart", "worst"} or None, default=None
        How rows are visited: in order; in a new random order in each pass; drawn with
        replacement; back to the first row after each update; or the worst row of all. None is
        "cyclic", and "random" with keep="pocket", which in a fixed order may never meet the
        best weights.
    eta : float, default=1.0
        Learning rate.
    decay : {"constant", "inverse"} or callable, default="constant"
        eta, eta / k, or eta * decay(k) for the k-th update, k = 1, 2, ...
    keep : {"last", "pocket", "average"} or None, default=None
        Weights to keep when the data are not separated: the last ones; those with fewest
        errors so far; or the mean over all visits. Up to 1000 rows the pocket tries every
        iterate, beyond that only those that stay right for longer than the best so far. None
        keeps the best of fewer, at next to no cost: of every iterate up to 100 rows, beyond that
        of those that stay right for longer than any that was tried.
    misclassified : {"<=", "<"}, default="<="
        Whether a value of zero counts as a mistake. Only with "<=" do the theorems hold.
    start : None, "random", "sample" or (coef, intercept), default=None
        Weights to start from; None means zeros, "sample" the first row, reflected.
    stop : {"clean-run", "clean-pass"}, default="clean-run"
        End after n right visits in a row, or after a whole right pass.
    patience : int or None, default=None
        With keep="pocket", end when the kept weights have not improved for so many passes.
    target_errors : float or None, default=None
        With keep="pocket", end when the kept weights misclassify rows of no more weight than
        this; without weights that is a number of rows.
    min_margin : float or None, default=None
        End when more updates were made than the Novikoff bound allows for this margin (in the
        augmented space): no separator with such a margin exists.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
    fit_intercept : bool, default=True
        Whether to have an offset.
    max_iter : int, default=1000
        Limit of passes over the data.
    time_limit : float or None, default=None
        Limit in seconds; the best weights so far are kept.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; a weight multiplies the learning rate of a row.
    random_state : int, RandomState or None, default=None
        Seed of random orders and of a random start. None is 0: every fit gives the same bits.
    warm_start : bool, default=False
        Start from the weights of the last fit.
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

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    n_iter_ : int
        Passes over the data.
    n_updates_ : int
        How often the weights changed.
    t_lup_ : int or None
        The update that made the weights which are kept; None for an average.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : Certificate
        What is proved about the plane and the data.
    solver_used_ : str
        The algorithm and why it was chosen.
    outcome_ : Outcome
        The run: final state, steps, seconds.

    See Also
    --------
    Kozinec : The plane of maximum margin.
    linsep.separability : Decides whether any plane separates, with a proof.

    Notes
    -----
    Three classes and more are one linear machine trained by Kesler's construction, which is
    never written out: a mistake of class k against class r adds the row to w_k and takes it
    from w_r.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("students")
    >>> model = linsep.Perceptron(start=([.25] * 4, .25)).fit(table.X, table.y)
    >>> model.coef_, model.intercept_
    (array([[ 1.25, -0.75, -0.75, -0.75]]), array([-0.75]))
    >>> model.status_.name, model.n_updates_, model.outcome_.state.n_visits
    ('SEPARATED', 3, 8)
    """

    certificate_: Certificate

    _checked_at_the_end: ClassVar[bool] = True
    _half_spaces: ClassVar[bool] = True
    _scores_held: ClassVar[int] = 6
    _checks: ClassVar[dict[str, Check]] = {
        "update": one_of("single", "batch"),
        "order": either(none, one_of("cyclic", "shuffle", "random", "restart", "worst")),
        "eta": number(0, above=True),
        "decay": either(one_of("constant", "inverse"), function),
        "keep": either(none, one_of("last", "pocket", "average")),
        "misclassified": one_of("<=", "<"),
        "stop": one_of("clean-run", "clean-pass"),
        "patience": either(none, number(1, whole=True)),
        "target_errors": either(none, number(0)),
        "min_margin": either(none, number(0, above=True)),
    }

    def __init__(
        self,
        *,
        update: str = "single",
        order: str | None = None,
        eta: float = 1.0,
        decay: Any = "constant",
        keep: str | None = None,
        misclassified: str = "<=",
        start: Any = None,
        stop: str = "clean-run",
        patience: int | None = None,
        target_errors: float | None = None,
        min_margin: float | None = None,
        fit_intercept: bool = True,
        zero: str = "positive",
        max_iter: int = 1000,
        time_limit: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
    ) -> None:
        self.update = update
        self.order = order
        self.eta = eta
        self.decay = decay
        self.keep = keep
        self.misclassified = misclassified
        self.start = start
        self.stop = stop
        self.patience = patience
        self.target_errors = target_errors
        self.min_margin = min_margin
        self.fit_intercept = fit_intercept
        self.zero = zero
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv

    def _criterion(self) -> Criterion:
        return PerceptronCriterion()

    def _falls_back(self) -> bool:
        return True

    def _choose(self, problem: Problem) -> tuple[Solver[Any], str]:
        self._refuse_idle_settings()
        common: dict[str, Any] = {
            "strict": self.misclassified == "<",
            "schedule": Schedule(float(self.eta), self.decay),
            "keep": self.keep,
            "patience": self.patience,
            "target_errors": self.target_errors,
            "min_margin": self.min_margin,
            "seed": self._seed(),
        }
        machine = "" if problem.binary else f"; {problem.K} classes as one linear machine (Kesler)"
        if self.update == "batch" or self.order == "worst":
            worst = self.update == "single"
            what = "perceptron on the worst row of each scan" if worst else "batch perceptron"
            return Batch(worst=worst, **common), what + " (as asked)" + machine
        order, why = self._visits()
        what = f"single-sample perceptron, {order} order ({why})"
        return SingleSample(order=order, stop=self.stop, **common), what + machine

    def _fit_stream(self, stream: Stream, checkpoint: str | Path | None) -> None:
        whole = {
            "update": self.update != "single", "order": self.order not in (None, "cyclic"),
            "keep": self.keep == "pocket", "min_margin": self.min_margin is not None,
            "start": isinstance(self.start, str) and self.start == "sample",
        }  # fmt: skip
        for name in (name for name, needs in whole.items() if needs):
            raise CapabilityError(
                f"{name}={getattr(self, name)!r} needs all rows at once; a stream is visited in "
                "its order, one row after the other, and keeps the last, the average or the best "
                "weights that were met."
            )
        fit_in_parts(self, stream, checkpoint, answered)

    def _answer_parts(self, run: PartsRun[Any]) -> Answer:
        rule, reason = self._choose(run.problem)  # type: ignore[arg-type]  # asks for K alone
        assert isinstance(rule, SingleSample)
        solver: Any = SingleInParts(rule)
        start = self._begin(run.problem, solver)  # type: ignore[arg-type]
        outcome = run.drive(solver, start, Limits(steps=self.max_iter))
        proof = partial(stream_sides, run.problem, outcome.witness.a)
        return separating(outcome, run.proved(outcome, proof), f"{reason} ({run.words})")

    def _visits(self) -> tuple[str, str]:
        """The order of visits and where it comes from."""
        if self.order is not None:
            return self.order, "as asked"
        if self.keep == "pocket":
            return "random", "in a fixed order a pocket may never meet the best weights"
        return "cyclic", "the default"

    def _refuse_idle_settings(self) -> None:
        """A setting without effect is a misunderstanding: say so."""
        scans = self.update == "batch" or self.order == "worst"
        idle = {
            "order": self.update == "batch" and self.order not in (None, "cyclic"),
            "stop": scans and self.stop != "clean-run",
            "patience": self.patience is not None and self.keep != "pocket",
            "target_errors": self.target_errors is not None and self.keep != "pocket",
        }
        reason = {
            "order": "update='batch' looks at all rows before each update",
            "stop": "every step is a whole pass already",
            "patience": "it watches the pocket; set keep='pocket'",
            "target_errors": "it watches the pocket; set keep='pocket'",
        }
        for name, is_idle in idle.items():
            if is_idle:
                raise SettingError(
                    f"{name}={getattr(self, name)!r} has no effect here: {reason[name]}."
                )

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        """Few errors are counted again, and updates held against the bound."""
        answer, claimed = super()._prove(run, solver, outcome, reason), outcome.status
        few = claimed is Status.ENOUGH and self._are_few(run.problem, answer)
        many = claimed is Status.BOUND_EXCEEDED and self._too_many(run.problem, answer)
        return replace(answer, status=claimed) if few or many else answer

    def _are_few(self, problem: Problem, answer: Answer) -> bool:
        """Whether rows clearly on the wrong side weigh no more than ``target_errors``."""
        values = plain.values(problem, answer.witness.a)
        wrong = values < -ROUNDED * np.abs(values).max()
        return bool(problem.row_weights[wrong].sum() <= (self.target_errors or 0.0) * (1 + 1e-9))

    def _too_many(self, problem: Problem, answer: Answer) -> bool:
        """Whether there were more updates than a plane of margin ``min_margin`` allows."""
        if self.min_margin is None or not self.min_margin > answer.certificate.margin_aug_low:
            return False
        radius2 = plain.longest(problem) ** 2 + problem.fit_intercept
        bound = radius2 * (1 if problem.binary else 2) / float(self.min_margin) ** 2
        return bool(answer.outcome.state.n_updates > bound * (1 - 1e-9) - 1)

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        state, a = answer.outcome.state, answer.witness.a
        self.t_lup_: int | None = getattr(state, "best_update", None)
        if np.array_equal(a, getattr(state, "a", ())):
            self.t_lup_ = self.n_updates_
        elif self.keep == "average":
            self.t_lup_ = None
        self._bound = self._novikoff(problem, answer)

    def _novikoff(self, problem: Problem, answer: Answer) -> float | None:
        """Updates that Novikoff's theorem allows, where it holds and a margin is known."""
        if isinstance(answer.certificate, StreamCertificate):
            return None  # nobody knows the longest row of a stream
        margin = answer.certificate.margin_aug_low
        plain = self.update == "single" and self.decay == "constant" and self.start is None
        same = not self.warm_start and bool((problem.weight == 1).all())
        if not (margin > 0 and plain and same and self.misclassified == "<="):
            return None
        radius2 = float(problem.squared_lengths.max()) + problem.fit_intercept
        return radius2 * (1 if problem.binary else 2) / float(margin) ** 2

    def _told(self) -> list[Line]:
        lines = super()._told()
        bound, kept = getattr(self, "_bound", None), getattr(self, "t_lup_", None)
        if bound is not None:
            whole = int(bound * (1 + 1e-12)) if bound < 1e15 else bound  # they are counted
            space = ", augmented" if self.fit_intercept else ""
            words = f"at most {whole:.15g} updates: (longest row / this margin)^2{space}"
            lines.insert(2, ("Novikoff", f"{words}; {self.n_updates_} were made"))
        elif kept is not None and not self.certificate_.separable:
            best = "" if self.keep == "last" else ", with the fewest errors that were seen"
            lines.insert(2, ("kept", f"the weights of update {kept} (t_lup){best}"))
        return lines
