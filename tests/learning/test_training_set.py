"""Rows to learn from: weights under which class and group are independent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore.learning.training_set import TrainingSet


def training_set(seed, n_groups, *, weighted):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.tile(np.arange(n_groups), 2), rng.integers(0, n_groups, 60)])
    chance = rng.uniform(0.1, 0.9, n_groups)[codes]
    positive = rng.random(len(codes)) < chance
    positive[: 2 * n_groups] = np.repeat([False, True], n_groups)  # every cell is there
    weight = rng.gamma(2.0, size=len(codes)) if weighted else None
    return TrainingSet(np.zeros((len(codes), 1)), positive, codes, tuple(range(n_groups)), weight)


def table(data):
    """The weight of every class and group, as a share."""
    weight = np.ones(len(data)) if data.weight is None else data.weight
    sums = np.zeros((2, len(data.groups)))
    for positive, code, one in zip(data.positive, data.codes, weight, strict=True):
        sums[int(positive), code] += one
    return sums / weight.sum()


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 6]), st.booleans())
def test_under_the_weights_class_and_group_are_independent(seed, n_groups, weighted):
    data = training_set(seed, n_groups, weighted=weighted)
    again = data.reweighed()
    before, after = table(data), table(again)
    np.testing.assert_allclose(after, np.outer(after.sum(axis=1), after.sum(axis=0)), atol=1e-12)
    # Neither how many are positive nor how large groups are has changed, nor the total weight.
    np.testing.assert_allclose(after.sum(axis=0), before.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(after.sum(axis=1), before.sum(axis=1), atol=1e-12)
    assert again.weight.sum() == pytest.approx(
        len(data) if data.weight is None else data.weight.sum()
    )
    # Within a cell rows keep their weights relative to each other.
    factor = again.weight / (1.0 if data.weight is None else data.weight)
    for cell in np.unique(data.cell):
        assert np.ptp(factor[data.cell == cell]) < 1e-12
    np.testing.assert_allclose(again.reweighed().weight, again.weight, rtol=1e-9)


def test_what_is_independent_stays():
    codes, positive = np.tile([0, 1], 20), np.repeat([False, True], 20)
    data = TrainingSet(np.zeros((40, 1)), positive, codes, (0, 1), None)
    np.testing.assert_allclose(data.reweighed().weight, 1.0)


def test_an_empty_cell_has_nothing_to_weigh():
    codes, positive = np.array([0, 0, 1, 1]), np.array([False, True, True, True])
    weight = TrainingSet(np.zeros((4, 1)), positive, codes, (0, 1), None).reweighed().weight
    np.testing.assert_allclose(weight, [0.5, 1.5, 0.75, 0.75])
