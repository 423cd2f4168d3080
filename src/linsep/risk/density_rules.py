"""The Bayes rule with densities from anywhere: known, or estimated class by class.

q(x) = argmin over d of sum_k p(k) p(x | k) W(d, k)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from linsep._sklearn import BaseEstimator, ClassifierMixin, DensityMixin, clone
from linsep.core.validate import as_labels, as_weights, plain_labels
from linsep.errors import CapabilityError, DataError, SettingError
from linsep.losses.logistic import posteriors
from linsep.risk.decision import decisions
from linsep.risk.linear_rules import check_priors

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
        return posteriors(joint)

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


# -- Histograms as densities: constant on each bin, zero outside ----------------------------------
#
# Maximum likelihood   p = count / (n volume) on each bin; with smoothing a,
#                      p = (count + a) / ((n + a bins) volume)
# Product              independent features: the product of the histograms of the columns
# Joint                one bin for every combination of column bins


_CELLS = 10_000_000  # bins of a joint histogram, at most


class Histogram(DensityMixin, BaseEstimator):
    """Piecewise constant density.

    Parameters
    ----------
    bins : int, array of edges or list of arrays of edges, default=10
        Number of bins of equal width between the smallest and the largest value of each
        column; or edges for all columns, or for each. Bins contain their left edge, the last
        one both.
    joint : bool, default=False
        Whether bins are combinations of column bins; otherwise the columns are taken to be
        independent.
    smoothing : float, default=0.0
        Rows added to every bin, so that no bin in range is empty.

    Attributes
    ----------
    edges_ : list of arrays
        Edges of the bins of every column.
    density_ : list of arrays, or one array with an axis for each column if joint

    Notes
    -----
    Outside the edges the density is 0 and its logarithm -inf, whatever the smoothing.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.risk import Histogram
    >>> density = Histogram(bins=[0, 1, 3]).fit([[0.2], [0.5], [1.5], [3.0]])
    >>> np.exp(density.score_samples([[0.9], [2.0], [4.0]])).tolist()
    [0.5, 0.25, 0.0]
    """

    def __init__(self, bins: Any = 10, *, joint: bool = False, smoothing: float = 0.0) -> None:
        self.bins = bins
        self.joint = joint
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Count the rows in each bin.

        Parameters
        ----------
        X : array of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional
            A row of weight s counts as s rows.

        Returns
        -------
        self
        """
        rows = check_array(X, dtype=np.float64)
        weight = as_weights(sample_weight, len(rows))
        if not self.smoothing >= 0:
            raise SettingError(f"smoothing must be a number >= 0. Got {self.smoothing!r} instead.")
        self.n_features_in_ = rows.shape[1]
        self.edges_ = self._edges(rows[weight > 0])
        if self.joint:
            cells = math.prod(len(edges) - 1 for edges in self.edges_)
            if cells > _CELLS:
                raise SettingError(
                    f"joint=True needs {cells} bins for {rows.shape[1]} columns; give fewer bins "
                    "or joint=False."
                )
            counts, _ = np.histogramdd(rows, self.edges_, weights=weight)
            volume = np.ones(())
            for edges in self.edges_:
                volume = np.multiply.outer(volume, np.diff(edges))
            self.density_: Any = self._normalised(counts, volume)
        else:
            self.density_ = [
                self._normalised(
                    np.histogram(column, edges, weights=weight)[0].astype(float), np.diff(edges)
                )
                for column, edges in zip(rows.T, self.edges_)
            ]
        return self

    def score_samples(self, X: Any) -> Array:
        """Logarithm of the density at the rows; -inf where it is 0."""
        check_is_fitted(self)
        rows = check_array(X, dtype=np.float64)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(f"X has {rows.shape[1]} columns; {self.n_features_in_} were fitted.")
        places = [
            np.searchsorted(edges, column, side="right") - 1
            for column, edges in zip(rows.T, self.edges_)
        ]
        inside = np.ones(len(rows), dtype=bool)
        for place, column, edges in zip(places, rows.T, self.edges_):
            place[column == edges[-1]] = len(edges) - 2
            inside &= (place >= 0) & (place < len(edges) - 1)
        out = np.full(len(rows), -np.inf)
        inner = [place[inside] for place in places]
        with np.errstate(divide="ignore"):
            if self.joint:
                out[inside] = np.log(self.density_[tuple(inner)])
            else:
                out[inside] = sum(np.log(p[at]) for p, at in zip(self.density_, inner))
        return out

    def score(self, X: Any, y: Any = None) -> float:
        """Log-likelihood of the rows."""
        return float(self.score_samples(X).sum())

    def _normalised(self, counts: Array, volume: Array) -> Array:
        counts = counts + float(self.smoothing)
        total = float(counts.sum())
        if not total > 0:
            raise DataError(
                "no row lies within the edges of the histogram; give wider edges or smoothing > 0."
            )
        return np.asarray(counts / (total * volume))

    def _edges(self, rows: Array) -> list[Array]:
        bins, d = self.bins, rows.shape[1]
        if np.ndim(bins) == 0:
            if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
                raise SettingError(
                    f"bins must be a whole number >= 1 or edges. Got {bins!r} instead."
                )
            return [np.histogram_bin_edges(column, int(bins)) for column in rows.T]
        each = bins if np.ndim(bins[0]) == 1 else [bins] * d
        if len(each) != d:
            raise SettingError(f"bins holds edges of {len(each)} columns; X has {d}.")
        edges = [np.asarray(e, dtype=np.float64) for e in each]
        for j, e in enumerate(edges):
            if len(e) < 2 or not np.isfinite(e).all() or (np.diff(e) <= 0).any():
                raise SettingError(f"the edges of column {j} are not two or more rising numbers.")
        return edges
