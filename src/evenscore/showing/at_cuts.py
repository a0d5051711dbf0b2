"""What a picture of the cuts in use shows: rates of groups, the largest gap, and words for them."""

from dataclasses import dataclass

import numpy as np

from evenscore.auditing import AuditResult
from evenscore.gaps import Cuts
from evenscore.gaps.cuts import percent
from evenscore.gaps.rates import rate_heading
from evenscore.gaps.words import Words
from evenscore.inference.estimate import Estimate
from evenscore.scores.arrays import Floats
from evenscore.scores.selection import ROUNDING


@dataclass(frozen=True, eq=False)
class GroupRate:
    """The rate of a group at each cut, with its intervals; NaN where it has none."""

    name: str
    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class LargestGap:
    """Where two groups differ most: the share selected there, the two groups and their rates."""

    share: float
    first: str
    second: str
    first_value: float
    second_value: float

    @property
    def label(self) -> str:
        """For the legend."""
        points = 100.0 * abs(self.first_value - self.second_value)
        return (
            f"largest gap, {points:.1f} points: {self.first} {self.first_value:.1%}, "
            f"{self.second} {self.second_value:.1%}"
        )


def single_cuts(result: AuditResult) -> dict[int, int]:
    """Where the single cuts of an audit are among those of its curves, by number.

    A share means the loosest cut that selects no more. A threshold that is selected itself means
    the last of the cuts at or beyond it, another one the first that is not beyond it. Curves have
    every single cut that there is: one that selects nobody or everybody is none.
    """
    cuts, curves = result.cuts, result.cut_curves
    away = curves.thresholds if cuts.selected == "low" else -curves.thresholds  # increasing
    kept = {}
    for number, point in enumerate(cuts.points):
        if cuts.at:
            place = np.searchsorted(curves.selected_share, point + ROUNDING, side="right") - 1
        else:
            if not 0.0 < result.thresholds.selected_share[number] < 1.0:
                continue
            far = point if cuts.selected == "low" else -point
            last = np.searchsorted(away, far, side="right") - 1
            place = last if cuts.inclusive else np.searchsorted(away, far, side="left")
        if 0 <= place < len(away):
            kept[number] = int(place)
    return kept


def cut_names(cuts: Cuts) -> list[str]:
    """What single cuts are called."""
    return [percent(point) if cuts.at else f"{point:.10g}" for point in cuts.points]


def largest_gap(gaps: list[Estimate], names: dict[str, str]) -> LargestGap | None:
    """The largest of the gaps that have a value."""
    known = [gap for gap in gaps if not np.isnan(gap.value)]
    if not known:
        return None
    gap = max(known, key=lambda gap: abs(gap.value))
    first, second = (names.get(name, name) for name in (gap.first, gap.second))
    return LargestGap(gap.selected_share, first, second, gap.first_value, gap.second_value)


def axis_texts(rate: str, cuts: Cuts, words: Words) -> tuple[str, str]:
    """What is on the axes, in the user's words."""
    x = f"share of {cuts.whom(words)} {words.selected}"
    if cuts.thresholds:
        x = f"cut: {words.selected} if {'above' if cuts.selected == 'high' else 'below'}"
        x += " or equal" if cuts.inclusive else ""
    return x, rate_heading(rate, words)


def shown_groups_note(shown: int, there: int, which: str) -> str:
    """Which groups are shown; nothing if all are."""
    return "" if shown == there else f"{shown} of {there} groups are shown, {which}"


def missing_cuts_note(cuts: Cuts, single: dict[int, int]) -> str:
    """Which of the single cuts are none, in words."""
    names = [name for number, name in enumerate(cut_names(cuts)) if number not in single]
    if not names or cuts.is_range:
        return ""
    are = "selects" if len(names) == 1 else "select"
    return f"{' and '.join(names)} {are} nobody or everybody"
