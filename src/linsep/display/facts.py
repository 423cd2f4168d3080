"""What a picture says about the rows of a linear classifier: sides, margins, words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.sentences import round_down, round_up

__all__ = ["margin_of", "nearest_of", "title_of", "values_of"]

Array = NDArray[np.float64]
_STREETS = ("LinearSVM", "LinearSVC", "SVC")  # models whose margin lines are y f(x) = 1


def values_of(X: Any, labels: NDArray[np.intp], coef: Array, offset: Array) -> tuple[Array, Array]:
    """How far each row is on its own side (score units), and the length to divide it by."""
    scores = np.asarray(X @ coef.T) + offset
    if len(coef) == 1:
        length = np.full(len(labels), np.linalg.norm(coef[0]))
        return np.where(labels == 1, scores[:, 0], -scores[:, 0]), length
    at = np.arange(len(labels))
    own = scores[at, labels].copy()
    scores[at, labels] = -np.inf
    rival = scores.argmax(axis=1)
    return own - scores[at, rival], np.linalg.norm(coef[labels] - coef[rival], axis=1)


def margin_of(model: Any, values: Array, lengths: Array) -> tuple[float | None, bool]:
    """Distance of the margin lines, and whether they are the street y f(x) = 1."""
    if not lengths.all():
        return None, False
    kernel = getattr(model, "kernel", "linear")
    if type(model).__name__ in _STREETS and kernel == "linear":
        return float(1.0 / lengths[0]), True
    return (float((values / lengths).min()), False) if (values > 0).all() else (None, False)


def nearest_of(
    values: Array, lengths: Array, margin: float | None, street: bool
) -> NDArray[np.bool_]:
    """Rows on the margin lines; of a street also those inside it."""
    if margin is None:
        return np.zeros(len(values), dtype=bool)
    slack = 1e-3 if street else 1e-6
    return np.asarray(values / lengths <= margin * (1 + slack))


def title_of(model: Any, wrong: NDArray[np.bool_], margin: float | None) -> str:
    """Status and margin in one sentence."""
    n, errors = len(wrong), int(wrong.sum())
    if errors:
        facts = f"{errors} of {n} rows {'is' if errors == 1 else 'are'} not on their own side"
    else:
        facts = "every row is on its own side"
    name, status = type(model).__name__, getattr(model, "status_", None)
    if margin is not None:
        facts += f", margin {round_down(margin, 4)}"
        best = getattr(getattr(model, "certificate_", None), "margin_high", np.inf)
        if np.isfinite(best) and best >= margin * (1 - 1e-9):
            return f"{name}: {facts}; no plane has more than {round_up(best, 4)}"
    if status is None or status.value.startswith("every row"):
        return f"{name}: {facts}"
    return f"{name}: {status.value}; {facts}"
