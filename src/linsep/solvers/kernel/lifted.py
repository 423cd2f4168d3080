"""A solver of planes at work on the images of rows in the feature space of a kernel.

Problem   whatever the solver solves, for phi(x_i) in place of x_i, K(x, z) = phi(x).phi(z)
Update    the solver's own, on coordinates of the images: K = L L' (``kernels.images``)
Stop      the solver's own
Answer    sums over kernel values: w = sum_i c_i phi(x_i), from the multipliers of the solver where
          these make up its weights, else c on the rows that span all images

The state is that of the solver inside; whatever it does, it sees inner products of images alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Event, Log, State, Status, Witness
from linsep.kernels.base import Kernel
from linsep.kernels.images import Images, images_of

Array = NDArray[np.float64]

_MADE_UP = 1e-9  # of the weights: so near, multipliers make them up


@dataclass(frozen=True)
class InFeatureSpace:
    """A solver for rows, given their images.

    Parameters
    ----------
    solver : Solver
        Of planes: its witness has their weights.
    kernel : kernel object or None
        None: the matrix of the problem is the Gram matrix itself.
    """

    solver: Any
    kernel: Kernel | None = None

    @property
    def unit(self) -> str:
        """As the solver counts."""
        return str(self.solver.unit)

    def images(self, problem: Problem) -> Images:
        """The problem that the solver works on."""
        return images_of(problem, self.kernel)

    def init(self, problem: Problem, *, start: Any = None) -> State:
        """Where the solver starts."""
        found: State = self.solver.init(self.images(problem).problem, start=start)
        return found

    def advance(self, problem: Problem, state: Any, steps: int, log: Log = NO_LOG) -> int:
        """Its steps."""
        return int(self.solver.advance(self.images(problem).problem, state, steps, log))

    def status(self, state: Any) -> Status:
        """Why it stands where it stands."""
        found: Status = self.solver.status(state)
        return found

    def witness(self, problem: Problem, state: Any) -> Witness:
        """Offsets, and the coefficients of sum k on row i under the number k n + i."""
        images = self.images(problem)
        found = self.solver.witness(images.problem, state)
        return self.sums(images, found.a, found)

    def sums(self, images: Images, a: Array, found: Witness | None = None) -> Witness:
        """Weights of images as sums over kernel values; found: multipliers that may be these."""
        inner = images.problem
        coef, intercept = inner.split(a)
        c = None if found is None else _shares(inner, found, coef)
        c = images.coefficients(coef) if c is None else c
        places = np.flatnonzero(c)
        claim = "" if found is None else found.claim
        return Witness(intercept, places, c.ravel()[places], claim)

    def extents(self, problem: Problem, state: Any) -> dict[str, int]:
        """Lengths that follow from the images, and the solver's own."""
        inner = self.images(problem).problem
        sizes = {name: int(getattr(inner, name)) for name in ("n", "d", "dim", "n_rows")}
        own: Any = getattr(self.solver, "extents", None)
        return sizes if own is None else sizes | own(inner, state)

    def within(self, problem: Problem, state: Any) -> Iterable[tuple[str, Problem, Any, State]]:
        """States inside of the solver's."""
        own: Any = getattr(self.solver, "within", None)
        return () if own is None else own(self.images(problem).problem, state)

    # -- for traces ---------------------------------------------------------------------------

    @property
    def current(self) -> Callable[[Problem, Any], Array]:
        """The weights as they are now, of the images; not there where the solver has none."""
        inner = self.solver.current
        return lambda problem, state: np.asarray(inner(self.images(problem).problem, state))

    @property
    def batch_words(self) -> Callable[[Event, int], str]:
        """An update by all rows in the solver's words; not there where it has none."""
        words: Callable[[Event, int], str] = self.solver.batch_words
        return words

    def seen(self, problem: Problem, state: Any, *, kept: bool = False) -> tuple[Array, Array, Any]:
        """Values of the rows, the weights where the kernel is linear, and the offset: of the
        weights as they are now, or of those that are kept."""
        images = self.images(problem)
        a = self.current(problem, state)
        if kept:
            a = self.solver.witness(images.problem, state).a
        coef, intercept = images.problem.split(a)
        values = images.problem.values(a)
        shown = np.zeros(0)
        if self.kernel is not None and self.kernel.linear:
            c = images.coefficients(coef)
            shown = np.asarray(problem.matrix.T @ c.T, dtype=np.float64).T
            shown = shown[0] if problem.binary else shown
        return values, shown, float(intercept[0]) if problem.binary else intercept

    def extra(self, problem: Problem, state: Any, event: Event | None) -> dict[str, float]:
        """What the solver tells, in the feature space."""
        found: dict[str, float] = self.solver.extra(self.images(problem).problem, state, event)
        return found

    def rule_words(self, event: Event) -> str:
        """The update in the solver's words."""
        return str(self.solver.rule_words(event))


def _shares(inner: Problem, found: Witness, coef: Array) -> Array | None:
    """Coefficients from multipliers of reflected rows, if these make up the weights."""
    if not len(found.rows):
        return None
    c = np.zeros((len(coef), inner.n))
    if inner.binary:
        c[0, found.rows] = found.multipliers * inner.sign[found.rows]
    else:
        samples = found.rows // (inner.K - 1)
        rivals = np.array([inner.rival_of(v) for v in found.rows.tolist()])
        np.add.at(c, (inner.label[samples], samples), found.multipliers)
        np.add.at(c, (rivals, samples), -found.multipliers)
    near = np.abs(c @ inner.matrix - coef).max() <= _MADE_UP * np.abs(coef).max()
    return c if near else None
