"""`evenscore constraints`: the catalogues of fairness notions."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from evenscore.cli.errors import command
from evenscore.gaps.catalogue import CATALOGUE
from evenscore.gaps.words import DEFAULT_WORDS
from evenscore.scores.rates import RATES


@command
def constraints() -> None:
    """List what can be equal between groups: rates at the cuts in use, and AUC notions."""
    console = Console()
    console.print(
        "Rates at the cuts in use (--equal): the gap is that of one group minus that of another at "
        "the same cut, and over a range of cuts the largest.\n"
    )
    words = DEFAULT_WORDS
    for rate in RATES:
        example = rate.phrase.format(
            first="one group",
            second="another",
            one="30%",
            two="20%",
            **words.classes,
        )
        _entry(
            console,
            rate.name,
            f"{rate.title.capitalize()}.",
            f"A gap of 0.1: {example}.",
            rate.remark.format(**words.classes),
        )
    console.print(
        "AUC notions (--constraint): H are the scores of the negatives, G of the positives; 0 and "
        "1 are two groups. The gap is zero when the statement is true equally often in every "
        'group. Any other two AUCs are written out: --constraint "H0,G0 = H1,G1", with mixtures '
        "such as 0.5 H0 + 0.5 H1 in the place of a cell; an equality that would create unfairness "
        "between groups that are alike is refused.\n"
    )
    for notion in CATALOGUE.values():
        name, meaning = notion.plain_name(), notion.meaning()
        _entry(console, notion.name, f"{name}.", meaning, notion.formula, notion.source)


def _entry(console: Console, name: str, *lines: str) -> None:
    """A name and what is to be known of it."""
    console.print(Text(name, style="bold"))
    for line in filter(None, lines):
        console.print(Padding(Text(line), (0, 0, 0, 4)))
    console.print()
