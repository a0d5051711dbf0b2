"""Which increasing map from a score to a probability predicts best, on rows that nobody has seen.

Of the training rows of each data set, some are fitted on by `LinearScorer`, with four folds; the
maps are learned from the cross-fitted scores and looked at on the rest of the training rows: log
loss and Brier score, times 10⁴, less those of Platt's line. COMPAS is read from EVENSCORE_DATA.

    python benchmarks/calibration.py                       # a few minutes
    python benchmarks/calibration.py --fair --repeats 1    # with a constraint, slower
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from threadpoolctl import threadpool_limits

import evenscore as es
from evenscore import datasets
from evenscore.learning import calibrating
from evenscore.learning.cross_fitting import cross_fit, learn_on
from evenscore.learning.objective import standardise

SIZES = {
    "german": (200, 470),
    "adult": (300, 1000, 4000),
    "bank": (1000, 4000),
    "compas": (1000, 4000),
}
FAIR = es.RateConstraint("fnr", cuts=es.Cuts(between=(0.1, 0.4)), tolerance=0.02)
MOST = 20_000  # rows looked at


def isotonic(scores: es.GroupedScores, t, n_bins: int):
    """Isotonic regression of bins of equal weight, joined by lines."""
    positive = scores.cell >= scores.n_groups
    bin_of = np.searchsorted(
        np.arange(1, n_bins) / n_bins, np.cumsum(scores.weight) / scores.weight.sum()
    )
    _, bin_of = np.unique(bin_of, return_inverse=True)
    weight = np.bincount(bin_of, scores.weight)
    centre = np.bincount(bin_of, scores.weight * scores.score) / weight
    share = np.bincount(bin_of, scores.weight * positive) / weight
    fitted = IsotonicRegression().fit_transform(centre, share, sample_weight=weight)
    least = 0.5 / scores.weight.sum()
    return np.interp(t, centre, np.clip(fitted, least, 1.0 - least))


def maps(scores: es.GroupedScores, t) -> dict[str, np.ndarray]:
    """The probabilities by every map."""
    positive = scores.cell >= scores.n_groups
    line = calibrating._fitted(scores.score, positive, scores.weight, np.zeros(0), np.inf)
    found = {"platt": expit(line[0] + line[1] * t)}
    kept = calibrating._BEND, calibrating._SEGMENTS
    for bend, segments in ((0.1, 10), (0.25, 6), (0.25, 10), (0.25, 16), (0.5, 10), (1.0, 10)):
        calibrating._BEND, calibrating._SEGMENTS = bend, segments
        found[f"bend {bend:g}/{segments}"] = calibrating.Calibration.fit(scores).probability(t)
    calibrating._BEND, calibrating._SEGMENTS = kept
    found["isotonic"] = isotonic(scores, t, max(5, int(np.sqrt(len(scores)) / 2)))
    return found


def losses(p, y) -> np.ndarray:
    """Log loss and Brier score."""
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return np.array([-np.mean(np.log(np.where(y, p, 1.0 - p))), np.mean((p - y) ** 2)])


def compare(data, n: int, seed: int, *, fair: bool) -> dict[str, np.ndarray]:
    """Losses of every map on rows that were not fitted on, less those of Platt's line."""
    order = np.random.default_rng(seed).permutation(data.train)
    n = min(n, 2 * len(order) // 3)
    fitted, seen = order[:n], order[n : n + MOST]
    scorer = es.LinearScorer(FAIR if fair else (), random_state=0)
    task = scorer.task()
    groups = data.groups[fitted] if fair else None
    rows = scorer._read(data.X[fitted], data.y[fitted], groups, None, task.constraints)
    crossed, _ = cross_fit(scorer, rows, task, 4, np.random.default_rng(seed))
    final = learn_on(scorer, rows, task)
    training = standardise(final.raw_score(rows.X), rows.share)
    t = (final.raw_score(data.X[seen]) - training.mean) / training.scale
    found = {name: losses(p, data.y[seen] == 1) for name, p in maps(crossed.table, t).items()}
    return {name: 1e4 * (loss - found["platt"]) for name, loss in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fair", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in options.data:
        sizes, data = SIZES[name], getattr(datasets, f"load_{name}")()
        for n in sizes:
            with threadpool_limits(1):
                seeds = range(options.repeats)
                found = [compare(data, n, seed, fair=options.fair) for seed in seeds]
            print(f"{name}, {n} rows: log loss and Brier score less Platt's, × 10⁴", flush=True)
            for one in found[0]:
                log, brier = np.mean([losses[one] for losses in found], axis=0)
                print(f"  {one:<14}{log:+8.1f}{brier:+8.1f}")


if __name__ == "__main__":
    main()
