"""A machine without numba: every estimator works there, with the same bits, and says what helps."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.laws import bits

# The cheap ones of every family; the whole table takes minutes of loops in Python:
# LINSEP_NO_NUMBA=1 python -m tests.laws.bits --check
NAMES = [
    "perceptron students", "perceptron batch", "perceptron random average", "perceptron kesler",
    "kernel perceptron poly average", "kernel perceptron rbf", "kozinec difference",
    "kozinec augmented", "squares exact", "squares widrow-hoff", "squares gradient large",
    "ho-kashyap separable", "logistic", "logistic C=inf quasi", "logistic tall", "softmax 3",
    "softmax 10", "gaussian full", "svm", "svm C=inf", "svm dual-cd", "svm newton", "svm tall",
    "svm crammer-singer", "svm three classes", "svm path", "kernel svm rbf", "kernel svm poly",
    "kernel svm three classes", "additive intersection", "additive hellinger", "one-vs-rest",
    "one-vs-one", "kesler", "separability separable", "separability integers",
    "separability three classes inseparable", "certify LinearSVC",
]  # fmt: skip

CODE = """
import json, sys, warnings
import numpy as np
from tests.laws import bits
import linsep
from linsep.core import costs

costs.LOADING = costs.COMPILING = costs.INSTRUCTION = 0.0  # any loop is worth it
X = np.random.default_rng(1).normal(size=(600, 20))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(2):
        linsep.Perceptron(max_iter=1).fit(X, X[:, 0] > 0)
said = [[str(w.message), w.filename] for w in seen if "numba" in str(w.message)]
found = {name: bits.hashes(name) for name in json.loads(sys.argv[1])}
print(json.dumps([found, said, "numba" in sys.modules]))
"""


@pytest.mark.slow
def test_the_same_bits_without_numba(tmp_path):
    code = [sys.executable, "-c", CODE, json.dumps(NAMES)]
    env = {**os.environ, "LINSEP_NO_NUMBA": "1", "LINSEP_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(code, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    found, said, loaded = json.loads(done.stdout)
    assert not loaded
    record = bits.recorded() or {name: bits.hashes(name) for name in NAMES}
    wrong = [name for name in NAMES if bits.difference(record.get(name), found[name])]
    assert not wrong
    [[words, where]] = said  # once, for the first long one, at the line of the caller
    assert "pip install numba" in words and where == "<string>"


def test_every_family_is_tried():
    """What is added to the table has a member here, too."""
    first = {name.split()[0] for name in bits.FITS}
    assert first == {name.split()[0] for name in NAMES}


LAST_BLOCKS = """
import hashlib
import tests.no_numba
import numpy as np
from linsep.core import costs
from linsep.losses.hinge import HINGE
from linsep.rows.hinge import RowSet
from linsep.rows.logistic import LogisticRows

costs.LOADING = costs.COMPILING = costs.INSTRUCTION = 0.0
for n, d in ((257, 400), (257, 800), (513, 301), (2049, 50)):
    for dtype in (np.float64, np.float32):
        rng = np.random.default_rng(n)
        X, a = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=d + 1)
        rows = LogisticRows(X, np.where(rng.random(n) > 0.5, 1.0, -1.0), np.ones(n))
        assert rows.X is not None  # large enough for the compiled lane
        found = rows.read(a, offset=True, curved=True, threads=1)
        print(hashlib.sha256(found.m.tobytes() + found.v.tobytes()).hexdigest())
        rows = RowSet(X, rows.sign, np.ones(n), HINGE)
        assert rows.X is not None
        found = rows.read(a, 0.1, np.full(n, 0.5), offset=True, threads=1)
        print(hashlib.sha256(found.u.tobytes() + found.curvature.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_a_last_block_of_one_row_has_the_same_bits(tmp_path):
    """numpy may multiply a matrix of one row in another order than machine code does."""
    told = []
    for without in ("", "1"):
        env = {**os.environ, "LINSEP_NO_NUMBA": without, "LINSEP_CACHE_DIR": str(tmp_path)}
        code = [sys.executable, "-c", LAST_BLOCKS]
        done = subprocess.run(code, capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr[-3000:]
        told.append(done.stdout)
    assert told[0] == told[1] and len(told[0].split()) == 16
