"""``linsep fit|check|verify|predict|certify`` on data that are read part by part."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linsep
from linsep.cli.main import main
from linsep.core.progress import PassProgress
from linsep.core.protocol import Status

W = np.array([1.0, -0.5, 0.25])


def rows(seed, n=60_000, gap=None):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).astype(np.float32)
    value = X @ W
    y = value + 0.2 + random.logistic(size=n) > 0
    if gap is not None:
        X, y = X[np.abs(value) > gap], value[np.abs(value) > gap] > 0
    return X, y.astype(int)


def write(path, X, y):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "clicked": y}), path, row_group_size=30_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six files of noisy rows: too many for 8 MB."""
    out = tmp_path_factory.mktemp("parts")
    for seed in range(6):
        write(out / f"part-{seed}.parquet", *rows(seed))
    return out


@pytest.fixture(scope="module")
def fitted(folder, tmp_path_factory):
    """A model file, and the pattern of its data."""
    model = tmp_path_factory.mktemp("models") / "m.json"
    pattern = str(folder / "*.parquet")
    args = ["fit", pattern, "--target", "clicked", "--memory", "8MB", "-a", "linear-svm"]
    assert main([*args, "-s", "tol=1e-3", "-q", "-o", str(model)]) == 0
    return model, pattern


def test_fit_says_what_it_reads_and_writes_a_model_with_its_generator(folder, tmp_path, capsys):
    out = tmp_path / "m.json"
    args = ["fit", str(folder), "--target", "clicked", "--memory", "8MB", "--workers", "2"]
    assert main([*args, "-s", "tol=1e-3", "-o", str(out), "--json"]) == 0
    told = capsys.readouterr()
    report = json.loads(told.out)
    assert report["status"] == "CERTIFIED" and report["passes"] <= 6
    assert "12 parts, 360,000 rows" in told.err and "2 threads" in told.err
    assert "logistic regression with C = 1" in told.err
    model = linsep.load(out)
    data = linsep.data.stream(str(folder / "*.parquet"), target="clicked")
    assert model.certificate_.check(data)


def test_verify_proves_again_and_sees_forgeries(fitted, tmp_path, capsys):
    model, pattern = fitted
    assert main(["verify", str(model), pattern, "--target", "clicked"]) == 0
    assert "they agree" in capsys.readouterr().out
    stored = json.loads(model.read_text())
    for change in (
        lambda m: m["certificate"].update(lower_bound=m["certificate"]["objective"]),
        lambda m: m["certificate"].update(errors=5),
        lambda m: m.update(coef=[[1.0, 2.0, 3.0]]),
        lambda m: m["params"].update(C=7.0) if "params" in m else m["settings"].update(C=7.0),
    ):
        forged = json.loads(json.dumps(stored))
        change(forged)
        (tmp_path / "f.json").write_text(json.dumps(forged))
        assert main(["verify", str(tmp_path / "f.json"), pattern, "--target", "clicked"]) == 1
        assert "DIFFER" in capsys.readouterr().out
    one = pattern.replace("*", "part-1")
    assert main(["verify", str(model), one, "--memory", "8MB", "--target", "clicked"]) == 1


def test_predict_writes_a_line_a_row(fitted, tmp_path, capsys):
    model, pattern = fitted
    out = tmp_path / "answers.txt"
    assert main(["predict", str(model), pattern, "-o", str(out), "--scores"]) == 0
    assert "360000 predictions" in capsys.readouterr().err
    loaded = linsep.load(model)
    X = np.concatenate([rows(seed)[0] for seed in range(6)])
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    scores = X @ loaded.coef_[0] + loaded.intercept_[0]
    assert np.allclose([float(score) for _, score in lines], scores, atol=1e-5)
    assert [label for label, _ in lines[:9]] == [str(int(score >= 0)) for score in scores[:9]]
    one = pattern.replace("*", "part-1")
    assert main(["predict", str(model), one, "--memory", "8MB", "--target", "clicked"]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 60_000
    assert "of 60000 agree" in told.err


def test_certify_a_model(fitted, capsys):
    model, pattern = fitted
    assert main(["certify", str(model), pattern, "--target", "clicked", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objective"] > 0


def test_check_reads_one_block_of_noise_and_its_proof_is_checked(folder, tmp_path, capsys):
    proof, pattern = tmp_path / "proof.json", str(folder / "*.parquet")
    assert main(["check", pattern, "--target", "clicked", "--save", str(proof)]) == 3
    told = capsys.readouterr()
    assert "cancel exactly" in told.out and "row group 0" in told.out
    assert "linsep verify" in told.err
    assert main(["verify", str(proof), pattern, "--target", "clicked"]) == 0
    stored = json.loads(proof.read_text())
    stored["X"][0][0] += 1.0
    proof.write_text(json.dumps(stored))
    assert main(["verify", str(proof), pattern, "--target", "clicked"]) == 1
    stored["rows"] = "all"
    proof.write_text(json.dumps(stored))
    assert main(["verify", str(proof), pattern, "--target", "clicked"]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_check_of_separable_rows(tmp_path, capsys):
    for seed in range(2):
        write(tmp_path / f"{seed}.parquet", *rows(seed, 40_000, gap=0.1))
    proof = tmp_path / "p.json"
    args = [str(tmp_path), "--target", "clicked", "--memory", "8MB"]
    assert main(["check", str(tmp_path / "?.parquet"), *args[1:], "--save", str(proof)]) == 0
    assert "separable, margin between" in capsys.readouterr().out
    assert main(["verify", str(proof), str(tmp_path / "?.parquet"), *args[1:]]) == 0
    stored = json.loads(proof.read_text())
    stored["margin"] = [10 * value for value in stored["margin"]]
    proof.write_text(json.dumps(stored))
    assert main(["verify", str(proof), str(tmp_path / "?.parquet"), *args[1:]]) == 1


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["--memory", "much"], 2, "--memory much is no size"),
        (["--memory", "1kB"], 2, "--memory 1kB is less than 8 MB"),
        (["--cv", "3"], 2, "--cv is for tables"),
        (["--lift", "x1"], 2, "--lift is for tables"),
        (["--target", "z"], 1, "no column 'z'"),
        (["--drop", "q"], 2, "--drop q"),
        (["-a", "kernel-svm"], 1, "KernelSVM needs all rows"),
        (["--workers", "2", "--cluster", "tcp://127.0.0.1:1"], 2, "has its own"),
        (["--resume", "nowhere.npz"], 1, "does not exist"),
    ],
)
def test_errors_are_in_the_words_of_the_shell(folder, capsys, more, code, words):
    assert main(["fit", str(folder / "*.parquet"), *more]) == code
    assert words in capsys.readouterr().err


def test_a_pattern_without_files(tmp_path, capsys):
    assert main(["fit", str(tmp_path / "*.parquet")]) == 1
    assert "no file is called" in capsys.readouterr().err


def test_a_column_left_out(folder, tmp_path, capsys):
    out = tmp_path / "m.json"
    args = ["--target", "clicked", "--drop", "x1", "--memory", "8MB", "-q", "-s", "tol=1e-3"]
    assert main(["fit", str(folder / "*.parquet"), *args, "-o", str(out)]) == 0
    assert linsep.load(out).feature_names_in_.tolist() == ["x0", "x2"]
    # these two columns fit into memory: the certificate is that of a table
    again = [str(folder / "*.parquet"), "--target", "clicked", "--memory", "8MB"]
    assert main(["verify", str(out), *again]) == 0
    stored = json.loads(out.read_text())
    stored["certificate"]["lower_bound"] = stored["certificate"]["objective"]
    out.write_text(json.dumps(stored))
    assert main(["verify", str(out), *again]) == 1


def test_a_run_that_is_stopped_goes_on_to_the_same_model(fitted, tmp_path, capsys):
    _, pattern = fitted
    run, out = tmp_path / "run.npz", tmp_path / "m.json"
    args = ["fit", pattern, "--target", "clicked", "--memory", "8MB", "-a", "linear-svm", "-q"]
    args += ["-s", "tol=1e-6", "-o", str(out)]
    assert main(args) == 0
    straight = linsep.load(out)
    short = [*args, "-s", "max_iter=2", "--checkpoint", str(run), "--checkpoint-every", "0"]
    assert main(short) == 0
    assert "warning" in capsys.readouterr().err
    assert main([*args, "--resume", str(run)]) == 0
    resumed = linsep.load(out)
    assert resumed.coef_.tobytes() == straight.coef_.tobytes()
    assert resumed.certificate_ == straight.certificate_


@pytest.mark.parametrize(
    "way",
    [
        ["-a", "least-squares"], ["-a", "perceptron", "-s", "max_iter=2"],
        ["-a", "gaussian"], ["-a", "linear-svm", "-s", "C=inf"],
    ],
    ids=lambda way: way[1],
)  # fmt: skip
def test_what_a_pass_or_two_give_is_verified_and_predicts(
    way, folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(PassProgress.__init__, "__kwdefaults__", {"after": 0.0})
    model = str(tmp_path / "model.json")
    data = [f"{folder}/*.parquet", "--memory", "8MB", "--target", "clicked"]
    assert main(["fit", *data, *way, "-o", model]) == 0
    assert "pass " in capsys.readouterr().err
    assert main(["verify", model, *data]) == 0
    assert "they agree" in capsys.readouterr().out
    assert main(["predict", model, *data, "-o", str(tmp_path / "answers.txt")]) == 0


@pytest.mark.parametrize(
    ("model", "name", "lies"),
    [
        (
            linsep.LinearSVM(tol=1e-3),
            "svm",
            {
                "params": [{"fit_intercept": False}, {"class_weight": "balanced"}, {"tol": 1e-30}],
                "extra": [{"margin_width_": 0.5}],
                "status": ["SEPARATED", "INSEPARABLE"],
            },
        ),
        (
            linsep.LogisticRegression(class_weight="balanced", tol=1e-3),
            "logistic",
            {
                "params": [{"class_weight": None}, {"class_weight": 3}],
                "extra": [
                    {"log_likelihood_": -1.0},
                    {"null_log_likelihood_": -1.0},
                    {"separation_": "all"},
                ],
                "status": ["NO_MAXIMUM"],
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_model_file_says_beside_its_certificate(model, name, lies, tmp_path, capsys):
    X, y = rows(3, n=900)
    (tmp_path / "data").mkdir()
    for k in range(3):
        write(tmp_path / "data" / f"{k}.parquet", X[k::3], y[k::3])
    data = linsep.data.stream(tmp_path / "data", target="clicked")
    data.memory = 1000
    linsep.save(model.fit(data), tmp_path / "m.json")
    stored = json.loads((tmp_path / "m.json").read_text())
    ask = ["verify", str(tmp_path / "f.json"), str(tmp_path / "data"), "--target", "clicked"]
    every = [stored]
    every += [stored | {"params": stored["params"] | lie} for lie in lies["params"]]
    every += [stored | {"extra": stored["extra"] | lie} for lie in lies["extra"]]
    every += [
        stored | {"status": {"name": lie, "sentence": Status[lie].value}} for lie in lies["status"]
    ]
    told = stored["certificate"]
    every += [stored | {"certificate": told | {"factors": [*told["factors"], 1.0]}}]
    for number, told in enumerate(every):
        (tmp_path / "f.json").write_text(json.dumps(told))
        assert main(ask) == min(number, 1), told
        capsys.readouterr()
