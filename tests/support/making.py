"""Makers of data that tests of every room share, and how often simulations repeat."""

import os
from pathlib import Path

import numpy as np

from evenscore.gaps import EstimateSettings, RateConstraint, RocConstraint, as_constraints
from evenscore.gaps.catalogue import constraint_names
from evenscore.gaps.family import family_estimates
from evenscore.learning.task import Task
from evenscore.learning.training_set import TrainingSet
from evenscore.scores import CLASSES as BOTH
from evenscore.scores import GroupedScores

SOAK = int(os.environ.get("EVENSCORE_SOAK", "1"))


def often(n):
    """How often a simulation is repeated: n times, and many times more in `make soak`."""
    return n * SOAK


def data_folder(pattern):
    """Where files that are not bundled are, None if nowhere: EVENSCORE_DATA, or shared/data."""
    sibling = Path(__file__).resolve().parents[3] / "shared" / "data"
    for folder in (os.environ.get("EVENSCORE_DATA"), sibling):
        if folder and list(Path(folder).glob(pattern)):
            return Path(folder)
    return None


def draw(seed, n=120, n_groups=2, levels=10, weights=None, shift=0.3):
    """Random rows with every cell filled: ties if `levels`, weights 'integer', 'real' or None."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat([0, 1], n_groups), rng.integers(0, 2, n)])
    group = np.concatenate([np.tile(np.arange(n_groups), 2), rng.integers(0, n_groups, n)])
    score = rng.normal(size=len(y)) + 0.8 * y + shift * group * (1 - 0.5 * y)
    if levels:
        score = np.clip(np.round(score * levels / 5), -levels, levels) / 4
    weight = None
    if weights == "integer":
        weight = rng.integers(1, 5, len(y)).astype(float)
    elif weights == "real":
        weight = rng.gamma(2.0, size=len(y))
    return y, score, group, weight


def table_of(y, score, group, weight=None, cluster=None, **more):
    """The table of some rows, `table_of(*draw(3))` among them."""
    return GroupedScores.from_arrays(
        y, score, sensitive_features=group, sample_weight=weight, cluster=cluster, **more
    )


def every_family(rates=(0.125, 0.25)):
    """Constraints of every family: errors at the cuts in use, AUC notions, the paper's ROC gaps."""
    roc = [RocConstraint(on=on, rates=rates) for on in BOTH]
    return [RateConstraint("fpr", "fnr"), *constraint_names(), *roc]


def gap_estimates(scores, constraints, confidence_level=0.95, **settings):
    """Every gap of some constraints with its interval."""
    asked = EstimateSettings(confidence_level, **settings)
    return family_estimates(scores, as_constraints(constraints), asked)


def allowances(scorer, X, y, groups):
    """The gap that training may leave, of every gap that a scorer was asked to close."""
    constraints = tuple(as_constraints(scorer.constraints))
    data = TrainingSet.read(X, y == np.unique(y)[1], groups, None, constraints)
    task = Task(constraints, scorer.tolerance, scorer.strength)
    return task.allowances(task.objective(data))
