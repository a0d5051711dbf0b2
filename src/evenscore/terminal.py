"""An audit on a terminal: findings and tables, drawn by rich. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from evenscore.inference.estimate import Estimate, percent
from evenscore.results import AuditResult, ComparisonResult
from evenscore.results.numbers import (
    NONE,
    count,
    interval,
    p_value,
    plain,
    reasons,
    share,
    share_and_interval,
    signed,
    why_none,
)
from evenscore.results.parts import Finding, Verdict

__all__ = ["add_notes", "render", "render_comparison", "tell", "verdict_text"]

_COLOURS = {"beyond": "red", "within": "green", "unclear": "yellow", "undefined": "dim"}
_MARKS = {"gap": ("✗", "red"), "unclear": ("?", "yellow"), "even": ("✓", "green")}
_SHOWN = 24  # gaps in a table; the rest are in the frame


def render(result: AuditResult) -> Group:
    """Findings, people, gaps, cuts and warnings, as a renderable."""
    title = result.title or f"Audit of {result.sample.n:,} people"
    parts: list[Any] = [Text(title, style="bold"), Text("")]
    parts += [*tell(result.findings), Text(""), _people(result)]
    if result.gaps:
        parts.append(_gaps(result, "AUC gaps: even is zero", result.gaps))
    if result.roc_gaps_at_rates:
        parts.append(_gaps(result, "ROC gaps at a cut: even is zero", result.roc_gaps_at_rates))
    parts += [_cut(result, t) for t in range(len(result.thresholds.thresholds))]
    if len(result.groups) > 1:
        parts.append(Text(result.thresholds.remark))
    notes = (*result.omitted, *result.warnings)
    parts += [Text(f"! {note}", style="yellow") for note in notes]
    return Group(*parts)


def tell(findings: Iterable[Finding]) -> list[Text]:
    """Findings in words, each behind a mark of its kind."""
    told = []
    for finding in findings:
        mark, colour = _MARKS.get(finding.kind, ("·", "default"))
        told.append(Text.assemble((f"{mark} ", colour), finding.text))
    return told


def verdict_text(verdict: Verdict, words: str = "") -> Text:
    """A verdict, or what is said instead of it, in the verdict's colour."""
    return _text(words or verdict, _COLOURS[verdict])


def add_notes(table: Table, notes: Iterable[str]) -> None:
    """Say something below a table, a line each; nothing where there is nothing to say."""
    told = "\n".join(notes)
    if told:
        table.caption, table.caption_justify = _text(told), "left"


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


def _table(title: str, *columns: str, left: int = 1) -> Table:

    table = _Fitting(title=Text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for k, column in enumerate(columns):
        name = k < left
        justify: Literal["left", "right"] = "left" if name else "right"
        # Names are folded where there is no room, but never pushed out by the numbers.
        least = 12 if name else None
        table.add_column(
            Text(column), justify=justify, no_wrap=not name, overflow="fold", min_width=least
        )
    return table


def _text(value: str, style: str = "") -> Text:
    """Text as it is: brackets in a group's name are no markup."""
    return Text(value, style=style)


def _people(result: AuditResult) -> Table:
    sample = result.sample
    level = percent(result.settings.confidence_level)
    table = _table(
        "Who is in the sample", "group", "negatives", "positives", "share\npositive",
        "share of\nsample", "AUC\nwithin", f"{level}\ninterval",
    )  # fmt: skip
    for k, group in enumerate(sample.groups):
        auc = result.auc_by_group[k]
        cells = (
            group,
            count(sample.cell_counts[0, k]),
            count(sample.cell_counts[1, k]),
            share(sample.prevalence_by_group[k]),
            share(sample.group_share[k]),
            plain(auc.value),
            interval(auc.low, auc.high),
        )
        table.add_row(*(_text(cell) for cell in cells))
    pairs = zip(sample.groups, result.auc_by_group, strict=True)
    notes = [f"{group}: {why_none(auc)}" for group, auc in pairs if auc.warnings]
    if sample.weighted:
        notes.append("numbers are of people; shares, AUCs and rates are weighted")
    add_notes(table, notes)
    return table


def _gaps(result: AuditResult, title: str, gaps: tuple[Estimate, ...]) -> Table:
    level = percent(result.settings.confidence_level)
    pair = f", {result.groups[0]} and {result.groups[1]}" if len(result.groups) == 2 else ""
    table = _table(f"{title}{pair}", "gap", "value", f"{level} interval", "p (Holm)", "verdict")
    for gap in gaps[:_SHOWN]:
        table.add_row(
            _text(gap.title.removesuffix(pair)),
            _text(signed(gap.value)),
            _text(interval(gap.low, gap.high, "signed")),
            _text(p_value(gap.adjusted_p_value)),
            verdict_text(result.verdict(gap)),
        )
    told = reasons(gaps[:_SHOWN])
    if len(gaps) > _SHOWN:
        told.append(f"{len(gaps) - _SHOWN} more are in to_frame() and to_json()")
    add_notes(table, told)
    return table


def _cut(result: AuditResult, t: int) -> Table:
    """What one threshold does to each group."""
    cuts = result.thresholds
    table = _table(
        f"Selected: above {cuts.thresholds[t]:.4g} ({cuts.labels[t]})", "group", "selected",
        "false\npositives", "false\nnegatives", "precision",
    )  # fmt: skip
    columns = (cuts.selection_rate, cuts.fpr, cuts.fnr, cuts.precision)
    for k, group in enumerate(cuts.groups):
        cells = (
            share_and_interval(s.value[t, k], s.low[t, k], s.high[t, k]).replace(" (", "\n(")
            for s in columns
        )
        table.add_row(*(_text(cell) for cell in (group, *cells)))
    notes = [cuts.impact_ratio.notes[t]]
    if any(math.isnan(value) for s in columns for value in s.value[t]):
        notes.append(f"{NONE}: nobody is there of whom it could be a share")
    add_notes(table, notes)
    return table


def render_comparison(result: ComparisonResult) -> Group:
    """The two scores side by side, as a renderable."""
    level = percent(result.confidence_level)
    one, other = result.title or "this score", result.other_title or "the other"
    two = len(result.groups) == 2
    between = f", {result.groups[0]} and {result.groups[1]}" if two else ""
    table = _table(
        f"The same {result.n:,} people{between}", "", one, other,
        f"difference, {level}", "in size",
    )  # fmt: skip
    colours = {"smaller gap": "green", "higher": "green", "larger gap": "red", "lower": "red"}
    for row in result.differences:
        d = row.difference
        told = plain if row.title == "AUC" else signed
        table.add_row(
            _text(row.title.removesuffix(between) if two else row.title),
            _text(told(row.one.value)),
            _text(told(row.other.value)),
            _text(interval(d.low, d.high, "signed")),
            _text(row.change, colours.get(row.change, "dim")),
        )
    add_notes(table, reasons(row.difference for row in result.differences))
    return Group(table, *(_text(told) for told in result.words[:2]))
