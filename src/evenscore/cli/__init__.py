"""The `evenscore` command; one file a sub-command."""

import typer

from evenscore.cli.constraints import constraints
from evenscore.cli.demo import demo

app = typer.Typer(
    help="Audit scores that rank people: are they fair between groups, and at which thresholds?",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(demo)
app.command()(constraints)
