"""``linsep scale``: columns moved into one range, as LIBSVM's svm-scale does."""

from __future__ import annotations

from argparse import Namespace

from linsep.cli.common import emit, kept, narrate, require_writable, table
from linsep.core.files import atomic_write_bytes
from linsep.core.words import count
from linsep.data.ranges import Ranges
from linsep.data.svmlight import svmlight_text
from linsep.errors import SettingError


def run(args: Namespace) -> int:
    """Print or write svmlight text, and the ranges if asked."""
    require_writable(args.output, args.save, read=[args.data, args.restore])
    if args.restore and (args.save or args.lower is not None or args.upper is not None):
        raise SettingError("-r takes the ranges of a file; -s, -l and -u are for new ones.")
    data = table(args)
    if args.restore:
        ranges = Ranges.read(args.restore, data.X.shape[1])
    else:
        lower = -1.0 if args.lower is None else args.lower
        ranges = Ranges(lower, 1.0 if args.upper is None else args.upper).fit(data.X)
    rows = ranges.transform(data.X)
    text = svmlight_text(rows, data.y, sample_weight=data.sample_weight, groups=data.groups)
    good = not args.save or kept(args.save, ranges.write, "ranges")
    words = f"{count(rows.shape[0], 'row')}, {count(rows.shape[1], 'column')}"
    narrate(f"{words} from {ranges.lower:g} to {ranges.upper:g}")
    shown = not args.output
    if args.output:
        shown = not kept(args.output, lambda path: atomic_write_bytes(path, text.encode()), "rows")
        good &= not shown
    if args.json:
        emit({"rows": rows.tolist(), "labels": data.y.tolist()}, as_json=True)
    elif shown:
        emit(text.rstrip("\n"), as_json=False)
    return 0 if good else 1
