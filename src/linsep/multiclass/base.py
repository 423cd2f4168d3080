"""What the schemes for many classes share: checks, weights, files and words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep._sklearn import MetaEstimatorMixin, clone
from linsep.core.limits import time_left, time_limit
from linsep.core.notes import warn
from linsep.core.protocol import Status, last_step
from linsep.core.validate import as_labels, as_weights, refuse_too_many_classes
from linsep.core.words import percent
from linsep.errors import DataError, GapWarning, LabelError, ModelError, printable
from linsep.models.calibration import Calibrated
from linsep.models.fit import (
    CUT_SHORT,
    Check,
    check_params,
    either,
    jobs,
    none,
    number,
    read_labels,
    stoppable,
)
from linsep.models.model_file import (
    CALIBRATION,
    CLASSES,
    FEATURES,
    NAMES,
    Field,
    Fields,
    Table,
    certificate_of,
    settings,
)
from linsep.models.summary import written
from linsep.multiclass.certificates import Runs, put_together, renumbered, worst
from linsep.multiclass.machines import (
    certified,
    is_ours,
    is_pairwise,
    refuse_others,
    refuse_unusable,
)
from linsep.multiclass.work import Job, run_jobs
from linsep.proofs.again import handed_out
from linsep.proofs.certificate import Certificate
from linsep.proofs.gap import Gap
from linsep.proofs.plain import require_read
from linsep.proofs.squares import Squares


class ManyClasses(MetaEstimatorMixin, Calibrated):
    """Base of OneVsRest, OneVsOne and Kesler."""

    certificate_: Any = handed_out()
    """Each scheme says of which kind."""

    _checks: ClassVar[dict[str, Check]] = {}
    _common_checks: ClassVar[dict[str, Check]] = {
        "n_jobs": jobs,
        "time_limit": either(none, number(0)),
    }

    _needs_numbers: ClassVar[bool] = False
    _in_pairs: ClassVar[bool] = False
    """Whether X must be a matrix of numbers even for classifiers that would take something else."""

    _index: NDArray[np.intp] | None = None  # rows used, if not all
    _ended: Status | None = None  # why machines were left out, if some were

    estimator: Any
    class_weight: Any
    n_jobs: int | None
    time_limit: float | None

    # -- to be given by each scheme ---------------------------------------------------------

    def _fit_machines(self, X: Any, label: NDArray[np.int64], weight: Any) -> list[Any]:
        """Fit all binary machines: a list of (machine, certificate)."""
        raise NotImplementedError

    def _default(self) -> Any:
        """The estimator that None stands for."""
        from linsep.models.linear_svm import LinearSVM

        return LinearSVM()

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores; the largest is the class predicted."""
        raise NotImplementedError

    # -- fit --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train all binary machines.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            float32 and float64 are used as they are.
        y : array of shape (n_samples,)
            Any labels, two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; a row of weight zero takes no part.

        Returns
        -------
        self
        """
        with stoppable(self):
            self._fit(X, y, sample_weight)
            self._warn()
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Look at rows, labels and weights, train, calibrate."""
        check_params(self, self._common_checks | self._checks | self._calibration_check())
        refuse_others(self._inner())
        if y is None:
            name = type(self).__name__
            raise LabelError(f"{name} requires y to be passed, but the target y is None.")
        rows, given = self._rows(X, reset=True), y
        y = all_labels = read_labels(y)
        refuse_too_many_classes(y, pairs=self._in_pairs)
        n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        if len(y) != n:
            as_labels(y, n)  # says what is wrong
        weight: NDArray[np.float64] | None = None
        self._index = None
        if sample_weight is not None or self.class_weight is not None:
            weight = as_weights(self._weights(y, sample_weight), n)
            if not weight.any():
                raise DataError("all sample weights are zero; give some a positive weight.")
            keep = np.isin(y, np.unique(y[weight > 0]))  # a class without weight is none
            if not keep.all():
                self._index = np.flatnonzero(keep)
                rows = _safe_indexing(rows, self._index)
                if is_pairwise(self._inner()):
                    raise DataError(
                        "a class has no weight at all, and the rows of a Gram matrix cannot be "
                        "left out here; leave out its rows and columns before."
                    )
                y, weight = y[keep], weight[keep]
        refuse_unusable(self._inner(), weighted=weight is not None)
        self.classes_, label = as_labels(y, len(y))
        if hasattr(rows, "shape") and not hasattr(rows, "columns"):  # else the learner reads them
            require_read(rows, self.classes_, label, X, given, self._index)
        with time_limit(time_left() * self._share()):
            self._keep(self._fit_machines(rows, label, weight))
        return self._calibrate(X, all_labels, sample_weight)

    def _warn(self) -> None:
        """Say what the end of the time or Ctrl-C has left undone."""
        status = self.status_
        if status not in (Status.STOPPED, Status.TIME_LIMIT):
            return
        stopped = status is Status.STOPPED
        way = "It was interrupted; fit again" if stopped else "Raise time_limit"
        warn(f"{self._left_undone(status)}. {self.certificate_}. {way}.", GapWarning)

    def _left_undone(self, status: Status) -> str:
        """How many machines were not trained, or not to their end, and what they are."""
        many, inside = len(self.estimators_), [last_step(m) for m in self.estimators_]
        missing = [m for m in inside if getattr(m, "untrained", False)]
        told = f"{len(missing)} of {many} machines were not trained: {status.value}"
        if missing:
            planes = any(m.coef_.any() for m in missing)
            of = "are planes of least squares on a sample of the rows" if planes else (
                "always give the side with more rows"
            )  # fmt: skip
            told += f". Those {of}"
        short = [m for m in inside if getattr(m, "status_", None) in CUT_SHORT and m not in missing]
        if short:
            gaps = [getattr(m.certificate_, "relative_gap", np.nan) for m in short]
            within = f", the worst within {percent(max(gaps), 3)} of its best"
            told += f". {len(short)} of {many} were cut short"
            told += within if np.isfinite(gaps).all() else ""
        return told

    def _run(self, jobs: list[Job], size: float) -> list[Any]:
        """All binary problems; what was left out is remembered."""
        fitted, self._ended = run_jobs(jobs, self.n_jobs, size)
        return fitted

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _inner(self) -> Any:
        return self._default() if self.estimator is None else self.estimator

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        """X checked: as numbers for our own machines, as it is for those of others."""
        own = self._needs_numbers or is_ours(self._inner())
        if not own and not _is_numbers(X):  # frames and texts are for the machines to read
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        rules: dict[str, Any] = {"dtype": [np.float64, np.float32]}
        if not own:  # whether it takes NaN is for the machine, or a pipeline, to say
            rules = {"dtype": None, "ensure_all_finite": False}
        try:
            return validate_data(self, X, reset=reset, accept_sparse="csr", **rules)
        except TypeError:
            raise
        except ValueError as error:
            raise DataError(str(error)) from error

    def _keep(self, fitted: list[Any]) -> None:
        self.estimators_ = [machine for machine, _ in fitted]
        self.certificates_ = [renumbered(c, self._index) for _, c in fitted]
        self.certificate_ = put_together(self.certificates_)
        inside = [last_step(machine) for machine in self.estimators_]
        self.status_ = worst(inside) if self._ended is None else self._ended
        trained = [m for m in inside if not getattr(m, "untrained", False)]
        runs = [getattr(machine, "outcome_", None) for machine in trained]
        stopped = self._ended is Status.STOPPED
        self.outcome_ = Runs(tuple(runs), stopped) if None not in runs else None
        if self.outcome_ is None and stopped:
            self.outcome_ = Runs((), stopped)
        inner = self._inner()
        reason = getattr(trained[0] if trained else inner, "solver_used_", type(inner).__name__)
        self.solver_used_ = f"{self._scheme()}, by {reason}"

    def _scheme(self) -> str:
        """The scheme in words."""
        raise NotImplementedError

    # -- the answer -------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of the rows; of equal scores the first class, of two classes the last."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores >= 0).astype(int)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _problem_names(self) -> list[str]:
        """One line of words for each binary problem."""
        raise NotImplementedError

    def summary(self) -> str:
        """What was fitted, and what is proved about each binary problem, in words."""
        check_is_fitted(self)
        status = [] if self.status_ is None else [("status", self.status_.value)]
        lines = [*status, ("algorithm", self.solver_used_)]
        if hasattr(self, "calibration_"):
            lines.append(("calibrated", str(self.calibration_)))
        text = [written(f"{type(self).__name__}: {self.certificate_}", lines)]
        names = self._problem_names()
        width = max(map(len, names))
        for name, certificate in zip(names, self.certificates_):
            words = "no certificate" if certificate is None else str(certificate)
            text.append(f"  {name:<{width}}  {words}")
        return printable("\n".join(text))

    def binary_problems(self, y: Any) -> list[tuple[Any, NDArray[np.intp], NDArray[np.int64]]]:
        """Machine, rows and labels 0 and 1 of each binary problem of a table."""
        raise NotImplementedError

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """What is proved about the machines on these rows; ``linsep.certify`` calls it."""
        check_is_fitted(self)
        rows, y = self._rows(X), read_labels(y)
        weight = self._weights(y, sample_weight)
        found = []
        for machine, index, labels in self.binary_problems(y):
            own = None if weight is None else np.asarray(weight)[index]
            certificate = certified(machine, _safe_indexing(rows, index), labels, own)
            found.append(renumbered(certificate, index))
        return put_together(found)

    def _refuted(self, X: Any, y: Any, sample_weight: Any) -> list[str]:
        """What does not hold of the certificates for these rows."""
        from linsep.multiclass.verified import refuted

        return refuted(self, X, y, sample_weight)

    # -- model files ------------------------------------------------------------------------

    @classmethod
    def _file(cls) -> Table[Any]:
        """The fields of its model file; they check that the machines fit the classes."""
        raise NotImplementedError

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        return self._file().write(self)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The estimator of a model file; see ``linsep.load``."""
        model: Self = cls._file().read(cls, fields)
        return model

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags


def _is_numbers(X: Any) -> bool:
    """Whether X is a matrix, or becomes one, of numbers."""
    if hasattr(X, "tocsr"):
        return True
    if hasattr(X, "iloc"):
        return False
    try:
        return np.asarray(X).dtype.kind in "biufc"
    except (TypeError, ValueError):
        return False


# -- Fields of a model file: the settings and every fitted machine ---------------------------------


def scheme_table(
    wanted: Callable[[Any], int], of: str = "classes", *more: Field[Any]
) -> Table[Any]:
    """The fields of a scheme with so many machines, and more of them."""

    def read(model: ManyClasses, fields: Fields) -> None:
        _read_machines(model, fields)
        there, many = len(model.estimators_), wanted(model)
        if there != many:
            raise ModelError(f"there are {there} machines for {many} {of}")

    fields: tuple[Field[Any], ...] = (
        settings("estimator"),
        Field("default_estimator", lambda model: model.estimator is None),
        Field("certificates", lambda model: [_told(c) for c in model.certificates_]),
        CLASSES,
        FEATURES,
        NAMES,
        Field("machines", lambda model: list(model.estimators_), read),
        Field("solver_used", lambda model: str(model.solver_used_), _read_reason),
        *more,
        CALIBRATION,
    )
    return Table("estimators_", fields, _settings)


def _settings(fields: Fields) -> dict[str, Any]:
    """The learner is that of the machines, if it is not the default."""
    machines = fields["machines"]
    known = isinstance(machines, list) and machines
    if not known or not all(hasattr(m, "predict") for m in machines):
        raise ModelError("machines is not a list of models")
    trained = [machine for machine in machines if not getattr(machine, "untrained", False)]
    inner = None if fields["default_estimator"] or not trained else clone(trained[0])
    return {"estimator": inner, **fields["params"]}


def _told(certificate: Any) -> dict[str, Any] | None:
    """Numbers of the kinds that are read again; other machines keep their own."""
    known = isinstance(certificate, Certificate | Gap | Squares)
    return certificate.to_dict() if known else None


def _read_machines(model: ManyClasses, fields: Fields) -> None:
    machines = fields["machines"]
    left_out = [m for m in machines if getattr(m, "untrained", False)]
    model._ended = left_out[0].status_ if left_out else None
    own = [getattr(last_step(machine), "certificate_", None) for machine in machines]
    told = fields.get("certificates", [None] * len(machines))
    if not isinstance(told, list) or len(told) != len(machines):
        raise ModelError("certificates is not a list with one entry for each machine")
    found = [mine if c is None else certificate_of(c) for c, mine in zip(told, own)]
    model._keep(list(zip(machines, found)))


def _read_reason(model: ManyClasses, fields: Fields) -> None:
    model.solver_used_ = str(fields["solver_used"])
