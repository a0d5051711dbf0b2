"""The `evenscore` command; one file a sub-command."""

from typing import Annotated

import typer

from evenscore import __version__
from evenscore.cli.constraints import constraints
from evenscore.cli.demo import demo
from evenscore.cli.reproduce import reproduce

app = typer.Typer(
    help="Audit scores that rank people: are they fair between groups, and at which thresholds?",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(demo)
app.command()(constraints)
app.command()(reproduce)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"evenscore {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
