"""What the lab offers: methods, the settings of each that a page shows, and what they become.

Registry: a ``Method`` in ``METHODS``. A setting is a parameter of the estimator under its own name,
so that the run on the screen is the run of the line of Python that the lab shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import linsep
from linsep.core.schema import Check, Refused, either, listed, nothing, real, truth, whole, word


@dataclass(frozen=True)
class Setting:
    """One parameter that a page may change."""

    name: str
    label: str
    kind: str
    """choice, log (a slider of powers), number, whole, flag, start (weights, offset last) or list
    (a number for each row)."""
    default: Any = None
    values: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    endless: bool = False
    """Whether the upper end of the slider means infinity."""
    help: str = ""

    def check(self, value: Any) -> Any:
        """The value of a page, or an error that names the setting."""
        checks: dict[str, Check] = {
            "choice": word(*self.values),
            "log": real(0.0, math.inf, endless=self.endless),
            "number": either(nothing, real(0.0, 1e9)),
            "whole": whole(0, 2**31 - 1),
            "flag": truth,
            "start": either(nothing, word("random"), listed(real())),
            "list": either(nothing, listed(real(0.0))),
        }
        if self.endless and value == "inf":
            return math.inf
        found = checks[self.kind](value, self.label)
        if self.kind == "log" and not found > 0:
            raise Refused(self.label, value, "a number > 0")
        return found

    def told(self) -> dict[str, Any]:
        """What a page needs to draw it."""
        value = "inf" if self.default == math.inf else self.default
        return {
            "name": self.name, "label": self.label, "kind": self.kind, "default": value,
            "values": list(self.values), "low": self.low, "high": self.high,
            "endless": self.endless, "help": self.help,
        }  # fmt: skip


@dataclass(frozen=True)
class Method:
    """A method as the menu has it."""

    key: str
    title: str
    estimator: str
    """Name of the class."""
    settings: tuple[Setting, ...]
    fixed: Mapping[str, Any]
    """Parameters that make it this method, and no other of its class."""
    criterion: str | None = None
    """Whose contours the weight space shows; a name in ``linsep.criteria``."""
    view: str = "weights"
    """The picture beside the data that is shown first."""
    rule: str = ""
    """The update in one line."""
    steps: bool = True
    """Whether it takes steps; else the page shows its answer alone."""
    many: bool = True
    """Whether it takes more than two classes."""
    ends: bool = False
    """Whether a page opens it at its end: of a machine the answer is looked at first."""
    picks: bool = False
    """Whether its rows can be picked by hand."""
    inner: str | None = None
    """The class that a scheme of many classes wraps."""

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of a page, checked; those not given have their default."""
        unknown = set(given) - {setting.name for setting in self.settings}
        if unknown:
            raise Refused(f"settings.{min(unknown)}", given[min(unknown)], "no such setting")
        return {
            setting.name: setting.check(given[setting.name])
            if setting.name in given
            else setting.default
            for setting in self.settings
        }

    def make(self, values: Mapping[str, Any], d: int, **more: Any) -> Any:
        """The estimator of these settings for rows of d features."""
        chosen = {**self.fixed, **values}
        if "start" in chosen:
            chosen["start"] = _start(chosen["start"], d, offset=chosen.get("fit_intercept", True))
        if chosen.get("random_state") == 0:
            chosen["random_state"] = None  # which is the same, and shorter to write
        if chosen.get("order") == "cyclic" and chosen.get("keep") != "pocket":
            del chosen["order"]
        if chosen.get("kernel") != "poly":
            chosen.pop("degree", None)
            chosen.pop("coef0", None)
        if chosen.get("kernel") == "linear":
            chosen.pop("gamma", None)
        if chosen.get("keep") == "best":
            chosen["keep"] = None
        if "working_set" in chosen:
            chosen["working_set"] = 2 if chosen["working_set"] == "two" else None
        cls = getattr(linsep, self.estimator)
        if self.inner is None:
            return cls(**chosen, **more)
        own = {name: chosen.pop(name) for name in ("decide", "fit_intercept") if name in chosen}
        if "fit_intercept" in own and self.estimator != "Kesler":
            chosen["fit_intercept"] = own.pop("fit_intercept")
        return cls(getattr(linsep, self.inner)(**chosen, **more), **own)

    def told(self) -> dict[str, Any]:
        """What a page needs to offer it."""
        return {
            "key": self.key, "title": self.title, "rule": self.rule, "view": self.view,
            "steps": self.steps, "many": self.many, "ends": self.ends, "picks": self.picks,
            "criterion": self.criterion,
            "kernel": any(setting.name == "kernel" for setting in self.settings),
            "scheme": self.estimator in ("OneVsRest", "OneVsOne", "Kesler"),
            "settings": [setting.told() for setting in self.settings],
        }  # fmt: skip


def _start(value: Any, d: int, *, offset: bool) -> Any:
    """Weights with the offset last, as estimators take them."""
    if not isinstance(value, list):
        return value
    if len(value) not in (d, d + 1):
        raise Refused("start", value, f"a list of {d} weights and the offset")
    return value[:d], float(value[d]) if offset and len(value) > d else 0.0


_OFFSET = Setting(
    "fit_intercept", "offset", "flag", default=True, help="whether planes may leave the origin"
)
_SEED = Setting("random_state", "seed", "whole", 0, help="of random orders and starts")
_START = Setting("start", "start", "start", None, help="weights to start from, the offset last")
_TARGETS = Setting(
    "targets", "targets b", "list", None, help="what a·z should be, a number for each row"
)
_C = Setting("C", "C", "log", 1.0, low=1e-3, high=1e4, endless=True, help="cost of the losses")
_KERNEL = (
    Setting("kernel", "kernel", "choice", "rbf", ("rbf", "poly", "linear")),
    Setting("gamma", "γ", "log", 0.5, low=1e-3, high=1e2, help="width of the kernel"),
    Setting("degree", "degree", "whole", 2, low=1, high=8, help="of the polynomial kernel"),
    Setting("coef0", "r", "number", 1.0, help="of the polynomial kernel (γ x.z + r)^degree"),
)

METHODS = (
    Method(
        "perceptron", "Perceptron", "Perceptron",
        (
            Setting("update", "update", "choice", "single", ("single", "batch")),
            Setting("order", "order", "choice", "cyclic",
                    ("cyclic", "shuffle", "random", "restart", "worst")),
            Setting("eta", "rate η", "log", 1.0, low=0.01, high=10.0),
            Setting("decay", "decay", "choice", "constant", ("constant", "inverse")),
            Setting("keep", "keep", "choice", "best", ("best", "last", "pocket", "average")),
            Setting("misclassified", "wrong if", "choice", "<=", ("<=", "<"),
                    help="whether a value of exactly 0 is a mistake"),
            _START, _OFFSET, _SEED,
        ),
        {}, "Perceptron", "weights", "a ← a + η z for a row with a·z ≤ 0",
        picks=True,
    ),
    Method(
        "kozinec", "Kozinec", "Kozinec",
        (
            Setting("space", "space", "choice", "difference", ("difference", "augmented")),
            Setting("steps", "steps", "choice", "plain", ("plain", "away")),
            Setting("eps", "ε", "log", 0.01, low=1e-6, high=1.0,
                    help="distance of the two bounds at which it ends"),
            _OFFSET,
        ),
        {}, None, "hulls", "a ← the point nearest to 0 on the segment from a to z",
    ),
    Method(
        "least-squares", "Least squares, gradient", "LeastSquares",
        (Setting("eta", "rate η", "number", None, help="empty: the largest rate that is safe"),
         _TARGETS, _START, _OFFSET),
        {"solver": "gradient"}, "Squares", "cost", "a ← a − η Yᵀ(Ya − b)",
    ),
    Method(
        "least-squares-exact", "Least squares, exact", "LeastSquares", (_TARGETS, _OFFSET),
        {"solver": "exact"}, "Squares", "cost", "a = Y⁺ b", steps=False,
    ),
    Method(
        "widrow-hoff", "Widrow and Hoff", "LeastSquares",
        (
            Setting("eta", "rate η", "number", None, help="empty: chosen from the rows"),
            Setting("order", "order", "choice", "cyclic", ("cyclic", "shuffle", "random")),
            _TARGETS, _START, _OFFSET, _SEED,
        ),
        {"solver": "widrow-hoff"}, "Squares", "cost", "a ← a − η z (z·a − b)",
    ),
    Method(
        "ho-kashyap", "Ho and Kashyap", "HoKashyap",
        (Setting("eta", "rate η", "log", 0.9, low=0.01, high=0.99), _OFFSET),
        {}, "Squares", "cost", "b ← b + η (e + |e|), a ← Y⁺ b",
    ),
    Method(
        "logistic-gradient", "Logistic regression, gradient", "LogisticRegression",
        (_C, Setting("eta", "rate η", "number", None, help="empty: 1 / L"), _OFFSET),
        {"solver": "gradient"}, "Logistic", "cost", "a ← a − η ∇J", ends=True,
    ),
    Method(
        "logistic-newton", "Logistic regression, Newton", "LogisticRegression", (_C, _OFFSET),
        {"solver": "newton"}, "Logistic", "cost", "a ← a − H⁻¹ ∇J", ends=True,
    ),
    Method(
        "gaussian", "Gaussian classifier", "GaussianClassifier",
        (Setting("covariance", "covariance", "choice", "full",
                 ("full", "shared", "diagonal", "shared-diagonal"),
                 help="shared: one for all classes, and the border is a line"),),
        {}, None, "hulls", "mean and covariance of each class; the likelier class", steps=False,
    ),
    Method(
        "linear-svm", "Support vector machine", "LinearSVM",
        (_C, Setting("loss", "loss", "choice", "hinge", ("hinge", "squared_hinge")), _OFFSET),
        {}, "Hinge", "loss", "minimise |w|²/2 + C Σ max(0, 1 − y f(x))",
        ends=True,
    ),
    Method(
        "kernel-svm", "Kernel machine", "KernelSVM",
        (*_KERNEL, _C, Setting(
            "working_set", "rows a step", "choice", "many", ("many", "two"),
            help="two: sequential minimal optimisation, one pair of rows a step",
        ), _OFFSET),
        {}, None, "gram", "f(x) = Σ αᵢ yᵢ K(xᵢ, x) + b", ends=True,
    ),
    Method(
        "kernel-perceptron", "Kernel perceptron", "KernelPerceptron",
        (*_KERNEL, Setting("order", "order", "choice", "cyclic", ("cyclic", "shuffle", "random")),
         _OFFSET, _SEED),
        {}, None, "gram", "αᵢ ← αᵢ + 1 for a row with yᵢ f(xᵢ) ≤ 0",
    ),
    Method(
        "kesler", "Kesler's construction", "Kesler",
        (
            Setting("eta", "rate η", "log", 1.0, low=0.01, high=10.0),
            Setting("order", "order", "choice", "cyclic", ("cyclic", "shuffle", "random")),
            _OFFSET, _SEED,
        ),
        {}, None, "regions", "wᵢ ← wᵢ + η x, wⱼ ← wⱼ − η x where class j beats the own class i",
        inner="Perceptron",
    ),
    Method(
        "one-vs-rest", "One against the rest", "OneVsRest",
        (Setting("decide", "rule", "choice", "unanimous", ("unanimous", "argmax")), _C, _OFFSET),
        {}, None, "regions", "K machines, each one class against the rest", steps=False,
        inner="LinearSVM",
    ),
    Method(
        "one-vs-one", "One against one", "OneVsOne", (_C, _OFFSET), {}, None, "regions",
        "K (K − 1) / 2 machines; the class that wins most duels", steps=False, inner="LinearSVM",
    ),
)  # fmt: skip

BY_KEY = {method.key: method for method in METHODS}


def code_of(estimator: Any) -> str:
    """The line of Python that makes an estimator, without what is a default anyway.

    >>> code_of(linsep.Kesler(linsep.Perceptron(eta=0.5)))
    'linsep.Kesler(linsep.Perceptron(eta=0.5))'
    """
    usual = type(estimator)().get_params(deep=False)
    parts: list[str] = []
    for name, value in estimator.get_params(deep=False).items():
        if name == "estimator":
            parts.insert(0, code_of(value))
        elif name not in ("callbacks", "time_limit") and value != usual[name]:
            written = 'float("inf")' if value == math.inf else repr(value)
            parts.append(f"{name}={written}".replace("'", '"'))
    return f"linsep.{type(estimator).__name__}({', '.join(parts)})"
