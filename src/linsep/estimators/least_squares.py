"""Minimum squared error as a scikit-learn classifier."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.certify.proof import Proof
from linsep.certify.rational import rational_squares
from linsep.certify.squares import Squares, measure_squares, rounded
from linsep.core import Limits, Outcome, Problem, Solver, Status, drive
from linsep.core.words import count, percent
from linsep.errors import DataError, GapWarning, NotSeparatedWarning, SettingError
from linsep.estimators.base import LinearClassifier
from linsep.estimators.callbacks import CallbackBridge, observers_of
from linsep.estimators.influence import RowReport, row_report
from linsep.estimators.params import Check, either, function, none, number, one_of
from linsep.estimators.squares_choice import (
    choose_squares,
    slow_words,
    too_fast_words,
    unsquarable_words,
)
from linsep.estimators.squares_facts import SquaresFacts
from linsep.estimators.squares_summary import squares_summary
from linsep.estimators.unusable import overflow_words
from linsep.solvers.gradient_squares import spectrum
from linsep.solvers.pseudo_inverse import PseudoInverse, fits, pseudo_inverse
from linsep.verdict import decide

__all__ = ["LeastSquares"]

_REPORT = 2e8  # operations up to which leverages are computed in every fit
_DECIDE = 20_000  # entries up to which a plane that does not separate is looked into
_SECONDS = 0.25  # for that


class LeastSquares(SquaresFacts, LinearClassifier):
    """Minimum squared error: Y a = b as well as it can be done.

    Minimises J(a) = sum_i s_i (y_i (w.x_i + b_0) - b_i)^2 for targets b_i > 0; with several
    classes there is one column of targets a class, b_i for the own class and -b_i for the others.
    Of all minimisers the shortest is taken, the offset counted: a = Y^+ b.

    It need not separate, even if some plane does: rows that are right by far are punished as much
    as wrong ones. So the fit says whether all values y f(x) are positive, which rows are not, and
    which rows are outliers that bend the plane.

    Parameters
    ----------
    solver : {"exact", "gradient", "widrow-hoff"}, default="exact"
        "exact" solves the normal equations, with refinement and orthogonal factors where they are
        ill conditioned; small tables in fractions. "gradient" is a <- a - eta Y'(Ya - b),
        "widrow-hoff" the same for one row at a time.
    targets : array of shape (n_samples,) or None, default=None
        b, positive; None means ones. Only their ratios matter for the plane.
    eta : float or None, default=None
        Rate of the iterative solvers; None is safe: 1 / lambda_max(Y'SY), or 1 / max s|z|^2 for
        Widrow-Hoff.
    decay : {"constant", "inverse"}, callable or None, default=None
        eta(k) for step k: eta, eta / k, or eta times a function of k. None is "constant" for the
        gradient; for Widrow-Hoff it begins safely and falls like 1 / k.
    order : {"cyclic", "shuffle"}, default="cyclic"
        Of the rows, for Widrow-Hoff.
    start : (coef, intercept), "random" or None, default=None
        Of the iterative solvers; None is zero.
    tol : float, default=1e-6
        Gap of J that is to be proved, relative to the J of zero weights.
    fit_intercept : bool, default=True
        Whether to have an offset.
    max_iter : int, default=10000
        Limit of gradient steps, or of passes.
    time_limit : float or None, default=None
        Limit in seconds; the best weights so far are kept, with their proof.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None
        Seed of the order "shuffle" and of a random start; None is 0.
    warm_start : bool, default=False
        Start from the weights of the last fit; an exact solution does not need it.
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
    outliers_ : array of int or None
        Rows with a standardised residual above 3 or a Cook's distance above 1, the most
        influential first. None on large data, where ``report(X, y)`` finds them.
    rank_ : int or None
        Independent columns, the constant one counted; None where that is not known.
    condition_ : float or None
        Condition number of the columns scaled to equal lengths.
    n_iter_ : int
        Passes over the data.
    status_ : Status
        SEPARATED or CERTIFIED: J is proved to be least within tol, and the plane separates or not.
    certificate_ : Squares
        objective, lower_bound, relative_gap, errors, wrong_rows, margin; on small tables the exact
        minimum.
    proof_ : Proof or None
        On small tables that the plane does not separate: whether another plane would.
    solver_used_ : str
        The algorithm and why it was chosen.
    outcome_ : Outcome
        The run: final state, steps, seconds.

    See Also
    --------
    HoKashyap : Adapts the targets until the plane separates, or proves that none does.

    Notes
    -----
    The update rule has no factor 2, the gradient of J has: eta multiplies Y'(Ya - b), and gradient
    steps converge for eta < 2 / lambda_max(Y'Y).

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("mse-1")
    >>> model = linsep.LeastSquares().fit(table.X, table.y)
    >>> coef, offset = model.exact_coefficients()
    >>> [str(v) for v in coef], str(offset)
    (['93/89', '-84/89'], '237/89')
    >>> model.status_.name, str(model.certificate_.minimum)
    ('SEPARATED', '50/89')
    """

    _checked_at_the_end: ClassVar[bool] = True
    _checks: ClassVar[dict[str, Check]] = {
        "solver": one_of("exact", "gradient", "widrow-hoff"),
        "eta": either(none, number(0, above=True)),
        "decay": either(none, one_of("constant", "inverse"), function),
        "order": one_of("cyclic", "shuffle"),
        "tol": number(0, above=True),
    }

    def __init__(
        self,
        *,
        solver: str = "exact",
        targets: Any = None,
        eta: float | None = None,
        decay: Any = None,
        order: str = "cyclic",
        start: Any = None,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
    ) -> None:
        self.solver = solver
        self.targets = targets
        self.eta = eta
        self.decay = decay
        self.order = order
        self.start = start
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv

    def _start(self, problem: Problem) -> Any:
        return self.start

    def _solver(self, problem: Problem) -> tuple[Solver[Any], str]:
        self._refuse_idle_settings()
        return choose_squares(
            problem, self.solver, eta=self.eta, decay=self.decay, order=self.order,
            tol=float(self.tol), seed=self._seed(),
        )  # fmt: skip

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        rows = problem.n if solver.unit == "visit" else 1
        return Limits(steps=self.max_iter * rows, seconds=self.time_limit)

    def _refuse_idle_settings(self) -> None:
        """A setting without effect is a misunderstanding: say so."""
        idle = {
            "eta": self.solver == "exact" and self.eta is not None,
            "decay": self.solver == "exact" and self.decay is not None,
            "start": self.solver == "exact" and self.start is not None,
            "order": self.solver != "widrow-hoff" and self.order != "cyclic",
        }
        for name, is_idle in idle.items():
            if is_idle:
                raise SettingError(
                    f"{name}={getattr(self, name)!r} has no effect with solver={self.solver!r}; "
                    f"leave it out, or choose solver="
                    f"{'widrow-hoff' if name == 'order' else 'gradient'!r}."
                )

    # -- fit ------------------------------------------------------------------------------

    def _run(self, problem: Problem, X: Any, y: Any, state: Any = None) -> Self:
        observers = observers_of(self)
        with np.errstate(all="ignore"):
            solver, reason = self._solver(problem)
            if state is None:
                state = solver.init(problem, start=self._warm_start(problem))
        bridge = CallbackBridge(self, X, y)
        limits = self._limits(problem, solver)
        watch = [*observers, bridge]
        outcome = drive(problem, solver, state, limits=limits, observers=watch)
        with np.errstate(all="ignore"):
            self._keep(problem, solver, outcome, reason)
        bridge.close()
        self._warn(problem)
        return self

    def _keep(
        self, problem: Problem, solver: Solver[Any], outcome: Outcome[Any], reason: str
    ) -> None:
        witness, factors = outcome.witness, self._factors(problem)
        if self.solver == "exact" and outcome.status is Status.DIVERGED:
            _refuse(problem)
        known = rational_squares(problem) if np.isfinite(witness.a).all() else None
        basis = None
        if factors is not None and not factors.by_rows:
            basis = factors.half / factors.scale[:, None]
        certificate = measure_squares(problem, witness, known=known, basis=basis)
        if known is not None and self.solver == "exact":
            # where columns nearly depend on each other, rounded fractions can be far worse
            exact = replace(witness, a=rounded(problem, known))
            better = measure_squares(problem, exact, known=known, basis=basis)
            if better.relative_gap <= max(self.tol, certificate.relative_gap):
                witness, certificate, reason = exact, better, "fractions (a small table)"
        if not certificate.finite:
            _refuse(problem)
        if factors is not None and self.solver == "exact":
            reason = reason.replace("normal equations", factors.words)
        self.rank_ = None if factors is None else factors.rank
        self.condition_ = None if factors is None else factors.condition
        self.classes_ = problem.classes
        self.coef_, self.intercept_ = problem.split(witness.a)
        self.n_iter_ = max(1, math.ceil(outcome.passes))
        self.n_updates_ = outcome.state.n_updates
        self.status_ = certificate.settle(outcome.status, self.tol)
        self.certificate_: Any = self._decided(problem, certificate, outcome)
        self.solver_used_ = reason
        self.outcome_ = replace(outcome, witness=witness, certificate=self.certificate_)
        self._report: RowReport | None = None
        small = problem.n * float(problem.width) ** 2 <= _REPORT
        if factors is not None and small and self.status_.ok:
            self._report = row_report(problem, witness.a)
        self.outliers_ = None if self._report is None else self._report.outliers

    def _factors(self, problem: Problem) -> PseudoInverse | None:
        """The factorisation, where there is one or it costs next to nothing."""
        cheap = problem.n * float(problem.width) ** 2 <= _REPORT
        if not fits(problem) or not (self.solver == "exact" or cheap):
            return None
        found = pseudo_inverse(problem)
        if not np.isfinite(found.half).all():
            _refuse(problem)
        return found

    def _decided(self, problem: Problem, certificate: Squares, outcome: Outcome[Any]) -> Squares:
        """On small tables: whether another plane separates where this one does not."""
        self.proof_: Proof | None = None
        if certificate.errors == 0 or problem.n * problem.d > _DECIDE:
            return certificate
        left = _SECONDS
        if self.time_limit is not None:
            left = min(left, max(self.time_limit - outcome.seconds, 0.0))
        with suppress(ArithmeticError):  # numbers at the ends of the range: no verdict then
            self.proof_ = decide(problem, time_limit=left)
        if self.proof_ is not None and self.proof_.separable is False:
            return certificate.refuted_by(self.proof_)
        return certificate

    def _warn(self, problem: Problem) -> None:
        status, found = self.status_, self.certificate_
        if self.outcome_.interrupted:
            return
        if not status.ok:
            what = f"{status.value} ({status.name}, {count(self.n_iter_, 'pass')}). "
            what += f"The cost {found.objective:.6g} is proved to be within "
            what += f"{percent(found.relative_gap, 3)} of the squared targets of the least one; "
            what += f"tol asks for {percent(self.tol, 3)}. {self._advice(problem)}."
            warnings.warn(what, GapWarning, stacklevel=5)
        elif self.proof_ is not None and self.proof_.separable:
            rows = ", ".join(map(str, found.wrong_rows[:8]))
            warnings.warn(
                f"the classes are separable ({self.proof_}), but the plane of least squares leaves "
                f"{found.errors} of {problem.n} rows on the wrong side ({rows}"
                f"{', ...' if found.errors > 8 else ''}). Squares also punish rows that are right "
                "by far. Take HoKashyap, Perceptron or LinearSVM, or larger targets for the rows "
                "in outliers_ that are far on their own side.",
                NotSeparatedWarning,
                stacklevel=5,
            )

    def _advice(self, problem: Problem) -> str:
        """What to do about a run without an answer."""
        state = self.outcome_.state
        unusable = unsquarable_words(problem, self.solver) if self.solver != "exact" else None
        if unusable is not None:
            return unusable
        if self.status_ is Status.DIVERGED and self.solver != "exact":
            return too_fast_words(problem, self.solver, state.rate)
        if self.status_ is Status.LIMIT_CYCLE:
            return "Take decay=None, which falls like 1 / k, or solver='exact'"
        if self.solver == "widrow-hoff":
            words = slow_words(problem, state.rate, self.decay, max(self.outcome_.passes, 2.0))
            if words is not None:
                return words
        if self.solver == "exact" and self.outcome_.status is not Status.STEP_LIMIT:
            return "The columns nearly depend on each other; leave some out, or scale them"
        if self.solver == "exact":
            return "Scale the columns, or raise max_iter"
        eigen = spectrum(problem)
        ratio = "" if np.isnan(eigen.smallest) else (
            f" (lambda_max / lambda_min = {eigen.largest / eigen.smallest:.3g})"
        )  # fmt: skip
        return f"Scale the columns{ratio}, raise max_iter, or take solver='exact'"

    def _settle(self, status: Status) -> Status:
        """For traces: a claimed minimum is called that."""
        return status

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        check_is_fitted(self)
        return squares_summary(self)


def _refuse(problem: Problem) -> None:
    """Numbers that are not finite, or too large to be squared."""
    problem.check_finite()
    raise DataError(overflow_words(problem))
