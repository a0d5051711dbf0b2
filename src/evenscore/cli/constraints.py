"""`evenscore constraints`: the catalogue of fairness notions."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from evenscore.gaps.catalogue import CATALOGUE


def constraints() -> None:
    """List the AUC fairness constraints by name: what each compares, and where it comes from."""
    console = Console()
    console.print(
        "AUC fairness constraints: H are the scores of the negatives, G of the positives; 0 and 1 "
        "are two groups. The gap is zero when the statement is equally often true of every group.\n"
    )
    for notion in CATALOGUE.values():
        console.print(Text(notion.name, style="bold"))
        for line in (notion.formula, notion.say("the group", "the other group"), notion.source):
            console.print(Padding(Text(line), (0, 0, 0, 4)))
        console.print()
