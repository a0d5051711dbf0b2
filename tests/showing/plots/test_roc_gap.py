from fractions import Fraction

import numpy as np
import pytest
from support.making import draw
from support.reference import split_roc

from evenscore import GroupedScores
from evenscore.inference import roc_gap_band
from evenscore.showing.plots import RocGapDisplay


@pytest.mark.parametrize("n_groups", [2, 3])
def test_gaps_bands_and_marks(n_groups):
    y, score, group, weight = draw(5, n=60, n_groups=n_groups, weights="integer")
    asked = (1 / 8, 1 / 4)
    display = RocGapDisplay.from_predictions(
        y,
        score,
        sensitive_features=group,
        sample_weight=weight,
        rates=asked,
        tolerance=0.05,
        bands=("pointwise", "dkw"),
    ).plot(show_bands=True)
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    for number, line in enumerate(display.lines_):
        second, label = 1 + number // 2, number % 2
        one, two = ((y == label) & (group == k) for k in (0, second))
        x, gap = line.get_data()
        for k in range(0, len(x), 20):
            expected = split_roc(
                score[one].tolist(),
                score[two].tolist(),
                Fraction(x[k]).limit_denominator(1000),
                weight[one],
                weight[two],
            )
            assert gap[k] == pytest.approx(expected - x[k])
        on = ("negatives", "positives")[label]
        for kind, drawn in zip(("pointwise", "dkw"), display.bands_[number], strict=True):
            band = roc_gap_band(scores, on, x, second=second, kind=kind)
            outline = drawn.get_paths()[0].vertices
            at = outline[np.isclose(outline[:, 0], x[80]), 1]
            assert (at.min(), at.max()) == pytest.approx((band.low[80], band.high[80]))
        points = display.points_[number]
        band = roc_gap_band(scores, on, asked, second=second, kind="pointwise")
        assert points.lines[0].get_ydata() == pytest.approx(band.value)
        ends = np.array([segment[:, 1] for segment in points.lines[2][0].get_segments()])
        assert ends == pytest.approx(np.column_stack([band.low, band.high]))
        assert points.lines[0].get_xdata() == pytest.approx(asked, abs=0.02)
    box = display.tolerance_
    assert (box.get_y(), box.get_y() + box.get_height()) == pytest.approx((-0.05, 0.05))


def test_legend_tells_what_the_bands_are():
    y, score, group, _ = draw(5)
    display = RocGapDisplay.from_predictions(
        y, score, sensitive_features=group, tolerance=0.1, n_resamples=50, confidence_level=0.8
    ).plot()
    told = [text.get_text() for text in display.legend_.get_texts()]
    assert told == [
        "negatives: 1 against 0",
        "positives: 1 against 0",
        "tolerance ±0.1",
        "80% band, at one rate",
        "80% band, at all rates at once",
    ]
    assert "above 0: 1 higher" in display.ax_.get_ylabel()
    assert display.points_ == [None, None]


def test_bad_options():
    y, score, group, _ = draw(5)
    with pytest.raises(ValueError, match="bands must name at least one kind"):
        RocGapDisplay.from_predictions(y, score, sensitive_features=group, bands=())
    with pytest.raises(ValueError, match="kind must be 'pointwise', 'simultaneous' or 'dkw'"):
        RocGapDisplay.from_predictions(y, score, sensitive_features=group, bands=("wide",))
