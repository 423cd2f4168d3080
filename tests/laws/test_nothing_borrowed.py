"""What belongs to the caller stays the caller's: a fitted model keeps no array that was given.

Parameters are kept as given, since ``clone`` and ``get_params`` need them; all that a fit makes of
them, and of the rows, is its own. Whoever writes into an array afterwards changes no answer.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from tests.laws.test_registries import ESTIMATORS

import linsep
from linsep.errors import GapWarning, LinsepWarning, NotSeparatedWarning
from linsep.risk import Histogram, PlugInClassifier

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": scipy.sparse.csr_array,
}


def table(K=2, n=30):
    rng = np.random.default_rng(7)
    y = np.arange(n) % K
    X = rng.gamma(1.0, size=(n, 4))
    X[np.arange(n), y] += 2.0
    return X, y, rng.uniform(0.5, 2.0, n)


def arrays_of(thing, path="", seen=None, skip=()):
    """(where, array) of all that can be reached from a thing; lists count as arrays."""
    seen = {} if seen is None else seen
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray | list):
        yield path, thing
    if isinstance(thing, dict):
        pairs = list(thing.items())
    elif isinstance(thing, list | tuple):
        pairs = list(enumerate(thing))
    elif isinstance(thing, type | np.ndarray):
        return
    else:
        slots = [s for kind in type(thing).__mro__ for s in getattr(kind, "__slots__", ())]
        pairs = [(s, getattr(thing, s)) for s in slots if hasattr(thing, s)]
        pairs += list(getattr(thing, "__dict__", {}).items())
        cells = getattr(thing, "__closure__", None) or ()
        pairs += [("closure", cell.cell_contents) for cell in cells]
    for name, part in pairs:
        if not (path == "" and name in skip):
            yield from arrays_of(part, f"{path}.{name}", seen)


def one_memory(a, b):
    both = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    return np.shares_memory(a, b) if both else a is b


def spoil(thing):
    """Write other numbers into every array and list."""
    for _, array in list(arrays_of(thing)):
        if isinstance(array, list):
            array[:] = [7.5 if isinstance(part, float | int) else part for part in array]
        elif array.dtype.kind == "f":
            array[...] = np.linspace(0.1, 0.9, array.size).reshape(array.shape)
        elif array.dtype.kind in "iu":
            array[...] = 0


def answers(model, X):
    names = [m for m in ("predict", "decision_function", "predict_proba") if hasattr(model, m)]
    return (
        [getattr(model, name)(X).tobytes() for name in names],
        str(model.certificate_) if hasattr(model, "certificate_") else "",
    )


@pytest.mark.parametrize(("K", "layout"), [*((2, name) for name in LAYOUTS), (3, "rows")])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_labels_and_weights_are_the_callers(name, K, layout):
    X, y, weight = table(K)
    new = X + 0.25
    X = LAYOUTS[layout](X)
    model = getattr(linsep, name)()
    options = {} if name == "Kozinec" else {"sample_weight": weight}  # it knows no weights
    model.fit(X, y, **options)
    given = [part for _, part in arrays_of([X, y, weight]) if isinstance(part, np.ndarray)]
    for where, array in arrays_of(model):
        assert not any(one_memory(array, part) for part in given), where
    before = answers(model, new)
    spoil([X, y, weight])
    assert answers(model, new) == before


def with_parameters():
    """Models with arrays and lists among their parameters; made anew for each test."""
    y = table()[1]
    start = (np.array([[3.0, 1.0, 0.5, 0.25]]), np.array([0.5]))
    return {
        "perceptron": linsep.Perceptron(start=start, max_iter=1),
        "squares": linsep.LeastSquares(targets=np.where(y > 0, 2.0, 1.0)),
        "gradient": linsep.LeastSquares(solver="gradient", start=start, max_iter=1),
        "one row a time": linsep.LeastSquares(solver="widrow-hoff", start=start, max_iter=1),
        "Ho-Kashyap": linsep.HoKashyap(targets=np.ones(len(y))),
        "Gauss": linsep.GaussianClassifier(priors=np.array([0.3, 0.7])),
        "Gauss, lists": linsep.GaussianClassifier(priors=[0.3, 0.7], loss=[[0.0, 1.0], [2.0, 0.0]]),
        "Gauss, loss": linsep.GaussianClassifier(loss=np.array([[0.0, 1.0], [2.0, 0.0]])),
        "in a scheme": linsep.OneVsRest(linsep.GaussianClassifier(priors=np.array([0.3, 0.7]))),
        "weights of classes": linsep.LinearSVM(class_weight={0: 1.0, 1: 2.0}),
        "kernel": linsep.KernelSVM(kernel=linsep.kernels.RBF(gamma=0.1) + linsep.kernels.Linear()),
        "densities": PlugInClassifier(Histogram(smoothing=0.5), priors=np.array([0.3, 0.7])),
    }


@pytest.mark.parametrize("name", with_parameters())
def test_parameters_are_kept_as_given_and_the_fit_has_its_own(name):
    model, (X, y, _) = with_parameters()[name], table()
    own = model.get_params(deep=False)
    model.fit(X, y)
    assert all(getattr(model, key) is value for key, value in own.items())  # clone needs it
    given = [part for _, part in arrays_of(own)]
    for where, array in arrays_of(model, skip=own):
        assert not any(one_memory(array, part) for part in given), where
    before = answers(model, X)
    spoil(own)
    if isinstance(own.get("class_weight"), dict):
        own["class_weight"].update({0: 50.0, 1: 0.01})
    assert answers(model, X) == before


def test_a_plane_by_hand_is_a_copy_too():
    coef, intercept, classes = np.array([[1.0, 2.0]]), np.array([0.5]), np.array(["a", "b"])
    plane = linsep.Linear(coef, intercept, classes=classes)
    coef[:], intercept[:], classes[:] = 0.0, 9.0, "z"
    assert plane.coef_.tolist() == [[1.0, 2.0]] and plane.intercept_.tolist() == [0.5]
    assert plane.classes_.tolist() == ["a", "b"]


def test_a_gap_warning_is_known_to_the_filters_of_scikit_learn():
    assert issubclass(GapWarning, ConvergenceWarning) and issubclass(GapWarning, LinsepWarning)
    assert pickle.loads(pickle.dumps(GapWarning)) is linsep.errors.GapWarning
    X, y, _ = table(n=80)
    y = np.random.default_rng(3).permutation(y)  # labels that nothing tells
    for model in (
        linsep.LogisticRegression(solver="gradient", max_iter=1),
        linsep.LeastSquares(solver="gradient", max_iter=1),
        linsep.LinearSVM(solver="dual-cd", C=1e4, max_iter=1),
    ):
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", NotSeparatedWarning)
            model.fit(X, y)
