"""What an audit found, in plain words, the most important first: sentences from its numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from evenscore.inference.estimate import Estimate, percent
from evenscore.results import AuditResult, Finding
from evenscore.scores import CLASSES

__all__ = ["find"]

_HEADLINE = "inter_group"  # the gap people understand first, if it is beyond the tolerance
_SHOWN = 3  # named gaps told one by one


def find(result: AuditResult) -> tuple[Finding, ...]:
    """The findings of an audit, most important first."""
    if len(result.groups) < 2:
        only = f"There is one group only, {result.groups[0]}: gaps need two groups."
        return Finding("unclear", only), _ranking(result)
    return (
        *_gaps(result),
        *_cuts(result),
        *_even(result),
        *_unclear(result),
        _ranking(result),
        *_within_groups(result),
        *_selection(result),
    )


def _gaps(result: AuditResult) -> Iterable[Finding]:
    """The named gaps that lie beyond the tolerance with their whole interval."""
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
            yield Finding("gap", f"{_capital(gap.words)}. {_capital(_measured(gap, tolerance))}.")
    more = len(beyond) - len(names)
    if more:
        yield Finding(
            "gap",
            f"{more} more of the {len(result.gaps)} named AUC gaps {_lie(more)} beyond "
            f"{tolerance:g} with the whole interval.",
        )


def _cuts(result: AuditResult) -> Iterable[Finding]:
    """The worst ROC gap beyond the tolerance, in each class."""
    tolerance = result.settings.tolerance
    for on in CLASSES:
        beyond = [gap for gap in result.beyond if gap.on == on]
        if beyond:
            gap = beyond[0]
            favoured = gap.second if gap.value > 0 else gap.first
            yield Finding(
                "gap",
                f"{_capital(on)} of {favoured} are selected more often: {gap.words}. "
                f"{_capital(_measured(gap, tolerance))}.",
            )


def _even(result: AuditResult) -> Iterable[Finding]:
    """What is shown to be within the tolerance."""
    for on in CLASSES:
        found = [c for c in result.certificate if c.on == on and c.certified]
        if found:
            widest = max(found, key=lambda c: c.high - c.low)
            yield Finding("even", f"{_capital(on)}: {widest.words}")
    within = sum(result.verdict(gap) == "within" for gap in result.all_gaps)
    if within:
        yield Finding(
            "even",
            f"{within} of the {len(result.all_gaps)} gaps {_lie(within)} within "
            f"{result.settings.tolerance:g} with the whole interval.",
        )


def _unclear(result: AuditResult) -> Iterable[Finding]:
    """What cannot be told, for lack of data."""
    unclear = [gap for gap in result.all_gaps if result.verdict(gap) == "unclear"]
    sample, tolerance = result.sample, result.settings.tolerance
    if unclear:
        by_title = {gap.title: gap.value for gap in result.detectable}
        smallest = max(by_title[gap.title] for gap in unclear)
        sizes = sample.effective_sizes
        row, k = np.unravel_index(np.argmin(np.where(sizes > 0, sizes, np.inf)), sizes.shape)
        yield Finding(
            "unclear",
            f"Of {len(unclear)} of the {len(result.all_gaps)} gaps this sample cannot tell whether "
            f"they are beyond {tolerance:g}: a true gap of up to {smallest:.3f} may go unseen. The "
            f"smallest cell is worth {sizes[row, k]:,.0f} {CLASSES[row]} of {result.groups[k]}.",
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
            yield Finding("unclear", f"{_capital(on)}: {found[-1].words}")


def _ranking(result: AuditResult) -> Finding:
    auc = result.auc
    return Finding("context", f"Overall, {auc.words}: an AUC of {auc.value:.3f} ({_range(auc)}).")


def _within_groups(result: AuditResult) -> Iterable[Finding]:
    """Within which groups the score ranks best and worst."""
    known = [auc for auc in result.auc_by_group if not np.isnan(auc.value)]
    if len(known) > 1:
        worst, best = (pick(known, key=lambda auc: auc.value) for pick in (min, max))
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
            f"At the cut {table.thresholds[0]:.4g} ({table.labels[0]}), {ratio.notes[0]} "
            f"(interval {ratio.low[0]:.2f} to {ratio.high[0]:.2f}).",
        )


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
