"""The binary problems of a scheme: fitted in order or in threads, within limits."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from linsep.core.costs import NO_FURTHER, PLANE, second_thread
from linsep.core.lanes import run_all
from linsep.core.limits import Interrupts, extra_time, time_left
from linsep.core.problem import Problem, against_rest
from linsep.core.protocol import Status
from linsep.models.base import LinearClassifier, first_planes
from linsep.models.fit import speaking_for_all
from linsep.multiclass.certificates import renumbered
from linsep.multiclass.machines import fit_machine, is_ours, is_pairwise, untrained
from linsep.proofs.plain import require_same
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_THREADS = second_thread(PLANE)  # entries of a binary problem from which a thread for each pays


@dataclass(frozen=True)
class Job:
    """One binary problem of a table that all of them share; nothing is copied before its turn."""

    estimator: Any
    X: Any
    label: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    positive: int
    """Number of the class called 1."""
    negative: int | None = None
    """Number of the class called 0; None: all others."""
    table: Problem | None = None
    """The problem of all classes, where one against all others is made of it."""

    def rows(self) -> NDArray[np.intp] | None:
        """Numbers of the rows that take part; None for all."""
        if self.negative is None:
            return None
        return np.flatnonzero((self.label == self.positive) | (self.label == self.negative))

    def fit(self, seconds: float | None, *, hurry: bool) -> tuple[Any, Any]:
        """The machine and its certificate, with the row numbers of the whole table."""
        rows, X, label, weight = self.rows(), self.X, self.label, self.weight
        if rows is not None:
            X, label = _safe_indexing(X, rows), label[rows]
            if is_pairwise(self.estimator):
                X = X[:, rows]
            weight = None if weight is None else weight[rows]
        target = (label == self.positive).astype(int)
        if rows is None:
            problem = None if self.table is None else part_of(self.table, self.positive)
        else:
            problem = duel_of(self.estimator, X, target, weight)
        machine, found = fit_machine(
            self.estimator, X, target, weight, seconds, hurry=hurry, problem=problem
        )
        return machine, renumbered(found, rows)

    def without_fit(self, status: Status, planes: Array | None) -> tuple[Any, Any]:
        """A machine that was not trained: of planes of all classes, or the side with more rows."""
        ones = int((self.label == self.positive).sum())
        if self.negative is None:
            zeros = len(self.label) - ones
        else:
            zeros = int((self.label == self.negative).sum())
        plane = None
        if planes is not None:
            rival = 0.0 if self.negative is None else planes[self.negative]
            plane = planes[self.positive] - rival
        return untrained(self.X, status, plane, positive=ones >= zeros), None

    def planes(self) -> Array | None:
        """[w, b] of each class, of a sample and at next to no cost; None where X has no columns."""
        if not is_ours(self.estimator) or is_pairwise(self.estimator):
            return None
        table = self.table or _problem(self.estimator, self.X, self.label, self.weight)
        with extra_time():
            return first_planes(table)


def entries(X: Any) -> int:
    """Matrix entries that are stored."""
    return int(X.nnz if hasattr(X, "nnz") else np.size(X))


def run_jobs(
    jobs: Sequence[Job], n_jobs: int | None, size: float
) -> tuple[list[Any], Status | None]:
    """Fit all machines; results in order, and the status if some were left out.

    The first Ctrl-C, or the end of the time, stops the machine that is being trained where it
    stands, and those that come after it are planes of a sample, all made at once. Each may take an
    equal share of the time that is left.

    Parameters
    ----------
    jobs : list of Job
    n_jobs : int or None
        Threads.
    size : float
        Matrix entries of one problem.
    """
    threads, run = _threads(jobs[0].estimator, n_jobs, size)
    hurry = len(jobs) * size > NO_FURTHER
    lock, left, ended = threading.Lock(), len(jobs), Status.RUNNING
    planes = cache(jobs[0].planes)

    def one(job: Job) -> tuple[Any, Any]:
        nonlocal left, ended
        seconds = None
        with lock:
            rest = time_left()
            if rest < math.inf:
                seconds = min(rest, rest * threads / left)
            left -= 1
            if interrupts.requested:
                ended = Status.STOPPED
            elif rest <= 0:
                ended = Status.TIME_LIMIT
            if ended is not Status.RUNNING:
                return job.without_fit(ended, planes())
        with speaking_for_all():
            return job.fit(seconds, hurry=hurry)

    with Interrupts() as interrupts:
        found = run([partial(one, job) for job in jobs])
    if interrupts.requested:
        return found, Status.STOPPED
    return found, None if ended is Status.RUNNING else ended


def _threads(estimator: Any, n_jobs: int | None, size: float) -> tuple[int, Any]:
    """How many threads, and what runs jobs in them.

    Fits that show progress or call back go one after the other, and so do, unless threads are
    asked for, those of few matrix entries: they would wait for each other.
    """
    if is_ours(estimator):
        watched = bool(estimator.verbose) or estimator.callbacks is not None
        alone = watched or (n_jobs is None and size < _THREADS)
        threads = 1 if alone else None if n_jobs in (None, -1) else n_jobs
        return threads or 2, partial(run_all, threads=threads)
    if n_jobs in (None, 1):
        return 1, lambda jobs: [job() for job in jobs]
    pool = Parallel(n_jobs=n_jobs, prefer="threads")
    return 2, lambda jobs: list(pool(delayed(_call)(job) for job in jobs))


def _call(job: Any) -> Any:
    return job()


# -- One table for all binary problems of a scheme: checked, measured and packed once -------------


def table_of(estimator: Any, X: Any, label: NDArray[np.int64], weight: Any) -> Problem | None:
    """The problem of K classes behind those of one class against the rest.

    Whatever the solver would make for each of them alone (lengths of rows and columns, packed
    rows) is made here. None for estimators that look at the rows by themselves: those of other
    libraries, those with a ``fit`` of their own, and those with weights of the two sides, targets
    or a kernel.
    """
    if not _takes_problems(estimator):
        return None
    table = _problem(estimator, X, label, weight)
    try:
        if not np.isfinite(getattr(estimator, "C", 1.0)):
            return table
        learner = clone(estimator)
        learner._check_settings()
        solver = learner._choose(part_of(table, 0).lent)[0]
    except (TypeError, ValueError):  # a setting is wrong, as its fit will say
        return None
    if hasattr(solver, "prepare"):
        survey(table)  # of the table as it is, for the proofs of all classes
        solver.prepare(table.lent)
    return table


def part_of(table: Problem, k: int) -> Problem:
    """Class k, called 1, against all others, called 0."""
    return against_rest(table, k).changed(classes=np.array([0, 1]))


def duel_of(estimator: Any, X: Any, target: NDArray[np.int64], weight: Any) -> Problem | None:
    """The problem of two classes; None as above."""
    return _problem(estimator, X, target, weight) if _takes_problems(estimator) else None


def _problem(estimator: Any, X: Any, label: NDArray[np.int64], weight: Any) -> Problem:
    problem = Problem(
        X,
        label,
        sample_weight=weight,
        fit_intercept=estimator.fit_intercept,
        check_finite=False,  # the scheme has looked
    )
    return require_same(problem, X, label, weight)


def _takes_problems(estimator: Any) -> bool:
    if not is_ours(estimator) or type(estimator).fit is not LinearClassifier.fit:
        return False
    own = ("class_weight", "targets", "kernel")
    return all(getattr(estimator, name, None) is None for name in own)
