"""How well the score ranks: the overall AUC, that within each group, and all between cells."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import AuditInput, Block, register
from evenscore.auditing.parts import LabelledMatrix
from evenscore.inference.estimate import Estimate
from evenscore.inference.influence import placement_moments


@register
@final
@dataclass(frozen=True, eq=False)
class Ranking(Block):
    """The overall AUC, that within each group, and the matrix of AUCs between cells."""

    auc: Estimate
    by_group: tuple[Estimate, ...]
    matrix: LabelledMatrix

    name: ClassVar[str] = "ranking"
    title: ClassVar[str] = "How well the score ranks"
    meaning: ClassVar[str] = (
        "How often the score puts a positive above a negative. It is about order alone: a "
        "score that ranks well can still be unfair at a cut."
    )
    for_each_column: ClassVar[bool] = True

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """All AUCs with their intervals."""
        scores = audit.scores
        overall, table = audit.aucs
        low, high = (
            np.array([[getattr(e, end) for e in row] for row in table]) for end in ("low", "high")
        )
        by_group, words = [], audit.settings.words
        rank = f"{words.positives} rank above {words.negatives}"
        for k, name in enumerate(scores.names):
            estimate = table[k][scores.n_groups + k]
            text = f"{words.among(name)}, {rank} in {estimate.value:.1%} of pairs"
            if np.isnan(estimate.value):
                text = ""
            by_group.append(replace(estimate, name="AUC", first=name, words=text))
        matrix = placement_moments(scores).matrix
        return cls(
            replace(overall, words=f"{rank} in {overall.value:.1%} of pairs"),
            tuple(by_group),
            LabelledMatrix(matrix.cells, matrix.values, low, high, matrix.pair_weights),
        )
