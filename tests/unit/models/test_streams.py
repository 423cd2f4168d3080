"""Models of rows that are read part by part: the same answers as tables, with their proofs."""

from __future__ import annotations

import copy
import gzip
import importlib
import json
import os
import pickle
import signal
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.checkpoint import Checkpointer
from linsep.core.parts import Threads
from linsep.errors import (
    CapabilityError,
    CheckpointError,
    DataError,
    LabelError,
    LinsepError,
    ModelError,
    ProofError,
    SettingError,
)
from linsep.losses.table import LOSSES
from linsep.proofs.parts import stream_gap
from linsep.rows.parts import looked_at
from linsep.solvers.parts import Sums

STREAM = importlib.import_module("linsep.data.stream")
W = np.array([1.0, -0.5, 0.25, 0.0])


@cache
def chunk(seed, n=4000, d=4, dtype=np.float64, noise=1.0):
    """Rows that no plane separates, and their labels."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)).astype(dtype)
    return X, (X @ W[:d] + 0.3 + noise * random.logistic(size=n) > 0).astype(int)


def rows(count=20, **how):
    """A function that gives them anew each time it is called."""

    def made():
        return (chunk(seed, **how) for seed in range(count))

    return made


def stream(source=None, **how):
    """One whose rows do not fit into the memory it may take."""
    return linsep.data.stream(source or rows(), **{"memory": "8MB", **how})


def table(source):
    """All rows at once."""
    parts = list(source())
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


BIG = rows(40)  # 40 x 4000 x 4 x 8 bytes: more than half of 8 MB


@pytest.mark.parametrize(
    "model",
    [
        linsep.LinearSVM(tol=1e-3),
        linsep.LinearSVM(C=0.01, tol=1e-5),
        linsep.LinearSVM(loss="squared_hinge", tol=1e-4),
        linsep.LinearSVM(fit_intercept=False, tol=1e-3),
        linsep.LinearSVM(class_weight="balanced", tol=1e-3),
        linsep.LogisticRegression(tol=1e-3),
        linsep.LogisticRegression(C=100.0),
        linsep.LogisticRegression(fit_intercept=False, class_weight={0: 1.0, 1: 3.0}),
    ],
    ids=str,
)
def test_a_stream_has_the_model_of_the_table(model):
    data = stream(BIG)
    streamed = model.fit(data)
    assert streamed.status_.name == "CERTIFIED"
    gap = streamed.certificate_
    assert gap.relative_gap <= model.tol and gap.check(data)
    assert data.passes - 1 <= 8
    X, y = table(BIG)
    whole = type(model)(**model.get_params()).fit(X, y)
    assert gap.lower_bound <= whole.certificate_.objective * (1 + 1e-12)
    assert whole.certificate_.lower_bound <= gap.objective * (1 + 1e-12)
    # strong convexity: both are within the root of twice the gaps of the best weights
    reach = sum(np.sqrt(2 * one.gap) for one in (gap, whole.certificate_))
    assert np.linalg.norm(streamed.coef_ - whole.coef_) <= reach + 1e-9
    assert gap.errors == np.count_nonzero(streamed.predict(X) != y)
    assert streamed.score(data) == pytest.approx(streamed.score(X, y), abs=1e-12)
    assert "parts" in streamed.summary() or "part" in streamed.summary()


def test_what_fits_into_memory_is_a_table_bit_for_bit():
    small = rows(3)
    streamed = linsep.LinearSVM().fit(linsep.data.stream(small))
    whole = linsep.LinearSVM().fit(*table(small))
    assert np.array_equal(streamed.coef_, whole.coef_)
    assert streamed.certificate_ == whole.certificate_


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("free", [True, False])
def test_bounds_hold_in_fractions(loss, free):
    """P of the model and D of its generator, recomputed without rounding where that can be."""
    import flint

    few = rows(5, n=30)
    data = stream(few)
    problem = looked_at(data, fit_intercept=free)
    X, y = table(few)
    sign = 2 * y - 1
    random = np.random.default_rng(3)
    for C in (0.1, 10.0):
        a = np.append(W, 0.3 if free else 0.0) + 0.1 * random.normal(size=5) * [1, 1, 1, 1, free]
        h = 0.3 if loss == "hinge" else 0.0
        found = stream_gap(problem, a, np.append(a, h), LOSSES[loss], C)
        flint.ctx.prec = 200
        ball = flint.arb
        u = [
            ball(0 if loss == "logistic" else 1)
            - int(s) * (sum((ball(p) * ball(q) for p, q in zip(x, a)), ball(0)) + ball(a[-1]))
            for x, s in zip(X.tolist(), sign)
        ]
        if loss == "logistic":
            losses = [(1 + v.exp()).log() for v in u]
            slopes = [1 / (1 + (-v).exp()) for v in u]
        elif loss == "hinge":
            losses = [max(v, ball(0)) for v in u]
            slopes = [min(max(v / (2 * ball(h)) + ball(0.5), ball(0)), ball(1)) for v in u]
        else:
            losses = [max(v, ball(0)) ** 2 for v in u]
            slopes = [2 * max(v, ball(0)) for v in u]
        half = sum((ball(v) ** 2 for v in a[:-1]), ball(0)) / 2
        primal = half + C * sum(losses, ball(0))
        assert primal <= ball(found.objective)
        assert found.objective <= float(primal) * (1 + 1e-9)
        plus = sum((z for z, s in zip(slopes, sign) if s > 0), ball(0))
        minus = sum((z for z, s in zip(slopes, sign) if s < 0), ball(0))
        up, down = (min(ball(1), minus / plus), min(ball(1), plus / minus)) if free else (1, 1)
        alpha = [C * z * (up if s > 0 else down) for z, s in zip(slopes, sign)]
        v = [
            sum((alpha[i] * int(sign[i]) * ball(X[i, j]) for i in range(len(X))), ball(0))
            for j in range(4)
        ]
        pull = sum((one**2 for one in v), ball(0)) / 2
        if loss == "logistic":
            shares = [one / C for one in alpha]
            gain = -C * sum((q * q.log() + (1 - q) * (1 - q).log() for q in shares), ball(0))
        else:
            gain = sum(alpha, ball(0))
            if loss == "squared_hinge":
                gain -= sum((one**2 for one in alpha), ball(0)) / (4 * C)
        dual = gain - pull
        assert ball(found.lower_bound) <= max(primal, dual)
        if float(dual) > 0.5 * float(gain) > 0 and loss != "logistic":
            assert found.lower_bound >= float(dual) * (1 - 1e-9)  # and it is no poorer than that


def test_a_wrong_generator_proves_little_and_never_too_much():
    data = stream(BIG)
    model = linsep.LinearSVM(tol=1e-3).fit(data)
    best = model.certificate_.objective
    problem = looked_at(data, fit_intercept=True)
    random = np.random.default_rng(0)
    for _ in range(5):
        a = random.normal(size=5) * 10.0 ** random.uniform(-3, 3)
        found = stream_gap(problem, a, np.append(a, 0.1), LOSSES["hinge"], 1.0)
        assert 0 <= found.lower_bound <= best
        assert found.objective >= model.certificate_.lower_bound


def test_a_certificate_of_other_rows_or_numbers_is_refused():
    data = stream(BIG)
    gap = linsep.LogisticRegression(tol=1e-3).fit(data).certificate_
    with pytest.raises(ProofError, match="not the rows"):
        gap.check(stream(rows(41)))
    with pytest.raises(ProofError, match="lower bound"):
        replace(gap, lower_bound=gap.objective).check(data)
    with pytest.raises(ProofError, match="objective"):
        replace(gap, objective=0.9 * gap.objective).check(data)
    with pytest.raises(ProofError, match="errors"):
        replace(gap, errors=gap.errors // 2).check(data)
    with pytest.raises(ProofError, match="margin"):
        replace(gap, margin=0.0).check(data)


def test_threads_and_blocks_do_not_change_a_bit(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", rows(20, n=10_000, dtype=np.float32))
    found = []
    for workers in (1, 2, 3):
        data = stream(path, workers=workers)
        assert len(data.parts) > 2
        found.append(linsep.LinearSVM(tol=1e-3).fit(data))
    assert len({model.coef_.tobytes() for model in found}) == 1
    assert len({json.dumps(model.certificate_.to_dict()) for model in found}) == 1


def test_a_proof_holds_for_any_blocks(tmp_path):
    """Marks and parts do not depend on how much is read at a time."""
    random = np.random.default_rng(0)
    X, y = table(rows(40))
    texts = np.array(["no", "yes"])[y]
    np.save(tmp_path / "a.npy", np.column_stack([X, y]))
    write_parquet(tmp_path / "b.parquet", rows(40), group=50_000)
    sparse = scipy.sparse.random_array((20_000, 9), density=0.3, random_state=random, format="csr")
    for source in (
        tmp_path / "a.npy",
        tmp_path / "b.parquet",
        lambda: iter([(X[:100_000], texts[:100_000]), (X[100_000:], texts[100_000:])]),
        lambda: iter([(sparse, y[:20_000])]),
    ):
        few, many = stream(source), stream(source)
        for part in many.parts:
            if hasattr(part, "asked"):
                part.asked = replace(part.asked, block=1 << 18)
                part.rows = 5000  # of an npy file
            else:
                part.make = cut(part.make)
        blocks = [one.total(lambda block, place: Counted(1)).n for one in (few, many)]
        assert blocks[0] < blocks[1]
        assert few.marks == many.marks and few.fingerprint == many.fingerprint


class Counted:
    def __init__(self, n):
        self.n = n

    def plus(self, other):
        return Counted(self.n + other.n)


def cut(make):
    """The same rows in smaller blocks."""

    def made():
        for X, y in make():
            for lo in range(0, X.shape[0], 3000):
                yield X[lo : lo + 3000], y[lo : lo + 3000]

    return made


def test_one_against_the_rest_in_parts():
    def made():
        for seed in range(40):
            random = np.random.default_rng(seed)
            X = random.normal(size=(4000, 4))
            y = np.array(["a", "b", "c"])[
                (X[:, :3] + 0.5 * random.normal(size=(4000, 3))).argmax(1)
            ]
            yield X, y

    data = stream(made)
    model = linsep.LinearSVM(tol=1e-3).fit(data)
    X, y = table(made)
    whole = linsep.LinearSVM(tol=1e-3).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.certificate_.errors == np.count_nonzero(model.predict(X) != y)
    assert model.certificate_.check(data)
    forged = replace(model.certificate_, lower_bound=model.certificate_.objective)
    with pytest.raises(ProofError, match="lower_bound"):
        forged.check(data)
    assert np.mean(model.predict(X) == whole.predict(X)) > 0.99


def test_weights_count_as_rows():
    def heavy():
        for seed in range(40):
            X, y = chunk(seed)
            yield X, y, np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)

    def repeated():
        for X, y, weight in heavy():
            again = np.repeat(np.arange(len(y)), weight.astype(int))
            yield X[again], y[again]

    one = linsep.LogisticRegression().fit(stream(heavy))
    other = linsep.LogisticRegression().fit(stream(repeated))
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-5)


def test_sparse_rows_of_different_widths(tmp_path):
    lines = []
    random = np.random.default_rng(0)
    for i in range(3000):
        at = np.sort(random.choice(30 if i > 2500 else 20, 5, replace=False))
        values = random.normal(size=5).round(3)
        label = 1 if values[0] + random.normal() > 0 else -1
        lines.append(f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in zip(at, values)))
    text = "\n".join(lines).encode() + b"\n"
    plain, packed = tmp_path / "a.svm", tmp_path / "b.svm.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    whole = linsep.data.read(plain)
    expected = linsep.LinearSVM(tol=1e-4).fit(whole.X, whole.y)
    for path in (plain, packed):
        data = linsep.data.stream(path, memory="8MB")
        data.memory = 1  # not a table
        model = linsep.LinearSVM(tol=1e-4).fit(data)
        assert model.coef_.shape == (1, 30)
        assert model.certificate_.objective == pytest.approx(
            expected.certificate_.objective, rel=2e-4
        )
    assert scipy.sparse.issparse(next(data.blocks())[1].X)


# -- files ----------------------------------------------------------------------------------------


def write_parquet(path, source, group=7000):
    """A file with titles x0, x1, ... and y."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = table(source)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=group)
    return path


def test_files_of_all_kinds_hold_the_same_rows(tmp_path):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather

    few = rows(3)
    X, y = table(few)
    parquet = write_parquet(tmp_path / "a.parquet", few)
    frame = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": y})
    pyarrow.feather.write_feather(frame, tmp_path / "b.arrow", compression="uncompressed")
    pyarrow.csv.write_csv(frame, tmp_path / "c.csv")
    np.save(tmp_path / "d.npy", np.column_stack([X, y]))
    np.savez(tmp_path / "e.npz", X=X, y=y)
    for path in (parquet, *(tmp_path / name for name in ("b.arrow", "c.csv", "d.npy", "e.npz"))):
        blocks = [block for _, block in linsep.data.stream(path).blocks()]
        assert np.array_equal(np.concatenate([block.X for block in blocks]), X), path
        assert np.array_equal(np.concatenate([block.y for block in blocks]), y), path
    both = linsep.data.stream(str(tmp_path / "*.parquet"))
    assert both.rows == len(y) and both.feature_names == ("x0", "x1", "x2", "x3")
    chosen = linsep.data.stream(parquet, target="x1", columns=["x0", "y"])
    assert chosen.feature_names == ("x0", "y")
    pyarrow.csv.write_csv(frame.rename_columns(["Class", "x1", "labels", "x3", "x4"]), path)
    assert linsep.data.read(path).feature_names == ("Class", "x1", "x3", "x4")
    assert linsep.data.stream(path).feature_names == ("Class", "x1", "x3", "x4")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_large_csv_is_cut_at_lines(tmp_path, monkeypatch, end):
    """Whole numbers at first and others later, and no line is lost or read twice."""
    X, y = table(rows(2))
    X = X.round(3)
    X[:100] = X[:100].round()
    names = np.array(["no", "yes"])[y]
    lines = [",".join([*map(repr, x), name]) for x, name in zip(X.tolist(), names)]
    lines[:100] = [line.replace(".0", "") for line in lines[:100]]
    path = tmp_path / "a.csv"
    path.write_bytes(end.join([b"x0,x1,x2,x3,y", *(line.encode() for line in lines)]))
    found = []
    for size in (1 << 24, 50_000, 33):
        monkeypatch.setattr(STREAM, "_PART", size)
        if size == 33:
            path.write_bytes(path.read_bytes()[:4000].rpartition(end)[0])
        data = linsep.data.stream(path)
        blocks = [block for _, block in data.blocks()]
        found.append((len(data.parts), np.concatenate([block.X for block in blocks])))
        n = len(found[-1][1])
        assert np.array_equal(found[-1][1], X[:n])
        assert np.concatenate([block.y for block in blocks]).tolist() == names[:n].tolist()
    assert found[0][0] == 1 and found[1][0] > 4 and found[2][0] > 100
    assert len(found[1][1]) == len(X) and 0 < len(found[2][1]) < len(X)


def test_a_row_group_is_read_page_by_page(tmp_path):
    """What pyarrow holds at a time does not grow with the size of a row group."""
    import pyarrow as pa

    path = write_parquet(tmp_path / "a.parquet", rows(100, n=10_000), group=1_000_000)  # 40 MB
    blocks = linsep.data.stream(path, memory="32MB").blocks()
    held = [(pa.default_memory_pool().bytes_allocated(), len(block.y)) for _, block in blocks]
    assert sum(n for _, n in held) == 1_000_000
    assert max(size for size, _ in held) < 15e6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: linsep.data.stream(p / "none.parquet"), "no such file"),
        (lambda p: linsep.data.stream(str(p / "*.none")), "no file is called"),
        (lambda p: linsep.data.stream(p / "a.parquet", target="z"), "no column 'z'"),
        (lambda p: linsep.data.stream(p / "text.parquet"), "column 'name' holds"),
        (lambda p: linsep.data.stream([p / "a.parquet", p / "text.parquet"], columns=["x0"]), ""),
        (lambda p: linsep.data.stream(p / "a.parquet", memory="1KB"), "8 MB"),
        (lambda p: linsep.data.stream(p / "a.parquet", memory="much"), "no size"),
        (lambda p: linsep.data.stream(3.0), "iterable|neither"),
    ],
)
def test_what_cannot_be_a_stream_is_told_at_once(tmp_path, call, words):
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_parquet(tmp_path / "a.parquet", rows(1))
    names = pa.table({"name": ["p", "q"], "x0": [1.0, 2.0], "y": [0, 1]})
    pq.write_table(names, tmp_path / "text.parquet")
    if not words:
        call(tmp_path)
        return
    with pytest.raises((DataError, SettingError, TypeError), match=words):
        call(tmp_path)


def test_a_file_that_changes_between_passes_is_an_error(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", rows(40))
    data = stream(path)
    problem = looked_at(data, fit_intercept=True)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="has changed"):
        stream_gap(problem, np.ones(5), np.ones(6), LOSSES["hinge"], 1.0)
    path.unlink()
    with pytest.raises(DataError, match=r"cannot be read|not there|changed"):
        looked_at(data, fit_intercept=True)


def test_rows_that_differ_from_pass_to_pass_are_an_error():
    calls = iter(range(10**6))

    def made():
        yield from ((X + next(calls), y) for X, y in BIG())

    with pytest.raises(DataError, match="has changed"):
        linsep.LinearSVM().fit(stream(made))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X, y: (np.where(X > 3, np.nan, X), y), "NaN at row"),
        (lambda X, y: (X * 1e200, y), "overflow"),
        (lambda X, y: (X[:, :3], y), "columns"),
        (lambda X, y: (X, y[:-1]), "shape"),
        (lambda X, y: (X, np.where(y > 0, np.nan, 0.0)), "no label"),
        (lambda X, y: (np.full(X.shape, "tall"), y), "not numbers"),
        (lambda X, y: (X, y, -np.ones(len(y))), "sample_weight"),
        (lambda X, y: X, "give .X, y."),
    ],
)
def test_bad_rows_of_a_late_part_are_told_by_their_place(spoil, words):
    def made():
        yield chunk(0)
        yield spoil(*chunk(1))

    with pytest.raises((DataError, LabelError), match=words):
        linsep.LinearSVM().fit(linsep.data.stream(made))


def test_parts_of_one_class_and_of_no_rows():
    def made():
        yield np.zeros((0, 4)), np.zeros(0, int)
        for seed in range(40):
            X, y = chunk(seed)
            order = np.argsort(y, kind="stable")
            yield X[order][:2000], y[order][:2000]
            yield X[order][2000:], y[order][2000:]

    model = linsep.LinearSVM(tol=1e-3).fit(stream(made))
    assert model.status_.name == "CERTIFIED"
    with pytest.raises(LabelError, match="one class"):
        linsep.LinearSVM().fit(linsep.data.stream(lambda: iter([(np.ones((3, 2)), [1, 1, 1])])))


def test_files_of_other_dtypes_are_one_table(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = []
    for k, (kind, label) in enumerate([("f4", "i1"), ("f8", "i8"), ("i2", "f8"), ("f4", "u2")]):
        X, y = table(rows(10, n=4000 + k))
        X, y = (3 * X).round().astype(kind), y.astype(label)
        made.append((X, y))
        columns = {f"x{j}": X[:, j] for j in range(4)}
        pq.write_table(pa.table({**columns, "y": y}), tmp_path / f"{k}.parquet")
    empty = pa.table({**{f"x{j}": np.zeros(0) for j in range(4)}, "y": np.zeros(0, np.int64)})
    pq.write_table(empty, tmp_path / "4.parquet")
    data = stream(str(tmp_path / "*.parquet"))
    data.memory = 1  # not a table
    model = linsep.LogisticRegression(tol=1e-4).fit(data)
    X, y = (np.concatenate([np.asarray(one[k], float) for one in made]) for k in (0, 1))
    whole = linsep.LogisticRegression(tol=1e-4).fit(X, y.astype(int))
    assert model.certificate_.check(data)
    assert model.certificate_.objective == pytest.approx(whole.certificate_.objective, rel=2e-4)
    assert model.classes_.tolist() == [0, 1]
    text = pa.table({**{f"x{j}": np.ones(2) for j in range(4)}, "y": ["no", "yes"]})
    pq.write_table(text, tmp_path / "5.parquet")
    with pytest.raises(LabelError, match="mixes labels"):
        model.fit(stream(str(tmp_path / "*.parquet")))


def test_others_say_what_takes_a_stream():
    for model in (linsep.KernelSVM(), linsep.AdditiveSVM(), linsep.Kozinec()):
        with pytest.raises(CapabilityError, match="Nystroem"):
            model.fit(stream())
    with pytest.raises(SettingError, match="has its labels"):
        linsep.LinearSVM().fit(stream(), [1, 2])
    with pytest.raises(SettingError, match="C=inf"):
        linsep.LogisticRegression(C=np.inf).fit(stream(BIG))


@cache
def wide(dense=False):
    """Rows of many columns, in three parts."""
    random = np.random.default_rng(0)
    shape, density = ((3000, 2100), 0.01) if dense else ((21_000, 2500), 0.004)
    X = scipy.sparse.random_array(shape, density=density, random_state=random, format="csr")
    w = random.normal(size=shape[1])
    y = X @ w + 0.3 + random.logistic(size=shape[0]) > 0
    return (X.toarray() if dense else X), y


def wide_stream(dense=False, **how):
    X, y = wide(dense)
    third = len(y) // 3
    cuts = [slice(third * k, third * (k + 1)) for k in range(3)]
    data = stream(lambda: ((X[cut], y[cut]) for cut in cuts), **how)
    data.memory = 1
    return data


@pytest.mark.parametrize(
    ("model", "passes", "dense"),
    [
        (linsep.LogisticRegression(tol=1e-3), 12, False),
        (linsep.LogisticRegression(tol=1e-6, fit_intercept=False), 20, True),
        (linsep.LinearSVM(loss="squared_hinge", tol=1e-3), 20, False),
        (linsep.LinearSVM(tol=1e-2), 60, False),
    ],
    ids=str,
)
def test_many_columns(model, passes, dense, monkeypatch):
    monkeypatch.setattr("linsep.rows.parts._SAMPLE", 1500 if dense else 6000)
    data, (X, y) = wide_stream(dense), wide(dense)
    streamed = model.fit(data)
    gap = streamed.certificate_
    assert streamed.status_.name == "CERTIFIED" and data.passes <= passes
    assert gap.relative_gap <= model.tol and gap.check(data)
    whole = type(model)(**model.get_params()).fit(X, y)
    assert gap.lower_bound <= whole.certificate_.objective
    assert whole.certificate_.lower_bound <= gap.objective
    assert gap.errors == np.count_nonzero(streamed.predict(X) != y)


def test_a_run_of_many_columns_goes_on_from_its_checkpoint(tmp_path):
    straight = linsep.LogisticRegression(tol=1e-5).fit(wide_stream())
    keep = Checkpointer(tmp_path / "run.npz", every=0.0)
    with pytest.warns(linsep.errors.GapWarning):
        linsep.LogisticRegression(tol=1e-5, max_iter=3, callbacks=[keep]).fit(wide_stream())
    resumed = linsep.LogisticRegression(tol=1e-5).resume(wide_stream(), None, tmp_path / "run.npz")
    assert resumed.certificate_ == straight.certificate_


def test_sums_that_are_mostly_zeros_are_sent_without_them():
    v = np.zeros(50_000)
    v[[3, 40_000]] = 1.5, -2.0
    sums = Sums(v, np.ones(3), np.ones(2), np.zeros((2, 50_000)), np.zeros(0))
    assert len(pickle.dumps(sums)) < 2000
    again = copy.deepcopy(sums)
    for name in ("v", "v_plus", "sums", "curvature", "excess"):
        assert np.array_equal(getattr(again, name), getattr(sums, name))
    full = Sums(
        v + 1.0, *(getattr(sums, name) for name in ("v_plus", "sums", "curvature", "excess"))
    )
    assert np.array_equal(pickle.loads(pickle.dumps(full)).v, v + 1.0)


def test_products_of_too_many_columns_are_refused_before_they_are_read(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(2600)]
    flat = pa.table({**{name: np.zeros(500) for name in names}, "y": np.arange(500) % 2})
    pq.write_table(flat, tmp_path / "wide.parquet")
    data = stream(tmp_path / "wide.parquet")
    data.memory = 1
    with pytest.raises(CapabilityError, match=r"2600 columns.*FeatureHasher"):
        linsep.LeastSquares().fit(data)
    assert data.passes == 0


def test_limits_and_checkpoints(tmp_path):
    data = stream(BIG)
    with pytest.warns(linsep.errors.GapWarning, match="tol asks for"):
        short = linsep.LinearSVM(tol=1e-9, max_iter=2).fit(data)
    assert short.status_.name == "STEP_LIMIT" and short.certificate_.check(data)
    file = tmp_path / "run.npz"
    keep = Checkpointer(file, every=0.0)
    with pytest.warns(linsep.errors.GapWarning):
        linsep.LinearSVM(tol=1e-6, max_iter=2, callbacks=[keep]).fit(data)
    straight = linsep.LinearSVM(tol=1e-6).fit(stream(BIG))
    resumed = linsep.LinearSVM(tol=1e-6).resume(stream(BIG), None, file)
    assert resumed.coef_.tobytes() == straight.coef_.tobytes()
    assert resumed.certificate_ == straight.certificate_


def test_numbers_of_a_checkpoint_that_no_run_comes_to_are_refused_as_such(tmp_path, monkeypatch):
    """An error of the rows themselves stays what it is."""
    file = tmp_path / "run.npz"
    with pytest.warns(linsep.errors.GapWarning):
        linsep.LinearSVM(max_iter=2, callbacks=[Checkpointer(file, every=0.0)]).fit(stream(BIG))
    passes = []

    def broken():
        passes.append(1)
        for block in BIG():
            yield block
            if len(passes) > 1:
                raise ZeroDivisionError("of the caller")

    with pytest.raises(ZeroDivisionError, match="of the caller"):
        linsep.LinearSVM().resume(stream(broken), None, file)

    parts = linsep.models.parts
    load = parts.load_checkpoint

    def forged(*given):
        state = load(*given)
        state.best_primal = state.best_dual = 0.0
        return state

    monkeypatch.setattr(parts, "load_checkpoint", forged)
    with pytest.raises(CheckpointError, match=r"run\.npz broke down \(ZeroDiv.*start without it"):
        linsep.LinearSVM().resume(stream(BIG), None, file)


def test_a_signal_ends_a_pass():
    def made():
        for k, part in enumerate(BIG()):
            if k == 5 and linsep_passes() == 3:
                os.kill(os.getpid(), signal.SIGINT)
            yield part

    passes = []

    def linsep_passes():
        passes.append(1)
        return len(passes)

    with pytest.warns(linsep.errors.GapWarning, match="interrupted"):
        model = linsep.LinearSVM(tol=1e-6).fit(stream(made))
    assert model.status_.name == "STOPPED"
    best = linsep.LinearSVM(tol=1e-3).fit(stream(BIG)).certificate_.objective
    assert model.certificate_.objective < 1.01 * best  # that of the sample, at least
    assert model.certificate_.lower_bound <= best


def test_model_files_hold_the_generator(tmp_path):
    data = stream(BIG)
    model = linsep.LinearSVM(tol=1e-3).fit(data)
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    assert again.certificate_ == model.certificate_ and again.certificate_.check(data)
    assert (tmp_path / "m.json").stat().st_size < 20_000


def test_certify_models_on_streams():
    data = stream(BIG)
    model = linsep.LogisticRegression(tol=1e-4).fit(data)
    assert linsep.certify(model, data).relative_gap <= 1e-4
    from sklearn.linear_model import LogisticRegression

    X, y = table(BIG)
    other = LogisticRegression().fit(X, y)
    report = linsep.certify(other, data)
    assert report.relative_gap <= 1e-3
    assert report.lower_bound <= model.certificate_.objective
    poor = linsep.Linear(W, 5.0, classes=(0, 1), loss="hinge", C=1.0)
    found = linsep.certify(poor, data)
    assert found.objective > 1.2 * found.lower_bound > 0
    assert found.lower_bound <= linsep.LinearSVM(tol=1e-3).fit(data).certificate_.objective


def test_predictions_ask_for_the_columns_of_the_model(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", BIG)
    data = stream(path)
    model = linsep.LinearSVM(tol=1e-3).fit(data)
    X, _ = table(BIG)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = np.concatenate(list(model.predict(data)))
    assert np.array_equal(answers, (X @ model.coef_[0] + model.intercept_[0] >= 0).astype(int))
    with pytest.raises(DataError, match="another order"):
        model.predict(stream(path, columns=["x1", "x0", "x2", "x3"]))
    with pytest.raises(DataError, match="no column 'x3'"):
        model.predict(stream(path, target="x3"))
    bare = stream(path, columns=["x0", "x1", "x2", "x3"], target=False)
    assert not bare.labelled
    assert np.array_equal(np.concatenate(list(model.predict(bare))), answers)
    with pytest.raises(LabelError, match="no labels"):
        model.fit(bare)


def test_predictions_come_part_by_part():
    data = stream(BIG)
    model = linsep.LinearSVM(tol=1e-3).fit(data)
    X, _ = table(BIG)
    assert np.array_equal(np.concatenate(list(model.predict(data))), model.predict(X))


# -- separability ---------------------------------------------------------------------------------


def test_noise_is_refuted_by_the_first_rows():
    data = stream(BIG)
    proof = linsep.separability(data)
    assert proof.separable is False and data.passes == 0
    assert proof.n_read == 4000 and len(proof.rows) <= 6
    X, y = table(BIG)
    sums = [
        sum(
            (m * Fraction(int(2 * y[i] - 1)) * Fraction(x) for i, m, x in zip(
                proof.rows[proof.proof.rows], proof.multipliers,
                [*X[proof.rows[proof.proof.rows], j]],
            )),
            Fraction(0),
        )
        for j in range(4)
    ]  # fmt: skip
    assert not any(sums)
    assert proof.check(data)


def separable(flip=None, gap=0.1):
    def made():
        for seed in range(10):
            X = np.random.default_rng(seed).normal(size=(4000, 4))
            value = X @ W
            kept = np.abs(value) > gap
            y = value[kept] > 0
            if seed == flip:
                y[7] = not y[7]
            yield X[kept], np.where(y, "up", "down")

    return made


def test_a_separable_stream_has_its_margin():
    data = stream(separable())
    proof = linsep.separability(data)
    low, high = proof.margin
    assert proof.separable and 0 < low <= high <= low * 1.001
    whole = linsep.separability(*table(separable()))
    assert low <= whole.margin[1] and whole.margin[0] <= high
    assert data.passes <= 6
    assert proof.check(data) and "separable, margin" in str(proof)
    with pytest.raises(ProofError):
        proof.check(stream(separable(gap=0.05)))


def apart(flip=False):
    """Rows that a plane separates, but for one of the last part where that is asked for."""
    w = np.array([1.0, -2.0, 0.5, 1.0])
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(3000, 4))
        y = X @ w + 0.3 > 0
        X += np.where(y, 0.2, -0.2)[:, None] * w / (w @ w)
        if flip and seed == 11:
            y[7] = not y[7]
        yield X, y


def test_a_hard_margin_of_a_stream(tmp_path):
    data = stream(apart)
    data.memory = 1
    model = linsep.LinearSVM(C=np.inf).fit(data)
    X, y = table(apart)
    whole = linsep.LinearSVM(C=np.inf).fit(X, y)
    assert model.status_.name == "CERTIFIED" and data.passes <= 6
    assert model.coef_ == pytest.approx(whole.coef_, rel=1e-5)
    assert model.margin_width_ == pytest.approx(whole.margin_width_, rel=1e-6)
    assert model.decision_function(X)[y].min() >= 1 - 1e-9
    gap = model.certificate_
    assert gap.check(data)
    with pytest.raises(ProofError, match="only this is a lower bound"):
        replace(gap, lower_bound=2 * gap.lower_bound).check(data)
    linsep.save(model, tmp_path / "model.json")
    assert linsep.load(tmp_path / "model.json").certificate_.check(data)


@pytest.mark.parametrize("free", [True, False])
def test_no_hard_margin_of_a_stream_is_proved(free, tmp_path):
    data = stream(lambda: apart(flip=True))
    data.memory = 1
    with pytest.warns(linsep.errors.NotSeparatedWarning, match="choose a finite C"):
        model = linsep.LinearSVM(C=np.inf, fit_intercept=free, tol=1e-3).fit(data)
    assert model.status_.name == "INSEPARABLE" and model.certificate_.check(data)
    assert model.proof_.check(data) and data.passes <= 12
    assert model.score(data) > 0.9
    linsep.save(model, tmp_path / "model.json")
    assert linsep.load(tmp_path / "model.json").proof_.check(data)


def test_one_wrong_row_in_the_last_part_is_found():
    data = stream(separable(flip=9))
    proof = linsep.separability(data)
    assert proof.separable is False
    assert proof.check(data)
    with pytest.raises(ProofError):
        proof.check(stream(separable()))


def test_a_stream_says_who_reads_it():
    assert "2 threads" in Threads(2).words
    assert repr(linsep.data.stream(BIG)) == "Stream('made', 1 part)"


def test_what_a_stream_cannot_tell_is_refused_in_words():
    X, y = chunk(0, n=60)
    with pytest.raises(CapabilityError, match="KernelSVM needs all rows at once"):
        linsep.KernelSVM().fit(X, y).score(stream())
    squares = linsep.Linear(W, 0.3, loss="squares")
    with pytest.raises(ModelError, match="without a penalty are certified on tables"):
        linsep.certify(squares, stream())


def test_csv_in_pieces_is_the_table(tmp_path, monkeypatch):
    """Whole numbers in the first lines, others later; ends of lines of every kind."""
    monkeypatch.setattr(STREAM, "_TEXT", 64)
    rng = np.random.default_rng(0)
    X = np.vstack([rng.integers(-9, 9, size=(20, 3)), rng.normal(size=(80, 3)).round(3)])
    y = np.arange(100) % 2
    lines = ["a,b,c,y", *(",".join(map(repr, [*row.tolist(), int(k)])) for row, k in zip(X, y))]
    lines[1:21] = [line.replace(".0", "") for line in lines[1:21]]
    for k, end in enumerate(("\n", "\r\n", "\r", "\n\n")):
        path = tmp_path / f"{k}.csv"
        path.write_bytes(end.join(lines).encode())
        blocks = [block for _, block in linsep.data.stream(str(path), target="y").blocks()]
        assert len(blocks) > 20
        assert np.array_equal(np.vstack([block.X for block in blocks]), X)
        labels = np.concatenate([block.y for block in blocks])
        assert labels.dtype.kind == "i" and np.array_equal(labels, y)


def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(STREAM, "_LONGEST_LINE", 1 << 24)
    for name, text in (("a.csv", "a,y\n1,0\n"), ("a.svm", "1 1:1\n")):
        path = tmp_path / (name + ".gz")
        path.write_bytes(gzip.compress(text.encode() + b"1" * (1 << 25), 1))
        with pytest.raises(LinsepError, match=f"{name}.gz.*a line of more than 16777216 bytes"):
            linsep.LinearSVM().fit(linsep.data.stream(str(path)))


def arrays_of(path, columnwise=False):
    X = np.random.default_rng(0).normal(size=(300_000, 6))
    X[:, -1] = X[:, 0] > 0
    if path.suffix == ".npy":
        np.save(path, np.asfortranarray(X) if columnwise else X)
        return X
    import pyarrow as pa

    table = pa.table({name: X[:, j] for j, name in enumerate("abcdey")})
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table, max_chunksize=10_000)
    return X


@pytest.mark.parametrize("columnwise", [False, True])
def test_rows_of_an_array_are_read_as_they_lie(columnwise, tmp_path):
    X = arrays_of(tmp_path / "a.npy", columnwise)
    found = [
        block for part in linsep.data.stream(tmp_path / "a.npy").parts for block in part.blocks()
    ]
    assert (np.vstack([block.X for block in found]) == X[:, :-1]).all()
    assert (np.concatenate([block.y for block in found]) == X[:, -1]).all()


@pytest.mark.parametrize("name", ["a.npy", "a.arrow"])
def test_a_file_that_is_cut_short_while_it_is_read_is_an_error(name, tmp_path):
    path = tmp_path / name
    arrays_of(path)
    data = linsep.data.stream(path)
    blocks = (block for part in data.parts for block in part.blocks())
    next(blocks)  # a mapped file would end the process here: what is behind its end cannot be read
    os.truncate(path, 1 << 20)
    with pytest.raises(DataError, match="cannot be read"):
        list(blocks)
    with pytest.raises(DataError, match=r"cannot be read|has changed"):
        linsep.LinearSVM().fit(data)


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma"])
@pytest.mark.parametrize("ending", [".csv", ".svm"])
def test_a_packed_stream_has_a_budget(module, ending, tmp_path, monkeypatch):
    line = b"1.0,2.0,0\n3.0,4.0,1\n" if ending == ".csv" else b"1 1:2\n-1 2:3\n"
    text = (b"a,b,y\n" if ending == ".csv" else b"") + line * 200_000
    path = tmp_path / f"small{ending}.packed"
    path.write_bytes(importlib.import_module(module).compress(text))
    rows = sum(len(b.y) for part in linsep.data.stream(path).parts for b in part.blocks())
    assert rows == 400_000
    monkeypatch.setenv("LINSEP_UNPACK_MB", "2")
    with pytest.raises(DataError, match="unpack to more than 2,000,000"):
        linsep.data.stream(path, memory="8MB")  # before hundreds of megabytes are made numbers


def test_text_of_very_many_columns_is_no_stream(tmp_path):
    """With two million of them pyarrow ended the process where memory was limited."""
    path = tmp_path / "wide.csv"
    path.write_bytes(b"\n".join([b",".join([b"1"] * 60_000)] * 2))
    with pytest.raises(DataError, match="more than 50000 columns; as a stream of text"):
        linsep.data.stream(path)


def test_parts_of_a_table_that_would_fill_the_memory_are_refused(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({"a": np.zeros(400_000), "y": np.arange(400_000) % 2})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", compression="zstd")
    pyarrow.feather.write_feather(table, tmp_path / "t.arrow", compression="zstd")
    for name in ("t.parquet", "t.arrow"):
        assert linsep.data.stream(tmp_path / name).parts
        monkeypatch.setenv("LINSEP_UNPACK_MB", "1")
        with pytest.raises(DataError, match="unpack to more than"):
            linsep.data.stream(tmp_path / name)
        monkeypatch.delenv("LINSEP_UNPACK_MB")


@pytest.mark.parametrize("kind", ["M8[D]", "m8[s]"])
def test_labels_without_bytes_to_look_at(kind):
    """Dates are labels in a stream, too, as they are in a table."""
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    dates = y.astype(kind)
    made = linsep.data.stream(lambda: iter([(X[:20], dates[:20]), (X[20:], dates[20:])]))
    model = linsep.LeastSquares().fit(made)
    assert model.classes_.tolist() == np.unique(dates).tolist()
    assert (model.coef_ == linsep.LeastSquares().fit(X, y).coef_).all()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are those of POSIX")
@pytest.mark.timeout(20)
def test_a_pipe_is_no_stream(tmp_path):
    """Nobody writes into it: the first look would wait for ever."""
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(DataError, match=r"rows\.csv is no file.*file first"):
        linsep.data.stream(tmp_path / "rows.csv")
