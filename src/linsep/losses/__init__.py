"""Loss functions of the margin: value, slope, conjugate; and a check of gradients.

``LOSSES`` has every loss by the name that estimators and files know it by.
"""

from __future__ import annotations

from linsep.losses.base import Loss
from linsep.losses.gradients import GradientCheck, check_gradient, numerical_gradient
from linsep.losses.hinge import HINGE, SQUARED_HINGE, QuadraticLoss
from linsep.losses.logistic import LOGISTIC

__all__ = [
    "LOSSES",
    "GradientCheck",
    "Loss",
    "check_gradient",
    "machine_loss",
    "numerical_gradient",
]

LOSSES: dict[str, Loss] = {loss.name: loss for loss in (HINGE, SQUARED_HINGE, LOGISTIC)}


def machine_loss(name: str) -> QuadraticLoss:
    """The loss of a support vector machine by its name; KeyError for any other.

    >>> machine_loss("squared_hinge").top
    inf
    """
    loss = LOSSES[name]
    if not isinstance(loss, QuadraticLoss):
        raise KeyError(name)
    return loss
