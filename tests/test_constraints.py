import pickle

import numpy as np
import pytest
from conftest import draw
from hypothesis import given
from hypothesis import strategies as st

from evenscore import AucConstraint, GroupedScores, RocConstraint, constraint_names
from evenscore.catalogue import CATALOGUE
from evenscore.constraints import as_constraints, worst
from evenscore.measures import auc_matrix, elementary_gaps


def make(y, score, group, weight=None):
    return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)


@pytest.mark.parametrize("name", constraint_names())
def test_named_gaps_meet_the_formulas(sample, name):
    rows, scores = sample
    gaps = AucConstraint.named(name).gaps(scores)
    assert len(gaps) == len(scores.pairs())
    for gap, (i, j) in zip(gaps, scores.pairs(), strict=True):
        expected = rows.gap(name, scores.groups[i], scores.groups[j], scores.groups[0])
        assert gap.value == pytest.approx(expected, abs=1e-12)
        assert (gap.first, gap.second) == (str(scores.groups[i]), str(scores.groups[j]))
        assert gap.reason is None


@pytest.mark.parametrize("name", constraint_names())
@given(seed=st.integers(0, 10**6), weights=st.sampled_from([None, "real"]))
def test_gap_weights_times_elementary_gaps_is_the_gap(name, seed, weights):
    scores = make(*draw(seed, n=50, weights=weights))
    constraint = AucConstraint.named(name)
    product = constraint.gap_weights(scores.cell_weights) @ elementary_gaps(auc_matrix(scores))
    assert product == pytest.approx(constraint.gaps(scores)[0].value, abs=1e-13)


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
    assert combined.gaps(scores)[0].value == pytest.approx(named.gaps(scores)[0].value, abs=1e-13)


@pytest.mark.parametrize("name", sorted(set(constraint_names()) - {"pair_error"}))
def test_signed_area_between_the_curves_is_the_gap(name, sample):
    _, scores = sample
    constraint = AucConstraint.named(name)
    for gap, pair in zip(constraint.gaps(scores), scores.pairs(), strict=True):
        one, two = constraint.curves(scores, *pair)
        assert one.difference(two).signed_area == pytest.approx(gap.value, abs=1e-12)


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
    assert constraint.gaps(scores)[0].value == pytest.approx(direct, abs=1e-12)
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
    for one, two in zip(
        mixture.gaps(scores), AucConstraint.named("inter_group").gaps(scores), strict=True
    ):
        assert one.value == pytest.approx(two.value, abs=1e-14)


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
        AucConstraint.named("bnsp").gaps([1, 2])
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
    gaps = AucConstraint.named("bnsp").gaps(scores)
    assert [np.isnan(gap.value) for gap in gaps] == [False, True, True]
    assert str(gaps[1]) == "bnsp is undefined: there are no positives of 2"
    assert np.isnan(worst(gaps).value)
    # The negatives of every group are there, and so is what needs only them.
    assert not any(np.isnan(gap.value) for gap in AucConstraint.named("bpsn").gaps(scores))
    roc = RocConstraint(on="both", rates=(0.25,)).gaps(scores)
    assert [gap.reason is None for gap in roc] == [True, True, True, True, False, False]


def test_the_reason_names_only_the_cells_that_are_needed():
    y, score, group, _ = draw(4)
    keep = (y == group) | (group == 2)  # no negatives of 1, no positives of 0
    scores = make(y[keep], score[keep], group[keep])

    def reason(name):
        [gap] = AucConstraint.named(name).gaps(scores)
        return gap.reason

    assert reason("bnsp") == "bnsp is undefined: there are no positives of 0"
    assert reason("bpsn") == "bpsn is undefined: there are no negatives of 1"
    assert reason("intra_group").endswith("no negatives of 1 and no positives of 0")
    assert reason("pair_error") is None
    roc = RocConstraint(on="both", rates=(0.5,)).gaps(scores)
    assert [gap.reason for gap in roc] == [
        "roc_gap(negatives) is undefined: there are no negatives of 1",
        "roc_gap(positives) is undefined: there are no positives of 0",
    ]


def test_many_groups_are_not_slow():
    import time

    y, score, group, _ = draw(1, n=20_000, n_groups=100, levels=None)
    scores = make(y, score, group)
    matrix = auc_matrix(scores)
    start = time.perf_counter()
    gaps = [
        gap for name in constraint_names() for gap in AucConstraint.named(name).gaps(scores, matrix)
    ]
    assert len(gaps) == 8 * 4950
    assert time.perf_counter() - start < 5.0


def test_worst_names_the_pair():
    y, score, group, _ = draw(12, n=400, n_groups=4, shift=0.8)
    gap = worst(AucConstraint.named("zero_aeg_negatives").gaps(make(y, score, group)))
    assert (gap.first, gap.second) == ("0", "3")
    with pytest.raises(ValueError, match="at least two groups"):
        worst([])


def test_words_say_who_is_better_off():
    gap = AucConstraint.named("inter_group").gaps(
        make([0, 1, 0, 1], [1, 2, 2, 3], ["women", "women", "men", "men"])
    )[0]
    assert gap.words == (
        "a positive of women outranks a negative of men in 50.0% of pairs; "
        "a positive of men outranks a negative of women in 100.0%"
    )


# ---------------------------------------------------------------------- ROC constraints


def test_roc_constraint_gaps(sample):
    import reference

    rows, scores = sample
    gaps = RocConstraint(on="both", rates=(0.2, 0.4)).gaps(scores)
    assert len(gaps) == 2 * 2 * len(scores.pairs())
    for gap in gaps:
        label = 0 if gap.on == "negatives" else 1
        one, two = rows.pick(label, int(gap.first)), rows.pick(label, int(gap.second))
        expected = reference.roc(one[0], two[0], gap.rate, one[1], two[1]) - gap.rate
        assert gap.value == pytest.approx(expected, abs=1e-12)


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
        (dict(interval=(0.0, 0.2)), "strictly between 0 and 1"),
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
