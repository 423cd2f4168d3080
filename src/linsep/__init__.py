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
    "AdditiveSVM": "linsep.models.additive_svm",
    "GaussianClassifier": "linsep.models.gaussian",
    "HoKashyap": "linsep.models.ho_kashyap",
    "KernelPerceptron": "linsep.models.kernel_perceptron",
    "KernelSVM": "linsep.models.kernel_svm",
    "Kesler": "linsep.multiclass",
    "Kozinec": "linsep.models.kozinec",
    "LeastSquares": "linsep.models.least_squares",
    "Linear": "linsep.models.linear",
    "Lift": "linsep.lift",
    "LinearSVM": "linsep.models.linear_svm",
    "LogisticRegression": "linsep.models.logistic_regression",
    "OneVsOne": "linsep.multiclass",
    "OneVsRest": "linsep.multiclass",
    "Perceptron": "linsep.models.perceptron",
    "Regions": "linsep.multiclass",
    "Trace": "linsep.tracing",
    "regions": "linsep.multiclass",
    "load": "linsep.formats",
    "save": "linsep.formats",
    "Choice": "linsep.choosing",
    "choose": "linsep.choosing",
    "certify": "linsep.models.foreign.certify",
    "approximate": "linsep.models.kernel_large",
    "svm_path": "linsep.models.svm_path",
    "trace": "linsep.tracing",
    "Problem": "linsep.core",
    "Proof": "linsep.proofs.proof",
    "Status": "linsep.core",
    "descend": "linsep.solvers.descent",
    "drive": "linsep.core",
    "separability": "linsep.separating.verdict",
}
_MODULES = ("core", "data", "errors", "kernels", "lift", "losses", "multiclass", "risk")

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"linsep.{name}")
    raise AttributeError(f"module 'linsep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
