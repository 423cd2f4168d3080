"""The support vector machine with an additive kernel as a scikit-learn classifier."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from linsep.core.costs import AGREED, AGREED_KERNEL, FEW_KEPT, LEVEL_PROOF, PROOF
from linsep.core.drive import Moment, Outcome
from linsep.core.notes import warn
from linsep.core.problem import Problem, each_against_rest
from linsep.core.protocol import Solver, Status, Witness
from linsep.core.words import count, percent
from linsep.criteria import Criterion, Hinge
from linsep.errors import DataError, GapWarning, ModelError, SettingError
from linsep.kernels.additive import AdditiveFunction, Levels, levels_of
from linsep.kernels.histograms import Additive, PowerMean
from linsep.kernels.tiles import negative_entry
from linsep.losses.hinge import best_stretch
from linsep.models.base import Classifier
from linsep.models.explain import (
    Explanation,
    Ranking,
    explain_functions,
    many_rows,
    one_row,
    ranked,
)
from linsep.models.fit import (
    CUT_SHORT,
    Answer,
    Check,
    Run,
    check_params,
    cost_of_slack,
    either,
    jobs,
    none,
    number,
    one_of,
    overflow_words,
    read_problem,
    row_weights,
    rows_to_judge,
    threads_of,
    way_on,
)
from linsep.models.linear_svm import LinearSVM
from linsep.models.model_file import (
    CALIBRATION,
    CLASSES,
    FEATURES,
    NAMES,
    OF_A_RUN,
    STATUS,
    Field,
    Fields,
    Table,
    array,
    extra,
    finite,
    n_planes,
    places,
    settings,
    stored,
)
from linsep.models.summary import Line, bounds, street, work
from linsep.models.svm_choice import is_small
from linsep.proofs.additive import additive_gap, belong, scores_and_errors, squared_lengths
from linsep.proofs.gap import Gap
from linsep.proofs.plain import require_same
from linsep.solvers.kernel.additive_rows import begins_short
from linsep.solvers.kernel.smo import SMO
from linsep.solvers.one_vs_rest import OneVsRest

Array = NDArray[np.float64]

_LARGEST_ENTRY = 1e100  # of X
_SETS = 512, 2048  # rows of a working set: a quarter of all, within these
_SMALL_ROWS, _SMALL_GAP = 512, 1e-10  # rows up to which this gap is aimed at, as it costs little
_SHOWN_FEATURES = 6  # features in a summary
_FUNCTIONS_RANK = (
    "how far a function reaches says nothing of rows that do not go there, and columns on a larger "
    "scale have larger kernel values"
)


# -- What the parameter ``kernel`` of AdditiveSVM may be, and what its rows must be ---------------


_POWERS = {"intersection": -math.inf, "chi2": -1.0, "hellinger": 0.0}
_NAMES = {power: name for name, power in _POWERS.items()}


def _is_kernel(value: Any) -> bool:
    if isinstance(value, str):
        return value in _POWERS
    if isinstance(value, Additive):
        return value.power <= 0
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return float(value) <= 0


kernel_of = Check(
    _is_kernel,
    "'intersection', 'chi2', 'hellinger', a power p <= 0, or one of the kernels Intersection(), "
    "ChiSquared(), Hellinger() and PowerMean(p) with p <= 0; others have no functions of single "
    "features, so use KernelSVM",
)


def power_of(kernel: Any) -> float:
    """The exponent of the power mean."""
    if isinstance(kernel, str):
        return _POWERS[kernel]
    return float(kernel.power if isinstance(kernel, Additive) else kernel)


def plain_kernel(kernel: Any) -> str | float:
    """The kernel as a name or a number."""
    power = power_of(kernel)
    return _NAMES.get(power, power)


def kernel_name(kernel: Any) -> str:
    """The kernel in words."""
    plain = plain_kernel(kernel)
    return plain if isinstance(plain, str) else f"power mean (p = {plain:g})"


def require_nonnegative(matrix: Any, kernel: Any, names: Any, who: str) -> None:
    """Raise DataError at the first negative entry, with its place."""
    found = negative_entry(matrix, names)
    if found is not None:
        raise DataError(
            f"Negative values in data passed to {who}: {found}. The {kernel_name(kernel)} kernel "
            "compares histograms, whose entries are >= 0; shift the column, split it into a "
            "positive and a negative part, or use KernelSVM with RBF."
        )


# -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves: the functions, the offsets and y alpha of all rows."""

    function: AdditiveFunction
    offsets: Array
    dual: Array


@dataclass(frozen=True)
class AdditiveAnswer(Answer):
    """The machine as functions of single features."""

    fitted: Fitted


_FINITE = Check(lambda v: number(0, above=True).test(v) and v < np.inf, "a finite number > 0")


class AdditiveSVM(Classifier):
    """Support vector machine for histograms, at cost linear in rows and features.

    The kernel is a sum over features of a mean of two numbers >= 0,
    K(x, z) = sum_k M_p(x_k, z_k) with the power mean of exponent p <= 0. The decision is
    f(x) = sum_k h_k(x_k) + b, one function for each feature. Training and prediction work with
    these functions: no kernel matrix is built, and prediction does not depend on the number of
    support vectors. The answer is that of the exact kernel machine, with a proved duality gap.

    Parameters
    ----------
    kernel : {"intersection", "chi2", "hellinger"}, number <= 0 or kernel, default="intersection"
        "intersection" is min(x, z) (p = -inf), "chi2" is 2 x z / (x + z) with 0/0 = 0 (p = -1),
        "hellinger" is sqrt(x z) (p = 0); a number is the exponent p of the power mean. Kernels
        of ``linsep.kernels`` (Intersection, ChiSquared, Hellinger, PowerMean) will do too.
    C : float, default=1.0
        Cost of a violation.
    beta : float or None, default=None
        C in the symbol of the lectures; give one of the two.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0, with two classes; see ``linsep.Linear``.
    tol : float, default=1e-5
        Relative duality gap to reach. The default gives scores nearer to the optimum than those of
        SVC at its default; 1e-3 is faster, and good for searching.
    max_iter : int, default=100000
        Limit of working sets (of passes for "hellinger").
    time_limit : float or None, default=None
        Limit in seconds; the best model so far is kept, with its proof.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None
        Chooses the rows to begin with; None is 0.
    warm_start : bool, default=False
        Start from the dual variables of the last fit, if it had the same rows.
    verbose : int, default=0
        Show progress on stderr.
    callbacks : list or None, default=None
        Observers of linsep or callbacks of scikit-learn.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        Give ``predict_proba``, fitted to rows out of fold.
    calibrate_cv : int, splitter, list or None, default=None
        How rows are held out for ``calibrate``: a number of folds (None: 5, stratified and
        shuffled), a splitter of scikit-learn, or pairs (train, test) of row numbers.
    n_jobs : int or None, default=None
        Threads for three classes and more; None or -1 means all cores. The result does not
        depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    intercept_ : array of shape (1,) or (n_classes,)
        Offsets b; they are not penalised.
    support_ : array of shape (n_support,)
        Rows with a dual variable that is not zero.
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y alpha of these rows.
    function_ : AdditiveFunction
        The functions h_k: values and coefficients of every feature.
    n_iter_ : int
        Passes over the data.
    status_ : Status
        Why it stopped; its value is a sentence.
    certificate_ : Gap
        objective, lower_bound, gap, relative_gap, errors, margin; recomputed from the data.
    solver_used_ : str
    outcome_ : Outcome

    See Also
    --------
    linsep.KernelSVM : Any kernel, with blocks of the kernel matrix.
    linsep.kernels.PowerMean : The kernel by itself.

    Notes
    -----
    Three classes and more: one machine for each class against the rest. Entries of X must be
    >= 0; features are not scaled, and min, chi2 and Hellinger all grow in proportion with x.

    Examples
    --------
    >>> import linsep
    >>> X = [[3, 0, 1], [4, 1, 0], [0, 3, 1], [1, 5, 0]]
    >>> model = linsep.AdditiveSVM(kernel="chi2").fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[5, 1, 1], [0, 2, 2]]).tolist(), model.status_.name
    (['a', 'b'], 'CERTIFIED')
    """

    certificate_: Gap

    _checks: ClassVar[dict[str, Check]] = {
        "kernel": kernel_of,
        "C": _FINITE,
        "beta": either(none, _FINITE),
        "tol": number(0, above=True),
        "n_jobs": jobs,
    }
    _own_threads: ClassVar[bool] = True
    _predicting: tuple[str, ...] = ("function_", "intercept_", "classes_", "n_features_in_")
    fit_intercept: ClassVar[bool] = True
    loss: ClassVar[str] = "hinge"

    _cost = property(cost_of_slack)

    def __init__(
        self,
        kernel: Any = "intersection",
        *,
        C: float = 1.0,
        beta: float | None = None,
        zero: str = "positive",
        tol: float = 1e-5,
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
        self.kernel = kernel
        self.C = C
        self.beta = beta
        self.zero = zero
        self.tol = tol
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

    # -- fit --------------------------------------------------------------------------------

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        self._check_settings()
        problem = read_problem(self, X, y, sample_weight)
        require_nonnegative(problem.matrix, self.kernel, problem.feature_names, type(self).__name__)
        return problem

    def _guard(self, problem: Problem) -> None:
        data = problem.matrix.data if problem.sparse else problem.matrix
        if data.size and float(data.max()) > _LARGEST_ENTRY:
            raise DataError(
                f"X reaches {float(data.max()):.3g}, too large for sums; scale the columns, for "
                "instance with sklearn.preprocessing.MaxAbsScaler."
            )

    def _answer(self, run: Run) -> Answer:
        """Working sets; the Hellinger kernel is a linear machine on square roots."""
        if power_of(self.kernel) != 0.0:
            return super()._answer(run)
        linear = self._linear_on_roots(run)
        dual = np.zeros((len(linear.coef_), run.problem.n))
        dual[:, linear.support_] = linear.dual_coef_
        fitted = Fitted(_straight(linear.coef_), linear.intercept_.copy(), dual)
        words = f"linear machine on square roots: {linear.solver_used_}"
        return self._proved(run.problem, fitted, linear.outcome_, words)

    def _least_proof(self, problem: Problem) -> float:
        return super()._least_proof(problem) * (LEVEL_PROOF / PROOF)

    def _falls_back(self) -> bool:
        return power_of(self.kernel) != 0.0

    def _choose(self, problem: Problem) -> tuple[Solver[Any], str]:
        power = power_of(self.kernel)
        tol = 0.99 * float(self.tol)
        small = problem.n <= _SMALL_ROWS and self.tol <= AGREED_KERNEL
        solver = SMO(
            kernel=PowerMean(power),
            C=self._cost,
            tol=tol,
            fine=min(tol, _SMALL_GAP) if small else tol,
            q=int(np.clip(problem.n // 4, *_SETS)),
            single=begins_short(levels_of(problem, power)),
            by_features=True,
            seed=self._seed(),
        )
        words = (
            f"second-order working sets of {min(solver.q, problem.n)} rows, scores through "
            "functions of single features"
        )
        if problem.binary:
            return solver, words
        return OneVsRest(solver, threads_of(self.n_jobs)), words

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        """Dual variables of the last fit, where it had the same rows."""
        K = 1 if problem.binary else problem.K
        if not self.warm_start or not hasattr(self, "dual_coef_"):
            return None
        if self._n_fitted != problem.n or len(self.dual_coef_) != K:
            return None
        support = problem.index_of(self.support_)
        if support is None:
            return None
        alpha = np.zeros((K, problem.n))
        alpha[:, support] = np.abs(self.dual_coef_) * (self._cost / self._C_fitted)
        return [alpha[0]] if problem.binary else [[own] for own in alpha]

    def _linear_on_roots(self, run: Run) -> LinearSVM:
        """sqrt(x z) is the product of square roots: a linear machine, h_k(x) = w_k sqrt(x)."""
        problem = run.problem
        root = problem.matrix.sqrt() if problem.sparse else np.sqrt(problem.matrix)
        tol = 0.9 * float(self.tol)
        if self.tol <= AGREED_KERNEL and is_small(problem):  # as it costs little
            tol = min(tol, AGREED)
        linear = LinearSVM(
            self._cost, tol=tol, max_iter=self.max_iter,
            time_limit=self.time_limit, random_state=self._seed(),
            callbacks=[*run.observers, run.bridge], n_jobs=self.n_jobs,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GapWarning)  # told by the certificate of this machine
            linear._fit(root, problem.label, problem.weight, checkpoint=run.checkpoint)
        return linear

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        problem, witness = run.problem, outcome.witness
        dual = _dual(problem, witness)
        function = _function_of(problem, power_of(self.kernel), dual)
        fitted = Fitted(function, witness.a.copy(), dual)
        return self._proved(problem, fitted, outcome, reason)

    def _proved(
        self, problem: Problem, fitted: Fitted, outcome: Outcome[Any], reason: str
    ) -> Answer:
        """The certificate, of a machine a hair longer where that has the better one."""
        certificate = self._measured(problem, fitted)
        fine = problem.n <= _SMALL_ROWS  # whatever tol is, so that a smaller one is never worse
        unproved = certificate.relative_gap > (_SMALL_GAP if fine else self.tol)
        if unproved and outcome.status not in (Status.DIVERGED, *CUT_SHORT):
            longer = stretched(problem, fitted, self._cost)
            other = self._measured(problem, longer)
            if other.relative_gap < certificate.relative_gap:
                fitted, certificate = longer, other
        status = certificate.settle(outcome.status, self.tol)
        return AdditiveAnswer(Witness(fitted.offsets), certificate, status, outcome, reason, fitted)

    def _measured(self, problem: Problem, fitted: Fitted) -> Gap:
        return additive_gap(
            problem, fitted.function, fitted.offsets, np.abs(fitted.dual), self._cost,
            kernel_name(self.kernel),
        )  # fmt: skip

    def _keep(self, problem: Problem, answer: Answer) -> None:
        super()._keep(problem, answer)
        assert isinstance(answer, AdditiveAnswer)
        fitted, index = answer.fitted, problem.row_index
        support = np.flatnonzero(fitted.dual.any(axis=0))
        self.function_, self.intercept_ = fitted.function, fitted.offsets
        self.support_ = support if index is None else index[support]
        self.dual_coef_ = fitted.dual[:, support]
        self._n_fitted, self._C_fitted = problem.n, self._cost

    def _so_far(self, now: Moment[Any]) -> dict[str, Any]:
        problem, witness = now.problem, now.solver.witness(now.problem, now.state)
        power = power_of(self.kernel)
        if power == 0.0:
            coef, offsets = problem.split(witness.a)
            function = _straight(np.atleast_2d(coef))
        else:
            function = _function(levels_of(problem, power), _dual(problem, witness))
            offsets = witness.a
        known = (function, np.atleast_1d(offsets).copy(), problem.classes, problem.d)
        return dict(zip(self._predicting, known))

    def _warn(self, problem: Problem, answer: Answer) -> None:
        assert isinstance(answer, AdditiveAnswer)
        status, gap = answer.status, answer.certificate
        if status is Status.DIVERGED:
            raise DataError(overflow_words(problem))
        if status.ok:
            return
        short = status in CUT_SHORT
        rounding = 0.0 if short else rounding_of(problem, answer.fitted, self._cost)
        warn(
            f"{status.value} ({status.name}, {count(self.n_iter_, 'pass')}). The objective "
            f"{gap.objective:.6g} is proved to be within {percent(gap.relative_gap, 3)} of the "
            f"best possible one; tol asks for {percent(self.tol, 3)}. "
            f"{way_on(answer.outcome, self._advice(rounding))}",
            GapWarning,
        )

    def _advice(self, rounding: float) -> str:
        """What would help."""
        gap = self.certificate_
        if 2 * rounding > gap.objective - gap.lower_bound:
            return (
                f"C = {self._cost:g} multiplies the rounding errors of the scores: {rounding:.3g} "
                "of the objective is more than double precision can prove. A smaller C, or a "
                f"tol of {max(2.0 * gap.relative_gap, self.tol):.2g}, has a proof."
            )
        if self.status_ is Status.STALLED:
            return "A smaller C, or columns on a smaller scale, make the problem easier."
        return "Raise max_iter or time_limit, or lower C."

    # -- the answer: scores, functions of single features, the proof for given rows ---------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores sum_k h_k(x_k) + b: shape (n,) for two classes, (n, K) for more."""
        check_is_fitted(self)
        X = rows_to_judge(self, X)
        names = getattr(self, "feature_names_in_", None)
        require_nonnegative(X, self.kernel, names, type(self).__name__)
        scores = self.function_.scores(X) + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def feature_function(self, k: Any, x: ArrayLike | None = None) -> tuple[Array, Array]:
        """h_k as points: f(x) = sum_k h_k(x_k) + b.

        Parameters
        ----------
        k : int or str
            Number or name of the feature.
        x : array, optional
            Where to evaluate it, values >= 0. Without it, 0 and the values of the support
            vectors; for the intersection kernel h_k is straight between them, and constant
            after the last.

        Returns
        -------
        x : array of shape (m,)
        h : array of shape (m,) for two classes, (m, n_classes) for more
        """
        check_is_fitted(self)
        k = _feature(self, k)
        function = self.function_
        own = slice(function.start[k], function.start[k + 1])
        at = np.append(0.0, function.values[own]) if x is None else np.ravel(np.asarray(x, float))
        if not (np.isfinite(at).all() and (at >= 0).all()):
            raise SettingError(f"x holds {at[~(at >= 0)][:1]}; h_k is defined for numbers >= 0.")
        values, coef = function.values[own], function.coef[own]
        one = AdditiveFunction(function.power, np.array([0, len(values)]), values, coef)
        h = one.scores(at[:, None])
        return at, h[:, 0] if h.shape[1] == 1 else h

    def feature_ranges(self) -> Array:
        """How much each feature can move the score: max h_k - min h_k over 0 and the support.

        Shape (d,) for two classes, (n_classes, d) for more.
        """
        check_is_fitted(self)
        function = self.function_
        h = function.at_slots()
        high, low = np.zeros((function.d, h.shape[1])), np.zeros((function.d, h.shape[1]))
        feature = np.repeat(np.arange(function.d), np.diff(function.start))
        np.maximum.at(high, feature, h)
        np.minimum.at(low, feature, h)
        out = (high - low).T
        return out[0] if len(out) == 1 else out

    def explain(self, row: Any) -> Explanation:
        """The score of one row as a sum of h_k(x_k), a function of each feature.

        With more than two classes it is the lead of the best class over the second.
        """
        check_is_fitted(self)
        x, frame = one_row(row, self.n_features_in_)
        require_nonnegative(
            x[None], self.kernel, getattr(self, "feature_names_in_", None), type(self).__name__
        )
        return explain_functions(self, frame, self._terms(x[None])[0])

    def ranking(self, X: Any = None) -> Ranking:
        """Features by how much they can change the score; with rows X by how much they do.

        The first is max h_k - min h_k, the second the standard deviation of h_k over the rows; of
        several classes the largest.
        """
        check_is_fitted(self)
        if X is None:
            size, what = np.atleast_2d(self.feature_ranges()).max(axis=0), "max h_k - min h_k"
        else:
            rows = many_rows(X, self.n_features_in_)
            size, what = self._terms(rows).std(axis=0).max(axis=1), "standard deviation of h_k(x_k)"
        return ranked(self, size, scaled=X is not None, warning=_FUNCTIONS_RANK, what=what)

    def _terms(self, X: Array) -> Array:
        """h_k(x_k) of rows: shape (n, d, machines)."""
        h = [self.feature_function(k, X[:, k])[1] for k in range(self.n_features_in_)]
        return np.stack([one.reshape(len(X), -1) for one in h], axis=1)

    def _criterion(self) -> Criterion:
        return Hinge(C=self._cost)

    def squared_length(self) -> float:
        """|w|^2 in the feature space; of several machines all together."""
        check_is_fitted(self)
        return float(squared_lengths(self.function_).sum())

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> Gap:
        """The proof again, from these rows: what ``linsep.certify`` gives."""
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape[1] != self.n_features_in_:
            raise ModelError(
                f"X has {count(X.shape[1], 'feature')}, the model {self.n_features_in_}."
            )
        require_nonnegative(X, self.kernel, None, type(self).__name__)
        y = np.asarray(y)
        n = X.shape[0]
        problem = Problem(X, y, sample_weight=row_weights(self.class_weight, y, sample_weight))
        require_same(problem, X, y, sample_weight, self.class_weight)
        if list(problem.classes) != list(self.classes_):
            raise ModelError(
                f"the labels are {problem.classes.tolist()}, the model's {self.classes_.tolist()}; "
                "a proof needs the rows that were trained on."
            )
        dual = np.zeros((len(self.dual_coef_), n))
        inside = self.support_ < n
        dual[:, self.support_[inside]] = self.dual_coef_[:, inside]
        if problem.row_index is not None:
            dual = dual[:, problem.row_index]
        if not belong(problem, self.function_, dual):
            dual[:] = 0.0  # other rows, or an altered file: they prove nothing
        return additive_gap(
            problem, self.function_, self.intercept_, np.abs(dual), self._cost,
            kernel_name(self.kernel),
        )  # fmt: skip

    # -- files and words ----------------------------------------------------------------------

    def _told(self) -> list[Line]:
        gap, function = self.certificate_, self.function_
        vectors, values = count(len(self.support_), "vector"), count(len(function.values), "value")
        return [
            ("algorithm", self.solver_used_),
            *work(getattr(self, "outcome_", None)),
            ("minimised", gap.words),
            *bounds(gap),
            street(gap),
            ("support", f"{vectors}, {values} in {count(function.d, 'feature')}"),
            *self._strongest(),
        ]

    def _strongest(self) -> list[Line]:
        """The features that move the score most."""
        ranges = np.atleast_2d(self.feature_ranges()).max(axis=0)
        names = getattr(self, "feature_names_in_", None)
        order = [int(k) for k in np.argsort(-ranges)[:_SHOWN_FEATURES] if ranges[k] > 0]
        words = [f"{f'x{k + 1}' if names is None else names[k]} {ranges[k]:.4g}" for k in order]
        return [("features", f"{', '.join(words)} (largest change of the score)")] if words else []

    @classmethod
    def _file(cls) -> Table[Any]:
        return ADDITIVE

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _feature(model: AdditiveSVM, k: Any) -> int:
    names = getattr(model, "feature_names_in_", None)
    if isinstance(k, str):
        found: Any = [] if names is None else np.flatnonzero(np.asarray(names) == k)
        if not len(found):
            raise SettingError(f"there is no feature {k!r}; give its number, or a name of fit.")
        return int(found[0])
    d = int(model.n_features_in_)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not -d <= k < d:
        raise SettingError(f"there is no feature {k!r}; give a number from 0 to {d - 1}.")
    return int(k) % d


def _dual(problem: Problem, witness: Witness) -> Array:
    """y alpha of all rows, one line for each machine."""
    part, row = np.divmod(witness.rows, problem.n)
    signs = [problem.sign] if problem.binary else [p.sign for p in each_against_rest(problem)]
    dual = np.zeros((len(signs), problem.n))
    dual[part, row] = witness.multipliers
    return dual * np.array(signs)


def _function(levels: Levels, dual: Array) -> AdditiveFunction:
    rows = np.flatnonzero(dual.any(axis=0))
    return levels.function(rows, np.ascontiguousarray(dual[:, rows].T))


def _function_of(problem: Problem, power: float, dual: Array) -> AdditiveFunction:
    """The same; of the few rows of a sample without a look at all others."""
    rows = np.flatnonzero(dual.any(axis=0))
    if FEW_KEPT * len(rows) > problem.n:
        return _function(levels_of(problem, power), dual)
    return _function(Levels(problem.matrix[rows], power), dual[:, rows])


def _straight(coef: Array) -> AdditiveFunction:
    """h_k(x) = w_k sqrt(x)."""
    d = coef.shape[1]
    return AdditiveFunction(0.0, np.arange(d + 1), np.ones(d), np.ascontiguousarray(coef.T))


# -- A machine made a little longer, where a huge C multiplies what is lost to rounding -----------
#
# With margins of 1 - 1e-13 and C = 1e9 the losses of a thousand rows are as large as the rest of
# the objective. The machine s f with s = 1 + 1e-12 has none, and |w|^2 grows by 2e-12 of itself.
# alpha becomes s alpha, which must stay in its box: it does where no variable is at its bound.


_LONGEST_STRETCH = 2.0  # times as long as it was, at most
_ROUNDED = 1.0 - 1e-14  # the scores of the longer machine are rounded anew


def stretched(problem: Problem, fitted: Fitted, C: float) -> Fitted:
    """Every machine times the best factor from 1 to what its box allows, errors counted."""
    function, offsets, cost = fitted.function, fitted.offsets, C * problem.weight
    scores, off = scores_and_errors(problem, function, offsets)
    squared = squared_lengths(function)
    factors = np.ones(len(offsets))
    for k, part in enumerate([problem] if problem.binary else each_against_rest(problem)):
        safe = (part.sign * scores[:, k] - off[:, k]) * _ROUNDED
        alpha = np.abs(fitted.dual[k])
        used = alpha > 0
        room = float((cost[used] / alpha[used]).min(initial=_LONGEST_STRETCH))
        factors[k] = best_stretch(float(squared[k]), cost, safe, max(1.0, room))
    longer = AdditiveFunction(
        function.power, function.start, function.values, function.coef * factors
    )
    dual = np.clip(fitted.dual * factors[:, None], -cost, cost)
    return replace(fitted, function=longer, offsets=offsets * factors, dual=dual)


def rounding_of(problem: Problem, fitted: Fitted, C: float) -> float:
    """What the errors of the scores, multiplied by C, may add to the objective."""
    scores, off = scores_and_errors(problem, fitted.function, fitted.offsets)
    cost, total = C * problem.weight, 0.0
    for k, part in enumerate([problem] if problem.binary else each_against_rest(problem)):
        near = part.sign * scores[:, k] < 1.0 + 2.0 * off[:, k]  # a stretched row is just outside
        total += float((cost * off[:, k])[near].sum())
    return total


# -- Fields of a model file -----------------------------------------------------------------------


_MORE = {
    "class_weight": either(
        none, one_of("balanced"), Check(lambda v: isinstance(v, dict), "weights by class")
    )
}


def _params(model: AdditiveSVM) -> dict[str, Any]:
    told: dict[str, Any] = settings(*OF_A_RUN).out(model)
    return told | {"kernel": plain_kernel(model.kernel)}


def _check_params(model: AdditiveSVM, fields: Fields) -> None:
    """Parameters that fit would refuse are refused here."""
    try:
        checks = model._common_checks | model._checks | model._calibration_check()
        check_params(model, checks | _MORE)
    except SettingError as error:
        raise ModelError(f"params: {error}") from error


def _read_function(model: AdditiveSVM, fields: Fields) -> None:
    """From start, values and coef."""
    d = model.n_features_in_
    values = np.asarray(fields["values"], dtype=np.float64)
    start = np.asarray(fields["start"])
    wrong = start.shape != (d + 1,) or start.dtype.kind not in "iu" or (np.diff(start) < 0).any()
    if wrong or start[0] != 0 or values.shape != (int(start[-1]),):
        raise ModelError(f"start does not cut {values.size} values into {d} features")
    rising = np.diff(values) > 0
    edges = start[1:-1]
    rising[edges[(edges > 0) & (edges < len(values))] - 1] = True
    if not (np.isfinite(values).all() and (values > 0).all() and rising.all()):
        raise ModelError("values are not positive numbers in rising order")
    coef = finite(fields, "coef", (len(values), n_planes(model)))
    power = power_of(model.kernel)
    model.function_ = AdditiveFunction(power, start.astype(np.int64), values, coef)


def _check_extra(model: AdditiveSVM, fields: Fields) -> None:
    if extra_of_additive.back is not None:
        extra_of_additive.back(model, fields)
    for name in ("n_iter_", "n_updates_", "_n_fitted"):
        value = getattr(model, name, 0)
        if type(value) is not int or value < 0:
            raise ModelError(f"{name} is {value!r}, not a whole number >= 0")
    last = int(model.support_.max(initial=-1))
    if last >= getattr(model, "_n_fitted", np.inf):
        raise ModelError(f"support names row {last} of {model._n_fitted}")
    if not number(0, above=True).test(getattr(model, "_C_fitted", 1.0)):
        raise ModelError(f"_C_fitted is {model._C_fitted!r}, not a number > 0")


extra_of_additive = extra(
    "n_iter_",
    "n_updates_",
    "solver_used_",
    "fingerprint_",
    "_n_fitted",
    "_C_fitted",
)
ADDITIVE: Table[AdditiveSVM] = Table(
    "function_",
    (
        Field("params", _params, _check_params),
        CLASSES,
        FEATURES,
        NAMES,
        Field("start", lambda model: model.function_.start, _read_function),
        Field("values", lambda model: model.function_.values),
        Field("coef", lambda model: model.function_.coef),
        array("intercept", lambda model: (n_planes(model),)),
        places("support"),
        array("dual_coef", lambda model: (n_planes(model), len(model.support_))),
        STATUS,
        stored("certificate", Gap.from_dict),
        replace(extra_of_additive, back=_check_extra),
        CALIBRATION,
    ),
)
