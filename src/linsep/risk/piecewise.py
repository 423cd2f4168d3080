"""Histograms as densities: constant on each bin, zero outside.

Maximum likelihood   p = count / (n volume) on each bin; with smoothing a,
                     p = (count + a) / ((n + a bins) volume)
Product              independent features: the product of the histograms of the columns
Joint                one bin for every combination of column bins
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from linsep.core.validate import as_weights
from linsep.errors import DataError, SettingError

Array = NDArray[np.float64]
_CELLS = 10_000_000


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
