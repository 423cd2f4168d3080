"""Linear classifiers whose every answer comes with its proof."""

from __future__ import annotations

import importlib
from typing import Any

from linsep._version import __version__

# Public names and where they live. They are imported when first used, so that
# ``import linsep`` and ``linsep --help`` cost next to nothing.
_HOMES = {
    "ChoiceDisplay": "linsep.display.choice",
    "LiftDisplay": "linsep.display.lift",
    "LiftFramesDisplay": "linsep.display.lift_frames",
    "TriptychDisplay": "linsep.display.triptych",
    "CostDisplay": "linsep.display.cost",
    "DecisionDisplay": "linsep.display.decision",
    "GramDisplay": "linsep.display.gram",
    "HullDisplay": "linsep.display.hull",
    "LogisticCurveDisplay": "linsep.display.logistic_curve",
    "NeuronDisplay": "linsep.display.neuron",
    "NovikoffDisplay": "linsep.display.novikoff",
    "ProbabilityDisplay": "linsep.display.probability",
    "ReflectionDisplay": "linsep.display.reflection",
    "RegionsDisplay": "linsep.display.regions",
    "TraceDisplay": "linsep.display.trace",
    "WeightSpaceDisplay": "linsep.display.weight_space",
    "AdditiveSVM": "linsep.estimators.additive_svm",
    "GaussianClassifier": "linsep.estimators.gaussian",
    "HoKashyap": "linsep.estimators.ho_kashyap",
    "KernelPerceptron": "linsep.estimators.kernel_perceptron",
    "KernelSVM": "linsep.estimators.kernel_svm",
    "Kesler": "linsep.multiclass",
    "Kozinec": "linsep.estimators.kozinec",
    "LeastSquares": "linsep.estimators.least_squares",
    "Linear": "linsep.estimators.linear",
    "Lift": "linsep.lift",
    "LinearSVM": "linsep.estimators.linear_svm",
    "LogisticRegression": "linsep.estimators.logistic_regression",
    "OneVsOne": "linsep.multiclass",
    "OneVsRest": "linsep.multiclass",
    "Perceptron": "linsep.estimators.perceptron",
    "Regions": "linsep.multiclass",
    "Trace": "linsep.tracing",
    "regions": "linsep.multiclass",
    "load": "linsep.formats",
    "save": "linsep.formats",
    "Choice": "linsep.choosing",
    "choose": "linsep.choosing",
    "approximate": "linsep.estimators.kernel_large",
    "svm_path": "linsep.estimators.svm_path",
    "trace": "linsep.tracing",
    "Problem": "linsep.core",
    "Proof": "linsep.certify.proof",
    "Status": "linsep.core",
    "descend": "linsep.solvers.descent",
    "drive": "linsep.core",
    "separability": "linsep.verdict",
}
_MODULES = ("certify", "core", "data", "errors", "kernels", "lift", "losses", "multiclass", "risk")

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"linsep.{name}")
    raise AttributeError(f"module 'linsep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
