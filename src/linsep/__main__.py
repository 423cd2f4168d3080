"""The script ``linsep``, and ``python -m linsep`` where that is not on the path."""

import sys

from linsep._leave import leave_at_signals


def run() -> int:
    """One command; a signal ends the process, from the first import to its very end."""
    leave_at_signals()
    from linsep.cli.main import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
