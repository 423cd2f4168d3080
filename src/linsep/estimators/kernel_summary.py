"""A fitted kernel machine in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core.words import count, misplaced, percent
from linsep.estimators.kernel_hard import widest

__all__ = ["kernel_summary"]


def kernel_summary(model: Any) -> str:
    """Several lines: the objective and its proof, support vectors, the rule."""
    gap, outcome = model.certificate_, getattr(model, "outcome_", None)
    lines = [
        f"{type(model).__name__}: {model.status_.value}",
        f"  algorithm   {model.solver_used_}",
        f"  minimised   {gap.words}",
        *_proved(model, gap),
        f"  errors      {misplaced(gap.errors)}, {gap.inside} inside the street or wrong",
    ]
    if np.isfinite(gap.width):  # |w|^2 may be negative where the kernel is not positive
        lines.append(f"  street      {gap.width:.6g} wide in the feature space (2 / |w|)")
    if outcome is not None:  # a model read from a file has numbers and certificate only
        work = f"{count(outcome.steps, 'working set')}, {count(model.n_updates_, 'step')}"
        lines.insert(2, f"  work        {work}, {outcome.seconds:.3g} s")
    by_class = ", ".join(
        f"{n} of {label!r}" for n, label in zip(model.n_support_.tolist(), model.classes_.tolist())
    )
    lines.append(f"  support     {count(len(model.support_), 'vector')}: {by_class}")
    lines.append(f"  rule        {_rule(model)}")
    return "\n".join(lines)


def _rule(model: Any) -> str:
    classes = model.classes_.tolist()
    if len(classes) == 2:
        b = float(model.intercept_[0])
        return (
            f"sum of y alpha K(x_i, x) over the support vectors {b:+.6g} >= 0  =>  "
            f"{classes[1]!r}, otherwise {classes[0]!r}"
        )
    return f"votes of {len(model.intercept_)} machines, one for each pair of classes"


def _proved(model: Any, gap: Any) -> list[str]:
    overlap = getattr(model, "overlap_", None)
    if overlap is not None:
        return [f"  proof       {overlap}; no street exists, and this is C = 1"]
    if not np.isfinite(gap.objective):
        most = widest(gap)
        what = f"no street is wider than {most:.3g}" if np.isfinite(most) else "nothing yet"
        return [f"  proved      {what}; some row is on the wrong side"]
    if not gap.convex:
        return [
            f"  objective   {gap.objective:.8g} at a stationary point (violation "
            f"{gap.violation:.2g}); the kernel is not positive semidefinite: no lower bound",
        ]
    return [
        f"  objective   {gap.objective:.8g}, and no model has less than {gap.lower_bound:.8g}",
        f"  proved      within {percent(gap.relative_gap)} of the best possible",
    ]
