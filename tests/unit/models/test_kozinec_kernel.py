"""Kozinec(kernel=): the same rule among images, with its proof from the kernel alone."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import linsep
from linsep.cli.main import main
from linsep.core.protocol import Status
from linsep.errors import CapabilityError, SettingError
from linsep.kernels import RBF, Linear, Polynomial

XOR = linsep.data.load("xor")


def blobs(seed=3, n=40):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 3)) + 4.0 * y[:, None], y


def ring(seed=5, n=50):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where((X**2).sum(axis=1) > 1.5, "out", "in")


@pytest.mark.parametrize("steps", ["away", "plain"])
@pytest.mark.parametrize("space", ["difference", "augmented"])
def test_the_linear_kernel_gives_the_plane_without_kernel(steps, space):
    X, y = blobs()
    eps = {"eps": 0.1 if steps == "plain" else 1e-7, "max_iter": 20_000}
    plain = linsep.Kozinec(space=space, steps=steps, **eps).fit(X, y)
    lifted = linsep.Kozinec(space=space, steps=steps, kernel="linear", **eps).fit(X, y)
    assert lifted.status_ is plain.status_ is Status.CERTIFIED
    coef = lifted.dual_coef_ @ lifted.support_vectors_
    near = 0.3 if steps == "plain" else 1e-4
    assert np.allclose(coef, plain.coef_, atol=near * np.abs(plain.coef_).max())
    name = "margin" if space == "difference" else "margin_aug"
    low, high = (getattr(lifted.certificate_, f"{name}_{end}") for end in ("low", "high"))
    assert low <= high <= low + eps["eps"] * (1 + 1e-6)
    best = getattr(plain.certificate_, f"{name}_low"), getattr(plain.certificate_, f"{name}_high")
    assert low <= best[1] and best[0] <= high


def test_it_is_the_hard_margin_of_the_support_vector_machine():
    X, y = ring()
    kernel = Polynomial(2)
    model = linsep.Kozinec(eps=1e-7, kernel=kernel).fit(X, y)
    hard = linsep.KernelSVM(C=np.inf, kernel=kernel).fit(X, y)
    facts = model.certificate_
    assert facts.separable and facts.errors == 0
    assert facts.margin_low <= hard.certificate_.margin * (1 + 1e-9)
    assert hard.certificate_.margin <= facts.margin_high * (1 + 1e-9)
    assert facts.margin_high - facts.margin_low <= 1.1e-7
    new = np.random.default_rng(0).normal(size=(200, 2))
    a, b = model.decision_function(new), hard.decision_function(new)
    assert np.allclose(a / np.abs(a).max(), b / np.abs(b).max(), atol=1e-4)
    assert (model.predict(new) == hard.predict(new)).mean() > 0.99


def test_xor_by_fractions():
    model = linsep.Kozinec(eps=1e-9, kernel=Polynomial(2)).fit(XOR.X, XOR.y)
    shares = [Fraction(float(c)) for c in model.dual_coef_[0]]
    assert [abs(c) for c in shares] == [Fraction(1, 2)] * 4  # 1/8 once y f(x) >= 1 is asked for
    rows = [[Fraction(float(v)) for v in row] for row in model.support_vectors_]
    values = [
        sum(c * (sum(a * b for a, b in zip(x, z)) + 1) ** 2 for c, z in zip(shares, rows))
        for x in [[Fraction(float(v)) for v in row] for row in XOR.X]
    ]
    assert [v / 4 for v in values] == np.where(XOR.y == 1, 1, -1).tolist()
    assert "in the feature space" in model.summary()


hostile = st.integers(0, 10**6).map(np.random.default_rng)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=25, deadline=None)
@given(hostile, st.booleans(), st.sampled_from(["difference", "augmented"]))
def test_what_it_claims_is_what_separability_proves(rng, free, space):
    n, d, K = int(rng.integers(2, 12)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.integers(0, K, size=n)
    y[:2] = [0, 1]
    kernel = Polynomial(int(rng.integers(1, 3)))
    model = linsep.Kozinec(kernel=kernel, space=space, fit_intercept=free, max_iter=300)
    model.fit(X, y)
    truth = linsep.separability(X, y, kernel=kernel, fit_intercept=free)
    facts = model.certificate_
    assert facts.separable in (None, truth.separable)
    if model.status_ is Status.INSEPARABLE:
        assert truth.separable is False
    if model.status_ in (Status.CERTIFIED, Status.SEPARATED):
        assert truth.separable and (model.predict(X) == y).all()
    if len(model.classes_) == 2:
        assert facts.margin_low <= truth.margin[1] and truth.margin[0] <= facts.margin_high
    assert linsep.certify(model, X, y).errors == facts.errors


def test_contradicting_labels_are_told_with_their_rows():
    X = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0], [3.0, 3.0]])
    model = linsep.Kozinec(kernel="rbf").fit(X, [0, 0, 1, 1])
    assert model.status_ is Status.INSEPARABLE and set(model.certificate_.rows) == {0, 2}
    assert np.isfinite(model.decision_function(X)).all()


def test_precomputed_functions_and_three_classes():
    X, y = ring(n=30)
    K = Polynomial(2).gram(X)
    given = linsep.Kozinec(eps=1e-4, kernel="precomputed").fit(K, y)
    direct = linsep.Kozinec(eps=1e-4, kernel=lambda x, z: (x @ z + 1.0) ** 2).fit(X, y)
    # both are within eps of the best margin, and the kernel's values differ in their last bits
    assert np.allclose(given.decision_function(K), direct.decision_function(X), atol=1e-3)
    rng = np.random.default_rng(1)
    y3 = np.arange(30) % 3
    X3 = rng.normal(size=(30, 2)) + 6.0 * np.eye(3)[y3][:, :2]
    three = linsep.Kozinec(eps=0.1, kernel=Polynomial(2)).fit(X3, y3)
    assert three.dual_coef_.shape[0] == 3 and three.certificate_.margin_aug_high < np.inf
    assert (three.predict(X3) == y3).all()


def test_files_traces_clones_and_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = ring()
    model = linsep.Kozinec(eps=1e-4, kernel=RBF(gamma=0.7)).fit(X, y)
    linsep.save(model, "model.json")
    back = linsep.load("model.json")
    assert back.certificate_ == model.certificate_
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    assert clone(model).get_params()["kernel"] == RBF(gamma=0.7)
    run = linsep.trace(clone(model), X, y)
    assert run.outcome.status is model.status_ and run.outcome.updates == model.n_updates_
    assert run[-1].upper - run[-1].lower <= 1e-4 and not run[-1].errors
    assert run.frame()["upper"].is_monotonic_decreasing and len(run.to_html()) > 1000
    rows = "\n".join(f"{a},{b},{k}" for (a, b), k in zip(X, y))
    (tmp_path / "ring.csv").write_text("a,b,label\n" + rows + "\n")
    words = ["ring.csv", "-a", "kozinec", "-s", "kernel=poly", "-s", "degree=2", "-s", "gamma=1"]
    assert main(["fit", *words, "-o", "cli.json", "-q"]) == 0
    assert main(["verify", "cli.json", "ring.csv"]) == 0
    stored = json.loads((tmp_path / "cli.json").read_text())
    found = stored.get("model", stored)
    found["certificate"]["margin_high"] *= 0.5
    (tmp_path / "forged.json").write_text(json.dumps(stored))
    assert main(["verify", "forged.json", "ring.csv"]) == 1
    assert "margin_high" in capsys.readouterr().out


def test_a_fit_without_kernel_forgets_the_one_with():
    X, y = blobs()
    model = linsep.Kozinec(kernel="linear").fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(CapabilityError, match="no weights of features"):
        model.ranking()
    model.set_params(kernel=None).fit(X, y)
    assert not hasattr(model, "dual_coef_") and model.ranking() is not None
    with pytest.raises(SettingError, match="gamma"):
        linsep.Kozinec(kernel=Linear(), gamma=1.0).fit(X, y)


def test_a_warm_start_from_the_answer_takes_no_update():
    X, y = ring()
    model = linsep.Kozinec(eps=1e-4, kernel=Polynomial(2), warm_start=True).fit(X, y)
    assert model.n_updates_ > 0
    assert model.fit(X, y).n_updates_ == 0
