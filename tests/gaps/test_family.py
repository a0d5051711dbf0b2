import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import reference
from support.making import draw, table_of

from evenscore import (
    AucConstraint,
    CurveConstraint,
    Cuts,
    RateConstraint,
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


@pytest.mark.slow
def test_named_gaps_meet_the_formulas(sample):
    rows, scores = sample
    for name in constraint_names():
        constraint = AucConstraint.named(name)
        values, keys = constraint.values(scores), constraint.keys(scores.groups)
        for value, key, (i, j) in zip(values, keys, scores.pairs(), strict=True):
            expected = rows.gap(name, scores.groups[i], scores.groups[j], scores.groups[0])
            assert value == pytest.approx(expected, abs=1e-12), name
            assert (key.first, key.second) == (str(scores.groups[i]), str(scores.groups[j]))


@given(seed=st.integers(0, 10**6), weights=st.sampled_from([None, "real"]))
def test_gap_weights_times_elementary_gaps_is_the_gap(seed, weights):
    scores = table_of(*draw(seed, n=50, weights=weights))
    for name in constraint_names():
        constraint = AucConstraint.named(name)
        gap_weights = constraint.gap_weights(scores.cell_weights)
        [gap] = constraint.values(scores)
        assert gap_weights @ elementary_gaps(auc_matrix(scores)) == pytest.approx(gap, abs=1e-13)
        [same] = AucConstraint.from_gap_weights(gap_weights).values(scores)
        assert same == pytest.approx(gap, abs=1e-13)


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


def test_gap_weights_are_those_of_the_paper():
    scores = table_of(*draw(5, weights="real"))
    (p0, p1), (q0, q1) = scores.prevalence_by_group, scores.group_share
    for name, weights in TABLE.items():
        expected = weights(scores.prevalence, p0, p1, q0, q1)
        found = AucConstraint.named(name).gap_weights(scores.cell_weights)
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)


def test_signed_area_between_the_curves_is_the_gap(sample):
    _, scores = sample
    for name in set(constraint_names()) - {"pair_error"}:
        constraint = AucConstraint.named(name)
        for gap, pair in zip(constraint.values(scores), scores.pairs(), strict=True):
            one, two = constraint.curves(scores, *pair)
            assert reference.signed_area(one.difference(two)) == pytest.approx(gap, abs=1e-12)


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
    scores = table_of(*draw(seed, n=50, weights="real"))
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
        with pytest.raises(ValueError, match="unfairness"):
            AucConstraint.from_mixtures(*vectors)


def test_an_empty_cell_gives_nan_with_the_reason_and_no_group_disappears():
    y, score, group, _ = draw(4, n_groups=3)
    keep = ~((y == 1) & (group == 2))
    scores = table_of(y[keep], score[keep], group[keep])
    bnsp = AucConstraint.named("bnsp")
    gaps = bnsp.values(scores)
    assert np.isnan(gaps).tolist() == [False, True, True]
    assert np.isnan(largest(gaps))
    # The negatives of every group are there, and so is what needs only them.
    assert not np.isnan(AucConstraint.named("bpsn").values(scores)).any()
    roc = RocConstraint(on="both", rates=(0.25,)).values(scores)
    assert np.isnan(roc).tolist() == [False, False, False, False, True, True]
    # In whatever order pairs are asked for.
    settings = EstimateSettings(pairs=((2, 0), (0, 1)))
    for constraint in (bnsp, RocConstraint(rates=(0.25,))):
        for gap in constraint.estimates(scores, settings):
            assert np.isnan(gap.value) == (gap.first == "2" and gap.on != "negatives")
            if np.isnan(gap.value):
                assert gap.warnings[0].startswith(gap.name)
                assert "positives of 2" in gap.warnings[0]
    assert not bnsp.certify(scores, tolerance=0.5).certified
    assert "positives of 2" in str(bnsp.certify(scores, tolerance=0.5))


def test_the_reason_names_only_the_cells_that_are_needed():
    y, score, group, _ = draw(4)
    keep = (y == group) | (group == 2)  # no negatives of 1, no positives of 0
    scores = table_of(y[keep], score[keep], group[keep])

    def reason(constraint):
        [gap] = constraint.estimates(scores)
        return gap.warnings[0] if np.isnan(gap.value) else None

    def named(name):
        return reason(AucConstraint.named(name))

    assert named("bnsp").endswith("no positives of 0")
    assert named("bpsn").endswith("no negatives of 1")
    both = named("intra_group")
    assert "negatives of 1" in both
    assert "positives of 0" in both
    assert named("pair_error") is None
    for on, cell in (("negatives", "negatives of 1"), ("positives", "positives of 0")):
        told = reason(RocConstraint(on=on, rates=(0.5,)))
        assert f"roc_gap({on})" in told
        assert told.endswith(f"no {cell}")


def test_the_largest_gap_of_many_pairs():
    y, score, group, _ = draw(12, n=400, n_groups=4, shift=0.8)
    scores = table_of(y, score, group)
    constraint = AucConstraint.named("zero_aeg_negatives")
    values = constraint.values(scores)
    gap = largest(values)
    key = constraint.keys(scores.groups)[values.tolist().index(gap)]
    assert (key.first, key.second) == ("0", "3")
    with pytest.raises(ValueError, match="at least two groups"):
        largest(np.zeros(0))


def test_words_say_who_is_better_off():
    scores = table_of([0, 1, 0, 1] * 30, [1, 2, 2, 3] * 30, ["women", "women", "men", "men"] * 30)
    [gap] = AucConstraint.named("inter_group").estimates(scores)
    women, men = gap.words.index("in group women rank below"), gap.words.index("in group men rank")
    assert women < gap.words.index(" 50.0%") < men < gap.words.index(" 0.0%")
    assert "against group women more often" in gap.words
    words = Words(positives="people who repaid", groups={"women": "women", "men": "men"})
    told = AucConstraint.named("inter_group").say(gap, words)
    assert "people who repaid among women" in told
    assert AucConstraint.named("inter_group").ranks_higher(gap) == ("men", "women")
    pair_error = CATALOGUE["pair_error"]
    assert all("the first of them" in text for text in (pair_error.sentence, pair_error.mistake))


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
    rows, scores = reference.Rows(*columns), table_of(*columns)
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


def test_interval_is_cut_into_rates():
    assert RocConstraint(interval=(0.1, 0.3), n_rates=3).rates == (0.1, 0.2, 0.3)
    assert len(RocConstraint(interval=(0.1, 0.3)).rates) == 9
    assert RocConstraint(interval=(0.1, 0.11)).rates == (0.1, 0.11)
    assert "3 rates from 0.1 to 0.3" in RocConstraint(interval=(0.1, 0.3), n_rates=3).name
    assert RocConstraint(rates=[0.25]).rates == (0.25,)
    assert RocConstraint(rates=0.25).rates == (0.25,)


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
    assert "4 rates from 0 to 0.25" in fair.name


def test_constraints_are_values():
    for constraint in (
        AucConstraint.named("bnsp", tolerance=0.02),
        AucConstraint.from_mixtures([1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]),
        RocConstraint(interval=(0.1, 0.3), n_rates=5, tolerance=0.01),
        RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.02),
        CurveConstraint(at=[0.1, 0.2], tolerance=0.1),
        Cuts(thresholds=600, inclusive=True, selected="low"),
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
    for bad, named in (([0.5], "float"), (0, "int"), (iter(["bnsp"]), "iterator")):
        with pytest.raises(TypeError, match=named):
            as_constraints(bad)


def test_families_asked_differently_are_estimated_differently():
    scores = table_of(*draw(4, n=200))
    notion = AucConstraint.named("bnsp")
    levels = [EstimateSettings(0.95), EstimateSettings(0.5)]
    wide, narrow = family_estimates(scores, [notion, notion], levels)
    assert (wide.confidence_level, narrow.confidence_level) == (0.95, 0.5)
    assert wide.low < narrow.low


def test_rates_that_agree_to_four_digits_have_names_of_their_own():
    one, two = RocConstraint(on="negatives", rates=(0.12345, 0.12346)).keys("ab")
    assert (one.kind[-7:], two.kind[-7:]) == ("0.12345", "0.12346")


@pytest.mark.slow
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([None, 3, 8]))
def test_intervals_and_p_values_of_roc_gaps_do_not_contradict_each_other(seed, levels):
    y, score, group, weight = draw(seed, n=50, levels=levels, weights="real")
    constraint = RocConstraint(on="both", rates=(0.1, 0.3))
    one, two = (
        constraint.estimates(table_of(y, score, np.array(names)[group], weight))
        for names in (("a", "b"), ("z", "b"))
    )
    for here, there in zip(one, two, strict=True):
        assert here.low <= here.value <= here.high
        assert here.differs_from_zero == (here.p_value <= 0.05)
        # Renaming the groups turns the sign, and nothing else.
        assert there.value == pytest.approx(-here.value, abs=1e-12)
        assert (there.low, there.high) == pytest.approx((-here.high, -here.low), abs=1e-12)
        assert there.p_value == pytest.approx(here.p_value, abs=1e-9, nan_ok=True)
        sides = here.second_value, here.first_value
        assert (there.first_value, there.second_value) == pytest.approx(sides, abs=1e-12)


@pytest.mark.parametrize(
    ("family", "shift"),
    [
        ("bnsp", 0.0),
        ("pair_error", 0.1),
        ("zero_aeg_negatives", 0.4),
        (RocConstraint(on="both", rates=(0.25,)), 0.1),
        (CurveConstraint(at=(0.2,)), 0.0),
    ],
    ids=str,
)
def test_all_gaps_are_certified_by_their_own_ninety_percent_intervals(family, shift):
    """Two one-sided tests, by hand; cells of hundreds make next to no difference."""
    scores = table_of(*draw(3, n=3000, n_groups=3, levels=None, shift=shift))
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


GOOD = [1, 0, 0, 0], [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AucConstraint.from_mixtures([1, 0], *GOOD, [1, 0, 0, 0]), "four proportions"),
        (lambda: AucConstraint.from_mixtures([0.5, 0, 0, 0], GOOD[1], *GOOD), "add up to one"),
        (lambda: AucConstraint.from_mixtures([2, -1, 0, 0], GOOD[1], *GOOD), "non-negative"),
        (lambda: AucConstraint.from_mixtures("x", *GOOD, [1, 0, 0, 0]), "alpha must be"),
        (lambda: AucConstraint.named("bsnp"), "bsnp.*intra_group"),
        (lambda: AucConstraint.named(["bnsp"]), "bnsp"),
        (lambda: AucConstraint.from_gap_weights([1, 2]), "five finite numbers"),
        (lambda: AucConstraint.named("bnsp").gap_weights(), "depend on the data"),
        (lambda: AucConstraint.named("bnsp").gap_weights(np.ones((2, 3))), "two groups only"),
        (lambda: AucConstraint.named("pair_error").curves(table_of(*draw(0))), "no pair of curves"),
    ],
)
def test_bad_auc_constraints(make, message):
    with pytest.raises(ValueError, match=message):
        make()
    with pytest.raises(TypeError, match="GroupedScores, not list"):
        AucConstraint.named("bnsp").values([1, 2])


def test_bad_roc_constraints():
    for message, *cases in (
        ("needs rates", {}),
        ("strictly between", {"rates": (0.0, 0.5)}, {"rates": (1.5,)}, {"rates": (np.nan,)}),
        ("repeats one", {"rates": (0.5, 0.5)}),
        ("on must be", {"on": "women", "rates": (0.5,)}),
        ("either rates or", {"rates": (0.5,), "interval": (0.1, 0.2)}),
        ("low < high", {"interval": (0.4, 0.2)}),
        ("two numbers", {"interval": 0.4}, {"interval": (0.1, 0.2, 0.3)}),
        ("n_rates ≥ 1", {"interval": (0.0, 0.2), "n_rates": 0}),
        ("n_rates ≥ 2", {"interval": (0.1, 0.2), "n_rates": 1}),
        ("whole n_rates", {"interval": (0.1, 0.2), "n_rates": 2.9}),
        ("rates must be .*'x'", {"rates": "x"}),
        ("tolerance", {"rates": (0.5,), "tolerance": -0.1}, {"rates": (0.5,), "tolerance": "x"}),
        ("interval", {"rates": (0.5,), "n_rates": 3}),
    ):
        for arguments in cases:
            with pytest.raises(ValueError, match=message):
                RocConstraint(**arguments)
