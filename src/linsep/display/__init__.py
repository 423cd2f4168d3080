"""Pictures of data, planes, weights, hulls, costs and recorded runs."""

from linsep.display.cost import CostDisplay
from linsep.display.decision import DecisionDisplay
from linsep.display.hull import HullDisplay
from linsep.display.trace import TraceDisplay
from linsep.display.weight_space import WeightSpaceDisplay

__all__ = [
    "CostDisplay",
    "DecisionDisplay",
    "HullDisplay",
    "TraceDisplay",
    "WeightSpaceDisplay",
]
