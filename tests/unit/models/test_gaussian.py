"""GaussianClassifier: losses, degenerate data, linear and quadratic forms, files, words."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import load_iris

import linsep
from linsep import GaussianClassifier
from linsep.errors import (
    CapabilityError,
    DataError,
    DegenerateWarning,
    LabelError,
    LinsepError,
    ModelError,
    SettingError,
)

STRUCTURES = ["full", "shared", "diagonal", "shared-diagonal"]
LINEAR = ["shared", "shared-diagonal"]
each_structure = pytest.mark.parametrize("structure", STRUCTURES)


def clouds(K=2, n=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(n, d)) * (1 + y[:, None] / 2) + 1.5 * y[:, None], y


# -- the estimates -----------------------------------------------------------------------------


def test_four_points_by_hand():
    """Means 1 and 6, all variances 1 (divided by n), so the log odds are 5 x - 17.5."""
    X, y = [[0.0], [2.0], [5.0], [7.0]], [0, 0, 1, 1]
    for structure in STRUCTURES:
        model = GaussianClassifier(structure).fit(X, y)
        assert model.means_.ravel().tolist() == [1.0, 6.0]
        assert np.ravel(model.covariance_).tolist() in ([1.0], [1.0, 1.0])
        assert model.is_linear_  # also where each class has its own variance, for they are equal
        assert (model.coef_.item(), model.intercept_.item()) == (5.0, -17.5)
        assert model.log_odds([[3.5], [4.5]]).tolist() == [0.0, 5.0]
        assert model.certificate_.log_likelihood == pytest.approx(-2 * math.log(2 * math.pi) - 2)
        assert model.certificate_.separable
        assert model.certificate_.margin == pytest.approx(1.5)


@each_structure
def test_a_tie_is_the_last_class_and_an_error(structure):
    model = GaussianClassifier(structure).fit([[-1.0], [1.0], [-1.0], [1.0]], ["a", "a", "b", "b"])
    assert model.predict([[0.3], [7.0]]).tolist() == ["b", "b"]
    assert model.certificate_.errors == 4


@each_structure
def test_units_and_rotations_change_nothing(structure):
    X, y = clouds(3, 60, 3)
    model = GaussianClassifier(structure).fit(X, y)
    scale, shift = np.array([1e-8, 1.0, 1e8]), np.array([1e-7, 5.0, -1e9])
    moved = GaussianClassifier(structure).fit(X * scale + shift, y)
    np.testing.assert_allclose(
        moved.predict_proba(X * scale + shift), model.predict_proba(X), atol=1e-6
    )
    if not structure.endswith("diagonal"):
        A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [3.0, 0.0, 1.0]])
        turned = GaussianClassifier(structure).fit(X @ A, y)
        np.testing.assert_allclose(turned.predict_proba(X @ A), model.predict_proba(X), atol=1e-9)


def test_class_weight_multiplies_rows():
    X, y = clouds(2, 41)
    one = GaussianClassifier(class_weight={0: 2, 1: 1}).fit(X, y)
    two = GaussianClassifier().fit(X, y, np.where(y == 0, 2.0, 1.0))
    np.testing.assert_allclose(one.priors_, two.priors_)
    balanced = GaussianClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.priors_, [0.5, 0.5])


def test_priors_by_number_and_by_label():
    X, y = clouds()
    y = np.array(["no", "yes"])[y]
    one = GaussianClassifier(priors=[0.9, 0.1]).fit(X, y)
    two = GaussianClassifier(priors={"yes": 0.1, "no": 0.9}).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"priors": [0.5, 0.4]}, "priors sum to 0.9; they must sum to 1"),
        ({"priors": [1.5, -0.5]}, r"priors\[1\] is -0.5"),
        ({"priors": [1.0]}, r"shape \(1,\)"),
        ({"priors": {"a": 0.5, 0: 0.5}}, "names the classes"),
        ({"covariance": "tied"}, "'covariance' parameter of GaussianClassifier"),
        ({"regularization": -1.0}, "'regularization' parameter"),
        ({"loss": [[0, 1, 2], [1, 0, 2]]}, "2 classes need 2 columns"),
        ({"loss": [[0, 1]]}, "one more row for each reject option"),
        ({"loss": [[0, 1], [math.inf, 0]]}, r"loss\[1, 0\] is inf"),
        ({"loss": [["x", 1], [1, 0]]}, "not a matrix of numbers"),
        ({"loss": [[0, 1], [1, 0], [1, 1], [2, 2]]}, "say with reject_label"),
        ({"loss": [[0, 1], [1, 0], [1, 1]], "reject_label": 1}, "one of the classes"),
        ({"loss": [[0, 1], [1, 0], [1, 1]], "reject_label": [5, 6]}, "names 2"),
    ],
)
def test_settings_are_checked(settings, words):
    with pytest.raises(SettingError, match=words):
        GaussianClassifier(**settings).fit(*clouds())


# -- decisions ---------------------------------------------------------------------------------


@each_structure
@pytest.mark.parametrize("K", [2, 3])
def test_every_loss_is_minimised(structure, K):
    X, y = clouds(K, 60)
    rng = np.random.default_rng(K)
    for rows in (K, K + 1, K + 2):
        W = rng.normal(size=(rows, K))
        names = [f"r{i}" for i in range(rows - K)]
        model = GaussianClassifier(structure, loss=W, reject_label=names).fit(X, y)
        risk = model.predict_proba(X) @ W.T
        np.testing.assert_allclose(model.conditional_risk(X), risk)
        chosen = [list(model.decisions_).index(c) for c in model.predict(X)]
        np.testing.assert_allclose(risk[np.arange(len(X)), chosen], risk.min(axis=1), atol=1e-12)


@each_structure
def test_sign_of_the_score_decides_under_an_asymmetric_loss(structure):
    X, y = clouds(2, 60)
    W = [[0, 10.0], [1.0, 0]]  # to miss class 1 costs ten times as much
    plain, wary = GaussianClassifier(structure), GaussianClassifier(structure, loss=W)
    plain.fit(X, y), wary.fit(X, y)
    scores = wary.decision_function(X)
    np.testing.assert_allclose(scores, plain.decision_function(X) + math.log(10), rtol=1e-12)
    np.testing.assert_array_equal(wary.predict(X), (scores >= 0).astype(int))
    np.testing.assert_array_equal(wary.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(wary.log_odds(X), plain.log_odds(X))
    if structure in LINEAR:
        np.testing.assert_allclose(scores, X @ wary.coef_[0] + wary.intercept_[0], rtol=1e-12)
        np.testing.assert_allclose(wary.to_logistic().decision_function(X), plain.log_odds(X))


def test_a_loss_of_zero_and_one_changes_nothing():
    X, y = clouds(3, 60)
    W = 2 * (1 - np.eye(3)) + [1.0, 7.0, -2.0]  # a factor, and a constant for each class
    plain, same = GaussianClassifier("shared").fit(X, y), GaussianClassifier("shared", loss=W)
    np.testing.assert_array_equal(same.fit(X, y).predict(X), plain.predict(X))
    assert same.is_linear_
    assert not GaussianClassifier("shared", loss=np.eye(3)).fit(X, y).is_linear_


def test_a_loss_that_rewards_mistakes_is_obeyed():
    X, y = clouds(2, 60)
    plain = GaussianClassifier().fit(X, y).predict(X)
    upside_down = GaussianClassifier(loss=[[1, 0], [0, 1]]).fit(X, y)
    assert (upside_down.predict(X) == 1 - plain).all()
    assert (GaussianClassifier(loss=[[0, 0], [1, 1]]).fit(X, y).predict(X) == 0).all()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 1], -1), ([-1, 1], 0), (["a", "b"], "reject"), ([1.0, 2.0], -1.0),
        ([False, True], "reject"),
    ],
)  # fmt: skip
def test_name_of_the_reject_option(labels, expected):
    X, y = clouds(2, 60)
    W = [[0, 1], [1, 0], [0.1, 0.1]]
    model = GaussianClassifier(loss=W).fit(X, np.array(labels)[y])
    assert model.decisions_.tolist() == [*labels, expected]
    assert expected in model.predict(X).tolist()
    assert model.certificate_.rejected == (model.predict(X) == expected).sum()
    assert f"rejected    {model.certificate_.rejected} rows" in model.summary()


@each_structure
@pytest.mark.parametrize("K", [2, 4])
def test_probabilities_agree_with_predict_and_with_their_logarithms(structure, K):
    X, y = clouds(K, 80)
    model = GaussianClassifier(structure).fit(X, y)
    far = np.vstack([X, 1e3 * X])
    P = model.predict_proba(far)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(far))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(far)), P, atol=1e-12)
    assert np.isfinite(model.predict_log_proba(far)).all()


def test_rows_beyond_all_range_are_decided_without_nan():
    X, y = clouds(3, 30)
    for structure in STRUCTURES:
        model = GaussianClassifier(structure).fit(X, y)
        P = model.predict_proba([[1e200, -1e200]])
        assert np.isfinite(P).all()
        assert P.sum() == pytest.approx(1.0)


# -- linear and quadratic ----------------------------------------------------------------------


def test_structures_that_are_quadratic_have_no_plane():
    X, y = clouds()
    model = GaussianClassifier().fit(X, y)
    assert not model.is_linear_ and not hasattr(model, "coef_")
    assert math.isnan(model.certificate_.margin) and model.certificate_.plane is None
    with pytest.raises(CapabilityError, match="quadratic log odds"):
        model.to_logistic()
    with pytest.raises(CapabilityError, match="two classes; there are 3"):
        GaussianClassifier().fit(*clouds(3)).log_odds(X)


def test_a_second_fit_forgets_the_plane_of_the_first():
    X, y = clouds()
    model = GaussianClassifier("shared").fit(X, y)
    model.set_params(covariance="full").fit(X, y)
    assert not hasattr(model, "coef_")


@each_structure
def test_equal_covariances_make_every_structure_linear(structure):
    cross = np.array([[1.0, 0], [-1, 0], [0, 2], [0, -2]])
    X, y = np.vstack([cross, cross + np.array([3.0, 1.0])]), np.repeat([0, 1], 4)
    model = GaussianClassifier(structure).fit(X, y)
    assert model.is_linear_
    w = np.array([3.0 / 0.5, 1.0 / 2.0])
    np.testing.assert_allclose(model.coef_[0], w)
    assert model.intercept_[0] == pytest.approx(-(w @ [1.5, 0.5]))
    A, _, _ = model.quadratic_
    np.testing.assert_allclose(A[0], A[1])


@pytest.mark.parametrize("structure", LINEAR)
@pytest.mark.parametrize("K", [2, 3])
def test_logistic_weights_have_the_same_posterior(structure, K):
    X, y = clouds(K, 60)
    model = GaussianClassifier(structure, priors=np.arange(1, K + 1) / (K * (K + 1) / 2)).fit(X, y)
    rule = model.to_logistic()
    np.testing.assert_array_equal(rule.predict(X), model.predict(X))
    joint = model.log_density(X) + np.log(model.priors_)
    direct = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(rule.predict_proba(X), direct, rtol=1e-10)


# -- degenerate data ---------------------------------------------------------------------------


def test_a_constant_column_takes_no_part():
    X, y = clouds()
    for structure in STRUCTURES:
        plain = GaussianClassifier(structure).fit(X, y)
        with pytest.warns(
            DegenerateWarning, match="Column x2 has the same value in every row and is left out"
        ):
            model = GaussianClassifier(structure).fit(np.insert(X, 1, 0.1, axis=1), y)
        assert model.ignored_.tolist() == [1] and not model.ridge_.any()
        moved = np.insert(X, 1, 99.0, axis=1)
        np.testing.assert_allclose(model.predict_proba(moved), plain.predict_proba(X), atol=1e-12)
        assert model.certificate_.log_likelihood == pytest.approx(plain.certificate_.log_likelihood)


def test_strict_fits_name_class_rank_and_columns():
    X, y = clouds(2, 40, 2)
    X = pd.DataFrame(np.column_stack([X, X.sum(axis=1)]), columns=["a", "b", "a + b"])
    with pytest.raises(DataError, match=r"class 0 \(20 rows\) has rank 2 of 3: column \S+"):
        GaussianClassifier(regularization=0).fit(X, y)
    with pytest.raises(DataError, match=r"classes together \(40 rows\) has rank 2 of 3"):
        GaussianClassifier("shared", regularization=0).fit(X, y)
    GaussianClassifier("diagonal", regularization=0).fit(X, y)
    X["c"] = np.where(y == 1, 3.0, X["a"])
    with pytest.raises(DataError, match="ithin class 1 column c has no variance") as caught:
        GaussianClassifier("diagonal", regularization=0).fit(X, y)
    assert "shared-diagonal" in str(caught.value) and "regularization=1e-3" in str(caught.value)


@pytest.mark.parametrize("structure", STRUCTURES[:3])
def test_fewer_rows_than_columns_are_fitted_with_a_warning(structure):
    X = np.array([[0.0, 1, 2, 3], [1, 0, 5, 5], [7, 8, 9, 1]])
    with pytest.warns(DegenerateWarning, match="1e-6 of the variance"):
        model = GaussianClassifier(structure).fit(X, [0, 0, 1])
    assert model.predict(X).tolist() == [0, 0, 1]
    assert model.ridge_.all() and "ridge" in model.summary() and "degenerate" in model.summary()
    assert model.status_ is linsep.Status.CERTIFIED
    np.testing.assert_allclose(model.ridge_, 1e-6 * X.var(axis=0))


def test_a_ridge_is_the_maximum_of_its_own_objective():
    X, y = clouds(2, 40)
    model = GaussianClassifier(regularization=0.1).fit(X, y)
    for k in (0, 1):
        own = X[y == k]
        expected = np.cov(own.T, bias=True) + np.diag(0.1 * X.var(axis=0))
        np.testing.assert_allclose(model.covariance_[k], expected)
    facts = model.certificate_
    penalty = sum(
        10 * np.trace(np.linalg.inv(C) @ np.diag(model.ridge_)) for C in model.covariance_
    )
    assert facts.objective == pytest.approx(penalty - facts.log_likelihood)
    assert 0 <= facts.gap < 1e-8


@each_structure
def test_columns_that_vary_by_their_last_digits_are_told(structure):
    ulp = np.spacing(1e6)
    X = np.column_stack(
        [[0.0, 1, 3, 2, 5, 4, 7, 9], 1e6 + ulp * np.array([0, 1, 1, 0, 1, 0, 0, 0])]
    )
    with pytest.warns(DegenerateWarning, match=r"column 1 \('x2'\) varies by .* around 1e\+06"):
        model = GaussianClassifier(structure).fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    assert model.status_ is linsep.Status.STALLED
    assert model.certificate_.gap > 1e-3


@pytest.mark.parametrize("size", [1e200, 1e-200, 1.5e308])
def test_ranges_beyond_float_are_refused_with_the_column(size):
    X, y = clouds()
    X[:, 1] *= size / np.abs(X[:, 1]).max()
    for structure in STRUCTURES:
        with pytest.raises(DataError, match=r"column 1 \('x2'\).*StandardScaler"):
            GaussianClassifier(structure).fit(X, y)


def test_what_cannot_be_fitted_is_said():
    X, y = clouds()
    with pytest.raises(LabelError, match="one class"):
        GaussianClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(LabelError, match="class 2 has no row of positive weight"):
        GaussianClassifier().fit(X, np.arange(len(y)) % 3, (np.arange(len(y)) % 3 != 2) * 1.0)
    wide = sparse.csr_array((4, 30_000))
    with pytest.raises(DataError, match="shared-diagonal"):
        GaussianClassifier().fit(wide, [0, 0, 1, 1])


HOSTILE = st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.0, -3.5, 1e-300, 1e8, 1e-8, 0.1, 1e100, -1e300])


@pytest.mark.filterwarnings("ignore::linsep.errors.DegenerateWarning")
@given(
    arrays(np.float64, st.tuples(st.integers(2, 7), st.integers(1, 3)), elements=HOSTILE),
    st.sampled_from(STRUCTURES),
    st.integers(2, 3),
    st.booleans(),
)
def test_hostile_rows_are_fitted_or_refused_in_words(X, structure, K, as_sparse):
    y = np.arange(len(X)) % K
    rows = sparse.csr_array(X) if as_sparse else X
    try:
        model = GaussianClassifier(structure).fit(rows, y)
    except LinsepError:
        return
    P = model.predict_proba(rows)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.isfinite(model.certificate_.objective)
    assert model.certificate_.gap >= 0


# -- certificates ------------------------------------------------------------------------------


@each_structure
def test_forged_parameters_are_found_out(structure):
    X, y = load_iris(return_X_y=True)
    model = GaussianClassifier(structure).fit(X, y)
    assert linsep.certify(model, X, y) == model.certificate_
    model.means_ = model.means_ + 0.01
    forged = linsep.certify(model, X, y)
    assert forged.gap > 0.1 and forged.stationarity > 0.01
    assert forged.log_likelihood < model.certificate_.log_likelihood
    assert forged.settle() is linsep.Status.STALLED


def test_errors_are_those_of_predict():
    X, y = load_iris(return_X_y=True)
    for structure in STRUCTURES:
        model = GaussianClassifier(structure).fit(X, y)
        assert model.certificate_.wrong_rows == tuple(np.flatnonzero(model.predict(X) != y))
    weight = np.ones(len(y))
    weight[:10] = 0
    part = GaussianClassifier().fit(X, y, weight)
    wrong = np.flatnonzero((part.predict(X) != y) & (weight > 0))
    assert part.certificate_.wrong_rows == tuple(wrong)


# -- files, names, commands --------------------------------------------------------------------


@each_structure
@pytest.mark.parametrize("loss", [None, [[0, 2], [1, 0], [0.3, 0.3]]])
def test_save_and_load(structure, loss, tmp_path):
    X, y = clouds()
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = GaussianClassifier(structure, loss=loss).fit(frame, np.array(["a", "b"])[y])
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.certificate_ == model.certificate_
    assert again.summary() == model.summary()
    assert linsep.certify(again, frame, np.array(["a", "b"])[y]) == model.certificate_


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("priors", [0.5], "priors is not an array of finite numbers"),
        ("priors", [1.0, 0.0], "above 0"),
        ("ignored", [7], "outside 0"),
        ("n_features", 3, "feature_names has 2 names for 3 features|means is not an array"),
        ("covariance", [[[1.0, 2.0], [2.0, 1.0]]] * 2, "positive definite"),
        ("status", {"name": "GREAT"}, "not known"),
        ("extra", {"evil": 1}, "unknown entry"),
        ("feature_names", ["a"], "feature_names is a list of 1; a list of 2 is due"),
    ],
)
def test_damaged_files_are_refused(field, value, words, tmp_path):
    model = GaussianClassifier().fit(*clouds())
    linsep.save(model, tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content[field] = value
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(ModelError, match=words):
        linsep.load(tmp_path / "m.json")
    with pytest.raises(ModelError, match="not fitted"):
        linsep.save(GaussianClassifier(), tmp_path / "n.json")


def test_summary_in_words():
    frame = pd.DataFrame({"height": [0.0, 2.0, 5.0, 7.0]})
    text = GaussianClassifier("shared", loss=[[0, 1], [2, 0]]).fit(frame, list("aabb")).summary()
    assert "5 height >= 18.1931  =>  'b', otherwise 'a'" in text
    assert "divided by n" in text and "0.5 for 'a', 0.5 for 'b'" in text
    assert "loss        'a': 0 1; 'b': 2 0" in text
