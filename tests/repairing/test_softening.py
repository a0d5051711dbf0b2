import numpy as np
import pytest

from evenscore import GroupedScores, RocConstraint, repair
from evenscore.repairing.softening import softened

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))


def sample(n, seed, wrong=0.0):
    """A calibrated score (log-odds) of two groups; `wrong` stretches that of the second group."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 0.3).astype(int)
    truth = rng.normal(size=n) * 1.5 + 0.8 * group - 0.5
    y = (rng.random(n) < 1 / (1 + np.exp(-truth))).astype(int)
    return y, truth * (1 + wrong * group), group


def table(y, score, group):
    return GroupedScores.from_arrays(y, score, sensitive_features=group)


def test_cells_keep_their_weights_and_large_ones_their_labels():
    scores = table(*sample(600, 0))
    soft = softened(scores, 400.0)
    np.testing.assert_allclose(soft.cell_weights, scores.cell_weights)
    assert len(soft) == 1200
    assert softened(scores, 0.01) is scores


def test_gaps_are_reported_by_the_labels():
    y, score, group = sample(600, 3)
    with pytest.warns(UserWarning, match="softened"):
        fair = repair(y, score, sensitive_features=group, constraints=ROC, soften=400.0)
    after = fair.transform(score, sensitive_features=group)
    expected = ROC.values(table(y, after, group))
    assert [gap.value for gap in fair.gaps["after"]] == pytest.approx(expected)
    assert np.abs(expected).max() > 1 / 50


def test_cells_too_small_by_their_labels_are_refused():
    y, score, group = sample(200, 3)
    with pytest.raises(ValueError, match=r"beyond the cut at rate 0\.125"):
        repair(y, score, sensitive_features=group, constraints=ROC, soften=1e6)


def test_bad_soften():
    y, score, group = sample(600, 3)
    with pytest.raises(ValueError, match=r"soften .*-1"):
        repair(y, score, sensitive_features=group, soften=-1)
