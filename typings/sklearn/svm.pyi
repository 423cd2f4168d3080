"""Support vector machines of scikit-learn, with what linsep reads of a fitted one."""

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

class _Machine(ClassifierMixin, BaseEstimator):
    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    class_weight: Any
    classes_: NDArray[Any]
    coef_: Any
    intercept_: NDArray[Any]
    dual_coef_: Any
    support_: NDArray[Any]
    support_vectors_: Any
    n_support_: NDArray[Any]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any: ...
    def predict(self, X: Any) -> NDArray[Any]: ...
    def decision_function(self, X: Any) -> NDArray[Any]: ...

class SVC(_Machine):
    C: float

class NuSVC(_Machine):
    nu: float

class LinearSVC(ClassifierMixin, BaseEstimator):
    C: float
    loss: str
    penalty: str
    multi_class: str
    class_weight: Any
    fit_intercept: bool
    intercept_scaling: float
    classes_: NDArray[Any]
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    def __init__(self, **settings: Any) -> None: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any: ...
    def predict(self, X: Any) -> NDArray[Any]: ...
    def decision_function(self, X: Any) -> NDArray[Any]: ...
