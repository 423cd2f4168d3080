"""Likelihoods without a maximum: what can be said, and a finite answer all the same.

A likelihood has no maximum exactly when a plane has no row strictly on its wrong side and some
row strictly on its right one (Albert and Anderson 1984). Along the direction u of that plane it
grows for ever. Its supremum is the best likelihood of the rows that lie on the plane, 1 if none
does. So weights a + t u, a the best for the rows on the plane, come as close as one likes. With
several classes a row is held against each of its rivals; those that it has left behind go, and
the supremum is that of the rivals that remain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem, rows_of
from linsep.losses.logistic import loss
from linsep.proofs.margins import margin_below
from linsep.proofs.separable import Proof
from linsep.rows.signs import row_signs
from linsep.solvers.logistic.newton import NewtonLogistic

Array = NDArray[np.float64]

_ANY_SEPARATOR = 800  # rows or columns, the fewer, from which any separator will do
_GONE = 40.0  # margin of rivals that count no more beside those in doubt
_FACE_STEPS = 60  # of Newton's method for the rivals in doubt


def plain_problem(problem: Problem) -> Problem:
    """The same rows and labels without weights: what a proof of separability is about."""
    return Problem(
        problem.matrix,
        problem.classes[problem.label],
        fit_intercept=problem.fit_intercept,
        feature_names=problem.feature_names,
        check_finite=False,
    )


def separator_proof(problem: Problem, a: Array) -> Proof | None:
    """The proof that a plane separates many rows of many columns, if it does.

    There the widest margin is out of reach, and some margin is all that is asked for; smaller
    tables are better off with ``separability``.
    """
    if min(problem.n, problem.d) * problem.K <= _ANY_SEPARATOR or not problem.binary:
        return None
    coef, intercept = problem.split(a)
    plane = coef[0] / float(np.abs(coef).max()), float(intercept[0]) / float(np.abs(coef).max())
    if not bool((row_signs(problem, *plane) > 0).all()):
        return None
    return Proof(
        separable=True,
        coef=plane[0],
        intercept=plane[1],
        margin=(margin_below(problem, *plane), np.inf),
        classes=problem.classes,
        fit_intercept=problem.fit_intercept,
        n_samples=problem.n,
        n_features=problem.d,
        feature_names=None if problem.feature_names is None else tuple(problem.feature_names),
        fingerprint=problem.fingerprint,
    )


def limit_weights(problem: Problem, proof: Proof, tol: float, limits: Limits) -> Array:
    """Finite weights whose likelihood is within tol of the supremum, or nearly so.

    On separable data, minus the log likelihood is at most tol; else it is at most 1 + tol / 2
    times that of the rows on the plane.
    """
    if not problem.binary:
        return _machine(problem, proof, tol, limits)
    direction = _direction(problem, proof)
    face = np.flatnonzero(row_signs(problem, proof.coef, proof.intercept) == 0)
    base = np.zeros_like(direction)
    allowed = tol
    if len(face):
        part = rows_of(problem, face)
        small = part.n * part.d <= 1_000_000
        exact = NewtonLogistic(C=np.inf, tol=1e-20 if small else 1e-3 * tol, patient=True)
        outcome = drive(part, exact, limits=limits)
        base = outcome.witness.a
        allowed = 0.5 * tol * outcome.state.best_primal
    off = np.setdiff1d(np.arange(problem.n), face)
    here, push = problem.values(base), problem.values(direction)[off]
    least = _apart(here[face])
    return base + _far_enough(here[off], push, problem.weight[off], allowed, least) * direction


def _machine(problem: Problem, proof: Proof, tol: float, limits: Limits) -> Array:
    """The same for K > 2 classes: rivals that the machine leaves strictly behind, and the rest.

    The rest has a maximum of its own. It is looked for far along the direction, where the
    others have all but vanished.
    """
    direction = _direction(problem, proof)
    weight = np.repeat(problem.weight, problem.K - 1)  # log(1 + sum) <= sum of log(1 + each)
    push = problem.values(direction)
    if proof.separable:
        return _far_enough(np.zeros(len(push)), push, weight, tol, 0.0) * direction
    face = row_signs(problem, proof.coef, proof.intercept) == 0
    off = np.flatnonzero(~face)
    push = push[off]
    begin = _GONE * direction
    base = _best_on_face(problem, begin, limits)
    here = problem.values(base)
    allowed = 0.5 * tol * float((weight * loss(here))[face].sum()) / (problem.K - 1)
    least = _apart(here[face])
    return base + _far_enough(here[off], push, weight[off], allowed, least) * direction


def _best_on_face(problem: Problem, begin: Array, limits: Limits) -> Array:
    """Newton's method without a penalty from weights that are far along the direction."""
    from linsep.solvers.logistic.softmax import NewtonSoftmax

    solver = NewtonSoftmax(C=np.inf, tol=1e-12, patient=True)
    state = solver.init(problem.lent, start=problem.split(begin))
    steps = _FACE_STEPS if limits.steps is None else min(limits.steps, _FACE_STEPS)
    return drive(problem, solver, state, limits=replace(limits, steps=steps)).witness.a


def _direction(problem: Problem, proof: Proof) -> Array:
    coef = np.asarray(proof.coef, dtype=np.float64)
    intercept = np.asarray(proof.intercept, dtype=np.float64)
    a = problem.join(coef, intercept)
    values = problem.values(a)
    least = float(values[values > 1e-9 * np.abs(values).max()].min())
    return np.asarray(a / least)


def _apart(margins: Array) -> float:
    """A margin that tells those beyond it from those in doubt at first sight."""
    return 2.5 * max(float(margins.max(initial=0.0)), 4.0)


def _far_enough(start: Array, push: Array, weight: Array, allowed: float, least: float) -> float:
    """t for which the losses of margins start + t push add up to no more than allowed."""
    t = 1.0
    for _ in range(80):
        m = start + t * push
        if float(weight @ loss(m)) <= allowed and float(m.min()) >= least:
            break
        t *= 1.25
    return t


def separating_words(problem: Problem, proof: Proof) -> str:
    """What separates: the columns that do so, and the plane in words."""
    if proof.separable:
        alone = _columns_alone(problem) if problem.binary else []
        what = "the classes are separable"
        if alone:
            names = ", ".join(repr(problem.feature_name(j)) for j in alone[:5])
            what += f", by {names} alone" if len(alone) == 1 else f", by each of {names} alone"
        return f"{what} ({proof})"
    names = ", ".join(repr(problem.feature_name(j)) for j in proof.columns[:8])
    kinds = "column" if len(proof.columns) == 1 else "columns"
    return f"the classes are quasi-separable by the {kinds} {names} ({proof})"


def _columns_alone(problem: Problem) -> list[int]:
    """Columns that separate the classes without the others."""
    if problem.sparse or not problem.fit_intercept:
        return []
    positive = problem.sign > 0
    X: Any = problem.matrix
    up, down = X[positive], X[~positive]
    apart = (up.min(axis=0) > down.max(axis=0)) | (up.max(axis=0) < down.min(axis=0))
    columns: list[int] = np.flatnonzero(apart).tolist()
    return columns
