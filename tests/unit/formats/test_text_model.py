"""Model files of LIBLINEAR and LIBSVM: read, certified, written; numbers worked out by hand."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import linsep
import linsep.kernels
from linsep.cli.main import main
from linsep.errors import ModelError, SettingError

LINEAR = """solver_type {kind}
nr_class 2
label {labels}
nr_feature {d}
bias {bias}
w
{w}
"""

HARD = """svm_type c_svc
kernel_type linear
nr_class 2
total_sv 3
rho 2
label 1 -1
nr_sv 2 1
SV
2 1:6 2:9
0.5 1:5 2:7
-2.5 1:5 2:9
"""  # the hard margin of the lecture's four points: w = (2, -1), b = -2

XOR = """svm_type c_svc
kernel_type polynomial
degree 2
gamma 1
coef0 1
nr_class 2
total_sv 4
rho 0
label {labels}
nr_sv 2 2
SV
0.125 1:{a} 2:-1
0.125 1:{b} 2:1
-0.125 1:1 2:{a}
-0.125 1:-1 2:{b}
"""  # every alpha is 1/8, the objective 1/4


def written(tmp_path, text):
    path = tmp_path / "a.model"
    path.write_text(text)
    return path


def linear(kind, *w, labels="1 -1", bias=-1):
    d = len(w) - (bias >= 0)
    return LINEAR.format(kind=kind, labels=labels, d=d, bias=bias, w="\n".join(f"{v} " for v in w))


TWO = np.array([[-1.0], [1.0]]), np.array([-1, 1])


@pytest.mark.parametrize(
    ("kind", "w", "C", "objective", "word"),
    [
        ("L2R_L1LOSS_SVC_DUAL", 1.0, 10.0, 0.5, "hinge losses; no intercept"),
        # w^2 / 2 + 2 (1 - w)^2 is least at w = 4 / 5
        ("L2R_L2LOSS_SVC", 0.8, 1.0, 0.4, "squared hinge losses"),
        ("L2R_L2LOSS_SVC_DUAL", 0.8, 1.0, 0.4, "squared hinge losses"),
        # |w| + 2 (1 - w)^2 is least at w = 3 / 4
        ("L1R_L2LOSS_SVC", 0.75, 1.0, 0.875, "|w|_1 + 1 x sum of squared hinge"),
        # |w| + 4 log(1 + exp(-w)) is least at w = log 3
        ("L1R_LR", np.log(3), 2.0, np.log(3) + 4 * np.log(4 / 3), "|w|_1 + 2 x sum of logistic"),
    ],
)
def test_the_solver_in_the_file_names_the_objective(tmp_path, kind, w, C, objective, word):
    for labels, sign in (("1 -1", 1.0), ("-1 1", -1.0)):
        path = written(tmp_path, linear(kind, sign * w, labels=labels))
        report = linsep.certify(path, *TWO, C=C)
        assert report.objective == pytest.approx(objective, rel=1e-12)
        assert report.relative_gap < 1e-9
        assert word in report.words and report.errors == 0
        assert linsep.load(path).predict(TWO[0]).tolist() == [-1, 1]


@pytest.mark.parametrize("kind", ["L2R_LR", "L2R_LR_DUAL"])
def test_logistic_files(tmp_path, kind):
    w = 0.8  # w = 2 C / (1 + exp(w)) fixes C
    C = w * (1 + np.exp(w)) / 2
    report = linsep.certify(written(tmp_path, linear(kind, w)), *TWO, C=C)
    assert report.objective == pytest.approx(w * w / 2 + 2 * C * np.log1p(np.exp(-w)), rel=1e-12)
    assert report.relative_gap < 1e-9


def test_a_bias_is_the_weight_of_a_constant_feature(tmp_path):
    X, y = np.array([[0.0], [2.0]]), np.array([-1, 1])
    # least w^2 / 2 + v^2 / 2 with y (w x + B v) >= 1: B v = -1, w = 1
    for B in (1.0, 0.5):
        path = written(tmp_path, linear("L2R_L1LOSS_SVC_DUAL", 1.0, -1.0 / B, bias=B))
        model = linsep.load(path)
        assert (model.coef_, model.intercept_) == (np.array([[1.0]]), np.array([-1.0]))
        report = linsep.certify(path, X, y, C=100.0)
        assert report.objective == pytest.approx(0.5 + 0.5 / B**2, rel=1e-9)
        assert report.relative_gap < 1e-6
        assert f"constant feature {B:g}" in report.words


def test_the_cost_is_assumed_in_words_or_read_off(tmp_path):
    report = linsep.certify(written(tmp_path, linear("L2R_L2LOSS_SVC", 0.8)), *TWO)
    assert "C = 1 was assumed" in report.words and report.relative_gap < 1e-9
    X, y = linsep.data.load("mse-1")
    report = linsep.certify(written(tmp_path, HARD), X, y)
    assert "C was assumed" in report.words  # 2.5 is nobody else's alpha
    report = linsep.certify(written(tmp_path, HARD), X, y, C=10.0)
    assert report.words.startswith("|w|^2 / 2 + 10 x") and report.words.endswith("not penalised")
    assert report.objective == pytest.approx(2.5) and report.relative_gap < 1e-9


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_kernels_of_libsvm_in_both_orders_of_labels(tmp_path, form):
    X = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]])
    first = np.array([True, True, False, False])
    for labels, y in (("1 -1", np.where(first, 1, -1)), ("-1 1", np.where(first, -1, 1))):
        path = written(tmp_path, XOR.format(labels=labels, a=1, b=-1))
        model = linsep.load(path)
        assert model.classes_.tolist() == [-1, 1]
        assert (model.predict(form(X)) == y).all()
        report = linsep.certify(path, form(X), y)
        assert report.objective == pytest.approx(0.25) and report.relative_gap < 1e-9
        assert "C was read off" in report.words and "0.125" in report.words


def test_rows_of_eight_digits_are_found_again(tmp_path):
    X, y = linsep.data.load("mse-1")
    X = X + np.array([[1e-10], [0.0], [0.0], [0.0]])  # lost in the file
    assert linsep.certify(written(tmp_path, HARD), X, y, C=10.0).relative_gap < 1e-6
    kernel = HARD.replace("linear", "rbf\ngamma 0.1")
    assert linsep.certify(written(tmp_path, kernel), X, y, C=10.0).errors >= 0
    with pytest.raises(ModelError, match="not rows of X"):
        linsep.certify(written(tmp_path, kernel), X + 1.0, y, C=10.0)


@pytest.mark.parametrize("multi_class", ["one-vs-rest", "crammer-singer"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_what_is_written_is_read_and_proved_again(tmp_path, multi_class, loss):
    X, y = load_iris(return_X_y=True)
    if multi_class == "crammer-singer" and loss != "hinge":
        return
    for labels in (y, (y > 0) * 7 - 3):
        ours = linsep.LinearSVM(multi_class=multi_class, loss=loss, fit_intercept=False)
        ours.fit(X, labels)
        path = tmp_path / "ours.model"
        linsep.save(ours, path)
        model = linsep.load(path)
        assert (model.predict(X) == ours.predict(X)).all()
        assert (model.coef_ == ours.coef_).all()
        text = path.read_text().splitlines()
        text[4:] = ["bias -1", "w", *text[6:-1]]  # without the line of the intercept
        report = linsep.certify(written(tmp_path, "\n".join(text)), X, labels)
        assert report.objective == pytest.approx(ours.certificate_.objective, rel=1e-9)
        assert report.relative_gap < 1e-3


KERNELS = [
    linsep.kernels.Linear(), linsep.kernels.RBF(gamma=0.5), linsep.kernels.RBF(sigma=2.0),
    linsep.kernels.Polynomial(degree=2, coef0=0.5, gamma=0.1), linsep.kernels.Sigmoid(0.001, -0.1),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_kernel_machines_are_written_to_the_bit(tmp_path, kernel, classes):
    X, y = load_iris(return_X_y=True)
    X, y = np.where(X < 1.0, 0.0, X), np.array([7, -3, 5])[np.minimum(y, classes - 1)]
    for rows in (X, scipy.sparse.csr_array(X)):
        ours = linsep.KernelSVM(kernel=kernel).fit(rows, y)
        linsep.save(ours, tmp_path / "ours.model")
        model = linsep.load(tmp_path / "ours.model")
        assert np.array_equal(model.dual_coef_, ours.dual_coef_)
        assert np.array_equal(model.intercept_, ours.intercept_)
        wanted = SVC(decision_function_shape="ovo", C=1.0, kernel="precomputed")
        wanted.fit(kernel.gram(X), y)
        assert (model.predict(X) == ours.predict(X)).mean() > 0.98
        shape = model.decision_function(X).shape
        assert shape == wanted.decision_function(kernel.gram(X)).shape
        linsep.save(model, tmp_path / "again.model")
        assert (tmp_path / "again.model").read_text() == (tmp_path / "ours.model").read_text()
        if kernel.positive:
            report = linsep.certify(tmp_path / "ours.model", X, y, C=1.0)
            assert report.relative_gap < 2e-3


def test_a_machine_of_another_type_stays_one(tmp_path):
    path = written(tmp_path, HARD.replace("c_svc", "nu_svc"))
    linsep.save(linsep.load(path), tmp_path / "again.model")
    assert (tmp_path / "again.model").read_text().startswith("svm_type nu_svc\n")


def test_the_machine_of_xor_as_a_file(tmp_path):
    X, y = [[1, 1], [-1, -1], [1, -1], [-1, 1]], [-1, -1, 1, 1]
    model = linsep.KernelSVM(np.inf, kernel=linsep.kernels.Polynomial(2)).fit(X, y)
    linsep.save(model, tmp_path / "xor.model")
    text = (tmp_path / "xor.model").read_text()
    assert text.startswith("svm_type c_svc\nkernel_type polynomial\ndegree 2\ngamma 1\ncoef0 1\n")
    assert "label -1 1\nnr_sv 2 2\nSV\n0.125 1:1 2:1\n" in text


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
def test_kernels_that_libsvm_does_not_know_are_refused(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "a.model"
    for kernel in ("intersection", 2.0 * linsep.kernels.RBF(1.0)):
        with pytest.raises(ModelError, match="LIBSVM has no kernel"):
            linsep.save(linsep.KernelSVM(kernel=kernel).fit(X, y), path)
    with pytest.raises(ModelError, match="labels are whole numbers"):
        linsep.save(linsep.KernelSVM().fit(X, np.array(list("abc"))[y]), path)
    with pytest.raises(ModelError, match="one machine for each class"):
        linsep.save(linsep.KernelPerceptron(max_iter=3).fit(X, y), path)
    for unfitted in (linsep.KernelSVM(), linsep.LinearSVM()):
        with pytest.raises(ModelError, match="is not fitted"):
            linsep.save(unfitted, path)
    with pytest.raises(ModelError, match="neither weights of features nor support vectors"):
        linsep.save(linsep.GaussianClassifier().fit(X, y), path)
    assert not path.exists()
    two = linsep.KernelPerceptron().fit(X[:100], y[:100])
    linsep.save(two, path)
    found = linsep.load(path).decision_function(X)
    np.testing.assert_allclose(found, two.decision_function(X), rtol=1e-9, atol=1e-9)


def test_two_classes_by_crammer_and_singer(tmp_path):
    text = linear("MCSVM_CS", "0.5 -0.5", labels="1 -1")
    model = linsep.load(written(tmp_path, text))
    assert model.predict(TWO[0]).tolist() == [-1, 1]
    report = linsep.certify(tmp_path / "a.model", *TWO, C=10.0)
    # |W|^2 / 2 = 1/4, and the difference of the scores is 1 at both points
    assert report.objective == pytest.approx(0.25) and report.relative_gap < 1e-9
    assert "Crammer and Singer" in report.words


GOOD = linear("L2R_L2LOSS_SVC", 0.8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("L2R_L2LOSS_SVC", "L2R_L2LOSS_SVR"), "no classifier"),
        (GOOD.replace("L2R_L2LOSS_SVC", "MAGIC"), "'MAGIC'"),
        (GOOD.replace("nr_class 2", "nr_class two"), ":2: 'two' is no whole number"),
        (GOOD.replace("nr_class 2\n", ""), "no line 'nr_class'"),
        (GOOD.replace("label 1 -1", "label 1 1"), "each named once"),
        (GOOD.replace("label 1 -1", "label 1"), "1 values, 2 are needed"),
        (GOOD.replace("0.8", "nan"), ":7: 'nan' is no finite number"),
        (GOOD.replace("0.8", "0.8 0.9"), "2 weights, 1 are needed"),
        (GOOD.replace("nr_feature 1", "nr_feature 3"), "1 lines of weights, 3 are needed"),
        (GOOD.replace("bias -1", "bias -1\nbias 1"), "given twice"),
        (GOOD.replace("\nw\n", "\n"), "ends too early"),
        (HARD.replace("c_svc", "epsilon_svr"), "no classifier"),
        (HARD.replace("linear", "precomputed"), "not in the model"),
        (HARD.replace("total_sv 3", "total_sv 4"), "damaged"),
        (HARD.replace("1:6", "0:6"), "counted from 1"),
        (HARD.replace("1:6", "1:x"), "no finite number"),
        (HARD.replace("rho 2", "rho"), "0 values, 1 are needed"),
        ("solver_type \xe9", "plain text"),
    ],
)
def test_damaged_files_are_refused_with_the_place(tmp_path, text, words):
    path = tmp_path / "a.model"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelError, match=words) as caught:
        linsep.load(path)
    assert "a.model" in str(caught.value)


def test_other_files_and_settings_are_refused(tmp_path):
    with pytest.raises(ModelError, match="neither solver_type"):
        linsep.load(written(tmp_path, "hello"))
    with pytest.raises(ModelError, match="no such file"):
        linsep.load(tmp_path / "b.model")
    with pytest.raises(ModelError, match="2 columns"):
        linsep.certify(written(tmp_path, GOOD), *linsep.data.load("mse-1"))
    with pytest.raises(SettingError, match="knows its own"):
        linsep.certify(linsep.LinearSVM().fit(*TWO), *TWO, C=2.0)
    with pytest.raises(SettingError, match="C must be"):
        linsep.certify(written(tmp_path, GOOD), *TWO, C=-1.0)
    with pytest.raises(ModelError, match="whole numbers"):
        linsep.save(linsep.LinearSVM().fit(TWO[0], ["a", "b"]), tmp_path / "c.model")
    with pytest.raises(ModelError, match=r"save it as \.json"):
        linsep.save(linsep.AdditiveSVM().fit([[1.0], [2.0]], [0, 1]), tmp_path / "c.model")


def test_the_command_line_reads_them(tmp_path, capsys):
    path = str(written(tmp_path, HARD))
    assert main(["verify", path, "mse-1", "--C", "10"]) == 0
    assert "objective 2.5, no model has less than 2.5" in capsys.readouterr().out
    assert main(["verify", path, "mse-1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objective"] == pytest.approx(2.5)
    assert main(["predict", path, "mse-1"]) == 0
    assert capsys.readouterr().out.split() == ["1", "1", "-1", "-1"]
    assert main(["verify", path, "students"]) == 0  # features that no vector has are zero
    assert re.search(r"\b(1 error|\d+ errors);", capsys.readouterr().out)
    assert main(["verify", str(written(tmp_path, GOOD)), "mse-1"]) == 1
    assert "2 features" in capsys.readouterr().err
    out = str(tmp_path / "ours.model")
    assert main(["fit", "mse-1", "-a", "linear-svm", "-q", "-o", out]) == 0
    assert main(["predict", out, "mse-1"]) == 0
    assert main(["fit", "mse-1", "-o", str(tmp_path / "ours.json"), "-q"]) == 0
    assert main(["verify", str(tmp_path / "ours.json"), "mse-1", "--C", "1"]) == 2
    with pytest.raises(SystemExit):
        main(["verify", path, "mse-1", "--C", "-1"])


# -- what LIBSVM and LIBLINEAR predict, with ties and probabilities -------------------------------

THREE = """svm_type c_svc
kernel_type linear
nr_class 3
total_sv 3
rho {rho}
label {labels}
{more}nr_sv 1 1 1
SV
0 0 1:1
0 0 1:2
0 0 1:3
"""  # machines that are their offsets: -rho for every row


@pytest.mark.parametrize("labels", [(7, -3, 5), (-3, 5, 7), (5, 7, -3)])
def test_of_equal_votes_the_first_in_the_file_wins(tmp_path, labels):
    words = " ".join(map(str, labels))
    # f_01 > 0, f_02 < 0, f_12 > 0: a vote for each of 0, 2, 1
    path = written(tmp_path, THREE.format(rho="-1 1 -1", labels=words, more=""))
    model = linsep.load(path)
    assert model.predict([[1.0], [5.0]]).tolist() == [labels[0]] * 2
    assert not hasattr(model, "predict_proba")
    # a value of exactly 0 is a vote for the second of the pair: 1 has two of three
    zero = written(tmp_path, THREE.format(rho="0 0 -1", labels=words, more=""))
    assert linsep.load(zero).predict([[1.0]]).tolist() == [labels[1]]
    linsep.save(model, tmp_path / "again.model")
    assert f"label {words}" in (tmp_path / "again.model").read_text()
    assert linsep.load(tmp_path / "again.model").predict([[1.0]]).tolist() == [labels[0]]


@pytest.mark.parametrize("labels", ["1 -1", "-1 1"])
def test_a_score_of_zero_is_the_second_label_of_the_file(tmp_path, labels):
    second = int(labels.split()[1])
    for text in (
        linear("L2R_LR", 1.0, labels=labels),
        HARD.replace("label 1 -1", f"label {labels}"),
    ):
        model = linsep.load(written(tmp_path, text))
        row = [[0.0]] if "solver_type" in text else [[1.0, 0.0]]
        assert model.decision_function(row).tolist() == [0.0]
        assert model.predict(row).tolist() == [second]


@pytest.mark.parametrize("labels", [(7, -3, 5), (-3, 5, 7)])
def test_sigmoids_of_pairs_that_agree_give_their_probabilities(tmp_path, labels):
    p = np.array([0.5, 0.3, 0.2])
    odds = [np.log(p[j] / p[i]) for i, j in ((0, 1), (0, 2), (1, 2))]  # P_ij = p_i / (p_i + p_j)
    more = f"probA 0 0 0\nprobB {' '.join(f'{v:.17g}' for v in odds)}\n"
    words = " ".join(map(str, labels))
    model = linsep.load(written(tmp_path, THREE.format(rho="1 1 1", labels=words, more=more)))
    found = model.predict_proba([[1.0], [2.0]])
    assert model.classes_.tolist() == [-3, 5, 7]
    wanted = p[np.argsort(labels)]
    assert np.abs(found - wanted).max() < 0.005 and found.sum(axis=1) == pytest.approx(1.0)
    linsep.save(model, tmp_path / "again.model")
    assert np.array_equal(linsep.load(tmp_path / "again.model").predict_proba([[1.0]]), found[:1])


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("K", [2, 3])
def test_probabilities_are_those_of_the_libsvm_in_scikit_learn(K):
    from linsep.formats.libsvm import LibsvmModel

    X, y = load_iris(return_X_y=True)
    X, y = X[y < K] + 0.3 * np.random.default_rng(K).normal(size=(50 * K, 4)), y[y < K]
    peer = SVC(probability=True, gamma=0.2, random_state=0).fit(X, y)
    ours = LibsvmModel(
        "c_svc", "rbf", peer.classes_, scipy.sparse.csr_array(peer.support_vectors_),
        peer.dual_coef_, peer.intercept_, peer.n_support_, gamma=0.2,
        probA=peer.probA_, probB=peer.probB_,
    )  # fmt: skip
    assert (ours.predict(X) == peer.predict(X)).all()
    # of two classes scikit-learn's older copy iterates where LIBSVM now has the sigmoid itself
    atol = 1e-9 if K == 3 else 0.005 / 2
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=0, atol=atol)


def test_temperatures_of_two_classes_are_sigmoids_of_libsvm(tmp_path):
    X, y = load_iris(return_X_y=True)
    ours = linsep.KernelSVM(calibrate="temperature").fit(X[50:], y[50:])
    linsep.save(ours, tmp_path / "a.model")
    found = linsep.load(tmp_path / "a.model")
    np.testing.assert_allclose(found.predict_proba(X), ours.predict_proba(X), atol=2e-7)
    other = linsep.KernelSVM(calibrate="sigmoid").fit(X[50:], y[50:])
    with pytest.warns(linsep.errors.LinsepWarning, match="are not in the file"):
        linsep.save(other, tmp_path / "b.model")
    assert not hasattr(linsep.load(tmp_path / "b.model"), "predict_proba")


@pytest.mark.parametrize("kind", ["L2R_LR", "L1R_LR", "L2R_LR_DUAL"])
def test_probabilities_of_liblinear(tmp_path, kind):
    model = linsep.load(written(tmp_path, linear(kind, np.log(3.0), labels="-1 1")))
    np.testing.assert_allclose(model.predict_proba([[1.0], [0.0]]), [[0.75, 0.25], [0.5, 0.5]])
    w = f"{np.log(3.0):.17g} {-np.log(3.0):.17g} 0"  # 3/4, 1/4 and 1/2 of the classes 4, 2, 3
    text = linear(kind, w, labels="4 2 3").replace("nr_class 2", "nr_class 3")
    model = linsep.load(written(tmp_path, text))
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[1 / 6, 2 / 6, 3 / 6]])
    assert model.predict([[1.0], [0.0]]).tolist() == [4, 4]  # equal scores: the first of the file
    linsep.save(model, tmp_path / "again.model")
    assert (tmp_path / "again.model").read_text().split() == text.split()
    svm = linsep.load(written(tmp_path, GOOD))
    assert not hasattr(svm, "predict_proba")


def test_models_of_scikit_learn_with_one_norm_keep_their_name(tmp_path):
    from sklearn.svm import LinearSVC

    X, y = load_iris(return_X_y=True)
    for labels in (y, y > 0):
        model = LinearSVC(penalty="l1", C=0.1, random_state=0, max_iter=100_000).fit(
            X, labels.astype(int)
        )
        linsep.save(model, tmp_path / "a.model")
        assert (tmp_path / "a.model").read_text().startswith("solver_type L1R_L2LOSS_SVC\n")
        found = linsep.load(tmp_path / "a.model")
        assert (found.predict(X) == model.predict(X)).all() and (found.coef_ == 0).any()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("probA 1 1 1\n", "no line 'probB'"),
        ("probA 1 1\nprobB 1 1 1\n", ":7: probA has 2 values, 3 are needed"),
        ("probA 1 1 1\nprobB 1 inf 1\n", ":8: 'inf' is no finite number"),
    ],
)
def test_damaged_sigmoids_are_refused(tmp_path, more, words):
    path = written(tmp_path, THREE.format(rho="1 1 1", labels="1 2 3", more=more))
    with pytest.raises(ModelError, match=words):
        linsep.load(path)
