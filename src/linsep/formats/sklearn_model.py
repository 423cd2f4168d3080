"""scikit-learn's estimators in model files: settings and numbers, no pickle.

Only the classes of the tables below are ever made, whatever a file asks for. Their names carry the
library, ``"sklearn.LogisticRegression"``, for some of linsep's classes have the same name. Linear
classifiers and scalers are given their numbers. Encoders, imputers and what else has hidden parts
are fitted again, to a few rows that lead to the same numbers. A ``ColumnTransformer`` is fitted to
one such row around parts that stay as they are (``FrozenEstimator``).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import Steps, is_pipeline
from linsep.core.schema import listed, text
from linsep.errors import ModelError, require
from linsep.formats.labels import classes_in, classes_out

PIPELINE = "Pipeline"  # with steps from the tables


class Foreign(Protocol):
    """An estimator of the tables; scalers have no planes."""

    n_features_in_: int
    classes_: NDArray[Any]
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    _label_binarizer: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: FBT001, FBT002


PREFIX = "sklearn."
_PLANE = ("coef_", "intercept_")

# Name -> module, fitted arrays that it answers with.
_KNOWN: dict[str, tuple[str, tuple[str, ...]]] = {
    "LinearSVC": ("svm", _PLANE),
    "LinearDiscriminantAnalysis": ("discriminant_analysis", _PLANE),
    "LogisticRegression": ("linear_model", _PLANE),
    "PassiveAggressiveClassifier": ("linear_model", _PLANE),
    "Perceptron": ("linear_model", _PLANE),
    "RidgeClassifier": ("linear_model", _PLANE),
    "SGDClassifier": ("linear_model", _PLANE),
    "MaxAbsScaler": ("preprocessing", ("scale_", "max_abs_")),
    "TfidfTransformer": ("feature_extraction.text", ("idf_",)),
    "MinMaxScaler": (
        "preprocessing", ("scale_", "min_", "data_min_", "data_max_", "data_range_")
    ),
    "Normalizer": ("preprocessing", ()),
    "RobustScaler": ("preprocessing", ("center_", "scale_")),
    "StandardScaler": ("preprocessing", ("mean_", "var_", "scale_")),
}  # fmt: skip


def foreign_name(model: object) -> str | None:
    """What a model file calls it; None if it cannot hold it."""
    kind = type(model)
    known = kind.__module__.startswith(PREFIX) and foreign_is_known(PREFIX + kind.__name__)
    return PREFIX + kind.__name__ if known else None


def is_foreign(model: object) -> TypeGuard[Foreign]:
    return foreign_name(model) is not None


def foreign_is_known(name: str) -> bool:
    """Whether it names a class of the tables."""
    short = name.removeprefix(PREFIX)
    return name == COLUMNS or (name != short and (short in _KNOWN or short in _REFITTED))


def foreign_to_model(model: Foreign) -> dict[str, Any]:
    """Fields of a fitted estimator of the table."""
    name = type(model).__name__
    arrays = {key: getattr(model, key, None) for key in _KNOWN[name][1]}
    if name != "Normalizer" and all(value is None for value in arrays.values()):
        raise ModelError(f"{name} is not fitted; call fit before saving it.")
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    return {
        "params": dict(model.get_params(deep=False)),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(n) for n in names],
        "classes": None if classes is None else classes_out(np.asarray(classes)),
        "arrays": {key: _dense(value) for key, value in arrays.items()},
    }


def foreign_from_model(name: str, fields: Mapping[str, Any]) -> Any:
    """The estimator of a model file."""
    short = name.removeprefix(PREFIX)
    module, allowed = _KNOWN[short]
    arrays, d = fields["arrays"], fields["n_features"]
    if not isinstance(arrays, dict) or set(arrays) != set(allowed) or type(d) is not int:
        raise ModelError(f"the arrays of {name} must be {', '.join(allowed)}")
    model = getattr(importlib.import_module(PREFIX + module), short)(**fields["params"])
    model.n_features_in_ = d
    for key, value in arrays.items():
        array = None if value is None else np.asarray(value, dtype=np.float64)
        if array is not None and (not np.isfinite(array).all() or not _fits(key, array.shape, d)):
            raise ModelError(f"{key} of {name} is no array of finite numbers for {d} features")
        setattr(model, key, array)
    if fields["classes"] is not None:
        _give_classes(model, classes_in(fields["classes"]))
    if fields.get("feature_names") is not None:
        names = listed(text, d)(fields["feature_names"], "feature_names")
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def _fits(key: str, shape: tuple[int, ...], d: int) -> bool:
    if key == "coef_":
        return shape == (d,) or (len(shape) == 2 and shape[1] == d)
    return len(shape) == 1 if key == "intercept_" else shape == (d,)


def _give_classes(model: Foreign, classes: NDArray[Any]) -> None:
    rows = 1 if len(classes) == 2 else len(classes)
    model.intercept_ = np.broadcast_to(model.intercept_, rows).copy()
    given = len(np.atleast_2d(model.coef_))
    if len(classes) < 2 or given != rows:
        raise ModelError(f"coef_ has {given} rows for {len(classes)} classes")
    if type(model).__name__ != "RidgeClassifier":
        model.classes_ = classes
        return
    from sklearn.preprocessing import LabelBinarizer

    model._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(classes)


def _dense(value: Any) -> Any:
    if value is None:
        return None
    dense = value.toarray() if hasattr(value, "toarray") else value
    return np.atleast_1d(np.asarray(dense, dtype=np.float64))


# -- Pipelines: a list of named steps, each an estimator of linsep or of the tables ---------------


def pipeline_to_model(model: Steps, can_be_saved: Callable[[Any], bool]) -> dict[str, Any]:
    """Fields of a fitted pipeline."""
    for name, step in model.steps:
        if not can_be_saved(step):
            raise ModelError(
                f"step {name!r} of the pipeline is a {type(step).__name__}, which a model file "
                "cannot hold; lifts, linsep's estimators and scikit-learn's linear classifiers, "
                "scalers, encoders, SimpleImputer and ColumnTransformer can be saved. A whole "
                "table of columns is best left to linsep.tables.Tabular(estimator)."
            )
    return {"steps": [[name, step] for name, step in model.steps]}


def takes_columns(model: object) -> bool:
    """Whether its rows are columns of any kind, of which zeros may be none; or texts."""
    while isinstance(steps := getattr(model, "steps", None), list):
        model = steps[0][1]
    name = type(model).__name__
    return PREFIX + name == COLUMNS or name in _REFITTED


def pipeline_from_model(fields: Mapping[str, Any]) -> Any:
    """The pipeline of a model file."""
    from sklearn.pipeline import Pipeline

    steps = fields["steps"]
    if not isinstance(steps, list) or not steps:
        raise ModelError("steps is not a list of named estimators")
    for step in steps:
        named = isinstance(step, list) and len(step) == 2 and isinstance(step[0], str)
        if not (named and hasattr(step[1], "get_params")):
            raise ModelError("steps is not a list of named estimators")
    return Pipeline([(name, step) for name, step in steps])


# -- Transformers with hidden parts: fitted again to rows that lead to the same numbers -----------


class Refitted(NamedTuple):
    """How a transformer is written and made again."""

    module: str
    write: Callable[[Transformer], dict[str, Any]]
    """What it has learned, as plain values."""
    settings: Callable[[dict[str, Any], int], dict[str, Any]]
    """From that and the number of columns: settings that take the place of those it had."""
    rows: Callable[[dict[str, Any], int], Any]
    """And the rows to fit it to, a list for each column, or texts."""


_MOST_FEATURES = 1_000_000
_NUMBERS_OR_TEXT = (bool, int, float, str, type(None))


class Transformer(Protocol):
    """What the transformers of the table have learned; each has some of it."""

    n_features_in_: int
    categories_: list[NDArray[Any]]
    statistics_: NDArray[Any]
    missing_values: Any
    vocabulary_: dict[str, int]
    token_pattern: str
    analyzer: Any
    tokenizer: Any
    preprocessor: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: FBT001, FBT002


class Parts(Protocol):
    """A fitted ColumnTransformer."""

    n_features_in_: int
    transformers_: list[tuple[str, Any, Any]]
    sparse_output_: bool


def _write_categories(model: Transformer) -> dict[str, Any]:
    rare = getattr(model, "infrequent_categories_", None)
    if rare is not None and any(one is not None for one in rare):
        raise ModelError(
            f"{type(model).__name__} has put rare categories together, which a model file cannot "
            "hold; fit it without min_frequency and max_categories."
        )
    return {"categories": [column.tolist() for column in model.categories_]}


def _categories(learned: dict[str, Any], d: int) -> list[list[Any]]:
    found: list[list[Any]] = listed(listed(_value), d)(learned["categories"], "categories")
    if not all(found):
        raise ModelError("a column has no categories")
    return found


def _value(value: Any, where: str) -> Any:
    if not isinstance(value, _NUMBERS_OR_TEXT):
        raise ModelError(f"{where} is {value!r:.40}, no number or text")
    return value


def _known_categories(learned: dict[str, Any], d: int) -> dict[str, Any]:
    return {"categories": [_column(values) for values in _categories(learned, d)]}


def _all_categories(learned: dict[str, Any], d: int) -> list[list[Any]]:
    columns = _categories(learned, d)
    longest = max(map(len, columns))
    return [list(islice(cycle(values), longest)) for values in columns]


def _write_statistics(model: Transformer) -> dict[str, Any]:
    if getattr(model, "indicator_", None) is not None:
        raise ModelError("SimpleImputer with add_indicator=True cannot be saved; leave it out.")
    if isinstance(model.missing_values, float) and not math.isnan(model.missing_values):
        raise ModelError("SimpleImputer can be saved for missing values that are NaN or None.")
    return {"statistics": model.statistics_.tolist()}


def _one_row(learned: dict[str, Any], d: int) -> list[list[Any]]:
    values = listed(_value, d)(learned["statistics"], "statistics")
    return [[value] for value in values]


def _write_nothing(model: Transformer) -> dict[str, Any]:
    return {}


def _zeros(learned: dict[str, Any], d: int) -> list[list[Any]]:
    return [[0.0]] * d


_PLAIN_WORDS = r"(?u)\b\w\w+\b"  # scikit-learn's own: any other could take for ever


def _write_words(model: Transformer) -> dict[str, Any]:
    plain = model.token_pattern == _PLAIN_WORDS and isinstance(model.analyzer, str)
    if not plain or model.tokenizer is not None or model.preprocessor is not None:
        raise ModelError(
            f"{type(model).__name__} with a pattern or functions of its own cannot be saved; "
            "leave token_pattern, tokenizer, preprocessor and analyzer as they are."
        )
    words = sorted(model.vocabulary_, key=model.vocabulary_.__getitem__)
    idf = getattr(model, "idf_", None) if getattr(model, "use_idf", False) else None
    return {"words": words, "idf": None if idf is None else np.asarray(idf)}


def _vocabulary(learned: dict[str, Any], d: int) -> dict[str, Any]:
    words = listed(text)(learned["words"], "words")
    if len(set(words)) != len(words) or not words:
        raise ModelError("words are not a list of different texts")
    return {"vocabulary": words, "token_pattern": _PLAIN_WORDS}


def _texts(learned: dict[str, Any], d: int) -> list[str]:
    return [" ".join(map(str, learned["words"][:3]))]


_REFITTED = {
    "OneHotEncoder": Refitted(
        "preprocessing", _write_categories, _known_categories, _all_categories
    ),
    "OrdinalEncoder": Refitted(
        "preprocessing", _write_categories, _known_categories, _all_categories
    ),
    "SimpleImputer": Refitted("impute", _write_statistics, lambda *_: {}, _one_row),
    "PolynomialFeatures": Refitted("preprocessing", _write_nothing, lambda *_: {}, _zeros),
    "CountVectorizer": Refitted("feature_extraction.text", _write_words, _vocabulary, _texts),
    "TfidfVectorizer": Refitted("feature_extraction.text", _write_words, _vocabulary, _texts),
}


def _is_of_texts(name: str) -> bool:
    return name.endswith("Vectorizer")


def refitted_to_model(model: Transformer) -> dict[str, Any]:
    """Fields of a fitted transformer of the table."""
    name = type(model).__name__
    kind = _REFITTED[name]
    if not (hasattr(model, "n_features_in_") or hasattr(model, "vocabulary_")):
        raise ModelError(f"{name} is not fitted; call fit before saving it.")
    params = dict(model.get_params(deep=False))
    for key in ("categories", "dtype", "vocabulary"):  # learned, or a type
        params.pop(key, None)
    names = getattr(model, "feature_names_in_", None)
    return {
        "params": params,
        "n_features": int(getattr(model, "n_features_in_", 1)),
        "feature_names": None if names is None else [str(n) for n in names],
        "learned": kind.write(model),
    }


def refitted_from_model(name: str, fields: Mapping[str, Any]) -> Any:
    """The transformer of a model file."""
    short = name.removeprefix(PREFIX)
    kind = _REFITTED[short]
    d, learned, params = fields["n_features"], fields["learned"], fields["params"]
    if type(d) is not int or not 0 < d <= _MOST_FEATURES or not isinstance(learned, dict):
        raise ModelError(f"n_features of {name} is {d!r:.40}")
    if not isinstance(params, dict) or any(key in params for key in ("dtype", "vocabulary")):
        raise ModelError(f"the settings of {name} are no settings of it")
    settings = params | kind.settings(learned, d)
    model = getattr(importlib.import_module(PREFIX + kind.module), short)(**settings)
    if short == "PolynomialFeatures":
        _refuse_explosion(settings, d)
    rows = kind.rows(learned, d)
    if _is_of_texts(short):
        model.fit(rows)
        idf = learned["idf"]
        if idf is not None:
            model.idf_ = np.asarray(idf, dtype=np.float64)
        return model
    return model.fit(_frame(rows, fields.get("feature_names"), d))


def _refuse_explosion(settings: Mapping[str, Any], d: int) -> None:
    """Powers of many columns are more than fit into memory."""
    degree = settings.get("degree")
    highest = degree[1] if isinstance(degree, list | tuple) and len(degree) == 2 else degree
    if type(highest) is not int or not 0 <= highest <= 64:
        raise ModelError(f"degree of PolynomialFeatures is {degree!r:.40}")
    if math.comb(d + highest, highest) > _MOST_FEATURES:
        raise ModelError(f"PolynomialFeatures of degree {highest} of {d} columns are too many")


def _column(values: list[Any]) -> NDArray[Any]:
    """Values of one column; numbers as numbers, the rest as they are."""
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    if numbers or all(isinstance(v, bool) for v in values):
        return np.array(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _frame(columns: list[list[Any]], names: Any, d: int) -> Any:
    """Rows as a frame, where columns have names, else as an array."""
    arrays = [_column(values) for values in columns]
    if names is None:
        if len({array.dtype.kind for array in arrays}) == 1:
            return np.column_stack(arrays)
        return np.column_stack([array.astype(object) for array in arrays])
    labels = listed(text, d)(names, "feature_names")
    if len(set(labels)) != d:
        raise ModelError("feature_names are not all different")
    pandas = require("pandas", extra="study", what="a model of named columns")
    return pandas.DataFrame(dict(zip(labels, arrays)))


# -- ColumnTransformer ----------------------------------------------------------------------------


COLUMNS = "sklearn.ColumnTransformer"
_KEPT = ("sparse_threshold", "transformer_weights", "verbose_feature_names_out")


def columns_to_model(model: Parts) -> dict[str, Any]:
    """Fields of a fitted ColumnTransformer."""
    if not hasattr(model, "transformers_"):
        raise ModelError("ColumnTransformer is not fitted; call fit before saving it.")
    names = getattr(model, "feature_names_in_", None)
    known = None if names is None else [str(n) for n in names]
    parts = []
    for name, part, columns in model.transformers_:
        places = _places(columns, known, int(model.n_features_in_))
        if places == []:
            continue
        parts.append([name, _bare(part), places])
    params = {key: getattr(model, key) for key in _KEPT}
    params["sparse_threshold"] = 1.0 if model.sparse_output_ else 0.0
    return {
        "params": params,
        "n_features": int(model.n_features_in_),
        "feature_names": known,
        "parts": parts,
    }


def _bare(part: Any) -> Any:
    """A part without what is put around it: FrozenEstimator, the function that does nothing."""
    kind = type(part).__name__
    if kind == "FrozenEstimator":
        return part.estimator
    if kind == "FunctionTransformer" and part.func is None:
        return "passthrough"
    return part


def _places(columns: Any, names: list[str] | None, d: int) -> Any:
    """Columns by name, else by number, in a list; one alone stays alone: its rows are one axis."""
    if isinstance(columns, str | int | np.integer):
        return columns if isinstance(columns, str) else int(columns)
    if isinstance(columns, slice):
        return [_named(v, names) for v in list(range(d))[_by_number(columns, names)]]
    values = list(columns)
    if values and all(isinstance(v, bool | np.bool_) for v in values):
        values = [place for place, chosen in enumerate(values) if chosen]
    return [_named(v, names) for v in values]


def _named(column: Any, names: list[str] | None) -> str | int:
    if isinstance(column, str):
        return column
    return int(column) if names is None else names[int(column)]


def _by_number(columns: slice, names: list[str] | None) -> slice:
    """A slice whose ends are numbers; of names the last one belongs to it."""
    first, last = columns.start, columns.stop
    if isinstance(first, str) and names is not None:
        first = names.index(first)
    if isinstance(last, str) and names is not None:
        last = names.index(last) + 1
    return slice(first, last, columns.step)


def columns_from_model(fields: Mapping[str, Any]) -> Any:
    """The ColumnTransformer of a model file."""
    from sklearn.compose import ColumnTransformer
    from sklearn.frozen import FrozenEstimator

    d, params, names = fields["n_features"], fields["params"], fields["feature_names"]
    if type(d) is not int or not 0 < d <= _MOST_FEATURES or set(params) != set(_KEPT):
        raise ModelError(f"n_features or params of {COLUMNS} are none of it")
    row: list[Any] = [0.0] * d
    parts: dict[str, tuple[Any, Any]] = {}
    for part in fields["parts"]:
        if not (isinstance(part, list) and len(part) == 3 and isinstance(part[0], str)):
            raise ModelError("parts is not a list of names, transformers and columns")
        name, inner, columns = part
        several = columns if isinstance(columns, list) else [columns]
        places = [_place(one, names, d) for one in several]
        if inner not in ("drop", "passthrough"):
            if not hasattr(inner, "transform"):
                raise ModelError(f"the part {name!r:.40} is no transformer")
            for place, value in zip(places, _example(inner, len(places))):
                row[place] = value
            inner = FrozenEstimator(inner)
        parts[name] = inner, columns
    rest, _ = parts.pop("remainder", ("drop", []))  # by this name columns that no other part has
    rows = _frame([[value] for value in row], names, d)
    made = [(name, inner, columns) for name, (inner, columns) in parts.items()]
    return ColumnTransformer(made, remainder=rest, **params).fit(rows)


def _place(column: Any, names: Any, d: int) -> int:
    if isinstance(column, str) and isinstance(names, list) and column in names:
        return names.index(column)
    if type(column) is int and -d <= column < d:
        return column
    raise ModelError(f"the column {column!r:.40} is none of the {d}")


def _example(part: Any, n: int) -> list[Any]:
    """A row that a transformer, or the first one of a pipeline, takes."""
    while is_pipeline(part):
        steps = [one for _, one in part.steps if not isinstance(one, str)]
        if not steps:
            return [0.0] * n
        part = steps[0]
    if hasattr(part, "vocabulary_"):
        return [""] * n
    if hasattr(part, "categories_"):
        return [column.tolist()[0] for column in part.categories_][:n]
    if hasattr(part, "statistics_"):
        return list(part.statistics_.tolist())[:n]
    return [0.0] * n


# -- All of them ----------------------------------------------------------------------------------


def foreign_fields(known: Any) -> dict[str, Any]:
    """Fields of a fitted estimator of scikit-learn that ``foreign_name`` knows."""
    name = type(known).__name__
    if name in _REFITTED:
        return refitted_to_model(known)
    return columns_to_model(known) if PREFIX + name == COLUMNS else foreign_to_model(known)


def foreign_made(name: str, fields: Mapping[str, Any]) -> Any:
    """The estimator of such fields."""
    if name.removeprefix(PREFIX) in _REFITTED:
        return refitted_from_model(name, fields)
    return columns_from_model(fields) if name == COLUMNS else foreign_from_model(name, fields)
