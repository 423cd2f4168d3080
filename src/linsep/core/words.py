"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["percent"]


def percent(share: float, digits: int = 2) -> str:
    """A share as per cent, rounded, and without an exponent where plain digits can be read.

    >>> percent(1.0), percent(0.00123), percent(7.3), percent(3e-11)
    ('100 %', '0.12 %', '730 %', '3e-09 %')
    """
    value = 100.0 * share
    whole = 10.0**digits - 0.5 <= value < 1e6
    return f"{value:.0f} %" if whole else f"{value:.{digits}g} %"
