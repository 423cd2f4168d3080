"""The bundled data are the numbers of the lectures, checked by their worked examples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from linsep.data import Table, available, load
from linsep.errors import DataError


def reflected(name: str, *, intercept: bool = True) -> np.ndarray:
    """Rows y [1, x] as the slides write them, the constant first."""
    table = load(name)
    ones = np.ones((len(table.y), 1)) if intercept else np.empty((len(table.y), 0))
    return table.y[:, None] * np.hstack([ones, table.X])


def perceptron(rows: np.ndarray, start: list[float], updates: int) -> list[list[float]]:
    """Cyclic single-sample rule, a value of 0 counts as wrong; the weights after each update."""
    a = np.array(start, dtype=float)
    found: list[list[float]] = []
    quiet = visit = 0
    while quiet < len(rows) and len(found) < updates:
        z = rows[visit % len(rows)]
        visit += 1
        if a @ z <= 0:
            a = a + z
            found.append(a.tolist())
            quiet = 0
        else:
            quiet += 1
    return found


def test_every_set_loads_with_labels_names_and_notes() -> None:
    assert len(available()) == 11
    for name in available():
        table = load(name)
        n, d = table.shape
        assert isinstance(table, Table)
        assert table.X.dtype == np.float64
        assert set(table.y.tolist()) == {-1, 1}
        assert len(table.y) == n
        assert table.feature_names is not None
        assert len(table.feature_names) == d
        assert table.row_names is None or len(table.row_names) == n
        assert "ecture 00" in table.notes
        assert name in repr(table)


def test_students_first_start_gives_the_printed_weights() -> None:
    rows = reflected("students")
    assert rows.tolist() == [
        [1, 1, 1, -1, -1],
        [-1, -1, -1, -1, -1],
        [-1, 1, 1, 1, -1],
        [1, 1, -1, -1, 1],
    ]
    assert perceptron(rows, [0.25] * 5, 99) == [
        [-0.75, -0.75, -0.75, -0.75, -0.75],
        [-1.75, 0.25, 0.25, 0.25, -1.75],
        [-0.75, 1.25, -0.75, -0.75, -0.75],
    ]
    assert perceptron(rows, [0, 0.5, 0.5, 0, 0], 99)[-1] == [-1, 1.5, -0.5, -1, -1]


def test_students_have_names_and_letters() -> None:
    table = load("students")
    assert table.row_names == ("Jane", "Steve", "Mary", "Peter")
    assert table.feature_names == ("attendance", "tall", "sleeps", "gum")
    assert table.classes == ("F", "A")
    assert table.counts == {"F": 2, "A": 2}


def test_five_points_give_the_printed_weights_and_the_certificate() -> None:
    rows = reflected("five-points")
    assert perceptron(rows, [1, 1, 1], 4) == [[0, 0, -2], [1, 2, -1], [0, 1, -4], [1, 3, -3]]
    assert (np.array([1, 1, 10, 6, 6]) @ rows).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "targets", "answer"),
    [
        ("mse-1", [1, 1, 1, 1], (Fraction(237, 89), Fraction(93, 89), Fraction(-84, 89))),
        ("mse-2", [1, 1, 1, 1], (Fraction(441, 137), Fraction(21, 137), Fraction(-60, 137))),
        ("mse-2", [1, 1, 1, 10], (Fraction(-144, 137), Fraction(228, 137), Fraction(-123, 137))),
    ],
)
def test_mse_answers_solve_the_normal_equations_exactly(
    name: str, targets: list[int], answer: tuple[Fraction, ...]
) -> None:
    rows = [[Fraction(v) for v in row] for row in reflected(name).tolist()]
    residual = [sum(v * a for v, a in zip(r, answer)) - t for r, t in zip(rows, targets)]
    assert [sum(r[j] * e for r, e in zip(rows, residual)) for j in range(3)] == [0, 0, 0]


def test_xor_quadratic_kernel_has_nine_on_the_diagonal() -> None:
    table = load("xor")
    assert ((table.X @ table.X.T + 1) ** 2).tolist() == (np.eye(4) * 8 + 1).tolist()
    assert table.y.tolist() == (-table.X[:, 0] * table.X[:, 1]).tolist()


def test_xor_01_has_the_order_and_certificate_of_lecture_002() -> None:
    assert load("xor-01").X.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert reflected("xor-01").sum(axis=0).tolist() == [0, 0, 0]


def test_two_separators_attain_the_novikoff_bound() -> None:
    assert len(perceptron(reflected("two-separators"), [0, 0, 0], 99)) == 2
    assert len(perceptron(reflected("two-separators", intercept=False), [0, 0], 99)) == 1


def test_example_31_step_gives_the_printed_weights() -> None:
    table = load("example-3.1")
    rows = np.hstack([table.X, np.ones((2, 1))])
    w = np.array([1, 1, -0.5])
    assert (table.y * (rows @ w) < 0).all()
    np.testing.assert_allclose(w + 0.7 * (table.y @ rows), [1.42, 0.51, -0.5], rtol=1e-15)


def test_example_32_ends_after_two_updates() -> None:
    assert perceptron(reflected("example-3.2"), [0, 0, 0], 99) == [[1, -1, 0], [0, -1, 1]]


def test_undershoot_makes_ten_updates() -> None:
    found = perceptron(reflected("undershoot", intercept=False), [0, 0], 99)
    assert len(found) == 10
    assert found[-1] == [1, -4.5]


def test_offset_pair_needs_an_intercept() -> None:
    rows = reflected("offset-pair")
    assert perceptron(rows, [0, 0], 999)[-1] is not None
    assert np.sign(rows[:, 1]).tolist() == [-1, 1]


def test_table_unpacks_and_becomes_a_frame() -> None:
    table = load("students")
    X, y = table
    assert X is table.X
    assert y is table.y
    frame = table.frame()
    assert frame.loc["Mary"].to_dict() == {
        "attendance": -1,
        "tall": -1,
        "sleeps": -1,
        "gum": 1,
        "y": -1,
    }


def test_load_gives_fresh_arrays() -> None:
    load("xor").X[:] = 0
    assert load("xor").X.any()


def test_load_misspelt_name_suggests_the_near_one() -> None:
    with pytest.raises(DataError, match=r"'studnets'; did you mean 'students'\?"):
        load("studnets")
    assert load("Five_Points").name == "five-points"
