"""The package itself, as others handle it."""

from __future__ import annotations

import pickle

import pytest

import linsep
import linsep.risk


def test_the_packages_go_to_other_processes_by_name():
    """A function of a script goes to a worker with the modules that it names (cloudpickle)."""
    for package in (linsep, linsep.risk):
        assert pickle.loads(pickle.dumps(package)) is package


def test_a_function_that_names_the_package_goes_to_a_worker():
    cloudpickle = pytest.importorskip("cloudpickle")

    def make(C):
        return linsep.LinearSVM(C=C)

    again = pickle.loads(cloudpickle.dumps(make))
    assert again(2.0).C == 2.0
