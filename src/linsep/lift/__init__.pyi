"""Public names of ``linsep.lift``, their homes and types; see ``linsep/__init__.pyi``."""

# Names
from linsep.lift.compare import compare as compare
from linsep.lift.compare import Comparison as Comparison
from linsep.lift.pullback import Pullback as Pullback
from linsep.lift.pullback import pullback as pullback
from linsep.lift.transformer import Lift as Lift
