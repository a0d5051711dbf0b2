import numpy as np
import pytest

import evenscore as es
from evenscore.showing.plots import HistoryDisplay, figure


@pytest.fixture(scope="module")
def scorer():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(600, 3)), np.tile(["a", "b"], 300)
    X[:, 0] += group == "b"
    y = (X[:, 0] + rng.normal(size=600) > 0.5).astype(int)
    scorer = es.LinearScorer(constraints="inter_group", tolerance=0.1)
    return scorer.fit(X, y, sensitive_features=group)


def test_lines_are_the_history(scorer):
    display = HistoryDisplay.from_scorer(scorer).plot()
    history = scorer.history_
    steps = history.entries("learning", "restart")
    assert 0 < len(steps) < len(history)
    [auc] = display.lines_["auc"]
    assert list(auc.get_ydata()) == [history.auc[k] for k in steps]
    assert list(auc.get_xdata()) == list(range(1, len(steps) + 1))
    for part in ("gaps", "multipliers"):
        drawn = np.array([line.get_ydata() for line in display.lines_[part]]).T
        assert drawn == pytest.approx(np.array(getattr(history, part))[steps])
    assert [ax.get_ylabel() for ax in display.axes_] == ["AUC", "gap", "multiplier"]
    assert display.ax_ is display.axes_[0]
    told = [text.get_text() for text in display.legend_.get_texts()]
    assert told == list(scorer.gap_names_)
    assert "±0.1" in display.axes_[1].get_title(loc="right")
    display.figure_.canvas.draw()


def test_axes_of_the_caller(scorer):
    display = HistoryDisplay.from_scorer(scorer)
    made, axes = figure(1, 3, theme="dark")
    assert display.plot(axes).axes_ == list(axes)
    assert display.figure_ is made
    assert display.plot(axes[0], parts=["gaps"]).axes_ == [axes[0]]
    with pytest.raises(ValueError, match=r"3 parts \(auc, gaps, multipliers\) need as many axes"):
        display.plot(axes[0])
    with pytest.raises(ValueError, match="parts must be some of auc, gaps, multipliers, not 'x'"):
        display.plot(parts=["x"])


def test_many_gaps_are_named_only_in_part():
    gaps = np.linspace(0.0, 0.3, 24).reshape(2, 12)
    names = tuple(f"gap {k} $x$" for k in range(12))
    display = HistoryDisplay([0.8, 0.7], gaps, gaps, names).plot()
    told = [text.get_text() for text in display.legend_.get_texts()]
    assert told[-1] == "4 other gaps, which ended smaller"
    assert [text.split()[1] for text in told[:-1]] == [str(k) for k in range(4, 12)]
    assert len(display.lines_["gaps"]) == 12


def test_without_constraints_the_auc_alone():
    display = HistoryDisplay([0.8], np.zeros((1, 0)), np.zeros((1, 0)), ()).plot()
    assert list(display.lines_) == ["auc"]
    assert display.lines_["auc"][0].get_marker() == "o"
    assert display.legend_ is None


def test_bad_input():
    with pytest.raises(TypeError, match="LinearScorer has no history: fit a scorer first"):
        HistoryDisplay.from_scorer(es.LinearScorer())
    with pytest.raises(ValueError, match="The history is empty"):
        HistoryDisplay([], [], [], ())
    with pytest.raises(ValueError, match="gaps has 2 columns, but there are 1 names"):
        HistoryDisplay([0.5], [[0.1, 0.2]], [[0.1, 0.2]], ("one",))
