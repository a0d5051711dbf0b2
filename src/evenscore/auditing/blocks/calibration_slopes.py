"""Does the score mean the same in every group? Calibration slopes and intercepts."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

from evenscore.auditing.blocks.base import (
    AuditInput,
    Block,
    BlockTable,
    in_order,
    left_out,
    reasons,
    register,
    told,
)
from evenscore.gaps.words import Words
from evenscore.inference.calibration_lines import CalibrationLines, calibration_lines
from evenscore.inference.estimate import percent

_ROWS = 16


@register
@final
@dataclass(frozen=True, eq=False)
class CalibrationSlopes(Block):
    """Calibration slope and intercept of everyone, then of each group."""

    lines: CalibrationLines
    words: Words

    name: ClassVar[str] = "calibration_slopes"
    title: ClassVar[str] = "Calibration slope and intercept by group"
    meaning: ClassVar[str] = (
        "Whether the same score speaks for the same odds of being positive in every group, along a "
        "straight line. It says nothing about curves that are not straight, nor about any cut."
    )

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """From all scores."""
        level = audit.settings.confidence_level
        found = calibration_lines(audit.scores, confidence_level=level)
        order = [0, *(g + 1 for g in in_order(audit.groups))]
        lines = replace(
            found,
            groups=tuple(found.groups[g] for g in order),
            intercept=found.intercept.take(order),
            slope=found.slope.take(order),
            in_the_large=found.in_the_large.take(order),
        )
        return cls(lines, audit.settings.words)

    def tables(self) -> tuple[BlockTable, ...]:
        """One row for everyone and one for each group."""
        lines, level = self.lines, percent(self.lines.confidence_level)
        parts = {f"slope ({level})": lines.slope, f"intercept ({level})": lines.intercept}
        outcome = f"the log-odds of being among the {self.words.positives}"
        if lines.logits:
            parts[f"in the large ({level})"] = lines.in_the_large
            note = (
                f"Logistic regression: {outcome} are intercept + slope × log-odds of the score. A "
                "probability that is right has slope 1 and intercept 0; with a slope below 1 "
                "scores are too extreme. Calibration in the large is the intercept if the slope "
                "is 1: above zero, scores are too low on the whole."
            )
        else:
            note = (
                f"Logistic regression: {outcome} are intercept + slope × (score − "
                f"{lines.centre:.4g})/{lines.scale:.4g}, everyone's mean and standard deviation. "
                "Not all scores lie strictly between 0 and 1, so that no slope is the right one: "
                "only compare the groups with each other."
            )
        note += " Intervals are by the sandwich variance, which does not take the line for true."
        shown = range(min(len(lines.groups), _ROWS))
        rows = tuple(
            (lines.groups[k], *(told(*part.ends(k), ".3f") for part in parts.values()))
            for k in shown
        )
        note += left_out(lines.groups[1:], len(shown) - 1)
        note += reasons(
            (lines.groups[k], reason)
            for k in shown
            for reason in dict.fromkeys(part.reason[k] for part in parts.values())
        )
        return (BlockTable(self.title, ("group", *parts), rows, note),)
