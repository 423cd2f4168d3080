"""Public names, read from the stub that type checkers and editors read: one table for both.

A line ``from home import Name as Name`` in ``__init__.pyi`` is all that a public name needs. It is
imported when first used, so that ``import linsep`` and ``linsep --help`` cost next to nothing.
Lines stand under titles such as ``# Estimators``; who needs all of a kind asks for its title.

Threads may ask for different names at once. Python has a lock for every module, and takes that of
``package.module`` before that of ``package``; a package that imports its modules while it is itself
imported takes them the other way round, and two threads are in each other's way. So no package of
linsep does, and names are looked up by one thread at a time. For the same reason the modules of
linsep import from each other's homes, never through the names here.
"""

from __future__ import annotations

import importlib
import sys
import threading
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_lock = threading.RLock()  # the import of one name may ask for another


class PublicNames:
    """The names of one package, with their homes; makes it look them up.

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
        package = sys.modules[spec.name]
        package.PUBLIC = self  # type: ignore[attr-defined]
        package.__class__ = _Package

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
        with _lock:
            if home == self.package:
                return importlib.import_module(f"{home}.{name}")
            return getattr(importlib.import_module(home), name)


class _Package(ModuleType):
    """A package whose public names are imported when first used."""

    PUBLIC: PublicNames

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = self.PUBLIC.find(name)  # the next time it is found at once
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        """Importing ``package.name`` sets an attribute, which must not hide a public name."""
        if not isinstance(value, ModuleType) or self._is_module(name):
            super().__setattr__(name, value)

    def _is_module(self, name: str) -> bool:
        return self.PUBLIC.homes.get(name, self.__name__) == self.__name__

    def __reduce__(self) -> tuple[Any, ...]:
        """As pickle of functions that name it (cloudpickle) knows plain modules alone."""
        return importlib.import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)
