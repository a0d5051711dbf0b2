"""The paper's algorithms on real data: at the published parameters, and over the full grid.

In the grid, λ_reg is chosen for every λ as the paper says: by the criterion AUC − λ Σ|gap| on the
validation rows. How λ itself was chosen the paper does not say ("to obtain interesting
trade-offs"); `Selection` takes the least λ whose gaps on the validation rows are within 0.05.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.datasets import Dataset
from evenscore.paper.parts import Outcome, Part
from evenscore.paper.published import KINDS, L2_GRID, STRENGTH_GRID, DataName, Kind
from evenscore.paper.real_data import DATA, codes, fingerprint, judge, load, published_split
from evenscore.scorers.neural import NeuralScorer

__all__ = ["Selection", "grid_parts", "paper_scorer", "published_parts"]

Floats = NDArray[np.float64]

_SMALL_GAP = 0.05


def paper_scorer(name: DataName, kind: Kind, **parameters: Any) -> NeuralScorer:
    """Algorithm 1 or 2 with the published parameters, unless others are given."""
    setting = DATA[name]
    constraint = setting.constraint(kind)
    given = {
        "strength": setting.strength(kind) if constraint else None,
        "l2": setting.l2,
        "validation_fraction": setting.validation_fraction,
    }
    return NeuralScorer(constraint, mode="paper", **(given | parameters))


# ---------------------------------------------------------------------- published parameters


def published_parts(
    names: Sequence[DataName], *, seeds: int = 5, n_iter: int = 20_000
) -> dict[tuple[DataName, Kind], Part]:
    """One part for every data set and constraint, on the published split."""
    return {
        (name, kind): Part(
            f"real-{name}-{kind}",
            fit_published,
            {
                "name": name,
                "kind": kind,
                "data": fingerprint(name),
                "seeds": list(range(seeds)),
                "n_iter": n_iter,
            },
        )
        for name in names
        for kind in KINDS
    }


def fit_published(
    name: DataName,
    kind: Kind,
    data: str,
    seeds: list[int],
    n_iter: int,
    strength: float | None = None,
    threshold_step: float = 0.01,
) -> Outcome:
    """Fit once a seed: test measures (seeds, 2, 6), and the first fit's scores of all rows."""
    rows = load(name)
    train, test = published_split(rows)
    changed: dict[str, Any] = {} if strength is None else {"strength": strength}
    found, first = [], None
    for seed in seeds:
        scorer = paper_scorer(
            name, kind, n_iter=n_iter, random_state=seed, threshold_step=threshold_step, **changed
        )
        _fit(scorer, rows, train)
        found.append(judge(name, scorer.decision_function(rows.X[test]), test))
        if first is None:
            first = scorer.decision_function(rows.X)
    return {"measures": np.array(found), "scores": np.asarray(first)}


def _fit(scorer: NeuralScorer, data: Dataset, train: Any) -> NeuralScorer:
    return scorer.fit(data.X[train], data.y[train], sensitive_features=codes(data, train))


# ---------------------------------------------------------------------- the full grid


def grid_parts(
    names: Sequence[DataName],
    *,
    strengths: Sequence[float] = STRENGTH_GRID,
    l2s: Sequence[float] = L2_GRID,
    n_iter: int = 20_000,
) -> dict[tuple[DataName, Kind, float], Part]:
    """One part for every data set, algorithm and λ: all λ_reg are trained as one program."""
    kinds: tuple[Kind, ...] = ("auc", "roc")
    return {
        (name, kind, strength): Part(
            f"grid-{name}-{kind}-{strength:g}",
            fit_grid,
            {
                "name": name,
                "kind": kind,
                "data": fingerprint(name),
                "strength": strength,
                "l2s": list(l2s),
                "n_iter": n_iter,
            },
        )
        for name in names
        for kind in kinds
        for strength in strengths
    }


def fit_grid(
    name: DataName, kind: Kind, data: str, strength: float, l2s: list[float], n_iter: int
) -> Outcome:
    """Fit for every λ_reg: criterion, AUC and gaps on the validation rows, measures on the test."""
    rows = load(name)
    train, test = published_split(rows)
    scorer = paper_scorer(name, kind, strength=strength, n_iter=n_iter, random_state=0)
    fits = scorer.fit_many(
        rows.X[train],
        rows.y[train],
        [{"l2": l2} for l2 in l2s],
        sensitive_features=codes(rows, train),
    )
    # The last update looks at the final network.
    auc = np.array([fit.history_.auc[-1] for fit in fits])
    gaps = np.array([fit.history_.gaps[-1] for fit in fits])
    return {
        "criterion": auc - strength * np.abs(gaps).sum(axis=1),
        "validation_auc": auc,
        "validation_gaps": gaps,
        "measures": np.array([judge(name, f.decision_function(rows.X[test]), test) for f in fits]),
    }


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
