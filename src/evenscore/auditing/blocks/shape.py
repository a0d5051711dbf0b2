"""How the score is distributed, and whether it means the same in every group."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

from evenscore.auditing.blocks.base import AuditInput, Block, register
from evenscore.inference.calibration import Calibration, calibration_by_group
from evenscore.scores.thinning import Histogram, histogram


@register
@final
@dataclass(frozen=True, eq=False)
class Shape(Block):
    """Histograms by cell, and shares of positives by bin of the score and group."""

    distributions: Histogram
    calibration: Calibration

    name: ClassVar[str] = "shape"
    title: ClassVar[str] = "Does the same score mean the same in every group?"
    meaning: ClassVar[str] = (
        "What share of each group is positive at the same score. Groups can be alike here and "
        "still be refused in error unequally often."
    )

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Bins of the histogram are cut evenly, those of the calibration at quantiles."""
        level = audit.settings.confidence_level
        return cls(
            histogram(audit.scores),
            calibration_by_group(audit.scores, confidence_level=level, everyone=audit.everyone),
        )
