"""``linsep verify`` for schemes of many classes: every machine, on its own rows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["check_learner", "check_machines"]

Compare = Callable[..., tuple[Any, list[str]]]


def check_machines(X: Any, labels: Any, model: Any, compare: Compare) -> tuple[Any, list[str]]:
    """The certificates of all machines, recomputed, and what differs from the stored ones."""
    import linsep
    from linsep.multiclass.certificates import renumbered
    from linsep.multiclass.machines import last_step

    wrong: list[str] = []
    matrix = X.to_numpy() if hasattr(X, "to_numpy") else X
    weight = model._weights(labels, None)
    for number, (machine, rows, own) in enumerate(model.binary_problems(labels)):
        part, inside = matrix[rows], last_step(machine)
        if inside is not machine:
            part = machine[:-1].transform(part)
        told, mine = model.certificates_[number], getattr(inside, "certificate_", None)
        if told is None and mine is None:
            continue  # nothing is claimed
        differs: list[str] = []
        if mine is None:  # of another library; the scheme holds what is proved about it
            inside = copy.copy(inside)
            inside.certificate_ = told
        elif renumbered(mine, rows).to_dict() != told.to_dict():
            differs = ["certificate: the scheme and its machine tell different things"]
        differs += compare(part, part, own, inside, None if weight is None else weight[rows])[1]
        wrong += [f"machine {number}: {line}" for line in differs]
    named = hasattr(model, "feature_names_in_")
    return linsep.certify(model, X if named else matrix, labels), wrong


def check_learner(X: Any, labels: Any, model: Any, compare: Compare) -> list[str]:
    """Whether Kesler's machine is the one of its learner, and what that claims is true."""
    learner, K = model.estimators_[0], len(model.classes_)
    weight = model._weights(labels, None)
    matrix = X.to_numpy() if hasattr(X, "to_numpy") else X
    blocks = np.column_stack([model.coef_, model.intercept_])
    told = model.certificates_[0]
    if len(learner.classes_) == K > 2:  # it went without vectors written out
        same = np.array_equal(np.column_stack([learner.coef_, learner.intercept_]), blocks)
        return [] if same else ["learner: its weights are not those of the machine"]
    vectors, sign = model.vectors(matrix, np.searchsorted(model.classes_, labels))
    coef = np.asarray(learner.coef_).reshape(K, -1)
    coef = coef if model.fit_intercept else np.column_stack([coef, np.zeros(K)])
    if not np.array_equal(coef[1:] - coef[:1] if K == 2 else coef, blocks):
        return ["learner: its weights are not those of the machine"]
    if told is None:
        return []
    learner = copy.copy(learner)
    learner.certificate_ = told
    weight = None if weight is None else np.repeat(weight, K - 1)
    return [f"learner: {line}" for line in compare(vectors, vectors, sign, learner, weight)[1]]
