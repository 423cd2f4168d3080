"""Altered model files of AdditiveSVM: refused, or found out by ``linsep verify``."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import linsep
from linsep.cli.main import main
from linsep.errors import ModelError

CLAIMS = ("start", "values", "coef", "intercept", "support", "dual_coef")


def leaves(node, path=()):
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(value, (*path, key))
    else:
        yield path, node


def put(node, path, value):
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value


@pytest.fixture(scope="module", params=[("chi2", 2), ("intersection", 3), ("hellinger", 2)])
def written(request, tmp_path_factory):
    kernel, K = request.param
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 5, (12, 2)), np.arange(12) % K
    X[:, 0] += 2 * y
    table = "\n".join(["a,b,label", *(f"{a},{b},{c}" for (a, b), c in zip(X, y))])
    (folder / "rows.csv").write_text(table + "\n")
    model = linsep.AdditiveSVM(kernel, C=0.3).fit(X, y)
    linsep.save(model, folder / "model.json")
    return folder, json.loads((folder / "model.json").read_text())


def verify(folder, fields):
    (folder / "forged.json").write_text(json.dumps(fields))
    return main(["verify", str(folder / "forged.json"), str(folder / "rows.csv")])


def test_every_number_that_claims_something_is_checked(written, capsys):
    folder, fields = written
    assert verify(folder, fields) == 0
    tried = 0
    for path, value in leaves(fields):
        claims = path[0] in CLAIMS or (path[0] == "certificate" and path[-1] != "seconds")
        if not claims or isinstance(value, str | bool) or value is None or "shape" in path:
            continue
        if fields["params"]["kernel"] == "hellinger" and path[0] == "dual_coef":
            continue  # only its sign and its bound are checked
        forged = copy.deepcopy(fields)
        put(forged, path, value + 1 if isinstance(value, int) else value * 1.01 + 1e-3)
        if path[0] == "certificate" and path[-1] in ("width", "margin") and value in (0.0, np.inf):
            continue
        assert verify(folder, forged) != 0, (path, value)
        tried += 1
    assert tried > 20
    capsys.readouterr()


def test_a_turned_dual_variable_is_found_out(written, capsys):
    folder, fields = written
    values = fields["dual_coef"]["$array"]["values"]
    for at, value in enumerate(values):
        if value != 0.0:
            forged = copy.deepcopy(fields)
            forged["dual_coef"]["$array"]["values"][at] = -value
            assert verify(folder, forged) != 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("params", "C"), -1.0),
        (("params", "tol"), "small"),
        (("params", "max_iter"), -3),
        (("params", "class_weight"), 1),
        (("params", "kernel"), 2.5),
        (("params", "calibrate"), "yes"),
        (("extra", "n_iter_"), -4),
        (("extra", "_n_fitted"), 2),
        (("extra", "_C_fitted"), 0.0),
    ],
)
def test_settings_that_fit_would_refuse_are_refused(written, place, value):
    folder, fields = written
    forged = copy.deepcopy(fields)
    put(forged, place, value)
    (folder / "forged.json").write_text(json.dumps(forged))
    with pytest.raises(ModelError):
        linsep.load(folder / "forged.json")


def test_other_rows_prove_nothing_but_give_a_bound():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (40, 3)), np.arange(40) % 2
    X[:, 0] += 3 * y
    model = linsep.AdditiveSVM().fit(X[:20], y[:20])
    gap = linsep.certify(model, X[20:], y[20:])
    assert gap.lower_bound == 0.0 < gap.objective
    assert linsep.certify(model, X[:20], y[:20]).relative_gap <= 1e-3


def test_weights_left_out_still_give_a_true_bound():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 6, (30, 3)), np.arange(30) % 2
    X[:, 1] += 2 * y
    weight = rng.gamma(1.0, 1.0, 30)
    weight[:4] = 0.0
    model = linsep.AdditiveSVM("chi2").fit(X, y, sample_weight=weight)
    own = model.certificate_for(X, y, sample_weight=weight)
    assert own.lower_bound == pytest.approx(model.certificate_.lower_bound, rel=1e-9)
    plain = linsep.AdditiveSVM("chi2").fit(X, y).certificate_
    without = model.certificate_for(X, y)
    assert 0 < without.lower_bound <= plain.objective <= without.objective * (1 + 1e-3)
