import numpy as np
import pytest

import evenscore as es
from evenscore.showing.plots import TradeoffDisplay


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(300, 3)), np.tile(["a", "b"], 150)
    X[:, 0] += 1.5 * (group == "b")
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0.8).astype(int)
    return es.tradeoff_path(
        es.LinearScorer(constraints="inter_group"),
        X,
        y,
        sensitive_features=group,
        tolerances=(0.3, 0.1),
    )


@pytest.mark.slow
def test_points_bars_front_and_choice(path):
    display = TradeoffDisplay.from_path(path, tolerance=0.1).plot()
    points = path.points
    drawn = np.concatenate([line.get_xydata() for line in display.points_])
    expected = np.array([(point.worst_gap, point.auc.value) for point in points])
    assert np.array(sorted(map(tuple, drawn))) == pytest.approx(
        np.array(sorted(map(tuple, expected)))
    )
    across, up = (bars.get_segments() for bars in display.bars_.lines[2])
    for k, point in enumerate(points):
        assert tuple(across[k][:, 0]) == pytest.approx(point.worst_interval)
        assert tuple(up[k][:, 1]) == pytest.approx((point.auc.low, point.auc.high))
    front = {tuple(place) for place in display.front_.get_xydata().tolist()}
    assert front == {tuple(expected[k]) for k in path.pareto}
    chosen = path.chosen(0.1)
    assert display.chosen == points.index(chosen)
    assert display.chosen_.get_xydata() == pytest.approx(expected[[display.chosen]])
    assert path.select(tolerance=0.1).tolerance == chosen.value
    assert display.tolerance_.get_width() == pytest.approx(0.1)
    assert sorted(text.get_text() for text in display.texts_) == ["0.1", "0.3", "no constraints"]
    assert display.ax_.get_title() == "LinearScorer, by tolerance"
    display.figure_.canvas.draw()


def test_the_path_draws_with_it(path):
    ax = path.plot()
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "Pareto front" in told
    assert "chosen" not in told
    assert path.plot(ax) is ax


def test_nothing_meets_the_tolerance(path):
    with pytest.raises(ValueError, match="tolerance of 0"):
        TradeoffDisplay.from_path(path, tolerance=0.0)


def test_bad_shapes():
    with pytest.raises(ValueError, match=r"1 points.*\(2,\)"):
        TradeoffDisplay(("a",), [0.1, 0.2], [(0.1, 0.0, 0.2)], (True,), (0,))
