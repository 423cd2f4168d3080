"""Linear classifiers whose every answer comes with its proof."""

from __future__ import annotations

from linsep._public import PublicNames
from linsep._version import __version__

PUBLIC = PublicNames(__spec__)  # of __init__.pyi: names, their homes and kinds

__all__ = ["__version__", *PUBLIC.homes]
