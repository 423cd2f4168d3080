"""First fits of a process: what a user waits for who has just installed linsep.

    python benchmarks/first_fit.py [name ...] [--shapes digits ...] [--processes 3] [--limit 0.5]

Every fit has a process of its own. The first one finds an empty cache, the next ones what those
before left there. Printed are processor seconds of all threads, from the call of ``fit`` with its
imports (numpy, scipy and scikit-learn are loaded before, as the data come from there) to its end;
in brackets what a clock shows, if that differs by a tenth. With --limit each fit gets this
time_limit, counted in processor seconds from the call of ``fit``, so that others on the machine
do not matter.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

MODELS = {
    "Perceptron": "linsep.Perceptron(max_iter=100)",
    "KernelPerceptron": "linsep.KernelPerceptron(max_iter=10)",
    "Kozinec": "linsep.Kozinec(max_iter=100)",
    "LeastSquares": "linsep.LeastSquares()",
    "HoKashyap": "linsep.HoKashyap(max_iter=100)",
    "LogisticRegression": "linsep.LogisticRegression()",
    "LinearSVM": "linsep.LinearSVM()",
    "CrammerSinger": "linsep.LinearSVM(multi_class='crammer-singer')",
    "KernelSVM": "linsep.KernelSVM()",
    "AdditiveSVM": "linsep.AdditiveSVM()",
    "GaussianClassifier": "linsep.GaussianClassifier()",
    "OneVsRest": "linsep.OneVsRest()",
    "Kesler": "linsep.Kesler()",
    "separability": "linsep.separability",
}

SHAPES = {
    "iris": "X, y = load_iris(return_X_y=True)",
    "cancer": "X, y = load_breast_cancer(return_X_y=True); X = X / X.max(axis=0)",
    "digits": "X, y = load_digits(return_X_y=True)",
    "tall": (
        "X = rng.normal(size=(20000, 20)); "
        "y = X @ rng.normal(size=20) + rng.logistic(size=20000) > 0"
    ),
    "text": (
        "X = scipy.sparse.random(3000, 20000, 0.004, 'csr', rng=rng); "
        "y = X @ rng.normal(size=20000) + 0.3 * rng.normal(size=3000) > 0"
    ),
}

# what an estimator is not made for: minutes with any library, or rows it refuses
NOT = {
    ("KernelSVM", "tall"), ("KernelPerceptron", "tall"), ("AdditiveSVM", "text"),
    ("GaussianClassifier", "text"), ("HoKashyap", "text"), ("AdditiveSVM", "tall"),
}  # fmt: skip

CODE = """
import json, sys, time, warnings
import numpy as np, scipy.sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import LogisticRegression
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
{shape}
if {positive}:
    X = X - X.min(axis=0)
processor, wall = time.process_time(), time.perf_counter()
import linsep
model = {model}
if {limit} is not None:
    from linsep.core import limits
    limits._source = time.process_time
    if "time_limit" in getattr(model, "get_params", dict)():
        model.set_params(time_limit={limit})
    processor, wall = time.process_time(), time.perf_counter()
model.fit(X, y) if hasattr(model, "fit") else model(X, y)
processor, wall = time.process_time() - processor, time.perf_counter() - wall
status = getattr(model, "status_", None)
print(json.dumps([processor, wall, status.name if status else "", "numba" in sys.modules]))
"""


def measured(name: str, shape: str, cache: str, limit: float | None) -> list[object] | None:
    """Processor seconds, seconds, status of a fit in a process of its own, and if numba came."""
    code = CODE.format(
        shape=SHAPES[shape], model=MODELS[name], positive=name == "AdditiveSVM", limit=limit
    )
    env = {**os.environ, "LINSEP_CACHE_DIR": cache}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is read as bytecode
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env
    )
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    found: list[object] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print a row for each estimator and shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(MODELS))
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--limit", type=float)
    args = parser.parse_args()
    for name in args.names or MODELS:
        for shape in args.shapes:
            if (name, shape) in NOT:
                continue
            cells, status = [], ""
            with tempfile.TemporaryDirectory() as cache:
                for _ in range(args.processes):
                    found = measured(name, shape, cache, args.limit)
                    if found is None:
                        cells.append("failed")
                        continue
                    processor, wall, status, loaded = found
                    clock = f" ({wall:.2f})" if abs(wall - processor) > 0.1 * processor else ""
                    cells.append(f"{processor:.2f}{clock}{'*' if loaded else ''}")
            print(f"{name:>20} {shape:>8}  {' / '.join(cells)}  {status}", flush=True)
    print("* numba was loaded")


if __name__ == "__main__":
    main()
