"""A fitted model in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core.words import count, misplaced
from linsep.proofs.sentences import combination

_SHOWN = 12  # weights printed before the rest is left out


def summary(model: Any) -> str:
    """Several lines: the rule, why the run stopped, and what is proved."""
    certificate = model.certificate_
    lines = [
        f"{type(model).__name__}: {model.status_.value}",
        f"  algorithm   {model.solver_used_}",
        f"  work        {_work(model)}",
        f"  errors      {misplaced(certificate.errors)}",
    ]
    if certificate.separable:
        lines.append(f"  margin      {certificate.margin:.6g} (one side, in the units of X)")
    if np.isfinite(certificate.margin_high) and certificate.separable is not False:
        lines.append(
            f"  best margin between {certificate.margin_low:.6g} and {certificate.margin_high:.6g}"
        )
    if np.isfinite(certificate.margin_aug_high) and certificate.separable is not False:
        lines.append(
            f"  augmented   best margin between {certificate.margin_aug_low:.6g} "
            f"and {certificate.margin_aug_high:.6g}"
        )
    if certificate.separable is False:
        listed = combination(certificate.rows, certificate.multipliers)
        lines.append(f"  proof       {listed} add up to zero, so nothing separates")
    lines += [f"  rule        {line}" for line in rule_text(model).splitlines()]
    return "\n".join(lines)


def _work(model: Any) -> str:
    """What the fit took; a model read from a file knows less."""
    outcome = getattr(model, "outcome_", None)
    updates = count(model.n_updates_, "update")
    if outcome is None:
        return f"{updates}, {count(model.n_iter_, 'pass', 'passes')}"
    visits = getattr(outcome.state, "n_visits", outcome.steps)
    return (
        f"{updates}, {count(visits, 'visit')}, {count(outcome.passes, 'pass', spec='.4g')}, "
        f"{outcome.seconds:.3g} s"
    )


def rule_text(model: Any) -> str:
    """The decision rule in the names of the features."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j + 1}" for j in range(model.n_features_in_)]
    classes = [c.item() if hasattr(c, "item") else c for c in model.classes_]
    if len(classes) == 2:
        terms = _terms(model.coef_[0], names)
        bound = -float(model.intercept_[0]) + 0.0
        return f"{terms} >= {bound:.6g}  =>  {classes[1]!r}, otherwise {classes[0]!r}"
    lines = [
        f"score of {label!r} = {_terms(coef, names)} {offset:+.6g}"
        for label, coef, offset in zip(classes, model.coef_, model.intercept_)
    ]
    return "\n".join([*lines, "the class of the largest score"])


def _terms(coef: Any, names: Any) -> str:
    parts = [f"{value:+.6g} {name}" for value, name in zip(coef, names) if value != 0]
    if not parts:
        return "0"
    if len(parts) > _SHOWN:
        parts = [*parts[:_SHOWN], f"... ({len(parts) - _SHOWN} more)"]
    return " ".join(parts).removeprefix("+")
