"""What a scheme of many classes claims, held against the rows: every machine, on its own ones."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.core.protocol import last_step
from linsep.models.foreign.certify import certify
from linsep.models.verified import compared, table_of
from linsep.multiclass.certificates import renumbered

if TYPE_CHECKING:
    from linsep.multiclass.base import ManyClasses
    from linsep.multiclass.kesler import Kesler


def refuted(model: ManyClasses, X: Any, y: Any, weight: Any) -> list[str]:
    """What does not hold of the certificates of all machines for these rows."""
    rows, _, labels, own, weight = table_of(model, X, y, weight)
    return check_machines(rows, labels, own, weight)[1]


def refuted_kesler(model: Kesler, X: Any, y: Any, weight: Any) -> list[str]:
    """The same of Kesler's machine, and of what its learner says."""
    rows, matrix, labels, own, weight = table_of(model, X, y, weight)
    wrong = compared(rows, matrix, labels, own, weight)[1]
    return wrong + check_learner(rows, labels, own, weight)


def check_machines(
    X: Any, labels: Any, model: ManyClasses, given: Any = None
) -> tuple[Any, list[str]]:
    """The certificates of all machines, recomputed, and what differs from the stored ones."""
    wrong: list[str] = []
    matrix = X.to_numpy() if hasattr(X, "to_numpy") else X
    weight = model._weights(labels, given)
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
        differs += compared(part, part, own, inside, None if weight is None else weight[rows])[1]
        wrong += [f"machine {number}: {line}" for line in differs]
    named = hasattr(model, "feature_names_in_")
    rows = X if named else matrix
    return certify(model, rows, labels, sample_weight=given), wrong


def check_learner(X: Any, labels: Any, model: Kesler, given: Any = None) -> list[str]:
    """Whether Kesler's machine is the one of its learner, and what that claims is true."""
    learner, K = model.estimators_[0], len(model.classes_)
    weight = model._weights(labels, given)
    matrix = X.to_numpy() if hasattr(X, "to_numpy") else X
    blocks = np.column_stack([model.coef_, model.intercept_])
    told = model.certificates_[0]
    if np.shape(learner.coef_) == model.coef_.shape:  # it went without vectors written out
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
    return [f"learner: {line}" for line in compared(vectors, vectors, sign, learner, weight)[1]]
