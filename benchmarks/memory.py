"""Peak memory of a fit over the size of the data, in a fresh process; used by the benchmarks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_CODE = """
import sys, resource
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import linsep
module = __import__(sys.argv[2])
X, y = getattr(module, sys.argv[3])(Path(sys.argv[4]))
model = getattr(linsep, sys.argv[5])()
model.fit(X[:30000], y[:30000])  # compiles
open("/proc/self/clear_refs", "w").write("5")
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
model.fit(X, y)
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1]
print((int(peak) * 1024 - before + X.nbytes) / X.nbytes)
"""


def memory(module, loader, folder, estimator):
    """Print the peak of estimator().fit on the data of module.loader(folder)."""
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _CODE, here, module, loader, str(folder), estimator],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout.strip() or done.stderr.strip()[-200:]
    print(f"memory: peak of a {loader} fit of {estimator} is {said} x the data")
