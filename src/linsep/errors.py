"""Every error and warning that linsep raises on purpose.

    LinsepError
    ├── DataError (ValueError)          the numbers: NaN, inf, wrong shape, no rows
    │   ├── LabelError                  the labels: one class, wrong length, NaN
    │   └── FormatError                 a file: path:line:column and what is wrong there
    ├── SettingError (ValueError)       a parameter: its name, the value got, what is allowed
    ├── ModelError (ValueError)         a model that does not fit the data or cannot be read
    ├── CheckpointError (ValueError)    a checkpoint of other data, other settings, or a broken file
    ├── ProofError (ValueError)         a stored proof that does not prove what it says
    ├── CapabilityError (TypeError)     a solver asked for something the problem does not offer
    ├── ClusterError (RuntimeError)     workers that are gone, or have another version
    ├── OutOfMemoryError (MemoryError)  what was wanted, and what there is
    └── MissingExtraError (ImportError) an optional package is not installed

    LinsepWarning (UserWarning)
    ├── CostWarning                     a fit that will take long, and the cheaper route
    ├── DegenerateWarning               an estimate does not exist and was made up
    ├── EmptyRegionWarning              a class of a linear machine that is never predicted
    ├── GapWarning                      a fit ended before the gap was as small as asked; it is
    │                                   scikit-learn's ConvergenceWarning too
    ├── NoMaximumWarning                the likelihood has no maximum: (quasi-)separable data
    ├── NotPositiveWarning              a kernel that is not positive semidefinite
    └── NotSeparatedWarning             a fit ended without an answer

A message says what is wrong, names the value and its place, and says what to do.

>>> import linsep
>>> try:
...     linsep.separability([[1.0], [2.0]], ["a", "a"])
... except linsep.errors.LinsepError as error:
...     print(error)
y has one class ('a'); a separating hyperplane needs two.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

# Control characters but for line breaks and tabs, marks that turn the direction of writing, and
# halves of characters, which no terminal can print.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """A text as it may be printed: what a terminal would obey is shown, names may hold it.

    >>> printable("class \x1b[31mred")
    'class \\\\x1b[31mred'
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


_LONGEST_WORD, _LONGEST = 500, 4000  # characters of a word and of a message
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD},}}")


def message_of(text: str) -> str:
    """A message as people can read it: a file may hold cells and names of any length.

    >>> len(message_of(f"'{'9' * 10**6}' is no label"))
    125
    """
    text = _LONG_WORD.sub(lambda word: f"{word[0][:80]}...{word[0][-30:]}", text)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 500]} ... {text[-400:]}"
    return printable(text)


class LinsepError(Exception):
    """Base of all errors below; ``except LinsepError`` catches what linsep raises on purpose.

    ``options`` has the parts of the message that name a Python argument, each with what to type
    on the command line instead.

    Examples
    --------
    >>> from linsep.errors import LinsepError
    >>> error = LinsepError("give target='grade'.", options={"target='grade'": "--target grade"})
    >>> error.for_shell()
    'give --target grade.'
    """

    def __init__(self, *args: object, options: Mapping[str, str] | None = None) -> None:
        super().__init__(*args)
        self.options = dict(options or {})

    def __str__(self) -> str:
        return message_of(super().__str__())

    def for_shell(self) -> str:
        """The message in the words of the command line."""
        message = str(self)
        for python, option in self.options.items():
            message = message.replace(python, option)
        return message


class DataError(LinsepError, ValueError):
    """The numbers cannot be used: NaN, infinity, a wrong shape, no rows."""


class LabelError(DataError):
    """The labels cannot be used: one class, a wrong length, a missing label."""


class FormatError(DataError):
    """A file cannot be read; the message starts with path:line:column."""


class SettingError(LinsepError, ValueError):
    """A parameter has a value that is not allowed."""


class ModelError(LinsepError, ValueError):
    """A model does not fit the data, or a model file cannot be read."""


class CheckpointError(LinsepError, ValueError):
    """A checkpoint belongs to other data or other settings, or is damaged."""


class ProofError(LinsepError, ValueError):
    """A stored proof does not prove what it says about these data."""


class CapabilityError(LinsepError, TypeError):
    """A solver needs something that the problem does not offer."""


class ClusterError(LinsepError, RuntimeError):
    """The workers of a cluster are gone, or have another version of linsep."""


class OutOfMemoryError(LinsepError, MemoryError):
    """The work needs more memory than there is."""


class MissingExtraError(LinsepError, ImportError):
    """An optional package is not installed."""


class LinsepWarning(UserWarning):
    """Base of the warnings below."""

    def __str__(self) -> str:
        return message_of(super().__str__())


class CostWarning(LinsepWarning):
    """A fit is about to take long; the message says what it costs and what is cheaper."""


class DegenerateWarning(LinsepWarning):
    """A covariance was singular, so the estimate needed something added, which is named."""


class EmptyRegionWarning(LinsepWarning):
    """A class has nowhere the largest score, so it is never predicted."""


class NoMaximumWarning(LinsepWarning):
    """The likelihood has no maximum, since a plane has no row strictly on its wrong side."""


class NotPositiveWarning(LinsepWarning):
    """A kernel is not positive semidefinite, so a fit can only end in a stationary point."""


class NotSeparatedWarning(LinsepWarning):
    """A fit ended without separating the rows and without a proof that nothing can."""


GapWarning: type[LinsepWarning]  # made when first asked for: importing scikit-learn takes a second

if not TYPE_CHECKING:  # else every name would exist

    def __getattr__(name: str) -> type[LinsepWarning]:
        if name != "GapWarning":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from sklearn.exceptions import ConvergenceWarning

        class GapWarning(LinsepWarning, ConvergenceWarning):
            """A fit ended before the proved gap was as small as asked for."""

            __qualname__ = "GapWarning"

        found: type[LinsepWarning] = globals().setdefault(
            name, GapWarning
        )  # one, of two threads too
        return found


def require(package: str, *, extra: str, what: str = "this") -> ModuleType:
    """Import an optional package, or say which line to type and what for."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs the package {package}: pip install 'linsep[{extra}]'"
        ) from error
