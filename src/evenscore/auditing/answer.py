"""Is it fair where it will be used, and what can be done? The answer that a report opens with.

For whom it is not fair, by how much and how sure that is, the findings about the cuts in use say.
Nothing is decided here: the answer puts the verdicts of an audit in one sentence.
"""

import math
from collections.abc import Iterable, Iterator

from evenscore.auditing.blocks import CutsInUse
from evenscore.auditing.cut_findings import certified_at_the_cuts, listed, points
from evenscore.auditing.parts import Answer, Fairness
from evenscore.auditing.result import AuditResult
from evenscore.inference.estimate import Estimate, percent

WORST: tuple[Fairness, ...] = ("gap", "unclear", "even")
"""Verdicts, the worst first."""

_FAR_ABOVE = 1.5  # times: no difference that a tolerance as large as the rates should hide


def answer_of(result: AuditResult) -> Answer:
    """The answer of an audit, and of each column of groups by itself if there are several."""
    audits = {column.name: column.audit for column in result.columns}
    verdicts = {name: _verdict(audit) for name, audit in audits.items()}
    together = _verdict(result)
    verdict = worst([*verdicts.values(), together])
    text = _text(result, verdict)
    if audits:
        text += f" {_by_column(verdicts, together, verdict)}"
    everything = [*audits.values(), result]
    dwarfed = [] if verdict == "gap" else [gap for audit in everything for gap in _dwarfed(audit)]
    if dwarfed:
        text += f" {_too_coarse(result, dwarfed)}"
    remedies = tuple(_remedies(result, everything, verdict, coarse=bool(dwarfed)))
    return Answer(verdict, text, remedies)


def worst(verdicts: Iterable[Fairness]) -> Fairness:
    """The verdict of several audits: fair only if all are.

    >>> worst(["even", "unclear"]), worst(["unclear", "gap"])
    ('unclear', 'gap')
    """
    return min(verdicts, key=WORST.index)


def _verdict(result: AuditResult) -> Fairness:
    gaps = result.cut_gaps
    if any(gap.verdict == "beyond" for gap in gaps):
        return "gap"
    known = bool(gaps) and not result.block(CutsInUse).reason
    if known and (certified_at_the_cuts(result) or all(gap.verdict == "within" for gap in gaps)):
        return "even"
    return "unclear"


def _dwarfed(result: AuditResult) -> Iterator[Estimate]:
    """Gaps that the tolerance hides: as large as both rates, one of which is far above the other.

    Rates near 100 % are looked at by what they lack: 99.5 % and 98 % refused are 0.5 % and 2 % that
    are not.
    """
    for gap in result.cut_gaps:
        low, high = sorted((gap.first_value, gap.second_value))
        if high + low > 1.0:
            low, high = 1.0 - high, 1.0 - low
        chance = gap.low <= 0.0 <= gap.high
        if not chance and _FAR_ABOVE * low < high <= result.settings.tolerance:
            yield gap


def _too_coarse(result: AuditResult, gaps: list[Estimate]) -> str:
    """What the tolerance hides most."""
    widest = max(gaps, key=lambda gap: abs(gap.value))
    sides = ((widest.first_value, widest.first), (widest.second_value, widest.second))
    words = result.settings.words
    rates = " and ".join(f"{rate:.1%} for {words.whom(group)}" for rate, group in sides)
    return (
        f"But a tolerance of {points(result.settings.tolerance)} is too coarse for such rates: "
        f"where the groups differ most, they are {rates}."
    )


def _text(result: AuditResult, verdict: Fairness) -> str:
    """One sentence, without the word that it opens with."""
    settings, block = result.settings, result.block(CutsInUse)
    where, tolerance = result.cuts.text(settings.words), points(settings.tolerance)
    what = "both kinds of error" if result.outcomes_known else "selection rates"
    rates = dict.fromkeys(gap.name for gap in result.cut_gaps)
    if result.outcomes_known and tuple(rates) != ("fpr_gap", "fnr_gap"):
        what = "what is compared"
    if verdict == "gap":
        return f"Groups differ by more than {tolerance}, the tolerance, {where}."
    if verdict == "even":
        level = percent(settings.confidence_level)
        return f"In {what}, groups differ by at most {tolerance} {where}, with {level} confidence."
    if block.reason:
        return f"There is nothing to look at: {block.reason}."
    if not result.cut_gaps:
        return "There are no two groups to compare."
    seen = [abs(gap.value) for gap in result.cut_gaps if not math.isnan(gap.value)]
    largest = f" The largest difference seen is {points(max(seen))}." if seen else ""
    return (
        f"These data do not show whether groups differ by more than {tolerance}, the tolerance, "
        f"{where}.{largest}"
    )


def _by_column(verdicts: dict[str, Fairness], together: Fairness, verdict: Fairness) -> str:
    """For which columns of groups it holds, of several."""
    so = [f"by {name}" for name, one in verdicts.items() if one == verdict]
    combined = f"by {listed(verdicts)} combined"
    if together != verdict:
        return f"That is so {listed(so)}."
    if so:
        return f"That is so {listed(so)}, and {combined}."
    return f"That is so {combined}, and not by one of them alone."


def _remedies(
    result: AuditResult, audits: list[AuditResult], verdict: Fairness, *, coarse: bool
) -> Iterator[str]:
    """What can be done about it."""
    if coarse:
        yield (
            "Choose a tolerance that is small beside the rates at these cuts (tolerance=, "
            "--tolerance), and audit again."
        )
    if verdict == "even":
        if not coarse:
            yield (
                "Nothing needs to be done at these cuts. Audit again when the cuts, the "
                "population or the score change."
            )
        others = [gap for audit in audits for gap in audit.beyond]
        if others:
            yield (
                f"Away from these cuts, {len(others)} of the other gaps "
                f"{'is' if len(others) == 1 else 'are'} beyond the tolerance: read the details "
                "before the score is used differently."
            )
        return
    gaps = [gap for audit in audits for gap in audit.cut_gaps]
    if verdict == "unclear":
        yield from _more_people(audits)
        if gaps:
            yield (
                "Or accept that a difference of this size cannot be ruled out, and say so where "
                "the score is used."
            )
        return
    yield _learning(result, gaps)
    yield (
        "Repair this score: rescale it separately in each group (evenscore repair). That is quick, "
        "but it needs the group of everyone who is scored, which may be unlawful."
    )
    yield (
        "Or cut elsewhere: the slider in the report shows what other cuts would do. Test the one "
        "you choose on new data."
    )


def _learning(result: AuditResult, gaps: list[Estimate]) -> str:
    """The command that learns what is missing: at these shares, or at those that cuts select."""
    rates = ",".join(dict.fromkeys(gap.name.removesuffix("_gap") for gap in gaps))
    cuts = result.cuts.written()
    if result.cuts.thresholds:  # a learned score has a scale of its own
        shares = sorted({round(float(share), 3) for share in result.thresholds.selected_share})
        cuts = "everyone=" + ",".join(f"{share:g}" for share in shares if 0.0 < share < 1.0)
    return (
        "Learn another score that is fair at such cuts and does not need the group to score "
        f"anyone: evenscore fit --equal {rates} --cuts {cuts} --tolerance "
        f"{result.settings.tolerance:g}."
    )


def _more_people(audits: list[AuditResult]) -> Iterator[str]:
    """How many more people it would take, if it is for the lack of them."""
    lacking = [
        audit.certificate
        for audit in audits
        if audit.certificate is not None and audit.certificate.lacking == "data"
    ]
    needed = [one for one in lacking if one.needed > one.smallest[1] > 0]
    if needed:
        times = max(one.needed / one.smallest[1] for one in needed)
        yield (
            f"Audit more people: about {times:.2g} times as many, in the same proportions, would "
            "be enough to show that a score without differences has none beyond the tolerance."
        )
    else:
        yield "Audit more people: the intervals shrink with their number."
    if any(len(audit.compared_groups) > 2 for audit in audits):
        yield "Or merge small groups that may be taken together."
