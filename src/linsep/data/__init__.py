"""Tables of samples: the data of the lectures, and readers of data files."""

from linsep.data.lectures import available, load
from linsep.data.read import read
from linsep.data.svmlight import write_svmlight
from linsep.data.table import Table

__all__ = ["Table", "available", "load", "read", "write_svmlight"]
