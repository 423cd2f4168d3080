"""A fitted support vector machine in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core.words import count, misplaced, percent
from linsep.estimators.summary import rule_text

__all__ = ["svm_summary"]


def svm_summary(model: Any) -> str:
    """Several lines: the objective and its proof, support vectors, the rule."""
    gap, outcome = model.certificate_, getattr(model, "outcome_", None)
    lines = [
        f"{type(model).__name__}: {model.status_.value}",
        f"  algorithm   {model.solver_used_}",
        f"  minimised   {gap.words}",
        *_proved(model),
        f"  errors      {misplaced(gap.errors)}, {gap.inside} inside the street or wrong",
        f"  street      {_street(model)}",
    ]
    if outcome is not None:  # a model read from a file has weights and certificate only
        work = f"{count(outcome.steps, outcome.unit)}, {count(outcome.passes, 'pass', spec='.4g')}"
        lines.insert(2, f"  work        {work}, {outcome.seconds:.3g} s")
        if len(model.support_):
            vectors, bound = count(len(model.support_), "vector"), model.leave_one_out_bound_
            lines.append(f"  support     {vectors}; leave-one-out error at most {bound:.3g}")
    lines += [f"  rule        {line}" for line in rule_text(model).splitlines()]
    return "\n".join(lines)


def _proved(model: Any) -> list[str]:
    """How good it is, or that there is nothing to find."""
    gap, proof = model.certificate_, getattr(model, "proof_", None)
    if proof is not None and proof.separable is False:
        return [
            f"  proof       {proof}",
            "  plane       that of C = 1, since a hard margin does not exist",
        ]
    if not np.isfinite(gap.objective):
        return ["  proved      nothing yet: some row is inside the street"]
    return [
        f"  objective   {gap.objective:.8g}, and no model has less than {gap.lower_bound:.8g}",
        f"  proved      within {percent(gap.relative_gap)} of the best possible",
    ]


def _street(model: Any) -> str:
    lengths = np.linalg.norm(model.coef_, axis=1)
    if not lengths.any():
        return "none: w = 0, so every row gets the same class"
    with np.errstate(divide="ignore"):
        width = 2 / lengths
    return f"{', '.join(f'{w:.6g}' for w in width[:6])} wide (2 / |w|)"
