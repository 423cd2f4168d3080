"""Tables of samples: the data of the lectures, and readers of data files."""

from linsep.data.lectures import available, load
from linsep.data.table import Table

__all__ = ["Table", "available", "load"]
