"""The page that shows every table and figure beside the published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING

from evenscore import __version__
from evenscore.paper.table import Number, Table

if TYPE_CHECKING:
    from evenscore.paper.plan import Scale

__all__ = ["Entry", "page"]


@dataclass(frozen=True)
class Entry:
    """A table, or a figure by its name, in a section of the page."""

    section: str
    name: str
    title: str
    note: str = ""
    table: Table | None = None


def page(entries: Sequence[Entry], remarks: Iterable[str], scale: Scale, full: Scale) -> str:
    """HTML that refers to the figures and tables beside it and to nothing else.

    A smaller `scale` than the full one is told, and no result of it is called met.
    """
    from jinja2 import Environment

    source = files("evenscore.paper").joinpath("page.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    sections: dict[str, list[Entry]] = {}
    for entry in entries:
        sections.setdefault(entry.section, []).append(entry)
    compared = [
        number
        for entry in entries
        if entry.table is not None and entry.name in ("synthetic", "results")
        for number in entry.table.numbers
        if number.published is not None
    ]
    return environment.from_string(source).render(
        sections=sections,
        remarks=list(remarks),
        scale=scale,
        full=scale == replace(full, runs=scale.runs),
        version=__version__,
        is_number=lambda cell: isinstance(cell, Number),
        n_compared=len(compared),
        n_beyond=sum(number.verdict == "beyond noise" for number in compared),
    )
