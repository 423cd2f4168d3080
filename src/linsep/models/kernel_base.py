"""What classifiers with a kernel share: the kernel, the data, decisions by blocks, the proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import isqrt
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.svm import SVC, NuSVC
from sklearn.utils.validation import check_is_fitted

from linsep.core.costs import FLOAT32_VALUES, KERNEL, PRODUCT, PROOF, PROOF_MACHINE, SPARSE
from linsep.core.notes import say, warn
from linsep.core.problem import Problem, columns_of
from linsep.core.words import count
from linsep.errors import (
    CapabilityError,
    CostWarning,
    DataError,
    ModelError,
    ProofError,
    SettingError,
)
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import Duels, duels_of, pair_columns, short_rows, weighted_sums
from linsep.kernels.rows import Rows
from linsep.kernels.spec import (
    NAMED,
    as_kernel,
    by_name,
    from_dict,
    from_sklearn,
    is_given,
    is_nonnegative,
)
from linsep.kernels.user import Function
from linsep.models.base import Classifier
from linsep.models.explain import Explanation, Ranking, explain_kernel, one_row
from linsep.models.fit import read_problem, row_weights, rows_to_judge
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
from linsep.numerics.rounding import AT_ONE
from linsep.proofs.definite import definite
from linsep.proofs.kernel import (
    Definite,
    KernelGap,
    Rough,
    as_labelled,
    kernel_gap,
    rough_sums,
    single_sums,
    stretch,
)
from linsep.proofs.plain import require_kernel, require_same
from linsep.proofs.referee import Defined, agreed, defined

SHORT = ("gamma", "sigma", "degree", "coef0")


_FIRST_SHARE = 0.4  # of the time for the proof of a model of few rows, with
_EACH_WAY = 2  # values of a row and vector, class by class
_FEWEST_VECTORS = 40
_SUMS = 16  # of kernel values, in a proof
_VECTORS = 5000  # support vectors of a machine that is stopped, at most


class KernelClassifier(Classifier):
    """Base of the classifiers with a kernel."""

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
        problem = read_problem(
            self, X, y, sample_weight, fit_intercept=bool(self.fit_intercept),
            targets=getattr(self, "targets", None),
        )  # fmt: skip
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
        return self._value_seconds(problem) * problem.n * min(problem.n, _VECTORS)

    def _least_proof(self, problem: Problem) -> float:
        """The same with those of a sample; the rows are copied class by class."""
        entries = problem.matrix.nnz if problem.sparse else problem.n * problem.d
        values = problem.n * min(problem.n, self._sample_rows(problem))
        pairs = 0 if problem.binary else problem.K * (problem.K - 1) // 2
        return self._value_seconds(problem) * values + PROOF * entries + pairs * PROOF_MACHINE

    def _sample_rows(self, problem: Problem) -> int:
        """No more than can be proved in a share of the time; each is a vector of most machines."""
        most = super()._sample_rows(problem)
        if self.time_limit is None or self.time_limit == np.inf:
            return most
        seconds = _EACH_WAY * problem.n * self._value_seconds(problem)
        return max(_FEWEST_VECTORS, min(most, int(_FIRST_SHARE * self.time_limit / seconds)))

    def _pairs_seconds(self, problem: Problem) -> float:
        """Sums of the kernel values of all pairs of rows, as bounds of smooth losses need."""
        return self._value_seconds(problem) * float(problem.n) ** 2

    def _value_seconds(self, problem: Problem) -> float:
        """A kernel value in a proof, which is a product of rows first."""
        if self._precomputed:
            return _SUMS * KERNEL
        width = problem.matrix.nnz / problem.n if problem.sparse else problem.d
        return _SUMS * KERNEL + width * (SPARSE if problem.sparse else PRODUCT)

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
        made = as_kernel(kernel, problem.matrix)
        return require_kernel(made, self.kernel, self._short_parameters())

    def _short_parameters(self) -> dict[str, Any]:
        """Those of a kernel given by name that are set beside it."""
        return {name: getattr(self, name) for name in SHORT if getattr(self, name) is not None}

    def _named(self) -> Any:
        """The kernel asked for; its parameters may still wait for the data."""
        given = self._short_parameters()
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
        return rows_to_judge(self, X)

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

        With more than two classes it is the lead of the best class over the second.
        """
        check_is_fitted(self)
        frame = one_row(row, self.n_features_in_)[1]
        X = self._rows(frame)
        near = self._scores_of(X, np.eye(len(self.support_)))
        return explain_kernel(self, frame, np.ravel(near))

    def _lead(self, similarities: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Coefficients of the support vectors and offset of the score that decides a row."""
        dual, offset = np.asarray(self.dual_coef_, dtype=np.float64), np.ravel(self.intercept_)
        if len(self.classes_) == 2:
            return dual.ravel(), float(offset[0])
        first, second = np.argsort(-(dual @ similarities + offset), kind="stable")[:2]
        return dual[first] - dual[second], float(offset[first] - offset[second])

    def squared_length(self) -> float:
        """|w|^2 in the feature space; of several machines all together."""
        check_is_fitted(self, "classes_")
        if self._precomputed:
            raise CapabilityError(
                "the kernel values of the support vectors are those of the Gram matrix of the fit, "
                "which a model does not keep; certificate_.objective has the whole."
            )
        coef = self._columns_of_all()
        K = self.kernel_.gram(self.support_vectors_)
        return float(np.einsum("ik,ij,jk->", coef, K, coef))

    def _columns_of_all(self) -> NDArray[np.float64]:
        """Coefficients of the support vectors, one column a machine."""
        return np.asarray(self.dual_coef_, dtype=np.float64).T

    def ranking(self, X: Any = None) -> Ranking:
        """Features by the size of their weights; a model with a kernel has none."""
        raise CapabilityError("a model with a kernel has no weights of features to rank.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.positive_only = is_nonnegative(self.kernel)
        return tags


def _by_weight(kernel: Kernel, problem: Problem, sample_weight: Any) -> Any:
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

_ENTRIES_AT_ONCE = 1 << 24  # of rows that are looked at together


def kernel_sums(
    kernel: Kernel, X: Any, vectors: Any, coef: Array, like: Rows | None = None
) -> Array:
    """Kernel values of the rows of X with the support vectors, times coef.

    like are rows that have the origin of distances already.
    """
    out = np.zeros((X.shape[0], coef.shape[1]))
    right = _rows(kernel, vectors, np.float64, like)
    step = max(1, _ENTRIES_AT_ONCE // max(1, X.shape[1]))
    for at in range(0, X.shape[0], step):
        left = _rows(kernel, X[at : at + step], np.float64, right)
        out[at : at + step] = weighted_sums(kernel, left, right, coef)
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if len(bad) and np.isfinite(coef).all():
        kernel.gram(X[bad[:1]], vectors)  # says what is wrong, if it is a kernel value
    return out


def sure_sums(kernel: Kernel, X: Any, vectors: Any, coef: Array, offset: Array) -> Array:
    """The same plus offset, with the right signs, and the rest right to what float32 gives.

    Rows with a value whose sign float32 cannot tell are computed in float64; of three classes and
    more only where no class is known to win against all others.
    """
    if X.shape[0] * vectors.shape[0] < FLOAT32_VALUES or not kernel.single:
        return kernel_sums(kernel, X, vectors, coef) + offset
    right = _rows(kernel, vectors, np.float32)
    out = np.empty((X.shape[0], coef.shape[1]))
    step = max(1, _ENTRIES_AT_ONCE // max(1, X.shape[1]))
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


def _rows(kernel: Kernel, matrix: Any, dtype: Any, like: Rows | None = None) -> Rows:
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
            "conflict_",
            "errors_",
            "log_likelihood_",
            "null_log_likelihood_",
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
    needed = (len(model.support_), model.n_features_in_)
    if not model._precomputed and vectors.shape != needed:
        raise ModelError(f"support_vectors has shape {vectors.shape} where {needed} is needed")
    if not np.isfinite(numbers).all():
        raise ModelError("support_vectors holds a number that is not finite")
    model.support_vectors_ = vectors


# -- Cost of a fit, proof and votes of its machines -----------------------------------------------


_MINUTES = 60_000  # rows from which a fit may take minutes


def cost_words(problem: Problem, kernel: Kernel, memory: float, verbose: int) -> None:
    """Before a long fit: what it will cost, and the cheaper routes."""
    n = problem.n
    if n < 5000 or not (verbose or n >= _MINUTES):
        return
    need = 4e-6 * n * n
    how = "all of it fits" if need <= memory else f"{memory:.0f} MB are allowed (memory=)"
    words = (
        f"a kernel machine of {n} rows: up to {n:,} x {n:,} kernel values of {problem.d} features "
        f"({need:,.0f} MB; {how}), and the time grows with the square of the rows. Cheaper: "
        f"{kernel.cheaper}, or fewer rows."
    )
    if verbose:
        say(words)
    else:
        warn(words, CostWarning)


def space_words(kernel: Kernel | None, known: Definite, *, free: bool) -> str:
    """Where a machine with a kernel lives, and whether its offset is free."""
    b = "the intercept is not penalised" if free else "no intercept"
    taken = ", assumed to be positive semidefinite" if known.convex and not known.proved else ""
    if known.shift > 0:
        taken = f" + {known.shift:.3g} on the diagonal, which is positive semidefinite"
    if known.uneven > 0:
        taken = f", of its symmetric part (K + K') / 2{taken}"
    return f"in the feature space of {kernel!r}{taken}; {b}"


def words_of(
    C: float | Array, kernel: Kernel | None, known: Definite, nu: float | None = None, *, free: bool
) -> str:
    """The objective as a sentence, with what is taken for granted."""
    what = space_words(kernel, known, free=free)
    what += "" if nu is None else f"; C is what nu={nu:g} comes to"
    if np.ndim(C):
        return f"|w|^2 / 2 + C x sum of hinge losses {what}"
    if np.isinf(C):
        return f"|w|^2 / 2 with y f(x) >= 1 for all rows {what}"
    return f"|w|^2 / 2 + {C:.6g} x sum of hinge losses {what}"


def certify_pairs(
    problem: Problem, pairs: Duels, alphas: list[Array], offsets: Array, C: float | Array,
    known: Definite, words: str, nu: float | None = None, made: Defined | None = None,
) -> KernelGap:  # fmt: skip
    """The proof of all machines, recomputed from their numbers and the kernel.

    made: what ``defined_sums`` has found of them, if somebody has asked before.
    """
    pairs, coef = _as_judged(problem, pairs, alphas)
    made = _defined(pairs, coef) if made is None else made
    rough = rough_sums(pairs.values, coef, _groups(problem, pairs))
    if rough is not None and len(alphas) > 1 and not _agree(pairs, coef, rough, made):
        rough = None
    raw = _all_sums(pairs, coef, made) if rough is None and len(alphas) > 1 else None
    parts = []
    costs = np.broadcast_to(C, len(alphas))
    for k, (pair, alpha, b) in enumerate(zip(pairs.pairs, alphas, offsets)):
        quick = None if rough is None else (rough.sums[pair.ids, k], rough.error[pair.ids, k])
        parts.append(
            kernel_gap(
                pairs.values, pair.ids, pair.y, costs[k] * pair.weight, alpha, float(b),
                free=problem.fit_intercept, known=known, words=words, rough=quick,
                sums=None if raw is None else (raw[0][pair.ids, k], raw[1][pair.ids, k]),
                made=made.machine(k), nu=nu,
            )
        )  # fmt: skip
    if len(parts) == 1:
        return parts[0]
    errors = problem.n  # votes of a machine that is none are not known
    if all(np.isfinite(np.append(alpha, b)).all() for alpha, b in zip(alphas, offsets)):
        sums = None if raw is None else raw[0]
        errors = _vote_errors(problem, pairs, coef, offsets, rough, sums, made)
    return KernelGap.together(parts, errors, "one for each pair of classes")


def judged_pairs(problem: Problem, kernel: Kernel | None) -> Duels:
    """The pairs of a problem with the signs and weights that its labels give, made once."""
    return problem.once(_judged_pairs, kernel)


def _judged_pairs(problem: Problem, kernel: Kernel | None) -> Duels:
    pairs = duels_of(problem, kernel)
    return replace(pairs, pairs=[as_labelled(problem, pairs, pair) for pair in pairs.pairs])


def _as_judged(problem: Problem, pairs: Duels, alphas: list[Array]) -> tuple[Duels, Array]:
    """Pairs with the signs that the labels give, and what each row is worth to each machine;
    numbers that are none count as nothing."""
    if [pair.classes for pair in pairs.pairs] != list(combinations(range(problem.K), 2)):
        raise ProofError(
            "the pairs of classes that have machines are not all pairs, each once; this is a bug "
            "of linsep, please report it."
        )
    pairs = judged_pairs(problem, pairs.values.kernel)
    coef = np.zeros((len(pairs.order), len(alphas)))
    for k, (pair, alpha) in enumerate(zip(pairs.pairs, alphas)):
        coef[pair.ids, k] = np.nan_to_num(alpha * pair.y, posinf=0.0, neginf=0.0)
    return pairs, coef


def defined_sums(problem: Problem, pairs: Duels, alphas: list[Array]) -> Defined:
    """The sums of all machines by the definition of the kernel, for all rows or a sample."""
    return _defined(*_as_judged(problem, pairs, alphas))


def _defined(pairs: Duels, coef: Array) -> Defined:
    vectors = np.flatnonzero(coef.any(axis=1))
    return defined(pairs.values, np.arange(len(coef)), vectors, coef[vectors])


def _all_sums(
    pairs: Duels, coef: Array, made: Defined, some: NDArray[Any] | None = None
) -> tuple[Array, Array]:
    """Of all machines in float64, for some rows or all: the votes need each of them."""
    rows, vectors = np.arange(len(coef)) if some is None else some, np.flatnonzero(coef.any(axis=1))
    told = pairs.values.combine_many(vectors, coef[vectors], rows)
    return agreed(pairs.values, rows, vectors, coef[vectors], told, 0.0, made)


def _agree(pairs: Duels, coef: Array, rough: Rough, made: Defined) -> bool:
    """Whether sums in float32 are those of the kernel's definition, as far as they claim to be."""
    rows, vectors = np.arange(len(coef)), np.flatnonzero(coef.any(axis=1))
    told, _ = agreed(pairs.values, rows, vectors, coef[vectors], rough.sums, rough.error, made)
    return told is rough.sums


def _groups(problem: Problem, pairs: Any) -> list[tuple[NDArray[Any], NDArray[Any]]] | None:
    """The rows of each class with the machines of that class."""
    if len(pairs.pairs) == 1:
        return None
    label = problem.label[pairs.order]
    return [
        (
            np.flatnonzero(label == c),
            np.array([k for k, p in enumerate(pairs.pairs) if c in p.classes]),
        )
        for c in range(problem.K)
    ]


def stretched(pairs: Duels, alphas: list[Array], offsets: Array, C: float) -> Array | None:
    """Factors next to 1, one a machine, that take rounding errors out of the losses; None if none
    of them gains by it."""
    by = [
        stretch(pairs.values, pair.ids, pair.y, C * pair.weight, alpha, float(b))
        for pair, alpha, b in zip(pairs.pairs, alphas, offsets)
    ]
    return None if max(by, default=1.0) == 1.0 else np.array(by)


def canonical(pairs: Duels, alphas: list[Array], offsets: Array) -> tuple[list[Array], Array]:
    """Hard margins at the scale at which the nearest row has y f(x) = 1."""
    by = [
        _to_one(pairs, pair, alpha, float(b))
        for pair, alpha, b in zip(pairs.pairs, alphas, offsets)
    ]
    return [t * alpha for t, alpha in zip(by, alphas)], np.asarray(offsets) * np.array(by)


def _to_one(pairs: Duels, pair: Any, alpha: Array, b: float) -> float:
    some = np.flatnonzero(alpha)
    sums = pairs.values.combine(pair.ids[some], (alpha * pair.y)[some], pair.ids)
    least = float((pair.y * (sums + b)).min(initial=np.inf))
    away = 0 < least < np.inf and abs(least - 1) > AT_ONE
    return 1 / least if away else 1.0


def _vote_errors(
    problem: Problem, pairs: Duels, coef: Array, offsets: Array, rough: Rough | None,
    raw: Array | None, made: Defined,
) -> int:  # fmt: skip
    """Rows that the votes of all machines give to another class."""
    label, some = problem.label[pairs.order], np.arange(problem.n)
    wrong = 0
    if rough is not None:
        winner = sure_winners(rough.sums + offsets, rough.error)
        wrong = int((winner[winner >= 0] != label[winner >= 0]).sum())
        some = some[winner < 0]
    raw = _all_sums(pairs, coef, made, some)[0] if raw is None else raw
    return wrong + int(
        (votes_and_sums(raw + offsets, problem.K).argmax(axis=1) != label[some]).sum()
    )


def votes_and_sums(raw: Array, K: int) -> Array:
    """Votes for the classes plus, for equal votes, sums of values squeezed into (-1/3, 1/3)."""
    votes, sums = np.zeros((len(raw), K)), np.zeros((len(raw), K))
    for column, (i, j) in enumerate(combinations(range(K), 2)):
        value = raw[:, column]
        votes[:, j] += value >= 0
        votes[:, i] += value < 0
        sums[:, i] -= value
        sums[:, j] += value
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))


def sure_winners(raw: Array, error: Array) -> NDArray[np.int64]:
    """The class that wins against all others, whatever the errors of the values are, else -1.

    Columns are pairs of classes. No other class can have as many votes as the winner, so the
    signs of the pairs without it do not matter.
    """
    K = (1 + isqrt(1 + 8 * raw.shape[1])) // 2
    won = np.zeros((len(raw), K), dtype=np.int64)
    for column, (i, j) in enumerate(combinations(range(K), 2)):
        won[:, j] += raw[:, column] > error[:, column]
        won[:, i] += raw[:, column] < -error[:, column]
    return np.where(won.max(axis=1) == K - 1, won.argmax(axis=1), -1)


# -- The proof of a kernel machine again, from the data and the numbers of the model alone --------


Machine = KernelClassifier | SVC | NuSVC


def certify_svc(model: SVC, X: Any, y: Any, sample_weight: Any = None) -> KernelGap:
    """Bounds of a fitted sklearn.svm.SVC with a kernel, on the rows it was trained on."""
    name, rate = model.kernel, float(getattr(model, "_gamma", 1.0))
    kernel: Kernel | None
    if callable(name):
        kernel = as_kernel(Function(name, of="matrices"), warn=False)
    elif is_given(name):
        kernel = None
    elif name in NAMED:
        kernel = from_sklearn(name, gamma=rate, degree=model.degree, coef0=model.coef0)
    else:
        raise ModelError(
            f"SVC(kernel={name!r}) cannot be certified; one of {', '.join(NAMED)}, 'precomputed' "
            "or a function of two arrays can."
        )
    return certify_vectors(model, kernel, float(model.C), X, y, sample_weight, free=True)


def certify_vectors(
    model: Machine, kernel: Kernel | None, C: float | Array, X: Any, y: Any, sample_weight: Any, nu:
    float | None = None, *, free: bool,
) -> KernelGap:  # fmt: skip
    """Bounds of a machine with one plane a pair of classes, on the rows it was trained on."""
    problem = problem_for(model, X, y, sample_weight, free=free)
    known = definite(problem, kernel)
    pairs = duels_of(problem, kernel)
    columns, offsets = _columns(model)
    place = places_of(model, problem)
    alphas = []
    for k, pair in enumerate(pairs.pairs):
        signed = np.zeros(problem.n)
        signed[place] = columns[:, k]
        alphas.append(signed[pairs.order[pair.ids]] * pair.y)
    named = kernel if kernel is not None else as_kernel("precomputed")
    words = words_of(C, named, known, nu, free=bool(free))
    return certify_pairs(problem, pairs, alphas, offsets, C, known, words, nu)


def problem_for(
    model: Machine, X: Any, y: Any, sample_weight: Any = None, *, free: bool | None = None
) -> Problem:
    """The rows a model was trained on, with its weights of classes."""
    labels = np.asarray(y)
    own = not isinstance(model, SVC | NuSVC)
    given = getattr(model, "class_weight", None)
    weight = row_weights(given, labels, sample_weight, by_weight=own)
    free = bool(getattr(model, "fit_intercept", True)) if free is None else bool(free)
    targets = getattr(model, "targets", None)
    problem = Problem(X, labels, sample_weight=weight, fit_intercept=free, targets=targets)
    require_same(problem, X, y, *((sample_weight, given) if own else ()))
    if not np.array_equal(np.asarray(model.classes_), problem.classes):
        raise ModelError(
            f"the model knows the classes {model.classes_.tolist()} but "
            f"y has {problem.classes.tolist()}."
        )
    return problem


def _columns(model: Machine) -> tuple[Array, Array]:
    """Coefficients of the support vectors for each pair, positive for the second class."""
    dual = model.dual_coef_
    dual = dual.toarray() if hasattr(dual, "toarray") else np.asarray(dual, dtype=np.float64)
    offsets = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    if len(model.classes_) == 2:
        return dual.T, offsets
    return -pair_columns(dual, np.asarray(model.n_support_)), -offsets


def places_of(model: Machine, problem: Problem) -> NDArray[np.int64]:
    """Rows of the problem that the support vectors are."""
    place = problem.index_of(model.support_)
    if place is None:
        first, last = int(np.min(model.support_)), int(np.max(model.support_))
        raise ModelError(
            f"the model has support vectors among the rows {first} to {last}, and some are none of "
            f"the {count(problem.n, 'row')} of X that weigh more than 0; give the rows and weights "
            "it was trained on."
        )
    counts = np.bincount(problem.label[place], minlength=problem.K)
    if len(np.unique(place)) < len(place) or not np.array_equal(counts, model.n_support_):
        raise ModelError(
            f"n_support is {np.asarray(model.n_support_).tolist()}, but the support vectors are "
            f"{counts.tolist()} rows of the classes."
        )
    vectors = model.support_vectors_
    if len(place) and vectors.shape == (len(place), problem.d):
        differs = abs(problem.matrix[place] - vectors)
        if len(place) and differs.max() > 0:
            raise ModelError("the support vectors are not rows of X; give the rows of the fit.")
    return place
