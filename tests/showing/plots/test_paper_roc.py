import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve
from support.making import draw
from support.reference import roc

from evenscore.showing.plots import PaperRocDisplay, figure


@pytest.mark.parametrize("levels", [None, 5])
def test_the_three_curves_and_the_marks(levels):
    y, score, group, _ = draw(8, levels=levels)
    display = PaperRocDisplay.from_predictions(
        y, score, sensitive_features=group, rates=(1 / 8, 1 / 4)
    ).plot()
    fpr, tpr, _ = roc_curve(y, score, drop_intermediate=False)
    assert display.overall_.get_xydata() == pytest.approx(np.column_stack([fpr, tpr]))
    assert display.auc.value == pytest.approx(roc_auc_score(y, score))
    assert f"AUC {display.auc.value:.3f} ({display.auc.low:.3f}" in display.ax_.get_title()
    for label, points in enumerate(display.points_):
        one, two = (score[(y == label) & (group == k)].tolist() for k in (0, 1))
        assert list(points.get_ydata()) == pytest.approx([roc(one, two, a) for a in (1 / 8, 1 / 4)])


def test_training_rows_dashed_on_the_same_axes():
    test, train = (
        PaperRocDisplay.from_predictions(y, s, sensitive_features=g, rates=(0.25,))
        for y, s, g, _ in (draw(1), draw(2))
    )
    ax = figure()[1]
    test.plot(ax, name="test", title="Adult, $no$ constraint")
    train.plot(ax, name="train", linestyle="--")
    assert [line.get_linestyle() for line in (test.overall_, train.overall_)] == ["-", "--"]
    assert test.overall_.get_color() == train.overall_.get_color()
    for one, two in zip(test.lines_, train.lines_, strict=True):
        assert one.get_color() == two.get_color()
    told = [text.get_text() for text in train.legend_.get_texts()]
    assert told[0] == "all: positives against negatives"
    assert told[-2:] == ["test", "train"]
    assert len(told) == 5
    title = ax.get_title().split("\n")
    assert title[0] == r"Adult, \$no\$ constraint"
    assert [line.split(":")[0] for line in title[1:]] == ["test", "train"]
    assert sum(line.get_gid() == "rate" for line in ax.lines) == 1


def test_no_interval_is_said():
    display = PaperRocDisplay.from_predictions(
        [0, 0, 1, 1], [1, 2, 3, 4], sensitive_features=list("abab")
    ).plot()
    assert "no interval" in display.ax_.get_title()
    display = PaperRocDisplay.from_predictions(
        [0, 0, 0, 0], [1, 2, 3, 4], sensitive_features=list("abab")
    ).plot()
    assert "undefined" in display.ax_.get_title()
