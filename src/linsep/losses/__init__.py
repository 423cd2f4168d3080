"""Loss functions of the margin: value, slope, conjugate; and a check of gradients.

``LOSSES`` has every loss by the name that estimators and files know it by.
"""

from linsep._public import PublicNames

PUBLIC = PublicNames(__spec__)  # of __init__.pyi

__all__ = list(PUBLIC.homes)
