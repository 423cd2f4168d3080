"""Gaussian classes as a scikit-learn classifier: the Bayes rule with estimated parameters."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from linsep.certify.certificate import judge
from linsep.certify.gaussian import GaussianCertificate, judge_gaussian
from linsep.core import Outcome, Problem, Witness
from linsep.core.labels import plain_labels
from linsep.core.lanes import one_blas_thread
from linsep.core.protocol import State
from linsep.errors import DegenerateWarning
from linsep.estimators.checked import checked_problem
from linsep.estimators.gaussian_file import gaussian_from_model, gaussian_to_model
from linsep.estimators.gaussian_fit import estimate
from linsep.estimators.gaussian_forms import Densities
from linsep.estimators.gaussian_rule import GaussianRule
from linsep.estimators.params import Check, check_params, either, none, number, one_of
from linsep.risk.decision import decisions
from linsep.risk.linear_rules import check_priors

__all__ = ["GaussianClassifier"]

Array = NDArray[np.float64]


class GaussianClassifier(GaussianRule, ClassifierMixin, BaseEstimator):
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

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the densities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Sparse rows stay sparse for the diagonal structures.
        y : array of shape (n_samples,)
            Any labels, two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight s counts as s rows.

        Returns
        -------
        self
        """
        with one_blas_thread():  # small products; and the bits do not depend on the threads
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        begin = time.perf_counter()
        check_params(self, self._checks)
        problem = checked_problem(self, X, y, sample_weight)
        self._forget()
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
        self.certificate_ = self._judge(problem)
        self.status_ = self.certificate_.settle(problem.d)
        self.solver_used_ = _METHOD[self.covariance]
        self._keep_outcome(problem, time.perf_counter() - begin)
        if self.degenerate_ and self.regularization is None:
            warnings.warn(self._degenerate_words(), DegenerateWarning, stacklevel=3)
        if not self.status_.ok:
            warnings.warn(self._rounding_words(problem), DegenerateWarning, stacklevel=3)
        return self

    def _forget(self) -> None:
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)

    def _set_rule(self) -> None:
        """The densities as functions, and the weights where the log odds are linear."""
        self._decide = decisions(self.loss, self.classes_, self.reject_label)
        self.decisions_ = self._decide.labels
        shared = self.covariance.startswith("shared")
        self._forms = Densities(self.means_, self.covariance_, shared, self.ignored_, self.priors_)
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

    def _keep_outcome(self, problem: Problem, seconds: float) -> None:
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

    def _rounding_words(self, problem: Problem) -> str:
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

    # -- the answer and its words -------------------------------------------------------------

    def certificate_for(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> GaussianCertificate:
        """What the data prove about the parameters of this model; see ``linsep.certify``."""
        self._rows(X)  # the columns must be those of the model
        return self._judge(checked_problem(clone(self), X, y, sample_weight))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows that are right."""
        return float(super().score(X, plain_labels(y), sample_weight))

    def summary(self) -> str:
        """What was fitted and what is proved about it, in words."""
        from linsep.estimators.gaussian_summary import gaussian_summary

        return gaussian_summary(self._fitted())

    # -- model files ------------------------------------------------------------------------

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        return gaussian_to_model(self)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        return gaussian_from_model(cls, fields)  # type: ignore[no-any-return]

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
