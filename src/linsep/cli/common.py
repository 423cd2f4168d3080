"""What the commands share: reading data, choosing an algorithm, writing results."""

from __future__ import annotations

import ast
import difflib
import json
import math
import os
import re
import shutil
import sys
import tempfile
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

import linsep
from linsep import PUBLIC
from linsep.core.files import check_writable
from linsep.core.limits import Interrupts
from linsep.core.protocol import Predictor
from linsep.core.sources import STDIN
from linsep.core.words import count
from linsep.data.lectures import available, load
from linsep.data.read import read
from linsep.data.table import Table
from linsep.errors import DataError, LinsepError, ModelError, SettingError, printable


def command_name(estimator: str) -> str:
    """The name of a class on the command line.

    >>> command_name("LinearSVM"), command_name("OneVsRest"), command_name("GaussianClassifier")
    ('linear-svm', 'one-vs-rest', 'gaussian')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", estimator.removesuffix("Classifier"))
    return words.lower()


ALGORITHMS = {command_name(name): name for name in PUBLIC.kinds["Estimators"]}
"""Names on the command line, and the classes."""


def what_it_is(estimator: str) -> str:
    """The first sentence of a class, read from its file: importing all of them takes seconds."""
    home = Path(linsep.__file__).parents[1].joinpath(*PUBLIC.homes[estimator].split("."))
    text = home.with_suffix(".py").read_text(encoding="utf-8")
    found = re.search(rf'^class {estimator}\b.*?"""(.*?)\.?$', text, re.MULTILINE | re.DOTALL)
    words = found[1].removeprefix(f"{estimator}: ") if found else ""
    return words[:1].upper() + words[1:]


def table(args: Namespace, *, reader: Callable[..., Table] = read, **options: Any) -> Table:
    """The data named on the command line: a file, or a bundled set."""
    target = number_or_name(args.target)
    if not Path(args.data).exists() and args.data in available():
        return load(args.data)
    if args.drop_missing:
        options["missing"] = "drop"
    options |= {"names": number_or_name(args.names), "header": False if args.no_header else None}
    options |= {"delimiter": args.delimiter, "encoding": args.encoding}
    data = reader(args.data, target=options.pop("target", target), **options)
    if data.notes:
        narrate(data.notes)
    return data


def numbers_of(args: Namespace, *, mend: bool = False) -> tuple[Any, Table]:
    """The numbers of DATA, and the columns that they come from, None if they are numbers.

    A table of numbers with a gap or a damaged cell is an error; with ``mend`` its columns say what
    becomes of them, as a model does that keeps them.
    """
    if args.data != STDIN and not Path(args.data).exists():
        return None, table(args, positive=args.positive)
    from linsep.cli.columns import prepared

    return prepared(args, mend=mend)


def number_or_name(column: str | None) -> str | int | None:
    """A column as the command line names it."""
    return int(column) if column is not None and column.isdigit() else column


def algorithm_name(asked: str) -> str:
    """The name as the table has it, or an error with the names that are near."""
    name = asked.lower()
    classes = {cls.lower(): known for known, cls in ALGORITHMS.items()}
    if name in ALGORITHMS or name in classes:  # LinearSVM is linear-svm
        return classes.get(name, name)
    near = [known for known in ALGORITHMS if name in known.split("-")]
    near = near or difflib.get_close_matches(name, ALGORITHMS, 1)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise SettingError(f"there is no algorithm {asked!r}; {hint}known: {', '.join(ALGORITHMS)}.")


def estimator(args: Namespace, **settings: Any) -> Any:
    """An estimator of the algorithm and the settings named on the command line."""
    name = algorithm_name(args.algorithm)
    cls = getattr(linsep, ALGORITHMS[name])
    known = cls().get_params()
    inside: dict[str, Any] = {}
    for item in args.set:
        key, sep, text = item.partition("=")
        if "estimator" in known and sep and key.startswith("estimator__"):
            inside[key] = literal(text)
            continue
        if not sep or key not in known:
            what = "has no '='" if not sep else f"is no setting of {name}"
            raise SettingError(f"--set {item}: {key!r} {what}; known: {', '.join(sorted(known))}.")
        settings[key] = literal(text)
    if "estimator" in known:
        return _scheme(cls, known, settings, inside, bare=getattr(args, "no_intercept", False))
    if getattr(args, "no_intercept", False):
        settings["fit_intercept"] = False
    for key in [key for key in settings if key not in known]:
        if key not in ("verbose", "callbacks") or (key == "callbacks" and settings[key]):
            raise SettingError(f"{name} has no {_OPTIONS[key]}: {_NO_RUN}.")
        del settings[key]  # a closed form has no run to watch
    return cls(**settings)


def kernel_parameters(args: Namespace) -> dict[str, Any]:
    """The parameters of the kernel that --kernel names, from --set."""
    given = {}
    for item in args.set:
        key, sep, text = item.partition("=")
        if not sep or args.kernel is None:
            what = "has no '='" if not sep else "is a parameter of a kernel"
            raise SettingError(f"--set {item} {what}; such as --kernel rbf --set gamma=0.5.")
        given[key] = literal(text)
    return given


def _scheme(
    cls: Any, known: dict[str, Any], settings: dict[str, Any], inside: dict[str, Any], *, bare: bool
) -> Any:
    """A scheme for many classes around the algorithm that --set estimator=NAME names."""
    inner = settings.pop("estimator", None)
    if inner is not None and inner not in ALGORITHMS:
        raise SettingError(f"--set estimator={inner}: known are {', '.join(ALGORITHMS)}.")
    if settings.pop("callbacks", None):
        raise SettingError("schemes for many classes have no --checkpoint and --resume.")
    settings.pop("verbose", None)
    own = {key: value for key, value in settings.items() if key in known}
    made = cls(**own)
    made.estimator = made._default() if inner is None else getattr(linsep, ALGORITHMS[inner])()
    if "time_limit" in settings:
        inside["estimator__time_limit"] = settings["time_limit"]
    if bare:
        inside["fit_intercept" if "fit_intercept" in known else "estimator__fit_intercept"] = False
    try:
        return made.set_params(**inside)
    except ValueError as error:
        raise SettingError(f"--set: {error}") from error


_OPTIONS = {
    "callbacks": "--checkpoint and --resume",
    "time_limit": "--time-limit",
    "fit_intercept": "--no-intercept",
}
_NO_RUN = "its answer has a closed form"


def literal(text: str) -> Any:
    """A Python literal if it is one (numbers, None, True, tuples), else the text itself."""
    if text in ("inf", "-inf"):
        return float(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def require_writable(*paths: str | None, read: Sequence[str | None] = ()) -> None:
    """Before the work begins: refuse outputs that could not be written at its end.

    And those that are read, too: a slip of the keyboard must not put a proof in place of the data.
    """
    for path in paths:
        if path is None:
            continue
        if not path:
            raise DataError("the name of an output is empty; give the name of a file.")
        if any(other and _same_file(path, other) for other in read):
            raise DataError(f"{path} is read by this command; write to another file.")
        try:
            check_writable(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise DataError(
                f"{path} cannot be written: there is no such folder; create it first."
            ) from error
        except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
            raise DataError(
                f"{path} cannot be written: {_why(error)}; choose another place."
            ) from error


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.isfile(one) and os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def kept(path: str, write: Callable[[str], None], what: str, then: str = "") -> bool:
    """Write a result; where that fails, to another place, so that the work is not lost.

    What is written is named on stderr, then what to do next. False if it is not where it was
    wanted.
    """
    with Interrupts():  # work that is done is kept: the first signal does not end the writing
        try:
            write(path)
            narrate(f"{what} written to {path}{then}")
            return True
        except (OSError, ModelError) as error:
            if isinstance(error, ModelError) and not isinstance(error.__cause__, OSError):
                raise  # no place would help
            narrate(f"linsep: {path} cannot be written: {_why(error)}.")
        for folder in _other_places():
            other = os.path.join(folder, f"linsep-{os.getpid()}-{Path(path).name}")
            with suppress(OSError, ModelError):
                write(other)
                narrate(f"{what} written to {other} instead")
                return False
    narrate(f"no other place was found for the {what} either; what is printed is all there is")
    return False


def kept_model(path: str, model: object) -> bool:
    """Write a model; one that the format of the file cannot hold goes beside it as JSON."""
    from linsep.formats import save

    try:
        return kept(path, lambda place: save(model, place), "model")
    except LinsepError as error:
        narrate(f"linsep: {error.for_shell()}")
    if Path(path).suffix.lower() == ".json":
        narrate("no model was written; what is printed is all there is")
        return False
    other = f"{path}.json"
    if os.path.lexists(other):  # another one's
        other = f"{path}-{os.getpid()}.json"
    with suppress(LinsepError):
        kept(other, lambda place: save(model, place), "model")
    return False


def _other_places() -> Iterator[str]:
    """Folders of temporary files, then the home of the user: those that there are."""
    for place in (tempfile.gettempdir, Path.home):
        with suppress(OSError, RuntimeError):  # none can be written; nobody's home
            yield str(place())


def _why(error: Exception) -> str:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    return str(getattr(cause, "strerror", None) or cause)


def names(data: Table) -> list[str] | None:
    """Feature names as a list."""
    return None if data.feature_names is None else list(data.feature_names)


def framed(data: Table) -> Any:
    """X with its column names, where it has any: a DataFrame if pandas is there."""
    if data.feature_names is None or not isinstance(data.X, np.ndarray):
        return data.X
    try:
        import pandas
    except ImportError:
        return data.X
    return pandas.DataFrame(data.X, columns=names(data))


def emit(result: dict[str, Any] | str, *, as_json: bool) -> None:
    """The result, on stdout."""
    if as_json:
        print(json.dumps(finite(result), default=_plain, allow_nan=False))
    else:
        print(folded(printable(str(result)), sys.stdout))


def finite(value: Any) -> Any:
    """The same with None for what JSON has no number for: NaN and infinity."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, np.generic | np.ndarray):
        return finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def narrate(text: str) -> None:
    """What was done and found on the way, on stderr."""
    print(folded(printable(text), sys.stderr), file=sys.stderr)


def _plain(value: Any) -> str:
    return str(value)


def in_order(model: object, data: Table) -> Table:
    """The columns in the order of the model, by their names where both have names."""
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None or data.feature_names is None or list(wanted) == list(data.feature_names):
        return data
    places = {name: j for j, name in enumerate(data.feature_names)}
    absent = [name for name in wanted if name not in places]
    if absent:
        raise ModelError(
            f"{data.source} has no column {absent[0]!r}, which the model was trained on; it has "
            f"{', '.join(map(repr, data.feature_names[:8]))}."
        )
    narrate("columns put into the order of the model, by their names")
    columns = [places[name] for name in wanted]
    return replace(data, X=data.X[:, columns], feature_names=tuple(map(str, wanted)))


def as_known(labels: NDArray[Any], classes: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """Labels of a file as texts, as the classes are written, and what was taken for what.

    >>> as_known(np.array([">50K.", "<=50K."]), np.array(["<=50K", ">50K"]))[1]
    ["labels are written otherwise: '<=50K.' is taken for '<=50K', '>50K.' for '>50K'"]
    """
    given, known = labels.astype(str), [str(one) for one in classes.tolist()]
    plain = {_bare(one): one for one in known}
    strange = sorted(set(given.tolist()) - set(known))
    same = {one: plain[_bare(one)] for one in strange if _bare(one) in plain}
    if not same or len(plain) < len(known):
        return given, []
    first, *more = [(one, match) for one, match in list(same.items())[:3]]
    told = "".join(f", {one!r} for {match!r}" for one, match in more)
    words = f"labels are written otherwise: {first[0]!r} is taken for {first[1]!r}{told}"
    return np.array([same.get(one, one) for one in given.tolist()]), [words]


def _bare(label: str) -> str:
    """A label without what differs between files: letter case, blanks, a point; 1.0 is 1."""
    text = label.strip().rstrip(".").casefold()
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def some(names: Sequence[str]) -> str:
    """The first of some names."""
    return ", ".join(map(repr, names[:3])) + (" ..." if len(names) > 3 else "")


def fitted_to(model: object, data: Table) -> Any:
    """The model for rows of this width: a file of LIBSVM leaves out features that are all zero."""
    return model.widened(data.X.shape[1]) if hasattr(model, "widened") else model


def check_features(model: Predictor, data: Table) -> None:
    """Refuse data of another width than the model's."""
    if data.X.shape[1] != model.n_features_in_:
        raise DataError(
            f"{data.source or 'the table'} has {count(data.X.shape[1], 'feature')}; the model was "
            "trained "
            f"on {model.n_features_in_}. Give data with the same columns."
        )


# -- Long lines for people: folded between words on a terminal, left alone in a pipe --------------


_NARROWEST, _WIDEST = 40, 100  # columns that a line is folded to


def folded(text: str, stream: TextIO) -> str:
    """The text as it should be printed there: a program reads one sentence a line."""
    if not stream.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return fold(text, min(max(columns, _NARROWEST), _WIDEST))


def fold(text: str, width: int) -> str:
    """Lines of at most so many columns; what follows in a paragraph is indented.

    >>> print(fold("  a line of several words", 16))
      a line of
        several words
    """
    return "\n".join(_line(line, width) for line in text.split("\n"))


def _line(line: str, width: int) -> str:
    if len(line) <= width or ": linsep " in line:  # a command to be copied stays whole
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        line,
        width,
        subsequent_indent=indent,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
