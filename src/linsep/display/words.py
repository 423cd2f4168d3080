"""Words of pictures."""

from __future__ import annotations

from typing import Any

__all__ = ["short"]


def short(value: Any, width: int = 24) -> str:
    """A value in a title or at an axis."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= width else text[: width - 3] + "..."
