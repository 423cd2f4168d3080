"""Mercer kernels: values, algebra, Gram matrices, and verdicts about them."""

from linsep._public import PublicNames

PUBLIC = PublicNames(__spec__)  # of __init__.pyi

__all__ = list(PUBLIC.homes)
