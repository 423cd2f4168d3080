"""The frame: problem, solver protocol, the one loop, status, log, trace, checkpoint."""

from linsep._public import PublicNames

PUBLIC = PublicNames(__spec__)  # of __init__.pyi

__all__ = list(PUBLIC.homes)
