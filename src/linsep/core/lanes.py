"""Passes over a matrix: a fixed split into lanes, worked on by any number of threads.

A lane is a run of consecutive rows, a block a piece of a lane that stays in the cache while
it is read several times. Both depend on the shape of the matrix alone. Every lane adds up
its own blocks and the lanes are added in order, so a sum has the same bits for any number of
threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache, partial
from itertools import count, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import BLOCK_BYTES, LEAST_PIECE, PLANE, second_thread
from linsep.core.limits import tick

T = TypeVar("T")

_SERIAL = second_thread(PLANE)


class Lanes:
    """The split of a matrix, dense or sparse, into lanes of blocks.

    Parameters
    ----------
    matrix : array or CSR matrix of shape (n, d)
    double : bool, default=False
        Give float32 blocks as float64.
    scatter : callable, optional
        ``scatter(matrix, lo, hi, out)`` writes rows of a sparse matrix out densely; compiled
        code does it faster than the default.
    least : int, default=4
        Blocks of a lane, at least.
    most : int, default=8
        Lanes, at most: many of them share the work evenly, few need few sums.
    serial : int, optional
        Entries below which threads cost more than they bring.
    """

    def __init__(
        self,
        matrix: Any,
        *,
        double: bool = False,
        scatter: Callable[..., Any] | None = None,
        least: int = 4,
        most: int = 8,
        serial: int = _SERIAL,
    ) -> None:
        self.matrix = matrix
        self.scatter = scatter or _scatter
        self.n, self.d = matrix.shape
        self.sparse = not isinstance(matrix, np.ndarray)
        self.dtype = np.dtype(np.float64) if double else matrix.dtype
        per_row = self.d * self.dtype.itemsize
        self.rows = int(np.clip(BLOCK_BYTES // max(1, per_row) // 64 * 64, 64, 8192))
        self.rows = min(self.rows, max(1024, self.n // 16 // 64 * 64))  # work for every thread
        while self.n > self.rows and self.n % self.rows == 1:
            self.rows += 64  # numpy multiplies a block of one row in another order than numba
        n_blocks = -(-self.n // self.rows)
        count = most if self.d <= 128 else most // 2 if self.d <= 512 else max(2, most // 4)
        count = max(1, min(count, n_blocks // least))
        edges = [n_blocks * k // count for k in range(count + 1)]
        self.spans = [
            (edges[k] * self.rows, min(self.n, edges[k + 1] * self.rows)) for k in range(count)
        ]
        size = matrix.nnz if self.sparse else self.n * self.d
        self.serial = size < serial
        self._scratch: dict[int, NDArray[Any]] = {}

    def blocks(self, lane: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """First row, row after the last, and a dense array, for each block of a lane.

        The array may be used again for the next block.
        """
        start, stop = self.spans[lane]
        written = self.sparse or self.dtype != self.matrix.dtype
        if written and lane not in self._scratch:  # fresh memory is slow at first touch
            self._scratch[lane] = np.empty((self.rows, self.d), self.dtype)
        for lo in range(start, stop, self.rows):
            hi = min(stop, lo + self.rows)
            if not written:
                yield lo, hi, self.matrix[lo:hi]
                continue
            block = self._scratch[lane][: hi - lo]
            if self.sparse:
                self.scatter(self.matrix, lo, hi, block)
            else:
                block[:] = self.matrix[lo:hi]
            yield lo, hi, block

    def each(self, function: Callable[[int], T], threads: int | None = None) -> list[T]:
        """``function(lane)`` for every lane; results in the order of the lanes."""
        jobs = [partial(function, lane) for lane in range(len(self.spans))]
        return run_all(jobs, 1 if self.serial else threads)


def _scatter(matrix: Any, lo: int, hi: int, out: NDArray[Any]) -> None:
    out[:] = matrix[lo:hi].toarray()


# -- threads --------------------------------------------------------------------------------

_inside = threading.local()
_pools: dict[int, ThreadPoolExecutor] = {}


def run_all(jobs: Sequence[Callable[[], T]], threads: int | None = None) -> list[T]:
    """Run all jobs and give their results in order; None means one thread for each core.

    A job that is itself run by a thread of ours does its own jobs alone, and ``at_most`` limits
    all that run within it.
    """
    limit: int | None = getattr(_inside, "limit", None)
    threads = (limit or cores()) if threads is None else max(1, threads)
    threads = min(threads, len(jobs))
    if threads <= 1 or getattr(_inside, "worker", False):
        return [_in_time(job) for job in jobs]
    pool = _pools.get(threads)
    if pool is None:
        pool = _pools[threads] = ThreadPoolExecutor(threads - 1, "linsep", enter_worker)
    return _share_out(jobs, pool, threads - 1)


def _in_time(job: Callable[[], T]) -> T:
    tick()
    return job()


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """What runs within has no more threads unless it asks for a number; None is no limit."""
    before = getattr(_inside, "limit", None)
    _inside.limit = threads
    try:
        yield
    finally:
        _inside.limit = before


def _share_out(jobs: Sequence[Callable[[], T]], pool: ThreadPoolExecutor, helpers: int) -> list[T]:
    """The caller works too, so nothing waits for a helper that has no core to run on."""
    results: list[Any] = [None] * len(jobs)
    turn = count()  # next() is one operation, whatever thread asks

    def work() -> None:
        while (k := next(turn)) < len(jobs):
            results[k] = _in_time(jobs[k])

    def help_out() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    errors: list[BaseException] = []
    futures = []
    try:
        for _ in range(helpers):
            futures.append(pool.submit(copy_context().run, help_out))
    except RuntimeError:  # no thread can be started: those that could end, the caller goes on
        _pools.pop(helpers + 1, None)
        pool.shutdown(cancel_futures=True)
    _inside.worker = True
    try:
        work()
    finally:
        _inside.worker = False
        wait([future for future in futures if not future.cancel()])
    if errors:
        raise errors[0]
    return results


def sum_of_pieces(
    function: Callable[..., NDArray[np.float64]], *arrays: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sums that a function gives for pieces of the arrays, added; pieces depend on n alone."""
    n = len(arrays[0])
    pieces = max(1, min(16, n // LEAST_PIECE))
    edges = [n * k // pieces for k in range(pieces + 1)]
    jobs = [partial(function, *(x[lo:hi] for x in arrays)) for lo, hi in pairwise(edges)]
    return np.asarray(np.sum(run_all(jobs), axis=0))


def enter_worker() -> None:
    """Jobs of this thread run alone from now on: it is one of several that share the cores."""
    _inside.worker = True


@lru_cache(maxsize=1)
def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pools.clear)


# -- BLAS -----------------------------------------------------------------------------------

_blas_lock = threading.Lock()
_blas_users = 0
_blas_before: list[int] = []  # threads of each library before the first of them asked


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS in one thread: our lanes are the threads, and the bits stay the same."""
    global _blas_users
    with _blas_lock:
        if _blas_users == 0:
            _blas_before[:] = [library.get_num_threads() for library in _blas_libraries()]
            for library in _blas_libraries():
                library.set_num_threads(1)
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                for library, threads in zip(_blas_libraries(), _blas_before):
                    library.set_num_threads(threads)


@lru_cache(maxsize=1)
def _blas_libraries() -> list[Any]:
    """What sets the threads of each BLAS; asked directly, small problems being soon solved."""
    import scipy.linalg  # noqa: F401  its BLAS must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]
