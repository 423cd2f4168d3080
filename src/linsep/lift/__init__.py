"""Feature maps: planes of the lifted rows are curved boundaries of the inputs."""

from linsep._public import PublicNames

PUBLIC = PublicNames(__spec__)  # of __init__.pyi

__all__ = list(PUBLIC.homes)
