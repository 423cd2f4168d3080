"""What estimators take from scikit-learn: their bases and decorators, in any of its versions.

It has no types, and with a base of unknown type every attribute exists, misspelt ones too. So the
types stand in the stub beside this file, where the checker of a caller finds them as ours does.
"""

from __future__ import annotations

from importlib.util import find_spec

from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    DensityMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.utils.metaestimators import available_if

if find_spec("sklearn.callback") is not None:
    from sklearn.callback import CallbackSupportMixin, FitCallback, with_callbacks
else:  # callbacks came with 1.9: before it there are none that could be set

    class CallbackSupportMixin:
        """Nothing to support."""

    class FitCallback:
        """Nobody's class: whatever else is given as a callback is refused."""

    def with_callbacks(method):
        """The method as it is."""
        return method


__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "DensityMixin",
    "FitCallback",
    "MetaEstimatorMixin",
    "RegressorMixin",
    "TransformerMixin",
    "available_if",
    "clone",
    "is_classifier",
    "is_regressor",
    "with_callbacks",
]
