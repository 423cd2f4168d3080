"""Logistic regression as a scikit-learn classifier."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Gap
from linsep.core import Outcome, Problem, Solver, Status, drive
from linsep.core.lanes import at_most, one_blas_thread
from linsep.errors import DataError, SettingError
from linsep.estimators.base import LinearClassifier
from linsep.estimators.callbacks import CallbackBridge, observers_of
from linsep.estimators.logistic_choice import SOLVERS, choose_logistic, is_small
from linsep.estimators.logistic_facts import LogisticFacts, log_likelihoods, logistic_summary
from linsep.estimators.logistic_proof import LogisticProof
from linsep.estimators.logistic_words import refuse_weights, warning_of
from linsep.estimators.params import Check, either, function, jobs, none, number, one_of
from linsep.estimators.unusable import overflow_words, refuse_unusable

__all__ = ["LogisticRegression"]

Array = NDArray[np.float64]

_LAST_DIGITS = 1e-22  # relative gap that small tables are solved to: half the digits of weights


class LogisticRegression(LogisticFacts, LogisticProof, LinearClassifier):
    """Logistic regression with a proved duality gap.

    Minimises |w|^2 / 2 + C sum_i s_i log(1 + exp(-y_i (w.x_i + b))) over w and b; b is not
    penalised. With ``C=inf`` or ``penalty=None`` it maximises the conditional likelihood alone.
    Where that has no maximum, on separable and quasi-separable data, it says so, names what
    separates, proves it, and gives finite weights close to the supremum. More than two classes
    are fitted together by softmax.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the losses against the penalty. inf is maximum conditional likelihood.
    penalty : {"l2", None}, default="l2"
        None is the same as C=inf.
    solver : {"auto", "newton", "gradient"}, default="auto"
        "newton" for work; "gradient" is the gradient ascent of textbooks, step by step.
    fit_intercept : bool, default=True
        Whether to have an offset; it is never penalised.
    tol : float, default=1e-3
        Relative duality gap to reach. Small tables are solved to the last digits.
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

    See Also
    --------
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
        fit_intercept: bool = True,
        tol: float = 1e-3,
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
        self.fit_intercept = fit_intercept
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

    # -- fit ----------------------------------------------------------------------------------

    @property
    def _cost(self) -> float:
        """C, inf where there is no penalty."""
        return float(self.C) if self.penalty is not None else np.inf

    def _solver(self, problem: Problem) -> tuple[Solver[Any], str]:
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
        tol = 0.7 * float(self.tol)
        if is_small(problem) and self.solver != "gradient":
            tol = min(tol, _LAST_DIGITS)
        return choose_logistic(
            problem,
            self.solver,
            C=self._cost,
            tol=tol,
            seed=self._seed(),
            threads=self._threads,
            reference=self._reference(problem),
            eta=self.eta,
            decay=self.decay,
        )

    @property
    def _threads(self) -> int | None:
        return None if self.n_jobs in (None, -1) else self.n_jobs

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

    def _run(self, problem: Problem, X: Any, y: Any, state: Any = None) -> Self:
        with one_blas_thread(), at_most(self._threads):
            return self._fitted(problem, X, y, state)

    def _fitted(self, problem: Problem, X: Any, y: Any, state: Any) -> Self:
        begin = time.perf_counter()
        refuse_unusable(problem)
        observers = observers_of(self)
        solver, reason = self._solver(problem)
        refuse_weights(problem, self._cost)
        self.proof_: Any = None
        self.separation_: str | None = None
        if state is None:
            with np.errstate(all="ignore"):
                state = solver.init(problem, start=self._warm_start(problem))
        bridge = CallbackBridge(self, X, y)
        limits = self._limits(problem, solver)
        outcome = drive(problem, solver, state, limits=limits, observers=[*observers, bridge])
        if outcome.status is Status.DIVERGED and self.solver != "gradient":
            problem.check_finite()
            raise DataError(overflow_words(problem))
        with np.errstate(all="ignore"):
            outcome, gap, status = self._proved(problem, solver, outcome, limits, begin)
            self._keep_answer(problem, outcome, gap, status, reason)
        bridge.close()
        self._warn(problem)
        return self

    # -- the answer ---------------------------------------------------------------------------

    def _keep_answer(
        self, problem: Problem, outcome: Outcome[Any], gap: Gap, status: Status, reason: str
    ) -> None:
        a = self.__dict__.pop("_answer")
        self.classes_ = problem.classes
        self.coef_, self.intercept_ = problem.split(a)
        self.n_iter_ = max(1, int(np.ceil(outcome.passes)))
        self.n_updates_ = outcome.state.n_updates
        self.status_, self.outcome_ = status, outcome
        self.certificate_: Any = gap
        self.solver_used_ = reason
        known = log_likelihoods(problem, gap.objective, self.coef_, self._cost)
        for name, value in known.items():
            setattr(self, name, value)

    def _warn(self, problem: Problem) -> None:
        told = warning_of(self, problem)
        if told is not None:
            warnings.warn(*told, stacklevel=6)

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return logistic_summary(self)
