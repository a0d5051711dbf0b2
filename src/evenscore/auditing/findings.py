"""What an audit found, in plain words, the most important first: sentences from its numbers."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np

from evenscore.auditing.blocks import CutsInUse
from evenscore.auditing.cut_findings import (
    Higher,
    at_the_cuts,
    capital,
    certified_at_the_cuts,
    favours,
    rate_title,
)
from evenscore.auditing.parts import Finding
from evenscore.auditing.result import AuditResult
from evenscore.inference.certificates import Certificate
from evenscore.inference.estimate import Estimate, percent
from evenscore.scores import CLASSES, ClassName
from evenscore.scores.arrays import Bools, Floats

_HEADLINE = "inter_group"  # the gap people understand first, if it is beyond the tolerance
_SHOWN = 3  # gaps of a family told one by one
_NAMED = 6  # main groups named in a sentence
_WIDE_ENOUGH = 0.1  # rates; a certificate of a narrower range is no good news
_NO_OUTCOMES = Finding(
    "unclear",
    "The outcomes are not known: nothing can be said about errors, nor about how well the score "
    "ranks people, and the groups may differ in who should be selected.",
)
_BANDS = {"dkw": "the DKW inequality, for any sample", "simultaneous": "the bootstrap"}


def findings_of(result: AuditResult, higher: Higher) -> tuple[Finding, ...]:
    """The findings of an audit: first what happens at the cuts in use, then the most important.

    `higher` says who ranks higher by a gap.
    """
    ranking = (_ranking(result),) if result.outcomes_known else ()
    if len(result.compared_groups) < 2:
        only = f"There is one group only, {result.compared_groups[0]}: gaps need two groups."
        return Finding("unclear", only), *ranking
    if result.sample.distinct_scores == 1:
        nobody = "All scores are equal: the score ranks nobody, and no gap of it means anything."
        return Finding("unclear", nobody), *ranking
    first = tuple(replace(one, about="cuts") for one in at_the_cuts(result, higher))
    if not result.outcomes_known:
        return *first, _NO_OUTCOMES, *_selection(result), *_main_groups(result)
    findings = (
        *_gaps(result, higher),
        *_stretches(result),
        *_even(result),
        *_unclear(result),
        *ranking,
        *_within_groups(result),
        *_selection(result),
        *_main_groups(result),
    )
    return *first, *sorted(findings, key=lambda finding: finding.kind != "gap")


# ---------------------------------------------------------------------- all gaps


def _gaps(result: AuditResult, higher: Higher) -> Iterable[Finding]:
    """The other gaps that lie beyond the tolerance, with the confidence over all gaps."""
    tolerance = result.settings.tolerance
    told_before = {gap.key for gap in result.cut_gaps}
    others = [gap for gap in result.gaps if gap.key not in told_before]
    if others and not any(gap.verdict == "beyond" for gap in others):
        defined = [gap for gap in others if not np.isnan(gap.value)]
        other = "" if len(others) == len(result.gaps) else "other "
        text = f"No {other}gap is shown to be beyond the tolerance of {tolerance:g}"
        if defined:
            main = [gap for gap in defined if result.is_headline(gap)]
            largest = max(main or defined, key=lambda gap: abs(gap.value))
            whose = " between main groups" if 0 < len(main) < len(defined) else ""
            text += f"; the largest seen{whose} is {largest.value:+.3f} ({largest.title})"
        yield Finding("context", f"{text}.")
    told = len({rate_title(gap) for gap in result.cut_gaps if gap.verdict == "beyond"})
    told *= result.block(CutsInUse).asked
    for gaps in result.headings.values():
        beyond = sorted(
            (gap for gap in gaps if gap.verdict == "beyond" and gap.key not in told_before),
            key=lambda gap: -abs(gap.value),
        )
        # Stable: the others by size.
        beyond.sort(key=lambda gap: (not result.is_headline(gap), gap.name != _HEADLINE))
        names: list[str] = []
        for gap in beyond:
            if gap.name in names or len(names) == _SHOWN:
                continue
            names.append(gap.name)
            told += 1
            low, high = gap.ends("beyond")
            text = (
                f"{capital(gap.words)}. The gap ({gap.title}) is {gap.value:+.3f}; its "
                f"{percent(gap.confidence_level)} interval over all gaps, {low:+.3f} to "
                f"{high:+.3f}, lies wholly beyond the tolerance of {tolerance:g}."
            )
            yield Finding("gap", text + favours(result, gap, higher))
    more = len(result.beyond) - told
    if more:
        yield Finding(
            "gap",
            f"{more} more of the {len(result.gaps)} gaps {_lie(more)} beyond {tolerance:g}. All of "
            f"this holds with {percent(result.settings.confidence_level)} confidence over the "
            f"{result.n_gaps:,} gaps looked at.",
        )


def _stretches(result: AuditResult) -> Iterable[Finding]:
    """Rates, asked for or not, at which the band of a ROC gap leaves the tolerance, in each class.

    They are told beside the gaps that were decided on: each band has a confidence of its own. For
    two groups: of many pairs the bands would leave it here and there by chance.
    """
    tolerance, words = result.settings.tolerance, result.settings.words
    for curve in result.roc_gaps if result.n_pairs == 1 else ():
        pair = curve.first, curve.second
        for beyond, higher in (
            (curve.simultaneous_low > tolerance, pair[::-1]),
            (curve.simultaneous_high < -tolerance, pair),
        ):
            ranges = " and ".join(
                f"{rates[0]:.0%} to {rates[-1]:.0%}" for rates in _runs(curve.rates, beyond)
            )
            if ranges:
                largest = np.abs(np.where(beyond, curve.value, 0.0)).argmax()
                yield Finding(
                    "context",
                    f"Elsewhere, {words.of(curve.on)} {words.among(higher[0])} are "
                    f"{words.selected} more often than those {words.among(higher[1])}: at cuts "
                    f"that select {ranges} of the {words.of(curve.on)} "
                    f"{words.among(curve.first)}, the {percent(curve.confidence_level)} band of "
                    f"this curve, by itself, lies beyond {tolerance:g}, and the gap is "
                    f"{curve.value[largest]:+.3f} at "
                    f"{curve.rates[largest]:.0%}.{words.favours(*higher)}",
                )


def _runs(rates: Floats, where: Bools) -> list[Floats]:
    """The stretches of rates next to each other at which something holds."""
    places = np.flatnonzero(where)
    return [
        rates[run] for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(run)
    ]


def _even(result: AuditResult) -> Iterable[Finding]:
    """What is shown to be within the tolerance."""
    stated = result.settings.confidence_level
    level = percent(stated)
    for on, told in _told_certificates(result).items():
        if told.certified:
            wide = told.width >= _WIDE_ENOUGH
            both = f"; {level} for both classes together" if told.confidence_level > stated else ""
            width = f"a range of width {told.width:.3g}" + ("" if wide else " only")
            yield Finding(
                "even" if wide else "context",
                f"{capital(result.settings.words.of(on))}: {_small(told.words[:-1])}, {width} (by "
                f"{_BANDS[told.method]}{both}).",
            )
    within = len(result.with_verdict("within"))
    tolerance = f"{result.settings.tolerance:g}"
    if result.all_within:
        number = {1: "The gap lies", 2: "Both gaps lie"}.get(within, f"All {within} gaps lie")
        yield Finding("even", f"{number} within {tolerance}, with {level} confidence.")
    elif within:
        yield Finding(
            "even",
            f"{within} of the {len(result.gaps)} gaps {_lie(within)} within {tolerance}, with "
            f"{level} confidence that this is true of every one of them.",
        )


def _told_certificates(result: AuditResult) -> dict[ClassName, Certificate]:
    """The certificate of each class that is told: by its method, not by what it certifies."""
    return {certificate.on: certificate for certificate in result.roc_certificates}  # type: ignore[misc]


def _unclear(result: AuditResult) -> Iterable[Finding]:
    """What cannot be told, for lack of data; and certificates that fail for the gaps seen."""
    at_cuts = {gap.key for gap in result.cut_gaps}
    certified = at_cuts if certified_at_the_cuts(result) else set()
    unclear = [gap for gap in result.with_verdict("unclear") if gap.key not in certified]
    sample, tolerance = result.sample, result.settings.tolerance
    words = result.settings.words
    if unclear:
        ends = [gap.ends("within") for gap in unclear]
        largest = max(max(-low, high) for low, high in ends)
        alone = [gap for gap in result.beyond_alone if gap.key not in certified]
        more = ""
        if alone:
            more = (
                f"{len(alone)} of them would be beyond on {'its' if len(alone) == 1 else 'their'} "
                f"own, but among {result.n_gaps:,} gaps some would be by chance. "
            )
        sizes = sample.effective_sizes * np.isin(result.groups, result.compared_groups)
        row, k = np.unravel_index(np.argmin(np.where(sizes > 0, sizes, np.inf)), sizes.shape)
        yield Finding(
            "unclear",
            f"Cannot tell for {len(unclear)} of {len(result.gaps)} gaps: the data allow gaps of up "
            f"to {largest:.3f}, more than the tolerance of {tolerance:g}. {more}The smallest cell "
            f"is {words.of(CLASSES[row])} {words.among(result.groups[k])} (effective size "
            f"{sizes[row, k]:,.0f}).",
        )
    # What has no value at the cuts was told there, with the reason.
    undefined = [gap for gap in result.with_verdict("undefined") if gap.key not in at_cuts]
    if undefined:
        reason = undefined[0].warnings[0] if undefined[0].warnings else "no interval"
        yield Finding(
            "unclear",
            f"{len(undefined)} of the {len(result.gaps)} gaps "
            f"{'has' if len(undefined) == 1 else 'have'} no value or no interval ({reason}).",
        )
    for on, last in _told_certificates(result).items():
        if not last.certified:
            kind: Literal["context", "unclear"] = "unclear"
            if last.lacking == "evenness":
                kind = "context"  # the data do tell: what they show is not even enough
            told = f"{capital(result.settings.words.of(on))}: {_small(last.words)}"
            yield Finding(kind, told)


def _ranking(result: AuditResult) -> Finding:
    auc = result.auc
    return Finding("context", f"Overall, {auc.words}: an AUC of {auc.value:.3f} ({_range(auc)}).")


def _within_groups(result: AuditResult) -> Iterable[Finding]:
    """Within which main groups the score ranks best and worst."""
    known = [
        auc
        for auc in result.auc_by_group
        if auc.first in result.main_groups and not np.isnan(auc.value)
    ]
    if len(known) > 1:
        worst, best = (pick(known, key=lambda auc: auc.value) for pick in (min, max))
        main = "main " if len(result.main_groups) < len(result.groups) else ""
        among = result.settings.words.among
        if worst.value == best.value:
            same = f"Within each {main}group, the AUC is the same: {best.value:.3f}."
            yield Finding("context", same)
            return
        yield Finding(
            "context",
            f"Within a {main}group, the AUC ranges from {worst.value:.3f} {among(worst.first)} "
            f"({_range(worst)}) to {best.value:.3f} {among(best.first)} ({_range(best)}).",
        )


def _selection(result: AuditResult) -> Iterable[Finding]:
    """Selection rates of main groups at the first threshold looked at."""
    table, ratio = result.thresholds, result.block(CutsInUse).headline
    if ratio:
        share = f"selects {table.selected_share[0]:.1%} of everyone"
        text = f"At the cut {table.thresholds[0]:.4g}, which {share}, {ratio}."
        yield Finding("context", text)


def _main_groups(result: AuditResult) -> Iterable[Finding]:
    """Whom the headlines are about, if not about everybody."""
    main, compared = result.main_groups, result.compared_groups
    if len(main) < len(compared):
        share = result.sample.group_share[np.isin(result.groups, main)].sum()
        names = f"{', '.join(main[:-1])} and {main[-1]}"
        if len(main) > _NAMED:
            names = f"{', '.join(main[:_NAMED])} and {len(main) - _NAMED} more groups"
        yield Finding(
            "context",
            f"{share:.1%} of the {result.settings.words.people} are in the main groups, {names}: "
            f"the headlines and the pictures are about these, and the tables have all "
            f"{len(compared)} groups that are compared.",
        )


def _range(auc: Estimate) -> str:
    """The interval of an AUC, or why there is none."""
    if np.isnan(auc.low):
        return auc.warnings[0] if auc.warnings else "no interval"
    return f"{percent(auc.confidence_level)} interval {auc.low:.3f} to {auc.high:.3f}"


def _lie(count: int) -> str:
    return "lies" if count == 1 else "lie"


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]
