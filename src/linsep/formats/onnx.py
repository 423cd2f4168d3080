"""Fitted models as ONNX files, which many systems run without Python.

The file computes in float64 what ``decision_function`` and ``predict`` compute, with operators
that every runtime has. Input ``X`` (rows, features). Outputs: ``label``; ``scores``, shape (n,) or
(n, K), whose sign or largest decides; ``probabilities``, shape (n, K), where the method has them.
The status and the certificate stand in the metadata of the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from linsep._version import __version__
from linsep.core.files import atomic_write_bytes
from linsep.core.protocol import Predictor, has_planes, last_step
from linsep.errors import CapabilityError, ModelError, require
from linsep.formats.libsvm import KernelModel
from linsep.kernels.blocks import pair_columns

_OPSET, _IR = 17, 8  # of 2022: older runtimes read it as well as newer ones
_LARGEST = 1 << 30  # bytes of numbers: a file of protobuf holds two gigabytes


def write_onnx(model: object, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, alone or at the end of a pipeline of scalers."""
    onnx = require("onnx", extra="onnx", what="an ONNX file")
    graph = Graph(onnx)
    steps = [one for _, one in model.steps] if isinstance(model, Pipeline) else [model]
    for step in steps:
        if isinstance(step, str):  # "passthrough"
            continue
        if not hasattr(step, "fit"):
            raise ModelError(
                f"{type(step).__name__} was read from a file of another program, and only what "
                "linsep or scikit-learn has fitted becomes an ONNX file; fit it again, with "
                "linsep.KernelSVM for instance, or keep the file as it is."
            )
        check_is_fitted(step)
    x = "X"
    for step in steps[:-1]:
        x = _scaled(graph, step, x)
    last: Predictor = last_step(model)
    scores = _scores(graph, last, x)
    graph.label(last, scores)
    graph.probabilities(last, scores)
    content = graph.file(n_features=int(getattr(steps[0], "n_features_in_", 0)), about=_about(last))
    try:
        atomic_write_bytes(path, content)
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror or error}.") from error


class Graph:
    """The operators of a file, in the order in which they are computed; tensors have names."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._numbers: list[Any] = []
        self._outputs: list[Any] = []
        self._size = 0

    def op(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """One operator of ONNX; gives the name of its result."""
        out = name or f"t{len(self._nodes)}"
        node = self._onnx.helper.make_node(kind, list(inputs), [out], **attributes)
        self._nodes.append(node)
        return out

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Numbers or words that never change."""
        array = np.asarray(value)
        if array.dtype.kind in "UO":
            array = np.array([str(v) for v in array.ravel()], dtype=object).reshape(array.shape)
        else:
            array = np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
        self._size += array.nbytes
        if self._size > _LARGEST:
            raise ModelError(
                f"the numbers of this model take more than {_LARGEST >> 30} GB, which is more than "
                "an ONNX file is good for; save it as .json."
            )
        name = f"c{len(self._numbers)}"
        self._numbers.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def as_number(self, condition: str) -> str:
        """1 where a condition holds, else 0."""
        return self.op("Cast", condition, to=self._onnx.TensorProto.DOUBLE)

    def output(self, name: str, kind: int, shape: list[Any]) -> None:
        """Make a tensor a result of the file."""
        self._outputs.append(self._onnx.helper.make_tensor_value_info(name, kind, shape))

    def label(self, model: Predictor, scores: str) -> None:
        """The class of each row; scores becomes an output too."""
        kinds = self._onnx.TensorProto
        classes = np.asarray(model.classes_)
        two = len(classes) == 2
        if two:
            scores = self.op("Squeeze", scores, self.constant([1], np.int64))
            negative = getattr(model, "zero", "positive") == "negative"
            zero = self.constant(0.0)
            positive = self.op("Greater" if negative else "GreaterOrEqual", scores, zero)
            number = self.op("Cast", positive, to=kinds.INT64)
        else:
            number = self.op("ArgMax", scores, axis=1, keepdims=0)
        kind, dtype = _kind_of_labels(classes, kinds)
        self.op("Gather", self.constant(classes, dtype), number, name="label", axis=0)
        self.op("Identity", scores, name="scores")
        self.output("label", kind, ["n"])
        self.output("scores", kinds.DOUBLE, ["n"] if two else ["n", len(classes)])

    def probabilities(self, model: Predictor, scores: str) -> None:
        """Of a model whose scores are log odds, or logarithms of shares."""
        if not _has_probabilities(model):
            return
        if len(model.classes_) == 2:
            both = [self.op("Sigmoid", self.op("Neg", scores)), self.op("Sigmoid", scores)]
            self.op("Concat", *both, name="probabilities", axis=1)
        else:
            self.op("Softmax", scores, name="probabilities", axis=1)
        self.output("probabilities", self._onnx.TensorProto.DOUBLE, ["n", len(model.classes_)])

    def file(self, *, n_features: int, about: dict[str, str]) -> bytes:
        """The bytes of the file, checked by ONNX itself."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        rows = helper.make_tensor_value_info("X", kinds.DOUBLE, ["n", n_features or "d"])
        graph = helper.make_graph(self._nodes, "linsep", [rows], self._outputs, self._numbers)
        model = helper.make_model(
            graph,
            producer_name="linsep",
            producer_version=__version__,
            ir_version=_IR,
            opset_imports=[helper.make_opsetid("", _OPSET)],
        )
        helper.set_model_props(model, about)
        self._onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


def _kind_of_labels(classes: NDArray[Any], kinds: Any) -> tuple[int, Any]:
    """The type that labels have in the file."""
    if classes.dtype.kind in "iu":
        return kinds.INT64, np.int64
    if classes.dtype.kind == "f":
        return kinds.DOUBLE, np.float64
    if classes.dtype.kind == "b":
        return kinds.BOOL, np.bool_
    if all(isinstance(c, str) for c in classes.tolist()):
        return kinds.STRING, object
    raise ModelError(
        f"classes such as {classes.tolist()[0]!r} of type {type(classes.tolist()[0]).__name__} do "
        "not exist in ONNX; use text, whole numbers, floats or booleans."
    )


# -- Scalers before the model ---------------------------------------------------------------------


def _scaled(graph: Graph, step: Any, x: str) -> str:
    """What a scaler of scikit-learn makes of the rows."""
    name = type(step).__name__
    if isinstance(step, str) and step == "passthrough":
        return x
    if type(step).__module__.startswith("sklearn.preprocessing"):
        if name == "StandardScaler":
            if step.with_mean:
                x = graph.op("Sub", x, graph.constant(step.mean_))
            return graph.op("Div", x, graph.constant(step.scale_)) if step.with_std else x
        if name == "MinMaxScaler" and not step.clip:
            x = graph.op("Mul", x, graph.constant(step.scale_))
            return graph.op("Add", x, graph.constant(step.min_))
        if name == "MaxAbsScaler":
            return graph.op("Div", x, graph.constant(step.scale_))
    raise ModelError(
        f"the step {name} of the pipeline cannot be written as ONNX; StandardScaler, MinMaxScaler "
        "and MaxAbsScaler can. Save it as .json, or write the last step alone and give it rows "
        "that are prepared."
    )


# -- Scores: one column of two classes, else one for each class -----------------------------------


class Quadratic(Predictor, Protocol):
    """Gaussian classes with covariances of their own."""

    quadratic_: Any
    means_: NDArray[np.float64]
    priors_: NDArray[np.float64]

    def log_density(self, X: Any, /) -> NDArray[np.float64]: ...


def _is_quadratic(model: object) -> TypeGuard[Quadratic]:
    return hasattr(model, "quadratic_") and not hasattr(model, "coef_")


def _has_sums(model: object) -> TypeGuard[KernelModel]:
    return getattr(model, "kernel_", None) is not None and hasattr(model, "dual_coef_")


def _scores(graph: Graph, model: Predictor, x: str) -> str:
    """Scores of the rows by the numbers of a model."""
    _refuse_other_rules(model)
    machines = getattr(model, "estimators_", None)
    if machines is not None and hasattr(model, "pairs_"):
        values = graph.op("Concat", *(_scores(graph, one, x) for one in machines), axis=1)
        return values if len(model.classes_) == 2 else _votes(graph, values, len(model.classes_))
    if machines is not None and hasattr(model, "decide"):
        return graph.op("Concat", *(_scores(graph, one, x) for one in machines), axis=1)
    if _has_sums(model):
        return _sums(graph, model, x)
    if _is_quadratic(model):
        return _quadratic(graph, model, x)
    if not has_planes(model):
        raise ModelError(
            f"{type(model).__name__} has neither weights nor support vectors that ONNX could "
            "compute with; save it as .json."
        )
    coef, intercept = np.atleast_2d(_dense(model.coef_)), np.ravel(model.intercept_)
    product = graph.op("MatMul", x, graph.constant(coef.T))
    return graph.op("Add", product, graph.constant(np.broadcast_to(intercept, len(coef))))


def _refuse_other_rules(model: object) -> None:
    """A file decides by sign or by the largest score, and has no other probabilities."""
    name = type(model).__name__
    if getattr(model, "zero", None) == "reject" or getattr(model, "decide", None) == "unanimous":
        raise ModelError(f"{name} rejects rows, which an ONNX file cannot; save it as .json.")
    if getattr(model, "calibrate", None) is not None:
        raise ModelError(
            f"{name} has probabilities that were calibrated, which an ONNX file does not hold; "
            "fit it with calibrate=None, or save it as .json."
        )
    if getattr(model, "loss", None) is not None and hasattr(model, "priors_"):
        raise ModelError(f"{name} decides by a loss of its own; save it as .json.")


def _sums(graph: Graph, model: KernelModel, x: str) -> str:
    """f(x) = sum_i c_i K(x_i, x) + b, of each machine or of each pair of classes."""
    K, vectors = len(model.classes_), _dense(model.support_vectors_)
    if model.kernel_.given:
        raise ModelError("a model of a Gram matrix has no rows to compare with; save it as .json.")
    dual, offset = model.dual_coef_, np.ravel(model.intercept_)
    pairs = K > 2 and len(dual) == K - 1  # one machine a pair, as in LIBSVM
    coef = -pair_columns(dual, model.n_support_) if pairs else dual.T
    try:
        near = model.kernel_.in_graph(graph, x, vectors)
    except CapabilityError as error:
        raise ModelError(f"{error} Save the model as .json.") from None
    values = graph.op("MatMul", near, graph.constant(coef))
    values = graph.op("Add", values, graph.constant(-offset if pairs else offset))
    return _votes(graph, values, K) if pairs else values


def _votes(graph: Graph, values: str, K: int) -> str:
    """Votes of the pairs for the classes plus, for equal votes, their sums squeezed."""
    pairs = list(combinations(range(K), 2))
    second, signed = np.zeros((len(pairs), K)), np.zeros((len(pairs), K))
    first = np.zeros((len(pairs), K))
    for row, (i, j) in enumerate(pairs):
        first[row, i] = second[row, j] = signed[row, j] = 1.0
        signed[row, i] = -1.0
    won = graph.as_number(graph.op("GreaterOrEqual", values, graph.constant(0.0)))
    lost = graph.op("Sub", graph.constant(1.0), won)
    votes = graph.op(
        "Add",
        graph.op("MatMul", won, graph.constant(second)),
        graph.op("MatMul", lost, graph.constant(first)),
    )
    sums = graph.op("MatMul", values, graph.constant(signed))
    size = graph.op("Add", graph.op("Abs", sums), graph.constant(1.0))
    squeezed = graph.op("Div", sums, graph.op("Mul", size, graph.constant(3.0)))
    return graph.op("Add", votes, squeezed)


def _quadratic(graph: Graph, model: Quadratic, x: str) -> str:
    """ln p(k) p(x | k) = (x - m)' A (x - m) + c of each class; of two classes the difference."""
    forms, means = model.quadratic_.A, model.means_
    highest = np.diagonal(model.log_density(means)) + np.log(model.priors_)
    columns = []
    for form, mean, top in zip(forms, means, highest):
        moved = graph.op("Sub", x, graph.constant(mean))
        bent = graph.op("Mul", graph.op("MatMul", moved, graph.constant(form)), moved)
        squares = graph.op("ReduceSum", bent, graph.constant([1], np.int64), keepdims=1)
        columns.append(graph.op("Add", squares, graph.constant(top)))
    if len(columns) == 2:
        return graph.op("Sub", columns[1], columns[0])
    return graph.op("Concat", *columns, axis=1)


def _has_probabilities(model: object) -> bool:
    """Whether the scores are log odds, or logarithms of probabilities up to a sum."""
    return hasattr(model, "log_odds")


def _dense(values: Any) -> NDArray[np.float64]:
    dense: Callable[[], Any] = getattr(values, "toarray", lambda: values)
    return np.asarray(dense(), dtype=np.float64)


# -- What is known about the model ----------------------------------------------------------------


def _about(model: object) -> dict[str, str]:
    """The class, why it stopped and what is proved, for the metadata of the file."""
    out = {"estimator": type(model).__name__}
    status, certificate = getattr(model, "status_", None), getattr(model, "certificate_", None)
    if status is not None:
        out["status"] = f"{status.name}: {status.value}"
    fields: Sequence[str] = ("objective", "lower_bound", "relative_gap", "errors", "margin")
    for name in fields:
        value = getattr(certificate, name, None)
        if isinstance(value, int | float) and np.isfinite(value):
            out[name] = repr(value)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        out["features"] = ", ".join(map(str, names))
    return out
