"""``linsep study``: every family of models on one table."""

from __future__ import annotations

import math
from argparse import Namespace
from pathlib import Path
from typing import Any

from linsep.cli.columns import asked_roles
from linsep.cli.common import emit, kept, kept_model, narrate, number_or_name, require_writable
from linsep.core.files import atomic_write_bytes
from linsep.core.limits import Interrupts, clock, time_limit
from linsep.data.lectures import available, load
from linsep.errors import SettingError

_CUT = 0.5  # seconds of a report after a signal
_REPORT, _PRINTED = 0.15, 0.03  # shares of the time that are kept for the report, or for the words


def run(args: Namespace) -> int:
    """Print the answer and the table; write report, code and model."""
    from linsep.study.run import study

    require_writable(args.html, args.code, args.output, read=[args.data])
    if args.output and not args.output.endswith(".json"):
        raise SettingError(f"-o {args.output}: a model with its columns is a .json file.")
    if not args.time_limit > 0:
        raise SettingError("--time-limit 0: a study needs some seconds.")
    given, reading = _given(args)
    share = _REPORT if args.html else _PRINTED
    spent = clock() - args.begin  # modules are imported, which counts
    try:  # a signal while the file is read ends at once; later with what was found
        found = study(
            *given, time_limit=max((1 - share) * args.time_limit - spent, 0.1), memory=args.memory,
            folds=args.cv or 5, random_state=args.seed, roles=asked_roles(args),
            drop=_dropped(args), decimal=args.decimal,
            progress=None if args.quiet else narrate, **reading,
        )  # fmt: skip
    except KeyboardInterrupt as signal:
        narrate(f"linsep: {str(signal) or 'interrupted'}; nothing was written")
        return 130
    with Interrupts():
        good = True
        if args.html:
            cut = clock() + _CUT if found.interrupted else math.inf
            with time_limit(min(args.time_limit, cut - args.begin), begin=args.begin):
                page = found.to_html().encode()
            good &= kept(args.html, lambda path: atomic_write_bytes(path, page), "report")
        if args.code:
            text = found.snippet().encode()
            good &= kept(args.code, lambda path: atomic_write_bytes(path, text), "code")
        if args.output:
            good &= kept_model(args.output, found.pipeline_)
    emit(found.to_dict() if args.json else str(found), as_json=args.json)
    if not (args.html or args.json):
        narrate("with --html FILE there is a report of it, with --code FILE Python code")
    if found.interrupted:
        narrate(f"warning: {found.notes[-1]}")
        return 130
    return 0 if good else 1


def _given(args: Namespace) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What to study: a file and how it is read, or the rows of a bundled set."""
    if not Path(args.data).exists() and args.data in available():
        table = load(args.data)
        return (table.X, table.y), {}
    asked = {
        "target": number_or_name(args.target),
        "names": number_or_name(args.names),
        "header": False if args.no_header else None,
        "delimiter": args.delimiter,
        "encoding": args.encoding,
        "positive": args.positive,
    }
    return (args.data,), {name: value for name, value in asked.items() if value is not None}


def _dropped(args: Namespace) -> list[str]:
    return [name for item in args.drop or () for name in item.split(",")]
