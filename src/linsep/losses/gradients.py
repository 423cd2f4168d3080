"""Gradients by central differences, to do without a formula or to check one.

(f(x + h) - f(x - h)) / 2 h is off by about h^2 |f'''| / 6 plus the rounding of f over h; with
h = 6e-6 max(1, |x|) both are small for functions of moderate size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.errors import SettingError

Array = NDArray[np.float64]

_DIFFERENCE = 6.055454452393343e-06  # the cube root of 2^-52


def numerical_gradient(
    function: Callable[[Array], float], x: ArrayLike, *, step: float | None = None
) -> Array:
    """The gradient of a function by central differences.

    Parameters
    ----------
    function : callable
        Takes an array of the shape of x and gives a number.
    x : array
        Where.
    step : float, optional
        h; the cube root of the rounding unit, times max(1, |x_j|), without it.

    Returns
    -------
    array of the shape of x

    Examples
    --------
    >>> from linsep.losses import numerical_gradient
    >>> numerical_gradient(lambda x: x[0] ** 2 + 3 * x[1], [1.0, 5.0]).round(6)
    array([2., 3.])
    """
    if step is not None and not (np.isfinite(step) and step > 0):
        raise SettingError(f"step is {step!r}; give a number > 0, or None.")
    at = np.array(x, dtype=np.float64)
    out = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        here = float(at[place])
        h = _DIFFERENCE * max(1.0, abs(here)) if step is None else step
        at[place] = here + h
        up, above = float(function(at)), float(at[place])
        at[place] = here - h
        down, below = float(function(at)), float(at[place])
        at[place] = here
        out[place] = (up - down) / (above - below)  # the steps as they were after rounding
    return out


@dataclass(frozen=True)
class GradientCheck:
    """A gradient and its central differences side by side."""

    given: Array
    numerical: Array
    tol: float

    @property
    def error(self) -> float:
        """Largest difference, relative to the largest entry of the two."""
        size = max(float(np.abs(self.given).max()), float(np.abs(self.numerical).max()), 1e-300)
        return float(np.abs(self.given - self.numerical).max()) / size

    @property
    def ok(self) -> bool:
        """Whether they agree within tol."""
        return self.error <= self.tol

    @property
    def worst(self) -> tuple[int, ...]:
        """Where they differ most."""
        place = np.unravel_index(int(np.abs(self.given - self.numerical).argmax()),
                                 self.given.shape)  # fmt: skip
        return tuple(int(i) for i in place)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return f"the gradient agrees with central differences within {self.error:.2g}"
        at = self.worst
        return (
            f"the gradient is wrong: entry {at if len(at) != 1 else at[0]} is "
            f"{self.given[at]:.6g}, central differences give {self.numerical[at]:.6g} "
            f"(relative error {self.error:.2g})"
        )


def check_gradient(
    function: Callable[[Array], float],
    gradient: Callable[[Array], ArrayLike],
    x: ArrayLike,
    *,
    tol: float = 1e-5,
    step: float | None = None,
) -> GradientCheck:
    """Compare a gradient with central differences at x.

    Parameters
    ----------
    function, gradient : callable
        Of an array of the shape of x.
    x : array
        Where; a point without ties and corners.
    tol : float, default=1e-5
        Relative difference up to which they agree.
    step : float, optional
        h of the differences.

    Returns
    -------
    GradientCheck
        True as a condition if they agree; ``print`` it for a sentence.

    Examples
    --------
    >>> from linsep.losses import check_gradient
    >>> f = lambda a: float(((a - 1) ** 2).sum())
    >>> print(check_gradient(f, lambda a: a - 1, [3.0, 1.0]))
    the gradient is wrong: entry 0 is 2, central differences give 4 (relative error 0.5)
    >>> bool(check_gradient(f, lambda a: 2 * (a - 1), [3.0, 1.0]))
    True
    """
    at = np.array(x, dtype=np.float64)
    given = np.asarray(gradient(at.copy()), dtype=np.float64)
    if given.shape != at.shape:
        raise SettingError(f"the gradient has shape {given.shape}, but x has shape {at.shape}.")
    return GradientCheck(given, numerical_gradient(function, at, step=step), tol)
