"""Repairs of a score given as columns: exact on the sample, increasing, as cheap as can be."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from support.making import draw, often
from support.reference import Rows, roc

from evenscore import GroupedScores, RocConstraint, repair
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))
AUC_NAMES = ["inter_group", "bnsp", "zero_aeg_negatives"]


def made(y, score, group, constraints=ROC, weight=None, **options):
    """A repair that is not to warn of gaps that ties or conflicts leave."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The repair leaves")
        return repair(
            y,
            score,
            sensitive_features=group,
            constraints=constraints,
            sample_weight=weight,
            **{"min_beyond": 1, **options},
        )


def sample(n=2000, n_groups=2, seed=0, shift=0.7):
    """Scores without ties, and without points that conflict: a group is shifted as a whole."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    return y, rng.normal(size=n) + 1.5 * y + shift * group, group


def sizes(fair, when="after"):
    return np.abs([gap.value for gap in fair.gaps[when]])


def gaps(y, score, group, constraints=ROC, weight=None):
    table = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    return family_values(table, as_constraints(constraints))


def split_roc(reference, target, rate):
    """The share of a target above the cut that leaves `rate` of a reference, ties broken alike."""
    for cut in sorted(set(reference), reverse=True):
        above, tied = (sum(map(test, reference)) for test in (cut.__lt__, cut.__eq__))
        if above + tied >= rate * len(reference):
            part = (rate * len(reference) - above) / tied
            return (sum(map(cut.__lt__, target)) + part * sum(map(cut.__eq__, target))) / len(
                target
            )
    raise AssertionError("everybody is above or at the lowest score")


# ---------------------------------------------------------------------- exact on the sample


@pytest.mark.parametrize(
    ("constraint", "n_groups", "guards"),
    [
        (ROC, 4, True),
        (RocConstraint(on="negatives", rates=(0.5,)), 2, False),
        (RocConstraint(on="positives", rates=(0.9, 0.1)), 2, True),
        (RocConstraint(on="negatives", interval=(0.1, 0.9)), 2, True),
    ],
    ids=str,
)
def test_gaps_below_one_observation(n_groups, guards, constraint):
    y, score, group = sample(3000, n_groups)
    fair = repair(y, score, sensitive_features=group, constraints=constraint, guards=guards)
    assert not fair.conflicts
    smallest = min(np.sum((y == c) & (group == g)) for c in (0, 1) for g in range(n_groups))
    assert sizes(fair, "before").max() > 0.1
    assert sizes(fair).max() < 1 / smallest
    after = fair.transform(score, sensitive_features=group)
    np.testing.assert_array_equal(np.abs(gaps(y, after, group, constraint)), sizes(fair))


def test_by_the_definition_taken_literally():
    y, score, group = sample(300)
    fair = repair(y, score, sensitive_features=group, constraints=ROC)
    rows = Rows(y, fair.transform(score, sensitive_features=group).tolist(), group)
    after = iter(fair.gaps["after"])
    for label in (0, 1):
        one, two = (rows.pick(label, g)[0] for g in (0, 1))
        for rate in ROC.rates:
            ways = split_roc(one, two, rate) - rate, rate - split_roc(two, one, rate)
            assert next(after).value == pytest.approx(max(ways, key=abs), abs=1e-12)
            assert abs(max(ways, key=abs)) < 1 / min(len(one), len(two))
            assert abs(roc(one, two, rate) - rate) < 1 / len(two)  # without splitting ties, too


@pytest.mark.parametrize("weights", ["integer", "real"])
def test_weights(weights):
    y, score, group = sample(3000)
    rng = np.random.default_rng(1)
    weight = (
        rng.integers(1, 4, 3000).astype(float) if weights == "integer" else rng.gamma(2, size=3000)
    )
    fair = made(y, score, group, weight=weight, min_beyond=5)  # a heavy row is told of
    largest = max(
        weight[cell].max() / weight[cell].sum()
        for cell in ((y == c) & (group == g) for c in (0, 1) for g in (0, 1))
    )
    assert sizes(fair).max() < largest
    if weights == "integer":
        times = weight.astype(int)
        twice = made(np.repeat(y, times), np.repeat(score, times), np.repeat(group, times))
        np.testing.assert_allclose(sizes(twice), sizes(fair), atol=1e-12)
        for one, two in zip(fair.maps, twice.maps, strict=True):
            np.testing.assert_allclose(one(score), two(score), atol=0.05)


@pytest.mark.slow
@settings(max_examples=often(12))
@given(
    seed=st.integers(0, 10**6),
    n_groups=st.sampled_from([2, 3]),
    levels=st.sampled_from([None, 10, 40]),
    weights=st.sampled_from([None, "real"]),
    constraint=st.sampled_from([ROC, "inter_group", "bnsp", "both"]),
    options=st.sampled_from([{}, {"tolerance": 0.1}, {"share": 0.5}, {"guards": False}]),
)
def test_increasing_maps_that_keep_ranking_and_ties(
    seed, n_groups, levels, weights, constraint, options
):
    """Seconds: every example is a repair."""
    y, score, group, weight = draw(seed, 150, n_groups, levels, weights)
    constraint = ["bpsn", ROC] if constraint == "both" else constraint
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    assume(scores.effective_sizes.min() >= 8)
    fair = made(y, score, group, constraint, weight, **options)
    after = fair.transform(score, sensitive_features=group)
    for g, mapping in enumerate(fair.maps):
        assert np.all(np.diff(mapping.x) > 0)
        assert np.all(np.diff(mapping.y) > 0)
        own = score[group == g]
        order = np.argsort(own, kind="stable")
        before, now = own[order], after[group == g][order]
        np.testing.assert_array_equal(np.diff(before) == 0, np.diff(now) == 0)
        assert np.all(np.diff(now) >= 0)
    assert after.min() >= score.min() - 0.002 * np.ptp(score) - 1e-12
    assert after.max() <= score.max() + 0.002 * np.ptp(score) + 1e-12


@pytest.mark.parametrize("name", AUC_NAMES)
def test_a_repaired_auc_gap_stays_as_it_is(name):
    y, score, group = sample()
    fair = repair(y, score, sensitive_features=group, constraints=name)
    after = fair.transform(score, sensitive_features=group)
    again = repair(y, after, sensitive_features=group, constraints=name)
    assert all(mapping.is_identity for mapping in again.maps)


@pytest.mark.slow
@settings(max_examples=often(3))
@given(seed=st.integers(0, 10**6), constraint=st.sampled_from([ROC, "bnsp"]))
def test_names_and_order_of_groups_do_not_matter(seed, constraint):
    y, score, group = sample(300, 3, seed)
    fair = made(y, score, group, constraint)
    after = fair.transform(score, sensitive_features=group)
    names = np.array(["z", "m", "a"])[group]
    other = made(y, score, names, constraint)
    assert other.groups == ("a", "m", "z")
    tolerance = 1e-12 if constraint is ROC else 0.1  # offsets are looked for step by step
    np.testing.assert_allclose(
        other.transform(score, sensitive_features=names), after, atol=tolerance
    )
    rows = np.random.default_rng(seed).permutation(len(y))
    shuffled = made(y[rows], score[rows], group[rows], constraint)
    np.testing.assert_array_equal(shuffled.transform(score, sensitive_features=group), after)


# ---------------------------------------------------------------------- what it costs


def test_the_cuts_in_use_keep_their_overall_rates():
    y, score, group = sample(8000, 3)
    fair = repair(y, score, sensitive_features=group, constraints=ROC)
    after = fair.transform(score, sensitive_features=group)
    for label in (0, 1):
        for rate in ROC.rates:
            cut = np.sort(score[y == label])[int(np.ceil(np.sum(y == label) * (1 - rate))) - 1]
            for g in range(3):
                assert np.mean(after[(y == label) & (group == g)] > cut) == pytest.approx(
                    rate, abs=0.002
                )


@pytest.mark.parametrize("name", AUC_NAMES)
def test_an_auc_gap_is_closed_at_the_least_cost(name):
    y, score, group = sample(4000)
    fair = repair(y, score, sensitive_features=group, constraints=name)
    assert sizes(fair, "before").max() > 0.05
    assert sizes(fair).max() < 1e-3
    # Here a shift of one group undoes all harm, so that nothing is lost.
    after = fair.transform(score, sensitive_features=group)
    assert roc_auc_score(y, after) > roc_auc_score(y, score - 0.7 * group) - 0.004


# ---------------------------------------------------------------------- partial repair


@pytest.mark.parametrize(("order", "guards"), [(1, True), (-1, False)])
def test_the_stricter_of_two_tolerances_counts(order, guards):
    y, score, group = sample(8000)
    asked = [RocConstraint(on="both", rates=(1 / 8, 1 / 4), tolerance=t) for t in (0.02, 0.2)]
    both = repair(y, score, sensitive_features=group, constraints=asked[::order], guards=guards)
    strict = repair(y, score, sensitive_features=group, constraints=asked[0], guards=guards)
    assert sizes(strict).max() <= 0.02
    np.testing.assert_array_equal(
        both.transform(score, sensitive_features=group),
        strict.transform(score, sensitive_features=group),
    )


@pytest.mark.parametrize("options", [{"share": 0.0}, {"tolerance": 0.99}])
@pytest.mark.parametrize("constraints", [ROC, "inter_group"], ids=str)
def test_nothing_to_do_changes_no_bit(options, constraints):
    y, score, group = sample()
    fair = repair(y, score, sensitive_features=group, constraints=constraints, **options)
    np.testing.assert_array_equal(fair.transform(score, sensitive_features=group), score)
    assert fair.gaps["after"] == fair.gaps["before"]


# ---------------------------------------------------------------------- conflicts and ties


def test_cuts_in_another_order_are_pooled_and_told():
    rng = np.random.default_rng(0)
    n = 4000
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    score = rng.normal(size=n) + np.where(group == 0, 0.3 * y, 2.0 * y)
    asked = [
        RocConstraint(on="negatives", rates=(0.1,)),
        RocConstraint(on="positives", rates=(0.5,)),
    ]
    with pytest.warns(UserWarning, match="another order"):
        fair = repair(y, score, sensitive_features=group, constraints=asked, guards=False)
    assert fair.conflicts == ("negatives at 0.1", "positives at 0.5")
    alone = repair(y, score, sensitive_features=group, constraints=asked[:1], guards=False)
    assert not alone.conflicts
    # The one gap cannot be closed without opening the other: what is left is shared.
    assert 0.0 < sizes(fair).max() < sizes(fair, "before").max()


def test_heavy_ties_are_kept_and_told():
    y, score, group, _ = draw(3, 800, 2, 3, shift=1.0)
    with pytest.warns(UserWarning, match="tied"):
        fair = repair(y, score, sensitive_features=group, constraints=ROC)
    after = fair.transform(score, sensitive_features=group)
    for g in (0, 1):
        assert len(np.unique(after[group == g])) == len(np.unique(score[group == g]))


# ---------------------------------------------------------------------- on new data


def test_small_cells_are_refused_in_one_sentence():
    y, score, group = sample(300)
    few = np.flatnonzero((y == 1) & (group == 1))[20:]
    keep = np.setdiff1d(np.arange(300), few)
    y, score, group = y[keep], score[keep], group[keep]
    with pytest.raises(ValueError, match=r"positives of 1 .* 20 .* 2\.5 .*0\.125.* 5 .*min_beyond"):
        repair(y, score, sensitive_features=group, constraints=ROC)
    with pytest.raises(ValueError, match=r"positives of 1 .* 20 .* 60"):
        repair(y, score, sensitive_features=group, constraints="bnsp", min_beyond=30)
    assert made(y, score, group, min_beyond=2).groups == (0, 1)
    alone = np.setdiff1d(np.arange(len(y)), np.flatnonzero((y == 1) & (group == 1))[1:])
    with pytest.raises(ValueError, match=r"positives of 1 .* 1 observation, 0\.1"):
        repair(y[alone], score[alone], sensitive_features=group[alone], constraints=ROC)
    with pytest.raises(ValueError, match=r"positives of 1 .* 1 observation"):
        repair(y[alone], score[alone], sensitive_features=group[alone], constraints="bnsp")


# ---------------------------------------------------------------------- refusals

GOOD = dict(y_true=[0, 1] * 200, y_score=list(range(400)), sensitive_features=[0, 0, 1, 1] * 100)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (dict(constraints="intra_group"), "intra_group"),
        (dict(constraints=()), "constraints is empty"),
        (dict(constraints="fairness"), "'fairness'"),
        (dict(tolerance=0.1, share=0.5), "tolerance .* share"),
        (dict(tolerance=-0.1), "tolerance .*-0.1"),
        (dict(tolerance=np.nan), "tolerance"),
        (dict(share=2), "share .* 2"),
        (dict(share="half"), "share must be a number"),
        (dict(unseen="ignore"), "unseen"),
        (dict(min_beyond=0), "min_beyond .* 1"),
        (dict(confidence_level=2), "confidence_level"),
        (dict(y_score=[np.nan, *range(399)]), "y_score is NaN at row 0"),
        (dict(y_score=[1, 2]), "differ in length"),
        (dict(y_true=["no", "yes"] * 200), "pos_label"),
        (dict(sensitive_features=[0] * 400), "two groups"),
        (dict(sensitive_features=[0, 1] * 200), "no negatives of 1"),
        (dict(sensitive_features=[None] * 400), "missing at row 0"),
        (dict(sample_weight=[-1.0] * 400), "negative at row 0"),
    ],
)
def test_bad_requests(changed, told):
    with pytest.raises(ValueError, match=told):
        repair(**{**GOOD, **changed})
