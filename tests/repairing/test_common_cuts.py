"""Repairs at the cuts of everybody: rates of the groups agree there, as far as one map each can."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from support.making import draw

import evenscore as es
from evenscore.gaps.family import CommonTarget
from evenscore.scores.rates import CATALOGUE

RATES = [("fpr",), ("fnr",), ("selection",), ("fpr", "fnr")]
WHERE = es.Cuts(between=(0.1, 0.4))


def sample(n=3000, n_groups=2, seed=0, prevalence=(0.5, 0.3, 0.6)):
    """Groups that differ in place, spread and prevalence, so that their ROC curves differ."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    y = (rng.random(n) < np.array(prevalence)[group]).astype(int)
    return y, rng.normal(size=n) * (1 + 0.3 * group) + 1.3 * y + 0.8 * group, group


def made(y, score, group, rates=("fpr", "fnr"), cuts=WHERE, weight=None, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The repair leaves")
        return es.repair(
            y,
            score,
            sensitive_features=group,
            constraints=es.RateConstraint(*rates, cuts=cuts),
            sample_weight=weight,
            **options,
        )


def worst(fair, when="after"):
    return max(abs(gap.value) for gap in fair.gaps[when])


def shares(y, chosen, group):
    """By naive loops: of every group the share chosen of negatives, positives and everyone."""
    found = []
    for z in sorted(set(group.tolist())):
        inside = [(a, b) for a, b, c in zip(y, chosen, group, strict=True) if c == z]
        parts = [[b for a, b in inside if a == c] for c in (0, 1)] + [[b for _, b in inside]]
        found.append([sum(part) / len(part) for part in parts])
    return np.array(found)


def smallest_cell(y, group):
    return min(np.sum((y == c) & (group == z)) for c in (0, 1) for z in set(group.tolist()))


# ---------------------------------------------------------------------- one rate is made equal


@pytest.mark.parametrize(
    ("of", "selected", "rate"),
    [
        ("everyone", "high", "fpr"),
        ("everyone", "low", "fnr"),
        ("negatives", "high", "selection"),
        ("negatives", "low", "fpr"),
        ("positives", "high", "fnr"),
        ("positives", "low", "selection"),
    ],
)
def test_one_rate_is_equal_at_points(of, selected, rate):
    y, score, group = sample(n_groups=3)
    cuts = es.Cuts(at=(0.15, 0.4), of=of, selected=selected)
    fair = made(y, score, group, (rate,), cuts)
    few = 3.0 / smallest_cell(y, group)
    assert worst(fair, "before") > 0.1
    assert worst(fair) <= few
    assert fair.shortfall is None
    mapped = fair.transform(score, sensitive_features=group)
    pool = {"everyone": y >= 0, "negatives": y == 0, "positives": y == 1}[of]
    values = np.sort(mapped[pool] if selected == "low" else -mapped[pool])
    for share in cuts.at:
        cut = values[int(share * len(values))]  # the first that is not selected
        chosen = mapped < cut if selected == "low" else -mapped < cut
        column = {"fpr": 0, "fnr": 1, "selection": 2}[rate]
        assert np.ptp(shares(y, chosen, group)[:, column]) <= few


@pytest.mark.parametrize("rate", ["fnr"])
def test_over_a_range_what_is_left_of_one_rate_is_chance(rate):
    y, score, group = sample(20_000, seed=1)
    fair = made(y, score, group, (rate,))
    assert worst(fair, "before") > 0.15
    assert worst(fair) < 3.0 / np.sqrt(smallest_cell(y, group))
    assert fair.shortfall is None
    new = sample(40_000, seed=2)
    mapped = fair.transform(new[1], sensitive_features=new[2])
    gaps = es.RateConstraint(rate, cuts=WHERE).values(
        es.GroupedScores.from_arrays(new[0], mapped, sensitive_features=new[2])
    )
    assert np.abs(gaps).max() < 0.04


# ---------------------------------------------------------------------- several: a compromise


@pytest.mark.parametrize(("seed", "of"), [(0, "everyone"), (1, "negatives")])
def test_the_worst_of_two_rates_is_the_least_possible(seed, of):
    y, score, group = sample(260, seed=seed)
    share = 0.3
    fair = made(y, score, group, cuts=es.Cuts(at=(share,), of=of))
    pool = np.ones(len(y), dtype=bool) if of == "everyone" else y == 0
    n = pool.sum()
    # All pairs of cuts that select as many of the pool as the cut does, or one person less.
    places = [np.append(np.unique(score[group == z]), -np.inf) for z in (0, 1)]
    above = [
        np.array([[np.mean(score[(group == z) & (y == c)] > t) for c in (0, 1)] for t in places[z]])
        for z in (0, 1)
    ]
    number = [np.array([np.sum(score[(group == z) & pool] > t) for t in places[z]]) for z in (0, 1)]
    total = number[0][:, None] + number[1][None, :]
    fits = (total <= share * n + 1e-9) & (total >= share * n - 1.0)
    gap = np.abs(above[0][:, None] - above[1][None]).max(axis=2)
    least = gap[fits].min()
    assert worst(fair) <= least + 2.0 / smallest_cell(y, group)
    assert worst(fair) >= least - 2.0 / smallest_cell(y, group)


def test_what_is_left_is_the_difference_of_the_roc_curves():
    """Two normal laws: at the cut H̄_0 + Ḡ_0 = H̄_1 + Ḡ_1 the gaps are known."""
    rng = np.random.default_rng(0)
    n = 40_000
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    apart = np.array([2.0, 1.0])[group]
    score = rng.normal(size=n) + apart * y + 5.0 * group
    fair = made(y, score, group, cuts=es.Cuts(at=(0.5,)))
    # By symmetry the cut is midway between the classes: H̄ = Φ(−d/2), Ḡ = Φ(d/2).
    expected = norm.cdf(1.0) - norm.cdf(0.5)
    assert sorted(gap.value for gap in fair.gaps["after"]) == pytest.approx(
        [-expected, -expected], abs=0.01
    )
    assert fair.shortfall is not None
    assert "fpr and fnr" in fair.shortfall


def test_the_mixture_is_the_mean_of_the_rates():
    totals = np.array([[30.0, 10.0], [10.0, 10.0]])
    expected = {
        ("fpr",): [[1, 1], [0, 0]],
        ("fnr",): [[0, 0], [1, 1]],
        ("selection",): [[0.75, 0.5], [0.25, 0.5]],
        ("fpr", "fnr"): [[0.5, 0.5], [0.5, 0.5]],
        ("fpr", "fnr", "selection"): [[1.75 / 3, 0.5], [1.25 / 3, 0.5]],
    }
    for names, mixture in expected.items():
        target = CommonTarget(tuple(CATALOGUE[name] for name in names), WHERE)
        np.testing.assert_allclose(target.mixture(totals), mixture)


# ---------------------------------------------------------------------- how far


@pytest.mark.parametrize("rates", [("fnr",), ("fpr", "fnr")])
def test_a_tolerance_is_used_up_and_kept(rates):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 6000)
    score = 1.5 * rng.normal(size=6000) + group - 0.5  # log-odds: no other order ranks better
    y = (rng.random(6000) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    exact, loose = (made(y, score, group, rates, tolerance=t) for t in (0.0, 0.07))
    assert worst(exact) < 0.04
    assert 0.04 < worst(loose) <= 0.07 < worst(loose, "before")
    aucs = [
        roc_auc_score(y, fair.transform(score, sensitive_features=group)) for fair in (exact, loose)
    ]
    assert aucs[0] + 1e-3 < aucs[1] < roc_auc_score(y, score)
    assert loose.shortfall is None
    wide = made(y, score, group, rates, tolerance=0.9)
    assert all(mapping.is_identity for mapping in wide.maps)


# ---------------------------------------------------------------------- invariances


@pytest.mark.parametrize("rates", [("fpr", "fnr")])
def test_names_and_order_of_groups_and_rows(rates):
    y, score, group = sample(1500)
    rows = np.random.default_rng(0).permutation(len(y))
    fair = made(y, score, group, rates)
    other = made(y[rows], score[rows], np.array(["z", "odd, \u2018name\u2019"])[group[rows]], rates)
    expected = -np.array([gap.value for gap in other.gaps["after"]])
    np.testing.assert_allclose([gap.value for gap in fair.gaps["after"]], expected, atol=1e-12)
    for z, mapping in enumerate(fair.maps):
        np.testing.assert_array_equal(mapping.x, other.maps[1 - z].x)
        np.testing.assert_allclose(mapping.y, other.maps[1 - z].y)


def test_weights_are_repetitions_and_zeros_nothing():
    y, score, group = sample(900)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    once = made(y, score, group, weight=weight)
    many = made(*(np.repeat(column, weight) for column in (y, score, group)))
    assert worst(once) == pytest.approx(worst(many), abs=1e-9)


@pytest.mark.slow
@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    n_groups=st.sampled_from([2, 3]),
    levels=st.sampled_from([None, 10, 40]),
    weights=st.sampled_from([None, "integer", "real"]),
    rates=st.sampled_from(RATES),
    cuts=st.sampled_from(
        [
            WHERE,
            es.Cuts(between=(0.2, 0.6), of="negatives", selected="low"),
            es.Cuts(at=(0.5,), of="positives"),
            es.Cuts(thresholds=(0.25,), inclusive=True),
        ]
    ),
)
def test_never_worse_on_the_sample_and_never_another_ranking(
    seed, n_groups, levels, weights, rates, cuts
):
    y, score, group, weight = draw(seed, 250, n_groups, levels, weights, shift=0.8)
    fair = made(y, score, group, rates, cuts, weight, min_beyond=1)
    assert worst(fair) <= worst(fair, "before") + 1e-9
    mapped = fair.transform(score, sensitive_features=group)
    for z in range(n_groups):
        some, other = score[group == z], mapped[group == z]
        order = np.argsort(some, kind="stable")
        assert np.array_equal(np.diff(some[order]) > 0, np.diff(other[order]) > 0)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("rate", ["error", "precision", "standardised_precision", "false_omission"])
def test_rates_that_need_not_move_with_the_cut(rate):
    y, score, group = sample(500)
    with pytest.raises(ValueError, match=f"^{rate} cannot be repaired"):
        made(y, score, group, ("fpr", rate))


@pytest.mark.parametrize(
    ("cuts", "told"),
    [
        (es.Cuts(thresholds=(99.0,)), "99"),
        (es.Cuts(at=(0.001,)), "strictest"),
        (es.Cuts(between=(0.001, 0.002)), "0.1% to 0.2% of everyone"),
    ],
)
def test_where_there_is_no_cut(cuts, told):
    y, score, group = sample(500)
    with pytest.raises(ValueError, match=f"^fpr and fnr .*{told}"):
        made(y, np.round(score), group, cuts=cuts)


def test_a_constant_score():
    y, _, group = sample(500)
    with pytest.raises(ValueError, match="all scores are equal"):
        made(y, np.zeros(500), group)


def test_too_few_people():
    y, score, group = sample(300)
    few = (group == 0) | (np.cumsum(group) <= 12)
    with pytest.raises(ValueError, match="group 1"):
        made(y[few], score[few], group[few], cuts=es.Cuts(at=(0.1,)))
