"""How AdditiveSVM is trained: working sets, or the linear machine for the Hellinger kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core import Moment, Outcome, Problem
from linsep.core.parts import each_against_rest
from linsep.core.protocol import Witness
from linsep.errors import GapWarning
from linsep.estimators.additive_kernel import power_of
from linsep.kernels.additive_function import AdditiveFunction
from linsep.kernels.additive_levels import Levels, levels_of
from linsep.solvers.additive_smo import AdditiveSMO
from linsep.solvers.one_vs_rest import OneVsRest

__all__ = ["Fitted", "fit_hellinger", "fit_smo", "present", "smo_solver"]

Array = NDArray[np.float64]

_LEAST = 6144  # rows that a working set of two classes may have


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves: the functions, the offsets and y alpha of all rows."""

    function: AdditiveFunction
    offsets: Array
    dual: Array
    outcome: Outcome[Any]
    words: str


def smo_solver(model: Any, problem: Problem) -> Any:
    """The solver of a fit."""
    entries = problem.matrix.nnz if problem.sparse else problem.n * problem.d
    parts = 1 if problem.binary else problem.K / 4
    # the blocks of all working sets take no more than 150 MB, or a few times the memory of the
    # data; a Newton step on a block is much cheaper than products with all of its rows
    most = int(np.clip(np.sqrt(4 * entries / parts), max(2048, _LEAST / np.sqrt(parts)), 8192))
    solver = AdditiveSMO(
        power_of(model.kernel),
        float(model.C),
        0.99 * float(model.tol),
        most=most,
        seed=model._seed(),
    )
    if problem.binary:
        return solver
    return OneVsRest(solver, None if model.n_jobs in (None, -1) else model.n_jobs)


def fit_smo(
    model: Any, problem: Problem, power: float, state: Any, limits: Any, observers: Any, drive: Any
) -> Fitted:
    """Working sets, with the scores of all rows through the functions of single features."""
    solver = smo_solver(model, problem)
    levels = levels_of(problem, power)
    if state is None:
        state = solver.init(problem, start=_warm(model, problem))
    outcome = drive(problem, solver, state, limits=limits, observers=observers)
    dual = _dual(problem, outcome.witness)
    function = _function(levels, dual)
    words = (
        f"working sets of {solver.size if problem.binary else solver.solver.size} rows by pairs, "
        "scores through functions of single features"
    )
    return Fitted(function, outcome.witness.a.copy(), dual, outcome, words)


def _dual(problem: Problem, witness: Witness) -> Array:
    """y alpha of all rows, one line for each machine."""
    part, row = np.divmod(witness.rows, problem.n)
    signs = [problem.sign] if problem.binary else [p.sign for p in each_against_rest(problem)]
    dual = np.zeros((len(signs), problem.n))
    dual[part, row] = witness.multipliers
    return dual * np.array(signs)


def _function(levels: Levels, dual: Array) -> AdditiveFunction:
    rows = np.flatnonzero(dual.any(axis=0))
    return levels.function(rows, np.ascontiguousarray(dual[:, rows].T))


def present(power: float, now: Moment[Any]) -> dict[str, Any]:
    """What a copy of the estimator needs to predict with what is known during a fit."""
    problem, witness = now.problem, now.solver.witness(now.problem, now.state)
    if power == 0.0:
        coef, offsets = problem.split(witness.a)
        function = _straight(np.atleast_2d(coef))
    else:
        function = _function(levels_of(problem, power), _dual(problem, witness))
        offsets = witness.a
    return {
        "function_": function,
        "intercept_": np.atleast_1d(offsets).copy(),
        "classes_": problem.classes,
        "n_features_in_": problem.d,
    }


def _straight(coef: Array) -> AdditiveFunction:
    """h_k(x) = w_k sqrt(x)."""
    d = coef.shape[1]
    return AdditiveFunction(0.0, np.arange(d + 1), np.ones(d), np.ascontiguousarray(coef.T))


def _warm(model: Any, problem: Problem) -> Any:
    """Dual variables of the last fit, where it had the same rows."""
    K = 1 if problem.binary else problem.K
    if not model.warm_start or not hasattr(model, "dual_coef_"):
        return None
    if model._n_fitted != problem.n or len(model.dual_coef_) != K:
        return None
    support = model.support_
    if problem.row_index is not None:
        place = np.searchsorted(problem.row_index, support)
        if not np.isin(support, problem.row_index).all():
            return None
        support = place
    alpha = np.zeros((K, problem.n))
    alpha[:, support] = np.abs(model.dual_coef_) * (float(model.C) / model._C_fitted)
    return alpha[0] if problem.binary else list(alpha)


def fit_hellinger(model: Any, problem: Problem, observers: Any) -> Fitted:
    """sqrt(x z) is the product of square roots: a linear machine, h_k(x) = w_k sqrt(x)."""
    from linsep.estimators.linear_svm import LinearSVM

    matrix = problem.matrix
    root = matrix.sqrt() if problem.sparse else np.sqrt(matrix)
    linear = LinearSVM(
        float(model.C), tol=0.9 * float(model.tol), max_iter=model.max_iter,
        time_limit=model.time_limit, random_state=model._seed(), callbacks=list(observers),
        n_jobs=model.n_jobs,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)  # told by the certificate of this machine
        linear.fit(root, problem.label, sample_weight=problem.weight)
    function = _straight(linear.coef_)
    dual = np.zeros((len(linear.coef_), problem.n))
    dual[:, linear.support_] = linear.dual_coef_
    words = f"linear machine on square roots: {linear.solver_used_}"
    return Fitted(function, linear.intercept_.copy(), dual, linear.outcome_, words)
