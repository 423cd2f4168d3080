"""Kernels by name, by function, from a file."""

from __future__ import annotations

import warnings
from typing import Any

from linsep.errors import ModelError, NotPositiveWarning, SettingError
from linsep.kernels.algebra import Constant, Normalised, Product, Scaled, Sum
from linsep.kernels.base import Kernel
from linsep.kernels.gaussian import RBF
from linsep.kernels.histograms import ChiSquared, Hellinger, Intersection, PowerMean
from linsep.kernels.products import Linear, Polynomial, Sigmoid
from linsep.kernels.user import Function, Precomputed

NAMED: dict[str, Kernel] = {}
"""Names and what they stand for; those of scikit-learn's SVC have its parameters."""
_KINDS: dict[str, type[Kernel]] = {}
"""Classes that a model file may hold, by their names."""


def register(kind: type[Kernel], **named: Kernel) -> None:
    """Let model files hold kernels of a class, and give names to some of them."""
    _KINDS[kind.__name__] = kind
    NAMED.update(named)


register(Linear, linear=Linear())
register(Polynomial, poly=Polynomial(gamma="scale"), polynomial=Polynomial(gamma="scale"))
register(RBF, rbf=RBF(), gaussian=RBF())
register(Sigmoid, sigmoid=Sigmoid(k="scale"))
register(Intersection, intersection=Intersection())
register(ChiSquared, chi2=ChiSquared())
register(Hellinger, hellinger=Hellinger())
register(Precomputed, precomputed=Precomputed())
register(PowerMean)
register(Constant)
register(Sum)
register(Product)
register(Scaled)
register(Normalised)


def as_kernel(spec: Any, X: Any = None, *, warn: bool = True) -> Kernel:
    """Give a kernel for a name, a function or a kernel.

    Parameters
    ----------
    spec : str, Kernel or callable
        "linear", "poly", "rbf", "sigmoid", "intersection", "chi2", "hellinger", "precomputed";
        a kernel; a function of two rows or of two matrices.
    X : array or sparse matrix, optional
        Training rows: parameters that depend on data get their numbers (``Kernel.resolve``).
    warn : bool, default=True
        Warn (``NotPositiveWarning``) about a kernel that is not positive semidefinite.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from linsep.kernels import as_kernel
    >>> as_kernel("rbf", [[0.0, 0.0], [2.0, 2.0]])
    RBF(gamma=0.5)
    """
    if isinstance(spec, Kernel):
        kernel = spec
    elif isinstance(spec, str):
        if spec not in NAMED:
            names = ", ".join(map(repr, NAMED))
            raise SettingError(f"kernel is {spec!r}; give one of {names}, or a kernel object.")
        kernel = NAMED[spec].clone()
    elif isinstance(spec, type) and issubclass(spec, Kernel):
        raise SettingError(
            f"kernel is the class {spec.__name__}; give an object: {spec.__name__}()."
        )
    elif callable(spec):
        kernel = Function(spec)
    else:
        raise SettingError(f"kernel is {spec!r}; give a name, a kernel object or a function.")
    if X is not None and not kernel.resolved:
        kernel = kernel.resolve(_matrix(X))
    if warn and kernel.positive is False:
        warnings.warn(
            f"{kernel!r} is not positive semidefinite in general: an SVM with it has no convex "
            "problem behind it, and a fit can only end in a stationary point. kernel.check(X) "
            "tells for given rows.",
            NotPositiveWarning,
            stacklevel=2,
        )
    return kernel


def by_name(name: str, parameters: dict[str, Any]) -> Kernel:
    """Give the kernel of a name with these parameters, some of which may be scikit-learn's."""
    kernel = as_kernel(name, warn=False)
    return kernel.set_params(**{kernel.renamed.get(k, k): v for k, v in parameters.items()})


def from_sklearn(name: str, **settings: Any) -> Kernel:
    """Give the kernel that scikit-learn or LIBSVM call so; settings it does not have are left."""
    kernel = as_kernel(name, warn=False)
    ours = {kernel.renamed.get(key, key): value for key, value in settings.items()}
    return kernel.set_params(**{k: v for k, v in ours.items() if k in kernel.get_params()})


def is_given(spec: Any) -> bool:
    """Whether a kernel asked for, by name or as an object, takes rows of a Gram matrix."""
    return bool(getattr(_asked(spec), "given", False))


def is_nonnegative(spec: Any) -> bool:
    """Whether it takes rows without negative entries only."""
    return bool(getattr(_asked(spec), "nonnegative", False))


def _asked(spec: Any) -> Any:
    if isinstance(spec, type):  # as_kernel refuses it, and says what to write
        return None
    return NAMED.get(spec, spec) if isinstance(spec, str) else spec


def _matrix(X: Any) -> Any:
    from linsep.core.validate import as_matrix

    return as_matrix(X)


def from_dict(values: Any) -> Kernel:
    """Give the kernel behind ``Kernel.to_dict``; no code is run.

    Parameters
    ----------
    values : dict
        As ``to_dict`` gives it, or as read from JSON.

    Returns
    -------
    Kernel
    """
    if not isinstance(values, dict) or not isinstance(values.get("type"), str):
        raise ModelError(f"a kernel is an object with its name as 'type', not {values!r:.80}.")
    kind = _KINDS.get(values["type"])
    if kind is None:
        raise ModelError(f"the kernel {values['type']!r:.60} is not known.")
    rest = {key: value for key, value in values.items() if key != "type"}
    parts = {k: from_dict(v) if isinstance(v, dict) else v for k, v in rest.items()}
    try:
        return kind.from_plain(parts)
    except (TypeError, SettingError) as error:
        raise ModelError(f"the kernel {values['type']} cannot be read: {error}") from error
