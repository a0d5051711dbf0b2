"""What fairness costs is told, and no fit is worse than not having asked."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from support.making import allowances, often

from evenscore import BoostedScorer, LinearScorer, RocConstraint
from evenscore.learning import FairScorer, History
from evenscore.learning.price import Price, PriceWarning

WHERE = "on the training rows"


def rows(n=800, seed=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * y + 0.8 * group
    X[:, 1] += 0.8 * y
    return X, y, group


def hidden(n=1000, seed=0):
    """A signal that is shifted in one group, and nothing else of much use."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, (2, n))
    X = np.column_stack([2.0 * y + 2.5 * group + rng.normal(size=n), rng.normal(size=n)])
    X[:, 1] += 0.3 * y
    return X, y, group


# ---------------------------------------------------------------------- the words


def test_the_price_in_words():
    price = Price(0.8, 0.75, 0.3, 0.01, None, None, WHERE)
    assert price.drop == pytest.approx(0.05)
    assert price.of_blindness is None
    for told in ("0.800 → 0.750", WHERE, "price of 0.050", "0.300 → 0.010"):
        assert told in str(price)
    assert price.warning.endswith(str(price))
    known = Price(0.8, 0.75, 0.3, 0.01, 0.79, 0.02, WHERE)
    assert known.of_blindness == pytest.approx(0.04)
    assert str(known).startswith(str(price))
    assert "AUC 0.790" in str(known)
    assert "gap of 0.020" in str(known)


def test_what_costs_nothing():
    for auc in (0.8, 0.82):
        price = Price(0.8, auc, 0.3, 0.01, None, None, WHERE)
        assert "at no price" in str(price)
        assert price.warning is None


@pytest.mark.parametrize(
    ("free", "auc", "lead"),
    [
        (0.8, 0.781, None),
        (0.8, 0.779, "pays for fairness"),
        (0.51, 0.499, "ranks below chance"),  # though the price is small
        (0.8, 0.4, "ranks below chance"),
        (0.45, 0.45, "ranks below chance"),
    ],
)
def test_when_a_price_is_warned_of(free, auc, lead):
    warning = Price(free, auc, 0.3, 0.01, None, None, WHERE).warning
    assert warning is None if lead is None else warning.startswith(lead)


# ---------------------------------------------------------------------- as fits tell it


@pytest.mark.slow
@pytest.mark.parametrize("make", [LinearScorer, BoostedScorer])
def test_a_fit_tells_its_price(make):
    X, y, group = hidden()
    scorer = make("inter_group", random_state=0)
    match = rf"^{make.__name__} .*AUC 0\.\d+ → 0\.\d+ .*training rows"
    with pytest.warns(PriceWarning, match=match) as caught:
        scorer.fit(X, y, sensitive_features=group)
    assert [w.filename for w in caught if w.category is PriceWarning] == [__file__]
    price = scorer.price_
    free = make(random_state=0).fit(X, y)
    assert price.free == pytest.approx(roc_auc_score(y, free.decision_function(X)), abs=1e-6)
    assert price.auc == pytest.approx(scorer.score(X, y), abs=1e-9)
    assert price.drop > 0.02
    assert price.gap == pytest.approx(abs(scorer.gaps_["train"][0].value), abs=1e-9)
    assert price.free_gap > 0.2
    # Whoever knows the group gives nearly nothing away: it is blindness that costs.
    assert price.repaired > price.auc + 0.02
    assert price.repaired_gap <= 0.021


# ---------------------------------------------------------------------- never worse


class Bad(FairScorer):
    """Without constraints the best direction of the means; with some, whatever a subclass says."""

    def spoiled(self, weights):
        raise NotImplementedError

    def learn(self, train, held_out, task):
        share = train.share
        away = train.positive - share @ train.positive
        self.weights_ = train.X.T @ (share * away)
        if task.constraints:
            self.weights_ = self.spoiled(self.weights_)
        return History()

    def raw_score(self, X):
        return X @ self.weights_


class Constant(Bad):
    def spoiled(self, weights):
        return 0.0 * weights


class Reversed(Bad):
    def spoiled(self, weights):
        return -weights


@pytest.mark.parametrize("strength", [None, 0.1])
def test_a_scorer_that_learns_the_reverse_becomes_what_it_is_without_constraints(strength):
    X, y, group = rows()
    scorer = Reversed("bnsp", strength=strength)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scorer.fit(X, y, sensitive_features=group)
    history = scorer.history_
    assert history.stage == ["learning", "without constraints", "reweighed"]
    assert history.chosen in (1, 2)
    free = Reversed().fit(X, y)
    assert scorer.score(X, y) > free.score(X, y) - 0.05
    assert scorer.score(X, y) == pytest.approx(history.auc[history.chosen])


def test_a_constant_is_given_up_where_not_asking_is_within_the_tolerance():
    X, y, group = rows()
    scorer = Constant("bnsp", tolerance=0.5).fit(X, y, sensitive_features=group)
    assert scorer.history_.stage[scorer.history_.chosen] != "learning"
    assert scorer.score(X, y) > 0.8
    assert scorer.converged_
    # A constant has no gap at all: it stays where the other two have one that is not allowed.
    biased = X[:, :1] + 10.0 * group[:, None]
    scorer = Constant("inter_group").fit(biased, y, sensitive_features=group)
    assert scorer.history_.chosen == 0
    assert scorer.score(biased, y) == 0.5


PROBLEMS = [
    (LinearScorer, RocConstraint(rates=(0.25, 0.5)), {}),
    (BoostedScorer, "bnsp", {"strength": 9}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "constraint", "options"), PROBLEMS, ids=lambda part: str(part)[:12]
)
def test_no_fit_ranks_below_chance(make, constraint, options):
    """Few rows of three groups, features that say more about the group than about the class."""
    for seed in range(often(1)):
        rng = np.random.default_rng(seed)
        y, group = rng.integers(0, 2, 150), rng.integers(0, 3, 150)
        X = rng.normal(size=(150, 3)) + 0.4 * y[:, None]
        X += group[:, None] * rng.normal(size=3) * 1.5
        scorer = make(constraint, random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scorer.fit(X, y, sensitive_features=group)
        assert scorer.score(X, y) >= 0.5
        history = scorer.history_
        assert history.auc[history.chosen] >= 0.5
        # Nothing that was looked at beats it in AUC and in what is beyond what is allowed.
        beyond = np.abs(history.gaps) - allowances(scorer, X, y, group)
        worst = np.maximum(beyond.max(axis=1), 0.0)
        if not options:
            better = np.array(history.auc) > history.auc[history.chosen] + 1e-9
            assert not np.any(better & (worst < worst[history.chosen] - 1e-9))
