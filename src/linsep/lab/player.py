"""The player: a table, a method, its recorded run, a place in it. It knows no page and no server.

A player is made from a ``Task``, which is all that a page, a link or a notebook has to say. The run
is that of ``linsep.trace`` and the model that of ``fit``: an observer, and nothing else, watches
what a picture needs beside them (points of hulls, dual variables), and asks to stop at the last
step that was asked for. The same task gives the same run, so nothing has to be kept between two
questions.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import Moment, Observer
from linsep.core.limits import clock
from linsep.core.notes import unsaid
from linsep.core.problem import Problem
from linsep.core.protocol import Status, last_step
from linsep.core.schema import (
    Refused,
    listed,
    mapped,
    maybe,
    numbers,
    record,
    scalar,
    text,
    truth,
    whole,
    word,
)
from linsep.core.words import count
from linsep.data.table import Table
from linsep.display.replay import (
    Ground,
    coded_sentences,
    extra_columns,
    plain_numbers,
    replay_page,
)
from linsep.errors import CapabilityError, DataError, LinsepError
from linsep.lab.methods import BY_KEY, Method, code_of
from linsep.tracing.conventions import CONVENTIONS
from linsep.tracing.trace import Step, Summary, Trace

Array = NDArray[np.float64]
Dual = tuple[NDArray[np.int64], Array, Array]

MOST_ROWS, MOST_FEATURES, MOST_CLASSES, MOST_STEPS = 5000, 1000, 10, 20_000
MOST_TOLD = 100  # steps that a script prints, line by line
_SECONDS = 20.0  # of one run, of one fit and of one proof
_SOON = 2.0  # seconds after which a run that has some steps is shown as far as it is
_SOME_STEPS = 50
_FEW = 4  # rows of a step that are shown
_DIRECTIONS = ("first principal direction", "second principal direction")
_BARELY = 1e-30  # ahead of those with 0
_FLOAT_DIGITS = 17  # digits that name a float


@dataclass(frozen=True)
class Task:
    """What is asked: a table, a method, its settings."""

    table: Table
    method: Method
    settings: Mapping[str, Any]
    lift: str = ""
    visits: bool = False
    convention: str | None = None
    most: int = 500
    """Steps to record."""
    picks: tuple[int, ...] = ()
    """Rows that were picked by hand, one visit after the other; none: the method's own order."""

    @classmethod
    def of(cls, data: Any) -> Task:
        """The task of a message, every value of it checked."""
        told = record(
            ("settings", "lift", "visits", "convention", "most", "picks"),
            table=record(
                ("features", "rows", "name"),
                X=numbers(None, None), y=listed(whole(0, MOST_CLASSES - 1)),
                classes=listed(scalar), features=maybe(listed(text)), rows=maybe(listed(text)),
                name=text,
            ),
            method=word(*BY_KEY), settings=mapped(lambda value, where: value), lift=text,
            visits=truth, convention=maybe(word(*CONVENTIONS)), most=whole(1, MOST_STEPS),
            picks=listed(whole(0, MOST_ROWS - 1)),
        )(data, "task")  # fmt: skip
        method = BY_KEY[told["method"]]
        return cls(
            table=_table(told["table"]),
            method=method,
            settings=method.read(told.get("settings") or {}),
            lift=(told.get("lift") or "").strip()[:300],
            visits=bool(told.get("visits")),
            convention=told.get("convention"),
            most=told.get("most") or cls.most,
            picks=_picked(told.get("picks") or [], method, len(told["table"]["X"])),
        )

    def told(self) -> dict[str, Any]:
        """The message of this task."""
        settings = {k: "inf" if v == math.inf else v for k, v in self.settings.items()}
        return {
            "table": table_message(self.table), "method": self.method.key, "settings": settings,
            "lift": self.lift, "visits": self.visits, "convention": self.convention,
            "most": self.most, "picks": list(self.picks),
        }  # fmt: skip


def _picked(rows: list[int], method: Method, n: int) -> tuple[int, ...]:
    if rows and not method.picks:
        raise Refused("picks", rows[:8], f"no rows: {method.title} looks at them in its own order")
    if len(rows) > MOST_STEPS or max(rows, default=0) >= n:
        raise Refused("picks", rows[:8], f"at most {MOST_STEPS} rows, each from 0 to {n - 1}")
    return tuple(rows)


def _table(told: dict[str, Any]) -> Table:
    X, y, classes = told["X"], told["y"], told["classes"]
    if len(X) != len(y):
        raise Refused("table.y", y, f"a list of {len(X)}")
    if len(X) > MOST_ROWS or X.shape[1] > MOST_FEATURES:
        raise Refused("table.X", told["X"].shape, f"at most {MOST_ROWS} x {MOST_FEATURES} numbers")
    if not 0 < len(classes) <= MOST_CLASSES or max(y, default=0) >= len(classes):
        raise Refused("table.classes", classes, f"1 to {MOST_CLASSES} labels, one for each class")
    d = X.shape[1]
    for key, length in (("features", d), ("rows", len(X))):
        if told.get(key) is not None and len(told[key]) != length:
            raise Refused(f"table.{key}", told[key], f"a list of {length}")
    names = told.get("features") or [f"x{j + 1}" for j in range(d)]
    rows = told.get("rows")
    return Table(
        X=X, y=_labels(classes)[np.asarray(y, dtype=np.int64)] if y else np.zeros(0),
        feature_names=tuple(names), row_names=None if rows is None else tuple(rows),
        classes=tuple(classes), name=told.get("name") or "",
    )  # fmt: skip


def _labels(classes: list[Any]) -> NDArray[Any]:
    """Labels of classes as an array: whole numbers as such, others and anything mixed as text."""
    if all(type(value) in (int, float) and float(value).is_integer() for value in classes):
        return np.asarray(classes)
    return np.asarray([str(value) for value in classes])


def table_message(table: Table) -> dict[str, Any]:
    """A table as pages hold it: rows, numbers of classes, the labels of these.

    Of more rows than a page takes it is a sample, and says so.
    """
    if len(table.y) > MOST_ROWS:
        table = _sample(table)
    X = table.X.toarray() if hasattr(table.X, "toarray") else np.asarray(table.X, dtype=np.float64)
    labels, y = np.unique(table.y, return_inverse=True)
    if len(labels) > MOST_CLASSES:
        raise DataError(
            f"{table.name or 'the table'} has {len(labels)} classes; the lab shows at most "
            f"{MOST_CLASSES}. Join some of them, or take one against the rest: "
            "linsep lab FILE --positive CLASS."
        )
    if X.shape[1] > MOST_FEATURES:
        raise DataError(
            f"{table.name or 'the table'} has {X.shape[1]} features; the lab takes at most "
            f"{MOST_FEATURES}. Leave out some of the columns."
        )
    if not np.isfinite(X).all():
        raise DataError(f"{table.name or 'the table'} has numbers that are not finite.")
    names = table.feature_names or tuple(f"x{j + 1}" for j in range(X.shape[1]))
    return {
        "X": X.tolist(), "y": y.tolist(), "classes": labels.tolist(),
        "features": [str(name) for name in names],
        "rows": None if table.row_names is None else [str(name) for name in table.row_names],
        "name": table.name, "shown": _shown(table, labels), "notes": table.notes,
    }  # fmt: skip


def _sample(table: Table) -> Table:
    """As many rows as a page takes, in their order; the same ones every time."""
    n = len(table.y)
    rows = np.sort(np.random.default_rng(0).choice(n, MOST_ROWS, replace=False))
    names = table.row_names or tuple(f"row {i}" for i in range(n))
    words = f"a sample of {MOST_ROWS} of {n} rows: verdict and model are about these"
    return replace(
        table, X=table.X[rows], y=table.y[rows], row_names=tuple(names[i] for i in rows),
        notes="; ".join(filter(None, [words, table.notes])), sample_weight=None,
    )  # fmt: skip


def _shown(table: Table, labels: NDArray[Any]) -> list[str]:
    """How the source calls its classes."""
    own = [str(name) for name in table.classes]
    signs = labels.tolist() == [-1, 1] and len(own) == 2
    return own if signs else [str(label) for label in labels.tolist()]


class Watch(Observer):
    """Sees every step of a run: what pictures need, and when it is enough."""

    capacity = 1

    def __init__(self, most: int) -> None:
        self.most = most
        self.seen: dict[int, dict[str, Any]] = {}
        self.open = False
        self._begin = 0.0

    def __deepcopy__(self, memo: object) -> Watch:
        return self  # clones of an estimator are watched by the same

    def moment(self, now: Moment[Any]) -> bool:
        """Keep what the state shows; asks to stop when there are steps enough."""
        state = now.state
        if not self.seen:
            self._begin = clock()
        done = state.n_updates if hasattr(now.solver, "current") else state.steps
        self.seen[done] = self._look(now)
        enough = len(self.seen) > self.most
        enough |= len(self.seen) > _SOME_STEPS and clock() - self._begin > _SOON
        self.open = not now.status.done and enough
        return self.open

    def _look(self, now: Moment[Any]) -> dict[str, Any]:
        state, found = now.state, dict[str, Any]()
        moved = getattr(now.solver, "moved", None)
        if moved is not None and state.steps:
            found["moved"] = [int(i) for i in moved(now.problem, state)[:_FEW]]
        points = getattr(state, "points", None)
        if isinstance(points, np.ndarray) and points.ndim == 2:
            found["points"] = _unreflected(points)
        problem = now.problem
        if hasattr(state, "alpha") and hasattr(state, "scores"):  # counts of a kernel perceptron
            found["alpha"] = np.array(state.alpha, dtype=float)
            if problem.binary:
                found["dual"] = _dual(problem, found["alpha"], [state.b])
        elif not hasattr(now.solver, "current"):
            witness = now.solver.witness(problem, state)
            pairs = problem.K * (problem.K - 1) // 2
            alpha = np.zeros(problem.n * pairs)
            if witness.claim == "dual" and len(witness.rows):
                inside = witness.rows < len(alpha)
                alpha[witness.rows[inside]] = witness.multipliers[inside]
            if problem.binary:
                found["alpha"] = alpha
            if hasattr(now.solver, "kernel"):
                found["dual"] = _dual(problem, alpha, witness.a)
        return found


def _dual(problem: Problem, alpha: Array, offsets: Any) -> Dual:
    """Rows that count, their signed shares in the machine of each pair of classes, its offset."""
    signed = alpha.reshape(-1, problem.n).T.copy()
    for column, (first, _) in enumerate(combinations(range(problem.K), 2)):
        signed[problem.label == first, column] *= -1.0
    rows = np.flatnonzero(signed.any(axis=1))
    return rows.astype(np.int64), signed[rows], np.array(offsets, dtype=float)


def _unreflected(points: Array) -> list[list[float]]:
    """Points of two hulls in the space of X; the one point of the hull of reflected rows as is."""
    if len(points) != 2:
        return [list(map(float, point)) for point in points]
    return [(sign * point[:-1]).tolist() for sign, point in zip((-1.0, 1.0), points)]


@dataclass
class Player:
    """A run that can be walked through; ``at`` is the step that is shown.

    Examples
    --------
    >>> import linsep
    >>> from linsep.lab.player import Player
    >>> player = Player.of("example-3.2")
    >>> len(player), player.seek(1).why
    (3, 'visit 1: row 0 has value 0, so a <- a + 1 z: w = (-1, 0), b = 1; 2 rows wrong')
    >>> player.step().coef.tolist(), player.back().coef.tolist()
    ([-1.0, 1.0], [-1.0, 0.0])
    >>> print(player.proof)
    separable, margin between 0.7071 and 0.7072
    """

    task: Task
    at: int = 0
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        self.watch = Watch(self.task.most)

    @classmethod
    def of(cls, table: Any, method: str = "perceptron", **more: Any) -> Player:
        """A player for a table or the name of a bundled set, with settings by their names."""
        from linsep.data.lectures import load

        table = load(table) if isinstance(table, str) else table
        own = {
            name: more.pop(name)
            for name in ("lift", "visits", "convention", "most", "picks")
            if name in more
        }
        chosen = BY_KEY[method]
        return cls(Task(table, chosen, chosen.read(more), **own))

    # -- walking --------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.run)

    @property
    def now(self) -> Step:
        """The step that is shown."""
        return self.run[self.at]

    def seek(self, at: int) -> Step:
        """Go to a step; before the first and behind the last there is none."""
        self.at = min(max(int(at), 0), len(self) - 1)
        return self.now

    def step(self, k: int = 1) -> Step:
        """Go on by k steps."""
        return self.seek(self.at + k)

    def back(self, k: int = 1) -> Step:
        """Go back by k steps."""
        return self.seek(self.at - k)

    def whole_pass(self) -> Step:
        """Go on until every row has been looked at once more."""
        due = self.now.visit + len(self.run.X)
        later = (t for t in range(self.at + 1, len(self)) if self.run[t].visit >= due)
        return self.seek(next(later, len(self) - 1))

    # -- what is recorded, fitted, proved -----------------------------------------------------

    @property
    def estimator(self) -> Any:
        """As Python would write it, with its lift."""
        return self._made()

    def _made(self, **more: Any) -> Any:
        task = self.task
        hand = {"update": "single", "order": "cyclic", "keep": "last"} if task.picks else {}
        model = task.method.make({**task.settings, **hand}, self._width, **more)
        if not task.lift:
            return model
        from sklearn.pipeline import make_pipeline

        from linsep.lift.transformer import Lift

        return make_pipeline(Lift(task.lift), model)

    def _limit(self, model: object) -> None:
        """The time that a run on a page may take."""
        inner = last_step(model)
        inner = getattr(inner, "estimator", inner)
        if "time_limit" in inner.get_params():
            inner.set_params(time_limit=_SECONDS)

    @cached_property
    def lifted(self) -> tuple[Array, list[str]]:
        """Rows as the method sees them, and the names of their columns."""
        table = self.task.table
        if not self.task.lift:
            return table.X, list(table.feature_names or ())
        lift = self._lift
        return np.asarray(lift.transform(table.X)), [str(n) for n in lift.get_feature_names_out()]

    @cached_property
    def _lift(self) -> Any:
        from linsep.lift.transformer import Lift

        return Lift(self.task.lift).fit(self.task.table.X)

    @property
    def _width(self) -> int:
        return int(self.lifted[0].shape[1])

    @cached_property
    def run(self) -> Trace:
        """The recorded run; of a method without steps the answer alone."""
        from linsep.tracing.record import trace

        task = self.task
        if task.picks:
            return self._by_hand()
        if task.method.steps:
            model = self._made(callbacks=[self.watch])
            self._limit(model)
            try:
                with unsaid():
                    found = trace(
                        model, task.table.X, task.table.y, row_names=task.table.row_names,
                        visits=task.visits, convention=task.convention,
                    )  # fmt: skip
                found.feature_names = self.lifted[1] or found.feature_names
                return self._opened(found)
            except CapabilityError as error:
                if "cannot be traced" not in str(error):
                    raise
        return self._answer_alone()

    def _by_hand(self) -> Trace:
        """The run over the rows that were picked, which stand before all others in a table."""
        from linsep.tracing.record import trace

        task, n = self.task, len(self.task.table.X)
        names = task.table.row_names or tuple(f"row {i}" for i in range(n))
        order = [*task.picks, *range(n)]
        model = self._made()
        with unsaid():
            found = trace(
                model, task.table.X[order], task.table.y[order], visits=True,
                row_names=[names[i] for i in order],
            )  # fmt: skip
        k = len(task.picks)
        steps = [_own(step, order, k) for step in found.steps[: k + 1]]
        wrong = len(steps[-1].errors)
        words = f"{count(k, 'row')} picked by hand; {count(wrong, 'row')} wrong"
        status = Status.STOPPED if wrong else Status.SEPARATED
        return Trace(
            steps, Summary(status, steps[-1].update, k, 0.0, words),
            algorithm=found.algorithm, X=self.lifted[0], y=np.asarray(task.table.y),
            feature_names=self.lifted[1] or found.feature_names, row_names=task.table.row_names,
            fit_intercept=found.fit_intercept,
        )  # fmt: skip

    def _opened(self, found: Trace) -> Trace:
        """A run that was stopped here goes on: what would be kept now is no step of it."""
        if self.watch.open and found.steps[-1].closing:
            found.steps.pop()
        return found

    def _answer_alone(self) -> Trace:
        model, X = self.fitted, self.lifted[0]
        last = last_step(model)
        coef: Array = np.zeros(0)
        b: Any = 0.0
        if hasattr(last, "coef_") and not self._duels:
            coef, b = np.asarray(last.coef_), np.asarray(last.intercept_)
            if len(last.classes_) == 2:
                coef, b = coef[0], float(b[0])
        y = np.asarray(self.task.table.y)
        wrong = tuple(np.flatnonzero(model.predict(self.task.table.X) != y).tolist())
        status = last.status_ or Status.CONVERGED
        words = f"{status.value}; {count(len(wrong), 'row')} wrong"
        step = Step(0, 0, None, None, coef, b, wrong, words)
        return Trace(
            [step], Summary(status, 0, 0, 0.0, words), algorithm=type(last).__name__, X=X, y=y,
            feature_names=self.lifted[1], row_names=self.task.table.row_names,
        )  # fmt: skip

    @property
    def _duels(self) -> bool:
        return self.task.method.estimator == "OneVsOne"

    @cached_property
    def fitted(self) -> Any:
        """The estimator, fitted: what the same line of Python gives."""
        model = self._made()
        self._limit(model)
        with unsaid():
            return model.fit(self.task.table.X, self.task.table.y)

    @cached_property
    def proof(self) -> Any:
        """Whether the classes are separable where the method works, with the proof."""
        from linsep.separating.verdict import separability

        settings = self.task.settings
        offset = bool(settings.get("fit_intercept", True))
        kernel = None
        if "kernel" in settings and settings["kernel"] != "linear":
            kernel = self._kernel
        return separability(
            self.lifted[0], self.task.table.y, fit_intercept=offset, kernel=kernel,
            time_limit=_SECONDS,
        )  # fmt: skip

    @cached_property
    def _kernel(self) -> Any:
        kernel = getattr(last_step(self.fitted), "kernel_", None)
        if kernel is None:
            raise DataError(f"{self.task.method.title} has no kernel.")
        return kernel

    # -- messages -------------------------------------------------------------------------

    def message(self) -> dict[str, Any]:
        """All that a page needs to play the run, a list for each quantity; every float exact."""
        run, table = self.run, self.task.table
        steps, classes = run.steps, run.classes
        values = np.array(
            [np.column_stack([np.atleast_2d(s.coef), np.ravel(s.intercept)]).ravel() for s in steps]
            if np.size(steps[0].coef)
            else [np.ravel(s.intercept)[:1] for s in steps]
        )
        told = run.sentences()
        patterns, why = coded_sentences([str(line) for line in told])
        way = run.way()
        looks = [self.watch.seen.get(step.update, {}) for step in steps]
        return {
            "n": len(run.X),
            "present": [_place(table, label) for label in classes.tolist()],
            "features": run.feature_names,
            "planes": 0 if not np.size(steps[0].coef) else np.atleast_2d(steps[0].coef).shape[0],
            "weights": [_exact(row) for row in values],
            "update": [step.update for step in steps],
            "visit": [step.visit for step in steps],
            "row": [-1 if step.row is None else int(step.row) for step in steps],
            "value": _exact([math.nan if s.value is None else s.value for s in steps]),
            "wrong": [step.wrong for step in steps],
            "errors": [list(step.errors) for step in steps],
            "extra": extra_columns(steps, _FLOAT_DIGITS),
            "patterns": patterns,
            "why": why,
            "symbol": None if way is None else [*way.weights.split("{}"), way.first],
            "points": [look.get("points") for look in looks] if self._two_points else None,
            "alpha": self._alphas(looks),
            "moved": [look.get("moved") for look in looks]
            if any(look.get("moved") for look in looks)
            else None,
            "closing": steps[-1].closing,
            "kept": run.outcome.t_lup,
            "open": self.watch.open,
            "status": "OPEN" if self.watch.open else run.outcome.status.name,
            "message": "the run goes on" if self.watch.open else run.outcome.message,
            "ok": run.outcome.ok,
            "lifted": plain_rows(self.lifted[0]) if self.task.lift else None,
            "basis": _principal(run.X) if run.X.shape[1] > 2 and not self.task.lift else None,
            "code": self.snippet(),
        }

    @property
    def _two_points(self) -> bool:
        return self.task.method.key == "kozinec"

    def _alphas(self, looks: list[dict[str, Any]]) -> list[list[float | None] | None] | None:
        n = len(self.run.X)
        if not any("alpha" in look for look in looks) or n * len(looks) > 400_000:
            return None
        return [plain_numbers(look["alpha"], 8) if "alpha" in look else None for look in looks]

    def verdict(self) -> dict[str, Any]:
        """Whether the classes are separable, the rows that prove it, and what the fit proved."""
        proof, run = self.proof, self.run
        model = last_step(self.fitted)
        certificate = getattr(model, "certificate_", None)
        low, high = (float(v) for v in proof.margin)
        return {
            "separable": proof.separable,
            "quasi": proof.quasi,
            "sentence": str(proof),
            "explain": proof.explain(),
            "margin": [_finite(low), _finite(high)],
            "rows": [int(i) for i in proof.rows],
            "multipliers": [str(m) for m in proof.multipliers],
            "plane": None
            if proof.coef is None or proof.kernel is not None or np.ndim(proof.coef) > 1
            else [_finite(v) for v in [*np.asarray(proof.coef, float), float(proof.intercept)]],
            "hull": [
                [int(i), float(w)]
                for i, w in zip(proof.hull_rows, np.asarray(proof.hull_weights, float))
            ],
            "exact": bool(proof.exact),
            "status": model.status_.name if model.status_ is not None else "",
            "fit": type(model).__name__,
            "certificate": str(model.status_.value if certificate is None else certificate),
            "summary": model.summary() if hasattr(model, "summary") else "",
            "steps": len(run),
        }

    def verify(self) -> dict[str, Any]:
        """The proof, written down, read again and checked against the rows without the search."""
        from linsep.proofs.separable import Proof

        again = Proof.from_json(self.proof.to_json())
        good = again.check(self.lifted[0], self.task.table.y)
        how = "in rational arithmetic" if self.proof.exact else "in floating point with bounds"
        return {"good": bool(good), "sentence": f"checked again {how}: {again}"}

    def field(
        self, at: int, box: list[float], points: int, frame: Mapping[str, Array] | None = None
    ) -> dict[str, Any]:
        """Scores at a step on a grid of the plane c + u e1 + v e2 that a page shows."""
        x0, x1, y0, y1 = box
        u, v = np.meshgrid(np.linspace(x0, x1, points), np.linspace(y0, y1, points))
        d = self.task.table.X.shape[1]
        frame = frame or {"c": np.zeros(d), "e1": np.eye(d)[0], "e2": np.eye(max(d, 2))[1][:d]}
        grid = frame["c"] + np.outer(u.ravel(), frame["e1"]) + np.outer(v.ravel(), frame["e2"])
        return {
            "size": points,
            "box": box,
            "scores": list(map(_packed, self._scores(grid, [at])[0])),
        }

    def _scores(self, grid: Array, steps: Sequence[int]) -> Array:
        """Of m points at some steps, steps x K x m: f for two classes, else how far each is ahead.

        That is 0 on the border of a class and positive inside.
        """
        rows = np.asarray(self._lift.transform(grid)) if self.task.lift else grid
        at = [self.run[min(max(t, 0), len(self.run) - 1)] for t in steps]
        if np.size(at[0].coef):
            planes = [(np.atleast_2d(step.coef), np.ravel(step.intercept)) for step in at]
            return np.stack([_leads(W @ rows.T + b[:, None]) for W, b in planes])
        duals = [None if s.closing else self.watch.seen.get(s.update, {}).get("dual") for s in at]
        told = [dual for dual in duals if dual is not None]
        kept = self._kept_scores(rows) if len(told) < len(at) else np.zeros(0)
        if not told:
            return np.repeat(kept[None], len(at), axis=0)
        used = np.unique(np.concatenate([rows for rows, _, _ in told]))
        values = (
            np.asarray(self._kernel(rows, self.lifted[0][used]))
            if len(used)
            else np.zeros((len(grid), 0))
        )
        return np.stack(
            [kept if dual is None else self._summed(dual, used, values) for dual in duals]
        )

    def _summed(self, dual: Dual, used: NDArray[np.int64], values: Any) -> Array:
        """What sums over kernel values make of points: K x m, or 1 x m for two classes."""
        rows, signed, offsets = dual
        weights = np.zeros((len(used), len(offsets)))
        weights[np.searchsorted(used, rows)] = signed
        raw = np.asarray(values @ weights) + offsets
        return raw.T if len(self.run.classes) == 2 else _claims(raw, len(self.run.classes))

    def _kept_scores(self, rows: Array) -> Array:
        model = last_step(self.fitted)
        if hasattr(model, "pairwise_decision_function") and len(self.run.classes) > 2:
            return _claims(model.pairwise_decision_function(rows), len(self.run.classes))
        return _leads(np.atleast_2d(np.asarray(model.decision_function(rows)).T))

    @property
    def ground(self) -> Ground | None:
        """The plane on which a page replays the run, where weights of two features are not it."""
        X, names = self.task.table.X, list(self.task.table.feature_names or ())
        d = X.shape[1]
        alone, cut = not self.task.method.steps, d > 2 or bool(self.task.lift)
        if not cut and np.size(self.run[0].coef) and not (alone and len(self.run.classes) > 2):
            return None
        centre, axes = np.zeros(d), np.eye(d, max(d, 2))[:, :2].T
        if d > 2:
            plane = _principal(X)
            centre, axes = np.array(plane["mean"]), np.array(plane["axes"])
            names = list(_DIRECTIONS)
        return Ground(
            points=(X - centre) @ axes.T,
            names=(names[0], names[1] if d > 1 else ""),
            scores=lambda points, steps: self._scores(centre + points @ axes, steps),
            pieces=lambda box: (
                self.zones(box, "")["pieces"] if alone and d == 2 and not cut else []
            ),
            flat=d == 1,
        )

    def held(self, rows: Array, labels: Sequence[int]) -> dict[str, Any]:
        """Which rows that the method has not seen are wrong, at each step.

        Labels are places in the list of classes of the task.
        """
        place = {_place(self.task.table, c): k for k, c in enumerate(self.run.classes.tolist())}
        own = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
        if not self.task.method.steps:
            found = self.run.classes.tolist()
            guess = np.array(
                [found.index(c) if c in found else -1 for c in self.fitted.predict(rows).tolist()]
            )
            return {"errors": [np.flatnonzero(guess != own).tolist()]}
        errors, per = [], max(1, 2_000_000 // max(1, len(own) * len(place)))
        for first in range(0, len(self.run), per):
            steps = range(first, min(first + per, len(self.run)))
            for scores in self._scores(rows, steps):
                two = len(scores) == 1
                ahead = scores[0] * (2 * own - 1) if two else scores[own, np.arange(len(own))]
                errors.append(np.flatnonzero((ahead <= 0) | (own < 0)).tolist())
        return {"errors": errors}

    def zones(self, box: list[float], scheme: str) -> dict[str, Any]:
        """Convex pieces of the plane and who decides there: a class, none (-1), several (-2)."""
        from linsep.multiclass.regions import regions

        x0, x1, y0, y1 = box
        with unsaid():
            found = regions(
                self.fitted, box=((x0, y0), (x1, y1)), scheme=scheme or None, points=121
            )
        return {
            "scheme": found.scheme,
            "sentence": str(found),
            "pieces": [[int(k), plain_rows(p)] for k, p in found.polygons],
            "decided": None if found.polygons else found.decided.tolist(),
            "undecided": float(found.undecided),
            "lines": self._machines(),
        }

    def _machines(self) -> list[dict[str, Any]]:
        """The lines of a scheme of many classes, and the classes that each tells apart."""
        model, K = self.fitted, len(self.run.classes)
        if self.task.method.steps or not hasattr(model, "estimators_") or K < 3:
            return []
        pairs = getattr(model, "pairs_", None)
        whose = [[k] for k in range(K)] if pairs is None else [[int(i), int(j)] for i, j in pairs]
        return [
            {"w": one.coef_[0].tolist(), "b": float(one.intercept_[0]), "classes": classes}
            for one, classes in zip(model.estimators_, whose)
            if hasattr(one, "coef_")
        ]

    def costs(
        self, axes: list[int], at: list[float], box: list[float], points: int
    ) -> dict[str, Any]:
        """What the method minimises, over two weights, the others held."""
        import linsep.criteria

        method, settings = self.task.method, self.task.settings
        if method.criterion is None or len(self.run.classes) != 2:
            raise DataError(f"{method.title} minimises no function of the weights alone.")
        kind = getattr(linsep.criteria, method.criterion)
        if settings.get("loss") == "squared_hinge":
            kind = linsep.criteria.SquaredHinge
        C = settings.get("C")
        rows, offset = self.lifted[0], settings.get("fit_intercept", True)
        sign = np.where(self.task.table.y == self.run.classes[1], 1.0, -1.0)
        Z = sign[:, None] * np.column_stack([rows, np.full(len(rows), float(offset))])
        if len(at) != Z.shape[1] or max(axes) >= Z.shape[1]:
            raise Refused("at", at, f"a list of {Z.shape[1]} weights")
        x0, x1, y0, y1 = box
        u, v = np.meshgrid(np.linspace(x0, x1, points), np.linspace(y0, y1, points))
        A = np.tile(np.asarray(at, dtype=np.float64), (u.size, 1))
        A[:, axes[0]], A[:, axes[1]] = u.ravel(), v.ravel()
        words, aims = kind.words, settings.get("targets")
        criterion = kind() if aims is None else linsep.criteria.Squares(np.tile(aims, len(A)))
        losses = criterion.of_values((A @ Z.T).ravel()).reshape(len(A), -1).sum(axis=1)
        if C is not None and math.isfinite(C):
            losses = 0.5 * (A[:, :-1] ** 2).sum(axis=1) + C * losses
            words = f"|w|²/2 + C times the {kind.words}"
        return {"size": points, "box": box, "values": _packed(losses), "name": words}

    def surface(self, box: list[float], points: int) -> dict[str, Any]:
        """The lift of a grid of the plane: its first three features."""
        x0, x1, y0, y1 = box
        u, v = np.meshgrid(np.linspace(x0, x1, points), np.linspace(y0, y1, points))
        lifted = np.asarray(self._lift.transform(np.column_stack([u.ravel(), v.ravel()])))[:, :3]
        return {"size": points, "names": self.lifted[1][:3], "rows": plain_rows(lifted)}

    def gram(self) -> dict[str, Any]:
        """The kernel between all pairs of rows."""
        if len(self.run.X) > 200:
            raise DataError(f"a Gram matrix of {len(self.run.X)} rows is no picture; take 200.")
        values = np.asarray(self._kernel(self.lifted[0], self.lifted[0]))
        return {"rows": plain_rows(values), "name": str(self._kernel)}

    # -- exports --------------------------------------------------------------------------

    def snippet(self) -> str:
        """A few lines of Python that give the run on the screen."""
        task, made = self.task, self.estimator
        lines, imports = list[str](), ["import numpy as np", "", "import linsep", ""]
        known = _bundled(task.table)
        if known:
            lines.append(f'X, y = linsep.data.load("{known}")')
        else:
            lines.append(f"X = np.array({task.table.X.tolist()!r})")
            lines.append(f"y = np.array({task.table.y.tolist()!r})".replace("'", '"'))
        if known:
            imports = imports[2:]
        if task.lift:
            imports.insert(-1, "from sklearn.pipeline import make_pipeline")
            code = f'make_pipeline(linsep.Lift("{task.lift}"), {code_of(last_step(made))})'
        else:
            code = code_of(made)
        lines += [f"model = {code}"]
        if task.picks:
            lines += [
                f"order = [{', '.join(map(str, task.picks))}, *range(len(X))]  # picked by hand",
                "run = linsep.trace(model, X[order], y[order], visits=True)",
                f"print(run[{len(task.picks)}].coef, run[{len(task.picks)}].intercept)",
            ]
        elif task.method.steps:
            more = ", visits=True" if task.visits else ""
            lines += [f"run = linsep.trace(model, X, y{more})"]
            letters = repr(task.convention).replace("'", '"') if task.convention else ""
            lines += [f"print(run.narrate({letters}))"] if len(self.run.steps) <= MOST_TOLD else [
                'print(*(step.why for step in run[:20]), "...", run.outcome.message, sep="\\n")'
            ]  # fmt: skip
        lines += ["model.fit(X, y)", "print(model.predict(X))"]
        if not task.lift:
            lines[-1] = "print(model.summary())"
        return "\n".join([*imports, *lines]) + "\n"

    def export(self, kind: str) -> tuple[str, str, bytes]:
        """A file: its name, its type, its bytes."""
        made = EXPORTS.get(kind)
        if made is None:
            raise Refused("kind", kind, f"one of {', '.join(EXPORTS)}")
        ending, media, write = made
        name = "".join(c if c.isalnum() or c == "-" else "-" for c in self.task.table.name) or "lab"
        return f"{name[:60]}{ending}", media, write(self)


def _leads(scores: Array) -> Array:
    """How far each of K scores is ahead of all others; one alone as it is."""
    if len(scores) == 1:
        return scores
    first, second = np.sort(scores, axis=0)[-1:-3:-1]
    return np.asarray(scores - np.where(scores == first, second, first))


def _claims(raw: Array, K: int) -> Array:
    """By how much each class wins its closest duel.

    Where no class wins all of its duels, votes and sums decide, as in ``predict``.
    """
    from linsep.models.kernel_base import votes_and_sums

    least = np.full((len(raw), K), np.inf)
    for column, (i, j) in enumerate(combinations(range(K), 2)):
        least[:, i] = np.minimum(least[:, i], -raw[:, column])
        least[:, j] = np.minimum(least[:, j], raw[:, column])
    winner = np.arange(len(raw)), votes_and_sums(raw, K).argmax(axis=1)
    least[winner] = np.maximum(least[winner], _BARELY)
    return least.T


def _own(step: Step, order: list[int], k: int) -> Step:
    """A step over k picked rows that stand before all others, with the numbers of the table."""
    errors = tuple(i - k for i in step.errors if i >= k)
    words = re.sub(r"\d+ rows? wrong$", f"{count(len(errors), 'row')} wrong", step.why)
    row = None if step.row is None else order[step.row]
    return replace(step, row=row, errors=errors, why=words)


def _csv(player: Player) -> bytes:
    table, lines = player.task.table, list[str]()

    def cell(value: Any) -> str:
        told = repr(value) if isinstance(value, float) else str(value)
        quoted = any(c in told for c in ',"\n\r')
        return '"' + told.replace('"', '""') + '"' if quoted else told

    names = [*(table.feature_names or ()), "y"]
    head = ["name", *names] if table.row_names else names
    lines.append(",".join(cell(name) for name in head))
    for i, (x, label) in enumerate(zip(table.X.tolist(), table.y.tolist())):
        first = [table.row_names[i]] if table.row_names else []
        lines.append(",".join(cell(value) for value in [*first, *x, label]))
    return ("\n".join(lines) + "\n").encode()


def _svmlight(player: Player) -> bytes:
    labels = np.unique(player.task.table.y, return_inverse=True)
    kinds = labels[0].dtype.kind in "iuf"
    own = player.task.table.y if kinds else labels[1]
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x) if v != 0)
        for label, x in zip(np.asarray(own).tolist(), player.task.table.X.tolist())
    ]
    return ("\n".join(line.rstrip() for line in lines) + "\n").encode()


def _model(player: Player) -> bytes:
    import tempfile
    from pathlib import Path

    from linsep.formats import save

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save(player.fitted, path)
        return path.read_bytes()


def _trace(player: Player) -> bytes:
    def plain(value: Any) -> Any:
        return value.item() if isinstance(value, np.generic) else value.tolist()

    return json.dumps(player.run.to_dict(), default=plain).encode()


def _replay(player: Player) -> bytes:
    return replay_page(player.run, ground=player.ground).encode()


EXPORTS: dict[str, tuple[str, str, Any]] = {
    "csv": (".csv", "text/csv", _csv),
    "svmlight": (".svm", "text/plain", _svmlight),
    "trace": ("-trace.json", "application/json", _trace),
    "model": ("-model.json", "application/json", _model),
    "proof": ("-proof.json", "application/json", lambda player: player.proof.to_json().encode()),
    "python": (".py", "text/x-python", lambda player: player.snippet().encode()),
    "replay": ("-replay.html", "text/html", _replay),
}


def _bundled(table: Table) -> str | None:
    """The bundled set that these rows are, number by number."""
    from linsep.data.lectures import available, load

    if table.name not in available():
        return None
    own = load(table.name)
    same = np.array_equal(own.X, table.X) and np.array_equal(own.y, table.y)
    return table.name if same else None


def _place(table: Table, label: Any) -> int:
    """Where a label stands in the list of the page."""
    known = [str(c) for c in table.classes]
    if str(label) not in known:  # names of classes that are -1 and +1
        known = [str(c) for c in np.unique(table.y).tolist()]
    return known.index(str(label))


def _principal(X: Array) -> dict[str, Any]:
    """The plane through the mean in which the rows spread most."""
    mean = X.mean(axis=0)
    _, _, axes = np.linalg.svd(X - mean, full_matrices=False)
    axes = np.vstack([axes, np.zeros((2, X.shape[1]))])[:2]
    sign = np.where(axes[np.arange(2), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)
    return {"mean": mean.tolist(), "axes": (axes * sign[:, None]).tolist()}


def plain_rows(values: Any) -> list[list[float | None]]:
    """A matrix as lists of exact numbers."""
    return [_exact(row) for row in np.atleast_2d(values)]


def _exact(values: Any) -> list[float | None]:
    return plain_numbers(values, _FLOAT_DIGITS)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _packed(values: Any) -> str:
    """Numbers as text: float32, base64; colours need no more digits."""
    import base64

    with np.errstate(over="ignore"):
        small = np.clip(np.nan_to_num(np.asarray(values)), -3e38, 3e38).astype("<f4")
    return base64.b64encode(small.tobytes()).decode("ascii")


class Players:
    """The last few players, by what was asked: a page asks about the same run several times."""

    def __init__(self, most: int = 8) -> None:
        self.most = most
        self._known: dict[str, Player] = {}

    def of(self, data: Any) -> Player:
        """The player of a message."""
        key = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        player = self._known.pop(key, None)
        if player is None:
            player = Player(Task.of(data))
        self._known[key] = player
        while len(self._known) > self.most:
            self._known.pop(next(iter(self._known)))
        return player


def answer(players: Players, verb: str, data: Any) -> dict[str, Any]:
    """What a page asks: a verb of ``VERBS`` and a task with what the verb needs beside it."""
    try:
        if verb not in VERBS or not isinstance(data, dict) or "task" not in data:
            raise Refused("verb", verb, f"one of {', '.join(VERBS)} with a task")
        found: dict[str, Any] = VERBS[verb](players, data)
    except Refused as error:
        raise DataError(f"{error}.") from error
    except LinsepError:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:
        raise DataError(f"{type(error).__name__}: {error}") from error
    return found


def _box(data: dict[str, Any]) -> list[float]:
    found: list[float] = numbers(4)(data.get("box"), "box").tolist()
    if not (found[0] < found[1] and found[2] < found[3]):
        raise Refused("box", found, "x0 < x1, y0 < y1")
    return found


def _size(data: dict[str, Any]) -> int:
    return int(whole(2, 201)(data.get("size", 81), "size"))


def _shown_plane(data: dict[str, Any]) -> dict[str, Array] | None:
    """The plane that a page shows: a point of it and two directions."""
    d = len(data["task"]["table"]["features"] or [])
    check = record(c=numbers(d), e1=numbers(d), e2=numbers(d))
    found: dict[str, Array] | None = maybe(check)(data.get("frame"), "frame")
    return found


def _tested(data: dict[str, Any]) -> tuple[Array, list[int]]:
    """Rows beside those of the task, and their labels."""
    rows = numbers(None, len(data["task"]["table"]["X"][0]))(data.get("rows"), "rows")
    labels: list[int] = listed(whole(-1, MOST_CLASSES - 1), len(rows))(data.get("labels"), "labels")
    if len(rows) > MOST_ROWS:
        raise Refused("rows", len(rows), f"at most {MOST_ROWS} rows")
    return rows, labels


VERBS: dict[str, Any] = {
    "run": lambda players, data: players.of(data["task"]).message(),
    "prove": lambda players, data: players.of(data["task"]).verdict(),
    "verify": lambda players, data: players.of(data["task"]).verify(),
    "field": lambda players, data: players.of(data["task"]).field(
        whole()(data.get("at"), "at"), _box(data), _size(data), _shown_plane(data)
    ),
    "zones": lambda players, data: players.of(data["task"]).zones(
        _box(data), word("", "unanimous", "votes", "argmax")(data.get("scheme", ""), "scheme")
    ),
    "costs": lambda players, data: players.of(data["task"]).costs(
        listed(whole(0, MOST_FEATURES), 2)(data.get("axes"), "axes"),
        numbers(None)(data.get("at"), "at").tolist(), _box(data), _size(data),
    ),
    "surface": lambda players, data: players.of(data["task"]).surface(_box(data), _size(data)),
    "held": lambda players, data: players.of(data["task"]).held(*_tested(data)),
    "gram": lambda players, data: players.of(data["task"]).gram(),
}  # fmt: skip
