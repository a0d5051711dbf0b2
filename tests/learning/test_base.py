"""What all scorers share, seen through the smallest one: a score given as the only feature."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from evenscore import RocConstraint
from evenscore.learning import FairScorer, History, TrainingSet
from evenscore.learning.objective import Strict


class Given(FairScorer):
    """Scores with the first feature and learns nothing."""

    def __init__(self, constraints=(), tolerance=None, strength=None, folds=0, random_state=None):
        self.constraints = constraints
        self.tolerance = tolerance
        self.strength = strength
        self.folds = folds
        self.random_state = random_state

    def learn(self, train, task):
        self.train_, self.task_ = train, task
        return History()

    def raw_score(self, X):
        return X[:, 0]


def rows(n=400, n_groups=2, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    return (rng.normal(size=n) + y + shift * group)[:, None], y, group


# ---------------------------------------------------------------------- threshold


@pytest.mark.parametrize("weighted", [False, True])
def test_zero_is_where_the_share_of_positives_is_kept(weighted):
    X, y, _ = rows()
    weight = np.random.default_rng(1).gamma(1.0, size=len(y)) if weighted else None
    scorer = Given().fit(X, y, sample_weight=weight)
    chosen = scorer.predict(X) == 1
    weight = np.ones(len(y)) if weight is None else weight
    share = weight[chosen].sum() / weight.sum()
    assert share == pytest.approx(weight[y == 1].sum() / weight.sum(), abs=weight.max() / 400)
    assert np.all(scorer.decision_function(X) != 0.0)  # the cut lies between two scores


def test_predict_is_the_sign_of_the_score_in_the_labels_given():
    X, y, _ = rows()
    labels = np.array(["good", "poor"])[y]
    scorer = Given().fit(X, labels)
    assert scorer.classes_.tolist() == ["good", "poor"]
    expected = np.where(scorer.decision_function(X) > 0.0, "poor", "good")
    np.testing.assert_array_equal(scorer.predict(X), expected)


# ---------------------------------------------------------------------- score


@pytest.mark.parametrize("weighted", [False, True])
def test_score_is_the_auc_of_the_pairs(weighted):
    X, y, _ = rows(150)
    X = X.round(1)  # with ties
    weight = np.random.default_rng(2).gamma(1.0, size=len(y)) if weighted else np.ones(len(y))
    labels = np.array(["poor", "good"])[y]  # "poor" is the second class
    scorer = Given().fit(-X, labels)
    s = scorer.decision_function(-X)
    low, high = np.flatnonzero(labels == "good"), np.flatnonzero(labels == "poor")
    above = (s[high] > s[low][:, None]) + 0.5 * (s[high] == s[low][:, None])
    pairs = np.outer(weight[low], weight[high])
    expected = (above * pairs).sum() / pairs.sum()
    given = weight if weighted else None
    assert scorer.score(-X, labels, given) == pytest.approx(expected, abs=1e-12)
    assert scorer.score(-X, labels.tolist(), sample_weight=given) == scorer.score(-X, labels, given)
    assert scorer.score(-X, labels) != pytest.approx(np.mean(scorer.predict(-X) == labels))


def test_score_depends_on_the_ranking_alone():
    X, y, _ = rows()
    one, two = Given().fit(X, y), Given().fit(np.exp(X), y)
    assert one.score(X, y) == two.score(np.exp(X), y)
    assert one.score(-X, y) == pytest.approx(1.0 - one.score(X, y))


def test_score_refuses_what_has_no_auc():
    X, y, _ = rows(50)
    scorer = Given().fit(X, y)
    with pytest.raises(ValueError, match="both classes"):
        scorer.score(X, np.ones(50))
    with pytest.raises(ValueError, match="y is 2 at row 3"):
        scorer.score(X, np.where(np.arange(50) == 3, 2, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        scorer.score(X, y[:49])


def test_a_constant_score():
    X, y, group = rows()
    scorer = Given("inter_group").fit(0 * X + 3.0, y, sensitive_features=group)
    np.testing.assert_allclose(scorer.decision_function(0 * X + 3.0), 0.0)
    assert scorer.gaps_[0].value == 0.0


# ---------------------------------------------------------------------- rows left out


def test_who_is_left_out_depends_on_random_state_only():
    """By whom every row is scored: a scorer of one fold learns its training rows' mean."""

    class Shifted(Given):
        def learn(self, train, task):
            self.by_ = float(train.X.mean())
            return History()

        def raw_score(self, X):
            return X[:, 0] * (1.0 + 10.0 * self.by_)

    X, y, group = rows()

    def told(state):
        scorer = Shifted("bnsp", strength=0.0, folds=3, random_state=state)
        return scorer.fit(X, y, sensitive_features=group).left_out_.fair

    np.testing.assert_array_equal(told(3), told(3))
    assert not np.array_equal(told(3), told(4))
    np.testing.assert_array_equal(told(None), told(None))
    legacy = [told(np.random.RandomState(5)) for _ in range(2)]
    np.testing.assert_array_equal(*legacy)
    assert told(np.random.default_rng(0)).shape == (400,)


# ---------------------------------------------------------------------- what is reported


def test_gaps_are_reported_under_the_groups_own_names():
    X, y, group = rows()
    names = np.array(["<script>", "日本"], dtype=object)[group]
    scorer = Given(["inter_group", RocConstraint(rates=(0.25,))], tolerance=0.9)
    scorer.fit(X, y, sensitive_features=names)
    assert scorer.groups_ == ("<script>", "日本")
    kinds = ["inter_group", "roc_gap(negatives) at 0.25", "roc_gap(positives) at 0.25"]
    assert [gap.title for gap in scorer.gaps_] == [f"{kind}, <script> and 日本" for kind in kinds]
    assert [(gap.first, gap.second) for gap in scorer.gaps_] == [("<script>", "日本")] * 3
    assert scorer.converged_


def test_a_gap_left_is_named():
    X, y, group = rows(n_groups=3, shift=0.5)
    scorer = Given(["intra_group", "zero_aeg"], tolerance=0.05)
    with pytest.warns(ConvergenceWarning, match=r"^Given .*zero_aeg, 0 and 2: .*-0\."):
        scorer.fit(X, y, sensitive_features=group)
    assert not scorer.converged_


def test_a_tolerance_of_the_constraint_goes_first():
    X, y, group = rows(n_groups=2, shift=0.5)
    loose = RocConstraint(on="negatives", rates=(0.5,), tolerance=0.9)
    assert Given(loose, tolerance=0.0).fit(X, y, sensitive_features=group).converged_
    tight = RocConstraint(on="negatives", rates=(0.5,), tolerance=0.0)
    with pytest.warns(UserWarning, match=r"roc_gap.* tolerance 0\."):
        Given(tight, tolerance=0.9).fit(X, y, sensitive_features=group)


def test_intervals_are_those_of_an_audit():
    from evenscore import metrics

    X, y, group = rows()
    constraints = [RocConstraint(rates=(0.25,)), "pair_error"]
    weight = np.random.default_rng(0).gamma(3.0, size=len(y))
    scorer = Given(constraints, tolerance=0.9)
    scorer.fit(X, y, sensitive_features=group, sample_weight=weight)
    expected = metrics.gap_estimates(
        y, X[:, 0], sensitive_features=group, constraints=constraints, sample_weight=weight
    )
    for one, two in zip(scorer.gaps_, expected, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))


def test_history_keeps_copies():
    history = History()
    gaps, multipliers = np.array([0.1]), np.array([1.0])
    history.add(0.5, Strict(0.8, gaps, gaps), multipliers)
    gaps[0] = multipliers[0] = 9.0
    assert len(history) == 1
    assert history.gaps[0].tolist() == [0.1]
    assert history.multipliers[0].tolist() == [1.0]


# ---------------------------------------------------------------------- rows


def table(n=3000, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    positive, codes = rng.random(n) < 0.1, (rng.random(n) < 0.05).astype(np.intp)
    weight = rng.gamma(2.0, size=n) if weighted else None
    return TrainingSet(np.arange(n)[:, None], positive, codes, ("a", "b"), weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_thinned_rows_stand_for_all(weighted):
    data = table(weighted=weighted)
    index, part = data.thinned(600)
    assert len(part) == len(index) < 1200
    assert len(set(index.tolist())) == len(index)
    np.testing.assert_array_equal(part.X, data.X[index])
    weight = np.ones(len(data)) if data.weight is None else data.weight
    for label in (False, True):
        for code in (0, 1):
            all_, some = ((d.positive == label) & (d.codes == code) for d in (data, part))
            assert part.weight[some].sum() == pytest.approx(weight[all_].sum())
            assert some.sum() >= min(all_.sum(), 200)


def test_shares_add_up_to_one():
    for weighted in (False, True):
        assert table(weighted=weighted).share.sum() == pytest.approx(1.0)


def test_observations_are_rows_or_what_weights_add_up_to():
    data = table(10)
    assert data.n_observations == 10
    for weight, expected in ((2.0, 20), (0.5, 10), (1.0, 10)):
        some = TrainingSet(data.X, data.positive, data.codes, data.groups, np.full(10, weight))
        assert some.n_observations == expected
