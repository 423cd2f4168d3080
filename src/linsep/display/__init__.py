"""Pictures of data, planes, weights, hulls, costs and recorded runs."""

from linsep.display.choice import ChoiceDisplay
from linsep.display.cost import CostDisplay
from linsep.display.decision import DecisionDisplay
from linsep.display.gram import GramDisplay
from linsep.display.hull import HullDisplay
from linsep.display.lift import LiftDisplay
from linsep.display.lift_frames import LiftFramesDisplay
from linsep.display.logistic_curve import LogisticCurveDisplay
from linsep.display.neuron import NeuronDisplay
from linsep.display.novikoff import NovikoffDisplay
from linsep.display.probability import ProbabilityDisplay
from linsep.display.reflection import ReflectionDisplay
from linsep.display.regions import RegionsDisplay
from linsep.display.trace import TraceDisplay
from linsep.display.triptych import TriptychDisplay
from linsep.display.weight_space import WeightSpaceDisplay

__all__ = [
    "ChoiceDisplay",
    "CostDisplay",
    "DecisionDisplay",
    "GramDisplay",
    "HullDisplay",
    "LiftDisplay",
    "LiftFramesDisplay",
    "LogisticCurveDisplay",
    "NeuronDisplay",
    "NovikoffDisplay",
    "ProbabilityDisplay",
    "ReflectionDisplay",
    "RegionsDisplay",
    "TraceDisplay",
    "TriptychDisplay",
    "WeightSpaceDisplay",
]
