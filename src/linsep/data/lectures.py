"""The data sets of the five lectures, with the numbers as the lectures print them.

The rows stand in the order in which the lecture visits them. X has neither the constant 1 nor
the reflected signs of the slides; the intercept is written last.
"""

from __future__ import annotations

import difflib
from typing import NamedTuple

import numpy as np

from linsep.data.table import Table
from linsep.errors import DataError


class _Lecture(NamedTuple):
    rows: tuple[tuple[float, ...], ...]
    labels: tuple[int, ...]
    classes: tuple[str, str]  # negative, positive, as the lecture names them
    notes: str
    features: tuple[str, ...] = ("x1", "x2")
    names: tuple[str, ...] | None = None


_SETS = {
    "students": _Lecture(
        rows=((1, 1, -1, -1), (1, 1, 1, 1), (-1, -1, -1, 1), (1, -1, -1, 1)),
        labels=(1, -1, -1, 1),
        classes=("F", "A"),
        features=("attendance", "tall", "sleeps", "gum"),
        names=("Jane", "Steve", "Mary", "Peter"),
        notes=(
            "Lecture 003, who gets grade A. yes = +1, no = -1; A = +1, F = -1. The slide's column "
            "'extra' is the intercept. Starts: all weights .25 and intercept .25, which ends at "
            "(1.25, -.75, -.75, -.75), intercept -.75 after 3 updates; and (.5, .5, 0, 0), "
            "intercept 0, which ends at (1.5, -.5, -1, -1), intercept -1. Learning rate 1. "
            "Shows the single-sample perceptron on separable data, and that its answer depends "
            "on the start."
        ),
    ),
    "five-points": _Lecture(
        rows=((2, 1), (4, 3), (3, 5), (1, 3), (5, 6)),
        labels=(1, 1, 1, -1, -1),
        classes=("class 2", "class 1"),
        notes=(
            "Lecture 003, not separable: the multipliers 1, 1, 10, 6, 6 of the reflected rows sum "
            "to the zero vector. Start: weights (1, 1), intercept 1, learning rate 1. Shows that "
            "the perceptron never stops here and that some of its weights are good and some are "
            "not; the best possible is 1 error."
        ),
    ),
    "xor": _Lecture(
        rows=((1, -1), (-1, 1), (1, 1), (-1, -1)),
        labels=(1, 1, -1, -1),
        classes=("class 2", "class 1"),
        notes=(
            "Lecture 003, exclusive or with coordinates -1 and +1. No start: a support vector "
            "machine with the kernel (x.y + 1)**2. Its multipliers are 1/8 (the slide prints .25) "
            "and g(x) = -x1 x2 (the slide prints -2 x1 x2). Shows a set that no line separates "
            "and a quadratic does."
        ),
    ),
    "xor-01": _Lecture(
        rows=((0, 0), (1, 0), (1, 1), (0, 1)),
        labels=(-1, 1, -1, 1),
        classes=("0", "1"),
        notes=(
            "Lecture 002, exclusive or with coordinates 0 and 1; label 0 became -1. Not separable "
            "(multipliers 1, 1, 1, 1). The map (x1, x2, (x1 - x2)**2) makes it separable: the "
            "plane x3 = 1/2, that is x1 - x2 = +-1/sqrt(2) (the lecture prints +-1/2)."
        ),
    ),
    "mse-1": _Lecture(
        rows=((6, 9), (5, 7), (5, 9), (0, 4)),
        labels=(1, 1, -1, -1),
        classes=("class 2", "class 1"),
        notes=(
            "Lecture 003, least squares, first example; targets b = 1, 1, 1, 1 of the reflected "
            "rows. Answer: weights 93/89, -84/89, intercept 237/89, which separates. No start: the "
            "answer is a pseudo-inverse."
        ),
    ),
    "mse-2": _Lecture(
        rows=((6, 9), (5, 7), (5, 9), (0, 10)),
        labels=(1, 1, -1, -1),
        classes=("class 2", "class 1"),
        notes=(
            "Lecture 003, least squares, second example. With targets 1, 1, 1, 1 the answer "
            "(21/137, -60/137, intercept 441/137) leaves row 3 on the wrong side although the set "
            "is separable; with targets 1, 1, 1, 10 (228/137, -123/137, intercept -144/137) it "
            "separates. No start: the answer is a pseudo-inverse."
        ),
    ),
    "two-separators": _Lecture(
        rows=((0, -1), (0, 1)),
        labels=(-1, 1),
        classes=("0", "1"),
        notes=(
            "Lecture 002; label 0 became -1. Every line x2 = m x1 + b with -1 < b < 1 separates: "
            "shows that a separator is not unique. From weights 0 the perceptron needs as many "
            "updates as the Novikoff bound allows, 2 with an intercept and 1 without."
        ),
    ),
    "example-3.1": _Lecture(
        rows=((0.4, 0.05), (-0.2, 0.75)),
        labels=(1, -1),
        classes=("omega_2", "omega_1"),
        notes=(
            "Lecture 004, Example 3.1: the two points that the text names; the others are only in "
            "a picture. One batch step from weights (1, 1), intercept -.5 with rho = .7 gives "
            "(1.42, .51), intercept -.5. Shows that a step turns the line so that both points "
            "come to their own side."
        ),
    ),
    "example-3.2": _Lecture(
        rows=((-1, 0), (0, 1), (0, -1), (1, 0)),
        labels=(1, 1, -1, -1),
        classes=("omega_2", "omega_1"),
        notes=(
            "Lecture 004, Example 3.2, reward and punishment. Start: weights 0, intercept 0, "
            "rho = 1, visited in this order. Ends at (-1, 1), intercept 0 after 2 updates; the "
            "Novikoff bound is 4."
        ),
    ),
    "undershoot": _Lecture(
        rows=((10, 0), (1, 0.5)),
        labels=(1, -1),
        classes=("-1", "+1"),
        notes=(
            "An instance for lecture 001 (the text gives no numbers); fit without intercept. "
            "Start: weights 0, learning rate 1. Shows that an update need not put its own sample "
            "right: 8 of the 10 updates leave it wrong. Ends at (1, -4.5)."
        ),
    ),
    "offset-pair": _Lecture(
        rows=((1,), (2,)),
        labels=(-1, 1),
        classes=("-1", "+1"),
        features=("x1",),
        notes=(
            "An instance for lecture 001 (the text gives no numbers). Start: weight 0. Shows data "
            "that are separable with an intercept and not separable through the origin."
        ),
    ),
}


def available() -> tuple[str, ...]:
    """List the bundled data sets.

    Returns
    -------
    tuple of str
        What ``load`` takes.

    Examples
    --------
    >>> from linsep.data import available
    >>> available()[:3]
    ('students', 'five-points', 'xor')
    """
    return tuple(_SETS)


def load(name: str) -> Table:
    """Give a data set of the lectures.

    Parameters
    ----------
    name : str
        One of ``available()``.

    Returns
    -------
    Table
        Labels are -1 and +1; the notes say which lecture, which start and what it shows.

    Raises
    ------
    DataError
        There is no set of that name.

    Examples
    --------
    >>> from linsep.data import load
    >>> table = load("five-points")
    >>> table.X[0], table.y[0]
    (array([2., 1.]), np.int64(1))
    """
    key = str(name).strip().lower().replace("_", "-").replace(" ", "-")
    if key not in _SETS:
        near = difflib.get_close_matches(key, _SETS, n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise DataError(f"there is no data set {name!r}; {guess}There are: {', '.join(_SETS)}.")
    lecture = _SETS[key]
    return Table(
        X=np.array(lecture.rows, dtype=np.float64),
        y=np.array(lecture.labels, dtype=np.int64),
        feature_names=lecture.features,
        row_names=lecture.names,
        classes=lecture.classes,
        name=key,
        notes=lecture.notes,
    )
