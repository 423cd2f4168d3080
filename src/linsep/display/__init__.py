"""Pictures of data, planes, weights, hulls, costs and recorded runs."""

from linsep.display.decision import DecisionDisplay
from linsep.display.hull import HullDisplay

__all__ = ["DecisionDisplay", "HullDisplay"]
