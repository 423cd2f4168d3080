"""Kernel machines for very many rows: an approximate feature map and a linear machine on it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep._sklearn import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from linsep.core.protocol import Learner
from linsep.errors import DataError, LinsepWarning, SettingError
from linsep.kernels.base import Kernel
from linsep.models.fit import Check, check_value, number, rows_to_judge
from linsep.models.kernel_svm import KernelSVM
from linsep.models.linear_svm import LinearSVM


@dataclass(frozen=True)
class Approximation:
    """A fitted pipeline, and what the approximation cost on a sample."""

    model: Pipeline
    """Feature map and LinearSVM, fitted to all rows."""
    method: str
    n_components: int
    """Of ``model``: as many as asked for, but no more than rows to take them from."""
    trained: int
    """Rows of the sample that both machines were trained on."""
    tested: int
    """Rows held out."""
    exact: float
    """Accuracy of the exact machine, trained on the sample, on the rows held out."""
    approximate: float
    """Accuracy of the approximate one, trained on the same sample."""
    agreement: float
    """Share of the rows held out on which the two agree."""
    whole: float
    """Accuracy of ``model``, trained on all other rows too, on the rows held out."""

    @property
    def loss(self) -> float:
        """exact - approximate: what the approximation costs in accuracy on equal rows."""
        return self.exact - self.approximate

    def predict(self, X: Any) -> Any:
        """Classes of the rows."""
        return self.model.predict(X)

    def __str__(self) -> str:
        return (
            f"{self.method} with {self.n_components} components: accuracy {self.approximate:.4f} "
            f"where the exact machine has {self.exact:.4f} (both trained on {self.trained} rows, "
            f"tested on {self.tested} others, agreeing on {100 * self.agreement:.1f} % of them); "
            f"trained on all rows but these it has {self.whole:.4f}"
        )


def approximate(
    svm: KernelSVM,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    method: str = "nystroem",
    n_components: int = 500,
    sample: int = 2000,
    random_state: int = 0,
) -> Approximation:
    """Train a kernel machine at linear cost, and report what that costs in accuracy.

    The kernel is replaced by a feature map of ``n_components`` numbers, on which a LinearSVM is
    trained with its own proof. On a sample the exact machine is trained too; both are tested on
    rows that neither has seen.

    Parameters
    ----------
    svm : KernelSVM
        Its kernel, C, tol and weights of classes are used; it is not fitted.
    X, y : array or sparse matrix, and labels
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows, in all fits and in the accuracies.
    method : {"nystroem", "random-features"}, default="nystroem"
        Kernel values with some of the rows, for any kernel, or random cosines (RBF only).
    n_components : int, default=500
    sample : int, default=2000
        Rows of the comparison to train on, and at most as many to test on.
    random_state : int, default=0

    Returns
    -------
    Approximation
        ``model`` is the pipeline, trained on all rows.

    Examples
    --------
    >>> import numpy as np, linsep
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = (X ** 2).sum(axis=1) > 1
    >>> fast = linsep.approximate(linsep.KernelSVM(gamma=1.0), X, y, n_components=50, sample=300)
    >>> fast.loss < 0.05, fast.model.predict(X).shape
    (True, (600,))
    """
    check_value("approximate", "svm", svm, Check(_is_machine, "a KernelSVM"))
    for name, value in {"n_components": n_components, "sample": sample}.items():
        check_value("approximate", name, value, number(1, whole=True))
    labels = np.asarray(y)
    problem = clone(svm)._problem(X, labels, sample_weight)
    if problem.n < 10:
        raise DataError(f"a comparison needs 10 rows at least; there are {problem.n}.")
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    kernel = svm._resolved(problem, sample_weight)
    pipeline = _pipeline(svm, kernel, method, n_components, random_state)
    counted = np.arange(problem.n) if problem.row_index is None else problem.row_index
    order = np.random.default_rng(random_state).permutation(counted)
    held = max(1, min(sample, problem.n // 3))
    test, rest = order[:held], order[held:]
    train = np.sort(rest[:sample])

    def trained(model: Learner, rows: Any) -> Any:
        given = {} if weight is None else {_weight_name(model): weight[rows]}
        return model.fit(_safe_indexing(X, rows), labels[rows], **given)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinsepWarning)
        near, most = (
            trained(_resized(pipeline, n_components, len(rows)), rows) for rows in (train, rest)
        )
        exact = clone(svm).set_params(verbose=0, callbacks=None, calibrate=None)
        trained(exact, train)
    _resized(pipeline, n_components, problem.n, copy=False)
    model = trained(pipeline, np.sort(counted))
    new, share = _safe_indexing(X, test), None if weight is None else weight[test]
    found, wanted, truth = near.predict(new), exact.predict(new), labels[test]
    return Approximation(
        model=model,
        method=method,
        n_components=model[0].n_components,
        trained=len(train),
        tested=len(test),
        exact=float(np.average(wanted == truth, weights=share)),
        approximate=float(np.average(found == truth, weights=share)),
        agreement=float(np.average(found == wanted, weights=share)),
        whole=float(np.average(most.predict(new) == truth, weights=share)),
    )


def _is_machine(svm: Any) -> bool:
    return isinstance(svm, KernelSVM)


def _weight_name(model: object) -> str:
    return "machine__sample_weight" if isinstance(model, Pipeline) else "sample_weight"


def _resized(pipeline: Pipeline, wanted: int, n: int, *, copy: bool = True) -> Pipeline:
    """The pipeline with no more components than there are rows to take them from."""
    model = clone(pipeline) if copy else pipeline
    if not isinstance(model[0], RBFSampler):
        model.set_params(map__n_components=min(wanted, n))
    return model


def _pipeline(
    svm: KernelSVM, kernel: Kernel, method: str, n_components: int, seed: int
) -> Pipeline:
    random = kernel.sampler(n_components, seed) if method == "random-features" else None
    if random is not None:
        lift: Any = random
    elif method == "nystroem" and not kernel.given:
        known = kernel.in_sklearn()
        size = {"n_components": n_components, "random_state": seed}
        lift = KernelMap(kernel, **size) if known is None else Nystroem(**size, **known)
    elif method not in ("nystroem", "random-features"):
        raise SettingError(f"method is {method!r}; give 'nystroem' or 'random-features'.")
    elif kernel.given:
        raise SettingError(
            "a Gram matrix has no rows to make features of; give the rows and their kernel."
        )
    else:
        raise SettingError(
            f"method={method!r} has no feature map for {kernel!r}, only for RBF; 'nystroem' takes "
            "every kernel, and AdditiveSVM is exact for kernels of histograms."
        )
    machine = LinearSVM(
        C=svm._cost, tol=svm.tol, fit_intercept=svm.fit_intercept, class_weight=svm.class_weight,
        time_limit=svm.time_limit,
    )  # fmt: skip
    return Pipeline([("map", lift), ("machine", machine)])


# -- Nyström's feature map for every kernel of linsep, by blocks of the Gram matrix ---------------


_RANK = 1e-12  # singular values below this are taken for it


class KernelMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows as their kernel values with some training rows, so that products are about K.

    What scikit-learn's Nystroem is for the kernels it has names for; with other functions that
    would ask for every pair of rows in Python.

    Parameters
    ----------
    kernel : kernel object
        With numbers for all its parameters.
    n_components : int, default=100
        Training rows that are kept.
    random_state : int or None, default=None
        Which ones.
    """

    def __init__(self, kernel: Any, *, n_components: int = 100, random_state: Any = None) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the rows to compare with."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        order = check_random_state(self.random_state).permutation(X.shape[0])
        self.component_indices_ = order[: self.n_components]
        self.components_ = X[self.component_indices_]
        left, size, right = np.linalg.svd(self.kernel.gram(self.components_))
        self.normalization_ = left / np.sqrt(np.maximum(size, _RANK)) @ right
        self._n_features_out = len(self.component_indices_)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The features of the rows."""
        check_is_fitted(self, "components_")
        X = rows_to_judge(self, X)
        return np.asarray(self.kernel.gram(X, self.components_) @ self.normalization_.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = bool(getattr(self.kernel, "nonnegative", False))
        return tags
