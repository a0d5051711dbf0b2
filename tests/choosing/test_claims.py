"""What each claim costs: rows, order, and that the price is what separate fits give."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import evenscore as es
from evenscore.auditing.plain import to_plain
from evenscore.choosing import claim_prices
from evenscore.choosing.validation import balanced, draw_folds, read_rows_of
from evenscore.learning.objective import standardise

CUTS = es.Cuts(at=0.3)


def proxy(n=2_000, seed=0):
    """The second feature tells the classes apart, and the groups."""
    rng = np.random.default_rng(seed)
    y, z = rng.random(n) < 0.4, rng.random(n) < 0.5
    X = np.stack([y + rng.normal(size=n), 0.7 * y + 1.2 * z + rng.normal(size=n)], axis=1)
    return X, y.astype(int), np.where(z, "b", "a")


@pytest.fixture(scope="module")
def prices():
    X, y, groups = proxy()
    fair = es.RateConstraint("fpr", "fnr", cuts=CUTS, tolerance=0.05)
    return claim_prices(
        es.LinearScorer(fair), X, y, sensitive_features=groups, cv=3, random_state=0
    )


@pytest.mark.slow
def test_nothing_comes_first_then_each_then_all(prices):
    kinds = prices.kinds
    assert [claim.kinds for claim in prices.claims] == [(), kinds[:1], kinds[1:], kinds]
    assert prices.price(prices.claims[0]) == 0.0
    assert {len(claim.gaps) for claim in prices.claims} == {2}


def test_claims_close_what_they_say(prices):
    free, fpr, fnr, both = prices.claims
    one, two = prices.kinds
    assert abs(free.worst(one).value) > 0.1
    assert abs(free.worst(two).value) > 0.1
    assert abs(fpr.worst(one).value) < 0.08
    assert abs(fnr.worst(two).value) < 0.08
    assert abs(both.worst(one).value) < 0.08
    assert prices.price(both) > 0.005


def test_the_free_claim_is_a_plain_cross_validation(prices):
    """Written differently: fit and score fold by fold, with the same folds."""
    X, y, groups = proxy()
    data = read_rows_of(X, y, groups, None)
    rng = np.random.default_rng(0)
    rng.integers(2**31)  # the seed that the scorer got
    folds = draw_folds(data, 3, rng)
    score = np.empty(len(y))
    for fold in range(3):
        out = folds == fold
        scorer = es.LinearScorer().fit(X[~out], y[~out])
        raw = scorer.decision_function(X[out])
        score[out] = standardise(raw, balanced(data, out)).score
    assert prices.claims[0].auc.value == pytest.approx(roc_auc_score(y, score), abs=1e-12)


def test_one_claim_has_no_row_for_all():
    X, y, groups = proxy(800)
    scorer = es.LinearScorer("bnsp", tolerance=0.05)
    found = claim_prices(scorer, X, y, sensitive_features=groups, cv=2, random_state=0)
    assert [claim.kinds for claim in found.claims] == [(), ("bnsp",)]


def test_prices_are_shown_and_kept(prices):
    frame = prices.to_frame("pandas")
    assert frame["equal"].iloc[0] == "nothing"
    assert frame["price"].iloc[0] == 0.0
    assert json.dumps(to_plain(prices))
    assert "nothing" in repr(prices)


def test_a_scorer_without_constraints_has_no_price():
    X, y, groups = proxy(200)
    with pytest.raises(ValueError, match="no constraints"):
        claim_prices(es.LinearScorer(), X, y, sensitive_features=groups)
