"""Calibration slopes by group, in the table."""

import numpy as np
from scipy.special import expit, logit

import evenscore as es
from evenscore.auditing.blocks import CalibrationSlopes


def people(seed=0, n=3000):
    """Group a is calibrated; scores of b are too extreme, with a true slope of one half."""
    rng = np.random.default_rng(seed)
    score, group = expit(1.5 * rng.normal(size=n)), rng.choice(list("ab"), n)
    odds = np.where(group == "a", 1.0, 0.5) * logit(score)
    return (rng.random(n) < expit(odds)).astype(int), score, group


def test_probabilities_have_a_right_slope():
    y, score, group = people()
    block = es.audit(y, score, sensitive_features=group, constraints="bnsp").block(
        CalibrationSlopes
    )
    lines = block.lines
    assert lines.groups == ("everyone", "a", "b")
    assert lines.slope.low[1] < 1.0 < lines.slope.high[1]
    assert lines.slope.low[2] < 0.5 < lines.slope.high[2] < 1.0
    [table] = block.tables()
    assert len(table.columns) == 4
    assert "slope 1 and intercept 0" in table.note


def test_other_scores_only_compare_groups():
    y, score, group = people()
    result = es.audit(y, 100.0 * score, sensitive_features=group, constraints="bnsp")
    [table] = result.block(CalibrationSlopes).tables()
    assert len(table.columns) == 3
    assert "only compare the groups" in table.note
