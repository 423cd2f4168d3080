"""``linsep convert``: a model file of one system as that of another."""

from __future__ import annotations

from argparse import Namespace

from linsep.cli.common import emit, narrate, require_writable


def run(args: Namespace) -> int:
    """Read, write; the ending or --format says whose file it becomes."""
    from linsep.formats import check_ending, load, save

    require_writable(args.output)
    if args.format is None:
        check_ending(args.output)
    model = load(args.model)
    save(model, args.output, format=args.format)
    narrate(f"model written to {args.output}")
    if args.json:
        emit({"model": type(model).__name__, "output": args.output}, True)
    return 0
