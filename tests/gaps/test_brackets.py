"""Gaps of a table of bins are within their brackets, and what is said of them knows of that."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.binning import BinnedRows, binned_rows, bins_of, drawn_rows

from evenscore import CurveConstraint, Cuts, RateConstraint, RocConstraint, rate_names
from evenscore.gaps import AucConstraint, EstimateSettings
from evenscore.gaps.catalogue import constraint_names
from evenscore.gaps.family import family_estimates, family_intervals
from evenscore.inference.decisions import decide
from evenscore.scores.bins import Bins
from evenscore.scores.brackets import has_open_bins

SLACK = 1e-9


def check(family, rows, *, sizes=False):
    """Gaps of two tables, or their sizes if the largest of several is meant, are near enough."""
    exact, binned = rows.exact, rows.binned
    values = family.values(exact), family.values(binned)
    one, two = map(np.abs, values) if sizes else values
    off = np.abs(one - two)
    bracket = family.brackets(binned)
    assert bracket.shape == off.shape
    assert np.all(bracket >= 0.0)
    assert np.all(np.isnan(off) | (off <= bracket + SLACK)), (off, bracket)


@given(binned_rows())
def test_auc_gaps(rows):
    for name in constraint_names():
        check(AucConstraint.named(name), rows)
    check(AucConstraint.from_gap_weights([1.0, -2.0, 0.5, 1.0, 0.0]), rows)


POOLS = st.sampled_from(["everyone", "negatives", "positives"])
SIDES = st.sampled_from(["high", "low"])
SHARES = st.floats(0.02, 0.98)


def with_enough(rows):
    """The same people thirty times: then precision has enough of them behind it."""
    weight = None if rows.weight is None else np.tile(rows.weight, 30)
    return BinnedRows(
        *(np.tile(column, 30) for column in (rows.positive, rows.score, rows.group)),
        weight,
        rows.bins,
    )


@given(binned_rows(), POOLS, SIDES, SHARES, SHARES, st.booleans())
def test_rates_over_a_range_and_at_its_ends(rows, of, selected, one, two, often):
    if abs(one - two) < 1e-6:
        return
    ends = min(one, two), max(one, two)
    rows = with_enough(rows) if often else rows
    cuts = Cuts(between=ends, of=of, selected=selected)
    check(RateConstraint(*rate_names(), cuts=cuts), rows, sizes=True)
    check(RateConstraint(*rate_names(), cuts=Cuts(at=ends, of=of, selected=selected)), rows)


@given(binned_rows(), SIDES, st.booleans(), st.integers(0, 99), st.booleans())
def test_rates_at_thresholds(rows, selected, inclusive, seed, between):
    cut = float(np.random.default_rng(seed).choice(rows.score))
    cuts = Cuts(thresholds=(cut + 0.01 * between,), selected=selected, inclusive=inclusive)
    check(RateConstraint(*rate_names(), cuts=cuts), with_enough(rows))


@given(binned_rows(), st.lists(SHARES, min_size=1, max_size=3, unique=True))
def test_roc_gaps(rows, rates):
    check(RocConstraint(rates=tuple(rates)), rows, sizes=True)


@given(binned_rows(), SHARES, SHARES)
def test_own_roc_curves(rows, one, two):
    check(CurveConstraint(at=(one,)), rows)
    if abs(one - two) > 1e-6:
        check(CurveConstraint(between=(min(one, two), max(one, two))), rows, sizes=True)


def test_a_range_that_may_begin_in_the_first_bin_has_its_bracket():
    """The top bin holds four people of one group; of every other, all have the same score."""
    score = np.repeat(np.arange(16) / 16 + 0.03, 4)
    score[-4:] = 0.95, 0.96, 0.97, 0.98
    group = np.where(score > 0.94, 0, np.arange(64) % 2)
    rows = BinnedRows(np.arange(64) % 3 > 0, score, group, None, Bins.between(0.0, 1.0, (4,)))
    # The cut that selects 10 % is between steps 1 and 2, but within errors of step 0.
    family = RateConstraint("selection", cuts=Cuts(between=(0.1, 0.6)))
    np.testing.assert_allclose(family.brackets(rows.binned), 4 / 34)


# ---------------------------------------------------------------------- what is said of them

FAMILIES = [
    AucConstraint.named("bnsp"),
    RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4))),
    RateConstraint("selection", "precision", cuts=Cuts(at=(0.2,))),
    RateConstraint("fpr", cuts=Cuts(thresholds=(0.7,))),
    RocConstraint(rates=(0.25,)),
    CurveConstraint(at=(0.2,)),
]


@pytest.fixture(scope="module")
def rows():
    return drawn_rows()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_intervals_are_wider_by_the_bracket_and_hold_the_exact_value(family, rows):
    exact, binned = rows.exact, rows.binned
    bracket = family.brackets(binned)
    assert np.all(bracket > 0.0)
    estimates = family.estimates(binned)
    plain = family.estimate_many([family], binned, [EstimateSettings()])[0]
    for estimate, before, own, value in zip(
        estimates, plain, bracket, family.values(exact), strict=True
    ):
        assert estimate.bracket == own
        assert estimate.low == pytest.approx(before.low - own, abs=1e-12)
        assert estimate.high == pytest.approx(before.high + own, abs=1e-12)
        assert estimate.p_value >= before.p_value
        assert estimate.low <= value <= estimate.high
        # Interval and p-value agree about zero.
        assert (estimate.p_value <= 0.05) == (estimate.low > 0.0 or estimate.high < 0.0)
    low, high = family_intervals(binned, [family])(np.full(len(estimates), 1.959964))
    assert low == pytest.approx([e.low for e in estimates], abs=1e-5)
    assert high == pytest.approx([e.high for e in estimates], abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_bracket_alone_makes_a_verdict_unclear(family, rows):
    """A tolerance that only the bracket keeps the interval from being beyond, or within."""
    plain = family.estimate_many([family], rows.binned, [EstimateSettings()])[0][0]
    wide = family_estimates(rows.binned, [family])[:1]

    def intervals(z):
        low, high = family_intervals(rows.binned, [family])(np.full(len(family.keys("ab")), z[0]))
        return low[:1], high[:1]

    for end in (plain.low, plain.high):
        tolerance = abs(end)
        verdict = decide(wide, tolerance, 0.95, intervals=intervals)[0].verdict
        assert verdict == "unclear"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_certificate_reaches_as_far_as_the_exact_gap(family):
    rows = drawn_rows(n=1200, level=4, shift=0.0)
    exact, binned = rows.exact, rows.binned
    certificate = family.certify(binned, tolerance=0.3, foresee=False)
    assert certificate.reach >= np.abs(family.values(exact)).max()
    closer = family.certify(exact, tolerance=0.3, foresee=False)
    assert certificate.reach >= closer.reach - 0.02  # errors at another cut differ a little
    size = np.abs(family.values(binned)).max() + family.brackets(binned).max()
    assert certificate.reach >= min(size, 1.0) - 1e-9


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_closed_bins_change_nothing(family):
    rows = drawn_rows(n=600)
    score = np.round(rows.score, 1)
    apart_bins = Bins.between(-50.0, 50.0, (1,), (), tuple(np.unique(score).tolist()))
    rows = BinnedRows(rows.positive, score, rows.group, None, apart_bins)
    assert not has_open_bins(rows.binned)
    assert family.estimates(rows.binned) == family.estimates(rows.exact)
    assert not family.brackets(rows.binned).any()
    assert str(family.certify(rows.binned, tolerance=0.1)) == str(
        family.certify(rows.exact, tolerance=0.1)
    )


def test_a_family_that_does_not_know_its_brackets_has_no_interval(rows, monkeypatch):
    family = AucConstraint.named("bnsp")
    monkeypatch.setattr(AucConstraint, "brackets", super(AucConstraint, family).brackets.__func__)
    [gap] = family.estimates(rows.binned)
    assert not gap.has_interval
    assert np.isnan(gap.p_value)
    assert "grouped into bins" in gap.warnings[0]
    assert decide([gap], 0.1, 0.95)[0].verdict == "undefined"
    assert family.estimates(rows.exact)[0].has_interval
    assert not family.certify(rows.binned, tolerance=0.5).certified


def test_finer_bins_have_smaller_brackets(rows):
    finer = replace(rows, bins=bins_of(rows.score, (9,)))
    for family in FAMILIES:
        assert np.all(family.brackets(finer.binned) < family.brackets(rows.binned))
