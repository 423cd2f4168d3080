"""What a model file claims in words, held against the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from linsep.core import Problem, Status
from linsep.core.words import misplaced
from linsep.errors import ModelError

__all__ = [
    "check_classes",
    "check_intercept",
    "refuted_facts",
    "refuted_multipliers",
    "refuted_status",
]

_PATIENCE = 60.0  # seconds for the question whether a maximum exists


def check_classes(model: Any, problem: Problem) -> None:
    """Raise unless the model was trained on these classes in this order."""
    known, here = np.asarray(model.classes_).tolist(), problem.classes.tolist()
    if known != here:
        raise ModelError(
            f"the model knows the classes {', '.join(map(repr, known))}, in this order; the "
            f"data have {', '.join(map(repr, here))}."
        )


def check_intercept(model: Any) -> None:
    """Raise if a model that says that it has no intercept has one."""
    offsets = np.ravel(getattr(model, "intercept_", 0.0))
    if getattr(model, "fit_intercept", True) is False and offsets.any():
        raise ModelError(
            f"fit_intercept is False, but the model has the intercept {offsets.tolist()}."
        )


def refuted_facts(problem: Problem, found: Any, told: Any) -> list[str]:
    """Facts beside the bounds: rows not on their own side, the words, those of a plane."""
    wrong = []
    for name in ("wrong_rows", "finite", "total_weight", "words"):
        a, b = getattr(found, name, None), getattr(told, name, None)
        if a is not None and b is not None and not _alike(a, b):
            wrong.append(f"{name}: found {_short(a)}, stored {_short(b)}")
    slope, said = (float(getattr(facts, "stationarity", 0.0)) for facts in (found, told))
    if not abs(slope - said) <= 1e-6:
        wrong.append(f"stationarity: found {slope:.3g}, stored {said:.3g}")
    rows = getattr(told, "rows", ())
    if any(not isinstance(row, int) or not 0 <= row < problem.n for row in rows):
        wrong.append(f"rows: {_short(tuple(rows))} are not numbers of rows")
    ends = [getattr(told, name, 0.0) for name in ("margin_high", "margin_aug_high")]
    if len(rows) and told.separable is False and any(ends):
        wrong.append("margin_high: no plane separates, so no margin is more than 0")
    here, there = getattr(found, "plane", None), getattr(told, "plane", None)
    if here is None or there is None:
        return wrong
    for name in ("errors", "margin", "margin_low", "margin_aug", "margin_aug_low"):
        if not _alike(getattr(here, name), getattr(there, name)):
            wrong.append(f"{name}: found {getattr(here, name)}, stored {getattr(there, name)}")
    return wrong + refuted_facts(problem, here, there)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return bool(a == b)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def refuted_multipliers(problem: Problem, told: Any) -> list[str]:
    """What is wrong with a certificate that says that no plane separates."""
    from linsep.certify.exact import reflected, vanishes
    from linsep.certify.recheck import kesler_rows
    from linsep.verdict import decide

    if not problem.binary and not len(told.rows):
        if decide(problem).separable is not False:
            return ["separable: the classes are separable"]
        return []
    rows = np.asarray(told.rows, dtype=np.int64)
    inside = bool(len(rows)) and 0 <= rows.min() <= rows.max() < problem.n
    good = inside and len(rows) == len(told.multipliers)
    good = good and min(told.multipliers) >= Fraction(0) and sum(told.multipliers) > 0
    if good and not problem.binary:
        classes = problem.classes.tolist()
        if len(told.rivals) != len(rows) or any(r not in classes for r in told.rivals):
            return ["rivals: they are not one class for each of the rows"]
        rivals = np.array([classes.index(r) for r in told.rivals])
        if (rivals == problem.label[rows]).any():
            return ["rivals: a row is held against its own class"]
        rows = kesler_rows(problem, rows, rivals)
    if not (good and vanishes(reflected(problem, rows), told.multipliers)):
        return ["multipliers: they do not combine the rows to zero"]
    return []


def refuted_status(problem: Problem, model: Any, found: Any) -> list[str]:
    """Whether the stored status says more than the recomputed certificate supports."""
    status = getattr(model, "status_", None)
    if status is Status.SEPARATED and found.errors:
        return [f"status: SEPARATED, but {misplaced(found.errors, sentence=True)}"]
    if hasattr(model, "overlap_"):  # a machine with a kernel; certify has computed its proof again
        proved = bool(model.overlap_ is not None and np.isinf(model.C))
        if proved is not (status is Status.INSEPARABLE):
            fact = "it is proved" if proved else "there is no proof"
            return [
                f"status: {getattr(status, 'name', status)}, but {fact} that no hard margin exists"
            ]
        if proved:
            return []
        if status is Status.CONVERGED and not found.convex and found.violation > model.tol:
            return [f"status: CONVERGED, but the violation is {found.violation:.3g}"]
    told = getattr(model.certificate_, "separable", None) is False
    if status is Status.INSEPARABLE and not told and not _without_hard_margin(problem, model):
        return ["status: INSEPARABLE, but there are no multipliers that prove it"]
    unpenalised = hasattr(model, "separation_") and np.isinf(model._cost)
    if status is Status.NO_MAXIMUM and not (unpenalised and _endless(problem)):
        return ["status: NO_MAXIMUM, but no plane proves it"]
    if status is Status.CERTIFIED and hasattr(found, "relative_gap"):
        tol = getattr(model, "tol", np.inf)
        if found.relative_gap > tol:
            return [f"status: CERTIFIED, but the gap is {found.relative_gap:.3g}, not {tol:.3g}"]
        if unpenalised and _endless(problem):
            return ["status: CERTIFIED, but the likelihood has no maximum"]
    return []


def _endless(problem: Problem) -> bool:
    """Whether the likelihood of these rows has no maximum."""
    from linsep.verdict import decide

    proof = decide(problem, time_limit=_PATIENCE)
    return bool(proof.separable or proof.quasi)


def _without_hard_margin(problem: Problem, model: Any) -> bool:
    """Whether a hard margin was asked for and some class cannot be cut off from the others."""
    from linsep.core.parts import each_against_rest
    from linsep.verdict import decide

    if not np.isinf(getattr(model, "C", 1.0)):
        return False
    parts = [problem] if problem.binary else each_against_rest(problem)
    return any(decide(part, time_limit=_PATIENCE).separable is False for part in parts)
