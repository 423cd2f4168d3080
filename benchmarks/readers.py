"""Reading data files: linsep beside scikit-learn, pandas and pyarrow, in one process.

    python benchmarks/readers.py [--clock processor] [folder of data sets]

Prints the best of several runs and the ratio; compile time is not counted. Packed files are
unpacked first, so that only parsing is compared. Without the data it says so and ends. On a busy
machine ``--clock processor`` counts processor seconds of all threads, on both sides.
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


CLOCK = time.perf_counter


def best(run: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    seconds = float("inf")
    for _ in range(repeats):
        start = CLOCK()
        result = run()
        seconds = min(seconds, CLOCK() - start)
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


def numbers(path: Path) -> None:
    """Against pyarrow itself, whose columns become one matrix as ours are."""
    import pyarrow.csv

    def by_pyarrow() -> Any:
        table = pyarrow.csv.read_csv(path)
        return np.column_stack([column.to_numpy() for column in table.columns[:-1]])

    ours, table = best(lambda: read(path, header=True, target=-1), 3)
    theirs, X = best(by_pyarrow, 3)
    assert np.array_equal(table.X, X)
    report(path.name, path.stat().st_size / 1e6, ours, theirs, "pyarrow     ")


def made_up(room: Path) -> None:
    """Two million rows of two columns, and two rows of two million."""
    rng = np.random.default_rng(0)
    tall = room / "2e6 x 2.csv"
    rows = np.column_stack([rng.normal(size=(2_000_000, 2)).round(4), np.arange(2_000_000) % 2])
    np.savetxt(tall, rows, fmt=["%.4f", "%.4f", "%d"], delimiter=",", header="a,b,y", comments="")
    numbers(tall)
    wide = room / "2 x 2e6.csv"
    cells = [",".join(f"{v:.4f}" for v in rng.normal(size=2_000_000)) for _ in range(2)]
    wide.write_text("".join(f"{line},{label}\n" for label, line in enumerate(cells)))
    seconds, table = best(lambda: read(wide, header=False), 1)
    assert table.X.shape == (2, 2_000_000)
    print(f"{wide.name:36s} {wide.stat().st_size / 1e6:7.1f} MB  linsep {seconds * 1e3:8.1f} ms")


def main() -> None:
    global CLOCK
    here = Path(__file__).resolve().parents[2] / "shared" / "data"
    given = sys.argv[1:]
    if given[:2] == ["--clock", "processor"]:
        CLOCK, given = time.process_time, given[2:]
    folder = Path(given[0]) if given else here
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        rng = np.random.default_rng(0)
        write_svmlight(
            room / "17 digits", rng.normal(size=(20_000, 50)), rng.integers(0, 2, 20_000)
        )
        svmlight(room / "17 digits")
        made_up(room)
        if not folder.is_dir():
            print(f"no data sets in {folder}; give their folder as argument")
            return
        for path in unpacked(folder, SVMLIGHT, room):
            svmlight(path)
        for path in unpacked(folder, CSV, room):
            delimited(path)


if __name__ == "__main__":
    main()
