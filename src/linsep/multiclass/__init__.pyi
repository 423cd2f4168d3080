"""Public names of ``linsep.multiclass``, their homes and types; see ``linsep/__init__.pyi``."""

# Names
from linsep.multiclass.kesler import Kesler as Kesler
from linsep.multiclass.kesler import kesler_vectors as kesler_vectors
from linsep.multiclass.one_vs_one import OneVsOne as OneVsOne
from linsep.multiclass.one_vs_rest import OneVsRest as OneVsRest
from linsep.multiclass.regions import Regions as Regions
from linsep.multiclass.regions import regions as regions
