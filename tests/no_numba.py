"""A machine without numba: LINSEP_NO_NUMBA=1 makes tests and bits behave as if they ran on one."""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from typing import Any

ASKED = bool(os.environ.get("LINSEP_NO_NUMBA"))


class Nothing(MetaPathFinder):
    """Finds no numba, and lets nobody else look for it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raise what Python raises."""
        if name.split(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def block() -> None:
    """From here on numba cannot be imported."""
    assert not {"numba", "llvmlite"} & set(sys.modules)
    sys.meta_path.insert(0, Nothing())


if ASKED:
    block()
