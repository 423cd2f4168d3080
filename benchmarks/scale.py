"""Fits of files larger than memory: passes, processor time, peak memory, and peers on the file.

    python benchmarks/scale.py make data.parquet --rows 5e7     rows of 20 float32 columns
    python benchmarks/scale.py fit data.parquet --loss hinge
    python benchmarks/scale.py copies data.parquet              12 copies at C beside one at 12 C
    python benchmarks/scale.py check data.parquet               the verdict, and what it has read
    python benchmarks/scale.py peers data.parquet --python P    SGDClassifier.partial_fit here,
                                                                dask-ml and Vowpal Wabbit by P

Each kind of measurement is a process of its own, so that peaks are its own. A peer ends by its own
rule; the gap is that which ``linsep.certify`` proves for its weights, the penalty being that of the
same objective. Times of other libraries begin with the file, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

D, GROUP, BATCH = 20, 500_000, 50_000
LOSSES = {"hinge": "LinearSVM", "logistic": "LogisticRegression"}


def make(path: str, rows: int, separable: bool) -> None:
    """Noisy rows, or rows that a plane separates with a margin."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(D)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
    w = np.random.default_rng(7).normal(size=D).astype(np.float32)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as out:
        for first in range(0, rows, GROUP):
            random = np.random.default_rng(first)
            X = random.standard_normal((min(GROUP, rows - first), D), dtype=np.float32)
            value = X @ w
            y = value > 0
            if separable:
                X += np.where(y, 0.3, -0.3).astype(np.float32)[:, None] * (w / (w @ w))
            else:
                y = value + 0.5 + 2 * random.logistic(size=len(X)) > 0
            columns = [pa.array(X[:, j]) for j in range(D)]
            out.write_table(pa.table([*columns, pa.array(y.astype(np.int8))], schema=schema))


def peak() -> float:
    """Megabytes that this process has had at most."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in status.split("\n") if "VmHWM" in line)


def fit(path: str, loss: str, C: float, copies: int, workers: int | None) -> Any:
    """Fit, and print what it took."""
    import linsep

    begin, cpu = time.perf_counter(), time.process_time()
    data = linsep.data.stream([path] * copies, workers=workers)
    model = getattr(linsep, LOSSES[loss])(C=C, tol=1e-3).fit(data)
    gap = model.certificate_
    print(
        f"{loss:9s} {data.rows:>12,} rows {1e-9 * (data.size or 0):6.1f} GB  {data.passes} passes "
        f"{time.perf_counter() - begin:7.1f} s, processor {time.process_time() - cpu:7.1f} s  "
        f"peak {peak():5.0f} MB  gap {gap.relative_gap:.2e}  {model.status_.name}",
        flush=True,
    )
    return model


def copies(path: str, loss: str) -> None:
    """The same file twelve times is the file at twelve times the cost."""
    one = fit(path, loss, 1.0, 1, None).certificate_
    many = fit(path, loss, 1.0 / 12, 12, None).certificate_
    agree = one.lower_bound <= many.objective and many.lower_bound <= one.objective
    print(f"          bounds of both {'agree' if agree else 'DISAGREE'}")


def check(path: str) -> None:
    """The verdict on a file."""
    import linsep

    begin, cpu = time.perf_counter(), time.process_time()
    data = linsep.data.stream(path)
    proof = linsep.separability(data)
    print(
        f"check     {proof.n_read:>12,} rows read, {data.passes} passes "
        f"{time.perf_counter() - begin:7.2f} s, processor {time.process_time() - cpu:6.2f} s: "
        f"{str(proof)[:60]}"
    )


# -- peers ----------------------------------------------------------------------------------------


def batches(path: str) -> Iterator[tuple[Any, Any]]:
    """The rows of the file, some at a time."""
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(path).iter_batches(BATCH):
        table = np.column_stack([column.to_numpy() for column in batch.columns])
        yield np.ascontiguousarray(table[:, :-1], dtype=np.float32), table[:, -1].astype(int)


def count(path: str) -> int:
    """Rows of the file."""
    import pyarrow.parquet as pq

    return int(pq.ParquetFile(path).metadata.num_rows)


def sgd(path: str, loss: str, passes: int) -> tuple[Any, float]:
    """SGDClassifier, batch by batch."""
    from sklearn.linear_model import SGDClassifier

    kind = {"hinge": "hinge", "logistic": "log_loss"}[loss]
    model = SGDClassifier(loss=kind, alpha=1.0 / count(path), random_state=0)
    for _ in range(passes):
        for X, y in batches(path):
            model.partial_fit(X, y, classes=[0, 1])
    return model.coef_[0], float(model.intercept_[0])


def dask_ml(path: str, loss: str, passes: int) -> tuple[Any, float]:
    """LogisticRegression of dask-ml with its defaults; its intercept is penalised."""
    import dask.dataframe as dd
    from dask_ml.linear_model import LogisticRegression

    frame = dd.read_parquet(path)
    table = frame.to_dask_array(lengths=True)
    model = LogisticRegression().fit(table[:, :-1].astype("f8"), table[:, -1].astype("i8"))
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])


def vowpal(path: str, loss: str, passes: int) -> tuple[Any, float]:
    """Vowpal Wabbit's online learning, row by row."""
    from vowpalwabbit import pyvw

    options = f"--loss_function {loss} --l2 {1.0 / count(path):g} --quiet"
    vw = pyvw.Workspace(options)
    for _ in range(passes):
        for X, y in batches(path):
            for x, label in zip(X.tolist(), (2 * y - 1).tolist()):
                vw.learn(f"{label} | " + " ".join(f"{j}:{v:.6g}" for j, v in enumerate(x)))
    found = np.array([vw.predict(f"| {j}:1") for j in range(D)])
    offset = float(vw.predict("|"))
    return found - offset, offset


PEERS: dict[str, Callable[[str, str, int], tuple[Any, float]]] = {
    "sgd": sgd,
    "dask-ml": dask_ml,
    "vowpal": vowpal,
}


def peers(path: str, loss: str, python: str) -> None:
    """Weights of the peers, each from a process of its own, and what is proved of them."""
    import linsep

    fit(path, loss, 1.0, 1, None)
    plan = [("sgd", 1, sys.executable), ("sgd", 5, sys.executable), ("vowpal", 1, python)]
    if loss == "logistic":
        plan.append(("dask-ml", 1, python))
    for name, passes, program in plan:
        command = [program, __file__, "peer", path, "--loss", loss]
        command += ["--name", name, "--passes", str(passes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name:9s} did not run: {done.stderr.strip().splitlines()[-1]}")
            continue
        told = json.loads(done.stdout.strip().splitlines()[-1])
        plane = linsep.Linear(told["coef"], told["offset"], classes=(0, 1), loss=loss, C=1.0)
        gap = linsep.certify(plane, linsep.data.stream(path)).relative_gap
        print(
            f"{name:9s} {passes} passes {told['seconds']:7.1f} s, processor "
            f"{told['processor']:7.1f} s  peak {told['peak']:5.0f} MB  gap {gap:.2e}",
            flush=True,
        )


def peer(path: str, loss: str, name: str, passes: int) -> None:
    """One peer, here; a line of JSON for whoever asked."""
    begin, cpu = time.perf_counter(), time.process_time()
    coef, offset = PEERS[name](path, loss, passes)
    told = {"coef": np.asarray(coef, float).tolist(), "offset": offset, "peak": peak()}
    told |= {"seconds": time.perf_counter() - begin, "processor": time.process_time() - cpu}
    print(json.dumps(told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("what", choices=["make", "fit", "copies", "check", "peers", "peer"])
    parser.add_argument("path")
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--separable", action="store_true")
    parser.add_argument("--loss", choices=list(LOSSES), default="hinge")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--name", choices=list(PEERS))
    parser.add_argument("--passes", type=int, default=1)
    args = parser.parse_args()
    if args.what == "make":
        make(args.path, int(args.rows), args.separable)
    elif args.what == "fit":
        fit(args.path, args.loss, args.C, args.copies, args.workers)
    elif args.what == "copies":
        copies(args.path, args.loss)
    elif args.what == "check":
        check(args.path)
    elif args.what == "peers":
        peers(args.path, args.loss, args.python)
    else:
        peer(args.path, args.loss, args.name, args.passes)


if __name__ == "__main__":
    main()
