"""Newton systems of softmax by corrections of a smaller one, as with many columns."""

from __future__ import annotations

import pytest
from tests.laws import test_laws as laws
from tests.tables import Case

from linsep.solvers.logistic import softmax
from linsep.solvers.logistic.softmax import NewtonSoftmax

CASE = Case("machines", NewtonSoftmax(C=3.0, tol=1e-8, seed=2), "noisy, three classes", 14)


@pytest.fixture(autouse=True)
def _by_corrections(monkeypatch):
    monkeypatch.setattr(softmax, "WHOLE_HESSIAN", 5)


def test_laws_of_a_run(tmp_path):
    laws.test_any_way_of_splitting_a_run_gives_the_same_bits(CASE)
    laws.test_resuming_from_a_file_gives_the_same_bits(CASE, tmp_path)
    laws.test_a_copy_is_independent(CASE)
    laws.test_a_log_changes_nothing(CASE)
    laws.test_a_finished_state_takes_no_step(CASE)
    laws.test_status_and_witness_change_nothing(CASE)
    laws.test_a_run_ends_with_an_answer(CASE)
