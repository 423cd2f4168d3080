"""``linsep trace``: every update of a training run."""

from __future__ import annotations

from argparse import Namespace

from linsep.cli.common import emit, estimator, framed, kept, numbers_of, require_writable
from linsep.cli.lifting import lifted
from linsep.core.files import atomic_write_bytes


def run(args: Namespace) -> int:
    """Print the run in words, or as JSON."""
    from linsep.tracing.record import trace

    require_writable(args.save, args.html, read=[args.data])
    _, data = lifted(args, numbers_of(args)[1])
    model = estimator(args)
    record = trace(
        model, framed(data), data.y, max_steps=args.max_steps, row_names=data.row_names,
        visits=args.visits, convention=args.convention,
    )  # fmt: skip
    good = not args.save or kept(args.save, record.save, "trace")
    names = data.classes if len(data.classes) == len(record.classes) else None
    if args.html:
        page = record.to_html(class_names=names).encode()
        good &= kept(args.html, lambda path: atomic_write_bytes(path, page), "replay")
    emit(record.to_dict() if args.json else record.narrate(class_names=names), as_json=args.json)
    return 0 if good else 1
