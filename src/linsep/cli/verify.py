"""``linsep verify``: check a stored model or proof against data, trusting neither.

Every claim about the data is computed anew: bounds, errors, margins, likelihoods, multipliers, the
status with its sentence. Parameters that only tell how the model came about (max_iter, solver,
random_state...) claim nothing and are taken as given.
"""

from __future__ import annotations

import copy
import math
import re
from argparse import Namespace
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from linsep.cli import streams
from linsep.cli.common import check_features, emit, fitted_to, framed, narrate, numbers_of
from linsep.cli.lifting import lifted
from linsep.cli.models import model_and_data
from linsep.core.boundary import boundary
from linsep.core.problem import Problem
from linsep.core.protocol import PlaneModel, Predictor, Status, Witness, last_step
from linsep.core.schema import from_json
from linsep.core.sources import fetch
from linsep.core.words import misplaced
from linsep.data.table import Table
from linsep.errors import LinsepError, ModelError, SettingError
from linsep.models.fit import check_params
from linsep.models.gaussian import GaussianClassifier
from linsep.models.kernel_option import KernelOption
from linsep.models.kernel_svm import KernelSVM
from linsep.models.logistic_regression import (
    LogisticRegression,
    log_likelihood,
    null_log_likelihood,
)
from linsep.proofs.plain import require_same
from linsep.risk.linear_rules import check_priors

if TYPE_CHECKING:
    from linsep.multiclass.base import ManyClasses
    from linsep.multiclass.kesler import Kesler


class Stored(PlaneModel, Protocol):
    """A model with what it claims; one with a kernel has sums in place of planes."""

    certificate_: Any


def run(args: Namespace) -> int:
    """Print what the data say; 0 when it agrees with what is stored."""
    from linsep.formats import is_text_model

    if streams.wanted(args):
        return streams.verify(args)
    if is_text_model(args.model):
        return _text(args)
    if args.C is not None:
        raise SettingError("--C is for model files of LIBLINEAR and LIBSVM; others hold their own.")
    data = fetch(args.model)
    with boundary(args.model, ModelError, "this is neither a model nor a proof", "save it again"):
        stored = from_json(data)
    kind = stored.get("format") if isinstance(stored, dict) else None
    return _proof(args, stored) if kind == "linsep-proof" else _model(args, stored)


def _proof(args: Namespace, stored: dict[str, Any]) -> int:
    from linsep.proofs.separable import Proof

    proof = Proof.from_dict(stored)
    _, data = lifted(args, numbers_of(args)[1])
    proof.check(data.X, data.y)
    sentence = f"the proof holds: {proof}"
    emit({"holds": True, "sentence": str(proof)} if args.json else sentence, as_json=args.json)
    return 0


def _text(args: Namespace) -> int:
    """A model of LIBLINEAR or LIBSVM: it claims nothing, so say how good it is."""
    import linsep
    from linsep.cli.predict import read_for

    model = linsep.load(args.model)
    data = read_for(args, model)
    model = fitted_to(model, data)
    check_features(model, data)
    report = linsep.certify(model, data.X, data.y, C=args.C, sample_weight=data.sample_weight)
    emit(report.to_dict() if args.json else str(report), as_json=args.json)
    return 0


def _model(args: Namespace, stored: Any) -> int:
    model, data = model_and_data(args)
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
    told = model.certificate_
    if hasattr(told, "problems"):
        found, wrong = check_machines(framed(data), labels, model, compared, data.sample_weight)
    else:
        found, wrong = compared(framed(data), data.X, labels, model, data.sample_weight)
        if hasattr(model, "vectors"):
            wrong += check_learner(framed(data), labels, model, compared, data.sample_weight)
    wrong += _other_data(model, data)
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
    emit(report if args.json else "\n".join(lines), as_json=args.json)
    return 1 if wrong else 0


def compared(
    X: Any, matrix: Any, labels: Any, model: Stored, weight: Any = None
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
        found, wrong = (_gap if hasattr(told, "lower_bound") else _facts)(problem, model, told)
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


def _facts(problem: Problem, model: PlaneModel, told: Any) -> tuple[Any, list[str]]:
    """Recompute the certificate; upper bounds of the margin are compared with a fresh proof."""
    from linsep.proofs.certificate import judge
    from linsep.risk.novikoff import novikoff_bound
    from linsep.separating.verdict import decide

    if isinstance(model, KernelOption) and model.kernel is not None:
        return _facts_of_sums(problem, model, told)
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


def _facts_of_sums(problem: Problem, model: KernelOption, told: Any) -> tuple[Any, list[str]]:
    """The same of a sum over kernel values, whose coefficients bound the margins as well."""
    labels = problem.classes[problem.label]
    found = model.certificate_for(problem.matrix, labels)
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
    import linsep

    found: Any = linsep.certify(model, X, labels, sample_weight=weight)
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
    import linsep

    found: Any = linsep.certify(model, X, labels, sample_weight=weight)
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


def _gap(problem: Problem, model: object, told: Any) -> tuple[Any, list[str]]:
    """Recompute the objective, and prove a lower bound again from the dual variables."""
    import linsep

    labels = problem.classes[problem.label]
    weight = None if (problem.weight == 1).all() else problem.weight
    found = linsep.certify(
        model, problem.matrix, labels, sample_weight=weight, tol=1e-9,
        time_limit=_bound_limit(problem, model, told),
    )  # fmt: skip
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


_LIMIT = 10.0  # seconds for a bound, or what one of very many classes takes


def _bound_limit(problem: Problem, model: object, told: Any) -> float:
    """Seconds that the bound may take; where they are many, they are announced."""
    from linsep.proofs.softmax import bound_seconds

    softmax = isinstance(model, LogisticRegression) and model.kernel is None and not problem.binary
    if not softmax or not told.lower_bound > 0:  # that losses are no less than 0 is known
        return _LIMIT
    seconds = bound_seconds(problem)
    if seconds > _LIMIT:
        narrate(f"proving the bound of {problem.K} classes again: about {seconds:.0f} seconds")
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


# -- What a model file claims in words, held against the data -------------------------------------


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
    if any(not isinstance(row, int) or not 0 <= row < problem.n for row in rows):
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
    rows = np.asarray(told.rows, dtype=np.int64)
    inside = bool(len(rows)) and 0 <= rows.min() <= rows.max() < problem.n
    good = inside and len(rows) == len(told.multipliers)
    good = good and min(told.multipliers) >= Fraction(0) and sum(told.multipliers) > 0
    rivals = None
    if good and not problem.binary:
        classes = problem.classes.tolist()
        if len(told.rivals) != len(rows) or any(r not in classes for r in told.rivals):
            return ["rivals: they are not one class for each of the rows"]
        rivals = np.array([classes.index(r) for r in told.rivals])
        if (rivals == problem.label[rows]).any():
            return ["rivals: a row is held against its own class"]
    if good and kernel is not None:
        try:
            require_one_point(problem, kernel, rows, rivals, told.multipliers)
        except LinsepError:
            good = False
        return [] if good else ["multipliers: they do not combine the images to one point"]
    rows = kesler_rows(problem, rows, rivals)
    if not (good and vanishes(reflected(problem, rows), told.multipliers)):
        return ["multipliers: they do not combine the rows to zero"]
    return []


def _other_data(model: object, data: Table) -> list[str]:
    """Whether the rows are others than those of the fit, be it in a last digit."""
    told = getattr(model, "fingerprint_", None)
    if told is None or told == Problem(data.X, data.y).fingerprint:
        return []
    return [f"data: they are not those of the fit, whose fingerprint is {told[:12]}..."]


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


# -- Sentences of a model file, held against what they speak of -----------------------------------


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


# -- ``linsep verify`` for schemes of many classes: every machine, on its own rows ----------------


Compare = Callable[..., tuple[Any, list[str]]]


def check_machines(
    X: Any, labels: Any, model: ManyClasses, compare: Compare, given: Any = None
) -> tuple[Any, list[str]]:
    """The certificates of all machines, recomputed, and what differs from the stored ones."""
    import linsep
    from linsep.multiclass.certificates import renumbered

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
        differs += compare(part, part, own, inside, None if weight is None else weight[rows])[1]
        wrong += [f"machine {number}: {line}" for line in differs]
    named = hasattr(model, "feature_names_in_")
    rows = X if named else matrix
    return linsep.certify(model, rows, labels, sample_weight=given), wrong


def check_learner(
    X: Any, labels: Any, model: Kesler, compare: Compare, given: Any = None
) -> list[str]:
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
    return [f"learner: {line}" for line in compare(vectors, vectors, sign, learner, weight)[1]]


# -- Log likelihoods that a model file claims, held against the data ------------------------------


def refuted_likelihood(problem: Problem, model: object, found: Any) -> list[str]:
    """Whether stored log likelihoods are those of the weights and of the intercept alone."""
    if not (isinstance(model, LogisticRegression) and hasattr(model, "null_log_likelihood_")):
        return []
    wrong = []
    if getattr(model, "kernel", None) is not None:
        squared = (2.0 / found.width) ** 2
    else:
        squared = float((model.coef_**2).sum())
    known = {
        "log_likelihood_": log_likelihood(found.objective, squared, model._cost),
        "null_log_likelihood_": null_log_likelihood(problem),
    }
    for name, value in known.items():
        told = getattr(model, name, None)
        if not (isinstance(told, float) and abs(told - value) <= 1e-6 * abs(value) + 1e-9):
            wrong.append(f"{name.rstrip('_')}: found {value:.6g}, stored {told}")
    return wrong
