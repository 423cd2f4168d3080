"""``linsep predict``: the classes of the rows of a file."""

from __future__ import annotations

import json
import warnings
from argparse import Namespace
from typing import Any

import numpy as np

from linsep.cli import streams
from linsep.cli.common import (
    as_known,
    check_features,
    emit,
    fitted_to,
    framed,
    in_order,
    kept,
    narrate,
    require_writable,
    some,
    table,
)
from linsep.cli.lifting import plain
from linsep.core.files import atomic_write_bytes
from linsep.core.protocol import Predictor, is_pipeline
from linsep.core.words import count
from linsep.errors import DataError, LinsepWarning, SettingError


def run(args: Namespace) -> int:
    """Print one line for each row."""
    from linsep.formats import load

    if streams.wanted(args):
        return streams.predict(args)
    require_writable(args.output, read=[args.data, args.model])
    model = load(args.model)
    if hasattr(model, "columns_"):
        from linsep.cli.columns import frame_for

        frame = frame_for(args, model)
        X, labels, names = frame.columns, frame.y, frame.row_names
    else:
        data = in_order(model, read_for(args, model))
        model = fitted_to(model, data)
        check_features(model, data)
        data = plain(data) if is_pipeline(model) else data
        X = framed(data) if hasattr(model, "feature_names_in_") else data.X
        labels, names = data.y, data.row_names
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LinsepWarning)
        classes = _decided(model, X, args.threshold)
        scores = np.atleast_1d(model.decision_function(X))
        shown = _probabilities(model, X) if args.proba else scores
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        narrate(f"warning: {message}")
    if args.json:
        result: dict[str, Any] = {"classes": classes.tolist(), "scores": scores.tolist()}
        if names is not None:
            result["rows"] = list(names)
        if args.proba:
            result["probabilities"] = shown.tolist()
        text = json.dumps(result)
    else:
        more = args.scores or args.proba
        text = "\n".join(_line(c, s, with_scores=more) for c, s in zip(classes.tolist(), shown))
    good = True
    if args.output:
        lines = text.encode("utf-8", "surrogatepass") + b"\n"
        what = count(len(classes), "prediction")
        good = kept(args.output, lambda path: atomic_write_bytes(path, lines), what)
    if not args.output or not good:
        emit(text, as_json=False)
    if len(labels):
        for words in _agreement(labels, classes, model.classes_):
            narrate(words)
    return 0 if good else 1


def _agreement(labels: Any, told: Any, classes: Any) -> list[str]:
    """How many answers are the labels of the file, and why not, where these are others."""
    given, words = as_known(labels, classes)
    right = f"{int(np.sum(given == told.astype(str)))} of {len(told)} agree with the labels"
    known = [str(one) for one in classes.tolist()]
    strange = sorted(set(given.tolist()) - set(known))
    why = f"; the model has no label {some(strange)}, it has {some(known)}" if strange else ""
    return [*words, f"{right} in the file{why}"]


def _decided(model: Predictor, X: Any, threshold: float | None) -> Any:
    """The classes; those of two from a probability on, if one is asked for."""
    if threshold is None:
        return model.predict(X)
    if not hasattr(model, "predict_proba") or len(model.classes_) != 2:
        raise SettingError("--threshold is for two classes and a model with probabilities.")
    return model.classes_[(model.predict_proba(X)[:, 1] >= threshold).astype(int)]


def _probabilities(model: Predictor, X: Any) -> Any:
    """Of all classes, in the order of the model's."""
    if not hasattr(model, "predict_proba"):
        raise SettingError(
            f"--proba: {type(model).__name__} has no probabilities; logistic-regression has."
        )
    narrate("probabilities of " + ", ".join(map(str, model.classes_.tolist())))
    return model.predict_proba(X)


def read_for(args: Namespace, model: Predictor) -> Any:
    """Data of a model: with labels if the file has one column more, else without."""
    options: dict[str, Any] = {"n_features": model.n_features_in_}
    if hasattr(model, "widened"):  # a file of LIBSVM does not tell how many features there are
        return table(args)
    if getattr(args, "positive", None) is not None:
        options["positive"] = args.positive
    if args.target is None:
        bare = options | {"target": False}
        try:
            data = table(args, **options)
        except DataError as error:  # perhaps there are no labels to be found
            try:
                return table(args, **bare)
            except DataError:
                return _of_other_width(args, options, error)
        return table(args, **bare) if data.X.shape[1] == model.n_features_in_ - 1 else data
    return table(args, **options)


def _of_other_width(args: Namespace, options: dict[str, Any], error: DataError) -> Any:
    """Data that can be read, but not as the model wants them: the caller says what differs."""
    free = {name: value for name, value in options.items() if name != "n_features"}
    try:
        return table(args, **free)
    except DataError:
        raise error from None


def _line(label: Any, score: Any, *, with_scores: bool) -> str:
    if not with_scores:
        return str(label)
    return "\t".join([str(label), *(f"{value:.17g}" for value in np.atleast_1d(score))])
