"""scikit-learn's callbacks, which came with 1.9: before it there are none that could be set."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar, cast

__all__ = ["CallbackSupportMixin", "FitCallback", "with_callbacks"]

_Method = TypeVar("_Method", bound=Callable[..., Any])

if TYPE_CHECKING or find_spec("sklearn.callback") is not None:
    from sklearn.callback import CallbackSupportMixin, FitCallback
    from sklearn.callback import with_callbacks as _theirs
else:

    class CallbackSupportMixin:
        """Nothing to support."""

    class FitCallback:
        """Nobody's class: whatever else is given as a callback is refused."""

    def _theirs(method: Any) -> Any:
        return method


def with_callbacks(method: _Method) -> _Method:
    """scikit-learn's decorator of fits that call back; type checkers see the method itself."""
    return cast(_Method, _theirs(method))
