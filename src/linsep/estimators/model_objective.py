"""What a fitted model of another library has minimised.

The objective must be the one that the model really has, or the proof is about another thing:
LIBLINEAR penalises the intercept, SGDClassifier averages the losses, RidgeClassifier fits the
targets -1 and +1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Objective
from linsep.errors import ModelError

__all__ = ["Claim", "claim_of"]


@dataclass(frozen=True)
class Claim:
    """kind is "svm", "logistic", "softmax", "ridge" or "perceptron"."""

    kind: str
    objective: Objective
    class_weight: Any = None
    support: NDArray[np.int64] | None = None
    alpha: NDArray[np.float64] | None = field(default=None, repr=False)
    """Dual variables of the support vectors, where the model has them; shape (K or 1, k)."""
    pairs: bool = False
    """True where the rows of coef belong to pairs of classes."""
    positive_only: bool = False
    """Of K machines, each weighs only its own class: LIBLINEAR and SGD do so."""
    balanced_by_weight: bool = False
    """class_weight="balanced" counts sample weights instead of rows."""
    reference: int | None = None
    """Softmax: number of the class that has no weights of its own."""


def claim_of(model: Any, n: int) -> Claim:
    """The objective behind a fitted model, by the name of its class."""
    name = type(model).__name__
    maker = _MAKERS.get(name)
    if maker is None:
        for base in type(model).__mro__:
            maker = maker or _MAKERS.get(base.__name__)
    if maker is None:
        raise ModelError(
            f"the objective of {name} is not known; give the weights with the objective they "
            "claim to minimise: linsep.Linear(coef, intercept, loss='hinge', C=1.0)."
        )
    if not hasattr(model, "coef_"):
        raise ModelError(f"{name} has no coef_: it is not fitted, or its kernel is not linear.")
    return maker(model, n)


def _free(model: Any) -> str:
    return "free" if getattr(model, "fit_intercept", True) else "none"


def _ours(model: Any, n: int) -> Claim:
    if model.multi_class == "crammer-singer" and len(model.classes_) > 2:
        raise ModelError(
            "a machine by Crammer and Singer has one objective for all classes; its proof is in "
            "model.certificate_."
        )
    objective = Objective(model.loss, float(model.C), _free(model))
    return Claim("svm", objective, model.class_weight, model.support_, np.abs(model.dual_coef_))


def _given(model: Any, n: int) -> Claim:
    how = "free" if model.penalised is None else "penalised"
    return Claim("svm", Objective(model.loss, model.C, how, float(model.penalised or 1.0)))


def _linear_svc(model: Any, n: int) -> Claim:
    _need(model, "penalty", "l2")
    if getattr(model, "multi_class", "ovr") != "ovr" and len(model.classes_) > 2:
        raise ModelError("LinearSVC(multi_class='crammer_singer') cannot be certified yet.")
    how = "penalised" if model.fit_intercept else "none"
    constant = float(model.intercept_scaling)
    return Claim(
        "svm", Objective(model.loss, float(model.C), how, constant), model.class_weight,
        positive_only=True, balanced_by_weight=True,
    )  # fmt: skip


def _svc(model: Any, n: int) -> Claim:
    _need(model, "kernel", "linear")
    dual = model.dual_coef_
    dual = dual.toarray() if hasattr(dual, "toarray") else np.asarray(dual)
    alpha = np.abs(dual) if len(model.classes_) == 2 else None
    return Claim(
        "svm", Objective("hinge", float(model.C), "free"), model.class_weight,
        np.asarray(model.support_), alpha, pairs=len(model.classes_) > 2,
    )  # fmt: skip


def _sgd(model: Any, n: int) -> Claim:
    if model.loss == "perceptron":
        return _perceptron(model, n)
    kinds = {"hinge": "svm", "squared_hinge": "svm", "log_loss": "logistic"}
    if model.loss not in kinds:
        raise ModelError(f"SGDClassifier(loss={model.loss!r}) cannot be certified yet.")
    _need(model, "penalty", "l2")
    lam = float(model.alpha)
    loss = model.loss if kinds[model.loss] == "svm" else "hinge"
    objective = Objective(loss, 1.0 / (n * lam), _free(model), scale=lam)
    return Claim(kinds[model.loss], objective, model.class_weight, positive_only=True)


def _logistic(model: Any, n: int) -> Claim:
    ratio, penalty = getattr(model, "l1_ratio", 0.0), getattr(model, "penalty", "l2")
    if penalty not in ("l2", "deprecated", None, "none") or (ratio or 0.0) != 0.0:
        raise ModelError("only logistic models with the penalty |w|^2 / 2 can be certified.")
    ours = type(model).__module__.startswith("linsep.")
    liblinear = not ours and getattr(model, "solver", "") == "liblinear"
    C = np.inf if penalty in (None, "none") else _cost(model)
    how, constant = _free(model), 1.0
    if liblinear and model.fit_intercept:
        how, constant = "penalised", float(model.intercept_scaling)
    one_each = liblinear or getattr(model, "multi_class", "auto") == "ovr"
    softmax = len(model.classes_) > 2 and not one_each
    reference = getattr(model, "reference", None) if ours and softmax else None
    place = None if reference is None else int(np.flatnonzero(model.classes_ == reference)[0])
    return Claim(
        "softmax" if softmax else "logistic", Objective("hinge", C, how, constant),
        model.class_weight, positive_only=not softmax, balanced_by_weight=not ours,
        reference=place,
    )  # fmt: skip


def _cost(model: Any) -> float:
    """C of a logistic model; that of LogisticRegressionCV if it is one for all classes."""
    chosen = getattr(model, "C_", None)
    values = np.unique(np.ravel(model.C if chosen is None else chosen))
    if len(values) != 1:
        raise ModelError(
            f"the model has the costs C_={values.tolist()}, one for each class; only one cost for "
            "all can be certified."
        )
    return float(values[0])


def _ridge(model: Any, n: int) -> Claim:
    lam = float(getattr(model, "alpha_", None) or model.alpha)
    return Claim("ridge", Objective("hinge", lam, _free(model)), model.class_weight)


def _perceptron(model: Any, n: int) -> Claim:
    if getattr(model, "penalty", None) is not None:
        raise ModelError("a perceptron with a penalty cannot be certified yet.")
    weight = getattr(model, "class_weight", None)
    objective = Objective("hinge", 1.0, _free(model))
    return Claim("perceptron", objective, weight, positive_only=True)


def _need(model: Any, name: str, value: str) -> None:
    got = getattr(model, name)
    if got != value:
        raise ModelError(
            f"{type(model).__name__}({name}={got!r}) cannot be certified; only {name}={value!r}."
        )


_MAKERS = {
    "LinearSVM": _ours,
    "Linear": _given,
    "LinearSVC": _linear_svc,
    "SVC": _svc,
    "SGDClassifier": _sgd,
    "LogisticRegression": _logistic,
    "LogisticRegressionCV": _logistic,
    "RidgeClassifier": _ridge,
    "RidgeClassifierCV": _ridge,
    "Perceptron": _perceptron,
    "Kozinec": _perceptron,
    "HoKashyap": _perceptron,
}
