"""Displays of an audit show its arrays, not others that were computed anew."""

import numpy as np
import pytest
from support.making import draw, every_family

from evenscore.auditing.audit import audit
from evenscore.showing.plots import (
    AucMatrixDisplay,
    GroupRocDisplay,
    InterGroupRocDisplay,
    RocGapDisplay,
    ScoreDistributionDisplay,
)


@pytest.fixture(scope="module", params=[2, 4])
def result(request):
    y, score, group, _ = draw(6, n=400, n_groups=request.param)
    names = np.array(["$x$", "_hidden", "c", "d"])
    return audit(y, score, sensitive_features=names[group], constraints=every_family())


def test_gaps(result):
    display = RocGapDisplay.from_audit(result).plot()
    groups = result.groups
    expected = [c for c in result.roc_gaps if c.first == groups[0]]
    assert len(display.lines_) == len(expected) == 2 * (len(groups) - 1)
    by_key = {(c.on, groups.index(c.second)): c for c in expected}
    for number, (line, series) in enumerate(zip(display.lines_, display.curves, strict=True)):
        curve = by_key[("negatives", "positives")[number % 2], 1 + number // 2]
        assert np.array_equal(line.get_xdata(), curve.rates)
        assert np.array_equal(line.get_ydata(), curve.value)
        point, joint = series.bands
        assert np.array_equal(point.low, curve.pointwise_low)
        assert np.array_equal(joint.high, curve.simultaneous_high)
        assert np.array_equal(series.asked, curve.marks)
        assert curve.marks[:, 0].tolist() == [0.125, 0.25]
    assert display.tolerance == result.settings.tolerance


def test_inter_group_curves(result):
    display = InterGroupRocDisplay.from_audit(result).plot(show_bands=True)
    gaps = RocGapDisplay.from_audit(result).curves
    for line, curve, gap in zip(display.lines_, display.curves, gaps, strict=True):
        band = gap.bands[1]
        assert line.get_ydata() == pytest.approx(band.rates + band.value)
        assert curve.band.low == pytest.approx(band.rates + band.low)
        assert curve.values == pytest.approx(gap.asked[:, 0] + gap.asked[:, 1])
    without = InterGroupRocDisplay.from_audit(result, band=None, on="positives")
    assert {curve.on for curve in without.curves} == {"positives"}
    assert {curve.band for curve in without.curves} == {None}


def test_group_curves_matrix_and_distributions(result):
    display = GroupRocDisplay.from_audit(result).plot()
    everyone, *groups = result.roc_curves
    for line, found in zip(display.lines_, (*groups, everyone), strict=True):
        assert np.array_equal(line.get_xdata(), found.x)
        assert np.array_equal(line.get_ydata(), found.y)
    assert [curve.auc for curve in display.curves] == [*result.auc_by_group, result.auc]
    matrix = AucMatrixDisplay.from_audit(result).plot()
    assert np.array_equal(matrix.values, result.auc_matrix.values)
    assert np.array_equal(matrix.high, result.auc_matrix.high)
    histogram = ScoreDistributionDisplay.from_audit(result).plot()
    k = len(result.groups)
    for label in (0, 1):
        for z in range(k):
            heights = np.abs(histogram.steps_[label][z].get_data()[0])
            assert np.array_equal(heights, result.distributions.density[label * k + z])


def test_pairs_of_an_audit(result):
    one, two = result.groups[:2]
    display = RocGapDisplay.from_audit(result, pairs=[(one, two)], on="negatives")
    assert len(display.curves) == 1
    with pytest.raises(ValueError, match=r"The audit has no ROC gap of the pair \('x', 'y'\)"):
        RocGapDisplay.from_audit(result, pairs=[("x", "y")])


def test_an_audit_that_was_not_asked_for_roc_gaps():
    y, score, group, _ = draw(6, n=400)
    result = audit(y, score, sensitive_features=group)
    for display in (RocGapDisplay, InterGroupRocDisplay):
        with pytest.raises(ValueError, match="This audit was not asked for ROC gaps"):
            display.from_audit(result)


def test_an_empty_cell():
    y, group = [0, 1, 0, 1, 0, 0] * 20, list("aabbcc") * 20
    score = np.random.default_rng(0).normal(size=120)
    result = audit(y, score, sensitive_features=group, constraints=every_family())
    display = RocGapDisplay.from_audit(result).plot()
    assert any("no positives of c" in curve.reason for curve in display.curves)
    display = InterGroupRocDisplay.from_audit(result).plot()
    display.figure_.canvas.draw()
    assert any("no positives of c" in line.get_label() for line in display.lines_)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "real"])
@pytest.mark.parametrize("levels", [None, 10, 2])
def test_columns_and_their_audit_give_the_same_numbers(levels, weights):
    """Ties are split in both, for any coarseness of the score."""
    y, score, group, weight = draw(4, n=300, levels=levels, weights=weights)
    columns = dict(sensitive_features=group, sample_weight=weight)
    result = audit(y, score, **columns, constraints=every_family())
    asked = dict(rates=(0.125, 0.25))
    gaps = [
        RocGapDisplay.from_audit(result),
        RocGapDisplay.from_predictions(y, score, **columns, **asked, bands=("pointwise",)),
    ]
    rocs = [
        InterGroupRocDisplay.from_audit(result, band="pointwise"),
        InterGroupRocDisplay.from_predictions(y, score, **columns, **asked, band="pointwise"),
    ]
    for ours, theirs in zip(*(display.curves for display in gaps), strict=True):
        _same_band(ours.bands[0], theirs.bands[0])
        np.testing.assert_allclose(ours.asked, theirs.asked, atol=1e-12)
    for ours, theirs in zip(*(display.curves for display in rocs), strict=True):
        _same_band(ours.band, theirs.band)
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-12)
        # The audit's heights are on the polygon that is drawn, between its ends where vertical.
        low = [theirs.y[theirs.x < rate + 1e-9].max() for rate in ours.x]
        high = [theirs.y[theirs.x > rate - 1e-9].min() for rate in ours.x]
        between = np.interp(ours.x, theirs.x, theirs.y)
        ends = np.minimum(high, between), np.maximum(low, between)
        assert np.all((ends[0] - 1e-9 <= ours.y) & (ours.y <= ends[1] + 1e-9))
    whole = GroupRocDisplay.from_predictions(y, score, **columns, band="pointwise")
    for ours, theirs in zip(GroupRocDisplay.from_audit(result).curves, whole.curves, strict=True):
        assert ours.auc.value == theirs.auc.value
        assert theirs.band.value == pytest.approx(_upper(theirs, theirs.band.rates))


def _same_band(ours, theirs):
    places = np.searchsorted(theirs.rates, ours.rates - 1e-9)
    assert theirs.rates[places] == pytest.approx(ours.rates)
    for part in ("value", "low", "high"):
        one, two = getattr(ours, part), getattr(theirs, part)[places]
        np.testing.assert_allclose(one, two, atol=1e-12)


def _upper(curve, rates):
    """Heights of a polygon, the upper end where it is vertical."""
    below = np.interp(rates, curve.x, curve.y)
    at = [curve.y[np.isclose(curve.x, rate, atol=1e-12)].max(initial=0.0) for rate in rates]
    return np.maximum(below, at)
