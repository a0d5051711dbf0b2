"""The page: template, style and script in one file, under a policy that forbids all else."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.auditing.blocks import CutsInUse, SmallGroups
from evenscore.gaps.catalogue import CATALOGUE
from evenscore.inference.estimate import percent
from evenscore.showing import numbers
from evenscore.showing.report.colours import Palette, shade
from evenscore.showing.report.explorer import RATES, explorer
from evenscore.showing.report.pictures import (
    cut_pictures,
    distribution_picture,
    matrix_picture,
    pair_pictures,
    roc_picture,
)
from evenscore.showing.report.selection import pairs_note, shown_note, tabled_groups
from evenscore.showing.report.tables import comparison_table, gap_tables

TABLE_CELLS = 12  # of the matrix as a table: more do not fit on a sheet of paper
PICTURE_CELLS = 24  # of the matrix as a picture
_FILTERS = (
    "count", "exact", "p_bound", "p_value", "plain", "ratio", "share", "signed", "why_none",
)  # fmt: skip


def page(
    result: AuditResult,
    title: str | None = None,
    before: AuditResult | None = None,
    comparison: ComparisonResult | None = None,
) -> str:
    """The report as HTML; with a comparison to the audit before, it opens with what changed."""
    palette = Palette()
    # Colours are numbered in the order of their use: the pictures of the cuts come first.
    known = result.outcomes_known
    in_use = [] if comparison is not None else cut_pictures((result,), palette)
    pairs = pair_pictures(result, palette) if known else []
    changed = None
    if before is not None and comparison is not None:
        changed = comparison_table(before, result, comparison, palette)
    compared = [result.groups.index(name) for name in result.compared_groups]
    tables = {name: block.tables() for name, block in result.blocks.items()}
    tables.pop(CutsInUse.name, None)  # which has a section of its own
    calibrated = tabled_groups(result)
    cells = 2 * len(compared)
    shown = {
        "result": result,
        "title": title or result.title or f"Audit of {result.sample.n:,} people",
        "level": percent(result.settings.confidence_level),
        "comparison": changed,
        "pairs": pairs,
        "pairs_note": pairs_note(result, len(pairs)) if pairs else "",
        "distributions": distribution_picture(result, palette) if known else None,
        "roc": roc_picture(result, palette) if known else None,
        "explorer": explorer(result) if known else None,
        "in_use": result.block(CutsInUse),
        "cut_pictures": in_use if changed is None else changed["cut_pictures"],
        "cut_findings": [finding for finding in result.findings if finding.about == "cuts"],
        "findings": [finding for finding in result.findings if finding.about != "cuts"],
        "cut_tables": gap_tables(result, at_cuts=True),
        "gap_tables": gap_tables(result, at_cuts=False),
        "small_groups": (tables.pop(SmallGroups.name, ()) or (None,))[0],
        "block_tables": [table for some in tables.values() for table in some],
        "compared": compared,
        "calibrated": calibrated,
        "calibrated_note": shown_note(result, calibrated),
        "matrix_cells": [*compared, *(len(result.groups) + k for k in compared)],
        "matrix_as_table": cells <= TABLE_CELLS,
        "matrix": (
            matrix_picture(result, palette)
            if known and TABLE_CELLS < cells <= PICTURE_CELLS
            else None
        ),
        "notions": [
            notion
            for notion in CATALOGUE.values()
            if notion.name in result.meanings or not result.families
        ],
    }
    style = f"{_asset('report.css')}\n{palette.style_sheet()}\n"
    script = _asset("explorer.js")
    html = _template().render(
        **shown, style=Markup(style), script=Markup(script), policy=policy(style, script)
    )
    # Half a surrogate pair, which Python lets a text hold, is in no file.
    return html.encode("utf-8", "replace").decode("utf-8")


def policy(style: str, script: str) -> str:
    """The Content-Security-Policy under which only this style and this script have any effect."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return files("evenscore.showing.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=jinja2.FunctionLoader(_asset),
    )
    environment.filters |= {name: getattr(numbers, name) for name in _FILTERS}
    environment.filters["first_capital"] = lambda text: text[:1].upper() + text[1:]
    environment.globals |= {
        "interval": numbers.interval,
        "NONE": numbers.NONE,
        "NO_INTERVAL": numbers.NO_INTERVAL,
        "shade": shade,
        "RATES": RATES,
    }
    return environment.get_template("report.html.jinja")
