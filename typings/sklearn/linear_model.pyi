"""Linear classifiers of scikit-learn, with what linsep reads of a fitted one."""

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

class _Planes(ClassifierMixin, BaseEstimator):
    class_weight: Any
    fit_intercept: bool
    classes_: NDArray[Any]
    coef_: Any
    intercept_: NDArray[Any]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any: ...
    def predict(self, X: Any) -> NDArray[Any]: ...
    def decision_function(self, X: Any) -> NDArray[Any]: ...

class LogisticRegression(_Planes):
    C: float
    penalty: Any
    intercept_scaling: float
    def __init__(self, **settings: Any) -> None: ...

class LogisticRegressionCV(LogisticRegression):
    C_: NDArray[Any]

class RidgeClassifier(_Planes):
    alpha: Any

class RidgeClassifierCV(_Planes):
    alpha: Any
    alpha_: float

class SGDClassifier(_Planes):
    loss: str
    penalty: Any
    alpha: float

class Perceptron(_Planes):
    penalty: Any
