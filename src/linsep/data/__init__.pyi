"""Public names of ``linsep.data``, their homes and types; see ``linsep/__init__.pyi``."""

# Names
from linsep.data.lectures import available as available
from linsep.data.lectures import load as load
from linsep.data.ranges import Ranges as Ranges
from linsep.data.read import read as read
from linsep.core.parts import Stream as Stream
from linsep.data.stream import stream as stream
from linsep.data.svmlight import write_svmlight as write_svmlight
from linsep.data.table import Table as Table
