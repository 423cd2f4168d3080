"""How far a softmax model is from the best one, recomputed from its weights alone.

P(W, b) = |W|^2 / 2 + sum_i c_i (log sum_k exp f_k(x_i) - f_y(x_i)), c_i = C s_i. For shares
q_ik >= 0 of the rivals k of row i with Q_i = sum_k q_ik <= 1 put alpha_ik = -c_i q_ik and
alpha_iy = c_i Q_i. Then for all (W, b), since the loss is the conjugate of the entropy H,

    P(W, b) >= sum_i c_i H(q_i, 1 - Q_i) - |V|^2 / 2 - r.b,   V = sum alpha_i x_i', r = sum alpha_i.

The shares are those of the model once its intercepts are best for its weights, so r is zero but
for rounding. What is left of it costs at most |r|_1 (max b* - min b*): every row of class y has
a loss of at most P* / c_i, so b*_y - b*_k >= -P* / c_i - (w*_y - w*_k).x_i, and W* is at most
sqrt(2 P*) long and sqrt(2 (P - P*)) away from W since P is strongly convex in it. With t q in
place of q, 0 <= t <= 1, the bound is no worse than t A - t^2 |V|^2 / 2, A the sum of entropies:
a poor model still gets a bound that is not negative. The q are taken as they are stored, 1 - Q is
never rounded into them, and all errors of sums are bounded: the numbers hold for real arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.certify.centred import centred
from linsep.certify.gap import Gap
from linsep.certify.softmax_dual import dual_bound
from linsep.certify.softmax_face import face_bound
from linsep.certify.softmax_limit import likelihood_bound
from linsep.certify.softmax_primal import objective_above
from linsep.certify.survey import survey
from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem

__all__ = ["softmax_gap"]

Array = NDArray[np.float64]

_U = 2.0**-53
_POOR = 1e-6  # relative gap from which another bound is tried
_CHEAP = 20_000_000  # work for which it is


def softmax_gap(
    problem: Problem,
    a: Array,
    C: float,
    reference: int | None = None,
    alpha: Array | None = None,
    *,
    part: bool = True,
) -> Gap:
    """Bounds for the weights a, K blocks of d + 1 numbers (two blocks for two classes).

    Parameters
    ----------
    problem : Problem
    a : array of K (d + 1) numbers
        With a reference class the blocks count relative to its own.
    C : float
        inf means no penalty: the likelihood alone.
    reference : int, optional
        Number of the class whose weights are zero and not among the unknowns.
    alpha : array of shape (n, K), optional
        A dual point; that of the model without it. Any numbers will do, poor ones give a poor
        bound.
    part : bool, default=True
        Without a penalty, where there is no bound of all losses: try those of some rivals alone.
        A bound of all proves as well that a maximum of the likelihood exists.
    """
    blocks = np.array(a, dtype=np.float64).reshape(problem.K, problem.d + 1)
    if reference is not None:
        blocks -= blocks[reference]
    W, b = blocks[:, :-1], blocks[:, -1]
    with one_blas_thread(), np.errstate(all="ignore"):
        S = np.ascontiguousarray(problem.product(W.T).T)
        S += b[:, None]
        cost = (1.0 if np.isinf(C) else C) * problem.weight
        if not np.isfinite(S).all():
            problem.check_finite()
            return _facts(problem, S, W, np.inf, 0.0, _words(problem, C, reference))
        high, doubt, off = objective_above(problem, W, b, S, cost, penalty=not np.isinf(C))

        def below(rows: Problem, offsets: Array) -> float:
            if np.isinf(C):
                return high - doubt - likelihood_bound(rows, S, cost, reference, off, problem)
            moved = rows is not problem
            return dual_bound(rows, S, W, offsets, off, cost, high, reference, alpha, moved=moved)

        low = below(problem, b)
        if not high - low <= _POOR * high and _far_away(problem):
            twin, means = centred(problem)
            low = float(np.fmax(low, below(twin, b + W @ means)))
        if np.isfinite(C) and not high - low <= _POOR * high:
            low = float(np.fmax(low, _without_penalty(problem, blocks, C, reference)))
        if np.isinf(C) and part and not low > 0:
            low = face_bound(problem, blocks, S, cost, reference)
        low = min(low, high) if low > 0 else 0.0
        return _facts(problem, S, W, high, low, _words(problem, C, reference))


def _without_penalty(problem: Problem, blocks: Array, C: float, reference: int | None) -> float:
    """C times the least sum of losses, the penalty being no less than 0: the better bound where
    C is so large that rounding spoils the other."""
    if problem.n * problem.dim**2 > _CHEAP:
        return 0.0
    plain = softmax_gap(problem, blocks.ravel(), np.inf, reference, part=False)
    return C * plain.lower_bound * (1 - 8 * _U)


def _far_away(problem: Problem) -> bool:
    """Whether a column is so far from 0 that most of its digits are those of its mean."""
    if problem.sparse:
        return False
    means = problem.matrix.mean(axis=0, dtype=np.float64)
    return bool((problem.n * means * means > 0.9 * survey(problem).columns).any())


def _words(problem: Problem, C: float, reference: int | None) -> str:
    losses = f"sum of log-losses of {problem.K} classes"
    terms = losses if np.isinf(C) else f"|W|^2 / 2 + {C:.6g} x {losses}"
    if reference is not None:
        terms += f", the weights of class {problem.classes[reference]} being 0"
    free = "the intercepts are not penalised" if problem.fit_intercept else "no intercept"
    return f"{terms}; {free}"


def _facts(problem: Problem, S: Array, W: Array, high: float, low: float, words: str) -> Gap:
    at = np.arange(problem.n)
    own = S[problem.label, at].copy()
    S[problem.label, at] = -np.inf
    values = own - S.max(axis=0)
    length = float(np.linalg.norm(W))
    return Gap(
        objective=high,
        lower_bound=low,
        errors=int((~(values > 0)).sum()),
        margin=float(values.min()) / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=int((~(values >= 1.0 - 1e-9)).sum()),
        words=words,
    )
