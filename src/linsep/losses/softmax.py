"""The loss of softmax regression, on scores with one row a class.

loss_i = log(sum_k exp f_k(x_i)) - f_y(x_i), the negative log of the probability of the own class.
With S of shape (K, n) all sums run over the first axis, so every operation is over long rows.

Small losses keep their relative accuracy: where the own score is the largest the loss is
log1p of the sum over the rivals, and nothing is lost in 1 - p.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.float64]
_MANY_CLASSES = 200  # from which a matrix of all pairs of them is factorised the short way


class Shares(NamedTuple):
    """Probabilities of the classes of each row, and its loss."""

    rivals: NDArray[Any]
    """Shape (K, n), 0 at the own class."""
    own: NDArray[Any]
    losses: NDArray[Any]


def shares(S: NDArray[Any], label: NDArray[np.int64]) -> Shares:
    """Probabilities and losses at scores S of shape (K, n).

    >>> at = shares(np.array([[0.0, 0.0], [0.0, 800.0]]), np.array([0, 1]))
    >>> at.rivals[1].tolist(), at.own.tolist(), at.losses.round(6).tolist()
    ([0.5, 0.0], [0.5, 1.0], [0.693147, 0.0])
    """
    at = np.arange(S.shape[1])
    top = S.max(axis=0)
    q = np.exp(S - top)
    lead = top - S[label, at]
    own = q[label, at]
    q[label, at] = 0.0
    rivals = q.sum(axis=0)
    # the largest score is the own one, or it is a rival's: then log(own + rivals) >= 0 as well
    losses = np.where(lead > 0, lead + np.log(own + rivals), np.log1p(rivals))
    total = own + rivals
    q /= total
    own /= total
    return Shares(q, own, losses)


def best_intercepts(
    S: NDArray[Any],
    label: NDArray[np.int64],
    cost: Array,
    *,
    reference: int | None = None,
    steps: int = 30,
    goal: float = 1e-15,
    by: Callable[[NDArray[Any]], Shares] | None = None,
) -> tuple[Array, Shares]:
    """Offsets of the classes that make the loss least: Newton's method in K numbers.

    Returns the offsets (their mean is 0, or that of the reference is) and the shares at
    S + offsets. Stops when no class is out of balance by more than ``goal`` times the sum of
    the costs, or when rounding allows no better. ``by`` finds the shares in another way.
    """
    find = by if by is not None else lambda scores: shares(scores, label)
    shift = np.zeros(len(S))
    now = find(S)
    loss = float(cost @ now.losses)
    room = 1e-6 if S.dtype == np.float32 else 1e-14
    for _ in range(steps):
        gradient = class_balance(now.rivals, label, cost)
        size = float(np.abs(gradient).max())
        if not size > goal * float(cost.sum()):
            break
        step = _newton(_curvature(now, label, cost), gradient, reference)
        for _ in range(12):
            trial = shift + step
            then = find(S + trial[:, None].astype(S.dtype))
            new = float(cost @ then.losses)
            if new <= loss * (1 + room):
                break
            step *= 0.25
        else:
            break
        smaller = float(np.abs(class_balance(then.rivals, label, cost)).max()) < size
        if not (smaller or new < loss * (1 - room)):
            break
        shift, now, loss = trial, then, new
    return shift, now


def class_balance(q: NDArray[Any], label: NDArray[np.int64], cost: Array) -> Array:
    """sum_i cost_i (p_i - e_y): the derivative by the intercepts."""
    gradient = np.asarray(q @ cost.astype(q.dtype, copy=False), dtype=np.float64)
    gradient -= np.bincount(label, weights=cost * q.sum(axis=0), minlength=len(q))
    return gradient


def _curvature(now: Shares, label: NDArray[np.int64], cost: Array) -> Array:
    """sum_i cost_i (diag p_i - p_i p_i'), shape (K, K); no term cancels."""
    p = now.rivals.copy()
    p[label, np.arange(p.shape[1])] = now.own
    H: Array = -((p * cost.astype(p.dtype, copy=False)) @ p.T).astype(np.float64)
    np.fill_diagonal(H, 0.0)
    np.fill_diagonal(H, -H.sum(axis=1))
    return H


def _newton(H: Array, gradient: Array, reference: int | None) -> Array:
    K = len(H)
    free = np.arange(K) if reference is None else np.delete(np.arange(K), reference)
    A = H[np.ix_(free, free)]
    typical = max(float(A.diagonal().max()), 1e-300)
    if reference is None:
        A = A + typical / K  # the common shift changes nothing
    A = A + 1e-12 * typical * np.eye(len(free))
    step = np.zeros(K)
    step[free] = -_solved(A, gradient[free])
    largest = float(np.abs(step).max())
    return step if largest <= 5.0 else step * (5.0 / largest)


def _solved(A: Array, q: Array) -> Array:
    """A^-1 q; with many classes by Cholesky's method, where singular values would take minutes."""
    if len(A) >= _MANY_CLASSES:
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(cho_solve(cho_factor(A), q))
    return np.asarray(np.linalg.lstsq(A, q, rcond=None)[0])


def flows(q: NDArray[Any], label: NDArray[np.int64], cost: Array) -> Array:
    """sum of cost q over the rows of each class, shape (K, K): what class y owes to rival k."""
    K = len(q)
    out = np.zeros((K, K))
    for k in range(K):
        out[:, k] = np.bincount(label, weights=cost * q[k], minlength=K)
    np.fill_diagonal(out, 0.0)
    return out


class Circulation(NamedTuple):
    """Factors of flows after which every class owes as much as it is owed."""

    factor: Array
    """Shape (K, K), from 0 to 1; 1 but along the edges of a tree."""
    tree: NDArray[np.bool_]
    """Edges, both ways."""


def circulation(F: Array) -> Circulation | None:
    """Flows between classes with some of them made smaller, so that they balance; or None.

    What a class owes too much, or is owed, is taken off the flow between it and its neighbour in
    a tree of the largest flows, from the leaves to the root. So every flow but 2 K - 2 stays.

    >>> found = circulation(np.array([[0.0, 3.0], [2.0, 0.0]]))
    >>> found.factor.round(4).tolist()
    [[1.0, 0.6667], [1.0, 1.0]]
    """
    K, both = len(F), np.minimum(F, F.T)
    root = int(both.max(axis=0).argmax())
    inside = np.zeros(K, dtype=bool)
    inside[root] = True
    order, parent = [root], np.full(K, root)
    for _ in range(K - 1):  # Prim's tree
        reach = np.where(inside[:, None] & ~inside[None, :], both, -1.0)
        near, far = np.unravel_index(int(reach.argmax()), reach.shape)
        if not both[near, far] > 0:
            return None
        inside[far], parent[far] = True, near
        order.append(int(far))
    excess, left = F.sum(axis=1) - F.sum(axis=0), F.copy()
    tree = np.zeros((K, K), dtype=bool)
    for y in reversed(order[1:]):
        p, more = int(parent[y]), float(excess[y])
        tree[y, p] = tree[p, y] = True
        left[(y, p) if more > 0 else (p, y)] -= abs(more)
        excess[p] += more
    if (left < 0).any():
        return None
    factor = np.divide(left, F, out=np.ones_like(F), where=F > 0)
    return Circulation(np.minimum(factor, 1.0), tree)
