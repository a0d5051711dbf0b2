import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.metrics import roc_curve
from support.making import draw
from support.reference import Rows

from evenscore import metrics
from evenscore.showing.plots import GroupRocDisplay
from evenscore.showing.plots.group_roc import polygon_corners


@pytest.mark.parametrize(("n_groups", "levels"), [(1, None), (2, 4), (3, None)])
def test_curves_are_those_of_scikit_learn(n_groups, levels):
    y, score, group, weight = draw(3, n_groups=n_groups, levels=levels, weights="integer")
    display = GroupRocDisplay.from_predictions(
        y, score, sensitive_features=group, sample_weight=weight
    ).plot()
    assert len(display.lines_) == n_groups + 1
    for k, line in enumerate(display.lines_):
        rows = group == k if k < n_groups else np.full(len(y), True)
        fpr, tpr, _ = roc_curve(
            y[rows], score[rows], sample_weight=weight[rows], drop_intermediate=False
        )
        x, height = line.get_data()
        assert np.column_stack([x, height]) == pytest.approx(np.column_stack([fpr, tpr]))
    naive = Rows(y, score.tolist(), group, weight)
    assert display.curves[0].auc.value == pytest.approx(naive.auc((0, 0), (1, 0)))
    assert f"AUC {display.curves[0].auc.value:.3f} (" in display.lines_[0].get_label()
    assert to_rgb(display.lines_[-1].get_color()) == pytest.approx(to_rgb("#1a1a1a"))
    assert display.ax_.get_aspect() == 1.0


def test_without_the_pooled_curve_and_with_bands():
    y, score, group, _ = draw(1)
    display = GroupRocDisplay.from_predictions(
        y, score, sensitive_features=group, pooled=False, band="pointwise", confidence_level=0.9
    ).plot()
    assert len(display.lines_) == 2
    band = display.curves[1].band
    outline = display.bands_[1].get_paths()[0].vertices
    for rate, low, high in zip(band.rates, band.low, band.high, strict=True):
        at = outline[np.isclose(outline[:, 0], rate), 1]
        assert (at.min(), at.max()) == pytest.approx((low, high))
    assert "90% interval" in display.legend_.get_title().get_text()


def test_a_group_called_everyone_is_a_group():
    y, score, group, _ = draw(1)
    display = GroupRocDisplay.from_predictions(
        y, score, sensitive_features=np.where(group == 0, "everyone", "b"), pooled=False
    ).plot()
    assert to_rgb(display.lines_[1].get_color()) == to_rgb("#D55E00")
    assert [curve.name for curve in display.curves] == ["b", "everyone"]


def test_polygon_has_the_auc_as_its_area():
    rng = np.random.default_rng(1)
    for size, levels in ((30, 4), (30, 10**6), (6000, 10**6)):
        one, two = rng.integers(0, levels, size), rng.integers(0, levels, size) + levels // 5
        curve = metrics.roc_curve(one, two)
        x, y = polygon_corners(curve)
        assert len(x) <= 2100
        assert np.trapezoid(y, x) == pytest.approx(curve.area, abs=1e-12 if size == 30 else 1e-3)
