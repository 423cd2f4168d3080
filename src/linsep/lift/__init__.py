"""Feature maps: planes of the lifted rows are curved boundaries of the inputs."""

from linsep.lift.compare import Comparison, compare
from linsep.lift.pullback import Pullback, pullback
from linsep.lift.transformer import Lift

__all__ = ["Comparison", "Lift", "Pullback", "compare", "pullback"]
