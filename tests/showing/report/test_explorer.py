"""The cut that the reader picks: the audit's rates, rounded once, and where they are drawn."""

import json
import re

import numpy as np
import pytest
from support.making import draw
from support.report_cases import case

from evenscore import AuditResult, Cuts, GroupedScores, audit
from evenscore.scores.thresholds import rates_at
from evenscore.showing.report.explorer import RATES, json_block, merged_cuts
from evenscore.showing.report.page import Page


def vertices(path):
    """The points of a path of straight lines."""
    return np.array([pair.split() for pair in re.split("[ML]", path)[1:]], dtype=float)


def curves_of(chart):
    """The vertices of each line of a series, in order."""
    found = re.findall(r'<path class="curve series-\d" [^>]*d="([^"]*)"/>', "".join(chart.parts))
    return [vertices(path) for path in found]


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_rates_are_those_of_the_audit(n_groups):
    found = Page(case(n_groups)).picker
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
    found = Page(result).picker
    assert (np.diff(found.cuts.thresholds) > 0).all()
    asked = found.cuts.thresholds[list(found.asked)]
    np.testing.assert_array_equal(asked, result.thresholds.thresholds)
    assert [found.cuts.labels[k] for k in found.asked] == list(result.thresholds.labels)
    assert len(found.cuts.thresholds) >= len(result.explorer.thresholds)
    assert found.at == found.asked[2]
    assert len(found.columns) == 4


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


@pytest.mark.parametrize("low", [False, True])
def test_marks_are_on_the_curves_of_their_groups(low):
    y, score, group, _ = draw(3, n=400, levels=None)
    cuts = Cuts(between=(0.05, 0.5), selected="low" if low else "high")
    page = Page(audit(y, -score if low else score, sensitive_features=group, cuts=cuts))
    found, chart = page.picker, page.roc
    left, right, lower, upper = json.loads(found.data)["frame"]
    curves = curves_of(chart)
    assert len(curves) == 2
    for k, curve in enumerate(curves):
        ends = sorted(map(tuple, (curve[0], curve[-1])))
        assert ends == [(left, lower), (right, upper)]
        for index in (*found.asked, 3):
            fpr, fnr = (getattr(found.cuts, n).value[index, k] for n in ("fpr", "fnr"))
            at = np.array([left + (right - left) * fpr, lower + (upper - lower) * (1 - fnr)])
            # The curve is thinned: between two vertices it is near its chord.
            assert np.abs(curve - at).sum(axis=1).min() < 0.03 * (right - left)
    assert re.findall(r'data-point="(\d)"', "".join(chart.parts)) == ["0", "1"]


def test_the_line_of_the_cut_is_where_the_pictures_have_its_share():
    page = Page(case())
    found, charts = page.picker, page.cut_charts
    data = json.loads(found.data)
    low, high = charts[0].x
    inside = [low <= share <= high for share in found.cuts.selected_share]
    assert [x is not None for x in data["x"]] == inside
    assert 10 < sum(inside) < len(inside)
    for share, x in zip(found.cuts.selected_share, data["x"], strict=True):
        for chart in charts if x is not None else ():
            left, right = chart.at_x(low), chart.at_x(high)
            assert x == pytest.approx(left + (right - left) * (share - low) / (high - low), abs=0.1)
    assert all("data-picked" in "".join(chart.parts) for chart in charts)


@pytest.mark.parametrize("cuts", [Cuts(at=(0.1, 0.3)), Cuts(between=(0.1, 0.4), of="positives")])
def test_no_line_where_the_axis_is_not_the_share_of_everyone(cuts):
    y, score, group, _ = draw(3, n=400, levels=None)
    page = Page(audit(y, score, sensitive_features=group, cuts=cuts))
    assert page.cut_charts
    assert set(json.loads(page.picker.data)["x"]) == {None}


def test_what_has_no_number_is_null_and_shown_as_a_dash():
    y, score, group, _ = draw(3, n=100, levels=None)
    y[group == 1] = 0
    found = Page(audit(y, score, sensitive_features=group)).picker
    data = json.loads(found.data)
    for row in data["rates"]["fnr"]:
        assert row[1] == [None, None, None]
        assert None not in row[0]
    assert (data["none"], data["no_interval"]) == ("–", "no interval")


def test_without_a_cut_there_is_nothing_to_pick():
    result = audit(None, np.ones(80), sensitive_features=["a", "b"] * 40)
    assert Page(result).picker is None


def test_a_stored_audit_of_a_score_that_cannot_be_cut(tmp_path):
    made = audit([0, 1] * 4, [0.5] * 8, sensitive_features=list("aabb") * 2)
    made.to_json(tmp_path / "audit.json")
    again = AuditResult.from_json(tmp_path / "audit.json")
    assert again.to_html(tmp_path / "page.html").exists()
