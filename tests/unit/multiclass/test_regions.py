"""Undecided zones, contiguous pairs, empty regions: against grids and against hand counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import linsep
from linsep.errors import CapabilityError, DataError, EmptyRegionWarning, SettingError
from linsep.multiclass.regions import area, cells, empty_classes, interval, touching

X, y = make_blobs(60, centers=4, cluster_std=1.6, random_state=4)
BOX = np.array([X.min(axis=0) - 1, X.max(axis=0) + 1])


def fine_grid(n=500):
    """Middles of small squares, so that counting them is the midpoint rule of the area."""
    at = [BOX[0, j] + (np.arange(n) + 0.5) / n * (BOX[1, j] - BOX[0, j]) for j in range(2)]
    return np.stack(np.meshgrid(*at), axis=-1).reshape(-1, 2)


GRID = fine_grid()


def test_areas_of_one_against_the_rest_against_a_grid():
    model = linsep.OneVsRest().fit(X, y)
    found = linsep.regions(model, box=BOX, scheme="unanimous")
    accepts = model.decision_function(GRID) > 0
    count = accepts.sum(axis=1)
    assert found.exact
    assert found.none == pytest.approx((count == 0).mean(), abs=3e-3)
    assert found.several == pytest.approx((count > 1).mean(), abs=3e-3)
    assert found.none > 0.01 and found.several > 0.01
    for k in range(4):
        alone = accepts[:, k] & (count == 1)
        assert found.shares[k] == pytest.approx(alone.mean(), abs=3e-3)
    assert found.shares.sum() + found.undecided == pytest.approx(1, abs=1e-12)
    rejecting = linsep.OneVsRest(decide="unanimous").fit(X, y)
    assert linsep.regions(rejecting, box=BOX).undecided == found.undecided
    assert (rejecting.predict(GRID) == -1).mean() == pytest.approx(found.undecided, abs=3e-3)


def test_areas_of_votes_against_a_grid():
    model = linsep.OneVsOne().fit(X, y)
    found = linsep.regions(model, box=BOX)
    votes = model.votes(GRID)
    best = votes == votes.max(axis=1, keepdims=True)
    tied = best.sum(axis=1) > 1
    assert found.scheme == "votes" and found.exact and found.none == 0
    assert found.several == pytest.approx(tied.mean(), abs=3e-3)
    for k in range(4):
        assert found.shares[k] == pytest.approx((best[:, k] & ~tied).mean(), abs=3e-3)
    every_duel = linsep.regions(model, box=BOX, scheme="unanimous")
    assert every_duel.none == pytest.approx((votes.max(axis=1) < 3).mean(), abs=3e-3)


@pytest.mark.parametrize("model", [
    linsep.OneVsRest(), linsep.LinearSVM(), linsep.Kesler(linsep.LinearSVM()), LogisticRegression(),
    SVC(decision_function_shape="ovr"),
])  # fmt: skip
def test_areas_of_argmax_against_a_grid(model):
    model.fit(X, y)
    found = linsep.regions(model, box=BOX)
    predicted = model.predict(GRID)
    assert found.exact == (not isinstance(model, SVC)) and found.undecided == 0
    for k in range(4):
        near = 0.02 if isinstance(model, SVC) else 3e-3
        assert found.shares[k] == pytest.approx((predicted == k).mean(), abs=near)
    if found.exact:  # boundaries within the box join classes of equal and largest scores
        assert set(found.boundaries) <= set(found.contiguous)
        for (a, b), ends in found.boundaries.items():
            middle = model.decision_function(ends.mean(axis=0)[None])[0]
            assert middle[a] == pytest.approx(middle[b], abs=1e-9)
            assert middle[a] >= middle.max() - 1e-9


@pytest.mark.filterwarnings("ignore::linsep.errors.EmptyRegionWarning")
@settings(max_examples=60, deadline=None)
@given(
    coef=hnp.arrays(np.float64, (4, 2), elements=st.integers(-4, 4).map(float)),
    offset=hnp.arrays(np.float64, 4, elements=st.integers(-4, 4).map(float)),
)
def test_contiguous_pairs_and_empty_regions_by_fractions_of_the_plane(coef, offset):
    """In a huge box every boundary and region of small whole numbers shows."""
    box = np.array([[-1e4, -1e4], [1e4, 1e4]])
    pairs = touching(coef, offset)
    seen = [
        (i, j)
        for i in range(4)
        for j in range(i + 1, 4)
        if (ends := interval(coef, offset, i, j, box)) is not None
        and _strictly_largest(coef, offset, i, j, ends.mean(axis=0))
    ]
    assert pairs == seen
    i, j = np.triu_indices(4, 1)
    pieces = cells(box, coef[i] - coef[j], (offset[i] - offset[j]).tolist())
    assert sum(area(p) for p, _ in pieces) == pytest.approx(4e8)
    empty = set(empty_classes(coef, offset))
    for polygon, _ in pieces:
        if area(polygon) > 1e-3:
            scores = coef @ polygon.mean(axis=0) + offset
            best = np.flatnonzero(scores > scores.max() - 1e-9)
            if len(best) == 1:
                assert int(best[0]) not in empty


def _strictly_largest(coef, offset, i, j, point):
    scores = coef @ point + offset
    others = np.delete(scores, [i, j])
    return scores[i] > others.max() + 1e-9


def test_an_empty_region_is_warned_of():
    """A middle class on a line: of three scores 0, x, 2x - 1 ... the middle one never wins."""
    model = linsep.Kesler().fit(np.array([[0.0, 0], [4, 0], [0, 4]]), ["a", "b", "c"])
    model.coef_ = np.array([[0.0, 0], [1, 0], [2, 0]])
    model.intercept_ = np.array([0.0, -3, 0])
    with pytest.warns(EmptyRegionWarning, match="no point belongs to 'b'"):
        found = linsep.regions(model, box=((-1, -1), (1, 1)))
    assert found.empty == ["b"] and found.shares[1] == 0
    assert found.contiguous == [("a", "c")]
    assert found.apart == [("a", "b"), ("b", "c")]
    assert "without a region: 'b'" in str(found)


def test_rows_of_any_width():
    rows, labels = load_iris(return_X_y=True)
    model = linsep.OneVsRest(decide="unanimous").fit(rows, labels)
    found = linsep.regions(model, rows)
    accepts = model.accepts(rows).sum(axis=1)
    assert found.none == (accepts == 0).mean() and found.several == (accepts > 1).mean()
    np.testing.assert_array_equal(found.decided == -1, accepts == 0)
    assert "of 150 rows undecided" in str(found) and not found.exact
    machine = linsep.regions(linsep.LinearSVM().fit(rows, labels), rows)
    assert machine.contiguous == [(0, 1), (0, 2), (1, 2)] and machine.empty == []


def test_two_classes_leave_nothing():
    model = linsep.OneVsRest().fit(X, y > 1)
    for scheme in ("unanimous", "argmax"):
        found = linsep.regions(model, box=BOX, scheme=scheme)
        assert found.undecided == 0 and found.exact
        share = model.predict(GRID).mean()
        assert found.shares[1] == pytest.approx(share, abs=3e-3)
    assert linsep.regions(linsep.OneVsOne().fit(X, y > 1), box=BOX).undecided == 0


def test_errors():
    model = linsep.OneVsRest().fit(X, y)
    with pytest.raises(SettingError, match="either rows X or a box"):
        linsep.regions(model)
    with pytest.raises(SettingError, match="low below high"):
        linsep.regions(model, box=((0, 0), (0, 1)))
    with pytest.raises(SettingError, match="scheme must be one of"):
        linsep.regions(model, X, scheme="vote")
    with pytest.raises(CapabilityError, match="no duels"):
        linsep.regions(model, X, scheme="votes")
    rows, labels = load_iris(return_X_y=True)
    with pytest.raises(DataError, match="this one has 4"):
        linsep.regions(linsep.LinearSVM().fit(rows, labels), box=BOX)


def test_boundaries_of_nearly_constant_scores():
    """Machines whose weights are rounding errors: the lines lie in any direction, and far away."""
    coef = np.array([[0.93, -0.85], [6.9e-14, 6.4e-14], [-3e-13, 4.9e-14], [-1.2, 0.8], [0.4, 0.9]])
    offset = np.array([-9.5, -1.0, -1.0, -6.6, -7.5])
    model = linsep.Linear(coef, offset)
    found = linsep.regions(model, box=((-12, -12), (12, 12)))
    names = range(5)
    grid = found.decided.reshape(201, 201)
    seen = {tuple(sorted(map(int, pair))) for a, b in ((grid[1:], grid[:-1]), (grid[:, 1:],
            grid[:, :-1])) for pair in zip(a[a != b], b[a != b])}  # fmt: skip
    assert seen <= set(found.boundaries) <= set(found.contiguous)
    assert set(found.classes.tolist()) == set(names) and not found.empty


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_contiguous_pairs_do_not_depend_on_units(unit):
    rng = np.random.default_rng(2)
    coef, offset = rng.normal(size=(7, 3)), rng.normal(size=7)
    plain = linsep.regions(linsep.Linear(coef, offset), rng.normal(size=(5, 3)))
    scaled = linsep.Linear(coef * [1.0, unit, 1.0], offset)
    other = linsep.regions(scaled, rng.normal(size=(5, 3)))
    assert other.contiguous == plain.contiguous and other.empty == plain.empty
    assert len(plain.contiguous) < 21


def test_a_class_between_equals_is_empty():
    model = linsep.Linear([[1.0, 0], [-1, 0], [0, 0]], [0.0, 0, -1])
    with pytest.warns(linsep.errors.EmptyRegionWarning, match="no point belongs to 2"):
        found = linsep.regions(model, box=((-1, -1), (1, 1)))
    assert found.empty == [2] and found.contiguous == [(0, 1)]
    assert found.shares.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"box": ((0, 0), (np.inf, 1))}, "finite, with low below high"),
        ({"box": "a"}, "box must be"),
        ({"box": ((0, 0), (1, 1)), "points": 0}, "points must be a whole number >= 2. Got 0"),
        ({"box": ((0, 0), (1, 1)), "points": 7.5}, "points must be"),
    ],
)
def test_boxes_that_are_none(options, words):
    model = linsep.Linear([[1.0, 0], [-1, 0], [0, 1]], [0.0, 0, 0])
    with pytest.raises(linsep.errors.SettingError, match=words):
        linsep.regions(model, **options)
