"""An audit on a terminal: findings and tables, drawn by rich. Nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from evenscore.inference.estimate import Estimate, percent
from evenscore.results import AuditResult, ComparisonResult

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

__all__ = ["render", "render_comparison"]

_COLOURS = {"beyond": "red", "within": "green", "unclear": "yellow", "undefined": "dim"}
_SHOWN = 24  # gaps in a table; the rest are in the frame


def render(result: AuditResult) -> Group:
    """Findings, people, gaps, cuts and warnings, as a renderable."""
    from rich.console import Group
    from rich.text import Text

    title = result.title or f"Audit of {result.sample.n:,} people"
    parts: list[Any] = [Text(title, style="bold"), Text("")]
    marks = {"gap": ("✗", "red"), "unclear": ("?", "yellow"), "even": ("✓", "green")}
    for finding in result.findings:
        mark, colour = marks.get(finding.kind, ("·", "default"))
        parts.append(Text.assemble((f"{mark} ", colour), finding.text))
    parts += [Text(""), _people(result)]
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


def _table(title: str, *columns: str, left: int = 1) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD)
    for k, column in enumerate(columns):
        name = k < left
        justify: Literal["left", "right"] = "left" if name else "right"
        table.add_column(Text(column), justify=justify, no_wrap=not name, overflow="fold")
    return table


def _text(value: str, style: str = "") -> Text:
    """Text as it is: brackets in a group's name are no markup."""
    from rich.text import Text

    return Text(value, style=style)


def _people(result: AuditResult) -> Table:
    sample = result.sample
    level = percent(result.settings.confidence_level)
    table = _table(
        "Who is in the sample", "group", "negatives", "positives", "share of positives",
        "share of the sample", "AUC within", f"{level} interval",
    )  # fmt: skip
    for k, group in enumerate(sample.groups):
        auc = result.auc_by_group[k]
        cells = (
            group,
            f"{sample.cell_counts[0, k]:,.0f}",
            f"{sample.cell_counts[1, k]:,.0f}",
            f"{sample.prevalence_by_group[k]:.1%}",
            f"{sample.group_share[k]:.1%}",
            f"{auc.value:.3f}",
            f"{auc.low:.3f} to {auc.high:.3f}",
        )
        table.add_row(*(_text(cell) for cell in cells))
    return table


def _gaps(result: AuditResult, title: str, gaps: tuple[Estimate, ...]) -> Table:
    level = percent(result.settings.confidence_level)
    table = _table(title, "gap", "value", f"{level} interval", "p (Holm)", "verdict")
    for gap in gaps[:_SHOWN]:
        verdict = result.verdict(gap)
        table.add_row(
            _text(gap.title),
            _text(f"{gap.value:+.3f}"),
            _text(f"{gap.low:+.3f} to {gap.high:+.3f}"),
            _text(f"{gap.adjusted_p_value:.2g}"),
            _text(verdict, _COLOURS[verdict]),
        )
    table.caption_justify = "left"
    told = list(dict.fromkeys(warning for gap in gaps[:_SHOWN] for warning in gap.warnings))
    if len(gaps) > _SHOWN:
        told.append(f"{len(gaps) - _SHOWN} more are in to_frame() and to_json()")
    if told:
        table.caption = _text("\n".join(told))
    return table


def _cut(result: AuditResult, t: int) -> Table:
    """What one threshold does to each group."""
    cuts = result.thresholds
    table = _table(
        f"Cut at {cuts.thresholds[t]:.4g} ({cuts.labels[t]})", "group", "selected",
        "false positives", "false negatives", "precision",
    )  # fmt: skip
    for k, group in enumerate(cuts.groups):
        cells = [
            f"{100 * s.value[t, k]:.1f}% ({100 * s.low[t, k]:.1f} to {100 * s.high[t, k]:.1f})"
            for s in (cuts.selection_rate, cuts.fpr, cuts.fnr, cuts.precision)
        ]
        table.add_row(*(_text(cell) for cell in (group, *cells)))
    table.caption_justify = "left"
    table.caption = _text(cuts.impact_ratio.notes[t])
    return table


def render_comparison(result: ComparisonResult) -> Group:
    """The two scores side by side, as a renderable."""
    from rich.console import Group

    level = percent(result.confidence_level)
    one, other = result.title or "this score", result.other_title or "the other"
    two = len(result.groups) == 2
    between = f", {result.groups[0]} and {result.groups[1]}" if two else ""
    table = _table(
        f"The same {result.n:,} people{between}", "", one, other,
        f"difference, {level}", "",
    )  # fmt: skip
    colours = {"smaller gap": "green", "higher": "green", "larger gap": "red", "lower": "red"}
    for row in result.differences:
        d = row.difference
        sign = "" if row.title == "AUC" else "+"
        table.add_row(
            _text(row.title.removesuffix(between) if two else row.title),
            _text(f"{row.one.value:{sign}.3f}"),
            _text(f"{row.other.value:{sign}.3f}"),
            _text(f"{d.low:+.3f} to {d.high:+.3f}"),
            _text(row.change, colours.get(row.change, "dim")),
        )
    return Group(table, *(_text(told) for told in result.words[:2]))
