"""The explorer's data: the audit's rates, rounded once."""

import json

import numpy as np
import pytest
from conftest import draw
from report_cases import case

from evenscore import Cuts, GroupedScores, audit
from evenscore.scores.thresholds import rates_at
from evenscore.showing.report.explorer import RATES, explorer, json_block, merged_cuts


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_rates_are_those_of_the_audit(n_groups):
    result = case(n_groups)
    found = explorer(result)
    data = json.loads(found.data)
    y, score, group, _ = draw(11, n=400, n_groups=n_groups, levels=None)
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    rates = rates_at(scores, found.cuts.thresholds)
    for name in RATES:
        shown = np.array(data["rates"][name], dtype=float)
        assert shown.shape == (len(data["thresholds"]), n_groups, 3)
        exact = rates.rate(name.removesuffix("_rate"))
        np.testing.assert_allclose(shown[..., 0] / 1000, exact, atol=5.0001e-4, equal_nan=True)
        assert (shown[..., 1] <= shown[..., 0] + 1)[~np.isnan(shown[..., 1])].all()
    assert data["share"] == [
        int(f"{x:.1%}"[:-1].replace(".", "")) for x in found.cuts.selected_share
    ]


def test_cuts_are_in_order_and_the_asked_ones_among_them():
    result = case()
    found = explorer(result)
    assert (np.diff(found.cuts.thresholds) > 0).all()
    asked = found.cuts.thresholds[list(found.asked)]
    np.testing.assert_array_equal(asked, result.thresholds.thresholds)
    assert [found.cuts.labels[k] for k in found.asked] == list(result.thresholds.labels)
    assert len(found.cuts.thresholds) >= len(result.explorer.thresholds)


def test_merging_keeps_rows_together():
    result = case()
    both = merged_cuts(result.thresholds, result.explorer)
    for table in (result.thresholds, result.explorer):
        for t, threshold in enumerate(table.thresholds):
            [row] = np.flatnonzero(both.thresholds == threshold)
            np.testing.assert_array_equal(both.fpr.low[row], table.fpr.low[t])
            np.testing.assert_array_equal(both.selected[row], table.selected[t])
            assert both.impact_ratio.notes[row] == table.impact_ratio.notes[t]


def test_json_cannot_end_its_element():
    text = "</script><!-- & \u2028\u2029"
    block = json_block([text])
    assert json.loads(block) == [text]
    assert not set("<>&\u2028\u2029") & set(block)


def test_markers_start_on_their_curves():
    result = case()
    found = explorer(result)
    for line in found.lines:
        points = np.array([p.split(",") for p in line.points.split()], dtype=float)
        fpr, fnr = (
            getattr(found.cuts, n).value[found.asked[0], line.group] for n in ("fpr", "fnr")
        )
        at = np.array([found.frame.x(fpr), found.frame.y(1 - fnr)])
        # The curve is thinned: between two vertices it is near its chord.
        assert np.abs(points - at).sum(axis=1).min() < 0.03 * found.frame.side


def test_where_low_scores_are_selected_points_lie_on_the_curves_too():
    y, score, group, _ = draw(3, n=400, levels=None)
    high = audit(y, score, sensitive_features=group)
    low = audit(y, -score, sensitive_features=group, cuts=Cuts(between=(0.05, 0.5), selected="low"))
    one, two = explorer(high), explorer(low)
    for first, second in zip(one.lines, two.lines, strict=True):
        curve = [tuple(map(float, pair.split(","))) for pair in second.points.split()]
        assert curve[0] == (two.frame.x(0.0), two.frame.y(0.0))
        assert curve[-1] == (two.frame.x(1.0), two.frame.y(1.0))
        corners = {(round(x), round(y)) for x, y in curve}
        others = [tuple(map(float, pair.split(","))) for pair in first.points.split()]
        near = [min(abs(x - u) + abs(y - v) for u, v in corners) for x, y in others]
        assert max(near) < 12.0  # of 320: both are thinned
