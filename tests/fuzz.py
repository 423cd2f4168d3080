"""Damaged and forged files of every format: each is read, or refused by an error of linsep.

``python -m tests.fuzz`` (``make fuzz``) tries thousands for minutes and prints its seed;
``--seed N`` repeats a run, ``--only FORMAT`` and ``--at K`` one file of it. The suite tries a few
hundred (tests/laws/test_fuzz.py). Files are opened in a child process: a crash, a hang and an
error of any other library are findings, told with format, seed and number of the file.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import copy
import faulthandler
import io
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
LIMIT = 10.0  # seconds of the processor for one file
WALL = 120.0  # and seconds of the clock, should it wait for something
MEMORY = 6 << 30  # bytes of address space that a child may have

# -- one good file of each kind -------------------------------------------------------------------


def _data(classes: int = 2, n: int = 24, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(classes)
    y = np.arange(n) % classes
    return (rng.normal(size=(n, d)) + 1.5 * y[:, None]).round(3), y


def _saved(model: Any, ending: str, **options: Any) -> bytes:
    import linsep

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"good{ending}"
        linsep.save(model, path, **options)
        return path.read_bytes()


def models() -> list[bytes]:
    """Model files of linsep."""
    import linsep
    from linsep.kernels import RBF

    X, y = _data()
    X3, y3 = _data(3)
    named = np.array(["no", "yes"])[y]
    made = [
        linsep.LinearSVM().fit(X, named),
        linsep.LinearSVM(C=float("inf")).fit(X + 9 * y[:, None], y),
        linsep.LogisticRegression(calibrate=False).fit(X3, y3)
        if "calibrate" in linsep.LogisticRegression().get_params()
        else linsep.LogisticRegression().fit(X3, y3),
        linsep.Perceptron(max_iter=50).fit(X, y),
        linsep.KernelSVM(kernel=2.0 * RBF(gamma=0.5) + 1.0).fit(X3, y3),
        linsep.LeastSquares().fit(X, y),
        linsep.GaussianClassifier().fit(X3, y3),
        linsep.AdditiveSVM().fit(np.abs(X), y),
        linsep.OneVsOne(linsep.LinearSVM()).fit(X3, y3),
        linsep.Kesler(linsep.LinearSVM()).fit(X3, y3),
        linsep.KernelPerceptron().fit(X, y),
    ]
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    made.append(make_pipeline(StandardScaler(), linsep.LinearSVM()).fit(X, y))
    made.append(LogisticRegression().fit(X, y))
    made.append(make_pipeline(linsep.Lift("x1, x2, x1*x2"), linsep.LinearSVM()).fit(X, y))
    return [_saved(model, ".json") for model in made]


def pipelines() -> list[bytes]:
    """Scikit-learn's own way with columns."""
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

    import linsep

    frame = _frame()
    made = make_column_transformer(
        (make_pipeline(SimpleImputer(), PolynomialFeatures(2)), ["a"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city", "when"]),
        (TfidfVectorizer(), "note"),
    )
    return [_saved(make_pipeline(made, linsep.LinearSVM()).fit(frame, frame["y"]), ".json")]


def _frame() -> Any:
    """A column of every role."""
    import pandas

    X, y = _data()
    return pandas.DataFrame({
        "a": np.where(X[:, 0] > 1, np.nan, X[:, 0]),
        "rent": [f"{abs(v):.2f}".replace(".", ",") for v in X[:, 1]],
        "city": np.array(["Graz", "Wien", "Linz"])[np.arange(len(y)) % 3],
        "when": [f"2024-{1 + k % 12:02d}-03" for k in range(len(y))],
        "note": [f"the {'red' if k % 2 else 'big'} one came on day {k}" for k in range(len(y))],
        "y": np.array(["no", "yes"])[y],
    })  # fmt: skip


def column_models() -> list[bytes]:
    """Models that hold their columns."""
    import linsep
    from linsep.tables import Tabular

    frame = _frame()
    return [
        _saved(Tabular(roles={"note": "text"}).fit(frame, "y"), ".json"),
        _saved(Tabular(linsep.LogisticRegression(), drop=["note"]).fit(frame, "y"), ".json"),
    ]


def tables() -> list[bytes]:
    """CSV with columns of every role."""
    frame = _frame()
    texts = [frame.to_csv(index=False, sep=sep) for sep in ";|\t"]
    return [text.encode() for text in texts] + [texts[0].encode("utf-16")]


def ranges() -> list[bytes]:
    """Range files of svm-scale."""
    return [b"x\n-1 1\n1 0.5 7.25\n3 -2 2\n", b"x\n0 1\n", b"y\n0 1\n2 3\nx\n0 1\n1 2 3\n"]


def text_models() -> list[bytes]:
    """Files of LIBLINEAR and LIBSVM."""
    import linsep

    X, y = _data()
    X3, y3 = _data(3)
    return [
        _saved(linsep.LinearSVM().fit(X, y), ".model"),
        _saved(linsep.LinearSVM().fit(X3, y3), ".model"),
        _saved(linsep.KernelSVM().fit(X3, y3), ".model"),
        _saved(linsep.KernelSVM(kernel="poly").fit(X, y), ".model"),
        _saved(linsep.KernelSVM(calibrate="temperature").fit(X, y), ".model"),
        _saved(linsep.KernelSVM(kernel="poly").fit(X, 2 * y - 1), "", format="svmlight"),
    ]


def traces() -> list[bytes]:
    """Recorded runs."""
    import linsep

    X, y = _data()
    X3, y3 = _data(3)
    runs = [
        linsep.trace(linsep.Perceptron(), X[:8], y[:8], max_steps=6),
        linsep.trace(linsep.Perceptron(), X3[:9], y3[:9], max_steps=4),
        linsep.trace(linsep.Kozinec(), X[:8] + 9 * y[:8, None], y[:8], max_steps=4),
    ]
    return [json.dumps(run.to_dict(), default=lambda v: v.tolist()).encode() for run in runs]


def proofs() -> list[bytes]:
    """Verdicts on separability."""
    import linsep

    return [linsep.separability(*table).to_json().encode() for table in _tables()]


def _tables() -> list[tuple[Any, Any]]:
    X, y = _data()
    crossed = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    touching = [[0, 0], [1, 0], [1, 0], [2, 0], [1, 1]], [0, 0, 1, 1, 1]
    return [(X, y), (X + 9 * y[:, None], y), _data(3), crossed, touching]


def checkpoints() -> list[bytes]:
    """States of runs; problem and solver are those of ``_solvers``."""
    from linsep.core.checkpoint import save_checkpoint

    out = []
    for problem, solver in _solvers():
        with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
            path = Path(folder) / "run.npz"
            state = solver.init(problem.lent)
            solver.advance(problem.lent, state, 2)
            save_checkpoint(path, problem, solver, state)
            out.append(path.read_bytes())
    return out


def _solvers() -> list[tuple[Any, Any]]:
    from tests.tables import CASES

    seen: dict[str, Any] = {}
    for case in CASES.values():
        if case.family != "descent":
            seen.setdefault(f"{type(case.solver).__name__}", case)
    return [(case.data(), case.solver) for case in seen.values()]


def delimited() -> list[bytes]:
    """CSV and its relatives."""
    X, y = _data()
    rows = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(X, y))
    named = "name,a,b,c,class\n" + "\n".join(
        f"r{k},{row[0]},{row[1]},{row[2]},{'yes' if label else 'no'}"
        for k, (row, label) in enumerate(zip(X, y))
    )
    quoted = named.replace("yes", '"ye,s"').replace(",", ";")
    return [rows.encode(), named.encode(), quoted.encode(), rows.replace(",", " ").encode()]


def svmlight() -> list[bytes]:
    """Text of index:value pairs."""
    X, y = _data()
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v)
        for row, label in zip(X, 2 * y - 1)
    ]
    return [
        "\n".join(lines).encode(),
        ("\n".join(lines) + " # end\n").replace("-1 ", "no ").encode(),
        "\n".join(lines).replace("-1 ", "-1 qid:7 cost:0.5 ").encode(),
    ]


def npz() -> list[bytes]:
    """Arrays, dense and sparse."""
    import scipy.sparse

    X, y = _data()
    out = []
    S = scipy.sparse.csr_array(X * (X > 1))
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": np.array(S.shape)}
    names = np.array(["a", "b", "c"])
    for arrays in ({"X": X, "y": y, "feature_names": names}, {**parts, "y": y}):
        for write in (np.savez, np.savez_compressed):
            buffer = io.BytesIO()
            write(buffer, **arrays)
            out.append(buffer.getvalue())
    return out


def arrow() -> list[bytes]:
    """Arrow files and streams, Feather, Parquet, with numbers, texts and gaps."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    X, y = _data()
    words = ["no", "yes"]
    table = pa.table(
        {
            "a": X[:, 0],
            "b": pa.array(X[:, 1].tolist()),
            "c": pa.array([int(v) for v in X[:, 2]], pa.int32()),
            "t": pa.array([words[k] for k in y]).dictionary_encode(),
            "y": [words[k] for k in y],
        }
    )
    out = []
    for kind in ("file", "stream", "feather", "zstd", "parquet", "snappy"):
        sink = io.BytesIO()
        if kind in ("file", "stream"):
            make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
            with make(sink, table.schema) as writer:
                writer.write_table(table)
        elif kind in ("feather", "zstd"):
            pyarrow.feather.write_feather(
                table, sink, compression="uncompressed" if kind == "feather" else "zstd"
            )
        else:
            pyarrow.parquet.write_table(
                table, sink, compression="none" if kind == "parquet" else "snappy"
            )
        out.append(sink.getvalue())
    return out


def _numbers() -> Any:
    import pyarrow as pa

    X, y = _data(n=60)
    return pa.table({"a": X[:, 0], "b": X[:, 1].astype(np.float32), "c": X[:, 2], "y": y})


def binary_streams() -> list[bytes]:
    """Arrow, Parquet and npy that are read part by part."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    table, out = _numbers(), []
    for kind in ("none", "zstd", "snappy"):
        sink = io.BytesIO()
        pyarrow.parquet.write_table(table, sink, compression=kind, row_group_size=20)
        out.append(sink.getvalue())
    for kind in ("uncompressed", "zstd", "lz4"):
        sink = io.BytesIO()
        pyarrow.feather.write_feather(table, sink, compression=kind, chunksize=20)
        out.append(sink.getvalue())
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=20)
    out.append(sink.getvalue())
    X, y = _data(n=60)
    for order in "CF":
        sink = io.BytesIO()
        np.save(sink, np.column_stack([X, y]).copy(order))
        out.append(sink.getvalue())
    return out


def text_streams() -> list[bytes]:
    """CSV and svmlight that are read part by part, also packed."""
    import bz2
    import gzip
    import lzma

    X, y = _data(n=60)
    rows = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(X, y))
    text = f"a,b,c,y\n{rows}\n".encode()
    packs = (gzip.compress, bz2.compress, lzma.compress)
    return [text, text.replace(b",", b";"), *svmlight(), *(pack(text) for pack in packs)]


def stream_checkpoints() -> list[bytes]:
    """States of fits of streams; models are those of ``_streamed``."""
    from linsep.core.checkpoint import Checkpointer

    out = []
    for model in _streamed():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.npz"
            model.set_params(callbacks=[Checkpointer(path, every=0.0)], max_iter=2).fit(_stream())
            out.append(path.read_bytes())
    return out


def _streamed() -> list[Any]:
    import linsep

    return [linsep.LinearSVM(tol=1e-9), linsep.LogisticRegression(tol=1e-9)]


def _stream() -> Any:
    """A stream that is never gathered into a table."""
    import linsep

    X, y = _data(n=200)
    noise = (y + (np.arange(200) % 7 == 0)) % 2
    made = linsep.data.stream(lambda: iter([(X[:90], noise[:90]), (X[90:], noise[90:])]))
    made.memory = 1000
    return made


def questions() -> list[bytes]:
    """What a page of the lab asks."""
    X, y = _data(2, 8, 2)
    table = {"X": X.tolist(), "y": y.tolist(), "classes": [0, 1], "features": ["a", "b"]}
    out = []
    for method in ("perceptron", "kozinec", "linear-svm", "kernel-svm"):
        task = {"table": table, "method": method, "most": 20, "settings": {}, "visits": True}
        more = {"at": 1, "box": [0, 1, 0, 1], "size": 5, "axes": [0, 1], "kind": "json"}
        for verb in ("run", "prove", "verify", "field", "zones", "costs", "export"):
            out.append(json.dumps({"verb": verb, "task": task, **more}).encode())
    return out


def _third(a: Any) -> float:
    """A loop that becomes machine code."""
    total = 0.0
    for value in a:
        total += value / 3
    return total


def machine_code() -> list[bytes]:
    """Files of the folder of machine code."""
    with tempfile.TemporaryDirectory() as folder:
        code = "from tests.fuzz import use_cache; use_cache(None)"
        own = {**os.environ, "LINSEP_CACHE_DIR": folder}
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=own, check=True)
        files = [path.read_bytes() for path in sorted(Path(folder).glob("**/*.nb[ci]"))]
    return [*files, b'{"_third": 1.5}']


# -- what is done with a file ---------------------------------------------------------------------


def use_stream(path: Path) -> None:
    """Read all parts of a file, and fit a model to them."""
    import linsep

    data = linsep.data.stream(path)
    for part in data.parts:
        for block in part.blocks():
            assert block.X.ndim == 2
    linsep.LeastSquares().fit(data)


def use_stream_checkpoint(path: Path) -> None:
    """Go on with the fit of a stream."""
    for model in _streamed():
        try:
            model.set_params(max_iter=4).resume(_stream(), None, path)
        except Exception as error:
            if "resume with the same settings" in str(error):
                continue
            raise
        return


def use_question(path: Path) -> None:
    """Ask the lab; its answer is JSON, or a sentence in it."""
    from linsep.lab.server import Answers

    body, verb = path.read_bytes(), "run"
    with contextlib.suppress(ValueError, RecursionError, AttributeError):
        verb = str(json.loads(body).get("verb", verb))
    json.loads(Answers({}, lambda task: None).answer(verb, body))


def use_upload(path: Path) -> None:
    """Drop a file on the page of the lab."""
    from linsep.lab.server import Answers

    json.loads(Answers({}, lambda task: None).answer("read", path.read_bytes(), "file.csv"))


def use_cache(path: Path | None) -> None:
    """Put a file in the place of each of the folder of machine code, and use that."""
    from linsep.core import compile as compiling

    place = os.environ.get("LINSEP_CACHE_DIR", "")
    if path is not None and not place.endswith("-of-the-fuzzer"):
        place = tempfile.mkdtemp(suffix="-of-the-fuzzer")
        os.environ["LINSEP_CACHE_DIR"] = place
        compiling._cache.cache_clear()
    files = list(Path(place).glob("**/*_third*.nb[ci]"))
    if path is not None:
        data = path.read_bytes()
        for file in files:
            file.write_bytes(data)
        Path(compiling._cache()[0] or place, "spent.json").write_bytes(data)
        compiling._read_spent()
    found = compiling.Routine(_third)(np.full(4, 3.0), size=10**9, work=10**9)
    if found != 4.0:
        raise AssertionError(f"{found} in the place of 4")


def use_model(path: Path) -> None:
    """Load a model and ask it what people ask."""
    import linsep

    model = linsep.load(path)
    X = np.abs(_data(n=5, d=int(model.n_features_in_) if model.n_features_in_ < 100 else 3)[0])
    if X.shape[1] == model.n_features_in_:
        model.predict(X)
        if hasattr(model, "decision_function"):
            model.decision_function(X)
        if hasattr(model, "predict_proba"):
            model.predict_proba(X)
    if hasattr(model, "summary"):
        str(model.summary())
    repr(model)
    str(getattr(model, "certificate_", ""))
    linsep.save(model, path.with_suffix(".again" + path.suffix))


def use_pipeline(path: Path) -> None:
    """Load a pipeline of columns, give it a frame, save it."""
    import linsep

    model = linsep.load(path)
    repr(model)
    with contextlib.suppress(ValueError):  # scikit-learn's word for other columns than it knows
        model.predict(_frame())
    linsep.save(model, path.with_suffix(".again" + path.suffix))


def use_trace(path: Path) -> None:
    """Load a trace and tell it."""
    import linsep

    run = linsep.Trace.load(path)
    run.narrate()
    run.to_dict()
    run.to_html()
    if not run.steps:
        return
    run.frame()


def use_proof(path: Path) -> None:
    """Check a proof against data, as ``linsep verify`` does."""
    import linsep

    proof = linsep.Proof.from_json(path.read_bytes().decode("utf-8", "replace"))
    str(proof)
    proof.explain()
    proof.to_json()
    for X, y in _tables():
        with contextlib.suppress(linsep.errors.LinsepError):
            proof.check(X, y)


def use_checkpoint(path: Path) -> None:
    """Resume from a state; whose it is stands in the file, if anything does."""
    from linsep.core.checkpoint import load_checkpoint

    for problem, solver in _pairs():
        try:
            state = load_checkpoint(path, problem, solver)
        except Exception as error:
            if "resume with the same settings" in str(error) or "was made for" in str(error):
                continue
            raise
        with np.errstate(all="ignore"), _as_resumed(path):
            solver.advance(problem.lent, state, 3)
            solver.witness(problem.lent, state)
        return


@contextlib.contextmanager
def _as_resumed(path: Path) -> Iterator[None]:
    """The net of ``resume``; but machine code would not notice an index beyond an array."""
    from linsep.errors import CheckpointError
    from linsep.models.base import _net

    try:
        with _net(path):
            yield
    except CheckpointError as error:
        if isinstance(error.__cause__, IndexError) and "list index" not in str(error.__cause__):
            raise error.__cause__ from None
        raise


_known: list[tuple[Any, Any]] = []


def _pairs() -> list[tuple[Any, Any]]:
    if not _known:
        _known.extend(_solvers())
    return _known


def use_table(path: Path) -> None:
    """Read data as they are, and without rows that have gaps."""
    import linsep

    for options in ({}, {"missing": "drop"}, {"target": False}):
        with contextlib.suppress(linsep.errors.LinsepError):
            repr(linsep.data.read(path, **options))
    linsep.data.read(path)


def use_columns(path: Path) -> None:
    """Load a model of columns and ask it what people ask."""
    import linsep

    model, frame = linsep.load(path), _frame()
    model.predict(frame)
    str(model.summary())
    if hasattr(model, "explain"):
        model.explain(frame.iloc[[0]])
    linsep.save(model, path.with_suffix(".again" + path.suffix))


def use_frame(path: Path) -> None:
    """Read a table of columns, and make numbers of it."""
    from linsep.tables import Columns, read

    Columns().fit_transform(read(path).columns)


def use_ranges(path: Path) -> None:
    """Read ranges and move a row into them."""
    from linsep.data import Ranges

    found = Ranges.read(path)
    if found.n_features_in_ < 100:
        found.transform(np.ones((1, found.n_features_in_)))


FORMATS: dict[str, tuple[str, Callable[[], list[bytes]], Callable[[Path], None]]] = {
    "model": (".json", models, use_model),
    "text-model": (".model", text_models, use_model),
    "trace": (".json", traces, use_trace),
    "proof": (".json", proofs, use_proof),
    "checkpoint": (".npz", checkpoints, use_checkpoint),
    "csv": (".csv", delimited, use_table),
    "svmlight": (".svm", svmlight, use_table),
    "npz": (".npz", npz, use_table),
    "arrow": (".arrow", arrow, use_table),
    "column-model": (".json", column_models, use_columns),
    "pipeline-model": (".json", pipelines, use_pipeline),
    "columns": (".csv", tables, use_frame),
    "ranges": (".range", ranges, use_ranges),
    "binary-stream": (".bin", binary_streams, use_stream),
    "text-stream": (".txt", text_streams, use_stream),
    "stream-checkpoint": (".npz", stream_checkpoints, use_stream_checkpoint),
    "question": (".json", questions, use_question),
    "upload": (".csv", lambda: [*delimited(), *svmlight(), *npz(), *arrow()], use_upload),
    "machine-code": (".bin", machine_code, use_cache),
}
SLOW = {
    "machine-code": 20,
    "question": 3,
    "stream-checkpoint": 2,
}  # so many times fewer of these are tried

# -- mutations ------------------------------------------------------------------------------------

HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2, 1e308, -1e308, 1e-320, 10**9, 2**31, 2**40, 2**53, 2**63, 2**64,
    10**30, 10**400, "", "x", "\x1b[31m", "\ud800", "1e999999999", "1/0", "9" * 5000,
    "9" * 300_000 + "/7", "nan", "NaN", "Infinity", [], [[]], [None], [[], [1]], {}, {"a": 1},
    {"$fraction": "1e999999999"}, {"$fraction": "1/0"}, {"$float": "nan"}, {"$float": "inf"},
    {"$tuple": 3}, {"$dict": [[[], 1]]}, {"$kernel": {"type": "Sum"}}, {"$model": {}},
    {"$array": {"dtype": "<f8", "shape": [1 << 40], "values": []}},
    {"$array": {"dtype": "<f8", "shape": [0, 1 << 62], "base64": ""}},
    {"$array": {"dtype": "str", "shape": [1], "values": ["\x00"]}},
    [1e308] * 3, [float("nan")], [-1], list(range(40)), "READY", "CERTIFIED", [[1.0] * 3] * 2,
]  # fmt: skip


def mutated(rng: random.Random, kind: str, data: bytes) -> bytes:
    """One damaged or forged file."""
    structured: list[Callable[[random.Random, bytes], bytes]] = []
    if kind in ("model", "trace", "proof", "column-model", "question"):
        structured = [change_json] * 4 + [nest]
    if kind in ("checkpoint", "npz", "stream-checkpoint"):
        structured = [change_members] * 4 + [bomb]
    if kind in ("csv", "svmlight", "text-model", "columns", "ranges", "text-stream"):
        structured = [change_words] * 4
    if rng.random() < 0.03:
        return packed(rng, data)
    return rng.choice([flip, flip, cut, splice, *structured])(rng, data)


def flip(rng: random.Random, data: bytes) -> bytes:
    """Some bytes are others."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        at = rng.randrange(len(out))
        out[at] = rng.choice([rng.randrange(256), 0, 255, out[at] ^ (1 << rng.randrange(8))])
    return bytes(out)


def cut(rng: random.Random, data: bytes) -> bytes:
    """The end is missing, or the beginning."""
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.8 else data[at:]


def splice(rng: random.Random, data: bytes) -> bytes:
    """A piece stands elsewhere, too, or in place of another, or is missing."""
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    b = min(b, a + rng.choice([4, 64, 4096]))
    c = rng.randrange(len(data) + 1)
    return rng.choice(
        [
            data[:c] + data[a:b] + data[c:],
            data[:a] + data[b:],
            data[:c] + data[a:b] + data[c + b - a :],
        ]
    )


def packed(rng: random.Random, data: bytes) -> bytes:
    """Packed, and damaged there; or a small file that unpacks to a large one."""
    if rng.random() < 0.5:
        big = zlib.compressobj(9, zlib.DEFLATED, 31)
        return (
            big.compress(bytes(1 << 24)) + big.flush() if rng.random() < 0.2 else b"\x1f\x8b" + data
        )
    small = zlib.compressobj(1, zlib.DEFLATED, 31)
    return flip(rng, small.compress(data) + small.flush())


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Ways to all values within one, however deep."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while waiting:
        path, one = waiting.pop()
        yield path
        inner = one.items() if isinstance(one, dict) else ()
        more = [
            ((*path, k), item) for k, item in (enumerate(one) if isinstance(one, list) else inner)
        ]
        waiting += reversed(more)


def change_json(rng: random.Random, data: bytes) -> bytes:
    """Some values are hostile ones, some entries are missing, one stands twice."""
    value = json.loads(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        ways = list(places(value))[1:]
        if not ways:
            break
        short = [way for way in ways if not isinstance(way[-1], int) or way[-1] == 0]
        *way, key = rng.choice(short or ways)
        holder = value
        for step in way:
            holder = holder[step]
        choice = rng.random()
        if choice < 0.15:
            del holder[key]
        elif choice < 0.3 and isinstance(holder[key], list) and holder[key]:
            holder[key] = holder[key] * 2 if rng.random() < 0.5 else holder[key][1:]
        elif choice < 0.4 and isinstance(holder[key], int | float):
            large = holder[key] * (10**300 if isinstance(holder[key], int) else 1e300)
            holder[key] = rng.choice([-holder[key], large, holder[key] + 1])
        elif choice < 0.5 and isinstance(holder[key], str):
            holder[key] = rng.choice([base64.b64encode(b"1234").decode(), holder[key][:-1], "\x00"])
        else:
            holder[key] = copy.deepcopy(rng.choice(HOSTILE))  # or one would hold itself
    sys.set_int_max_str_digits(0)
    text = json.dumps(value)
    if rng.random() < 0.05:
        text = text[:-1] + ', "format": 1}'
    return text.encode()


def nest(rng: random.Random, data: bytes) -> bytes:
    """Lists in lists in lists, in place of a value."""
    deep = rng.choice([150, 900, 5000, 100_000])
    pair = rng.choice([("[", "]"), ('{"a":', "}"), ('{"$tuple":[', "]}"), ('{"$dict":[[1,', "]]}")])
    text, at = data.decode(), rng.randrange(len(data))
    comma = text.find(",", at)
    return (text[:comma] + "," + pair[0] * deep + "1" + pair[1] * deep + text[comma:]).encode()


def change_members(rng: random.Random, data: bytes) -> bytes:
    """Arrays of other types and shapes, lies in their heads, numbers of another kind."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes()) if "header" in arrays else None
    raw: dict[str, bytes] = {}
    for _ in range(rng.choice([1, 1, 2, 4])):
        name = rng.choice(sorted(arrays) or ["a"])
        arrays.setdefault(name, np.zeros(2))
        if header is not None and rng.random() < 0.4:
            key = rng.choice(sorted(header["numbers"]))
            known = header["numbers"][key]
            wrong = [known + 1, known * 3, -known, 2**31] if type(known) in (int, float) else []
            header["numbers"][key] = rng.choice([*HOSTILE[:20], *wrong, *wrong])
        elif rng.random() < 0.1:
            del arrays[name]
            arrays[name + "x"] = np.zeros(3)
        elif rng.random() < 0.2:
            buffer = io.BytesIO()
            np.save(buffer, arrays[name])
            raw[name] = flip(rng, buffer.getvalue())
        else:
            arrays[name] = hostile_array(rng, arrays[name])
    if header is not None:
        from linsep.core.checkpoint import _digest

        if rng.random() < 0.9:  # a forger can do so
            header["digest"] = _digest(
                header["numbers"], {k: v for k, v in arrays.items() if v.dtype != object}
            )
        sys.set_int_max_str_digits(0)
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", raw.get(name, buffer.getvalue()))
    return out.getvalue()


def hostile_array(rng: random.Random, array: Any) -> Any:
    """Another one in its place."""
    flat = np.array(array).ravel()
    kinds = ["f4", "f8", "i1", "i8", "u8", "c16", "U3", "?", ">f8", ">i8"]
    kinds = kinds if array.dtype.kind in "biuf" else ["U1", "U9"]
    with np.errstate(all="ignore"):
        other = [
            array[:0] if array.ndim else array, array[None], np.concatenate([flat, flat]),
            flat[::-1],
            np.zeros((0, 5)), np.array(3.0), np.array([None]), np.array(["a"]),
            array.astype(rng.choice(kinds)),
        ]  # fmt: skip
        if array.size and array.dtype.kind in "iuf":
            big = (
                [np.inf, np.nan, -1.0, 1e300] if array.dtype.kind == "f" else [10**9, -1, 2**62, 60]
            )
            spoiled = array.copy()
            top = np.iinfo(array.dtype).max if array.dtype.kind in "iu" else 0
            value = rng.choice(big)
            value = max(value, 0) if array.dtype.kind == "u" else value
            spoiled.flat[rng.randrange(array.size)] = min(value, top) if top else value
            other += [spoiled] * 4
    return rng.choice(other)


def bomb(rng: random.Random, data: bytes) -> bytes:
    """A member that unpacks to more than any budget, or says so."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        head = io.BytesIO()
        shape = rng.choice([(1 << 21,), (1 << 40,), (1 << 62,), (3, -1), (1 << 33, 0)])
        np.lib.format.write_array_header_1_0(
            head, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )
        body = bytes(1 << 24) if rng.random() < 0.2 else bytes(64)
        archive.writestr(rng.choice(["X.npy", "a.npy", "header.npy"]), head.getvalue() + body)
    return out.getvalue()


WORDS = [
    "0", "-1", "1e999", "-1e999", "nan", "inf", "1e-400", "99999999999999999999",
    "18446744073709551616", "9223372036854775808", "1099511627776:1", "4294967296:1",
    "18446744073709551615:2", "0:1", "-1:1", "1:", ":1", "1:2:3", "1,5", "\x00", "\x1b[2J", '"',
    "'", "#", "é", "x" * 5000, "9" * 5000, "", " ", "\t", ";", "1_000", "0x10", "1e", "--1", "+",
    "9" * 400 + ":1", "2147483648",
]  # fmt: skip


def change_words(rng: random.Random, data: bytes) -> bytes:
    """Words of a text are others, lines are missing or stand twice."""
    lines = data.decode("utf-8", "replace").split("\n")
    for _ in range(rng.choice([1, 1, 2, 6])):
        at = rng.randrange(len(lines))
        mark = rng.choice([" ", ",", ";", ":"])
        cells = lines[at].split(mark)
        cells[rng.randrange(len(cells))] = rng.choice(WORDS)
        lines[at] = mark.join(cells)
        if rng.random() < 0.2:
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
        if rng.random() < 0.2 and len(lines) > 1:
            del lines[rng.randrange(len(lines))]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


# -- the child, which opens files; the parent, which counts ---------------------------------------


def child(kind: str, seed: int, first: int, count: int, folder: str) -> None:
    """Open files number first to first + count; a line for each finding, and for each begun."""
    import resource

    from linsep.core.sources import BUDGET_VARIABLE
    from linsep.errors import LinsepError

    warnings.simplefilter("ignore")
    os.environ[BUDGET_VARIABLE] = "4"  # so that small bombs are bombs
    ending, _, use = FORMATS[kind]
    seeds = [
        Path(folder, f"{kind}-{k}").read_bytes()
        for k in range(len(list(Path(folder).glob(f"{kind}-*"))))
    ]
    path = Path(folder) / f"try{ending}"
    for data in seeds:  # everything is imported and compiled before the clock runs
        path.write_bytes(data)
        with contextlib.suppress(LinsepError):
            use(path)
    faulthandler.register(signal.SIGPROF, chain=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(first, first + count):
        rng = random.Random(f"{kind} {seed} {number}")
        path.write_bytes(mutated(rng, kind, rng.choice(seeds)))
        print("begin", number, flush=True)
        faulthandler.dump_traceback_later(WALL, exit=True)
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        try:
            use(path)
        except LinsepError as error:
            if "\x1b" in str(error):
                print(
                    "found",
                    json.dumps([number, "a raw escape in " + repr(str(error))[:200]]),
                    flush=True,
                )
        except (Exception, SystemExit) as error:
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else ""
            told = f"{type(error).__name__}: {str(error)[:150]} at {where}"
            print("found", json.dumps([number, told]), flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        faulthandler.cancel_dump_traceback_later()
    print("end", flush=True)


def fuzz(kind: str, seed: int, count: int, first: int = 0) -> list[str]:
    """Findings among ``count`` files of a format."""
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            good = FORMATS[kind][1]()
        for k, data in enumerate(good):
            Path(folder, f"{kind}-{k}").write_bytes(data)
        at, end = first, first + count
        while at < end:
            step = [str(seed), str(at), str(min(end - at, 2000)), folder]
            command = [sys.executable, "-m", "tests.fuzz", "--child", kind, *step]
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, errors="replace"
            )
            lines = done.stdout.splitlines()
            for line in lines:
                if line.startswith("found "):
                    number, what = json.loads(line[6:])
                    findings.append(f"{kind} --seed {seed} --at {number}: {what}")
            begun = [int(line[6:]) for line in lines if line.startswith("begin ")]
            if lines and lines[-1] == "end":
                at = min(at + 2000, end)
                continue
            last = begun[-1] if begun else at
            hung = "Timeout" in done.stderr or done.returncode == -signal.SIGPROF
            how = "hang" if hung else f"crash ({_signal(done.returncode)})"
            findings.append(f"{kind} --seed {seed} --at {last}: {how} {done.stderr[-1500:]}")
            at = last + 1
            if not begun:
                break  # it does not even start
    return findings


def _signal(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def main() -> int:
    """Try files for some minutes, or one of them again."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=struct.unpack("<I", random.randbytes(4))[0] % 10**6
    )
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--only", choices=FORMATS, help="this format alone")
    parser.add_argument("--at", type=int, help="this file alone")
    parser.add_argument("--count", type=int, default=500, help="files of a format in a round")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        kind, seed, first, count, folder = args.child
        child(kind, int(seed), int(first), int(count), folder)
        return 0
    print(f"seed {args.seed}")
    if args.at is not None:
        found = fuzz(args.only, args.seed, 1, args.at)
        print("\n".join(found) or "nothing found")
        return 1 if found else 0
    until, findings, tried = time.monotonic() + 60 * args.minutes, [], 0
    while time.monotonic() < until:
        for kind in [args.only] if args.only else FORMATS:
            first, few = tried // SLOW.get(kind, 1), max(1, args.count // SLOW.get(kind, 1))
            new = fuzz(kind, args.seed, few, first)
            print(f"{kind}: files {first} to {first + few}, {len(new)} findings", flush=True)
            findings += new
            print("".join(f"  {line}\n" for line in new), end="", flush=True)
        tried += args.count
    print(f"{len(findings)} findings with seed {args.seed}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
