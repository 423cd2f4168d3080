"""Public names of ``linsep.losses``, their homes and types; see ``linsep/__init__.pyi``."""

# Names
from linsep.losses.base import Loss as Loss
from linsep.losses.gradients import check_gradient as check_gradient
from linsep.losses.gradients import GradientCheck as GradientCheck
from linsep.losses.gradients import numerical_gradient as numerical_gradient
from linsep.losses.table import LOSSES as LOSSES
from linsep.losses.table import machine_loss as machine_loss
