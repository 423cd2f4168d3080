"""Methods that exist for some models only: a type checker sees the methods themselves."""

from collections.abc import Callable
from typing import Any, TypeVar

M = TypeVar("M", bound=Callable[..., Any])

def available_if(check: Callable[[Any], bool]) -> Callable[[M], M]: ...
