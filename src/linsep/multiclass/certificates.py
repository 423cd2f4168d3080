"""The certificates of several binary problems, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import Status
from linsep.core.schema import facts
from linsep.core.words import count, percent
from linsep.proofs.again import Checkable

# The first of these that one of the machines ended with is the status of all.
_WORST = [status for status in Status if not status.ok] + [
    Status.BOUND_EXCEEDED, Status.INSEPARABLE, Status.NO_MAXIMUM, Status.ENOUGH,
    Status.CONVERGED, Status.ASSUMED, Status.CERTIFIED, Status.SEPARATED,
]  # fmt: skip


@dataclass(frozen=True)
class Certificates(Checkable):
    """What is proved about all binary problems together; each has its own certificate."""

    problems: int
    """Number of binary problems."""
    proved: int
    """Those with a certificate."""
    errors: tuple[int, ...]
    """Rows on the wrong side, for each problem with a certificate."""
    separated: int
    """Problems whose plane separates their two sides."""
    inseparable: int
    """Problems that are proved to have no separating plane."""
    relative_gap: float | None
    """The largest proved gap, where the machines minimise something."""

    def __str__(self) -> str:
        words = [count(self.problems, "binary problem")]
        if self.proved < self.problems:
            words.append(f"{self.problems - self.proved} of them without a certificate")
        if self.proved:
            words.append(f"{self.separated} separated, {count(sum(self.errors), 'error')} in all")
        if self.inseparable:
            words.append(f"{self.inseparable} proved to have no separating plane")
        if self.relative_gap is not None:
            words.append(f"each within {percent(self.relative_gap, 3)} of its best objective")
        return "; ".join(words)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self) | {"errors": list(self.errors)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The summary behind ``to_dict``."""
        return cls(**facts(cls)(data))


@dataclass(frozen=True)
class Runs:
    """The runs of several machines: their outcomes, and the work of all."""

    parts: tuple[Any, ...]
    stopped: bool = False
    """Whether Ctrl-C kept some machines from being trained."""

    @property
    def passes(self) -> float:
        """Passes over the data, of all machines together."""
        return float(sum(part.passes for part in self.parts))

    @property
    def steps(self) -> int:
        """Steps of all machines."""
        return int(sum(part.steps for part in self.parts))

    @property
    def seconds(self) -> float:
        """Seconds of all machines, which may have run at the same time."""
        return float(sum(part.seconds for part in self.parts))

    @property
    def interrupted(self) -> bool:
        """Whether one of them was stopped."""
        return self.stopped or any(part.interrupted for part in self.parts)


def put_together(certificates: Sequence[Any]) -> Certificates:
    """The summary of certificates, None for those that are missing."""
    known = [c for c in certificates if c is not None]
    errors = tuple(int(np.sum(c.errors)) for c in known if hasattr(c, "errors"))
    found = [getattr(c, "relative_gap", None) for c in known]
    gaps = [float(gap) for gap in found if gap is not None]
    verdicts = [getattr(c, "separable", None) for c in known]
    return Certificates(
        problems=len(certificates),
        proved=len(known),
        errors=errors,
        separated=sum(e == 0 for e in errors),
        inseparable=sum(v is False for v in verdicts),
        relative_gap=max(gaps) if gaps and len(gaps) == len(known) else None,
    )


def renumbered(certificate: Any, index: NDArray[Any] | None) -> Any:
    """The certificate of some of the rows, with their numbers among all rows."""
    if index is None or not is_dataclass(certificate) or isinstance(certificate, type):
        return certificate
    changed: dict[str, Any] = {}
    for name in (field.name for field in fields(certificate)):
        value = getattr(certificate, name)
        if name in ("wrong_rows", "rows"):
            changed[name] = tuple(int(index[row]) for row in value)
        elif is_dataclass(value):
            changed[name] = renumbered(value, index)
    return replace(certificate, **changed)


def worst(machines: Sequence[Any]) -> Status | None:
    """The status that says least; None if a machine of another library has none."""
    found: list[Any] = [getattr(machine, "status_", None) for machine in machines]
    return None if None in found else min(found, key=lambda status: _WORST.index(status))
