"""Scorers trained to be fair over a range of cuts: terms, multipliers, a law of known optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from support.making import draw

from evenscore import Cuts, LinearScorer, RateConstraint, rate_names
from evenscore.gaps.cuts import TRAINED
from evenscore.learning.multipliers import AugmentedLagrangian, MultiplierRule, SignRule
from evenscore.learning.objective import Objective, Terms

RANGE = Cuts(between=(0.1, 0.4))
BOTH = RateConstraint("fpr", "fnr", cuts=RANGE, tolerance=0.02)


# ---------------------------------------------------------------------- terms


def test_every_cut_of_a_range_is_a_term_of_its_gap():
    terms = Terms.of([RateConstraint("fnr", cuts=Cuts(at=0.2)), BOTH], 3, guards=True)
    n_gaps, of_range = 3 + 6, 6 * TRAINED
    assert len(terms.tolerance) == len(terms.cells) == n_gaps
    assert terms.asked.sum() == 3 + of_range
    counts = np.bincount(terms.owner[terms.asked])
    assert counts.tolist() == [1] * 3 + [TRAINED] * 6
    together, share = terms.sharing
    assert [len(some) for some in together] == [TRAINED] * 6
    assert share[:3].tolist() == [1.0] * 3
    assert set(share[3 : 3 + of_range].tolist()) == {32.0 / (2 * TRAINED) ** 2}
    assert set(Terms.of([BOTH], 2).share.tolist()) == {32.0 / (2 * TRAINED) ** 2}
    # Guards have the share of the constraint they stand beside: of one cut, then of the range.
    beside = Cuts(at=0.2).guards(), RANGE.guards()
    sizes = 3 * len(beside[0].at), 6 * len(beside[1].at)
    np.testing.assert_array_equal(
        share[3 + of_range :], np.repeat([1.0, 32.0 / (2 * TRAINED) ** 2], sizes)
    )


def test_terms_are_in_the_order_of_their_gaps():
    """The value of a gap over a range is at least that of each of its terms, none of another."""
    y, score, group, _ = draw(5, n=400, n_groups=3, levels=None)
    positive, codes = y == 1, group.astype(np.intp)
    objective = Objective(positive, codes, 3, [BOTH, RateConstraint("error", cuts=RANGE)])
    strict = objective.strict(score)
    largest = objective.terms.of_gaps(strict.terms)
    assert np.all(np.abs(largest) <= np.abs(strict.gaps) + 1e-12)
    assert np.corrcoef(np.abs(largest), np.abs(strict.gaps))[0, 1] > 0.9
    # Of two as large it is the first, as of the cuts of a range.
    alike = np.where(np.arange(len(strict.terms)) % 2, -1.0, 1.0)
    first = np.unique(objective.terms.owner, return_index=True)[1]
    np.testing.assert_array_equal(objective.terms.of_gaps(alike), alike[first])


def test_optimism_is_added_to_the_gap_and_to_its_terms():
    y, score, group, _ = draw(5, n=400, levels=None)
    rows = y == 1, group.astype(np.intp), 2
    plain = Objective(*rows, [BOTH], guards=True)
    expected = np.array([0.05, -0.02])
    moved = Objective(*rows, [BOTH], guards=True, optimism=expected)
    one, two = plain.strict(score), moved.strict(score)
    np.testing.assert_allclose(two.gaps - one.gaps, expected)
    added = np.where(plain.terms.asked, expected[plain.terms.owner], 0.0)
    np.testing.assert_allclose(two.terms - one.terms, added)
    np.testing.assert_allclose(moved.reported(score).gaps, two.gaps)
    one, two = (each.evaluate(score, lambda gaps: (0.0, 0.0 * gaps)) for each in (plain, moved))
    np.testing.assert_allclose(two.gaps - one.gaps, added)


@pytest.mark.parametrize(
    ("of", "selected", "weights"),
    [("everyone", "high", None), ("negatives", "low", "real"), ("positives", "high", "real")],
)
def test_gradient_of_the_whole_objective(of, selected, weights):
    """Against central differences, for all rates at once, three groups, guards included."""
    y, score, group, weight = draw(11, n=150, n_groups=3, weights=weights, levels=None)
    cuts = Cuts(between=(0.2, 0.6), of=of, selected=selected)
    objective = Objective(
        y == 1, group.astype(np.intp), 3, [RateConstraint(*rate_names(), cuts=cuts)],
        weight=weight, bandwidth=0.5, guards=True,
    )  # fmt: skip
    score = (score - score.mean()) / score.std()
    multipliers = np.random.default_rng(0).normal(size=len(objective.terms))

    def respond(gaps):
        return float(multipliers @ gaps), multipliers

    gradient = objective.evaluate(score, respond).gradient
    h = 1e-4
    for row in range(0, 150, 15):
        ends = []
        for step in (-h, h):
            moved = score.copy()
            moved[row] += step
            ends.append(objective.evaluate(moved, respond).value)
        assert gradient[row] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=2e-3, abs=2e-5)


# ---------------------------------------------------------------------- multipliers


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=5),
    st.floats(0.1, 4),
)
def test_multipliers_of_one_gap_share_its_strength(values, strength):
    """The nearest point of {Σ|m| ≤ λ}: no point of it is nearer."""
    values = np.array(values)
    together = (np.arange(len(values)),)
    bounded = SignRule(strength).bound(values, together)
    assert np.abs(bounded).sum() <= strength * (1 + 1e-12)
    rng = np.random.default_rng(0)
    others = rng.normal(size=(200, len(values)))
    others *= (strength * rng.uniform(size=(200, 1))) / np.abs(others).sum(axis=1, keepdims=True)
    near = np.square(bounded - values).sum()
    assert near <= np.square(others - values).sum(axis=1).min() + 1e-9


def test_alone_or_without_a_bound_nothing_is_shared():
    values = np.array([3.0, -2.0])
    assert MultiplierRule.bound(SignRule(2.5), values).tolist() == [2.5, -2.0]
    hard = AugmentedLagrangian()
    assert hard.bound(values, (np.arange(2),)).tolist() == [3.0, -2.0]


@pytest.mark.parametrize("strength", [np.inf, 0.7])
def test_cost_and_its_derivative_agree(strength):
    """Of terms that share penalty and strength, by differences."""
    rule = AugmentedLagrangian(strength=strength, penalty=3.0)
    together, share = (np.array([0, 1, 2]),), np.array([1 / 3, 1 / 3, 1 / 3, 1.0])
    state = rule.init(np.full(4, 0.01), together, share)
    state = rule.update(state, np.array([0.3, -0.2, 0.4, 0.5]), np.zeros(4))
    gaps = np.array([0.3, -0.5, 0.9, -0.4])
    _, slopes = rule.respond(state, gaps)
    for k in range(4):
        moved = np.zeros(4)
        moved[k] = 1e-6
        high, low = (rule.respond(state, gaps + sign * moved)[0] for sign in (1, -1))
        assert slopes[k] == pytest.approx((high - low) / 2e-6, abs=1e-6)


# ---------------------------------------------------------------------- scorers


def gaussian(n, seed):
    """x = δy + az + noise: both error rates are equal at every cut iff the weights are ⊥ a."""
    rng = np.random.default_rng(seed)
    delta, shift = np.array([1.0, 0.6, 0.3]), np.array([0.9, -0.3, 0.5])
    y, z = rng.random(n) < 0.4, rng.random(n) < 0.35
    X = y[:, None] * delta + z[:, None] * shift + rng.normal(size=(n, 3))
    return X, y.astype(int), np.where(z, "b", "a"), delta, shift


@pytest.mark.slow
@pytest.mark.parametrize("rates", [("fpr", "fnr")])
def test_linear_scorer_finds_the_known_optimum(rates):
    """By either rate: the optimum is δ less its part along a, with AUC Φ(|w|/√2)."""
    X, y, groups, delta, shift = gaussian(10_000, 0)
    optimum = delta - (delta @ shift) / (shift @ shift) * shift
    best = norm.cdf(np.sqrt(optimum @ optimum / 2))
    fair = RateConstraint(*rates, cuts=RANGE, tolerance=0.0)
    scorer = LinearScorer(fair, compress=False, margin=0.0, guards=False)
    scorer.fit(X, y, sensitive_features=groups)
    assert {found.state for found in scorer.verdicts_} == {"cannot tell"}  # a gap of exactly zero
    assert scorer.converged_
    found = scorer.coef_ / np.linalg.norm(scorer.coef_)
    cosine = found @ optimum / np.linalg.norm(optimum)
    assert cosine > 0.99
    new, labels, _, _, _ = gaussian(100_000, 1)
    ranks = scorer.decision_function(new).argsort().argsort()
    n1 = labels.sum()
    auc = (ranks[labels == 1].sum() - n1 * (n1 - 1) / 2) / (n1 * (len(labels) - n1))
    assert auc == pytest.approx(best, abs=0.005)


def test_thresholds_cannot_be_learned():
    X, y, groups, _, _ = gaussian(400, 5)
    fair = RateConstraint("fnr", cuts=Cuts(thresholds=(0.5,)))
    with pytest.raises(ValueError, match="threshold"):
        LinearScorer(fair).fit(X, y, sensitive_features=groups)
