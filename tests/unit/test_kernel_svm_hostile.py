"""Kernel machines on hostile input: indefinite kernels, huge C, unscaled columns, no street."""

from __future__ import annotations

import numpy as np
import pytest

import linsep

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")


def test_a_kernel_with_a_negative_diagonal_ends_in_a_stationary_point():
    y = np.array([0, 1] * 10)
    model = linsep.KernelSVM(kernel="precomputed").fit(-np.eye(20), y)
    assert model.status_.name == "CONVERGED"
    assert model.certificate_.violation <= 1e-3
    assert not model.certificate_.convex
