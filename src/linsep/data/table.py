"""A table of samples: the numbers, the labels, and the names that belong to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import printable, require


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Samples with their labels, as read from a file or taken from a lecture.

    Parameters
    ----------
    X : array or scipy CSR array of shape (n, d)
        The features, without a constant column, not reflected.
    y : array of shape (n,)
        The labels; of shape (0,) when the file was read without labels.
    feature_names : tuple of str, optional
        One name for each column; None when the source has no names.
    row_names : tuple of str, optional
        One name for each row; None when the source has no names.
    classes : tuple, optional
        The classes as the source writes them. When ``positive`` chose a class, the other
        classes come first and the positive class last, and y holds -1 and +1.
    name : str, optional
        A short name, used as a title.
    notes : str, optional
        What a reader should know: where the numbers come from, what was chosen and changed.
    source : str, optional
        Path of the file.
    target : str, optional
        Name of the label column.
    sample_weight : array of shape (n,), optional
        What svmlight text says by ``cost:``, 1 for rows that say nothing; for ``fit``.
    groups : array of int of shape (n,), optional
        What it says by ``qid:``, 0 for rows that say nothing; for splitters that keep groups
        together.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("students")
    >>> table
    Table('students', 4 x 4 dense, classes F 2, A 2)
    >>> X, y = table
    >>> y
    array([ 1, -1, -1,  1])
    """

    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    classes: tuple[Any, ...] = ()
    name: str = ""
    notes: str = ""
    source: str | None = None
    target: str = "y"
    sample_weight: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None

    def __iter__(self) -> Any:
        """Unpack as ``X, y = table``."""
        return iter((self.X, self.y))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        n, d = self.X.shape
        return int(n), int(d)

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows each class has, in the order of ``classes``."""
        values, counts = np.unique(self.y, return_counts=True)
        found = dict(zip(values.tolist(), counts.tolist()))
        if len(self.classes) == 2 and set(found) <= {-1, 1}:
            return {self.classes[0]: found.get(-1, 0), self.classes[1]: found.get(1, 0)}
        return found

    def frame(self) -> Any:
        """Give the table as a pandas DataFrame, the labels in the last column."""
        pandas = require("pandas", extra="all")
        names = self.feature_names or tuple(f"x{j + 1}" for j in range(self.shape[1]))
        if isinstance(self.X, np.ndarray):
            frame = pandas.DataFrame(self.X, columns=list(names), index=self.row_names)
        else:
            frame = pandas.DataFrame.sparse.from_spmatrix(
                self.X, columns=list(names), index=self.row_names
            )
        if self.y.size:
            title = self.target
            while title in names:
                title += "_"
            frame[title] = self.y
        return frame

    def __repr__(self) -> str:
        n, d = self.shape
        kind = "dense" if isinstance(self.X, np.ndarray) else "sparse"
        counts = self.counts
        if not counts:
            labels = "no labels"
        elif len(counts) <= 4:
            labels = "classes " + ", ".join(f"{c} {k}" for c, k in counts.items())
        else:
            labels = f"{len(counts)} classes"
        return printable(f"Table({self.name!r}, {n} x {d} {kind}, {labels})")
