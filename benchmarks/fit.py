"""What a user types: ``linsep fit`` beside LIBLINEAR's ``train -C`` and a scikit-learn pipeline.

    python benchmarks/fit.py [name ...] [--data FOLDER] [--timeout 600]

Every row is trained on the same rows and asked about the same others: those of the test file where
there is one, else a fifth. Each command is a process of its own; printed are its processor seconds
from start to end, with imports, reading and five folds, and its errors. linsep reads the file as it
is. LIBLINEAR, which reads nothing but numbers, is given them: gaps filled, categories as 0 and 1,
numbers from 0 to 1, words by tf-idf, made beforehand at no cost; it chooses C by ``-C`` for
logistic regression (-s 0) with an offset (-B 1). scikit-learn has skrub's ``tabular_pipeline`` for
tables, tf-idf for texts and ``MaxAbsScaler`` for sparse rows, and ``GridSearchCV`` over the costs
that linsep tries. LIBLINEAR is left out where the package liblinear-official is not installed.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
COSTS = [10.0**k for k in range(-3, 4)]
SAMPLE = {"covtype": 5_000, "news20": 2_000}  # rows of it

LINSEP = "import sys; from linsep.__main__ import run; sys.exit(run())"


# -- Rows -----------------------------------------------------------------------------------------


def _text(path: Path) -> bytes:
    opener: Callable[..., Any] = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    with opener(path, "rb") as file:
        return bytes(file.read())


def _frame(path: Path) -> Any:
    import linsep.tables

    frame = linsep.tables.read(path)
    return frame.columns, frame.y.astype(str)


def _rows(name: str, folder: Path, room: Path) -> tuple[Path, Path, Any, Any]:
    """Files to train on and to ask, and the same in memory."""
    from sklearn.model_selection import train_test_split

    def split(X: Any, y: Any) -> Any:
        keep = np.arange(len(y))
        if name in SAMPLE:
            keep = np.random.default_rng(0).permutation(len(y))[: SAMPLE[name]]
        return train_test_split(
            *(part[keep] if not hasattr(part, "iloc") else part.iloc[keep] for part in (X, y)),
            test_size=0.2, random_state=0, stratify=y[keep],
        )  # fmt: skip

    if name in ("a9a", "news20"):
        from sklearn.datasets import dump_svmlight_file, load_svmlight_file

        file = "a9a/a9a" if name == "a9a" else "news20/news20.bz2"
        X, y = load_svmlight_file(str(folder / file), n_features=123 if name == "a9a" else None)
        if name == "a9a":
            X2, y2 = load_svmlight_file(str(folder / "a9a/a9a.t"), n_features=123)
        else:
            X, X2, y, y2 = split(X, y)
        train, test = room / "train.svm", room / "test.svm"
        dump_svmlight_file(X, y, str(train), zero_based=False)
        dump_svmlight_file(X2, y2, str(test), zero_based=False)
        return train, test, (X, y.astype(int).astype(str)), (X2, y2.astype(int).astype(str))
    files = {
        "adult": "adult/adult.data.gz", "spambase": "uci_small/spambase.data",
        "covtype": "covtype/covtype.csv.gz", "sms_spam": "sms_spam/SMSSpamCollection",
    }  # fmt: skip
    X, y = _frame(folder / files[name])
    if name == "adult":
        X2, y2 = _frame(folder / "adult/adult.test.gz")
        y2 = np.char.rstrip(y2, ".")
    else:
        X, X2, y, y2 = split(X, y)
    train, test = room / "train.csv", room / "test.csv"
    for path, rows, labels in ((train, X, y), (test, X2, y2)):
        rows.assign(label=labels).to_csv(path, index=False)
    return train, test, (X, y), (X2, y2)


def _numbers(train: Any, test: Any) -> tuple[Any, Any]:
    """What LIBLINEAR is given."""
    from scipy import sparse
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    if sparse.issparse(train):
        return train, test
    if train.shape[1] == 1:
        words = TfidfVectorizer(sublinear_tf=True)
        column = train.columns[0]
        return words.fit_transform(train[column]), words.transform(test[column])
    made = make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_exclude="number"),
        ),
    )
    return sparse.csr_matrix(made.fit_transform(train)), sparse.csr_matrix(made.transform(test))


# -- Children: one process each -------------------------------------------------------------------


def liblinear(folder: Path) -> None:
    """train -C, train, predict."""
    from liblinear.liblinearutil import predict, problem, train
    from scipy import sparse

    out = os.dup(1)
    os.dup2(2, 1)  # the search prints, whatever it is told
    X, X2 = (sparse.load_npz(folder / f"{part}.npz").tocsr() for part in ("train", "test"))
    y, y2 = (np.load(folder / f"{part}.npy") for part in ("y", "y2"))
    rows = problem(y, X, 1.0)
    cost, _, _ = train(rows, "-C -s 0 -B 1 -q")
    model = train(rows, f"-c {cost} -s 0 -B 1 -q")
    told = predict([], X2, model, "-q")[0]
    found = {"error": float(np.mean(np.array(told) != y2)), "C": cost}
    os.write(out, json.dumps(found).encode())


def sklearn(folder: Path) -> None:
    """A pipeline whose cost is chosen, and its answers."""
    import pandas
    import skrub
    from sklearn.datasets import load_svmlight_file
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    learner = LogisticRegression(max_iter=1000)
    if (folder / "train.svm").exists():
        X, y = load_svmlight_file(str(folder / "train.svm"))
        X2, y2 = load_svmlight_file(str(folder / "test.svm"), n_features=X.shape[1])
        model = make_pipeline(MaxAbsScaler(), learner)
    else:
        (X, y), (X2, y2) = (
            (table.drop(columns="label"), table["label"].astype(str))
            for table in (pandas.read_csv(folder / f"{part}.csv") for part in ("train", "test"))
        )
        if X.shape[1] == 1:
            X, X2 = X.iloc[:, 0], X2.iloc[:, 0]
            model = make_pipeline(TfidfVectorizer(sublinear_tf=True), learner)
        else:
            model = skrub.tabular_pipeline(learner)
    search = GridSearchCV(model, {"logisticregression__C": COSTS}, cv=5).fit(X, y)
    told = search.predict(X2)
    best = search.best_params_["logisticregression__C"]
    print(json.dumps({"error": float(np.mean(told != np.asarray(y2))), "C": best}))


def _run(command: list[str], room: Path, timeout: float) -> tuple[float, dict[str, Any] | None]:
    """Processor seconds of a process and of its children, and what it printed."""
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    before = os.times()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=room, timeout=timeout, env=quiet
        )
    except subprocess.TimeoutExpired:
        return timeout, None
    after = os.times()
    if done.returncode:
        sys.exit(done.stderr)
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system, json.loads(done.stdout)


def measure(name: str, folder: Path, timeout: float) -> None:
    """One row of the table."""
    from scipy import sparse

    with tempfile.TemporaryDirectory() as place:
        room = Path(place)
        train, test, (X, y), (X2, y2) = _rows(name, folder, room)
        made = _numbers(X, X2)
        for part, matrix in zip(("train", "test"), made):
            sparse.save_npz(room / f"{part}.npz", matrix)
        classes = sorted(set(y))
        for part, labels in (("y", y), ("y2", y2)):
            np.save(room / f"{part}.npy", np.searchsorted(classes, labels).astype(float))
        fit = ["fit", str(train), "--test", str(test), "-q", "--json"]
        spent, told = _run([sys.executable, "-c", LINSEP, *fit], room, timeout)
        cells = [f"{name:10s} {len(y):6d} x {made[0].shape[1]:<6d}"]
        words = f"not done in {timeout:.0f} s by the clock"
        if told is not None:
            words = f"{100 * told['error']['share']:5.2f} % {spent:6.1f} s"
        cells.append(f"linsep {words}")
        for who in (liblinear, sklearn):
            if who is liblinear and not _installed():
                cells.append("LIBLINEAR not installed")
                continue
            child = [sys.executable, str(HERE), "--child", who.__name__, str(room)]
            spent, told = _run(child, room, timeout)
            words = f"not done in {timeout:.0f} s by the clock"
            if told is not None:
                words = f"{100 * told['error']:5.2f} % {spent:6.1f} s"
            cells.append(f"{who.__name__} {words}")
    print("  ".join(cells), flush=True)


def _installed() -> bool:
    from importlib.util import find_spec

    return find_spec("liblinear") is not None


ROWS = ("adult", "a9a", "spambase", "covtype", "sms_spam", "news20")


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        {"liblinear": liblinear, "sklearn": sklearn}[sys.argv[2]](Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=ROWS)
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared" / "data")
    parser.add_argument("--timeout", type=float, default=600.0)
    args = parser.parse_args()
    if not args.data.exists():
        print(f"{args.data}: not there, skipped")
        return
    for name in args.names or ROWS:
        measure(name, args.data, args.timeout)


if __name__ == "__main__":
    main()
