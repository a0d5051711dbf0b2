"""Where the curves of two groups cross: Propositions 2 and 3 of the paper, in an audit."""

import numpy as np
import pytest
from support.making import often

import evenscore as es
from evenscore.auditing.blocks import Crossings
from evenscore.auditing.blocks.crossings import _CURVES
from evenscore.paper.laws import credit_law

GROUPS = np.array(["one", "two"])


def credit(n, seed=0):
    """Equal AUCs; false negative rates are equal at 0.72, where a quarter of the negatives is."""
    score, y, group = credit_law().sample(n, np.random.default_rng(seed))
    return y, score, GROUPS[group]


def crossings(y, score, group, **options):
    block = es.audit(y, score, sensitive_features=group, **options).block(Crossings)
    return {crossing.notion: crossing for crossing in block.crossings}, block


def test_the_credit_example():
    y, score, group = credit(20_000)
    found, block = crossings(y, score, group)
    assert set(found) == {"bnsp", "intra_group"}  # the negatives of the groups are alike
    bnsp = found["bnsp"]
    assert bnsp.low < 0.25 < bnsp.high
    assert bnsp.least[0] < 0.72 < bnsp.most[0]
    assert bnsp.rate == pytest.approx(0.25, abs=0.02)
    assert bnsp.thresholds == pytest.approx((0.72, 0.72), abs=0.01)
    assert all(crossing.even for crossing in found.values())
    # At the threshold of the sample's crossing the two shares are equal but for one person.
    shares = [np.mean(score[(y == 1) & (group == g)] > bnsp.thresholds[0]) for g in GROUPS]
    fewest = min(np.sum((y == 1) & (group == g)) for g in GROUPS)
    assert shares[0] == pytest.approx(shares[1], abs=2 / fewest)
    # A stricter cut: 30 % of the one group's positives are refused and 60 % of the other's.
    assert bnsp.ahead == "one"
    assert bnsp.words.startswith("at stricter cuts positives in group one are selected more often")
    own = found["intra_group"]
    for k, name in enumerate(GROUPS):
        cut = own.thresholds[k]
        assert np.mean(score[(y == 0) & (group == name)] > cut) == pytest.approx(own.rate, abs=1e-3)
    tprs = [
        np.mean(score[(y == 1) & (group == name)] > own.thresholds[k])
        for k, name in enumerate(GROUPS)
    ]
    assert tprs[0] == pytest.approx(tprs[1], abs=3e-3)
    [table] = block.tables()
    assert len(table.rows) == 2
    assert table.rows[0][0] == "one, two"
    assert "one: " in table.rows[1][3]
    assert "1 other pair of curves has no crossing" in table.note


def test_false_positives():
    """The same with the classes exchanged and the score turned round: rates of the negatives."""
    y, score, group = credit(20_000)
    found, _ = crossings(1 - y, -score, group)
    assert "bnsp" not in found
    assert found["bpsn"].thresholds == pytest.approx((-0.72, -0.72), abs=0.01)
    assert found["bpsn"].rate == pytest.approx(0.2, abs=0.02)
    # Below 0.6 lie 13.8 % of the one group and 2 % of the other.
    assert found["bpsn"].ahead == "one"


def test_names_order_maps_and_rows_do_not_matter():
    y, score, group = credit(6_000)
    known, _ = crossings(y, score, group)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    other, _ = crossings(y[order], np.exp(score[order]), group[order])
    swapped, _ = crossings(y, score, group, group_order=["two", "one"])
    for notion, one in known.items():
        assert other[notion].rate == pytest.approx(one.rate)
        assert other[notion].thresholds == pytest.approx(np.exp(one.thresholds))
        assert (other[notion].low, other[notion].high) == pytest.approx((one.low, one.high))
        assert swapped[notion].ahead == one.ahead == other[notion].ahead
        assert swapped[notion].rate == pytest.approx(one.rate)
        assert swapped[notion].thresholds == pytest.approx(one.thresholds[::-1])


def test_duplication_is_a_weight():
    y, score, group = credit(3_000)
    twice, _ = crossings(*(np.tile(column, 2) for column in (y, score, group)))
    weighted, _ = crossings(y, score, group, sample_weight=np.full(len(y), 2.0))
    assert set(weighted) <= set(twice)
    for notion, one in weighted.items():
        assert twice[notion].rate == pytest.approx(one.rate, abs=0.02)


def test_low_scores_are_selected():
    y, score, group = credit(6_000)
    high, _ = crossings(y, score, group)
    cuts = es.Cuts(between=(0.1, 0.4), selected="low")
    low, _ = crossings(y, -score, group, cuts=cuts)
    assert set(low) == set(high)
    for notion, one in high.items():
        assert low[notion].rate == pytest.approx(one.rate)
        assert low[notion].ahead == one.ahead
        np.testing.assert_allclose(low[notion].thresholds, np.negative(one.thresholds))
        np.testing.assert_allclose(low[notion].least, np.negative(one.most))


def test_groups_that_are_alike_seldom_cross():
    """At 95 % confidence for each pair of curves."""
    rng = np.random.default_rng(0)
    told, n = 0, often(40)
    for _ in range(n):
        y, group = rng.integers(0, 2, (2, 500))
        scores = es.GroupedScores.from_arrays(y, rng.normal(size=500) + y, sensitive_features=group)
        for curves in _CURVES:
            told += bool(curves.crossings(scores, scores, (0, 1), 0.95, es.Words(), low=False))
    assert told <= 0.05 * 3 * n


@pytest.mark.parametrize("score", [np.zeros, np.ones])
def test_a_constant_score_has_no_crossing(score):
    y, _, group = credit(400)
    found, block = crossings(y, score(400), group)
    assert not found
    assert block.untold == 3
    assert block.tables() == ()


def test_ties_many_groups_and_no_outcomes():
    y, score, _ = credit(3_000)
    group = np.arange(3_000) % 5
    _, block = crossings(y, np.round(score, 1), group)
    assert "between 6 of 10 pairs of groups" in block.omitted[0]
    without = es.audit(None, score, sensitive_features=group)
    assert Crossings.name not in without.blocks
    again = es.AuditResult.from_dict(es.audit(y, score, sensitive_features=group).to_dict())
    assert isinstance(again.block(Crossings), Crossings)


def test_a_third_group_changes_no_rate_of_the_other_two():
    """The curves of bpsn are against each group's own negatives, those of bnsp against all."""
    y, score, group = credit(12_000)
    rng = np.random.default_rng(1)
    more = rng.integers(0, 2, 6_000), -rng.beta(1, 8, 6_000), np.repeat("three", 6_000)
    columns = [np.concatenate(pair) for pair in zip((1 - y, -score, group), more, strict=True)]
    y, score, group = columns
    block = es.audit(y, score, sensitive_features=group).block(Crossings)
    [bpsn] = [c for c in block.crossings if (c.notion, c.first, c.second) == ("bpsn", "one", "two")]
    for name in GROUPS:
        fpr = np.mean(score[(y == 0) & (group == name)] > bpsn.thresholds[0])
        assert fpr == pytest.approx(bpsn.rate, abs=2e-3)
    assert bpsn.low < 0.2 < bpsn.high


def test_a_coarse_score_may_have_no_cut_that_is_even():
    y, score, group = credit(12_000)
    found, block = crossings(y, np.round((score - 0.72) * 20), group)
    bnsp = found["bnsp"]
    shares = [np.mean(np.round((score - 0.72) * 20)[(y == 1) & (group == g)] > bnsp.thresholds[0])
              for g in GROUPS]  # fmt: skip
    assert abs(shares[0] - shares[1]) > 0.01
    assert not bnsp.even
    assert block.tables()[0].rows[0][3].endswith("; no cut makes them equal")
