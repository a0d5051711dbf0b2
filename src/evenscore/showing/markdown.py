"""An audit as Markdown: the same parts as on a terminal, and all of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.auditing.blocks import BlockTable
from evenscore.showing.certified import choice_table
from evenscore.showing.comparing import comparison_block
from evenscore.showing.outline import Part, outline
from evenscore.showing.planning import plan_tables
from evenscore.showing.tradeoff import path_table

if TYPE_CHECKING:
    from evenscore.choosing import CertifiedChoice, Plan, TradeoffPath

_MARKS = {"gap": "✗ ", "unclear": "? ", "even": "✓ ", "context": ""}


def render(result: AuditResult) -> str:
    """The audit as text; whatever came from outside is shown letter by letter."""
    title = result.title or f"Audit of {result.sample.n:,} people"
    return _joined([f"# {escape(title)}", *(line for p in outline(result) for line in _part(p))])


def render_comparison(result: ComparisonResult) -> str:
    """Two scores of the same people, side by side."""
    table = comparison_block(result)
    texts = [f"- {escape(text)}" for text in result.words[:2]]
    return _joined([f"# {escape(table.title)}", *_table(table), "\n".join(texts)])


def render_path(path: TradeoffPath) -> str:
    """The points of a path."""
    table = path_table(path)
    return _joined([f"# {escape(table.title)}", *_table(table)])


def render_plan(plan: Plan) -> str:
    """A plan in words, and its tables."""
    blocks = ["# How many people it takes", escape(str(plan)), *map(escape, plan.warnings)]
    for table in plan_tables(plan):
        blocks += [f"## {escape(table.title)}", *_table(table)]
    return _joined(blocks)


def render_choice(choice: CertifiedChoice) -> str:
    """The sentence, then the candidates."""
    table = choice_table(choice)
    texts = [escape(text) for text in (choice.words, choice.ended, choice.cost) if text]
    return _joined([f"# {escape(table.title)}", *texts, *_table(table)])


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(blocks) + "\n"


def _part(part: Part) -> Iterator[str]:
    yield f"## {escape(part.title)}"
    if part.meaning:
        yield f"*{escape(part.meaning)}*"
    lines = [f"- {_MARKS[one.kind]}{escape(one.text)}" for one in part.findings]
    lines += [f"- {escape(item)}" for item in part.items]
    if lines:
        yield "\n".join(lines)
    for table in part.tables:
        if table.title != part.title:
            yield f"### {escape(table.title)}"
        yield from _table(table)
    if part.notes:
        yield "\n".join(f"- {escape(note)}" for note in part.notes)


def _table(table: BlockTable) -> Iterator[str]:
    rule = ["---" if k < table.names else "---:" for k in range(len(table.columns))]
    rows = [table.columns, *table.rows]
    lines = ["| " + " | ".join(escape(cell) for cell in row) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    yield "\n".join(lines)
    if table.note:
        yield escape(table.note)


def escape(text: str) -> str:
    r"""A text in which nothing is markup and no line ends.

    >>> print(escape("a|b <i> *c*\nd"))
    a\|b \<i\> \*c\* d
    """
    plain = " ".join(text.split())
    for sign in "\\`*_|<>[]#":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
