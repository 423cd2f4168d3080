"""``python -m linsep``: the command line where the script ``linsep`` is not on the path."""

import sys

from linsep.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
