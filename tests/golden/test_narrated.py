"""Every golden run, read back from what is printed in the letters of its lecture.

The numbers stand here as the lectures print them, or as they follow from them in fractions; the
test knows nothing of a trace but its words.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import linsep

_LINE = re.compile(
    r"\s+(?P<visit>\d+)  (?P<name>\S+(?: \d+)?)\s+(?P<product>\S[^=]*) = (?P<value>\S+)"
    r"\s+misclassified\? (?P<wrong>yes|no)(?:\s+(?P<letter>\S+)\((?P<number>\d+)\) = (?P<rest>.+))?"
)


def numbers(text):
    return [float(word) for word in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)]


def read(run, lecture):
    """The words of the start, and looks: name, value, wrong, number of new weights, these."""
    lines = run.narrate(convention=lecture).splitlines()
    assert f"as in lecture {lecture};" in lines[0]
    looks = []
    for line in lines[2:-1]:
        if line.strip().startswith("kept:"):
            continue
        found = _LINE.fullmatch(line)
        assert found, line
        rest = found["rest"] and numbers(found["rest"])
        number = found["number"] and int(found["number"])
        looks.append(
            (found["name"], float(found["value"]), found["wrong"] == "yes", number, rest)
        )  # fmt: skip
    return lines[1].strip(), looks


def played(model, table, **options):
    return linsep.trace(model, table.X, table.y, row_names=table.row_names, **options)


def updates(looks):
    return [(name, value, number, rest) for name, value, wrong, number, rest in looks if wrong]


# -- 003 ------------------------------------------------------------------------------------------


def test_students_first_start():
    run = played(linsep.Perceptron(start=([0.25] * 4, 0.25)), linsep.data.load("students"),
                 visits=True)  # fmt: skip
    start, looks = read(run, "003")
    assert start == "a(1) = [0.25 0.25 0.25 0.25 0.25]"
    assert looks == [
        ("Jane", 0.25, False, None, None),
        ("Steve", -1.25, True, 2, [-0.75, -0.75, -0.75, -0.75, -0.75]),
        ("Mary", -0.75, True, 3, [-1.75, 0.25, 0.25, 0.25, -1.75]),
        ("Peter", -3.75, True, 4, [-0.75, 1.25, -0.75, -0.75, -0.75]),
        ("Jane", 1.25, False, None, None),
        ("Steve", 1.75, False, None, None),
        ("Mary", 1.25, False, None, None),
        ("Peter", 1.25, False, None, None),
    ]


@pytest.mark.parametrize(
    ("sign", "visits", "expected"),
    [
        ("<=", 8, [("Steve", -1, [-1, -0.5, -0.5, -1, -1]), ("Mary", 0, [-2, 0.5, 0.5, 0, -2]),
                   ("Peter", -4, [-1, 1.5, -0.5, -1, -1])]),
        ("<", 11, [("Steve", -1, [-1, -0.5, -0.5, -1, -1]), ("Peter", -1, [0, 0.5, -1.5, -2, 0]),
                   ("Mary", -3, [-1, 1.5, -0.5, -1, -1])]),
    ],
)  # fmt: skip
def test_students_second_start(sign, visits, expected):
    model = linsep.Perceptron(start=([0.5, 0.5, 0, 0], 0), misclassified=sign)
    run = played(model, linsep.data.load("students"), visits=True)
    start, looks = read(run, "003")
    assert start == "a(1) = [0 0.5 0.5 0 0]" and len(looks) == visits
    found = updates(looks)
    assert [(name, value, rest) for name, value, _, rest in found] == expected
    assert [number for *_, number, _ in found] == [2, 3, 4]


FIVE = {
    "<=": [(4, -5, [0, 0, -2]), (1, -2, [1, 2, -1]), (4, 0, [0, 1, -4]), (1, -2, [1, 3, -3]),
           (3, -5, [2, 6, 2]), (4, -14, [1, 5, -1]), (5, -20, [0, 0, -7]), (1, -7, [1, 2, -6]),
           (2, -9, [2, 6, -3]), (5, -14, [1, 1, -9]), (1, -6, [2, 3, -8])],
    "<": [(4, -5, [0, 0, -2]), (1, -2, [1, 2, -1]), (5, -5, [0, -3, -7]), (1, -13, [1, -1, -6]),
          (2, -21, [2, 3, -3]), (3, -4, [3, 6, 2]), (4, -15, [2, 5, -1]), (5, -21, [1, 0, -7]),
          (1, -6, [2, 2, -6]), (2, -8, [3, 6, -3]), (5, -15, [2, 1, -9])],
}  # fmt: skip
ERRORS = {"<=": [2, 3, 2, 3, 1, 2, 2, 3, 3, 1, 3, 3], "<": [2, 3, 2, 3, 3, 1, 2, 2, 3, 3, 2, 3]}


@pytest.mark.parametrize("sign", ["<=", "<"])
def test_five_points(sign):
    table = linsep.data.load("five-points")
    model = linsep.Perceptron(start=([1, 1], 1), misclassified=sign, keep="last")
    run = linsep.trace(model, table.X, table.y, 11, row_names=["y1", "y2", "y3", "y4", "y5"],
                       visits=True)  # fmt: skip
    start, looks = read(run, "003")
    assert start == "a(1) = [1 1 1]"
    assert updates(looks) == [
        (f"y{row}", value, k, weights) for k, (row, value, weights) in enumerate(FIVE[sign], 2)
    ]
    wrong = {step.update: len(step.errors) for step in run}
    assert [wrong[k] for k in range(12)] == ERRORS[sign]


def test_products_that_the_slides_of_the_five_points_print():
    table = linsep.data.load("five-points")
    model = linsep.Perceptron(start=([1, 1], 1))
    run = linsep.trace(model, table.X, table.y, 4, row_names=["y1", "y2", "y3", "y4", "y5"],
                       visits=True)  # fmt: skip
    told = [(name, value) for name, value, *_ in read(run, "003")[1]]
    for printed in (("y4", -5), ("y5", 12), ("y2", 6), ("y4", 0), ("y5", 19), ("y1", -2)):
        assert printed in told


def test_iterations_900_to_915_of_the_five_points():
    table = linsep.data.load("five-points")
    model = linsep.Perceptron(start=([1, 1], 1), keep="last")
    run = linsep.trace(model, table.X, table.y, 914)
    found = {number: rest for *_, number, rest in updates(read(run, "003")[1])}
    assert [found[k] for k in range(900, 916)] == [
        [26, 17, -18], [25, 12, -24], [26, 15, -19], [27, 18, -14], [26, 17, -17], [25, 12, -23],
        [26, 15, -18], [27, 18, -13], [26, 17, -16], [25, 12, -22], [26, 15, -17], [27, 18, -12],
        [26, 17, -15], [25, 12, -21], [26, 15, -16], [25, 10, -22],
    ]  # fmt: skip
    assert [len(run[k - 1].errors) for k in range(900, 916)] == [
        2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 1, 1, 2, 2,
    ]  # fmt: skip


# -- 004 ------------------------------------------------------------------------------------------


def test_example_3_1():
    table = linsep.data.load("example-3.1")
    model = linsep.Perceptron(update="batch", eta=0.7, start=([1, 1], -0.5))
    run = linsep.trace(model, table.X, table.y)
    lines = run.narrate(convention="004").splitlines()
    assert lines[1].strip() == "w(0) = [1 1 -0.5]"
    assert lines[2].endswith("w(1) = [1.42 0.51 -0.5]")
    scores = table.X @ run[-1].coef + run[-1].intercept
    by_row = {tuple(row): score for row, score in zip(table.X.tolist(), scores)}
    assert by_row[0.4, 0.05] == pytest.approx(0.0935)
    assert by_row[-0.2, 0.75] == pytest.approx(-0.4015)


def test_example_3_2():
    run = linsep.trace(
        linsep.Perceptron(), *(getattr(linsep.data.load("example-3.2"), k) for k in "Xy"),
        visits=True,
    )  # fmt: skip
    start, looks = read(run, "004")
    assert start == "w(0) = [0 0 0]"
    assert [(value, rest) for _, value, _, _, rest in looks] == [
        (0, [-1, 0, 1]), (1, None), (1, [-1, 1, 0]), (-1, None), (1, None), (1, None), (-1, None),
    ]  # fmt: skip


# -- 000, 001, 002 --------------------------------------------------------------------------------


def test_two_points_of_lecture_000():
    """Reflected rows x1, x2 with -min |x|^2 < x1.x2 <= 0: two updates, which end in x1 + x2."""
    X, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1, -1])
    rows = linsep.reflect(linsep.augment(X), y)
    assert -min((rows**2).sum(axis=1)) < rows[0] @ rows[1] <= 0
    start, looks = read(linsep.trace(linsep.Perceptron(), X, y, visits=True), "000")
    assert start == "w'(0) = [0 0 0]"
    assert [(value, rest) for _, value, wrong, _, rest in looks if wrong] == [
        (0, rows[0].tolist()), (rows[0] @ rows[1], rows.sum(axis=0).tolist()),
    ]  # fmt: skip


def test_kozinec_of_lecture_000():
    """The rule in fractions: (1 - kappa) w + kappa x with kappa = w.(w - x) / |w - x|^2."""
    from fractions import Fraction as F

    table = linsep.data.load("students")
    model = linsep.Kozinec(space="augmented", steps="plain", eps=None)
    run = played(model, table)
    start, looks = read(run, "000")
    assert len(updates(looks)) == 3
    rows = dict(zip(table.row_names, linsep.reflect(linsep.augment(table.X), table.y).tolist()))
    w = [F(v) for v in rows["Jane"]]
    assert numbers(start.split("=")[1]) == w
    for name, value, _, rest in updates(looks):
        x = [F(v) for v in rows[name]]
        product = sum(a * b for a, b in zip(w, x))
        assert product <= 0 and value == pytest.approx(float(product), abs=1e-6)
        kappa = sum(a * (a - b) for a, b in zip(w, x)) / sum((a - b) ** 2 for a, b in zip(w, x))
        w = [(1 - kappa) * a + kappa * b for a, b in zip(w, x)]
        assert rest == pytest.approx([float(v) for v in w], abs=1e-6)
    assert all(sum(a * F(b) for a, b in zip(w, x)) > 0 for x in rows.values())


def test_figure_1_and_undershoot_of_lecture_001():
    figure = linsep.trace(linsep.Perceptron(fit_intercept=False), [[1.0, 2.0], [2.0, 1.0]], [1, -1])
    start, looks = read(figure, "001")
    assert start == "theta(0) = [0 0]"
    assert [rest for *_, rest in updates(looks)] == [[1, 2], [-1, 1]]
    table = linsep.data.load("undershoot")
    run = linsep.trace(linsep.Perceptron(fit_intercept=False), table.X, table.y)
    found = updates(read(run, "001")[1])
    assert len(found) == 10 and found[1][1] == -10 and run[2].value_after == -8.75
    assert sum(step.undershoot for step in run[1:]) == 8
    assert found[-1][3] == [1, -4.5]


@pytest.mark.parametrize(
    ("order", "rows", "weights"),
    [
        ("cyclic", [1, 2, 3, 4, 1],
         [[-1, 0, 0, 0], [0, 1, 0, 1], [-1, 0, -1, 1], [0, 0, 0, 2], [-1, 0, 0, 2]]),
        ("restart", [1, 2, 1, 3, 2, 4, 1, 3, 4],
         [[-1, 0, 0, 0], [0, 1, 0, 1], [-1, 1, 0, 1], [-2, 0, -1, 1], [-1, 1, -1, 2], [0, 1, 0, 3],
          [-1, 1, 0, 3], [-2, 0, -1, 3], [-1, 0, 0, 4]]),
    ],
)  # fmt: skip
def test_lifted_xor_of_lecture_002(order, rows, weights):
    table = linsep.data.load("xor-01")
    phi = linsep.Lift("x1, x2, (x1 - x2)**2").fit_transform(table.X)
    assert np.asarray(phi).tolist() == [[0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]]
    run = linsep.trace(linsep.Perceptron(order=order), phi, table.y, row_names=list("1234"))
    start, looks = read(run, "002")
    assert start == "w(0) = [0 0 0], b = 0"
    found = updates(looks)
    assert [int(name) for name, *_ in found] == rows
    for (*_, rest), (b, *w) in zip(found, weights, strict=True):
        assert rest[:4] == [*w, b]
        if any(w):  # u is a point of the plane
            assert np.dot(w, rest[4:]) + b == pytest.approx(0, abs=1e-5)


def test_through_the_origin_no_lecture_writes_an_offset():
    """Figure 1 of lecture 001, and the algorithm of lecture 002."""
    run = linsep.trace(linsep.Perceptron(fit_intercept=False), [[1, 2], [2, 1]], [1, -1])
    assert run.narrate(convention="001").splitlines()[1:4] == [
        "       theta(0) = [0 0]",
        "    1  row 0  y theta.x = 0   misclassified? yes  theta(1) = [1 2]",
        "    2  row 1  y theta.x = -4  misclassified? yes  theta(2) = [-1 1]",
    ]
    assert "y w.x = -4  misclassified? yes  w(2) = [-1 1]" in run.narrate(convention="002")
    assert "a(3) = [-1 1]" in run.narrate(convention="003")
    assert "w(2) = [-1 1]" in run.narrate(convention="004")
    assert "w0" not in run.frame("003").columns
    read = linsep.Trace.from_dict(run.to_dict())
    assert read.narrate(convention="000") == run.narrate(convention="000")


def test_an_offset_that_is_zero_is_still_one():
    """A start that separates already: the 1 counts in D, and in what is printed."""
    table = linsep.data.load("students")
    run = linsep.trace(linsep.Perceptron(start=([2, 0, -2, -2], 0)), *table)
    assert len(run) == 1 and not run[0].intercept
    display = linsep.NovikoffDisplay.from_trace(run)
    assert round(display.bound.radius**2, 9) == 5  # not 4
    assert "a(1) = [0 2 0 -2 -2]" in run.narrate(convention="003")
