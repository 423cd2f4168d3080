"""Least squares, Gaussian classes and the perceptron on streams: the models of tables, proved."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

import linsep
from linsep.core.checkpoint import Checkpointer
from linsep.errors import CapabilityError, DegenerateWarning, ProofError

FAR = np.array([5.0, -2.0, 0.0])


def chunk(seed, K=2, n=3000):
    """Rows far from 0 that no plane separates; the last column is a constant."""
    random = np.random.default_rng(seed)
    X = np.column_stack([random.normal(FAR, size=(n, 3)), np.full(n, 7.0)])
    scores = X[:, :K] - FAR[:K] + 0.5 * random.normal(size=(n, K))
    return X, np.array(["a", "b", "c"])[scores.argmax(axis=1)]


def stream(K=2, parts=6, cut=3000, **how):
    """Parts that do not fit into the memory they may take; ``cut`` rows are a block."""

    def made():
        for seed in range(parts):
            X, y = chunk(seed, K)
            for lo in range(0, len(y), cut):
                yield X[lo : lo + cut], y[lo : lo + cut]

    data = linsep.data.stream(made, **how)
    data.memory = 1
    return data


def table(K=2, parts=6):
    every = [chunk(seed, K) for seed in range(parts)]
    return np.concatenate([X for X, _ in every]), np.concatenate([y for _, y in every])


def fitted(model, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linsep.errors.LinsepWarning)
        return model.fit(*given)


MODELS = [
    linsep.LeastSquares,
    lambda: linsep.LeastSquares(fit_intercept=False, class_weight="balanced"),
    linsep.GaussianClassifier,
    lambda: linsep.GaussianClassifier("shared", priors=[0.3, 0.7]),
    lambda: linsep.GaussianClassifier("diagonal", class_weight="balanced"),
    lambda: linsep.GaussianClassifier("shared-diagonal", loss=[[0, 1], [1, 0], [0.2, 0.2]]),
    lambda: linsep.Perceptron(max_iter=3),
    lambda: linsep.Perceptron(max_iter=2, keep="average", class_weight="balanced"),
    lambda: linsep.Perceptron(max_iter=2, decay="inverse", eta=0.5, fit_intercept=False),
]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("K", [2, 3])
def test_a_stream_has_the_model_of_the_table(make, K, tmp_path):
    model = make()
    if K == 3 and getattr(model, "priors", None) is not None:
        model.set_params(priors=[0.2, 0.3, 0.5])
    if K == 3 and getattr(model, "loss", None) is not None:
        model.set_params(loss=[[0, 1, 2], [1, 0, 1], [3, 1, 0]])
    data, (X, y) = stream(K), table(K)
    streamed = fitted(model, data)
    whole = fitted(type(model)(**model.get_params()), X, y)
    assert streamed.status_ is whole.status_
    one, other = streamed.certificate_, whole.certificate_
    assert one.errors == other.errors and one.wrong_rows == other.wrong_rows
    if isinstance(model, linsep.Perceptron):
        assert streamed.coef_.tobytes() == whole.coef_.tobytes()
        assert streamed.n_updates_ == whole.n_updates_ and streamed.t_lup_ == whole.t_lup_
        assert one.margin == pytest.approx(other.margin, rel=1e-9)
    else:
        assert data.passes <= 4
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
        assert one.lower_bound <= other.objective and other.lower_bound <= one.objective
    assert np.array_equal(np.concatenate(list(streamed.predict(data))), whole.predict(X))
    assert streamed.score(data) == pytest.approx(whole.score(X, y), abs=1e-12)
    assert one.check(data)
    linsep.save(streamed, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json").certificate_
    assert again == one and again.check(data)


def test_other_libraries_have_the_same_answer():
    X, y = table(3)
    one = linsep.LeastSquares().fit(stream(3))
    plain = LinearRegression().fit(X, np.where(y[:, None] == np.array(["a", "b", "c"]), 1.0, -1.0))
    assert one.decision_function(X) == pytest.approx(plain.predict(X), abs=1e-8)
    with pytest.warns(DegenerateWarning, match="x4"):
        two = linsep.GaussianClassifier("shared").fit(stream(3))
    other = LinearDiscriminantAnalysis(solver="lsqr").fit(X[:, :3], y)
    assert np.mean(two.predict(X) == other.predict(X[:, :3])) > 0.999
    assert two.means_[:, :3] == pytest.approx(other.means_, rel=1e-12)
    assert two.ignored_.tolist() == [3]


@pytest.mark.parametrize("make", [MODELS[0], MODELS[2], MODELS[6]])
def test_neither_threads_nor_files_nor_a_stop_change_a_bit(make, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    X, y = table()
    columns = {f"x{j}": X[:, j] for j in range(4)}
    pq.write_table(pa.table({**columns, "y": y}), tmp_path / "a.parquet", row_group_size=2500)

    def opened(workers):
        data = linsep.data.stream(tmp_path / "a.parquet", workers=workers)
        data.memory = 1
        return data

    found = [fitted(make(), opened(workers)) for workers in (1, 2, 3)]
    assert len({json.dumps(model.certificate_.to_dict()) for model in found}) == 1
    if not isinstance(found[0], linsep.Perceptron):
        return
    assert found[0].coef_.tobytes() == fitted(make(), X, y).coef_.tobytes()
    keep = Checkpointer(tmp_path / "run.npz", every=0.0)
    fitted(make().set_params(max_iter=1, callbacks=[keep]), opened(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resumed = make().resume(opened(2), None, tmp_path / "run.npz")
    assert resumed.certificate_ == found[0].certificate_


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (MODELS[0], {"lower_bound": 1e9}),
        (MODELS[0], {"objective": 1.0}),
        (MODELS[2], {"lower_bound": 1e9}),
        (MODELS[2], {"errors": 3}),
        (MODELS[6], {"errors": 3}),
        (MODELS[6], {"margin": 1.0}),
    ],
)
def test_forged_certificates_are_refused(make, change):
    data = stream()
    certificate = fitted(make(), data).certificate_
    with pytest.raises(ProofError):
        replace(certificate, **change).check(data)
    with pytest.raises(ProofError, match="not the rows"):
        certificate.check(stream(parts=7))


def test_blocks_rows_without_weight_and_sparse_rows():
    whole = fitted(linsep.Perceptron(max_iter=2), *table())
    assert fitted(linsep.Perceptron(max_iter=2), stream(cut=700)).coef_.tobytes() == (
        whole.coef_.tobytes()
    )

    def weighed():
        for seed in range(6):
            X, y = chunk(seed)
            s = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
            s[:500] = 0.0
            yield scipy.sparse.csr_array(X[:500]), y[:500], s[:500]  # nothing that counts
            yield scipy.sparse.csr_array(X[500:]), y[500:], s[500:]

    data = linsep.data.stream(weighed)
    data.memory = 1
    every = list(weighed())
    X = np.concatenate([X.toarray() for X, _, _ in every])
    y, s = (np.concatenate([part[k] for part in every]) for k in (1, 2))
    for model in (linsep.Perceptron(max_iter=2), linsep.LeastSquares()):
        one = fitted(model, data)
        other = fitted(type(model)(**model.get_params()), X, y, s)
        assert one.coef_ == pytest.approx(other.coef_, rel=1e-9)
        assert one.certificate_.errors == other.certificate_.errors


def test_a_perceptron_that_separates_says_so():
    def made():
        for seed in range(6):
            X, _ = chunk(seed)
            keep = np.abs(X[:, 0] + X[:, 1] - 3.0) > 0.3
            yield X[keep, :3], X[keep, 0] + X[keep, 1] > 3.0

    data = linsep.data.stream(made)
    data.memory = 1
    model = linsep.Perceptron().fit(data)
    X, y = (np.concatenate(part) for part in zip(*made()))
    whole = linsep.Perceptron().fit(X, y)
    assert model.status_.name == "SEPARATED" and model.certificate_.separable
    assert model.coef_.tobytes() == whole.coef_.tobytes()
    assert 0 < model.certificate_.margin <= whole.certificate_.margin * (1 + 1e-9)
    assert model.certificate_.check(data)


def test_what_needs_all_rows_is_refused_before_reading():
    data = stream()
    for model in (
        linsep.Perceptron(keep="pocket"),
        linsep.Perceptron(update="batch"),
        linsep.Perceptron(order="shuffle"),
        linsep.LeastSquares(solver="gradient"),
        linsep.LeastSquares(kernel="rbf"),
    ):
        with pytest.raises(CapabilityError):
            model.fit(data)
    assert data.passes == 0
