"""Thinned curves and tables: fewer points, each of them exact."""

import numpy as np
import pytest
from support.making import draw, table_of

from evenscore import RocCurve
from evenscore.scores.thinning import coarsened, histogram, outline
from evenscore.scores.thresholds import rates_at


@pytest.mark.parametrize("levels", [None, 6])
def test_outline_points_are_vertices(levels):
    y, score, group, _ = draw(1, n=3000, levels=levels)
    scores = table_of(y, score, group)
    curve = RocCurve(scores.pooled("negatives"), scores.pooled("positives"))
    found = outline(curve, "everyone", 100)
    assert 2 <= len(found.x) <= 101
    assert (found.x[0], found.y[0], found.x[-1], found.y[-1]) == (0.0, 0.0, 1.0, 1.0)
    for t, x, y_above in zip(found.thresholds, found.x, found.y, strict=True):
        assert x == pytest.approx(np.mean(score[y == 0] > t), abs=1e-12)
        assert y_above == pytest.approx(np.mean(score[y == 1] > t), abs=1e-12)
    # Thinning a curve costs little of its area.
    assert np.trapezoid(found.y, found.x) == pytest.approx(curve.area, abs=2e-3)


def test_outline_of_an_empty_sample_is_empty():
    y, score, group, _ = draw(1, n=50)
    scores = table_of(y, score, group, group_order=[0, 1, 2])
    cells = scores.cell_distributions
    assert len(outline(RocCurve(cells[2], cells[3]), "nobody").x) == 0


@pytest.mark.parametrize("weights", [None, "real"])
def test_rates_at_coarse_levels_are_exact(weights):
    y, score, group, weight = draw(2, n=5000, n_groups=3, levels=None, weights=weights)
    scores = table_of(y, score, group, weight)
    coarse = coarsened(scores, 100)
    assert len(np.unique(coarse.score)) <= 100
    assert coarse.groups == scores.groups
    np.testing.assert_allclose(coarse.cell_weights, scores.cell_weights)
    np.testing.assert_allclose(coarse.cell_counts, scores.cell_counts)
    np.testing.assert_allclose(coarse.effective_sizes, scores.effective_sizes)
    cuts = np.unique(coarse.score)
    np.testing.assert_allclose(rates_at(coarse, cuts).fpr, rates_at(scores, cuts).fpr, atol=1e-12)
    assert coarsened(scores, len(scores)) is scores


def test_coarsening_keeps_empty_cells_and_ties():
    scores = table_of([0, 1, 0, 0, 0, 0], [1, 1, 1, 2, 3, 3], list("aaabbb"))
    coarse = coarsened(scores, 2)
    np.testing.assert_array_equal(coarse.cell_counts, scores.cell_counts)


def test_a_histogram_ignores_outliers_but_counts_them():
    score = np.concatenate([np.linspace(0, 1, 2000), [1e9, -1e9]])
    scores = table_of(np.arange(2002) % 2, score, np.arange(2002) // 2 % 2)
    found = histogram(scores)
    np.testing.assert_allclose(found.share.sum(axis=1), 1.0)
    assert np.median(np.diff(found.edges)) < 0.1
    assert found.density.shape == found.share.shape
    np.testing.assert_allclose(found.cumulative[:, -1], 1.0)
    even = histogram(table_of(np.arange(2000) % 2, score[:2000], np.arange(2000) // 2 % 2))
    np.testing.assert_allclose(even.edges, np.linspace(0, 1, 39))  # no outer bin is narrower


def test_levels_are_counted_in_whole_numbers():
    """110 rows in 100 classes: 100 · (110 / 100) is more than 110 in floating point."""
    for n in (101, 107, 110, 1009):
        y, groups = np.arange(n) % 2, np.where(np.arange(n) % 3, "a", "b")
        coarse = coarsened(table_of(y, np.arange(n, dtype=float), groups), 100)
        assert coarse.score[-1] == n - 1
        assert len(np.unique(coarse.score)) == 100
        assert coarse.cell_counts.sum() == n


@pytest.mark.parametrize(
    "score", [[-5e-324, 0.0], [1.0 + k * np.finfo(float).eps for k in range(5)], [1e300], [5e-324]]
)
def test_levels_that_are_neighbours_among_the_doubles_have_bins_of_some_width(score):
    scores = table_of([k % 2 for k in range(len(score))], score, ["a"] * len(score))
    found = histogram(scores)
    assert np.all(np.diff(found.edges) > 0.0)
    assert found.edges[0] <= min(score) <= max(score) <= found.edges[-1]
    filled = ~np.isnan(found.share).any(axis=1)
    assert found.share[filled].sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(found.density[filled]).all()
