"""A plan as tables: how many people other tolerances and powers take, and who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenscore.auditing.blocks import BlockTable
from evenscore.gaps.cuts import percent

if TYPE_CHECKING:
    from evenscore.choosing import Plan

_NEVER = "–"


def plan_tables(plan: Plan) -> tuple[BlockTable, BlockTable]:
    """People by tolerance and power, then the expected sizes of the classes of the groups."""
    powers = list(dict.fromkeys(row.power for row in plan.table))
    needed = {(row.tolerance, row.power): row.people for row in plan.table}
    rows = []
    for tolerance in dict.fromkeys(row.tolerance for row in plan.table):
        numbers = (needed[tolerance, power] for power in powers)
        rows.append((f"{tolerance:g}", *(_NEVER if one is None else f"{one:,}" for one in numbers)))
    never = (
        f"{_NEVER}: no number of people, the true gap being {plan.gap:.2g}."
        if any(row.people is None for row in plan.table)
        else ""
    )
    people = BlockTable(
        "People needed, by tolerance and by the share of samples that are to be certified",
        ("tolerance", *(percent(power) for power in powers)),
        tuple(rows),
        never,
    )
    sizes = BlockTable(
        f"Of {plan.people:,} people",
        ("group", "share", "positives among them", "negatives", "positives"),
        tuple(
            (
                group.name,
                percent(group.share),
                percent(group.prevalence),
                f"{group.negatives:,}",
                f"{group.positives:,}",
            )
            for group in plan.groups
        ),
        assumed(plan),
    )
    return people, sizes


def assumed(plan: Plan) -> str:
    """What the numbers rest on."""
    return (
        f"Assumed: scores are normal in each class of each group, with an AUC of {plan.auc:g} in "
        "each but for the gap, and rows are independent people, drawn at random."
    )
