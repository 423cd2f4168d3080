"""Sentences of a model file, held against what they speak of."""

from __future__ import annotations

import math
import re
from typing import Any

from linsep.core import Problem, Status
from linsep.errors import ModelError

__all__ = ["check_class_weight", "refuted_sentences", "refuted_separation"]

_PATIENCE = 60.0  # seconds for the question what separates
_MARGIN = re.compile(r"margin (?:between (\S+) and (\S+)|(\S+))\)$")


def check_class_weight(model: Any) -> None:
    """Raise unless the weights of the classes are something that a fit accepts."""
    given = getattr(model, "class_weight", None)
    if given is None or given == "balanced":
        return
    if isinstance(given, dict) and all(_is_weight(value) for value in given.values()):
        return
    raise ModelError(
        f"class_weight is {given!r:.60}; None, 'balanced' or a dict of numbers >= 0 is needed."
    )


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def refuted_sentences(stored: Any, where: str = "") -> list[str]:
    """Sentences beside a status, anywhere in the file, that are not those of this status."""
    if isinstance(stored, list):
        return [
            line
            for k, part in enumerate(stored)
            for line in refuted_sentences(part, f"{where}{k}.")
        ]
    if not isinstance(stored, dict):
        return []
    wrong = []
    name, said = stored.get("name"), stored.get("sentence")
    known = Status.__members__.get(str(name))
    if where.endswith("status.") and known is not None and said != known.value:
        wrong.append(f"{where}sentence: it is not the one of {name}: {said!r:.60}")
    for key, part in stored.items():
        wrong += refuted_sentences(part, f"{where}{key}.")
    return wrong


def refuted_separation(problem: Problem, model: Any) -> list[str]:
    """Whether ``separation_`` of a logistic regression tells what separates these rows."""
    if not hasattr(model, "separation_"):
        return []
    from linsep.estimators.logistic_limit import separating_words
    from linsep.verdict import decide

    told, endless = model.separation_, getattr(model, "status_", None) is Status.NO_MAXIMUM
    if not endless or told is None:
        if not endless and told is None:
            return []
        fact = "no maximum" if endless else "not said to have no maximum"
        return [f"separation: it is {told!r:.60}, and the likelihood has {fact}"]
    rows = Problem(
        problem.matrix,
        problem.classes[problem.label],
        fit_intercept=problem.fit_intercept,
        feature_names=getattr(model, "feature_names_in_", None),
    )
    proof = decide(rows, time_limit=_PATIENCE)
    found = separating_words(rows, proof) if proof.separable or proof.quasi else "nothing"
    if _same(found, str(told), proof.margin):
        return []
    return [f"separation: found {found!r}, stored {told!r}"]


def _same(found: str, told: str, margin: tuple[float, float]) -> bool:
    """Whether both say the same; of a margin both may know more or less."""
    if found == told:
        return True
    here, there = _MARGIN.search(found), _MARGIN.search(told)
    if here is None or there is None or found[: here.start()] != told[: there.start()]:
        return False
    try:
        low, high = float(there[1] or there[3]), float(there[2] or there[3])
    except ValueError:
        return False
    return low <= margin[1] * (1 + 1e-9) and high >= margin[0] * (1 - 1e-9)
