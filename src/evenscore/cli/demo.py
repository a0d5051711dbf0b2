"""`evenscore demo`: an unfair score on embedded data, what fairness costs, and the fair score."""

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.text import Text
from typer import Option

from evenscore.cli.errors import command, say_outcome
from evenscore.cli.options import Quiet, check_outputs
from evenscore.gaps import Cuts, RateConstraint
from evenscore.gaps.words import Words

if TYPE_CHECKING:
    from evenscore.auditing import AuditResult

CUTS = Cuts(between=(0.1, 0.4))
RATES = ("fpr", "fnr")
TOLERANCE, SMALLER = 0.1, 0.05
WORDS = Words(
    people="applicants",
    positives="people who earn more than $50,000",
    negatives="people who earn less",
    selected="granted a loan",
    selected_is="good",
    refused="refused",
    groups={"female": "women", "male": "men"},
)
_SENTENCES = 3  # findings told; the rest are in the report


@command
def demo(
    html: Annotated[Path, Option(help="Write the report to this file.")] = Path("report.html"),
    quiet: Quiet = False,
) -> None:
    """Audit an unfair score where it will be cut, learn a fair one, compare them on new people.

    On the bundled Adult census data; takes some seconds.

    Example: evenscore demo --html story.html
    """
    # Imported here: they are slow to import, and no other command needs all of them.
    from evenscore.auditing.audit import audit
    from evenscore.choosing import claim_prices
    from evenscore.datasets import load_adult
    from evenscore.files.atomic import write_atomically
    from evenscore.learning.even import EvenScorer
    from evenscore.learning.price import PriceWarning
    from evenscore.showing.report import render_comparison
    from evenscore.showing.terminal import block_table
    from evenscore.showing.tradeoff import price_table

    check_outputs(html=html)  # refused before any work
    console = Console(width=min(Console().width, 110), highlight=False, quiet=quiet)
    data = load_adult()
    blind = [k for k, name in enumerate(data.feature_names) if not name.startswith("sex")]
    features = data.X[:, blind]
    X, y, groups = features[data.train], data.y[data.train], data.groups[data.train]

    def audited(scorer: EvenScorer, title: str, tolerance: float = TOLERANCE) -> "AuditResult":
        return audit(
            data.y[data.test],
            scorer.decision_function(features[data.test]),
            sensitive_features=data.groups[data.test],
            cuts=CUTS,
            tolerance=tolerance,
            words=WORDS,
            title=title,
            trained_on=False,
        )

    with console.status(f"Learning from {len(y):,} people, fairness aside …"):
        free = EvenScorer(random_state=0).fit(X, y)
    ordinary = audited(free, "ordinary")
    console.print(
        f"\n[bold]1. An ordinary score.[/bold] Adult census data: who earns more than $50,000? "
        "Suppose that a lender will grant loans to between 10% and 40% of the applicants, by a "
        f"score that knows nobody's sex and never looked at fairness. It ranks "
        f"{len(data.test):,} new people with an AUC of {ordinary.auc.value:.3f}. A good score. Is "
        "it fair at those cuts?\n"
    )
    _tell(console, ordinary)
    constraint = RateConstraint(*RATES, cuts=CUTS, tolerance=0.03)
    with console.status("Looking up what fairness costs, on the training rows …"):
        prices = claim_prices(
            EvenScorer(constraint, random_state=0), X, y, sensitive_features=groups
        )
    console.print(
        "\n[bold]2. What fairness costs.[/bold] A loan is good for whoever gets it, so that people "
        "who could repay it must not be refused more often in one group (fnr). If the others "
        "must not be granted one more often either (fpr), that costs more:\n"
    )
    console.print(block_table(price_table(prices)))
    start = time.perf_counter()
    with console.status("Learning a fair score …"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PriceWarning)  # the price is what the demo shows
        fair = EvenScorer(constraint, random_state=0)
        fair.fit(X, y, sensitive_features=groups)
    seconds = time.perf_counter() - start
    mended = audited(fair, "fair")
    console.print(
        f"[bold]3. A fair score,[/bold] learned in {seconds:.0f} s: both error rates of women and "
        "men are to be alike at every cut that grants a loan to 10% to 40%. It never asks who is a "
        "woman when it scores.\n"
    )
    _tell(console, mended)
    console.print(f"\n{_how_sure(mended, audited(fair, '', SMALLER))}")
    comparison = mended.compare(ordinary)
    console.print("\n[bold]4. Side by side,[/bold] on the same people:\n")
    console.print(comparison)
    title = "Loans by predicted income: an ordinary and a fair score"
    path = write_atomically(html, render_comparison(ordinary, mended, comparison, title))
    console.print()
    say_outcome(f"The whole story, with pictures: {path.resolve()}", quiet=quiet)


def _tell(console: Console, result: "AuditResult") -> None:
    """The first findings, in words."""
    from evenscore.showing.terminal import tell

    for sentence in tell(result.findings[:_SENTENCES]):
        console.print(Text.assemble("  ", sentence))


def _how_sure(result: "AuditResult", stricter: "AuditResult") -> str:
    """What is certified, and how many people a smaller tolerance would take."""
    certificate, wanted = result.certificate, stricter.certificate
    if certificate is None or wanted is None:
        return "How sure is that? These cuts cannot be assessed."
    _, size = wanted.smallest
    text = f"[bold]How sure is that?[/bold] {certificate}"
    if not wanted.certified:
        text += (
            f" To certify {100 * wanted.tolerance:g} points it would take about {wanted.needed:,} "
            f"women who earn more than $50,000 (there are {size:,}), all others growing in "
            "proportion."
        )
    return text
