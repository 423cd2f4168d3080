"""Public names, read from the stub that type checkers and editors read: one table for both.

A line ``from home import Name as Name`` in ``__init__.pyi`` is all that a public name needs. It is
imported when first used, so that ``import linsep`` and ``linsep --help`` cost next to nothing.
Lines stand under titles such as ``# Estimators``; who needs all of a kind asks for its title.
"""

from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec
from typing import Any


class PublicNames:
    """The names of one package, with their homes.

    Parameters
    ----------
    spec : ModuleSpec
        Of the package; its stub lies beside it.
    """

    def __init__(self, spec: ModuleSpec | None) -> None:
        assert spec is not None and spec.origin is not None and spec.loader is not None
        self.package = spec.name
        self.homes: dict[str, str] = {}
        self.kinds: dict[str, list[str]] = {}
        text: bytes = spec.loader.get_data(spec.origin + "i")  # type: ignore[attr-defined]
        self._read(text.decode("utf-8"))

    def _read(self, text: str) -> None:
        kind: list[str] = []
        for line in text.splitlines():
            if line.startswith("# "):
                kind = self.kinds.setdefault(line[2:].split(":")[0], [])
            elif line.startswith("from "):
                _, home, _, name, *_ = line.split()
                self.homes[name] = home
                kind.append(name)

    def find(self, name: str) -> Any:
        """What a name stands for; modules of the package are names too."""
        home = self.homes.get(name)
        if home is None:
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}")
        if home == self.package:
            return importlib.import_module(f"{home}.{name}")
        return getattr(importlib.import_module(home), name)
