"""Proofs: what can be said about a model or about data, recomputed without trust.

The package is also a function: ``linsep.certify(model, X, y)`` bounds how far a fitted model
of any library is from the best one; see ``linsep.estimators.certify_model``. No module in here
imports a solver; that function, which improves a dual point with one, lives above.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Certify(ModuleType):
    """A package that can be called."""

    def __call__(self, model: Any, X: Any, y: Any, **options: Any) -> Any:
        """``certify_model(model, X, y, **options)``."""
        home = importlib.import_module("linsep.estimators.certify_model")
        return home.certify_model(model, X, y, **options)


sys.modules[__name__].__class__ = _Certify
