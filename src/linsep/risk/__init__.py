"""Bounds and risks."""

from linsep.risk.novikoff import NovikoffBound, novikoff_bound

__all__ = ["NovikoffBound", "novikoff_bound"]
