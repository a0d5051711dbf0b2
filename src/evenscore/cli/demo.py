"""`evenscore demo`: an unfair score on embedded data, its audit, and the fair score beside it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.text import Text
from typer import Option

from evenscore.cli.errors import command
from evenscore.cli.options import Quiet

if TYPE_CHECKING:
    from evenscore.auditing import AuditResult

RATES = (1 / 8, 1 / 4)
TOLERANCE = 0.05
_SENTENCES = 5  # findings told; the rest are in the report


@command
def demo(
    html: Annotated[Path, Option(help="Write the report to this file.")] = Path("report.html"),
    quiet: Quiet = False,
) -> None:
    """Audit an unfair score of income, learn a fair one, compare them on people neither has seen.

    On the bundled Adult census data; takes less than a minute.

    Example: evenscore demo --html story.html
    """
    # Imported here: they are slow to import, and no other command needs all of them.
    from evenscore.auditing.audit import audit
    from evenscore.datasets import load_adult
    from evenscore.files.atomic import target_file, write_atomically
    from evenscore.gaps import RocConstraint
    from evenscore.gaps.catalogue import constraint_names
    from evenscore.gaps.words import Words
    from evenscore.learning.boosted import BoostedScorer
    from evenscore.showing.report import render_comparison

    target_file(html)  # refused before a minute is spent
    console = Console(width=min(Console().width, 110), highlight=False, quiet=quiet)
    data = load_adult()
    X, y, groups = data.X[data.train], data.y[data.train], data.groups[data.train]

    def audited(scorer: BoostedScorer, title: str) -> "AuditResult":
        return audit(
            data.y[data.test],
            scorer.decision_function(data.X[data.test]),
            sensitive_features=data.groups[data.test],
            constraints=[*constraint_names(), RocConstraint(on="both", rates=RATES)],
            tolerance=TOLERANCE,
            words=Words(selected_is="good"),
            title=title,
        )

    with console.status(f"Boosting trees on {len(y):,} people, fairness aside …"):
        free = BoostedScorer(random_state=0).fit(X, y)
    ordinary = audited(free, "ordinary")
    console.print(
        f"\n[bold]1. An ordinary score.[/bold] Adult census data: who earns more than $50,000? "
        f"Boosted trees, which never looked at fairness, rank {len(data.test):,} new people with "
        f"an AUC of {ordinary.auc.value:.3f}. A good score. Is it an even one?\n"
    )
    _tell(console, ordinary)
    constraint = RocConstraint(on="both", rates=RATES)
    start = time.perf_counter()
    with console.status("Learning a fair score …"):
        fair = BoostedScorer(constraint, tolerance=0.02, random_state=0)
        fair.fit(X, y, sensitive_features=groups)
    seconds = time.perf_counter() - start
    mended = audited(fair, "fair")
    console.print(
        f"\n[bold]2. A fair score,[/bold] learned in {seconds:.0f} s: women and men of the same "
        f"class are to be alike where the best eighth and the best quarter are selected. It never "
        "asks who is a woman when it scores.\n"
    )
    _tell(console, mended)
    comparison = mended.compare(ordinary)
    console.print("\n[bold]3. Side by side,[/bold] on the same people:\n")
    console.print(comparison)
    title = "Who earns more than $50,000? An ordinary and a fair score"
    path = write_atomically(html, render_comparison(ordinary, mended, comparison, title))
    console.print(
        f"\nThe whole story, with pictures: [bold]{path.resolve()}[/bold]", soft_wrap=True
    )


def _tell(console: Console, result: "AuditResult") -> None:
    """The first findings, in words."""
    from evenscore.showing.terminal import tell

    for sentence in tell(result.findings[:_SENTENCES]):
        console.print(Text.assemble("  ", sentence))
