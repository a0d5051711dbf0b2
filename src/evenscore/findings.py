"""What an audit found, in plain words, the most important first: sentences from its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from evenscore.catalogue import CATALOGUE
from evenscore.inference.estimate import Estimate, counted, percent
from evenscore.results import AuditResult, Finding
from evenscore.scores import CLASSES

__all__ = ["find"]

_HEADLINE = "inter_group"  # the gap people understand first, if it is beyond the tolerance
_SHOWN = 3  # named gaps told one by one
_WIDE_ENOUGH = 0.1  # rates; a certificate of a narrower range is no good news
_BANDS = {"dkw": "the DKW inequality, for any sample", "simultaneous": "the bootstrap"}


def find(result: AuditResult) -> tuple[Finding, ...]:
    """The findings of an audit, most important first."""
    if len(result.groups) < 2:
        only = f"There is one group only, {result.groups[0]}: gaps need two groups."
        return Finding("unclear", only), _ranking(result)
    if result.sample.distinct_scores == 1:
        nobody = "All scores are equal: the score ranks nobody, and no gap of it means anything."
        return Finding("unclear", nobody), _ranking(result)
    found = (
        *_gaps(result),
        *_cuts(result),
        *_stretches(result),
        *_even(result),
        *_unclear(result),
        _ranking(result),
        *_within_groups(result),
        *_selection(result),
    )
    return tuple(sorted(found, key=lambda finding: finding.kind != "gap"))


def _gaps(result: AuditResult) -> Iterable[Finding]:
    """The named gaps that lie beyond the tolerance, with the confidence over all gaps."""
    tolerance = result.settings.tolerance
    beyond = [gap for gap in result.beyond if gap.rate is None]
    if not beyond:
        defined = [gap for gap in result.gaps if not np.isnan(gap.value)]
        told = f"No AUC gap is shown to be beyond the tolerance of {tolerance:g}"
        if defined:
            largest = max(defined, key=lambda gap: abs(gap.value))
            told += f"; the largest seen is {_number(largest)} ({largest.title})"
        yield Finding("context", f"{told}.")
        return
    beyond.sort(key=lambda gap: gap.name != _HEADLINE)  # stable: the others by size
    names: list[str] = []
    for gap in beyond:
        if gap.name not in names and len(names) < _SHOWN:
            names.append(gap.name)
            told = f"{_capital(gap.words)}. {_capital(_measured(gap, tolerance))}."
            sign = CATALOGUE[gap.name].ranks_higher
            yield Finding("gap", told + (_favours(result, _higher(gap, sign)) if sign else ""))
    more = len(beyond) - len(names)
    if more:
        yield Finding(
            "gap",
            f"{more} more of the {len(result.gaps)} named AUC gaps {_lie(more)} beyond "
            f"{tolerance:g}: all this with {percent(result.settings.confidence_level)} confidence "
            f"over the {result.n_gaps:,} gaps looked at.",
        )


def _cuts(result: AuditResult) -> Iterable[Finding]:
    """The worst ROC gap beyond the tolerance, in each class."""
    tolerance = result.settings.tolerance
    for on in CLASSES:
        beyond = [gap for gap in result.beyond if gap.on == on]
        if beyond:
            gap = beyond[0]
            higher = _higher(gap, -1)
            yield Finding(
                "gap",
                f"{_capital(on)} of {higher[0]} are selected more often: {gap.words}. "
                f"{_capital(_measured(gap, tolerance))}.{_favours(result, higher)}",
            )


def _stretches(result: AuditResult) -> Iterable[Finding]:
    """Rates, asked for or not, at which the band of a ROC gap leaves the tolerance, in each class.

    For two groups: of many pairs the bands would leave it here and there by chance.
    """
    tolerance = result.settings.tolerance
    for curve in result.roc_gaps if len(result.groups) == 2 else ():
        pair = curve.first, curve.second
        for beyond, higher in (
            (curve.simultaneous_low > tolerance, pair[::-1]),
            (curve.simultaneous_high < -tolerance, pair),
        ):
            rates = curve.rates[beyond]
            if len(rates):
                largest = np.abs(np.where(beyond, curve.value, 0.0)).argmax()
                yield Finding(
                    "gap",
                    f"{_capital(curve.on)} of {higher[0]} are selected more often than those of "
                    f"{higher[1]} by cuts that select {rates[0]:.0%} to {rates[-1]:.0%} of the "
                    f"{curve.on} of {curve.first}: there the {percent(curve.confidence_level)} "
                    f"band of the gap at all rates lies beyond {tolerance:g}, and the gap is "
                    f"{curve.value[largest]:+.3f} at {curve.rates[largest]:.0%}."
                    f"{_favours(result, higher)}",
                )


def _even(result: AuditResult) -> Iterable[Finding]:
    """What is shown to be within the tolerance."""
    for on in CLASSES:
        found = [c for c in result.certificate if c.on == on and c.certified]
        if found:
            widest = max(found, key=lambda c: c.width)
            wide = widest.width >= _WIDE_ENOUGH
            told = f"a range of width {widest.width:.3g}" + ("" if wide else " only")
            yield Finding(
                "even" if wide else "context",
                f"{_capital(on)}: {widest.words[:-1]}, {told} (by {_BANDS[widest.method]}).",
            )
    within = sum(result.verdict(gap) == "within" for gap in result.all_gaps)
    if within:
        yield Finding(
            "even",
            f"{within} of the {len(result.all_gaps)} gaps {_lie(within)} within "
            f"{result.settings.tolerance:g} with the whole interval.",
        )


def _unclear(result: AuditResult) -> Iterable[Finding]:
    """What cannot be told, for lack of data; and certificates that fail for the gaps seen."""
    unclear = [gap for gap in result.all_gaps if result.verdict(gap) == "unclear"]
    sample, tolerance = result.sample, result.settings.tolerance
    if unclear:
        largest = max(max(-gap.low, gap.high) for gap in unclear)
        alone = result.beyond_alone
        more = ""
        if alone:
            more = (
                f"{len(alone)} of them would be beyond on {'its' if len(alone) == 1 else 'their'} "
                f"own; among {result.n_gaps:,} gaps, some such come by chance. "
            )
        sizes = sample.effective_sizes
        row, k = np.unravel_index(np.argmin(np.where(sizes > 0, sizes, np.inf)), sizes.shape)
        yield Finding(
            "unclear",
            f"Of {len(unclear)} of the {len(result.all_gaps)} gaps this sample cannot tell whether "
            f"{'it is' if len(unclear) == 1 else 'they are'} beyond {tolerance:g}: there is room "
            f"for gaps of up to "
            f"{largest:.3f}. {more}The smallest cell, {CLASSES[row]} of {result.groups[k]}, is "
            f"worth {counted(sizes[row, k])}.",
        )
    undefined = [gap for gap in result.all_gaps if result.verdict(gap) == "undefined"]
    if undefined:
        reason = undefined[0].warnings[0] if undefined[0].warnings else "no interval"
        yield Finding(
            "unclear",
            f"{len(undefined)} of the {len(result.all_gaps)} gaps have no value or no interval "
            f"({reason}).",
        )
    for on in CLASSES:
        found = [c for c in result.certificate if c.on == on]
        if not any(c.certified for c in found):
            last = found[-1]
            kind: Literal["context", "unclear"] = "unclear"
            if last.lacking == "evenness":
                kind = "context"  # the data do tell: what they show is not even enough
            yield Finding(kind, f"{_capital(on)}: {last.words}")


def _ranking(result: AuditResult) -> Finding:
    auc = result.auc
    return Finding("context", f"Overall, {auc.words}: an AUC of {auc.value:.3f} ({_range(auc)}).")


def _within_groups(result: AuditResult) -> Iterable[Finding]:
    """Within which groups the score ranks best and worst."""
    known = [auc for auc in result.auc_by_group if not np.isnan(auc.value)]
    if len(known) > 1:
        worst, best = (pick(known, key=lambda auc: auc.value) for pick in (min, max))
        if worst.value == best.value:
            yield Finding("context", f"Within each group, the AUC is the same: {best.value:.3f}.")
            return
        yield Finding(
            "context",
            f"Within a group, the AUC goes from {worst.value:.3f} in {worst.first} "
            f"({_range(worst)}) to {best.value:.3f} in {best.first} ({_range(best)}).",
        )


def _selection(result: AuditResult) -> Iterable[Finding]:
    """Selection rates at the first threshold looked at."""
    table = result.thresholds
    ratio = table.impact_ratio
    if len(ratio.value) and not np.isnan(ratio.value[0]):
        yield Finding(
            "context",
            f"At the cut {table.thresholds[0]:.4g} ({table.labels[0]}), {ratio.notes[0]}.",
        )


def _higher(gap: Estimate, sign: int) -> tuple[str, str]:
    """Who ranks higher and who lower; `sign` is 1 if that is `first` for a gap above zero."""
    return (gap.first, gap.second) if sign * gap.value > 0 else (gap.second, gap.first)


def _favours(result: AuditResult, higher: tuple[str, str]) -> str:
    """Whom it favours that one group ranks higher than another, if the audit was told."""
    told = result.settings.selected_is
    if told is None:
        return ""
    favoured = higher[0] if told == "good" else higher[1]
    return f" Being selected is {told} for a person here, so this favours {favoured}."


def _measured(gap: Estimate, tolerance: float) -> str:
    level = percent(gap.confidence_level)
    return (
        f"the gap ({gap.title}) is {_number(gap)}, {level} interval {gap.low:+.3f} to "
        f"{gap.high:+.3f}, all of it beyond the tolerance of {tolerance:g}"
    )


def _range(auc: Estimate) -> str:
    """The interval of an AUC, or why there is none."""
    if np.isnan(auc.low):
        return auc.warnings[0] if auc.warnings else "no interval"
    return f"{percent(auc.confidence_level)} interval {auc.low:.3f} to {auc.high:.3f}"


def _number(gap: Estimate) -> str:
    return f"{gap.value:+.3f}"


def _lie(count: int) -> str:
    return "lies" if count == 1 else "lie"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
