"""What classifiers with a kernel share: the kernel, the data, decisions by blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.core.costs import KERNEL
from linsep.core.problem import Problem, columns_of
from linsep.errors import DataError, ModelError, SettingError
from linsep.kernels.base import Kernel
from linsep.kernels.rows import Rows
from linsep.kernels.spec import as_kernel, by_name, from_dict, is_given, is_nonnegative
from linsep.kernels.sums import short_rows, weighted_sums
from linsep.models.base import Classifier
from linsep.models.explain import Explanation, explain_kernel
from linsep.models.fit import read_problem
from linsep.models.kernel_proof import sure_winners
from linsep.models.model_file import (
    CALIBRATION,
    CLASSES,
    FEATURES,
    NAMES,
    OF_A_RUN,
    STATUS,
    Field,
    Fields,
    Table,
    array,
    extra,
    places,
    settings,
    stored,
)
from linsep.proofs.kernel import WORTH, KernelGap, single_sums

_SHORT = ("gamma", "sigma", "degree", "coef0")


_SUMS = 16  # of kernel values, in a proof
_VECTORS = 5000  # support vectors of a machine that is stopped, at most


class KernelClassifier(Classifier):
    """Base of KernelSVM and KernelPerceptron."""

    kernel: Any
    gamma: Any
    sigma: float | None
    degree: int | None
    coef0: float | None
    fit_intercept: bool
    memory: float
    class_weight: Any
    kernel_: Kernel
    certificate_: KernelGap
    support_: NDArray[np.int64]
    support_vectors_: Any
    n_support_: NDArray[np.int32]
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    _kernel: Any

    _predicting: tuple[str, ...] = (
        "support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "classes_",
        "kernel_", "_kernel", "n_features_in_",
    )  # fmt: skip

    # -- before the fit ---------------------------------------------------------------------

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """Check parameters and data; fix the kernel."""
        self._check_settings()
        problem = read_problem(self, X, y, sample_weight, fit_intercept=bool(self.fit_intercept))
        n = len(np.asarray(y)) if problem.row_index is not None else problem.n
        if self._precomputed and problem.d != n:
            raise DataError(
                "Precomputed matrix must be a square matrix: kernel='precomputed' needs the "
                f"values of all pairs of training rows. Input is a {n}x{problem.d} matrix."
            )
        self._kernel = self._resolved(problem, sample_weight)
        return problem

    def _proof_seconds(self, problem: Problem) -> float:
        """Sums of kernel values, of rows with some thousand vectors."""
        return _SUMS * KERNEL * problem.n * min(problem.n, _VECTORS)

    def _part(self, problem: Problem, rows: NDArray[np.int64]) -> Problem:
        part = super()._part(problem, rows)
        if not self._precomputed:
            return part
        return columns_of(part, rows if problem.row_index is None else problem.row_index[rows])

    @property
    def _precomputed(self) -> bool:
        return is_given(self.kernel)

    def _resolved(self, problem: Problem, sample_weight: Any = None) -> Any:
        """The kernel with numbers for all its parameters."""
        kernel = self._named()
        if not kernel.resolved and sample_weight is not None:
            kernel = _by_weight(kernel, problem, sample_weight)
        return as_kernel(kernel, problem.matrix)

    def _named(self) -> Any:
        """The kernel asked for; its parameters may still wait for the data."""
        given = {name: getattr(self, name) for name in _SHORT if getattr(self, name) is not None}
        if not given:
            return as_kernel(self.kernel, warn=False)
        if not isinstance(self.kernel, str):
            name = next(iter(given))
            raise SettingError(
                f"{name}={given[name]!r} goes with a kernel given by name; kernel is "
                f"{self.kernel!r}, so set it there."
            )
        return by_name(self.kernel, given)

    def _n_machines(self) -> int:
        raise NotImplementedError

    def _n_rows_of_dual(self) -> int:
        raise NotImplementedError

    # -- after it ---------------------------------------------------------------------------

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def _scores_of(self, X: Any, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel values with the support vectors times coef, by blocks of rows."""
        if coef.shape[0] == 0:
            return np.zeros((X.shape[0], coef.shape[1]))
        if self._precomputed:
            picked = (
                X[:, self.support_] if isinstance(X, np.ndarray) else X.tocsc()[:, self.support_]
            )
            return np.asarray(picked @ coef, dtype=np.float64)
        return kernel_sums(self._kernel, X, self.support_vectors_, coef)

    def _vectors(self, problem: Problem, rows: NDArray[np.int64]) -> Any:
        """Copies of the support vectors; none where the Gram matrix was given."""
        return np.empty((0, 0)) if self._precomputed else problem.matrix[rows]

    def explain(self, row: Any) -> Explanation:
        """The score of one row as a sum over support vectors: weight x sign x similarity.

        For two classes.
        """
        check_is_fitted(self)
        frame = row if hasattr(row, "columns") or hasattr(row, "tocsr") else np.atleast_2d(row)
        X = self._rows(frame)
        if X.shape[0] != 1:
            raise DataError(f"row has shape {X.shape}; give one row.")
        near = self._scores_of(X, np.eye(len(self.support_)))
        return explain_kernel(self, frame, np.ravel(near))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.positive_only = is_nonnegative(self.kernel)
        return tags


def _by_weight(kernel: Any, problem: Problem, sample_weight: Any) -> Any:
    """ "scale" as a number: the variance of the rows, each counted as often as its weight says."""
    waiting = [k for k, v in kernel.get_params().items() if isinstance(v, str) and v == "scale"]
    weight = np.asarray(sample_weight, dtype=np.float64)
    weight = weight if problem.row_index is None else weight[problem.row_index]
    if not waiting or weight.ndim != 1 or (weight == weight[0]).all():
        return kernel
    weight = weight / weight.sum()
    matrix = problem.matrix.astype(np.float64)
    mean = float(weight @ np.asarray(matrix.sum(axis=1)).ravel()) / problem.d
    if problem.sparse:
        matrix.data = matrix.data**2
        square = float(weight @ np.asarray(matrix.sum(axis=1)).ravel()) / problem.d
        variance = square - mean * mean
    else:
        variance = float(weight @ ((matrix - mean) ** 2).sum(axis=1)) / problem.d
    if not (np.isfinite(variance) and variance > 0):
        return kernel
    return kernel.clone().set_params(**dict.fromkeys(waiting, 1.0 / (problem.d * variance)))


# -- Values of fitted machines with kernels for new rows: exactly, or only their signs ------------


Array = NDArray[np.float64]

_ENTRIES = 1 << 24  # of rows that are looked at together


def kernel_sums(kernel: Any, X: Any, vectors: Any, coef: Array, like: Rows | None = None) -> Array:
    """Kernel values of the rows of X with the support vectors, times coef.

    like are rows that have the origin of distances already.
    """
    out = np.zeros((X.shape[0], coef.shape[1]))
    right = _rows(kernel, vectors, np.float64, like)
    step = max(1, _ENTRIES // max(1, X.shape[1]))
    for at in range(0, X.shape[0], step):
        left = _rows(kernel, X[at : at + step], np.float64, right)
        out[at : at + step] = weighted_sums(kernel, left, right, coef)
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if len(bad) and np.isfinite(coef).all():
        kernel.gram(X[bad[:1]], vectors)  # says what is wrong, if it is a kernel value
    return out


def sure_sums(kernel: Any, X: Any, vectors: Any, coef: Array, offset: Array) -> Array:
    """The same plus offset, with the right signs, and the rest right to what float32 gives.

    Rows with a value whose sign float32 cannot tell are computed in float64; of three classes and
    more only where no class is known to win against all others.
    """
    if X.shape[0] * vectors.shape[0] < WORTH or not kernel.single:
        return kernel_sums(kernel, X, vectors, coef) + offset
    right = _rows(kernel, vectors, np.float32)
    out = np.empty((X.shape[0], coef.shape[1]))
    step = max(1, _ENTRIES // max(1, X.shape[1]))
    unsure = []
    for at in range(0, X.shape[0], step):
        found = single_sums(
            kernel, _rows(kernel, X[at : at + step], np.float32, right), right, coef
        )
        if found is None:
            return kernel_sums(kernel, X, vectors, coef) + offset
        out[at : at + step] = found[0] + offset
        winner = sure_winners(out[at : at + step], found[1] + 1e-12 * np.abs(offset))
        unsure.append(at + np.flatnonzero(winner < 0))
    again = np.concatenate(unsure)
    if len(again):
        out[again] = kernel_sums(kernel, X[again], vectors, coef, right) + offset
    return out


def _rows(kernel: Any, matrix: Any, dtype: Any, like: Rows | None = None) -> Rows:
    kind = np.dtype(dtype)
    rows: Rows = kernel.rows(short_rows(kernel, matrix, kind), kind, like=like)
    kernel.prepare(rows)
    return rows


# -- Fields of a model file: support vectors, coefficients, the kernel by its numbers --------------


def kernel_table(
    *more: Field[Any], certificate: Callable[[Any], Any] = KernelGap.from_dict
) -> Table[Any]:
    """The fields of classifiers with a kernel, and more of them."""
    fields: tuple[Field[Any], ...] = (
        settings(*OF_A_RUN, "kernel"),
        Field("kernel_given", _kernel_given),
        Field("kernel", lambda model: model.kernel_.to_dict(), _read_kernel),
        CLASSES,
        FEATURES,
        NAMES,
        places("support"),
        replace(places("n_support", np.int32), back=_read_counts),
        Field("support_vectors", _vectors_out, _read_vectors),
        array("dual_coef", lambda model: (model._n_rows_of_dual(), len(model.support_))),
        array("intercept", lambda model: (model._n_machines(),)),
        STATUS,
        stored("certificate", certificate),
        extra(
            "n_iter_",
            "n_updates_",
            "solver_used_",
            "fingerprint_",
            "preprocessing_",
            "conflict_",
            "errors_",
        ),
        *more,
        CALIBRATION,
    )
    return Table("dual_coef_", fields, _settings)


def _settings(fields: Fields) -> dict[str, Any]:
    given = fields["kernel_given"]
    return {**fields["params"], "kernel": from_dict(given) if isinstance(given, dict) else given}


def _kernel_given(model: KernelClassifier) -> Any:
    kernel = model.kernel
    if isinstance(kernel, Kernel):
        return kernel.to_dict()
    if not isinstance(kernel, str):
        raise ModelError(
            f"kernel is {kernel!r:.60}, a function, which a model file cannot hold; use a kernel "
            "of linsep.kernels."
        )
    return kernel


def _read_kernel(model: KernelClassifier, fields: Fields) -> None:
    model._kernel = model.kernel_ = from_dict(fields["kernel"])


def _read_counts(model: KernelClassifier, fields: Fields) -> None:
    counts = np.asarray(fields["n_support"], dtype=np.int32)
    vectors, K = len(model.support_), len(model.classes_)
    if counts.shape != (K,) or counts.sum() != vectors:
        raise ModelError(f"n_support does not share out {vectors} support vectors to {K} classes")
    model.n_support_ = counts


def _vectors_out(model: KernelClassifier) -> Any:
    vectors = model.support_vectors_
    if not scipy.sparse.issparse(vectors):
        return np.asarray(vectors)
    return {
        "data": vectors.data,
        "indices": vectors.indices.astype(np.int64),
        "indptr": vectors.indptr.astype(np.int64),
        "shape": [int(k) for k in vectors.shape],
    }


def _read_vectors(model: KernelClassifier, fields: Fields) -> None:
    told = fields["support_vectors"]
    if isinstance(told, dict):
        parts = (told["data"], told["indices"], told["indptr"])
        vectors: Any = scipy.sparse.csr_array(parts, shape=tuple(told["shape"]))
        numbers = vectors.data
    else:
        vectors = numbers = np.asarray(told)
    wide = (len(model.support_), model.n_features_in_)
    if not model._precomputed and vectors.shape != wide:
        raise ModelError(f"support_vectors has shape {vectors.shape} where {wide} is needed")
    if not np.isfinite(numbers).all():
        raise ModelError("support_vectors holds a number that is not finite")
    model.support_vectors_ = vectors
