"""An audit on a terminal: findings and tables, drawn by rich. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.auditing.blocks import BlockTable
from evenscore.auditing.parts import Finding
from evenscore.inference.estimate import Estimate
from evenscore.showing.certified import NUMBERS, choice_table
from evenscore.showing.comparing import comparison_block
from evenscore.showing.outline import Part, outline
from evenscore.showing.outline import gap_table as outline_gaps
from evenscore.showing.planning import plan_tables
from evenscore.showing.tradeoff import path_table

if TYPE_CHECKING:
    from evenscore.choosing import CertifiedChoice, Plan, TradeoffPath

_COLOURS = {
    "beyond": "red", "within": "green", "cannot tell": "yellow", "undefined": "dim",
    "passed": "green", "passed, chosen": "green", "failed": "red", "not tested": "dim",
    "smaller gap": "green", "higher": "green", "larger gap": "red", "lower": "red",
}  # fmt: skip
_MARKS = {"gap": ("✗", "red"), "unclear": ("?", "yellow"), "even": ("✓", "green")}
_MORE = "The report (--html) has pictures and more tables, and so has Markdown (--format markdown)."


def render(result: AuditResult) -> Group:
    """The answer, the cuts in use, people, gaps, warnings and assumptions, as a renderable."""
    title = result.title or f"Audit of {result.sample.n:,} people"
    parts: list[Any] = [Text(title, style="bold"), Text("")]
    for number, part in enumerate(outline(result, brief=True)):
        parts += _part(part, first=number == 0)
    return Group(*parts, Text(_MORE, style="dim"))


def _part(part: Part, *, first: bool) -> Iterable[Any]:
    if part.findings or part.items:
        yield Text(part.title, style="bold")
    yield from tell(part.findings)
    if part.items and first:
        yield Text("What can be done?", style="bold")
    for item in part.items:
        yield Padding(Text.assemble("· ", item), (0, 0, 0, 0))
    if part.findings or part.items:
        yield Text("")
    for table in part.tables:
        yield block_table(table)
    for note in part.notes:
        yield Text(note)
    if part.notes:
        yield Text("")


def tell(findings: Iterable[Finding]) -> list[Text]:
    """Findings in words, each behind a mark of its kind."""
    texts = []
    for finding in findings:
        mark, colour = _MARKS.get(finding.kind, ("·", "default"))
        texts.append(Text.assemble((f"{mark} ", colour), finding.text))
    return texts


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


_NAME = 16  # characters of a name that are not folded, such as tolerance=0.005


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
    cells = [tuple(row) for row in rows]
    longest = max((len(row[0]) for row in cells if row), default=0)
    for k, column in enumerate(map(Text, columns)):
        if k < names:
            # Names are folded where there is no room, but never pushed out by the numbers.
            width = min(max(longest, 12), _NAME) if k == 0 else 7
            table.add_column(column, overflow="fold", min_width=width)
        else:
            table.add_column(column, justify="right", no_wrap=True, overflow="fold")
    for row in cells:
        table.add_row(*(_coloured(cell) if isinstance(cell, str) else cell for cell in row))
    text = "\n".join(notes)
    if text:
        table.caption, table.caption_justify = Text(text), "left"
    return table


def _coloured(cell: str) -> Text:
    """A cell, a verdict in its colour."""
    return Text(cell, style=_COLOURS.get(cell, ""))


def block_table(table: BlockTable) -> Table:
    """A plain table as rich draws it."""
    notes = [table.note] if table.note else []
    return new_table(table.title, table.columns, table.rows, notes, table.names)


def render_comparison(result: ComparisonResult) -> Group:
    """The two scores side by side, as a renderable."""
    return Group(block_table(comparison_block(result)), *map(Text, result.words[:2]))


def render_path(path: TradeoffPath) -> Table:
    """The points of a path, as a renderable."""
    return block_table(path_table(path))


def render_plan(plan: Plan) -> Group:
    """A plan in words, and its tables, as a renderable."""
    warnings = (Text(f"Note: {warning}.") for warning in plan.warnings)
    return Group(Text(str(plan)), *warnings, Text(""), *map(block_table, plan_tables(plan)))


def render_choice(choice: CertifiedChoice) -> Group:
    """The sentence, then the candidates; tolerances and names of gaps are in the sentence."""
    table = choice_table(choice)
    rows = tuple(row[:NUMBERS] for row in table.rows)
    more = [Text(text) for text in (choice.ended, choice.cost) if text]
    return Group(
        Text(choice.words, style="bold"),
        *more,
        block_table(replace(table, columns=table.columns[:NUMBERS], rows=rows)),
    )


def gap_table(
    title: str, gaps: Sequence[Estimate], confidence_level: float, *, notes: Sequence[str] = ()
) -> Table:
    """Gaps with their verdicts and intervals, under a title."""
    table = outline_gaps(title, gaps, confidence_level, notes=notes)
    return block_table(replace(table, title=title))
