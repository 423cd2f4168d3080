"""A recorded run: one step for each update, with the numbers a lecture would print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from linsep.core.boundary import boundary
from linsep.core.files import atomic_write_bytes
from linsep.core.protocol import Status
from linsep.core.schema import (
    Check,
    Refused,
    either,
    from_json,
    labels,
    listed,
    mapped,
    maybe,
    numbers,
    real,
    record,
    scalar,
    text,
    truth,
    whole,
    word,
)
from linsep.core.sources import fetch
from linsep.core.words import count
from linsep.errors import FormatError, SettingError, printable
from linsep.tracing.conventions import CONVENTIONS, Convention, convention_named

_FORMAT = "linsep-trace"
_VERSION = 2


@dataclass(frozen=True, eq=False)
class Step:
    """One update of the weights; the step of update 0 is the start."""

    update: int
    visit: int
    """Rows looked at so far."""
    row: int | None
    """Row that caused the update; None for a batch and for the start."""
    value: float | None
    """y times the score of that row before the update."""
    coef: NDArray[np.float64]
    intercept: Any
    errors: tuple[int, ...]
    """Rows misclassified by the new weights."""
    why: str
    rival: Any = None
    """With three classes and more: the class that the row was compared with."""
    extra: dict[str, float] = field(default_factory=dict)
    """What the method adds: eta, kappa, bounds of the margin, cost."""
    wrong: bool | None = None
    """Whether the row was misclassified before; None where no single row was looked at."""
    value_after: float | None = None
    """y times the score of that row after the update."""
    repeats: int | None = None
    """Updates with this row alone that would set it right; 0 if it is; None where that is not
    known."""
    closing: bool = False
    """Whether it tells of the weights that are kept, and of no update."""

    def __getattr__(self, name: str) -> float:
        extra = self.__dict__.get("extra", {})
        if name in extra:
            return float(extra[name])
        raise AttributeError(f"this step has no {name!r}; it has {', '.join(sorted(extra))}")


@dataclass(frozen=True)
class Summary:
    """How the recorded run ended."""

    status: Status
    updates: int
    visits: int
    seconds: float
    message: str
    t_lup: int | None = None
    """The update that made the weights which are kept; None where it was none of them."""

    @property
    def ok(self) -> bool:
        """True when the run ended with an answer."""
        return self.status.ok


class Trace(Sequence[Step]):
    """A sequence of steps, one for each update; ``trace[0]`` is the start.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("example-3.2")
    >>> trace = linsep.trace(linsep.Perceptron(), table.X, table.y)
    >>> [(step.row, step.coef.tolist(), step.intercept) for step in trace]
    [(None, [0.0, 0.0], 0.0), (0, [-1.0, 0.0], 1.0), (2, [-1.0, 1.0], 0.0)]
    """

    def __init__(
        self,
        steps: Sequence[Step],
        outcome: Summary,
        *,
        algorithm: str,
        X: NDArray[np.float64],
        y: NDArray[Any],
        feature_names: Sequence[str],
        row_names: Sequence[str] | None = None,
        convention: str | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.steps = list(steps)
        self.outcome = outcome
        self.algorithm = algorithm
        self.X = X
        self.y = y
        self.feature_names = list(feature_names)
        self.row_names = None if row_names is None else [str(name) for name in row_names]
        self.convention = convention
        self.fit_intercept = fit_intercept

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        return self.steps[index]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __repr__(self) -> str:
        updates = count(self.outcome.updates, "update")
        return f"Trace({self.algorithm}, {updates}, {self.outcome.status.name})"

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in their order; -1 and 1 where all rows are of one of them."""
        found = np.unique(self.y)
        return found if len(found) > 1 else np.array([-1, 1], found.dtype)

    @property
    def has_looks(self) -> bool:
        """Whether looks at rows that changed nothing are steps too: recorded with visits=True."""
        return any(
            now.update == before.update and not now.closing for before, now in pairwise(self.steps)
        )

    # -- out ------------------------------------------------------------------------------

    def narrate(
        self, convention: str | None = None, *, class_names: Sequence[str] | None = None
    ) -> str:
        """The run in words, one line for each step.

        Parameters
        ----------
        convention : {"000", "001", "002", "003", "004"}, optional
            The lecture whose letters and order to use; without it that of the trace, or none.
        class_names : sequence of str, optional
            Names of the classes, in sorted order of the labels, for the first line of a lecture.
        """
        features = count(len(self.feature_names), "feature")
        head = f"{self.algorithm}: {count(len(self.X), 'row')}, {features}"
        way = self.way(convention)
        if way is None:
            lines = [head, *(f"{step.update:>5}  {step.why}" for step in self.steps)]
        else:
            names = self._named(class_names)
            head += f", as in lecture {way.lecture}; {self._classes_of(way, names)}"
            lines = [head, *self._as_in(way)]
        lines.append(f"       {self.outcome.message}")
        return printable("\n".join(lines))

    def sentences(self, convention: str | None = None) -> list[str]:
        """What each step tells, as the lecture writes it."""
        way = self.way(convention)
        if way is None:
            return [step.why for step in self.steps]
        return [" ".join(line[7:].split()) for line in self._as_in(way)]

    def frame(self, convention: str | None = None) -> Any:
        """All steps as a pandas DataFrame, one row a step, weights in the lecture's order."""
        from linsep.errors import require

        pandas = require("pandas", extra="all")
        way = self.way(convention)
        return pandas.DataFrame([_flat(step, self.feature_names, way) for step in self.steps])

    def way(self, convention: str | None = None) -> Convention | None:
        """How the lecture, or without one that of the trace, writes weights; None for none."""
        way = convention_named(self.convention if convention is None else convention)
        shape, d = self.steps[0].coef.shape, len(self.feature_names)
        if way is None or shape == (d,) or (way.stacked and shape == (len(self.classes), d)):
            return way if way is None or self.fit_intercept else way.through_origin()
        many = [key for key, one in CONVENTIONS.items() if one.stacked]
        hint = f" Several are written by lecture {', '.join(many)}." if len(shape) == 2 else ""
        raise SettingError(
            f"convention={way.lecture!r} writes one plane of two classes; this run has none."
            f"{hint} Leave convention out."
        )

    def _named(self, class_names: Sequence[str] | None) -> list[Any]:
        classes = self.classes.tolist()
        if class_names is not None and len(class_names) != len(classes):
            raise SettingError(
                f"class_names has {count(len(class_names), 'name')} for "
                f"{count(len(classes), 'class', 'classes')}: {', '.join(map(repr, classes[:9]))}."
            )
        return classes if class_names is None else list(class_names)

    def _classes_of(self, way: Convention, names: list[Any]) -> str:
        """What the lecture calls the classes: two by their side, more by their number."""
        if len(names) == 2:
            return f"{way.positive} is {names[1]!r}, {way.negative} is {names[0]!r}"
        return ", ".join(f"omega_{k + 1} is {name!r}" for k, name in enumerate(names))

    def _as_in(self, way: Convention) -> list[str]:
        """One line a step: visit, row, value, whether it is wrong, new weights."""
        names = [self._row_name(step) for step in self.steps]
        shown = [self._product(way, step) for step in self.steps]
        width, far = max(map(len, names)), max(map(len, shown))
        lines = []
        made = 0
        for step, name, value in zip(self.steps, names, shown):
            update = self.outcome.t_lup if step.closing else step.update
            told = way.written(update, step.coef, step.intercept)
            if step.closing or step.update == step.visit == 0:
                lines.append(f"       {'kept: ' if step.closing else ''}{told}")
                continue
            word = "" if step.wrong is None else f"misclassified? {'yes' if step.wrong else 'no '}"
            if "log_likelihood" in step.extra:
                told += f"   l(W) = {step.extra['log_likelihood']:.6g}"
            line = f"{step.visit:>5}  {name:<{width}}  {value:<{far}}  {word}".rstrip()
            lines.append(
                f"{line}  {told}" if step.update > made else line
            )  # a look changes nothing
            made = step.update
        return lines

    def _product(self, way: Convention, step: Step) -> str:
        """The value of a row; lecture 004 turns none of them round."""
        if step.value is None or step.row is None:
            return ""
        if step.rival is not None:  # x_ij, the row at its own class and turned round at the other
            pair = [
                int(np.searchsorted(self.classes, c)) + 1 for c in (self.y[step.row], step.rival)
            ]
            comma = "," if max(pair) > 9 else ""
            return f"w.x_{pair[0]}{comma}{pair[1]} = {step.value + 0.0:.6g}"
        positive = way.reflected or self.y[step.row] == self.classes[1]
        return f"{way.product} = {(step.value if positive else -step.value) + 0.0:.6g}"

    def _row_name(self, step: Step) -> str:
        if step.row is None:
            return "" if step.closing or step.update == 0 else "all rows"
        return self.row_names[step.row] if self.row_names else f"row {step.row}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists and numbers."""
        outcome = asdict(self.outcome) | {"status": self.outcome.status.name}
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "algorithm": self.algorithm,
            "feature_names": self.feature_names,
            "row_names": self.row_names,
            "convention": self.convention,
            "fit_intercept": self.fit_intercept,
            "X": self.X.tolist(),
            "y": self.y.tolist(),
            "outcome": outcome,
            "steps": [_plain(step) for step in self.steps],
        }

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON."""
        atomic_write_bytes(path, json.dumps(self.to_dict(), default=_item).encode())

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace that was saved."""
        data = fetch(path)
        with boundary(path, FormatError, "this is not a linsep trace", "record the run again"):
            stored = from_json(data, endless=True)
            head = record(format=scalar, version=scalar)(stored, "")
            if head != {"format": _FORMAT, "version": _VERSION}:
                raise FormatError(
                    f"{path} is a {head['format']!r:.40} of version {head['version']!r:.20}; "
                    f"this linsep reads {_FORMAT} of version {_VERSION}."
                )
            return cls._of(stored)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trace:
        """The trace behind ``to_dict``; FormatError, if it is none."""
        with boundary(
            "the dictionary", FormatError, "this is not a linsep trace", "record it again"
        ):
            return cls._of(data)

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Trace:
        table = record(X=numbers(None, None))(data, "")
        n, d = table["X"].shape
        told = _run(n, d)(data, "")
        y, outcome = told["y"], told["outcome"]
        K = len(np.unique(y))
        made = record(steps=listed(_step(n, d, K)))(data, "")["steps"]
        steps = [Step(**{**step, "errors": tuple(step["errors"])}) for step in made]
        if not steps or len({step.coef.shape for step in steps}) > 1:
            raise Refused("steps", made, "a list of steps with weights of one shape")
        outcome["status"] = Status[outcome["status"]]
        names = {
            key: told[key]
            for key in ("algorithm", "feature_names", "row_names", "convention", "fit_intercept")
        }
        return cls(steps, Summary(**outcome), X=table["X"], y=y, **names)

    def plot(self, **options: Any) -> Any:
        """Draw the run; see ``TraceDisplay``."""
        from linsep.display.trace import TraceDisplay

        return TraceDisplay.from_trace(self, **options)

    def to_html(
        self, convention: str | None = None, *, class_names: Sequence[str] | None = None
    ) -> str:
        """A page that replays the run and needs nothing else, in the words of a lecture.

        class_names stand for the classes in sorted order, as ``table.classes`` does for -1 and 1.
        """
        from linsep.display.replay import replay_page

        return replay_page(self, convention=convention, class_names=class_names)


def _run(n: int, d: int) -> Check:
    """What a trace of n rows and d features holds beside its rows and steps."""
    outcome = record(
        status=word(*Status.__members__), updates=whole(), visits=whole(), seconds=real(0.0),
        message=text, t_lup=maybe(whole()),
    )  # fmt: skip
    return record(
        algorithm=text, feature_names=listed(text, d), row_names=maybe(listed(text, n)), y=_some(n),
        outcome=outcome, convention=maybe(word(*CONVENTIONS)), fit_intercept=truth,
    )  # fmt: skip


def _some(n: int) -> Check:
    def check(value: Any, where: str) -> NDArray[Any]:
        return labels(listed(scalar, n)(value, where), where)

    return check


def _step(n: int, d: int, K: int) -> Check:
    """One step: a plane of d weights, K of them, or none with a kernel."""
    row = whole(0, n - 1)
    coef = either(numbers(d, endless=True), numbers(K, d, endless=True), numbers(0))
    check = record(
        update=whole(), visit=whole(), row=maybe(row), value=maybe(real(endless=True)), coef=coef,
        intercept=either(real(endless=True), numbers(None, endless=True)), errors=listed(row),
        why=text, rival=scalar, extra=mapped(real(endless=True)), wrong=maybe(truth),
        value_after=maybe(real(endless=True)), repeats=maybe(whole()), closing=truth,
    )  # fmt: skip

    def step(value: Any, where: str) -> dict[str, Any]:
        found: dict[str, Any] = check(value, where)
        coef, offset = found["coef"], np.shape(found["intercept"])
        if coef.size and offset != coef.shape[:-1]:  # with a kernel, of classes or pairs of them
            raise Refused(f"{where}.intercept", value, "one number for each plane")
        return found

    return step


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value.tolist()


def _plain(step: Step) -> dict[str, Any]:
    out = {name: getattr(step, name) for name in step.__dataclass_fields__}
    out["coef"] = step.coef.tolist()
    out["intercept"] = np.asarray(step.intercept).tolist()
    out["errors"] = list(step.errors)
    return out


def _flat(step: Step, names: list[str], way: Convention | None = None) -> dict[str, Any]:
    out: dict[str, Any] = {
        "update": step.update if way is None else way.number(step.update),
        "visit": step.visit,
        "row": step.row,
        "value": step.value,
        "wrong": step.wrong,
        "value_after": step.value_after,
        "repeats": step.repeats,
    }
    if way is not None:
        own = way.names(names)
        if step.coef.ndim == 2:
            own = way.names_of_planes(names, len(step.coef))
        out |= dict(zip(own, way.vector(step.coef, step.intercept)))
    elif np.ndim(step.intercept) == 0:
        out["intercept"] = step.intercept
        out |= dict(zip(names, step.coef))
    else:
        for k, offset in enumerate(step.intercept):
            out[f"intercept[{k}]"] = offset
            coef = step.coef[k] if step.coef.size else ()  # none with a kernel
            out |= {f"{name}[{k}]": value for name, value in zip(names, coef)}
    return out | {"n_errors": len(step.errors), "errors": step.errors, **step.extra}
