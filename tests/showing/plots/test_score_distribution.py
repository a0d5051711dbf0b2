from itertools import pairwise

import numpy as np
import pytest
from support.making import draw

from evenscore.showing.plots import ScoreDistributionDisplay


@pytest.mark.parametrize(("n_groups", "levels"), [(2, None), (3, 10)])
def test_heights_are_densities_of_the_cells(levels, n_groups):
    y, score, group, weight = draw(4, n=500, n_groups=n_groups, levels=levels, weights="real")
    display = ScoreDistributionDisplay.from_predictions(
        y, score, sensitive_features=group, sample_weight=weight, n_bins=12
    ).plot()
    for label, sign in ((0, -1.0), (1, 1.0)):
        for k in range(n_groups):
            rows = (y == label) & (group == k)
            heights, edges, _ = display.steps_[label][k].get_data()
            for b, (low, high) in enumerate(pairwise(edges)):
                inside = (score > low) & (score <= high)
                if b == 0:
                    inside |= score == low
                share = weight[rows & inside].sum() / weight[rows].sum()
                assert heights[b] == pytest.approx(sign * share / (high - low))
            assert np.abs(heights) @ np.diff(edges) == pytest.approx(1.0)
    told = [text.get_text() for text in display.legend_.get_texts()]
    positives = int(np.sum((y == 1) & (group == 0)))
    assert told[0].startswith(f"0: {positives} positives, ")


def test_every_score_of_few_has_its_bin():
    display = ScoreDistributionDisplay.from_predictions(
        [0, 1] * 10, [1, 2, 3, 4, 5] * 4, sensitive_features=list("ab") * 10
    )
    assert display.edges.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]


def test_down_is_written_without_a_sign():
    display = ScoreDistributionDisplay.from_predictions(
        [0, 1] * 10, range(20), sensitive_features=list("aabb") * 5
    ).plot()
    display.figure_.canvas.draw()
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len(labels) > 2
    assert not any("−" in label or "-" in label for label in labels)
    with pytest.raises(ValueError, match=r"n_bins.*3"):
        ScoreDistributionDisplay.from_predictions(
            [0, 1], [1, 2], sensitive_features=["a", "b"], n_bins=1
        )
