"""Groups among the k highest scores: by hand, naively, invariances and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from support.binning import BinnedRows, binned_rows
from support.making import often, table_of

from evenscore.inference.top_k import top_k, usual_k
from evenscore.scores.bins import Bins
from evenscore.scores.selection import Ladder


def top(score, group, k=None, side="high", **more):
    scores = table_of([0] * len(score), score, group, pos_label=1, **more)
    return top_k(Ladder.make(scores, "everyone", side), k)


def test_by_hand():
    """Scores 5 5 4 3 3 3 3 1: the top 4 are 5, 5, 4 and a quarter of each of the four at 3."""
    score, group = [5, 5, 4, 3, 3, 3, 3, 1], list("abaabbba")
    found = top(score, group, [1, 3, 4, 8])
    # Of a: 0.5 of the top one; 2 of three; 2 and one in four of one more; 4 of all.
    np.testing.assert_allclose(found.number[:, 0], [0.5, 2.0, 2.25, 4.0])
    np.testing.assert_allclose(found.number.sum(axis=1), [1, 3, 4, 8])
    np.testing.assert_allclose(found.group_share, [0.5, 0.5])
    np.testing.assert_allclose(found.tied, [1.0, 0.0, 0.25, 0.0])
    lowest = top(score, group, [1, 3], side="low")
    np.testing.assert_allclose(lowest.number[:, 0], [1.0, 1.5])


def test_intervals_are_wilsons_of_k_people():
    rng = np.random.default_rng(0)
    score, group = rng.normal(size=400), rng.choice(list("abc"), 400)
    found = top(score, group)
    assert found.k.tolist() == usual_k(400) == [10, 20, 50, 100, 200]
    assert usual_k(20) == [10, 20]
    order = np.argsort(-score)
    for t, k in enumerate(usual_k(400)):
        for g, name in enumerate("abc"):
            number = int(np.sum(group[order[:k]] == name))
            assert found.number[t, g] == pytest.approx(number)
            limits = binomtest(number, k).proportion_ci(0.95, method="wilson")
            assert found.share.low[t, g] == pytest.approx(limits.low, abs=1e-9)
            assert found.share.high[t, g] == pytest.approx(limits.high, abs=1e-9)


def test_weights():
    """k is counted in people: k of n of all weight, whatever the unit of weights."""
    rng = np.random.default_rng(1)
    score, group, weight = rng.normal(size=90), rng.choice(list("ab"), 90), rng.gamma(2.0, size=90)
    found, scaled = (top(score, group, [30], weight=c * weight) for c in (1.0, 1e-6))
    np.testing.assert_allclose(found.number, scaled.number)
    np.testing.assert_allclose(found.share.low, scaled.share.low)
    order = np.argsort(-score)
    before = np.cumsum(weight[order]) - weight[order]
    part = np.clip((weight.sum() / 3.0 - before) / weight[order], 0.0, 1.0)
    own = part * weight[order] * (group[order] == "a")
    assert found.share.value[0, 0] == pytest.approx(own.sum() / (weight.sum() / 3.0))
    whole = rng.integers(1, 4, 90)
    one = top(score, group, [30], weight=whole.astype(float))
    many = top(np.repeat(score, whole), np.repeat(group, whole), [whole.sum() // 3])
    if whole.sum() % 3 == 0:
        np.testing.assert_allclose(one.share.value, many.share.value)


def test_names_rows_and_increasing_maps_do_not_matter():
    rng = np.random.default_rng(2)
    score, group = rng.integers(0, 9, 200).astype(float), rng.integers(0, 2, 200)
    base = top(score, group)
    np.testing.assert_allclose(top(np.exp(score), group).share.low, base.share.low)
    np.testing.assert_allclose(top(score[::-1], group[::-1]).number, base.number)
    np.testing.assert_allclose(top(score, 1 - group).number[:, ::-1], base.number)
    np.testing.assert_allclose(top(-score, group, side="low").number, base.number)
    cluster = np.arange(200)  # of one row each: nothing changes
    alone = top(score, group, cluster=cluster)
    np.testing.assert_allclose(alone.share.low, base.share.low)


def test_rows_of_one_person_are_worth_one():
    rng = np.random.default_rng(3)
    score, group = np.repeat(rng.normal(size=60), 5), np.repeat(rng.choice(list("ab"), 60), 5)
    found = top(score, group, [100], cluster=np.repeat(np.arange(60), 5))
    width = found.share.high[0, 0] - found.share.low[0, 0]
    alone = top(score[::5], group[::5], [20])
    assert found.share.value[0, 0] == pytest.approx(alone.share.value[0, 0])
    assert width >= alone.share.high[0, 0] - alone.share.low[0, 0] - 1e-9


@pytest.mark.slow
def test_coverage():
    """The share of a group among the best tenth of everyone, the boundary as it is."""
    rng, runs, held = np.random.default_rng(4), often(300), 0
    big = rng.integers(0, 2, 100_000)
    law = rng.normal(size=100_000) + 0.5 * big
    law = np.round(law * 2.0)
    truth = top(law, big, [10_000]).share.value[0, 1]
    for _ in range(runs):
        pick = rng.integers(0, len(law), 500)
        found = top(law[pick], big[pick], [50])
        held += bool(found.share.low[0, 1] <= truth <= found.share.high[0, 1])
    assert 0.92 < held / runs < 0.999


@given(binned_rows(), st.integers(1, 20), st.sampled_from(["high", "low"]))
def test_those_in_an_open_bin_at_the_boundary_may_all_be_of_one_group(rows, k, side):
    k = min(k, len(rows.score))
    exact, binned = (
        top_k(Ladder.make(table, "everyone", side), [k]).share
        for table in (rows.exact, rows.binned)
    )
    assert np.all(exact.value >= binned.low - 1e-9)
    assert np.all(exact.value <= binned.high + 1e-9)


def test_an_open_bin_at_the_boundary_by_hand():
    """Of 100 + 20 people in the bin 60 are chosen: 40 to 60 and 0 to 20, in the mean 50 and 10."""
    score = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.9, 1.0] * 20)
    group = np.array([0, 0, 0, 0, 0, 1, 1, 0] * 20)
    rows = BinnedRows(score > 2.0, score, group, None, Bins.between(0.0, 1.0, (1,), (), ()))
    found = top_k(Ladder.make(rows.binned, "everyone", "high"), [100]).share
    for g, number in ((0, 70), (1, 30)):
        chance = binomtest(number, 100).proportion_ci(0.95, method="wilson")
        expected = number / 100, chance.low - 0.1, chance.high + 0.1
        assert found.ends(0, g) == pytest.approx(expected, abs=1e-9)
