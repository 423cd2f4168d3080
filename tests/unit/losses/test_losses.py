"""Losses as objects: what each says of itself agrees, and a new one is one class and one line."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import linsep
from linsep.core import Problem, drive
from linsep.core.checkpoint import describe
from linsep.errors import CapabilityError, SettingError
from linsep.losses import LOSSES, machine_loss
from linsep.losses.hinge import HINGE, SQUARED_HINGE, QuadraticLoss
from linsep.losses.logistic import LOGISTIC
from linsep.proofs.hinge import Objective, hinge_gap
from linsep.solvers.hinge.dual_cd import DualCD
from linsep.solvers.hinge.interior import InteriorHinge
from linsep.solvers.hinge.newton import NewtonHinge
from linsep.solvers.hinge.proximal import ProximalNewton
from linsep.solvers.hinge.wide import WideHinge
from linsep.solvers.logistic.conjugate import LogisticCG


class HuberHinge(QuadraticLoss):
    """0, then u^2 / 2 up to u = 1, then u - 1/2: a loss that linsep does not have."""

    name, words = "huber_hinge", "Huber hinge"
    q, top = 0.5, 1.0


class SteepHinge(QuadraticLoss):
    """Curved over a tenth of the way only, and twice as steep."""

    name, words = "steep_hinge", "steep hinge"
    q, top = 0.05, 2.0


HUBER, STEEP = HuberHinge(), SteepHinge()
EVERY = [HINGE, SQUARED_HINGE, LOGISTIC, HUBER, STEEP]


def huber(u):
    return np.where(u <= 0, 0.0, np.where(u < 1, 0.5 * u * u, u - 0.5))


@pytest.fixture
def table(monkeypatch):
    for loss in (HUBER, STEEP):
        monkeypatch.setitem(LOSSES, loss.name, loss)


def rows(n=120, d=4, seed=0, noise=0.8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ np.arange(1, d + 1) + noise * d * rng.standard_normal(n) > 0.3, 1, -1)
    return X, y


# -- each loss ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", EVERY, ids=repr)
def test_slope_and_curvature_are_derivatives(loss):
    u = np.array([-3.0, -0.7, 0.03, 0.35, 0.8, 2.1, 5.0])
    h = 1e-6
    np.testing.assert_allclose(
        (loss.value(u + h) - loss.value(u - h)) / (2 * h), loss.slope(u), atol=1e-8
    )
    np.testing.assert_allclose(
        (loss.slope(u + h) - loss.slope(u - h)) / (2 * h), loss.curvature(u), atol=1e-7
    )


@pytest.mark.parametrize("loss", EVERY, ids=repr)
def test_conjugate_is_the_largest_of_t_u_minus_the_loss(loss):
    u = np.linspace(-60.0, 60.0, 240_001)
    values = loss.value(u)
    for t in (0.0, 0.1, 0.5, 0.93, 1.0):
        found = float(loss.conjugate(np.array([t]))[0])
        assert found == pytest.approx(float((t * u - values).max()), abs=1e-6)
    assert loss.conjugate(np.array([-0.1]))[0] == np.inf
    if np.isfinite(loss.top):
        assert loss.conjugate(np.array([loss.top * 1.01]))[0] == np.inf


@pytest.mark.parametrize("loss", EVERY, ids=repr)
def test_dual_cost_is_the_sum_of_conjugates(loss):
    rng = np.random.default_rng(2)
    cost = rng.uniform(0.1, 3.0, 20)
    alpha = cost * rng.uniform(0.0, min(loss.top, 4.0), 20)
    want = float((cost * loss.conjugate(alpha / cost)).sum())
    assert loss.dual_cost(alpha, cost) == pytest.approx(want, rel=1e-12)
    assert (loss.cap(cost) >= alpha).all()


@pytest.mark.parametrize("loss", EVERY, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_no_offset_is_better_than_the_best(loss, seed):
    rng = np.random.default_rng(seed)
    scores, cost = 3.0 * rng.standard_normal(40), rng.uniform(0.1, 2.0, 40)
    sign = np.where(rng.random(40) < 0.3, 1.0, -1.0)

    def total(b):
        return float(cost @ loss.value(loss.corner - sign * (scores + b)))

    b = loss.best_offset(scores, sign, cost)
    other = scipy.optimize.minimize_scalar(total, bracket=(b - 1.0, b + 1.0)).x
    assert total(b) <= total(other) + 1e-9
    best = loss.best_constant(2.0, 3.0)

    def of_two(c):
        return float(np.array([2.0, 3.0]) @ loss.value(loss.corner - np.array([c, -c])))

    assert of_two(best) <= min(of_two(best + 0.01), of_two(best - 0.01)) + 1e-12


def test_the_written_out_huber_hinge_is_the_one_by_two_numbers():
    u = np.linspace(-2.0, 4.0, 601)
    np.testing.assert_allclose(HUBER.value(u), huber(u), atol=1e-15)


@pytest.mark.parametrize("h", [0.3, 1.7])
def test_a_corner_rounded_off_lies_a_little_above(h):
    u = np.linspace(-3.0, 3.0, 601)
    z = HINGE.rounded_slope(u, h)
    rounded = z * u - h * (z - 0.5) ** 2 + h / 4
    assert (
        (rounded - HINGE.value(u) >= -1e-15) & (rounded - HINGE.value(u) <= h / 4 + 1e-15)
    ).all()
    cost = np.ones_like(u)
    want = float((HINGE.value(u) - z * u).sum())
    assert HINGE.rounded_excess(h, u, cost)[0] == pytest.approx(want)


def test_losses_are_known_by_their_names():
    assert list(LOSSES) == ["hinge", "squared_hinge", "logistic"]
    assert machine_loss("hinge") is HINGE
    assert type(HINGE)() == HINGE
    assert HINGE != SQUARED_HINGE
    assert "loss='squared_hinge'" in describe(DualCD(loss=SQUARED_HINGE))
    with pytest.raises(KeyError):
        machine_loss("logistic")


# -- a new loss ---------------------------------------------------------------------------------

SOLVERS = {
    "newton": NewtonHinge,
    "dual-cd": DualCD,
    "proximal": lambda C, loss, tol: ProximalNewton(C, loss, tol, sweeps=2),
    "interior": InteriorHinge,
    "wide": lambda C, loss, tol: WideHinge(C, loss, tol, sweeps=2),
    "conjugate gradients": lambda C, loss, tol: LogisticCG(C, tol, loss=loss),
}


def best_by_scipy(X, y, C, loss, offset):
    def objective(a):
        u = 1.0 - y * (X @ a[:-1] + offset * a[-1])
        z = C * loss.slope(u) * y
        gradient = np.append(a[:-1] - z @ X, -offset * z.sum())
        return 0.5 * a[:-1] @ a[:-1] + C * float(loss.value(u).sum()), gradient

    found = scipy.optimize.minimize(
        objective, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000},
    )  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("loss", [HUBER, STEEP], ids=repr)
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_every_solver_of_machines_solves_a_loss_it_has_never_seen(name, loss, offset, C):
    X, y = rows()
    problem = Problem(X, y, fit_intercept=offset)
    outcome = drive(problem, SOLVERS[name](C, loss, 1e-6))
    assert outcome.status.name == "CERTIFIED"
    how = "free" if offset else "none"
    gap = hinge_gap(problem, outcome.witness, Objective(loss, C, how))
    assert gap.relative_gap <= 1.1e-6
    assert gap.objective == pytest.approx(best_by_scipy(X, y, C, loss, offset), rel=2e-6)


@pytest.mark.parametrize("loss", ["huber_hinge", "steep_hinge"])
@pytest.mark.parametrize("solver", ["auto", "newton", "dual-cd", "proximal-newton"])
def test_an_estimator_fits_and_certifies_a_loss_of_the_table(table, loss, solver):
    X, y = rows()
    model = linsep.LinearSVM(C=0.7, loss=loss, solver=solver).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    best = best_by_scipy(X, y, 0.7, LOSSES[loss], True)
    assert model.certificate_.lower_bound <= best * (1 + 1e-9)
    assert model.certificate_.objective == pytest.approx(best, rel=1.1e-3)
    assert f"{LOSSES[loss].words} losses" in model.certificate_.words
    assert linsep.certify(model, X, y).relative_gap <= 1e-3


def test_tall_and_sparse_tables_do_it_too(table):
    import scipy.sparse

    X, y = rows(30_000, 12, seed=3)
    model = linsep.LinearSVM(loss="huber_hinge").fit(X, y)
    assert "Newton" in model.solver_used_
    assert model.status_.name == "CERTIFIED"
    S = scipy.sparse.random_array((900, 3000), density=0.01, random_state=0, format="csr")
    t = np.where(S @ np.random.default_rng(0).standard_normal(3000) > 0, 1, -1)
    model = linsep.LinearSVM(C=10.0, loss="huber_hinge").fit(S, t)
    assert model.status_.name == "CERTIFIED"
    many = linsep.LinearSVM(loss="huber_hinge").fit(X[:600], np.digitize(X[:600, 0], [-0.5, 0.5]))
    assert many.status_.name == "CERTIFIED"


@pytest.mark.parametrize("offset", [True, False])
def test_conjugate_gradients_solve_the_squared_hinge_as_its_own_solvers_do(offset):
    X, y = rows(60, 200, seed=5)
    problem = Problem(X, y, fit_intercept=offset)
    one = drive(problem, LogisticCG(1.0, 1e-8, loss=SQUARED_HINGE))
    two = drive(problem, DualCD(1.0, SQUARED_HINGE, 1e-8))
    assert one.status.name == "CERTIFIED"
    np.testing.assert_allclose(one.witness.a, two.witness.a, atol=1e-4)


def test_what_is_not_there_is_said():
    with pytest.raises(CapabilityError, match=r"DualCD is written for .* 'logistic' is none"):
        DualCD(loss=LOGISTIC)
    with pytest.raises(CapabilityError, match=r"losses without a corner; 'hinge' is none"):
        LogisticCG(loss=HINGE)
    with pytest.raises(SettingError, match="loss"):
        linsep.LinearSVM(loss="huber_hinge").fit(*rows())  # not in the table here


def test_one_loss_of_all_classes_exists_for_the_hinge_alone(table):
    X, _ = rows()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    with pytest.raises(SettingError, match="crammer-singer"):
        linsep.LinearSVM(loss="huber_hinge", multi_class="crammer-singer").fit(X, y)


def test_offsets_of_many_classes_are_balanced_by_either_way_of_solving(monkeypatch):
    from linsep.losses import softmax

    rng = np.random.default_rng(0)
    K = softmax._MANY_CLASSES
    S, label = rng.normal(size=(K, 2 * K)), np.arange(2 * K) % K
    cost = np.ones(2 * K)
    short, at = softmax.best_intercepts(S, label, cost)
    assert abs(softmax.class_balance(at.rivals, label, cost)).max() < 1e-11
    monkeypatch.setattr(softmax, "_MANY_CLASSES", 10 * K)
    assert np.allclose(short, softmax.best_intercepts(S, label, cost)[0], atol=1e-11)
