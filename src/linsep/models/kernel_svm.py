"""The kernel support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import AGREED_KERNEL, DOUBLE_ROWS, FINE_ROWS
from linsep.core.drive import Outcome, drive
from linsep.core.limits import Limits, TimeUpError, asked_to_stop, extra_time
from linsep.core.notes import warn
from linsep.core.problem import Problem, two_of
from linsep.core.protocol import Solver, Status, Witness
from linsep.core.words import count, percent
from linsep.criteria import Criterion, Hinge
from linsep.errors import (
    CheckpointError,
    DataError,
    GapWarning,
    ModelError,
    NotPositiveWarning,
    NotSeparatedWarning,
    SettingError,
)
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import Duels, duels_of, pair_columns
from linsep.models.fit import (
    CUT_SHORT,
    Answer,
    Check,
    Run,
    View,
    boolean,
    cost_of_slack,
    either,
    none,
    number,
    one_of,
    way_on,
)
from linsep.models.kernel_base import (
    KernelClassifier,
    canonical,
    certify_pairs,
    certify_vectors,
    cost_words,
    defined_sums,
    judged_pairs,
    kernel_table,
    stretched,
    sure_sums,
    votes_and_sums,
    words_of,
)
from linsep.models.model_file import Field, Fields, Table, finite
from linsep.models.summary import Line, bounds, street
from linsep.proofs.definite import definite
from linsep.proofs.kernel import NU_ROUNDED, Definite, KernelGap, Overlap
from linsep.rows.exact import equal_rows as first_equal
from linsep.solvers.kernel.cost_search import CostSearch, CostSearchState
from linsep.solvers.kernel.overlap import find_overlap
from linsep.solvers.kernel.smo import DIGITS, ROUGH, SMO

_OF_FLOAT32 = 0.9  # share of tol that is asked of float32, if it reaches it: the rest is a proof's
_LEGS = 3  # runs after the first, where rounding keeps a proof from tol,
_ROOM = 0.1  # as long as this share of tol is left for the solver


@dataclass(frozen=True)
class KernelAnswer(Answer):
    """The machines of all pairs of classes; their offsets are the witness."""

    alphas: list[NDArray[np.float64]]
    filled: bool = False
    """Of several pairs: whether none of their machines is worse than none at all."""


class KernelSVM(KernelClassifier):
    """Support vector machine with a kernel and a proved duality gap.

    Minimises |w|^2 / 2 + C sum_i s_i max(0, 1 - y_i f(x_i)) over all f(x) = w.phi(x) + b, where
    phi is the feature map of the kernel K(x, z) = phi(x).phi(z) and b is not penalised. The answer
    is f(x) = sum_i alpha_i y_i K(x_i, x) + b. It ends when the objective is proved to be within
    ``tol`` of the best possible one; the proof is recomputed in float64 from alpha, b and the
    kernel.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation. inf is the hard margin: no row inside the street at all.
    beta : float or None, default=None
        C in the symbol of the lectures; give one of the two.
    nu : float or None, default=None
        In place of C: at most this share of the rows is inside the street or wrong, and at least
        this share are support vectors (nu-SVC); of more than two classes, of each pair. It comes
        to a C, ``C_``.
    kernel : str, kernel object or function, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "intersection", "chi2", "hellinger", "precomputed"
        (X is the Gram matrix), an object of linsep.kernels, or a function of two rows.
    gamma, sigma, degree, coef0 : optional
        Parameters of a kernel given by name; see linsep.kernels. None: those of the name.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
    fit_intercept : bool, default=True
        Whether to have an offset; it is never penalised.
    tol : float, default=1e-5
        Relative duality gap to reach. The default gives scores nearer to the optimum than those of
        SVC at its default; 1e-3 is faster, and good for searching. For a kernel that is not
        positive semidefinite: the largest violation of the conditions of optimality.
    max_iter : int, default=100000
        Limit of working sets.
    time_limit : float or None, default=None
        Limit in seconds; the best model so far is kept, with its proof.
    working_set : int or None, default=None
        Rows that a step of the solver moves. None: as many as is fast, on small tables all of
        them. 2 is sequential minimal optimisation, one pair of rows a step, for ``linsep.trace``.
    memory : float, default=1000.0
        Megabytes for Gram matrices. What does not fit is computed for the rows that matter.
    class_weight : dict, "balanced" or None, default=None
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For three classes and more: votes of all pairs with sums of their values, (n, K), or the
        values of the pairs themselves, (n, K (K - 1) / 2), positive for the first class.
    random_state : int, RandomState or None, default=None
        Seed of samples; None is 0.
    warm_start : bool, default=False
        Start from the dual variables of the last fit, if the rows are as many.
    verbose : int, default=0
        Say on stderr what it will cost, and show progress.
    callbacks : list or None, default=None
        Observers of linsep or callbacks of scikit-learn, told about every working set.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold; ``predict`` stays the same and always
        has the largest probability.
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Rows with a dual variable that is not zero, class by class.
    support_vectors_ : array or sparse matrix of shape (n_support, n_features)
    n_support_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_classes - 1, n_support)
        y alpha, in the layout of scikit-learn's SVC.
    intercept_ : array of shape (n_classes (n_classes - 1) / 2,)
    classes_ : array of shape (n_classes,)
    C_ : float, or array of shape (n_classes (n_classes - 1) / 2,)
        With ``nu`` only: the cost that it comes to; KernelSVM(C=C_) is the same machine. Of more
        than two classes each pair has its own.
    kernel_ : kernel object
        With numbers for all parameters.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : KernelGap
        objective, lower_bound, gap, relative_gap, errors; margin and width in the feature space.
        With three classes and more ``parts`` has one for each pair.
    overlap_ : Overlap or None
        With C=inf: the proof that no hard margin exists, rows of two classes with multipliers
        whose weighted images are one point; ``overlap_.check(X, y)`` recomputes it in fractions.
    conflict_ : tuple of two rows or None
        The same where two equal rows of different classes prove it.
    coef_ : array of shape (1, n_features)
        With the linear kernel and two classes only: the weights of the plane.
    pair_coef_ : array of shape (n_classes (n_classes - 1) / 2, n_features)
        With the linear kernel only: those of each pair of classes, the ``coef_`` of SVC.
    solver_used_ : str
    outcome_ : Outcome
    n_iter_ : int
        Working sets.

    See Also
    --------
    LinearSVM : Far faster where the kernel is linear.
    AdditiveSVM : Kernels of histograms at linear cost.

    Notes
    -----
    Two classes: scores >= 0 are the last class. More: one machine for each pair of classes, which
    vote; equal votes are decided by the sums of their values.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("xor")
    >>> model = linsep.KernelSVM(kernel=linsep.kernels.Polynomial(degree=2)).fit(table.X, table.y)
    >>> abs(model.dual_coef_).tolist(), model.intercept_.tolist()
    ([[0.125, 0.125, 0.125, 0.125]], [0.0])
    >>> model.decision_function([[0.5, -2.0]]).tolist()
    [1.0]
    """

    _in_pairs: ClassVar[bool] = True
    _numbers_of_pairs: ClassVar[int] = 11
    _checks: ClassVar[dict[str, Check]] = {
        "C": number(0, above=True),
        "beta": either(none, number(0, above=True)),
        "nu": either(none, number(0, above=True)),
        "tol": number(0, above=True),
        "working_set": either(none, number(2, whole=True)),
        "memory": number(0, above=True),
        "decision_function_shape": one_of("ovr", "ovo"),
        "warm_start": boolean,
    }

    _own_threads: ClassVar[bool] = True
    _known: Definite | None = None  # the judge's, before a solver has begun
    overlap_: Overlap | None
    conflict_: tuple[int, ...] | None

    C_: Any

    @property
    def _cost(self) -> Any:
        """The cost of a violation; before nu has come to one, 1."""
        given = cost_of_slack(self)
        if self.nu is None:
            return given
        if self.C != 1.0 or self.beta is not None:
            raise SettingError(
                f"nu={self.nu!r} and C or beta are given; nu comes to a C of its own. Give one of "
                "them."
            )
        return getattr(self, "C_", 1.0)

    def __init__(
        self,
        C: float = 1.0,
        *,
        beta: float | None = None,
        nu: float | None = None,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: Any = None,
        sigma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        zero: str = "positive",
        tol: float = 1e-5,
        max_iter: int = 100_000,
        time_limit: float | None = None,
        working_set: int | None = None,
        memory: float = 1000.0,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
    ) -> None:
        self.C = C
        self.beta = beta
        self.nu = nu
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
        self.working_set = working_set
        self.memory = memory
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv

    # -- fit --------------------------------------------------------------------------------

    def _guard(self, problem: Problem) -> None:
        """With C=inf: equal rows of different classes end the search before it begins."""
        self.__dict__.pop("C_", None)
        if self.nu is not None:
            _check_nu(problem, float(self.nu))
        cost_words(problem, self._kernel, self.memory, self.verbose)
        self._known = definite(problem, None if self._precomputed else self._kernel)
        self.overlap_ = equal_rows(problem, self._kernel) if np.isinf(self._cost) else None
        self.conflict_ = None if self.overlap_ is None else self.overlap_.rows

    def _answer(self, run: Run) -> Answer:
        """As every fit; where a hard margin turns out not to exist, the machine is that of C=1."""
        problem = run.problem
        with run.hurry():
            solver, reason = self._choose(run.lent)
        if self.nu is not None:
            return self._by_nu(run, solver, reason, float(self.nu))
        state, limits = (
            run.state(solver, self._begin(problem, solver)),
            self._limits(problem, solver),
        )
        outcome, reason = self._filled(run, solver, run.drive(solver, state, limits), reason)
        ended = outcome.interrupted or outcome.status in (Status.TIME_LIMIT, Status.STOPPED)
        if np.isinf(solver.C) and not ended:
            self.overlap_ = overlap_of(problem, solver, outcome.state, self._kernel)
            if self.overlap_ is not None:
                solver, reason = self._choose(run.lent)
                state = solver.init(run.lent, start=self._begin(problem, solver))
                outcome = run.drive(solver, state, limits, kept=False)
        return self._gone_on(run, solver, self._prove(run, solver, outcome, reason), limits)

    def _filled(
        self, run: Run, solver: SMO, outcome: Outcome[Any], reason: str
    ) -> tuple[Outcome[Any], str]:
        """A run whose time was up before some pairs had their turn: these have the machines of a
        sample, since votes of empty ones would drown those of the others."""
        problem, witness = run.lent, outcome.witness
        if problem.binary or outcome.status not in CUT_SHORT:
            return outcome, reason
        waiting = np.ones(len(witness.a), dtype=bool)
        waiting[witness.rows // problem.n] = False
        if not waiting.any():
            return outcome, reason
        with extra_time():
            *found, _ = self._of_sample(problem)
        if not found:
            return outcome, reason
        sample = found[0].outcome.witness
        own = waiting[sample.rows // problem.n]
        witness = replace(
            witness,
            a=np.where(waiting, sample.a, witness.a),
            rows=np.concatenate([witness.rows, sample.rows[own]]),
            multipliers=np.concatenate([witness.multipliers, sample.multipliers[own]]),
        )
        words = f"{reason}; {waiting.sum()} of {len(waiting)} pairs by {found[0].words}"
        return replace(outcome, witness=witness), words

    def _gone_on(self, run: Run, solver: SMO, answer: Answer, limits: Limits) -> Answer:
        """The answer, of a solver that goes on where the proof falls short of what it has seen.

        A proof counts what rounding may do at worst, and that takes its share of tol; kernel values
        in float32 may be too rough altogether.
        """
        for _ in range(_LEGS):
            outcome, gap = answer.outcome, answer.certificate
            if answer.status is not Status.STALLED or not gap.convex or self.overlap_ is not None:
                break
            met = outcome.status is Status.CERTIFIED
            room = self.tol - 1.2 * max(gap.relative_gap - outcome.state.gap, 0.0) if met else 0.0
            if solver.single and room < _ROOM * self.tol:
                solver = replace(solver, single=False, tol=0.999 * float(self.tol))
            elif room >= _ROOM * self.tol and 0.9 * room < solver.tol:
                solver = replace(solver, tol=0.9 * room, fine=min(0.9 * room, solver.fine))
            else:
                break
            assert isinstance(answer, KernelAnswer)
            state = solver.init(run.lent, start=answer.alphas)
            state.n_updates = outcome.state.n_updates
            left = replace(limits, steps=max(1, self.max_iter - outcome.steps))
            more = drive(run.problem, solver, state, limits=left.at_most(run.seconds_left()))
            whole = replace(more, steps=outcome.steps + more.steps)
            other = self._prove(run, solver, whole, answer.reason)
            if not other.certificate.relative_gap < gap.relative_gap:
                break
            answer = other
        return answer

    def _by_nu(self, run: Run, solver: SMO, reason: str, nu: float) -> Answer:
        """Soft margins, each from the last, until the dual variables sum to what nu asks for.

        In u = alpha / C the machines of all C are one path, on which sum u falls and 1 / C is
        linear between the places where a row comes to a bound or leaves it. A point between two
        machines of the path is allowed for nu, and is proved like any other.
        """
        problem, limits = run.problem, self._limits(run.problem, solver)
        if not solver.convex:
            raise SettingError(
                f"nu needs a positive semidefinite kernel, and {self._kernel!r} is not on these "
                "rows; choose a C."
            )
        if not problem.binary:
            return self._by_nu_in_pairs(run, solver, reason, nu)
        pair = duels_of(problem, solver.kernel).pairs[0]
        wanted = nu * (1 - 0.5 * NU_ROUNDED) * float(pair.weight.sum())
        size = float(np.mean(duels_of(problem, solver.kernel).values.diagonal(pair.ids)))
        search = CostSearch(replace(solver, C=1.0))
        state = run.state(search)
        ends = _ends_of(state, duels_of(problem, solver.kernel), run.checkpoint)
        answer: Answer | None = None
        C, start = state.cost, None
        while True:
            try:
                if answer is not None:
                    state = search.next(run.lent, state, C, start)
                outcome = run.drive(search, state, limits)
            except TimeUpError:  # the machine of the last turn is one of the path
                if answer is None:
                    raise
                ended = Status.STOPPED if asked_to_stop() else Status.TIME_LIMIT
                return replace(answer, status=answer.certificate.settle(ended, self.tol))
            state = outcome.state
            found = _OnPath.of(duels_of(problem, solver.kernel), outcome.witness, state.cost)
            enough = found.sum >= wanted
            ends[enough] = found
            best = ends[True].towards(ends[False], wanted) if len(ends) == 2 else found
            self.C_ = best.C
            whole = replace(
                outcome, state=state.machine, steps=state.before + outcome.steps,
                witness=best.witness(outcome.witness),
            )  # fmt: skip
            answer = self._prove(run, replace(solver, C=best.C), whole, reason)
            cut = outcome.interrupted or outcome.status in CUT_SHORT
            gap = answer.certificate.relative_gap
            near = gap <= max(solver.fine, NU_ROUNDED) or (gap <= self.tol and state.turn > _FINE)
            if near or cut or state.turn + 1 >= _COSTS_TRIED:
                return answer
            same = state.same + 1 if state.last == 1 + enough else 0
            C = _next_cost(ends, best, same, enough=enough)
            if len(ends) < 2 and C * size > _LARGEST_COST:
                raise SettingError(_too_small(nu, found, problem, pair))
            known = {"same": same, "last": 1 + enough, _SIDES[enough]: found.stored()}
            state, start = replace(state, **known), [found.u * C]

    def _by_nu_in_pairs(self, run: Run, solver: SMO, reason: str, nu: float) -> Answer:
        """The same for every pair of classes by itself, which has a cost of its own."""
        problem, known = run.problem, self._known
        pairs, n = duels_of(problem, solver.kernel), problem.n
        of = [np.sort(pairs.order[pair.ids]) for pair in pairs.pairs]
        parts = [
            two_of(self._part(problem, rows), *pair.classes) for rows, pair in zip(of, pairs.pairs)
        ]
        begun = run.begun(parts, "a pair of these classes")
        each: dict[int, tuple[KernelAnswer, float]] = {}
        for k in sorted(range(len(parts)), key=lambda k: k != begun):
            own = run.on(parts[k], run.checkpoint if k == begun else None)
            one = self._by_nu(own, solver, reason, nu)
            assert isinstance(one, KernelAnswer)
            each[k] = one, self.C_
            del self.C_  # of this pair alone
        shares, answers = np.zeros((len(parts), n)), [each[k][0] for k in range(len(parts))]
        for full, rows, part, one in zip(shares, of, parts, answers):
            duels = duels_of(part, solver.kernel)
            full[rows[duels.order[duels.pairs[0].ids]]] = one.alphas[0]
        offsets = [float(one.witness.a[0]) for one in answers]
        self.C_ = np.array([each[k][1] for k in range(len(parts))])
        alphas = [full[pairs.order[pair.ids]] for full, pair in zip(shares, pairs.pairs)]
        assert known is not None
        words = words_of(self.C_, self._kernel, known, nu, free=problem.fit_intercept)
        gap = certify_pairs(problem, pairs, alphas, np.array(offsets), self.C_, known, words, nu)
        worst = next((one for one in answers if not one.status.ok), answers[-1])
        state = copy(worst.outcome.state)
        state.n_updates = sum(one.outcome.state.n_updates for one in answers)
        used = np.flatnonzero(shares)
        witness = Witness(np.array(offsets), rows=used, multipliers=shares.ravel()[used])
        outcome = replace(
            worst.outcome, state=state, witness=witness,
            steps=sum(one.outcome.steps for one in answers),
            seconds=sum(one.outcome.seconds for one in answers),
        )  # fmt: skip
        status = gap.settle(worst.status, self.tol)
        return KernelAnswer(Witness(np.array(offsets)), gap, status, outcome, reason, alphas)

    def _falls_back(self) -> bool:
        return True

    def _is_poor(self, answer: Answer) -> bool:
        """Machines with costs of their own cannot be held against those of a sample."""
        filled = isinstance(answer, KernelAnswer) and answer.filled
        return np.ndim(self._cost) == 0 and not filled and super()._is_poor(answer)

    def _machines(self, problem: Problem) -> int:
        return 1 if problem.binary else problem.K * (problem.K - 1) // 2

    def _first_solver(self, solver: Any) -> Any:
        return solver if np.isfinite(solver.C) else replace(solver, C=1.0)  # rows may overlap

    def _choose(self, problem: Problem) -> tuple[SMO, str]:
        """The solver for this problem, and the reason for its settings in words."""
        kernel = None if self._precomputed else self._kernel
        known = definite(problem, kernel) if self._known is None else self._known
        if not known.convex and np.isinf(self._cost):
            raise SettingError(
                f"C=inf needs a positive semidefinite kernel, and {self._kernel!r} is not on these "
                "rows; choose a finite C."
            )
        single = problem.n > DOUBLE_ROWS  # at first, whatever tol is
        small = problem.n <= FINE_ROWS and self.tol <= AGREED_KERNEL
        enough = single and _OF_FLOAT32 * float(self.tol) >= ROUGH
        tol = (_OF_FLOAT32 if enough else 0.999) * float(self.tol)
        solver = SMO(
            kernel=kernel,
            C=self._cost if getattr(self, "overlap_", None) is None else 1.0,
            tol=tol,
            fine=min(tol, DIGITS) if small else tol,
            convex=known.convex,
            memory=float(self.memory),
            single=single,
            seed=self._seed(),
        )
        if self.working_set is not None:
            solver = replace(solver, q=int(self.working_set), plain=True)
        places = "float32, f and alpha in float64" if single else "float64"
        places += ", then float64" if single and tol < ROUGH else ""
        which = "all rows" if problem.n <= solver._limit(single=single) else "the rows that matter"
        pairs = "" if problem.binary else f"; {problem.K * (problem.K - 1) // 2} pairs"
        size = "" if self.working_set is None else f" of {self.working_set} rows (as asked)"
        gram = f"Gram matrix of {which} in {places}{pairs}{known.how}"
        return solver, f"second-order working sets{size}, {gram}"

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        """The dual variables of the last fit, if they belong to as many rows of each class."""
        if not self.warm_start or not hasattr(self, "_alphas"):
            return None
        pairs = duels_of(problem, None if self._precomputed else self._kernel).pairs
        if [len(a) for a in self._alphas] != [len(p.y) for p in pairs]:
            return None
        return self._alphas

    def _prove(self, run: Run, solver: Any, outcome: Outcome[Any], reason: str) -> Answer:
        problem = run.problem
        pairs, known = judged_pairs(problem, solver.kernel), self._known
        assert known is not None
        alphas, offsets = pairs.shares(outcome.witness), outcome.witness.a
        if np.isinf(solver.C):
            alphas, offsets = canonical(pairs, alphas, offsets)
        nu = None if self.nu is None else float(self.nu)
        words = words_of(solver.C, self._kernel, known, nu, free=problem.fit_intercept)
        made = defined_sums(problem, pairs, alphas)
        gap = certify_pairs(problem, pairs, alphas, offsets, solver.C, known, words, nu, made)
        cut = outcome.status in (*CUT_SHORT, Status.STEP_LIMIT)  # then rounding is not what is left
        # few rows are asked for all digits, whatever tol is, so that a smaller one is never worse
        enough = DIGITS if solver.fine <= DIGITS else self.tol
        unproved = gap.relative_gap > enough and not cut
        if gap.convex and np.isfinite(solver.C) and unproved and nu is None:
            by = stretched(pairs, alphas, offsets, solver.C)
            if by is not None:
                longer, more = [t * alpha for t, alpha in zip(by, alphas)], by * offsets
                better = certify_pairs(
                    problem, pairs, longer, more, solver.C, known, words, made=made.times(by)
                )
                if better.objective < gap.objective:
                    alphas, offsets, gap = longer, more, better
        status = gap.settle(outcome.status, self.tol)
        if self.overlap_ is not None:
            status = Status.INSEPARABLE
        none = [solver.C * float(pair.weight.sum()) for pair in pairs.pairs]  # of zero weights
        filled = bool(gap.parts) and all(p.objective <= c for p, c in zip(gap.parts, none))
        return KernelAnswer(Witness(offsets), gap, status, outcome, reason, alphas, filled)

    def _view(self, problem: Problem, solver: Any, witness: Witness) -> View:
        """The machines of a witness, and their gap."""
        pairs, known = judged_pairs(problem, solver.kernel), self._known
        assert known is not None
        alphas, offsets = pairs.shares(witness), witness.a
        words = words_of(solver.C, self._kernel, known, free=problem.fit_intercept)
        gap = certify_pairs(problem, pairs, alphas, offsets, solver.C, known, words)
        return self._seen(problem, pairs, alphas, offsets, gap)

    def _view_of(self, problem: Problem, answer: Answer) -> View:
        assert isinstance(answer, KernelAnswer)
        pairs = judged_pairs(problem, None if self._precomputed else self._kernel)
        return self._seen(problem, pairs, answer.alphas, answer.witness.a, answer.certificate)

    def _seen(
        self, problem: Problem, pairs: Duels, alphas: list[NDArray[np.float64]],
        offsets: NDArray[np.float64], gap: KernelGap,
    ) -> View:  # fmt: skip
        signed = np.zeros((problem.n, len(alphas)))
        for k, (pair, alpha) in enumerate(zip(pairs.pairs, alphas)):
            signed[pair.ids, k] = alpha * pair.y
        used = np.flatnonzero(signed.any(axis=1))
        raw = np.empty(signed.shape)
        raw[pairs.order] = pairs.values.combine_many(used, signed[used], np.arange(problem.n))
        raw += offsets
        if problem.binary:
            coef = np.zeros(0)
            if self._kernel.linear:
                rows = used[np.argsort(problem.label[pairs.order[used]], kind="stable")]
                weights = signed[rows].T @ problem.matrix[pairs.order[rows]]
                coef = np.asarray(weights, dtype=np.float64)[0]
            return View(problem.sign * raw[:, 0], coef, float(offsets[0]), gap)
        votes, own = votes_and_sums(raw, problem.K), np.eye(problem.K, dtype=bool)[problem.label]
        lead = votes[own] - np.where(own, -np.inf, votes).max(axis=1)
        return View(lead, np.zeros(0), 0.0 - offsets, gap)  # of every pair, as intercept_

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        assert isinstance(answer, KernelAnswer)
        self.n_iter_ = max(1, answer.outcome.steps)
        if self.nu is not None:
            self.C_ = self._cost  # also where no time was left to come to one
            if not problem.binary and np.ndim(self.C_) == 0:
                self.C_ = np.full(len(answer.alphas), self.C_)
        self._alphas = answer.alphas
        pairs = judged_pairs(problem, None if self._precomputed else self._kernel)
        self._keep_dual(problem, pairs, answer.alphas, answer.witness.a)

    def _keep_dual(
        self,
        problem: Problem,
        pairs: Duels,
        alphas: list[NDArray[np.float64]],
        offsets: NDArray[np.float64],
    ) -> None:
        """Support vectors class by class, in the layout of LIBSVM and scikit-learn; the pairs are
        those of the proof."""
        n, K = problem.n, problem.K
        self.classes_, self.kernel_ = problem.classes, self._kernel
        coef = np.zeros((K - 1, n))
        for pair, alpha in zip(pairs.pairs, alphas):
            i, j = pair.classes
            signed = pair.y * alpha if K == 2 else -pair.y * alpha
            first = pair.y < 0
            coef[j - 1, pair.ids[first]] = signed[first]
            coef[i, pair.ids[~first]] = signed[~first]
        used = np.flatnonzero(coef.any(axis=0))
        used = used[np.argsort(problem.label[pairs.order[used]], kind="stable")]
        rows = pairs.order[used]
        self.dual_coef_ = np.ascontiguousarray(coef[:, used])
        self.intercept_ = np.array(offsets) if K == 2 else 0.0 - np.asarray(offsets)
        self.n_support_ = np.bincount(problem.label[rows], minlength=K).astype(np.int32)
        index = problem.row_index
        self.support_ = rows if index is None else index[rows]
        self.support_vectors_ = self._vectors(problem, rows)

    def _so_far(self, now: Any) -> dict[str, Any]:
        """What a copy of the estimator needs to predict with the present variables."""
        pairs = judged_pairs(now.problem, now.solver.kernel)
        alphas = [part.alpha for part in now.state.parts]
        self._keep_dual(now.problem, pairs, alphas, now.solver.witness(now.problem, now.state).a)
        return {name: getattr(self, name) for name in self._predicting}

    def _warn(self, problem: Problem, answer: Answer) -> None:
        """Raise or warn where the answer is not what was asked for."""
        status, gap = answer.status, answer.certificate
        if status is Status.DIVERGED:
            raise DataError(
                f"the numbers overflowed with kernel {self._kernel!r}; scale the columns, for "
                "instance with sklearn.preprocessing.StandardScaler, or lower C."
            )
        if not gap.convex and self._kernel.positive is None:
            warn(
                f"{self._kernel!r} is not positive semidefinite on these rows: there is no convex "
                "problem behind the machine, and the fit has ended in a stationary point.",
                NotPositiveWarning,
            )
        if self.overlap_ is not None:
            warn(_no_street(self), NotSeparatedWarning)
        elif not status.ok:
            warn(_gap_words(self, gap, status), GapWarning)

    # -- decisions: values of the pairs, votes, weights of linear ones ---------------------------

    def _columns(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coefficients and offsets of all pairs, for values >= 0 for the second class of each."""
        if len(self.classes_) == 2:
            return self.dual_coef_.T, self.intercept_
        return -pair_columns(self.dual_coef_, self.n_support_), -self.intercept_

    def _columns_of_all(self) -> NDArray[np.float64]:
        return self._columns()[0]

    def _criterion(self) -> Criterion:
        if np.ndim(self._cost):
            raise AttributeError("with nu each pair of classes has a cost of its own, C_.")
        return Hinge(C=self._cost)

    def _lead(self, similarities: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """The machine of the two classes with most votes, positive for the first of them."""
        coef, offset = self._columns()
        K = len(self.classes_)
        if K == 2:
            return coef[:, 0], float(offset[0])
        scores = votes_and_sums((similarities @ coef + offset)[None], K)[0]
        first, second = (int(k) for k in np.argsort(-scores, kind="stable")[:2])
        at = list(combinations(range(K), 2)).index((min(first, second), max(first, second)))
        sign = 1.0 if first > second else -1.0
        return sign * coef[:, at], sign * float(offset[at])

    def _pair_values(self, X: Any) -> NDArray[np.float64]:
        """Values of the pairs, >= 0 for the second class of each."""
        rows = self._rows(X)
        coef, offset = self._columns()
        return self._scores_of(rows, coef) + offset

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores whose largest is the class predicted; one of >= 0 is the last of two."""
        raw = self._pair_values(X)
        return raw[:, 0] if len(self.classes_) == 2 else votes_and_sums(raw, len(self.classes_))

    def _quick_scores(self, X: Any) -> NDArray[np.float64]:
        """Scores from values with the right signs; where votes are equal, from exact ones."""
        rows, K = self._rows(X), len(self.classes_)
        coef, offset = self._columns()
        if self._precomputed or not len(coef):
            return self._scores(X)
        raw = sure_sums(self._kernel, rows, self.support_vectors_, coef, offset)
        if K == 2:
            return raw[:, 0]
        scores = votes_and_sums(raw, K)
        first, second = np.sort(scores, axis=1)[:, [-1, -2]].T
        # sums count for less than 1/3 of a vote, and K - 1 votes are more than others can have
        tied = np.flatnonzero((first - second <= 0.7) & (np.rint(first) < K - 1))
        if len(tied):
            scores[tied] = votes_and_sums(self._scores_of(rows[tied], coef) + offset, K)
        return scores

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: (n,) for two classes; (n, K) or (n, K (K - 1) / 2) for more."""
        if len(getattr(self, "classes_", ())) > 2 and self.decision_function_shape == "ovo":
            return -self._pair_values(X)
        return self._scores(X)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the plane; exists for two classes and the linear kernel only."""
        if len(getattr(self, "classes_", ())) != 2:
            raise AttributeError("coef_ exists after a fit of two classes with the linear kernel")
        return self.pair_coef_

    @property
    def pair_coef_(self) -> NDArray[np.float64]:
        """Weights of the plane of each pair of classes; exists for the linear kernel only."""
        if not getattr(getattr(self, "kernel_", None), "linear", False):
            raise AttributeError("weights exist after a fit with the linear kernel only")
        dual = self.dual_coef_
        if len(self.classes_) > 2:
            dual = pair_columns(dual, self.n_support_).T
        return np.asarray(dual @ self.support_vectors_, dtype=np.float64)

    # -- proof, files and words ---------------------------------------------------------------

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
        """The proof again, from the data and the numbers of the model; see linsep.certify."""
        kernel = None if self._precomputed else self.kernel_
        C, overlap = self._cost, getattr(self, "overlap_", None)
        if overlap is not None:
            if overlap.kernel != self.kernel_ or overlap.fit_intercept != bool(self.fit_intercept):
                raise ModelError("the proof that no street exists is about another machine.")
            overlap.check(X, y)
            C = 1.0 if np.ndim(C) == 0 and np.isinf(C) else C
        return certify_vectors(
            self, kernel, C, X, y, sample_weight, getattr(self, "nu", None), free=self.fit_intercept
        )

    def _told(self) -> list[Line]:
        gap, outcome = self.certificate_, getattr(self, "outcome_", None)
        lines = [("algorithm", self.solver_used_)]
        if outcome is not None:  # a model read from a file has numbers and certificate only
            sets, steps = count(outcome.steps, "working set"), count(self.n_updates_, "step")
            lines.append(("work", f"{sets}, {steps}, {outcome.seconds:.3g} s"))
        lines += [("minimised", gap.words), *_bounds(self, gap), street(gap)]
        if np.isfinite(gap.width):  # |w|^2 may be negative where the kernel is not positive
            lines.append(("street", f"{gap.width:.6g} wide in the feature space (2 / |w|)"))
        if self.nu is not None:
            lines.append(("nu", _nu_words(self, gap)))
        counts = zip(self.n_support_.tolist(), self.classes_.tolist())
        by_class = ", ".join(f"{n} of {label!r}" for n, label in counts)
        vectors = count(len(self.support_), "vector")
        return [*lines, ("support", f"{vectors}: {by_class}"), ("rule", _rule(self))]

    def _n_machines(self) -> int:
        K = len(self.classes_)
        return K * (K - 1) // 2

    def _n_rows_of_dual(self) -> int:
        return len(self.classes_) - 1

    @classmethod
    def _file(cls) -> Table[Any]:
        cost = Field("cost", lambda model: getattr(model, "C_", None), _read_cost, sparing=True)
        return kernel_table(Field("overlap", _overlap_out, _read_overlap), cost)


def _overlap_out(model: KernelSVM) -> dict[str, Any] | None:
    overlap = getattr(model, "overlap_", None)
    return None if overlap is None else overlap.to_dict()


def _read_overlap(model: KernelSVM, fields: Fields) -> None:
    told = fields.get("overlap")
    model.overlap_ = overlap = None if told is None else Overlap.from_dict(told)
    equal = getattr(model, "conflict_", None) is not None and overlap is not None
    model.conflict_ = overlap.rows if equal and overlap is not None else None


def _read_cost(model: KernelSVM, fields: Fields) -> None:
    told = fields.get("cost")
    if (told is not None) != (model.nu is not None):
        raise ModelError("cost is there without nu, or nu without the cost that it comes to")
    if told is None:
        return
    if len(model.classes_) == 2:
        if not isinstance(told, float) or not 0 < told < np.inf:
            raise ModelError(f"cost is {told!r:.40}, which is no number > 0")
        model.C_ = told
        return
    model.C_ = finite(fields, "cost", (model._n_machines(),))
    if not (model.C_ > 0).all():
        raise ModelError(f"cost is {told!r:.40}, which are no numbers > 0")


# -- nu in place of C ------------------------------------------------------------------------------

_LARGEST_COST = 2.0**25  # times the mean of K(x, x); beyond it rows are as good as hard
_COSTS_TRIED = 60  # costs tried before the best so far is given back,
_FINE = 12  # and before more digits than tol asks for are given up
_SIDES = ("below", "above")  # where the state of a search keeps a machine


@dataclass(frozen=True)
class _OnPath:
    """A machine in units of its cost: u = alpha / C, the offset / C, and 1 / C."""

    u: NDArray[np.float64]
    offset: float
    inverse: float
    rows: NDArray[Any]

    @classmethod
    def of(cls, pairs: Duels, witness: Witness, C: float) -> _OnPath:
        rows = pairs.order[pairs.pairs[0].ids]
        return cls(pairs.shares(witness)[0] / C, float(witness.a[0]) / C, 1.0 / C, rows)

    @property
    def sum(self) -> float:
        return float(self.u.sum())

    @property
    def C(self) -> float:
        return 1.0 / self.inverse

    def towards(self, other: _OnPath, wanted: float) -> _OnPath:
        """The point on the way to the other machine whose variables have the sum wanted."""
        t = (self.sum - wanted) / (self.sum - other.sum)
        return _OnPath(
            self.u + t * (other.u - self.u), self.offset + t * (other.offset - self.offset),
            self.inverse + t * (other.inverse - self.inverse), self.rows,
        )  # fmt: skip

    def stored(self) -> NDArray[np.float64]:
        """As the state of a search keeps it."""
        return np.append(self.u, [self.offset, self.inverse])

    def witness(self, like: Witness) -> Witness:
        return replace(
            like, a=np.array([self.C * self.offset]), rows=self.rows, multipliers=self.C * self.u
        )


def _ends_of(state: CostSearchState, pairs: Duels, file: str | Path | None) -> dict[bool, _OnPath]:
    """The last machine with enough, and the last one with too little, as far as there are any."""
    rows, ends = pairs.order[pairs.pairs[0].ids], {}
    sound = 0.0 < state.cost < np.inf
    for enough, name in enumerate(_SIDES):
        kept = getattr(state, name)
        if kept.size:
            sound = sound and bool(np.isfinite(kept).all()) and kept[:-2].min() >= 0 < kept[-1]
            ends[bool(enough)] = _OnPath(kept[:-2], float(kept[-2]), float(kept[-1]), rows)
    if not sound:
        raise CheckpointError(
            f"{file}: its search for a cost has costs or variables that no machine has. Start "
            "afresh, or resume from another file."
        )
    return ends


def _next_cost(ends: dict[bool, _OnPath], best: _OnPath, same: int, *, enough: bool) -> float:
    """Where the secant is, the middle if that comes from one side only; else further on."""
    if len(ends) < 2:
        return best.C * 16.0 if enough else best.C / 16.0
    return float(np.sqrt(ends[True].C * ends[False].C)) if same >= 2 else best.C


def _check_nu(problem: Problem, nu: float) -> None:
    """Refuse a nu that no machine of these rows has."""
    most, of = _most(problem), "" if problem.binary else ", in a pair of classes"
    if nu > most * (1 + NU_ROUNDED):
        raise SettingError(
            f"nu={nu:g} is too large for these rows: 0 < nu <= {most:.6g}, twice the share of the "
            f"smaller class{of}."
        )


def _most(problem: Problem) -> float:
    """The largest nu that every pair of classes can have; without an offset they need not
    balance."""
    rows = np.bincount(problem.label, problem.weight, minlength=problem.K)
    least, largest = float(rows.min()), float(rows.max())
    return 2.0 * least / (least + largest) if problem.fit_intercept else 1.0


def _too_small(nu: float, found: _OnPath, problem: Problem, pair: Any) -> str:
    least, most = found.sum / float(pair.weight.sum()), _most(problem)
    choice = f"{least:.6g} < nu <= {most:.6g}"
    if least >= most * (1 - 1e-6):
        choice = "a C instead of nu, or another kernel"
    return (
        f"nu={nu:g} is too small for these rows: the classes overlap in the feature space, and "
        f"even C={found.C:.3g} comes to nu={least:.6g}. Choose {choice}."
    )


def _nu_words(model: KernelSVM, gap: KernelGap) -> str:
    if np.ndim(model.C_):
        same, of = "each pair has its own C", " of a pair"
    else:
        same, of = f"the same machine as C = {model.C_:.6g}", ""
    return (
        f"{model.nu:g}: at most that share of the rows{of} is inside the street, at least that "
        f"share are support vectors; {same}"
    )


# -- Warnings and a fitted kernel machine in words ------------------------------------------------


def _no_street(model: KernelSVM) -> str:
    if model.conflict_ is not None:
        i, j = model.conflict_
        why = f"rows {i} and {j} are equal and have different labels, so no kernel separates"
    else:
        why = f"{model.overlap_}: no plane in the feature space of {model._kernel!r} separates"
    return (
        f"{why} the classes and a hard margin does not exist. The model is that of C=1; choose a "
        "finite C."
    )


def _gap_words(model: KernelSVM, gap: KernelGap, status: Status) -> str:
    begin = f"{status.value} ({status.name}, {model.n_iter_} working sets). "
    if not np.isfinite(gap.objective):
        most, proved = widest(gap), ""
        if np.isfinite(most):
            proved = f" It is proved that no street in the feature space is wider than {most:.3g}."
        return begin + (
            f"With C=inf no plane was found with all rows on their own side.{proved} If the "
            "classes overlap there is none: choose a finite C."
        )
    if not gap.convex:
        return begin + (
            f"The conditions of optimality are violated by {gap.violation:.3g}; tol asks for "
            f"{model.tol:.3g}. {way_on(model.outcome_, 'Raise max_iter or time_limit.')}"
        )
    hint = _hint(model, gap, status)
    return begin + (
        f"The objective {gap.objective:.6g} is proved to be within "
        f"{percent(gap.relative_gap, 3)} of the best possible one; tol asks for "
        f"{percent(model.tol, 3)}. {way_on(model.outcome_, hint)}"
    )


def _hint(model: KernelSVM, gap: KernelGap, status: Status) -> str:
    """The way out of a gap that is too large."""
    given = status is Status.STALLED and model._precomputed
    if given and gap.shift > 0:
        return (
            f"The Gram matrix that was given is positive semidefinite only with {gap.shift:.3g} "
            "added to its diagonal: its entries are rounded, and the gap pays for it. Compute "
            "them in float64 from rows in float64, lower C, or raise tol."
        )
    if model._precomputed:
        return "Raise max_iter or time_limit, lower C, or raise tol."
    same = model._kernel.linear
    other = "; LinearSVM is the same machine and takes them as they are" if same else ""
    return f"Raise max_iter or time_limit, or scale the columns{other}."


def _rule(model: KernelSVM) -> str:
    classes = model.classes_.tolist()
    if len(classes) == 2:
        b = float(model.intercept_[0])
        return (
            f"sum of y alpha K(x_i, x) over the support vectors {b:+.6g} >= 0  =>  "
            f"{classes[1]!r}, otherwise {classes[0]!r}"
        )
    return f"votes of {len(model.intercept_)} machines, one for each pair of classes"


def _bounds(model: KernelSVM, gap: KernelGap) -> list[Line]:
    overlap = getattr(model, "overlap_", None)
    if overlap is not None:
        return [("proof", f"{overlap}; no street exists, and this is C = 1")]
    if not np.isfinite(gap.objective):
        most = widest(gap)
        what = f"no street is wider than {most:.3g}" if np.isfinite(most) else "nothing yet"
        return [("proved", f"{what}; some row is on the wrong side")]
    if not gap.convex:
        what = (
            f"{gap.objective:.8g} at a stationary point (violation {gap.violation:.2g}); the "
            "kernel is not positive semidefinite: no lower bound"
        )
        return [("objective", what)]
    return bounds(gap)


# -- Hard margins that do not exist, and the proof of it ------------------------------------------


def equal_rows(problem: Problem, kernel: Kernel) -> Overlap | None:
    """Two equal rows of different classes, which no kernel tells apart."""
    found = first_equal(problem)
    if found is None:
        return None
    i, j = (problem.sample_of_index(k) for k in found)
    return Overlap((i, j), (Fraction(1), Fraction(1)), kernel, bool(problem.fit_intercept))


def overlap_of(problem: Problem, solver: Any, state: Any, kernel: Kernel) -> Overlap | None:
    """Rows of two classes whose hulls meet, of the first pair without a street that has them."""
    pairs = duels_of(problem, solver.kernel)
    for pair, part in zip(pairs.pairs, state.parts):
        if np.isfinite(part.facts[0]):
            continue
        with_offset = bool(problem.fit_intercept)
        found = find_overlap(pairs.values, pair.ids, pair.y, part.alpha, with_offset=with_offset)
        if found is not None:
            places = pairs.order[pair.ids[found[0]]].tolist()
            by_row = sorted((problem.sample_of_index(int(i)), a) for i, a in zip(places, found[1]))
            rows, shares = zip(*by_row)
            overlap = Overlap(rows, shares, kernel, with_offset)
            overlap.check(problem, None)
            return overlap
    return None


def widest(gap: Any) -> float:
    """What is proved of the street of machines without one: none is wider."""
    parts = [part for part in gap.parts or (gap,) if not np.isfinite(part.objective)]
    low = max((part.lower_bound for part in parts), default=0.0)
    return float(np.sqrt(2.0 / low) * (1 + 1e-15)) if low > 0 else np.inf
