"""Certificates at cuts: what they say, against loops over cuts; when they are refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.making import draw, often, table_of

from evenscore import Cuts, RateConstraint
from evenscore.inference import CutCertificate, certify_rates
from evenscore.inference.beta_band import share_bounds
from evenscore.inference.cut_gaps import RateErrors, widened_range
from evenscore.inference.exact_rates import ExactRates
from evenscore.scores.rates import CATALOGUE, RATES
from evenscore.scores.selection import Ladder

METHODS = ("intersection_union", "band", "finite_sample")
Z = 1.6448536269514722


def certified(scores, *rates, cuts=None, tolerance=0.05, **more) -> CutCertificate:
    cuts = Cuts(between=(0.1, 0.4)) if cuts is None else cuts
    ladder = cuts.ladder(scores)
    return certify_rates(
        ladder,
        [CATALOGUE[name] for name in rates or ("fpr", "fnr")],
        cuts.steps(ladder),
        tolerance=tolerance,
        share_range=cuts.between,
        shares=cuts.at,
        **more,
    )


def even(n, n_groups=2, gap=0.0, seed=0, **more):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    return table_of(y, rng.normal(size=n) + y + gap * group, group, **more)


@pytest.mark.parametrize("weights", [None, "real"])
def test_thresholds_reach_what_a_loop_over_them_does(weights):
    scores = table_of(*draw(3, n=600, n_groups=3, levels=None, weights=weights))
    kind = Cuts(thresholds=(0.2, 0.9))
    found = certified(scores, "fpr", "selection", cuts=kind)
    ladder, most = kind.ladder(scores), 0.0
    for step, _ in kind.steps(ladder):
        for name in ("fpr", "selection"):
            at = RateErrors(ladder).at(CATALOGUE[name], ladder.selected(np.array([step])))
            for i, j in scores.pairs():
                size = abs(at.value[0, i] - at.value[0, j])
                most = max(most, size + Z * at.gap((i, j))[1][0])
    assert found.reach == pytest.approx(most)
    assert not found.certified
    assert certified(scores, "fpr", "selection", cuts=kind, tolerance=most + 1e-9).certified
    assert not certified(scores, "fpr", "selection", cuts=kind, tolerance=most - 1e-9).certified


@pytest.mark.parametrize(("of", "weights"), [("everyone", "real"), ("negatives", None)])
def test_cuts_named_by_shares_have_the_errors_of_their_gaps(of, weights):
    """Those of the shares among them: what intervals of the same gaps are made of."""
    scores = table_of(*draw(3, n=600, n_groups=3, levels=None, weights=weights))
    cuts = Cuts(at=(0.2, 0.5), of=of)
    gaps = RateConstraint("fnr", "selection", cuts=cuts).estimates(scores)
    most = max(abs(gap.value) + Z * gap.standard_error for gap in gaps)
    assert certified(scores, "fnr", "selection", cuts=cuts).reach == pytest.approx(most)
    ladder = cuts.ladder(scores)
    numbers = Cuts(
        thresholds=tuple(ladder.threshold(step, inclusive=False) for step, _ in cuts.steps(ladder))
    )
    assert most >= certified(scores, "fnr", "selection", cuts=numbers).reach - 1e-12


def test_a_coarse_score_is_told_by_what_its_cuts_select():
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, (2, 20_000))
    score = np.repeat([2.0, 1.0, 0.0], [4_240, 9_760, 6_000])  # cuts select 21.2 % and 70 %
    scores = table_of(y, score, group)
    found = certified(scores, "selection", cuts=Cuts(at=(0.6, 0.65)), tolerance=0.1)
    assert found.certified
    assert "selects 21.2% of everyone" in found.words
    assert found.low == found.high == pytest.approx(0.212)


def test_a_range_reaches_what_a_loop_over_the_widened_range_does():
    scores = table_of(*draw(3, n=600, levels=None))
    cuts = Cuts(between=(0.2, 0.5))
    ladder = cuts.ladder(scores)
    n = scores.cell_counts.sum()
    low, high = (
        share + sign * 2.576 * np.sqrt(share * (1 - share) / n)
        for share, sign in ((0.2, -1), (0.5, 1))
    )
    steps = [ladder.last_up_to(low), ladder.last_up_to(high)]
    # The share seen at an end is near the share named: the variance is that of either.
    assert widened_range(ladder, 0.2, 0.5) == pytest.approx(steps, abs=1)
    reach = 0.0
    for step in range(*widened_range(ladder, 0.2, 0.5)):
        at = RateErrors(ladder).at(CATALOGUE["fnr"], ladder.selected(np.array([step])))
        size, error, _ = at.gap((0, 1))
        reach = max(reach, size[0] + Z * error[0])
    found = certified(scores, "fnr", cuts=cuts)
    assert found.reach == pytest.approx(reach, abs=1e-3)
    assert certified(scores, "fnr", cuts=cuts, tolerance=0.6).low == 0.2
    assert certified(scores, "fnr", cuts=cuts, tolerance=0.6).high == 0.5


@pytest.mark.parametrize(("of", "side"), [("everyone", "low"), ("negatives", "high")])
def test_a_range_is_widened_by_standard_errors_of_the_share(of, side):
    """Also where weights go with scores: against the spread of the share over samples."""
    rng = np.random.default_rng(0)
    shares, spans = [], []
    for _ in range(200):
        y = rng.integers(0, 2, 1_000)
        normal = rng.normal(size=1_000)
        weight = rng.gamma(2.0, size=1_000) * np.where(normal > 0.0, 4.0, 1.0)
        ladder = Ladder.make(table_of(y, normal + y, y * 0, weight), of, side)
        shares.append(ladder.share[ladder.step_at(0.9, inclusive=False)])
        share = float(np.mean(shares))
        first, last = widened_range(ladder, share, share)
        spans.append(ladder.share[last] - ladder.share[first])
    assert np.mean(spans[50:]) / (2.0 * 2.576) == pytest.approx(np.std(shares), rel=0.15)


@given(st.integers(0, 10**6), st.sampled_from(["high", "low"]), st.sampled_from([4, None]))
def test_a_widened_range_holds_the_range(seed, side, levels):
    cuts = Cuts(between=(0.2, 0.5), selected=side)
    ladder = cuts.ladder(table_of(*draw(seed, n=60, levels=levels, weights="real")))
    [(first, last)] = cuts.steps(ladder)
    if first <= last:
        outer, end = widened_range(ladder, 0.2, 0.5)
        assert 1 <= outer <= first <= last <= end <= ladder.n_steps - 1


def test_widening_by_hand():
    scores = table_of([0, 1] * 5_000, range(10_000), list("ab") * 5_000)
    ladder = Cuts(between=(0.2, 0.5)).ladder(scores)
    first, last = widened_range(ladder, 0.2, 0.5)
    assert first == np.floor(2_000 - 2.576 * 40.0)  # √(0.2 · 0.8 · 10⁴) = 40
    assert last == np.floor(5_000 + 2.576 * 50.0)


def test_a_band_certifies_a_stretch_of_the_range():
    rng = np.random.default_rng(0)
    n = 60_000
    y, group = rng.integers(0, 2, (2, n))
    score = rng.normal(size=n) + y
    # Above 1.5 the second group loses points: gaps at the strictest cuts alone.
    score = np.where((group == 1) & (score > 1.5), 1.5 + 0.5 * (score - 1.5), score)
    scores = table_of(y, score, group)
    cuts = Cuts(between=(0.02, 0.5))
    found = certified(scores, cuts=cuts, method="band", tolerance=0.04)
    assert found.certified
    assert 0.05 < found.low < 0.3
    assert found.high == pytest.approx(0.5, abs=0.001)
    assert not certified(scores, cuts=cuts, tolerance=0.04).certified
    # Where the certificate holds the gaps seen are within the tolerance, with room to spare.
    ladder = cuts.ladder(scores)
    steps = np.arange(ladder.last_up_to(found.low), ladder.last_up_to(found.high) + 1)
    for name in ("fpr", "fnr"):
        size, error, _ = RateErrors(ladder).at(CATALOGUE[name], ladder.selected(steps)).gap((0, 1))
        assert (size + 2.5 * error <= 0.04).all()


@pytest.mark.parametrize("rate", [RATES[1], RATES[-2]], ids=lambda rate: rate.name)
def test_bounds_for_any_law_hold_rates_at_all_cuts(rate):
    """Joint over cuts and groups, in samples of 80 of a law with ties, at a level of 60 %."""
    rng = np.random.default_rng(0)
    values = np.arange(8)
    law = rng.dirichlet(np.ones(8), (2, 2))
    shares = np.array([[0.3, 0.2], [0.3, 0.2]])
    above = 1.0 - np.cumsum(law, axis=2)  # true shares of each cell above each score
    held, samples = 0, often(60)
    for _ in range(samples):
        cell = rng.choice(4, size=160, p=shares.reshape(-1))
        y, group = np.divmod(cell, 2)
        score = np.array([rng.choice(values, p=law[a, b]) for a, b in zip(y, group, strict=True)])
        ladder = Ladder.make(table_of(y, score, group, group_order=[0, 1]), "everyone", "high")
        exact = ExactRates(ladder, [rate], [0, 1], 0.4)
        steps = np.arange(1, ladder.n_steps)
        low, high = exact.at(rate, ladder.selected(steps))
        cuts = [int(ladder.threshold(int(step), inclusive=False)) for step in steps]
        true_above = np.moveaxis(above[:, :, cuts], 2, 0)
        totals = shares
        if rate.standardised:  # at the share of positives seen
            seen = ladder.scores.cell_weights.sum(axis=1)
            totals = np.repeat(seen[:, None] / 2.0, 2, axis=1)
        true = rate.values(true_above * totals, totals)
        held += bool(((low <= true + 1e-9) & (true <= high + 1e-9) | np.isnan(true)).all())
        seen_value = rate.values(ladder.selected(steps).weight, ladder.scores.cell_weights)
        inside = (low <= seen_value + 1e-9) & (seen_value <= high + 1e-9)
        assert (inside | np.isnan(seen_value)).all()
    assert held / samples >= 0.6 - 2.0 * np.sqrt(0.24 / samples)


def test_a_finite_sample_certificate_is_made_of_bands_of_the_cells():
    scores = even(3_000, seed=1)
    cuts = Cuts(thresholds=(0.7,))
    found = certified(scores, "fpr", cuts=cuts, method="finite_sample")
    ladder = cuts.ladder(scores)
    [(step, _)] = cuts.steps(ladder)
    selected = ladder.selected(np.array([step])).count[0, 0].astype(int)
    bounds = []
    for seen, size in zip(selected, scores.cell_counts[0].astype(int), strict=True):
        low, high = share_bounds(int(size), 0.05 / 3)  # two cells and the pool
        bounds.append((low[seen], high[seen]))
    (a, b), (c, d) = bounds
    assert found.reach == pytest.approx(max(b - c, d - a))
    rates = [CATALOGUE["fpr"], CATALOGUE["standardised_precision"]]  # of shares of both classes
    assert ExactRates(ladder, rates, [0, 1], 0.05).delta == pytest.approx(0.05 / 5)


@pytest.mark.parametrize("method", METHODS)
def test_more_rates_groups_and_confidence_never_help(method):
    scores = even(6_000, n_groups=3)
    base = certified(scores, "fpr", method=method, pairs=[(0, 1)])
    for more in (
        certified(scores, "fpr", "fnr", method=method, pairs=[(0, 1)]),
        certified(scores, "fpr", method=method),
        certified(scores, "fpr", method=method, pairs=[(0, 1)], confidence_level=0.99),
    ):
        assert more.reach >= base.reach - 0.002  # bridges are drawn anew
        assert more.needed >= 0.97 * base.needed


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=often(4))
@given(seed=st.integers(0, 10**6))
def test_names_order_and_scale_do_not_matter(method, seed):
    y, score, group, _ = draw(seed, n=200, n_groups=3, levels=20)
    one = certified(table_of(y, score, group), method=method)
    order = np.random.default_rng(seed).permutation(len(y))
    names = np.array(["", "<b>", "x and y"], dtype=object)  # in this order
    two = certified(table_of(y[order], np.exp(score[order]), names[group[order]]), method=method)
    assert (one.reach, one.needed, one.lacking) == (two.reach, two.needed, two.lacking)
    turned = certified(table_of(y, score, group, group_order=[2, 1, 0]), method=method)
    if method != "band":  # its bridges are drawn for groups in order
        assert one.reach == pytest.approx(turned.reach)


def test_errors_shrink_with_the_root_of_the_number_of_people():
    found = [certified(even(n)).needed for n in (4_000, 16_000, 64_000)]
    assert max(found) / min(found) < 1.15
    half = certified(even(16_000), tolerance=0.025).needed
    assert half / found[1] == pytest.approx(4.0, rel=0.01)


def test_what_is_lacking():
    few = certified(even(1_000))
    assert (few.certified, few.lacking) == (False, "data")
    assert f"about {few.needed:,} {few.smallest[0]}; there are {few.smallest[1]:,}" in few.words
    assert few.smallest[1] == even(1_000).cell_counts.min()
    uneven = certified(even(40_000, gap=0.5))
    assert (uneven.certified, uneven.lacking) == (False, "evenness")
    assert "more than 0.05" in uneven.words
    assert certified(even(1_000, gap=2.0)).lacking == "evenness"  # for certain, few as they are
    fair = certified(even(40_000))
    assert (fair.certified, fair.lacking) == (True, "")
    assert np.isnan([uneven.low, uneven.high]).all()


def test_shares_of_those_selected_need_enough_of_them():
    found = certified(even(1_000), "precision", cuts=Cuts(between=(0.02, 0.3)), tolerance=0.9)
    assert not found.certified
    assert found.lacking == "data"
    assert "too few people to tell" in found.words
    assert found.reach == 1.0
    assert found.needed > found.smallest[1]
    assert certified(even(40_000), "precision", cuts=Cuts(between=(0.02, 0.3)), tolerance=0.3)


@pytest.mark.parametrize("method", METHODS)
def test_without_outcomes_selection_is_certified(method):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 60_000)
    score = rng.normal(size=60_000)
    found = certified(table_of(group * 0, score, group, pos_label=1), "selection", method=method)
    assert found.certified
    assert found.smallest[0].startswith("people of ")


def test_an_empty_cell_is_not_certified():
    y, score, group, _ = draw(0, n=2_000, levels=None)
    kept = (y == 0) | (group == 0)
    scores = table_of(y[kept], score[kept], group[kept])
    for method in METHODS:
        found = certified(scores, method=method, tolerance=0.9)
        assert not found.certified
        assert found.smallest == ("positives of 1", 0)
        assert found.needed >= 6  # within 0.9
    assert certified(scores, "fpr", tolerance=0.9).certified


def test_clusters_and_weights_cost_certainty():
    y, score, group, _ = draw(0, n=2_000, levels=None)
    twice = [np.repeat(column, 2) for column in (y, score, group)]
    cluster = np.repeat(np.arange(len(y)), 2)
    plain = certified(table_of(*twice))
    assert certified(table_of(*twice, cluster=cluster)).reach > plain.reach
    weight = np.random.default_rng(0).gamma(0.5, size=len(y)) + 0.01
    weighted = certified(table_of(y, score, group, weight))
    assert weighted.needed > 1.5 * certified(table_of(y, score, group)).needed


def test_bad_input_is_refused():
    for named, more in (
        ("method", {"method": "bootstrap"}),
        ("tolerance", {"tolerance": 0.0}),
        ("tolerance", {"tolerance": 1.5}),
        ("confidence_level", {"confidence_level": 1.0}),
        ("two of them", {"pairs": []}),
        ("one range of cuts", {"method": "band", "cuts": Cuts(at=(0.1, 0.2))}),
    ):
        with pytest.raises(ValueError, match=named):
            certified(even(400), **more)


def test_one_group_has_nothing_to_compare():
    with pytest.raises(ValueError, match="compares groups"):
        certified(table_of([0, 1] * 50, range(100), ["a"] * 100))


def test_any_law_takes_people_alike_and_independent():
    y, score, group, weight = draw(0, weights="real")
    with pytest.raises(ValueError, match="weights differ"):
        certified(table_of(y, score, group, weight), method="finite_sample")
    same = certified(table_of(y, score, group, np.full(len(y), 2.5)), method="finite_sample")
    assert same.reach == certified(table_of(y, score, group), method="finite_sample").reach
    with pytest.raises(ValueError, match="clusters"):
        certified(table_of(y, score, group, cluster=np.arange(len(y)) // 2), method="finite_sample")


@pytest.mark.parametrize("method", METHODS)
def test_a_score_without_a_cut_there_is_not_certified(method):
    y, _, group, _ = draw(0)
    for score in (np.ones(len(y)), (np.arange(len(y)) % 2) * 1.0):
        found = certified(table_of(y, score, group), method=method)
        assert not found.certified
        assert found.lacking == ""
        assert "10% to 40%" in found.words


def test_a_handful_of_people_and_ties():
    for seed in range(8):
        found = certified(table_of(*draw(seed, n=3, levels=4)), method=METHODS[seed % 3])
        assert not found.certified
        assert 0.0 <= found.reach <= 1.0


@pytest.mark.slow
def test_intervals_hold_the_truth(monkeypatch):
    """The one simulation here: benchmarks/cuts_coverage.py in small."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmarks")
    import cuts_coverage

    samples = often(40)
    found = cuts_coverage.coverage("15 levels", samples)
    assert len(found) == 28
    assert min(found.values()) > 0.95 - 4.0 * np.sqrt(0.05 * 0.95 / samples)
