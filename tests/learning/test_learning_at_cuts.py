"""Scorers trained to be fair over a range of cuts: terms, slopes, a law of known optimum."""

import numpy as np
import pytest
from scipy.stats import norm
from support.making import draw

from evenscore import Cuts, LinearScorer, RateConstraint, rate_names
from evenscore.gaps.cuts import TRAINED
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
    # Guards of the one cut and of the range come last and are of no gap.
    sizes = 3 * len(Cuts(at=0.2).guards().at), 6 * len(RANGE.guards().at)
    assert terms.owner[3 + of_range :].tolist() == [-1] * sum(sizes)
    assert terms.by_constraint([0.5, 2.0]).tolist() == [0.5] * 3 + [2.0] * 6


def test_terms_are_in_the_order_of_their_gaps():
    """The value of a gap over a range is at least that of each of its terms, none of another."""
    y, score, group, _ = draw(5, n=400, n_groups=3, levels=None)
    positive, codes = y == 1, group.astype(np.intp)
    objective = Objective(positive, codes, 3, [BOTH, RateConstraint("error", cuts=RANGE)])
    strict = objective.strict(score)
    largest = objective.terms.of_owners(np.abs(strict.terms))
    assert np.all(largest <= np.abs(strict.gaps) + 1e-12)
    assert np.corrcoef(largest, np.abs(strict.gaps))[0, 1] > 0.9


@pytest.mark.parametrize(
    ("of", "selected", "weights"),
    [("everyone", "high", None), ("negatives", "low", "real"), ("positives", "high", "real")],
)
def test_slopes_of_all_rates(of, selected, weights):
    """Against central differences, for all rates at once, three groups, guards included."""
    y, score, group, weight = draw(11, n=150, n_groups=3, weights=weights, levels=None)
    cuts = Cuts(between=(0.2, 0.6), of=of, selected=selected)
    objective = Objective(
        y == 1, group.astype(np.intp), 3, [RateConstraint(*rate_names(), cuts=cuts)],
        weight=weight, bandwidth=0.5, guards=True,
    )  # fmt: skip
    score = (score - score.mean()) / score.std()
    every = np.arange(len(objective.terms))
    found = objective.linearised(score, every)
    slopes, h = found.placed @ found.slopes.T, 1e-4
    for row in range(0, 150, 15):
        ends = []
        for step in (-h, h):
            moved = score.copy()
            moved[row] += step
            ends.append(objective.linearised(moved, every[:0]).gaps)
        expected = (ends[1] - ends[0]) / (2 * h)
        np.testing.assert_allclose(slopes[row, 1:], expected, rtol=2e-3, atol=2e-5)


# ---------------------------------------------------------------------- scorers


def gaussian(n, seed):
    """x = δy + az + noise: both error rates are equal at every cut iff the weights are ⊥ a."""
    rng = np.random.default_rng(seed)
    delta, shift = np.array([1.0, 0.6, 0.3]), np.array([0.9, -0.3, 0.5])
    y, z = rng.random(n) < 0.4, rng.random(n) < 0.35
    X = y[:, None] * delta + z[:, None] * shift + rng.normal(size=(n, 3))
    return X, y.astype(int), np.where(z, "b", "a"), delta, shift


@pytest.mark.slow  # with 100,000 people to be sure of the third decimal
def test_linear_scorer_finds_the_known_optimum():
    """The optimum is δ less its part along a, with AUC Φ(|w|/√2)."""
    X, y, groups, delta, shift = gaussian(10_000, 0)
    optimum = delta - (delta @ shift) / (shift @ shift) * shift
    best = norm.cdf(np.sqrt(optimum @ optimum / 2))
    fair = RateConstraint("fpr", "fnr", cuts=RANGE, tolerance=0.02)
    scorer = LinearScorer(fair, compress=False).fit(X, y, sensitive_features=groups)
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
