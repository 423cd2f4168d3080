"""The frame: problem, solver protocol, the one loop, status, log, trace, checkpoint."""

from linsep.core.drive import Limits, Moment, Observer, Outcome, drive
from linsep.core.layouts import CSR, BinaryRows, KeslerRows, Rows
from linsep.core.log import NO_LOG, Log, new_log
from linsep.core.problem import Problem
from linsep.core.protocol import Solver, State, Witness
from linsep.core.status import Status

__all__ = [
    "CSR",
    "NO_LOG",
    "BinaryRows",
    "KeslerRows",
    "Limits",
    "Log",
    "Moment",
    "Observer",
    "Outcome",
    "Problem",
    "Rows",
    "Solver",
    "State",
    "Status",
    "Witness",
    "drive",
    "new_log",
]
