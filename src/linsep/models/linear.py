"""A linear rule given by its numbers: a hyperplane as an object, and a classifier without fit."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from linsep._sklearn import BaseEstimator, ClassifierMixin
from linsep.core.protocol import has_planes, is_pipeline, last_step
from linsep.core.words import count
from linsep.criteria import Criterion
from linsep.errors import DataError, LabelError, ModelError, SettingError
from linsep.losses.table import LOSSES
from linsep.models.explain import Explanation, Ranking, explain_linear, ranking_of
from linsep.proofs.sides import Sides, Weights, sides_of, sure_scores

Array = NDArray[np.float64]

_SIGNS = (-1, 1)
CLAIMED = (*LOSSES, "perceptron", "squares")
ZERO = ("positive", "negative", "reject")
_SAME_PLANE = 1e-12  # floats that differ by less, relative to the largest, are the same plane
_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")


class Linear(ClassifierMixin, BaseEstimator):
    """A plane w . x + b = 0 from anywhere: to predict, to measure with, to be certified.

    It is a fitted classifier; ``fit`` leaves it as it is. Integers and fractions are kept as they
    are, and on which side a row lies is never a matter of rounding.

    Parameters
    ----------
    coef : array of shape (d,) or (1 or K, d)
        The normal vector w, which points to the positive side; with K > 2 classes one row a class.
    intercept : number or array, default=0.0
        b.
    classes : sequence or None, default=(-1, 1)
        Labels in sorted order, the last of two is the positive class. With -1 and 1, which are
        the default, any two other labels in y are taken in sorted order as well, such as 0 and 1.
        None is the default; K planes have the classes 0, 1, ... then.
    loss : {"hinge", "squared_hinge", "logistic", "perceptron", "squares"}, Criterion or None
        What ``linsep.certify`` compares it with; None, the default, is the hinge. A criterion of
        ``linsep.criteria`` stands for its name.
    C : float or None, default=None
        Cost of the losses in |w|^2 / 2 + C sum L(y f(x)); inf is the hard margin; None is 1, and
        no penalty for "perceptron" and "squares".
    penalised : float or None, default=None
        None: the intercept is free. A number: the intercept is the weight of a constant
        feature of that value and counts in |w|, as in LIBLINEAR.
    fit_intercept : bool, default=True
        False: the objective has no intercept, which must be 0 then.
    zero : {"positive", "negative", "reject"}, default="positive"
        What ``predict`` gives for a score of exactly 0. "reject" is a label of its own: 0 beside
        -1 and 1, "reject" beside text.
    feature_names : sequence of str or None, default=None
        Names of the columns, for sentences and data frames.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_
        As those of any fitted linear classifier, in floats.

    See Also
    --------
    linsep.certify : How far it is from the best plane of an objective.
    linsep.separators : The set of all planes that separate a table.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("mse-1")
    >>> plane = linsep.Linear([2, -1], -2)
    >>> print(plane, "|", plane.separates(table.X, table.y))
    2 x1 - x2 >= 2 | the plane separates: all 4 rows lie strictly on the own side, margin 0.447214
    >>> plane == linsep.Linear.parse("x1 >= 1 + x2/2"), round(plane.origin_distance, 6)
    (True, -0.894427)
    """

    coef_: Array
    intercept_: Array
    classes_: NDArray[Any]
    feature_names_in_: NDArray[Any]
    n_features_in_: int

    def __init__(
        self,
        coef: ArrayLike,
        intercept: ArrayLike = 0.0,
        classes: Any = _SIGNS,
        loss: str | Criterion | None = None,
        C: float | None = None,
        *,
        penalised: float | None = None,
        fit_intercept: bool = True,
        zero: str = "positive",
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.coef = coef
        self.intercept = intercept
        self.classes = classes
        self.loss = loss
        self.C = C
        self.penalised = penalised
        self.fit_intercept = fit_intercept
        self.zero = zero
        self.feature_names = feature_names
        self._settle()

    def set_params(self, **params: Any) -> Self:
        """Change parameters, as scikit-learn does; the plane follows."""
        super().set_params(**params)
        self._settle()
        return self

    def _settle(self) -> None:
        """Check the parameters, and make the attributes of a fitted classifier."""
        w, self._exact_coef = _numbers("coef", self.coef)
        b, self._exact_intercept = _numbers("intercept", self.intercept)
        if w.ndim > 2:
            raise ModelError(f"coef has {w.ndim} axes; give one row of weights for each plane.")
        self.coef_, self.intercept_ = np.atleast_2d(w), np.atleast_1d(b)
        if self.intercept_.shape != (len(self.coef_),):
            raise ModelError(
                f"coef has shape {self.coef_.shape} and intercept {self.intercept_.shape}; "
                "give one intercept for each row of coef."
            )
        if len(self.coef_) == 1 and not self.coef_.any() and not any(self._weights.exact[:-1]):
            raise DataError(
                "the normal vector is zero: 0 . x + b has one sign everywhere, so there is no "
                "boundary and no side. A plane needs at least one weight that is not 0."
            )
        self._check_objective()
        self.n_features_in_ = self.coef_.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if self.feature_names is not None:
            names = np.array([str(name) for name in self.feature_names], dtype=object)
            if len(names) != self.n_features_in_:
                raise SettingError(
                    f"feature_names has {count(len(names), 'name')} for "
                    f"{count(self.n_features_in_, 'weight')}."
                )
            self.feature_names_in_ = names
        self._name_classes()

    def _check_objective(self) -> None:
        if self.loss is not None and self.loss_name not in CLAIMED:
            raise SettingError(
                f"loss must be None, one of {', '.join(CLAIMED)}, or such a criterion of "
                f"linsep.criteria. Got {self.loss!r} instead."
            )
        if self.C is not None and not _positive(self.C):
            raise SettingError(f"C must be None or a number > 0. Got {self.C!r} instead.")
        if self.penalised is not None and not (
            _positive(self.penalised) and np.isfinite(self.penalised)
        ):
            raise SettingError(
                f"penalised must be None or a finite number > 0, the value of the constant "
                f"feature. Got {self.penalised!r} instead."
            )
        if not self.fit_intercept and (self.penalised is not None or self.intercept_.any()):
            raise SettingError("fit_intercept=False leaves no room for an intercept; it must be 0.")
        if self.zero not in ZERO:
            raise SettingError(f"zero must be one of {', '.join(ZERO)}. Got {self.zero!r} instead.")

    @property
    def loss_name(self) -> str:
        """The name of the loss."""
        if isinstance(self.loss, Criterion):
            return self.loss.name
        return "hinge" if self.loss is None else str(self.loss)

    @property
    def cost(self) -> float | None:
        """C, or that of the criterion."""
        given = self.loss.C if isinstance(self.loss, Criterion) else None
        return given if self.C is None else float(self.C)

    def _name_classes(self) -> None:
        K = max(2, len(self.coef_))
        standard = self.classes is None or list(self.classes) == list(_SIGNS)
        self.any_labels_ = standard
        if standard:
            self.classes_ = np.array(_SIGNS) if len(self.coef_) == 1 else np.arange(K)
            return
        self.classes_ = np.atleast_1d(np.array(self.classes))
        if len(self.classes_) != K or (self.classes_[:-1] >= self.classes_[1:]).any():
            raise SettingError(
                f"classes is {self.classes_.tolist()}; the classes of "
                f"{count(len(self.coef_), 'plane')} are {K} different labels in sorted order, the "
                "last of two being the positive class. To exchange the sides, turn the signs of "
                "coef and intercept."
            )

    # -- other ways to make one -------------------------------------------------------------

    @classmethod
    def through(
        cls, point: ArrayLike, normal: ArrayLike | None = None, direction: Any = None, **more: Any
    ) -> Self:
        """The plane through a point, by its normal vector or by directions that lie in it.

        Parameters
        ----------
        point : array of shape (d,)
            u.
        normal : array of shape (d,), optional
            w: the plane w . (x - u) = 0; w points to the positive side.
        direction : array of shape (d,) or (d - 1, d), optional
            In the plane v: the line u + t v, whose positive side lies to the left of v. In more
            dimensions d - 1 independent directions, whose cross product is the normal vector.
        **more
            Further parameters, such as classes.

        Examples
        --------
        >>> import linsep
        >>> line = linsep.Linear.through([1, 0], direction=[1, 2])
        >>> print(line, "|", line.same_line(linsep.Linear.through([2, 2], normal=[4, -2])))
        -2 x1 + x2 >= -2 | True
        """
        if (normal is None) == (direction is None):
            raise SettingError("give either normal= or direction=, the other follows from it.")
        u = _vector("point", point)
        w = _normal_to(direction, len(u)) if normal is None else _vector("normal", normal)
        if len(w) != len(u):
            raise DataError(f"point has {len(u)} coordinates and the vector {len(w)}.")
        return cls(_plain(w), _plain([-_dot(w, u)])[0], **more)

    @classmethod
    def from_augmented(cls, a: ArrayLike, position: str = "last", **more: Any) -> Self:
        """The plane of an augmented vector [w, b] (lecture 004) or [b, w] (000, 003).

        Examples
        --------
        >>> import linsep
        >>> one = linsep.Linear.from_augmented([2, -1, -2])
        >>> one == linsep.Linear.from_augmented([-2, 2, -1], position="first")
        True
        """
        if position not in ("first", "last"):
            raise SettingError(f'position is {position!r}; give "first" or "last".')
        given = _vector("a", a)
        if len(given) < 2:
            raise DataError(f"a has {count(len(given), 'entry', 'entries')}; w and b are needed.")
        given = given if position == "last" else [*given[1:], given[0]]
        return cls(_plain(given[:-1]), _plain(given[-1:])[0], **more)

    @classmethod
    def parse(cls, text: str, feature_names: Sequence[str] | None = None, **more: Any) -> Self:
        """The plane of a formula such as "2*x1 - x2 >= 2".

        The positive side is where it holds. ">" and "<" leave a score of 0 to the negative class,
        "=" and a formula without a comparison are taken as >=. A number before a name is a
        factor: "2 x1".

        Parameters
        ----------
        text : str
        feature_names : sequence of str, optional
            Names of all columns; names that are no words stand between backticks. Without it
            they are x1, x2, ..., as many as the formula mentions.
        **more
            Further parameters, such as classes.
        """
        w, b, strict = _Formula(text, feature_names).plane()
        if strict:
            more.setdefault("zero", "negative")
        return cls(_plain(w), _plain([b])[0], feature_names=feature_names, **more)

    @classmethod
    def of(cls, model: object) -> Self:
        """The plane, or the planes, of a fitted linear model of any library.

        Scalers in front of it in a pipeline are folded into the weights, so that it takes the
        rows as they are.
        """
        last: object = last_step(model)
        if not has_planes(last):
            raise ModelError(
                f"{type(last).__name__} has no coef_ and classes_: it is no fitted linear "
                "classifier, so there is no plane to take from it."
            )
        if isinstance(last, Linear) and last is model:
            return cls(**last.get_params())
        dense = last.coef_.toarray() if hasattr(last.coef_, "toarray") else last.coef_
        coef = np.atleast_2d(np.asarray(dense, dtype=np.float64))
        offset = np.ravel(np.asarray(last.intercept_, dtype=np.float64))
        offset = np.broadcast_to(offset, len(coef)).copy()
        for name, step in reversed(model.steps[:-1] if is_pipeline(model) else []):
            coef, offset = _unscaled(name, step, coef, offset)
        loss, C = getattr(last, "loss", None), getattr(last, "C", None)
        known = isinstance(loss, str) and loss in LOSSES
        names = getattr(model, "feature_names_in_", None)
        return cls(
            coef, offset, classes=np.array(last.classes_), loss=loss if known else None,
            C=C if _positive(C) else None, fit_intercept=getattr(last, "fit_intercept", True),
            zero=getattr(last, "zero", "positive"),
            feature_names=None if names is None else list(names),
        )  # fmt: skip

    # -- a classifier -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Nothing is learned: the plane is given. X and y are only checked."""
        self._class_numbers(y, self._read(X).shape[0])
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def decision_function(self, X: Any) -> Array:
        """Scores w . x + b; a score of 0 is exactly 0, and every sign is right."""
        X = self._read(X)
        scores = np.column_stack([sure_scores(self._plane(k), X)[0] for k in range(self._K)])
        return np.asarray(scores[:, 0]) if self._K == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of the rows; ``zero`` says what a score of exactly 0 is."""
        scores = self.decision_function(X)
        if scores.ndim > 1:
            return np.asarray(self.classes_[scores.argmax(axis=1)])
        return decided(scores, self.classes_, self.zero)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose class is predicted; a rejected row is wrong."""
        own = self._class_numbers(y, np.shape(X)[0])
        right = self.predict(X) == self.classes_[own]
        return float(np.average(right, weights=sample_weight))

    def explain(self, row: Any) -> Explanation:
        """The score of one row as a sum of weight x value, in the units of the data.

        With more than two classes it is the lead of the best class over the second.
        """
        return explain_linear(self, row)

    def ranking(self, X: Any = None) -> Ranking:
        """Features by the size of their weights, with a warning of what that does not say.

        Rows X make the weights comparable: sizes are multiplied by the spread of the columns.
        """
        return ranking_of(self, X)

    # -- geometry ---------------------------------------------------------------------------

    def side(self, X: Any) -> NDArray[np.int8]:
        """+1 in the half-space that w points to, -1 in the other, 0 on the plane."""
        return np.sign(sure_scores(self._weights, self._read(X))[0]).astype(np.int8)

    def distance(self, X: Any) -> Array:
        """Signed distance (w . x + b) / |w| of the rows, in the units of X."""
        return sure_scores(self._weights, self._read(X))[0] / self._length

    def foot(self, X: Any) -> Array:
        """The point of the plane nearest to each row: x - (w . x + b) / |w|^2 w."""
        X = self._read(X)
        scores, w = sure_scores(self._weights, X)[0], self._weights.coef
        dense = X.toarray() if hasattr(X, "toarray") else X
        return np.asarray(dense, np.float64) - np.outer(scores / self._length, w / self._length)

    @property
    def origin_distance(self) -> float:
        """Signed distance b / |w| of the origin, negative if it lies on the negative side."""
        return self._weights.intercept / self._length

    @property
    def normal(self) -> Array:
        """The normal vector of length 1."""
        return np.asarray(self._weights.coef / self._length)

    @property
    def shift(self) -> Array:
        """From the parallel plane through the origin to this one: the foot of the origin.

        With it as x0 the plane has the point form w . (x - x0) = 0.
        """
        return np.asarray(-self.origin_distance * self.normal)

    def parallel(self, point: ArrayLike | None = None) -> Linear:
        """The parallel plane through a point, or through the origin."""
        exact = self._weights.exact
        u = [Fraction(0)] * self.n_features_in_ if point is None else _vector("point", point)
        if len(u) != self.n_features_in_:
            raise DataError(
                f"point has {len(u)} coordinates, the plane {self.n_features_in_} weights."
            )
        params = self.get_params() | {"fit_intercept": True}
        w = [Fraction(v) for v in exact[:-1]]
        return Linear(**params | {"coef": _plain(w), "intercept": _plain([-_dot(w, u)])[0]})

    def separates(self, X: Any, y: Any) -> Sides:
        """Whether the plane separates labelled rows: strict, weak, which rows are wrong, margin.

        Examples
        --------
        >>> import linsep
        >>> table = linsep.data.load("two-separators")
        >>> verdict = linsep.Linear([0, 1], 1).separates(table.X, table.y)
        >>> verdict.strict, verdict.weak, verdict.wrong.tolist()
        (False, True, [0])
        """
        plane, X = self._weights, self._read(X)
        own = self._class_numbers(y, X.shape[0])
        if not len(own):
            raise DataError("X has no rows; there is nothing to separate.")
        return sides_of(plane, X, np.where(own == 1, 1.0, -1.0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and self._factor(other) == 1

    def __hash__(self) -> int:  # equal planes have weights that differ by a factor
        return hash((Linear, self.coef_.shape))

    def same_line(self, other: Linear) -> bool:
        """Whether the boundaries are the same; the sides may be exchanged."""
        if not isinstance(other, Linear):
            raise DataError(
                f"same_line compares with another Linear, not {type(other).__name__}; "
                "Linear.of(model) makes one of a fitted model."
            )
        return self._factor(other) != 0

    def _factor(self, other: Linear) -> int:
        """Sign of the factor between the weights, 0 if there is none."""
        if self.coef_.shape != other.coef_.shape:
            return 0
        one, two = _direction(self), _direction(other)
        exact = all(isinstance(v, Rational) for v in (*self._given, *other._given))
        for sign in (1, -1) if self._K == 1 else (1,):
            if one == [sign * v for v in two]:
                return sign
            far = max(abs(p - sign * q) for p, q in zip(one, two))
            if not exact and far <= _SAME_PLANE:
                return sign
        return 0

    # -- inside -----------------------------------------------------------------------------

    @property
    def _K(self) -> int:
        return len(self.coef_)

    @property
    def _weights(self) -> Weights:
        if self._K != 1:
            raise ModelError(f"there are {self._K} planes; a distance belongs to one of them.")
        return self._plane(0)

    def _plane(self, k: int) -> Weights:
        d = self.coef_.shape[1]
        w, b = self._exact_coef, self._exact_intercept
        exact = self.coef_[k].tolist() if w is None else w[k * d : (k + 1) * d]
        last = float(self.intercept_[k]) if b is None else b[k]
        return Weights(self.coef_[k], float(self.intercept_[k]), (*exact, last))

    @property
    def _given(self) -> list[Any]:
        """All numbers as they were given."""
        return [v for k in range(self._K) for v in self._plane(k).exact]

    @property
    def _length(self) -> float:
        """|w|, without overflow."""
        w = self._weights.coef
        largest = float(np.abs(w).max()) or 1.0
        return largest * float(np.linalg.norm(w / largest))

    def _read(self, X: Any) -> Any:
        """Rows as floats, sparse as they are; rational numbers are left as objects."""
        if not hasattr(X, "tocsr") and not hasattr(X, "columns"):
            rows = np.asarray(X)
            rational = rows.dtype == object and all(isinstance(v, Rational) for v in rows.flat)
            if rational and rows.shape[1:] == (self.n_features_in_,):
                return rows
        columns, names = getattr(X, "columns", None), self.feature_names
        if columns is not None and names is not None and list(columns) != list(names):
            raise DataError(f"X has the columns {list(columns)}, the plane {list(names)}.")
        try:
            X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        except ValueError as error:
            raise DataError(str(error)) from error
        if X.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {count(X.shape[1], 'feature')}, the plane "
                f"{count(self.n_features_in_, 'weight')}."
            )
        return X

    def _class_numbers(self, y: Any, n: int) -> NDArray[np.intp]:
        """0 or 1, or the number of the class, of each label."""
        labels = np.ravel(np.asarray(y))
        if len(labels) != n:
            raise LabelError(f"X has {count(n, 'row')} and y {count(len(labels), 'label')}.")
        found = np.unique(labels)
        known = self.classes_
        if self.any_labels_ and len(found) == len(known) and not np.isin(found, known).all():
            known = found
        foreign = np.flatnonzero(~np.isin(labels, known))
        if foreign.size:
            raise LabelError(
                f"y has the class {labels[foreign[0]].item()!r} in row {foreign[0]}; the plane has "
                f"the classes {known.tolist()}. Say which are meant with classes=."
            )
        return np.searchsorted(known, labels)

    # -- words and files --------------------------------------------------------------------

    def __str__(self) -> str:
        given = self.feature_names
        names = [f"x{j + 1}" for j in range(self.n_features_in_)] if given is None else list(given)
        if self._K == 1:
            exact = self._weights.exact
            sign = ">" if self.zero == "negative" else ">="
            return f"{_sum(exact[:-1], names)} {sign} {_text(-exact[-1])}"
        return "; ".join(
            f"score of {label} = {_sum([*exact[:-1], exact[-1]], [*names, ''])}"
            for label, exact in zip(self.classes_, (self._plane(k).exact for k in range(self._K)))
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        big = self.coef_.size > 12
        words = f"{self._K} x {self.n_features_in_}" if big else str(self)
        return f"Linear({words})"

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        names = ("penalised", "fit_intercept", "zero")
        d = self.n_features_in_
        w, b = self._exact_coef, self._exact_intercept
        rows = None if w is None else [w[k * d : (k + 1) * d] for k in range(self._K)]
        return {
            "coef": self.coef_ if rows is None else rows,
            "intercept": self.intercept_ if b is None else b,
            "classes": None if self.any_labels_ else self.classes_.tolist(),
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "loss": None if self.loss is None else self.loss_name,
            "C": self.cost,
            **{name: getattr(self, name) for name in names},
        }

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The rule of a model file; see ``linsep.load``."""
        names = ("loss", "C", "penalised", "fit_intercept", "classes")
        more = {name: fields[name] for name in ("zero", "feature_names") if name in fields}
        given = {name: fields[name] for name in names}
        return cls(fields["coef"], fields["intercept"], **given, **more)


def decided(scores: Array, classes: NDArray[Any], zero: str) -> NDArray[Any]:
    """The class of each score of two classes; zero says what a score of exactly 0 is.

    >>> decided(np.array([-1.0, 0.0, 2.0]), np.array([-1, 1]), "reject").tolist()
    [-1, 0, 1]
    >>> decided(np.array([-1.0, 0.0, 2.0]), np.array(["a", "b"]), "reject").tolist()
    ['a', 'reject', 'b']
    """
    if zero == "reject":
        none = reject_label(classes)
        kind = object if isinstance(none, str) and classes.dtype.kind not in "UO" else None
        both = np.array([*classes.tolist(), none], dtype=kind)
        return np.asarray(both[np.where(scores == 0, 2, (scores > 0).astype(int))])
    positive = scores > 0 if zero == "negative" else scores >= 0
    return np.asarray(classes[positive.astype(int)])


def reject_label(classes: NDArray[Any]) -> Any:
    """What stands for a row on the plane: 0 beside -1 and 1, "reject" beside text, else -1 or less.

    >>> reject_label(np.array([-1, 1])), reject_label(np.array([0, 1]))
    (0, -1)
    """
    if classes.dtype.kind not in "iuf":
        return "reject"
    if (classes < 0).any() and not (classes == 0).any():
        return 0
    return int(min(0, np.floor(classes.min()))) - 1


# -- numbers: floats, and what they stand for -----------------------------------------------------


def _numbers(name: str, given: Any) -> tuple[Array, list[Any] | None]:
    """An array of floats, and the numbers themselves where floats do not hold them."""
    array = given if isinstance(given, np.ndarray) else np.array(given, dtype=object)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        floats = np.array(array, dtype=np.float64)
        exact = None
    else:
        try:
            flat = [_number(v) for v in array.ravel().tolist()]
        except (TypeError, ValueError) as error:
            raise DataError(f"{name} is {given!r:.80}; give an array of numbers.") from error
        floats = np.array([_float(v) for v in flat], dtype=np.float64).reshape(array.shape)
        floating = all(isinstance(v, float) for v in flat)
        exact = None if floating else flat
    if not np.isfinite(floats).all():
        raise DataError(
            f"{name} holds a number that is not finite: {floats.ravel().tolist()!s:.80}."
        )
    return floats, exact


def _number(value: Any) -> Any:
    """A number as it is: an int, a Fraction, or a float."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{value!r} is no number")


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _vector(name: str, given: Any) -> list[Fraction]:
    floats, exact = _numbers(name, given)
    if floats.ndim != 1:
        raise DataError(f"{name} has {floats.ndim} axes; give one vector.")
    return [Fraction(v) for v in (floats.tolist() if exact is None else exact)]


def _plain(values: Sequence[Fraction]) -> list[Any]:
    """Whole numbers as integers, floats that are the same number as floats, else Fractions."""
    return [int(v) if v.denominator == 1 else _short(v) for v in values]


def _short(value: Fraction) -> Any:
    power_of_two = value.denominator & (value.denominator - 1) == 0
    return float(value) if power_of_two and Fraction(_float(value)) == value else value


def _dot(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(p, q)), Fraction(0))


def _direction(plane: Linear) -> list[Fraction]:
    """All weights over the largest."""
    flat = [Fraction(v) for v in plane._given]
    largest = max(map(abs, flat)) or Fraction(1)
    return [v / largest for v in flat]


def _normal_to(direction: Any, d: int) -> list[Fraction]:
    """The cross product of d - 1 directions; in the plane it points to the left of the one."""
    floats, exact = _numbers("direction", direction)
    flat = [Fraction(v) for v in (floats.ravel().tolist() if exact is None else exact)]
    if floats.size != d * (d - 1) or floats.ndim > 2:
        raise DataError(
            f"direction has shape {floats.shape}; a plane in {d} dimensions needs {d - 1} "
            f"directions of {d} coordinates."
        )
    rows = [flat[k * d : (k + 1) * d] for k in range(d - 1)]
    minors = [_determinant([[*r[:j], *r[j + 1 :]] for r in rows]) for j in range(d)]
    normal = [(-m if (d + j) % 2 else m) * -1 for j, m in enumerate(minors)]
    if not any(normal):
        what = "direction is zero" if d == 2 else "directions depend on each other"
        raise DataError(f"the {what}: no plane and no normal vector follow from it.")
    return normal


def _determinant(rows: list[list[Fraction]]) -> Fraction:
    import flint

    flat = [flint.fmpq(v.numerator, v.denominator) for row in rows for v in row]
    found = flint.fmpq_mat(len(rows), len(rows), flat).det()
    return Fraction(int(found.p), int(found.q))


def _unscaled(name: str, step: Any, coef: Array, offset: Array) -> tuple[Array, Array]:
    """Weights of the rows before a scaler."""
    kind = type(step).__name__
    if kind not in _SCALERS or getattr(step, "clip", False):
        raise ModelError(
            f"step {name!r} of the pipeline is a {kind}, which does not just scale the columns; "
            f"only {', '.join(_SCALERS)} can be folded into the weights."
        )
    d = coef.shape[1]
    at_zero = np.asarray(step.transform(np.zeros((1, d))))[0]
    scale = np.asarray(step.transform(np.ones((1, d))))[0] - at_zero
    return coef * scale, offset + coef @ at_zero


def _positive(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(value > 0)


# -- formulas -------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value + 0.0:.6g}"
    return str(value)


def _sum(weights: Sequence[Any], names: Sequence[str]) -> str:
    parts: list[str] = []
    for weight, name in zip(weights, names):
        if weight or (not name and not parts):
            size = f"{_text(abs(weight))} "
            size = "" if size == "1 " and name else size
            parts.append(f"{'-' if weight < 0 else '+'} {size}{name}".rstrip())
    joined = " ".join(parts) or "+ 0"
    return joined.removeprefix("+ ") if joined[0] == "+" else f"-{joined[2:]}"


class _Formula:
    """A linear formula, read by Python's own grammar and never run."""

    _IMPLICIT = re.compile(
        r"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![eE][+-]?\d)\s*(?=[^\W\d]|\()"
    )
    _LEFT = (ast.GtE, ast.Gt, ast.Eq)

    def __init__(self, text: str, names: Sequence[str] | None) -> None:
        self.text, self.names = str(text), None if names is None else [str(n) for n in names]
        self.quoted: dict[str, str] = {}
        self.width = 0

    def plane(self) -> tuple[list[Fraction], Fraction, bool]:
        """w, b, and whether the boundary belongs to the negative side."""
        text = re.sub(r"`([^`]*)`", self._quote, self.text)
        text = self._IMPLICIT.sub(r"\1*", text).replace("−", "-").replace("≥", ">=")
        text = re.sub(r"(?<![<>=!])=(?!=)", "==", text.replace("≤", "<=").replace("·", "*"))
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.refuse(f"it is no formula ({getattr(error, 'msg', error)})")
        strict = False
        if isinstance(tree, ast.Compare):
            if len(tree.ops) != 1 or not isinstance(tree.ops[0], (*self._LEFT, ast.LtE, ast.Lt)):
                self.refuse("it has more than one comparison, or none of >= > <= < =")
            left, right = self.form(tree.left), self.form(tree.comparators[0])
            strict = isinstance(tree.ops[0], ast.Gt | ast.Lt)
            form = (
                _plus(left, right, -1)
                if isinstance(tree.ops[0], self._LEFT)
                else _plus(right, left, -1)
            )
        else:
            form = self.form(tree)
        d = len(self.names) if self.names is not None else self.width
        return [form.get(j, Fraction(0)) for j in range(d)], form.get(-1, Fraction(0)), strict

    def form(self, node: ast.expr) -> dict[int, Fraction]:
        """Weights by column, the constant under -1."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            if not np.isfinite(node.value):
                self.refuse(f"{node.value} is no finite number")
            return {-1: Fraction(node.value)}
        if isinstance(node, ast.Name):
            return {self.column(self.quoted.get(node.id, node.id)): Fraction(1)}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
            return _plus({}, self.form(node.operand), -1 if isinstance(node.op, ast.USub) else 1)
        if isinstance(node, ast.BinOp):
            left, right = self.form(node.left), self.form(node.right)
            if isinstance(node.op, ast.Add | ast.Sub):
                return _plus(left, right, 1 if isinstance(node.op, ast.Add) else -1)
            if isinstance(node.op, ast.Mult) and not set(left) - {-1}:
                return _plus({}, right, left.get(-1, Fraction(0)))
            if isinstance(node.op, ast.Mult | ast.Div) and not set(right) - {-1}:
                factor = right.get(-1, Fraction(0))
                if isinstance(node.op, ast.Div) and not factor:
                    self.refuse("it divides by zero")
                return _plus({}, left, factor if isinstance(node.op, ast.Mult) else 1 / factor)
        return self.refuse("it is not linear: sums of numbers times columns are")

    def column(self, name: str) -> int:
        """The number of a column."""
        if self.names is not None:
            if name in self.names:
                return self.names.index(name)
            shown = ", ".join(self.names[:12])
            self.refuse(f"there is no column {name!r}; there are {shown}")
        found = re.fullmatch(r"x(\d{1,6})", name)
        if found is None or int(found[1]) == 0:
            self.refuse(f"{name!r} is no column; without feature_names they are x1, x2, ...")
        self.width = max(self.width, int(found[1]))
        return int(found[1]) - 1

    def _quote(self, found: re.Match[str]) -> str:
        word = f"_quoted_{len(self.quoted)}"
        self.quoted[word] = found[1]
        return word

    def refuse(self, why: str) -> NoReturn:
        raise SettingError(
            f"{self.text!r:.80} cannot be read as a plane: {why}. Write it as '2*x1 - x2 >= 2'."
        )


def _plus(
    left: dict[int, Fraction], right: dict[int, Fraction], factor: Fraction | int
) -> dict[int, Fraction]:
    out = dict(left)
    for place, weight in right.items():
        out[place] = out.get(place, Fraction(0)) + factor * weight
    return out
