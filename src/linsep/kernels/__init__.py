"""Mercer kernels: values, algebra, Gram matrices, and verdicts about them."""

from linsep.kernels.algebra import Constant, Product, Scaled, Sum
from linsep.kernels.base import Kernel
from linsep.kernels.check import Mercer
from linsep.kernels.diagnose import Diagnosis
from linsep.kernels.gaussian import RBF
from linsep.kernels.histograms import Additive, ChiSquared, Hellinger, Intersection, PowerMean
from linsep.kernels.products import Linear, Polynomial, Sigmoid
from linsep.kernels.rows import Rows
from linsep.kernels.spec import as_kernel, from_dict
from linsep.kernels.user import Function, Precomputed

__all__ = [
    "RBF",
    "Additive",
    "ChiSquared",
    "Constant",
    "Diagnosis",
    "Function",
    "Hellinger",
    "Intersection",
    "Kernel",
    "Linear",
    "Mercer",
    "Polynomial",
    "PowerMean",
    "Precomputed",
    "Product",
    "Rows",
    "Scaled",
    "Sigmoid",
    "Sum",
    "as_kernel",
    "from_dict",
]
