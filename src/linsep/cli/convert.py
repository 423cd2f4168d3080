"""``linsep convert``: a model file of one system as that of another."""

from __future__ import annotations

from argparse import Namespace

from linsep.cli.common import emit, kept, require_writable


def run(args: Namespace) -> int:
    """Read, write; the ending or --format says whose file it becomes."""
    from linsep.formats import check_ending, load, save

    require_writable(args.output, read=[args.model])
    if args.format is None:
        check_ending(args.output)
    model = load(args.model)
    good = kept(args.output, lambda path: save(model, path, format=args.format), "model")
    if args.json:
        emit({"model": type(model).__name__, "output": args.output}, as_json=True)
    return 0 if good else 1
