"""What fairness costs is told, and no fit is worse than not having asked."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from support.making import allowances, often

from evenscore import Cuts, EvenScorer, LinearScorer, RateConstraint, RocConstraint
from evenscore.inference.estimate import Estimate
from evenscore.learning.price import Price, PriceWarning

WHERE = "on rows not trained on"
FAIR = RateConstraint("fnr", cuts=Cuts(between=(0.2, 0.5)), tolerance=0.02)


def hidden(n=1000, seed=0):
    """A signal that is shifted in one group, and nothing else of much use."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, (2, n))
    X = np.column_stack([2.0 * y + 2.5 * group + rng.normal(size=n), rng.normal(size=n)])
    X[:, 1] += 0.3 * y
    return X, y, group


def price_of(free, auc, free_gap=0.3, gap=-0.01, error=0.01):
    """A price of numbers that are all as uncertain."""

    def made(name, value):
        return Estimate(name, value, value - error, value + error, 0.95, "made")

    return Price(
        made("AUC", free), made("AUC", auc), made("AUC", free - auc), made("gap", free_gap),
        made("gap", gap),
    )  # fmt: skip


# ---------------------------------------------------------------------- the words


def test_the_price_in_words():
    price = price_of(0.8, 0.75)
    assert price.drop == pytest.approx(0.05)
    for told in ("0.800 → 0.750", WHERE, "price of 0.050", "(0.040 to 0.060)", "0.300 → 0.010"):
        assert told in str(price)
    assert price.warning.endswith(str(price))
    assert "to" not in str(price_of(0.8, 0.75, error=0.0)).split("price")[1].split("largest")[0]
    assert "largest gap" not in str(price_of(0.8, 0.75, gap=np.nan))


def test_what_costs_nothing():
    for auc in (0.8, 0.82):
        assert "at no price" in str(price_of(0.8, auc))
        assert price_of(0.8, auc).warning is None


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
    warning = price_of(free, auc).warning
    assert warning is None if lead is None else warning.startswith(lead)


# ---------------------------------------------------------------------- as fits tell it


@pytest.mark.parametrize("make", [LinearScorer, EvenScorer])
def test_a_fit_tells_its_price_on_rows_left_out(make):
    X, y, group = hidden(3000)
    scorer = make(FAIR, random_state=0)
    if make is EvenScorer:
        scorer.set_params(estimator="logistic")
    match = rf"^{make.__name__} .*AUC 0\.\d+ → 0\.\d+ {WHERE}"
    with pytest.warns(PriceWarning, match=match) as caught:
        scorer.fit(X, y, sensitive_features=group)
    assert [w.filename for w in caught if w.category is PriceWarning] == [__file__]
    price, told = scorer.price_, scorer.left_out_
    shares = told.rows.positive, told.free, told.fair
    assert price.free.value == pytest.approx(roc_auc_score(shares[0], shares[1]), abs=1e-12)
    assert price.auc.value == pytest.approx(roc_auc_score(shares[0], shares[2]), abs=1e-12)
    assert price.drop == pytest.approx(price.free.value - price.auc.value, abs=1e-12)
    assert price.gap == max(scorer.gaps_, key=lambda gap: abs(gap.value))
    assert abs(price.free_gap.value) > 0.3 > 0.1 > abs(price.gap.value)
    # Both scores are of the same people: their difference is known better than of others.
    width = price.difference.high - price.difference.low
    assert 0.0 < width < np.hypot(*(one.high - one.low for one in (price.auc, price.free)))
    # And new people bear it out.
    fresh, labels, _ = hidden(20_000, seed=1)
    auc = roc_auc_score(labels, scorer.decision_function(fresh))
    assert price.auc.low - 0.01 < auc < price.auc.high + 0.01


# ---------------------------------------------------------------------- never worse


def test_no_fit_ranks_below_chance():
    """Few rows of three groups, features that say more about the group than about the class."""
    for seed in range(often(2)):
        rng = np.random.default_rng(seed)
        y, group = rng.integers(0, 2, 150), rng.integers(0, 3, 150)
        X = rng.normal(size=(150, 3)) + 0.4 * y[:, None]
        X += group[:, None] * rng.normal(size=3) * 1.5
        scorer = LinearScorer(RocConstraint(rates=(0.25, 0.5)), folds=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scorer.fit(X, y, sensitive_features=group)
        assert scorer.score(X, y) >= 0.5
        history = scorer.history_
        assert history.auc[history.chosen] >= 0.5
        # Nothing that was looked at beats it in AUC and in what is beyond what is allowed.
        beyond = np.abs(history.gaps) - allowances(scorer, X, y, group)
        worst = np.maximum(beyond.max(axis=1), 0.0)
        better = np.array(history.auc) > history.auc[history.chosen] + 1e-9
        assert not np.any(better & (worst < worst[history.chosen] - 1e-9))
