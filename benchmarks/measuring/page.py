"""A run as a page: one file that opens anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evenscore.showing.page.shell import environment, render
from measuring.comparing import Comparison, shown
from measuring.stored import Bench, Script, busy

TEMPLATE = Path(__file__).with_name("page.html.jinja")
COLUMNS = ("what", "against", "ratio", "range", "repeats", "seconds", "seconds of the other")


@dataclass(frozen=True)
class Table:
    """What the page's macro of tables takes."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    names: int
    note: str = ""
    script: Script | None = None


def page(bench: Bench, comparison: Comparison | None = None) -> str:
    """The whole page; with a comparison, what got slower comes first."""
    facts = {**bench.facts, **bench.packages}
    return render(
        environment().from_string(TEMPLATE.read_text(encoding="utf-8")),
        title="What evenscore costs",
        bench=bench,
        busy=busy(bench.facts),
        comparison=comparison,
        tables=[_table(bench, script) for script in bench.scripts],
        machine=Table("Machine and versions", ("", "here"), list(facts.items()), names=2),
    )


def _table(bench: Bench, script: Script) -> Table:
    rows = [
        (
            ratio.name,
            ratio.against,
            shown(ratio.value),
            f"{shown(ratio.low)} to {shown(ratio.high)}",
            str(len(ratio.values)),
            f"{ratio.seconds:.3g}",
            f"{ratio.against_seconds:.3g}",
        )
        for ratio in bench.of(script)
    ]
    return Table(f"Ratios of {script.name}", COLUMNS, rows, names=2, script=script)
