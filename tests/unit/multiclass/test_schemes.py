"""One against the rest, one against one, Kesler: labels, rules, weights, files, words."""

from __future__ import annotations

import os
import signal
from itertools import combinations

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import get_tags

import linsep
from linsep.core.protocol import Status
from linsep.errors import (
    CapabilityError,
    DataError,
    LabelError,
    LinsepError,
    ModelError,
    SettingError,
)
from linsep.multiclass import kesler_vectors

quiet = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
SCHEMES = [linsep.OneVsRest, linsep.OneVsOne, linsep.Kesler]
every = pytest.mark.parametrize("scheme", SCHEMES)

X = np.array([[0, 2.0], [1, 3], [3, 0], [4, 1], [-3, -1], [-2, -3]])
y = np.array([0, 0, 1, 1, 2, 2])
NAMES = [
    np.array(["b", "a", "c"]),
    np.array([-1, 0, 7]),
    np.array([10, 200, 3], dtype=np.uint8),
    np.array([4.0, -2.0, 1.0]),
    np.array(["x", "yy", "zzz"], dtype=object),
]


@every
@pytest.mark.parametrize("names", NAMES[:3] + NAMES[4:])
def test_any_labels_in_sorted_order(scheme, names):
    model = scheme().fit(X, names[y])
    np.testing.assert_array_equal(model.classes_, np.unique(names))
    np.testing.assert_array_equal(model.predict(X), names[y])
    assert model.predict(X).dtype == names.dtype
    scores = model.decision_function(X)
    assert scores.shape == (6, 3)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], names[y])


@every
@pytest.mark.parametrize("names", [[False, True], [-1, 1], [0, 5], ["no", "yes"]])
def test_two_classes(scheme, names):
    labels = np.array(names)[(y > 0).astype(int)]
    model = scheme(linsep.LinearSVM(C=10)).fit(X, labels)
    assert model.decision_function(X).shape == (6,)
    np.testing.assert_array_equal(model.predict(X), labels)
    assert len(model.estimators_) == len(model.certificates_) == 1


@quiet
@every
def test_a_class_of_a_single_row(scheme):
    rows = np.vstack([X, [[0.0, -9.0]]])
    labels = np.array([*"aabbcc", "single"])
    model = scheme(linsep.LinearSVM(C=100)).fit(rows, labels)
    assert model.predict([[0.0, -9.0]])[0] == "single"


@pytest.mark.parametrize("names", NAMES)
def test_unanimous_is_the_rule_word_for_word(names):
    model = linsep.OneVsRest(linsep.LinearSVM(), decide="unanimous").fit(X, names[y])
    grid = np.stack(np.meshgrid(np.linspace(-6, 6, 25), np.linspace(-6, 6, 25)), -1).reshape(-1, 2)
    values = model.decision_function(grid)
    predicted = model.predict(grid)
    rejected = 0
    for row, label in zip(values, predicted.tolist()):
        accepting = [c for c, v in zip(model.classes_.tolist(), row) if v > 0]
        if len(accepting) == 1:
            assert label == accepting[0]
        else:
            rejected += 1
            same = label != label and model.reject_label_ != model.reject_label_
            assert same or label == model.reject_label_
    assert 0 < rejected < len(grid)


def test_labels_of_rejected_rows():
    def rejecting(names, **options):
        names = np.array(names)
        model = linsep.OneVsRest(decide="unanimous", **options).fit(X, names[y])
        return model.reject_label_, model.predict(1e-6 * X[:1])

    assert rejecting(["a", "b", "c"])[0] == "reject"
    assert rejecting([0, 1, 2])[0] == -1
    assert rejecting([-1, 0, 1])[0] == -2
    assert np.isnan(rejecting([0.0, 1.0, 2.0])[0])
    assert rejecting([0, 1, 2], reject_label=99)[0] == 99
    label, predicted = rejecting([0, 1, 2], reject_label="?")
    assert label == "?" and predicted.dtype == object
    with pytest.raises(SettingError, match="reject_label is 'a', which is one of the classes"):
        rejecting(["a", "b", "c"], reject_label="a")
    with pytest.raises(SettingError, match="goes with decide='argmax' only"):
        rejecting([0, 1, 2], calibrate="sigmoid")
    with pytest.raises(SettingError, match="'decide' parameter of OneVsRest must be one of"):
        linsep.OneVsRest(decide="vote").fit(X, y)
    two = linsep.OneVsRest(decide="unanimous").fit(X, y > 0)
    assert two.reject_label_ is None and two.predict(X).tolist() == (y > 0).tolist()


def test_votes_and_ties():
    """A circle of three equal duels: no class has more votes, the sums decide, then the order."""

    model = linsep.OneVsOne(linsep.LinearSVM()).fit(X, y)
    assert model.pairs_ == [(0, 1), (0, 2), (1, 2)]
    raw = model.pairwise_decision_function(X)
    votes = model.votes(X)
    assert (votes.sum(axis=1) == 3).all() and votes.dtype.kind == "i"
    for i in range(6):
        expected = np.zeros(3, int)
        for value, (a, b) in zip(raw[i], model.pairs_):
            expected[b if value >= 0 else a] += 1
        assert votes[i].tolist() == expected.tolist()
    machines = model.estimators_
    for machine, (weight, offset) in zip(machines, [((0, 0), -1.0), ((0, 0), 2.0), ((0, 0), -4.0)]):
        machine.coef_, machine.intercept_ = np.array([weight], float), np.array([offset])
    # 0 beats 1 by 1, 2 beats 0 by 2, 1 beats 2 by 4: one vote each; sums -1, 3, -2
    assert model.votes(X[:1]).tolist() == [[1, 1, 1]]
    assert model.predict(X[:1])[0] == 1
    for machine, offset in zip(machines, [-1.0, 1.0, -1.0]):
        machine.intercept_ = np.array([offset])
    assert model.predict(X[:1])[0] == 0  # votes and sums are equal: the first class


@quiet
@every
@pytest.mark.parametrize("kind", ["csr", "float32", "frame", "list"])
def test_kinds_of_data(scheme, kind):
    make = {
        "csr": scipy.sparse.csr_array,
        "float32": lambda a: a.astype(np.float32),
        "frame": lambda a: pandas.DataFrame(a, columns=["width", "height"]),
        "list": lambda a: a.tolist(),
    }[kind]
    model = scheme().fit(make(X), y)
    plain = scheme().fit(X, y)
    np.testing.assert_array_equal(model.predict(make(X)), plain.predict(X))
    np.testing.assert_allclose(model.decision_function(make(X)), plain.decision_function(X), 1e-5)
    assert model.n_features_in_ == 2
    assert hasattr(model, "feature_names_in_") == (kind == "frame")


@every
def test_weights_are_repeated_rows(scheme):
    rng = np.random.default_rng(0)
    rows, labels = make_blobs(40, centers=3, cluster_std=3.0, random_state=1)
    times = rng.integers(0, 3, 40)
    inner = linsep.LinearSVM(tol=1e-8)
    weighted = scheme(inner).fit(rows, labels, sample_weight=times)
    repeated = scheme(inner).fit(np.repeat(rows, times, axis=0), np.repeat(labels, times))
    np.testing.assert_allclose(
        weighted.decision_function(rows), repeated.decision_function(rows), rtol=1e-3, atol=1e-3
    )
    by_class = scheme(inner, class_weight={0: 1, 1: 5, 2: 1}).fit(rows, labels)
    by_row = scheme(inner).fit(rows, labels, sample_weight=np.where(labels == 1, 5, 1))
    np.testing.assert_allclose(
        by_class.decision_function(rows), by_row.decision_function(rows), rtol=1e-9
    )


@every
def test_a_class_without_weight_is_none(scheme):
    model = scheme(linsep.LinearSVM()).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    assert model.predict(X[[0, 4]]).tolist() == [0, 2]


def test_certificates_name_rows_of_the_whole_table():
    rows = np.array([[0.0], [1], [2], [3], [2.5], [9]])
    labels = np.array(["a", "b", "b", "c", "b", "c"])
    model = linsep.OneVsOne(linsep.LinearSVM(C=100)).fit(rows, labels)
    certificate = model.certificates_[model.pairs_.index((0, 2))]
    assert certificate.errors == 0
    bad = linsep.OneVsOne(linsep.Perceptron(max_iter=50)).fit(
        np.array([[0.0], [5], [1], [0.5], [6]]), np.array(["a", "b", "a", "c", "b"])
    )
    proof = bad.certificates_[bad.pairs_.index((0, 2))]
    assert proof.separable is False and set(proof.rows) <= {0, 2, 3}
    assert bad.status_ is Status.INSEPARABLE
    assert bad.certificate_.inseparable == 1 and "1 proved to have no separating plane" in str(
        bad.certificate_
    )
    assert "'c' against 'a'" in bad.summary()


@every
def test_summary_says_what_is_proved(scheme):
    model = scheme(linsep.LinearSVM()).fit(X, y)
    text = model.summary()
    assert "within" in text and "algorithm" in text
    assert len(model.certificates_) == len(model.estimators_)
    assert all(c.relative_gap < 1e-3 for c in model.certificates_)
    foreign = scheme(LinearSVC()).fit(X, y)
    assert foreign.status_ is None and all(c is not None for c in foreign.certificates_)
    assert "within" in foreign.summary()


@every
@pytest.mark.parametrize("calibrate", [None, "temperature"])
@pytest.mark.parametrize("inner", [None, linsep.LinearSVM(C=3), linsep.LeastSquares()])
def test_model_files(scheme, inner, calibrate, tmp_path):
    names = np.array(["b", "a", "c"])[y]
    model = scheme(inner, calibrate=calibrate).fit(pandas.DataFrame(X, columns=["u", "v"]), names)
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    frame = pandas.DataFrame(X, columns=["u", "v"])
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    assert again.get_params().keys() == model.get_params().keys()
    assert str(again.certificate_) == str(model.certificate_)
    assert again.summary() == model.summary()
    if calibrate:
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


@every
def test_files_refuse_what_they_cannot_hold(scheme, tmp_path):
    inner = SGDClassifier(random_state=np.random.RandomState(0), fit_intercept=False)
    with pytest.raises(ModelError, match=r"random_state is .*RandomState.*set it to a number"):
        linsep.save(scheme(inner).fit(X, y), tmp_path / "m.json")
    with pytest.raises(ModelError, match="not fitted"):
        linsep.save(scheme(), tmp_path / "m.json")
    if scheme is not linsep.Kesler:
        with pytest.raises(ModelError, match=r"SVC cannot be saved.*there is joblib.dump"):
            linsep.save(scheme(SVC()).fit(X, y), tmp_path / "m.json")


FOREIGN = [LinearSVC(), LogisticRegression(), RidgeClassifier(), SGDClassifier(random_state=0),
           make_pipeline(StandardScaler(), LinearSVC()),
           make_pipeline(MinMaxScaler(), Normalizer(), linsep.LinearSVM())]  # fmt: skip


@pytest.mark.parametrize("inner", FOREIGN, ids=str)
@every
def test_machines_of_scikit_learn_in_files(scheme, inner, tmp_path):
    if scheme is linsep.Kesler and hasattr(inner, "steps"):
        with pytest.raises(CapabilityError, match="put its first steps in front"):
            scheme(inner).fit(X, y)
        return
    model = scheme(inner, calibrate="temperature").fit(X, np.array(["b", "a", "c"])[y])
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.summary() == model.summary()
    assert str(again.get_params()) == str(model.get_params())
    assert type(again.estimators_[0]) is type(model.estimators_[0])


def test_damaged_machines_of_scikit_learn(tmp_path):
    path = tmp_path / "m.json"
    linsep.save(linsep.OneVsRest(LinearSVC()).fit(X, y), path)
    text = path.read_text()
    for old, new, words in (
        ('"sklearn.LinearSVC"', '"sklearn.SVC"', "which linsep does not have"),
        ('"sklearn.LinearSVC"', '"os.system"', "which linsep does not have"),
        ('"intercept_"', '"__class__"', "the arrays of sklearn.LinearSVC must be"),
        ('"n_features": 2', '"n_features": 3', "for 3 features"),
        ('"C": 1.0', '"Q": 1.0', "cannot be made of this"),
    ):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(ModelError, match=words):
            linsep.load(path)


def test_row_numbers_of_certificates_survive_a_file(tmp_path):
    rows, labels = np.array([[0.0], [5], [1], [0.5], [6]]), np.array(["a", "b", "a", "c", "b"])
    model = linsep.OneVsOne(linsep.Perceptron(max_iter=50)).fit(rows, labels)
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    number = model.pairs_.index((0, 2))
    assert len(model.certificates_[number].rows)
    assert tuple(again.certificates_[number].rows) == tuple(model.certificates_[number].rows)


@every
def test_errors_are_clear(scheme):
    with pytest.raises(LabelError, match="one class"):
        scheme().fit(X, np.zeros(6))
    with pytest.raises(SettingError, match=r"must be a classifier.*Got LinearRegression"):
        scheme(LinearRegression()).fit(X, y)
    with pytest.raises(SettingError, match=r"Got 'perceptron' instead"):
        scheme("perceptron").fit(X, y)
    with pytest.raises(SettingError, match=r"Got <class .*LinearSVM'> instead"):
        scheme(linsep.LinearSVM).fit(X, y)
    with pytest.raises(DataError, match=r"NaN|nan"):
        scheme().fit(np.where(X == 4, np.nan, X), y)
    with pytest.raises(DataError, match="all sample weights are zero"):
        scheme().fit(X, y, sample_weight=np.zeros(6))
    with pytest.raises(SettingError, match="'calibrate' parameter"):
        scheme(calibrate="platt").fit(X, y)
    with pytest.raises(LabelError, match=r"y has 5 labels but X has 6 rows"):
        scheme().fit(X, y[:5])


def test_learners_that_do_not_fit():
    with pytest.raises(CapabilityError, match="takes no sample_weight"):
        linsep.OneVsRest(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(6))
    with pytest.raises(CapabilityError, match="no linear classifier of sparse rows"):
        linsep.Kesler(KNeighborsClassifier(2)).fit(X, y)


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
def test_classifiers_with_probabilities_only(scheme):
    model = scheme(GaussianNB()).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert model.certificates_ == [None] * 3
    assert "3 of them without a certificate" in str(model.certificate_)


def test_texts_go_through_to_a_pipeline():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["red apple", "green apple", "fast car", "slow car", "big house", "old house"]
    model = linsep.OneVsRest(make_pipeline(TfidfVectorizer(), LinearSVC())).fit(
        texts, list("aabbcc")
    )
    assert model.predict(["apple", "house"]).tolist() == ["a", "c"]


def test_grid_search_reaches_the_inner_estimator():
    rows, labels = load_iris(return_X_y=True)
    search = GridSearchCV(linsep.OneVsRest(linsep.LinearSVM()), {"estimator__C": [0.01, 1.0]}, cv=3)
    search.fit(rows, labels)
    assert search.best_params_["estimator__C"] == 1.0


@quiet
@pytest.mark.parametrize("threads", [1, 2, -1])
def test_threads_do_not_change_a_bit(threads):
    rows, labels = load_iris(return_X_y=True)
    for scheme in (linsep.OneVsRest, linsep.OneVsOne):
        one = scheme(linsep.Perceptron(max_iter=20), n_jobs=1).fit(rows, labels)
        many = scheme(linsep.Perceptron(max_iter=20), n_jobs=threads).fit(rows, labels)
        np.testing.assert_array_equal(one.decision_function(rows), many.decision_function(rows))
        foreign = scheme(LogisticRegression(), n_jobs=threads).fit(rows, labels)
        assert foreign.score(rows, labels) > 0.9


# -- Kesler ----------------------------------------------------------------------------------

HOSTILE = [0.0, 1.0, -1.0, 2.0, 1e-300, 1e8]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), n=st.integers(3, 8), d=st.integers(1, 3), offset=st.booleans())
def test_kesler_vectors_by_the_definition(data, n, d, offset):
    rows = data.draw(hnp.arrays(np.float64, (n, d), elements=st.sampled_from(HOSTILE)))
    labels = np.array([0, 1, 2, *data.draw(st.lists(st.integers(0, 2), min_size=n - 3,
                                                    max_size=n - 3))])  # fmt: skip
    found = kesler_vectors(scipy.sparse.csr_array(rows), labels, fit_intercept=offset).toarray()
    np.testing.assert_array_equal(
        found, kesler_vectors(rows, labels, fit_intercept=offset).toarray()
    )
    full = np.column_stack([rows, np.ones(n)]) if offset else rows
    width = full.shape[1]
    expected = []
    for x, own in zip(full, labels):
        for rival in range(3):
            if rival != own:
                vector = np.zeros((3, width))
                vector[own], vector[rival] = x, -x
                expected.append(vector.ravel())
    np.testing.assert_array_equal(found, expected)


@quiet
@settings(max_examples=25, deadline=None)
@given(data=st.data(), n=st.integers(3, 9), order=st.sampled_from(["cyclic", "restart", "worst"]))
def test_implicit_and_explicit_perceptrons_walk_the_same_way(data, n, order):
    elements = st.integers(-3, 3).map(float)
    rows = data.draw(hnp.arrays(np.float64, (n, 2), elements=elements))
    labels = np.arange(n) % 3
    inner = linsep.Perceptron(order=order, max_iter=8)
    implicit = linsep.Kesler(inner).fit(rows, labels)
    explicit = linsep.Kesler(inner, explicit=True).fit(rows, labels)
    np.testing.assert_array_equal(implicit.coef_, explicit.coef_)
    np.testing.assert_array_equal(implicit.intercept_, explicit.intercept_)
    assert implicit.estimators_[0].n_updates_ == explicit.estimators_[0].n_updates_
    assert implicit.certificate_.errors == explicit.certificate_.errors
    assert implicit.certificate_.separable == explicit.certificate_.separable


LEARNERS = [
    linsep.Perceptron(),
    linsep.Perceptron(keep="pocket"),
    linsep.Kozinec(),
    linsep.LeastSquares(),
    linsep.HoKashyap(),
    linsep.LinearSVM(C=100),
    linsep.LogisticRegression(C=100),
    LinearSVC(C=100, fit_intercept=False),
    LogisticRegression(C=100),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("sparse", [False, True])
def test_any_homogeneous_learner_trains_a_machine(learner, sparse):
    rows = scipy.sparse.csr_array(X) if sparse else X
    model = linsep.Kesler(learner).fit(rows, y)
    assert model.certificate_.separable is True and model.certificate_.errors == 0
    assert model.predict(rows).tolist() == y.tolist()
    assert model.coef_.shape == (3, 2)
    through = linsep.Kesler(learner, fit_intercept=False).fit(rows, y)
    assert not through.intercept_.any()


def test_kesler_svm_is_weston_and_watkins():
    """The minimum of |W|^2 / 2 + C sum_i sum_{j != y_i} hinge, by a quadratic program."""
    from scipy.optimize import minimize

    rows, labels = make_blobs(20, centers=3, cluster_std=2.0, random_state=2)
    model = linsep.Kesler(linsep.LinearSVM(C=0.5, tol=1e-8)).fit(rows, labels)
    vectors = kesler_vectors(rows, labels).toarray()
    Q = vectors @ vectors.T
    dual = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(), np.zeros(len(Q)), jac=lambda a: Q @ a - 1,
        bounds=[(0, 0.5)] * len(Q), method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10000, "maxfun": 100000},
    )  # fmt: skip
    assert model.certificates_[0].objective == pytest.approx(-dual.fun, rel=1e-5)
    W = (dual.x @ vectors).reshape(3, 3)
    np.testing.assert_allclose(model.coef_, W[:, :2], atol=1e-3)
    np.testing.assert_allclose(model.intercept_, W[:, 2], atol=1e-3)


def test_kesler_carries_the_proof_that_nothing_separates():
    rows = np.array([[0.0], [1], [2], [3], [1.5], [2.5]])
    labels = np.array([0, 1, 0, 1, 2, 2])
    assert linsep.separability(rows, labels).separable is False
    model = linsep.Kesler(linsep.HoKashyap(max_iter=500)).fit(rows, labels)
    certificate = model.certificate_
    assert certificate.separable is False and len(certificate.rivals) == len(certificate.rows)
    total = np.zeros((3, 2))
    for row, share, rival in zip(certificate.rows, certificate.multipliers, certificate.rivals):
        z = np.array([rows[row, 0], 1.0]) * float(share)
        total[labels[row]] += z
        total[int(rival)] -= z
    np.testing.assert_allclose(total, 0, atol=1e-12)


@quiet
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), n=st.integers(2, 9), which=st.sampled_from(SCHEMES))
def test_hostile_tables(data, n, which):
    numbers = st.sampled_from([0.0, 1.0, -2.0, 1e-300, 1e12, 3.5])
    rows = data.draw(hnp.arrays(np.float64, (n, 2), elements=numbers))
    labels = data.draw(hnp.arrays(np.int64, n, elements=st.integers(-1, 2)))
    model = which(linsep.Perceptron(max_iter=10))
    try:
        model.fit(rows, labels)
    except LinsepError:
        return
    assert set(model.predict(rows)) <= set(labels)
    assert len(model.certificates_) == len(model.estimators_)
    if which is linsep.OneVsOne:
        assert len(model.estimators_) == len(list(combinations(model.classes_, 2)))


@pytest.mark.parametrize("inner", [linsep.LinearSVM(), linsep.Perceptron(), LinearSVC()])
@every
def test_certify_proves_the_machines_again(scheme, inner):
    model = scheme(inner, class_weight={0: 1, 1: 2, 2: 1}).fit(X, y)
    report = linsep.certify(model, X, y)
    if scheme is linsep.Kesler:
        assert report.separable is True and report.margin == model.certificate_.margin
        return
    assert report.problems == report.proved == 3
    assert report.errors == model.certificate_.errors
    if not isinstance(inner, linsep.Perceptron):
        assert report.relative_gap <= 1e-3
    if model.outcome_ is not None:
        assert model.outcome_.passes > 0 and not model.outcome_.interrupted


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
def test_pipelines_and_schemes_inside_carry_their_certificates(scheme):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = scheme(make_pipeline(StandardScaler(), linsep.LinearSVM())).fit(X, y)
    assert model.certificate_.proved == 3 and model.status_ is Status.CERTIFIED
    nested = scheme(linsep.OneVsRest(linsep.LinearSVM())).fit(X, y)
    assert nested.predict(X).tolist() == y.tolist() and nested.certificate_.relative_gap < 1e-3


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "i8", "u8"])
def test_labels_as_far_apart_as_their_type_allows(kind):
    limits = np.iinfo(kind)
    near = [limits.max, limits.max - 3, limits.max - 90]
    for names in (np.array([limits.min, limits.max, 1], kind), np.array(near, kind)):
        model = linsep.LinearSVM().fit(X, names[y])
        assert model.classes_.tolist() == sorted(names.tolist())
        assert model.predict(X).tolist() == names[y].tolist()
        assert model.classes_.dtype == names.dtype


# -- limits and Ctrl-C -----------------------------------------------------------------------


@pytest.mark.parametrize("inner", [linsep.LinearSVM(), LinearSVC(), linsep.KernelSVM()])
@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
def test_no_time_gives_a_model_that_says_so(scheme, inner, tmp_path):
    names = np.array(["b", "a", "c"])[y]
    with pytest.warns(linsep.errors.GapWarning, match="3 of 3 machines were not trained: the time"):
        model = scheme(inner, time_limit=0).fit(X, names)
    assert model.status_ is Status.TIME_LIMIT and model.certificates_ == [None] * 3
    assert "3 of them without a certificate" in model.summary()
    assert set(model.predict(X)) <= set("abc")
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    assert again.status_ is Status.TIME_LIMIT
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_time_is_shared_and_settings_stay():
    model = linsep.OneVsOne(linsep.LinearSVM(), time_limit=60).fit(X, y)
    assert model.status_ is Status.CERTIFIED
    assert all(machine.time_limit is None for machine in model.estimators_)
    own = linsep.OneVsOne(linsep.LinearSVM(time_limit=9.0), time_limit=60).fit(X, y)
    assert all(machine.time_limit == 9.0 for machine in own.estimators_)
    assert linsep.Kesler(time_limit=60).fit(X, y).estimators_[0].time_limit is None


class Presses(linsep.LinearSVM):
    """Ctrl-C comes while the second machine is trained."""

    count = 0

    def fit(self, X, y, sample_weight=None):
        Presses.count += 1
        if Presses.count == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return super().fit(X, y, sample_weight)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise")
@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
@pytest.mark.parametrize("calibrate", [None, "sigmoid"])
@pytest.mark.timeout(120)
def test_one_ctrl_c_stops_all_machines(scheme, calibrate):
    Presses.count = 0
    with pytest.warns(linsep.errors.GapWarning, match="were not trained: stopped on request"):
        model = scheme(Presses(), calibrate=calibrate).fit(X, y)
    assert Presses.count == 2
    assert model.status_ is Status.STOPPED and model.outcome_.interrupted
    assert model.certificates_[0] is not None and model.certificates_[2] is None
    assert len(model.predict(X)) == 6
    if calibrate:
        with pytest.raises(ModelError, match="not reached before the fit was stopped"):
            model.predict_proba(X)


# -- many small problems ---------------------------------------------------------------------


def test_many_problems_are_solved_to_tol():
    rows, labels = load_digits(return_X_y=True)
    rows = rows / 16
    model = linsep.OneVsOne(linsep.LinearSVM(C=0.1, tol=1e-2)).fit(rows, labels)
    gaps = [c.relative_gap for c in model.certificates_]
    assert max(gaps) <= 1e-2 and np.median(gaps) > 1e-6
    used = [machine.solver_used_ for machine in model.estimators_]
    assert any("dual coordinate descent" in words for words in used)
    few = linsep.OneVsRest(linsep.LinearSVM(C=0.1)).fit(rows[:100], labels[:100])
    assert max(c.relative_gap for c in few.certificates_) < 1e-6


def test_what_coordinate_descent_does_not_finish_is_fitted_again():
    from linsep.multiclass.machines import fit_machine

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 6)) * [1, 10, 100, 1e3, 1e4, 1e5]
    labels = (rows @ rng.normal(size=6) + rng.normal(size=200) * 1e5 > 0).astype(int)
    model = linsep.LinearSVM(C=100.0, tol=1e-3)
    machine, certificate = fit_machine(model, rows, labels, None, hurry=True)
    assert machine.status_ is Status.CERTIFIED and certificate.relative_gap <= 1e-3
    assert "interior point" in machine.solver_used_
    assert certificate.relative_gap > 1e-7  # and no further than tol


# -- rows that others read -------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
def test_gram_matrices(scheme):
    rows, labels = load_iris(return_X_y=True)
    gram = rows @ rows.T
    assert get_tags(scheme(SVC(kernel="precomputed"))).input_tags.pairwise
    ours = scheme(SVC(kernel="precomputed")).fit(gram, labels)
    plain = scheme(SVC(kernel="linear")).fit(rows, labels)
    np.testing.assert_allclose(ours.decision_function(gram), plain.decision_function(rows), 1e-6)
    scores = cross_val_score(scheme(SVC(kernel="precomputed")), gram, labels, cv=3)
    np.testing.assert_allclose(
        scores, cross_val_score(scheme(SVC(kernel="linear")), rows, labels, cv=3)
    )
    calibrated = scheme(SVC(kernel="precomputed"), calibrate="temperature").fit(gram, labels)
    p = calibrated.predict_proba(gram)
    np.testing.assert_array_equal(p.argmax(axis=1), calibrated.predict(gram))


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
def test_missing_values_are_for_the_pipeline(scheme):
    holes = np.where(X == 4, np.nan, X)
    model = scheme(make_pipeline(SimpleImputer(), LinearSVC())).fit(holes, y)
    assert model.predict(holes).shape == (6,)
    with pytest.raises(ValueError, match="NaN"):
        scheme(LinearSVC()).fit(holes, y)


@pytest.mark.parametrize("scheme", [linsep.OneVsRest, linsep.OneVsOne])
def test_weights_reach_the_end_of_a_pipeline(scheme):
    weight = np.array([1.0, 2, 1, 5, 1, 1])
    inner = make_pipeline(StandardScaler(), linsep.LinearSVM(tol=1e-8))
    piped = scheme(inner).fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    if scheme is linsep.OneVsRest:
        plain = scheme(linsep.LinearSVM(tol=1e-8)).fit(scaled, y, sample_weight=weight)
        np.testing.assert_allclose(
            piped.decision_function(X), plain.decision_function(scaled), atol=1e-6
        )
    assert piped.certificate_.proved == 3


def test_labels_for_several_columns_are_refused():
    with pytest.raises(LabelError, match=r"shape \(6, 2\): several labels.*MultiOutputClassifier"):
        linsep.OneVsRest().fit(X, np.column_stack([y, y]))


LABELS = ["?", -99, (1, 2), float("nan"), 2.5, True]


@pytest.mark.parametrize("label", LABELS, ids=str)
@pytest.mark.parametrize("names", [*NAMES, np.array([True, False, True])], ids=str)
def test_rejected_rows_are_wrong_whatever_their_label(names, label):
    truth = names[y]
    if label is True and truth.dtype == bool:
        return
    model = linsep.OneVsRest(decide="unanimous", reject_label=label).fit(X, truth)
    rows = np.vstack([X, [[0.3, 0.2]]])
    found = model.predict(rows)
    accepts = model.accepts(rows)
    sure = accepts.sum(axis=1) == 1
    right = sure & (model.classes_[accepts.argmax(axis=1)] == np.append(truth, truth[0]))
    assert model.score(rows, np.append(truth, truth[0])) == pytest.approx(right.mean())
    for value, decided in zip(found.tolist(), sure):
        if not decided:
            assert value == model.reject_label_ or value != value
    assert model.score(rows[:6], truth, sample_weight=np.arange(6)) <= 1.0


@pytest.mark.parametrize("labels", [[0, 1, 0, 1, 0, 1], [1, 2, 3, 1, 2, 3], list("abcabc")])
def test_a_proof_of_kesler_needs_rows_of_its_classes(labels):
    X = np.arange(12.0).reshape(6, 2)
    model = linsep.Kesler(linsep.LinearSVM()).fit(X, [0, 1, 2, 0, 1, 2])
    with pytest.raises(LinsepError, match=r"rows of all of its classes|mixes"):
        linsep.certify(model, X, labels)
