import numpy as np
import pytest
from support.making import draw
from support.reference import Rows

from evenscore.showing.plots import AucMatrixDisplay


@pytest.mark.parametrize("n_groups", [2, 3])
def test_numbers_are_the_aucs(n_groups):
    y, score, group, weight = draw(4, n_groups=n_groups, weights="integer")
    display = AucMatrixDisplay.from_predictions(
        y, score, sensitive_features=group, sample_weight=weight
    ).plot()
    naive = Rows(y, score.tolist(), group, weight)
    cells = [(label, k) for label in (0, 1) for k in range(n_groups)]
    drawn = np.asarray(display.mesh_.get_array()).reshape(len(cells), len(cells))
    for i, one in enumerate(cells):
        for j, two in enumerate(cells):
            expected = 0.5 if i == j else naive.auc(one, two)
            assert drawn[i, j] == pytest.approx(expected)
            assert display.texts_[i][j].get_text() == f"{display.values[i, j]:.2f}"
            assert display.low[i, j] <= display.values[i, j] <= display.high[i, j]
    ax = display.ax_
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "negatives of 0"
    assert names[-1] == f"positives of {n_groups - 1}"
    assert [label.get_text() for label in ax.get_xticklabels()] == names
    low, high = display.low[0, 1], display.high[0, 1]
    assert f"{low:.2f}–{high:.2f}" in [text.get_text() for text in ax.texts]


def test_many_groups_lose_numbers_and_names_but_no_cell():
    rng = np.random.default_rng(0)
    y, group = np.tile([0, 1], 300), np.repeat(np.arange(40), 15)
    display = AucMatrixDisplay.from_predictions(y, rng.normal(size=600), sensitive_features=group)
    display.plot(colorbar=False)
    assert display.values.shape == (80, 80)
    assert display.texts_ == []
    assert display.colorbar_ is None
    assert list(display.ax_.get_xticklabels()) == []
    display.figure_.canvas.draw()


def test_intervals_may_be_left_out():
    y, score, group, _ = draw(4)
    display = AucMatrixDisplay.from_predictions(y, score, sensitive_features=group)
    assert len(display.plot(intervals=False).ax_.texts) == 16
    assert len(display.plot(intervals=True).ax_.texts) == 28
