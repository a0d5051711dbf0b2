import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from reference import Rows

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


settings.register_profile("evenscore", deadline=None, max_examples=often(30), derandomize=True)
settings.load_profile("evenscore")

# JAX compiles the same programs for test after test: it may keep them. Set before JAX is imported.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


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


CASES = [
    pytest.param(dict(n_groups=k, levels=levels, weights=w), id=f"K{k}-{levels or 'cont'}-{w}")
    for k in (2, 5)
    for levels in (None, 10, 1)
    for w in (None, "integer", "real")
]


@pytest.fixture(params=CASES)
def sample(request):
    """(rows for the naive reference, GroupedScores) of the same observations."""
    y, score, group, weight = draw(7, **request.param)
    grouped = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    return Rows(y, score.tolist(), group, weight), grouped


@pytest.fixture(scope="session")
def compas_folder():
    """The folder with the COMPAS files, or a skip: they may not be distributed."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("EVENSCORE_DATA", beside)).resolve()
    if not (folder / "compas").is_dir() and not list(folder.glob("compas*.csv")):
        pytest.skip("the COMPAS files are not here: set EVENSCORE_DATA to their folder")
    return folder
