"""Streams that the workers of a real cluster read: whatever dies, the same bits or a plain word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import linsep
from linsep.core.checkpoint import Checkpointer
from linsep.errors import ClusterError, DataError, GapWarning, LinsepWarning

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

import dask.array as da
from distributed import Client, LocalCluster

W = np.array([1.0, -0.5, 0.25, 0.0])


def rows(seed, n=6000):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, (X @ W + 0.3 + random.logistic(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def table():
    parts = [rows(seed) for seed in range(24)]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = table
    out = tmp_path_factory.mktemp("cluster") / "a.parquet"
    columns = {f"x{j}": X[:, j] for j in range(4)}
    pq.write_table(pa.table({**columns, "y": y}), out, row_group_size=6000)
    return out


@pytest.fixture(scope="module")
def alone(path):
    """The model without a cluster."""
    return linsep.LinearSVM(tol=1e-3).fit(linsep.data.stream(path, memory="8MB", workers=1))


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as out:
        yield out


@pytest.fixture
def client(cluster):
    cluster.scale(2)
    with Client(cluster) as out:
        out.wait_for_workers(2)
        yield out


def stream(path, **how):
    return linsep.data.stream(path, memory="8MB", **how)


def same(one, other):
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert one.certificate_ == other.certificate_


@pytest.mark.parametrize("number", [0, 1, 3, 4])
def test_a_worker_killed_in_any_pass_costs_no_bit(number, path, alone, client):
    data = stream(path)
    assert "Dask cluster, 2 workers" in data.runner.words
    killed = []

    def kill(now):
        if now.number == number and now.rows > 0 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    data.watch = kill
    model = linsep.LinearSVM(tol=1e-3).fit(data)
    assert len(killed) == (number > 0)
    same(model, alone)
    assert model.certificate_.check(data)


@pytest.mark.parametrize(
    "model",
    [linsep.LeastSquares(), linsep.GaussianClassifier(), linsep.Perceptron(max_iter=1)],
    ids=str,
)
def test_sums_and_visits_have_the_same_bits_on_a_cluster(model, path, client):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinsepWarning)
        here = type(model)(**model.get_params()).fit(stream(path, workers=1))
        there = model.fit(stream(path, client=client))
    assert there.certificate_ == here.certificate_


def test_workers_that_come_and_go_change_no_bit(path, alone, client, cluster):
    data = stream(path)
    sizes = {2: 1, 3: 3}

    def scale(now):
        if now.rows > 0 and now.number in sizes:
            cluster.scale(sizes.pop(now.number))

    data.watch = scale
    same(linsep.LinearSVM(tol=1e-3).fit(data), alone)
    assert not sizes


def test_all_workers_gone_leave_the_best_model_and_a_way_on(path, alone, client, cluster, tmp_path):
    data, file = stream(path, patience=0.5), tmp_path / "run.npz"

    def leave(now):
        if now.number == 3:
            cluster.scale(0)

    data.watch = leave
    keep = Checkpointer(file, every=0.0)
    with pytest.warns(GapWarning, match=r"CLUSTER_LOST.*resume"):
        model = linsep.LinearSVM(tol=1e-3, callbacks=[keep]).fit(data)
    assert model.status_.name == "CLUSTER_LOST"
    assert model.certificate_.check(stream(path, workers=2))
    assert model.certificate_.objective < 1.01 * alone.certificate_.objective
    cluster.scale(2)
    client.wait_for_workers(2)
    same(linsep.LinearSVM(tol=1e-3).resume(stream(path), None, file), alone)


def test_workers_gone_before_the_proof_leave_it_to_this_machine(path, alone, client, cluster):
    data = stream(path, patience=0.5)
    data.watch = lambda now: cluster.scale(0) if now.words == "the proof" else None
    same(linsep.LinearSVM(tol=1e-3).fit(data), alone)


def test_a_scheduler_that_dies_leaves_the_best_model(path, tmp_path):
    """One started as the page says, and killed; all that it knew is gone at once."""
    known, quiet = tmp_path / "scheduler.json", subprocess.DEVNULL
    dask = [sys.executable, "-m", "dask"]
    more = ["--scheduler-file", str(known), "--no-dashboard"]
    started = [[*dask, "scheduler", "--port", "0", *more], [*dask, "worker", "--no-nanny", *more]]
    running = [subprocess.Popen(one, stdout=quiet, stderr=quiet) for one in started]
    try:
        with Client(scheduler_file=str(known), timeout=60) as other:
            other.wait_for_workers(1, timeout=60)
            data = stream(path, client=other)
            data.watch = lambda now: running[0].kill() if now.number == 3 else None
            with pytest.warns(GapWarning, match="CLUSTER_LOST"):
                model = linsep.LinearSVM(tol=1e-3).fit(data)
            assert model.certificate_.check(stream(path, workers=2))
            with pytest.raises(ClusterError, match="scheduler"):
                linsep.LinearSVM(tol=1e-3).fit(data)
    finally:
        for one in running:
            one.kill()
            one.wait(30)


def test_a_cluster_without_workers_is_told_before_anything_is_known(path, client, cluster):
    data = stream(path, patience=0.5)
    cluster.scale(0)
    with pytest.raises(ClusterError, match=r"no worker for 0\.5 s"):
        linsep.LinearSVM().fit(data)


def test_what_is_wrong_with_rows_is_told_as_on_one_machine(table, client, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = table[0].copy(), table[1]
    X[100_003, 2] = np.nan
    out = tmp_path / "nan.parquet"
    pq.write_table(
        pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": y}), out, row_group_size=6000
    )
    words = r"nan.parquet, row group 16, rows counted from 0: .*NaN at row 4003.*'x2'"
    with pytest.raises(DataError, match=words):
        linsep.LinearSVM().fit(stream(out))
    with pytest.raises(DataError, match=words):
        linsep.LinearSVM().fit(stream(out, workers=2))


def test_collections(table, client):
    import dask.dataframe as dd
    import pandas as pd

    X, y = table[0][:30_000], table[1][:30_000]
    whole = linsep.LogisticRegression().fit(X, y)
    model = linsep.LogisticRegression()
    model.fit(da.from_array(X, chunks=(9000, 2)), da.from_array(y, chunks=9000))
    assert np.array_equal(model.coef_, whole.coef_)
    predicted = model.predict(da.from_array(X, chunks=(9000, 2)))
    assert np.array_equal(predicted.compute(), whole.predict(X))
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=y), npartitions=4)
    some = frame[frame.a > -9.0]  # nobody knows how many rows a chunk has
    assert np.isnan(some[list("abcd")].values.shape[0])
    model = linsep.LogisticRegression().fit(some[list("abcd")].values, some.y.values)
    assert np.array_equal(model.coef_, whole.coef_)
    model = linsep.LogisticRegression().fit(some[list("abcd")], some.y)
    assert np.array_equal(model.coef_, whole.coef_)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_a_column_of_files_has_the_parts_of_the_others(tmp_path):
    """Dask reads several files as one part where only a few of their columns are asked for."""
    import dask.dataframe as dd
    import pandas as pd

    random = np.random.default_rng(3)
    X = random.normal(size=(1200, 8))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame["y"] = X[:, 0] + random.normal(size=1200) > 0
    for k in range(12):
        frame[100 * k : 100 * k + 100].to_parquet(tmp_path / f"{k:02d}.parquet")
    read = dd.read_parquet(tmp_path)
    rows, labels = read.drop(columns="y"), read["y"]
    model = linsep.LogisticRegression().fit(rows, labels)
    whole = linsep.LogisticRegression().fit(frame.drop(columns="y"), frame["y"])
    assert np.array_equal(model.coef_, whole.coef_)
    right = whole.score(frame.drop(columns="y"), frame["y"])
    assert model.score(rows, labels) == pytest.approx(right, rel=1e-15)


def test_a_killed_process_goes_on_from_its_checkpoint(path, alone, tmp_path):
    file = tmp_path / "run.npz"
    program = f"""
import os, signal, linsep
from linsep.core.checkpoint import Checkpointer
from linsep.core.drive import Observer
class Kill(Observer):
    def moment(self, now):
        if now.state.steps == 2:
            os.kill(os.getpid(), signal.SIGKILL)
data = linsep.data.stream({str(path)!r}, memory="8MB")
keep = Checkpointer({str(file)!r}, every=0.0)
linsep.LinearSVM(tol=1e-3, callbacks=[keep, Kill()]).fit(data)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL
    same(linsep.LinearSVM(tol=1e-3).resume(stream(path, workers=2), None, file), alone)


def test_no_thread_is_left(path):
    before = threading.active_count()
    linsep.LinearSVM(tol=1e-3).fit(stream(path, workers=2))
    assert threading.active_count() <= before


def test_workers_that_are_paused_for_ever_are_no_workers(path, client):
    """Dask pauses a worker above its memory; a fit then waited without end."""
    data = stream(path, client=client, patience=1.0)
    real = client.scheduler_info

    def paused(**how):
        found = real(**how)
        return {
            **found,
            "workers": {k: {**v, "status": "paused"} for k, v in found["workers"].items()},
        }

    client.scheduler_info = paused
    data.runner.client = Stuck(client)
    with pytest.raises(ClusterError, match=r"paused.*400 MB"):
        linsep.LinearSVM().fit(data)


class Stuck:
    """A client whose tasks are never done."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        return getattr(self._client, name)

    def submit(self, *args, **how):
        return self._client.submit(time.sleep, 20, pure=False)
