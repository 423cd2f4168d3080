"""What a fitted model of another library has minimised.

The objective must be the one that the model really has, or the proof is about another thing:
LIBLINEAR penalises the intercept, SGDClassifier averages the losses, RidgeClassifier fits the
targets -1 and +1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep._sklearn import RegressorMixin
from linsep.errors import ModelError
from linsep.formats.liblinear import LiblinearModel
from linsep.formats.libsvm import LibsvmModel
from linsep.losses.hinge import HINGE
from linsep.losses.table import machine_loss
from linsep.models.fit import cost_of_slack
from linsep.proofs.hinge import Objective

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression as TheirLogistic
    from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV, SGDClassifier
    from sklearn.svm import SVC, LinearSVC, NuSVC

    from linsep.models.linear import Linear
    from linsep.models.linear_svm import LinearSVM
    from linsep.models.logistic_regression import LogisticRegression

    Logistic: TypeAlias = LogisticRegression | TheirLogistic

TWO_OF_A_KIND = (
    "the machine of Crammer and Singer for two classes, w being the difference of their weights"
)


@dataclass(frozen=True)
class Claim:
    """kind is "svm", "machine" (Crammer and Singer), "logistic", "softmax", "l1 squared_hinge",
    "l1 logistic", "ridge" or "perceptron"."""

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
    weights: tuple[Any, Any] | None = field(default=None, repr=False)
    """coef and intercept, where they are not simply the attributes of the model."""
    note: str = ""
    """What the words about the objective should add."""


def claim_of(model: object, n: int) -> Claim:
    """The objective behind a fitted model, by its class and the library that it comes from."""
    maker = _maker(model)
    if maker is None:
        raise ModelError(_why_not(model))
    if not hasattr(model, "coef_") and maker is not _gaussian:
        raise ModelError(f"{type(model).__name__} has no coef_: it is not fitted; call fit first.")
    return maker(model, n)


def has_objective(model: object) -> bool:
    """Whether the objective behind such a model is known."""
    return _maker(model) is not None


def _maker(model: object) -> Callable[[Any, int], Claim] | None:
    """A class, or one that it is derived from; another library's class of that name is neither."""
    for base in type(model).__mro__:
        known = _MAKERS.get((base.__module__.split(".")[0], base.__name__))
        if known is not None:
            return known
    return None


def _why_not(model: object) -> str:
    """Why nothing is known about the objective of a model, and what can be done about it."""
    kind, home = type(model).__name__, type(model).__module__.split(".")[0]
    if isinstance(model, RegressorMixin):
        return f"{kind} predicts numbers; classifiers can be certified, whose y are labels."
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        return (
            f"the objective of {kind} of {home} is not known; say which one its weights claim to "
            "minimise, with the loss and C of its training: linsep.certify(linsep.Linear("
            "model.coef_, model.intercept_, loss='logistic', C=1.0), X, y)."
        )
    return (
        f"{kind} of {home} is no linear and no kernel machine, so nothing bounds the least value "
        "of its objective. What can be known is its error on rows that it has not seen: "
        "linsep.risk.empirical_risk(model, X_new, y_new)."
    )


def _free(model: object) -> str:
    return "free" if getattr(model, "fit_intercept", True) else "none"


def _ours(model: LinearSVM, n: int) -> Claim:
    together = model.multi_class == "crammer-singer" and len(model.classes_) > 2
    objective = Objective(machine_loss(model.loss), cost_of_slack(model), _free(model))
    # signs tell the own class from rivals where one loss holds for all of them
    dual = getattr(model, "dual_coef_", None)  # a model of a stream has none
    alpha = dual if together or dual is None else np.abs(dual)
    return Claim(
        "machine" if together else "svm", objective, model.class_weight,
        getattr(model, "support_", None), alpha,
        balanced_by_weight=True,
    )  # fmt: skip


def _given(model: Linear, n: int) -> Claim:
    how, constant = "free" if model.fit_intercept else "none", 1.0
    if model.penalised is not None:
        how, constant = "penalised", float(model.penalised)
    name, C = model.loss_name, model.cost
    if name == "perceptron":
        return Claim("perceptron", Objective(HINGE, 1.0, how))
    if name == "squares":
        if getattr(model.loss, "targets", None) is not None:
            raise ModelError("squares can be certified with the targets 1, not with others.")
        if C is None:
            raise ModelError("squares without a penalty are certified on tables only.")
        return Claim("ridge", Objective(HINGE, 0.5 / C, how))  # |w|^2 / 2 + C J, over C
    loss = HINGE if name == "logistic" else machine_loss(name)
    kind = "logistic" if name == "logistic" else "svm"
    return Claim(kind, Objective(loss, 1.0 if C is None else C, how, constant))


def _linear_svc(model: LinearSVC, n: int) -> Claim:
    how = "penalised" if model.fit_intercept else "none"
    C, constant, loss = float(model.C), float(model.intercept_scaling), model.loss
    kind, scale = "svm", 1.0
    if getattr(model, "multi_class", "ovr") != "ovr":
        loss = "hinge"  # the parameters loss and penalty have no effect
        kind = "machine" if len(model.classes_) > 2 else "svm"
        if kind == "svm":
            C, scale = 2.0 * C, 0.5
    elif model.penalty == "l1":
        kind = f"l1 {loss}"
    return Claim(
        kind, Objective(machine_loss(loss), C, how, constant, scale), model.class_weight,
        positive_only=True, balanced_by_weight=True, note=TWO_OF_A_KIND if scale != 1.0 else "",
    )  # fmt: skip


def _svc(model: SVC, n: int) -> Claim:
    _need(model, "kernel", "linear")
    dual = model.dual_coef_
    dual = dual.toarray() if hasattr(dual, "toarray") else np.asarray(dual)
    alpha = np.abs(dual) if len(model.classes_) == 2 else None
    return Claim(
        "svm", Objective(HINGE, float(model.C), "free"), model.class_weight,
        np.asarray(model.support_), alpha, pairs=len(model.classes_) > 2,
    )  # fmt: skip


def _nu_svc(model: NuSVC, n: int) -> Claim:
    """nu chooses a C: rows beyond the street have the largest alpha, which is that C."""
    C, note = cost_of_nu(model)
    dual = model.dual_coef_
    dual = dual.toarray() if hasattr(dual, "toarray") else np.asarray(dual)
    return Claim(
        "svm", Objective(HINGE, C, "free"), model.class_weight, np.asarray(model.support_),
        np.abs(dual), note=note,
    )  # fmt: skip


def cost_of_nu(model: NuSVC) -> tuple[float, str]:
    """The C of a NuSVC, and the words of where it comes from."""
    if len(model.classes_) > 2:
        raise ModelError(
            "NuSVC has a C of its own for each pair of classes; fit and certify it on the rows of "
            "two classes."
        )
    return float(abs(model.dual_coef_).max()), f"C is what nu={model.nu:g} comes to"


def _sgd(model: SGDClassifier, n: int) -> Claim:
    if model.loss == "perceptron":
        return _perceptron(model, n)
    kinds = {"hinge": "svm", "squared_hinge": "svm", "log_loss": "logistic"}
    if model.loss not in kinds:
        raise ModelError(
            f"SGDClassifier(loss={model.loss!r}) cannot be certified; one with "
            f"loss={', '.join(map(repr, kinds))} or 'perceptron' can."
        )
    _need(model, "penalty", "l2")
    lam = float(model.alpha)
    loss = machine_loss(model.loss) if kinds[model.loss] == "svm" else HINGE
    objective = Objective(loss, 1.0 / (n * lam), _free(model), scale=lam)
    return Claim(kinds[model.loss], objective, model.class_weight, positive_only=True)


def _logistic(model: Logistic, n: int) -> Claim:
    ratio, penalty = getattr(model, "l1_ratio", 0.0), getattr(model, "penalty", "l2")
    ours = type(model).__module__.startswith("linsep.")
    one_norm = penalty == "l1" or (penalty == "deprecated" and (ratio or 0.0) == 1.0)
    if not one_norm and (
        penalty not in ("l2", "deprecated", None, "none") or (ratio or 0.0) != 0.0
    ):
        raise ModelError(
            "logistic models with the penalty |w|^2 / 2 (l1_ratio=0) or |w|_1 (l1_ratio=1) can be "
            "certified, not with a mixture of both."
        )
    liblinear = not ours and getattr(model, "solver", "") == "liblinear"
    C = np.inf if penalty in (None, "none") else _cost(model)
    how, constant = _free(model), 1.0
    if liblinear and model.fit_intercept:
        how, constant = "penalised", float(getattr(model, "intercept_scaling", 1.0))
    one_each = liblinear or getattr(model, "multi_class", "auto") == "ovr"
    softmax = len(model.classes_) > 2 and not one_each
    if softmax and one_norm:
        raise ModelError(
            "softmax with the penalty |w|_1 cannot be certified; one class against the rest can: "
            "solver='liblinear'."
        )
    reference = getattr(model, "reference", None) if ours and softmax else None
    place = None if reference is None else int(np.flatnonzero(model.classes_ == reference)[0])
    kind = "softmax" if softmax else "l1 logistic" if one_norm else "logistic"
    return Claim(
        kind, Objective(HINGE, C, how, constant), model.class_weight,
        positive_only=not softmax, balanced_by_weight=True, reference=place,
    )  # fmt: skip


def _cost(model: Logistic) -> float:
    """C of a logistic model; that of LogisticRegressionCV if it is one for all classes."""
    chosen = getattr(model, "C_", None)
    values = np.unique(np.ravel(model.C if chosen is None else chosen))
    if len(values) != 1:
        raise ModelError(
            f"the model has the costs C_={values.tolist()}, one for each class; only one cost for "
            "all can be certified."
        )
    return float(values[0])


def _ridge(model: RidgeClassifier | RidgeClassifierCV, n: int) -> Claim:
    lam = float(getattr(model, "alpha_", None) or model.alpha)
    return Claim("ridge", Objective(HINGE, lam, _free(model)), model.class_weight)


def _perceptron(model: object, n: int) -> Claim:
    penalty = getattr(model, "penalty", None)
    if penalty is not None:
        raise ModelError(
            f"a perceptron with the penalty {penalty!r} cannot be certified; one with "
            "penalty=None can."
        )
    weight = getattr(model, "class_weight", None)
    objective = Objective(HINGE, 1.0, _free(model))
    return Claim("perceptron", objective, weight, positive_only=True)


def _gaussian(model: object, n: int) -> Claim:
    raise ModelError(
        f"{type(model).__name__} has a closed form: the greatest likelihood of Gaussian classes. "
        "linsep.GaussianClassifier fits the same and carries a proof of it."
    )


def _need(model: object, name: str, value: str) -> None:
    got = getattr(model, name)
    if got != value:
        raise ModelError(
            f"{type(model).__name__}({name}={got!r}) cannot be certified; only {name}={value!r}."
        )


_MAKERS: dict[tuple[str, str], Callable[[Any, int], Claim]] = {
    ("linsep", "LinearSVM"): _ours,
    ("linsep", "Linear"): _given,
    ("linsep", "LogisticRegression"): _logistic,
    ("linsep", "LinearClassifier"): _perceptron,  # of a plane that separates
    ("sklearn", "LinearSVC"): _linear_svc,
    ("sklearn", "SVC"): _svc,
    ("sklearn", "NuSVC"): _nu_svc,
    ("sklearn", "Perceptron"): _perceptron,  # before SGDClassifier, which it may be derived from
    ("sklearn", "SGDClassifier"): _sgd,
    ("sklearn", "LogisticRegression"): _logistic,
    ("sklearn", "LogisticRegressionCV"): _logistic,
    ("sklearn", "RidgeClassifier"): _ridge,
    ("sklearn", "RidgeClassifierCV"): _ridge,
    ("sklearn", "LinearDiscriminantAnalysis"): _gaussian,
    ("sklearn", "QuadraticDiscriminantAnalysis"): _gaussian,
    ("sklearn", "GaussianNB"): _gaussian,
}


# -- What a model of LIBLINEAR or LIBSVM has minimised, and where its support vectors stand -------
#
# Neither library writes C into its files, so it comes from outside. Of LIBSVM it can often be
# read off: alpha of the rows inside the street is C.


_LIBSVM_NUMBER = "%.8g"  # of support vectors in a file of LIBSVM


def claim_of_liblinear(model: LiblinearModel, C: float | None, class_weight: Any) -> Claim:
    """The objective behind the solver that the file names."""
    _refuse_lost_weights(model, class_weight)
    cost, note = C, ""
    if cost is None and model.C is not None:
        cost = model.C
    if cost is None:
        cost, note = 1.0, "C = 1 was assumed, a file of LIBLINEAR does not hold it"
    how = "penalised" if model.bias > 0 else "none"
    if model.free_bias:
        how = "free"
    constant = model.bias if model.bias > 0 else 1.0
    loss, kind, scale, weights = model.loss, "svm", 1.0, None
    if loss == "crammer-singer":
        loss, kind = "hinge", "machine"
        if len(model.classes_) == 2:
            kind, cost, scale = "svm", 2.0 * cost, 0.5
            weights = (np.diff(model.coef_, axis=0), np.diff(model.intercept_))
            note = "; ".join(filter(None, [TWO_OF_A_KIND, note]))
    elif model.penalty == "l1":
        kind = f"l1 {loss}"
    elif loss == "logistic":
        kind = loss
    objective = Objective(
        HINGE if loss == "logistic" else machine_loss(loss), cost, how, constant, scale
    )
    return Claim(
        kind, objective, class_weight or model.class_weight, positive_only=True, weights=weights,
        note=note,
    )  # fmt: skip


def claim_of_libsvm(
    model: LibsvmModel, X: Any, y: Any, C: float | None, class_weight: Any
) -> Claim:
    """The soft margin behind a model with a linear kernel."""
    cost, note = cost_of(model, C, class_weight)
    binary = len(model.classes_) == 2
    support: Any
    alpha: Any
    try:
        support, alpha = located(model, X, y), np.abs(model.dual_coef_)
    except ModelError:  # rows in other digits: the bound is found without their alpha
        support = alpha = None
    return Claim(
        "svm", Objective(HINGE, cost, "free"), class_weight or model.class_weight,
        support, alpha if binary else None, pairs=not binary, note=note,
    )  # fmt: skip


def cost_of(model: LibsvmModel, C: float | None, class_weight: Any) -> tuple[float, str]:
    """C, and the words of where it comes from."""
    _refuse_lost_weights(model, class_weight)
    if model.svm_type == "nu_svc":
        if len(model.classes_) > 2:
            raise ModelError("nu_svc has a C of its own for each pair of classes; give two.")
        return model.largest()[0], "C is what nu comes to"
    if C is not None:
        return C, ""
    if model.C is not None:
        return model.C, ""
    top, shared = model.largest()
    if shared:
        return top, "C was read off the support vectors at their bound"
    return max(1.0, top), (
        f"C was assumed, since a file of {model.program} does not hold it and no alpha is at its "
        "bound"
    )


def _refuse_lost_weights(model: LiblinearModel | LibsvmModel, class_weight: Any) -> None:
    if model.weighted and class_weight is None:
        raise ModelError(
            "the model was trained with weights of classes (-w), which it does not keep; give "
            "them as class_weight={label: weight}."
        )


def located(model: LibsvmModel, X: Any, y: Any) -> NDArray[np.int64]:
    """Rows of X that the support vectors are; a file has eight digits of each number.

    SVMlight rounds numbers to single precision first.
    """
    if model.support_ is not None:
        return model.support_
    vectors = model.support_vectors_
    rows = scipy.sparse.csr_array(X, dtype=np.float64, copy=True)
    if vectors.shape[1] > rows.shape[1]:
        raise ModelError(
            f"the model has weights for {vectors.shape[1]} features but X has {rows.shape[1]} "
            "columns."
        )
    wanted = _keys(vectors, np.repeat(model.classes_, model.n_support_))
    found = _match(_keys(rows, y), wanted)
    if found is None:
        if model.program == "SVMlight":
            rows.data = rows.data.astype(np.float32).astype(np.float64)
        rows.data = np.char.mod(_LIBSVM_NUMBER, rows.data).astype(np.float64)
        found = _match(_keys(rows, y), wanted)
    if found is None:
        raise ModelError("the support vectors are not rows of X; give the rows of the fit.")
    return found


def _keys(matrix: Any, labels: Any) -> list[bytes]:
    """One key a row, equal for equal rows of one class."""
    matrix = scipy.sparse.csr_array(matrix)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    edges, places, values = matrix.indptr, matrix.indices.astype(np.int64), matrix.data
    names = np.asarray(labels, dtype=np.float64)
    return [
        name.tobytes() + places[lo:hi].tobytes() + values[lo:hi].tobytes()
        for name, lo, hi in zip(names, edges, edges[1:])
    ]


def _match(rows: list[bytes], wanted: list[bytes]) -> NDArray[np.int64] | None:
    """A row for each key, equal rows in the order they come; None if one is missing."""
    places: dict[bytes, list[int]] = {}
    for at, key in enumerate(rows):
        places.setdefault(key, []).append(at)
    for queue in places.values():
        queue.reverse()
    out = []
    for key in wanted:
        queue = places.get(key, [])
        if not queue:
            return None
        out.append(queue.pop())
    return np.array(out, dtype=np.int64)
