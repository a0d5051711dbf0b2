"""Rates at the cuts in use: what is drawn is what the audit found, and what a loop finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from support.making import draw

import evenscore as es
from evenscore.showing.at_cuts import GroupRate
from evenscore.showing.plots import CutRatesDisplay, figure
from evenscore.showing.plots.saving import figure_bytes

CUTS = es.Cuts(between=(0.1, 0.4))
NAMES = np.array(["women", "men", "$x$", "_hidden", "e", "f", "g", "h"])


def naive(y, score, selected, weight, rate):
    """A rate of some people, by counting."""
    among = {"fpr": y == 0, "fnr": y == 1, "selection": y >= 0, "precision": selected}[rate]
    counted = {"fpr": selected, "fnr": ~selected, "selection": selected, "precision": y == 1}[rate]
    return weight[among & counted].sum() / weight[among].sum()


def rows(seed=3, n=500, n_groups=3, **options):
    y, score, group, weight = draw(seed, n=n, n_groups=n_groups, **options)
    return y, score, NAMES[group], np.ones(len(y)) if weight is None else weight


def audited(columns, **options):
    y, score, group, weight = columns
    return es.audit(y, score, sensitive_features=group, sample_weight=weight, **options)


def drawn(display):
    return display.plot(figure()[1])


@pytest.mark.parametrize(
    ("rate", "weights", "levels"),
    [
        ("fpr", None, None),
        ("fnr", "real", 10),
        ("selection", None, 10),
        ("selection", "real", None),
    ],
)
def test_lines_are_shares_counted_one_by_one(rate, weights, levels):
    y, score, group, weight = columns = rows(levels=levels, weights=weights)
    display = CutRatesDisplay.from_predictions(
        y, score, sensitive_features=group, sample_weight=weight, rate=rate, cuts=CUTS,
        ax=figure()[1],
    )  # fmt: skip
    cuts = {weight[score > t].sum() / weight.sum(): t for t in np.unique(score)}
    at = np.array(list(cuts))
    for line, shown in zip(display.lines_, display.groups, strict=True):
        name = shown.name.replace("\\", "")
        own = group == name
        for share, value in zip(*line.get_data(), strict=True):
            t = cuts[at[np.argmin(np.abs(at - share))]]
            expected = naive(y[own], score[own], score[own] > t, weight[own], rate)
            assert value == pytest.approx(expected)
        assert (shown.low <= shown.value + 1e-12).all()
        assert (shown.high >= shown.value - 1e-12).all()
    result = audited(columns, cuts=CUTS, constraints=es.RateConstraint(rate, cuts=CUTS))
    again = CutRatesDisplay.from_audit(result, rate=rate)
    assert np.array_equal(again.share, display.share)
    for one, two in zip(again.groups, display.groups, strict=True):
        assert np.array_equal(one.value, two.value)
        assert np.array_equal(one.low, two.low)
    assert again.largest == display.largest
    assert display.largest is not None
    sizes = [abs(gap.value) for gap in result.cut_gaps if gap.name == f"{rate}_gap"]
    both = display.largest.first_value, display.largest.second_value
    assert abs(both[0] - both[1]) == pytest.approx(max(sizes))


@pytest.mark.parametrize("n_groups", [2, 3])
def test_an_audit_s_arrays_are_drawn_as_they_are(n_groups):
    result = audited(rows(n_groups=n_groups), cuts=CUTS, tolerance=0.07)
    for curve in result.cut_curves.rates:
        display = drawn(CutRatesDisplay.from_audit(result, rate=curve.rate))
        assert len(display.lines_) == n_groups
        for k, (line, band) in enumerate(zip(display.lines_, display.bands_, strict=True)):
            x, y = line.get_data()
            assert np.array_equal(x, result.cut_curves.selected_share)
            assert np.array_equal(y, curve.shares.value[:, k])
            outline = band.get_paths()[0].vertices
            assert outline[:, 1].min() == pytest.approx(curve.shares.low[:, k].min())
            assert outline[:, 1].max() == pytest.approx(curve.shares.high[:, k].max())
        gaps = [gap for gap in result.cut_gaps if gap.name == f"{curve.rate}_gap"]
        worst = max(gaps, key=lambda gap: abs(gap.value))
        [ends] = display.largest_.lines[2][0].get_segments()
        assert ends[:, 0] == pytest.approx([worst.selected_share] * 2)
        assert sorted(ends[:, 1]) == pytest.approx(sorted([worst.first_value, worst.second_value]))
        told = " ".join(text.get_text() for text in display.legend_.get_texts())
        assert f"{100 * abs(worst.value):.1f} points" in told
        assert "7 points" in told
    default = CutRatesDisplay.from_audit(result)
    assert default.rate == "fpr"


def test_cuts_at_which_no_group_has_a_precision_are_left_out():
    y, score, group, _ = rows()  # ties: too few are selected at the strictest cut
    display = CutRatesDisplay.from_predictions(
        y, score, sensitive_features=group, rate="precision", cuts=CUTS, ax=figure()[1]
    )
    known = [np.isfinite(shown.value) for shown in display.groups]
    assert 0 < np.sum(known) < np.size(known)


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=2, max_size=5),
       st.floats(0.01, 0.5))  # fmt: skip
def test_a_line_leaves_the_ribbon_where_two_groups_differ_by_more(values, tolerance):
    table = np.array(values)
    groups = tuple(GroupRate(f"{k}", row, row, row) for k, row in enumerate(table))
    display = CutRatesDisplay("fpr", np.array([0.1, 0.2, 0.3, 0.4]), groups, tolerance=tolerance)
    low, high = display._tolerated()
    apart = table.max(axis=0) - table.min(axis=0)
    inside = ((table >= low - 1e-9) & (table <= high + 1e-9)).all(axis=0)
    clear = np.abs(apart - tolerance) > 1e-8
    assert np.array_equal(inside[clear], (apart < tolerance)[clear])
    assert display.top >= table.max()


def test_around_a_reference_group_the_ribbon_is_twice_as_high():
    columns = rows(n_groups=3)
    result = audited(columns, cuts=CUTS, reference_group="men", tolerance=0.06)
    display = CutRatesDisplay.from_audit(result, rate="fpr")
    assert display.reference == "men"
    low, high = display._tolerated()
    [middle] = [group.value for group in display.groups if group.name == "men"]
    assert high == pytest.approx(np.minimum(middle + 0.06, 1.0))
    assert low == pytest.approx(np.maximum(middle - 0.06, 0.0))
    others = audited(columns, cuts=CUTS, reference_group="all others", tolerance=0.06)
    display = drawn(CutRatesDisplay.from_audit(others, rate="fpr"))
    assert display.reference is None
    assert display.largest.first in {"all others", "women", "men", r"\$x\$"}


POINTS = [
    es.Cuts(at=(0.1, 0.25, 0.4)),
    es.Cuts(at=(0.2, 0.05), of="negatives"),
    es.Cuts(at=(0.3,), of="positives", selected="low"),
    es.Cuts(thresholds=(0.3, 1.1)),
    es.Cuts(thresholds=(1.0, -0.25), inclusive=True),
    es.Cuts(thresholds=(0.25, -0.5), selected="low"),
    es.Cuts(thresholds=(0.25, -0.33), selected="low", inclusive=True),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cuts", "levels"), [(cuts, (None, 10)[k % 2]) for k, cuts in enumerate(POINTS)], ids=str
)
def test_single_cuts_are_dots_at_these_very_cuts(cuts, levels):
    y, score, group, weight = columns = rows(levels=levels, weights="integer", n_groups=2)
    result = audited(columns, cuts=cuts)
    display = drawn(CutRatesDisplay.from_audit(result, rate="fnr"))
    assert display.lines_ == []
    assert len(display.places) == len(cuts.points)
    table = result.thresholds
    for k, (points, shown) in enumerate(zip(display.points_, display.groups, strict=True)):
        assert shown.value == pytest.approx(table.fnr.value[:, k])
        # Both are Wilson's, with effective sizes of weighted people that differ a little.
        assert shown.low == pytest.approx(table.fnr.low[:, k], abs=2e-3)
        assert points.lines[0].get_ydata() == pytest.approx(table.fnr.value[:, k])
    if cuts.thresholds:  # counted one by one
        for place, t in enumerate(cuts.thresholds):
            beyond = score > t if cuts.selected == "high" else score < t
            beyond |= (score == t) & cuts.inclusive
            for shown in display.groups:
                own = group == shown.name
                value = naive(y[own], score[own], beyond[own], weight[own], "fnr")
                assert shown.value[place] == pytest.approx(value)
    same = CutRatesDisplay.from_predictions(
        y, score, sensitive_features=group, sample_weight=weight, cuts=cuts, rate="fnr",
        tolerance=0.05, ax=figure()[1],
    )  # fmt: skip
    assert same.places == display.places
    assert same.share == pytest.approx(display.share)
    for one, two in zip(same.groups, display.groups, strict=True):
        assert np.array_equal(one.value, two.value)
    ticks = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert ticks == list(display.places)
    [ends] = display.largest_.lines[2][0].get_segments()
    worst = max(
        (gap for gap in result.cut_gaps if gap.name == "fnr_gap"), key=lambda gap: abs(gap.value)
    )
    place = cuts.texts().index(worst.at)
    assert ends[0, 0] == place


def test_a_cut_that_is_none_is_said_to_be_none():
    cuts = es.Cuts(thresholds=(99.0, 0.3, -99.0))
    for display in (
        CutRatesDisplay.from_audit(audited(rows(n_groups=2), cuts=cuts), rate="fpr"),
        CutRatesDisplay.from_predictions(
            *rows(n_groups=2)[:2], sensitive_features=rows(n_groups=2)[2], cuts=cuts, rate="fpr",
            ax=figure()[1],
        ),
    ):  # fmt: skip
        assert display.places == ("0.3",)
        assert "99 and -99" in display.note
    coarse = CutRatesDisplay.from_predictions(
        [0, 1] * 20, [0, 1] * 20, sensitive_features=list("aabb") * 10, cuts=CUTS, ax=figure()[1]
    )
    assert len(coarse.share) == 0
    assert coarse.lines_ == []
    written = " ".join(text.get_text() for text in coarse.ax_.texts).split()
    assert "10% to 40%" in " ".join(written)


def test_outcomes_unknown():
    _, score, group, _ = rows()
    result = es.audit(None, score, sensitive_features=group, cuts=CUTS)
    display = CutRatesDisplay.from_audit(result)
    assert display.rate == "selection"
    same = CutRatesDisplay.from_predictions(
        None, score, sensitive_features=group, cuts=CUTS, ax=figure()[1]
    )
    assert same.rate == "selection"
    for one, two in zip(same.groups, display.groups, strict=True):
        assert np.array_equal(one.value, two.value)
    with pytest.raises(ValueError, match=r"'fnr'.*y_true"):
        CutRatesDisplay.from_predictions(None, score, sensitive_features=group, rate="fnr")
    with pytest.raises(ValueError, match="no rate 'fnr'"):
        CutRatesDisplay.from_audit(result, rate="fnr")


@pytest.mark.slow
def test_many_groups_are_the_main_ones_and_that_is_said():
    columns = rows(n=2000, n_groups=8)
    result = audited(columns, cuts=CUTS)
    display = drawn(CutRatesDisplay.from_audit(result, rate="fpr"))
    assert 2 <= len(display.lines_) <= 6
    assert f"{len(display.lines_)} of 8" in display.legend_.get_title().get_text()
    y, score, group, _ = columns
    first = CutRatesDisplay.from_predictions(
        y, score, sensitive_features=group, cuts=CUTS, ax=figure()[1]
    )
    assert len(first.lines_) == 6
    assert "6 of 8" in first.note


def test_words_are_the_user_s_and_colours_the_theme_s():
    y, score, group, _ = rows(n_groups=2)
    words = es.Words(
        people="applicants", positives="people who earn $50,000", selected="granted a loan"
    )
    display = CutRatesDisplay.from_predictions(
        y, score, sensitive_features=group, words=words, cuts=CUTS, theme="dark", ax=figure()[1]
    )
    label = " ".join(display.ax_.get_ylabel().split())
    assert r"people who earn \$50,000" in label
    assert "granted a loan" in label
    assert "applicants" in display.ax_.get_xlabel()
    assert to_hex(display.lines_[0].get_color()) == "#56b4e9"
    assert display.tolerance_ is not None  # as in an audit, unless it is None
    figure_bytes(display.figure_)


def test_reordering_rows_and_increasing_maps_change_nothing():
    y, score, group, weight = rows(weights="integer")
    order = np.random.default_rng(0).permutation(len(y))

    def made(y, score, group, weight):
        return CutRatesDisplay.from_predictions(
            y, score, sensitive_features=group, sample_weight=weight, cuts=CUTS, ax=figure()[1]
        )

    one = made(y, score, group, weight)
    for other in (
        made(y[order], np.exp(score[order]), group[order], weight[order]),
        made(*(np.repeat(part, weight.astype(int)) for part in (y, score, group)), None),
    ):
        assert other.share == pytest.approx(one.share)
        for two, three in zip(one.groups, other.groups, strict=True):
            assert three.value == pytest.approx(two.value)
