"""A table of any columns as a matrix of numbers, and what was done to each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from linsep._sklearn import BaseEstimator, TransformerMixin
from linsep.core.schema import anything, listed, text, truth, word
from linsep.core.words import count, on_a_line
from linsep.errors import DataError, ModelError, require
from linsep.tables.encoders import ENCODERS, Encoder, Numbers
from linsep.tables.roles import KINDS, MANY, USED, Role, find_roles, is_plain, plain_columns

_SPARSE_COLUMNS = 200  # of values and words, from which the matrix is sparse
_MANY_ROWS, _EVERY = 20_000, 10  # rows from which some are looked at first, one in so many
_SHOWN_PLAIN = 5  # plain numbers that the report of many columns tells
_SHOWN_UNUSED = 5  # columns that an error tells where none is of use
_SEEN = 30  # rows from which a column that tells all labels is suspicious,
_REPEATED = 5  # each label or value that often on average,
_NEARLY, _BESIDE = (
    0.01,
    0.05,
)  # and shares of errors, of all rows and of those of the commonest class


class Columns(TransformerMixin, BaseEstimator):
    """Columns: numbers, categories, dates and text as one matrix of numbers.

    Each column has a role, found by its cells: *number* (also one written as 1.200,50 or $3,000),
    *category*, *date*, *text*, *identifier* (left out) or *ignored* (constant or empty). Numbers
    are filled with their median where they are missing, and measured in standard deviations;
    categories become columns of 0 and 1; dates their parts; texts their words (tf-idf).

    Parameters
    ----------
    roles : mapping, optional
        Roles of columns by name, where the one that would be found is not meant.
    drop : sequence of str, default=()
        Columns to leave out.
    scale : bool, default=True
        Whether numbers are measured in standard deviations from their mean.
    decimal : {".", ","}, optional
        The decimal mark of numbers that are written as text, where the cells do not tell.

    Attributes
    ----------
    roles_ : dict of str to Role
        What every column was taken for, and why.
    encoders_ : list
        One for each column that is used.
    sparse_ : bool
        Whether ``transform`` gives a CSR array.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas, linsep
    >>> frame = pandas.DataFrame({"age": [20, None, 40], "sex": ["f", "m", "f"]})
    >>> columns = linsep.tables.Columns(scale=False).fit(frame)
    >>> columns.transform(frame)
    array([[20.,  0.,  0.],
           [30.,  1.,  1.],
           [40.,  0.,  0.]])
    >>> print(columns.report())
    age  a number, gaps are filled with the median 30 and told by a column
    sex  2 categories: 1 column of 0 and 1
    """

    def __init__(
        self,
        *,
        roles: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        scale: bool = True,
        decimal: str | None = None,
    ) -> None:
        self.roles = roles
        self.drop = drop
        self.scale = scale
        self.decimal = decimal

    def fit(self, X: Any, y: Any = None) -> Columns:
        """Find the roles of the columns and learn what they need.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, mapping of columns, or array
        y : ignored

        Returns
        -------
        Columns
        """
        frame = as_frame(X)
        self.roles_ = find_roles(frame, roles=self.roles, drop=self.drop, decimal=self.decimal)
        used = [name for name, role in self.roles_.items() if role.kind in USED]
        if not used:
            told = [f"{name!r}: {r.kind}, {r.why}" for name, r in self.roles_.items()]
            if len(told) > _SHOWN_UNUSED:
                told = [*told[:_SHOWN_UNUSED], f"and {len(told) - _SHOWN_UNUSED} more"]
            raise DataError(
                f"no column is left to learn from ({'; '.join(told)}); name one with roles=.",
                options={"roles=": "--role COLUMN=number"},
            )
        self.encoders_: list[Encoder] = self._many(frame, used) or [
            ENCODERS[self.roles_[name].kind].fit(
                name, frame[name], self.roles_[name], scale=self.scale
            )
            for name in used
        ]
        mostly_zero = [e for e in self.encoders_ if e.kind in ("category", "text")]
        self.sparse_ = sum(len(e.names) for e in mostly_zero) > _SPARSE_COLUMNS
        self.feature_names_in_ = np.array(list(frame.columns), dtype=object)
        self.n_features_in_ = len(frame.columns)
        return self

    def _many(self, frame: Any, used: list[str]) -> list[Encoder]:
        """Encoders of a table of many plain numbers, learned together."""
        roles = [self.roles_[name] for name in used]
        plain = all(role.kind == "number" and not role.mark for role in roles)
        if len(used) < MANY or not plain or not _all_plain(frame, used):
            return []
        return list(Numbers.fit_all(used, plain_columns(frame, used), scale=self.scale))

    def transform(self, X: Any) -> Any:
        """The matrix of numbers for these rows.

        Parameters
        ----------
        X : table as for ``fit``
            Columns are found by their names; those that are not used may be absent.

        Returns
        -------
        array or CSR array of shape (n, d)
        """
        check_is_fitted(self)
        frame = as_frame(X, names=self.feature_names_in_)
        wanted = [encoder.name for encoder in self.encoders_]
        absent = [name for name in wanted if name not in frame.columns]
        if absent:
            has = ", ".join(repr(str(c)) for c in frame.columns[:8])
            raise DataError(
                f"there is no column {absent[0]!r}, which the model was trained on; the table has "
                f"{has}."
            )
        if len(wanted) >= MANY and _all_plain(frame, wanted):
            numbers = [e for e in self.encoders_ if isinstance(e, Numbers) and not e.mark]
            if len(numbers) == len(wanted):
                return Numbers.transform_all(numbers, plain_columns(frame, wanted))
        blocks = [e.transform(frame[name]) for name, e in zip(wanted, self.encoders_)]
        if self.sparse_:
            return sparse.csr_array(sparse.hstack(blocks, format="csr"))
        return np.hstack([b.toarray() if sparse.issparse(b) else b for b in blocks])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of the matrix."""
        check_is_fitted(self)
        return np.array([name for e in self.encoders_ for name in e.names], dtype=object)

    def report(self, most: int | None = None) -> str:
        """What was done to each column, one a line; of at most so many, plain numbers last."""
        check_is_fitted(self)
        made = {e.name: e.words() + _doubt(self.roles_[e.name]) for e in self.encoders_}
        told = {
            str(name): made.get(name) or f"{role.kind}, left out: {role.why}"
            for name, role in self.roles_.items()
        }
        shown, rest = list(told), list[str]()
        if most is not None and len(told) > most:
            plain = {
                e.name
                for e in self.encoders_
                if isinstance(e, Numbers) and not e.gaps and not self.roles_[e.name].doubt
            }
            special = [name for name in told if name not in plain]
            first = {*special[:most], *sorted(plain, key=shown.index)[:_SHOWN_PLAIN]}
            shown, rest = [n for n in told if n in first], [n for n in told if n not in first]
        short = {name: on_a_line(name) for name in shown}
        width = max(map(len, short.values()))
        lines = [f"{short[name]:<{width}}  {told[name]}" for name in shown]
        if rest:
            kinds = Counter(self.roles_[name].kind for name in rest)
            words = ", ".join(f"{n} of them {kind}" for kind, n in kinds.items())
            words = f"{next(iter(kinds))} each" if len(kinds) == 1 else words
            lines.append(f"and {len(rest)} more: {words}")
        return "\n".join(lines)

    def to_model(self) -> dict[str, Any]:
        """Fields of a model file."""
        check_is_fitted(self)
        return {
            "columns": [str(name) for name in self.feature_names_in_],
            "left_out": [
                [str(n), r.kind, r.why] for n, r in self.roles_.items() if r.kind not in USED
            ],
            "encoders": [encoder.to_dict() for encoder in self.encoders_],
            "sparse": self.sparse_,
        }

    @classmethod
    def from_model(cls, fields: Mapping[str, Any]) -> Columns:
        """The transformer of a model file."""
        columns = listed(text)(fields["columns"], "columns")
        left_out = listed(listed(text, 3))(fields["left_out"], "left_out")
        made = cls()
        made.encoders_ = []
        for at, stored in enumerate(listed(anything)(fields["encoders"], "encoders")):
            kind = stored.get("kind") if isinstance(stored, dict) else None
            encoder = ENCODERS[word(*ENCODERS)(kind, f"encoders[{at}].kind")]
            checked = encoder.schema(stored, f"encoders[{at}]")
            made.encoders_.append(encoder(**{k: v for k, v in checked.items() if k != "kind"}))
        _check_lengths(made.encoders_)
        roles = {name: Role(word(*KINDS)(kind, "left_out"), why) for name, kind, why in left_out}
        roles |= {e.name: Role(e.kind, e.words()) for e in made.encoders_}
        if set(roles) != set(columns) or len(set(columns)) < len(columns):
            raise ModelError("columns are not those of the encoders and those left out")
        made.roles_ = {name: roles[name] for name in columns}
        made.sparse_ = truth(fields["sparse"], "sparse")
        made.feature_names_in_ = np.array(columns, dtype=object)
        made.n_features_in_ = len(columns)
        return made


def _doubt(role: Role) -> str:
    """What is said of a number that may stand for no value."""
    return f"; {role.doubt} is far from all others and may mark gaps" if role.doubt else ""


def _all_plain(frame: Any, names: list[str]) -> bool:
    kinds = dict(zip(frame.columns, frame.dtypes))
    return all(is_plain(kinds[name]) for name in names)


def _check_lengths(encoders: list[Any]) -> None:
    """What a file says of one column fits together."""
    for encoder in encoders:
        if encoder.kind == "date":
            due = len(encoder.names) - encoder.gaps
            good = len(encoder.means) == len(encoder.deviations) == due
            good = good and all(deviation > 0 for deviation in encoder.deviations)
        elif encoder.kind == "text":
            words = encoder.vocabulary
            good = len(encoder.rarity) == len(words) == len(set(words)) and bool(words)
        elif encoder.kind == "category":
            good = len(set(encoder.values)) == len(encoder.values)
        else:
            good = encoder.deviation > 0
        if not good:
            raise ModelError(f"the numbers of column {encoder.name!r:.60} do not fit together")


def as_frame(X: Any, names: Any = None) -> Any:
    """Any table as a DataFrame of pandas, its columns named by texts."""
    pandas = require("pandas", extra="study", what="a table with columns of other than numbers")
    if hasattr(X, "to_pandas"):  # polars, Arrow
        frame = X.to_pandas()
    elif isinstance(X, pandas.DataFrame):
        frame = X
    elif isinstance(X, Mapping):
        frame = pandas.DataFrame(dict(X))
    elif isinstance(X, pandas.Series):  # one row
        frame = X.to_frame().T
    else:
        frame = _named(pandas, X, names)
    if frame.ndim != 2 or not len(frame.columns):
        raise DataError("the table has no columns.")
    titles = [str(name) for name in frame.columns]
    if len(set(titles)) < len(titles):
        twice = next(name for name in titles if titles.count(name) > 1)
        raise DataError(f"two columns are called {twice!r}; give each a name of its own.")
    if titles != list(frame.columns):
        frame = frame.set_axis(titles, axis=1)
    return frame.reset_index(drop=True)


def _named(pandas: Any, X: Any, names: Any) -> Any:
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise DataError(f"a table has rows and columns; this has shape {rows.shape}.")
    if names is not None and len(names) != rows.shape[1]:
        raise DataError(
            f"there are {count(rows.shape[1], 'column')}; the model was trained on {len(names)}."
        )
    titles = [f"x{j + 1}" for j in range(rows.shape[1])] if names is None else list(names)
    frame = pandas.DataFrame(rows, columns=titles)
    return frame.infer_objects() if rows.dtype == object else frame


def telling(frame: Any, columns: Columns, y: NDArray[Any]) -> dict[str, float]:
    """Columns that alone tell the label of nearly every row, and of what share.

    One that is known too late may be such.
    """
    labels = np.unique(y, return_inverse=True)[1]
    if not _tellable(labels):
        return {}
    found = {}
    for encoder in columns.encoders_:
        if encoder.kind == "text":
            continue
        name = encoder.name
        block = encoder.transform(frame[name])
        block = block.toarray() if sparse.issparse(block) else block
        if encoder.kind == "category":
            share = _pure(block, labels)
        else:
            share = max(_apart(block[:, j], labels) for j in range(block.shape[1]))
        if share:
            found[str(name)] = share
    return found


def telling_numbers(
    X: Any, y: NDArray[Any], names: Sequence[str] | None = None
) -> dict[str, float]:
    """The same of a dense matrix."""
    labels = np.unique(y, return_inverse=True)[1]
    if not (_tellable(labels) and isinstance(X, np.ndarray)):
        return {}
    shares = [_apart(X[:, j], labels) for j in range(X.shape[1])]
    titles = [f"x{j + 1}" for j in range(X.shape[1])] if names is None else list(map(str, names))
    return {title: share for title, share in zip(titles, shares) if share}


def _tellable(labels: NDArray[np.intp]) -> bool:
    """Whether there is something to tell: of labels of single rows any distinct values do."""
    return len(labels) >= _SEEN and 0 < labels.max() < len(labels) // _REPEATED


def told_by(name: str, share: float) -> str:
    """What is said of a column that tells nearly every label."""
    if share == 1.0:
        return f"column {name!r} alone tells every label"
    return f"column {name!r} alone tells the label of {100 * share:.3g} % of the rows"


def _allowed(labels: NDArray[np.intp]) -> float:
    """Errors up to which a column is suspicious: few, and few beside those of no column at all."""
    rest = len(labels) - int(np.bincount(labels).max())
    return min(_NEARLY * len(labels), _BESIDE * rest)


def _apart(values: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Share of the rows that one interval of values for each class tells; 0 unless it is most."""
    if len(labels) > _MANY_ROWS and not _apart(values[::_EVERY], labels[::_EVERY]):
        return 0.0  # some of the rows show it already
    order = np.argsort(values, kind="stable")
    changes = int(np.count_nonzero(np.diff(labels[order])))
    classes = int(labels.max()) + 1
    if changes > classes - 1 + 2 * _allowed(labels):  # each error changes the label twice at most
        return 0.0
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_leaf_nodes=max(classes, 2), random_state=0)
    told = tree.fit(values[:, None], labels).predict(values[:, None])
    return _if_nearly(int(np.count_nonzero(told != labels)), labels)


def _pure(block: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """The same of values that repeat, by the commonest label of each."""
    codes = np.unique(block @ np.arange(1, block.shape[1] + 1), return_inverse=True)[1]
    if codes.max() >= len(labels) // _REPEATED:
        return 0.0
    table = np.zeros((int(codes.max()) + 1, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(table, (codes, labels), 1)
    return _if_nearly(len(labels) - int(table.max(axis=1).sum()), labels)


def _if_nearly(errors: int, labels: NDArray[np.intp]) -> float:
    return 1.0 - errors / len(labels) if errors <= _allowed(labels) else 0.0
