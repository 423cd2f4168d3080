"""Models of LIBLINEAR: its files, and the objects of its Python interface.

A file has one line of weights for each feature, with one number for each machine; with a bias B
the last line belongs to a constant feature of value B, whose weight is penalised like all
others. Machines stand in the order of the line ``label``, which is that of the first rows seen,
and of two classes the one machine is for the first.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from linsep._sklearn import available_if
from linsep.core.protocol import PlaneModel, has_planes
from linsep.errors import ModelError
from linsep.formats.text_model import Head, number, sorted_labels, whole_labels, write_lines

Array = NDArray[np.float64]

# Number of a solver -> its name in files, the loss, and the penalty of what it minimises.
SOLVERS = {
    0: ("L2R_LR", "logistic", "l2"),
    1: ("L2R_L2LOSS_SVC_DUAL", "squared_hinge", "l2"),
    2: ("L2R_L2LOSS_SVC", "squared_hinge", "l2"),
    3: ("L2R_L1LOSS_SVC_DUAL", "hinge", "l2"),
    4: ("MCSVM_CS", "crammer-singer", "l2"),
    5: ("L1R_L2LOSS_SVC", "squared_hinge", "l1"),
    6: ("L1R_LR", "logistic", "l1"),
    7: ("L2R_LR_DUAL", "logistic", "l2"),
}
_OTHERS = ("L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL", "ONECLASS_SVM")


def _is_logistic(model: LiblinearModel) -> bool:
    return model.loss == "logistic"


class LinearObject(Protocol):
    """A model of LIBLINEAR's Python interface: a structure of C, with arrays as pointers."""

    param: Any
    nr_class: int
    nr_feature: int
    bias: float
    w: Any
    label: Any


@dataclass
class LiblinearModel:
    """A linear classifier that LIBLINEAR trained.

    The attributes are those of scikit-learn: classes in sorted order, the last of two is the
    positive one. What is predicted is what LIBLINEAR predicts.
    """

    solver_type: str
    coef_: Array = field(repr=False)
    intercept_: Array = field(repr=False)
    classes_: NDArray[np.int64]
    bias: float = -1.0
    """Value B of the constant feature; negative: there is none."""
    C: float | None = None
    """Cost of the losses, where it is known; files do not hold it."""
    class_weight: dict[int, float] | None = None
    weighted: bool = False
    """Trained with weights of classes that can no longer be read."""
    free_bias: bool = False
    """Trained with -R: the bias is not penalised."""
    labels: NDArray[np.int64] | None = field(default=None, repr=False)
    """The classes in the order of the file, by which ties are decided; None: sorted."""

    @property
    def n_features_in_(self) -> int:
        """Number of features, without the constant one."""
        return int(self.coef_.shape[1])

    @property
    def loss(self) -> str:
        """Which loss was minimised."""
        return self._facts()[1]

    @property
    def penalty(self) -> str:
        """l2 or l1."""
        return self._facts()[2]

    def _facts(self) -> tuple[str, str, str]:
        return next(facts for facts in SOLVERS.values() if facts[0] == self.solver_type)

    def decision_function(self, X: Any) -> Array:
        """Scores w . x + b: shape (n,) for two classes, (n, K) for more."""
        scores = np.asarray(X @ self.coef_.T, dtype=np.float64) + self.intercept_
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels; the first of the file where several have the largest score.

        With two classes and one machine a score of exactly 0 is the second one of the file.
        """
        scores, labels = self.decision_function(X), self._labels()
        if scores.ndim == 1:
            last = scores > 0 if labels[0] == self.classes_[1] else scores >= 0
            return np.asarray(self.classes_[last.astype(int)])
        return np.asarray(labels[scores[:, np.searchsorted(self.classes_, labels)].argmax(axis=1)])

    @available_if(_is_logistic)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes in sorted order, as ``predict -b 1`` computes them.

        Exists for the logistic loss (-s 0, 6, 7). Of K > 2 classes each has a sigmoid of its own
        score, and they are divided by their sum.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        each = np.asarray(expit(scores), dtype=np.float64)
        return np.asarray(each / each.sum(axis=1, keepdims=True))

    def _labels(self) -> NDArray[np.int64]:
        return self.classes_ if self.labels is None else self.labels

    @classmethod
    def from_lines(cls, lines: list[str], path: str) -> Self:
        """The model of a file."""
        head = Head(path, lines, "w")
        kinds = [facts[0] for facts in SOLVERS.values()]
        name = head.words("solver_type", 1)[0]
        if name in _OTHERS:
            raise ModelError(f"{path}: {name} is no classifier; linsep reads {', '.join(kinds)}.")
        head.one_of("solver_type", kinds, "which linsep does not know")
        K, d = head.wholes("nr_class", 1)[0], head.wholes("nr_feature", 1)[0]
        if K < 2 or d < 1:
            raise ModelError(f"{path}: {K} classes and {d} features are no classifier.")
        bias = head.numbers("bias", 1)[0]
        machines = 1 if K == 2 and name != "MCSVM_CS" else K
        rows = d + (bias >= 0)
        body = [line for line in lines[head.line :] if line.strip()]
        if len(body) != rows:
            raise ModelError(f"{path}: there are {len(body)} lines of weights, {rows} are needed.")
        weights = np.empty((machines, rows))
        for j, line in enumerate(body):
            values = line.split()
            if len(values) != machines:
                at = head.line + j
                raise head.error(at, f"{len(values)} weights, {machines} are needed")
            weights[:, j] = [number(value, path, head.line + j) for value in values]
        return cls._made(name, weights, head.wholes("label", K), bias, path)

    @classmethod
    def from_object(cls, model: LinearObject) -> Self:
        """The model behind an object of the Python interface of LIBLINEAR."""
        if not model.label:
            raise ModelError("this LIBLINEAR model has no labels: it is no classifier.")
        kind = int(model.param.solver_type)
        if kind not in SOLVERS:
            raise ModelError(f"LIBLINEAR's solver {kind} trains no classifier.")
        K, d, bias = int(model.nr_class), int(model.nr_feature), float(model.bias)
        machines = 1 if K == 2 and kind != 4 else K
        size = (d + (bias >= 0)) * machines
        weights = np.array(model.w[:size], dtype=np.float64).reshape(-1, machines).T
        made = cls._made(SOLVERS[kind][0], weights, model.label[:K], bias, "the LIBLINEAR model")
        param = model.param
        if 0.0 < param.eps < 1.0:  # zero in a model that was read from a file
            made.C, made.weighted = float(param.C), bool(param.nr_weight)
            made.free_bias = bias > 0 and getattr(param, "regularize_bias", 1) == 0
        return made

    @classmethod
    def _made(cls, name: str, weights: Array, labels: Any, bias: float, where: str) -> Self:
        classes, order = sorted_labels(labels, where)
        if len(weights) == 1:  # the machine is for the first label; ours for the last sorted one
            weights = weights if order[0] == 1 else -weights
        else:
            weights = weights[order]
        coef, intercept = weights, np.zeros(len(weights))
        if bias >= 0:
            coef, intercept = weights[:, :-1].copy(), bias * weights[:, -1]
        given = np.asarray(labels, dtype=np.int64)
        return cls(name, np.ascontiguousarray(coef), intercept, classes, bias, labels=given)


def is_liblinear(model: object) -> TypeGuard[LinearObject]:
    """Whether this is an object of LIBLINEAR's Python interface."""
    kind = type(model)
    return kind.__name__ == "model" and hasattr(model, "get_decfun_coef")


def write_liblinear(model: object, path: str | os.PathLike[str]) -> None:
    """Write a fitted linear classifier as a file of LIBLINEAR, with bias 1.

    LIBLINEAR has no word for an intercept without penalty; its predictions do not ask for one. A
    file that was read is written with its own bias and order of labels.
    """
    if not hasattr(model, "classes_"):
        raise ModelError(f"{type(model).__name__} is not fitted; call fit before saving it.")
    if not has_planes(model):
        raise ModelError(
            f"{type(model).__name__} has neither weights of features nor support vectors of its "
            "own, so LIBLINEAR and LIBSVM have no file for it; save it as .json."
        )
    name = _solver_name(model)
    labels, bias = whole_labels(model.classes_, "LIBLINEAR"), 1.0
    coef, last = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if len(coef) == 1:
        labels = labels[::-1]  # the machine of two classes is for the first label
    if isinstance(model, LiblinearModel):
        bias, given = model.bias, model._labels()
        if len(coef) > 1:
            order = np.searchsorted(labels, given)
            coef, last = coef[order], last[order]
        elif given[0] != labels[0]:
            coef, last = -coef, -last
        labels = given
    if bias >= 0:
        coef = np.column_stack([coef, last / bias if bias > 0 else last])
    head = [
        f"solver_type {name}", f"nr_class {len(labels)}", f"label {' '.join(map(str, labels))}",
        f"nr_feature {model.coef_.shape[-1]}", f"bias {bias:.17g}", "w",
    ]  # fmt: skip
    body = ["".join(f"{value + 0.0:.17g} " for value in row) for row in coef.T]
    write_lines([*head, *body], path)


def _solver_name(model: PlaneModel) -> str:
    if isinstance(model, LiblinearModel):
        return model.solver_type
    together = str(getattr(model, "multi_class", "")).replace("_", "-") == "crammer-singer"
    if together and len(model.classes_) > 2:
        return "MCSVM_CS"
    one_norm = getattr(model, "penalty", "") == "l1" or getattr(model, "l1_ratio", 0.0) == 1.0
    if type(model).__name__ == "LogisticRegression":
        return "L1R_LR" if one_norm else "L2R_LR"
    if getattr(model, "loss", "") == "squared_hinge":
        return "L1R_L2LOSS_SVC" if one_norm else "L2R_L2LOSS_SVC"
    return "L2R_L1LOSS_SVC_DUAL"
