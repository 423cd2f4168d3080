"""Pipelines in model files: a list of named steps, each of them an estimator of linsep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linsep.errors import ModelError

__all__ = ["pipeline_from_model", "pipeline_to_model"]


def pipeline_to_model(model: Any, can_be_saved: Callable[[Any], bool]) -> dict[str, Any]:
    """Fields of a fitted pipeline."""
    for name, step in model.steps:
        if not can_be_saved(step):
            raise ModelError(
                f"step {name!r} of the pipeline is a {type(step).__name__}, which a model file "
                "cannot hold; lifts, linsep's estimators and scikit-learn's linear classifiers and "
                "scalers can be saved."
            )
    return {"steps": [[name, step] for name, step in model.steps]}


def pipeline_from_model(fields: Mapping[str, Any]) -> Any:
    """The pipeline of a model file."""
    from sklearn.pipeline import Pipeline

    steps = fields["steps"]
    if not isinstance(steps, list) or not steps:
        raise ModelError("steps is not a list of named estimators")
    for step in steps:
        named = isinstance(step, list) and len(step) == 2 and isinstance(step[0], str)
        if not (named and hasattr(step[1], "get_params")):
            raise ModelError("steps is not a list of named estimators")
    return Pipeline([(name, step) for name, step in steps])
