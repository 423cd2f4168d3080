"""LinearSVM on textbook points, on costs and weights of any size, and what it says about rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep import LinearSVM
from linsep.cli.main import main
from linsep.core.checkpoint import Checkpointer
from linsep.errors import CheckpointError, DataError, LabelError, NotSeparatedWarning, SettingError

FOUR = np.array([[6.0, 9.0], [5.0, 7.0], [5.0, 9.0], [0.0, 4.0]]), np.array([1, 1, -1, -1])

# points, labels, w, b, |alpha| summed over the class +1
TEXTBOOKS = {
    "two points of a line": ([[-1.0], [1.0]], [-1, 1], [1.0], 0.0, 0.5),
    "two points of a plane": ([[1.0, 2.0], [3.0, 4.0]], [-1, 1], [0.5, 0.5], -2.5, 0.25),
    "Manning, Raghavan, Schuetze 15.1": (
        [[1, 1], [2, 0], [2, 3]], [-1, -1, 1], [0.4, 0.8], -2.2, 0.4,
    ),
    "seven points of James et al., exercise 9.3": (
        [[3, 4], [2, 2], [4, 4], [1, 4], [2, 1], [4, 3], [4, 1]],
        [1, 1, 1, 1, -1, -1, -1], [-2.0, 2.0], 1.0, 4.0,
    ),
    "eight points around a vertical street": (
        [[1, 0], [0, 1], [0, -1], [-1, 0], [3, 1], [3, -1], [6, 1], [6, -1]],
        [-1, -1, -1, -1, 1, 1, 1, 1], [1.0, 0.0], -2.0, 0.5,
    ),
    "the lecture's four points": (*map(np.ndarray.tolist, FOUR), [2.0, -1.0], -2.0, 2.5),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTBOOKS)
@pytest.mark.parametrize("C", [np.inf, 50.0, 1e9, 1e300])
def test_hard_margins_of_textbooks(name, C):
    X, y, w, b, total = TEXTBOOKS[name]
    model = LinearSVM(C=C).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.coef_[0] == pytest.approx(w, abs=1e-7)
    assert model.intercept_[0] == pytest.approx(b, abs=1e-7)
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-14)  # the balance of the lecture
    assert model.dual_coef_[model.dual_coef_ > 0].sum() == pytest.approx(total, rel=1e-7)
    found = model.dual_coef_[0] @ np.asarray(X, float)[model.support_]  # w = sum alpha y x
    assert found == pytest.approx(w, abs=1e-7)
    assert model.margin_width_ == pytest.approx(2 / np.linalg.norm(w), rel=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e6, 1e8, 1e12])
def test_costs_and_columns_of_any_size_end_with_a_proof(loss, scale):
    X, y = FOUR
    model = LinearSVM(loss=loss, C=1e5 if scale < 1 else 1.0).fit(X * scale, y)
    assert model.certificate_.relative_gap <= 1e-3
    if scale > 1e5:
        assert model.coef_[0] * scale == pytest.approx([2.0, -1.0], rel=1e-3)


def test_weights_beyond_all_rounding():
    X, y = FOUR
    heavy = LinearSVM().fit(X, y, sample_weight=[1e-300, 1.0, 1.0, 1e300])
    three = LinearSVM(C=1.0).fit(X[1:], y[1:])
    assert heavy.coef_ == pytest.approx(three.coef_, abs=1e-9)
    hard = LinearSVM(C=np.inf).fit(X, y, sample_weight=[1e-300, 1.0, 1.0, 1e300])
    assert hard.coef_[0] == pytest.approx([2.0, -1.0], abs=1e-9)


def test_rows_inside_at_a_cost_that_overflows_are_reported_without_noise():
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0], [3, 3]], [-1, -1, 1, 1, 1]
    with pytest.warns(ConvergenceWarning, match="lower C"):
        model = LinearSVM(C=1e300).fit(X, y)
    assert not model.status_.ok


def test_numbers_too_small_for_a_hard_margin_are_refused():
    X, y = FOUR
    with pytest.raises(DataError, match="largest entry of X is 9e-160"):
        LinearSVM(C=np.inf).fit(X * 1e-160, y)


def test_balanced_classes_count_a_row_of_weight_two_twice():
    X, y = load_iris(return_X_y=True)
    X, y = X[30:], y[30:]
    s = 1 + np.arange(len(y)) % 3
    for kind in ("one-vs-rest", "crammer-singer"):
        settings = {"class_weight": "balanced", "multi_class": kind, "C": 0.3}
        one = LinearSVM(**settings).fit(X, y, sample_weight=s)
        other = LinearSVM(**settings).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
        assert one.certificate_.objective == pytest.approx(other.certificate_.objective, rel=1e-5)
        assert linsep.certify(one, X, y, sample_weight=s).relative_gap < 1e-5
        assert "weighted" in one.certificate_.words


def test_facts_about_the_rows_of_three_classes():
    X, y = load_iris(return_X_y=True)
    model = LinearSVM().fit(X, y)
    xi = model.slacks(X, y)
    assert xi.shape == (150, 3)
    losses = 0.5 * (model.coef_**2).sum() + xi.sum()
    assert losses == pytest.approx(model.certificate_.objective, rel=1e-9)
    table = model.kkt(X, y, of=1)
    assert table.largest < 1e-6
    assert np.flatnonzero(table.alpha).tolist() == [
        i for i, c in zip(model.support_, model.dual_coef_[1]) if c
    ]
    assert 0.0 < model.xi_alpha(X, y, of=0) <= 1.0
    with pytest.raises(SettingError, match="of= one of 0, 1, 2"):
        model.kkt(X, y)
    machine = LinearSVM(multi_class="crammer-singer").fit(X, y)
    losses = 0.5 * (machine.coef_**2).sum() + machine.slacks(X, y).sum()
    assert losses == pytest.approx(machine.certificate_.objective, rel=1e-9)
    assert (machine.positions(X, y) == "wrong").sum() == machine.certificate_.errors
    with pytest.raises(SettingError, match="no planes of its own"):
        machine.kkt(X, y)


def test_facts_refuse_rows_and_labels_that_are_not_those_of_the_fit():
    X, y = FOUR
    model = LinearSVM().fit(X, y)
    with pytest.raises(LabelError, match="label 7"):
        model.slacks(X, [1, 1, -1, 7])
    with pytest.raises(LabelError, match="shape"):
        model.slacks(X, y[:2])
    with pytest.raises(DataError, match="rows it was trained on"):
        model.kkt(X[:1], y[:1])


@pytest.mark.parametrize("offset", [True, False])
def test_xi_alpha_is_no_less_than_the_errors_of_leaving_one_out(offset):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.where(np.arange(10) % 2, 1, -1)
        X = rng.normal(size=(10, 2)) + 0.7 * seed * y[:, None]
        settings = {"C": [0.1, 1.0, 10.0][seed], "fit_intercept": offset}
        estimate = 10 * LinearSVM(**settings).fit(X, y).xi_alpha(X, y)
        wrong = 0
        for i in range(10):
            rest = np.arange(10) != i
            part = LinearSVM(**settings).fit(X[rest], y[rest])
            wrong += y[i] * part.decision_function(X[[i]])[0] < -1e-9
        assert wrong <= estimate


def test_a_hard_margin_that_does_not_exist_is_kept_in_the_file(tmp_path, capsys):
    path = tmp_path / "m.json"
    for name, data in (("xor", linsep.data.load("xor")), ("iris", load_iris(return_X_y=True))):
        X, y = data
        with pytest.warns(NotSeparatedWarning):
            model = LinearSVM(C=np.inf).fit(X, y)
        assert model.leave_one_out_bound_ == 1.0
        linsep.save(model, path)
        again = linsep.load(path)
        assert str(again.proof_) == str(model.proof_)
        assert again.summary().splitlines()[-3:] == model.summary().splitlines()[-3:]
        if name == "xor":
            assert "w = 0" in model.summary()
            assert main(["verify", str(path), "xor"]) == 0
            assert "they agree" in capsys.readouterr().out
            forged = json.loads(path.read_text())
            path.write_text(json.dumps(forged))
            assert main(["verify", str(path), "mse-1"]) == 1  # separable: the status is a lie
            assert "INSEPARABLE" in capsys.readouterr().out


def test_machines_by_crammer_and_singer_are_verified_from_their_files(tmp_path, capsys):
    X, y = load_iris(return_X_y=True)
    data = tmp_path / "iris.csv"
    names = np.array(["a", "b", "c"])[y]
    rows = [f"{','.join(map(str, x))},{name}" for x, name in zip(X, names)]
    data.write_text("\n".join(["p,q,r,s,label", *rows]) + "\n")
    for positive in ([], ["--positive", "b"]):
        out = str(tmp_path / "m.json")
        more = ["-s", "multi_class=crammer-singer", "-q", "-o", out, *positive]
        assert main(["fit", str(data), "-a", "linear-svm", *more]) == 0
        assert main(["verify", out, str(data), *positive]) == 0
        assert "they agree" in capsys.readouterr().out
    content = json.loads((tmp_path / "m.json").read_text())
    content["certificate"]["lower_bound"] *= 1.01
    (tmp_path / "m.json").write_text(json.dumps(content))
    assert main(["verify", out, str(data), "--positive", "b"]) == 1


@pytest.mark.parametrize("Cs", [[], [0.0], [-1.0], ["a"], None, [np.nan]])
def test_a_path_refuses_what_is_no_cost(Cs):
    with pytest.raises(SettingError, match="Cs must be"):
        linsep.svm_path(*FOUR, Cs)


def test_a_path_takes_settings_of_the_machine():
    path = linsep.svm_path(*FOUR, [1.0, np.inf], warm_start=False, loss="squared_hinge")
    assert path.coefs[1, 0] == pytest.approx([2.0, -1.0], abs=1e-9)
    with pytest.raises(SettingError, match="no parameter 'nonsense'"):
        linsep.svm_path(*FOUR, [1.0], nonsense=1)


def test_a_loaded_model_can_be_fitted_again_with_a_warm_start(tmp_path):
    model = LinearSVM(warm_start=True, solver="dual-cd").fit(*FOUR)
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json").fit(*FOUR)
    assert again.coef_ == pytest.approx(model.coef_, abs=1e-6)


def test_weights_given_by_hand_survive_a_file(tmp_path):
    rule = linsep.Linear([2, -1], -2, C=10.0, classes=[-1, 1])
    linsep.save(rule, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    assert linsep.certify(again, *FOUR) == linsep.certify(rule, *FOUR)
    for wrong in ({"penalised": 0.0}, {"penalised": -1.0}, {"C": 0}, {"fit_intercept": False}):
        with pytest.raises(SettingError):
            linsep.Linear([2, -1], -2, **wrong)


def test_a_hard_margin_goes_on_from_its_checkpoint(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 20))
    y, s = X @ rng.normal(size=20) > 0, 1.0 + np.arange(120) % 2
    settings = {"C": np.inf, "tol": 1e-6}
    whole = LinearSVM(**settings).fit(X, y, s)
    state = tmp_path / "state.npz"
    with pytest.warns(ConvergenceWarning):
        LinearSVM(**settings, max_iter=3, callbacks=[Checkpointer(state)]).fit(X, y, s)
    rest = LinearSVM(**settings).resume(X, y, state, s)
    assert (rest.coef_ == whole.coef_).all() and rest.status_.name == "CERTIFIED"
    with pytest.raises(CheckpointError, match="a class against the rest"):
        LinearSVM(C=np.inf).resume(*load_iris(return_X_y=True), state)
