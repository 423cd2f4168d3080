"""Choosing how rich a class of rules should be: too poor, right, too rich."""

from linsep.choosing.choice import Choice
from linsep.choosing.choose import choose

__all__ = ["Choice", "choose"]
