"""Hypothesis draws the same examples in every run; LINSEP_FUZZ=N draws N new ones instead."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.register_profile(
    "fuzz", max_examples=int(os.environ.get("LINSEP_FUZZ", "100")), deadline=None
)
settings.load_profile("fuzz" if "LINSEP_FUZZ" in os.environ else "steady")
