"""``linsep``: parse the command line and call the command.

Nothing heavy is imported here, so that ``linsep --help`` answers at once.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from linsep._leave import leave_at_signals
from linsep._version import __version__
from linsep.core.limits import begin_of_process, clock, keeping_results
from linsep.core.notes import heedless

if TYPE_CHECKING:
    from linsep.errors import LinsepError

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
_EXIT_CODES = """\
exit codes:
  0  done (check: separable)       3  not separable (check only)
  1  data or model error           4  undecided (check only)
  2  wrong usage                 130  interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives back the exit code."""
    begin = begin_of_process() if argv is None else clock()  # to start takes its time, too
    whole = parser()
    args, rest = whole.parse_known_args(argv)
    if rest:
        getattr(args, "own", whole).error(_unknown(rest, args.command))
    args.argv, args.begin = list(sys.argv[1:] if argv is None else argv), begin
    if args.command is None:
        whole.print_help()
        return 0
    _open_closed()
    if argv is None:
        sys.stderr = heedless(sys.stderr)  # what is said on the way never ends the work
    with _quiet_end() if argv is None else nullcontext():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    """The command; what goes wrong in it is a sentence."""
    from linsep.cli.common import folded
    from linsep.errors import LinsepError, SettingError, printable

    command = importlib.import_module(f"linsep.cli.{args.command}")
    try:
        code = int(command.run(args))
        sys.stdout.flush()
        return code
    except LinsepError as error:
        print(folded(printable(f"linsep: {_in_file(error, args)}"), sys.stderr), file=sys.stderr)
        return 2 if isinstance(error, SettingError) else 1
    except BrokenPipeError:  # the reader of a pipe went away, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        if not where and error.errno in _NO_ROOM:  # commands see to their files, with their names
            where = "standard output cannot be written, so the result is not all there: "
        print(printable(f"linsep: {where}{error.strerror or error}"), file=sys.stderr)
        return 1
    except MemoryError:
        print("linsep: there is not enough memory for this; give a part of it", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("linsep: interrupted", file=sys.stderr)
        return 130


def _in_file(error: LinsepError, args: argparse.Namespace) -> str:
    """What is wrong, with the name of the file in which it is: what works on arrays and columns
    does not know where they come from."""
    from linsep.errors import DataError, ProofError

    told = error.for_shell()
    whose = {DataError: "data", ProofError: "model"}
    files = [getattr(args, name, None) for kind, name in whose.items() if isinstance(error, kind)]
    file = files[0] if files else None
    if not file or not os.path.isfile(file) or os.path.basename(file) in told:
        return told
    if any(
        isinstance(given, str) and given and told.startswith(given) for given in vars(args).values()
    ):
        return told  # it is about another file that was given, as one to write to
    return f"{file}: {told}"


def _open_closed() -> None:
    """Streams that whoever started us has closed, where what is written goes nowhere; and letters
    that one cannot show."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # letters that the locale does not have


@contextmanager
def _quiet_end() -> Iterator[None]:
    """Signals outside of runs, such as while modules are imported, end the process at once."""
    ours = leave_at_signals()
    try:
        with keeping_results():
            yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


def parser() -> argparse.ArgumentParser:
    """Of all commands."""
    whole = argparse.ArgumentParser(
        prog="linsep",
        description="Linear classifiers whose every answer comes with its proof.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"linsep {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, entry in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=entry.says,
            epilog="examples:\n" + "".join(f"  linsep {line}\n" for line in entry.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        entry.options(command)
        command.set_defaults(own=command)  # whose usage an error shows
    return whole


def _unknown(rest: list[str], command: str | None) -> str:
    from linsep.errors import printable

    words = f"unrecognized arguments: {printable(' '.join(rest))}"
    if command in ("fit", "trace") and not rest[0].startswith("-"):
        words += f" (one DATA file; the algorithm goes behind -a: linsep {command} DATA -a NAME)"
    return words


class _Command(NamedTuple):
    says: str  # in the list of commands
    options: Callable[[argparse.ArgumentParser], None]
    examples: list[str]  # one after the other, in an empty folder, they run


def _check(command: argparse.ArgumentParser) -> None:
    _data(command)
    _columns(command, weights=False)
    _streamed(command)
    command.add_argument("--no-exact", action="store_true", help="skip rational arithmetic")
    command.add_argument("--time-limit", type=_seconds, metavar="S", help="seconds")
    command.add_argument("--save", metavar="FILE", help="write the proof as JSON")
    command.add_argument(
        "--kernel", metavar="NAME", help="ask it in the feature space of a kernel, such as rbf"
    )
    command.add_argument(
        "-s", "--set", action="append", default=[], metavar="NAME=VALUE",
        help="a parameter of the kernel; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--plane", metavar="FORMULA", help='does this plane separate? such as "2 x1 - x2 >= 2"'
    )


def _fit(command: argparse.ArgumentParser) -> None:
    _data(command)
    _algorithm(
        command,
        None,
        "see linsep algorithms; without it logistic regression, its C chosen by cross-validation",
    )
    _columns(command)
    _streamed(command)
    command.add_argument(
        "--search", metavar="GRID",
        help="settings to choose among by cross-validation, such as C=1e-3..1e3,gamma=0.1/1",
    )  # fmt: skip
    command.add_argument("--cv", type=_folds, metavar="K", help="folds of cross-validation (5)")
    command.add_argument("--test", metavar="FILE", help="count the errors in this file")
    command.add_argument("--holdout", type=_share, metavar="P", help="or on this share of the rows")
    command.add_argument(
        "-o", "--output", metavar="MODEL", help="write the model (.json, .model, .onnx)"
    )
    command.add_argument("--time-limit", type=_seconds, metavar="S", help="seconds")
    command.add_argument("--checkpoint", metavar="FILE", help="write the state there now and then")
    command.add_argument(
        "--checkpoint-every", type=_seconds, metavar="S", help="seconds between two of them (10)"
    )
    command.add_argument("--resume", metavar="FILE", help="go on from a checkpoint")
    command.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def _study(command: argparse.ArgumentParser) -> None:
    _data(command, plane=False)
    _columns(command, weights=False)
    command.add_argument("--cv", type=_folds, metavar="K", help="folds of cross-validation (5)")
    command.add_argument(
        "--time-limit", type=_seconds, default=60.0, metavar="S", help="seconds for all of it (60)"
    )
    command.add_argument(
        "--memory", type=_cost, metavar="MB", help="megabytes that one family may need"
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of folds and families (0)"
    )
    command.add_argument("--html", metavar="FILE", help="write the report, one page for a browser")
    command.add_argument("--code", metavar="FILE", help="write Python that gives the same digits")
    command.add_argument("-o", "--output", metavar="MODEL", help="write the best model (.json)")
    command.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def _predict(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL")
    _data(command, labels=False)
    _streamed(command)
    command.add_argument(
        "--threshold", type=_share, metavar="P", help="probability from which a row is positive"
    )
    command.add_argument("--scores", action="store_true", help="scores beside the classes")
    command.add_argument("--proba", action="store_true", help="probabilities beside the classes")
    command.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")


def _verify(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL_OR_PROOF")
    _data(command)
    _columns(command, weights=False)
    _streamed(command)
    command.add_argument("--weights", metavar="COLUMN", help="weights of rows, as fit was given")
    command.add_argument(
        "--C", type=_cost, metavar="C", help="cost that LIBLINEAR or LIBSVM was given"
    )
    command.add_argument(
        "--standalone", action=_Program, nargs=0,
        help="print a program that checks proofs and models without linsep, and end",
    )  # fmt: skip


class _Program(argparse.Action):
    """Prints the checker that needs Python alone."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.resources import files

        print(files("linsep.proofs").joinpath("standalone.py").read_text("utf-8"), end="")
        parser.exit()


def _certify(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="of linsep, LIBLINEAR, LIBSVM, SVMlight")
    _data(command)
    _streamed(command)
    command.add_argument("--weights", metavar="COLUMN", help="weights of rows, as fit was given")
    command.add_argument(
        "--C", type=_cost, metavar="C", help="cost that LIBLINEAR or LIBSVM was given"
    )
    command.add_argument(
        "--time-limit", type=_seconds, default=10.0, metavar="S",
        help="seconds for the search of a better bound (10)",
    )  # fmt: skip


def _explain(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL")
    _data(command, labels=False)
    command.add_argument("--row", default="1", metavar="N", help="its number from 1, or its name")


def _plot(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL")
    _data(command)
    command.add_argument("--features", metavar="A,B", help="the two columns to draw")
    command.add_argument(
        "-o", "--output", default="plot.png", metavar="FILE", help=".png, .svg, .pdf (plot.png)"
    )


def _convert(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="of linsep, LIBLINEAR, LIBSVM or SVMlight")
    command.add_argument("output", metavar="OUT", help="the new file (.json, .model, .onnx)")
    command.add_argument(
        "--format",
        choices=("json", "liblinear", "libsvm", "svmlight", "onnx"),
        help="whose file OUT becomes, whatever its name; else .json is linsep's and .model that of "
        "LIBLINEAR for linear models, of LIBSVM for machines with support vectors, .onnx ONNX",
    )
    command.add_argument("--json", action="store_true", help="JSON on stdout")


def _scale(command: argparse.ArgumentParser) -> None:
    _data(command, labels=False)
    command.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    command.add_argument("-l", "--lower", type=float, metavar="X", help="lower end (-1)")
    command.add_argument("-u", "--upper", type=float, metavar="X", help="upper end (1)")
    command.add_argument("-s", "--save", metavar="FILE", help="write the ranges there")
    command.add_argument("-r", "--restore", metavar="FILE", help="take the ranges from there")


def _trace(command: argparse.ArgumentParser) -> None:
    _data(command)
    _columns(command, weights=False)
    _algorithm(command)
    command.add_argument("--max-steps", type=_whole, metavar="N", help="updates to show")
    command.add_argument(
        "--visits", action="store_true", help="every look at a row, not only updates"
    )
    command.add_argument(
        "--convention",
        choices=("000", "001", "002", "003", "004"),
        help="as this lecture prints it",
    )
    command.add_argument("--save", metavar="FILE", help="write the trace as JSON")
    command.add_argument("--html", metavar="FILE", help="write a page that replays the run")


def _completions(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
    command.add_argument("--json", action="store_true", help="JSON on stdout")


def _lab(command: argparse.ArgumentParser) -> None:
    _data(command, labels=False, needed=False)
    command.add_argument("--positive", metavar="LABEL", help="this class against all others")
    command.add_argument(
        "-a", "--algorithm", metavar="NAME", help="method to begin with (perceptron)"
    )
    command.add_argument("--port", type=_port, default=0, metavar="N", help="(any that is free)")
    command.add_argument("--no-browser", action="store_true", help="only print the address")


def _algorithms(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", help="show the settings of this one")
    command.add_argument("--json", action="store_true", help="JSON on stdout")


_FIT = "fit mse-1 -a linear-svm -o model.json"  # what others show needs a model
_COMMANDS = {
    "check": _Command(
        "are the classes separable? with a proof either way",
        _check,
        ["check students --save proof.json", "check xor --kernel poly -s degree=2"],
    ),
    "fit": _Command(
        "train a classifier and certify it",
        _fit,
        [_FIT, "fit five-points -a perceptron -s keep=pocket"],
    ),
    "study": _Command(
        "every family of models on one table: a ranked list, a page, a model",
        _study,
        [
            "study mse-1 --time-limit 10 --html study.html",
            "study five-points --time-limit 10 --cv 2 --code again.py",
        ],
    ),
    "predict": _Command(
        "classes of the rows of a file, one a line",
        _predict,
        [_FIT, "predict model.json mse-1 --scores"],
    ),
    "verify": _Command(
        "check a model or a proof against data, trusting neither",
        _verify,
        [_FIT, "verify model.json mse-1"],
    ),
    "certify": _Command(
        "how far a model is from the best one of its objective, proved anew",
        _certify,
        [_FIT, "certify model.json mse-1"],
    ),
    "explain": _Command(
        "one prediction as a sum of weight x value",
        _explain,
        [_FIT, "explain model.json mse-1 --row 3"],
    ),
    "plot": _Command(
        "a picture of a model among the rows of a file",
        _plot,
        [_FIT, "plot model.json mse-1 -o mse.svg"],
    ),
    "convert": _Command(
        "a model file of one system as another's",
        _convert,
        [_FIT, "convert model.json mse.model"],
    ),
    "scale": _Command(
        "columns moved into one range, as svm-scale does",
        _scale,
        ["scale mse-1 -s mse.range", "scale mse-1 -r mse.range -o scaled.svm"],
    ),
    "trace": _Command(
        "every update of a training run",
        _trace,
        ["trace students --visits", "trace students -a kozinec --html run.html"],
    ),
    "completions": _Command(
        "commands and options for the Tab key",
        _completions,
        ["completions bash", "completions fish"],
    ),
    "lab": _Command(
        "see every method move, in a browser of this machine",
        _lab,
        ["lab students", "lab five-points -a kozinec --no-browser"],
    ),
    "algorithms": _Command(
        "the algorithms and their settings",
        _algorithms,
        ["algorithms", "algorithms linear-svm"],
    ),
}


def _data(
    parser: argparse.ArgumentParser, *, labels: bool = True, plane: bool = True, needed: bool = True
) -> None:
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs=None if needed else "?",
        help=".csv, .tsv, .svm, .libsvm, .svmlight, .parquet, .arrow, .npz, also .gz and .bz2; "
        "or the name of a bundled set such as students; - is standard input",
    )
    parser.add_argument("--target", metavar="COLUMN", help="name or number (from 0) of the labels")
    parser.add_argument("--names", metavar="COLUMN", help="name or number of the names of rows")
    parser.add_argument("--no-header", action="store_true", help="the first line holds no titles")
    parser.add_argument("--delimiter", metavar="C", help="between the cells of a text table")
    parser.add_argument("--encoding", metavar="NAME", help="of the text, such as latin-1")
    parser.add_argument("--json", action="store_true", help="JSON on stdout")
    if labels:
        parser.add_argument("--positive", metavar="LABEL", help="this class against all others")
    if not plane:
        return
    parser.add_argument("--drop-missing", action="store_true", help="leave out rows with gaps")
    if labels:
        parser.add_argument(
            "--lift", metavar="TEXT", help='features to use instead, such as "x1, x2, (x1-x2)**2"'
        )
        parser.add_argument("--no-intercept", action="store_true", help="planes through the origin")


def _algorithm(
    parser: argparse.ArgumentParser,
    default: str | None = "perceptron",
    words: str = "see linsep algorithms (perceptron)",
) -> None:
    parser.add_argument("-a", "--algorithm", default=default, help=words)
    parser.add_argument(
        "-s",
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the algorithm; may be repeated",
    )


def _columns(parser: argparse.ArgumentParser, *, weights: bool = True) -> None:
    parser.add_argument(
        "--drop", action="append", metavar="COLUMNS", help="leave them out; commas between names"
    )
    parser.add_argument(
        "--role",
        action="append",
        metavar="COLUMN=ROLE",
        help="take it for a number, category, date, text, identifier; may be repeated",
    )
    parser.add_argument("--decimal", choices=(".", ","), help="decimal mark of numbers in text")
    if not weights:
        return
    parser.add_argument("--weights", metavar="COLUMN", help="weights of the rows")
    parser.add_argument(
        "--scale",
        action=argparse.BooleanOptionalAction,
        help="numbers in standard deviations from their mean (with -a: only if asked)",
    )


def _streamed(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "data larger than memory",
        "DATA may be a pattern in quotes, such as 'data/*.parquet', or a folder; it is\n"
        "then read part by part, and so is a file with one of these options.",
    )
    group.add_argument("--memory", metavar="SIZE", help="of the rows being read (256MB)")
    group.add_argument("--workers", type=_count, metavar="N", help="threads that read (all cores)")
    group.add_argument("--cluster", metavar="ADDRESS", help="of a Dask scheduler")
    group.add_argument(
        "--patience", type=_seconds, metavar="S",
        help="seconds without workers after which a cluster is lost (60)",
    )  # fmt: skip


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of threads >= 1")
    return value


def _folds(text: str) -> int:
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f"{text} is no number of folds >= 2")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no share between 0 and 1")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return value


def _cost(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is no cost > 0")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port from 0 to 65535")
    return value


def _whole(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of updates")
    return value


if __name__ == "__main__":
    sys.exit(main())
