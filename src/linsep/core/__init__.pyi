"""Public names of ``linsep.core``, their homes and types; see ``linsep/__init__.pyi``."""

# Names
from linsep.core.drive import drive as drive
from linsep.core.limits import Limits as Limits
from linsep.core.drive import Moment as Moment
from linsep.core.drive import Observer as Observer
from linsep.core.drive import Outcome as Outcome
from linsep.core.layouts import BinaryRows as BinaryRows
from linsep.core.layouts import CSR as CSR
from linsep.core.layouts import KeslerRows as KeslerRows
from linsep.core.layouts import Rows as Rows
from linsep.core.protocol import Log as Log
from linsep.core.protocol import new_log as new_log
from linsep.core.protocol import NO_LOG as NO_LOG
from linsep.core.problem import Problem as Problem
from linsep.core.protocol import Solver as Solver
from linsep.core.protocol import State as State
from linsep.core.protocol import Witness as Witness
from linsep.core.protocol import Status as Status
