"""What cuts do to the groups, wherever they are: all over the scores, and where they are fair."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import COARSE_LEVELS, AuditInput, Block, register
from evenscore.auditing.parts import FairCuts
from evenscore.inference.cuts import CutTable
from evenscore.scores.brackets import has_open_bins
from evenscore.scores.thresholds import fair_thresholds

_NAMES = {
    "fpr": "false positive rates",
    "fnr": "false negative rates",
    "selection": "selection rates",
    "error": "error rates",
}
_KEPT_CUTS = 20  # ranges of fair cuts, the longest
_LONG = 0.002  # of everyone; a range that selects less is counted, not listed


@register
@final
@dataclass(frozen=True, eq=False)
class AtThresholds(Block):
    """Rates of the groups at cuts all over the scores.

    `fair_cuts` are the thresholds at which the score is fair as a classifier.
    """

    explorer: CutTable
    fair_cuts: tuple[FairCuts, ...]
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "at_thresholds"
    title: ClassVar[str] = "At every possible cut"
    meaning: ClassVar[str] = (
        "What every possible cut would do to each group. A cut chosen here because it looks "
        "even is an estimate from this sample: check it on other people."
    )

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """From selecting nobody to selecting nearly everybody."""
        scores, settings, groups = audit.scores, audit.settings, audit.groups
        steps = 101 if scores.n_groups <= 2 else max(21, min(81, 324 // scores.n_groups))
        shares = np.arange(steps) / steps
        low = audit.cuts.selected == "low"
        everyone = audit.coarse.mirrored.pooled("both") if low else audit.everyone
        spread = np.unique(everyone.threshold(shares))
        exact = audit.coarse is audit.scores
        every = exact and not has_open_bins(scores)  # cuts within bins are not looked at
        names = groups.named(groups.compared)
        omitted: tuple[str, ...] = ()
        if not exact:
            omitted = (
                "Cuts all over the scores, and those at which the groups are alike, are looked "
                f"for at {COARSE_LEVELS:,} of the {audit.n_levels:,} scores; what is said of the "
                "cuts in use looks at every one of them.",
            )
        return cls(
            audit.cut_table(-spread[::-1] if low else spread),
            tuple(_fair_cuts(audit, names, rate, settings.tolerance, every) for rate in _NAMES),
            omitted,
        )


def _fair_cuts(
    audit: AuditInput,
    groups: tuple[str, ...],
    rate: str,
    tolerance: float,
    exact: bool,
) -> FairCuts:
    """The thresholds at which a rate differs by the tolerance at most between the groups.

    Those who are not selected differ by as much as those who are: where low scores are selected,
    the same cuts are fair.
    """
    scores, everyone = audit.coarse, audit.everyone
    try:
        fair = fair_thresholds(scores, rate, groups, tolerance=tolerance)
    except ValueError as error:  # one group, or an empty cell: it says so
        nothing = np.zeros(0)
        reason = str(error) if len(groups) > 1 else "Fairness needs two groups."
        none = (nothing, nothing, nothing, nothing)
        return FairCuts(rate, tolerance, *none, 0, 0.0, 0, exact, "", reason)
    low, high = fair.low[~fair.jump], fair.high[~fair.jump]
    most, least = everyone.survival(low), everyone.survival(high)
    if audit.cuts.selected == "low":
        most, least = 1.0 - least, 1.0 - most
    order = np.argsort(least - most, kind="stable")
    keep = np.sort(order[:_KEPT_CUTS])
    rest = order[_KEPT_CUTS:]
    long = [k for k in keep[::-1] if most[k] - least[k] > _LONG]
    ranges = ", ".join(f"{least[k]:.1%} to {most[k]:.1%}" for k in long)
    if ranges:
        words = f"the {_NAMES[rate]} differ by at most {tolerance:g} when the cut selects {ranges}"
        short = len(keep) - len(long)
        if short:
            words += f", and in {short} short range{'s' if short > 1 else ''} beside"
    else:
        words = (
            f"there is no wide range of cuts at which the {_NAMES[rate]} differ by at most "
            f"{tolerance:g}"
        )
    return FairCuts(
        rate,
        tolerance,
        low[keep],
        high[keep],
        least[keep],
        most[keep],
        len(rest),
        float((most - least)[rest].sum()),
        len(np.unique(scores.score)),
        exact,
        words,
    )
