"""Displays of an audit show its arrays, not others that were computed anew."""

import numpy as np
import pytest
from support.making import draw

from evenscore.auditing.audit import audit
from evenscore.showing.plots import GroupRocDisplay, ScoreDistributionDisplay

NAMES = np.array(["$x$", "_hidden", "c", "d"])


@pytest.mark.parametrize("n_groups", [2, 4])
def test_group_curves_and_distributions(n_groups):
    y, score, group, _ = draw(6, n=300, n_groups=n_groups)
    result = audit(y, score, sensitive_features=NAMES[group], constraints="bnsp")
    display = GroupRocDisplay.from_audit(result).plot()
    everyone, *groups = result.roc_curves
    for line, found in zip(display.lines_, (*groups, everyone), strict=True):
        assert np.array_equal(line.get_xdata(), found.x)
        assert np.array_equal(line.get_ydata(), found.y)
    assert [curve.auc for curve in display.curves] == [*result.auc_by_group, result.auc]
    histogram = ScoreDistributionDisplay.from_audit(result).plot()
    k = len(result.groups)
    for label in (0, 1):
        for z in range(k):
            heights = np.abs(histogram.steps_[label][z].get_data()[0])
            assert np.array_equal(heights, result.distributions.density[label * k + z])


@pytest.mark.parametrize(("levels", "weights"), [(None, None), (10, "real"), (2, None)])
def test_columns_and_their_audit_give_the_same_numbers(levels, weights):
    """Ties are split in both, for any coarseness of the score."""
    y, score, group, weight = draw(4, n=300, levels=levels, weights=weights)
    columns = dict(sensitive_features=group, sample_weight=weight)
    result = audit(y, score, **columns, constraints="bnsp")
    whole = GroupRocDisplay.from_predictions(y, score, **columns, band="pointwise")
    for ours, theirs in zip(GroupRocDisplay.from_audit(result).curves, whole.curves, strict=True):
        assert ours.auc.value == theirs.auc.value
        assert theirs.band.value == pytest.approx(_upper(theirs, theirs.band.rates))


def _upper(curve, rates):
    """Heights of a polygon, the upper end where it is vertical."""
    below = np.interp(rates, curve.x, curve.y)
    at = [curve.y[np.isclose(curve.x, rate, atol=1e-12)].max(initial=0.0) for rate in rates]
    return np.maximum(below, at)
