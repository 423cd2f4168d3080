"""``linsep trace``: every update of a training run."""

from __future__ import annotations

from argparse import Namespace

from linsep.cli.common import emit, estimator, framed, narrate, require_writable, table
from linsep.cli.lifting import lifted
from linsep.core.files import atomic_write_bytes


def run(args: Namespace) -> int:
    """Print the run in words, or as JSON."""
    from linsep.tracing.record import trace

    require_writable(args.save, args.html)
    _, data = lifted(args, table(args, positive=args.positive))
    model = estimator(args)
    record = trace(
        model, framed(data), data.y, max_steps=args.max_steps, row_names=data.row_names,
        visits=args.visits, convention=args.convention,
    )  # fmt: skip
    if args.save:
        record.save(args.save)
        narrate(f"trace written to {args.save}")
    if args.html:
        atomic_write_bytes(args.html, record.to_html().encode())
        narrate(f"replay written to {args.html}")
    emit(record.to_dict() if args.json else record.narrate(), args.json)
    return 0
