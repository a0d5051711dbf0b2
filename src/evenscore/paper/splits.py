"""What one split hid: results over many splits, of the paper's scorers and of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenscore.paper.parts import Outcome, Part
from evenscore.paper.published import KINDS, DataName, Kind
from evenscore.paper.real import paper_scorer
from evenscore.paper.real_data import DATA, codes, fingerprint, judge, load
from evenscore.scorers import BoostedScorer, LinearScorer, NeuralScorer, RepairedScorer

__all__ = ["SCORERS", "split_parts"]

_TOLERANCE = 0.02


def _paper(name: DataName, kind: Kind, seed: int, n_iter: int | None) -> Any:
    return paper_scorer(name, kind, random_state=seed, n_iter=n_iter)


def _linear(name: DataName, kind: Kind, seed: int, n_iter: int | None) -> Any:
    return LinearScorer(DATA[name].constraint(kind), tolerance=_TOLERANCE, random_state=seed)


def _neural(name: DataName, kind: Kind, seed: int, n_iter: int | None) -> Any:
    return NeuralScorer(
        DATA[name].constraint(kind), tolerance=_TOLERANCE, n_iter=n_iter, random_state=seed
    )


def _boosted(name: DataName, kind: Kind, seed: int, n_iter: int | None) -> Any:
    return BoostedScorer(DATA[name].constraint(kind), tolerance=_TOLERANCE, random_state=seed)


def _repaired(name: DataName, kind: Kind, seed: int, n_iter: int | None) -> Any:
    return RepairedScorer(constraints=DATA[name].constraint(kind), n_jobs=1, random_state=seed)


SCORERS: dict[str, Callable[[DataName, Kind, int, int | None], Any]] = {
    "paper": _paper,
    "linear": _linear,
    "neural": _neural,
    "boosted": _boosted,
    "repaired": _repaired,
}
"""How each scorer is made; ours with their defaults, the learned ones with a tolerance of 0.02."""


def split_parts(
    names: Sequence[DataName],
    scorers: Sequence[str] = tuple(SCORERS),
    *,
    splits: int = 10,
    n_iter: int | None = None,
) -> dict[tuple[DataName, str], list[Part]]:
    """One part for every data set, scorer and split, of the paper's sizes and by class and group.

    `n_iter` shortens the training of networks.
    """
    return {
        (name, scorer): [
            Part(
                f"split-{name}-{scorer}-{split}",
                fit_split,
                {
                    "name": name,
                    "scorer": scorer,
                    "data": fingerprint(name),
                    "split": split,
                    "n_iter": n_iter,
                },
            )
            for split in range(splits)
        ]
        for name in names
        for scorer in scorers
    }


def fit_split(name: DataName, scorer: str, data: str, split: int, n_iter: int | None) -> Outcome:
    """Fit with each constraint on one split: test measures (none, AUC, ROC; 2; 6)."""
    rows = load(name)
    train, test = rows.split(split)
    found = []
    for kind in KINDS:
        made = SCORERS[scorer](name, kind, split, n_iter)
        made.fit(rows.X[train], rows.y[train], sensitive_features=codes(rows, train))
        needed = {"sensitive_features": codes(rows, test)} if scorer == "repaired" else {}
        score = made.decision_function(rows.X[test], **needed)
        found.append(judge(name, score, test))
    return {"measures": np.array(found)}
