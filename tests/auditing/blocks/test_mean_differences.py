"""Standardised differences of mean scores between the groups compared."""

import numpy as np
import pytest

import evenscore as es
from evenscore.auditing.blocks import StandardisedDifferences


def pooled_d(one, two):
    squares = sum(np.sum((part - part.mean()) ** 2) for part in (one, two))
    return (one.mean() - two.mean()) / np.sqrt(squares / (len(one) + len(two) - 2))


def people(n=600):
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, n), rng.choice(list("abc"), n)
    return y, rng.normal(size=n) + 0.5 * (group == "b") + y, group


def test_pairs_overall_and_within_classes():
    y, score, group = people()
    result = es.audit(y, score, sensitive_features=group, constraints="bnsp")
    block = result.block(StandardisedDifferences)
    assert list(zip(block.first, block.second, strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    parts = {None: block.overall, 1: block.positives, 0: block.negatives}
    for label, part in parts.items():
        inside = y >= 0 if label is None else y == label
        for k, (one, two) in enumerate(zip(block.first, block.second, strict=True)):
            expected = pooled_d(*(score[inside & (group == name)] for name in (one, two)))
            assert part.value[k] == pytest.approx(expected)
            assert part.low[k] < expected < part.high[k]
    [table] = block.tables()
    assert table.rows[0][2].startswith(f"{block.overall.value[0]:+.2f} (")


def test_all_others():
    y, score, group = people()
    asked = dict(constraints="bnsp", reference_group=es.ALL_OTHERS)
    result = es.audit(y, score, sensitive_features=group, **asked)
    others = result.block(StandardisedDifferences)
    assert others.first == ("all others",) * 3
    expected = pooled_d(score[group != "b"], score[group == "b"])
    assert others.overall.value[others.second.index("b")] == pytest.approx(expected)
