"""The script ``linsep``, and ``python -m linsep`` where that is not on the path."""

import gc
import sys

from linsep._leave import leave_at_signals


def run() -> int:
    """One command; a signal ends the process, from the first import to its very end."""
    leave_at_signals()
    from linsep.cli.main import main

    code = main()
    gc.freeze()  # what is left needs no search for garbage, which takes half a second
    return code


if __name__ == "__main__":
    sys.exit(run())
