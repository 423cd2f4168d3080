"""Nyström's feature map for every kernel of linsep, by blocks of the Gram matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["KernelMap"]

_LEAST = 1e-12  # singular values below this are taken for it


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
        self.normalization_ = left / np.sqrt(np.maximum(size, _LEAST)) @ right
        self._n_features_out = len(self.component_indices_)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The features of the rows."""
        check_is_fitted(self, "components_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return np.asarray(self.kernel.gram(X, self.components_) @ self.normalization_.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = bool(getattr(self.kernel, "nonnegative", False))
        return tags
