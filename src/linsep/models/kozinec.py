"""Kozinec's rule as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import Outcome
from linsep.core.problem import Problem
from linsep.core.protocol import Solver, Status
from linsep.criteria import Criterion
from linsep.criteria import Perceptron as PerceptronCriterion
from linsep.errors import SettingError
from linsep.models.base import separating, settled
from linsep.models.fit import Answer, Check, Run, either, none, number, one_of
from linsep.models.kernel_option import KernelOption, sums_of_witness
from linsep.models.summary import Line, sides
from linsep.numerics.rounding import ROUNDED
from linsep.proofs.certificate import Certificate, judge_sums
from linsep.proofs.feature_space import Sums
from linsep.separating.verdict import decide_with
from linsep.solvers.hulls.kozinec import Kozinec as KozinecSolver
from linsep.solvers.hulls.kozinec import KozinecState


class Kozinec(KernelOption):
    """Kozinec's rule: the plane of (nearly) maximum margin, with bounds of the margin.

    Walks to the points of the two convex hulls that are nearest each other. Every point on
    the way bounds the best margin from above, every plane from below; it ends when the two
    bounds are within eps.

    Parameters
    ----------
    eps : float or None, default=1e-3
        Allowed distance of the bounds, in the units of X. None is the plain rule, which ends
        with the first separating plane.
    space : {"difference", "augmented"}, default="difference"
        "difference" works on differences of rows of the two classes and gives the plane of
        the support vector machine. "augmented" is the lecture's space, where the offset counts
        as a coordinate; its margin is another one. Three classes and more exist only there.
    kernel : str, kernel object, function or None, default=None
        Go to the nearest points of the hulls of the images in the feature space of a kernel, as
        KernelSVM takes it; eps and all margins are then those of that space. None: the rows
        themselves.
    gamma, sigma, degree, coef0 : optional
        Parameters of a kernel given by name.
    steps : {"away", "plain"}, default="away"
        "plain" is Kozinec's step. "away" takes weight from the best row in use and gives it to
        the worst; it converges linearly where the plain step needs thousands of scans.
    start : None, "sample", "random", row or rows, or weights, default=None
        Where the walk begins, a point of each hull. None: the first row with plain steps, with
        away steps the row farthest towards the other side. "sample" is the first row, "random"
        one that ``random_state`` draws, a number is that row of X, and several are their mean;
        an array of n numbers >= 0 are convex weights of the rows. A hull without any begins as
        with None.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
    fit_intercept : bool, default=True
        Whether to have an offset; without one the plane goes through the origin.
    max_iter : int, default=100000
        Limit of scans of the data.
    time_limit : float or None, default=None
        Limit in seconds; the best plane so far is kept.
    random_state : default=None
        Seed of start="random"; nothing else here is random.
    warm_start : bool, default=False
        Start from the nearest points of the last fit, if it had as many rows.
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
        Scans of the data.
    n_updates_ : int
        How often the nearest point moved.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : Certificate
        margin_low and margin_high bound the best margin; in the augmented space
        margin_aug_low and margin_aug_high do.
    solver_used_ : str
        The algorithm and why it was chosen.
    outcome_ : Outcome
        The run: final state, steps, seconds.
    support_, support_vectors_, n_support_, dual_coef_, kernel_
        With a kernel, in place of coef_: f(x) = sum_i dual_coef_i K(x_i, x) + intercept_ over the
        rows whose shares make up the nearest points.

    See Also
    --------
    Perceptron : Any separating plane.
    KernelSVM : With C=inf the same plane of a feature space, for many more rows.
    linsep.separability : Decides whether any plane separates, with a proof.

    Notes
    -----
    A result within eps need not separate when the margin is smaller than eps. The run stays the
    answer, with status EPS_TOO_LARGE, and the words tell the margin that a plane can have. Where
    none separates, ``linsep.separability`` proves it, and the plane of fewest errors is kept.

    With a kernel the rule works on coordinates of the images, a factor of the Gram matrix of all
    rows: memory for n^2 numbers, and n^3 / 3 products at most before the first step.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("mse-1")
    >>> model = linsep.Kozinec(eps=1e-6).fit(table.X, table.y)
    >>> round(model.certificate_.margin_low, 4), round(model.certificate_.margin_high, 4)
    (0.4472, 0.4472)

    XOR in the feature space of (x.z + 1)^2, where the best margin is the square root of 2:

    >>> table = linsep.data.load("xor")
    >>> model = linsep.Kozinec(eps=1e-6, kernel=linsep.kernels.Polynomial(2)).fit(table.X, table.y)
    >>> model.status_.name, round(model.certificate_.margin_low, 4)
    ('CERTIFIED', 1.4142)
    """

    certificate_: Certificate

    _checked_at_the_end: ClassVar[bool] = True
    _checks: ClassVar[dict[str, Check]] = {
        "eps": either(none, number(0, above=True)),
        "space": one_of("difference", "augmented"),
        "steps": one_of("away", "plain"),
        "start": Check(
            lambda v: not isinstance(v, str) or v in ("sample", "random"),
            "None, 'sample', 'random', numbers of rows, or a weight for each row",
        ),
    }

    def __init__(
        self,
        *,
        eps: float | None = 1e-3,
        start: Any = None,
        space: str = "difference",
        steps: str = "away",
        kernel: str | Callable[..., Any] | None = None,
        gamma: Any = None,
        sigma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        zero: str = "positive",
        max_iter: int = 100_000,
        time_limit: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
    ) -> None:
        self.eps = eps
        self.start = start
        self.space = space
        self.steps = steps
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.zero = zero
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv

    def _criterion(self) -> Criterion:
        return PerceptronCriterion()  # 0 where every row is on its own side

    def _plane_solver(self, problem: Problem) -> tuple[Solver[Any], str]:
        solver = KozinecSolver(
            eps=None if self.eps is None else float(self.eps), space=self.space, steps=self.steps
        )
        rule = "Kozinec's rule" if self.steps == "plain" else "Kozinec's rule with away steps"
        if not problem.binary:
            reason = f"{problem.K} classes by Kesler vectors exist in the augmented space only"
        elif not problem.fit_intercept:
            reason = "without intercept the two spaces are one"
        else:
            reason = f"{self.space} space, as asked"
        return solver, f"{rule} ({reason})"

    def _falls_back(self) -> bool:
        return True

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        """Within eps is what the two bounds of the certificate show, whatever the run has seen."""
        answer = super()._prove(run, solver, outcome, reason)
        if outcome.status is not Status.CERTIFIED or self.eps is None:
            return answer
        found: Certificate = answer.certificate
        low, high = found.margin_low, found.margin_high
        if self.space == "augmented" or not run.problem.binary:
            low, high = found.margin_aug_low, found.margin_aug_high
        if found.separable is None:  # a plane that separates nothing has no margin to be known
            return answer
        eps = float(self.eps) + ROUNDED * low  # rounding alone keeps the bounds apart by so much
        return replace(answer, status=found.settle(Status.CERTIFIED, high - low, eps))

    def _prove_plane(
        self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str
    ) -> Answer:
        """A plane that does not separate is settled by a proof: none does, or one is offered."""
        answer = super()._prove_plane(run, solver, outcome, reason)
        if outcome.status not in (Status.STALLED, Status.CERTIFIED):
            return answer
        assert isinstance(solver, KozinecSolver)
        return settled(run, answer, solver.best(run.lent, outcome.state))

    def _judge(self, problem: Problem, sums: Sums) -> Certificate:
        return judge_sums(problem, self._kernel, sums)

    def _settle_sums(self, run: Run, solver: Any, answer: Answer) -> Answer:
        """The same in a feature space."""
        found, outcome = answer.certificate, answer.outcome
        if outcome.status in (Status.STALLED, Status.CERTIFIED) and found.separable is None:
            proof = decide_with(run.problem, self._kernel)
            if proof.separable is False:
                images = solver.images(run.lent)
                witness = solver.sums(images, solver.solver.best(images.problem, outcome.state))
                found = self._judge(run.problem, sums_of_witness(run.problem, witness))
                outcome = replace(outcome, witness=witness)
                return separating(outcome, found.refuted_by(proof), answer.reason)
            if proof.separable:
                reason = f"{answer.reason}; {proof}, by linsep.separability(X, y, kernel=...)"
                return separating(outcome, found, reason)
        return separating(outcome, found, answer.reason)

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        if self.warm_start and hasattr(self, "outcome_"):
            state = self.outcome_.state
            if isinstance(state, KozinecState) and state.n_rows == problem.n_rows:
                return state.weights()
        return self._first_shares(problem)

    def _first_shares(self, problem: Problem) -> NDArray[np.float64] | None:
        """Convex weights of the rows where ``start`` asks to begin."""
        if self.start is None:
            return None
        shares, hulls = np.zeros(problem.n), self._hulls(problem)
        if isinstance(self.start, str):
            draw = np.random.default_rng(self._seed())
            for hull in hulls:
                shares[hull[0] if self.start == "sample" else draw.choice(hull)] = 1.0
        else:
            shares = _shares_of(self.start, problem)
        if problem.binary:
            return shares
        places = np.zeros(problem.n_rows)  # of three classes, the first vector of a row
        places[:: problem.K - 1] = shares
        return places

    def _hulls(self, problem: Problem) -> list[NDArray[np.intp]]:
        """The rows of each hull."""
        two = self.space == "difference" and problem.binary and problem.fit_intercept
        if not two:
            return [np.arange(problem.n)]
        return [np.flatnonzero(problem.sign > 0), np.flatnonzero(problem.sign < 0)]

    def _facts(self) -> list[Line]:
        return [
            (name, text.replace("the units of X", "the feature space"))
            for name, text in sides(self.certificate_)
        ]


def _shares_of(start: Any, problem: Problem) -> NDArray[np.float64]:
    """Weights of the rows of the problem, from numbers of rows or weights of all rows given."""
    index = np.arange(problem.n) if problem.row_index is None else problem.row_index
    try:
        given = np.asarray(start)
    except ValueError:  # lists of different lengths
        given = np.asarray(None)
    if given.dtype.kind in "iu" and given.ndim <= 1 and given.size:
        bad = np.setdiff1d(given, index)
        if len(bad):
            raise SettingError(
                f"start names row {bad[0]}, which is none of the {problem.n} rows of the fit."
            )
        return np.bincount(np.searchsorted(index, np.ravel(given)), minlength=problem.n).astype(
            float
        )
    whole = given.dtype.kind == "f" and given.ndim == 1 and given.size > index[-1]
    if not whole or not (given >= 0).all() or not given.any() or not np.isfinite(given).all():
        raise SettingError(
            f"start={start!r:.60} is no point of the hull: Kozinec's rule begins at rows, or at a "
            'convex combination of them. Give "sample", "random", numbers of rows, or a weight '
            ">= 0 for each row."
        )
    return np.asarray(given[index], dtype=np.float64)
