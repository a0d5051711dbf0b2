"""From a score to a probability: an increasing map, learned where the score had not been trained.

With a score s in units of its training scores, t = (s − centre) / scale, the log odds are piecewise
linear and increasing in t:

    log p/(1 − p) = a + Σ_j b_j · (the part of t within segment j),    b_j > 0,

the segments being cut at quantiles. One slope for all is Platt's logistic calibration; more follow
whatever bends the score has. They are learned by maximum likelihood, with a penalty on how much
neighbours differ, relative to Platt's slope b,

    ½ Σ_j ((b_{j+1} − b_j) / (bend · b))²,

whose worth does not grow with n: few rows get Platt's line, many get any increasing map. Labels are
moved inwards as Platt has it, to (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2), so that a score which separates
the classes gets finite log odds. The problem is convex. Beyond the scores seen, log odds grow like
a logarithm: nothing is known there, and probabilities must not all be 1.

The map is the same for everybody and strictly increasing: probabilities rank as the score does, and
their AUC and gaps are those of the score. (Two scores that differ by less than doubles can tell
apart as probabilities may be tied.)
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats

# Log loss on new rows less that of Platt's line (`benchmarks/calibration.py`): 0.0007 more on 200
# to 470 rows, 0.0060 less on 1,000; isotonic regression 0.0037 more and 0.0045 less.
_SEGMENTS = 10
_BEND = 0.25
_LEAST = 1e-3  # the smallest slope, per standard deviation: a score that tells nothing still ranks
_APART = 1e-6  # knots closer than that are one


@final
@dataclass(frozen=True, eq=False)
class Calibration:
    """An increasing map from scores to probabilities; made by `fit`.

    `knots` are standardised scores, from the least to the greatest seen, `log_odds` those there,
    and `slopes` those of the first and the last segment, with which the map goes on.

    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=20_000)
    >>> positive = rng.random(20_000) < expit(2.0 * score - 1.0)
    >>> grouped = GroupedScores.from_arrays(positive, score, sensitive_features=positive)
    >>> found = Calibration.fit(grouped).probability(np.array([0.0, 1.0]))
    >>> bool(np.allclose(found, expit([-1.0, 1.0]), atol=0.02))
    True
    """

    knots: Floats
    log_odds: Floats
    slopes: Floats
    centre: float = 0.0
    scale: float = 1.0

    @classmethod
    def fit(cls, scores: GroupedScores, centre: float = 0.0, scale: float = 1.0) -> Self:
        """Learn the map from standardised scores of rows not trained on, whatever their groups.

        `centre` and `scale` are those of the scores that it will be given.
        """
        positive = scores.cell >= scores.n_groups
        # A weight of two is a row given twice; what adds up to less than the rows is relative.
        total = float(scores.weight.sum())
        weight = scores.weight * (max(total, float(scores.count.sum())) / total)
        platt = _fitted(scores.score, positive, weight, np.zeros(0), np.inf)
        inner = _inner_knots(scores.score, weight)
        bent = _fitted(scores.score, positive, weight, inner, _BEND * platt[1])
        knots = np.unique([scores.score[0], *inner, scores.score[-1]])
        return cls(knots, _parts(knots, inner) @ bent, bent[[1, -1]], centre, scale)

    def probability(self, score: Floats) -> Floats:
        """The probability of the second class at scores."""
        t = (np.asarray(score) - self.centre) / self.scale
        return np.asarray(expit(self._log_odds(t)))

    def of_both_classes(self, score: Floats) -> Floats:
        """The probabilities of the first class and of the second, (n, 2)."""
        second = self.probability(score)
        return np.column_stack((1.0 - second, second))

    def _log_odds(self, t: Floats) -> Floats:
        below = np.log1p(np.maximum(self.knots[0] - t, 0.0))
        above = np.log1p(np.maximum(t - self.knots[-1], 0.0))
        inside = np.interp(t, self.knots, self.log_odds)
        return np.asarray(inside - self.slopes[0] * below + self.slopes[1] * above)


def has_probabilities(scorer: Any) -> bool:
    """Whether a scorer was fitted with folds, or will be; if not, an AttributeError says so."""
    fitted = hasattr(scorer, "classes_")
    if scorer.calibration_ is not None if fitted else scorer.folds >= 2:
        return True
    raise AttributeError("Probabilities are calibrated on rows not trained on: fit with folds=3.")


def _inner_knots(score: Floats, weight: Floats) -> Floats:
    """Scores that cut the rows into segments of equal weight; fewer where scores are tied."""
    up_to = np.cumsum(weight) / weight.sum()
    shares = np.arange(1, _SEGMENTS) / _SEGMENTS
    cuts = score[np.searchsorted(up_to, shares - 1e-12)]  # a share met but for rounding is met
    cuts = cuts[(cuts > score[0] + _APART) & (cuts < score[-1] - _APART)]
    return np.asarray(cuts[np.diff(cuts, prepend=-np.inf) > _APART])


def _parts(t: Floats, inner: Floats) -> Floats:
    """A column of ones, then the part of t within each segment, from the first inner knot on.

    The outer segments have no end.
    """
    if not len(inner):
        return np.column_stack((np.ones_like(t), t))
    within = [np.clip(t - start, 0.0, end - start) for start, end in pairwise(inner)]
    below, above = np.minimum(t - inner[0], 0.0), np.maximum(t - inner[-1], 0.0)
    return np.column_stack((np.ones_like(t), below, *within, above))


def _fitted(t: Floats, positive: Bools, weight: Floats, inner: Floats, bend: float) -> Floats:
    """Intercept and slopes of largest penalised likelihood."""
    parts = _parts(t, inner)
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    total = weight.sum()
    share = weight / total

    def value_and_gradient(parameters: Floats) -> tuple[float, Floats]:
        log_odds = parts @ parameters
        loss = np.logaddexp(0.0, log_odds) - target * log_odds
        steps = np.diff(parameters[1:]) / bend
        value = share @ loss + 0.5 * steps @ steps / total
        gradient = (share * (expit(log_odds) - target)) @ parts
        pull = steps / bend / total
        gradient[1:-1] -= pull
        gradient[2:] += pull
        return float(value), gradient

    prevalence = float(share @ target)
    start = np.full(parts.shape[1], _LEAST)
    start[0] = np.log(prevalence / (1.0 - prevalence))
    bounds = [(None, None), *[(_LEAST, None)] * (parts.shape[1] - 1)]
    found = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-8},
    )
    return np.asarray(found.x)
