"""Can these rows teach anything through this kernel? What the Gram matrix shows, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.kernels.rows import Rows, inner_products
from linsep.kernels.tiles import look

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel


Array = NDArray[Any]

_ALONE = 0.1  # similarity to the nearest other row below which a row stands alone
_ALIKE = 0.99  # mean similarity above which rows cannot be told apart
_SPREAD = 1e6  # ratio of the diagonal's ends
_COLUMN_SHARE = 0.99  # share of one column in the variance


@dataclass(frozen=True)
class Diagnosis:
    """What ``Kernel.diagnose`` found; ``str`` of it is the report.

    Similarity is K(x, z) / sqrt(K(x, x) K(z, z)), the cosine of two images.

    Attributes
    ----------
    verdict : {"fine", "nearly diagonal", "nearly constant"}
    ok : bool
        Whether there is nothing to advise.
    nearest : float
        Median over rows of the similarity to the most similar other row.
    similarity : float
        Mean similarity of two different rows, without sign.
    mass : float
        Sum of the entries beside the diagonal over the sum on it, without sign.
    distances : tuple of three floats, or None
        Of an RBF kernel: tenth, half and nine tenths of the distances of rows.
    sigma : float or None
        Of an RBF kernel: its width.
    advice : tuple of str
    n, looked_at : int
        Number of rows, and how many of them were used.
    kernel : Kernel
        With numbers for all parameters.
    """

    kernel: Kernel
    verdict: str
    nearest: float
    similarity: float
    mass: float
    n: int
    looked_at: int
    distances: tuple[float, float, float] | None = None
    sigma: float | None = None
    advice: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is nothing to advise."""
        return not self.advice

    def __str__(self) -> str:
        rows = count(self.n, "row")
        if self.looked_at < self.n:
            rows = f"a sample of {self.looked_at} of {self.n} rows"
        lines = [
            f"Gram matrix of {self.kernel!r} on {rows}: {self.verdict}.",
            f"Similarity of two rows: {self.similarity:.3g} on average, {self.nearest:.3g} to the "
            f"nearest; mass beside the diagonal {self.mass:.3g} times that on it.",
        ]
        if self.distances is not None and self.sigma is not None:
            low, half, high = self.distances
            lines.append(
                f"sigma is {self.sigma:.4g}; the distances of rows: 10 % below {low:.4g}, half "
                f"below {half:.4g}, 90 % below {high:.4g}."
            )
        return "\n".join(lines + [f"Advice: {words}" for words in self.advice])


def diagnose(kernel: Kernel, X: Any, *, sample: int, random_state: int) -> Diagnosis:
    """Look at a Gram matrix and say what would make it more useful."""
    kernel, rows, part, G = look(kernel, X, sample, random_state)
    diagonal = np.abs(np.diag(G)).astype(np.float64)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    alike = np.abs(G) / root[:, None] / root
    mass = float((np.abs(G).sum() - diagonal.sum()) / (diagonal.sum() or 1.0))
    if part.n == 1:
        nearest = similarity = 1.0
    else:
        similarity = float((alike.sum() - np.trace(alike)) / (part.n * (part.n - 1)))
        np.fill_diagonal(alike, 0.0)
        nearest = float(np.median(alike.max(axis=1)))
    verdict = "fine"
    if part.n > 1 and nearest < _ALONE:
        verdict = "nearly diagonal"
    elif part.n > 1 and similarity > _ALIKE:
        verdict = "nearly constant"
    sigma, distances = _widths(kernel, part)
    advice = [*_advise(verdict, sigma, distances), *_advise_scale(kernel, part, diagonal)]
    return Diagnosis(
        kernel=kernel, verdict=verdict, nearest=nearest, similarity=similarity, mass=mass,
        n=rows.n, looked_at=part.n, distances=distances, sigma=sigma, advice=tuple(advice),
    )  # fmt: skip


def _widths(kernel: Kernel, part: Rows) -> tuple[float | None, Any]:
    """The width of a kernel that has one, and the distances it should be compared with."""
    if kernel.width is None or part.n < 2:
        return None, None
    with np.errstate(over="ignore", invalid="ignore"):
        squares = part.squares.astype(np.float64)
        far = squares[:, None] + squares - 2.0 * inner_products(part.centred, part.centred)
        far = np.sqrt(np.maximum(far, 0.0))[np.triu_indices(part.n, 1)]
    if not np.isfinite(far).all():
        return kernel.width, None
    low, half, high = np.quantile(far, [0.1, 0.5, 0.9])
    return kernel.width, (float(low), float(half), float(high))


def _advise(verdict: str, sigma: float | None, distances: Any) -> list[str]:
    if verdict == "fine":
        return []
    half = None if distances is None else distances[1]
    search = "choose by cross-validation" + (
        f", sigma from about {half / 4:.3g} to {half * 2:.3g} (gamma from {_gamma(half * 2):.3g} "
        f"to {_gamma(half / 4):.3g})." if half else "."
    )  # fmt: skip
    if verdict == "nearly diagonal":
        why = "every row is similar to itself only, so the rows are learned by heart"
        if sigma is not None and half:
            return [f"{why}: sigma is {half / sigma:.3g} times below the median distance; {search}"]
        return [f"{why}; use a smoother kernel (a lower degree, a wider RBF) and {search}"]
    why = "all rows look the same"
    if sigma is not None and half:
        return [f"{why}: sigma is {sigma / half:.3g} times the median distance; {search}"]
    return [f"{why}; centre and scale the columns, or use RBF; {search}"]


def _advise_scale(kernel: Kernel, part: Rows, diagonal: Array) -> list[str]:
    advice = []
    low, high = float(diagonal.min()), float(diagonal.max())
    if low > 0 and high / low > _SPREAD:
        advice.append(
            f"K(x, x) runs from {low:.3g} to {high:.3g}: long rows outweigh the others; scale the "
            "rows, for example with sklearn.preprocessing.Normalizer."
        )
    if kernel.given or kernel.nonnegative or part.sparse or part.n < 3 or part.d < 2:
        return advice
    with np.errstate(over="ignore", invalid="ignore"):
        variance = part.matrix.var(axis=0, dtype=np.float64)
        total = float(variance.sum())
    if np.isfinite(total) and total > 0 and variance.max() > _COLUMN_SHARE * total:
        advice.append(
            f"column {int(variance.argmax())} holds {100 * variance.max() / total:.3g} % of the "
            "variance, so the kernel sees little else; standardise the columns."
        )
    return advice


def _gamma(sigma: float) -> float:
    return 0.5 / sigma / sigma
