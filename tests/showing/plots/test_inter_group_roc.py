from fractions import Fraction

import numpy as np
import pytest
from support.making import draw
from support.reference import roc

from evenscore import GroupedScores
from evenscore.inference import roc_band
from evenscore.scores.aucs import inter_group_curve
from evenscore.showing.plots import InterGroupRocDisplay, figure


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_curves_and_marks_are_the_definition(levels, n_groups):
    y, score, group, weight = draw(5, n=60, n_groups=n_groups, levels=levels, weights="integer")
    rates = [0.125, 0.25, 0.7]
    display = InterGroupRocDisplay.from_predictions(
        y,
        score,
        sensitive_features=group,
        sample_weight=weight,
        rates=rates,
        band=None,
        split_ties=False,
    ).plot()
    assert len(display.lines_) == 2 * (n_groups - 1)
    for number, (line, points) in enumerate(zip(display.lines_, display.points_, strict=True)):
        second, label = 1 + number // 2, number % 2
        one, two = ((y == label) & (group == k) for k in (0, second))
        sides = score[one].tolist(), score[two].tolist()
        weights = weight[one].tolist(), weight[two].tolist()
        expected = [roc(*sides, Fraction(str(rate)), *weights) for rate in rates]
        assert points.get_ydata() == pytest.approx(expected)
        assert list(points.get_xdata()) == rates
        x, height = line.get_data()
        for rate in np.random.default_rng(0).random(20):
            last = np.searchsorted(x, rate, side="right") - 1
            assert height[last] == pytest.approx(roc(*sides, rate, *weights))


def test_bands_are_those_of_inference():
    y, score, group, _ = draw(2, n=300, levels=None)
    options = dict(confidence_level=0.9, n_resamples=120, random_state=4)
    display = InterGroupRocDisplay.from_predictions(
        y, score, sensitive_features=group, **options
    ).plot()
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    for on, drawn in zip(("negatives", "positives"), display.bands_, strict=True):
        rates = np.linspace(0.0, 1.0, 201)
        band = roc_band(inter_group_curve(scores, on), rates, **options)
        outline = drawn.get_paths()[0].vertices
        for k in (0, 50, 100, 200):
            at = outline[np.isclose(outline[:, 0], rates[k]), 1]
            assert (at.min(), at.max()) == pytest.approx((band.low[k], band.high[k]))


def test_a_second_data_set_is_overlaid_in_the_same_colours():
    test, train = (
        InterGroupRocDisplay.from_predictions(y, s, sensitive_features=g, band="pointwise")
        for y, s, g, _ in (draw(1), draw(2))
    )
    ax = figure()[1]
    test.plot(ax, name="test")
    train.plot(ax, name="train", linestyle="--")
    for one, two in zip(test.lines_, train.lines_, strict=True):
        assert one.get_color() == two.get_color()
        assert (one.get_linestyle(), two.get_linestyle()) == ("-", "--")
    told = [text.get_text() for text in train.legend_.get_texts()]
    assert told == ["negatives: 1 against 0", "positives: 1 against 0", "test", "train"]
    assert sum(line.get_gid() == "diagonal" for line in ax.lines) == 1


def test_many_bands_are_shown_only_if_asked_for():
    y, s, g, _ = draw(1, n_groups=3)
    display = InterGroupRocDisplay.from_predictions(y, s, sensitive_features=g, band="pointwise")
    assert display.plot().bands_ == [None] * 4
    assert None not in display.plot(show_bands=True).bands_
    one = InterGroupRocDisplay.from_predictions(
        y, s, sensitive_features=g, on="negatives", band=None
    )
    assert {curve.on for curve in one.curves} == {"negatives"}


def test_axes_say_who_is_compared():
    y, s, g, _ = draw(1)
    group = np.array(["women", "men"])[g]
    ax = InterGroupRocDisplay.from_predictions(y, s, sensitive_features=group, band=None).plot().ax_
    assert "share of men" in ax.get_xlabel()
    assert "share of women" in ax.get_ylabel()
    assert (ax.get_xlim(), ax.get_ylim(), ax.get_aspect()) == ((0.0, 1.0), (0.0, 1.0), 1.0)
    with pytest.raises(ValueError, match="rate must lie between 0 and 1"):
        InterGroupRocDisplay.from_predictions(y, s, sensitive_features=group, rates=[2.0])
