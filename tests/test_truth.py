"""Estimates against the truth: samples of laws whose AUCs, curves and gaps are known exactly."""

import numpy as np
import pytest

from evenscore import AucConstraint, GroupedScores, constraint_names
from evenscore.paper.laws import RingsLaw, SquareLaw, credit_law
from evenscore.scores.aucs import auc_matrix, inter_group_curve
from evenscore.scores.thresholds import fair_thresholds, rates_at

N = 40_000
LAWS = {
    "square": SquareLaw(0.3),
    "rings": RingsLaw(0.4),
    "credit": credit_law(),
    "credit deciles": credit_law().discretised(10),
}


@pytest.fixture(scope="module", params=LAWS)
def drawn(request):
    law = LAWS[request.param]
    score, y, group = law.sample(N, random_state=1)
    return law, GroupedScores.from_arrays(y, score, sensitive_features=group)


def test_auc_matrix(drawn):
    law, scores = drawn
    # An AUC of cells of m and n people has a standard error of at most 1/(2√min(m, n)).
    smallest = scores.cell_counts.min()
    error = np.abs(auc_matrix(scores).values - law.auc_matrix()).max()
    assert error < 4 * 0.5 / np.sqrt(smallest)


@pytest.mark.parametrize("name", constraint_names())
def test_named_gaps(drawn, name):
    law, scores = drawn
    [gap] = AucConstraint.named(name).values(scores)
    assert abs(gap - law.auc_gap(name)) < 4 / np.sqrt(scores.cell_counts.min())


@pytest.mark.parametrize("on", ["negatives", "positives"])
def test_roc_gaps(drawn, on):
    law, scores = drawn
    label = 0 if on == "negatives" else 1
    rates = np.array([0.125, 0.25, 0.5, 0.75])
    if scores.has_ties:  # halfway along the steps: at their ends a sample may fall on either side
        steps = np.unique(1.0 - law.cdf(law.values)[:, 2 * label])
        wide = np.diff(steps) > 0.04
        rates = ((steps[1:] + steps[:-1]) / 2)[wide]
        assert len(rates) >= 3
    slope = 4.0  # of the inter-group ROC curves here, at most
    one, two = scores.cell_counts[label]
    bound = 4 * 0.5 * (slope / np.sqrt(one) + 1 / np.sqrt(two))
    gap = inter_group_curve(scores, on).evaluate(rates) - rates
    assert np.all(np.abs(gap - law.roc_gap(on, rates)) < bound)


def test_credit_example_is_fair_in_auc_and_unfair_where_it_matters():
    score, y, group = credit_law().sample(200_000, random_state=0)
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    assert abs(AucConstraint.named("bnsp").values(scores)[0]) < 0.005
    assert rates_at(scores, 0.85).fnr[0] == pytest.approx([0.3, 0.6], abs=0.01)
    assert rates_at(scores, 0.72).fnr[0] == pytest.approx([0.2, 0.2], abs=0.01)
    # The only threshold of equal FNR, apart from the lowest scores where almost all are kept.
    fair = fair_thresholds(scores, "fnr", tolerance=0.02)
    assert fair.contains(0.72)
    assert not fair.contains(np.linspace(0.75, 0.95, 21)).any()
