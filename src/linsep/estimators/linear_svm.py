"""The linear support vector machine as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks

from linsep.certify.gap import Objective
from linsep.certify.gaps import measure_any
from linsep.certify.survey import survey
from linsep.core import Limits, Outcome, Problem, Solver, Status, Witness, drive
from linsep.core.lanes import one_blas_thread
from linsep.errors import DataError, GapWarning, NotSeparatedWarning, SettingError
from linsep.estimators.base import LinearClassifier
from linsep.estimators.callbacks import CallbackBridge
from linsep.estimators.params import Check, either, none, number, one_of
from linsep.estimators.svm_choice import SOLVERS, choose_solver, is_small
from linsep.estimators.svm_facts import SVMFacts
from linsep.estimators.svm_hard import hard_machine, hard_machines
from linsep.estimators.svm_summary import svm_summary
from linsep.solvers.crammer_singer import CrammerSinger
from linsep.solvers.newton_machine import NewtonMachine
from linsep.solvers.polish import polish, polish_parts

__all__ = ["LinearSVM"]


_HURRY = 200  # passes of coordinate descent after which another solver is better


class LinearSVM(SVMFacts, LinearClassifier):
    """Linear support vector machine with a proved duality gap.

    Minimises |w|^2 / 2 + C sum_i s_i L(1 - y_i (w.x_i + b)) over w and b; b is not penalised.
    It ends when the objective is proved to be within ``tol`` of the best possible one, and
    ``certificate_`` holds the proof: objective and lower bound, recomputed from the weights
    and the dual variables with all rounding errors accounted for.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation. inf is the hard margin: no row inside the street at all.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    multi_class : {"one-vs-rest", "crammer-singer"}, default="one-vs-rest"
        What to do with three classes and more.
    fit_intercept : bool, default=True
        Whether to have an offset; it is never penalised.
    tol : float, default=1e-3
        Relative duality gap to reach.
    solver : {"auto", "newton", "dual-cd", "proximal-newton"}, default="auto"
        "newton" for tall data of few columns, "dual-cd" for sparse and wide data,
        "proximal-newton" for sparse data where that takes too long. "auto" chooses by shape.
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

    _checked_at_the_end: ClassVar[bool] = True  # by the survey, before the first step

    _hurry: bool = False
    """One of many small problems of a scheme: solved to ``tol`` and no further. Where that takes
    too many passes the scheme fits again without it."""

    _checks: ClassVar[dict[str, Check]] = {
        "C": number(0, above=True),
        "loss": one_of("hinge", "squared_hinge"),
        "multi_class": one_of("one-vs-rest", "crammer-singer"),
        "tol": number(0, above=True),
        "solver": one_of("auto", *SOLVERS),
        "n_jobs": either(none, number(-1, whole=True)),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        multi_class: str = "one-vs-rest",
        fit_intercept: bool = True,
        tol: float = 1e-3,
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
        self.loss = loss
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
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

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on X and y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            float32 and float64 are used as they are.
        y : array of shape (n_samples,)
            Any labels, two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight s counts as s rows.

        Returns
        -------
        self
        """
        with one_blas_thread():
            return self._fit(X, y, sample_weight)._calibrate(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        problem = self._problem(X, y, sample_weight)
        self.__dict__.pop("proof_", None)  # of an earlier fit
        _refuse_unusable(problem)
        observers = self._observers()
        if np.isinf(self.C):
            return self._fit_hard(problem, observers)
        solver, reason = self._solver(problem)
        state = solver.init(problem, start=self._dual_start(problem, solver))
        bridge = CallbackBridge(self, X, y)
        outcome = drive(
            problem,
            solver,
            state,
            limits=self._limits(problem, solver),
            observers=[*observers, bridge],
        )
        self._keep(problem, solver, outcome, reason)
        bridge.close()
        self._warn(problem)
        return self

    def _fit_hard(self, problem: Problem, observers: Any) -> Self:
        """C = inf: the plane of maximum margin, or the proof that there is none."""
        if not problem.binary and self.multi_class == "crammer-singer":
            raise SettingError(
                "C=inf does not exist for multi_class='crammer-singer'; choose a finite C, or "
                "multi_class='one-vs-rest'."
            )
        limits = Limits(steps=self.max_iter, seconds=self.time_limit)
        machine = hard_machine if problem.binary else hard_machines
        hard = machine(problem, self.tol, limits, observers)
        witness, gap, outcome, proof = hard.witness, hard.gap, hard.outcome, hard.proof
        status = (
            Status.INSEPARABLE
            if proof is not None and proof.separable is False
            else (Status.CERTIFIED if gap.relative_gap <= self.tol else outcome.status)
        )
        if status.ok and status is not Status.INSEPARABLE:
            gap = measure_any(problem, witness, self._objective(), self.multi_class)
        self.proof_ = proof
        self._n_fitted, self._C_fitted = problem.n, float(self.C)
        self.classes_ = problem.classes
        self.coef_, self.intercept_ = problem.split(witness.a)
        self._keep_dual(problem, witness)
        self.n_iter_, self.n_updates_ = max(1, outcome.steps), outcome.state.n_updates
        self.status_, self.certificate_, self.outcome_ = status, gap, outcome
        self.solver_used_ = "nearest points of the two hulls (C = inf, the hard margin)"
        if status is Status.INSEPARABLE:
            of = hard.of
            which = "" if of is None else f"Class {problem.classes[of]} against the rest: "
            warnings.warn(
                f"{which}{status.value}. A hard margin does not exist; choose a finite C. "
                f"The proof is in proof_: {proof}",
                NotSeparatedWarning,
                stacklevel=5,
            )
        else:
            self._warn(problem)
        return self

    def _solver(self, problem: Problem) -> tuple[Solver[Any], str]:
        machine = self.multi_class == "crammer-singer" and not problem.binary
        if machine and self.loss != "hinge":
            raise SettingError(
                f"loss={self.loss!r} does not exist for multi_class='crammer-singer'; "
                "use loss='hinge'."
            )
        tol = self.tol
        if self._is_small(problem) and not (machine and self.solver == "dual-cd"):
            tol = min(tol, 1e-6 if machine else 1e-7)
        threads = None if self.n_jobs in (None, -1, 0) else self.n_jobs
        hurry = self._hurry and self.solver == "auto" and problem.binary and is_small(problem)
        return choose_solver(
            problem,
            "dual-cd" if hurry else self.solver,
            C=float(self.C),
            loss=self.loss,
            tol=0.999 * float(tol),
            seed=0 if self.random_state is None else self._seed(),
            threads=threads,
            multi_class=self.multi_class,
        )

    def _is_small(self, problem: Problem) -> bool:
        return is_small(problem) and not self._hurry

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        limits = super()._limits(problem, solver)
        if not self._hurry:
            return limits
        passes = _HURRY * (problem.n_rows if solver.unit == "visit" else 1)
        return replace(limits, steps=min(passes, limits.steps or passes))

    def _objective(self) -> Objective:
        return Objective(self.loss, float(self.C), "free" if self.fit_intercept else "none")

    def _dual_start(self, problem: Problem, solver: Any) -> Any:
        """Where to go on: the dual variables or the weights of the last fit."""
        if not self.warm_start or not hasattr(self, "support_"):
            return None
        known = self.dual_coef_.shape[0] == (1 if problem.binary else problem.K)
        if not known or self.coef_.shape[1] != problem.d or self._n_fitted != problem.n:
            return None
        return warm_state(self, problem, solver)

    def _keep(
        self, problem: Problem, solver: Solver[Any], outcome: Outcome[Any], reason: str
    ) -> None:
        witness, objective = outcome.witness, self._objective()
        machine = self.multi_class == "crammer-singer" and not problem.binary
        if self._is_small(problem) and not machine and outcome.status is not Status.DIVERGED:
            finish = polish if problem.binary else polish_parts
            witness = finish(problem, witness, objective.C, objective.loss)
        certificate = measure_any(problem, witness, objective, self.multi_class)
        self._n_fitted, self._C_fitted = problem.n, float(self.C)
        self.classes_ = problem.classes
        self.coef_, self.intercept_ = problem.split(witness.a)
        self._keep_dual(problem, witness)
        self.n_iter_ = max(1, int(np.ceil(outcome.passes)))
        self.n_updates_ = outcome.state.n_updates
        self.status_ = certificate.settle(outcome.status, self.tol)
        self.certificate_: Any = certificate
        self.solver_used_ = reason
        self.outcome_ = outcome

    def _keep_dual(self, problem: Problem, witness: Witness) -> None:
        K = 1 if problem.binary else problem.K
        if problem.binary:
            support = witness.rows
            self.dual_coef_ = (problem.sign[support] * witness.multipliers)[None, :]
        else:
            part, row = np.divmod(witness.rows, problem.n)
            used = np.zeros(problem.n, dtype=bool)
            used[row] = True
            support = np.flatnonzero(used)
            self.dual_coef_ = np.zeros((K, len(support)))
            sign = np.where(problem.label[row] == part, 1.0, -1.0)
            self.dual_coef_[part, np.searchsorted(support, row)] = sign * witness.multipliers
        index = problem.row_index
        self.support_ = support if index is None else index[support]
        lengths = np.linalg.norm(self.coef_, axis=1)
        with np.errstate(divide="ignore"):
            width = 2.0 / lengths
        self.margin_width_ = float(width[0]) if problem.binary else width
        self.leave_one_out_bound_ = len(support) / problem.n

    def _warn(self, problem: Problem) -> None:
        status, gap = self.status_, self.certificate_
        if status is Status.DIVERGED:
            raise DataError(_overflow_words(problem))
        if status.ok or self.outcome_.interrupted:
            return
        warnings.warn(
            f"{status.value} ({status.name}, {self.n_iter_} passes). The objective "
            f"{gap.objective:.6g} is proved to be within {100 * gap.relative_gap:.3g} % of the "
            f"best possible one; tol asks for {100 * self.tol:.3g} %. Raise max_iter or "
            "time_limit, or scale the columns.",
            GapWarning,
            stacklevel=5,
        )

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return svm_summary(self)


def warm_state(model: Any, problem: Problem, solver: Any) -> Any:
    """A start for the solver from a fitted model on the same rows."""
    if solver.unit == "Newton step" and problem.binary:
        return (model.coef_, model.intercept_)
    index = problem.row_index
    support = model.support_
    if index is not None:
        place = np.searchsorted(index, support)
        if (place >= len(index)).any() or (
            index[np.minimum(place, len(index) - 1)] != support
        ).any():
            return None
        support = place
    ratio = float(model.C) / model._C_fitted  # variables at their bound move with it
    alpha = np.zeros((len(model.dual_coef_), problem.n))
    alpha[:, support] = ratio * model.dual_coef_
    if isinstance(solver, CrammerSinger):
        return alpha.T
    if isinstance(solver, NewtonMachine):
        return model.coef_, model.intercept_, alpha.T
    if problem.binary:
        return np.abs(alpha[0])
    if solver.solver.unit == "Newton step":
        return list(zip(model.coef_, model.intercept_))
    return list(np.abs(alpha))


def _refuse_unusable(problem: Problem) -> None:
    """NaN, infinity, and numbers too large for sums of squares, by name and place."""
    if survey(problem).usable:
        return
    problem.check_finite()
    data = problem.matrix.data if problem.sparse else problem.matrix
    if float(max(data.max(), -data.min())) > 1e100:
        raise DataError(_overflow_words(problem))


def _overflow_words(problem: Problem) -> str:
    from linsep.estimators.base import _largest

    return (
        f"the numbers overflowed: {_largest(problem)}. Scale the columns, for instance "
        "with sklearn.preprocessing.MaxAbsScaler."
    )
