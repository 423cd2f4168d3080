"""Columns moved into one range, and the range files of LIBSVM's ``svm-scale``.

    x                       the head
    -1 1                    lower and upper end
    3 0.5 7.25              column 3 (from 1) had values from 0.5 to 7.25

A column of one value has no line and becomes zero, as one does that the file does not name.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from linsep._sklearn import BaseEstimator, TransformerMixin
from linsep.core.boundary import boundary
from linsep.core.files import atomic_write_bytes
from linsep.core.sources import fetch
from linsep.core.words import count
from linsep.data.columns import is_number
from linsep.errors import DataError, FormatError, SettingError

Array = NDArray[np.float64]

_WAY = "it is damaged: let svm-scale -s write it again"
_LARGEST_COLUMN = 100_000_000  # number of a column; arrays as long as that are made
_DENSE = 200_000_000  # entries of a sparse matrix that may be written out


class Ranges(TransformerMixin, BaseEstimator):
    """Ranges: every column from its least to its largest value into one interval.

    Parameters
    ----------
    lower, upper : float, default=-1.0, 1.0
        Ends of the interval, those of ``svm-scale``.

    Attributes
    ----------
    least_, largest_ : array of shape (d,)
        Values of the columns; equal, or NaN, for those that become zero.
    n_features_in_ : int

    Examples
    --------
    >>> from linsep.data import Ranges
    >>> Ranges(0, 1).fit_transform([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]])
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ]])
    """

    def __init__(self, lower: float = -1.0, upper: float = 1.0) -> None:
        self.lower = lower
        self.upper = upper

    def fit(self, X: Any, y: Any = None) -> Ranges:
        """Find the least and the largest value of every column.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : ignored

        Returns
        -------
        Ranges
        """
        self._check_ends()
        rows = _rows(X)
        if not rows.shape[0]:
            raise DataError("there is no row to find ranges of.")
        least, largest = rows.min(axis=0), rows.max(axis=0)
        if hasattr(least, "toarray"):
            least, largest = least.toarray(), largest.toarray()
        self.least_ = np.asarray(least, dtype=np.float64).ravel()
        self.largest_ = np.asarray(largest, dtype=np.float64).ravel()
        if not (np.isfinite(self.least_).all() and np.isfinite(self.largest_).all()):
            raise DataError("X contains NaN or infinity; ranges are of numbers.")
        self.n_features_in_ = len(self.least_)
        return self

    def transform(self, X: Any) -> Array:
        """Move the columns.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, d)
        """
        check_is_fitted(self, "least_")
        rows = _rows(X)
        n, d = rows.shape
        if d != self.n_features_in_:
            raise DataError(f"X has {count(d, 'column')}; the ranges are of {self.n_features_in_}.")
        if hasattr(rows, "toarray"):
            if n * d > _DENSE:
                raise DataError(f"{n} x {d} sparse numbers are too many to be moved.")
            rows = rows.toarray()
        span = self.largest_ - self.least_
        moves = span > 0
        share = (rows - np.where(moves, self.least_, 0)) / np.where(moves, span, 1)
        made = self.lower + (self.upper - self.lower) * share
        made = np.where(rows == self.least_, self.lower, made)
        made = np.where(rows == self.largest_, self.upper, made)
        return np.where(moves, made, 0.0)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns, x1, x2, ... without any."""
        names = [f"x{j + 1}" for j in range(self.n_features_in_)]
        return np.array(names if input_features is None else list(input_features), dtype=object)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a range file, which ``svm-scale -r`` reads.

        Parameters
        ----------
        path : str or path
        """
        check_is_fitted(self, "least_")
        lines = ["x", f"{self.lower!r} {self.upper!r}"]
        for j, (low, high) in enumerate(zip(self.least_.tolist(), self.largest_.tolist())):
            if high > low:
                lines.append(f"{j + 1} {low!r} {high!r}")
        atomic_write_bytes(path, ("\n".join(lines) + "\n").encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str], n_features: int | None = None) -> Ranges:
        """Read a range file of ``svm-scale -s``.

        Parameters
        ----------
        path : str or path
        n_features : int, optional
            Columns of the data, of which the last may have no line.

        Returns
        -------
        Ranges
        """
        with boundary(path, FormatError, "this is no range file", _WAY):
            lines = [line.split() for line in fetch(path).decode("ascii").splitlines()]
        if lines[:1] == [["y"]]:
            raise FormatError(
                f"{path}:1:1: it scales targets of a regression; classes are not scaled."
            )
        if lines[:1] != [["x"]] or len(lines) < 2 or len(lines[1]) != 2:
            raise FormatError(f"{path}:1:1: a range file begins with x and two numbers; {_WAY}.")
        ends = [_number(path, 2, word) for word in lines[1]]
        found: dict[int, tuple[float, float]] = {}
        for at, words in enumerate(lines[2:], 3):
            if not words:
                continue
            whole = len(words) == 3 and words[0].isdigit() and len(words[0]) < 12
            if not whole or not 1 <= int(words[0]) <= _LARGEST_COLUMN:
                raise FormatError(
                    f"{path}:{at}:1: a line is a column from 1 and its range; {_WAY}."
                )
            low, high = (_number(path, at, word) for word in words[1:])
            if int(words[0]) - 1 in found or high < low:
                raise FormatError(f"{path}:{at}:1: the column is given twice or backwards; {_WAY}.")
            found[int(words[0]) - 1] = (low, high)
        width = max([n_features or 0, *(j + 1 for j in found)])
        if n_features is not None and width > n_features:
            raise DataError(f"{path} has column {width}; the data have {n_features}.")
        made = cls(*ends)
        made._check_ends()
        made.least_ = np.full(width, np.nan)
        made.largest_ = np.full(width, np.nan)
        for j, (low, high) in found.items():
            made.least_[j], made.largest_[j] = low, high
        made.n_features_in_ = width
        return made

    def _check_ends(self) -> None:
        if not (np.isfinite([self.lower, self.upper]).all() and self.lower < self.upper):
            raise SettingError(f"the interval from {self.lower!r} to {self.upper!r} is empty.")


def _rows(X: Any) -> Any:
    rows = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise DataError(f"a matrix has rows and columns; this has shape {rows.shape}.")
    return rows


def _number(path: str | os.PathLike[str], line: int, word: str) -> float:
    if not is_number(word):
        raise FormatError(f"{path}:{line}:1: {word!r:.40} is not a number; {_WAY}.")
    return float(word)
