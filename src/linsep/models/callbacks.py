"""scikit-learn's callbacks, which came with 1.9: before it there are none that could be set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["CallbackSupportMixin", "FitCallback", "with_callbacks"]

_Method = TypeVar("_Method", bound=Callable[..., Any])

try:
    import sklearn.callback as _theirs
    from sklearn.callback import CallbackSupportMixin, FitCallback
except ModuleNotFoundError:
    _theirs = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    class FitCallback:  # type: ignore[no-redef]
        """Nobody's class: whatever else is given as a callback is refused."""


def with_callbacks(method: _Method) -> _Method:
    """scikit-learn's decorator of fits that call back; type checkers see the method itself."""
    return method if _theirs is None else cast(_Method, _theirs.with_callbacks(method))
