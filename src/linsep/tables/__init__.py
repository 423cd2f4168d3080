"""Tables as people have them: numbers, categories, dates and text beside each other, with gaps."""

from linsep._public import PublicNames

PUBLIC = PublicNames(__spec__)  # of __init__.pyi

__all__ = list(PUBLIC.homes)
