"""What happens at the cuts that will be used: the headline of every audit."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import NONE, AuditInput, Block, BlockTable, register
from evenscore.gaps import Cuts
from evenscore.gaps.cuts import percent
from evenscore.gaps.rates import rate_heading
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference import estimate
from evenscore.inference.cut_certificates import CutCertificate, certify_rates
from evenscore.inference.cut_curves import CutCurves, cut_curves
from evenscore.inference.cut_gaps import RateErrors
from evenscore.inference.cuts import CutTable
from evenscore.inference.estimate import Estimate
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.rates import CATALOGUE
from evenscore.scores.selection import Ladder

CHOSEN = 5  # cuts of a range in the table, both ends among them
GRID = 81  # cuts of the curves, of up to four groups
_AROUND = (0.5, 1.5)  # times the shares of single cuts: how far the curves go


@register
@final
@dataclass(frozen=True, eq=False)
class CutsInUse(Block):
    """Rates of the groups at the cuts in use: gaps, curves over the range and some chosen cuts.

    `kinds` are the gaps at these cuts, among those of the audit if `asked`; if other gaps were
    asked for, they are `gaps`, decided by themselves, for context. `chosen` are the rates at the
    cuts themselves, of a range at its ends and some in between; `curves` the rates all over it.
    `headline` is the ratio of the selection rates of main groups at the first of them, in words,
    `reason` says why there is no cut in the range, and `certificate` whether all rates differ by at
    most the tolerance, at all these cuts and for all pairs that are compared, as one statement;
    there is none with fewer than two groups.
    """

    cuts: Cuts
    kinds: tuple[str, ...]
    asked: bool
    gaps: tuple[Estimate, ...]
    chosen: CutTable
    curves: CutCurves
    headline: str = ""
    reason: str = ""
    compared: tuple[str, ...] = ()
    outcomes_known: bool = True
    certificate: CutCertificate | None = None
    words: Words = DEFAULT_WORDS
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "cuts_in_use"
    title: ClassVar[str] = "At the cuts in use"
    meaning: ClassVar[str] = (
        "How often each group is selected, and how often in error, at the cuts that will be "
        "used. It says nothing about other cuts, nor about why the groups differ."
    )
    for_each_column: ClassVar[bool] = True
    needs_outcomes: ClassVar[bool] = False

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Curves of both errors and whatever else is compared; of selection without outcomes."""
        cuts, ladder, groups = audit.cuts, audit.ladder, audit.groups
        thresholds, labels = chosen_cuts(audit)
        places = cuts.steps(ladder)
        missing = [k for k, (first, last) in enumerate(places) if first > last]
        reason = cuts.why_none(ladder, missing[0]) if len(missing) == len(places) else ""
        names = ["fpr", "fnr"] if audit.outcomes_known else ["selection"]
        names += [rate.name for rate in audit.rates if rate.name not in names]
        n_steps = GRID if len(groups.compared) <= 4 else max(21, 324 // len(groups.compared))
        curves = cut_curves(
            RateErrors(ladder),
            [CATALOGUE[name] for name in names],
            curve_steps(cuts, ladder, n_steps),
            groups.compared,
            inclusive=cuts.inclusive,
            confidence_level=audit.settings.confidence_level,
        )
        omitted: tuple[str, ...] = ()
        if groups.reference_name is not None:
            omitted = (
                "Ratios of selection rates are about all pairs of the groups that are compared, "
                "whatever the reference group.",
            )
        main = audit.cut_table(thresholds[:1], compared=groups.main).impact_ratio
        return cls(
            cuts,
            tuple(f"{rate.name}_gap {text}" for rate in audit.rates for text in cuts.texts()),
            audit.asked,
            audit.context,
            audit.cut_table(thresholds, labels=labels),
            curves,
            main.notes[0] if len(main.value) and not np.isnan(main.value[0]) else "",
            reason,
            groups.named(groups.compared),
            audit.outcomes_known,
            _certificate(audit),
            audit.settings.words,
            omitted,
        )

    def tables(self) -> tuple[BlockTable, ...]:
        """One row for each cut and group, from the strictest cut; none without a cut."""
        if not len(self.chosen.thresholds):
            return ()
        chosen, level = self.chosen, estimate.percent(self.chosen.confidence_level)
        rates = {"selection": chosen.selection_rate}
        if self.outcomes_known:
            rates |= {"fnr": chosen.fnr, "fpr": chosen.fpr, "precision": chosen.precision}
        rows = []
        for t in range(len(chosen.thresholds)):
            for k, group in enumerate(chosen.groups):
                if group not in self.compared:
                    continue
                first = group == self.compared[0]
                share = percent(round(float(chosen.selected_share[t]), 3))
                cells = [_share(s.value[t, k], s.low[t, k], s.high[t, k]) for s in rates.values()]
                rows.append(
                    (chosen.where(t) if first else "", share if first else "", group, *cells)
                )
        headings = (rate_heading(rate, self.words) for rate in rates)
        columns = ("cut", "of everyone", "group", *headings)
        note = f"In percent, with {level} intervals. {chosen.meaning}"
        if any(NONE in row for row in rows):
            note += f" {NONE}: nobody is there of whom it could be a share."
        return (BlockTable(self.title, columns, tuple(rows), note, names=3),)


def _certificate(audit: AuditInput) -> CutCertificate | None:
    """That of all pairs compared: if they are in several tables, that of the worst of these.

    It is right to certify them one by one: if some gap is too large, its own table is certified by
    mistake as seldom as is said.
    """
    cuts, settings = audit.cuts, audit.settings
    made = []
    for table, pairs, _ in audit.compared if audit.groups.n_pairs else ():
        ladder = audit.ladder if table is audit.scores else cuts.ladder(table)
        made.append(
            certify_rates(
                ladder,
                audit.rates,
                cuts.steps(ladder),
                tolerance=settings.tolerance,
                confidence_level=settings.confidence_level,
                pairs=pairs,
                share_range=cuts.between,
                shares=cuts.at,
                levels=cuts.levels(ladder),
                whom=audit.groups.whom,
                random_state=settings.random_state,
            )
        )
    return max(made, key=lambda one: (not one.certified, one.reach), default=None)


def chosen_cuts(audit: AuditInput) -> tuple[Floats, tuple[str, ...]]:
    """Thresholds to show, with where they come from: single cuts, or some of a range.

    Where no cut lies in the range, the nearest ones. A share at which there is no cut has no row,
    and there are none at all if all scores are equal.
    """
    cuts, ladder = audit.cuts, audit.ladder
    if cuts.thresholds:
        return np.array(cuts.thresholds), ("asked for",) * len(cuts.thresholds)
    whom = "everyone" if cuts.of == "everyone" else f"all {cuts.of}"
    chosen: list[tuple[int, str]] = []
    if cuts.between is None:
        for share, (first, last) in zip(cuts.at, cuts.steps(ladder), strict=True):
            if first <= last:
                chosen.append((first, f"selects at most {percent(share)} of {whom}"))
    else:
        [(first, last)] = cuts.steps(ladder)
        by_step: dict[int, str] = {}
        for share in np.linspace(*cuts.between, CHOSEN).round(15).tolist() if first <= last else ():
            step = min(max(ladder.last_up_to(share), first), last)
            label = f"selects at most {percent(share)} of {whom}"
            if ladder.last_up_to(share) < first:  # which would select nobody
                label = "the strictest cut"
            by_step.setdefault(step, label)
        if first > last:
            low, high = cuts.between
            near = ladder.last_up_to(low), ladder.first_from(high)
            by_step = {step: "the nearest cut" for step in near if 0 < step < ladder.n_steps}
        chosen = list(by_step.items())
    thresholds = [ladder.threshold(step, inclusive=cuts.inclusive) for step, _ in chosen]
    return np.array(thresholds, dtype=np.float64), tuple(label for _, label in chosen)


def curve_steps(cuts: Cuts, ladder: Ladder, n_steps: int = GRID) -> Ints:
    """Steps of the curves: evenly spaced in the share selected, over the range or around points."""
    places = [place for place in cuts.steps(ladder) if place[0] <= place[1]]
    if not places or ladder.n_steps < 2:
        return np.zeros(0, dtype=np.intp)
    first, last = min(first for first, _ in places), max(last for _, last in places)
    low, high = float(ladder.share[first]), float(ladder.share[last])
    if not cuts.is_range:
        low, high = low * _AROUND[0], min(high * _AROUND[1], 0.5 + 0.5 * high)
        first, last = 1, ladder.n_steps - 1
    steps = np.searchsorted(ladder.share, np.linspace(low, high, n_steps) + 1e-12, side="right") - 1
    if not cuts.is_range:
        steps = np.append(steps, [place[0] for place in places])
    return np.unique(np.clip(steps, first, last)).astype(np.intp)


def _share(value: float, low: float, high: float) -> str:
    """A share and its interval in one cell."""
    if np.isnan(value):
        return NONE
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"
