"""Groups among the k highest scores, in the table."""

import numpy as np

import evenscore as es
from evenscore.auditing.blocks import TopScores


def test_by_hand():
    """Of 60 people the ten highest are 7 of a and 3 of b."""
    score, group = np.arange(60.0), np.array(["a", "b"] * 30)
    group[-10:] = list("aaabaabaab")
    block = es.audit(None, score, sensitive_features=group).block(TopScores)
    assert block.top.k.tolist() == [10, 20, 50]
    assert block.top.number[0].tolist() == [7.0, 3.0]
    [table] = block.tables()
    assert table.rows[0] == ("10", "a", "7", "70.0% (39.7% to 89.2%)", "53.3%")
    assert table.rows[1][:3] == ("", "b", "3")


def test_low_scores_ties_and_few_people():
    score, group = np.repeat([1.0, 2.0], 40), np.array(["a", "b"] * 40)
    cuts = es.Cuts(between=(0.1, 0.6), selected="low")
    block = es.audit(None, score, sensitive_features=group, cuts=cuts).block(TopScores)
    assert "lowest" in block.tables()[0].title
    assert block.top.number[0].tolist() == [5.0, 5.0]
    result = es.audit(None, [1, 2, 3, 4], sensitive_features=list("abab"))
    assert result.block(TopScores).top is None
    assert any("than ten people" in text for text in result.omitted)
