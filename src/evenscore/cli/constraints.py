"""`evenscore constraints`: the catalogue of fairness notions."""

from rich.console import Console
from rich.table import Table

from evenscore.catalogue import CATALOGUE


def constraints() -> None:
    """List the AUC fairness constraints by name, with what each compares and where it is from."""
    table = Table(title="AUC fairness constraints", show_lines=True)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("gap = 0")
    table.add_column("the same in every group: the probability that")
    table.add_column("source")
    for notion in CATALOGUE.values():
        table.add_row(
            notion.name, notion.formula, notion.say("the group", "the other"), notion.source
        )
    Console().print(table)
