"""Score bands: numbers add up, and everybody is in one band."""

import numpy as np
import pytest
from scipy.stats import binomtest

import evenscore as es
from evenscore.auditing.blocks import ScoreBands


def bands_of(y, score, group, **options):
    return es.audit(y, score, sensitive_features=group, **options).block(ScoreBands)


def test_by_hand():
    """Scores 1, 2, 3 of 20, 40 and 40 people of a, 40, 40 and 20 of b."""
    score = np.repeat([1, 2, 3, 1, 2, 3], [20, 40, 40, 40, 40, 20])
    group = np.repeat(["a", "b"], 100)
    y = (np.arange(200) % 4 < score).astype(int)  # one, two, three in four of those with a score
    block = bands_of(y, score, group)
    assert block.bands == ("above 2", "above 1 up to 2", "up to 1", "all scores")
    assert block.people.tolist() == [[60, 40, 20], [80, 40, 40], [60, 20, 40], [200, 100, 100]]
    np.testing.assert_allclose(
        block.cumulative.value, [[0.3, 0.4, 0.2], [0.7, 0.8, 0.6], [1, 1, 1], [1, 1, 1]]
    )
    share = [[3 / 4] * 3, [2 / 4] * 3, [1 / 4] * 3, [0.5, 0.55, 0.45]]
    np.testing.assert_allclose(block.positives.value, share)
    limits = binomtest(30, 40).proportion_ci(method="wilson")
    assert block.positives.low[0, 1] == pytest.approx(limits.low, abs=1e-9)
    [table] = block.tables()
    assert table.rows[0][:3] == ("above 2", "everyone", "60")
    assert table.rows[-3][:3] == ("all scores", "everyone", "200")


@pytest.mark.parametrize(("side", "levels"), [("low", 12), ("high", None)])
def test_numbers_add_up(side, levels):
    rng = np.random.default_rng(1)
    n = 700
    y, group = rng.integers(0, 2, n), rng.choice(list("abc"), n, p=[0.6, 0.35, 0.05])
    score = rng.normal(size=n) if levels is None else rng.integers(0, levels, n)
    weight = rng.gamma(2.0, size=n)
    cuts = es.Cuts(between=(0.1, 0.4), selected=side)
    block = bands_of(y, score, group, sample_weight=weight, cuts=cuts, constraints="bnsp")
    np.testing.assert_allclose(block.people[:-1].sum(axis=0), block.people[-1])
    np.testing.assert_allclose(block.people[:, 1:].sum(axis=1), block.people[:, 0])
    assert block.people[-1].tolist() == [n, *(np.sum(group == g) for g in block.groups[1:])]
    for g, name in enumerate(block.groups):
        own = group == name if g else group == group
        total = weight[own].sum()
        chosen = np.zeros(n, dtype=bool)
        # A band holds the scores between two edges, whichever side comes first.
        for b, edge in enumerate(block.edges):
            inside = own & ((score > edge) if side == "high" else (score <= edge)) & ~chosen
            chosen |= inside
            assert block.people[b, g] == inside.sum()
            share = weight[inside & (y == 1)].sum() / max(weight[inside].sum(), 1e-300)
            if inside.any():
                assert block.positives.value[b, g] == pytest.approx(share)
            assert block.cumulative.value[b, g] == pytest.approx(weight[chosen].sum() / total)
        everyone = weight[own & (y == 1)].sum() / total
        assert block.positives.value[-1, g] == pytest.approx(everyone)
