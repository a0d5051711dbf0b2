"""The paper's real data sets: which constraint each has, how it is divided, how a score is judged.

Everything here is shared by the published parameters, the full grid and the other splits.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore import datasets
from evenscore.datasets import Dataset
from evenscore.gaps import AucConstraint, RocConstraint
from evenscore.inference import auc_estimates, roc_band
from evenscore.inference.intervals import normal_quantile
from evenscore.paper.published import L2, RATES, STRENGTH, DataName, Kind
from evenscore.scores import CLASSES, GroupedScores, OneOrBoth
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import inter_group_curve

Rows = NDArray[np.int64]

ROC = RocConstraint(on="both", rates=RATES)


@dataclass(frozen=True)
class RealData:
    """What the paper decides for a data set.

    `auc_constraint` follows the meaning of a positive label: where it is a disadvantage (Compas),
    negatives are compared; where an advantage (German), positives.
    """

    name: DataName
    title: str
    auc_constraint: str
    validation_fraction: float = 0.4

    def constraint(
        self, kind: Kind, on: OneOrBoth = "both"
    ) -> AucConstraint | RocConstraint | tuple[()]:
        """The constraint that a score is trained with; a ROC constraint is on these classes."""
        if kind == "none":
            return ()
        return replace(ROC, on=on) if kind == "roc" else AucConstraint.named(self.auc_constraint)

    def strength(self, kind: Kind) -> float:
        """The published λ; for the other preprocessing of Compas, that of Compas."""
        return STRENGTH[self.name.removesuffix("_two_years"), kind]

    @property
    def l2(self) -> float:
        """The published λ_reg."""
        return L2[self.name.removesuffix("_two_years")]


DATA: dict[DataName, RealData] = {
    data.name: data
    for data in (
        RealData("german", "German", "bnsp", validation_fraction=0.3),
        RealData("adult", "Adult", "inter_group"),
        RealData("compas", "Compas", "bpsn"),
        RealData("bank", "Bank", "inter_group"),
        RealData("compas_two_years", "Compas (two years)", "bpsn"),
    )
}


@lru_cache(maxsize=2)
def load(name: DataName) -> Dataset:
    """The data set, kept in memory: many fits look at it."""
    if name == "compas_two_years":
        return datasets.load_compas(version="two-years")
    dataset: Dataset = getattr(datasets, f"load_{name}")()
    return dataset


def available(names: Sequence[DataName]) -> tuple[list[DataName], list[str]]:
    """Which of the data sets can be read, and one sentence for each reason why some cannot."""
    there: list[DataName] = []
    reasons: dict[str, list[str]] = {}
    for name in names:
        try:
            load(name)
        except OSError as error:
            reasons.setdefault(str(error), []).append(DATA[name].title)
        else:
            there.append(name)
    sentences = [f"{' and '.join(titles)} left out: {why}" for why, titles in reasons.items()]
    return there, sentences


@lru_cache(maxsize=8)
def fingerprint(name: DataName) -> str:
    """A hash of the rows, so that results of one file are never taken for those of another."""
    data = load(name)
    digest = hashlib.sha256()
    for column in (data.X, data.y, data.groups == data.group_order[1], data.train):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:16]


def published_split(data: Dataset) -> tuple[Rows, Rows]:
    """Train and test rows as the published numbers have them.

    Adult comes divided. Of the others, the authors' program (which the paper links to) has
    scikit-learn draw the test rows with the seed 42, whatever their class and group; their number
    is the paper's.
    """
    if data.name == "adult":
        return data.train, data.test
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(data.y))
    train, test = train_test_split(rows, test_size=len(data.test), random_state=42)
    return train, test


def codes(data: Dataset, rows: Rows) -> NDArray[np.int64]:
    """The paper's groups 0 and 1."""
    return np.asarray(data.groups[rows] == data.group_order[1], dtype=np.int64)


def columns(data: Dataset, rows: Rows, kind: Kind) -> dict[str, Any]:
    """What a scorer is fitted on: with groups, if something is to be equal between them."""
    groups = {} if kind == "none" else {"sensitive_features": codes(data, rows)}
    return {"X": data.X[rows], "y": data.y[rows], **groups}


def grouped(name: DataName, score: Floats, rows: Rows) -> GroupedScores:
    """Scores of some rows by class and group, in the paper's order of the groups."""
    data = load(name)
    return GroupedScores.from_arrays(
        data.y[rows], score, sensitive_features=codes(data, rows), group_order=(0, 1)
    )


def judge(name: DataName, score: Floats, rows: Rows) -> Floats:
    """Values and standard errors, (2, 6), in the order of the published measures; gaps signed."""
    scores = grouped(name, score, rows)
    auc, _ = auc_estimates(scores)
    [gap] = AucConstraint.named(DATA[name].auc_constraint).estimates(scores)
    values, errors = [auc.value, gap.value], [auc.standard_error, gap.standard_error]
    for on in CLASSES:  # the paper's Δ: by Definition 1, cut in its group 0
        band = roc_band(inter_group_curve(scores, on), RATES, kind="pointwise").gap()
        values += band.value.tolist()
        errors += ((band.high - band.low) / (2.0 * normal_quantile(0.975))).tolist()
    return np.array([values, errors])
