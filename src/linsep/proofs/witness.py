"""What a verdict rests on, looked at once more by plain loops.

A plane, rows that cancel, points of hulls, rows that span others: each is held against the rows in
float64 with generous room for rounding, and where that leaves it open, against some of them in
fractions. Rank is taken modulo a prime. Nothing of ``rows/``, ``numerics/`` or a solver is called,
so a verdict is false only if two ways to it, which have numpy in common, are wrong in the same way.

Whatever does not hold is a ProofError: it can only be a bug of linsep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.errors import ProofError
from linsep.kernels.base import Kernel
from linsep.proofs import plain
from linsep.proofs.separable import Proof

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_ROUNDING = 1e-9  # share of a sum of sizes: no rounding is larger, nothing that is wrong is smaller
_LEAST = 1e-290  # below it floats have few digits
_FEW = 5_000  # entries that are looked at in fractions
_WORK = 50_000_000  # multiplications modulo a prime
_RESIDUE = 3  # of these an entry takes that is reduced
_ACROSS = 2  # random vectors that all rows of a span are orthogonal to
_BLOCK = 1 << 16  # entries that are reduced together
_PRIMES = (2_147_483_647, 2_147_483_629)


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise _broken(what)


def _broken(what: str) -> ProofError:
    return ProofError(
        f"the verdict does not hold: {what}; this is a bug of linsep, please report it."
    )


def hold_verdict(problem: Problem, proof: Proof) -> Proof:
    """The verdict itself, once all that it says is held against the rows."""
    with np.errstate(all="ignore"):
        if proof.kernel is not None:
            _hold_images(problem, proof, proof.kernel)
            return proof
        if proof.margin[1] < np.inf and len(proof.hull_rows):
            hold_hulls(problem, proof.hull_rows, proof.hull_weights, proof.margin[1])
        if proof.separable:
            hold_plane(problem, proof.coef, proof.intercept, margin=proof.margin[0])
        elif proof.separable is False:
            _hold_inseparable(problem, proof)
    return proof


def _hold_inseparable(problem: Problem, proof: Proof) -> None:
    rows, span = problem.index_of(proof.rows), problem.index_of(proof.span_rows)
    if rows is None or span is None:
        raise _broken("it names rows that take no part")
    hold_zero(problem, rows, proof.rivals, proof.multipliers, exact=proof.exact)
    if proof.quasi is None:
        return
    on_plane = np.arange(problem.n_rows)
    if proof.quasi:
        on_plane = hold_plane(problem, proof.coef, proof.intercept, weak=True)
    hold_zero(problem, span, proof.span_rivals, proof.span_multipliers)
    every = _numbers(problem, span, proof.span_rivals)
    _require(
        any(_spanned(problem, every, on_plane, prime) for prime in _PRIMES),
        "its rows do not span the others",
    )


# -- planes ---------------------------------------------------------------------------------------


def hold_plane(
    problem: Problem, coef: Any, intercept: Any, *, margin: float = 0.0, weak: bool = False
) -> Index:
    """Every row is on its own side, at least so far away; weak: on no wrong one.

    Gives back the reflected rows that were found, in fractions, to lie on a weak separator.
    """
    W, b = _floats(coef, intercept, problem.d)
    found = plain.values(problem, np.column_stack([W, b]))
    due = margin * _lengths(problem, W) * (1 - _ROUNDING)
    rows = _doubtful(problem, W, b, found, due)
    found, room = found[rows], _rooms(problem, W, b, rows)
    _require(not (found < -room).any(), "a row is on the wrong side of the plane")
    near = found + room < (due if np.ndim(due) == 0 else due[rows])
    _require(not near.any(), "a row is nearer to the plane than its margin says")
    rows = rows[~(found > room)]
    most = max(1, _FEW // ((problem.d + 1) * len(W)))
    some = rows[:: max(1, -(-len(rows) // most))]
    exact = _exact_values(problem, coef, intercept, some)
    wrong = [v < 0 or (v == 0 and not weak) for v in exact]
    _require(not any(wrong), "a row is not on its own side of the plane")
    _require(len(some) < problem.n_rows or any(exact), "the weak separator separates nothing")
    return some[[v == 0 for v in exact]] if len(some) else some


def hold_signs(problem: Problem, coef: Any, intercept: Any, right: NDArray[np.bool_]) -> None:
    """Which reflected rows are on the right side of a plane, but for those that nearly touch it."""
    W, b = _floats(coef, intercept, problem.d)
    found = plain.values(problem, np.column_stack([W, b]))
    sure = np.abs(found) > _rooms(problem, W, b, np.arange(problem.n_rows))
    _require(np.array_equal(found[sure] > 0, right[sure]), "the sides of rows are not as it says")


def _doubtful(problem: Problem, W: Array, b: Array, found: Array, due: Any) -> Index:
    """Rows that are not clearly beyond what is due, whatever the rounding."""
    X = problem.matrix if isinstance(problem.matrix, np.ndarray) else problem.matrix.data
    largest = max(float(X.max(initial=0.0)), -float(X.min(initial=0.0)))
    size = 2 * (largest * float(np.abs(W).sum(axis=1).max()) + float(np.abs(b).max()))
    return np.flatnonzero(~(found > due + _ROUNDING * size + _LEAST))


def _rooms(problem: Problem, W: Array, b: Array, rows: Index) -> Array:
    """How far rounding may move the values of reflected rows."""
    own, rival, sample = _of(problem, rows)
    size = np.abs(W).T
    each = np.empty((len(rows), len(W)))
    step = max(64, (1 << 16) // max(1, problem.d))
    for lo in range(0, len(rows), step):
        block = abs(problem.matrix[sample[lo : lo + step]])
        each[lo : lo + step] = np.asarray(block @ size, dtype=np.float64)
    each += np.abs(b)
    at = np.arange(len(rows))
    total = each[:, 0] if len(W) == 1 else each[at, own] + each[at, rival]
    return np.asarray(_ROUNDING * total + _LEAST)


def _floats(coef: Any, intercept: Any, d: int) -> tuple[Array, Array]:
    """Weights of a size at which nothing overflows, rounded once."""
    W, b = np.asarray(coef).reshape(-1, d), np.ravel(np.asarray(intercept))
    if W.dtype != object and b.dtype != object:
        largest: Any = float(max(np.abs(W).max(initial=0.0), _LEAST))
        return W / largest, b / largest
    every = [Fraction(v) for v in [*W.ravel().tolist(), *b.tolist()]]
    largest = max(map(abs, every)) or Fraction(1)
    scaled = np.array([float(v / largest) for v in every])
    return scaled[: W.size].reshape(W.shape), scaled[W.size :]


def _rival_places(problem: Problem) -> NDArray[np.bool_]:
    """True at (row, class) for every class but the row's own."""
    return np.asarray(problem.label[:, None] != np.arange(problem.K))


def _lengths(problem: Problem, W: Array) -> Any:
    """|w|, or |w_own - w_rival| for each reflected row."""
    if problem.K == 2:
        return float(np.linalg.norm(W[0]))
    apart = np.linalg.norm(W[:, None] - W[None], axis=2)
    return apart[problem.label][_rival_places(problem)]


def _exact_values(problem: Problem, coef: Any, intercept: Any, rows: Index) -> list[Fraction]:
    """Values of reflected rows, in fractions."""
    W = [[Fraction(v) for v in w] for w in np.asarray(coef).reshape(-1, problem.d).tolist()]
    b = [Fraction(v) for v in np.ravel(np.asarray(intercept)).tolist()]
    own, rival, sample = _of(problem, rows)
    out = []
    for x, k, r in zip(_entries(problem, sample), own.tolist(), rival.tolist()):
        f = [sum((p * q for p, q in zip(w, x) if q), off) for w, off in zip(W, b)]
        out.append(f[k] - f[r] if len(f) > 1 else f[0] if k else -f[0])
    return out


def _of(problem: Problem, rows: Index) -> tuple[Index, Index, Index]:
    """The class, the rival and the sample of reflected rows."""
    sample = rows // (problem.K - 1)
    own = problem.label[sample]
    rival = rows % (problem.K - 1)
    return own, rival + (rival >= own), sample


def _numbers(problem: Problem, samples: Index, rivals: Index | None) -> Index:
    """Reflected rows of samples that are held against rivals."""
    if rivals is None:
        return samples
    return samples * (problem.K - 1) + rivals - (rivals > problem.label[samples])


def _entries(problem: Problem, samples: Index) -> list[list[Fraction]]:
    block = problem.matrix[samples]
    block = block if isinstance(block, np.ndarray) else block.toarray()
    return [[Fraction(float(v)) for v in row] for row in block]


# -- rows that cancel, rows that span -------------------------------------------------------------


def hold_zero(
    problem: Problem, samples: Any, rivals: Any, multipliers: Sequence[Any], *, exact: bool = True
) -> None:
    """Samples, each held against a rival, times multipliers >= 0 sum to zero."""
    samples = np.asarray(samples, dtype=np.int64)
    if rivals is not None:
        _require((problem.label[samples] != rivals).all(), "a row is its own rival")
    hold_reflected(problem, _numbers(problem, samples, rivals), multipliers, exact=exact)


def hold_reflected(
    problem: Problem, rows: Any, multipliers: Sequence[Any], *, exact: bool = True
) -> None:
    """The same of reflected rows by their numbers."""
    rows = np.asarray(rows, dtype=np.int64)
    good = len(rows) and len(rows) == len(multipliers) and min(multipliers) >= 0
    _require(good and any(multipliers), "its multipliers prove nothing")
    own, rival, samples = _of(problem, rows)
    block = problem.matrix[samples]
    block = np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float64)
    block = np.column_stack([block, np.ones(len(block))])[:, : problem.width]
    if exact and block.size <= _FEW:
        whole, columns = _whole(multipliers), [_whole(column) for column in block.T.tolist()]
        for k in range(1 if problem.K == 2 else problem.K):
            signs = ((own == k).astype(int) - (rival == k)).tolist()
            shares = [m * sign for m, sign in zip(whole, signs)]
            left = any(sum(map(mul, shares, column)) for column in columns)
            _require(not left, "the multipliers do not cancel the rows")
        return
    top = max(multipliers)
    share = np.array([float(m / top) for m in multipliers])
    block /= np.maximum(np.abs(block).max(axis=0), _LEAST)  # columns of a size that is none
    for k in range(1 if problem.K == 2 else problem.K):
        c = share * ((own == k).astype(float) - (rival == k))
        room = (_ROUNDING if exact else 1e-6) * (np.abs(c) @ np.abs(block)) + _LEAST
        _require(not (np.abs(c @ block) > room).any(), "the multipliers do not cancel the rows")


def _whole(numbers: Sequence[Any]) -> list[int]:
    """Numbers, floats or Fractions, times their common denominator."""
    ratios = [v.as_integer_ratio() for v in numbers]
    common = lcm(*(below for _, below in ratios))
    return [above * (common // below) for above, below in ratios]


def _spanned(problem: Problem, few: Index, rows: Index, prime: int) -> bool:
    """Whether reflected rows lie in the span of a few of them, modulo a prime.

    A row that does not, where the few have the rank that they have in fractions, is outside it in
    fractions as well; they have it but for one prime in millions.
    """
    basis, pivots = _echelon(_residues(problem, few, prime), prime)
    if len(basis) == (width := (problem.K - 1) * problem.width):
        return True
    most = max(1, _WORK // (width * (_ACROSS + _RESIDUE)))
    rows = rows[:: max(1, -(-len(rows) // most))]
    normals, step = list(_normals(basis, pivots, prime)), max(1, _BLOCK // width)
    for lo in range(0, len(rows), step):
        block = _residues(problem, rows[lo : lo + step], prime)
        sums = ((block * across % prime).sum(axis=1) for across in normals)
        if any((one % prime).any() for one in sums):
            return False
    return True


def _normals(basis: Index, pivots: list[int], prime: int) -> Iterator[Index]:
    """Vectors that are orthogonal to the basis, drawn from all of these alike.

    A row outside the span is orthogonal to one of them by chance, once in as many draws as the
    prime says.
    """
    for k in range(_ACROSS):
        across = np.random.default_rng([prime, k]).integers(prime, size=(basis.shape[1],))
        across[pivots] = 0
        across[pivots] = [-sum(map(mul, row, across.tolist())) % prime for row in basis.tolist()]
        yield across


def _echelon(A: Index, prime: int) -> tuple[Index, list[int]]:
    """Rows that span the same, each with 1 in a column where the others have 0."""
    r, pivots = 0, []
    for col in range(A.shape[1]):
        below = np.flatnonzero(A[r:, col])
        if not len(below):
            continue
        A[[r, r + below[0]]] = A[[r + below[0], r]]
        A[r] = A[r] * pow(int(A[r, col]), -1, prime) % prime
        others = np.flatnonzero(A[:, col])
        others = others[others != r]
        A[others] = (A[others] - A[others, col : col + 1] * A[r]) % prime
        pivots.append(col)
        r += 1
        if r == len(A):
            break
    return A[:r], pivots


def _residues(problem: Problem, rows: Index, prime: int) -> Index:
    """Reflected rows modulo a prime, without the block of the last class."""
    own, rival, sample = _of(problem, rows)
    block = problem.matrix[sample]
    block = np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float64)
    block = np.column_stack([block, np.ones(len(block))])[:, : problem.width]
    fraction, power = np.frexp(block)
    low, high = int(power.min(initial=0)), int(power.max(initial=0))
    powers = np.array([pow(2, e - 53, prime) for e in range(low, high + 1)], dtype=np.int64)
    whole = (fraction * 2.0**53).astype(np.int64) % prime
    z = whole * powers[power - low] % prime
    out = np.zeros((len(rows), problem.K, block.shape[1]), dtype=np.int64)
    every = np.arange(len(rows))
    out[every, own], out[every, rival] = z, (-z) % prime
    return out[:, :-1].reshape(len(rows), -1)


# -- points of hulls ------------------------------------------------------------------------------


def hold_hulls(problem: Problem, rows: Index, weights: Any, high: float) -> None:
    """No margin is larger: two points of the hulls are no further apart than twice as much."""
    c, factor = _shares(problem, rows, weights)
    block = problem.matrix[rows]
    block = np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float64)
    unit = float(np.abs(block).max(initial=0.0)) or 1.0
    length = factor * float(np.linalg.norm(c @ (block / unit)))
    room = _ROUNDING * float(np.abs(c) @ np.linalg.norm(block / unit, axis=1))
    _require(not high / unit < length * (1 - _ROUNDING) - room, "its points are further apart")


def _shares(problem: Problem, rows: Index, weights: Any) -> tuple[Array, float]:
    """Shares of the rows, with signs, and what their combination is multiplied by."""
    share = np.array([float(v) for v in np.asarray(weights).tolist()])
    label = problem.label[rows]
    later = label == label.max()
    _require((share >= 0).all() and len(np.unique(label)) <= 2, "its points are not of two classes")
    if not problem.fit_intercept:
        return np.where(later, share, -share) / share.sum(), 1.0
    _require(later.any() and (~later).any(), "its points are of one class")
    whole = np.where(later, share[later].sum(), share[~later].sum())
    return np.where(later, share, -share) / whole, 0.5


# -- images under a kernel ------------------------------------------------------------------------


def _hold_images(problem: Problem, proof: Proof, kernel: Kernel) -> None:
    """The same of sums over kernel values, which are made by the definition of the kernel."""

    def values(rows: Index, others: Index) -> Array:
        if kernel.given:
            block = problem.matrix[rows][:, others]
            return np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), float)
        X = problem.matrix.astype(np.float64, copy=False)
        return np.asarray(kernel.resolve(problem.matrix).definition(X[rows], X[others]), float)

    every = np.arange(problem.n)
    if proof.separable and len(proof.support):
        c = np.asarray(proof.dual_coef, float).reshape(-1, len(proof.support))
        b = np.ravel(np.asarray(proof.intercept, float))
        K = values(every, proof.support)
        f, size = K @ c.T + b, np.abs(K) @ np.abs(c).T + np.abs(b)
        inner = K[proof.support]
        if problem.K == 2:
            lead, room = plain.signs(problem) * f[:, 0], size[:, 0]
            lengths: Any = np.sqrt(max(float(c[0] @ inner @ c[0]), 0.0))
        else:
            at, rivals = every, _rival_places(problem)
            lead = (f[at, problem.label][:, None] - f)[rivals]
            room = (size[at, problem.label][:, None] + size)[rivals]
            G = c @ inner @ c.T
            squared = np.diag(G)[:, None] + np.diag(G) - 2 * G
            lengths = np.sqrt(np.maximum(squared, 0.0))[problem.label][rivals]
        room = 1e-6 * room
        _require(not (lead < -room).any(), "a row is on the wrong side of the sum")
        near = lead + room < proof.margin[0] * lengths * (1 - 1e-6)
        _require(not near.any(), "a row is nearer than its margin says")
    elif proof.separable:
        _require(kernel.strict and not _contradicted(problem), "nothing shows that it separates")
    if proof.margin[1] < np.inf and len(proof.hull_rows):
        _hold_points(problem, proof, values(proof.hull_rows, proof.hull_rows))
    if proof.separable is False:
        rows = np.asarray(proof.rows)
        own, rival, _ = _of(problem, _numbers(problem, rows, proof.rivals))
        _require(
            (own != rival).all() and min(proof.multipliers) > 0, "its multipliers show nothing"
        )
        K, m = values(rows, rows), np.array([float(v) for v in proof.multipliers])
        for k in range(1 if problem.K == 2 else problem.K):
            c = m * ((own == k).astype(float) - (rival == k))
            size = 1e-6 * float(np.abs(c) @ np.abs(K) @ np.abs(c))
            tilt = abs(c.sum()) if problem.fit_intercept else 0.0
            _require(not abs(float(c @ K @ c)) > size, "the images do not cancel")
            _require(not tilt > 1e-9 * np.abs(c).sum(), "the multipliers do not cancel")


def _hold_points(problem: Problem, proof: Proof, K: Array) -> None:
    c, factor = _shares(problem, proof.hull_rows, proof.hull_weights)
    if not problem.fit_intercept and problem.K == 2:
        c = np.abs(c) * plain.signs(problem)[proof.hull_rows]
    size = float(np.abs(c) @ np.abs(K) @ np.abs(c))
    squared = float(c @ K @ c) - 1e-6 * size
    _require(
        not factor * factor * squared > (proof.margin[1] * (1 + _ROUNDING)) ** 2,
        "its points are further apart",
    )


def _contradicted(problem: Problem) -> bool:
    """Whether two equal rows are of two classes."""
    X, seen = problem.matrix, dict[bytes, int]()
    for i in range(problem.n):
        row = X[[i]] if isinstance(X, np.ndarray) else X[[i]].toarray()
        key = (np.asarray(row, dtype=np.float64) + 0.0).tobytes()
        if seen.setdefault(key, int(problem.label[i])) != problem.label[i]:
            return True
    return False
