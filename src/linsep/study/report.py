"""A study as one page: no network, no framework, light and dark, narrow and wide."""

from __future__ import annotations

import html
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from linsep._version import __version__
from linsep.core.limits import clock, time_left
from linsep.core.protocol import last_step
from linsep.core.words import count
from linsep.errors import printable, require
from linsep.study.families import parameters
from linsep.study.result import Row, Study, percents
from linsep.tables.columns import told_by
from linsep.tables.tabular import Tabular

LARGEST = 3_000_000  # bytes of a page
_SHOWN_TELLING = 5  # columns that tell the labels
_SHOWN_ROWS = 14  # proving rows that are shown
_SHOWN_COLUMNS = 10  # columns of them
_CELL_CHARACTERS = 120  # characters of a cell
_WEIGHTS = 30  # weights that are listed
_LISTED = 200  # columns that are listed
_SHOWN_CLASSES = 12  # classes whose confusion is shown
_SEEN = 30  # columns that skrub reports, with its pictures
_SAMPLE = 20_000  # rows that it sees
_EACH, _START = 0.15, 1.5  # seconds for a column of its report, and before the first


def page(study: Study) -> str:
    """The document."""
    title = os.path.basename(study.source) or "a table"
    parts = [
        _answer(study, title), _families(study), _separable(study), _weights(study),
        _columns(study), _fitting(study), _left_out(study), _code(study),
    ]  # fmt: skip
    shown = _SEEN
    while True:
        data = _data(study, shown)
        text = _document(title, [*parts[:1], *parts[1:4], data, *parts[4:]])
        if len(text.encode()) <= LARGEST or not shown:
            return text
        shown //= 2


def _document(title: str, sections: Sequence[str]) -> str:
    style = resources.files("linsep.study").joinpath("static", "report.css").read_text("utf-8")
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Study of {_text(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
    )
    end = f'<footer class="quiet">linsep {_text(__version__)}</footer>\n</body>\n</html>\n'
    return head + sections[0] + "<main>\n" + "\n".join(sections[1:]) + "\n</main>\n" + end


# -- Sections -------------------------------------------------------------------------------------


def _answer(study: Study, title: str) -> str:
    said = "".join(
        f"<li>{_text(sentence.replace('+-', '±'))}</li>" for sentence in study.sentences()
    )
    looks = ""
    for name, share in list(study.telling_.items())[:_SHOWN_TELLING]:
        said_of_it = told_by(name, share)
        looks += (
            f'<p class="look">{_text(said_of_it[:1].upper() + said_of_it[1:])}. If it is known '
            "only afterwards, leave it out and study again: all errors below would be too small."
            "</p>"
        )
    notes = "".join(f"<li>{_text(note)}</li>" for note in study.notes)
    notes = f'<ul class="quiet">{notes}</ul>' if notes else ""
    return (
        f"<header><h1>Study of {_text(title)}</h1>"
        f'<p class="quiet">{_text(study.data_words())}.</p>'
        f'<ol class="answer">{said}</ol>{looks}{notes}</header>\n'
    )


def _families(study: Study) -> str:
    ranked = sorted(study.rows, key=lambda row: row.error)
    lines = []
    for row in ranked:
        marks = []
        if row.family == study.best_.family:
            marks.append("least error")
        if row.family == study.simplest_within_one_se_.family:
            marks.append("simplest within one standard error")
        if row.kind == "referee":
            marks.append("referee, takes no part")
        mark = "".join(f' <span class="mark">{m}</span>' for m in marks)
        gap = "" if row.gap is None else f"{row.gap:.1e}"
        lines.append(
            f"<tr{' class=best' if row.family == study.best_.family else ''}>"
            f"<td>{_text(row.family)}{mark}</td>"
            f'<td class="number">{_text(row.error_words.replace("+-", "±"))}</td>'
            f'<td class="number">{percents(row.train_error)} %</td>'
            f'<td class="number">{gap}</td><td class="number">{row.seconds:.2g}</td>'
            f"<td>{_text(row.setting_words)}</td>"
            f'<td class="code">{_text(row.code)}</td></tr>'
        )
    head = (
        "<tr><th>family</th><th class=number>error, rows left out</th>"
        "<th class=number>error, own rows</th><th class=number>gap</th>"
        "<th class=number>seconds</th><th>setting</th><th>code</th></tr>"
    )
    optimism = study.optimism_
    tried = sum(len(row.trials) for row in study.rows if row.kind in ("plane", "curved"))
    chosen = (
        f" The least of {count(tried, 'setting')} looks smaller than it is, here by about "
        f"{percents(optimism)} points."
        if optimism > 0
        else ""
    )
    return (
        "<section><h2>The families, on the same folds</h2>"
        f"{_dots(ranked, study)}"
        f"<div class=wide><table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table></div>"
        f'<p class="quiet">{study.folds} folds, within the classes at random (random_state='
        f"{study.random_state}); columns are learned anew on every fold. ± is the standard error "
        "of the mean over folds. The gap is proved: the largest share by which the objective of a "
        "fit can be above the best possible one; rules without an optimum have none. Seconds are "
        f"those of all folds of one setting.{_text(chosen)}</p></section>"
    )


def _separable(study: Study) -> str:
    words = study.proof_words
    rows = study.proving_rows()
    shown = ""
    if rows and study.proof.separable is False:
        shown = _proving(study, rows)
    elif study.proof is not None and study.proof.separable:
        words += (
            ". That is about these rows; how well a plane does on others stands in the table above"
        )
    return (
        f"<section><h2>Does a plane separate the rows?</h2><p>{_text(_sentence(words))}</p>{shown}"
        "</section>"
    )


def _proving(study: Study, rows: list[int]) -> str:
    """The rows as they stand in the table, the columns that matter most first."""
    multipliers = [float(m) for m in np.ravel(study.proof.multipliers)]
    multipliers = multipliers if len(multipliers) == len(rows) else [math.nan] * len(rows)
    frame = study.table_
    if study.is_sparse:
        cells: Any = None
        names: list[str] = []
    else:
        ranked = [name for name, _ in study.influence()] or [str(c) for c in frame.columns]
        names = [name for name in ranked if name in frame.columns][:_SHOWN_COLUMNS]
        cells = frame[names]
    head = "".join(f"<th>{_text(name)}</th>" for name in (study.target, *names))
    lines = []
    for row, share in list(zip(rows, multipliers))[:_SHOWN_ROWS]:
        title = str(row) if study.row_names is None else f"{row}: {study.row_names[row]}"
        values = [] if cells is None else [cells.iloc[row][name] for name in names]
        told = "".join(f'<td class="cell">{_text(_cell(v))}</td>' for v in values)
        part = "" if math.isnan(share) else f"{share:.4g}"
        lines.append(
            f'<tr><td class="number">{_text(title)}</td><td class="number">{part}</td>'
            f"<td>{_text(_cell(study.labels[row]))}</td>{told}</tr>"
        )
    more = (
        f" {len(rows) - _SHOWN_ROWS} more rows belong to the proof."
        if len(rows) > _SHOWN_ROWS
        else ""
    )
    hidden = study.shape[1] - len(names)
    few = (
        f" {count(hidden, 'column is', 'columns are')} not shown."
        if cells is not None and hidden > 0
        else ""
    )
    return (
        "<p>These rows prove it: with the shares given, their points of one class and of the "
        "others fall together, in exact arithmetic, so no plane can have them on different sides."
        f"</p><div class=wide><table><thead><tr><th class=number>row</th><th class=number>share"
        f"</th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
        f'<p class="quiet">Rows count from 0, without the line of titles.{more}{few}</p>'
    )


def _weights(study: Study) -> str:
    row = study.best_plane_
    model = study.fitted[row.family]
    head = f"<section><h2>Which columns decide</h2><p>The best plane is {_text(row.family)}"
    head += f" ({_text(row.setting_words)})" if row.setting_words else ""
    if not isinstance(model, Tabular) or getattr(model.estimator_, "coef_", None) is None:
        return head + ". " + _sparse_weights(study, model) + "</p></section>"
    influence = study.influence()
    shown = [(name, value) for name, value in influence if value > 0][:15]
    rest = len(influence) - len(shown)
    tail = f" The strongest of {count(len(influence), 'column')}." if rest else ""
    bars = _bars(shown)
    return (
        head
        + f", fitted to {study.fitted_to(row)}. A bar is the standard deviation of what a column "
        f"adds to the score.{tail}</p>{bars}{_listed(study, model)}</section>"
    )


def _listed(study: Study, model: Tabular) -> str:
    """The strongest weights by name, in the units of the table."""
    two = len(model.classes_) == 2
    of = [None] if two else model.classes_.tolist()[:_SHOWN_CLASSES]
    lines = []
    for label in of:
        for weight in model.weights(sort=True, of=label)[: _WEIGHTS if two else 5]:
            if weight.effect == 0:
                continue
            favours = model.classes_[1] if two else label
            lines.append(
                f"<tr><td>{_text(weight.name)}</td><td class=number>{weight.weight:+.4g}</td>"
                f"<td class=number>{weight.effect:+.4g}</td>"
                f"<td>{'' if two else _text(str(favours))}</td></tr>"
            )
    toward = f" in favour of {str(model.classes_[1])!r}" if two else ""
    last = "" if two else "<th>for the class</th>"
    return (
        f"<details><summary>The strongest weights{_text(toward)}, in the units of the table"
        "</summary><div class=wide><table><thead><tr><th>column</th><th class=number>a unit</th>"
        f"<th class=number>a standard deviation, or 0 to 1</th>{last or '<th></th>'}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div></details>"
    )


def _sparse_weights(study: Study, model: object) -> str:
    coef = getattr(last_step(model), "coef_", None)
    if coef is None:
        return "It has no weights."
    size = np.abs(np.atleast_2d(coef)).max(axis=0)
    strongest = np.argsort(-size, kind="stable")[:15]
    return _bars([(f"x{j + 1}", float(size[j])) for j in strongest])


def _columns(study: Study) -> str:
    columns = study.columns_
    if columns is None:
        n, d = study.shape
        how = "sparse matrix of counts" if "Tfidf" in study.best_plane_.code else "sparse matrix"
        done = "by tf-idf" if "Tfidf" in study.best_plane_.code else "to at most 1 in size"
        return (
            f"<section><h2>What was done to the columns</h2><p>A {how}, {n} x {d}; columns are "
            f"weighted {done}.</p></section>"
        )
    made = {str(e.name): e.words() for e in columns.encoders_}
    lines = [
        f"<tr><td>{_text(name)}</td><td>{_text(role.kind)}</td>"
        f'<td class="words">{_text(made.get(name) or f"left out: {role.why}")}</td></tr>'
        for name, role in list(columns.roles_.items())[:_LISTED]
    ]
    more = len(columns.roles_) - len(lines)
    note = f'<p class="quiet">and {more} more columns.</p>' if more > 0 else ""
    few = len(lines) <= 20
    table = (
        "<div class=wide><table><thead><tr><th>column</th><th>role</th><th>what was done</th></tr>"
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>{note}"
    )
    if not few:
        table = (
            f"<details><summary>{count(len(columns.roles_), 'column')}</summary>{table}</details>"
        )
    return f"<section><h2>What was done to each column</h2>{table}</section>"


def _fitting(study: Study) -> str:
    return (
        "<section><h2>Too stiff or too free?</h2>"
        f"<p>{_text(study.fitting_words())}</p>{_curve(study)}{_confusion(study)}</section>"
    )


def _confusion(study: Study) -> str:
    names = [str(c) for c in study.classes_]
    if len(names) > _SHOWN_CLASSES:
        return _worst_pairs(study, names)
    counts = study.confusion()
    head = "".join(f"<th class=number>{_text(_short(name))}</th>" for name in names)
    lines = []
    for k, name in enumerate(names):
        cells = "".join(f"<td class=number>{int(v)}</td>" for v in counts[k])
        total = int(counts[k].sum())
        wrong = percents(1 - counts[k, k] / total) if total else ""
        lines.append(
            f"<tr><th>{_text(_short(name))}</th>{cells}<td class=number>{wrong} %</td></tr>"
        )
    return (
        f"<p>Rows left out, true classes down, answers of {_text(study.best_.family)} across:</p>"
        f"<div class=wide><table><thead><tr><th></th>{head}<th class=number>wrong</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _worst_pairs(study: Study, names: list[str]) -> str:
    counts = study.confusion().copy()
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:10]
    pairs = [divmod(int(at), len(names)) for at in order]
    lines = "".join(
        f"<tr><td>{_text(names[i])}</td><td>{_text(names[j])}</td>"
        f"<td class=number>{int(counts[i, j])}</td></tr>"
        for i, j in pairs
        if counts[i, j]
    )
    return (
        "<p>The classes that are confused most often:</p><div class=wide><table><thead><tr>"
        "<th>true class</th><th>answer</th><th class=number>rows left out</th></tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def _left_out(study: Study) -> str:
    lines = []
    for one in study.skipped:
        what = f"{one.family}, not all settings" if one.part else one.family
        lines.append(f"<tr><td>{_text(what)}</td><td class=words>{_text(one.why)}</td></tr>")
    limit = "" if study.time_limit is None else f" of {study.time_limit:g} s that were given"
    spent = f"<p>The study took {study.seconds_:.3g} s{limit}.</p>"
    if not lines:
        return f"<section><h2>What was left out</h2><p>Nothing.</p>{spent}</section>"
    return (
        "<section><h2>What was left out, and why</h2><div class=wide><table><tbody>"
        f"{''.join(lines)}</tbody></table></div>{spent}</section>"
    )


def _code(study: Study) -> str:
    return (
        f"<section><h2>The same digits in Python</h2><pre>{_text(study.snippet())}</pre></section>"
    )


def _data(study: Study, columns: int) -> str:
    """What skrub tells of the table: the columns that matter most, and the labels."""
    head = "<section><h2>The data</h2>"
    if study.is_sparse:
        n, d = study.shape
        share = study.table_.nnz / (n * d)
        return (
            f"{head}<p>{n} x {d} numbers, {study.table_.nnz} of them ({percents(share)} %) not "
            "zero.</p></section>"
        )
    left = time_left()
    if left < math.inf:
        columns = min(columns, int((left - _START) / _EACH))
    if columns < 1:
        return f"{head}<p>There was no time for pictures of the columns.</p></section>"
    skrub = require("skrub", extra="study")
    frame = study.table_
    ranked = [name for name, _ in study.influence()] + [str(c) for c in frame.columns]
    names = list(dict.fromkeys(ranked))[: columns - 1] if frame.shape[1] >= columns else ranked
    names = [name for name in frame.columns if name in set(names)]
    shown = frame[names].assign(**{study.target: study.labels.astype(object)})
    note = ""
    if len(names) < frame.shape[1]:
        note = f"The {len(names)} columns that decide most, of {frame.shape[1]}. "
    if len(shown) > _SAMPLE:
        rows = np.linspace(0, len(shown) - 1, _SAMPLE).astype(int)
        shown = shown.iloc[rows].reset_index(drop=True)
        note += f"{_SAMPLE} of {len(frame)} rows, evenly spaced. "
    begin = clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = skrub.TableReport(shown, verbose=0).html_snippet()
    note += f"By skrub's TableReport, in {clock() - begin:.2g} s."
    return f'{head}<p class="quiet">{_text(note)}</p><div class="data">{report}</div></section>'


# -- Pictures -------------------------------------------------------------------------------------

_WIDTH, _LEFT, _RIGHT = 700, 230, 80


def _dots(rows: Sequence[Row], study: Study) -> str:
    """Errors with their standard errors, one family a line."""
    known = [row for row in rows if row.kind != "baseline"]
    most = max([row.error + row.standard_error for row in known] + [1e-9])
    base = study.baseline_.error
    top = min(max(most, base), 2.5 * most)

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(value / top, 1.0)

    height = 26 * len(known) + 40
    parts = [f'<line class="axis" x1="{_LEFT}" y1="6" x2="{_LEFT}" y2="{height - 32}"/>']
    if base <= top:
        parts.append(
            f'<line class="base" stroke-dasharray="4 4" x1="{x(base):.1f}" y1="6" '
            f'x2="{x(base):.1f}" y2="{height - 32}"/><text class="faint" text-anchor="middle" '
            f'x="{x(base):.1f}" y="{height - 16}">baseline {percents(base)} %</text>'
        )
    for k, row in enumerate(known):
        y = 20 + 26 * k
        kind = "two" if row.kind == "referee" else "one"
        low, high = max(row.error - row.standard_error, 0.0), row.error + row.standard_error
        parts.append(
            f'<text text-anchor="end" x="{_LEFT - 10}" y="{y + 4}">{_text(row.family)}</text>'
            f'<line class="{kind}" stroke-width="2" x1="{x(low):.1f}" x2="{x(high):.1f}" '
            f'y1="{y}" y2="{y}"/><circle class="{kind}" r="4.5" cx="{x(row.error):.1f}" cy="{y}"/>'
            f'<text class="faint" x="{x(high) + 8:.1f}" y="{y + 4}">{percents(row.error)} %</text>'
        )
    words = "Errors on rows left out, a line for each family, with standard errors"
    return _svg(height, parts, words)


def _bars(shown: Iterable[tuple[str, float]]) -> str:
    """Sizes by name."""
    shown = list(shown)
    top = max((value for _, value in shown), default=0.0) or 1.0
    parts = []
    for k, (name, value) in enumerate(shown):
        y = 8 + 24 * k
        width = (_WIDTH - _LEFT - _RIGHT) * value / top
        title = _text(_short(name, 28))
        parts.append(
            f'<text text-anchor="end" x="{_LEFT - 10}" y="{y + 13}">{title}</text>'
            f'<rect class="one bar" x="{_LEFT}" y="{y}" width="{width:.1f}" height="16" rx="2"/>'
            f'<text class="faint" x="{_LEFT + width + 8:.1f}" y="{y + 13}">{value:.3g}</text>'
        )
    return _svg(24 * len(shown) + 16, parts, "Columns by how much they move the score")


def _curve(study: Study) -> str:
    """Errors of the best family with a cost, on its own rows and on others."""
    able = [study.best_, study.best_plane_, *study.rows]
    row = next((r for r in able if len({_cost(t) for t in r.trials} - {None}) >= 3), None)
    if row is None:
        return ""
    best: dict[float, Any] = {}
    for trial in row.trials:
        cost = _cost(trial)
        if cost is not None and (cost not in best or trial.error < best[cost].error):
            best[cost] = trial
    costs = sorted(best)
    top = max(max(best[c].error + best[c].standard_error, best[c].train_error) for c in costs)
    plot = _CurvePlot(costs, top * 1.1 or 0.01)
    others = {c: best[c].error for c in costs}
    own = {c: best[c].train_error for c in costs}
    parts = [*plot.axes(f"C of {_text(row.family)}: stiff to free")]
    parts += [*plot.curve("one", others), *plot.curve("two", own)]
    parts += plot.names(("rows left out", "one", others), ("its own rows", "two", own))
    return _svg(plot.height, parts, f"Errors of {row.family} for each cost C")


@dataclass(frozen=True)
class _CurvePlot:
    """Shares of errors over costs on a logarithmic axis, as pieces of SVG."""

    costs: list[float]
    top: float
    left = 60
    right = 150
    height = 240

    def x(self, cost: float) -> float:
        span = math.log10(self.costs[-1] / self.costs[0])
        width = _WIDTH - self.left - self.right
        return self.left + width * math.log10(cost / self.costs[0]) / span

    def y(self, value: float) -> float:
        return 15 + (self.height - 60) * (1 - value / self.top)

    def axes(self, words: str) -> Iterator[str]:
        """Lines at round shares, costs below, and what they are the costs of."""
        ends = f'x1="{self.left}" x2="{_WIDTH - self.right}"'
        yield f'<line class="axis" {ends} y1="{self.y(0):.1f}" y2="{self.y(0):.1f}"/>'
        step = _step(self.top)
        for k in range(1, int(self.top / step) + 1):
            at = self.y(k * step)
            yield (
                f'<line class="axis" {ends} y1="{at:.1f}" '
                f'y2="{at:.1f}"/><text class="faint" text-anchor="end" x="{self.left - 8}" '
                f'y="{at + 4:.1f}">{100 * (k * step):.3g} %</text>'
            )
        for cost in self.costs:
            yield (
                f'<text class="faint" text-anchor="middle" x="{self.x(cost):.1f}" '
                f'y="{self.y(0) + 18:.1f}">{cost:g}</text>'
            )
        middle = (self.left + _WIDTH - self.right) / 2
        yield (
            f'<text class="faint" text-anchor="middle" x="{middle:.0f}" '
            f'y="{self.height - 8}">{words}</text>'
        )

    def curve(self, kind: str, values: dict[float, float]) -> Iterator[str]:
        points = [(self.x(c), self.y(values[c])) for c in self.costs]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline class="{kind} line" style="fill:none" points="{joined}"/>'
        for x, y in points:
            yield f'<circle class="{kind}" r="3.5" cx="{x:.1f}" cy="{y:.1f}"/>'

    def names(self, *curves: tuple[str, str, dict[float, float]]) -> Iterator[str]:
        """The two names at the right ends, moved apart where they would touch."""
        last = self.costs[-1]
        ends = sorted((self.y(values[last]), name, kind) for name, kind, values in curves)
        if ends[1][0] - ends[0][0] < 16:
            ends = [(ends[0][0] - 8, *ends[0][1:]), (ends[1][0] + 8, *ends[1][1:])]
        for at, name, kind in ends:
            yield (
                f'<text class="{kind}" style="stroke:none" x="{_WIDTH - self.right + 10}" '
                f'y="{at + 4:.1f}">{name}</text>'
            )


def _cost(trial: Any) -> float | None:
    return parameters(trial.estimator).get("C")


def _step(top: float) -> float:
    """A round number, a few of which reach the top."""
    size = 10.0 ** math.floor(math.log10(top))
    return next(s for s in (size / 5, size / 2, size, 2 * size, 5 * size) if top / s <= 5)


def _svg(height: float, parts: Iterable[str], words: str) -> str:
    return (
        f'<div class="picture"><svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'aria-label="{_text(words)}">{"".join(parts)}</svg></div>'
    )


# -- Text -----------------------------------------------------------------------------------------


def _text(value: str) -> str:
    return html.escape(printable(value))


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _cell(value: Any) -> str:
    """A cell as it stands in the table."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = repr(float(value)) if isinstance(value, float) else str(value)
    return text if len(text) <= _CELL_CHARACTERS else text[: _CELL_CHARACTERS - 1] + "…"
