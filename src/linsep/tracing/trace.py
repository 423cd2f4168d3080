"""A recorded run: one step for each update, with the numbers a lecture would print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from linsep.core.files import atomic_write_bytes
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
    whole,
    word,
)
from linsep.core.sources import boundary, fetch
from linsep.core.status import Status
from linsep.core.words import count
from linsep.errors import FormatError, printable

_FORMAT = "linsep-trace"
_VERSION = 1


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
    ) -> None:
        self.steps = list(steps)
        self.outcome = outcome
        self.algorithm = algorithm
        self.X = X
        self.y = y
        self.feature_names = list(feature_names)
        self.row_names = None if row_names is None else [str(name) for name in row_names]

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
        updates = count(len(self) - 1, "update")
        return f"Trace({self.algorithm}, {updates}, {self.outcome.status.name})"

    # -- out ------------------------------------------------------------------------------

    def narrate(self) -> str:
        """The run in words, one line for each step."""
        features = count(len(self.feature_names), "feature")
        lines = [f"{self.algorithm}: {count(len(self.X), 'row')}, {features}"]
        lines += [f"{step.update:>5}  {step.why}" for step in self.steps]
        lines.append(f"       {self.outcome.message}")
        return printable("\n".join(lines))

    def frame(self) -> Any:
        """All steps as a pandas DataFrame, one row a step."""
        from linsep.errors import require

        pandas = require("pandas", extra="all")
        return pandas.DataFrame([_flat(step, self.feature_names) for step in self.steps])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists and numbers."""
        outcome = asdict(self.outcome) | {"status": self.outcome.status.name}
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "algorithm": self.algorithm,
            "feature_names": self.feature_names,
            "row_names": self.row_names,
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
            return cls.from_dict(stored)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trace:
        """The trace behind ``to_dict``."""
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
        names = {key: told[key] for key in ("algorithm", "feature_names", "row_names")}
        return cls(steps, Summary(**outcome), X=table["X"], y=y, **names)

    def plot(self, **options: Any) -> Any:
        """Draw the run; see ``TraceDisplay``."""
        from linsep.display.trace import TraceDisplay

        return TraceDisplay.from_trace(self, **options)

    def to_html(self) -> str:
        """A page that replays the run and needs nothing else."""
        from linsep.display.replay import replay_page

        return replay_page(self)


def _run(n: int, d: int) -> Check:
    """What a trace of n rows and d features holds beside its rows and steps."""
    outcome = record(
        status=word(*Status.__members__), updates=whole(), visits=whole(), seconds=real(0.0),
        message=text,
    )  # fmt: skip
    return record(
        algorithm=text, feature_names=listed(text, d), row_names=maybe(listed(text, n)), y=_some(n),
        outcome=outcome,
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
        intercept=either(real(endless=True), numbers(K, endless=True)), errors=listed(row),
        why=text, rival=scalar, extra=mapped(real(endless=True)),
    )  # fmt: skip

    def step(value: Any, where: str) -> dict[str, Any]:
        found: dict[str, Any] = check(value, where)
        if (found["coef"].ndim > 1) != isinstance(found["intercept"], np.ndarray):
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


def _flat(step: Step, names: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {
        "update": step.update,
        "visit": step.visit,
        "row": step.row,
        "value": step.value,
    }
    if step.coef.ndim == 1:
        out["intercept"] = step.intercept
        out |= dict(zip(names, step.coef))
    else:
        for k, (coef, offset) in enumerate(zip(step.coef, step.intercept)):
            out[f"intercept[{k}]"] = offset
            out |= {f"{name}[{k}]": value for name, value in zip(names, coef)}
    return out | {"n_errors": len(step.errors), "errors": step.errors, **step.extra}
