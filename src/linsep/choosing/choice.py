"""What a choice among models found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import require

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Choice:
    """Risks of models from the simplest to the richest, and two choices; made by ``choose``.

    Attributes
    ----------
    parameter : str
    values : list
        As given; one for each entry of the arrays.
    measure : str
        What the risks are, such as "share of errors".
    train_risk : array
        Mean loss on the rows trained on, over all folds.
    cv_risk : array
        Mean loss on the rows left out, over all rows: (1/L) sum W.
    standard_error : array
        Of cv_risk, from the differences between the folds.
    fold_risk : array of shape (values, folds)
        Mean loss on the rows left out, fold by fold.
    empirical_risk : array
        Mean training loss of the models fitted on all rows.
    bound : array
        Structural bound of the true risk: empirical risk plus capacity term; NaN where there
        is none.
    vc_dimension : array
        Of the class of rules; NaN where there is no bound.
    bound_note : str
        What the bound promises, or why there is none.
    best_index, chosen_index : int
        Of the smallest cv_risk, and of the simplest model within one standard error of it.
    structural_index : int or None
        Of the smallest bound.
    estimators_ : list
        Fitted on all rows.
    interrupted : bool
        Whether Ctrl-C ended it; then the values that were finished are here.
    notes : list of str
        Warnings of the fits, counted.
    """

    parameter: str
    values: list[Any]
    measure: str
    train_risk: Array
    cv_risk: Array
    standard_error: Array
    fold_risk: Array
    empirical_risk: Array
    bound: Array
    vc_dimension: Array
    bound_note: str
    best_index: int
    chosen_index: int
    structural_index: int | None
    estimators_: list[Any]
    seconds: Array
    simplest: str = "first"
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def best(self) -> Any:
        """The value with the smallest cross-validated risk."""
        return self.values[self.best_index]

    @property
    def chosen(self) -> Any:
        """The simplest value within one standard error of the best."""
        return self.values[self.chosen_index]

    @property
    def best_estimator_(self) -> Any:
        """The model of ``best``, fitted on all rows."""
        return self.estimators_[self.best_index]

    @property
    def chosen_estimator_(self) -> Any:
        """The model of ``chosen``, fitted on all rows."""
        return self.estimators_[self.chosen_index]

    def frame(self) -> Any:
        """One row for each value, as a pandas DataFrame."""
        pandas = require("pandas", extra="all")
        columns = {
            self.parameter: self.values,
            "train_risk": self.train_risk,
            "cv_risk": self.cv_risk,
            "standard_error": self.standard_error,
            "empirical_risk": self.empirical_risk,
            "vc_dimension": self.vc_dimension,
            "bound": self.bound,
            "seconds": self.seconds,
        }
        return pandas.DataFrame(columns)

    def table(self) -> str:
        """The risks and the choices as text."""
        shown = [label(value) for value in self.values]
        width = max(len(self.parameter), *(len(text) for text in shown))
        bounds = bool(np.isfinite(self.bound).any())
        head = f"{self.parameter:<{width}}  training  cross-validated  standard error"
        lines = [head + ("  VC dimension  structural bound" if bounds else "")]
        for k, text in enumerate(shown):
            line = f"{text:<{width}}  {self.train_risk[k]:>8.4f}  {self.cv_risk[k]:>15.4f}"
            line += f"  {self.standard_error[k]:>14.4f}"
            if bounds:
                line += _bound_words(self.vc_dimension[k], self.bound[k])
            marks = ["best"] * (k == self.best_index) + ["chosen"] * (k == self.chosen_index)
            lines.append(line + ("  <- " + ", ".join(marks) if marks else ""))
        lines.append(self.sentence())
        return "\n".join([*lines, *self.notes])

    def sentence(self) -> str:
        """The choice in words."""
        name, folds = self.parameter, self.fold_risk.shape[1]
        words = f"{self.measure} over {folds} folds: smallest at {name} {label(self.best)}"
        if self.chosen_index == self.best_index:
            words += ", and no simpler model is within one standard error of it."
        else:
            words += f"; {name} {label(self.chosen)} is the simplest within one standard error."
        if self.structural_index is not None:
            at = self.structural_index
            words += f" The structural bound is smallest at {label(self.values[at])}"
            words += "." if self.bound[at] < 1 else ", where it promises nothing."
        return words + (" Interrupted: later values are missing." if self.interrupted else "")

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the curves; see ``ChoiceDisplay``."""
        from linsep.display.choice import ChoiceDisplay

        return ChoiceDisplay.from_choice(self, ax=ax, **options)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return (
            f"Choice({self.parameter}: best {label(self.best)}, chosen {label(self.chosen)}, "
            f"of {len(self.values)})"
        )


def label(value: Any) -> str:
    """A value in a table or at an axis."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _bound_words(dimension: float, bound: float) -> str:
    if not np.isfinite(bound):
        return f"  {'-':>12}  {'-':>16}"
    return f"  {dimension:>12.0f}  {bound:>16.4f}"
