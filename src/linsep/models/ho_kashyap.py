"""Ho and Kashyap's procedure as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from linsep.core.drive import Outcome
from linsep.core.problem import Problem, each_against_rest
from linsep.core.protocol import Solver, Status
from linsep.criteria import Criterion
from linsep.criteria import Squares as SquaresCriterion
from linsep.errors import CapabilityError
from linsep.models.base import LinearClassifier, settled
from linsep.models.fit import Answer, Check, Run, number
from linsep.proofs.certificate import Certificate, judge
from linsep.solvers.one_vs_rest import OneVsRest
from linsep.solvers.squares.ho_kashyap import HoKashyap as HoKashyapSolver
from linsep.solvers.squares.pseudo_inverse import fits, pseudo_inverse


class HoKashyap(LinearClassifier):
    """Least squares with targets that adapt until the plane separates, or provably none does.

    Minimum squared error finds the best a for given targets b. Here b is free, as long as it is
    positive: b <- b + eta (e + |e|) with e = Y a - b, and a = Y^+ b. On separable classes some
    Y a is positive after finitely many steps. Otherwise the errors become negative everywhere,
    and they are multipliers that combine the rows to zero: a proof that nothing separates.

    Parameters
    ----------
    eta : float, default=0.9
        Rate, above 0 and at most 1.
    tol : float, default=1e-6
        Positive errors below tol times the negative ones end the run; the matter is then decided
        by ``linsep.separability``.
    targets : array of shape (n_samples,) or None, default=None
        The first b, positive; None means ones.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
    fit_intercept : bool, default=True
        Whether to have an offset.
    max_iter : int, default=10000
        Limit of steps.
    time_limit : float or None, default=None
        Limit in seconds; the plane so far is kept.
    class_weight : dict, "balanced" or None, default=None
    random_state : default=None
        Taken so that all estimators have it; nothing here is random.
    warm_start : bool, default=False
        Taken so that all estimators have it; b starts afresh.
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
    targets_ : array of shape (n_samples,), or (n_samples, n_classes)
        The last b, in the order of the rows; rows of weight zero are left out.
    n_iter_ : int
        Passes over the data.
    n_updates_ : int
        How often the targets changed.
    status_ : Status
        SEPARATED, INSEPARABLE, or why it stopped without an answer.
    certificate_ : Certificate
        Errors and margin of the plane, or the rows and multipliers that prove that none separates.
        Its ``objective`` is the perceptron criterion, as for all rules that look for a separator;
        the squares at the last targets are ``criterion_.value(model, X, y)``.
    certificates_ : list of Certificate
        With several classes one for each class against the rest.
    solver_used_ : str
        The algorithm and why it was chosen.
    outcome_ : Outcome
        The run: final state, steps, seconds.

    See Also
    --------
    LeastSquares : Targets that stay as they are.
    linsep.separability : The quick way to the same verdict.

    Notes
    -----
    Three classes and more are taken one against the rest, and the largest score decides. A class
    that no plane separates from the rest is no proof that no linear machine exists, so where the
    scores do not separate, ``linsep.separability`` decides: its proof, or its machine, is kept.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("mse-2")
    >>> linsep.HoKashyap().fit(table.X, table.y).status_.name
    'SEPARATED'
    >>> table = linsep.data.load("xor")
    >>> model = linsep.HoKashyap().fit(table.X, table.y)
    >>> model.status_.name, [str(m) for m in model.certificate_.multipliers]
    ('INSEPARABLE', ['1/4', '1/4', '1/4', '1/4'])
    """

    certificate_: Certificate

    _checked_at_the_end: ClassVar[bool] = True
    _checks: ClassVar[dict[str, Check]] = {
        "eta": Check(
            lambda v: number(0, above=True).test(v) and float(v) <= 1.0, "a number > 0 and <= 1"
        ),
        "tol": number(0, above=True),
    }

    def __init__(
        self,
        *,
        eta: float = 0.9,
        tol: float = 1e-6,
        targets: Any = None,
        fit_intercept: bool = True,
        zero: str = "positive",
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
        self.eta = eta
        self.tol = tol
        self.targets = targets
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

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        return None

    def _criterion(self) -> Criterion:
        return SquaresCriterion(self.targets_)

    def _choose(self, problem: Problem) -> tuple[Solver[Any], str]:
        if not fits(problem):
            raise CapabilityError(
                f"HoKashyap needs the pseudo-inverse of {problem.n} x {problem.width} rows, which "
                "is out of reach; Perceptron, LinearSVM and linsep.separability work on such data."
            )
        solver = HoKashyapSolver(eta=float(self.eta), tol=float(self.tol))
        if problem.binary:
            return solver, "Ho-Kashyap (as asked)"
        with np.errstate(all="ignore"):
            pseudo_inverse(problem)  # signs do not matter: one for all parts
        rest: Any = OneVsRest(solver)
        return rest, f"Ho-Kashyap (as asked), {problem.K} classes, one against the rest"

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        """Evidence without a proof, or a plane that touches a row: a verdict settles it."""
        answer = super()._prove(run, solver, outcome, reason)
        if run.problem.binary:
            touches = outcome.status is Status.SEPARATED
            return settled(run, answer) if touches or outcome.status is Status.CONVERGED else answer
        parts = outcome.state.parts
        self.certificates_: list[Certificate] = [
            judge(part, solver.solver.witness(part, at))  # type: ignore[attr-defined]
            for part, at in zip(each_against_rest(run.problem), parts)
        ]
        if answer.certificate.separable:
            return settled(run, replace(answer, outcome=replace(outcome, status=Status.SEPARATED)))
        if all(part.status.done for part in parts):
            return settled(run, replace(answer, outcome=replace(outcome, status=Status.CONVERGED)))
        return answer

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        state = answer.outcome.state
        b = np.column_stack([part.b for part in ([state] if problem.binary else state.parts)])
        self.targets_ = b[:, 0] if problem.binary else b
