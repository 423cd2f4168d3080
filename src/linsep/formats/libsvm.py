"""Models of LIBSVM: its files, and the objects of its Python interface.

A file lists the support vectors class by class, in the order of the line ``label``, each with
K - 1 coefficients: that against the rival j stands at place j, or j - 1 behind the own class.
A machine of the classes i < j is sum coef K(sv, x) - rho, positive for i. Vectors are written
with eight digits, so they are rows of the data only when these are rounded in the same way.
Of a training with ``-b 1`` the lines ``probA`` and ``probB`` hold a sigmoid for each machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import expit

from linsep._sklearn import available_if
from linsep.core.notes import warn
from linsep.core.protocol import Predictor
from linsep.errors import DataError, LinsepWarning, ModelError
from linsep.formats.text_model import Head, number, pairs, sorted_labels, whole_labels, write_lines

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel

Array = NDArray[np.float64]

KERNELS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid"}
_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
_NUMBERED = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
_LEAST_PROBABILITY = 1e-7  # probability of a class against another one, at least; LIBSVM's


def _has_sigmoids(model: LibsvmModel) -> bool:
    return model.probA is not None


class SvmObject(Protocol):
    """A model of LIBSVM's Python interface: a structure of C, with arrays as pointers."""

    param: Any
    nr_class: int
    sv_coef: Any
    rho: Any
    probA: Any
    probB: Any
    nSV: Any
    label: Any

    def get_SV(self) -> list[dict[int, float]]: ...

    def get_sv_indices(self) -> list[int]: ...


class KernelModel(Predictor, Protocol):
    """A machine of linsep with support vectors, class by class."""

    kernel_: Kernel
    dual_coef_: NDArray[Any]
    intercept_: NDArray[Any]
    n_support_: NDArray[Any]
    support_vectors_: Any


@dataclass
class LibsvmModel:
    """A classifier that LIBSVM trained, with the attributes of scikit-learn's SVC.

    What is predicted is what LIBSVM predicts: the class with most votes, and of those with
    equally many the one that stands first in the file.
    """

    svm_type: str
    kernel: str
    classes_: NDArray[np.int64]
    support_vectors_: Any = field(repr=False)
    """CSR matrix, classes in sorted order."""
    dual_coef_: Array = field(repr=False)
    intercept_: Array = field(repr=False)
    n_support_: NDArray[np.int64]
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    C: float | None = None
    class_weight: dict[int, float] | None = None
    weighted: bool = False
    support_: NDArray[np.int64] | None = field(default=None, repr=False)
    """Rows of the training set, where they are known; files do not hold them."""
    labels: NDArray[np.int64] | None = field(default=None, repr=False)
    """The classes in the order of the file, by which ties are decided; None: sorted."""
    probA: Array | None = field(default=None, repr=False)
    """Slopes of the sigmoids, one for each pair of classes in the order of the file."""
    probB: Array | None = field(default=None, repr=False)
    """Their offsets: P(first of the two) = 1 / (1 + exp(A f + B))."""
    program: str = "LIBSVM"
    """Whose file it was; SVMlight's machines are the same."""

    @property
    def n_features_in_(self) -> int:
        """Largest feature of a support vector."""
        return int(self.support_vectors_.shape[1])

    @property
    def coef_(self) -> Array:
        """Weights of the features, with a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ exists with a linear kernel only")
        columns, _ = self._machines()
        return np.asarray(self.support_vectors_.T @ columns).T

    def widened(self, width: int) -> LibsvmModel:
        """The same for rows of so many features, those not seen being zero in all vectors."""
        vectors = self.support_vectors_
        if vectors.shape[1] >= width:
            return self
        parts = (vectors.data, vectors.indices, vectors.indptr)
        wider = scipy.sparse.csr_array(parts, shape=(vectors.shape[0], width))
        return replace(self, support_vectors_=wider)

    def largest(self) -> tuple[float, bool]:
        """The largest alpha, and whether others share it: then it is their bound C."""
        alpha = np.abs(self.dual_coef_).ravel()
        top = float(alpha.max(initial=0.0))
        return top, int((alpha >= top * (1 - 1e-12)).sum()) > 1

    def decision_function(self, X: Any) -> Array:
        """Scores; one column for each pair of classes if there are more than two."""
        from linsep.kernels.spec import from_sklearn

        settings = {"degree": self.degree, "coef0": self.coef0, "gamma": self.gamma}
        kernel = from_sklearn(self.kernel, **settings)
        vectors = self.support_vectors_
        X = X if scipy.sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        width = vectors.shape[1]
        if X.ndim != 2 or X.shape[1] != width:  # one that a file claims may fit into no memory
            raise DataError(
                f"X has the shape {X.shape}, and the model is for rows of {width} features; give "
                "rows with the same columns, or model.widened(n_features) where X has more."
            )
        vectors = vectors if scipy.sparse.issparse(X) else vectors.toarray()
        columns, offsets = self._machines()
        scores = np.asarray(kernel.gram(X, vectors) @ columns) + offsets
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels: the class with most votes, the first of the file where they are equal."""
        values, K = self._file_values(X), len(self.classes_)
        votes = np.zeros((len(values), K))
        for place, (first, second) in enumerate(combinations(range(K), 2)):
            votes[:, first] += values[:, place] > 0
            votes[:, second] += values[:, place] <= 0
        return np.asarray(self._labels()[votes.argmax(axis=1)])

    @available_if(_has_sigmoids)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes in sorted order, as ``svm-predict -b 1`` computes them.

        Exists where the model was trained with ``-b 1``. The largest may be that of another class
        than the one predicted: the sigmoids were fitted to other machines.
        """
        assert self.probA is not None and self.probB is not None
        values, K = self._file_values(X), len(self.classes_)
        first = np.clip(
            expit(-(values * self.probA + self.probB)), _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY
        )
        order = np.argsort(self._labels(), kind="stable")
        if K == 2:
            return np.column_stack([first[:, 0], 1.0 - first[:, 0]])[:, order]
        duels = np.zeros((len(values), K, K))
        for place, (i, j) in enumerate(combinations(range(K), 2)):
            duels[:, i, j], duels[:, j, i] = first[:, place], 1.0 - first[:, place]
        return coupled(duels)[:, order]

    def _labels(self) -> NDArray[np.int64]:
        return self.classes_ if self.labels is None else self.labels

    def _file_values(self, X: Any) -> Array:
        """Values of the pairs as LIBSVM has them: in the order of the file, > 0 for the first."""
        scores = self.decision_function(X)
        if scores.ndim == 1:  # for the last of the two sorted classes
            return (scores if self._labels()[0] == self.classes_[1] else -scores)[:, None]
        place = np.argsort(np.argsort(self._labels(), kind="stable"), kind="stable")
        known = {pair: at for at, pair in enumerate(combinations(range(len(place)), 2))}
        columns = [
            scores[:, known[p, q]] if p < q else -scores[:, known[q, p]]
            for p, q in combinations(place.tolist(), 2)
        ]
        return np.column_stack(columns)

    def _machines(self) -> tuple[Array, Array]:
        """One column of coefficients for each machine, and the offsets."""
        K, edges = len(self.classes_), np.concatenate([[0], np.cumsum(self.n_support_)])
        if K == 2:
            return self.dual_coef_.T, self.intercept_
        columns = np.zeros((self.dual_coef_.shape[1], K * (K - 1) // 2))
        for place, (i, j) in enumerate(combinations(range(K), 2)):
            first, second = slice(edges[i], edges[i + 1]), slice(edges[j], edges[j + 1])
            columns[first, place] = self.dual_coef_[j - 1, first]
            columns[second, place] = self.dual_coef_[i, second]
        return columns, self.intercept_

    @classmethod
    def from_lines(cls, lines: list[str], path: str) -> Self:
        """The model of a file."""
        head = Head(path, lines, "SV")
        kind = head.one_of("svm_type", _TYPES, "which linsep does not know")
        name = head.one_of("kernel_type", _NUMBERED, "which linsep does not know")
        K, total = head.wholes("nr_class", 1)[0], head.wholes("total_sv", 1)[0]
        _refuse(kind, name, path)
        counts = head.wholes("nr_sv", K)
        body = [(at, line) for at, line in enumerate(lines[head.line :], head.line) if line.strip()]
        if len(body) != total or sum(counts) != total or min(counts) < 0:
            raise ModelError(f"{path}: {len(body)} support vectors, but total_sv is {total} and "
                             f"nr_sv {counts}; the file is damaged.")  # fmt: skip
        coef = np.empty((K - 1, total))
        data, indices, starts = list[float](), list[int](), [0]
        for row, (at, line) in enumerate(body):
            words = line.split()
            if len(words) < K - 1:
                raise head.error(at, f"{len(words)} coefficients, {K - 1} are needed")
            coef[:, row] = [number(value, path, at) for value in words[: K - 1]]
            places, values = pairs(words[K - 1 :], path, at)
            indices += places
            data += values
            starts.append(len(data))
        width = max(indices, default=0) + 1
        vectors = scipy.sparse.csr_array((data, indices, starts), shape=(total, width))
        duels = K * (K - 1) // 2
        made = cls._made(
            kind, name, vectors, coef, rho=head.numbers("rho", duels), counts=counts,
            labels=head.wholes("label", K), where=path,
        )  # fmt: skip
        if "probA" in head.fields or "probB" in head.fields:
            made.probA = np.array(head.numbers("probA", duels))
            made.probB = np.array(head.numbers("probB", duels))
        for field_name in ("gamma", "coef0"):
            if field_name in head.fields:
                setattr(made, field_name, head.numbers(field_name, 1)[0])
        if "degree" in head.fields:
            made.degree = head.wholes("degree", 1)[0]
        return made

    @classmethod
    def from_object(cls, model: SvmObject) -> Self:
        """The model behind an object of the Python interface of LIBSVM."""
        kind, name = _TYPES[int(model.param.svm_type)], _NUMBERED[int(model.param.kernel_type)]
        _refuse(kind, name, "the LIBSVM model")
        K = int(model.nr_class)
        rows = model.get_SV()
        total = len(rows)
        coef = np.array([model.sv_coef[k][:total] for k in range(K - 1)], dtype=np.float64)
        data = [value for row in rows for value in row.values()]
        indices = [place - 1 for row in rows for place in row]
        starts = np.cumsum([0, *(len(row) for row in rows)])
        width = max(indices, default=0) + 1
        vectors = scipy.sparse.csr_array((data, indices, starts), shape=(total, width))
        param = model.param
        made = cls._made(
            kind, name, vectors, coef, rho=model.rho[: K * (K - 1) // 2], counts=model.nSV[:K],
            labels=model.label[:K], where="the LIBSVM model",
            rows=[k - 1 for k in model.get_sv_indices()],
        )  # fmt: skip
        made.gamma, made.coef0, made.degree = param.gamma, param.coef0, int(param.degree)
        if 0.0 < param.eps < 1.0 and param.cache_size > 0:  # noise in a model read from a file
            made.C, made.weighted = float(param.C), bool(param.nr_weight)
        if model.probA and model.probB:  # trained with -b 1
            made.probA = np.array(model.probA[: K * (K - 1) // 2])
            made.probB = np.array(model.probB[: K * (K - 1) // 2])
        return made

    @classmethod
    def _made(
        cls, kind: str, name: str, vectors: Any, coef: Array, *, rho: Any, counts: Any,
        labels: Any, where: str, rows: Any = None,
    ) -> Self:  # fmt: skip
        """Bring labels into sorted order, and signs into those of scikit-learn."""
        classes, order = sorted_labels(labels, where)
        places, dual, moved = _rearranged(coef, np.asarray(rho), counts, order)
        intercept = -moved
        if len(classes) == 2:  # scikit-learn's machine of two classes is for the second one
            dual, intercept = -dual, -intercept
        given = np.asarray(counts, dtype=np.int64)[order]
        support = None if not rows or min(rows) < 0 else np.asarray(rows, dtype=np.int64)[places]
        return cls(kind, KERNELS[name], classes, vectors[places], dual, intercept, given,
                   support_=support, labels=np.asarray(labels, dtype=np.int64))  # fmt: skip


def _rearranged(
    coef: Array, rho: Array, counts: Any, order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Array, Array]:
    """Machines in LIBSVM's form with the classes in another order: the new i is the old order[i].

    Gives the vectors in their new order, and their coefficients and offsets.
    """
    K, edges = len(order), np.concatenate([[0], np.cumsum(counts)])
    places = np.concatenate([np.arange(edges[p], edges[p + 1]) for p in order])
    dual, known = np.zeros_like(coef), dict(zip(combinations(range(K), 2), rho))
    start = 0
    for i, p in enumerate(order):
        block = coef[:, edges[p] : edges[p + 1]]
        end = start + block.shape[1]
        for j, q in enumerate(order):
            if i != j:
                old, new = (q if q < p else q - 1), (j if j < i else j - 1)
                dual[new, start:end] = block[old] if (p < q) == (i < j) else -block[old]
        start = end
    found = [known[p, q] if p < q else -known[q, p] for p, q in combinations(order.tolist(), 2)]
    return places, dual, np.array(found)


def coupled(duels: Array) -> Array:
    """Probabilities of K classes from those of all pairs, duels[:, i, j] = P(i | i or j).

    The p of least sum_ij (duels_ji p_i - duels_ij p_j)^2 with sum 1, by the sweeps of T.-F. Wu,
    C.-J. Lin and R. C. Weng (JMLR 5, 2004, algorithm 2), which end where LIBSVM's do.
    """
    n, K, _ = duels.shape
    turned = duels.transpose(0, 2, 1)
    Q = -duels * turned
    own = np.arange(K)
    Q[:, own, own] = (turned**2).sum(axis=2)
    p = np.full((n, K), 1.0 / K)
    rest = np.arange(n)
    for _ in range(max(100, K)):
        slope = np.einsum("ntj,nj->nt", Q[rest], p[rest])
        mean = (p[rest] * slope).sum(axis=1)
        far = np.abs(slope - mean[:, None]).max(axis=1, initial=0.0) >= 0.005 / K
        rest, slope, mean = rest[far], slope[far], mean[far]
        if not len(rest):
            break
        part, now = Q[rest], p[rest]
        for t in range(K):
            step = (mean - slope[:, t]) / part[:, t, t]
            grown = 1.0 + step
            mean = (mean + step * (step * part[:, t, t] + 2.0 * slope[:, t])) / grown**2
            slope = (slope + step[:, None] * part[:, t]) / grown[:, None]
            now[:, t] += step
            now /= grown[:, None]
        p[rest] = now
    return p


def _refuse(kind: str, name: str, where: str) -> None:
    if kind not in ("c_svc", "nu_svc"):
        raise ModelError(f"{where}: svm_type {kind} is no classifier; linsep reads c_svc, nu_svc.")
    if name not in KERNELS:
        raise ModelError(f"{where}: with kernel_type {name} the vectors are not in the model; "
                         f"linsep reads {', '.join(KERNELS)}.")  # fmt: skip


def is_libsvm(model: object) -> TypeGuard[SvmObject]:
    """Whether this is an object of LIBSVM's Python interface."""
    return type(model).__name__ == "svm_model" and hasattr(model, "get_sv_coef")


# -- Kernel machines as files of LIBSVM, which its own programs read ------------------------------


def has_vectors(model: object) -> TypeGuard[KernelModel | LibsvmModel]:
    """Whether a fitted model is a machine of support vectors and a kernel."""
    return isinstance(model, LibsvmModel) or (
        hasattr(model, "support_vectors_") and hasattr(model, "kernel_")
    )


def write_libsvm(model: object, path: str | os.PathLike[str]) -> None:
    """Write a fitted kernel machine as a file of LIBSVM.

    Labels stand in sorted order, those of a file that was read in its order, and every number with
    the digits that give its bits again. Of classes with equally many votes LIBSVM takes the first.
    """
    if not has_vectors(model):
        raise ModelError(f"{type(model).__name__} has no support vectors with a kernel, so LIBSVM "
                         "has no file for it; LIBLINEAR may have.")  # fmt: skip
    labels = whole_labels(model.classes_, "LIBSVM")
    K, counts = len(labels), np.asarray(model.n_support_)
    coef, rho = np.asarray(model.dual_coef_, dtype=np.float64), -np.asarray(model.intercept_)
    if K == 2:  # LIBSVM's machine of two classes is for the first one
        coef, rho = -coef, -rho
    elif len(coef) != K - 1:
        raise ModelError(f"{type(model).__name__} of {K} classes has one machine for each class "
                         "and LIBSVM one for each pair; save it as .json.")  # fmt: skip
    vectors = scipy.sparse.csr_array(model.support_vectors_)
    if isinstance(model, LibsvmModel) and model.labels is not None:
        order = np.argsort(np.argsort(model.labels, kind="stable"), kind="stable")
        places, coef, rho = _rearranged(coef, rho, counts, order)
        labels, counts, vectors = labels[order], counts[order], vectors[places]
    head = [
        f"svm_type {_type(model)}", *_kernel_lines(model),
        f"nr_class {K}", f"total_sv {vectors.shape[0]}",
        f"rho {_joined(np.atleast_1d(rho))}", f"label {' '.join(map(str, labels))}",
        *_sigmoid_lines(model), f"nr_sv {' '.join(map(str, counts))}", "SV",
    ]  # fmt: skip
    write_lines([*head, *vector_lines(coef, vectors)], path)


def _type(model: KernelModel | LibsvmModel) -> str:
    own = "nu_svc" if getattr(model, "nu", None) is not None else "c_svc"
    return str(getattr(model, "svm_type", own))


def vector_lines(coef: Array, vectors: Any) -> list[str]:
    """A line ``coefficients index:value ...`` for each support vector."""
    body = []
    for row in range(vectors.shape[0]):
        span = slice(vectors.indptr[row], vectors.indptr[row + 1])
        places = np.argsort(vectors.indices[span], kind="stable")
        found = zip(vectors.indices[span][places], vectors.data[span][places])
        entries = [f"{place + 1}:{value:.17g}" for place, value in found if value != 0]
        body.append(" ".join([_joined(coef[:, row]), *entries]))
    return body


def _sigmoid_lines(model: KernelModel | LibsvmModel) -> list[str]:
    """Lines of the probabilities; of ours only a temperature of two classes is such a sigmoid."""
    slopes, offsets = getattr(model, "probA", None), getattr(model, "probB", None)
    found = getattr(model, "calibration_", None)
    if found is not None and found.method == "temperature" and len(model.classes_) == 2:
        slopes, offsets = np.array([-found.inverse_temperature]), np.zeros(1)
    if hasattr(model, "log_likelihood_") and len(model.classes_) == 2:  # logistic regression
        slopes, offsets = np.array([-1.0]), np.zeros(1)
    if slopes is not None and offsets is not None:
        return [f"probA {_joined(slopes)}", f"probB {_joined(offsets)}"]
    if found is not None:
        warn(
            f"the probabilities (calibrate={found.method!r}, {len(model.classes_)} classes) are "
            "not in the file: LIBSVM's are sigmoids of the pairs. It has those of two classes with "
            "calibrate='temperature'; a .json file has all.",
            LinsepWarning,
        )
    return []


def _joined(values: Any) -> str:
    return " ".join(f"{value + 0.0:.17g}" for value in values)


def kernel_settings(model: KernelModel | LibsvmModel, program: str) -> dict[str, Any]:
    """The kernel in scikit-learn's words; those that are no function of a few are refused."""
    if isinstance(model, LibsvmModel):
        return vars(model)
    settings: dict[str, Any] = model.kernel_.in_sklearn() or {"kernel": None}
    if settings["kernel"] not in KERNELS.values():
        raise ModelError(f"{program} has no kernel {model.kernel_!r}, only {', '.join(KERNELS)}; "
                         "save the model as .json.")  # fmt: skip
    return settings


def _kernel_lines(model: KernelModel | LibsvmModel) -> list[str]:
    """The lines of the kernel, in LIBSVM's words and with its names of parameters."""
    settings, known = kernel_settings(model, "LIBSVM"), {o: theirs for theirs, o in KERNELS.items()}
    name = known[settings["kernel"]]
    used = {"linear": (), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
    names = used.get(name, ("degree", "gamma", "coef0"))
    return [f"kernel_type {name}", *(f"{key} {_joined([settings[key]])}" for key in names)]
