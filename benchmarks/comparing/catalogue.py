"""What is tried: the packages, their methods, and the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenscore import datasets

OURS = ("evenscore", "lightgbm")  # run by the Python that runs the driver
OTHERS = ("fairlearn", "aif360", "fairgbm", "fair-trees", "fair-scoring", "aequitas")


@dataclass(frozen=True)
class Learner:
    """A way to a fair model: `key` is its name in the worker of the package."""

    package: str
    key: str
    label: str
    needs_group: bool = False


@dataclass(frozen=True)
class Auditor:
    """A way to measure a score; what it looks at and what it says of chance, in words."""

    package: str
    key: str
    label: str
    cuts: str
    chance: str


PLAIN = Learner("lightgbm", "plain", "LightGBM, nothing asked")
EVEN = Learner("evenscore", "EvenScorer", "evenscore `EvenScorer`")
LEARNERS = (
    PLAIN,
    EVEN,
    Learner("evenscore", "LinearScorer", "evenscore `LinearScorer`"),
    Learner("fairlearn", "ExponentiatedGradient", "fairlearn `ExponentiatedGradient`"),
    Learner("aif360", "Reweighing", "AIF360 `Reweighing`"),
    Learner("fairgbm", "default", "FairGBM"),
    Learner("fairgbm", "in the range", "FairGBM, threshold in the range"),
    *(Learner("fair-trees", f"theta={t}", f"fair-trees, theta = {t}") for t in (0.2, 0.4, 0.6)),
    Learner("evenscore", "RepairedScorer", "evenscore `RepairedScorer`", needs_group=True),
    Learner("aif360", "CalibratedEqualizedOdds", "AIF360 `CalibratedEqualizedOdds`", True),
    Learner("fairlearn", "ThresholdOptimizer", "fairlearn `ThresholdOptimizer`", True),
)
BESIDE = (PLAIN, EVEN)  # scores that are cut where another tool decides

AUDITORS = (  # those that draw samples take long and come last
    Auditor("evenscore", "audit", "evenscore `audit`", "all in the range", "intervals, verdicts"),
    Auditor("evenscore", "rates_at", "evenscore `rates_at`", "one", "none"),
    Auditor("fairlearn", "MetricFrame", "fairlearn `MetricFrame`", "one", "none"),
    Auditor("aif360", "metrics", "AIF360 metrics", "one", "none"),
    Auditor("aequitas", "Audit", "Aequitas `Audit`", "one", "none"),
    Auditor("aequitas", "significance", "Aequitas, `check_significance=True`", "one", "tests"),
    Auditor("fair-scoring", "measures", "fair-scoring, all measures", "averages", "none"),
    Auditor("fairlearn", "bootstrap", "fairlearn, `n_boot=100`", "one", "intervals"),
    Auditor(
        "fair-scoring", "permutations", "fair-scoring, `n_permute=100`", "averages", "p-values"
    ),
)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a data set without the columns that state the group."""

    X: np.ndarray
    y: np.ndarray
    names: np.ndarray
    groups: np.ndarray  # 0 and 1, in the order of the data set


LOADERS = {"adult": datasets.load_adult, "bank": datasets.load_bank}
STATES_GROUP = {"adult": "sex=", "bank": "age"}  # how the names of these columns begin


def parts(name: str, split: int) -> tuple[Part, Part]:
    """Training and test rows: the published split is number 0, others are drawn."""
    data = LOADERS[name]()
    train, test = data.split(split) if split else (data.train, data.test)
    kept = [not feature.startswith(STATES_GROUP[name]) for feature in data.feature_names]
    codes = (data.groups == data.group_order[1]).astype(int)
    one, other = (
        Part(data.X[rows][:, kept], data.y[rows], data.groups[rows], codes[rows])
        for rows in (train, test)
    )
    return one, other
