"""Verdicts, on sets whose answer is known, with a checker of its own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import linsep
from linsep.core.problem import Problem, _gram_parts
from linsep.errors import DataError, LabelError, SettingError

# -- a checker that shares no code with the package ---------------------------------------------


def exact(value):
    return value if isinstance(value, Fraction) else Fraction(float(value))


def rows_of(X, y, fit_intercept, classes):
    """Reflected rows as lists of Fractions, one list of (sample, rival, row) in all."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    K = len(classes)
    width = X.shape[1] + bool(fit_intercept)
    out = []
    for i, (x, label) in enumerate(zip(X.tolist(), list(y))):
        vector = [Fraction(v) for v in x] + [Fraction(1)] * bool(fit_intercept)
        own = classes.index(label)
        if K == 2:
            out.append((i, None, [v if own == 1 else -v for v in vector]))
            continue
        for rival in range(K):
            if rival != own:
                row = [Fraction(0)] * (K * width)
                row[own * width : (own + 1) * width] = vector
                row[rival * width : (rival + 1) * width] = [-v for v in vector]
                out.append((i, rival, row))
    return out


def weights_of(proof, K, fit_intercept):
    coef = np.asarray(proof.coef, dtype=object).reshape(-1, proof.n_features)
    offset = np.asarray(proof.intercept, dtype=object).reshape(-1)
    out = []
    for w, b in zip(coef.tolist(), offset.tolist()):
        out += [exact(v) for v in w] + [exact(b)] * bool(fit_intercept)
        assert fit_intercept or b == 0
    return out


def rank(rows):
    rows = [list(r) for r in rows]
    found, width = 0, len(rows[0]) if rows else 0
    for j in range(width):
        pivot = next((r for r in range(found, len(rows)) if rows[r][j] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for r in range(found + 1, len(rows)):
            if rows[r][j] != 0:
                f = rows[r][j] / rows[found][j]
                rows[r] = [a - f * b for a, b in zip(rows[r], rows[found])]
        found += 1
    return found


def combine(table, samples, rivals, multipliers):
    known = {(i, r): row for i, r, row in table}
    rivals = [None] * len(samples) if rivals is None else rivals.tolist()
    keys = list(zip(samples.tolist(), rivals))
    assert len(set(keys)) == len(keys)
    picked = [known[key] for key in keys]
    assert all(isinstance(m, Fraction) and m > 0 for m in multipliers)
    assert len(multipliers) == len(picked)
    total = [sum(m * v for m, v in zip(multipliers, column)) for column in zip(*picked)]
    assert not any(total)
    return picked


def audit(proof, X, y, *, fit_intercept=True, full=True):
    """Everything a proof says, checked with Fractions only."""
    y = np.asarray(y).tolist()
    classes = sorted(set(y))
    table = rows_of(X, y, fit_intercept, classes)
    K = len(classes)
    assert proof.exact
    low, high = proof.margin
    if proof.separable:
        a = weights_of(proof, K, fit_intercept)
        values = [sum(p * q for p, q in zip(row, a)) for _, _, row in table]
        assert min(values) > 0
        assert 0 <= low <= high
        if K == 2:
            norm = sum(exact(v) ** 2 for v in np.ravel(proof.coef))
            assert all(v * v >= Fraction(low) ** 2 * norm for v in values)
        assert not proof.quasi and not len(proof.rows)
        return
    assert proof.separable is False
    assert sum(proof.multipliers) == 1
    combine(table, proof.rows, proof.rivals, proof.multipliers)
    dim = (len(table[0][2])) if K == 2 else len(table[0][2]) // K * (K - 1)
    assert len(proof.rows) <= dim + 1
    assert proof.margin == (0.0, 0.0)
    if not full:
        return
    span = combine(table, proof.span_rows, proof.span_rivals, proof.span_multipliers)
    face = [row for _, _, row in table]
    if proof.quasi:
        a = weights_of(proof, K, fit_intercept)
        values = [sum(p * q for p, q in zip(row, a)) for _, _, row in table]
        assert min(values) == 0 < max(values)
        face = [row for (_, _, row), v in zip(table, values) if v == 0]
    assert rank(span) == rank(span + face)


def decide(X, y, **options):
    proof = linsep.separability(X, y, **options)
    audit(proof, X, y, fit_intercept=options.get("fit_intercept", True))
    assert proof.check(X, y)
    again = linsep.Proof.from_json(proof.to_json())
    assert again.check(X, y)
    assert str(again) == str(proof)
    assert proof.explain()
    return proof


# -- known answers ------------------------------------------------------------------------------


def test_xor_four_rows_with_equal_multipliers():
    proof = decide([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    assert proof.rows.tolist() == [0, 1, 2, 3]
    assert proof.multipliers == (Fraction(1, 4),) * 4
    assert proof.quasi is False
    assert str(proof) == "not separable: these four rows prove it (0, 1, 2 and 3)"


def test_five_points_multipliers_of_the_lecture():
    X = [[2, 1], [4, 3], [3, 5], [1, 3], [5, 6]]
    proof = decide(X, [1, 1, 1, 2, 2])
    assert proof.separable is False and proof.quasi is False
    assert len(proof.rows) <= 4


def test_mse_example_has_the_margin_of_the_lecture():
    proof = decide([[6, 9], [5, 7], [5, 9], [0, 4]], [1, 1, -1, -1])
    low, high = proof.margin
    assert low <= 1 / np.sqrt(5) <= high and high - low < 1e-12
    assert proof.coef.tolist() == [2.0, -1.0] and proof.intercept == -2.0
    assert str(proof) == "separable, margin between 0.4472 and 0.4473"


def test_offset_pair_is_separable_but_not_through_the_origin():
    assert decide([[1], [2]], [-1, 1]).separable
    proof = decide([[1], [2]], [-1, 1], fit_intercept=False)
    assert proof.separable is False and proof.quasi is False


def test_zero_row_without_intercept_is_a_proof_of_one_row():
    proof = decide([[0.0, 0.0], [1.0, 2.0]], [0, 1], fit_intercept=False)
    assert proof.rows.tolist() == [0] and proof.multipliers == (Fraction(1),)
    assert proof.quasi is True
    assert "this one row proves it" in str(proof)


def test_contradicting_duplicates_are_a_proof_of_two_rows():
    X = [[1.5, 2.0], [0.0, 1.0], [1.5, 2.0], [4.0, 4.0]]
    proof = decide(X, ["a", "a", "b", "b"])
    assert proof.rows.tolist() == [0, 2]
    assert proof.multipliers == (Fraction(1, 2), Fraction(1, 2))
    assert proof.quasi is True


def test_contradicting_duplicates_of_three_classes():
    X = [[1.0], [1.0], [5.0], [9.0]]
    proof = decide(X, [0, 1, 1, 2])
    assert proof.rows.tolist() == [0, 1] and proof.rivals.tolist() == [1, 0]


def test_one_row_a_class():
    proof = decide([[0.0, 3.0], [4.0, 0.0]], [0, 1])
    assert proof.margin == (2.5, 2.5)


def test_touching_at_a_point_in_one_dimension():
    proof = decide([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    assert proof.quasi is True and proof.columns == (0,)
    assert proof.coef.tolist() == [1.0] and proof.intercept == -1.0


def test_pure_column_carries_a_quasi_separation():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 9, (60, 3)).astype(float)
    y = rng.integers(0, 2, 60)
    X[:, 1] = np.where((y == 1) & (rng.random(60) < 0.4), 1.0, 0.0)
    frame = pd.DataFrame(X, columns=["age", "sign", "size"])
    proof = linsep.separability(frame, y)
    audit(proof, X, y)
    assert proof.quasi is True and proof.columns == (1,)
    assert "carried by sign" in str(proof)
    assert np.flatnonzero(proof.coef).tolist() == [1]


def test_overlap_is_not_quasi():
    rng = np.random.default_rng(0)
    proof = decide(rng.standard_normal((40, 3)), np.arange(40) % 2)
    assert proof.quasi is False and proof.coef is None and proof.columns == ()


def test_fewer_rows_than_columns_is_separable():
    rng = np.random.default_rng(3)
    proof = decide(rng.standard_normal((12, 40)), np.arange(12) % 2)
    assert proof.separable
    assert proof.margin[1] / proof.margin[0] - 1 < 1e-3


def test_fewer_rows_than_columns_with_a_contradiction_is_quasi():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 400))
    X[5] = X[4]
    proof = decide(X, np.arange(12) % 2)
    assert proof.rows.tolist() == [4, 5] and proof.quasi is True


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_three_classes_separable_by_a_machine(fit_intercept):
    X = np.array([[0, 1], [0, 2], [3, -1], [4, -1], [-3, -1], [-4, -2]], dtype=float)
    y = ["up", "up", "right", "right", "left", "left"]
    proof = decide(X, y, fit_intercept=fit_intercept)
    assert proof.separable and proof.coef.shape == (3, 2) and proof.intercept.shape == (3,)
    scores = X @ proof.coef.T + proof.intercept
    assert [proof.classes[k] for k in scores.argmax(axis=1)] == y
    gaps = [
        (s[k] - s[r]) / np.linalg.norm(proof.coef[k] - proof.coef[r])
        for s, label in zip(scores, y)
        for k in [proof.classes.tolist().index(label)]
        for r in range(3)
        if r != k
    ]
    assert proof.margin[0] <= min(gaps) * (1 + 1e-12) <= proof.margin[1] * (1 + 1e-9)


def test_three_classes_in_the_middle_of_each_other_are_not_separable():
    X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    proof = decide(X, [0, 1, 2, 1, 0])
    assert proof.separable is False


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_named(bad, order):
    X = np.array([[1e200, 0.0], [2.0, 1.0], [3.0, -1e200]], order=order)
    assert linsep.separability(X, [0, 1, 1]).separable  # squares overflow: no reason to refuse
    X[1, 1] = bad
    with pytest.raises(linsep.errors.DataError, match="at row 1, column 1"):
        linsep.separability(X, [0, 1, 1])


# -- layouts and types --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool])
@pytest.mark.parametrize("layout", ["C", "F", "csr", "csr64", "coo"])
def test_all_layouts_give_the_same_verdict(dtype, layout):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (30, 4)).astype(dtype)
    y = X[:, 0].astype(int) | X[:, 1].astype(int)
    if layout in "CF":
        data = np.asarray(X, order=layout)
    elif layout == "coo":
        data = sparse.coo_array(X.astype(np.float64))
    else:
        data = sparse.csr_array(X if dtype is not bool else X.astype(np.uint8))
        if layout == "csr64":
            data.indices, data.indptr = data.indices.astype(np.int64), data.indptr.astype(np.int64)
    proof = linsep.separability(data, y)
    audit(proof, X.astype(float), y)
    assert proof.separable
    assert proof.check(X, y) and proof.check(data, y)


def test_empty_sparse_rows():
    X = sparse.csr_array(np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]))
    assert decide(X, [0, 0, 1]).separable
    assert decide(X, [0, 1, 1]).separable is False
    assert decide(X, [0, 1, 1], fit_intercept=False).rows.tolist() == [0]


def test_labels_of_any_kind():
    for y in ([True, False], ["x", "y"], [3, 7], [0.5, 1.5], np.array(["b", "a"], dtype=object)):
        proof = linsep.separability([[0.0], [1.0]], y)
        assert proof.separable and proof.check([[0.0], [1.0]], y)
        assert linsep.Proof.from_json(proof.to_json()).check([[0.0], [1.0]], y)


# -- errors and limits --------------------------------------------------------------------------


def test_errors_of_the_data():
    with pytest.raises(LabelError):
        linsep.separability([[1.0]], [0])
    with pytest.raises(DataError):
        linsep.separability([[np.nan], [1.0]], [0, 1])
    with pytest.raises(SettingError):
        linsep.separability([[0.0], [1.0]], [0, 1], time_limit=-1)


def test_time_limit_gives_back_what_is_known():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 60))
    y = (X[:, 0] + 0.5 * rng.standard_normal(4000) > 0).astype(int)
    proof = linsep.separability(X, y, time_limit=0.0)
    assert proof.separable is None and proof.quasi is None
    assert proof.margin[0] == 0.0
    assert "undecided" in str(proof)
    assert linsep.Proof.from_json(proof.to_json()).separable is None


def test_not_exact_says_so():
    proof = linsep.separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], exact=False)
    assert proof.separable is False and proof.exact is False and proof.quasi is None
    assert "up to rounding" in str(proof)
    assert sum(proof.multipliers) == 1


# -- hostile values -----------------------------------------------------------------------------

HOSTILE = [0.0, 1.0, -1.0, 2.0, 0.1, 1e-300, -1e-300, 1e300, 1e-30, 1e16, 1.0 + 2**-52, 5e-324]


@st.composite
def tables(draw, values, most_rows=8, most_columns=4, most_classes=2):
    n = draw(st.integers(2, most_rows))
    d = draw(st.integers(1, most_columns))
    X = draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n))
    K = draw(st.integers(2, most_classes))
    y = draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n))
    y[0], y[1] = 0, 1
    return np.array(X), np.array(y)


@settings(max_examples=150, deadline=None)
@given(tables(st.integers(-2, 2)), st.booleans())
def test_small_integers(table, fit_intercept):
    decide(*table, fit_intercept=fit_intercept)


@settings(max_examples=60, deadline=None)
@given(tables(st.integers(-2, 2), most_columns=2, most_classes=4), st.booleans())
def test_small_integers_of_several_classes(table, fit_intercept):
    decide(*table, fit_intercept=fit_intercept)


@settings(max_examples=150, deadline=None)
@given(tables(st.sampled_from(HOSTILE)), st.booleans())
def test_hostile_values(table, fit_intercept):
    decide(*table, fit_intercept=fit_intercept)


@settings(max_examples=60, deadline=None)
@given(
    tables(st.floats(-1e308, 1e308, allow_nan=False, allow_infinity=False), most_columns=3),
    st.booleans(),
)
def test_any_floats(table, fit_intercept):
    decide(*table, fit_intercept=fit_intercept)


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12, 1e-15, 1e-30, 0.0, -1e-12, -1e-15])
@pytest.mark.parametrize("seed", range(3))
def test_nearly_touching_hulls(gap, seed):
    """Hulls that face each other across a slit along one axis, and beside it."""
    rng = np.random.default_rng(seed)
    side = rng.standard_normal((40, 3))
    side[:, 0] = np.abs(side[:, 0])
    side[:4, 0] = 0.0
    X = np.vstack([side, side * [-1, 1, 1]])
    y = np.repeat([1, 0], 40)
    X[y == 1, 0] += gap
    proof = decide(X, y)
    if gap > 0:
        assert proof.separable
        low, high = proof.margin
        assert high <= low * 1.001 and low > gap / 2 * 0.999
    elif gap == 0:
        assert proof.separable is False
    else:
        assert proof.separable is False


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("noise", [0.0, 8.0])
def test_wide_sparse_rows_stay_sparse(monkeypatch, classes, noise):
    """The code for matrices too large to write out, on a small one."""
    from linsep.solvers.hulls import cloud
    from linsep.solvers.hulls import cloud as matrices
    from linsep.solvers.hulls import cloud as samples

    monkeypatch.setattr(matrices, "CLOUD_WRITTEN_OUT", 0)
    monkeypatch.setattr(samples, "_GRAM_ROWS", 0)
    monkeypatch.setattr(samples, "_WHITE_COLUMNS", 0)
    monkeypatch.setattr(cloud, "CLOUD_COLUMNS", 0)
    rng = np.random.default_rng(classes)
    X = np.round(rng.standard_normal((60, 8)) * 4) * (rng.random((60, 8)) < 0.6)
    scores = X @ rng.standard_normal((8, classes)) + noise * rng.standard_normal((60, classes))
    y = scores.argmax(axis=1)
    proof = decide(sparse.csr_array(X), y)
    monkeypatch.undo()
    assert proof.separable == decide(X, y).separable == (noise == 0.0)


def test_ctrl_c_stops_the_search(monkeypatch):
    from linsep.solvers.hulls.nearest import NearestHulls

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(NearestHulls, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        linsep.separability([[0.0], [1.0]], [0, 1])


def test_loading_libraries_does_not_count_as_time(monkeypatch):
    from linsep.separating import clock, verdict

    now = [0.0]

    def load():
        now[0] += 10.0
        return 10.0

    monkeypatch.setattr(verdict, "clock", lambda: now[0])
    monkeypatch.setattr(clock, "clock", lambda: now[0])
    monkeypatch.setattr(verdict, "_load_libraries", load)
    proof = linsep.separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], time_limit=1.0)
    assert proof.separable is False
    assert proof.quasi is False


def test_time_limit_during_the_weak_separator(monkeypatch):
    from linsep.separating import verdict as clock
    from linsep.separating import verdict as judge

    def late(*_):
        raise clock.TimeUpError

    monkeypatch.setattr(judge, "find_face", late)
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    proof = linsep.separability(X, y, time_limit=60)
    assert proof.separable is False and proof.quasi is None
    assert proof.check(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_numbers_at_the_end_of_the_range(fit_intercept):
    X = [[1.7e308, -1.7e308], [-1.7e308, 1.7e308], [1.7e308, 1.7e308]]
    proof = linsep.separability(X, [0, 1, 1], fit_intercept=fit_intercept)
    assert proof.separable is True
    assert proof.check(X, [0, 1, 1])


def test_forged_names_of_columns_are_refused():
    import pandas

    frame = pandas.DataFrame({"age": [0, 1, 1, 2], "height": [3, 5, 5, 4]})
    stored = linsep.separability(frame, [0, 0, 1, 1]).to_dict()
    stored["feature_names"] = ["innocent", "age"]
    with pytest.raises(linsep.errors.ProofError, match="names the columns"):
        linsep.Proof.from_dict(stored).check(frame, [0, 0, 1, 1])


def test_shares_too_small_for_160_bits_do_not_vanish():
    X = [
        [1e-160, 1e-300, 0.1],
        [1, 0.1, 0],
        [1e-160, 1e-160, 0.1],
        [-1, 0.1, 1e8],
        [0.1, 1, 1e-8],
    ]
    y = [0, 1, 0, 1, 1]
    proof = linsep.separability(X, y)
    assert proof.separable and proof.check(X, y)


def test_no_fractions_are_added_up_once_the_time_is_up(monkeypatch):
    from linsep.core import drive
    from linsep.core.problem import Problem
    from linsep.proofs import margins
    from linsep.separating.verdict import Clock, Judge
    from linsep.solvers.hulls.nearest import NearestHulls

    def slow(*_):
        raise AssertionError("this takes minutes for hundreds of rows")

    X = np.random.default_rng(0).normal(size=(300, 20))
    y = np.arange(300) % 2
    problem = Problem(X, y)
    outcome = drive(problem, NearestHulls("white"))
    assert outcome.witness.claim == "origin"  # the hulls meet up to rounding
    with monkeypatch.context() as patch:
        patch.setattr(margins, "_exact_above", slow)
        proof = Judge(problem, True, Clock(0.0, 1.0)).undecided(outcome)
    assert proof.separable is None and 0 < proof.margin[1] < 1e-9
    assert proof.check(X, y)


def test_products_and_hashes_made_together_are_those_made_alone():
    """Two threads and one give the same bits, with warnings of no thread."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 2000)), np.arange(60) % 2
    for matrix in (X, np.asfortranarray(X), X.astype(np.float32)):
        together, alone = Problem(matrix, y), Problem(matrix, y)
        assert len(_gram_parts(together)) == 2
        together.prepare_gram()
        assert (together.gram == alone.gram).all()
        assert (together.row_hashes == alone.row_hashes).all()
        np.testing.assert_allclose(together.gram, X @ X.T, rtol=1e-5, atol=1e-2)
    huge = Problem(X * 1e300, y)
    huge.prepare_gram()
    assert not np.isfinite(huge.gram).all()
    assert linsep.separability(X * 1e300, y).separable


def large_tables():
    """Tables of which some rows are asked first, and whether a weak separator exists."""
    rng = np.random.default_rng(11)
    n = 50_000
    X = rng.normal(size=(n, 8))
    noisy = X[:, 0] + 0.3 * rng.normal(size=n) > 0
    half = rng.random(n) < 0.5
    weak = X.copy()
    weak[:, 1] = np.where(rng.random(n) < 0.01, np.where(half, 1.0, -1.0), 0.0)
    hidden = X.copy()  # a column that is seen in two rows alone
    hidden[:, 1] = 0.0
    hidden[np.flatnonzero(half)[0], 1] = 1.0
    hidden[np.flatnonzero(~half)[0], 1] = -1.0
    return {
        "noisy": (X, noisy, False),
        "constant column": (np.column_stack([X, np.ones(n)]), noisy, False),
        "dependent column": (np.column_stack([X, X[:, 0] - X[:, 1]]), noisy, False),
        "weak": (weak, half, True),
        "weak by two rows": (hidden, half, True),
        "sparse": (sparse.csr_array(X * (np.abs(X) > 1)), noisy, False),
    }


LARGE = ["noisy", "constant column", "dependent column", "weak", "weak by two rows", "sparse"]


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_some_rows_of_a_large_table_prove_it_for_all(name, fit_intercept):
    X, y, weak = large_tables()[name]
    proof = linsep.separability(X, y, fit_intercept=fit_intercept)
    assert proof.separable is False and proof.quasi is weak and proof.exact
    assert proof.check(X, y)
    assert linsep.Proof.from_json(proof.to_json()).check(X, y)


def test_two_rows_are_still_told_before_twenty():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (40_000, 10)).astype(float)
    assert len(linsep.separability(X, rng.random(40_000) < 0.5).rows) == 2


def test_some_rows_do_not_hide_a_plane_or_a_single_mistake():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60_000, 8))
    X = X[np.abs(X[:, 0]) > 0.1]
    y = X[:, 0] > 0
    assert linsep.separability(X, y).separable
    y[np.argmax(X[:, 0])] = False
    proof = linsep.separability(X, y)
    assert proof.separable is False and proof.check(X, y)


def test_so_many_classes_are_no_labels():
    """Rows of all pairs would take terabytes: it is said at once, and why."""
    with pytest.raises(linsep.errors.LabelError, match="y has 1000000 classes in 1000000 rows"):
        linsep.separability(np.zeros((10**6, 1)), np.arange(10**6))


def test_amounts_are_no_classes():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(linsep.errors.LabelError, match=r"y holds 6 different numbers such as 0\.5"):
        linsep.separability(X, X[:, 0] + 0.5)
    assert linsep.separability(X, X[:, 0] > 3.5).separable
    assert linsep.separability(X, np.where(X[:, 0] > 3.5, 0.5, -0.5)).separable  # two are classes
