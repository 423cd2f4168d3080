"""Many classes from binary classifiers, and the regions that this leaves undecided."""

from linsep.multiclass.kesler import Kesler, kesler_vectors
from linsep.multiclass.one_vs_one import OneVsOne
from linsep.multiclass.one_vs_rest import OneVsRest
from linsep.multiclass.regions import Regions, regions

__all__ = ["Kesler", "OneVsOne", "OneVsRest", "Regions", "kesler_vectors", "regions"]
