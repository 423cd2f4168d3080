"""What a model claims about its rows, held against them; neither is trusted.

Every claim about the data is computed anew: bounds, errors, margins, likelihoods, multipliers, the
status with its sentence. Parameters that only tell how the model came about (max_iter, solver,
random_state...) claim nothing and are taken as given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

import numpy as np

from linsep.core.cluster import as_stream
from linsep.core.problem import Problem
from linsep.core.protocol import PlaneModel, Predictor, Status, Witness
from linsep.core.validate import in_parts
from linsep.core.words import count, misplaced
from linsep.errors import DataError, LabelError, LinsepError, ModelError
from linsep.models.fit import check_params, read_labels, row_weights
from linsep.models.foreign.certify import certify
from linsep.models.gaussian import GaussianClassifier
from linsep.models.kernel_option import KernelOption
from linsep.models.kernel_svm import KernelSVM
from linsep.models.logistic_regression import (
    LogisticRegression,
    log_likelihood,
    null_log_likelihood,
)
from linsep.models.parts import gathered
from linsep.proofs.plain import require_same
from linsep.risk.linear_rules import check_priors


class Stored(PlaneModel, Protocol):
    """A model with what it claims; one with a kernel has sums in place of planes."""

    certificate_: Any


Tell = Callable[[str], object]
"""Who hears what will take long."""


def refuted(model: Predictor, X: Any, y: Any, weight: Any) -> list[str]:
    """What does not hold of the certificate of a model for these rows, be they a stream."""
    return compared(*table_of(model, X, y, weight))[1]


def table_of(model: Predictor, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Rows, their matrix, labels, model and weights, as ``compared`` takes them.

    Columns of a stream were chosen by their names, and have none any more.
    """
    if in_parts(X):
        stream = as_stream(X, y, weight)
        X, y, weight = gathered(stream, most=_MUCH * stream.memory)
        model = nameless(model)
    if y is None:
        raise DataError("y is missing; the labels of the rows are needed.")
    matrix = X if hasattr(X, "tocsr") else np.asarray(X)
    if matrix.ndim != 2 or matrix.shape[1] != model.n_features_in_:
        raise DataError(
            f"X has the shape {matrix.shape}; the model was trained on "
            f"{count(model.n_features_in_, 'column')}."
        )
    labels = read_labels(y)
    strange = sorted(set(labels.tolist()) - set(model.classes_.tolist()), key=str)
    if strange:
        raise LabelError(
            f"y has the label {strange[0]!r:.60}; the model knows "
            f"{', '.join(map(repr, model.classes_.tolist()))}."
        )
    return X, matrix, labels, model, weight


def nameless(model: Predictor) -> Any:
    """The model for rows without names: they were chosen by them."""
    out = copy(model)
    vars(out).pop("feature_names_in_", None)
    return out


def compared(
    X: Any, matrix: Any, labels: Any, model: Stored, weight: Any = None, tell: Tell = len
) -> tuple[Any, list[str]]:
    """The certificate of one model, recomputed, and what differs from the stored one."""
    told = model.certificate_
    intercept = bool(getattr(model, "fit_intercept", True))
    problem = Problem(matrix, labels, sample_weight=weight, fit_intercept=intercept)
    require_same(problem, matrix, labels, weight)
    check_classes(model, problem)
    check_settings(model)
    if isinstance(model, GaussianClassifier):
        found, wrong = _likelihood(X, labels, model, told, weight)
    elif hasattr(told, "reach"):
        found, wrong = _squares(X, labels, model, told, weight)
        if told.separable is False:
            wrong += refuted_multipliers(problem, told.plane)
    else:
        given = (matrix, labels, weight)
        if hasattr(told, "lower_bound"):
            found, wrong = _gap(problem, given, model, told, tell)
        else:
            found, wrong = _facts(problem, given, model, told)
    wrong += refuted_facts(problem, found, told)
    wrong += refuted_likelihood(problem, model, found) + refuted_separation(problem, model)
    wrong += refuted_settings(model)
    return found, wrong + refuted_status(problem, model, found)


_OF_A_PLANE = (
    "errors", "margin", "margin_low", "margin_aug", "margin_aug_low", "functional_margin",
    "objective",
)  # fmt: skip


_OF_A_MACHINE = (
    "objective", "errors", "margin", "width", "inside", "functional_margin", "margin_aug",
)  # fmt: skip


Given = tuple[Any, Any, Any]
"""Matrix, labels and weights as the caller gave them, rows of weight zero among them."""


def _facts(problem: Problem, given: Given, model: PlaneModel, told: Any) -> tuple[Any, list[str]]:
    """Recompute the certificate; upper bounds of the margin are compared with a fresh proof."""
    from linsep.proofs.certificate import judge
    from linsep.risk.novikoff import novikoff_bound
    from linsep.separating.verdict import decide

    if isinstance(model, KernelOption) and model.kernel is not None:
        return _facts_of_sums(problem, given, model, told)
    a = np.column_stack([model.coef_, model.intercept_]).ravel()
    found = judge(problem, Witness(a))
    wrong = _unequal(found, told, _OF_A_PLANE)
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


def _facts_of_sums(
    problem: Problem, given: Given, model: KernelOption, told: Any
) -> tuple[Any, list[str]]:
    """The same of a sum over kernel values, whose coefficients bound the margins as well."""
    found = model.certificate_for(*given)
    wrong = _unequal(found, told, _OF_A_PLANE)
    if told.separable is not None and found.separable and told.separable is not True:
        wrong.append(f"separable: found True, stored {told.separable}")
    if told.separable and not found.separable:
        wrong.append("separable: this sum does not separate")
    if told.separable is False:
        return found, wrong + refuted_multipliers(problem, told, model.kernel_)
    for name in ("margin_high", "margin_aug_high"):
        most, said = getattr(found, name), getattr(told, name)
        if said < most * (1 - 1e-9):
            wrong.append(f"{name}: no less than {most:.8g} is proved, stored {said:.8g}")
    return found, wrong


def _likelihood(
    X: Any, labels: Any, model: GaussianClassifier, told: Any, weight: Any
) -> tuple[Any, list[str]]:
    """Recompute the likelihood of the parameters, and the best one of their structure."""
    found: Any = certify(model, X, labels, sample_weight=weight)
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


def _squares(X: Any, labels: Any, model: object, told: Any, weight: Any) -> tuple[Any, list[str]]:
    """Recompute the sum of squared errors and its lower bound."""
    found: Any = certify(model, X, labels, sample_weight=weight)
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


def _gap(
    problem: Problem, given: Given, model: object, told: Any, tell: Tell
) -> tuple[Any, list[str]]:
    """Recompute the objective, and prove a lower bound again from the dual variables."""
    matrix, labels, weight = given
    limit = _bound_limit(problem, model, told, tell)
    found = certify(model, matrix, labels, sample_weight=weight, tol=1e-9, time_limit=limit)
    wrong = _beyond(found, told)
    parts = getattr(told, "parts", ())
    if parts and len(parts) != len(found.parts):
        wrong.append(f"parts: found {len(found.parts)}, stored {len(parts)}")
    for k, (own, other) in enumerate(zip(getattr(found, "parts", ()), parts, strict=False)):
        wrong += [f"machine {k}, {words}" for words in _beyond(own, other)]
    wrong += [
        f"{name}: it says {getattr(told, name)!r}, not {getattr(found, name)!r}"
        for name in ("convex", "proved", "words")
        if hasattr(found, "convex") and getattr(told, name) != getattr(found, name)
    ]
    if hasattr(found, "violation") and told.violation < 0.999 * found.violation - 1e-9:
        wrong.append(f"violation: found {found.violation:.8g}, stored {told.violation:.8g}")
    return found, wrong


_MUCH = 4  # times the memory of a stream that its rows may take, to be read whole
_LIMIT = 10.0  # seconds for a bound, or what one of very many classes takes


def _bound_limit(problem: Problem, model: object, told: Any, tell: Tell) -> float:
    """Seconds that the bound may take; where they are many, they are announced."""
    from linsep.proofs.softmax import bound_seconds

    softmax = isinstance(model, LogisticRegression) and model.kernel is None and not problem.binary
    if not softmax or not told.lower_bound > 0:  # that losses are no less than 0 is known
        return _LIMIT
    seconds = bound_seconds(problem)
    if seconds > _LIMIT:
        tell(f"proving the bound of {problem.K} classes again: about {seconds:.0f} seconds")
    return max(_LIMIT, seconds)


def _beyond(found: Any, told: Any) -> list[str]:
    """What is stored of one machine and not found, or not proved."""
    wrong = _unequal(found, told, _OF_A_MACHINE)
    slack = 1e-9 * abs(found.lower_bound) + 1e-12 if math.isfinite(found.lower_bound) else 0.0
    if not told.lower_bound <= found.lower_bound + slack:
        wrong.append(f"lower_bound: no more than {found.lower_bound:.8g} can be proved")
    return wrong


def _unequal(found: Any, told: Any, names: tuple[str, ...]) -> list[str]:
    pairs = [(name, getattr(found, name), getattr(told, name)) for name in names]
    return [
        f"{name}: found {_number(a)}, stored {_number(b)}"
        for name, a, b in pairs
        if not _close(a, b)
    ]


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.8g}"


def _close(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return a == b or (math.isfinite(a - b) and abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-300)


_EXISTENCE_SECONDS = 60.0  # seconds for the question whether a maximum exists


def check_classes(model: Predictor, problem: Problem) -> None:
    """Raise unless the model was trained on these classes in this order."""
    known, here = np.asarray(model.classes_).tolist(), problem.classes.tolist()
    if known != here:
        raise ModelError(
            f"the model knows the classes {', '.join(map(repr, known))}, in this order; the "
            f"data have {', '.join(map(repr, here))}."
        )


def check_intercept(model: object) -> None:
    """Raise if a model that says that it has no intercept has one."""
    offsets = np.ravel(getattr(model, "intercept_", 0.0))
    if getattr(model, "fit_intercept", True) is False and offsets.any():
        raise ModelError(
            f"fit_intercept is False, but the model has the intercept {offsets.tolist()}."
        )


def refuted_facts(problem: Problem, found: Any, told: Any) -> list[str]:
    """Facts beside the bounds: rows not on their own side, the words, those of a plane."""
    wrong = []
    for name in ("wrong_rows", "finite", "total_weight", "words"):
        a, b = getattr(found, name, None), getattr(told, name, None)
        if a is not None and b is not None and not _alike(a, b):
            wrong.append(f"{name}: found {_short(a)}, stored {_short(b)}")
    slope, said = (float(getattr(facts, "stationarity", 0.0)) for facts in (found, told))
    if not abs(slope - said) <= 1e-6:
        wrong.append(f"stationarity: found {slope:.3g}, stored {said:.3g}")
    rows = getattr(told, "rows", ())
    known = all(isinstance(row, int) for row in rows)
    if not known or problem.index_of(np.array(rows, dtype=np.int64)) is None:
        wrong.append(f"rows: {_short(tuple(rows))} are not numbers of rows")
    if getattr(told, "separable", False) is not False and any(
        len(getattr(told, name, ())) for name in ("rows", "multipliers", "rivals")
    ):
        wrong.append("rows: they prove that no plane separates, which is not what is stored")
    ends = [getattr(told, name, 0.0) for name in ("margin_high", "margin_aug_high")]
    if len(rows) and told.separable is False and any(ends):
        wrong.append("margin_high: no plane separates, so no margin is more than 0")
    here, there = getattr(found, "plane", None), getattr(told, "plane", None)
    if here is None or there is None:
        return wrong
    most = ("margin_high", "margin_aug_high") if there.separable is not False else ()
    for name in (*_OF_A_PLANE, *most):
        if not _alike(getattr(here, name), getattr(there, name)):
            wrong.append(f"{name}: found {getattr(here, name)}, stored {getattr(there, name)}")
    return wrong + refuted_facts(problem, here, there)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) < math.inf
    return bool(a == b)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def refuted_multipliers(problem: Problem, told: Any, kernel: Any = None) -> list[str]:
    """What is wrong with a certificate that says that no plane separates, of a feature space if
    there is a kernel."""
    from linsep.proofs.separable import kesler_rows, require_one_point
    from linsep.rows.exact import reflected, vanishes
    from linsep.separating.verdict import decide

    if kernel is None and not problem.binary and not len(told.rows):
        if decide(problem).separable is not False:
            return ["separable: the classes are separable"]
        return []
    images = "rows to zero" if kernel is None else "images to one point"
    wrong = [f"multipliers: they do not combine the {images}"]
    rows = problem.index_of(told.rows)
    if rows is None or not 0 < len(rows) == len(told.multipliers):
        return wrong
    if min(told.multipliers) < 0 or not sum(told.multipliers) > 0:
        return wrong
    rivals = None
    if not problem.binary:
        classes = problem.classes.tolist()
        if len(told.rivals) != len(rows) or any(r not in classes for r in told.rivals):
            return ["rivals: they are not one class for each of the rows"]
        rivals = np.array([classes.index(r) for r in told.rivals])
        if (rivals == problem.label[rows]).any():
            return ["rivals: a row is held against its own class"]
    if kernel is not None:
        try:
            require_one_point(problem, kernel, rows, rivals, told.multipliers)
        except LinsepError:
            return wrong
        return []
    numbers = kesler_rows(problem, rows, rivals)
    return [] if vanishes(reflected(problem, numbers), told.multipliers) else wrong


def refuted_status(problem: Problem, model: Stored, found: Any) -> list[str]:
    """Whether the stored status says more than the recomputed certificate supports."""
    status, tol = getattr(model, "status_", None), float(getattr(model, "tol", np.inf))
    if isinstance(model, KernelSVM):  # certify has computed its proof again
        proved = bool(model.overlap_ is not None and np.isinf(model._cost))
        if proved is not (status is Status.INSEPARABLE):
            fact = "it is proved" if proved else "there is no proof"
            return [
                f"status: {getattr(status, 'name', status)}, but {fact} that no hard margin exists"
            ]
        if proved:
            return []
        if status is Status.CONVERGED and not found.convex and found.violation > model.tol:
            return [f"status: CONVERGED, but the violation is {found.violation:.3g}"]
    told = getattr(model.certificate_, "separable", None) is False
    if status is Status.INSEPARABLE and not told and not _without_hard_margin(problem, model):
        return ["status: INSEPARABLE, but there are no multipliers that prove it"]
    unpenalised = isinstance(model, LogisticRegression) and np.isinf(model._cost)
    if status is Status.NO_MAXIMUM and not (unpenalised and _endless(problem)):
        return ["status: NO_MAXIMUM, but no plane proves it"]
    if status is Status.CERTIFIED and not getattr(found, "proved", True):
        return ["status: CERTIFIED, but that the kernel is positive semidefinite is not proved"]
    if wrong := refuted_by_facts(status, found, tol):
        return wrong
    if status in (Status.CERTIFIED, Status.ASSUMED) and unpenalised and _endless(problem):
        return ["status: CERTIFIED, but the likelihood has no maximum"]
    return []


def refuted_by_facts(status: Status | None, facts: Any, tol: float) -> list[str]:
    """Whether errors or a gap contradict a status, of a table or of a stream."""
    if status is Status.SEPARATED and facts.errors:
        return [f"status: SEPARATED, but {misplaced(facts.errors, sentence=True)}"]
    gap = getattr(facts, "relative_gap", None)
    if status in (Status.CERTIFIED, Status.ASSUMED) and gap is not None and not gap <= tol:
        return [f"status: {status.name}, but the gap is {gap:.3g}, not {tol:.3g}"]
    return []


def _endless(problem: Problem) -> bool:
    """Whether the likelihood of these rows has no maximum."""
    from linsep.separating.verdict import decide

    proof = decide(problem, time_limit=_EXISTENCE_SECONDS)
    return bool(proof.separable or proof.quasi)


def _without_hard_margin(problem: Problem, model: object) -> bool:
    """Whether a hard margin was asked for and some class cannot be cut off from the others."""
    from linsep.core.problem import each_against_rest
    from linsep.separating.verdict import decide

    if not np.isinf(getattr(model, "C", 1.0)):
        return False
    parts = [problem] if problem.binary else each_against_rest(problem)
    return any(decide(part, time_limit=_EXISTENCE_SECONDS).separable is False for part in parts)


_MARGIN = re.compile(r"margin (?:between (\S+) and (\S+)|(\S+))\)$")


def check_settings(model: object) -> None:
    """Raise unless a fit accepts all settings, of tables and of streams."""
    check_intercept(model)
    check_class_weight(model)
    check = getattr(model, "_check_settings", None)
    if check is not None:
        check()
    elif isinstance(model, GaussianClassifier):
        check_params(model, model._checks)


def refuted_settings(model: object) -> list[str]:
    """Settings that are answers, too, and say something else than those do."""
    asked = getattr(model, "priors", None)
    if not isinstance(model, GaussianClassifier) or asked is None:
        return []
    given = check_priors(asked, len(model.classes_), model.classes_)
    if np.allclose(model.priors_, given, rtol=1e-9, atol=0.0):
        return []
    return [f"priors: {asked!r:.60} were asked for, and the model has {model.priors_!r:.60}"]


def check_class_weight(model: object) -> None:
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


def refuted_separation(problem: Problem, model: object) -> list[str]:
    """Whether ``separation_`` of a logistic regression tells what separates these rows."""
    if not hasattr(model, "separation_"):
        return []
    from linsep.models.logistic_limit import separating_words
    from linsep.separating.verdict import decide

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
    proof = decide(rows, time_limit=_EXISTENCE_SECONDS)
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


def refuted_likelihood(problem: Problem, model: object, found: Any) -> list[str]:
    """Whether stored log likelihoods are those of the weights and of the intercept alone."""
    if not (isinstance(model, LogisticRegression) and hasattr(model, "null_log_likelihood_")):
        return []
    wrong = []
    weight = row_weights(model.class_weight, problem.classes[problem.label], problem.weight)
    if getattr(model, "kernel", None) is not None:
        squared = (2.0 / found.width) ** 2
    else:
        squared = float((model.coef_**2).sum())
    known = {
        "log_likelihood_": log_likelihood(found.objective, squared, model._cost),
        "null_log_likelihood_": null_log_likelihood(problem.changed(weight=weight)),
    }
    for name, value in known.items():
        told = getattr(model, name, None)
        if not (isinstance(told, float) and abs(told - value) <= 1e-6 * abs(value) + 1e-9):
            wrong.append(f"{name.rstrip('_')}: found {value:.6g}, stored {told}")
    return wrong
