"""Parts read by the workers of a Dask cluster, and Dask's collections as parts.

A part is one pure task: whoever runs it, and however often, it comes to the same sums. They are
added here, in the order of the parts. Nothing is kept on the workers, so one that dies costs the
part that it was reading.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from linsep._version import __version__
from linsep.core.lanes import enter_worker, one_blas_thread
from linsep.core.limits import clock
from linsep.core.parts import Block, Found, Part, Stream, T, Task, Threads, run_part
from linsep.core.validate import in_parts
from linsep.core.words import count
from linsep.errors import ClusterError, DataError, SettingError, require

PATIENCE = 60.0
"""Seconds without any worker after which a cluster counts as lost."""

_ASK = 0.5  # seconds between two looks at the workers
_TRIES = 3  # of a part before it counts as one that cannot be read


def active_client() -> Any:
    """The Dask client of this process, or None; nobody has one who has not loaded it."""
    distributed: Any = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.Client.current()
    except ValueError:
        return None


class Cluster:
    """Workers of a Dask client."""

    def __init__(self, client: Any, *, patience: float = PATIENCE) -> None:
        self.client, self.patience = client, patience
        self.words = f"a Dask cluster, {count(len(self._workers()), 'worker')}"
        self._same_version()

    def _workers(self) -> dict[str, Any]:
        """Those that take work; none where the scheduler does not answer.

        A worker that is above its memory is paused by Dask, and if that is not its data but its
        program it stays so for ever.
        """
        return {
            name: one
            for name, one in self._known().items()
            if one.get("status", "running") != "paused"
        }

    def _known(self) -> dict[str, Any]:
        """All that the scheduler knows of."""
        if self.client.status != "running":  # to ask would be to wait for another scheduler
            return {}
        try:
            found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, ValueError, KeyError, RuntimeError):
            return {}
        return found

    def _same_version(self) -> None:
        """Refuse workers with another linsep: their sums could differ."""
        for worker, version in self.client.run(_version).items():
            if version != __version__:
                raise ClusterError(
                    f"the worker {worker} has linsep {version} where this process has "
                    f"{__version__}; install the same everywhere."
                )

    def each(
        self, parts: Sequence[Part], task: Task[T], read: Callable[[int], None]
    ) -> Iterator[Found[T] | None]:
        """In the order of the parts, with a few more under way than there are threads."""
        waiting: deque[tuple[Part, Any]] = deque()
        rest = iter(parts)
        ahead = 2 * max(1, sum(int(one["nthreads"]) for one in self._workers().values()))
        try:
            while True:
                while len(waiting) < ahead and (part := next(rest, None)) is not None:
                    waiting.append((part, self._submit(part, task)))
                if not waiting:
                    return
                part, future = waiting[0]
                yield from self._until_done(future)
                found: Found[T] = self._result(part, future)
                waiting.popleft()
                read(found.rows)
                yield found
        finally:
            with suppress(Exception):  # of a cluster that is gone nothing is left to be given up
                for _, future in waiting:
                    future.cancel()

    def _submit(self, part: Part, task: Task[T]) -> Any:
        if self.client.status != "running":
            raise ClusterError(self._lost())
        if isinstance(part, Chunk):  # its rows are a graph of the caller's, run where they are
            from dask.delayed import delayed

            work = delayed(_on_chunk, pure=False)(part.X, part.y, part.weight, part.bare(), task)
            return self.client.compute(work, retries=_TRIES)
        return self.client.submit(_on_worker, part, task, pure=False, retries=_TRIES)

    def _until_done(self, future: Any) -> Iterator[None]:
        """None now and then, until it is; ClusterError when there is nobody left to do it."""
        from distributed import CancelledError, wait

        alone: float | None = None
        while not future.done():
            yield None
            try:
                wait([future], timeout=_ASK)
            except TimeoutError:
                pass
            except CancelledError as error:  # with the scheduler, all that it knew is gone
                raise ClusterError(self._lost()) from error
            if future.done() or self._workers():
                alone = None
            elif alone is None:
                alone = clock()
            elif clock() - alone > self.patience:
                raise ClusterError(self._lost())

    def _result(self, part: Part, future: Any) -> Any:
        """What a part has come to."""
        from distributed import CancelledError, KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            raise DataError(
                f"{part.name}: every worker that read it has died ({error}); it may take more "
                "memory than a worker has. Give a smaller memory=.",
                options={"memory=": "--memory"},
            ) from error
        except CancelledError as error:
            raise ClusterError(self._lost()) from error

    def _lost(self) -> str:
        if self.client.status != "running":
            return "the scheduler of the cluster is gone; start another one and fit again."
        if self._known():
            return (
                f"all workers of the cluster have been above their memory, and paused, for "
                f"{self.patience:.3g} s; give each of them 400 MB at least, and for wide rows a "
                "smaller memory= to the stream."
            )
        return f"the cluster has had no worker for {self.patience:.3g} s; start some and fit again."


def _version() -> str:
    return __version__


def _on_worker(part: Part, task: Task[T]) -> Found[T]:
    """A part on a worker, by one thread."""
    enter_worker()
    with one_blas_thread():
        return run_part(part, task)


def _on_chunk(X: Any, y: Any, weight: Any, part: Chunk, task: Task[T]) -> Found[T]:
    """A chunk of a collection, whose rows are here by now."""
    return _on_worker(_Here(part, Block(_plain(X), _plain(y), _plain(weight))), task)


# -- collections ----------------------------------------------------------------------------------


class Chunk(Part):
    """A chunk of rows of a Dask collection."""

    def __init__(self, name: str, X: Any, y: Any, weight: Any) -> None:
        self.name, self.X, self.y, self.weight = name, X, y, weight

    def bare(self) -> Chunk:
        """Its name alone, to be sent with its rows."""
        out = Chunk(self.name, None, None, None)
        out.number = self.number
        return out

    def blocks(self) -> Iterator[Block]:
        """Its rows, computed here."""
        compute: Any = require("dask", extra="scale").compute
        found = compute(self.X, self.y, self.weight, scheduler="synchronous")
        yield Block(*map(_plain, found))


class _Here(Part):
    """A chunk whose rows are in memory."""

    def __init__(self, part: Chunk, block: Block) -> None:
        self.name, self.number, self.block = part.name, part.number, block

    def blocks(self) -> Iterator[Block]:
        yield self.block


def _plain(values: Any) -> Any:
    """Arrays of frames and series; anything else as it is."""
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def as_stream(X: Any, y: Any, weight: Any = None) -> Stream:
    """The stream that a caller gives in place of a table (``core.validate.in_parts``)."""
    if isinstance(X, Stream):
        if y is not None or weight is not None:
            raise SettingError(
                "a stream has its labels and weights in it: give fit(stream) alone, and name their "
                "columns with linsep.data.stream(..., target=, weight=)."
            )
        return X
    if not in_parts(X):
        raise DataError(
            f"a stream (linsep.data.stream) or a Dask collection is needed, not {type(X).__name__}."
        )
    return of_collections(X, y, weight)


def of_collections(X: Any, y: Any, weight: Any = None) -> Stream:
    """Dask arrays or frames of rows, labels and weights as a stream, chunk by chunk."""
    require("dask", extra="scale", what="a Dask collection")
    together = (X, y, weight)
    fused = any(_fuses(one) for one in together)
    rows, labels, weights = (_chunks(one, optimized=not fused) for one in together)
    for name, one in (("y", labels), ("sample_weight", weights)):
        if one is not None and rows is not None and len(one) != len(rows):
            raise DataError(
                f"X has {count(len(rows), 'chunk')} of rows and {name} {len(one)}; rechunk them "
                "alike."
            )
    assert rows is not None
    none = [None] * len(rows)
    parts = [
        Chunk(f"chunk {k}", *three)
        for k, three in enumerate(zip(rows, labels or none, weights or none))
    ]
    names = getattr(X, "columns", None)
    client = active_client()
    return Stream(
        parts,
        name=f"a Dask {type(X).__name__}",
        feature_names=None if names is None else [str(name) for name in names],
        runner=Threads() if client is None else Cluster(client),
        labelled=y is not None,
    )


def _fuses(X: Any) -> bool:
    """Whether Dask would read several partitions of a frame as one, since few columns are asked."""
    frame = hasattr(X, "optimize") and not hasattr(X, "rechunk")
    return frame and bool(X.optimize().npartitions != X.npartitions)


def _chunks(X: Any, *, optimized: bool) -> list[Any] | None:
    """Delayed chunks of rows; columns in one piece each."""
    if X is None:
        return None
    if not hasattr(X, "rechunk"):
        return list(X.to_delayed(optimize_graph=optimized))
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed(optimize_graph=optimized).ravel())
