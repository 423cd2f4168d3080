"""The fewest errors of a linear rule against linear programs for all choices of rows."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linprog

import linsep
from linsep.errors import ProofError, SettingError
from linsep.risk import minimum_errors


def feasible(rows):
    """Whether some a has a . z >= 1 for all rows."""
    if not len(rows):
        return True
    size = rows.shape[1]
    result = linprog(
        np.zeros(size), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=[(None, None)] * size
    )
    return result.status == 0


def reflected_rows(X, y, offset):
    """y [x, 1] for two classes, Kesler's rows for more, as one block a sample."""
    X = np.column_stack([X, np.ones(len(X))]) if offset else np.asarray(X, float)
    classes = sorted(set(y))
    if len(classes) == 2:
        return [(2 * (k == classes[1]) - 1) * x[None, :] for x, k in zip(X, y)]
    blocks = []
    for x, k in zip(X, y):
        lines = []
        for rival in classes:
            if rival != k:
                line = np.zeros((len(classes), len(x)))
                line[classes.index(k)], line[classes.index(rival)] = x, -x
                lines.append(line.ravel())
        blocks.append(np.array(lines))
    return blocks


def fewest_by_all_choices(X, y, offset, costs):
    blocks = reflected_rows(X, y, offset)
    best = sum(costs)
    for size in range(len(y) + 1):
        for out in combinations(range(len(y)), size):
            cost = sum(costs[i] for i in out)
            if cost < best:
                kept = [blocks[i] for i in range(len(y)) if i not in out]
                if feasible(np.vstack(kept) if kept else np.zeros((0, 1))):
                    best = cost
        if costs == [1] * len(y) and best <= size:
            break
    return best


CASES = list(product(range(12), (True, False)))


@pytest.mark.parametrize(("seed", "offset"), CASES)
def test_two_classes(seed, offset):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)  # many ties, zero rows, contradictions
    y = rng.integers(0, 2, size=n)
    y[:2] = 0, 1
    answer = minimum_errors(X, y, fit_intercept=offset)
    assert answer.exact and answer.proved and answer.errors == len(answer.wrong)
    assert answer.errors == fewest_by_all_choices(X, y.tolist(), offset, [1] * n)
    assert answer.check(X, y)


@pytest.mark.parametrize(("seed", "offset"), CASES[:12])
def test_three_classes(seed, offset):
    rng = np.random.default_rng(100 + seed)
    n, d = int(rng.integers(3, 7)), int(rng.integers(1, 3))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = np.r_[0, 1, 2, rng.integers(0, 3, size=n - 3)]
    answer = minimum_errors(X, y, fit_intercept=offset)
    assert answer.exact and answer.check(X, y)
    assert answer.errors == fewest_by_all_choices(X, y.tolist(), offset, [1] * n)


@pytest.mark.parametrize("seed", range(8))
def test_weights_are_costs(seed):
    rng = np.random.default_rng(200 + seed)
    X = rng.integers(-2, 3, size=(6, 2)).astype(float)
    y = np.r_[0, 1, rng.integers(0, 2, size=4)]
    s = rng.integers(1, 5, size=6) / 4
    answer = minimum_errors(X, y, sample_weight=s)
    assert answer.exact and answer.check(X, y, s)
    assert answer.errors == pytest.approx(fewest_by_all_choices(X, y.tolist(), True, s.tolist()))


def test_weights_of_very_different_sizes():
    X, y = linsep.data.load("xor")
    for big in (1e12, 1e200):
        s = np.array([1.0, 2.0, big, 3.0])
        answer = minimum_errors(X, y, sample_weight=s)
        assert answer.check(X, y, s) and answer.proved
        assert answer.bounds[0] <= 1 <= answer.bounds[1] < big


def test_a_row_without_weight_is_free():
    X, y = [[0.0], [1.0], [2.0], [0.0]], [0, 0, 1, 1]
    assert minimum_errors(X, y).errors == 1
    free = minimum_errors(X, y, sample_weight=[1, 1, 1, 0])
    assert free.errors == 0 and free.check(X, y, [1, 1, 1, 0])


# optima of the lecture sets: the five points and XOR of lectures 2 and 3, and two sets on a line
# on which the batch perceptron and the pocket with cyclic visits do not reach them
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (*linsep.data.load("five-points"),),
        (*linsep.data.load("xor"),),
        (*linsep.data.load("xor-01"),),
        ([[-1], [1], [3]], [-1, 1, -1]),
        ([[-3], [-2], [-1], [0]], [-1, 1, 1, -1]),
    ],
)
def test_one_error_on_the_lecture_sets(X, y):
    answer = minimum_errors(X, y)
    assert answer.bounds == (1, 1) and answer.check(X, y)
    assert len(answer.conflicts) >= 1 or np.shape(X)[1] == 1


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("offset", [True, False])
def test_a_line_agrees_with_conflicts_in_the_plane(seed, offset):
    """The same rows with a second column of zeros take the other road."""
    rng = np.random.default_rng(300 + seed)
    x = rng.integers(-3, 4, size=(12, 1)).astype(float)
    y = np.r_[0, 1, rng.integers(0, 2, size=10)]
    s = None if seed % 2 else rng.integers(1, 4, size=12)
    line = minimum_errors(x, y, fit_intercept=offset, sample_weight=s)
    plane = minimum_errors(np.column_stack([x, 0 * x]), y, fit_intercept=offset, sample_weight=s)
    assert line.exact and line.errors == plane.errors
    assert line.check(x, y, s) and not line.conflicts


def test_a_line_of_many_rows_and_neighbouring_numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 1))
    answer = minimum_errors(x, (x[:, 0] > 0.3) ^ (rng.random(20_000) < 0.1))
    assert answer.exact and answer.errors == len(answer.wrong)
    assert "every threshold" in str(answer)
    close = [[1.0], [np.nextafter(1.0, 2)]]
    answer = minimum_errors(close, [0, 1])
    assert answer.errors == 0 and answer.check(close, [0, 1])
    object.__setattr__(answer, "bounds", (1, 0))
    with pytest.raises(ProofError, match="a threshold costs 0"):
        answer.check(close, [0, 1])


def test_separable_data_need_no_error():
    X, y = linsep.data.load("students")
    answer = minimum_errors(X, y)
    assert answer.errors == 0 and not len(answer.wrong) and answer.check(X, y)
    assert str(answer) == "fewest errors of a linear rule: 0"


def test_time_limit_gives_true_bounds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
    answer = minimum_errors(X, y, time_limit=0.3)
    low, high = answer.bounds
    assert low < high and not answer.exact and "time ran out" in str(answer)
    assert answer.check(X, y)
    with pytest.raises(SettingError):
        minimum_errors(X, y, time_limit=-1)


def test_sparse_frames_and_hostile_numbers():
    X = np.array([[0, 1e300], [1e-300, 0], [0, 0], [0, 0], [1e300, 1e-300]])
    y = np.array(["a", "b", "a", "b", "b"])
    for matrix in (X, scipy.sparse.csr_matrix(X)):
        answer = minimum_errors(matrix, y)
        assert answer.bounds == (1, 1) and answer.check(matrix, y)


def test_a_forged_proof_does_not_pass():
    X, y = linsep.data.load("five-points")
    answer = minimum_errors(X, y)
    with pytest.raises(ProofError, match="sum to zero"):
        answer.check(_moved(X), y)
    object.__setattr__(answer, "bounds", (2, 1))
    with pytest.raises(ProofError, match="less than 2"):
        answer.check(X, y)
    object.__setattr__(answer, "bounds", (0, 0))
    with pytest.raises(ProofError, match="1 rows wrong"):
        answer.check(X, y)


def _moved(X):
    """Every point a little to the right, each by its own amount."""
    out = np.array(X, dtype=float)
    out[:, 0] += np.arange(len(out)) * 2.0**-20
    return out
