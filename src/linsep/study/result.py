"""What a study found: a table of families, the answer in words, and code that gives it again."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linsep.core.words import count
from linsep.errors import LinsepWarning, require
from linsep.study.families import FAMILIES, code, imports, parameters
from linsep.tables.columns import told_by
from linsep.tables.path import confusion
from linsep.tables.tabular import Tabular

Array = NDArray[np.float64]

_SHOWN_TELLING = 5  # columns that tell the labels
_ORDER = {family.name: at for at, family in enumerate(FAMILIES)}


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting of a family on all folds."""

    estimator: Any
    error: float
    """Share of wrong rows among those left out."""
    folds: list[float]
    """The same of each fold."""
    train_error: float
    """Share of wrong rows among those trained on."""
    gap: float | None
    """The largest relative gap that was proved for a fit; None for rules without an optimum."""
    statuses: list[str]
    seconds: float
    """Of all fits, with the counting of errors."""
    predicted: NDArray[Any]

    @property
    def standard_error(self) -> float:
        """Of the error, over the folds."""
        return float(np.std(self.folds, ddof=1) / math.sqrt(len(self.folds)))


@dataclass(frozen=True, eq=False)
class Row:
    """A family at its best setting.

    Attributes
    ----------
    family, kind, what : str
    trial : Trial
        The best setting.
    pipeline : classifier
        Unfitted, with all that is done to the columns.
    trials : list of Trial
        All settings that were finished.
    """

    family: str
    kind: str
    what: str
    trial: Trial
    pipeline: Any
    trials: list[Trial]
    amounts: bool

    @property
    def error(self) -> float:
        """Share of wrong rows among those left out."""
        return self.trial.error

    @property
    def standard_error(self) -> float:
        """Of the error."""
        return self.trial.standard_error

    @property
    def train_error(self) -> float:
        """Share of wrong rows among those trained on."""
        return self.trial.train_error

    @property
    def gap(self) -> float | None:
        """The largest relative gap of its fits."""
        return self.trial.gap

    @property
    def seconds(self) -> float:
        """Of all fits of the setting."""
        return self.trial.seconds

    @property
    def estimator(self) -> Any:
        """Unfitted, without the columns."""
        return self.trial.estimator

    @property
    def parameters(self) -> dict[str, Any]:
        """Settings that are not the defaults."""
        return parameters(self.estimator)

    @property
    def code(self) -> str:
        """The expression that makes it, with its columns."""
        if isinstance(self.pipeline, Tabular):
            settings = {
                name: getattr(self.pipeline, name) for name in ("roles", "drop", "scale", "decimal")
            }
            usual = Tabular()
            given = "".join(
                f", {name}={value!r}"
                for name, value in settings.items()
                if value != getattr(usual, name)
            )
            return f"Tabular({code(self.estimator)}{given})"
        return code(self.pipeline)

    @property
    def setting_words(self) -> str:
        """The setting as people say it."""
        said = [f"{name} = {_short(value)}" for name, value in self.parameters.items()
                if name not in ("random_state", "keep", "max_iter", "strategy")
                and value is not None]  # fmt: skip
        return ", ".join(said)

    @property
    def error_words(self) -> str:
        """The error in per cent."""
        return f"{percents(self.error)} % +- {percents(self.standard_error)}"


@dataclass(frozen=True)
class Skipped:
    """A family that was not tried, or not all of its settings."""

    family: str
    why: str
    estimate: float | None
    """Seconds that it would have taken, where that was measured."""
    part: bool
    """Whether some of its settings were tried."""


@dataclass(eq=False)
class Study:
    """Every family of linear models on one table.

    Attributes
    ----------
    rows : list of Row
        The families that were finished, as they were tried.
    skipped : list of Skipped
    best_ : Row
        The least error on rows left out; the referee takes no part.
    simplest_within_one_se_ : Row
        The simplest family whose error is within one standard error of the best.
    pipeline_ : classifier
        ``best_``, fitted to all rows, or to those studied where the notes say so.
    proof : Proof or None
        Whether a plane separates the rows.
    columns_ : Columns or None
        What was done to the columns; None for a sparse matrix.
    telling_ : dict of str to float
        Columns that alone tell the label of nearly every row, and of what share.
    notes : list of str
    interrupted : bool
        Whether a signal cut it short; the last of the notes says what is missing.
    seconds_ : float
    """

    rows: list[Row]
    skipped: list[Skipped]
    proof: Any
    proof_words: str
    classes_: NDArray[Any]
    counts: NDArray[np.int64]
    y: NDArray[Any]
    folds: int
    random_state: int
    source: str
    target: str
    table_: Any
    labels: NDArray[Any]
    row_names: tuple[str, ...] | None
    chosen: NDArray[np.intp] | None
    loading: list[str]
    notes: list[str]
    columns_: Any
    telling_: dict[str, float]
    time_limit: float | None
    interrupted: bool = False
    fitted: dict[str, Any] = field(default_factory=dict)
    of_some: set[str] = field(default_factory=set)
    """Families whose last fit was of the rows studied, not of all."""
    seconds_: float = 0.0

    # -- Which -----------------------------------------------------------------------------

    @property
    def best_(self) -> Row:
        """The least error on rows left out; of equal ones the simplest."""
        return min(self._able(), key=lambda row: (row.error, _ORDER[row.family]))

    @property
    def best_plane_(self) -> Row:
        """The same among planes."""
        planes = [row for row in self._able() if row.kind == "plane"]
        return min(planes, key=lambda row: (row.error, _ORDER[row.family]))

    @property
    def simplest_within_one_se_(self) -> Row:
        """The simplest family whose error is within one standard error of the best."""
        most = self.best_.error + self.best_.standard_error
        return min(
            (row for row in self._able() if row.error <= most), key=lambda row: _ORDER[row.family]
        )

    @property
    def referee_(self) -> Row | None:
        """Gradient boosting, if there was time."""
        return next((row for row in self.rows if row.kind == "referee"), None)

    @property
    def baseline_(self) -> Row:
        """The commonest class."""
        return next(row for row in self.rows if row.kind == "baseline")

    @property
    def pipeline_(self) -> Any:
        """The best, fitted as ``fitted_to`` says; ``linsep.save`` writes it."""
        return self.fitted[self.best_.family]

    def fitted_to(self, row: Row) -> str:
        """The rows that the last fit of a family has seen."""
        if row.family in self.of_some:
            return f"the {count(len(self.y), 'row')} studied"
        return "all rows"

    def _able(self) -> list[Row]:
        return [row for row in self.rows if row.kind in ("plane", "curved")]

    # -- Words -----------------------------------------------------------------------------

    def table(self) -> Any:
        """All families as a DataFrame of pandas, the least error first.

        Columns: family, kind, error, standard_error, train_error, gap, seconds, parameters, code.
        """
        pandas = require("pandas", extra="study")
        ranked = sorted(self.rows, key=lambda row: (row.error, _ORDER[row.family]))
        return pandas.DataFrame(
            {
                "family": [row.family for row in ranked],
                "kind": [row.kind for row in ranked],
                "error": [row.error for row in ranked],
                "standard_error": [row.standard_error for row in ranked],
                "train_error": [row.train_error for row in ranked],
                "gap": [math.nan if row.gap is None else row.gap for row in ranked],
                "seconds": [row.seconds for row in ranked],
                "parameters": [row.parameters for row in ranked],
                "code": [row.code for row in ranked],
            }
        )

    def why(self) -> str:
        """The answer in three sentences."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """The answer: how good, how simple, and whether something else would be better."""
        best, base = self.best_, self.baseline_
        common = self.classes_[int(np.argmax(self.counts))]
        wrong = round(best.error * len(self.y))
        first = (
            f"{_capital(best.family)}{_in_brackets(best.setting_words)} answers "
            f"{percents(best.error)} % +- {percents(best.standard_error)} of the rows that it has "
            f"not seen wrongly; {str(common)!r} for every row would be wrong in "
            f"{percents(base.error)} %."
        )
        if wrong == 0:
            first = first[:-1] + (
                f", and no error in {len(self.y)} rows still allows a true share of "
                f"{percents(3.0 / len(self.y))} %."
            )
        if best.error >= base.error:
            first = (
                f"No family learned anything from these columns: the best, {best.family}, is "
                f"wrong in {percents(best.error)} % +- {percents(best.standard_error)} of the rows "
                f"that it has not seen, {str(common)!r} for every row in {percents(base.error)} %."
            )
        return [first, self._second(), self._third()]

    def _second(self) -> str:
        simple, best = self.simplest_within_one_se_, self.best_
        known: bool | None = None if self.proof is None else self.proof.separable
        apart = "a plane separates all rows" if known else "no plane separates the rows"
        apart = "whether a plane separates the rows is not known" if known is None else apart
        if simple.family == best.family:
            words = "Nothing simpler comes within one standard error of it"
        else:
            words = (
                f"The simplest within one standard error of it is {simple.family}"
                f"{_in_brackets(simple.setting_words)} with {percents(simple.error)} %"
            )
        return f"{words}; {apart}."

    def _third(self) -> str:
        best, referee = self.best_, self.referee_
        if referee is None:
            why = next((s.why for s in self.skipped if s.family == "gradient boosting"), "")
            return f"Whether trees would do better is not known: {why}."
        gain = best.error - referee.error
        spread = math.hypot(best.standard_error, referee.standard_error)
        shown = f"gradient boosting, the referee, is wrong in {percents(referee.error)} %"
        if gain > 2 * spread and gain > 0:
            return (
                f"{_capital(shown)}, {percents(gain)} points better: there is more in these "
                "columns than the families above can say."
            )
        if gain < -2 * spread:
            return f"{_capital(shown)}, {percents(-gain)} points worse: nothing is lost here."
        return f"{_capital(shown)}, no more than chance away: these families are enough."

    @property
    def optimism_(self) -> float:
        """How much too small the least error is, since it was picked among all settings.

        The mean over folds of the error of the chosen setting minus the least one of that fold
        (Tibshirani and Tibshirani, Annals of Applied Statistics 3, 2009).
        """
        every = [t for row in self._able() for t in row.trials]
        folds = np.array([trial.folds for trial in every])
        chosen = np.array(self.best_.trial.folds)
        return float(np.mean(chosen - folds.min(axis=0)))

    def fitting_words(self) -> str:
        """Whether the best family is too stiff or too free, told by its two errors."""
        best = self.best_
        apart = best.error - best.train_error
        words = (
            f"{_capital(best.family)} is wrong in {percents(best.train_error)} % of the rows that "
            f"it was trained on and in {percents(best.error)} % of the others. "
        )
        if apart > max(2 * best.standard_error, 0.3 * best.error):
            words += (
                "It knows its own rows much better than others: it overfits, and more rows, fewer "
                "columns or a smaller C would help."
            )
        elif best.error < 0.7 * self.baseline_.error or apart > best.standard_error:
            words += "The two are close, so more rows would help little."
        else:
            words += (
                "The two are close and both are high: it underfits, and what these columns do not "
                "say no rows will teach; other columns would."
            )
        costs = [(t, t.estimator) for t in best.trials if "C" in parameters(t.estimator)]
        if len(costs) >= 3 and len({len(parameters(e)) for _, e in costs}) == 1:
            ranked = sorted(((parameters(e)["C"], t) for t, e in costs), key=lambda one: one[0])
            low, high = ranked[0], ranked[-1]
            chosen = parameters(best.estimator)["C"]
            if chosen in (low[0], high[0]) and low[1].error != high[1].error:
                words += f" The best C = {chosen:g} is at the end of those tried."
        return words

    def confusion(self) -> NDArray[np.int64]:
        """How many rows left out of each class (down) the best family takes for each (across)."""
        names = [str(c) for c in self.classes_]
        told = self.best_.trial.predicted
        return confusion(self.y.astype(str), told.astype(str), names)

    def influence(self) -> list[tuple[str, float]]:
        """Columns by how much they move the score of the best plane, the strongest first.

        The standard deviation, over the rows, of what a column adds to the score; for more than
        two classes the root mean square over their planes.
        """
        model = self.fitted[self.best_plane_.family]
        if not isinstance(model, Tabular):
            return []
        coef = np.atleast_2d(model.estimator_.coef_)
        found, at = [], 0
        for encoder in model.columns_.encoders_:
            width = len(encoder.names)
            with warnings.catch_warnings():  # a sample may lack a value that the table has
                warnings.simplefilter("ignore", LinsepWarning)
                block = encoder.transform(self.table_[encoder.name])
            parts = np.asarray(block @ coef[:, at : at + width].T)
            found.append((str(encoder.name), float(np.sqrt(np.mean(parts.var(axis=0))))))
            at += width
        return sorted(found, key=lambda one: -one[1])

    def __str__(self) -> str:
        lines = [*self.sentences(), ""]
        ranked = sorted(self.rows, key=lambda row: (row.error, _ORDER[row.family]))
        lines.append(f"{'family':<26} {'error':>17}  {'gap':>8}  {'seconds':>7}  setting")
        for row in ranked:
            gap = "" if row.gap is None else f"{row.gap:.0e}"
            mark = " (referee)" if row.kind == "referee" else ""
            lines.append(
                f"{row.family + mark:<26} {row.error_words:>17}  {gap:>8}  {row.seconds:>7.2g}  "
                f"{row.setting_words}".rstrip()
            )
        whole = [one for one in self.skipped if not one.part]
        lines += [f"left out: {one.family}: {one.why}" for one in whole]
        lines += [
            f"look at {told_by(name, share)}; is it known beforehand?"
            for name, share in list(self.telling_.items())[:_SHOWN_TELLING]
        ]
        return "\n".join(lines)

    # -- Code and data ---------------------------------------------------------------------

    def snippet(self, row: Row | None = None) -> str:
        """Python that gives the errors of a row of the table again, digit for digit.

        Parameters
        ----------
        row : Row, optional
            By default ``best_``.

        Returns
        -------
        str
        """
        row = self.best_ if row is None else row
        needs = {"import linsep", "import numpy as np"}
        needs |= {"from sklearn.model_selection import StratifiedKFold, cross_val_predict"}
        inside = row.estimator if isinstance(row.pipeline, Tabular) else row.pipeline
        needs |= set(imports([inside]))
        if isinstance(row.pipeline, Tabular):
            needs.add("from linsep.tables import Tabular")
        lines = list(self.loading)
        if self.chosen is not None:
            needs.add("from sklearn.model_selection import train_test_split")
            part = "X.iloc[rows]" if hasattr(self.table_, "iloc") else "X[rows]"
            if "toarray" in self.loading[-1]:
                part = "X[rows]"
            lines += [
                f"rows, _ = train_test_split(np.arange(len(y)), train_size={len(self.chosen)}, "
                f"stratify=y, random_state={self.random_state})",
                "rows = np.sort(rows)",
                f"X, y = {part}, y[rows]",
            ]
        lines += [
            f"model = {row.code}",
            f"folds = StratifiedKFold({self.folds}, shuffle=True, "
            f"random_state={self.random_state})",
            "wrong = cross_val_predict(model, X, y, cv=folds) != y",
            f"print(np.mean(wrong))  # {row.error!r}",
            "print([float(np.mean(wrong[test])) for _, test in folds.split(y, y)])",
            f"# {row.trial.folds!r}",
        ]
        head = sorted(needs, key=lambda line: (line.startswith("from"), line))
        return "\n".join([*head, "", *lines]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """All of it in values that JSON can hold."""
        ranked = sorted(self.rows, key=lambda row: (row.error, _ORDER[row.family]))
        return {
            "answer": self.sentences(),
            "source": self.source,
            "target": self.target,
            "rows": len(self.labels),
            "rows_studied": len(self.y),
            "classes": [_value(c) for c in self.classes_],
            "counts": self.counts.tolist(),
            "folds": self.folds,
            "random_state": self.random_state,
            "separable": None if self.proof is None else self.proof.separable,
            "proof": None if self.proof is None else self.proof.to_dict(),
            "proof_sentence": self.proof_words,
            "best": self.best_.family,
            "simplest_within_one_se": self.simplest_within_one_se_.family,
            "optimism": self.optimism_,
            "confusion": self.confusion().tolist(),
            "families": [
                {
                    "family": row.family, "kind": row.kind, "error": row.error,
                    "standard_error": row.standard_error, "folds": row.trial.folds,
                    "train_error": row.train_error, "gap": row.gap, "status": row.trial.statuses,
                    "seconds": row.seconds,
                    "parameters": {k: _value(v) for k, v in row.parameters.items()},
                    "code": row.code,
                    "tried": [
                        {
                            "parameters": {
                                k: _value(v) for k, v in parameters(t.estimator).items()
                            },
                            "error": t.error, "train_error": t.train_error, "seconds": t.seconds,
                        }
                        for t in row.trials
                    ],
                }
                for row in ranked
            ],
            "skipped": [
                {"family": s.family, "why": s.why, "seconds": s.estimate, "part": s.part}
                for s in self.skipped
            ],
            "columns": {} if self.columns_ is None else {
                name: {"role": role.kind, "why": role.why}
                for name, role in self.columns_.roles_.items()
            },
            "telling": dict(self.telling_),
            "influence": [[name, value] for name, value in self.influence()],
            "notes": list(self.notes),
            "seconds": self.seconds_,
            "time_limit": self.time_limit,
            "interrupted": self.interrupted,
        }  # fmt: skip

    def to_html(self) -> str:
        """One page that needs nothing but a browser, of at most 3 MB."""
        from linsep.study.report import page

        return page(self)

    def proving_rows(self) -> list[int]:
        """Rows that prove that no plane separates the classes, counted from 0."""
        rows = None if self.proof is None else getattr(self.proof, "rows", None)
        return [] if rows is None else [int(row) for row in np.ravel(rows)]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the table."""
        n, d = self.table_.shape
        return int(n), int(d)

    @property
    def is_sparse(self) -> bool:
        """Whether it is a sparse matrix."""
        return bool(sparse.issparse(self.table_))

    def data_words(self) -> str:
        """The table in a sentence."""
        n, d = self.shape
        parts = [f"{str(c)!r} {int(k)}" for c, k in zip(self.classes_[:8], self.counts[:8])]
        more = f" and {len(self.classes_) - 8} more" if len(self.classes_) > 8 else ""
        return (
            f"{count(n, 'row')}, {count(d, 'column')} beside the labels '{self.target}': "
            f"{', '.join(parts)}{more}"
        )


def percents(share: float) -> str:
    """A share in per cent, in as many digits as can be read.

    >>> percents(0.14763), percents(0.00204), percents(0.0), percents(1.0)
    ('14.8', '0.20', '0', '100')
    """
    value = 100.0 * share
    if value == 0 or value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, bool | int | float | str | None) else str(value)
