"""LinearSVM(C=inf) and ``separability`` never disagree, whatever the table looks like.

Where the verdict is a plane with a margin, the machine has it too, certified, all rows on their own
side; where it is a proof that no plane separates, the machine says the same. The planes are judged
here in fractions.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.protocol import Status

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")

KINDS = (
    "plain", "unscaled", "integers", "a constant column", "fewer rows than columns", "far from 0",
    "float32", "sparse with empty rows", "nearly equal columns", "any size of numbers",
)  # fmt: skip


def hostile(kind, seed, separable):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 50)), int(rng.integers(1, 11))
    X = rng.normal(size=(n, d))
    if kind == "unscaled":
        X *= 10.0 ** rng.integers(-8, 9, size=d)
    elif kind == "integers":
        X = np.round(3 * X)
    elif kind == "a constant column":
        X = np.hstack([X, np.full((n, 1), rng.choice([1.0, 1e6, 1e-6, 0.0]))])
    elif kind == "fewer rows than columns":
        X = rng.normal(size=(max(2, n // 6), 12))
    elif kind == "far from 0":
        X += 10.0 ** rng.integers(2, 9)
    elif kind == "float32":
        X = (X * 10.0 ** rng.integers(-5, 6)).astype(np.float32)
    elif kind == "sparse with empty rows":
        X *= (rng.random(X.shape) < 0.3) & (rng.random((n, 1)) < 0.8)
    elif kind == "nearly equal columns":
        X = np.hstack([X, X[:, :1] * (1 + 1e-9)]) * 10.0 ** rng.integers(-4, 5, size=d + 1)
    elif kind == "any size of numbers":
        X = 10.0 ** rng.uniform(-8, 8, size=X.shape) * rng.choice([-1, 1], size=X.shape)
    plain = X.astype(float)
    size = plain.std(axis=0)
    f = (plain - np.median(plain, axis=0)) @ (
        rng.normal(size=X.shape[1]) / np.where(size > 0, size, 1)
    )
    y = np.where(f > np.median(f), "yes", "no")
    if rng.random() < 0.2:
        y = np.where(f == f.max(), "yes", "no")  # one row of a class
    if rng.random() < 0.3:
        again = rng.integers(0, len(y), len(y) // 2 + 1)
        X, y = np.vstack([X, X[again]]), np.append(y, y[again])
    if not separable:
        some = rng.integers(0, len(y), 2)
        y[some] = np.where(y[some] == "yes", "no", "yes")
    if len(set(y)) < 2:
        y[0] = "yes" if y[0] == "no" else "no"
    return (scipy.sparse.csr_array(X) if kind.startswith("sparse") else X), y


def exact_margin(X, y, coef, intercept):
    """min y (w.x + b) / |w| squared, with its sign, in fractions."""
    w, b = [Fraction(float(v)) for v in coef], Fraction(float(intercept))
    rows = (X.toarray() if scipy.sparse.issparse(X) else X).astype(float)
    signs = np.where(y == "yes", 1, -1).tolist()
    least = min(
        s * (sum((Fraction(v) * u for v, u in zip(row, w)), Fraction(0)) + b)
        for s, row in zip(signs, rows.tolist())
    )
    return least * abs(least) / sum(u * u for u in w)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(3))
def test_verdict_and_machine_agree(kind, part):
    for seed in range(1000 * part, 1000 * part + 4):
        X, y = hostile(kind, 31 * seed + KINDS.index(kind), separable=seed % 4 != 3)
        proof = linsep.separability(X, y)
        model = linsep.LinearSVM(C=np.inf, tol=1e-3).fit(X, y)  # as many digits as the verdict
        gap = model.certificate_
        assert proof.separable is not None
        if not proof.separable:
            assert model.status_ is Status.INSEPARABLE and model.proof_.separable is False
            continue
        assert model.status_ is Status.CERTIFIED and gap.relative_gap <= 1e-3
        assert gap.errors == 0 and (model.predict(X) == y).all()
        found = exact_margin(X, y, model.coef_[0], model.intercept_[0])
        assert found > 0
        assert found >= Fraction(proof.margin[1] * (1 - 1e-3)) ** 2  # as good as the best
        assert found <= Fraction(proof.margin[1]) ** 2
        # the objective is that of the plane stretched until y f(x) >= 1, 1 / (2 margin^2)
        assert Fraction(gap.objective) >= 1 / (2 * found)
        assert Fraction(gap.lower_bound) <= 1 / (2 * found)


@pytest.mark.parametrize("seed", range(3))
def test_more_digits_than_rounding_leaves_are_not_claimed(seed):
    X, y = hostile("nearly equal columns", 31 * seed + KINDS.index("nearly equal columns"), True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linsep.errors.GapWarning)
        model = linsep.LinearSVM(C=np.inf).fit(X, y)
    gap = model.certificate_
    assert (model.status_ is Status.CERTIFIED) == (gap.relative_gap <= model.tol)
    assert gap.relative_gap <= 1e-3 and gap.errors == 0 and (model.predict(X) == y).all()


def test_another_look_at_an_unscaled_table_finds_the_same():
    X, y = hostile("unscaled", 1023, separable=True)
    model = linsep.LinearSVM(C=np.inf).fit(X, y)
    again = linsep.certify(model, X, y)
    assert again.relative_gap <= 1e-3 and again.errors == 0
    low, high = linsep.separability(X, y).margin
    assert again.lower_bound == pytest.approx(0.5 / high**2, rel=1e-6)
    assert again.objective == pytest.approx(0.5 / low**2, rel=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_classes_against_the_rest(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(24) % 3
    X = (rng.normal(size=(24, 4)) + 9.0 * np.eye(3, 4)[y]) * 10.0 ** rng.integers(-8, 9, size=4)
    model = linsep.LinearSVM(C=np.inf).fit(X, y)
    verdicts = [linsep.separability(X, y == k).separable for k in range(3)]
    assert model.status_ is (Status.CERTIFIED if all(verdicts) else Status.INSEPARABLE)
    if all(verdicts):
        assert (model.predict(X) == y).all() and model.certificate_.relative_gap <= 1e-3


def test_hulls_nearer_than_their_shares_are_rounded():
    """Columns of 1e-8 to 1e8: shares rounded once more cost a third of a thousandth."""
    rng = np.random.default_rng(1001)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 9))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 9, size=d)
    f = (X - np.median(X, axis=0)) @ (rng.normal(size=d) / X.std(axis=0))
    y = np.where(f > np.median(f), "yes", "no")
    low, high = linsep.separability(X, y).margin
    model = linsep.LinearSVM(C=np.inf, tol=1e-3).fit(X, y)
    assert model.status_ is Status.CERTIFIED
    assert model.certificate_.lower_bound == pytest.approx(0.5 / high**2, rel=1e-9)
    assert model.certificate_.objective == pytest.approx(0.5 / low**2, rel=1e-9)


@pytest.mark.parametrize("seed", [77, 154, 183, 285])
def test_rows_of_very_different_lengths_have_their_margin(seed):
    """Where floats lose the small difference of two long points, fractions do not."""
    rng = np.random.RandomState(seed)
    n, d = rng.choice([8, 20, 60, 150]), rng.choice([1, 2, 4, 10, 30])
    X, w, b = rng.randn(n, d), rng.randn(d), 0.3 * rng.randn()
    scores = X @ w + b
    kept = np.abs(scores) > rng.choice([1e-3, 1e-1, 0.5]) * np.abs(scores).max()
    X, y = X[kept], scores[kept] > 0
    if seed % 4 == 3:
        X = X + 10.0 ** rng.uniform(0, 5, d)
    else:
        X = X * 10.0 ** rng.uniform(-5, 5, (len(X), 1))
    if seed % 4 == 2:
        X = X * 10.0 ** rng.uniform(-8, 8, d)
    model = linsep.LinearSVM(C=np.inf).fit(X, y)
    assert model.status_ is Status.CERTIFIED
    low, high = linsep.separability(X, y).margin
    assert low <= model.certificate_.margin * (1 + 1e-9) <= high * (1 + 2e-9)
    nearest = min(
        abs(sum(Fraction(v) * Fraction(c) for v, c in zip(row, model.coef_[0].tolist()))
            + Fraction(float(model.intercept_[0])))
        for row in X.tolist()
    )  # fmt: skip
    assert float(nearest) / np.linalg.norm(model.coef_) == pytest.approx(
        model.certificate_.margin, rel=1e-6
    )
