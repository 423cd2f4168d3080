"""The Bayes rule with densities from anywhere: known, or estimated class by class.

q(x) = argmin over d of sum_k p(k) p(x | k) W(d, k)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from linsep.core.labels import as_labels, plain_labels
from linsep.core.validate import as_weights
from linsep.errors import CapabilityError, DataError, SettingError
from linsep.risk.decision import decisions
from linsep.risk.linear_rules import check_priors, posterior_of_scores

Array = NDArray[np.float64]


def plug_in(
    densities: Any,
    priors: Any = None,
    loss: Any = None,
    *,
    X: Any = None,
    y: Any = None,
    classes: Any = None,
    reject_label: Any = None,
) -> PlugInClassifier:
    """Bayes rule with given densities, or with densities fitted to the rows of each class.

    Parameters
    ----------
    densities : sequence, dict by class, or one estimator
        For each class an object with score_samples (scikit-learn), logpdf, pdf, logpmf or pmf
        (scipy.stats), or a function of the rows that gives p(x | k). With X and y one estimator
        with fit and score_samples, which is cloned for each class, or a dict of these.
    priors : array or dict, optional
        p(k). Without it the shares of the rows if X and y are given, else equal.
    loss : array of shape (n_decisions, n_classes), optional
        W[d, k]; rows beyond the classes are reject options. None is the 0/1 loss.
    X, y : optional
        Rows to fit the densities to.
    classes : sequence, optional
        Labels of a sequence of densities; 0, 1, ... without it.
    reject_label : label or list, optional
        What predict gives for reject options; see ``GaussianClassifier``.

    Returns
    -------
    PlugInClassifier
        Fitted, with predict, predict_proba, conditional_risk.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from linsep.risk import plug_in
    >>> rule = plug_in([norm(-1, 1), norm(1, 1)], [0.5, 0.5])
    >>> rule.predict([[-0.3], [0.0], [2.0]]).tolist()
    [0, 1, 1]
    >>> from sklearn.mixture import GaussianMixture
    >>> X, y = [[0.0], [0.2], [4.0], [4.1], [2.0], [2.2]], ["a", "a", "a", "a", "b", "b"]
    >>> rule = plug_in({"a": GaussianMixture(2, random_state=0), "b": GaussianMixture(1)}, X=X, y=y)
    >>> rule.predict([[0.1], [2.1], [4.2]]).tolist()
    ['a', 'b', 'a']
    """
    if (X is None) != (y is None):
        raise SettingError("give both X and y to fit densities, or neither for known ones.")
    model = PlugInClassifier(densities, priors=priors, loss=loss, reject_label=reject_label)
    if X is not None:
        return model.fit(X, y)
    if isinstance(densities, Mapping):
        labels, parts = np.array(sorted(densities)), [densities[k] for k in sorted(densities)]
    elif isinstance(densities, list | tuple):
        parts = list(densities)
        labels = np.arange(len(parts)) if classes is None else np.asarray(classes)
    else:
        raise SettingError(
            f"densities is one {type(densities).__name__}; give a density for each class, or X "
            "and y to fit it to each."
        )
    if len(labels) != len(parts) or len(parts) < 2:
        raise SettingError(
            f"there are {len(parts)} densities for {len(labels)} classes; give one for each of "
            "two classes or more."
        )
    return model._keep(labels, parts, check_priors(priors, len(parts), labels))


class PlugInClassifier(ClassifierMixin, BaseEstimator):
    """Bayes rule with the densities of the classes put in; see ``plug_in``.

    Parameters
    ----------
    density : estimator or dict of estimators by class
        With fit and score_samples: linsep's Histogram, scikit-learn's GaussianMixture,
        BayesianGaussianMixture, KernelDensity. Cloned for every class.
    priors : array, dict or None, default=None
        None takes the shares of the rows.
    loss : array of shape (n_decisions, n_classes) or None, default=None
    reject_label : label, list or None, default=None

    Attributes
    ----------
    classes_, priors_, decisions_ : array
    densities_ : list
        One for each class.

    Notes
    -----
    Where all densities are zero the priors decide. Of two classes with equal risk the last is
    taken, of more the first.

    Examples
    --------
    >>> from linsep.risk import Histogram, PlugInClassifier
    >>> X, y = [[0.0], [1.0], [3.0], [2.0], [2.5]], [0, 0, 0, 1, 1]
    >>> model = PlugInClassifier(Histogram(bins=[0, 1, 2, 3, 4])).fit(X, y)
    >>> model.predict_proba([[0.5], [2.2], [9.0]]).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.6, 0.4]]
    """

    def __init__(
        self, density: Any, *, priors: Any = None, loss: Any = None, reject_label: Any = None
    ) -> None:
        self.density = density
        self.priors = priors
        self.loss = loss
        self.reject_label = reject_label

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a density to the rows of every class.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            For densities whose fit takes it.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, plain_labels(y), dtype=np.float64)
        check_classification_targets(y)
        classes, label = as_labels(y, len(X))
        weight = as_weights(sample_weight, len(X))
        share = np.bincount(label, weight, minlength=len(classes))
        if not share.any():
            raise DataError("all sample weights are zero; give some rows a positive weight.")
        if not (share > 0).all():
            raise DataError(
                f"class {classes.tolist()[int(share.argmin())]!r} has no row of positive weight."
            )
        given = self.priors is not None
        priors = check_priors(self.priors, len(classes), classes) if given else share / share.sum()
        parts = []
        for k, name in enumerate(classes.tolist()):
            own, part = (label == k) & (weight > 0), clone(self._density_of(name))
            if sample_weight is None:
                parts.append(part.fit(X[own]))
            elif has_fit_parameter(part, "sample_weight"):
                parts.append(part.fit(X[own], sample_weight=weight[own]))
            else:
                raise CapabilityError(
                    f"{type(part).__name__} has no sample weights in fit; leave them out."
                )
        return self._keep(classes, parts, priors)

    def _density_of(self, name: Any) -> Any:
        if not isinstance(self.density, Mapping):
            part = self.density
        elif name in self.density:
            part = self.density[name]
        else:
            raise SettingError(f"density has no entry for class {name!r}.")
        if not (hasattr(part, "fit") and hasattr(part, "score_samples")):
            raise SettingError(
                f"the density {part!r:.60} has no fit and score_samples; give for instance "
                "GaussianMixture(2), or use plug_in for densities that are known."
            )
        return part

    def _keep(self, classes: NDArray[Any], parts: list[Any], priors: Array) -> Self:
        self.classes_, self.densities_, self.priors_ = classes, parts, priors
        self._decide = decisions(self.loss, classes, self.reject_label)
        self.decisions_ = self._decide.labels
        return self

    def log_density(self, X: Any) -> Array:
        """ln p(x | k) of every row and class, shape (n, K)."""
        rows = self._rows(X)
        columns = [
            _logarithms(part, rows, name)
            for part, name in zip(self.densities_, self.classes_.tolist())
        ]
        return np.column_stack(columns)

    def decision_function(self, X: Any) -> Array:
        """Two classes: log odds plus the threshold of the loss; more: ln p(k) p(x | k)."""
        joint = self.log_density(X) + np.log(self.priors_)
        if len(self.classes_) > 2:
            return np.asarray(joint)
        with np.errstate(invalid="ignore"):
            odds = joint[:, 1] - joint[:, 0]
        unknown = float(np.log(self.priors_[1]) - np.log(self.priors_[0]))
        return np.where(np.isnan(odds), unknown, odds) + (self._decide.shift() or 0.0)

    def predict_proba(self, X: Any) -> Array:
        """Posteriors, shape (n, K); the priors where all densities are zero."""
        density = self.log_density(X)
        endless = np.isposinf(density)
        if endless.any():  # an infinite density leaves only its own classes
            at = endless.any(axis=1)
            density[at] = np.where(endless[at], 0.0, -np.inf)
        joint = density + np.log(self.priors_)
        nowhere = np.isneginf(joint).all(axis=1)
        joint[nowhere] = np.log(self.priors_)
        return posterior_of_scores(joint)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the posteriors."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def conditional_risk(self, X: Any) -> Array:
        """Expected loss of every decision, shape (n, n_decisions)."""
        posterior = self.predict_proba(X)
        return self._decide.risk(posterior)

    def predict(self, X: Any) -> NDArray[Any]:
        """Decisions of least expected loss."""
        posterior = self.predict_proba(X)
        return np.asarray(self.decisions_[self._decide.choose(posterior)])

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self, "densities_")
        if hasattr(self, "n_features_in_"):
            return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        return np.asarray(check_array(X, dtype=np.float64))


def _logarithms(density: Any, rows: Array, name: Any) -> Array:
    """ln of a density of any kind at the rows."""
    n = len(rows)
    values, logs = _evaluate(density, rows, name)
    out = np.asarray(values, dtype=np.float64)
    if out.size != n:
        raise DataError(
            f"the density of class {name!r} gave shape {out.shape} for {n} rows; it must give one "
            "number a row."
        )
    out = out.reshape(n)
    bad = np.isnan(out) if logs else ~(out >= 0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"the density of class {name!r} is {out[at]} at row {at}; it must be a number >= 0."
        )
    if logs:
        return np.array(out)
    with np.errstate(divide="ignore"):
        return np.log(out)


def _evaluate(density: Any, rows: Array, name: Any) -> tuple[Any, bool]:
    """Values, and whether they are logarithms already."""
    if hasattr(density, "score_samples"):
        return density.score_samples(rows), True
    for method, logs in (("logpdf", True), ("logpmf", True), ("pdf", False), ("pmf", False)):
        if hasattr(density, method):
            try:
                return getattr(density, method)(rows), logs
            except (AttributeError, NotImplementedError):
                continue  # scipy's frozen discrete distributions have logpdf in name only
    if callable(density):
        return density(rows), False
    raise SettingError(
        f"the density of class {name!r} is {density!r:.60}; give an object with score_samples, "
        "logpdf, pdf or pmf, or a function of the rows."
    )
