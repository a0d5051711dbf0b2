import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import reference
from support.making import draw

from evenscore import (
    AucConstraint,
    CurveConstraint,
    GroupedScores,
    RocConstraint,
    constraint_names,
)
from evenscore.gaps import EstimateSettings, as_constraints
from evenscore.gaps.catalogue import CATALOGUE
from evenscore.gaps.equalities import elementary_gaps
from evenscore.gaps.family import family_estimates, largest
from evenscore.gaps.roc import anchored_gaps
from evenscore.gaps.words import Words
from evenscore.scores.aucs import auc_matrix


def make(y, score, group, weight=None):
    return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)


@pytest.mark.parametrize("name", constraint_names())
def test_named_gaps_meet_the_formulas(sample, name):
    rows, scores = sample
    constraint = AucConstraint.named(name)
    values, keys = constraint.values(scores), constraint.keys(scores.groups)
    assert len(values) == len(keys) == len(scores.pairs())
    for value, key, (i, j) in zip(values, keys, scores.pairs(), strict=True):
        expected = rows.gap(name, scores.groups[i], scores.groups[j], scores.groups[0])
        assert value == pytest.approx(expected, abs=1e-12)
        assert (key.first, key.second) == (str(scores.groups[i]), str(scores.groups[j]))


@pytest.mark.parametrize("name", constraint_names())
@given(seed=st.integers(0, 10**6), weights=st.sampled_from([None, "real"]))
def test_gap_weights_times_elementary_gaps_is_the_gap(name, seed, weights):
    scores = make(*draw(seed, n=50, weights=weights))
    constraint = AucConstraint.named(name)
    product = constraint.gap_weights(scores.cell_weights) @ elementary_gaps(auc_matrix(scores))
    assert product == pytest.approx(constraint.values(scores)[0], abs=1e-13)


# The paper's tables of Γ (main text and supplement), as AUC differences: its rows for intra_group
# and bpsn are scaled by 1/3 and 1/2. p, p0, p1, q0, q1 as in the paper.
TABLE = {
    "intra_group": lambda p, p0, p1, q0, q1: [0, 0, 1, 1, 1],
    "bnsp": lambda p, p0, p1, q0, q1: [0, 0, q0 * (1 - p0) / (1 - p), 0, q1 * (1 - p1) / (1 - p)],
    "bpsn": lambda p, p0, p1, q0, q1: [0, 0, q0 * p0 / p, 1, q1 * p1 / p],
    "zero_aeg": lambda p, p0, p1, q0, q1: [0, 1, 0, 0, 0],
    "inter_group": lambda p, p0, p1, q0, q1: [0, 0, 0, 1, 0],
    "reference_group": lambda p, p0, p1, q0, q1: [0, p0, 1 - p0, 0, 0],
    # zero_aeg_negatives: AUC(H, H0) − AUC(H, H1) = −(AUC(H0, H1) − ½), whatever the shares.
    "zero_aeg_negatives": lambda p, p0, p1, q0, q1: [-1, 0, 0, 0, 0],
}


@pytest.mark.parametrize("name", TABLE)
def test_gap_weights_are_those_of_the_paper(name):
    scores = make(*draw(5, weights="real"))
    (p0, p1), (q0, q1) = scores.prevalence_by_group, scores.group_share
    expected = TABLE[name](scores.prevalence, p0, p1, q0, q1)
    found = AucConstraint.named(name).gap_weights(scores.cell_weights)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("name", constraint_names())
def test_the_same_gap_from_its_gap_weights(name):
    scores = make(*draw(6, weights="real"))
    named = AucConstraint.named(name)
    combined = AucConstraint.from_gap_weights(named.gap_weights(scores.cell_weights))
    assert combined.values(scores)[0] == pytest.approx(named.values(scores)[0], abs=1e-13)


@pytest.mark.parametrize("name", sorted(set(constraint_names()) - {"pair_error"}))
def test_signed_area_between_the_curves_is_the_gap(name, sample):
    _, scores = sample
    constraint = AucConstraint.named(name)
    for gap, pair in zip(constraint.values(scores), scores.pairs(), strict=True):
        one, two = constraint.curves(scores, *pair)
        assert reference.signed_area(one.difference(two)) == pytest.approx(gap, abs=1e-12)


def simplex(draw_float):
    return draw_float / draw_float.sum()


@given(st.integers(0, 10**6))
def test_fair_mixtures_are_the_difference_of_their_aucs(seed):
    rng = np.random.default_rng(seed)
    # Equal negative mass on both sides of each AUC: Theorem 1's condition holds.
    negatives = rng.uniform(size=2)
    vectors = []
    for mass in (negatives[0], negatives[1], negatives[0], negatives[1]):
        split = rng.uniform(size=2)
        vectors.append([mass * split[0], mass * (1 - split[0]), (1 - mass) * split[1]])
        vectors[-1].append(1.0 - sum(vectors[-1]))
    a, b, a2, b2 = map(np.array, vectors)
    constraint = AucConstraint.from_mixtures(a, b, a2, b2)
    scores = make(*draw(seed, n=50, weights="real"))
    matrix = auc_matrix(scores)
    direct = a @ matrix.values @ b - a2 @ matrix.values @ b2
    assert constraint.values(scores)[0] == pytest.approx(direct, abs=1e-12)
    assert constraint.gap_weights() @ elementary_gaps(matrix) == pytest.approx(direct, abs=1e-12)
    one, two = constraint.curves(scores)
    assert one.area - two.area == pytest.approx(direct, abs=1e-12)


@given(st.integers(0, 10**6))
def test_theorem_one_decides_which_mixtures_are_refused(seed):
    """A mixture is refused exactly when it fails for an informative score of two equal groups."""
    rng = np.random.default_rng(seed)
    vectors = [rng.multinomial(4, [0.25] * 4) / 4 for _ in range(4)]
    matrix = np.full((4, 4), 0.5)
    matrix[:2, 2:], matrix[2:, :2] = 0.9, 0.1  # groups alike, positives mostly above negatives
    a, b, a2, b2 = vectors
    fair = abs(a @ matrix @ b - a2 @ matrix @ b2) < 1e-12
    if fair:
        AucConstraint.from_mixtures(*vectors)
    else:
        with pytest.raises(ValueError, match=r"unfairness constraint \(Theorem 1\)"):
            AucConstraint.from_mixtures(*vectors)


def test_mixtures_apply_to_every_pair_of_groups():
    y, score, group, weight = draw(9, n_groups=4, weights="real")
    scores = make(y, score, group, weight)
    mixture = AucConstraint.from_mixtures([1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0])
    np.testing.assert_allclose(
        mixture.values(scores), AucConstraint.named("inter_group").values(scores), atol=1e-14
    )


def test_mixtures_are_checked():
    good = [1, 0, 0, 0], [0, 0, 1, 0]
    with pytest.raises(ValueError, match="four proportions"):
        AucConstraint.from_mixtures([1, 0], *good, [1, 0, 0, 0])
    with pytest.raises(ValueError, match="add up to one"):
        AucConstraint.from_mixtures([0.5, 0, 0, 0], [0, 0, 1, 0], *good)
    with pytest.raises(ValueError, match="non-negative"):
        AucConstraint.from_mixtures([2, -1, 0, 0], [0, 0, 1, 0], *good)
    with pytest.raises(ValueError, match="no AUC constraint named 'bsnp'; there are intra_group"):
        AucConstraint.named("bsnp")
    with pytest.raises(ValueError, match="no AUC constraint named"):
        AucConstraint.named(["bnsp"])
    with pytest.raises(TypeError, match="Expected a GroupedScores, not list"):
        AucConstraint.named("bnsp").values([1, 2])
    with pytest.raises(ValueError, match="alpha must be a number or several"):
        AucConstraint.from_mixtures("x", *good, [1, 0, 0, 0])
    with pytest.raises(ValueError, match="five finite numbers"):
        AucConstraint.from_gap_weights([1, 2])
    with pytest.raises(ValueError, match="depend on the data"):
        AucConstraint.named("bnsp").gap_weights()
    with pytest.raises(ValueError, match="two groups only"):
        AucConstraint.named("bnsp").gap_weights(np.ones((2, 3)))
    for constraint in (AucConstraint.named("pair_error"), AucConstraint.from_gap_weights([1] * 5)):
        with pytest.raises(ValueError, match="no pair of curves"):
            constraint.curves(make(*draw(0)))


def test_every_entry_of_the_catalogue_is_fair_by_theorem_one():
    rng = np.random.default_rng(0)
    for notion in CATALOGUE.values():
        weights = rng.uniform(0.1, 1, size=(2, 2))
        W = AucConstraint.named(notion.name).coefficients(weights, 0, 1)
        w = W - W.T
        assert w[:2, 2:].sum() == pytest.approx(0.0, abs=1e-12)
        assert notion.source
        assert notion.formula
        assert "{group}" in notion.sentence


def test_an_empty_cell_gives_nan_with_the_reason_and_no_group_disappears():
    y, score, group, _ = draw(4, n_groups=3)
    keep = ~((y == 1) & (group == 2))
    scores = make(y[keep], score[keep], group[keep])
    bnsp = AucConstraint.named("bnsp")
    gaps = bnsp.values(scores)
    assert np.isnan(gaps).tolist() == [False, True, True]
    assert bnsp.estimates(scores)[1].warnings == ("bnsp is undefined: there are no positives of 2",)
    assert np.isnan(largest(gaps))
    # The negatives of every group are there, and so is what needs only them.
    assert not np.isnan(AucConstraint.named("bpsn").values(scores)).any()
    roc = RocConstraint(on="both", rates=(0.25,)).values(scores)
    assert np.isnan(roc).tolist() == [False, False, False, False, True, True]


def test_the_reason_names_only_the_cells_that_are_needed():
    y, score, group, _ = draw(4)
    keep = (y == group) | (group == 2)  # no negatives of 1, no positives of 0
    scores = make(y[keep], score[keep], group[keep])

    def reason(constraint):
        [gap] = constraint.estimates(scores)
        return gap.warnings[0] if np.isnan(gap.value) else None

    def named(name):
        return reason(AucConstraint.named(name))

    assert named("bnsp") == "bnsp is undefined: there are no positives of 0"
    assert named("bpsn") == "bpsn is undefined: there are no negatives of 1"
    assert named("intra_group").endswith("no negatives of 1 and no positives of 0")
    assert named("pair_error") is None
    assert [reason(RocConstraint(on=on, rates=(0.5,))) for on in ("negatives", "positives")] == [
        "roc_gap(negatives) is undefined: there are no negatives of 1",
        "roc_gap(positives) is undefined: there are no positives of 0",
    ]


@pytest.mark.slow
def test_many_groups_are_not_slow():
    import time

    y, score, group, _ = draw(1, n=20_000, n_groups=100, levels=None)
    scores = make(y, score, group)
    start = time.perf_counter()
    gaps = [gap for name in constraint_names() for gap in AucConstraint.named(name).values(scores)]
    assert len(gaps) == 8 * 4950
    assert time.perf_counter() - start < 5.0


def test_the_largest_gap_of_many_pairs():
    y, score, group, _ = draw(12, n=400, n_groups=4, shift=0.8)
    scores = make(y, score, group)
    constraint = AucConstraint.named("zero_aeg_negatives")
    values = constraint.values(scores)
    gap = largest(values)
    key = constraint.keys(scores.groups)[values.tolist().index(gap)]
    assert (key.first, key.second) == ("0", "3")
    with pytest.raises(ValueError, match="at least two groups"):
        largest(np.zeros(0))


def test_words_say_who_is_better_off():
    scores = make([0, 1, 0, 1] * 30, [1, 2, 2, 3] * 30, ["women", "women", "men", "men"] * 30)
    [gap] = AucConstraint.named("inter_group").estimates(scores)
    assert gap.words == (
        "between the groups, ranking errors go against group women more often than against group "
        "men: positives in group women rank below negatives in group men in 50.0% of pairs; "
        "positives in group men rank below negatives in group women in 0.0%"
    )
    words = Words(positives="people who repaid", groups={"women": "women", "men": "men"})
    assert (
        AucConstraint.named("inter_group")
        .say(gap, words)
        .startswith(
            "between the groups, ranking errors go against women more often than against men: "
            "people who repaid among women rank below negatives among men in 50.0% of pairs"
        )
    )
    assert AucConstraint.named("inter_group").ranks_higher(gap) == ("men", "women")
    pair_error = CATALOGUE["pair_error"]
    assert all("the first of them" in text for text in (pair_error.sentence, pair_error.mistake))


# ---------------------------------------------------------------------- ROC constraints


def split_roc(rows, label, first, second, rate):
    (one, w1), (two, w2) = rows.pick(label, first), rows.pick(label, second)
    return reference.split_roc(one, two, rate, w1, w2)


def test_roc_gaps_split_ties_and_are_the_larger_of_the_two_ways_round(sample):
    rows, scores = sample
    constraint = RocConstraint(on="both", rates=(0.2, 0.4))
    values, keys = constraint.values(scores), constraint.keys(scores.groups)
    assert len(values) == len(keys) == 2 * 2 * len(scores.pairs())
    for value, key in zip(values, keys, strict=True):
        label, pair = int(key.on == "positives"), (int(key.first), int(key.second))
        one = split_roc(rows, label, *pair, key.rate) - key.rate
        two = key.rate - split_roc(rows, label, *pair[::-1], key.rate)
        assert value == pytest.approx(max((one, two), key=abs), abs=1e-9)
    paper = anchored_gaps(scores, "negatives", [0.2, 0.4], 0, 1)
    for rate, value in zip((0.2, 0.4), paper, strict=True):
        assert value == pytest.approx(split_roc(rows, 0, 0, 1, rate) - rate, abs=1e-9)


@pytest.mark.parametrize("levels", [None, 10])
def test_roc_gaps_of_some_pairs_and_of_groups_without_a_class(levels):
    y, score, group, weight = draw(3, n_groups=4, levels=levels, weights="real")
    kept = (group != 2) | (y == 1)
    columns = [column[kept] for column in (y, score, group, weight)]
    rows, scores = reference.Rows(*columns), make(*columns)
    constraint, pairs = RocConstraint(on="both", rates=(0.2, 0.4)), [(3, 0), (2, 1), (0, 1)]
    values = constraint.values(scores, pairs).reshape(2, 3, 2)
    for label in (0, 1):
        for number, pair in enumerate(pairs):
            for k, rate in enumerate((0.2, 0.4)):
                value = values[label, number, k]
                if label == 0 and 2 in pair:
                    assert np.isnan(value)
                    continue
                one = split_roc(rows, label, *pair, rate) - rate
                two = rate - split_roc(rows, label, *pair[::-1], rate)
                assert value == pytest.approx(max((one, two), key=abs), abs=1e-9)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([None, 4]))
def test_reordering_or_renaming_the_groups_changes_no_more_than_the_sign(seed, levels):
    y, score, group, weight = draw(seed, n=60, levels=levels, weights="real")
    constraint = RocConstraint(on="both", rates=(0.125, 0.5))
    one, two = (
        constraint.estimates(make(y, score, np.array(names)[group], weight))
        for names in (("a", "b"), ("z", "b"))
    )
    for here, there in zip(one, two, strict=True):
        assert there.value == pytest.approx(-here.value, abs=1e-12)
        assert (there.low, there.high) == pytest.approx((-here.high, -here.low), abs=1e-12)
        assert there.p_value == pytest.approx(here.p_value, abs=1e-9, nan_ok=True)
        sides = here.second_value, here.first_value
        assert (there.first_value, there.second_value) == pytest.approx(sides, abs=1e-12)


def test_two_identical_groups_with_a_ten_level_score_have_no_gap():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    score = np.clip(np.round(1.5 * rng.normal(size=2000) + y), -4, 5)
    scores = make(np.tile(y, 2), np.tile(score, 2), np.repeat(["a", "b"], 2000))
    assert len(np.unique(score)) == 10
    values = RocConstraint(on="both", rates=(0.125, 0.25, 0.5)).values(scores)
    np.testing.assert_allclose(values, 0.0, atol=1e-12)


def test_interval_is_cut_into_rates():
    assert RocConstraint(interval=(0.1, 0.3), n_rates=3).rates == (0.1, 0.2, 0.3)
    assert len(RocConstraint(interval=(0.1, 0.3)).rates) == 9
    assert RocConstraint(interval=(0.1, 0.11)).rates == (0.1, 0.11)
    assert RocConstraint(interval=(0.1, 0.3), n_rates=3).name == (
        "roc_gap(both; 3 rates from 0.1 to 0.3)"
    )
    assert RocConstraint(rates=[0.25]).rates == (0.25,)
    assert RocConstraint(rates=0.25).rates == (0.25,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(), "needs rates"),
        (dict(rates=(0.0, 0.5)), "strictly between 0 and 1"),
        (dict(rates=(1.5,)), "strictly between 0 and 1"),
        (dict(rates=(np.nan,)), "strictly between 0 and 1"),
        (dict(rates=(0.5, 0.5)), "repeats one"),
        (dict(on="women", rates=(0.5,)), "on must be"),
        (dict(rates=(0.5,), tolerance=-0.1), "tolerance must be"),
        (dict(rates=(0.5,), interval=(0.1, 0.2)), "either rates or an interval"),
        (dict(interval=(0.4, 0.2)), "0 ≤ low < high ≤ 1"),
        (dict(interval=0.4), "An interval of rates is two numbers"),
        (dict(interval=(0.1, 0.2, 0.3)), "An interval of rates is two numbers"),
        (dict(interval=(0.0, 0.2), n_rates=0), "n_rates ≥ 1"),
        (dict(interval=(0.1, 0.2), n_rates=1), "n_rates ≥ 2"),
        (dict(interval=(0.1, 0.2), n_rates=2.9), "whole n_rates"),
        (dict(rates="x"), "rates must be a number or several, not 'x'"),
        (dict(rates=(0.5,), tolerance="x"), "tolerance must be"),
        (dict(rates=(0.5,), n_rates=3), "give interval as well"),
    ],
)
def test_bad_roc_constraints(arguments, message):
    with pytest.raises(ValueError, match=message):
        RocConstraint(**arguments)


def test_intervals_of_rates_may_begin_at_zero_and_end_at_one():
    """The paper's evenly spaced grid on [0, α_max]; at 0 and 1 there is never a gap."""
    assert RocConstraint(interval=(0, 0.25), n_rates=2).rates == (0.125, 0.25)
    assert RocConstraint(interval=(0, 1), n_rates=3).rates == (0.25, 0.5, 0.75)
    assert RocConstraint(interval=(0.5, 1), n_rates=2).rates == pytest.approx((0.5, 0.75))
    assert RocConstraint(interval=(0, 0.02), n_rates=1).rates == (0.02,)
    assert RocConstraint(interval=(0, 0.25)).rates == pytest.approx(np.arange(1, 11) * 0.025)
    assert RocConstraint(interval=(0, 0.01)).rates == (0.01,)
    fair = RocConstraint(interval=(0, 0.25), n_rates=4)
    assert replace(fair, tolerance=0.1).rates == fair.rates
    assert fair.name == "roc_gap(both; 4 rates from 0 to 0.25)"


def test_constraints_are_values():
    for constraint in (
        AucConstraint.named("bnsp", tolerance=0.02),
        AucConstraint.from_mixtures([1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]),
        AucConstraint.from_gap_weights([0, 0, 1, 1, 1]),
        RocConstraint(interval=(0.1, 0.3), n_rates=5, tolerance=0.01),
    ):
        copy = pickle.loads(pickle.dumps(constraint))
        assert copy == constraint
        assert hash(copy) == hash(constraint)


def test_as_constraints():
    roc = RocConstraint(rates=(0.25,))
    assert as_constraints("bnsp") == [AucConstraint.named("bnsp")]
    assert as_constraints(roc) == [roc]
    assert as_constraints(["bpsn", roc]) == [AucConstraint.named("bpsn"), roc]
    assert as_constraints(()) == []
    with pytest.raises(TypeError, match="not float"):
        as_constraints([0.5])
    with pytest.raises(TypeError, match="being an iterator: give a list"):
        as_constraints(name for name in ["bnsp"])


# ---------------------------------------------------------------------- pairs, rates and intervals


def test_pairs_may_come_in_any_order():
    y, score, group, _ = draw(4, n_groups=3)
    keep = ~((y == 1) & (group == 2))
    scores = make(y[keep], score[keep], group[keep])
    settings = EstimateSettings(pairs=((2, 0), (0, 1)))
    for constraint in (AucConstraint.named("intra_group"), RocConstraint(rates=(0.25,))):
        for gap in constraint.estimates(scores, settings):
            if np.isnan(gap.value):
                assert gap.warnings == (f"{gap.name} is undefined: there are no positives of 2",)


def test_families_asked_differently_are_estimated_differently():
    scores = make(*draw(4, n=200))
    notion = AucConstraint.named("bnsp")
    levels = [EstimateSettings(0.95), EstimateSettings(0.5)]
    wide, narrow = family_estimates(scores, [notion, notion], levels)
    assert (wide.confidence_level, narrow.confidence_level) == (0.95, 0.5)
    assert wide.low < narrow.low


def test_rates_that_agree_to_four_digits_have_names_of_their_own():
    keys = RocConstraint(on="negatives", rates=(0.12345, 0.12346)).keys("ab")
    assert [key.kind for key in keys] == [
        "roc_gap(negatives) at 0.12345",
        "roc_gap(negatives) at 0.12346",
    ]


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([None, 3, 8]))
def test_intervals_and_p_values_of_roc_gaps_do_not_contradict_each_other(seed, levels):
    y, score, group, weight = draw(seed, n=50, levels=levels, weights="real")
    for gap in RocConstraint(rates=(0.1, 0.3)).estimates(make(y, score, group, weight)):
        assert gap.low <= gap.value <= gap.high
        assert gap.differs_from_zero == (gap.p_value <= 0.05)


# ---------------------------------------------------------------------- certificates


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.4])
@pytest.mark.parametrize(
    "family",
    [*constraint_names(), RocConstraint(on="both", rates=(0.25,)), CurveConstraint(at=(0.2,))],
    ids=str,
)
def test_all_gaps_are_certified_by_their_own_ninety_percent_intervals(family, shift):
    """Two one-sided tests, by hand; cells of hundreds make next to no difference."""
    scores = make(*draw(3, n=3000, n_groups=3, levels=None, shift=shift))
    [family] = as_constraints(family)
    estimates = family.estimates(scores, EstimateSettings(0.90))
    bounds = [max(abs(estimate.low), abs(estimate.high)) for estimate in estimates]
    found = family.certify(scores, tolerance=0.1)
    assert found.reach == pytest.approx(max(bounds), rel=0.02)
    assert found.certified == (found.reach <= 0.1)
    worst = estimates[int(np.argmax(bounds))]
    assert found.title == worst.title
    assert found.gap == pytest.approx(abs(worst.value))
    strict = replace(family, tolerance=0.9 * found.reach)
    assert not strict.certify(scores, tolerance=0.5).certified  # its own tolerance comes first
    assert found.smallest[1] == scores.cell_counts.reshape(-1)[family.cells(3).any(axis=0)].min()


def test_an_empty_cell_is_not_certified():
    y, score, group, _ = draw(0, n=500, n_groups=2)
    kept = ~((y == 1) & (group == 1))
    scores = make(y[kept], score[kept], group[kept])
    found = AucConstraint.named("bnsp").certify(scores, tolerance=0.5)
    assert not found.certified
    assert str(found) == "Not certified: bnsp is undefined: there are no positives of 1."


def test_constraints_that_are_none():
    with pytest.raises(TypeError, match=r"^constraints must be a name, .* not int\.$"):
        as_constraints(0)
