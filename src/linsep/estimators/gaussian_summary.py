"""A fitted Gaussian classifier in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core.words import count
from linsep.estimators.summary import rule_text

__all__ = ["gaussian_summary"]

_SHOWN = 8


def gaussian_summary(model: Any) -> str:
    """Several lines: the densities, the rule, what is proved."""
    facts = model.certificate_
    with_ridge = " with the ridge" if has_ridge(model) else ""
    lines = [
        f"GaussianClassifier: {model.status_.value}",
        f"  algorithm   {model.solver_used_} (maximum likelihood, divided by n)",
        f"  priors      {_priors(model)}",
        f"  likelihood  {facts.log_likelihood:.6g} (log); no parameters of this structure "
        f"gain more than {max(facts.gap, 0.0):.2g}{with_ridge}",
        f"  errors      {count(facts.errors, 'row')} not given their own class",
    ]
    if model.loss is not None:
        lines.append(f"  loss        {_loss(model)}")
    if facts.rejected:
        lines.append(f"  rejected    {count(facts.rejected, 'row')}")
    if facts.separable:
        lines.append(f"  margin      {facts.margin:.6g} (one side, in the units of X)")
    if model.degenerate_:
        lines.append(f"  degenerate  {model.degenerate_}")
    if has_ridge(model):
        lines.append(f"  ridge       up to {model.ridge_.max():.3g} added to the variances")
    if model.is_linear_:
        lines += [f"  rule        {line}" for line in rule_text(model).splitlines()]
    else:
        lines.append(f"  rule        {_curved(model)}")
    return "\n".join(lines)


def has_ridge(model: Any) -> bool:
    """Whether anything was added to the variances."""
    return bool(model.ridge_.any())


def _curved(model: Any) -> str:
    if hasattr(model, "coef_"):
        return "the decision of least expected loss; the log odds are linear, see coef_"
    return "the decision of least expected loss; the log odds are quadratic, see quadratic_"


def _priors(model: Any) -> str:
    pairs = list(zip(model.classes_.tolist(), model.priors_))
    shown = ", ".join(f"{p:.4g} for {label!r}" for label, p in pairs[:_SHOWN])
    more = "" if len(pairs) <= _SHOWN else f", ... ({len(pairs) - _SHOWN} more)"
    given = "" if model.priors is None else " (given)"
    return shown + more + given


def _loss(model: Any) -> str:
    W = np.asarray(model.loss, dtype=np.float64)
    rows = [
        f"{d!r}: {' '.join(f'{v:g}' for v in row)}" for d, row in zip(model.decisions_.tolist(), W)
    ]
    return "; ".join(rows[:_SHOWN]) + ("; ..." if len(rows) > _SHOWN else "")
