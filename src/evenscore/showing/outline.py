"""What is shown of an audit, in order: sentences and plain tables for terminal, notebook, Markdown.

The report has a template for most of these parts, with pictures; what it says is the same.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from evenscore.auditing import AuditResult
from evenscore.auditing.blocks import BlockTable, CutsInUse, SmallGroups
from evenscore.auditing.parts import Finding
from evenscore.inference.estimate import Estimate, percent
from evenscore.showing import numbers
from evenscore.showing.numbers import interval, plain, reasons, signed

MOST_GAPS = 24  # in a table; the rest are in the frame
VERDICTS = (
    "Beyond: the interval over all gaps lies outside the tolerance. Within: the interval for "
    "“within” lies inside. Cannot tell: neither."
)


@dataclass(frozen=True)
class Part:
    """A part of what is shown: a title, what it means, sentences, tables and notes."""

    title: str
    meaning: str = ""
    findings: tuple[Finding, ...] = ()
    items: tuple[str, ...] = ()
    tables: tuple[BlockTable, ...] = ()
    notes: tuple[str, ...] = field(default=())


def outline(result: AuditResult, *, brief: bool = False) -> Iterator[Part]:
    """The parts of an audit; if it is to be brief, without the tables that few people look up."""
    yield answer_part(result)
    for column in result.columns:
        audit = column.audit
        yield Part(
            f"By {column.name}",
            findings=(Finding(audit.answer.verdict, str(audit.answer)), *_about_cuts(audit)),
            tables=cut_tables(audit),
        )
    block = result.block(CutsInUse)
    together = "All columns together" if result.columns else block.title
    tables = cut_tables(result)
    if tables:
        yield Part(together, block.meaning, tables=tables, notes=tuple(_ratios(result)))
    yield Part("Who is in the sample", tables=(people_table(result),))
    small = result.blocks.get(SmallGroups.name)
    if small is not None and small.tables():
        yield Part(small.title, small.meaning, tables=small.tables())
    others = tuple(finding for finding in result.findings if finding.about != "cuts")
    if others:
        yield Part("What else was found", findings=others)
    tables = other_gap_tables(result)
    if tables:
        yield Part("Other gaps between groups", tables=tables)
    if not brief:
        for name, one in result.blocks.items():
            if name not in (CutsInUse.name, SmallGroups.name) and one.tables():
                yield Part(one.title, one.meaning, tables=one.tables())
    if not brief and result.provenance is not None:
        yield Part("Where these numbers come from", tables=result.provenance.tables())
    notes = (*result.warnings, *result.omitted, *result.assumptions)
    if notes:
        yield Part("Keep in mind", items=notes)


def cut_tables(result: AuditResult) -> tuple[BlockTable, ...]:
    """The gaps at the cuts in use, and the rates at some of these cuts."""
    return (*_gap_tables(result, at_cuts=True), *result.block(CutsInUse).tables())


def other_gap_tables(result: AuditResult) -> tuple[BlockTable, ...]:
    """The gaps that are not about the cuts in use."""
    return tuple(_gap_tables(result, at_cuts=False))


def answer_part(result: AuditResult) -> Part:
    """Is it fair, for whom not, and what can be done?"""
    answer = result.answer
    first = (Finding(answer.verdict, str(answer)),) if answer.text else ()
    about = () if result.columns else _about_cuts(result)
    return Part(
        "Is it fair where it will be used?", findings=(*first, *about), items=answer.remedies
    )


def _about_cuts(result: AuditResult) -> tuple[Finding, ...]:
    return tuple(finding for finding in result.findings if finding.about == "cuts")


# ---------------------------------------------------------------------- tables


def gap_table(
    title: str,
    gaps: Sequence[Estimate],
    confidence_level: float,
    *,
    titles: dict[str, str] | None = None,
    pair: str = "",
    notes: Sequence[str] = (),
) -> BlockTable:
    """Gaps with their verdicts and intervals; a `pair` that all share is in the title alone."""
    rows = tuple(
        (
            _gap_name(gap, titles or {}, with_pair=not pair),
            numbers.verdict(gap.verdict),
            signed(gap.value),
            interval(*gap.ends("beyond"), "signed"),
            interval(*gap.ends("within"), "signed"),
        )
        for gap in gaps
    )
    level = percent(confidence_level)
    columns = (
        "gap",
        "verdict",
        "value",
        f"{level} interval\nover all gaps",
        "interval\nfor within",
    )
    told, codes = dict.fromkeys([VERDICTS, *reasons(gaps), *notes]), {gap.name for gap in gaps}
    note = " ".join(_sentence(text, codes) for text in told)
    return BlockTable(f"{title}{pair}: zero is even", columns, rows, note, names=2)


def _gap_name(gap: Estimate, titles: dict[str, str], *, with_pair: bool) -> str:
    """The plain name of a gap, its code beside it."""
    title = titles.get(gap.kind, "")
    name = f"{title} ({gap.name})" if title and title != gap.kind else gap.kind
    return f"{name}, {gap.first} and {gap.second}" if with_pair else name


def _gap_tables(result: AuditResult, *, at_cuts: bool) -> Iterator[BlockTable]:
    """The gaps at the cuts in use, or the others: one table for each heading."""
    for heading, gaps in result.headed_gaps(at_cuts=at_cuts).items():
        pair = f", {gaps[0].first} and {gaps[0].second}" if result.n_pairs == 1 else ""
        some = sorted(gaps, key=lambda gap: not result.is_headline(gap))  # the others after
        more = len(some) - MOST_GAPS
        notes = [f"{more} more are in the JSON file and in to_frame()."] if more > 0 else []
        yield gap_table(
            heading,
            some[:MOST_GAPS],
            result.settings.confidence_level,
            titles=result.titles,
            pair=pair,
            notes=notes,
        )


def people_table(result: AuditResult) -> BlockTable:
    """How many people there are, and how well the score ranks within each group."""
    sample, words = result.sample, result.settings.words
    title, level = "Who is in the sample", percent(result.settings.confidence_level)
    shown = [(k, name) for k, name in enumerate(sample.groups) if name in result.compared_groups]
    if not result.outcomes_known:
        rows = tuple(
            (name, numbers.count(sample.cell_counts[0, k]), numbers.share(sample.group_share[k]))
            for k, name in shown
        )
        return BlockTable(title, ("group", "people", "share of\nsample"), rows)
    columns = (
        "group", words.negatives, words.positives, f"share of\n{words.positives}",
        "share of\nsample", "AUC\nwithin", f"{level}\ninterval",
    )  # fmt: skip
    table, notes = [], []
    for k, name in shown:
        auc = result.auc_by_group[k]
        counts = map(numbers.count, sample.cell_counts[:, k])
        shares = map(numbers.share, (sample.prevalence_by_group[k], sample.group_share[k]))
        table.append((name, *counts, *shares, plain(auc.value), interval(auc.low, auc.high)))
        if auc.warnings:
            notes.append(f"{name}: {numbers.why_none(auc)}.")
    if sample.weighted:
        notes.append("Numbers are of people; shares, AUCs and rates are weighted.")
    return BlockTable(title, columns, tuple(table), " ".join(notes))


def _ratios(result: AuditResult) -> list[str]:
    """The ratio of selection rates at each of the cuts, and what to know about it."""
    cuts = result.thresholds
    if len(result.compared_groups) < 2 or not len(cuts.thresholds):
        return []
    notes = [f"{cuts.where(t)}: {note}" for t, note in enumerate(cuts.impact_ratio.notes)]
    return [_sentence(note) for note in notes] + [cuts.remark]


def _sentence(text: str, codes: Collection[str] = ()) -> str:
    """A text that begins and ends as a sentence; a code that it begins with stays as it is."""
    if text.split(" ", 1)[0] not in codes:
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
