"""A fitted support vector machine in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.estimators.summary import rule_text

__all__ = ["svm_summary"]


def svm_summary(model: Any) -> str:
    """Several lines: the objective and its proof, support vectors, the rule."""
    gap, outcome = model.certificate_, model.outcome_
    width = np.atleast_1d(model.margin_width_)
    lines = [
        f"{type(model).__name__}: {model.status_.value}",
        f"  algorithm   {model.solver_used_}",
        f"  work        {outcome.steps} {outcome.unit}s, {outcome.passes:.4g} passes, "
        f"{outcome.seconds:.3g} s",
        f"  minimised   {gap.words}",
        f"  objective   {gap.objective:.8g}, and no model has less than {gap.lower_bound:.8g}",
        f"  proved      within {100 * gap.relative_gap:.2g} % of the best possible",
        f"  errors      {gap.errors} rows not on their own side, {gap.inside} inside the street "
        "or wrong",
        f"  street      {', '.join(f'{w:.6g}' for w in width[:6])} wide (2 / |w|)",
        f"  support     {len(model.support_)} vectors; leave-one-out error at most "
        f"{model.leave_one_out_bound_:.3g}",
    ]
    lines += [f"  rule        {line}" for line in rule_text(model).splitlines()]
    return "\n".join(lines)
