"""Real data: the paper's algorithms at their parameters and over the grid, all scorers on splits.

In the grid, λ_reg is chosen for every λ as the paper says: by the criterion AUC − λ Σ|gap| on the
validation rows. How λ itself was chosen the paper does not say ("to obtain interesting
trade-offs"); `Selection` takes the least λ whose gaps on the validation rows are within 0.05.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenscore.learning.boosted import BoostedScorer
from evenscore.learning.linear import LinearScorer
from evenscore.learning.neural import NeuralScorer
from evenscore.learning.repaired import RepairedScorer
from evenscore.paper.parts import Outcome
from evenscore.paper.published import KINDS, DataName, Kind
from evenscore.paper.real_data import DATA, codes, columns, judge, load, published_split
from evenscore.paper.scorer import PaperScorer
from evenscore.scores import OneOrBoth
from evenscore.scores.arrays import Floats

Outcomes = Mapping[tuple[DataName, Kind], Outcome]

_SMALL_GAP = 0.05
_TOLERANCE = 0.02


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
    "neural": "NeuralScorer",
    "boosted": "BoostedScorer",
    "repaired": "RepairedScorer on LightGBM",
}
"""Which learn on many splits: the paper's and ours."""


def fit_split(name: DataName, scorer: str, data: str, split: int, n_iter: int | None) -> Outcome:
    """Fit with each constraint on one split: test measures (none, AUC, ROC; 2; 6)."""
    rows = load(name)
    train, test = rows.split(split)
    measures = []
    for kind in KINDS:
        model = _scorer(scorer, name, kind, split, n_iter).fit(**columns(rows, train, kind))
        needed = {"sensitive_features": codes(rows, test)} if scorer == "repaired" else {}
        score = model.decision_function(rows.X[test], **needed)
        measures.append(judge(name, score, test))
    return {"measures": np.array(measures)}


def _scorer(scorer: str, name: DataName, kind: Kind, seed: int, n_iter: int | None) -> Any:
    """Ours have their defaults, the learned ones a tolerance; `n_iter` shortens networks."""
    constraint = DATA[name].constraint(kind)
    length: dict[str, Any] = {} if n_iter is None else {"n_iter": n_iter}
    learned: dict[str, Any] = {"tolerance": _TOLERANCE, "random_state": seed}
    if scorer == "paper":
        return paper_scorer(name, kind, random_state=seed, **length)
    if scorer == "repaired":
        return RepairedScorer(constraints=constraint, n_jobs=1, random_state=seed)
    if scorer == "neural":
        return NeuralScorer(constraint, **learned, **length)
    return {"linear": LinearScorer, "boosted": BoostedScorer}[scorer](constraint, **learned)


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
