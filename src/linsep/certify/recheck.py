"""Prove a stored verdict again, from its numbers and the data alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import reflected, scaled_integers, vanishes
from linsep.certify.margins import margin_above, margin_below
from linsep.certify.signs import row_signs
from linsep.certify.span import spans
from linsep.core.problem import Problem
from linsep.core.words import count
from linsep.errors import ProofError

if TYPE_CHECKING:
    from linsep.certify.proof import Proof

__all__ = ["kesler_rows", "recheck"]


def recheck(proof: Proof, problem: Problem) -> None:
    """Raise ProofError unless every claim of the proof holds for the problem."""
    _check_header(proof, problem)
    if proof.separable is None:
        _check_undecided(proof, problem)
    elif proof.separable:
        _check_separable(proof, problem)
    else:
        _check_inseparable(proof, problem)


def kesler_rows(
    problem: Problem, samples: NDArray[np.int64], rivals: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Numbers of the reflected rows of samples held against rivals."""
    if problem.binary or rivals is None:
        return samples
    own = problem.label[samples]
    return samples * (problem.K - 1) + rivals - (rivals > own)


def _fail(what: str) -> ProofError:
    return ProofError(f"the proof does not hold: {what}.")


def _check_header(proof: Proof, problem: Problem) -> None:
    shape = (proof.n_samples, proof.n_features)
    if shape != (problem.n, problem.d):
        raise _fail(
            f"it speaks of {shape[0]} x {shape[1]} data, these are {problem.n} x {problem.d}"
        )
    if [str(c) for c in proof.classes] != [str(c) for c in problem.classes]:
        raise _fail(f"it names the classes {list(proof.classes)}")
    low, high = proof.margin
    if not 0 <= low <= high:
        raise _fail(f"the margin bounds {low} and {high} are not in order")
    if proof.separable not in (True, False, None) or proof.quasi not in (True, False, None):
        raise _fail("the verdict is neither true nor false")


def _check_undecided(proof: Proof, problem: Problem) -> None:
    if proof.margin[0] != 0.0:
        raise _fail("a margin above zero is claimed although no separator is known")
    _check_above(proof, problem)


# -- separable ------------------------------------------------------------------------------------


def _check_separable(proof: Proof, problem: Problem) -> None:
    if proof.quasi or len(proof.rows) or proof.multipliers:
        raise _fail("it calls the classes separable and gives a proof of the contrary")
    coef, intercept = _plane(proof, problem)
    signs = row_signs(problem, coef, intercept)
    wrong = np.flatnonzero(signs <= 0)
    if len(wrong):
        at = int(wrong[0])
        side = "on the plane" if signs[at] == 0 else "on the wrong side"
        raise _fail(f"row {problem.sample_of(at)} is {side}, {count(len(wrong), 'row')} in all")
    low = margin_below(problem, coef, intercept)
    if proof.margin[0] > low:  # another order of summation may have given a little more
        low = margin_below(problem, coef, intercept, exact=True)
    if proof.margin[0] > low:
        raise _fail(f"the plane keeps a margin of {low}, not of {proof.margin[0]}")
    _check_above(proof, problem)


def _check_above(proof: Proof, problem: Problem) -> None:
    if proof.margin[1] == np.inf:
        return
    rows, weights = proof.hull_rows, np.asarray(proof.hull_weights)
    _check_indexes(rows, problem.n, "hull_rows")
    if len(np.unique(rows)) != len(rows):
        raise _fail("a row is named twice among the nearest points")
    rounded = weights.astype(np.float64)
    if weights.shape != rows.shape or not np.all((weights >= 0) & np.isfinite(rounded)):
        raise _fail("the shares of the nearest points are not one number >= 0 for each row")
    present, inverse = np.unique(problem.label[rows], return_inverse=True)
    sums = np.bincount(inverse, weights=rounded) if len(rows) else np.zeros(0)
    if len(present) > 2 or not len(present) or sums.sum() <= 0:
        raise _fail("the nearest points do not belong to two classes")
    if problem.fit_intercept and (len(present) != 2 or sums.min() <= 0):
        raise _fail("the nearest points do not belong to two classes")
    high = margin_above(problem, rows, weights)
    if proof.margin[1] < high:
        high = margin_above(problem, rows, weights, exact=True)
    if proof.margin[1] < high:
        raise _fail(f"the nearest points bound the margin by {high}, not by {proof.margin[1]}")


def _plane(proof: Proof, problem: Problem) -> tuple[NDArray[Any], NDArray[Any]]:
    if proof.coef is None or proof.intercept is None:
        raise _fail("it gives no plane")
    coef, intercept = np.asarray(proof.coef), np.asarray(proof.intercept)
    shape = (problem.d,) if problem.binary else (problem.K, problem.d)
    if coef.shape != shape or intercept.shape != shape[:-1]:
        raise _fail(f"its plane has the shape {coef.shape}, the data need {shape}")
    for part in (coef, intercept):
        if part.dtype != object and not np.isfinite(part.astype(np.float64)).all():
            raise _fail("its plane has weights that are not finite")
    if not problem.fit_intercept and any(v != 0 for v in np.ravel(intercept).tolist()):
        raise _fail("it uses an intercept where none is allowed")
    return coef, intercept


# -- not separable --------------------------------------------------------------------------------


def _check_inseparable(proof: Proof, problem: Problem) -> None:
    if not proof.exact:
        raise ProofError(
            "this proof was made with exact=False, its multipliers are rounded; "
            "make it again with exact=True to have one that can be checked."
        )
    if proof.margin != (0.0, 0.0):
        raise _fail(f"the margin is {proof.margin} although the classes are not separable")
    rows = _check_zero_sum(problem, proof.rows, proof.rivals, proof.multipliers, "rows")
    numbers, scale = scaled_integers(proof.multipliers)
    if sum(numbers) * scale != 1:
        raise _fail("the multipliers do not sum to 1")
    most = reflected(problem, rows).shape[1] + 1
    if len(rows) > most:
        raise _fail(f"it names {count(len(rows), 'row')} where {most} are always enough")
    if proof.quasi is None:
        return
    span = _check_zero_sum(
        problem, proof.span_rows, proof.span_rivals, proof.span_multipliers, "span_rows"
    )
    on_plane = np.arange(problem.n_rows)
    if proof.quasi:
        on_plane = _check_weak(proof, problem)
    elif proof.coef is not None or proof.columns:
        raise _fail("it gives a weak separator and denies that there is one")
    if not spans(problem, span, on_plane):
        raise _fail("the rows in span_rows do not span all the rows they have to")


def _check_zero_sum(
    problem: Problem,
    samples: NDArray[np.int64],
    rivals: NDArray[np.int64] | None,
    multipliers: Sequence[Fraction],
    name: str,
) -> NDArray[np.int64]:
    _check_indexes(samples, problem.n, name)
    if len(samples) != len(multipliers) or not len(samples):
        raise _fail(f"{name} has {count(len(samples), 'row')} but {len(multipliers)} multipliers")
    if problem.binary != (rivals is None):
        raise _fail(f"{name} needs rivals exactly when there are more than two classes")
    if rivals is not None:
        if rivals.shape != samples.shape:
            raise _fail(f"{name} has {count(len(samples), 'row')} but {len(rivals)} rivals")
        _check_indexes(rivals, problem.K, f"the rivals of {name}")
        if np.any(rivals == problem.label[samples]):
            raise _fail(f"a row of {name} is its own rival")
    rows = kesler_rows(problem, samples, rivals)
    if len(np.unique(rows)) != len(rows):
        raise _fail(f"{name} names a row twice")
    if not all(isinstance(m, Fraction | int) and m > 0 for m in multipliers):
        raise _fail(f"a multiplier of {name} is not a positive fraction")
    if not vanishes(reflected(problem, rows), multipliers):
        raise _fail(f"the multipliers do not combine {name} to zero")
    return rows


def _check_indexes(values: NDArray[np.int64], limit: int, name: str) -> None:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _fail(f"{name} is not a list of numbers")
    if len(array) and (array.min() < 0 or array.max() >= limit):
        raise _fail(f"{name} names number {int(array.max())}, there are {limit}")


def _check_weak(proof: Proof, problem: Problem) -> NDArray[np.int64]:
    """Check the weak separator; gives back the rows that lie on it."""
    coef, intercept = _plane(proof, problem)
    signs = row_signs(problem, coef, intercept)
    wrong = np.flatnonzero(signs < 0)
    if len(wrong):
        raise _fail(f"row {problem.sample_of(int(wrong[0]))} is on the wrong side of the plane")
    if not (signs > 0).any():
        raise _fail("every row lies on the weak separator, so it separates nothing")
    if tuple(proof.columns) != carrying_columns(coef):
        raise _fail(f"columns names {proof.columns}, the plane uses {carrying_columns(coef)}")
    return np.flatnonzero(signs == 0)


def carrying_columns(coef: NDArray[Any]) -> tuple[int, ...]:
    """Features whose weights are not zero (K > 2 classes: not equal for all classes)."""
    blocks = np.asarray(coef)
    if blocks.ndim == 1:
        return tuple(j for j, v in enumerate(blocks.tolist()) if v != 0)
    first = blocks[0].tolist()
    rest = blocks[1:].tolist()
    return tuple(j for j, v in enumerate(first) if any(row[j] != v for row in rest))
