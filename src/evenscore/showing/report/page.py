"""The report: sections in order, each with one template, in the shell that all pages share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.auditing.answer import WORST
from evenscore.auditing.blocks import (
    AtThresholds,
    Block,
    Certificates,
    Curves,
    CutsInUse,
    Ranking,
    Shape,
    SmallGroups,
)
from evenscore.auditing.result import ColumnAudit
from evenscore.gaps.catalogue import CATALOGUE
from evenscore.inference.estimate import percent
from evenscore.showing.page.charts import Chart, Entry, stroke
from evenscore.showing.page.shell import fragment, render
from evenscore.showing.report.explorer import Picker, picker
from evenscore.showing.report.pictures import (
    cut_charts,
    distribution_chart,
    pair_charts,
    roc_chart,
    series_of,
)
from evenscore.showing.report.selection import (
    pairs_note,
    shown_groups,
    shown_note,
    tabled_groups,
)
from evenscore.showing.report.tables import comparison_table, gap_tables

MOST_CELLS = 12  # of the matrix of AUCs: more do not fit on a sheet of paper
_FOLDER = "showing/report"


@dataclass(frozen=True, eq=False)
class Page:
    """What the sections of a report are made from: an audit, and the one before it if any."""

    result: AuditResult
    before: AuditResult | None = None
    comparison: ComparisonResult | None = None

    @cached_property
    def level(self) -> str:
        """The confidence level, in words."""
        return percent(self.result.settings.confidence_level)

    @cached_property
    def known(self) -> bool:
        """Whether outcomes are known."""
        return self.result.outcomes_known

    @cached_property
    def compared(self) -> list[int]:
        """Positions of the groups that are compared."""
        return [self.result.groups.index(name) for name in self.result.compared_groups]

    @cached_property
    def changed(self) -> dict[str, Any] | None:
        """What is shown of the two scores side by side."""
        if self.before is None or self.comparison is None:
            return None
        return comparison_table(self.before, self.result, self.comparison)

    @cached_property
    def series(self) -> dict[str, int]:
        """The number of each group's colour and shape."""
        return series_of(self.result)

    @cached_property
    def first_column(self) -> ColumnAudit | None:
        """The column of groups that the picture of the first screen is about, of several."""
        columns = self.result.columns
        return min(columns, key=lambda one: WORST.index(one.audit.answer.verdict), default=None)

    @cached_property
    def drawn(self) -> set[str]:
        """The groups that the picture of the first screen has lines of."""
        if self.first_column is not None and self.changed is None:
            return set()
        return {self.result.groups[k] for k in shown_groups(self.result)}

    @cached_property
    def cut_charts(self) -> list[Chart]:
        """The picture of the first screen: rates at the cuts in use."""
        if self.changed is not None:
            charts: list[Chart] = self.changed["cut_charts"]
        else:
            column = self.first_column
            charts = cut_charts((self.result if column is None else column.audit,))
        for chart in self._own(charts):  # the cut that the reader picks
            low, high = chart.at_y(chart.y[0]), chart.at_y(chart.y[1])
            chart.raw(f'<path class="picked" data-picked visibility="hidden" d="M0 {high}V{low}"/>')
        if charts and self.result.cuts.is_range:
            charts[0].legend.append(Entry(stroke("picked"), "the cut picked below"))
        return charts

    @cached_property
    def roc(self) -> Chart | None:
        """ROC curves, with a mark for each group at the cut picked."""
        return roc_chart(self.result) if self.has(Curves) and self.has(Ranking) else None

    @cached_property
    def picker(self) -> Picker | None:
        """The table at the cut picked."""
        return picker(self.result, self._own(self.cut_charts), self.roc)

    def _own(self, charts: list[Chart]) -> list[Chart]:
        """Those of the score that the page is about: beside another, every second one."""
        return charts if self.changed is None else charts[1::2]

    def has(self, kind: type[Block]) -> bool:
        """Whether the audit has a block."""
        return kind.name in self.result.blocks


Content = Mapping[str, Any] | None


@dataclass(frozen=True)
class Section:
    """A part of the report: its name is that of its template and its address on the page.

    `content` gives what the template shows beside the page, or None if there is nothing to show;
    `meaning` is one sentence about what it says and what it does not.
    """

    name: str
    title: str
    content: Callable[[Page], Content]
    meaning: str = ""
    template: str = ""

    def html(self, page: Page) -> "Shown | None":
        """The section as markup, if there is anything to show."""
        content = self.content(page)
        if content is None:
            return None
        template = f"{_FOLDER}/{self.template or self.name}.html.jinja"
        body = fragment(template, page=page, result=page.result, **content)
        return Shown(self.name, self.title, self.meaning, body)


@dataclass(frozen=True)
class Shown:
    """A section that has something to show."""

    name: str
    title: str
    meaning: str
    body: str


def of_block(kind: type[Block], content: Callable[[Page], Content] = lambda page: {}) -> Section:
    """The section of a block that has a template of its own."""
    return Section(
        kind.name,
        kind.title,
        lambda page: content(page) if page.has(kind) else None,
        kind.meaning,
    )


def _answer(page: Page) -> Content:
    result = page.result
    return {
        "cut_findings": [finding for finding in result.findings if finding.about == "cuts"],
        "in_use": result.block(CutsInUse),
    }


def _columns(page: Page) -> Content:
    columns = page.result.columns
    if not columns:
        return None
    shown = []
    for k, column in enumerate(columns):
        audit = column.audit
        shown.append(
            {
                "name": column.name,
                "audit": audit,
                "charts": cut_charts((audit,), prefix=f"column{k}-"),
                "tables": [table for block in audit.blocks.values() for table in block.tables()],
                "gap_tables": [*gap_tables(audit, at_cuts=True), *gap_tables(audit, at_cuts=False)],
            }
        )
    return {"columns": shown}


def _in_use(page: Page) -> Content:
    # The first screen has the picture, unless it is that of one column.
    charts = cut_charts((page.result,), prefix="all-") if page.result.columns else []
    return {"charts": charts, "cut_tables": gap_tables(page.result, at_cuts=True)}


def _findings(page: Page) -> Content:
    return {"findings": [one for one in page.result.findings if one.about != "cuts"]}


def _curves(page: Page) -> Content:
    pairs = pair_charts(page.result)
    note = pairs_note(page.result, len(pairs)) if pairs else ""
    return {"pairs": pairs, "pairs_note": note, "roc": page.roc}


def _shape(page: Page) -> Content:
    shown = tabled_groups(page.result)
    return {
        "distribution": distribution_chart(page.result),
        "calibrated": shown,
        "calibrated_note": shown_note(page.result, shown),
    }


def _gaps(page: Page) -> Content:
    tables = gap_tables(page.result, at_cuts=False)
    return {"gap_tables": tables} if tables else None


def _ranking(page: Page) -> Content:
    result = page.result
    n = len(result.groups)
    shown = page.compared
    if 2 * len(shown) > MOST_CELLS:
        shown = tabled_groups(result, MOST_CELLS // 2)
    return {
        "cells": [*shown, *(n + k for k in shown)],
        "note": shown_note(result, shown),
        "small": page.has(SmallGroups) and bool(result.small_groups),
    }


def _words(page: Page) -> Content:
    result = page.result
    return {
        "notions": [
            notion
            for notion in CATALOGUE.values()
            if notion.name in result.meanings or not result.families
        ],
    }


def _fair_cuts(page: Page) -> Content:
    return {} if len(page.compared) > 1 and page.result.fair_cuts else None


def _some(name: str) -> Callable[[Page], Content]:
    return lambda page: {} if getattr(page.result, name) else None


SECTIONS: tuple[Section, ...] = (
    Section("answer", "Is it fair where it will be used?", _answer),
    Section(
        "columns",
        "Each column of groups by itself",
        _columns,
        "The same question for one column at a time; the rest of the page is about all columns "
        "together. The verdicts are corrected for everything that was compared.",
    ),
    Section(
        "comparison",
        "Before and after",
        lambda page: {} if page.changed else None,
        "Two scores of the same people. A smaller gap here does not say that it is small enough.",
    ),
    Section("findings", "What else was found", _findings),
    of_block(CutsInUse, _in_use),
    Section(
        "gaps",
        "Other gaps between groups",
        _gaps,
        "How the groups differ over the whole ranking, whatever the cut. A score can be even in "
        "these respects and uneven at a cut, and the other way round.",
    ),
    Section(
        "people",
        "Who is in the sample",
        lambda page: {},
        "How many people each number rests on. It does not say whether they are like the people "
        "whom the score will be used on.",
    ),
    of_block(SmallGroups, lambda page: {} if page.result.small_groups else None),
    of_block(Curves, _curves),
    of_block(Shape, _shape),
    of_block(Certificates, _some("roc_certificates")),
    of_block(AtThresholds, _fair_cuts),
    of_block(Ranking, _ranking),
)
"""The sections of a report, in order; blocks without a template come after them, as tables."""

LAST: tuple[Section, ...] = (
    Section("words", "What the words mean", _words),
    Section(
        "notes",
        "Where these numbers come from",
        lambda page: {},
        "What is needed to compute them again; evenscore verify does so from the JSON file and the "
        "data. What was declared nobody has checked.",
    ),
)


def page(
    result: AuditResult,
    title: str | None = None,
    before: AuditResult | None = None,
    comparison: ComparisonResult | None = None,
) -> str:
    """The report as HTML; with a comparison to the audit before, it opens with what changed."""
    made = Page(result, before, comparison)
    own = {section.name for section in SECTIONS}
    others = tuple(
        Section(name, block.title, _tables(block), block.meaning, "block")
        for name, block in result.blocks.items()
        if name not in own
    )
    shown = [section.html(made) for section in (*SECTIONS, *others, *LAST)]
    name = title or result.title or f"Audit of {result.sample.n:,} people"
    return render(
        f"{_FOLDER}/report.html.jinja",
        script=f"{_FOLDER}/explorer.js",
        title=name,
        page=made,
        result=result,
        sections=[section for section in shown if section is not None],
    )


def _tables(block: Block) -> Callable[[Page], Content]:
    tables = block.tables()
    return lambda page: {"tables": tables} if tables else None
