"""What a kernel machine has to say after its fit: errors and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from linsep.core import Status
from linsep.core.words import percent
from linsep.errors import DataError, GapWarning, NotPositiveWarning, NotSeparatedWarning
from linsep.estimators.kernel_hard import widest

__all__ = ["warn_of"]

_LEVEL = 6  # frames between a warning and the line of the caller that says fit


def warn_of(model: Any) -> None:
    """Raise or warn where the answer is not what was asked for."""
    status, gap = model.status_, model.certificate_
    if status is Status.DIVERGED:
        raise DataError(
            f"the numbers overflowed with kernel {model._kernel!r}; scale the columns, for "
            "instance with sklearn.preprocessing.StandardScaler, or lower C."
        )
    if not gap.convex and model._kernel.positive is None:
        warnings.warn(
            f"{model._kernel!r} is not positive semidefinite on these rows: there is no convex "
            "problem behind the machine, and the fit has ended in a stationary point.",
            NotPositiveWarning,
            stacklevel=_LEVEL,
        )
    if model.overlap_ is not None:
        words = _no_street(model)
        warnings.warn(words, NotSeparatedWarning, stacklevel=_LEVEL)
    elif not status.ok and not model.outcome_.interrupted:
        warnings.warn(_gap_words(model, gap, status), GapWarning, stacklevel=_LEVEL)


def _no_street(model: Any) -> str:
    if model.conflict_ is not None:
        i, j = model.conflict_
        why = f"rows {i} and {j} are equal and have different labels, so no kernel separates"
    else:
        why = f"{model.overlap_}: no plane in the feature space of {model._kernel!r} separates"
    return (
        f"{why} the classes and a hard margin does not exist. The model is that of C=1; choose a "
        "finite C."
    )


def _gap_words(model: Any, gap: Any, status: Status) -> str:
    begin = f"{status.value} ({status.name}, {model.n_iter_} working sets). "
    if not np.isfinite(gap.objective):
        most, proved = widest(gap), ""
        if np.isfinite(most):
            proved = f" It is proved that no street in the feature space is wider than {most:.3g}."
        return begin + (
            f"With C=inf no plane was found with all rows on their own side.{proved} If the "
            "classes overlap there is none: choose a finite C."
        )
    if not gap.convex:
        return begin + (
            f"The conditions of optimality are violated by {gap.violation:.3g}; tol asks for "
            f"{model.tol:.3g}. Raise max_iter or time_limit."
        )
    linear = type(model._kernel).__name__ == "Linear"
    other = "; LinearSVM is the same machine and takes them as they are" if linear else ""
    return begin + (
        f"The objective {gap.objective:.6g} is proved to be within "
        f"{percent(gap.relative_gap, 3)} of the best possible one; tol asks for "
        f"{percent(model.tol, 3)}. Raise max_iter or time_limit, or scale the columns{other}."
    )
