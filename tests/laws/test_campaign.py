"""Bugs that once made a judge lie, or a fit go on for ever; see tests/campaign.py."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import pytest
from tests.campaign import CALLS, WAYS, called, cases, targets, trial

import linsep

FOUND = [
    ("AdditiveSVM", "core.lanes:run_all", "all 8 % larger", 0),
    ("AdditiveSVM 3", "kernels.additive:take_positive", "the last tenth lost", 0),
    ("AdditiveSVM 3", "kernels.additive:Levels.function", "signs of some", 0),
    ("GaussianClassifier", "rows.moments:moments_about", "every third 8 % larger", 0),
    ("GaussianClassifier", "rows.moments:moments_about", "all signs", 1),
    (
        "HoKashyap mixed",
        "solvers.squares.ho_kashyap:HoKashyap.status",
        "always the first result",
        0,
    ),
    ("KernelSVM", "kernels.gaussian:RBF.rate", "all 8 % smaller", 0),
    ("KernelSVM poly", "kernels.blocks:_duels", "off by one", 0),
    ("KernelSVM chi2", "kernels.rows:dense_pair", "every third 8 % larger", 0),
    ("KernelSVM function", "kernels.user:_plain", "off by one", 0),
    ("KernelSVM 3", "solvers.kernel.smo:SMO._best", "no number", 0),
    ("KernelSVM hard", "kernels.rows:Rows._plain", "neighbours swapped", 0),
    ("Kozinec", "rows.signs:bounded_weights", "neighbours swapped", 0),
    ("Kozinec kernel", "kernels.blocks:KernelValues.diagonal", "no number", 0),
    ("Kozinec kernel", "kernels.gaussian:RBF.error_bound", "no number", 0),
    ("LeastSquares 3", "numerics.integers:to_integers", "the last tenth lost", 1),
    ("LinearSVM hard", "numerics.integers:scaled_integers", CALLS[1], 0),
    ("LinearSVM tall", "rows.reader:survey", "no number", 0),
    ("LogisticRegression kernel", "kernels.blocks:KernelValues.combine_many", "no number", 0),
    ("LogisticRegression kernel", "solvers.logistic.line:Penalty.ridge", "one row lost", 0),
    ("LogisticRegression likelihood", "solvers.logistic.newton:read_level", "all signs", 0),
    ("parts, LeastSquares", "rows.normal:columns_of", "every third 8 % larger", 0),
    ("parts, LinearSVM 3", "rows.parts:PartsProblem.against", CALLS[1], 1),
    ("parts, LogisticRegression", "rows.parts:PartsProblem.binary", "the other truth", 0),
    ("parts, LogisticRegression 3", "solvers.parts:NewtonParts.witness", "no number", 0),
    ("parts, LinearSVM 3", "solvers.parts:NewtonParts.witness", "no number", 0),
    ("parts, verdict apart", "rows.parts:_stacked", "the last tenth lost", 1),
    ("parts, verdict apart", "rows.parts:PartsProblem.look", "every third 8 % larger", 0),
    ("verdict", "solvers.hulls.nearest:NearestHulls.status", CALLS[0], 1),
    ("verdict 3", "rows.exact:reflected", "signs of some", 0),
    ("verdict apart", "rows.signs:float_bounds", "all 8 % larger", 0),
]


@lru_cache
def clean(name: str) -> Any:
    return cases()[name].run()


@pytest.mark.parametrize(("name", "where", "way", "after"), FOUND)
def test_a_bug_that_was_believed_is_so_no_more(name, where, way, after):
    ended, why = trial(name, f"linsep.{where}", way, clean(name), after)
    assert ended != "never-met" and ended != "LIE", why


@pytest.mark.parametrize("name", ["LinearSVM", "LogisticRegression 3", "verdict apart"])
def test_some_bugs_drawn_at_random_are_not_believed(name):
    met, rng = called(cases()[name].run, targets()), random.Random(name)
    for where in rng.sample(met, min(len(met), 12)):
        way = rng.choice(WAYS)
        ended, why = trial(name, where, way, clean(name))
        assert ended != "LIE", (where, way, why)


def test_a_judge_that_is_wrong_itself_is_noticed():
    wrong = "linsep.proofs.plain:losses", "all 8 % smaller"
    ended, why = trial("LinearSVM", *wrong, clean("LinearSVM"))
    assert ended == "LIE" and "objective" in why


def test_every_estimator_has_a_case():
    public = {name for name in linsep.__all__ if hasattr(getattr(linsep, name), "fit")}
    tried = {name.split()[0] for name in cases()}
    assert public - {"Lift", "Linear", "Tabular"} <= tried
