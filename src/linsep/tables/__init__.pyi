"""Public names of ``linsep.tables``, their homes and types; see ``linsep/__init__.pyi``."""

# Names
from linsep.tables.columns import Columns as Columns
from linsep.tables.path import Path as Path
from linsep.tables.path import cost_path as cost_path
from linsep.tables.read import Frame as Frame
from linsep.tables.read import read as read
from linsep.tables.tabular import Tabular as Tabular
