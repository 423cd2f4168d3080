"""Minimum squared error as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from sklearn.utils.validation import check_is_fitted

from linsep.core.costs import EXACT_ENTRIES, GRAM_COLUMNS, PLANE, PRODUCT, UNASKED, VERDICT
from linsep.core.drive import Outcome
from linsep.core.lanes import Lanes, one_blas_thread
from linsep.core.limits import Limits, spare_time
from linsep.core.notes import warn
from linsep.core.parts import Stream
from linsep.core.problem import Problem
from linsep.core.protocol import Solver, Status, Witness
from linsep.core.words import count, misplaced, percent
from linsep.criteria import Criterion
from linsep.criteria import Squares as SquaresCriterion
from linsep.errors import (
    CapabilityError,
    DataError,
    GapWarning,
    ModelError,
    NotSeparatedWarning,
    SettingError,
)
from linsep.models.base import refuse_overflow
from linsep.models.fit import (
    GOES_ON,
    Answer,
    Check,
    Run,
    either,
    function,
    left_out,
    none,
    number,
    one_of,
    row_weights,
    rows_to_judge,
    way_on,
)
from linsep.models.kernel_base import space_words
from linsep.models.kernel_option import KernelOption
from linsep.models.parts import PartsRun, answered, fit_in_parts, no_stream
from linsep.models.summary import Line, bounds, known_rule, work
from linsep.proofs.definite import definite
from linsep.proofs.feature_space import Sums
from linsep.proofs.kernel import KernelGap
from linsep.proofs.kernel_losses import squares_sums
from linsep.proofs.parts_planes import stream_squares
from linsep.proofs.plain import require_same
from linsep.proofs.separable import Proof
from linsep.proofs.squares import (
    Squares,
    measure_squares,
    products_seconds,
    rational_squares,
    rounded,
)
from linsep.rows.loops import scatter
from linsep.rows.normal import aims, columns_of, gram, totals
from linsep.separating.verdict import decide
from linsep.solvers.first import FirstState, first_model
from linsep.solvers.schedule import Schedule
from linsep.solvers.squares.conjugate import ConjugateSquares
from linsep.solvers.squares.gradient import GradientSquares, spectrum
from linsep.solvers.squares.normal import ExactSquares, RidgeSquares, SquaresParts
from linsep.solvers.squares.pseudo_inverse import PseudoInverse, fits, pseudo_inverse
from linsep.solvers.squares.widrow_hoff import WidrowHoff, longest_row

_REPORT_ROW = 4e-8  # seconds of a row in the report of all rows, beside products with its entries,
_REPORT_PASSES = 6  # of which there are as many
_CORRECTED = 4  # times that a plane of a stream is corrected and proved again, at most
_DECIDE = UNASKED / VERDICT  # entries up to which a plane that does not separate is looked into


@dataclass(frozen=True)
class SquaresAnswer(Answer):
    """The plane of least squares with what is known around it."""

    factors: PseudoInverse | None = None
    proof: Proof | None = None
    """Whether another plane separates where this one does not."""


class LeastSquares(KernelOption):
    """Minimum squared error: Y a = b as well as it can be done.

    Minimises J(a) = sum_i s_i (y_i (w.x_i + b_0) - b_i)^2 for targets b_i > 0; with several
    classes there is one column of targets a class, b_i for the own class and -b_i for the others.
    Of all minimisers the shortest is taken, the offset counted: a = Y^+ b.

    It need not separate, even if some plane does: rows that are right by far are punished as much
    as wrong ones. So the fit says whether all values y f(x) are positive, which rows are not, and
    which rows are outliers that bend the plane.

    With ``kernel`` it minimises J + |w|^2 / C over sums in the feature space: kernel least squares,
    also known as kernel ridge or least squares support vector machine.

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
    kernel : str, kernel object, function or None, default=None
        Work on the images in the feature space of a kernel, as KernelSVM takes it. None: on the
        rows themselves.
    gamma, sigma, degree, coef0 : optional
        Parameters of a kernel given by name.
    C : float or None, default=None
        With a kernel: cost of the squares against |w|^2, in whose feature space nearly all targets
        could be met exactly; None means 1. scikit-learn's ``alpha`` is 1 / C. The offset is not
        penalised.
    start : (coef, intercept), "random" or None, default=None
        Of the iterative solvers; None is zero.
    tol : float, default=1e-6
        Gap of J that is to be proved, relative to the J of zero weights.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
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
    dependent_ : dict of str
        Columns that are combinations of others, up to rounding, and of which; the constant column
        is "1", and the first columns are kept. With near-combinations the words begin with
        "nearly". Empty where all are independent, or where there are more columns than rows.
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
        On tables of a lecture's size that the plane does not separate: whether another plane
        would. ``linsep.separability`` answers it for any table.
    solver_used_ : str
        The algorithm and why it was chosen.
    outcome_ : Outcome
        The run: final state, steps, seconds.
    support_, support_vectors_, n_support_, dual_coef_, kernel_
        With a kernel, in place of coef_: f(x) = sum_i dual_coef_i K(x_i, x) + intercept_, over
        rows that span the images of all; certificate_ is then a KernelGap.

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

    XOR, with the kernel (x.z + 1)^2:

    >>> table = linsep.data.load("xor")
    >>> kernel = linsep.kernels.Polynomial(2)
    >>> model = linsep.LeastSquares(kernel=kernel, C=10.0).fit(table.X, table.y)
    >>> model.status_.name, model.decision_function(table.X).round(4).tolist()
    ('SEPARATED', [0.9877, 0.9877, -0.9877, -0.9877])
    """

    certificate_: Squares
    """With a kernel a KernelGap."""

    _checked_at_the_end: ClassVar[bool] = True
    _scores_held: ClassVar[int] = 8
    _checks: ClassVar[dict[str, Check]] = {
        "solver": one_of("exact", "gradient", "widrow-hoff"),
        "eta": either(none, number(0, above=True)),
        "decay": either(none, one_of("constant", "inverse"), function),
        "order": one_of("cyclic", "shuffle"),
        "C": either(none, number(0, above=True)),
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
        kernel: str | Callable[..., Any] | None = None,
        gamma: Any = None,
        sigma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        C: float | None = None,
        tol: float = 1e-6,
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
        self.solver = solver
        self.targets = targets
        self.eta = eta
        self.decay = decay
        self.order = order
        self.start = start
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.tol = tol
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

    # -- fit ------------------------------------------------------------------------------

    def _criterion(self) -> Criterion:
        return SquaresCriterion(self.targets)

    @property
    def _cost(self) -> float:
        """C, of a machine with a kernel."""
        return 1.0 if self.C is None else float(self.C)

    def _guard(self, problem: Problem) -> None:
        self._refuse_idle_settings()
        if self.kernel is None:
            return
        if not self._cost < 1e100:
            raise SettingError(
                f"C={self.C:g}: with a kernel nearly all targets can be met exactly, so that a "
                "penalty is needed; C=1e6 comes close."
            )
        self._refuse_indefinite(problem)

    def _plane_solver(self, problem: Problem) -> tuple[Solver[Any], str]:
        if self.kernel is not None:
            columns = "" if problem.binary else f"; {problem.K} classes, one column each"
            solver: Any = RidgeSquares(self._cost)
            return solver, f"normal equations with |w|^2 / {self._cost:.6g}{columns}"
        return choose_squares(
            problem, self.solver, eta=self.eta, decay=self.decay, order=self.order,
            tol=float(self.tol), seed=self._seed(),
        )  # fmt: skip

    def _fit_stream(self, stream: Stream, checkpoint: str | Path | None) -> None:
        self._check_settings()
        self._refuse_idle_settings()
        if self.kernel is not None:
            raise no_stream(self)
        if self.solver != "exact" or self.targets is not None:
            name = "targets" if self.targets is not None else "solver"
            raise CapabilityError(
                f"{name}={getattr(self, name)!r:.40} is for tables; streams are fitted by "
                "solver='exact', from one pass, and their targets are 1."
            )
        fit_in_parts(self, stream, checkpoint, answered, widest=GRAM_COLUMNS)

    def _answer_parts(self, run: PartsRun[Any]) -> Answer:
        solver, limits = SquaresParts(), Limits(steps=self.max_iter)
        outcome = run.drive(solver, None, limits)
        for _ in range(_CORRECTED):
            proof = partial(stream_squares, run.problem, outcome.witness.a)
            found = run.proved(outcome, proof)
            if not found.finite:
                raise DataError(
                    f"{run.problem.stream.name}: numbers so large that sums of squares overflow; "
                    "scale the columns."
                )
            if found.relative_gap <= self.tol or outcome.status is not Status.CERTIFIED:
                break
            outcome.state.status = Status.RUNNING  # rounding has left more than was expected
            outcome = run.go_on(solver, outcome.state, limits)
        status = found.settle(outcome.status, self.tol)
        outcome = replace(outcome, certificate=found)
        reason = f"normal equations, from one pass ({run.words})"
        return SquaresAnswer(outcome.witness, found, status, outcome, reason)

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        rows = problem.n if solver.unit == "visit" else 1
        return Limits(steps=self.max_iter * rows)

    def _refuse_idle_settings(self) -> None:
        """A setting without effect is a misunderstanding: say so."""
        idle = {
            "eta": self.solver == "exact" and self.eta is not None,
            "decay": self.solver == "exact" and self.decay is not None,
            "start": self.solver == "exact" and self.start is not None,
            "order": self.solver != "widrow-hoff" and self.order != "cyclic",
        }
        if self.kernel is None and self.C is not None:
            raise SettingError(
                f"C={self.C!r} has no effect without a kernel: least squares of planes has no "
                "penalty; leave it out, or give kernel='linear'."
            )
        if self.kernel is not None and self.solver != "exact":
            raise CapabilityError(
                f"solver={self.solver!r} works on the columns of X; with a kernel there is "
                "solver='exact'."
            )
        for name, is_idle in idle.items():
            if is_idle:
                raise SettingError(
                    f"{name}={getattr(self, name)!r} has no effect with solver={self.solver!r}; "
                    f"leave it out, or choose solver="
                    f"{'widrow-hoff' if name == 'order' else 'gradient'!r}."
                )

    def _judge(self, problem: Problem, sums: Sums) -> KernelGap:
        """Bounds for sums over kernel values."""
        known = definite(problem, None if self._precomputed else self._kernel)
        where = space_words(self._kernel, known, free=bool(self.fit_intercept))
        words = f"sum of s (y f(x) - b)^2 + |w|^2 / {self._cost:.6g} {where}"
        bounded = self._pairs_seconds(problem) <= spare_time()
        return squares_sums(problem, self._kernel, sums, self._cost, words, bounded=bounded)

    def _settle_sums(self, run: Run, solver: Any, answer: Answer) -> Answer:
        """In a feature space: what is proved is the last word."""
        found, outcome = answer.certificate, answer.outcome
        if not found.relative_gap <= self.tol and self._pairs_seconds(run.problem) > spare_time():
            outcome = left_out(outcome)
        status = found.settle(outcome.status, self.tol)
        if status is Status.CERTIFIED and found.errors == 0:
            status = Status.SEPARATED
        return SquaresAnswer(answer.witness, found, status, outcome, answer.reason)

    def _prove_plane(
        self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str
    ) -> Answer:
        """How far J is from the least one; on small tables in fractions."""
        problem, witness = run.problem, outcome.witness
        factors = self._factors(run.lent)  # a basis is a witness: the proof checks what it needs
        if self.solver == "exact" and outcome.status is Status.DIVERGED:
            refuse_overflow(problem)
        known = rational_squares(problem) if np.isfinite(witness.a).all() else None
        basis = None
        if factors is not None and not factors.by_rows:
            basis = factors.half / factors.scale[:, None]
        exact = None
        if known is not None and self.solver == "exact":
            exact = replace(witness, a=rounded(problem, known))
        left = spare_time()
        certificate = measure_squares(
            problem, exact or witness, known=known, basis=basis, seconds=left
        )
        if exact is not None and not certificate.relative_gap <= self.tol:
            # where columns nearly depend on each other, rounded fractions can be far worse
            other = measure_squares(problem, witness, known=known, basis=basis, seconds=left)
            if other.relative_gap < certificate.relative_gap or not certificate.finite:
                exact, certificate = None, other
        if exact is not None:
            witness, reason = exact, "fractions (a small table)"
        if not certificate.finite:
            refuse_overflow(problem)
        if factors is not None and self.solver == "exact":
            reason = reason.replace("normal equations", factors.words)
        if products_seconds(problem) > left and not certificate.relative_gap <= self.tol:
            outcome = left_out(outcome)
        status = certificate.settle(outcome.status, self.tol)
        proof = self._verdict(run, certificate)
        if proof is not None and proof.separable is False:
            certificate = certificate.refuted_by(proof)
        outcome = replace(outcome, witness=witness, certificate=certificate)
        return SquaresAnswer(witness, certificate, status, outcome, reason, factors, proof)

    def _proof_seconds(self, problem: Problem) -> float:
        seconds = super()._proof_seconds(problem)
        more = products_seconds if self.kernel is None else self._pairs_seconds
        return seconds + more(problem)

    def _falls_back(self) -> bool:
        return True

    def _first_weights(self, problem: Problem, seconds: float) -> Array:
        def cost(sample: Problem, a: Array) -> float:
            scores = sample.scores(a)
            own = sample.label[:, None] == np.arange(sample.K)
            values = sample.sign * scores if sample.binary else np.where(own, scores, -scores)
            asked = 1.0 if sample.targets is None else sample.targets
            return float(sample.weight @ ((asked - values) ** 2).reshape(sample.n, -1).sum(axis=1))

        return first_model(problem, cost, seconds)

    def _prove_first(self, problem: Problem, outcome: Outcome[Any], reason: str) -> Answer:
        certificate = measure_squares(problem, outcome.witness, seconds=spare_time())
        if not certificate.finite:
            refuse_overflow(problem)
        status = certificate.settle(outcome.status, self.tol)
        outcome = replace(outcome, certificate=certificate)
        return SquaresAnswer(outcome.witness, certificate, status, outcome, reason, None, None)

    def _factors(self, problem: Problem) -> PseudoInverse | None:
        """The factorisation, where there is one or it costs next to nothing."""
        if not fits(problem) or not (self.solver == "exact" or _report_is_cheap(problem)):
            return None
        found = pseudo_inverse(problem)
        if not np.isfinite(found.half).all():
            refuse_overflow(problem)
        return found

    def _verdict(self, run: Run, certificate: Squares) -> Proof | None:
        """On small tables: whether another plane separates where this one does not."""
        problem = run.problem
        entries = problem.n * problem.d
        if certificate.errors == 0 or entries > _DECIDE or entries * _words(problem) > _DECIDE:
            return None
        with suppress(ArithmeticError):  # numbers at the ends of the range: no verdict then
            return decide(problem)
        return None

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        assert isinstance(answer, SquaresAnswer)
        if self.kernel is not None:
            for name in ("proof_", "rank_", "condition_", "dependent_", "outliers_", "_report"):
                self.__dict__.pop(name, None)
            return
        factors, self.proof_ = answer.factors, answer.proof
        self.rank_ = None if factors is None else factors.rank
        self.condition_ = None if factors is None else factors.condition
        self.dependent_ = {} if factors is None else _dependent(problem, factors)
        self._report: RowReport | None = None
        if factors is not None and _report_is_cheap(problem) and answer.status.ok:
            self._report = row_report(problem.lent, answer.witness.a)
        self.outliers_ = None if self._report is None else self._report.outliers

    def _warn(self, problem: Problem, answer: Answer) -> None:
        status, found = answer.status, answer.certificate
        unit = "squared targets of the " if self.kernel is None else ""
        direct = self.solver == "exact" and answer.outcome.state.n_updates == 0
        again = "fit(X, y) begins anew." if direct else GOES_ON
        if not status.ok:
            warn(
                f"{status.value} ({status.name}, {count(self.n_iter_, 'pass')}). "
                f"The cost {found.objective:.6g} is proved to be within "
                f"{percent(found.relative_gap, 3)} of the {unit}least one; "
                f"tol asks for {percent(self.tol, 3)}. "
                f"{way_on(answer.outcome, self._advice(problem) + '.', again)}",
                GapWarning,
            )
        elif self.kernel is None and self.proof_ is not None and self.proof_.separable:
            rows = ", ".join(map(str, found.wrong_rows[:8]))
            warn(
                f"the classes are separable ({self.proof_}), but the plane of least squares leaves "
                f"{found.errors} of {problem.n} rows on the wrong side ({rows}"
                f"{', ...' if found.errors > 8 else ''}). Squares also punish rows that are right "
                "by far. Take HoKashyap, Perceptron or LinearSVM, or larger targets for the rows "
                "in outliers_ that are far on their own side.",
                NotSeparatedWarning,
            )

    def _advice(self, problem: Problem) -> str:
        """What to do about a run without an answer."""
        if self.kernel is not None:
            return "Take a smaller C, scale the columns, or raise max_iter or time_limit"
        state = self.outcome_.state
        unusable = unsquarable_words(problem, self.solver) if self.solver != "exact" else None
        if unusable is not None:
            return unusable
        if self.status_ is Status.DIVERGED and self.solver != "exact":
            return too_fast_words(problem, self.solver, state.rate)
        if self.status_ is Status.LIMIT_CYCLE:
            return "Take decay=None, which falls like 1 / k, or solver='exact'"
        if isinstance(state, FirstState):
            return "Raise time_limit"
        if self.solver == "widrow-hoff":
            words = slow_words(problem, state.rate, self.decay, max(self.outcome_.passes, 2.0))
            if words is not None:
                return words
        if self.solver == "exact" and self.outcome_.status is not Status.STEP_LIMIT:
            return "The columns nearly depend on each other; leave some out, or scale them"
        if self.solver == "exact":
            return "Scale the columns, or raise max_iter"
        eigen = spectrum(problem.lent)
        ratio = "" if np.isnan(eigen.smallest) else (
            f" (lambda_max / lambda_min = {eigen.largest / eigen.smallest:.3g})"
        )  # fmt: skip
        return f"Scale the columns{ratio}, raise max_iter, or take solver='exact'"

    def _settle(self, status: Status) -> Status:
        """For traces: a claimed minimum is called that."""
        return status

    # -- what the plane says about its weights and its rows --------------------------------

    def exact_coefficients(self) -> tuple[Any, Any]:
        """The minimiser of least length in fractions: coefficients and offset.

        With several classes lists of them, one for each class. Raises ModelError where the table
        was too large for fractions.
        """
        check_is_fitted(self)
        self._refuse_kernel("exact coefficients")
        weights = self.certificate_.weights
        if not weights:
            raise ModelError(
                "this model has no exact coefficients: fractions are computed for tables of at "
                f"most {EXACT_ENTRIES} entries and 20 columns. coef_ and intercept_ are correct up "
                "to the relative_gap of certificate_."
            )
        zero = Fraction(0)
        coef = [list(column[: self.n_features_in_]) for column in weights]
        offset = [column[-1] if self.fit_intercept else zero for column in weights]
        return (coef[0], offset[0]) if len(weights) == 1 else (coef, offset)

    def report(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> RowReport:
        """Value, residual, leverage and influence of every row.

        Without arguments of the rows of the last fit; large data have to be given again. After
        ``linsep.load`` they have to be given as well.
        """
        check_is_fitted(self)
        self._refuse_kernel("a report of the rows")
        if X is None:
            kept: RowReport | None = getattr(self, "_report", None)
            if kept is None:
                raise SettingError(
                    "the report was not computed in fit (a large table, or a model from a file); "
                    "give the rows: report(X, y)."
                )
            return kept
        problem = self._again(X, y, sample_weight)
        if not fits(problem):
            raise SettingError(
                f"leverages of {problem.n} x {problem.d} data are out of reach; take fewer columns."
            )
        return row_report(problem.lent, problem.join(self.coef_, self.intercept_))

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> Squares | KernelGap:
        """What is proved about these weights on the given rows; ``linsep.certify`` calls it."""
        if self.kernel is not None:
            found: KernelGap = super().certificate_for(X, y, sample_weight)
            return found
        problem = self._again(X, y, sample_weight)
        a = problem.join(self.coef_, self.intercept_)
        basis = None
        if fits(problem):
            factors = pseudo_inverse(problem.lent)  # a basis is a witness
            basis = None if factors.by_rows else factors.half / factors.scale[:, None]
        known = rational_squares(problem)
        return measure_squares(problem, Witness(a=a), known=known, basis=basis)

    def _refuse_kernel(self, what: str) -> None:
        if self.kernel is not None:
            raise CapabilityError(f"a model with a kernel has no {what}: it has no columns.")

    def _again(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """A problem of rows that fit this model."""
        check_is_fitted(self)
        X = rows_to_judge(self, X)
        problem = Problem(
            X,
            y,
            sample_weight=row_weights(self.class_weight, np.asarray(y), sample_weight),
            fit_intercept=self.fit_intercept,
            targets=self.targets,
        )
        require_same(problem, X, y, sample_weight, self.class_weight)
        if not np.array_equal(problem.classes, self.classes_):
            raise ModelError(
                f"y holds the classes {problem.classes.tolist()}; the model was trained on "
                f"{self.classes_.tolist()}."
            )
        return problem

    def _facts(self) -> list[Line]:
        gap: Any = self.certificate_
        sides = ("separates", misplaced(gap.errors))
        return [("minimised", gap.words), *bounds(gap), sides]

    def _told(self) -> list[Line]:
        if self.kernel is not None:
            return super()._told()
        lines = [
            ("algorithm", self.solver_used_),
            *work(getattr(self, "outcome_", None)),
            ("minimised", "sum of s (y f(x) - b)^2"),
            ("cost", _cost(self.certificate_)),
            ("separates", _sides(self)),
        ]
        if getattr(self, "rank_", None) is not None:
            lines.append(("columns", _columns(self)))
        lines += [("outlier", line) for line in _outliers(self)]
        return [*lines, *known_rule(self, _away(self), offset=True)]


def _report_is_cheap(problem: Problem) -> bool:
    """Whether a report of the rows takes no more than what a fit may spend unasked."""
    width = float(problem.width)
    entries = width * (_REPORT_PASSES * PLANE + 2.0 * PRODUCT * width)
    return problem.n * (_REPORT_ROW + entries) <= UNASKED


def _words(problem: Problem) -> int:
    """Words of 53 bits that hold a number, where all are whole multiples of the same."""
    X = problem.matrix.data if problem.sparse else problem.matrix
    exponents = np.frexp(X[X != 0])[1]
    return 1 + int(np.ptp(exponents)) // 53 if exponents.size else 1


def _away(model: LeastSquares) -> float:
    """How far weights are from those of the least cost, where these are known as fractions."""
    exact = getattr(model.certificate_, "weights", ())
    if not exact or getattr(model, "rank_", None) != len(exact[0]):
        return 0.0  # or they are not the only ones
    given = np.column_stack([model.coef_, model.intercept_]).tolist()
    pairs = (zip(ours, best) for ours, best in zip(given, exact))
    return float(max(abs(Fraction(a) - b) for pair in pairs for a, b in pair))


# -- Which solver for which least-squares problem, and why ----------------------------------------


_USELESS = 0.5  # exponent of k below which eta(1) / k is called useless


def choose_squares(
    problem: Problem, name: str, *, eta: Any, decay: Any, order: str, tol: float, seed: int
) -> tuple[Solver[Any], str]:
    """The solver and the reason in words."""
    columns = "" if problem.binary else f"; {problem.K} classes, one column each"
    solver: Any
    if name == "exact":
        if fits(problem):
            return ExactSquares(), f"normal equations (as asked){columns}"
        size = f"{problem.n} x {problem.width}"
        solver = ConjugateSquares(tol=0.5 * tol)
        return solver, f"conjugate gradients ({size} is too large for a factorisation){columns}"
    schedule = Schedule(1.0 if eta is None else float(eta), "constant" if decay is None else decay)
    auto = eta is None
    if name == "gradient":
        solver = GradientSquares(schedule, auto, tol, seed)
        rate = "eta = 1 / lambda_max" if auto else f"eta = {schedule.eta:.4g}"
        return solver, f"gradient descent, {rate} (as asked){columns}"
    slow = decay is None and auto
    solver = WidrowHoff(schedule, auto, slow, order, tol, seed)
    rate = "eta = 1 / max s|z|^2" if auto else f"eta = {schedule.eta:.4g}"
    return solver, f"Widrow-Hoff, {order} order, {rate} (as asked){columns}"


def unsquarable_words(problem: Problem, name: str) -> str | None:
    """What to do about columns whose squares leave the range of float64; None if they do not."""
    top = _curvature(problem, name)
    if 0.0 < top < np.inf:
        return None
    return f"The columns are too {'large' if top > 0.0 else 'small'} to be squared; scale them"


def _curvature(problem: Problem, name: str) -> float:
    """1 over the rate that is always small enough."""
    return float(spectrum(problem).largest if name == "gradient" else longest_row(problem))


def too_fast_words(problem: Problem, name: str, eta: Any) -> str:
    """Why it diverged and what to do."""
    top = _curvature(problem, name)
    if name == "gradient":
        return (
            f"eta = {eta:.6g} is too large: gradient steps converge for eta < 2 / lambda_max = "
            f"{2 / top:.6g}. Give a smaller eta, or None for 1 / lambda_max = {1 / top:.6g}"
        )
    return (
        f"eta = {eta:.6g} is too large: steps of one row are safe for eta < 2 / max s|z|^2 = "
        f"{2 / top:.6g}. Give a smaller eta, or None for a safe one"
    )


def slow_words(problem: Problem, rate: float, decay: Any, passes: float) -> str | None:
    """What eta(1) / k can reach; None where it can reach enough."""
    least = spectrum(problem).smallest
    exponent = rate * least / problem.n
    if decay != "inverse" or not np.isfinite(exponent) or exponent >= _USELESS:
        return None
    left = (passes * problem.n) ** -exponent
    return (
        f"eta(k) = {rate:.3g} / k shrinks the slowest error like k^-{exponent:.2g}: after "
        f"{count(passes, 'pass', spec='.4g')} {percent(left, 3)} of it are left. Take decay=None, "
        "solver='gradient' or 'exact'"
    )


# -- How much single rows pull a plane of least squares -------------------------------------------
#
# With the hat matrix H = W W^+ of the weighted rows, p its rank and e the errors y f(x) - b:
#
# leverage           h_i = H_ii in [0, 1]: how much of its own target a row makes true
# standardised       r_i = e_i sqrt(s_i) / sqrt(J / (n - p) (1 - h_i))
# Cook's distance    r_i^2 h_i / (p (1 - h_i)): how far all scores move when the row is left out
# left out           b_i + e_i / (1 - h_i): y f(x) of the row under the plane of all others
#
# A row is called an outlier when |r| > 3 or Cook's distance > 1. One whose value when left out is
# above its target needs no attention at all and yet bends the plane: squares punish being too
# right.


Array = NDArray[np.float64]

STANDARDISED = 3.0
COOK = 1.0
_ONE = 1e-9  # 1 - h below this is a row that alone fixes a weight


@dataclass(frozen=True)
class RowReport:
    """What each row has to do with the plane; one entry a row of positive weight."""

    row: NDArray[np.int64]
    """Number in the caller's X."""
    value: Array
    """y f(x); with several classes the lead over the best rival."""
    target: Array
    residual: Array
    """value - target; with several classes the length of the errors of all columns."""
    leverage: Array
    standardised: Array
    cook: Array
    left_out: Array
    """Value when the row is left out; NaN with several classes."""
    outlier: NDArray[np.bool_]
    rank: int
    length: float = np.nan
    """|w|; NaN with several classes."""
    length_aug: float = np.nan
    """|[w, b]|, the length in the augmented space."""

    @property
    def distance(self) -> Array:
        """Signed distance of each row from the plane, positive on its own side: value / |w|."""
        return self.value / self.length

    @property
    def target_distance(self) -> Array:
        """How far from the plane each row was asked to be, in the units of X: target / |w|."""
        return self.target / self.length

    @property
    def target_distance_aug(self) -> Array:
        """The same in the augmented space, as the lecture writes it: target / |a|."""
        return self.target / self.length_aug

    @property
    def wrong(self) -> NDArray[np.int64]:
        """Rows that are not on their own side."""
        return self.row[self.value <= 0]

    @property
    def outliers(self) -> NDArray[np.int64]:
        """Rows called outliers, the most influential first."""
        found = np.flatnonzero(self.outlier)
        return self.row[found[np.argsort(-self.cook[found], kind="stable")]]

    def kind(self, place: int) -> str:
        """What is remarkable about an entry, in words; empty for most."""
        if not self.outlier[place]:
            return "" if self.value[place] > 0 else "wrong side"
        if self.value[place] <= 0:
            return "outlier on the wrong side"
        if self.left_out[place] > self.target[place]:
            return "outlier, too right: it bends the plane although it needs no help"
        return "outlier"

    def frame(self) -> Any:
        """All entries as a pandas DataFrame."""
        from linsep.errors import require

        pandas = require("pandas", extra="all")
        columns = (
            "value", "target", "residual", "leverage", "standardised", "cook", "left_out",
            "distance", "target_distance",
        )  # fmt: skip
        data = {name: getattr(self, name) for name in columns}
        data |= {"outlier": self.outlier, "kind": [self.kind(i) for i in range(len(self.row))]}
        return pandas.DataFrame(data, index=pandas.Index(self.row, name="row"))

    def __len__(self) -> int:
        return len(self.row)

    def lines(self, most: int = 50) -> Iterator[str]:
        """A table, remarkable rows first where there are too many."""
        order = np.arange(len(self.row))
        if len(order) > most:
            order = np.lexsort((-self.cook, ~self.outlier))[:most]
        yield (
            f"{'row':>6} {'value':>11} {'target':>9} {'leverage':>9} {'residual/sd':>11} "
            f"{'Cook':>9} {'left out':>11}"
        )
        for i in order:
            yield (
                f"{self.row[i]:>6} {self.value[i]:>11.5g} {self.target[i]:>9.4g} "
                f"{self.leverage[i]:>9.4f} {self.standardised[i]:>11.4g} {self.cook[i]:>9.3g} "
                f"{self.left_out[i]:>11.5g}  {self.kind(int(i))}"
            ).rstrip()
        if len(self.row) > most:
            yield f"... {len(self.row) - most} more rows"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def row_report(problem: Problem, a: Array) -> RowReport:
    """Leverage, residuals and influence of all rows at the weights a."""
    inverse = pseudo_inverse(problem)
    A, T = columns_of(problem, a), aims(problem)
    errors = totals(problem, A, T).residual
    h = np.clip(_leverage(problem, inverse), 0.0, 1.0)
    rest = 1.0 - h
    p, K = inverse.rank, T.shape[1]
    target = np.abs(T[:, 0])
    with np.errstate(all="ignore"):
        freedom = problem.n - p
        squares = problem.weight * (errors**2).sum(axis=1) / K
        variance = squares.sum() / freedom if freedom > 0 else 0.0
        meant = rest > _ONE
        noise = 1e-24 * float((problem.weight * target**2).sum())
        known = meant & (variance * max(freedom, 1) > noise)
        r = np.where(known, np.sqrt(squares / (variance * rest)), 0.0)
        cook = np.where(known, r**2 * h / (max(p, 1) * rest), 0.0)
        if problem.binary:
            residual = problem.sign * errors[:, 0]
            r, value = np.copysign(r, residual), target + residual
            left_out = np.where(meant, target + residual / rest, np.nan)
        else:
            residual = np.sqrt((errors**2).sum(axis=1))
            value = problem.values(a).reshape(problem.n, -1).min(axis=1)
            left_out = np.full(problem.n, np.nan)
    outlier = (np.abs(r) > STANDARDISED) | (cook > COOK)
    index = np.arange(problem.n) if problem.row_index is None else problem.row_index
    lengths = (np.nan, np.nan)
    if problem.binary:
        lengths = float(np.linalg.norm(a[: problem.d])), float(np.linalg.norm(a))
    return RowReport(index, value, target, residual, h, r, cook, left_out, outlier, p, *lengths)


def _leverage(problem: Problem, inverse: PseudoInverse) -> Array:
    if inverse.by_rows:
        vectors = inverse.half / np.linalg.norm(inverse.half, axis=0)
        return np.asarray((vectors**2).sum(axis=1))
    P = np.asarray(inverse.half / inverse.scale[:, None])
    out = np.empty(problem.n)
    lanes = Lanes(problem.matrix, double=True, scatter=scatter)

    def lane(k: int) -> None:
        for lo, hi, block in lanes.blocks(k):
            rows = block @ P[: problem.d]
            if problem.fit_intercept:
                rows += P[-1]
            out[lo:hi] = np.einsum("ij,ij->i", rows, rows)

    with one_blas_thread():
        lanes.each(lane)
    return np.asarray(out * problem.weight)


# -- A fitted plane of least squares in words -----------------------------------------------------


_APART = 1e-9  # of the squared length of a column: less is left of a dependent one
_ILL = 1e7  # condition beyond which columns are nearly dependent
_NAMED = 400  # columns up to which dependent ones are looked for
_TERMS = 4  # of a combination that is written out
_SHOWN_DEPENDENT = 5


def _cost(found: Squares) -> str:
    if found.minimum is not None:
        text = str(found.minimum)
        exactly = text if len(text) <= 30 else f"{float(found.minimum):.8g}"
        if found.relative_gap > 1e-9:
            return f"{found.objective:.8g}; the least possible is {exactly}"
        return f"{found.objective:.8g}, and {exactly} is the least possible (in fractions)"
    reach = "" if np.isinf(found.reach) else f" up to {found.reach:g} times as large"
    return f"{found.objective:.8g}, and no weights{reach} have less than {found.lower_bound:.8g}"


def _sides(model: LeastSquares) -> str:
    found, proof = model.certificate_, getattr(model, "proof_", None)
    if found.separable:
        return f"yes: every row is on its own side, margin {found.margin:.6g}"
    rows = ", ".join(map(str, found.wrong_rows[:8])) + (", ..." if found.errors > 8 else "")
    whose = "its" if found.errors == 1 else "their"
    text = f"no: {count(found.errors, 'row')} not on {whose} own side ({rows})"
    if found.separable is False:
        return f"{text}; no plane separates, rows {', '.join(map(str, found.rows))} prove it"
    if proof is not None and proof.separable:
        return f"{text}, although the classes are separable"
    return text


def _columns(model: LeastSquares) -> str:
    width = model.n_features_in_ + bool(model.fit_intercept)
    if model.rank_ == width:
        told = f"all {width} independent, condition {model.condition_:.3g} at equal lengths"
        nearly = [f"{name} is {words}" for name, words in model.dependent_.items()]
        return "; ".join([told, *nearly])
    told = f"{model.rank_} of {width} independent; of many solutions the shortest is taken"
    return f"{told}; {_listed(model.dependent_)}" if model.dependent_ else told


def _listed(dependent: dict[str, str]) -> str:
    said = [f"{name} = {words}" for name, words in dependent.items()]
    more = f" and {len(said) - _SHOWN_DEPENDENT} more" if len(said) > _SHOWN_DEPENDENT else ""
    return ", ".join(said[:_SHOWN_DEPENDENT]) + more


def _dependent(problem: Problem, factors: PseudoInverse) -> dict[str, str]:
    """Columns that the columns before them give, by the Gram matrix at equal lengths.

    A column that is left with less than the share ``_APART`` of its length once the others are
    taken away depends on them; where the rank is full, the columns of the weakest direction are
    nearly dependent if the condition is beyond ``_ILL``.
    """
    full = factors.rank == problem.width
    if factors.by_rows or (full and factors.condition < _ILL) or problem.width > _NAMED:
        return {}
    G = gram(problem).matrix
    scale = np.sqrt(np.diagonal(G))
    scale = np.where(scale > 0, scale, 1.0)
    M = G / np.outer(scale, scale)
    if full:
        weakest = np.abs(np.linalg.eigh(M)[1][:, 0])
        names = [
            _column_name(problem, j) for j in np.flatnonzero(weakest > 0.1 * weakest.max()).tolist()
        ]
        others = " and ".join(names[:-1])
        return {names[-1]: f"nearly a combination of {others}"}
    order = [*range(problem.d, problem.width), *range(problem.d)]  # the constant is kept
    kept: list[int] = []
    found: dict[str, str] = {}
    L = np.zeros((factors.rank, factors.rank))  # of the columns that are kept: M = L L'
    for j in order:
        r = len(kept)
        row, _ = lapack.dtrtrs(L[:r, :r].T, M[kept, j], lower=0, trans=1) if r else (np.zeros(0), 0)
        left = M[j, j] - float(row @ row)
        if left > _APART and r < factors.rank:
            L[r, :r], L[r, r] = row, np.sqrt(left)
            kept.append(j)
        else:
            solved, _ = lapack.dtrtrs(L[:r, :r].T, row, lower=0) if r else (row, 0)
            found[_column_name(problem, j)] = _combination(
                problem, kept, solved * scale[j] / scale[kept]
            )
    return found


def _column_name(problem: Problem, j: int) -> str:
    return "1" if j == problem.d else problem.feature_name(int(j))


def _combination(problem: Problem, columns: list[int], factors: NDArray[np.float64]) -> str:
    """A sum of columns in words; of many terms only which they are."""
    scale = np.abs(factors).max(initial=0.0)
    terms = [(j, v) for j, v in zip(columns, factors.tolist()) if abs(v) > 1e-6 * scale]
    if not terms:
        return "0"
    if len(terms) > _TERMS:
        return f"a combination of {', '.join(_column_name(problem, j) for j, _ in terms)}"
    words: list[str] = []
    for j, value in sorted(terms):
        size, name = f"{abs(value):.4g}", _column_name(problem, j)
        product = size if name == "1" else name if size == "1" else f"{size} {name}"
        words += ["-" if value < 0 else "+" if words else "", product]
    return " ".join(word for word in words if word)


def _outliers(model: LeastSquares) -> list[str]:
    report = getattr(model, "_report", None)
    if report is None:
        return []
    places = {int(row): i for i, row in enumerate(report.row)}
    lines = []
    for row in report.outliers[:_SHOWN_DEPENDENT].tolist():
        i = places[row]
        lines.append(
            f"row {row}: leverage {report.leverage[i]:.3g}, residual "
            f"{report.standardised[i]:.3g} sd, Cook's distance {report.cook[i]:.3g} "
            f"({report.kind(i)})"
        )
    more = len(report.outliers) - _SHOWN_DEPENDENT
    return [*lines, f"... and {count(more, 'row')} more"] if more > 0 else lines
