"""An audit on a terminal: findings and tables, drawn by rich. Nothing is computed here."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Column, Table
from rich.text import Text

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.auditing.blocks import BlockTable, CutsInUse, SmallGroups
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
    """Findings, the cuts in use, people, gaps, warnings and assumptions, as a renderable."""
    title = result.title or f"Audit of {result.sample.n:,} people"
    parts: list[Any] = [Text(title, style="bold"), Text("")]
    parts += [*tell(result.findings), Text("")]
    tables = {name: block.tables() for name, block in result.blocks.items()}
    in_use, small = (tables.pop(kind.name, ()) for kind in (CutsInUse, SmallGroups))
    if not result.block(CutsInUse).asked and result.cut_gaps:
        heading = "At the cuts in use, for context"
        parts.append(_gaps(result, heading, result.cut_gaps))
    headings = result.headings
    first = [heading for heading, gaps in headings.items() if {*gaps} & {*result.cut_gaps}]
    for heading in first:
        parts.append(_gaps(result, heading, headings.pop(heading)))
    if in_use:
        parts += map(_block, in_use)
        parts += [Text(note) for note in _ratios(result)]
    parts.append(_people(result))
    parts += map(_block, small)
    for heading, gaps in headings.items():
        parts.append(_gaps(result, heading, gaps))
    parts += [
        _block(table) for some in tables.values() for table in some
    ]  # without one of their own here
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
    """A table that stays readable where the terminal is narrow: no name and no number is lost.

    Intervals then go below their numbers; if that is not enough, cells are folded.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for column in self.columns:
            if column.min_width:  # no more than the names take
                column.min_width = min(column.min_width, _width(console, column))
        if self._needed(console) > options.max_width:
            for column in self.columns:
                column._cells = [_stacked(cell) for cell in column._cells]
        if self._needed(console) > options.max_width:
            for column in self.columns:
                column.no_wrap = False
                column.min_width = min(_width(console, column), _NARROW)
        yield from super().__rich_console__(console, options)

    def _needed(self, console: Console) -> int:
        """The width at which no number is folded."""
        inner = sum(column.min_width or _width(console, column) for column in self.columns)
        return inner + len(self.columns) * 3 - 1


def _width(console: Console, column: Column) -> int:
    """The width of a column that nothing is folded in."""
    cells = (column.header, *column.cells)
    return max((console.measure(cell).maximum for cell in cells), default=0)


_NARROW = 7  # signs of a column at least: a number of three digits with its sign


def _stacked(cell: Any) -> Any:
    """A cell whose interval is below its number."""
    if isinstance(cell, Text) and " (" in cell.plain:
        return Text(cell.plain.replace(" (", "\n("), style=cell.style)
    return cell


def new_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[str | Text]],
    notes: Iterable[str] = (),
    names: int = 1,
) -> Table:
    """A table of `names` columns of names, then numbers, and what is said below, a line each.

    Texts are shown as they are: brackets are no markup.
    """
    table = _Fitting(title=Text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for k, column in enumerate(map(Text, columns)):
        if k < names:
            # Names are folded where there is no room, but never pushed out by the numbers.
            table.add_column(column, overflow="fold", min_width=12)
        else:
            table.add_column(column, justify="right", no_wrap=True, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    text = "\n".join(notes)
    if text:
        table.caption, table.caption_justify = Text(text), "left"
    return table


def _block(table: BlockTable) -> Table:
    notes = [table.note] if table.note else []
    return new_table(table.title, table.columns, table.rows, notes, table.names)


def _people(result: AuditResult) -> Table:
    sample = result.sample
    level = percent(result.settings.confidence_level)
    if not result.outcomes_known:
        people = [
            (group, numbers.count(count), numbers.share(share))
            for group, count, share in zip(
                sample.groups, sample.cell_counts[0], sample.group_share, strict=True
            )
            if group in result.compared_groups
        ]
        return new_table("Who is in the sample", ("group", "people", "share of\nsample"), people)
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
    # A place that all share is said once, in the title.
    at = gaps[0].at if len({gap.at for gap in gaps}) == 1 else ""
    title = f"{title} ({at}): even is zero{pair}" if at else f"{title}: even is zero{pair}"
    gaps = tuple(sorted(gaps, key=lambda gap: not result.is_headline(gap)))  # the others after
    hidden = len(gaps) - _SHOWN
    notes = [f"{hidden} more are in to_frame() and to_json()"] if hidden > 0 else []
    level = result.settings.confidence_level
    return gap_table(title, gaps[:_SHOWN], level, pair=pair, at=at, notes=notes)


def gap_table(
    title: str,
    gaps: Sequence[Estimate],
    confidence_level: float,
    *,
    pair: str = "",
    at: str = "",
    notes: Sequence[str] = (),
) -> Table:
    """Gaps with their intervals and verdicts; `pair` and `at` are in every title, and left out."""
    rows = [
        (
            gap.title.removesuffix(pair).replace(f" {at}", "", 1)
            if at
            else gap.title.removesuffix(pair),
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


def _ratios(result: AuditResult) -> list[str]:
    """The ratio of selection rates at each of the cuts, and what to know about it."""
    cuts = result.thresholds
    if len(result.compared_groups) < 2 or not len(cuts.thresholds):
        return []
    notes = [f"{cuts.where(t)}: {note}" for t, note in enumerate(cuts.impact_ratio.notes)]
    return [f"{note[:1].upper()}{note[1:]}." for note in notes] + [cuts.remark]


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
