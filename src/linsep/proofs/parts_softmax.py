"""What is proved about softmax regression of rows that are read part by part.

As in proofs/softmax.py, shares q_ik of the rivals of every row give a lower bound, if the classes
balance: sum_i alpha_ik = 0 for all k. Here the shares are those of a point (W', b'), the generator.
Each block adds up, for every class y and rival k, the flow F_yk = sum c_i q_ik over the rows of the
class, and the same sum of c_i q_ik x_i. Some flows are made smaller at the end, by factors t_yk,
none above 1, until they balance (losses/softmax.circulation). t q are shares as well, and since
entropies are concave and not negative, H(t q) >= min_k t_yk H(q): with those of a class times that,

    P(W, b) >= P* >= sum_y min_k t_yk G_y - |V|^2 / 2,   V_k = sum_l t_kl V_kl - sum_y t_yk V_yk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem, rows_of
from linsep.errors import ProofError
from linsep.losses.softmax import circulation, flows
from linsep.numerics.rounding import SUM, U
from linsep.proofs import plain
from linsep.proofs.parts import RowSums, Source, StreamGap, in_rows, judged
from linsep.proofs.softmax import (
    best_value,
    capped_shares,
    entropy_of,
    objective_above,
    softmax_words,
)
from linsep.rows.parts import PartsProblem
from linsep.rows.reader import survey

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FlowSums(RowSums):
    """The same of softmax; v is that of c q x of class y and rival k, (K, K, d)."""

    flow: Array
    """c q of class y and rival k, (K, K)."""


def _flows(problem: Problem, *, a: Array, generator: Array, C: float) -> FlowSums:
    """The sums of a block."""
    K, d = problem.K, problem.d
    cost, label = C * problem.weight, problem.label
    S, T = (_scores(problem, at.reshape(K, d + 1)) for at in (a, generator))
    blocks = a.reshape(K, d + 1)
    losses = objective_above(problem, blocks[:, :-1], blocks[:, -1], S, cost, penalty=False)[0]
    q = capped_shares(T, label)
    gain = np.zeros(K)
    V, error, reach = (np.zeros((K, K, d)) for _ in range(3))
    for y in np.unique(label).tolist():
        own = np.flatnonzero(label == y)
        some = rows_of(problem, own)
        share = np.ascontiguousarray(q[:, own])
        found, slack = entropy_of(some, share, share.sum(axis=0), cost[own])
        gain[y] = found - slack
        weights = np.ascontiguousarray((share * cost[own]).T)
        sums, terms = plain.combination(some, weights)
        lengths = np.sqrt(np.einsum("nk,nk->k", weights, weights)) * (1 + 1e-9)
        reach[y] = 1.001 * np.outer(lengths, survey(some).column_lengths())
        V[y], error[y] = sums.T, (terms + 6) * U * reach[y]
    at = np.arange(problem.n)
    own_scores = S[label, at].copy()
    S[label, at] = -np.inf
    values = own_scores - S.max(axis=0)
    return FlowSums(
        losses, gain, V, error, reach, 1, problem.n,
        int(np.count_nonzero(values > 0)), int(np.count_nonzero(values >= 1.0 - 1e-9)),
        float(values.min()), flows(q, label, cost),
    )  # fmt: skip


def _scores(problem: Problem, blocks: Array) -> Array:
    S = np.ascontiguousarray(plain.product(problem, np.ascontiguousarray(blocks[:, :-1].T)).T)
    S += blocks[:, -1][:, None]
    return np.nan_to_num(S, nan=0.0, posinf=1e300, neginf=-1e300)


@dataclass(frozen=True)
class StreamSoftmax(StreamGap):
    """What is proved about softmax regression of a stream; ``check(stream)`` proves it again."""

    @property
    def stated(self) -> Array:
        """The weights that it is about, a class a row."""
        return in_rows("weights", self.weights, max(1, len(self.classes)))

    def _again(self, problem: PartsProblem) -> StreamGap:
        planes = self.stated
        if problem.binary or self.loss != "softmax" or self.positive is not None:
            raise ProofError("softmax is about three classes and more, none against the others.")
        generator = in_rows("generator", self.generator, *planes.shape)
        return stream_softmax(problem, planes.ravel(), generator.ravel(), self.C)


def stream_softmax(problem: PartsProblem, a: Array, generator: Array, C: float) -> StreamSoftmax:
    """Bounds for the weights a, from one pass; any generator will do, a poor one proves little."""
    a = np.asarray(a, dtype=np.float64)
    planes = a.reshape(-1, problem.d + 1)
    W, b = planes[:, :-1], planes[:, -1]
    with np.errstate(all="ignore"):  # what overflows proves nothing
        found = judged(problem, partial(_flows, a=a, generator=generator, C=C))
        half = 0.5 * float(np.vdot(W, W)) * (1 + (W.size + 8) * U)
        high = (half + found.losses * (1 + found.blocks * U)) * (1 + 8 * U)
        low = _below(found, SUM + found.blocks * U, free=problem.fit_intercept)
    high = high if high == high else np.inf
    low = low if np.isfinite(low) else 0.0
    length, size = float(np.linalg.norm(W)), float(np.hypot(np.linalg.norm(W), np.linalg.norm(b)))
    return StreamSoftmax(
        objective=high,
        lower_bound=min(max(low, 0.0), high),
        errors=found.rows - found.right,
        margin=found.least / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=found.rows - found.outside,
        words=softmax_words(problem, C, None),
        functional_margin=found.least,
        margin_aug=found.least / size if size > 0 else -np.inf,
        weights=tuple(a.tolist()),
        generator=tuple(np.asarray(generator, dtype=np.float64).tolist()),
        loss="softmax",
        C=C,
        fit_intercept=problem.fit_intercept,
        classes=tuple(problem.classes.tolist()),
        factors=tuple(problem.factors.tolist()),
        sources=tuple(Source(*one) for one in problem.stream.marks),
    )


def _below(found: FlowSums, many: float, *, free: bool) -> float:
    """The lower bound, flows made smaller until the classes balance where offsets are free.

    The flows as computed are off by a share ``many`` each. So the factors that balance the true
    ones differ from these along the tree alone, by no more than all that error over the flow there.
    """
    F, K = found.flow, len(found.flow)
    factor, doubt = np.ones((K, K)), np.zeros((K, K))
    if free:
        balanced = circulation(F)
        if balanced is None:
            return 0.0
        factor = balanced.factor
        off = 4 * (many + 8 * K * U) * float(F.sum())
        doubt[balanced.tree] = off / F[balanced.tree]
        if (doubt >= factor).any():
            return 0.0
    error = factor[:, :, None] * found.error + (doubt + 4 * U)[:, :, None] * found.reach
    T = factor[:, :, None] * found.v
    V = T.sum(axis=1) - T.sum(axis=0)
    size = (
        np.abs(V) + error.sum(axis=1) + error.sum(axis=0) + 4 * K * U * np.abs(T).sum(axis=(0, 1))
    )
    square = float(np.vdot(size, size)) * (1 + (V.size + 8) * U)
    least = np.maximum((factor - doubt).min(axis=1), 0.0) * (1 - 4 * U)
    gain = float(least @ np.maximum(found.gain, 0.0)) * (1 - many - (K + 8) * U)
    return best_value(gain, square)
