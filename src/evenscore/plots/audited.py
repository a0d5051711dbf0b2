"""What displays take from an audit: its arrays as they are, and the names to show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenscore.inference.bands import Band, BandKind
from evenscore.plots.display import Pairs
from evenscore.plots.text import group_names, literal
from evenscore.scores import OneOrBoth, class_names

if TYPE_CHECKING:
    from evenscore.results import AuditResult, GapCurve

__all__ = ["AuditedCurve", "audited_curves"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AuditedCurve:
    """A ROC gap of an audit, how its groups are shown, and its points at the rates asked for.

    `asked` has rows (rate, value, low, high).
    """

    found: GapCurve
    first: str
    second: str
    asked: Floats

    @property
    def reason(self) -> str:
        """Why there is no curve, if there is none."""
        return f"undefined, {literal(self.found.reason)}" if self.found.reason else ""

    def band(self, kind: BandKind) -> Band:
        """A band of the gap: the pointwise one, or the one that holds at all rates at once."""
        found = self.found
        ends = found.simultaneous_low, found.simultaneous_high
        if kind == "pointwise":
            ends = found.pointwise_low, found.pointwise_high
        return Band(
            found.rates,
            found.value,
            *ends,
            found.confidence_level,
            kind,
            warnings=found.warnings,
        )


def audited_curves(
    result: AuditResult, *, on: OneOrBoth = "both", pairs: Pairs = None
) -> Iterator[AuditedCurve]:
    """The curves of an audit for some pairs of groups, by default the first with every other.

    An audit of many groups keeps the worst pairs alone: if none of the first group's is among
    them, all that were kept.
    """
    shown = dict(zip(result.groups, group_names(result.groups), strict=True))
    kept = [curve for curve in result.roc_gaps if curve.on in class_names(on)]
    if pairs is None:
        chosen = [curve for curve in kept if curve.first == result.groups[0]] or kept
    else:
        chosen = []
        for one, two in pairs:
            found = [curve for curve in kept if (curve.first, curve.second) == (one, two)]
            if not found:
                known = ", ".join(dict.fromkeys(f"({c.first!r}, {c.second!r})" for c in kept))
                raise ValueError(
                    f"The audit has no ROC gap of the pair ({one!r}, {two!r}); it has {known}."
                )
            chosen += found
    chosen.sort(key=lambda curve: [*shown].index(curve.second))  # a pair's two classes together
    for curve in chosen:
        points = [
            (gap.rate, gap.value, gap.low, gap.high)
            for gap in result.roc_gaps_at_rates
            if (gap.on, gap.first, gap.second) == (curve.on, curve.first, curve.second)
        ]
        asked = np.array(points, dtype=np.float64).reshape(-1, 4)
        yield AuditedCurve(curve, shown[curve.first], shown[curve.second], asked)
