"""``linsep verify``: check a stored model or proof against data, trusting neither.

Every claim about the data is computed anew: bounds, errors, margins, likelihoods, multipliers, the
status with its sentence. Parameters that only tell how the model came about (max_iter, solver,
random_state...) claim nothing and are taken as given.
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from typing import Any

import numpy as np

from linsep.cli.claims import (
    check_classes,
    check_intercept,
    refuted_facts,
    refuted_multipliers,
    refuted_status,
)
from linsep.cli.common import check_features, emit, fitted_to, framed, in_order, table
from linsep.cli.lifting import behind, is_pipeline, lifted, plain
from linsep.cli.likelihood import refuted_likelihood
from linsep.cli.schemes import check_learner, check_machines
from linsep.cli.sentences import check_class_weight, refuted_sentences, refuted_separation
from linsep.core import Problem, Witness
from linsep.data.files import fetch
from linsep.errors import ModelError, SettingError

__all__ = ["run"]


def run(args: Namespace) -> int:
    """Print what the data say; 0 when it agrees with what is stored."""
    from linsep.formats import is_text_model

    if is_text_model(args.model):
        return _text(args)
    if args.C is not None:
        raise SettingError("--C is for model files of LIBLINEAR and LIBSVM; others hold their own.")
    text = fetch(args.model)
    try:
        stored = json.loads(text)
        kind = stored.get("format") if isinstance(stored, dict) else None
    except (UnicodeDecodeError, ValueError) as error:
        raise ModelError(f"{args.model} is neither a model nor a proof ({error}).") from error
    return _proof(args, stored) if kind == "linsep-proof" else _model(args, stored)


def _proof(args: Namespace, stored: dict[str, Any]) -> int:
    from linsep.certify.proof import Proof

    proof = Proof.from_dict(stored)
    _, data = lifted(args, table(args, positive=args.positive))
    proof.check(data.X, data.y)
    sentence = f"the proof holds: {proof}"
    emit({"holds": True, "sentence": str(proof)} if args.json else sentence, args.json)
    return 0


def _text(args: Namespace) -> int:
    """A model of LIBLINEAR or LIBSVM: it claims nothing, so say how good it is."""
    import linsep
    from linsep.cli.predict import read_for

    model = linsep.load(args.model)
    data = read_for(args, model)
    model = fitted_to(model, data)
    check_features(model, data)
    report = linsep.certify(model, data.X, data.y, C=args.C)
    emit(report.to_dict() if args.json else str(report), args.json)
    return 0


def _model(args: Namespace, stored: Any) -> int:
    from linsep.cli.predict import read_for
    from linsep.formats import load

    model = load(args.model)
    data = in_order(model, read_for(args, model))
    check_features(model, data)
    model, data = behind(model, plain(data) if is_pipeline(model) else data)
    labels = data.y
    known = set(model.classes_.tolist())
    strange = sorted(set(labels.tolist()) - known, key=str)
    if strange:
        raise ModelError(
            f"{args.data} has the label {strange[0]!r}; the model knows "
            f"{', '.join(map(repr, model.classes_.tolist()))}."
        )
    if not hasattr(model, "certificate_"):
        raise ModelError(f"{args.model} holds no certificate; there is nothing to verify.")
    check_class_weight(model)
    told = model.certificate_
    if hasattr(told, "problems"):
        found, wrong = check_machines(framed(data), labels, model, _compared)
    else:
        found, wrong = _compared(framed(data), data.X, labels, model)
        if hasattr(model, "vectors"):
            wrong += check_learner(framed(data), labels, model, _compared)
    wrong += refuted_sentences(stored)
    lines = [f"found   {found}", f"stored  {told}"]
    lines += [f"DIFFERS {line}" for line in wrong]
    lines.append("they DIFFER: forged, or made for other data" if wrong else "they agree")
    report = {
        "agrees": not wrong,
        "wrong": wrong,
        "found": found.to_dict(),
        "stored": told.to_dict(),
    }
    emit(report if args.json else "\n".join(lines), args.json)
    return 1 if wrong else 0


def _compared(
    X: Any, matrix: Any, labels: Any, model: Any, weight: Any = None
) -> tuple[Any, list[str]]:
    """The certificate of one model, recomputed, and what differs from the stored one."""
    told = model.certificate_
    intercept = bool(getattr(model, "fit_intercept", True))
    problem = Problem(matrix, labels, sample_weight=weight, fit_intercept=intercept)
    check_classes(model, problem)
    check_intercept(model)
    check_class_weight(model)
    if hasattr(told, "log_likelihood"):
        found, wrong = _likelihood(X, labels, model, told, weight)
    elif hasattr(told, "reach"):
        found, wrong = _squares(X, labels, model, told, weight)
        if told.separable is False:
            wrong += refuted_multipliers(problem, told.plane)
    else:
        found, wrong = (_gap if hasattr(told, "lower_bound") else _facts)(problem, model, told)
    wrong += refuted_facts(problem, found, told)
    wrong += refuted_likelihood(problem, model, found) + refuted_separation(problem, model)
    return found, wrong + refuted_status(problem, model, found)


def _facts(problem: Problem, model: Any, told: Any) -> tuple[Any, list[str]]:
    """Recompute the certificate; upper bounds of the margin are compared with a fresh proof."""
    from linsep.certify.certificate import judge
    from linsep.risk import novikoff_bound
    from linsep.verdict import decide

    a = np.column_stack([model.coef_, model.intercept_]).ravel()
    found = judge(problem, Witness(a))
    names = ("errors", "margin", "margin_low", "margin_aug", "margin_aug_low")
    wrong = _unequal(found, told, names)
    if found.separable and told.separable is not True:
        wrong.append(f"separable: found True, stored {told.separable}")
    if told.separable and not found.separable:
        wrong.append("separable: this plane does not separate")
    if told.separable is False:
        wrong += refuted_multipliers(problem, told)
        return found, wrong
    if math.isfinite(told.margin_high) and told.margin_high < decide(problem).margin[0]:
        wrong.append(f"margin_high: a plane has more than {told.margin_high:.6g}")
    if math.isfinite(told.margin_aug_high):
        labels = problem.classes[problem.label]
        best = novikoff_bound(problem.matrix, labels, fit_intercept=problem.fit_intercept)
        if told.margin_aug_high < best.margin[0]:
            wrong.append(f"margin_aug_high: a plane has more than {told.margin_aug_high:.6g}")
    return found, wrong


def _likelihood(X: Any, labels: Any, model: Any, told: Any, weight: Any) -> tuple[Any, list[str]]:
    """Recompute the likelihood of the parameters, and the best one of their structure."""
    import linsep

    found = linsep.certify(model, X, labels, sample_weight=weight)
    wrong = _unequal(
        found, told, ("log_likelihood", "objective", "lower_bound", "errors", "rejected")
    )
    if model.priors is None and model.class_weight is None and weight is None:
        shares = np.unique(labels, return_counts=True)[1] / len(labels)
        if not np.allclose(model.priors_, shares, rtol=1e-9, atol=0.0):
            wrong.append("priors: they are not the shares of the classes")
    if (found.plane is None) != (told.plane is None):
        wrong.append("plane: only one of the two has a plane")
    elif told.plane is not None:
        wrong += _unequal(found, told, ("margin",))
        if found.separable is not told.separable:
            wrong.append(f"separable: found {found.separable}, stored {told.separable}")
    return found, wrong


def _squares(X: Any, labels: Any, model: Any, told: Any, weight: Any) -> tuple[Any, list[str]]:
    """Recompute the sum of squared errors and its lower bound."""
    import linsep

    found = linsep.certify(model, X, labels, sample_weight=weight)
    wrong = _unequal(found, told, ("total", "errors", "margin"))
    slack = 1e-9 * found.total
    if not abs(found.objective - told.objective) <= slack:
        wrong.append(f"objective: found {found.objective:.8g}, stored {told.objective:.8g}")
    if not told.lower_bound <= found.lower_bound + slack:
        wrong.append(f"lower_bound: no more than {found.lower_bound:.8g} can be proved")
    if told.exact and (found.minimum, found.weights) != (told.minimum, told.weights):
        wrong.append("minimum: the fractions are not those of these data")
    if told.separable and not found.separable:
        wrong.append("separable: this plane does not separate")
    return found, wrong


def _gap(problem: Problem, model: Any, told: Any) -> tuple[Any, list[str]]:
    """Recompute the objective, and prove a lower bound again from the dual variables."""
    import linsep

    labels = problem.classes[problem.label]
    weight = None if (problem.weight == 1).all() else problem.weight
    found = linsep.certify(model, problem.matrix, labels, sample_weight=weight, tol=1e-9)
    wrong = _beyond(found, told)
    parts = getattr(told, "parts", ())
    if parts and len(parts) != len(found.parts):
        wrong.append(f"parts: found {len(found.parts)}, stored {len(parts)}")
    for k, (own, other) in enumerate(zip(getattr(found, "parts", ()), parts, strict=False)):
        wrong += [f"machine {k}, {words}" for words in _beyond(own, other)]
    wrong += [
        f"{name}: it says {getattr(told, name)!r}, not {getattr(found, name)!r}"
        for name in ("convex", "words")
        if hasattr(found, "convex") and getattr(told, name) != getattr(found, name)
    ]
    if hasattr(found, "violation") and told.violation < 0.999 * found.violation - 1e-9:
        wrong.append(f"violation: found {found.violation:.8g}, stored {told.violation:.8g}")
    return found, wrong


def _beyond(found: Any, told: Any) -> list[str]:
    """What is stored of one machine and not found, or not proved."""
    wrong = _unequal(found, told, ("objective", "errors", "margin", "width", "inside"))
    slack = 1e-9 * abs(found.lower_bound) + 1e-12 if math.isfinite(found.lower_bound) else 0.0
    if not told.lower_bound <= found.lower_bound + slack:
        wrong.append(f"lower_bound: no more than {found.lower_bound:.8g} can be proved")
    return wrong


def _unequal(found: Any, told: Any, names: tuple[str, ...]) -> list[str]:
    pairs = [(name, getattr(found, name), getattr(told, name)) for name in names]
    return [f"{name}: found {a:.8g}, stored {b:.8g}" for name, a, b in pairs if not _close(a, b)]


def _close(a: float, b: float) -> bool:
    return a == b or (math.isfinite(a - b) and abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-300)
