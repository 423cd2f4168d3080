"""The transformer: from the input space to the feature space where planes are drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep._sklearn import BaseEstimator, TransformerMixin
from linsep.core.validate import require_finite
from linsep.errors import DataError, ModelError, SettingError
from linsep.lift.polynomial import Monomial, NotPolynomialError, Polynomial, monomial_text
from linsep.lift.syntax import FUNCTIONS, Expression, Powers, parse, run
from linsep.models.model_file import FEATURES, NAMES, Field, Fields, Table, array

Array = NDArray[Any]


class Lift(TransformerMixin, BaseEstimator):
    """A feature map phi: a plane in its space is a curved boundary in the space of the inputs.

    Parameters
    ----------
    phi : str, function or list of these, default="poly(2)"
        A text names the outputs, separated by commas: ``"x1, x2, (x1 - x2)**2"``. Columns are
        x1, x2, ... (a single one also x) or the names of a data frame, in backticks if they
        are more than a word. There are numbers, ``+ - * / **`` (or ``^``), parentheses, pi,
        e, the functions abs acos asin atan cbrt ceil cos cosh exp expm1 floor hypot log log10
        log1p log2 max min sign sin sinh sqrt tan tanh, and ``poly(3)`` for all monomials up to
        degree 3, ``poly(2, x1, x2)`` for those of some columns. The text is never run as
        Python code.
        A function gets all rows at once, an array (n, d), and gives an array (n, m) or (n,).

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names that are texts.
    n_features_out_ : int
        How many outputs there are.
    data_low_, data_high_ : array of shape (n_features_in_,)
        The range of the rows seen in fit; pullbacks that have to search do it there.

    See Also
    --------
    linsep.lift.compare : Several lifts on the same data.
    linsep.choose : Choose the degree by cross-validation.

    Notes
    -----
    The lift adds no constant: the estimators have an intercept. A certificate of an estimator
    behind a lift is about the lifted rows, as floats.

    Examples
    --------
    >>> import linsep
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = linsep.data.load("xor-01")
    >>> lift = linsep.Lift("x1, x2, (x1 - x2)**2")
    >>> model = make_pipeline(lift, linsep.Perceptron()).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> print(linsep.lift.pullback(model).text())
    predict 1 where 2*x1**2 - 4*x1*x2 + 2*x2**2 - 1 >= 0, else -1
    """

    def __init__(self, phi: Any = "poly(2)") -> None:
        self.phi = phi

    @classmethod
    def polynomial(cls, degree: int) -> Self:
        """All monomials of all columns up to a degree, without the constant.

        >>> Lift.polynomial(2).fit_transform([[2.0, 3.0]]).tolist()
        [[2.0, 3.0, 4.0, 6.0, 9.0]]
        """
        if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 1:
            raise SettingError(f"degree must be a whole number >= 1. Got {degree!r} instead.")
        return cls(f"poly({degree})")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read the lift for the columns of X.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and give the lifted rows; functions are called once only."""
        return self._learn(X)

    def transform(self, X: Any) -> Any:
        """The lifted rows.

        Parameters
        ----------
        X : array or data frame of shape (n, d)

        Returns
        -------
        array of shape (n, m)
            Of the type of X, float32 or float64.

        Raises
        ------
        DataError
            An output is not finite; the message names row, output and inputs.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        out = self.evaluate(X)
        if out.shape[1] != self.n_features_out_:
            raise DataError(
                f"the function gave {out.shape[1]} columns, and {self.n_features_out_} in fit."
            )
        self._require_finite(X, out)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The texts of the outputs; phi1, phi2, ... for those of functions."""
        check_is_fitted(self)
        if input_features is not None:
            names = getattr(self, "feature_names_in_", None)
            if names is not None and list(names) != list(input_features):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise ValueError("input_features should have length equal to number of features")
        return np.asarray(self._names_out, dtype=object)

    def pullback(self, model: object) -> Any:
        """The boundary of a linear model behind this lift, as a function of the inputs.

        Parameters
        ----------
        model : fitted linear classifier, Pipeline, or pair (coef, intercept)
            A classifier of linsep or scikit-learn fitted on the lifted rows, or a pipeline
            that holds this lift.

        Returns
        -------
        Pullback

        Examples
        --------
        >>> import linsep
        >>> lift = linsep.Lift("x, x**2 - 1").fit([[-1.0], [1.0]])
        >>> f = lift.pullback(([-1.5, 3.12], 3.0))
        >>> print(f.text())
        predict 1 where 3.12*x**2 - 1.5*x - 0.12 >= 0, else -1
        that is x <= -0.0698513 or x >= 0.55062
        """
        from linsep.lift.pullback import pullback, pullback_of_steps

        check_is_fitted(self)
        if isinstance(model, Pipeline):
            return pullback(model)
        return pullback_of_steps([self], model)

    # -- for pullbacks and pictures ---------------------------------------------------------

    def evaluate(self, X: Array) -> Array:
        """The outputs for a plain array, finite or not."""
        columns = [part.evaluate(X) for part in self._parts]
        return np.ascontiguousarray(np.hstack(columns))

    def polynomials(self, inputs: list[Polynomial] | None = None) -> list[Polynomial] | None:
        """The outputs as exact polynomials of the inputs, or None if they are not."""
        check_is_fitted(self)
        variables = inputs or [Polynomial.variable(j) for j in range(self.n_features_in_)]
        try:
            return [p for part in self._parts for p in part.polynomials(variables)]
        except NotPolynomialError:
            return None

    # -- model files ------------------------------------------------------------------------

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        check_is_fitted(self)
        return LIFT.write(self)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The lift of a model file; see ``linsep.load``."""
        lift: Self = LIFT.read(cls, fields)
        lift._compile()
        lift._name([0] * len(lift._parts))  # texts know how many outputs they make
        lift.n_features_out_ = len(lift._names_out)
        return lift

    # -- inside -----------------------------------------------------------------------------

    def _learn(self, X: Any) -> Array:
        X = self._checked(X, reset=True)
        self._compile()
        columns = [part.evaluate(X) for part in self._parts]
        out = np.ascontiguousarray(np.hstack(columns))
        self.n_features_out_ = out.shape[1]
        self._name([block.shape[1] for block in columns])
        self.data_low_ = X.min(axis=0).astype(np.float64)
        self.data_high_ = X.max(axis=0).astype(np.float64)
        self._require_finite(X, out)
        return out

    def _name(self, widths: Sequence[int]) -> None:
        self._names_out: list[str] = []
        for part, width in zip(self._parts, widths):
            self._names_out += part.names(width, len(self._names_out))

    def _checked(self, X: Any, *, reset: bool) -> Array:
        try:
            X = validate_data(
                self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
            )
        except TypeError:
            raise
        except ValueError as error:
            raise DataError(str(error)) from error
        names = getattr(self, "feature_names_in_", None)
        require_finite(X, None if names is None else list(names))
        return np.asarray(X)

    def _compile(self) -> None:
        names = getattr(self, "feature_names_in_", None)
        known = None if names is None else [str(name) for name in names]
        self._parts = compile_parts(self.phi, known, self.n_features_in_)

    def _require_finite(self, X: Array, out: Array) -> None:
        if np.isfinite(out).all():
            return
        bad = ~np.isfinite(out)
        row, column = (int(k) for k in np.argwhere(bad)[0])
        names = getattr(self, "feature_names_in_", None)
        texts = column_texts(None if names is None else [*map(str, names)], X.shape[1])
        inputs = ", ".join(f"{t} = {v:g}" for t, v in zip(texts[:6], X[row, :6].tolist()))
        others = "" if bad.sum() == 1 else f" ({int(bad.sum())} values of the lift are not finite)"
        raise DataError(
            f"the output {self._names_out[column]!r} is {out[row, column]} at row {row}, where "
            f"{inputs}{others}. Change the lift, for instance log1p(x) for log(x), scale the "
            "columns, or drop these rows."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# -- The parts of a lift: expressions, all monomials, functions. Each makes columns of a matrix


_ARRAYS = {name: function for name, (function, _) in FUNCTIONS.items()}


class Part(Protocol):
    """Some neighbouring outputs of a lift."""

    def evaluate(self, X: Array) -> Array:
        """The columns for the rows of X, of X's type."""

    def names(self, count: int, first: int) -> list[str]:
        """Their names, if there are ``count`` of them from place ``first`` on."""

    def polynomials(self, inputs: Sequence[Polynomial]) -> list[Polynomial]:
        """The outputs as polynomials, or NotPolynomialError."""


class ExpressionPart:
    """One expression, one column."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def evaluate(self, X: Array) -> Array:
        with np.errstate(all="ignore"):
            value = run(self.expression.program, list(X.T), _ARRAYS)
        return np.broadcast_to(np.asarray(value, dtype=X.dtype), len(X))[:, None]

    def names(self, count: int, first: int) -> list[str]:
        return [self.expression.text]

    def polynomials(self, inputs: Sequence[Polynomial]) -> list[Polynomial]:
        try:
            value = run(self.expression.program, inputs, {})
        except KeyError as error:
            raise NotPolynomialError(f"the function {error}") from error
        return [value if isinstance(value, Polynomial) else Polynomial.constant(value)]


class PowersPart:
    """All monomials of some columns up to a degree, as scikit-learn orders them."""

    def __init__(self, powers: Powers, texts: Sequence[str]) -> None:
        self.powers, self.texts = powers, texts

    def evaluate(self, X: Array) -> Array:
        from sklearn.preprocessing import PolynomialFeatures

        maker = PolynomialFeatures(self.powers.degree, include_bias=False)
        with np.errstate(all="ignore"):
            return np.asarray(maker.fit_transform(X[:, self.powers.columns]), dtype=X.dtype)

    def monomials(self) -> list[Monomial]:
        """The outputs as powers of the columns."""
        out: list[Monomial] = []
        for degree in range(1, self.powers.degree + 1):
            for chosen in combinations_with_replacement(self.powers.columns, degree):
                out.append(tuple((j, chosen.count(j)) for j in dict.fromkeys(chosen)))
        return out

    def names(self, count: int, first: int) -> list[str]:
        return [monomial_text(monomial, self.texts) for monomial in self.monomials()]

    def polynomials(self, inputs: Sequence[Polynomial]) -> list[Polynomial]:
        out = []
        for monomial in self.monomials():
            product = Polynomial.constant(1)
            for index, power in monomial:
                product = product * inputs[index] ** power
            out.append(product)
        return out


class FunctionPart:
    """A function of all rows at once."""

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self.function = function

    def evaluate(self, X: Array) -> Array:
        given = self.function(X.copy())  # a function may write into what it is given
        if hasattr(given, "toarray"):
            given = given.toarray()
        try:
            values = np.asarray(given)
            if values.dtype.kind not in "fiub":
                raise ValueError(f"its type is {values.dtype}")
        except ValueError as error:
            raise DataError(f"{self._called()} gave no array of numbers ({error}).") from error
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != len(X) or values.shape[1] == 0:
            raise DataError(
                f"{self._called()} gave shape {np.shape(given)} for {len(X)} rows; it gets all "
                "rows at once and gives one row for each: write X[:, 0] for the first column, "
                "and np.column_stack([...]) around several."
            )
        return values.astype(X.dtype)

    def names(self, count: int, first: int) -> list[str]:
        return [f"phi{first + k + 1}" for k in range(count)]

    def polynomials(self, inputs: Sequence[Polynomial]) -> list[Polynomial]:
        raise NotPolynomialError("a function")

    def _called(self) -> str:
        return f"the function {getattr(self.function, '__name__', type(self.function).__name__)}"


def compile_parts(phi: Any, names: Sequence[str] | None, n_columns: int) -> list[Part]:
    """The parts of a lift that is a text, a function, or a sequence of these."""
    texts = column_texts(names, n_columns)
    items = list(phi) if isinstance(phi, list | tuple) else [phi]
    if not items:
        raise SettingError("the lift is empty; give outputs such as 'x1, x2, (x1 - x2)**2'.")
    out: list[Part] = []
    for item in items:
        if isinstance(item, str):
            for found in parse(item, finder(names, n_columns), texts, n_columns):
                if isinstance(found, Powers):
                    out.append(PowersPart(found, texts))
                else:
                    out.append(ExpressionPart(found))
        elif callable(item) and not isinstance(item, type):
            out.append(FunctionPart(item))
        else:
            raise SettingError(
                f"a lift is a text such as 'x1, x2, (x1 - x2)**2', a function of X, or a list of "
                f"these. Got {item!r:.80} instead."
            )
    return out


# -- Which column a name in a lift means, and how columns are written in it -----------------------


_PLACE = re.compile(r"x([1-9][0-9]*)")
_WORD = re.compile(r"[^\W\d]\w*")


def column_texts(names: Sequence[str] | None, n_columns: int) -> list[str]:
    """The columns as a lift writes them: x1, x2, ... or their names, in backticks if need be."""
    if names is None:
        return ["x"] if n_columns == 1 else [f"x{j + 1}" for j in range(n_columns)]
    return [name if _WORD.fullmatch(name) else f"`{name}`" for name in names]


def finder(names: Sequence[str] | None, n_columns: int) -> Callable[[str], int | None]:
    """A function from names to column numbers; None for a name that means nothing.

    The names of a data frame come first. Places x1, x2, ... (and x for a single column) mean
    columns too, unless the frame itself has columns that are called like that.
    """
    own = list(names) if names is not None else []
    places = not any(name == "x" or _PLACE.fullmatch(name) for name in own)

    def find(name: str) -> int | None:
        if name in own:
            if own.count(name) > 1:
                raise SettingError(f"X has two columns called {name!r}; rename one of them.")
            return own.index(name)
        match = _PLACE.fullmatch(name) if places else None
        if match and int(match[1]) <= n_columns:
            return int(match[1]) - 1
        return 0 if places and name == "x" and n_columns == 1 else None

    return find


# -- Fields of a model file -----------------------------------------------------------------------


def _text(lift: Lift) -> str:
    """The lift as one text; functions are refused."""
    items = lift.phi if isinstance(lift.phi, list | tuple) else [lift.phi]
    if not all(isinstance(item, str) for item in items):
        raise ModelError(
            "a lift made of functions cannot be saved, for a model file holds no code; write "
            "it as a text such as 'x1, x2, (x1 - x2)**2'."
        )
    return ", ".join(items)


def _settings(fields: Fields) -> dict[str, Any]:
    if not isinstance(fields["phi"], str):
        raise ModelError("phi is not a text")
    return {"phi": fields["phi"]}


LIFT: Table[Any] = Table(
    "data_low_",
    (
        Field("phi", _text),
        FEATURES,
        NAMES,
        array("data_low", lambda lift: (lift.n_features_in_,)),
        array("data_high", lambda lift: (lift.n_features_in_,)),
    ),
    _settings,
)
