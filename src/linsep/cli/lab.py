"""``linsep lab``: every method step by step in a browser, with one's own points."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from linsep.cli.common import emit, narrate, table
from linsep.lab.server import Lab


def run(args: Namespace) -> int:
    """Serve the lab on this machine until Ctrl-C."""
    page = Lab(_start(args), port=args.port)
    if args.json:
        emit({"url": page.url, "port": page.port}, as_json=True)
    else:
        print(page.url)
        narrate("the lab answers at this address, on this machine alone; Ctrl-C ends it")
    page.door.refused = lambda: narrate(f"for one more browser: {page.url}")
    sys.stdout.flush()
    if not args.no_browser:
        page.open()
    page.serve()
    return 0


def _start(args: Namespace) -> dict[str, Any]:
    """What the page begins with; without data and method nothing heavy is loaded yet."""
    if args.data is None and args.algorithm is None:
        return {"task": None}
    from linsep.lab.start import start_of
    from linsep.lab.tables import table_of_file

    given = None
    if args.data is not None:
        given = table(args, reader=table_of_file, positive=args.positive)
    return start_of(given, None, args.algorithm or "perceptron", {})
