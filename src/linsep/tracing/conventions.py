"""A run as each lecture writes it: letters, where the 1 stands, from where it is counted.

000   w' = [w0, w], the 1 first; t = 0, 1, ...; reflected rows x''
001   theta and theta_0 apart; k counts mistakes from 0
002   w and b = -w.u, with a point u of the line; k counts mistakes from 0
003   a = [w0, w], the 1 first; k = 1, 2, ...; reflected rows y, classes 1 and 2
004   w = [w, w0], the 1 last; t = 0, 1, ...; classes omega_1 and omega_2. Of M classes, by Kesler,
      w = [w_1, ..., w_M], and x_ij has x at i and -x at j

Of a classifier through the origin no lecture writes an offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import SettingError


@dataclass(frozen=True)
class Convention:
    """How a lecture writes weights and classes; the positive class is the one without minus."""

    lecture: str
    position: str
    """Of the 1: "first", "last", or "apart"."""
    weights: str
    """The weights with their number."""
    letter: str
    bias: str
    first: int
    """Number of the start."""
    product: str
    positive: str
    negative: str
    reflected: bool = True
    """Whether values are those of reflected rows."""
    stacked: bool = False
    """Whether it writes the planes of three classes and more as one vector."""
    offset: bool = True
    """Whether there is one; the classifiers through the origin have none."""

    def through_origin(self) -> Convention:
        """The same without an offset."""
        product = self.product.replace(f" + {self.bias}", "").replace("(", "").replace(")", "")
        return replace(self, offset=False, product=product)

    def names(self, features: list[str]) -> list[str]:
        """Names of the coordinates of ``vector``."""
        return self._placed(list(features), self.bias)

    def names_of_planes(self, features: list[str], planes: int) -> list[str]:
        """The same of several planes, numbered from 1."""
        own = self.names(features)
        return [f"{self.letter}_{k + 1}: {name}" for k in range(planes) for name in own]

    def vector(self, coef: NDArray[np.float64], intercept: Any) -> list[float]:
        """The weights in the order of the lecture, of several planes one after the other."""
        planes = zip(np.atleast_2d(coef), np.ravel(intercept))
        return [v for w, b in planes for v in self._placed(w.tolist(), float(b))]

    def number(self, update: int) -> int:
        """What the lecture calls the weights after so many updates."""
        return update + self.first

    def written(self, update: int | None, coef: NDArray[np.float64], intercept: Any) -> str:
        """The weights as an equation.

        >>> CONVENTIONS["003"].written(1, np.array([2.0, 3.0]), -1.0)
        'a(2) = [-1 2 3]'
        >>> CONVENTIONS["004"].written(1, np.array([[2.0], [3.0], [0.0]]), [-1.0, 0.0, 1.0])
        'w(1) = [2 -1 | 3 0 | 0 1]'
        """
        name = self.letter if update is None else self.weights.format(self.number(update))
        if np.ndim(coef) == 2:
            planes = [_bracket(self.vector(w, b))[1:-1] for w, b in zip(coef, np.ravel(intercept))]
            return f"{name} = [{' | '.join(planes)}]"
        if self.position != "apart":
            return f"{name} = {_bracket(self.vector(coef, intercept))}"
        told = f"{name} = {_bracket(coef.tolist())}"
        if not self.offset:
            return told
        told += f", {self.bias} = {intercept + 0.0:.6g}"
        size = float(coef @ coef)
        if self.lecture == "002" and size > 0:
            told += f", u = {_bracket((-intercept / size * coef).tolist())}"
        return told

    def _placed(self, many: list[Any], one: Any) -> list[Any]:
        if not self.offset:
            return many
        return [one, *many] if self.position == "first" else [*many, one]


def _bracket(values: list[float]) -> str:
    return "[" + " ".join(f"{value + 0.0:.6g}" for value in values) + "]"


CONVENTIONS = {
    one.lecture: one
    for one in (
        Convention("000", "first", "w'({})", "w'", "w0", 0, "w'.x''", "+1", "-1"),
        Convention(
            "001", "apart", "theta({})", "theta", "theta_0", 0, "y (theta.x + theta_0)", "+1", "-1"
        ),
        Convention("002", "apart", "w({})", "w", "b", 0, "y (w.x + b)", "+1", "-1"),
        Convention("003", "first", "a({})", "a", "w0", 1, "a.y", "class 1", "class 2"),
        Convention(
            "004",
            "last",
            "w({})",
            "w",
            "w0",
            0,
            "w.x",
            "omega_1",
            "omega_2",
            reflected=False,
            stacked=True,
        ),
    )
}


def convention_named(name: str | int | None) -> Convention | None:
    """The convention of a lecture; None for none."""
    if name is None:
        return None
    found = CONVENTIONS.get(f"{name:>03}" if isinstance(name, int) else str(name))
    if found is None:
        known = ", ".join(map(repr, CONVENTIONS))
        raise SettingError(f"convention is {name!r}; the lectures are {known}.")
    return found
