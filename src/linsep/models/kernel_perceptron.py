"""The kernel perceptron as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from linsep.core.drive import Outcome
from linsep.core.limits import Limits
from linsep.core.notes import warn
from linsep.core.problem import Problem, each_against_rest
from linsep.core.protocol import Solver, Status
from linsep.core.words import count, misplaced
from linsep.criteria import Criterion
from linsep.criteria import Perceptron as PerceptronCriterion
from linsep.errors import DataError, NotSeparatedWarning
from linsep.kernels.blocks import KernelValues
from linsep.models.fit import Answer, Check, Run, number, one_of, way_on
from linsep.models.kernel_base import KernelClassifier, kernel_table, places_of, problem_for
from linsep.models.model_file import Table
from linsep.models.summary import Line
from linsep.proofs.kernel import KernelGap, criterion
from linsep.solvers.one_vs_rest import OneVsRest
from linsep.solvers.perceptron.kernel import KernelMistakes, kernel_rows


class KernelPerceptron(KernelClassifier):
    """Perceptron in the feature space of a kernel: count the mistakes on every row.

    f(x) = sum_i alpha_i y_i K(x_i, x) + b, where alpha_i is how often row i was a mistake. If the
    classes are separable in the feature space with margin gamma (augmented by a constant 1), it
    ends after at most max (K_ii + 1) / gamma^2 mistakes.

    Parameters
    ----------
    kernel : str, kernel object or function, default="rbf"
        As in KernelSVM.
    gamma, sigma, degree, coef0 : optional
        Parameters of a kernel given by name.
    order : {"cyclic", "shuffle", "random"}, default="cyclic"
        How rows are visited: in order; in a new random order in each pass; drawn with replacement.
    keep : {"last", "pocket", "average"}, default="last"
        What to keep when the data are not separated: the last counts, those with fewest errors,
        or their mean over all visits.
    misclassified : {"<=", "<"}, default="<="
        Whether a value of zero counts as a mistake.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Limit of passes over the data.
    time_limit : float or None, default=None
    memory : float, default=1000.0
        Megabytes for the Gram matrix; where it does not fit, rows are computed when needed.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; a mistake counts as much as the weight of its row.
    random_state : int, RandomState or None, default=None
    warm_start : bool, default=False
        Start from the counts of the last fit, if the rows are as many.
    verbose : int, default=0
    callbacks : list or None, default=None
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Rows that were mistakes.
    support_vectors_ : array or sparse matrix
    n_support_ : array of shape (n_classes,)
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y alpha.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_, kernel_, status_, certificate_, solver_used_, outcome_, n_iter_, n_updates_

    See Also
    --------
    KernelSVM : The plane of maximum margin in the feature space.
    linsep.trace : Every update of a fit.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("xor")
    >>> model = linsep.KernelPerceptron(kernel="poly", degree=2, gamma=1.0).fit(table.X, table.y)
    >>> model.status_.name, model.n_updates_, model.predict(table.X).tolist() == table.y.tolist()
    ('SEPARATED', 4, True)
    """

    _checks: ClassVar[dict[str, Check]] = {
        "order": one_of("cyclic", "shuffle", "random"),
        "keep": one_of("last", "pocket", "average"),
        "misclassified": one_of("<=", "<"),
        "memory": number(0, above=True),
    }

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        gamma: Any = None,
        sigma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        order: str = "cyclic",
        keep: str = "last",
        misclassified: str = "<=",
        fit_intercept: bool = True,
        zero: str = "positive",
        max_iter: int = 1000,
        time_limit: float | None = None,
        memory: float = 1000.0,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        calibrate: str | None = None,
        calibrate_cv: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.order = order
        self.keep = keep
        self.misclassified = misclassified
        self.fit_intercept = fit_intercept
        self.zero = zero
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.calibrate_cv = calibrate_cv

    # -- fit --------------------------------------------------------------------------------

    def _is_better(self, first: Answer, answer: Answer) -> bool:
        return bool(first.certificate.errors < answer.certificate.errors)

    def _falls_back(self) -> bool:
        return True

    def _choose(self, problem: Problem) -> tuple[Solver[Any], str]:
        kernel = None if self._precomputed else self._kernel
        kernel_rows(problem, kernel, float(self.memory))  # before the parts, which share it
        solver: Any = KernelMistakes(
            kernel=kernel,
            order=self.order,
            keep=self.keep,
            strict=self.misclassified == "<",
            memory=float(self.memory),
            seed=self._seed(),
        )
        words = f"perceptron by counts of mistakes, {self.order} order (as asked)"
        if problem.binary:
            return solver, words
        return OneVsRest(solver, threads=1), f"{words}; {problem.K} classes, each against the rest"

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        """The counts of the last fit, if they belong to as many rows."""
        if not self.warm_start or not hasattr(self, "_counts"):
            return None
        if len(self._counts) != (1 if problem.binary else problem.K):
            return None
        if any(len(alpha) != problem.n for alpha, _ in self._counts):
            return None
        return self._counts[0] if problem.binary else self._counts

    def _limits(self, problem: Problem, solver: Solver[Any]) -> Limits:
        return Limits(steps=self.max_iter * problem.n)

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        if outcome.status is Status.DIVERGED:
            raise DataError(f"the numbers overflowed with kernel {self._kernel!r}; scale X.")
        found, status = self._judge(run.problem, outcome.witness), outcome.status
        if status.ok and found.errors:  # whatever it says, it is no answer
            status = Status.STALLED
        status = status if found.errors else Status.SEPARATED
        return Answer(outcome.witness, found, status, outcome, reason)

    def _judge(self, problem: Problem, witness: Any) -> KernelGap:
        """What is true of the counts, recomputed from the kernel."""
        return self._measured(problem, _counts_of(problem, witness), witness.a)

    def _measured(self, problem: Problem, counts: Any, offsets: Any) -> KernelGap:
        parts = [problem] if problem.binary else each_against_rest(problem)
        values = KernelValues(problem, None if self._precomputed else self._kernel)
        gaps, scores = [], np.zeros((problem.n, len(parts)))
        for k, part in enumerate(parts):
            b = float(offsets[k])
            gap, scores[:, k] = criterion(values, part.sign, problem.weight, counts[k], b)
            gaps.append(gap)
        if problem.binary:
            return gaps[0]
        lost = ~np.isfinite(scores).all(axis=1)
        errors = int(((scores.argmax(axis=1) != problem.label) | lost).sum())
        return KernelGap.together(gaps, errors, "one class against the rest")

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        self._keep_counts(problem, answer.witness)

    def _keep_counts(self, problem: Problem, witness: Any) -> None:
        """The counts of all machines, with their signs, class by class."""
        coef = _counts_of(problem, witness)
        self._counts = [(counts.copy(), float(b)) for counts, b in zip(coef, witness.a)]
        parts = [problem] if problem.binary else each_against_rest(problem)
        coef *= np.array([part.sign for part in parts])
        used = np.flatnonzero(coef.any(axis=0))
        used = used[np.argsort(problem.label[used], kind="stable")]
        self.classes_, self.kernel_ = problem.classes, self._kernel
        self.dual_coef_ = np.ascontiguousarray(coef[:, used])
        self.intercept_ = np.array(witness.a)
        self.n_support_ = np.bincount(problem.label[used], minlength=problem.K).astype(np.int32)
        self.support_ = used if problem.row_index is None else problem.row_index[used]
        self.support_vectors_ = self._vectors(problem, used)

    def _so_far(self, now: Any) -> dict[str, Any]:
        """What a copy of the estimator needs to predict with the present counts."""
        self._keep_counts(now.problem, now.solver.witness(now.problem, now.state))
        return {name: getattr(self, name) for name in self._predicting}

    def _warn(self, problem: Problem, answer: Answer) -> None:
        status, errors = answer.status, answer.certificate.errors
        if not (status.ok or errors == 0):
            hint = "Raise max_iter, choose another kernel, or use KernelSVM."
            warn(
                f"{status.value} ({status.name}, {count(self.n_iter_, 'pass')}). {errors} of "
                f"{problem.n} rows are on the wrong side. {way_on(answer.outcome, hint)}",
                NotSeparatedWarning,
            )

    # -- the answer -------------------------------------------------------------------------

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
        """The facts again, from the data and the numbers of the model; see linsep.certify."""
        check_is_fitted(self, "classes_")
        problem = problem_for(self, X, y, sample_weight)
        coef = np.zeros((len(self.dual_coef_), problem.n))
        coef[:, places_of(self, problem)] = self.dual_coef_
        parts = [problem] if problem.binary else each_against_rest(problem)
        counts = coef * np.array([part.sign for part in parts])
        return self._measured(problem, counts, self.intercept_)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: shape (n,) for two classes, (n, K) for more."""
        rows = self._rows(X)
        scores = self._scores_of(rows, self.dual_coef_.T) + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    def _criterion(self) -> Criterion:
        return PerceptronCriterion()

    def _told(self) -> list[Line]:
        gap, updates = self.certificate_, count(self.n_updates_, "update")
        lines = [
            ("algorithm", self.solver_used_),
            ("work", f"{updates}, {count(self.n_iter_, 'pass', 'passes')}"),
            ("kernel", repr(self.kernel_)),
            ("errors", misplaced(gap.errors)),
            ("vectors", f"{count(len(self.support_), 'row')} with mistakes"),
        ]
        if gap.errors == 0 and not gap.parts:
            lines.append(("margin", f"{gap.margin:.6g} in the feature space (one side)"))
        return lines

    @classmethod
    def _file(cls) -> Table[Any]:
        return kernel_table()

    def _n_machines(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _n_rows_of_dual(self) -> int:
        return self._n_machines()


def _counts_of(problem: Problem, witness: Any) -> NDArray[np.float64]:
    """The counts of mistakes, one row for each machine."""
    counts = np.zeros((1 if problem.binary else problem.K, problem.n))
    machine, row = np.divmod(witness.rows, problem.n)
    counts[machine, row] = witness.multipliers
    return counts
