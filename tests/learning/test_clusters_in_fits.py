"""Several rows per person in what learners do: nobody is parted, and intervals count persons."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold

from evenscore import (
    LinearScorer,
    RepairedScorer,
    RocConstraint,
    tradeoff_path,
)
from evenscore.learning import FairScorer, History
from evenscore.learning.spreading import spread
from evenscore.learning.training_set import TrainingSet

ROC = RocConstraint(on="both", rates=(0.25,))
FAMILIES = [ROC, "intra_group"]


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0.6, 0.0])
    X[:, 0] += 0.5 * group
    return X, y, group


def uneven(n, n_clusters, rng):
    """Clusters of rows; the first are the largest."""
    size = 1.0 / (10.0 + np.arange(n_clusters))
    return rng.choice(n_clusters, n, p=size / size.sum())


def households(n=600, seed=0):
    """Rows of uneven households, some of one row, large ones with people of both groups."""
    X, y, group = rows(n, seed)
    household = uneven(n, n // 4, np.random.default_rng(seed + 100))
    X[:, 0] += np.random.default_rng(seed + 200).normal(size=n)[household]
    return X, y, group, household


def fitted(scorer, X, y, group, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return scorer.fit(X, y, sensitive_features=group, **options)


def widths(gaps):
    return np.array([gap.high - gap.low for gap in gaps])


class FirstFeature(FairScorer):
    """Learns nothing, and keeps note of what it was to learn from."""

    def learn(self, train, task):
        SEEN.append(train)
        return History()

    def raw_score(self, X):
        return np.asarray(X[:, 0])


SEEN = []

# ---------------------------------------------------------------------- parts


def parted(cluster, part):
    """Whether a cluster is in two parts."""
    pairs = np.unique(np.stack([cluster, part]), axis=1)
    return pairs.shape[1] > len(np.unique(cluster))


def table(part, cell):
    counts = np.zeros((part.max() + 1, cell.max() + 1))
    np.add.at(counts, (part, cell), 1)
    return counts


@pytest.mark.parametrize("seed", range(6))
def test_parts_leave_clusters_whole_and_are_even(seed):
    rng = np.random.default_rng(seed)
    n, n_clusters = int(rng.integers(200, 1500)), int(rng.integers(40, 120))
    cluster = uneven(n, n_clusters, rng)
    cell = rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    shares = [np.full(4, 0.25), np.array([0.8, 0.2]), np.full(3, 1 / 3)][seed % 3]
    part = spread(cluster, cell, shares, np.random.default_rng(seed))
    assert not parted(cluster, part)
    found = table(part, cell)
    assert found.min() >= 1
    assert np.abs(found.sum(axis=1) / n - shares).max() < 0.06
    again = spread(cluster, cell, shares, np.random.default_rng(seed))
    np.testing.assert_array_equal(part, again)
    other = spread(cluster, cell, shares, np.random.default_rng(seed + 1))
    assert np.any(part != other)
    assert not parted(cluster, other)


def test_a_rare_cell_is_in_every_part_if_it_can_be():
    rng = np.random.default_rng(0)
    for seed in range(20):
        cluster = rng.permutation(np.repeat(np.arange(30), 20))
        cell = rng.integers(0, 2, 600)
        chosen = rng.permutation(30)[:4]  # as many clusters as folds
        cell[[np.flatnonzero(cluster == c)[0] for c in chosen]] = 2
        part = spread(cluster, cell, np.full(4, 0.25), np.random.default_rng(seed))
        assert table(part, cell)[:, 2].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_rows_held_out_are_of_other_clusters(share):
    X, y, group, household = households()
    data = TrainingSet.read(X, y == 1, group, None, (), household)
    train, held_out = data.hold_out(share, np.random.default_rng(0))
    assert not set(train.cluster) & set(held_out.cluster)
    assert len(train) + len(held_out) == len(data)
    assert len(held_out) / len(data) == pytest.approx(share, abs=0.03)
    for some in (train, held_out):
        assert len(np.unique(some.cell)) == 4


# ---------------------------------------------------------------------- fits


def test_nobody_trained_on_is_tested_on():
    X, y, group, household = households()
    SEEN.clear()
    fitted(FirstFeature(FAMILIES, folds=3, random_state=0), X, y, group, cluster=household)
    assert len(SEEN) == 1 + 2 * 3  # of all rows; of each fold with constraints and without
    number = {tuple(row): one for row, one in zip(X, household, strict=True)}
    for train in SEEN[1:]:
        trained = {number[tuple(row)] for row in train.X}
        tested = [one for one in household if one not in trained]
        assert len(tested) == len(household) - len(train)
        assert len(tested) == pytest.approx(200, abs=40)


def test_copies_of_rows_tell_nothing_new():
    X, y, group = rows(600)
    copies = np.tile(np.arange(600), 10)
    scorer = FirstFeature(FAMILIES, strength=0.1, random_state=0)
    plain = fitted(clone(scorer), X, y, group)
    columns = X[copies], y[copies], group[copies]
    kept = fitted(clone(scorer), *columns, cluster=copies)
    wrong = fitted(clone(scorer), *columns)
    # Folds are drawn anew, which shakes the interval of an AUC gap less than that of a ROC gap.
    new, old, narrow = (widths(one.gaps_) for one in (kept, plain, wrong))
    np.testing.assert_allclose(new[-1], old[-1], rtol=0.1)
    assert np.all(new > 2.0 * narrow)
    prices = [one.price_.auc for one in (kept, plain)]
    assert widths(prices[:1]) == pytest.approx(widths(prices[1:]), rel=0.06)


# ---------------------------------------------------------------------- refusals


def few(count):
    """As many clusters with positives of the second group."""
    X, y, group = rows(300)
    cluster = np.arange(300)
    cluster[(y == 1) & (group == 1)] %= count
    return X, y, group, cluster


def test_bad_clusters_are_refused_in_a_sentence():
    X, y, group = rows(60)
    missing = [None, *range(59)]
    ragged = {"a": range(60), "b": range(59)}
    repaired = RepairedScorer(LogisticRegression(), ROC)
    for scorer in (LinearScorer("inter_group"), repaired):
        for cluster, match in (
            (range(59), "cluster has 59 rows"),
            (missing, "cluster is missing at row 0"),
            (ragged, r"cluster\['a'\] has 60 rows, .* 59"),
        ):
            with pytest.raises(ValueError, match=match):
                scorer.fit(X, y, sensitive_features=group, cluster=cluster)
    with pytest.raises(ValueError, match="cluster has 59 rows"):
        tradeoff_path(LinearScorer("bnsp"), X, y, sensitive_features=group, cluster=range(59))


def test_too_few_clusters_for_the_folds():
    X, y, group, cluster = few(3)
    columns = dict(sensitive_features=group, cluster=cluster)
    with pytest.raises(ValueError, match=r"folds=4 .* 3 with positives of 1"):
        LinearScorer("inter_group", folds=4).fit(X, y, **columns)
    with pytest.raises(ValueError, match=r"4 clusters .* 3 with positives of 1: .*cv"):
        tradeoff_path(LinearScorer("inter_group"), X, y, cv=4, **columns)
    columns["cluster"] = np.where(y == 1, np.arange(300) % 3, np.arange(300))
    with pytest.raises(ValueError, match=r"4 clusters .* 3 with positives: .*cv"):
        RepairedScorer(LogisticRegression(), ROC, cv=4).fit(X, y, **columns)


def test_a_splitter_that_parts_clusters_is_refused():
    X, y, group, household = households()
    scorer = RepairedScorer(LogisticRegression(), ROC, cv=KFold(3))
    with pytest.raises(ValueError, match=r"Fold 0 of cv .*row 0 .*cluster"):
        scorer.fit(X, y, sensitive_features=group, cluster=household)
    scorer.set_params(cv=GroupKFold(3)).fit(X, y, sensitive_features=group, cluster=household)
    assert len(scorer.estimators_) == 3
