"""The checker that needs Python alone: it accepts what is true, and nothing else."""

from __future__ import annotations

import ast
import copy
import csv
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import linsep
from linsep.proofs import standalone

SOURCE = Path(standalone.__file__)
pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")


def rows(kind, K=2, n=60, d=3, seed=0):
    """Tables that are separable, weakly separable, or neither."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(n, d)) / 2.0
    w = rng.normal(size=(d, K))
    y = (X @ w).argmax(axis=1)
    if kind == "noise":
        y = np.where(rng.random(n) < 0.3, rng.integers(0, K, n), y)
    if kind == "weak":
        X[:, 0] = np.where(y == 0, -np.abs(X[:, 0]), np.abs(X[:, 0]))
        X[np.abs(X[:, 0]) < 1] = 0.0
        y[: K * 4], X[: K * 4] = np.arange(K * 4) % K, 0.0
    return X, y


def stored(path, X, y, told, weight=None):
    """A file of a claim, and its rows as text."""
    with (path / "rows.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [*(f"x{j}" for j in range(X.shape[1])), "y", *(["s"] if weight is not None else [])]
        )
        for k, row in enumerate(X.tolist()):
            out.writerow(
                [*map(repr, row), y[k], *([repr(float(weight[k]))] if weight is not None else [])]
            )
    (path / "claim.json").write_text(json.dumps(told))
    more = ["--weights", "s"] if weight is not None else []
    return [str(path / "claim.json"), str(path / "rows.csv"), "--target", "y", *more]


def test_it_imports_the_standard_library_alone():
    tree = ast.parse(SOURCE.read_text())
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert names and all(name.split(".")[0] in sys.stdlib_module_names for name in names)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", ["apart", "weak", "noise"])
@pytest.mark.parametrize("free", [True, False])
def test_verdicts_hold_and_forged_ones_do_not(kind, K, free, tmp_path, capsys):
    X, y = rows(kind, K)
    proof = linsep.separability(X, y, fit_intercept=free)
    told = proof.to_dict()
    assert standalone.main(stored(tmp_path, X, y, told)) == 0
    said = capsys.readouterr().out
    assert ("not separable" in said) == (proof.separable is False)
    assert ("not weakly" in said) == (proof.separable is False and proof.quasi is False)
    if kind == "weak" and K == 2:
        assert proof.separable is False and proof.quasi is True
    for name, forged in forgeries(told):
        code = standalone.main(stored(tmp_path, X, y, forged))
        assert code != 0, name
    named = [k for k in told["rows"] or told["hull_rows"] or [0] if X[k].any() or free]
    flipped = y.copy()
    flipped[named[:1]] = (flipped[named[:1]] + 1) % K
    code = standalone.main(stored(tmp_path, X, flipped, told))
    assert code == 1 or not named  # a row of zeros alone says the same of any class


def forgeries(told):
    """Changes that make a claim false."""

    def changed(**fields):
        return {**copy.deepcopy(told), **fields}

    yield "one more row", changed(n_samples=told["n_samples"] + 1)
    yield "one more column", changed(n_features=told["n_features"] + 1)
    yield "the other verdict", changed(separable=not told["separable"])
    if told["separable"]:
        flat = told["coef"] if isinstance(told["coef"][0], list) else [told["coef"]]
        turned = [[-Fraction(v) for v in w] for w in flat]
        turned = [[str(v) for v in w] for w in turned]
        yield "turned", changed(coef=turned if isinstance(told["coef"][0], list) else turned[0])
        if len(flat) == 1:
            low, high = map(float, told["margin"])
            yield "wider", changed(margin=[low * (1 + 1e-6) + 1e-300, high])
            if told["hull_rows"]:
                yield "narrower", changed(margin=[low, low * (1 - 1e-6)])
                other = [1.0] + [0.0] * (len(told["hull_rows"]) - 1)
                yield "other points", changed(hull_weights=other)
    else:
        first = str(Fraction(told["multipliers"][0]) + Fraction(1, 10**9))
        if len(told["rows"]) > 1:  # else it is a row of zeros, and any multiple of it is none
            yield "another multiplier", changed(multipliers=[first, *told["multipliers"][1:]])
        turned = [str(-Fraction(m)) for m in told["multipliers"]]
        yield "negative multipliers", changed(multipliers=turned)
        yield "nothing", changed(rows=[], rivals=None, multipliers=[])
        yield "zeros", changed(multipliers=["0"] * len(told["multipliers"]))
        if told["quasi"] is not None:
            yield "the other side", changed(quasi=not told["quasi"])
        if len(told["span_rows"]) > 1:
            yield "no span", changed(span_rows=[], span_multipliers=[], span_rivals=None)
            yield "zero in the span", changed(span_multipliers=["0"] * len(told["span_rows"]))


MODELS = {
    "hinge": lambda: linsep.LinearSVM(C=0.7),
    "coarse": lambda: linsep.LinearSVM(tol=1e-2),
    "squared": lambda: linsep.LinearSVM(C=3.0, loss="squared_hinge"),
    "centred": lambda: linsep.LinearSVM(fit_intercept=False),
    "logistic": lambda: linsep.LogisticRegression(C=2.0),
    "logistic centred": lambda: linsep.LogisticRegression(C=2.0, fit_intercept=False),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_models_hold_and_forged_ones_do_not(name, K, streamed, tmp_path, capsys):
    if K > 2 and "logistic" in name:
        pytest.skip("softmax has one loss of all classes: said below")
    X, y = rows("noise", K, n=400)
    weight = None if streamed else np.arange(1, 401) % 4 / 2.0
    model = MODELS[name]()
    if streamed:
        stream = linsep.data.stream(lambda: [(X[:150], y[:150]), (X[150:], y[150:])])
        stream.memory = 1  # else it is fitted as a table
        model.fit(stream)
    else:
        model.fit(X, y, sample_weight=weight)
    linsep.save(model, tmp_path / "model.json")
    told = json.loads((tmp_path / "model.json").read_text())
    assert ("generator" in json.dumps(told["certificate"])) == streamed
    call = stored(tmp_path, X, y, told, weight)
    assert standalone.main(call) == 0, capsys.readouterr().out
    assert capsys.readouterr().out.count("objective at most") == (1 if K == 2 else K)
    certificate = told["certificate"]
    part = certificate["parts"][-1] if certificate["parts"] else certificate
    for field, factor in (("objective", 1 - 1e-6), ("lower_bound", 1 + 1e-2), ("errors", 0)):
        kept = part[field]
        part[field] = kept * factor if factor else kept + 99  # a few may lie on the plane
        assert standalone.main(stored(tmp_path, X, y, told, weight)) == 1, field
        part[field] = kept
    kept = told["params"]["C"]
    told["params"]["C"] = 2 * kept
    assert standalone.main(stored(tmp_path, X, y, told, weight)) == 1
    told["params"]["C"] = kept
    turned = X.copy()
    turned[:, 0] *= -1
    assert standalone.main(stored(tmp_path, turned, y, told, weight)) == 1
    assert standalone.main(stored(tmp_path, X[:-9], y[:-9], told, weight)[:6]) == 1


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_true_in_fractions(loss, free, small, seed, monkeypatch):
    """Whatever weights and dual variables are given, and however large the numbers are."""
    if not small:  # as of large tables, in pieces
        monkeypatch.setattr(standalone, "CHUNK", 16)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * [1.0, 1e3, 1e-3] + [0.0, 1e5, 0.0]
    side, C = rng.integers(0, 2, 40), 0.3
    plane = rng.normal(size=4) * [1.0, 1e-3, 1e3, 1.0]
    alpha = {k: float(a) for k, a in enumerate(rng.uniform(0, C, 40))}
    machine = standalone.Machine({
        "loss": loss, "C": C, "fit_intercept": free, "plane": plane.tolist(), "at": None,
        "alpha": alpha, "positive": 1, "factors": [1.0, 1.0],
    })  # fmt: skip
    for x, k in zip(X.tolist(), side.tolist()):
        machine.add(x, k, 1.0)
    high, low = machine.bounds()
    exact = [[Fraction(v) for v in row] for row in X.tolist()]
    w, b, c = [Fraction(v) for v in plane.tolist()[:-1]], Fraction(plane[-1]), Fraction(C)
    sign = [1 if k else -1 for k in side]
    u = [max(1 - s * (sum(p * q for p, q in zip(w, x)) + b), 0) for s, x in zip(sign, exact)]
    primal = sum(v * v for v in w) / 2 + c * sum(v if loss == "hinge" else v * v for v in u)
    assert primal <= Fraction(high) <= primal * (1 + Fraction(1, 10**9))
    a = [Fraction(alpha[k]) for k in range(40)]
    if free:
        mass = [sum(v for v, s in zip(a, sign) if s == t) for t in (1, -1)]
        a = [v * min(mass) / mass[s < 0] for v, s in zip(a, sign)]
    v = [sum(t * s * x[j] for t, s, x in zip(a, sign, exact)) for j in range(3)]
    pull = sum(t * t for t in v)
    bend = 0 if loss == "hinge" else 2 * sum(t * t for t in a) / (4 * c)
    gain = sum(a)
    share = min(Fraction(1), gain / (pull + bend))
    dual = share * gain - share**2 * (pull + bend) / 2
    room = Fraction(1, 10**12) if small else Fraction(1, 10**6)
    assert dual * (1 - room) <= Fraction(low) <= dual


def test_what_it_does_not_know_is_said(tmp_path, capsys):
    X, y = rows("noise", 3)
    for model in (linsep.LogisticRegression(), linsep.KernelSVM(), linsep.Perceptron(max_iter=5)):
        linsep.save(model.fit(X, y), tmp_path / "model.json")
        told = json.loads((tmp_path / "model.json").read_text())
        assert standalone.main(stored(tmp_path, X, y, told)) == 2
        assert "not checked" in capsys.readouterr().out
    hostile = (
        '{"format": "linsep-proof", "kernel": null, "separable": false, "quasi": null, '
        '"classes": [0, 1, 2], "fit_intercept": true, "coef": null, "n_features": 3, '
        '"n_samples": 60, "rows": [0], "rivals": [1], "span_rows": [], "hull_rows": [], '
        '"multipliers": ["1e999999999"]}'
    )
    for text in (
        hostile,
        "[" * 100_000,
        "",
        "[]",
        "{}",
        '{"format": "linsep-model"}',
        '{"format": "linsep-proof"}',
        "NaN",
    ):
        (tmp_path / "claim.json").write_text(text)
        assert standalone.main([str(tmp_path / "claim.json"), str(tmp_path / "rows.csv")]) == 1


@pytest.mark.parametrize("ending", ["csv", "svm", "npy", "-"])
def test_every_kind_of_file_and_a_python_without_linsep(ending, tmp_path):
    """The printed program, in a Python that sees no packages."""
    X, y = rows("noise", n=80)
    linsep.save(linsep.LinearSVM().fit(X, y), tmp_path / "model.json")
    data = tmp_path / f"rows.{ending}"
    lines = [",".join(map(repr, [*row, k])) for row, k in zip(X.tolist(), y.tolist())]
    if ending == "npy":
        np.save(data, np.column_stack([X, y]))
    elif ending == "svm":
        pairs = [" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v) for row in X.tolist()]
        data.write_text("".join(f"{k} {row}\n" for row, k in zip(pairs, y.tolist())))
    elif ending == "csv":
        data.write_text("\n".join(lines) + "\n")
    printed = subprocess.run(
        [sys.executable, "-m", "linsep", "verify", "--standalone"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    program = tmp_path / "check.py"
    program.write_text(printed.stdout)
    assert printed.stdout == SOURCE.read_text()
    call = [sys.executable, "-I", "-S", str(program), str(tmp_path / "model.json")]
    done = subprocess.run(
        [*call, "-" if ending == "-" else str(data)],
        input="\n".join(lines) if ending == "-" else None,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holds: objective at most" in done.stdout
