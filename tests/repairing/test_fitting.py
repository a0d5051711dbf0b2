"""Repairs of a score given as columns: exact on the sample, increasing, as cheap as can be."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from support.making import draw, often
from support.reference import Rows, roc

import evenscore as es
from evenscore import GroupedScores, RocConstraint, repair
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values
from evenscore.gaps.roc import guard_rates
from evenscore.repairing.cuts import wanted_cuts

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))
AUC_NAMES = ["inter_group", "bnsp", "bpsn", "zero_aeg", "zero_aeg_negatives", "reference_group"]


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


@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize("guards", [True, False])
@pytest.mark.parametrize(
    "constraint",
    [
        ROC,
        RocConstraint(on="negatives", rates=(0.5,)),
        RocConstraint(on="positives", rates=(0.9, 0.1)),
        RocConstraint(on="negatives", interval=(0.1, 0.9)),
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


@pytest.mark.slow
@settings(max_examples=often(6))
@given(seed=st.integers(0, 10**6), n_groups=st.sampled_from([2, 3]))
def test_what_is_repaired_stays_as_it_is(seed, n_groups):
    y, score, group = sample(1500, n_groups, seed, shift=0.4)
    fair = made(y, score, group)
    after = fair.transform(score, sensitive_features=group)
    again = made(y, after, group)
    if not fair.conflicts:
        np.testing.assert_allclose(
            again.transform(after, sensitive_features=group), after, atol=1e-12
        )


@pytest.mark.parametrize("name", AUC_NAMES)
def test_a_repaired_auc_gap_stays_as_it_is(name):
    y, score, group = sample()
    fair = repair(y, score, sensitive_features=group, constraints=name)
    after = fair.transform(score, sensitive_features=group)
    again = repair(y, after, sensitive_features=group, constraints=name)
    assert all(mapping.is_identity for mapping in again.maps)


@pytest.mark.slow
@settings(max_examples=often(5))
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


def test_an_increasing_change_of_the_score_changes_no_ranking():
    y, score, group = sample(4000, 3)
    one = repair(y, score, sensitive_features=group, constraints=ROC)
    two = repair(y, np.exp(score), sensitive_features=group, constraints=ROC)
    np.testing.assert_allclose(sizes(one), sizes(two), atol=1e-12)
    a = roc_auc_score(y, one.transform(score, sensitive_features=group))
    b = roc_auc_score(y, two.transform(np.exp(score), sensitive_features=group))
    assert a == pytest.approx(b, abs=0.003)  # lines between points are not the same lines


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


def test_copying_one_group_costs_more():
    """The prototype maps every group to the quantiles of the second; straight lines everywhere."""
    rng = np.random.default_rng(0)
    n = 20_000
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    score = rng.normal(size=n) * (1 + group) + y * (2 - group) + 0.5 * group
    one = RocConstraint(on="negatives", rates=(0.1,))
    fair = repair(y, score, sensitive_features=group, constraints=one)
    cut = [np.sort(score[(y == 0) & (group == g)])[::-1][np.sum((y == 0) & (group == g)) // 10]
           for g in (0, 1)]  # fmt: skip
    low, high = score.min(), score.max()
    copied = np.where(group == 1, score, np.interp(score, [low, cut[0], high], [low, cut[1], high]))
    ours = fair.transform(score, sensitive_features=group)
    assert np.abs(gaps(y, copied, group, one)).max() < 0.001
    assert roc_auc_score(y, ours) > roc_auc_score(y, copied) + 0.001


def test_groups_are_merged_by_their_odds_where_nothing_is_asked():
    """A group whose scores are inflated is put right even far from the constrained rate."""
    y, score, group = sample(20_000, shift=3.0)
    one = RocConstraint(on="negatives", rates=(0.01,))
    fair = repair(y, score, sensitive_features=group, constraints=one, min_beyond=5)
    within = [roc_auc_score(y[group == g], score[group == g]) for g in (0, 1)]
    after = roc_auc_score(y, fair.transform(score, sensitive_features=group))
    assert roc_auc_score(y, score) < 0.75
    assert after > min(within) - 0.01


@pytest.mark.parametrize("name", AUC_NAMES)
def test_an_auc_gap_is_closed_at_the_least_cost(name):
    y, score, group = sample(4000)
    fair = repair(y, score, sensitive_features=group, constraints=name)
    assert sizes(fair, "before").max() > 0.05
    assert sizes(fair).max() < 1e-3
    # Here a shift of one group undoes all harm, so that nothing is lost.
    after = fair.transform(score, sensitive_features=group)
    assert roc_auc_score(y, after) > roc_auc_score(y, score - 0.7 * group) - 0.004


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bnsp", "bpsn", "zero_aeg"])
def test_auc_gaps_of_many_groups(name):
    y, score, group = sample(6000, 4)
    fair = repair(y, score, sensitive_features=group, constraints=name)
    assert len(fair.gaps["after"]) == 6
    assert sizes(fair, "before").max() > 0.3
    assert sizes(fair).max() < 5e-3


def test_both_kinds_of_constraints():
    rng = np.random.default_rng(2)
    n = 6000
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    score = rng.normal(size=n) + y + 0.5 * group * (score_tail := rng.random(n) < 0.7)
    assert score_tail.any()
    top = RocConstraint(on="negatives", rates=(0.05,))
    fair = repair(y, score, sensitive_features=group, constraints=["inter_group", top])
    assert sizes(fair).max() < 2e-3


# ---------------------------------------------------------------------- partial repair


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("constraints", [ROC, "inter_group", "bnsp"], ids=str)
def test_gaps_are_brought_within_the_tolerance_and_no_further(tolerance, constraints):
    y, score, group = sample(8000)
    fair = repair(y, score, sensitive_features=group, constraints=constraints, tolerance=tolerance)
    assert sizes(fair).max() <= tolerance + 1e-3
    assert sizes(fair).max() > 0.7 * tolerance
    full = repair(y, score, sensitive_features=group, constraints=constraints)
    moved = [
        np.abs(one.transform(score, sensitive_features=group) - score).mean()
        for one in (fair, full)
    ]
    assert moved[0] < moved[1]


def test_a_tolerance_of_the_constraint_goes_first():
    y, score, group = sample(8000)
    loose = RocConstraint(on="both", rates=(1 / 8, 1 / 4), tolerance=0.1)
    fair = repair(y, score, sensitive_features=group, constraints=loose, tolerance=0.0)
    assert 0.05 < sizes(fair).max() <= 0.1


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("guards", [True, False])
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


def test_the_stricter_tolerance_counts_for_guards_too():
    y, score, group = sample(8000)
    table = GroupedScores.from_arrays(y, score, sensitive_features=group)
    near, far = (
        RocConstraint(on="negatives", rates=(rate,), tolerance=told)
        for rate, told in ((0.2, 0.02), (0.201, 0.1))
    )
    for asked in ([near, far], [far, near]):
        loose = RocConstraint(on="negatives", rates=(0.2,), tolerance=0.3)
        targets = [(cut, one.tolerance) for one in (*asked, loose) for cut in one.targets(2).cuts]
        wanted = wanted_cuts(table, targets, min_beyond=1.0, sizes=table.effective_sizes)
        around = {cut.rate: cut.tolerance for cut in wanted if not cut.asked}
        shared = set(guard_rates((0.2,))) & set(around)
        assert shared
        assert {around[rate] for rate in shared} == {0.02}


@pytest.mark.slow
@pytest.mark.parametrize("guards", [True, False])
@pytest.mark.parametrize("constraints", [ROC, "inter_group"], ids=str)
def test_share_goes_a_share_of_the_way(constraints, guards):
    y, score, group = sample(8000)
    asked = dict(sensitive_features=group, constraints=constraints, guards=guards)
    left = [sizes(repair(y, score, **asked, share=s)).max() for s in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert left[0] == sizes(repair(y, score, sensitive_features=group, constraints=constraints),
                            "before").max()  # fmt: skip
    assert np.all(np.diff(left) < 0)
    assert left[2] == pytest.approx(left[0] / 2, rel=0.35)


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
    with pytest.warns(UserWarning, match="in another order in another group"):
        fair = repair(y, score, sensitive_features=group, constraints=asked, guards=False)
    assert fair.conflicts == ("negatives at 0.1", "positives at 0.5")
    alone = repair(y, score, sensitive_features=group, constraints=asked[:1], guards=False)
    assert not alone.conflicts
    # The one gap cannot be closed without opening the other: what is left is shared.
    assert 0.0 < sizes(fair).max() < sizes(fair, "before").max()


def test_guards_give_way_to_rates_asked_for():
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    # The guard at 0.8 of the positives is below the median of the negatives in group 0 only.
    score = rng.normal(size=4000) + np.where(group == 0, 0.3 * y, 3.0 * y)
    asked = RocConstraint(on="both", rates=(0.5,))
    fair = repair(y, score, sensitive_features=group, constraints=asked)
    assert fair.conflicts == ()
    assert sizes(fair).max() < 1 / 900


def test_heavy_ties_are_kept_and_told():
    y, score, group, _ = draw(3, 800, 2, 3, shift=1.0)
    with pytest.warns(UserWarning, match="scores are tied, and ties are kept"):
        fair = repair(y, score, sensitive_features=group, constraints=ROC)
    after = fair.transform(score, sensitive_features=group)
    for g in (0, 1):
        assert len(np.unique(after[group == g])) == len(np.unique(score[group == g]))


@pytest.mark.parametrize("constraints", [ROC, "inter_group"], ids=str)
def test_a_constant_score(constraints):
    y, _, group = sample(200)
    fair = repair(y, np.full(200, 2.5), sensitive_features=group, constraints=constraints,
                  share=1.0)  # fmt: skip
    assert all(mapping.is_identity for mapping in fair.maps)


def test_scores_that_become_equal_are_counted():
    # Saturated: below 1 there are few doubles, and squeezing leaves fewer.
    y, score, group = sample(3000)
    log_odds = 30.0 + 2.0 * score
    near = 1.0 - np.exp(-log_odds)
    with pytest.warns(UserWarning, match=r"The maps make [\d,]+ scores? equal to others") as told:
        fair = made(y, near, group)
    after = fair.transform(near, sensitive_features=group)
    lost = sum(len(set(near[group == g])) - len(set(after[group == g])) for g in (0, 1))
    assert lost > 0
    assert f" {lost:,} score" in str(told[0].message)
    for g in (0, 1):
        own = np.argsort(near[group == g], kind="stable")
        assert np.all(np.diff(after[group == g][own]) >= 0.0)
    made(y, log_odds, group)  # what the warning advises: no warning


def test_scores_on_an_odd_scale():
    y, score, group = sample(2000)
    for change in (lambda s: 1e300 * (s - 20), lambda s: 1e-300 * s, lambda s: 1e6 + 1e-6 * s):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The maps make .* equal")  # of 1e6 + 1e-6 s
            fair = made(y, change(score), group)
        assert sizes(fair).max() < 1 / 400
        assert np.isfinite(fair.transform(change(score), sensitive_features=group)).all()


# ---------------------------------------------------------------------- on new data


@pytest.mark.slow
@pytest.mark.parametrize(("constraint", "least"), [(ROC, 0.9), ("inter_group", 0.88)], ids=str)
def test_intervals_cover_the_true_gaps_of_the_maps_found(constraint, least):
    """`benchmarks/repair.py --coverage` measures this at length."""
    fresh = sample(50_000, seed=10**6, shift=0.5)
    held = []
    for seed in range(often(15)):
        y, score, group = sample(1200, seed=seed, shift=0.5)
        fair = made(y, score, group, constraint)
        after = fair.transform(fresh[1], sensitive_features=fresh[2])
        truth = gaps(fresh[0], after, fresh[2], constraint)
        held += [
            gap.low <= value <= gap.high
            for gap, value in zip(fair.gaps["after"], truth, strict=True)
        ]
    assert np.mean(held) >= least


def test_the_certificate_of_rows_held_out():
    y, score, group = sample(80_000)
    fair = repair(y[::2], score[::2], sensitive_features=group[::2])
    rest = dict(sensitive_features=group[1::2], tolerance=0.06)
    found = fair.certify(y[1::2], score[1::2], interval=(0.1, 0.3), **rest)
    assert found.certified
    assert (found.low, found.high) == (0.1, 0.3)
    before = GroupedScores.from_arrays(y[1::2], score[1::2], sensitive_features=group[1::2])
    assert not es.inference.certify(before, 0.06, interval=(0.1, 0.3)).certified


def test_small_cells_are_refused_in_one_sentence():
    y, score, group = sample(300)
    few = np.flatnonzero((y == 1) & (group == 1))[20:]
    keep = np.setdiff1d(np.arange(300), few)
    y, score, group = y[keep], score[keep], group[keep]
    with pytest.raises(
        ValueError,
        match=r"The positives of 1 are worth 20 observations, 2\.5 of them beyond the cut at rate "
        r"0\.125, where a repair needs 5 \(min_beyond\)",
    ):
        repair(y, score, sensitive_features=group, constraints=ROC)
    with pytest.raises(ValueError, match=r"positives of 1 are worth 20 .* needs 60 in every cell"):
        repair(y, score, sensitive_features=group, constraints="bnsp", min_beyond=30)
    assert made(y, score, group, min_beyond=2).groups == (0, 1)
    alone = np.setdiff1d(np.arange(len(y)), np.flatnonzero((y == 1) & (group == 1))[1:])
    with pytest.raises(ValueError, match=r"positives of 1 are worth 1 observation, 0\.1 of them"):
        repair(y[alone], score[alone], sensitive_features=group[alone], constraints=ROC)
    with pytest.raises(ValueError, match="positives of 1 are worth 1 observation, and a repair of"):
        repair(y[alone], score[alone], sensitive_features=group[alone], constraints="bnsp")


# ---------------------------------------------------------------------- keeping and showing


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    y, score, group = sample()
    fair = repair(y, score, sensitive_features=group, constraints=ROC)
    ax = fair.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no change", "0", "1"]
    assert ax.get_xlabel() == "score before"
    assert ax.get_ylabel() == "score after"
    for k, line in enumerate(ax.get_lines()[1:]):
        x, after = line.get_data()
        expected = fair.transform(x, sensitive_features=np.full(len(x), k))
        np.testing.assert_allclose(after, expected)


# ---------------------------------------------------------------------- refusals

GOOD = dict(y_true=[0, 1] * 200, y_score=list(range(400)), sensitive_features=[0, 0, 1, 1] * 100)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (dict(constraints="intra_group"), "intra_group compares people within groups"),
        (dict(constraints=()), "nothing to repair: constraints is empty"),
        (dict(constraints="fairness"), "no AUC constraint named 'fairness'"),
        (dict(tolerance=0.1, share=0.5), "tolerance .* or share, not both"),
        (dict(tolerance=-0.1), "tolerance must be a number between 0 and 1, not -0.1"),
        (dict(tolerance=np.nan), "tolerance must be a number"),
        (dict(share=2), "share must be a number between 0 and 1, not 2"),
        (dict(share="half"), "share must be a number"),
        (dict(unseen="ignore"), "unseen must be 'error' or 'unchanged'"),
        (dict(min_beyond=0), "min_beyond must be a number of at least 1"),
        (dict(confidence_level=2), "confidence_level must lie strictly between 0 and 1"),
        (dict(y_score=[np.nan, *range(399)]), "y_score is NaN at row 0"),
        (dict(y_score=[1, 2]), "differ in length"),
        (dict(y_true=["no", "yes"] * 200), "say which is positive with pos_label"),
        (dict(sensitive_features=[0] * 400), "A gap needs at least two groups"),
        (dict(sensitive_features=[0, 1] * 200), "no negatives of 1 and no positives of 0"),
        (dict(sensitive_features=[None] * 400), "sensitive_features is missing at row 0"),
        (dict(sample_weight=[-1.0] * 400), "sample_weight is negative at row 0"),
    ],
)
def test_bad_requests(changed, told):
    with pytest.raises(ValueError, match=told) as caught:
        repair(**{**GOOD, **changed})
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_inputs_are_not_altered():
    y, score, group = sample()
    copies = y.copy(), score.copy(), group.copy()
    repair(y, score, sensitive_features=group, constraints=ROC).transform(
        score, sensitive_features=group
    )
    for one, two in zip((y, score, group), copies, strict=True):
        np.testing.assert_array_equal(one, two)


# ---------------------------------------------------------------------- what may go wrong


def test_everybodys_cuts_may_be_in_another_order_than_each_groups():
    # Simpson: in both groups the cut of the negatives lies below that of the positives, in the
    # pool above, because most positives are of the group with low scores.
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 4000)
    y = (rng.random(4000) < np.where(group == "a", 0.1, 0.9)).astype(int)
    score = rng.normal(size=4000) + y + 2 * (group == "a")
    fair = repair(y, score, sensitive_features=group, constraints=ROC)
    assert fair.conflicts == ()
    smallest = min(np.sum((y == c) & (group == z)) for c in (0, 1) for z in ("a", "b"))
    assert max(abs(gap.value) for gap in fair.gaps["after"]) <= 1.0 / smallest


@pytest.mark.parametrize("guards", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_a_tolerance_is_kept_whatever_lies_between_the_cuts(seed, guards):
    rng = np.random.default_rng(seed)
    group, y = rng.choice(["a", "b"], 1000), rng.integers(0, 2, 1000)
    spread = 1 + (group == "b")
    score = rng.normal(size=1000) * spread + y * (1 + 2 * (group == "a")) + (group == "b")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of conflicts
        fair = repair(
            y, score, sensitive_features=group, constraints=ROC, tolerance=0.05, guards=guards
        )
    if not fair.conflicts:
        assert max(abs(gap.value) for gap in fair.gaps["after"]) <= 0.05 + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_ties_are_not_made_worse(seed):
    rng = np.random.default_rng(seed)
    group, y = rng.choice(["a", "b"], 1000), rng.integers(0, 2, 1000)
    score = np.clip(np.round((rng.normal(size=1000) + y + (group == "b")) * 1.5), -3, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fair = repair(y, score, sensitive_features=group, constraints=ROC)
    before, after = (max(abs(g.value) for g in fair.gaps[k]) for k in ("before", "after"))
    assert after <= before + 1e-12


def test_a_score_within_the_tolerance_is_left_alone():
    rng = np.random.default_rng(0)
    group, y = rng.choice(["a", "b"], 3000), rng.integers(0, 2, 3000)
    score = rng.normal(size=3000) + y
    fair = repair(y, score, sensitive_features=group, constraints=ROC, tolerance=0.2)
    np.testing.assert_array_equal(fair.transform(score, sensitive_features=group), score)
