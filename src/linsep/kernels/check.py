"""Mercer's condition: a symmetric Gram matrix without negative eigenvalue, or rows that refute it.

A negative eigenvalue is shown by a short combination of rows: weights v on a few of them with
v'Kv < 0, recomputed from the formula of the kernel in interval arithmetic, so that it is a proof
and not rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import one_blas_thread
from linsep.core.words import count
from linsep.errors import DataError, ProofError
from linsep.kernels.rows import Rows
from linsep.kernels.tiles import look

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel


Array = NDArray[Any]

_BITS = 160  # precision of the interval arithmetic
_TRIES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_MOST_PRODUCTS = 2_000_000  # products in interval arithmetic


@dataclass(frozen=True)
class Mercer:
    """The verdict of ``Kernel.check``; ``str`` of it is the sentence.

    Attributes
    ----------
    psd : bool or None
        Whether the Gram matrix is positive semidefinite (to rounding). None: its smallest
        eigenvalue is too close to zero to tell.
    symmetric : bool
    smallest : float
        Smallest eigenvalue of the Gram matrix of the rows looked at.
    witness : array of shape (n,) or None
        v with v'Kv < 0, zero but for a few rows.
    rows : array of int or None
        Those rows.
    value : float or None
        An upper bound of v'Kv, below zero.
    proved : bool
        The verdict is certain: v'Kv < 0 was found in interval arithmetic from the kernel's
        formula, or K(x, z) differs from K(z, x), or the kernel is positive semidefinite for all
        rows. False: the eigenvalue stands for it, to rounding.
    n, looked_at : int
        Number of rows, and how many of them were used.
    kernel : Kernel
        With numbers for all parameters.
    """

    kernel: Kernel
    psd: bool | None
    symmetric: bool
    smallest: float
    n: int
    looked_at: int
    proved: bool = False
    witness: Array | None = None
    rows: Array | None = None
    value: float | None = None

    def __bool__(self) -> bool:
        return self.psd is True

    def __iter__(self) -> Iterator[Any]:
        """Unpack as ``psd, smallest, witness``."""
        return iter((self.psd, self.smallest, self.witness))

    @property
    def smallest_eigenvalue(self) -> float:
        """Another name of ``smallest``."""
        return self.smallest

    def check(self, X: Any) -> bool:
        """Compute v'Kv again from the witness alone; True, or ProofError if it is not below zero.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The rows that the verdict is about.

        Returns
        -------
        bool
        """
        if self.witness is None or self.rows is None:
            raise ProofError("there is no witness to check: no v with v'Kv < 0 was found.")
        rows = self.kernel.rows(X)
        if rows.n != self.n:
            raise DataError(f"X has {count(rows.n, 'row')}, but the verdict is about {self.n}.")
        value = quadratic_form(self.kernel, rows.take(self.rows), self.witness[self.rows])
        if not value < 0:
            raise ProofError(f"v'Kv is {_shown(value)}, not below zero; the rows are others.")
        return True

    def __str__(self) -> str:
        where = f"these {self.n} rows" if self.n > 1 else "this row"
        if self.looked_at < self.n:
            where = f"a sample of {self.looked_at} of {self.n} rows"
        least = f"the smallest eigenvalue is {self.smallest:.4g}"
        if self.psd:
            if self.kernel.positive:
                return f"{self.kernel!r} is positive semidefinite on any rows; on {where} {least}."
            more = " Other rows may show a negative one." if self.looked_at < self.n else ""
            return f"{self.kernel!r} is positive semidefinite on {where}: {least}.{more}"
        if not self.symmetric:
            return f"{self.kernel!r} is not symmetric on {where}, so it is not a kernel."
        if self.psd is None:
            return f"{self.kernel!r} on {where}: {least}, too close to zero to tell its sign."
        return f"{self.kernel!r} is not positive semidefinite on {where}: {least}. {self._proof()}"

    def _proof(self) -> str:
        if self.rows is None or self.witness is None:
            return "No short witness was found."
        sure = "in interval arithmetic" if self.proved else "in floating point"
        if len(self.rows) > 6:
            rows = count(len(self.rows), "row")
            return f"Weights on {rows} give v'Kv <= {self.value:.4g} < 0, {sure}."
        numbers = ", ".join(str(int(i)) for i in self.rows)
        weights = ", ".join(f"{v:.4g}" for v in self.witness[self.rows])
        if len(self.rows) == 1:
            return f"Row {numbers} alone shows it: K(x, x) <= {self.value:.4g} < 0, {sure}."
        return f"Rows {numbers} with weights {weights} give v'Kv <= {self.value:.4g} < 0, {sure}."


def mercer(kernel: Kernel, X: Any, *, sample: int, random_state: int) -> Mercer:
    """Look at the eigenvalues of a Gram matrix, and prove what they say."""
    from scipy.linalg import eigh

    kernel, rows, part, G = look(kernel, X, sample, random_state)
    scale = float(np.abs(G).max())
    facts: dict[str, Any] = {"kernel": kernel, "n": rows.n, "looked_at": part.n, "symmetric": True}
    if scale == 0:
        return Mercer(psd=True, smallest=0.0, proved=bool(kernel.positive), **facts)
    if float(np.abs(G - G.T).max()) > 1e-10 * scale:
        facts["symmetric"] = False
        least = float(np.linalg.eigvalsh(G / 2 + G.T / 2)[0])
        return Mercer(psd=False, smallest=least, proved=True, **facts)
    G = (G / 2 + G.T / 2) / scale
    with one_blas_thread():
        values, vectors = eigh(G, subset_by_index=[0, 0])
    least = float(values[0])
    doubt = np.finfo(float).eps * max(part.n, rows.d, 16) * float(np.linalg.norm(G))
    if kernel.positive or least >= -doubt:
        sure = bool(kernel.positive)
        return Mercer(psd=True, smallest=least * scale, proved=sure, **facts)
    found = _short_witness(kernel, part, G, vectors[:, 0], doubt)
    if found is None:
        return Mercer(psd=None, smallest=least * scale, **facts)
    chosen, weights, value, proved = found
    whole = np.arange(part.n) if part.index is None else part.index
    witness = np.zeros(rows.n)
    witness[whole[chosen]] = weights
    return Mercer(
        psd=False, smallest=least * scale, proved=proved, witness=witness, rows=whole[chosen],
        value=value if proved else value * scale, **facts,
    )  # fmt: skip


def _short_witness(
    kernel: Kernel, part: Rows, G: Array, vector: Array, doubt: float
) -> tuple[Array, Array, float, bool] | None:
    """As few rows as need be, their weights, v'Kv, and whether intervals prove it negative.

    A value that is a hundredth of what all rows show is clear enough; less is kept in reserve.
    """
    clear = 0.01 * float(vector @ G @ vector)
    order = np.argsort(-np.abs(vector), kind="stable")
    reserve = None
    for m in (*(k for k in _TRIES if k < part.n), part.n):
        chosen = np.sort(order[:m])
        values, vectors = np.linalg.eigh(G[np.ix_(chosen, chosen)])
        if values[0] >= -doubt:
            continue
        weights = _short(vectors[:, 0])
        value = float(weights @ G[np.ix_(chosen, chosen)] @ weights)
        if value >= -doubt:
            continue
        if m * m * part.d > _MOST_PRODUCTS:
            return reserve or (chosen, weights, value, False)
        ball = quadratic_form(kernel, part.take(chosen), weights)
        if ball < 0:
            found = chosen, weights, _upper(ball), True
            if value <= clear:
                return found
            reserve = reserve or found
    return reserve


def _short(vector: Array) -> Array:
    """Weights of few digits, the largest 1: they are exact as printed, up to their last bit."""
    largest = vector[np.argmax(np.abs(vector))]
    return np.asarray(np.round(vector / largest, 4))


def quadratic_form(kernel: Kernel, rows: Rows, weights: Array) -> Any:
    """v'Kv as a flint ``arb``, an interval that holds the true value."""
    from flint import arb, ctx

    before = ctx.prec
    ctx.prec = _BITS
    try:
        entry = _entries(kernel, rows)
        v = [float(w) for w in weights]
        total = arb(0)
        for i in range(rows.n):
            total += arb(v[i]) * arb(v[i]) * entry(i, i)
            for j in range(i):
                total += arb(v[i]) * arb(v[j]) * (entry(i, j) + entry(j, i))
        return total
    finally:
        ctx.prec = before


def _entries(kernel: Kernel, rows: Rows) -> Any:
    from flint import arb

    if kernel.given:  # the entries themselves are the kernel
        G = kernel.block(rows, rows)
        return lambda i, j: arb(float(G[i, j]))
    matrix = rows.matrix if isinstance(rows.matrix, np.ndarray) else rows.matrix.toarray()
    X = [[float(x) for x in row] for row in matrix]
    return lambda i, j: kernel.ball(X[i], X[j])


def _upper(ball: Any) -> float:
    """A float not below the interval."""
    return float(np.nextafter(float(ball.upper()), np.inf))


def _shown(ball: Any) -> str:
    return f"{float(ball.mid()):.6g}"
