"""What a review of the statistics found: odd people, and sentences that were not true."""

import numpy as np
import pytest
from test_extending import Exposure

import evenscore as es


def people(n, groups=("a", "b"), shift=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y, code = rng.integers(0, 2, n), rng.integers(0, len(groups), n)
    return y, rng.normal(size=n) + y + shift * code, np.array(groups, dtype=object)[code], rng


@pytest.mark.slow
@pytest.mark.parametrize("which", ["one", "group", "two"])
def test_of_one_cluster_nothing_is_known(which):
    y, score, groups, rng = people(300)
    cluster = {"one": np.zeros(300), "group": groups, "two": np.arange(300) % 2}[which]
    columns = dict(sensitive_features=groups, cluster=cluster)
    one, two = (
        es.audit(y, s, **columns, constraints=["bnsp", Exposure(), es.RocConstraint(rates=(0.25,))])
        for s in (score, score + 0.5 * rng.normal(size=300))
    )
    if which != "two":
        assert {gap.verdict for gap in one.gaps if gap.family != "roc"} == {"undefined"}
        assert "two clusters" in one.gaps[1].warnings[0]
    assert "beyond" not in {gap.verdict for gap in one.gaps if gap.family == "exposure"}
    found = one.compare(two, n_resamples=20)
    assert {row.change for row in found.differences} == {"not told apart"}


def test_groups_without_people_do_no_harm_to_clusters():
    y, score, groups, _ = people(900, ("a", "b", "c"))
    columns = dict(sensitive_features=groups, cluster=np.arange(900) // 3, constraints="bnsp")
    columns["group_order"] = ["a", "b", "c", "zz"]
    assert len(es.audit(y, score, **columns).gaps) == 3
    with pytest.raises(ValueError, match="zz has nobody"):
        es.audit(y, score, **columns, reference_group="zz")


def test_two_groups_wholly_above_a_third_are_not_known_to_be_alike():
    rng = np.random.default_rng(0)
    y, groups = np.tile([0, 1], 120), np.repeat(list("abc"), 80)
    result = es.audit(
        y,
        rng.normal(size=240) + 100.0 * (groups != "a"),
        sensitive_features=groups,
        constraints="reference_group",
        tolerance=0.005,
    )
    gap = result.gaps[2]
    assert (gap.first, gap.second, gap.value) == ("b", "c", 0.0)
    assert gap.low < -0.005
    assert gap.high > 0.005
    assert gap.verdict == "unclear"
    assert "its uncertainty is a guess" in gap.warnings[-1]


def test_a_higher_level_never_narrows_an_interval():
    y, groups = [0, 0, 1, 1, 1, 1] * 2, list("aaaaaabbbbbb")
    score = [-10.3, -12.2, -0.2, 0.9, 0.2, -0.2, -11.3, -9.9, 11.2, 9.6, 9.7, 9.4]
    ends = []
    for level in (0.8, 0.95, 0.99, 0.999, 0.9999):
        [gap] = es.metrics.gap_estimates(
            y,
            score,
            sensitive_features=groups,
            constraints="reference_group",
            confidence_level=level,
        )
        ends.append((-gap.low, gap.high))
    assert np.all(np.diff(ends, axis=0) > -1e-9)


def test_a_small_group_of_clusters_is_small():
    y, score, groups, rng = people(1500, ("a", "b", "c"))
    cluster = np.where(groups == "b", 0, rng.integers(1, 300, 1500))
    result = es.audit(y, score, sensitive_features=groups, cluster=cluster)
    assert result.compared_groups == ("a", "c")
    with pytest.raises(ValueError, match=r"at least 0\.5"):
        es.audit(y, score, sensitive_features=groups, confidence_level=0.3)
