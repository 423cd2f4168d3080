"""What an additive machine says: its functions, its proof for given rows, its summary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from linsep.certify.additive_gap import belong, measure_additive
from linsep.certify.gap import Gap
from linsep.core import Problem
from linsep.core.words import count, misplaced, percent
from linsep.errors import ModelError, SettingError
from linsep.estimators.additive_kernel import kernel_name, require_nonnegative
from linsep.kernels.additive_function import AdditiveFunction

__all__ = ["AdditiveFacts"]

Array = NDArray[np.float64]

_SHOWN = 6


class AdditiveFacts:
    """Methods of a fitted machine beside fit and predict."""

    function_: AdditiveFunction

    def feature_function(self, k: Any, x: ArrayLike | None = None) -> tuple[Array, Array]:
        """h_k as points: f(x) = sum_k h_k(x_k) + b.

        Parameters
        ----------
        k : int or str
            Number or name of the feature.
        x : array, optional
            Where to evaluate it, values >= 0. Without it, 0 and the values of the support
            vectors; for the intersection kernel h_k is straight between them, and constant
            after the last.

        Returns
        -------
        x : array of shape (m,)
        h : array of shape (m,) for two classes, (m, n_classes) for more
        """
        me: Any = self
        check_is_fitted(me)
        k = _feature(me, k)
        function = self.function_
        own = slice(function.start[k], function.start[k + 1])
        at = np.append(0.0, function.values[own]) if x is None else np.ravel(np.asarray(x, float))
        if not (np.isfinite(at).all() and (at >= 0).all()):
            raise SettingError(f"x holds {at[~(at >= 0)][:1]}; h_k is defined for numbers >= 0.")
        values, coef = function.values[own], function.coef[own]
        one = AdditiveFunction(function.power, np.array([0, len(values)]), values, coef)
        h = one.scores(at[:, None])
        return at, h[:, 0] if h.shape[1] == 1 else h

    def feature_ranges(self) -> Array:
        """How much each feature can move the score: max h_k - min h_k over 0 and the support.

        Shape (d,) for two classes, (n_classes, d) for more.
        """
        me: Any = self
        check_is_fitted(me)
        function = self.function_
        h = function.at_slots()
        high, low = np.zeros((function.d, h.shape[1])), np.zeros((function.d, h.shape[1]))
        feature = np.repeat(np.arange(function.d), np.diff(function.start))
        np.maximum.at(high, feature, h)
        np.minimum.at(low, feature, h)
        out = (high - low).T
        return out[0] if len(out) == 1 else out

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> Gap:
        """The proof again, from these rows: what ``linsep.certify`` gives."""
        me: Any = self
        check_is_fitted(me)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape[1] != me.n_features_in_:
            raise ModelError(
                f"X has {count(X.shape[1], 'feature')}, the model {me.n_features_in_}."
            )
        require_nonnegative(X, me.kernel, None, type(me).__name__)
        y = np.asarray(y)
        n = X.shape[0]
        problem = Problem(X, y, sample_weight=me._weights(y, sample_weight))
        if list(problem.classes) != list(me.classes_):
            raise ModelError(
                f"the labels are {problem.classes.tolist()}, the model's {me.classes_.tolist()}; "
                "a proof needs the rows that were trained on."
            )
        dual = np.zeros((len(me.dual_coef_), n))
        inside = me.support_ < n
        dual[:, me.support_[inside]] = me.dual_coef_[:, inside]
        if problem.row_index is not None:
            dual = dual[:, problem.row_index]
        if not belong(problem, self.function_, dual):
            dual[:] = 0.0  # other rows, or an altered file: they prove nothing
        return measure_additive(
            problem, me.function_, me.intercept_, np.abs(dual), float(me.C),
            kernel_name(me.kernel),
        )  # fmt: skip

    def summary(self) -> str:
        """What was fitted, why it stopped, and what is proved about it, in words."""
        me: Any = self
        check_is_fitted(me)
        gap, outcome = me.certificate_, getattr(me, "outcome_", None)
        lines = [
            f"{type(me).__name__}: {me.status_.value}",
            f"  algorithm   {me.solver_used_}",
            f"  minimised   {gap.words}",
            f"  objective   {gap.objective:.8g}, and no model has less than {gap.lower_bound:.8g}",
            f"  proved      within {percent(gap.relative_gap)} of the best possible",
            f"  errors      {misplaced(gap.errors)}, {gap.inside} inside the street or wrong",
            f"  support     {count(len(me.support_), 'vector')}, "
            f"{count(len(self.function_.values), 'value')} in {count(self.function_.d, 'feature')}",
            *self._strongest(),
        ]
        if outcome is not None:
            passes = count(outcome.passes, "pass", spec=".4g")
            work = f"{count(outcome.steps, outcome.unit)}, {passes}"
            lines.insert(2, f"  work        {work}, {outcome.seconds:.3g} s")
        return "\n".join(lines)

    def _strongest(self) -> list[str]:
        """The features that move the score most."""
        me: Any = self
        ranges = np.atleast_2d(self.feature_ranges()).max(axis=0)
        names = getattr(me, "feature_names_in_", None)
        order = [int(k) for k in np.argsort(-ranges)[:_SHOWN] if ranges[k] > 0]
        words = [f"{f'x{k + 1}' if names is None else names[k]} {ranges[k]:.4g}" for k in order]
        return [f"  features    {', '.join(words)} (largest change of the score)"] if words else []


def _feature(model: Any, k: Any) -> int:
    names = getattr(model, "feature_names_in_", None)
    if isinstance(k, str):
        found: Any = [] if names is None else np.flatnonzero(np.asarray(names) == k)
        if not len(found):
            raise SettingError(f"there is no feature {k!r}; give its number, or a name of fit.")
        return int(found[0])
    d = int(model.n_features_in_)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not -d <= k < d:
        raise SettingError(f"there is no feature {k!r}; give a number from 0 to {d - 1}.")
    return int(k) % d
