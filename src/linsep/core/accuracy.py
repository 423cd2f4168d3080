"""How far a fit goes beyond ``tol``: until its weights are settled, where that is nearly free.

``tol`` is what is promised and proved: a share of the objective. The objective is a sum over the
rows, so of many rows a small share says little about the weights: with 300,000 of them 1e-3 may
hide an error of several standard errors. Divided by its cost the objective of logistic regression
is minus the logarithm of a likelihood. If that is off by e, no weight, nor any combination of
weights, is off by more than sqrt(2 e) of its standard errors: e is half the squared Newton
decrement. Newton's method doubles its digits with every step at the end, so the step or two to an
error that nobody can see cost little beside those that came before.

Where the matrix of second derivatives is too large to have, digits cost more. There, and for losses
with a corner, which have no standard errors, what a user reads are predictions. A relative gap of
1e-6 gives those of the optimum: none or two of tens of thousands differed on the tables tried.
Support vector machines reach it by more steps of the same kind, which are not free. So it is the
default of ``tol``, and a larger tol ends as soon as it is met, with any solver.
"""

from __future__ import annotations

import math

from linsep.core.costs import AGREED, SETTLED, SUMMED


def settled(tol: float, total: float, classes: int = 2, *, whole: bool = True) -> float:
    """The relative gap that Newton's method is asked for where tol is promised.

    whole says that every step has all second derivatives. total is the sum of the weights of the
    rows: the objective is at most log(classes) times it.

    >>> settled(1e-3, 1000.0) < 1e-7, settled(1e-9, 10.0), settled(1e-3, 1e12)
    (True, 1e-09, 1e-09)
    """
    if not whole:
        return min(tol, AGREED)
    most = total * math.log(classes)
    worth = 0.5 * SETTLED**2 / most if most > 0 else tol
    return min(tol, max(worth, SUMMED))
