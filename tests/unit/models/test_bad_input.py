"""Bad input gets a clear error that names the value, the place and the way out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import linsep
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.errors import DataError, LabelError, LinsepError, NotSeparatedWarning, SettingError

ESTIMATORS = [linsep.Perceptron, linsep.Kozinec]
every = pytest.mark.parametrize("estimator", ESTIMATORS)
X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
y = np.array([0, 1, 1])


@every
def test_one_class(estimator):
    with pytest.raises(
        LabelError, match=r"y has one class \(1\); a separating hyperplane needs two"
    ):
        estimator().fit(X, [1, 1, 1])


@every
def test_no_rows(estimator):
    with pytest.raises(DataError, match="0 sample"):
        estimator().fit(np.zeros((0, 2)), [])


@every
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, r"infinity \(inf\)")])
def test_values_that_are_not_finite_are_named_by_place(estimator, value, word):
    import pandas

    bad = X.copy()
    bad[1, 0] = value
    with pytest.raises(DataError, match=rf"X contains {word} at row 1, column 0; impute or drop"):
        estimator().fit(bad, y)
    with pytest.raises(DataError, match=r"row 1, column 0 \('width'\)"):
        estimator().fit(pandas.DataFrame(bad, columns=["width", "height"]), y)
    with pytest.raises(DataError, match="row 1, column 0"):
        estimator().fit(scipy.sparse.csr_array(bad), y)
    bad[2, 1] = value
    with pytest.raises(DataError, match="2 values that are not finite"):
        Problem(bad, y)


@every
@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1], "y has 2 labels but X has 3 rows"),
        ([0, np.nan, 1], "NaN"),
        ([[0, 1], [1, 0], [1, 1]], "y should be a 1d array"),
        (None, "requires y to be passed"),
        ([0.5, 1.5, 2.5], "Unknown label type"),
    ],
)
def test_labels(estimator, labels, words):
    with pytest.raises(LinsepError, match=words):
        estimator().fit(X, labels)


def test_labels_of_a_problem():
    with pytest.raises(LabelError, match="no label at row 1"):
        Problem(X, np.array(["a", None, "b"], dtype=object))
    with pytest.raises(LabelError, match="cannot be sorted"):
        Problem(X, np.array(["a", 1, "b"], dtype=object))
    with pytest.raises(LabelError, match=r"y has shape \(3, 2\)"):
        Problem(X, np.zeros((3, 2)))


@every
def test_weights(estimator):
    with pytest.raises(DataError, match=r"sample_weight\[1\] is -1.0; weights are finite and >= 0"):
        estimator().fit(X, y, sample_weight=[1, -1, 1])
    with pytest.raises(DataError, match=r"sample_weight has shape \(2,\); X has 3 rows"):
        estimator().fit(X, y, sample_weight=[1, 1])
    with pytest.raises(LabelError, match="belong to one class"):
        estimator().fit(X, y, sample_weight=[0, 1, 1])


def test_rows_of_weight_zero_keep_their_numbers():
    rows = np.array([[9.0], [0.0], [0.0], [5.0]])
    model = linsep.Perceptron().fit(rows, [0, 0, 1, 1], sample_weight=[0, 1, 1, 1])
    assert model.status_ is Status.INSEPARABLE
    assert sorted(model.certificate_.rows) == [1, 2]


def test_huge_values_overflow_with_a_name():
    rows = np.array([[1.0, 1e300], [2.0, -1e300], [3.0, 1e300]])
    with pytest.raises(DataError, match=r"overflowed: column 1 \('x2'\) reaches 1e\+300"):
        linsep.Perceptron().fit(rows, [0, 1, 0])
    assert linsep.separability(rows, [0, 1, 0]).check(rows, [0, 1, 0])


def test_tiny_values_do_not_hang():
    rows = np.array([[1e-300], [-1e-300]])
    with pytest.warns(NotSeparatedWarning):
        model = linsep.Perceptron(fit_intercept=False, max_iter=50).fit(rows, [1, 0])
    assert model.status_ is Status.STALLED
    assert linsep.separability(rows, [1, 0], fit_intercept=False).separable is True


def test_integers_beyond_doubles_are_refused():
    with pytest.raises(DataError, match="9007199254740993"):
        Problem(np.array([[2**53 + 1], [0]]), [0, 1])


def test_nothing_is_rounded_or_unmasked_in_silence():
    if np.dtype(np.longdouble).itemsize > 8:
        fine = np.ones((2, 1), dtype=np.longdouble)
        fine[1] += np.longdouble(2) ** -60
        with pytest.raises(DataError, match="float64 cannot hold"):
            Problem(fine, [0, 1])
    with pytest.raises(DataError, match="masked at row 1"):
        Problem(np.ma.masked_array([[1.0], [2.0]], mask=[[False], [True]]), [0, 1])


def test_text_and_complex_numbers():
    with pytest.raises(DataError, match="not numbers"):
        Problem(np.array([["a"], ["b"]], dtype=object), [0, 1])
    with pytest.raises(DataError, match="Complex data not supported"):
        Problem(np.array([[1j], [2.0]]), [0, 1])
    with pytest.raises(DataError, match=r"reshape\(-1, 1\)"):
        Problem(np.zeros(3), [0, 1, 1])


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"eta": 0}, "must be a number > 0. Got 0 instead"),
        ({"order": "zigzag"}, "Got 'zigzag' instead"),
        ({"decay": "slow"}, "or a function. Got 'slow'"),
        ({"max_iter": 0}, "'max_iter' parameter of Perceptron must be a whole number >= 1"),
        ({"start": ([1, 2, 3], 0)}, "start has 3 coefficients; this problem needs 2"),
        ({"start": "zeros"}, "use None, 'random' or"),
        ({"update": "batch", "order": "shuffle"}, "order='shuffle' has no effect here"),
        ({"patience": 3}, "set keep='pocket'"),
        ({"decay": lambda k: -1.0}, "decay gives -1.0 for update 1"),
        ({"fit_intercept": False, "start": ([1, 1], 2)}, "fit_intercept is False"),
    ],
)
def test_settings(settings_, words):
    with pytest.raises((SettingError, DataError), match=words):
        linsep.Perceptron(**settings_).fit(X, y)


def test_model_for_other_features():
    model = linsep.Perceptron().fit(X, y)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(np.zeros((1, 3)))


VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 3.0, 1e-300, -1e-300, 1e300, 1e16, 5e-324])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=hnp.arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 4)), elements=VALUES),
    seed=st.integers(0, 5),
    intercept=st.booleans(),
    kind=st.sampled_from(["perceptron", "batch", "kozinec", "plain"]),
)
def test_hostile_numbers_end_in_an_answer_a_limit_or_a_clear_error(rows, seed, intercept, kind):
    labels = np.random.default_rng(seed).integers(0, 2, len(rows))
    if np.unique(labels).size < 2:
        labels[:2] = 0, 1
    model = {
        "perceptron": linsep.Perceptron(max_iter=20),
        "batch": linsep.Perceptron(update="batch", max_iter=20),
        "kozinec": linsep.Kozinec(max_iter=50),
        "plain": linsep.Kozinec(steps="plain", space="augmented", max_iter=50),
    }[kind].set_params(fit_intercept=intercept)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSeparatedWarning)
        try:
            model.fit(rows, labels)
        except DataError as error:
            if "overflowed" not in str(error):
                raise
            return
    truth = linsep.separability(rows, labels, fit_intercept=intercept)
    if model.status_ is Status.SEPARATED:
        assert truth.separable is True
    if model.status_ is Status.INSEPARABLE:
        assert truth.separable is False
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("bad", [[[np.inf]], [[np.nan]], [[1.0, 2.0]], [["a"]], [1.0], [[[1.0]]]])
def test_rows_to_predict_are_refused_by_an_error_of_linsep(bad):
    model = linsep.LeastSquares().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(linsep.errors.DataError):
        model.predict(bad)
