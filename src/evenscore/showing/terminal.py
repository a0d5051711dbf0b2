"""An audit on a terminal: findings and tables, drawn by rich. Nothing is computed here."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.auditing.blocks import BlockTable, SmallGroups
from evenscore.auditing.parts import Finding
from evenscore.inference.estimate import Estimate, Verdict, percent
from evenscore.showing import numbers
from evenscore.showing.numbers import interval, plain, reasons, signed

_COLOURS = {"beyond": "red", "within": "green", "unclear": "yellow", "undefined": "dim"}
_MARKS = {"gap": ("✗", "red"), "unclear": ("?", "yellow"), "even": ("✓", "green")}
VERDICTS = (
    "beyond: the interval over all gaps lies outside the tolerance; within: the interval for "
    "within lies inside; unclear: neither"
)
_SHOWN = 24  # gaps in a table; the rest are in the frame


def render(result: AuditResult) -> Group:
    """Findings, people, gaps, cuts, warnings and assumptions, as a renderable."""
    title = result.title or f"Audit of {result.sample.n:,} people"
    parts: list[Any] = [Text(title, style="bold"), Text("")]
    parts += [*tell(result.findings), Text(""), _people(result)]
    tables = {name: table for name, block in result.blocks.items() if (table := block.table())}
    if SmallGroups.name in tables:
        parts.append(_block(tables.pop(SmallGroups.name)))
    for heading, gaps in result.headings.items():
        parts.append(_gaps(result, f"{heading}: even is zero", gaps))
    parts += [_block(table) for table in tables.values()]  # without one of their own here
    parts += [_cut(result, t) for t in range(len(result.thresholds.thresholds))]
    if len(result.compared_groups) > 1:
        parts.append(Text(f"{result.thresholds.meaning} {result.thresholds.remark}"))
    parts += [Text(f"! {note}", style="yellow") for note in (*result.omitted, *result.warnings)]
    parts += [Text(f"· {note}") for note in result.assumptions]
    return Group(*parts)


def tell(findings: Iterable[Finding]) -> list[Text]:
    """Findings in words, each behind a mark of its kind."""
    told = []
    for finding in findings:
        mark, colour = _MARKS.get(finding.kind, ("·", "default"))
        told.append(Text.assemble((f"{mark} ", colour), finding.text))
    return told


def verdict_text(verdict: Verdict) -> Text:
    """A verdict in its colour."""
    return Text(verdict, style=_COLOURS[verdict])


class _Fitting(Table):
    """A table whose numbers stay whole: folded, not cut, where the terminal is too narrow."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(width=10_000)
        for column in self.columns:
            if column.min_width:  # no more than the names take
                longest = max((console.measure(cell).maximum for cell in column.cells), default=0)
                column.min_width = min(column.min_width, longest)
        whole = console.measure(self, options=wide).minimum
        if whole > options.max_width:
            for column in self.columns:
                column.no_wrap, column.min_width = False, None
        yield from super().__rich_console__(console, options)


def new_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[str | Text]],
    notes: Iterable[str] = (),
) -> Table:
    """A table of names and numbers, and what is said below it, a line each.

    Texts are shown as they are: brackets are no markup.
    """
    table = _Fitting(title=Text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    name, *others = map(Text, columns)
    # Names are folded where there is no room, but never pushed out by the numbers.
    table.add_column(name, overflow="fold", min_width=12)
    for column in others:
        table.add_column(column, justify="right", no_wrap=True, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    text = "\n".join(notes)
    if text:
        table.caption, table.caption_justify = Text(text), "left"
    return table


def _block(table: BlockTable) -> Table:
    notes = [table.note] if table.note else []
    return new_table(table.title, table.columns, table.rows, notes)


def _people(result: AuditResult) -> Table:
    sample = result.sample
    level = percent(result.settings.confidence_level)
    columns = (
        "group", "negatives", "positives", "share\npositive", "share of\nsample", "AUC\nwithin",
        f"{level}\ninterval",
    )  # fmt: skip
    rows, notes = [], []
    for k, (group, auc) in enumerate(zip(sample.groups, result.auc_by_group, strict=True)):
        if group not in result.compared_groups:
            continue
        counts = map(numbers.count, sample.cell_counts[:, k])
        shares = map(numbers.share, (sample.prevalence_by_group[k], sample.group_share[k]))
        rows.append((group, *counts, *shares, plain(auc.value), interval(auc.low, auc.high)))
        if auc.warnings:
            notes.append(f"{group}: {numbers.why_none(auc)}")
    if sample.weighted:
        notes.append("numbers are of people; shares, AUCs and rates are weighted")
    return new_table("Who is in the sample", columns, rows, notes)


def _gaps(result: AuditResult, title: str, gaps: tuple[Estimate, ...]) -> Table:
    pair = f", {gaps[0].first} and {gaps[0].second}" if gaps and result.n_pairs == 1 else ""
    gaps = tuple(sorted(gaps, key=lambda gap: not result.is_headline(gap)))  # the others after
    hidden = len(gaps) - _SHOWN
    notes = [f"{hidden} more are in to_frame() and to_json()"] if hidden > 0 else []
    level = result.settings.confidence_level
    return gap_table(f"{title}{pair}", gaps[:_SHOWN], level, pair=pair, notes=notes)


def gap_table(
    title: str,
    gaps: Sequence[Estimate],
    confidence_level: float,
    *,
    pair: str = "",
    notes: Sequence[str] = (),
) -> Table:
    """Gaps with their intervals and verdicts; `pair` ends every title and is left out."""
    rows = [
        (
            gap.title.removesuffix(pair),
            signed(gap.value),
            interval(*gap.ends("beyond"), "signed"),
            interval(*gap.ends("within"), "signed"),
            verdict_text(gap.verdict or "undefined"),
        )
        for gap in gaps
    ]
    level = percent(confidence_level)
    columns = (
        "gap",
        "value",
        f"{level} interval\nover all gaps",
        "interval\nfor within",
        "verdict",
    )
    return new_table(title, columns, rows, dict.fromkeys([VERDICTS, *reasons(gaps), *notes]))


def _cut(result: AuditResult, t: int) -> Table:
    """What one threshold does to each group."""
    cuts = result.thresholds
    rates = (cuts.selection_rate, cuts.fpr, cuts.fnr, cuts.precision)
    rows = []
    for k, group in enumerate(cuts.groups):
        if group not in result.compared_groups:
            continue
        cells = [
            numbers.share_and_interval(s.value[t, k], s.low[t, k], s.high[t, k]) for s in rates
        ]
        rows.append((group, *(cell.replace(" (", "\n(") for cell in cells)))
    notes = [cuts.impact_ratio.notes[t]]
    if any(numbers.NONE in cell for row in rows for cell in row[1:]):
        notes.append(f"{numbers.NONE}: nobody is there of whom it could be a share")
    columns = ("group", "selected", "false\npositives", "false\nnegatives", "precision")
    title = f"Selected: above {cuts.thresholds[t]:.4g} ({cuts.labels[t]})"
    return new_table(title, columns, rows, notes)


def render_comparison(result: ComparisonResult) -> Group:
    """The two scores side by side, as a renderable."""
    level = percent(result.confidence_level)
    one, other = result.title or "this score", result.other_title or "the other"
    pair = f", {result.groups[0]} and {result.groups[1]}" if len(result.groups) == 2 else ""
    colours = {"smaller gap": "green", "higher": "green", "larger gap": "red", "lower": "red"}
    rows = []
    for row in result.differences:
        told = plain if row.title == "AUC" else signed
        nan = math.nan
        low, high = (nan, nan) if row.test is None else (row.test.low, row.test.high)
        ends = interval(low, high, "signed")
        change = Text(row.change, style=colours.get(row.change, "dim"))
        sides = told(row.one.value), told(row.other.value)
        rows.append((row.title.removesuffix(pair), *sides, ends, change))
    columns = ("", one, other, f"difference in size,\n{level} over all", "in size")
    notes = reasons(row.difference for row in result.differences)
    table = new_table(f"The same {result.n:,} people{pair}", columns, rows, notes)
    return Group(table, *map(Text, result.words[:2]))
