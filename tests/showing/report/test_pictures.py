"""Pictures of a report: what is drawn maps back to the numbers of the audit, and has no colour."""

import re
from functools import partial

import numpy as np
import pytest
from support.making import draw, every_family
from support.report_cases import SCRIPT, case, read

from evenscore import Cuts, Words, audit
from evenscore.showing.page.charts import MARKERS
from evenscore.showing.report import pictures
from evenscore.showing.report.selection import shown_groups, worst_gap_pairs

POINT = re.compile(r"(-?[\d.]+) (-?[\d.]+)")


def without_some():
    """Six groups, one of them without positives: a matrix with cells that have no number."""
    y, group = np.arange(600) % 2, np.arange(600) // 2 % 6
    y[group == 3] = 0
    score = np.random.default_rng(0).normal(size=600) + 2 * y
    return audit(y, score, sensitive_features=group, constraints=every_family())


def cuts_case(cuts, **options):
    y, score, group, _ = draw(4, n=300, levels=None, **options)
    return audit(y, score, sensitive_features=group, cuts=cuts)


MAKERS = [
    pytest.param(partial(case, 1), id="K1"),
    pytest.param(partial(case, 2), id="K2"),
    pytest.param(partial(case, 7, n=600, levels=10, weights="real"), id="K7-ties-weights"),
    pytest.param(without_some, id="K6-empty"),
    pytest.param(partial(cuts_case, Cuts(at=(0.1, 0.3))), id="shares"),
    pytest.param(partial(cuts_case, Cuts(thresholds=(0.2, 9.0))), id="thresholds"),
]


def all_charts(result):
    """Every picture of a report."""
    charts = pictures.cut_charts((result,))
    charts += pictures.cut_charts((result, result), ("before", "after"), prefix="both-")
    charts += [pictures.distribution_chart(result), pictures.roc_chart(result)]
    charts += [chart for *_, one, two in pictures.pair_charts(result) for chart in (one, two)]
    charts += [
        pictures.gap_chart(f"again{k}", result, pair)
        for k, pair in enumerate(worst_gap_pairs(result, 1))
    ]
    return charts


def parts(chart, css):
    """The elements of a chart with a class, of those that are drawn between the axes."""
    drawn = read(chart.svg()).all("path")
    return [node for node in drawn if css in node.attributes["class"].split()]


def back(chart, path):
    """The points of a path, in the numbers of the axes."""
    points = np.array(POINT.findall(path), dtype=float)
    (x0, x1), (y0, y1) = chart.x, chart.y
    left, right = chart.at_x(x0), chart.at_x(x1)
    low, high = chart.at_y(y0), chart.at_y(y1)
    return np.column_stack(
        [
            x0 + (x1 - x0) * (points[:, 0] - left) / (right - left),
            y0 + (y1 - y0) * (points[:, 1] - low) / (high - low),
        ]
    )


def series(node):
    [number] = re.findall(r"series-(\d)", node.attributes["class"])
    return int(number)


def exactness(chart):
    """Half a tenth of a unit of the drawing, in the numbers of the axes."""
    (x0, x1), (y0, y1) = chart.x, chart.y
    across, upright = chart.at_x(x1) - chart.at_x(x0), chart.at_y(y0) - chart.at_y(y1)
    return 0.11 * max((x1 - x0) / across, (y1 - y0) / upright)


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
def test_pictures_have_names_titles_numbers_and_no_colour_of_their_own(make):
    charts = all_charts(make())
    assert len({chart.name for chart in charts}) == len(charts) >= 5
    for chart in charts:
        assert not re.search(r"\bnan\b|\binf\b", chart.svg(), re.IGNORECASE)
        assert chart.title
        entries = "".join(entry.swatch for entry in chart.legend)
        markup = chart.svg() + entries
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b", re.sub(r"<t\w+.*?</t\w+>", "", markup))
        assert not re.search(r"rgb|hsl|style=", re.sub(r"<t\w+.*?</t\w+>", "", markup))
        told = re.findall(r'\b(?:fill|stroke)="([^"]*)"', markup)
        assert set(told) == {"none", "currentColor"}
        for node in read(markup).all():
            if node.tag in ("path", "rect"):
                assert node.attributes.get("class") or "data-point" in str(node.attributes)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_lines_at_the_cuts_in_use_are_the_audit_s_curves(n_groups):
    result = case(n_groups)
    curves = result.cut_curves
    charts = pictures.cut_charts((result,))
    assert len(charts) == len(curves.rates) == 2
    for chart, rate in zip(charts, ("fnr", "fpr"), strict=True):
        [found] = [curve for curve in curves.rates if curve.rate == rate]
        shown = shown_groups(result)
        lines, near = parts(chart, "curve"), exactness(chart)
        assert len(lines) == len(shown) == n_groups
        numbers = pictures.series_of(result)
        for line, k in zip(lines, shown, strict=True):
            assert series(line) == numbers[result.groups[k]] % 7
            points = back(chart, line.attributes["d"])
            np.testing.assert_allclose(points[:, 0], curves.selected_share, atol=near)
            np.testing.assert_allclose(points[:, 1], found.shares.value[:, k], atol=near)
        for band, k in zip(parts(chart, "band"), shown, strict=True):
            points, n = back(chart, band.attributes["d"]), len(curves.selected_share)
            top = np.minimum(found.shares.high[:, k], chart.y[1])
            np.testing.assert_allclose(points[:n, 1], top, atol=near)
            np.testing.assert_allclose(points[n:][::-1, 1], found.shares.low[:, k], atol=near)


def test_the_largest_gap_is_marked_where_it_is():
    result = case(4)
    for chart, rate in zip(pictures.cut_charts((result,)), ("fnr", "fpr"), strict=True):
        gaps = [gap for gap in result.cut_gaps if gap.name == f"{rate}_gap"]
        gap = max(gaps, key=lambda gap: abs(gap.value))
        [mark] = parts(chart, "largest")
        place, low, high = re.match(r"M([\d.]+) ([\d.]+)V([\d.]+)", mark.attributes["d"]).groups()
        assert float(place) == chart.at_x(gap.selected_share)
        assert float(low) == chart.at_y(gap.first_value)
        assert float(high) == chart.at_y(gap.second_value)
        size = f"{100 * abs(gap.value):.1f}"[:-2]
        assert f" {size}" in chart.caption


def test_the_ribbon_is_as_high_as_the_tolerance():
    result = case(2)
    for chart in pictures.cut_charts((result,)):
        [ribbon] = parts(chart, "ribbon")
        points = back(chart, ribbon.attributes["d"])
        n = len(points) // 2
        high, low = points[:n, 1], points[n:][::-1, 1]
        inside = (low > 2 * exactness(chart)) & (high < chart.y[1] - 2 * exactness(chart))
        assert inside.sum() > 10
        np.testing.assert_allclose(
            (high - low)[inside], result.settings.tolerance, atol=2 * exactness(chart)
        )


def test_single_cuts_are_dots_with_error_bars():
    result = cuts_case(Cuts(at=(0.1, 0.3)))
    for chart, rate in zip(pictures.cut_charts((result,)), ("fnr", "fpr"), strict=True):
        assert not parts(chart, "curve")
        found = getattr(result.thresholds, rate)
        marks = [node.attributes["transform"] for node in parts(chart, "marker")]
        heights = [float(POINT.search(mark)[2]) for mark in marks]
        assert heights == [chart.at_y(found.value[t, k]) for k in (0, 1) for t in (0, 1)]
        bars = [
            re.match(r"M[\d.]+ ([\d.]+)V([\d.]+)", node.attributes["d"]).groups()
            for node in parts(chart, "cross")
        ]
        assert [tuple(map(float, bar)) for bar in bars] == [
            (chart.at_y(found.low[t, k]), chart.at_y(found.high[t, k]))
            for k in (0, 1)
            for t in (0, 1)
        ]
        texts = [node.text for node in read(chart.svg()).all("text")]
        assert texts[:2] == ["10%", "30%"]


def test_two_scores_have_the_same_scale_and_their_names():
    y, score, group, _ = draw(4, n=300, levels=None)
    one, two = (audit(y, s, sensitive_features=group) for s in (score, score - 0.8 * group))
    charts = pictures.cut_charts((one, two), (SCRIPT, "new"))
    assert [chart.heading.split(":")[0] for chart in charts] == [SCRIPT, "new", SCRIPT, "new"]
    for first, second in (charts[:2], charts[2:]):
        assert first.y == second.y
        assert first.heading.removeprefix(SCRIPT) == second.heading.removeprefix("new")


def test_roc_curves_are_those_of_the_audit():
    result = case(2)
    chart = pictures.roc_chart(result)
    everyone, *groups = result.roc_curves
    lines = [*parts(chart, "everyone"), *parts(chart, "curve")]
    for line, curve in zip(lines, (everyone, *groups), strict=True):
        points = back(chart, line.attributes["d"])
        np.testing.assert_allclose(points, np.column_stack([curve.x, curve.y]), atol=0.0004)
    aucs = [entry.text for entry in chart.legend]
    assert aucs[0] == (
        f"{SCRIPT}: AUC {result.auc_by_group[0].value:.3f} "
        f"({result.auc_by_group[0].low:.3f} to {result.auc_by_group[0].high:.3f})"
    )
    assert aucs[-1].startswith(f"everyone: AUC {result.auc.value:.3f}")
    marks = list(read(chart.svg()).all("g", data_point=True))
    assert [node.attributes["data-point"] for node in marks] == ["0", "1"]
    assert {node.attributes["visibility"] for node in marks} == {
        "hidden"
    }  # until there is a script


def test_roc_gaps_and_their_bands_are_those_of_the_audit():
    result = case(2)
    [(first, second, gaps, curves)] = pictures.pair_charts(result)
    assert (first, second) == result.groups
    near = exactness(gaps)
    found = {curve.on: curve for curve in result.roc_gaps}
    for number, on in enumerate(("negatives", "positives")):
        curve = found[on]
        [line] = [node for node in parts(gaps, "curve") if series(node) == number]
        points = back(gaps, line.attributes["d"])
        expected = np.column_stack([curve.rates, curve.value])
        np.testing.assert_allclose(points, expected, atol=near)
        wide = [node for node in parts(gaps, "wide") if series(node) == number]
        points = back(gaps, wide[0].attributes["d"])
        assert points[:, 1].max() == pytest.approx(np.nanmax(curve.simultaneous_high), abs=near)
        assert points[:, 1].min() == pytest.approx(np.nanmin(curve.simultaneous_low), abs=near)
        [line] = [node for node in parts(curves, "curve") if series(node) == number]
        points = back(curves, line.attributes["d"])
        np.testing.assert_allclose(points[:, 1], curve.rates + curve.value, atol=0.0005)
        marks = [node for node in parts(gaps, "marker") if series(node) == number]
        places = [POINT.search(node.attributes["transform"]).groups() for node in marks]
        assert [tuple(map(float, place)) for place in places] == [
            (gaps.at_x(rate), gaps.at_y(value)) for rate, value, *_ in curve.marks.tolist()
        ]
    assert "without an interval" in gaps.caption


def test_histograms_are_those_of_the_audit():
    result = case(2)
    chart = pictures.distribution_chart(result)
    bars = result.distributions
    density = bars.density.reshape(2, 2, -1)
    outlines = parts(chart, "outline")
    assert len(outlines) == len(parts(chart, "filled")) == 4
    drawn = [
        [float(v) for v in re.findall(r"V([\d.]+)", node.attributes["d"])] for node in outlines
    ]
    expected = [
        [chart.at_y(h) for h in (*(sign * density[row, k]), 0.0)]
        for k in (0, 1)
        for row, sign in ((1, 1.0), (0, -1.0))
    ]
    assert drawn == expected
    counts = result.sample.cell_counts
    assert chart.legend[0].text == (
        f"{SCRIPT}: {counts[1, 0]:,.0f} positives, {counts[0, 0]:,.0f} negatives"
    )


def test_each_group_looks_the_same_in_every_picture_and_no_two_look_alike():
    result = case(4)
    looks = {}
    for chart in (*pictures.cut_charts((result,)), pictures.roc_chart(result)):
        for entry in chart.legend:
            for k, group in enumerate(result.groups):
                if entry.text.split(":")[0] == pictures.short_names([group])[0]:
                    looks.setdefault(k, set()).add(entry.swatch)
    assert sorted(looks) == [0, 1, 2, 3]
    assert all(len(some) == 1 for some in looks.values())
    assert len(set.union(*looks.values())) == 4
    assert len(set(MARKERS)) == 7


@pytest.mark.slow
def test_the_pictures_are_in_the_user_s_words():
    y, score, group, _ = draw(4, n=300, levels=None)
    words = Words(
        people="applicants",
        positives="people who repaid",
        negatives="people who defaulted",
        selected="granted a loan",
        refused="refused",
        groups={0: "women", 1: "men"},
    )
    result = audit(y, score, sensitive_features=group, words=words, constraints=every_family())
    charts = all_charts(result)
    for chart, names in zip(
        charts[:2], (("Refused", "repaid"), ("Granted a loan", "defaulted")), strict=True
    ):
        assert all(name in chart.heading for name in names)
    for chart in charts:
        told = " ".join([read(chart.svg()).text, chart.heading, chart.caption])
        told += " ".join(entry.text for entry in chart.legend)
        assert "positives" not in told
        assert "negatives" not in told
        assert not re.search(r"\bselected\b", told)
    assert [entry.text for entry in charts[0].legend[:2]] == ["women", "men"]
