"""Public names of ``linsep.kernels``, their homes and types; see ``linsep/__init__.pyi``."""

# Names
from linsep.kernels.algebra import Constant as Constant
from linsep.kernels.algebra import Normalised as Normalised
from linsep.kernels.algebra import Product as Product
from linsep.kernels.algebra import Scaled as Scaled
from linsep.kernels.algebra import Sum as Sum
from linsep.kernels.base import Kernel as Kernel
from linsep.kernels.check import Mercer as Mercer
from linsep.kernels.diagnose import Diagnosis as Diagnosis
from linsep.kernels.gaussian import RBF as RBF
from linsep.kernels.histograms import Additive as Additive
from linsep.kernels.histograms import ChiSquared as ChiSquared
from linsep.kernels.histograms import Hellinger as Hellinger
from linsep.kernels.histograms import Intersection as Intersection
from linsep.kernels.histograms import PowerMean as PowerMean
from linsep.kernels.products import Linear as Linear
from linsep.kernels.products import Polynomial as Polynomial
from linsep.kernels.products import Sigmoid as Sigmoid
from linsep.kernels.rows import Rows as Rows
from linsep.kernels.spec import as_kernel as as_kernel
from linsep.kernels.spec import from_dict as from_dict
from linsep.kernels.user import Function as Function
from linsep.kernels.user import Precomputed as Precomputed
