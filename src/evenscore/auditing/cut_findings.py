"""What happens at the cuts in use, in the user's words: the first findings of every audit."""

from collections.abc import Iterable, Mapping

import numpy as np

from evenscore.auditing.blocks import CutsInUse
from evenscore.auditing.groups import between_whom
from evenscore.auditing.parts import Finding
from evenscore.auditing.result import AuditResult
from evenscore.gaps.rates import rate_heading
from evenscore.inference.estimate import Estimate, GapKey, percent
from evenscore.scores import CLASSES
from evenscore.scores.rates import CATALOGUE

Higher = Mapping[GapKey, tuple[str, str]]
"""Who ranks higher by a gap, and who lower."""


def at_the_cuts(result: AuditResult, higher: Higher) -> Iterable[Finding]:
    """What happens there: gaps beyond the tolerance, what cannot be told, what is shown to be even.

    One sentence for each rate whose gap is beyond, about the worst pair of main groups, and one for
    all other rates together.
    """
    block = result.block(CutsInUse)
    if block.reason:
        text = f"Nothing can be said about the cuts in use: {block.reason}."
        yield Finding("unclear", text)
        return
    unclear: dict[str, list[Estimate]] = {}
    even: dict[str, list[Estimate]] = {}
    by_rate: dict[str, list[Estimate]] = {}
    for gap in result.cut_gaps:
        by_rate.setdefault(rate_words(result, gap), []).append(gap)
    for title, gaps in by_rate.items():
        known = [gap for gap in gaps if gap.verdict != "undefined"]
        beyond = [gap for gap in known if gap.verdict == "beyond"]
        if beyond:
            yield Finding("gap", _beyond_at_a_cut(result, _worst(result, beyond), higher))
        elif known and all(gap.verdict == "within" for gap in known):
            even[title] = known
        elif known:
            unclear[title] = known
    if certified_at_the_cuts(result):
        unclear, even = {}, by_rate  # one statement about all of them, named beforehand
    if unclear:
        yield _unclear_at_the_cuts(result, unclear)
    undefined = [gap for gap in result.cut_gaps if gap.verdict == "undefined"]
    yield from _undefined_at_the_cuts(result, undefined)
    if even:
        all_rates = len(even) == len(by_rate) and not undefined
        yield _even_at_the_cuts(result, even, all_rates=all_rates)


def certified_at_the_cuts(result: AuditResult) -> bool:
    """Whether all gaps at the cuts are shown to be within the tolerance, by one statement."""
    certificate = result.block(CutsInUse).certificate
    decided = all(gap.verdict in ("within", "unclear") for gap in result.cut_gaps)
    return certificate is not None and certificate.certified and decided


def _beyond_at_a_cut(result: AuditResult, gap: Estimate, higher: Higher) -> str:
    """A gap that lies beyond, in numbers that people can check."""
    settings = result.settings
    least = min(abs(end) for end in gap.ends("beyond"))
    asked = "" if result.block(CutsInUse).asked else ", allowing for all gaps at these cuts,"
    all_gaps = f", allowing for all {result.n_gaps:,} gaps compared,"
    many = asked or (all_gaps if result.n_gaps > 1 else "")
    text = (
        f"{capital(gap.words)}. That is a difference of {points(gap.value)}; with "
        f"{percent(settings.confidence_level)} confidence{many} it is at least {_number(least)}. "
        f"The tolerance is {_number(settings.tolerance)}."
    )
    return text + favours(result, gap, higher)


def _unclear_at_the_cuts(result: AuditResult, unclear: Mapping[str, list[Estimate]]) -> Finding:
    """What cannot be told there, and how large a gap may be."""
    settings = result.settings
    gaps = [gap for some in unclear.values() for gap in some]
    worst = _worst(result, gaps)
    most = max(abs(end) for gap in gaps for end in gap.ends("within"))
    text = (
        f"Cannot tell whether groups differ by more than {points(settings.tolerance)} in the "
        f"shares {listed(unclear)}, {_where(result, gaps)}. The largest difference seen is "
        f"{points(worst.value)}: {worst.words}. With {percent(settings.confidence_level)} "
        f"confidence, the true one is at most {_number(most)}."
    )
    return Finding("unclear", text + _how_many(result))


def _undefined_at_the_cuts(result: AuditResult, gaps: Iterable[Estimate]) -> Iterable[Finding]:
    """What has no value or no interval there, in one sentence for each reason."""
    by_reason: dict[str, list[Estimate]] = {}
    for gap in gaps:
        told = gap.warnings[0] if gap.warnings else "there is no interval"
        by_reason.setdefault(told.removeprefix(f"{gap.name} has no value: "), []).append(gap)
    for reason, some in by_reason.items():
        titles = listed(dict.fromkeys(rate_words(result, gap) for gap in some))
        where = capital(_where(result, some))
        yield Finding(
            "unclear", f"{where}, nothing can be said about the shares {titles}: {reason}."
        )


def _where(result: AuditResult, gaps: Iterable[Estimate]) -> str:
    """The cuts at which these gaps are, in the user's words."""
    places = {gap.at for gap in gaps}
    cuts, words = result.cuts, result.settings.words
    texts = zip(cuts.texts(words), cuts.texts(), strict=True)
    return listed([text for text, plain in texts if plain in places])


def _how_many(result: AuditResult) -> str:
    """How many people it would take to be sure, if it is for the lack of them that nobody is."""
    certificate, words = result.certificate, result.settings.words
    if certificate is None or certificate.lacking != "data" or not certificate.needed:
        return ""
    cell, now = certificate.smallest
    for on in CLASSES:
        if cell.startswith(f"{on} of "):
            cell = f"{words.of(on)} {words.among(cell.removeprefix(f'{on} of '))}"
    return (
        " Even for a score without any difference, it would take about "
        f"{certificate.needed:,} {cell} to show that it has none; there are {now:,}."
    )


def _even_at_the_cuts(
    result: AuditResult, even: Mapping[str, list[Estimate]], *, all_rates: bool
) -> Finding:
    """What is shown to be within the tolerance there."""
    settings = result.settings
    gaps = [gap for some in even.values() for gap in some]
    worst = _worst(result, gaps)
    where = capital(_where(result, gaps)).replace("At cuts", "At all cuts", 1)
    whom = between_whom(result.sample.groups, result.compared_groups, settings.reference_group)
    # Of all groups only if all pairs of them were compared.
    told = "between all groups" if whom == "between groups" else whom
    text = (
        f"{where}, the shares {listed(even)} differ by at most {points(settings.tolerance)} "
        f"{told}, with {percent(settings.confidence_level)} confidence. The largest difference "
        f"seen is {points(worst.value)}: {worst.words}."
    )
    return Finding("even" if all_rates else "context", text)


def _worst(result: AuditResult, gaps: Iterable[Estimate]) -> Estimate:
    """The largest gap, of main groups if there are such."""
    return min(gaps, key=lambda gap: (not result.is_headline(gap), -abs(np.nan_to_num(gap.value))))


def rate_words(result: AuditResult, gap: Estimate) -> str:
    """Which shares a gap compares: 'refused among people who repaid', 'of people who repaid …'."""
    name = gap.name.removesuffix("_gap")
    heading = rate_heading(name, result.settings.words)
    counted = "of " if CATALOGUE[name].heading.startswith("{positives}") else ""
    return f"{counted}{heading[:1].lower()}{heading[1:]}"


def rate_title(gap: Estimate) -> str:
    """The rates that a gap compares: 'false negative rates'."""
    title = CATALOGUE[gap.name.removesuffix("_gap")].title
    return title if title.endswith("s") else f"{title}s"


def listed(titles: Iterable[str]) -> str:
    """Several names in a sentence."""
    *first, last = titles
    return f"{', '.join(first)} and {last}" if first else last


def points(share: float) -> str:
    """A difference of two shares: '12.7 percentage points'."""
    number = _number(share)
    return f"{number} percentage point" + ("" if number == "1" else "s")


def _number(share: float) -> str:
    return f"{abs(100.0 * share):.1f}".removesuffix(".0")


def favours(result: AuditResult, gap: Estimate, higher: Higher) -> str:
    """Whom a gap favours, if that is known: where low scores are selected, who ranks lower is."""
    ranked = higher.get(gap.key)
    if ranked is None:
        return ""
    low = result.settings.cuts is not None and result.settings.cuts.selected == "low"
    return result.settings.words.favours(*(ranked[::-1] if low else ranked))


def capital(text: str) -> str:
    """The text with a capital letter first."""
    return text[:1].upper() + text[1:]
