"""Checking what a caller gives: matrix, labels, weights, targets.

Errors name the value and its place.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.costs import AT_ONCE
from linsep.core.lanes import run_all
from linsep.core.limits import total_memory
from linsep.core.words import count
from linsep.errors import DataError, LabelError

_NUMBERS = (bool, np.bool_, int, np.integer, float, np.floating)

_WIDEST = 1 << 34  # columns
_SQUARABLE = 1e-140  # targets below it, or above its inverse, have squares beyond floats


def in_parts(X: Any) -> bool:
    """Whether its rows come part by part: a stream, or a collection of Dask."""
    kind = type(X)  # what it is, whatever the columns of a frame are called
    return getattr(kind, "in_parts", False) is True or (
        hasattr(kind, "__dask_graph__") and hasattr(kind, "to_delayed")
    )


def as_matrix(X: Any) -> Any:
    """X as a float array in C order or CSR matrix, untouched where it is one already.

    Every pass takes rows, and columns that lie apart cost several times as much in each of them;
    frames and arrays in Fortran order are therefore copied, once.
    """
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        data = _as_floats(matrix.data)
        if data is not matrix.data:
            matrix = matrix.__class__((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    else:
        if np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
            row = int(np.argwhere(np.ma.getmaskarray(X))[0][0])
            raise DataError(f"X is masked at row {row}; fill the gaps or drop these rows first.")
        matrix = np.asarray(X)
        if matrix.ndim != 2:
            way = "reshape it with X.reshape(-1, 1)" if matrix.ndim == 1 else "give two axes"
            raise DataError(f"X has {matrix.ndim} axes where rows and columns are needed; {way}.")
        matrix = np.ascontiguousarray(_as_floats(matrix))
    if matrix.shape[0] == 0:
        raise DataError("X has no rows (0 samples); give at least one row of each class.")
    if matrix.shape[1] > _WIDEST:
        gigabytes = matrix.shape[1] // (1 << 27)
        raise DataError(
            f"X has {matrix.shape[1]} columns, whose weights alone take {gigabytes} GB; number the "
            "features without gaps, or hash their numbers."
        )
    if matrix.shape[1] == 0:
        raise DataError(f"X has no columns: 0 feature(s) (shape={matrix.shape}).")
    return matrix


def _as_floats(values: Any) -> Any:
    """Give float32 and float64 back untouched, anything else as an exact float copy."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: X has complex numbers; give real ones.")
    if values.dtype.kind in "biu":
        if values.dtype.itemsize <= 2:
            return values.astype(np.float32)
        floats = values.astype(np.float64)
        large = (values > 2**53) | (values < -(2**53)) if values.dtype.itemsize == 8 else None
        if large is not None and large.any():
            raise DataError(
                f"X holds the integer {int(values[large].ravel()[0])}, too large to be exact in "
                "float64 (2**53); convert X to floats yourself if rounding is meant."
            )
        return floats
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        floats = values.astype(np.float64)
        if not np.array_equal(floats, values, equal_nan=True):
            raise DataError(
                f"X has {values.dtype} values that float64 cannot hold; convert X to float64 "
                "yourself if rounding is meant."
            )
        return floats
    if values.dtype == np.float16:
        return values.astype(np.float32)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X holds values that are not numbers ({error}); encode text columns first."
        ) from error


def require_finite(matrix: Any, names: list[str] | None) -> None:
    """Raise DataError at the first NaN or infinity, with its place."""
    flat = matrix.data if not isinstance(matrix, np.ndarray) else matrix
    if all_finite(flat):
        return
    if isinstance(matrix, np.ndarray):
        bad = ~np.isfinite(matrix)
        row, column = (int(i) for i in np.argwhere(bad)[0])
        first = matrix[row, column]
        count = int(bad.sum())
    else:
        places = np.flatnonzero(~np.isfinite(matrix.data))
        count = places.size
        row = int(np.searchsorted(matrix.indptr, places[0], side="right") - 1)
        column, first = int(matrix.indices[places[0]]), matrix.data[places[0]]
    what = "NaN" if np.isnan(first) else "infinity (inf)"
    name = f" ('{names[column]}')" if names else ""
    others = "" if count == 1 else f", {count} values that are not finite in all"
    raise DataError(
        f"X contains {what} at row {row}, column {column}{name}{others}; "
        "impute or drop these rows first."
    )


def all_finite(values: NDArray[Any]) -> bool:
    """One pass, two threads on large arrays: a sum is finite only if (almost) all parts are."""
    if values.ndim == 2 and not values.flags.c_contiguous:
        values = values.T
    if not values.flags.c_contiguous:
        return bool(np.isfinite(values).all())
    flat = values.reshape(-1)
    pieces = [flat[at : at + AT_ONCE] for at in range(0, flat.size, AT_ONCE)]

    def finite(piece: NDArray[Any]) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(np.add.reduce(piece)) or np.isfinite(piece).all())

    if len(pieces) < 4:
        return all(map(finite, pieces))
    return all(run_all([partial(finite, piece) for piece in pieces], 2))


def as_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Finite weights >= 0; ones without any."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise DataError(
            f"sample_weight has shape {weight.shape}; X has {count(n, 'row')}: give ({n},)."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"sample_weight[{at}] is {weight[at]}; weights are finite and >= 0.")
    return weight


def as_targets(targets: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    """Finite targets > 0, one a row; None stays None and means ones."""
    if targets is None:
        return None
    try:
        b = np.asarray(targets, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"targets are not numbers ({error}); give one number > 0 a row.") from None
    if b.shape != (n,):
        raise DataError(
            f"targets has shape {b.shape}; X has {count(n, 'row')}: give ({n},), or None."
        )
    bad = ~(np.isfinite(b) & (b > 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"targets[{at}] is {b[at]}; targets are finite and > 0, since a row is on its own "
            "side when its value is positive."
        )
    if not _SQUARABLE <= b.min() <= b.max() <= 1 / _SQUARABLE:
        raise DataError(
            f"targets reach from {b.min():.3g} to {b.max():.3g}, and their squares leave the range "
            f"of floats; keep them between {_SQUARABLE:g} and {1 / _SQUARABLE:g}: only their "
            "ratios matter."
        )
    return b


def as_labels(
    y: Any, n: int, *, half_space: bool = False
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sorted classes, and the number of each row's class among them."""
    labels = np.asarray(plain_labels(y))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise LabelError(f"y has shape {labels.shape}; one label for each row is needed: ({n},).")
    if labels.shape[0] != n:
        given = count(labels.shape[0], "label")
        raise LabelError(f"y has {given} but X has {count(n, 'row')}; give one a row.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        at = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise LabelError(f"y contains NaN or infinity at row {at} ({labels[at]}); drop that row.")
    if labels.dtype == object and any(v is None or v != v for v in labels):
        at = next(i for i, v in enumerate(labels) if v is None or v != v)
        raise LabelError(f"y has no label at row {at}; drop that row or give it a label.")
    try:
        classes, label = _unique(labels)
    except TypeError as error:
        raise LabelError(f"y mixes labels that cannot be sorted ({error}); use one type.") from None
    if classes.size < 2:
        shown = classes[0].item() if hasattr(classes[0], "item") else classes[0]
        signs = isinstance(shown, int | float) and shown in (-1, 1)
        if half_space and signs:  # the side is known: y w.x > 0 is a question
            return np.array([-1, 1], classes.dtype), (labels > 0).astype(np.int64)
        way = " Through the origin one class has a side if it is 1 or -1." if half_space else ""
        raise LabelError(f"y has one class ({shown!r}); a separating hyperplane needs two.{way}")
    return classes, label.astype(np.int64, copy=False)


def _unique(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sorted classes and the number of each row's class; without sorting for small integers."""
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        is_high, is_low = labels == high, labels == low
        if low < high and np.count_nonzero(is_high) + np.count_nonzero(is_low) == labels.size:
            return np.array([low, high], labels.dtype), is_high.astype(np.int64)
        if high - low < 1000:
            unsigned = f"u{labels.dtype.itemsize}"  # a difference of int8 may be 255
            shifted = (labels - low).astype(unsigned).astype(np.int64)
            present = np.flatnonzero(np.bincount(shifted, minlength=1))
            place = np.zeros(high - low + 1, dtype=np.int64)
            place[present] = np.arange(present.size)
            return present.astype(labels.dtype) + labels.dtype.type(low), place[shifted]
    if labels.dtype == object:  # few of them differ: these alone are sorted
        try:
            names = labels.tolist()
            different = sorted(set(names))
        except TypeError:
            return np.unique(labels, return_inverse=True)
        number = {name: k for k, name in enumerate(different)}
        classes = np.fromiter(different, dtype=object, count=len(different))
        return classes, np.array([number[name] for name in names], dtype=np.int64)
    return np.unique(labels, return_inverse=True)


def plain_labels(y: Any) -> Any:
    """Objects that are numbers as numbers; anything else as it is.

    Arrays of objects that are all truths, all whole numbers or all numbers become arrays of
    these, and so do columns of whole numbers and truths of a data frame that could have gaps
    (Int64, boolean).
    """
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if isinstance(kind, str) and kind in "biu" and not isinstance(y, np.ndarray):
        try:  # a column of pandas; scikit-learn makes floats of those that could have gaps
            return np.asarray(y, dtype=bool if kind == "b" else f"{kind}8")
        except (TypeError, ValueError):
            return y  # with a gap
    if kind == "T":  # numpy's text of any length, which scikit-learn does not know
        return np.asarray(y, dtype=object)
    if kind != "O" or not (isinstance(y, np.ndarray) or hasattr(y, "iloc")):
        return y
    column, y = y, np.asarray(y)
    kinds = {type(label) for label in y.flat}
    truths = {issubclass(k, bool | np.bool_) for k in kinds}
    if len(truths) != 1 or not all(issubclass(k, _NUMBERS) for k in kinds):
        return column
    plain = np.asarray(y.tolist())
    return plain if plain.dtype.kind in "biuf" else column


SCORES_HELD = 4  # arrays of a score for each row and class that a lean fit holds at once
_PAIR = 8_000  # bytes of the smallest machine that tells two classes apart


def refuse_measurements(classes: NDArray[Any]) -> None:
    """More than two classes that are fractions are amounts, and no plane tells them apart.

    >>> refuse_measurements(np.array([0.25, 1.5, 2.0]))
    Traceback (most recent call last):
    linsep.errors.LabelError: y holds 3 different numbers such as 0.25: ...
    """
    if len(classes) < 3 or classes.dtype.kind != "f":
        return
    broken = classes[classes != np.rint(classes)]
    if len(broken):
        raise LabelError(
            f"y holds {len(classes)} different numbers such as {broken[0]:g}: amounts, no classes. "
            "Cut them into classes (y > limit), or give the labels as text if they are classes."
        )


def refuse_too_many_classes(
    labels: NDArray[Any], *, held: int = SCORES_HELD, pairs: bool = False, of_pairs: int = 0
) -> None:
    """Scores of each row for each class must fit into the memory: else y is no label.

    ``held`` is how many arrays of these a fit has at once. With ``pairs`` there is a machine for
    every two classes, which must fit, too, and so must ``of_pairs`` numbers of each row for each.

    >>> refuse_too_many_classes(np.arange(1_000_000))
    Traceback (most recent call last):
    linsep.errors.LabelError: y has 1000000 classes in 1000000 rows, ...
    """
    n = labels.shape[0] if labels.ndim else 0
    most = total_memory()

    def size(classes: int) -> int:
        machines = classes * (classes - 1) // 2 if pairs else 0
        return held * 8 * n * classes + machines * (_PAIR + 8 * n * of_pairs)

    if size(n) <= most:  # no count of classes can be too many
        return
    if labels.dtype.kind in "iu" and size(int(labels.max()) - int(labels.min()) + 1) <= most:
        return  # nor of those between the least and the largest
    K = len(np.unique(labels))
    if size(K) > most:
        what = f"{K * (K - 1) // 2} pairs of classes" if pairs else "their scores"
        way = "; OneVsRest has fewer machines" if pairs else ""
        raise LabelError(
            f"y has {K} classes in {n} rows, and {what} take {1e-9 * size(K):.0f} GB or more where "
            f"there are {1e-9 * most:.0f} GB. Labels name a few classes; if y is measured, this is "
            f"regression{way}."
        )
