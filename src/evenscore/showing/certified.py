"""A certified choice as a table and as a page: the sentence first, then the candidates."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenscore.auditing.blocks import BlockTable
from evenscore.files.atomic import write_atomically
from evenscore.inference.estimate import percent
from evenscore.showing.numbers import NONE, interval, plain
from evenscore.showing.page.shell import render

if TYPE_CHECKING:
    from evenscore.choosing import CertifiedChoice

TITLE = "The candidates, in the order tested"
"""The title of the table."""


NUMBERS = 6
"""Columns of the table before those that say which gap it is."""


def choice_table(choice: CertifiedChoice) -> BlockTable:
    """A row per candidate."""
    rows: list[tuple[str, ...]] = []
    for k, test in enumerate(choice.tests):
        outcome = "passed, chosen" if k == choice.chosen else test.outcome
        decisive = test.decisive
        if test.auc is None or decisive is None:
            rows.append((test.name, outcome, *[NONE] * 5, ""))
            continue
        rows.append(
            (
                test.name,
                outcome,
                plain(test.auc.value),
                interval(test.auc.low, test.auc.high),
                plain(decisive.gap),
                plain(decisive.reach),
                f"{decisive.tolerance:g}",
                decisive.title,
            )
        )
    level = percent(choice.confidence_level)
    columns = ["candidate", "outcome", "AUC", f"{level} interval", "gap", "at most"]
    note = (
        f"Tested on {choice.n_held_out:,} people held out; “at most” is the smallest tolerance "
        f"that they certify with {level} confidence."
    )
    about = {row[NUMBERS:] for row in rows if row[-1]}
    if len(about) == 1:  # said once
        [(tolerance, title)] = about
        note = f"Gaps are {title}; the tolerance is {tolerance}. {note}"
        rows = [row[:NUMBERS] for row in rows]
    else:
        columns += ["tolerance", "which gap"]
    return BlockTable(TITLE, tuple(columns), tuple(rows), note, names=2)


def section(choice: CertifiedChoice) -> dict[str, Any]:
    """What the part of a page about a certified choice shows."""
    return {
        "verdict": "even" if choice.certified else "unclear",
        "words": choice.words,
        "more": [text for text in (choice.ended, choice.cost) if text],
        "meaning": choice.meaning,
        "table": choice_table(choice),
    }


def page(choice: CertifiedChoice, *, title: str = "") -> str:
    """The page of a certified choice."""
    from evenscore import __version__

    return render(
        "showing/certified.html.jinja",
        title=title or f"A certified choice: {', '.join(choice.constraints)}",
        certified=section(choice),
        version=__version__,
    )


def write(choice: CertifiedChoice, target: str | os.PathLike[str], **options: Any) -> Path:
    """Write the page of a certified choice to a file, whole or not at all; give its path."""
    return write_atomically(target, page(choice, **options))
