"""Reading data files: linsep beside scikit-learn and pandas, in one process.

    python benchmarks/readers.py [folder of data sets]

Prints the best of several runs and the ratio; compile time is not counted. Packed files are
unpacked first, so that only parsing is compared. Without the data it says so and ends.
"""

from __future__ import annotations

import bz2
import gzip
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linsep.data import read, write_svmlight

SVMLIGHT = (
    "a9a/a9a",
    "w8a/w8a",
    "letter/letter.scale",
    "news20/news20.bz2",
    "20news/20news.train.counts.derived.svm.bz2",
    "ijcnn1/ijcnn1.tst.bz2",
)
CSV = ("covtype/covtype.csv.gz", "elec/elec.csv", "skin_nonskin/Skin_NonSkin.txt")


def best(run: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    seconds = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, result


def unpacked(folder: Path, names: tuple[str, ...], room: Path) -> Iterator[Path]:
    for name in names:
        path = folder / name
        if not path.exists():
            print(f"{name}: not there, skipped")
            continue
        opener = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix)
        if opener is not None:
            plain = room / path.stem
            with opener(path, "rb") as packed:
                plain.write_bytes(packed.read())
            path = plain
        yield path


def report(name: str, size: float, ours: float, theirs: float, who: str) -> None:
    print(
        f"{name:36s} {size:7.1f} MB  linsep {ours * 1e3:8.1f} ms  {who} {theirs * 1e3:8.1f} ms  "
        f"ratio {theirs / ours:5.1f}"
    )


def svmlight(path: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    ours, table = best(lambda: read(path))
    theirs, (X, y) = best(lambda: load_svmlight_file(str(path)), 3)
    assert (table.X != X).nnz == 0
    assert (table.y == y).all()
    report(path.name, path.stat().st_size / 1e6, ours, theirs, "scikit-learn")


def delimited(path: Path) -> None:
    import pandas

    def by_pandas(**options: Any) -> Any:
        frame = pandas.read_csv(path, **options)
        features = frame.iloc[:, :-1].to_numpy(dtype=np.float64)
        return np.ascontiguousarray(features), frame.iloc[:, -1].to_numpy()

    options: dict[str, Any] = {}
    if path.suffix == ".txt":
        options = {"sep": "\t", "header": None}
    ours, table = best(lambda: read(path), 3)
    theirs, (X, y) = best(lambda: by_pandas(**options), 3)
    assert np.array_equal(table.X, X)
    assert np.array_equal(table.y, y)
    report(path.name, path.stat().st_size / 1e6, ours, theirs, "pandas      ")
    arrow, _ = best(lambda: by_pandas(engine="pyarrow", **options), 3)
    report(path.name, path.stat().st_size / 1e6, ours, arrow, "pandas arrow")


def main() -> None:
    here = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        rng = np.random.default_rng(0)
        write_svmlight(
            room / "17 digits", rng.normal(size=(20_000, 50)), rng.integers(0, 2, 20_000)
        )
        svmlight(room / "17 digits")
        if not folder.is_dir():
            print(f"no data sets in {folder}; give their folder as argument")
            return
        for path in unpacked(folder, SVMLIGHT, room):
            svmlight(path)
        for path in unpacked(folder, CSV, room):
            delimited(path)


if __name__ == "__main__":
    main()
