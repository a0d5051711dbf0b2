import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from support import reference
from support.making import draw, table_of

from evenscore.gaps.equalities import elementary_gaps
from evenscore.scores import aucs as measures
from evenscore.scores.aucs import auc_matrix, inter_group_curve, overall_auc


def test_auc_matrix_meets_the_pairs(sample):
    rows, scores = sample
    cells = [(label, group) for label in (0, 1) for group in scores.groups]
    expected = np.array([[rows.auc(i, j) for j in cells] for i in cells])
    matrix = auc_matrix(scores)
    np.testing.assert_allclose(matrix.values, expected, atol=1e-13)
    k = scores.n_groups
    among_negatives, among_positives = expected[0, 1] - 0.5, 0.5 - expected[k, k + 1]
    (aa, ab), (ba, bb) = expected[:2, k : k + 2]
    gaps = among_negatives, among_positives, aa - ab, ab - ba, ba - bb
    np.testing.assert_allclose(elementary_gaps(matrix), gaps, atol=1e-13)


def test_pair_weights_make_up_the_overall_auc(sample):
    rows, scores = sample
    matrix, k = auc_matrix(scores), scores.n_groups
    assert matrix.pair_weights.sum() == pytest.approx(1.0)
    overall = np.sum(matrix.pair_weights * matrix.values[:k, k:])
    assert matrix.overall == pytest.approx(overall, abs=1e-13)
    assert matrix.overall == pytest.approx(
        roc_auc_score(rows.y, rows.score, sample_weight=rows.weight), abs=1e-12
    )


@given(st.integers(0, 10**6), st.sampled_from([None, 10]), st.sampled_from([None, "real"]))
def test_properties_of_the_matrix(seed, levels, weights):
    y, score, group, weight = draw(seed, n=60, n_groups=3, levels=levels, weights=weights)
    matrix = auc_matrix(table_of(y, score, group, weight)).values
    np.testing.assert_allclose(matrix + matrix.T, 1.0, atol=1e-12)
    np.testing.assert_array_equal(np.diag(matrix), 0.5)
    increasing = auc_matrix(table_of(y, np.arctan(score) * 3 - 1, group, weight)).values
    np.testing.assert_allclose(increasing, matrix, atol=1e-13)
    reversed_score = auc_matrix(table_of(y, -score, group, weight)).values
    np.testing.assert_allclose(reversed_score, matrix.T, atol=1e-12)
    renamed = auc_matrix(table_of(y, score, 2 - group, weight)).values
    np.testing.assert_allclose(renamed[np.ix_([2, 1, 0, 5, 4, 3], [2, 1, 0, 5, 4, 3])], matrix)


@pytest.mark.parametrize(("largest", "levels"), [(1, None), (60, 10), (100, 10)])
def test_blocks_do_not_cut_through_ties(monkeypatch, largest, levels):
    """Blocks of 8 rows, as there are cells, and of 12."""
    y, score, group, weight = draw(2, n=500, n_groups=4, levels=levels, weights="integer")
    scores = table_of(y, score, group, weight)
    expected = auc_matrix(scores).ordered_pairs
    monkeypatch.setattr(measures, "_BLOCK", 1)
    monkeypatch.setattr(measures, "_LARGEST", largest)
    scores = table_of(y, score, group, weight)  # the matrix of a table is kept
    np.testing.assert_array_equal(auc_matrix(scores).ordered_pairs, expected)


def test_an_empty_cell_is_nan_and_leaves_the_rest_alone():
    y, score, group, _ = draw(4, n_groups=3)
    keep = ~((y == 1) & (group == 2))
    matrix = auc_matrix(table_of(y[keep], score[keep], group[keep]))
    assert np.isnan(matrix.values[5]).all()
    assert np.isnan(matrix.values[:, 5]).all()
    whole = auc_matrix(table_of(y, score, group))
    np.testing.assert_array_equal(matrix.values[:5, :5], whole.values[:5, :5])
    assert matrix.pair_weights[:, 2].tolist() == [0, 0, 0]
    assert np.isfinite(matrix.overall)


@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 5]),
    st.sampled_from([None, 10, 1]),
    st.sampled_from([None, "integer", "real"]),
)
def test_the_overall_auc_needs_no_matrix(seed, n_groups, levels, weights):
    y, score, group, weight = draw(seed, n=40, n_groups=n_groups, levels=levels, weights=weights)
    alone, known = (table_of(y, score, group, weight) for _ in range(2))
    matrix = auc_matrix(known)
    assert overall_auc(alone) == pytest.approx(matrix.overall, abs=1e-13)
    assert overall_auc(known) == matrix.overall  # read off a matrix that is there
    assert overall_auc(alone) == pytest.approx(
        roc_auc_score(y, score, sample_weight=weight), abs=1e-12
    )


def test_a_missing_class_has_no_overall_auc():
    scores = table_of([1, 1], [1, 2], ["a", "b"])
    assert np.isnan(overall_auc(scores))
    assert np.isnan(auc_matrix(scores).overall)


def test_constant_scores_tie_everything():
    matrix = auc_matrix(table_of([0, 1, 0, 1], [5, 5, 5, 5], ["a", "a", "b", "b"]))
    np.testing.assert_array_equal(matrix.values, 0.5)


def test_extreme_weights_do_not_overflow():
    y, score, group, _ = draw(4)
    heavy = np.where(group == 1, 1e130, 1e-130)
    plain, weighted = (
        auc_matrix(table_of(y, score, group)),
        auc_matrix(table_of(y, score, group, heavy)),
    )
    np.testing.assert_allclose(weighted.values, plain.values, rtol=1e-12)


def test_inter_group_curve_meets_the_definition(sample):
    rows, scores = sample
    rates = [0.05, 1 / 8, 0.25, 1 / 3, 0.77]
    for label, on in enumerate(("negatives", "positives")):
        for i, j in scores.pairs()[:3]:
            one, two = rows.pick(label, scores.groups[i]), rows.pick(label, scores.groups[j])
            expected = [reference.roc(one[0], two[0], a, one[1], two[1]) - a for a in rates]
            found = inter_group_curve(scores, on, i, j).evaluate(rates) - rates
            np.testing.assert_allclose(found, expected, atol=1e-12)
