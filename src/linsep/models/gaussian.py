"""Gaussian classes as a scikit-learn classifier: the Bayes rule with estimated parameters."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpstrf
from sklearn.utils.validation import check_is_fitted

from linsep._sklearn import BaseEstimator, ClassifierMixin, clone
from linsep.core.cluster import as_stream
from linsep.core.costs import IN_CACHE
from linsep.core.drive import Outcome
from linsep.core.lanes import one_blas_thread
from linsep.core.limits import enough_memory
from linsep.core.notes import warn
from linsep.core.problem import Problem
from linsep.core.protocol import State, Witness
from linsep.core.validate import in_parts, plain_labels
from linsep.core.words import count
from linsep.errors import CapabilityError, DataError, DegenerateWarning, LabelError, ModelError
from linsep.losses.logistic import posteriors
from linsep.models.explain import Explanation, Ranking, explain_linear, ranking_of
from linsep.models.fit import (
    Check,
    check_params,
    either,
    none,
    number,
    one_of,
    read_problem,
    rows_to_judge,
)
from linsep.models.model_file import (
    CLASSES,
    FEATURES,
    NAMES,
    STATUS,
    Field,
    Fields,
    Table,
    array,
    extra,
    places,
    settings,
    stored,
)
from linsep.models.parts import OwnRule, class_factors, counted, gathered, keep_names, mapped
from linsep.models.summary import Line, rule, written
from linsep.proofs.again import handed_out
from linsep.proofs.certificate import judge
from linsep.proofs.gaussian import (
    GaussianCertificate,
    Parameters,
    StreamGaussian,
    Whitener,
    judge_gaussian,
    stream_gaussian,
    whitener,
)
from linsep.proofs.plain import require_sealed, seal
from linsep.risk.decision import Decisions, decisions
from linsep.risk.linear_rules import (
    LogisticRule,
    check_priors,
    gaussian_weights,
    rule_of_scores,
)
from linsep.rows.moments import class_rows, mean_about, moment_sums, moments_about, reach_about
from linsep.rows.parts import PartsProblem, looked_at

Array = NDArray[np.float64]


class GaussianClassifier(ClassifierMixin, BaseEstimator):
    """Bayes rule of classes with Gaussian densities, for any loss.

    The parameters have the largest likelihood: means, and second moments divided by n (not
    n - 1). They are put into the Bayes rule q(x) = argmin_d sum_k p(k | x) W(d, k).

    Parameters
    ----------
    covariance : {"full", "shared", "diagonal", "shared-diagonal"}, default="full"
        One covariance for each class (a quadratic rule), one for all classes (a linear rule),
        independent features with variances of each class (Gaussian naive Bayes, quadratic), or
        with the same variances in all classes (linear).
    priors : array of shape (n_classes,), dict or None, default=None
        Probabilities of the classes in sorted order, or by label; None takes their shares of
        the rows, by weight.
    loss : array of shape (n_decisions, n_classes) or None, default=None
        W[d, k] is the loss of decision d when class k is true. The first decisions are the
        classes in sorted order, each further row is a reject option. None is the 0/1 loss.
    reject_label : label, list of labels or None, default=None
        What ``predict`` gives for the reject options. None: "reject" if the classes are text,
        else -1, or 0 where -1 is a class.
    regularization : float or None, default=None
        Share of the variance of each column to add to its variance in every class. 0: nothing,
        and a singular covariance is an error. None: nothing, unless a covariance is singular;
        then 1e-6 with a DegenerateWarning.
    class_weight : dict, "balanced" or None, default=None
        Weights of the rows of each class.

    Attributes
    ----------
    means_ : array of shape (n_classes, n_features)
    covariance_ : array
        (K, d, d), (d, d), (K, d) or (d,) in the order of the four structures.
    priors_ : array of shape (n_classes,)
    classes_ : array of shape (n_classes,)
    decisions_ : array of shape (n_decisions,)
        What ``predict`` can give: the classes and the reject labels.
    ridge_ : array of shape (n_features,)
        What was added to the variances.
    ignored_ : array of int
        Columns with the same value in every row; they take no part.
    is_linear_ : bool
        Whether the decisions are those of the largest of linear scores.
    coef_, intercept_ : array
        Where the log odds are linear only: of shape (1, d) and (1,) for two classes, with the
        threshold of the loss in the intercept; (K, d) and (K,) for more.
    status_ : Status
    certificate_ : GaussianCertificate
        Likelihood, the best one possible, errors, and margin of a linear rule.
    solver_used_ : str
    outcome_ : Outcome
    n_iter_ : int

    See Also
    --------
    linsep.risk.plug_in : The same with densities of any kind.
    LogisticRegression : Estimates the same linear posterior without the Gaussians.

    Notes
    -----
    scikit-learn 1.9 divides by n as well, so its GaussianNB(var_smoothing=0),
    QuadraticDiscriminantAnalysis and LinearDiscriminantAnalysis give the same posteriors
    (earlier releases divide by n_k - 1, and by n - K with solver "svd"). Its shared covariance
    is weighted with given priors, ours always with the rows.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [2.0], [5.0], [7.0]], ["a", "a", "b", "b"]
    >>> model = linsep.GaussianClassifier("shared").fit(X, y)
    >>> model.coef_.tolist(), model.intercept_.tolist(), model.predict([[3.4]]).tolist()
    ([[5.0]], [-17.5], ['a'])
    >>> wary = linsep.GaussianClassifier("shared", loss=[[0, 1], [1, 0], [0.2, 0.2]])
    >>> wary.fit(X, y).predict([[3.0], [3.4], [4.0]]).tolist()
    ['a', 'reject', 'b']
    """

    _checks: ClassVar[dict[str, Check]] = {
        "covariance": one_of("full", "shared", "diagonal", "shared-diagonal"),
        "regularization": either(none, number(0)),
    }
    fit_intercept = True  # not a setting: densities have no plane through the origin

    certificate_: GaussianCertificate = handed_out()
    classes_: NDArray[Any]
    decisions_: NDArray[Any]
    priors_: Array
    coef_: Array
    intercept_: Array
    _forms: Densities
    _decide: Decisions
    _posterior: LogisticRule | None
    """Weights of the log odds where these are linear; those of coef_ without the loss."""

    def __init__(
        self,
        covariance: str = "full",
        *,
        priors: Any = None,
        loss: Any = None,
        reject_label: Any = None,
        regularization: float | None = None,
        class_weight: Any = None,
    ) -> None:
        self.covariance = covariance
        self.priors = priors
        self.loss = loss
        self.reject_label = reject_label
        self.regularization = regularization
        self.class_weight = class_weight

    # -- fit --------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate the densities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Sparse rows stay sparse for the diagonal structures. Or a stream, see
            ``linsep.data.stream``.
        y : array of shape (n_samples,)
            Any labels, two classes or more; a stream has them in it.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight s counts as s rows.

        Returns
        -------
        self
        """
        # small products; and the bits do not depend on the threads
        with one_blas_thread(), enough_memory("the fit of GaussianClassifier"):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        begin = time.perf_counter()
        check_params(self, self._checks)
        if in_parts(X):
            stream = as_stream(X, y, sample_weight)
            parts = looked_at(
                stream, fit_intercept=True, class_weight=partial(class_factors, self.class_weight)
            )
            if parts.look.size > stream.memory // 2:
                self._fit_to(parts, begin)
                self.n_iter_ = stream.passes
            else:
                self._fit(*gathered(stream))
            keep_names(self, parts)
            return self
        self._fit_to(read_problem(self, X, y, sample_weight), begin)
        return self

    def _fit_to(self, problem: Problem | PartsProblem, begin: float) -> None:
        """Estimate, make the rule, prove."""
        self._forget()
        proof = self._proof_of(problem)
        self.classes_ = problem.classes
        given = self.priors is not None
        priors = check_priors(self.priors, problem.K, problem.classes) if given else None
        decisions(self.loss, self.classes_, self.reject_label)
        found = estimate(problem, self.covariance, self.regularization)
        self.priors_ = found.weight / found.weight.sum() if priors is None else priors
        self.means_, self.covariance_ = found.means, found.covariance
        self.ridge_, self.ignored_ = found.ridge, np.flatnonzero(~found.used)
        self.degenerate_ = found.trouble
        self._set_rule()
        self.n_iter_ = self.n_updates_ = 1
        self.certificate_ = proof()
        self.status_ = self.certificate_.settle(problem.d)
        self.solver_used_ = _METHOD[self.covariance]
        self._keep_outcome(problem, time.perf_counter() - begin)
        if self.degenerate_ and self.regularization is None:
            warn(self._degenerate_words(), DegenerateWarning)
        if not self.status_.ok:
            warn(self._rounding_words(problem), DegenerateWarning)

    def _proof_of(self, problem: Problem | PartsProblem) -> Callable[[], GaussianCertificate]:
        """What judges the model once it is there; a table must be the same by then."""
        if not isinstance(problem, Problem):
            return lambda: stream_gaussian(problem, self._parameters(problem))
        sealed = seal(problem)

        def judged() -> GaussianCertificate:
            found = self._judge(problem)
            require_sealed(problem, sealed)
            return found

        return judged

    def _parameters(self, problem: PartsProblem) -> Parameters:
        """All that a proof about the rows of a stream needs."""
        used = np.ones(problem.d, dtype=bool)
        used[self.ignored_] = False
        K = problem.K
        loss = 1.0 - np.eye(K) if self.loss is None else np.asarray(self.loss, dtype=np.float64)
        plane = np.zeros(0)
        if self.is_linear_ and np.ptp(self._posterior_scores(), axis=0).any():
            plane = problem.join(self.coef_, self.intercept_)
        return Parameters(
            self.means_, self.covariance_, self.covariance.startswith("shared"), self.ridge_, used,
            self.priors_, loss, plane,
        )  # fmt: skip

    def _forget(self) -> None:
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)

    def _set_rule(self) -> None:
        """The densities as functions, and the weights where the log odds are linear."""
        self._decide = decisions(self.loss, self.classes_, self.reject_label)
        self.decisions_ = self._decide.labels
        shared = self.covariance.startswith("shared")
        self._forms = Densities(
            self.means_, self.covariance_, self.ignored_, self.priors_, shared=shared
        )
        rule, shift = self._forms.linear_rule(self.priors_, self.classes_), self._decide.shift()
        simple = self._decide.plain if len(self.classes_) > 2 else shift is not None
        self.is_linear_ = rule is not None and simple
        self._posterior = rule
        if rule is not None:
            self.coef_, self.intercept_ = rule.coef_, rule.intercept_.copy()
            if len(self.classes_) == 2:
                self.intercept_ += shift or 0.0

    def _judge(self, problem: Problem) -> GaussianCertificate:
        used = np.ones(problem.d, dtype=bool)
        used[self.ignored_] = False
        certificate = judge_gaussian(
            problem,
            self.means_,
            self.covariance_,
            shared=self.covariance.startswith("shared"),
            ridge=self.ridge_,
            used=used,
        )
        chosen, tied = self._choose(problem.matrix)
        wrong = ((chosen != problem.label) | tied) & (chosen < problem.K)
        index = np.flatnonzero(wrong)
        index = index if problem.row_index is None else problem.row_index[index]
        certificate = certificate.with_errors(index, int((chosen >= problem.K).sum()))
        if not self.is_linear_ or not np.ptp(self._posterior_scores(), axis=0).any():
            return certificate  # no plane
        with np.errstate(all="ignore"):
            plane = judge(problem, Witness(problem.join(self.coef_, self.intercept_)))
        return replace(certificate, plane=plane)

    def _posterior_scores(self) -> Array:
        """Weights of every class, also for two, of which the first has none."""
        return self.coef_ if len(self.coef_) > 1 else np.vstack([0 * self.coef_, self.coef_])

    def _keep_outcome(self, problem: Problem | PartsProblem, seconds: float) -> None:
        linear = hasattr(self, "coef_")
        a = problem.join(self.coef_, self.intercept_) if linear else np.zeros(0)
        self.outcome_ = Outcome(
            state=_Done(status=self.status_, steps=1, n_updates=1),
            status=self.status_,
            witness=Witness(a),
            certificate=self.certificate_,
            steps=1,
            unit="pass",
            seconds=seconds,
        )

    def _rounding_words(self, problem: Problem | PartsProblem) -> str:
        """A column that varies by no more than the last digits of its values."""
        C = self.covariance_
        matrices = C.ndim == (2 if self.covariance == "shared" else 3)
        variance = np.diagonal(C, axis1=-2, axis2=-1) if matrices else C
        spread = np.sqrt(np.atleast_2d(variance).min(axis=0))
        size = np.abs(self.means_).max(axis=0)
        j = int(np.argmax(np.divide(size, spread, out=np.zeros_like(size), where=spread > 0)))
        return (
            f"{self.status_.value}: column {j} ({problem.feature_name(j)!r}) varies by "
            f"{spread[j]:.2g} around {size[j]:.2g}, too little for the digits of its values. Other "
            f"parameters could gain {self.certificate_.gap:.2g} nats. Subtract a constant from it "
            "before it is rounded, or leave it out."
        )

    def _degenerate_words(self) -> str:
        added = ""
        if self.ridge_.any():
            added = (
                " 1e-6 of the variance of every column was added to its variance in each class; "
                "posteriors are then close to 0 and 1. Choose a simpler covariance, or give "
                "regularization=1e-3."
            )
        return self.degenerate_ + added

    # -- decisions --------------------------------------------------------------------------

    def log_density(self, X: Any) -> Array:
        """ln p(x | k) of every row and class, shape (n, K)."""
        X = self._rows(X)
        return self._forms.log_density(X)

    def log_odds(self, X: Any) -> Array:
        """ln P(last class | x) / P(first class | x) for two classes, whatever the loss."""
        if len(self._fitted().classes_) != 2:
            raise CapabilityError(
                f"log odds are for two classes; there are {len(self.classes_)}. "
                "predict_log_proba gives the logarithms of all posteriors."
            )
        return self._scores(self._rows(X))

    def decision_function(self, X: Any) -> Array:
        """Scores of the rows.

        Two classes: the log odds plus the threshold of the loss, shape (n,); the sign decides.
        With a reject option, or a loss that rewards mistakes, the log odds alone. More classes:
        shape (n, K), coef_ . x + intercept_ where the log odds are linear, else
        ln p(k) p(x | k); without a loss the largest decides.
        """
        X = self._rows(X)
        signed = self._signed(X)
        return self._scores(X) if signed is None else signed

    def explain(self, row: Any) -> Explanation:
        """The score of one row as a sum of weight x value, where the log odds are linear.

        With more than two classes it is the lead of the best class over the second.
        """
        self._ask_for_weights()
        return explain_linear(self, row)

    def ranking(self, X: Any = None) -> Ranking:
        """Features by the size of their weights, where the log odds are linear.

        Rows X make the weights comparable: sizes are multiplied by the spread of the columns.
        """
        self._ask_for_weights()
        return ranking_of(self, X)

    @property
    def criterion_(self) -> Any:
        """There is none: an AttributeError that says why."""
        raise AttributeError(
            "GaussianClassifier minimises no criterion of a plane: means, covariances and priors "
            "are those of largest likelihood, in closed form; certificate_ has the likelihood."
        )

    def _ask_for_weights(self) -> None:
        check_is_fitted(self, "classes_")
        if not hasattr(self, "coef_"):
            raise CapabilityError(
                f"covariance={self.covariance!r} makes the log odds quadratic, so features have no "
                'weights; "shared" and "shared-diagonal" give a linear rule.'
            )

    def predict_proba(self, X: Any) -> Array:
        """Posteriors p(k | x), shape (n, K)."""
        return posteriors(self._scores(self._rows(X)))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the posteriors, exact also where these are too small for a float."""
        scores = self._scores(self._rows(X))
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def conditional_risk(self, X: Any) -> Array:
        """Expected loss of every decision, sum_k p(k | x) W(d, k), shape (n, n_decisions)."""
        posterior = self.predict_proba(X)
        return self._decide.risk(posterior)

    def predict(self, X: Any) -> NDArray[Any]:
        """Decisions of least expected loss; of two classes with equal ones the last."""
        if in_parts(X):
            answers: NDArray[Any] = mapped(self.predict, X, self._fitted().decisions_[:0])
            return answers
        chosen, _ = self._choose(self._rows(X))
        return np.asarray(self.decisions_[chosen])

    def _choose(self, X: Any) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Number of the decision for each row, and whether it was a tie."""
        signed = self._signed(X)
        if signed is not None:
            return (signed >= 0).astype(np.intp), signed == 0
        scores = self._scores(X)
        if self._decide.plain:
            top = scores.max(axis=1, keepdims=True)
            return scores.argmax(axis=1), (scores == top).sum(axis=1) > 1
        posterior = posteriors(scores)
        risk = self._decide.risk(posterior)
        least = risk.min(axis=1, keepdims=True)
        return self._decide.choose(posterior), (risk == least).sum(axis=1) > 1

    def _scores(self, X: Any) -> Array:
        """Log odds of two classes; for more, scores whose softmax is the posterior."""
        if self._posterior is not None:
            return self._posterior.decision_function(X)
        joint = self._forms.log_density(X) + np.log(self.priors_)
        if len(self.classes_) > 2:
            return np.asarray(joint)
        with np.errstate(invalid="ignore"):
            odds = joint[:, 1] - joint[:, 0]
        return np.where(np.isnan(odds), 0.0, odds)  # both densities are too small for a float

    def _signed(self, X: Any) -> Array | None:
        """Scores of two classes whose sign decides; None where there are none."""
        shift = self._decide.shift()
        if len(self.classes_) > 2 or shift is None:
            return None
        if self._posterior is not None:
            return np.asarray(X @ self.coef_[0] + self.intercept_[0], dtype=np.float64)
        return self._scores(X) + shift

    def _rows(self, X: Any) -> Any:
        self._fitted()
        return rows_to_judge(self, X)

    def _fitted(self) -> Self:
        check_is_fitted(self, "means_")
        return self

    # -- other forms of the rule --------------------------------------------------------------

    @property
    def quadratic_(self) -> Quadratic:
        """A, b, c of every class with ln p(k) p(x | k) = x'A x + b.x + c."""
        return self._fitted()._forms.quadratic()

    def to_logistic(self) -> LogisticRule:
        """The logistic weights with the same posterior; for structures with linear log odds.

        P(last class | x) = e^s / (1 + e^s), s = coef_ . x + intercept_; a softmax for more
        classes. The loss has no part in it.

        Examples
        --------
        >>> import linsep
        >>> table = linsep.data.load("students")
        >>> model = linsep.GaussianClassifier("shared-diagonal", regularization=0.1)
        >>> rule = model.fit(table.X, table.y).to_logistic()
        >>> bool(abs(rule.predict_proba(table.X) - model.predict_proba(table.X)).max() < 1e-12)
        True
        """
        rule = self._fitted()._posterior
        if rule is None:
            raise CapabilityError(
                f"covariance={self.covariance!r} has quadratic log odds, which are no logistic "
                "regression in x; choose covariance='shared' or 'shared-diagonal'."
            )
        return LogisticRule(rule.coef_.copy(), rule.intercept_.copy(), rule.classes_)

    # -- proof, words and files ---------------------------------------------------------------

    def certificate_for(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> GaussianCertificate:
        """What the data prove about the parameters of this model; see ``linsep.certify``."""
        self._rows(X)  # the columns must be those of the model
        return self._judge(read_problem(clone(self), X, y, sample_weight))

    def _refuted(self, X: Any, y: Any, sample_weight: Any) -> list[str]:
        """What does not hold of the certificate for these rows."""
        from linsep.models.verified import refuted

        return refuted(self, X, y, sample_weight)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the rows that are right; of a stream, which has its labels in it."""
        if in_parts(X):
            self._fitted()
            return counted(OwnRule(self), as_stream(X, y, sample_weight)).score
        return float(super().score(X, plain_labels(y), sample_weight))

    def summary(self) -> str:
        """What was fitted and what is proved about it, in words."""
        title = f"GaussianClassifier: {self._fitted().status_.value}"
        return written(title, self._told())

    def _told(self) -> list[Line]:
        facts, with_ridge = self.certificate_, " with the ridge" if self.ridge_.any() else ""
        gain = f"gain more than {max(facts.gap, 0.0):.2g}{with_ridge}"
        lines = [
            ("algorithm", f"{self.solver_used_} (maximum likelihood, divided by n)"),
            ("priors", _priors(self)),
            (
                "likelihood",
                f"{facts.log_likelihood:.6g} (log); no parameters of this structure {gain}",
            ),
            ("errors", f"{count(facts.errors, 'row')} not given their own class"),
        ]
        if self.loss is not None:
            lines.append(("loss", _loss(self)))
        if facts.rejected:
            lines.append(("rejected", count(facts.rejected, "row")))
        if facts.separable:
            lines.append(("margin", f"{facts.margin:.6g} (one side, in the units of X)"))
        if self.degenerate_:
            lines.append(("degenerate", self.degenerate_))
        if self.ridge_.any():
            lines.append(("ridge", f"up to {self.ridge_.max():.3g} added to the variances"))
        return [*lines, rule(self) if self.is_linear_ else ("rule", _curved(self))]

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        return GAUSSIAN.write(self)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model: Self = GAUSSIAN.read(cls, fields)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_METHOD = {
    "full": "closed form: a mean and a covariance for each class",
    "shared": "closed form: a mean for each class, one covariance for all",
    "diagonal": "closed form: means and variances for each class",
    "shared-diagonal": "closed form: means for each class, variances for all",
}


class _Done(State):
    """The one pass of a closed form."""

    @property
    def passes(self) -> float:
        return 1.0


# -- Maximum likelihood of Gaussian classes, and what to do where it does not exist ---------------
#
# mu_k    mean of the rows of class k
# S_k     their second moments about it, divided by n_k (not n_k - 1): the likelihood's maximum
# shared  sum_k n_k S_k / n;   diagonal: only its diagonal
#
# Where a covariance is singular the likelihood has no maximum. Then R = diag(r v) is added to
# every covariance, v the variances of the columns over all rows, so that a change of units
# changes nothing; the sum is the maximum of the likelihood with the term -n tr(C^-1 R) / 2.


FLOOR = 1e-6  # of the variance of a column; added where a covariance is singular
_RANK_TOL = 1e-12  # share of a column's variance that must be left after those before it
_PLAIN = 1e-250  # variance of a column that needs no look at its largest entries, nor 1 / it
_WIDEST = 20_000  # columns up to which a matrix of their covariances is held


@dataclass(frozen=True)
class Estimate:
    """The parameters of all classes."""

    weight: Array
    means: Array
    covariance: Array
    """(K, d, d), (d, d), (K, d) or (d,) by structure; without variance in ignored columns."""
    ridge: Array
    """What was added to the variances, (d,)."""
    used: NDArray[np.bool_]
    """Columns that are not constant over all rows."""
    trouble: str
    """Where a covariance was singular, in words; empty if nowhere."""


def estimate(
    problem: Problem | PartsProblem, structure: str, regularization: float | None
) -> Estimate:
    """Estimate the parameters; raise DataError where none exist and none may be made up."""
    shared, diagonal = structure.startswith("shared"), structure.endswith("diagonal")
    if not diagonal and problem.d > _WIDEST:
        raise DataError(
            f"covariance={structure!r} needs a {problem.d} x {problem.d} matrix; choose "
            "covariance='shared-diagonal' or 'diagonal', or fewer columns."
        )
    if isinstance(problem, Problem):
        weight, means, scatter = _moments(problem, diagonal=diagonal)
    else:
        weight, means, scatter = _moments_of_parts(problem, diagonal=diagonal)
    share = weight / weight.sum()
    spread = _total_variance(share, means, scatter, diagonal=diagonal)
    _refuse_range(problem, spread, means)
    used = spread > 0
    covariance = np.tensordot(share, scatter, axes=1) if shared else scatter
    words = _singular(problem, covariance, used, shared=shared, diagonal=diagonal)
    constant = [] if used.all() else [_constant(problem, used)]
    if (words or constant) and regularization == 0:
        raise DataError(f"{_sentence([*constant, *words])} {_WAYS}")
    left_out = "is left out" if np.sum(~used) == 1 else "are left out"
    trouble = _sentence([*(f"{text} and {left_out}" for text in constant), *words])
    factor = (FLOOR if words else 0.0) if regularization is None else float(regularization)
    ridge = factor * spread
    covariance = covariance + (ridge if diagonal else np.diag(ridge))
    return Estimate(weight, means, covariance, ridge, used, trouble)


_WAYS = (
    "Leave out such columns, choose covariance='shared-diagonal' or 'shared', or give "
    "regularization=1e-3, the share of each column's variance to add."
)


def _moments(problem: Problem, *, diagonal: bool) -> tuple[Array, Array, Array]:
    """Weight, mean and second moments of every class."""
    K, d = problem.K, problem.d
    weight, means = np.zeros(K), np.zeros((K, d))
    scatter = np.zeros((K, d) if diagonal else (K, d, d))
    for k in range(K):
        rows = class_rows(problem, k)
        if not rows.size:
            raise LabelError(
                f"class {problem.classes.tolist()[k]!r} has no row of positive weight; leave it "
                "out or give some of its rows a weight."
            )
        first = problem.matrix[rows[:1]]
        first = np.asarray(first.toarray() if problem.sparse else first, np.float64)[0]
        with np.errstate(over="ignore", invalid="ignore"):
            mean = first + mean_about(problem, k, first)
            about = moments_about(problem, k, mean, products=not diagonal)
            means[k] = mean + about.first
            drift = about.first**2 if diagonal else np.outer(about.first, about.first)
            scatter[k] = about.second - drift
        weight[k] = about.weight
    return weight, means, scatter


def _moments_of_parts(problem: PartsProblem, *, diagonal: bool) -> tuple[Array, Array, Array]:
    """The same of a stream, in one pass: about the means of a sample, which are nearly those of all
    rows. A column that is constant in a class has no residual about a row of it."""
    sample, centres = problem.sample(), np.zeros((problem.K, problem.d))
    for k in range(problem.K):
        rows = class_rows(sample, k)
        near = rows if rows.size else np.arange(sample.n)
        first = sample.matrix[near[:1]]
        first = np.asarray(first.toarray() if sample.sparse else first, np.float64)[0]
        centres[k] = first + (mean_about(sample, k, first) if rows.size else 0.0)
    work = partial(moment_sums, centres=centres, products=not diagonal)
    found = problem.total(work, "means and covariances")
    whole = found.weight.reshape(-1, *[1] * (found.second.ndim - 1))
    first = found.first / found.weight[:, None]
    drift = first**2 if diagonal else first[:, :, None] * first[:, None, :]
    return found.weight, centres + first, found.second / whole - drift


def _refuse_range(problem: Problem | PartsProblem, variance: Array, means: Array) -> None:
    """Variances that float64 cannot hold: columns of 1e200 or of 1e-200."""
    if bool((np.isfinite(variance) & (variance > _PLAIN) & (variance < 1.0 / _PLAIN)).all()):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.ptp(means, axis=0)
        if isinstance(problem, Problem):
            for k, mean in enumerate(means):
                reach = np.fmax(reach, reach_about(problem, k, mean))
        else:
            reach = np.fmax(reach, np.sqrt(variance))
    bad = ~np.isfinite(variance) | ((reach > 0) & (reach < 1e-140)) | (reach > 1e140)
    if bad.any():
        j = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"the variance of column {j} ({problem.feature_name(j)!r}) is beyond the range of "
            f"float64: its values differ from their mean by up to {reach[j]:.3g}. Scale the "
            "columns, for instance with sklearn.preprocessing.StandardScaler."
        )


def _total_variance(share: Array, means: Array, scatter: Array, *, diagonal: bool) -> Array:
    """Variance of every column over all rows; exactly 0 for a constant one."""
    within = scatter if diagonal else np.einsum("kjj->kj", scatter)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = means - means[0]
        apart = apart - share @ apart
        return np.asarray(share @ (np.maximum(within, 0.0) + apart**2))


def _constant(problem: Problem | PartsProblem, used: NDArray[np.bool_]) -> str:
    return f"{_names(problem, np.flatnonzero(~used))} the same value in every row"


def _sentence(words: list[str]) -> str:
    text = "; ".join(words[:3]) + (f"; and {len(words) - 3} more" if len(words) > 3 else "")
    return text[:1].upper() + text[1:] + "." if text else ""


def _singular(
    problem: Problem | PartsProblem,
    covariance: Array,
    used: NDArray[np.bool_],
    *,
    shared: bool,
    diagonal: bool,
) -> list[str]:
    """Where the covariances of the columns in use are singular, in words."""
    words, sizes = [], _sizes(problem)
    parts = [covariance] if shared else covariance
    for k, C in enumerate(parts):
        count = int(sizes.sum()) - problem.K if shared else int(sizes[k]) - 1
        whose = "the classes together" if shared else f"class {problem.classes.tolist()[k]!r}"
        if diagonal:
            without = np.flatnonzero(used & ~(C > 0))
            if without.size:
                words.append(f"within {whose} {_names(problem, without)} no variance")
            continue
        rank, dependent = _rank(C[np.ix_(used, used)], count)
        if rank < used.sum():
            columns = np.flatnonzero(used)[dependent]
            words.append(
                f"the covariance of {whose} ({_rows(sizes, k, shared=shared)}) has rank "
                f"{rank} of {int(used.sum())}: {_names(problem, columns)} no variance of "
                f"{'its' if len(columns) == 1 else 'their'} own beside the others"
            )
    return words


def _sizes(problem: Problem | PartsProblem) -> NDArray[np.int64]:
    """Rows of each class."""
    if isinstance(problem, Problem):
        return np.bincount(problem.label, minlength=problem.K)
    return problem.sizes


def _rows(sizes: NDArray[np.int64], k: int, *, shared: bool) -> str:
    n = int(sizes.sum() if shared else sizes[k])
    return "1 row" if n == 1 else f"{n} rows"


def _rank(C: Array, most: int) -> tuple[int, NDArray[np.intp]]:
    """Rank of a covariance, and the columns left over, by Cholesky with pivots."""
    if not len(C):
        return 0, np.zeros(0, dtype=np.intp)
    scale = np.sqrt(np.maximum(np.diag(C), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    _, pivots, rank, _ = dpstrf(C / scale / scale[:, None], tol=_RANK_TOL)
    rank = min(int(rank) if C.any() else 0, max(most, 0))
    return rank, np.sort(pivots[rank:] - 1)


def _names(problem: Problem | PartsProblem, columns: NDArray[np.intp]) -> str:
    """Columns by name, a few of them, with the verb: 'column x1 has', 'columns x1, x2 have'."""
    shown = [problem.feature_name(int(j)) for j in columns[:5]]
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    verb = "has" if len(columns) == 1 else "have"
    return f"column{'s' * (len(columns) > 1)} {', '.join(shown)}{more} {verb}"


# -- Gaussian densities as functions: their logarithms, their quadratic and their linear form -----


_EQUAL = 1e-10  # covariances that differ by less, in their own units, are the same
_LOG_2PI = float(np.log(2 * np.pi))


class Quadratic(NamedTuple):
    """ln p(k) p(x | k) = x'A[k] x + b[k].x + c[k]."""

    A: Array
    """(K, d, d)."""
    b: Array
    """(K, d)."""
    c: Array
    """(K,)."""


class Densities:
    """The densities of all classes, without the columns that take no part."""

    def __init__(
        self,
        means: Array,
        covariance: Array,
        ignored: NDArray[np.intp],
        priors: Array,
        *,
        shared: bool,
    ) -> None:
        self.K, self.d = means.shape
        self.used = np.ones(self.d, dtype=bool)
        self.used[ignored] = False
        self.shared, self.priors = shared, priors
        self.diagonal = covariance.ndim == (1 if shared else 2)
        self.means = means[:, self.used]
        parts = [covariance] if shared else list(covariance)
        keep = np.ix_(self.used, self.used)
        self.parts = [C[self.used] if self.diagonal else C[keep] for C in parts]

    @cached_property
    def factors(self) -> list[Whitener]:
        """One for each class."""
        made = [whitener(C) for C in self.parts]
        return made * self.K if self.shared else made

    def log_density(self, X: Any) -> Array:
        """ln p(x | k), shape (n, K), in pieces."""
        n = X.shape[0]
        out = np.empty((n, self.K))
        step = max(1, IN_CACHE // max(1, self.d))
        if self.diagonal and hasattr(X, "indptr"):
            step = max(1, max(1 << 17, 8 * self.d) * n // max(1, X.nnz))  # each has room for d
            parts = [self._of_sparse_rows(X[at : at + step]) for at in range(0, n, step)]
            return np.concatenate([out[:0], *parts])
        for at in range(0, n, step):
            block = X[at : at + step]
            block = np.asarray(block.toarray() if hasattr(block, "toarray") else block, np.float64)
            block = block[:, self.used]
            for k, factor in enumerate(self.factors):
                with np.errstate(over="ignore"):
                    squares = np.square(factor.apply(block - self.means[k])).sum(axis=1)
                out[at : at + step, k] = -0.5 * (squares + factor.log_det)
        # a row so far out that all squares overflow is -inf for all: no class is preferred
        return out - 0.5 * _LOG_2PI * int(self.used.sum())

    def _of_sparse_rows(self, X: Any) -> Array:
        """The same for independent features, from the stored entries alone.

        sum_j (x_j - m_j)^2 / v_j = sum_j m_j^2 / v_j + sum over x_j != 0 of
        x_j (x_j - 2 m_j) / v_j
        """
        out = np.empty((X.shape[0], self.K))
        mean, precision = np.zeros(self.d), np.zeros(self.d)
        entries = X.data.astype(np.float64)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        for k, factor in enumerate(self.factors):
            mean[self.used], precision[self.used] = self.means[k], factor.T**2
            at_zero = float(np.sum(mean**2 * precision))
            with np.errstate(over="ignore", invalid="ignore"):
                part = entries * (entries - 2 * mean[X.indices]) * precision[X.indices]
            squares = np.bincount(row, part, minlength=X.shape[0]) + at_zero
            out[:, k] = -0.5 * (np.maximum(squares, 0.0) + factor.log_det)
        return out - 0.5 * _LOG_2PI * int(self.used.sum())

    def linear_rule(self, priors: Array, classes: NDArray[Any]) -> LogisticRule | None:
        """Weights of the log odds, or None where these are quadratic in x."""
        if not self.used.any():
            flat = np.zeros((self.K, self.d))
            return rule_of_scores(flat, np.log(priors), classes)
        if not (self.shared or self._equal()):
            return None
        rule = gaussian_weights(self.means, sum(self.parts) / len(self.parts), priors, classes)
        coef = np.zeros((len(rule.coef_), self.d))
        coef[:, self.used] = rule.coef_
        return LogisticRule(coef, rule.intercept_, classes)

    def _equal(self) -> bool:
        """Whether the covariances of all classes are the same, up to rounding."""
        one = self.factors[0]
        unit = np.ones(len(one.T)) if self.diagonal else np.eye(len(one.T))
        return all(bool((np.abs(one.of_matrix(C) - unit) <= _EQUAL).all()) for C in self.parts[1:])

    def quadratic(self) -> Quadratic:
        """Coefficients of ln p(k) p(x | k)."""
        A, b = np.zeros((self.K, self.d, self.d)), np.zeros((self.K, self.d))
        c = np.log(self.priors) - 0.5 * _LOG_2PI * int(self.used.sum())
        keep = np.ix_(self.used, self.used)
        for k, factor in enumerate(self.factors):
            precision = np.diag(factor.T**2) if self.diagonal else factor.T.T @ factor.T
            A[k][keep] = -0.5 * precision
            b[k, self.used] = precision @ self.means[k]
            squares = np.square(factor.apply(self.means[k][None, :])).sum()
            c[k] -= 0.5 * (float(squares) + factor.log_det)
        return Quadratic(A, b, c)


# -- Fields of a model file -----------------------------------------------------------------------


def _shape(model: GaussianClassifier) -> tuple[int, ...]:
    """Of the covariances."""
    K, d = len(model.classes_), model.n_features_in_
    shapes = {"full": (K, d, d), "shared": (d, d), "diagonal": (K, d), "shared-diagonal": (d,)}
    if model.covariance not in shapes:
        raise ModelError(f"covariance is {model.covariance!r}, which is no structure")
    return shapes[model.covariance]


def _read_rest(model: GaussianClassifier, fields: Fields) -> None:
    """The last of the numbers, and the rule of all of them."""
    if (model.ignored_ >= model.n_features_in_).any():
        raise ModelError(f"ignored names columns outside 0 ... {model.n_features_in_ - 1}")
    if not (model.priors_ > 0).all():
        raise ModelError("priors are not all above 0")
    model.degenerate_ = str(fields["degenerate"])
    try:
        model._set_rule()
    except np.linalg.LinAlgError as error:
        raise ModelError("covariance is not positive definite") from error


def _certificate_of(told: dict[str, Any]) -> GaussianCertificate:
    return (StreamGaussian if "sources" in told else GaussianCertificate).from_dict(told)


GAUSSIAN: Table[Any] = Table(
    "means_",
    (
        settings(),
        CLASSES,
        FEATURES,
        NAMES,
        array("priors", lambda model: (len(model.classes_),)),
        array("means", lambda model: (len(model.classes_), model.n_features_in_)),
        array("covariance", _shape),
        array("ridge", lambda model: (model.n_features_in_,)),
        places("ignored", np.intp),
        Field("degenerate", lambda model: model.degenerate_, _read_rest),
        STATUS,
        stored("certificate", _certificate_of),
        extra("n_iter_", "n_updates_", "solver_used_", "fingerprint_"),
    ),
)


# -- A fitted Gaussian classifier in words --------------------------------------------------------


_SHOWN_CLASSES = 8


def _curved(model: GaussianClassifier) -> str:
    if hasattr(model, "coef_"):
        return "the decision of least expected loss; the log odds are linear, see coef_"
    return "the decision of least expected loss; the log odds are quadratic, see quadratic_"


def _priors(model: GaussianClassifier) -> str:
    pairs = list(zip(model.classes_.tolist(), model.priors_))
    shown = ", ".join(f"{p:.4g} for {label!r}" for label, p in pairs[:_SHOWN_CLASSES])
    more = "" if len(pairs) <= _SHOWN_CLASSES else f", ... ({len(pairs) - _SHOWN_CLASSES} more)"
    given = "" if model.priors is None else " (given)"
    return shown + more + given


def _loss(model: GaussianClassifier) -> str:
    W = np.asarray(model.loss, dtype=np.float64)
    rows = [
        f"{d!r}: {' '.join(f'{v:g}' for v in row)}" for d, row in zip(model.decisions_.tolist(), W)
    ]
    return "; ".join(rows[:_SHOWN_CLASSES]) + ("; ..." if len(rows) > _SHOWN_CLASSES else "")
