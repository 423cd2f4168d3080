"""Directions for softmax regression: a matrix at hand, corrected by the pairs of L-BFGS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.solvers import softmax_system as system
from linsep.solvers.softmax_pass import SoftmaxRows
from linsep.solvers.softmax_state import SoftmaxState, share_of

__all__ = ["direction", "refactor", "remember", "shortcut"]

Array = NDArray[np.float64]

_MEMORY = 1 << 25  # numbers in all pairs


def remember(state: SoftmaxState, W: Array, G: Array) -> None:
    s, y = state.W[:, :-1] - W[:, :-1], state.gradient - G
    if not float(np.vdot(s, y)) > 0:
        return
    if not len(state.steps_s):
        room = int(np.clip(_MEMORY // max(1, 2 * s.size), 6, 30))
        state.steps_s, state.steps_y = np.zeros((room, *s.shape)), np.zeros((room, *s.shape))
    place = state.pairs % len(state.steps_s)
    state.steps_s[place], state.steps_y[place] = s, y
    state.pairs += 1


def refactor(
    state: SoftmaxState,
    rows: SoftmaxRows,
    kind: str,
    *,
    ridge: float,
    offset: bool,
    fixed: int | None,
    seed: int,
) -> None:
    """Compute the matrix that directions are taken from at the present point."""
    now = rows.shares(state.S)
    state.kind = kind
    found: NDArray[Any]
    if kind == "blocks":
        found, state.scales = system.factor_blocks(rows, now, ridge, offset, fixed, seed)
    elif kind == "product":
        found, state.scales, state.class_factors, state.class_scales = system.factor_product(
            rows, now, ridge, offset, fixed, seed
        )
    elif kind == "classes":
        found = system.factor_classes(rows, now, ridge, offset, seed)
    else:
        found = system.factor_diagonal(rows, now, ridge)[None]
    state.factors = np.atleast_3d(found.T).T.astype(rows.dtype, copy=False)


def solved(state: SoftmaxState, G: Array, fixed: int | None) -> Array:
    """H^-1 G by the matrix at hand."""
    if state.kind == "blocks":
        return system.Blocks(state.factors[0], state.scales, len(G)).solve(G)[:, :-1]
    if state.kind == "product":
        parts = (state.factors[0], state.scales, state.class_factors, state.class_scales)
        out = system.solve_product(parts, G)
    elif state.kind == "classes":
        out = system.solve_classes(state.factors, G)
    else:
        out = G / state.factors[0, 0]
    if fixed is not None:
        out[fixed] = 0.0
    return out


def direction(state: SoftmaxState, fixed: int | None) -> Array:
    """-H^-1 gradient with H corrected by the pairs, and intercepts to match."""
    dW = np.zeros_like(state.W)
    room = max(1, len(state.steps_s))
    known = range(max(0, state.pairs - room), state.pairs)
    pairs = [(state.steps_s[i % room], state.steps_y[i % room]) for i in known]
    if state.kind == "blocks" and not pairs:
        dW[:] = -system.Blocks(state.factors[0], state.scales, len(dW)).solve(state.gradient)
        return dW
    q, kept = state.gradient.copy(), []
    for s, y in reversed(pairs):
        t = float(np.vdot(s, q)) / float(np.vdot(s, y))
        kept.append(t)
        q -= t * y
    q = solved(state, q, fixed)
    if pairs:
        s, y = pairs[-1]
        q *= float(np.vdot(s, y)) / float(np.vdot(y, solved(state, y, fixed)))
    for (s, y), t in zip(pairs, reversed(kept)):
        q += s * (t - float(np.vdot(y, q)) / float(np.vdot(s, y)))
    dW[:, :-1] = -q
    return dW


def shortcut(state: SoftmaxState, tol: float) -> Array | None:
    """The combination of past steps that leaves the shortest gradient, if that is enough.

    The gap is half the squared length of the gradient, which is not what the method makes
    small; gradients of past points cancel each other to a good part.
    """
    count = min(state.pairs, len(state.steps_y))
    if count < 4 or state.gap > 20 * tol:
        return None
    Y = state.steps_y[:count].reshape(count, -1)
    g = state.gradient.ravel()
    c = np.linalg.lstsq(Y @ Y.T, -(Y @ g), rcond=1e-12)[0]
    rest = g + c @ Y
    promised = share_of(0.5 * float(rest @ rest), state.primal)
    if promised > 0.8 * tol or promised > 0.7 * state.tried:
        return None
    state.tried = promised
    dW = np.zeros_like(state.W)
    dW[:, :-1] = np.tensordot(c, state.steps_s[:count], axes=1)
    return dW
