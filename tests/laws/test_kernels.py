"""What every kernel says of itself is true of its values; test_registries.py holds the table."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import linsep.kernels as kernels
from linsep.kernels import Additive, Function, Kernel, spec

BASES = {Kernel, Additive}
RIGHT = [kernels.Linear(), kernels.RBF(gamma=0.5)]


def subclasses(kind: type) -> set[type]:
    own = {k for k in kind.__subclasses__() if k.__module__.startswith("linsep.")}
    return own.union(*(subclasses(k) for k in own))


def example(kind: type) -> Kernel:
    """One of the class, its parts filled in."""
    given = {"left": RIGHT[0], "right": RIGHT[1], "factor": 0.5, "kernel": RIGHT[1]}
    names = inspect.signature(kind).parameters
    made: Kernel = kind(**{name: given[name] for name in names if name in given})
    return made


KINDS = sorted(
    (k for k in subclasses(Kernel) - BASES - {Function} if not k.__name__.startswith("_")),
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", [k for k in KINDS if not example(k).given])
def test_what_a_kernel_says_of_itself_is_true_of_its_values(kind):
    X = np.abs(np.random.default_rng(0).normal(size=(30, 4))) + 0.1
    kernel = example(kind).resolve(X)
    K = kernel.gram(X)
    assert (K == K.T).all() or not kernel.symmetric
    assert kernel.largest is None or np.abs(K).max() <= kernel.largest
    if kernel.positive:
        assert np.linalg.eigvalsh(K)[0] >= -1e-10 * np.abs(K).max()
    if kernel.linear:
        np.testing.assert_allclose(kernel.features(X), X)
    theirs = kernel.in_sklearn()
    if theirs is not None:
        from sklearn.metrics.pairwise import pairwise_kernels

        np.testing.assert_allclose(K, pairwise_kernels(X, metric=theirs.pop("kernel"), **theirs))
        again = spec.from_sklearn(kernel.scikit_learn or "", **theirs)
        np.testing.assert_allclose(again.gram(X), K)
    bound = kernel.error_bound(kernel.rows(X))
    assert 0 < bound < 1e-9
    single = kernel.gram(X, dtype=np.float32)
    assert kernel.single is (kernel.single_error(*2 * [kernel.rows(X, np.float32)]) is not None)
    if kernel.single:
        rows = kernel.rows(X, np.float32)
        assert (np.abs(single - K) <= kernel.single_error(rows, rows) * K).all()
