"""Gradient descent on any function, with its gradient or without.

Problem   minimise f(x)
Update    x <- x - eta(k) grad f(x)
Stop      |grad f(x)| <= tol: a stationary point; or f grows without bound
Paper     Cauchy 1847

The test is on the gradient, not on eta(k) times it, which a falling rate makes small anywhere.
Only for convex functions is a stationary point surely the minimum; otherwise it depends on the
start, and a rate that is too large leads away from it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.drive import drive
from linsep.core.limits import Limits
from linsep.core.protocol import ENDLESS, NO_LOG, Held, Log, State, Status, Witness
from linsep.core.words import count
from linsep.criteria import Count, Criterion, weights_of
from linsep.errors import SettingError, require
from linsep.losses.gradients import numerical_gradient
from linsep.solvers.schedule import CONSTANT, DIVERGENCE, Schedule

Array = NDArray[np.float64]

_AWAY = 6.0  # first steps from the start, in lengths of the first one, that a picture shows


@dataclass(kw_only=True)
class DescentState(State):
    """The point, the points before it, and their values."""

    held: ClassVar[Mapping[str, Held]] = {
        "values": Held(shape=("?",)),
        "path": Held(shape=("values", None)),
        "bound": ENDLESS,
    }

    x: Array
    path: Array
    values: Array
    gradient: Array
    bound: float = np.inf

    @property
    def passes(self) -> float:
        """Gradients computed so far."""
        return float(self.steps)


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent; without a gradient by central differences.

    Parameters
    ----------
    function, gradient : callable
        Of an array; gradient may be None.
    schedule : Schedule
        Rates.
    tol : float
        Length of the gradient to reach.
    """

    unit: ClassVar[str] = "step"

    function: Callable[[Array], float]
    gradient: Callable[[Array], ArrayLike] | None = None
    schedule: Schedule = CONSTANT
    tol: float = 1e-6

    def init(self, problem: Any, *, start: Any = None) -> DescentState:
        """The first point."""
        x = np.array(0.0 if start is None else start, dtype=np.float64)
        value = self._value(x)
        state = DescentState(
            x=x, path=x[None].copy(), values=np.array([value]), gradient=self._slope(x)
        )
        state.bound = DIVERGENCE * (1.0 + abs(value))
        self._judge(state)
        return state

    def advance(self, problem: Any, state: DescentState, steps: int, log: Log = NO_LOG) -> int:
        """Up to ``steps`` steps."""
        taken, path, values = 0, [], []
        while taken < steps and not state.status.done:
            rate = float(self.schedule.rates(state.n_updates)[0])
            state.x = np.asarray(state.x - rate * state.gradient)  # a number stays an array
            taken += 1
            state.steps += 1
            state.n_updates += 1
            path.append(state.x)
            values.append(self._value(state.x))
            state.gradient = self._slope(state.x)
            self._judge(state, values[-1])
        if taken:
            state.path = np.concatenate([state.path, np.stack(path)])
            state.values = np.append(state.values, values)
        return taken

    def status(self, state: DescentState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Any, state: DescentState) -> Witness:
        """The point."""
        return Witness(a=np.ravel(state.x).copy())

    def _value(self, x: Array) -> float:
        found = self.function(x.copy())
        try:
            return float(found)
        except (TypeError, ValueError):
            raise SettingError(f"the function gives {found!r:.60}, not one number.") from None

    def _slope(self, x: Array) -> Array:
        if self.gradient is None:
            return np.asarray(numerical_gradient(self.function, x))
        slope = np.asarray(self.gradient(x.copy()), dtype=np.float64)
        if slope.shape != x.shape:
            raise SettingError(f"the gradient has shape {slope.shape}, but x has {x.shape}.")
        return slope

    def _judge(self, state: DescentState, value: float | None = None) -> None:
        value = float(state.values[-1]) if value is None else value
        size = float(np.linalg.norm(state.gradient))
        state.status = Status.RUNNING if state.n_updates else Status.READY
        if not (np.isfinite(size) and np.isfinite(value) and value <= state.bound):
            state.status = Status.DIVERGED
        elif size <= self.tol:
            state.status = Status.CONVERGED


@dataclass(frozen=True)
class Descent:
    """A recorded descent."""

    x: Array
    """The last point."""
    value: float
    slope: float
    """Length of the gradient there."""
    path: Array
    """All points, the start first."""
    values: Array
    """f along the path."""
    status: Status
    function: Callable[[Array], float] | None = None
    """f itself, for pictures."""

    def __str__(self) -> str:
        steps = count(len(self.path) - 1, "step")
        steps += f", f = {self.value:.6g}, |gradient| = {self.slope:.3g}"
        if self.status is Status.CONVERGED:
            return (
                f"a stationary point after {steps}: the minimum if f is convex, otherwise perhaps "
                "a local one"
            )
        if self.status is Status.DIVERGED:
            return f"f grew without bound after {steps}; take a smaller eta"
        if self.value > self.values[0]:
            return f"f has grown from {self.values[0]:.6g} after {steps}; take a smaller eta"
        return f"no stationary point yet after {steps}; raise max_iter, or eta"

    def plot(self, ax: Any = None) -> Any:
        """Draw the way down, and give back the axes.

        One number: f around the path as a curve, with the steps on it. Two: contours of f, and the
        path across them. More: f at each step.
        """
        pyplot = require("matplotlib.pyplot", extra="plot")
        if ax is None:
            ax = pyplot.subplots(figsize=(6.4, 4.6), layout="constrained")[1]
        path = self.path.reshape(len(self.path), -1)
        keep = np.isfinite(path).all(axis=1) & np.isfinite(self.values)
        path, values = path[keep], self.values[keep]
        if self.status is Status.DIVERGED and len(path) > 2:  # the first steps show how it leaves
            away = np.linalg.norm(path - path[0], axis=1)
            gone = np.flatnonzero(away > _AWAY * away[1])
            if len(gone):
                path, values = path[: 1 + gone[0]], values[: 1 + gone[0]]
        if path.shape[1] > 2 or self.function is None:
            few = "o-" if len(values) <= 200 else "-"  # dots of many steps are a thick line
            ax.plot(np.arange(len(values)), values, few, color="#222222", markersize=3)
            ax.set(xlabel="step", ylabel="f")
        else:
            self._draw_function(ax, path, values)
        ax.set_title("\n".join(textwrap.wrap(str(self), 70)), fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def _draw_function(self, ax: Any, path: Array, values: Array) -> None:
        assert self.function is not None
        low, high = path.min(axis=0), path.max(axis=0)
        share = 3.0 if path.shape[1] == 1 else 0.35  # another minimum may be near
        pad = share * (high - low) + 0.25 * max(float((high - low).max()), 1e-9)
        many = 961 if path.shape[1] == 1 else 121
        sides = [np.linspace(a - p, b + p, many) for a, b, p in zip(low, high, pad)]
        shape = self.path.shape[1:]
        if path.shape[1] == 1:
            curve = [self.function(np.full(shape, x)) for x in sides[0]]
            line: dict[str, Any] = {"color": "#6b6b6b", "label": "f"}
            bottom, top = min(curve), float(values.max())  # beyond the start f may be steep
            top += 0.35 * (top - bottom)
            seen = sides[0][np.array(curve) <= top]
            fine = np.linspace(seen.min(), seen.max(), 241)
            ax.plot(fine, [self.function(np.full(shape, x)) for x in fine], **line)
            ax.set_xlim(seen.min(), seen.max())
            ax.set_ylim(bottom - 0.06 * (top - bottom), top)
            ax.plot(path[:, 0], values, "o-", color="#0072B2", markersize=4, label="steps")
            ends = path[[0, -1], 0], values[[0, -1]]
            ax.set(xlabel="x", ylabel="f(x)")
        else:
            grid = [[self.function(np.array([x, y])) for x in sides[0]] for y in sides[1]]
            heights = np.ma.masked_invalid(np.array(grid, dtype=np.float64))
            least, most = float(heights.min()), float(heights.max())
            levels = least + (most - least) * np.linspace(0.02, 1.0, 16) ** 2  # close at the bottom
            ax.contour(
                sides[0], sides[1], heights, np.unique(levels), colors="#b0b0b0", linewidths=0.8
            )
            ax.plot(path[:, 0], path[:, 1], "o-", color="#0072B2", markersize=4, label="steps")
            ends = path[[0, -1], 0], path[[0, -1], 1]
            ax.set(xlabel="x1", ylabel="x2")
        whole = len(path) == len(self.path)
        names = ("start", "end" if whole else f"step {len(path) - 1}, and on outwards")
        for x, y, marker, name in zip(*ends, "s*", names):
            ax.plot(x, y, marker, color="#D55E00", markersize=10, label=name, linestyle="none")
        ax.legend(fontsize="small")


def descend(
    function: Callable[[Array], float] | Criterion,
    *given: Any,
    eta: float = 0.1,
    decay: str | Callable[[int], float] = "constant",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    **named: Any,
) -> Descent:
    """Gradient descent from a start, recorded step by step.

    ``descend(function, start, gradient=None)`` takes any function,
    ``descend(criterion, X, y, start)`` a criterion of ``linsep.criteria`` on a table.

    Parameters
    ----------
    function : callable or Criterion
        Takes an array and gives a number. The number of errors is refused: its gradient is zero
        almost everywhere.
    start : array
        Where to begin; for a criterion also (coef, intercept) or a ``linsep.Linear``.
    gradient : callable, optional
        Of the function; central differences without it. A criterion has its own.
    X, y : array and labels
        Of a criterion.
    eta : float, default=0.1
        Rate.
    decay : {"constant", "inverse"} or callable, default="constant"
        eta(k) = eta, eta / k, or eta times decay(k).
    tol : float, default=1e-6
        Length of the gradient at which to stop.
    max_iter : int, default=10000
        Limit of steps.
    time_limit : float, optional
        Limit in seconds.

    Returns
    -------
    Descent

    Examples
    --------
    >>> import linsep
    >>> run = linsep.descend(lambda x: float((x[0] - 1) ** 2 + 2 * x[1] ** 2), [3.0, 1.0])
    >>> run.x.round(4) + 0.0, run.status.name
    (array([1., 0.]), 'CONVERGED')
    >>> table = linsep.data.load("mse-1")
    >>> run = linsep.descend(
    ...     linsep.criteria.Squares(), table.X, table.y, ([0, 0], 0), eta=3e-3, max_iter=50_000
    ... )
    >>> (run.x * 89).round(3), round(run.value * 89, 6)
    (array([ 93., -84., 237.]), 50.0)
    """
    for name, number in (("eta", eta), ("tol", tol), ("max_iter", max_iter)):
        if not (np.isfinite(number) and number > 0):
            raise SettingError(f"{name} is {number!r}; give a number > 0.")
    if isinstance(function, type) or not (isinstance(function, Criterion) or callable(function)):
        made = f"{function.__name__}()" if isinstance(function, type) else "criteria.Hinge()"
        raise SettingError(
            f"function is {function!r:.60}; give a function of an array, or a criterion such as "
            f"{made}."
        )
    if isinstance(function, Criterion):
        plain, first, gradient = _on_a_table(function, **_called(_TABLE, given, named))
    else:
        plain = function
        first, gradient = _of_a_function(**_called(_PLAIN, given, named))
    if not np.isfinite(first).all():
        raise SettingError(f"start is {first!r}; give finite numbers.")
    solver = GradientDescent(plain, gradient, Schedule(float(eta), decay), float(tol))
    with np.errstate(all="ignore"):
        state = solver.init(None, start=first)
    nothing: Any = None
    outcome = drive(nothing, solver, state, limits=Limits(steps=int(max_iter), seconds=time_limit))
    slope = float(np.linalg.norm(state.gradient))
    return Descent(
        state.x, float(state.values[-1]), slope, state.path, state.values, outcome.status, plain
    )


_PLAIN, _TABLE = ("start", "gradient"), ("X", "y", "start")


def _called(
    names: tuple[str, ...], given: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Arguments by name; TypeError as Python's own for those that nobody knows."""
    found = dict(zip(names, given)) | named
    missing = [name for name in names if name not in found and name != "gradient"]
    if len(given) > len(names) or missing or not set(named) <= set(names[len(given) :]):
        told = f"; {', '.join(missing)} missing" if missing else ""
        raise TypeError(
            f"descend takes function, {', '.join(names)} here. Got {len(given)} of them and "
            f"{list(named)}{told}."
        )
    return found


def _of_a_function(start: ArrayLike, gradient: Any = None) -> tuple[Array, Any]:
    return np.array(start, dtype=np.float64), gradient


def _on_a_table(criterion: Criterion, X: Any, y: Any, start: Any) -> tuple[Any, Array, Any]:
    """The criterion as a function of one array, where to begin, and its gradient."""
    if isinstance(criterion, Count):
        raise SettingError(
            "the number of errors cannot be descended: it is constant between jumps, so its "
            "gradient is zero almost everywhere and undefined at the jumps, and no step follows "
            "from it. Take criteria.Perceptron(), Squares(), Hinge() or Logistic() instead, or "
            "linsep.risk.minimum_errors(X, y) for the least number itself."
        )
    w, b = weights_of(start, np.shape(X)[1])
    return (
        lambda a: criterion.value(a, X, y),
        np.append(w, b),
        lambda a: criterion.gradient(a, X, y),
    )
