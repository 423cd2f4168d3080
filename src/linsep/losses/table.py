"""Every loss by the name that estimators and files know it by."""

from __future__ import annotations

from linsep.losses.base import Loss
from linsep.losses.hinge import HINGE, SQUARED_HINGE, QuadraticLoss
from linsep.losses.logistic import LOGISTIC

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
