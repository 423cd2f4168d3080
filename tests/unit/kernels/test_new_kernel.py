"""A kernel that linsep does not have: one class and one line make it a kernel like the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linsep
from linsep.kernels import Kernel, Linear, Rows, Sigmoid, as_kernel, from_dict, spec
from linsep.kernels.base import number
from linsep.kernels.rows import inner_products


@dataclass(frozen=True, repr=False)
class Cauchy(Kernel):
    """K(x, z) = 1 / (1 + |x - z|^2 / width^2), positive semidefinite."""

    scale: float = 1.0

    def _check_settings(self) -> None:
        number(self, "scale", low=0, above=True)

    @property
    def largest(self) -> float | None:
        return 1.0

    @property
    def width(self) -> float | None:
        return float(self.scale)

    def error_bound(self, rows: Rows) -> float:
        """Distances by products are off by a share of the largest square, which 1 / q passes on."""
        largest = float(rows.squares.max(initial=0.0)) / float(self.scale) ** 2
        return super().error_bound(rows) * (1 + 4 * largest)

    def block(self, A: Rows, B: Rows) -> Any:
        far = A.squares[:, None] + B.squares - 2 * inner_products(A.centred, B.centred)
        return 1 / (1 + np.maximum(far, 0) / A.dtype.type(self.scale) ** 2)

    def _diagonal(self, rows: Rows) -> Any:
        return np.ones(rows.n, rows.dtype)

    def ball(self, x: list[float], z: list[float]) -> Any:
        from flint import arb

        far = sum(((arb(a) - arb(b)) ** 2 for a, b in zip(x, z, strict=True)), arb(0))
        return 1 / (1 + far / arb(float(self.scale)) ** 2)


@pytest.fixture
def registered() -> Iterator[None]:
    spec.register(Cauchy, cauchy=Cauchy())
    yield
    del spec._KINDS["Cauchy"], spec.NAMED["cauchy"]


def rings(n: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], n // 2)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1.0 + y + rng.normal(0, 0.2, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def truth(X: Any, scale: float) -> Any:
    far = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return 1 / (1 + far / scale**2)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("kernel", ["cauchy", Cauchy(scale=2.0)], ids=["name", "object"])
def test_a_new_kernel_is_fitted_proved_saved_and_read(kernel, tmp_path):
    X, y = rings()
    model = linsep.KernelSVM(kernel=kernel, C=2.0, tol=1e-4).fit(X, y)
    assert model.status_ is linsep.Status.CERTIFIED
    assert model.certificate_.relative_gap <= 1e-4
    # the objective of the answer, from the formula alone
    K = truth(X, model.kernel_.scale)
    signed = np.zeros(len(y))
    signed[model.support_] = model.dual_coef_[0]
    f, sign = K @ signed + model.intercept_[0], np.where(y == 1, 1.0, -1.0)
    objective = 0.5 * signed @ K @ signed + 2.0 * np.maximum(0, 1 - sign * f).sum()
    assert objective == pytest.approx(model.certificate_.objective, rel=1e-9)
    assert objective <= model.certificate_.objective
    linsep.save(model, tmp_path / "new.json")
    again = linsep.load(tmp_path / "new.json")
    assert again.kernel_ == model.kernel_
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert linsep.certify(again, X, y).relative_gap <= 1e-4


@pytest.mark.usefixtures("registered")
def test_a_new_kernel_takes_part_in_sums_and_products():
    X, y = rings(60)
    kernel = 0.5 * Cauchy(scale=2.0) * Cauchy() + Linear() + 1
    model = linsep.KernelSVM(kernel=kernel, tol=1e-3).fit(X, y)
    assert model.status_ is linsep.Status.CERTIFIED
    assert from_dict(model.kernel_.to_dict()) == kernel
    rows = kernel.rows(X)
    assert kernel.error_bound(rows) > Cauchy().error_bound(rows) + Linear().error_bound(rows)
    assert (0.5 * Cauchy() * Cauchy() + 1).largest == 1.5 and kernel.largest is None


@pytest.mark.usefixtures("registered")
def test_a_new_kernel_is_diagnosed_by_the_width_it_names():
    X, _ = rings(60)
    assert as_kernel("cauchy").diagnose(X).sigma == 1.0
    assert Cauchy(scale=1e-3).diagnose(X).verdict == "nearly diagonal"


def test_a_kernel_without_a_line_in_the_table_is_not_read():
    with pytest.raises(linsep.errors.ModelError, match="not known"):
        from_dict(Cauchy().to_dict())


BOUNDED = [
    *spec.NAMED.values(),
    spec.as_kernel("rbf").set_params(gamma=30.0),
    spec.as_kernel("poly").set_params(gamma=2.0, degree=5),
    spec.as_kernel("rbf") * Linear() + 1,
    0.3 * (Sigmoid(0.01) + spec.as_kernel("poly")),
]


@pytest.mark.parametrize("kernel", [k for k in BOUNDED if not k.given], ids=repr)
def test_the_error_bound_holds_for_values_in_balls(kernel):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(12, 5))) * 10.0 ** rng.integers(-3, 3, size=(12, 1)) + 7.0
    kernel = kernel.resolve(X)
    rows = kernel.rows(X)
    kernel.prepare(rows)
    K, bound = kernel.block(rows, rows), kernel.error_bound(rows)
    root = np.sqrt(np.abs(np.diagonal(K))) if kernel.positive else np.sqrt(np.abs(K).max())
    root = np.broadcast_to(root, len(K))
    for i in range(len(K)):
        for j in range(len(K)):
            off = abs(kernel.ball(list(X[i]), list(X[j])) - float(K[i, j]))
            assert float(off.upper()) <= bound * root[i] * root[j] + 1e-300


def test_nobody_asks_for_the_class_of_a_kernel():
    """Only messages may show its name."""
    import re
    from pathlib import Path

    found = []
    asks = re.compile(
        r"type\([^()]*kernel_?[^()]*\)\.__name__"
        r"|isinstance\([^()]*kernel_?, \(?(RBF|Linear|Polynomial|Sigmoid|Precomputed|Function)"
    )
    for path in Path(linsep.__file__).parent.rglob("*.py"):
        for at, line in enumerate(path.read_text().splitlines(), 1):
            if asks.search(line) and "parameter of {type(" not in line:
                found.append(f"{path.name}:{at}: {line.strip()}")
    assert not found, "\n".join(found)
