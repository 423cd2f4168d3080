"""Classifiers of planes that take a kernel: the same solver, on images of the rows.

Without a kernel they are linear classifiers and nothing here is used. With one, the solver works on
coordinates of the images in the feature space (``solvers.kernel.lifted``), the answer are sums
f(x) = sum_i c_i K(x_i, x) + b, and the proof asks the kernel for its values again.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from linsep._sklearn import available_if
from linsep.core.drive import Moment, Outcome
from linsep.core.problem import Problem
from linsep.core.protocol import Solver, Status, Witness
from linsep.core.words import count
from linsep.errors import DataError, SettingError
from linsep.kernels.images import images_of
from linsep.models.base import LinearClassifier, refuse_overflow
from linsep.models.explain import Explanation, Ranking
from linsep.models.fit import Answer, Run
from linsep.models.kernel_base import (
    SHORT,
    KernelClassifier,
    kernel_table,
    places_of,
    problem_for,
)
from linsep.models.model_file import Table, certificate_of, n_planes
from linsep.models.summary import Line
from linsep.proofs.definite import definite
from linsep.proofs.feature_space import Sums
from linsep.solvers.kernel.lifted import InFeatureSpace

Array = NDArray[np.float64]

_FILE: Table[Any] = kernel_table(certificate=certificate_of)


def _has_kernel(model: KernelOption) -> bool:
    return model.kernel is not None


class KernelOption(KernelClassifier, LinearClassifier):
    """Base of the classifiers of planes with the parameter ``kernel``.

    They give ``_plane_solver``, the solver for planes with the reason in words; ``_prove_plane``,
    what is true of a plane; ``_judge``, what is true of sums; ``_settle_sums``, the status that
    goes with it; and ``_facts``, the lines of the summary about it.
    """

    certificate_: Any

    @property
    def _predicting(self) -> tuple[str, ...]:  # type: ignore[override]
        if self.kernel is None:
            return LinearClassifier._predicting
        return KernelClassifier._predicting

    def _plane_solver(self, problem: Problem) -> tuple[Solver[Any], str]:
        raise NotImplementedError

    def _judge(self, problem: Problem, sums: Sums) -> Any:
        raise NotImplementedError

    def _settle_sums(self, run: Run, solver: Any, answer: Answer) -> Answer:
        """The answer with the status that its facts support."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        way = LinearClassifier if self.kernel is None else KernelClassifier
        return way.__sklearn_tags__(self)

    # -- fit --------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        given = [name for name in SHORT if getattr(self, name) is not None]
        if self.kernel is None and given:
            raise SettingError(
                f"{given[0]}={getattr(self, given[0])!r} has no effect without a kernel; leave it "
                "out, or name the kernel, as in kernel='rbf'."
            )

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        if self.kernel is None:
            return LinearClassifier._problem(self, X, y, sample_weight)
        self.__dict__.pop("coef_", None)  # those of a fit without kernel
        return KernelClassifier._problem(self, X, y, sample_weight)

    def _proof_seconds(self, problem: Problem) -> float:
        way = LinearClassifier if self.kernel is None else KernelClassifier
        return way._proof_seconds(self, problem)

    def _sample_rows(self, problem: Problem) -> int:
        way = LinearClassifier if self.kernel is None else KernelClassifier
        return way._sample_rows(self, problem)

    def _least_proof(self, problem: Problem) -> float:
        way = LinearClassifier if self.kernel is None else KernelClassifier
        return way._least_proof(self, problem)

    def _part(self, problem: Problem, rows: NDArray[np.int64]) -> Problem:
        way = LinearClassifier if self.kernel is None else KernelClassifier
        return way._part(self, problem, rows)

    def _choose(self, problem: Problem) -> tuple[Solver[Any], str]:
        if self.kernel is None:
            return self._plane_solver(problem)
        kernel = None if self._precomputed else self._kernel
        solver, reason = self._plane_solver(images_of(problem, kernel).problem)
        lifted: Any = InFeatureSpace(solver, kernel)
        return lifted, f"{reason}, in the feature space of {self._kernel!r}"

    def _begin(self, problem: Problem, solver: Solver[Any]) -> Any:
        """With a kernel: the sums of the last fit, if it had as many rows."""
        if self.kernel is None:
            return LinearClassifier._begin(self, problem, solver)
        if not (self.warm_start and hasattr(self, "dual_coef_")):
            return None
        place = problem.index_of(self.support_)
        if place is None or len(self.dual_coef_) != (1 if problem.binary else problem.K):
            return None
        assert isinstance(solver, InFeatureSpace)
        images = solver.images(problem.lent).problem.matrix
        return self.dual_coef_ @ images[place], self.intercept_

    def _refuse_indefinite(self, problem: Problem) -> None:
        """Without a feature space the objective is not convex, and nothing can be proved."""
        known = definite(problem, None if self._precomputed else self._kernel)
        if not known.convex:
            raise DataError(
                f"kernel {self._kernel!r} has no feature space for these rows{known.how}: take "
                "another kernel, or KernelSVM, which goes to a stationary point."
            )

    def _prove(self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str) -> Answer:
        if self.kernel is None:
            return self._prove_plane(run, solver, outcome, reason)
        if outcome.status is Status.DIVERGED and getattr(self, "solver", "") != "gradient":
            raise DataError(f"the numbers overflowed with kernel {self._kernel!r}; scale X.")
        sums = sums_of_witness(run.problem, outcome.witness)
        found = self._judge(run.problem, sums)
        if not getattr(found, "finite", True):
            refuse_overflow(run.problem)
        answer = Answer(outcome.witness, found, outcome.status, outcome, reason)
        return self._settle_sums(run, solver, answer)

    def _prove_plane(
        self, run: Run, solver: Solver[Any], outcome: Outcome[Any], reason: str
    ) -> Answer:
        """What is true of a plane, without kernel."""
        return LinearClassifier._prove(self, run, solver, outcome, reason)

    def _first(self, run: Run, status: Status, seconds: float) -> Answer:
        if self.kernel is None:
            return LinearClassifier._first(self, run, status, seconds)
        return super(LinearClassifier, self)._first(run, status, seconds)

    def _keep(self, problem: Problem, answer: Answer) -> None:
        if self.kernel is None:
            for name in ("dual_coef_", "support_", "support_vectors_", "n_support_", "kernel_"):
                self.__dict__.pop(name, None)
            LinearClassifier._keep(self, problem, answer)
            return
        super(LinearClassifier, self)._keep(problem, answer)
        self._keep_sums(problem, answer.witness)

    def _keep_sums(self, problem: Problem, witness: Witness) -> None:
        sums = sums_of_witness(problem, witness)
        order = np.argsort(problem.label[sums.support], kind="stable")
        used = sums.support[order]
        self.classes_, self.kernel_ = problem.classes, self._kernel
        self.dual_coef_ = np.ascontiguousarray(sums.coef[:, order])
        self.intercept_ = sums.intercept
        self.n_support_ = np.bincount(problem.label[used], minlength=problem.K).astype(np.int32)
        self.support_ = used if problem.row_index is None else problem.row_index[used]
        self.support_vectors_ = self._vectors(problem, used)

    def _so_far(self, now: Moment[Any]) -> dict[str, Any]:
        if self.kernel is None:
            return LinearClassifier._so_far(self, now)
        self._keep_sums(now.problem, now.solver.witness(now.problem, now.state))
        return {name: getattr(self, name) for name in self._predicting}

    # -- the answer -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Scores w . x + b, or sums over kernel values: (n,) for two classes, (n, K) for more."""
        if self.kernel is None:
            return LinearClassifier.decision_function(self, X)
        rows = self._rows(X)
        scores = self._scores_of(rows, self.dual_coef_.T) + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    @available_if(_has_kernel)
    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """The facts again, from the data and the numbers of the model; see linsep.certify."""
        check_is_fitted(self, "classes_")
        problem = problem_for(self, X, y, sample_weight)
        coef = np.zeros((len(self.dual_coef_), problem.n))
        coef[:, places_of(self, problem)] = self.dual_coef_
        return self._judge(problem, _used(coef, self.intercept_))

    def explain(self, row: Any) -> Explanation:
        """The score of one row: a sum of weight x value, or of weight x sign x similarity."""
        way = LinearClassifier if self.kernel is None else KernelClassifier
        return way.explain(self, row)

    def ranking(self, X: Any = None) -> Ranking:
        """Features by the size of their weights; a model with a kernel has none."""
        way = LinearClassifier if self.kernel is None else KernelClassifier
        return way.ranking(self, X)

    def _told(self) -> list[Line]:
        if self.kernel is None:
            return LinearClassifier._told(self)
        counts = zip(self.n_support_.tolist(), self.classes_.tolist())
        by_class = ", ".join(f"{n} of {label!r}" for n, label in counts)
        vectors = count(len(self.support_), "row")
        return [
            ("algorithm", self.solver_used_),
            ("work", self._work()),
            ("kernel", repr(self.kernel_)),
            *self._facts(),
            ("sum over", f"{vectors}: {by_class}"),
        ]

    def _facts(self) -> list[Line]:
        raise NotImplementedError

    def _n_machines(self) -> int:
        return n_planes(self)

    def _n_rows_of_dual(self) -> int:
        return n_planes(self)

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        if self.kernel is None:
            return LinearClassifier.to_model(self)
        return _FILE.write(self)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        if fields.get("kernel_given") is None:
            found: Self = cls._file().read(cls, fields)
            return found
        model: Self = _FILE.read(cls, fields)
        return model


def sums_of_witness(problem: Problem, witness: Witness) -> Sums:
    """The sums that a solver in the feature space hands over."""
    coef = np.zeros((len(witness.a), problem.n))
    machine, row = np.divmod(witness.rows, problem.n)
    coef[machine, row] = witness.multipliers
    return _used(coef, witness.a)


def _used(coef: Array, intercept: Array) -> Sums:
    support = np.flatnonzero(coef.any(axis=0))
    return Sums(support, np.ascontiguousarray(coef[:, support]), np.array(intercept, float))
