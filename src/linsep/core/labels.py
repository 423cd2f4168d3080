"""Labels of a caller as classes and, for each row, the number of its class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.errors import LabelError

_NUMBERS = (bool, np.bool_, int, np.integer, float, np.floating)


def as_labels(y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
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
        raise LabelError(f"y has one class ({shown!r}); a separating hyperplane needs two.")
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
