"""Real data: the paper's algorithms at their parameters and over the grid, all scorers on splits.

Each data set has its constraint, the division of its rows and how a score of them is judged. In the
grid, λ_reg is chosen for every λ as the paper says: by the criterion AUC − λ Σ|gap| on the
validation rows. How λ itself was chosen the paper does not say ("to obtain interesting
trade-offs"); `Selection` takes the least λ whose gaps on the validation rows are within 0.05.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore import EvenScorer, LinearScorer, RepairedScorer, datasets
from evenscore.datasets import Dataset
from evenscore.gaps import AucConstraint, RocConstraint
from evenscore.inference import auc_estimates, roc_band
from evenscore.inference.intervals import normal_quantile
from evenscore.paper import PaperScorer
from evenscore.scores import CLASSES, GroupedScores, OneOrBoth
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import inter_group_curve
from reproduction.parts import Outcome
from reproduction.published import KINDS, L2, RATES, STRENGTH, DataName, Kind

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


# ---------------------------------------------------------------------- fits


Outcomes = Mapping[tuple[DataName, Kind], Outcome]

_SMALL_GAP = 0.05


def paper_scorer(
    name: DataName, kind: Kind, on: OneOrBoth = "both", **parameters: Any
) -> PaperScorer:
    """Algorithm 1 or 2 with the published parameters, unless others are given.

    ROC constraints are on both classes, as the text says, or on one of them.
    """
    setting = DATA[name]
    constraint = setting.constraint(kind, on)
    given = {
        "strength": setting.strength(kind) if constraint else None,
        "l2": setting.l2,
        "validation_fraction": setting.validation_fraction,
    }
    return PaperScorer(constraint, **(given | parameters))


def fit_published(
    name: DataName, kind: Kind, data: str, seeds: list[int], **parameters: Any
) -> Outcome:
    """Fit once a seed: test measures (seeds, 2, 6), and the first fit's scores of all rows."""
    rows = load(name)
    train, test = published_split(rows)
    measures, first = [], None
    for seed in seeds:
        scorer = paper_scorer(name, kind, random_state=seed, **parameters)
        scorer.fit(**columns(rows, train, kind))
        measures.append(judge(name, scorer.decision_function(rows.X[test]), test))
        if first is None:
            first = scorer.decision_function(rows.X)
    return {"measures": np.array(measures), "scores": np.asarray(first)}


def fit_grid(
    name: DataName, kind: Kind, data: str, strength: float, l2s: list[float], n_iter: int
) -> Outcome:
    """Fit for every λ_reg: criterion, AUC and gaps on the validation rows, measures on the test."""
    rows = load(name)
    train, test = published_split(rows)
    scorer = paper_scorer(name, kind, strength=strength, n_iter=n_iter, random_state=0)
    fits = scorer.fit_many(grid=[{"l2": l2} for l2 in l2s], **columns(rows, train, kind))
    # The last update looks at the final network.
    auc = np.array([fit.history_.auc[-1] for fit in fits])
    gaps = np.array([fit.history_.gaps[-1] for fit in fits])
    return {
        "criterion": auc - strength * np.abs(gaps).sum(axis=1),
        "validation_auc": auc,
        "validation_gaps": gaps,
        "measures": np.array([judge(name, f.decision_function(rows.X[test]), test) for f in fits]),
    }


SCORERS = {
    "paper": "the paper's networks",
    "linear": "LinearScorer",
    "even": "EvenScorer",
    "repaired": "RepairedScorer on LightGBM",
}
"""Which learn on many splits: the paper's and ours."""
_NOT_AT_CUTS = ("inter_group",)  # an AUC constraint that EvenScorer cannot be asked for


def fit_split(name: DataName, scorer: str, data: str, split: int, n_iter: int) -> Outcome:
    """Fit with each constraint on one split: test measures (none, AUC, ROC; 2; 6).

    What a scorer cannot be asked for is NaN.
    """
    rows = load(name)
    train, test = rows.split(split)
    measures = []
    for kind in KINDS:
        if scorer == "even" and kind == "auc" and DATA[name].auc_constraint in _NOT_AT_CUTS:
            measures.append(np.full_like(measures[0], np.nan))
            continue
        model = _scorer(scorer, name, kind, split, n_iter).fit(**columns(rows, train, kind))
        needed = {"sensitive_features": codes(rows, test)} if scorer == "repaired" else {}
        score = model.decision_function(rows.X[test], **needed)
        measures.append(judge(name, score, test))
    return {"measures": np.array(measures)}


def _scorer(scorer: str, name: DataName, kind: Kind, seed: int, n_iter: int) -> Any:
    """Ours have their defaults: a tolerance of 0.02."""
    constraint = DATA[name].constraint(kind)
    if scorer == "paper":
        return paper_scorer(name, kind, random_state=seed, n_iter=n_iter)
    if scorer == "repaired":
        return RepairedScorer(constraints=constraint, n_jobs=1, random_state=seed)
    return {"linear": LinearScorer, "even": EvenScorer}[scorer](constraint, random_state=seed)


@dataclass(frozen=True, eq=False)
class Selection:
    """What the validation rows choose for one data set and algorithm.

    For every λ of `strengths`: the λ_reg of the best criterion, and that fit's AUC and worst gap on
    the validation rows and measures (2, 6) on the test rows. `chosen` is the position of the λ.
    """

    strengths: tuple[float, ...]
    l2: tuple[float, ...]
    validation_auc: Floats
    worst_gap: Floats
    measures: Floats

    @classmethod
    def of(
        cls, strengths: Sequence[float], l2s: Sequence[float], outcomes: Sequence[Outcome]
    ) -> Selection:
        """Select from the outcomes of the parts of every λ."""
        best = [int(np.argmax(outcome["criterion"])) for outcome in outcomes]
        pairs = list(zip(outcomes, best, strict=True))
        return cls(
            tuple(strengths),
            tuple(l2s[k] for k in best),
            np.array([o["validation_auc"][k] for o, k in pairs]),
            np.array([np.max(np.abs(o["validation_gaps"][k])) for o, k in pairs]),
            np.array([o["measures"][k] for o, k in pairs]),
        )

    @property
    def chosen(self) -> int:
        """The least λ > 0 whose gaps on the validation rows are small; or that of the least gap."""
        penalised = [k for k, strength in enumerate(self.strengths) if strength > 0]
        small = [k for k in penalised if self.worst_gap[k] <= _SMALL_GAP]
        return small[0] if small else min(penalised, key=lambda k: float(self.worst_gap[k]))
