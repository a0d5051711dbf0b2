"""What cuts do to the groups: at the thresholds asked for, all over the scores, and where fair."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import AuditInput, Block, register
from evenscore.auditing.parts import FairCuts
from evenscore.inference.cuts import CutTable, cut_table
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import Distribution
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
class Cuts(Block):
    """Rates of the groups at the thresholds asked for, and at cuts all over the scores.

    `fair_cuts` are the thresholds at which the score is fair as a classifier. `headline` is the
    ratio of the selection rates of main groups in words, at the first threshold asked for.
    """

    thresholds: CutTable
    explorer: CutTable
    fair_cuts: tuple[FairCuts, ...]
    headline: str = ""

    name: ClassVar[str] = "cuts"

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Thresholds by default select the shares `rates` of all negatives."""
        scores, settings, groups = audit.scores, audit.settings, audit.groups
        cuts, labels = asked_cuts(audit)
        # Cuts spread over the scores, from selecting nobody to nearly everybody.
        steps = 101 if scores.n_groups <= 2 else max(21, min(81, 324 // scores.n_groups))
        spread = np.unique(audit.everyone.threshold(np.arange(steps) / steps))
        level, burden = settings.confidence_level, settings.words.selected_is == "bad"
        exact = audit.coarse is audit.scores
        names = groups.named(groups.compared)
        table = partial(
            cut_table, scores, confidence_level=level, burden=burden, compared=groups.compared
        )
        main = table(cuts[:1], compared=groups.main).impact_ratio
        return cls(
            table(cuts, labels=labels),
            table(spread),
            tuple(
                _fair_cuts(audit.coarse, names, rate, settings.tolerance, audit.everyone, exact)
                for rate in _NAMES
            ),
            main.notes[0] if len(main.value) and not np.isnan(main.value[0]) else "",
        )


def asked_cuts(audit: AuditInput) -> tuple[Floats, tuple[str, ...]]:
    """The thresholds asked for, or those that select the shares `rates` of all negatives."""
    cuts, rates = audit.thresholds, audit.settings.rates
    if cuts is not None:
        return cuts, ("asked for",) * len(cuts)
    labels = tuple(f"selects at most {rate:.1%} of all negatives" for rate in rates)
    return audit.scores.pooled("negatives").threshold(rates), labels


def _fair_cuts(
    scores: GroupedScores,
    groups: tuple[str, ...],
    rate: str,
    tolerance: float,
    everyone: Distribution,
    exact: bool,
) -> FairCuts:
    """The thresholds at which a rate differs by the tolerance at most between the groups."""
    try:
        fair = fair_thresholds(scores, rate, groups, tolerance=tolerance)
    except ValueError as error:  # one group, or an empty cell: it says so
        nothing = np.zeros(0)
        reason = str(error) if len(groups) > 1 else "Fairness needs two groups."
        none = (nothing, nothing, nothing, nothing)
        return FairCuts(rate, tolerance, *none, 0, 0.0, 0, exact, "", reason)
    low, high = fair.low[~fair.jump], fair.high[~fair.jump]
    most, least = everyone.survival(low), everyone.survival(high)
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
