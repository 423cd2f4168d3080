"""Recorded runs: one step for each update."""

from linsep.tracing.record import trace
from linsep.tracing.trace import Step, Summary, Trace

__all__ = ["Step", "Summary", "Trace", "trace"]
