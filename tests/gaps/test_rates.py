"""Gaps of rates at the cuts in use: the definition, its invariances, and its surrogate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.making import draw, often, table_of
from support.naive_cuts import NAMES, Sample

from evenscore import Cuts, RateConstraint, RocConstraint, rate_names
from evenscore.gaps import EstimateSettings
from evenscore.gaps.smooth import smooth_cells
from evenscore.inference.cut_certificates import certify_rates

KINDS = {
    "range": Cuts(between=(0.2, 0.7)),
    "points": Cuts(at=(0.3, 0.6)),
    "thresholds": Cuts(thresholds=(-0.25, 0.5)),
    "inclusive": Cuts(thresholds=(-0.25, 0.5), inclusive=True),
    "low": Cuts(between=(0.2, 0.7), selected="low"),
    "negatives": Cuts(between=(0.2, 0.7), of="negatives"),
    "positives": Cuts(at=(0.3, 0.6), of="positives", selected="low"),
}


def chosen_by(cuts, sample):
    """For the range, or for every point, the ways to cut that it means."""
    if cuts.between is not None:
        return [sample.between(*cuts.between, cuts.of, cuts.selected)]
    if cuts.at:
        return [sample.at(share, cuts.of, cuts.selected) for share in cuts.at]
    if cuts.inclusive:
        return [[lambda score, t=t: score >= t] for t in cuts.thresholds]
    return [[lambda score, t=t: score > t] for t in cuts.thresholds]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "levels", "n_groups", "weights"),
    [
        ("range", None, 2, "real"),
        ("points", 10, 3, None),
        ("thresholds", None, 2, None),
        ("inclusive", 10, 3, "real"),
        ("low", 10, 2, "real"),
        ("negatives", 10, 2, None),
        ("positives", None, 2, "real"),
    ],
)
def test_values_and_estimates_are_those_of_loops_over_people(kind, levels, n_groups, weights):
    rows = draw(11, n=330, n_groups=n_groups, levels=levels, weights=weights)
    scores, sample, cuts = table_of(*rows), Sample(*rows), KINDS[kind]
    family = RateConstraint(*NAMES, cuts=cuts)
    keys, values = family.keys(scores.groups), family.values(scores)
    estimates = family.estimates(scores)
    number = 0
    for name in NAMES:
        for i in range(n_groups):
            for j in range(i + 1, n_groups):
                for text, choices in zip(cuts.texts(), chosen_by(cuts, sample), strict=True):
                    key, value, gap = keys[number], values[number], estimates[number]
                    number += 1
                    expected = sample.largest(name, choices, i, j)
                    assert (key.name, key.first, key.second) == (f"{name}_gap", str(i), str(j))
                    assert key.at == text
                    np.testing.assert_allclose(abs(value), abs(expected), atol=1e-12)
                    np.testing.assert_allclose(gap.value, value, atol=1e-12)
                    if np.isnan(value):
                        assert "no value" in " ".join(gap.warnings)
                        continue
                    # The cut that is named has that gap.
                    t, low = gap.threshold, cuts.selected == "low"

                    def named(score, t=t, low=low, inclusive=cuts.inclusive):
                        beyond = score < t if low else score > t
                        return beyond or (inclusive and score == t)

                    assert sample.gap(name, named, i, j) == pytest.approx(value, abs=1e-12)
                    assert sample.share(named, cuts.of) == pytest.approx(gap.selected_share)
                    assert gap.first_value - gap.second_value == pytest.approx(value)
                    assert gap.low <= value <= gap.high
    assert number == len(keys) == len(values) == len(estimates)


def test_a_threshold_is_called_as_its_users_call_it():
    """Not by the nearest score of the sample, which makes the same cut."""
    scores = table_of(*draw(5, n=300, levels=None))
    for selected, inclusive, side in (
        ("high", False, "above"), ("high", True, "at least"), ("low", True, "at most"),
    ):  # fmt: skip
        cuts = Cuts(thresholds=0.123456, selected=selected, inclusive=inclusive)
        [gap] = RateConstraint("fpr", cuts=cuts).estimates(scores)
        assert gap.threshold == 0.123456
        assert gap.words.endswith(f"{side} 0.123456)")


def test_the_catalogue_is_tested_whole():
    assert rate_names() == NAMES


families = st.builds(
    lambda kind: RateConstraint("selection", "fpr", "fnr", "error", cuts=KINDS[kind]),
    st.sampled_from(["range", "points", "low", "negatives", "positives"]),
)
seeds = st.integers(0, 10**6)
OTHER_SIDE = {"high": "low", "low": "high"}


def ends(family, scores):
    estimates = family.estimates(scores)
    return np.array([(gap.value, gap.low, gap.high, gap.standard_error) for gap in estimates])


@pytest.mark.slow
@settings(max_examples=often(12))
@given(families, seeds)
def test_what_may_not_matter_does_not(family, seed):
    """Names and order of groups, order of rows, increasing maps, scores turned round."""
    y, score, group, weight = draw(seed, n=80, n_groups=3, weights="real")
    order = np.random.default_rng(seed).permutation(len(y))
    odd = np.array(["", "a and b", "É / <b>"], dtype=object)[group]
    base = ends(family, table_of(y, score, group, weight))
    moved = table_of(y[order], np.exp(3.0 * score[order]) - 7.0, odd[order], weight[order])
    np.testing.assert_allclose(base, ends(family, moved), atol=1e-9)
    cuts = family.cuts
    other = Cuts(cuts.between, cuts.at, of=cuts.of, selected=OTHER_SIDE[cuts.selected])
    turned = RateConstraint(*family.rates, cuts=other)
    np.testing.assert_allclose(base, ends(turned, table_of(y, -score, group, weight)), atol=1e-9)
    exchanged = ends(family, table_of(y, score, group, weight, group_order=[2, 1, 0]))
    base, exchanged = (part.reshape(4, 3, -1, 4) for part in (base, exchanged))
    one, two = base[:, 2], exchanged[:, 0]  # the groups 1 and 2, and 2 and 1
    np.testing.assert_allclose(np.abs(one[..., 0]), np.abs(two[..., 0]), atol=1e-12)
    np.testing.assert_allclose(one[..., 3], two[..., 3], atol=1e-9)
    if cuts.at:
        np.testing.assert_allclose(one[..., :3], -two[..., [0, 2, 1]], atol=1e-9)


@settings(max_examples=often(10))
@given(seeds)
def test_some_pairs_are_those_of_all(seed):
    scores = table_of(*draw(seed, n=90, n_groups=4))
    family = RateConstraint("fpr", "selection", cuts=KINDS["range"])
    every = dict(zip(family.keys(scores.groups), family.values(scores), strict=True))
    pairs = ((2, 0), (1, 3))
    some = family.keys(scores.groups, pairs)
    for key, value in zip(some, family.values(scores, pairs), strict=True):
        if key in every:
            assert value == pytest.approx(every[key])
        else:
            turned = key._replace(first=key.second, second=key.first)
            assert abs(value) == pytest.approx(abs(every[turned]))
    found = [gap.value for gap in family.estimates(scores, EstimateSettings(pairs=pairs))]
    np.testing.assert_allclose(found, family.values(scores, pairs), atol=1e-12)


def reason(scores, *rates, cuts=None):
    family = RateConstraint(*rates, cuts=cuts or Cuts(between=(0.2, 0.7)))
    [gap] = family.estimates(scores)
    assert np.isnan([gap.value, gap.low, gap.high]).all()
    assert np.isnan(family.values(scores)).all()
    return " ".join(gap.warnings)


def test_an_empty_cell_has_no_value_and_a_reason():
    y, score, group, _ = draw(0)
    kept = (y == 0) | (group == 0)
    scores = table_of(y[kept], score[kept], group[kept])
    assert "positives of 1" in reason(scores, "fnr")
    assert not np.isnan(RateConstraint("fpr").values(scores)).any()


def test_where_there_is_no_cut_there_is_no_value_and_a_reason():
    coarse = table_of([0, 1] * 20, [1.0, 1.0, 2.0, 2.0] * 10, ["a", "b"] * 20)
    assert "20% to 40%" in reason(coarse, "selection", cuts=Cuts(between=(0.2, 0.4)))
    assert "nobody or everybody" in reason(coarse, "selection", cuts=Cuts(thresholds=(9.0,)))
    few = table_of(*draw(0, n=60))
    assert "30 people" in reason(few, "precision")
    assert "not selected" in reason(few, "false_omission")
    constant = table_of([0, 1] * 9, [3] * 18, list("aab") * 6)
    assert "scores are equal" in reason(constant, "fpr")
    assert not RateConstraint("fnr").certify(constant, tolerance=0.5).certified
    y, score, group, _ = draw(0)
    no_positives = table_of(np.zeros_like(y), score, group, pos_label=1)
    assert reason(no_positives, "selection", cuts=Cuts(between=(0.2, 0.7), of="positives"))


def test_without_outcomes_there_is_selection():
    y, score, group, _ = draw(0)
    known = RateConstraint("selection").values(table_of(y, score, group))
    unknown = RateConstraint("selection").values(
        table_of(np.zeros_like(y), score, group, pos_label=1)
    )
    np.testing.assert_allclose(known, unknown)


def test_what_is_refused():
    for rates, more, message in (
        ((), {}, "needs a rate"),
        (("tpr",), {}, "'tpr'"),
        (("fpr", "fpr"), {}, "repeats one"),
        (("fpr",), {"tolerance": 2.0}, "tolerance"),
    ):
        with pytest.raises(ValueError, match=message):
            RateConstraint(*rates, **more)
    family = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)))
    assert family.narrowed(family.keys("ab")[1]).rates == ("fnr",)
    assert family.values(table_of([0, 1] * 5, range(10), ["a"] * 10)).shape == (0,)


CUTS = {
    "everyone": Cuts(at=(0.2, 0.45)),
    "negatives": Cuts(at=(0.3,), of="negatives"),
    "positives, low": Cuts(at=(0.35, 0.6), of="positives", selected="low"),
}


@pytest.mark.parametrize(
    ("kind", "n_groups"), [("everyone", 3), ("negatives", 2), ("positives, low", 2)]
)
@pytest.mark.parametrize("name", ["selection", "fnr", "standardised_precision"])
def test_slopes_of_the_surrogate_are_finite_differences(name, n_groups, kind):
    y, score, group, weight = draw(4, n=40, n_groups=n_groups, levels=None, weights="real")
    cell = group + n_groups * y
    totals = np.bincount(cell, weights=weight, minlength=2 * n_groups)
    share, family = weight / totals[cell], RateConstraint(name, cuts=CUTS[kind])

    def surrogate(score):
        cells = smooth_cells(score, cell, share, totals.reshape(2, -1), 0.4)
        return cells, family.surrogate(cells)

    cells, made = surrogate(score)
    assert len(made.gaps) == len(family.keys(range(n_groups)))
    multipliers = np.random.default_rng(0).normal(size=len(made.gaps))
    slopes = made.slopes(multipliers)
    gradient = share * cells.grid.read(slopes, cell, score)
    for k in range(0, len(score), 5):
        differences = []
        for sign in (1.0, -1.0):
            moved = score.copy()
            moved[k] += sign * 1e-4
            differences.append(multipliers @ surrogate(moved)[1].gaps)
        expected = (differences[0] - differences[1]) / 2e-4
        assert gradient[k] == pytest.approx(expected, abs=2e-5)


def test_a_narrow_kernel_gives_the_gaps_themselves():
    y, score, group, _ = draw(2, n=3_000, levels=None)
    scores = table_of(y, score, group)
    cell = group + 2 * y
    share = 1.0 / np.bincount(cell)[cell]
    cells = smooth_cells(score, cell, share, scores.cell_weights, 0.002)
    family = RateConstraint(*NAMES, cuts=Cuts(at=(0.2, 0.5)))
    np.testing.assert_allclose(family.surrogate(cells).gaps, family.values(scores), atol=0.004)


def test_a_range_is_trained_at_its_cuts():
    family = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.02)
    assert len(family.trained().keys("ab")) == 2 * 8
    assert family.trained().tolerance == 0.02
    y, score, group, _ = draw(0)
    cells = smooth_cells(score, group + 2 * y, np.ones(len(y)), np.ones((2, 2)), 0.4)
    with pytest.raises(TypeError, match="cuts of its own"):
        family.surrogate(cells)
    assert RateConstraint("fpr", cuts=Cuts(thresholds=1.0)).guards() is None


@pytest.mark.parametrize(
    ("cuts", "shift"),
    [
        (Cuts(between=(0.1, 0.4)), 0.5),
        (Cuts(at=(0.2, 0.3), of="negatives"), 0.0),
        (Cuts(thresholds=(1.0,)), 0.0),
    ],
)
def test_it_is_certified_over_all_cuts_rates_and_pairs_at_once(cuts, shift):
    y, score, group, _ = draw(2, n=4000, n_groups=3, levels=None, shift=shift)
    scores = table_of(y, score, group)
    family = RateConstraint("fpr", "fnr", cuts=cuts)
    ladder = cuts.ladder(scores)
    expected = certify_rates(
        ladder, family.entries, cuts.steps(ladder), tolerance=0.2, confidence_level=0.9,
        share_range=cuts.between, shares=cuts.at,
    )  # fmt: skip
    found = family.certify(scores, tolerance=0.2, confidence_level=0.9)
    for name in ("certified", "reach", "smallest", "words", "tolerance", "confidence_level"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.gap == pytest.approx(np.abs(family.values(scores)).max())
    assert found.method == "intersection_union"
    assert found.certified == (shift == 0.0)
    assert np.isnan(found.times) == found.certified
    own = RateConstraint("fpr", "fnr", cuts=cuts, tolerance=0.01)
    assert not own.certify(scores, tolerance=0.2).certified


def test_the_noise_of_gaps_of_groups_that_are_alike():
    sizes = np.array([400.0, 100.0, 200.0, 50.0])
    negatives, everyone = 1 / 400 + 1 / 100, 1 / 600 + 1 / 150
    for of, expected in (
        ("everyone", (0.25 * negatives, 0.16 * everyone)),
        ("negatives", (0.16 * negatives, 0.25 * everyone)),  # no more is known of other pools
    ):
        family = RateConstraint("fpr", "selection", cuts=Cuts(at=0.2, of=of))
        assert family.noise(sizes) == pytest.approx(np.sqrt(expected))
    [noise] = RocConstraint(on="negatives", rates=(0.2,)).noise(sizes)
    assert noise == pytest.approx(np.sqrt(0.16 * negatives))
    assert np.isnan(RateConstraint("fpr", cuts=Cuts(at=0.2)).noise(np.array([0.0, 9, 9, 9])))
