"""Adverse impact ratios at every decile cut."""

import numpy as np
import pytest

import evenscore as es
from evenscore.auditing.blocks import ImpactRatios, ScoreBands
from evenscore.inference import cut_table


def uneven(n=200):
    """Scores 1 … 2n; women have the odd ones up to n and all above 1.5n: known rates."""
    score = np.arange(1, 2 * n + 1)
    group = np.where((score <= n) & (score % 2 == 1) | (score > 1.5 * n), "women", "men")
    return np.tile([0, 1], n), score, group


def test_by_hand():
    """400 scores, 200 women: all 100 above 300 and every second one up to 200.

    The cut at 10 % selects the 40 highest: 40 of 200 women, nobody of 200 men: ratio 0. That at
    50 % selects the 200 highest, 100 women and 100 men: rates of one half, ratio 1. That at 40 %
    selects 160: 100 women and 60 men: 0.3/0.5 = 0.6.
    """
    y, score, group = uneven()
    block = es.audit(y, score, sensitive_features=group, constraints="bnsp").block(ImpactRatios)
    found = block.ratios
    assert block.shares == tuple((k / 10,) for k in range(1, 10))
    np.testing.assert_allclose(found.selected_share, np.arange(1, 10) / 10)
    np.testing.assert_allclose(
        found.selection_rate.value[[0, 3, 4]], [[0, 0.2], [0.3, 0.5], [0.5, 0.5]]
    )
    np.testing.assert_allclose(found.extremes.value[[0, 3, 4]], [0.0, 0.6, 1.0])
    assert found.against[3] == "women"
    first, second = block.tables()
    assert first.rows[3][:5] == ("40%", "above 240", "40.0%", "men", "women")
    assert first.rows[3][5].startswith("0.60 (")
    assert ("", "", "women", "50.0% (43.1% to 56.9%)", "1 (the highest)") in second.rows
    assert "Four fifths" in first.note
    men = es.audit(y, score, sensitive_features=group, constraints="bnsp", reference_group="men")
    found = men.block(ImpactRatios).ratios
    assert set(found.against) == {"men"}
    assert np.isnan(found.ratio.value[0]).all()  # nobody of them is selected
    assert found.ratio.value[3, 1] == pytest.approx(0.5 / 0.3)


def test_rates_and_ratios_are_those_of_a_cut():
    """One definition: that of the cuts in use."""
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 900), rng.choice(list("abc"), 900, p=[0.5, 0.3, 0.2])
    score, weight = rng.normal(size=900) + 0.4 * (group == "b"), rng.gamma(2.0, size=900)
    for side in ("high", "low"):
        cuts = es.Cuts(between=(0.1, 0.4), selected=side)
        result = es.audit(y, score, sensitive_features=group, sample_weight=weight, cuts=cuts)
        found = result.block(ImpactRatios).ratios
        scores = es.GroupedScores.from_arrays(
            y, score, sensitive_features=group, sample_weight=weight
        )
        order = np.argsort(-score if side == "high" else score)
        share = np.cumsum(weight[order]) / weight.sum()
        for t, tenth in enumerate((0.1, 0.5, 0.9)):
            place = int(np.sum(share <= tenth + 1e-12))
            cut = score[order[place - 1 : place + 1]].mean()
            table = cut_table(scores, [cut], side=side)
            row = (0, 4, 8)[t]
            np.testing.assert_allclose(found.selection_rate.low[row], table.selection_rate.low[0])
            assert found.extremes.value[row] == pytest.approx(table.impact_ratio.value[0])
            assert found.extremes.low[row] == pytest.approx(table.impact_ratio.low[0])
            assert found.extremes.notes[row] == table.impact_ratio.notes[0]
        bands = result.block(ScoreBands)
        order = [bands.groups.index(name) for name in found.groups]
        np.testing.assert_allclose(
            bands.cumulative.low[:9][:, order], found.selection_rate.low, rtol=1e-9
        )


def test_tied_scores_say_which_cuts_there_are():
    rng = np.random.default_rng(1)
    score, group = rng.choice([1, 2, 3], 600, p=[0.2, 0.5, 0.3]), rng.choice(list("ab"), 600)
    block = es.audit(None, score, sensitive_features=group).block(ImpactRatios)
    assert block.cuts == ("above 2", "above 1")
    assert block.missing[:2] == (0.1, 0.2)
    assert "10%, 20%" in block.tables()[0].note
