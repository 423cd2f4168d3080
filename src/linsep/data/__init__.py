"""Tables of samples: the data of the lectures, and readers of data files."""

from linsep._public import PublicNames

PUBLIC = PublicNames(__spec__)  # of __init__.pyi

__all__ = list(PUBLIC.homes)
