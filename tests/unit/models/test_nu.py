"""KernelSVM(nu=): the machine of nu-SVC, proved, and the C that nu comes to."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_wine, make_moons
from sklearn.preprocessing import scale
from sklearn.svm import NuSVC

import linsep
from linsep.cli.main import main
from linsep.core.checkpoint import Checkpointer
from linsep.core.drive import Observer
from linsep.errors import ModelError, SettingError


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), np.where(y == 1, 1, -1)


def moons():
    return make_moons(300, noise=0.35, random_state=5)


@pytest.mark.parametrize("table", [wine, moons])
@pytest.mark.parametrize("nu", [0.403, 0.611])  # nu n whole: its scale may be any of a range
@pytest.mark.parametrize(
    "kernel", [{"kernel": "rbf", "gamma": 0.2}, {"kernel": "poly", "degree": 2, "gamma": 0.5}]
)
def test_it_is_the_machine_of_libsvm(table, nu, kernel):
    X, y = table()
    more = {"coef0": 1.0} if kernel["kernel"] == "poly" else {}
    ours = linsep.KernelSVM(nu=nu, tol=1e-8, **more, **kernel)
    ours.fit(X, y)
    peer = NuSVC(nu=nu, tol=1e-9, coef0=1.0, **kernel).fit(X, y)
    wanted = peer.decision_function(X)
    assert (
        np.abs(ours.decision_function(X) - wanted).max() < 3e-3 * np.abs(wanted).max()
    )  # root of tol
    assert pytest.approx(np.abs(peer.dual_coef_).max(), rel=3e-3) == ours.C_
    assert ours.status_.name == "CERTIFIED" and ours.certificate_.relative_gap <= ours.tol
    assert len(ours.support_) >= nu * len(y) * (1 - 1e-9)
    assert (ours.certificate_.inside <= nu * len(y) * (1 + 1e-9)) and "nu=" in str(
        ours.certificate_
    )
    assert f"the same machine as C = {ours.C_:.6g}" in ours.summary()
    same = linsep.KernelSVM(C=ours.C_, kernel=ours.kernel_).fit(X, y)
    found = same.decision_function(X)
    assert np.abs(found - ours.decision_function(X)).max() < 3e-3 * np.abs(found).max()


def _plain_bounds(K, y, alpha, b, nu):
    """Bounds of nu-SVC by its own formulas: v and r in units of 1 / n, for any machine."""
    n, sums = len(y), alpha.sum()
    a = alpha * nu / sums  # sum nu; allowed if no entry is above 1 / n
    assert abs(a @ y) < 1e-12 and a.max() <= (1 + 1e-9) / n
    values = K @ (a * y) + b * nu / sums
    r = np.quantile(y * values, nu, method="inverted_cdf")
    square = (a * y) @ K @ (a * y)
    high = 0.5 * square - nu * r + np.maximum(0, r - y * values).mean()
    return high, -0.5 * square


def test_the_proof_says_what_the_formulas_of_nu_svc_say():
    X, y = wine()
    model = linsep.KernelSVM(nu=0.3, gamma=0.1).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    high, low = _plain_bounds(model.kernel_.gram(X), y, alpha, model.intercept_[0], 0.3)
    assert high - low < 2e-5 * abs(low) and high >= low - 1e-12
    assert alpha.sum() == pytest.approx(0.3 * len(y) * model.C_, rel=1e-9)
    # in the units of C: objective / (n C)^2 - nu / (n C)
    unit = len(y) * model.C_
    assert model.certificate_.objective / unit**2 - 0.3 / unit == pytest.approx(low, rel=1e-4)


def test_another_nu_than_that_of_the_machine_is_not_proved():
    X, y = wine()
    model = linsep.KernelSVM(nu=0.3, gamma=0.1).fit(X, y)
    assert linsep.certify(model, X, y) == model.certificate_
    for forged in (0.29, 0.31):
        model.nu = forged
        assert linsep.certify(model, X, y).relative_gap > 1e-3


def test_weights_and_sparse_rows():
    X, y = moons()
    twice = np.repeat(np.arange(len(y)), 1 + np.arange(len(y)) % 2)
    weight = 1.0 + np.arange(len(y)) % 2
    by_weight = linsep.KernelSVM(nu=0.5, gamma=1.0).fit(X, y, weight)
    by_rows = linsep.KernelSVM(nu=0.5, gamma=1.0).fit(X[twice], y[twice])
    np.testing.assert_allclose(
        by_weight.decision_function(X), by_rows.decision_function(X), atol=1e-3
    )
    sparse = linsep.KernelSVM(nu=0.5, gamma=1.0).fit(scipy.sparse.csr_array(X), y)
    plain = linsep.KernelSVM(nu=0.5, gamma=1.0).fit(X, y)
    np.testing.assert_allclose(sparse.decision_function(X), plain.decision_function(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore::linsep.errors.NotPositiveWarning")
def test_a_nu_that_no_machine_has_is_refused_with_the_range():
    X, y = moons()
    few = np.flatnonzero((y == 0) | (np.arange(len(y)) % 5 == 0))
    most = 2 * np.mean(y[few] == 1)
    with pytest.raises(SettingError, match=rf"too large for these rows: 0 < nu <= {most:.6g}"):
        linsep.KernelSVM(nu=most + 0.01).fit(X[few], y[few])
    assert linsep.KernelSVM(nu=most, gamma=1.0).fit(X[few], y[few]).certificate_.relative_gap < 1e-5
    with pytest.raises(SettingError, match=r"too small for these rows.* < nu <= 1\."):
        linsep.KernelSVM(nu=0.05, kernel="linear").fit(X, y)
    with pytest.raises(SettingError, match=r"0 < nu <= 0.806723, .* in a pair of classes"):
        linsep.KernelSVM(nu=0.81).fit(*load_wine(return_X_y=True))
    for more in ({"C": 2.0}, {"beta": 1.0}):
        with pytest.raises(SettingError, match="Give one of them"):
            linsep.KernelSVM(nu=0.3, **more).fit(X, y)
    for wrong in (0.0, -1, "a"):
        with pytest.raises(SettingError, match="nu"):
            linsep.KernelSVM(nu=wrong).fit(X, y)
    with pytest.raises(SettingError, match="positive semidefinite"):
        linsep.KernelSVM(nu=0.3, kernel="sigmoid", gamma=2.0, coef0=1.0).fit(X, y)


def test_files_hold_nu_and_its_cost(tmp_path, capsys):
    X, y = wine()
    model = linsep.KernelSVM(nu=0.3, gamma=0.1).fit(X, y)
    path = tmp_path / "m.json"
    linsep.save(model, path)
    again = linsep.load(path)
    assert again.C_ == model.C_ and again.nu == 0.3 and again.summary() == again.summary()
    assert linsep.certify(again, X, y) == model.certificate_
    for cost in (None, -1.0, "x", 1):
        content = json.loads(path.read_text())
        content["cost"] = cost
        path.with_name("bad.json").write_text(json.dumps(content))
        with pytest.raises(ModelError, match="cost"):
            linsep.load(path.with_name("bad.json"))
    linsep.save(model, tmp_path / "m.model")
    assert (tmp_path / "m.model").read_text().startswith("svm_type nu_svc\n")
    assert linsep.certify(tmp_path / "m.model", X, y).relative_gap < 1e-4
    fresh = clone(model).fit(X, y)
    assert np.array_equal(fresh.dual_coef_, model.dual_coef_)
    fresh.set_params(nu=None).fit(X, y)
    assert not hasattr(fresh, "C_")
    out = str(tmp_path / "cli.json")
    assert main(["fit", "xor", "-a", "kernel-svm", "-s", "nu=0.5", "-q", "-o", out]) == 0
    assert main(["verify", out, "xor"]) == 0


def test_pairs_of_classes_by_one_vs_one():
    X, y = load_wine(return_X_y=True)
    model = linsep.OneVsOne(linsep.KernelSVM(nu=0.3, gamma=0.05)).fit(scale(X), y)
    peer = NuSVC(nu=0.3, gamma=0.05).fit(scale(X), y)
    assert (model.predict(scale(X)) == peer.predict(scale(X))).mean() > 0.99


def test_where_no_nu_is_possible_the_words_name_another_way():
    X = np.repeat(np.eye(3), 4, axis=0)  # every row stands in both classes
    with pytest.raises(SettingError, match="Choose a C instead of nu, or another kernel"):
        linsep.KernelSVM(nu=0.5).fit(X, np.arange(12) % 2)


def test_a_fit_without_time_has_the_cost_of_its_machine():
    X, y = moons()
    with pytest.warns(linsep.errors.GapWarning):
        model = linsep.KernelSVM(nu=0.3, time_limit=0).fit(X, y)
    assert model.C_ > 0 and "nu" in model.summary()


@pytest.mark.parametrize("nu", [0.1037, 0.2963])
def test_three_classes_are_pairs_each_with_a_cost_of_its_own(nu, tmp_path):
    """What LIBSVM does: nu for each pair of classes."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    ours = linsep.KernelSVM(nu=nu, gamma=0.1, tol=1e-7, decision_function_shape="ovo").fit(X, y)
    peer = NuSVC(nu=nu, gamma=0.1, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)
    assert ours.status_.name == "CERTIFIED" and ours.certificate_.relative_gap <= 1e-7
    pairs = linsep.OneVsOne(linsep.KernelSVM(nu=nu, gamma=0.1, tol=1e-7)).fit(X, y)
    np.testing.assert_allclose(ours.C_, [machine.C_ for machine in pairs.estimators_], rtol=1e-6)
    assert len(set(np.round(ours.C_, 6))) == 3 and "its own C" in ours.summary()
    assert linsep.certify(ours, X, y) == ours.certificate_
    linsep.save(ours, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    assert np.array_equal(again.C_, ours.C_) and linsep.certify(again, X, y) == ours.certificate_
    gram = linsep.KernelSVM(nu=nu, kernel="precomputed", tol=1e-7).fit(ours.kernel_.gram(X), y)
    np.testing.assert_allclose(gram.C_, ours.C_, rtol=1e-6)
    ours.nu = nu * 1.02  # a forged claim
    assert linsep.certify(ours, X, y).relative_gap > 1e-4
    with pytest.warns(linsep.errors.GapWarning):
        hurried = linsep.KernelSVM(nu=nu, time_limit=0).fit(X, y)
    assert hurried.C_.shape == (3,) and hurried.predict(X).shape == y.shape


class _Stop(Observer):
    """Ends the run after so many moments."""

    def __init__(self, after):
        self.left = after

    def moment(self, now):
        self.left -= 1
        return self.left <= 0


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_goes_on_from_its_checkpoint(classes, tmp_path):
    X, y = wine() if classes == 2 else (scale(load_wine().data), load_wine().target)
    whole = linsep.KernelSVM(nu=0.3, gamma=0.1).fit(X, y)
    for after in (1, 4):
        path = tmp_path / f"{after}.npz"
        watch = [Checkpointer(path, every=0.0), _Stop(after)]
        stopped = linsep.KernelSVM(nu=0.3, gamma=0.1, callbacks=watch).fit(X, y)
        assert stopped.status_.name == "STOPPED"
        gone_on = linsep.KernelSVM(nu=0.3, gamma=0.1).resume(X, y, path)
        assert gone_on.status_.name == "CERTIFIED"
        assert np.array_equal(gone_on.C_, whole.C_)
        assert gone_on.dual_coef_.tobytes() == whole.dual_coef_.tobytes()
        assert gone_on.certificate_ == whole.certificate_
        with pytest.raises(linsep.errors.CheckpointError, match="was made for"):
            linsep.KernelSVM(nu=0.3, gamma=0.1).resume(2 * X, y, path)


def test_the_search_for_a_cost_is_traced():
    X, y = wine()
    run = linsep.trace(linsep.KernelSVM(nu=0.4), X[::6], y[::6], max_steps=3)
    assert len(run.steps) > 1
