"""Machines for many values of C, each started from the last."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.limits import Interrupts
from linsep.core.notes import warn
from linsep.core.protocol import Status
from linsep.errors import GapWarning, SettingError
from linsep.models.linear_svm import LinearSVM
from linsep.proofs.gap import Gap


@dataclass(frozen=True)
class SVMPath:
    """One machine for each C, in the order given.

    coefs has shape (n_C, 1 or K, d), intercepts (n_C, 1 or K).
    """

    Cs: NDArray[np.float64]
    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    certificates: tuple[Gap, ...]
    statuses: tuple[Status, ...]
    n_support: NDArray[np.int64]
    seconds: NDArray[np.float64]

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Relative duality gaps, all proved."""
        return np.array([part.relative_gap for part in self.certificates])

    def __len__(self) -> int:
        return len(self.Cs)

    def __str__(self) -> str:
        lines = [f"{'C':>12} {'objective':>14} {'gap':>9} {'errors':>7} {'support':>8}  status"]
        for C, part, support, status in zip(
            self.Cs, self.certificates, self.n_support, self.statuses
        ):
            lines.append(
                f"{C:>12.6g} {part.objective:>14.8g} {part.relative_gap:>9.2g} "
                f"{part.errors:>7} {support:>8}  {status.name}"
            )
        return "\n".join(lines)


def svm_path(
    X: Any, y: ArrayLike, Cs: ArrayLike, *, sample_weight: Any = None, **settings: Any
) -> SVMPath:
    """Fit LinearSVM for each C, warm-started along the way.

    Parameters
    ----------
    X, y : array or sparse matrix, and labels
    Cs : sequence of float
        Best in ascending order: small C are quick, and each machine starts from the last.
    sample_weight : array, optional
    **settings
        Further parameters of LinearSVM, e.g. tol, loss, fit_intercept.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("five-points")
    >>> path = linsep.svm_path(table.X, table.y, [0.1, 1.0, 10.0])
    >>> len(path), bool((path.gaps <= 1e-3).all())
    (3, True)
    """
    unknown = sorted(set(settings) - set(LinearSVM().get_params()))
    if unknown:
        raise SettingError(f"LinearSVM has no parameter {unknown[0]!r}.")
    model = LinearSVM(**{**settings, "warm_start": True})
    out: dict[str, list[Any]] = {name: [] for name in ("w", "b", "gap", "status", "n", "s")}
    try:
        many = np.asarray(Cs, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise SettingError(f"Cs must be numbers > 0. Got {Cs!r:.80} instead.") from error
    if not (many > 0).all() or not many.size:
        raise SettingError(f"Cs must be one number > 0 or more. Got {Cs!r:.80} instead.")
    with Interrupts() as interrupts:
        for C in many:
            begin = time.perf_counter()
            model.set_params(C=float(C)).fit(X, y, sample_weight)
            if interrupts.requested and not model.status_.ok:
                break
            out["s"].append(time.perf_counter() - begin)
            out["w"].append(model.coef_)
            out["b"].append(model.intercept_)
            out["gap"].append(model.certificate_)
            out["status"].append(model.status_)
            out["n"].append(len(model.support_))
            if interrupts.requested:
                break
    done = len(out["s"])
    if not done:
        raise KeyboardInterrupt("interrupted before the first machine was finished")
    if done < len(many):
        warn(f"interrupted: {done} of {len(many)} machines of the path were finished.", GapWarning)
    return SVMPath(
        Cs=many[:done],
        coefs=np.array(out["w"]),
        intercepts=np.array(out["b"]),
        certificates=tuple(out["gap"]),
        statuses=tuple(out["status"]),
        n_support=np.array(out["n"]),
        seconds=np.array(out["s"]),
    )
