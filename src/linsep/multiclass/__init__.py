"""Many classes from binary classifiers, and the regions that this leaves undecided."""

from linsep._public import PublicNames

PUBLIC = PublicNames(__spec__)  # of __init__.pyi

__all__ = list(PUBLIC.homes)
