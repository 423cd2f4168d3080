"""Other tools for logistic regression of two classes, each from rough to accurate settings.

Those that are not installed are left out by name. All are asked for the objective of linsep,
|w|^2 / 2 + C sum of losses with a free intercept; where a tool penalises the intercept, as
LIBLINEAR within scikit-learn and snapML do, the constant feature is made large.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from sklearn.linear_model import LogisticRegression

LADDER = (1e-2, 5e-3, 2e-3, 1e-3, 3e-4, 1e-4, 7e-5, 5e-5, 3e-5, 1e-5)
STEEP = (1.0, 1e-1, 3e-2, 1e-2, 1e-3, 3e-4, 1e-4)  # tolerances of second order methods mean more
CONSTANT = 10.0  # the feature that stands for an intercept, where that is penalised
EPOCHS = (6, 12, 25, 50, 75, 100, 200)
STOPS = (5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300)


def missing():
    """Names of the tools that cannot be imported here."""
    return [name for name in ("sklearnex", "liblinear", "snapml") if find_spec(name) is None]


def families(X, y, C, wide):
    """Name of each tool with its runs (words, function that gives (w, b))."""
    yield "sklearn lbfgs", list(_sklearn(LogisticRegression, X, y, C, "lbfgs", STOPS))
    first = ["lbfgs"] if wide else ["newton-cholesky", "lbfgs"]
    for solver in first:
        yield f"sklearn {solver}", list(_sklearn(LogisticRegression, X, y, C, solver))
    if find_spec("snapml"):
        for dual in (False, True):
            yield f"snapml {'dual' if dual else 'primal'}", list(_snapml(X, y, C, dual))
    if find_spec("sklearnex"):
        from sklearnex.linear_model import LogisticRegression as Intel

        for solver in ("lbfgs", "newton-cg") if wide else ("lbfgs", "newton-cg", "newton-cholesky"):
            yield f"sklearnex {solver}", list(_sklearn(Intel, X, y, C, solver))
    if find_spec("liblinear"):
        for kind in (0, 7):
            yield f"liblinear -s {kind}", list(_liblinear(X, y, C, kind))
    for solver in ("newton-cg", "liblinear", "sag"):
        yield f"sklearn {solver}", list(_sklearn(LogisticRegression, X, y, C, solver))


def _sklearn(kind, X, y, C, solver, stops=EPOCHS):
    """By tolerances, or stopped after a number of iterations that nobody knows beforehand."""
    steep = solver in ("newton-cholesky", "newton-cg", "liblinear")
    stopped = solver == "sag" or stops is not EPOCHS
    if stopped:
        settings = [{"max_iter": k, "tol": 1e-12} for k in stops]
    else:
        settings = [{"max_iter": 5000, "tol": t} for t in (STEEP if steep else LADDER)]
    if solver == "liblinear":
        settings = [s | {"intercept_scaling": CONSTANT} for s in settings]
    for setting in settings:

        def run(setting=setting):
            model = kind(C=C, solver=solver, **setting).fit(X, y)
            return np.asarray(model.coef_[0], float), float(np.ravel(model.intercept_)[0])

        word = f"{setting['max_iter']} it" if stopped else f"tol {setting['tol']:g}"
        yield word, run


def _liblinear(X, y, C, kind):
    from liblinear.liblinearutil import parameter, problem, train

    for e in STEEP:
        bias = "-B 1 -R" if kind == 0 else ""  # the intercept without penalty, primal only

        def run(e=e, bias=bias):
            model = train(problem(y, X, bias=1), parameter(f"-s {kind} -c {C} -e {e} {bias} -q"))
            w, b = model.get_decfun()
            turn = 1.0 if model.get_labels()[0] == y.max() else -1.0
            return turn * np.asarray(w), turn * float(b)

        yield f"-e {e:g}", run


def _snapml(X, y, C, dual):
    import snapml

    for epochs in EPOCHS:

        def run(epochs=epochs):
            model = snapml.LogisticRegression(
                max_iter=epochs, regularizer=1.0 / C, dual=dual, n_jobs=2, tol=1e-12,
                fit_intercept=True, intercept_scaling=CONSTANT, random_state=0,
            ).fit(X, y)  # fmt: skip
            # snapML gives the weight of the constant feature, not what it adds to a score
            b = CONSTANT * float(np.ravel(model.intercept_)[0])
            return np.ravel(model.coef_).astype(float), b

        yield f"{epochs} epochs", run
