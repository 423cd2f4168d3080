"""Every family on the same folds, within a time: what is measured, what is left out and why.

error = (1/n) sum_i [q^(-fold(i))(x_i) != k_i],  +- the standard error of its mean over the folds
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from linsep.choosing.choose import was_interrupted
from linsep.core.limits import (
    Interrupts,
    TimeUpError,
    asked_to_stop,
    clock,
    deaf_work,
    extra_time,
    time_left,
    total_memory,
)  # fmt: skip
from linsep.core.limits import (
    time_limit as limited,
)
from linsep.core.protocol import Predictor, last_step
from linsep.core.words import count
from linsep.errors import DataError, LabelError, LinsepError, LinsepWarning, SettingError
from linsep.models.logistic_regression import LogisticRegression
from linsep.separating.verdict import separability
from linsep.study.families import SURE, Facts, Family, are_amounts, in_turn
from linsep.study.result import Row, Skipped, Study, Trial
from linsep.tables.columns import Columns, as_frame, telling
from linsep.tables.path import folds_for
from linsep.tables.read import holds_columns, require_labels
from linsep.tables.read import read as read_frame
from linsep.tables.tabular import Tabular

Array = NDArray[np.float64]

_PROOF = 0.12  # share of the time for the question whether a plane separates
_CHEAP = 0.3  # share of the time for logistic regression of three costs; else some rows are taken
_FEWEST_ROWS = 5000  # rows below which no sample is taken,
_LEAST_SAMPLE = 2000  # and how small one may be
_TRIAL = 0.1  # share of the time for a fit that tells how many rows can be studied
_PILOT = 1000  # rows of a trial that tells what a family will take
_KNOWN = 2000  # rows from which there is such a trial
_ALONE = 20_000  # rows up to which trees are grown by one thread
_JUDGED = 5000  # training rows whose errors are counted
_AGAIN = 0.1  # share of the time that must be left for families that had too little
_AFTER = 1.5  # times the seconds expected of the last fit that are kept for it
_WRAP_UP = 0.5  # seconds of each last fit after a signal
_BEFORE, _WITHIN = "interrupted before", "interrupted in the middle"
_NARROW, _WRITTEN = 500, 2e8  # columns and bytes up to which a sparse file becomes a table
_SURE_ENTRIES = 100_000  # to train on, up to which the families of SURE are tried in any case
_MOST_CLASSES = 0.5  # classes to rows from which labels are measurements


def study(
    X: Any,
    y: Any = None,
    *,
    target: Any = None,
    time_limit: float | None = 60,
    memory: float | None = None,
    folds: int = 5,
    random_state: int = 0,
    roles: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    decimal: str | None = None,
    progress: Callable[[str], None] | None = None,
    **reading: Any,
) -> Study:
    """Try every family of linear models on a table, on the same folds, each with its proof.

    Parameters
    ----------
    X : path, DataFrame of pandas or polars, Arrow table, mapping of columns, array or CSR array
        A file is read as by ``linsep.tables.read``, svmlight text and npz by ``linsep.data.read``.
    y : labels, or the name of the column of X that holds them
        Not for a file.
    target : str or int, optional
        Label column of a file or a frame.
    time_limit : float, default=60
        Seconds for all of it; what does not fit is left out and told. None for no limit.
    memory : float, optional
        Megabytes that a family may need; by default a quarter of the machine's.
    folds : int, default=5
        Of cross-validation, stratified and shuffled; fewer if a class has fewer rows.
    random_state : int, default=0
        Of the folds and of what is random in the families.
    roles, drop, decimal
        What the columns are, as for ``linsep.tables.Columns``.
    progress : function of a text, optional
        Called with a sentence for each family that is finished.
    **reading
        How a file is read: names, header, delimiter, encoding, positive, as for
        ``linsep.tables.read``.

    Returns
    -------
    Study

    Examples
    --------
    >>> import linsep
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = linsep.study(X, y, time_limit=20)  # doctest: +SKIP
    >>> found.best_.family, round(found.best_.error, 3)  # doctest: +SKIP
    ('Gaussian, one covariance', 0.02)
    """
    begin = clock()
    _check(time_limit, memory, folds)
    data = _given(X, y, target, reading)
    bytes_ = 1e6 * memory if memory is not None else total_memory() / 4
    columns = {"roles": dict(roles) if roles else None, "drop": list(drop), "decimal": decimal}
    with (
        warnings.catch_warnings(),
        Interrupts(),
        limited(time_limit, begin=begin),
    ):
        warnings.simplefilter("ignore", LinsepWarning)
        run = _Run(data, columns, folds, random_state, bytes_, progress or (lambda text: None))
        return run.all(begin, time_limit)


def _check(seconds: float | None, memory: float | None, folds: int) -> None:
    if seconds is not None and not seconds > 0:
        raise SettingError(f"time_limit is {seconds!r}; give seconds > 0, or None.")
    if memory is not None and not memory > 0:
        raise SettingError(f"memory is {memory!r}; give megabytes > 0, or None.")
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise SettingError(f"folds is {folds!r}; give a whole number >= 2.")


# -- Data -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class Data:
    """A table or a matrix, its labels, and how it was come by."""

    X: Any
    """A frame of pandas, or a CSR array."""
    y: NDArray[Any]
    names: tuple[str, ...] | None
    """Of rows."""
    target: str
    source: str
    """Path of the file, or nothing."""
    loading: list[str]
    """Lines of Python that give X and y."""
    notes: list[str] = field(default_factory=list)

    @property
    def is_frame(self) -> bool:
        """Whether there are columns of any kind."""
        return not sparse.issparse(self.X)


def _given(X: Any, y: Any, target: Any, reading: Mapping[str, Any]) -> Data:
    known = ("names", "header", "delimiter", "encoding", "positive")
    for name in reading:
        if name not in known:
            raise SettingError(f"study has no setting {name!r}; of files: {', '.join(known)}.")
    if isinstance(X, str | os.PathLike):
        if y is not None:
            raise SettingError("y is for tables in memory; target= names the labels of a file.")
        return _from_file(os.fspath(X), target, {k: v for k, v in reading.items() if v is not None})
    if reading:
        raise SettingError(f"{next(iter(reading))}= says how a file is read; X is in memory.")
    if y is None:
        y = target
    if y is None:
        raise LabelError("y is None; give the labels, or target= with the name of their column.")
    loading = ["# X and y as they were given to linsep.study"]
    if sparse.issparse(X):
        labels = np.asarray(y)
        if len(labels) != X.shape[0]:
            raise LabelError(f"there are {len(labels)} labels for {count(X.shape[0], 'row')}.")
        return Data(sparse.csr_array(X), _plain(labels), None, "y", "", loading)
    frame = as_frame(X)
    title = "y"
    if isinstance(y, str):
        if y not in frame.columns:
            named = ", ".join(repr(c) for c in frame.columns[:12])
            raise LabelError(f"there is no column {y!r} of labels; the table has {named}.")
        loading = [
            "# table as it was given to linsep.study",
            f"X, y = table.drop(columns={y!r}), table[{y!r}].to_numpy()",
        ]
        title, frame, y = y, frame.drop(columns=y), frame[y]
    labels = _plain(np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y))
    if len(labels) != len(frame):
        raise LabelError(f"there are {len(labels)} labels for {count(len(frame), 'row')}.")
    return Data(frame, labels, None, title, "", loading)


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Labels without gaps, of a type that can be sorted."""
    y = np.ravel(y)
    gaps = np.array([value is None or value != value for value in y.tolist()], dtype=bool)
    if gaps.any():
        at = int(np.flatnonzero(gaps)[0]) + 1
        raise LabelError(f"row {at} has no label, {gaps.sum()} in all; leave these rows out.")
    return np.array([str(v) for v in y], dtype=object) if y.dtype == object else y


def _from_file(path: str, target: Any, reading: dict[str, Any]) -> Data:
    asked = reading if target is None else {"target": target, **reading}
    given = "".join(f", {name}={value!r}" for name, value in asked.items())
    if holds_columns(path):
        frame = read_frame(path, **asked)
        require_labels(frame.y, path)
        loading = [
            f"table = linsep.tables.read({path!r}{given})", "X, y = table.columns, table.y"
        ]  # fmt: skip
        return Data(
            frame.columns, frame.y, frame.row_names, frame.target, path, loading, list(frame.notes)
        )
    from linsep.data.read import read

    table = read(path, **asked)
    require_labels(table.y, path)
    notes = [table.notes] if table.notes else []
    if table.sample_weight is not None:
        notes.append("the weights of rows (cost:) take no part in a study")
    loading = [f"table = linsep.data.read({path!r}{given})", "X, y = table.X, table.y"]
    X = table.X
    if sparse.issparse(X) and X.shape[1] <= _NARROW and 8 * math.prod(X.shape) <= _WRITTEN:
        loading[1], X = "X, y = table.X.toarray(), table.y", X.toarray()
    if not sparse.issparse(X):
        X = as_frame(X, table.feature_names)
        if table.feature_names is not None:
            loading[1] = "X, y = table.frame().iloc[:, :-1], table.y"
    return Data(X, table.y, table.row_names, table.target, path, loading, notes)


# -- The run --------------------------------------------------------------------------------------


class _Run:
    """One study on its way."""

    def __init__(
        self,
        data: Data,
        columns: dict[str, Any],
        folds: int,
        random_state: int,
        memory: float,
        tell: Callable[[str], None],
    ) -> None:
        self.data, self.columns, self.random_state = data, columns, random_state
        self.memory, self.tell = memory, tell
        self.notes = list(data.notes)
        self.rows: list[Row] = []
        self.skipped: list[Skipped] = []
        self.classes, self.counts = _classes(data.y)
        self.folds = self._folds(folds)
        self.chosen: NDArray[np.intp] | None = None
        self.X, self.y = data.X, data.y
        self._matrices: dict[bool, list[tuple[Any, Any]]] = {}
        self._kept = 0.0  # bytes of them
        self._preparing = 0.0  # seconds of the last one
        self._end = math.inf  # of the family at work
        self._late: list[tuple[Family, float | None]] = []  # for want of time, and what they need
        self._amounts = False  # whether all columns are counts or frequencies

    def _folds(self, asked: int) -> int:
        folds = folds_for(self.data.y, asked)
        if folds < 2:
            rare = self.classes[int(np.argmin(self.counts))]
            raise LabelError(
                f"class {str(rare)!r} has one row, which cannot be both learned and asked; "
                "leave it out, or give more rows of it."
            )
        if folds < asked:
            rare = self.classes[int(np.argmin(self.counts))]
            self.notes.append(f"{folds} folds, not {asked}: class {str(rare)!r} has {folds} rows")
        return folds

    # -- Columns ---------------------------------------------------------------------------

    def prepare(self, *, amounts: bool) -> Any:
        """The unfitted transformer before the families."""
        if self.data.is_frame:
            return Columns(scale=not amounts, **self.columns)
        if amounts:
            return None
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.preprocessing import MaxAbsScaler

        return TfidfTransformer(sublinear_tf=True) if self.are_counts else MaxAbsScaler()

    def whole(self, estimator: Any, *, amounts: bool) -> Any:
        """What a user would write: the estimator behind its columns."""
        if self.data.is_frame:
            return Tabular(clone(estimator), scale=not amounts, **self._asked())
        before = self.prepare(amounts=amounts)
        return clone(estimator) if before is None else make_pipeline(before, clone(estimator))

    def _asked(self) -> dict[str, Any]:
        return {name: value for name, value in self.columns.items() if value}

    @property
    def are_counts(self) -> bool:
        """Whether a sparse matrix holds whole numbers that are not negative."""
        values = self.data.X.data
        return bool(values.size and values.min() >= 0 and (values == np.rint(values)).all())

    def fold(self, k: int, *, amounts: bool) -> tuple[Any, Any]:
        """Matrices of a fold: to train on, and to ask."""
        kept = self._matrices.setdefault(amounts, [(None, None)] * self.folds)
        if kept[k][0] is not None:
            return kept[k]
        begin = clock()
        train, test = (_safe_indexing(self.X, part) for part in self.splits[k])
        before = self.prepare(amounts=amounts)
        if before is not None:
            before.fit(train)
            train, test = before.transform(train), before.transform(test)
        self._preparing = clock() - begin
        size = _bytes(train) + _bytes(test)
        if self._kept + size <= self.memory:
            self._kept += size
            kept[k] = train, test
        return train, test

    # -- Order of things -------------------------------------------------------------------

    def all(self, begin: float, limit: float | None) -> Study:
        """Everything, and what was found."""
        self._begin = begin
        told, matrix = self._look()
        self._sample(matrix)
        self.splits = list(
            StratifiedKFold(self.folds, shuffle=True, random_state=self.random_state).split(
                self.y, self.y
            )
        )
        proof, proof_words = self._separable(told)
        self.facts = self._facts(matrix, separable=None if proof is None else proof.separable)
        self._each(in_turn())
        self._each(self._once_more())
        if not any(row.kind == "plane" for row in self.rows):
            if asked_to_stop():
                raise KeyboardInterrupt(
                    "interrupted before the first family was finished: there is nothing to report"
                )
            raise DataError(
                "no family was finished in the time that was left for them; give more with "
                "time_limit=." if limit is not None else "no family could be fitted; see skipped.",
                options={"time_limit=": "--time-limit"},
            )  # fmt: skip
        found = Study(
            rows=self.rows, skipped=self.skipped, proof=proof, proof_words=proof_words,
            classes_=self.classes, counts=self.counts, y=self.y, folds=self.folds,
            random_state=self.random_state, source=self.data.source, target=self.data.target,
            table_=self.data.X, labels=self.data.y, row_names=self.data.names, chosen=self.chosen,
            loading=self.data.loading, notes=self.notes, columns_=told, telling_=self.telling,
            time_limit=limit, interrupted=asked_to_stop(),
        )  # fmt: skip
        self._last_fits(found)
        found.interrupted = found.interrupted or asked_to_stop()
        if found.interrupted:
            self.notes.append(self._cut_short(found))
        found.seconds_ = clock() - begin
        return found

    def _each(self, waiting: list[Family]) -> None:
        """Every family in turn, with its share of the time that is left."""
        while waiting:
            family = waiting.pop(0)
            whole = family.share + sum(other.share for other in waiting)
            self._family(family, self._left() * family.share / whole)

    def _once_more(self) -> list[Family]:
        """Families that were cut short, or would have been, and fit into what others have left.

        The first fits of some wait for machine code, which is there now.
        """
        left = 0.0 if asked_to_stop() else self._left()
        late = [family for family, seconds in self._late if (seconds or 0.0) < left]
        if left < math.inf and left <= _AGAIN * (left + clock() - self._begin):
            return []
        names = {family.name for family in late}
        self.skipped = [skip for skip in self.skipped if skip.family not in names]
        return late

    def _look(self) -> tuple[Columns | None, Any]:
        """The columns of all rows, and the matrix that they become."""
        X, y = self.data.X, self.data.y
        self.telling: dict[str, float] = {}
        if not self.data.is_frame:
            return None, X
        columns = Columns(**self.columns).fit(X)
        matrix = columns.transform(X)
        with suppress(LinsepError):
            self.telling = telling(X, columns, y)
        twins = int(X.duplicated().sum()) if len(X) <= 200_000 else 0
        if twins > 0.02 * len(X):
            self.notes.append(
                f"{count(twins, 'row is', 'rows are')} equal to an earlier one; rows left out may "
                "have twins among those trained on, which makes errors look smaller"
            )
        return columns, matrix

    def _sample(self, matrix: Any) -> None:
        """Some rows, where not even the cheapest family could see all of them."""
        n, left = len(self.y), time_left()
        if n <= _FEWEST_ROWS or left == math.inf:
            return
        each = self.folds * 0.8 * 3 * self._seconds_a_row(matrix, _TRIAL * left)
        most = max(_LEAST_SAMPLE, int(_CHEAP * left / each))
        if n > 1.2 * most:
            self.chosen = np.sort(self._some(np.arange(n), self.y, most))
            self.X, self.y = _safe_indexing(self.X, self.chosen), self.y[self.chosen]
            self.notes.append(
                f"{len(self.chosen)} of {n} rows, drawn at random within the classes, are studied: "
                f"fits of all rows would take about {n * each:.0f} s for three costs of logistic "
                f"regression alone"
            )

    def _seconds_a_row(self, matrix: Any, most: float) -> float:
        """Of logistic regression, on numbers as the families have them.

        Raw counts of words would take many times longer. A trial that is cut short told enough.
        """
        some = self._some(np.arange(len(self.y)), self.y, 2000)
        X = matrix[some]
        before = None if self.data.is_frame else self.prepare(amounts=False)
        X = X if before is None else before.fit_transform(X)
        spent = math.inf
        for _ in range(2):  # the first may compile
            begin = clock()
            _fit(LogisticRegression(time_limit=most), X, self.y[some])
            spent = min(spent, clock() - begin)
            if spent > 0.5 * most:
                break
        return spent / len(some)

    def _some(self, rows: NDArray[np.intp], y: NDArray[Any], size: int) -> NDArray[np.intp]:
        """Rows drawn at random within the classes."""
        if size >= len(rows):
            return rows
        return np.asarray(
            train_test_split(rows, train_size=size, stratify=y, random_state=self.random_state)[0]
        )

    def _separable(self, columns: Columns | None) -> tuple[Any, str]:
        """Whether a plane separates all rows, in numbers as they stand in the table."""
        X = self.data.X
        limit = _PROOF * time_left() if time_left() < math.inf else None
        begin = clock()
        try:
            if columns is not None:
                X = Columns(scale=False, **self.columns).fit(X).transform(X)
                kinds = {encoder.kind for encoder in columns.encoders_}
                self._amounts = kinds == {"number"} and are_amounts(X)
            spent = clock() - begin
            if limit is not None and spent > limit:
                return None, f"not asked: the columns alone took {spent:.1f} s"
            left = None if limit is None else limit - spent
            proof = separability(X, self.data.y, time_limit=left)
        except LinsepError as error:
            return None, f"not known: {error}"
        return proof, str(proof)

    def _facts(self, matrix: Any, *, separable: bool | None) -> Facts:
        n = len(self.y)
        amounts = self._amounts if self.data.is_frame else are_amounts(self.data.X)
        variance = _variance(matrix)
        return Facts(
            n - n // self.folds, int(matrix.shape[1]), len(self.classes), sparse.issparse(matrix),
            amounts, variance, separable, self.memory, self.random_state,
        )  # fmt: skip

    def _left(self) -> float:
        """Seconds for families: the last fit of the best one is not among them."""
        left = time_left()
        if left == math.inf:
            return math.inf
        slow = sum(self._expected(row) for row in self._leaders())
        return max(left - _AFTER * (slow + 2.0 * self._preparing), 0.0)

    def _expected(self, row: Row) -> float:
        """Seconds of a fit of all rows that are studied."""
        return row.seconds / (self.folds - 1)

    def _leaders(self) -> list[Row]:
        """The best of each kind: one of them is fitted to all rows in the end."""
        able = sorted((r for r in self.rows if r.kind in ("plane", "curved")), key=_by_error)
        planes = [row for row in able if row.kind == "plane"]
        return able[:1] + planes[:1]

    # -- One family ------------------------------------------------------------------------

    def _family(self, family: Family, budget: float) -> None:
        why = family.refuses(self.facts)
        if why is not None:
            self._skip(family, why)
            return
        small = self.facts.n * self.facts.d <= _SURE_ENTRIES
        sure = family.kind == "baseline" or (family.name in SURE and small)
        if not sure and (time_left() <= 0 or budget <= 0):
            self._skip(family, _no_time())
            return
        if budget < family.start:
            words = f"its first fit takes about {family.start:g} s"
            self._skip(family, f"{words}; {budget:.2g} s were left for it", family.start)
            self._late.append((family, family.start))
            return
        settings = family.settings(self.facts)
        end = self._end = clock() + budget
        try:
            expected = self._pilot(family, settings[0], budget)
        except LinsepError as error:
            self._skip(family, f"it cannot be fitted: {error}")
            return
        allowed = 0.7 * self._left() if family.name == "logistic regression" else budget
        if not sure and (expected is None or expected > allowed):
            self._too_slow(family, expected, allowed)
            return
        trials: list[Trial] = []
        last = expected or 0.0
        for at, setting in enumerate(settings):
            if at and (1.3 * last > end - clock() or time_left() <= 0):
                left = len(settings) - at
                words = f"{count(left, 'setting')} more would take about {left * last:.2g} s"
                self._skip(
                    family, f"{words}; {max(end - clock(), 0):.2g} s were left for it", part=True
                )
                break
            begin = clock()
            try:
                with extra_time() if sure and not at else nullcontext():
                    trial = self._trial(family, setting)
            except (LinsepError, np.linalg.LinAlgError, MemoryError) as error:
                self._skip(family, f"it cannot be fitted: {error}", part=bool(trials))
                break
            last = clock() - begin
            if trial is None:
                words = f"a fit was still under way after {last:.2g} s"
                self._skip(family, _WITHIN if asked_to_stop() else words, part=bool(trials))
                self._late += [] if trials else [(family, None)]
                break
            trials.append(trial)
        if trials:
            self._keep(family, trials)

    def _too_slow(self, family: Family, expected: float | None, allowed: float) -> None:
        if asked_to_stop():
            self._skip(family, _WITHIN)
            return
        self._late.append((family, expected))
        about = "more than that" if expected is None else f"about {expected:.2g} s"
        self._skip(
            family, f"{self.folds} fits would take {about}; {allowed:.2g} s were left for it",
            expected,
        )  # fmt: skip

    def _skip(
        self, family: Family, why: str, estimate: float | None = None, *, part: bool = False
    ) -> None:
        self.skipped.append(Skipped(family.name, why, estimate, part))
        if not part:
            self.tell(f"{family.name}: left out, {why}")

    def _pilot(self, family: Family, setting: Any, budget: float) -> float | None:
        """Seconds that one setting will take on all folds; None if that is not to be had."""
        rows = self.splits[0][0]
        steep = family.growth > 1
        if len(rows) <= (1 if steep else 3) * _KNOWN or family.kind == "baseline":
            return 0.0
        first = self._seconds(family, setting, _PILOT, budget)
        if first is None:
            return None
        if steep:
            return float(self.folds * first * (len(rows) / _PILOT) ** family.growth)
        second = self._seconds(family, setting, 3 * _PILOT, budget)
        if second is None:
            return None
        each = max(second - first, 0.0) / (2 * _PILOT)  # what a row takes, beside the start
        return float(self.folds * (first + each * (len(rows) - _PILOT)))

    def _seconds(self, family: Family, setting: Any, size: int, budget: float) -> float | None:
        """Seconds of a fit of so many rows; None if it does not come to its end."""
        rows = self.splits[0][0]
        train, _ = self.fold(0, amounts=family.amounts)
        y = self.y[rows]
        some = self._some(np.arange(len(rows)), y, size)
        seconds: float | None = None
        for _ in range(2):  # the first may wait for machine code
            begin = clock()
            try:
                with limited(budget / 3 if budget < math.inf else None):
                    model = _fit(setting, train[some], y[some])
            except TimeUpError:
                return None
            spent = clock() - begin
            if not _unfinished(model):
                seconds = spent if seconds is None else min(seconds, spent)
            if spent < 0.1:
                break
        return seconds

    def _trial(self, family: Family, setting: Any) -> Trial | None:
        """One setting on all folds; None if the time did not reach."""
        wrong, seen, gaps, statuses = [], [], [], []
        told = np.empty(len(self.y), dtype=self.y.dtype)
        begin = clock()
        for k, (train, test) in enumerate(self.splits):
            rows, others = np.empty((len(train), 0)), np.empty((len(test), 0))
            if family.kind != "baseline":  # which looks at no column
                rows, others = self.fold(k, amounts=family.amounts)
            started = clock()
            left = min(self._left(), 1.5 * max(self._end - clock(), 0.0) + 0.05 * self._left())
            try:
                with limited(None if left == math.inf else left):
                    model = _fit(setting, rows, self.y[train])
                    if _unfinished(model) or was_interrupted(model):
                        return None
                    # Trees have no start; others may have waited for machine code at first.
                    ahead = (self.folds - 1 - k) * (clock() - started)
                    if k == (family.kind != "referee") and ahead > self._left():
                        return None
                    some = np.linspace(0, len(train) - 1, min(len(train), _JUDGED)).astype(int)
                    told[test] = _answers(model, others)
                    known = _answers(model, rows[some])
            except TimeUpError:
                return None
            wrong.append(float(np.mean(told[test] != self.y[test])))
            seen.append(float(np.mean(known != self.y[train[some]])))
            last = last_step(model)
            gaps.append(getattr(getattr(last, "certificate_", None), "relative_gap", None))
            statuses.append(getattr(getattr(last, "status_", None), "name", ""))
            if self._left() <= 0 and k + 1 < self.folds:
                return None
        proved = [float(gap) for gap in gaps if gap is not None]
        return Trial(
            setting, float(np.mean(told != self.y)), wrong, float(np.mean(seen)),
            max(proved) if proved else None, sorted(set(statuses)), clock() - begin, told,
        )  # fmt: skip

    def _keep(self, family: Family, trials: list[Trial]) -> None:
        best = min(range(len(trials)), key=lambda k: (trials[k].error, k))
        chosen = trials[best]
        row = Row(
            family.name, family.kind, family.what, chosen,
            self.whole(chosen.estimator, amounts=family.amounts), trials, family.amounts,
        )  # fmt: skip
        self.rows.append(row)
        self.tell(f"{family.name}: {row.error_words}, {chosen.seconds:.2g} s")

    # -- The end ---------------------------------------------------------------------------

    def _last_fits(self, found: Study) -> None:
        """The best family on all rows, and the best plane, whose weights are told."""
        for row in dict.fromkeys((found.best_, found.best_plane_)):
            expected = _AFTER * (self._expected(row) + self._preparing)
            grown = expected * len(self.data.y) / len(self.y)
            X, y = self.data.X, self.data.y
            if self.chosen is not None and grown > 0.7 * time_left():
                X, y = self.X, self.y
                found.of_some.add(row.family)
                self.notes.append(
                    f"{row.family} is fitted to the rows studied: all rows would take about "
                    f"{grown:.2g} s, {time_left():.2g} s were left"
                )
            allowed = _WRAP_UP if asked_to_stop() else max(time_left(), expected, 0.3)
            with extra_time(), limited(allowed):
                model = self.whole(row.estimator, amounts=row.amounts)
                found.fitted[row.family] = model.fit(X, y)

    def _cut_short(self, found: Study) -> str:
        """What a signal has left undone, in words."""
        unfinished = [name for name, model in found.fitted.items() if _unfinished(model)]
        words = [f"interrupted after {count(len(self.rows), 'family', 'families')}"]
        for what, why in (("not begun", _BEFORE), ("given up", _WITHIN)):
            if named := [skip.family for skip in self.skipped if skip.why == why]:
                words.append(f"{what}: {', '.join(named)}")
        if unfinished:
            words.append(f"the last fit was cut short: {', '.join(unfinished)}")
        return "; ".join(words)


def _no_time() -> str:
    return _BEFORE if asked_to_stop() else "no time was left for it"


def _by_error(row: Row) -> float:
    return row.error


def _fit(setting: Any, X: Any, y: NDArray[Any]) -> Any:
    """A fit, within the time that is left."""
    with _kept_to_time(setting, X.shape[0]):
        return clone(setting).fit(X, y)


def _answers(model: Predictor, X: Any) -> NDArray[Any]:
    """Predictions, within the time that is left."""
    with _kept_to_time(model, X.shape[0]):
        return np.asarray(model.predict(X))


@contextmanager
def _kept_to_time(model: object, rows: int) -> Iterator[None]:
    """Work of models that do not ask for the time.

    Trees of few rows have one thread, since others would only wait for each other.
    """
    if type(last_step(model)).__module__.startswith("linsep."):
        yield
        return
    with nullcontext() if rows > _ALONE else threadpool_limits(1), deaf_work(time_left()):
        yield


def _unfinished(model: object) -> bool:
    return getattr(getattr(last_step(model), "status_", None), "name", "") in (
        "TIME_LIMIT",
        "STOPPED",
    )


def _bytes(X: Any) -> float:
    return float(X.data.nbytes * 2 if sparse.issparse(X) else X.nbytes)


def _variance(X: Any) -> float:
    if sparse.issparse(X):
        n, d = X.shape
        square = float((X.data**2).sum()) / n / d
        return float(max(square - float(np.square(np.asarray(X.mean(axis=0))).mean()), 0.0))
    return float(np.var(X, axis=0).mean())


def _classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        named = repr(classes[0].item() if hasattr(classes[0], "item") else classes[0])
        raise LabelError(f"all rows have the label {named}; a study needs two classes.")
    if y.dtype.kind == "f" and not (y == np.rint(y)).all():
        raise LabelError(
            f"the labels are numbers such as {float(y[0]):g}, measurements and no classes; "
            "target= names another column."
        )
    if len(classes) > max(20, _MOST_CLASSES * len(y)):
        raise LabelError(
            f"there are {len(classes)} different labels in {len(y)} rows, such as "
            f"{str(classes[0])!r}; these are no classes; target= names another column.",
            options={"target= names another column": "--target names another column"},
        )
    return classes, counts
