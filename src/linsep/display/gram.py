"""A Gram matrix as a heat map, rows of a class side by side, and its eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.display.look import (
    COLOURS,
    INK,
    RULE,
    at_tick,
    class_style,
    plain_names,
    pyplot,
    short,
    wrapped,
)
from linsep.display.look import legend as draw_legend
from linsep.errors import DataError, SettingError
from linsep.kernels.base import Kernel
from linsep.kernels.spec import as_kernel
from linsep.kernels.tiles import look

Array = NDArray[Any]

_NUMBERED_ROWS = 10  # rows up to which the cells carry their numbers


class GramDisplay:
    """A kernel seen through the Gram matrix of some rows.

    A useful kernel shows blocks: rows of one class are similar. A nearly diagonal matrix (every row
    like itself only) or a nearly constant one (all rows alike) teaches nothing. Usually made by
    ``from_kernel``.

    Parameters
    ----------
    gram : array of shape (n, n)
        Kernel values.
    labels : array of int, optional
        Class number of each row.
    class_names : sequence of str, optional
        Their names.
    title : str
        The words above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    image_ : image
    order_ : array of int
        Which row stands where: sorted by class.
    colorbar_ : colour bar
    eigenvalues_ : array or None
        Of the symmetric part, largest first, when they are drawn.
    spectrum_ : list of line or None
        Those below zero in another colour and with another marker.

    See Also
    --------
    linsep.kernels.Kernel.diagnose : The same in words.

    Examples
    --------
    >>> import linsep
    >>> from linsep.kernels import Polynomial
    >>> table = linsep.data.load("xor")
    >>> display = linsep.GramDisplay.from_kernel(Polynomial(degree=2), table.X, table.y)
    >>> sorted(set(display.gram.ravel().tolist()))
    [1.0, 9.0]
    """

    def __init__(
        self,
        gram: Array,
        labels: Any = None,
        *,
        class_names: Sequence[str] = (),
        title: str = "",
    ) -> None:
        self.gram = np.asarray(gram, dtype=np.float64)
        if self.gram.ndim != 2 or self.gram.shape[0] != self.gram.shape[1]:
            raise DataError(f"a Gram matrix is square; got shape {self.gram.shape}.")
        self.labels = None if labels is None else np.asarray(labels, dtype=np.intp)
        self.class_names = list(class_names)
        self.title = title

    @classmethod
    def from_kernel(
        cls,
        kernel: Any,
        X: Any,
        y: Any = None,
        *,
        sample: int = 500,
        random_state: int = 0,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute a Gram matrix and draw it.

        Parameters
        ----------
        kernel : Kernel, str or callable
            As in KernelSVM; "precomputed" takes X as the Gram matrix.
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,), optional
            Classes: rows are drawn class by class.
        sample : int, default=500
            Most rows to draw; of more, so many are drawn by lot, and the title says so.
        random_state : int, default=0
            Seed of the lot.
        class_names : sequence of str, optional
            Names of the classes in sorted order.
        ax : matplotlib axes, or a pair of them with eigenvalues, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        GramDisplay
        """
        resolved, rows, part, gram = look(as_kernel(kernel, warn=False), X, sample, random_state)
        labels, names = None, []
        if y is not None:
            values = np.asarray(y)
            if values.shape != (rows.n,):
                raise DataError(f"y has shape {values.shape}; X has {rows.n} rows: give one each.")
            classes, numbers = np.unique(values, return_inverse=True)
            labels = numbers if part.index is None else numbers[part.index]
            names = [short(c) for c in (classes if class_names is None else class_names)]
            if len(names) != len(classes):
                raise SettingError(
                    f"class_names has {len(names)} names for {len(classes)} classes."
                )
        title = f"Gram matrix of {_words(resolved)}"
        if part.n < rows.n:
            title += f", {part.n} of {rows.n} rows"
        return cls(gram, labels, class_names=names, title=title).plot(ax, **options)

    @classmethod
    def from_estimator(cls, model: object, X: Any, y: Any = None, **options: Any) -> Self:
        """Draw the Gram matrix of rows under the kernel of a fitted model.

        Parameters
        ----------
        model : fitted classifier with a kernel
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,), optional
        **options
            Passed to ``from_kernel``.

        Returns
        -------
        GramDisplay
        """
        kernel = getattr(model, "kernel_", None) or getattr(model, "kernel", None)
        if kernel is None:
            raise DataError(f"{type(model).__name__} has no kernel; use from_kernel.")
        return cls.from_kernel(kernel, X, y, **options)

    @plain_names
    def plot(
        self,
        ax: Any = None,
        *,
        eigenvalues: bool = False,
        normalise: bool = False,
        title: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, or a pair of them with eigenvalues, optional
            Where to draw; a new figure without it.
        eigenvalues : bool, default=False
            Draw them beside the matrix; negative ones show that it is no Mercer kernel.
        normalise : bool, default=False
            Draw similarities K(x, z) / sqrt(K(x, x) K(z, z)) instead of values.
        title : bool, default=True
            Whether to draw it.

        Returns
        -------
        self
        """
        ax, beside = _places(ax, eigenvalues=eigenvalues)
        self.ax_, self.figure_ = ax, ax.figure
        n = self.gram.shape[0]
        self.order_ = (
            np.arange(n) if self.labels is None else np.argsort(self.labels, kind="stable")
        )
        shown = self.gram[np.ix_(self.order_, self.order_)]
        if normalise:
            root = np.sqrt(np.where(np.diag(shown) > 0, np.diag(shown), 1.0))
            shown = shown / root[:, None] / root
        self._draw_matrix(shown, "similarity" if normalise else "K(x, z)")
        self.eigenvalues_: Array | None = None
        self.spectrum_: list[Any] | None = None
        if eigenvalues:
            self._draw_eigenvalues(beside)
        if title:
            ax.set_title(wrapped(self.title or "Gram matrix", 60), fontsize="medium")
        return self

    # -- inside ---------------------------------------------------------------------------

    def _draw_matrix(self, shown: Array, label: str) -> None:
        ax, n = self.ax_, shown.shape[0]
        if shown.min() < 0:  # zero is the middle of the colours
            top = float(np.abs(shown).max())
            look_of = {"cmap": "RdBu_r", "vmin": -top, "vmax": top}
        else:
            look_of = {"cmap": "Blues", "vmin": 0.0, "vmax": float(shown.max()) or 1.0}
        self.image_ = ax.imshow(shown, interpolation="nearest", **look_of)
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label=label, shrink=0.85)
        if n <= _NUMBERED_ROWS:
            self._write_values(shown)
        if self.labels is None:
            ax.set_xlabel("row")
            ax.set_ylabel("row")
            return
        counts = np.bincount(self.labels, minlength=len(self.class_names))
        ends = np.cumsum(counts)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color=INK, linewidth=1)
            ax.axvline(end - 0.5, color=INK, linewidth=1)
        present = np.flatnonzero(counts)
        middles = (ends - counts / 2 - 0.5)[present]
        names = [at_tick(f"{self.class_names[k]} ({counts[k]})") for k in present]
        ax.set_xticks(middles, names)
        ax.set_yticks(middles, names, rotation=90, va="center")
        for at, k in enumerate(present):
            for tick in (ax.get_xticklabels()[at], ax.get_yticklabels()[at]):
                tick.set_color(class_style(int(k))["color"])
        ax.tick_params(length=0)
        ax.set_xlim(-0.5, n - 0.5)

    def _write_values(self, shown: Array) -> None:
        """Write the numbers into the cells of a small matrix."""
        dark = 0.6 * float(np.abs(shown).max())
        for i, j in np.ndindex(shown.shape):
            ink = "white" if abs(shown[i, j]) > dark else INK
            self.ax_.text(j, i, f"{shown[i, j]:.3g}", ha="center", va="center", color=ink)

    def _draw_eigenvalues(self, ax: Any) -> None:
        values = np.linalg.eigvalsh(self.gram / 2 + self.gram.T / 2)[::-1]
        self.eigenvalues_ = values
        rank = np.arange(1, values.size + 1)
        doubt = np.finfo(float).eps * values.size * float(np.abs(values).max())
        below = values < -doubt
        self.spectrum_ = [
            ax.plot(rank[~below], values[~below], ".", color=COLOURS[1], label="zero or above")[0]
        ]
        if below.any():
            words = f"below zero ({int(below.sum())})"
            self.spectrum_ += ax.plot(
                rank[below], values[below], "x", color=COLOURS[0], label=words
            )
        sure = np.abs(values)[np.abs(values) > doubt]
        if sure.size > 1 and sure.max() > 1e3 * sure.min():
            least = 1e-4 * sure.max() if below.any() else sure.min()
            ax.set_yscale("symlog", linthresh=float(least))
            if not below.any():
                ax.set_ylim(bottom=0)
        ax.axhline(0, color=RULE, linewidth=0.8)
        ax.set_xlabel("rank")
        ax.set_title(wrapped(f"eigenvalues, smallest {values[-1]:.3g}", 40), fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        if below.any():
            draw_legend(ax)


def _places(ax: Any, *, eigenvalues: bool) -> tuple[Any, Any]:
    """The axes for the matrix and for the eigenvalues."""
    if not eigenvalues:
        if ax is None:
            ax = pyplot().subplots(figsize=(6.0, 5.2), layout="constrained")[1]
        return ax, None
    if ax is None:
        ratios = {"width_ratios": [1.5, 1]}
        _, (ax, beside) = pyplot().subplots(
            1, 2, figsize=(10.0, 5.0), layout="constrained", gridspec_kw=ratios
        )
        return ax, beside
    try:
        first, second = ax
    except (TypeError, ValueError):
        raise SettingError(
            "with eigenvalues=True, ax is a pair of axes: fig, ax = plt.subplots(1, 2)."
        ) from None
    return first, second


def _words(kernel: Kernel) -> str:
    """The kernel with numbers of four digits."""
    short_of = {
        key: float(f"{value:.4g}")
        for key, value in kernel.get_params().items()
        if isinstance(value, float) and np.isfinite(value) and value != 0
    }
    return repr(kernel.clone().set_params(**short_of))
