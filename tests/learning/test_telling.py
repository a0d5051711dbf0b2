"""Features that state the group are found, and features that only hint at it are not."""

import numpy as np
import pytest
from scipy import sparse

from evenscore.learning.telling import telling_columns
from evenscore.learning.training_set import TrainingSet


def data_of(X, codes):
    rng = np.random.default_rng(9)
    groups = tuple(range(int(codes.max()) + 1))
    return TrainingSet(X, rng.random(len(codes)) < 0.5, codes.astype(np.intp), groups, None)


def plain(n=1000, width=5, n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, width)), rng.integers(0, n_groups, n)


def found(X, codes):
    return telling_columns(data_of(X, codes)).tolist()


@pytest.mark.parametrize("n_groups", [2, 3, 6])
def test_a_column_that_states_it_in_whatever_numbers(n_groups):
    X, codes = plain(n_groups=n_groups)
    assert found(X, codes) == []
    for column in (codes, 7.0 - codes, np.cos(codes), codes + 0.2 * np.abs(np.sin(X[:, 0]))):
        X[:, 3] = column
        assert found(X, codes) == [3]
    X[:, 1] = 5.0 * codes
    assert found(X, codes) == [1, 3]  # one hides the other from a tree
    one_hot = np.column_stack([X[:, [0, 2]], np.eye(n_groups)[codes]])
    assert found(one_hot, codes) == [*range(2, 2 + n_groups)]


def test_columns_that_state_it_together():
    X, codes = plain(4000)
    X[:, 0] = np.random.default_rng(1).integers(0, 2, 4000)
    X[:, 1] = (X[:, 0] != codes) * 1.0  # exclusive or: neither says anything alone
    left = found(X, codes)
    assert left in ([], [0], [1], [0, 1])  # a small tree may not see it, and takes no other
    X[:, 0] = np.where(X[:, 2] > 0.0, codes, 2.0)
    X[:, 1] = np.where(X[:, 2] > 0.0, 2.0, codes)
    assert {0, 1} & set(found(X, codes))


@pytest.mark.parametrize("wrong", [0.01, 0.1])
def test_what_is_wrong_now_and_then_stays(wrong):
    X, codes = plain(4000)
    flip = np.random.default_rng(1).random(4000) < wrong
    X[:, 2] = np.where(flip, 1 - codes, codes)
    assert found(X, codes) == []


def test_missing_values_and_sparse_tables():
    X, codes = plain()
    X[:, 4] = codes
    X[::5, 0] = np.nan
    assert found(X, codes) == [4]
    dense, codes = plain(n_groups=3)
    dense[:, 2] = codes
    assert found(sparse.csr_matrix(dense), codes) == [2]
    huge = sparse.csr_matrix((1000, 60_000))
    assert found(huge, codes) == []


def test_of_many_rows_some_are_looked_at():
    X, codes = plain(20_000)
    X[:, 1] = codes
    assert found(X, codes) == [1]


def test_all_columns_may_state_it():
    _, codes = plain()
    assert found(np.column_stack([codes, -codes]).astype(float), codes) == [0, 1]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_rare_group_is_not_told_by_not_being_there(size):
    """In the half of the rows that is looked at there may be none of it."""
    for seed in range(6):
        X, codes = plain(400, seed=seed)
        codes = np.where(np.random.default_rng(seed).permutation(400) < size, 2, codes)
        assert found(X, codes) == []
