"""Which column a name in a lift means, and how columns are written in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from linsep.errors import SettingError

__all__ = ["column_texts", "finder"]

_PLACE = re.compile(r"x([1-9][0-9]*)")
_WORD = re.compile(r"[^\W\d]\w*")


def column_texts(names: Sequence[str] | None, n_columns: int) -> list[str]:
    """The columns as a lift writes them: x1, x2, ... or their names, in backticks if need be."""
    if names is None:
        return ["x"] if n_columns == 1 else [f"x{j + 1}" for j in range(n_columns)]
    return [name if _WORD.fullmatch(name) else f"`{name}`" for name in names]


def finder(names: Sequence[str] | None, n_columns: int) -> Callable[[str], int | None]:
    """A function from names to column numbers; None for a name that means nothing.

    The names of a data frame come first. Places x1, x2, ... (and x for a single column) mean
    columns too, unless the frame itself has columns that are called like that.
    """
    own = list(names) if names is not None else []
    places = not any(name == "x" or _PLACE.fullmatch(name) for name in own)

    def find(name: str) -> int | None:
        if name in own:
            if own.count(name) > 1:
                raise SettingError(f"X has two columns called {name!r}; rename one of them.")
            return own.index(name)
        match = _PLACE.fullmatch(name) if places else None
        if match and int(match[1]) <= n_columns:
            return int(match[1]) - 1
        return 0 if places and name == "x" and n_columns == 1 else None

    return find
