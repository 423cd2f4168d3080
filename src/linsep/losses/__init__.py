"""Loss functions of the margin: value, derivative, conjugate; and a check of gradients."""

from __future__ import annotations

from linsep.losses.gradients import GradientCheck, check_gradient, numerical_gradient

__all__ = ["GradientCheck", "check_gradient", "numerical_gradient"]
