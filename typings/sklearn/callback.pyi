"""scikit-learn's callbacks, as far as linsep takes them."""

from typing import Any

class CallbackSupportMixin:
    def set_callbacks(self, *callbacks: Any) -> Any: ...

class FitCallback: ...

def with_callbacks(method: Any) -> Any: ...
