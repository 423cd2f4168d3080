"""A fitted plane of least squares in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core.words import count
from linsep.estimators.summary import rule_text

__all__ = ["squares_summary"]

_SHOWN = 5


def squares_summary(model: Any) -> str:
    """Several lines: the cost and its proof, sides, outliers, the rule."""
    found, outcome = model.certificate_, getattr(model, "outcome_", None)
    lines = [
        f"{type(model).__name__}: {model.status_.value}",
        f"  algorithm   {model.solver_used_}",
    ]
    if outcome is not None:
        work = f"{count(outcome.steps, outcome.unit)}, {count(outcome.passes, 'pass', spec='.4g')}"
        lines.append(f"  work        {work}, {outcome.seconds:.3g} s")
    lines += [
        "  minimised   sum of s (y f(x) - b)^2",
        f"  cost        {_cost(found)}",
        f"  separates   {_sides(model)}",
    ]
    if getattr(model, "rank_", None) is not None:
        lines.append(f"  columns     {_columns(model)}")
    lines += [f"  outlier     {line}" for line in _outliers(model)]
    lines += [f"  rule        {line}" for line in rule_text(model).splitlines()]
    return "\n".join(lines)


def _cost(found: Any) -> str:
    if found.exact:
        text = str(found.minimum)
        exactly = text if len(text) <= 30 else f"{float(found.minimum):.8g}"
        if found.relative_gap > 1e-9:
            return f"{found.objective:.8g}; the least possible is {exactly}"
        return f"{found.objective:.8g}, and {exactly} is the least possible (in fractions)"
    reach = "" if np.isinf(found.reach) else f" up to {found.reach:g} times as large"
    return f"{found.objective:.8g}, and no weights{reach} have less than {found.lower_bound:.8g}"


def _sides(model: Any) -> str:
    found, proof = model.certificate_, getattr(model, "proof_", None)
    if found.separable:
        return f"yes: every row is on its own side, margin {found.margin:.6g}"
    rows = ", ".join(map(str, found.wrong_rows[:8])) + (", ..." if found.errors > 8 else "")
    whose = "its" if found.errors == 1 else "their"
    text = f"no: {count(found.errors, 'row')} not on {whose} own side ({rows})"
    if found.separable is False:
        return f"{text}; no plane separates, rows {', '.join(map(str, found.rows))} prove it"
    if proof is not None and proof.separable:
        return f"{text}, although the classes are separable"
    return text


def _columns(model: Any) -> str:
    width = model.n_features_in_ + bool(model.fit_intercept)
    if model.rank_ == width:
        return f"all {width} independent, condition {model.condition_:.3g} at equal lengths"
    return f"{model.rank_} of {width} independent; of many solutions the shortest is taken"


def _outliers(model: Any) -> list[str]:
    report = getattr(model, "_report", None)
    if report is None:
        return []
    places = {int(row): i for i, row in enumerate(report.row)}
    lines = []
    for row in report.outliers[:_SHOWN].tolist():
        i = places[row]
        lines.append(
            f"row {row}: leverage {report.leverage[i]:.3g}, residual "
            f"{report.standardised[i]:.3g} sd, Cook's distance {report.cook[i]:.3g} "
            f"({report.kind(i)})"
        )
    more = len(report.outliers) - _SHOWN
    return [*lines, f"... and {count(more, 'row')} more"] if more > 0 else lines
