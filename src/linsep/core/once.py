"""What is computed from data once and kept with them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Once:
    """Data that never change, and a memory of what was made of them.

    ``once`` is the only way into the memory. A maker is a function of the data alone, so it does
    not matter who asks first; what it makes is never written to.
    """

    _memory: dict[Hashable, tuple[frozenset[str] | None, Any]]

    def once(
        self: Self,
        maker: Callable[Concatenate[Self, P], T],
        /,
        *args: P.args,
        **how: P.kwargs,
    ) -> T:
        """``maker(self, *args, **how)``, made at the first call and kept.

        args belong to what is made and must be hashable; how (threads, memory) does not change
        it. A maker names the data that it reads by ``reads``; else it counts as reading all.
        """
        key = (maker, *args)
        found = self._recall(key)
        if found is None:
            found = (getattr(maker, "_reads", None), maker(self, *args, **how))
            self._memory[key] = found
        value: T = found[1]
        return value

    def knows(self, maker: Callable[..., Any], /, *args: Hashable) -> bool:
        """Whether it has been made already, here."""
        return (maker, *args) in self._memory

    def keep(self, maker: Callable[Concatenate[Self, ...], T], value: T, /) -> None:
        """A value that falls off another one, as ``maker(self)`` would make it."""
        self._memory[(maker,)] = (getattr(maker, "_reads", None), value)

    def forget(self, maker: Callable[..., Any], /) -> None:
        """Give the memory back that a maker takes, whatever its arguments were."""
        for key in [key for key in self._memory if isinstance(key, tuple) and key[0] is maker]:
            del self._memory[key]

    def _recall(self, key: Hashable) -> tuple[frozenset[str] | None, Any] | None:
        return self._memory.get(key)


F = TypeVar("F", bound=Callable[..., Any])


def reads(*parts: str) -> Callable[[F], F]:
    """Mark a maker with the data it reads: copies in which these are the same keep its value."""

    def mark(maker: F) -> F:
        maker._reads = frozenset(parts)  # type: ignore[attr-defined]
        return maker

    return mark
