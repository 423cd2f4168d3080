"""The certificate of a fit is that of the model which predicts, whatever ended the fit.

The objective is computed here from the public numbers of the fitted model and the rows, in long
double and without a line of the library, and held against the certificate: after limits, Ctrl-C,
warm starts, files, with weights of zero, in float32 and sparse.
"""

from __future__ import annotations

import signal
from contextlib import nullcontext, suppress
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.drive import Observer
from linsep.core.protocol import Status

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")

Long = np.longdouble
BELOW = 1e-13  # an objective is rounded up,
ABOVE = 1e-6  # by no more than costs times what rounding may do
L, K, inf = linsep, linsep.kernels, np.inf


# -- the objective of a model, from its numbers --------------------------------------------------


def dense(X):
    return np.asarray(X.toarray() if scipy.sparse.issparse(X) else X).astype(Long)


def signs(model, y):
    """-1 and 1 of two classes, or of each class against the rest, one column each."""
    y = np.asarray(y)
    if len(model.classes_) == 2:
        return np.where(y == model.classes_[1], 1, -1)[:, None]
    return np.where(y[:, None] == model.classes_, 1, -1)


def machines(squared, values, cost, rows, loss="hinge"):
    """|w|^2 / 2 and losses of machines in columns; a hard one has no loss, or no objective."""
    if np.isinf(cost):
        return squared.sum() / 2 if values[rows > 0].min() >= 1 - 1e-8 else Long(inf)
    slack = np.maximum(0, 1 - values)
    return (
        squared.sum() / 2 + cost * (rows[:, None] * (slack if loss == "hinge" else slack**2)).sum()
    )


def lead(scores, own):
    return scores[own] - np.where(own, -np.inf, scores).max(axis=1)


def planes(model, X, y, rows):
    W, b = np.asarray(model.coef_).astype(Long), np.asarray(model.intercept_).astype(Long)
    scores, kind = dense(X) @ W.T + b, type(model).__name__
    sign, squared = signs(model, y), (W * W).sum(axis=1)
    own, values = sign > 0, sign * scores
    if kind == "LinearSVM":
        cost = Long(model.C)
        if model.multi_class == "crammer-singer" and len(model.classes_) > 2:
            values, squared = lead(scores, own)[:, None], squared.sum()[None]
        return machines(squared, values, cost, rows, model.loss), scores
    if kind == "LogisticRegression":
        losses = np.logaddexp(0, -values)[:, 0]
        if len(model.classes_) > 2:
            top = scores.max(axis=1)
            losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - scores[own]
        free = np.isinf(model.C)
        return (0 if free else squared.sum() / 2) + (1 if free else model.C) * rows @ losses, scores
    if kind == "LeastSquares":
        return (rows[:, None] * (values - 1) ** 2).sum(), scores
    if len(model.classes_) > 2:  # of planes that separate: against every rival
        values = (scores[own][:, None] - scores)[~own].reshape(len(scores), -1)
    return np.maximum(-values[rows > 0], 0).sum(), scores


def products(kernel, A, B):
    A, B = dense(A), dense(B)
    if isinstance(kernel, K.RBF):
        squares = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * (A @ B.T)
        return np.exp(-Long(kernel.gamma) * np.maximum(squares, 0))
    if isinstance(kernel, K.Polynomial):
        return (Long(kernel.gamma) * (A @ B.T) + Long(kernel.coef0)) ** int(kernel.degree)
    assert isinstance(kernel, K.Linear), kernel
    return A @ B.T


def duels(model):
    """Classes, coefficients and offset of each pair, >= 0 for the second, as LIBSVM stores them."""
    dual, b = np.asarray(model.dual_coef_).astype(Long), np.asarray(model.intercept_).astype(Long)
    if len(model.classes_) == 2:
        yield (0, 1), dual[0], b[0]
        return
    edge = np.concatenate([[0], np.cumsum(model.n_support_)])
    for k, (i, j) in enumerate(combinations(range(len(model.classes_)), 2)):
        coef = np.zeros(dual.shape[1], Long)
        coef[edge[i] : edge[i + 1]] = -dual[j - 1, edge[i] : edge[i + 1]]
        coef[edge[j] : edge[j + 1]] = -dual[i, edge[j] : edge[j + 1]]
        yield (i, j), coef, -b[k]


def kernels(model, X, y, rows):
    to, among = (
        products(model.kernel_, Z, model.support_vectors_) for Z in (X, model.support_vectors_)
    )
    cost = Long(model.C if model.nu is None else model.C_)
    cost = Long(1) if model.overlap_ is not None else cost  # no hard margin exists
    total, scores = Long(0), []
    for pair, coef, b in duels(model):
        f = to @ coef + b
        first, second = (np.asarray(y) == model.classes_[k] for k in pair)
        some = (first | second) & (rows > 0)
        values = np.where(second, f, -f)[some, None]
        total += machines((coef @ among @ coef)[None], values, cost, rows[some])
        scores.append(f)
    return total, np.column_stack(scores)


def means(power, A, B):
    if power == -inf:
        return np.minimum(A, B)
    if power == 0:
        return np.sqrt(A * B)
    with np.errstate(all="ignore"):
        mean = ((A ** Long(power) + B ** Long(power)) / 2) ** (1 / Long(power))
    return np.where((A > 0) & (B > 0), mean, 0)


def functions(model, X, y, rows):
    f, X = model.function_, dense(X)
    scores = np.zeros((len(X), f.coef.shape[1]), Long) + model.intercept_
    squared = np.zeros(f.coef.shape[1], Long)
    for k in range(f.d):
        own = slice(f.start[k], f.start[k + 1])
        at, coef = f.values[own].astype(Long), f.coef[own].astype(Long)
        scores += means(f.power, X[:, [k]], at) @ coef
        squared += np.einsum("ik,ij,jk->k", coef, means(f.power, at[:, None], at), coef)
    return machines(squared, signs(model, y) * scores, Long(model.C), rows), scores


OBJECTIVES = {"KernelSVM": kernels, "AdditiveSVM": functions}


def row_weights(model, y, weight):
    rows = np.ones(len(y)) if weight is None else weight
    by_class = getattr(model, "class_weight", None)
    if by_class == "balanced":
        total = {c: rows[y == c].sum() for c in np.unique(y)}
        rows = rows * np.array([rows.sum() / len(total) / total[c] for c in y])
    elif by_class is not None:
        rows = rows * np.array([by_class.get(c, 1.0) for c in y])
    return rows.astype(Long)


def held(model, X, y, rows, certificate):
    """The certificate of a model that is no scheme, and its decisions."""
    find = OBJECTIVES.get(type(model).__name__, planes)
    objective, scores = find(model, X, y, rows)
    told = Long(certificate.objective)
    if np.isfinite(objective):
        room = 1e-13 * getattr(certificate, "total", 0.0) + 1e-13 * (find is planes)
        assert objective * (1 - BELOW) - room <= told <= objective * (1 + ABOVE) + room
    else:
        assert told == inf
    two = len(model.classes_) == 2
    if isinstance(model, L.KernelSVM) and not two:
        given = -model.set_params(decision_function_shape="ovo").decision_function(X)
    else:
        given = model.decision_function(X)
    scores = scores[:, 0] if two else scores
    size = 1e-9 * (1 + np.abs(scores).max())
    assert np.abs(given - scores).max() <= size
    if two:
        values = signs(model, y)[:, 0] * scores
        sure, perhaps = ((values[rows > 0] <= edge).sum() for edge in (-size, size))
        assert sure <= certificate.errors <= perhaps


def check(model, X, y, weight=None):
    rows = row_weights(model, y, weight)
    if not isinstance(model, L.OneVsRest | L.OneVsOne):
        held(model, X, y, rows, model.certificate_)
        return
    for (machine, some, labels), certificate in zip(model.binary_problems(y), model.certificates_):
        if not getattr(machine, "untrained", False):
            held(machine, X[some], labels, rows[some], certificate)


# -- who is fitted, and what happens to the fit ---------------------------------------------------

MODELS = {
    "hinge": lambda: L.LinearSVM(),
    "hinge, a large cost": lambda: L.LinearSVM(1e5),
    "hinge, no offset": lambda: L.LinearSVM(10.0, fit_intercept=False),
    "squared hinge": lambda: L.LinearSVM(loss="squared_hinge"),
    "hard margin": lambda: L.LinearSVM(inf),
    "hard margin, no offset": lambda: L.LinearSVM(inf, fit_intercept=False),
    "rivals": lambda: L.LinearSVM(multi_class="crammer-singer"),
    "newton": lambda: L.LinearSVM(solver="newton"),
    "dual-cd": lambda: L.LinearSVM(solver="dual-cd", tol=1e-3),
    "proximal": lambda: L.LinearSVM(solver="proximal-newton"),
    "logistic": lambda: L.LogisticRegression(),
    "likelihood": lambda: L.LogisticRegression(inf),
    "reference": lambda: L.LogisticRegression(reference="a"),
    "gradient": lambda: L.LogisticRegression(solver="gradient", tol=1e-3, max_iter=200),
    "rbf": lambda: L.KernelSVM(),
    "rbf, hard": lambda: L.KernelSVM(inf, gamma=1.0),
    "polynomial, hard": lambda: L.KernelSVM(inf, kernel=K.Polynomial(2)),
    "linear kernel, no offset": lambda: L.KernelSVM(5.0, kernel="linear", fit_intercept=False),
    "nu": lambda: L.KernelSVM(nu=0.4),
    "intersection": lambda: L.AdditiveSVM(),
    "chi2": lambda: L.AdditiveSVM("chi2", C=10.0),
    "hellinger": lambda: L.AdditiveSVM("hellinger"),
    "squares": lambda: L.LeastSquares(),
    "Widrow-Hoff": lambda: L.LeastSquares(solver="widrow-hoff", max_iter=20),
    "perceptron": lambda: L.Perceptron(max_iter=50),
    "Kozinec": lambda: L.Kozinec(max_iter=50),
    "Ho-Kashyap": lambda: L.HoKashyap(max_iter=50),
    "Kesler": lambda: L.Kesler(),
    "Kesler of machines": lambda: L.Kesler(L.LinearSVM()),
    "one against the rest": lambda: L.OneVsRest(),
    "rest of functions": lambda: L.OneVsRest(L.AdditiveSVM()),
    "duels": lambda: L.OneVsOne(L.LinearSVM(inf)),
    "duels of nu": lambda: L.OneVsOne(L.KernelSVM(nu=0.3)),
}  # fmt: skip
TWO_ONLY = {"nu"}
UNWEIGHTED = {"Kozinec"}


class After(Observer):
    """Asks for an end, or presses Ctrl-C, at a moment of the run."""

    def __init__(self, at, press):
        self.at, self.press, self.seen = at, press, 0

    def moment(self, now):
        self.seen += 1
        if self.press and self.seen == self.at:
            signal.raise_signal(signal.SIGINT)
        return not self.press and self.seen >= self.at


def table(kind, classes):
    rng = np.random.default_rng(classes)
    y, X = np.arange(26) % classes, rng.gamma(1.0, size=(26, 4))
    if kind == "apart":
        X[np.arange(26), y] += 9.0
    elif kind == "mixed":
        X[13:] = X[:13]  # rows twice, some with other labels
    else:  # wide
        X = rng.gamma(1.0, size=(12, 20)) * 10.0 ** rng.integers(-2, 3, size=20)
        y = y[:12]
    return X, np.array(["a", "b", "c"])[y]


def has(model, name):
    return name in model.get_params(deep=False)


def fit_weighted(model, X, y, rng, path):
    weight = rng.choice([0.0, 0.5, 3.0], len(y))
    weight[:3] = 1.0
    return model.fit(X, y, sample_weight=weight), X, weight


def fit_balanced(model, X, y, rng, path):
    return fit_weighted(model.set_params(class_weight="balanced"), X, y, rng, path)


def fit_class_weights(model, X, y, rng, path):
    return model.set_params(class_weight={"a": 3.0, "b": 0.25}).fit(X, y), X, None


def fit_single(model, X, y, rng, path):
    return model.fit(X.astype(np.float32), y), X.astype(np.float32), None


def fit_sparse(model, X, y, rng, path):
    X = scipy.sparse.csr_array(X * (rng.random(X.shape) < 0.6))
    return model.fit(X, y), X, None


def fit_few_steps(model, X, y, rng, path):
    return (model.set_params(max_iter=2).fit(X, y), X, None) if has(model, "max_iter") else None


def fit_no_time(model, X, y, rng, path):
    return model.set_params(time_limit=0).fit(X, y), X, None


def fit_interrupted(model, X, y, rng, path):
    if not has(model, "callbacks"):
        return None
    return model.set_params(callbacks=[After(2, press=True)]).fit(X, y), X, None


def fit_asked_to_stop(model, X, y, rng, path):
    if not has(model, "callbacks"):
        return None
    model.set_params(callbacks=[After(1, press=False)]).fit(X, y)
    assert model.status_ is not Status.TIME_LIMIT  # nobody has set one
    return model, X, None


def fit_again(model, X, y, rng, path):
    if not has(model, "warm_start"):
        return None
    model.set_params(warm_start=True).fit(X, y)
    C = model.get_params(deep=False).get("C")
    if C is not None and np.isfinite(C) and getattr(model, "nu", None) is None:
        model.set_params(C=7.0 * C)
    weighted = type(model).__name__ not in UNWEIGHTED
    return fit_weighted(model, X, y, rng, path) if weighted else (model.fit(X, y), X, None)


def fit_and_file(model, X, y, rng, path):
    linsep.save(model.fit(X, y), path)
    return linsep.load(path), X, None


def fit_loosely(model, X, y, rng, path):
    return (model.set_params(tol=0.3).fit(X, y), X, None) if has(model, "tol") else None


WAYS = {
    way.__name__: way
    for way in (
        fit_weighted, fit_balanced, fit_class_weights, fit_single, fit_sparse, fit_few_steps,
        fit_no_time, fit_interrupted, fit_asked_to_stop, fit_again, fit_and_file, fit_loosely,
    )
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_the_certificate_is_that_of_the_model(name, way, tmp_path):
    turn = list(MODELS).index(name) + list(WAYS).index(way)
    if name in UNWEIGHTED and way in ("fit_weighted", "fit_balanced", "fit_class_weights"):
        return
    for k in (turn, turn + 1):
        kind = ("apart", "mixed", "wide")[k % 3]
        X, y = table(kind, 2 if name in TWO_ONLY else 2 + k % 2)
        model, rng = MODELS[name](), np.random.default_rng(turn)
        found = None
        with suppress(linsep.errors.SettingError) if "nu" in name else nullcontext():
            found = WAYS[way](model, X, y, rng, tmp_path / "m.json")  # or no machine has this nu
        if found is not None:
            check(found[0], found[1], y, found[2])
            assert found[0].certificate_.check(found[1], y, found[2])
