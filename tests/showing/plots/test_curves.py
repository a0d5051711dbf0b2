import numpy as np
import pytest
from support import reference

from evenscore import metrics
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import Distribution
from evenscore.showing.plots.curves import polygon_corners, step_corners


@pytest.mark.parametrize("levels", [3, 1000])
def test_step_corners_are_the_definition(levels):
    rng = np.random.default_rng(levels)
    one, two = rng.integers(0, levels, 17).tolist(), rng.integers(0, levels, 23).tolist()
    x, y = step_corners(metrics.roc_curve(one, two))
    assert (x[0], y[0], x[-1], y[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert np.all(np.diff(x) >= 0.0)
    # In the middle of every flat piece the height is the curve's.
    flat = np.flatnonzero(np.diff(x) > 1e-9)
    for k in flat:
        assert y[k] == y[k + 1]
        middle = (x[k] + x[k + 1]) / 2.0
        assert y[k] == pytest.approx(reference.roc(one, two, middle))


def test_polygon_has_the_auc_as_its_area():
    rng = np.random.default_rng(1)
    for size, levels in ((30, 4), (30, 10**6), (6000, 10**6)):
        one, two = rng.integers(0, levels, size), rng.integers(0, levels, size) + levels // 5
        curve = metrics.roc_curve(one, two)
        x, y = polygon_corners(curve)
        assert len(x) <= 2100
        assert np.trapezoid(y, x) == pytest.approx(curve.area, abs=1e-12 if size == 30 else 1e-3)


def test_large_curves_are_thinned_to_exact_points():
    rng = np.random.default_rng(2)
    curve = metrics.roc_curve(rng.normal(size=5000), rng.normal(size=4000) + 0.5)
    x, y = step_corners(curve)
    assert len(x) <= 2001
    assert y[1:] == pytest.approx(curve.evaluate(x[1:]))
    assert (x[0], y[0], x[-1], y[-1]) == (0.0, 0.0, 1.0, 1.0)


def test_nothing_to_draw():
    curve = RocCurve(Distribution.from_sample([]), Distribution.from_sample([1.0]))
    for corners in (step_corners, polygon_corners):
        assert [len(part) for part in corners(curve)] == [0, 0]
