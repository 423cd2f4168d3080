"""Why a run stands where it stands: each value is the sentence the user reads."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """State of a run; ``status.ok`` is true when the run ended with an answer."""

    READY = "ready to start"
    RUNNING = "still running"
    SEPARATED = "every row is on its own side of the plane"
    CERTIFIED = "the answer is proved to be within the tolerance of the best possible one"
    ASSUMED = (
        "the answer is within the tolerance of the best possible one if the kernel is positive "
        "semidefinite, which is assumed and not proved"
    )
    CONVERGED = "the method has converged"
    INSEPARABLE = (
        "no hyperplane separates the classes; the rows and multipliers that prove it are given"
    )
    NO_MAXIMUM = (
        "the likelihood has no maximum: along a direction that is given it grows for ever; "
        "the weights given are finite and their likelihood is close to the supremum"
    )
    BOUND_EXCEEDED = (
        "more updates were made than the Novikoff bound allows: "
        "no hyperplane separates the classes with the margin asked for"
    )
    CYCLE = (
        "the weights returned to an earlier state, so the run would repeat for ever; "
        "rounding keeps this from being a proof that the classes are not separable"
    )
    LIMIT_CYCLE = (
        "the weights go round and round a limit cycle: with a rate that stays constant, steps "
        "of one row never come to rest at the minimum"
    )
    EPS_TOO_LARGE = (
        "the margin is known to within eps, but eps is too large: the plane does not separate"
    )
    BOUNDARY = "no row is on the wrong side, but some lie exactly on the plane"
    ENOUGH = "the weights kept make no more errors than were asked for"
    PATIENCE = "no better weights were found for as long as patience allows"
    STALLED = "rounding allows no further progress"
    DIVERGED = "the numbers grew without bound"
    STEP_LIMIT = "the limit on steps was reached before an answer"
    TIME_LIMIT = "the time limit was reached before an answer"
    STOPPED = "stopped on request before an answer"
    CLUSTER_LOST = "the workers of the cluster were gone before an answer"

    @property
    def ok(self) -> bool:
        """True when the run ended with an answer rather than with a limit."""
        return self in _ANSWERS

    @property
    def done(self) -> bool:
        """True when no further step will be taken."""
        return self not in (Status.READY, Status.RUNNING)


_ANSWERS = frozenset(
    {
        Status.SEPARATED,
        Status.CERTIFIED,
        Status.ASSUMED,
        Status.CONVERGED,
        Status.ENOUGH,
        Status.INSEPARABLE,
        Status.NO_MAXIMUM,
        Status.BOUND_EXCEEDED,
    }
)
