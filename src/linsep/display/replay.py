"""A page that replays a recorded run: one file, no network, no framework."""

from __future__ import annotations

import base64
import html
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.errors import DataError

_MOST_STEPS = 20_000
_MOST_ROWS = 3_000  # points of a picture
_MOST_ERRORS = 200_000  # numbers of misclassified rows kept; beyond, the page finds them itself
_MOST_LISTED = 500  # rows of the table
_MOST_WEIGHTS = 24  # weights shown when the rows have no picture
_WORDS = {
    "norm2": "|a|²",
    "eta": "step η",
    "kappa": "step κ",
    "lower": "lower bound of the margin",
    "upper": "upper bound of the margin",
    "cost": "cost",
    "log_likelihood": "log likelihood",
    "largest_target": "largest target",
    "lower_bound": "no model has less than",
    "gap": "relative gap",
    "undershoot": "row still wrong (1 = yes)",
    "broken": "right before, wrong now",
}
_MOST_FIELDS = 1_200  # steps, where each has a field of its own
_MOST_BYTES = 1_500_000  # of all fields
_COARSEST, _FINEST = 24, 81  # points of a field, one way
_LARGEST, _WORD = math.asinh(1e12), 32_766  # of a score, and of 16 bits
_WIDE = 2.1  # a field is larger than its points by this, so that it fills a picture of any shape
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Ground:
    """A plane to draw a run on whose regions do not follow from weights and two features.

    Such are those of a kernel, of a lift, of many machines, and of a cut through more features.
    """

    points: NDArray[np.float64]
    """The rows as points of it, n x 2; the second number is 0 where it is a line."""
    names: tuple[str, str]
    scores: Callable[[NDArray[np.float64], Sequence[int]], NDArray[np.float64]]
    """Of m points at some steps: steps x K x m, with K = 1 for two classes; a border is at 0."""
    pieces: Callable[[list[float]], list[Any]] = lambda box: []
    """Convex pieces of a box, each with the class that decides there, -1 none, -2 several."""
    flat: bool = False


def replay_page(
    trace: Any,
    *,
    convention: str | None = None,
    class_names: Sequence[str] | None = None,
    ground: Ground | None = None,
) -> str:
    """Make a page that replays a trace and needs nothing but a browser.

    Parameters
    ----------
    trace : Trace
        The recorded run.
    convention : str, optional
        The lecture whose words to use; see ``Trace.narrate``.
    class_names : sequence of str, optional
        Names of the classes, in sorted order of the labels.
    ground : Ground, optional
        The plane to draw the rows on, where their own features and weights are not enough.

    Returns
    -------
    str
        A complete HTML document. Rows of one or two features are drawn with the boundary;
        for others the page shows the weights as bars, and the rows as a table.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("five-points")
    >>> run = linsep.trace(linsep.Perceptron(), table.X, table.y, max_steps=20)
    >>> page = replay_page(run)
    >>> page.startswith("<!DOCTYPE html>"), "://" in page
    (True, False)
    """
    n, d = trace.X.shape
    rows = f"{n} row{'' if n == 1 else 's'}, {d} feature{'' if d == 1 else 's'}"
    message = str(trace.outcome.message)
    return Template(static_part("replay.html")).substitute(
        title=html.escape(f"{trace.algorithm}, {count(trace.outcome.updates, 'update')}"),
        algorithm=html.escape(trace.algorithm),
        summary=html.escape(f"{rows}. {message[:1].upper()}{message[1:]}."),
        style=static_part("colours.css") + static_part("replay.css"),
        data=_safe_json(_content(trace, convention, class_names, ground)),
        script="".join(as_part(static_part(n)) for n in ("plot.js", "field.js", "replay.js")),
    )


@cache
def static_part(name: str) -> str:
    """A file of the page."""
    return resources.files("linsep.display").joinpath("static", name).read_text(encoding="utf-8")


def as_part(module: str) -> str:
    """A module as a part of a script: what it takes from others and gives to them is simply there.

    >>> as_part('import { two } from "./two.js";\\nexport const one = two / 2;')
    'const one = two / 2;'
    """
    own = re.sub(r"^import [^;]*;\n", "", module, flags=re.MULTILINE)
    return re.sub(r"^export (?=const|let|function|async|class)", "", own, flags=re.MULTILINE)


def _safe_json(content: dict[str, Any]) -> str:
    """JSON that cannot end its script element, whatever the names say."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _content(
    trace: Any,
    convention: str | None,
    class_names: Sequence[str] | None,
    ground: Ground | None,
) -> dict[str, Any]:
    """All that the page needs, in plain lists; one list for each quantity, not for each step."""
    picks = _thinned(len(trace), _MOST_STEPS if ground is None else _MOST_FIELDS)
    steps = [trace[t] for t in picks]
    classes = trace.classes
    called = [str(c) for c in (classes if class_names is None else class_names)]
    if len(called) != len(classes):
        raise DataError(f"there are {len(classes)} classes and {len(called)} class_names.")
    labels = np.searchsorted(classes, trace.y)
    points = trace.X if ground is None else ground.points
    shown, errors = _picture_rows(points, steps), _errors(steps)
    way = trace.way(convention)
    bias = "intercept" if way is None else way.bias
    weights, names, note = _weights(trace, steps, called, bias)
    if len(picks) < len(trace):
        note += f" {len(picks)} of {len(trace)} steps are shown."
    told = trace.sentences(convention)
    patterns, why = coded_sentences([str(told[t]) for t in picks])
    drawn = shown is not None
    listed = shown if shown is not None else np.arange(min(len(trace.X), _MOST_LISTED))
    return {
        "features": [str(name) for name in trace.feature_names[:_MOST_WEIGHTS]],
        "axes": list(trace.feature_names[:2] if ground is None else ground.names),
        "rows": trace.row_names,
        "classes": called,
        "labels": labels[listed].tolist(),
        "flat": trace.X.shape[1] == 1 if ground is None else ground.flat,
        "ground": None if ground is None else _fields(ground, picks),
        "X": _points(points[shown]) if drawn else None,
        "table": [plain_numbers(row[:_MOST_WEIGHTS]) for row in trace.X[listed[:_MOST_LISTED]]]
        if ground is not None or not drawn
        else None,
        "ids": listed.tolist() if len(listed) < len(trace.X) else None,
        "n": len(trace.X),
        "update": [step.update for step in steps],
        "visit": [step.visit for step in steps],
        "row": [-1 if step.row is None else step.row for step in steps],
        "count": [len(step.errors) for step in steps],
        "errors": errors,
        "weights": weights,
        "names": names,
        "order": _order(names, bias, way),
        "symbol": None if way is None else [*way.weights.split("{}"), way.first],
        "plane": ground is None and bool(np.size(steps[0].coef)),
        "looks": trace.has_looks,
        "kept": trace.outcome.t_lup if steps[-1].closing else None,
        "closing": steps[-1].closing,
        "note": note.strip(),
        "extra": extra_columns(steps),
        "patterns": patterns,
        "why": why,
    }


def _thinned(n: int, most: int) -> list[int]:
    """All of n, or so many of them, evenly, the first and the last included."""
    if n <= most:
        return list(range(n))
    chosen: list[int] = np.unique(np.linspace(0, n - 1, most).round().astype(int)).tolist()
    return chosen


def _fields(ground: Ground, picks: list[int]) -> dict[str, Any]:
    """What is decided where: pieces of the plane that stay, or scores on a grid at each step."""
    low, high = ground.points.min(axis=0), ground.points.max(axis=0)
    middle, half = (low + high) / 2, _WIDE * max(float((high - low).max()), 1e-12) / 2
    box = [float(v) for m in middle for v in (m - half, m + half)]
    pieces = ground.pieces(box)
    if pieces:
        return {"pieces": pieces}
    one = len(ground.scores(middle[None], picks[:1])[0])
    size = int(np.clip(math.isqrt(_MOST_BYTES // (2 * one * len(picks))), _COARSEST, _FINEST))
    across, up = (np.linspace(box[k], box[k + 1], size) for k in (0, 2))
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    steps = [_packed(field) for field in ground.scores(grid, picks)]
    return {"pieces": [], "box": box, "size": size, "steps": steps}


def _packed(field: NDArray[np.float64]) -> str:
    """Scores as 16 bits, by their logarithm: signs exactly, sizes to a thousandth of themselves."""
    most = float(np.abs(field).max()) or 1.0
    share = np.nan_to_num(np.arcsinh(field / most * 1e12) / _LARGEST * _WORD)
    rounded = np.where(field > 0, np.ceil(share), np.floor(share)).astype("<i2")
    return base64.b64encode(rounded.tobytes()).decode("ascii")


def _picture_rows(X: NDArray[np.float64], steps: list[Any]) -> NDArray[np.int64] | None:
    """Rows to draw: all, or some of many and those that caused updates; None for no picture."""
    n, d = X.shape
    if d > 2:
        return None
    if n <= _MOST_ROWS:
        return np.arange(n)
    active = list(dict.fromkeys(step.row for step in steps if step.row is not None))
    return np.unique(np.array(_thinned(n, _MOST_ROWS) + active[:_MOST_ROWS], dtype=np.int64))


def _points(X: NDArray[np.float64]) -> list[list[float | None]]:
    pair = np.column_stack([X, np.zeros(len(X))])[:, :2]
    return [plain_numbers(row) for row in pair]


def _errors(steps: list[Any]) -> list[list[int]] | None:
    total = sum(len(step.errors) for step in steps)
    return [list(step.errors) for step in steps] if total <= _MOST_ERRORS else None


def _order(names: list[str], bias: str, way: Any) -> list[int]:
    """The order in which the lecture writes the weights."""
    if way is None or way.position != "first" or names[-1] != bias:
        return list(range(len(names)))
    return [len(names) - 1, *range(len(names) - 1)]


def _weights(
    trace: Any, steps: list[Any], classes: list[str], bias: str
) -> tuple[list[list[float | None]], list[str], str]:
    """Weights of each step, class after class, offset last; their names; what is left out."""
    if not np.size(steps[0].coef):  # in the space of a kernel only the offset is a number
        offsets = [np.ravel(step.intercept) for step in steps]
        names = (
            [bias] if offsets[0].size == 1 else [f"{bias} {k + 1}" for k in range(offsets[0].size)]
        )
        return [plain_numbers(row) for row in offsets], names, ""
    table = np.array(
        [np.column_stack([np.atleast_2d(s.coef), np.ravel(s.intercept)]).ravel() for s in steps]
    )
    own = [str(name) for name in trace.feature_names] + [bias]
    many = np.ndim(steps[0].coef) > 1
    names = [f"{c}: {name}" for c in classes for name in own] if many else own
    if trace.X.shape[1] <= 2 or len(names) <= _MOST_WEIGHTS:
        return [plain_numbers(row) for row in table], names, ""
    finite = np.nan_to_num(table, posinf=0.0, neginf=0.0)
    top = np.sort(np.argsort(-np.abs(finite).max(axis=0), kind="stable")[:_MOST_WEIGHTS])
    note = f"The {len(top)} largest of {len(names)} weights."
    return [plain_numbers(row) for row in table[:, top]], [names[j] for j in top], note


def extra_columns(steps: list[Any], digits: int = 10) -> dict[str, list[float | None]]:
    """What the method adds, one list for each name."""
    told = [
        {} if now.closing else _at_a_look(now) if now.update == before.update else now.extra
        for before, now in zip(steps[:1] + steps[:-1], steps)
    ]
    names = list(dict.fromkeys(name for extra in told for name in extra))
    return {
        _WORDS.get(name, name): plain_numbers([extra.get(name, np.nan) for extra in told], digits)
        for name in names
    }


def _at_a_look(step: Any) -> dict[str, float]:
    """What is true without an update."""
    moves = ("eta", "kappa", "undershoot", "broken")
    return {name: value for name, value in step.extra.items() if name not in moves}


def plain_numbers(values: Any, digits: int = 10) -> list[float | None]:
    """Numbers of so many digits, 17 name every float; None for what JSON cannot hold."""
    out: list[float | None] = []
    for value in np.asarray(values, dtype=np.float64).tolist():
        short = float(f"{value:.{digits}g}")
        whole = np.isfinite(short) and short == int(short) and abs(short) < 2**53
        out.append(int(short) if whole else short if np.isfinite(short) else None)
    return out


def coded_sentences(texts: list[str]) -> tuple[list[list[str]], list[list[Any]]]:
    """Sentences as numbered patterns and the numbers in them, for they repeat themselves.

    >>> coded_sentences(["visit 2: row 1", "visit 15: row 3"])
    ([['visit ', ': row ', '']], [[0, '2', '1'], [0, '15', '3']])
    """
    known: dict[tuple[str, ...], int] = {}
    coded: list[list[Any]] = []
    for text in texts:
        parts = tuple(_NUMBER.split(text))
        coded.append([known.setdefault(parts, len(known)), *_NUMBER.findall(text)])
    return [list(parts) for parts in known], coded
