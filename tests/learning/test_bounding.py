"""The bound of a fit: above what any score reaches, and not far above."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from evenscore import Cuts, EvenScorer, RateConstraint
from evenscore.datasets import load_german
from evenscore.placement.problem import Points, Problem
from evenscore.placement.program import best_placement

# Of each class and group (negatives of a and b, positives of a and b) the law over eight kinds.
LAW = np.array(
    [
        [0.30, 0.22, 0.16, 0.12, 0.08, 0.06, 0.04, 0.02],
        [0.12, 0.15, 0.15, 0.15, 0.13, 0.12, 0.10, 0.08],
        [0.03, 0.06, 0.09, 0.12, 0.15, 0.17, 0.18, 0.20],
        [0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.24, 0.28],
    ]
)
SHARES = np.array([0.35, 0.25, 0.22, 0.18])
MASSES = (SHARES[:, None] * LAW).T  # (kinds, cells)


class Known(ClassifierMixin, BaseEstimator):
    """The true chances: of the class, or of the groups in whichever class it is fitted on."""

    PARTS = (((0, 1), (2, 3)), ((0,), (1,)), ((2,), (3,)))

    def fit(self, X, y):
        self.classes_, code = np.unique(y, return_inverse=True)
        told = [np.log(self._of(X, parts)[np.arange(len(y)), code]).sum() for parts in self.PARTS]
        self.parts_ = self.PARTS[int(np.argmax(told))]
        return self

    @staticmethod
    def _of(X, parts):
        cells = MASSES[np.asarray(X)[:, 0].astype(int)]
        asked = np.column_stack([cells[:, list(some)].sum(axis=1) for some in parts])
        return asked / asked.sum(axis=1, keepdims=True)

    def predict_proba(self, X):
        return self._of(X, self.parts_)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    cell = rng.choice(4, size=12_000, p=SHARES)
    kind = (rng.random(len(cell))[:, None] > np.cumsum(LAW, axis=1)[cell]).sum(axis=1)
    return kind[:, None].astype(float), cell // 2, cell % 2


@pytest.mark.slow  # two programs of some thousand variables
@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_no_score_of_known_chances_exceeds_the_bound(people, tolerance):
    """The program on the kinds themselves is what some score reaches; the bound is above it."""
    X, y, groups = people
    fair = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=tolerance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = EvenScorer(fair, Known(), random_state=0)
        scorer.fit(X, y, sensitive_features=groups)
    odds = np.log(MASSES[:, 2:].sum(axis=1) / MASSES[:, :2].sum(axis=1))
    points = Points(np.repeat(odds, 4), np.tile(np.arange(4), 8), MASSES.reshape(-1), 2)
    sizes = np.bincount(groups + 2 * y).astype(float)  # what cannot be told from chance is allowed
    problem = Problem.of([fair], [tolerance], points, sizes).finer(79)
    best = best_placement(problem, MASSES).auc
    bound = scorer.bound_
    assert best - 3.0 * bound.standard_error < bound.value < best + 0.015
    assert "chances are right" in str(bound)


def test_without_a_demand_the_chances_own_ranking_does_not_pass_it():
    data = load_german()
    loose = RateConstraint("fpr", cuts=Cuts(at=(0.3,)), tolerance=0.99)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = EvenScorer(loose, "logistic", random_state=0)
        scorer.fit(data.X, data.y, sensitive_features=data.groups)
    bound = scorer.bound_
    assert bound.value > scorer.left_out_.auc.value - 2.0 * bound.standard_error


def test_there_is_no_bound_without_constraints_or_of_what_is_not_linear(people):
    X, y, groups = (column[:2000] for column in people)
    scorer = EvenScorer(RateConstraint("fpr", tolerance=0.9), Known(), random_state=0)
    scorer.fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="constraints"):
        _ = scorer.under(()).bound_
    precise = RateConstraint("precision", cuts=Cuts(at=(0.3,)), tolerance=0.9)
    with pytest.raises(ValueError, match="not linear"):
        _ = scorer.under(precise).bound_
