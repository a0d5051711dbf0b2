"""Results in a notebook: the same pictures and tables as on a page, in its style."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.showing.certified import choice_table
from evenscore.showing.comparing import comparison_block
from evenscore.showing.numbers import interval, plain
from evenscore.showing.outline import answer_part, cut_tables, other_gap_tables
from evenscore.showing.page import colours
from evenscore.showing.page.shell import asset, fragment
from evenscore.showing.report.pictures import cut_charts
from evenscore.showing.tradeoff import path_chart, path_table

if TYPE_CHECKING:
    from evenscore.choosing import CertifiedChoice, TradeoffPath


def audit_html(result: AuditResult) -> str:
    """The answer, the rates at the cuts in use and their gaps."""
    charts = cut_charts((result,), prefix="notebook-")
    texts: tuple[str, ...] = ()
    if result.outcomes_known:
        auc = result.auc
        texts = (f"AUC {plain(auc.value)} ({interval(auc.low, auc.high)}).",)
    return _shown(
        texts=texts,
        title=result.title or f"Audit of {result.sample.n:,} people",
        part=answer_part(result),
        charts=charts,
        tables=(*cut_tables(result), *other_gap_tables(result)),
        more="to_html(path) writes the whole report, and to_frame() has every number.",
    )


def comparison_html(result: ComparisonResult) -> str:
    """Both scores side by side."""
    charts = []
    if result.audits is not None:
        after, before = result.audits
        names = before.title or "the other", after.title or "this score"
        charts = cut_charts((before, after), names, prefix="compared-")
    table = comparison_block(result)
    return _shown(
        title=table.title,
        texts=result.words[:2],
        charts=charts,
        tables=(table,),
        more="to_html(path) writes the whole report.",
    )


def path_html(path: TradeoffPath) -> str:
    """The picture and the points."""
    table = path_table(path)
    return _shown(
        title=table.title,
        charts=[path_chart(path)],
        tables=(table,),
        more="to_html(path) writes this as a page.",
    )


def choice_html(choice: CertifiedChoice) -> str:
    """The sentence, then the candidates."""
    return _shown(
        title="A certified choice",
        texts=[text for text in (choice.words, choice.ended, choice.cost) if text],
        charts=[],
        tables=(choice_table(choice),),
        more="to_html(path) writes this as a page.",
    )


def _shown(**content: object) -> str:
    defaults: dict[str, object] = {"part": None, "texts": ()}
    return str(fragment("showing/notebook.html.jinja", style=_style(), **{**defaults, **content}))


@cache
def _style() -> str:
    """The style of the pages, for what is inside this view alone, in light colours."""
    light = colours.style_sheet().split("\n")
    rules = [light[0].replace(":root", ".evenscore"), *light[2:]]
    return "\n".join([*rules, asset("showing/notebook.css")])
