"""``linsep certify``: how far a model of any system is from the best one of its objective."""

from __future__ import annotations

from argparse import Namespace

from linsep.cli import streams
from linsep.cli.common import emit
from linsep.cli.models import model_and_data


def run(args: Namespace) -> int:
    """Print objective, lower bound and gap, proved from the data alone."""
    import linsep

    if streams.wanted(args):
        return streams.certify(args)
    model, data = model_and_data(args)
    given = {} if args.C is None else {"C": args.C}
    report = linsep.certify(
        model, data.X, data.y, sample_weight=data.sample_weight, time_limit=args.time_limit, **given
    )
    emit(report.to_dict() if args.json else str(report), as_json=args.json)
    return 0
